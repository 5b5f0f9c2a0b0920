/* This module hides what of a decoded sentence is kept, and that it is kept in one block. */
#include "server/decode/outcome.h"
#include "server/decode/pivot.h"
#include "server/models/catalog.h"
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* ---- judgements ---- */

/* Marks a sentence's own tokens that are parts of opaque runs. NULL: memory is out. */
static bool *find_held(const struct sentence *sentence, struct arena *arena) {
    struct span own = sentence_own(sentence);
    bool *held = arena_zalloc(arena, own.end - own.begin + 1, sizeof *held);
    for (size_t j = own.begin, run = 0; held && j < own.end; j++) {
        while (run < sentence->held.count && sentence->held.all[run].end <= sentence->tokens[j].begin)
            run++;
        held[j - own.begin] = run < sentence->held.count && sentence->held.all[run].begin < sentence->tokens[j].end;
    }
    return held;
}

/* A logical form says less than its question, so only translations can leave something out. The best hypothesis of a sentence
 * counts, by its attention, even if the model has an alignment head: a warning must not depend on other fields of the request. */
static bool can_omit(const struct request *request, const struct text *text) {
    const struct translator_info *reader = text->model ? &text->model->info : &request->model->info;
    const struct translator_info *writer = text->second ? &text->second->info : reader;
    return reader->attention && reader->attention_trained && writer->attention && writer->attention_trained &&
           strcmp(writer->task, "translation") == 0;
}

/* If two models translate, differences between the first two languages count as well. */
static int list_amounts(const struct sentence *sentence, const struct sentence *first, struct arena *arena, struct judgement *out) {
    const struct sentence_amounts *both[] = {first ? first->amounts : NULL, sentence->amounts};
    size_t source = 0, target = 0;
    for (size_t i = 0; i < 2; i++) {
        source += both[i] ? both[i]->source_count : 0;
        target += both[i] ? both[i]->target_count : 0;
    }
    if (source + target == 0)
        return 0;
    out->source = arena_alloc(arena, source, sizeof *out->source);
    out->target = arena_alloc(arena, target, sizeof *out->target);
    if (!out->source || !out->target)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; both[i] && k < both[i]->source_count; k++)
            out->source[out->source_count++] = both[i]->source[k];
        for (size_t k = 0; both[i] && k < both[i]->target_count; k++)
            out->target[out->target_count++] = both[i]->target[k];
    }
    return 0;
}

int judgement_make(const struct request *request, const struct text *text, const struct sentence *sentence,
                   const struct sentence *first, struct arena *arena, struct judgement *out) {
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct span own = sentence_own(sentence);
    *out = (struct judgement){.untranslated = sentence->untranslated, .unknown = sentence->unknown, .tokens = own.end - own.begin};
    if (can_omit(request, text)) {
        const bool *held = find_held(sentence, arena);
        if (!held || omission_add(best->attention, best->length, own, held, arena, &out->omission, NULL) != 0)
            return -1;
    }
    /* a given translation and text that was returned unchanged are not the model's own output */
    out->doubtful = request->warns && !sentence->given && !sentence->verbatim && translator_doubts(sentence, best, &out->estimate);
    return list_amounts(sentence, first, arena, out);
}

/* ---- outcomes ---- */

/* The words of a sentence's translation. Each is linked with the word that the alignment head gives it; models without one link it
 * with its best source word, after each source word got its share of the attention (server/decode/render.h). */
static int find_words(const struct sentence *sentence, const struct rendering *rendering, struct arena *scratch,
                      struct word_sides *sides, struct links *links) {
    struct translator_info info = translator_info(sentence->translator);
    struct word_matrix weights;
    *links = (struct links){0};
    if (render_words(sentence, WORDS_UNICODE, &sentence->hypotheses[0], rendering, scratch, sides, NULL) != 0)
        return -1;
    if (!info.attention)
        return 0;
    if (links_find(sentence, sides, scratch, &weights, NULL) != 0)
        return -1;
    links_prepare(links_kind_find(info.alignment_head ? "best" : "balanced"), &weights, true);
    return links_make(links_kind_find("best"), &weights, scratch, links, NULL);
}

static size_t strings_bytes(const char *const *strings, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(strings[i]) + 1;
    return bytes;
}

static char *put_strings(char *to, const char *const *strings, size_t count) {
    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, strings[i]) + 1;
    return to;
}

/* Lists strings that follow each other. */
static const char **list_strings(const char **at, size_t count, struct arena *arena) {
    const char **list = arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out) {
    const char *amounts = (const char *)(outcome_links(outcome) + outcome->link_count);
    *out = (struct judgement){.untranslated = outcome->untranslated,
                              .unknown = outcome->unknown,
                              .tokens = outcome->tokens,
                              .omission = {outcome->omission_tokens, outcome->omission_left},
                              .doubtful = outcome->doubtful,
                              .estimate = outcome->estimate,
                              .source_count = outcome->source_count,
                              .target_count = outcome->target_count};
    if (out->source_count + out->target_count == 0)
        return 0;
    out->source = list_strings(&amounts, out->source_count, arena);
    out->target = list_strings(&amounts, out->target_count, arena);
    return out->source && out->target ? 0 : -1;
}

