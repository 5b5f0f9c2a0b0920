#include "model/base/table.h"
#include "model/network/decoder_recurrent.h"

#include <string.h>

/* What one step works on. */
struct recurrent_step {
    const struct decoder *decoder;
    const struct recurrent *own;
    const struct row *rows;
    size_t count;             /* R */
    float *input;             /* [R, E + feed]: y, and h~ of the step before with input feeding */
    float *contexts;          /* [R, P]: sums of values */
    float *gates_x, *gates_u; /* [R, G]; [R, cell_scratch], all cells are normalised alike */
    float *scratch;           /* [R, what the attention needs] */
    float *sums;              /* [R, H]: with residual connections, what the layers so far have put out */
    float *readout;           /* [R, readout_scratch] */
};

/* ---- the styles ---- */

static float *layer_states(const struct recurrent_step *step, size_t layer) {
    return step->rows->state + layer * step->own->layer_size;
}

/* One cell over all rows; products [R, gates * H] with its input, at distance ld. */
static void step_cell(const struct recurrent_step *step, const struct cell *cell, const float *products, size_t ld, size_t layer) {
    cell_step(cell, &(struct cell_inputs){products, ld, NULL}, step->count, layer_states(step, layer), step->decoder->shape.state,
              step->gates_u);
}

/* The same from the input itself, x [R, in]. */
static void run_cell(const struct recurrent_step *step, const struct cell *cell, struct vectors x, size_t layer) {
    linear_apply(&cell->input, x.x, x.distance, step->count, step->gates_x, cell->input.out);
    step_cell(step, cell, step->gates_x, cell->input.out, layer);
}

static struct vectors input_of(const struct recurrent_step *step) {
    return (struct vectors){step->input, step->decoder->shape.input + step->own->feed};
}

/* h of a layer [R, H]. */
static struct vectors state_of(const struct recurrent_step *step, size_t layer) {
    return (struct vectors){layer_states(step, layer), step->decoder->shape.state};
}

/* What the topmost of the layers that have run puts out. */
static struct vectors output_of(const struct recurrent_step *step, size_t layer) {
    return step->own->residual ? (struct vectors){step->sums, step->own->hidden} : state_of(step, layer);
}

/* GNMT, Wu et al. 2016: from the second layer up, a layer puts out its h plus what it read; its recurrence is h alone. */
static void put_out(const struct recurrent_step *step, size_t layer) {
    size_t hidden = step->own->hidden;
    struct vectors h = state_of(step, layer);
    for (size_t r = 0; step->own->residual && r < step->count; r++) {
        if (layer == 0)
            memcpy(step->sums + r * hidden, h.x + r * h.distance, hidden * sizeof *h.x);
        else
            step->own->kernels->add(h.x + r * h.distance, hidden, step->sums + r * hidden);
    }
}

/* The layers above the first, each reading what the one below puts out. */
static void run_upper_layers(const struct recurrent_step *step) {
    put_out(step, 0);
    for (size_t l = 1; l < step->own->layers; l++) {
        run_cell(step, &step->own->cells[l], output_of(step, l - 1), l);
        put_out(step, l);
    }
}

static void attend(const struct recurrent_step *step, struct vectors queries) {
    const struct recurrent *own = step->own;
    attention_run(
        &own->attention, step->rows, step->count,
        &(struct attention_step){
            .queries = queries, .coverage = own->layers * own->layer_size, .contexts = step->contexts, .scratch = step->scratch});
}

/* Luong et al. 2015: s_t = f(s_{t-1}, y_{t-1}), all layers; c_t from score(s_t, h). */
static void run_luong(const struct recurrent_step *step) {
    run_cell(step, &step->own->cells[0], input_of(step), 0);
    run_upper_layers(step);
    attend(step, output_of(step, step->own->layers - 1));
}

/* Nematus and Marian: s' = cell1(s, y); c from score(s', h); s = cell2(s', c); further layers stand on s. */
static void run_conditional(const struct recurrent_step *step) {
    run_cell(step, &step->own->cells[0], input_of(step), 0);
    attend(step, state_of(step, 0));
    step_cell(step, &step->own->conditional, step->contexts, step->own->attention.value, 0);
    run_upper_layers(step);
}

