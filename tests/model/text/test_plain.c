/* model/plain and model/vocabulary: the cases that weights/model/tokenizer.py is held to as well,
 * and files that are refused. */
#include "model/text/tokenizer.h"
#include "tests/files.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <jansson.h>
#include <string.h>

/* ---- tests/data/plain_tokens.json ---- */

static struct tokenizer *open_kind(const char *kind, const struct tokenizer_options *options,
                                   const json_t *pieces) {
    char content[4096] = "<unk>\n<s>\n</s>\n";
    size_t i;
    json_t *piece;
    json_array_foreach(pieces, i, piece) {
        strcat(content, json_string_value(piece));
        strcat(content, "\n");
    }
    char *path = file_write(content, strlen(content));
    struct tokenizer *tokenizer = tokenizer_open(kind, path, options, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    file_remove(path);
    return tokenizer;
}

static const char *text_at(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static long long integer_at(const json_t *array, size_t i) {
    return json_integer_value(json_array_get(array, i));
}

static void check_tokens(const json_t *want, const struct token *tokens, size_t count) {
    const json_t *pieces = json_object_get(want, "pieces"), *ids = json_object_get(want, "ids"),
                 *bytes = json_object_get(want, "bytes");
    ck_assert_uint_eq(count, json_array_size(pieces));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(tokens[i].piece, json_string_value(json_array_get(pieces, i)));
        ck_assert_int_eq(tokens[i].id, integer_at(ids, i));
        ck_assert_int_eq((long long)tokens[i].begin, integer_at(json_array_get(bytes, i), 0));
        ck_assert_int_eq((long long)tokens[i].end, integer_at(json_array_get(bytes, i), 1));
    }
}

/* Decodes the ids; with `own`, the pieces of unknown tokens. Tokens' bytes must rise within the
 * text. */
static void check_decoded(const struct tokenizer *tokenizer, const struct token *tokens,
                          size_t count, bool own, const char *want) {
    struct token *decoded = arena_zalloc(&arena, count, sizeof *decoded);
    char *text;
    for (size_t i = 0; i < count; i++) {
        decoded[i].id = tokens[i].id;
        decoded[i].piece =
            own && tokens[i].id == tokenizer_unknown(tokenizer) ? tokens[i].piece : NULL;
    }
    ck_assert_int_eq(tokenizer_decode(tokenizer, decoded, count, &arena, &text, &err), 0);
    ck_assert_str_eq(text, want);
    for (size_t i = 0, end = 0; i < count; end = decoded[i++].end) {
        ck_assert(end <= decoded[i].begin && decoded[i].begin <= decoded[i].end &&
                  decoded[i].end <= strlen(text));
        ck_assert_ptr_nonnull(decoded[i].piece);
    }
}

START_TEST(tokens_are_those_of_python) {
    json_t *shared = json_load_file("tests/data/plain_tokens.json", JSON_ALLOW_NUL, NULL), *want;
    size_t i;
    ck_assert_uint_ge(json_array_size(json_object_get(shared, "cases")), 20);
    json_array_foreach(json_object_get(shared, "cases"), i, want) {
        struct tokenizer_options options = {
            .lowercase = json_is_true(json_object_get(want, "lowercase")),
            .punctuation = json_is_true(json_object_get(want, "punctuation"))};
        const char *kind = text_at(want, "type");
        struct tokenizer *tokenizer = open_kind(
            kind, &options, json_object_get(json_object_get(shared, "vocabularies"), kind));
        const json_t *text = json_object_get(want, "text");
        struct token_list tokens;
        const struct bytes bytes = {json_string_value(text), json_string_length(text)};
        ck_assert_int_eq(tokenizer_encode(tokenizer, bytes, NULL, &arena, &tokens, &err), 0);
        check_tokens(want, tokens.all, tokens.count);
        check_decoded(tokenizer, tokens.all, tokens.count, false, text_at(want, "decoded"));
        check_decoded(tokenizer, tokens.all, tokens.count, true, text_at(want, "printed"));
        tokenizer_free(tokenizer);
    }
    json_decref(shared);
}
END_TEST

START_TEST(ill_formed_text_is_survived) {
    static const char *const kinds[] = {"words", "characters"};
    static const char *const texts[] = {"\xff\xfe a", "\xc3", "a\xed\xa0\x80", "\xf0\x9f\x98",
                                        "\x80\x80\x80\x80\x80\x80"};
    static const struct tokenizer_options options = {.lowercase = true, .punctuation = true};
    json_t *pieces = json_pack("[s]", "a");
    for (size_t k = 0; k < 2; k++) {
        struct tokenizer *tokenizer = open_kind(kinds[k], &options, pieces);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const struct token_list tokens = model_tokens(tokenizer, texts[i], NULL, &arena);
            ck_assert(tokens.count > 0 && tokens.all[tokens.count - 1].end == strlen(texts[i]));
        }
        tokenizer_free(tokenizer);
    }
    json_decref(pieces);
}
END_TEST

/* ---- the file ---- */

