/* Softmax, and the statistics of a row of logits that a search needs, on every instruction set that
 * this processor runs: against double precision. */
#include "model/compute/kernels.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- softmax ---- */

static const float scales[] = {0.1f, 1, 10, 40}, offsets[] = {0, 1e4f, -1e4f};

/* Calls check for rows of every size, spread and offset. */
static void for_rows(const struct kernels *kernels,
                     void (*check)(const struct kernels *kernels, const float *x, size_t n)) {
    for (size_t n = 1; n > 0; n = next_size(n))
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
            for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
                float *x = noise(n, scales[s], (uint32_t)(n * 16 + s));
                for (size_t i = 0; i < n; i++)
                    x[i] += offsets[o];
                check(kernels, x, n);
                free(x);
            }
}

static double max_of(const float *x, size_t n) {
    double top = (double)x[0];
    for (size_t i = 1; i < n; i++)
        top = fmax(top, (double)x[i]);
    return top;
}

static double log_sum_of(const float *x, size_t n) {
    double top = max_of(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)x[i] - top);
    return top + log(sum);
}

/* A difference d of two logits is rounded to a float32 before exp: so the relative error grows with
 * |d|. */
static void check_softmax(const struct kernels *kernels, const float *x, size_t n) {
    double log_sum = log_sum_of(x, n), top = max_of(x, n), worst = 0, sum = 0;
    float *p = guarded_copy(x, n);
    kernels->softmax(p, n);
    for (size_t i = 0; i < n; i++) {
        double relative = fabs((double)p[i] / exp((double)x[i] - log_sum) - 1);
        worst = worse(worst, relative / (SUM_TOLERANCE + 6e-8 * (top - (double)x[i])));
        sum += (double)p[i];
    }
    ck_assert_msg(worst < 1, "%s, n %zu: %g of the error allowed", kernels->name, n, worst);
    ck_assert_double_eq_tol(sum, 1, SUM_TOLERANCE);
    ck_assert(guards_intact(p, n));
    guarded_free(p);
}

START_TEST(softmax_of_every_size) {
    for_rows(kernel_set(_i), check_softmax);
}
END_TEST

START_TEST(softmax_of_nothing) {
    float *x = guarded(0);
    kernel_set(_i)->softmax(x, 0);
    ck_assert(guards_intact(x, 0));
    guarded_free(x);
}
END_TEST

/* softmax([0, x, x, ...]) shows exp(x) itself, but for two roundings of 6e-8 each. */
START_TEST(exp_within_softmax) {
    enum { COUNT = 38 };
    double worst = 0;
    for (float x = 0; x > -86; x -= 0.0037f) {
        float row[COUNT] = {0};
        for (size_t i = 1; i < COUNT; i++)
            row[i] = x;
        kernel_set(_i)->softmax(row, COUNT);
        for (size_t i = 1; i < COUNT; i += COUNT - 2)
            if (row[i] > FLT_MIN)
                worst = worse(worst, fabs((double)row[i] / (double)row[0] / exp((double)x) - 1));
    }
    ck_assert_msg(worst < 3e-7 + 1.2e-7, "relative error %g", worst);
}
END_TEST

