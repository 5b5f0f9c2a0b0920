#include "model/network/output.h"
#include "model/base/table.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Loads what a row of a table needs. */
typedef void output_loader(struct output *output, const struct model_config *config, struct weights *weights, struct error *err);

/* writes: words of the vocabulary, from the readout. score (NULL: nothing is copied): the row's source positions [T] on the scale
 * of its logits. */
struct output_kind {
    const char *name;
    bool writes;
    output_loader *init;
    void (*score)(const struct output *output, const struct row *row, float *scores);
};

/* output.gate. logit: the g of P(copy) = sigmoid(g) in a row. */
struct output_gate {
    const char *name;
    output_loader *init;
    float (*logit)(const struct output *output, const struct row *row);
};

/* output.pointer. share: the log-probabilities of the row's source positions [T], if it copies. init may be NULL. */
struct output_pointer {
    const char *name;
    output_loader *init;
    void (*share)(const struct output *output, const struct row *row, float *shares);
};

/* ---- pointing ---- */

static void load_keys(struct output *o, size_t size, const struct model_config *config, struct weights *weights,
                      struct error *err) {
    struct linear_names names = {.weight = "output.key.weight"};
    weights_linear(weights, &names, size, config_annotation_size(config), &o->key, err);
}

/* e_j = h_j^T V q of a row whose query is q [K]; keys hold V^T h. */
static void point(const struct output *o, const struct row *row, const float *query, float *scores) {
    o->kernels->dot(query, row->copies->keys, row->copies->length, o->key.out, scores);
}

static void init_pointer(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    load_keys(o, config->decoder.hidden, config, weights, err);
}

/* Vinyals et al. 2015: q is s. */
static void score_pointer(const struct output *o, const struct row *row, float *scores) {
    point(o, row, row->top, scores);
}

/* ---- a pointer_generator's gates ---- */

/* w [c; s; y] + b in three parts. A context is read through the annotations (model/network/decoder_recurrent.c): w c = sum_j a_j (w
 * h_j).
 */
static void init_inputs_gate(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    size_t context = config_annotation_size(config), state = config->decoder.hidden, input = config->decoder.embedding;
    struct linear_names names = {.weight = "output.gate.weight", .columns = context + state + input};
    weights_linear(weights, &names, 1, context, &o->gate_context, err);
    names.first = context;
    names.bias = "output.gate.bias";
    weights_linear(weights, &names, 1, state, &o->gate_state, err);
    names.first = context + state;
    names.bias = NULL;
    weights_linear(weights, &names, 1, input, &o->gate_input, err);
}

static float inputs_logit(const struct output *o, const struct row *row) {
    float context, state, input;
    o->kernels->weighted_sum(row->attention, row->copies->gates, row->copies->length, 1, &context);
    linear_apply(&o->gate_state, row->top, o->gate_state.in, 1, &state, 1);
    linear_apply(&o->gate_input, row->input, o->gate_input.in, 1, &input, 1);
    return context + state + input;
}

/* OpenNMT-py's: w r + b of the readout. */
static void init_readout_gate(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    struct linear_names names = {.weight = "output.gate.weight", .bias = "output.gate.bias"};
    weights_linear(weights, &names, 1, config_readout_size(config), &o->gate_readout, err);
}

static float readout_logit(const struct output *o, const struct row *row) {
    float logit;
    linear_apply(&o->gate_readout, row->readout, o->gate_readout.in, 1, &logit, 1);
    return logit;
}

static const struct output_gate gate_kinds[] = {
    {"inputs", init_inputs_gate, inputs_logit},
    {"readout", init_readout_gate, readout_logit},
};

/* ---- a pointer_generator's pointers ---- */

static void share_attention(const struct output *o, const struct row *row, float *shares) {
    (void)o;
    for (size_t j = 0; j < row->copies->length; j++)
        shares[j] = logf(fmaxf(row->attention[j], FLT_MIN));
}

/* OpenNMT-py's second attention: q is the readout. */
static void init_readout_pointer(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    load_keys(o, config_readout_size(config), config, weights, err);
}

static void share_by_readout(const struct output *o, const struct row *row, float *shares) {
    size_t length = row->copies->length;
    point(o, row, row->readout, shares);
    float log_sum = o->kernels->summarize(shares, length, 0, NULL).log_sum;
    for (size_t j = 0; j < length; j++)
        shares[j] -= log_sum;
}

static const struct output_pointer pointer_kinds[] = {
    {"attention", NULL, share_attention},
    {"readout", init_readout_pointer, share_by_readout},
};

/* ---- the kinds ---- */

static void init_generator(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    o->gate = TABLE_FIND(gate_kinds, "output.gate", config->output.gate, err);
    o->pointer = TABLE_FIND(pointer_kinds, "output.pointer", config->output.pointer, err);
    if (!o->gate || !o->pointer) {
        weights_fail(weights);
        return;
    }
    o->gate->init(o, config, weights, err);
    if (o->pointer->init)
        o->pointer->init(o, config, weights, err);
}

/* See et al. 2017: P = P(copy) p + (1 - P(copy)) softmax(logits), P(copy) = sigmoid(g) (their p_gen is 1 - P(copy)). Both sides
 * divided by (1 - P(copy)) / exp(L), L the log of the logits' sum, leave exp(logits), and exp(L + g) p_j of position j. */
static void score_generator(const struct output *o, const struct row *row, float *scores) {
    float log_sum = o->kernels->summarize(row->logits, o->vocabulary, 0, NULL).log_sum;
    float shift = o->gate->logit(o, row) + log_sum;
    o->pointer->share(o, row, scores);
    for (size_t j = 0; j < row->copies->length; j++)
        scores[j] += shift;
}

