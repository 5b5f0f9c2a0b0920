/* This module hides the life of a request: how its texts become jobs, who cancels it, and what its end releases. */
#include "server/decode/request.h"
#include "server/base/clock.h"
#include "server/decode/parameters.h"
#include "server/glossaries/glossaries.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

void request_init(struct request *request) {
    memset(request, 0, sizeof *request);
    arena_init(&request->arena, ARENA_BLOCK_BYTES);
    request->deadline_us = INT64_MAX;
    atomic_init(&request->pending, 0);
    atomic_init(&request->reason, CANCEL_NONE);
    atomic_init(&request->cancelled, false);
}

void request_done(struct request *request) {
    assert(atomic_load(&request->pending) == 0);
    for (size_t i = 0; i < request->text_count; i++) {
        /* A text that was decoded twice owns both parts, but not the composed result; a twin does not own the first part. */
        struct text *text = &request->texts[i];
        const struct pivot *pivot = text->pivot;
        for (size_t j = 0; j < text->count; j++) {
            if (!text->twin)
                sentence_done(pivot ? &pivot->first[j] : &text->sentences[j]);
            if (pivot && pivot->second[j])
                sentence_done(pivot->second[j]);
        }
    }
    for (struct held_model *held = request->held; held; held = held->next)
        loaded_model_release(held->loaded);
    arena_done(&request->arena);
    kept_glossary_release(request->kept);
    loaded_model_release(request->loaded);
    model_set_release(request->models);
    request->texts = NULL;
    request->text_count = 0;
    request->plan = NULL;
    request->question = NULL;
    request->key = NULL;
    request->held = NULL;
    request->kept = NULL;
    request->loaded = NULL;
    request->models = NULL;
    request->model = NULL;
}

void text_forget(struct text *text) {
    for (size_t i = 0; i < text->count && !text->pivot; i++) {
        sentence_done(&text->sentences[i]);
        text->sentences[i].hypotheses = NULL;
    }
}

void request_cancel(struct request *request, enum cancel_reason reason) {
    int none = CANCEL_NONE;
    if (atomic_compare_exchange_strong(&request->reason, &none, reason))
        atomic_store(&request->cancelled, true);
}

enum cancel_reason request_reason(const struct request *request) {
    return (enum cancel_reason)atomic_load(&request->reason);
}

bool request_is_over(struct request *request) {
    if (request->deadline_us != INT64_MAX && clock_us() >= request->deadline_us)
        request_cancel(request, CANCEL_DEADLINE);
    return request_reason(request) != CANCEL_NONE;
}

/* ---- sizes ---- */

size_t job_work(const struct job *job) {
    return job->tokens * job->rows;
}

size_t request_window(const struct request *request) {
    return request->window > 0 && request->window < request->job_count ? request->window : request->job_count;
}

size_t request_work(const struct request *request) {
    size_t work = 0, count = request_window(request);
    for (size_t i = 0; i < count; i++)
        work += job_work(&request->jobs[i]);
    return work;
}

size_t request_decoding_bytes(const struct request *request) {
    size_t most = 0;
    for (size_t i = 0; i < request->job_count; i++)
        most = request->jobs[i].bytes > most ? request->jobs[i].bytes : most;
    return most;
}

size_t request_answer_bytes(const struct request *request) {
    enum { TOKEN_BYTES = 100, WEIGHT_BYTES = 2 * sizeof(float) }; /* a weight of attention and one of alignment */
    size_t bytes = 0;
    if (request_window(request) == request->job_count)
        return 0;
    for (size_t i = 0; i < request->job_count; i++)
        bytes += request->jobs[i].steps * (request->jobs[i].tokens * WEIGHT_BYTES + TOKEN_BYTES);
    return bytes;
}

size_t request_bytes(const struct request *request) {
    size_t bytes = arena_bytes(&request->arena);
    for (size_t i = 0; i < request->job_count; i++)
        bytes += arena_bytes(&request->jobs[i].sentence->arena);
    return bytes;
}

/* ---- from texts to sentences ---- */

/* If the request is over, nobody waits for the answer, so the rest need not be prepared. */
static int check_time(struct request *request, struct error *err) {
    return request_is_over(request) ? error_set(err, ERROR_INPUT, "the request is over") : 0;
}

