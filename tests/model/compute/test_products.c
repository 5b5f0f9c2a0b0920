/* The packed products of every instruction set that this processor runs, for every way to keep the
 * weights. Part of the kernels' suite. */
#include "model/compute/kernels.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PACKINGS = 4 };

/* For a loop test from 0 to products(): all packings of the first set, then those of the next... */
static int products(void) {
    return kernel_sets() * PACKINGS;
}

static const struct packing *packing_at(int index) {
    const struct packings *all = kernel_set(index / PACKINGS)->packings;
    const struct packing *const each[PACKINGS] = {all->float32, all->float16, all->bfloat16,
                                                  all->int8};
    return each[index % PACKINGS];
}

static const char *set_of(int index) {
    return kernel_set(index / PACKINGS)->name;
}

/* x [rows, in], ldx floats from row to row; weight [out, in]; bias [out] or NULL. */
struct example {
    size_t rows, out, in, ldx, ldy;
    float *x, *weight, *bias, *packed;
    const struct packing *packing;
};

/* Values that each packing keeps exactly: k / 127 times a power of two, k whole and somewhere 127
 * or -127. */
static void make_exact(float *row, size_t n, float scale) {
    for (size_t i = 0; i < n; i++)
        row[i] = rintf(row[i] * 127) * scale;
    row[n / 2] = row[n / 2] < 0 ? -127 * scale : 127 * scale;
}

/* The gaps between the rows of x are NaN, so that reading them would be visible. */
static struct example example_create(const struct packing *packing, size_t rows, size_t out,
                                     size_t in, bool with_bias) {
    struct example p = {.rows = rows,
                        .out = out,
                        .in = in,
                        .ldx = in + rows % 3,
                        .ldy = out + rows % 5,
                        .packing = packing};
    p.x = noise((rows - 1) * p.ldx + in, 1, (uint32_t)(rows + out));
    for (size_t r = 0; r < rows; r++)
        make_exact(p.x + r * p.ldx, in, r % 2 == 0 ? 0x1p-7f : 0x1p-3f);
    for (size_t i = 0; i < (rows - 1) * p.ldx; i++)
        if (i % p.ldx >= in)
            p.x[i] = NAN;
    p.weight = noise(out * in, 1, (uint32_t)(out * 100 + in));
    for (size_t j = 0; j < out; j++)
        make_exact(p.weight + j * in, in, j % 3 == 0 ? 0x1p-8f : 0x1p-5f);
    p.bias = with_bias ? noise(out, 1, (uint32_t)in) : NULL;
    size_t room = (packing->bytes(out, in) + sizeof(float) - 1) / sizeof(float);
    p.packed = guarded(room);
    packing->pack(&(struct unpacked){.weight = p.weight, .out = out, .in = in}, p.packed);
    ck_assert(guards_intact(p.packed, room));
    return p;
}

static void example_done(struct example *p) {
    guarded_free(p->packed);
    free(p->bias);
    free(p->weight);
    free(p->x);
}

/* Rounding grows with the terms: the share, at y[r][j], of an error of 1e-6 of the sum of their
 * magnitudes. */
static double product_error(const struct example *p, size_t r, size_t j, float y) {
    double sum = p->bias ? (double)p->bias[j] : 0, size = fabs(sum);
    for (size_t k = 0; k < p->in; k++) {
        double term = (double)p->weight[j * p->in + k] * (double)p->x[r * p->ldx + k];
        sum += term;
        size += fabs(term);
    }
    return fabs((double)y - sum) / (1e-6 * size + 1e-30);
}

/* Rows `first` .. first + rows - 1. */
static void multiply(const struct example *p, size_t first, size_t rows, float *y, size_t ldy) {
    p->packing->multiply(&(struct product){.packed = p->packed,
                                           .bias = p->bias,
                                           .out = p->out,
                                           .in = p->in,
                                           .x = p->x + first * p->ldx,
                                           .ldx = p->ldx,
                                           .rows = rows,
                                           .y = y,
                                           .ldy = ldy},
                         1);
}

