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

/* ---- an encoding on its way ---- */

/* Of all tokens. */
struct encoder_scratch {
    float *u, *q, *k, *v; /* [tokens, d] */
    float *wide;          /* [tokens, f] */
    float *mutual;        /* [mutual_scratch of the longest sentence] */
    float *slopes;        /* [H] */
};

/* A layer is two passes over the rows, since all have their keys before one looks at them; a pass is done by blocks of rows. */
struct parts {
    struct sequences sequences;
    struct encoder_scratch scratch;
    float *x;       /* [tokens, d] */
    size_t longest; /* sentence */
    /* What comes next: of this layer, whose rows have their keys or not, the rows from this one on. */
    size_t layer, row;
    bool keyed;
};

static size_t longest_of(const struct sequences *sequences) {
    size_t longest = 0;
    for (size_t i = 0; i < sequences->n; i++)
        longest = sequences->lengths[i] > longest ? sequences->lengths[i] : longest;
    return longest;
}

static int make_room(const struct transformer *own, struct parts *parts, struct arena *arena) {
    struct encoder_scratch *s = &parts->scratch;
    size_t tokens = parts->sequences.tokens, vectors = tokens * own->stack.size;
    s->u = arena_alloc(arena, vectors, sizeof(float));
    s->q = arena_alloc(arena, vectors, sizeof(float));
    s->k = arena_alloc(arena, vectors, sizeof(float));
    s->v = arena_alloc(arena, vectors, sizeof(float));
    s->wide = arena_alloc(arena, tokens * own->stack.filter, sizeof(float));
    s->mutual = arena_alloc(arena, mutual_scratch(&own->stack.heads, parts->longest), sizeof(float));
    s->slopes = arena_alloc(arena, own->stack.heads.count, sizeof(float));
    return arena_failed(arena) ? -1 : 0;
}

static void enter(const struct stack *stack, const struct sequences *sequences, float *x) {
    for (size_t i = 0; i < sequences->n; i++)
        for (size_t t = 0; t < sequences->lengths[i]; t++, x += stack->size)
            stack_enter(stack, t, x);
}

static void *transformer_begin(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena,
                               struct encoded *out) {
    const struct transformer *own = e->own;
    struct parts *parts = arena_alloc(arena, 1, sizeof *parts);
    if (!parts)
        return NULL;
    *parts = (struct parts){.sequences = *sequences, .x = x, .longest = longest_of(sequences)};
    if (make_room(own, parts, arena) != 0)
        return NULL;
    enter(&own->stack, sequences, x);
    *out = (struct encoded){.annotations = x};
    return parts;
}

/* ---- a block of rows ---- */

static void make_keys(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct encoder_scratch *s = &parts->scratch;
    const struct heads *self = &own->layers[parts->layer].self;
    size_t size = own->stack.size, at = parts->row * size;
    const float *read = block_read(&own->stack, &self->norm, rows, parts->x + at, s->u + at);
    linear_apply(&self->query, read, size, rows, s->q + at, size);
    linear_apply(&self->key, read, size, rows, s->k + at, size);
    linear_apply(&self->value, read, size, rows, s->v + at, size);
}

/* Contexts, in u, of some rows of the sentence that begins at token `begin`; which: from its own first row on. */
static void attend(const struct transformer *own, const struct parts *parts, size_t begin, size_t length, size_t first,
                   size_t rows) {
    const struct encoder_scratch *s = &parts->scratch;
    size_t at = begin * own->stack.size, tokens = parts->sequences.tokens;
    float *looks = parts->sequences.looks;
    struct mutual mutual = {.q = s->q + at,
                            .k = s->k + at,
                            .v = s->v + at,
                            .distance = own->stack.size,
                            .n = length,
                            .first = first,
                            .rows = rows,
                            .scratch = s->mutual,
                            .weights = looks ? looks + parts->layer * own->stack.heads.count * tokens * tokens : NULL,
                            .out = s->u + at};
    heads_look_around(&own->stack, &mutual, s->slopes);
}

/* The contexts of the next rows, of each sentence that has some of them. */
static void look_around(const struct transformer *own, const struct parts *parts, size_t rows) {
    size_t first = parts->row, end = first + rows, begin = 0;
    for (size_t i = 0; begin < end; begin += parts->sequences.lengths[i++]) {
        size_t length = parts->sequences.lengths[i], from = first > begin ? first - begin : 0;
        size_t to = end - begin < length ? end - begin : length;
        if (from < to)
            attend(own, parts, begin, length, from, to - from);
    }
}

/* What the rows put out takes the place of their queries, which nothing reads any more. */
static void look_and_filter(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct encoder_scratch *s = &parts->scratch;
    const struct layer *layer = &own->layers[parts->layer];
    size_t size = own->stack.size, at = parts->row * size;
    look_around(own, parts, rows);
    linear_apply(&layer->self.output, s->u + at, size, rows, s->q + at, size);
    block_add(&own->stack, &layer->self.norm, rows, s->q + at, parts->x + at);
    filter_run(&layer->filter, &own->stack, rows, parts->x + at, s->u + at, s->q + at, s->wide);
}

/* ---- in parts ---- */

/* Multiplications of a row in this pass, at most. */
static size_t row_work(const struct transformer *own, const struct parts *parts) {
    size_t size = own->stack.size;
    return size * (parts->keyed ? size + 2 * own->stack.filter + 2 * parts->longest : 3 * size);
}

static void go_on(struct parts *parts, size_t rows) {
    parts->row += rows;
    if (parts->row < parts->sequences.tokens)
        return;
    parts->row = 0;
    parts->layer += parts->keyed;
    parts->keyed = !parts->keyed;
}

static bool transformer_advance(const struct encoder *e, void *all, size_t work) {
    const struct transformer *own = e->own;
    struct parts *parts = all;
    for (size_t done = 0; parts->layer < own->count && done < work;) {
        size_t each = row_work(own, parts), rows = encoder_part_rows(work - done, each, parts->sequences.tokens - parts->row);
        done += rows * each;
        (parts->keyed ? look_and_filter : make_keys)(own, parts, rows);
        go_on(parts, rows);
    }
    if (parts->layer < own->count)
        return false;
    stack_leave(&own->stack, parts->sequences.tokens, parts->x);
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
