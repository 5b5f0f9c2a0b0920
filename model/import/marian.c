/* This file hides the files of Marian and Nematus beside the vocabularies: the container .bin, and the options of a model, of its
 * training and of its decoder. */
#include "model/import/marian.h"
#include "model/base/utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- .bin ----
 * It has the same layout in both of Marian's lines of development, little-endian: u64 version 1, u64 number of items N, N times
 * four u64 (length of the name with its NUL, type, number of dimensions, bytes of data), the names, the dimensions as i32, a u64
 * that says how many bytes of padding follow, and the data in the order of the items, which fills the file. Data of tensors are
 * padded: the next one begins `bytes of data` further on, for any shape.
 *
 * An intgemm8 tensor [in, out] is int8 [out, in], already transposed, and one float32 after it, the multiplier m: w = q / m.
 * Embeddings (names that contain Wemb) are not transposed. */

enum { VERSION = 1, ENCRYPTED = 2, HEAD_BYTES = 32, MOST_ITEMS = 20000, MOST_NAME_BYTES = 1 << 12 };

static const struct {
    uint64_t code;
    const char *type;
    enum stored_kind kind;
    size_t item; /* 0: cannot be read, because it is arranged for one processor, or of 16 bits */
    bool quantised;
} item_types[] = {
    {0x0404, "float32", STORED_F32, 4, false},
    {0x0402, "float16", STORED_F16, 2, false},
    {0x0408, "float64", STORED_F64, 8, false},
    {0x0101, "int8", STORED_I8, 1, false},
    {0x4101, "intgemm8", STORED_I8, 1, true},
    {0x10001, "intgemm8", STORED_I8, 1, true},
    {0x0102, "int16", STORED_OTHER, 2, false},
    {0x0104, "int32", STORED_OTHER, 4, false},
    {0x0108, "int64", STORED_OTHER, 8, false},
    {0x0201, "uint8", STORED_OTHER, 1, false},
    {0x0202, "uint16", STORED_OTHER, 2, false},
    {0x0204, "uint32", STORED_OTHER, 4, false},
    {0x0208, "uint64", STORED_OTHER, 8, false},
    {0x0802, "packed16", STORED_OTHER, 0, false},
    {0x1801, "packed8avx2", STORED_OTHER, 0, false},
    {0x2801, "packed8avx512", STORED_OTHER, 0, false},
    {0x4102, "intgemm16", STORED_OTHER, 0, false},
    {0x10002, "intgemm16", STORED_OTHER, 0, false},
    {0x18001, "intgemm8ssse3", STORED_OTHER, 0, false},
    {0x11001, "intgemm8avx2", STORED_OTHER, 0, false},
    {0x12001, "intgemm8avx512", STORED_OTHER, 0, false},
    {0x13001, "intgemm8avx512vnni", STORED_OTHER, 0, false},
    {0x14002, "intgemm16sse2", STORED_OTHER, 0, false},
    {0x11002, "intgemm16avx2", STORED_OTHER, 0, false},
    {0x12002, "intgemm16avx512", STORED_OTHER, 0, false},
};

/* The file's entry for an item. */
struct head {
    uint64_t name_bytes, type, dims, bytes;
};

/* The bytes of a name as a message can show them. */
static const char *shown(struct arena *arena, const char *bytes, size_t count) {
    char text[4 * 40 + 1];
    size_t at = 0;
    for (size_t i = 0; i < count && i < 40; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '\\' && bytes[i] != '\'';
        at += (size_t)snprintf(text + at, sizeof text - at, plain ? "%c" : "\\x%02x", (unsigned char)bytes[i]);
    }
    const char *copy = arena_copy(arena, text, at);
    return copy ? copy : "";
}

