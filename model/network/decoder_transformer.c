/* Transformer decoders: layers of a mixer (model/network/mixer.h), cross-attention and a feed-forward, each a block. The memory
 * holds keys and values of all layers' cross-attention, layer l's from l d on; a row's state and past the mixers' of all layers,
 * likewise. */
#include "model/network/decoder_kind.h"
#include "model/network/mixer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer {
    struct mixer mixer;
    struct heads cross;
    struct filter filter;
};

struct transformer {
    struct stack stack;
    const struct mixer_kind *mixer;
    size_t count, annotation;               /* layers; D */
    size_t wide;                            /* the widest middle of a feed-forward */
    size_t alignment_layer, alignment_head; /* which attention is shown; both from 0 */
    struct layer layers[CONFIG_MAX_LAYERS];
};

static bool transformer_has(const char *style) {
    return strcmp(style, "transformer") == 0;
}

/* ---- loading ---- */

static void load_layer(struct transformer *own, const struct model_config *config, size_t l, struct weights *weights,
                       struct error *err) {
    struct layer *layer = &own->layers[l];
    char name[PARAMETER_BYTES / 2], cross[PARAMETER_BYTES], filter[PARAMETER_BYTES];
    snprintf(name, sizeof name, "decoder.layers.%zu", l);
    snprintf(cross, sizeof cross, "%s.cross", name);
    snprintf(filter, sizeof filter, "%s.filter", name);
    mixer_init(&layer->mixer, own->mixer, &own->stack, config, name, weights, err);
    heads_init(&layer->cross, &own->stack, cross, own->annotation, weights, err);
    filter_init(&layer->filter, &own->stack, filter, weights, err);
}

static struct decoder_shape shape_of(const struct transformer *own) {
    size_t size = own->stack.size, all = own->count * size;
    return (struct decoder_shape){.state = own->mixer->state * all,
                                  .past = own->mixer->past * all / (own->stack.half ? 2 : 1), /* a key for each value: even */
                                  .key = all,
                                  .value = all,
                                  .input = size,
                                  .top = size,
                                  .readout = size};
}

static int transformer_init(struct decoder *decoder, const struct model_config *config, struct weights *weights,
                            struct error *err) {
    const struct decoder_config *c = &config->decoder;
    const struct mixer_kind *mixer = mixer_kind_find(c->mixer, err);
    struct transformer *own = decoder->own = mixer ? calloc(1, sizeof *own) : NULL;
    if (!own)
        return mixer ? error_memory(err) : -1;
    own->mixer = mixer;
    own->count = c->layers;
    own->annotation = config_annotation_size(config);
    own->wide = c->average_filter > c->blocks.filter ? c->average_filter : c->blocks.filter;
    own->alignment_layer = c->alignment_layer > 0 ? c->alignment_layer - 1 : c->layers - 1;
    own->alignment_head = c->alignment_head;
    stack_init(&own->stack, "decoder", &c->blocks, c->hidden, config_target_positions(config), weights, decoder->kernels, err);
    own->stack.half = weights_backend(weights)->half_past;
    for (size_t l = 0; l < own->count; l++)
        load_layer(own, config, l, weights, err);
    decoder->attends = true;
    decoder->shape = shape_of(own);
    decoder->cross = (struct lookers){own->count, c->blocks.heads};
    decoder->self = mixer->past > 0 ? decoder->cross : (struct lookers){0};
    return weights_failed(weights) ? -1 : 0;
}

static void transformer_done(void *own) {
    struct transformer *loaded = own;
    for (size_t l = 0; l < loaded->count; l++) {
        mixer_done(&loaded->layers[l].mixer);
        heads_done(&loaded->layers[l].cross);
        filter_done(&loaded->layers[l].filter);
    }
    stack_done(&loaded->stack);
    free(loaded);
}

/* ---- a sentence ---- */

static int transformer_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                             struct arena *arena, float *states, struct error *err) {
    (void)encoded, (void)lengths, (void)arena, (void)err;
    memset(states, 0, n * decoder->shape.state * sizeof *states);
    return 0;
}

static int transformer_remember(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count,
                                struct arena *arena, float *keys, float *values, struct error *err) {
    const struct transformer *own = decoder->own;
    const float *annotations = encoded->annotations + first * own->annotation;
    size_t all = decoder->shape.key;
    (void)arena, (void)err;
    for (size_t l = 0; l < own->count; l++) {
        const struct heads *cross = &own->layers[l].cross;
        linear_apply(&cross->key, annotations, own->annotation, count, keys + l * own->stack.size, all);
        linear_apply(&cross->value, annotations, own->annotation, count, values + l * own->stack.size, all);
    }
    return 0;
}

/* ---- one step ---- */

