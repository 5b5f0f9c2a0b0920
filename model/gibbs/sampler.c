#include "model/gibbs/sampler.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Counts that every outcome has before anything is counted. Of words few: that makes a few of all
 * target words likely. */
static const float WORD_PRIOR = 0.001f, JUMP_PRIOR = 0.5f;
static const float FERTILITY_PRIOR =
    4; /* occurrences of each word, with fertilities as they are on average */
static const float NO_LINK_ODDS =
    0.25f;                      /* odds of no link against a link, before any word is looked at */
static const float TENSION = 4; /* pull of the START towards the diagonal, as in Dyer et al. 2013 */
static const float START_NO_LINK = 0.1f; /* odds of no link against all links in the START */

/* One pair while its links are drawn. Places count from 0; the place before the first source word
 * is -1, the one after the last is `sources`. */
struct view {
    const uint32_t *source, *target;
    size_t sources, targets;
    bool fertile;             /* fertilities are looked at */
    uint8_t *links;           /* [targets] */
    int next[CORPUS_LONGEST]; /* [targets] the place of the first link after each target word */
    uint8_t fertility[CORPUS_LONGEST]; /* [sources] */
    float leaving[CORPUS_LONGEST + 1]; /* [sources + 1] 1 / the sum of all jumps from place -1, 0,
                                          ... within the sentence */
    float shares[CORPUS_LONGEST + 1];  /* [sources + 1] what multiplies a count of the word at each
                                          place, the last: none */
    float weights[CORPUS_LONGEST + 1]; /* [sources + 1] of each place of the link that is drawn */
};

/* xorshift64* (Vigna 2016), its upper 24 bits: 0 <= u < 1. */
static float draw_uniform(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (float)((*state * 0x2545F4914F6CDD1D) >> 40) * 0x1p-24f;
}

static float total(const float *weights, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    return sum;
}

/* Draws an index of `count` weights in proportion to them; they become their running sums. */
static size_t draw(float *weights, size_t count, uint64_t *state) {
    for (size_t i = 1; i < count; i++)
        weights[i] += weights[i - 1];
    float at = draw_uniform(state) * weights[count - 1];
    size_t i = 0;
    while (i + 1 < count && weights[i] <= at)
        i++;
    return i;
}

/* ---- counts ---- */

/* 0 <= the index <= 2 JUMP_REACH of every jump that a sentence has room for. */
static size_t jump_index(int from, int to) {
    return (size_t)(to - from + JUMP_REACH);
}

static uint32_t *fertility_count(const struct sampler *s, uint32_t word, size_t fertility) {
    return &s->fertilities[word * (size_t)FERTILITIES +
                           (fertility < FERTILITIES ? fertility : FERTILITIES - 1)];
}

/* How likely one link more is than none more. Each occurrence is judged by the others of its word.
 */
static float fertility_odds(const struct sampler *s, uint32_t word, size_t fertility) {
    size_t now = fertility < FERTILITIES - 1 ? fertility : FERTILITIES - 1;
    size_t more = now < FERTILITIES - 1 ? now + 1 : now;
    const uint32_t *counts = fertility_count(s, word, 0);
    return ((float)(counts[more] - (now == more)) + s->fertility_prior[more]) /
           ((float)(counts[now] - 1) + s->fertility_prior[now]);
}

static void share(const struct sampler *s, struct view *v, size_t i) {
    uint32_t word = i < v->sources ? v->source[i] : 0;
    float all = WORD_PRIOR * (float)(s->target->vocabulary - 1);
    v->shares[i] = (i < v->sources ? 1 : NO_LINK_ODDS) / ((float)s->totals[word] + all);
    if (v->fertile && i < v->sources)
        v->shares[i] *= fertility_odds(s, word, v->fertility[i]);
}

/* The counts of the word at place i have changed. */
static void share_anew(const struct sampler *s, struct view *v, size_t i) {
    if (i == v->sources)
        share(s, v, i);
    for (size_t other = 0; other < v->sources && i < v->sources; other++)
        if (v->source[other] == v->source[i])
            share(s, v, other);
}

static int add_link(struct sampler *s, struct view *v, size_t j, size_t i) {
    uint32_t word = i < v->sources ? v->source[i] : 0;
    v->links[j] = i < v->sources ? (uint8_t)i : NO_LINK;
    s->totals[word]++;
    if (i < v->sources) {
        --*fertility_count(s, word, v->fertility[i]);
        ++*fertility_count(s, word, ++v->fertility[i]);
    }
    share_anew(s, v, i);
    return counts_add(&s->words.tables[word], v->target[j]);
}