static int take_name(struct source_cursor *cursor, uint64_t length, struct stored *entry, struct error *err) {
    if (length > MOST_NAME_BYTES && length <= cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: a name has %llu bytes", cursor->path, (unsigned long long)length);
    if (length > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the names", cursor->path);
    char *name = arena_zalloc(cursor->arena, (size_t)length + 1, 1);
    if (!name)
        return error_memory(err);
    if (source_take(cursor, name, length, "the names", err) != 0)
        return -1;
    if (length < 2 || strlen(name) != length - 1 || !utf8_valid(name, (size_t)length - 1))
        return error_set(err, ERROR_FORMAT, "%s: the name '%s' is not text that ends with a NUL", cursor->path,
                         shown(cursor->arena, name, (size_t)length));
    entry->name = name;
    return 0;
}

static int take_shape(struct source_cursor *cursor, uint64_t dims, struct stored *entry, struct error *err) {
    int32_t shape[STORED_MOST_DIMS];
    if (dims < 1 || dims > STORED_MOST_DIMS)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %llu dimensions", cursor->path, entry->name, (unsigned long long)dims);
    if (source_take(cursor, shape, dims * sizeof *shape, "the shapes", err) != 0)
        return -1;
    entry->dims = (size_t)dims;
    for (size_t i = 0; i < dims; i++) {
        if (shape[i] < 1) {
            char text[STORED_MOST_DIMS * 14 + 8] = "(";
            for (size_t d = 0; d < dims; d++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d ? ", " : "", shape[d]);
            return error_set(err, ERROR_FORMAT, "%s: %s: has the shape %s%s", cursor->path, entry->name, text,
                             dims == 1 ? ",)" : ")");
        }
        entry->shape[i] = (size_t)shape[i];
    }
    return 0;
}

static int set_type(const struct source_cursor *cursor, const struct head *head, struct stored *entry, struct error *err) {
    const char *name = NULL;
    for (size_t i = 0; i < sizeof item_types / sizeof *item_types; i++) {
        if (item_types[i].code != head->type)
            continue;
        name = item_types[i].type;
        if (item_types[i].item == 0)
            break;
        entry->type = name;
        entry->kind = item_types[i].kind;
        entry->item = item_types[i].item;
        entry->quantised = item_types[i].quantised;
        entry->transposed = item_types[i].quantised && entry->dims == 2 && !strstr(entry->name, "Wemb");
        return 0;
    }
    if (name)
        return error_set(err, ERROR_FORMAT, "%s: %s: is of type %s, which cannot be read: only float16, float32 and intgemm8 can",
                         cursor->path, entry->name, name);
    return error_set(err, ERROR_FORMAT, "%s: %s: is of type 0x%llx, which cannot be read: only float16, float32 and intgemm8 can",
                     cursor->path, entry->name, (unsigned long long)head->type);
}

/* The size as the product of the shape, which may be more than any number of 64 bits. */
static const char *size_text(struct arena *arena, const struct stored *entry) {
    long double size = (long double)entry->item;
    for (size_t i = 0; i < entry->dims; i++)
        size *= (long double)entry->shape[i];
    return import_say(arena, "%.0Lf", size + (entry->quantised ? 4 : 0));
}

static int set_data(struct source_cursor *cursor, const struct head *head, struct stored *entry, struct error *err) {
    uint64_t bytes;
    float multiplier;
    if (head->bytes > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: %s: the file ends within it", cursor->path, entry->name);
    if (set_type(cursor, head, entry, err) != 0)
        return -1;
    if (!stored_size(entry->shape, entry->dims, entry->item, &bytes) || bytes + (entry->quantised ? 4 : 0) > head->bytes)
        return error_set(err, ERROR_FORMAT, "%s: %s: shape %s needs %s bytes, and there are %llu", cursor->path, entry->name,
                         stored_shape(cursor->arena, entry->shape, entry->dims), size_text(cursor->arena, entry),
                         (unsigned long long)head->bytes);
    entry->file = cursor->file;
    entry->at = cursor->at;
    cursor->at += head->bytes;
    if (!entry->quantised)
        return 0;
    if (source_read_at(cursor->file, entry->at + bytes, &multiplier, sizeof multiplier, cursor->path, err) != 0)
        return -1;
    if (!isfinite(multiplier) || multiplier <= 0)
        return error_set(err, ERROR_FORMAT, "%s: %s: its multiplier is %s", cursor->path, entry->name,
                         isnan(multiplier)   ? "nan"
                         : isinf(multiplier) ? (multiplier > 0 ? "inf" : "-inf")
                                             : import_say(cursor->arena, "%.1f", (double)multiplier));
    entry->scale = 1 / multiplier;
    return 0;
}

static int read_index(struct source_cursor *cursor, struct container *out, struct error *err) {
    uint64_t start[2], padding;
    if (source_take(cursor, start, sizeof start, "its beginning", err) != 0)
        return -1;
    if (start[0] == ENCRYPTED)
        return error_set(err, ERROR_FORMAT, "%s: not a .bin file of Marian that can be read: its beginning is encrypted",
                         cursor->path);
    if (start[0] != VERSION)
        return error_set(err, ERROR_FORMAT, "%s: not a .bin file of Marian that can be read: version %llu is unknown", cursor->path,
                         (unsigned long long)start[0]);
    if (start[1] > MOST_ITEMS || start[1] * HEAD_BYTES > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the list of tensors", cursor->path);
    size_t count = (size_t)start[1];
    struct head *heads = arena_alloc(cursor->arena, count, sizeof *heads);
    out->entries = arena_zalloc(cursor->arena, count, sizeof *out->entries);
    if (!heads || !out->entries)
        return error_memory(err);
    if (source_take(cursor, heads, count * sizeof *heads, "the list of tensors", err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (take_name(cursor, heads[i].name_bytes, &out->entries[i], err) != 0)
            return -1;
    for (size_t i = 0; i < count; i++)
        if (take_shape(cursor, heads[i].dims, &out->entries[i], err) != 0)
            return -1;
    if (source_take(cursor, &padding, sizeof padding, "the padding", err) != 0)
        return -1;
    if (padding > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within the padding", cursor->path);
    cursor->at += padding;
    for (; out->count < count; out->count++) {
        if (stored_find(out, out->entries[out->count].name))
            return error_set(err, ERROR_FORMAT, "%s: %s: occurs twice", cursor->path, out->entries[out->count].name);
        if (set_data(cursor, &heads[out->count], &out->entries[out->count], err) != 0)
            return -1;
    }
    if (cursor->at != cursor->size)
        return error_set(err, ERROR_FORMAT, "%s: %llu bytes follow the last tensor", cursor->path,
                         (unsigned long long)(cursor->size - cursor->at));
    return 0;
}

int marian_bin_open(const char *path, struct arena *arena, struct container *out, struct error *err) {
    struct source_cursor cursor = {.path = path, .arena = arena};
    struct container found = {.path = path, .file = source_open(path, &cursor.size, err)};
    if (found.file < 0)
        return -1;
    cursor.file = found.file;
    if (read_index(&cursor, &found, err) != 0) {
        container_close(&found);
        return -1;
    }
    *out = found;
    return 0;
}

/* ---- options ---- */

enum types { RECURRENT = 1, TRANSFORMER = 2, COMMON = RECURRENT | TRANSFORMER };

static const struct row {
    int types;
    const char *name, *fallback, *allowed, *reason;
} rows[] = {
#define OPTION(types, name, fallback, allowed, reason) {types, name, fallback, allowed, reason},
#define IGNORED(types, name)
#include "model/import/marian_options.def"
#undef OPTION
#undef IGNORED
};

static const struct {
    int types;
    const char *name;
} ignored[] = {
#define OPTION(types, name, fallback, allowed, reason)
#define IGNORED(types, name) {types, name},
#include "model/import/marian_options.def"
#undef OPTION
#undef IGNORED
};

enum {
    ROWS = sizeof rows / sizeof *rows,
    IGNORED_ROWS = sizeof ignored / sizeof *ignored,
    MOST_NUMBER = 1 << 24,
    MOST_LAYERS = 16
};

/* Lists: for each layer of the decoder the one whose tensors it has; the kinds of input, all of them `sequence`. */
static const char TIED_LAYERS[] = "transformer-tied-layers", INPUT_TYPES[] = "input-types";

const char *marian_option(const struct marian_options *options, const char *name) {
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->rows[i].name, name) == 0)
            return options->rows[i].value;
    return "";
}

bool marian_on(const struct marian_options *options, const char *name) {
    return strcmp(marian_option(options, name), "true") == 0;
}

size_t marian_number(const struct marian_options *options, const char *name) {
    return (size_t)strtoul(marian_option(options, name), NULL, 10);
}

bool marian_shares(const struct marian_options *options) {
    return marian_on(options, "tied-embeddings-src") || marian_on(options, "tied-embeddings-all");
}

bool marian_ties(const struct marian_options *options) {
    return marian_on(options, "tied-embeddings") || marian_on(options, "tied-embeddings-all");
}

/* ---- Nematus's JSON ---- */

/* The names of its keys in Marian. */
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

/* Keys that must have these values; a second value is also allowed. */
static const struct {
    const char *name, *wanted, *also;
} nematus_always[] = {
    {"encoder", "\"gru\"", NULL},
    {"decoder", "\"gru_cond\"", NULL},
    {"enc_depth", "1", NULL},
    {"dec_depth", "1", NULL},
    {"rnn_enc_depth", "1", NULL},
    {"rnn_dec_depth", "1", NULL},
    {"factors", "1", NULL},
    {"weight_normalisation", "false", NULL},
    {"decoder_deep_context", "false", NULL},
    {"deep_fusion_lm", "null", "false"},
    {"output_hidden_activation", "\"tanh\"", NULL},
    {"softmax_mixture_size", "1", NULL},
};

/* A value of JSON as text in the arena; strings: without their quotation marks unless they are wanted. NULL: memory is out. */
static const char *json_text(const json_t *value, bool quoted, struct arena *arena) {
    if (json_is_string(value) && !quoted)
        return arena_copy(arena, json_string_value(value), json_string_length(value));
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *copy = dumped ? arena_copy(arena, dumped, strlen(dumped)) : NULL;
    free(dumped);
    return copy;
}

static int nematus_check(const json_t *root, struct arena *arena, struct error *err) {
    for (size_t i = 0; i < sizeof nematus_always / sizeof *nematus_always; i++) {
        const json_t *value = json_object_get(root, nematus_always[i].name);
        const char *text = value ? json_text(value, true, arena) : NULL;
        if (!value || (text && (strcmp(text, nematus_always[i].wanted) == 0 ||
                                (nematus_always[i].also && strcmp(text, nematus_always[i].also) == 0))))
            continue;
        return text ? error_set(err, ERROR_FORMAT, "option %s: %s is not supported; Nematus's models are converted with %s",
                                nematus_always[i].name, text, nematus_always[i].wanted)
                    : error_memory(err);
    }
    return 0;
}

static int read_nematus(const char *text, size_t length, struct arena *arena, struct mapping *out, struct error *err) {
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return error_set(err, ERROR_FORMAT, "the options are not JSON: line %d: %s", problem.line, problem.text);
    enum { NAMES = sizeof nematus_names / sizeof *nematus_names };
    struct mapping_pair *pairs = arena_zalloc(arena, NAMES + 3, sizeof *pairs);
    size_t count = 0;
    int result =
        json_is_object(root) ? nematus_check(root, arena, err) : error_set(err, ERROR_FORMAT, "the options are not a JSON object");
    static const struct mapping_pair always[] = {{.key = "type", .value = "nematus"},
                                                 {.key = "enc-cell", .value = "gru-nematus"},
                                                 {.key = "dec-cell", .value = "gru-nematus"}};
    for (size_t i = 0; pairs && i < sizeof always / sizeof *always; i++)
        pairs[count++] = always[i];
    for (size_t i = 0; pairs && result == 0 && i < NAMES; i++) {
        const json_t *value = json_object_get(root, nematus_names[i].theirs);
        if (value)
            pairs[count++] = (struct mapping_pair){.key = nematus_names[i].ours, .value = json_text(value, false, arena)};
    }
    json_decref(root);
    if (result == 0 && arena_failed(arena))
        result = error_memory(err);
    if (result == 0)
        *out = (struct mapping){pairs, count};
    return result;
}

/* ---- the check ---- */

/* An integer as its digits say it, with or without a sign. */
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

/* "none, d, n": the value, or an empty one as none. */
static bool listed(const char *list, const char *value) {
    size_t length = strlen(*value ? value : "none");
    if (strcmp(value, "none") == 0)
        return false;
    for (const char *at = list; *at; at += strspn(at, ", ")) {
        size_t item = strcspn(at, ",");
        if (item == length && memcmp(at, *value ? value : "none", item) == 0)
            return true;
        at += item;
    }
    return false;
}

static int check_row(const struct row *row, const char *value, const char *shown, struct error *err) {
    long number, least = 1, most = MOST_NUMBER;
    bool range = strcmp(row->allowed, "positive") == 0 || sscanf(row->allowed, "%ld to %ld", &least, &most) == 2;
    bool fits = value && (range ? integer(value, &number) && number >= least && number <= most : listed(row->allowed, value));
    if (fits)
        return 0;
    return error_set(err, ERROR_FORMAT, "option %s: %s is not supported%s%s (supported: %s)", row->name, shown,
                     *row->reason ? ": " : "", row->reason,
                     strcmp(row->allowed, "positive") == 0 ? "a positive number" : row->allowed);
}

/* True if the option is in the table or is known to change nothing. */
static bool is_known(const char *name, int types) {
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].types & types && strcmp(rows[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < IGNORED_ROWS; i++) {
        size_t length = strlen(ignored[i].name);
        bool prefix = ignored[i].name[length - 1] == '*';
        if (ignored[i].types & types &&
            (prefix ? strncmp(ignored[i].name, name, length - 1) == 0 : strcmp(ignored[i].name, name) == 0))
            return true;
    }
    return strcmp(name, TIED_LAYERS) == 0 || strcmp(name, INPUT_TYPES) == 0;
}

static int refuse(struct error *err, bool broken, const char *message) {
    return broken ? error_set(err, ERROR_FORMAT, "%s", message) : 0;
}

static int check_recurrent(const struct marian_options *options, struct error *err) {
    const char *encoder = marian_option(options, "enc-cell"), *decoder = marian_option(options, "dec-cell");
    bool normal = marian_on(options, "layer-normalization"), nematus = strcmp(marian_option(options, "type"), "nematus") == 0;
    bool tanh_cells = strcmp(encoder, "tanh") == 0 || strcmp(decoder, "tanh") == 0;
    bool either = strcmp(encoder, "gru-nematus") == 0 || strcmp(decoder, "gru-nematus") == 0;
    bool both = strcmp(encoder, "gru-nematus") == 0 && strcmp(decoder, "gru-nematus") == 0;
    if (refuse(err, normal && tanh_cells,
               "option layer-normalization: true is not supported with tanh cells, whose gains Marian gives a wrong size") != 0 ||
        refuse(err, normal && !nematus && either,
               "option layer-normalization: true is not supported with gru-nematus cells in a model that is not of type nematus, "
               "where the "
               "cells are normalised in one way and all else in another") != 0 ||
        refuse(err, nematus && !both, "option type: nematus has gru-nematus cells, and no others") != 0 ||
        refuse(err, nematus && strcmp(marian_option(options, "enc-type"), "bidirectional") != 0,
               "option type: nematus has a bidirectional encoder, and no other") != 0)
        return -1;
    return refuse(err, nematus && strcmp(marian_option(options, "dec-cell-high-depth"), "1") != 0,
                  "option type: nematus has no dec-cell-high-depth but 1");
}

/* The model was trained by Marian's main line, v1.12 or newer, of this day or later. (Others count their versions from 1.9 on.) */
static bool is_newer(const struct mapping *found, const char *date) {
    const struct mapping_pair *pair = mapping_find(found, "version");
    int major, minor, patch, used = 0;
    if (!pair || !pair->value || sscanf(pair->value, "v%d.%d.%d%n", &major, &minor, &patch, &used) != 3 || used == 0)
        return false;
    for (const char *at = strchr(pair->value + used, ' '); at; at = strchr(at + 1, ' ')) {
        int year, month, day, length = 0;
        if (sscanf(at, " %4d-%2d-%2d%n", &year, &month, &day, &length) == 3 && length == 11 && (at[length] == ' ' || !at[length]))
            return (major > 1 || (major == 1 && minor >= 12)) && strncmp(at + 1, date, 10) >= 0;
    }
    return false;
}

/* The letters without d, which does nothing once a model is trained. */
static void letters(const struct marian_options *options, const char *name, char out[8]) {
    size_t length = 0;
    for (const char *c = marian_option(options, name); *c && length < 7; c++)
        if (*c != 'd')
            out[length++] = *c;
    out[length] = '\0';
}

static int check_transformer(struct marian_options *options, const struct mapping *found, struct arena *arena, struct error *err) {
    char before[8], after[8], top[8];
    letters(options, "transformer-preprocess", before);
    letters(options, "transformer-postprocess", after);
    letters(options, "transformer-postprocess-top", top);
    bool post = !*before && strcmp(after, "an") == 0 && !*top;
    bool pre = strcmp(before, "n") == 0 && strcmp(after, "a") == 0 && strcmp(top, "n") == 0;
    const char *autoreg = marian_option(options, "transformer-decoder-autoreg"), *cell = marian_option(options, "dec-cell");
    const char *layer = marian_option(options, "transformer-guided-alignment-layer");
    bool rnn = strcmp(autoreg, "rnn") == 0, average = strcmp(autoreg, "average-attention") == 0;
    bool gelu = strcmp(marian_option(options, "transformer-ffn-activation"), "gelu") == 0 ||
                (average && strcmp(marian_option(options, "transformer-aan-activation"), "gelu") == 0);
    options->norm = post ? "post" : pre ? "pre" : "";
    if (rnn && strcmp(cell, "ssru") != 0)
        return error_set(
            err, ERROR_FORMAT,
            "option dec-cell: %s is not supported in a transformer's decoder: alignd has no such cell there (supported: ssru)",
            cell);
    if (refuse(err, rnn && marian_on(options, "layer-normalization"),
               "option layer-normalization: true is not supported: alignd's SSRU has no norm within") != 0 ||
        refuse(err, !post && !pre,
               "options transformer-preprocess, -postprocess, -postprocess-top: are not supported together: alignd has norms "
               "after each block "
               "(none, dan, none) or before it and on top (n, da, n)") != 0 ||
        refuse(err, pre && !rnn && !average,
               "option transformer-preprocess: n is not supported with a decoder of self-attention: Marian itself trains it in one "
               "way and "
               "translates in another") != 0 ||
        refuse(err, pre && !is_newer(found, ""),
               "option transformer-preprocess: n is supported only of models of Marian v1.12 or newer: older ones look at what was "
               "not "
               "normalised") != 0 ||
        refuse(err, gelu && !is_newer(found, "2023-04-01"),
               "option transformer-ffn-activation: gelu is supported only of models of Marian v1.12 of April 2023 or newer: older "
               "ones compute "
               "it in another way") != 0)
        return -1;
    size_t depth = marian_number(options, "dec-depth");
    if (strcmp(layer, "last") != 0 && strtoul(layer, NULL, 10) > depth)
        return error_set(err, ERROR_FORMAT,
                         "option transformer-guided-alignment-layer: %s is not supported: the decoder has %zu layers", layer,
                         depth);
    const struct mapping_pair *tied = mapping_find(found, TIED_LAYERS);
    bool given = tied && (tied->count > 0 || (tied->value && *tied->value)), fits = !given || tied->count == depth;
    for (size_t i = 0; fits && i < depth; i++) {
        long number = (long)i + 1;
        fits = !given || (integer(tied->items[i], &number) && number >= 1 && (size_t)number <= depth);
        options->tied_layers[i] = (size_t)number;
    }
    return fits ? 0
                : error_set(err, ERROR_FORMAT,
                            "option %s: %s is not supported: it needs one number from 1 to %zu for each of the %zu layers",
                            TIED_LAYERS, mapping_shown(arena, tied), depth, depth);
}

int marian_options_read(const char *text, size_t length, bool own, struct arena *arena, struct marian_options *out,
                        struct error *err) {
    struct mapping found;
    struct error inner = {0};
    if (text[strspn(text, " \t\r\n")] == '{') {
        if (read_nematus(text, length, arena, &found, err) != 0)
            return -1;
    } else if (mapping_read(text, length, arena, &found, &inner) != 0) {
        return error_set(err, inner.code, "the options: %s", inner.message);
    }
    const struct mapping_pair *type = mapping_find(&found, "type"), *inputs = mapping_find(&found, INPUT_TYPES);
    struct marian_options made = {.ignored = "", .norm = ""};
    made.transformer = type && type->value && strcmp(type->value, "transformer") == 0;
    int types = made.transformer ? TRANSFORMER : RECURRENT;
    if (type && type->value &&
        (strcmp(type->value, "lm") == 0 || source_begins(type->value, "lm-") || strcmp(type->value, "transformer-lm") == 0))
        return error_set(err, ERROR_FORMAT, "option type: %s is a language model, which translates nothing", type->value);
    for (size_t i = 0; i < found.count; i++) {
        if (is_known(found.pairs[i].key, types))
            continue;
        if (own && type && type->value && check_row(&rows[0], type->value, type->value, err) != 0)
            return -1;
        if (own)
            return error_set(err, ERROR_FORMAT, "option %s: unknown, so its effect on the model is unknown", found.pairs[i].key);
        made.ignored = import_say(arena, "%s%s%s", made.ignored, *made.ignored ? ", " : "", found.pairs[i].key);
        if (!made.ignored)
            return error_memory(err);
    }
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (strcmp(inputs->items[i], "sequence") != 0)
            return error_set(err, ERROR_FORMAT, "option %s: %s is not supported: alignd reads sentences", INPUT_TYPES,
                             mapping_shown(arena, inputs));
    if (type && check_row(&rows[0], type->value, mapping_shown(arena, type), err) != 0) /* before what its type must have */
        return -1;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].types & types && !rows[i].fallback && !mapping_find(&found, rows[i].name))
            return error_set(err, ERROR_FORMAT, "option %s: missing", rows[i].name);
    for (size_t i = 0; i < ROWS; i++) {
        if (!(rows[i].types & types))
            continue;
        const struct mapping_pair *pair = mapping_find(&found, rows[i].name);
        const char *value = !pair ? rows[i].fallback : pair->value ? pair->value : pair->count == 0 ? "" : NULL;
        if (check_row(&rows[i], value, pair ? mapping_shown(arena, pair) : value, err) != 0)
            return -1;
        made.rows[made.count].name = rows[i].name;
        made.rows[made.count++].value = value;
    }
    if ((made.transformer ? check_transformer(&made, &found, arena, err) : check_recurrent(&made, err)) != 0)
        return -1;
    *out = made;
    return 0;
}

/* ---- decoder.yml ---- */

enum { MOST_BEAM = 32, MOST_TOKENS = 1000 };
static const double MOST_PENALTY = 2, LEAST_RATIO = 0.1, MOST_RATIO = 20, USUAL_RATIO = 3; /* the last one is Marian's own */

/* The value of an option of the decoder; NULL: it is missing or a list. */
static const char *decoder_option(const struct mapping *options, const char *name) {
    const struct mapping_pair *pair = mapping_find(options, name);
    return pair ? pair->value : NULL;
}

/* An option without a value is 1. */
static int decoder_number(const struct mapping *options, const char *name, double fallback, double *number, struct error *err) {
    const char *text = decoder_option(options, name);
    char *end = NULL;
    *number = !text ? fallback : *text ? strtod(text, &end) : 1;
    bool whole = !text || !*text || (end != text && end[strspn(end, " ")] == '\0');
    if (!whole || !isfinite(*number) || (*number < 0 && strcmp(name, "word-penalty") != 0))
        return error_set(err, ERROR_FORMAT, "decoder option %s: %s is not a number in its range", name, text);
    return 0;
}

static double within(const char *name, double value, double least, double most, struct arena *arena, const char **said) {
    double taken = value < least ? least : value > most ? most : value;
    if (taken != value)
        *said = import_say(arena, "%sdecoder option %s: %g is out of alignd's range, %g to %g; %g is used instead\n", *said, name,
                           value, least, most, taken);
    return taken;
}

static bool decoder_on(const struct mapping *options, const char *name) {
    const char *text = decoder_option(options, name);
    return text && strcmp(text, "true") == 0;
}

/* int8, int8shift, int8shiftAlphaAll and the like of Bergamot's fork are all int8 here. NULL: the option is not there. */
static const char *decoder_compute(const struct mapping *options, struct arena *arena, const char **said) {
    const char *precision = decoder_option(options, "gemm-precision");
    if (!precision || strcmp(precision, "float32") == 0)
        return precision;
    if (source_begins(precision, "int8"))
        return "int8";
    *said = import_say(arena, "%sdecoder option gemm-precision: %s is not supported: products are of float32\n", *said, precision);
    return "float32";
}

int marian_decoder_read(const struct mapping *options, struct arena *arena, struct marian_defaults *out, struct error *err) {
    double beam = 1, penalty, words, ratio, tokens;
    const char *said = "";
    size_t known = 0;
    for (size_t i = 0; i < options->count; i++)
        known += options->pairs[i].value != NULL;
    if (decoder_number(options, "beam-size", 1, &beam, err) != 0 || decoder_number(options, "normalize", 0, &penalty, err) != 0 ||
        decoder_number(options, "word-penalty", 0, &words, err) != 0 ||
        decoder_number(options, "max-length-factor", USUAL_RATIO, &ratio, err) != 0 ||
        decoder_number(options, "max-length-break", 0, &tokens, err) != 0)
        return -1;
    json_t *section = json_object();
    int failed = section ? 0 : -1;
    if (decoder_option(options, "beam-size")) {
        beam = floor(within("beam-size", beam, 1, MOST_BEAM, arena, &said));
        failed |= json_object_set_new(section, "beam_size", json_integer((json_int_t)beam));
    }
    if (known > 0)
        failed |=
            json_object_set_new(section, "length_penalty", json_real(within("normalize", penalty, 0, MOST_PENALTY, arena, &said)));
    if (words != 0 && said)
        said = import_say(arena, "%sdecoder option word-penalty: %g is not supported: searches go without\n", said, words);
    if (decoder_on(options, "skip-cost") && beam > 1 && said)
        said = import_say(arena, "%sdecoder option skip-cost: alignd's beam sums log-probabilities instead of raw scores\n", said);
    if (decoder_on(options, "allow-special") && said)
        said = import_say(arena, "%sdecoder option allow-special: alignd has no special pieces to allow\n", said);
    ratio = within("max-length-factor", ratio, LEAST_RATIO, MOST_RATIO, arena, &said);
    if (decoder_option(options, "max-length-break"))
        tokens = floor(within("max-length-break", tokens, 1, MOST_TOKENS, arena, &said));
    const char *compute = decoder_compute(options, arena, &said);
    if (failed || !said || arena_failed(arena)) {
        json_decref(section);
        return error_memory(err);
    }
    *out = (struct marian_defaults){.section = section,
                                    .compute = compute,
                                    .lists = mapping_find(options, "shortlist") != NULL,
                                    .source_tokens = (size_t)tokens,
                                    .ratio = ratio,
                                    .unknowns = decoder_on(options, "allow-unk"),
                                    .said = said};
    return 0;
}
