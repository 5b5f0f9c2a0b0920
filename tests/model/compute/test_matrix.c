/* One struct linear, two ways to multiply: OpenBLAS on the weights as they are, and the packed
 * kernels. */
#include "model/compute/matrix.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Every instruction set, and after them OpenBLAS. */
static int backends(void) {
    return kernel_sets() + 1;
}

static struct backend backend_at(int index) {
    blas_load();
    ck_assert_ptr_nonnull(blas_get());
    bool blas = index == kernel_sets();
    return (struct backend){.kernels = blas ? &kernels_generic : kernel_set(index),
                            .blas = blas ? blas_get() : NULL};
}

static const char *backend_name(const struct backend *backend) {
    return backend->blas ? "OpenBLAS" : backend->kernels->name;
}

static int make(struct linear *linear, const float *weight, const float *bias, size_t out,
                size_t in, const struct backend *backend) {
    struct linear_source source = {.weight = weight, .bias = bias, .out = out, .in = in};
    return linear_init(linear, &source, backend, NULL);
}

/* The largest difference from double precision, relative to the answer or to 1, whichever is more.
 */
static double apply_error(const struct backend *backend, size_t rows, size_t out, size_t in,
                          bool with_bias) {
    struct linear linear = {0};
    size_t ldx = in + 2, ldy = out + 3, floats = (rows - 1) * ldy + out;
    float *weight = noise(out * in, 1, 1), *bias = with_bias ? noise(out, 1, 2) : NULL,
          *x = noise(rows * ldx, 1, 3), *y = guarded(floats);
    ck_assert_int_eq(make(&linear, weight, bias, out, in, backend), 0);
    linear_apply(&linear, x, ldx, rows, y, ldy);
    double worst = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < out; j++) {
            double sum = bias ? (double)bias[j] : 0;
            for (size_t k = 0; k < in; k++)
                sum += (double)weight[j * in + k] * (double)x[r * ldx + k];
            worst = worse(worst, fabs((double)y[r * ldy + j] - sum) / fmax(1, fabs(sum)));
        }
    ck_assert(guards_intact(y, floats));
    for (size_t r = 0; r + 1 < rows; r++)
        ck_assert(untouched(y + r * ldy + out, ldy - out));
    linear_done(&linear);
    guarded_free(y);
    free(x);
    free(bias);
    free(weight);
    return worst;
}

START_TEST(apply_gives_the_product) {
    static const size_t shapes[][3] = {{1, 1, 1},    {1, 100, 70}, {1, 3, 200},    {2, 17, 5},
                                       {3, 48, 33},  {4, 256, 64}, {7, 33, 1},     {8, 1, 90},
                                       {31, 50, 40}, {65, 97, 70}, {33, 1030, 300}};
    struct backend backend = backend_at(_i);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int with_bias = 0; with_bias < 2; with_bias++) {
            size_t rows = shapes[i][0], out = shapes[i][1], in = shapes[i][2];
            double error = apply_error(&backend, rows, out, in, with_bias != 0);
            ck_assert_msg(error < 1e-5, "%s, %zu rows, %zu x %zu: error %g", backend_name(&backend),
                          rows, out, in, error);
        }
}
END_TEST

/* By panels and by pieces of them, whose last one is shorter, with sums of several groups of
 * panels. */
START_TEST(a_row_has_its_bits_in_any_company) {
    enum { IN = 300, OUT = 1030, MOST = 150 };
    static const size_t row_counts[] = {2, 3, 8, 9, 33, 49, MOST};
    float *weight = noise(OUT * IN, 1, 1), *bias = noise(OUT, 1, 2), *x = noise(MOST * IN, 1, 3),
          *alone = guarded(MOST * OUT), *y = guarded(MOST * OUT);
    struct backend backend = backend_at(_i);
    for (backend.compute = 0; backend.compute < COMPUTE_TYPES; backend.compute++) {
        struct linear linear;
        ck_assert_int_eq(make(&linear, weight, bias, OUT, IN, &backend), 0);
        for (size_t r = 0; linear.packed && r < MOST; r++)
            linear_apply(&linear, x + r * IN, IN, 1, alone + r * OUT, OUT);
        for (size_t n = 0; linear.packed && n < sizeof row_counts / sizeof *row_counts; n++) {
            size_t rows = row_counts[n];
            memset(y, 0xff, MOST * OUT * sizeof *y); /* no value of a smaller company stays */
            linear_apply(&linear, x, IN, rows, y, OUT);
            ck_assert_msg(memcmp(y, alone, rows * OUT * sizeof *y) == 0, "%s %s, %zu rows",
                          backend_name(&backend), compute_name(backend.compute), rows);
        }
        linear_done(&linear);
    }
    ck_assert(guards_intact(y, MOST * OUT) && guards_intact(alone, MOST * OUT));
    guarded_free(y);
    guarded_free(alone);
    free(x);
    free(bias);
    free(weight);
}
END_TEST

