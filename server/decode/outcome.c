/* This module hides what is kept of a decoded sentence until its request is answered. */
#include "server/decode/outcome.h"
#include "server/base/strings.h"
#include "server/decode/links.h"
#include "server/decode/pivot.h"
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* Finds the words of a sentence and its translation, and links each translated word with the source
 * word that the alignment head gives it. Without a head, the link is to the best source word after
 * the attention is balanced between source words. */
static int find_words(const struct sentence *sentence, const struct rendering *rendering,
                      struct arena *scratch, struct word_sides *sides, struct links *links) {
    struct translator_info info = translator_info(sentence->translator);
    struct word_matrix weights;
    *links = (struct links){0};
    if (render_words(&(struct rendered_sentence){sentence, &sentence->hypotheses[0], rendering},
                     WORDS_UNICODE, scratch, sides, NULL) != 0)
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

/* Lists count strings that follow each other, and moves *at past them. */
static const char **list_strings(const char **at, size_t count, struct arena *arena) {
    const char **list = arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

static struct outcome_place place_of(struct span span) {
    return (struct outcome_place){(uint32_t)span.begin, (uint32_t)span.end};
}

static char *put_places(char *to, const struct span *places, size_t count) {
    struct outcome_place *put = (void *)to;
    for (size_t i = 0; i < count; i++)
        put[i] = place_of(places[i]);
    return (void *)(put + count);
}

/* Returns the sentence where its text has it; the shared members are only read. */
static struct sentence place(const struct job *job, const struct sentence *sentence) {
    struct sentence placed = *sentence;
    placed.text = job->text->source;
    placed.source = job->source;
    return placed;
}

/* The part of an answer about one sentence, written as soon as it ends, since its request does not
 * keep it. */
struct shown {
    struct writer whole;
    const char *first; /* the translation of the first of two models; NULL: none */
};

/* Returns -1 if memory runs out. The bytes of an answer that becomes too long are not kept, and its
 * request is over. */
static int show(const struct job *job, const struct sentence *sentence, struct arena *scratch,
                struct shown *out) {
    struct request *request = job->request;
    struct rendering first = {0};
    *out = (struct shown){.whole = {.most = request->limit.most_bytes}};
    if (!request->show || request->keeps)
        return 0;
    if (job->first && rendering_make(job->first, pivot_written(job->first, job->text), scratch,
                                     &first, NULL) != 0)
        return -1;
    const struct sentence placed = place(job, sentence);
    request->show(request, &placed, &out->whole);
    if (out->whole.too_long)
        request_cancel(request, CANCEL_LENGTH);
    if (writer_ended(&out->whole))
        writer_done(&out->whole);
    out->first = first.text;
    return out->whole.failed ? -1 : 0;
}

/* Makes the outcome of a decoded sentence. Returns NULL if memory runs out. */
static struct outcome *make(const struct job *job, const struct sentence *sentence,
                            const struct judgement *judged, struct arena *scratch) {
    struct request *request = job->request;
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct rendering rendering;
    struct word_sides sides = {0};
    struct links links = {0};
    struct shown shown;
    if (rendering_make(sentence, best, scratch, &rendering, NULL) != 0 ||
        (job->text->placed && find_words(sentence, &rendering, scratch, &sides, &links) != 0) ||
        show(job, sentence, scratch, &shown) != 0)
        return NULL;

    size_t length = strlen(rendering.text), count = sides.target.count;
    size_t doubts = request->keeps || request->show ? judged->doubt.word_count : 0;
    size_t first_bytes = shown.first ? strlen(shown.first) + 1 : 0,
           shown_bytes = shown.whole.bytes ? shown.whole.length + 1 : 0;
    size_t bytes = sizeof(struct outcome) + (length / 4 + 1) * 4 +
                   (count + doubts) * sizeof(struct outcome_place) +
                   links.count * sizeof(struct outcome_link);
    for (size_t check = 0; check < CHECKS; check++)
        bytes += strings_bytes(judged->lists[check].source, judged->lists[check].source_count) +
                 strings_bytes(judged->lists[check].target, judged->lists[check].target_count);
    bytes += first_bytes + shown_bytes;
    pthread_mutex_lock(&request->outcomes.lock);
    struct outcome *outcome = arena_alloc(&request->outcomes.arena, bytes, 1);
    pthread_mutex_unlock(&request->outcomes.lock);
    if (!outcome) {
        writer_done(&shown.whole);
        return NULL;
    }
    *outcome = (struct outcome){.score = best->score,
                                .log_prob = best->log_prob,
                                .estimate = judged->doubt.estimate,
                                .unknown = (uint32_t)judged->unknown,
                                .tokens = (uint32_t)judged->tokens,
                                .omission_tokens = (uint32_t)judged->omission.tokens,
                                .omission_left = (uint32_t)judged->omission.left,
                                .untranslated = judged->untranslated,
                                .doubtful = judged->doubt.doubtful,
                                .finish = (uint8_t)best->finish,
                                .steps = (uint32_t)hypothesis_steps(best),
                                .length = (uint32_t)length,
                                .word_count = (uint32_t)count,
                                .link_count = (uint32_t)links.count,
                                .doubt_count = (uint32_t)doubts};
    memcpy(outcome->text, rendering.text, length + 1);
    char *put = put_places(outcome->text + (length / 4 + 1) * 4, sides.target.words, count);
    struct outcome_link *linked = (void *)put;
    for (size_t i = 0; i < links.count; i++)
        linked[i] = (struct outcome_link){place_of(sides.source.words[links.all[i].source]),
                                          place_of(sides.target.words[links.all[i].target])};
    put = put_places((char *)(linked + links.count), judged->doubt.words, doubts);
    for (size_t check = 0; check < CHECKS; check++) {
        const struct check_lists *lists = &judged->lists[check];
        outcome->lists[check].source_count = (uint32_t)lists->source_count;
        outcome->lists[check].target_count = (uint32_t)lists->target_count;
        put = put_strings(put_strings(put, lists->source, lists->source_count), lists->target,
                          lists->target_count);
    }
    if (first_bytes > 0) {
        outcome->first = (uint32_t)(put - outcome->text);
        put = mempcpy(put, shown.first, first_bytes);
    }
    if (shown_bytes > 0) {
        outcome->shown = (uint32_t)(put - outcome->text);
        outcome->shown_length = (uint32_t)shown.whole.length;
        memcpy(put, shown.whole.bytes, shown_bytes);
    }
    writer_done(&shown.whole);
    return outcome;
}

/* Puts the decoded sentence where its text has it. */
static void keep(const struct job *job, const struct sentence *sentence) {
    job->text->sentences[job - job->text->jobs] = place(job, sentence);
}

/* Makes one sentence of the job's two. */
static int compose(const struct job *job, struct arena *arena, struct sentence *out) {
    struct rendering rendering;
    const struct hypothesis *written = pivot_written(job->first, job->text);
    return rendering_make(job->first, written, arena, &rendering, NULL) == 0
               ? pivot_compose(job->first, written, &rendering, job->sentence, arena, out)
               : -1;
}

void outcome_take(struct job *job) {
    struct request *request = job->request;
    struct sentence *sentence = job->sentence;
    struct error error = {0};
    if (!sentence)
        return;
    if (sentence->error) {
        request_fail(request, sentence->error);
    } else if (!sentence->dropped && !atomic_load(&request->failure.any)) {
        struct arena scratch;
        struct sentence composed;
        struct judgement judged;
        arena_init(&scratch, SCRATCH_BYTES);
        bool made = sentence->hypotheses != NULL;
        if (made && job->first)
            made = compose(job, request->keeps ? &sentence->arena : &scratch, &composed) == 0;
        const struct sentence *whole = job->first ? &composed : sentence;
        if (made && judgement_make(request, job->text, whole, job->first, &scratch, &judged) == 0)
            job->outcome = make(job, whole, &judged, &scratch);
        if (job->outcome && request->keeps)
            keep(job, whole);
        arena_done(&scratch);
        if (!job->outcome) {
            error_memory(&error);
            request_fail(request, &error);
        }
    }
    if (!request->keeps && !job->next_fork)
        request_drop_job(job);
}

void outcome_share(struct job *twin) {
    const struct job *original = twin->original;
    twin->outcome = original->outcome;
    if (twin->outcome && twin->request->keeps)
        keep(twin, &original->text->sentences[original - original->text->jobs]);
}

/* ---- what the answer reads ---- */

int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out) {
    const struct outcome_place *doubts = outcome_doubts(outcome);
    const char *strings = (const char *)(doubts + outcome->doubt_count);
    struct span *words = arena_alloc(arena, outcome->doubt_count, sizeof *words);
    if (!words)
        return -1;
    for (size_t i = 0; i < outcome->doubt_count; i++)
        words[i] = (struct span){doubts[i].begin, doubts[i].end};
    *out = (struct judgement){
        .untranslated = outcome->untranslated,
        .unknown = outcome->unknown,
        .tokens = outcome->tokens,
        .omission = {outcome->omission_tokens, outcome->omission_left},
        .doubt = {outcome->doubtful, outcome->estimate, words, outcome->doubt_count}};
    for (size_t check = 0; check < CHECKS; check++) {
        struct check_lists *lists = &out->lists[check];
        lists->source_count = outcome->lists[check].source_count;
        lists->target_count = outcome->lists[check].target_count;
        if (lists->source_count + lists->target_count == 0)
            continue;
        lists->source = list_strings(&strings, lists->source_count, arena);
        lists->target = list_strings(&strings, lists->target_count, arena);
        if (!lists->source || !lists->target)
            return -1;
    }
    return 0;
}

static struct span span_of(const struct text *text, size_t i) {
    return text->sentences ? text->sentences[i].source : text->jobs[i].source;
}

struct span outcome_gap(const struct text *text, size_t i) {
    return (struct span){.begin = i == 0 ? 0 : span_of(text, i - 1).end,
                         .end = i == text->count ? text->source_length : span_of(text, i).begin};
}

static size_t append_gap(char *out, size_t at, const struct text *text, size_t i) {
    struct span span = outcome_gap(text, i);
    memcpy(out + at, text->source + span.begin, span.end - span.begin);
    return at + span.end - span.begin;
}

/* Makes the text of these sentences [text->count]. */
static int join(const struct text *text, struct rendering *sentences, struct arena *arena,
                struct rendered *out, struct error *err) {
    struct rendered made = {.sentences = sentences,
                            .begins = arena_zalloc(arena, text->count, sizeof *made.begins)};
    size_t most = text->source_length; /* the gaps together are no longer than the source */
    for (size_t i = 0; i < text->count; i++)
        most += strlen(sentences[i].text);
    made.text = arena_alloc(arena, most + 1, 1);
    if (arena_failed(arena))
        return error_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < text->count; i++) {
        size_t length = strlen(made.sentences[i].text);
        at = append_gap(made.text, at, text, i);
        made.begins[i] = at;
        memcpy(made.text + at, made.sentences[i].text, length);
        at += length;
    }
    at = append_gap(made.text, at, text, text->count);
    made.text[at] = '\0';
    made.length = at;
    *out = made;
    return 0;
}

int outcome_text(const struct text *text, struct arena *arena, struct rendered *out,
                 struct error *err) {
    struct rendering *sentences = arena_zalloc(arena, text->count, sizeof *sentences);
    if (!sentences)
        return error_memory(err);
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = text->sentences ? &text->sentences[i] : NULL;
        if (!sentence)
            sentences[i].text = text->jobs[i].outcome->text;
        else if (rendering_make(sentence, &sentence->hypotheses[0], arena, &sentences[i], err) != 0)
            return -1;
    }
    return join(text, sentences, arena, out, err);
}

int outcome_first_text(const struct text *text, struct arena *arena, struct rendered *out) {
    struct rendering *sentences = arena_zalloc(arena, text->count, sizeof *sentences);
    if (!sentences)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        const struct job *job = &text->jobs[i], *decoded = job->original ? job->original : job;
        if (!text->sentences)
            sentences[i].text = job->outcome->text + job->outcome->first;
        else if (rendering_make(decoded->first, pivot_written(decoded->first, text), arena,
                                &sentences[i], NULL) != 0)
            return -1;
    }
    return join(text, sentences, arena, out, NULL);
}
