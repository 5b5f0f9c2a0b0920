/* This file hides how weights that are multiplied in float32 are packed. It is compiled once per
 * instruction set (see kernels.c).
 *
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1: for each k the WIDTH weights side by side;
 * missing columns are zero. A block of rows walks k at once or by pieces, with one sum per row and
 * column and always in rising k, so a row's sums are the same in any block. */
#include "model/compute/packing.h"
#include <math.h>
#include <stdalign.h>

enum { PANEL = FLOAT_PANEL, BLOCK = FLOAT_BLOCK };
/* WIDTH: columns of a panel. PIECE: so many k of a panel are multiplied with all rows before the
 * next ones. */
enum { WIDTH = VL * PANEL, PIECE = 128 };
/* SUMS_BYTES: room on the stack for the sums of pieces. PIECE_ROWS: rows that are multiplied with a
 * piece. With more rows than FLOAT32_ROWS or fewer k than FLOAT32_IN, whole panels of float32 are
 * faster. */
enum { SUMS_BYTES = 64 * 1024, PIECE_ROWS = 64, FLOAT32_ROWS = 48, FLOAT32_IN = 256 };
/* How far ahead weights are prefetched while they stream past: into the first cache, and into the
 * second. */
enum { NEAR_BYTES = 2048, FAR_BYTES = 8192 };

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

/* ---- storing weights ---- */

enum storage { FLOAT32, FLOAT16, BFLOAT16 };

INLINE size_t storage_bytes(enum storage storage) {
    return storage == FLOAT32 ? 4 : 2;
}

