/* This file hides which kinds of encoders there are, and how each encodes many sentences of
 * different lengths at once. A new kind is a section with an encoder_kind, a row in the table at
 * the end, and one in weights/model/network.py. */
#include "model/network/layers.h"
#include "model/network/network.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Sentences end to end. */
struct sequences {
    size_t n, tokens;      /* sentences; tokens of all sentences */
    const size_t *lengths; /* [n], each >= 1 */
    size_t longest;
    float *looks; /* [layers, T, heads, T] written: the weights of a single sentence; NULL: not
                     wanted */
};

/* init loads the parameters into encoder->own, in the arena. begin: x [tokens, E], embedded, may be
 * overwritten; out and scratch come from the arena; returns the state that advance continues, or
 * NULL if memory runs out. advance (NULL: begin has encoded everything) does `work` multiplications
 * or somewhat more, some rows of some layers, and returns true after the last ones. The sequences'
 * lengths must stay valid until then. */
struct encoder_kind {
    const char *name;
    int (*init)(struct encoder *encoder, const struct model_config *config,
                const struct loader *loader);
    void *(*begin)(const struct encoder *encoder, float *x, const struct sequences *sequences,
                   struct arena *arena, struct encoded *out);
    bool (*advance)(const struct encoder *encoder, void *parts, size_t work);
};

/* ---- the recurrent encoder ----
 * Stacked layers in one direction or both, h_j = [forward; backward]. Residual (GNMT, Wu et al.
 * 2016): from the second layer up, a layer's output is its h plus its input if the two have the
 * same size; its recurrence and its final state are h alone.
 *
 * padded_to: a shorter sentence is read as if the vector `padding` followed it up to so many
 * tokens, by programs that pad all sentences and do not pack them. The final states are those after
 * the last of them, which have no annotations. */

/* How the layers of a bidirectional encoder are stacked. apart: a direction reads only its own
 * output from the layer below; turning: every second layer runs against its direction; single: the
 * layers above the first have only the first direction. */
struct encoder_stack {
    const char *name;
    bool apart, turning, single;
};

static const struct encoder_stack stacks[] = {
    {"joined", false, false, false},    /* PyTorch's */
    {"separate", true, false, false},   /* Marian's bidirectional */
    {"alternating", true, true, false}, /* Marian's alternating */
    {"forward", false, false, true},    /* Marian's bi-unidirectional, GNMT's */
};

/* D is the size of the top layer's output, H for each of its directions. */
struct recurrent {
    size_t count;
    bool residual;
    size_t padded_to;
    const float *padding; /* [E]; NULL: sentences are read as they are */
    struct recurrent_layer {
        size_t in, size; /* floats of a token in its input, for all directions together, and in its
                            output */
        bool apart, turned; /* as in struct encoder_stack */
        size_t directions;
        struct cell cells[2]; /* [forward, backward] */
    } layers[CONFIG_MAX_LAYERS];
};

static int recurrent_init(struct encoder *encoder, const struct model_config *config,
                          const struct loader *loader) {
    static const char *const directions[] = {"forward", "backward"};
    const struct encoder_config *c = &config->encoder;
    const struct encoder_stack *stack = TABLE_FIND(stacks, "encoder.stack", c->stack, loader->err);
    const struct cell_kind *cell = cell_kind_find("encoder.cell", c->cell, loader->err);
    const struct norm_kind *norm =
        norm_kind_find("encoder.normalization", c->normalization, loader->err);
    if (!stack || !cell || !norm)
        return -1;
    struct recurrent *own = encoder->own = arena_zalloc(loader->arena, 1, sizeof *own);
    if (!own)
        return error_memory(loader->err);
    own->count = c->layers;
    own->residual = c->residual;
    own->padded_to = c->padded_to;
    if (own->padded_to > 0)
        own->padding = weights_get(loader->weights, "encoder.padding", encoder->embedding_size, 1,
                                   loader->err);
    for (size_t l = 0, in = encoder->embedding_size; l < own->count; in = own->layers[l++].size) {
        struct recurrent_layer *layer = &own->layers[l];
        layer->directions = c->bidirectional && !(l > 0 && stack->single) ? 2 : 1;
        layer->apart = l > 0 && stack->apart;
        layer->turned = l % 2 == 1 && stack->turning;
        layer->in = in;
        layer->size = layer->directions * c->hidden;
        struct cell_shape shape = {.in = layer->apart ? c->hidden : in,
                                   .hidden = c->hidden,
                                   .norm = norm,
                                   .transitions = c->transitions};
        for (size_t d = 0; d < layer->directions; d++) {
            char prefix[64];
            snprintf(prefix, sizeof prefix, "encoder.layers.%zu.%s.", l, directions[d]);
            cell_init(&layer->cells[d], cell, prefix, &shape, loader);
        }
    }
    return weights_failed(loader->weights) ? -1 : 0;
}