static void check_product(int index, size_t rows, size_t out, size_t in, bool with_bias) {
    struct example p = example_create(packing_at(index), rows, out, in, with_bias);
    size_t floats = (rows - 1) * p.ldy + out;
    float *y = guarded(floats);
    multiply(&p, 0, rows, y, p.ldy);
    double worst = 0;
    bool intact = guards_intact(y, floats);
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < out; j++)
            worst = worse(worst, product_error(&p, r, j, y[r * p.ldy + j]));
        intact = intact && (r + 1 == rows || untouched(y + r * p.ldy + out, p.ldy - out));
    }
    ck_assert_msg(worst < 1, "%s %s, %zu rows, %zu x %zu: %g of the error allowed", set_of(index),
                  p.packing->name, rows, out, in, worst);
    ck_assert_msg(intact, "%s %s, %zu rows, %zu x %zu: written outside", set_of(index),
                  p.packing->name, rows, out, in);
    guarded_free(y);
    example_done(&p);
}

START_TEST(any_number_of_rows) {
    for (size_t rows = 1; rows <= 70; rows++) {
        check_product(_i, rows, 1 + rows * 37 % 100, 1 + rows * 53 % 70, rows % 2 == 0);
        check_product(_i, rows, 96, 64, true);
        check_product(_i, rows, 49, 1, false);
        check_product(_i, rows, 70, 128, true);
    }
}
END_TEST

START_TEST(any_number_of_columns) {
    static const size_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 17};
    for (size_t out = 1; out <= 100; out++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check_product(_i, rows[i], out, 1 + (out * 29 + i) % 70, (out + i) % 2 == 0);
}
END_TEST

/* More inputs than are expanded at a time, more rounded rows than are kept at a time. */
START_TEST(large_products) {
    check_product(_i, 3, 50, 700, true);
    check_product(_i, 40, 50, 300, true);
    check_product(_i, 19, 50, 1100, false);
    check_product(_i, 300, 20, 9, true);
    check_product(_i, 24, 5, 12000, true);
}
END_TEST

START_TEST(any_number_of_inputs) {
    for (size_t in = 1; in <= 70; in++)
        for (size_t rows = 1; rows <= 9; rows++)
            check_product(_i, rows, 1 + in * 31 % 100, in, (in + rows) % 2 == 0);
}
END_TEST

/* Copies what is taken to where the whole product has it, and spoils it. */
struct copying {
    struct taker taker;
    float *y, *all; /* [rows, ldy], [rows, out] */
    size_t ldy, out;
};

static void copy_taken(const struct taker *taker, size_t row, size_t rows, size_t column,
                       size_t count) {
    const struct copying *copying = (const struct copying *)taker;
    for (size_t r = row; r < row + rows; r++) {
        memcpy(copying->all + r * copying->out + column, copying->y + r * copying->ldy,
               count * sizeof(float));
        memset(copying->y + r * copying->ldy, 0xff, count * sizeof(float));
    }
}

/* Some columns at a time, with the bits of the whole product; also of more rows than int8 rounds at
 * a time. */
START_TEST(outputs_are_taken) {
    static const size_t row_counts[] = {1, 2, 3, 5, 9, 16, 33, 64, 300},
                        outs[] = {1, 95, 96, 97, 500};
    for (size_t i = 0; i < sizeof row_counts / sizeof *row_counts; i++)
        for (size_t j = 0; j < sizeof outs / sizeof *outs; j++)
            for (size_t columns = PACKED_TOGETHER; columns <= 2 * PACKED_TOGETHER;
                 columns += PACKED_TOGETHER) {
                size_t rows = row_counts[i], out = outs[j], in = rows == 300 ? 1300 : 64,
                       ldy = columns + 1;
                if (in > 64 && out > 97)
                    continue;
                struct example p = example_create(packing_at(_i), rows, out, in, j % 2 == 0);
                float *whole = guarded(rows * out), *y = guarded(rows * ldy),
                      *all = guarded(rows * out);
                multiply(&p, 0, rows, whole, out);
                const struct copying copying = {{columns, copy_taken}, y, all, ldy, out};
                struct product product = {.packed = p.packed,
                                          .bias = p.bias,
                                          .out = out,
                                          .in = in,
                                          .x = p.x,
                                          .ldx = p.ldx};
                product.rows = rows;
                product.y = y;
                product.ldy = ldy;
                product.taker = &copying.taker;
                p.packing->multiply(&product, 1);
                ck_assert_msg(identical(all, whole, rows * out) && guards_intact(y, rows * ldy),
                              "%s %s, %zu rows, %zu x %zu", set_of(_i), p.packing->name, rows, out,
                              in);
                guarded_free(all);
                guarded_free(y);
                guarded_free(whole);
                example_done(&p);
            }
}
END_TEST

