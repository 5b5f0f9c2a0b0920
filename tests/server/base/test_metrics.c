/* server/base/metrics: counts are written in Prometheus's text format. */
#include "server/base/metrics.h"
#include "tests/suites.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const endpoints[] = {"/a", "other"};
static struct metrics *metrics;
static char *text;

static void setup(void) {
    metrics = metrics_create(endpoints, 2, NULL);
}

static void teardown(void) {
    metrics_free(metrics);
    free(text);
    text = NULL;
}

static void write_with(const struct metrics_served *model) {
    size_t length;
    free(text);
    struct metrics_state state = {.models = model,
                                  .model_count = model != NULL,
                                  .model_bytes = 7,
                                  .model_memory = 9,
                                  .queue_depth = {1, 2},
                                  .cache_bytes = 12};
    ck_assert_int_eq(metrics_write(metrics, &state, &text, &length, NULL), 0);
    ck_assert_uint_eq(length, strlen(text));
}

static void write_text(void) {
    write_with(NULL);
}

/* A whole line of the output. */
static void assert_line(const char *line) {
    const char *at = strstr(text, line);
    while (at && !((at == text || at[-1] == '\n') && at[strlen(line)] == '\n'))
        at = strstr(at + 1, line);
    ck_assert_msg(at != NULL, "missing: %s", line);
}

START_TEST(requests) {
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    metrics_request_ended(metrics, 0, NULL, 200, 3000);
    metrics_request_ended(metrics, 1, NULL, 0, 60000000);
    write_text();
    assert_line("alignd_requests_total{endpoint=\"/a\",code=\"200\"} 1");
    assert_line("alignd_requests_total{endpoint=\"other\",code=\"499\"} 1");
    assert_line("alignd_requests_in_flight 1");
    assert_line("alignd_request_duration_seconds_bucket{endpoint=\"/a\",le=\"0.0025\"} 0");
    assert_line("alignd_request_duration_seconds_bucket{endpoint=\"/a\",le=\"0.005\"} 1");
    assert_line("alignd_request_duration_seconds_bucket{endpoint=\"/a\",le=\"+Inf\"} 1");
    assert_line("alignd_request_duration_seconds_sum{endpoint=\"/a\"} 0.003000");
    assert_line("alignd_request_duration_seconds_bucket{endpoint=\"other\",le=\"30\"} 0");
    assert_line("alignd_request_duration_seconds_bucket{endpoint=\"other\",le=\"+Inf\"} 1");
    assert_line("alignd_request_duration_seconds_count{endpoint=\"other\"} 1");
}
END_TEST

START_TEST(decoding) {
    metrics_queued(metrics, metrics_model(metrics, "en-fr", NULL), PRIORITY_BATCH, 1000);
    metrics_step(metrics, 4, 700);
    metrics_step(metrics, 5, 700);
    metrics_add(metrics, GAUGE_ROWS_LIVE, 9);
    metrics_add(metrics, GAUGE_ROWS_LIVE, -4);
    metrics_add(metrics, GAUGE_DECODING_BYTES, 5000);
    metrics_add(metrics, GAUGE_DECODING_BYTES, -1000);
    metrics_add(metrics, GAUGE_CHORES_WAITING, 3);
    metrics_add(metrics, GAUGE_CHORES_WAITING, -1);
    metrics_chore(metrics, CHORE_RENDERING, 2000);
    metrics_add(metrics, GAUGE_REPLY_BYTES, 70);
    metrics_add(metrics, GAUGE_REPLY_BYTES, -20);
    write_text();
    assert_line("alignd_chores_waiting 2");
    assert_line("alignd_reply_bytes 50");
    assert_line("alignd_decoding_bytes 4000");
    assert_line("alignd_chore_duration_seconds_count{kind=\"preparation\"} 0");
    assert_line("alignd_chore_duration_seconds_sum{kind=\"rendering\"} 0.002000");
    assert_line("alignd_queue_duration_seconds_bucket{le=\"0.001\"} 1"); /* bounds are inclusive */
    assert_line("alignd_step_duration_seconds_sum 0.001400");
    assert_line("alignd_step_rows_bucket{le=\"4\"} 1");
    assert_line("alignd_step_rows_bucket{le=\"8\"} 2");
    assert_line("alignd_step_rows_count 2");
    assert_line("alignd_rows_live 5");
    assert_line("alignd_queue_depth 3");
    assert_line("alignd_queue_priority_depth{priority=\"interactive\"} 1");
    assert_line("alignd_queue_priority_depth{priority=\"batch\"} 2");
    assert_line("alignd_sentences_admitted_total{priority=\"interactive\"} 0");
    assert_line("alignd_sentences_admitted_total{priority=\"batch\"} 1");
}
END_TEST

