/* From the body of a request to its sentences: errors name the field (decode_start), and valid
 * requests become texts, options and jobs. Then rendering, and the server's UTF-8. */
#include "model/base/utf8.h"
#include "server/api/decode.h"
#include "server/api/service.h"
#include "server/api/value.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/decode/job.h"
#include "server/decode/outcome.h"
#include "server/decode/render.h"
#include "server/endpoints/routes.h"
#include "tests/suites.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "tests/golden/luong-general-gru";

static struct service service;
static struct request request;
static struct reply reply;
static const struct call no_call;

static void setup(void) {
    static const char *const labels[] = {"other"};
    static char *names[] = {folder};
    static const struct name_list folders = {names, 1};
    const struct catalog_options models = {.folders = &folders,
                                           .loading.compute = "float32",
                                           .loading.workers = 1,
                                           .loading.rows = 16};
    log_set_level("error");
    static const struct options options = {.rows = 16,
                                           .workers = 1,
                                           .max_text_chars = 100,
                                           .max_reply_bytes = 1 << 20,
                                           .request_memory = 1 << 20};
    service = (struct service){.options = &options};
    service.metrics = metrics_create(labels, 1, NULL);
    service.scheduler = scheduler_create(&(struct scheduler_limits){4, 10000});
    atomic_store(&service.state, SERVICE_READY);
    request_init(&request);
    service.catalog = catalog_create(&models, service.metrics);
    ck_assert_int_eq(catalog_open(service.catalog, NULL), 0);
    request.models = catalog_acquire(service.catalog);
    request.id = "id";
    reply = (struct reply){0};
}

static void teardown(void) {
    request_done(&request);
    catalog_free(service.catalog);
    free(reply.body);
    scheduler_free(service.scheduler);
    metrics_free(service.metrics);
}

static void start(bool attention, const char *body) {
    struct call call = {.body = body, .length = strlen(body)};
    size_t index;
    call.path = attention ? "/attention" : "/translate";
    call.route = routes_find(call.path, "POST", &index);
    decode_start(&service, &call, &request, &reply);
}

static void assert_error(unsigned status, const char *code, const char *field,
                         const char *message) {
    ck_assert_uint_eq(reply.status, status);
    json_t *root = json_loadb(reply.body, reply.length, 0, NULL);
    ck_assert_ptr_nonnull(root);
    ck_assert_str_eq(json_string_value(json_object_get(root, "error")), message);
    ck_assert_str_eq(json_string_value(json_object_get(root, "code")), code);
    const char *named = json_string_value(json_object_get(root, "field"));
    ck_assert_str_eq(named ? named : "none", field ? field : "none");
    json_decref(root);
}

