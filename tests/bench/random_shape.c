#include "tests/bench/random_shape.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static const struct shape shapes[] = {
    {"S", 256, 512, 1024, 256, 8000, 0, 0, 0, NULL},
    {"L", 512, 1024, 2048, 512, 32000, 0, 0, 0, NULL},
    {"TINY", 256, 256, 0, 0, 32000, 1536, 6, 2, "ssru"},
    {"MEMORY", 384, 384, 0, 0, 32000, 1536, 6, 4, "ssru"},
    {"BASE", 512, 512, 0, 0, 32000, 2048, 6, 2, "ssru"},
    {"OPUS", 512, 512, 0, 0, 60000, 2048, 6, 6, "self_attention"},
};
enum { HEADS = 8 };

const struct shape *shape_find(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

/* ---- tensors ---- */

static const double BIAS_SPREAD = 0.1;

__attribute__((format(printf, 5, 6))) static struct tensor *
add(struct tensors *tensors, size_t rows, size_t cols, double spread, const char *format, ...) {
    struct tensor *tensor = &tensors->items[tensors->count++];
    va_list arguments;
    assert(tensors->count <= sizeof tensors->items / sizeof *tensors->items);
    *tensor = (struct tensor){.rows = rows, .cols = cols, .spread = spread};
    va_start(arguments, format);
    vsnprintf(tensor->name, sizeof tensor->name, format, arguments);
    va_end(arguments);
    return tensor;
}

/* sqrt(3 / n): the spread of variance 1 / n. */
static double of_fan_in(size_t n) {
    return sqrt(3 / (double)n);
}

static void add_linear(struct tensors *tensors, const char *prefix, size_t out, size_t in,
                       bool bias) {
    add(tensors, out, in, of_fan_in(in), "%s.weight", prefix);
    if (bias)
        add(tensors, out, 0, BIAS_SPREAD, "%s.bias", prefix);
}

/* A GRU: three gates. */
static void add_cell(struct tensors *tensors, const char *prefix, size_t in, size_t hidden) {
    add(tensors, 3 * hidden, in, of_fan_in(in), "%s.weight_input", prefix);
    add(tensors, 3 * hidden, hidden, of_fan_in(hidden), "%s.weight_state", prefix);
    add(tensors, 3 * hidden, 0, BIAS_SPREAD, "%s.bias_input", prefix);
    add(tensors, 3 * hidden, 0, BIAS_SPREAD, "%s.bias_state", prefix);
}

static void add_recurrent(struct tensors *list, const struct shape *s) {
    size_t annotation = 2 * s->hidden;
    add(list, s->vocabulary, s->embedding, of_fan_in(1), "encoder.embedding");
    add_cell(list, "encoder.layers.0.forward", s->embedding, s->hidden);
    add_cell(list, "encoder.layers.0.backward", s->embedding, s->hidden);
    add_linear(list, "attention.key", s->attention, annotation, true);
    add_linear(list, "attention.query", s->attention, s->hidden, false);
    add(list, s->attention, 0, of_fan_in(s->attention), "attention.energy");
    add(list, s->vocabulary, s->embedding, of_fan_in(1), "decoder.embedding");
    add_linear(list, "decoder.initial.0", s->hidden, annotation, true);
    add_cell(list, "decoder.layers.0", s->embedding, s->hidden);
    add_cell(list, "decoder.conditional", annotation, s->hidden);
    add_linear(list, "readout", s->readout, s->embedding + s->hidden + annotation, true);
    add_linear(list, "output", s->vocabulary, s->readout, true);
}

static void add_part(struct tensors *list, const char *layer, const char *part, size_t out,
                     size_t in, bool bias) {
    char prefix[96];
    snprintf(prefix, sizeof prefix, "%s.%s", layer, part);
    add_linear(list, prefix, out, in, bias);
}

static void add_norm(struct tensors *list, const char *layer, const char *block, size_t size) {
    add(list, size, 0, BIAS_SPREAD, "%s.%s.norm.gain", layer, block)->centre = 1;
    add(list, size, 0, BIAS_SPREAD, "%s.%s.norm.shift", layer, block);
}

static void add_heads(struct tensors *list, const char *layer, const char *block, size_t size) {
    static const char *const parts[] = {"query", "key", "value", "output"};
    char part[32];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(part, sizeof part, "%s.%s", block, parts[i]);
        add_part(list, layer, part, size, size, true);
    }
    add_norm(list, layer, block, size);
}

