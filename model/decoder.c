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
    float *gates_x, *gates_u; /* [R, G]; [R, cell_scratch], all cells are normalised alike */
    float *scratch;           /* [R, what the attention needs] */
    float *sums;              /* [R, H]: with residual connections, what the layers so far have put out */
    float *readout;           /* [R, readout_scratch] */
};

/* Which cell of layer 0 reads the context: none; the one that reads y, side by side with it; or a second one. */
enum context_reader { NO_CELL, FIRST_CELL, SECOND_CELL };

struct decoder_kind {
    const char *name;
    enum context_reader reader;
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

/* The same from the input itself, x [R, in]. */
static void run_cell(const struct step *step, const struct cell *cell, struct vectors x, size_t layer) {
    linear_apply(&cell->input, x.x, x.distance, step->rows->rows, step->gates_x, cell->input.out);
    step_cell(step, cell, step->gates_x, cell->input.out, layer);
}

static struct vectors input_of(const struct step *step) {
    return (struct vectors){step->input, step->decoder->embedding_size + step->decoder->feed};
}

/* h of a layer [R, H]. */
static struct vectors state_of(const struct step *step, size_t layer) {
    return (struct vectors){layer_states(step, layer), step->decoder->state_size};
}

/* What the topmost of the layers that have run puts out. */
static struct vectors output_of(const struct step *step, size_t layer) {
    return step->decoder->residual ? (struct vectors){step->sums, step->decoder->hidden} : state_of(step, layer);
}

/* GNMT, Wu et al. 2016: from the second layer up, a layer puts out its h plus what it read; its recurrence is h alone. */
static void put_out(const struct step *step, size_t layer) {
    size_t hidden = step->decoder->hidden;
    struct vectors h = state_of(step, layer);
    for (size_t r = 0; step->decoder->residual && r < step->rows->rows; r++) {
        if (layer == 0)
            memcpy(step->sums + r * hidden, h.x + r * h.distance, hidden * sizeof *h.x);
        else
            step->decoder->kernels->add(h.x + r * h.distance, hidden, step->sums + r * hidden);
    }
}

/* The layers above the first, each reading what the one below puts out. */
static void run_upper_layers(const struct step *step) {
    put_out(step, 0);
    for (size_t l = 1; l < step->decoder->layers; l++) {
        run_cell(step, &step->decoder->cells[l], output_of(step, l - 1), l);
        put_out(step, l);
    }
}

static void attend(const struct step *step, struct vectors queries) {
    const struct decoder_rows *rows = step->rows;
    attention_run(&step->decoder->attention, &(struct attention_rows){.rows = rows->rows,
                                                                      .queries = queries,
                                                                      .coverage = layer_states(step, step->decoder->layers),
                                                                      .coverage_distance = step->decoder->state_size,
                                                                      .memories = rows->memories,
                                                                      .steps = rows->steps,
                                                                      .weights = rows->attention,
                                                                      .contexts = step->contexts,
                                                                      .scratch = step->scratch,
                                                                      .forced = rows->forced});
}

/* Luong et al. 2015: s_t = f(s_{t-1}, y_{t-1}), all layers; c_t from score(s_t, h). */
static void run_luong(const struct step *step) {
    run_cell(step, &step->decoder->cells[0], input_of(step), 0);
    run_upper_layers(step);
    attend(step, output_of(step, step->decoder->layers - 1));
}

/* Nematus and Marian: s' = cell1(s, y); c from score(s', h); s = cell2(s', c); further layers stand on s. */
static void run_conditional(const struct step *step) {
    run_cell(step, &step->decoder->cells[0], input_of(step), 0);
    attend(step, state_of(step, 0));
    step_cell(step, &step->decoder->conditional, step->contexts, step->decoder->attention.value, 0);
    run_upper_layers(step);
}

/* All layers, the first of which reads [y; c]. */
static void run_with_context(const struct step *step) {
    const struct cell *cell = &step->decoder->cells[0];
    size_t gates = cell->input.out;
    struct vectors y = input_of(step);
    linear_apply(&cell->input, y.x, y.distance, step->rows->rows, step->gates_x, gates);
    for (size_t r = 0; r < step->rows->rows; r++)
        step->decoder->kernels->add(step->contexts + r * step->decoder->attention.value, gates, step->gates_x + r * gates);
    step_cell(step, cell, step->gates_x, gates, 0);
    run_upper_layers(step);
}

/* Bahdanau et al. 2015: c_i from score(s_{i-1}, h); s_i = f(s_{i-1}, [y_{i-1}; c_i]). Of several layers the first, which reads the
 * context, asks for it. */
static void run_bahdanau(const struct step *step) {
    attend(step, state_of(step, 0));
    run_with_context(step);
}

/* Cho et al. 2014: one c for all steps, the final h of the encoder's top layer. */
static void run_fixed(const struct step *step) {
    size_t size = step->decoder->attention.value;
    for (size_t r = 0; r < step->rows->rows; r++)
        memcpy(step->contexts + r * size, step->rows->memories[r]->values, size * sizeof *step->contexts);
    run_with_context(step);
}

static const struct decoder_kind kinds[] = {
    {"luong", NO_CELL, run_luong},
    {"conditional", SECOND_CELL, run_conditional},
    {"bahdanau", FIRST_CELL, run_bahdanau},
    {"fixed", FIRST_CELL, run_fixed},
};

/* ---- the memory ---- */

/* What a cell reads of the context; out 0: none does. */
static const struct linear *cell_context(const struct decoder *d) {
    return d->kind->reader == SECOND_CELL ? &d->conditional.input : &d->input_context;
}

/* values [n, P] of what a context may be, x [n, D]: first what a cell reads of it, then what the readout does. */
static void make_values(const struct decoder *d, struct vectors x, size_t n, float *values) {
    const struct linear *cell = cell_context(d);
    if (cell->out > 0)
        linear_apply(cell, x.x, x.distance, n, values, d->attention.value);
    readout_values(&d->readout, x, n, values + cell->out, d->attention.value);
}

/* The same of annotations, through V where values are learned. */
static int values_of(const struct decoder *d, const float *annotations, size_t tokens, struct arena *arena, float *values,
                     struct error *err) {
    const struct linear *learned = &d->attention.values;
    if (learned->out == 0) {
        make_values(d, (struct vectors){annotations, d->annotation}, tokens, values);
        return 0;
    }
    struct arena_mark mark = arena_mark(arena);
    float *x = arena_alloc(arena, tokens * learned->out, sizeof *x);
    if (!x)
        return error_memory(err);
    linear_apply(learned, annotations, d->annotation, tokens, x, learned->out);
    make_values(d, (struct vectors){x, learned->out}, tokens, values);
    arena_release(arena, mark);
    return 0;
}

size_t decoder_slots(const struct decoder *decoder, size_t length) {
    return decoder->attends ? length : 1;
}

int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                     struct arena *arena, float *keys, float *values, struct error *err) {
    if (!decoder->attends) {
        make_values(decoder, (struct vectors){encoded->top, encoded->top_ld}, n, values);
        return 0;
    }
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += lengths[i];
    attention_keys(&decoder->attention, encoded->annotations, tokens, keys);
    return values_of(decoder, encoded->annotations, tokens, arena, values, err);
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
        if (d->feed)
            memcpy(x + d->embedding_size, rows->states + (r + 1) * d->state_size - d->feed, d->feed * sizeof *x);
    }
}

