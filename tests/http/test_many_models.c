/* --models: folders that are loaded on demand and unloaded again; adding and removing a model. */
#include "tests/http/folder.h"
#include "tests/http/models.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADS    "alignd_model_loads_total{result=\"success\"}"
#define FAILURES "alignd_model_loads_total{result=\"failure\"}"
#define UNLOADS  "alignd_model_unloads_total"

static void check_state(const char *name, const char *state) {
    struct reply reply;
    client_send(&models_served, &(struct call){.path = "/models"}, &reply);
    ck_assert_ptr_nonnull(shipped_find_downloaded(reply.json, name));
    ck_assert_str_eq(text_at(shipped_find_downloaded(reply.json, name), "state"), state);
    reply_done(&reply);
}

static void await_state(const char *name, const char *state, struct flight *flight) {
    struct reply reply = {0};
    do {
        reply_done(&reply);
        flight_move(flight);
        client_send(&models_served, &(struct call){.path = "/models"}, &reply);
    } while (strcmp(text_at(shipped_find_downloaded(reply.json, name), "state"), state) != 0);
    reply_done(&reply);
}

static size_t count_models(void) {
    struct reply reply;
    client_send(&models_served, &(struct call){.path = "/models"}, &reply);
    size_t count = json_array_size(json_at(reply.json, "models"));
    reply_done(&reply);
    return count;
}

/* ---- states ---- */

START_TEST(loaded_when_asked_for) {
    struct reply reply;
    models_start("--queue", "64");
    ck_assert_uint_eq(count_models(), 3);
    check_state("a", "cold");
    ck_assert_double_eq(metric(&models_served, "alignd_models_bytes"), 0);
    models_translate(TRANSLATE("b"), 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "target"), "de");
    reply_done(&reply);
    check_state("a", "cold");
    check_state("b", "ready");
    ck_assert_double_eq(metric(&models_served, LOADS), 1);
    ck_assert_double_eq(metric(&models_served, "alignd_model_loaded{model=\"b\"}"), 1);
    ck_assert_double_gt(metric(&models_served, "alignd_models_bytes"), 0);
    models_ask(TRANSLATE("b"), 200);
    ck_assert_double_eq(metric(&models_served, LOADS), 1);
    metric_await(&models_served, "alignd_model_request_duration_seconds_count{model=\"b\"}", 2,
                 NULL);
    ck_assert_double_eq(
        metric(&models_served, "alignd_model_queue_duration_seconds_count{model=\"b\"}"), 2);
}
END_TEST

/* While it loads other models decode; those who wait for it get it together, whatever they ask for.
 */
START_TEST(many_who_wait_load_it_once) {
    enum { WAITING = 9 };
    static const char *const bodies[] = {
        TRANSLATE("a"), "{'q': 'A boy plays.', 'source': 'en', 'target': 'fr'}",
        "{'text': 'A boy plays.', 'model': 'a', 'strategy': 'greedy', 'stream': true}"};
    struct reply replies[WAITING];
    models_start("--queue", "64");
    models_ask(TRANSLATE("b"), 200);
    folder_block(models_folders[0]);
    struct flight *flight = flight_open(&models_served);
    for (size_t i = 0; i < WAITING; i++)
        flight_send(flight, &(struct call){.path = "/translate", .json = bodies[i % 3]},
                    &replies[i]);
    for (struct patience patience = {0};
         metric(&models_served, "alignd_requests_in_flight") < WAITING + 1;) {
        flight_move(flight);
        patience_wait(&patience, "the requests to arrive");
    }
    check_state("a", "loading");
    models_ask(TRANSLATE("b"), 200);
    folder_unblock(models_folders[0]);
    flight_land(flight);
    for (size_t i = 0; i < WAITING; i++) {
        ck_assert_msg(replies[i].status == 200, "%ld %s", replies[i].status, replies[i].body);
        ck_assert(i % 3 < 2 || strstr(replies[i].body, "event: result\n"));
        reply_done(&replies[i]);
    }
    flight_close(flight);
    ck_assert_double_eq(metric(&models_served, LOADS), 2);
    metric_await(&models_served, "alignd_requests_in_flight", 1, NULL);
}
END_TEST

