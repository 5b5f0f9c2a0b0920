/* Packed weights that are multiplied in float32. Compiled once per instruction set (see kernels.c).
 *
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1, for each k the WIDTH weights side by side; missing columns are zero. A
 * block of rows walks k once with one sum per row and column, always in rising k, so a row's sums are the same whatever block it is
 * in. */
#include "model/products.h"
#include "model/vector.h"

#include <stdbool.h>

#if defined(__AVX512F__)
enum { PANEL = 3, BLOCK = 8 }; /* 24 of 32 registers hold sums */
#elif defined(__AVX2__)
enum { PANEL = 2, BLOCK = 6 }; /* 12 of 16 */
#else
enum { PANEL = 2, BLOCK = 4 };
#endif
enum { WIDTH = VL * PANEL }; /* output columns of one packed panel */

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

static size_t float_bytes(size_t out, size_t in) {
    return panels_of(out) * WIDTH * in * sizeof(float);
}

static void pack_floats(const float *weight, size_t out, size_t in, void *panels) {
    float *packed = panels;
    for (size_t p = 0; p < panels_of(out); p++)
        for (size_t k = 0; k < in; k++)
            for (size_t j = 0; j < WIDTH; j++) {
                size_t column = p * WIDTH + j;
                *packed++ = column < out ? weight[column * in + k] : 0.0f;
            }
}

/* Writes one panel's sums of one row; the last panel may be narrower. */
INLINE void store_panel(const vec *sums, const float *bias, size_t columns, float *y) {
    float wide[WIDTH];
    bool whole = columns >= WIDTH;
    float *to = whole ? y : wide;
    for (size_t v = 0; v < PANEL; v++) {
        store(to + v * VL, sums[v]);
    }
    if (!whole)
        memcpy(y, wide, columns * sizeof *y);
    if (bias)
        for (size_t j = 0; j < (whole ? WIDTH : columns); j++)
            y[j] += bias[j];
}

/* `rows` rows from `row` on, against `panels` panels from `panel` on; both counts are compile-time constants after inlining. ahead:
 * where each k finds the line to fetch for what comes next (in x WIDTH floats apart by k). */
INLINE void multiply_block(const struct product *q, size_t row, size_t rows, size_t panel, size_t panels, const float *ahead) {
    const float *packed = (const float *)q->packed + panel * WIDTH * q->in, *x = q->x + row * q->ldx;
    size_t in = q->in, ldx = q->ldx;
    vec sums[BLOCK][4][PANEL];
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < panels; p++)
            for (size_t v = 0; v < PANEL; v++)
                sums[r][p][v] = splat(0);
    for (size_t k = 0; k < in; k++) {
        __builtin_prefetch(ahead + k * WIDTH, 0, 2);
        for (size_t p = 0; p < panels; p++)
            for (size_t v = 0; v < PANEL; v++) {
                vec w = load(packed + (p * in + k) * WIDTH + v * VL);
                for (size_t r = 0; r < rows; r++)
                    sums[r][p][v] += w * x[r * ldx + k];
            }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < panels; p++) {
            size_t column = (panel + p) * WIDTH;
            store_panel(sums[r][p], q->bias ? q->bias + column : NULL, q->out - column, q->y + (row + r) * q->ldy + column);
        }
}

/* A few rows: several panels together keep the multipliers busy, and the weights stream past. */
INLINE void multiply_few(const struct product *q, size_t rows, size_t together) {
    size_t total = panels_of(q->out), panel = 0;
    for (; panel + together <= total; panel += together)
        multiply_block(q, 0, rows, panel, together,
                       (const float *)q->packed + (panel + together < total ? panel + together : panel) * WIDTH * q->in);
    for (; panel < total; panel++)
        multiply_block(q, 0, rows, panel, 1, (const float *)q->packed + panel * WIDTH * q->in);
}

/* One panel against one block of 1 to BLOCK rows. */
static void multiply_panel(const struct product *q, size_t row, size_t rows, size_t panel, const float *ahead) {
    switch (rows) {
    case 1:
        multiply_block(q, row, 1, panel, 1, ahead);
        break;
    case 2:
        multiply_block(q, row, 2, panel, 1, ahead);
        break;
    case 3:
        multiply_block(q, row, 3, panel, 1, ahead);
        break;
    case 4:
        multiply_block(q, row, 4, panel, 1, ahead);
        break;
#if defined(__AVX2__)
    case 5:
        multiply_block(q, row, 5, panel, 1, ahead);
        break;
    case 6:
        multiply_block(q, row, 6, panel, 1, ahead);
        break;
#endif
#if defined(__AVX512F__)
    case 7:
        multiply_block(q, row, 7, panel, 1, ahead);
        break;
    case 8:
        multiply_block(q, row, 8, panel, 1, ahead);
        break;
#endif
    }
}

/* Each panel meets all rows while it is in the cache, in blocks of about equal height: a last one of one row would idle the
 * multipliers. The first blocks fetch the next panel meanwhile, one line of each k apiece. */
static void multiply_many(const struct product *q) {
    size_t rows = q->rows, blocks = (rows + BLOCK - 1) / BLOCK, total = panels_of(q->out);
    for (size_t panel = 0; panel < total; panel++) {
        const float *next = (const float *)q->packed + (panel + 1 < total ? panel + 1 : panel) * WIDTH * q->in;
        for (size_t b = 0; b < blocks; b++) {
            size_t begin = b * rows / blocks, end = (b + 1) * rows / blocks;
            multiply_panel(q, begin, end - begin, panel, next + (b < PANEL ? b * VL : 0));
        }
    }
}

static void multiply_floats(const struct product *q) {
    switch (q->rows) {
    case 0:
        break;
    case 1:
        multiply_few(q, 1, 4);
        break;
    case 2:
        multiply_few(q, 2, 2);
        break;
    case 3:
        multiply_few(q, 3, 2);
        break;
    default:
        multiply_many(q);
    }
}

const struct packings JOIN(packings, KERNELS) = {
    .float32 = {"float32", float_bytes, pack_floats, multiply_floats},
};
