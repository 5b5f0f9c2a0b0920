/* This file hides the models of Marian and Nematus: their options, the names of their tensors, and
 * how alignd's are assembled from them. */
#include "model/import/conversion.h"
#include "model/weights/config.h"
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

enum types { RECURRENT = 1, TRANSFORMER = 2, COMMON = RECURRENT | TRANSFORMER };

static const struct row {
    int types;
    const char *name, *fallback, *allowed,
        *reason; /* allowed NULL: ignored, and the name is a pattern of fnmatch */
} option_rows[] = {
#define OPTION(types, name, fallback, allowed, reason) {types, name, fallback, allowed, reason},
#define IGNORED(types, name)                           {types, name, NULL, NULL, NULL},
#include "model/import/marian_options.def"
#undef OPTION
#undef IGNORED
};

enum { ROWS = sizeof option_rows / sizeof *option_rows, MOST_NUMBER = 1 << 24 };

/* These options are lists: for each layer of the decoder, the layer whose tensors it uses; and the
 * kinds of input, which must all be `sequence`. */
static const char TIED_LAYERS[] = "transformer-tied-layers", INPUT_TYPES[] = "input-types";

const char *marian_option(const struct marian_options *options, const char *name) {
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->rows[i].name, name) == 0)
            return options->rows[i].value;
    return "";
}

static bool is_on(const struct marian_options *options, const char *name) {
    return strcmp(marian_option(options, name), "true") == 0;
}

static size_t number_of(const struct marian_options *options, const char *name) {
    return (size_t)strtoul(marian_option(options, name), NULL, 10);
}

bool marian_shares(const struct marian_options *options) {
    return is_on(options, "tied-embeddings-src") || is_on(options, "tied-embeddings-all");
}

/* Returns true if the output layer's matrix is the target's embedding. */
static bool ties(const struct marian_options *options) {
    return is_on(options, "tied-embeddings") || is_on(options, "tied-embeddings-all");
}

/* ---- Nematus's JSON ---- */

/* Nematus's keys and their names in Marian. */
static const struct {
    const char *theirs, *ours;
} nematus_names[] = {
    {"dim_word", "dim-emb"},
    {"dim", "dim-rnn"},
    {"embedding_size", "dim-emb"},
    {"state_size", "dim-rnn"},
    {"enc_recurrence_transition_depth", "enc-cell-depth"},
    {"rnn_enc_transition_depth", "enc-cell-depth"},
    {"dec_base_recurrence_transition_depth", "dec-cell-base-depth"},
    {"rnn_dec_base_transition_depth", "dec-cell-base-depth"},
    {"layer_normalisation", "layer-normalization"},
    {"rnn_layer_normalisation", "layer-normalization"},
    {"tie_decoder_embeddings", "tied-embeddings"},
    {"tie_encoder_decoder_embeddings", "tied-embeddings-src"},
};

/* Keys that must have these values, or the second values, if they are present. */
static const struct {
    const char *name, *wanted, *also;
} nematus_always[] = {
    {"encoder", "\"gru\"", ""},
    {"decoder", "\"gru_cond\"", ""},
    {"enc_depth", "1", ""},
    {"dec_depth", "1", ""},
    {"rnn_enc_depth", "1", ""},
    {"rnn_dec_depth", "1", ""},
    {"factors", "1", ""},
    {"weight_normalisation", "false", ""},
    {"decoder_deep_context", "false", ""},
    {"deep_fusion_lm", "null", "false"},
    {"output_hidden_activation", "\"tanh\"", ""},
    {"softmax_mixture_size", "1", ""},
};

static int read_nematus(const char *text, size_t length, struct arena *arena, struct mapping *out,
                        struct error *err) {
    static const struct mapping_pair always[] = {{.key = "type", .value = "nematus"},
                                                 {.key = "enc-cell", .value = "gru-nematus"},
                                                 {.key = "dec-cell", .value = "gru-nematus"}};
    enum {
        NAMES = sizeof nematus_names / sizeof *nematus_names,
        ALWAYS = sizeof always / sizeof *always
    };
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return error_set(err, ERROR_FORMAT, "the options are not JSON: line %d: %s", problem.line,
                         problem.text);
    struct mapping_pair *pairs = arena_zalloc(arena, NAMES + ALWAYS, sizeof *pairs);
    size_t count = ALWAYS;
    int result = json_is_object(root)
                     ? 0
                     : error_set(err, ERROR_FORMAT, "the options are not a JSON object");
    for (size_t i = 0; result == 0 && i < sizeof nematus_always / sizeof *nematus_always; i++) {
        const json_t *value = json_object_get(root, nematus_always[i].name);
        const char *shown = value ? source_json_shown(arena, value) : "";
        if (arena_failed(arena))
            result = error_memory(err);
        else if (value && strcmp(shown, nematus_always[i].wanted) != 0 &&
                 strcmp(shown, nematus_always[i].also) != 0)
            result =
                error_set(err, ERROR_FORMAT,
                          "option %s: %s is not supported; Nematus's models are converted with %s",
                          nematus_always[i].name, shown, nematus_always[i].wanted);
    }
    if (pairs)
        memcpy(pairs, always, sizeof always);
    for (size_t i = 0; pairs && result == 0 && i < NAMES; i++) {
        const json_t *value = json_object_get(root, nematus_names[i].theirs);
        const char *own = json_string_value(value);
        if (value)
            pairs[count++] =
                (struct mapping_pair){.key = nematus_names[i].ours,
                                      .value = own ? arena_copy(arena, own, strlen(own))
                                                   : source_json_shown(arena, value)};
    }
    json_decref(root);
    if (result == 0 && arena_failed(arena))
        result = error_memory(err);
    if (result == 0)
        *out = (struct mapping){pairs, count};
    return result;
}

/* ---- the check ---- */

/* Parses an integer of up to nine digits, which may follow a minus sign. */
static bool integer(const char *text, long *number) {
    const char *digits = text + (*text == '-');
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)digits[i]))
            return false;
    if (length == 0 || length > 9)
        return false;
    *number = strtol(text, NULL, 10);
    return true;
}

