/* The transformer's encoder, Vaswani et al. 2017, 3.1: layers of self-attention over the sentence and a feed-forward, each a block
 * (model/network/transformer.h). Sentences lie end to end: products take all tokens at once, attention each sentence by itself.
 * Hides how an encoding is divided into parts. */
#include "model/network/attention.h"
#include "model/network/encoder.h"
#include "model/network/transformer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct layer {
    struct heads self;
    struct filter filter;
};

struct transformer {
    struct stack stack;
    size_t count;
    struct layer layers[CONFIG_MAX_LAYERS];
};

/* An encoding in progress. A layer is two passes over the rows, since all rows must have their keys before one looks at them; a
 * pass is done in groups of rows. */
struct parts {
    struct sequences sequences;
    float *x;             /* [tokens, d] */
    float *u, *q, *k, *v; /* [tokens, d] */
    float *wide;          /* [tokens, f] */
    float *mutual;        /* [mutual_scratch of the longest sentence] */
    float *slopes;        /* [H]; NULL: without ALiBi */
    /* The next rows to do: those from `row` on of this layer, in its first pass or, when they are keyed, in its second. */
    size_t layer, row;
    bool keyed;
};

static int transformer_init(struct encoder *e, const struct model_config *config, struct weights *weights, struct error *err) {
    struct transformer *own = e->own = calloc(1, sizeof *own);
    if (!own)
        return error_memory(err);
    own->count = config->encoder.layers;
    e->self = (struct lookers){own->count, config->encoder.blocks.heads};
    stack_init(&own->stack, "encoder", &config->encoder.blocks, config->encoder.hidden, config_positions(config), weights,
               e->kernels, err);
    for (size_t l = 0; l < own->count; l++) {
        char self[PARAMETER_BYTES], filter[PARAMETER_BYTES];
        snprintf(self, sizeof self, "encoder.layers.%zu.self", l);
        snprintf(filter, sizeof filter, "encoder.layers.%zu.filter", l);
        heads_init(&own->layers[l].self, &own->stack, self, own->stack.size, weights, err);
        filter_init(&own->layers[l].filter, &own->stack, filter, weights, err);
    }
    return weights_failed(weights) ? -1 : 0;
}

static void transformer_done(void *own) {
    struct transformer *loaded = own;
    for (size_t l = 0; l < loaded->count; l++) {
        heads_done(&loaded->layers[l].self);
        filter_done(&loaded->layers[l].filter);
    }
    stack_done(&loaded->stack);
    free(loaded);
}

static void *transformer_begin(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                               struct encoded *out) {
    const struct transformer *own = e->own;
    const struct stack *stack = &own->stack;
    size_t vectors = sequences->tokens * stack->size;
    struct parts *parts = arena_alloc(arena, 1, sizeof *parts);
    if (!parts)
        return NULL;
    *parts = (struct parts){
        .sequences = *sequences,
        .x = x,
        .u = arena_alloc(arena, vectors, sizeof(float)),
        .q = arena_alloc(arena, vectors, sizeof(float)),
        .k = arena_alloc(arena, vectors, sizeof(float)),
        .v = arena_alloc(arena, vectors, sizeof(float)),
        .wide = arena_alloc(arena, sequences->tokens * stack->filter, sizeof(float)),
        .mutual = arena_alloc(arena, mutual_scratch(&stack->heads, sequences->longest), sizeof(float)),
        .slopes = stack->positions.alibi ? arena_alloc(arena, stack->heads.count, sizeof(float)) : NULL,
    };
    if (arena_failed(arena))
        return NULL;
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        for (size_t t = 0; t < sequences->lengths[i]; t++)
            stack_enter(stack, t, x + (at + t) * stack->size);
    *out = (struct encoded){.annotations = x};
    return parts;
}

/* The first pass: queries, keys and values of the next rows. */
static void make_keys(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct heads *self = &own->layers[parts->layer].self;
    size_t size = own->stack.size, at = parts->row * size;
    const float *read = block_read(&own->stack, &self->norm, rows, parts->x + at, parts->u + at);
    linear_apply(&self->query, read, size, rows, parts->q + at, size);
    linear_apply(&self->key, read, size, rows, parts->k + at, size);
    linear_apply(&self->value, read, size, rows, parts->v + at, size);
}

/* The second pass. The output of the rows takes the place of their queries, which nothing reads any more. */
static void look_and_filter(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct layer *layer = &own->layers[parts->layer];
    const struct stack *stack = &own->stack;
    const size_t *lengths = parts->sequences.lengths;
    size_t size = stack->size, tokens = parts->sequences.tokens, first = parts->row, end = first + rows;
    float *looks = parts->sequences.looks;

    /* Contexts, in u, of the rows of each sentence that has some of them. */
    for (size_t i = 0, begin = 0; begin < end; begin += lengths[i++]) {
        size_t from = first > begin ? first - begin : 0, to = end - begin < lengths[i] ? end - begin : lengths[i];
        if (from >= to)
            continue;
        struct mutual mutual = {.q = parts->q + begin * size,
                                .k = parts->k + begin * size,
                                .v = parts->v + begin * size,
                                .distance = size,
                                .n = lengths[i],
                                .first = from,
                                .rows = to - from,
                                .scratch = parts->mutual,
                                .weights = looks ? looks + parts->layer * stack->heads.count * tokens * tokens : NULL,
                                .out = parts->u + begin * size};
        heads_look_around(stack->kernels, &stack->heads, &mutual, parts->slopes);
    }

    size_t at = first * size;
    linear_apply(&layer->self.output, parts->u + at, size, rows, parts->q + at, size);
    block_add(stack, &layer->self.norm, rows, parts->q + at, parts->x + at);
    filter_run(&layer->filter, stack, rows, parts->x + at, parts->u + at, parts->q + at, parts->wide);
}

static bool transformer_advance(const struct encoder *e, void *all, size_t work) {
    const struct transformer *own = e->own;
    struct parts *parts = all;
    size_t size = own->stack.size, tokens = parts->sequences.tokens;
    for (size_t done = 0; parts->layer < own->count && done < work;) {
        /* The maximum number of multiplications for a row in this pass. */
        size_t each = size * (parts->keyed ? size + 2 * own->stack.filter + 2 * parts->sequences.longest : 3 * size);
        size_t rows = encoder_part_rows(work - done, each, tokens - parts->row);
        done += rows * each;
        (parts->keyed ? look_and_filter : make_keys)(own, parts, rows);

        parts->row += rows;
        if (parts->row == tokens) {
            parts->row = 0;
            parts->layer += parts->keyed;
            parts->keyed = !parts->keyed;
        }
    }
    if (parts->layer < own->count)
        return false;
    stack_leave(&own->stack, tokens, parts->x);
    return true;
}

static int transformer_run(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                           struct encoded *out) {
    struct arena_mark mark = arena_mark(arena);
    void *parts = transformer_begin(e, x, sequences, arena, out);
    if (!parts)
        return -1;
    transformer_advance(e, parts, SIZE_MAX);
    arena_release(arena, mark);
    return 0;
}

const struct encoder_kind encoder_transformer = {"transformer",   transformer_init,  transformer_done,
                                                 transformer_run, transformer_begin, transformer_advance};
