#include "model/gibbs/aligner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sweeps with the simpler models; with the whole one; of each pair when all samplers are done. Of a
 * small corpus a word has few occurrences, and a sweep changes little. */
enum { WORD_SWEEPS = 3, JUMP_SWEEPS = 3, LEAST_SWEEPS = 6, MOST_SWEEPS = 200, OBSERVED_SWEEPS = 4 };
static const double SWEEPS_OF_ONE = 8000; /* divided by the square root of the number of pairs */

/* One direction. */
struct direction {
    const struct side *source, *target;
    size_t pairs;
    struct sampler samplers[ALIGNER_MAX_SAMPLERS];
    int count;
};

static int sweeps_of(size_t pairs, const struct aligner_options *options) {
    if (options->sweeps)
        return options->sweeps;
    double sweeps = SWEEPS_OF_ONE / sqrt((double)pairs + 1);
    return sweeps < LEAST_SWEEPS ? LEAST_SWEEPS : sweeps > MOST_SWEEPS ? MOST_SWEEPS : (int)sweeps;
}

static int sweep(struct sampler *sampler, enum stage stage, int times, struct error *err) {
    for (int i = 0; i < times; i++)
        if (sampler_sweep(sampler, stage, err) != 0)
            return -1;
    return 0;
}

static int sample(struct sampler *sampler, int sweeps, struct error *err) {
    if (sweep(sampler, STAGE_START, 1, err) != 0 ||
        sweep(sampler, STAGE_WORDS, WORD_SWEEPS, err) != 0 ||
        sweep(sampler, STAGE_JUMPS, JUMP_SWEEPS, err) != 0)
        return -1;
    return sweep(sampler, STAGE_FERTILITY, sweeps, err);
}

static uint8_t likeliest(const float *sums, size_t sources) {
    size_t best = sources;
    for (size_t i = 0; i < sources; i++)
        best = sums[i] > sums[best] ? i : best;
    return best == sources ? NO_LINK : (uint8_t)best;
}

/* The combined result of all samplers. sums: [CORPUS_LONGEST, CORPUS_LONGEST + 1] */
static int decide(struct direction *d, float *sums, uint8_t *links, struct error *err) {
    for (size_t pair = 0; pair < d->pairs; pair++) {
        size_t sources = side_length(d->source, pair), targets = side_length(d->target, pair);
        memset(sums, 0, targets * (sources + 1) * sizeof *sums);
        for (int i = 0; i < d->count; i++)
            if (sampler_observe(&d->samplers[i], pair, OBSERVED_SWEEPS, sums, err) != 0)
                return -1;
        for (size_t j = 0; j < targets; j++)
            links[d->target->starts[pair] + j] = likeliest(sums + j * (sources + 1), sources);
    }
    return 0;
}

static int run_samplers(struct direction *d, int direction, const struct aligner_options *options,
                        struct error *err) {
    while (d->count < options->samplers) {
        struct sampler *sampler = &d->samplers[d->count];
        uint64_t seed = options->seed * ALIGNER_MAX_SAMPLERS + (uint64_t)d->count;
        if (sampler_init(sampler, d->source, d->target, d->pairs, seed, err) != 0)
            return -1;
        d->count++;
        if (sample(sampler, sweeps_of(d->pairs, options), err) != 0)
            return -1;
        if (options->report)
            options->report(direction, d->count, options->samplers);
    }
    return 0;
}

static int run_direction(const struct corpus *corpus, int source,
                         const struct aligner_options *options, uint8_t **links,
                         struct error *err) {
    struct direction d = {
        &corpus->sides[source], &corpus->sides[1 - source], corpus->pairs, {{0}}, 0};
    float *sums = malloc(sizeof *sums * CORPUS_LONGEST * (CORPUS_LONGEST + 1));
    uint8_t *found = malloc(d.target->starts[d.pairs] + 1);
    int status = sums && found ? run_samplers(&d, source, options, err) : error_memory(err);
    if (status == 0)
        status = decide(&d, sums, found, err);
    for (int i = 0; i < d.count; i++)
        sampler_done(&d.samplers[i]);
    free(sums);
    if (status == 0)
        *links = found;
    else
        free(found);
    return status;
}

int aligner_run(const struct corpus *corpus, const struct aligner_options *options,
                uint8_t *links[2], struct error *err) {
    uint8_t *forward, *backward;
    if (run_direction(corpus, 0, options, &forward, err) != 0)
        return -1;
    if (run_direction(corpus, 1, options, &backward, err) != 0) {
        free(forward);
        return -1;
    }
    links[0] = forward;
    links[1] = backward;
    return 0;
}