/* Checks a value, which the table calls none if it is empty. */
static int check_row(const struct row *row, const char *value, const char *shown,
                     struct error *err) {
    long number, least = 1, most = MOST_NUMBER;
    bool range = strcmp(row->allowed, "positive") == 0 ||
                 sscanf(row->allowed, "%ld to %ld", &least, &most) == 2;
    if (value &&
        (range ? integer(value, &number) && number >= least && number <= most
               : strcmp(value, "none") != 0 && config_lists(row->allowed, *value ? value : "none")))
        return 0;
    return error_set(err, ERROR_FORMAT, "option %s: %s is not supported%s%s (supported: %s)",
                     row->name, shown, *row->reason ? ": " : "", row->reason,
                     strcmp(row->allowed, "positive") == 0 ? "a positive number" : row->allowed);
}

static int check_recurrent(const struct marian_options *options, struct error *err) {
    const char *encoder = marian_option(options, "enc-cell"),
               *decoder = marian_option(options, "dec-cell");
    bool normal = is_on(options, "layer-normalization"),
         nematus = strcmp(marian_option(options, "type"), "nematus") == 0;
    bool tanh_cells = strcmp(encoder, "tanh") == 0 || strcmp(decoder, "tanh") == 0;
    bool either = strcmp(encoder, "gru-nematus") == 0 || strcmp(decoder, "gru-nematus") == 0;
    bool both = strcmp(encoder, "gru-nematus") == 0 && strcmp(decoder, "gru-nematus") == 0;
    const char *why = normal && tanh_cells ? "layer-normalization: true is not supported with tanh "
                                             "cells, whose gains Marian gives a wrong size"
                      : normal && !nematus && either
                          ? "layer-normalization: true is not supported with gru-nematus cells in "
                            "a model that is not of type nematus, where "
                            "the cells are normalised in one way and all else in another"
                      : nematus && !both ? "type: nematus supports only gru-nematus cells"
                      : nematus && strcmp(marian_option(options, "enc-type"), "bidirectional") != 0
                          ? "type: nematus supports only a bidirectional encoder"
                      : nematus && strcmp(marian_option(options, "dec-cell-high-depth"), "1") != 0
                          ? "type: nematus supports only dec-cell-high-depth 1"
                          : NULL;
    return why ? error_set(err, ERROR_FORMAT, "option %s", why) : 0;
}

/* Returns true if Marian's main line, v1.12 or newer, of this day or later, trained the model.
 * (Forks count their versions from 1.9 on.) */
static bool is_newer(const struct mapping *found, const char *date) {
    const struct mapping_pair *pair = source_mapping_find(found, "version");
    int major, minor, patch, used = 0;
    if (!pair || !pair->value ||
        sscanf(pair->value, "v%d.%d.%d%n", &major, &minor, &patch, &used) != 3 || used == 0)
        return false;
    for (const char *at = strchr(pair->value + used, ' '); at; at = strchr(at + 1, ' ')) {
        int year, month, day, length = 0;
        if (sscanf(at, " %4d-%2d-%2d%n", &year, &month, &day, &length) == 3 && length == 11 &&
            (at[length] == ' ' || !at[length]))
            return (major > 1 || (major == 1 && minor >= 12)) && strncmp(at + 1, date, 10) >= 0;
    }
    return false;
}

/* Copies the letters without d (dropout), which has no effect once a model is trained. */
static void letters(const struct marian_options *options, const char *name, char out[8]) {
    size_t length = 0;
    for (const char *c = marian_option(options, name); *c && length < 7; c++)
        if (*c != 'd')
            out[length++] = *c;
    out[length] = '\0';
}

static int check_transformer(struct marian_options *options, const struct mapping *found,
                             struct arena *arena, struct error *err) {
    char before[8], after[8], top[8];
    letters(options, "transformer-preprocess", before);
    letters(options, "transformer-postprocess", after);
    letters(options, "transformer-postprocess-top", top);
    bool post = !*before && strcmp(after, "an") == 0 && !*top;
    bool pre = strcmp(before, "n") == 0 && strcmp(after, "a") == 0 && strcmp(top, "n") == 0;
    const char *autoreg = marian_option(options, "transformer-decoder-autoreg"),
               *cell = marian_option(options, "dec-cell");
    const char *layer = marian_option(options, "transformer-guided-alignment-layer");
    bool rnn = strcmp(autoreg, "rnn") == 0, average = strcmp(autoreg, "average-attention") == 0;
    bool gelu =
        strcmp(marian_option(options, "transformer-ffn-activation"), "gelu") == 0 ||
        (average && strcmp(marian_option(options, "transformer-aan-activation"), "gelu") == 0);
    options->norm = post ? "post" : pre ? "pre" : "";
    if (rnn && strcmp(cell, "ssru") != 0)
        return error_set(err, ERROR_FORMAT,
                         "option dec-cell: %s is not supported in a transformer's decoder: alignd "
                         "has no such cell there (supported: ssru)",
                         cell);
    const char *why =
        rnn && is_on(options, "layer-normalization")
            ? "option layer-normalization: true is not supported: alignd's SSRU has no norm within"
        : !post && !pre
            ? "options transformer-preprocess, -postprocess, -postprocess-top: are not supported "
              "together: alignd has "
              "norms after each block (none, dan, none) or before it and on top (n, da, n)"
        : pre && !rnn && !average     ? "option transformer-preprocess: n is not supported with a "
                                        "decoder of self-attention: Marian "
                                        "itself trains it in one way and translates in another"
        : pre && !is_newer(found, "") ? "option transformer-preprocess: n is supported only of "
                                        "models of Marian v1.12 or newer: "
                                        "older ones attend to inputs that are not normalised"
        : gelu && !is_newer(found, "2023-04-01")
            ? "option transformer-ffn-activation: gelu is supported only of models of Marian v1.12 "
              "of April 2023 or newer: older "
              "ones compute it in another way"
            : NULL;
    if (why)
        return error_set(err, ERROR_FORMAT, "%s", why);
    size_t depth = number_of(options, "dec-depth");
    if (strcmp(layer, "last") != 0 && strtoul(layer, NULL, 10) > depth)
        return error_set(err, ERROR_FORMAT,
                         "option transformer-guided-alignment-layer: %s is not supported: the "
                         "decoder has %zu layers",
                         layer, depth);
    const struct mapping_pair *tied = source_mapping_find(found, TIED_LAYERS);
    bool given = tied && (tied->count > 0 || (tied->value && *tied->value)),
         fits = !given || tied->count == depth;
    for (size_t i = 0; fits && i < depth; i++) {
        long number = (long)i + 1;
        fits =
            !given || (integer(tied->items[i], &number) && number >= 1 && (size_t)number <= depth);
        options->tied_layers[i] = (size_t)number;
    }
    return fits ? 0
                : error_set(err, ERROR_FORMAT,
                            "option %s: %s is not supported: it needs one number from 1 to %zu for "
                            "each of the %zu layers",
                            TIED_LAYERS, source_mapping_shown(arena, tied), depth, depth);
}

