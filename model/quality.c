#include "model/quality.h"
#include "model/model.h"
#include <math.h>
#include <string.h>

static const float LEAST = -50, MOST_GAP = 10;

/* A hypothesis, and how much its rows together give each source token. */
struct estimation {
    const struct hypothesis *hypothesis;
    int end;            /* </s> of the target */
    struct span source; /* the source's own tokens; empty: there is no attention */
    float *coverage;    /* [source.end] */
};

/* Features of the steps added so far: sums, but the least gap. */
struct evidence {
    float features[QUALITY_FEATURES];
    size_t steps, tokens;
};

static float quality_clip(float value, float most) {
    return value < LEAST ? LEAST : value > most ? most : value;
}

/* Alternatives are the best first. */
static float gap_of(const struct estimation *estimation, size_t i) {
    const struct hypothesis *h = estimation->hypothesis;
    const struct alternatives *best = h->alternatives[i];
    int token = i < h->length ? h->tokens[i] : estimation->end;
    for (size_t k = 0; k < best->count; k++)
        if (best->tokens[k] != token)
            return quality_clip(h->log_probs[i] - best->log_probs[k], MOST_GAP);
    return MOST_GAP;
}

static void add_step(const struct estimation *estimation, size_t i, struct evidence *evidence) {
    const struct hypothesis *h = estimation->hypothesis;
    float gap = gap_of(estimation, i), *features = evidence->features;
    features[QUALITY_LOG_PROB] += quality_clip(h->log_probs[i], 0);
    features[QUALITY_ENTROPY] += h->entropies[i];
    if (evidence->steps++ == 0 || gap < features[QUALITY_GAP])
        features[QUALITY_GAP] = gap;
}

/* What the row of token i says: the source token that it is aligned with, by how much. */
static void add_row(const struct estimation *estimation, size_t i, struct evidence *evidence) {
    if (estimation->source.begin == estimation->source.end)
        return;
    const float *row = estimation->hypothesis->alignment[i];
    size_t best = estimation->source.begin;
    for (size_t j = best + 1; j < estimation->source.end; j++)
        if (row[j] > row[best])
            best = j;
    evidence->tokens++;
    evidence->features[QUALITY_COVERAGE] += estimation->coverage[best];
    evidence->features[QUALITY_SHARPNESS] += row[best];
}

/* Sums become means where means are meant. */
static void settle_means(struct evidence *evidence) {
    evidence->features[QUALITY_ENTROPY] /= evidence->steps > 0 ? (float)evidence->steps : 1;
    evidence->features[QUALITY_COVERAGE] /= evidence->tokens > 0 ? (float)evidence->tokens : 1;
    evidence->features[QUALITY_SHARPNESS] /= evidence->tokens > 0 ? (float)evidence->tokens : 1;
}

static float probability(const struct quality_regression *regression, const struct evidence *evidence) {
    double sum = (double)regression->constant;
    for (size_t f = 0; f < QUALITY_FEATURES; f++)
        sum += (double)regression->weights[f] * (double)evidence->features[f];
    return (float)(1 / (1 + exp(-sum)));
}

static float estimate_sentence(const struct estimation *estimation, const struct quality_regression *regression) {
    const struct hypothesis *h = estimation->hypothesis;
    struct evidence evidence = {0};
    for (size_t i = 0; i < h->length + h->ended; i++)
        add_step(estimation, i, &evidence);
    for (size_t i = 0; i < h->length; i++)
        add_row(estimation, i, &evidence);
    settle_means(&evidence);
    float covered = 0;
    size_t count = estimation->source.end - estimation->source.begin;
    for (size_t j = estimation->source.begin; j < estimation->source.end; j++)
        covered += fminf(estimation->coverage[j], 1);
    evidence.features[QUALITY_COVERAGE] = count > 0 ? covered / (float)count : 0;
    return probability(regression, &evidence);
}

/* all [count]: scratch. */
static void estimate_words(const struct estimation *estimation, const struct quality_regression *regression,
                           const struct word_range *tokens, struct evidence *all, const struct quality *out) {
    for (size_t i = 0; i < estimation->hypothesis->length; i++)
        for (size_t w = tokens[i].first; w < tokens[i].end; w++) {
            add_step(estimation, i, &all[w]);
            add_row(estimation, i, &all[w]);
        }
    for (size_t w = 0; w < out->count; w++) {
        settle_means(&all[w]);
        out->words[w] = probability(regression, &all[w]);
    }
}

static void add_up(struct estimation *estimation) {
    for (size_t i = 0; i < estimation->hypothesis->length; i++)
        for (size_t j = estimation->source.begin; j < estimation->source.end; j++)
            estimation->coverage[j] += estimation->hypothesis->alignment[i][j];
}

