/* JSON: values are translated; names, numbers and notation stay. */
#include "tests/server/document/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

START_TEST(values) {
    fake_expect("json", FAKE_UPPER,
                "{\"title\" : \"a dog\",\n \"n\": [1.50, -2e+3, true, null, \"b\", [\"c\"]], \"o\": {\"k\": \"\"}}\n",
                "{\"title\" : \"A DOG\",\n \"n\": [1.50, -2e+3, true, null, \"B\", [\"C\"]], \"o\": {\"k\": \"\"}}\n");
    fake_expect("json", FAKE_UPPER, "\"a\"", "\"A\"");
    fake_expect("json", FAKE_UPPER, " 12 ", " 12 ");
    fake_expect("json", FAKE_UPPER, "[]", "[]");
    fake_expect("json", FAKE_UPPER, "{\"a\": {}, \"a\": [[], {}]}", "{\"a\": {}, \"a\": [[], {}]}");
}
END_TEST

START_TEST(escapes) {
    fake_expect("json", FAKE_UPPER, "[\"a \\\"b\\\" \\\\ c\\/d\"]", "[\"A \\\"B\\\" \\\\ C/D\"]");
    fake_expect("json", FAKE_UPPER, "[\"caf\\u00e9 \\ud83d\\ude00\"]", "[\"CAF\u00e9 \U0001f600\"]");
    fake_expect("json", FAKE_UPPER, "[\"one\\n\\ttwo\\r\\nthree\"]", "[\"ONE\\n\\tTWO\\r\\nTHREE\"]");
    fake_expect("json", FAKE_UPPER, "[\"\\u0031 \\u0032\"]", "[\"\\u0031 \\u0032\"]"); /* nothing to translate: as it was */
    fake_expect("json", FAKE_UPPER, "[\"half \\ud83d\", \"a\\u0000b\"]", "[\"half \\ud83d\", \"a\\u0000b\"]");
}
END_TEST

START_TEST(damaged) {
    static const char *const cases[][2] = {
        {"", "line 1, column 1: the document ends too early"},
        {"{\"a\": \"b\"", "line 1, column 10: the document ends too early"},
        {"[1, 2}", "line 1, column 6: a comma or ] is expected here"},
        {"{\"a\" \"b\"}", "line 1, column 6: a colon is expected here"},
        {"{\"a\": 1 \"b\"}", "line 1, column 9: a comma or } is expected here"},
        {"{\n a: 1}", "line 2, column 2: the name of a member is expected here"},
        {"[1,]", "line 1, column 4: a value is expected here"},
        {"{\"a\": 1,}", "line 1, column 9: the name of a member is expected here"},
        {"[01]", "line 1, column 2: this is no number"},
        {"[1.]", "line 1, column 2: this is no number"},
        {"[-]", "line 1, column 2: this is no number"},
        {"[1e]", "line 1, column 2: this is no number"},
        {"[\"\u00e9\", \"\\x\"]", "line 1, column 8: this is no escape"},
        {"[\"\\u12g4\"]", "line 1, column 3: this is no escape"},
        {"[\"a\nb\"]", "line 1, column 4: a control character in a string must be written as an escape"},
        {"[\"abc]", "line 1, column 2: this string has no end"},
        {"[\"abc\\\"]", "line 1, column 2: this string has no end"},
        {"1 2", "line 1, column 3: nothing may stand behind the value"},
        {"]", "line 1, column 1: a value is expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fake_refused("json", cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(bombs) {
    struct arena arena;
    char *deep = fake_long("", "[", "", 1 << 20), *string = fake_long("\"", "a\\n\\u0061 ", "\"", 1 << 20);
    char *many = fake_long("[\"a\"", ",\n\"a\"", "]", 1 << 20);
    fake_refused("json", deep, "line 1, column 513: objects and arrays nest deeper than 512");
    fake_refused("json", many, "line 65536: there are more than 131072 texts and marks");
    arena_init(&arena, 1 << 16);
    fake_refused("json", string, "line 1: there are more than 131072 texts and marks");
    arena_done(&arena);
    free(deep);
    free(string);
    free(many);
}
END_TEST

Suite *document_json_suite(void) {
    Suite *suite = suite_create("document_json");
    TCase *cases = tcase_create("document_json");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, values);
    tcase_add_test(cases, escapes);
    tcase_add_test(cases, damaged);
    tcase_add_test(cases, bombs);
    return suite;
}