/* Loads VL weights as float32. */
INLINE vec load_weights(enum storage storage, const char *p) {
    if (storage == FLOAT32) {
        vec v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    return storage == FLOAT16 ? load_half(p)
                              : (vec)(widen(p) << 16); /* bfloat16: the upper half of a float32 */
}

static void keep(enum storage storage, float weight, char *p) {
    uint16_t half = storage == FLOAT16 ? half_of(weight) : upper_bits(bits_of(weight), 16);
    memcpy(p, storage == FLOAT32 ? (const void *)&weight : &half, storage_bytes(storage));
}

INLINE void pack(enum storage storage, const struct unpacked *from, char *packed) {
    _Static_assert(PACKED_TOGETHER % WIDTH == 0, "a part has whole panels");
    size_t in = from->in, count = from->rows ? from->rows : from->out;
    packed += from->first * in * storage_bytes(storage);
    for (size_t p = 0; p < panels_of(count); p++)
        for (size_t k = 0; k < in; k++)
            for (size_t j = 0; j < WIDTH; j++) {
                size_t column = p * WIDTH + j;
                keep(storage, column < count ? from->weight[column * in + k] : 0.0f, packed);
                packed += storage_bytes(storage);
            }
}

/* ---- blocks ---- */

/* `count` values of k, from `k` on. */
struct range {
    size_t k, count;
};

/* The weights for a block of rows: columns of the product from `column` on, over a range of k.
 * weights: their first panel in this range; the panels are `next` bytes apart. ahead: the weights
 * that the first k prefetches; those of the next k are `stride` bytes further. After the last panel
 * they are what lies behind the matrix, often the matrix that is multiplied next. sums: where
 * multiply_tile leaves them. */
struct tile {
    size_t column;
    struct range range;
    const char *weights;
    size_t next;
    const char *ahead;
    size_t stride;
    vec *sums;
};

/* Stores the sums of `rows` rows from `row` on and of the panel at `column` to y. Sums of a row are
 * `distance` vectors after those of the row before. It is not inlined, because the loops before it
 * need all registers. */
static __attribute__((noinline)) void store_panel(const struct product *q, size_t row, size_t rows,
                                                  size_t column, const vec *sums, size_t distance) {
    size_t ldy = q->ldy, columns = q->out - column;
    float *y = q->y + row * ldy + column;
    vec floor = splat(q->relu ? 0 : -INFINITY), shift[PANEL]; /* x + -0 is x */
    for (size_t v = 0; v < PANEL; v++)
        shift[v] =
            !q->bias ? splat(-0.0f) : load_columns(q->bias + column + v * VL, v * VL, columns);
    for (size_t r = 0; r < rows; r++, y += ldy, sums += distance) {
        UNROLL
        for (size_t v = 0; v < PANEL; v++)
            store_columns(y + v * VL, larger(floor, sums[v] + shift[v]), v * VL, columns);
    }
}

/* Returns how many vectors of the tile's first panel have columns. */
INLINE size_t vectors_of(const struct product *q, const struct tile *tile) {
    size_t vectors = (q->out - tile->column + VL - 1) / VL;
    return vectors < PANEL ? vectors : PANEL;
}

/* Multiplies `rows` rows from `row` on with the first `vectors` vectors of each of `panels` panels;
 * the counts, storage and lines are compile-time constants after inlining. Each k prefetches so
 * many lines from tile->ahead on; 0: what its own panels need soon. The sums go to tile->sums
 * [rows, panels, PANEL]; those of a range that does not begin at 0 continue what is there. */
INLINE void multiply_tile(enum storage storage, const struct product *q, const struct tile *tile,
                          size_t row, size_t rows, size_t panels, size_t vectors, size_t lines) {
    size_t ldx = q->ldx, bytes = WIDTH * storage_bytes(storage);
    const float *x = q->x + row * ldx + tile->range.k + tile->range.count;
    vec sums[BLOCK * PANEL], *out = tile->sums;
    UNROLL
    for (size_t i = 0; i < rows * panels * PANEL; i++)
        sums[i] = splat(0);
    if (tile->range.k > 0) {
        UNROLL
        for (size_t i = 0; i < rows * panels * PANEL; i++)
            sums[i] = out[i];
    }
    const char *weights = tile->weights, *ahead = tile->ahead;
    /* k counts up to 0, and two steps are taken together, so that few instructions and registers
     * are left for counting. */
#pragma GCC unroll 2
    for (ptrdiff_t k = -(ptrdiff_t)tile->range.count; k < 0;
         k++, weights += bytes, ahead += tile->stride) {
        UNROLL
        for (size_t line = 0; line < lines; line++)
            __builtin_prefetch(ahead + line * LINE_BYTES, 0, 2);
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            const char *panel = weights + p * tile->next;
            vec w[PANEL];
            for (size_t at = 0; lines == 0 && at < bytes; at += LINE_BYTES)
                __builtin_prefetch(panel + NEAR_BYTES + at);
            UNROLL
            for (size_t v = 0; v < vectors; v++) {
                w[v] = load_weights(storage, panel + v * VL * storage_bytes(storage));
                HOLD(w[v]);
            }
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                UNROLL
                for (size_t v = 0; v < vectors; v++) {
                    vec *sum = &sums[(r * panels + p) * PANEL + v];
                    *sum = multiply_add(w[v], splat((x + r * ldx)[k]), *sum);
                }
            }
        }
    }
    UNROLL
    for (size_t i = 0; i < rows * panels * PANEL; i++)
        out[i] = sums[i];
}

/* Multiplies `rows` rows (a constant) with a panel of which not all vectors have columns. */
INLINE void multiply_narrow(enum storage storage, const struct product *q, const struct tile *tile,
                            size_t row, size_t rows, size_t lines) {
    if (PANEL > 2 && vectors_of(q, tile) == 2)
        multiply_tile(storage, q, tile, row, rows, 1, 2, lines);
    else
        multiply_tile(storage, q, tile, row, rows, 1, 1, lines);
}

/* Multiplies 1 to BLOCK rows with one panel. narrow (a compile-time constant): not all of its
 * vectors have columns. */
INLINE void multiply_height(enum storage storage, const struct product *q, const struct tile *tile,
                            size_t row, size_t rows, bool narrow, size_t lines) {
#define HEIGHT(count)                                                                              \
    case count:                                                                                    \
        if (narrow)                                                                                \
            multiply_narrow(storage, q, tile, row, count, lines);                                  \
        else                                                                                       \
            multiply_tile(storage, q, tile, row, count, 1, PANEL, lines);                          \
        break
    switch (rows) {
        HEIGHT(1);
        HEIGHT(2);
        HEIGHT(3);
        HEIGHT(4);
#if FLOAT_BLOCK > 4
        HEIGHT(5);
        HEIGHT(6);
#endif
#if FLOAT_BLOCK > 6
        HEIGHT(7);
        HEIGHT(8);
#endif
    }
#undef HEIGHT
}

