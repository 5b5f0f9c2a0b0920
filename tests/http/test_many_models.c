/* --models: folders that are loaded when they are asked for, and unloaded again; which of them a request gets; one more and one
 * less. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOADS            "alignd_model_loads_total{result=\"success\"}"
#define FAILURES         "alignd_model_loads_total{result=\"failure\"}"
#define UNLOADS          "alignd_model_unloads_total"
#define TRANSLATE(model) "{'text': 'A boy plays.', 'model': '" model "', 'include': []}"

enum { PATH_BYTES = 256, MOST = 8 };

static char directory[] = "/tmp/alignd-models-XXXXXX", folders[MOST][PATH_BYTES];
static size_t folder_count;
static struct daemon served;

/* Another folder in the directory. */
static const char *add_folder(const char *name, const char *source, const char *target) {
    char made[] = FOLDER_TEMPLATE, *folder = folders[folder_count++];
    folder_make(made, name, source, target);
    snprintf(folder, PATH_BYTES, "%s/%s", directory, name);
    ck_assert_int_eq(rename(made, folder), 0);
    return folder;
}

static void setup(void) {
    strcpy(directory, "/tmp/alignd-models-XXXXXX");
    folder_count = 0;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    add_folder("a", "en", "fr");
    add_folder("b", "en", "de");
    add_folder("c", "pt-BR", "en");
    served = (struct daemon){0};
}

static void start(const char *option, const char *value) {
    daemon_start(&served,
                 ARGUMENTS("--models", directory, "--workers", "2", "--step-ms", "0", "--deadline-ms", "30000", option, value));
}

static void teardown(void) {
    if (served.pid)
        daemon_stop(&served);
    for (size_t i = 0; i < folder_count; i++)
        folder_remove(folders[i]);
    rmdir(directory);
}

static void translate(const char *body, long status, struct reply *reply) {
    client_post(&served, "/translate", body, status, reply);
}

static void ask(const char *body, long status) {
    struct reply reply;
    translate(body, status, &reply);
    reply_done(&reply);
}

static json_t *find_model(const json_t *root, const char *name) {
    size_t i;
    json_t *model;
    json_array_foreach(json_at(root, "models"), i, model) {
        if (strcmp(text_at(model, "name"), name) == 0)
            return model;
    }
    return NULL;
}

static void check_state(const char *name, const char *state) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert_ptr_nonnull(find_model(reply.json, name));
    ck_assert_str_eq(text_at(find_model(reply.json, name), "state"), state);
    reply_done(&reply);
}

static size_t count_models(void) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    size_t count = json_array_size(json_at(reply.json, "models"));
    reply_done(&reply);
    return count;
}

/* ---- states ---- */

START_TEST(loaded_when_asked_for) {
    struct reply reply;
    start("--queue", "64");
    ck_assert_uint_eq(count_models(), 3);
    check_state("a", "cold");
    ck_assert_double_eq(metric(&served, "alignd_models_bytes"), 0);
    translate(TRANSLATE("b"), 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "target"), "de");
    reply_done(&reply);
    check_state("a", "cold");
    check_state("b", "ready");
    ck_assert_double_eq(metric(&served, LOADS), 1);
    ck_assert_double_eq(metric(&served, "alignd_model_loaded{model=\"b\"}"), 1);
    ck_assert_double_gt(metric(&served, "alignd_models_bytes"), 0);
    ask(TRANSLATE("b"), 200);
    ck_assert_double_eq(metric(&served, LOADS), 1);
    metric_await(&served, "alignd_model_request_duration_seconds_count{model=\"b\"}", 2, NULL);
    ck_assert_double_eq(metric(&served, "alignd_model_queue_duration_seconds_count{model=\"b\"}"), 2);
}
END_TEST

