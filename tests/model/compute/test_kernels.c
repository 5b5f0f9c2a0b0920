/* Every instruction set that this processor runs against double precision, at sizes around every
 * vector width. */
#include "model/compute/kernels.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* ---- tanh ---- */

/* The same answer in a whole vector and in the part of one at the end. */
static float tanh_one(const struct kernels *kernels, float x) {
    enum { COUNT = 33 };
    float all[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        all[i] = x;
    kernels->tanh(all, COUNT);
    for (size_t i = 1; i < COUNT; i++)
        ck_assert_msg(identical(all, all + i, 1), "tanh(%g)[%zu]", (double)x, i);
    return all[0];
}

START_TEST(tanh_of_every_size) {
    const struct kernels *kernels = kernel_set(_i);
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(n, 6, (uint32_t)n), *y = guarded_copy(x, n);
        kernels->tanh(y, n);
        double worst = 0;
        for (size_t i = 0; i < n; i++)
            worst = worse(worst, fabs(tanh((double)x[i]) - (double)y[i]));
        ck_assert_msg(worst < 3e-7, "%s, n %zu: error %g", kernels->name, n, worst);
        ck_assert(guards_intact(y, n));
        guarded_free(y);
        free(x);
    }
}
END_TEST

START_TEST(tanh_of_a_fine_sweep) {
    enum { HALF = 30000 };
    static float above[HALF], below[HALF];
    double worst = 0, asymmetry = 0;
    for (size_t i = 0; i < HALF; i++) {
        above[i] = (float)i * 4e-4f;
        below[i] = -above[i];
    }
    kernel_set(_i)->tanh(above, HALF);
    kernel_set(_i)->tanh(below, HALF);
    for (size_t i = 0; i < HALF; i++) {
        worst = worse(worst, fabs(tanh((double)((float)i * 4e-4f)) - (double)above[i]));
        asymmetry = worse(asymmetry, fabs((double)above[i] + (double)below[i]));
    }
    ck_assert_msg(worst < 3e-7, "error %g", worst);
    ck_assert_msg(asymmetry < 3e-7, "tanh(-x) + tanh(x) is %g", asymmetry);
}
END_TEST

START_TEST(tanh_at_the_limits) {
    const struct kernels *kernels = kernel_set(_i);
    static const float large[] = {10, 11, 44, 45, 88, 89, 100, 1e10f, FLT_MAX, INFINITY};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        ck_assert_float_eq(tanh_one(kernels, large[i]), 1);
        ck_assert_float_eq(tanh_one(kernels, -large[i]), -1);
    }
    static const float small[] = {0, FLT_MIN, FLT_MIN / 2, FLT_TRUE_MIN, 1e-10f};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        ck_assert_float_eq_tol(tanh_one(kernels, small[i]), 0, 3e-7f);
        ck_assert_float_eq_tol(tanh_one(kernels, -small[i]), 0, 3e-7f);
    }
    ck_assert_float_nan(tanh_one(kernels, NAN));
    ck_assert_float_nan(tanh_one(kernels, -NAN));
}
END_TEST

/* ---- gates ---- */

START_TEST(gru_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(3 * n, 4, 1), *u = noise(3 * n, 4, 2), *before = noise(n, 1, 3),
              *h = guarded_copy(before, n);
        kernel_set(_i)->gru(x, u, h, n);
        double worst = 0;
        for (size_t i = 0; i < n; i++) {
            double r = sigmoid((double)x[i] + (double)u[i]),
                   z = sigmoid((double)x[n + i] + (double)u[n + i]);
            double candidate = tanh((double)x[2 * n + i] + r * (double)u[2 * n + i]);
            worst = worse(worst, fabs((1 - z) * candidate + z * (double)before[i] - (double)h[i]));
        }
        ck_assert_msg(worst < 1e-6, "n %zu: error %g", n, worst);
        ck_assert(guards_intact(h, n));
        guarded_free(h);
        free(before);
        free(u);
        free(x);
    }
}
END_TEST