/* It is not inlined, so that the compiler has all registers for it. */
static void multiply_block(enum storage storage, const struct product *q, const struct tile *tile,
                           size_t row, size_t rows) {
    enum {
        LINES = (WIDTH * 4 + LINE_BYTES - 1) / LINE_BYTES,
        HALF_LINES = (WIDTH * 2 + LINE_BYTES - 1) / LINE_BYTES
    };
    size_t lines = lines_of(tile->stride);
    bool narrow = vectors_of(q, tile) < PANEL;
    switch (storage) {
    case FLOAT32:
        if (narrow)
            multiply_height(FLOAT32, q, tile, row, rows, true, 1);
        else if (LINES > 2 && lines > 2)
            multiply_height(FLOAT32, q, tile, row, rows, false, LINES);
        else if (LINES > 1 && lines > 1)
            multiply_height(FLOAT32, q, tile, row, rows, false, 2);
        else
            multiply_height(FLOAT32, q, tile, row, rows, false, 1);
        break;
    case FLOAT16:
        multiply_height(FLOAT16, q, tile, row, rows, false, HALF_LINES);
        break;
    case BFLOAT16:
        multiply_height(BFLOAT16, q, tile, row, rows, false, HALF_LINES);
        break;
    }
}

/* ---- whole products ---- */

/* Returns panel `panel` over all k. */
INLINE struct tile tile_at(enum storage storage, const struct product *q, size_t panel, vec *sums) {
    size_t bytes = WIDTH * q->in * storage_bytes(storage);
    const char *weights = (const char *)q->packed + panel * bytes;
    return (struct tile){.column = panel * WIDTH,
                         .range = {0, q->in},
                         .weights = weights,
                         .next = bytes,
                         .ahead = weights + (q->rows > BLOCK ? bytes : FAR_BYTES),
                         .stride = WIDTH * storage_bytes(storage),
                         .sums = sums};
}

/* For a few rows: several panels together keep the multipliers busy, and the weights stream past.
 */
INLINE void multiply_few(enum storage storage, const struct product *q, size_t rows,
                         size_t together) {
    size_t total = panels_of(q->out), whole = q->out / WIDTH, panel = 0;
    vec sums[BLOCK * PANEL];
    for (; panel + together <= whole; panel += together) {
        struct tile tile = tile_at(storage, q, panel, sums);
        multiply_tile(storage, q, &tile, 0, rows, together, PANEL, 0);
        for (size_t p = 0; p < together; p++)
            store_panel(q, 0, rows, tile.column + p * WIDTH, sums + p * PANEL, together * PANEL);
    }
    for (; panel < total; panel++) {
        struct tile tile = tile_at(storage, q, panel, sums);
        if (vectors_of(q, &tile) < PANEL)
            multiply_narrow(storage, q, &tile, 0, rows, 0);
        else
            multiply_tile(storage, q, &tile, 0, rows, 1, PANEL, 0);
        store_panel(q, 0, rows, tile.column, sums, PANEL);
    }
}

/* Multiplies all rows in blocks of about equal height: a last block of one row would idle the
 * multipliers. distance: vectors from the sums of a row to those of the next; 0: the sums of each
 * block are stored at once. The tile is changed in place: a copy of it is read by vectors, and such
 * a load waits for all stores before it if its bytes were just written one by one. */
INLINE void multiply_blocks(enum storage storage, const struct product *q, struct tile *tile,
                            size_t distance) {
    size_t blocks = (q->rows + BLOCK - 1) / BLOCK, stride = tile->stride;
    const char *ahead = tile->ahead;
    vec *sums = tile->sums;
    for (size_t b = 0; b < blocks; b++) {
        size_t begin = b * q->rows / blocks, end = (b + 1) * q->rows / blocks,
               share = share_of(stride, b, blocks);
        tile->ahead = ahead + share * tile->range.count;
        tile->stride = share_of(stride, b + 1, blocks) - share;
        tile->sums = sums + begin * distance;
        multiply_block(storage, q, tile, begin, end - begin);
        if (distance == 0)
            store_panel(q, begin, end - begin, tile->column, sums, PANEL);
    }
    tile->stride = stride;
    tile->sums = sums;
}

