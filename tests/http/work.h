/* Bodies of requests that take long: the tiny models are quick, so these ask for many tokens. */
#ifndef ALIGND_TESTS_HTTP_WORK_H
#define ALIGND_TESTS_HTTP_WORK_H

#include <stddef.h>

/* So many texts, each decoded to exactly so many tokens with a beam of this size (1: greedy). In the notation of call.json; the
 * caller frees it. */
char *work_body(size_t texts, size_t beam_size, size_t tokens);

#endif
