#include "server/decode/pivot.h"
#include "server/decode/loaded_model.h"
#include "server/decode/render.h"
#include <string.h>

/* ---- the second decoding ---- */

bool pivot_goes_on(const struct request *request) {
    bool more = false;
    for (size_t i = 0; i < request->job_count; i++)
        if (!request->jobs[i].sentence->hypotheses)
            return false;
    for (size_t i = 0; i < request->text_count; i++)
        more |= request->texts[i].second && !request->texts[i].pivot && request->texts[i].count > 0;
    return more;
}

/* One sentence, or none where the text is blank. */
static int prepare_sentence(struct request *request, const struct translator *translator, struct guard *guard, const char *written,
                            size_t length, struct sentence **sentence, size_t *count, struct error *err) {
    struct translator_text text = {written, length, {0}, false, request->verbatim};
    if (request_hold(request, translator, guard, &text, &request->arena, err) != 0)
        return -1;
    return translator_prepare_text(translator, &text, &request->search, &request->arena, sentence, count, err);
}

/* What was written of sentence i is a sentence of its own; if that is nothing, what was read. */
static int prepare_second(struct request *request, const struct text *text, size_t i, struct guard *guard, struct error *err) {
    struct pivot *pivot = text->pivot;
    const struct translator *translator = text->second_loaded->translator;
    const char *written = pivot->renderings[i].text;
    size_t count = 0;
    struct sentence *sentences;
    if (prepare_sentence(request, translator, guard, written, strlen(written), &sentences, &count, err) != 0)
        return -1;
    const struct sentence *read = &pivot->first[i];
    if (count == 0 &&
        prepare_sentence(request, translator, guard, sentence_text(read), sentence_text_length(read), &sentences, &count, err) != 0)
        return -1;
    pivot->second[i] = sentences;
    if (text->second_variant && translator_choose_variant(sentences, text->second_variant, err) != 0)
        return -1;
    return translator_constrain(sentences, &request->glossary, err);
}

/* What the first model made of the text, which a twin's has made already. */
static int fill_first(const struct text *text, struct arena *arena, struct pivot *pivot, struct error *err) {
    struct rendered rendered;
    if (text->twin) {
        *pivot = *text->twin->pivot;
        return 0;
    }
    if (render_text(text, arena, &rendered, err) != 0)
        return -1;
    *pivot = (struct pivot){.first = text->sentences,
                            .renderings = rendered.sentences,
                            .text = rendered.text,
                            .length = rendered.length,
                            .count = text->count};
    return 0;
}

static int go_on(struct request *request, struct text *text, struct guard *guard, struct error *err) {
    struct arena *arena = &request->arena;
    struct pivot *pivot = arena_zalloc(arena, 1, sizeof *pivot);
    struct sentence **second = arena_zalloc(arena, text->count, sizeof(struct sentence *));
    if (!pivot || !second)
        return error_memory(err);
    if (fill_first(text, arena, pivot, err) != 0)
        return -1;
    pivot->second = second;
    text->pivot = pivot;
    for (size_t i = 0; i < pivot->count; i++)
        if (prepare_second(request, text, i, guard, err) != 0)
            return -1;
    return 0;
}

static int make_jobs(struct request *request, size_t count, struct error *err) {
    struct job *jobs = arena_zalloc(&request->arena, count, sizeof *jobs);
    if (!jobs)
        return error_memory(err);
    size_t made = 0;
    for (size_t i = 0; i < request->text_count; i++) {
        const struct text *text = &request->texts[i];
        for (size_t j = 0; text->pivot && j < text->count; j++, made++)
            job_init(&jobs[made], request, text->pivot->second[j], text->second_loaded, made);
    }
    request->jobs = jobs;
    request->job_count = count;
    return 0;
}

/* count: of the sentences that go on. */
static int go_on_all(struct request *request, struct guard *guard, size_t *count, struct error *err) {
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (!text->second || text->count == 0)
            continue;
        if (go_on(request, text, guard, err) != 0)
            return -1;
        *count += text->count;
    }
    return 0;
}

int pivot_go_on(struct request *request, struct error *err) {
    struct guard guard;
    size_t count = 0;
    int result = guard_open(&guard, request->protection, err);
    if (result == 0)
        result = go_on_all(request, &guard, &count, err);
    guard_done(&guard);
    return result == 0 ? make_jobs(request, count, err) : -1;
}

/* ---- one from two ---- */

/* What sentence i became in between. */
struct middle {
    const struct sentence *first, *second;
    const struct hypothesis *written;  /* by the first, */
    const struct rendering *rendering; /* as text */
    struct span read, own;             /* tokens of the source: those of the text; of the second's: the same */
    bool first_end, second_end;        /* they have </s> behind */
    size_t columns;                    /* of what is composed: the source's tokens, and </s> where the second reads one */
};

static size_t shared(struct span a, struct span b) {
    size_t begin = a.begin > b.begin ? a.begin : b.begin, end = a.end < b.end ? a.end : b.end;
    return end > begin ? end - begin : 0;
}

/* Adds weight times the row of the first's token i. Its weight of </s> is </s>'s, too. */
static void add_written(const struct middle *middle, const float *const *rows, size_t i, float weight, float *out) {
    for (size_t j = 0; j < middle->columns && j < middle->read.end; j++)
        out[j] += weight * rows[i][j];
    if (middle->first_end && middle->second_end)
        out[middle->columns - 1] += weight * rows[i][middle->read.end];
}