/* Multiplies each panel with all rows while it is in the cache. A single block prefetches what it
 * needs soon, others the next panel. */
INLINE void multiply_panels(enum storage storage, const struct product *q) {
    vec sums[BLOCK * PANEL];
    for (size_t panel = 0; panel < panels_of(q->out); panel++) {
        struct tile tile = tile_at(storage, q, panel, sums);
        multiply_blocks(storage, q, &tile, 0);
    }
}

/* Multiplies a panel with all rows piece by piece. Each piece prefetches the next one, and 16-bit
 * weights are expanded once. */
INLINE void multiply_panel_pieces(enum storage storage, const struct product *q,
                                  struct tile *tile) {
    alignas(LINE_BYTES) float expanded[PIECE * WIDTH];
    const char *weights = tile->weights;
    for (size_t k = 0; k < q->in; k += PIECE) {
        tile->range.k = k;
        tile->range.count = q->in - k < PIECE ? q->in - k : PIECE;
        tile->weights = weights;
        weights += PIECE * tile->stride;
        tile->ahead = weights;
        if (storage != FLOAT32) {
            for (size_t i = 0; i < tile->range.count * WIDTH; i += VL)
                store(expanded + i,
                      load_weights(storage, tile->weights + i * storage_bytes(storage)));
            tile->weights = (const char *)expanded;
        }
        multiply_blocks(FLOAT32, q, tile, PANEL);
    }
}

/* Multiplies at most PIECE_ROWS rows with pieces of panels, so that weights from memory leave room
 * for others in the caches. The sums of several panels are stored together: a store of a few bytes
 * to each of many rows disturbs the processor's own prefetching, without which memory gives a third
 * of its speed. */
INLINE void multiply_pieces(enum storage storage, const struct product *q) {
    vec sums[SUMS_BYTES / sizeof(vec)];
    _Static_assert(PIECE_ROWS * PANEL <= sizeof sums / sizeof *sums,
                   "the sums of a panel have room");
    size_t total = panels_of(q->out), distance = q->rows * PANEL,
           together = sizeof sums / sizeof *sums / distance;
    for (size_t panel = 0, count; panel < total; panel += count) {
        count = total - panel < together ? total - panel : together;
        for (size_t p = 0; p < count; p++) {
            struct tile tile = tile_at(storage, q, panel + p, sums + p * distance);
            multiply_panel_pieces(storage, q, &tile);
        }
        for (size_t p = 0; p < count; p++)
            store_panel(q, 0, q->rows, (panel + p) * WIDTH, sums + p * distance, PANEL);
    }
}

