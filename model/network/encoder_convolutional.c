/* Gehring et al. 2017, section 3, with one kind of annotation for both keys and values: x_0 = W (e + p) + b of the embeddings of
 * token and position; then for every layer [a; g] = convolution(x_{l-1}), x_l = sqrt(1/2) (a sigmoid(g) + x_{l-1}). Zeros stand
 * before a sentence's first token and after its last. Each layer is one product for all tokens of all sentences. */
#include "model/network/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* D = H. */
struct convolutional {
    size_t hidden, layers;
    size_t width, positions;                       /* taps m; rows of the next */
    const float *position_embedding;               /* [positions, E] */
    struct linear input;                           /* [H, E] */
    struct linear convolutions[CONFIG_MAX_LAYERS]; /* [2H, m * H], the taps of a row one after the other */
};

static void load_layer(struct convolutional *own, size_t l, struct weights *weights, struct error *err) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "encoder.layers.%zu.convolution.weight", l);
    snprintf(bias, sizeof bias, "encoder.layers.%zu.convolution.bias", l);
    weights_linear(weights, &(struct linear_names){.weight = weight, .bias = bias}, 2 * own->hidden, own->width * own->hidden,
                   &own->convolutions[l], err);
}

static int convolutional_init(struct encoder *e, const struct model_config *config, struct weights *weights, struct error *err) {
    struct convolutional *own = e->own = calloc(1, sizeof *own);
    if (!own)
        return error_memory(err);
    own->hidden = config->encoder.hidden;
    own->layers = config->encoder.layers;
    own->width = config->encoder.width;
    own->positions = config_positions(config);
    own->position_embedding = weights_get(weights, "encoder.positions", own->positions, e->embedding_size, err);
    struct linear_names names = {.weight = "encoder.input.weight", .bias = "encoder.input.bias"};
    weights_linear(weights, &names, own->hidden, e->embedding_size, &own->input, err);
    for (size_t l = 0; l < own->layers; l++)
        load_layer(own, l, weights, err);
    return weights_failed(weights) ? -1 : 0;
}

static void convolutional_done(void *own) {
    struct convolutional *loaded = own;
    linear_done(&loaded->input);
    for (size_t l = 0; l < loaded->layers; l++)
        linear_done(&loaded->convolutions[l]);
    free(loaded);
}

/* x += p. A text that could not be cut to the model's limit (one word of a thousand letters) stands in the last position to its
 * end. */
static void add_positions(const struct encoder *e, const struct convolutional *own, const struct sequences *sequences, float *x) {
    for (size_t i = 0; i < sequences->n; i++)
        for (size_t t = 0; t < sequences->lengths[i]; t++, x += e->embedding_size) {
            size_t position = t < own->positions ? t : own->positions - 1;
            e->kernels->add(own->position_embedding + position * e->embedding_size, e->embedding_size, x);
        }
}

/* What the convolution reads of a sentence h [length, H], token by token: its window [m, H], zeros past the ends. */
static void window(const struct convolutional *own, const float *h, size_t length, float *out) {
    size_t size = own->hidden, row = own->width * size, reach = own->width / 2;
    for (size_t t = 0; t < length; t++, out += row) {
        size_t before = t < reach ? reach - t : 0, first = t + before - reach;
        size_t end = t + reach + 1 < length ? t + reach + 1 : length, after = before + end - first;
        memset(out, 0, before * size * sizeof *out);
        memcpy(out + before * size, h + first * size, (end - first) * size * sizeof *out);
        memset(out + after * size, 0, (own->width - after) * size * sizeof *out);
    }
}

/* windows [tokens, m * H], units [tokens, 2H]: scratch. */
static void run_layer(const struct encoder *e, size_t l, const struct sequences *sequences, float *windows, float *units,
                      float *h) {
    const struct convolutional *own = e->own;
    size_t size = own->hidden, row = own->width * size;
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        window(own, h + at * size, sequences->lengths[i], windows + at * row);
    linear_apply(&own->convolutions[l], windows, row, sequences->tokens, units, 2 * size);
    for (size_t t = 0; t < sequences->tokens; t++)
        e->kernels->gated(units + t * 2 * size, size, h + t * size);
}

static int convolutional_run(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                             struct encoded *out) {
    const struct convolutional *own = e->own;
    size_t tokens = sequences->tokens;
    *out = (struct encoded){.annotations = arena_alloc(arena, tokens * own->hidden, sizeof(float))};
    struct arena_mark mark = arena_mark(arena);
    float *windows = arena_alloc(arena, tokens * own->width * own->hidden, sizeof *windows);
    float *units = arena_alloc(arena, tokens * 2 * own->hidden, sizeof *units);
    if (arena_failed(arena))
        return -1;
    add_positions(e, own, sequences, x);
    linear_apply(&own->input, x, e->embedding_size, tokens, out->annotations, own->hidden);
    for (size_t l = 0; l < own->layers; l++)
        run_layer(e, l, sequences, windows, units, out->annotations);
    arena_release(arena, mark);
    return 0;
}

const struct encoder_kind encoder_convolutional = {
    "convolutional", convolutional_init, convolutional_done, convolutional_run, NULL, NULL};
