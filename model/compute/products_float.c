/* Packed weights that are multiplied in float32. Compiled once per instruction set (see kernels.c).
 *
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1, for each k the WIDTH weights side by side; missing columns are zero. A
 * block of rows walks k once with one sum per row and column, always in rising k, so a row's sums are the same whatever block it is
 * in. */
#include "model/compute/half.h"
#include "model/compute/lookup.h"
#include "model/compute/products.h"

#include <math.h>
#include <stdalign.h>
#include <stdbool.h>

#if defined(__AVX512F__)
enum { PANEL = 3, BLOCK = 8 }; /* 24 of 32 registers hold sums */
#elif defined(__AVX2__)
enum { PANEL = 2, BLOCK = 6 }; /* 12 of 16 */
#else
enum { PANEL = 2, BLOCK = 4 };
#endif
enum { WIDTH = VL * PANEL, LINE_BYTES = 64 };

/* PIECE: where more than one block of rows meets a panel of 16-bit weights, so many k are expanded at a time: they stay in the
 * first cache. */
enum { PIECE = 128 };

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

/* ---- how weights are kept ---- */

enum storage { FLOAT32, FLOAT16, BFLOAT16 };

INLINE size_t storage_bytes(enum storage storage) {
    return storage == FLOAT32 ? 4 : 2;
}

/* VL weights as they are kept -> float32. */
INLINE vec load_weights(enum storage storage, const char *p) {
    if (storage == FLOAT32) {
        vec v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    return storage == FLOAT16 ? load_half(p) : (vec)(widen(p) << 16); /* bfloat16: the upper half of a float32 */
}

static void keep(enum storage storage, float weight, char *p) {
    uint16_t half = storage == FLOAT16 ? half_of(weight) : upper_bits(bits_of(weight), 16);
    memcpy(p, storage == FLOAT32 ? (const void *)&weight : &half, storage_bytes(storage));
}

INLINE size_t packed_bytes(enum storage storage, size_t out, size_t in) {
    return panels_of(out) * WIDTH * in * storage_bytes(storage);
}

INLINE void pack(enum storage storage, const float *weight, size_t out, size_t in, char *packed) {
    for (size_t p = 0; p < panels_of(out); p++)
        for (size_t k = 0; k < in; k++)
            for (size_t j = 0; j < WIDTH; j++) {
                size_t column = p * WIDTH + j;
                keep(storage, column < out ? weight[column * in + k] : 0.0f, packed);
                packed += storage_bytes(storage);
            }
}

/* ---- blocks ---- */

/* `count` k from `k` on. */
struct range {
    size_t k, count;
};

/* What a block of rows meets: columns `column`.. of the product, over a range of k. weights: their first panel there, and `next`
 * bytes further the one after it. ahead: where each k finds a line to fetch for what comes next, `stride` bytes apart. */
struct tile {
    size_t column;
    struct range range;
    const char *weights;
    size_t next;
    const char *ahead;
    size_t stride;
};

/* Sums of one panel and one row, with the bias if there is one, -> y; the last panel may be narrower. Out of line: the loops before
 * it need all registers. */
static __attribute__((noinline)) void store_panel(float *y, const float *bias, size_t columns, const vec *sums) {
    for (size_t v = 0; v < PANEL; v++)
        store_columns(y, bias, v * VL, columns, sums[v]);
}

INLINE vec load_sums(const struct product *q, const float *y, size_t column) {
    return column + VL <= q->out ? load(y) : column < q->out ? load_part(y, q->out - column, 0) : splat(0);
}

/* rows rows from `row` on against `panels` panels; both counts, and storage, are compile-time constants after inlining. The sums of
 * a range that does not begin at 0 go on from what the range before it left in y. */
INLINE void multiply_tile(enum storage storage, const struct product *q, const struct tile *tile, size_t row, size_t rows,
                          size_t panels) {
    size_t ldx = q->ldx, bytes = WIDTH * storage_bytes(storage), end = tile->range.k + tile->range.count;
    const float *x = q->x + row * ldx;
    float *y = q->y + row * q->ldy + tile->column;
    vec sums[BLOCK][PANEL];
    UNROLL
    for (size_t i = 0; i < rows * panels; i++) {
        size_t r = i / panels, p = i % panels;
        UNROLL
        for (size_t v = 0; v < PANEL; v++) {
            size_t column = p * WIDTH + v * VL;
            sums[i][v] = tile->range.k == 0 ? splat(0) : load_sums(q, y + r * q->ldy + column, tile->column + column);
        }
    }
    const char *weights = tile->weights, *ahead = tile->ahead;
    for (size_t k = tile->range.k; k < end; k++, weights += bytes, ahead += tile->stride) {
        __builtin_prefetch(ahead, 0, 2);
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            vec w[PANEL];
            UNROLL
            for (size_t v = 0; v < PANEL; v++)
                w[v] = load_weights(storage, weights + p * tile->next + v * VL * storage_bytes(storage));
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                UNROLL
                for (size_t v = 0; v < PANEL; v++)
                    sums[r * panels + p][v] += w[v] * x[r * ldx + k];
            }
        }
    }
    for (size_t i = 0; i < rows * panels; i++) {
        size_t r = i / panels, p = i % panels, column = tile->column + p * WIDTH;
        const float *bias = q->bias && end == q->in ? q->bias + column : NULL;
        store_panel(y + r * q->ldy + p * WIDTH, bias, q->out - column, sums[i]);
    }
}

