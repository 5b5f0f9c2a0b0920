#include "model/compute/matrix.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6 };
static const size_t sizes[SIZES] = {
    1, 64, 100000, 9 << 20, 65, 8 << 20}; /* some larger than a block, some that do not fit after */

/* Nothing lies in anything else: each keeps what was written over all of it. */
START_TEST(all_of_it_is_ones_own) {
    struct pages pages = {0};
    unsigned char *each[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        each[i] = pages_alloc(&pages, sizes[i]);
        ck_assert_ptr_nonnull(each[i]);
        ck_assert_uint_eq((uintptr_t)each[i] % 64, 0);
        memset(each[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < SIZES; i++)
        for (size_t at = 0; at < sizes[i]; at += 61)
            ck_assert_uint_eq(each[i][at], i + 1);
    pages_done(&pages);
}
END_TEST

/* Small blocks are adjacent. */
START_TEST(blocks_are_shared) {
    struct pages pages = {0};
    char *first = pages_alloc(&pages, 1000), *second = pages_alloc(&pages, 1000);
    ck_assert_ptr_eq(second, first + 1024);
    pages_done(&pages);
}
END_TEST

/* What does not fit into the last block goes into an earlier one that has room. */
START_TEST(blocks_are_filled) {
    struct pages pages = {0};
    char *first = pages_alloc(&pages, 6 << 20), *second = pages_alloc(&pages, 15 << 20),
         *third = pages_alloc(&pages, 3 << 19);
    ck_assert(first && second);
    ck_assert_ptr_eq(third, first + (6 << 20));
    pages_done(&pages);
}
END_TEST

START_TEST(more_than_there_is) {
    struct pages pages = {0};
    ck_assert_ptr_null(pages_alloc(&pages, SIZE_MAX));
    ck_assert_ptr_null(pages_alloc(&pages, SIZE_MAX - 64));
    ck_assert_ptr_null(pages_alloc(&pages, SIZE_MAX / 2));
    ck_assert_ptr_nonnull(pages_alloc(&pages, 10));
    pages_done(&pages);
    pages_done(&pages);
}
END_TEST

/* Of a matrix in pages the product is the same, and so are the lookups; it goes with them. */
START_TEST(matrices_in_pages) {
    enum { OUT = 50, IN = 30 };
    static const int ids[] = {3, 49, 0};
    struct pages pages = {0};
    struct backend backends[] = {backend_choose(), backend_choose()};
    float *weight = noise(OUT * IN, 1, 1), *x = noise(IN, 1, 2), y[2][OUT], picked[2][3];
    backends[1].pages = &pages;
    for (size_t i = 0; i < 2; i++) {
        struct linear linear;
        backends[i].compute = COMPUTE_INT8;
        struct linear_source source = {.weight = weight, .out = OUT, .in = IN, .lookups = true};
        ck_assert_int_eq(linear_init(&linear, &source, &backends[i], NULL), 0);
        linear_apply(&linear, x, IN, 1, y[i], OUT);
        linear_look_up(&linear, x, ids, 3, picked[i]);
        linear_done(&linear);
    }
    ck_assert(identical(y[0], y[1], OUT) && identical(picked[0], picked[1], 3));
    ck_assert_ptr_nonnull(pages.last);
    pages_done(&pages);
    free(weight);
    free(x);
}
END_TEST

Suite *pages_suite(void) {
    Suite *suite = suite_create("pages");
    TCase *cases = tcase_create("pages");
    tcase_add_test(cases, all_of_it_is_ones_own);
    tcase_add_test(cases, blocks_are_shared);
    tcase_add_test(cases, blocks_are_filled);
    tcase_add_test(cases, more_than_there_is);
    tcase_add_test(cases, matrices_in_pages);
    suite_add_tcase(suite, cases);
    return suite;
}
