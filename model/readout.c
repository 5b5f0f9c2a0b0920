#include "model/readout.h"

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
};

static size_t part_size(const struct readout *r, char part) {
    return part == 'y' ? r->embedding : part == 's' ? r->hidden : r->context;
}

/* A readout with a layer has its part of the context multiplied already. */
static bool side_by_side(const struct readout *r, char part) {
    return part != 'c' || r->kind->units == 0;
}

static size_t parts_size(const struct readout *r) {
    size_t size = 0;
    for (const char *part = r->kind->reads; *part; part++)
        size += side_by_side(r, *part) ? part_size(r, *part) : 0;
    return size;
}

/* The matrix in two: the context comes first or last in what it reads. */
static int load_layer(struct readout *r, struct weights *weights, struct error *err) {
    size_t rest = parts_size(r), columns = rest + r->context, context_first = r->kind->reads[0] == 'c';
    size_t units = r->kind->units * r->size;
    struct linear_names names = {.weight = "readout.weight", .first = context_first ? r->context : 0, .columns = columns};
    struct linear_names context = {
        .weight = "readout.weight", .bias = "readout.bias", .first = context_first ? 0 : rest, .columns = columns};
    return weights_linear(weights, &names, units, rest, &r->layer, err) == 0 &&
                   weights_linear(weights, &context, units, r->context, &r->context_layer, err) == 0
               ? 0
               : -1;
}

int readout_init(struct readout *readout, const struct model_config *config, struct weights *weights, const struct kernels *kernels,
                 struct error *err) {
    const struct decoder_config *c = &config->decoder;
    *readout = (struct readout){.kernels = kernels,
                                .size = config_readout_size(config),
                                .embedding = c->embedding,
                                .hidden = c->hidden,
                                .context = config_context_size(config)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, c->readout) == 0)
            readout->kind = &kinds[i];
    if (!readout->kind)
        return error_set(err, ERROR_FORMAT, "decoder.readout: %s is not known", c->readout);
    if (readout->kind->units == 0 || load_layer(readout, weights, err) == 0)
        return 0;
    readout_done(readout);
    return -1;
}

void readout_done(struct readout *readout) {
    linear_done(&readout->layer);
    linear_done(&readout->context_layer);
}

size_t readout_value(const struct readout *readout) {
    return readout->kind->units > 0 ? readout->context_layer.out : readout->context;
}

void readout_values(const struct readout *readout, struct vectors x, size_t n, float *values, size_t distance) {
    if (readout->kind->units > 0)
        linear_apply(&readout->context_layer, x.x, x.distance, n, values, distance);
    for (size_t t = 0; readout->kind->units == 0 && t < n; t++)
        memcpy(values + t * distance, x.x + t * x.distance, readout->context * sizeof *values);
}

/* The parts of all rows, row r's at x + r * size. */
static void put_side_by_side(const struct readout *readout, const struct readout_inputs *inputs, size_t rows, float *x) {
    for (size_t r = 0; r < rows; r++)
        for (const char *part = readout->kind->reads; *part; part++) {
            if (!side_by_side(readout, *part))
                continue;
            const struct vectors *from = *part == 'y' ? &inputs->embeddings : *part == 's' ? &inputs->states : &inputs->contexts;
            size_t size = part_size(readout, *part);
            memcpy(x, from->x + r * from->distance, size * sizeof *x);
            x += size;
        }
}

size_t readout_scratch(const struct readout *readout) {
    return readout->kind->units > 0 ? readout->layer.in + readout->layer.out : 0;
}

void readout_run(const struct readout *readout, const struct readout_inputs *inputs, size_t rows, float *scratch, float *out) {
    if (readout->kind->units == 0) {
        put_side_by_side(readout, inputs, rows, out);
        return;
    }
    const struct linear *layer = &readout->layer;
    float *units = scratch + rows * layer->in;
    put_side_by_side(readout, inputs, rows, scratch);
    linear_apply(layer, scratch, layer->in, rows, units, layer->out);
    for (size_t r = 0; r < rows; r++, units += layer->out) {
        readout->kernels->add(inputs->contexts.x + r * inputs->contexts.distance, layer->out, units);
        readout->kind->activate(readout->kernels, units, readout->size, out + r * readout->size);
    }
}
