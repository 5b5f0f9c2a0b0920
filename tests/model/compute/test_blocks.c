/* The operations of transformers besides products, for every instruction set that this processor
 * runs, against double precision. */
#include "model/compute/kernels.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* ---- heads ---- */

static const struct heads_shape shapes[] = {
    {1, 1, 1},  {3, 1, 1},  {2, 3, 1},  {1, 4, 1},  {4, 4, 1},  {2, 8, 1},  {8, 8, 1},
    {3, 12, 1}, {8, 16, 1}, {2, 17, 1}, {6, 32, 1}, {5, 33, 1}, {9, 64, 1}, {2, 100, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, OFFSET = 3, MOST = 33 };

/* The same vectors, of numbers that are multiples of UNIT: `distance` floats apart, and each in
 * memory of its own, which a sanitizer guards; as float32, and narrow. */
enum { WAYS = 4 };
#define UNIT 0x1p-8f
struct both {
    float *strided, *apart[MOST];
    float *strided_narrow, *narrow_apart[MOST];
    struct looked_at ways[WAYS];
};

static void write_narrow(const float *x, size_t n, float *out) {
    const float unit = UNIT;
    int16_t *numbers = (int16_t *)(void *)out;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (int16_t)(x[i] / UNIT);
    memcpy(out + (n + 1) / 2, &unit, sizeof unit);
}

static struct both make_both(size_t count, size_t size) {
    size_t room = kept_room(size, true), distance = size + 5, narrow_distance = room + 5;
    struct both both = {.strided = malloc(((count - 1) * distance + size) * sizeof(float)),
                        .strided_narrow =
                            malloc(((count - 1) * narrow_distance + room) * sizeof(float))};
    float *values = noise(count * size, 2, 7);
    for (size_t i = 0; i < count * size; i++)
        values[i] = rintf(values[i] / UNIT) * UNIT;
    for (size_t t = 0; t < count; t++) {
        const float *vector = values + t * size;
        memcpy(both.strided + t * distance, vector, size * sizeof(float));
        both.apart[t] = malloc((OFFSET + size) * sizeof(float));
        memcpy(both.apart[t] + OFFSET, vector, size * sizeof(float));
        both.narrow_apart[t] = malloc((OFFSET + room) * sizeof(float));
        write_narrow(vector, size, both.narrow_apart[t] + OFFSET);
        write_narrow(vector, size, both.strided_narrow + t * narrow_distance);
    }
    free(values);
    both.ways[0] = (struct looked_at){.first = both.strided, .distance = distance};
    both.ways[1] =
        (struct looked_at){.offset = OFFSET}; /* the path: set_paths, since the struct is copied */
    both.ways[2] = (struct looked_at){
        .first = both.strided_narrow, .distance = narrow_distance, .narrow = true};
    both.ways[3] = (struct looked_at){.offset = OFFSET, .narrow = true};
    return both;
}

static void set_paths(struct both *both) {
    both->ways[1].path = (const float *const *)both->apart;
    both->ways[3].path = (const float *const *)both->narrow_apart;
}

static void free_both(struct both *both, size_t count) {
    for (size_t t = 0; t < count; t++) {
        free(both->apart[t]);
        free(both->narrow_apart[t]);
    }
    free(both->strided);
    free(both->strided_narrow);
}

static double score_of(const struct heads_shape *heads, const float *q, const float *key,
                       size_t head) {
    double sum = 0;
    for (size_t i = head * heads->size; i < (head + 1) * heads->size; i++)
        sum += (double)q[i] * (double)key[i];
    return sum;
}

static void check_scores(const struct block_kernels *kernels, const struct heads_shape *heads,
                         size_t n) {
    size_t size = heads->count * heads->size;
    float *q = noise(size, 1, 3), *first = NULL;
    struct both both = make_both(n, size);
    set_paths(&both);
    for (size_t way = 0; way < WAYS; way++) {
        float *e = guarded(heads->count * n);
        kernels->scores(heads, q, &both.ways[way], n, e);
        for (size_t h = 0; h < heads->count; h++)
            for (size_t t = 0; t < n; t++) {
                double want = score_of(heads, q, both.apart[t] + OFFSET, h);
                ck_assert_msg(fabs(want - (double)e[h * n + t]) <=
                                  SUM_TOLERANCE * (double)heads->size * 2,
                              "%zu x %zu, head %zu of %zu", heads->count, heads->size, h, t);
            }
        ck_assert(guards_intact(e, heads->count * n));
        if (first)
            ck_assert(identical(first, e, heads->count * n));
        else
            first = guarded_copy(e, heads->count * n);
        guarded_free(e);
    }
    guarded_free(first);
    free_both(&both, n);
    free(q);
}

START_TEST(scores_of_many_heads) {
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t n = 1; n <= MOST; n += n < 9 ? 1 : 8)
            check_scores(kernel_set(_i)->blocks, &shapes[s], n);
}
END_TEST

