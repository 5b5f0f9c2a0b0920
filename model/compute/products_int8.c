/* This file hides how int8 weights are packed and multiplied. It is compiled once per instruction
 * set (see kernels.c).
 *
 * Panel p holds output columns p * WIDTH .. + WIDTH - 1: for each group of four k, the four weights
 * of each of the WIDTH columns side by side, so that one instruction multiplies four weights of VL
 * columns with four values of a row and adds them up. The scales of the columns lie before the
 * panels. Missing k and columns are zero. Sums are integers, so their order does not matter.
 */
#include "model/compute/packing.h"
#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>

enum {
    PANEL = INT8_PANEL,
    BLOCK = INT8_BLOCK,
    OFFSET = INT8_OFFSET,
    NARROW = INT8_NARROW,
    WIDTH = VL * PANEL,
    GROUP = 4,
    LINES = (WIDTH * GROUP + LINE_BYTES - 1) / LINE_BYTES
};

/* MAX_IN: 255 x 127 x MAX_IN fits into int32. ROWS_BYTES: rounded rows are kept on the stack, and
 * more than fit take several runs. FEW_BYTES: the same for a few rows. */
enum { MAX_IN = 65536, ROWS_BYTES = 256 * 1024, FEW_BYTES = 16 * 1024, MAX_ROWS = 256 };

/* ---- rounding rows ---- */

/* The parts of four values of a row, from column k on, that do not fit into 0 to 127 (see narrow
 * rows below). */
struct rest {
    uint32_t k;
    int32_t four;
};

/* Rows rounded to int8, each padded with zeros to `ld` bytes, and what to do with them. x ~ q *
 * scale; offset: OFFSET times the sum of q. */
struct rounded {
    size_t ld;
    const char *q;
    bool narrow; /* values are 0 to 127: base was added, and row r lacks rests starts[r] to
                    starts[r + 1] - 1 */
    int32_t base;
    const uint32_t *starts;
    const struct rest *rests;
    const float *scales;
    const int32_t *offsets;
    const struct rounding *next; /* NULL: outputs are stored in float32 */
    size_t first,
        end; /* the panels to multiply; the outputs of panel `first` lie at the beginning of y */
};

/* Where outputs go that are rounded with the input scale of the next product: ld bytes from row to
 * row. */
struct rounding {
    float scale;
    char *q;
    size_t ld;
};

/* Returns max |x|, or a number that is not finite if there is one. Without the sign, floats order
 * like their bits, infinity and NaN last. */
static float most_of(const float *x, size_t n) {
    ivec even = {0}, odd = {0};
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        even = larger_integer(even, (ivec)load(x + i) & 0x7fffffff);
        odd = larger_integer(odd, (ivec)load(x + i + VL) & 0x7fffffff);
    }
    if (i + VL <= n) {
        even = larger_integer(even, (ivec)load(x + i) & 0x7fffffff);
        i += VL;
    }
    if (i < n)
        odd = larger_integer(odd, (ivec)load_part(x + i, n - i, 0) & 0x7fffffff);
    int32_t top = max_lanes_integer(larger_integer(even, odd));
    float result;
    memcpy(&result, &top, sizeof result);
    return result;
}

INLINE void store_int8(char *q, ivec v, size_t count) {
    quarters narrow = __builtin_convertvector(v, quarters);
    memcpy(q, &narrow, count);
}

