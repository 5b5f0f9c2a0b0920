/* This module hides the life of a job: how texts become jobs, which of them share one decoding,
 * what a worker decodes for a job, and how it ends. */
#include "server/decode/job.h"
#include "server/base/clock.h"
#include "server/decode/outcome.h"
#include "server/decode/parameters.h"
#include "server/decode/pivot.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
static int prepare_given(const struct request *request, const struct text *text,
                         struct sentence *sentence, enum request_input *input, struct error *err) {
    if (text->target) {
        if (check_single(text, request->target_name, input, err) != 0)
            return -1;
        *input = REQUEST_TARGET;
        if (sentence_force(sentence, text->target, text->target_length, err) != 0)
            return -1;
    }
    if (request->parameters.forced_count > 0) {
        if (check_single(text, "force_attention", input, err) != 0)
            return -1;
        *input = REQUEST_FORCE;
        for (size_t i = 0; i < request->parameters.forced_count; i++) {
            const struct forced_step *forced = &request->parameters.forced[i];
            if (sentence_attend(sentence, forced->step, forced->weights, forced->count, err) != 0)
                return -1;
        }
    }
    *input = REQUEST_PREFIX;
    if (request->parameters.prefix_length > 0 &&
        sentence_begin_with(sentence, request->parameters.prefix, request->parameters.prefix_length,
                            err) != 0)
        return -1;
    const char *suffix = request->parameters.suffix;
    if (suffix && *suffix) {
        if (check_single(text, "suffix", input, err) != 0)
            return -1;
        *input = REQUEST_SUFFIX;
        if (sentence_end_with(sentence, suffix, strlen(suffix), err) != 0)
            return -1;
    }
    if (!(request->wanted.include & INCLUDE_HEADS))
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
    sentence->caller.wants_looks = true;
    return 0;
}

/* Returns the options of one text. The first of two models searches, with its own defaults, for as
 * many translations as the second reads; a given target is the second one's (pivot.c). For one
 * model it sets the strategy before the source is read, since the source is then read unchanged. */
static struct search_options options_of(const struct request_parameters *parameters,
                                        const struct text *text) {
    struct search_options options = parameters->search;
    if (text->second) {
        size_t most = options.max_rows, beam = options.beam_size;
        bool greedy = options.strategy == &search_greedy;
        options = parameters_default();
        options.strategy = greedy ? &search_greedy : options.strategy;
        options.max_rows = most;
        parameters_settle(&options, &text->loaded->info, most > 0 ? most : beam > 0 ? beam : 1);
        options.n_best = text->ranks > 0 ? text->ranks : 1;
        if (options.beam_size < options.n_best)
            options.beam_size = options.n_best;
    }
    if (text->target && !text->second)
        options.strategy = &search_forced;
    return options;
}

/* Chooses the languages of a sentence that was just made. */
static int choose_languages(const struct request_parameters *parameters, const struct text *text,
                            struct sentence *sentence, struct error *err) {
    const char *variant = text->model ? text->variant : parameters->variant;
    const char *language = text->model ? text->language : parameters->language;
    if (!variant)
        return 0;
    return language ? sentence_choose_languages(sentence, language, variant, err)
                    : sentence_choose_variant(sentence, variant, err);
}

/* Returns how the model that reads a text is to write. The first of two writes for the second. */
static struct formality_wish wish_of(const struct request *request, const struct text *text) {
    return text->second ? (struct formality_wish){0} : request_wish(request, text);
}

static int check_wish(const struct request *request, const struct text *text,
                      enum request_input *input, struct error *err) {
    struct formality_wish wish = request_wish(request, text);
    if (wish.form == FORMALITY_ANY || wish.prefers || formality_is_known(wish.target))
        return 0;
    *input = REQUEST_FORMALITY;
    return error_set(err, ERROR_INPUT,
                     "formality must be default, prefer_more or prefer_less: no forms of address "
                     "are known for \"%.60s\"",
                     wish.target);
}

/* ---- jobs ---- */

/* The expected length of a translation is that of its source, unless it must be longer; a search
 * that returns to earlier steps may take any number of steps. */
