/* This file hides the block of memory that is reserved for libraries. */
#include "model/base/reserve.h"
#include <stdatomic.h>
#include <stdlib.h>

static void *_Atomic reserve;

int reserve_fill(struct error *err) {
    if (atomic_load(&reserve))
        return 0;
    void *block = malloc(RESERVE_BYTES);
    if (!block)
        return error_memory(err);
    free(atomic_exchange(&reserve, block)); /* another thread may have been faster */
    return 0;
}

bool reserve_release(void) {
    void *block = atomic_exchange(&reserve, NULL);
    free(block);
    return block != NULL;
}

void *reserve_alloc(size_t bytes) {
    return reserve_realloc(NULL, bytes);
}

void *reserve_realloc(void *block, size_t bytes) {
    /* A realloc that fails leaves the block alone, but gcc 14 would warn of a use after free. It cannot follow a volatile pointer.
     */
    void *volatile kept = block;
    void *made;
    do
        made = realloc(kept, bytes);
    while (!made && bytes > 0 && reserve_release());
    return made;
}
