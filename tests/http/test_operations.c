/* Endpoints for operators and browsers: health, readiness, models, metrics, request ids, CORS, HEAD
 * and OPTIONS. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/storage-int8",
                                    "--workers", "1"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void get(const char *path, struct reply *reply) {
    client_send(&served, &(struct call){.path = path}, reply);
    ck_assert_int_eq(reply->status, 200);
}

static void check_header(const struct reply *reply, const char *name, const char *expected) {
    char value[HEADER_BYTES];
    ck_assert_msg(reply_header(reply, name, value), "no header %s in\n%s", name, reply->headers);
    ck_assert_str_eq(value, expected);
}

START_TEST(health_and_ready) {
    struct reply reply;
    get("/health", &reply);
    ck_assert_str_eq(reply.body, "{\"status\":\"ok\"}");
    reply_done(&reply);
    get("/health?probe=1", &reply);
    reply_done(&reply);
    get("/ready", &reply);
    ck_assert_str_eq(text_at(reply.json, "status"), "ready");
    reply_done(&reply);
}
END_TEST

START_TEST(models) {
    struct reply reply;
    get("/models", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "models")), 2);
    const json_t *model = json_at(reply.json, "models.0");
    ck_assert_str_eq(text_at(model, "name"), "luong-general-gru");
    ck_assert_str_eq(text_at(model, "source"), "en");
    ck_assert_str_eq(text_at(model, "target"), "fr");
    ck_assert_str_eq(text_at(model, "task"), "translation");
    ck_assert_uint_gt(strlen(text_at(model, "architecture")), 0);
    ck_assert_double_gt(number_at(model, "parameters"), 0);
    ck_assert_str_eq(text_at(model, "storage"), "float32");
    ck_assert_double_eq(number_at(model, "limits.max_source_tokens"), 40);
    ck_assert_double_eq(number_at(model, "limits.max_target_ratio"), 1.5);
    ck_assert_str_eq(text_at(reply.json, "models.1.name"), "storage-int8");
    ck_assert_str_eq(text_at(reply.json, "models.1.storage"), "int8");
    ck_assert_str_eq(text_at(reply.json, "models.0.defaults.compute"), "float32");
    ck_assert_str_eq(text_at(reply.json, "models.1.compute"), "int8"); /* as it is stored */
    ck_assert_str_eq(text_at(reply.json, "models.1.defaults.compute"), "int8");
    ck_assert(json_is_false(json_at(reply.json, "models.1.defaults.shortlist")));
    reply_done(&reply);
}
END_TEST

/* ---- metrics ---- */

START_TEST(metrics_count) {
    struct reply reply;
    client_post(&served, "/translate", "{'text': 'A boy plays. The dog runs.'}", 200, &reply);
    size_t source = 0, target = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *sentence = json_array_get(json_at(reply.json, "translations.0.sentences"), i);
        source += json_array_size(json_at(sentence, "source_tokens"));
        target += json_array_size(json_at(sentence, "tokens"));
    }
    reply_done(&reply);
    client_post(&served, "/attention", "{}", 400, &reply);
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/a/path/of/no/interest"}, &reply);
    reply_done(&reply);
    metric_await(&served, "alignd_requests_total{endpoint=\"/translate\",code=\"200\"}", 1, NULL);
    metric_await(&served, "alignd_requests_total{endpoint=\"/attention\",code=\"400\"}", 1, NULL);
    metric_await(&served, "alignd_requests_total{endpoint=\"other\",code=\"404\"}", 1, NULL);
    metric_await(&served, "alignd_source_tokens_total{model=\"luong-general-gru\"}", (double)source,
                 NULL);
    metric_await(&served, "alignd_target_tokens_total{model=\"luong-general-gru\"}", (double)target,
                 NULL);
    metric_await(&served, "alignd_source_tokens_total{model=\"storage-int8\"}", 0, NULL);
    metric_await(&served, "alignd_queue_duration_seconds_count", 2, NULL);
    metric_await(&served, "alignd_request_duration_seconds_count{endpoint=\"/translate\"}", 1,
                 NULL);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    metric_await(&served, "alignd_queue_depth", 0, NULL);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL); /* the one that asks */
}
END_TEST

