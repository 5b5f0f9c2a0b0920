/* This module hides that a translation went through a third language: it starts the second decoding and composes one from two. */
#include "server/decode/pivot.h"
#include "server/decode/render.h"
#include "server/models/model_set.h"
#include <string.h>

/* ---- the second decoding ---- */

bool pivot_goes_on(const struct request *request) {
    bool more = false;
    for (size_t i = 0; i < request->job_count; i++) {
        if (request->lean || !request->jobs[i].sentence->hypotheses)
            return false;
    }
    for (size_t i = 0; i < request->text_count; i++)
        more |= request->texts[i].second && !request->texts[i].pivot && request->texts[i].count > 0;
    return more;
}

/* Makes a separate sentence of the first model's translation, in the arena, or of the source sentence if that is blank. */
static int prepare_second(struct request *request, const struct text *text, const struct sentence *first, const char *written,
                          struct guard *guard, struct glossary *glossary, struct arena *arena, struct sentence **second,
                          struct error *err) {
    const struct translator *translator = text->second_loaded->translator;
    const struct translator_text candidates[] = {
        {.text = written, .length = strlen(written), .verbatim = request->verbatim},
        {.text = sentence_text(first), .length = sentence_text_length(first), .verbatim = request->verbatim}};
    size_t count = 0;
    *second = NULL;
    for (size_t c = 0; c < 2 && count == 0; c++) {
        struct translator_text candidate = candidates[c];
        if (request_hold(request, translator, guard, &candidate, arena, err) != 0 ||
            translator_prepare_text(translator, &candidate, &request->search, arena, second, &count, err) != 0)
            return -1;
    }
    if (count == 0)
        return error_set(err, ERROR_INPUT, "a sentence has no text");
    if (text->second_variant && translator_choose_variant(*second, text->second_variant, err) != 0)
        return -1;
    return translator_constrain(*second, glossary, err);
}

int pivot_prepare(struct request *request, const struct text *text, struct sentence *first, struct sentence **second,
                  struct error *err) {
    struct guard guard;
    struct glossary glossary; /* the request's has the phrases of the first model, and is shared between workers */
    struct rendering rendering;
    *second = NULL;
    glossary_init(&glossary, NULL, &first->arena);
    int result = guard_open(&guard, request->protection, err);
    if (result == 0)
        result = translator_render(first, &first->hypotheses[0], &first->arena, &rendering, err);
    if (result == 0)
        result = prepare_second(request, text, first, rendering.text, &guard, &glossary, &first->arena, second, err);
    guard_done(&guard);
    if (result != 0 && *second)
        sentence_done(*second);
    return result;
}

static int go_on(struct request *request, struct text *text, struct guard *guard, struct error *err) {
    struct arena *arena = &request->arena;
    struct pivot *pivot = arena_zalloc(arena, 1, sizeof *pivot);
    struct sentence **second = arena_zalloc(arena, text->count, sizeof(struct sentence *));
    struct rendered rendered;
    if (!pivot || !second)
        return error_memory(err);
    if (text->twin) {
        *pivot = *text->twin->pivot;
    } else {
        if (render_text(text, arena, &rendered, err) != 0)
            return -1;
        *pivot = (struct pivot){.first = text->sentences,
                                .renderings = rendered.sentences,
                                .text = rendered.text,
                                .length = rendered.length,
                                .count = text->count};
    }
    pivot->second = second;
    text->pivot = pivot;
    for (size_t i = 0; i < pivot->count; i++) {
        if (prepare_second(request, text, &pivot->first[i], pivot->renderings[i].text, guard, &request->glossary, arena, &second[i],
                           err) != 0)
            return -1;
    }
    return 0;
}

int pivot_go_on(struct request *request, struct error *err) {
    struct guard guard;
    int result = guard_open(&guard, request->protection, err);
    for (size_t i = 0; result == 0 && i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (text->second && text->count > 0)
            result = go_on(request, text, &guard, err);
    }
    guard_done(&guard);
    return result != 0 ? -1 : request_make_jobs(request, true, err);
}

/* ---- one from two ---- */

/* One sentence and its translations by both models. */
struct middle {
    const struct sentence *first, *second;
    const struct hypothesis *written;  /* by the first, */
    const struct rendering *rendering; /* as text */
    struct span read, own;             /* the text's own tokens: the source's, and the second's */
    bool first_end, second_end;        /* they are followed by </s> */
    size_t columns;                    /* of the composed rows: the source's tokens, and </s> if the second reads one */
};

static size_t shared_bytes(struct span place, const struct token *token) {
    size_t begin = place.begin > token->begin ? place.begin : token->begin, end = place.end < token->end ? place.end : token->end;
    return end > begin ? end - begin : 0;
}

/* Adds weight times the row of the first's token i. Its weight of </s> becomes that of </s>, too. */
static void add_written(const struct middle *middle, const float *const *rows, size_t i, float weight, float *out) {
    for (size_t j = 0; j < middle->columns && j < middle->read.end; j++)
        out[j] += weight * rows[i][j];
    if (middle->first_end && middle->second_end)
        out[middle->columns - 1] += weight * rows[i][middle->read.end];
}