int marian_options_read(const char *text, size_t length, bool own, struct arena *arena,
                        struct marian_options *out, struct error *err) {
    struct mapping found;
    struct error inner = {0};
    if (text[strspn(text, " \t\r\n")] == '{') {
        if (read_nematus(text, length, arena, &found, err) != 0)
            return -1;
    } else if (source_mapping_read(text, length, arena, &found, &inner) != 0) {
        return error_set(err, inner.code, "the options: %s", inner.message);
    }
    const struct mapping_pair *type = source_mapping_find(&found, "type"),
                              *inputs = source_mapping_find(&found, INPUT_TYPES);
    struct marian_options made = {.ignored = "", .norm = ""};
    made.transformer = type && type->value && strcmp(type->value, "transformer") == 0;
    int types = made.transformer ? TRANSFORMER : RECURRENT;
    if (type && type->value &&
        (strcmp(type->value, "lm") == 0 || source_begins(type->value, "lm-") ||
         strcmp(type->value, "transformer-lm") == 0))
        return error_set(err, ERROR_FORMAT,
                         "option type: %s is a language model, which cannot translate",
                         type->value);
    for (size_t i = 0; i < found.count; i++) {
        const char *name = found.pairs[i].key;
        bool known = strcmp(name, TIED_LAYERS) == 0 || strcmp(name, INPUT_TYPES) == 0;
        for (size_t row = 0; !known && row < ROWS; row++)
            known = option_rows[row].types & types && fnmatch(option_rows[row].name, name, 0) == 0;
        if (known)
            continue;
        if (own && type && type->value &&
            check_row(&option_rows[0], type->value, type->value, err) != 0)
            return -1;
        if (own)
            return error_set(err, ERROR_FORMAT,
                             "option %s: unknown, so its effect on the model is unknown", name);
        made.ignored = source_say(arena, "%s%s%s", made.ignored, *made.ignored ? ", " : "",
                                  source_shown(arena, name, strlen(name)));
        if (!made.ignored)
            return error_memory(err);
    }
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (strcmp(inputs->items[i], "sequence") != 0)
            return error_set(err, ERROR_FORMAT,
                             "option %s: %s is not supported: alignd reads sentences", INPUT_TYPES,
                             source_mapping_shown(arena, inputs));
    if (type && check_row(&option_rows[0], type->value, source_mapping_shown(arena, type), err) !=
                    0) /* checks the type before the options that it requires */
        return -1;
    for (size_t i = 0; i < ROWS; i++)
        if (option_rows[i].types & types && option_rows[i].allowed && !option_rows[i].fallback &&
            !source_mapping_find(&found, option_rows[i].name))
            return error_set(err, ERROR_FORMAT, "option %s: missing", option_rows[i].name);
    for (size_t i = 0; i < ROWS; i++) {
        if (!(option_rows[i].types & types) || !option_rows[i].allowed)
            continue;
        const struct mapping_pair *pair = source_mapping_find(&found, option_rows[i].name);
        const char *value = !pair              ? option_rows[i].fallback
                            : pair->value      ? pair->value
                            : pair->count == 0 ? ""
                                               : NULL;
        if (check_row(&option_rows[i], value, pair ? source_mapping_shown(arena, pair) : value,
                      err) != 0)
            return -1;
        made.rows[made.count].name = option_rows[i].name;
        made.rows[made.count++].value = value;
    }
    if ((made.transformer ? check_transformer(&made, &found, arena, err)
                          : check_recurrent(&made, err)) != 0)
        return -1;
    *out = made;
    return 0;
}

/* ---- tensors ----
 * In the file matrices are [in, out], and vectors [n] or [1, n]; ours are [out, in], and [n]. */

/* The norms within the cells of a recurrent model. */
enum norms { NORM_NONE, NORM_LAYER, NORM_GATES };
static const char *const norm_names[] = {"none", "layer", "gates"};

struct converter {
    struct tensors *tensors;
    const struct marian_options *options;
    size_t embedding, hidden; /* both are d in a transformer */
    enum norms norm;
    bool before; /* norms come before each block */
};

/* Keeps the int8 of a transformer unchanged, since rounding it again would change it. multiplier:
 * the matrix whose factor, if the file has it, scales the inputs of a product before they are
 * rounded to int8; NULL: there is no product. */
static void keep_given(struct converter *c, struct made *made, const struct stored_tensor *from,
                       const char *multiplier) {
    if (!c->options->transformer || !from || !from->quantised)
        return;
    made->given = from;
    made->input_scale = 0;
    if (!multiplier)
        return;
    struct tensors *tensors = c->tensors;
    struct name own = tensors_named("%s_QuantMultA", multiplier);
    const struct stored_tensor *found = tensors_find(tensors, own.text);
    struct error inner = {0};
    float value = 0;
    if (found)
        tensors_drop(tensors, own.text);
    else if (strcmp(multiplier, "Wemb") == 0)
        found = tensors_find_stored(tensors->from, "none_QuantMultA");
    if (!found || tensors->failed)
        return;
    if (tensors_count(found) != 1 || found->kind > STORED_I8 ||
        tensors_numbers(found, 0, 1, &value, &inner) != 0 || value <= 0)
        tensors_fail(tensors, "%s: must be one positive number", found->name);
    else
        made->input_scale = value;
}

/* Transposes [in, out] in the file to [out, in]. */
static void weight(struct converter *c, const char *theirs, const char *ours, size_t inputs,
                   size_t outputs) {
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs, inputs, outputs);
    keep_given(c, tensors_transpose(c->tensors, ours, from, inputs, outputs), from, theirs);
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

/* ---- words ---- */

/* Plans embeddings [V, embedding], and returns V. multiplied: they are the output layer's matrix,
 * too. */
static size_t table(struct converter *c, const char *theirs, const char *ours, bool multiplied) {
    size_t rows = tensors_rows(c->tensors, theirs);
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs, rows, c->embedding);
    keep_given(c, tensors_copy(c->tensors, ours, from, rows, c->embedding), from,
               multiplied ? theirs : NULL);
    return rows;
}