/* While it loads other models decode; those who wait for it get it together, whatever they ask for. */
START_TEST(many_who_wait_load_it_once) {
    enum { WAITING = 9 };
    static const char *const bodies[] = {TRANSLATE("a"), "{'q': 'A boy plays.', 'source': 'en', 'target': 'fr'}",
                                         "{'text': 'A boy plays.', 'model': 'a', 'strategy': 'greedy', 'stream': true}"};
    struct reply replies[WAITING];
    start("--queue", "64");
    ask(TRANSLATE("b"), 200);
    folder_block(folders[0]);
    struct flight *flight = flight_open(&served);
    for (size_t i = 0; i < WAITING; i++)
        flight_send(flight, &(struct call){.path = "/translate", .json = bodies[i % 3]}, &replies[i]);
    for (struct patience patience = {0}; metric(&served, "alignd_requests_in_flight") < WAITING + 1;) {
        flight_move(flight);
        patience_wait(&patience, "the requests to arrive");
    }
    check_state("a", "loading");
    ask(TRANSLATE("b"), 200);
    folder_unblock(folders[0]);
    flight_land(flight);
    for (size_t i = 0; i < WAITING; i++) {
        ck_assert_msg(replies[i].status == 200, "%ld %s", replies[i].status, replies[i].body);
        ck_assert(i % 3 < 2 || strstr(replies[i].body, "event: result\n"));
        reply_done(&replies[i]);
    }
    flight_close(flight);
    ck_assert_double_eq(metric(&served, LOADS), 2);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
}
END_TEST

START_TEST(a_deadline_passes_while_it_loads) {
    struct reply reply;
    start("--queue", "64");
    folder_block(folders[0]);
    client_send(&served, &(struct call){.path = "/translate", .json = TRANSLATE("a"), .headers = {"X-Deadline-Ms: 50"}}, &reply);
    ck_assert_int_eq(reply.status, 504);
    reply_done(&reply);
    folder_unblock(folders[0]);
    ask(TRANSLATE("a"), 200);
}
END_TEST

START_TEST(a_client_leaves_while_it_loads) {
    struct reply lost;
    start("--queue", "64");
    folder_block(folders[0]);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &lost);
    metric_await(&served, "alignd_requests_in_flight", 2, flight);
    flight_close(flight);
    reply_done(&lost);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    folder_unblock(folders[0]);
    ask(TRANSLATE("a"), 200);
}
END_TEST

/* Whoever was accepted is answered. */
START_TEST(drained_while_it_loads) {
    struct reply reply;
    start("--queue", "64");
    folder_block(folders[0]);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &reply);
    metric_await(&served, "alignd_requests_in_flight", 2, flight);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    daemon_await_log(&served, "event=draining");
    folder_unblock(folders[0]);
    flight_land(flight);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    flight_close(flight);
    daemon_end(&served);
    served.pid = 0;
}
END_TEST

START_TEST(a_queue_of_those_who_wait_is_full) {
    struct reply replies[2];
    start("--queue", "1");
    folder_block(folders[0]);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &replies[0]);
    metric_await(&served, "alignd_requests_in_flight", 2, flight);
    ask(TRANSLATE("b"), 429);
    folder_unblock(folders[0]);
    flight_land(flight);
    ck_assert_int_eq(replies[0].status, 200);
    reply_done(&replies[0]);
    flight_close(flight);
}
END_TEST

/* ---- what does not load ---- */

START_TEST(what_does_not_load_is_told) {
    struct reply reply;
    folder_truncate(folders[0], "model.safetensors"); /* cannot be listed */
    folder_lose(folders[1], "target.spm");            /* cannot be loaded */
    start("--queue", "64");
    check_state("a", "failed");
    check_state("b", "cold");
    translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "model \"a\" cannot be loaded: "));
    reply_done(&reply);
    translate(TRANSLATE("b"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "target.spm"));
    ck_assert_ptr_null(strstr(reply.body, directory)); /* where models are is nobody's business */
    reply_done(&reply);
    check_state("b", "failed");
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(find_model(reply.json, "b"), "reason"), "target.spm"));
    ck_assert_ptr_null(strstr(reply.body, directory));
    reply_done(&reply);
    ck_assert_double_eq(metric(&served, FAILURES), 1);
    ask("{'text': 'A boy plays.', 'model': 'c'}", 200);
    ask("{'text': 'A boy plays.'}", 503); /* the first that can be listed */
}
END_TEST