START_TEST(a_deadline_passes_while_it_loads) {
    struct reply reply;
    models_start("--queue", "64");
    folder_block(models_folders[0]);
    client_send(&models_served,
                &(struct call){
                    .path = "/translate", .json = TRANSLATE("a"), .headers = {"X-Deadline-Ms: 50"}},
                &reply);
    ck_assert_int_eq(reply.status, 504);
    reply_done(&reply);
    folder_unblock(models_folders[0]);
    models_ask(TRANSLATE("a"), 200);
}
END_TEST

START_TEST(a_client_leaves_while_it_loads) {
    struct reply lost;
    models_start("--queue", "64");
    folder_block(models_folders[0]);
    struct flight *flight = flight_open(&models_served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &lost);
    metric_await(&models_served, "alignd_requests_in_flight", 2, flight);
    flight_close(flight);
    reply_done(&lost);
    metric_await(&models_served, "alignd_requests_in_flight", 1, NULL);
    folder_unblock(models_folders[0]);
    models_ask(TRANSLATE("a"), 200);
}
END_TEST

/* Every accepted request is answered. */
START_TEST(drained_while_it_loads) {
    struct reply reply;
    models_start("--queue", "64");
    folder_block(models_folders[0]);
    struct flight *flight = flight_open(&models_served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &reply);
    metric_await(&models_served, "alignd_requests_in_flight", 2, flight);
    ck_assert_int_eq(kill(models_served.pid, SIGTERM), 0);
    daemon_await_log(&models_served, "event=draining");
    folder_unblock(models_folders[0]);
    flight_land(flight);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    flight_close(flight);
    daemon_end(&models_served);
    models_served.pid = 0;
}
END_TEST

START_TEST(a_queue_of_those_who_wait_is_full) {
    struct reply replies[2];
    models_start("--queue", "1");
    folder_block(models_folders[0]);
    struct flight *flight = flight_open(&models_served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &replies[0]);
    metric_await(&models_served, "alignd_requests_in_flight", 2, flight);
    models_ask(TRANSLATE("b"), 429);
    folder_unblock(models_folders[0]);
    flight_land(flight);
    ck_assert_int_eq(replies[0].status, 200);
    reply_done(&replies[0]);
    flight_close(flight);
}
END_TEST

/* ---- what does not load ---- */

START_TEST(what_does_not_load_is_told) {
    struct reply reply;
    folder_truncate(models_folders[0], "model.safetensors"); /* cannot be listed */
    folder_lose(models_folders[1], "target.spm");            /* cannot be loaded */
    models_start("--queue", "64");
    check_state("a", "failed");
    check_state("b", "cold");
    models_translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "model \"a\" cannot be loaded: "));
    reply_done(&reply);
    models_translate(TRANSLATE("b"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "target.spm"));
    ck_assert_ptr_null(
        strstr(reply.body, models_directory)); /* where models are is nobody's business */
    reply_done(&reply);
    check_state("b", "failed");
    client_send(&models_served, &(struct call){.path = "/models"}, &reply);
    ck_assert_ptr_null(json_object_get(shipped_find_downloaded(reply.json, "b"),
                                       "reason")); /* it is for administrators */
    ck_assert(json_is_false(json_at(reply.json, "administrator")));
    ck_assert_ptr_null(strstr(reply.body, models_directory));
    reply_done(&reply);
    ck_assert_double_eq(metric(&models_served, FAILURES), 1);
    models_ask("{'text': 'A boy plays.', 'model': 'c'}", 200);
    models_ask("{'text': 'A boy plays.', 'target': 'de'}", 503);
}
END_TEST

/* ---- files that are not the manifest's ---- */

#define ZEROS  "0000000000000000000000000000000000000000000000000000000000000000"
#define REASON "extra.bin is not the file that manifest.json lists"

enum { LARGE = (1 << 20) + 1 };

#define ADMIN_SOCKET "/tmp/alignd-many-models.socket"

