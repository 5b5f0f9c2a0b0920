/* Some libraries do not survive a failed allocation: SentencePiece frees messages that are half made, ICU uses iterators with
 * missing parts, libxml2 leaks the parts of a parser that it cannot finish, jansson aborts if it cannot lengthen a string.
 * Therefore a block of RESERVE_BYTES is reserved. When an allocation of such a library fails, the block goes back to the heap and
 * the allocation is tried again. There is one reserve for the process; it is thread-safe. */
#ifndef ALIGND_RESERVE_H
#define ALIGND_RESERVE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { RESERVE_BYTES = 256 * 1024 };

/* Called before each call of such a library: makes sure that the block exists, or returns -1 with ERROR_MEMORY. */
int reserve_fill(struct error *err);
/* Gives the block back to the heap. False: there was no block. */
bool reserve_release(void);
/* malloc and realloc that fall back on the block. */
void *reserve_alloc(size_t bytes);
void *reserve_realloc(void *block, size_t bytes);

#endif