START_TEST(lstm_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(4 * n, 4, 1), *u = noise(4 * n, 4, 2), *before = noise(n, 3, 3),
              *c = guarded_copy(before, n), *h = guarded(n);
        kernel_set(_i)->lstm(x, u, h, c, n);
        double worst = 0;
        for (size_t i = 0; i < n; i++) {
            double gates[4];
            for (size_t g = 0; g < 4; g++)
                gates[g] = (double)x[g * n + i] + (double)u[g * n + i];
            double cell =
                sigmoid(gates[1]) * (double)before[i] + sigmoid(gates[0]) * tanh(gates[2]);
            worst = worse(worst, fabs(cell - (double)c[i]));
            worst = worse(worst, fabs(sigmoid(gates[3]) * tanh(cell) - (double)h[i]));
        }
        ck_assert_msg(worst < 2e-6, "n %zu: error %g", n, worst);
        ck_assert(guards_intact(h, n) && guards_intact(c, n));
        guarded_free(h);
        guarded_free(c);
        free(before);
        free(u);
        free(x);
    }
}
END_TEST

START_TEST(gated_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(2 * n, 4, 1), *before = noise(n, 3, 2), *h = guarded_copy(before, n);
        kernel_set(_i)->gated(x, n, h);
        double worst = 0;
        for (size_t i = 0; i < n; i++) {
            double want =
                sqrt(0.5) * ((double)x[i] * sigmoid((double)x[n + i]) + (double)before[i]);
            worst = worse(worst, fabs(want - (double)h[i]));
        }
        ck_assert_msg(worst < 1e-6, "n %zu: error %g", n, worst);
        ck_assert(guards_intact(h, n));
        guarded_free(h);
        free(before);
        free(x);
    }
}
END_TEST

/* Against double precision: mean 0 and variance 1, but for gain and shift. A row's bits do not
 * depend on the rows beside it. */
START_TEST(normalization_of_every_size) {
    enum { ROWS = 6, GAP = 3 };
    const struct kernels *kernels = kernel_set(_i);
    for (size_t n = 1; n > 0; n = next_size(n)) {
        size_t ld = n + GAP, floats = (ROWS - 1) * ld + n;
        float *x = noise(floats, 3, (uint32_t)n), *gain = noise(n, 2, (uint32_t)n + 1),
              *shift = noise(n, 2, (uint32_t)n + 2);
        float *y = guarded_copy(x, floats), *alone = malloc(n * sizeof *alone);
        kernels->normalize(y, ld, ROWS, gain, shift, n, 1e-5f);
        double worst = 0;
        for (size_t r = 0; r < ROWS; r++) {
            const float *row = x + r * ld;
            double mean = 0, variance = 0;
            for (size_t i = 0; i < n; i++)
                mean += (double)row[i] / (double)n;
            for (size_t i = 0; i < n; i++)
                variance += ((double)row[i] - mean) * ((double)row[i] - mean) / (double)n;
            for (size_t i = 0; i < n; i++)
                worst = worse(
                    worst, fabs(((double)row[i] - mean) / sqrt(variance + 1e-5) * (double)gain[i] +
                                (double)shift[i] - (double)y[r * ld + i]));
            memcpy(alone, row, n * sizeof *alone);
            kernels->normalize(alone, n, 1, gain, shift, n, 1e-5f);
            ck_assert(identical(alone, y + r * ld, n));
            ck_assert(r + 1 == ROWS || identical(row + n, y + r * ld + n, GAP));
        }
        ck_assert_msg(worst < 1e-5, "%s, n %zu: error %g", kernels->name, n, worst);
        ck_assert(guards_intact(y, floats));
        guarded_free(y);
        free(alone);
        free(x);
        free(gain);
        free(shift);
    }
}
END_TEST

START_TEST(maxima_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(n, 4, 1), *before = noise(n, 4, 2), *y = guarded_copy(before, n);
        kernel_set(_i)->maxima(x, n, y);
        for (size_t i = 0; i < n; i++)
            ck_assert_float_eq(y[i], x[i] > before[i] ? x[i] : before[i]);
        ck_assert(guards_intact(y, n));
        guarded_free(y);
        free(before);
        free(x);
    }
}
END_TEST

/* Gates pushed to either end open and close fully, without a NaN from exp's overflow. */
START_TEST(saturated_gates) {
    enum { COUNT = 21 };
    float x[3 * COUNT], u[3 * COUNT] = {0}, h[COUNT];
    static const float ends[] = {-INFINITY, -1e6f, -100, 100, 1e6f, INFINITY};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = x[COUNT + i] = ends[e];
            x[2 * COUNT + i] = 100;
            h[i] = 0.25f;
        }
        kernel_set(_i)->gru(x, u, h, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_float_eq_tol(h[i], ends[e] < 0 ? 1 : 0.25f, 1e-6f);
    }
}
END_TEST

/* ---- attention ---- */

enum { MAX_COUNT = 9 }; /* keys: as many as are scored together, twice, and one */

