/* model/text/tokenizer and sentencepiece: what a file's pieces are, with a tokenizer and without.
 */
#include "model/text/tokenizer.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

static struct error err;

static void setup(void) {
    err = (struct error){0};
}

/* As many as the tokenizer has, the same, in its order. */
static int compare_piece(void *context, int id, const char *piece, size_t length) {
    const struct tokenizer *tokenizer = context;
    const char *known = tokenizer_piece(tokenizer, id);
    ck_assert_uint_eq(strlen(known), length);
    ck_assert_mem_eq(known, piece, length);
    return (size_t)id + 1 == tokenizer_size(tokenizer) ? 7 : 0;
}

START_TEST(pieces_are_the_tokenizers) {
    static const char *const paths[] = {"tests/data/tiny.en.spm", "tests/data/tiny.fr.spm",
                                        "tests/data/tiny.bytes.spm"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct tokenizer *tokenizer = tokenizer_open("sentencepiece", paths[i], NULL, &err);
        ck_assert_msg(tokenizer != NULL, "%s", err.message);
        ck_assert_int_eq(sentencepiece_pieces(paths[i], compare_piece, tokenizer, NULL),
                         -1); /* at the last, which it has had enough of */
        struct labels labels;
        ck_assert_int_eq(labels_read(paths[i], &labels, &err), 0);
        ck_assert_uint_eq(labels.count, 0);
        labels_done(&labels);
        tokenizer_free(tokenizer);
    }
}
END_TEST

/* A model of these pieces: each field with its text, and an empty normalizer. */
static char *write_pieces(const char *const *pieces, size_t count) {
    char bytes[512];
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(pieces[i]);
        const char head[] = {0x0a, (char)(length + 2), 0x0a, (char)length};
        memcpy(bytes + size, head, sizeof head);
        memcpy(bytes + size + sizeof head, pieces[i], length);
        size += sizeof head + length;
    }
    memcpy(bytes + size, "\x1a", 2);
    return file_write(bytes, size + 2);
}

START_TEST(labels_of_a_file) {
    static const char *const pieces[] = {
        "<unk>",  ">>fra<<",    "a",      ">>pt_BR<<",    ">><<",         ">>x y<<",
        ">>deu<", ">",          ">>>b<<", ">>cmn-Hans<<", ">>\xc3\xa9<<", ">>i<<",
        "<<>>",   "<2zh_Hant>", "<2>",    "<2a b>",       "<3fr>"};
    static const struct {
        const char *name;
        int id;
    } expected[] = {{"fra", 1}, {"pt_BR", 3}, {"cmn-Hans", 9}, {"i", 11}, {"zh_Hant", 13}};
    struct labels labels;
    char *path = write_pieces(pieces, sizeof pieces / sizeof *pieces);
    ck_assert_msg(labels_read(path, &labels, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(labels.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < labels.count; i++) {
        ck_assert_str_eq(labels.names[i], expected[i].name);
        ck_assert_int_eq(labels.ids[i], expected[i].id);
    }
    labels_done(&labels);
    file_remove(path);
}
END_TEST

/* No file; no model; a piece that is not a message. */
START_TEST(files_without_pieces) {
    struct labels labels;
    ck_assert_int_eq(labels_read("/nowhere/source.spm", &labels, &err), -1);
    ck_assert_int_eq(err.code, ERROR_FILE);
    static const char *const wrong[] = {"no model", "\x0a\x01\x07\x1a"};
    for (size_t i = 0; i < 2; i++) {
        char *path = file_write(wrong[i], strlen(wrong[i]) + 1);
        setup();
        ck_assert_int_eq(labels_read(path, &labels, &err), -1);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_ptr_nonnull(strstr(err.message, "not a SentencePiece model"));
        file_remove(path);
    }
}
END_TEST

Suite *labels_suite(void) {
    Suite *suite = suite_create("labels");
    TCase *tcase = tcase_create("labels");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, pieces_are_the_tokenizers);
    tcase_add_test(tcase, labels_of_a_file);
    tcase_add_test(tcase, files_without_pieces);
    suite_add_tcase(suite, tcase);
    return suite;
}
