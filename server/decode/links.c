/* This module hides how weights between words become links. */
#include "server/decode/links.h"
#include <math.h>
#include <string.h>

enum { BALANCING_ROUNDS = 5 };
static const double TENSION =
    4; /* strength of the pull to the diagonal, as in fast_align (Dyer et al. 2013) */
static const float LEAST_WEIGHT = 1e-6f;

/* The least weights of "several" links were chosen on half of the pairs of four gold alignments and
 * measured on the other half (weights/EXPERIMENTS.md). */
static const float LEAST_OF_TARGET = 0.5f, LEAST_OF_SOURCE = 0.2f, LEAST_OF_MERGED = 0.3f;

struct links_kind {
    const char *name;
    bool mutual, balanced, several;
};

const struct links_kind *links_kind_find(const char *name) {
    static const struct links_kind kinds[] = {
        {.name = "best"},
        {.name = "mutual", .mutual = true},
        {.name = "balanced", .mutual = true, .balanced = true},
        {.name = "several", .several = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Returns the sum of n values, `stride` apart. */
static float sum_of(const float *weights, size_t n, size_t stride) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i * stride];
    return sum;
}

/* Scales n values, `stride` apart, to sum 1, unless their sum is 0. */
static void scale_to_one(float *weights, size_t n, size_t stride) {
    float sum = sum_of(weights, n, stride);
    for (size_t i = 0; sum > 0 && i < n; i++)
        weights[i * stride] /= sum;
}

static void scale_rows(struct word_matrix *words) {
    for (size_t i = 0; i < words->target_count; i++)
        scale_to_one(words->weights + i * words->source_count, words->source_count, 1);
}

bool links_merge(const struct links_kind *kind, struct word_matrix *words,
                 const struct word_matrix *reverse) {
    size_t targets = words->target_count, sources = words->source_count;
    if (reverse->source_count != targets || reverse->target_count != sources)
        return false;
    if (!kind->several)
        scale_rows(words);
    words->merged = true;
    memset(words->ends, 0, targets * sizeof *words->ends);
    for (size_t j = 0; j < sources; j++) {
        const float *row = reverse->weights + j * targets;
        float sum = kind->several ? 1 : sum_of(row, targets, 1);
        for (size_t i = 0; i < targets; i++) {
            float *weight = &words->weights[i * sources + j];
            *weight = sum > 0 ? sqrtf(*weight * row[i] / sum) : 0;
        }
    }
    return true;
}

void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal) {
    if (!kind->balanced || words->target_count * words->source_count == 0)
        return;
    scale_rows(words);
    for (size_t i = 0; diagonal && i < words->target_count; i++) {
        /* The factors exp(-TENSION d) are scaled to sum 1; d is the distance between the words'
         * middles in texts of length 1. */
        float *row = words->weights + i * words->source_count;
        double middle = ((double)i + 0.5) / (double)words->target_count, sum = 0;
        for (size_t j = 0; j < words->source_count; j++)
            sum += exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count));
        for (size_t j = 0; j < words->source_count; j++)
            row[j] *= (float)(exp(-TENSION *
                                  fabs(middle - ((double)j + 0.5) / (double)words->source_count)) /
                              sum);
    }
    for (size_t i = 0; i < words->target_count * words->source_count; i++)
        words->weights[i] += LEAST_WEIGHT;
    for (int round = 0; round < BALANCING_ROUNDS; round++) {
        for (size_t j = 0; j < words->source_count; j++)
            scale_to_one(words->weights + j, words->target_count, words->source_count);
        scale_rows(words);
    }
}

int links_make(const struct links_kind *kind, const struct word_matrix *words, struct arena *arena,
               struct links *out, struct error *err) {
    size_t sources = words->source_count, targets = words->target_count;
    float least_of_target = words->merged ? LEAST_OF_MERGED : LEAST_OF_TARGET;
    float least_of_source = words->merged ? LEAST_OF_MERGED : LEAST_OF_SOURCE;
    size_t *best_target = arena_alloc(arena, sources, sizeof *best_target);
    struct links links = {
        .all = arena_alloc(arena, sources + targets,
                           sizeof *links.all)}; /* each word of either side has one best */
    if (!best_target || !links.all)
        return error_memory(err);
    for (size_t j = 0; targets > 0 && j < sources; j++) {
        size_t best = 0;
        for (size_t i = 1; i < targets; i++) {
            if (words->weights[i * sources + j] > words->weights[best * sources + j])
                best = i;
        }
        best_target[j] = best;
    }
    for (size_t i = 0; sources > 0 && i < targets; i++) {
        const float *row = words->weights + i * sources;
        size_t best_source = 0;
        bool aligned = render_aligned(row, sources, words->ends[i], &best_source);
        for (size_t j = 0; j < sources; j++) {
            bool of_target = aligned && j == best_source, of_source = best_target[j] == i;
            if (kind->several ? (of_target && row[j] >= least_of_target) ||
                                    (of_source && row[j] >= least_of_source)
                              : of_target && (of_source || !kind->mutual))
                links.all[links.count++] = (struct link){j, i};
        }
    }
    *out = links;
    return 0;
}

int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena,
               struct word_matrix *out, struct error *err) {
    bool head = translator_info(sentence->translator).alignment_head;
    if (render_merge(sides, sentence->hypotheses[0].alignment, arena, out, err) != 0)
        return -1;
    for (size_t i = 0; !head && i < out->target_count; i++)
        out->ends[i] = 0;
    return 0;
}

int links_print(const struct links_kind *kind, const struct links_direction *directions,
                size_t count, FILE *out, struct error *err) {
    struct word_matrix words[2];
    bool head = translator_info(directions[0].sentence->translator).alignment_head;
    for (size_t i = 0; i < count; i++) {
        const struct sentence *sentence = directions[i].sentence;
        const struct hypothesis *hypothesis = &sentence->hypotheses[0];
        struct arena *arena = directions[i].arena;
        struct word_sides sides;
        struct rendering rendering;
        if (rendering_make(sentence, hypothesis, arena, &rendering, err) != 0 ||
            render_words(&(struct rendered_sentence){sentence, hypothesis, &rendering},
                         WORDS_SPACED, arena, &sides, err) != 0 ||
            links_find(sentence, &sides, arena, &words[i], err) != 0)
            return -1;
    }
    if (count > 1)
        links_merge(kind, &words[0], &words[1]);
    struct links links;
    links_prepare(kind, &words[0], !head);
    if (links_make(kind, &words[0], directions[0].arena, &links, err) != 0)
        return -1;
    for (size_t i = 0; i < links.count; i++)
        fprintf(out, "%s%zu-%zu", i == 0 ? "" : " ", links.all[i].source, links.all[i].target);
    return 0;
}