INLINE ivec load_bytes(const char *p) {
    ivec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Adds up the bytes of each lane. */
INLINE ivec add_bytes(ivec sums, ivec bytes) {
    return add_products(sums, 0x01010101 - (ivec){0}, bytes);
}

/* NaN becomes -127. */
INLINE vec limit(vec x) {
    return smaller(larger(x, splat(-127)), splat(127));
}

INLINE ivec round_scaled(vec x, float factor, bool limited) {
    vec scaled = x * factor;
    return round_vec(limited ? limit(scaled) : scaled);
}

/* Rounds the row [n] times `factor` into q [n] and returns the sum. limited (a compile-time
 * constant): it may exceed 127. */
INLINE int32_t round_values(const float *x, size_t n, float factor, bool limited, char *q) {
    ivec sum = {0};
    size_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
        ivec rounded[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            rounded[v] = round_scaled(load(x + i + v * VL), factor, limited);
        ivec packed = pack_four(rounded);
        memcpy(q + i, &packed, sizeof packed);
        sum = add_bytes(sum, packed);
    }
    for (; i + VL <= n; i += VL) {
        ivec rounded = round_scaled(load(x + i), factor, limited);
        store_int8(q + i, rounded, VL);
        sum += rounded;
    }
    if (i < n) {
        ivec rounded = round_scaled(load_part(x + i, n - i, 0), factor, limited);
        store_int8(q + i, rounded, n - i);
        sum += rounded;
    }
    return sum_lanes_integer(sum);
}

/* Rounds one row [n] into q [ld] and returns the scale: 1 if input_scale is given, NaN for a row
 * that is not finite, 0 for a row that is too small to be distinguished from zero. */
static float round_row(const float *x, size_t n, float input_scale, char *q, size_t ld,
                       int32_t *offset) {
    if (n < ld)
        memset(q + n, 0, ld - n);
    if (input_scale > 0) {
        *offset = OFFSET * round_values(x, n, input_scale, true, q);
        return 1;
    }
    float most = most_of(x, n), inverse = 127 / most;
    if (!(most <= FLT_MAX) || !(inverse <= FLT_MAX)) {
        memset(q, 0, n);
        *offset = 0;
        return most <= 1 ? 0 : NAN;
    }
    *offset = OFFSET * round_values(x, n, inverse, false, q);
    return most / 127;
}

static void round_rows(const float *x, size_t ldx, size_t rows, size_t n, float input_scale,
                       char *q, size_t ld, float *scales, int32_t *offsets) {
    for (size_t r = 0; r < rows; r++)
        scales[r] = round_row(x + r * ldx, n, input_scale, q + r * ld, ld, &offsets[r]);
}

/* Returns the sum of n bytes. */
INLINE int32_t sum_bytes(const char *q, size_t n) {
    ivec sum = {0}, last = {0};
    size_t i = 0;
    for (; i + sizeof sum <= n; i += sizeof sum)
        sum = add_bytes(sum, load_bytes(q + i));
    if (i < n) {
        memcpy(&last, q + i, n - i);
        sum = add_bytes(sum, last);
    }
    return sum_lanes_integer(sum);
}

/* ---- narrow rows ----
 * Where values of 0 to 127 are multiplied faster, rows are made narrow. If some values are below
 * zero, a base is added to all, and taken off the sums again, times the sums of the weights. What
 * is then outside of the range, which is little where few values are near the greatest one, is left
 * to be multiplied by add_products. Sums are exact as before. */

enum { BASE = 64, MOST_RESTS = ROWS_BYTES / GROUP / 4 };

typedef unsigned char chars __attribute__((vector_size(sizeof(ivec))));

INLINE ivec add_base(const char *q, int base) {
    return (ivec)((chars)load_bytes(q) + (unsigned char)base);
}

/* Returns a mask of the bytes that are outside of 0 to 127 after adding the base. */
INLINE ivec outside(const char *q, int base) {
    return add_base(q, base) & (int32_t)0x80808080;
}

/* Returns the number of groups, of n bytes in whole vectors, that have values outside. */
static size_t count_outside(const char *q, size_t n, int base) {
    ivec count = {0};
    for (size_t i = 0; i < n; i += sizeof count)
        count -= outside(q + i, base) != 0;
    return (size_t)sum_lanes_integer(count);
}

/* Narrows four values and returns what is left of them. */
static int32_t narrow_four(char *q, int base) {
    signed char left[GROUP];
    int32_t four;
    for (size_t i = 0; i < GROUP; i++) {
        int value = (signed char)q[i] + base, within = value < 0 ? 0 : value > 127 ? 127 : value;
        q[i] = (char)within;
        left[i] = (signed char)(value - within);
    }
    memcpy(&four, left, sizeof four);
    return four;
}

/* Narrows a row [n], in whole vectors. Returns the number of rests. */
static uint32_t narrow_row(char *q, size_t n, int base, struct rest *rests) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i += sizeof(ivec)) {
        if (sum_lanes_integer(outside(q + i, base) != 0) != 0) {
            for (size_t k = i; k < i + sizeof(ivec); k += GROUP) {
                int32_t four = narrow_four(q + k, base);
                if (four != 0)
                    rests[count++] = (struct rest){(uint32_t)k, four};
            }
        } else {
            ivec narrow = add_base(q + i, base);
            memcpy(q + i, &narrow, sizeof narrow);
        }
    }
    return count;
}

/* Narrows the rows q, those of x, if that leaves few rests: at most a quarter of the groups, and
 * `most`. */
