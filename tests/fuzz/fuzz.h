/* Functions that the fuzz targets share. Each tests/fuzz/fuzz_*.c is one target for libFuzzer: it
 * feeds bytes to one reader, and traps if the result breaks a promise of that reader's header. Run
 * from the repository's root: `make fuzz`. */
#ifndef ALIGND_TESTS_FUZZ_H
#define ALIGND_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise was broken: says which, and ends the run; libFuzzer keeps the input. */
#define FUZZ_CHECK(holds) ((holds) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #holds))
__attribute__((noreturn)) void fuzz_fail(const char *file, int line, const char *promise);

/* The path of a regular file with these bytes, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