/* Every sample follows its # TYPE line; histograms rise and end with +Inf equal to the count. */
START_TEST(metrics_are_well_formed) {
    struct reply reply;
    get("/metrics", &reply);
    char type[HEADER_BYTES], family[128] = "";
    ck_assert(reply_header(&reply, "Content-Type", type));
    ck_assert_str_eq(type, "text/plain; version=0.0.4; charset=utf-8");
    ck_assert_int_eq(reply.body[reply.length - 1], '\n');
    double last = 0;
    for (char *line = strtok(reply.body, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '#') {
            if (sscanf(line, "# TYPE %127s", family) == 1)
                last = 0;
            continue;
        }
        ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s outside of its family %s",
                      line, family);
        const char *value = strrchr(line, ' ');
        char *end;
        ck_assert_ptr_nonnull(value);
        double number = strtod(value, &end);
        ck_assert_msg(*end == '\0', "%s", line);
        bool bucket = strstr(line, "_bucket{") != NULL;
        ck_assert_msg(!bucket || number >= last, "%s falls", line);
        last = bucket && !strstr(line, "+Inf") ? number : 0;
    }
    reply_done(&reply);
}
END_TEST

/* The whole list, each with its type. */
START_TEST(metrics_are_complete) {
    static const char *const families[] = {
        "alignd_requests_total counter",
        "alignd_request_duration_seconds histogram",
        "alignd_queue_duration_seconds histogram",
        "alignd_step_duration_seconds histogram",
        "alignd_step_rows histogram",
        "alignd_queue_depth gauge",
        "alignd_requests_in_flight gauge",
        "alignd_rows_live gauge",
        "alignd_source_tokens_total counter",
        "alignd_target_tokens_total counter",
        "alignd_unknown_tokens_total counter",
        "alignd_cancelled_total counter",
        "alignd_rejected_total counter",
        "alignd_model_load_duration_seconds gauge",
        "alignd_model_info gauge",
        "alignd_model_loaded gauge",
        "alignd_models_bytes gauge",
        "alignd_model_loads_total counter",
        "alignd_model_unloads_total counter",
        "alignd_model_sets gauge",
        "alignd_models_reloads_total counter",
        "alignd_cache_hits_total counter",
        "alignd_cache_misses_total counter",
        "alignd_cache_bytes gauge",
        "alignd_build_info gauge",
        "process_cpu_seconds_total counter",
        "process_virtual_memory_bytes gauge",
        "process_resident_memory_bytes gauge",
        "process_open_fds gauge",
        "process_max_fds gauge",
        "process_start_time_seconds gauge",
    };
    struct reply reply;
    get("/metrics", &reply);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char line[128];
        snprintf(line, sizeof line, "\n# TYPE %s\n", families[i]);
        ck_assert_msg(strstr(reply.body, line) != NULL, "no %s", families[i]);
    }
    reply_done(&reply);
}
END_TEST

START_TEST(metrics_of_models_and_build) {
    struct reply reply;
    get("/metrics", &reply);
    ck_assert_ptr_nonnull(
        strstr(reply.body,
               "\nalignd_model_info{model=\"luong-general-gru\",source=\"en\",target=\"fr\","));
    ck_assert_ptr_nonnull(strstr(reply.body, ",compute=\"float32\","));
    ck_assert(daemon_logged(&served, " compute=float32 mapped=0/"));
    ck_assert_ptr_nonnull(
        strstr(reply.body, "\nalignd_model_load_duration_seconds{model=\"storage-int8\"} "));
    ck_assert_ptr_nonnull(strstr(reply.body, "\nalignd_build_info{version=\""));
    ck_assert_ptr_nonnull(strstr(reply.body, "process_resident_memory_bytes "));
    ck_assert_ptr_nonnull(strstr(reply.body, "process_open_fds "));
    reply_done(&reply);
}
END_TEST

/* ---- headers ---- */

START_TEST(request_ids) {
    struct reply first, second;
    char a[HEADER_BYTES], b[HEADER_BYTES];
    get("/health", &first);
    get("/health", &second);
    ck_assert(reply_header(&first, "X-Request-Id", a) && reply_header(&second, "X-Request-Id", b));
    ck_assert_uint_gt(strlen(a), 0);
    ck_assert_str_ne(a, b);
    reply_done(&first);
    reply_done(&second);
    client_send(&served,
                &(struct call){.path = "/translate",
                               .json = "{'text': 'x'}",
                               .headers = {"X-Request-Id: my-id.42"}},
                &first);
    check_header(&first, "X-Request-Id", "my-id.42");
    reply_done(&first);
    client_send(&served, &(struct call){.path = "/nothing", .headers = {"X-Request-Id: lost"}},
                &first);
    check_header(&first, "X-Request-Id", "lost");
    reply_done(&first);
    for (struct patience patience = {0};
         !daemon_logged(&served, "id=my-id.42 method=POST endpoint=/translate status=200");)
        patience_wait(&patience, "the request's log line");
}
END_TEST