/* Far below the greatest there is nothing, and no NaN. */
START_TEST(softmax_far_apart) {
    enum { COUNT = 35 };
    static const float far[] = {-88, -104, -1e4f, -FLT_MAX, -INFINITY};
    for (size_t f = 0; f < sizeof far / sizeof *far; f++) {
        float row[COUNT];
        for (size_t i = 0; i < COUNT; i++)
            row[i] = i == 7 ? 0 : far[f];
        kernel_set(_i)->softmax(row, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_float_eq_tol(row[i], i == 7 ? 1 : 0, 1e-36f);
    }
}
END_TEST

/* ---- the summary of a row ---- */

enum { MAX_BEST = 33 };
static const size_t best_counts[] = {0, 1, 5, MAX_BEST};

/* Places the greatest of all logits not yet chosen next, the first of equals. */
static size_t best_of(const float *x, size_t n, size_t k, struct ranked *best) {
    size_t count = 0;
    for (; count < k; count++) {
        struct ranked next = {.token = -1, .logit = -INFINITY};
        for (size_t i = 0; i < n; i++) {
            bool after = count == 0 || x[i] < best[count - 1].logit ||
                         (x[i] == best[count - 1].logit && (int)i > best[count - 1].token);
            if (after && x[i] > next.logit)
                next = (struct ranked){.token = (int)i, .logit = x[i]};
        }
        if (next.token < 0)
            break;
        best[count] = next;
    }
    return count;
}

/* The best k for each k, nothing written beyond. The sums are the same for all of them. */
static struct row_summary check_best(const struct kernels *kernels, const float *x, size_t n) {
    struct row_summary first = summarize(kernels, x, n, 0, NULL);
    ck_assert_uint_eq(first.count, 0);
    for (size_t c = 1; c < sizeof best_counts / sizeof *best_counts; c++) {
        struct ranked expected[MAX_BEST], found[MAX_BEST + 1];
        size_t k = best_counts[c], count = best_of(x, n, k, expected);
        found[k] = (struct ranked){.token = -7, .logit = 7};
        struct row_summary summary = summarize(kernels, x, n, k, found);
        ck_assert_msg(summary.count == count, "%s, n %zu: %zu of the best %zu, not %zu",
                      kernels->name, n, summary.count, k, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(found[i].token == expected[i].token &&
                              identical(&found[i].logit, &expected[i].logit, 1),
                          "%s, n %zu: place %zu of %zu is %d, not %d", kernels->name, n, i, k,
                          found[i].token, expected[i].token);
        ck_assert(found[k].token == -7);
        ck_assert(identical(&summary.log_sum, &first.log_sum, 1) &&
                  identical(&summary.entropy, &first.entropy, 1));
    }
    return first;
}

static void check_summary(const struct kernels *kernels, const float *x, size_t n) {
    double log_sum = log_sum_of(x, n), entropy = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] > -INFINITY)
            entropy -= exp((double)x[i] - log_sum) * ((double)x[i] - log_sum);
    struct row_summary summary = check_best(kernels, x, n);
    double error = fabs((double)summary.log_sum - log_sum);
    ck_assert_msg(error <= SUM_TOLERANCE * fmax(1, fabs(log_sum)), "%s, n %zu: log_sum off by %g",
                  kernels->name, n, error);
    error = fabs((double)summary.entropy - entropy);
    ck_assert_msg(error <= 3e-6, "%s, n %zu: entropy off by %g", kernels->name, n, error);
}

START_TEST(summary_of_every_size) {
    for_rows(kernel_set(_i), check_summary);
}
END_TEST

/* Longer than the kernel's pieces, by little and by much; rising, so that every piece outdoes the
 * ones before, falling, and equal.
 */
START_TEST(summary_of_long_rows) {
    static const size_t sizes[] = {255, 256, 257, 511, 512, 513, 1023, 1025, 5000, 70001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int slope = -1; slope <= 1; slope++) {
            float *x = noise(sizes[s], 2, (uint32_t)s);
            for (size_t i = 0; i < sizes[s]; i++)
                x[i] += (float)slope * 0.02f * (float)i;
            check_summary(kernel_set(_i), x, sizes[s]);
            free(x);
        }
}
END_TEST

/* A row that comes in parts has the same bits. */
START_TEST(summary_of_parts) {
    enum { COUNT = 2900 };
    const struct kernels *kernels = kernel_set(_i);
    float *x = noise(COUNT, 3, 17);
    for (size_t i = 0; i < COUNT; i += 3)
        x[i] = floorf(x[i]); /* some are equal */
    struct ranked whole[MAX_BEST], found[MAX_BEST];
    struct row_summary expected = summarize(kernels, x, COUNT, MAX_BEST, whole);
    for (size_t part = SUMMED_TOGETHER; part < COUNT; part += SUMMED_TOGETHER) {
        struct row_sums sums = row_sums_begin(MAX_BEST, found);
        for (size_t i = 0; i < COUNT; i += part)
            kernels->sum_row(&sums, x + i, COUNT - i < part ? COUNT - i : part);
        struct row_summary summary = kernels->summary(&sums);
        ck_assert(identical(&summary.log_sum, &expected.log_sum, 1) &&
                  identical(&summary.entropy, &expected.entropy, 1));
        ck_assert_uint_eq(summary.count, expected.count);
        for (size_t i = 0; i < expected.count; i++)
            ck_assert(found[i].token == whole[i].token &&
                      identical(&found[i].logit, &whole[i].logit, 1));
    }
    free(x);
}
END_TEST

