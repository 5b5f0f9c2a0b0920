/* Stacked recurrent layers, in one direction or both: h_j = [forward; backward]. Residual (GNMT, Wu et al. 2016): from the second
 * layer up, what a layer puts out is its h plus what it read, where the two are of a size; its recurrence and its final state are h
 * alone. */
#include "model/base/table.h"
#include "model/network/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the layers of a bidirectional encoder stand on each other. apart: a direction reads what itself put out below, not what both
 * did; turning: every other layer runs against its direction; single: above the first layer there is only the first direction. */
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

/* D is what the top layer puts out, H for each of its directions. */
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

/* Of a token, in what layer l puts out. */
static size_t size_of(const struct recurrent *e, size_t l) {
    return directions_of(e, l) * e->hidden;
}

/* Of a token, in what layer l reads, all directions together. */
static size_t input_size(const struct recurrent *e, size_t l) {
    return l == 0 ? e->embedding_size : size_of(e, l - 1);
}

/* Direction d of layer l reads its own half of the layer below. */
static bool reads_apart(const struct recurrent *e, size_t l) {
    return l > 0 && e->stack->apart;
}

/* ---- loading ---- */

static void load_cell(struct recurrent *e, size_t l, size_t d, const struct model_config *config, struct weights *weights,
                      struct error *err) {
    static const char *const directions[] = {"forward", "backward"};
    char prefix[64];
    snprintf(prefix, sizeof prefix, "encoder.layers.%zu.%s.", l, directions[d]);
    struct cell_shape shape = {.in = reads_apart(e, l) ? e->hidden : input_size(e, l),
                               .hidden = e->hidden,
                               .norm = e->norm,
                               .transitions = config->encoder.transitions};
    cell_init(&e->cells[l][d], e->cell, prefix, &shape, weights, e->kernels, err);
}

static int recurrent_init(struct encoder *encoder, const struct model_config *config, struct weights *weights, struct error *err) {
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
        for (size_t d = 0; d < directions_of(own, l); d++)
            load_cell(own, l, d, config, weights, err);
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

/* The sentences of one run, longest first, so that those still going at step t are the first `active`. */
struct ragged {
    size_t n, tokens, longest;
    const size_t *lengths;
    size_t *offsets; /* [n] of each sentence's first token */
    size_t *order;   /* [n] sentence indices by falling length */
    size_t *x_rows;  /* [n] scratch: the token that each active sentence reads at a step */
};

static int ragged_init(struct ragged *ragged, const struct sequences *sequences, struct arena *arena) {
    const size_t *lengths = sequences->lengths;
    size_t n = sequences->n;
    *ragged = (struct ragged){.n = n, .lengths = lengths};
    ragged->offsets = arena_alloc(arena, n, sizeof *ragged->offsets);
    ragged->order = arena_alloc(arena, n, sizeof *ragged->order);
    ragged->x_rows = arena_alloc(arena, n, sizeof *ragged->x_rows);
    if (arena_failed(arena))
        return -1;
    for (size_t i = 0; i < n; i++) {
        ragged->offsets[i] = ragged->tokens;
        ragged->tokens += lengths[i];
        ragged->longest = lengths[i] > ragged->longest ? lengths[i] : ragged->longest;
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
    size_t column, size; /* where its h goes in what the layer puts out of a token, and the size of that */
    float *out, *finals; /* [tokens, size]; [n, states, size] */
};

static struct lane lane_of(const struct recurrent *e, size_t l, size_t d, const float *in) {
    return (struct lane){.cell = &e->cells[l][d],
                         .backward = (d == 1) != (e->stack->turning && l % 2 == 1),
                         .in = {in + (reads_apart(e, l) ? d * e->hidden : 0), input_size(e, l)},
                         .column = d * e->hidden,
                         .size = size_of(e, l)};
}

/* gates_x [tokens, G]; states [n, states * H], zero, in ragged order. */
static void run_steps(const struct lane *lane, const struct ragged *ragged, const float *gates_x, float *states, float *scratch) {
    const struct cell *cell = lane->cell;
    size_t hidden = cell->hidden, ld = cell->kind->states * hidden, active = ragged->n;
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
}

/* States in ragged order -> finals, in the order of the sentences. */
static void keep_finals(const struct lane *lane, const struct ragged *ragged, const float *states) {
    size_t count = lane->cell->kind->states, hidden = lane->cell->hidden;
    for (size_t i = 0; i < ragged->n; i++)
        for (size_t s = 0; s < count; s++)
            memcpy(lane->finals + (ragged->order[i] * count + s) * lane->size + lane->column, states + (i * count + s) * hidden,
                   hidden * sizeof *states);
}

static int run_lane(const struct lane *lane, const struct ragged *ragged, struct arena *arena) {
    const struct cell *cell = lane->cell;
    struct arena_mark mark = arena_mark(arena);
    float *gates_x = arena_alloc(arena, ragged->tokens * cell->input.out, sizeof *gates_x);
    float *scratch = arena_alloc(arena, ragged->n * cell_scratch(cell), sizeof *scratch);
    float *states = arena_zalloc(arena, ragged->n * cell->kind->states * cell->hidden, sizeof *states);
    if (arena_failed(arena))
        return -1;
    linear_apply(&cell->input, lane->in.x, lane->in.distance, ragged->tokens, gates_x, cell->input.out);
    run_steps(lane, ragged, gates_x, states, scratch);
    keep_finals(lane, ragged, states);
    arena_release(arena, mark);
    return 0;
}

/* in [tokens, input_size] -> out [tokens, size_of] and finals [n, states, size_of]. */
static int run_layer(const struct recurrent *e, size_t l, const struct ragged *ragged, const float *in, struct arena *arena,
                     float *out, float *finals) {
    for (size_t d = 0; d < directions_of(e, l); d++) {
        struct lane lane = lane_of(e, l, d, in);
        lane.out = out;
        lane.finals = finals;
        if (run_lane(&lane, ragged, arena) != 0)
            return -1;
    }
    if (e->residual && l > 0 && input_size(e, l) == size_of(e, l))
        e->kernels->add(in, ragged->tokens * size_of(e, l), out);
    return 0;
}

static int recurrent_run(const struct encoder *encoder, float *x, const struct sequences *sequences, struct arena *arena,
                         struct encoded *out) {
    const struct recurrent *e = encoder->own;
    struct ragged ragged;
    if (ragged_init(&ragged, sequences, arena) != 0)
        return -1;
    const float *in = x;
    size_t states = e->cells[0][0].kind->states;
    for (size_t l = 0; l < e->layers; l++) {
        float *h = arena_alloc(arena, ragged.tokens * size_of(e, l), sizeof *h);
        out->finals[l] = arena_alloc(arena, ragged.n * states * size_of(e, l), sizeof *h);
        if (arena_failed(arena) || run_layer(e, l, &ragged, in, arena, h, out->finals[l]) != 0)
            return -1;
        in = out->annotations = h;
        out->top = out->finals[l];
        out->top_ld = states * size_of(e, l);
    }
    return 0;
}

const struct encoder_kind encoder_recurrent = {"recurrent", recurrent_init, recurrent_done, recurrent_run, NULL, NULL};