/* Whole and narrow panels, one row, blocks of rows and tiles; the last row is NaN in each compute
 * type. */
START_TEST(relu_raises_the_product) {
    enum { OUT = 130, IN = 64, MOST = 21 };
    float *weight = noise(OUT * IN, 1, 1), *bias = noise(OUT, 1, 2), *x = noise(MOST * IN, 1, 3),
          y[MOST * OUT], raised[MOST * OUT];
    struct backend backend = backend_at(_i);
    x[MOST * IN - 1] = NAN;
    for (backend.compute = 0; backend.compute < COMPUTE_TYPES; backend.compute++) {
        struct linear linear = {0};
        ck_assert_int_eq(make(&linear, weight, bias, OUT, IN, &backend), 0);
        for (size_t rows = 1; rows <= MOST; rows++) {
            const float *first = x + (MOST - rows) * IN;
            linear_apply(&linear, first, IN, rows, y, OUT);
            linear_apply_all(
                &(struct linear_output){.linear = &linear, .y = raised, .ldy = OUT, .relu = true},
                1, first, IN, rows);
            for (size_t i = 0; i < rows * OUT; i++) {
                bool fits = isnan(y[i]) ? isnan(raised[i]) : raised[i] == (y[i] < 0 ? 0 : y[i]);
                ck_assert_msg(fits, "%s %s, %zu rows, %zu: %g became %g", backend_name(&backend),
                              compute_name(backend.compute), rows, i, (double)y[i],
                              (double)raised[i]);
            }
            ck_assert_float_nan(raised[rows * OUT - 1]);
        }
        linear_done(&linear);
    }
    free(x);
    free(bias);
    free(weight);
}
END_TEST

/* Makes a linear and returns its weights, which may be freed after it. */
static float *make_stored(struct linear *linear, const struct backend *backend, size_t out,
                          size_t in, float input_scale, enum stored stored) {
    float *weight = noise(out * in, 1, (uint32_t)(out + in));
    struct linear_source source = {
        .weight = weight, .out = out, .in = in, .stored = stored, .input_scale = input_scale};
    ck_assert_int_eq(linear_init(linear, &source, backend, NULL), 0);
    return weight;
}

static float *make_scaled(struct linear *linear, const struct backend *backend, size_t out,
                          size_t in, float input_scale) {
    return make_stored(linear, backend, out, in, input_scale, STORED_FLOAT32);
}

/* Each output has the bits that its linear gives alone: also with more rows than int8 rounds at a
 * time, a row that is not finite, different input scales, and weights that are stored in different
 * types, which are packed differently in float32. */
START_TEST(linears_of_the_same_rows_give_what_each_gives) {
    enum { IN = 64, OUT = 50, ROWS = 300 };
    static const float input_scales[][LINEAR_OUTPUTS] = {
        {0, 0, 0}, {30, 30, 30}, {30, 30, 40}, {0, 30, 0}};
    static const size_t row_counts[] = {1, 2, 3, 17, ROWS};
    float *x = noise((size_t)ROWS * IN, 1, 3), *alone = guarded(ROWS * OUT), *y[LINEAR_OUTPUTS];
    for (size_t i = 0; i < LINEAR_OUTPUTS; i++)
        y[i] = guarded(ROWS * OUT);
    x[0] = NAN;
    struct backend backend = backend_at(_i);
    for (backend.compute = 0; backend.compute < COMPUTE_TYPES; backend.compute++)
        for (size_t s = 0; s < sizeof input_scales / sizeof *input_scales; s++) {
            struct linear linears[LINEAR_OUTPUTS];
            float *weights[LINEAR_OUTPUTS];
            struct linear_output outputs[LINEAR_OUTPUTS];
            for (size_t i = 0; i < LINEAR_OUTPUTS; i++) {
                weights[i] = make_stored(&linears[i], &backend, OUT - i, IN, input_scales[s][i],
                                         s > 0 && i == 1 ? STORED_FLOAT16 : STORED_FLOAT32);
                outputs[i] = (struct linear_output){
                    .linear = &linears[i], .y = y[i], .ldy = OUT, .relu = i == 1};
            }
            for (size_t n = 0; n < sizeof row_counts / sizeof *row_counts; n++) {
                size_t rows = row_counts[n];
                linear_apply_all(outputs, LINEAR_OUTPUTS, x, IN, rows);
                for (size_t i = 0; i < LINEAR_OUTPUTS; i++) {
                    linear_apply_all(
                        &(struct linear_output){
                            .linear = &linears[i], .y = alone, .ldy = OUT, .relu = i == 1},
                        1, x, IN, rows);
                    for (size_t r = 0; r < rows; r++)
                        ck_assert_mem_eq(y[i] + r * OUT, alone + r * OUT,
                                         (OUT - i) * sizeof *alone);
                }
            }
            for (size_t i = 0; i < LINEAR_OUTPUTS; i++) {
                linear_done(&linears[i]);
                free(weights[i]);
            }
        }
    for (size_t i = 0; i < LINEAR_OUTPUTS; i++) {
        ck_assert(guards_intact(y[i], ROWS * OUT));
        guarded_free(y[i]);
    }
    guarded_free(alone);
    free(x);
}
END_TEST