static struct marian_sizes embeddings(struct converter *c) {
    struct marian_sizes sizes;
    bool multiplied = ties(c->options);
    if (marian_shares(c->options)) {
        sizes.source = sizes.target = table(c, "Wemb", "decoder.embedding", multiplied);
    } else {
        sizes.source = table(c, "encoder_Wemb", "encoder.embedding", false);
        sizes.target = table(c, "decoder_Wemb", "decoder.embedding", multiplied);
    }
    return sizes;
}

/* Plans the output layer, whose matrix in newer files is [out, in] under another name. */
static void output(struct converter *c, size_t vocabulary) {
    const char *theirs = c->options->transformer ? "decoder_ff_logit_out" : "decoder_ff_logit_l2";
    struct name older = tensors_named("%s_W", theirs), newer = tensors_named("%s_Wt", theirs);
    if (is_on(c->options, "output-omit-bias"))
        tensors_make_vector(c->tensors, "output.bias", vocabulary);
    else
        vector(c, tensors_named("%s_b", theirs).text, "output.bias", vocabulary);
    if (ties(c->options))
        return;
    if (tensors_find(c->tensors, older.text)) {
        weight(c, older.text, "output.weight", c->embedding, vocabulary);
        return;
    }
    const struct stored_tensor *from =
        tensors_matrix(c->tensors, newer.text, vocabulary, c->embedding);
    tensors_copy(c->tensors, "output.weight", from, vocabulary, c->embedding);
    if (c->options->transformer && from && from->quantised)
        tensors_fail(c->tensors,
                     "%s: is int8, which Marian reads in a different order than it writes it",
                     from->name);
}

/* ---- recurrent models ----
 * They are Marian's of type s2s, and Nematus's of types nematus and amun. A GRU has gates r, z in
 * W, U, b, and the candidate in Wx, Ux, bx. In `final` cells, those of the decoder's first layer
 * from its second cell on, the candidate's bias is inside r * (h Ux); in others it is outside. An
 * LSTM has blocks f, i, c, o. */

/* Renames a tensor. Files of types amun and nematus keep Nematus's names, but the functions below
 * request those of type s2s. */
static void rename_one(struct tensors *tensors, const char *theirs, const char *ours) {
    for (size_t i = 0; i < tensors->from->count; i++) {
        if (strcmp(tensors->from->entries[i].name, theirs) != 0)
            continue;
        for (size_t other = 0; other < tensors->from->count; other++)
            if (other != i && tensors->names[other] && strcmp(tensors->names[other], ours) == 0)
                tensors_fail(tensors, "%s: is another name of %s", theirs,
                             tensors->from->entries[other].name);
        const char *copy = arena_copy(tensors->arena, ours, strlen(ours));
        if (copy)
            tensors->names[i] = copy;
        else
            tensors_fail(tensors, "out of memory");
    }
}

/* Renames a tensor, and the gain and shift of its norm. */
static void rename_normed(struct tensors *tensors, const char *theirs, const char *ours) {
    static const char *const ends[] = {"", "_lns", "_lnb"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        rename_one(tensors, tensors_named("%s%s", theirs, ends[i]).text,
                   tensors_named("%s%s", ours, ends[i]).text);
}

static void rename_nematus(struct tensors *tensors, const struct marian_options *options) {
    static const char *const gates[] = {"W", "U", "b", "Wx", "Ux", "bx"}, *const state[] = {
                                                                              "U", "Ux", "b", "bx"};
    static const char *const cells[][2] = {{"encoder_", "encoder_bi_"},
                                           {"encoder_r_", "encoder_bi_r_"},
                                           {"decoder_", "decoder_cell1_"}};
    static const char *const second[][2] = {{"Wc", "W"},   {"U_nl", "U"},   {"b_nl", "b"},
                                            {"Wcx", "Wx"}, {"Ux_nl", "Ux"}, {"bx_nl", "bx"}};
    static const char *const start[] = {"W", "b", "ln_s", "ln_b", "gamma"}, *const readout[] = {
                                                                                "W", "b", "ln_s",
                                                                                "ln_b"};
    static const char *const parts[] = {"prev", "lstm", "ctx"}, *const sides[] = {"", "r_"};
    rename_one(tensors, "Wemb_dec", "decoder_Wemb");
    rename_one(tensors, "ff_logit_W", "decoder_ff_logit_l2_W");
    rename_one(tensors, "ff_logit_b", "decoder_ff_logit_l2_b");
    if (!marian_shares(options))
        rename_one(tensors, "Wemb", "encoder_Wemb");
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 6; i++)
            rename_normed(tensors, tensors_named("%s%s", cells[c][0], gates[i]).text,
                          tensors_named("%s%s", cells[c][1], gates[i]).text);
    for (size_t i = 0; i < 6; i++)
        rename_normed(tensors, tensors_named("decoder_%s", second[i][0]).text,
                      tensors_named("decoder_cell2_%s", second[i][1]).text);
    size_t below = number_of(options, "enc-cell-depth"),
           above = number_of(options, "dec-cell-base-depth");
    for (size_t n = 1; n < below; n++)
        for (size_t s = 0; s < 2; s++)
            for (size_t i = 0; i < 4; i++)
                rename_normed(
                    tensors, tensors_named("encoder_%s%s_drt_%zu", sides[s], state[i], n).text,
                    tensors_named("encoder_bi_%scell%zu_%s", sides[s], n + 1, state[i]).text);
    for (size_t n = 3; n <= above; n++)
        for (size_t i = 0; i < 4; i++)
            rename_normed(tensors, tensors_named("decoder_%s_nl_drt_%zu", state[i], n - 2).text,
                          tensors_named("decoder_cell%zu_%s", n, state[i]).text);
    for (size_t i = 0; i < 5; i++)
        rename_one(tensors, tensors_named("ff_state_%s", start[i]).text,
                   tensors_named("decoder_ff_state_%s", start[i]).text);
    for (size_t n = 0; n < 3; n++) {
        for (size_t i = 0; i < 4; i++)
            rename_one(tensors, tensors_named("ff_logit_%s_%s", parts[n], readout[i]).text,
                       tensors_named("decoder_ff_logit_l1_%s%zu", readout[i], n).text);
        rename_one(tensors, tensors_named("ff_logit_l1_gamma%zu", n).text,
                   tensors_named("decoder_ff_logit_l1_gamma%zu", n).text);
    }
    for (size_t s = 0; s < 2; s++)
        for (size_t n = 1; n <= 2; n++)
            rename_one(tensors, tensors_named("encoder_%sgamma%zu", sides[s], n).text,
                       tensors_named("encoder_bi_%sgamma%zu", sides[s], n).text);
}

