/* This file hides how the options of Marian and Nematus are written, which of them alignd knows,
 * and which values it accepts. */
#include "model/import/conversion.h"
#include "model/weights/config.h"
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const char *marian_options_value(const struct marian_options *options, const char *name) {
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->rows[i].name, name) == 0)
            return options->rows[i].value;
    return "";
}

bool marian_options_on(const struct marian_options *options, const char *name) {
    return strcmp(marian_options_value(options, name), "true") == 0;
}

size_t marian_options_number(const struct marian_options *options, const char *name) {
    return (size_t)strtoul(marian_options_value(options, name), NULL, 10);
}

bool marian_options_share_embedding(const struct marian_options *options) {
    return marian_options_on(options, "tied-embeddings-src") ||
           marian_options_on(options, "tied-embeddings-all");
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
    const char *encoder = marian_options_value(options, "enc-cell"),
               *decoder = marian_options_value(options, "dec-cell");
    bool normal = marian_options_on(options, "layer-normalization"),
         nematus = strcmp(marian_options_value(options, "type"), "nematus") == 0;
    bool tanh_cells = strcmp(encoder, "tanh") == 0 || strcmp(decoder, "tanh") == 0;
    bool either = strcmp(encoder, "gru-nematus") == 0 || strcmp(decoder, "gru-nematus") == 0;
    bool both = strcmp(encoder, "gru-nematus") == 0 && strcmp(decoder, "gru-nematus") == 0;
    const char *why =
        normal && tanh_cells ? "layer-normalization: true is not supported with tanh "
                               "cells, whose gains Marian gives a wrong size"
        : normal && !nematus && either
            ? "layer-normalization: true is not supported with gru-nematus cells in "
              "a model that is not of type nematus, where "
              "the cells are normalised in one way and all else in another"
        : nematus && !both ? "type: nematus supports only gru-nematus cells"
        : nematus && strcmp(marian_options_value(options, "enc-type"), "bidirectional") != 0
            ? "type: nematus supports only a bidirectional encoder"
        : nematus && strcmp(marian_options_value(options, "dec-cell-high-depth"), "1") != 0
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

/* Copies the letters of a value without d (dropout), which has no effect once a model is trained.
 */
static void letters(const struct marian_options *options, const char *name, char out[8]) {
    size_t length = 0;
    for (const char *c = marian_options_value(options, name); *c && length < 7; c++)
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
    const char *autoreg = marian_options_value(options, "transformer-decoder-autoreg"),
               *cell = marian_options_value(options, "dec-cell");
    const char *layer = marian_options_value(options, "transformer-guided-alignment-layer");
    bool rnn = strcmp(autoreg, "rnn") == 0, average = strcmp(autoreg, "average-attention") == 0;
    bool gelu = strcmp(marian_options_value(options, "transformer-ffn-activation"), "gelu") == 0 ||
                (average &&
                 strcmp(marian_options_value(options, "transformer-aan-activation"), "gelu") == 0);
    options->norm = post ? "post" : pre ? "pre" : "";
    if (rnn && strcmp(cell, "ssru") != 0)
        return error_set(err, ERROR_FORMAT,
                         "option dec-cell: %s is not supported in a transformer's decoder: alignd "
                         "has no such cell there (supported: ssru)",
                         cell);
    const char *why =
        rnn && marian_options_on(options, "layer-normalization")
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
    size_t depth = marian_options_number(options, "dec-depth");
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
