/* server/resume: a checkpoint that was written is read again, and one from another run is refused. */
#include "server/resume.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32], path[64];
static const char conditions[] = "model en-fr\nbeam_size 5\n";

static void setup(void) {
    scratch_setup();
    strcpy(folder, "/tmp/alignd-point-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/point", folder);
}

static void teardown(void) {
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left behind */
    scratch_teardown();
}

static void write_text(const char *text) {
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static const struct checkpoint some = {123, 4, UINT64_C(5000000000), UINT64_C(0x00ab), 6};

START_TEST(round_trip) {
    struct checkpoint read;
    ck_assert_int_eq(checkpoint_read(path, conditions, &read, &err), 0); /* a beginning */
    ck_assert(read.lines == 0 && read.input_bytes == 0 && read.output_bytes == 0 && read.input_hash == CHECKPOINT_HASH);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(checkpoint_write(path, conditions, &some, &err), 0);
        ck_assert_msg(checkpoint_read(path, conditions, &read, &err) == 0, "%s", err.message);
        ck_assert(read.lines == some.lines && read.skipped == some.skipped && read.input_bytes == some.input_bytes &&
                  read.input_hash == some.input_hash && read.output_bytes == some.output_bytes);
    }
}
END_TEST

/* Such as a thousand strings that are not translated. */
START_TEST(long_conditions) {
    enum { BYTES = 200000 };
    struct checkpoint read;
    char *most = malloc(BYTES + 1);
    memset(most, 'a', BYTES);
    most[BYTES] = '\0';
    ck_assert_int_eq(checkpoint_write(path, most, &some, &err), 0);
    ck_assert_msg(checkpoint_read(path, most, &read, &err) == 0, "%s", err.message);
    most[BYTES - 1] = 'b';
    ck_assert_int_eq(checkpoint_read(path, most, &read, &err), -1);
    free(most);
}
END_TEST

START_TEST(other_conditions) {
    static const struct {
        const char *conditions, *message;
    } rows[] = {
        {"model en-fr\nbeam_size 3\n", " is from another run: beam_size was 5, now 3"},
        {"model fr-en\nbeam_size 3\n", " is from another run: model was en-fr, now fr-en"},
        {"model fr-en\n", " is from another run: model was en-fr, now fr-en"},
        {"strategy beam\n", " is from another run: it has \"model en-fr\", and this one \"strategy beam\""},
        {"model en-fr\n", " is from another run: this one lacks \"beam_size 5\""},
        {"model en-fr\nbeam_size 5\nshard 1/2\n", " is from another run: it lacks \"shard 1/2\""},
        {"model en-fr\nbeam_size 55\n", " is from another run: beam_size was 5, now 55"},
    };
    ck_assert_int_eq(checkpoint_write(path, conditions, &some, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct checkpoint read = {.lines = 7};
        err = (struct error){0};
        ck_assert_int_eq(checkpoint_read(path, rows[i].conditions, &read, &err), -1);
        ck_assert_int_eq(err.code, ERROR_INPUT);
        ck_assert_str_eq(err.message + strlen(path), rows[i].message);
        ck_assert_uint_eq(read.lines, 7);
    }
}
END_TEST

START_TEST(other_files) {
    static const char *const whole =
        "alignd checkpoint 1\nlines 1\nskipped 0\ninput_bytes 2\ninput_hash 00000000000000ff\noutput_bytes 3\n";
    struct checkpoint read;
    write_text(whole);
    ck_assert_int_eq(checkpoint_read(path, "", &read, &err), 0);
    ck_assert_uint_eq(read.input_hash, 0xff);
    for (size_t length = 0; length < strlen(whole); length++) {
        char cut[160] = "";
        memcpy(cut, whole, length);
        write_text(cut);
        err = (struct error){0};
        ck_assert_int_eq(checkpoint_read(path, "", &read, &err), -1);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
    }
}
END_TEST

START_TEST(longer_input) {
    struct checkpoint read;
    ck_assert_int_eq(checkpoint_write(path, "from 0\nto 110\n", &some, &err), 0);
    ck_assert_int_eq(checkpoint_read(path, "from 0\nto 125\n", &read, &err), -1);
    ck_assert_str_eq(err.message + strlen(path), " is from another run: the end of the input was 110, now 125");
}
END_TEST

START_TEST(nowhere_to_write) {
    ck_assert_int_eq(checkpoint_write("/nonexistent/point", conditions, &some, &err), -1);
    ck_assert_str_eq(err.message, "cannot open /nonexistent/point: No such file or directory");
}
END_TEST

/* The published values of FNV-1a. */
START_TEST(hash) {
    ck_assert_uint_eq(checkpoint_hash(CHECKPOINT_HASH, "", 0), UINT64_C(0xcbf29ce484222325));
    ck_assert_uint_eq(checkpoint_hash(CHECKPOINT_HASH, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert_uint_eq(checkpoint_hash(checkpoint_hash(CHECKPOINT_HASH, "foo", 3), "bar", 3), UINT64_C(0x85944171f73967e8));
}
END_TEST

Suite *checkpoint_suite(void) {
    Suite *suite = suite_create("checkpoint");
    TCase *tests = tcase_create("checkpoint");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, round_trip);
    tcase_add_test(tests, long_conditions);
    tcase_add_test(tests, other_conditions);
    tcase_add_test(tests, other_files);
    tcase_add_test(tests, longer_input);
    tcase_add_test(tests, nowhere_to_write);
    tcase_add_test(tests, hash);
    suite_add_tcase(suite, tests);
    return suite;
}
