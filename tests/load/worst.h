/* The worst requests that the limits allow: bodies that take long to read, and questions with the
 * longest answers. */
#ifndef ALIGND_TESTS_LOAD_WORST_H
#define ALIGND_TESTS_LOAD_WORST_H

#include <stddef.h>

enum { WORST_BODIES = 9 };

/* Of POST /translate, under a megabyte; the caller frees it. Some are refused once they are read.
 */
char *worst_body(size_t i);
const char *worst_type(size_t i);

/* So many texts of 156 characters, of which everything is asked; fields: what else, e.g.
 * ",\"beam_size\":32". The caller frees it.
 */
char *worst_question(size_t texts, const char *fields);

#endif
