/* Packed int8 weights. Compiled once per instruction set (see kernels.c).
 *
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1; for each group of four k the WIDTH columns' four weights side by side, so
 * that one instruction multiplies four weights of VL columns with four values of a row and adds them up. Before the panels lie the
 * columns' scales. What k and columns lack is zero. Sums are of integers, so their order does not matter. */
#include "model/compute/lookup.h"
#include "model/compute/products.h"
#include "model/compute/vector_int8.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>

#if defined(__AVX512F__)
enum { PANEL = 3, BLOCK = 8 };
#elif defined(__AVX2__)
enum { PANEL = 2, BLOCK = 4 };
#else
enum { PANEL = 1, BLOCK = 4 };
#endif
enum { WIDTH = VL * PANEL, GROUP = 4, LINE_BYTES = 64 };

/* MAX_IN: 255 x 127 x MAX_IN fits into int32. ROWS_BYTES: rounded rows are kept on the stack; more than fit go in several runs.
 * FEW_BYTES: those of a few rows. */
enum { MAX_IN = 65536, ROWS_BYTES = 256 * 1024, FEW_BYTES = 16 * 1024, MAX_ROWS = 256 };

/* ---- packing ---- */

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

static size_t groups_of(size_t in) {
    return (in + GROUP - 1) / GROUP;
}

static size_t panel_bytes(size_t in) {
    return groups_of(in) * WIDTH * GROUP;
}

/* The scales, whole lines. */
static size_t head_bytes(size_t out) {
    return (panels_of(out) * WIDTH * sizeof(float) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static size_t bytes(size_t out, size_t in) {
    return head_bytes(out) + panels_of(out) * panel_bytes(in);
}

/* Of output channel `column`. */
static float scale_of(const struct unpacked *from, size_t column) {
    return from->scale > 0 ? from->scale : most_of(from->weight + column * from->in, from->in) / 127;
}

/* What a sum of products is multiplied with, besides the scale of a row that has its own. */
static float unscale_of(const struct unpacked *from, float scale) {
    return from->input_scale > 0 ? scale / from->input_scale : scale;
}

/* To nearest, ties to even; what adding 1.5 x 2^23 leaves. The scale may be too small for a quotient of full precision. */
static char round_weight(float weight, float scale) {
    const float magic = 12582912.0f;
    if (!(scale > 0))
        return (char)OFFSET;
    float quotient = weight / scale;
    quotient = quotient > 127 ? 127 : quotient < -127 ? -127 : quotient;
    return (char)(OFFSET + (int)(quotient + magic - magic));
}

static void pack(const struct unpacked *from, void *packed) {
    size_t out = from->out, in = from->in;
    float *scales = packed;
    char *panels = (char *)packed + head_bytes(out);
    memset(packed, 0, head_bytes(out));
    memset(panels, OFFSET, panels_of(out) * panel_bytes(in));
    for (size_t column = 0; column < out; column++) {
        const float *weight = from->weight + column * in;
        char *to = panels + column / WIDTH * panel_bytes(in) + column % WIDTH * GROUP;
        float scale = scale_of(from, column);
        scales[column] = unscale_of(from, scale);
        for (size_t k = 0; k < in; k++)
            to[k / GROUP * WIDTH * GROUP + k % GROUP] = round_weight(weight[k], scale);
    }
}

/* ---- blocks ---- */

/* Sums of one row against one panel -> float32, with scales and bias. */
INLINE vec finish(ivec sums, int32_t offset, float scale, const float *scales, vec bias) {
    return __builtin_convertvector(sums - offset, vec) * (scale * load(scales)) + bias;
}

static const float no_bias[WIDTH];

/* The same of the last panel's columns from `column` on, VL or fewer of which are there. */
INLINE void finish_last(ivec sums, const struct rounded *x, const struct product *product, size_t row, size_t column) {
    const float *scales = (const float *)product->packed + column, *bias = product->bias ? product->bias + column : no_bias;
    float *y = product->y + row * product->ldy + column;
    size_t columns = product->out - column;
    if (columns >= VL)
        store(y, finish(sums, x->offsets[row], x->scales[row], scales, load(bias)));
    else
        store_part(y, finish(sums, x->offsets[row], x->scales[row], scales, load_part(bias, columns, 0)), columns);
}

/* Sums of `rows` rows against `panels` panels -> y; of the last panel only the first `vectors` have columns. */
INLINE void store_tile(ivec sums[][PANEL], const struct rounded *x, const struct product *product, size_t row, size_t rows,
                       size_t panel, size_t panels, size_t vectors) {
    bool whole = (panel + panels) * WIDTH <= product->out;
    UNROLL
    for (size_t i = 0; i < rows * panels; i++) {
        size_t r = row + i / panels, column = (panel + i % panels) * WIDTH;
        const float *scales = (const float *)product->packed + column, *bias = product->bias ? product->bias + column : no_bias;
        float *y = product->y + r * product->ldy + column;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            if (whole)
                store(y + v * VL, finish(sums[i][v], x->offsets[r], x->scales[r], scales + v * VL, load(bias + v * VL)));
            else
                finish_last(sums[i][v], x, product, r, column + v * VL);
        }
    }
}

INLINE ivec load_group(const char *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return four - (ivec){0};
}

/* `rows` rows from `row` on against the first `vectors` vectors of each of `panels` panels from `panel` on; the counts are
 * compile-time constants after inlining, and that of rows times that of panels is at most BLOCK. ahead: where each group of k finds
 * a line to fetch for what comes next. */
INLINE void multiply_tile(const struct product *product, const struct rounded *x, size_t row, size_t rows, size_t panel,
                          size_t panels, size_t vectors, const char *ahead) {
    size_t next = panel_bytes(product->in), ld = x->ld;
    const char *weights = (const char *)product->packed + head_bytes(product->out) + panel * next, *q = x->q + row * ld;
    ivec sums[BLOCK][PANEL];
    UNROLL
    for (size_t i = 0; i < rows * panels; i++) {
        UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[i][v] = (ivec){0};
    }
    for (size_t k = 0; k < ld; k += GROUP, weights += WIDTH * GROUP, ahead += WIDTH * GROUP) {
        __builtin_prefetch(ahead, 0, 2);
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            ivec w[PANEL];
            UNROLL
            for (size_t v = 0; v < vectors; v++)
                memcpy(&w[v], weights + p * next + v * sizeof(ivec), sizeof(ivec));
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                ivec four = load_group(q + r * ld + k);
                UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[r * panels + p][v] = add_products(sums[r * panels + p][v], w[v], four);
            }
        }
    }
    store_tile(sums, x, product, row, rows, panel, panels, vectors);
}