static double sum_of(const struct heads_shape *heads, const float *a, const struct both *both,
                     size_t n, size_t column) {
    double sum = 0;
    for (size_t t = 0; t < n; t++)
        sum += (double)a[column / heads->size * n + t] * (double)both->apart[t][OFFSET + column];
    return sum;
}

static void check_sums(const struct block_kernels *kernels, const struct heads_shape *heads,
                       size_t n) {
    size_t size = heads->count * heads->size;
    float *a = noise(heads->count * n, 1, 3), *first = NULL;
    struct both both = make_both(n, size);
    set_paths(&both);
    for (size_t way = 0; way < WAYS; way++) {
        float *out = guarded(size);
        kernels->sums(heads, a, &both.ways[way], n, out);
        for (size_t i = 0; i < size; i++)
            ck_assert_msg(fabs(sum_of(heads, a, &both, n, i) - (double)out[i]) <=
                              SUM_TOLERANCE * (double)n * 2,
                          "%zu x %zu, %zu: column %zu", heads->count, heads->size, n, i);
        ck_assert(guards_intact(out, size));
        if (first)
            ck_assert(identical(first, out, size));
        else
            first = guarded_copy(out, size);
        guarded_free(out);
    }
    guarded_free(first);
    free_both(&both, n);
    free(a);
}

START_TEST(sums_of_many_heads) {
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t n = 1; n <= MOST; n += n < 9 ? 1 : 8)
            check_sums(kernel_set(_i)->blocks, &shapes[s], n);
}
END_TEST

/* ---- all of a sentence ---- */

/* Each head alone has the bits that it has among others, since these are computed side by side. */
START_TEST(weights_of_many_heads) {
    enum { HEADS = 9 };
    const float scale = 0.3f;
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *before = noise(HEADS * n, 40, (uint32_t)n);
        for (size_t heads = 1; heads <= HEADS; heads++) {
            float *e = guarded_copy(before, heads * n),
                  *alone = guarded_copy(before + (heads - 1) * n, n);
            kernel_set(_i)->blocks->weigh(heads, n, scale, e);
            for (size_t h = 0; h < heads; h++) {
                double top = -INFINITY, total = 0;
                for (size_t j = 0; j < n; j++)
                    top = fmax(top, (double)(before[h * n + j] * scale));
                for (size_t j = 0; j < n; j++)
                    total += exp((double)(before[h * n + j] * scale) - top);
                for (size_t j = 0; j < n; j++)
                    ck_assert_double_eq_tol((double)e[h * n + j],
                                            exp((double)(before[h * n + j] * scale) - top) / total,
                                            1e-6);
            }
            kernel_set(_i)->blocks->weigh(1, n, scale, alone);
            ck_assert_mem_eq(e + (heads - 1) * n, alone, n * sizeof *e);
            ck_assert(guards_intact(e, heads * n) && guards_intact(alone, n));
            guarded_free(alone);
            guarded_free(e);
        }
        free(before);
    }
}
END_TEST

