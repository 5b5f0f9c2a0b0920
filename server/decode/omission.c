#include "server/decode/omission.h"

/* A third would suspect one in twenty of the whole translations of a model whose attention was not guided. */
enum { LEAST_TOKENS = 8, LEAST_EIGHTHS = 3 };
static const float LEAST_COVERAGE = 0.2f;

/* Adds a row, scaled to sum 1 over the source's own tokens [n]. */
static void add_scaled(float *coverage, const float *row, size_t n) {
    float sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += row[j];
    for (size_t j = 0; j < n && sum > 0; j++)
        coverage[j] += row[j] / sum;
}

int omission_add(const float *const *rows, size_t target, struct span source, const bool *held, struct arena *arena,
                 struct omission *sum, struct error *err) {
    struct arena_mark mark = arena_mark(arena);
    size_t count = source.end - source.begin;
    float *coverage = arena_zalloc(arena, count, sizeof *coverage);
    if (!coverage)
        return error_memory(err);
    for (size_t i = 0; i < target; i++)
        add_scaled(coverage, rows[i] + source.begin, count);
    for (size_t j = 0; j < count; j++)
        sum->left += coverage[j] < LEAST_COVERAGE && !(held && held[j]);
    sum->tokens += count;
    arena_release(arena, mark);
    return 0;
}

bool omission_is_much(const struct omission *sum) {
    return sum->tokens >= LEAST_TOKENS && 8 * sum->left > LEAST_EIGHTHS * sum->tokens;
}
