#include "model/decoder.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What one step works on besides its rows. */
struct step {
    const struct decoder *decoder;
    const struct decoder_rows *rows;
    float *input;             /* [R, E + feed]: y, and h~ of the step before with input feeding */
    float *contexts;          /* [R, P]: sums of values */
    float *gates_x, *gates_u; /* [R, G] */
    float *query;             /* [R, A] */
    float *parts;             /* [R, what the readout reads side by side] */
};

struct decoder_kind {
    const char *name;
    bool conditional; /* layer 0 has a second cell */
    void (*run)(const struct step *step);
};

/* ---- the styles ---- */

static float *layer_states(const struct step *step, size_t layer) {
    return step->rows->states + layer * step->decoder->layer_size;
}

/* One cell over all rows; products [R, gates * H] with its input, at distance ld. */
static void step_cell(const struct step *step, const struct cell *cell, const float *products, size_t ld, size_t layer) {
    cell_step(cell, &(struct cell_inputs){products, ld, NULL}, step->rows->rows, layer_states(step, layer),
              step->decoder->state_size, step->gates_u);
}

/* The same from the input itself, x [R, in] at distance ld. */
static void run_cell(const struct step *step, const struct cell *cell, const float *x, size_t ld, size_t layer) {
    linear_apply(&cell->input, x, ld, step->rows->rows, step->gates_x, cell->input.out);
    step_cell(step, cell, step->gates_x, cell->input.out, layer);
}

/* Layers first.. stacked, each reading the h of the one below (layer 0: the input). */
static void run_layers(const struct step *step, size_t first) {
    const struct decoder *d = step->decoder;
    for (size_t l = first; l < d->layers; l++)
        run_cell(step, &d->cells[l], l == 0 ? step->input : layer_states(step, l - 1),
                 l == 0 ? d->embedding_size + d->feed : d->state_size, l);
}

static void attend(const struct step *step, size_t layer) {
    const struct decoder_rows *rows = step->rows;
    attention_run(&step->decoder->attention, layer_states(step, layer), step->decoder->state_size, rows->rows, rows->memories,
                  rows->attention, step->contexts, step->query);
}

/* Luong et al. 2015: s_t = f(s_{t-1}, y_{t-1}), all layers; c_t from score(s_t, h). */
static void run_luong(const struct step *step) {
    run_layers(step, 0);
    attend(step, step->decoder->layers - 1);
}

/* Nematus and Marian: s' = cell1(s, y); c from score(s', h); s = cell2(s', c); further layers stand on s. */
static void run_conditional(const struct step *step) {
    run_cell(step, &step->decoder->cells[0], step->input, step->decoder->embedding_size, 0);
    attend(step, 0);
    step_cell(step, &step->decoder->conditional, step->contexts, step->decoder->attention.value, 0);
    run_layers(step, 1);
}

static const struct decoder_kind kinds[] = {
    {"luong", false, run_luong},
    {"conditional", true, run_conditional},
};

/* ---- the readouts ---- */

struct readout_kind {
    const char *name, *reads; /* in order: y embedding, s state, c context */
    bool layer;               /* tanh(W x + b) of what it reads; otherwise x itself */
};

static const struct readout_kind readouts[] = {
    {"attentional", "cs", true}, /* h~ = tanh(W [c; s] + b), Luong et al. 2015 */
    {"tanh", "ysc", true},       /* tanh(W [y; s; c] + b), Nematus and Marian */
    {"concat", "cs", false},     /* [c; s] */
};

static size_t part_size(const struct decoder *d, char part) {
    return part == 'y' ? d->embedding_size : part == 's' ? d->hidden : d->annotation;
}

/* A readout with a layer reads the context through the values. */
static bool side_by_side(const struct decoder *d, char part) {
    return part != 'c' || !d->reads->layer;
}

static size_t parts_size(const struct decoder *d) {
    size_t size = 0;
    for (const char *part = d->reads->reads; *part; part++)
        size += side_by_side(d, *part) ? part_size(d, *part) : 0;
    return size;
}