/* Of row t, in double precision: weights [n], out [size] of one head. */
static void attend_row(const struct heads_shape *heads, const struct mutual *m, size_t head,
                       size_t t, double *weights, double *out) {
    double total = 0;
    for (size_t j = 0; j < m->n; j++) {
        double e = 0;
        for (size_t i = head * heads->size; i < (head + 1) * heads->size; i++)
            e += (double)m->q[t * m->distance + i] * (double)m->k[j * m->distance + i];
        const float *lean = m->lean ? m->lean + head * m->lean_distance + j - t : NULL;
        weights[j] = exp(e * (double)heads->scale + (lean ? (double)*lean : 0));
        total += weights[j];
    }
    for (size_t j = 0; j < m->n; j++)
        weights[j] /= total;
    for (size_t i = 0; i < heads->size; i++) {
        out[i] = 0;
        for (size_t j = 0; j < m->n; j++)
            out[i] += weights[j] * (double)m->v[j * m->distance + head * heads->size + i];
    }
}

static void check_attended(const struct heads_shape *heads, const struct mutual *m) {
    double weights[MOST], out[128];
    for (size_t t = 0; t < m->n; t++)
        for (size_t h = 0; h < heads->count; h++) {
            attend_row(heads, m, h, t, weights, out);
            for (size_t j = 0; m->weights && j < m->n; j++)
                ck_assert(fabs(weights[j] - (double)m->weights[(t * heads->count + h) * m->n + j]) <
                          1e-5);
            for (size_t i = 0; i < heads->size; i++)
                ck_assert_msg(
                    fabs(out[i] - (double)m->out[(t * heads->count + h) * heads->size + i]) < 2e-5,
                    "%zu x %zu, row %zu of %zu, head %zu: %g", heads->count, heads->size, t, m->n,
                    h, out[i]);
        }
}

/* The bits of a row are the same whichever rows are asked for, and no other row is written. */
static void check_rows_alone(const struct block_kernels *kernels, const struct heads_shape *heads,
                             struct mutual m) {
    size_t size = heads->count * heads->size;
    float *out = noise(m.n * size, 1, 7), *untouched = noise(m.n * size, 1, 7);
    const float *whole = m.out;
    m.first = m.n / 3;
    m.rows = m.n - m.first - m.n / 4;
    m.out = out;
    m.weights = NULL;
    kernels->attend(heads, &m);
    for (size_t t = 0; t < m.n; t++) {
        const float *want = t >= m.first && t < m.first + m.rows ? whole : untouched;
        ck_assert_mem_eq(out + t * size, want + t * size, size * sizeof *out);
    }
    free(out);
    free(untouched);
}

static void check_attend(const struct block_kernels *kernels, const struct heads_shape *shape,
                         size_t n, bool leans) {
    const struct heads_shape own = {shape->count, shape->size,
                                    leans ? 0.7f : 1 / sqrtf((float)shape->size)},
                             *heads = &own;
    size_t size = heads->count * heads->size, distance = size + 3, apart = 2 * n + 1;
    float *q = noise(n * distance, 1, 3), *k = noise(n * distance, 1, 4),
          *v = noise(n * distance, 2, 5);
    float *lean = noise(heads->count * apart, 1, 6), *scratch = guarded(mutual_scratch(heads, n)),
          *out = guarded(n * size), *weights = guarded(n * heads->count * n);
    struct mutual mutual = {.q = q,
                            .k = k,
                            .v = v,
                            .distance = distance,
                            .n = n,
                            .rows = n,
                            .lean = leans ? lean + n - 1 : NULL,
                            .lean_distance = apart,
                            .scratch = scratch,
                            .weights = leans ? weights : NULL,
                            .out = out};
    kernels->attend(heads, &mutual);
    check_attended(heads, &mutual);
    check_rows_alone(kernels, heads, mutual);
    ck_assert(guards_intact(scratch, mutual_scratch(heads, n)) && guards_intact(out, n * size) &&
              guards_intact(weights, n * heads->count * n));
    guarded_free(scratch);
    guarded_free(out);
    guarded_free(weights);
    free(q);
    free(k);
    free(v);
    free(lean);
}