INLINE void narrow_rows(struct rounded *x, char *q, size_t rows, uint32_t *starts,
                        struct rest *rests, size_t most) {
    x->narrow = false;
    if (NARROW == 0 || x->ld % sizeof(ivec) != 0)
        return;
    size_t size = rows * x->ld, groups = size / GROUP;
    x->base = count_outside(q, size, 0) > 0 ? BASE : 0;
    if (x->base > 0 && count_outside(q, size, x->base) > (groups / 4 < most ? groups / 4 : most))
        return;
    starts[0] = 0;
    for (size_t r = 0; r < rows; r++) {
        starts[r + 1] = starts[r];
        if (x->base > 0)
            starts[r + 1] += narrow_row(q + r * x->ld, x->ld, x->base, rests + starts[r]);
    }
    x->narrow = true;
    x->starts = starts;
    x->rests = rests;
}

/* ---- packing ---- */

static size_t panels_of(size_t out) {
    return (out + WIDTH - 1) / WIDTH;
}

static size_t groups_of(size_t in) {
    return (in + GROUP - 1) / GROUP;
}

/* Narrow rows need the sums of the columns' weights, which follow them as int32, a group's size. */
static size_t panel_bytes(size_t in) {
    return (groups_of(in) + (NARROW > 0)) * WIDTH * GROUP;
}

