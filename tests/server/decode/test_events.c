/* server/decode/events: events from workers to the reader, with a model but no HTTP. Meant to run
 * under ThreadSanitizer too. */
#include "server/decode/events.h"
#include "server/decode/job.h"
#include "server/models/catalog.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static struct translator *translator;
static struct loaded_model loaded;
static struct request request;
static struct batch *batch;
static sem_t woken;
static size_t parks, wakes;

static void park(void *owner) {
    (void)owner;
    parks++;
}

static void wake(void *owner) {
    (void)owner;
    wakes++;
    sem_post(&woken);
}

static void ended(struct request *all) {
    events_end(all->events);
}

static void setup(void) {
    translator = model_open("tests/golden/luong-general-gru");
    batch = batch_create(translator, 16, NULL);
    sem_init(&woken, 0, 0);
    parks = wakes = 0;
    request_init(&request);
    loaded = (struct loaded_model){.translator = translator};
    request.finish = ended;
    request.parameters.split = request.keeps = request.wanted.streamed = true;
}

static void teardown(void) {
    events_done(request.events);
    atomic_store(&request.pending, 0);
    request_done(&request);
    batch_free(batch);
    translator_free(translator);
    sem_destroy(&woken);
}

/* Two sentences of so many tokens, followed. */
static void follow(const struct search_kind *strategy, size_t tokens) {
    static const char source[] = "A boy plays. It snows.";
    enum request_input input;
    request.texts = arena_zalloc(&request.arena, 1, sizeof *request.texts);
    request.texts[0] =
        (struct text){.source = source, .source_length = strlen(source), .loaded = &loaded};
    request.text_count = 1;
    request.parameters.search = (struct search_options){.strategy = strategy,
                                                        .beam_size = 2,
                                                        .n_best = 1,
                                                        .min_length = tokens,
                                                        .max_length = tokens,
                                                        .repetition_penalty = 1};
    ck_assert_int_eq(job_list(&request, &input, NULL), 0);
    ck_assert_uint_eq(request.job_count, 2);
    ck_assert_int_eq(events_follow(&request, &(struct events_follower){park, wake, NULL}), 0);
}

/* A worker's calls, from the admission to the end. */
static void decode(void) {
    struct sentence *sentences[] = {request.jobs[0].sentence, request.jobs[1].sentence}, *done[2];
    atomic_store(&request.pending, 2);
    batch_admit(batch, sentences, 2);
    while (batch_sentences(batch) > 0) {
        size_t count = batch_step(batch, done);
        for (size_t i = 0; i < count; i++)
            job_end(&request.jobs[done[i] == sentences[1]]);
        for (size_t i = 0; i < 2; i++) {
            if (request.jobs[i].done_us == 0)
                request.progress(&request.jobs[i]);
        }
    }
}

static void *worker(void *unused) {
    (void)unused;
    decode();
    return NULL;
}

/* The events that the reader has received. */
static struct {
    size_t tokens[2], sentences, pulses;
    char texts[2][8000];
} heard;

/* Hears one event; false: it was the end, or there is none. */
static bool hear(enum event_kind *kind) {
    struct event event;
    events_next(request.events, &event);
    *kind = event.kind;
    if (event.kind == EVENT_TOKEN) {
        ck_assert_uint_ge(event.sentence, heard.sentences); /* none comes after its sentence */
        heard.tokens[event.sentence]++;
        strncat(heard.texts[event.sentence], event.added, event.added_length);
    }
    if (event.kind == EVENT_SENTENCE)
        ck_assert_uint_eq(event.sentence, heard.sentences++);
    heard.pulses += event.kind == EVENT_PULSE;
    return event.kind != EVENT_END && event.kind != EVENT_NONE;
}

/* Hears all, parked where there is nothing. */
static void hear_all(void) {
    memset(&heard, 0, sizeof heard);
    for (enum event_kind kind = EVENT_NONE; kind != EVENT_END;) {
        if (!hear(&kind) && kind == EVENT_NONE && events_park(request.events))
            sem_wait(&woken);
    }
}

static void check_heard(size_t tokens) {
    ck_assert_uint_eq(heard.sentences, 2);
    for (size_t i = 0; i < 2; i++) {
        struct rendering rendering;
        const struct sentence *sentence = request.jobs[i].sentence;
        ck_assert_int_eq(
            rendering_make(sentence, sentence->hypotheses, &request.arena, &rendering, NULL), 0);
        ck_assert_uint_eq(heard.tokens[i], tokens);
        if (tokens > 0)
            ck_assert_str_eq(heard.texts[i], rendering.text);
    }
}

START_TEST(reader_beside_the_worker) {
    pthread_t thread;
    follow(&search_greedy, 300);
    pthread_create(&thread, NULL, worker, NULL);
    hear_all();
    pthread_join(thread, NULL);
    check_heard(300);
    ck_assert_uint_eq(parks, wakes); /* one for each */
}
END_TEST

/* Whenever the reader looks, nothing is lost. */
START_TEST(reader_after_the_worker) {
    follow(&search_greedy, 60);
    decode();
    hear_all();
    check_heard(60);
    ck_assert_uint_eq(parks, 0);
    ck_assert_uint_eq(wakes, 0);
}
END_TEST

START_TEST(no_tokens_of_a_beam) {
    follow(&search_beam, 5);
    decode();
    hear_all();
    check_heard(0);
}
END_TEST

/* Only a parked reader is given one, and what is cancelled ends without sentences. */
START_TEST(pulse) {
    enum event_kind kind;
    follow(&search_greedy, 5);
    events_pulse(request.events);
    ck_assert(!hear(&kind) && kind == EVENT_NONE);
    ck_assert(events_park(request.events));
    events_pulse(request.events);
    ck_assert_uint_eq(wakes, 1);
    ck_assert(!events_park(request.events));
    ck_assert(hear(&kind) && kind == EVENT_PULSE);
    ck_assert(events_park(request.events));
    request_cancel(&request, CANCEL_DEADLINE);
    decode();
    hear_all();
    ck_assert_uint_eq(heard.sentences, 0);
    ck_assert_uint_eq(wakes, 2);
}
END_TEST

Suite *events_suite(void) {
    Suite *suite = suite_create("events");
    TCase *tests = tcase_create("events");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, reader_beside_the_worker);
    tcase_add_test(tests, reader_after_the_worker);
    tcase_add_test(tests, no_tokens_of_a_beam);
    tcase_add_test(tests, pulse);
    suite_add_tcase(suite, tests);
    return suite;
}
