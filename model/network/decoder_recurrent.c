/* Recurrent decoders: stacked cells, one of which may read a context, and a readout. This file
 * hides when a step attends (the style), and which products are computed once per sentence instead
 * of in each step.
 *
 * A context c = sum_j a_j V h_j (V the identity, unless values are learned) is read through
 * matrices only: by a cell of the first layer and by the readout. W c + b = sum_j a_j (W V h_j +
 * b), since the weights sum to 1: so these products are computed once per sentence, for all its
 * tokens at once, instead of for each row in each step. The values of the attention's memory hold
 * them side by side, first the cell's, then the readout's; where something reads c itself, they
 * hold V h_j. Without attention c is the encoder's final state, and the memory has one entry, the
 * products with it. Normalisation of a product applies to the weighted sum W c + b, and so is not
 * part of the values.
 *
 * A row's state: each layer's h (and LSTM's c); with coverage the sum of its attention to each
 * token; with input feeding h~ [O]. */
#include "model/network/layers.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

/* The readout is the vector of a step that the output layer reads. It is made of y (the embedding
 * of the token before), s (the output of the top layer) and the context c; reads: in this order. */
struct readout_kind {
    const char *name, *reads;
    size_t units; /* units of the layer for each element of the readout; 0: no layer, the readout is
                     its inputs side by side */
    /* out [size]: the first of these units; NULL: they stay as they are */
    void (*activate)(const struct kernels *kernels, const float *units, size_t size, float *out);
};

/* One product: W [some of the readout's inputs, side by side]. */
struct readout_part {
    const char *sources; /* `count` of y, s, c */
    size_t count;
    struct linear layer;
    struct norm norm; /* the product's norm */
};

/* A layer is the sum of its parts: one for the context, and one for all else or, if they are
 * normalised, one for each source. */
struct readout {
    const struct readout_kind *kind;
    size_t size;   /* O */
    size_t values; /* floats of a value that the readout reads: the product with its context's
                      matrix, or V h_j itself; 0: it reads no context */
    size_t embedding, hidden, context; /* E, H, C */
    size_t part_count;                 /* 0: no layer */
    struct readout_part parts[2], context_part;
    size_t scratch; /* floats for a row: the inputs of one part, and two vectors of units */
};

struct step;

/* The cell of layer 0 that reads the context: none; the one that reads y, side by side with it; or
 * a second one. */
enum context_reader { NO_CELL, FIRST_CELL, SECOND_CELL };

struct style {
    const char *name;
    enum context_reader reader;
    void (*run)(const struct step *step);
};

struct recurrent {
    const struct style *style;
    size_t hidden, layers, annotation, context; /* H, -, D, C */
    size_t layer_size;                          /* floats of a layer's state: states * H */
    size_t feed;                                /* O with input feeding, else 0 */
    size_t query;                               /* style bahdanau: the layer whose state asks */
    enum initial_state initial_state;
    bool projected, residual;
    bool initial_cell; /* an LSTM's c starts as its h does, not at zero */
    struct cell cells[CONFIG_MAX_LAYERS];
    struct cell
        conditional; /* style conditional: the second cell of layer 0, which reads the context */
    struct linear input_context; /* styles bahdanau and fixed: the product through which the cell of
                                    layer 0 reads the context */
    struct linear initial[CONFIG_MAX_LAYERS];
    struct norm initial_norms[CONFIG_MAX_LAYERS];
    struct attention attention; /* zeroed without attention, but for the size P of values */
    struct readout readout;
};

/* Returns the matrix through which a cell reads the context; out 0: none does. */
static const struct linear *context_matrix(const struct recurrent *d) {
    return d->style->reader == SECOND_CELL ? &d->conditional.input : &d->input_context;
}

/* ---- the readout ---- */

/* Units i and O + i are a pair: the paper's 2i - 1 and 2i. */
static void choose_maxima(const struct kernels *kernels, const float *units, size_t size,
                          float *out) {
    kernels->maxima(units + size, size, out);
}

static void apply_tanh(const struct kernels *kernels, const float *units, size_t size, float *out) {
    (void)units;
    kernels->tanh(out, size);
}