START_TEST(dot_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *q = noise(n, 1, 1), *k = noise(n * MAX_COUNT, 1, 2);
        for (size_t count = 0; count <= MAX_COUNT; count++) {
            float *e = guarded(count);
            kernel_set(_i)->dot(q, k, count, n, e);
            for (size_t t = 0; t < count; t++) {
                double sum = 0, size = 0;
                for (size_t i = 0; i < n; i++) {
                    sum += (double)q[i] * (double)k[t * n + i];
                    size += fabs((double)q[i] * (double)k[t * n + i]);
                }
                ck_assert_double_eq_tol((double)e[t], sum, SUM_TOLERANCE * size + 1e-30);
            }
            ck_assert(guards_intact(e, count));
            guarded_free(e);
        }
        free(k);
        free(q);
    }
}
END_TEST

/* e^2x, to a few roundings more at the ends of its range. */
START_TEST(exp_twice_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *x = noise(n, 43, (uint32_t)n), *y = guarded_copy(x, n);
        kernel_set(_i)->exp_twice(y, n);
        double worst = 0;
        for (size_t i = 0; i < n; i++)
            worst = worse(worst, fabs((double)y[i] / exp(2 * (double)x[i]) - 1));
        ck_assert_msg(worst < 3e-7, "n %zu: relative error %g", n, worst);
        ck_assert(guards_intact(y, n));
        guarded_free(y);
        free(x);
    }
}
END_TEST

/* v . tanh(q + k) as attention computes it. */
static void check_additive(const struct kernels *kernels, const float *v, const float *q,
                           const float *k, size_t count, size_t n) {
    float *e = guarded(count), *query = guarded_copy(q, n), *keys = guarded_copy(k, count * n);
    kernels->exp_twice(query, n);
    kernels->exp_twice(keys, count * n);
    kernels->additive(v, query, keys, count, n, e);
    for (size_t t = 0; t < count; t++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)v[i] * tanh((double)q[i] + (double)k[t * n + i]);
        ck_assert_double_eq_tol((double)e[t], sum, SUM_TOLERANCE * (double)n);
    }
    ck_assert(guards_intact(e, count));
    guarded_free(keys);
    guarded_free(query);
    guarded_free(e);
}

START_TEST(additive_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *v = noise(n, 1, 1), *q = noise(n, 2, 2), *k = noise(n * MAX_COUNT, 2, 3);
        for (size_t count = 0; count <= MAX_COUNT; count++)
            check_additive(kernel_set(_i), v, q, k, count, n);
        free(k);
        free(q);
        free(v);
    }
}
END_TEST

/* v . tanh(q + k + w c). */
START_TEST(additive_with_coverage) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *v = noise(n, 1, 1), *q = noise(n, 2, 2), *k = noise(n * MAX_COUNT, 2, 3),
              *w = noise(n, 2, 4);
        float *c = noise(MAX_COUNT, 3, 5), *e = guarded(MAX_COUNT), *query = guarded_copy(q, n);
        float *keys = guarded_copy(k, n * MAX_COUNT);
        kernel_set(_i)->exp_twice(query, n);
        kernel_set(_i)->exp_twice(keys, n * MAX_COUNT);
        kernel_set(_i)->additive_covered(v, query, keys, &(struct coverage){w, c}, MAX_COUNT, n, e);
        for (size_t t = 0; t < MAX_COUNT; t++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += (double)v[i] *
                       tanh((double)q[i] + (double)k[t * n + i] + (double)w[i] * (double)c[t]);
            ck_assert_double_eq_tol((double)e[t], sum, SUM_TOLERANCE * (double)n);
        }
        ck_assert(guards_intact(e, MAX_COUNT));
        guarded_free(keys);
        guarded_free(query);
        guarded_free(e);
        free(c);
        free(w);
        free(k);
        free(q);
        free(v);
    }
}
END_TEST

/* One pair (q, k) in all places. */
static float additive_one(const struct kernels *kernels, float q, float k) {
    enum { COUNT = 21 };
    float v[COUNT] = {[3] = 1, [20] = 1}, queries[COUNT], keys[COUNT], e;
    for (size_t i = 0; i < COUNT; i++) {
        queries[i] = q;
        keys[i] = k;
    }
    kernels->exp_twice(queries, COUNT);
    kernels->exp_twice(keys, COUNT);
    kernels->additive(v, queries, keys, 1, COUNT, &e);
    return e / 2;
}

/* Exponentials are bounded, so a sum of two large numbers need not be right; up to these limits it
 * is. */
