/* server/api_splice: what is written equals the tree with its numbers in place. */
#include "server/api/api_splice.h"
#include "tests/suites.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static struct arena arena;
static struct splices splices;

static void setup(void) {
    arena_init(&arena, 1024);
    splices = (struct splices){.arena = &arena};
}

static void teardown(void) {
    arena_done(&arena);
}

static void expect_dump(json_t *root, const char *expected) {
    char *json = splice_dump(&splices, root);
    ck_assert_str_eq(json, expected);
    free(json);
    json_decref(root);
}

START_TEST(a_tree_without_numbers_is_dumped) {
    expect_dump(json_pack("{s:s, s:n, s:f}", "a", "b", "c", "d", 0.123456789), "{\"a\":\"b\",\"c\":null,\"d\":0.123457}");
}
END_TEST

START_TEST(numbers_take_their_places) {
    json_t *empty = splice_numbers(&splices, NULL, 0);
    json_t *one = splice_numbers(&splices, (const float[]){0.25f}, 1);
    json_t *three = splice_numbers(&splices, (const float[]){1, -2e-7f, 3.5f}, 3);
    expect_dump(json_pack("{s:[o, o], s:o}", "rows", three, empty, "last", one), "{\"rows\":[[1.0,-2e-7,3.5],[]],\"last\":[0.25]}");
}
END_TEST

/* Nor does it matter when the text has to move. */
START_TEST(the_order_of_making_does_not_matter) {
    enum { COUNT = 3000 };
    json_t *array = json_array();
    for (size_t i = 0; i < COUNT; i++) {
        float value = (float)i;
        ck_assert_int_eq(json_array_insert_new(array, 0, splice_numbers(&splices, &value, 1)), 0);
    }
    char *json = splice_dump(&splices, array);
    json_decref(array);
    array = json_loads(json, 0, NULL);
    free(json);
    ck_assert_uint_eq(json_array_size(array), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_double_eq(json_real_value(json_array_get(json_array_get(array, i), 0)), (double)(COUNT - 1 - i));
    json_decref(array);
}
END_TEST

/* Whatever a client sends is within strings, keys included. */
START_TEST(texts_are_not_placeholders) {
    static const char *const texts[] = {
        "null", "[null,0]",     "\"[null,0]",     "\\\"[null,0]",       "\\", "\\\\", "\"",
        "\"\"", "\"[null,0]\"", "\",[null,0],\"", "\x01\x1f\n[null,0]", "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        splices.count = splices.length = 0;
        float value = 0.5f;
        json_t *numbers = splice_numbers(&splices, &value, 1);
        json_t *root = json_pack("[{s:s}, o, s]", texts[i], texts[i], numbers, texts[i]);
        char *json = splice_dump(&splices, root);
        json_array_set_new(root, 1, json_pack("[f]", 0.5));
        json_t *read = json_loads(json, 0, NULL);
        ck_assert_msg(read && json_equal(read, root), "%s", json);
        json_decref(read);
        json_decref(root);
        free(json);
    }
}
END_TEST

START_TEST(numbers_that_json_lacks_are_refused) {
    ck_assert_ptr_null(splice_numbers(&splices, (const float[]){1, NAN}, 2));
    ck_assert_ptr_null(splice_numbers(&splices, (const float[]){INFINITY}, 1));
    ck_assert_ptr_null(splice_numbers(&splices, (const float[]){-INFINITY}, 1));
    expect_dump(json_pack("[o]", splice_numbers(&splices, (const float[]){2}, 1)), "[[2.0]]");
}
END_TEST

/* Memory that jansson wanted while the tree was built is missing in it: once, nothing is written. */
START_TEST(lacking_memory_shows) {
    splice_init();
    ck_assert(!splice_lacked());
    json_t *root = json_array();
    ck_assert_ptr_null(json_stringn_nocheck("", (size_t)PTRDIFF_MAX));
    json_array_append_new(root, json_string("kept"));
    ck_assert_ptr_null(splice_dump(&splices, root));
    expect_dump(root, "[\"kept\"]");
    ck_assert_ptr_null(json_stringn_nocheck("", (size_t)PTRDIFF_MAX));
    ck_assert(splice_lacked());
    ck_assert(!splice_lacked());
    ck_assert_ptr_null(splice_dump(&splices, NULL));
}
END_TEST

Suite *api_splice_suite(void) {
    Suite *suite = suite_create("api_splice");
    TCase *tests = tcase_create("api_splice");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_tree_without_numbers_is_dumped);
    tcase_add_test(tests, numbers_take_their_places);
    tcase_add_test(tests, the_order_of_making_does_not_matter);
    tcase_add_test(tests, texts_are_not_placeholders);
    tcase_add_test(tests, numbers_that_json_lacks_are_refused);
    tcase_add_test(tests, lacking_memory_shows);
    suite_add_tcase(suite, tests);
    return suite;
}