/* Also of middles that do not fill their last panel or group, of more rows than int8 rounds at a
 * time, and of values that are not finite; y may take the place of x. */
START_TEST(two_linears_in_a_row_give_what_each_gives) {
    enum { IN = 64, OUT = IN, MOST = 200, ROWS = 300 };
    static const size_t row_counts[] = {1, 2, 9, 17, ROWS}, middles[] = {192, 128, 100, 50, 2};
    static const float input_scales[] = {0, 25};
    float *x = noise((size_t)ROWS * IN, 1, 3), *wide = guarded(ROWS * MOST),
          *twice = guarded(ROWS * OUT), *y = guarded(ROWS * OUT);
    x[0] = NAN;
    x[IN] = INFINITY;
    struct backend backend = backend_at(_i);
    for (backend.compute = 0; backend.compute < COMPUTE_TYPES; backend.compute++)
        for (size_t m = 0; m < sizeof middles / sizeof *middles; m++)
            for (size_t s = 0; s < 4; s++) {
                struct linear inner, outer;
                float *weights[] = {
                    make_scaled(&inner, &backend, middles[m], IN, input_scales[s / 2]),
                    make_scaled(&outer, &backend, OUT, middles[m], input_scales[s % 2])};
                for (size_t n = 0; n < sizeof row_counts / sizeof *row_counts; n++) {
                    size_t rows = row_counts[n];
                    linear_apply_all(
                        &(struct linear_output){
                            .linear = &inner, .y = wide, .ldy = middles[m], .relu = true},
                        1, x, IN, rows);
                    linear_apply(&outer, wide, middles[m], rows, y, OUT);
                    memcpy(twice, x, rows * IN * sizeof *x);
                    linear_apply_twice(&inner, &outer, n % 2 ? twice : x, rows, wide, twice);
                    ck_assert_msg(memcmp(y, twice, rows * OUT * sizeof *y) == 0,
                                  "%s %s, %zu rows, a middle of %zu, scales %g and %g",
                                  backend_name(&backend), compute_name(backend.compute), rows,
                                  middles[m], (double)input_scales[s / 2],
                                  (double)input_scales[s % 2]);
                }
                linear_done(&inner);
                linear_done(&outer);
                free(weights[0]);
                free(weights[1]);
            }
    ck_assert(guards_intact(wide, ROWS * MOST) && guards_intact(twice, ROWS * OUT));
    guarded_free(y);
    guarded_free(twice);
    guarded_free(wide);
    free(x);
}
END_TEST

START_TEST(only_openblas_leaves_the_weights_unpacked) {
    static const float weight[] = {1, 2, 3, 4};
    struct linear linear = {0};
    struct backend backend = backend_at(_i);
    ck_assert_int_eq(make(&linear, weight, NULL, 2, 2, &backend), 0);
    ck_assert_int_eq(linear.packed == NULL, backend.blas != NULL);
    ck_assert_ptr_null(linear.rows); /* kept only for lookups */
    linear_done(&linear);
}
END_TEST

START_TEST(lookups_give_parts_of_the_product) {
    enum { OUT = 70, IN = 40 };
    static const int ids[] = {3, 0, 69, 3, 40};
    float *weight = noise((size_t)OUT * IN, 1, 1), *bias = noise(OUT, 1, 2), *x = noise(IN, 1, 3),
          whole[OUT], y[5];
    for (enum compute compute = 0; compute < COMPUTE_TYPES; compute++) {
        struct linear linear = {0};
        struct backend backend = backend_at(_i);
        backend.compute = compute;
        struct linear_source source = {
            .weight = weight, .bias = bias, .out = OUT, .in = IN, .lookups = true};
        ck_assert_int_eq(linear_init(&linear, &source, &backend, NULL), 0);
        linear_apply(&linear, x, IN, 1, whole, OUT);
        linear_look_up(&linear, x, ids, 5, y);
        for (size_t i = 0; i < 5; i++)
            ck_assert_float_eq_tol(y[i], whole[ids[i]], 1e-5f);
        linear_done(&linear);
        ck_assert_ptr_null(linear.rows);
    }
    free(x);
    free(bias);
    free(weight);
}
END_TEST

