/* API keys over HTTP: which endpoints require one, in both dialects, and the effect of SIGHUP. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct daemon served;
static char file[] = "/tmp/alignd-keys-XXXXXX";
static char header[HEADER_BYTES],
    secret[HEADER_BYTES]; /* a user's key, and the header that holds it */

static void append(const char *text, const char *mode) {
    FILE *out = fopen(file, mode);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
}

/* `alignd key`: its line goes to the file. */
static void make_key(const char *name, const char *mode) {
    struct outcome outcome;
    program_run(ARGUMENTS("key", "--name", name), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    const char *key = strrchr(outcome.err, ' ') + 1;
    snprintf(secret, sizeof secret, "%.*s", (int)strcspn(key, "\n"), key);
    ck_assert_uint_gt(strlen(secret), 40);
    ck_assert_int_lt(snprintf(header, sizeof header, "Authorization: Bearer %.200s", secret),
                     (int)sizeof header);
    ck_assert_ptr_null(strstr(outcome.out, secret));
    append(outcome.out, mode);
    outcome_done(&outcome);
}

static void setup(void) {
    close(mkstemp(file));
    make_key("alice", "w");
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--api-keys", file, "--log-level", "debug"));
}

static void teardown(void) {
    ck_assert(!daemon_logged(&served, secret));
    daemon_stop(&served);
    unlink(file);
}

static void check(const struct call *call, long status, const char *code) {
    struct reply reply;
    char value[HEADER_BYTES];
    client_send(&served, call, &reply);
    ck_assert_msg(reply.status == status, "%s: %ld %s", call->path, reply.status,
                  reply.body ? reply.body : "");
    if (code) {
        ck_assert_str_eq(text_at(reply.json, "code"), code);
        ck_assert_uint_gt(strlen(text_at(reply.json, "error")), 0);
    }
    ck_assert_int_eq(reply_header(&reply, "WWW-Authenticate", value), status == 401);
    reply_done(&reply);
}

START_TEST(open_endpoints) {
    static const char *const paths[] = {
        "/health",       "/ready",     "/metrics", "/models",
        "/openapi.json", "/languages", "/",        "/frontend/settings"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check(&(struct call){.path = paths[i]}, 200, NULL);
    check(&(struct call){.method = "OPTIONS", .path = "/translate"}, 204, NULL);
}
END_TEST

START_TEST(guarded_endpoints) {
    static const struct call calls[] = {
        {.path = "/translate", .json = "{'text': 'x'}"},
        {.path = "/attention", .json = "{'text': 'x'}"},
        {.path = "/translate", .json = "{'text': 'x', 'stream': true}"},
        {.path = "/translate", .json = "{'q': 'x', 'source': 'en', 'target': 'fr'}"},
        {.path = "/detect", .json = "{'q': 'x'}"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct call call = calls[i];
        check(&call, 401, "unauthorized");
        call.headers[0] = "X-Api-Key: alignd-0000";
        check(&call, 403, "forbidden");
        call.headers[0] = header;
        check(&call, 200, NULL);
    }
    check(&(struct call){.path = "/translate", .json = "{"}, 401, "unauthorized");
    check(&(struct call){.path = "/translate?text=x"}, 401, "unauthorized");
    check(&(struct call){.path = "/translate?text=x", .headers = {"X-Api-Key: wrong"}}, 403,
          "forbidden");
    check(&(struct call){.path = "/translate?text=x", .headers = {header}}, 200, NULL);
    daemon_await_log(&served, "endpoint=/detect status=200");
    ck_assert(daemon_logged(&served, " key=alice\n"));
}
END_TEST

/* Where LibreTranslate's clients put it. */
START_TEST(field_of_libretranslate) {
    char json[512], form[512], query[512];
    snprintf(json, sizeof json, "{'q': 'x', 'source': 'en', 'target': 'fr', 'api_key': '%s'}",
             secret);
    snprintf(form, sizeof form, "q=x&source=en&target=fr&api_key=%s", secret);
    snprintf(query, sizeof query, "/translate?q=x&source=en&target=fr&api_key=%s", secret);
    check(&(struct call){.path = "/translate", .json = json}, 200, NULL);
    check(&(struct call){.path = "/translate", .body = form}, 200, NULL);
    check(&(struct call){.method = "POST", .path = query}, 200, NULL);
    check(&(struct call){.path = "/translate",
                         .json = "{'q': 'x', 'source': 'en', 'target': 'fr', 'api_key': 'wrong'}"},
          403, "forbidden");
    check(&(struct call){.path = "/translate",
                         .json = "{'q': 'x', 'source': 'en', 'target': 'fr', 'api_key': null}"},
          401, "unauthorized");
    check(&(struct call){.path = "/translate",
                         .json = "{'q': 'x', 'source': 'en', 'target': 'fr', 'api_key': ''}"},
          401, "unauthorized");
    check(&(struct call){.path = "/translate", .body = "q=x&source=en&target=fr&api_key="}, 401,
          "unauthorized");
    check(&(struct call){.path = "/translate", .body = "q=x&source=en&target=fr&api_key=x"}, 403,
          "forbidden");
    struct reply reply;
    client_send(&served, &(struct call){.path = "/frontend/settings"}, &reply);
    ck_assert(json_is_true(json_at(reply.json, "apiKeys")) &&
              json_is_true(json_at(reply.json, "keyRequired")));
    reply_done(&reply);
}
END_TEST

START_TEST(description) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/openapi.json"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "components.securitySchemes.bearer.scheme"), "bearer");
    ck_assert_str_eq(text_at(reply.json, "components.securitySchemes.header.name"), "X-Api-Key");
    const json_t *paths = json_at(reply.json, "paths");
    ck_assert_uint_eq(
        json_array_size(json_at(json_object_get(paths, "/translate"), "post.security")), 2);
    json_at(json_object_get(paths, "/detect"), "post.responses.401");
    ck_assert_uint_eq(json_array_size(json_object_get(
                          json_at(json_object_get(paths, "/models"), "get"), "security")),
                      0);
    reply_done(&reply);
}
END_TEST

START_TEST(hangup_reads_the_file_again) {
    char before[HEADER_BYTES];
    strcpy(before, header);
    struct call call = {.path = "/translate", .json = "{'text': 'x'}", .headers = {before}};
    append("broken\n", "a");
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    daemon_await_log(&served,
                     ", line 2: a line must be NAME ROLE HASH, optionally followed by limits");
    check(&call, 200, NULL);
    make_key("bob", "w");
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    daemon_await_log(&served, "event=reloaded what=api_keys");
    check(&call, 403, "forbidden");
    call.headers[0] = header;
    check(&call, 200, NULL);
}
END_TEST

/* ---- limits ---- */

/* alice's key with these, and a daemon that knows it. */
static void start_with_limits(const char *limits) {
    struct outcome outcome;
    daemon_stop(&served);
    program_run(ARGUMENTS("key", "--name", "alice", "--limits", limits), NULL, &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    const char *key = strrchr(outcome.err, ' ') + 1;
    snprintf(secret, sizeof secret, "%.*s", (int)strcspn(key, "\n"), key);
    snprintf(header, sizeof header, "Authorization: Bearer %.200s", secret);
    append(outcome.out, "w");
    outcome_done(&outcome);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--api-keys", file, "--log-level", "debug"));
}

START_TEST(a_rate_of_its_own) {
    struct call call = {.path = "/translate", .json = "{'text': 'x'}", .headers = {header}};
    start_with_limits("rate=0.001 burst=2");
    check(&call, 200, NULL);
    check(&call, 200, NULL);
    check(&call, 429, "rate_limited");
}
END_TEST

/* "A boy plays." has 12 characters. */
START_TEST(a_quota_of_the_day) {
    char deepl[HEADER_BYTES], retry[HEADER_BYTES];
    struct reply reply;
    start_with_limits("daily=30");
    snprintf(deepl, sizeof deepl, "Authorization: DeepL-Auth-Key %.200s", secret);
    struct call call = {.path = "/translate",
                        .json = "{'text': 'A boy plays.'}",
                        .headers = {header}},
                other = {.path = "/v2/translate",
                         .json = "{'text': ['A boy plays.'], 'target_lang': 'FR'}",
                         .headers = {deepl}},
                count = {.path = "/v2/usage", .headers = {deepl}};
    check(&call, 200, NULL);
    check(&other, 200, NULL);
    client_send(&served, &call, &reply);
    ck_assert_int_eq(reply.status, 429);
    ck_assert_str_eq(text_at(reply.json, "code"), "quota_exceeded");
    ck_assert(reply_header(&reply, "Retry-After", retry));
    reply_done(&reply);
    client_send(&served, &other, &reply);
    ck_assert_int_eq(reply.status, 456);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "message"), "30 characters a day"));
    reply_done(&reply);
    client_send(&served, &count, &reply);
    ck_assert_int_eq(json_integer_value(json_at(reply.json, "character_count")), 24);
    ck_assert_int_eq(json_integer_value(json_at(reply.json, "character_limit")), 30);
    reply_done(&reply);
    check(&(struct call){.path = "/translate", .json = "{'text': 'snow'}", .headers = {header}},
          200, NULL);
    ck_assert_double_eq(metric(&served, "alignd_rejected_total{reason=\"quota\"}"), 2);
}
END_TEST