/* Sentences in the order of falling length, so that those that reach step t come first. */
struct ragged {
    const struct sequences *sequences;
    size_t *offsets; /* [n] the number of each sentence's first token */
    size_t *order;   /* [n] sentence indices by falling length */
    size_t *x_rows;  /* [n] scratch: the token that each active sentence reads at a step */
};

/* One direction of one layer. */
struct lane {
    const struct cell *cell;
    bool backward;
    struct vectors in; /* [tokens], as much of each as the cell reads */
    size_t column,
        size; /* where its h goes in the layer's output for a token, and the size of that output */
    float *out, *finals; /* [tokens, size]; [n, states, size] */
};

static int run_lane(const struct lane *lane, const struct ragged *ragged, struct arena *arena) {
    const struct cell *cell = lane->cell;
    const size_t *lengths = ragged->sequences->lengths;
    size_t n = ragged->sequences->n, tokens = ragged->sequences->tokens, active = n;
    size_t hidden = cell->hidden, kept = cell->kind->states, ld = kept * hidden;
    struct arena_mark mark = arena_mark(arena);
    float *gates_x = arena_alloc(arena, tokens * cell->input.out, sizeof *gates_x);
    float *scratch = arena_alloc(arena, n * cell_scratch(cell), sizeof *scratch);
    float *states =
        arena_zalloc(arena, n * ld, sizeof *states); /* [n, states * H] in ragged order */
    if (arena_failed(arena))
        return -1;
    linear_apply(&cell->input, lane->in.x, lane->in.distance, tokens, gates_x, cell->input.out);

    for (size_t t = 0; t < ragged->sequences->longest; t++) {
        while (lengths[ragged->order[active - 1]] <= t)
            active--;
        for (size_t i = 0; i < active; i++) {
            size_t sentence = ragged->order[i];
            ragged->x_rows[i] =
                ragged->offsets[sentence] + (lane->backward ? lengths[sentence] - 1 - t : t);
        }
        cell_step(cell, &(struct cell_inputs){gates_x, cell->input.out, ragged->x_rows}, active,
                  states, ld, scratch);
        for (size_t i = 0; i < active; i++)
            memcpy(lane->out + ragged->x_rows[i] * lane->size + lane->column, states + i * ld,
                   hidden * sizeof *states);
    }

    /* The final states go back to the order of the sentences. */
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < kept; s++)
            memcpy(lane->finals + (ragged->order[i] * kept + s) * lane->size + lane->column,
                   states + (i * kept + s) * hidden, hidden * sizeof *states);
    arena_release(arena, mark);
    return 0;
}

/* Runs all layers over the sentences as they are. */
static void *run_layers(const struct encoder *encoder, const float *x,
                        const struct sequences *sequences, struct arena *arena,
                        struct encoded *out) {
    const struct recurrent *e = encoder->own;
    const size_t *lengths = sequences->lengths;
    size_t n = sequences->n, offset = 0, states = e->layers[0].cells[0].kind->states;
    struct ragged ragged = {.sequences = sequences,
                            .offsets = arena_alloc(arena, n, sizeof *ragged.offsets),
                            .order = arena_alloc(arena, n, sizeof *ragged.order),
                            .x_rows = arena_alloc(arena, n, sizeof *ragged.x_rows)};
    if (arena_failed(arena))
        return NULL;
    for (size_t i = 0; i < n; offset += lengths[i++]) {
        ragged.offsets[i] = offset;
        size_t place = i; /* insertion: n is small, and equal lengths keep their order */
        for (; place > 0 && lengths[ragged.order[place - 1]] < lengths[i]; place--)
            ragged.order[place] = ragged.order[place - 1];
        ragged.order[place] = i;
    }

    const float *in = x;
    for (size_t l = 0; l < e->count; l++) {
        const struct recurrent_layer *layer = &e->layers[l];
        float *h = arena_alloc(arena, sequences->tokens * layer->size, sizeof *h);
        out->finals[l] = arena_alloc(arena, n * states * layer->size, sizeof *h);
        if (arena_failed(arena))
            return NULL;
        for (size_t d = 0; d < layer->directions; d++) {
            const struct cell *cell = &layer->cells[d];
            struct lane lane = {.cell = cell,
                                .backward = (d == 1) != layer->turned,
                                .in = {in + (layer->apart ? d * cell->hidden : 0), layer->in},
                                .column = d * cell->hidden,
                                .size = layer->size,
                                .out = h,
                                .finals = out->finals[l]};
            if (run_lane(&lane, &ragged, arena) != 0)
                return NULL;
        }
        if (e->residual && l > 0 && layer->in == layer->size)
            encoder->kernels->add(in, sequences->tokens * layer->size, h);
        in = out->annotations = h;
        out->top = out->finals[l];
        out->top_ld = states * layer->size;
    }
    return out;
}

