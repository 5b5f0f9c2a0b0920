/* This file hides which kind of decoder a model has, and how a layer of a transformer's decoder
 * reads earlier words: by its mixer, which keeps a state or attends to a past. Recurrent decoders
 * are in decoder_recurrent.c. */
#include "model/network/layers.h"
#include "model/network/network.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void decoder_embed(const struct decoder *decoder, int token, float *x) {
    size_t size = decoder->shape.input;
    token = token == DECODER_FIRST ? decoder->first : token;
    assert(token == DECODER_FIRST || (token >= 0 && (size_t)token < decoder->vocabulary));
    if (token == DECODER_FIRST)
        memset(x, 0, size * sizeof *x);
    else
        weights_row(&decoder->embedding, (size_t)token, x);
}

/* ---- the transformer's decoder ----
 * Layers have a mixer, cross-attention and a feed-forward, each a block (model/network/layers.h).
 * The memory holds keys and values of all layers' cross-attention, layer l's from l d on; a row's
 * state and past hold those of all layers' mixers likewise. */

struct mixer;
struct step;

/* state, past: vectors of d that a row carries, and that a step adds to its past, in each layer.
 * init loads the parameters whose names begin with `prefix`, which is
 * "decoder.layers.N.PARAMETERS". */
struct mixer_kind {
    const char *name, *parameters;
    size_t state, past;
    void (*init)(struct mixer *mixer, const struct stack *stack,
                 const struct decoder_config *config, const char *prefix,
                 const struct loader *loader);
    void (*run)(const struct mixer *mixer, const struct step *step);
};

/* The parameters of one layer's mixer; those that its kind does not have stay zeroed. */
struct mixer {
    struct heads self;
    struct linear candidate, forget;
    size_t average_filter; /* a; 0: none */
    activation *activate;
    struct linear input, output, gate_input, gate_output;
    struct norm norm; /* the norm of ssru and of average */
};

struct layer {
    struct mixer mixer;
    struct heads cross;
    struct filter filter;
};

struct transformer {
    struct stack stack;
    const struct mixer_kind *mixer;
    size_t count, annotation; /* layers; D */
    size_t wide;              /* the widest middle of a feed-forward */
    size_t alignment_layer,
        alignment_head; /* the layer and the head whose attention is shown, from 0 */
    struct layer layers[CONFIG_MAX_LAYERS];
};

/* One step of R rows, in one of its layers. */
struct step {
    const struct stack *stack;
    const struct row *rows;
    size_t count;         /* R */
    size_t layer;         /* the one in progress */
    size_t state, past;   /* where its numbers begin in a row's state, and in what a step adds */
    float *x;             /* [R, d] updated */
    float *u, *q, *k, *v; /* scratch: [R, d] or [R, the width of all heads] */
    float *wide;          /* [R, the widest middle of a feed-forward] */
    float *weights;       /* [H, the most entries that a row attends to] */
};

/* ---- self-attention: heads over all that the layer has read so far (Vaswani et al. 2017) ---- */

static void init_self(struct mixer *mixer, const struct stack *stack,
                      const struct decoder_config *config, const char *prefix,
                      const struct loader *loader) {
    (void)config;
    heads_init_self(&mixer->self, stack, prefix, loader);
}

/* Keeps a key or a value x [width] for later steps, in the stack's room. */
static void keep(const struct stack *stack, const float *x, float *kept) {
    if (stack->narrow)
        stack->kernels->blocks->narrow(x, stack->width, kept);
    else
        memcpy(kept, x, stack->width * sizeof *x);
}

