/* The sentence objects of API.md. */
#include "server/api/api_json.h"
#include "server/base/utf8.h"
#include <stdint.h>
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* One hypothesis of one sentence, about to be written. */
struct picture {
    struct request *request;
    unsigned include;
    const struct text *text;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    struct rendering rendering;
    size_t rows;         /* target tokens shown: with `eos`, the final </s> too */
    struct arena *arena; /* scratch */
    struct writer *out;
};

static void put_pair(struct picture *picture, size_t source, size_t target) {
    writer_begin_array(picture->out, NULL);
    writer_count(picture->out, NULL, source);
    writer_count(picture->out, NULL, target);
    writer_end_array(picture->out);
}

static void put_tokens(struct picture *picture) {
    const struct sentence *sentence = picture->sentence;
    writer_begin_array(picture->out, "source_tokens");
    for (size_t j = 0; j < sentence->length; j++)
        writer_string(picture->out, NULL, sentence->tokens[j].piece);
    writer_end_array(picture->out);
    writer_begin_array(picture->out, "tokens");
    for (size_t i = 0; i < picture->hypothesis->length; i++)
        writer_string(picture->out, NULL, picture->rendering.tokens[i].piece);
    if (picture->rows > picture->hypothesis->length)
        writer_string(picture->out, NULL, "</s>");
    writer_end_array(picture->out);
}

static void put_attention(struct picture *picture) {
    writer_begin_array(picture->out, "attention");
    for (size_t i = 0; i < picture->rows; i++)
        writer_numbers(picture->out, NULL, picture->hypothesis->attention[i], picture->sentence->length);
    writer_end_array(picture->out);
}

/* </s>, the only token without bytes of its own at the end of the source, is aligned with nothing. */
static bool is_source_end(const struct sentence *sentence, size_t j) {
    return j + 1 == sentence->length && translator_info(sentence->translator).source_end;
}

static void put_alignment(struct picture *picture) {
    writer_begin_array(picture->out, "alignment");
    for (size_t i = 0; i < picture->hypothesis->length; i++) {
        size_t j = render_argmax(picture->hypothesis->attention[i], picture->sentence->length);
        if (!is_source_end(picture->sentence, j))
            put_pair(picture, j, i);
    }
    writer_end_array(picture->out);
}

static void put_word_texts(struct picture *picture, const char *key, const char *text, const struct span *words, size_t count) {
    writer_begin_array(picture->out, key);
    for (size_t i = 0; i < count; i++)
        writer_string_of(picture->out, NULL, text + words[i].begin, words[i].end - words[i].begin);
    writer_end_array(picture->out);
}

static void put_merged(struct picture *picture, const struct word_attention *merged) {
    put_word_texts(picture, "source", sentence_text(picture->sentence), merged->source, merged->source_count);
    put_word_texts(picture, "target", picture->rendering.text, merged->target, merged->target_count);
    writer_begin_array(picture->out, "attention");
    for (size_t i = 0; i < merged->target_count; i++)
        writer_numbers(picture->out, NULL, merged->weights + i * merged->source_count, merged->source_count);
    writer_end_array(picture->out);
    writer_begin_array(picture->out, "alignment");
    for (size_t i = 0, j; i < merged->target_count; i++)
        if (render_aligned(merged, i, &j))
            put_pair(picture, j, i);
    writer_end_array(picture->out);
}

static void put_words(struct picture *picture) {
    struct arena_mark mark = arena_mark(picture->arena);
    struct word_attention merged;
    writer_begin_object(picture->out, "words");
    if (render_words(picture->sentence, picture->hypothesis, &picture->rendering, picture->arena, &merged, NULL) == 0)
        put_merged(picture, &merged);
    else
        writer_fail(picture->out);
    writer_end_object(picture->out);
    arena_release(picture->arena, mark);
}

/* In bytes of UTF-8, and in units of UTF-16. */
static void put_place(struct picture *picture, const char *key, struct api_place begin, struct api_place end) {
    writer_begin_object(picture->out, key);
    writer_count(picture->out, "start", begin.bytes);
    writer_count(picture->out, "end", end.bytes);
    writer_count(picture->out, "start_utf16", begin.units);
    writer_count(picture->out, "end_utf16", end.units);
    writer_end_object(picture->out);
}

static void put_offset(struct picture *picture, struct utf16_cursor *cursor, size_t begin, size_t end) {
    struct api_place from = {begin, utf16_position(cursor, begin)}, to = {end, utf16_position(cursor, end)};
    put_place(picture, NULL, from, to);
}

