/* server/base/log: each event is one line that can be read back, for any values. */
#include "model/base/utf8.h"
#include "server/base/log.h"
#include "tests/suites.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int written, stderr_kept;
static char *text;

static void setup(void) {
    written = memfd_create("log", MFD_CLOEXEC);
    fcntl(written, F_SETFL, O_APPEND); /* the kernel does not lock the position of a memory file */
    stderr_kept = dup(STDERR_FILENO);
    dup2(written, STDERR_FILENO);
    log_set_level("info");
    log_set_format("text");
}

static void teardown(void) {
    dup2(stderr_kept, STDERR_FILENO);
    close(stderr_kept);
    close(written);
    free(text);
    text = NULL;
    log_set_format("text");
}

static void read_log(void) {
    off_t length = lseek(written, 0, SEEK_END);
    free(text);
    text = calloc(1, (size_t)length + 1);
    ck_assert_int_eq(pread(written, text, (size_t)length, 0), length);
}

/* The only line, after its time. */
static const char *line(void) {
    read_log();
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_int_eq(strncmp(text, "time=2", 6), 0);
    return strchr(text, ' ') + 1;
}

/* The only line, as an object to be given back. */
static json_t *object(void) {
    read_log();
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(json_is_object(root), "%s", text);
    return root;
}

static void assert_string(const json_t *root, const char *key, const char *expected) {
    const char *value = json_string_value(json_object_get(root, key));
    ck_assert_msg(value && strcmp(value, expected) == 0, "%s: %s", key, text);
}

START_TEST(plain_text) {
    log_event(LOG_WARN, "event", log_text("a", "word"), log_count("b", SIZE_MAX),
              log_real("c", 1.5));
    ck_assert_str_eq(line(), "level=warn event=event a=word b=18446744073709551615 c=1.500\n");
}
END_TEST

START_TEST(values_are_quoted_where_needed) {
    log_event(LOG_INFO, "event", log_text("a", ""), log_text("b", "two words"),
              log_text("c", "say \"x\""), log_text("d", "back\\slash"),
              log_text("e", "line\nlevel=error"));
    ck_assert_str_eq(
        line(),
        "level=info event=event a=\"\" b=\"two words\" c=\"say \\\"x\\\"\" d=\"back\\\\slash\" "
        "e=\"line\\u000alevel=error\"\n");
}
END_TEST