static void run_self(const struct mixer *mixer, const struct step *s) {
    const struct stack *stack = s->stack;
    const struct heads *self = &mixer->self;
    size_t width = stack->width;
    const float *read = block_read(stack, &self->norm, s->count, s->x, s->u);
    heads_project(self, read, s->count, &(struct projections){s->q, s->k, s->v, width});
    struct gaze gaze = {.query = s->q,
                        .keys = {.offset = s->past, .narrow = stack->narrow},
                        .values = {.offset = s->past + stack->room, .narrow = stack->narrow},
                        .lean = heads_leaning(self),
                        .context = s->u};
    for (size_t r = 0; r < s->count; r++, gaze.query += width, gaze.context += width) {
        const struct row *row = &s->rows[r];
        positions_rotate(&stack->positions, &stack->heads, row->step, s->q + r * width);
        positions_rotate(&stack->positions, &stack->heads, row->step, s->k + r * width);
        gaze.position = row->step;
        gaze.count = row->step + 1; /* the row's own key and value are the last of its past */
        gaze.keys.path = gaze.values.path = row->past;
        gaze.weights = row->looks.self
                           ? row->looks.self + s->layer * stack->heads.count * gaze.count
                           : s->weights;
        keep(stack, s->k + r * width, row->added + gaze.keys.offset);
        keep(stack, s->v + r * width, row->added + gaze.values.offset);
        heads_look(stack->kernels, &stack->heads, &gaze);
    }
    linear_apply(&self->output, s->u, width, s->count, s->q, stack->size);
    block_add(stack, &self->norm, s->count, s->q, s->x);
}

/* ---- ssru (Kim et al. 2019): z = W x, g = sigmoid(W_f x + b_f), c_t = g c_{t-1} + (1 - g) z, F =
 * max(c_t, 0); c_{-1} = 0 ---- */

static void init_ssru(struct mixer *mixer, const struct stack *stack,
                      const struct decoder_config *config, const char *prefix,
                      const struct loader *loader) {
    (void)config;
    block_linear(&mixer->candidate, prefix, "candidate",
                 (struct block_shape){stack->size, stack->size, false}, loader);
    block_linear(&mixer->forget, prefix, "forget",
                 (struct block_shape){stack->size, stack->size, stack->biases}, loader);
    block_norm(&mixer->norm, stack, prefix, loader);
}

static void run_ssru(const struct mixer *mixer, const struct step *s) {
    const struct stack *stack = s->stack;
    size_t size = stack->size;
    const float *read = block_read(stack, &mixer->norm, s->count, s->x, s->u);
    const struct linear_output outputs[] = {{.linear = &mixer->candidate, .y = s->q, .ldy = size},
                                            {.linear = &mixer->forget, .y = s->k, .ldy = size}};
    linear_apply_all(outputs, 2, read, size, s->count);
    for (size_t r = 0; r < s->count; r++)
        stack->kernels->blocks->ssru(s->k + r * size, size, s->rows[r].state + s->state,
                                     s->q + r * size);
    block_add(stack, &mixer->norm, s->count, s->q, s->x);
}

/* ---- average (Zhang et al. 2018) ---- */

/* m_t = (t m_{t-1} + x_t) / (t + 1); y = W_2 act(W_1 m + b_1) + b_2, or act(W_1 m + b_1) if that
 * has d rows, or m; F = sigmoid(W_i x + b_i) x + sigmoid(W_f y + b_f) y, or y. With norm "pre" y is
 * made of LN(m), and x stays as it is. */
static void init_average(struct mixer *mixer, const struct stack *stack,
                         const struct decoder_config *config, const char *prefix,
                         const struct loader *loader) {
    size_t size = stack->size, filter = config->average_filter;
    mixer->average_filter = filter;
    mixer->activate =
        activation_find("decoder.average_activation", config->average_activation, loader);
    if (filter > 0)
        block_linear(&mixer->input, prefix, "input",
                     (struct block_shape){filter, size, stack->biases}, loader);
    if (filter > 0 && filter != size)
        block_linear(&mixer->output, prefix, "output",
                     (struct block_shape){size, filter, stack->biases}, loader);
    if (config->average_gate) {
        block_linear(&mixer->gate_input, prefix, "gate.input",
                     (struct block_shape){size, size, stack->biases}, loader);
        block_linear(&mixer->gate_output, prefix, "gate.output",
                     (struct block_shape){size, size, stack->biases}, loader);
    }
    block_norm(&mixer->norm, stack, prefix, loader);
}