/* Where in the values the readout finds what it reads of the context. */
static size_t context_offset(const struct decoder *d) {
    return d->kind->conditional ? d->conditional.input.out : 0;
}

/* Row r's vector of one part. */
static const float *part_of(const struct step *step, char part, size_t r) {
    const struct decoder *d = step->decoder;
    if (part == 'y')
        return step->input + r * (d->embedding_size + d->feed);
    return part == 's' ? layer_states(step, d->layers - 1) + r * d->state_size
                       : step->contexts + r * d->attention.value + context_offset(d);
}

/* The parts of all rows, row r's at x + r * size. */
static void put_side_by_side(const struct step *step, float *x, size_t size) {
    const struct decoder *d = step->decoder;
    for (size_t r = 0; r < step->rows->rows; r++) {
        float *to = x + r * size;
        for (const char *part = d->reads->reads; *part; part++) {
            if (!side_by_side(d, *part))
                continue;
            memcpy(to, part_of(step, *part, r), part_size(d, *part) * sizeof *to);
            to += part_size(d, *part);
        }
    }
}

static void read_out(const struct step *step) {
    const struct decoder *d = step->decoder;
    const struct decoder_rows *rows = step->rows;
    size_t size = parts_size(d);
    put_side_by_side(step, d->reads->layer ? step->parts : rows->readouts, size);
    if (d->reads->layer) {
        linear_apply(&d->readout, step->parts, size, rows->rows, rows->readouts, d->readout_size);
        for (size_t r = 0; r < rows->rows; r++)
            d->kernels->add(part_of(step, 'c', r), d->readout_size, rows->readouts + r * d->readout_size);
        d->kernels->tanh(rows->readouts, rows->rows * d->readout_size);
    }
    for (size_t r = 0; d->feed && r < rows->rows; r++)
        memcpy(rows->states + (r + 1) * d->state_size - d->feed, rows->readouts + r * d->readout_size,
               d->feed * sizeof *rows->states);
}

void decoder_values(const struct decoder *decoder, const float *annotations, size_t tokens, float *values) {
    const struct decoder *d = decoder;
    size_t ld = d->attention.value, offset = context_offset(d);
    if (d->kind->conditional)
        linear_apply(&d->conditional.input, annotations, d->annotation, tokens, values, ld);
    if (d->reads->layer)
        linear_apply(&d->readout_context, annotations, d->annotation, tokens, values + offset, ld);
    for (size_t t = 0; !d->reads->layer && t < tokens; t++)
        memcpy(values + t * ld + offset, annotations + t * d->annotation, d->annotation * sizeof *values);
}

/* ---- one step ---- */

static void embed(const struct step *step) {
    const struct decoder *d = step->decoder;
    const struct decoder_rows *rows = step->rows;
    for (size_t r = 0; r < rows->rows; r++) {
        float *x = step->input + r * (d->embedding_size + d->feed);
        int token = rows->tokens[r] == DECODER_FIRST ? d->first : rows->tokens[r];
        assert(token == DECODER_FIRST || (token >= 0 && (size_t)token < d->vocabulary));
        if (token == DECODER_FIRST)
            memset(x, 0, d->embedding_size * sizeof *x);
        else
            memcpy(x, d->embedding + (size_t)token * d->embedding_size, d->embedding_size * sizeof *x);
        if (rows->inputs)
            memcpy(rows->inputs + r * d->embedding_size, x, d->embedding_size * sizeof *x);
        if (d->feed)
            memcpy(x + d->embedding_size, rows->states + (r + 1) * d->state_size - d->feed, d->feed * sizeof *x);
    }
}

const float *decoder_top(const struct decoder *decoder, const float *states) {
    return states + (decoder->layers - 1) * decoder->layer_size;
}