/* The size of the scales, in whole lines. */
static size_t head_bytes(size_t out) {
    return (panels_of(out) * WIDTH * sizeof(float) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static size_t bytes(size_t out, size_t in) {
    return head_bytes(out) + panels_of(out) * panel_bytes(in);
}

/* The row after the last one of the part. */
static size_t end_of(const struct unpacked *from) {
    return from->rows ? from->first + from->rows : from->out;
}

static const float *row_of(const struct unpacked *from, size_t row) {
    return from->weight + (row - from->first) * from->in;
}

static float scale_of(const struct unpacked *from, size_t column) {
    return from->scale > 0 ? from->scale : most_of(row_of(from, column), from->in) / 127;
}

/* Returns the factor of a sum of products, besides the scale of a row that has its own. */
static float unscale_of(const struct unpacked *from, float scale) {
    return from->input_scale > 0 ? scale / from->input_scale : scale;
}

/* Rounds to nearest, ties to even, as round_vec does. The scale may be too small for a quotient of
 * full precision. */
static char round_weight(float weight, float scale) {
    const float magic = 12582912.0f;
    if (!(scale > 0))
        return (char)OFFSET;
    float quotient = weight / scale;
    quotient = quotient > 127 ? 127 : quotient < -127 ? -127 : quotient;
    return (char)(OFFSET + (int)(quotient + magic - magic));
}

static void pack(const struct unpacked *from, void *packed) {
    _Static_assert(PACKED_TOGETHER % WIDTH == 0, "a part has whole panels");
    size_t out = from->out, in = from->in, first = from->first / WIDTH, end = end_of(from);
    float *scales = packed;
    char *panels = (char *)packed + head_bytes(out);
    if (first == 0)
        memset(packed, 0, head_bytes(out));
    memset(panels + first * panel_bytes(in), OFFSET, (panels_of(end) - first) * panel_bytes(in));
    for (size_t column = from->first; column < end; column++) {
        const float *weight = row_of(from, column);
        char *to = panels + column / WIDTH * panel_bytes(in) + column % WIDTH * GROUP;
        float scale = scale_of(from, column);
        scales[column] = unscale_of(from, scale);
        int32_t sum = 0;
        for (size_t k = 0; k < in; k++) {
            char rounded = round_weight(weight[k], scale);
            to[k / GROUP * WIDTH * GROUP + k % GROUP] = rounded;
            sum += (signed char)rounded;
        }
        if (NARROW > 0)
            memcpy(to + groups_of(in) * WIDTH * GROUP, &sum, sizeof sum);
    }
}

/* ---- blocks ---- */

static const float no_bias[WIDTH];

/* The factors and biases of a panel's columns; zero where columns are missing. */
struct columns {
    vec scales[PANEL], biases[PANEL];
};

INLINE struct columns columns_of(const struct product *product, size_t panel, bool whole) {
    size_t first = panel * WIDTH, count = whole ? WIDTH : product->out - first;
    const float *bias = product->bias ? product->bias + first : no_bias;
    struct columns columns;
    UNROLL
    for (size_t v = 0; v < PANEL; v++) {
        columns.scales[v] = load((const float *)product->packed + first + v * VL);
        columns.biases[v] = load_columns(bias + v * VL, v * VL, count);
    }
    return columns;
}

/* Converts sums of one row to float32. given: the row has the scale 1. */
INLINE vec finish(const struct columns *columns, size_t v, ivec sums, int32_t offset, float scale,
                  bool given, bool relu) {
    vec factor = given ? columns->scales[v] : scale * columns->scales[v];
    vec y = __builtin_convertvector(sums - offset, vec) * factor + columns->biases[v];
    return relu ? larger(splat(0), y) : y;
}

/* Stores the outputs of `rows` rows and a panel to y. whole, given, relu are compile-time
 * constants. */
INLINE void store_rows(ivec sums[][PANEL], const struct rounded *x, const struct product *product,
                       size_t row, size_t rows, size_t panel, bool whole, bool given, bool relu) {
    struct columns columns = columns_of(product, panel, whole);
    size_t ldy = product->ldy, count = whole ? WIDTH : product->out - panel * WIDTH;
    const float *scales = x->scales + row;
    const int32_t *offsets = x->offsets + row;
    float *y = product->y + row * ldy + (panel - x->first) * WIDTH;
    for (size_t r = 0; r < rows; r++, y += ldy) {
        UNROLL
        for (size_t v = 0; v < PANEL; v++)
            store_columns(y + v * VL,
                          finish(&columns, v, sums[r][v], offsets[r], scales[r], given, relu),
                          v * VL, count);
    }
}

/* Rounds the outputs of `rows` rows and a panel, with relu and a given input scale. */
INLINE void store_rounded(ivec sums[][PANEL], const struct rounded *x,
                          const struct product *product, size_t row, size_t rows, size_t panel,
                          bool whole) {
    _Static_assert(PANEL <= 4, "a panel is packed at once");
    struct columns columns = columns_of(product, panel, whole);
    size_t ld = x->next->ld, count = whole ? WIDTH : product->out - panel * WIDTH;
    float factor = x->next->scale;
    const int32_t *offsets = x->offsets + row;
    char *q = x->next->q + row * ld + panel * WIDTH;
    for (size_t r = 0; r < rows; r++, q += ld) {
        ivec rounded[4] = {{0}};
        UNROLL
        for (size_t v = 0; v < PANEL; v++)
            rounded[v] = round_scaled(finish(&columns, v, sums[r][v], offsets[r], 1, true, true),
                                      factor, true);
        store_bytes(q, pack_four(rounded), count);
    }
}

/* It is not inlined, because the loops before it need all registers. */
static __attribute__((noinline)) void store_panel(ivec sums[][PANEL], const struct rounded *x,
                                                  const struct product *product, size_t row,
                                                  size_t rows, size_t panel) {
    bool whole = (panel + 1) * WIDTH <= product->out, given = product->input_scale > 0,
         relu = product->relu;
    if (x->next && whole)
        store_rounded(sums, x, product, row, rows, panel, true);
    else if (x->next)
        store_rounded(sums, x, product, row, rows, panel, false);
    else if (!whole)
        store_rows(sums, x, product, row, rows, panel, false, false, relu);
    else if (given && relu)
        store_rows(sums, x, product, row, rows, panel, true, true, true);
    else if (given)
        store_rows(sums, x, product, row, rows, panel, true, true, false);
    else if (relu)
        store_rows(sums, x, product, row, rows, panel, true, false, true);
    else
        store_rows(sums, x, product, row, rows, panel, true, false, false);
}

INLINE ivec load_group(const char *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return four - (ivec){0};
}

/* The weights of the next panels that a tile prefetches: for each of its groups of k so many lines
 * (a compile-time constant as well), `stride` bytes after those of the group before. */
struct ahead {
    const char *from;
    size_t stride, lines;
};

/* After the last panel: what lies behind the matrix, often the matrix that is multiplied next,
 * which may be prefetched. */
static const char *panel_at(const struct product *product, size_t panel) {
    return (const char *)product->packed + head_bytes(product->out) +
           panel * panel_bytes(product->in);
}

/* Adds to the sums the products of a tile (see multiply_tile). narrow: a compile-time constant. */
INLINE void add_tile(ivec sums[][PANEL], const struct product *product, const struct rounded *x,
                     size_t row, size_t rows, size_t panel, size_t panels, size_t vectors,
                     struct ahead ahead, bool narrow) {
    size_t next = panel_bytes(product->in), ld = x->ld;
    const char *weights = panel_at(product, panel), *q = x->q + row * ld;
    for (size_t k = 0; k < ld; k += GROUP, weights += WIDTH * GROUP, ahead.from += ahead.stride) {
        UNROLL
        for (size_t line = 0; line < ahead.lines; line++)
            __builtin_prefetch(ahead.from + line * LINE_BYTES, 0, 2);
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            ivec w[PANEL];
            UNROLL
            for (size_t v = 0; v < vectors; v++) {
                memcpy(&w[v], weights + p * next + v * sizeof(ivec), sizeof(ivec));
                HOLD(w[v]);
            }
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                ivec four = load_group(q + r * ld + k);
                UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[p * rows + r][v] = narrow
                                                ? add_narrow(sums[p * rows + r][v], w[v], four)
                                                : add_products(sums[p * rows + r][v], w[v], four);
            }
        }
    }
}

