/* This file defines how packings share prefetching among blocks of rows, how they load and store
 * the columns of the last panel, and the loop of their lookups. Included only by files that are
 * compiled once per instruction set. */
#ifndef ALIGND_PACKING_H
#define ALIGND_PACKING_H

#include "model/compute/kernels.h"
#include "model/compute/vector.h"

/* ---- prefetching ----
 * A panel is multiplied with the rows block by block, and each block prefetches its share of the
 * next panel from front to back: requests that come evenly leave room for others, and a processor
 * that sees them in order prefetches, too. */

enum { LINE_BYTES = 64 };

/* Returns where the share of a block begins among the `bytes` that all blocks prefetch for a row of
 * a panel. Shares are whole lines if there are enough of them. */
INLINE size_t share_of(size_t bytes, size_t block, size_t blocks) {
    size_t lines = bytes / LINE_BYTES;
    return bytes % LINE_BYTES == 0 && lines >= blocks ? block * lines / blocks * LINE_BYTES
                                                      : block * bytes / blocks;
}

/* Returns the lines that cover so many bytes; at least one. */
INLINE size_t lines_of(size_t bytes) {
    return bytes > LINE_BYTES ? (bytes + LINE_BYTES - 1) / LINE_BYTES : 1;
}

/* ---- columns ---- */

/* Loads values of the columns from `column` on; those from `columns` on are zero. */
INLINE vec load_columns(const float *p, size_t column, size_t columns) {
    return column + VL <= columns ? load(p)
           : column < columns     ? load_part(p, columns - column, 0)
                                  : splat(0);
}

/* Stores x to the columns from `column` on that are below `columns`. */
INLINE void store_columns(float *p, vec x, size_t column, size_t columns) {
    if (column + VL <= columns)
        store(p, x);
    else if (column < columns)
        store_part(p, x, columns - column);
}

/* ---- lookups ----
 * Four ids are looked up at a time, and their sums are finished together. */

enum { TOGETHER = 4 };

/* Gathers the values of four ids. */
INLINE quad pick(const float *values, const int *ids) {
    return (quad){values[ids[0]], values[ids[1]], values[ids[2]], values[ids[3]]};
}

/* Computes the outputs of ids [TOGETHER] for row r and prefetches the weights of the ids ahead
 * [TOGETHER]. x: the rows, as the packing needs them. */
typedef quad look_up_four(const struct lookup *lookup, const void *x, size_t r, const int *ids,
                          const int *ahead);

/* Weights are read once for all rows. distance: they are prefetched this many ids ahead. */
INLINE void look_up_all(const struct lookup *lookup, look_up_four *four, const void *x,
                        size_t x_rows, size_t distance) {
    size_t i = 0, count = lookup->count;
    for (; i + TOGETHER <= count; i += TOGETHER) {
        const int *ids = lookup->ids + i,
                  *ahead = i + distance + TOGETHER <= count ? ids + distance : ids;
        for (size_t r = 0; r < x_rows; r++) {
            quad y = four(lookup, x, r, ids, r == 0 ? ahead : ids);
            memcpy(lookup->y + r * lookup->ldy + i, &y, sizeof y);
        }
    }
    if (i < count) { /* the last id stands in for missing ones */
        int ids[TOGETHER];
        for (size_t j = 0; j < TOGETHER; j++)
            ids[j] = lookup->ids[i + j < count ? i + j : count - 1];
        for (size_t r = 0; r < x_rows; r++) {
            quad y = four(lookup, x, r, ids, ids);
            memcpy(lookup->y + r * lookup->ldy + i, &y, (count - i) * sizeof(float));
        }
    }
}

#endif