static const struct readout_kind readouts[] = {
    {"attentional", "cs", 1, apply_tanh}, /* h~ = tanh(W [c; s] + b), Luong et al. 2015 */
    {"tanh", "ysc", 1, apply_tanh},       /* tanh(W [y; s; c] + b), Nematus and Marian */
    {"concat", "cs", 0, NULL},            /* [c; s] */
    {"maxout", "ysc", 2,
     choose_maxima}, /* the larger of each pair of W [y; s; c] + b, Bahdanau et al. 2015, A.2.2 */
    {"linear", "cs", 1, NULL}, /* W [c; s] + b, OpenNMT-py with its mlp attention */
    {"state", "s", 0, NULL},   /* s itself: the context is read by a cell alone */
};

static size_t source_size(const struct readout *r, char source) {
    return source == 'y' ? r->embedding : source == 's' ? r->hidden : r->context;
}

/* Returns the size of the first `count` of these sources side by side. */
static size_t width_of(const struct readout *r, const char *sources, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += source_size(r, sources[i]);
    return size;
}

/* Loads the columns of the matrix for this part's sources, which are neighbours among those of the
 * readout. One bias serves for the sum of the parts and belongs to the context's, unless each part
 * has its own norm. */
static void load_part(const struct readout *r, struct readout_part *part,
                      const struct norm_kind *norm, const struct loader *loader) {
    char bias[32], after[] = {'.', *part->sources, '\0'};
    const char *reads = r->kind->reads, *shared = *part->sources == 'c' ? "readout.bias" : NULL;
    size_t units = r->kind->units * r->size;
    snprintf(bias, sizeof bias, "readout.bias%s", after);
    struct linear_names names = {.weight = "readout.weight",
                                 .bias = norm->epsilon > 0 ? bias : shared,
                                 .first = width_of(r, reads, (size_t)(part->sources - reads)),
                                 .columns = width_of(r, reads, strlen(reads))};
    weights_linear(loader->weights, &names, units, width_of(r, part->sources, part->count),
                   &part->layer, loader->err);
    norm_init(&part->norm, norm, &(struct norm_names){"readout.", after, units, 0}, loader);
}

static int readout_load(struct readout *r, const struct model_config *config,
                        const struct norm_kind *norm, const struct loader *loader) {
    const struct decoder_config *c = &config->decoder;
    *r = (struct readout){.kind = TABLE_FIND(readouts, "decoder.readout", c->readout, loader->err),
                          .size = config_readout_size(config),
                          .embedding = c->embedding,
                          .hidden = c->hidden,
                          .context = config_context_size(config)};
    if (!r->kind)
        return -1;
    if (r->kind->units == 0) {
        r->values = strchr(r->kind->reads, 'c') ? r->context : 0;
        return weights_failed(loader->weights) ? -1 : 0;
    }

    /* The context comes first or last. */
    const char *context = strchr(r->kind->reads, 'c'),
               *rest = context == r->kind->reads ? context + 1 : r->kind->reads;
    size_t left = strlen(r->kind->reads) - 1, each = norm->epsilon > 0 ? 1 : left;
    for (; left > 0; left -= each, rest += each) {
        struct readout_part *part = &r->parts[r->part_count++];
        *part = (struct readout_part){.sources = rest, .count = each};
        load_part(r, part, norm, loader);
        r->scratch = part->layer.in > r->scratch ? part->layer.in : r->scratch;
    }
    r->context_part = (struct readout_part){.sources = context, .count = 1};
    load_part(r, &r->context_part, norm, loader);
    r->values = r->context_part.layer.out;
    r->scratch += 2 * r->values;
    return weights_failed(loader->weights) ? -1 : 0;
}

/* y, s, c of R rows; contexts: sums of values. */
struct readout_inputs {
    struct vectors embeddings, states, contexts;
};

/* Writes these sources of all rows side by side, one row after the other. */
static void put_side_by_side(const struct readout *r, const char *sources, size_t count,
                             const struct readout_inputs *inputs, size_t rows, float *x) {
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++) {
            char source = sources[i];
            const struct vectors *from = source == 'y'   ? &inputs->embeddings
                                         : source == 's' ? &inputs->states
                                                         : &inputs->contexts;
            size_t size = source_size(r, source);
            memcpy(x, from->x + row * from->distance, size * sizeof *x);
            x += size;
        }
}

