/* server/base/strings against jansson's dump: the same bytes; failures stick. */
#include "model/translator.h"
#include "server/base/strings.h"
#include "tests/suites.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct writer w;

static void setup(void) {
    w = (struct writer){.most = SIZE_MAX};
}

static void teardown(void) {
    writer_done(&w);
}

/* Takes over root. The writer begins anew. */
static void expect_tree(json_t *root) {
    char *written = writer_take(&w),
         *dumped =
             json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DECIMAL_DIGITS));
    ck_assert_ptr_nonnull(dumped);
    ck_assert_str_eq(written, dumped);
    free(written);
    free(dumped);
    json_decref(root);
}

START_TEST(values_and_nesting) {
    const float numbers[] = {1, -2e-7f, 3.5f};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "string", "a", "other", "\"", NULL);
    writer_begin_array(&w, "array");
    writer_integer(&w, NULL, 1);
    writer_null(&w, NULL);
    writer_boolean(&w, NULL, true);
    writer_begin_object(&w, NULL);
    writer_end_object(&w);
    writer_begin_array(&w, NULL);
    writer_end_array(&w);
    writer_numbers(&w, NULL, numbers, 3, DECIMAL_DIGITS);
    writer_numbers(&w, NULL, NULL, 0, DECIMAL_DIGITS);
    writer_end_array(&w);
    writer_boolean(&w, "boolean", false);
    writer_json(&w, "json", "{\"a\":[]}");
    writer_number(&w, "number", -0.25);
    writer_end_object(&w);
    expect_tree(json_pack("{s:s, s:s, s:[i, n, b, {}, [], [f, f, f], []], s:b, s:{s:[]}, s:f}",
                          "string", "a", "other", "\"", "array", 1, 1, 1.0, (double)-2e-7f, 3.5,
                          "boolean", 0, "json", "a", "number", -0.25));
}
END_TEST

START_TEST(deep_nesting) {
    json_t *root = json_integer(7);
    for (int i = 0; i < WRITER_DEPTH; i++)
        root = i % 2 == 0 ? json_pack("[o]", root) : json_pack("{s:o}", "k", root);
    for (int i = WRITER_DEPTH; i-- > 0;)
        i % 2 == 0 ? writer_begin_array(&w, i + 1 < WRITER_DEPTH ? "k" : NULL)
                   : writer_begin_object(&w, NULL);
    writer_integer(&w, NULL, 7);
    for (int i = 0; i < WRITER_DEPTH; i++)
        i % 2 == 0 ? writer_end_array(&w) : writer_end_object(&w);
    expect_tree(root);
}
END_TEST

/* Every character of the first planes' ends, and each control character. */
START_TEST(escapes) {
    for (int32_t character = 0; character < 0x110000; character += character < 0x3000 ? 1 : 0xFF) {
        char text[16] = "a";
        if (character >= 0xD800 && character < 0xE000)
            continue;
        size_t length = 1 + character_put(character, text + 1);
        text[length++] = 'b';
        writer_string_of(&w, NULL, text, length);
        expect_tree(json_stringn(text, length));
    }
    static const char *const texts[] = {"",
                                        "\"",
                                        "\\",
                                        "\"\\\"\\",
                                        "\n\r\t\b\f/\x7f",
                                        "\x01\x1f",
                                        "end\n",
                                        "\xf0\x9f\x98\x80\"",
                                        "[null,0]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        writer_string(&w, NULL, texts[i]);
        expect_tree(json_string(texts[i]));
    }
}
END_TEST

START_TEST(integers) {
    static const int64_t numbers[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        writer_integer(&w, NULL, numbers[i]);
        expect_tree(json_integer(numbers[i]));
    }
    writer_count(&w, NULL, 12);
    expect_tree(json_integer(12));
}
END_TEST

START_TEST(text_around_values) {
    writer_put(&w, "data: ", 6);
    writer_begin_array(&w, NULL);
    writer_end_array(&w);
    writer_put(&w, "\n\n", 2);
    writer_integer(&w, NULL, 1);
    ck_assert_uint_eq(w.length, 11);
    ck_assert_str_eq(w.bytes, "data: []\n\n1");
}
END_TEST

START_TEST(grows) {
    json_t *array = json_array();
    writer_begin_array(&w, NULL);
    for (int i = 0; i < 20000; i++) {
        char text[100];
        memset(text, 'x', sizeof text);
        writer_string_of(&w, NULL, text, (size_t)i % sizeof text);
        json_array_append_new(array, json_stringn(text, (size_t)i % sizeof text));
    }
    writer_end_array(&w);
    expect_tree(array);
    ck_assert_ptr_null(w.bytes);
}
END_TEST