static void run_average(const struct mixer *mixer, const struct step *s) {
    const struct stack *stack = s->stack;
    size_t size = stack->size, count = s->count, filter = mixer->average_filter;
    float *y = s->q;
    for (size_t r = 0; r < count; r++) {
        const float *x = s->x + r * size;
        float *mean = s->rows[r].state + s->state, before = (float)s->rows[r].step;
        for (size_t i = 0; i < size; i++)
            mean[i] = (mean[i] * before + x[i]) / (before + 1);
        memcpy(y + r * size, mean, size * sizeof *y);
    }
    if (stack->pre)
        norm_apply(&mixer->norm, stack->kernels, count, y, size);
    if (filter > 0) {
        if (mixer->output.out) {
            struct pair_of_layers layers = {&mixer->input, &mixer->output, mixer->activate,
                                            stack->kernels};
            activation_between(&layers, y, count, s->wide, y);
        } else {
            linear_apply(&mixer->input, y, size, count, s->wide, filter);
            mixer->activate(s->wide, count * filter);
            memcpy(y, s->wide, count * size * sizeof *y);
        }
    }
    if (mixer->gate_input.out) {
        linear_apply(&mixer->gate_input, s->x, size, count, s->k, size);
        linear_apply(&mixer->gate_output, y, size, count, s->v, size);
        for (size_t r = 0; r < count;
             r++) /* each alone, so that its bits do not depend on its place among the others */
            stack->kernels->blocks->mix(s->k + r * size, s->x + r * size, s->v + r * size, size,
                                        y + r * size);
    }
    block_add(stack, &mixer->norm, count, y, s->x);
}

static const struct mixer_kind mixers[] = {
    {"self_attention", "self", 0, 2, init_self, run_self},
    {"ssru", "ssru", 1, 0, init_ssru, run_ssru},
    {"average", "average", 1, 0, init_average, run_average},
};

/* ---- one step ---- */

static void run_cross(const struct decoder *decoder, const struct heads *cross,
                      const struct step *s) {
    const struct transformer *own = decoder->own;
    const struct stack *stack = s->stack;
    size_t width = stack->width, heads = stack->heads.count;
    const float *read = block_read(stack, &cross->norm, s->count, s->x, s->u);
    linear_apply(&cross->query, read, stack->size, s->count, s->q, width);
    struct gaze gaze = {.query = s->q,
                        .keys.narrow = stack->narrow,
                        .values.narrow = stack->narrow,
                        .context = s->u,
                        .scored = own->alignment_head};
    for (size_t r = 0; r < s->count; r++, gaze.query += width, gaze.context += width) {
        const struct row *row = &s->rows[r];
        const struct memory *memory = row->memory;
        size_t length = memory->length,
               at = s->layer * stack->room * (memory->by_layer ? length : 1);
        gaze.count = length;
        gaze.keys.first = memory->keys + at;
        gaze.values.first = memory->values + at;
        gaze.keys.distance = gaze.values.distance =
            memory->by_layer ? stack->room : own->count * stack->room;
        gaze.forced = row->forced;
        gaze.weights = row->looks.cross ? row->looks.cross + s->layer * heads * length : s->weights;
        bool shown = s->layer == own->alignment_layer;
        gaze.scores = shown ? row->scores : NULL;
        heads_look(stack->kernels, &stack->heads, &gaze);
        if (shown)
            memcpy(row->attention, gaze.weights + own->alignment_head * length,
                   length * sizeof *row->attention);
    }
    linear_apply(&cross->output, s->u, width, s->count, s->q, stack->size);
    block_add(stack, &cross->norm, s->count, s->q, s->x);
}

