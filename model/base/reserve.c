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
    free(atomic_exchange(&reserve, block)); /* another thread may have been quicker */
    return 0;
}

bool reserve_release(void) {
    void *block = atomic_exchange(&reserve, NULL);
    free(block);
    return block != NULL;
}

void *reserve_alloc(size_t bytes) {
    void *made = malloc(bytes);
    while (!made && reserve_release())
        made = malloc(bytes);
    return made;
}

void *reserve_realloc(void *block, size_t bytes) {
    void *made = realloc(block, bytes);
    while (!made && bytes > 0 && reserve_release())
        made = realloc(block, bytes);
    return made;
}
