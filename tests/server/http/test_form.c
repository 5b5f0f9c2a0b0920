/* server/http/message: the fields of urlencoded and multipart bodies, and where forms end. */
#include "server/http/form.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URLENCODED "application/x-www-form-urlencoded"
#define MULTIPART  "multipart/form-data; boundary=XX"
#define PART(name) "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static struct arena arena;
static struct form_fields fields;
static struct error err;

static void setup(void) {
    arena_init(&arena, 4096);
}

static void teardown(void) {
    arena_done(&arena);
}

static int parse(const char *content_type, const char *body, size_t length) {
    fields = (struct form_fields){.arena = &arena};
    err = (struct error){0};
    return form_parse(&fields, content_type, body, length, &err);
}

/* expected: "name=value" each, up to NULL. */
static void check_fields(const char *content_type, const char *body, const char *const *expected) {
    ck_assert_msg(parse(content_type, body, strlen(body)) == 0, "%s: %s", body, err.message);
    for (size_t i = 0; i < fields.count; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s=%s", fields.all[i].name, fields.all[i].value);
        ck_assert_msg(expected[i] && strcmp(line, expected[i]) == 0, "%s: %zu: %s", body, i, line);
        ck_assert_uint_eq(fields.all[i].length, strlen(fields.all[i].value));
    }
    ck_assert_msg(!expected[fields.count], "%s: %zu fields", body, fields.count);
}

static void check_refused(const char *content_type, const char *body, const char *message) {
    ck_assert_msg(parse(content_type, body, strlen(body)) == -1, "%s", body);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, message);
}

#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(types) {
    static const char *const forms[] = {URLENCODED, URLENCODED "; charset=utf-8",
                                        "Application/X-WWW-Form-Urlencoded", MULTIPART,
                                        "multipart/form-data"};
    static const char *const others[] = {
        "application/json",   "text/plain",           "",
        "multipart/form-dat", "multipart/form-datas", "multipart/mixed"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        ck_assert_msg(form_is(forms[i]), "%s", forms[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!form_is(others[i]), "%s", others[i]);
    ck_assert(!form_is(NULL));
}
END_TEST

START_TEST(urlencoded) {
    check_fields(URLENCODED, "q=a+b%20c%C3%a9&source=en", FIELDS("q=a b c\xc3\xa9", "source=en"));
    check_fields(URLENCODED, "&&q=1&&q=2&", FIELDS("q=1", "q=2"));
    check_fields(URLENCODED, "q=a=b==&x&y=", FIELDS("q=a=b==", "x=", "y="));
    check_fields(URLENCODED, "q=100%&r=%zz&s=%4&%71=x", FIELDS("q=100%", "r=%zz", "s=%4", "q=x"));
    check_fields(URLENCODED, "q=two\nlines\r\n", FIELDS("q=two\nlines"));
    check_fields(URLENCODED, "", FIELDS(NULL));
    check_fields(URLENCODED, "=x", FIELDS("=x"));
    ck_assert_int_eq(parse(URLENCODED, "q=a%00b\0c", 9), 0);
    ck_assert_uint_eq(fields.all[0].length, 5);
    ck_assert_int_eq(memcmp(fields.all[0].value, "a\0b\0c", 6), 0);
    check_refused(URLENCODED, "q%00x=y", "the name of a field contains a zero byte");
}
END_TEST

START_TEST(multipart) {
    check_fields(MULTIPART, PART("q") "a\r\n" PART("r") "two\r\nlines\r\n--XX--\r\n",
                 FIELDS("q=a", "r=two\r\nlines"));
    check_fields(MULTIPART, "preamble\r\n" PART("q") "\r\n" PART("q") " --XX\r\n--XX-- after",
                 FIELDS("q=", "q= --XX"));
    check_fields(MULTIPART, PART("q") "\r\n--XXX\r\n\r\n--XX--", FIELDS("q=\r\n--XXX\r\n"));
    check_fields(MULTIPART, "--XX--", FIELDS(NULL));
    check_fields(MULTIPART,
                 "--XX \t\r\ncontent-disposition:form-data; filename=\"a;name=b\" ; name = x; "
                 "NAME=q\r\nX: y\r\n\r\n1\r\n--XX--",
                 FIELDS("q=1"));
    check_fields("multipart/form-data; charset=utf-8; Boundary=\"X\"; x=y",
                 "--X\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n1\r\n--X--\r\n",
                 FIELDS("q=1"));
}
END_TEST

START_TEST(damaged_multipart) {
    static const char boundary[] =
        "the content type multipart/form-data must have a boundary of 1 to 70 characters";
    char type[128] = "multipart/form-data; boundary=", body[128] = "--";
    check_refused("multipart/form-data", "--XX--", boundary);
    check_refused("multipart/form-data; boundary=", "--XX--", boundary);
    check_refused("multipart/form-data; boundary=\"\"", "--XX--", boundary);
    memset(type + strlen(type), 'x', 70);
    memset(body + strlen(body), 'x', 70);
    strcat(body, "--");
    check_fields(type, body, FIELDS(NULL));
    strcat(type, "x");
    check_refused(type, body, boundary);
    check_refused(MULTIPART, "q=x",
                  "the form does not contain the boundary given in its content type");
    check_refused(MULTIPART, "--XXX\r\n",
                  "the form does not contain the boundary given in its content type");
    check_refused(MULTIPART, PART("q") "a", "the form ends in the middle of a part");
    check_refused(MULTIPART, "--XX\r\nContent-Disposition: form-data; name=\"q\"\r\n--XX--",
                  "a part of the form has no empty line after its headers");
    check_refused(MULTIPART, "--XX\r\n\r\nx\r\n--XX--", "a part of the form has no name");
    check_refused(MULTIPART,
                  "--XX\r\nContent-Disposition: form-data; filename=\"q\"\r\n\r\nx\r\n--XX--",
                  "a part of the form has no name");
}
END_TEST

/* Each of 512 bytes: nothing runs into another. */
START_TEST(most_fields) {
    enum { BYTES = 512 };
    char *body = malloc((FORM_MOST_FIELDS + 1) * (BYTES + 3) + 1), *end = body;
    for (int i = 0; i <= FORM_MOST_FIELDS; i++)
        end += sprintf(end, "q=%0*d&", BYTES, i);
    ck_assert_int_eq(parse(URLENCODED, body, (size_t)(end - body) - BYTES - 3), 0);
    ck_assert_uint_eq(fields.count, FORM_MOST_FIELDS);
    ck_assert_uint_eq(fields.all[FORM_MOST_FIELDS - 1].length, BYTES);
    check_refused(URLENCODED, body, "a form must have at most 256 fields");
    free(body);
}
END_TEST

Suite *form_suite(void) {
    Suite *suite = suite_create("form");
    TCase *tcase = tcase_create("form");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, types);
    tcase_add_test(tcase, urlencoded);
    tcase_add_test(tcase, multipart);
    tcase_add_test(tcase, damaged_multipart);
    tcase_add_test(tcase, most_fields);
    suite_add_tcase(suite, tcase);
    return suite;
}
