/* What a vocabulary cannot read is found, held and respelled. */
#include "model/text/readable.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tokenizer *tokenizer;
static struct readable readable;

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void open_with(const char *path) {
    tokenizer = tokenizer_open("sentencepiece", "tests/data/tiny.bytes.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    ck_assert_msg(readable_init(&readable, tokenizer, tokenizer, "en", path, &err) == 0, "%s", err.message);
}

static void close_all(void) {
    readable_done(&readable);
    tokenizer_free(tokenizer);
}

/* What is held of a text, each run in angle brackets. */
static void expect_held(const char *text, const char *expected) {
    struct token *tokens;
    struct opaque_runs held = {0};
    size_t count, found, length = strlen(text);
    char shown[256] = "";
    ck_assert_int_eq(tokenizer_encode(tokenizer, text, length, NULL, &arena, &tokens, &count, NULL), 0);
    ck_assert_int_eq(readable_hold(&readable, text, length, tokens, count, &held, &found, &arena, NULL), 0);
    ck_assert(found >= held.count);
    for (size_t i = 0; i < held.count; i++)
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "<%.*s>", (int)(held.all[i].end - held.all[i].begin),
                 text + held.all[i].begin);
    ck_assert_msg(strcmp(shown, expected) == 0, "%s: %s, not %s", text, shown, expected);
}

START_TEST(what_is_spelt_in_bytes_is_held) {
    open_with("no such file");
    expect_held("boy plays in the snow.", "");
    expect_held("in Dvo\xc5\x99\xc3\xa1k today", "<Dvo\xc5\x99\xc3\xa1k>");
    expect_held("\xe6\x9d\xb1\xe4\xba\xac \xe5\xa4\xa7\xe9\x98\xaa is", "<\xe6\x9d\xb1\xe4\xba\xac \xe5\xa4\xa7\xe9\x98\xaa>");
    expect_held("pay \xe2\x82\xac"
                "5 now",
                "<\xe2\x82\xac"
                "5>");
    close_all();
}
END_TEST

START_TEST(marks_are_respelled_where_they_are_lost) {
    open_with("no such file");
    ck_assert(readable.respelling.any);
    struct token *plain, *typographic;
    size_t plain_count, count;
    const struct tokenizer_reading how = {.respelling = &readable.respelling};
    const char *text = "the \xe2\x80\x9c"
                       "boy\xe2\x80\x9d \xe2\x80\x93 snow",
               *same = "the \"boy\" - snow";
    ck_assert_int_eq(tokenizer_encode(tokenizer, same, strlen(same), NULL, &arena, &plain, &plain_count, NULL), 0);
    ck_assert_int_eq(tokenizer_encode_around(tokenizer, text, strlen(text), &how, NULL, &arena, &typographic, &count, NULL), 0);
    ck_assert_uint_eq(count, plain_count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(typographic[i].id, plain[i].id);
    ck_assert_uint_eq(typographic[count - 1].end, strlen(text));
    close_all();
}
END_TEST

START_TEST(a_folder_may_tell_what_is_copied) {
    static const char *const wrong[] = {"[]", "{\"copied\": 5}", "{\"word\": []}", "{"};
    char path[] = "/tmp/alignd-readable-XXXXXX";
    ck_assert_int_ge(mkstemp(path), 0);
    write_file(path, "{\"copied\": \"\xe2\x82\xac\", \"word\": \"the\"}");
    open_with(path);
    ck_assert_int_eq(readable.stand_ins.word.marked, tokenizer_find(tokenizer, "\xe2\x96\x81the"));
    close_all();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(path, wrong[i]);
        tokenizer = tokenizer_open("sentencepiece", "tests/data/tiny.bytes.spm", NULL, &err);
        ck_assert_int_eq(readable_init(&readable, tokenizer, tokenizer, "en", path, &err), -1);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        err = (struct error){0};
        readable_done(&readable);
        tokenizer_free(tokenizer);
    }
    unlink(path);
}
END_TEST

Suite *readable_suite(void) {
    Suite *suite = suite_create("readable");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, scratch_setup, scratch_teardown);
    tcase_add_test(cases, what_is_spelt_in_bytes_is_held);
    tcase_add_test(cases, marks_are_respelled_where_they_are_lost);
    tcase_add_test(cases, a_folder_may_tell_what_is_copied);
    suite_add_tcase(suite, cases);
    return suite;
}
