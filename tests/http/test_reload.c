/* SIGHUP and POST /models/reload: the models are loaded again beside those in service, and nobody
 * is kept waiting or lost. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUCCESSES "alignd_models_reloads_total{result=\"success\"}"
#define FAILURES  "alignd_models_reloads_total{result=\"failure\"}"
#define SETS      "alignd_model_sets"

static char folder[sizeof FOLDER_TEMPLATE];
static struct daemon served;

static void setup(void) {
    strcpy(folder, FOLDER_TEMPLATE);
    folder_make(folder, "first", "en", "fr");
    daemon_start(&served,
                 ARGUMENTS("--model", folder, "--model", MODEL, "--workers", "2", "--step-ms", "0",
                           WORK_ENDLESS, "--deadline-ms", "600000", "--send-timeout-ms", "600000"));
}

static void teardown(void) {
    daemon_stop(&served);
    folder_remove(folder);
}

static void hang_up(void) {
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
}

static size_t asked_for(void) {
    char *log = read_from_start(served.log);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, "event=reload_asked")) != NULL; at++)
        count++;
    free(log);
    return count;
}

/* Signals that nobody has noticed yet are one. */
static void hang_up_noticed(void) {
    size_t before = asked_for();
    hang_up();
    for (struct patience patience = {0}; asked_for() == before;)
        patience_wait(&patience, "the signal to be noticed");
}

/* A model of another name and language takes the folder's place. */
static void replace_model(const char *name) {
    char next[] = FOLDER_TEMPLATE;
    folder_make(next, name, "de", "it");
    folder_replace(folder, next);
}

static void get_models(struct reply *reply) {
    client_send(&served, &(struct call){.path = "/models"}, reply);
    ck_assert_int_eq(reply->status, 200);
}

static void check_models(const char *name, double generation, const char *reload) {
    struct reply reply;
    get_models(&reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "models")), 2);
    ck_assert_str_eq(text_at(reply.json, "models.0.name"), name);
    ck_assert_double_eq(number_at(reply.json, "generation"), generation);
    ck_assert_str_eq(text_at(reply.json, "reload"), reload);
    reply_done(&reply);
}

/* ---- what is new ---- */

START_TEST(a_replaced_folder_is_picked_up) {
    struct reply reply;
    check_models("first", 1, "none");
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'model': 'first'}", 200, &reply);
    double tokens = metric(&served, "alignd_source_tokens_total{model=\"first\"}");
    ck_assert_double_gt(tokens, 0);
    reply_done(&reply);
    replace_model("second");
    hang_up();
    metric_await(&served, SUCCESSES, 1, NULL);
    check_models("second", 2, "done");
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'model': 'second'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "second");
    ck_assert_str_eq(text_at(reply.json, "target"), "it");
    reply_done(&reply);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'model': 'first'}", 400, &reply);
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/languages"}, &reply);
    ck_assert_ptr_nonnull(strstr(reply.body, "\"it\""));
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/metrics"}, &reply);
    ck_assert_ptr_nonnull(strstr(reply.body, "alignd_model_info{model=\"second\",source=\"de\""));
    ck_assert_ptr_nonnull(
        strstr(reply.body, "alignd_model_load_duration_seconds{model=\"second\"}"));
    ck_assert_ptr_null(strstr(reply.body, "\"first\""));
    reply_done(&reply);
    metric_await(&served, SETS, 1, NULL);
    daemon_await_log(&served, "event=reloaded what=models generation=2");
}
END_TEST

/* The model of the other folder goes on counting. */
START_TEST(counters_do_not_fall) {
    static const char name[] = "alignd_source_tokens_total{model=\"luong-general-gru\"}";
    struct reply reply;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'model': 'luong-general-gru'}",
                200, &reply);
    reply_done(&reply);
    double tokens = metric(&served, name);
    hang_up();
    metric_await(&served, SUCCESSES, 1, NULL);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'model': 'luong-general-gru'}",
                200, &reply);
    reply_done(&reply);
    metric_await(&served, name, 2 * tokens, NULL);
}
END_TEST

/* ---- what does not load ---- */

static void break_config(void) {
    folder_set(folder, "version", "one");
}

static void break_weights(void) {
    folder_truncate(folder, "model.safetensors");
}

static void break_vocabulary(void) {
    folder_truncate(folder, "source.spm");
}

static void lose_config(void) {
    folder_lose(folder, "config.json");
}

static void lose_weights(void) {
    folder_lose(folder, "model.safetensors");
}

static void take_name(void) {
    folder_set(folder, "name", "luong-general-gru");
}

