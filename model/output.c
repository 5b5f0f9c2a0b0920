#include "model/output.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* gate: what output.gate says; NULL: it has none, and there it says nothing else. writes: words of the vocabulary, from the
 * readout. score (NULL: nothing is copied): row r's source positions [T] on the scale of its logits; init loads what it needs. */
struct output_kind {
    const char *name, *gate;
    bool writes;
    int (*init)(struct output *output, const struct model_config *config, struct weights *weights, struct error *err);
    void (*score)(const struct output *output, const struct output_rows *rows, size_t r, float *scores);
};

/* ---- the kinds ---- */

static int init_pointer(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    return weights_linear(weights, &(struct linear_names){.weight = "output.key.weight"}, config->decoder.hidden,
                          config_annotation_size(config), &o->key, err);
}

/* Vinyals et al. 2015: e_j = h_j^T V s; keys hold V^T h. */
static void score_pointer(const struct output *o, const struct output_rows *rows, size_t r, float *scores) {
    const struct copies *copies = rows->source.copies[r];
    o->kernels->dot(rows->source.states + r * o->key.out, copies->keys, copies->length, o->key.out, scores);
}

/* w [c; s; y] + b in three parts. A context is read through the annotations (model/decoder.h): w c = sum_j a_j (w h_j). */
static int init_gate(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    size_t context = config_annotation_size(config), state = config->decoder.hidden, input = config->decoder.embedding;
    struct linear_names names = {.weight = "output.gate.weight", .columns = context + state + input};
    if (weights_linear(weights, &names, 1, context, &o->key, err) != 0)
        return -1;
    names.first = context;
    names.bias = "output.gate.bias";
    if (weights_linear(weights, &names, 1, state, &o->gate_state, err) != 0)
        return -1;
    names.first = context + state;
    names.bias = NULL;
    return weights_linear(weights, &names, 1, input, &o->gate_input, err);
}

/* OpenNMT-py's: w r + b of the readout. */
static int init_readout_gate(struct output *o, const struct model_config *config, struct weights *weights, struct error *err) {
    struct linear_names names = {.weight = "output.gate.weight", .bias = "output.gate.bias"};
    return weights_linear(weights, &names, 1, config_readout_size(config), &o->gate_readout, err);
}

/* See et al. 2017: P = P(copy) a + (1 - P(copy)) softmax(logits), P(copy) = sigmoid(g) (their p_gen is 1 - P(copy)). Both sides
 * divided by (1 - P(copy)) / exp(L), L the log of the logits' sum, leave exp(logits), and exp(L + g) a_j of position j. */
static void share(const struct output *o, const struct output_rows *rows, size_t r, float gate, float *scores) {
    float shift = gate + o->kernels->summarize(rows->logits + r * o->stride, o->vocabulary, 0, NULL).log_sum;
    for (size_t j = 0; j < rows->source.copies[r]->length; j++)
        scores[j] = shift + logf(fmaxf(rows->source.attention[r][j], FLT_MIN));
}

static void score_readout_gate(const struct output *o, const struct output_rows *rows, size_t r, float *scores) {
    float gate;
    linear_apply(&o->gate_readout, rows->readouts + r * o->gate_readout.in, o->gate_readout.in, 1, &gate, 1);
    share(o, rows, r, gate, scores);
}

static void score_gate(const struct output *o, const struct output_rows *rows, size_t r, float *scores) {
    const struct copies *copies = rows->source.copies[r];
    float context, state, input;
    o->kernels->weighted_sum(rows->source.attention[r], copies->keys, copies->length, 1, &context);
    linear_apply(&o->gate_state, rows->source.states + r * o->gate_state.in, o->gate_state.in, 1, &state, 1);
    linear_apply(&o->gate_input, rows->source.inputs + r * o->gate_input.in, o->gate_input.in, 1, &input, 1);
    share(o, rows, r, context + state + input, scores);
}

static const struct output_kind kinds[] = {
    {"vocabulary", NULL, true, NULL, NULL},
    {"characters", NULL, true, NULL, NULL}, /* <unk> is spelled when it is printed (model/speller.h) */
    {"pointer", NULL, false, init_pointer, score_pointer},
    {"pointer_generator", "inputs", true, init_gate, score_gate},
    {"pointer_generator", "readout", true, init_readout_gate, score_readout_gate},
    {"copy", NULL, true, init_pointer, score_pointer}, /* Jia & Liang 2016 (whose scores are the attention's own) */
};