static void job_measure(struct job *job, const struct sentence *sentence) {
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
static void job_set(struct job *job, struct sentence *sentence) {
    struct request *request = job->request;
    sentence->caller.cancelled = &request->cancellation.flag;
    sentence->caller.replace_unknowns = request->parameters.replace_unknowns;
    /* signs are mended and phrases found by the alignment: whether the answer has it must not
     * change the text */
    sentence->caller.wants_alignment =
        request->wanted.aligns ||
        (sentence->check && (sentence->check->applies[CHECK_SIGNS] || sentence->held.count > 0 ||
                             request->parameters.glossary.lexicon));
    sentence->caller.wants_scores = request->wanted.include & INCLUDE_SCORES;
    sentence->caller.owner = job;
    sentence->options.sampling.stream =
        (uint64_t)request->parameters.number << 32 | (uint64_t)(job - request->jobs);
    job->sentence = sentence;
    job_measure(job, sentence);
}

static const struct loaded_model *first_model(const struct request *request,
                                              const struct text *text) {
    return text->loaded ? text->loaded : request->loaded;
}

/* ---- the list of jobs ----
 *
 * If only a part of the jobs waits in the scheduler at once (request.queued.window), each sentence
 * is made twice: to be measured, and when a worker takes its job. Otherwise it stays, as the first
 * ones of a request do that turns out to be long. */

enum { LISTING_BUCKETS = 1024, LISTING_NONE = -1, ARENA_BLOCK_BYTES = 16 * 1024 };

/* A job's place among those with the same sentence. */
struct listed {
    uint64_t hash;  /* hash of the sentence's text */
    int32_t former; /* the job before it in its bucket; LISTING_NONE: none */
    int32_t first;  /* the first job with the same sentence, or itself */
    int32_t root; /* the first job with the same sentence for the first of two models, or itself */
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
    struct guard guard;               /* finds the runs that are kept */
    struct arena scratch;             /* scratch memory for one text */
};

/* Returns true if the client gives parts of the text's translation, or looks into it: these concern
 * its only or its first sentence. */
static bool has_given(const struct request *request, const struct text *text) {
    return !text->second && (text->target || request->parameters.forced_count > 0 ||
                             request->parameters.prefix_length > 0 ||
                             (request->parameters.suffix && *request->parameters.suffix) ||
                             request->wanted.include & INCLUDE_HEADS);
}

/* Equal sentences have equal translations unless they are drawn at random, a part of one is given,
 * or a glossary's phrase begins in one and ends in the next. A text whose sentences repeat, as
 * those of a table do, then takes less time, and a small archive of long repetitions does not
 * become much work. A stream shows the tokens of each sentence while it is decoded. */
static bool shares_sentences(const struct request *request) {
    bool shares = request->parameters.search.strategy != &search_sample &&
                  !request->parameters.glossary.lexicon &&
                  !(request->wanted.streamed && request->keeps);
    for (size_t i = 0; shares && i < request->text_count; i++)
        shares = !has_given(request, &request->texts[i]) && !request->texts[i].target;
    return shares;
}

/* FNV-1a */
static uint64_t hash_sentence(const struct job *job) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = job->source.begin; at < job->source.end; at++)
        hash = (hash ^ (uint64_t)(unsigned char)job->text->source[at]) * 0x100000001b3u;
    return hash;
}

/* Return true if the first models, or all models, of both texts read and translate alike. */
static bool same_first_reading(const struct text *a, const struct text *b) {
    return a == b ||
           (a->loaded == b->loaded && a->model == b->model && a->variant == b->variant &&
            a->language == b->language && !a->second == !b->second && a->ranks == b->ranks);
}

static bool same_reading(const struct text *a, const struct text *b) {
    return same_first_reading(a, b) && a->second == b->second &&
           a->second_loaded == b->second_loaded && a->second_variant == b->second_variant &&
           a->rank == b->rank && a->placed == b->placed;
}

static bool same_run(const struct job *a, const struct job *b, size_t i) {
    const struct opaque_run *x = &a->runs.all[i], *y = &b->runs.all[i];
    return x->kind == y->kind && x->begin - a->source.begin == y->begin - b->source.begin &&
           x->end - x->begin == y->end - y->begin &&
           (x->written && y->written ? strcmp(x->written, y->written) == 0
                                     : x->written == y->written);
}

static bool same_sentence(const struct job *a, const struct job *b) {
    size_t length = a->source.end - a->source.begin;
    bool same =
        b->source.end - b->source.begin == length && a->runs.count == b->runs.count &&
        same_first_reading(a->text, b->text) &&
        memcmp(a->text->source + a->source.begin, b->text->source + b->source.begin, length) == 0;
    for (size_t i = 0; same && i < a->runs.count; i++)
        same = same_run(a, b, i);
    return same;
}

