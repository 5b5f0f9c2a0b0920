#include "model/network/readout.h"
#include "model/base/table.h"

#include <stdio.h>
#include <string.h>

struct readout_kind {
    const char *name, *reads; /* in order: y embedding, s state, c context */
    size_t units;             /* of the layer, for each element of the readout; 0: there is none, the parts are the readout */
    void (*activate)(const struct kernels *kernels, const float *units, size_t size, float *out);
};

static void activate_tanh(const struct kernels *kernels, const float *units, size_t size, float *out) {
    memcpy(out, units, size * sizeof *out);
    kernels->tanh(out, size);
}

static void activate_nothing(const struct kernels *kernels, const float *units, size_t size, float *out) {
    (void)kernels;
    memcpy(out, units, size * sizeof *out);
}

/* Units i and O + i are a pair: the paper's 2i - 1 and 2i. */
static void activate_maxout(const struct kernels *kernels, const float *units, size_t size, float *out) {
    memcpy(out, units, size * sizeof *out);
    kernels->maxima(units + size, size, out);
}

static const struct readout_kind kinds[] = {
    {"attentional", "cs", 1, activate_tanh}, /* h~ = tanh(W [c; s] + b), Luong et al. 2015 */
    {"tanh", "ysc", 1, activate_tanh},       /* tanh(W [y; s; c] + b), Nematus and Marian */
    {"concat", "cs", 0, NULL},               /* [c; s] */
    {"maxout", "ysc", 2, activate_maxout},   /* the larger of each pair of W [y; s; c] + b, Bahdanau et al. 2015, A.2.2 */
    {"linear", "cs", 1, activate_nothing},   /* W [c; s] + b, OpenNMT-py with its mlp attention */
};

static size_t source_size(const struct readout *r, char source) {
    return source == 'y' ? r->embedding : source == 's' ? r->hidden : r->context;
}

/* Of the first so many of these sources, side by side. */
static size_t width_of(const struct readout *r, const char *sources, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += source_size(r, sources[i]);
    return size;
}

/* ---- loading ---- */

/* The columns of the matrix that are for this part's sources, which lie together among those of the readout. One bias serves for
 * the sum of the parts, and is the context's, unless each part has its own norm. */
static void load_part(const struct readout *r, const struct norm_kind *norm, struct weights *weights, struct readout_part *part,
                      struct error *err) {
    char bias[32], gain[32], shift[32];
    const char *reads = r->kind->reads;
    size_t units = r->kind->units * r->size;
    bool apart = norm->epsilon > 0;
    struct linear_names names = {.weight = "readout.weight",
                                 .bias = apart                   ? bias
                                         : *part->sources == 'c' ? "readout.bias"
                                                                 : NULL,
                                 .first = width_of(r, reads, (size_t)(part->sources - reads)),
                                 .columns = width_of(r, reads, strlen(reads))};
    snprintf(bias, sizeof bias, "readout.bias.%c", *part->sources);
    snprintf(gain, sizeof gain, "readout.gain.%c", *part->sources);
    snprintf(shift, sizeof shift, "readout.shift.%c", *part->sources);
    weights_linear(weights, &names, units, width_of(r, part->sources, part->count), &part->layer, err);
    norm_init(&part->norm, norm, &(struct norm_names){gain, shift, units, 0}, weights, err);
}

/* The context comes first or last. */
static void load_parts(struct readout *r, const struct norm_kind *norm, struct weights *weights, struct error *err) {
    const char *context = strchr(r->kind->reads, 'c'), *rest = context == r->kind->reads ? context + 1 : r->kind->reads;
    size_t left = strlen(r->kind->reads) - 1, each = norm->epsilon > 0 ? 1 : left;
    for (; left > 0; left -= each, rest += each) {
        struct readout_part *part = &r->parts[r->part_count++];
        *part = (struct readout_part){.sources = rest, .count = each};
        load_part(r, norm, weights, part, err);
    }
    r->context_part = (struct readout_part){.sources = context, .count = 1};
    load_part(r, norm, weights, &r->context_part, err);
}