static const struct {
    void (*spoil)(void);
    const char *why;
} broken[] = {
    {break_config, "version"},           {break_weights, "past the end of the file"},
    {break_vocabulary, "source.spm"},    {lose_config, "config.json"},
    {lose_weights, "model.safetensors"}, {take_name, "already loaded"},
};

START_TEST(what_is_broken_changes_nothing) {
    struct reply before, after, reply;
    client_post(&served, "/attention", "{'text': 'A boy plays in the snow.'}", 200, &before);
    broken[_i].spoil();
    hang_up();
    metric_await(&served, FAILURES, 1, NULL);
    metric_await(&served, SUCCESSES, 0, NULL);
    metric_await(&served, SETS, 1, NULL);
    client_post(&served, "/attention", "{'text': 'A boy plays in the snow.'}", 200, &after);
    ck_assert_str_eq(after.body, before.body);
    check_models("first", 1, "failed");
    client_send(&served, &(struct call){.path = "/ready"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    get_models(&reply);
    ck_assert_ptr_null(strstr(reply.body, folder)); /* where models are is nobody's business */
    reply_done(&reply);
    daemon_await_log(&served, "level=error event=reload_failed what=models");
    ck_assert(daemon_logged(&served, folder) && daemon_logged(&served, broken[_i].why));
    reply_done(&before);
    reply_done(&after);
    replace_model("mended");
    hang_up();
    metric_await(&served, SUCCESSES, 1, NULL);
    check_models("mended", 2, "done");
}
END_TEST

/* ---- meanwhile ---- */

START_TEST(requests_keep_their_models) {
    struct reply slow, quick;
    char *body = work_endless(12, 32); /* three of four rows */
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &slow);
    metric_await_least(&served, "alignd_rows_live", 1, flight);
    replace_model("second");
    hang_up();
    metric_await(&served, SUCCESSES, 1, flight);
    ck_assert_double_eq(metric(&served, SETS), 2);
    client_post(&served, "/translate", "{'text': 'x', 'model': 'second'}", 200, &quick);
    ck_assert_str_eq(text_at(quick.json, "model"), "second");
    reply_done(&quick);
    ck_assert_double_eq(metric(&served, SETS), 2);
    flight_close(flight); /* with the last request of the old set, the set goes */
    reply_done(&slow);
    metric_await(&served, SETS, 1, NULL);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    free(body);
}
END_TEST

/* Whoever reads slowly keeps no models. */
START_TEST(unread_streams_keep_no_models) {
    enum { STREAMS = 2 }; /* the second reload would wait for the first stream's set */
    int connections[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        connections[i] = work_unread(&served, true, WORK_UNREAD_TEXTS);
        metric_await(&served, "alignd_target_tokens_total{model=\"first\"}",
                     (i + 1) * WORK_UNREAD_TOKENS, NULL);
        hang_up();
        metric_await(&served, SUCCESSES, i + 1, NULL);
    }
    metric_await(&served, SETS, 1, NULL);
    metric_await(&served, "alignd_requests_in_flight", STREAMS + 1, NULL);
    ck_assert_double_gt(metric(&served, "alignd_reply_bytes"), 0);
    for (int i = 0; i < STREAMS; i++)
        close(connections[i]);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    ck_assert_double_eq(metric(&served, "alignd_reply_bytes"), 0);
}
END_TEST

START_TEST(two_generations_at_most) {
    struct reply slow;
    char *body = work_endless(1, 2);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &slow);
    metric_await_least(&served, "alignd_rows_live", 1, flight);
    hang_up();
    metric_await(&served, SUCCESSES, 1, flight);
    hang_up();
    daemon_await_log(&served, "event=reload_waits models=1");
    check_models("first", 2, "waiting");
    ck_assert_double_eq(metric(&served, SETS), 2);
    flight_close(flight);
    reply_done(&slow);
    metric_await(&served, SUCCESSES, 2, NULL);
    check_models("first", 3, "done");
    metric_await(&served, SETS, 1, NULL);
    free(body);
}
END_TEST

START_TEST(terminated_while_a_reload_waits) {
    struct reply slow;
    char *body = work_endless(1, 2);
    struct flight *flight = flight_open(&served);
    flight_send(
        flight,
        &(struct call){.path = "/translate", .json = body, .headers = {"X-Deadline-Ms: 5000"}},
        &slow);
    metric_await_least(&served, "alignd_rows_live", 1, flight);
    hang_up();
    metric_await(&served, SUCCESSES, 1, flight);
    hang_up();
    daemon_await_log(&served, "event=reload_waits");
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    flight_land(flight);
    ck_assert_int_eq(slow.status, 504);
    reply_done(&slow);
    flight_close(flight);
    daemon_end(&served);
    daemon_start(&served, ARGUMENTS("--model", folder)); /* for teardown */
    free(body);
}
END_TEST