/* ---- of log-probabilities alone ---- */

/* Token i stands behind white space. */
static bool begins_word(const struct translator *t, const struct hypothesis *h, size_t i) {
    const char *mark = tokenizer_mark(t->target);
    bool known = (size_t)h->tokens[i] < tokenizer_size(t->target);
    return i == 0 || !known || strncmp(tokenizer_piece(t->target, h->tokens[i]), mark, strlen(mark)) == 0;
}

/* log p of tokens [begin, end). */
static double log_probability(const struct quality_weights *weights, const struct hypothesis *h, size_t begin, size_t end,
                              double overall) {
    double sum = 0, least = 0, features[QUALITY_LOG_PROB_FEATURES], z = (double)weights->log_probs.constant;
    for (size_t i = begin; i < end; i++) {
        sum += (double)h->log_probs[i];
        least = fmin(least, (double)h->log_probs[i]);
    }
    features[QUALITY_MEAN] = sum / (double)(end - begin);
    features[QUALITY_LEAST] = least;
    features[QUALITY_TOKENS] = (double)(end - begin);
    features[QUALITY_OVERALL] = overall;
    for (size_t f = 0; f < QUALITY_LOG_PROB_FEATURES; f++)
        z += (double)weights->log_probs.weights[f] * features[f];
    return z > 0 ? -log1p(exp(-z)) : z - log1p(exp(z));
}

static void estimate_by_log_probs(const struct translator *t, const struct hypothesis *h, const struct word_range *tokens,
                                  struct quality *out) {
    double overall = 0, sum = 0;
    size_t words = 0;
    for (size_t i = 0; i < h->length; i++)
        overall += (double)h->log_probs[i] / (double)h->length;
    for (size_t begin = 0, end; begin < h->length; begin = end) {
        for (end = begin + 1; end < h->length && !begins_word(t, h, end);)
            end++;
        double log_p = log_probability(t->quality, h, begin, end, overall);
        sum += log_p;
        words++;
        for (size_t i = begin; i < end; i++)
            for (size_t w = tokens[i].first; w < tokens[i].end; w++)
                out->words[w] = (float)exp(log_p);
    }
    out->sentence = words > 0 ? (float)exp(sum / (double)words) : 0;
}

int translator_quality(const struct sentence *sentence, const struct hypothesis *hypothesis, const struct word_range *tokens,
                       size_t words, struct arena *arena, struct quality *out, struct error *err) {
    const struct translator *t = sentence->translator;
    struct estimation estimation = {.hypothesis = hypothesis, .end = tokenizer_end(t->target)};
    if (sentence->search.source_length > 0)
        estimation.source = sentence_own(sentence);
    estimation.coverage = arena_zalloc(arena, estimation.source.end, sizeof *estimation.coverage);
    struct evidence *all = arena_zalloc(arena, words, sizeof *all);
    struct quality made = {.words = arena_zalloc(arena, words, sizeof *made.words), .count = words};
    if (!estimation.coverage || !all || !made.words)
        return error_memory(err);
    if (t->quality->log_probs_alone) {
        estimate_by_log_probs(t, hypothesis, tokens, &made);
    } else {
        add_up(&estimation);
        made.sentence = estimate_sentence(&estimation, &t->quality->sentence);
        estimate_words(&estimation, &t->quality->words, tokens, all, &made);
    }
    *out = made;
    return 0;
}

/* ---- doubt ---- */

bool translator_doubts(const struct sentence *sentence, const struct hypothesis *hypothesis, double *estimate) {
    const struct translator *t = sentence->translator;
    double features[QUALITY_DOUBT_FEATURES] = {0}, count = 0;
    if (!t->quality)
        return false;
    const struct quality_doubt *doubt = &t->quality->doubt;
    for (size_t i = 0; i < hypothesis->length + hypothesis->ended; i++) {
        if (i < hypothesis->length && (size_t)hypothesis->tokens[i] >= tokenizer_size(t->target))
            continue;
        features[QUALITY_DOUBT_LOG_PROB] += (double)quality_clip(hypothesis->log_probs[i], 0);
        features[QUALITY_DOUBT_ENTROPY] += (double)hypothesis->entropies[i];
        count++;
    }
    if (count == 0)
        return false;
    features[QUALITY_DOUBT_ENTROPY] /= count;
    features[QUALITY_DOUBT_LENGTH] = log(count);
    double sum = (double)doubt->constant;
    for (size_t f = 0; f < QUALITY_DOUBT_FEATURES; f++)
        sum += (double)doubt->weights[f] * features[f];
    *estimate = 1 / (1 + exp(-sum));
    return *estimate < (double)doubt->below;
}