/* ---- files that are not the manifest's ---- */

#define ZEROS  "0000000000000000000000000000000000000000000000000000000000000000"
#define REASON "extra.bin is not the file that manifest.json lists"

enum { LARGE = (1 << 20) + 1 };

static void check_reason(const char *name, const char *reason) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    const json_t *model = find_model(reply.json, name);
    ck_assert_str_eq(text_at(model, "state"), "failed");
    ck_assert_ptr_nonnull(strstr(text_at(model, "reason"), reason));
    reply_done(&reply);
}

START_TEST(a_wrong_file_is_refused) {
    struct reply reply;
    folder_list(folders[0], "extra.bin", 8, ZEROS);
    start("--queue", "64");
    translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), REASON));
    reply_done(&reply);
    check_reason("a", REASON);
    ask(TRANSLATE("b"), 200);
}
END_TEST

/* Beside use: it may have answered before it is found to be wrong; afterwards it does not load again. */
START_TEST(a_large_wrong_file_is_found) {
    folder_list(folders[0], "extra.bin", LARGE, ZEROS);
    start("--queue", "64");
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .json = TRANSLATE("a")}, &reply);
    ck_assert(reply.status == 200 || reply.status == 503);
    reply_done(&reply);
    metric_await(&served, FAILURES, 1, NULL);
    check_reason("a", REASON);
    ask(TRANSLATE("a"), 503);
    metric_await(&served, "alignd_models_bytes", 0, NULL);
}
END_TEST

/* The SHA-256 of eight zero bytes. */
START_TEST(the_right_files_are_told) {
    struct reply reply;
    folder_list(folders[0], "extra.bin", 8, "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
    start("--queue", "64");
    ask(TRANSLATE("a"), 200);
    ask(TRANSLATE("b"), 200);
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert_str_eq(text_at(find_model(reply.json, "a"), "integrity"), "checked");
    ck_assert_str_eq(text_at(find_model(reply.json, "b"), "integrity"), "unlisted");
    reply_done(&reply);
}
END_TEST

/* ---- room ---- */

static size_t bytes_of_one(void) {
    start("--queue", "64");
    ask(TRANSLATE("a"), 200);
    size_t bytes = (size_t)metric(&served, "alignd_models_bytes");
    daemon_stop(&served);
    return bytes;
}

static void start_with_room(double models) {
    char value[32];
    snprintf(value, sizeof value, "%.0f", models * (double)bytes_of_one());
    daemon_start(&served, ARGUMENTS("--models", directory, "--workers", "2", "--step-ms", "0", WORK_ENDLESS, "--deadline-ms",
                                    "30000", "--model-memory", value));
}

START_TEST(the_longest_unused_goes_first) {
    start_with_room(2.2);
    ask(TRANSLATE("a"), 200);
    ask(TRANSLATE("b"), 200);
    ask(TRANSLATE("a"), 200);
    ask(TRANSLATE("c"), 200);
    metric_await(&served, UNLOADS, 1, NULL);
    check_state("a", "ready");
    check_state("b", "cold");
    check_state("c", "ready");
    ask(TRANSLATE("b"), 200);
    metric_await(&served, UNLOADS, 2, NULL);
    check_state("a", "cold");
}
END_TEST

START_TEST(what_is_in_use_stays) {
    struct reply slow, reply;
    char *body = work_endless(64, 32);
    body = realloc(body, strlen(body) + 32);
    strcpy(strrchr(body, '}'), ", 'model': 'a'}");
    start_with_room(1.2);
    ask(TRANSLATE("b"), 200);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &slow);
    metric_await_least(&served, "alignd_rows_live", 1, flight);
    metric_await(&served, UNLOADS, 1, flight);
    translate(TRANSLATE("b"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "do not fit into --model-memory"));
    ck_assert_double_ge(metric(&served, "alignd_rows_live"), 1);
    reply_done(&reply);
    flight_close(flight);
    reply_done(&slow);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    ask(TRANSLATE("b"), 200);
    free(body);
}
END_TEST