/* ---- loading ---- */

static int load_vocabulary(struct output *o, const struct model_config *config, const struct output_options *options,
                           struct weights *weights, struct error *err) {
    struct linear_names names = {.weight = config->output.tied ? "decoder.embedding" : "output.weight",
                                 .bias = "output.bias",
                                 .lookups = options->shortlists};
    return weights_linear(weights, &names, o->vocabulary, config_readout_size(config), &o->linear, err);
}

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    *output = (struct output){.kernels = kernels, .vocabulary = options->vocabulary};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, config->output.type) == 0 && (!kinds[i].gate || strcmp(kinds[i].gate, config->output.gate) == 0))
            output->kind = &kinds[i];
    if (!output->kind)
        return error_set(err, ERROR_FORMAT, "output.type: %s is not known", config->output.type);
    output->stride = output->vocabulary + (output_copies(output) ? config->limits.max_source_tokens : 0);
    if ((!output->kind->writes || load_vocabulary(output, config, options, weights, err) == 0) &&
        (!output->kind->init || output->kind->init(output, config, weights, err) == 0))
        return 0;
    output_done(output);
    return -1;
}

void output_done(struct output *output) {
    linear_done(&output->linear);
    linear_done(&output->key);
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

void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys) {
    if (output->key.out)
        linear_apply(&output->key, annotations, output->key.in, tokens, keys, output->key.out);
}

/* log(exp(a) + exp(b)), b finite; no number if one of them is none. */
static float log_add(float a, float b) {
    return a > b ? a + log1pf(expf(b - a)) : b + log1pf(expf(a - b));
}

/* Adds row r's copies to its logits; returns how many logits it has now. */
static size_t add_copies(const struct output *output, const struct output_rows *rows, size_t r) {
    const struct copies *copies = rows->source.copies[r];
    float *logits = rows->logits + r * output->stride, *scores = rows->source.scores;
    size_t written = output->kind->writes ? output->vocabulary : 0, size = output->vocabulary + copies->count;
    assert(size <= output->stride && !rows->targets[r].ids);
    for (size_t i = written; i < size; i++)
        logits[i] = -INFINITY;
    output->kind->score(output, rows, r, scores);
    for (size_t j = 0; j < copies->length; j++)
        logits[copies->words[j]] = log_add(logits[copies->words[j]], scores[j]);
    return size;
}

/* Rows without ids from `row` on, as far as they stand side by side: one product. Returns the row after them. */
static size_t score_vocabulary(const struct output *output, const struct output_rows *rows, size_t row) {
    const struct linear *linear = &output->linear;
    size_t end = row + 1;
    while (end < rows->rows && !rows->targets[end].ids)
        end++;
    linear_apply(linear, rows->readouts + row * linear->in, linear->in, end - row, rows->logits + row * output->stride,
                 output->stride);
    return end;
}

static void score_words(const struct output *output, const struct output_rows *rows) {
    const struct linear *linear = &output->linear;
    for (size_t r = 0; r < rows->rows;) {
        const struct target_ids *targets = &rows->targets[r];
        if (!targets->ids) {
            r = score_vocabulary(output, rows, r);
            continue;
        }
        linear_look_up(linear, rows->readouts + r * linear->in, targets->ids, targets->count, rows->logits + r * output->stride);
        r++;
    }
}

static struct distribution summarize(const struct output *output, const struct output_rows *rows, size_t r) {
    const float *logits = rows->logits + r * output->stride;
    const int *ids = rows->targets[r].ids;
    struct ranked *top = rows->top + r * rows->top_stride;
    size_t size = ids ? rows->targets[r].count : output->vocabulary;
    if (output_copies(output))
        size = add_copies(output, rows, r);
    struct row_summary summary = output->kernels->summarize(logits, size, rows->wanted[r], top);
    for (size_t i = 0; ids && i < summary.count; i++)
        top[i].token = ids[top[i].token];
    return (struct distribution){.logits = logits,
                                 .ids = ids,
                                 .log_sum = summary.log_sum,
                                 .entropy = summary.entropy,
                                 .size = size,
                                 .top = top,
                                 .top_count = summary.count};
}

void output_run(const struct output *output, const struct output_rows *rows) {
    if (output->kind->writes)
        score_words(output, rows);
    for (size_t r = 0; r < rows->rows; r++)
        rows->distributions[r] = summarize(output, rows, r);
}