START_TEST(reasons) {
    metrics_cancelled(metrics, CANCELLED_DEADLINE);
    metrics_rejected(metrics, REJECTED_QUEUE_FULL);
    metrics_rejected(metrics, REJECTED_QUEUE_FULL);
    metrics_rejected(metrics, REJECTED_RATE);
    metrics_count(metrics, SLOW_READER);
    write_text();
    assert_line("alignd_cancelled_total{reason=\"client\"} 0");
    assert_line("alignd_cancelled_total{reason=\"deadline\"} 1");
    assert_line("alignd_rejected_total{reason=\"queue_full\"} 2");
    assert_line("alignd_rejected_total{reason=\"queue_work\"} 0");
    assert_line("alignd_rejected_total{reason=\"rate\"} 1");
    assert_line("alignd_rejected_total{reason=\"preparation_full\"} 0");
    assert_line("alignd_rejected_total{reason=\"loading\"} 0");
    assert_line("alignd_connections_cut_total{reason=\"request\"} 0");
    assert_line("alignd_connections_cut_total{reason=\"reader\"} 1");
}
END_TEST

/* As metrics look at it; tokens are counted in its counters. */
static struct model_metrics *load_model(struct metrics_served *model, const char *name,
                                        const char *storage) {
    struct model_metrics *counters = metrics_model(metrics, name, NULL);
    ck_assert_ptr_nonnull(counters);
    *model = (struct metrics_served){name, "en", "fr", "a", "int8", storage, 250000, counters};
    return counters;
}

START_TEST(models_show_once_loaded) {
    struct metrics_served model;
    write_text();
    ck_assert_ptr_null(strstr(text, "alignd_model_info{"));
    struct model_metrics *counters = load_model(&model, "en-fr", "float16");
    metrics_tokens(counters, 7, 9, 2);
    metrics_tokens(counters, 1, 1, 0);
    write_with(&model);
    assert_line("alignd_model_loaded{model=\"en-fr\"} 1");
    assert_line("alignd_models_bytes 7");
    assert_line("alignd_model_memory_bytes 9");
    assert_line("alignd_model_info{model=\"en-fr\",source=\"en\",target=\"fr\",architecture=\"a\","
                "compute=\"int8\",storage=\"float16\"} 1");
    assert_line("alignd_model_load_duration_seconds{model=\"en-fr\"} 0.250000");
    assert_line("alignd_source_tokens_total{model=\"en-fr\"} 8");
    assert_line("alignd_target_tokens_total{model=\"en-fr\"} 10");
    assert_line("alignd_unknown_tokens_total{model=\"en-fr\"} 2");
}
END_TEST

/* A counter never falls: the next model of a name goes on with it. */
START_TEST(counters_outlive_a_set) {
    struct metrics_served model;
    metrics_tokens(load_model(&model, "en-fr", "float16"), 7, 9, 2);
    load_model(&model, "other \"name\"", "float16");
    write_with(&model);
    assert_line("alignd_source_tokens_total{model=\"other \\\"name\\\"\"} 0");
    ck_assert_ptr_null(strstr(text, "en-fr"));
    metrics_tokens(load_model(&model, "en-fr", "int8"), 1, 1, 0);
    write_with(&model);
    assert_line("alignd_source_tokens_total{model=\"en-fr\"} 8");
}
END_TEST

/* Its counters show; what only a model in memory has does not. */
START_TEST(a_cold_model_shows_its_counters) {
    struct metrics_served model;
    metrics_tokens(load_model(&model, "en-fr", "float16"), 7, 9, 2);
    model.architecture = model.compute = NULL;
    write_with(&model);
    assert_line("alignd_source_tokens_total{model=\"en-fr\"} 7");
    assert_line("alignd_model_loaded{model=\"en-fr\"} 0");
    ck_assert_ptr_null(strstr(text, "alignd_model_info{"));
    ck_assert_ptr_null(strstr(text, "alignd_model_load_duration_seconds{"));
}
END_TEST

START_TEST(loads) {
    metrics_count(metrics, LOAD_DONE);
    metrics_count(metrics, LOAD_DONE);
    metrics_count(metrics, LOAD_FAILED);
    metrics_count(metrics, MODEL_UNLOADED);
    write_text();
    assert_line("alignd_model_loads_total{result=\"success\"} 2");
    assert_line("alignd_model_loads_total{result=\"failure\"} 1");
    assert_line("alignd_model_unloads_total 1");
}
END_TEST