/* Finds the place of a job that is about to be appended. */
static struct listed find_twin(const struct listing *listing, const struct job *job) {
    uint64_t hash = hash_sentence(job);
    int32_t last = listing->buckets[hash % LISTING_BUCKETS], own = (int32_t)listing->count,
            root = own;
    for (int32_t i = last; i != LISTING_NONE; i = listing->listed[i].former) {
        if (listing->listed[i].hash != hash || !same_sentence(&listing->jobs[i], job))
            continue;
        if (same_reading(listing->jobs[i].text, job->text))
            return (struct listed){hash, last, listing->listed[i].first, own};
        if (job->text->second)
            root = listing->listed[listing->listed[i].first].root;
    }
    return (struct listed){hash, last, own, root};
}

/* Copies the runs of a sentence, which have offsets within it, with offsets within its text. */
static struct opaque_runs copy_runs(const struct sentence *sentence, struct arena *arena) {
    size_t count = sentence->held.count, begin = sentence->source.begin;
    struct opaque_run *all = count > 0 ? arena_alloc(arena, count, sizeof *all) : NULL;
    for (size_t i = 0; all && i < count; i++) {
        const struct opaque_run *run = &sentence->held.all[i];
        const char *written =
            run->written ? arena_copy(arena, run->written, strlen(run->written)) : NULL;
        all[i] = (struct opaque_run){begin + run->begin, begin + run->end, run->kind, written};
    }
    return (struct opaque_runs){all, all ? count : 0};
}

/* Requires what the glossary and the runs need, and measures the job. This follows the given parts
 * of the translation. */
static int settle_job(const struct listing *listing, struct job *job, struct sentence *sentence,
                      struct error *err) {
    struct request *request = listing->request;
    *listing->input = REQUEST_GLOSSARY;
    if (check_time(request, err) != 0 ||
        glossary_constrain(sentence, &request->parameters.glossary, err) != 0)
        return -1;
    *listing->input = REQUEST_TEXT;
    job_measure(job, sentence);
    return 0;
}

/* Finds whether an earlier job has the sentence of the next one. Returns -1 with ERROR_MEMORY. */
static int note_twin(struct listing *listing, const struct job *job, bool *twin,
                     struct error *err) {
    struct listed *listed = arena_grow(&listing->arena, listing->listed, listing->count,
                                       &listing->listed_room, 1, sizeof *listed);
    if (!listed)
        return error_memory(err);
    listing->listed = listed;
    listed[listing->count] = find_twin(listing, job);
    listing->buckets[listed[listing->count].hash % LISTING_BUCKETS] = (int32_t)listing->count;
    int32_t own = (int32_t)listing->count;
    *twin = listed[own].first != own || listed[own].root != own;
    return 0;
}

/* Appends the job of a sentence to the list. It takes the sentence over, or ends it. */
static int list_sentence(void *owner, struct sentence *sentence, struct error *err) {
    struct listing *listing = owner;
    struct request *request = listing->request;
    const struct text *text = listing->text;
    bool given = has_given(request, text), twin = false;
    struct job job = {.request = request,
                      .model = first_model(request, text),
                      .text = text,
                      .source = sentence->source};
    if (choose_languages(&request->parameters, text, sentence, err) != 0 ||
        (!given && settle_job(listing, &job, sentence, err) != 0))
        return -1;
    job.runs = copy_runs(sentence, &request->arena);
    struct job *jobs =
        arena_grow(&listing->arena, listing->jobs, listing->count, &listing->room, 1, sizeof *jobs);
    if (!jobs || arena_failed(&request->arena))
        return error_memory(err);
    listing->jobs = jobs;
    if (listing->shares && note_twin(listing, &job, &twin, err) != 0)
        return -1;
    if (request->queued.window == 0 && listing->count >= request->queued.long_jobs)
        request->queued.window = request->queued.long_window;
    bool stays = given || (request->queued.window == 0 && !twin);
    if (stays && !(job.sentence = malloc(sizeof *job.sentence)))
        return error_memory(err);
    if (stays) {
        *job.sentence = *sentence;
        arena_limit(&job.sentence->arena, NULL); /* a worker goes on with it, on its own thread */
    } else {
        sentence_done(sentence);
    }
    jobs[listing->count++] = job;
    listing->text->count++;
    return 0;
}

/* Links each twin and each fork with the jobs before and after it that share a decoding. */
static void link_twins(struct request *request, const struct listed *listed) {
    for (size_t i = request->job_count; i-- > 0;) {
        struct job *job = &request->jobs[i], *first = &request->jobs[listed[i].first],
                   *root = &request->jobs[listed[i].root];
        if (job != first) {
            job->original = first;
            job->next_twin = first->next_twin;
            first->next_twin = job;
        } else if (job != root) {
            job->fork_of = root;
            job->next_fork = root->next_fork;
            root->next_fork = job;
        }
        request->queued.twins += job != first || job != root;
    }
}

