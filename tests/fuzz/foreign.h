/* Functions that the targets of foreign containers share. */
#ifndef ALIGND_TESTS_FOREIGN_H
#define ALIGND_TESTS_FOREIGN_H

#include "model/import/tensors.h"
#include "tests/fuzz/fuzz.h"

/* A folder for what is unpacked, empty at each call. */
const char *foreign_work(void);
/* Reads all numbers of an open container, or checks that the error has a message; closes it.
 * result: of the reader. */
void foreign_check(int result, struct container *container, const struct error *error);

#endif
