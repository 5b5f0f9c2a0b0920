/* This module hides the life of a request: what it may set, how its texts become jobs, who cancels
 * it, and what its end frees. */
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
    arena_init(&request->outcomes, OUTCOME_BLOCK_BYTES);
    pthread_mutex_init(&request->keeping, NULL);
    request->deadline_us = INT64_MAX;
    atomic_init(&request->pending, 0);
    atomic_init(&request->bytes, 0);
    atomic_init(&request->failed, false);
    atomic_init(&request->reason, CANCEL_NONE);
    atomic_init(&request->cancelled, false);
}

void request_done(struct request *request) {
    assert(atomic_load(&request->pending) == 0);
    for (size_t i = 0; i < request->text_count; i++) {
        /* A text that was decoded twice owns both parts, but not the composed result; a twin does
         * not own the first part. */
        struct text *text = &request->texts[i];
        const struct pivot *pivot = text->pivot;
        for (size_t j = 0; j < text->count && text->sentences; j++) {
            if (!text->twin)
                sentence_done(pivot ? &pivot->first[j] : &text->sentences[j]);
            if (pivot && pivot->second[j])
                sentence_done(pivot->second[j]);
        }
    }
    for (struct held_model *held = request->held; held; held = held->next)
        loaded_model_release(held->loaded);
    arena_done(&request->arena);
    arena_done(&request->outcomes);
    kept_glossary_release(request->kept);
    loaded_model_release(request->loaded);
    model_set_release(request->models);
    request->texts = NULL;
    request->text_count = 0;
    request->failure = NULL;
    request->plan = NULL;
    request->question = NULL;
    request->key = NULL;
    request->held = NULL;
    request->kept = NULL;
    request->loaded = NULL;
    request->models = NULL;
    request->model = NULL;
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
    return (size_t)job->tokens * job->rows;
}

struct job *request_next_job(const struct request *request, size_t *at) {
    while (*at < request->job_count && request->jobs[*at].twin)
        ++*at;
    return *at < request->job_count ? &request->jobs[(*at)++] : NULL;
}

size_t request_window(const struct request *request) {
    size_t decoded = request->job_count - request->twins;
    return request->window > 0 && request->window < decoded ? request->window : decoded;
}

size_t request_work(const struct request *request) {
    size_t work = 0, at = 0;
    for (size_t left = request_window(request); left > 0; left--)
        work += job_work(request_next_job(request, &at));
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
    for (size_t i = 0; i < request->job_count && request->lean; i++) {
        const struct job *job = &request->jobs[i];
        bytes +=
            SENTENCE_BYTES +
            (size_t)job->steps * (job->text->placed ? TOKEN_BYTES + PLACED_BYTES : TOKEN_BYTES);
    }
    return bytes;
}

size_t request_bytes(const struct request *request) {
    size_t bytes = arena_bytes(&request->arena) + arena_bytes(&request->outcomes);
    for (size_t i = 0; i < request->job_count && !request->lean; i++)
        bytes += arena_bytes(&request->jobs[i].sentence->arena);
    return bytes;
}

/* ---- from texts to sentences ---- */

/* Fails if the request is over: no client waits for the answer, so the rest need not be prepared.
 */
static int check_time(struct request *request, struct error *err) {
    return request_is_over(request) ? error_set(err, ERROR_INPUT, "the request is over") : 0;
}

/* Fails if the text has several sentences. what: the field that applies to one sentence only. */
static int check_single(const struct text *text, const char *what, enum request_input *input,
                        struct error *err) {
    if (text->count <= 1)
        return 0;
    *input = REQUEST_SPLIT;
    return error_set(err, ERROR_INPUT,
                     "split_sentences must be false when %s is given: the text has %zu sentences",
                     what, text->count);
}

/* Sets the parts of the answer that the client gives. The text has a sentence and is not decoded
 * twice. If heads are shown, the default limit of the translation's length is lowered to
 * REQUEST_HEADS_TOKENS; a limit from the client and a given translation must not exceed it. */