/* An id that would spoil a log line or a reply is replaced. */
START_TEST(unusable_request_ids) {
    char header[512] = "X-Request-Id: ";
    memset(header + strlen(header), 'x', 300);
    const char *const headers[] = {"X-Request-Id: a b", "X-Request-Id: \xc3\xa9", header};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct reply reply;
        char id[HEADER_BYTES];
        client_send(&served, &(struct call){.path = "/health", .headers = {headers[i]}}, &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert(reply_header(&reply, "X-Request-Id", id));
        ck_assert_uint_eq(strlen(id), 16);
        for (const char *c = id; *c; c++)
            ck_assert(isxdigit((unsigned char)*c));
        reply_done(&reply);
    }
}
END_TEST

START_TEST(head_requests) {
    static const char *const paths[] = {"/health", "/ready", "/models"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct reply whole, head;
        char length[32];
        get(paths[i], &whole);
        client_send(&served, &(struct call){.method = "HEAD", .path = paths[i]}, &head);
        ck_assert_int_eq(head.status, 200);
        ck_assert_uint_eq(head.length, 0);
        snprintf(length, sizeof length, "%zu", whole.length);
        check_header(&head, "Content-Length", length);
        check_header(&head, "Content-Type", "application/json; charset=utf-8");
        reply_done(&whole);
        reply_done(&head);
    }
    struct reply reply;
    client_send(&served, &(struct call){.method = "HEAD", .path = "/metrics"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    client_send(&served, &(struct call){.method = "HEAD", .path = "/detect"}, &reply);
    ck_assert_int_eq(reply.status, 405);
    check_header(&reply, "Allow", "POST, OPTIONS");
    reply_done(&reply);
}
END_TEST

START_TEST(preflight) {
    struct reply reply;
    client_send(&served,
                &(struct call){.method = "OPTIONS",
                               .path = "/translate",
                               .headers = {"Origin: https://example.org",
                                           "Access-Control-Request-Method: POST",
                                           "Access-Control-Request-Headers: content-type"}},
                &reply);
    ck_assert_int_eq(reply.status, 204);
    ck_assert_uint_eq(reply.length, 0);
    check_header(&reply, "Access-Control-Allow-Origin", "*");
    check_header(&reply, "Access-Control-Allow-Methods", "POST, GET, HEAD, OPTIONS");
    check_header(&reply, "Access-Control-Allow-Headers",
                 "Authorization, Content-Type, X-Api-Key, Ocp-Apim-Subscription-Key, "
                 "X-Goog-Api-Key, X-Deadline-Ms, X-Priority, "
                 "X-Request-Id, MCP-Protocol-Version");
    check_header(&reply, "Access-Control-Max-Age", "86400");
    check_header(&reply, "Allow", "POST, GET, HEAD, OPTIONS");
    reply_done(&reply);
    client_send(&served, &(struct call){.method = "OPTIONS", .path = "/models"}, &reply);
    ck_assert_int_eq(reply.status, 204);
    check_header(&reply, "Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
    reply_done(&reply);
}
END_TEST

/* Errors carry it too: a page could not read them otherwise. */
START_TEST(allowed_origin) {
    struct reply reply;
    client_post(&served, "/translate", "{}", 400, &reply);
    check_header(&reply, "Access-Control-Allow-Origin", "*");
    check_header(
        &reply, "Access-Control-Expose-Headers",
        "X-Request-Id, Retry-After, Content-Disposition, X-Alignd-Warnings, X-Alignd-Ignored");
    reply_done(&reply);
}
END_TEST

START_TEST(kept_connection) {
    CURL *connection = connection_open();
    for (int i = 0; i < 20; i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){.path = "/translate",
                                   .json = i % 2 ? "{'text': 'x'}" : "{",
                                   .connection = connection},
                    &reply);
        ck_assert_int_eq(reply.status, i % 2 ? 200 : 400);
        reply_done(&reply);
        long opened;
        curl_easy_getinfo(connection, CURLINFO_NUM_CONNECTS, &opened);
        ck_assert_int_eq(opened, i == 0);
    }
    curl_easy_cleanup(connection);
}
END_TEST

/* ---- with other options ---- */

/* The reply to a request from this origin; allowed: what Access-Control-Allow-Origin shall be,
 * NULL: not there. */
static void check_origin(const struct daemon *daemon, const char *method, const char *origin,
                         const char *allowed) {
    struct reply reply;
    char value[HEADER_BYTES];
    client_send(daemon, &(struct call){.method = method, .path = "/health", .headers = {origin}},
                &reply);
    ck_assert_int_eq(reply_header(&reply, "Access-Control-Allow-Origin", value), allowed != NULL);
    if (allowed)
        ck_assert_str_eq(value, allowed);
    ck_assert_int_eq(reply_header(&reply, "Access-Control-Allow-Headers", value),
                     allowed && strcmp(method, "OPTIONS") == 0);
    check_header(&reply, "X-Content-Type-Options", "nosniff");
    reply_done(&reply);
}

static void check_vary(const struct daemon *daemon, bool varies) {
    struct reply reply;
    char value[HEADER_BYTES];
    client_send(daemon, &(struct call){.path = "/health"}, &reply);
    ck_assert_int_eq(reply_header(&reply, "Vary", value), varies);
    if (varies)
        ck_assert_str_eq(value, "Origin");
    reply_done(&reply);
}

START_TEST(cors_list) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--cors",
                                    "https://example.org,http://localhost:3000"));
    check_origin(&daemon, "GET", "Origin: https://example.org", "https://example.org");
    check_origin(&daemon, "OPTIONS", "Origin: http://localhost:3000", "http://localhost:3000");
    check_origin(&daemon, "GET", "Origin: https://example.com", NULL);
    check_origin(&daemon, "OPTIONS", "Origin: https://example.org.evil.example", NULL);
    check_origin(&daemon, "GET", NULL, NULL);
    check_vary(&daemon, true);
    daemon_stop(&daemon);
}
END_TEST