static const struct output_kind kinds[] = {
    {"vocabulary", true, NULL, NULL},
    {"characters", true, NULL, NULL}, /* <unk> is spelled when it is printed (model/network/speller.h) */
    {"pointer", false, init_pointer, score_pointer},
    {"pointer_generator", true, init_generator, score_generator},
    {"copy", true, init_pointer, score_pointer}, /* Jia & Liang 2016 (whose scores are the attention's own) */
};

/* ---- loading ---- */

static void load_vocabulary(struct output *o, const struct model_config *config, const struct output_options *options,
                            struct weights *weights, struct error *err) {
    struct linear_names names = {.weight = config->output.tied ? "decoder.embedding" : "output.weight",
                                 .bias = "output.bias",
                                 .lookups = options->shortlists};
    weights_linear(weights, &names, o->vocabulary, config_readout_size(config), &o->linear, err);
}

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    *output = (struct output){.kernels = kernels, .vocabulary = options->vocabulary};
    output->kind = TABLE_FIND(kinds, "output.type", config->output.type, err);
    if (!output->kind)
        return -1;
    output->stride = output->vocabulary + (output_copies(output) ? config->limits.max_source_tokens : 0);
    if (output->kind->writes)
        load_vocabulary(output, config, options, weights, err);
    if (output->kind->init)
        output->kind->init(output, config, weights, err);
    if (!weights_failed(weights))
        return 0;
    output_done(output);
    return -1;
}

void output_done(struct output *output) {
    linear_done(&output->linear);
    linear_done(&output->key);
    linear_done(&output->gate_context);
    linear_done(&output->gate_state);
    linear_done(&output->gate_input);
    linear_done(&output->gate_readout);
}

bool output_copies(const struct output *output) {
    return output->kind->score != NULL;
}

bool output_writes(const struct output *output) {
    return output->kind->writes;
}

/* ---- running ---- */

void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys, float *gates) {
    if (output->key.out)
        linear_apply(&output->key, annotations, output->key.in, tokens, keys, output->key.out);
    if (output->gate_context.out)
        linear_apply(&output->gate_context, annotations, output->gate_context.in, tokens, gates, 1);
}

/* log(exp(a) + exp(b)), b finite; no number if one of them is none. */
static float log_add(float a, float b) {
    return a > b ? a + log1pf(expf(b - a)) : b + log1pf(expf(a - b));
}

/* Adds the row's copies to its logits, by way of scores [T]; returns how many logits it has now. */
static size_t add_copies(const struct output *output, const struct row *row, float *scores) {
    const struct copies *copies = row->copies;
    float *logits = row->logits;
    size_t written = output->kind->writes ? output->vocabulary : 0, size = output->vocabulary + copies->count;
    assert(size <= output->stride && !row->targets);
    for (size_t i = written; i < size; i++)
        logits[i] = -INFINITY;
    output->kind->score(output, row, scores);
    for (size_t j = 0; j < copies->length; j++)
        logits[copies->words[j]] = log_add(logits[copies->words[j]], scores[j]);
    return size;
}

/* Rows without targets from the first on, as far as they stand side by side: one product. Returns how many there are. */
static size_t score_vocabulary(const struct output *output, const struct row *rows, size_t count) {
    const struct linear *linear = &output->linear;
    size_t n = 1;
    while (n < count && !rows[n].targets)
        n++;
    linear_apply(linear, rows->readout, linear->in, n, rows->logits, output->stride);
    return n;
}

static void score_words(const struct output *output, const struct row *rows, size_t count) {
    for (const struct row *row = rows, *end = rows + count; row < end;) {
        if (!row->targets) {
            row += score_vocabulary(output, row, (size_t)(end - row));
            continue;
        }
        linear_look_up(&output->linear, row->readout, row->targets->ids, row->targets->count, row->logits);
        row++;
    }
}

/* top [row->wanted], and scores [T] where it copies. */
static struct distribution summarize(const struct output *output, const struct row *row, struct ranked *top, float *scores) {
    const int *ids = row->targets ? row->targets->ids : NULL;
    size_t size = ids ? row->targets->count : output->vocabulary;
    if (output_copies(output))
        size = add_copies(output, row, scores);
    struct row_summary summary = output->kernels->summarize(row->logits, size, row->wanted, top);
    for (size_t i = 0; ids && i < summary.count; i++)
        top[i].token = ids[top[i].token];
    return (struct distribution){.logits = row->logits,
                                 .ids = ids,
                                 .log_sum = summary.log_sum,
                                 .entropy = summary.entropy,
                                 .size = size,
                                 .top = top,
                                 .top_count = summary.count};
}

/* Where the rows' best tokens go, side by side, and room for the scores of any row's copies. */
static struct ranked *output_make_room(const struct output *output, const struct row *rows, size_t count, struct arena *arena,
                                       float **scores) {
    size_t wanted = 0, longest = 0;
    for (size_t r = 0; r < count; r++) {
        wanted += rows[r].wanted;
        if (output_copies(output) && rows[r].copies->length > longest)
            longest = rows[r].copies->length;
    }
    *scores = arena_alloc(arena, longest, sizeof **scores);
    return arena_alloc(arena, wanted, sizeof(struct ranked));
}

int output_run(const struct output *output, const struct row *rows, size_t count, struct arena *arena, struct error *err) {
    float *scores;
    struct ranked *top = output_make_room(output, rows, count, arena, &scores);
    if (arena_failed(arena))
        return error_memory(err);
    if (output->kind->writes)
        score_words(output, rows, count);
    for (size_t r = 0; r < count; top += rows[r++].wanted)
        *rows[r].distribution = summarize(output, &rows[r], top, scores);
    return 0;
}