/* 1 to BLOCK rows, one panel. */
INLINE void multiply_height(enum storage storage, const struct product *q, const struct tile *tile, size_t row, size_t rows) {
    switch (rows) {
    case 1:
        multiply_tile(storage, q, tile, row, 1, 1);
        break;
    case 2:
        multiply_tile(storage, q, tile, row, 2, 1);
        break;
    case 3:
        multiply_tile(storage, q, tile, row, 3, 1);
        break;
    case 4:
        multiply_tile(storage, q, tile, row, 4, 1);
        break;
#if defined(__AVX2__)
    case 5:
        multiply_tile(storage, q, tile, row, 5, 1);
        break;
    case 6:
        multiply_tile(storage, q, tile, row, 6, 1);
        break;
#endif
#if defined(__AVX512F__)
    case 7:
        multiply_tile(storage, q, tile, row, 7, 1);
        break;
    case 8:
        multiply_tile(storage, q, tile, row, 8, 1);
        break;
#endif
    }
}

/* Out of line, so that the compiler has all registers for it. */
static void multiply_block(enum storage storage, const struct product *q, const struct tile *tile, size_t row, size_t rows) {
    switch (storage) {
    case FLOAT32:
        multiply_height(FLOAT32, q, tile, row, rows);
        break;
    case FLOAT16:
        multiply_height(FLOAT16, q, tile, row, rows);
        break;
    case BFLOAT16:
        multiply_height(BFLOAT16, q, tile, row, rows);
        break;
    }
}

/* ---- whole products ---- */

/* Panel `panel` over the whole of k; `together` panels further comes what to fetch meanwhile. */
INLINE struct tile tile_at(enum storage storage, const struct product *q, size_t panel, size_t together) {
    size_t bytes = WIDTH * q->in * storage_bytes(storage);
    const char *weights = (const char *)q->packed + panel * bytes;
    return (struct tile){.column = panel * WIDTH,
                         .range = {0, q->in},
                         .weights = weights,
                         .next = bytes,
                         .ahead = panel + together < panels_of(q->out) ? weights + together * bytes : weights,
                         .stride = WIDTH * storage_bytes(storage)};
}

/* A few rows: several panels together keep the multipliers busy, and the weights stream past. */
INLINE void multiply_few(enum storage storage, const struct product *q, size_t rows, size_t together) {
    size_t total = panels_of(q->out), panel = 0;
    for (; panel + together <= total; panel += together) {
        struct tile tile = tile_at(storage, q, panel, together);
        multiply_tile(storage, q, &tile, 0, rows, together);
    }
    for (; panel < total; panel++) {
        struct tile tile = tile_at(storage, q, panel, 1);
        multiply_tile(storage, q, &tile, 0, rows, 1);
    }
}

/* All rows, in blocks of about equal height: a last one of one row would idle the multipliers. The first blocks fetch the next
 * panel meanwhile, one line of each k apiece. */
INLINE void multiply_blocks(enum storage storage, const struct product *q, struct tile tile) {
    size_t blocks = (q->rows + BLOCK - 1) / BLOCK;
    const char *ahead = tile.ahead;
    for (size_t b = 0; b < blocks; b++) {
        size_t begin = b * q->rows / blocks, end = (b + 1) * q->rows / blocks;
        tile.ahead = ahead + (b * LINE_BYTES < tile.stride ? b * LINE_BYTES : 0);
        multiply_block(storage, q, &tile, begin, end - begin);
    }
}

/* A panel of 16-bit weights and many blocks: expanded once for all of them, piece by piece. */
INLINE void multiply_expanded(enum storage storage, const struct product *q, const struct tile *panel) {
    alignas(LINE_BYTES) float expanded[PIECE * WIDTH];
    for (size_t k = 0; k < q->in; k += PIECE) {
        size_t count = q->in - k < PIECE ? q->in - k : PIECE;
        for (size_t i = 0; i < count * WIDTH; i += VL)
            store(expanded + i, load_weights(storage, panel->weights + (k * WIDTH + i) * storage_bytes(storage)));
        struct tile tile = *panel;
        tile.range = (struct range){k, count};
        tile.weights = (const char *)expanded;
        tile.ahead += k * tile.stride;
        multiply_blocks(FLOAT32, q, tile);
    }
}