static void *recurrent_begin(const struct encoder *encoder, float *x,
                             const struct sequences *sequences, struct arena *arena,
                             struct encoded *out) {
    const struct recurrent *e = encoder->own;
    const size_t *own = sequences->lengths;
    size_t n = sequences->n, size = encoder->embedding_size;
    if (!e->padding)
        return run_layers(encoder, x, sequences, arena, out);

    size_t *lengths = arena_alloc(arena, n, sizeof *lengths);
    struct sequences padded = {.n = n, .lengths = lengths, .longest = sequences->longest};
    for (size_t i = 0; lengths && i < n; i++) {
        lengths[i] = own[i] > e->padded_to ? own[i] : e->padded_to;
        padded.tokens += lengths[i];
        padded.longest = lengths[i] > padded.longest ? lengths[i] : padded.longest;
    }
    float *all = lengths ? arena_alloc(arena, padded.tokens * size, sizeof *all) : NULL;
    if (!all)
        return NULL;
    float *to = all;
    for (size_t i = 0; i < n; x += own[i++] * size) {
        memcpy(to, x, own[i] * size * sizeof *to);
        for (size_t t = own[i]; t < lengths[i]; t++)
            memcpy(to + t * size, e->padding, size * sizeof *to);
        to += lengths[i] * size;
    }
    void *parts = run_layers(encoder, all, &padded, arena, out);

    /* The annotations of the sentences' own tokens move together. */
    float *annotations = parts ? out->annotations : NULL, *from = annotations;
    for (size_t i = 0; annotations && i < n; from += lengths[i++] * encoder->annotation) {
        memmove(annotations, from, own[i] * encoder->annotation * sizeof *from);
        annotations += own[i] * encoder->annotation;
    }
    return parts;
}

/* ---- the convolutional encoder ---- */

/* Gehring et al. 2017, section 3, with one kind of annotation for both keys and values: x_0 = W (e
 * + p) + b of the embeddings of token and position; then for every layer [a; g] =
 * convolution(x_{l-1}), x_l = sqrt(1/2) (a sigmoid(g) + x_{l-1}). Zeros stand before a sentence's
 * first token and after its last. Each layer is one product for all tokens of all sentences. D = H.
 */
struct convolutional {
    size_t hidden, layers;
    size_t width; /* taps m */
    struct positions positions;
    struct linear input; /* [H, E] */
    struct linear
        convolutions[CONFIG_MAX_LAYERS]; /* [2H, m * H], the taps of a row one after the other */
};

static int convolutional_init(struct encoder *e, const struct model_config *config,
                              const struct loader *loader) {
    struct convolutional *own = e->own = arena_zalloc(loader->arena, 1, sizeof *own);
    if (!own)
        return error_memory(loader->err);
    own->hidden = config->encoder.hidden;
    own->layers = config->encoder.layers;
    own->width = config->encoder.width;
    struct positions_options positions = {.kind = "learned",
                                          .parameter = "encoder.positions",
                                          .size = e->embedding_size,
                                          .rows = config_positions(config)};
    positions_init(&own->positions, &positions, loader);
    block_linear(&own->input, "encoder", "input",
                 (struct block_shape){own->hidden, e->embedding_size, true}, loader);
    for (size_t l = 0; l < own->layers; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layers.%zu", l);
        block_linear(&own->convolutions[l], prefix, "convolution",
                     (struct block_shape){2 * own->hidden, own->width * own->hidden, true}, loader);
    }
    return weights_failed(loader->weights) ? -1 : 0;
}

