/* The recurrent encoder: stacked layers in one direction or both, h_j = [forward; backward]. Hides how the layers stand on each
 * other, and how sentences of different lengths step together. Residual (GNMT, Wu et al. 2016): from the second layer up, a layer's
 * output is its h plus its input if the two have the same size; its recurrence and its final state are h alone. */
#include "model/network/encoder.h"
#include "model/network/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the layers of a bidirectional encoder are stacked. apart: a direction reads only its own output from the layer below;
 * turning: every second layer runs against its direction; single: the layers above the first have only the first direction. */
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
    const struct kernels *kernels;
    const struct encoder_stack *stack;
    const struct cell_kind *cell;
    const struct norm_kind *norm;          /* of the cells' products */
    size_t embedding_size, hidden, layers; /* E, H, - */
    size_t directions;                     /* of the first layer */
    bool residual;
    struct cell cells[CONFIG_MAX_LAYERS][2]; /* [layer][forward, backward] */
};

static size_t directions_of(const struct recurrent *e, size_t l) {
    return l > 0 && e->stack->single ? 1 : e->directions;
}

/* Floats of a token in the output of layer l. */
static size_t size_of(const struct recurrent *e, size_t l) {
    return directions_of(e, l) * e->hidden;
}

/* Floats of a token in the input of layer l, for all directions together. */
static size_t input_size(const struct recurrent *e, size_t l) {
    return l == 0 ? e->embedding_size : size_of(e, l - 1);
}

/* True if direction d of layer l reads its own half of the output below. */
static bool reads_apart(const struct recurrent *e, size_t l) {
    return l > 0 && e->stack->apart;
}

/* ---- loading ---- */

static int recurrent_init(struct encoder *encoder, const struct model_config *config, struct weights *weights, struct error *err) {
    static const char *const directions[] = {"forward", "backward"};
    const struct encoder_config *c = &config->encoder;
    struct recurrent *own = encoder->own = malloc(sizeof *own);
    if (!own)
        return error_memory(err);
    *own = (struct recurrent){.kernels = encoder->kernels,
                              .stack = TABLE_FIND(stacks, "encoder.stack", c->stack, err),
                              .cell = cell_kind_find("encoder.cell", c->cell, err),
                              .norm = norm_kind_find("encoder.normalization", c->normalization, err),
                              .embedding_size = encoder->embedding_size,
                              .hidden = c->hidden,
                              .layers = c->layers,
                              .directions = c->bidirectional ? 2 : 1,
                              .residual = c->residual};
    if (!own->stack || !own->cell || !own->norm)
        return -1;
    for (size_t l = 0; l < own->layers; l++)
        for (size_t d = 0; d < directions_of(own, l); d++) {
            struct cell_shape shape = {.in = reads_apart(own, l) ? own->hidden : input_size(own, l),
                                       .hidden = own->hidden,
                                       .norm = own->norm,
                                       .transitions = c->transitions};
            char prefix[64];
            snprintf(prefix, sizeof prefix, "encoder.layers.%zu.%s.", l, directions[d]);
            cell_init(&own->cells[l][d], own->cell, prefix, &shape, weights, own->kernels, err);
        }
    return weights_failed(weights) ? -1 : 0;
}

static void recurrent_done(void *own) {
    struct recurrent *e = own;
    for (size_t l = 0; l < e->layers; l++)
        for (size_t d = 0; d < 2; d++)
            cell_done(&e->cells[l][d]);
    free(e);
}

/* ---- running ---- */

/* Sentences end to end, and in the order of falling length: those that reach step t are the first ones. */
struct ragged {
    size_t n, tokens, longest;
    const size_t *lengths;
    size_t *offsets; /* [n] the number of each sentence's first token */
    size_t *order;   /* [n] sentence indices by falling length */
    size_t *x_rows;  /* [n] scratch: the token that each active sentence reads at a step */
};