static const struct {
    const char *body, *field, *message;
} wrong[] = {
    {"", NULL, "the body is empty: send a JSON object, or the fields in the query string"},
    {" \n", NULL, "the body is empty: send a JSON object, or the fields in the query string"},
    {"{\"text\":", NULL,
     "the body is not valid JSON: line 1, column 8: unexpected token near end of file"},
    {"{\n\"text\": tru}", NULL,
     "the body is not valid JSON: line 2, column 11: invalid token near 'tru'"},
    {"{\"text\":\"a\"} x", NULL,
     "the body is not valid JSON: line 1, column 14: end of file expected near 'x'"},
    {"{\"text\":\"a\",\"text\":\"b\"}", NULL,
     "the body is not valid JSON: line 1, column 18: duplicate object key near '\"text\"'"},
    {"{\"text\":\"\xff\"}", NULL,
     "the body is not valid UTF-8: line 1, column 9: unable to decode byte 0xff near '\"'"},
    {"{}", "text", "text is missing"},
    {"{\"text\":1}", "text", "text must be a string or an array of strings, got an integer"},
    {"{\"text\":null}", "text", "text must be a string or an array of strings, got null"},
    {"{\"text\":[]}", "text", "text must contain between 1 and 64 strings, got 0"},
    {"{\"text\":[\"a\",{}]}", "text",
     "text must be a string or an array of strings, got an object at index 1"},
    {"{\"text\":\"a\",\"bem_size\":5}", "bem_size", "unknown field \"bem_size\""},
    {"{\"text\":\"a\",\"temperature\":1}", "temperature",
     "temperature requires strategy sample, got beam"},
    {"{\"text\":\"a\",\"strategy\":\"best\"}", "strategy",
     "strategy must be greedy, beam, sample or exact, got \"best\""},
    {"{\"text\":\"a\",\"strategy\":1}", "strategy", "strategy must be a string, got an integer"},
    {"{\"text\":\"a\",\"beam_size\":0}", "beam_size", "beam_size must be between 1 and 32, got 0"},
    {"{\"text\":\"a\",\"beam_size\":99}", "beam_size",
     "beam_size must be between 1 and 32, got 99"},
    {"{\"text\":\"a\",\"beam_size\":-1}", "beam_size",
     "beam_size must be between 1 and 32, got -1"},
    {"{\"text\":\"a\",\"beam_size\":17}", "beam_size",
     "beam_size must be between 1 and 16, got 17"},
    {"{\"text\":\"a\",\"beam_size\":17,\"strategy\":\"exact\"}", "beam_size",
     "beam_size must be between 1 and 16, got 17"},
    {"{\"text\":\"a\",\"beam_size\":5.5}", "beam_size",
     "beam_size must be an integer, got a number"},
    {"{\"text\":\"a\",\"beam_size\":\"5\"}", "beam_size",
     "beam_size must be an integer, got a string"},
    {"{\"text\":\"a\",\"n_best\":6}", "n_best",
     "n_best must be between 1 and beam_size (5), got 6"},
    {"{\"text\":\"a\",\"strategy\":\"greedy\",\"n_best\":2}", "n_best",
     "n_best must be 1 when strategy is greedy, got 2"},
    {"{\"text\":\"a\",\"length_penalty\":2.5}", "length_penalty",
     "length_penalty must be between 0 and 2, got 2.5"},
    {"{\"text\":\"a\",\"length_penalty\":true}", "length_penalty",
     "length_penalty must be a number, got a boolean"},
    {"{\"text\":\"a\",\"min_length\":-1}", "min_length",
     "min_length must be between 0 and 1000, got -1"},
    {"{\"text\":\"a\",\"max_length\":0}", "max_length",
     "max_length must be between 1 and 1000, got 0"},
    {"{\"text\":\"a\",\"min_length\":5,\"max_length\":4}", "min_length",
     "min_length must be between 0 and max_length (4), got 5"},
    {"{\"text\":\"a\",\"split_sentences\":1}", "split_sentences",
     "split_sentences must be true or false, got an integer"},
    {"{\"text\":\"a\",\"include\":5}", "include",
     "include must be a string or an array of strings, got an integer"},
    {"{\"text\":\"a\",\"include\":[1]}", "include",
     "include must be a string or an array of strings, got an integer at index 0"},
    {"{\"text\":\"a\",\"include\":[\"top_j\"]}", "include",
     "include must be all, or any of tokens, log_probs, attention, scores, soft_alignment, "
     "alignment, "
     "words, phrases, offsets, entropy, top_k, "
     "beam, "
     "quality, heads, timing, eos, got "
     "\"top_j\""},
    {"{\"text\":\"a\",\"model\":\"zz\"}", "model", "no model \"zz\" is loaded"},
    {"{\"text\":\"a\",\"source\":\"zz\"}", "source",
     "no model translates from \"zz\"; \"alignd get\" or an administrator can download one, if it "
     "exists"},
    {"{\"text\":\"a\",\"target\":\"zz\"}", "target",
     "no model translates to \"zz\"; \"alignd get\" or an administrator can download one, if it "
     "exists"},
    {"{\"text\":\"a\",\"source\":\"en\",\"target\":\"zz\"}", "target",
     "no model translates from \"en\" to \"zz\"; \"alignd get en-zz\" or an administrator can "
     "download one, if it exists"},
    {"{\"text\":\"a\",\"model\":\"luong-general-gru\",\"target\":\"de\"}", "target",
     "this model does not translate to \"de\""},
};

START_TEST(wrong_body) {
    start(false, wrong[_i].body);
    assert_error(400, "invalid_request", wrong[_i].field, wrong[_i].message);
}
END_TEST