static void *convolutional_begin(const struct encoder *e, float *x,
                                 const struct sequences *sequences, struct arena *arena,
                                 struct encoded *out) {
    const struct convolutional *own = e->own;
    size_t tokens = sequences->tokens, size = own->hidden, row = own->width * size,
           embedding = e->embedding_size;
    size_t reach = own->width / 2;
    float *h = arena_alloc(arena, tokens * size, sizeof *h);
    struct arena_mark mark = arena_mark(arena);
    float *windows = arena_alloc(arena, tokens * row, sizeof *windows);
    float *units = arena_alloc(arena, tokens * 2 * size, sizeof *units);
    *out = (struct encoded){.annotations = h};
    if (arena_failed(arena))
        return NULL;

    /* Tokens past the model's limit count as the last position: one word of a thousand letters
     * cannot be cut. */
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        for (size_t t = 0; t < sequences->lengths[i]; t++)
            positions_add(&own->positions, e->kernels, t, x + (at + t) * embedding);
    linear_apply(&own->input, x, embedding, tokens, h, size);
    for (size_t l = 0; l < own->layers; l++) {
        float *window =
            windows; /* each token's window [m, H], with zeros past the ends of its sentence */
        for (size_t i = 0, at = 0, length; i < sequences->n; at += length, i++) {
            length = sequences->lengths[i];
            for (size_t t = 0; t < length; t++, window += row) {
                size_t before = t < reach ? reach - t : 0, first = t + before - reach;
                size_t end = t + reach + 1 < length ? t + reach + 1 : length,
                       after = before + end - first;
                memset(window, 0, before * size * sizeof *window);
                memcpy(window + before * size, h + (at + first) * size,
                       (end - first) * size * sizeof *window);
                memset(window + after * size, 0, (own->width - after) * size * sizeof *window);
            }
        }
        linear_apply(&own->convolutions[l], windows, row, tokens, units, 2 * size);
        for (size_t t = 0; t < tokens; t++)
            e->kernels->gated(units + t * 2 * size, size, h + t * size);
    }
    arena_release(arena, mark);
    return out;
}

/* ---- the transformer's encoder ----
 * Vaswani et al. 2017, 3.1: layers of self-attention over the sentence and a feed-forward, each a
 * block (model/network/layers.h). Sentences lie end to end: products take all tokens at once,
 * attention each sentence by itself. An encoding is divided into parts.
 */

size_t encoder_part_rows(size_t work, size_t each, size_t left) {
    enum { FEWEST = 32 };
    size_t rows = each > 0 ? work / each : left;
    rows = rows < FEWEST ? FEWEST : rows;
    return rows < left ? rows : left;
}

/* A pass takes this many rows at a time, or somewhat fewer: enough for products at full speed, and
 * few enough for what one operation writes to be in the cache when the next one reads it. */
enum { TOGETHER_ROWS = 96 };

static size_t rows_together(size_t rows) {
    size_t groups = (rows + TOGETHER_ROWS - 1) / TOGETHER_ROWS;
    return groups > 1 ? (rows + groups - 1) / groups : rows;
}

struct layer {
    struct heads self;
    struct filter filter;
};

struct transformer {
    struct stack stack;
    size_t count;
    struct layer layers[CONFIG_MAX_LAYERS];
};

/* An encoding in progress. A layer is two passes over the rows, because all keys must be there
 * before a row attends to them. A pass is done in groups of rows. */
struct parts {
    struct sequences sequences;
    float *x;             /* [tokens, d] */
    float *u, *q, *k, *v; /* [tokens, row_distance] */
    float *wide;          /* [rows together, stack_wide] */
    float *mutual;        /* [mutual_scratch of the longest sentence] */
    float *lean;          /* [H, 2 longest - 1] the layer's (heads_lean); NULL: it has none */
    /* The next rows to do: those from `row` on of this layer, in its first pass or, when they are
     * keyed, in its second. */
    size_t layer, row;
    bool keyed;
};