/* Adds what narrow rows lack, and takes away what they have too much. */
INLINE void add_rests(ivec sums[][PANEL], const struct product *product, const struct rounded *x,
                      size_t row, size_t rows, size_t panel, size_t panels, size_t vectors) {
    UNROLL
    for (size_t p = 0; p < panels; p++) {
        const char *weights = panel_at(product, panel + p);
        UNROLL
        for (size_t r = 0; r < rows; r++) {
            UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[p * rows + r][v] -=
                    x->base * load_bytes(weights + x->ld * WIDTH + v * sizeof(ivec));
            for (uint32_t i = x->starts[row + r]; i < x->starts[row + r + 1]; i++) {
                const char *w = weights + (size_t)x->rests[i].k * WIDTH;
                ivec four = x->rests[i].four - (ivec){0};
                UNROLL
                for (size_t v = 0; v < vectors; v++)
                    sums[p * rows + r][v] =
                        add_products(sums[p * rows + r][v], load_bytes(w + v * sizeof(ivec)), four);
            }
        }
    }
}

/* Multiplies `rows` rows from `row` on with the first `vectors` vectors of each of `panels` panels
 * from `panel` on. The counts are compile-time constants after inlining, and rows times panels is
 * at most BLOCK. */
INLINE void multiply_tile(const struct product *product, const struct rounded *x, size_t row,
                          size_t rows, size_t panel, size_t panels, size_t vectors,
                          struct ahead ahead) {
    ivec sums[BLOCK][PANEL], stored[BLOCK][PANEL];
    UNROLL
    for (size_t i = 0; i < rows * panels; i++) {
        UNROLL
        for (size_t v = 0; v < PANEL; v++)
            sums[i][v] = (ivec){0};
    }
    if (NARROW > 0 && x->narrow) {
        add_tile(sums, product, x, row, rows, panel, panels, vectors, ahead, true);
        add_rests(sums, product, x, row, rows, panel, panels, vectors);
    } else {
        add_tile(sums, product, x, row, rows, panel, panels, vectors, ahead, false);
    }
    UNROLL
    for (size_t i = 0; i < rows * panels; i++) {
        UNROLL
        for (size_t v = 0; v < PANEL; v++)
            stored[i][v] = sums[i][v];
    }
    for (size_t p = 0; p < panels; p++)
        store_panel(stored + p * rows, x, product, row, rows, panel + p);
}

/* Multiplies `rows` rows (a constant) with one panel, of which `vectors` have columns. */
INLINE void multiply_panel(const struct product *product, const struct rounded *x, size_t row,
                           size_t rows, size_t panel, size_t vectors, struct ahead ahead) {
    if (vectors >= PANEL)
        multiply_tile(product, x, row, rows, panel, 1, PANEL, ahead);
    else if (PANEL > 2 && vectors == 2)
        multiply_tile(product, x, row, rows, panel, 1, 2, ahead);
    else
        multiply_tile(product, x, row, rows, panel, 1, 1, ahead);
}

/* Returns how many of the panel's vectors have columns. */
static size_t vectors_of(const struct product *product, size_t panel) {
    size_t vectors = (product->out - panel * WIDTH + VL - 1) / VL;
    return vectors < PANEL ? vectors : PANEL;
}

/* Multiplies panel `panel` with 1 to BLOCK rows. whole (a compile-time constant): all of its
 * vectors have columns. */
INLINE void multiply_block(const struct product *product, const struct rounded *x, size_t row,
                           size_t rows, size_t panel, bool whole, struct ahead ahead) {
    size_t vectors = whole ? PANEL : vectors_of(product, panel);
#define HEIGHT(count)                                                                              \
    case count:                                                                                    \
        multiply_panel(product, x, row, count, panel, vectors, ahead);                             \
        break
    switch (rows) {
        HEIGHT(1);
        HEIGHT(2);
        HEIGHT(3);
        HEIGHT(4);
#if INT8_BLOCK > 4
        HEIGHT(5);
        HEIGHT(6);
        HEIGHT(7);
        HEIGHT(8);
#endif
    }
#undef HEIGHT
}