START_TEST(no_rows) {
    struct example p = example_create(packing_at(_i), 1, 20, 10, true);
    float *y = guarded(20);
    multiply(&p, 0, 0, y, p.ldy);
    ck_assert(untouched(y, 20) && guards_intact(y, 20));
    guarded_free(y);
    example_done(&p);
}
END_TEST

/* A row's result has the same bits whatever rows are beside it. */
START_TEST(each_row_as_if_alone) {
    static const size_t outs[] = {1, 7, 16, 48, 97, 100, 200, 145},
                        ins[] = {1, 3, 16, 70, 33, 64, 47, 192};
    enum { ROWS = 70 };
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        size_t out = outs[i], in = ins[i];
        struct example p = example_create(packing_at(_i), ROWS, out, in, i % 2 == 0);
        float *alone = guarded(ROWS * out), *together = guarded(ROWS * out);
        for (size_t r = 0; r < ROWS; r++)
            multiply(&p, r, 1, alone + r * out, out);
        for (size_t rows = 1; rows <= ROWS; rows++) {
            size_t first = ROWS - rows;
            multiply(&p, first, rows, together, out);
            ck_assert_msg(identical(together, alone + first * out, rows * out),
                          "%s %s, %zu rows, %zu x %zu", set_of(_i), p.packing->name, rows, out, in);
        }
        guarded_free(together);
        guarded_free(alone);
        example_done(&p);
    }
}
END_TEST

/* One product of one row with one column. */
static float one_product(const struct packing *packing, const float *x, const float *weight,
                         size_t in) {
    size_t room = (packing->bytes(1, in) + sizeof(float) - 1) / sizeof(float);
    float *packed = guarded(room), y = 0;
    packing->pack(&(struct unpacked){.weight = weight, .out = 1, .in = in}, packed);
    packing->multiply(
        &(struct product){
            .packed = packed, .out = 1, .in = in, .x = x, .ldx = in, .rows = 1, .y = &y, .ldy = 1},
        1);
    guarded_free(packed);
    return y;
}

/* 16-bit weights are rounded to nearest, ties to even; binary16 has subnormals and an end. */
START_TEST(weights_are_rounded) {
    static const struct {
        float weight, half, bfloat;
    } cases[] = {
        {1, 1, 1},
        {1 + 0x1p-11f, 1, 1},
        {1 + 0x1.8p-10f, 1 + 0x1p-9f, 1},
        {1 + 0x1.1p-11f, 1 + 0x1p-10f, 1},
        {-1 - 0x1p-8f, -1 - 0x1p-8f, -1},
        {1 + 0x1.8p-7f, 1 + 0x1.8p-7f, 1 + 0x1p-6f},
        {1 + 0x1.01p-8f, 1 + 0x1p-8f, 1 + 0x1p-7f},
        {0x1p-24f, 0x1p-24f, 0x1p-24f},
        {-0x1.8p-24f, -0x1p-23f, -0x1.8p-24f},
        {0x1p-25f, 0, 0x1p-25f},
        {65504, 65504, 65536},
        {1e6f, 65504, 999424},
        {-0.0f, -0.0f, -0.0f},
    };
    static const float one = 1;
    const struct packings *packings = kernel_set(_i)->packings;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_float_eq(one_product(packings->float16, &one, &cases[i].weight, 1),
                           cases[i].half);
        ck_assert_float_eq(one_product(packings->bfloat16, &one, &cases[i].weight, 1),
                           cases[i].bfloat);
    }
}
END_TEST

