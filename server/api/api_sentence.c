/* The sentence objects of API.md. */
#include "model/base/utf8.h"
#include "server/api/api_json.h"
#include "server/base/writer.h"
#include "server/markup/build.h"
#include <stdint.h>
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* One hypothesis of one sentence, about to be written. */
struct sentence_view {
    struct request *request;
    unsigned include;
    const struct text *text;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    struct rendering rendering;
    size_t rows;         /* target tokens shown: with `eos`, the final </s> too */
    struct arena *arena; /* scratch */
    struct writer *out;
    bool apart; /* sentences have no place in the whole text */
};

static void put_pair(struct sentence_view *view, size_t source, size_t target) {
    writer_begin_array(view->out, NULL);
    writer_count(view->out, NULL, source);
    writer_count(view->out, NULL, target);
    writer_end_array(view->out);
}

static void put_tokens(struct sentence_view *view) {
    const struct sentence *sentence = view->sentence;
    writer_begin_array(view->out, "source_tokens");
    for (size_t j = 0; j < sentence->length; j++)
        writer_string(view->out, NULL, sentence->tokens[j].piece);
    writer_end_array(view->out);
    writer_begin_array(view->out, "tokens");
    for (size_t i = 0; i < view->hypothesis->length; i++)
        writer_string(view->out, NULL, view->rendering.tokens[i].piece);
    if (view->rows > view->hypothesis->length)
        writer_string(view->out, NULL, "</s>");
    writer_end_array(view->out);
}

/* An array of attention or alignment weights. */
static void put_weights(struct sentence_view *view, const float *weights, size_t count) {
    writer_numbers(view->out, NULL, weights, count, view->request->digits);
}

/* rows: of attention or of the alignment. */
static void put_rows(struct sentence_view *view, const char *key, const float *const *rows) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < view->rows; i++)
        put_weights(view, rows[i], view->sentence->length);
    writer_end_array(view->out);
}

static void put_alignment(struct sentence_view *view) {
    struct span own = sentence_own(view->sentence);
    bool has_end = own.end < view->sentence->length;
    writer_begin_array(view->out, "alignment");
    for (size_t i = 0, j; i < view->hypothesis->length; i++) {
        const float *row = view->hypothesis->alignment[i];
        if (render_aligned(row + own.begin, own.end - own.begin, has_end ? row[own.end] : 0, &j))
            put_pair(view, own.begin + j, i);
    }
    writer_end_array(view->out);
}

static void put_word_texts(struct sentence_view *view, const char *key, const char *text, const struct span *words, size_t count) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < count; i++)
        writer_string_of(view->out, NULL, text + words[i].begin, words[i].end - words[i].begin);
    writer_end_array(view->out);
}

/* In bytes of UTF-8, and in units of UTF-16. */
static void put_place(struct sentence_view *view, const char *key, struct api_place begin, struct api_place end) {
    writer_begin_object(view->out, key);
    writer_count(view->out, "start", begin.bytes);
    writer_count(view->out, "end", end.bytes);
    writer_count(view->out, "start_utf16", begin.units);
    writer_count(view->out, "end_utf16", end.units);
    writer_end_object(view->out);
}

static void put_offset(struct sentence_view *view, struct utf16_cursor *cursor, size_t begin, size_t end) {
    struct api_place from = {begin, utf16_position(cursor, begin)}, to = {end, utf16_position(cursor, end)};
    put_place(view, NULL, from, to);
}

static void put_matrix(struct sentence_view *view, const char *key, const struct word_matrix *matrix) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < matrix->target_count; i++)
        put_weights(view, matrix->weights + i * matrix->source_count, matrix->source_count);
    writer_end_array(view->out);
}

static void put_word_offsets(struct sentence_view *view, const char *key, const char *text, const struct word_side *side) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < side->count; i++)
        put_offset(view, &cursor, side->words[i].begin, side->words[i].end);
    writer_end_array(view->out);
}

static void put_merged(struct sentence_view *view, const struct word_sides *sides, const struct word_matrix *attention,
                       const struct word_matrix *alignment) {
    const char *source = sentence_text(view->sentence), *target = view->rendering.text;
    put_word_texts(view, "source", source, sides->source.words, sides->source.count);
    put_word_texts(view, "target", target, sides->target.words, sides->target.count);
    put_matrix(view, "attention", attention);
    put_matrix(view, "soft_alignment", alignment);
    writer_begin_array(view->out, "alignment");
    for (size_t i = 0, j; i < alignment->target_count; i++)
        if (render_aligned(alignment->weights + i * alignment->source_count, alignment->source_count, alignment->ends[i], &j))
            put_pair(view, j, i);
    writer_end_array(view->out);
    writer_begin_object(view->out, "offsets");
    put_word_offsets(view, "source", source, &sides->source);
    put_word_offsets(view, "target", target, &sides->target);
    writer_end_object(view->out);
}