/* The same, prefetching one, two or three lines of each group, `stride` bytes apart, from `next`
 * on; two or three if the panel is whole. */
typedef void block_multiplier(const struct product *product, const struct rounded *x, size_t row,
                              size_t rows, size_t panel, const char *next, size_t stride);

#define AHEAD_BY(lines)                                                                            \
    static void multiply_block_##lines(const struct product *product, const struct rounded *x,     \
                                       size_t row, size_t rows, size_t panel, const char *next,    \
                                       size_t stride) {                                            \
        multiply_block(product, x, row, rows, panel, (lines) > 1,                                  \
                       (struct ahead){next, stride, lines});                                       \
    }
AHEAD_BY(1)
#if VL * INT8_PANEL > 16 /* more than a line */
AHEAD_BY(2)
AHEAD_BY(3)
static block_multiplier *const block_multipliers[LINES] = {multiply_block_1, multiply_block_2,
                                                           multiply_block_3};
#else
static block_multiplier *const block_multipliers[LINES] = {multiply_block_1};
#endif
#undef AHEAD_BY

/* ---- whole products ---- */

/* For a few rows: several panels together keep the multipliers busy, and the weights stream past.
 */
INLINE void multiply_few(const struct product *product, const struct rounded *x, size_t rows,
                         size_t together) {
    size_t whole = product->out / WIDTH, panel = x->first;
    struct ahead ahead = {.stride = WIDTH * GROUP, .lines = 1};
    for (; panel + together <= x->end && panel + together <= whole; panel += together) {
        ahead.from = panel_at(product, panel + together);
        multiply_tile(product, x, 0, rows, panel, together, PANEL, ahead);
    }
    for (; panel < x->end; panel++) {
        ahead.from = panel_at(product, panel + 1);
        multiply_panel(product, x, 0, rows, panel, vectors_of(product, panel), ahead);
    }
}

/* Multiplies each panel with all rows while it is in the cache, in blocks of about equal height.
 * With FEW rows or fewer the weights stream past, which a processor predicts: a line of each group
 * is enough. */
static void multiply_many(const struct product *product, const struct rounded *x, size_t rows) {
    enum { FEW = 5 };
    size_t height = NARROW > 0 && x->narrow ? NARROW : BLOCK, blocks = (rows + height - 1) / height;
    for (size_t panel = x->first; panel < x->end; panel++) {
        bool several = (panel + 1) * WIDTH <= product->out && rows > FEW;
        for (size_t b = 0; b < blocks; b++) {
            size_t begin = b * rows / blocks, end = (b + 1) * rows / blocks,
                   share = share_of(WIDTH * GROUP, b, blocks),
                   stride = share_of(WIDTH * GROUP, b + 1, blocks) - share;
            const char *next = panel_at(product, panel + 1) + share * groups_of(product->in);
            block_multipliers[several ? lines_of(stride) - 1 : 0](product, x, begin, end - begin,
                                                                  panel, next, stride);
        }
    }
}

/* Multiplies `rows` rounded rows, at most MAX_ROWS, with the panels x->first to x->end - 1. */
typedef void rounded_multiplier(const struct product *product, const struct rounded *x,
                                size_t rows);

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

#if defined(INT8_TILES)
#include INT8_TILES
#endif

/* Returns true if what the product makes is rounded for the next one at once: the input scales of
 * both are given. */
static bool rounds_next(const struct product *product) {
    return product->next && product->input_scale > 0 && product->next->input_scale > 0 &&
           product->relu && product->out % GROUP == 0;
}

/* Multiplies rounded rows, rounds the outputs into the memory of y, and multiplies these by the
 * next product. done: the number of rows that came before. */
