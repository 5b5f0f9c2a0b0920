/* This file writes the objects of texts in replies of alignd's own dialect, and bounds the length
 * of a reply beforehand. Scratch memory comes from an arena that is freed after each text or
 * sentence.
 */
#include "server/api/answer.h"
#include "server/api/members.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

void answer_put_sentence(struct request *request, const struct text *text, size_t i,
                         struct value_places *at, struct writer *out) {
    struct arena arena;
    arena_init(&arena, SCRATCH_BYTES);
    struct members members = {
        .request = request, .text = text, .arena = &arena, .out = out, .at = at};
    const struct sentence *sentence = &text->sentences[i];
    struct rendering rendering;
    if (rendering_make(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
        members_put(&members, i, &rendering);
    else
        writer_fail(out);
    arena_done(&arena);
}

/* ---- a text ---- */

void answer_put_pivot(const struct text *text, struct writer *out) {
    writer_begin_array(out, "pivot");
    writer_string(out, NULL, text->model->info.name);
    writer_string(out, NULL, text->second->info.name);
    writer_end_array(out);
}

void answer_put_models(const struct request *request, const struct text *text, struct writer *out) {
    const struct text *first = request->text_count > 0 ? request->texts : text;
    if (!text->detected)
        return;
    writer_begin_object(out, "detected");
    writer_string(out, "language", text->detected);
    writer_number(out, "confidence", text->confidence);
    writer_end_object(out);
    if (text->model == first->model && text->second == first->second)
        return; /* the reply names them */
    const struct served_model *last = text->second ? text->second : text->model;
    writer_strings(out, "model", last->info.name, "source",
                   text->language ? text->language : text->model->info.source, NULL);
    if (text->second)
        answer_put_pivot(text, out);
}

static void put_first_text(const struct text *text, struct arena *arena, struct writer *out) {
    struct rendered rendered;
    if (outcome_first_text(text, arena, &rendered) == 0)
        writer_string_of(out, "pivot_text", rendered.text, rendered.length);
    else
        writer_fail(out);
}

void answer_put_text(struct request *request, const struct text *text, const struct bytes *source,
                     const struct bytes *markup, struct writer *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct value_places at = {0};
    struct members members = {.request = request,
                              .text = text,
                              .arena = &arena,
                              .out = out,
                              .at = &at,
                              .apart = markup != NULL};
    if (outcome_text(text, &arena, &rendered, NULL) == 0) {
        writer_begin_object(out, NULL);
        writer_string_of(out, "text", markup ? markup->start : rendered.text,
                         markup ? markup->length : rendered.length);
        answer_put_models(request, text, out);
        if (text->second && text->count > 0 && !markup)
            put_first_text(text, &arena, out);
        writer_begin_array(out, "sentences");
        for (size_t i = 0; i < text->count && !members_are_over(&members); i++) {
            if (!text->sentences) {
                members_put_shown(&members, i);
                continue;
            }
            writer_begin_object(out, NULL);
            members_put(&members, i, &rendered.sentences[i]);
            writer_end_object(out);
        }
        writer_end_array(out);
        const struct whole whole = {{text->source, text->source_length},
                                    {rendered.text, rendered.length}};
        const struct whole written = source ? (struct whole){*source, *markup} : whole;
        warnings_put(request, text, markup && !source ? NULL : &written, markup != NULL, &arena,
                     out);
        writer_end_object(out);
    } else {
        writer_fail(out);
    }
    arena_done(&arena);
}

/* Joins the segments, one per line, into one text with all their sentences, so that each warning,
 * for example, appears once. Returns -1 if memory runs out. */
static int join(const struct plan_item *item, struct arena *arena, struct text *out) {
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < item->count; i++) {
        bytes += item->texts[i].source_length + 1;
        count += item->texts[i].count;
    }
    char *joined = arena_alloc(arena, bytes + 1, 1), *at = joined;
    bool kept = item->count > 0 && item->texts[0].sentences;
    struct sentence *sentences = kept ? arena_alloc(arena, count, sizeof *sentences) : NULL;
    struct job *jobs = arena_alloc(arena, count, sizeof *jobs);
    if (arena_failed(arena))
        return -1;
    *out = item->count > 0 ? item->texts[0] : (struct text){.model = item->chosen.model};
    out->source = item->count > 0 ? joined : item->source;
    out->source_length = item->count > 0 ? bytes : item->length;
    out->sentences = sentences;
    out->jobs = jobs;
    out->count = 0;
    for (size_t i = 0; i < item->count; i++) {
        const struct text *text = &item->texts[i];
        size_t begin = (size_t)(at - joined);
        for (size_t j = 0; j < text->count; j++) {
            struct job *job = &jobs[out->count];
            *job = text->jobs[j];
            job->source = (struct span){begin + job->source.begin, begin + job->source.end};
            if (kept) {
                sentences[out->count] = text->sentences[j]; /* the shared members are only read */
                sentences[out->count].text = joined;
                sentences[out->count].source = job->source;
            }
            out->count++;
        }
        at = mempcpy(mempcpy(at, text->source, text->source_length), "\n", 1);
    }
    *at = '\0';
    return 0;
}

void answer_put_item(struct request *request, const struct plan_item *item, struct writer *out) {
    const struct plan *plan = request->plan;
    struct arena arena;
    struct plan_answer answer;
    struct text text;
    if (!plan->markup && !item->marked) {
        answer_put_text(request, &item->texts[0], NULL, NULL, out);
        return;
    }
    arena_init(&arena, 1 << 14);
    if (plan_write(plan, item, &arena, &answer) == 0 && join(item, &arena, &text) == 0)
        answer_put_text(request, &text,
                        plan->markup ? NULL : &(struct bytes){item->source, item->length},
                        &(struct bytes){answer.text, answer.length}, out);
    else
        writer_fail(out);
    arena_done(&arena);
}

/* ---- the length of an answer ---- */

enum {
    LARGE_BYTES = 64 * 1024, /* an answer of this size takes one or two milliseconds to write */
    NUMBER_BYTES = 9,        /* bytes of most numbers, with the digits of a probability */
    JOB_BYTES = 160,   /* bytes of a sentence of which only the outcome stays, without its texts */
    TOKEN_BYTES = 8,   /* bytes of a token on either side, with its share of the text */
    PAIRED_BYTES = 100 /* the same with the places of words and phrases */
};

static const struct sentence *decoded_of(const struct job *job) {
    return job->original ? job->original->sentence : job->sentence;
}

bool answer_is_large(struct request *request) {
    const struct plan *plan = request->plan;
    struct writer count = {.most = LARGE_BYTES, .number_bytes = NUMBER_BYTES};
    size_t bytes = 0;
    for (size_t i = 0; plan && i < plan->count; i++)
        bytes += plan->items[i].length;
    for (size_t i = 0;
         i < request->job_count && bytes + count.length < LARGE_BYTES && !writer_ended(&count);
         i++) {
        const struct job *job = &request->jobs[i];
        if (!request->keeps) /* assume that the target is as long as the source */
            bytes += JOB_BYTES + job->source.end - job->source.begin;
        bytes += 2 * (size_t)job->tokens * (request->pairs ? PAIRED_BYTES : TOKEN_BYTES);
        bytes += job->outcome ? job->outcome->shown_length : 0;
        if (request->keeps && decoded_of(job)) /* NULL: as in least_of_sentence */
            members_count(request, decoded_of(job), &count);
    }
    return bytes + count.length >= LARGE_BYTES || writer_ended(&count);
}

static size_t least_of_sentence(struct request *request, const struct sentence *sentence) {
    struct writer count = {.most = SIZE_MAX, .number_bytes = WRITER_LEAST_NUMBER};
    if (!sentence) /* a sentence of a long text is NULL until a worker makes it
                      (request.queued.window) */
        return 0;
    members_count(request, sentence, &count);
    return count.length;
}

size_t answer_least_bytes(struct request *request) {
    size_t bytes = 0;
    for (size_t i = 0; i < request->job_count && !request->plan && !request->pairs; i++)
        bytes += least_of_sentence(request, decoded_of(&request->jobs[i]));
    return bytes;
}

static size_t least_of_job(const struct job *job) {
    return job->request->keeps ? least_of_sentence(job->request, decoded_of(job))
           : job->outcome      ? job->outcome->shown_length
                               : 0;
}

void answer_bound(const struct service *service, struct request *request) {
    bool own = request->keeps ? !request->plan && !request->pairs : request->show != NULL;
    for (size_t i = 0; i < request->text_count; i++)
        own = own && !request->texts[i].second;
    request->limit.least_bytes = own ? least_of_job : NULL;
    request->limit.most_bytes = service->options->max_reply_bytes;
}

struct writer answer_begin(const struct service *service) {
    return (struct writer){.most = service->options->max_reply_bytes};
}

void answer_reply(const struct service *service, struct reply *reply, struct writer *w) {
    bool too_long = w->too_long;
    reply_json(reply, w);
    if (too_long)
        reply_fail_length(service, 0, reply);
}
