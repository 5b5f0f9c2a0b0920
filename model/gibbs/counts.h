/* How often each pair of words is linked: for each source word a hash table of target words. Most
 * pairs that are asked for were never linked; buckets tell so without a branch that depends on the
 * pair. */
#ifndef ALIGND_GIBBS_COUNTS_H
#define ALIGND_GIBBS_COUNTS_H

#include <stdint.h>

enum { BUCKET_SLOTS = 4 };
typedef uint32_t slots __attribute__((vector_size(BUCKET_SLOTS * sizeof(uint32_t))));

/* Slots are filled in their order; a pair that finds all taken is in the next bucket. */
struct bucket {
    slots targets; /* 0: free */
    slots counts;  /* 0: once used; the slot stays until the table is made anew */
};

/* A source word's counts. */
struct table {
    struct bucket *buckets; /* [mask + 1] */
    uint32_t mask, used;    /* used: slots that are not free, at most half of all */
};

struct counts {
    struct table *tables; /* [vocabulary] */
    uint32_t vocabulary;
};

/* vocabulary: the largest source word + 1. Returns 0, or -1 without memory. */
int counts_init(struct counts *counts, uint32_t vocabulary);
void counts_done(struct counts *counts);

/* The bucket where the search begins, and which the processor may be asked to fetch. */
static inline struct bucket *counts_bucket(const struct table *table, uint32_t target) {
    return &table->buckets[(target * UINT64_C(0x9E3779B97F4A7C15) >> 32) & table->mask];
}

static inline uint32_t counts_of(const struct table *table, uint32_t target) {
    const struct bucket *bucket = counts_bucket(table, target);
    slots found = bucket->counts & (slots)(bucket->targets == target);
    while (bucket->targets[BUCKET_SLOTS - 1] != 0) {
        bucket = bucket == table->buckets + table->mask ? table->buckets : bucket + 1;
        found |= bucket->counts & (slots)(bucket->targets == target);
    }
    return found[0] | found[1] | found[2] | found[3];
}

/* target: from 1. Returns 0, or -1 without memory for a larger table; then nothing is counted. */
int counts_add(struct table *table, uint32_t target);
/* The pair has been added more often than removed. */
void counts_remove(struct table *table, uint32_t target);

/* Gives back the room of pairs that count 0. Returns 0, or -1 without memory; then all counts are
 * as they were. */
int counts_tidy(struct counts *counts);

#endif