static int prepare_given(const struct request *request, struct text *text,
                         enum request_input *input, struct error *err) {
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
    if (request->prefix_length > 0 &&
        translator_begin_with(sentence, request->prefix, request->prefix_length, err) != 0)
        return -1;
    if (!(request->include & INCLUDE_HEADS))
        return 0;

    struct search_options *options = &sentence->options;
    size_t most = REQUEST_HEADS_TOKENS;
    if (check_single(text, "include: heads", input, err) != 0)
        return -1;
    *input = REQUEST_HEADS;
    if (sentence->length > most)
        return error_set(err, ERROR_INPUT,
                         "include: heads needs a text of at most %zu tokens, got %zu", most,
                         sentence->length);
    if (sentence->usual_length && options->max_length > most)
        options->max_length = most;
    size_t target =
        options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    if (target > most)
        return error_set(err, ERROR_INPUT,
                         "include: heads needs a translation of at most %zu tokens, got %zu", most,
                         target);
    sentence->wants_looks = true;
    return 0;
}

/* Returns the options of one text. The first of two models searches for one translation with its
 * own defaults. A given target sets the strategy before the source is read, since the source is
 * then read unchanged. */
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

int request_hold(const struct request *request, const struct translator *translator,
                 struct guard *guard, struct translator_text *text, struct arena *arena,
                 struct error *err) {
    if (request->protection && !translator_holds(translator))
        return error_set(err, ERROR_INPUT, "this model cannot copy text unchanged");
    return guard_find(guard, translator_notations(translator, text->verbatim), text->text,
                      text->length, arena, &text->held, err);
}

/* Chooses the languages of a sentence that was just made. */
static int choose_languages(const struct request *request, const struct text *text,
                            struct sentence *sentence, struct error *err) {
    const char *variant = text->model ? text->variant : request->variant;
    const char *language = text->model ? text->language : request->language;
    if (!variant)
        return 0;
    return language ? translator_choose_languages(sentence, language, variant, err)
                    : translator_choose_variant(sentence, variant, err);
}

/* Finds the opaque runs of a text, which is then ready to be read. */
static int hold_text(struct request *request, const struct text *text,
                     const struct translator *reader, struct guard *guard, struct arena *arena,
                     struct translator_text *read, enum request_input *input, struct error *err) {
    *read = (struct translator_text){.text = text->source,
                                     .length = text->source_length,
                                     .split = request->split,
                                     .verbatim = request->verbatim};
    *input = REQUEST_PROTECT;
    if (check_time(request, err) != 0 ||
        request_hold(request, reader, guard, read, arena, err) != 0)
        return -1;
    *input = REQUEST_TEXT;
    return 0;
}