START_TEST(what_never_fits_is_told) {
    struct reply reply;
    start("--model-memory", "1000");
    translate(TRANSLATE("a"), 503, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "error"), "which is more than --model-memory (1000)"));
    reply_done(&reply);
    check_state("a", "failed");
}
END_TEST

START_TEST(the_idle_are_unloaded) {
    start("--idle-unload-s", "1");
    ask(TRANSLATE("a"), 200);
    metric_await(&served, UNLOADS, 1, NULL);
    check_state("a", "cold");
    metric_await(&served, "alignd_models_bytes", 0, NULL); /* given back after it is counted */
    ask(TRANSLATE("a"), 200);
}
END_TEST

/* ---- which one ---- */

START_TEST(regions_fall_back) {
    static const struct {
        const char *body, *model;
    } rows[] = {{"{'text': 'x', 'source': 'en-GB', 'target': 'de-AT'}", "b"},
                {"{'text': 'x', 'target': 'fr_CA'}", "a"},
                {"{'text': 'x', 'source': 'pt'}", "c"},
                {"{'text': 'x', 'source': 'pb'}", "c"},
                {"{'text': 'x', 'source': 'pt-BR', 'target': 'EN'}", "c"}};
    start("--queue", "64");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        translate(rows[i].body, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "model"), rows[i].model);
        reply_done(&reply);
    }
    ask("{'text': 'x', 'source': 'es'}", 400);
    ask("{'q': 'x', 'source': 'en-US', 'target': 'de-CH'}", 200);
    ask("{'q': 'Where is the train station?', 'source': 'auto', 'target': 'de'}", 200);
}
END_TEST

/* Of two for a pair the first is taken, unless the other is named; the nearest before the first. */
START_TEST(the_nearest_is_taken) {
    struct reply reply;
    add_folder("d", "en", "fr-CA");
    add_folder("e", "en", "fr");
    start("--queue", "64");
    translate("{'text': 'x', 'target': 'fr'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "a");
    reply_done(&reply);
    translate("{'text': 'x', 'target': 'fr-CA'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "d");
    reply_done(&reply);
    translate("{'text': 'x', 'target': 'fr', 'model': 'e'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "e");
    reply_done(&reply);
}
END_TEST

/* ---- two in the place of one ---- */

#define VIA "{'text': 'A boy plays. A dog runs.', 'source': 'pt-BR', 'target': 'fr'"

static double sum_of(const json_t *row) {
    double sum = 0;
    size_t i;
    json_t *value;
    json_array_foreach(row, i, value) sum += json_number_value(value);
    return sum;
}

/* What the first writes of each sentence is what the second reads. */
START_TEST(two_models_meet_in_a_language) {
    struct reply reply, part;
    start("--queue", "64");
    translate(VIA ", 'include': ['tokens', 'attention', 'alignment', 'offsets', 'words'], 'digits': 9}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "source"), "pt-BR");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    ck_assert_str_eq(json_string_value(json_array_get(json_at(reply.json, "pivot"), 0)), "c");
    ck_assert_str_eq(json_string_value(json_array_get(json_at(reply.json, "pivot"), 1)), "a");
    const json_t *answer = json_array_get(json_at(reply.json, "translations"), 0), *sentences = json_at(answer, "sentences");
    ck_assert_uint_eq(json_array_size(sentences), 2);
    const json_t *sentence = json_array_get(sentences, 1), *rows = json_at(sentence, "attention");
    ck_assert_str_eq(text_at(sentence, "source_text"), "A dog runs.");
    ck_assert_uint_eq(json_array_size(rows), json_array_size(json_at(sentence, "tokens")));
    ck_assert_uint_eq(json_array_size(json_array_get(rows, 0)), json_array_size(json_at(sentence, "source_tokens")));
    for (size_t i = 0; i < json_array_size(rows); i++)
        ck_assert_double_eq_tol(sum_of(json_array_get(rows, i)), 1, 1e-4);
    translate("{'text': 'A boy plays. A dog runs.', 'model': 'c', 'include': []}", 200, &part);
    ck_assert_str_eq(text_at(answer, "pivot_text"), text_at(json_array_get(json_at(part.json, "translations"), 0), "text"));
    reply_done(&part);
    reply_done(&reply);
    translate(VIA ", 'include': [], 'protect': ['dog', {'pattern': 'b.y'}]}", 200, &reply); /* by both */
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "boy"));
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "dog"));
    reply_done(&reply);
}
END_TEST