START_TEST(rows_look_at_each_other) {
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t n = 1; n <= MOST; n += n < 9 ? 1 : 8)
            check_attend(kernel_set(_i)->blocks, &shapes[s], n, (s + n) % 2);
}
END_TEST

/* By hand: binary16 has 10 bits of fraction, of even ones the nearest; below 2^-14 multiples of
 * 2^-24; nothing above 65504. */
/* Each number is within half a unit, and the greatest is exact. */
START_TEST(narrow_is_rounded) {
    const struct block_kernels *kernels = kernel_set(_i)->blocks;
    for (size_t n = 1; n <= 70; n++) {
        float *x = noise(n, 3, (unsigned)n), *out = guarded(kept_room(n, true));
        float top = 0, unit;
        kernels->narrow(x, n, out);
        const int16_t *numbers = (const int16_t *)(const void *)out;
        memcpy(&unit, out + (n + 1) / 2, sizeof unit);
        for (size_t i = 0; i < n; i++)
            top = fmaxf(top, fabsf(x[i]));
        ck_assert_float_eq(unit, top / 32767);
        for (size_t i = 0; i < n; i++) {
            float error = fabsf(x[i] - (float)numbers[i] * unit);
            ck_assert_msg(error <= unit * 0.501f, "%g in units of %g: %d", (double)x[i],
                          (double)unit, numbers[i]);
            ck_assert(fabsf(x[i]) < top || abs(numbers[i]) == 32767);
        }
        ck_assert(guards_intact(out, kept_room(n, true)));
        guarded_free(out);
        free(x);
    }
}
END_TEST

/* Numbers that no unit suits: a vector with NaN or an infinity is NaN, one of tiny numbers 0. */
START_TEST(narrow_of_odd_numbers) {
    static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, 0, 1e-38f, -1e-45f, FLT_MAX};
    enum { N = 37, FINITE = 4, TINY = 7 };
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        for (size_t at = 0; at < N; at++) {
            float x[N] = {0}, out[N], unit;
            x[at] = odd[k];
            kernel_set(_i)->blocks->narrow(x, N, out);
            const int16_t *numbers = (const int16_t *)(const void *)out;
            memcpy(&unit, out + (N + 1) / 2, sizeof unit);
            ck_assert_int_eq(isnan(unit) != 0, k < FINITE);
            for (size_t i = 0; k >= FINITE && i < N; i++)
                ck_assert_int_eq(numbers[i], k >= TINY && i == at ? 32767 : 0);
        }
    }
}
END_TEST

/* ---- activations ---- */

static double relu(double x) {
    return fmax(x, 0);
}

static double swish(double x) {
    return x * sigmoid(x);
}

static double gelu(double x) {
    return x * erfc(-x * sqrt(0.5)) / 2;
}