/* Half a step of each side is the most that rounding to nearest can lose. */
START_TEST(int8_rounds_to_nearest) {
    enum { IN = 301 };
    const struct packing *packing = kernel_set(_i)->packings->int8;
    for (uint32_t seed = 1; seed < 50; seed++) {
        float *x = noise(IN, 3, seed), *weight = noise(IN, 0.2f, seed + 100);
        double exact = 0, most_x = 0, most_weight = 0, bound = 1e-5;
        for (size_t k = 0; k < IN; k++) {
            exact += (double)x[k] * (double)weight[k];
            most_x = fmax(most_x, fabs((double)x[k]));
            most_weight = fmax(most_weight, fabs((double)weight[k]));
        }
        double step_x = most_x / 127, step_weight = most_weight / 127, error;
        for (size_t k = 0; k < IN; k++)
            bound += (fabs((double)x[k]) * step_weight + fabs((double)weight[k]) * step_x) / 2 +
                     step_x * step_weight / 4;
        error = fabs((double)one_product(packing, x, weight, IN) - exact);
        ck_assert_msg(error < bound / 4, "error %g of at most %g", error,
                      bound); /* errors of both signs: far below the bound */
        free(x);
        free(weight);
    }
}
END_TEST

/* Wherever it stands: scaled by any other, it would not fit. */
START_TEST(int8_finds_the_greatest_of_a_row) {
    enum { MOST = 70 };
    const struct packing *packing = kernel_set(_i)->packings->int8;
    float x[MOST], weight[MOST];
    for (size_t in = 1; in <= MOST; in++)
        for (size_t greatest = 0; greatest < in; greatest++) {
            for (size_t k = 0; k < in; k++) {
                x[k] = k == greatest ? -127 : 1;
                weight[k] = 1;
            }
            ck_assert_float_eq_tol(one_product(packing, x, weight, in), (float)in - 128, 1e-4f);
        }
}
END_TEST

START_TEST(int8_at_the_limits) {
    static const float weight[] = {1, -2, 0.5f}, nothing[3] = {0, 0, 0};
    static const float strange[][3] = {
        {NAN, 1, 1}, {1, 1, -NAN}, {INFINITY, 0, 1}, {1, -INFINITY, 0}};
    static const float tiny[] = {FLT_TRUE_MIN, FLT_MIN / 64, 0}, huge[] = {FLT_MAX, FLT_MAX / 2, 0};
    const struct packing *packing = kernel_set(_i)->packings->int8;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        ck_assert_float_nan(one_product(packing, strange[i], weight, 3));
    ck_assert_float_eq(one_product(packing, nothing, weight, 3), 0);
    ck_assert_float_eq(one_product(packing, weight, nothing, 3), 0);
    ck_assert_float_eq_tol(one_product(packing, tiny, weight, 3), 0, FLT_MIN);
    ck_assert_float_eq_tol(one_product(packing, huge, weight + 2, 1), FLT_MAX / 2, FLT_MAX * 1e-6f);
}
END_TEST

/* Nothing overflows on the way: not pairs in 16 bits, not sums in 32. */
START_TEST(int8_of_the_largest_values) {
    const struct packing *packing = kernel_set(_i)->packings->int8;
    size_t in = packing->max_in;
    float *x = noise(in, 1, 1), *weight = noise(in, 1, 2);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t k = 0; k < in; k++) {
            x[k] = 1;
            weight[k] = (float)sign;
        }
        ck_assert_float_eq_tol(one_product(packing, x, weight, in), (float)sign * (float)in,
                               (float)in * 1e-5f);
        ck_assert_float_eq_tol(one_product(packing, weight, weight, in), (float)in,
                               (float)in * 1e-5f);
    }
    free(x);
    free(weight);
}
END_TEST

/* ---- lookups ---- */

/* Lists of ids below out. 0: all, backwards; 1: every third; 2: one; 3: none; 4: random, some
 * several times. */
enum { LISTS = 5 };

static size_t make_ids(int list, size_t out, int *ids) {
    size_t count = list == 0   ? out
                   : list == 1 ? (out + 2) / 3
                   : list == 2 ? 1
                   : list == 3 ? 0
                               : out / 2;
    for (size_t i = 0; i < count; i++)
        ids[i] = (int)(list == 0 ? out - 1 - i : list == 1 ? 3 * i : (i * i * 31 + 7) % out);
    return count;
}

