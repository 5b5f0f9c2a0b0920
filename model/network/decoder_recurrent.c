/* Recurrent decoders: stacked cells, one of which may read a context. Styles (where the attention stands in the step) are a table.
 *
 * A context c = sum_j a_j V h_j (V the identity, unless values are learned) is read through matrices only: by a cell of the first
 * layer, by the readout. W c + b = sum_j a_j (W V h_j + b), since the weights sum to 1: so these products are made once per
 * sentence, for all its tokens at once, and not for each row in each step. The values of the attention's memory hold them side by
 * side; where something reads c itself, V h_j. Without attention c is the encoder's final state, and the memory has one entry, the
 * products with it. Where products are normalised, the norm is of their weighted sum, W c + b, and so no part of the values.
 *
 * A row's state: each layer's h (and LSTM's c); with coverage the sum of its attention to each token; with input feeding h~ [O]. */
#include "model/network/decoder_recurrent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *style) {
    return recurrent_style_find(style, NULL) != NULL;
}

/* ---- the memory ---- */

/* values [n, P] of what a context may be, x [n, D]: first what a cell reads of it, then what the readout does. */
static void make_values(const struct recurrent *d, struct vectors x, size_t n, float *values) {
    const struct linear *cell = recurrent_context(d);
    if (cell->out > 0)
        linear_apply(cell, x.x, x.distance, n, values, d->attention.value);
    readout_values(&d->readout, x, n, values + cell->out, d->attention.value);
}

/* The same of annotations, through V where values are learned. */
static int values_of(const struct recurrent *d, const float *annotations, size_t tokens, struct arena *arena, float *values,
                     struct error *err) {
    const struct linear *learned = &d->attention.values;
    if (learned->out == 0) {
        make_values(d, (struct vectors){annotations, d->annotation}, tokens, values);
        return 0;
    }
    struct arena_mark mark = arena_mark(arena);
    float *x = arena_alloc(arena, tokens * learned->out, sizeof *x);
    if (!x)
        return error_memory(err);
    linear_apply(learned, annotations, d->annotation, tokens, x, learned->out);
    make_values(d, (struct vectors){x, learned->out}, tokens, values);
    arena_release(arena, mark);
    return 0;
}

static int remember(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count, struct arena *arena,
                    float *keys, float *values, struct error *err) {
    const struct recurrent *own = decoder->own;
    if (!decoder->attends) {
        make_values(own, (struct vectors){encoded->top + first * encoded->top_ld, encoded->top_ld}, count, values);
        return 0;
    }
    const float *annotations = encoded->annotations + first * own->annotation;
    attention_keys(&own->attention, annotations, count, keys);
    return values_of(own, annotations, count, arena, values, err);
}

/* ---- the first state ---- */

static size_t longest(const size_t *lengths, size_t n) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = lengths[i] > most ? lengths[i] : most;
    return most;
}

/* mean [D] of annotations [T, D]: a context of equal weights, of which `equal` has room for T. */
static void mean_of(const struct recurrent *d, const float *annotations, size_t length, float *equal, float *mean) {
    for (size_t t = 0; t < length; t++)
        equal[t] = 1.0f / (float)length;
    d->kernels->weighted_sum(equal, annotations, length, d->annotation, mean);
}

/* h of layer l for each sentence: summary [n, D], projected or copied. LSTM's c is the same or stays zero. */
static void start_layer(const struct decoder *decoder, size_t l, const float *summary, size_t n, float *states) {
    const struct recurrent *d = decoder->own;
    size_t distance = decoder->shape.state;
    float *h = states + l * d->layer_size;
    if (d->projected)
        linear_apply(&d->initial[l], summary, d->annotation, n, h, distance);
    norm_apply(&d->initial_norms[l], d->kernels, n, h, distance);
    for (size_t i = 0; i < n; i++, h += distance, summary += d->annotation) {
        if (d->projected)
            d->kernels->tanh(h, d->hidden);
        else
            memcpy(h, summary, d->hidden * sizeof *h);
        if (d->initial_cell)
            memcpy(h + d->hidden, h, d->hidden * sizeof *h);
    }
}

