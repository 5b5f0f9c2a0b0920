/* model/numbered: a vocabulary of 200 pieces under other ids, as the lists of OPUS-MT's models give
 * them. */
#include "model/text/tokenizer.h"
#include "tests/files.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

#define ENGLISH "tests/data/tiny.en.spm"

static struct tokenizer *plain, *numbered;
static struct arena arena;
static struct error err;
static const char TEXT[] = "What did you do? This is mine.";

static struct tokenizer *open_with(const char *list) {
    char *path = file_write(list, strlen(list));
    struct tokenizer *opened =
        tokenizer_open("sentencepiece", ENGLISH, &(struct tokenizer_options){.pieces = path}, &err);
    file_remove(path);
    return opened;
}

/* </s>, <unk>, a label, a piece that only the list has, then the file's pieces backwards without
 * the first two. */
static void setup(void) {
    char list[1 << 14] = "</s>\n<unk>\n>>fra<<\n\u2581onlyhere\n";
    arena_init(&arena, 1 << 16);
    err = (struct error){0};
    plain = tokenizer_open("sentencepiece", ENGLISH, NULL, &err);
    ck_assert_msg(plain != NULL, "%s", err.message);
    for (int id = (int)tokenizer_size(plain) - 1; id > 4; id--) {
        strcat(list, tokenizer_piece(plain, id));
        strcat(list, "\n");
    }
    numbered = open_with(list);
    ck_assert_msg(numbered != NULL, "%s", err.message);
}

static void teardown(void) {
    tokenizer_free(plain);
    tokenizer_free(numbered);
    arena_done(&arena);
}

static struct token *encode(const struct tokenizer *tokenizer, const char *text, size_t *count) {
    const struct token_list list = model_tokens(tokenizer, text, NULL, &arena);
    *count = list.count;
    return list.all;
}

static const char *decode(const int *ids, size_t count, struct token *tokens) {
    char *text = NULL;
    for (size_t i = 0; i < count; i++)
        tokens[i] = (struct token){.id = ids[i]};
    ck_assert_msg(tokenizer_decode(numbered, tokens, count, &arena, &text, &err) == 0, "%s",
                  err.message);
    return text;
}

START_TEST(ids_are_the_lists) {
    ck_assert_uint_eq(tokenizer_size(numbered), tokenizer_size(plain) - 1);
    ck_assert_int_eq(tokenizer_end(numbered), 0);
    ck_assert_int_eq(tokenizer_unknown(numbered), 1);
    ck_assert_int_eq(tokenizer_begin(numbered), -1);
    ck_assert_int_eq(tokenizer_find(numbered, ">>fra<<"), 2);
    ck_assert_int_eq(tokenizer_find(numbered, "</s>"), -1);
    size_t count, others;
    struct token *tokens = encode(numbered, TEXT, &count), *own = encode(plain, TEXT, &others);
    ck_assert_uint_eq(count, others);
    ck_assert_uint_gt(count, 8);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(tokens[i].piece, own[i].piece);
        ck_assert_uint_eq(tokens[i].begin, own[i].begin);
        ck_assert_uint_eq(tokens[i].end, own[i].end);
        ck_assert_int_eq(tokens[i].id,
                         own[i].id > 4 ? (int)tokenizer_size(plain) + 3 - own[i].id : 1);
    }
}
END_TEST

/* The file has it, and the list does not. */
START_TEST(a_piece_that_the_list_lacks_is_unknown) {
    const char *lacking = tokenizer_piece(plain, 4);
    ck_assert_int_eq(tokenizer_find(numbered, lacking), -1);
    ck_assert_int_ne(tokenizer_find(plain, lacking), -1);
    size_t count, unknown = 0, missing = 0;
    struct token *tokens = encode(numbered, TEXT, &count);
    for (size_t i = 0; i < count; i++) {
        unknown += tokens[i].id == 1;
        missing += strcmp(tokens[i].piece, lacking) == 0;
    }
    ck_assert_uint_eq(unknown, missing);
    ck_assert_uint_gt(unknown, 0);
}
END_TEST

START_TEST(decoding_gives_the_text) {
    size_t count, kept = 0;
    struct token *tokens = encode(numbered, "This is how we do it", &count), back[64];
    int ids[64];
    for (size_t i = 0; i < count; i++)
        if (tokens[i].id != 1)
            ids[kept++] = tokens[i].id;
    ck_assert_uint_eq(kept, count);
    ck_assert_str_eq(decode(ids, kept, back), "This is how we do it");
    ck_assert_uint_eq(back[count - 1].end, strlen("This is how we do it"));
    ck_assert_str_eq(back[0].piece, tokens[0].piece);
}
END_TEST

/* A piece that only the list has is printed as it stands, its mark as a space; an unknown one as
 * SentencePiece's. */
START_TEST(pieces_that_only_the_list_has) {
    struct token back[3];
    ck_assert_str_eq(decode((const int[]){3, 3, 2}, 3, back), "onlyhere onlyhere>>fra<<");
    ck_assert_uint_eq(back[1].begin, 9);
    ck_assert_uint_eq(back[1].end, 17);
    ck_assert_str_eq(back[1].piece, "\u2581onlyhere");
    ck_assert_str_eq(decode((const int[]){3, 1, 3}, 3, back), "onlyhere \u2047  onlyhere");
}
END_TEST

START_TEST(lists_that_are_refused) {
    static const struct {
        const char *list, *message;
    } wrong[] = {{"</s>\n<unk>\na\na\n", "lines 3 and 4 are the same"},
                 {"</s>\na\nb\n", "<unk> is missing"},
                 {"</s>\n<unk>\na b\n", "line 3 contains white space"},
                 {"</s>\n<unk>\na", "the last line does not end with a line feed"}};
    ck_assert_ptr_null(open_with(wrong[_i].list));
    ck_assert_ptr_nonnull(strstr(err.message, wrong[_i].message));
}
END_TEST

Suite *numbered_suite(void) {
    Suite *suite = suite_create("numbered");
    TCase *tests = tcase_create("numbered");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, ids_are_the_lists);
    tcase_add_test(tests, a_piece_that_the_list_lacks_is_unknown);
    tcase_add_test(tests, decoding_gives_the_text);
    tcase_add_test(tests, pieces_that_only_the_list_has);
    tcase_add_loop_test(tests, lists_that_are_refused, 0, 4);
    suite_add_tcase(suite, tests);
    return suite;
}
