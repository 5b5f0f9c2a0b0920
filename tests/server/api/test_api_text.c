/* server/api_text: what is put, up to the limit. */
#include "server/api/api_text.h"
#include "tests/suites.h"
#include <string.h>

START_TEST(grows) {
    struct api_text text = {.most = 1 << 20};
    char line[1001];
    memset(line, 'x', 1000);
    line[1000] = '\0';
    for (int i = 0; i < 1000; i++)
        api_text_put(&text, line);
    api_text_put_json(&text, json_pack("{s:[i, n], s:s}", "a", 1, "b", "c"), &(struct splices){0});
    api_text_put_members(&text, json_pack("{s:i, s:i}", "a", 1, "b", 2), &(struct splices){0});
    api_text_put_json(&text, json_string("\xc3\xa9\n"), &(struct splices){0});
    ck_assert(!api_text_ended(&text));
    ck_assert_uint_eq(text.length, strlen(text.bytes));
    ck_assert_str_eq(text.bytes + 1000 * 1000, "{\"a\":[1,null],\"b\":\"c\"}\"a\":1,\"b\":2\"\xc3\xa9\\n\"");
    api_text_done(&text);
    ck_assert_ptr_null(text.bytes);
}
END_TEST

START_TEST(numbers_in_their_places) {
    const float numbers[] = {1, 0.5f};
    struct arena arena;
    arena_init(&arena, 4096);
    struct splices splices = {.arena = &arena};
    struct api_text text = {.most = 100};
    api_text_put_members(&text, json_pack("{s:o}", "a", splice_numbers(&splices, numbers, 2)), &splices);
    ck_assert_str_eq(text.bytes, "\"a\":[1.0,0.5]");
    api_text_done(&text);
    arena_done(&arena);
}
END_TEST

/* Nothing more is put than may be, nor anything behind what was left out. */
START_TEST(limit) {
    struct api_text text = {.most = 10};
    api_text_put(&text, "0123456789");
    ck_assert(!api_text_ended(&text));
    api_text_put(&text, "a");
    ck_assert(text.too_long && !text.failed);
    api_text_put(&text, "");
    ck_assert_str_eq(text.bytes, "0123456789");
    api_text_done(&text);
    struct api_text other = {.most = 10};
    api_text_put(&other, "01234567890");
    api_text_put(&other, "a");
    ck_assert(other.too_long);
    ck_assert_uint_eq(other.length, 0);
    api_text_done(&other);
}
END_TEST

START_TEST(want_of_memory) {
    struct api_text text = {.most = 100};
    api_text_put_json(&text, NULL, &(struct splices){0});
    ck_assert(text.failed && !text.too_long);
    api_text_put(&text, "a");
    ck_assert_uint_eq(text.length, 0);
    api_text_done(&text);
}
END_TEST

Suite *api_text_suite(void) {
    Suite *suite = suite_create("api_text");
    TCase *tests = tcase_create("api_text");
    tcase_add_test(tests, grows);
    tcase_add_test(tests, numbers_in_their_places);
    tcase_add_test(tests, limit);
    tcase_add_test(tests, want_of_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
