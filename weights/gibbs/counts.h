/* How often each pair of words is linked: a hash table from pairs to counts. */
#ifndef ALIGND_GIBBS_COUNTS_H
#define ALIGND_GIBBS_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct count {
    uint32_t source, target; /* source UINT32_MAX: a free slot */
    uint32_t count;          /* 0: once used; the slot stays until the table is made anew */
};

struct counts {
    struct count *slots; /* [mask + 1] */
    size_t mask, used;   /* used: slots that are not free, at most half of all */
};

/* Returns 0, or -1 without memory. */
int counts_init(struct counts *counts);
void counts_done(struct counts *counts);

/* The slot where the search for the pair begins. */
static inline size_t counts_place(const struct counts *counts, uint32_t source, uint32_t target) {
    uint64_t key = ((uint64_t)source << 32 | target) * 0x9E3779B97F4A7C15;
    return (size_t)(key >> 20) & counts->mask;
}

/* Asks the processor for the pair's slot, which a table of this size does not have in its caches. */
static inline void counts_prefetch(const struct counts *counts, uint32_t source, uint32_t target) {
    __builtin_prefetch(&counts->slots[counts_place(counts, source, target)]);
}

static inline struct count *counts_slot(const struct counts *counts, uint32_t source, uint32_t target) {
    size_t place = counts_place(counts, source, target);
    struct count *slot = &counts->slots[place];
    while (slot->source != UINT32_MAX && (slot->source != source || slot->target != target)) {
        place = (place + 1) & counts->mask;
        slot = &counts->slots[place];
    }
    return slot;
}

static inline uint32_t counts_of(const struct counts *counts, uint32_t source, uint32_t target) {
    return counts_slot(counts, source, target)->count; /* a free slot counts 0 */
}

/* Returns 0, or -1 without memory for a larger table; then nothing is counted. */
int counts_add(struct counts *counts, uint32_t source, uint32_t target);
/* The pair has been added more often than removed. */
void counts_remove(struct counts *counts, uint32_t source, uint32_t target);

#endif
