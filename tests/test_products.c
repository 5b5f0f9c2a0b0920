/* The packed products of every instruction set that this processor runs. Part of the kernels' suite. */
#include "model/kernels.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdlib.h>

/* x [rows, in], ldx floats from row to row; weight [out, in]; bias [out] or NULL. */
struct example {
    size_t rows, out, in, ldx, ldy;
    float *x, *weight, *bias, *packed;
};

/* What lies between the rows of x is NaN: to read it would show. */
static struct example example_create(const struct kernels *kernels, size_t rows, size_t out, size_t in, bool with_bias) {
    struct example p = {.rows = rows, .out = out, .in = in, .ldx = in + rows % 3, .ldy = out + rows % 5};
    p.x = noise((rows - 1) * p.ldx + in, 1, (uint32_t)(rows + out));
    for (size_t i = 0; i < (rows - 1) * p.ldx; i++)
        if (i % p.ldx >= in)
            p.x[i] = NAN;
    p.weight = noise(out * in, 1, (uint32_t)(out * 100 + in));
    p.bias = with_bias ? noise(out, 1, (uint32_t)in) : NULL;
    size_t room = kernels->packings->float32.bytes(out, in) / sizeof(float);
    p.packed = guarded(room);
    kernels->packings->float32.pack(p.weight, out, in, p.packed);
    ck_assert(guards_intact(p.packed, room));
    return p;
}

static void example_done(struct example *p) {
    guarded_free(p->packed);
    free(p->bias);
    free(p->weight);
    free(p->x);
}

/* Rounding grows with the terms: the share, at y[r][j], of an error of 1e-6 of the sum of their magnitudes. */
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
static void multiply(const struct kernels *kernels, const struct example *p, size_t first, size_t rows, float *y, size_t ldy) {
    kernels->packings->float32.multiply(&(struct product){.packed = p->packed,
                                                          .bias = p->bias,
                                                          .out = p->out,
                                                          .in = p->in,
                                                          .x = p->x + first * p->ldx,
                                                          .ldx = p->ldx,
                                                          .rows = rows,
                                                          .y = y,
                                                          .ldy = ldy});
}

static void check_product(const struct kernels *kernels, size_t rows, size_t out, size_t in, bool with_bias) {
    struct example p = example_create(kernels, rows, out, in, with_bias);
    size_t floats = (rows - 1) * p.ldy + out;
    float *y = guarded(floats);
    multiply(kernels, &p, 0, rows, y, p.ldy);
    double worst = 0;
    bool intact = guards_intact(y, floats);
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < out; j++)
            worst = worse(worst, product_error(&p, r, j, y[r * p.ldy + j]));
        intact = intact && (r + 1 == rows || untouched(y + r * p.ldy + out, p.ldy - out));
    }
    ck_assert_msg(worst < 1, "%s, %zu rows, %zu x %zu: %g of the error allowed", kernels->name, rows, out, in, worst);
    ck_assert_msg(intact, "%s, %zu rows, %zu x %zu: written outside", kernels->name, rows, out, in);
    guarded_free(y);
    example_done(&p);
}

START_TEST(any_number_of_rows) {
    for (size_t rows = 1; rows <= 70; rows++) {
        check_product(kernel_set(_i), rows, 1 + rows * 37 % 100, 1 + rows * 53 % 70, rows % 2 == 0);
        check_product(kernel_set(_i), rows, 96, 64, true);
        check_product(kernel_set(_i), rows, 49, 1, false);
    }
}
END_TEST

START_TEST(any_number_of_columns) {
    static const size_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 17};
    for (size_t out = 1; out <= 100; out++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check_product(kernel_set(_i), rows[i], out, 1 + (out * 29 + i) % 70, (out + i) % 2 == 0);
}
END_TEST

START_TEST(any_number_of_inputs) {
    for (size_t in = 1; in <= 70; in++)
        for (size_t rows = 1; rows <= 9; rows++)
            check_product(kernel_set(_i), rows, 1 + in * 31 % 100, in, (in + rows) % 2 == 0);
}
END_TEST

START_TEST(no_rows) {
    struct example p = example_create(kernel_set(_i), 1, 20, 10, true);
    float *y = guarded(20);
    multiply(kernel_set(_i), &p, 0, 0, y, p.ldy);
    ck_assert(untouched(y, 20) && guards_intact(y, 20));
    guarded_free(y);
    example_done(&p);
}
END_TEST

/* A row's result has the same bits whatever rows are beside it. */
START_TEST(each_row_as_if_alone) {
    static const size_t outs[] = {1, 7, 16, 48, 97, 100, 200}, ins[] = {1, 3, 16, 70, 33, 64, 47};
    enum { ROWS = 70 };
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        const struct kernels *kernels = kernel_set(_i);
        size_t out = outs[i], in = ins[i];
        struct example p = example_create(kernels, ROWS, out, in, i % 2 == 0);
        float *alone = guarded(ROWS * out), *together = guarded(ROWS * out);
        for (size_t r = 0; r < ROWS; r++)
            multiply(kernels, &p, r, 1, alone + r * out, out);
        for (size_t rows = 1; rows <= ROWS; rows++) {
            size_t first = ROWS - rows;
            multiply(kernels, &p, first, rows, together, out);
            ck_assert_msg(identical(together, alone + first * out, rows * out), "%s, %zu rows, %zu x %zu", kernels->name, rows, out,
                          in);
        }
        guarded_free(together);
        guarded_free(alone);
        example_done(&p);
    }
}
END_TEST

TCase *products_cases(void) {
    TCase *cases = tcase_create("products");
    int sets = kernel_sets();
    tcase_add_loop_test(cases, any_number_of_rows, 0, sets);
    tcase_add_loop_test(cases, any_number_of_columns, 0, sets);
    tcase_add_loop_test(cases, any_number_of_inputs, 0, sets);
    tcase_add_loop_test(cases, no_rows, 0, sets);
    tcase_add_loop_test(cases, each_row_as_if_alone, 0, sets);
    tcase_set_timeout(cases, 60); /* under a sanitizer or valgrind */
    return cases;
}