START_TEST(two_models_in_other_dialects) {
    struct reply reply;
    start("--queue", "64");
    client_post(&served, "/translate", "{'q': '<b>A boy</b> plays.', 'source': 'pt-BR', 'target': 'de', 'format': 'html'}", 200,
                &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translatedText"), "<b>"));
    reply_done(&reply);
    client_post(&served, "/v2/translate", "{'text': ['A boy plays.', 'A dog.'], 'source_lang': 'PT-BR', 'target_lang': 'DE'}", 200,
                &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 2);
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/languages"}, &reply);
    ck_assert_ptr_nonnull(
        strstr(reply.body, "{\"code\":\"pt-BR\",\"name\":\"Portuguese (Brazil)\",\"targets\":[\"en\",\"fr\",\"de\"]}"));
    reply_done(&reply);
}
END_TEST

static double source_tokens(const char *model) {
    char name[64];
    snprintf(name, sizeof name, "alignd_source_tokens_total{model=\"%s\"}", model);
    return metric(&served, name);
}

/* Of a text for two targets the first model reads what it reads for one; the answers are those for each alone. */
START_TEST(targets_share_the_first_decoding) {
#define TO(targets) "/translate?api-version=3.0&from=pt-BR" targets
    static const char body[] = "[{'Text': 'A boy plays. A dog runs.'}, {'Text': 'Two men walk.'}]";
    struct reply french, german, both;
    start("--queue", "64");
    client_post(&served, TO("&to=fr"), body, 200, &french);
    double alone = source_tokens("c");
    ck_assert_double_gt(alone, 0);
    client_post(&served, TO("&to=de"), body, 200, &german);
    ck_assert_double_eq(source_tokens("c"), 2 * alone);
    client_post(&served, TO("&to=de&to=fr"), body, 200, &both);
    ck_assert_double_eq(source_tokens("c"), 3 * alone);
    ck_assert_double_gt(source_tokens("a"), 0);
    for (size_t i = 0; i < 2; i++) {
        const json_t *pair = json_at(json_array_get(both.json, i), "translations");
        ck_assert(json_equal(json_array_get(pair, 0), json_at(json_array_get(german.json, i), "translations.0")));
        ck_assert(json_equal(json_array_get(pair, 1), json_at(json_array_get(french.json, i), "translations.0")));
    }
    reply_done(&french);
    reply_done(&german);
    reply_done(&both);
#undef TO
}
END_TEST

START_TEST(what_two_models_cannot_do) {
    static const char *const fields[] = {"'stream': true", "'prefix': 'Un'", "'glossary': {'dog': 'chien'}",
                                         "'include': ['quality']"};
    start("--queue", "64");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char body[256];
        snprintf(body, sizeof body, "%s, %s}", VIA, fields[i]);
        ask(body, 400);
    }
    ask("{'text': 'x', 'source': 'fr', 'target': 'de'}", 400);    /* no chain */
    ask("{'text': 'x', 'source': 'pt-BR', 'target': 'pt'}", 400); /* the same language */
    ask("{'text': 'x', 'source': 'pt-BR', 'target': 'fr', 'model': 'c'}", 400);
    ask("{'text': ['', ' '], 'source': 'pt-BR', 'target': 'fr'}", 200);
}
END_TEST

