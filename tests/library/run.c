/* libalignd as a program uses it: nothing but its header and the shared library. */
#include "server/library/alignd.h"
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const options[] = {"--model=weights/en-fr", "--model=weights/fr-en",
                                      "--workers=2"};
enum { OPTIONS = sizeof options / sizeof *options, CALLS = 200 };

static const char house[] = "{\"text\": \"The house is small.\", \"source\": \"en\","
                            " \"target\": \"fr\"}";

static alignd_engine *open_engine(void) {
    char error[ALIGND_ERROR_BYTES] = "";
    alignd_engine *engine = alignd_open(options, OPTIONS, error);
    ck_assert_msg(engine != NULL, "%s", error);
    return engine;
}

/* Calls and checks the status; the text must contain a part. */
static void expect(alignd_engine *engine, const char *what, const char *request, unsigned status,
                   const char *part) {
    size_t length;
    alignd_reply *reply = alignd_call(engine, what, request, strlen(request));
    ck_assert_ptr_nonnull(reply);
    const char *text = alignd_reply_text(reply, &length);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_msg(alignd_reply_status(reply) == status && strstr(text, part), "%s: %u %s", what,
                  alignd_reply_status(reply), text);
    alignd_reply_free(reply);
}

START_TEST(reasons_of_a_failed_open_are_told) {
    static const struct {
        const char *option, *reason;
    } rows[] = {{"--workers=2", "--model"},
                {"--model=tests/golden/no-such-model", "no-such-model"},
                {"--modl=en-fr", "did you mean --model"},
                {"--listen=127.0.0.1:0", "--listen"}};
    char error[ALIGND_ERROR_BYTES] = "";
    ck_assert_ptr_null(alignd_open(&rows[_i].option, 1, error));
    ck_assert_msg(strstr(error, rows[_i].reason), "%s", error);
    ck_assert_ptr_null(alignd_open(&rows[_i].option, 1, NULL));
}
END_TEST

START_TEST(every_endpoint_answers) {
    alignd_engine *engine = open_engine();
    expect(engine, "translate", house, 200,
           "\"translations\":[{\"text\":\"La maison est petite.\"");
    expect(engine, "attention", house, 200, "\"attention\":[[");
    expect(engine, "align",
           "{\"text\": \"The house.\", \"translation\": \"La maison.\", \"source\": \"en\","
           " \"target\": \"fr\"}",
           200, "\"links\":[");
    expect(engine, "detect", "{\"q\": \"La maison est petite.\"}", 200, "\"language\":\"fr\"");
    expect(engine, "models", "", 200, "\"name\":\"fr-en\"");
    expect(engine, "languages", "", 200,
           "{\"code\":\"en\",\"name\":\"English\",\"targets\":[\"fr\"]}");
    expect(engine, "formats", "", 200, "\"name\":\"srt\",\"extensions\":[\"srt\"]");
    expect(engine, "document?source=en&target=fr&filename=a%20page.html",
           "<p>The <b>house</b>.</p>", 200, "<b>maison</b>");
    alignd_close(engine);
}
END_TEST

START_TEST(errors_have_the_form_of_the_endpoints) {
    alignd_engine *engine = open_engine();
    expect(engine, "translations", house, 404, "\"error\"");
    expect(engine, "translate", "{\"text\": 3}", 400, "\"field\":\"text\"");
    expect(engine, "translate", "not JSON", 400, "\"error\"");
    char fields[1000] = "document?target=fr";
    for (size_t i = strlen(fields); i + 5 < sizeof fields; i += 4)
        strcpy(fields + i, "&a=b");
    expect(engine, fields, "<p>x</p>", 400, "more than 63 fields");
    size_t length = (1 << 20) + 1;
    char *large = malloc(length);
    memset(large, ' ', length);
    alignd_reply *reply = alignd_call(engine, "translate", large, length);
    ck_assert_uint_eq(alignd_reply_status(reply), 413);
    ck_assert_str_eq(alignd_reply_type(reply), "application/json; charset=utf-8");
    alignd_reply_free(reply);
    free(large);
    alignd_close(engine);
}
END_TEST