/* Computes the readouts, out [rows, O]. scratch: [rows, r->scratch]. */
static void readout_run(const struct readout *r, const struct kernels *kernels,
                        const struct readout_inputs *inputs, size_t rows, float *scratch,
                        float *out) {
    if (r->kind->units == 0) {
        put_side_by_side(r, r->kind->reads, strlen(r->kind->reads), inputs, rows, out);
        return;
    }
    const struct readout_part *context = &r->context_part;
    size_t n = context->layer.out;
    float *units = scratch, *product = units + rows * n, *x = product + rows * n;
    for (size_t row = 0; row < rows;
         row++) /* the contexts hold the product already, but not normalised */
        memcpy(units + row * n, inputs->contexts.x + row * inputs->contexts.distance,
               n * sizeof *units);
    norm_apply(&context->norm, kernels, rows, units, n);
    for (const struct readout_part *part = r->parts; part < r->parts + r->part_count; part++) {
        put_side_by_side(r, part->sources, part->count, inputs, rows, x);
        linear_apply(&part->layer, x, part->layer.in, rows, product, n);
        norm_apply(&part->norm, kernels, rows, product, n);
        kernels->add(product, rows * n, units);
    }
    for (size_t row = 0; row < rows; row++) {
        memcpy(out + row * r->size, units + row * n, r->size * sizeof *out);
        if (r->kind->activate)
            r->kind->activate(kernels, units + row * n, r->size, out + row * r->size);
    }
}

/* ---- one step ---- */

struct step {
    const struct decoder *decoder;
    const struct recurrent *own;
    const struct row *rows;
    size_t count;             /* R */
    float *input;             /* [R, E + feed]: y, and h~ of the step before with input feeding */
    float *contexts;          /* [R, P]: sums of values */
    float *gates_x, *gates_u; /* [R, G]; [R, cell_scratch], since all cells are normalised alike */
    float *scratch;           /* [R, attention.scratch] */
    float *sums;    /* [R, H]: with residual connections, the output of the layers so far */
    float *readout; /* [R, readout.scratch] */
};

/* Steps one cell of all rows; products [R, gates * H] with its input, at distance ld. */
static void step_cell(const struct step *step, const struct cell *cell, const float *products,
                      size_t ld, size_t layer) {
    cell_step(cell, &(struct cell_inputs){products, ld, NULL}, step->count,
              step->rows->state + layer * step->own->layer_size, step->decoder->shape.state,
              step->gates_u);
}

/* Computes these products from the input itself, x [R, in], and steps the cell. */
static void run_cell(const struct step *step, const struct cell *cell, struct vectors x,
                     size_t layer) {
    linear_apply(&cell->input, x.x, x.distance, step->count, step->gates_x, cell->input.out);
    step_cell(step, cell, step->gates_x, cell->input.out, layer);
}

static struct vectors input_of(const struct step *step) {
    return (struct vectors){step->input, step->decoder->shape.input + step->own->feed};
}

/* Returns h of a layer [R, H]. */
static struct vectors state_of(const struct step *step, size_t layer) {
    return (struct vectors){step->rows->state + layer * step->own->layer_size,
                            step->decoder->shape.state};
}

/* Returns the output of the topmost layer that has run. */
static struct vectors output_of(const struct step *step, size_t layer) {
    return step->own->residual ? (struct vectors){step->sums, step->own->hidden}
                               : state_of(step, layer);
}

/* Steps the layers above the first, each of which reads the output of the one below. Residual
 * (GNMT, Wu et al. 2016): from the second layer up, a layer's output is its h plus its input; its
 * recurrence is h alone. */
static void run_upper_layers(const struct step *step) {
    size_t hidden = step->own->hidden;
    for (size_t l = 0; l < step->own->layers; l++) {
        if (l > 0)
            run_cell(step, &step->own->cells[l], output_of(step, l - 1), l);
        struct vectors h = state_of(step, l);
        for (size_t r = 0; step->own->residual && r < step->count; r++) {
            if (l == 0)
                memcpy(step->sums + r * hidden, h.x + r * h.distance, hidden * sizeof *h.x);
            else
                step->decoder->kernels->add(h.x + r * h.distance, hidden, step->sums + r * hidden);
        }
    }
}

static void attend(const struct step *step, struct vectors queries) {
    const struct recurrent *own = step->own;
    attention_run(&own->attention, step->rows, step->count,
                  &(struct attention_step){.queries = queries,
                                           .coverage = own->layers * own->layer_size,
                                           .contexts = step->contexts,
                                           .scratch = step->scratch});
}