/* Without a projection `last` hands each layer of the encoder to the decoder's layer of that number, LSTM's c too. */
static void hand_over(const struct decoder *decoder, const struct encoded *encoded, size_t n, float *states) {
    const struct recurrent *d = decoder->own;
    for (size_t l = 0; l < d->layers; l++)
        for (size_t i = 0; i < n; i++)
            memcpy(states + i * decoder->shape.state + l * d->layer_size, encoded->finals[l] + i * d->layer_size,
                   d->layer_size * sizeof *states);
}

/* One summary a sentence [n, D]: the top layer's final h, or the mean annotation. equal: room for the longest. */
static void summarize(const struct recurrent *d, const struct encoded *encoded, const size_t *lengths, size_t n, float *equal,
                      float *summary) {
    const float *annotations = encoded->annotations;
    for (size_t i = 0; i < n; i++) {
        if (d->initial_state == INITIAL_MEAN)
            mean_of(d, annotations, lengths[i], equal, summary + i * d->annotation);
        else
            memcpy(summary + i * d->annotation, encoded->top + i * encoded->top_ld, d->annotation * sizeof *summary);
        annotations += lengths[i] * d->annotation;
    }
}

static int recurrent_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                           struct arena *arena, float *states, struct error *err) {
    const struct recurrent *d = decoder->own;
    memset(states, 0, n * decoder->shape.state * sizeof *states);
    if (d->initial_state == INITIAL_ZERO)
        return 0;
    if (d->initial_state == INITIAL_LAST && !d->projected) {
        hand_over(decoder, encoded, n, states);
        return 0;
    }
    struct arena_mark mark = arena_mark(arena);
    float *summary = arena_alloc(arena, n * d->annotation, sizeof *summary);
    float *equal = arena_alloc(arena, longest(lengths, n), sizeof *equal);
    if (arena_failed(arena))
        return error_memory(err);
    summarize(d, encoded, lengths, n, equal, summary);
    for (size_t l = 0; l < d->layers; l++)
        start_layer(decoder, l, summary, n, states);
    arena_release(arena, mark);
    return 0;
}

/* ---- loading ---- */

/* What layer l starts from. */
static void load_initial(struct recurrent *d, size_t l, struct weights *weights, struct error *err) {
    char weight[64], bias[64], gain[64], shift[64];
    snprintf(weight, sizeof weight, "decoder.initial.%zu.weight", l);
    snprintf(bias, sizeof bias, "decoder.initial.%zu.bias", l);
    snprintf(gain, sizeof gain, "decoder.initial.%zu.gain", l);
    snprintf(shift, sizeof shift, "decoder.initial.%zu.shift", l);
    struct linear_names names = {.weight = weight, .bias = bias};
    weights_linear(weights, &names, d->hidden, d->annotation, &d->initial[l], err);
    norm_init(&d->initial_norms[l], d->norm, &(struct norm_names){gain, shift, d->hidden, 0}, weights, err);
}

static void load_layer(struct recurrent *d, const struct model_config *config, size_t l, struct weights *weights,
                       struct error *err) {
    char name[64];
    snprintf(name, sizeof name, "decoder.layers.%zu.", l);
    struct cell_shape shape = {
        .in = l == 0 ? config->decoder.embedding + d->feed : d->hidden, .hidden = d->hidden, .norm = d->norm};
    if (l == 0 && d->style->reader == FIRST_CELL)
        shape.columns = shape.in + d->context;
    if (l > 0)
        shape.transitions = d->upper_transitions;
    else if (d->style->reader != SECOND_CELL) /* which they follow where there is one */
        shape.transitions = d->transitions;
    cell_init(&d->cells[l], d->cell, name, &shape, weights, d->kernels, err);
    if (d->projected)
        load_initial(d, l, weights, err);
}