/* what: a field that applies to one sentence only. */
static int check_single(const struct text *text, const char *what, enum request_input *input, struct error *err) {
    if (text->count <= 1)
        return 0;
    *input = REQUEST_SPLIT;
    return error_set(err, ERROR_INPUT, "split_sentences must be false when %s is given: the text has %zu sentences", what,
                     text->count);
}

/* Lowers the limit of the translation's length to the model's. A limit that the client asked for, and a given translation, must be
 * within it. */
static int prepare_heads(struct text *text, enum request_input *input, struct error *err) {
    struct sentence *sentence = text->sentences;
    struct search_options *options = &sentence->options;
    size_t most = REQUEST_HEADS_TOKENS;
    if (check_single(text, "include: heads", input, err) != 0)
        return -1;
    *input = REQUEST_HEADS;
    if (sentence->length > most)
        return error_set(err, ERROR_INPUT, "include: heads needs a text of at most %zu tokens, got %zu", most, sentence->length);
    if (sentence->usual_length && options->max_length > most)
        options->max_length = most;
    size_t target = options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    if (target > most)
        return error_set(err, ERROR_INPUT, "include: heads needs a translation of at most %zu tokens, got %zu", most, target);
    sentence->wants_looks = true;
    return 0;
}

/* Sets the parts of the answer that the client gives. The text has a sentence and is not decoded twice. */
static int prepare_given(const struct request *request, struct text *text, enum request_input *input, struct error *err) {
    struct sentence *sentence = &text->sentences[0];
    if (text->target) {
        if (check_single(text, request->target_name, input, err) != 0)
            return -1;
        *input = REQUEST_TARGET;
        if (translator_force(sentence, text->target, text->target_length, err) != 0)
            return -1;
    }
    if (request->forced_count > 0) {
        if (check_single(text, "force_attention", input, err) != 0)
            return -1;
        *input = REQUEST_FORCE;
        for (size_t i = 0; i < request->forced_count; i++) {
            const struct forced_step *forced = &request->forced[i];
            if (translator_attend(sentence, forced->step, forced->weights, forced->count, err) != 0)
                return -1;
        }
    }
    *input = REQUEST_PREFIX;
    if (request->prefix_length > 0 && translator_begin_with(sentence, request->prefix, request->prefix_length, err) != 0)
        return -1;
    return request->include & INCLUDE_HEADS ? prepare_heads(text, input, err) : 0;
}

/* Returns the options of one text. The first of two models searches as its folder says, for one translation. If the target is given
 * it is known from the start, since the source is then read as it stands. */
static struct search_options options_of(const struct request *request, const struct text *text) {
    struct search_options options = request->search;
    if (text->second) {
        size_t most = options.max_rows, beam = options.beam_size;
        bool greedy = options.strategy == &search_greedy;
        options = parameters_default();
        options.strategy = greedy ? &search_greedy : options.strategy;
        options.max_rows = most;
        parameters_settle(&options, &text->loaded->info, most > 0 ? most : beam > 0 ? beam : 1);
        options.n_best = 1;
    }
    if (text->target)
        options.strategy = &search_forced;
    return options;
}

int request_hold(const struct request *request, const struct translator *translator, struct guard *guard,
                 struct translator_text *text, struct arena *arena, struct error *err) {
    if (request->protection && !translator_holds(translator))
        return error_set(err, ERROR_INPUT, "this model cannot copy text unchanged");
    return guard_find(guard, translator_scope(translator, text->verbatim), text->text, text->length, arena, &text->held, err);
}

static int prepare_text(struct request *request, struct text *text, const struct translator *translator, struct guard *guard,
                        enum request_input *input, struct error *err) {
    const struct translator *reader = text->loaded ? text->loaded->translator : translator;
    const char *variant = text->model ? text->variant : request->variant;
    const char *language = text->model ? text->language : request->language;
    struct translator_text read = {text->source, text->source_length, {0}, request->split, request->verbatim};
    struct search_options options = options_of(request, text);
    *input = REQUEST_PROTECT;
    if (check_time(request, err) != 0 || request_hold(request, reader, guard, &read, &request->arena, err) != 0)
        return -1;

    *input = REQUEST_TEXT;
    if (translator_prepare_text(reader, &read, &options, &request->arena, &text->sentences, &text->count, err) != 0)
        return -1;
    for (size_t i = 0; variant && i < text->count; i++) {
        if ((language ? translator_choose_languages(&text->sentences[i], language, variant, err)
                      : translator_choose_variant(&text->sentences[i], variant, err)) != 0)
            return -1;
    }

    if (text->count > 0 && !text->second && prepare_given(request, text, input, err) != 0)
        return -1;

    *input = REQUEST_GLOSSARY;
    for (size_t i = 0; i < text->count; i++) {
        if (check_time(request, err) != 0 || translator_constrain(&text->sentences[i], &request->glossary, err) != 0)
            return -1;
    }
    return 0;
}