/* Copies vectors of this size, side by side, to where they are wanted. */
static void show(struct vectors from, size_t rows, size_t size, float *out) {
    for (size_t r = 0; out && r < rows; r++)
        memcpy(out + r * size, from.x + r * from.distance, size * sizeof *out);
}

static void read_out(const struct step *step) {
    const struct decoder *d = step->decoder;
    const struct decoder_rows *rows = step->rows;
    struct readout_inputs inputs = {.embeddings = input_of(step),
                                    .states = output_of(step, d->layers - 1),
                                    .contexts = {step->contexts + cell_context(d)->out, d->attention.value}};
    readout_run(&d->readout, &inputs, rows->rows, step->readout, rows->readouts);
    show(inputs.embeddings, rows->rows, d->embedding_size, rows->inputs);
    show(inputs.states, rows->rows, d->hidden, rows->tops);
    for (size_t r = 0; d->feed && r < rows->rows; r++)
        memcpy(rows->states + (r + 1) * d->state_size - d->feed, rows->readouts + r * d->readout_size,
               d->feed * sizeof *rows->states);
}

int decoder_step(const struct decoder *decoder, const struct decoder_rows *rows, struct arena *arena, struct error *err) {
    size_t gates = decoder->cells[0].input.out, r = rows->rows;
    struct arena_mark mark = arena_mark(arena);
    struct step step = {.decoder = decoder,
                        .rows = rows,
                        .input = arena_alloc(arena, r * (decoder->embedding_size + decoder->feed), sizeof(float)),
                        .contexts = arena_alloc(arena, r * decoder->attention.value, sizeof(float)),
                        .gates_x = arena_alloc(arena, r * gates, sizeof(float)),
                        .gates_u = arena_alloc(arena, r * cell_scratch(&decoder->cells[0]), sizeof(float)),
                        .scratch = arena_alloc(arena, r * decoder->attention.scratch, sizeof(float)),
                        .sums = arena_alloc(arena, decoder->residual ? r * decoder->hidden : 0, sizeof(float)),
                        .readout = arena_alloc(arena, r * readout_scratch(&decoder->readout), sizeof(float))};
    bool allocated = step.input && step.contexts && step.gates_x && step.gates_u && step.scratch && step.sums && step.readout;
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

/* h of layer l for each sentence: summary [n, D] (distance ld), projected or copied. LSTM's c is the same or stays zero. */
static void start_layer(const struct decoder *d, size_t l, const float *summary, size_t ld, size_t n, float *states) {
    float *h = states + l * d->layer_size;
    if (d->projected)
        linear_apply(&d->initial[l], summary, ld, n, h, d->state_size);
    norm_apply(&d->initial_norms[l], d->kernels, n, h, d->state_size);
    for (size_t i = 0; i < n; i++, h += d->state_size, summary += ld) {
        if (d->projected)
            d->kernels->tanh(h, d->hidden);
        else
            memcpy(h, summary, d->hidden * sizeof *h);
        if (d->initial_cell)
            memcpy(h + d->hidden, h, d->hidden * sizeof *h);
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

static int find_rows(struct decoder *d, const struct decoder_config *config, struct error *err) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, config->style) == 0)
            d->kind = &kinds[i];
    d->norm = norm_kind_find(config->normalization);
    if (!d->kind)
        return error_set(err, ERROR_FORMAT, "decoder.style: %s is not known", config->style);
    return d->norm ? 0 : error_set(err, ERROR_FORMAT, "decoder.normalization: %s is not known", config->normalization);
}