/* `rows` rows (a constant) against one panel, of which `vectors` have columns. */
INLINE void multiply_panel(const struct product *product, const struct rounded *x, size_t row, size_t rows, size_t panel,
                           size_t vectors, const char *ahead) {
    if (vectors >= PANEL)
        multiply_tile(product, x, row, rows, panel, 1, PANEL, ahead);
    else if (PANEL > 2 && vectors == 2)
        multiply_tile(product, x, row, rows, panel, 1, 2, ahead);
    else
        multiply_tile(product, x, row, rows, panel, 1, 1, ahead);
}

/* How many of the panel's vectors have columns. */
static size_t vectors_of(const struct product *product, size_t panel) {
    size_t vectors = (product->out - panel * WIDTH + VL - 1) / VL;
    return vectors < PANEL ? vectors : PANEL;
}

/* Panel `panel` against 1 to BLOCK rows. */
static void multiply_block(const struct product *product, const struct rounded *x, size_t row, size_t rows, size_t panel,
                           const char *ahead) {
    size_t vectors = vectors_of(product, panel);
    switch (rows) {
    case 1:
        multiply_panel(product, x, row, 1, panel, vectors, ahead);
        break;
    case 2:
        multiply_panel(product, x, row, 2, panel, vectors, ahead);
        break;
    case 3:
        multiply_panel(product, x, row, 3, panel, vectors, ahead);
        break;
    case 4:
        multiply_panel(product, x, row, 4, panel, vectors, ahead);
        break;
#if defined(__AVX512F__)
    case 5:
        multiply_panel(product, x, row, 5, panel, vectors, ahead);
        break;
    case 6:
        multiply_panel(product, x, row, 6, panel, vectors, ahead);
        break;
    case 7:
        multiply_panel(product, x, row, 7, panel, vectors, ahead);
        break;
    case 8:
        multiply_panel(product, x, row, 8, panel, vectors, ahead);
        break;
#endif
    }
}

/* ---- whole products ---- */

static const char *panel_at(const struct product *product, size_t panel) {
    size_t last = panels_of(product->out) - 1;
    return (const char *)product->packed + head_bytes(product->out) + (panel < last ? panel : last) * panel_bytes(product->in);
}

/* A few rows: several panels together keep the multipliers busy, and the weights stream past. */
INLINE void multiply_few(const struct product *product, const struct rounded *x, size_t rows, size_t together) {
    size_t total = panels_of(product->out), whole = product->out / WIDTH, panel = 0;
    for (; panel + together <= whole; panel += together)
        multiply_tile(product, x, 0, rows, panel, together, PANEL, panel_at(product, panel + together));
    for (; panel < total; panel++)
        multiply_panel(product, x, 0, rows, panel, vectors_of(product, panel), panel_at(product, panel + 1));
}

/* Each panel meets all rows while it is in the cache, in blocks of about equal height; the first blocks fetch the next panel
 * meanwhile, one line of each group apiece. */
static void multiply_many(const struct product *product, const struct rounded *x, size_t rows) {
    size_t blocks = (rows + BLOCK - 1) / BLOCK;
    for (size_t panel = 0; panel < panels_of(product->out); panel++) {
        const char *next = panel_at(product, panel + 1);
        for (size_t b = 0; b < blocks; b++) {
            size_t begin = b * rows / blocks, end = (b + 1) * rows / blocks;
            multiply_block(product, x, begin, end - begin, panel, next + (b * LINE_BYTES < WIDTH * GROUP ? b * LINE_BYTES : 0));
        }
    }
}

