/* model/base/file.h: regular files of a bounded size are read without waiting. */
#include "model/base/file.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error err;
static char *bytes;
static size_t size;

static void setup(void) {
    err = (struct error){0};
    bytes = NULL;
    size = 77;
}

static void check_refused(const char *what, const char *path, size_t most, const char *why) {
    char expected[256];
    err = (struct error){0};
    ck_assert_int_eq(file_read(path, most, &bytes, &size, &err), -1);
    snprintf(expected, sizeof expected, "cannot %s %s: %s", what, path, why);
    ck_assert_str_eq(err.message, expected);
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert(!bytes && size == 77);
}

START_TEST(whole_files) {
    char *path = file_write("a\0b", 3), link[64], *empty = file_write("", 0);
    ck_assert_int_eq(file_read(path, 3, &bytes, &size, &err), 0);
    ck_assert(size == 3 && memcmp(bytes, "a\0b\0", 4) == 0);
    free(bytes);
    snprintf(link, sizeof link, "%s.link", path);
    ck_assert_int_eq(symlink(path, link), 0);
    ck_assert_int_eq(file_read(link, 100, &bytes, &size, &err), 0);
    ck_assert_uint_eq(size, 3);
    free(bytes);
    ck_assert_int_eq(file_read(empty, 0, &bytes, &size, &err), 0);
    ck_assert(size == 0 && *bytes == '\0');
    free(bytes);
    unlink(link);
    file_remove(path);
    file_remove(empty);
}
END_TEST

/* Of a pipe nobody writes to, reading would wait for ever; of /dev/zero, read for ever. */
START_TEST(what_is_no_file) {
    char *path = file_write("", 0);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    check_refused("read", path, 100, "not a regular file");
    check_refused("read", "/dev/zero", 100, "not a regular file");
    check_refused("read", "/tmp", 100, "not a regular file");
    check_refused("open", "/nowhere/file", 100, "No such file or directory");
    file_remove(path);
}
END_TEST

START_TEST(what_is_too_large) {
    char *path = file_write("four", 4);
    check_refused("read", path, 3, "4 bytes are more than 3");
    ck_assert_int_eq(truncate(path, 1L << 40), 0); /* a hole: nothing is read of it */
    check_refused("read", path, 1 << 20, "1099511627776 bytes are more than 1048576");
    file_remove(path);
}
END_TEST

static void *give_up(void *lease) {
    int fd = *(int *)lease;
    while (fcntl(fd, F_GETLEASE) == F_WRLCK) /* until somebody opens it */
        usleep(1000);
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return NULL;
}

START_TEST(a_lease_is_waited_for) {
    char *path = file_write("text", 4);
    pthread_t owner;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    signal(SIGIO, SIG_IGN);
    ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    ck_assert_int_eq(pthread_create(&owner, NULL, give_up, &fd), 0);
    ck_assert_int_eq(file_read(path, 100, &bytes, &size, &err), 0);
    ck_assert_str_eq(bytes, "text");
    pthread_join(owner, NULL);
    free(bytes);
    close(fd);
    file_remove(path);
}
END_TEST

START_TEST(the_same_bytes) {
    char *path = file_write("text", 4), *same = file_write("text", 4),
         *other = file_write("texT", 4), *longer = file_write("text ", 5);
    ck_assert(file_same(path, path, 4) && file_same(path, same, 4));
    ck_assert(!file_same(path, other, 4) && !file_same(path, longer, 5) &&
              !file_same(longer, path, 5));
    ck_assert(!file_same(path, same, 3) && !file_same(path, "/nowhere/file", 4) &&
              !file_same("/nowhere/file", path, 4));
    file_remove(path);
    file_remove(same);
    file_remove(other);
    file_remove(longer);
}
END_TEST

Suite *file_suite(void) {
    Suite *suite = suite_create("file");
    TCase *tcase = tcase_create("file");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, whole_files);
    tcase_add_test(tcase, what_is_no_file);
    tcase_add_test(tcase, what_is_too_large);
    tcase_add_test(tcase, a_lease_is_waited_for);
    tcase_add_test(tcase, the_same_bytes);
    suite_add_tcase(suite, tcase);
    return suite;
}