int readout_init(struct readout *readout, const struct model_config *config, const struct norm_kind *norm, struct weights *weights,
                 const struct kernels *kernels, struct error *err) {
    const struct decoder_config *c = &config->decoder;
    *readout = (struct readout){.kernels = kernels,
                                .size = config_readout_size(config),
                                .embedding = c->embedding,
                                .hidden = c->hidden,
                                .context = config_context_size(config)};
    readout->kind = TABLE_FIND(kinds, "decoder.readout", c->readout, err);
    if (!readout->kind)
        return -1;
    if (readout->kind->units > 0)
        load_parts(readout, norm, weights, err);
    if (!weights_failed(weights))
        return 0;
    readout_done(readout);
    return -1;
}

void readout_done(struct readout *readout) {
    for (size_t i = 0; i < readout->part_count; i++)
        linear_done(&readout->parts[i].layer);
    linear_done(&readout->context_part.layer);
}

/* ---- one step ---- */

size_t readout_value(const struct readout *readout) {
    return readout->kind->units > 0 ? readout->context_part.layer.out : readout->context;
}

void readout_values(const struct readout *readout, struct vectors x, size_t n, float *values, size_t distance) {
    if (readout->kind->units > 0)
        linear_apply(&readout->context_part.layer, x.x, x.distance, n, values, distance);
    for (size_t t = 0; readout->kind->units == 0 && t < n; t++)
        memcpy(values + t * distance, x.x + t * x.distance, readout->context * sizeof *values);
}

/* The part's sources of all rows, one row after the other. */
static void put_side_by_side(const struct readout *readout, const struct readout_part *part, const struct readout_inputs *inputs,
                             size_t rows, float *x) {
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < part->count; i++) {
            char source = part->sources[i];
            const struct vectors *from = source == 'y' ? &inputs->embeddings : source == 's' ? &inputs->states : &inputs->contexts;
            size_t size = source_size(readout, source);
            memcpy(x, from->x + r * from->distance, size * sizeof *x);
            x += size;
        }
}

size_t readout_scratch(const struct readout *readout) {
    size_t widest = 0;
    for (size_t i = 0; i < readout->part_count; i++)
        widest = readout->parts[i].layer.in > widest ? readout->parts[i].layer.in : widest;
    return widest + 2 * readout->context_part.layer.out;
}

/* units [rows, n] = the context's part, which the contexts hold already, but for its norm. */
static void begin_with_context(const struct readout *readout, struct vectors contexts, size_t rows, float *units) {
    const struct readout_part *part = &readout->context_part;
    for (size_t r = 0; r < rows; r++)
        memcpy(units + r * part->layer.out, contexts.x + r * contexts.distance, part->layer.out * sizeof *units);
    norm_apply(&part->norm, readout->kernels, rows, units, part->layer.out);
}

void readout_run(const struct readout *readout, const struct readout_inputs *inputs, size_t rows, float *scratch, float *out) {
    const struct readout_kind *kind = readout->kind;
    if (kind->units == 0) {
        struct readout_part all = {.sources = kind->reads, .count = strlen(kind->reads)};
        put_side_by_side(readout, &all, inputs, rows, out);
        return;
    }
    size_t n = readout->context_part.layer.out;
    float *units = scratch, *product = units + rows * n, *x = product + rows * n;
    begin_with_context(readout, inputs->contexts, rows, units);
    for (const struct readout_part *part = readout->parts; part < readout->parts + readout->part_count; part++) {
        put_side_by_side(readout, part, inputs, rows, x);
        linear_apply(&part->layer, x, part->layer.in, rows, product, n);
        norm_apply(&part->norm, readout->kernels, rows, product, n);
        readout->kernels->add(product, rows * n, units);
    }
    for (size_t r = 0; r < rows; r++)
        kind->activate(readout->kernels, units + r * n, readout->size, out + r * readout->size);
}