START_TEST(no_rows_write_nothing) {
    static const float weight[] = {1, 2, 3, 4}, bias[] = {5, 6};
    struct linear linear = {0};
    struct backend backend = backend_at(_i);
    float *y = guarded(2);
    ck_assert_int_eq(make(&linear, weight, bias, 2, 2, &backend), 0);
    linear_apply(&linear, weight, 2, 0, y, 2);
    ck_assert(untouched(y, 2) && guards_intact(y, 2));
    linear_done(&linear);
    guarded_free(y);
}
END_TEST

/* weights_get has said why. */
START_TEST(missing_weight_fails_without_a_word) {
    struct linear linear = {0};
    struct error err = {0};
    struct backend backend = backend_at(_i);
    ck_assert_int_eq(
        linear_init(&linear, &(struct linear_source){.out = 2, .in = 3}, &backend, &err), -1);
    ck_assert_int_eq(err.code, ERROR_NONE);
    ck_assert_uint_eq(linear.out, 0);
    ck_assert_ptr_null(linear.packed);
    linear_done(&linear);
}
END_TEST

START_TEST(done_leaves_zeros) {
    static const float weight[] = {1, 2, 3, 4};
    struct linear linear = {0};
    struct backend backend = backend_at(_i);
    linear_done(&linear);
    ck_assert_int_eq(make(&linear, weight, NULL, 2, 2, &backend), 0);
    linear_done(&linear);
    ck_assert_uint_eq(linear.out, 0);
    ck_assert_ptr_null(linear.packed);
    linear_done(&linear);
}
END_TEST

static long threads(void) {
    char line[256];
    long count = 0;
    FILE *status = fopen("/proc/self/status", "re");
    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %ld", &count) == 1)
            break;
    fclose(status);
    return count;
}

/* However many the library would start by itself: no variable names a number, or one names many. */
START_TEST(openblas_starts_no_thread) {
    static float x[64 * 512], w[512 * 512], y[64 * 512];
    if (_i == 0)
        unsetenv("OPENBLAS_NUM_THREADS");
    else
        setenv("OPENBLAS_NUM_THREADS", "8", 1);
    long before = threads(); /* sanitizers have one */
    blas_load();
    ck_assert_ptr_nonnull(blas_get());
    struct linear linear;
    ck_assert_int_eq(make(&linear, w, NULL, 512, 512,
                          &(struct backend){.kernels = &kernels_generic, .blas = blas_get()}),
                     0);
    ck_assert_ptr_nonnull(linear.blas);
    linear_apply(&linear, x, 512, 64, y, 512);
    linear_done(&linear);
    ck_assert_int_eq(threads(), before);
}
END_TEST

/* There it would look for its buffers for ever. */
START_TEST(openblas_is_not_for_limited_space) {
    struct rlimit limit = {.rlim_cur = 1L << 60,
                           .rlim_max = RLIM_INFINITY}; /* sanitizers map terabytes */
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return; /* QEMU sets none */
    blas_load();
    ck_assert_ptr_null(blas_get());
}
END_TEST

Suite *matrix_suite(void) {
    Suite *suite = suite_create("matrix");
    TCase *cases = tcase_create("linear");
    tcase_add_loop_test(cases, apply_gives_the_product, 0, backends());
    tcase_add_loop_test(cases, a_row_has_its_bits_in_any_company, 0, backends());
    tcase_add_loop_test(cases, relu_raises_the_product, 0, backends());
    tcase_add_loop_test(cases, linears_of_the_same_rows_give_what_each_gives, 0, backends());
    tcase_add_loop_test(cases, two_linears_in_a_row_give_what_each_gives, 0, backends());
    tcase_add_loop_test(cases, only_openblas_leaves_the_weights_unpacked, 0, backends());
    tcase_add_loop_test(cases, lookups_give_parts_of_the_product, 0, backends());
    tcase_add_loop_test(cases, no_rows_write_nothing, 0, backends());
    tcase_add_loop_test(cases, missing_weight_fails_without_a_word, 0, backends());
    tcase_add_loop_test(cases, done_leaves_zeros, 0, backends());
    tcase_add_loop_test(cases, openblas_starts_no_thread, 0, 2);
    tcase_add_test(cases, openblas_is_not_for_limited_space);
    suite_add_tcase(suite, cases);
    return suite;
}