/* Asked at the door for administrators. */
static void check_reason(const char *name, const char *reason) {
    struct reply reply;
    const struct daemon door = daemon_at(&models_served, "unix:" ADMIN_SOCKET);
    client_send(&door, &(struct call){.path = "/models"}, &reply);
    const json_t *model = shipped_find_downloaded(reply.json, name);
    ck_assert_str_eq(text_at(model, "state"), "failed");
    ck_assert_ptr_nonnull(strstr(text_at(model, "reason"), reason));
    ck_assert(json_is_true(json_at(reply.json, "administrator")));
    reply_done(&reply);
}

START_TEST(a_wrong_file_is_refused) {
    struct reply reply;
    folder_list(models_folders[0], "extra.bin", 8, ZEROS);
    models_start("--admin-listen", "unix:" ADMIN_SOCKET);
    models_translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), REASON));
    reply_done(&reply);
    check_reason("a", REASON);
    models_ask(TRANSLATE("b"), 200);
}
END_TEST

/* Beside use: it may have answered before it is found to be wrong; afterwards it does not load
 * again. */
START_TEST(a_large_wrong_file_is_found) {
    folder_list(models_folders[0], "extra.bin", LARGE, ZEROS);
    models_start("--admin-listen", "unix:" ADMIN_SOCKET);
    struct reply reply;
    client_send(&models_served, &(struct call){.path = "/translate", .json = TRANSLATE("a")},
                &reply);
    ck_assert(reply.status == 200 || reply.status == 503);
    reply_done(&reply);
    metric_await(&models_served, FAILURES, 1, NULL);
    check_reason("a", REASON);
    models_ask(TRANSLATE("a"), 503);
    metric_await(&models_served, "alignd_models_bytes", 0, NULL);
}
END_TEST