/* What reads the context besides the readout: the right part of the first cell's matrix, whose left part has the bias, or a second
 * cell. */
static void load_context_reader(struct recurrent *d, const struct model_config *config, struct weights *weights,
                                struct error *err) {
    size_t embedding = config->decoder.embedding;
    struct linear_names names = {.weight = "decoder.layers.0.weight_input", .first = embedding, .columns = embedding + d->context};
    struct cell_shape shape = {.in = d->context, .hidden = d->hidden, .norm = d->norm, .transitions = d->transitions};
    if (d->style->reader == FIRST_CELL)
        weights_linear(weights, &names, d->cell->gates * d->hidden, d->context, &d->input_context, err);
    if (d->style->reader == SECOND_CELL)
        cell_init(&d->conditional, d->cell, "decoder.conditional.", &shape, weights, d->kernels, err);
}

static int recurrent_load(struct decoder *decoder, const struct model_config *config, struct weights *weights, struct error *err) {
    struct recurrent *d = decoder->own;
    for (size_t l = 0; l < d->layers; l++)
        load_layer(d, config, l, weights, err);
    load_context_reader(d, config, weights, err);
    if (readout_init(&d->readout, config, d->norm, weights, d->kernels, err) != 0 ||
        (decoder->attends && attention_init(&d->attention, config, weights, d->kernels, err) != 0))
        return -1;
    d->attention.value = recurrent_context(d)->out + readout_value(&d->readout);
    return 0;
}

static void find_shape(struct decoder *decoder, const struct model_config *config) {
    const struct recurrent *d = decoder->own;
    size_t covered = config->attention.coverage ? config_positions(config) : 0;
    decoder->shape.state = d->layers * d->layer_size + covered + d->feed;
    decoder->shape.key = d->attention.key_size;
    decoder->shape.value = d->attention.value;
    decoder->shape.top = d->hidden;
    decoder->shape.readout = config_readout_size(config);
}

static int recurrent_init(struct decoder *decoder, const struct model_config *config, struct weights *weights, struct error *err) {
    const struct decoder_config *c = &config->decoder;
    const struct recurrent_style *style = recurrent_style_find(c->style, err);
    const struct cell_kind *cell = cell_kind_find("decoder.cell", c->cell, err);
    const struct norm_kind *norm = norm_kind_find("decoder.normalization", c->normalization, err);
    if (!style || !cell || !norm)
        return -1;
    struct recurrent *own = decoder->own = malloc(sizeof *own);
    if (!own)
        return error_memory(err);
    *own = (struct recurrent){.style = style,
                              .kernels = decoder->kernels,
                              .cell = cell,
                              .norm = norm,
                              .hidden = c->hidden,
                              .layers = c->layers,
                              .annotation = config_annotation_size(config),
                              .context = config_context_size(config),
                              .layer_size = cell->states * c->hidden,
                              .feed = c->input_feeding ? config_readout_size(config) : 0,
                              .initial_state = c->initial_state,
                              .projected = c->initial_projection,
                              .residual = c->residual,
                              .initial_cell = c->initial_cell,
                              .transitions = c->transitions,
                              .upper_transitions = c->upper_transitions};
    decoder->attends = config_attends(config);
    if (recurrent_load(decoder, config, weights, err) != 0)
        return -1;
    find_shape(decoder, config);
    return 0;
}

static void recurrent_done(void *own) {
    struct recurrent *d = own;
    for (size_t l = 0; l < d->layers; l++) {
        cell_done(&d->cells[l]);
        linear_done(&d->initial[l]);
    }
    cell_done(&d->conditional);
    linear_done(&d->input_context);
    readout_done(&d->readout);
    attention_done(&d->attention);
    free(d);
}

const struct decoder_kind decoder_recurrent = {has, recurrent_init, recurrent_done, recurrent_start, remember, recurrent_step};