/* Guarded as pack_rows left them. */
static float *rows_create(const struct example *p) {
    size_t room = (p->packing->rows_bytes(p->out, p->in) + sizeof(float) - 1) / sizeof(float);
    float *rows = guarded(room);
    p->packing->pack_rows(&(struct unpacked){.weight = p->weight, .out = p->out, .in = p->in},
                          rows);
    ck_assert(guards_intact(rows, room));
    return rows;
}

/* The result of a lookup in row r for each id, against double precision; with int8, bit for bit the
 * same as the product. */
static void check_lookup(const struct example *p, const float *rows, size_t r, const int *ids,
                         size_t count, int index) {
    float *y = guarded(count), *whole = guarded(p->out);
    multiply(p, r, 1, whole, p->out);
    p->packing->look_up(&(struct lookup){.rows = rows,
                                         .bias = p->bias,
                                         .out = p->out,
                                         .in = p->in,
                                         .x = p->x + r * p->ldx,
                                         .ids = ids,
                                         .count = count,
                                         .y = y});
    ck_assert(guards_intact(y, count));
    for (size_t i = 0; i < count; i++) {
        double error = product_error(p, r, (size_t)ids[i], y[i]);
        ck_assert_msg(error < 1, "%s %s, %zu x %zu, id %d: %g of the error allowed", set_of(index),
                      p->packing->name, p->out, p->in, ids[i], error);
        if (index % PACKINGS == 3)
            ck_assert(identical(&y[i], &whole[ids[i]], 1));
    }
    guarded_free(whole);
    guarded_free(y);
}

START_TEST(lookups_are_parts_of_the_product) {
    enum { ROWS = 2 };
    for (size_t in = 1; in > 0; in = next_size(in)) {
        size_t out = 1 + in * 37 % 100;
        struct example p = example_create(packing_at(_i), ROWS, out, in, in % 2 == 0);
        float *rows = rows_create(&p);
        for (int list = 0; list < LISTS; list++) {
            int *ids = malloc((out + 1) * sizeof *ids);
            size_t count = make_ids(list, out, ids);
            for (size_t r = 0; r < ROWS; r++)
                check_lookup(&p, rows, r, ids, count, _i);
            free(ids);
        }
        guarded_free(rows);
        example_done(&p);
    }
}
END_TEST

/* Rows together have the bits of each alone, also more of them than are rounded at a time. */
START_TEST(lookups_of_rows_together) {
    enum { OUT = 61, MOST = 300 };
    static const size_t ins[] = {7, 64, 1024};
    for (size_t i = 0; i < sizeof ins / sizeof *ins; i++) {
        struct example p = example_create(packing_at(_i), MOST, OUT, ins[i], true);
        float *rows = rows_create(&p), *together = guarded(MOST * (OUT + 3)), alone[OUT];
        int ids[OUT];
        size_t count = make_ids(4, OUT, ids), ldy = OUT + 3;
        struct lookup lookup = {.rows = rows,
                                .bias = p.bias,
                                .out = OUT,
                                .in = ins[i],
                                .x = p.x,
                                .ids = ids,
                                .count = count,
                                .y = together};
        lookup.x_rows = MOST;
        lookup.ldx = p.ldx;
        lookup.ldy = ldy;
        p.packing->look_up(&lookup);
        ck_assert(guards_intact(together, MOST * ldy));
        for (size_t r = 0; r < MOST; r++) {
            struct lookup one = lookup;
            one.x = p.x + r * p.ldx;
            one.x_rows = 1;
            one.y = alone;
            p.packing->look_up(&one);
            ck_assert(identical(alone, together + r * ldy, count));
        }
        guarded_free(together);
        guarded_free(rows);
        example_done(&p);
    }
}
END_TEST

