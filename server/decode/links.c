#include "server/decode/links.h"

#include <math.h>
#include <string.h>

enum { BALANCING_ROUNDS = 5 };
static const double TENSION = 4; /* of the pull to the diagonal, as in fast_align (Dyer et al. 2013) */
static const float LEAST = 1e-6f;

struct links_kind {
    const char *name;
    bool mutual, balanced;
};

static const struct links_kind kinds[] = {
    {"best", false, false},
    {"mutual", true, false},
    {"balanced", true, true},
};

const struct links_kind *links_kind_find(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* n values, `stride` apart, to sum 1; of no weight at all they stay. */
static void scale_to_one(float *weights, size_t n, size_t stride) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i * stride];
    for (size_t i = 0; sum > 0 && i < n; i++)
        weights[i * stride] /= sum;
}

static void scale_rows(struct word_matrix *words) {
    for (size_t i = 0; i < words->target_count; i++)
        scale_to_one(words->weights + i * words->source_count, words->source_count, 1);
}

static void scale_columns(struct word_matrix *words) {
    for (size_t j = 0; j < words->source_count; j++)
        scale_to_one(words->weights + j, words->target_count, words->source_count);
}

bool links_merge(struct word_matrix *words, const struct word_matrix *reverse) {
    size_t targets = words->target_count, sources = words->source_count;
    if (reverse->source_count != targets || reverse->target_count != sources)
        return false;
    scale_rows(words);
    memset(words->ends, 0, targets * sizeof *words->ends);
    for (size_t j = 0; j < sources; j++) {
        const float *row = reverse->weights + j * targets;
        float sum = 0;
        for (size_t i = 0; i < targets; i++)
            sum += row[i];
        for (size_t i = 0; i < targets; i++) {
            float *weight = &words->weights[i * sources + j];
            *weight = sum > 0 ? sqrtf(*weight * row[i] / sum) : 0;
        }
    }
    return true;
}

/* exp(-TENSION d), d the distance of the words' middles, each text being 1 long; rows that sum to 1. */
static void pull_to_diagonal(struct word_matrix *words) {
    for (size_t i = 0; i < words->target_count; i++) {
        float *row = words->weights + i * words->source_count;
        double middle = ((double)i + 0.5) / (double)words->target_count, sum = 0;
        for (size_t j = 0; j < words->source_count; j++)
            sum += exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count));
        for (size_t j = 0; j < words->source_count; j++)
            row[j] *= (float)(exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count)) / sum);
    }
}

void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal) {
    if (!kind->balanced)
        return;
    scale_rows(words);
    if (diagonal)
        pull_to_diagonal(words);
    for (size_t i = 0; i < words->target_count * words->source_count; i++)
        words->weights[i] += LEAST;
    for (int round = 0; round < BALANCING_ROUNDS; round++) {
        scale_columns(words);
        scale_rows(words);
    }
}

/* No other target word has more of source word j. */
static bool is_best_of_column(const struct word_matrix *words, size_t i, size_t j) {
    size_t best = 0;
    for (size_t k = 1; k < words->target_count; k++)
        if (words->weights[k * words->source_count + j] > words->weights[best * words->source_count + j])
            best = k;
    return best == i;
}

bool links_of(const struct links_kind *kind, const struct word_matrix *words, size_t i, size_t *j) {
    return render_aligned(words->weights + i * words->source_count, words->source_count, words->ends[i], j) &&
           (!kind->mutual || is_best_of_column(words, i, *j));
}

int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena, struct word_matrix *out,
               struct error *err) {
    bool head = translator_info(sentence->translator).alignment_head;
    if (render_merge(sides, sentence->hypotheses[0].alignment, arena, out, err) != 0)
        return -1;
    for (size_t i = 0; !head && i < out->target_count; i++)
        out->ends[i] = 0;
    return 0;
}

static int words_of(const struct links_direction *direction, struct word_matrix *words, struct error *err) {
    const struct hypothesis *hypothesis = &direction->sentence->hypotheses[0];
    struct word_sides sides;
    struct rendering rendering;
    if (translator_render(direction->sentence, hypothesis, direction->arena, &rendering, err) != 0 ||
        render_words(direction->sentence, WORDS_SPACED, hypothesis, &rendering, direction->arena, &sides, err) != 0)
        return -1;
    return links_find(direction->sentence, &sides, direction->arena, words, err);
}

int links_print(const struct links_kind *kind, const struct links_direction *directions, size_t count, FILE *out,
                struct error *err) {
    struct word_matrix words, reverse;
    bool head = translator_info(directions[0].sentence->translator).alignment_head;
    if (words_of(&directions[0], &words, err) != 0)
        return -1;
    if (count > 1) {
        if (words_of(&directions[1], &reverse, err) != 0)
            return -1;
        links_merge(&words, &reverse);
    }
    links_prepare(kind, &words, !head);
    const char *space = "";
    for (size_t i = 0, j; i < words.target_count; i++) {
        if (!links_of(kind, &words, i, &j))
            continue;
        fprintf(out, "%s%zu-%zu", space, j, i);
        space = " ";
    }
    return 0;
}