static int transformer_step(const struct decoder *decoder, const struct row *rows, size_t count,
                            struct arena *arena, struct error *err) {
    const struct transformer *own = decoder->own;
    const struct stack *stack = &own->stack;
    size_t size = stack->size, most = 0,
           vectors = count * (size > stack->width ? size : stack->width);
    for (size_t r = 0; r < count; r++) {
        size_t longest =
            rows[r].memory->length > rows[r].step + 1 ? rows[r].memory->length : rows[r].step + 1;
        most = longest > most ? longest : most;
    }
    struct arena_mark mark = arena_mark(arena);
    struct step step = {.stack = stack,
                        .rows = rows,
                        .count = count,
                        .x = arena_alloc(arena, vectors, sizeof(float)),
                        .u = arena_alloc(arena, vectors, sizeof(float)),
                        .q = arena_alloc(arena, vectors, sizeof(float)),
                        .k = arena_alloc(arena, vectors, sizeof(float)),
                        .v = arena_alloc(arena, vectors, sizeof(float)),
                        .wide = arena_alloc(arena, count * own->wide, sizeof(float)),
                        .weights = arena_alloc(arena, stack->heads.count * most, sizeof(float))};
    if (arena_failed(arena)) {
        arena_release(arena, mark);
        return error_memory(err);
    }

    for (size_t r = 0; r < count; r++) {
        float *x = step.x + r * size;
        decoder_embed(decoder, rows[r].token, x);
        if (rows[r].input)
            memcpy(rows[r].input, x, size * sizeof *x);
        stack_enter(stack, rows[r].step, x);
    }
    for (size_t l = 0; l < own->count; l++) {
        const struct layer *layer = &own->layers[l];
        step.layer = l;
        step.state = l * own->mixer->state * size;
        step.past = l * own->mixer->past * stack->room;
        own->mixer->run(&layer->mixer, &step);
        run_cross(decoder, &layer->cross, &step);
        filter_run(&layer->filter, stack,
                   &(struct filter_rows){count, step.x, step.u, step.q, step.wide});
    }
    stack_leave(stack, count, step.x);

    /* The readout is the output of the top layer. */
    memcpy(rows->readout, step.x, count * size * sizeof *step.x);
    for (size_t r = 0; r < count; r++)
        if (rows[r].top)
            memcpy(rows[r].top, step.x + r * size, size * sizeof *step.x);
    arena_release(arena, mark);
    return 0;
}

/* ---- a sentence ---- */

static int transformer_start(const struct decoder *decoder, const struct encoded *encoded,
                             struct arena *arena, float *states, struct error *err) {
    (void)arena, (void)err;
    memset(states, 0, encoded->n * decoder->shape.state * sizeof *states);
    return 0;
}

static int transformer_remember(const struct decoder *decoder, const struct encoded *encoded,
                                const struct memory_part *part, struct arena *arena,
                                struct error *err) {
    const struct transformer *own = decoder->own;
    const float *annotations = encoded->annotations + part->first * own->annotation;
    const struct stack *stack = &own->stack;
    size_t width = stack->width, room = stack->room, all = decoder->shape.key, rows = part->count;
    struct arena_mark mark = arena_mark(arena);
    float *scratch = stack->narrow ? arena_alloc(arena, 2 * rows * width, sizeof *scratch) : NULL;
    if (stack->narrow && !scratch)
        return error_memory(err);
    for (size_t l = 0; l < own->count; l++) {
        const struct heads *cross = &own->layers[l].cross;
        float *keys = part->keys + l * room, *values = part->values + l * room;
        struct linear_output outputs[] = {{.linear = &cross->key, .y = keys, .ldy = all},
                                          {.linear = &cross->value, .y = values, .ldy = all}};
        for (size_t i = 0; scratch && i < 2; i++) {
            outputs[i].y = scratch + i * rows * width;
            outputs[i].ldy = width;
        }
        linear_apply_all(outputs, 2, annotations, own->annotation, rows);
        for (size_t r = 0; scratch && r < rows; r++) {
            keep(stack, outputs[0].y + r * width, keys + r * all);
            keep(stack, outputs[1].y + r * width, values + r * all);
        }
    }
    arena_release(arena, mark);
    return 0;
}

/* ---- loading ---- */