static void put_token_offsets(struct picture *picture, const char *key, const char *text, const struct token *tokens, size_t count,
                              bool end) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(picture->out, key);
    for (size_t i = 0; i < count; i++)
        put_offset(picture, &cursor, tokens[i].begin, tokens[i].end);
    if (end)
        put_offset(picture, &cursor, strlen(text), strlen(text));
    writer_end_array(picture->out);
}

/* The bytes and UTF-16 units of a string that is `bytes` behind. */
static struct api_place behind(struct api_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct api_place){place.bytes + bytes, place.units + utf16_position(&cursor, bytes)};
}

/* Of the best hypothesis: the others are not part of the output. */
static void put_span(struct picture *picture, const struct api_places *begin) {
    const char *source = sentence_text(picture->sentence), *text = picture->rendering.text;
    writer_begin_object(picture->out, "span");
    put_place(picture, "source", begin->source, behind(begin->source, source, sentence_text_length(picture->sentence)));
    put_place(picture, "target", begin->target, behind(begin->target, text, strlen(text)));
    writer_end_object(picture->out);
}

static void put_offsets(struct picture *picture, const struct api_places *begin) {
    const struct sentence *sentence = picture->sentence;
    size_t length = picture->hypothesis->length;
    writer_begin_object(picture->out, "offsets");
    put_token_offsets(picture, "source", sentence_text(sentence), sentence->tokens, sentence->length, false);
    put_token_offsets(picture, "target", picture->rendering.text, picture->rendering.tokens, length, picture->rows > length);
    if (begin)
        put_span(picture, begin);
    writer_end_object(picture->out);
}

static void put_alternatives(struct picture *picture, const struct alternatives *step) {
    writer_begin_array(picture->out, NULL);
    for (size_t i = 0; i < step->count; i++) {
        writer_begin_object(picture->out, NULL);
        writer_string(picture->out, "token", translator_piece(picture->sentence, step->tokens[i]));
        writer_number(picture->out, "log_prob", (double)step->log_probs[i]);
        writer_end_object(picture->out);
    }
    writer_end_array(picture->out);
}

static void put_top_k(struct picture *picture) {
    writer_begin_array(picture->out, "top_k");
    for (size_t i = 0; i < picture->rows; i++)
        put_alternatives(picture, picture->hypothesis->alternatives[i]);
    writer_end_array(picture->out);
}