START_TEST(a_matrix_has_the_numbers_of_the_text) {
    alignd_engine *engine = open_engine();
    alignd_reply *reply = alignd_call(engine, "attention", house, strlen(house));
    alignd_floats attention, again, alignment;
    ck_assert_int_eq(alignd_matrix(reply, "attention", 0, 0, &attention), 0);
    ck_assert_int_eq(alignd_matrix(reply, "attention", 0, 0, &again), 0);
    ck_assert_ptr_eq(attention.values, again.values);
    ck_assert_int_eq(alignd_matrix(reply, "alignment", 0, 0, &alignment), 0);
    ck_assert_uint_eq(alignment.columns, 2);
    ck_assert_int_eq(alignd_matrix(reply, "attention", 0, 1, &again), -1);
    ck_assert_int_eq(alignd_matrix(reply, "attention", 1, 0, &again), -1);
    ck_assert_int_eq(alignd_matrix(reply, "tokens", 0, 0, &again), -1);
    const char *at = strstr(alignd_reply_text(reply, NULL), "\"attention\":[[") + 13;
    for (size_t i = 0; i < attention.rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < attention.columns; j++) {
            char *end;
            at += strspn(at, "[],");
            float value = strtof(at, &end);
            ck_assert_float_eq(attention.values[i * attention.columns + j], value);
            sum += value;
            at = end;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-3);
    }
    ck_assert_int_eq(strncmp(at, "]]", 2), 0);
    alignd_reply_free(reply);
    alignd_close(engine);
}
END_TEST

static size_t count_threads(void) {
    size_t count = 0;
    DIR *threads = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(threads);
    for (struct dirent *entry; (entry = readdir(threads));)
        count += entry->d_name[0] != '.';
    closedir(threads);
    return count;
}

/* ---- calls that nobody waits for ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t ended, events, results;
    alignd_reply *replies[CALLS];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Tests may share a process. */
static void forget(void) {
    seen.ended = seen.events = seen.results = 0;
}