/* All layers, the first of which reads [y; c]. */
static void run_with_context(const struct recurrent_step *step) {
    const struct cell *cell = &step->own->cells[0];
    size_t gates = cell->input.out;
    struct vectors y = input_of(step);
    linear_apply(&cell->input, y.x, y.distance, step->count, step->gates_x, gates);
    for (size_t r = 0; r < step->count; r++)
        step->own->kernels->add(step->contexts + r * step->own->attention.value, gates, step->gates_x + r * gates);
    step_cell(step, cell, step->gates_x, gates, 0);
    run_upper_layers(step);
}

/* Bahdanau et al. 2015: c_i from score(s_{i-1}, h); s_i = f(s_{i-1}, [y_{i-1}; c_i]). Of several layers the first, which reads the
 * context, asks for it. */
static void run_bahdanau(const struct recurrent_step *step) {
    attend(step, state_of(step, 0));
    run_with_context(step);
}

/* Cho et al. 2014: one c for all steps, the final h of the encoder's top layer. */
static void run_fixed(const struct recurrent_step *step) {
    size_t size = step->own->attention.value;
    for (size_t r = 0; r < step->count; r++)
        memcpy(step->contexts + r * size, step->rows[r].memory->values, size * sizeof *step->contexts);
    run_with_context(step);
}

static const struct recurrent_style styles[] = {
    {"luong", NO_CELL, run_luong},
    {"conditional", SECOND_CELL, run_conditional},
    {"bahdanau", FIRST_CELL, run_bahdanau},
    {"fixed", FIRST_CELL, run_fixed},
};

const struct recurrent_style *recurrent_style_find(const char *name, struct error *err) {
    return TABLE_FIND(styles, "decoder.style", name, err);
}

const struct linear *recurrent_context(const struct recurrent *own) {
    return own->style->reader == SECOND_CELL ? &own->conditional.input : &own->input_context;
}

/* ---- one step ---- */

static void embed(const struct recurrent_step *step) {
    const struct decoder *decoder = step->decoder;
    size_t size = decoder->shape.input, feed = step->own->feed;
    for (size_t r = 0; r < step->count; r++) {
        float *x = step->input + r * (size + feed);
        decoder_embed(decoder, step->rows[r].token, x);
        if (feed)
            memcpy(x + size, step->rows[r].state + decoder->shape.state - feed, feed * sizeof *x);
    }
}

static void copy_state(float *out, const float *x, size_t size) {
    if (out)
        memcpy(out, x, size * sizeof *x);
}

/* What the output layer reads. */
static void read_out(const struct recurrent_step *step) {
    const struct decoder_shape *shape = &step->decoder->shape;
    const struct recurrent *own = step->own;
    struct readout_inputs inputs = {.embeddings = input_of(step),
                                    .states = output_of(step, own->layers - 1),
                                    .contexts = {step->contexts + recurrent_context(own)->out, shape->value}};
    readout_run(&own->readout, &inputs, step->count, step->readout, step->rows->readout);
    for (size_t r = 0; r < step->count; r++) {
        const struct row *row = &step->rows[r];
        copy_state(row->input, inputs.embeddings.x + r * inputs.embeddings.distance, shape->input);
        copy_state(row->top, inputs.states.x + r * inputs.states.distance, shape->top);
        memcpy(row->state + shape->state - own->feed, row->readout, own->feed * sizeof *row->state);
    }
}

int recurrent_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err) {
    const struct recurrent *own = decoder->own;
    size_t gates = own->cells[0].input.out, r = count;
    struct arena_mark mark = arena_mark(arena);
    struct recurrent_step step = {.decoder = decoder,
                                  .own = own,
                                  .rows = rows,
                                  .count = count,
                                  .input = arena_alloc(arena, r * (decoder->shape.input + own->feed), sizeof(float)),
                                  .contexts = arena_alloc(arena, r * decoder->shape.value, sizeof(float)),
                                  .gates_x = arena_alloc(arena, r * gates, sizeof(float)),
                                  .gates_u = arena_alloc(arena, r * cell_scratch(&own->cells[0]), sizeof(float)),
                                  .scratch = arena_alloc(arena, r * own->attention.scratch, sizeof(float)),
                                  .sums = arena_alloc(arena, own->residual ? r * own->hidden : 0, sizeof(float)),
                                  .readout = arena_alloc(arena, r * readout_scratch(&own->readout), sizeof(float))};
    bool failed = arena_failed(arena);
    if (!failed) {
        embed(&step);
        own->style->run(&step);
        read_out(&step);
    }
    arena_release(arena, mark);
    return failed ? error_memory(err) : 0;
}
