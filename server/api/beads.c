/* This module hides how sentences are paired: a path of least cost through the lengths of both
 * sides. */
#include "server/api/beads.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Gale and Church's figures for the variance of a translation's length and, for the groups that
 * they counted, how often each occurs; longer groups are rarer by the same factor each. */
static const double VARIANCE = 6.8;
static const struct kind {
    uint8_t source, target;
    double probability;
} kinds[] = {{1, 1, 0.89},   {2, 1, 0.045},  {1, 2, 0.045},   {2, 2, 0.011},
             {3, 1, 0.0045}, {1, 3, 0.0045}, {4, 1, 0.00045}, {1, 4, 0.00045}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The lengths of the first i sentences together. */
static size_t *add_lengths(const struct spans *spans, struct arena *arena) {
    size_t *sums = arena_zalloc(arena, spans->count + 1, sizeof *sums);
    for (size_t i = 0; sums && i < spans->count; i++)
        sums[i + 1] = sums[i] + spans->all[i].end - spans->all[i].begin;
    return sums;
}

/* Returns -log of the probability that texts of these lengths translate each other, where a byte of
 * the source has `ratio` bytes in the translation. */
static double length_cost(double source, double target, double ratio) {
    static const double LEAST = 1e-12; /* two-sided tail of the normal distribution */
    double mean = (source + target / ratio) / 2,
           delta = (target - source * ratio) / sqrt(VARIANCE * (mean + 1)),
           tail = erfc(fabs(delta) / M_SQRT2);
    return -log(tail > LEAST ? tail : LEAST) + (tail > LEAST ? 0 : fabs(delta));
}

int beads_find(const struct spans *sources, const struct spans *targets, struct arena *arena,
               struct beads *out, struct error *err) {
    size_t source_count = sources->count, target_count = targets->count;
    size_t width = target_count + 1, cells = (source_count + 1) * width;
    const size_t *source_sums = add_lengths(sources, arena),
                 *target_sums = add_lengths(targets, arena);
    struct bead *all = arena_alloc(arena, source_count, sizeof *all);
    double *costs = arena_alloc(arena, cells, sizeof *costs);
    uint8_t *last = arena_alloc(arena, cells, 1); /* the kind of the last bead of each prefix */
    if (!source_sums || !target_sums || !all || !costs || !last)
        return error_memory(err);
    double source_all = (double)source_sums[source_count],
           target_all = (double)target_sums[target_count];
    double ratio = source_all > 0 && target_all > 0 ? target_all / source_all : 1;

    for (size_t i = 0; i <= source_count; i++)
        for (size_t j = 0; j <= target_count; j++) {
            double best = i + j == 0 ? 0 : INFINITY;
            for (size_t k = 0; k < KINDS; k++) {
                size_t from = kinds[k].source, to = kinds[k].target;
                if (from > i || to > j || isinf(costs[(i - from) * width + j - to]))
                    continue;
                double cost = costs[(i - from) * width + j - to] - log(kinds[k].probability) +
                              length_cost((double)(source_sums[i] - source_sums[i - from]),
                                          (double)(target_sums[j] - target_sums[j - to]), ratio);
                if (cost < best) {
                    best = cost;
                    last[i * width + j] = (uint8_t)k;
                }
            }
            costs[i * width + j] = best;
        }

    if (isinf(costs[cells - 1])) {
        *all = (struct bead){0, 0, source_count, target_count};
        *out = (struct beads){all, 1};
        return 0;
    }
    size_t used = 0;
    for (size_t i = source_count, j = target_count; i > 0;) {
        const struct kind *kind = &kinds[last[i * width + j]];
        i -= kind->source;
        j -= kind->target;
        all[used++] = (struct bead){i, j, kind->source, kind->target};
    }
    for (size_t i = 0; i < used / 2; i++) {
        struct bead swap = all[i];
        all[i] = all[used - 1 - i];
        all[used - 1 - i] = swap;
    }
    *out = (struct beads){all, used};
    return 0;
}