/* ---- cells ---- */

static const struct cell {
    const char *theirs, *ours;
    struct {
        const char *end; /* end of the name of a tensor, which has this many gates */
        size_t gates;
    } parts[2];
    size_t gates, order[4]; /* the place of each of our gates among theirs */
    size_t candidate; /* how many gates, the last ones, have their bias inside r * (U h) in a final
                         cell */
} cells[] = {{"gru", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"gru-nematus", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"lstm", "lstm", {{"", 4}}, 4, {1, 0, 2, 3}, 0},
             {"tanh", "rnn", {{"", 1}}, 1, {0}, 0}};

/* One cell. */
struct place {
    const char *theirs, *ours;
    size_t inputs; /* size of its input; 0: a transition, which has none */
    bool final;
};

static const struct cell *cell_of(const struct converter *c, const char *option) {
    const struct cell *cell = cells;
    while (strcmp(cell->theirs, marian_option(c->options, option)) != 0)
        cell++; /* the table of options allows no others */
    return cell;
}

/* Returns the number of the foreign tensor that has their gate, and sets within to the gate's
 * number in that tensor. */
static size_t part_of(const struct cell *cell, size_t gate, size_t *within) {
    size_t part = gate < cell->parts[0].gates ? 0 : 1;
    *within = part == 0 ? gate : gate - cell->parts[0].gates;
    return part;
}

/* Plans our gates from theirs, in our order. end: the end of the foreign names, in which the part's
 * end follows the first letter. inputs: of a matrix, whose gates are side by side [inputs, gates x
 * hidden] in theirs, and one below the other [gates x hidden, inputs] in ours; 0: a vector. Gates
 * other than first .. past - 1 are zeros. */
static void cell_gates(struct converter *c, const struct cell *cell, const struct place *place,
                       const char *end, const char *ours, size_t inputs, size_t first,
                       size_t past) {
    size_t hidden = c->hidden, within, size = cell->gates * hidden;
    const struct stored_tensor *from[2] = {NULL, NULL};
    struct name own = tensors_named("%s%s", place->ours, ours);
    struct made *made = inputs ? tensors_make(c->tensors, own.text, size, inputs)
                               : tensors_make_vector(c->tensors, own.text, size);
    for (size_t i = 0; i < 2 && cell->parts[i].gates && first < past; i++) {
        struct name theirs =
            tensors_named("%s%c%s%s", place->theirs, *end, cell->parts[i].end, end + 1);
        size = cell->parts[i].gates * hidden;
        from[i] = inputs ? tensors_matrix(c->tensors, theirs.text, inputs, size)
                         : tensors_vector(c->tensors, theirs.text, size);
    }
    for (size_t gate = first; gate < past; gate++) {
        size_t part = part_of(cell, cell->order[gate], &within);
        struct patch row = {.from = from[part],
                            .column = within * hidden,
                            .to_column = gate * hidden,
                            .rows = 1,
                            .columns = hidden};
        struct patch rows = {.from = from[part],
                             .flip = true,
                             .column = within * hidden,
                             .to_row = gate * hidden,
                             .rows = hidden,
                             .columns = inputs};
        tensors_patch(c->tensors, made, inputs ? rows : row);
    }
}

/* Plans a gain of all gates, which is one foreign vector. */
static void cell_gain(struct converter *c, const struct cell *cell, const struct place *place,
                      int number, const char *ours) {
    size_t hidden = c->hidden;
    struct made *made = tensors_make_vector(
        c->tensors, tensors_named("%s%s", place->ours, ours).text, cell->gates * hidden);
    const struct stored_tensor *from = tensors_vector(
        c->tensors, tensors_named("%sgamma%d", place->theirs, number).text, cell->gates * hidden);
    for (size_t gate = 0; gate < cell->gates; gate++)
        tensors_patch(c->tensors, made,
                      (struct patch){.from = from,
                                     .column = cell->order[gate] * hidden,
                                     .to_column = gate * hidden,
                                     .rows = 1,
                                     .columns = hidden});
}

/* The biases of the first `beside` gates are added outside the product with r, and those of the
 * other gates inside. Marian's norm (layer) is of the products alone, without a shift; the biases
 * are added afterwards, so they become shifts. In Nematus's norm (gates) the bias is in the norm of
 * the input or, in a final cell, of the state; in the encoder's transitions it is outside. */
static void one_cell(struct converter *c, const struct cell *cell, struct place place) {
    size_t gates = cell->gates, beside = place.final ? gates - cell->candidate : gates;
    cell_gates(c, cell, &place, "U", "weight_state", c->hidden, 0, gates);
    if (place.inputs)
        cell_gates(c, cell, &place, "W", "weight_input", place.inputs, 0, gates);
    switch (c->norm) {
    case NORM_NONE:
        cell_gates(c, cell, &place, "b", "bias_input", 0, 0, beside);
        cell_gates(c, cell, &place, "b", "bias_state", 0, beside, gates);
        return;
    case NORM_LAYER:
        tensors_make_vector(c->tensors, tensors_named("%sbias_state", place.ours).text,
                            gates * c->hidden);
        cell_gain(c, cell, &place, 2, "gain_state");
        cell_gates(c, cell, &place, "b", "shift_state", 0, beside, gates);
        if (!place.inputs) {
            cell_gates(c, cell, &place, "b", "bias_input", 0, 0, beside);
            return;
        }
        tensors_make_vector(c->tensors, tensors_named("%sbias_input", place.ours).text,
                            gates * c->hidden);
        cell_gain(c, cell, &place, 1, "gain_input");
        cell_gates(c, cell, &place, "b", "shift_input", 0, 0, beside);
        return;
    case NORM_GATES:
        cell_gates(c, cell, &place, "b", "bias_input", 0, 0, place.final ? 0 : gates);
        cell_gates(c, cell, &place, "b", "bias_state", 0, 0, place.final ? gates : 0);
        if (place.inputs) {
            cell_gates(c, cell, &place, "W_lns", "gain_input", 0, 0, gates);
            cell_gates(c, cell, &place, "W_lnb", "shift_input", 0, 0, gates);
        }
        cell_gates(c, cell, &place, "U_lns", "gain_state", 0, 0, gates);
        cell_gates(c, cell, &place, "U_lnb", "shift_state", 0, 0, gates);
    }
}

/* ---- the encoder ---- */