static int prepare_text(struct request *request, struct text *text,
                        const struct translator *translator, struct guard *guard,
                        enum request_input *input, struct error *err) {
    const struct translator *reader = text->loaded ? text->loaded->translator : translator;
    struct search_options options = options_of(request, text);
    struct translator_text read;
    if (hold_text(request, text, reader, guard, &request->arena, &read, input, err) != 0 ||
        translator_prepare_text(reader, &read, &options, &request->arena, &text->sentences,
                                &text->count, err) != 0)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        if (choose_languages(request, text, &text->sentences[i], err) != 0)
            return -1;
    }

    if (text->count > 0 && !text->second && prepare_given(request, text, input, err) != 0)
        return -1;

    *input = REQUEST_GLOSSARY;
    for (size_t i = 0; i < text->count; i++) {
        if (check_time(request, err) != 0 ||
            translator_constrain(&text->sentences[i], &request->glossary, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- jobs ---- */

/* The expected length of a translation is that of its source, unless it must be longer; a search
 * that returns to earlier steps may take any number of steps. */
static void job_measure(struct job *job) {
    const struct sentence *sentence = job_sentence(job);
    const struct search_options *options = &sentence->options;
    size_t given =
        options->min_length > options->prefix_length ? options->min_length : options->prefix_length;
    size_t steps = given > sentence->length ? given : sentence->length;
    job->rows = (uint32_t)sentence_max_rows(sentence);
    job->tokens = (uint32_t)sentence->length;
    job->steps = search_resumes(options) || steps > UINT32_MAX ? UINT32_MAX : (uint32_t)steps;
    job->bytes = sentence_max_bytes(sentence);
}

/* Each job of a request samples independently, because its number selects the random stream. */
void job_set(struct job *job, struct sentence *sentence) {
    struct request *request = job->request;
    sentence->cancelled = &request->cancelled;
    sentence->replace_unknowns = request->replace_unknowns;
    sentence->wants_alignment = request->aligns;
    sentence->owner = job;
    sentence->options.sampling.stream =
        (uint64_t)request->number << 32 | (uint64_t)(job - request->jobs);
    job->sentence = sentence;
    job_measure(job);
}

/* Returns whether the text has sentences for this decoding. The first decoding skips twins, which
 * share their sentences; the second has only texts with a second model. */
static bool is_decoded(const struct text *text, bool second) {
    return second ? text->pivot != NULL : !text->twin;
}

static const struct loaded_model *first_model(const struct request *request,
                                              const struct text *text) {
    return text->loaded ? text->loaded : request->loaded;
}

int request_make_jobs(struct request *request, bool second, struct error *err) {
    size_t count = 0, made = 0;
    for (size_t i = 0; i < request->text_count; i++)
        count += is_decoded(&request->texts[i], second) ? request->texts[i].count : 0;
    struct job *jobs = arena_zalloc(&request->arena, count, sizeof *jobs);
    if (!jobs)
        return error_memory(err);
    request->jobs = jobs;
    request->job_count = count;
    for (size_t i = 0; i < request->text_count; i++) {
        const struct text *text = &request->texts[i];
        const struct loaded_model *model =
            second ? text->second_loaded : first_model(request, text);
        for (size_t j = 0; is_decoded(text, second) && j < text->count; j++, made++) {
            jobs[made] = (struct job){.request = request, .model = model};
            job_set(&jobs[made], second ? text->pivot->second[j] : &text->sentences[j]);
        }
    }
    return 0;
}

/* ---- lean requests: each sentence is made twice, to be measured and to be decoded ---- */

enum { LISTING_BUCKETS = 1024, LISTING_NONE = -1 };

/* A job's place among those with the same sentence. */
struct listed {
    uint64_t hash;  /* of the sentence's text */
    int32_t former; /* the job before it in its bucket; LISTING_NONE: none */
    int32_t first;  /* the first job with the same sentence, or itself */
};

/* The list of jobs while it grows. */
struct listing {
    struct request *request;
    struct text *text;
    enum request_input *input;
    struct job *jobs;      /* [count] */
    struct listed *listed; /* [count] */
    size_t count, room, listed_room;
    bool shares;                      /* equal sentences have equal translations */
    int32_t buckets[LISTING_BUCKETS]; /* the last job of each */
    struct arena arena;               /* holds the lists, which move as they grow */
};

/* Equal sentences have equal translations unless they are drawn at random, or a glossary's phrase
 * begins in one and ends in the next. A document whose sentences repeat, as those of a table do,
 * then takes less time, and a small archive of long repetitions does not become much work. */
static bool shares_sentences(const struct request *request) {
    return request->search.strategy != &search_sample && !request->glossary.lexicon;
}

/* FNV-1a */
static uint64_t hash_sentence(const struct job *job) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = job->source.begin; at < job->source.end; at++)
        hash = (hash ^ (uint64_t)(unsigned char)job->text->source[at]) * 0x100000001b3u;
    return hash;
}

/* True if both texts are read and translated alike. */
static bool same_reading(const struct text *a, const struct text *b) {
    return a == b || (a->loaded == b->loaded && a->model == b->model && a->variant == b->variant &&
                      a->language == b->language && a->second == b->second &&
                      a->second_loaded == b->second_loaded &&
                      a->second_variant == b->second_variant && a->placed == b->placed);
}

static bool same_run(const struct job *a, const struct job *b, size_t i) {
    const struct opaque_run *x = &a->held.all[i], *y = &b->held.all[i];
    return x->kind == y->kind && x->begin - a->source.begin == y->begin - b->source.begin &&
           x->end - x->begin == y->end - y->begin &&
           (x->written && y->written ? strcmp(x->written, y->written) == 0
                                     : x->written == y->written);
}

static bool same_sentence(const struct job *a, const struct job *b) {
    size_t length = a->source.end - a->source.begin;
    bool same =
        b->source.end - b->source.begin == length && a->held.count == b->held.count &&
        same_reading(a->text, b->text) &&
        memcmp(a->text->source + a->source.begin, b->text->source + b->source.begin, length) == 0;
    for (size_t i = 0; same && i < a->held.count; i++)
        same = same_run(a, b, i);
    return same;
}

/* Finds the place of a job that is about to be appended. */
static struct listed find_twin(const struct listing *listing, const struct job *job) {
    uint64_t hash = hash_sentence(job);
    int32_t last = listing->buckets[hash % LISTING_BUCKETS], own = (int32_t)listing->count;
    for (int32_t i = last; i != LISTING_NONE; i = listing->listed[i].former)
        if (listing->listed[i].hash == hash && same_sentence(&listing->jobs[i], job))
            return (struct listed){hash, last, listing->listed[i].first};
    return (struct listed){hash, last, own};
}

/* Appends the job of a sentence to the list and frees the sentence. */
static int list_sentence(void *owner, struct sentence *sentence, struct error *err) {
    struct listing *listing = owner;
    struct request *request = listing->request;
    if (choose_languages(request, listing->text, sentence, err) != 0)
        return -1;
    *listing->input = REQUEST_GLOSSARY;
    if (check_time(request, err) != 0 ||
        translator_constrain(sentence, &request->glossary, err) != 0)
        return -1;
    *listing->input = REQUEST_TEXT;
    struct job *jobs =
        arena_grow(&listing->arena, listing->jobs, listing->count, &listing->room, 1, sizeof *jobs);
    struct job job = {.request = request,
                      .sentence = sentence,
                      .model = first_model(request, listing->text),
                      .text = listing->text,
                      .source = sentence->source};

    /* The runs have offsets within the sentence and are copied with offsets within its text. */
    struct arena *arena = &request->arena;
    size_t count = sentence->held.count, begin = sentence->source.begin;
    struct opaque_run *all = count > 0 ? arena_alloc(arena, count, sizeof *all) : NULL;
    for (size_t i = 0; all && i < count; i++) {
        const struct opaque_run *run = &sentence->held.all[i];
        const char *written =
            run->written ? arena_copy(arena, run->written, strlen(run->written)) : NULL;
        all[i] = (struct opaque_run){begin + run->begin, begin + run->end, run->kind, written};
    }
    job.held = (struct opaque_runs){all, count};
    if (!jobs || arena_failed(arena))
        return error_memory(err);
    job_measure(&job);
    job.sentence = NULL;
    listing->jobs = jobs;
    if (listing->shares) {
        struct listed *listed = arena_grow(&listing->arena, listing->listed, listing->count,
                                           &listing->listed_room, 1, sizeof *listed);
        if (!listed)
            return error_memory(err);
        listing->listed = listed;
        listed[listing->count] = find_twin(listing, &job);
        listing->buckets[listed[listing->count].hash % LISTING_BUCKETS] = (int32_t)listing->count;
    }
    jobs[listing->count++] = job;
    listing->text->count++;
    sentence_done(sentence);
    return 0;
}

/* Links each twin with the jobs before and after it that have the same sentence. */
static void link_twins(struct request *request, const struct listed *listed) {
    for (size_t i = request->job_count; i-- > 0;) {
        struct job *job = &request->jobs[i], *first = &request->jobs[listed[i].first];
        if (job == first)
            continue;
        job->twin = true;
        job->next_twin = first->next_twin;
        first->next_twin = job;
        request->twins++;
    }
}

static int list_jobs(struct request *request, struct guard *guard, enum request_input *input,
                     struct error *err) {
    struct listing listing = {
        .request = request, .input = input, .shares = shares_sentences(request)};
    for (size_t i = 0; i < LISTING_BUCKETS; i++)
        listing.buckets[i] = LISTING_NONE;
    const struct sentence_taker taker = {list_sentence, &listing};
    struct arena scratch;
    int result = 0;
    arena_init(&listing.arena, ARENA_BLOCK_BYTES);
    arena_init(&scratch, ARENA_BLOCK_BYTES);
    arena_limit(&listing.arena, request->arena.budget);
    arena_limit(&scratch, request->arena.budget);
    for (size_t i = 0; result == 0 && i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        const struct translator *reader = first_model(request, text)->translator;
        struct search_options options = options_of(request, text);
        struct translator_text read;
        listing.text = text;
        result = hold_text(request, text, reader, guard, &scratch, &read, input, err);
        if (result == 0)
            result = translator_read_text(reader, &read, &options, &taker, &scratch, err);
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    struct job *jobs =
        result == 0 ? arena_alloc(&request->arena, listing.count, sizeof *jobs) : NULL;
    request->failure = arena_zalloc(&request->arena, 1, sizeof *request->failure);
    if (jobs && request->failure) {
        if (listing.count > 0)
            memcpy(jobs, listing.jobs, listing.count * sizeof *jobs);
        request->jobs = jobs;
        request->job_count = listing.count;
        if (listing.shares)
            link_twins(request, listing.listed);
        for (size_t i = 0; i < request->text_count; i++) {
            request->texts[i].jobs = jobs;
            jobs += request->texts[i].count;
        }
    } else if (result == 0) {
        result = error_memory(err);
    }
    arena_done(&listing.arena);
    return result;
}

int job_open(struct job *job) {
    struct request *request = job->request;
    const struct text *text = job->text;
    if (job->sentence || !request->lean)
        return 0;
    struct error error = {0};
    struct search_options options = options_of(request, text);
    const struct translator_text read = {.text = text->source,
                                         .length = text->source_length,
                                         .held = job->held,
                                         .verbatim = request->verbatim};
    struct sentence *sentence = atomic_load(&request->failed) ? NULL : malloc(sizeof *sentence);
    if (!sentence) {
        error_memory(&error);
    } else if (translator_prepare_again(job->model->translator, &read, job->source, &options,
                                        sentence, &error) == 0) {
        /* workers may share the glossary, since all of its phrases were found when the sentences
         * were measured */
        if (choose_languages(request, text, sentence, &error) == 0 &&
            translator_constrain(sentence, &request->glossary, &error) == 0) {
            job_set(job, sentence);
            return 0;
        }
        sentence_done(sentence);
    }
    free(sentence);
    request_fail(request, &error);
    return -1;
}

void request_fail(struct request *request, const struct error *error) {
    if (!atomic_exchange(&request->failed, true))
        *request->failure = *error;
}

/* ---- all texts ---- */

int request_prepare(struct request *request, const struct translator *translator,
                    enum request_input *input, struct error *err) {
    struct guard guard;
    *input = REQUEST_PROTECT;
    int result = guard_open(&guard, request->protection, err);
    if (result == 0 && request->lean)
        result = list_jobs(request, &guard, input, err);
    for (size_t i = 0; result == 0 && i < request->text_count && !request->lean; i++) {
        struct text *text = &request->texts[i];
        if (text->twin) {
            text->sentences = text->twin->sentences;
            text->count = text->twin->count;
        } else {
            result = prepare_text(request, text, translator, &guard, input, err);
        }
    }
    guard_done(&guard);
    if (result != 0)
        return -1;
    return request->lean ? 0 : request_make_jobs(request, false, err);
}

/* ---- a job's end ---- */

struct sentence *job_sentence(const struct job *job) {
    return job->second ? job->second : job->sentence;
}

bool job_goes_on(struct job *job) {
    if (job->second) {
        correction_choose(job->sentence, job->second);
        job->second = NULL;
    } else if (request_reason(job->request) == CANCEL_NONE) {
        job->second = correction_try_again(job->sentence, job->request->glossary.lexicon);
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
    size_t bytes = request->least_bytes ? request->least_bytes(job) : 0;
    if (bytes > 0 && atomic_fetch_add(&request->bytes, bytes) + bytes > request->most_bytes)
        request_cancel(request, CANCEL_LENGTH);
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

/* ---- parameters of a search ---- */

enum { ANYWHERE = PARAMETER_REQUEST | PARAMETER_LINES };

#define PLACE(name) offsetof(struct search_options, name)

static const struct parameter table[] = {
    {"strategy", ANYWHERE, PARAMETER_STRATEGY, PLACE(strategy), 0, 0, "beam", NULL, "how to search",
     "NAME", PARAMETERS_STRATEGIES},
    {"beam_size", ANYWHERE, PARAMETER_INTEGER, PLACE(beam_size), 1, SEARCH_MAX_ROWS, "0", NULL,
     "size of the beam; by default the model's, which is 5 for most", "N", NULL},
    {"n_best", PARAMETER_REQUEST, PARAMETER_INTEGER, PLACE(n_best), 1, SEARCH_MAX_ROWS, "1", NULL,
     "number of hypotheses to return; with beam at most beam_size, with greedy 1", NULL, NULL},
    {"length_penalty", ANYWHERE, PARAMETER_REAL, PLACE(length_penalty), 0, 2, "-1", NULL,
     "score = log_prob / length ^ length_penalty; 0: none; by default the model's, which is 1 for "
     "most",
     "P", "score = log_prob / length^P; by default the model's, which is 1 for most"},
    {"min_length", ANYWHERE, PARAMETER_INTEGER, PLACE(min_length), 0, TRANSLATOR_MAX_TARGET, "0",
     NULL, "minimum number of target tokens", "N", NULL},
    {"max_length", ANYWHERE, PARAMETER_INTEGER, PLACE(max_length), 1, TRANSLATOR_MAX_TARGET, "0",
     NULL, "maximum number of target tokens; by default the model's ratio to the source", "N",
     "maximum number of target tokens; 0: the model's ratio"},
    {"coverage_penalty", ANYWHERE, PARAMETER_REAL, PLACE(coverage_penalty), 0, 2, "0", NULL,
     "score += coverage_penalty * sum over the source tokens of log(min(1, attention received))",
     "P", "score += P * sum over source tokens of log(min(1, attention received))"},
    {"no_repeat_ngram", ANYWHERE, PARAMETER_INTEGER, PLACE(no_repeat_ngram), 0, 20, "0", NULL,
     "no sequence of this many tokens may occur twice; 0: off", "N", NULL},
    {"repetition_penalty", ANYWHERE, PARAMETER_REAL, PLACE(repetition_penalty), 1, 10, "1", NULL,
     "factor on the log-probability of a token that has already occurred", "P",
     "factor on the log-probabilities of tokens that have already occurred"},
    {"temperature", ANYWHERE, PARAMETER_REAL, PLACE(sampling.temperature), 0.01, 10, "1",
     &search_sample, "log-probabilities are divided by it", "T",
     "strategy sample: log-probabilities are divided by it"},
    {"top_k", ANYWHERE, PARAMETER_INTEGER, PLACE(sampling.top_k), 0, 1000, "0", &search_sample,
     "draw only from this many of the best tokens; 0: all", "N",
     "strategy sample: draw only from this many of the best tokens; 0: all"},
    {"top_p", ANYWHERE, PARAMETER_REAL, PLACE(sampling.top_p), 0.01, 1, "1", &search_sample,
     "draw only from the fewest best tokens that together have this probability", "P",
     "strategy sample: draw only from the fewest best tokens that together have this probability"},
    {"seed", ANYWHERE, PARAMETER_SEED, PLACE(sampling.seed), 0, 9007199254740991, "0",
     &search_sample, "the same seed gives the same texts; random by default", "N",
     "strategy sample: the same seed gives the same translations"},
    {"exact_steps", PARAMETER_LINES | PARAMETER_DAEMON, PARAMETER_INTEGER, PLACE(max_steps), 1, 1e9,
     "5000", &search_exact, NULL, "N",
     "strategy exact: decoder steps per sentence before the best translation found so far is "
     "returned"},
};

const struct parameter *parameters_nth(size_t i) {
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

bool parameters_beam(const struct search_options *options) {
    return options->strategy == &search_beam || options->strategy == &search_exact;
}

struct search_options parameters_default(void) {
    struct search_options options = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *fallback = table[i].fallback;
        void *place = (char *)&options + table[i].offset;
        switch (table[i].type) {
        case PARAMETER_STRATEGY:
            *(const struct search_kind **)place = search_find(fallback);
            break;
        case PARAMETER_INTEGER:
            *(size_t *)place = strtoul(fallback, NULL, 10);
            break;
        case PARAMETER_REAL:
            *(double *)place = strtod(fallback, NULL);
            break;
        case PARAMETER_SEED:
            *(uint64_t *)place = strtoull(fallback, NULL, 10);
        }
    }
    return options;
}

bool parameters_of_model(const struct parameter *parameter) {
    return parameter->offset == PLACE(beam_size) || parameter->offset == PLACE(length_penalty);
}

void parameters_settle(struct search_options *options, const struct translator_info *info,
                       size_t rows) {
    if (options->beam_size == 0)
        options->beam_size = info->beam_size < rows ? info->beam_size : rows;
    if (options->length_penalty < 0)
        options->length_penalty = info->length_penalty;
}
