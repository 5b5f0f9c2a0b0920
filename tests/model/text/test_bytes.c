/* A SentencePiece vocabulary with a piece for each byte: nothing is unknown, and offsets stay on
 * characters. */
#include "model/text/tokenizer.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <string.h>

#define BYTES "tests/data/tiny.bytes.spm"

static struct tokenizer *tokenizer;
static struct arena arena;
static struct error err;

static void setup(void) {
    tokenizer = tokenizer_open("sentencepiece", BYTES, NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    tokenizer_free(tokenizer);
    arena_done(&arena);
}

static struct token *encode(const char *text, size_t *count) {
    const struct token_list list = model_tokens(tokenizer, text, NULL, &arena);
    *count = list.count;
    return list.all;
}

static char *decode(const struct token *source, size_t count, struct token **tokens) {
    char *text = NULL;
    *tokens = arena_zalloc(&arena, count, sizeof **tokens);
    for (size_t i = 0; i < count; i++)
        (*tokens)[i].id = source[i].id;
    ck_assert_msg(tokenizer_decode(tokenizer, *tokens, count, &arena, &text, &err) == 0, "%s",
                  err.message);
    return text;
}

static void check_token(const struct token *token, const char *piece, size_t begin, size_t end) {
    ck_assert_str_eq(token->piece, piece);
    ck_assert_uint_eq(token->begin, begin);
    ck_assert_uint_eq(token->end, end);
}

/* The last byte has the character; those before it are empty and belong to it. */
static void check_places(const struct token *tokens) {
    check_token(&tokens[0], "\u2581I", 0, 1);
    check_token(&tokens[1], "\u2581", 2, 2);
    check_token(&tokens[2], "<0xE4>", 2, 2);
    check_token(&tokens[3], "<0xB8>", 2, 2);
    check_token(&tokens[4], "<0xAD>", 2, 5);
    check_token(&tokens[5], "<0xF0>", 5, 5);
    check_token(&tokens[8], "<0x82>", 5, 9);
    check_token(&tokens[9], ".", 9, 10);
}

START_TEST(a_characters_bytes_are_one_place) {
    size_t count;
    struct token *tokens = encode("I \u4e2d\U0001f642.", &count), *decoded;
    ck_assert_uint_eq(count, 10);
    check_places(tokens);
    ck_assert_str_eq(decode(tokens, count, &decoded), "I \u4e2d\U0001f642.");
    check_places(decoded);
}
END_TEST

START_TEST(nothing_is_unknown) {
    static const char text[] = "\u0416\u05d0\u0e01 \u4f60\u597d \U0001f600 2024 \u00e6";
    size_t count;
    struct token *tokens = encode(text, &count), *decoded;
    for (size_t i = 0; i < count; i++)
        ck_assert_int_ne(tokens[i].id, tokenizer_unknown(tokenizer));
    ck_assert_str_eq(decode(tokens, count, &decoded), text);
}
END_TEST

START_TEST(incomplete_characters_are_replaced) {
    size_t count;
    struct token *tokens = encode("a\U0001f642b", &count), *decoded;
    ck_assert_uint_eq(count, 6);
    ck_assert_str_eq(decode(tokens, 3, &decoded), "a\ufffd\ufffd");
    ck_assert_uint_eq(decoded[2].end, strlen("a\ufffd\ufffd"));
    tokens[4] = tokens[5];
    ck_assert_str_eq(decode(tokens, 5, &decoded), "a\ufffd\ufffd\ufffdb");
    ck_assert_uint_eq(decoded[4].begin, strlen("a\ufffd\ufffd\ufffd"));
}
END_TEST

Suite *bytes_suite(void) {
    Suite *suite = suite_create("bytes");
    TCase *tests = tcase_create("bytes");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_characters_bytes_are_one_place);
    tcase_add_test(tests, nothing_is_unknown);
    tcase_add_test(tests, incomplete_characters_are_replaced);
    suite_add_tcase(suite, tests);
    return suite;
}
