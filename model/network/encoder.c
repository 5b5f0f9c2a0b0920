/* Hides how sentences are embedded and which kinds of encoders there are. The convolutional one, which needs nothing but products,
 * is here, too. */
#include "model/network/encoder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the convolutional encoder ---- */

/* Gehring et al. 2017, section 3, with one kind of annotation for both keys and values: x_0 = W (e + p) + b of the embeddings of
 * token and position; then for every layer [a; g] = convolution(x_{l-1}), x_l = sqrt(1/2) (a sigmoid(g) + x_{l-1}). Zeros stand
 * before a sentence's first token and after its last. Each layer is one product for all tokens of all sentences. D = H. */
struct convolutional {
    size_t hidden, layers;
    size_t width, positions;                       /* taps m; rows of position_embedding */
    const float *position_embedding;               /* [positions, E] */
    struct linear input;                           /* [H, E] */
    struct linear convolutions[CONFIG_MAX_LAYERS]; /* [2H, m * H], the taps of a row one after the other */
};

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
    for (size_t l = 0; l < own->layers; l++) {
        char weight[64], bias[64];
        snprintf(weight, sizeof weight, "encoder.layers.%zu.convolution.weight", l);
        snprintf(bias, sizeof bias, "encoder.layers.%zu.convolution.bias", l);
        weights_linear(weights, &(struct linear_names){.weight = weight, .bias = bias}, 2 * own->hidden, own->width * own->hidden,
                       &own->convolutions[l], err);
    }
    return weights_failed(weights) ? -1 : 0;
}

static void convolutional_done(void *own) {
    struct convolutional *loaded = own;
    linear_done(&loaded->input);
    for (size_t l = 0; l < loaded->layers; l++)
        linear_done(&loaded->convolutions[l]);
    free(loaded);
}

/* The input of the convolution for a sentence h [length, H]: for each token its window [m, H], zeros past the ends. */
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

static int convolutional_run(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                             struct encoded *out) {
    const struct convolutional *own = e->own;
    size_t tokens = sequences->tokens, size = own->hidden, row = own->width * size, embedding = e->embedding_size;
    float *h = arena_alloc(arena, tokens * size, sizeof *h);
    struct arena_mark mark = arena_mark(arena);
    float *windows = arena_alloc(arena, tokens * row, sizeof *windows);
    float *units = arena_alloc(arena, tokens * 2 * size, sizeof *units);
    *out = (struct encoded){.annotations = h};
    if (arena_failed(arena))
        return -1;

    /* A text that could not be cut to the model's limit (one word of a thousand letters) stands in the last position to its end. */
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        for (size_t t = 0; t < sequences->lengths[i]; t++) {
            size_t position = t < own->positions ? t : own->positions - 1;
            e->kernels->add(own->position_embedding + position * embedding, embedding, x + (at + t) * embedding);
        }
    linear_apply(&own->input, x, embedding, tokens, h, size);
    for (size_t l = 0; l < own->layers; l++) {
        for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
            window(own, h + at * size, sequences->lengths[i], windows + at * row);
        linear_apply(&own->convolutions[l], windows, row, tokens, units, 2 * size);
        for (size_t t = 0; t < tokens; t++)
            e->kernels->gated(units + t * 2 * size, size, h + t * size);
    }
    arena_release(arena, mark);
    return 0;
}

static const struct encoder_kind encoder_convolutional = {
    "convolutional", convolutional_init, convolutional_done, convolutional_run, NULL, NULL};

/* ---- all encoders ---- */

static const struct encoder_kind *const kinds[] = {&encoder_recurrent, &encoder_convolutional, &encoder_transformer};

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary, struct weights *weights,
                 const struct kernels *kernels, struct error *err) {
    const struct encoder_config *c = &config->encoder;
    *encoder = (struct encoder){
        .kernels = kernels, .vocabulary = vocabulary, .embedding_size = c->embedding, .annotation = config_annotation_size(config)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, c->type) == 0)
            encoder->kind = kinds[i];
    if (!encoder->kind)
        return error_set(err, ERROR_FORMAT, "encoder.type: %s is not known", c->type);
    const char *embedding = c->embedding_shared ? "decoder.embedding" : "encoder.embedding";
    weights_table(weights, embedding, vocabulary, c->embedding, &encoder->embedding, err);
    if (encoder->kind->init(encoder, config, weights, err) == 0)
        return 0;
    encoder_done(encoder);
    return -1;
}

void encoder_done(struct encoder *encoder) {
    if (encoder->own)
        encoder->kind->done(encoder->own);
    encoder->own = NULL;
}

/* Returns the embeddings [tokens, E] of the sentences, which it describes in `sequences`; NULL: out of memory. */
static float *embed(const struct encoder *e, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                    struct sequences *sequences) {
    *sequences = (struct sequences){.n = n, .lengths = lengths};
    for (size_t i = 0; i < n; i++) {
        assert(lengths[i] > 0);
        sequences->tokens += lengths[i];
        sequences->longest = lengths[i] > sequences->longest ? lengths[i] : sequences->longest;
    }
    float *x = arena_alloc(arena, sequences->tokens * e->embedding_size, sizeof *x);
    for (size_t i = 0; x && i < sequences->tokens; i++) {
        assert(ids[i] >= 0 && (size_t)ids[i] < e->vocabulary);
        weights_row(&e->embedding, (size_t)ids[i], x + i * e->embedding_size);
    }
    return x;
}

int encoder_run(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                struct encoded *out, struct error *err) {
    struct sequences sequences;
    float *x = embed(encoder, ids, lengths, n, arena, &sequences);
    return x && encoder->kind->run(encoder, x, &sequences, arena, out) == 0 ? 0 : error_memory(err);
}

int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena, float *weights,
                 struct error *err) {
    struct sequences sequences;
    struct encoded encoded;
    float *x = embed(encoder, ids, &length, 1, arena, &sequences);
    sequences.looks = weights;
    return x && encoder->kind->run(encoder, x, &sequences, arena, &encoded) == 0 ? 0 : error_memory(err);
}

bool encoder_divides(const struct encoder *encoder) {
    return encoder->kind->begin != NULL;
}

void *encoder_begin(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                    struct encoded *out, struct error *err) {
    struct sequences sequences;
    float *x = embed(encoder, ids, lengths, n, arena, &sequences);
    void *parts = x ? encoder->kind->begin(encoder, x, &sequences, arena, out) : NULL;
    if (!parts)
        error_memory(err);
    return parts;
}

bool encoder_advance(const struct encoder *encoder, void *parts, size_t work) {
    return encoder->kind->advance(encoder, parts, work);
}

size_t encoder_part_rows(size_t work, size_t each, size_t left) {
    enum { FEWEST = 32 };
    size_t rows = each > 0 ? work / each : left;
    rows = rows < FEWEST ? FEWEST : rows;
    return rows < left ? rows : left;
}
