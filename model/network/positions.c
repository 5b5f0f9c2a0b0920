#include "model/network/positions.h"
#include "model/base/table.h"

#include <math.h>
#include <stdlib.h>

/* init (NULL: nothing to do) makes the table. beyond (NULL: the last row stands for all): x += p of a position that the table does
 * not have. */
struct positions_kind {
    const char *name;
    int (*init)(struct positions *positions, const char *parameter, struct weights *weights, struct error *err);
    void (*beyond)(const struct positions *positions, size_t position, float *x);
};

/* As Marian computes it, in float32: p(t)[i] = sin(t w_i), p(t)[d/2 + i] = cos(t w_i), w_i = exp(-i ln(10000) / (d/2 - 1)). */
static void add_sinusoids(const struct positions *positions, size_t position, float *x) {
    size_t half = positions->size / 2;
    float step = logf(10000.0f) / ((float)half - 1);
    for (size_t i = 0; i < half; i++) {
        float angle = (float)position * expf((float)i * -step);
        x[i] += sinf(angle);
        x[half + i] += cosf(angle);
    }
}

static int make_sinusoids(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    (void)parameter;
    positions->made = calloc(positions->rows, positions->size * sizeof *positions->made);
    if (!positions->made) {
        error_memory(err);
        return weights_fail(weights);
    }
    for (size_t t = 0; t < positions->rows; t++)
        add_sinusoids(positions, t, positions->made + t * positions->size);
    positions->table = positions->made;
    return 0;
}

static int load_learned(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    positions->table = weights_get(weights, parameter, positions->rows, positions->size, err);
    return positions->table ? 0 : -1;
}

static int use_alibi(struct positions *positions, const char *parameter, struct weights *weights, struct error *err) {
    (void)parameter, (void)weights, (void)err;
    positions->alibi = true;
    return 0;
}

static const struct positions_kind kinds[] = {
    {"sinusoidal", make_sinusoids, add_sinusoids},
    {"learned", load_learned, NULL},
    {"alibi", use_alibi, NULL},
    {"none", NULL, NULL},
};

int positions_init(struct positions *positions, const char *kind, const char *parameter, size_t rows, size_t size,
                   struct weights *weights, struct error *err) {
    *positions = (struct positions){.size = size, .rows = rows};
    positions->kind = TABLE_FIND(kinds, parameter, kind, err);
    if (!positions->kind)
        return weights_fail(weights);
    return positions->kind->init ? positions->kind->init(positions, parameter, weights, err) : 0;
}

void positions_done(struct positions *positions) {
    free(positions->made);
    *positions = (struct positions){0};
}

void positions_add(const struct positions *positions, const struct kernels *kernels, size_t position, float *x) {
    if (!positions->table)
        return;
    if (position >= positions->rows && positions->kind->beyond) {
        positions->kind->beyond(positions, position, x);
        return;
    }
    size_t row = position < positions->rows ? position : positions->rows - 1;
    kernels->add(positions->table + row * positions->size, positions->size, x);
}