START_TEST(pieces_have_ids) {
    json_t *pieces = json_pack("[s, s, s, s]", "zebra", "a", "\u00e9t\u00e9", "A");
    struct tokenizer *tokenizer = open_kind("words", NULL, pieces);
    ck_assert_uint_eq(tokenizer_size(tokenizer), 7);
    ck_assert_int_eq(tokenizer_unknown(tokenizer), 0);
    ck_assert_int_eq(tokenizer_begin(tokenizer), 1);
    ck_assert_int_eq(tokenizer_end(tokenizer), 2);
    for (int id = 0; id < 7; id++)
        ck_assert_int_eq(tokenizer_find(tokenizer, tokenizer_piece(tokenizer, id)),
                         id < 3 ? -1 : id);
    ck_assert_int_eq(tokenizer_find(tokenizer, "zebr"), -1);
    ck_assert_int_eq(tokenizer_find(tokenizer, ""), -1);
    tokenizer_free(tokenizer);
    json_decref(pieces);
}
END_TEST

/* As Marian writes them, and with what it may hold inside a word. */
START_TEST(special_tokens_stand_anywhere) {
    static const char content[] = "</s>\n<unk>\n10\u00a0000\nb\n";
    char *path = file_write(content, sizeof content - 1);
    struct tokenizer *tokenizer = tokenizer_open("words", path, NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    ck_assert_int_eq(tokenizer_end(tokenizer), 0);
    ck_assert_int_eq(tokenizer_unknown(tokenizer), 1);
    ck_assert_int_eq(tokenizer_begin(tokenizer), -1);
    struct token decoded[] = {{.id = 3}, {.id = 0}, {.id = 1}, {.id = 2}};
    char *text;
    ck_assert_int_eq(tokenizer_decode(tokenizer, decoded, 4, &arena, &text, &err), 0);
    ck_assert_str_eq(text, "b \u2047 10\u00a0000");
    const struct token_list tokens = model_tokens(tokenizer, "b </s> c", NULL, &arena);
    ck_assert_uint_eq(tokens.count, 3);
    ck_assert(tokens.all[0].id == 3 && tokens.all[1].id == 1 &&
              tokens.all[2].id == 1); /* </s> is not text */
    tokenizer_free(tokenizer);
    file_remove(path);
}
END_TEST

#define SPECIAL "<unk>\n<s>\n</s>\n"

/* The error of a file, after its name. */
static const struct {
    const char *kind, *content;
    size_t length;
    const char *message;
} wrong_files[] = {
    {"words", "", 0, "a vocabulary must have 3 to 1048576 lines, got 0"},
    {"words", "<unk>\n</s>\n", 11, "a vocabulary must have 3 to 1048576 lines, got 2"},
    {"words", SPECIAL "a", 16, "the last line does not end with a line feed"},
    {"words", "a\nb\nc\n</s>\n", 11, "<unk> is missing"},
    {"words", SPECIAL "a\n\nb\n", 20, "line 5 is empty"},
    {"words", SPECIAL "a\r\n", 18, "line 4 contains white space"},
    {"words", SPECIAL "a b\n", 19, "line 4 contains white space"},
    {"words", SPECIAL "a\0b\n", 19, "line 4 contains a NUL"},
    {"words", SPECIAL "b\na\nc\na\n", 23, "lines 5 and 7 are the same"},
    {"words", SPECIAL "<s>\n", 19, "lines 2 and 4 are the same"},
    {"words", SPECIAL "a\n\xff\n", 19, "piece 4 is not valid UTF-8"},
    {"characters", SPECIAL "a\nab\n", 20, "line 5 is not one character"},
};

START_TEST(wrong_files_are_refused) {
    char *path = file_write(wrong_files[_i].content, wrong_files[_i].length);
    ck_assert_ptr_null(tokenizer_open(wrong_files[_i].kind, path, NULL, &err));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_int_eq(strncmp(err.message, path, strlen(path)), 0);
    ck_assert_str_eq(err.message + strlen(path) + 2, wrong_files[_i].message);
    file_remove(path);
}
END_TEST

START_TEST(files_that_cannot_be_read) {
    ck_assert_ptr_null(tokenizer_open("words", "/nowhere/x.vocab", NULL, &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message, "cannot open /nowhere/x.vocab: No such file or directory");
    err = (struct error){0};
    ck_assert_ptr_null(tokenizer_open("characters", "tests", NULL, &err));
    ck_assert_str_eq(err.message, "cannot read tests: not a regular file");
}
END_TEST

Suite *plain_suite(void) {
    Suite *suite = suite_create("plain");
    TCase *tests = tcase_create("plain");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, tokens_are_those_of_python);
    tcase_add_test(tests, ill_formed_text_is_survived);
    tcase_add_test(tests, pieces_have_ids);
    tcase_add_test(tests, special_tokens_stand_anywhere);
    tcase_add_loop_test(tests, wrong_files_are_refused, 0,
                        sizeof wrong_files / sizeof *wrong_files);
    tcase_add_test(tests, files_that_cannot_be_read);
    suite_add_tcase(suite, tests);
    return suite;
}