static void put_words(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    const struct hypothesis *hypothesis = view->hypothesis;
    struct word_sides sides;
    struct word_matrix attention, alignment;
    writer_begin_object(view->out, "words");
    if (render_words(view->sentence, WORDS_UNICODE, hypothesis, &view->rendering, view->arena, &sides, NULL) == 0 &&
        render_merge(&sides, hypothesis->attention, view->arena, &attention, NULL) == 0 &&
        render_merge(&sides, hypothesis->alignment, view->arena, &alignment, NULL) == 0)
        put_merged(view, &sides, &attention, &alignment);
    else
        writer_fail(view->out);
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

static void put_quality(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    struct word_sides sides;
    struct quality quality;
    writer_begin_object(view->out, "quality");
    if (render_words(view->sentence, WORDS_UNICODE, view->hypothesis, &view->rendering, view->arena, &sides, NULL) == 0 &&
        translator_quality(view->sentence, view->hypothesis, sides.target.tokens, sides.target.count, view->arena, &quality,
                           NULL) == 0) {
        writer_number(view->out, "sentence", (double)quality.sentence);
        writer_numbers(view->out, "words", quality.words, quality.count, DECIMAL_DIGITS);
    } else {
        writer_fail(view->out);
    }
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

static void put_token_offsets(struct sentence_view *view, const char *key, const char *text, const struct token *tokens,
                              size_t count, bool end) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < count; i++)
        put_offset(view, &cursor, tokens[i].begin, tokens[i].end);
    if (end)
        put_offset(view, &cursor, strlen(text), strlen(text));
    writer_end_array(view->out);
}

/* The bytes and UTF-16 units of a string that is `bytes` behind. */
static struct api_place behind(struct api_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct api_place){place.bytes + bytes, place.units + utf16_position(&cursor, bytes)};
}

/* Of the best hypothesis: the others are not part of the output. */
static void put_span(struct sentence_view *view, const struct api_places *begin) {
    const char *source = sentence_text(view->sentence), *text = view->rendering.text;
    writer_begin_object(view->out, "span");
    put_place(view, "source", begin->source, behind(begin->source, source, sentence_text_length(view->sentence)));
    put_place(view, "target", begin->target, behind(begin->target, text, strlen(text)));
    writer_end_object(view->out);
}

static void put_offsets(struct sentence_view *view, const struct api_places *begin) {
    const struct sentence *sentence = view->sentence;
    size_t length = view->hypothesis->length;
    writer_begin_object(view->out, "offsets");
    put_token_offsets(view, "source", sentence_text(sentence), sentence->tokens, sentence->length, false);
    put_token_offsets(view, "target", view->rendering.text, view->rendering.tokens, length, view->rows > length);
    if (begin)
        put_span(view, begin);
    writer_end_object(view->out);
}

static void put_run(struct sentence_view *view, const struct opaque_run *run, const struct token *written) {
    static const struct api_place start = {0, 0};
    const char *source = sentence_text(view->sentence), *target = view->rendering.text;
    writer_begin_object(view->out, NULL);
    put_place(view, "source", behind(start, source, run->begin), behind(start, source, run->end));
    put_place(view, "target", behind(start, target, written->begin), behind(start, target, written->end));
    writer_string(view->out, "kind", opaque_name(run->kind));
    writer_end_object(view->out);
}

/* The runs that came through as they are. */
static void put_opaque(struct sentence_view *view) {
    writer_begin_array(view->out, "opaque");
    for (size_t i = 0; i < view->hypothesis->length; i++) {
        const struct opaque_run *run = glossary_run(view->sentence, view->hypothesis->tokens[i]);
        if (run)
            put_run(view, run, &view->rendering.tokens[i]);
    }
    writer_end_array(view->out);
}