START_TEST(only_one_language_to_meet_in) {
    start("--pivot", "es");
    ask(VIA "}", 400);
    daemon_stop(&served);
    start("--pivot", "none");
    ask(VIA "}", 400);
    daemon_stop(&served);
    start("--pivot", "en");
    ask(VIA "}", 200);
}
END_TEST

/* ---- one more, one less ---- */

START_TEST(a_reload_looks_again) {
    start("--queue", "64");
    ask(TRANSLATE("a"), 200);
    add_folder("d", "en", "it");
    folder_remove(folders[1]);
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    metric_await(&served, "alignd_models_reloads_total{result=\"success\"}", 1, NULL);
    ck_assert_uint_eq(count_models(), 3);
    check_state("a", "ready"); /* it was loaded, and is again */
    check_state("d", "cold");
    ask(TRANSLATE("d"), 200);
    ask(TRANSLATE("b"), 400);
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
    snprintf(address, sizeof address, "unix:%s/door", directory);
    snprintf(body, sizeof body, "{'folder': '%s'}", made);
    start("--admin-listen", address);
    struct daemon door = daemon_at(&served, address);
    const struct call add = {.path = "/models", .json = body}, other = {.path = "/models", .json = "{'folder': '/nowhere'}"},
                      wrong = {.path = "/models", .json = "{'path': '/nowhere'}"},
                      take = {.path = "/models/new", .method = "DELETE"};
    change(&served, &add, 403);
    change(&served, &take, 403);
    change(&door, &wrong, 400);
    change(&door, &other, 409);
    change(&door, &take, 404);
    change(&door, &add, 200);
    change(&door, &add, 409); /* its name is taken */
    ask(TRANSLATE("new"), 200);
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    metric_await(&served, "alignd_models_reloads_total{result=\"success\"}", 1, NULL);
    ask(TRANSLATE("new"), 200); /* it stays */
    change(&door, &take, 200);
    ask(TRANSLATE("new"), 400);
    change(&door, &add, 200);
    ask("{'text': 'x', 'target': 'sv'}", 200);
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
    daemon_start(&served, ARGUMENTS("--model", all, "--rows", "4"));
    ck_assert_uint_eq(count_models(), MANY);
    ask(TRANSLATE("m39"), 200);
    for (size_t i = 0; i < MANY; i++)
        folder_remove(made[i]);
}
END_TEST

Suite *many_models_suite(void) {
    Suite *suite = suite_create("many_models");
    TCase *tcase = tcase_create("many_models");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(tcase, setup, teardown);
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
    tcase_add_test(tcase, the_longest_unused_goes_first);
    tcase_add_test(tcase, what_is_in_use_stays);
    tcase_add_test(tcase, what_never_fits_is_told);
    tcase_add_test(tcase, the_idle_are_unloaded);
    tcase_add_test(tcase, regions_fall_back);
    tcase_add_test(tcase, the_nearest_is_taken);
    tcase_add_test(tcase, two_models_meet_in_a_language);
    tcase_add_test(tcase, two_models_in_other_dialects);
    tcase_add_test(tcase, targets_share_the_first_decoding);
    tcase_add_test(tcase, what_two_models_cannot_do);
    tcase_add_test(tcase, only_one_language_to_meet_in);
    tcase_add_test(tcase, a_reload_looks_again);
    tcase_add_test(tcase, administrators_add_and_remove);
    tcase_add_test(tcase, more_than_thirty_two);
    suite_add_tcase(suite, tcase);
    return suite;
}