/* q [R, d] -> contexts in u. */
static void look_across(const struct decoder *decoder, const struct mixer_step *step) {
    const struct transformer *own = decoder->own;
    const struct mixer_scratch *s = step->scratch;
    size_t size = own->stack.size, at = step->layer * size, heads = own->stack.heads.count;
    for (size_t r = 0; r < step->count; r++) {
        const struct row *row = &step->rows[r];
        const struct memory *memory = row->memory;
        float *weights = row->looks.cross ? row->looks.cross + step->layer * heads * memory->length : s->weights;
        heads_look(&own->stack, &(struct gaze){.query = s->q + r * size,
                                               .keys = {.first = memory->keys + at, .distance = decoder->shape.key},
                                               .values = {.first = memory->values + at, .distance = decoder->shape.value},
                                               .count = memory->length,
                                               .forced = row->forced,
                                               .weights = weights,
                                               .context = s->u + r * size});
        if (step->layer == own->alignment_layer)
            memcpy(row->attention, weights + own->alignment_head * memory->length, memory->length * sizeof *row->attention);
    }
}

static void run_cross(const struct decoder *decoder, const struct heads *cross, const struct mixer_step *step) {
    const struct stack *stack = step->stack;
    const struct mixer_scratch *s = step->scratch;
    size_t size = stack->size;
    const float *read = block_read(stack, &cross->norm, step->count, step->x, s->u);
    linear_apply(&cross->query, read, size, step->count, s->q, size);
    look_across(decoder, step);
    linear_apply(&cross->output, s->u, size, step->count, s->q, size);
    block_add(stack, &cross->norm, step->count, s->q, step->x);
}

static void run_layers(const struct decoder *decoder, struct mixer_step *step) {
    const struct transformer *own = decoder->own;
    const struct mixer_scratch *s = step->scratch;
    for (size_t l = 0; l < own->count; l++) {
        const struct layer *layer = &own->layers[l];
        step->layer = l;
        step->state = l * own->mixer->state * own->stack.size;
        step->past = l * own->mixer->past * own->stack.size;
        mixer_run(&layer->mixer, step);
        run_cross(decoder, &layer->cross, step);
        filter_run(&layer->filter, &own->stack, step->count, step->x, s->u, s->q, s->wide);
    }
    stack_leave(&own->stack, step->count, step->x);
}

static void enter(const struct decoder *decoder, const struct mixer_step *step) {
    size_t size = step->stack->size;
    for (size_t r = 0; r < step->count; r++) {
        const struct row *row = &step->rows[r];
        float *x = step->x + r * size;
        decoder_embed(decoder, row->token, x);
        if (row->input)
            memcpy(row->input, x, size * sizeof *x);
        stack_enter(step->stack, row->step, x);
    }
}

/* What the output layer reads: the readout is what the top layer puts out. */
static void leave(const struct mixer_step *step) {
    size_t size = step->stack->size;
    memcpy(step->rows->readout, step->x, step->count * size * sizeof *step->x);
    for (size_t r = 0; r < step->count; r++)
        if (step->rows[r].top)
            memcpy(step->rows[r].top, step->x + r * size, size * sizeof *step->x);
}

static size_t most_looked_at(const struct row *rows, size_t count) {
    size_t most = 0;
    for (size_t r = 0; r < count; r++) {
        size_t longest = rows[r].memory->length > rows[r].step + 1 ? rows[r].memory->length : rows[r].step + 1;
        most = longest > most ? longest : most;
    }
    return most;
}

static int make_room(const struct transformer *own, struct mixer_step *step, struct arena *arena, struct mixer_scratch *s) {
    size_t vectors = step->count * own->stack.size;
    step->x = arena_alloc(arena, vectors, sizeof(float));
    s->u = arena_alloc(arena, vectors, sizeof(float));
    s->q = arena_alloc(arena, vectors, sizeof(float));
    s->k = arena_alloc(arena, vectors, sizeof(float));
    s->v = arena_alloc(arena, vectors, sizeof(float));
    s->wide = arena_alloc(arena, step->count * own->wide, sizeof(float));
    s->weights = arena_alloc(arena, own->stack.heads.count * most_looked_at(step->rows, step->count), sizeof(float));
    return arena_failed(arena) ? -1 : 0;
}

static int transformer_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena,
                            struct error *err) {
    const struct transformer *own = decoder->own;
    struct arena_mark mark = arena_mark(arena);
    struct mixer_scratch scratch;
    struct mixer_step step = {.stack = &own->stack, .rows = rows, .count = count, .scratch = &scratch};
    bool failed = make_room(own, &step, arena, &scratch) != 0;
    if (!failed) {
        enter(decoder, &step);
        run_layers(decoder, &step);
        leave(&step);
    }
    arena_release(arena, mark);
    return failed ? error_memory(err) : 0;
}

const struct decoder_kind decoder_transformer = {transformer_has,   transformer_init,     transformer_done,
                                                 transformer_start, transformer_remember, transformer_step};
