/* model/text/capitals: tests/data/capitals.json, which weights/model/capitals.py is held to as
 * well, and tokens of texts in capitals. */
#include "model/text/tokenizer.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <jansson.h>
#include <string.h>

static void check_changed(void (*change)(char *text, size_t length), const char *text,
                          const char *want) {
    size_t length = strlen(text);
    char *copy = arena_copy(&arena, text, length);
    ck_assert_ptr_nonnull(copy);
    change(copy, length);
    ck_assert_str_eq(copy, want);
}

START_TEST(shared_cases) {
    json_t *cases = json_load_file("tests/data/capitals.json", 0, NULL), *item;
    size_t i;
    ck_assert_uint_ge(json_array_size(cases), 10);
    json_array_foreach(cases, i, item) {
        const char *text, *lowered, *raised;
        int only;
        ck_assert_int_eq(json_unpack(item, "{s:s, s:b, s:s, s:s}", "text", &text, "only", &only,
                                     "lowered", &lowered, "raised", &raised),
                         0);
        ck_assert_int_eq(capitals_only(text, strlen(text)), only);
        check_changed(capitals_lower, text, lowered);
        check_changed(capitals_raise, text, raised);
    }
    json_decref(cases);
}
END_TEST

static struct tokenizer *open_lowering(bool lowers) {
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "tests/data/tiny.en.spm",
                       &(struct tokenizer_options){.lowers = lowers}, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    return tokenizer;
}

static size_t encode(const struct tokenizer *tokenizer, const char *text, bool *lowered,
                     struct token **tokens) {
    const struct tokenizer_reading how = {.lowers = lowered != NULL};
    const struct token_list list = model_tokens(tokenizer, text, &how, &arena);
    if (lowered)
        *lowered = list.lowered;
    *tokens = list.all;
    return list.count;
}

static void check_same(const struct token *tokens, const struct token *want, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(tokens[i].id, want[i].id);
        ck_assert_uint_eq(tokens[i].begin, want[i].begin);
        ck_assert_uint_eq(tokens[i].end, want[i].end);
    }
}

/* The tokens of the text in small letters, with offsets that hold for the text as it is. */
START_TEST(text_in_capitals_is_read_in_small_letters) {
    struct tokenizer *tokenizer = open_lowering(true);
    struct token *tokens, *want;
    bool lowered;
    size_t count = encode(tokenizer, "A BOY PLAYS.", &lowered, &tokens);
    ck_assert(lowered);
    ck_assert_uint_eq(count, encode(tokenizer, "A boy plays.", &lowered, &want));
    ck_assert(!lowered);
    check_same(tokens, want, count);
    tokenizer_free(tokenizer);
}
END_TEST

/* Without the option, or with another kind of tokenizer. */
START_TEST(otherwise_as_it_is) {
    struct tokenizer *lowering = open_lowering(true), *plain = open_lowering(false);
    struct token *tokens, *want;
    bool lowered = true;
    size_t count = encode(plain, "A BOY PLAYS.", &lowered, &want);
    ck_assert(!lowered);
    ck_assert_uint_eq(encode(lowering, "A BOY PLAYS.", NULL, &tokens), count);
    check_same(tokens, want, count);
    tokenizer_free(lowering);
    tokenizer_free(plain);
}
END_TEST

/* A placeholder neither says that the text is not in capitals, nor changes. */
START_TEST(placeholders_stay) {
    static const char text[] = "A BOY {Name} PLAYS {NAME}";
    struct opaque_run names[] = {{6, 12, OPAQUE_CODE, NULL}, {19, 25, OPAQUE_CODE, NULL}};
    struct tokenizer *tokenizer = open_lowering(true);
    const struct tokenizer_reading how = {.held = {names, 2}, .lowers = true};
    const struct token_list list = model_tokens(tokenizer, text, &how, &arena);
    const struct token *tokens = list.all;
    size_t found = 0;
    ck_assert(list.lowered);
    for (size_t i = 0; i < list.count; i++)
        found += strcmp(tokens[i].piece, "\u2581{Name}") == 0 ||
                 strcmp(tokens[i].piece, "\u2581{NAME}") == 0;
    ck_assert_uint_eq(found, 2);
    tokenizer_free(tokenizer);
}
END_TEST

Suite *capitals_suite(void) {
    Suite *suite = suite_create("capitals");
    TCase *tests = tcase_create("capitals");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, shared_cases);
    tcase_add_test(tests, text_in_capitals_is_read_in_small_letters);
    tcase_add_test(tests, otherwise_as_it_is);
    tcase_add_test(tests, placeholders_stay);
    suite_add_tcase(suite, tests);
    return suite;
}