/* A terminal that shows the log obeys none of these, in no format. */
START_TEST(control_characters_are_escaped) {
    static const char hostile[] = "\x1b[31m \xc2\x9b"
                                  "31m \xe2\x80\xae \x9b";
    static const char shown[] = "\\u001b[31m \\u009b31m \\u202e ?";
    char expected[200];
    snprintf(expected, sizeof expected, "level=info event=event a=\"%s\"\n", shown);
    log_event(LOG_INFO, "event", log_text("a", hostile));
    ck_assert_str_eq(line(), expected);

    ck_assert_int_eq(ftruncate(written, 0), 0);
    log_set_format("json");
    log_event(LOG_INFO, "event", log_text("a", hostile));
    json_t *root = object();
    snprintf(expected, sizeof expected, "\"a\":\"%s\"}\n", shown);
    ck_assert_ptr_nonnull(strstr(text, expected));
    json_decref(root);

    ck_assert_int_eq(ftruncate(written, 0), 0);
    log_message(hostile);
    snprintf(expected, sizeof expected, "%s\n", shown);
    read_log();
    ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(an_object) {
    log_set_format("json");
    log_event(LOG_INFO, "event", log_text("a", "12"), log_count("b", 12), log_real("c", 0.5),
              log_text("d", "1:2"), log_text("e", "é \" \\ \n\x01\x7f"));
    json_t *root = object();
    assert_string(root, "level", "info");
    assert_string(root, "event", "event");
    assert_string(root, "a", "12");
    ck_assert_int_eq(json_integer_value(json_object_get(root, "b")), 12);
    ck_assert_double_eq(json_real_value(json_object_get(root, "c")), 0.5);
    assert_string(root, "d", "1:2");
    assert_string(root, "e", "é \" \\ \n\x01\x7f");
    ck_assert_uint_eq(strlen(json_string_value(json_object_get(root, "time"))),
                      strlen("2026-01-31T12:00:00.123Z"));
    json_decref(root);
}
END_TEST

/* Every text of four bytes of these, which stand for all others. */
START_TEST(utf8_is_read_as_in_the_model) {
    static const unsigned char bytes[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                          0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xfe, 0xff};
    enum { KINDS = sizeof bytes, TEXTS = KINDS * KINDS * KINDS * KINDS };
    for (unsigned n = 0; n < TEXTS; n++) {
        const char example[] = {(char)bytes[n % KINDS], (char)bytes[n / KINDS % KINDS],
                                (char)bytes[n / KINDS / KINDS % KINDS],
                                (char)bytes[n / KINDS / KINDS / KINDS]};
        for (size_t length = 1; length <= sizeof example; length++) {
            bool valid;
            size_t next = 0, first = utf8_first(example, length, &valid);
            bool expected = character_next(example, length, &next) >= 0;
            if (first != next || valid != expected)
                ck_abort_msg("text %u of %zu bytes: %zu bytes instead of %zu", n, length, first,
                             next);
        }
    }
}
END_TEST

START_TEST(what_is_no_utf8) {
    log_set_format("json");
    log_event(LOG_INFO, "event", log_text("a", "x\xff\xc3y\xed\xa0\x80z\xc3"));
    json_t *root = object();
    ck_assert_ptr_nonnull(json_string_value(json_object_get(root, "a")));
    ck_assert_ptr_nonnull(strstr(text, "\"a\":\"x??y"));
    json_decref(root);
}
END_TEST

START_TEST(what_is_no_number) {
    log_set_format("json");
    log_event(LOG_INFO, "event", log_real("a", (double)NAN), log_real("b", (double)-INFINITY));
    json_t *root = object();
    ck_assert(json_is_string(json_object_get(root, "a")) &&
              json_is_string(json_object_get(root, "b")));
    json_decref(root);
}
END_TEST

/* A value is cut, a field without room is left out, what comes after it is there if it fits. */
START_TEST(too_long) {
    char wide[4000];
    log_set_format("json");
    memset(wide, '\n', sizeof wide - 1); /* six bytes each, escaped */
    wide[sizeof wide - 1] = '\0';
    log_event(LOG_INFO, "event", log_text("a", wide + sizeof wide - 1 - 100), log_text("b", wide),
              log_count("c", 7));
    json_t *root = object();
    ck_assert_uint_eq(json_string_length(json_object_get(root, "a")), 100);
    ck_assert_ptr_null(json_object_get(root, "b"));
    ck_assert_int_eq(json_integer_value(json_object_get(root, "c")), 7);
    json_decref(root);
}
END_TEST

START_TEST(a_long_value_is_cut) {
    char value[4000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    log_event(LOG_INFO, "event", log_text("a", value), log_count("b", 7));
    const char *cut = line();
    ck_assert_uint_eq(strspn(strstr(cut, "a=") + 2, "x"), LOG_VALUE_BYTES - 1);
    ck_assert_ptr_nonnull(strstr(cut, " b=7\n"));
}
END_TEST

START_TEST(levels) {
    log_set_level("warn");
    log_event(LOG_INFO, "less", log_count("a", 1));
    log_event(LOG_ERROR, "more", log_count("a", 1));
    ck_assert_str_eq(line(), "level=error event=more a=1\n");
}
END_TEST

enum { THREADS = 4, LINES = 500 };

static void *write_lines(void *argument) {
    (void)argument;
    for (size_t i = 0; i < LINES; i++)
        log_event(LOG_INFO, "event", log_text("name", "a name"), log_count("number", i));
    return NULL;
}

START_TEST(lines_do_not_mix) {
    pthread_t threads[THREADS];
    log_set_format("json");
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_lines, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    read_log();
    size_t count = 0;
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"), count++) {
        json_t *root = json_loads(at, 0, NULL);
        ck_assert_msg(root, "%s", at);
        json_decref(root);
    }
    ck_assert_uint_eq(count, THREADS * LINES);
}
END_TEST

/* ---- a stderr that nobody reads ---- */

enum { TOO_MANY = 20000 };

/* The content of a log. */
struct tally {
    int numbers;   /* lines of this test, each with a higher number than the one before it */
    uint64_t lost; /* lines that are reported as lost */
};

static struct tally count_up(const char *log) {
    struct tally tally = {0};
    int last = -1;
    for (const char *line = log, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        int number;
        unsigned long lost;
        ck_assert_int_eq(strncmp(line, "time=", 5), 0);
        if (sscanf(line, "time=%*s level=info event=event number=%d\n", &number) == 1) {
            ck_assert_int_gt(number, last);
            last = number;
            tally.numbers++;
        } else {
            ck_assert_int_eq(
                sscanf(line, "time=%*s level=warn event=log_lines_dropped lines=%lu\n", &lost), 1);
            tally.lost += lost;
        }
    }
    return tally;
}

/* Lines come whole and in order; those that are dropped are counted, in lines of their own; those
 * who log never wait. */
START_TEST(unread_lines_are_dropped) {
    static char log[1 << 20];
    struct error err = {0};
    struct tally tally = {0};
    size_t length = 0;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    ck_assert_int_eq(log_start(&err), 0);
    for (size_t i = 0; i < TOO_MANY; i++)
        log_event(LOG_INFO, "event", log_count("number", i));
    uint64_t dropped = log_lines_dropped();
    ck_assert_uint_gt(dropped, 0);
    while (tally.lost < dropped || tally.numbers < TOO_MANY - (int)dropped) {
        ssize_t count = read(ends[0], log + length, sizeof log - length - 1);
        ck_assert_int_gt(count, 0);
        log[length += (size_t)count] = '\0';
        tally = count_up(log);
    }
    ck_assert_uint_eq(tally.lost, dropped);
    ck_assert_int_eq(tally.numbers, TOO_MANY - (int)dropped);
    log_event(LOG_INFO, "event", log_count("number", TOO_MANY));
    log_stop();
    length = (size_t)read(ends[0], log, sizeof log - 1);
    log[length] = '\0';
    ck_assert_int_eq(count_up(log).numbers, 1);
    ck_assert_uint_eq(log_lines_dropped(), dropped);
    close(ends[0]);
}
END_TEST

/* Stopping the log does not wait for a reader either. */
START_TEST(stopping_waits_for_nobody) {
    struct error err = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    ck_assert_int_eq(log_start(&err), 0);
    for (size_t i = 0; i < TOO_MANY; i++)
        log_event(LOG_INFO, "event", log_count("number", i));
    log_stop();
    ck_assert_uint_gt(log_lines_dropped(), 0);
}
END_TEST

START_TEST(stopping_writes_the_rest) {
    struct error err = {0};
    ck_assert_int_eq(log_start(&err), 0);
    for (size_t i = 0; i < 100; i++)
        log_event(LOG_INFO, "event", log_count("number", i));
    log_message("alignd: the end");
    log_stop();
    read_log();
    ck_assert_ptr_nonnull(strstr(text, " number=0\n"));
    ck_assert_ptr_nonnull(strstr(text, " number=99\n"));
    ck_assert_str_eq(text + strlen(text) - strlen("alignd: the end\n"), "alignd: the end\n");
    ck_assert_uint_eq(log_lines_dropped(), 0);
}
END_TEST

/* A file takes every line, however many come at once. */
START_TEST(a_file_gets_every_line) {
    char name[] = "/tmp/alignd-log-XXXXXX";
    struct error err = {0};
    int numbers = 0, file = mkstemp(name);
    size_t lines = 0;
    dup2(file, STDERR_FILENO);
    uint64_t dropped = log_lines_dropped();
    ck_assert_int_eq(log_start(&err), 0);
    for (size_t i = 0; i < TOO_MANY; i++)
        log_event(LOG_INFO, "event", log_count("number", i));
    log_stop();
    ck_assert_uint_eq(log_lines_dropped(), dropped);
    FILE *in = fopen(name, "r");
    ck_assert_ptr_nonnull(in);
    for (int number; fscanf(in, "time=%*s level=info event=event number=%d\n", &number) == 1;
         lines++)
        ck_assert_int_eq(number, numbers++);
    ck_assert_uint_eq(lines, TOO_MANY);
    fclose(in);
    close(file);
    unlink(name);
}
END_TEST

/* A pipe without a reader. */
START_TEST(what_cannot_be_written_is_counted) {
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    log_event(LOG_INFO, "event", log_text("a", "b"));
    ck_assert_uint_eq(log_lines_dropped(), 1);
}
END_TEST

Suite *log_suite(void) {
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, plain_text);
    tcase_add_test(tcase, values_are_quoted_where_needed);
    tcase_add_test(tcase, control_characters_are_escaped);
    tcase_add_test(tcase, an_object);
    tcase_add_test(tcase, utf8_is_read_as_in_the_model);
    tcase_add_test(tcase, what_is_no_utf8);
    tcase_add_test(tcase, what_is_no_number);
    tcase_add_test(tcase, too_long);
    tcase_add_test(tcase, a_long_value_is_cut);
    tcase_add_test(tcase, levels);
    tcase_add_test(tcase, lines_do_not_mix);
    tcase_add_test(tcase, unread_lines_are_dropped);
    tcase_add_test(tcase, stopping_waits_for_nobody);
    tcase_add_test(tcase, stopping_writes_the_rest);
    tcase_add_test(tcase, a_file_gets_every_line);
    tcase_add_test(tcase, what_cannot_be_written_is_counted);
    suite_add_tcase(suite, tcase);
    return suite;
}