static struct outcome_place place_of(struct span span, size_t by) {
    return (struct outcome_place){(uint32_t)(by + span.begin), (uint32_t)(by + span.end)};
}

struct outcome *outcome_make(const struct sentence *sentence, bool placed, const struct judgement *judgement, struct arena *arena,
                             pthread_mutex_t *lock, struct arena *scratch) {
    static const struct judgement none;
    const struct judgement *judged = judgement ? judgement : &none;
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct rendering rendering;
    struct word_sides sides = {0};
    struct links links = {0};
    if (translator_render(sentence, best, scratch, &rendering, NULL) != 0 ||
        (placed && find_words(sentence, &rendering, scratch, &sides, &links) != 0))
        return NULL;

    size_t length = strlen(rendering.text), count = sides.target.count;
    size_t bytes = sizeof(struct outcome) + (length / 4 + 1) * 4 + count * sizeof(struct outcome_place) +
                   links.count * sizeof(struct outcome_link) + strings_bytes(judged->source, judged->source_count) +
                   strings_bytes(judged->target, judged->target_count);
    if (lock)
        pthread_mutex_lock(lock);
    struct outcome *outcome = arena_alloc(arena, bytes, 1);
    if (lock)
        pthread_mutex_unlock(lock);
    if (!outcome)
        return NULL;
    *outcome = (struct outcome){.score = best->score,
                                .log_prob = best->log_prob,
                                .estimate = judged->estimate,
                                .unknown = (uint32_t)judged->unknown,
                                .tokens = (uint32_t)judged->tokens,
                                .omission_tokens = (uint32_t)judged->omission.tokens,
                                .omission_left = (uint32_t)judged->omission.left,
                                .source_count = (uint32_t)judged->source_count,
                                .target_count = (uint32_t)judged->target_count,
                                .untranslated = judged->untranslated,
                                .doubtful = judged->doubtful,
                                .finish = (uint8_t)best->finish,
                                .length = (uint32_t)length,
                                .word_count = (uint32_t)count,
                                .link_count = (uint32_t)links.count};
    memcpy(outcome->text, rendering.text, length + 1);
    struct outcome_place *words = (void *)(outcome->text + (length / 4 + 1) * 4);
    struct outcome_link *linked = (void *)(words + count);
    for (size_t i = 0; i < count; i++)
        words[i] = place_of(sides.target.words[i], 0);
    for (size_t i = 0; i < links.count; i++)
        linked[i] = (struct outcome_link){place_of(sides.source.words[links.all[i].source], sentence->source.begin),
                                          place_of(sides.target.words[links.all[i].target], 0)};
    put_strings(put_strings((char *)(linked + links.count), judged->source, judged->source_count), judged->target,
                judged->target_count);
    return outcome;
}

/* ---- the sentences of lean requests ---- */

bool outcome_goes_on(struct job *job) {
    struct request *request = job->request;
    struct sentence *first = job->sentence, *second;
    struct error error = {0};
    if (!request->lean || !job->text->second || job->first || !first->hypotheses || request_reason(request) != CANCEL_NONE)
        return false;
    if (pivot_prepare(request, job->text, first, &second, &error) != 0) {
        request_fail(request, &error);
        return false;
    }
    job->first = first;
    job->model = job->text->second_loaded;
    job_set(job, second);
    return true;
}

/* Makes the outcome of a sentence that was decoded by all of its models. */
static struct outcome *take(const struct job *job, struct arena *scratch) {
    const struct sentence *sentence = job->sentence;
    struct sentence composed;
    struct judgement judgement;
    if (job->first && pivot_join(job->first, sentence, scratch, &composed) != 0)
        return NULL;
    sentence = job->first ? &composed : sentence;
    bool judged = job->request->model != NULL; /* files without HTTP have no warnings */
    if (judged && judgement_make(job->request, job->text, sentence, job->first, scratch, &judgement) != 0)
        return NULL;
    struct request *request = job->request;
    return outcome_make(sentence, job->text->placed, judged ? &judgement : NULL, &request->outcomes, &request->keeping, scratch);
}

void outcome_take(struct job *job) {
    struct request *request = job->request;
    struct sentence *sentence = job->sentence;
    struct error error = {0};
    if (!request->lean || !sentence)
        return;
    if (sentence->error) {
        request_fail(request, sentence->error);
    } else if (!sentence->dropped && !atomic_load(&request->failed)) {
        struct arena scratch;
        arena_init(&scratch, SCRATCH_BYTES);
        if (sentence->hypotheses)
            job->outcome = take(job, &scratch);
        arena_done(&scratch);
        if (!job->outcome) {
            error_memory(&error);
            request_fail(request, &error);
        }
    }
    job->sentence = NULL;
    sentence_done(sentence);
    if (!job->first) {
        free(sentence);
        return;
    }
    sentence_done(job->first); /* which holds the second sentence */
    free(job->first);
    job->first = NULL;
}
