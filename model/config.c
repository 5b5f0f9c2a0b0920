#include "model/config.h"
#include "model/file.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The file as it is read, before names of choices become values. */
struct raw_config {
    size_t format;
    char initial_state[CONFIG_NAME_BYTES], first_input[CONFIG_NAME_BYTES];
    char scale[CONFIG_NAME_BYTES], keys[CONFIG_NAME_BYTES], values[CONFIG_NAME_BYTES]; /* of the attention */
    char lowercase[CONFIG_NAME_BYTES], punctuation[CONFIG_NAME_BYTES];                 /* on which sides */
    char initial_cell[CONFIG_NAME_BYTES];
    struct model_config config;
};

enum { MAX_FILE_BYTES = 1 << 20 };

enum presence { OPTIONAL, REQUIRED };

/* One key. Its path is what messages begin with; names or least and most are what it may hold (names NULL: any string). */
struct key {
    const char *path;
    int (*read)(const struct key *key, const json_t *value, void *field, struct error *err);
    enum presence presence;
    size_t offset; /* of the field in struct raw_config */
    const char *names;
    double least, most;
};

struct section {
    const char *name; /* "" for the keys at the top */
    const struct key *keys;
    size_t count;
};

/* True if the list "one, two, three" has this name. */
static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (;;) {
        size_t entry = strcspn(list, ",");
        if (entry == length && memcmp(list, name, length) == 0)
            return true;
        if (list[entry] == '\0')
            return false;
        list += entry + strlen(", ");
    }
}