INLINE void multiply_next(const struct product *product, const struct rounded *x, size_t done,
                          size_t rows, rounded_multiplier *multiplier) {
    const struct rounding rounding = {
        .scale = product->next->input_scale, .q = (char *)product->y, .ld = product->out};
    struct rounded first = *x;
    struct product next = *product->next;
    float ones[MAX_ROWS];
    int32_t offsets[MAX_ROWS];
    first.next = &rounding;
    first.first = 0;
    first.end = panels_of(product->out);
    multiplier(product, &first, rows);
    for (size_t r = 0; r < rows; r++) {
        ones[r] = 1;
        offsets[r] = OFFSET * sum_bytes(rounding.q + r * rounding.ld, rounding.ld);
    }
    next.y += done * next.ldy;
    struct rounded made = {.ld = rounding.ld,
                           .q = rounding.q,
                           .scales = ones,
                           .offsets = offsets,
                           .end = panels_of(next.out)};
    uint32_t starts[MAX_ROWS + 1];
    narrow_rows(&made, rounding.q, rows, starts, NULL, 0); /* relu leaves no rests */
    multiplier(&next, &made, rows);
}

/* Multiplies rounded rows, and passes the outputs on if the product has a taker. done: the number
 * of rows that came before. */
INLINE void multiply_columns(const struct product *product, struct rounded *x, size_t done,
                             size_t rows, rounded_multiplier *multiplier) {
    const struct taker *taker = product->taker;
    size_t columns = taker ? taker->columns : product->out;
    for (size_t first = 0, count; first < product->out; first += count) {
        count = product->out - first < columns ? product->out - first : columns;
        x->first = first / WIDTH;
        x->end = panels_of(first + count);
        multiplier(product, x, rows);
        if (taker)
            taker->take(taker, done, rows, first, count);
    }
}

/* Returns how many of the rows that are left are multiplied next, `most` at most: about as many
 * each time, in whole blocks, since the weights are read again each time, which a few rows are not
 * worth. */
static size_t rows_next(size_t left, size_t most) {
    enum { BLOCK_ROWS = 16 };
    size_t times = (left + most - 1) / most, rows = (left + times - 1) / times;
    rows = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
    rows = rows < most ? rows : most;
    return rows < left ? rows : left;
}

/* Rounds as many rows at a time as fit into q [room], again for a product with another input scale
 * than the one before. */
INLINE void multiply_within(const struct product *products, size_t count,
                            rounded_multiplier *multiplier, char *q, size_t room) {
    float scales[MAX_ROWS];
    int32_t offsets[MAX_ROWS];
    size_t total = products->rows, in = products->in, ld = groups_of(in) * GROUP, fit = room / ld,
           most = fit < MAX_ROWS ? fit : MAX_ROWS;
    uint32_t starts[MAX_ROWS + 1];
    struct rest rests[NARROW > 0 ? MOST_RESTS : 1];
    struct rounded rounded = {.ld = ld, .q = q, .scales = scales, .offsets = offsets};
    for (size_t done = 0, rows = 0; done < total; done += rows) {
        const float *x = products->x + done * products->ldx;
        rows = rows_next(total - done, most);
        for (size_t i = 0; i < count; i++) {
            struct product part = products[i];
            if (i == 0 || part.input_scale != products[i - 1].input_scale) {
                round_rows(x, part.ldx, rows, in, part.input_scale, q, ld, scales, offsets);
                narrow_rows(&rounded, q, rows, starts, rests, MOST_RESTS);
            }
            if (rounds_next(&part)) {
                multiply_next(&part, &rounded, done, rows, multiplier);
            } else {
                part.y += done * part.ldy;
                multiply_columns(&part, &rounded, done, rows, multiplier);
            }
        }
    }
}

static __attribute__((noinline)) void multiply_large(const struct product *products, size_t count,
                                                     rounded_multiplier *multiplier) {
    alignas(LINE_BYTES) char q[ROWS_BYTES];
    multiply_within(products, count, multiplier, q, sizeof q);
}

/* A compiler that guards the stack touches every page of a function's frame, which takes too long
 * for a product of a few rows. */
static void multiply_all(const struct product *products, size_t count,
                         rounded_multiplier *multiplier) {
    alignas(LINE_BYTES) char q[FEW_BYTES];
    if (products->rows * groups_of(products->in) * GROUP > sizeof q)
        multiply_large(products, count, multiplier);
    else
        multiply_within(products, count, multiplier, q, sizeof q);
}

/* Next products that were not computed at once follow here. */
INLINE void multiply_with(const struct product *products, size_t count,
                          rounded_multiplier *multiplier) {
    multiply_all(products, count, multiplier);
    for (size_t i = 0; i < count; i++)
        if (products[i].next && !rounds_next(&products[i]))
            multiply_all(products[i].next, 1, multiplier);
}

static void multiply(const struct product *products, size_t count) {
    multiply_with(products, count, multiply_rounded);
}