/* Plans two stacks, each of which reads its own output; with bi-unidirectional, only one stack is
 * above the first layer, and reads both directions of that layer. */
static void recurrent_encoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "enc-cell");
    bool together = strcmp(marian_option(c->options, "enc-type"), "bi-unidirectional") == 0;
    size_t depth = number_of(c->options, "enc-depth"),
           cell_depth = number_of(c->options, "enc-cell-depth");
    static const char *const stacks[][2] = {{"encoder_bi_", "forward"},
                                            {"encoder_bi_r_", "backward"}};
    for (size_t i = 1; i <= depth; i++) {
        for (size_t s = 0; s < 2; s++) {
            for (size_t j = 1; j <= cell_depth; j++) {
                struct name layer = tensors_named(i > 1 ? "l%zu_" : "%.0zu", i > 1 ? i : 0);
                struct name number =
                    i > 1 || j > 1 ? tensors_named("cell%zu_", j) : tensors_named("%s", "");
                struct name theirs =
                    together && i > 1
                        ? tensors_named("encoder_l%zu_cell%zu_", i, j)
                        : tensors_named("%s%s%s", stacks[s][0], layer.text, number.text);
                struct name transition =
                    j > 1 ? tensors_named("transitions.%zu.", j - 2) : tensors_named("%s", "");
                struct name ours =
                    tensors_named("encoder.layers.%zu.%s.%s", i - 1, stacks[s][1], transition.text);
                size_t inputs = i == 1               ? c->embedding
                                : together && i == 2 ? 2 * c->hidden
                                                     : c->hidden;
                one_cell(c, cell,
                         (struct place){theirs.text, ours.text, j > 1 ? 0 : inputs, false});
            }
            if (together && i > 1)
                break;
        }
    }
}

static const char *stack_of(const struct converter *c) {
    const char *type = marian_option(c->options, "enc-type");
    if (number_of(c->options, "enc-depth") == 1)
        return "joined";
    return strcmp(type, "bidirectional") == 0 ? "separate"
           : strcmp(type, "alternating") == 0 ? "alternating"
                                              : "forward";
}

static size_t annotation(const struct converter *c) {
    return c->hidden * (strcmp(stack_of(c), "forward") == 0 ? 1 : 2);
}

/* ---- the decoder ---- */

/* Plans the bias of a product, and the gain and shift of its norm. Their names end with a number,
 * ours with a letter. */
static void bias_and_norm(struct converter *c, const char *theirs, const char *number,
                          const char *ours, const char *letter, size_t size) {
    struct name bias = tensors_named("%sbias%s", ours, letter),
                gain = tensors_named("%sgain%s", ours, letter),
                shift = tensors_named("%sshift%s", ours, letter);
    struct name their_bias = tensors_named("%sb%s", theirs, number);
    if (c->norm == NORM_LAYER) {
        tensors_make_vector(c->tensors, bias.text, size);
        vector(c, tensors_named("%sgamma%s", theirs, number).text, gain.text, size);
        vector(c, their_bias.text, shift.text, size);
        return;
    }
    vector(c, their_bias.text, bias.text, size);
    if (c->norm == NORM_GATES) {
        vector(c, tensors_named("%sln_s%s", theirs, number).text, gain.text, size);
        vector(c, tensors_named("%sln_b%s", theirs, number).text, shift.text, size);
    }
}

/* Plans the cells, and for each layer a copy of the one projection that its initial state starts
 * from. */
static void recurrent_decoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "dec-cell");
    size_t base = number_of(c->options, "dec-cell-base-depth"),
           high = number_of(c->options, "dec-cell-high-depth");
    size_t depth = number_of(c->options, "dec-depth");
    one_cell(c, cell, (struct place){"decoder_cell1_", "decoder.layers.0.", c->embedding, false});
    for (size_t j = 2; j <= base; j++) {
        struct name ours = j > 2 ? tensors_named("decoder.conditional.transitions.%zu.", j - 3)
                                 : tensors_named("%s", "decoder.conditional.");
        one_cell(c, cell,
                 (struct place){tensors_named("decoder_cell%zu_", j).text, ours.text,
                                j == 2 ? annotation(c) : 0, true});
    }
    for (size_t i = 2; i <= depth; i++)
        for (size_t j = 1; j <= high; j++) {
            struct name ours =
                j > 1 ? tensors_named("decoder.layers.%zu.transitions.%zu.", i - 1, j - 2)
                      : tensors_named("decoder.layers.%zu.", i - 1);
            one_cell(c, cell,
                     (struct place){tensors_named("decoder_l%zu_cell%zu_", i, j).text, ours.text,
                                    j == 1 ? c->hidden : 0, false});
        }
    for (size_t i = 0; i < depth; i++) {
        struct name ours = tensors_named("decoder.initial.%zu.", i);
        weight(c, "decoder_ff_state_W", tensors_named("%sweight", ours.text).text, annotation(c),
               c->hidden);
        bias_and_norm(c, "decoder_ff_state_", "", ours.text, "", c->hidden);
    }
}

/* Plans the attention and returns its size. */
static size_t attention(struct converter *c) {
    size_t size = tensors_rows(c->tensors, "decoder_U_att"), inputs = annotation(c);
    if (c->norm == NORM_LAYER) {
        vector(c, "decoder_att_gamma1", "attention.key.gain", size);
        vector(c, "decoder_b_att", "attention.key.shift", size);
        tensors_make_vector(c->tensors, "attention.key.bias", size);
        vector(c, "decoder_att_gamma2", "attention.query.gain", size);
        tensors_make_vector(c->tensors, "attention.query.shift", size);
    } else if (c->norm == NORM_GATES) {
        vector(c, "decoder_Wc_att_lns", "attention.key.gain", size);
        vector(c, "decoder_Wc_att_lnb", "attention.key.shift", size);
        vector(c, "decoder_W_comb_att_lns", "attention.query.gain", size);
        vector(c, "decoder_W_comb_att_lnb", "attention.query.shift", size);
    }
    if (c->norm != NORM_LAYER)
        vector(c, "decoder_b_att", "attention.key.bias", size);
    weight(c, "decoder_Wc_att", "attention.key.weight", inputs, size);
    weight(c, "decoder_W_comb_att", "attention.query.weight", c->hidden, size);
    vector(c, "decoder_U_att", "attention.energy", size);
    return size;
}

/* Plans the readout: tanh of the sum of three products, of y, s and c. Without norms, the sum of
 * their biases is one vector. */