/* The SHA-256 of eight zero bytes. */
START_TEST(the_right_files_are_told) {
    struct reply reply;
    folder_list(models_folders[0], "extra.bin", 8,
                "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
    models_start("--queue", "64");
    models_ask(TRANSLATE("a"), 200);
    models_ask(TRANSLATE("b"), 200);
    client_send(&models_served, &(struct call){.path = "/models"}, &reply);
    ck_assert_str_eq(text_at(shipped_find_downloaded(reply.json, "a"), "integrity"), "checked");
    ck_assert_str_eq(text_at(shipped_find_downloaded(reply.json, "b"), "integrity"), "unlisted");
    reply_done(&reply);
}
END_TEST

/* ---- none ---- */

static void check_modelless(const struct call *call) {
    struct reply reply;
    client_send(&models_served, call, &reply);
    ck_assert_msg(reply.status == 503, "%s: %s", call->path, reply.body);
    ck_assert_msg(strstr(reply.body, "no models are in service") && !strstr(reply.body, "(null)"),
                  "%s: %s", call->path, reply.body);
    reply_done(&reply);
}

START_TEST(no_model_left) {
    static const struct call calls[] = {
        {.path = "/ready"},
        {.path = "/translate", .json = "{'text': 'x'}"},
        {.path = "/translate", .json = "{'text': 'x', 'source': 'en', 'target': 'fr'}"},
        {.path = "/translate", .json = "{'q': 'x', 'source': 'auto', 'target': 'fr'}"},
        {.path = "/attention", .json = "{'text': 'x', 'translation': 'x'}"},
        {.path = "/v2/translate", .json = "{'text': ['x'], 'target_lang': 'FR'}"},
        {.path = "/language/translate/v2", .json = "{'q': 'x', 'target': 'fr'}"},
        {.path = "/translate?api-version=3.0&to=fr", .json = "[{'Text': 'x'}]"},
        {.path = "/deeplx", .json = "{'text': 'x', 'target_lang': 'FR'}"},
        {.path = "/kiss", .json = "{'text': 'x', 'to': 'fr'}"},
    };
    static const char *const removed[] = {"/models/a", "/models/b", "/models/c"};
    struct reply reply;
    models_start("--admin-listen", "unix:" ADMIN_SOCKET);
    const struct daemon door = daemon_at(&models_served, "unix:" ADMIN_SOCKET);
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        client_send(&door, &(struct call){.path = removed[i], .method = "DELETE"}, &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        check_modelless(&calls[i]);
    ck_assert_uint_eq(count_models(), 0);
    client_send(&door, &(struct call){.path = "/models/reload", .method = "POST"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    models_ask(TRANSLATE("a"), 200);
}
END_TEST

/* ---- room ---- */

static size_t bytes_of_one(void) {
    models_start("--queue", "64");
    models_ask(TRANSLATE("a"), 200);
    size_t bytes = (size_t)metric(&models_served, "alignd_models_bytes");
    daemon_stop(&models_served);
    return bytes;
}

static void start_with_room(double models) {
    char value[32];
    snprintf(value, sizeof value, "%.0f", models * (double)bytes_of_one());
    daemon_start(&models_served,
                 ARGUMENTS("--models", models_directory, "--workers", "2", "--step-ms", "0",
                           WORK_ENDLESS, "--deadline-ms", "30000", "--admin-listen",
                           "unix:" ADMIN_SOCKET, "--model-memory", value));
}

START_TEST(the_longest_unused_goes_first) {
    start_with_room(2.2);
    models_ask(TRANSLATE("a"), 200);
    models_ask(TRANSLATE("b"), 200);
    models_ask(TRANSLATE("a"), 200);
    models_ask(TRANSLATE("c"), 200);
    metric_await(&models_served, UNLOADS, 1, NULL);
    check_state("a", "ready");
    check_state("b", "cold");
    check_state("c", "ready");
    models_ask(TRANSLATE("b"), 200);
    metric_await(&models_served, UNLOADS, 2, NULL);
    check_state("a", "cold");
}
END_TEST

/* A sentence of model a that never ends, with room for one model. */
static struct flight *occupy(struct reply *slow) {
    char *body = work_endless(64, 32);
    body = realloc(body, strlen(body) + 32);
    strcpy(strrchr(body, '}'), ", 'model': 'a'}");
    start_with_room(1.2);
    models_ask(TRANSLATE("b"), 200);
    struct flight *flight = flight_open(&models_served);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, slow);
    metric_await_least(&models_served, "alignd_rows_live", 1, flight);
    metric_await(&models_served, UNLOADS, 1, flight);
    free(body);
    return flight;
}

/* Ends what occupies the memory; the request that waits for it is answered. */
static void vacate(struct flight *busy, struct reply *slow, struct flight *waiting,
                   struct reply *patient) {
    flight_close(busy);
    reply_done(slow);
    flight_land(waiting);
    ck_assert_msg(patient->status == 200, "%ld %s", patient->status, patient->body);
    reply_done(patient);
    flight_close(waiting);
}

/* Whoever has a longer deadline gets the model once there is room. Meanwhile the daemon answers
 * others. */
START_TEST(requests_wait_for_room) {
    char retry[HEADER_BYTES];
    struct reply slow, refused, patient;
    struct flight *busy = occupy(&slow), *waiting = flight_open(&models_served);
    flight_send(waiting, &(struct call){.path = "/translate", .json = TRANSLATE("b")}, &patient);
    await_state("b", "loading", waiting);
    client_send(&models_served,
                &(struct call){.path = "/translate",
                               .json = TRANSLATE("c"),
                               .headers = {"X-Deadline-Ms: 2000"}},
                &refused);
    ck_assert_msg(refused.status == 503, "%ld %s", refused.status, refused.body);
    ck_assert_ptr_nonnull(strstr(text_at(refused.json, "error"), "do not fit into --model-memory"));
    ck_assert(reply_header(&refused, "Retry-After", retry));
    reply_done(&refused);
    check_state("b", "loading");
    ck_assert_double_ge(metric(&models_served, "alignd_rows_live"), 1); /* what is in use stays */

    vacate(busy, &slow, waiting, &patient);
    check_state("b", "ready");
}
END_TEST

/* A model that is always in use gives way to one that is waited for: later requests for it wait,
 * and all are answered. */
START_TEST(a_model_in_use_gives_way) {
    struct reply slow, patient, later;
    struct flight *busy = occupy(&slow), *waiting = flight_open(&models_served),
                  *next = flight_open(&models_served);
    flight_send(waiting, &(struct call){.path = "/translate", .json = TRANSLATE("b")}, &patient);
    await_state("a", "cold", waiting);
    check_state("b", "loading");
    flight_send(next, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &later);
    await_state("a", "loading", next);
    ck_assert_double_ge(metric(&models_served, "alignd_rows_live"), 1);
    vacate(busy, &slow, waiting, &patient);
    flight_land(next);
    ck_assert_int_eq(later.status, 200);
    reply_done(&later);
    flight_close(next);
}
END_TEST

/* The load is given up with the last request for the model, and a later one orders it again. */
START_TEST(nobody_waits_for_room_any_more) {
    struct reply slow, left;
    struct flight *busy = occupy(&slow), *leaving = flight_open(&models_served);
    flight_send(leaving, &(struct call){.path = "/translate", .json = TRANSLATE("b")}, &left);
    await_state("b", "loading", leaving);
    flight_close(leaving);
    reply_done(&left);
    metric_await(&models_served, FAILURES, 1, busy);
    check_state("b", "cold");
    flight_close(busy);
    reply_done(&slow);
    models_ask(TRANSLATE("b"), 200);
}
END_TEST

/* The request that waits has a set of models that it alone keeps, and does not keep their memory.
 */
START_TEST(a_model_that_is_removed_makes_room) {
    struct reply slow, removed, patient;
    struct flight *busy = occupy(&slow), *waiting = flight_open(&models_served);
    const struct daemon door = daemon_at(&models_served, "unix:" ADMIN_SOCKET);
    flight_send(waiting, &(struct call){.path = "/translate", .json = TRANSLATE("b")}, &patient);
    await_state("b", "loading", waiting);
    client_send(&door, &(struct call){.path = "/models/a", .method = "DELETE"}, &removed);
    ck_assert_int_eq(removed.status, 200);
    reply_done(&removed);
    ck_assert_double_ge(metric(&models_served, "alignd_rows_live"), 1);
    vacate(busy, &slow, waiting, &patient);
}
END_TEST

/* Two models that one request needs at a time. */
START_TEST(models_of_one_request_that_never_fit) {
    struct reply reply;
    start_with_room(1.2);
    client_send(&models_served,
                &(struct call){.path = "/translate",
                               .json = "{'text': 'x', 'source': 'pt-BR', 'target': 'fr'}"},
                &reply);
    ck_assert_msg(reply.status == 503, "%ld %s", reply.status, reply.body);
    ck_assert_ptr_nonnull(
        strstr(text_at(reply.json, "error"), "beside the other models of the request"));
    reply_done(&reply);
    models_ask(TRANSLATE("a"), 200);
}
END_TEST

START_TEST(what_never_fits_is_told) {
    struct reply reply;
    models_start("--model-memory", "1000");
    models_translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(
        strstr(text_at(reply.json, "error"), "which is more than --model-memory (1000)"));
    reply_done(&reply);
    check_state("a", "failed");
}
END_TEST

START_TEST(the_idle_are_unloaded) {
    models_start("--idle-unload-s", "1");
    models_ask(TRANSLATE("a"), 200);
    metric_await(&models_served, UNLOADS, 1, NULL);
    check_state("a", "cold");
    metric_await(&models_served, "alignd_models_bytes", 0,
                 NULL); /* given back after it is counted */
    models_ask(TRANSLATE("a"), 200);
}
END_TEST

/* ---- one more, one less ---- */

START_TEST(a_reload_looks_again) {
    models_start("--queue", "64");
    models_ask(TRANSLATE("a"), 200);
    models_add("d", "en", "it");
    folder_remove(models_folders[1]);
    ck_assert_int_eq(kill(models_served.pid, SIGHUP), 0);
    metric_await(&models_served, "alignd_models_reloads_total{result=\"success\"}", 1, NULL);
    ck_assert_uint_eq(count_models(), 3);
    check_state("a", "ready"); /* it was loaded, and is again */
    check_state("d", "cold");
    models_ask(TRANSLATE("d"), 200);
    models_ask(TRANSLATE("b"), 400);
}
END_TEST

static void change(const struct daemon *door, const struct call *call, long status) {
    struct reply reply;
    client_send(door, call, &reply);
    ck_assert_msg(reply.status == status, "%ld %s", reply.status, reply.body);
    reply_done(&reply);
}

START_TEST(administrators_add_and_remove) {
    char made[] = FOLDER_TEMPLATE, address[64], body[128];
    folder_make(made, "new", "en", "sv");
    snprintf(address, sizeof address, "unix:%s/door", models_directory);
    snprintf(body, sizeof body, "{'folder': '%s'}", made);
    models_start("--admin-listen", address);
    struct daemon door = daemon_at(&models_served, address);
    const struct call add = {.path = "/models", .json = body},
                      other = {.path = "/models", .json = "{'folder': '/nowhere'}"},
                      wrong = {.path = "/models", .json = "{'path': '/nowhere'}"},
                      take = {.path = "/models/new", .method = "DELETE"};
    change(&models_served, &add, 403);
    change(&models_served, &take, 403);
    change(&door, &wrong, 400);
    change(&door, &other, 409);
    change(&door, &take, 404);
    change(&door, &add, 200);
    change(&door, &add, 409); /* its name is taken */
    models_ask(TRANSLATE("new"), 200);
    ck_assert_int_eq(kill(models_served.pid, SIGHUP), 0);
    metric_await(&models_served, "alignd_models_reloads_total{result=\"success\"}", 1, NULL);
    models_ask(TRANSLATE("new"), 200); /* it stays */
    change(&door, &take, 200);
    models_ask(TRANSLATE("new"), 400);
    change(&door, &add, 200);
    models_ask("{'text': 'x', 'target': 'sv'}", 200);
    folder_remove(made);
}
END_TEST

START_TEST(more_than_thirty_two) {
    enum { MANY = 40 };
    char made[MANY][sizeof FOLDER_TEMPLATE], name[8], all[MANY * sizeof FOLDER_TEMPLATE] = "";
    for (size_t i = 0; i < MANY; i++) {
        strcpy(made[i], FOLDER_TEMPLATE);
        snprintf(name, sizeof name, "m%zu", i);
        folder_make(made[i], name, "en", "fr");
        strcat(strcat(all, i > 0 ? ":" : ""), made[i]);
    }
    daemon_start(&models_served, ARGUMENTS("--model", all, "--rows", "4"));
    ck_assert_uint_eq(count_models(), MANY);
    models_ask(TRANSLATE("m39"), 200);
    for (size_t i = 0; i < MANY; i++)
        folder_remove(made[i]);
}
END_TEST

Suite *many_models_suite(void) {
    Suite *suite = suite_create("many_models");
    TCase *tcase = tcase_create("many_models");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(tcase, models_setup, models_teardown);
    tcase_add_test(tcase, loaded_when_asked_for);
    tcase_add_test(tcase, many_who_wait_load_it_once);
    tcase_add_test(tcase, a_deadline_passes_while_it_loads);
    tcase_add_test(tcase, a_client_leaves_while_it_loads);
    tcase_add_test(tcase, drained_while_it_loads);
    tcase_add_test(tcase, a_queue_of_those_who_wait_is_full);
    tcase_add_test(tcase, what_does_not_load_is_told);
    tcase_add_test(tcase, a_wrong_file_is_refused);
    tcase_add_test(tcase, a_large_wrong_file_is_found);
    tcase_add_test(tcase, the_right_files_are_told);
    tcase_add_test(tcase, no_model_left);
    tcase_add_test(tcase, the_longest_unused_goes_first);
    tcase_add_test(tcase, requests_wait_for_room);
    tcase_add_test(tcase, a_model_in_use_gives_way);
    tcase_add_test(tcase, nobody_waits_for_room_any_more);
    tcase_add_test(tcase, a_model_that_is_removed_makes_room);
    tcase_add_test(tcase, models_of_one_request_that_never_fit);
    tcase_add_test(tcase, what_never_fits_is_told);
    tcase_add_test(tcase, the_idle_are_unloaded);
    tcase_add_test(tcase, a_reload_looks_again);
    tcase_add_test(tcase, administrators_add_and_remove);
    tcase_add_test(tcase, more_than_thirty_two);
    suite_add_tcase(suite, tcase);
    return suite;
}
