/* Stacked recurrent layers, in one direction or both: h_j = [forward; backward]. Residual (GNMT, Wu et al. 2016): from the second
 * layer up, what a layer puts out is its h plus what it read; its recurrence and its final state are h alone. */
#include "model/encoder.h"

#include <stdio.h>
#include <string.h>

/* Layer l, direction d. */
static int load_cell(struct encoder *e, size_t l, size_t d, const struct cell_kind *kind, struct weights *weights,
                     struct error *err) {
    static const char *const directions[] = {"forward", "backward"};
    char prefix[64];
    snprintf(prefix, sizeof prefix, "encoder.layers.%zu.%s.", l, directions[d]);
    struct cell_shape shape = {.in = l == 0 ? e->embedding_size : e->annotation, .hidden = e->hidden};
    return cell_init(&e->cells[l][d], kind, prefix, &shape, weights, e->kernels, err);
}

static int init(struct encoder *e, const struct model_config *config, struct weights *weights, struct error *err) {
    const struct cell_kind *kind = cell_kind_find(config->encoder.cell);
    if (!kind)
        return error_set(err, ERROR_FORMAT, "encoder.cell: %s is not known", config->encoder.cell);
    e->directions = config->encoder.bidirectional ? 2 : 1;
    e->residual = config->encoder.residual;
    for (size_t l = 0; l < e->layers; l++)
        for (size_t d = 0; d < e->directions; d++)
            if (load_cell(e, l, d, kind, weights, err) != 0)
                return -1;
    return 0;
}

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
    if (!ragged->offsets || !ragged->order || !ragged->x_rows)
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

/* One direction of one layer. gates_x [tokens, G]; states [n, states * H], zero, in ragged order; h goes to column d * H of out. */
static void run_direction(const struct encoder *e, const struct cell *cell, size_t d, const struct ragged *ragged,
                          const float *gates_x, float *states, float *scratch, float *out) {
    size_t ld = cell->kind->states * e->hidden, active = ragged->n;
    for (size_t t = 0; t < ragged->longest; t++) {
        while (ragged->lengths[ragged->order[active - 1]] <= t)
            active--;
        for (size_t i = 0; i < active; i++) {
            size_t sentence = ragged->order[i];
            ragged->x_rows[i] = ragged->offsets[sentence] + (d == 0 ? t : ragged->lengths[sentence] - 1 - t);
        }
        cell_step(cell, &(struct cell_inputs){gates_x, cell->input.out, ragged->x_rows}, active, states, ld, scratch);
        for (size_t i = 0; i < active; i++)
            memcpy(out + ragged->x_rows[i] * e->annotation + d * e->hidden, states + i * ld, e->hidden * sizeof *out);
    }
}

/* States in ragged order -> finals [n, states, D] in the order of the sentences, column d * H. */
static void keep_finals(const struct encoder *e, const struct cell *cell, size_t d, const struct ragged *ragged,
                        const float *states, float *finals) {
    size_t count = cell->kind->states;
    for (size_t i = 0; i < ragged->n; i++)
        for (size_t s = 0; s < count; s++)
            memcpy(finals + (ragged->order[i] * count + s) * e->annotation + d * e->hidden, states + (i * count + s) * e->hidden,
                   e->hidden * sizeof *finals);
}

/* in [tokens, size] -> out [tokens, D] and finals, all directions of layer l. */
static int run_layer(const struct encoder *e, size_t l, const struct ragged *ragged, const float *in, size_t size,
                     struct arena *arena, float *out, float *finals) {
    for (size_t d = 0; d < e->directions; d++) {
        const struct cell *cell = &e->cells[l][d];
        struct arena_mark mark = arena_mark(arena);
        float *gates_x = arena_alloc(arena, ragged->tokens * cell->input.out, sizeof *gates_x);
        float *scratch = arena_alloc(arena, ragged->n * cell_scratch(cell), sizeof *scratch);
        float *states = arena_zalloc(arena, ragged->n * cell->kind->states * e->hidden, sizeof *states);
        if (!gates_x || !scratch || !states)
            return -1;
        linear_apply(&cell->input, in, size, ragged->tokens, gates_x, cell->input.out);
        run_direction(e, cell, d, ragged, gates_x, states, scratch, out);
        keep_finals(e, cell, d, ragged, states, finals);
        arena_release(arena, mark);
    }
    if (e->residual && l > 0)
        e->kernels->add(in, ragged->tokens * e->annotation, out);
    return 0;
}

static int run(const struct encoder *e, float *x, const struct sequences *sequences, struct arena *arena, struct encoded *out) {
    struct ragged ragged;
    if (ragged_init(&ragged, sequences, arena) != 0)
        return -1;
    const float *in = x;
    size_t size = e->embedding_size, states = e->cells[0][0].kind->states;
    for (size_t l = 0; l < e->layers; l++) {
        float *h = arena_alloc(arena, ragged.tokens * e->annotation, sizeof *h);
        out->finals[l] = arena_alloc(arena, ragged.n * states * e->annotation, sizeof *h);
        if (!h || !out->finals[l] || run_layer(e, l, &ragged, in, size, arena, h, out->finals[l]) != 0)
            return -1;
        out->annotations = h;
        out->top = out->finals[l];
        out->top_ld = states * e->annotation;
        in = h;
        size = e->annotation;
    }
    return 0;
}

const struct encoder_kind encoder_recurrent = {"recurrent", init, run};
