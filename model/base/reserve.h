/* Memory for libraries that do not survive the want of it: SentencePiece frees messages that are half made, ICU uses iterators
 * whose parts are missing, libxml2 leaves behind the parts of a parser that cannot be made, jansson aborts where it cannot lengthen
 * a string. A block of RESERVE_BYTES is kept back: where an allocation of such a library fails, the block goes back to the heap,
 * and the allocation is tried again. One for the process; thread-safe. */
#ifndef ALIGND_RESERVE_H
#define ALIGND_RESERVE_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { RESERVE_BYTES = 256 * 1024 };

/* Before each call of such a library: the block is there, or -1 with ERROR_MEMORY. */
int reserve_fill(struct error *err);
/* Gives the block to the heap. False: it was not there. */
bool reserve_release(void);
/* malloc and realloc that fall back on the block. */
void *reserve_alloc(size_t bytes);
void *reserve_realloc(void *block, size_t bytes);

#endif
