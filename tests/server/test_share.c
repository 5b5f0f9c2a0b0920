/* server/resume: for any number of shares, together they are the file's lines. */
#include "server/resume.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <string.h>
#include <unistd.h>

static FILE *file_of(const char *text) {
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fflush(file), 0);
    return file;
}

static size_t lines_before(const char *text, uint64_t end) {
    size_t count = 0;
    for (uint64_t i = 0; i < end; i++)
        count += text[i] == '\n';
    return count;
}

static const char *const texts[] = {
    "a\nbb\nccc\n",
    "a\nbb\nccc",
    "\n\n\n\n\n",
    "",
    "\n",
    "one long line and no end",
    "a very long line at the beginning\nb\nc\nd\n",
    "a\nb\nc\na very long line at the end\n",
};

START_TEST(shares_are_the_file) {
    const char *text = texts[_i];
    for (size_t count = 1; count < 40; count++) {
        FILE *file = file_of(text);
        uint64_t end = 0;
        for (size_t index = 0; index < count; index++) {
            struct share share;
            ck_assert_int_eq(share_find(file, index, count, &share, &err), 0);
            ck_assert_uint_eq(share.begin, end);
            ck_assert_uint_ge(share.end, share.begin);
            ck_assert_uint_eq(share.lines, lines_before(text, share.begin));
            ck_assert(share.begin == 0 || share.begin == strlen(text) || text[share.begin - 1] == '\n');
            ck_assert_int_eq(ftello(file), (off_t)share.begin);
            end = share.end;
        }
        ck_assert_uint_eq(end, strlen(text));
        fclose(file);
    }
}
END_TEST

/* Lines of one length are dealt out evenly. */
START_TEST(shares_are_even) {
    char text[4 * 100 + 1] = "";
    for (size_t i = 0; i < 100; i++)
        strcat(text, "abc\n");
    FILE *file = file_of(text);
    for (size_t index = 0; index < 8; index++) {
        struct share share;
        ck_assert_int_eq(share_find(file, index, 8, &share, &err), 0);
        ck_assert(share.end - share.begin == 12 * 4 || share.end - share.begin == 13 * 4);
    }
    fclose(file);
}
END_TEST

START_TEST(a_pipe_has_no_shares) {
    int ends[2];
    struct share share;
    ck_assert_int_eq(pipe(ends), 0);
    FILE *file = fdopen(ends[0], "r");
    ck_assert_int_eq(share_find(file, 0, 1, &share, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "the input must be a file (< FILE), not a pipe: --shard and --checkpoint seek in it");
    fclose(file);
    close(ends[1]);
}
END_TEST

Suite *share_suite(void) {
    Suite *suite = suite_create("share");
    TCase *tests = tcase_create("share");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tests, shares_are_the_file, 0, sizeof texts / sizeof *texts);
    tcase_add_test(tests, shares_are_even);
    tcase_add_test(tests, a_pipe_has_no_shares);
    suite_add_tcase(suite, tests);
    return suite;
}