static int transformer_init(struct encoder *e, const struct model_config *config,
                            const struct loader *loader) {
    struct transformer *own = e->own = arena_zalloc(loader->arena, 1, sizeof *own);
    if (!own)
        return error_memory(loader->err);
    own->count = config->encoder.layers;
    e->self = (struct lookers){own->count, config->encoder.blocks.heads};
    stack_init(&own->stack, "encoder", &config->encoder.blocks, config->encoder.hidden,
               config_positions(config), loader);
    for (size_t l = 0; l < own->count; l++) {
        char self[PARAMETER_BYTES], filter[PARAMETER_BYTES];
        snprintf(self, sizeof self, "encoder.layers.%zu.self", l);
        snprintf(filter, sizeof filter, "encoder.layers.%zu.filter", l);
        heads_init_self(&own->layers[l].self, &own->stack, self, loader);
        filter_init(&own->layers[l].filter, &own->stack, filter, loader);
    }
    return weights_failed(loader->weights) ? -1 : 0;
}

/* Returns the floats from row to row of queries, keys, values, and what takes their places. */
static size_t row_distance(const struct stack *stack) {
    return stack->size > stack->width ? stack->size : stack->width;
}

static void *transformer_begin(const struct encoder *e, float *x, const struct sequences *sequences,
                               struct arena *arena, struct encoded *out) {
    const struct transformer *own = e->own;
    const struct stack *stack = &own->stack;
    size_t tokens = sequences->tokens, together = tokens < TOGETHER_ROWS ? tokens : TOGETHER_ROWS;
    size_t vectors = tokens * row_distance(stack), distances = 2 * sequences->longest - 1;
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
        .wide = arena_alloc(arena, together * stack_wide(stack), sizeof(float)),
        .mutual =
            arena_alloc(arena, mutual_scratch(&stack->heads, sequences->longest), sizeof(float)),
        .lean = heads_leaning(&own->layers->self)
                    ? arena_alloc(arena, stack->heads.count * distances, sizeof(float))
                    : NULL,
    };
    if (arena_failed(arena))
        return NULL;
    for (size_t i = 0, at = 0; i < sequences->n; at += sequences->lengths[i++])
        for (size_t t = 0; t < sequences->lengths[i]; t++)
            stack_enter(stack, t, x + (at + t) * stack->size);
    *out = (struct encoded){.annotations = x};
    return parts;
}

/* Rotates the queries and keys of the next rows by their places in their sentences. */
static void rotate_rows(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct stack *stack = &own->stack;
    const size_t *lengths = parts->sequences.lengths;
    size_t end = parts->row + rows, distance = row_distance(stack);
    for (size_t i = 0, begin = 0; begin < end; begin += lengths[i++]) {
        size_t first = parts->row > begin ? parts->row : begin,
               after = begin + lengths[i] < end ? begin + lengths[i] : end;
        for (size_t r = first; r < after; r++) {
            positions_rotate(&stack->positions, &stack->heads, r - begin, parts->q + r * distance);
            positions_rotate(&stack->positions, &stack->heads, r - begin, parts->k + r * distance);
        }
    }
}

/* Does the first pass: computes queries, keys and values of the next rows. */
static void make_keys(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct heads *self = &own->layers[parts->layer].self;
    size_t distance = row_distance(&own->stack), at = parts->row * distance;
    const float *x = parts->x + parts->row * own->stack.size,
                *read = block_read(&own->stack, &self->norm, rows, x, parts->u + at);
    heads_project(self, read, rows,
                  &(struct projections){parts->q + at, parts->k + at, parts->v + at, distance});
    if (own->stack.positions.turns)
        rotate_rows(own, parts, rows);
}

/* Does the second pass. The output of the rows takes the place of their queries, which nothing
 * reads any more. */