START_TEST(numbers_with_their_digits) {
    const float numbers[] = {0.123456789f, 1, 2.0f / 3};
    writer_begin_array(&w, NULL);
    for (int digits = 1; digits <= DECIMAL_MOST; digits += 4)
        writer_numbers(&w, NULL, numbers, 3, digits);
    writer_end_array(&w);
    char *text = writer_take(&w);
    ck_assert_str_eq(text, "[[0.1,1.0,0.7],[0.12346,1.0,0.66667],[0.123456791,1.0,0.666666687]]");
    free(text);
}
END_TEST

/* Exactly the limit; nothing is written after an omitted part. */
START_TEST(limit) {
    const float ones[] = {1, 1};
    w.most = strlen("[\"a\",[1.0,1.0]]");
    for (size_t less = 0; less < 2; less++) {
        w.most -= less;
        writer_begin_array(&w, NULL);
        writer_string(&w, NULL, "a");
        writer_numbers(&w, NULL, ones, 2, DECIMAL_DIGITS);
        writer_end_array(&w);
        ck_assert_int_eq(writer_ended(&w), less > 0);
        ck_assert_int_eq(w.too_long, less > 0);
        if (less > 0)
            break;
        ck_assert_uint_eq(w.length, w.most);
        expect_tree(json_pack("[s, [f, f]]", "a", 1.0, 1.0));
    }
    ck_assert_uint_le(w.length, w.most);
    writer_integer(&w, NULL, 1);
    ck_assert_ptr_null(writer_take(&w));
    ck_assert(w.too_long && !w.failed);
}
END_TEST

START_TEST(limit_within_numbers) {
    const float ones[] = {1, 1};
    w.most = strlen("[1.0,1.");
    writer_numbers(&w, NULL, ones, 2, DECIMAL_DIGITS);
    ck_assert(w.too_long && !w.failed);
    ck_assert_uint_le(w.length, w.most);
    ck_assert_uint_eq(w.length, strlen(w.bytes));
}
END_TEST

static void expect_failed(void) {
    ck_assert(w.failed && !w.too_long);
    size_t length = w.length;
    writer_integer(&w, NULL, 1);
    writer_begin_array(&w, NULL);
    writer_end_array(&w);
    ck_assert_uint_eq(w.length, length);
    ck_assert_ptr_null(writer_take(&w));
    ck_assert(w.failed);
    setup();
}

START_TEST(what_json_has_not) {
    static const char *const ill_formed[] = {
        "\x80", "a\xff",    "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xc3", "\xe2\x82", "\xc3\n"};
    for (size_t i = 0; i < sizeof ill_formed / sizeof *ill_formed; i++) {
        ck_assert_ptr_null(json_string(ill_formed[i]));
        writer_string(&w, NULL, ill_formed[i]);
        expect_failed();
    }
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        writer_number(&w, NULL, none[i]);
        expect_failed();
        const float numbers[] = {1, (float)none[i], 2};
        writer_numbers(&w, NULL, numbers, 3, DECIMAL_DIGITS);
        expect_failed();
    }
    writer_fail(&w);
    expect_failed();
}
END_TEST

/* Room for more than there is address space for; then it is there again, and still nothing is
 * written. */
START_TEST(want_of_memory) {
    const char *text = "a";
    writer_string(&w, NULL, text);
    writer_string_of(&w, NULL, "\"", 1);
    ck_assert(!w.failed);
    writer_numbers(&w, NULL, (const float[]){1},
                   (size_t)PTRDIFF_MAX / (DECIMAL_BYTES(DECIMAL_DIGITS) + 1) - 1024,
                   DECIMAL_DIGITS);
    expect_failed();
}
END_TEST

Suite *writer_suite(void) {
    Suite *suite = suite_create("writer");
    TCase *tests = tcase_create("writer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, values_and_nesting);
    tcase_add_test(tests, deep_nesting);
    tcase_add_test(tests, escapes);
    tcase_add_test(tests, integers);
    tcase_add_test(tests, text_around_values);
    tcase_add_test(tests, grows);
    tcase_add_test(tests, numbers_with_their_digits);
    tcase_add_test(tests, limit);
    tcase_add_test(tests, limit_within_numbers);
    tcase_add_test(tests, what_json_has_not);
    tcase_add_test(tests, want_of_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
