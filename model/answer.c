#include "model/answer.h"

#include <string.h>

static size_t steps_of(const struct hypothesis *h) {
    return h->length + h->ended;
}

/* Floats of an attention row that the answer needs, with what words are spelled from behind it. */
static size_t row_size(const struct sentence *sentence) {
    return sentence->search.source_length + sentence_readout(sentence);
}

/* How many of the first steps are those of the other hypothesis, too: up to there they are one path through the search's tree. */
static size_t common_steps(const struct hypothesis *a, const struct hypothesis *b) {
    size_t most = steps_of(a) < steps_of(b) ? steps_of(a) : steps_of(b), count = 0;
    while (count < most && a->attention[count] == b->attention[count] && a->alternatives[count] == b->alternatives[count])
        count++;
    return count;
}

/* Which of the first i begins most like hypothesis i; *common: its first steps that it shares. */
static size_t closest(const struct sentence *sentence, size_t i, size_t *common) {
    size_t found = 0;
    *common = 0;
    for (size_t k = 0; k < i; k++) {
        size_t count = common_steps(&sentence->hypotheses[k], &sentence->hypotheses[i]);
        if (count > *common) {
            found = k;
            *common = count;
        }
    }
    return found;
}

static void *copy(struct arena *arena, const void *from, size_t count, size_t size) {
    void *own = arena_alloc(arena, count, size);
    if (own && count > 0)
        memcpy(own, from, count * size);
    return own;
}

/* Where rows come to lie: [own] of them, those of the steps behind the common ones. */
struct rows {
    const float **attention;
    const struct alternatives **alternatives;
    float *own;
    struct alternatives *told; /* NULL: none are told */
};

static int allocate_rows(const struct sentence *sentence, const struct hypothesis *h, size_t own, struct arena *arena,
                         struct rows *out) {
    bool told = sentence->options.alternatives;
    out->attention = arena_alloc(arena, steps_of(h), sizeof *out->attention);
    out->alternatives = arena_alloc(arena, steps_of(h), sizeof *out->alternatives);
    out->own = arena_alloc(arena, own, row_size(sentence) * sizeof *out->own);
    out->told = told ? arena_alloc(arena, own, sizeof *out->told) : NULL;
    return arena_failed(arena) ? -1 : 0;
}

/* kept [i]: copies of the hypotheses before. */
static int keep_rows(struct sentence *sentence, struct hypothesis *kept, size_t i) {
    const struct hypothesis *from = &sentence->hypotheses[i];
    struct rows rows;
    size_t common, other = closest(sentence, i, &common), size = row_size(sentence), steps = steps_of(from);
    if (allocate_rows(sentence, from, steps - common, &sentence->arena, &rows) != 0)
        return -1;
    for (size_t j = 0; j < common; j++) {
        rows.attention[j] = kept[other].attention[j];
        rows.alternatives[j] = kept[other].alternatives[j];
    }
    for (size_t j = common; j < steps; j++) {
        rows.attention[j] = memcpy(rows.own + (j - common) * size, from->attention[j], size * sizeof *rows.own);
        if (from->alternatives[j])
            rows.told[j - common] = *from->alternatives[j];
        rows.alternatives[j] = from->alternatives[j] ? &rows.told[j - common] : NULL;
    }
    kept[i].attention = rows.attention;
    kept[i].alternatives = rows.alternatives;
    return 0;
}

static int keep_hypothesis(struct sentence *sentence, struct hypothesis *kept, size_t i) {
    const struct hypothesis *from = &sentence->hypotheses[i];
    struct arena *arena = &sentence->arena;
    kept[i] = *from;
    kept[i].tokens = copy(arena, from->tokens, from->length, sizeof *from->tokens);
    kept[i].log_probs = copy(arena, from->log_probs, steps_of(from), sizeof *from->log_probs);
    kept[i].entropies = copy(arena, from->entropies, steps_of(from), sizeof *from->entropies);
    if (arena_failed(arena) || keep_rows(sentence, kept, i) != 0)
        return -1;
    if (from->alignment == from->attention)
        kept[i].alignment = kept[i].attention;
    return 0;
}

int answer_keep(struct sentence *sentence, struct error *err) {
    struct hypothesis *kept = arena_alloc(&sentence->arena, sentence->count, sizeof *kept);
    if (!kept)
        return error_memory(err);
    for (size_t i = 0; i < sentence->count; i++)
        if (keep_hypothesis(sentence, kept, i) != 0)
            return error_memory(err);
    sentence->hypotheses = kept;
    return 0;
}