static void put_alternatives(struct sentence_view *view, const struct alternatives *step) {
    writer_begin_array(view->out, NULL);
    for (size_t i = 0; i < step->count; i++) {
        writer_begin_object(view->out, NULL);
        writer_string(view->out, "token", translator_piece(view->sentence, step->tokens[i]));
        writer_number(view->out, "log_prob", (double)step->log_probs[i]);
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

static void put_top_k(struct sentence_view *view) {
    writer_begin_array(view->out, "top_k");
    for (size_t i = 0; i < view->rows; i++)
        put_alternatives(view, view->hypothesis->alternatives[i]);
    writer_end_array(view->out);
}

static void put_timing(struct sentence_view *view) {
    const struct job *job = sentence_job(view->sentence);
    writer_begin_object(view->out, "timing");
    writer_number(view->out, "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000);
    writer_number(view->out, "decode_ms", (double)(job->done_us - job->admitted_us) / 1000);
    writer_count(view->out, "steps", view->sentence->steps);
    writer_end_object(view->out);
}

/* True: nobody needs the rest. */
static bool is_over(const struct sentence_view *view) {
    return writer_ended(view->out) || request_is_over(view->request);
}

/* [row][column] of one head. All rows are as long as the last: a step sees nothing of what comes after it. */
static void put_head(struct sentence_view *view, enum looks_part part, size_t layer, size_t head, size_t rows) {
    float row[REQUEST_HEADS_TOKENS + 1];
    writer_begin_array(view->out, NULL);
    for (size_t i = 0, count; i < rows; i++) {
        const float *seen = looks_row(view->sentence->looks, part, layer, head, i, &count);
        size_t columns = part == LOOKS_DECODER ? rows : count;
        memset(row, 0, sizeof row);
        memcpy(row, seen, count * sizeof *row);
        put_weights(view, row, columns);
    }
    writer_end_array(view->out);
}

static void put_looks(struct sentence_view *view, enum looks_part part, size_t rows, const char *key) {
    const struct look_set *set = &view->sentence->looks->parts[part];
    if (set->layers == 0)
        return;
    writer_begin_array(view->out, key);
    for (size_t layer = 0; layer < set->layers && !is_over(view); layer++) {
        writer_begin_array(view->out, NULL);
        for (size_t head = 0; head < set->heads; head++)
            put_head(view, part, layer, head, rows);
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

/* Of the best hypothesis. */
static void put_heads(struct sentence_view *view) {
    writer_begin_object(view->out, "heads");
    put_looks(view, LOOKS_ENCODER, view->sentence->length, "encoder");
    put_looks(view, LOOKS_DECODER, view->rows, "decoder");
    put_looks(view, LOOKS_CROSS, view->rows, "cross");
    writer_end_object(view->out);
}

static void put_included(struct sentence_view *view, const struct api_places *begin) {
    const struct hypothesis *hypothesis = view->hypothesis;
    if (view->include & INCLUDE_LOG_PROBS)
        writer_numbers(view->out, "log_probs", hypothesis->log_probs, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_ATTENTION)
        put_rows(view, "attention", hypothesis->attention);
    if (view->include & INCLUDE_SOFT_ALIGNMENT)
        put_rows(view, "soft_alignment", hypothesis->alignment);
    if (view->include & INCLUDE_ALIGNMENT)
        put_alignment(view);
    if (view->include & INCLUDE_WORDS)
        put_words(view);
    if (view->include & INCLUDE_QUALITY)
        put_quality(view);
    if (view->include & INCLUDE_OFFSETS)
        put_offsets(view, begin);
    if (view->include & INCLUDE_OFFSETS)
        put_opaque(view);
    if (view->include & INCLUDE_ENTROPY)
        writer_numbers(view->out, "entropy", hypothesis->entropies, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_TOP_K)
        put_top_k(view);
    if (view->include & INCLUDE_TIMING)
        put_timing(view);
}

/* The members of one hypothesis. */
static void put_hypothesis(struct sentence_view *view, const struct api_places *begin) {
    static const char *const reasons[] = {[FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};
    const struct sentence *sentence = view->sentence;
    writer_string_of(view->out, "source_text", sentence_text(sentence), sentence_text_length(sentence));
    writer_string(view->out, "text", view->rendering.text);
    if (view->include & INCLUDE_TOKENS)
        put_tokens(view);
    writer_number(view->out, "score", view->hypothesis->score);
    writer_number(view->out, "log_prob", view->hypothesis->log_prob);
    writer_string(view->out, "finish_reason", reasons[view->hypothesis->finish]);
    if (sentence->options.strategy == &search_exact || sentence->options.approximates)
        writer_boolean(view->out, "optimal", view->hypothesis->finish != FINISH_BUDGET);
    put_included(view, begin);
}

static void view_choose(struct sentence_view *view, const struct hypothesis *hypothesis) {
    view->hypothesis = hypothesis;
    view->rows = hypothesis->length + (hypothesis->ended && (view->include & INCLUDE_EOS) ? 1 : 0);
}

static void put_branch(struct sentence_view *view, size_t id) {
    static const char *const states[] = {[BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
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

static void put_tree(struct sentence_view *view) {
    writer_begin_array(view->out, "beam");
    for (size_t id = 0; id < view->sentence->search.tree.count; id++)
        put_branch(view, id);
    writer_end_array(view->out);
}

/* What one of them needs to be written goes when it is. */
static void put_ranked(struct sentence_view *view, size_t i, const struct api_places *begin) {
    struct arena_mark mark = arena_mark(view->arena);
    view_choose(view, &view->sentence->hypotheses[i]);
    writer_begin_object(view->out, NULL);
    if (translator_render(view->sentence, view->hypothesis, view->arena, &view->rendering, NULL) == 0)
        put_hypothesis(view, i == 0 ? begin : NULL);
    else
        writer_fail(view->out);
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

/* All hypotheses, best first; the best is the sentence object itself once more. */
static void put_hypotheses(struct sentence_view *view, const struct api_places *begin) {
    writer_begin_array(view->out, "hypotheses");
    for (size_t i = 0; i < view->sentence->count && !is_over(view); i++)
        put_ranked(view, i, begin);
    writer_end_array(view->out);
}

static void put_sentence(struct sentence_view *view, const struct api_places *begin) {
    view_choose(view, &view->sentence->hypotheses[0]);
    put_hypothesis(view, begin);
    if (view->request->include & INCLUDE_HEADS)
        put_heads(view);
    if (view->request->include & INCLUDE_BEAM)
        put_tree(view);
    if (view->request->search.n_best > 1)
        put_hypotheses(view, begin);
}

/* What stands before sentence i comes between the sentences of the output, too. */
static void skip_gap(const struct text *text, size_t i, struct api_places *at) {
    struct span gap = render_gap(text, i);
    at->source = behind(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = behind(at->target, text->source + gap.begin, gap.end - gap.begin);
}

/* Sentence i of the view's text, of which this is the best hypothesis. */
static void put_next(struct sentence_view *view, size_t i, const struct rendering *rendering, struct api_places *at) {
    view->sentence = &view->text->sentences[i];
    view->rendering = *rendering;
    skip_gap(view->text, i, at);
    put_sentence(view, view->apart ? NULL : at);
    at->source = behind(at->source, sentence_text(view->sentence), sentence_text_length(view->sentence));
    at->target = behind(at->target, rendering->text, strlen(rendering->text));
}

void api_render_sentence(struct request *request, const struct text *text, size_t i, struct api_places *at, struct writer *out) {
    struct arena arena;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {.request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    const struct sentence *sentence = &text->sentences[i];
    struct rendering rendering;
    if (translator_render(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
        put_next(&view, i, &rendering, at);
    else
        writer_fail(out);
    arena_done(&arena);
}

static void put_sentences(struct sentence_view *view, const struct rendered *rendered) {
    struct api_places at = {0};
    writer_begin_array(view->out, "sentences");
    for (size_t i = 0; i < view->text->count && !is_over(view); i++) {
        writer_begin_object(view->out, NULL);
        put_next(view, i, &rendered->sentences[i], &at);
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

/* The language that was detected, and the models where they are not those that the reply names: the first text's. */
static void put_detected(const struct request *request, const struct text *text, struct writer *out) {
    const struct text *first = request->texts;
    if (!text->detected)
        return;
    writer_begin_object(out, "detected");
    writer_string(out, "language", text->detected);
    writer_number(out, "confidence", text->confidence);
    writer_end_object(out);
    if (text->model == first->model && text->second == first->second)
        return;
    const struct served_model *last = text->second ? text->second : text->model;
    writer_strings(out, "model", last->info.name, "source", text->model->info.source, NULL);
    if (!text->second)
        return;
    writer_begin_array(out, "pivot");
    writer_string(out, NULL, text->model->info.name);
    writer_string(out, NULL, text->second->info.name);
    writer_end_array(out);
}

void api_render_text(struct request *request, const struct text *text, const struct html_bytes *markup, struct writer *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {
        .request = request, .include = request->include, .text = text, .arena = &arena, .out = out, .apart = markup != NULL};
    if (render_text(text, &arena, &rendered, NULL) == 0) {
        writer_begin_object(out, NULL);
        writer_string_of(out, "text", markup ? markup->start : rendered.text, markup ? markup->length : rendered.length);
        put_detected(request, text, out);
        if (text->pivot)
            writer_string_of(out, "pivot_text", text->pivot->text, text->pivot->length);
        put_sentences(&view, &rendered);
        api_put_warnings(request, text, &arena, out);
        writer_end_object(out);
    } else {
        writer_fail(out);
    }
    arena_done(&arena);
}