/* Finds the opaque runs of a text, which is then ready to be read. */
static int hold_text(struct listing *listing, const struct translator *source_model,
                     struct translator_text *read, struct error *err) {
    struct request *request = listing->request;
    const struct text *text = listing->text;
    *read = (struct translator_text){.text = text->source,
                                     .length = text->source_length,
                                     .split = request->parameters.split,
                                     .verbatim = request->parameters.verbatim,
                                     .formality = wish_of(request, text)};
    if (check_wish(request, text, listing->input, err) != 0)
        return -1;
    *listing->input = REQUEST_PROTECT;
    if (check_time(request, err) != 0 ||
        request_hold(&request->parameters, source_model, &listing->guard, read, &listing->scratch,
                     err) != 0)
        return -1;
    *listing->input = REQUEST_TEXT;
    return 0;
}

/* Lists the jobs of a text. */
static int list_text(struct listing *listing, struct text *text, struct error *err) {
    struct request *request = listing->request;
    const struct sentence_taker taker = {list_sentence, listing};
    const struct translator *source_model = first_model(request, text)->translator;
    const struct search_options options = options_of(&request->parameters, text);
    struct translator_text read;
    size_t first = listing->count;
    listing->text = text;
    text->count = 0;
    if (hold_text(listing, source_model, &read, err) != 0 ||
        sentence_read_text(source_model, &read, &options, &taker, &listing->scratch, err) != 0)
        return -1;
    if (text->target && text->second &&
        check_single(text, request->target_name, listing->input, err) != 0)
        return -1;
    if (text->count == 0 || !has_given(request, text))
        return 0;
    if (prepare_given(request, text, listing->jobs[first].sentence, listing->input, err) != 0)
        return -1;
    for (struct job *job = &listing->jobs[first]; job < listing->jobs + listing->count; job++)
        if (settle_job(listing, job, job->sentence, err) != 0)
            return -1;
    return 0;
}

/* Gives the request the listed jobs. Returns -1 with ERROR_MEMORY. */
static int take_list(const struct listing *listing, struct error *err) {
    struct request *request = listing->request;
    struct job *jobs = arena_alloc(&request->arena, listing->count, sizeof *jobs);
    size_t first = 0;
    request->failure.first = arena_zalloc(&request->arena, 1, sizeof *request->failure.first);
    request->keeps = request->keeps && !(request->show && request->queued.window > 0);
    for (size_t i = 0; request->keeps && i < request->text_count; i++)
        request->texts[i].sentences =
            arena_zalloc(&request->arena, request->texts[i].count, sizeof(struct sentence));
    if (arena_failed(&request->arena))
        return error_memory(err);
    if (listing->count > 0)
        memcpy(jobs, listing->jobs, listing->count * sizeof *jobs);
    request->jobs = jobs;
    request->job_count = listing->count;
    request->queued.twins = 0;
    if (listing->shares)
        link_twins(request, listing->listed);
    for (size_t i = 0; i < request->text_count; first += request->texts[i++].count)
        request->texts[i].jobs = jobs + first;
    for (size_t i = 0; i < listing->count; i++)
        if (jobs[i].sentence)
            job_set(&jobs[i], jobs[i].sentence);
    return 0;
}

int job_list(struct request *request, enum request_input *input, struct error *err) {
    struct listing listing = {
        .request = request, .input = input, .shares = shares_sentences(request)};
    for (size_t i = 0; i < LISTING_BUCKETS; i++)
        listing.buckets[i] = LISTING_NONE;
    arena_init(&listing.arena, ARENA_BLOCK_BYTES);
    arena_init(&listing.scratch, ARENA_BLOCK_BYTES);
    arena_limit(&listing.arena, request->arena.budget);
    arena_limit(&listing.scratch, request->arena.budget);
    *input = REQUEST_PROTECT;
    int result = guard_open(&listing.guard, request->parameters.protection, err);
    for (size_t i = 0; result == 0 && i < request->text_count; i++) {
        result = list_text(&listing, &request->texts[i], err);
        arena_reset(&listing.scratch);
    }
    guard_done(&listing.guard);
    arena_done(&listing.scratch);
    if (result == 0)
        result = take_list(&listing, err);
    for (size_t i = 0; result != 0 && i < listing.count; i++)
        request_drop_job(&listing.jobs[i]);
    arena_done(&listing.arena);
    return result;
}