/* A matrix that is packed in parts has the bits of one that is packed at once. */
START_TEST(parts_are_packed_as_the_whole) {
    enum { OUT = 2 * PACKED_TOGETHER + 77, IN = 9 };
    const struct packing *packing = packing_at(_i);
    float *weight = noise(OUT * IN, 1, 5);
    size_t bytes = packing->bytes(OUT, IN), rows_bytes = packing->rows_bytes(OUT, IN);
    char *whole[2], *parts[2];
    for (size_t k = 0; k < 2; k++) {
        whole[k] = aligned_alloc(64, (k == 0 ? bytes : rows_bytes) / 64 * 64 + 64);
        parts[k] = aligned_alloc(64, (k == 0 ? bytes : rows_bytes) / 64 * 64 + 64);
    }
    struct unpacked from = {.weight = weight, .out = OUT, .in = IN};
    packing->pack(&from, whole[0]);
    packing->pack_rows(&from, whole[1]);
    for (from.first = 0; from.first < OUT; from.first += from.rows) {
        from.rows = OUT - from.first < PACKED_TOGETHER ? OUT - from.first : PACKED_TOGETHER;
        from.weight = weight + from.first * IN;
        packing->pack(&from, parts[0]);
        packing->pack_rows(&from, parts[1]);
    }
    ck_assert_mem_eq(whole[0], parts[0], bytes);
    ck_assert_mem_eq(whole[1], parts[1], rows_bytes);
    for (size_t k = 0; k < 2; k++) {
        free(whole[k]);
        free(parts[k]);
    }
    free(weight);
}
END_TEST

static void check_bits(const struct packing *packing, size_t out, size_t in, uint32_t seed) {
    struct example p = {.rows = 1, .out = out, .in = in, .ldx = in, .ldy = out, .packing = packing};
    p.x = noise(in, seed == 0 ? INFINITY : 3, seed);
    p.weight = noise(out * in, 0.3f, seed + 100);
    p.bias = seed % 2 == 0 ? noise(out, 2, seed + 200) : NULL;
    p.packed = guarded((packing->bytes(out, in) + sizeof(float) - 1) / sizeof(float));
    packing->pack(&(struct unpacked){.weight = p.weight, .out = out, .in = in}, p.packed);
    float *rows = rows_create(&p), *y = guarded(out), *whole = guarded(out);
    int *ids = malloc(out * sizeof *ids);
    make_ids(0, out, ids);
    multiply(&p, 0, 1, whole, out);
    packing->look_up(&(struct lookup){.rows = rows,
                                      .bias = p.bias,
                                      .out = out,
                                      .in = in,
                                      .x = p.x,
                                      .ids = ids,
                                      .count = out,
                                      .y = y});
    for (size_t i = 0; i < out; i++)
        ck_assert(seed == 0 ? isnan(y[i]) && isnan(whole[ids[i]])
                            : identical(&y[i], &whole[ids[i]], 1));
    free(ids);
    guarded_free(whole);
    guarded_free(y);
    guarded_free(rows);
    example_done(&p);
}

/* Also where values are rounded, and where nothing comes out even; and of rows too long for the
 * room of a few. */
START_TEST(int8_lookups_have_the_bits_of_the_product) {
    const struct packing *packing = kernel_set(_i)->packings->int8;
    for (uint32_t seed = 0; seed < 20; seed++)
        check_bits(packing, 333, 257, seed);
    check_bits(packing, 5, 20000, 2);
    check_bits(packing, 5, packing->max_in, 3);
}
END_TEST

/* Scales as another program gave them: weights are whole multiples of one, of which no one need be
 * 127; values are multiplied, rounded to nearest even and cut off at 127. The product and its
 * lookups have the bits of the exact sum. */