/* A load that takes long delays nobody, and what is asked for meanwhile is one more load. */
START_TEST(loading_delays_nobody) {
    struct reply reply;
    folder_block(folder);
    hang_up();
    metric_await(&served, SETS, 2, NULL);
    check_models("first", 1, "running");
    for (int i = 0; i < 20; i++) {
        client_post(&served, "/translate", "{'text': 'A boy plays in the snow.'}", 200, &reply);
        reply_done(&reply);
        hang_up_noticed();
    }
    client_send(&served, &(struct call){.path = "/ready"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    check_models("first", 1, "running");
    folder_unblock(folder);
    metric_await(&served, SUCCESSES, 2, NULL);
    metric_await(&served, SETS, 1, NULL);
    check_models("first", 3, "done");
}
END_TEST

START_TEST(reloading_under_load) {
    enum { CLIENTS = 240, EVERY = 20 };
    static struct reply replies[CLIENTS];
    struct reply before;
    char *body = work_body(2, 4, 60);
    client_post(&served, "/translate", body, 200, &before);
    struct flight *flight = flight_open(&served);
    for (size_t i = 0; i < CLIENTS; i++) {
        flight_send(flight, &(struct call){.path = "/translate", .json = body}, &replies[i]);
        flight_move(flight);
        if (i % EVERY == 0)
            hang_up();
    }
    flight_land(flight);
    for (size_t i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(replies[i].status, 200);
        ck_assert_str_eq(replies[i].body, before.body);
        reply_done(&replies[i]);
    }
    flight_close(flight);
    reply_done(&before);
    free(body);
    metric_await_least(&served, SUCCESSES, 1, NULL); /* signals that come together are one */
    metric_await(&served, SETS, 1, NULL);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    ck_assert_double_eq(metric(&served, FAILURES), 0);
}
END_TEST

START_TEST(terminated_while_loading) {
    folder_block(folder);
    hang_up();
    metric_await(&served, SETS, 2, NULL);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    daemon_await_log(&served, "event=draining");
    folder_unblock(folder);
    daemon_end(&served);
    daemon_start(&served, ARGUMENTS("--model", folder)); /* for teardown */
}
END_TEST

START_TEST(not_without_keys) {
    struct reply reply;
    client_post(&served, "/models/reload", "{}", 403, &reply);
    ck_assert_str_eq(text_at(reply.json, "code"), "forbidden");
    reply_done(&reply);
    check_models("first", 1, "none");
}
END_TEST

/* ---- POST /models/reload, with keys ---- */

static char keys[sizeof "/tmp/alignd-keys-XXXXXX"], user[HEADER_BYTES], admin[HEADER_BYTES];

static void make_key(const char *role, char header[HEADER_BYTES]) {
    struct outcome outcome;
    program_run(ARGUMENTS("key", "--name", role, "--role", role), NULL, &outcome);
    const char *secret = strrchr(outcome.err, ' ') + 1;
    snprintf(header, HEADER_BYTES, "X-Api-Key: %.*s", (int)strcspn(secret, "\n"), secret);
    FILE *out = fopen(keys, "a");
    ck_assert_int_ge(fputs(outcome.out, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    outcome_done(&outcome);
}

static void setup_keys(void) {
    strcpy(keys, "/tmp/alignd-keys-XXXXXX");
    close(mkstemp(keys));
    make_key("user", user);
    make_key("admin", admin);
    strcpy(folder, FOLDER_TEMPLATE);
    folder_make(folder, "first", "en", "fr");
    daemon_start(&served, ARGUMENTS("--model", folder, "--model", MODEL, "--api-keys", keys));
}

static void teardown_keys(void) {
    teardown();
    unlink(keys);
}

static struct call reload_call(const char *key) {
    return (struct call){.path = "/models/reload", .method = "POST", .body = "", .headers = {key}};
}

static void post_reload(const char *key, long status, struct reply *reply) {
    struct call call = reload_call(key);
    client_send(&served, &call, reply);
    ck_assert_msg(reply->status == status, "%ld %s", reply->status, reply->body);
}

START_TEST(admins_reload) {
    struct reply reply;
    post_reload(NULL, 401, &reply);
    reply_done(&reply);
    post_reload(user, 403, &reply);
    reply_done(&reply);
    check_models("first", 1, "none");
    replace_model("second");
    post_reload(admin, 200, &reply);
    ck_assert_str_eq(reply.body, "{\"status\":\"reloaded\",\"generation\":2}");
    reply_done(&reply);
    check_models("second", 2, "done");
}
END_TEST

START_TEST(admins_are_told_why) {
    struct reply reply;
    folder_lose(folder, "model.safetensors");
    post_reload(admin, 409, &reply);
    ck_assert_str_eq(text_at(reply.json, "code"), "reload_failed");
    ck_assert_ptr_nonnull(strstr(
        text_at(reply.json, "error"),
        "reloading failed, and the loaded models stay in service: cannot load /tmp/alignd-http-"));
    reply_done(&reply);
    check_models("first", 1, "failed");
}
END_TEST

/* Which nobody writes to: a load that waited for that would never end. */
START_TEST(a_pipe_is_no_file_of_a_model) {
    static const char *const files[] = {"model.safetensors", "source.spm",
                                        "config.json"}; /* each is read before those */
    char path[64];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct reply reply;
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        post_reload(admin, 409, &reply);
        ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "not a regular file"));
        reply_done(&reply);
        check_models("first", 1, "failed");
    }
}
END_TEST

/* One waits for the load that runs, the others for the one that follows; one of them leaves. */
START_TEST(many_at_once) {
    enum { WAITING = 8 };
    struct reply replies[WAITING], lost;
    struct call call = reload_call(admin);
    struct flight *flight = flight_open(&served), *leaving = flight_open(&served);
    folder_block(folder);
    flight_send(flight, &call, &replies[0]);
    metric_await(&served, SETS, 2, flight);
    for (size_t i = 1; i < WAITING; i++)
        flight_send(flight, &call, &replies[i]);
    flight_send(leaving, &call, &lost);
    for (struct patience patience = {0};
         metric(&served, "alignd_requests_in_flight") < WAITING + 2;) {
        flight_move(flight);
        flight_move(leaving);
        patience_wait(&patience, "the requests to arrive");
    }
    flight_close(leaving);
    reply_done(&lost);
    folder_unblock(folder);
    flight_land(flight);
    for (size_t i = 0; i < WAITING; i++) {
        ck_assert_int_eq(replies[i].status, 200);
        ck_assert_double_eq(number_at(replies[i].json, "generation"), i == 0 ? 2 : 3);
        reply_done(&replies[i]);
    }
    flight_close(flight);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    ck_assert_double_eq(metric(&served, SUCCESSES), 2);
}
END_TEST

START_TEST(terminated_while_asked_for) {
    struct reply running, waiting;
    struct call call = reload_call(admin);
    struct flight *flight = flight_open(&served);
    folder_block(folder);
    flight_send(flight, &call, &running);
    metric_await(&served, SETS, 2, flight);
    flight_send(flight, &call, &waiting);
    metric_await(&served, "alignd_requests_in_flight", 3, flight);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    daemon_await_log(&served, "event=draining");
    folder_unblock(folder);
    flight_land(flight);
    ck_assert_int_eq(running.status, 200);
    ck_assert_msg(waiting.status == 503 || waiting.status == 200, "%ld",
                  waiting.status); /* its load may begin before the end does */
    reply_done(&running);
    reply_done(&waiting);
    flight_close(flight);
    daemon_end(&served);
    daemon_start(&served, ARGUMENTS("--model", folder)); /* for teardown */
}
END_TEST

Suite *reload_suite(void) {
    Suite *suite = suite_create("reload");
    TCase *tests = tcase_create("reload"), *keyed = tcase_create("with keys");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, a_replaced_folder_is_picked_up);
    tcase_add_test(tests, counters_do_not_fall);
    tcase_add_loop_test(tests, what_is_broken_changes_nothing, 0, sizeof broken / sizeof *broken);
    tcase_add_test(tests, requests_keep_their_models);
    tcase_add_test(tests, unread_streams_keep_no_models);
    tcase_add_test(tests, two_generations_at_most);
    tcase_add_test(tests, terminated_while_a_reload_waits);
    tcase_add_test(tests, loading_delays_nobody);
    tcase_add_test(tests, reloading_under_load);
    tcase_add_test(tests, terminated_while_loading);
    tcase_add_test(tests, not_without_keys);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(keyed, setup_keys, teardown_keys);
    tcase_set_timeout(keyed, TEST_TIMEOUT_S);
    tcase_add_test(keyed, admins_reload);
    tcase_add_test(keyed, admins_are_told_why);
    tcase_add_test(keyed, a_pipe_is_no_file_of_a_model);
    tcase_add_test(keyed, many_at_once);
    tcase_add_test(keyed, terminated_while_asked_for);
    suite_add_tcase(suite, keyed);
    return suite;
}
