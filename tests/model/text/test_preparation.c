/* model/preparation: tests/data/prepared.json, which weights/model/tokenizer.py is held to as well,
 * and tokens of prepared texts.
 */
#include "model/text/tokenizer.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <jansson.h>
#include <string.h>

static void check_case(const json_t *item) {
    const char *text = json_string_value(json_object_get(item, "text"));
    const json_t *origins = json_object_get(item, "origins");
    struct prepared_text prepared;
    ck_assert_int_eq(preparation_make(&(struct preparation){.opus = true, .kept = -1}, text,
                                      strlen(text), &arena, &prepared, &err),
                     0);
    ck_assert_uint_eq(prepared.length, json_string_length(json_object_get(item, "prepared")));
    ck_assert_mem_eq(prepared.text, json_string_value(json_object_get(item, "prepared")),
                     prepared.length);
    ck_assert_uint_eq(json_array_size(origins), prepared.length + 1);
    for (size_t i = 0; i <= prepared.length; i++)
        ck_assert_uint_eq(prepared.origins ? prepared.origins[i] : i,
                          (size_t)json_integer_value(json_array_get(origins, i)));
}

START_TEST(shared_cases) {
    json_t *cases = json_load_file("tests/data/prepared.json", 0, NULL), *item;
    size_t i;
    ck_assert_uint_ge(json_array_size(cases), 10);
    json_array_foreach(cases, i, item) {
        check_case(item);
    }
    json_decref(cases);
}
END_TEST

START_TEST(one_character_may_be_kept) {
    struct prepared_text prepared;
    ck_assert_int_eq(preparation_make(&(struct preparation){.opus = true, .kept = 0xe000},
                                      "a\xee\x80\x80\xee\x80\x81z", 8, &arena, &prepared, &err),
                     0);
    ck_assert_uint_eq(prepared.length, 6);
    ck_assert_mem_eq(prepared.text, "a\xee\x80\x80 z", 6);
}
END_TEST

/* Tokens are those of the prepared text, and stand for bytes of the text itself. */
START_TEST(tokens_of_a_prepared_text) {
    static const char text[] = "\u201cWhat\u201d\u2026 did \u00ad you\u3002",
                      plain[] = "\"What\"... did you.";
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "tests/data/tiny.en.spm",
                       &(struct tokenizer_options){.prepared = true}, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    const struct token_list list = model_tokens(tokenizer, text, NULL, &arena),
                            wanted = model_tokens(tokenizer, plain, NULL, &arena);
    const struct token *tokens = list.all, *want = wanted.all;
    ck_assert_uint_eq(list.count, wanted.count);
    size_t count = list.count, end = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(tokens[i].piece, want[i].piece);
        ck_assert_uint_ge(tokens[i].begin, end);
        ck_assert(end == tokens[i].begin ||
                  strspn(text + end, " \xc2\xad") >= tokens[i].begin - end);
        end = tokens[i].end;
    }
    ck_assert_uint_eq(end, strlen(text));
    tokenizer_free(tokenizer);
}
END_TEST

/* A placeholder is hidden behind a character of category C. */
START_TEST(placeholders_survive) {
    static const char text[] = "What \u201c{name}\u201d?";
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "tests/data/tiny.en.spm",
                       &(struct tokenizer_options){.prepared = true}, &err);
    struct opaque_run name = {8, 14, OPAQUE_CODE, NULL};
    const struct tokenizer_reading how = {.held = {&name, 1}};
    const struct token_list list = model_tokens(tokenizer, text, &how, &arena);
    const struct token *tokens = list.all;
    size_t found = 0;
    for (size_t i = 0; i < list.count; i++)
        found += tokens[i].end - tokens[i].begin == 6 &&
                 memcmp(text + tokens[i].begin, "{name}", 6) == 0;
    ck_assert_uint_eq(found, 1);
    tokenizer_free(tokenizer);
}
END_TEST

Suite *preparation_suite(void) {
    Suite *suite = suite_create("preparation");
    TCase *tests = tcase_create("preparation");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, shared_cases);
    tcase_add_test(tests, one_character_may_be_kept);
    tcase_add_test(tests, tokens_of_a_prepared_text);
    tcase_add_test(tests, placeholders_survive);
    suite_add_tcase(suite, tests);
    return suite;
}