static void look_and_filter(const struct transformer *own, const struct parts *parts, size_t rows) {
    const struct layer *layer = &own->layers[parts->layer];
    const struct stack *stack = &own->stack;
    const size_t *lengths = parts->sequences.lengths;
    size_t size = stack->size, width = stack->width, distance = row_distance(stack),
           tokens = parts->sequences.tokens, longest = parts->sequences.longest, first = parts->row,
           end = first + rows;
    float *looks = parts->sequences.looks;
    if (parts->lean && first == 0)
        heads_lean(&stack->heads, heads_leaning(&layer->self), longest, parts->lean);

    /* Writes the contexts of these rows to u, sentence by sentence. */
    for (size_t i = 0, begin = 0; begin < end; begin += lengths[i++]) {
        size_t from = first > begin ? first - begin : 0,
               to = end - begin < lengths[i] ? end - begin : lengths[i];
        if (from >= to)
            continue;
        struct mutual mutual = {
            .q = parts->q + begin * distance,
            .k = parts->k + begin * distance,
            .v = parts->v + begin * distance,
            .distance = distance,
            .n = lengths[i],
            .first = from,
            .rows = to - from,
            .lean = parts->lean ? parts->lean + longest - 1 : NULL,
            .lean_distance = 2 * longest - 1,
            .scratch = parts->mutual,
            .weights = looks ? looks + parts->layer * stack->heads.count * tokens * tokens : NULL,
            .out = parts->u + begin * width};
        heads_look_around(stack->kernels, &stack->heads, &mutual);
    }

    float *x = parts->x + first * size, *u = parts->u + first * width,
          *q = parts->q + first * distance;
    linear_apply(&layer->self.output, u, width, rows, q, size);
    block_add(stack, &layer->self.norm, rows, q, x);
    filter_run(&layer->filter, stack,
               &(struct filter_rows){rows, x, parts->u + first * distance, q, parts->wide});
}

static bool transformer_advance(const struct encoder *e, void *all, size_t work) {
    const struct transformer *own = e->own;
    struct parts *parts = all;
    size_t size = own->stack.size, width = own->stack.width, tokens = parts->sequences.tokens;
    for (size_t done = 0; parts->layer < own->count && done < work;) {
        /* The maximum number of multiplications for a row in this pass. */
        size_t each = parts->keyed ? width * (size + 2 * parts->sequences.longest) +
                                         size * (stack_wide(&own->stack) + own->stack.filter)
                                   : 3 * size * width;
        size_t rows = rows_together(encoder_part_rows(work - done, each, tokens - parts->row));
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

/* ---- all encoders ---- */

static const struct encoder_kind kinds[] = {
    {"recurrent", recurrent_init, recurrent_begin, NULL},
    {"convolutional", convolutional_init, convolutional_begin, NULL},
    {"transformer", transformer_init, transformer_begin, transformer_advance},
};

const char *encoder_embedding(const struct model_config *config) {
    return config->encoder.embedding_shared ? "decoder.embedding" : "encoder.embedding";
}

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary,
                 const struct loader *loader) {
    const struct encoder_config *c = &config->encoder;
    *encoder = (struct encoder){.kernels = loader->kernels,
                                .vocabulary = vocabulary,
                                .embedding_size = c->embedding,
                                .annotation = config_annotation_size(config)};
    encoder->kind = TABLE_FIND(kinds, "encoder.type", c->type, loader->err);
    if (!encoder->kind)
        return -1;
    weights_table(loader->weights, encoder_embedding(config), vocabulary, c->embedding,
                  &encoder->embedding, loader->err);
    return encoder->kind->init(encoder, config, loader);
}

/* Returns the embeddings [tokens, E] of the sentences, which it describes in `sequences`; NULL: out
 * of memory. */
static float *embed(const struct encoder *e, const struct encoder_input *input, struct arena *arena,
                    struct sequences *sequences) {
    const int *ids = input->ids;
    const size_t *lengths = input->lengths;
    size_t n = input->n;
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

bool encoder_divides(const struct encoder *encoder) {
    return encoder->kind->advance != NULL;
}

void *encoder_begin(const struct encoder *encoder, const struct encoder_input *input,
                    struct arena *arena, struct encoded *out, struct error *err) {
    struct sequences sequences;
    float *x = embed(encoder, input, arena, &sequences);

    void *parts = x ? encoder->kind->begin(encoder, x, &sequences, arena, out) : NULL;
    if (!parts)
        error_memory(err);
    out->lengths = input->lengths;
    out->n = input->n;
    return parts;
}

bool encoder_advance(const struct encoder *encoder, void *parts, size_t work) {
    return !encoder->kind->advance || encoder->kind->advance(encoder, parts, work);
}

int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena,
                 float *weights, struct error *err) {
    struct sequences sequences;
    struct encoded encoded;
    float *x = embed(encoder, &(struct encoder_input){ids, &length, 1}, arena, &sequences);
    sequences.looks = weights;
    void *parts = x ? encoder->kind->begin(encoder, x, &sequences, arena, &encoded) : NULL;
    if (!parts)
        return error_memory(err);
    encoder_advance(encoder, parts, SIZE_MAX);
    return 0;
}