INLINE void multiply_many(enum storage storage, const struct product *q) {
    if (q->rows <= BLOCK ||
        (storage == FLOAT32 && (q->rows > FLOAT32_ROWS || q->in < FLOAT32_IN))) {
        multiply_panels(storage, q);
        return;
    }
    size_t runs = (q->rows + PIECE_ROWS - 1) / PIECE_ROWS;
    for (size_t i = 0; i < runs; i++) {
        size_t begin = i * q->rows / runs;
        struct product run = *q;
        run.rows = (i + 1) * q->rows / runs - begin;
        run.x += begin * q->ldx;
        run.y += begin * q->ldy;
        multiply_pieces(storage, &run);
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

/* Multiplies as many columns at a time as the taker wants. bytes: of a column's weights. */
static void multiply_columns(const struct product *q, size_t bytes,
                             void (*multiplier)(const struct product *part)) {
    for (size_t first = 0; first < q->out; first += q->taker->columns) {
        size_t left = q->out - first;
        struct product part = *q;
        part.packed = (const char *)q->packed + first * bytes;
        part.bias = q->bias ? q->bias + first : NULL;
        part.out = left < q->taker->columns ? left : q->taker->columns;
        multiplier(&part);
        q->taker->take(q->taker, 0, q->rows, first, part.out);
    }
}

/* ---- lookups ---- */

enum { AHEAD = 8 }; /* rows are prefetched this many ids ahead */

/* Rows are whole vectors, padded with zeros. */
INLINE size_t row_length(size_t in) {
    return (in + VL - 1) / VL * VL;
}

INLINE void pack_rows(enum storage storage, const struct unpacked *from, char *rows) {
    size_t in = from->in, count = from->rows ? from->rows : from->out;
    rows += from->first * row_length(in) * storage_bytes(storage);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < row_length(in); k++, rows += storage_bytes(storage))
            keep(storage, k < in ? from->weight[i * in + k] : 0.0f, rows);
}

INLINE quad four_outputs(enum storage storage, const struct lookup *q, const float *x_row,
                         const int *ids, const int *ahead) {
    size_t bytes = row_length(q->in) * storage_bytes(storage);
    const char *rows[TOGETHER], *next[TOGETHER];
    vec sums[TOGETHER];
    UNROLL
    for (size_t j = 0; j < TOGETHER; j++) {
        rows[j] = (const char *)q->rows + (size_t)ids[j] * bytes;
        next[j] = (const char *)q->rows + (size_t)ahead[j] * bytes;
        sums[j] = splat(0);
    }
    for (size_t k = 0; k < q->in; k += VL) {
        vec x = k + VL <= q->in ? load(x_row + k) : load_part(x_row + k, q->in - k, 0);
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

#define PACKING(function, label, storage)                                                          \
    static size_t bytes_##function(size_t out, size_t in) {                                        \
        return panels_of(out) * WIDTH * in * storage_bytes(storage);                               \
    }                                                                                              \
    static void pack_##function(const struct unpacked *from, void *packed) {                       \
        pack(storage, from, packed);                                                               \
    }                                                                                              \
    static void multiply_one_##function(const struct product *product) {                           \
        multiply(storage, product);                                                                \
    }                                                                                              \
    static void multiply_##function(const struct product *products, size_t count) {                \
        for (size_t i = 0; i < count; i++)                                                         \
            for (const struct product *p = &products[i]; p; p = p->next) {                         \
                if (p->taker)                                                                      \
                    multiply_columns(p, p->in *storage_bytes(storage), multiply_one_##function);   \
                else                                                                               \
                    multiply_one_##function(p);                                                    \
            }                                                                                      \
    }                                                                                              \
    static size_t rows_bytes_##function(size_t out, size_t in) {                                   \
        return out * row_length(in) * storage_bytes(storage);                                      \
    }                                                                                              \
    static void pack_rows_##function(const struct unpacked *from, void *rows) {                    \
        pack_rows(storage, from, rows);                                                            \
    }                                                                                              \
    INLINE quad four_##function(const struct lookup *lookup, const void *x, size_t r,              \
                                const int *ids, const int *ahead) {                                \
        return four_outputs(storage, lookup, (const float *)x + r * lookup->ldx, ids, ahead);      \
    }                                                                                              \
    static void look_up_##function(const struct lookup *lookup) {                                  \
        look_up_all(lookup, four_##function, lookup->x, lookup->x_rows ? lookup->x_rows : 1,       \
                    AHEAD);                                                                        \
    }                                                                                              \
    static const struct packing function = {label,                                                 \
                                            SIZE_MAX,                                              \
                                            bytes_##function,                                      \
                                            pack_##function,                                       \
                                            multiply_##function,                                   \
                                            rows_bytes_##function,                                 \
                                            pack_rows_##function,                                  \
                                            look_up_##function,                                    \
                                            0}

PACKING(float32, "float32", FLOAT32);
PACKING(float16, "float16", FLOAT16);
PACKING(bfloat16, "bfloat16", BFLOAT16);

const struct packings JOIN(packings, KERNELS) = {&float32, &float16, &bfloat16,
                                                 &JOIN(packing_int8, KERNELS)};
#if defined(VARIANT_SET)
const struct packings JOIN(packings, VARIANT_SET) = {&float32, &float16, &bfloat16,
                                                     &JOIN(packing_int8, VARIANT_SET)};
#endif