/* Few different values: of equals the first count, in whatever piece they stand. */
START_TEST(summary_of_ties) {
    enum { COUNT = 1300 };
    float *x = noise(COUNT, 3, 5);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = floorf(x[i]);
    check_summary(kernel_set(_i), x, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i % 512 == 511 || i % 512 == 0 ? 1 : 0;
    check_summary(kernel_set(_i), x, COUNT);
    free(x);
}
END_TEST

/* The best wherever it stands. */
START_TEST(summary_finds_one) {
    enum { COUNT = 531 };
    for (size_t i = 0; i < COUNT; i++) {
        static float x[COUNT];
        x[i] = 3;
        check_best(kernel_set(_i), x, COUNT);
        x[i] = 0;
    }
}
END_TEST

/* Impossible tokens add nothing and are never among the best, even where nothing else is left. */
START_TEST(summary_with_impossible_tokens) {
    enum { COUNT = 1100 };
    float *x = noise(COUNT, 3, 8);
    struct ranked best[MAX_BEST];
    for (size_t i = 0; i < COUNT; i++)
        if (i < 600 || i % 3 == 0) /* the whole first piece */
            x[i] = -INFINITY;
    check_summary(kernel_set(_i), x, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i == 777 ? -1.5f : -INFINITY;
    check_summary(kernel_set(_i), x, COUNT);
    x[777] = -INFINITY;
    ck_assert_uint_eq(summarize(kernel_set(_i), x, COUNT, 5, best).count, 0);
    free(x);
}
END_TEST

/* A logit that is not a number makes the sums NaN and is not among the best. */
START_TEST(summary_with_nan) {
    enum { COUNT = 1037 };
    static const size_t places[] = {0, 5, 511, 512, 1030, COUNT - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        float *x = noise(COUNT, 3, 9);
        x[places[p]] = NAN;
        struct row_summary summary = check_best(kernel_set(_i), x, COUNT);
        ck_assert_float_nan(summary.log_sum);
        ck_assert_float_nan(summary.entropy);
        for (size_t i = 0; i < COUNT; i++)
            x[i] = NAN;
        struct ranked best[MAX_BEST];
        ck_assert_uint_eq(summarize(kernel_set(_i), x, COUNT, MAX_BEST, best).count, 0);
        free(x);
    }
}
END_TEST

START_TEST(summary_of_one_logit) {
    static const float logits[] = {0, -0.5f, 1e4f, -1e4f, FLT_MAX, -FLT_MAX};
    for (size_t i = 0; i < sizeof logits / sizeof *logits; i++) {
        struct row_summary summary = check_best(kernel_set(_i), logits + i, 1);
        ck_assert_float_eq(summary.log_sum, logits[i]);
        ck_assert_float_eq(summary.entropy, 0);
    }
}
END_TEST

START_TEST(summary_of_equal_logits) {
    static float logits[1000];
    for (size_t i = 0; i < 1000; i++)
        logits[i] = -3.25f;
    for (size_t n = 1; n > 0; n = next_size(n)) {
        struct row_summary summary = check_best(kernel_set(_i), logits, n);
        ck_assert_float_eq_tol(summary.entropy, logf((float)n), 1e-6f);
        ck_assert_float_eq_tol(summary.log_sum, logf((float)n) - 3.25f, 1e-6f);
    }
}
END_TEST

TCase *softmax_cases(void) {
    TCase *cases = tcase_create("softmax");
    int sets = kernel_sets();
    tcase_add_loop_test(cases, softmax_of_every_size, 0, sets);
    tcase_add_loop_test(cases, softmax_of_nothing, 0, sets);
    tcase_add_loop_test(cases, exp_within_softmax, 0, sets);
    tcase_add_loop_test(cases, softmax_far_apart, 0, sets);
    tcase_add_loop_test(cases, summary_of_every_size, 0, sets);
    tcase_add_loop_test(cases, summary_of_long_rows, 0, sets);
    tcase_add_loop_test(cases, summary_of_parts, 0, sets);
    tcase_add_loop_test(cases, summary_of_ties, 0, sets);
    tcase_add_loop_test(cases, summary_finds_one, 0, sets);
    tcase_add_loop_test(cases, summary_with_impossible_tokens, 0, sets);
    tcase_add_loop_test(cases, summary_with_nan, 0, sets);
    tcase_add_loop_test(cases, summary_of_one_logit, 0, sets);
    tcase_add_loop_test(cases, summary_of_equal_logits, 0, sets);
    tcase_set_timeout(cases, 60); /* under a sanitizer or valgrind */
    return cases;
}
