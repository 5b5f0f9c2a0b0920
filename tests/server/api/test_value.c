/* server/api/json: replies from written JSON, and from a writer that failed. */
#include "server/api/answer.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

static struct metrics *metrics;
static const struct options options = {.max_reply_bytes = 20};
static struct service service;
static struct reply reply;
static struct writer w;

static void setup(void) {
    metrics = metrics_create((const char *[]){"/"}, 1, NULL);
    service = (struct service){.options = &options, .metrics = metrics};
    reply = (struct reply){0};
    w = answer_begin(&service);
}

static void teardown(void) {
    free(reply.body);
    metrics_free(metrics);
}

static void write_text(size_t length) {
    char text[100];
    memset(text, 'x', sizeof text);
    writer_string_of(&w, NULL, text, length);
    answer_reply(&service, &reply, &w);
}

START_TEST(what_was_written) {
    write_text(18);
    ck_assert_uint_eq(reply.status, STATUS_OK);
    ck_assert_str_eq(reply.body, "\"xxxxxxxxxxxxxxxxxx\"");
    ck_assert_uint_eq(reply.length, 20);
}
END_TEST

START_TEST(too_long) {
    write_text(19);
    ck_assert_uint_eq(reply.status, STATUS_TOO_LARGE);
    ck_assert_uint_eq(reply.length, strlen(reply.body));
    ck_assert_str_eq(reply.body, "{\"error\":\"the reply must have at most 20 bytes, but would "
                                 "have more\",\"code\":\"too_large\"}");
}
END_TEST

START_TEST(want_of_memory) {
    writer_fail(&w);
    write_text(1);
    ck_assert_uint_eq(reply.status, STATUS_UNAVAILABLE);
    ck_assert_uint_eq(reply.retry_after_s, 1);
    ck_assert_str_eq(reply.body,
                     "{\"error\":\"the server is out of memory\",\"code\":\"unavailable\"}");
}
END_TEST

/* A field's name is a client's: it is cut between characters. */
START_TEST(errors) {
    char field[70];
    memset(field, 'a', 63);
    strcpy(field + 63, "\xc3\xa9\"");
    reply_fail(&reply, STATUS_INVALID, field, "a \"%s\"\n", "b");
    ck_assert_uint_eq(reply.status, STATUS_INVALID);
    field[63] = '\0';
    const char *begin = "{\"error\":\"a \\\"b\\\"\\n\",\"code\":\"invalid_request\",\"field\":\"";
    ck_assert_int_eq(strncmp(reply.body, begin, strlen(begin)), 0);
    ck_assert_int_eq(strncmp(reply.body + strlen(begin), field, 63), 0);
    ck_assert_str_eq(reply.body + strlen(begin) + 63, "\"}");
    reply_fail(&reply, STATUS_DEADLINE, NULL, "cut within: \xc3");
    ck_assert_str_eq(reply.body, "{\"error\":\"cut within: ?\",\"code\":\"deadline_exceeded\"}");
}
END_TEST

/* JSON that jansson read without enough memory may look complete; the failure is reported once. */
START_TEST(jansson_lacks_memory) {
    value_init();
    ck_assert(!value_lacked_memory());
    ck_assert_ptr_null(json_stringn_nocheck("", (size_t)PTRDIFF_MAX));
    ck_assert(value_lacked_memory());
    ck_assert(!value_lacked_memory());
}
END_TEST

Suite *api_json_suite(void) {
    Suite *suite = suite_create("api_json");
    TCase *tests = tcase_create("api_json");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_was_written);
    tcase_add_test(tests, too_long);
    tcase_add_test(tests, want_of_memory);
    tcase_add_test(tests, errors);
    tcase_add_test(tests, jansson_lacks_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