static const struct {
    const char *body, *field, *message;
} wrong_attention[] = {
    {"{\"text\":\"a\",\"translation\":1}", "translation",
     "translation must be a string or an array of strings, got an integer"},
    {"{\"text\":[\"a\",\"b\"],\"translation\":[\"c\"]}", "translation",
     "translation must be a string if text is a string, or an array as long as text (2), got 1"},
    {"{\"text\":[\"a\"],\"translation\":\"c\"}", "translation",
     "translation must be a string if text is a string, or an array as long as text (1), got 1"},
    {"{\"text\":\"a\",\"translation\":\"c\",\"n_best\":2}", "n_best",
     "n_best must be 1 when translation is given, got 2"},
    {"{\"text\":\"A a. B b.\",\"translation\":\"c\",\"split_sentences\":true}", "split_sentences",
     "split_sentences must be false when translation is given: the text has 2 sentences"},
};

START_TEST(wrong_attention_body) {
    start(true, wrong_attention[_i].body);
    assert_error(400, "invalid_request", wrong_attention[_i].field, wrong_attention[_i].message);
}
END_TEST

START_TEST(body_that_is_not_json) {
    start(false, "text=hello");
    assert_error(415, "unsupported_media_type", NULL,
                 "the body must be a JSON object (content type application/json)");
}
END_TEST

START_TEST(array_as_body) {
    struct call call = {
        .body = "[]", .length = 2, .content_type = "application/json; charset=utf-8"};
    size_t index;
    call.path = "/translate";
    call.route = routes_find(call.path, "POST", &index);
    decode_start(&service, &call, &request, &reply);
    assert_error(400, "invalid_request", NULL, "the body must be a JSON object, got an array");
}
END_TEST

START_TEST(too_many_characters) {
    char body[256] = "{\"text\":[\"";
    for (size_t i = 0; i < 50; i++)
        strcat(body, "é"); /* characters are counted, not bytes */
    strcat(body, "\",\"");
    for (size_t i = 0; i < 51; i++)
        strcat(body, "a");
    strcat(body, "\"]}");
    start(false, body);
    assert_error(413, "too_large", "text", "text must have at most 100 characters, got 101");
}
END_TEST

