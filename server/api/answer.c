/* This file writes replies in alignd's own dialect: the objects of texts and sentences. It also
 * estimates the length of a reply beforehand. Scratch memory comes from an arena that is freed
 * after each text or sentence. */
#include "server/api/answer.h"
#include "server/api/endpoint.h"
#include "server/api/json.h"
#include "server/api/plan.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include <string.h>

/* ---- a sentence ---- */

enum { SCRATCH_BYTES = 16 * 1024 };

/* Holds the state for writing one hypothesis of one sentence. */
struct sentence_view {
    struct request *request;
    unsigned include;
    const struct text *text;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    struct rendering rendering;
    size_t rows;         /* number of target tokens to write; `eos` adds the final </s> */
    struct arena *arena; /* scratch */
    struct writer *out;
    bool apart; /* sentences have no offsets in the whole text */
};

const char *const finish_reasons[] = {
    [FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};

static void put_pair(struct sentence_view *view, size_t source, size_t target) {
    writer_begin_array(view->out, NULL);
    writer_count(view->out, NULL, source);
    writer_count(view->out, NULL, target);
    writer_end_array(view->out);
}

/* Writes the rows of the attention or of the alignment. */
static void put_rows(struct sentence_view *view, const char *key, const float *const *rows) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < view->rows; i++)
        writer_numbers(view->out, NULL, rows[i], view->sentence->length, view->request->digits);
    writer_end_array(view->out);
}

static void put_offset(struct sentence_view *view, struct utf16_cursor *cursor, size_t begin,
                       size_t end) {
    struct api_place from = {begin, utf16_position(cursor, begin)},
                     to = {end, utf16_position(cursor, end)};
    api_put_place(view->out, NULL, from, to);
}

static void put_matrix(struct sentence_view *view, const char *key,
                       const struct word_matrix *matrix) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < matrix->target_count; i++)
        writer_numbers(view->out, NULL, matrix->weights + i * matrix->source_count,
                       matrix->source_count, view->request->digits);
    writer_end_array(view->out);
}

static void put_words(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    const struct hypothesis *hypothesis = view->hypothesis;
    struct word_sides sides;
    const struct word_side *const both[] = {&sides.source, &sides.target};
    const char *const names[] = {"source", "target"}, *const texts[] = {
                                                          sentence_text(view->sentence),
                                                          view->rendering.text};
    struct writer *out = view->out;
    struct word_matrix attention, alignment;
    const struct links_kind *kind =
        view->request->links ? view->request->links : links_kind_find("best");
    bool head = translator_info(view->sentence->translator).alignment_head;
    struct links links = {0};
    writer_begin_object(out, "words");
    if (render_words(view->sentence, WORDS_UNICODE, hypothesis, &view->rendering, view->arena,
                     &sides, NULL) == 0 &&
        render_merge(&sides, hypothesis->attention, view->arena, &attention, NULL) == 0 &&
        render_merge(&sides, hypothesis->alignment, view->arena, &alignment, NULL) == 0) {
        for (size_t i = 0; i < 2; i++) {
            writer_begin_array(out, names[i]);
            for (size_t word = 0; word < both[i]->count; word++) {
                struct span span = both[i]->words[word];
                writer_string_of(out, NULL, texts[i] + span.begin, span.end - span.begin);
            }
            writer_end_array(out);
        }
        put_matrix(view, "attention", &attention);
        put_matrix(view, "soft_alignment", &alignment);
        links_prepare(kind, &alignment, !head);
        if (links_make(kind, &alignment, view->arena, &links, NULL) != 0)
            writer_fail(out);
        writer_begin_array(out, "alignment");
        for (size_t i = 0; i < links.count; i++)
            put_pair(view, links.all[i].source, links.all[i].target);
        writer_end_array(out);
        writer_begin_object(out, "offsets");
        for (size_t i = 0; i < 2; i++) {
            struct utf16_cursor cursor = {.text = texts[i]};
            writer_begin_array(out, names[i]);
            for (size_t word = 0; word < both[i]->count; word++)
                put_offset(view, &cursor, both[i]->words[word].begin, both[i]->words[word].end);
            writer_end_array(out);
        }
        writer_end_object(out);
    } else {
        writer_fail(out);
    }
    writer_end_object(out);
    arena_release(view->arena, mark);
}