/* Luong et al. 2015: s_t = f(s_{t-1}, y_{t-1}), all layers; c_t from score(s_t, h). */
static void run_luong(const struct step *step) {
    run_cell(step, &step->own->cells[0], input_of(step), 0);
    run_upper_layers(step);
    attend(step, output_of(step, step->own->layers - 1));
}

/* Nematus and Marian: s' = cell1(s, y); c from score(s', h); s = cell2(s', c); further layers read
 * s. */
static void run_conditional(const struct step *step) {
    run_cell(step, &step->own->cells[0], input_of(step), 0);
    attend(step, state_of(step, 0));
    step_cell(step, &step->own->conditional, step->contexts, step->own->attention.value, 0);
    run_upper_layers(step);
}

/* Steps all layers, the first of which reads [y; c]. */
static void run_with_context(const struct step *step) {
    const struct cell *cell = &step->own->cells[0];
    size_t gates = cell->input.out;
    struct vectors y = input_of(step);
    linear_apply(&cell->input, y.x, y.distance, step->count, step->gates_x, gates);
    for (size_t r = 0; r < step->count; r++)
        step->decoder->kernels->add(step->contexts + r * step->own->attention.value, gates,
                                    step->gates_x + r * gates);
    step_cell(step, cell, step->gates_x, gates, 0);
    run_upper_layers(step);
}

/* Bahdanau et al. 2015: c_i from score(s_{i-1}, h); s_i = f(s_{i-1}, [y_{i-1}; c_i]). Of several
 * layers, the first one reads the context, and its state is the query, or that of the last. */
static void run_bahdanau(const struct step *step) {
    attend(step, state_of(step, step->own->query));
    run_with_context(step);
}

/* Cho et al. 2014: one c for all steps, the final h of the encoder's top layer. */
static void run_fixed(const struct step *step) {
    size_t size = step->own->attention.value;
    for (size_t r = 0; r < step->count; r++)
        memcpy(step->contexts + r * size, step->rows[r].memory->values,
               size * sizeof *step->contexts);
    run_with_context(step);
}

static const struct style styles[] = {
    {"luong", NO_CELL, run_luong},
    {"conditional", SECOND_CELL, run_conditional},
    {"bahdanau", FIRST_CELL, run_bahdanau},
    {"fixed", FIRST_CELL, run_fixed},
};

static int recurrent_step(const struct decoder *decoder, const struct row *rows, size_t count,
                          struct arena *arena, struct error *err) {
    const struct recurrent *own = decoder->own;
    const struct decoder_shape *shape = &decoder->shape;
    struct arena_mark mark = arena_mark(arena);
    struct step step = {
        .decoder = decoder,
        .own = own,
        .rows = rows,
        .count = count,
        .input = arena_alloc(arena, count * (shape->input + own->feed), sizeof(float)),
        .contexts = arena_alloc(arena, count * shape->value, sizeof(float)),
        .gates_x = arena_alloc(arena, count * own->cells[0].input.out, sizeof(float)),
        .gates_u = arena_alloc(arena, count * cell_scratch(&own->cells[0]), sizeof(float)),
        .scratch = arena_alloc(arena, count * own->attention.scratch, sizeof(float)),
        .sums = arena_alloc(arena, own->residual ? count * own->hidden : 0, sizeof(float)),
        .readout = arena_alloc(arena, count * own->readout.scratch, sizeof(float))};
    if (arena_failed(arena)) {
        arena_release(arena, mark);
        return error_memory(err);
    }
    for (size_t r = 0; r < count; r++) {
        float *x = step.input + r * (shape->input + own->feed);
        decoder_embed(decoder, rows[r].token, x);
        if (own->feed)
            memcpy(x + shape->input, rows[r].state + shape->state - own->feed,
                   own->feed * sizeof *x);
    }

    own->style->run(&step);

    struct readout_inputs read = {
        .embeddings = input_of(&step),
        .states = output_of(&step, own->layers - 1),
        .contexts = {step.contexts + context_matrix(own)->out, shape->value}};
    readout_run(&own->readout, decoder->kernels, &read, count, step.readout, rows->readout);
    for (size_t r = 0; r < count; r++) {
        const struct row *row = &rows[r];
        if (row->input)
            memcpy(row->input, read.embeddings.x + r * read.embeddings.distance,
                   shape->input * sizeof *row->input);
        if (row->top)
            memcpy(row->top, read.states.x + r * read.states.distance,
                   shape->top * sizeof *row->top);
        memcpy(row->state + shape->state - own->feed, row->readout, own->feed * sizeof *row->state);
    }
    arena_release(arena, mark);
    return 0;
}