START_TEST(cors_of_nobody) {
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--cors", ""));
    check_origin(&daemon, "GET", "Origin: https://example.org", NULL);
    check_vary(&daemon, false);
    daemon_stop(&daemon);
}
END_TEST

/* ---- while loading ---- */

static void check_loading(const struct daemon *daemon, const struct call *call) {
    struct reply reply;
    char seconds[HEADER_BYTES];
    client_send(daemon, call, &reply);
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(text_at(reply.json, "error"), "the models are still loading");
    ck_assert_str_eq(text_at(reply.json, "code"), "unavailable");
    ck_assert(reply_header(&reply, "Retry-After", seconds));
    ck_assert_int_ge(atoi(seconds), 1);
    reply_done(&reply);
}

START_TEST(loading) {
    char folder[] = FOLDER_TEMPLATE;
    struct daemon daemon;
    struct reply reply;
    folder_make_waiting(folder);
    daemon_launch(&daemon, ARGUMENTS("--model", folder));
    client_send(&daemon, &(struct call){.path = "/health"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    check_loading(&daemon, &(struct call){.path = "/ready"});
    check_loading(&daemon, &(struct call){.path = "/translate", .json = "{'text': 'x'}"});
    check_loading(&daemon, &(struct call){.path = "/attention", .json = "{'text': 'x'}"});
    check_loading(&daemon, &(struct call){.path = "/models"});
    ck_assert_double_eq(metric(&daemon, "alignd_rejected_total{reason=\"loading\"}"), 2);
    folder_release(folder);
    daemon_await_ready(&daemon);
    client_post(&daemon, "/translate", "{'text': 'x'}", 200, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
    folder_remove(folder);
}
END_TEST

/* Signals that mean nothing here. SIGXFSZ comes where a file may grow no more. */
START_TEST(other_signals) {
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGXFSZ, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct reply reply;
        ck_assert_int_eq(kill(served.pid, signals[i]), 0);
        client_send(&served, &(struct call){.path = "/health"}, &reply);
        ck_assert_msg(reply.status == 200, "signal %d", signals[i]);
        reply_done(&reply);
    }
}
END_TEST

Suite *operations_suite(void) {
    Suite *suite = suite_create("operations");
    TCase *plain = tcase_create("plain"), *options = tcase_create("options");
    tcase_add_checked_fixture(plain, setup, teardown);
    tcase_set_timeout(plain, TEST_TIMEOUT_S);
    tcase_add_test(plain, health_and_ready);
    tcase_add_test(plain, models);
    tcase_add_test(plain, metrics_count);
    tcase_add_test(plain, metrics_are_well_formed);
    tcase_add_test(plain, metrics_are_complete);
    tcase_add_test(plain, metrics_of_models_and_build);
    tcase_add_test(plain, request_ids);
    tcase_add_test(plain, unusable_request_ids);
    tcase_add_test(plain, head_requests);
    tcase_add_test(plain, preflight);
    tcase_add_test(plain, allowed_origin);
    tcase_add_test(plain, kept_connection);
    tcase_add_test(plain, other_signals);
    suite_add_tcase(suite, plain);
    tcase_set_timeout(options, TEST_TIMEOUT_S);
    tcase_add_test(options, cors_list);
    tcase_add_test(options, cors_of_nobody);
    tcase_add_test(options, loading);
    suite_add_tcase(suite, options);
    return suite;
}
