#include "weights/gibbs/counts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1 << 16 };

static int allocate(struct counts *counts, size_t slots) {
    struct count *made = slots <= SIZE_MAX / 2 / sizeof *made ? malloc(slots * sizeof *made) : NULL;
    if (!made)
        return -1;
    for (size_t i = 0; i < slots; i++)
        made[i] = (struct count){.source = UINT32_MAX};
    *counts = (struct counts){made, slots - 1, 0};
    return 0;
}

int counts_init(struct counts *counts) {
    return allocate(counts, FIRST_SLOTS);
}

void counts_done(struct counts *counts) {
    if (counts)
        free(counts->slots);
}

/* Without the pairs that count 0; twice as large unless those were half of all. */
static int make_anew(struct counts *counts) {
    size_t kept = 0;
    for (size_t i = 0; i <= counts->mask; i++)
        kept += counts->slots[i].count > 0;
    struct counts made;
    if (allocate(&made, (counts->mask + 1) * (kept > counts->used / 2 ? 2 : 1)) != 0)
        return -1;
    for (size_t i = 0; i <= counts->mask; i++)
        if (counts->slots[i].count > 0)
            *counts_slot(&made, counts->slots[i].source, counts->slots[i].target) = counts->slots[i];
    made.used = kept;
    counts_done(counts);
    *counts = made;
    return 0;
}

int counts_add(struct counts *counts, uint32_t source, uint32_t target) {
    struct count *slot = counts_slot(counts, source, target);
    if (slot->source == UINT32_MAX) {
        if (counts->used >= counts->mask / 2) {
            if (make_anew(counts) != 0)
                return -1;
            slot = counts_slot(counts, source, target);
        }
        counts->used++;
    }
    *slot = (struct count){source, target, slot->count + 1};
    return 0;
}

void counts_remove(struct counts *counts, uint32_t source, uint32_t target) {
    struct count *slot = counts_slot(counts, source, target);
    assert(slot->count > 0);
    slot->count--;
}