static void put_quality(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    struct word_sides sides;
    struct quality quality;
    writer_begin_object(view->out, "quality");
    if (render_words(view->sentence, WORDS_UNICODE, view->hypothesis, &view->rendering, view->arena,
                     &sides, NULL) == 0 &&
        translator_quality(view->sentence, view->hypothesis, sides.target.tokens,
                           sides.target.count, view->arena, &quality, NULL) == 0) {
        writer_number(view->out, "sentence", (double)quality.sentence);
        writer_numbers(view->out, "words", quality.words, quality.count, DECIMAL_DIGITS);
    } else {
        writer_fail(view->out);
    }
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

static void put_token_offsets(struct sentence_view *view, const char *key, const char *text,
                              const struct token *tokens, size_t count, bool end) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < count; i++)
        put_offset(view, &cursor, tokens[i].begin, tokens[i].end);
    if (end)
        put_offset(view, &cursor, strlen(text), strlen(text));
    writer_end_array(view->out);
}

/* Moves a position past the first `bytes` bytes of a text. */
static struct api_place place_after(struct api_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct api_place){place.bytes + bytes, place.units + utf16_position(&cursor, bytes)};
}

/* Writes the offsets of the tokens and of the sentence, and the opaque runs, which the translation
 * copies unchanged. If begin is NULL, the sentence has no offsets in the whole text. */