START_TEST(additive_at_the_limits) {
    static const float pairs[][2] = {{0, 0},
                                     {33, -33},
                                     {33, -32},
                                     {43, -43},
                                     {43, -42.5f},
                                     {20, -20.25f},
                                     {43, 43},
                                     {-43, -43},
                                     {33, -1e4f},
                                     {-33, 1e4f},
                                     {0, INFINITY},
                                     {0, -INFINITY},
                                     {FLT_MAX, FLT_MAX},
                                     {-INFINITY, -INFINITY}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        float q = pairs[i][0], k = pairs[i][1];
        double exact = tanh((double)q + (double)k);
        ck_assert_double_eq_tol((double)additive_one(kernel_set(_i), q, k), exact, 3e-7);
        ck_assert_double_eq_tol((double)additive_one(kernel_set(_i), k, q), exact, 3e-7);
    }
    ck_assert_float_nan(additive_one(kernel_set(_i), NAN, 1));
    ck_assert_float_nan(additive_one(kernel_set(_i), 1, NAN));
}
END_TEST

START_TEST(weighted_sum_of_every_size) {
    for (size_t n = 1; n > 0; n = next_size(n)) {
        float *a = noise(MAX_COUNT, 1, 1), *h = noise(n * MAX_COUNT, 1, 2);
        for (size_t count = 0; count <= MAX_COUNT; count++) {
            float *out = guarded(n);
            kernel_set(_i)->weighted_sum(a, h, count, n, out);
            double worst = 0;
            for (size_t i = 0; i < n; i++) {
                double sum = 0;
                for (size_t t = 0; t < count; t++)
                    sum += (double)a[t] * (double)h[t * n + i];
                worst = worse(worst, fabs(sum - (double)out[i]));
            }
            ck_assert_msg(worst <= SUM_TOLERANCE, "n %zu, count %zu: error %g", n, count, worst);
            ck_assert(guards_intact(out, n));
            guarded_free(out);
        }
        free(h);
        free(a);
    }
}
END_TEST

START_TEST(the_best_set_has_its_name) {
    static const char *const names[] = {
#define SET(architecture, name, flags, condition) SETS_##architecture(#name, )
#include "model/compute/sets.def"
    };
    for (int i = 0; i < kernel_sets(); i++)
        ck_assert_str_eq(kernel_set(i)->name, names[i]);
    ck_assert_ptr_eq(kernels_choose(), kernel_set(kernel_sets() - 1));
}
END_TEST

static void add_elementwise(TCase *cases, int sets) {
    tcase_add_loop_test(cases, tanh_of_every_size, 0, sets);
    tcase_add_loop_test(cases, tanh_of_a_fine_sweep, 0, sets);
    tcase_add_loop_test(cases, tanh_at_the_limits, 0, sets);
    tcase_add_loop_test(cases, gru_of_every_size, 0, sets);
    tcase_add_loop_test(cases, lstm_of_every_size, 0, sets);
    tcase_add_loop_test(cases, gated_of_every_size, 0, sets);
    tcase_add_loop_test(cases, normalization_of_every_size, 0, sets);
    tcase_add_loop_test(cases, maxima_of_every_size, 0, sets);
    tcase_add_loop_test(cases, saturated_gates, 0, sets);
}

static void add_attention(TCase *cases, int sets) {
    tcase_add_loop_test(cases, dot_of_every_size, 0, sets);
    tcase_add_loop_test(cases, exp_twice_of_every_size, 0, sets);
    tcase_add_loop_test(cases, additive_of_every_size, 0, sets);
    tcase_add_loop_test(cases, additive_with_coverage, 0, sets);
    tcase_add_loop_test(cases, additive_at_the_limits, 0, sets);
    tcase_add_loop_test(cases, weighted_sum_of_every_size, 0, sets);
}

Suite *kernels_suite(void) {
    Suite *suite = suite_create("kernels");
    TCase *cases = tcase_create("choice");
    kernel_sets_report();
    tcase_add_test(cases, the_best_set_has_its_name);
    suite_add_tcase(suite, cases);

    cases = tcase_create("element by element");
    add_elementwise(cases, kernel_sets());
    tcase_set_timeout(cases, 60); /* under a sanitizer or valgrind */
    suite_add_tcase(suite, cases);

    cases = tcase_create("attention");
    add_attention(cases, kernel_sets());
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, products_cases());
    suite_add_tcase(suite, softmax_cases());
    return suite;
}