static double gelu_tanh(double x) {
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static const struct {
    const char *name;
    double (*exact)(double x);
    size_t offset; /* of the function in struct block_kernels */
} activations[] = {{"relu", relu, offsetof(struct block_kernels, relu)},
                   {"swish", swish, offsetof(struct block_kernels, swish)},
                   {"gelu", gelu, offsetof(struct block_kernels, gelu)},
                   {"gelu_tanh", gelu_tanh, offsetof(struct block_kernels, gelu_tanh)}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

typedef void activation(float *x, size_t n);

static activation *activation_of(const struct kernels *kernels, size_t which) {
    activation *found;
    memcpy(&found, (const char *)kernels->blocks + activations[which].offset, sizeof found);
    return found;
}

static void check_activation(const struct kernels *kernels, size_t which, const float *x,
                             size_t n) {
    float *y = guarded_copy(x, n);
    activation_of(kernels, which)(y, n);
    for (size_t i = 0; i < n; i++) {
        double want = activations[which].exact((double)x[i]), error = fabs(want - (double)y[i]);
        ck_assert_msg(error <= 3e-7 * fmax(fabs((double)x[i]), FLT_MIN), "%s, %s(%g): %g",
                      kernels->name, activations[which].name, (double)x[i], (double)y[i]);
    }
    ck_assert(guards_intact(y, n));
    guarded_free(y);
}

START_TEST(activations_of_every_size) {
    static const float edges[] = {0,   -0.0f, 1e-30f, -1e-30f, 5,       -5,
                                  13,  -13,   50,     -50,     88,      -88,
                                  200, -200,  1e30f,  -1e30f,  FLT_MAX, -FLT_MAX};
    for (size_t which = 0; which < ACTIVATIONS; which++) {
        for (size_t n = 1; n > 0; n = next_size(n)) {
            float *x = noise(n, 8, (uint32_t)n);
            check_activation(kernel_set(_i), which, x, n);
            free(x);
        }
        check_activation(kernel_set(_i), which, edges, sizeof edges / sizeof *edges);
    }
}
END_TEST

START_TEST(what_is_not_a_number_stays_none) {
    for (size_t which = 1; which < ACTIVATIONS; which++) {
        float x[2] = {NAN, 1};
        activation_of(kernel_set(_i), which)(x, 2);
        ck_assert_float_nan(x[0]);
        ck_assert_float_eq_tol(x[1], (float)activations[which].exact(1), 1e-6f);
    }
}
END_TEST

/* ---- the mixers ---- */

START_TEST(ssru_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *f = noise(n, 4, 1), *before = noise(n, 3, 2), *candidates = noise(n, 3, 3);
        float *c = guarded_copy(before, n), *z = guarded_copy(candidates, n);
        kernel_set(_i)->blocks->ssru(f, n, c, z);
        for (size_t i = 0; i < n; i++) {
            double g = sigmoid((double)f[i]),
                   want = g * (double)before[i] + (1 - g) * (double)candidates[i];
            ck_assert_double_eq_tol((double)c[i], want, 2e-6);
            ck_assert_double_eq_tol((double)z[i], fmax(want, 0), 2e-6);
        }
        ck_assert(guards_intact(c, n) && guards_intact(z, n));
        guarded_free(c);
        guarded_free(z);
        free(candidates);
        free(before);
        free(f);
    }
}
END_TEST

START_TEST(mix_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *i = noise(n, 4, 1), *x = noise(n, 3, 2), *f = noise(n, 4, 3),
              *before = noise(n, 3, 4), *y = guarded_copy(before, n);
        kernel_set(_i)->blocks->mix(i, x, f, n, y);
        for (size_t j = 0; j < n; j++)
            ck_assert_double_eq_tol((double)y[j],
                                    sigmoid((double)i[j]) * (double)x[j] +
                                        sigmoid((double)f[j]) * (double)before[j],
                                    2e-6);
        ck_assert(guards_intact(y, n));
        guarded_free(y);
        free(before);
        free(f);
        free(x);
        free(i);
    }
}
END_TEST

Suite *blocks_suite(void) {
    Suite *suite = suite_create("blocks");
    TCase *cases = tcase_create("blocks");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, scores_of_many_heads, 0, kernel_sets());
    tcase_add_loop_test(cases, sums_of_many_heads, 0, kernel_sets());
    tcase_add_loop_test(cases, weights_of_many_heads, 0, kernel_sets());
    tcase_add_loop_test(cases, rows_look_at_each_other, 0, kernel_sets());
    tcase_add_loop_test(cases, narrow_is_rounded, 0, kernel_sets());
    tcase_add_loop_test(cases, narrow_of_odd_numbers, 0, kernel_sets());
    tcase_add_loop_test(cases, activations_of_every_size, 0, kernel_sets());
    tcase_add_loop_test(cases, what_is_not_a_number_stays_none, 0, kernel_sets());
    tcase_add_loop_test(cases, ssru_of_every_size, 0, kernel_sets());
    tcase_add_loop_test(cases, mix_of_every_size, 0, kernel_sets());
    suite_add_tcase(suite, cases);
    return suite;
}