int decoder_step(const struct decoder *decoder, const struct decoder_rows *rows, struct arena *arena, struct error *err) {
    size_t gates = decoder->cells[0].input.out, r = rows->rows;
    struct arena_mark mark = arena_mark(arena);
    struct step step = {.decoder = decoder,
                        .rows = rows,
                        .input = arena_alloc(arena, r * (decoder->embedding_size + decoder->feed), sizeof(float)),
                        .contexts = arena_alloc(arena, r * decoder->attention.value, sizeof(float)),
                        .gates_x = arena_alloc(arena, r * gates, sizeof(float)),
                        .gates_u = arena_alloc(arena, r * gates, sizeof(float)),
                        .query = arena_alloc(arena, r * decoder->attention.size, sizeof(float)),
                        .parts = arena_alloc(arena, r * parts_size(decoder), sizeof(float))};
    bool allocated = step.input && step.contexts && step.gates_x && step.gates_u && step.query && step.parts;
    if (allocated) {
        embed(&step);
        decoder->kind->run(&step);
        read_out(&step);
    }
    arena_release(arena, mark);
    return allocated ? 0 : error_memory(err);
}

/* ---- the first state ---- */

static size_t longest(const size_t *lengths, size_t n) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = lengths[i] > most ? lengths[i] : most;
    return most;
}

/* mean [D] of annotations [T, D]: a context of equal weights, of which `equal` has room for T. */
static void mean_of(const struct decoder *d, const float *annotations, size_t length, float *equal, float *mean) {
    for (size_t t = 0; t < length; t++)
        equal[t] = 1.0f / (float)length;
    d->kernels->weighted_sum(equal, annotations, length, d->annotation, mean);
}

/* h of layer l for each sentence: summary [n, D] (distance ld), projected or copied. LSTM's c stays zero. */
static void start_layer(const struct decoder *d, size_t l, const float *summary, size_t ld, size_t n, float *states) {
    float *h = states + l * d->layer_size;
    if (d->projected)
        linear_apply(&d->initial[l], summary, ld, n, h, d->state_size);
    for (size_t i = 0; i < n; i++) {
        if (d->projected)
            d->kernels->tanh(h + i * d->state_size, d->hidden);
        else
            memcpy(h + i * d->state_size, summary + i * ld, d->hidden * sizeof *h);
    }
}

/* Without a projection `last` hands each layer of the encoder to the decoder's layer of that number, LSTM's c too. */
static void hand_over(const struct decoder *d, const struct encoded *encoded, size_t n, float *states) {
    for (size_t l = 0; l < d->layers; l++)
        for (size_t i = 0; i < n; i++)
            memcpy(states + i * d->state_size + l * d->layer_size, encoded->finals[l] + i * d->layer_size,
                   d->layer_size * sizeof *states);
}

int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err) {
    const struct decoder *d = decoder;
    memset(states, 0, n * d->state_size * sizeof *states);
    if (d->initial_state == INITIAL_ZERO)
        return 0;
    if (d->initial_state == INITIAL_LAST && !d->projected) {
        hand_over(d, encoded, n, states);
        return 0;
    }
    /* one summary a sentence: the top layer's final h, or the mean annotation */
    struct arena_mark mark = arena_mark(arena);
    float *summary = arena_alloc(arena, n * d->annotation, sizeof *summary);
    float *equal = arena_alloc(arena, longest(lengths, n), sizeof *equal);
    if (!summary || !equal)
        return error_memory(err);
    const float *annotations = encoded->annotations;
    for (size_t i = 0; i < n; i++) {
        if (d->initial_state == INITIAL_MEAN)
            mean_of(d, annotations, lengths[i], equal, summary + i * d->annotation);
        else
            memcpy(summary + i * d->annotation, encoded->top + i * encoded->top_ld, d->annotation * sizeof *summary);
        annotations += lengths[i] * d->annotation;
    }
    for (size_t l = 0; l < d->layers; l++)
        start_layer(d, l, summary, d->annotation, n, states);
    arena_release(arena, mark);
    return 0;
}

/* ---- loading ---- */

static int find_rows(struct decoder *d, const struct decoder_config *c, struct error *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, c->style) == 0)
            d->kind = &kinds[i];
    if (!d->kind)
        return error_set(err, ERROR_FORMAT, "decoder.style: %s is not known", c->style);
    for (size_t i = 0; i < sizeof readouts / sizeof *readouts; i++)
        if (strcmp(readouts[i].name, c->readout) == 0)
            d->reads = &readouts[i];
    return d->reads ? 0 : error_set(err, ERROR_FORMAT, "decoder.readout: %s is not known", c->readout);
}

