/* server/base/outfile: a file has its old content or the new one, after any failure. */
#include "server/base/outfile.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32], path[64], other[64];

static void setup(void) {
    scratch_setup();
    strcpy(folder, "/tmp/alignd-output-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(other, sizeof other, "%s/other", folder);
}

/* Nothing else may be left. */
static void teardown(void) {
    unlink(path);
    unlink(other);
    ck_assert_int_eq(rmdir(folder), 0);
    scratch_teardown();
}

static void put(const char *at, const char *text) {
    FILE *file = fopen(at, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void check(const char *at, const char *text) {
    char found[64];
    FILE *file = fopen(at, "r");
    ck_assert_ptr_nonnull(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(found, text);
}

static void write_new(const char *at, const char *text, bool keep) {
    struct outfile output;
    ck_assert_msg(outfile_open(&output, at, &err) == 0, "%s", err.message);
    fputs(text, output.file);
    ck_assert_int_eq(fflush(output.file), 0);
    ck_assert_msg(outfile_close(&output, keep, &err) == 0, "%s", err.message);
}

START_TEST(old_until_closed) {
    struct outfile output;
    put(path, "old");
    ck_assert_int_eq(outfile_open(&output, path, &err), 0);
    fputs("new", output.file);
    ck_assert_int_eq(fflush(output.file), 0);
    check(path, "old");
    ck_assert_int_eq(outfile_close(&output, true, &err), 0);
    check(path, "new");
    write_new(path, "newer", false);
    check(path, "new");
}
END_TEST

START_TEST(made_only_at_the_end) {
    write_new(path, "x", false);
    ck_assert_int_ne(access(path, F_OK), 0);
    mode_t mask = umask(027);
    write_new(path, "x", true);
    umask(mask);
    struct stat status;
    ck_assert(stat(path, &status) == 0 && (status.st_mode & 07777) == 0640);
    check(path, "x");
}
END_TEST

START_TEST(permissions_stay) {
    struct stat status;
    put(path, "old");
    ck_assert_int_eq(chmod(path, 0604), 0);
    write_new(path, "new", true);
    ck_assert(stat(path, &status) == 0 && (status.st_mode & 07777) == 0604);
}
END_TEST

/* Also one that leads nowhere yet. */
START_TEST(links_stay) {
    struct stat status;
    ck_assert_int_eq(symlink("other", path), 0);
    write_new(path, "one", true);
    check(other, "one");
    write_new(path, "two", true);
    check(other, "two");
    ck_assert(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
}
END_TEST

/* Another run that has the old file open continues to read it. */
START_TEST(readers_keep_the_old) {
    char text[4] = "";
    put(path, "old");
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    write_new(path, "new", true);
    ck_assert_int_eq(read(reader, text, 3), 3);
    ck_assert_str_eq(text, "old");
    close(reader);
}
END_TEST

START_TEST(pipes_and_descriptors) {
    char text[16] = "", name[32];
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    write_new(path, "through", true);
    ck_assert_int_eq(read(reader, text, sizeof text), 7);
    ck_assert_str_eq(text, "through");
    close(reader);
    struct stat status;
    ck_assert(stat(path, &status) == 0 && S_ISFIFO(status.st_mode));

    put(other, "first ");
    int writer = open(other, O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(name, sizeof name, "/dev/fd/%d", writer);
    write_new(name, "second", true); /* as --output /dev/stdout >> FILE */
    close(writer);
    check(other, "first second");
    write_new("/dev/null", "x", true);
    ck_assert(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}
END_TEST

START_TEST(refused) {
    static const struct {
        const char *path, *message;
    } rows[] = {
        {"/nonexistent/x", "cannot open /nonexistent/x: No such file or directory"},
        {"/tmp", "cannot open /tmp: Is a directory"},
        {"", "cannot open : No such file or directory"},
        {"/tmp/nonexistent/", "cannot open /tmp/nonexistent/: Is a directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outfile output;
        err = (struct error){0};
        ck_assert_int_eq(outfile_open(&output, rows[i].path, &err), -1);
        ck_assert_str_eq(err.message, rows[i].message);
    }
    ck_assert_int_eq(symlink("file", path), 0); /* to itself */
    err = (struct error){0};
    struct outfile output;
    ck_assert_int_eq(outfile_open(&output, path, &err), -1);
}
END_TEST

Suite *outfile_suite(void) {
    Suite *suite = suite_create("outfile");
    TCase *tests = tcase_create("outfile");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, old_until_closed);
    tcase_add_test(tests, made_only_at_the_end);
    tcase_add_test(tests, permissions_stay);
    tcase_add_test(tests, links_stay);
    tcase_add_test(tests, readers_keep_the_old);
    tcase_add_test(tests, pipes_and_descriptors);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return suite;
}
