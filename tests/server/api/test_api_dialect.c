/* server/api/decode: the dialect of a request, and of its refusal. */
#include "server/api/dialect.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/dialects/deepl.h"
#include "server/dialects/microsoft.h"
#include "server/dialects/plain.h"
#include "server/endpoints/routes.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

static struct reply reply;

static void setup(void) {
    reply = (struct reply){0};
}

static void teardown(void) {
    free(reply.body);
}

/* Each row is found by its own fields and no other's; q beside text is not LibreTranslate's. */
START_TEST(fields_tell) {
    static const struct {
        const char *fields[3];
        bool translate, libre;
    } cases[] = {
        {{"text"}, true, false},
        {{"q"}, false, true},
        {{"text", "q"}, true, false},
        {{"source"}, false, false},
        {{"source", "target"}, false, true},
        {{"api_key"}, false, true},
        {{"beam_size"}, false, false},
        {{NULL}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct api_field sent[3];
        struct call call = {.fields = sent};
        for (; call.field_count < 3 && cases[i].fields[call.field_count]; call.field_count++)
            sent[call.field_count] = (struct api_field){.name = cases[i].fields[call.field_count]};
        struct dialect_fields fields = {.call = &call};
        ck_assert_int_eq(dialect_translate.speaks(&fields), cases[i].translate);
        ck_assert_int_eq(dialect_attention.speaks(&fields), cases[i].translate);
        ck_assert_int_eq(dialect_libre.speaks(&fields), cases[i].libre);
    }
}
END_TEST

/* A JSON object's fields count, whatever the query string says. */
START_TEST(an_object_counts_alone) {
    struct api_field sent = {.name = "text"};
    struct call call = {.fields = &sent, .field_count = 1};
    json_t *root = json_pack("{s:n}", "q");
    struct dialect_fields fields = {root, &call};
    ck_assert(!dialect_has(&fields, "text"));
    ck_assert(dialect_has(&fields, "q"));
    json_decref(root);
}
END_TEST

/* The query string's api-version tells, whatever the body is. */
START_TEST(microsoft_is_told_by_its_version) {
    struct api_field sent = {.name = "api-version"};
    struct call call = {.fields = &sent, .field_count = 1};
    json_t *body = json_array();
    struct dialect_fields fields = {body, &call}, none = {body, &(struct call){0}};
    ck_assert(dialect_microsoft.speaks(&fields) && dialect_microsoft_detect.speaks(&fields));
    ck_assert(!dialect_microsoft.speaks(&none));
    ck_assert(!dialect_translate.speaks(&fields) && !dialect_libre.speaks(&fields) &&
              !dialect_libre_detect.speaks(&fields));
    json_decref(body);
}
END_TEST

/* Its clients know 403 and 456, and no 401. */
START_TEST(deepl_has_statuses_of_its_own) {
    reply.dialect = &dialect_deepl;
    reply_fail(&reply, STATUS_UNAUTHORIZED, NULL, "no key");
    ck_assert_uint_eq(reply.status, 403);
    ck_assert_str_eq(reply.body, "{\"message\":\"no key\"}");
    reply_fail_coded(&reply, STATUS_QUEUE_FULL, "quota_exceeded", NULL, "enough");
    ck_assert_uint_eq(reply.status, 456);
    reply_fail(&reply, STATUS_QUEUE_FULL, NULL, "full");
    ck_assert_uint_eq(reply.status, 429);
}
END_TEST

START_TEST(paths_have_one) {
    size_t index;
    ck_assert_ptr_eq(route_dialect(routes_find("/translate", "POST", &index)), &dialect_translate);
    ck_assert_ptr_eq(route_dialect(routes_find("/attention", "POST", &index)), &dialect_attention);
    ck_assert_ptr_null(route_dialect(routes_find("/models", "GET", &index)));
    ck_assert_ptr_null(route_dialect(routes_find("/translate/", "POST", &index)));
}
END_TEST

static void put_message(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_string(w, "message", error->message);
    writer_count(w, "status", error->status);
    writer_end_object(w);
}

/* An error has its shape, and so has the one that takes its place. */
START_TEST(errors_have_its_shape) {
    static const struct dialect own = {.put_error = put_message};
    reply.dialect = &own;
    reply_fail(&reply, STATUS_INVALID, "q", "no %s", "q");
    ck_assert_str_eq(reply.body, "{\"message\":\"no q\",\"status\":400}");
    reply_fail_unready(SERVICE_LOADING, &reply);
    ck_assert_str_eq(reply.body, "{\"message\":\"the models are still loading\",\"status\":503}");
    ck_assert_uint_eq(reply.retry_after_s, 1);
}
END_TEST

/* LibreTranslate's clients wait where they read Slowdown, and there only. */
START_TEST(libre_slows_down) {
    reply.dialect = &dialect_libre;
    reply_fail(&reply, STATUS_QUEUE_FULL, NULL, "the queue is full");
    ck_assert_str_eq(reply.body,
                     "{\"error\":\"Slowdown: the queue is full\",\"code\":\"queue_full\"}");
    reply_fail(&reply, STATUS_INVALID, "q", "no q");
    ck_assert_str_eq(reply.body,
                     "{\"error\":\"no q\",\"code\":\"invalid_request\",\"field\":\"q\"}");
}
END_TEST

Suite *api_dialect_suite(void) {
    Suite *suite = suite_create("api_dialect");
    TCase *tests = tcase_create("api_dialect");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, fields_tell);
    tcase_add_test(tests, an_object_counts_alone);
    tcase_add_test(tests, microsoft_is_told_by_its_version);
    tcase_add_test(tests, deepl_has_statuses_of_its_own);
    tcase_add_test(tests, paths_have_one);
    tcase_add_test(tests, errors_have_its_shape);
    tcase_add_test(tests, libre_slows_down);
    suite_add_tcase(suite, tests);
    return suite;
}