START_TEST(reloads) {
    metrics_count(metrics, RELOAD_DONE);
    metrics_count(metrics, RELOAD_FAILED);
    metrics_count(metrics, RELOAD_DONE);
    metrics_add(metrics, GAUGE_MODEL_SETS, 1);
    write_text();
    assert_line("alignd_models_reloads_total{result=\"success\"} 2");
    assert_line("alignd_models_reloads_total{result=\"failure\"} 1");
    assert_line("alignd_model_sets 1");
}
END_TEST

START_TEST(cache) {
    struct model_metrics *counters = metrics_model(metrics, "en-fr", NULL);
    metrics_cache_asked(metrics, counters, false);
    metrics_cache_asked(metrics, counters, true);
    metrics_cache_asked(metrics, counters, false);
    write_text();
    assert_line("alignd_cache_hits_total 1");
    assert_line("alignd_cache_misses_total 2");
    assert_line("alignd_cache_bytes 12");
}
END_TEST

/* Models that were never used have no histograms, since there may be many. */
START_TEST(by_model) {
    struct metrics_served model;
    struct model_metrics *counters = load_model(&model, "en-\"fr", "float16");
    write_with(&model);
    ck_assert_ptr_null(strstr(text, "alignd_model_request_duration_seconds_count"));
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    metrics_request_ended(metrics, 0, counters, 200, 3000);
    metrics_queued(metrics, counters, PRIORITY_INTERACTIVE, 1000);
    metrics_queued(metrics, counters, PRIORITY_INTERACTIVE, 60000000);
    metrics_cache_asked(metrics, counters, true);
    write_with(&model);
    assert_line("alignd_model_request_duration_seconds_bucket{model=\"en-\\\"fr\",le=\"0.005\"} 1");
    assert_line("alignd_model_request_duration_seconds_count{model=\"en-\\\"fr\"} 1");
    assert_line("alignd_model_queue_duration_seconds_bucket{model=\"en-\\\"fr\",le=\"0.001\"} 1");
    assert_line("alignd_model_queue_duration_seconds_bucket{model=\"en-\\\"fr\",le=\"+Inf\"} 2");
    assert_line("alignd_model_cache_hits_total{model=\"en-\\\"fr\"} 1");
    assert_line("alignd_model_cache_misses_total{model=\"en-\\\"fr\"} 0");
}
END_TEST

START_TEST(build_and_process) {
    write_text();
    assert_line("alignd_build_info{version=\"" ALIGND_VERSION "\"} 1");
    ck_assert_ptr_nonnull(strstr(text, "\nprocess_cpu_seconds_total "));
    ck_assert_ptr_nonnull(strstr(text, "\nprocess_resident_memory_bytes "));
    ck_assert_ptr_nonnull(strstr(text, "\nprocess_open_fds "));
    ck_assert_ptr_nonnull(strstr(text, "\nprocess_start_time_seconds "));
}
END_TEST

/* Every sample belongs to the family whose TYPE was announced last, and every family is announced
 * once. */
START_TEST(families_are_announced) {
    char family[128] = "";
    metrics_add(metrics, GAUGE_REQUESTS_IN_FLIGHT, 1);
    metrics_request_ended(metrics, 0, NULL, 200, 1);
    write_text();
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# TYPE ", 7) == 0)
            sscanf(line, "# TYPE %127s", family);
        else if (line[0] != '#')
            ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s is not of %s", line,
                          family);
    }
}
END_TEST

enum { THREADS = 4, ROUNDS = 10000 };

static void *count(void *argument) {
    (void)argument;
    for (size_t i = 0; i < ROUNDS; i++)
        metrics_step(metrics, 1, 1);
    return NULL;
}

START_TEST(threads_lose_no_count) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    write_text(); /* meanwhile */
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    write_text();
    assert_line("alignd_step_rows_count 40000");
}
END_TEST

Suite *metrics_suite(void) {
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, requests);
    tcase_add_test(tcase, decoding);
    tcase_add_test(tcase, reasons);
    tcase_add_test(tcase, models_show_once_loaded);
    tcase_add_test(tcase, counters_outlive_a_set);
    tcase_add_test(tcase, a_cold_model_shows_its_counters);
    tcase_add_test(tcase, loads);
    tcase_add_test(tcase, reloads);
    tcase_add_test(tcase, cache);
    tcase_add_test(tcase, by_model);
    tcase_add_test(tcase, build_and_process);
    tcase_add_test(tcase, families_are_announced);
    tcase_add_test(tcase, threads_lose_no_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
