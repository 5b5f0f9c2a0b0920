#include "model/gibbs/counts.h"
#include <assert.h>
#include <stdlib.h>

static int allocate(struct table *table, size_t buckets) {
    struct bucket *made = buckets <= UINT32_MAX ? calloc(buckets, sizeof *made) : NULL;
    if (!made)
        return -1;
    *table = (struct table){made, (uint32_t)(buckets - 1), 0};
    return 0;
}

int counts_init(struct counts *counts, uint32_t vocabulary) {
    *counts = (struct counts){calloc((size_t)vocabulary + 1, sizeof *counts->tables), vocabulary};
    if (!counts->tables)
        return -1;
    for (uint32_t i = 0; i < vocabulary; i++)
        if (allocate(&counts->tables[i], 1) != 0) {
            counts_done(counts);
            return -1;
        }
    return 0;
}

void counts_done(struct counts *counts) {
    if (!counts || !counts->tables)
        return;
    for (uint32_t i = 0; i < counts->vocabulary; i++)
        free(counts->tables[i].buckets);
    free(counts->tables);
    counts->tables = NULL;
}

/* A slot of a table: its two halves. */
struct slot {
    uint32_t *target, *count;
};

static size_t slots_of(const struct table *table) {
    return ((size_t)table->mask + 1) * BUCKET_SLOTS;
}

static struct slot slot_at(const struct table *table, size_t index) {
    struct bucket *bucket = &table->buckets[index / BUCKET_SLOTS];
    return (struct slot){(uint32_t *)&bucket->targets + index % BUCKET_SLOTS,
                         (uint32_t *)&bucket->counts + index % BUCKET_SLOTS};
}

/* The target word's own, or the free one where it belongs. */
static struct slot find_slot(const struct table *table, uint32_t target) {
    for (size_t i = (size_t)(counts_bucket(table, target) - table->buckets) * BUCKET_SLOTS;;
         i = (i + 1) & (slots_of(table) - 1)) {
        struct slot slot = slot_at(table, i);
        if (*slot.target == 0 || *slot.target == target)
            return slot;
    }
}

/* Without the words that count 0, and with room for as many again as are kept. */
static int make_anew(struct table *table) {
    size_t kept = 0, buckets = 1;
    for (size_t i = 0; i < slots_of(table); i++)
        kept += *slot_at(table, i).count > 0;
    while (buckets * BUCKET_SLOTS < 4 * kept)
        buckets *= 2;
    struct table made;
    if (allocate(&made, buckets) != 0)
        return -1;
    for (size_t i = 0; i < slots_of(table); i++) {
        struct slot old = slot_at(table, i);
        if (*old.count == 0)
            continue;
        struct slot anew = find_slot(&made, *old.target);
        *anew.target = *old.target;
        *anew.count = *old.count;
    }
    made.used = (uint32_t)kept;
    free(table->buckets);
    *table = made;
    return 0;
}

int counts_add(struct table *table, uint32_t target) {
    struct slot slot = find_slot(table, target);
    if (*slot.target == 0) {
        if (table->used >= slots_of(table) / 2) {
            if (make_anew(table) != 0)
                return -1;
            slot = find_slot(table, target);
        }
        table->used++;
        *slot.target = target;
    }
    ++*slot.count;
    return 0;
}

void counts_remove(struct table *table, uint32_t target) {
    struct slot slot = find_slot(table, target);
    assert(*slot.count > 0);
    --*slot.count;
}

int counts_tidy(struct counts *counts) {
    for (uint32_t i = 0; i < counts->vocabulary; i++)
        if (make_anew(&counts->tables[i]) != 0)
            return -1;
    return 0;
}
