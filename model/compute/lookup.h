/* What the lookups of all packings share (model/compute/products.h): ids are looked up four at a time, whose sums end together.
 * Included only by files that are compiled once per instruction set. */
#ifndef ALIGND_LOOKUP_H
#define ALIGND_LOOKUP_H

#include "model/compute/products.h"
#include "model/compute/vector.h"

enum { TOGETHER = 4 };

/* Of each id its value. */
INLINE quad pick(const float *values, const int *ids) {
    return (quad){values[ids[0]], values[ids[1]], values[ids[2]], values[ids[3]]};
}

/* The outputs of ids [TOGETHER]; ahead [TOGETHER]: ids whose rows are to be fetched meanwhile. x: the row, as the packing wants it.
 */
typedef quad look_up_four(const struct lookup *lookup, const void *x, const int *ids, const int *ahead);

/* distance: how many ids further on rows are fetched. */
INLINE void look_up_all(const struct lookup *lookup, look_up_four *four, const void *x, size_t distance) {
    size_t i = 0, count = lookup->count;
    for (; i + TOGETHER <= count; i += TOGETHER) {
        const int *ids = lookup->ids + i;
        quad y = four(lookup, x, ids, i + distance + TOGETHER <= count ? ids + distance : ids);
        memcpy(lookup->y + i, &y, sizeof y);
    }
    if (i < count) { /* the last one stands in for those that are missing */
        int ids[TOGETHER];
        for (size_t j = 0; j < TOGETHER; j++)
            ids[j] = lookup->ids[i + j < count ? i + j : count - 1];
        quad y = four(lookup, x, ids, ids);
        memcpy(lookup->y + i, &y, (count - i) * sizeof(float));
    }
}

#endif