/* A token that shares no byte with any, such as a blank, is the one behind it. */
static void add_read(const struct middle *middle, const float *const *rows, size_t k, float weight, float *out) {
    const struct token *token = &middle->second->tokens[k], *tokens = middle->rendering->tokens;
    size_t begin = middle->second->source.begin, all = 0, behind = 0, length = middle->written->length;
    struct span place = {begin + token->begin, begin + token->end};
    for (size_t i = 0; i < length; i++) {
        all += shared(place, (struct span){tokens[i].begin, tokens[i].end});
        behind += tokens[i].end <= place.begin;
    }
    for (size_t i = 0; i < length && all > 0; i++) {
        size_t part = shared(place, (struct span){tokens[i].begin, tokens[i].end});
        if (part > 0)
            add_written(middle, rows, i, weight * (float)part / (float)all, out);
    }
    if (all == 0 && length > 0)
        add_written(middle, rows, behind < length ? behind : length - 1, weight, out);
}

/* What fell on labels, or on </s> where there is no place for it, is shared by the rest. */
static void scale(float *row, size_t count) {
    float sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += row[j];
    for (size_t j = 0; j < count && sum > 0; j++)
        row[j] /= sum;
}

/* row: of the second model. */
static void compose_row(const struct middle *middle, const float *const *first, const float *row, float *out) {
    for (size_t k = middle->own.begin; k < middle->own.end; k++)
        if (row[k] > 0)
            add_read(middle, first, k, row[k], out);
    if (middle->second_end)
        out[middle->columns - 1] += row[middle->own.end];
    scale(out, middle->columns);
}

/* Rows [length + ended] of [columns], with `behind` floats that stand behind each of the second's. NULL: memory is out. */
static const float *const *compose_rows(const struct middle *middle, const float *const *first, const float *const *second,
                                        size_t count, size_t behind, struct arena *arena) {
    size_t columns = middle->columns, wide = columns + behind;
    const float **rows = arena_alloc(arena, count, sizeof(const float *));
    float *weights = arena_zalloc(arena, count * wide, sizeof *weights);
    if (!rows || !weights)
        return NULL;
    for (size_t t = 0; t < count; t++) {
        compose_row(middle, first, second[t], weights + t * wide);
        memcpy(weights + t * wide + columns, second[t] + middle->second->length, behind * sizeof *weights);
        rows[t] = weights + t * wide;
    }
    return rows;
}

static int compose_hypothesis(const struct middle *middle, struct hypothesis *hypothesis, struct arena *arena) {
    size_t count = hypothesis->length + hypothesis->ended;
    hypothesis->attention =
        compose_rows(middle, middle->written->attention, hypothesis->attention, count, sentence_readout(middle->second), arena);
    hypothesis->alignment = compose_rows(middle, middle->written->alignment, hypothesis->alignment, count, 0, arena);
    return hypothesis->attention && hypothesis->alignment ? 0 : -1;
}

/* The source's tokens as the second model would have read them: with </s> if it reads one. */
static struct token *find_tokens(const struct middle *middle, struct arena *arena) {
    struct token *tokens = arena_zalloc(arena, middle->columns, sizeof *tokens);
    if (!tokens)
        return NULL;
    memcpy(tokens, middle->first->tokens, middle->read.end * sizeof *tokens);
    if (middle->second_end) {
        size_t end = sentence_text_length(middle->first);
        tokens[middle->read.end] = middle->second->tokens[middle->own.end];
        tokens[middle->read.end].begin = tokens[middle->read.end].end = end;
    }
    return tokens;
}

static struct middle middle_of(const struct pivot *pivot, size_t i) {
    const struct sentence *first = &pivot->first[i], *second = pivot->second[i];
    struct span read = sentence_own(first), own = sentence_own(second);
    bool second_end = own.end < second->length;
    return (struct middle){first,
                           second,
                           &first->hypotheses[0],
                           &pivot->renderings[i],
                           read,
                           own,
                           read.end < first->length,
                           second_end,
                           read.end + second_end};
}

/* out: to be read only, and as long as the two are. */
static int compose_sentence(const struct middle *middle, struct arena *arena, struct sentence *out) {
    const struct sentence *first = middle->first;
    bool attends = first->search.source_length > 0 && middle->second->search.source_length > 0;
    struct hypothesis *hypotheses = arena_alloc(arena, middle->second->count, sizeof *hypotheses);
    struct token *tokens = find_tokens(middle, arena);
    if (!hypotheses || !tokens)
        return -1;
    *out = *middle->second;
    out->text = first->text;
    out->source = first->source;
    out->tokens = tokens;
    out->length = middle->columns;
    out->labelled = first->labelled;
    out->unknown = first->unknown;
    out->search.source_length = attends ? middle->columns : 0;
    out->hypotheses = hypotheses;
    memcpy(hypotheses, middle->second->hypotheses, out->count * sizeof *hypotheses);
    for (size_t i = 0; attends && i < out->count; i++)
        if (compose_hypothesis(middle, &hypotheses[i], arena) != 0)
            return -1;
    return 0;
}

static bool has_decoded(const struct pivot *pivot) {
    for (size_t i = 0; i < pivot->count; i++)
        if (!pivot->second[i] || !pivot->second[i]->hypotheses)
            return false;
    return true;
}

int pivot_compose(struct request *request, struct error *err) {
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (!text->pivot || !has_decoded(text->pivot) || text->sentences != text->pivot->first)
            continue;
        struct sentence *composed = arena_alloc(&request->arena, text->count, sizeof *composed);
        for (size_t j = 0; composed && j < text->count; j++) {
            const struct middle middle = middle_of(text->pivot, j);
            if (compose_sentence(&middle, &request->arena, &composed[j]) != 0)
                return error_memory(err);
        }
        if (!composed)
            return error_memory(err);
        text->sentences = composed;
    }
    return 0;
}