static int load_layer(struct decoder *d, const struct cell_kind *cell, size_t l, struct weights *weights, struct error *err) {
    char name[64];
    snprintf(name, sizeof name, "decoder.layers.%zu.", l);
    if (cell_init(&d->cells[l], cell, name, l == 0 ? d->embedding_size + d->feed : d->hidden, d->hidden, weights, d->kernels,
                  err) != 0)
        return -1;
    if (!d->projected)
        return 0;
    char bias[64];
    snprintf(name, sizeof name, "decoder.initial.%zu.weight", l);
    snprintf(bias, sizeof bias, "decoder.initial.%zu.bias", l);
    return weights_linear(weights, &(struct linear_names){.weight = name, .bias = bias}, d->hidden, d->annotation, &d->initial[l],
                          err);
}

/* The readout's matrix in two: the context comes first or last in what it reads. */
static int load_readout(struct decoder *d, struct weights *weights, struct error *err) {
    size_t rest = parts_size(d), columns = rest + d->annotation, context_first = d->reads->reads[0] == 'c';
    struct linear_names names = {.weight = "readout.weight", .first = context_first ? d->annotation : 0, .columns = columns};
    struct linear_names context = {
        .weight = "readout.weight", .bias = "readout.bias", .first = context_first ? 0 : rest, .columns = columns};
    return weights_linear(weights, &names, d->readout_size, rest, &d->readout, err) == 0 &&
                   weights_linear(weights, &context, d->readout_size, d->annotation, &d->readout_context, err) == 0
               ? 0
               : -1;
}

static int load(struct decoder *d, const struct model_config *config, const struct cell_kind *cell, struct weights *weights,
                struct error *err) {
    d->embedding = weights_get(weights, "decoder.embedding", d->vocabulary, d->embedding_size, err);
    for (size_t l = 0; l < d->layers; l++)
        if (load_layer(d, cell, l, weights, err) != 0)
            return -1;
    if (d->kind->conditional &&
        cell_init(&d->conditional, cell, "decoder.conditional.", d->annotation, d->hidden, weights, d->kernels, err) != 0)
        return -1;
    if ((d->reads->layer && load_readout(d, weights, err) != 0) ||
        attention_init(&d->attention, config, weights, d->kernels, err) != 0)
        return -1;
    d->attention.value = context_offset(d) + (d->reads->layer ? d->readout_size : d->annotation);
    return 0;
}

int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err) {
    const struct decoder_config *c = &config->decoder;
    const struct cell_kind *cell = cell_kind_find(c->cell);
    if (!cell)
        return error_set(err, ERROR_FORMAT, "decoder.cell: %s is not known", c->cell);
    *decoder = (struct decoder){.kernels = kernels,
                                .vocabulary = vocabulary,
                                .embedding_size = c->embedding,
                                .hidden = c->hidden,
                                .layers = c->layers,
                                .readout_size = config_readout_size(config),
                                .annotation = config_annotation_size(config),
                                .layer_size = cell->states * c->hidden,
                                .first = c->first_zero ? DECODER_FIRST : first,
                                .initial_state = c->initial_state,
                                .projected = c->initial_projection};
    decoder->feed = c->input_feeding ? decoder->readout_size : 0;
    decoder->state_size = decoder->layers * decoder->layer_size + decoder->feed;
    if (find_rows(decoder, c, err) == 0 && load(decoder, config, cell, weights, err) == 0)
        return 0;
    decoder_done(decoder);
    return -1;
}

void decoder_done(struct decoder *decoder) {
    for (size_t l = 0; l < decoder->layers; l++) {
        cell_done(&decoder->cells[l]);
        linear_done(&decoder->initial[l]);
    }
    cell_done(&decoder->conditional);
    linear_done(&decoder->readout);
    linear_done(&decoder->readout_context);
    attention_done(&decoder->attention);
}