/* What layer l starts from. */
static int load_initial(struct decoder *d, size_t l, struct weights *weights, struct error *err) {
    char weight[64], bias[64], gain[64], shift[64];
    snprintf(weight, sizeof weight, "decoder.initial.%zu.weight", l);
    snprintf(bias, sizeof bias, "decoder.initial.%zu.bias", l);
    snprintf(gain, sizeof gain, "decoder.initial.%zu.gain", l);
    snprintf(shift, sizeof shift, "decoder.initial.%zu.shift", l);
    struct linear_names names = {.weight = weight, .bias = bias};
    if (weights_linear(weights, &names, d->hidden, d->annotation, &d->initial[l], err) != 0)
        return -1;
    return norm_init(&d->initial_norms[l], d->norm, &(struct norm_names){gain, shift, d->hidden, 0}, weights, err);
}

static int load_layer(struct decoder *d, const struct cell_kind *cell, size_t l, struct weights *weights, struct error *err) {
    char name[64];
    snprintf(name, sizeof name, "decoder.layers.%zu.", l);
    struct cell_shape shape = {.in = l == 0 ? d->embedding_size + d->feed : d->hidden, .hidden = d->hidden, .norm = d->norm};
    if (l == 0 && d->kind->reader == FIRST_CELL)
        shape.columns = shape.in + d->context;
    if (l > 0)
        shape.transitions = d->upper_transitions;
    else if (d->kind->reader != SECOND_CELL) /* which they follow where there is one */
        shape.transitions = d->transitions;
    if (cell_init(&d->cells[l], cell, name, &shape, weights, d->kernels, err) != 0)
        return -1;
    return d->projected ? load_initial(d, l, weights, err) : 0;
}

/* What reads the context besides the readout: the right part of the first cell's matrix, whose left part has the bias, or a second
 * cell. */
static int load_context_reader(struct decoder *d, const struct cell_kind *cell, struct weights *weights, struct error *err) {
    struct linear_names names = {
        .weight = "decoder.layers.0.weight_input", .first = d->embedding_size, .columns = d->embedding_size + d->context};
    struct cell_shape shape = {.in = d->context, .hidden = d->hidden, .norm = d->norm, .transitions = d->transitions};
    if (d->kind->reader == FIRST_CELL)
        return weights_linear(weights, &names, cell->gates * d->hidden, d->context, &d->input_context, err);
    if (d->kind->reader == SECOND_CELL)
        return cell_init(&d->conditional, cell, "decoder.conditional.", &shape, weights, d->kernels, err);
    return 0;
}

static int load(struct decoder *d, const struct model_config *config, const struct cell_kind *cell, struct weights *weights,
                struct error *err) {
    d->embedding = weights_get(weights, "decoder.embedding", d->vocabulary, d->embedding_size, err);
    for (size_t l = 0; l < d->layers; l++)
        if (load_layer(d, cell, l, weights, err) != 0)
            return -1;
    if (load_context_reader(d, cell, weights, err) != 0 ||
        readout_init(&d->readout, config, d->norm, weights, d->kernels, err) != 0 ||
        (d->attends && attention_init(&d->attention, config, weights, d->kernels, err) != 0))
        return -1;
    d->attention.value = cell_context(d)->out + readout_value(&d->readout);
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
                                .context = config_context_size(config),
                                .layer_size = cell->states * c->hidden,
                                .first = c->first_zero ? DECODER_FIRST : first,
                                .initial_state = c->initial_state,
                                .projected = c->initial_projection,
                                .residual = c->residual,
                                .initial_cell = c->initial_cell,
                                .transitions = c->transitions,
                                .upper_transitions = c->upper_transitions,
                                .attends = config_attends(config)};
    decoder->feed = c->input_feeding ? decoder->readout_size : 0;
    size_t covered = config->attention.coverage ? config_positions(config) : 0;
    decoder->state_size = decoder->layers * decoder->layer_size + covered + decoder->feed;
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
    linear_done(&decoder->input_context);
    readout_done(&decoder->readout);
    attention_done(&decoder->attention);
}