static void remove_link(struct sampler *s, struct view *v, size_t j) {
    size_t i = v->links[j] == NO_LINK ? v->sources : v->links[j];
    uint32_t word = i < v->sources ? v->source[i] : 0;
    s->totals[word]--;
    if (i < v->sources) {
        --*fertility_count(s, word, v->fertility[i]);
        ++*fertility_count(s, word, --v->fertility[i]);
    }
    share_anew(s, v, i);
    counts_remove(&s->words.tables[word], v->target[j]);
}

static void count_jumps(struct sampler *s) {
    double counts[2 * JUMP_REACH + 1], sum = 0;
    for (size_t i = 0; i <= 2 * JUMP_REACH; i++)
        counts[i] = (double)JUMP_PRIOR;
    for (size_t pair = 0; pair < s->pairs; pair++) {
        const uint8_t *links = s->links + s->target->starts[pair];
        int from = -1, sources = (int)side_length(s->source, pair);
        for (size_t j = 0; j < side_length(s->target, pair); j++)
            if (links[j] != NO_LINK) {
                counts[jump_index(from, links[j])]++;
                from = links[j];
            }
        counts[jump_index(from, sources)] += sources > 0;
    }
    for (size_t i = 0; i <= 2 * JUMP_REACH; i++)
        sum += counts[i];
    for (size_t i = 0; i <= 2 * JUMP_REACH; i++)
        s->jumps[i] = (float)(counts[i] / sum);
}

static void average_fertilities(struct sampler *s) {
    double counts[FERTILITIES], sum = 0;
    for (size_t f = 0; f < FERTILITIES; f++) {
        counts[f] = 1;
        for (size_t word = 1; word < s->source->vocabulary; word++)
            counts[f] += s->fertilities[word * FERTILITIES + f];
        sum += counts[f];
    }
    for (size_t f = 0; f < FERTILITIES; f++)
        s->fertility_prior[f] = FERTILITY_PRIOR * (float)(counts[f] / sum);
}

/* ---- one pair ---- */

/* The sum from each place has one jump more than that from the place before it, and one less. */
static void sum_jumps(const struct sampler *s, struct view *v) {
    int sources = (int)v->sources;
    double sum = 0;
    for (int to = 0; to <= sources; to++)
        sum += (double)s->jumps[jump_index(-1, to)];
    for (int from = -1; from < sources; from++) {
        v->leaving[from + 1] = (float)(1 / sum);
        sum +=
            (double)s->jumps[jump_index(from + 1, 0)] - (double)s->jumps[jump_index(from, sources)];
    }
}

static void view_pair(const struct sampler *s, size_t pair, enum stage stage, struct view *v) {
    v->source = side_words(s->source, pair);
    v->target = side_words(s->target, pair);
    v->sources = side_length(s->source, pair);
    v->targets = side_length(s->target, pair);
    v->links = s->links + s->target->starts[pair];
    v->fertile = stage == STAGE_FERTILITY;
    memset(v->fertility, 0, sizeof v->fertility);
    for (size_t j = 0; j < v->targets; j++)
        if (v->links[j] != NO_LINK)
            v->fertility[v->links[j]]++;
    for (size_t i = 0; i <= v->sources; i++)
        share(s, v, i);
    sum_jumps(s, v);
}

static void look_ahead(struct view *v) {
    int next = (int)v->sources;
    for (size_t j = v->targets; j-- > 0;) {
        v->next[j] = next;
        next = v->links[j] == NO_LINK ? next : v->links[j];
    }
}

/* While it waits for one target word's counts, those of the next are fetched. */
static void weigh_words(const struct sampler *s, struct view *v, size_t j) {
    const struct table *tables = s->words.tables;
    uint32_t next = v->target[j + 1 < v->targets ? j + 1 : j];
    for (size_t i = 0; i < v->sources; i++) {
        __builtin_prefetch(counts_bucket(&tables[v->source[i]], next));
        v->weights[i] = (float)counts_of(&tables[v->source[i]], v->target[j]);
    }
    v->weights[v->sources] = (float)counts_of(&tables[0], v->target[j]);
    for (size_t i = 0; i <= v->sources; i++)
        v->weights[i] = (v->weights[i] + WORD_PRIOR) * v->shares[i];
}