static void readout(struct converter *c) {
    static const char theirs[] = "decoder_ff_logit_l1_", *const letters[] = {".y", ".s", ".c"};
    size_t size = c->embedding, inputs[] = {c->embedding, c->hidden, annotation(c)}, at = 0;
    struct made *made =
        tensors_make(c->tensors, "readout.weight", size, inputs[0] + inputs[1] + inputs[2]);
    for (size_t i = 0; i < 3; at += inputs[i++])
        tensors_patch(c->tensors, made,
                      (struct patch){.from = tensors_matrix(c->tensors,
                                                            tensors_named("%sW%zu", theirs, i).text,
                                                            inputs[i], size),
                                     .flip = true,
                                     .to_column = at,
                                     .rows = size,
                                     .columns = inputs[i]});
    if (c->norm == NORM_NONE) {
        made = tensors_make_vector(c->tensors, "readout.bias", size);
        for (size_t i = 0; i < 3; i++)
            tensors_patch(
                c->tensors, made,
                (struct patch){.from = tensors_vector(
                                   c->tensors, tensors_named("%sb%zu", theirs, i).text, size),
                               .add = true,
                               .rows = 1,
                               .columns = size});
        return;
    }
    for (size_t i = 0; i < 3; i++)
        bias_and_norm(c, theirs, tensors_named("%zu", i).text, "readout.", letters[i], size);
}

static json_t *convert_recurrent(struct converter *c, struct marian_sizes *sizes) {
    const char *type = marian_option(c->options, "type");
    bool normal = is_on(c->options, "layer-normalization");
    c->norm = !normal ? NORM_NONE : strcmp(type, "nematus") == 0 ? NORM_GATES : NORM_LAYER;
    if (strcmp(type, "s2s") != 0)
        rename_nematus(c->tensors, c->options);
    recurrent_encoder(c);
    recurrent_decoder(c);
    size_t attention_size = attention(c);
    readout(c);
    *sizes = embeddings(c);
    output(c, sizes->target);
    if (c->tensors->failed)
        return NULL;

    size_t below = number_of(c->options, "enc-depth"), above = number_of(c->options, "dec-depth");
    bool skips = is_on(c->options, "skip");
    const char *stack = stack_of(c), *norm = norm_names[c->norm];
    /* with bi-unidirectional the second layer's input and output differ in size, so it has no
     * residual connection */
    size_t first = strcmp(stack, "forward") == 0 ? 2 : 1;
    json_t *encoder_section = json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:b}", "cell", cell_of(c, "enc-cell")->ours,
        "layers", (int)below, "embedding", (int)c->embedding, "hidden", (int)c->hidden, "stack",
        stack, "residual", (int)(skips && below > first), "normalization", norm, "transitions",
        (int)number_of(c->options, "enc-cell-depth") - 1, "embedding_shared",
        (int)marian_shares(c->options));
    const char *cell = cell_of(c, "dec-cell")->ours;
    json_t *decoder_section = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:s, s:b, s:s, s:i, s:i, s:s}", "style",
        "conditional", "cell", cell, "layers", (int)above, "embedding", (int)c->embedding, "hidden",
        (int)c->hidden, "initial_state", "mean", "initial_projection", 1, "readout", "tanh",
        "readout_size", (int)c->embedding, "first_input", "zero", "residual",
        (int)(skips && above > 1), "normalization", norm, "transitions",
        (int)number_of(c->options, "dec-cell-base-depth") - 2, "upper_transitions",
        above > 1 ? (int)number_of(c->options, "dec-cell-high-depth") - 1 : 0, "initial_cell",
        strcmp(cell, "lstm") == 0 ? "state" : "zero");
    return json_pack("{s:o, s:o, s:{s:s, s:i, s:s}, s:{s:b}}", "encoder", encoder_section,
                     "decoder", decoder_section, "attention", "score", "additive", "size",
                     (int)attention_size, "normalization", norm, "output", "tied",
                     (int)ties(c->options));
}

/* ---- transformers ----
 * A block's norm has the name of the block's last matrix: `..._Wo_ln_scale` for attention, even in
 * models without such a matrix, and `..._ffn_ffn_ln_scale` for the feed-forward; the names of norms
 * before a block end with `_pre`. */

/* Plans the matrix theirs_W<end> and the bias theirs_b<end>. */
static void dense(struct converter *c, const char *theirs, const char *end, const char *ours,
                  size_t inputs, size_t outputs) {
    weight(c, tensors_named("%s_W%s", theirs, end).text, tensors_named("%s.weight", ours).text,
           inputs, outputs);
    vector(c, tensors_named("%s_b%s", theirs, end).text, tensors_named("%s.bias", ours).text,
           outputs);
}

static void block_norm(struct converter *c, const char *theirs, const char *ours, bool before) {
    const char *end = before ? "_pre" : "";
    vector(c, tensors_named("%s_ln_scale%s", theirs, end).text,
           tensors_named("%s.norm.gain", ours).text, c->hidden);
    vector(c, tensors_named("%s_ln_bias%s", theirs, end).text,
           tensors_named("%s.norm.shift", ours).text, c->hidden);
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const parts[][2] = {{"q", "query"}, {"k", "key"}, {"v", "value"}};
    struct name output = tensors_named("%s.output", ours);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        dense(c, theirs, parts[i][0], tensors_named("%s.%s", ours, parts[i][1]).text, c->hidden,
              c->hidden);
    if (is_on(c->options, "transformer-no-projection")) {
        tensors_make(c->tensors, tensors_named("%s.weight", output.text).text, c->hidden, c->hidden)
            ->identity = true;
        tensors_make_vector(c->tensors, tensors_named("%s.bias", output.text).text, c->hidden);
    } else {
        dense(c, theirs, "o", output.text, c->hidden, c->hidden);
    }
    block_norm(c, tensors_named("%s_Wo", theirs).text, ours, c->before);
}

static void filter(struct converter *c, const char *theirs, const char *ours, size_t middle) {
    dense(c, theirs, "1", tensors_named("%s.input", ours).text, c->hidden, middle);
    dense(c, theirs, "2", tensors_named("%s.output", ours).text, middle, c->hidden);
    block_norm(c, tensors_named("%s_ffn", theirs).text, ours, c->before);
}

/* ---- the mixers ---- */

static void self_attention(struct converter *c, const char *theirs, const char *ours) {
    heads(c, tensors_named("%s_self", theirs).text, tensors_named("%s.self", ours).text);
}