START_TEST(models_of_its_own) {
    struct call call = {.path = "/translate", .json = "{'text': 'x'}", .headers = {header}};
    start_with_limits("models=luong-general-gru");
    check(&call, 200, NULL);
    start_with_limits("models=other");
    check(&call, 403, "forbidden");
    call.json = "{'text': 'x', 'model': 'luong-general-gru'}";
    check(&call, 403, "forbidden");
}
END_TEST

/* Other models' languages are in no list that the key is shown, whatever dialect lists them. */
START_TEST(lists_have_its_models) {
    static const char *const paths[] = {"/models",
                                        "/languages",
                                        "/languages?api-version=3.0",
                                        "/v2/languages",
                                        "/v2/languages?type=target",
                                        "/v2/glossary-language-pairs",
                                        "/language/translate/v2/languages",
                                        "/frontend/settings"};
    char folder[] = FOLDER_TEMPLATE;
    folder_make(folder, "other", "nl", "nb");
    start_with_limits("models=luong-general-gru");
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", folder, "--model", MODEL, "--api-keys", file));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        bool bilingual = strstr(paths[i], "settings") !=
                         NULL; /* it has the languages of the first model alone */
        for (int keyed = 0; keyed < 2; keyed++) {
            struct call call = {.path = paths[i], .headers = {keyed ? header : NULL}};
            struct reply reply;
            client_send(&served, &call, &reply);
            bool has = strcasestr(reply.body, "\"nl\"") || strcasestr(reply.body, "\"nb\"") ||
                       strstr(reply.body, "other");
            bool own = strcasestr(reply.body, "\"en\"") || strcasestr(reply.body, "\"fr\"");
            ck_assert_msg(reply.status == 200 && has == !keyed && own == (keyed || !bilingual),
                          "%s: %s", paths[i], reply.body);
            reply_done(&reply);
        }
    }
    start_with_limits("models=none");
    check(&(struct call){.path = "/languages", .headers = {header}}, 200, NULL);
    check(&(struct call){.path = "/languages", .headers = {"Authorization: Bearer wrong"}}, 200,
          NULL);
    folder_remove(folder);
}
END_TEST