static void weigh_diagonal(struct view *v, size_t j) {
    float at = ((float)j + 0.5f) / (float)v->targets;
    for (size_t i = 0; i < v->sources; i++)
        v->weights[i] = expf(-TENSION * fabsf(at - ((float)i + 0.5f) / (float)v->sources));
    v->weights[v->sources] = START_NO_LINK * total(v->weights, v->sources);
}

/* previous: the place of the last link before target word j. */
static void weigh_jumps(const struct sampler *s, struct view *v, size_t j, int previous) {
    const float *here = s->jumps + jump_index(previous, 0),
                *on = s->jumps + jump_index(0, v->next[j]);
    for (int i = 0; i < (int)v->sources; i++)
        v->weights[i] *= here[i] * on[-i] * v->leaving[i + 1];
    v->weights[v->sources] *= s->jumps[jump_index(previous, v->next[j])];
}

static void weigh(const struct sampler *s, struct view *v, size_t j, int previous,
                  enum stage stage) {
    if (stage == STAGE_START)
        weigh_diagonal(v, j);
    else
        weigh_words(s, v, j);
    if (stage >= STAGE_JUMPS)
        weigh_jumps(s, v, j, previous);
}

static void observe(const struct view *v, float *sums) {
    float sum = total(v->weights, v->sources + 1);
    for (size_t i = 0; i <= v->sources; i++)
        sums[i] += v->weights[i] / sum;
}

/* sums: as in sampler_observe, or NULL. */
static int draw_pair(struct sampler *s, struct view *v, enum stage stage, float *sums) {
    int previous = -1;
    look_ahead(v);
    for (size_t j = 0; j < v->targets; j++) {
        if (stage != STAGE_START)
            remove_link(s, v, j);
        weigh(s, v, j, previous, stage);
        if (sums)
            observe(v, sums + j * (v->sources + 1));
        if (add_link(s, v, j, draw(v->weights, v->sources + 1, &s->random)) != 0)
            return -1;
        previous = v->links[j] == NO_LINK ? previous : v->links[j];
    }
    return 0;
}

/* ---- the corpus ---- */

int sampler_init(struct sampler *sampler, const struct side *source, const struct side *target,
                 size_t pairs, uint64_t seed, struct error *err) {
    struct sampler s = {.source = source,
                        .target = target,
                        .pairs = pairs,
                        .random = seed * 0x9E3779B97F4A7C15 + 1};
    uint32_t words = source->vocabulary > 0 ? source->vocabulary : 1; /* 0: the empty word */
    s.totals = calloc(words, sizeof *s.totals);
    s.fertilities = calloc(words, FERTILITIES * sizeof *s.fertilities);
    s.links = malloc(target->starts[pairs] + 1);
    if (!s.totals || !s.fertilities || !s.links || counts_init(&s.words, words) != 0) {
        sampler_done(&s);
        return error_memory(err);
    }
    memset(s.links, NO_LINK, target->starts[pairs]);
    for (size_t i = 0; i < source->starts[pairs]; i++)
        ++*fertility_count(&s, source->words[i], 0);
    *sampler = s;
    return 0;
}

void sampler_done(struct sampler *sampler) {
    if (!sampler)
        return;
    counts_done(&sampler->words);
    free(sampler->totals);
    free(sampler->fertilities);
    free(sampler->links);
}

int sampler_sweep(struct sampler *sampler, enum stage stage, struct error *err) {
    struct view view;
    count_jumps(sampler);
    average_fertilities(sampler);
    if (counts_tidy(&sampler->words) != 0)
        return error_memory(err);
    for (size_t pair = 0; pair < sampler->pairs; pair++) {
        view_pair(sampler, pair, stage, &view);
        if (draw_pair(sampler, &view, stage, NULL) != 0)
            return error_memory(err);
    }
    return 0;
}

int sampler_observe(struct sampler *sampler, size_t pair, int sweeps, float *sums,
                    struct error *err) {
    struct view view;
    view_pair(sampler, pair, STAGE_FERTILITY, &view);
    for (int i = 0; i < sweeps; i++)
        if (draw_pair(sampler, &view, STAGE_FERTILITY, sums) != 0)
            return error_memory(err);
    return 0;
}