START_TEST(int8_with_given_scales) {
    enum { OUT = 130, IN = 67, ROWS = 9 };
    const struct packing *packing = kernel_set(_i)->packings->int8;
    const float scale = 0.0173f, input_scale = 21.7f;
    static float weight[OUT * IN], x[ROWS * IN], y[ROWS * OUT];
    static int whole[OUT * IN], rounded[ROWS * IN], ids[OUT];
    float *noisy = noise(OUT * IN, 1, 1), *values = noise(ROWS * IN, 9, 2),
          *bias = noise(OUT, 1, 3);
    for (size_t i = 0; i < OUT * IN; i++) {
        whole[i] = (int)(noisy[i] * (float)(i / IN % 128));
        weight[i] = (float)whole[i] * scale;
    }
    memcpy(x, values, sizeof x);
    x[0] = 2.5f / input_scale, x[1] = 3.5f / input_scale, x[2] = INFINITY, x[3] = -INFINITY,
    x[4] = NAN;
    for (size_t i = 0; i < ROWS * IN; i++) {
        float scaled = x[i] * input_scale;
        rounded[i] = isnan(scaled) ? -127 : (int)rintf(fminf(fmaxf(scaled, -127), 127));
    }
    struct unpacked from = {
        .weight = weight, .out = OUT, .in = IN, .scale = scale, .input_scale = input_scale};
    struct example p = {.out = OUT, .in = IN, .packing = packing, .weight = weight};
    p.packed = guarded((packing->bytes(OUT, IN) + sizeof(float) - 1) / sizeof(float));
    float *rows = guarded((packing->rows_bytes(OUT, IN) + sizeof(float) - 1) / sizeof(float)),
          looked_up[OUT];
    packing->pack(&from, p.packed);
    packing->pack_rows(&from, rows);
    struct product product = {.packed = p.packed,
                              .bias = bias,
                              .out = OUT,
                              .in = IN,
                              .input_scale = input_scale,
                              .x = x,
                              .ldx = IN,
                              .rows = ROWS,
                              .y = y,
                              .ldy = OUT};
    packing->multiply(&product, 1);
    make_ids(0, OUT, ids);
    for (size_t r = 0; r < ROWS; r++) {
        packing->look_up(&(struct lookup){.rows = rows,
                                          .bias = bias,
                                          .out = OUT,
                                          .in = IN,
                                          .input_scale = input_scale,
                                          .x = x + r * IN,
                                          .ids = ids,
                                          .count = OUT,
                                          .y = looked_up});
        for (size_t i = 0; i < OUT; i++) {
            size_t j = (size_t)ids[i];
            int sum = 0;
            for (size_t k = 0; k < IN; k++)
                sum += whole[j * IN + k] * rounded[r * IN + k];
            float want = (float)sum * (scale / input_scale) + bias[j];
            ck_assert_msg(fabsf(want - y[r * OUT + j]) <=
                              2e-7f * (fabsf((float)sum * scale / input_scale) + 1),
                          "row %zu, %zu: %g, not %g", r, j, (double)y[r * OUT + j], (double)want);
            ck_assert(identical(&looked_up[i], &y[r * OUT + j], 1));
        }
    }
    guarded_free(rows);
    guarded_free(p.packed);
    free(noisy);
    free(values);
    free(bias);
}
END_TEST

TCase *products_cases(void) {
    TCase *cases = tcase_create("products");
    tcase_add_loop_test(cases, any_number_of_rows, 0, products());
    tcase_add_loop_test(cases, any_number_of_columns, 0, products());
    tcase_add_loop_test(cases, any_number_of_inputs, 0, products());
    tcase_add_loop_test(cases, large_products, 0, products());
    tcase_add_loop_test(cases, outputs_are_taken, 0, products());
    tcase_add_loop_test(cases, no_rows, 0, products());
    tcase_add_loop_test(cases, each_row_as_if_alone, 0, products());
    tcase_add_loop_test(cases, lookups_are_parts_of_the_product, 0, products());
    tcase_add_loop_test(cases, lookups_of_rows_together, 0, products());
    tcase_add_loop_test(cases, parts_are_packed_as_the_whole, 0, products());
    tcase_add_loop_test(cases, int8_with_given_scales, 0, kernel_sets());
    tcase_add_loop_test(cases, int8_lookups_have_the_bits_of_the_product, 0, kernel_sets());
    tcase_add_loop_test(cases, weights_are_rounded, 0, kernel_sets());
    tcase_add_loop_test(cases, int8_rounds_to_nearest, 0, kernel_sets());
    tcase_add_loop_test(cases, int8_finds_the_greatest_of_a_row, 0, kernel_sets());
    tcase_add_loop_test(cases, int8_at_the_limits, 0, kernel_sets());
    tcase_add_loop_test(cases, int8_of_the_largest_values, 0, kernel_sets());
    tcase_set_timeout(cases, 60); /* under a sanitizer or valgrind */
    return cases;
}