/* ---- a sentence ---- */

/* Computes values [n, P] of vectors x [n, C]: first the product that a cell reads, then the
 * readout's. */
static void make_values(const struct recurrent *d, struct vectors x, size_t n, float *values) {
    const struct linear *cell = context_matrix(d), *part = &d->readout.context_part.layer;
    size_t distance = d->attention.value;
    if (cell->out > 0)
        linear_apply(cell, x.x, x.distance, n, values, distance);
    values += cell->out;
    if (d->readout.kind->units > 0)
        linear_apply(part, x.x, x.distance, n, values, distance);
    for (size_t t = 0; d->readout.kind->units == 0 && t < n; t++)
        memcpy(values + t * distance, x.x + t * x.distance, d->readout.values * sizeof *values);
}

static int recurrent_remember(const struct decoder *decoder, const struct encoded *encoded,
                              const struct memory_part *part, struct arena *arena,
                              struct error *err) {
    const struct recurrent *d = decoder->own;
    const struct linear *learned = &d->attention.values;
    size_t count = part->count;
    if (!decoder->attends) {
        make_values(d,
                    (struct vectors){encoded->top + part->first * encoded->top_ld, encoded->top_ld},
                    count, part->values);
        return 0;
    }
    const float *annotations = encoded->annotations + part->first * d->annotation;
    attention_keys(&d->attention, annotations, count, part->keys);
    if (learned->out == 0) {
        make_values(d, (struct vectors){annotations, d->annotation}, count, part->values);
        return 0;
    }
    struct arena_mark mark = arena_mark(arena);
    float *x = arena_alloc(arena, count * learned->out, sizeof *x);
    if (!x)
        return error_memory(err);
    linear_apply(learned, annotations, d->annotation, count, x, learned->out);
    make_values(d, (struct vectors){x, learned->out}, count, part->values);
    arena_release(arena, mark);
    return 0;
}