int request_prepare(struct request *request, const struct translator *translator, enum request_input *input, struct error *err) {
    struct guard guard;
    *input = REQUEST_PROTECT;
    int result = guard_open(&guard, request->protection, err);
    for (size_t i = 0; result == 0 && i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (text->twin) {
            text->sentences = text->twin->sentences;
            text->count = text->twin->count;
        } else {
            result = prepare_text(request, text, translator, &guard, input, err);
        }
    }
    guard_done(&guard);
    return result != 0 ? -1 : request_make_jobs(request, false, err);
}

/* ---- jobs ---- */

/* The expected length of a translation is that of its source, unless it must be longer; a search that returns to earlier steps may
 * take any number of steps. */
static void job_measure(struct job *job) {
    const struct sentence *sentence = job_sentence(job);
    const struct search_options *options = &sentence->options;
    size_t given = options->min_length > options->prefix_length ? options->min_length : options->prefix_length;
    job->rows = sentence_max_rows(sentence);
    job->tokens = sentence->length;
    job->steps = search_resumes(options) ? UINT32_MAX : given > sentence->length ? given : sentence->length;
    job->bytes = sentence_max_bytes(sentence);
}

/* True if the text has sentences for this decoding: a twin's are decoded by its model once, and the second decoding is only of
 * texts that have a second model. */
static bool is_decoded(const struct text *text, bool second) {
    return second ? text->pivot != NULL : !text->twin;
}

/* Makes the job of a prepared sentence; number: of the job in the request, since each samples on its own. */
static void job_init(struct job *job, struct request *request, struct sentence *sentence, const struct loaded_model *model,
                     size_t number) {
    sentence->cancelled = &request->cancelled;
    sentence->replace_unknowns = request->replace_unknowns;
    sentence->wants_alignment = request->aligns;
    sentence->owner = job;
    sentence->options.sampling.stream = (uint64_t)request->number << 32 | (uint64_t)number;
    *job = (struct job){.request = request, .sentence = sentence, .model = model};
    job_measure(job);
}

int request_make_jobs(struct request *request, bool second, struct error *err) {
    size_t count = 0, made = 0;
    for (size_t i = 0; i < request->text_count; i++)
        count += is_decoded(&request->texts[i], second) ? request->texts[i].count : 0;
    struct job *jobs = arena_zalloc(&request->arena, count, sizeof *jobs);
    if (!jobs)
        return error_memory(err);
    for (size_t i = 0; i < request->text_count; i++) {
        const struct text *text = &request->texts[i];
        const struct loaded_model *model = second ? text->second_loaded : text->loaded ? text->loaded : request->loaded;
        for (size_t j = 0; is_decoded(text, second) && j < text->count; j++, made++)
            job_init(&jobs[made], request, second ? text->pivot->second[j] : &text->sentences[j], model, made);
    }
    request->jobs = jobs;
    request->job_count = count;
    return 0;
}

struct sentence *job_sentence(const struct job *job) {
    return job->second ? job->second : job->sentence;
}

bool job_goes_on(struct job *job) {
    if (job->second) {
        amounts_choose(job->sentence, job->second);
        job->second = NULL;
    } else if (request_reason(job->request) == CANCEL_NONE) {
        job->second = amounts_try_again(job->sentence, job->request->glossary.lexicon);
    }
    if (job->second)
        job_measure(job);
    else
        ending_mend(job->sentence);
    return job->second != NULL;
}

void job_gives_up(struct job *job) {
    if (job->second)
        sentence_done(job->second);
    job->second = NULL;
}

void job_end(struct job *job) {
    struct request *request = job->request;
    size_t before = atomic_fetch_sub(&request->pending, 1);
    assert(before > 0);
    if (before == 1)
        request->finish(request);
}

const char *sentence_text(const struct sentence *sentence) {
    return sentence->text + sentence->source.begin;
}

size_t sentence_text_length(const struct sentence *sentence) {
    return sentence->source.end - sentence->source.begin;
}

const struct job *sentence_job(const struct sentence *sentence) {
    return sentence->owner;
}