/* Adds weight times the rows of the tokens that share bytes with the second's token k. If there are none, as for a blank, the token
 * after it stands for it. */
static void add_read(const struct middle *middle, const float *const *rows, size_t k, float weight, float *out) {
    const struct token *token = &middle->second->tokens[k], *tokens = middle->rendering->tokens;
    size_t begin = middle->second->source.begin, all = 0, before = 0, length = middle->written->length;
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

/* Composes one row; row: of the second model. The other columns share the weight of labels, or of </s> if it has no column. */
static void compose_row(const struct middle *middle, const float *const *first, const float *row, float *out) {
    float sum = 0;
    for (size_t k = middle->own.begin; k < middle->own.end; k++) {
        if (row[k] > 0)
            add_read(middle, first, k, row[k], out);
    }
    if (middle->second_end)
        out[middle->columns - 1] += row[middle->own.end];
    for (size_t j = 0; j < middle->columns; j++)
        sum += out[j];
    for (size_t j = 0; j < middle->columns && sum > 0; j++)
        out[j] /= sum;
}

/* Composes rows [count] of [columns], each followed by `extra` floats copied from the second's row. Returns NULL if memory is
 * out. */
static const float *const *compose_rows(const struct middle *middle, const float *const *first, const float *const *second,
                                        size_t count, size_t extra, struct arena *arena) {
    size_t columns = middle->columns, wide = columns + extra;
    const float **rows = arena_alloc(arena, count, sizeof(const float *));
    float *weights = arena_zalloc(arena, count * wide, sizeof *weights);
    if (!rows || !weights)
        return NULL;
    for (size_t t = 0; t < count; t++) {
        compose_row(middle, first, second[t], weights + t * wide);
        memcpy(weights + t * wide + columns, second[t] + middle->second->length, extra * sizeof *weights);
        rows[t] = weights + t * wide;
    }
    return rows;
}

/* Makes the source's tokens as the second model would have read them, with </s> if it reads one. */
static struct token *find_tokens(const struct middle *middle, struct arena *arena) {
    struct token *tokens = arena_zalloc(arena, middle->columns, sizeof *tokens);
    if (!tokens)
        return NULL;
    memcpy(tokens, middle->first->tokens, middle->read.end * sizeof *tokens);
    if (middle->second_end) {
        struct token *end = &tokens[middle->read.end];
        *end = middle->second->tokens[middle->own.end];
        end->begin = end->end = sentence_text_length(middle->first);
    }
    return tokens;
}

/* out is read only, and valid only as long as the two sentences exist. */
static int compose_sentence(const struct sentence *first, const struct sentence *second, const struct rendering *rendering,
                            struct arena *arena, struct sentence *out) {
    struct span read = sentence_own(first), own = sentence_own(second);
    bool first_end = read.end < first->length, second_end = own.end < second->length;
    const struct middle middle = {first,     second,     &first->hypotheses[0], rendering, read, own,
                                  first_end, second_end, read.end + second_end};
    bool attends = first->search.source_length > 0 && second->search.source_length > 0;
    struct hypothesis *hypotheses = arena_alloc(arena, second->count, sizeof *hypotheses);
    struct token *tokens = find_tokens(&middle, arena);
    if (!hypotheses || !tokens)
        return -1;

    *out = *second;
    out->text = first->text;
    out->source = first->source;
    out->tokens = tokens;
    out->length = middle.columns;
    out->labelled = first->labelled;
    out->unknown = first->unknown;
    out->search.source_length = attends ? middle.columns : 0;
    out->hypotheses = hypotheses;
    memcpy(hypotheses, second->hypotheses, out->count * sizeof *hypotheses);
    for (size_t i = 0; attends && i < out->count; i++) {
        struct hypothesis *hypothesis = &hypotheses[i];
        size_t count = hypothesis->length + hypothesis->ended, extra = sentence_readout(second);
        hypothesis->attention = compose_rows(&middle, middle.written->attention, hypothesis->attention, count, extra, arena);
        hypothesis->alignment = compose_rows(&middle, middle.written->alignment, hypothesis->alignment, count, 0, arena);
        if (!hypothesis->attention || !hypothesis->alignment)
            return -1;
    }
    return 0;
}

int pivot_compose(struct request *request, struct error *err) {
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        const struct pivot *pivot = text->pivot;
        bool decoded = pivot && text->sentences == pivot->first;
        for (size_t j = 0; decoded && j < pivot->count; j++)
            decoded = pivot->second[j] && pivot->second[j]->hypotheses;
        if (!decoded)
            continue;
        struct sentence *composed = arena_alloc(&request->arena, text->count, sizeof *composed);
        if (!composed)
            return error_memory(err);
        for (size_t j = 0; j < text->count; j++) {
            if (compose_sentence(&pivot->first[j], pivot->second[j], &pivot->renderings[j], &request->arena, &composed[j]) != 0)
                return error_memory(err);
        }
        text->sentences = composed;
    }
    return 0;
}

int pivot_join(const struct sentence *first, const struct sentence *second, struct arena *arena, struct sentence *out) {
    struct rendering rendering;
    return translator_render(first, &first->hypotheses[0], arena, &rendering, NULL) == 0
               ? compose_sentence(first, second, &rendering, arena, out)
               : -1;
}