/* Each panel meets all rows while it is in the cache. */
INLINE void multiply_many(enum storage storage, const struct product *q) {
    for (size_t panel = 0; panel < panels_of(q->out); panel++) {
        struct tile tile = tile_at(storage, q, panel, 1);
        if (storage == FLOAT32 || q->rows <= BLOCK)
            multiply_blocks(storage, q, tile);
        else
            multiply_expanded(storage, q, &tile);
    }
}

INLINE void multiply(enum storage storage, const struct product *q) {
    switch (q->rows) {
    case 0:
        break;
    case 1:
        multiply_few(storage, q, 1, 4);
        break;
    case 2:
        multiply_few(storage, q, 2, 2);
        break;
    case 3:
        multiply_few(storage, q, 3, BLOCK / 3);
        break;
    default:
        multiply_many(storage, q);
    }
}

/* ---- lookups ---- */

enum { AHEAD = 8 }; /* rows are fetched so many ids ahead */

/* Weights of a row: whole vectors, padded with zeros. */
INLINE size_t row_length(size_t in) {
    return (in + VL - 1) / VL * VL;
}

INLINE size_t row_bytes(enum storage storage, size_t in) {
    return row_length(in) * storage_bytes(storage);
}

INLINE void pack_rows(enum storage storage, const float *weight, size_t out, size_t in, char *rows) {
    for (size_t i = 0; i < out; i++)
        for (size_t k = 0; k < row_length(in); k++, rows += storage_bytes(storage))
            keep(storage, k < in ? weight[i * in + k] : 0.0f, rows);
}

INLINE quad four_outputs(enum storage storage, const struct lookup *q, const int *ids, const int *ahead) {
    size_t bytes = row_bytes(storage, q->in);
    const char *rows[TOGETHER], *next[TOGETHER];
    vec sums[TOGETHER];
    UNROLL
    for (size_t j = 0; j < TOGETHER; j++) {
        rows[j] = (const char *)q->rows + (size_t)ids[j] * bytes;
        next[j] = (const char *)q->rows + (size_t)ahead[j] * bytes;
        sums[j] = splat(0);
    }
    for (size_t k = 0; k < q->in; k += VL) {
        vec x = k + VL <= q->in ? load(q->x + k) : load_part(q->x + k, q->in - k, 0);
        UNROLL
        for (size_t j = 0; j < TOGETHER; j++) {
            __builtin_prefetch(next[j] + k * storage_bytes(storage));
            sums[j] += load_weights(storage, rows[j] + k * storage_bytes(storage)) * x;
        }
    }
    quad y = sum_four(sums);
    return q->bias ? y + pick(q->bias, ids) : y;
}

/* ---- the table ---- */

#define PACKING(function, label, storage)                                                                                          \
    static size_t bytes_##function(size_t out, size_t in) {                                                                        \
        return packed_bytes(storage, out, in);                                                                                     \
    }                                                                                                                              \
    static void pack_##function(const struct unpacked *from, void *packed) {                                                       \
        pack(storage, from->weight, from->out, from->in, packed);                                                                  \
    }                                                                                                                              \
    static void multiply_##function(const struct product *product) {                                                               \
        multiply(storage, product);                                                                                                \
    }                                                                                                                              \
    static size_t rows_bytes_##function(size_t out, size_t in) {                                                                   \
        return out * row_bytes(storage, in);                                                                                       \
    }                                                                                                                              \
    static void pack_rows_##function(const struct unpacked *from, void *rows) {                                                    \
        pack_rows(storage, from->weight, from->out, from->in, rows);                                                               \
    }                                                                                                                              \
    INLINE quad four_##function(const struct lookup *lookup, const void *x, const int *ids, const int *ahead) {                    \
        (void)x;                                                                                                                   \
        return four_outputs(storage, lookup, ids, ahead);                                                                          \
    }                                                                                                                              \
    static void look_up_##function(const struct lookup *lookup) {                                                                  \
        look_up_all(lookup, four_##function, lookup->x, AHEAD);                                                                    \
    }                                                                                                                              \
    static const struct packing function = {label,                                                                                 \
                                            SIZE_MAX,                                                                              \
                                            bytes_##function,                                                                      \
                                            pack_##function,                                                                       \
                                            multiply_##function,                                                                   \
                                            rows_bytes_##function,                                                                 \
                                            pack_rows_##function,                                                                  \
                                            look_up_##function}

PACKING(float32, "float32", FLOAT32);
PACKING(float16, "float16", FLOAT16);
PACKING(bfloat16, "bfloat16", BFLOAT16);

const struct packings JOIN(packings, KERNELS) = {&float32, &float16, &bfloat16, &JOIN(packing_int8, KERNELS)};
