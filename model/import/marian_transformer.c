/* Marian's transformers (type transformer). In the file matrices are [in, out], and vectors [1, n]; ours are [out, in], and [n]. A
 * block's norm has the name of its last matrix: that of attention is `..._Wo_ln_scale`, also in models without such a matrix, that
 * of the feed-forward `..._ffn_ffn_ln_scale`; `_pre` follows the names of those before a block. */
#include "model/import/marian.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct converter {
    struct tensors *tensors;
    const struct marian_options *options;
    size_t size; /* d */
    bool before; /* norms come before each block */
    const char *mixer;
};

/* The factor of the inputs of a product with this matrix before they are rounded to int8; 0: the file does not have it. */
static float multiplier_of(struct tensors *tensors, const char *matrix) {
    struct name own = named("%s_QuantMultA", matrix);
    const struct stored *found = tensors_find(tensors, own.text);
    float value = 0;
    if (found)
        tensors_drop(tensors, own.text);
    else if (strcmp(matrix, "Wemb") == 0)
        found = stored_find(tensors->from, "none_QuantMultA");
    if (!found || tensors->failed)
        return 0;
    struct error inner = {0};
    if (stored_count(found) != 1 || (found->kind == STORED_OTHER) || stored_numbers(found, 0, 1, &value, &inner) != 0 ||
        value <= 0) {
        tensors_fail(tensors, "%s: must be one positive number", found->name);
        return 0;
    }
    return value;
}

/* int8 is kept unchanged, since rounding it again would change it. */
static void keep_given(struct tensors *tensors, struct made *made, const struct stored *from, const char *multiplier) {
    if (!from || !from->quantised)
        return;
    made->given = from;
    made->input_scale = multiplier ? multiplier_of(tensors, multiplier) : 0;
}

