/* Characters that a vocabulary cannot read are found, held and respelled. */
#include "model/model.h"
#include "model/text/tokenizer.h"
#include "tests/models.h"
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
    ck_assert_msg(readable_init(&readable, tokenizer, tokenizer, "en", path, &err) == 0, "%s",
                  err.message);
}

static void close_all(void) {
    readable_done(&readable);
    tokenizer_free(tokenizer);
}

/* The held runs of a text in angle brackets. */
static void expect_held(const char *text, const char *expected) {
    const struct token_list tokens = model_tokens(tokenizer, text, NULL, &arena);
    struct opaque_runs held = {0};
    char shown[256] = "";
    ptrdiff_t found =
        readable_hold(&readable, (struct bytes){text, strlen(text)}, &tokens, &held, &arena, NULL);
    ck_assert(found >= 0 && (size_t)found >= held.count);
    for (size_t i = 0; i < held.count; i++)
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "<%.*s>",
                 (int)(held.all[i].end - held.all[i].begin), text + held.all[i].begin);
    ck_assert_msg(strcmp(shown, expected) == 0, "%s: %s, not %s", text, shown, expected);
}

START_TEST(what_is_spelt_in_bytes_is_held) {
    open_with("no such file");
    expect_held("boy plays in the snow.", "");
    expect_held("in Dvo\xc5\x99\xc3\xa1k today", "<Dvo\xc5\x99\xc3\xa1k>");
    expect_held("\xe6\x9d\xb1\xe4\xba\xac \xe5\xa4\xa7\xe9\x98\xaa is",
                "<\xe6\x9d\xb1\xe4\xba\xac \xe5\xa4\xa7\xe9\x98\xaa>");
    expect_held("pay \xe2\x82\xac"
                "5 now",
                "<\xe2\x82\xac"
                "5>");
    close_all();
}
END_TEST

/* Words that are spelt letter by letter are held; long words of the language are not, nor are
 * letters without case. */
START_TEST(long_rare_words_are_held) {
    tokenizer = tokenizer_open("sentencepiece", "weights/de-en/joint.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    ck_assert_int_eq(
        readable_init(&readable, tokenizer, tokenizer, "de", "weights/de-en/opaque.json", &err), 0);
    expect_held("Das ist (Grzegorzyszczykiewicz), sagt er.", "<Grzegorzyszczykiewicz>");
    expect_held("Frau Krzyzanowska-Wrzeszczykiewicz singt.", "<Krzyzanowska-Wrzeszczykiewicz>");
    expect_held("Die Geschwindigkeitsbegrenzung und die Krankenversicherungsbeiträge", "");
    expect_held("Herr Brzeczyk singt mit der XKCDQWRTZ-Kapelle.", "");
    expect_held("Das Donaudampfschifffahrtsgesellschaftskapitänspatent ist alt.", "");
    close_all();
}
END_TEST

/* A run that is longer than the part of a text that is read at once is held as one; what was held
 * already stays as it was. */
START_TEST(a_run_of_many_windows_is_one) {
    enum { CHARACTERS = 5000, BYTES = 3 * CHARACTERS };
    static const char head[] = "The boy {name} plays in ", tail[] = " and in the snow.";
    char *text = malloc(sizeof head + BYTES + sizeof tail), *end = stpcpy(text, head);
    struct opaque_run name = {.begin = 8, .end = 14, .kind = OPAQUE_CODE, .written = "{n}"};
    struct tokenizer_reading how = {.held = {&name, 1}};
    for (size_t i = 0; i < CHARACTERS; i++)
        end = stpcpy(end, "\xe4\xbd\xa0");
    strcpy(end, tail);
    open_with("no such file");
    ck_assert_int_eq(
        text_hold(&readable, tokenizer, (struct bytes){text, strlen(text)}, &how, &arena, &err), 0);
    ck_assert_uint_eq(how.held.count, 2);
    ck_assert(how.held.all[0].begin == 8 && how.held.all[0].end == 14);
    ck_assert_str_eq(how.held.all[0].written, "{n}");
    ck_assert_uint_eq(how.held.all[1].begin, sizeof head - 1);
    ck_assert_uint_eq(how.held.all[1].end, sizeof head - 1 + BYTES);
    ck_assert(text_is_short(text, strlen(text), &how.held));
    close_all();
    free(text);
}
END_TEST

START_TEST(marks_are_respelled_where_they_are_lost) {
    open_with("no such file");
    ck_assert(readable.respelling.any);
    const struct tokenizer_reading how = {.respelling = &readable.respelling};
    const char *text = "the \xe2\x80\x9c"
                       "boy\xe2\x80\x9d \xe2\x80\x93 snow",
               *same = "the \"boy\" - snow";
    const struct token_list plain = model_tokens(tokenizer, same, NULL, &arena),
                            typographic = model_tokens(tokenizer, text, &how, &arena);
    ck_assert_uint_eq(typographic.count, plain.count);
    for (size_t i = 0; i < plain.count; i++)
        ck_assert_int_eq(typographic.all[i].id, plain.all[i].id);
    ck_assert_uint_eq(typographic.all[plain.count - 1].end, strlen(text));
    close_all();
}
END_TEST

/* A zero-width space within a word does not part it. */
START_TEST(invisible_marks_are_left_out) {
    tokenizer = tokenizer_open("sentencepiece", "weights/en-fr/joint.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    ck_assert_int_eq(readable_init(&readable, tokenizer, tokenizer, "en", "no such file", &err), 0);
    const struct tokenizer_reading how = {.respelling = &readable.respelling};
    const struct token_list plain = model_tokens(tokenizer, "invented", NULL, &arena),
                            parted = model_tokens(tokenizer, "in\u200bvented", &how, &arena);
    ck_assert_uint_eq(parted.count, plain.count);
    for (size_t i = 0; i < plain.count; i++)
        ck_assert_int_eq(parted.all[i].id, plain.all[i].id);
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
    tcase_add_test(cases, a_run_of_many_windows_is_one);
    tcase_add_test(cases, long_rare_words_are_held);
    tcase_add_test(cases, marks_are_respelled_where_they_are_lost);
    tcase_add_test(cases, invisible_marks_are_left_out);
    tcase_add_test(cases, a_folder_may_tell_what_is_copied);
    suite_add_tcase(suite, cases);
    return suite;
}