/* They wait one after the other. */
START_TEST(more_sentences_than_can_wait) {
    start(false, "{\"text\":[\"a\",\"b\",\"c\",\"d\"]}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_uint_eq(request_window(&request), 4);
    ck_assert(request.keeps);
    request_done(&request);
    request_init(&request);
    request.models = catalog_acquire(service.catalog);
    start(false, "{\"text\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_uint_eq(request.job_count, 5);
    ck_assert_uint_eq(request_window(&request), 1);
    ck_assert(!request.keeps);
}
END_TEST

START_TEST(sentence_too_long_and_not_to_be_split) {
    char body[256] = "{\"split_sentences\":false,\"text\":\"";
    for (size_t i = 0; i < 45; i++)
        strcat(body, "a ");
    strcat(body, "\"}");
    start(false, body);
    ck_assert_uint_eq(reply.status, 413);
    ck_assert_ptr_nonnull(strstr(reply.body, "\"field\":\"text\""));
}
END_TEST

START_TEST(not_ready) {
    atomic_store(&service.state, SERVICE_LOADING);
    start(false, "{\"text\":\"a\"}");
    assert_error(503, "unavailable", NULL, "the models are still loading");
    ck_assert_uint_eq(reply.retry_after_s, 1);
}
END_TEST

START_TEST(ready_only_when_ready) {
    service_ready(&service, &no_call, &request, &reply);
    ck_assert_uint_eq(reply.status, 200);
    atomic_store(&service.state, SERVICE_DRAINING);
    service_ready(&service, &no_call, &request, &reply);
    assert_error(503, "unavailable", NULL, "the server is shutting down");
}
END_TEST

START_TEST(defaults) {
    start(false, "{\"text\":\"One. Two.\"}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_ptr_eq(request.parameters.search.strategy, &search_beam);
    ck_assert_uint_eq(request.parameters.search.beam_size, 5);
    ck_assert_uint_eq(request.parameters.search.n_best, 1);
    ck_assert_double_eq(request.parameters.search.length_penalty, 1);
    ck_assert_uint_eq(request.wanted.include, INCLUDE_TOKENS);
    ck_assert_uint_eq(request.job_count, 2);
    ck_assert_uint_eq(request.jobs[0].rows, 5);
    ck_assert_ptr_eq(request.jobs[1].sentence->caller.owner, &request.jobs[1]);
}
END_TEST

START_TEST(every_field) {
    start(false, "{\"text\":[\"One. Two.\",\" "
                 "\"],\"model\":\"luong-general-gru\",\"source\":\"EN\",\"target\":\"fr\","
                 "\"strategy\":\"beam\","
                 "\"beam_size\":4,\"n_best\":3,\"length_penalty\":0.5,\"min_length\":2,\"max_"
                 "length\":9,\"split_sentences\":false,"
                 "\"include\":[\"words\",\"eos\"]}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_uint_eq(request.text_count, 2);
    ck_assert_uint_eq(request.job_count, 1);
    ck_assert_uint_eq(request.parameters.search.beam_size, 4);
    ck_assert_uint_eq(request.parameters.search.n_best, 3);
    ck_assert_double_eq(request.parameters.search.length_penalty, 0.5);
    ck_assert_uint_eq(request.parameters.search.min_length, 2);
    ck_assert_uint_eq(request.parameters.search.max_length, 9);
    ck_assert_uint_eq(request.wanted.include, INCLUDE_WORDS | INCLUDE_EOS);
}
END_TEST

START_TEST(target_is_forced) {
    start(true, "{\"text\":\"One. Two.\",\"translation\":\"la\"}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_uint_eq(request.job_count, 1); /* not split */
    ck_assert_ptr_eq(request.jobs[0].sentence->options.strategy, &search_forced);
    ck_assert_uint_eq(request.jobs[0].rows, 1);
}
END_TEST

/* Decodes all jobs as a worker would. */
static void decode(void) {
    struct batch *batch = batch_create(request.loaded->translator, 16, NULL);
    for (size_t i = 0; i < request.job_count; i++) {
        struct sentence *done[16], *sentence = request.jobs[i].sentence;
        batch_admit(batch, &sentence, 1);
        while (batch_step(batch, done) == 0) {
        }
        outcome_take(&request.jobs[i]);
    }
    batch_free(batch);
}

static size_t finished;

static void finish(struct request *ended) {
    finished += atomic_load(&ended->pending) == 0;
}

static void decode_job(struct batch *batch, struct job *job) {
    struct sentence *done[1], *sentence = job_sentence(job);
    batch_admit(batch, &sentence, 1);
    while (batch_step(batch, done) == 0) {
    }
}

START_TEST(white_space_is_kept) {
    start(false, "{\"text\":\"\\n One.  Two. \",\"strategy\":\"greedy\",\"max_length\":1}");
    decode();
    struct rendered rendered;
    ck_assert_int_eq(outcome_text(&request.texts[0], &request.arena, &rendered, NULL), 0);
    char expected[256];
    snprintf(expected, sizeof expected, "\n %s  %s ", rendered.sentences[0].text,
             rendered.sentences[1].text);
    ck_assert_str_eq(rendered.text, expected);
    ck_assert_uint_eq(rendered.begins[0], 2);
    ck_assert_uint_eq(rendered.length, strlen(expected));
}
END_TEST

/* A request with a window measures its sentences and drops them; each is the same when its job is
 * opened, and only its outcome stays. */
START_TEST(sentences_are_made_again) {
    static const char source[] = "A {name} of 12.5 dogs. Where is https://a.b/c?  Two.";
    struct request document;
    struct text text = {.source = source, .source_length = sizeof source - 1, .placed = true};
    enum request_input input;
    char body[128];
    snprintf(body, sizeof body, "{\"text\":\"%s\"}", source);
    start(false, body);
    ck_assert_uint_eq(reply.status, 0);
    request_init(&document);
    document.loaded = loaded_model_acquire(request.loaded);
    document.model = request.model;
    document.parameters.search = request.parameters.search;
    document.parameters.split = document.parameters.replace_unknowns = true;
    document.queued.window = 64;
    document.texts = &text;
    document.text_count = 1;
    ck_assert_int_eq(job_list(&document, &input, NULL), 0);
    ck_assert_uint_eq(document.job_count, request.job_count);
    ck_assert_uint_eq(request_work(&document), request_work(&request));
    decode();
    struct batch *batch = batch_create(document.loaded->translator, 16, NULL);
    for (size_t i = 0; i < document.job_count; i++) {
        struct job *job = &document.jobs[i];
        const struct sentence *whole = request.jobs[i].sentence;
        struct sentence *done[16];
        struct rendering rendering;
        ck_assert_ptr_null(job->sentence);
        ck_assert_int_eq(job_open(job), 0);
        ck_assert_uint_eq(job->sentence->source.begin, whole->source.begin);
        ck_assert_uint_eq(job->sentence->source.end, whole->source.end);
        ck_assert_uint_eq(job->sentence->length, whole->length);
        for (size_t k = 0; k < whole->length; k++)
            ck_assert_int_eq(job->sentence->tokens[k].id, whole->tokens[k].id);
        ck_assert_uint_eq(job->sentence->held.count, whole->held.count);
        ck_assert_uint_eq(job->sentence->options.max_length, whole->options.max_length);
        batch_admit(batch, &job->sentence, 1);
        while (batch_step(batch, done) == 0) {
        }
        outcome_take(job);
        ck_assert_ptr_null(job->sentence);
        ck_assert_int_eq(
            rendering_make(whole, &whole->hypotheses[0], &request.arena, &rendering, NULL), 0);
        ck_assert_str_eq(job->outcome->text, rendering.text);
        ck_assert_double_eq(job->outcome->log_prob, whole->hypotheses[0].log_prob);
        ck_assert_uint_gt(job->outcome->word_count, 0);
    }
    batch_free(batch);
    request_done(&document);
}
END_TEST

/* Equal sentences of any request are decoded once: each text has them at its own place. */
START_TEST(equal_sentences_are_decoded_once) {
    start(false,
          "{\"text\":[\"One. Two. One.\",\" One.\"],\"strategy\":\"greedy\",\"max_length\":3}");
    ck_assert_uint_eq(reply.status, 0);
    ck_assert_uint_eq(request.job_count, 4);
    ck_assert_uint_eq(request.queued.twins, 2);
    ck_assert_ptr_eq(request.jobs[3].original, &request.jobs[0]);
    ck_assert_ptr_null(request.jobs[3].sentence);
    struct batch *batch = batch_create(request.loaded->translator, 16, NULL);
    struct sentence *done[2], *admitted[] = {request.jobs[0].sentence, request.jobs[1].sentence};
    request.finish = finish;
    finished = 0;
    atomic_store(&request.pending, request.job_count);
    batch_admit(batch, admitted, 2);
    while (batch_sentences(batch) > 0)
        for (size_t i = batch_step(batch, done); i-- > 0;)
            job_end(done[i]->caller.owner);
    ck_assert_uint_eq(finished, 1);
    const struct sentence *first = &request.texts[0].sentences[0],
                          *last = &request.texts[1].sentences[0];
    ck_assert_ptr_eq(last->hypotheses, first->hypotheses);
    ck_assert_ptr_eq(last->text, request.texts[1].source);
    ck_assert_uint_eq(last->source.begin, 1);
    ck_assert_ptr_eq(request.jobs[3].outcome, request.jobs[0].outcome);
    batch_free(batch);
}
END_TEST

/* Two texts that only differ in the second of two models: the first model decodes them once, and
 * each second model decodes what it wrote. */
START_TEST(first_models_decode_once) {
    static struct served_model other;
    start(false, "{\"text\":\"One.\",\"strategy\":\"greedy\",\"max_length\":3}");
    struct text texts[2];
    enum request_input input;
    struct request both;
    request_init(&both);
    both.parameters.search = request.parameters.search;
    for (size_t i = 0; i < 2; i++)
        texts[i] = (struct text){.source = "One.",
                                 .source_length = 4,
                                 .model = request.model,
                                 .loaded = request.loaded,
                                 .second = i == 0 ? request.model : &other,
                                 .second_loaded = request.loaded};
    both.texts = texts;
    both.text_count = 2;
    both.finish = finish;
    finished = 0;
    ck_assert_int_eq(job_list(&both, &input, NULL), 0);
    struct job *first = &both.jobs[0], *fork = &both.jobs[1];
    ck_assert_uint_eq(both.job_count, 2);
    ck_assert_uint_eq(request_window(&both), 1);
    ck_assert_ptr_eq(fork->fork_of, first);
    ck_assert_ptr_null(fork->sentence);
    atomic_store(&both.pending, 2);
    struct batch *batch = batch_create(request.loaded->translator, 16, NULL);
    decode_job(batch, first);
    ck_assert(job_continues(first));
    ck_assert_ptr_eq(job_forks(first), fork);
    ck_assert_ptr_eq(fork->first, first->first);
    decode_job(batch, first);
    while (job_continues(first))
        decode_job(batch, first);
    job_end(first);
    ck_assert_ptr_nonnull(first->outcome);
    decode_job(batch, fork);
    while (job_continues(fork))
        decode_job(batch, fork);
    job_end(fork);
    ck_assert_str_eq(fork->outcome->text, first->outcome->text);
    ck_assert_uint_eq(finished, 1);
    batch_free(batch);
    request_done(&both);
}
END_TEST

/* Begins a request with a window for the text, with the model and the search of the other request.
 */
static void begin_document(struct request *document, struct text *text) {
    request_init(document);
    document->loaded = loaded_model_acquire(request.loaded);
    document->parameters.search = request.parameters.search;
    document->parameters.split = true;
    document->queued.window = 64;
    document->texts = text;
    document->text_count = 1;
}

/* Prepares a request with a window and returns how many of its sentences are not decoded
 * themselves. prepared: changes it before. */
static size_t count_twins(const char *source, void (*prepared)(struct request *document),
                          const char *twins) {
    struct request document;
    struct text text = {.source = source, .source_length = strlen(source)};
    enum request_input input;
    char found[64] = "";
    begin_document(&document, &text);
    if (prepared)
        prepared(&document);
    ck_assert_int_eq(job_list(&document, &input, NULL), 0);
    for (size_t i = 0; i < document.job_count; i++)
        for (const struct job *job = &document.jobs[i];
             !document.jobs[i].original && (job = job->next_twin);)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%zu-%zu ", i,
                     (size_t)(job - document.jobs));
    ck_assert_str_eq(found, twins);
    size_t at = 0, decoded = 0;
    while (request_next_job(&document, &at))
        decoded++;
    ck_assert_uint_eq(request_window(&document), decoded);
    size_t count = document.queued.twins;
    ck_assert_uint_eq(count + decoded, document.job_count);
    request_done(&document);
    return count;
}

static void draw(struct request *document) {
    document->parameters.search.strategy = &search_sample;
}

static void use_glossary(struct request *document) {
    static const struct lexicon empty;
    document->parameters.glossary.lexicon = &empty;
}

/* Sentences that a document repeats are decoded once, unless the result may depend on more than
 * their bytes. */
START_TEST(repeated_sentences_are_decoded_once) {
    static const char source[] = "One dog. Two {a}. One dog. Two {b}. One dog. Two {a}.";
    start(false, "{\"text\":\"One.\"}");
    ck_assert_uint_eq(count_twins(source, NULL, "0-2 0-4 1-5 "), 3);
    ck_assert_uint_eq(count_twins("One dog. One  dog.", NULL, ""), 0);
    ck_assert_uint_eq(count_twins(source, draw, ""), 0);
    ck_assert_uint_eq(count_twins(source, use_glossary, ""), 0);
}
END_TEST

/* After one has failed the others are not made, and the first reason stays. */
START_TEST(lean_requests_fail_once) {
    static const char source[] = "One. Two.";
    struct request document;
    struct text text = {.source = source, .source_length = sizeof source - 1};
    enum request_input input;
    struct error error = {0};
    start(false, "{\"text\":\"One.\"}");
    begin_document(&document, &text);
    ck_assert_int_eq(job_list(&document, &input, NULL), 0);
    error_set(&error, ERROR_LENGTH, "too long");
    request_fail(&document, &error);
    ck_assert_int_eq(job_open(&document.jobs[0]), -1);
    ck_assert_int_eq(document.failure.first->code, ERROR_LENGTH);
    ck_assert_str_eq(document.failure.first->message, "too long");
    ck_assert(decode_fail(&document, &reply));
    request_done(&document);
}
END_TEST

/* Words are sums over the pieces of the source and means over those of the target. */
START_TEST(words_merge_pieces) {
    start(true, "{\"text\":\"Where station\",\"translation\":\"la maison\"}");
    decode();
    const struct sentence *sentence = request.jobs[0].sentence;
    const struct hypothesis *hypothesis = &sentence->hypotheses[0];
    struct rendering rendering;
    struct word_sides sides;
    struct word_matrix words;
    ck_assert_int_eq(rendering_make(sentence, hypothesis, &request.arena, &rendering, NULL), 0);
    ck_assert_int_eq(render_words(&(struct rendered_sentence){sentence, hypothesis, &rendering},
                                  WORDS_UNICODE, &request.arena, &sides, NULL),
                     0);
    ck_assert_int_eq(render_merge(&sides, hypothesis->attention, &request.arena, &words, NULL), 0);
    ck_assert_uint_eq(words.source_count, 2);
    ck_assert_uint_eq(words.target_count, 2);
    ck_assert_uint_eq(sides.source.words[1].begin, 6);
    ck_assert_uint_eq(sides.source.words[1].end, 13);
    float expected = 0;
    size_t pieces = 0;
    for (size_t i = 0; i < hypothesis->length; i++) {
        if (rendering.tokens[i].end <= sides.target.words[0].end) {
            for (size_t j = 0; j < sentence->length; j++)
                expected += sentence->tokens[j].end <= 5 && sentence->tokens[j].end > 0
                                ? hypothesis->attention[i][j]
                                : 0;
            pieces++;
        }
    }
    ck_assert_float_eq_tol(words.weights[0], expected / (float)pieces, 1e-6F);
    ck_assert_float_le(words.weights[0] + words.weights[1], 1);
}
END_TEST

/* The words of a source whose tokens end at these bytes. */
static struct word_side words_of(const char *text, const size_t *ends, size_t count) {
    start(true, "{\"text\":\"station\",\"translation\":\"la\"}");
    struct sentence sentence = *request.jobs[0].sentence;
    struct token *tokens = arena_zalloc(&request.arena, count, sizeof *tokens);
    struct rendering rendering = {.text = arena_copy(&request.arena, "", 0)};
    struct hypothesis hypothesis = {.length = 0};
    struct word_sides sides;
    for (size_t i = 0; i < count; i++)
        tokens[i] = (struct token){.begin = i > 0 ? ends[i - 1] : 0, .end = ends[i]};
    sentence.text = text;
    sentence.source = (struct span){0, strlen(text)};
    sentence.tokens = tokens;
    sentence.length = count;
    ck_assert_int_eq(render_words(&(struct rendered_sentence){&sentence, &hypothesis, &rendering},
                                  WORDS_UNICODE, &request.arena, &sides, NULL),
                     0);
    return sides.source;
}

static void assert_range(struct word_range range, size_t first, size_t end) {
    ck_assert_uint_eq(range.first, first);
    ck_assert_uint_eq(range.end, end);
}

/* An address of thousands of slashes within one token is one word, and the token has that word;
 * words in other tokens stay. */
START_TEST(a_long_run_in_a_token_is_one_word) {
    enum {
        TIMES = 3000,
        BYTES = sizeof "http://" - 1,
        BEFORE = sizeof "See " - 1,
        URL_END = BEFORE + TIMES * BYTES
    };
    char *text = malloc(URL_END + sizeof " now"), *end = stpcpy(text, "See ");
    for (size_t i = 0; i < TIMES; i++)
        end = stpcpy(end, "http://");
    strcpy(end, " now");
    struct word_side side = words_of(text, (const size_t[]){3, URL_END, URL_END + 4}, 3);
    ck_assert_uint_eq(side.count, 3);
    ck_assert_uint_eq(side.words[1].begin, BEFORE);
    ck_assert_uint_eq(side.words[1].end, URL_END);
    ck_assert_uint_eq(side.words[2].begin, URL_END + 1);
    for (size_t i = 0; i < 3; i++)
        assert_range(side.tokens[i], i, i + 1);
    free(text);
}
END_TEST

/* Up to eight words of a token, and words with white space between them, stay apart. */
START_TEST(short_runs_in_a_token_stay_apart) {
    static const char few[] = "a/b/c/d", spaced[] = "a b c d e f g h i j k l";
    struct word_side side = words_of(few, (const size_t[]){sizeof few - 1}, 1);
    ck_assert_uint_eq(side.count, 7);
    assert_range(side.tokens[0], 0, 7);
    teardown();
    setup();
    side = words_of(spaced, (const size_t[]){sizeof spaced - 1}, 1);
    ck_assert_uint_eq(side.count, 12);
    assert_range(side.tokens[0], 0, 12);
}
END_TEST

/* Where a side has more than 512 words, all of a token are one, with what stands between them. */
START_TEST(thousands_of_words_are_as_many_as_tokens) {
    enum { WORDS = 600, BYTES = 2 * WORDS };
    char text[BYTES + 2];
    for (size_t i = 0; i < BYTES; i++)
        text[i] = i % 2 ? ' ' : 'a';
    strcpy(text + BYTES, "b");
    struct word_side side = words_of(text, (const size_t[]){BYTES - 1, BYTES + 1}, 2);
    ck_assert_uint_eq(side.count, 2);
    ck_assert_uint_eq(side.words[0].begin, 0);
    ck_assert_uint_eq(side.words[0].end, BYTES - 1);
    ck_assert_uint_eq(side.words[1].begin, BYTES);
    assert_range(side.tokens[0], 0, 1);
    assert_range(side.tokens[1], 1, 2);
}
END_TEST

START_TEST(utf16_positions) {
    struct utf16_cursor cursor = {.text = "a\xC3\xA9\xF0\x9F\x98\x80z"};
    ck_assert_uint_eq(character_utf16_position(&cursor, 1), 1);
    ck_assert_uint_eq(character_utf16_position(&cursor, 3), 2);
    ck_assert_uint_eq(character_utf16_position(&cursor, 7), 4);
    ck_assert_uint_eq(character_utf16_position(&cursor, 8), 5);
    ck_assert_uint_eq(character_utf16_position(&cursor, 3), 2); /* back */
}
END_TEST

/* A long text has its time in proportion to its characters, but not more than its client asks. */
START_TEST(long_texts_have_more_time) {
    static const struct {
        size_t characters;
        int64_t latest_us, deadline_us;
    } all[] = {{99, 1000, 10},         {100, 1000, 10}, {150, 1000, 15}, {500, 1000, 50},
               {20000000, 1000, 1000}, {500, 10, 10},   {500, 30, 30},   {500, INT64_MAX, 50}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct request text;
        request_init(&text);
        text.account.characters = all[i].characters;
        text.deadline_us = 10;
        text.latest_us = all[i].latest_us;
        request_extend(&text, 10, 100);
        ck_assert_int_eq(text.deadline_us, all[i].deadline_us);
        text.deadline_us = INT64_MAX;
        request_extend(&text, 10, 100);
        ck_assert_int_eq(text.deadline_us, INT64_MAX);
        request_done(&text);
    }
}
END_TEST

START_TEST(clip_keeps_characters_whole) {
    ck_assert_uint_eq(utf8_clip("a\xC3\xA9", 3, 2), 1);
    ck_assert_uint_eq(utf8_clip("a\xC3\xA9", 3, 3), 3);
}
END_TEST

Suite *request_suite(void) {
    Suite *suite = suite_create("request");
    TCase *tcase = tcase_create("request");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, wrong_body, 0, sizeof wrong / sizeof wrong[0]);
    tcase_add_loop_test(tcase, wrong_attention_body, 0,
                        sizeof wrong_attention / sizeof wrong_attention[0]);
    tcase_add_test(tcase, body_that_is_not_json);
    tcase_add_test(tcase, array_as_body);
    tcase_add_test(tcase, too_many_characters);
    tcase_add_test(tcase, more_sentences_than_can_wait);
    tcase_add_test(tcase, sentence_too_long_and_not_to_be_split);
    tcase_add_test(tcase, not_ready);
    tcase_add_test(tcase, ready_only_when_ready);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, every_field);
    tcase_add_test(tcase, target_is_forced);
    tcase_add_test(tcase, white_space_is_kept);
    tcase_add_test(tcase, sentences_are_made_again);
    tcase_add_test(tcase, equal_sentences_are_decoded_once);
    tcase_add_test(tcase, first_models_decode_once);
    tcase_add_test(tcase, repeated_sentences_are_decoded_once);
    tcase_add_test(tcase, lean_requests_fail_once);
    tcase_add_test(tcase, words_merge_pieces);
    tcase_add_test(tcase, a_long_run_in_a_token_is_one_word);
    tcase_add_test(tcase, short_runs_in_a_token_stay_apart);
    tcase_add_test(tcase, thousands_of_words_are_as_many_as_tokens);
    tcase_add_test(tcase, utf16_positions);
    tcase_add_test(tcase, long_texts_have_more_time);
    tcase_add_test(tcase, clip_keeps_characters_whole);
    suite_add_tcase(suite, tcase);
    return suite;
}