/* [in, out] in the file -> [out, in] */
static void weight(struct converter *c, const char *theirs, const char *ours, size_t inputs, size_t outputs) {
    const struct stored *from = tensors_matrix(c->tensors, theirs, inputs, outputs);
    keep_given(c->tensors, tensors_transpose(c->tensors, ours, from, inputs, outputs), from, theirs);
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

/* The matrix theirs_W<end> and the bias theirs_b<end>. */
static void dense(struct converter *c, const char *theirs, const char *end, const char *ours, size_t inputs, size_t outputs) {
    weight(c, named("%s_W%s", theirs, end).text, named("%s.weight", ours).text, inputs, outputs);
    vector(c, named("%s_b%s", theirs, end).text, named("%s.bias", ours).text, outputs);
}

static void norm(struct converter *c, const char *theirs, const char *ours, bool before) {
    const char *end = before ? "_pre" : "";
    vector(c, named("%s_ln_scale%s", theirs, end).text, named("%s.norm.gain", ours).text, c->size);
    vector(c, named("%s_ln_bias%s", theirs, end).text, named("%s.norm.shift", ours).text, c->size);
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const parts[][2] = {{"q", "query"}, {"k", "key"}, {"v", "value"}};
    struct name output = named("%s.output", ours);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        dense(c, theirs, parts[i][0], named("%s.%s", ours, parts[i][1]).text, c->size, c->size);
    if (marian_on(c->options, "transformer-no-projection")) {
        tensors_make(c->tensors, named("%s.weight", output.text).text, c->size, c->size)->identity = true;
        tensors_make_vector(c->tensors, named("%s.bias", output.text).text, c->size);
    } else {
        dense(c, theirs, "o", output.text, c->size, c->size);
    }
    norm(c, named("%s_Wo", theirs).text, ours, c->before);
}

static void filter(struct converter *c, const char *theirs, const char *ours, size_t middle) {
    dense(c, theirs, "1", named("%s.input", ours).text, c->size, middle);
    dense(c, theirs, "2", named("%s.output", ours).text, middle, c->size);
    norm(c, named("%s_ffn", theirs).text, ours, c->before);
}

/* ---- the mixers ---- */

static void self_attention(struct converter *c, const char *theirs, const char *ours) {
    heads(c, named("%s_self", theirs).text, named("%s.self", ours).text);
}

static void ssru(struct converter *c, const char *theirs, const char *ours) {
    weight(c, named("%s_rnn_W", theirs).text, named("%s.ssru.candidate.weight", ours).text, c->size, c->size);
    dense(c, named("%s_rnn", theirs).text, "f", named("%s.ssru.forget", ours).text, c->size, c->size);
    norm(c, named(c->before ? "%s_rnn" : "%s_rnn_ffn", theirs).text, named("%s.ssru", ours).text, c->before);
}

/* Size of the feed-forward of average attention; 0: it has none. */
static size_t average_filter(const struct converter *c) {
    return marian_number(c->options, "transformer-aan-depth") == 2 ? marian_number(c->options, "transformer-dim-aan") : 0;
}

static void average(struct converter *c, const char *theirs, const char *ours) {
    size_t middle = average_filter(c);
    struct name aan = named("%s_aan", theirs), to = named("%s.average", ours);
    if (middle)
        dense(c, aan.text, "1", named("%s.input", to.text).text, c->size, middle);
    if (middle && middle != c->size)
        dense(c, aan.text, "2", named("%s.output", to.text).text, middle, c->size);
    if (!marian_on(c->options, "transformer-aan-nogate")) {
        dense(c, aan.text, "i", named("%s.gate.input", to.text).text, c->size, c->size);
        dense(c, aan.text, "f", named("%s.gate.output", to.text).text, c->size, c->size);
    }
    norm(c, named("%s_ffn", aan.text).text, to.text, c->before);
}

static const struct mixer {
    const char *theirs, *ours;
    void (*convert)(struct converter *c, const char *theirs, const char *ours);
} mixers[] = {
    {"self-attention", "self_attention", self_attention}, {"rnn", "ssru", ssru}, {"average-attention", "average", average}};

/* ---- the stacks ---- */

static void encoder(struct converter *c, size_t middle) {
    size_t depth = marian_number(c->options, "enc-depth");
    for (size_t i = 1; i <= depth; i++) {
        heads(c, named("encoder_l%zu_self", i).text, named("encoder.layers.%zu.self", i - 1).text);
        filter(c, named("encoder_l%zu_ffn", i).text, named("encoder.layers.%zu.filter", i - 1).text, middle);
    }
    if (c->before)
        norm(c, "encoder_top", "encoder", false);
}

static void decoder(struct converter *c, const struct mixer *mixer, size_t middle) {
    size_t depth = marian_number(c->options, "dec-depth");
    for (size_t i = 0; i < depth; i++) {
        struct name theirs = named("decoder_l%zu", c->options->tied_layers[i]), ours = named("decoder.layers.%zu", i);
        mixer->convert(c, theirs.text, ours.text);
        heads(c, named("%s_context", theirs.text).text, named("%s.cross", ours.text).text);
        filter(c, named("%s_ffn", theirs.text).text, named("%s.filter", ours.text).text, middle);
    }
    if (c->before)
        norm(c, "decoder_top", "decoder", false);
}

/* Embeddings [V, d]. multiplied: they are the output layer's matrix, too. */
static size_t table(struct converter *c, const char *theirs, const char *ours, bool multiplied) {
    size_t rows = tensors_rows(c->tensors, theirs);
    const struct stored *from = tensors_matrix(c->tensors, theirs, rows, c->size);
    keep_given(c->tensors, tensors_copy(c->tensors, ours, from, rows, c->size), from, multiplied ? theirs : NULL);
    return rows;
}

static void output(struct converter *c, size_t vocabulary) {
    static const char older[] = "decoder_ff_logit_out_W", newer[] = "decoder_ff_logit_out_Wt";
    if (marian_on(c->options, "output-omit-bias"))
        tensors_make_vector(c->tensors, "output.bias", vocabulary);
    else
        vector(c, "decoder_ff_logit_out_b", "output.bias", vocabulary);
    if (marian_ties(c->options))
        return;
    if (tensors_find(c->tensors, older)) {
        weight(c, older, "output.weight", c->size, vocabulary);
        return;
    }
    const struct stored *from = tensors_matrix(c->tensors, newer, vocabulary, c->size);
    tensors_copy(c->tensors, "output.weight", from, vocabulary, c->size);
    if (from && from->quantised)
        tensors_fail(c->tensors, "%s: is int8, which Marian reads in a different order than it writes it", from->name);
}

static json_t *stack(const struct converter *c, size_t layers, size_t middle) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:b}", "layers", (int)layers, "embedding", (int)c->size, "hidden",
                     (int)c->size, "heads", (int)marian_number(c->options, "transformer-heads"), "filter", (int)middle,
                     "activation", marian_option(c->options, "transformer-ffn-activation"), "norm", c->options->norm, "positions",
                     "sinusoidal", "embedding_scale", 1);
}

