/* Requests of a sentence each, from the benchmark's. */
#ifndef ALIGND_TESTS_LOAD_SENTENCES_H
#define ALIGND_TESTS_LOAD_SENTENCES_H

#include "tests/load/crowd.h"

enum { SENTENCES = 64 };

/* One POST /translate for each line of tests/bench/sentences.txt. fields: what it asks besides, as
 * in JSON. */
void sentences_read(struct message messages[SENTENCES], const char *fields);
void sentences_done(struct message messages[SENTENCES]);

#endif
