/* This module hides how two models translate a sentence as if one had read the first language and
 * written the last. */
#include "server/decode/pivot.h"
#include "server/models/catalog.h"
#include <string.h>

const struct hypothesis *pivot_written(const struct sentence *first, const struct text *text) {
    return &first->hypotheses[text->rank < first->count ? text->rank : first->count - 1];
}

/* If the first model's translation is blank, the second reads the source. */
int pivot_prepare(struct request *request, const struct text *text, struct sentence *first,
                  struct sentence **second, struct error *err) {
    const struct translator *translator = text->second_loaded->translator;
    struct arena *arena = &first->arena;
    struct rendering written;
    struct guard guard;
    struct glossary glossary; /* the request's glossary has the phrases of the first model and is
                                 shared between workers */
    struct sentence_list list = {0};
    struct search_options options = request->parameters.search;
    struct formality_wish wish = request_wish(request, text);
    wish.source = text->second_loaded->info.source;
    if (text->target) /* set before the text is read, as for one model (job.c) */
        options.strategy = &search_forced;
    glossary_init(&glossary, NULL, arena);
    int result = guard_open(&guard, request->parameters.protection, err);
    if (result == 0)
        result = rendering_make(first, pivot_written(first, text), arena, &written, err);
    for (size_t c = 0; result == 0 && c < 2 && list.count == 0; c++) {
        struct translator_text read = {.text = c == 0 ? written.text : sentence_text(first),
                                       .length = c == 0 ? strlen(written.text)
                                                        : sentence_text_length(first),
                                       .verbatim = request->parameters.verbatim,
                                       .formality = wish};
        result = request_hold(&request->parameters, translator, &guard, &read, arena, err);
        if (result == 0)
            result = sentence_prepare(translator, &read, &options, arena, &list, err);
    }
    guard_done(&guard);
    struct sentence *made = list.all;
    if (result == 0 && list.count == 0)
        result = error_set(err, ERROR_INPUT, "a sentence has no text");
    if (result == 0 && text->second_variant)
        result = sentence_choose_variant(made, text->second_variant, err);
    if (result == 0 && text->target)
        result = sentence_force(made, text->target, text->target_length, err);
    if (result == 0)
        result = glossary_constrain(made, &glossary, err);
    if (result == 0)
        *second = made;
    else if (list.count > 0)
        sentence_done(made);
    return result;
}

/* ---- one sentence from two ---- */

/* One sentence and its translations by both models. */
struct middle {
    const struct sentence *first, *second;
    const struct hypothesis *written;  /* the first model's hypothesis */
    const struct rendering *rendering; /* its text */
    struct span read, own;             /* own tokens of the first and of the second sentence */
    bool first_end, second_end;        /* they are followed by </s> */
    size_t columns; /* length of the composed rows: the source's tokens, and </s> if the second
                       reads one */
};

static size_t shared_bytes(struct span place, const struct token *token) {
    size_t begin = place.begin > token->begin ? place.begin : token->begin,
           end = place.end < token->end ? place.end : token->end;
    return end > begin ? end - begin : 0;
}

/* Adds weight times the row of the first translation's token i, including the weight of </s> if
 * both models read one. */
static void add_written(const struct middle *middle, const float *const *rows, size_t i,
                        float weight, float *out) {
    for (size_t j = 0; j < middle->columns && j < middle->read.end; j++)
        out[j] += weight * rows[i][j];
    if (middle->first_end && middle->second_end)
        out[middle->columns - 1] += weight * rows[i][middle->read.end];
}

/* Adds weight times the rows of the tokens that share bytes with token k of the second sentence. If
 * no token does, as for a blank, the token after it is used. */
static void add_read(const struct middle *middle, const float *const *rows, size_t k, float weight,
                     float *out) {
    const struct token *token = &middle->second->tokens[k], *tokens = middle->rendering->tokens;
    size_t begin = middle->second->source.begin, all = 0, before = 0,
           length = middle->written->length;
    struct span place = {begin + token->begin, begin + token->end};
    for (size_t i = 0; i < length; i++) {
        all += shared_bytes(place, &tokens[i]);
        before += tokens[i].end <= place.begin;
    }
    for (size_t i = 0; i < length && all > 0; i++) {
        size_t part = shared_bytes(place, &tokens[i]);
        if (part > 0)
            add_written(middle, rows, i, weight * (float)part / (float)all, out);
    }
    if (all == 0 && length > 0)
        add_written(middle, rows, before < length ? before : length - 1, weight, out);
}

/* Composes rows [count] of [columns]. The columns share the weight of labels, and of </s> if it has
 * no column. Returns NULL if memory is out. */
static const float *const *compose_rows(const struct middle *middle, const float *const *first,
                                        const float *const *second, size_t count,
                                        struct arena *arena) {
    size_t columns = middle->columns;
    const float **rows = arena_alloc(arena, count, sizeof(const float *));
    float *weights = arena_zalloc(arena, count * columns, sizeof *weights);
    if (!rows || !weights)
        return NULL;
    for (size_t t = 0; t < count; t++) {
        const float *row = second[t];
        float *out = weights + t * columns, sum = 0;
        for (size_t k = middle->own.begin; k < middle->own.end; k++) {
            if (row[k] > 0)
                add_read(middle, first, k, row[k], out);
        }
        if (middle->second_end)
            out[columns - 1] += row[middle->own.end];
        for (size_t j = 0; j < columns; j++)
            sum += out[j];
        for (size_t j = 0; j < columns && sum > 0; j++)
            out[j] /= sum;
        rows[t] = out;
    }
    return rows;
}

/* The tokens are the source's as the second model would have read them, with </s> if it reads one.
 */
int pivot_compose(const struct sentence *first, const struct hypothesis *written,
                  const struct rendering *rendering, const struct sentence *second,
                  struct arena *arena, struct sentence *out) {
    struct span read = sentence_own(first), own = sentence_own(second);
    bool first_end = read.end < first->length, second_end = own.end < second->length;
    const struct middle middle = {
        first, second, written, rendering, read, own, first_end, second_end, read.end + second_end};
    bool attends =
        first->search.setting.source_length > 0 && second->search.setting.source_length > 0;
    struct hypothesis *hypotheses = arena_alloc(arena, second->count, sizeof *hypotheses);
    struct token *tokens = arena_zalloc(arena, middle.columns, sizeof *tokens);
    if (!hypotheses || !tokens)
        return -1;
    memcpy(tokens, first->tokens, read.end * sizeof *tokens);
    if (second_end) {
        struct token *end = &tokens[read.end];
        *end = second->tokens[own.end];
        end->begin = end->end = sentence_text_length(first);
    }

    *out = *second;
    out->text = first->text;
    out->source = first->source;
    out->tokens = tokens;
    out->length = middle.columns;
    out->reading.labels = first->reading.labels;
    out->reading.unknown = first->reading.unknown;
    out->search.setting.source_length = attends ? middle.columns : 0;
    out->hypotheses = hypotheses;
    memcpy(hypotheses, second->hypotheses, out->count * sizeof *hypotheses);
    for (size_t i = 0; attends && i < out->count; i++) {
        struct hypothesis *hypothesis = &hypotheses[i];
        size_t count = hypothesis_steps(hypothesis);
        hypothesis->attention =
            compose_rows(&middle, middle.written->attention, hypothesis->attention, count, arena);
        hypothesis->alignment =
            compose_rows(&middle, middle.written->alignment, hypothesis->alignment, count, arena);
        if (!hypothesis->attention || !hypothesis->alignment)
            return -1;
    }
    return 0;
}
