/* Vaswani et al. 2017, 3.1: layers of self-attention over the sentence and a feed-forward, each a block (model/network/block.h).
 * Sentences lie end to end: products take all tokens at once, attention each sentence by itself. */
#include "model/network/encoder.h"
#include "model/network/heads.h"

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

static void load_layer(struct transformer *own, size_t l, struct weights *weights, struct error *err) {
    char self[PARAMETER_BYTES], filter[PARAMETER_BYTES];
    snprintf(self, sizeof self, "encoder.layers.%zu.self", l);
    snprintf(filter, sizeof filter, "encoder.layers.%zu.filter", l);
    heads_init(&own->layers[l].self, &own->stack, self, own->stack.size, weights, err);
    filter_init(&own->layers[l].filter, &own->stack, filter, weights, err);
}

static int transformer_init(struct encoder *e, const struct model_config *config, struct weights *weights, struct error *err) {
    struct transformer *own = e->own = calloc(1, sizeof *own);
    if (!own)
        return error_memory(err);
    own->count = config->encoder.layers;
    e->self = (struct lookers){own->count, config->encoder.blocks.heads};
    stack_init(&own->stack, "encoder", &config->encoder.blocks, config->encoder.hidden, config_positions(config), weights,
               e->kernels, err);
    for (size_t l = 0; l < own->count; l++)
        load_layer(own, l, weights, err);
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

/* Of all tokens. */
struct encoder_scratch {
    float *u, *q, *k, *v; /* [tokens, d] */
    float *wide;          /* [tokens, f] */
    float *mutual;        /* [mutual_scratch of the longest sentence] */
    float *slopes;        /* [H] */
};

/* contexts [length, d] of one sentence, whose q, k and v begin at token `first`; looks [length, heads, length], or NULL. */
static void attend(const struct stack *stack, const struct encoder_scratch *s, size_t first, size_t length, float *contexts,
                   float *looks) {
    size_t at = first * stack->size;
    struct mutual mutual = {.q = s->q + at,
                            .k = s->k + at,
                            .v = s->v + at,
                            .distance = stack->size,
                            .n = length,
                            .scratch = s->mutual,
                            .weights = looks,
                            .out = contexts};
    heads_look_around(stack, &mutual, s->slopes);
}

/* The contexts take u's place, which nothing reads any more. */
static void run_self(const struct transformer *own, size_t layer, const struct sequences *sequences,
                     const struct encoder_scratch *s, float *x) {
    const struct stack *stack = &own->stack;
    const struct heads *self = &own->layers[layer].self;
    size_t size = stack->size, tokens = sequences->tokens;
    float *looks = sequences->looks ? sequences->looks + layer * stack->heads.count * tokens * tokens : NULL;
    const float *read = block_read(stack, &self->norm, tokens, x, s->u);
    linear_apply(&self->query, read, size, tokens, s->q, size);
    linear_apply(&self->key, read, size, tokens, s->k, size);
    linear_apply(&self->value, read, size, tokens, s->v, size);
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        attend(stack, s, at, sequences->lengths[i], s->u + at * size, looks);
    linear_apply(&self->output, s->u, size, tokens, s->q, size);
    block_add(stack, &self->norm, tokens, s->q, x);
}

static int make_room(const struct transformer *own, const struct sequences *sequences, struct arena *arena,
                     struct encoder_scratch *s) {
    size_t vectors = sequences->tokens * own->stack.size, longest = 0;
    for (size_t i = 0; i < sequences->n; i++)
        longest = sequences->lengths[i] > longest ? sequences->lengths[i] : longest;
    s->u = arena_alloc(arena, vectors, sizeof(float));
    s->q = arena_alloc(arena, vectors, sizeof(float));
    s->k = arena_alloc(arena, vectors, sizeof(float));
    s->v = arena_alloc(arena, vectors, sizeof(float));
    s->wide = arena_alloc(arena, sequences->tokens * own->stack.filter, sizeof(float));
    s->mutual = arena_alloc(arena, mutual_scratch(&own->stack.heads, longest), sizeof(float));
    s->slopes = arena_alloc(arena, own->stack.heads.count, sizeof(float));
    return arena_failed(arena) ? -1 : 0;
}

static void enter(const struct stack *stack, const struct sequences *sequences, float *x) {
    for (size_t i = 0; i < sequences->n; i++)
        for (size_t t = 0; t < sequences->lengths[i]; t++, x += stack->size)
            stack_enter(stack, t, x);
}

/* An encoding on its way. */
struct parts {
    struct sequences sequences;
    struct encoder_scratch scratch;
    float *x;    /* [tokens, d] */
    size_t next; /* layer */
};

static void *transformer_begin(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                               struct encoded *out) {
    const struct transformer *own = e->own;
    struct parts *parts = arena_alloc(arena, 1, sizeof *parts);
    if (!parts)
        return NULL;
    *parts = (struct parts){.sequences = *sequences, .x = x};
    if (make_room(own, sequences, arena, &parts->scratch) != 0)
        return NULL;
    enter(&own->stack, sequences, x);
    *out = (struct encoded){.annotations = x};
    return parts;
}

/* Multiplications of one layer, but for attention itself. */
static size_t layer_work(const struct transformer *own, size_t tokens) {
    return tokens * own->stack.size * (4 * own->stack.size + 2 * own->stack.filter);
}

static bool transformer_advance(const struct encoder *e, void *all, size_t work) {
    const struct transformer *own = e->own;
    struct parts *parts = all;
    const struct encoder_scratch *s = &parts->scratch;
    size_t tokens = parts->sequences.tokens, each = layer_work(own, tokens), done = 0;
    do {
        size_t layer = parts->next++;
        run_self(own, layer, &parts->sequences, s, parts->x);
        filter_run(&own->layers[layer].filter, &own->stack, tokens, parts->x, s->u, s->q, s->wide);
        done += each;
    } while (parts->next < own->count && done < work);
    if (parts->next < own->count)
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
