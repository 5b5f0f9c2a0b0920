#include "model/network/alignment.h"
#include <string.h>

int alignment_init(struct alignment *alignment, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err) {
    size_t size = config->alignment.size;
    struct linear_names query = {.weight = "alignment.query.weight", .bias = "alignment.query.bias"};
    struct linear_names key = {.weight = "alignment.key.weight"};
    *alignment = (struct alignment){.kernels = kernels};
    if (size == 0)
        return 0;
    weights_linear(weights, &query, size, config->decoder.embedding + config->decoder.hidden, &alignment->query, err);
    weights_linear(weights, &key, size, config_annotation_size(config) + config->encoder.embedding, &alignment->key, err);
    if (!weights_failed(weights))
        return 0;
    alignment_done(alignment);
    return -1;
}

void alignment_done(struct alignment *alignment) {
    linear_done(&alignment->query);
    linear_done(&alignment->key);
}

/* y [n, out] of the inputs side by side. */
static int apply(const struct linear *linear, const struct alignment_inputs *inputs, struct arena *arena, float *y,
                 struct error *err) {
    struct arena_mark mark = arena_mark(arena);
    float *x = arena_alloc(arena, inputs->count * linear->in, sizeof *x);
    if (!x)
        return error_memory(err);
    for (size_t i = 0; i < inputs->count; i++) {
        float *row = x + i * linear->in;
        memcpy(row, inputs->left.x + i * inputs->left.distance, inputs->left_size * sizeof *row);
        memcpy(row + inputs->left_size, inputs->right.x + i * inputs->right.distance,
               (linear->in - inputs->left_size) * sizeof *row);
    }
    linear_apply(linear, x, linear->in, inputs->count, y, linear->out);
    arena_release(arena, mark);
    return 0;
}

int alignment_keys(const struct alignment *alignment, const struct alignment_inputs *inputs, struct arena *arena, float *keys,
                   struct error *err) {
    return apply(&alignment->key, inputs, arena, keys, err);
}

int alignment_run(const struct alignment *alignment, const struct alignment_inputs *inputs, const float *keys, size_t length,
                  struct arena *arena, float *rows, struct error *err) {
    size_t size = alignment->query.out;
    struct arena_mark mark = arena_mark(arena);
    float *queries = arena_alloc(arena, inputs->count * size, sizeof *queries);
    int status = queries ? apply(&alignment->query, inputs, arena, queries, err) : error_memory(err);
    for (size_t i = 0; i < inputs->count && status == 0; i++) {
        alignment->kernels->dot(queries + i * size, keys, length, size, rows + i * length);
        alignment->kernels->softmax(rows + i * length, length);
    }
    arena_release(arena, mark);
    return status;
}