static void note_end(void *owner, alignd_reply *reply) {
    pthread_mutex_lock(&seen.lock);
    *(alignd_reply **)owner = reply;
    seen.ended++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static void note_event(void *owner, const char *bytes, size_t length) {
    (void)owner;
    ck_assert(length > 2 && memcmp(bytes + length - 2, "\n\n", 2) == 0);
    pthread_mutex_lock(&seen.lock);
    seen.events++;
    seen.results += strncmp(bytes, "event: result", 13) == 0;
    pthread_mutex_unlock(&seen.lock);
}

static void await_ends(size_t count) {
    pthread_mutex_lock(&seen.lock);
    while (seen.ended < count)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static uint64_t begin(alignd_engine *engine, const char *request, size_t slot) {
    const alignd_listener listener = {note_event, note_end, &seen.replies[slot]};
    return alignd_call_async(engine, "translate", request, strlen(request), &listener);
}

START_TEST(calls_at_once_get_the_replies_of_single_calls) {
    char request[160];
    alignd_engine *engine = open_engine();
    for (size_t i = 0; i < CALLS; i++) {
        snprintf(request, sizeof request,
                 "{\"text\": \"There are %zu houses.\", \"target\": \"fr\"}", i % 20);
        ck_assert_uint_gt(begin(engine, request, i), 0);
    }
    await_ends(CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        snprintf(request, sizeof request,
                 "{\"text\": \"There are %zu houses.\", \"target\": \"fr\"}", i % 20);
        alignd_reply *single = i < 20 ? alignd_call(engine, "translate", request, strlen(request))
                                      : seen.replies[i % 20];
        ck_assert_str_eq(alignd_reply_text(seen.replies[i], NULL), alignd_reply_text(single, NULL));
        if (i < 20) {
            alignd_reply_free(seen.replies[i]);
            seen.replies[i] = single;
        }
    }
    for (size_t i = 0; i < CALLS; i++)
        alignd_reply_free(seen.replies[i]);
    ck_assert_uint_eq(seen.events, 0);
    alignd_close(engine);
}
END_TEST

/* Without threads: those that call decode, one of them for all. */

static const char *const threadless[] = {"--model=weights/en-fr", "--model=weights/fr-en",
                                         "--threads=false"};

static void *call_some(void *engine) {
    for (size_t i = 0; i < 8; i++)
        expect(engine, "translate", house, 200, "\"La maison est petite.\"");
    return NULL;
}

START_TEST(an_engine_without_threads_answers_on_those_that_call) {
    char error[ALIGND_ERROR_BYTES] = "";
    pthread_t callers[4];
    alignd_engine *engine = alignd_open(threadless, 3, error);
    ck_assert_msg(engine != NULL, "%s", error);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&callers[i], NULL, call_some, engine), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    expect(engine, "document?source=en&target=fr&filename=a.html", "<p>The <b>house</b>.</p>", 200,
           "<b>maison</b>");
    forget();
    ck_assert_uint_gt(begin(engine, house, 0), 0);
    ck_assert_uint_eq(seen.ended, 1); /* at once */
    ck_assert_uint_eq(alignd_reply_status(seen.replies[0]), 200);
    alignd_reply_free(seen.replies[0]);
    alignd_close(engine);

    static const char *const on_demand[] = {"--models=weights", "--threads=false"};
    ck_assert_ptr_null(alignd_open(on_demand, 2, error));
    ck_assert_msg(strstr(error, "--threads=false"), "%s", error);
}
END_TEST

static const char streamed[] = "{\"text\": \"The house is small. The garden is large.\","
                               " \"target\": \"fr\", \"strategy\": \"greedy\", \"stream\": true}";

/* A call whose first event cancels it. */
static struct {
    alignd_engine *engine;
    pthread_t caller;
    uint64_t number; /* 0: it goes on */
} watched;

static void cancel_first(void *owner, const char *bytes, size_t length) {
    if (watched.number > 0)
        alignd_cancel(watched.engine, watched.number);
    note_event(owner, bytes, length);
}

static void note_own_event(void *owner, const char *bytes, size_t length) {
    ck_assert(pthread_equal(pthread_self(), watched.caller));
    ck_assert_uint_eq(seen.ended, 0);
    cancel_first(owner, bytes, length);
}

START_TEST(an_engine_without_threads_sends_events_while_it_decodes) {
    alignd_engine *engine = alignd_open(threadless, 3, NULL);
    ck_assert_ptr_nonnull(engine);
    const alignd_listener listener = {note_own_event, note_end, &seen.replies[0]};
    watched.engine = engine;
    watched.caller = pthread_self();
    watched.number = 0;
    for (size_t i = 0; i < 2; i++) {
        forget();
        uint64_t number =
            alignd_call_async(engine, "translate", streamed, strlen(streamed), &listener);
        watched.number = number + 1; /* of the next call */
        ck_assert_uint_eq(seen.ended, 1);
        ck_assert_uint_eq(alignd_reply_status(seen.replies[0]), i == 0 ? 200 : 499);
        if (i == 0) {
            ck_assert_uint_ge(seen.events, 10);
            ck_assert_uint_eq(seen.results, 1);
            ck_assert_str_eq(alignd_reply_text(seen.replies[0], NULL), "");
        }
        alignd_reply_free(seen.replies[0]);
    }
    alignd_close(engine);
}
END_TEST

/* Decoding goes on while an event is sent: the text is long enough for the call to be cancelled. */
START_TEST(events_come_while_threads_decode) {
    static const char *const narrow[] = {"--model=weights/en-fr", "--rows=1", "--workers=1"};
    enum { SENTENCES = 150 };
    static const char begin[] = "{\"target\": \"fr\", \"strategy\": \"greedy\", \"stream\": true,"
                                " \"text\": \"",
                      sentence[] = "The house that my father built is small. ", end[] = "\"}";
    char *request = malloc(sizeof begin + SENTENCES * sizeof sentence + sizeof end);
    strcpy(request, begin);
    for (size_t i = 0; i < SENTENCES; i++)
        strcat(request, sentence);
    strcat(request, end);
    alignd_engine *engine = alignd_open(narrow, 3, NULL);
    ck_assert(request && engine);
    const alignd_listener listener = {cancel_first, note_end, &seen.replies[0]};
    watched.engine = engine;
    watched.number = 1; /* the number of the first call */
    ck_assert_uint_eq(alignd_call_async(engine, "translate", request, strlen(request), &listener),
                      watched.number);
    await_ends(1);
    ck_assert_uint_eq(alignd_reply_status(seen.replies[0]), 499);
    ck_assert_uint_gt(seen.events, 0);
    alignd_reply_free(seen.replies[0]);
    alignd_close(engine);
    free(request);
}
END_TEST

START_TEST(resident_models_need_their_files_no_more) {
    char error[ALIGND_ERROR_BYTES] = "";
    static const char *const on_demand[] = {"--models=weights", "--resident"};
    ck_assert_ptr_null(alignd_open(on_demand, 2, error));
    ck_assert_msg(strstr(error, "--resident"), "%s", error);

    char folder[] = "/tmp/alignd-resident-XXXXXX", link[64], option[80];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *model = realpath("weights/en-fr", NULL);
    snprintf(link, sizeof link, "%s/en-fr", folder);
    snprintf(option, sizeof option, "--model=%s", link);
    ck_assert(model && symlink(model, link) == 0);
    const char *const resident[] = {option, "--resident", "--workers=2"};
    const char *const watched_files[] = {option, "--workers=2"};
    alignd_engine *engine = alignd_open(watched_files, 2, error);
    ck_assert_msg(engine != NULL, "%s", error);
    size_t threads = count_threads();
    alignd_close(engine);
    engine = alignd_open(resident, 3, error);
    ck_assert_msg(engine != NULL, "%s", error);
    ck_assert(unlink(link) == 0 && rmdir(folder) == 0);
    ck_assert_uint_lt(count_threads(), threads); /* none loads or checks files */
    ck_assert_uint_gt(begin(engine, house, 0), 0);
    await_ends(1);
    ck_assert_uint_eq(alignd_reply_status(seen.replies[0]), 200);
    alignd_reply_free(seen.replies[0]);
    alignd_close(engine);
    free(model);
}
END_TEST

START_TEST(a_stream_ends_with_its_result) {
    alignd_engine *engine = open_engine();
    ck_assert_uint_gt(begin(engine, streamed, 0), 0);
    await_ends(1);
    ck_assert_uint_ge(seen.events, 10);
    ck_assert_uint_eq(seen.results, 1);
    ck_assert_uint_eq(alignd_reply_status(seen.replies[0]), 200);
    ck_assert_str_eq(alignd_reply_text(seen.replies[0], NULL), "");
    alignd_reply_free(seen.replies[0]);
    alignd_close(engine);
}
END_TEST

static const char endless[] =
    "{\"text\": \"The house that my father built for his brother is small."
    "\", \"target\": \"fr\", \"strategy\": \"exact\"}";

START_TEST(a_cancelled_call_ends) {
    alignd_engine *engine = open_engine();
    uint64_t first = begin(engine, endless, 0);
    alignd_cancel(engine, first);
    await_ends(1);
    unsigned status = alignd_reply_status(seen.replies[0]);
    ck_assert_msg(status == 499 || status == 200, "%u", status);
    if (status == 499)
        ck_assert_ptr_nonnull(strstr(alignd_reply_text(seen.replies[0], NULL), "cancelled"));
    alignd_cancel(engine, first); /* it is over */
    alignd_cancel(engine, 12345);
    alignd_reply_free(seen.replies[0]);
    alignd_close(engine);
}
END_TEST

START_TEST(closing_ends_what_is_pending) {
    alignd_engine *engine = open_engine();
    for (size_t i = 0; i < 20; i++)
        begin(engine, endless, i);
    alignd_close(engine);
    ck_assert_uint_eq(seen.ended, 20);
    for (size_t i = 0; i < 20; i++) {
        unsigned status = alignd_reply_status(seen.replies[i]);
        ck_assert_msg(status == 503 || status == 200, "%u", status);
        alignd_reply_free(seen.replies[i]);
    }
}
END_TEST

START_TEST(streams_that_are_refused_end) {
    static const char *const narrow[] = {"--model=weights/en-fr", "--queue=1", "--rows=1",
                                         "--workers=1"};
    static const char sentence[] =
        "{\"text\": \"The house that my father built is small.\", \"target\": \"fr\","
        " \"strategy\": \"greedy\", \"stream\": true}";
    alignd_engine *engine = alignd_open(narrow, 4, NULL);
    size_t refused = 0;
    ck_assert_ptr_nonnull(engine);
    for (size_t i = 0; i < CALLS; i++)
        begin(engine, sentence, i);
    await_ends(CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        unsigned status = alignd_reply_status(seen.replies[i]);
        ck_assert_msg(status == 200 || status == 429, "%u", status);
        refused += status == 429;
        if (status == 429) /* as over HTTP, the stream has not begun */
            ck_assert_ptr_nonnull(strstr(alignd_reply_text(seen.replies[i], NULL), "\"error\""));
        alignd_reply_free(seen.replies[i]);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(seen.results, CALLS - refused);
    alignd_close(engine);
}
END_TEST

/* ---- the process ---- */

START_TEST(engines_do_not_know_each_other) {
    alignd_engine *first = open_engine(), *second = open_engine();
    expect(first, "translate", house, 200, "La maison");
    alignd_close(first);
    expect(second, "translate", house, 200, "La maison");
    alignd_close(second);
    alignd_close(NULL);
}
END_TEST

START_TEST(a_child_cannot_use_the_engine) {
    alignd_engine *engine = open_engine();
    pid_t child = fork();
    if (child == 0) {
        alignd_reply *reply = alignd_call(engine, "translate", house, strlen(house));
        bool refused = reply && alignd_reply_status(reply) == 500 &&
                       strstr(alignd_reply_text(reply, NULL), "parent");
        alignd_reply_free(reply);
        alignd_close(engine);
        _exit(refused ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    expect(engine, "translate", house, 200, "La maison");
    alignd_close(engine);
}
END_TEST

static atomic_size_t lines;

static void count_line(void *owner, const char *text, size_t length) {
    (void)owner;
    ck_assert(length > 0 && text[length - 1] == '\n');
    lines++;
}

/* The second model has room only without the first, and the log says that it was unloaded. */
static void make_lines(void) {
    static const char *const little[] = {"--models=weights", "--model-memory=30M", "--workers=1"};
    char error[ALIGND_ERROR_BYTES] = "";
    alignd_engine *engine = alignd_open(little, 3, error);
    ck_assert_msg(engine != NULL, "%s", error);
    expect(engine, "translate", house, 200, "La maison");
    expect(engine, "translate",
           "{\"text\": \"La maison.\", \"source\": \"fr\", \"target\": \"en\"}", 200, "house");
    alignd_close(engine);
}

START_TEST(the_log_goes_where_the_program_wants) {
    int before = dup(STDERR_FILENO);
    FILE *written = tmpfile();
    ck_assert(before >= 0 && written);
    dup2(fileno(written), STDERR_FILENO);
    make_lines();
    dup2(before, STDERR_FILENO);
    ck_assert_int_eq(lseek(fileno(written), 0, SEEK_END), 0);
    alignd_set_log(count_line, NULL);
    make_lines();
    ck_assert_uint_gt(lines, 0);
    fclose(written);
    close(before);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("library");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, forget, NULL);
    tcase_add_loop_test(cases, reasons_of_a_failed_open_are_told, 0, 4);
    tcase_add_test(cases, every_endpoint_answers);
    tcase_add_test(cases, errors_have_the_form_of_the_endpoints);
    tcase_add_test(cases, a_matrix_has_the_numbers_of_the_text);
    tcase_add_test(cases, calls_at_once_get_the_replies_of_single_calls);
    tcase_add_test(cases, an_engine_without_threads_answers_on_those_that_call);
    tcase_add_test(cases, an_engine_without_threads_sends_events_while_it_decodes);
    tcase_add_test(cases, events_come_while_threads_decode);
    tcase_add_test(cases, resident_models_need_their_files_no_more);
    tcase_add_test(cases, a_stream_ends_with_its_result);
    tcase_add_test(cases, streams_that_are_refused_end);
    tcase_add_test(cases, a_cancelled_call_ends);
    tcase_add_test(cases, closing_ends_what_is_pending);
    tcase_add_test(cases, engines_do_not_know_each_other);
    tcase_add_test(cases, a_child_cannot_use_the_engine);
    tcase_add_test(cases, the_log_goes_where_the_program_wants);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