/* field: char [CONFIG_NAME_BYTES] */
static int read_string(const struct key *key, const json_t *value, void *field, struct error *err) {
    const char *string = json_string_value(value);
    if (string == NULL)
        return error_set(err, ERROR_FORMAT, "%s: must be of type string", key->path);
    if (key->names != NULL && !listed(key->names, string))
        return error_set(err, ERROR_FORMAT, "%s: must be one of %s, got %s", key->path, key->names, string);
    if (strlen(string) >= CONFIG_NAME_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: must be shorter than %d bytes", key->path, CONFIG_NAME_BYTES);
    memcpy(field, string, strlen(string) + 1);
    return 0;
}

/* field: char [CONFIG_NAME_BYTES]. A model folder is whole in itself: its files cannot lie elsewhere. */
static int read_file_name(const struct key *key, const json_t *value, void *field, struct error *err) {
    if (read_string(key, value, field, err) != 0)
        return -1;
    const char *name = field;
    if (*name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, ERROR_FORMAT, "%s: must be the name of a file in the model folder, got %s", key->path, name);
    return 0;
}

/* field: bool */
static int read_boolean(const struct key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_boolean(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type boolean", key->path);
    *(bool *)field = json_is_true(value);
    return 0;
}

/* %.15g shows the integers in full, and decimal fractions without the digits of their binary form. */
static int check_range(const struct key *key, double value, struct error *err) {
    if (value >= key->least && value <= key->most)
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: must be between %.15g and %.15g, got %.15g", key->path, key->least, key->most, value);
}

/* field: size_t; no range begins below 0 */
static int read_integer(const struct key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_integer(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type integer", key->path);
    if (check_range(key, json_number_value(value), err) != 0)
        return -1;
    *(size_t *)field = (size_t)json_integer_value(value);
    return 0;
}

/* field: double */
static int read_number(const struct key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_number(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type number", key->path);
    *(double *)field = json_number_value(value);
    return check_range(key, json_number_value(value), err);
}

static const struct raw_config DEFAULTS = {
    .initial_state = "last",
    .first_input = "bos",
    .scale = "fixed",
    .keys = "identity",
    .values = "identity",
    .lowercase = "none",
    .punctuation = "none",
    .initial_cell = "zero",
    .config =
        {
            .task = "translation",
            .tokenizer = {.type = "sentencepiece", .source.file = "source.spm", .target.file = "target.spm"},
            .encoder =
                {.type = "recurrent", .layers = 1, .bidirectional = true, .eos = true, .normalization = "none", .stack = "joined"},
            .attention = {.window = "global", .normalization = "none"},
            .decoder = {.layers = 1, .readout = "attentional", .normalization = "none"},
            .output = {.type = "vocabulary", .unknowns = true, .gate = "inputs", .pointer = "attention"},
            .limits = {.max_source_tokens = 100, .max_target_ratio = 3.0},
        },
};

#define AT(member) offsetof(struct raw_config, member)
#define CELLS      "gru, lstm, rnn"
#define SIDES      "none, source, both"
#define NORMS      "none, layer, gates"

static const struct key top[] = {
    {"format", read_integer, REQUIRED, AT(format), NULL, 1, 1},
    {"name", read_string, REQUIRED, AT(config.name), NULL, 0, 0},
    {"source", read_string, REQUIRED, AT(config.source), NULL, 0, 0},
    {"target", read_string, REQUIRED, AT(config.target), NULL, 0, 0},
    {"task", read_string, OPTIONAL, AT(config.task), "translation, parsing", 0, 0},
};

static const struct key encoder[] = {
    {"encoder.type", read_string, OPTIONAL, AT(config.encoder.type), "recurrent, convolutional", 0, 0},
    {"encoder.cell", read_string, REQUIRED, AT(config.encoder.cell), CELLS, 0, 0},
    {"encoder.layers", read_integer, OPTIONAL, AT(config.encoder.layers), NULL, 1, CONFIG_MAX_LAYERS},
    {"encoder.bidirectional", read_boolean, OPTIONAL, AT(config.encoder.bidirectional), NULL, 0, 0},
    {"encoder.embedding", read_integer, REQUIRED, AT(config.encoder.embedding), NULL, 1, 65536},
    {"encoder.hidden", read_integer, REQUIRED, AT(config.encoder.hidden), NULL, 1, 65536},
    {"encoder.eos", read_boolean, OPTIONAL, AT(config.encoder.eos), NULL, 0, 0},
    {"encoder.residual", read_boolean, OPTIONAL, AT(config.encoder.residual), NULL, 0, 0},
    {"encoder.width", read_integer, REQUIRED, AT(config.encoder.width), NULL, 1, 31},
    {"encoder.normalization", read_string, OPTIONAL, AT(config.encoder.normalization), NORMS, 0, 0},
    {"encoder.transitions", read_integer, OPTIONAL, AT(config.encoder.transitions), NULL, 0, 16},
    {"encoder.stack", read_string, OPTIONAL, AT(config.encoder.stack), "joined, separate, alternating, forward", 0, 0},
    {"encoder.embedding_shared", read_boolean, OPTIONAL, AT(config.encoder.embedding_shared), NULL, 0, 0},
};

static const struct key attention[] = {
    {"attention.score", read_string, REQUIRED, AT(config.attention.score), "dot, general, additive, scaled_dot, location", 0, 0},
    {"attention.size", read_integer, OPTIONAL, AT(config.attention.size), NULL, 0, 65536},
    {"attention.scale", read_string, OPTIONAL, AT(scale), "fixed, learned", 0, 0},
    {"attention.keys", read_string, OPTIONAL, AT(keys), "identity, learned", 0, 0},
    {"attention.values", read_string, OPTIONAL, AT(values), "identity, learned", 0, 0},
    {"attention.value_size", read_integer, OPTIONAL, AT(config.attention.value_size), NULL, 0, 65536},
    {"attention.window", read_string, OPTIONAL, AT(config.attention.window), "global, local_m, local_p", 0, 0},
    {"attention.half_width", read_integer, OPTIONAL, AT(config.attention.half_width), NULL, 0, 1000},
    {"attention.source_depth", read_integer, OPTIONAL, AT(config.attention.source_depth), NULL, 0, 1000},
    {"attention.coverage", read_boolean, OPTIONAL, AT(config.attention.coverage), NULL, 0, 0},
    {"attention.normalization", read_string, OPTIONAL, AT(config.attention.normalization), NORMS, 0, 0},
};

static const struct key decoder[] = {
    {"decoder.style", read_string, REQUIRED, AT(config.decoder.style), "luong, conditional, bahdanau, fixed", 0, 0},
    {"decoder.cell", read_string, REQUIRED, AT(config.decoder.cell), CELLS, 0, 0},
    {"decoder.layers", read_integer, OPTIONAL, AT(config.decoder.layers), NULL, 1, CONFIG_MAX_LAYERS},
    {"decoder.embedding", read_integer, REQUIRED, AT(config.decoder.embedding), NULL, 1, 65536},
    {"decoder.hidden", read_integer, REQUIRED, AT(config.decoder.hidden), NULL, 1, 65536},
    {"decoder.input_feeding", read_boolean, OPTIONAL, AT(config.decoder.input_feeding), NULL, 0, 0},
    {"decoder.initial_state", read_string, OPTIONAL, AT(initial_state), "zero, last, mean", 0, 0},
    {"decoder.initial_projection", read_boolean, OPTIONAL, AT(config.decoder.initial_projection), NULL, 0, 0},
    {"decoder.readout", read_string, OPTIONAL, AT(config.decoder.readout), "attentional, tanh, concat, maxout, linear", 0, 0},
    {"decoder.readout_size", read_integer, OPTIONAL, AT(config.decoder.readout_size), NULL, 0, 65536},
    {"decoder.first_input", read_string, OPTIONAL, AT(first_input), "bos, zero", 0, 0},
    {"decoder.residual", read_boolean, OPTIONAL, AT(config.decoder.residual), NULL, 0, 0},
    {"decoder.normalization", read_string, OPTIONAL, AT(config.decoder.normalization), NORMS, 0, 0},
    {"decoder.transitions", read_integer, OPTIONAL, AT(config.decoder.transitions), NULL, 0, 16},
    {"decoder.upper_transitions", read_integer, OPTIONAL, AT(config.decoder.upper_transitions), NULL, 0, 16},
    {"decoder.initial_cell", read_string, OPTIONAL, AT(initial_cell), "zero, state", 0, 0},
};

static const struct key output[] = {
    {"output.type", read_string, OPTIONAL, AT(config.output.type), "vocabulary, characters, pointer, pointer_generator, copy", 0,
     0},
    {"output.tied", read_boolean, OPTIONAL, AT(config.output.tied), NULL, 0, 0},
    {"output.character_embedding", read_integer, OPTIONAL, AT(config.output.character_embedding), NULL, 0, 65536},
    {"output.unknowns", read_boolean, OPTIONAL, AT(config.output.unknowns), NULL, 0, 0},
    {"output.gate", read_string, OPTIONAL, AT(config.output.gate), "inputs, readout", 0, 0},
    {"output.pointer", read_string, OPTIONAL, AT(config.output.pointer), "attention, readout", 0, 0},
};

static const struct key tokenizer[] = {
    {"tokenizer.type", read_string, OPTIONAL, AT(config.tokenizer.type), "sentencepiece, words, characters", 0, 0},
    {"tokenizer.source", read_file_name, OPTIONAL, AT(config.tokenizer.source.file), NULL, 0, 0},
    {"tokenizer.target", read_file_name, OPTIONAL, AT(config.tokenizer.target.file), NULL, 0, 0},
    {"tokenizer.lowercase", read_string, OPTIONAL, AT(lowercase), SIDES, 0, 0},
    {"tokenizer.punctuation", read_string, OPTIONAL, AT(punctuation), SIDES, 0, 0},
};

static const struct key limits[] = {
    {"limits.max_source_tokens", read_integer, OPTIONAL, AT(config.limits.max_source_tokens), NULL, 1, 1000},
    {"limits.max_target_ratio", read_number, OPTIONAL, AT(config.limits.max_target_ratio), NULL, 0.1, 20},
};

#define KEYS(keys) keys, sizeof(keys) / sizeof *(keys)

static const struct section sections[] = {
    {"", KEYS(top)},          {"encoder", KEYS(encoder)},     {"attention", KEYS(attention)}, {"decoder", KEYS(decoder)},
    {"output", KEYS(output)}, {"tokenizer", KEYS(tokenizer)}, {"limits", KEYS(limits)},
};

enum { SECTION_COUNT = sizeof sections / sizeof *sections };

/* Keys that only one type of encoder has. */
static const struct {
    const char *path, *type;
} typed[] = {
    {"encoder.cell", "recurrent"},      {"encoder.bidirectional", "recurrent"}, {"encoder.residual", "recurrent"},
    {"encoder.width", "convolutional"}, {"encoder.normalization", "recurrent"}, {"encoder.transitions", "recurrent"},
    {"encoder.stack", "recurrent"},
};

/* The one type that has this key, if the file's encoder is of another; otherwise NULL. encoder.type is read before. */
static const char *other_type(const struct key *key, const struct raw_config *raw) {
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        if (strcmp(typed[i].path, key->path) == 0 && strcmp(typed[i].type, raw->config.encoder.type) != 0)
            return typed[i].type;
    }
    return NULL;
}

/* The key's name within its section. */
static const char *key_name(const struct key *key) {
    const char *dot = strchr(key->path, '.');
    return dot != NULL ? dot + 1 : key->path;
}

/* The other sections are known at the top as well. */
static bool known(const struct section *section, const char *name) {
    for (size_t i = 0; i < section->count; i++) {
        if (strcmp(key_name(&section->keys[i]), name) == 0)
            return true;
    }
    for (size_t i = 1; section == sections && i < SECTION_COUNT; i++) {
        if (strcmp(sections[i].name, name) == 0)
            return true;
    }
    return false;
}

/* object NULL: the section is not there, so all of its keys are missing. */
static int read_section(const struct section *section, json_t *object, struct raw_config *raw, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (!known(section, name))
            return error_set(err, ERROR_FORMAT, "%s%s%s: unknown key", section->name, section == sections ? "" : ".", name);
    }
    for (size_t i = 0; i < section->count; i++) {
        const struct key *key = &section->keys[i];
        value = json_object_get(object, key_name(key));
        const char *type = other_type(key, raw);
        if (value != NULL && type != NULL)
            return error_set(err, ERROR_FORMAT, "%s: belongs to type %s, and only there", key->path, type);
        if (value == NULL && key->presence == REQUIRED && type == NULL)
            return error_set(err, ERROR_FORMAT, "%s: missing", key->path);
        if (value != NULL && key->read(key, value, (char *)raw + key->offset, err) != 0)
            return -1;
    }
    return 0;
}

static int read_sections(json_t *root, struct raw_config *raw, struct error *err) {
    if (!json_is_object(root))
        return error_set(err, ERROR_FORMAT, "config: must be an object");
    if (read_section(&sections[0], root, raw, err) != 0)
        return -1;
    for (size_t i = 1; i < SECTION_COUNT; i++) {
        json_t *object = json_object_get(root, sections[i].name);
        if (json_is_null(object) && sections[i].keys == attention)
            continue; /* no attention */
        if (object != NULL && !json_is_object(object))
            return error_set(err, ERROR_FORMAT, "%s: must be an object", sections[i].name);
        if (read_section(&sections[i], object, raw, err) != 0)
            return -1;
    }
    return 0;
}

/* "none", "source" or "both". */
static void set_sides(const struct raw_config *raw, struct model_config *config) {
    config->tokenizer.source.lowercase = strcmp(raw->lowercase, "none") != 0;
    config->tokenizer.target.lowercase = strcmp(raw->lowercase, "both") == 0;
    config->tokenizer.source.punctuation = strcmp(raw->punctuation, "none") != 0;
    config->tokenizer.target.punctuation = strcmp(raw->punctuation, "both") == 0;
}

static enum initial_state find_initial_state(const char *name) {
    if (strcmp(name, "zero") == 0)
        return INITIAL_ZERO;
    return strcmp(name, "last") == 0 ? INITIAL_LAST : INITIAL_MEAN;
}

/* The JSON of the file; NULL with err set. */
static json_t *load_json(const char *path, struct error *err) {
    char *text;
    size_t length;
    if (file_read(path, MAX_FILE_BYTES, &text, &length, err) != 0)
        return NULL;
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL && json_error_code(&problem) == json_error_out_of_memory)
        error_memory(err);
    else if (root == NULL)
        error_set(err, ERROR_FORMAT, "line %d, column %d: %s", problem.line, problem.column, problem.text);
    free(text);
    return root;
}

int config_read(const char *path, struct model_config *config, struct error *err) {
    json_t *root = load_json(path, err);
    if (root == NULL)
        return -1;
    struct raw_config raw = DEFAULTS;
    int result = read_sections(root, &raw, err);
    json_decref(root);
    if (result != 0)
        return -1;
    set_sides(&raw, &raw.config);
    raw.config.decoder.initial_state = find_initial_state(raw.initial_state);
    raw.config.decoder.first_zero = strcmp(raw.first_input, "zero") == 0;
    raw.config.decoder.initial_cell = strcmp(raw.initial_cell, "state") == 0;
    raw.config.attention.learned_scale = strcmp(raw.scale, "learned") == 0;
    raw.config.attention.learned_keys = strcmp(raw.keys, "learned") == 0;
    raw.config.attention.learned_values = strcmp(raw.values, "learned") == 0;
    raw.config.encoder.bidirectional &= strcmp(raw.config.encoder.type, "recurrent") == 0; /* true by default, but only there */
    if (config_check(&raw.config, err) != 0)
        return -1;
    *config = raw.config;
    return 0;
}