static void add_filter(struct tensors *list, const char *layer, const struct shape *s) {
    add_part(list, layer, "filter.input", s->filter, s->embedding, true);
    add_part(list, layer, "filter.output", s->embedding, s->filter, true);
    add_norm(list, layer, "filter", s->embedding);
}

static void add_mixer(struct tensors *list, const char *layer, const struct shape *s) {
    if (strcmp(s->mixer, "ssru") != 0) {
        add_heads(list, layer, "self", s->embedding);
        return;
    }
    add_part(list, layer, "ssru.candidate", s->embedding, s->embedding, false);
    add_part(list, layer, "ssru.forget", s->embedding, s->embedding, true);
    add_norm(list, layer, "ssru", s->embedding);
}

static void add_transformer(struct tensors *list, const struct shape *s) {
    char layer[48];
    add(list, s->vocabulary, s->embedding, of_fan_in(s->embedding), "decoder.embedding");
    for (size_t i = 0; i < s->encoder_layers; i++) {
        snprintf(layer, sizeof layer, "encoder.layers.%zu", i);
        add_heads(list, layer, "self", s->embedding);
        add_filter(list, layer, s);
    }
    for (size_t i = 0; i < s->decoder_layers; i++) {
        snprintf(layer, sizeof layer, "decoder.layers.%zu", i);
        add_mixer(list, layer, s);
        add_heads(list, layer, "cross", s->embedding);
        add_filter(list, layer, s);
    }
    add(list, s->vocabulary, 0, BIAS_SPREAD, "output.bias");
}

struct tensors shape_tensors(const struct shape *shape) {
    struct tensors list = {0};
    if (shape->filter > 0)
        add_transformer(&list, shape);
    else
        add_recurrent(&list, shape);
    return list;
}

/* ---- config.json ---- */

static void write_recurrent(const struct shape *s, FILE *file) {
    fprintf(file,
            "  \"encoder\": {\"type\": \"recurrent\", \"cell\": \"gru\", \"layers\": 1, "
            "\"bidirectional\": true, \"embedding\": %zu, "
            "\"hidden\": %zu, \"eos\": true},\n"
            "  \"attention\": {\"score\": \"additive\", \"size\": %zu},\n"
            "  \"decoder\": {\"style\": \"conditional\", \"cell\": \"gru\", \"layers\": 1, "
            "\"embedding\": %zu, \"hidden\": %zu, "
            "\"input_feeding\": false,\n"
            "    \"initial_state\": \"mean\", \"initial_projection\": true, \"readout\": \"tanh\", "
            "\"readout_size\": %zu, "
            "\"first_input\": \"zero\"},\n"
            "  \"output\": {\"type\": \"vocabulary\", \"tied\": false},\n",
            s->embedding, s->hidden, s->attention, s->embedding, s->hidden, s->readout);
}

static void write_stack(const struct shape *s, size_t layers, FILE *file) {
    fprintf(file,
            "\"layers\": %zu, \"embedding\": %zu, \"hidden\": %zu, \"heads\": %d, \"filter\": %zu, "
            "\"activation\": \"relu\", "
            "\"norm\": \"post\",\n    \"positions\": \"sinusoidal\", \"embedding_scale\": true",
            layers, s->embedding, s->embedding, HEADS, s->filter);
}

static void write_transformer(const struct shape *s, FILE *file) {
    fprintf(
        file,
        "  \"encoder\": {\"type\": \"transformer\", \"eos\": true, \"embedding_shared\": true, ");
    write_stack(s, s->encoder_layers, file);
    fprintf(file,
            "},\n  \"attention\": null,\n  \"decoder\": {\"style\": \"transformer\", \"mixer\": "
            "\"%s\", \"first_input\": \"zero\", ",
            s->mixer);
    write_stack(s, s->decoder_layers, file);
    fprintf(file, "},\n  \"output\": {\"type\": \"vocabulary\", \"tied\": true},\n");
}

void shape_write_config(const struct shape *shape, FILE *file) {
    fprintf(file, "{\n"
                  "  \"format\": 1, \"name\": \"random\", \"source\": \"en\", \"target\": \"fr\", "
                  "\"task\": \"translation\",\n"
                  "  \"tokenizer\": {\"type\": \"sentencepiece\", \"source\": \"source.spm\", "
                  "\"target\": \"target.spm\"},\n");
    if (shape->filter > 0)
        write_transformer(shape, file);
    else
        write_recurrent(shape, file);
    fprintf(file, "  \"limits\": {\"max_source_tokens\": 100, \"max_target_ratio\": 1.0}\n}\n");
}
