/* A tokenizer's file, and texts through it. */
#ifndef ALIGND_TESTS_FUZZ_TOKENS_H
#define ALIGND_TESTS_FUZZ_TOKENS_H

#include <stddef.h>
#include <stdint.h>

/* kind: as tokenizer_open takes it. */
void fuzz_tokenizer(const char *kind, const uint8_t *data, size_t size);

#endif