#define ADMITTED(priority)                                                                         \
    metric(&served, "alignd_sentences_admitted_total{priority=\"" priority "\"}")

/* A request may ask for less than its key has, never for more. */
START_TEST(a_priority_of_its_own) {
    struct call call = {.path = "/translate", .json = "{'text': 'x'}", .headers = {header}};
    start_with_limits("rate=1000");
    check(&call, 200, NULL);
    call.headers[1] = "X-Priority: batch";
    check(&call, 200, NULL);
    ck_assert_double_eq(ADMITTED("interactive"), 1);
    ck_assert_double_eq(ADMITTED("batch"), 1);
    start_with_limits("priority=batch");
    call.headers[1] = NULL;
    check(&call, 200, NULL);
    call.headers[1] = "X-Priority: interactive";
    check(&call, 200, NULL);
    ck_assert_double_eq(ADMITTED("interactive"), 0);
    ck_assert_double_eq(ADMITTED("batch"), 2);
}
END_TEST

START_TEST(limits_that_are_none) {
    struct outcome outcome;
    program_run(ARGUMENTS("key", "--name", "alice", "--limits", "rate=often"), NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: rate must be a number above 0\n");
    outcome_done(&outcome);
}
END_TEST

START_TEST(unusable_file) {
    struct outcome outcome;
    program_run(
        ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--api-keys", "/nonexistent"), NULL,
        &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: cannot open /nonexistent: No such file or directory\n");
    outcome_done(&outcome);
}
END_TEST

Suite *access_suite(void) {
    Suite *suite = suite_create("access");
    TCase *keys = tcase_create("keys"), *start = tcase_create("start");
    tcase_add_checked_fixture(keys, setup, teardown);
    tcase_set_timeout(keys, TEST_TIMEOUT_S);
    tcase_add_test(keys, open_endpoints);
    tcase_add_test(keys, guarded_endpoints);
    tcase_add_test(keys, field_of_libretranslate);
    tcase_add_test(keys, description);
    tcase_add_test(keys, hangup_reads_the_file_again);
    tcase_add_test(keys, a_rate_of_its_own);
    tcase_add_test(keys, a_quota_of_the_day);
    tcase_add_test(keys, models_of_its_own);
    tcase_add_test(keys, lists_have_its_models);
    tcase_add_test(keys, a_priority_of_its_own);
    suite_add_tcase(suite, keys);
    tcase_set_timeout(start, TEST_TIMEOUT_S);
    tcase_add_test(start, limits_that_are_none);
    tcase_add_test(start, unusable_file);
    suite_add_tcase(suite, start);
    return suite;
}