static int transformer_init(struct decoder *decoder, const struct model_config *config,
                            const struct loader *loader) {
    const struct decoder_config *c = &config->decoder;
    const struct mixer_kind *mixer = TABLE_FIND(mixers, "decoder.mixer", c->mixer, loader->err);
    struct transformer *own = decoder->own =
        mixer ? arena_zalloc(loader->arena, 1, sizeof *own) : NULL;
    if (!own)
        return mixer ? error_memory(loader->err) : -1;
    own->mixer = mixer;
    own->count = c->layers;
    own->annotation = config_annotation_size(config);
    own->alignment_layer = c->alignment_layer > 0 ? c->alignment_layer - 1 : c->layers - 1;
    own->alignment_head = c->alignment_head;
    stack_init(&own->stack, "decoder", &c->blocks, c->hidden, config_target_positions(config),
               loader);
    own->wide = stack_wide(&own->stack);
    own->wide = c->average_filter > own->wide ? c->average_filter : own->wide;
    own->stack.narrow = weights_backend(loader->weights)->half_past;
    own->stack.room = kept_room(own->stack.width, own->stack.narrow);
    for (size_t l = 0; l < own->count; l++) {
        struct layer *layer = &own->layers[l];
        char name[PARAMETER_BYTES];
        snprintf(name, sizeof name, "decoder.layers.%zu.%s", l, mixer->parameters);
        mixer->init(&layer->mixer, &own->stack, c, name, loader);
        snprintf(name, sizeof name, "decoder.layers.%zu.cross", l);
        heads_init(&layer->cross, &own->stack, name, own->annotation, loader);
        snprintf(name, sizeof name, "decoder.layers.%zu.filter", l);
        filter_init(&layer->filter, &own->stack, name, loader);
    }

    size_t size = own->stack.size, all = own->count * own->stack.room;
    decoder->shape = (struct decoder_shape){.state = mixer->state * own->count * size,
                                            .past = mixer->past * all,
                                            .key = all,
                                            .value = all,
                                            .layers = own->count,
                                            .outputs = 2 * own->count * own->stack.width,
                                            .input = size,
                                            .top = size,
                                            .readout = size};
    decoder->attends = true;
    decoder->cross = (struct lookers){own->count, c->blocks.heads};
    decoder->self = mixer->past > 0 ? decoder->cross : (struct lookers){0};
    return weights_failed(loader->weights) ? -1 : 0;
}

static const struct decoder_kind decoder_transformer = {transformer_init, transformer_start,
                                                        transformer_remember, transformer_step};

/* ---- all decoders ---- */

int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary,
                 const struct loader *loader) {
    const struct decoder_config *c = &config->decoder;
    *decoder = (struct decoder){.kind = strcmp(c->style, "transformer") == 0 ? &decoder_transformer
                                                                             : &decoder_recurrent,
                                .kernels = loader->kernels,
                                .vocabulary = vocabulary,
                                .first = DECODER_FIRST,
                                .shape = {.input = c->embedding}};
    weights_table(loader->weights, "decoder.embedding", vocabulary, c->embedding,
                  &decoder->embedding, loader->err);
    return decoder->kind->init(decoder, config, loader);
}

int decoder_start(const struct decoder *decoder, const struct encoded *encoded, struct arena *arena,
                  float *states, struct error *err) {
    return decoder->kind->start(decoder, encoded, arena, states, err);
}

int decoder_remember(const struct decoder *decoder, const struct encoded *encoded,
                     const struct memory_part *part, struct arena *arena, struct error *err) {
    return decoder->kind->remember(decoder, encoded, part, arena, err);
}

int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count,
                 struct arena *arena, struct error *err) {
    for (size_t r = 0; r < count; r++) { /* the rows lie side by side */
        assert(rows[r].state == rows->state + r * decoder->shape.state);
        assert(rows[r].readout == rows->readout + r * decoder->shape.readout);
    }
    return decoder->kind->step(decoder, rows, count, arena, err);
}