static void put_timing(struct picture *picture) {
    const struct job *job = sentence_job(picture->sentence);
    writer_begin_object(picture->out, "timing");
    writer_number(picture->out, "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000);
    writer_number(picture->out, "decode_ms", (double)(job->done_us - job->admitted_us) / 1000);
    writer_count(picture->out, "steps", picture->sentence->steps);
    writer_end_object(picture->out);
}

static void put_included(struct picture *picture, const struct api_places *begin) {
    const struct hypothesis *hypothesis = picture->hypothesis;
    if (picture->include & INCLUDE_LOG_PROBS)
        writer_numbers(picture->out, "log_probs", hypothesis->log_probs, picture->rows);
    if (picture->include & INCLUDE_ATTENTION)
        put_attention(picture);
    if (picture->include & INCLUDE_ALIGNMENT)
        put_alignment(picture);
    if (picture->include & INCLUDE_WORDS)
        put_words(picture);
    if (picture->include & INCLUDE_OFFSETS)
        put_offsets(picture, begin);
    if (picture->include & INCLUDE_ENTROPY)
        writer_numbers(picture->out, "entropy", hypothesis->entropies, picture->rows);
    if (picture->include & INCLUDE_TOP_K)
        put_top_k(picture);
    if (picture->include & INCLUDE_TIMING)
        put_timing(picture);
}

/* The members of one hypothesis. */
static void put_hypothesis(struct picture *picture, const struct api_places *begin) {
    static const char *const reasons[] = {[FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};
    const struct sentence *sentence = picture->sentence;
    writer_string_of(picture->out, "source_text", sentence_text(sentence), sentence_text_length(sentence));
    writer_string(picture->out, "text", picture->rendering.text);
    if (picture->include & INCLUDE_TOKENS)
        put_tokens(picture);
    writer_number(picture->out, "score", picture->hypothesis->score);
    writer_number(picture->out, "log_prob", picture->hypothesis->log_prob);
    writer_string(picture->out, "finish_reason", reasons[picture->hypothesis->finish]);
    if (sentence->options.strategy == &search_exact)
        writer_boolean(picture->out, "optimal", picture->hypothesis->finish != FINISH_BUDGET);
    put_included(picture, begin);
}

static void choose(struct picture *picture, const struct hypothesis *hypothesis) {
    picture->hypothesis = hypothesis;
    picture->rows = hypothesis->length + (hypothesis->ended && (picture->include & INCLUDE_EOS) ? 1 : 0);
}

static void put_branch(struct picture *picture, size_t id) {
    static const char *const states[] = {[BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
    const struct branch *b = &picture->sentence->search.tree.branches[id];
    writer_begin_object(picture->out, NULL);
    writer_count(picture->out, "id", id);
    if (b->parent == SIZE_MAX)
        writer_null(picture->out, "parent");
    else
        writer_count(picture->out, "parent", b->parent);
    writer_count(picture->out, "step", b->step);
    writer_string(picture->out, "token", translator_piece(picture->sentence, b->token));
    writer_number(picture->out, "log_prob", (double)b->log_prob);
    writer_number(picture->out, "score", (double)(float)b->score); /* as exact as log_prob */
    writer_string(picture->out, "state", states[b->state]);
    writer_end_object(picture->out);
}

static void put_tree(struct picture *picture) {
    writer_begin_array(picture->out, "beam");
    for (size_t id = 0; id < picture->sentence->search.tree.count; id++)
        put_branch(picture, id);
    writer_end_array(picture->out);
}

/* True: nobody needs the rest. */
static bool is_over(const struct picture *picture) {
    return writer_ended(picture->out) || request_is_over(picture->request);
}

/* What one of them needs to be written goes when it is. */
static void put_ranked(struct picture *picture, size_t i, const struct api_places *begin) {
    struct arena_mark mark = arena_mark(picture->arena);
    choose(picture, &picture->sentence->hypotheses[i]);
    writer_begin_object(picture->out, NULL);
    if (translator_render(picture->sentence, picture->hypothesis, picture->arena, &picture->rendering, NULL) == 0)
        put_hypothesis(picture, i == 0 ? begin : NULL);
    else
        writer_fail(picture->out);
    writer_end_object(picture->out);
    arena_release(picture->arena, mark);
}

/* All hypotheses, best first; the best is the sentence object itself once more. */
static void put_hypotheses(struct picture *picture, const struct api_places *begin) {
    writer_begin_array(picture->out, "hypotheses");
    for (size_t i = 0; i < picture->sentence->count && !is_over(picture); i++)
        put_ranked(picture, i, begin);
    writer_end_array(picture->out);
}

static void put_sentence(struct picture *picture, const struct api_places *begin) {
    choose(picture, &picture->sentence->hypotheses[0]);
    put_hypothesis(picture, begin);
    if (picture->request->include & INCLUDE_BEAM)
        put_tree(picture);
    if (picture->request->search.n_best > 1)
        put_hypotheses(picture, begin);
}

/* What stands before sentence i comes between the sentences of the output, too. */
static void skip_gap(const struct text *text, size_t i, struct api_places *at) {
    struct span gap = render_gap(text, i);
    at->source = behind(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = behind(at->target, text->source + gap.begin, gap.end - gap.begin);
}

/* Sentence i of the picture's text, of which this is the best hypothesis. */
static void put_next(struct picture *picture, size_t i, const struct rendering *rendering, struct api_places *at) {
    picture->sentence = &picture->text->sentences[i];
    picture->rendering = *rendering;
    skip_gap(picture->text, i, at);
    put_sentence(picture, at);
    at->source = behind(at->source, sentence_text(picture->sentence), sentence_text_length(picture->sentence));
    at->target = behind(at->target, rendering->text, strlen(rendering->text));
}

void api_render_sentence(struct request *request, const struct text *text, size_t i, struct api_places *at, struct writer *out) {
    struct arena arena;
    arena_init(&arena, SCRATCH_BYTES);
    struct picture picture = {.request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    const struct sentence *sentence = &text->sentences[i];
    struct rendering rendering;
    if (translator_render(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
        put_next(&picture, i, &rendering, at);
    else
        writer_fail(out);
    arena_done(&arena);
}

static void put_sentences(struct picture *picture, const struct rendered *rendered) {
    struct api_places at = {0};
    writer_begin_array(picture->out, "sentences");
    for (size_t i = 0; i < picture->text->count && !is_over(picture); i++) {
        writer_begin_object(picture->out, NULL);
        put_next(picture, i, &rendered->sentences[i], &at);
        writer_end_object(picture->out);
    }
    writer_end_array(picture->out);
}

void api_render_text(struct request *request, const struct text *text, struct writer *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct picture picture = {.request = request, .include = request->include, .text = text, .arena = &arena, .out = out};
    if (render_text(text, &arena, &rendered, NULL) == 0) {
        writer_begin_object(out, NULL);
        writer_string_of(out, "text", rendered.text, rendered.length);
        put_sentences(&picture, &rendered);
        writer_end_object(out);
    } else {
        writer_fail(out);
    }
    arena_done(&arena);
}