/* ---- what is decoded ---- */

int job_open(struct job *job) {
    struct request *request = job->request;
    const struct text *text = job->text;
    if (atomic_load(&request->failure.any))
        return -1;
    if (job->sentence)
        return 0;
    struct error error = {0};
    struct search_options options = options_of(&request->parameters, text);
    const struct translator_text read = {.text = text->source,
                                         .length = text->source_length,
                                         .held = job->runs,
                                         .verbatim = request->parameters.verbatim,
                                         .formality = wish_of(request, text)};
    struct sentence *sentence = malloc(sizeof *sentence);
    if (!sentence) {
        error_memory(&error);
    } else if (sentence_prepare_again(job->model->translator, &read, job->source, &options,
                                      sentence, &error) == 0) {
        /* workers may share the glossary, since all of its phrases were found when the sentences
         * were measured */
        if (choose_languages(&request->parameters, text, sentence, &error) == 0 &&
            glossary_constrain(sentence, &request->parameters.glossary, &error) == 0) {
            job_set(job, sentence);
            return 0;
        }
        sentence_done(sentence);
    }
    free(sentence);
    request_fail(request, &error);
    return -1;
}

struct sentence *job_sentence(const struct job *job) {
    return job->retry ? job->retry : job->sentence;
}

/* Makes the sentence that the second model reads. Returns false if that fails. */
static bool job_set_second(struct job *job, struct sentence *first) {
    struct sentence *second;
    struct error error = {0};
    if (pivot_prepare(job->request, job->text, first, &second, &error) != 0) {
        request_fail(job->request, &error);
        return false;
    }
    job->first = first;
    job->model = job->text->second_loaded;
    job_set(job, second);
    return true;
}

/* Makes the second model's sentence from the translation of the first model, if there are two, and
 * those of the forks, which may then be decoded. */
static bool job_translates_again(struct job *job) {
    struct sentence *first = job->sentence;
    if (!job->text->second || job->first || !first->hypotheses ||
        request_reason(job->request) != CANCEL_NONE || !job_set_second(job, first))
        return false;
    for (struct job *fork = job->next_fork; fork; fork = fork->next_fork)
        job_set_second(fork, first);
    return true;
}

struct job *job_forks(const struct job *job) {
    return job->first && !job->retry && !job->fork_of ? job->next_fork : NULL;
}

bool job_continues(struct job *job) {
    if (job->retry) {
        correction_choose(job->sentence, job->retry);
        job->retry = NULL;
    } else if (request_reason(job->request) == CANCEL_NONE) {
        job->retry = correction_try_again(job->sentence, job->request->parameters.glossary.lexicon);
    }
    if (job->retry) {
        job_measure(job, job->retry);
        return true;
    }
    ending_mend(job->sentence);
    return job_translates_again(job);
}

void job_give_up(struct job *job) {
    if (job->retry)
        sentence_done(job->retry);
    job->retry = NULL;
}

/* ---- a job's end ---- */

/* Notes that the job has its outcome, and counts it. The last one calls finish. */
static void count_end(struct job *job) {
    struct request *request = job->request;
    if (request->progress)
        request->progress(job);
    struct request_limit *limit = &request->limit;
    size_t bytes = limit->least_bytes ? limit->least_bytes(job) : 0;
    if (bytes > 0 && atomic_fetch_add(&limit->bytes, bytes) + bytes > limit->most_bytes)
        request_cancel(request, CANCEL_LENGTH);
    size_t before = atomic_fetch_sub(&request->pending, 1);
    assert(before > 0);
    if (before == 1)
        request->finish(request);
}

void job_end(struct job *job) {
    const struct sentence *sentence = job->sentence;
    bool forked = job->first || job->fork_of; /* its forks, if it has any, are on their own */
    job->done_us = clock_us();
    job->written = sentence && sentence->hypotheses ? (uint32_t)sentence->hypotheses[0].length : 0;
    outcome_take(job);
    /* these come before the job itself, whose end may be the last */
    for (struct job *fork = forked ? NULL : job->next_fork, *next; fork; fork = next) {
        next = fork->next_fork;
        job_end(fork);
    }
    for (struct job *twin = job->next_twin, *next; twin; twin = next) {
        next = twin->next_twin;
        twin->done_us = job->done_us;
        outcome_share(twin);
        count_end(twin);
    }
    count_end(job);
}