static int recurrent_start(const struct decoder *decoder, const struct encoded *encoded,
                           struct arena *arena, float *states, struct error *err) {
    const struct recurrent *d = decoder->own;
    const size_t *lengths = encoded->lengths;
    size_t n = encoded->n, distance = decoder->shape.state, longest = 0;
    memset(states, 0, n * distance * sizeof *states);
    if (d->initial_state == INITIAL_ZERO)
        return 0;
    if (d->initial_state == INITIAL_LAST && !d->projected) {
        /* Each layer of the encoder hands its state, LSTM's c too, to the decoder's layer of that
         * number. */
        for (size_t l = 0; l < d->layers; l++)
            for (size_t i = 0; i < n; i++)
                memcpy(states + i * distance + l * d->layer_size,
                       encoded->finals[l] + i * d->layer_size, d->layer_size * sizeof *states);
        return 0;
    }

    for (size_t i = 0; i < n; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    struct arena_mark mark = arena_mark(arena);
    float *summaries = arena_alloc(arena, n * d->annotation, sizeof *summaries);
    float *equal = arena_alloc(arena, longest, sizeof *equal);
    if (arena_failed(arena))
        return error_memory(err);
    /* One summary [D] a sentence: the mean annotation, as a context of equal weights, or the top
     * layer's final h. */
    const float *annotations = encoded->annotations;
    for (size_t i = 0; i < n; annotations += lengths[i++] * d->annotation) {
        float *summary = summaries + i * d->annotation;
        if (d->initial_state == INITIAL_MEAN) {
            for (size_t t = 0; t < lengths[i]; t++)
                equal[t] = 1.0f / (float)lengths[i];
            decoder->kernels->weighted_sum(equal, annotations, lengths[i], d->annotation, summary);
        } else {
            memcpy(summary, encoded->top + i * encoded->top_ld, d->annotation * sizeof *summary);
        }
    }

    /* h of each layer is the summary, projected or copied. LSTM's c is the same or stays zero. */
    for (size_t l = 0; l < d->layers; l++) {
        float *h = states + l * d->layer_size;
        if (d->projected)
            linear_apply(&d->initial[l], summaries, d->annotation, n, h, distance);
        norm_apply(&d->initial_norms[l], decoder->kernels, n, h, distance);
        for (size_t i = 0; i < n; i++, h += distance) {
            if (d->projected)
                decoder->kernels->tanh(h, d->hidden);
            else
                memcpy(h, summaries + i * d->annotation, d->hidden * sizeof *h);
            if (d->initial_cell)
                memcpy(h + d->hidden, h, d->hidden * sizeof *h);
        }
    }
    arena_release(arena, mark);
    return 0;
}

/* ---- loading ---- */

static int recurrent_init(struct decoder *decoder, const struct model_config *config,
                          const struct loader *loader) {
    const struct decoder_config *c = &config->decoder;
    const struct style *style = TABLE_FIND(styles, "decoder.style", c->style, loader->err);
    const struct cell_kind *cell = cell_kind_find("decoder.cell", c->cell, loader->err);
    const struct norm_kind *norm =
        norm_kind_find("decoder.normalization", c->normalization, loader->err);
    if (!style || !cell || !norm)
        return -1;
    struct recurrent *own = decoder->own = arena_alloc(loader->arena, 1, sizeof *own);
    if (!own)
        return error_memory(loader->err);
    *own = (struct recurrent){.style = style,
                              .hidden = c->hidden,
                              .layers = c->layers,
                              .annotation = config_annotation_size(config),
                              .context = config_context_size(config),
                              .layer_size = cell->states * c->hidden,
                              .feed = c->input_feeding ? config_readout_size(config) : 0,
                              .query = c->query_top ? c->layers - 1 : 0,
                              .initial_state = c->initial_state,
                              .projected = c->initial_projection,
                              .residual = c->residual,
                              .initial_cell = c->initial_cell};
    decoder->attends = config_attends(config);
    for (size_t l = 0; l < own->layers; l++) {
        char name[64], before[64];
        struct cell_shape shape = {.in = l == 0 ? c->embedding + own->feed : own->hidden,
                                   .hidden = own->hidden,
                                   .norm = norm};
        if (l == 0 && style->reader == FIRST_CELL)
            shape.columns = shape.in + own->context;
        if (l > 0 || style->reader != SECOND_CELL) /* which they follow otherwise */
            shape.transitions = l > 0 ? c->upper_transitions : c->transitions;
        snprintf(name, sizeof name, "decoder.layers.%zu.", l);
        cell_init(&own->cells[l], cell, name, &shape, loader);
        if (!own->projected)
            continue;
        snprintf(name, sizeof name, "%zu", l);
        snprintf(before, sizeof before, "decoder.initial.%zu.", l);
        block_linear(&own->initial[l], "decoder.initial", name,
                     (struct block_shape){own->hidden, own->annotation, true}, loader);
        norm_init(&own->initial_norms[l], norm, &(struct norm_names){before, "", own->hidden, 0},
                  loader);
    }

    /* Besides the readout, the context is read by the right part of the first cell's matrix, whose
     * left part has the bias, or by a second cell. */
    if (style->reader == FIRST_CELL) {
        struct linear_names names = {.weight = "decoder.layers.0.weight_input",
                                     .first = c->embedding,
                                     .columns = c->embedding + own->context};
        weights_linear(loader->weights, &names, cell->gates * own->hidden, own->context,
                       &own->input_context, loader->err);
    }
    if (style->reader == SECOND_CELL) {
        struct cell_shape shape = {
            .in = own->context, .hidden = own->hidden, .norm = norm, .transitions = c->transitions};
        cell_init(&own->conditional, cell, "decoder.conditional.", &shape, loader);
    }
    if (readout_load(&own->readout, config, norm, loader) != 0 ||
        (decoder->attends && attention_init(&own->attention, config, loader) != 0))
        return -1;
    own->attention.value = context_matrix(own)->out + own->readout.values;

    size_t covered = config->attention.coverage ? config_positions(config) : 0;
    decoder->shape.state = own->layers * own->layer_size + covered + own->feed;
    decoder->shape.layers = 1;
    decoder->shape.key = own->attention.key_size;
    decoder->shape.value = own->attention.value;
    decoder->shape.outputs = decoder->shape.key + decoder->shape.value;
    decoder->shape.top = own->hidden;
    decoder->shape.readout = config_readout_size(config);
    return 0;
}

const struct decoder_kind decoder_recurrent = {recurrent_init, recurrent_start, recurrent_remember,
                                               recurrent_step};