static int ragged_init(struct ragged *ragged, const struct sequences *sequences, struct arena *arena) {
    const size_t *lengths = sequences->lengths;
    size_t n = sequences->n, offset = 0;
    *ragged = (struct ragged){.n = n,
                              .tokens = sequences->tokens,
                              .longest = sequences->longest,
                              .lengths = lengths,
                              .offsets = arena_alloc(arena, n, sizeof *ragged->offsets),
                              .order = arena_alloc(arena, n, sizeof *ragged->order),
                              .x_rows = arena_alloc(arena, n, sizeof *ragged->x_rows)};
    if (arena_failed(arena))
        return -1;
    for (size_t i = 0; i < n; offset += lengths[i++]) {
        ragged->offsets[i] = offset;
        size_t place = i; /* insertion: n is small, and equal lengths keep their order */
        for (; place > 0 && lengths[ragged->order[place - 1]] < lengths[i]; place--)
            ragged->order[place] = ragged->order[place - 1];
        ragged->order[place] = i;
    }
    return 0;
}

/* One direction of one layer. */
struct lane {
    const struct cell *cell;
    bool backward;
    struct vectors in;   /* [tokens], as much of each as the cell reads */
    size_t column, size; /* where its h goes in the layer's output for a token, and the size of that output */
    float *out, *finals; /* [tokens, size]; [n, states, size] */
};

static int run_lane(const struct lane *lane, const struct ragged *ragged, struct arena *arena) {
    const struct cell *cell = lane->cell;
    size_t hidden = cell->hidden, kept = cell->kind->states, ld = kept * hidden, active = ragged->n;
    struct arena_mark mark = arena_mark(arena);
    float *gates_x = arena_alloc(arena, ragged->tokens * cell->input.out, sizeof *gates_x);
    float *scratch = arena_alloc(arena, ragged->n * cell_scratch(cell), sizeof *scratch);
    float *states = arena_zalloc(arena, ragged->n * ld, sizeof *states); /* [n, states * H] in ragged order */
    if (arena_failed(arena))
        return -1;
    linear_apply(&cell->input, lane->in.x, lane->in.distance, ragged->tokens, gates_x, cell->input.out);

    for (size_t t = 0; t < ragged->longest; t++) {
        while (ragged->lengths[ragged->order[active - 1]] <= t)
            active--;
        for (size_t i = 0; i < active; i++) {
            size_t sentence = ragged->order[i];
            ragged->x_rows[i] = ragged->offsets[sentence] + (lane->backward ? ragged->lengths[sentence] - 1 - t : t);
        }
        cell_step(cell, &(struct cell_inputs){gates_x, cell->input.out, ragged->x_rows}, active, states, ld, scratch);
        for (size_t i = 0; i < active; i++)
            memcpy(lane->out + ragged->x_rows[i] * lane->size + lane->column, states + i * ld, hidden * sizeof *states);
    }

    /* The final states go back to the order of the sentences. */
    for (size_t i = 0; i < ragged->n; i++)
        for (size_t s = 0; s < kept; s++)
            memcpy(lane->finals + (ragged->order[i] * kept + s) * lane->size + lane->column, states + (i * kept + s) * hidden,
                   hidden * sizeof *states);
    arena_release(arena, mark);
    return 0;
}

static int recurrent_run(const struct encoder *encoder, float *x, const struct sequences *sequences, struct arena *arena,
                         struct encoded *out) {
    const struct recurrent *e = encoder->own;
    struct ragged ragged;
    if (ragged_init(&ragged, sequences, arena) != 0)
        return -1;
    const float *in = x;
    size_t states = e->cell->states;
    for (size_t l = 0; l < e->layers; l++) {
        size_t size = size_of(e, l);
        float *h = arena_alloc(arena, ragged.tokens * size, sizeof *h);
        out->finals[l] = arena_alloc(arena, ragged.n * states * size, sizeof *h);
        if (arena_failed(arena))
            return -1;
        for (size_t d = 0; d < directions_of(e, l); d++) {
            struct lane lane = {.cell = &e->cells[l][d],
                                .backward = (d == 1) != (e->stack->turning && l % 2 == 1),
                                .in = {in + (reads_apart(e, l) ? d * e->hidden : 0), input_size(e, l)},
                                .column = d * e->hidden,
                                .size = size,
                                .out = h,
                                .finals = out->finals[l]};
            if (run_lane(&lane, &ragged, arena) != 0)
                return -1;
        }
        if (e->residual && l > 0 && input_size(e, l) == size)
            e->kernels->add(in, ragged.tokens * size, h);
        in = out->annotations = h;
        out->top = out->finals[l];
        out->top_ld = states * size;
    }
    return 0;
}

const struct encoder_kind encoder_recurrent = {"recurrent", recurrent_init, recurrent_done, recurrent_run, NULL, NULL};