static json_t *sections_of(const struct converter *c, const struct mixer *mixer, size_t encoder_filter, size_t decoder_filter) {
    const char *layer = marian_option(c->options, "transformer-guided-alignment-layer");
    json_t *kind = json_pack("{s:s}", "type", "transformer"), *style = json_pack("{s:s}", "style", "transformer");
    json_t *below = stack(c, marian_number(c->options, "enc-depth"), encoder_filter);
    json_t *above = stack(c, marian_number(c->options, "dec-depth"), decoder_filter);
    int failed = json_object_update(kind, below) | json_object_update(style, above);
    failed |= json_object_set_new(kind, "embedding_shared", json_boolean(marian_shares(c->options)));
    failed |= json_object_set_new(style, "first_input", json_string("zero"));
    failed |= json_object_set_new(style, "mixer", json_string(mixer->ours));
    if (strcmp(mixer->ours, "average") == 0) {
        failed |= json_object_set_new(style, "average_filter", json_integer((json_int_t)average_filter(c)));
        failed |=
            json_object_set_new(style, "average_activation", json_string(marian_option(c->options, "transformer-aan-activation")));
        failed |= json_object_set_new(style, "average_gate", json_boolean(!marian_on(c->options, "transformer-aan-nogate")));
    }
    failed |= json_object_set_new(style, "alignment_layer", json_integer(strcmp(layer, "last") == 0 ? 0 : strtol(layer, NULL, 10)));
    failed |= json_object_set_new(style, "alignment_head", json_integer(0));
    json_decref(below);
    json_decref(above);
    json_t *sections = failed ? NULL
                              : json_pack("{s:O, s:O, s:n, s:{s:b}}", "encoder", kind, "decoder", style, "attention", "output",
                                          "tied", (int)marian_ties(c->options));
    json_decref(kind);
    json_decref(style);
    return sections;
}

struct marian_sizes marian_transformer(struct tensors *tensors, const struct marian_options *options, json_t **sections) {
    struct converter c = {.tensors = tensors,
                          .options = options,
                          .size = marian_number(options, "dim-emb"),
                          .before = strcmp(options->norm, "pre") == 0};
    size_t middle = marian_number(options, "transformer-dim-ffn"), upper = marian_number(options, "transformer-decoder-dim-ffn");
    const struct mixer *mixer = mixers;
    while (strcmp(mixer->theirs, marian_option(options, "transformer-decoder-autoreg")) != 0)
        mixer++; /* the table of options allows these three alone */
    if (tensors_find(tensors, "Wpos"))
        tensors_fail(tensors,
                     "Wpos: learned positions are not supported: Marian reads the first of them in every step of a translation");
    upper = upper ? upper : middle;
    encoder(&c, middle);
    decoder(&c, mixer, upper);
    struct marian_sizes sizes;
    if (marian_shares(options)) {
        sizes.source = sizes.target = table(&c, "Wemb", "decoder.embedding", marian_ties(options));
    } else {
        sizes.source = table(&c, "encoder_Wemb", "encoder.embedding", false);
        sizes.target = table(&c, "decoder_Wemb", "decoder.embedding", marian_ties(options));
    }
    output(&c, sizes.target);
    *sections = tensors->failed ? NULL : sections_of(&c, mixer, middle, upper);
    if (!tensors->failed && !*sections) {
        tensors->failed = true;
        error_memory(tensors->err);
    }
    return sizes;
}