static void put_offsets(struct sentence_view *view, const struct api_places *begin) {
    static const struct api_place start = {0, 0};
    const struct sentence *sentence = view->sentence;
    const char *source = sentence_text(sentence), *target = view->rendering.text;
    size_t length = view->hypothesis->length;
    writer_begin_object(view->out, "offsets");
    put_token_offsets(view, "source", source, sentence->tokens, sentence->length, false);
    put_token_offsets(view, "target", target, view->rendering.tokens, length, view->rows > length);
    if (begin) {
        writer_begin_object(view->out, "span");
        api_put_place(view->out, "source", begin->source,
                      place_after(begin->source, source, sentence_text_length(sentence)));
        api_put_place(view->out, "target", begin->target,
                      place_after(begin->target, target, strlen(target)));
        writer_end_object(view->out);
    }
    writer_end_object(view->out);

    writer_begin_array(view->out, "opaque");
    for (size_t i = 0; i < length; i++) {
        const struct opaque_run *run = glossary_run(sentence, view->hypothesis->tokens[i]);
        const struct token *written = &view->rendering.tokens[i];
        if (!run)
            continue;
        writer_begin_object(view->out, NULL);
        api_put_place(view->out, "source", place_after(start, source, run->begin),
                      place_after(start, source, run->end));
        api_put_place(view->out, "target", place_after(start, target, written->begin),
                      place_after(start, target, written->end));
        writer_string(view->out, "kind", opaque_name(run->kind));
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

static void put_top_k(struct sentence_view *view) {
    writer_begin_array(view->out, "top_k");
    for (size_t row = 0; row < view->rows; row++) {
        const struct alternatives *step = view->hypothesis->alternatives[row];
        writer_begin_array(view->out, NULL);
        for (size_t i = 0; i < step->count; i++) {
            writer_begin_object(view->out, NULL);
            writer_string(view->out, "token", translator_piece(view->sentence, step->tokens[i]));
            writer_number(view->out, "log_prob", (double)step->log_probs[i]);
            writer_end_object(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

/* Returns true if the client no longer needs the rest of the answer. */
static bool is_over(const struct sentence_view *view) {
    return writer_ended(view->out) || request_is_over(view->request);
}

/* Writes one part as [layer][head][row][column]. Pads decoder rows with zeros, since a step attends
 * to no later step. */
static void put_looks(struct sentence_view *view, enum looks_part part, size_t rows,
                      const char *key) {
    const struct look_set *set = &view->sentence->looks->parts[part];
    float row[REQUEST_HEADS_TOKENS + 1];
    if (set->layers == 0)
        return;
    writer_begin_array(view->out, key);
    for (size_t layer = 0; layer < set->layers && !is_over(view); layer++) {
        writer_begin_array(view->out, NULL);
        for (size_t head = 0; head < set->heads; head++) {
            writer_begin_array(view->out, NULL);
            for (size_t i = 0, count; i < rows; i++) {
                const float *seen = looks_row(view->sentence->looks, part, layer, head, i, &count);
                memset(row, 0, sizeof row);
                memcpy(row, seen, count * sizeof *row);
                writer_numbers(view->out, NULL, row, part == LOOKS_DECODER ? rows : count,
                               view->request->digits);
            }
            writer_end_array(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

/* Writes the members of one hypothesis. begin locates its sentence in the whole text; NULL omits
 * these offsets. */
static void put_hypothesis(struct sentence_view *view, const struct api_places *begin) {
    const struct sentence *sentence = view->sentence;
    const struct hypothesis *hypothesis = view->hypothesis;
    struct writer *out = view->out;
    writer_string_of(out, "source_text", sentence_text(sentence), sentence_text_length(sentence));
    writer_string(out, "text", view->rendering.text);
    if (view->include & INCLUDE_TOKENS) {
        writer_begin_array(out, "source_tokens");
        for (size_t j = 0; j < sentence->length; j++)
            writer_string(out, NULL, sentence->tokens[j].piece);
        writer_end_array(out);
        writer_begin_array(out, "tokens");
        for (size_t i = 0; i < hypothesis->length; i++)
            writer_string(out, NULL, view->rendering.tokens[i].piece);
        if (view->rows > hypothesis->length)
            writer_string(out, NULL, "</s>");
        writer_end_array(out);
    }
    writer_number(out, "score", hypothesis->score);
    writer_number(out, "log_prob", hypothesis->log_prob);
    writer_string(out, "finish_reason", finish_reasons[hypothesis->finish]);
    if (sentence->options.strategy == &search_exact || sentence->options.approximates)
        writer_boolean(out, "optimal", hypothesis->finish != FINISH_BUDGET);

    if (view->include & INCLUDE_LOG_PROBS)
        writer_numbers(out, "log_probs", hypothesis->log_probs, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_ATTENTION)
        put_rows(view, "attention", hypothesis->attention);
    if (view->include & INCLUDE_SOFT_ALIGNMENT)
        put_rows(view, "soft_alignment", hypothesis->alignment);
    if (view->include & INCLUDE_ALIGNMENT) {
        struct span own = sentence_own(sentence);
        bool has_end = own.end < sentence->length;
        writer_begin_array(out, "alignment");
        for (size_t i = 0, j; i < hypothesis->length; i++) {
            const float *row = hypothesis->alignment[i];
            if (render_aligned(row + own.begin, own.end - own.begin, has_end ? row[own.end] : 0,
                               &j))
                put_pair(view, own.begin + j, i);
        }
        writer_end_array(out);
    }
    if (view->include & INCLUDE_WORDS)
        put_words(view);
    if (view->include & INCLUDE_QUALITY)
        put_quality(view);
    if (view->include & INCLUDE_OFFSETS)
        put_offsets(view, begin);
    if (view->include & INCLUDE_ENTROPY)
        writer_numbers(out, "entropy", hypothesis->entropies, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_TOP_K)
        put_top_k(view);
    if (view->include & INCLUDE_TIMING) {
        const struct job *job = sentence_job(sentence);
        writer_begin_object(out, "timing");
        writer_number(out, "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000);
        writer_number(out, "decode_ms", (double)(job->done_us - job->admitted_us) / 1000);
        writer_count(out, "steps", sentence->steps);
        writer_end_object(out);
    }
}

static void view_choose(struct sentence_view *view, const struct hypothesis *hypothesis) {
    view->hypothesis = hypothesis;
    view->rows = hypothesis->length + (hypothesis->ended && (view->include & INCLUDE_EOS) ? 1 : 0);
}

/* Writes the nodes of the search tree. */
static void put_tree(struct sentence_view *view) {
    static const char *const states[] = {
        [BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
    writer_begin_array(view->out, "beam");
    for (size_t id = 0; id < view->sentence->search.tree.count; id++) {
        const struct branch *b = search_branch(&view->sentence->search, id);
        writer_begin_object(view->out, NULL);
        writer_count(view->out, "id", id);
        if (b->parent == BRANCH_START)
            writer_null(view->out, "parent");
        else
            writer_count(view->out, "parent", b->parent);
        writer_count(view->out, "step", b->step);
        writer_string(view->out, "token", translator_piece(view->sentence, b->token));
        writer_number(view->out, "log_prob", (double)b->log_prob);
        writer_number(view->out, "score", (double)b->score);
        writer_string(view->out, "state", states[b->state]);
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

/* Writes sentence i of the view's text with its best hypothesis. The output keeps the white space
 * that precedes the sentence in the source. */
static void put_next(struct sentence_view *view, size_t i, const struct rendering *rendering,
                     struct api_places *at) {
    const struct text *text = view->text;
    struct span gap = render_gap(text, i);
    at->source = place_after(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = place_after(at->target, text->source + gap.begin, gap.end - gap.begin);
    view->sentence = &text->sentences[i];
    view->rendering = *rendering;
    const struct api_places *begin = view->apart ? NULL : at;
    view_choose(view, &view->sentence->hypotheses[0]);
    put_hypothesis(view, begin);
    if (view->request->include & INCLUDE_HEADS) {
        writer_begin_object(view->out, "heads");
        put_looks(view, LOOKS_ENCODER, view->sentence->length, "encoder");
        put_looks(view, LOOKS_DECODER, view->rows, "decoder");
        put_looks(view, LOOKS_CROSS, view->rows, "cross");
        writer_end_object(view->out);
    }
    if (view->request->include & INCLUDE_BEAM)
        put_tree(view);
    if (view->request->search.n_best >
        1) { /* the best hypothesis comes first and repeats the sentence object */
        writer_begin_array(view->out, "hypotheses");
        for (size_t h = 0; h < view->sentence->count && !is_over(view); h++) {
            struct arena_mark mark = arena_mark(view->arena);
            view_choose(view, &view->sentence->hypotheses[h]);
            writer_begin_object(view->out, NULL);
            if (translator_render(view->sentence, view->hypothesis, view->arena, &view->rendering,
                                  NULL) == 0)
                put_hypothesis(view, h == 0 ? begin : NULL);
            else
                writer_fail(view->out);
            writer_end_object(view->out);
            arena_release(view->arena, mark);
        }
        writer_end_array(view->out);
    }
    at->source = place_after(at->source, sentence_text(view->sentence),
                             sentence_text_length(view->sentence));
    at->target = place_after(at->target, rendering->text, strlen(rendering->text));
}

void api_put_sentence(struct request *request, const struct text *text, size_t i,
                      struct api_places *at, struct writer *out) {
    struct arena arena;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {
        .request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    const struct sentence *sentence = &text->sentences[i];
    struct rendering rendering;
    if (translator_render(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
        put_next(&view, i, &rendering, at);
    else
        writer_fail(out);
    arena_done(&arena);
}

/* ---- a text ---- */

void api_put_pivot(const struct text *text, struct writer *out) {
    writer_begin_array(out, "pivot");
    writer_string(out, NULL, text->model->info.name);
    writer_string(out, NULL, text->second->info.name);
    writer_end_array(out);
}

void api_render_text(struct request *request, const struct text *text, const struct bytes *source,
                     const struct bytes *markup, struct writer *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {.request = request,
                                 .include = request->include,
                                 .text = text,
                                 .arena = &arena,
                                 .out = out,
                                 .apart = markup != NULL};
    if (render_text(text, &arena, &rendered, NULL) == 0) {
        writer_begin_object(out, NULL);
        writer_string_of(out, "text", markup ? markup->start : rendered.text,
                         markup ? markup->length : rendered.length);
        const struct text *first = request->texts;
        if (text->detected) {
            writer_begin_object(out, "detected");
            writer_string(out, "language", text->detected);
            writer_number(out, "confidence", text->confidence);
            writer_end_object(out);
        }
        if (text->detected &&
            (text->model != first->model ||
             text->second != first->second)) { /* the reply names those of first */
            const struct served_model *last = text->second ? text->second : text->model;
            writer_strings(out, "model", last->info.name, "source",
                           text->language ? text->language : text->model->info.source, NULL);
            if (text->second)
                api_put_pivot(text, out);
        }
        if (text->pivot)
            writer_string_of(out, "pivot_text", text->pivot->text, text->pivot->length);
        struct api_places at = {0};
        writer_begin_array(out, "sentences");
        for (size_t i = 0; i < text->count && !is_over(&view); i++) {
            writer_begin_object(out, NULL);
            put_next(&view, i, &rendered.sentences[i], &at);
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
    struct sentence *sentences = arena_alloc(arena, count, sizeof *sentences);
    if (!joined || !sentences)
        return -1;
    *out = item->count > 0 ? item->texts[0] : (struct text){.model = item->chosen.model};
    out->pivot = NULL;
    out->source = item->count > 0 ? joined : item->source;
    out->source_length = item->count > 0 ? bytes : item->length;
    out->sentences = sentences;
    out->count = 0;
    for (size_t i = 0; i < item->count; i++) {
        const struct text *text = &item->texts[i];
        size_t begin = (size_t)(at - joined);
        for (size_t j = 0; j < text->count; j++) {
            struct sentence *sentence = &sentences[out->count++];
            *sentence = text->sentences[j]; /* the shared members are only read */
            sentence->text = joined;
            sentence->source.begin += begin;
            sentence->source.end += begin;
        }
        at = mempcpy(mempcpy(at, text->source, text->source_length), "\n", 1);
    }
    *at = '\0';
    return 0;
}

void api_render_item(struct request *request, const struct plan_item *item, struct writer *out) {
    const struct plan *plan = request->plan;
    struct arena arena;
    struct plan_answer answer;
    struct text text;
    if (!plan->markup && !item->marked) {
        api_render_text(request, &item->texts[0], NULL, NULL, out);
        return;
    }
    arena_init(&arena, 1 << 14);
    if (plan_write(plan, item, &arena, &answer) == 0 && join(item, &arena, &text) == 0)
        api_render_text(request, &text,
                        plan->markup ? NULL : &(struct bytes){item->source, item->length},
                        &(struct bytes){answer.text, answer.length}, out);
    else
        writer_fail(out);
    arena_done(&arena);
}

/* ---- the length of an answer ---- */

enum {
    LARGE_BYTES = 64 * 1024
}; /* an answer of this size takes one or two milliseconds to write */

/* These constants approximate the bytes of the parts of an answer. A weight needs WEIGHT_BYTES in
 * addition to its digits. */
enum {
    OBJECT_BYTES = 160,
    TOKEN_BYTES = 8,
    NUMBER_BYTES = 12,
    WEIGHT_BYTES = 6,
    OFFSET_BYTES = 64,
    STEP_BYTES = 200,
    BRANCH_BYTES = 100
};

/* Returns the length of hypothesis i or, before it exists, the source's length as an estimate. */
static size_t target_length(const struct sentence *sentence, size_t i) {
    return sentence->hypotheses && i < sentence->count ? sentence->hypotheses[i].length
                                                       : sentence->length;
}

static size_t count_of(unsigned bits) {
    return (size_t)__builtin_popcount(bits);
}

static size_t hypothesis_bytes(const struct request *request, const struct sentence *sentence,
                               size_t i) {
    size_t source = sentence->length, target = target_length(sentence, i), both = source + target;
    unsigned include = request->include;
    size_t matrices = count_of(include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) +
                      (include & INCLUDE_WORDS ? 2 : 0),
           lists = count_of(include & (INCLUDE_LOG_PROBS | INCLUDE_ENTROPY | INCLUDE_ALIGNMENT |
                                       INCLUDE_QUALITY));
    return OBJECT_BYTES + sentence_text_length(sentence) + both * TOKEN_BYTES +
           matrices * source * target * ((size_t)request->digits + WEIGHT_BYTES) +
           lists * target * NUMBER_BYTES + (include & INCLUDE_OFFSETS ? both * OFFSET_BYTES : 0) +
           (include & INCLUDE_TOP_K ? target * STEP_BYTES : 0);
}

bool api_is_large(const struct request *request) {
    const struct plan *plan = request->plan;
    size_t bytes = 0;
    for (size_t i = 0; plan && i < plan->count; i++)
        bytes += plan->items[i].length;
    for (size_t i = 0; i < request->job_count && bytes < LARGE_BYTES; i++) {
        const struct job *job = &request->jobs[i];
        if (request->lean) { /* assume that the target is as long as the source */
            bytes += OBJECT_BYTES + job->source.end - job->source.begin +
                     2 * (size_t)job->tokens * TOKEN_BYTES;
            continue;
        }
        const struct sentence *sentence = job->sentence;
        size_t count = sentence->hypotheses ? sentence->count : request->search.n_best;
        bytes += hypothesis_bytes(request, sentence, 0);
        for (size_t h = 0; count > 1 && h < count; h++)
            bytes += hypothesis_bytes(request, sentence, h);
        if (request->include & INCLUDE_HEADS)
            bytes += sentence_looks(sentence, target_length(sentence, 0) + 1) *
                     ((size_t)request->digits + WEIGHT_BYTES);
        size_t branches = sentence->hypotheses ? sentence->search.tree.count
                                               : sentence->length * request->search.beam_size;
        bytes += request->include & INCLUDE_BEAM ? branches * BRANCH_BYTES : 0;
    }
    return bytes >= LARGE_BYTES;
}

static size_t least_steps(const struct sentence *sentence, const struct hypothesis *hypothesis) {
    return hypothesis ? hypothesis->length : sentence->options.min_length;
}

/* Returns the least bytes of an object with this hypothesis: of its keys, and of what is known of
 * its values. NULL: it is not known yet. */
static size_t least_of_object(const struct request *request, const struct sentence *sentence,
                              const struct hypothesis *hypothesis) {
    static const char object[] =
        "{\"source_text\":\"\",\"text\":\"\",\"score\":0,\"log_prob\":0,\"finish_reason\":\"eos\"}",
                      offset[] = "{\"start\":0,\"end\":0,\"start_utf16\":0,\"end_utf16\":0},",
                      token[] = "{\"token\":\"\",\"log_prob\":0},";
    unsigned include = request->include;
    size_t bytes = sizeof object - 1 + sentence_text_length(sentence),
           steps = least_steps(sentence, hypothesis);
    for (size_t j = 0; include & INCLUDE_TOKENS && j < sentence->length; j++)
        bytes += strlen(sentence->tokens[j].piece) + strlen("\"\",");
    for (size_t i = 0; include & INCLUDE_TOP_K && hypothesis && i < steps; i++)
        bytes += hypothesis->alternatives[i]->count * (sizeof token - 1);
    if (include & INCLUDE_OFFSETS)
        bytes += (sentence->length + steps) * (sizeof offset - 1);
    return bytes + count_of(include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) * steps *
                       sentence->length * strlen("0,");
}

/* Sampling yields as many hypotheses as the request asks for; a beam yields at least one. The
 * sentence's object repeats the best one, and has the heads and the search tree. */
static size_t least_of_sentence(const struct request *request, const struct sentence *sentence) {
    static const char branch[] = "{\"id\":0,\"parent\":0,\"step\":0,\"token\":\"\",\"log_prob\":0,"
                                 "\"score\":0,\"state\":\"kept\"},";
    const struct hypothesis *all = sentence->hypotheses;
    bool sample = request->search.strategy == &search_sample;
    size_t bytes = least_of_object(request, sentence, all), count = all ? sentence->count
                                                                    : sample
                                                                        ? request->search.n_best
                                                                        : 1;
    for (size_t h = 0; request->search.n_best > 1 && h < count; h++)
        bytes += least_of_object(request, sentence, all ? &all[h] : NULL);
    if (all && request->include & INCLUDE_BEAM)
        bytes += sentence->search.tree.count * (sizeof branch - 1);
    if (request->include & INCLUDE_HEADS)
        bytes += sentence_looks(sentence, least_steps(sentence, all)) * strlen("0,");
    return bytes;
}

size_t api_least_bytes(const struct request *request) {
    size_t bytes = 0;
    for (size_t i = 0; i < request->job_count && !request->plan; i++)
        bytes += least_of_sentence(request, request->jobs[i].sentence);
    return bytes;
}

static size_t least_of_job(const struct job *job) {
    return least_of_sentence(job->request, job->sentence);
}

void api_bound_answer(const struct service *service, struct request *request) {
    bool own = !request->plan && !request->lean;
    for (size_t i = 0; i < request->text_count; i++)
        own = own && !request->texts[i].second;
    request->least_bytes = own ? least_of_job : NULL;
    request->most_bytes = service->options.max_reply_bytes;
}

struct writer api_begin_answer(const struct service *service) {
    return (struct writer){.most = service->options.max_reply_bytes};
}

void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w) {
    bool too_long = w->too_long;
    api_reply_json(reply, w);
    if (too_long)
        api_fail_length(service, 0, reply);
}