static void ssru(struct converter *c, const char *theirs, const char *ours) {
    weight(c, tensors_named("%s_rnn_W", theirs).text,
           tensors_named("%s.ssru.candidate.weight", ours).text, c->hidden, c->hidden);
    dense(c, tensors_named("%s_rnn", theirs).text, "f", tensors_named("%s.ssru.forget", ours).text,
          c->hidden, c->hidden);
    block_norm(c, tensors_named(c->before ? "%s_rnn" : "%s_rnn_ffn", theirs).text,
               tensors_named("%s.ssru", ours).text, c->before);
}

/* Returns the size of the feed-forward of average attention; 0: it has none. */
static size_t average_filter(const struct converter *c) {
    return number_of(c->options, "transformer-aan-depth") == 2
               ? number_of(c->options, "transformer-dim-aan")
               : 0;
}

static void average(struct converter *c, const char *theirs, const char *ours) {
    size_t middle = average_filter(c);
    struct name aan = tensors_named("%s_aan", theirs), to = tensors_named("%s.average", ours);
    if (middle)
        dense(c, aan.text, "1", tensors_named("%s.input", to.text).text, c->hidden, middle);
    if (middle && middle != c->hidden)
        dense(c, aan.text, "2", tensors_named("%s.output", to.text).text, middle, c->hidden);
    if (!is_on(c->options, "transformer-aan-nogate")) {
        dense(c, aan.text, "i", tensors_named("%s.gate.input", to.text).text, c->hidden, c->hidden);
        dense(c, aan.text, "f", tensors_named("%s.gate.output", to.text).text, c->hidden,
              c->hidden);
    }
    block_norm(c, tensors_named("%s_ffn", aan.text).text, to.text, c->before);
}

static const struct mixer {
    const char *theirs, *ours;
    void (*convert)(struct converter *c, const char *theirs, const char *ours);
} mixers[] = {{"self-attention", "self_attention", self_attention},
              {"rnn", "ssru", ssru},
              {"average-attention", "average", average}};

/* ---- the stacks ---- */

/* kind: the key whose value is "transformer". */
static json_t *stack_section(const struct converter *c, const char *kind, const char *depth,
                             size_t middle) {
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:b}", kind, "transformer",
                     "layers", (int)number_of(c->options, depth), "embedding", (int)c->hidden,
                     "hidden", (int)c->hidden, "heads",
                     (int)number_of(c->options, "transformer-heads"), "filter", (int)middle,
                     "activation", marian_option(c->options, "transformer-ffn-activation"), "norm",
                     c->options->norm, "positions", "sinusoidal", "embedding_scale", 1);
}

static json_t *convert_transformer(struct converter *c, struct marian_sizes *sizes) {
    size_t depth = number_of(c->options, "enc-depth"),
           middle = number_of(c->options, "transformer-dim-ffn");
    size_t above = number_of(c->options, "dec-depth"),
           upper = number_of(c->options, "transformer-decoder-dim-ffn");
    const struct mixer *mixer = mixers;
    while (strcmp(mixer->theirs, marian_option(c->options, "transformer-decoder-autoreg")) != 0)
        mixer++; /* the table of options allows only these three */
    c->before = strcmp(c->options->norm, "pre") == 0;
    upper = upper ? upper : middle;
    if (tensors_find(c->tensors, "Wpos"))
        tensors_fail(c->tensors, "Wpos: learned positions are not supported: Marian reads the "
                                 "first of them in every step of a translation");

    for (size_t i = 1; i <= depth; i++) {
        heads(c, tensors_named("encoder_l%zu_self", i).text,
              tensors_named("encoder.layers.%zu.self", i - 1).text);
        filter(c, tensors_named("encoder_l%zu_ffn", i).text,
               tensors_named("encoder.layers.%zu.filter", i - 1).text, middle);
    }
    if (c->before)
        block_norm(c, "encoder_top", "encoder", false);
    for (size_t i = 0; i < above; i++) {
        struct name theirs = tensors_named("decoder_l%zu", c->options->tied_layers[i]),
                    ours = tensors_named("decoder.layers.%zu", i);
        mixer->convert(c, theirs.text, ours.text);
        heads(c, tensors_named("%s_context", theirs.text).text,
              tensors_named("%s.cross", ours.text).text);
        filter(c, tensors_named("%s_ffn", theirs.text).text,
               tensors_named("%s.filter", ours.text).text, upper);
    }
    if (c->before)
        block_norm(c, "decoder_top", "decoder", false);
    *sizes = embeddings(c);
    output(c, sizes->target);
    if (c->tensors->failed)
        return NULL;

    const char *layer = marian_option(c->options, "transformer-guided-alignment-layer");
    json_t *encoder = stack_section(c, "type", "enc-depth", middle);
    json_t *decoder = stack_section(c, "style", "dec-depth", upper);
    int failed =
        json_object_set_new(encoder, "embedding_shared", json_boolean(marian_shares(c->options)));
    failed |= json_object_update_new(
        decoder, json_pack("{s:s, s:s}", "first_input", "zero", "mixer", mixer->ours));
    if (strcmp(mixer->ours, "average") == 0)
        failed |= json_object_update_new(
            decoder,
            json_pack("{s:i, s:s, s:b}", "average_filter", (int)average_filter(c),
                      "average_activation", marian_option(c->options, "transformer-aan-activation"),
                      "average_gate", !is_on(c->options, "transformer-aan-nogate")));
    failed |= json_object_update_new(
        decoder, json_pack("{s:i, s:i}", "alignment_layer", (int)strtol(layer, NULL, 10),
                           "alignment_head", 0)); /* "last" is read as 0 */
    json_t *sections = json_pack("{s:o, s:o, s:n, s:{s:b}}", "encoder", encoder, "decoder", decoder,
                                 "attention", "output", "tied", (int)ties(c->options));
    if (!failed)
        return sections;
    json_decref(sections);
    return NULL;
}

struct marian_sizes marian_convert(struct tensors *tensors, const struct marian_options *options,
                                   json_t **sections) {
    struct converter c = {.tensors = tensors,
                          .options = options,
                          .embedding = number_of(options, "dim-emb"),
                          .hidden =
                              number_of(options, options->transformer ? "dim-emb" : "dim-rnn")};
    struct marian_sizes sizes;
    *sections = (options->transformer ? convert_transformer : convert_recurrent)(&c, &sizes);
    if (!tensors->failed && !*sections) {
        tensors->failed = true;
        error_memory(tensors->err);
    }
    return sizes;
}
