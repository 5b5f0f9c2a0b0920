/* This module hides the life of a request: who cancels it, what it takes, and what its end frees.
 */
#include "server/decode/request.h"
#include "server/base/clock.h"
#include "server/glossaries/glossaries.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* OUTCOME_BLOCK_BYTES is large, to keep outcomes apart from the memory of sentences, which would
 * otherwise fragment. */
enum { ARENA_BLOCK_BYTES = 16 * 1024, OUTCOME_BLOCK_BYTES = 256 * 1024 };

void request_init(struct request *request) {
    memset(request, 0, sizeof *request);
    arena_init(&request->arena, ARENA_BLOCK_BYTES);
    arena_init(&request->outcomes.arena, OUTCOME_BLOCK_BYTES);
    pthread_mutex_init(&request->outcomes.lock, NULL);
    request->deadline_us = request->latest_us = INT64_MAX;
    atomic_init(&request->pending, 0);
    atomic_init(&request->limit.bytes, 0);
    atomic_init(&request->failure.any, false);
    atomic_init(&request->cancellation.reason, CANCEL_NONE);
    atomic_init(&request->cancellation.flag, false);
}

void request_done(struct request *request) {
    assert(atomic_load(&request->pending) == 0);
    for (size_t i = request->jobs ? request->job_count : 0; i-- > 0;)
        request_drop_job(
            &request->jobs[i]); /* a fork before the job whose first sentence it uses */
    for (struct held_model *held = request->held; held; held = held->next)
        loaded_model_release(held->loaded);
    arena_done(&request->arena);
    arena_done(&request->outcomes.arena);
    kept_glossary_release(request->parameters.kept);
    loaded_model_release(request->loaded);
    model_set_release(request->models);
    request->jobs = NULL;
    request->texts = NULL;
    request->text_count = 0;
    request->failure.first = NULL;
    request->plan = NULL;
    request->pairs = NULL;
    request->message = NULL;
    request->question = NULL;
    request->key = NULL;
    request->held = NULL;
    request->parameters.kept = NULL;
    request->loaded = NULL;
    request->models = NULL;
    request->model = NULL;
}

void request_cancel(struct request *request, enum cancel_reason reason) {
    int none = CANCEL_NONE;
    if (atomic_compare_exchange_strong(&request->cancellation.reason, &none, reason))
        atomic_store(&request->cancellation.flag, true);
}

enum cancel_reason request_reason(const struct request *request) {
    return (enum cancel_reason)atomic_load(&request->cancellation.reason);
}

bool request_is_over(struct request *request) {
    if (request->deadline_us != INT64_MAX && clock_us() >= request->deadline_us)
        request_cancel(request, CANCEL_DEADLINE);
    return request_reason(request) != CANCEL_NONE;
}

void request_extend(struct request *request, int64_t usual_us, size_t usual_characters) {
    size_t characters = request->account.characters;
    if (characters <= usual_characters || request->latest_us <= request->deadline_us)
        return;
    double more_us =
        (double)usual_us * (double)(characters - usual_characters) / (double)usual_characters;
    int64_t left_us = request->latest_us - request->deadline_us;
    request->deadline_us += more_us < (double)left_us ? (int64_t)more_us : left_us;
}

void request_drop_job(struct job *job) {
    if (job->sentence)
        sentence_done(job->sentence);
    if (job->first && !job->fork_of) { /* its arena holds the second sentence */
        sentence_done(job->first);
        free(job->first);
    } else if (!job->first) {
        free(job->sentence);
    }
    job->sentence = job->first = NULL;
}

/* ---- sizes ---- */

size_t request_job_work(const struct job *job) {
    return (size_t)job->tokens * job->rows;
}

struct job *request_next_job(const struct request *request, size_t *at) {
    while (*at < request->job_count && (request->jobs[*at].original || request->jobs[*at].fork_of))
        ++*at;
    return *at < request->job_count ? &request->jobs[(*at)++] : NULL;
}

size_t request_window(const struct request *request) {
    size_t decoded = request->job_count - request->queued.twins;
    return request->queued.window > 0 && request->queued.window < decoded ? request->queued.window
                                                                          : decoded;
}

/* The second of two models decodes about as many tokens as the first, with the request's own
 * search; until then nothing of it is in the queue. */
static size_t both_work(const struct job *job) {
    bool second = job->text && job->text->second;
    return request_job_work(job) +
           (second ? (size_t)job->tokens * search_max_rows(&job->request->parameters.search) : 0);
}

size_t request_work(const struct request *request) {
    size_t work = 0, at = 0;
    for (size_t left = request_window(request); left > 0; left--)
        work += both_work(request_next_job(request, &at));
    return work;
}

size_t request_decoding_bytes(const struct request *request) {
    size_t most = 0;
    for (size_t i = 0; i < request->job_count; i++)
        most = request->jobs[i].bytes > most ? request->jobs[i].bytes : most;
    return most;
}

size_t request_answer_bytes(const struct request *request) {
    /* bytes of a sentence, of a token's text, and of its words and links if elements are placed;
     * the last two count twice, since the document is written from them */
    enum { SENTENCE_BYTES = 200, TOKEN_BYTES = 2 * 5, PLACED_BYTES = 2 * 24 };
    size_t bytes = 0;
    for (size_t i = 0; i < request->job_count && !request->keeps; i++) {
        const struct job *job = &request->jobs[i];
        bytes +=
            SENTENCE_BYTES +
            (size_t)job->steps * (job->text->placed ? TOKEN_BYTES + PLACED_BYTES : TOKEN_BYTES);
    }
    return bytes;
}

size_t request_bytes(const struct request *request) {
    size_t bytes = arena_bytes(&request->arena) + arena_bytes(&request->outcomes.arena);
    for (size_t i = 0; i < request->job_count; i++) {
        const struct job *job = &request->jobs[i];
        bytes += job->sentence ? arena_bytes(&job->sentence->arena) : 0;
        bytes += job->first ? arena_bytes(&job->first->arena) : 0;
    }
    return bytes;
}

/* ---- texts ---- */

int request_hold(const struct request_parameters *parameters, const struct translator *translator,
                 struct guard *guard, struct translator_text *text, struct arena *arena,
                 struct error *err) {
    if (parameters->protection && !sentence_holds(translator))
        return error_set(err, ERROR_INPUT, "this model cannot copy text unchanged");
    return guard_find(guard, sentence_notations(translator, text->verbatim),
                      (struct bytes){text->text, text->length}, arena, &text->held, err);
}

void request_fail(struct request *request, const struct error *error) {
    if (!atomic_exchange(&request->failure.any, true))
        *request->failure.first = *error;
}

struct formality_wish request_wish(const struct request *request, const struct text *text) {
    const struct served_model *source_model = text->model ? text->model : request->model,
                              *target_model = text->second ? text->second : source_model;
    const char *language = text->model ? text->language : request->parameters.language,
               *variant = text->second  ? text->second_variant
                          : text->model ? text->variant
                                        : request->parameters.variant;
    struct formality_wish wish = request->parameters.formality;
    if (!source_model)
        return wish;
    wish.source = language ? language : source_model->info.source;
    wish.target = variant ? variant : target_model->info.target;
    return wish;
}