/* ---- lookups ----
 * All scales come first, then the rows of weights, whole vectors each. */

enum { AHEAD = 16, VECTOR_BYTES = VL * GROUP }; /* AHEAD: rows are prefetched this many ids ahead */

static size_t row_bytes(size_t in) {
    return (in + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
}

static size_t rows_bytes(size_t out, size_t in) {
    return head_bytes(out) + out * row_bytes(in);
}

static void pack_rows(const struct unpacked *from, void *rows) {
    size_t out = from->out, in = from->in, end = end_of(from);
    const float *weight = from->weight;
    float *scales = rows;
    char *to = (char *)rows + head_bytes(out) + from->first * row_bytes(in);
    if (from->first == 0)
        memset(rows, 0, rows_bytes(out, in));
    for (size_t i = from->first; i < end; i++, weight += in, to += row_bytes(in)) {
        float scale = scale_of(from, i);
        scales[i] = unscale_of(from, scale);
        for (size_t k = 0; k < in; k++)
            to[k] = round_weight(weight[k], scale);
    }
}

/* Ends with the operations of finish, of which none is fused (see the Makefile), so the bits are
 * the same. */
INLINE quad four_outputs(const struct lookup *lookup, const void *x, size_t r, const int *ids,
                         const int *ahead) {
    const struct rounded *rounded = x;
    const char *first = (const char *)lookup->rows + head_bytes(lookup->out), *rows[TOGETHER],
               *next[TOGETHER];
    ivec sums[TOGETHER];
    UNROLL
    for (size_t j = 0; j < TOGETHER; j++) {
        rows[j] = first + (size_t)ids[j] * rounded->ld;
        next[j] = first + (size_t)ahead[j] * rounded->ld;
        sums[j] = (ivec){0};
    }
    for (size_t k = 0; k < rounded->ld; k += VECTOR_BYTES) {
        ivec values = load_bytes(rounded->q + r * rounded->ld + k);
        UNROLL
        for (size_t j = 0; j < TOGETHER; j++) {
            __builtin_prefetch(next[j] + k);
            sums[j] = add_products(sums[j], load_bytes(rows[j] + k), values);
        }
    }
    quad exact = __builtin_convertvector(sum_four_integers(sums) - rounded->offsets[r], quad);
    quad y = exact * (rounded->scales[r] * pick(lookup->rows, ids));
    return lookup->bias ? y + pick(lookup->bias, ids) : y;
}

/* Rounds as many rows at a time as fit into q [room]. */
INLINE void look_up_within(const struct lookup *lookup, char *q, size_t room) {
    float scales[MAX_ROWS];
    int32_t offsets[MAX_ROWS];
    size_t ld = row_bytes(lookup->in), fit = room / ld, most = fit < MAX_ROWS ? fit : MAX_ROWS;
    struct lookup part = *lookup;
    for (size_t left = lookup->x_rows ? lookup->x_rows : 1, rows = 0; left > 0; left -= rows) {
        rows = left < most ? left : most;
        round_rows(part.x, part.ldx, rows, part.in, part.input_scale, q, ld, scales, offsets);
        const struct rounded rounded = {.ld = ld, .q = q, .scales = scales, .offsets = offsets};
        look_up_all(&part, four_outputs, &rounded, rows, AHEAD);
        part.x += rows * part.ldx;
        part.y += rows * part.ldy;
    }
}

static __attribute__((noinline)) void look_up_large(const struct lookup *lookup) {
    alignas(LINE_BYTES) char q[MAX_IN];
    look_up_within(lookup, q, sizeof q);
}

static void look_up(const struct lookup *lookup) {
    alignas(LINE_BYTES) char q[FEW_BYTES];
    if (row_bytes(lookup->in) * (lookup->x_rows ? lookup->x_rows : 1) > sizeof q)
        look_up_large(lookup);
    else
        look_up_within(lookup, q, sizeof q);
}

const struct packing JOIN(packing_int8, KERNELS) = {
    "int8", MAX_IN, bytes, pack, multiply, rows_bytes, pack_rows, look_up, INT8_PRODUCT_ROWS};
#if defined(VARIANT_SET)
static void multiply_tiled(const struct product *products, size_t count) {
    multiply_with(products, count, multiply_by_tiles);
}

const struct packing JOIN(packing_int8, VARIANT_SET) = {
    "int8", MAX_IN, bytes, pack, multiply_tiled, rows_bytes, pack_rows, look_up, INT8_PRODUCT_ROWS};
#endif