static void multiply_rounded(const struct product *product, const struct rounded *x, size_t rows) {
    switch (rows) {
    case 1:
        multiply_few(product, x, 1, 4);
        break;
    case 2:
        multiply_few(product, x, 2, 2);
        break;
    default:
        multiply_many(product, x, rows);
    }
}

/* Rounded rows go to q [room], as many at a time as fit. */
INLINE void multiply_within(const struct product *product, char *q, size_t room) {
    float scales[MAX_ROWS];
    int32_t offsets[MAX_ROWS];
    size_t ld = groups_of(product->in) * GROUP, fit = room / ld, most = fit < MAX_ROWS ? fit : MAX_ROWS;
    struct product part = *product;
    for (size_t left = product->rows, rows = 0; left > 0; left -= rows) {
        rows = left < most ? left : most;
        for (size_t r = 0; r < rows; r++)
            scales[r] = round_row(part.x + r * part.ldx, part.in, part.input_scale, q + r * ld, ld, &offsets[r]);
        multiply_rounded(&part, &(struct rounded){.ld = ld, .q = q, .scales = scales, .offsets = offsets}, rows);
        part.x += rows * part.ldx;
        part.y += rows * part.ldy;
    }
}

static __attribute__((noinline)) void multiply_large(const struct product *product) {
    alignas(LINE_BYTES) char q[ROWS_BYTES];
    multiply_within(product, q, sizeof q);
}

/* A compiler that guards the stack touches every page of it that a function may use: not all those of a large product for a few
 * rows. */
static void multiply(const struct product *product) {
    alignas(LINE_BYTES) char q[FEW_BYTES];
    if (product->rows * groups_of(product->in) * GROUP > sizeof q)
        multiply_large(product);
    else
        multiply_within(product, q, sizeof q);
}

/* ---- lookups ----
 * Rows of weights, whole vectors each, lie behind all their scales. */

enum { AHEAD = 16, VECTOR_BYTES = VL * GROUP }; /* AHEAD: rows are fetched so many ids ahead */

static size_t row_bytes(size_t in) {
    return (in + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
}

static size_t rows_bytes(size_t out, size_t in) {
    return head_bytes(out) + out * row_bytes(in);
}

static void pack_rows(const struct unpacked *from, void *rows) {
    size_t out = from->out, in = from->in;
    const float *weight = from->weight;
    float *scales = rows;
    char *to = (char *)rows + head_bytes(out);
    memset(rows, 0, rows_bytes(out, in));
    for (size_t i = 0; i < out; i++, weight += in, to += row_bytes(in)) {
        float scale = scale_of(from, i);
        scales[i] = unscale_of(from, scale);
        for (size_t k = 0; k < in; k++)
            to[k] = round_weight(weight[k], scale);
    }
}

INLINE ivec load_bytes(const char *p) {
    ivec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Ends as finish does: the operations are the same, and none is fused (see the Makefile), hence the same bits. */
INLINE quad four_outputs(const struct lookup *lookup, const void *x, const int *ids, const int *ahead) {
    const struct rounded *rounded = x;
    const char *first = (const char *)lookup->rows + head_bytes(lookup->out), *rows[TOGETHER], *next[TOGETHER];
    ivec sums[TOGETHER];
    UNROLL
    for (size_t j = 0; j < TOGETHER; j++) {
        rows[j] = first + (size_t)ids[j] * rounded->ld;
        next[j] = first + (size_t)ahead[j] * rounded->ld;
        sums[j] = (ivec){0};
    }
    for (size_t k = 0; k < rounded->ld; k += VECTOR_BYTES) {
        ivec values = load_bytes(rounded->q + k);
        UNROLL
        for (size_t j = 0; j < TOGETHER; j++) {
            __builtin_prefetch(next[j] + k);
            sums[j] = add_products(sums[j], load_bytes(rows[j] + k), values);
        }
    }
    quad exact = __builtin_convertvector(sum_four_integers(sums) - *rounded->offsets, quad);
    quad y = exact * (*rounded->scales * pick(lookup->rows, ids));
    return lookup->bias ? y + pick(lookup->bias, ids) : y;
}

/* The row is rounded into q [row_bytes]. */
INLINE void look_up_within(const struct lookup *lookup, char *q) {
    int32_t offset;
    size_t ld = row_bytes(lookup->in);
    float scale = round_row(lookup->x, lookup->in, lookup->input_scale, q, ld, &offset);
    look_up_all(lookup, four_outputs, &(struct rounded){.ld = ld, .q = q, .scales = &scale, .offsets = &offset}, AHEAD);
}

static __attribute__((noinline)) void look_up_large(const struct lookup *lookup) {
    alignas(LINE_BYTES) char q[MAX_IN];
    look_up_within(lookup, q);
}

static void look_up(const struct lookup *lookup) {
    alignas(LINE_BYTES) char q[FEW_BYTES];
    if (row_bytes(lookup->in) > sizeof q)
        look_up_large(lookup);
    else
        look_up_within(lookup, q);
}

const struct packing JOIN(packing_int8, KERNELS) = {"int8", MAX_IN, bytes, pack, multiply, rows_bytes, pack_rows, look_up};
