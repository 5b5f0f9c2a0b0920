#include "model/config.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The file as it is read, before names of choices become values. */
struct raw_config {
    size_t format;
    char initial_state[CONFIG_NAME_BYTES], first_input[CONFIG_NAME_BYTES];
    char scale[CONFIG_NAME_BYTES], keys[CONFIG_NAME_BYTES], values[CONFIG_NAME_BYTES]; /* of the attention */
    char initial_cell[CONFIG_NAME_BYTES];
    struct model_config config;
};

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
    .initial_cell = "zero",
    .config =
        {
            .task = "translation",
            .tokenizer = {.type = "sentencepiece", .source = "source.spm", .target = "target.spm"},
            .encoder =
                {.type = "recurrent", .layers = 1, .bidirectional = true, .eos = true, .normalization = "none", .stack = "joined"},
            .attention = {.window = "global", .normalization = "none"},
            .decoder = {.layers = 1, .readout = "attentional", .normalization = "none"},
            .output = {.type = "vocabulary", .unknowns = true, .gate = "inputs"},
            .limits = {.max_source_tokens = 100, .max_target_ratio = 3.0},
        },
};

#define AT(member) offsetof(struct raw_config, member)
#define CELLS      "gru, lstm, rnn"
#define NORMS      "none, layer, gates"

static const struct key top[] = {
    {"format", read_integer, REQUIRED, AT(format), NULL, 1, 1},
    {"name", read_string, REQUIRED, AT(config.name), NULL, 0, 0},
    {"source", read_string, REQUIRED, AT(config.source), NULL, 0, 0},
    {"target", read_string, REQUIRED, AT(config.target), NULL, 0, 0},
    {"task", read_string, OPTIONAL, AT(config.task), "translation", 0, 0},
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
};

static const struct key tokenizer[] = {
    {"tokenizer.type", read_string, OPTIONAL, AT(config.tokenizer.type), "sentencepiece, words, characters", 0, 0},
    {"tokenizer.source", read_file_name, OPTIONAL, AT(config.tokenizer.source), NULL, 0, 0},
    {"tokenizer.target", read_file_name, OPTIONAL, AT(config.tokenizer.target), NULL, 0, 0},
    {"tokenizer.lowercase", read_boolean, OPTIONAL, AT(config.tokenizer.lowercase), NULL, 0, 0},
    {"tokenizer.punctuation", read_boolean, OPTIONAL, AT(config.tokenizer.punctuation), NULL, 0, 0},
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

static enum initial_state find_initial_state(const char *name) {
    if (strcmp(name, "zero") == 0)
        return INITIAL_ZERO;
    return strcmp(name, "last") == 0 ? INITIAL_LAST : INITIAL_MEAN;
}

/* What no single key can tell: combinations that cannot be built, here and in the functions below. */
static int check_layers(const struct model_config *config, struct error *err) {
    if (strcmp(config->encoder.type, "convolutional") == 0 && config->encoder.width % 2 == 0)
        return error_set(err, ERROR_FORMAT, "encoder.width: must be odd");
    if (config->encoder.residual && config->encoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "encoder.residual: needs two layers or more");
    if (config->decoder.residual && config->decoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "decoder.residual: needs two layers or more");
    if (config->decoder.upper_transitions > 0 && config->decoder.layers == 1)
        return error_set(err, ERROR_FORMAT, "decoder.upper_transitions: needs two layers or more");
    return 0;
}

static bool stacks_forward(const struct model_config *config) {
    return strcmp(config->encoder.stack, "forward") == 0;
}

static int check_cells(const struct model_config *config, struct error *err) {
    const struct encoder_config *enc = &config->encoder;
    bool joined = strcmp(enc->stack, "joined") == 0;
    if (strcmp(enc->normalization, "gates") == 0 && strcmp(enc->cell, "gru") != 0)
        return error_set(err, ERROR_FORMAT, "encoder.normalization: gates needs the gru cell");
    if (strcmp(config->decoder.normalization, "gates") == 0 && strcmp(config->decoder.cell, "gru") != 0)
        return error_set(err, ERROR_FORMAT, "decoder.normalization: gates needs the gru cell");
    if (!joined && !(enc->bidirectional && enc->layers > 1))
        return error_set(err, ERROR_FORMAT, "encoder.stack: all but joined need a bidirectional encoder of two layers or more");
    if (enc->embedding_shared && enc->embedding != config->decoder.embedding)
        return error_set(err, ERROR_FORMAT, "encoder.embedding_shared: needs encoder.embedding and decoder.embedding of one size");
    return 0;
}

static int check_style(const struct model_config *config, struct error *err) {
    bool fixed = strcmp(config->decoder.style, "fixed") == 0, last = config->decoder.initial_state == INITIAL_LAST;
    if (fixed && config_attends(config))
        return error_set(err, ERROR_FORMAT, "attention: must be null with decoder.style fixed");
    if (!fixed && !config_attends(config))
        return error_set(err, ERROR_FORMAT, "attention: may be null with decoder.style fixed only");
    if (fixed && !last)
        return error_set(err, ERROR_FORMAT, "decoder.initial_state: style fixed needs last");
    if (strcmp(config->encoder.type, "convolutional") == 0 && last)
        return error_set(err, ERROR_FORMAT, "decoder.initial_state: last needs a recurrent encoder");
    return 0;
}

static int check_attention(const struct model_config *config, struct error *err) {
    const struct attention_config *a = &config->attention;
    size_t annotation = config_annotation_size(config), hidden = config->decoder.hidden;
    bool scaled = strcmp(a->score, "scaled_dot") == 0, dot = scaled || strcmp(a->score, "dot") == 0;
    bool additive = strcmp(a->score, "additive") == 0, global = strcmp(a->window, "global") == 0;
    if (dot && !a->learned_keys && annotation != hidden)
        return error_set(err, ERROR_FORMAT, "attention.score: %s needs annotations (%zu) as large as decoder.hidden (%zu)",
                         a->score, annotation, hidden);
    const struct {
        bool broken;
        const char *message;
    } rules[] = {
        {additive != (a->size > 0), "attention.size: belongs to the additive score, and only there"},
        {a->learned_scale && !scaled, "attention.scale: belongs to the scaled_dot score"},
        {a->learned_keys && !dot,
         "attention.keys: learned keys belong to the dot and scaled_dot scores; the others have matrices of their own"},
        {a->value_size > 0 && !a->learned_values, "attention.value_size: belongs to learned values"},
        {global != (a->half_width == 0), "attention.half_width: belongs to the windows local_m and local_p, and only there"},
        {a->source_depth > 0 && !global, "attention.source_depth: belongs to the window global"},
        {a->coverage && !additive, "attention.coverage: needs the additive score"},
        {strcmp(a->normalization, "none") != 0 && !additive, "attention.normalization: belongs to the additive score"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].broken)
            return error_set(err, ERROR_FORMAT, "%s", rules[i].message);
    return 0;
}

static int check_readout(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    bool fed = strcmp(dec->readout, "attentional") == 0 || strcmp(dec->readout, "linear") == 0;
    bool concat = strcmp(dec->readout, "concat") == 0;
    if (dec->input_feeding && !(fed && strcmp(dec->style, "luong") == 0))
        return error_set(err, ERROR_FORMAT, "decoder.input_feeding: needs style luong and readout attentional or linear");
    if (concat != (dec->readout_size == 0))
        return error_set(err, ERROR_FORMAT, "decoder.readout_size: every readout but concat needs one");
    if (config->output.tied && config_readout_size(config) != dec->embedding)
        return error_set(err, ERROR_FORMAT, "output.tied: the readout must be as large as decoder.embedding");
    return 0;
}

static int check_initial_state(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    bool alike = dec->layers == config->encoder.layers && strcmp(dec->cell, config->encoder.cell) == 0;
    const char *reason = NULL;
    if (dec->initial_projection)
        reason = dec->initial_state == INITIAL_ZERO ? "a zero state has nothing to project" : NULL;
    else if (dec->initial_state == INITIAL_LAST && stacks_forward(config))
        reason = "without one, all layers of the encoder must be of one size, which encoder.stack forward's are not";
    else if (dec->initial_state != INITIAL_ZERO && config_annotation_size(config) != dec->hidden)
        reason = "without one, annotations must be as large as decoder.hidden";
    else if (dec->initial_state == INITIAL_LAST && !alike)
        reason = "without one, encoder and decoder need the same cell and number of layers";
    if (reason != NULL)
        return error_set(err, ERROR_FORMAT, "decoder.initial_projection: %s", reason);
    if (dec->initial_cell && strcmp(dec->cell, "lstm") != 0)
        return error_set(err, ERROR_FORMAT, "decoder.initial_cell: state belongs to the cell lstm");
    if (dec->initial_cell && !dec->initial_projection)
        return error_set(err, ERROR_FORMAT, "decoder.initial_cell: state needs decoder.initial_projection");
    return 0;
}

static int check_characters(const struct model_config *config, struct error *err) {
    bool spells = strcmp(config->output.type, "characters") == 0;
    if (spells && strcmp(config->tokenizer.type, "words") != 0)
        return error_set(err, ERROR_FORMAT, "output.type: characters spell words, so tokenizer.type must be words");
    if (spells != (config->output.character_embedding > 0))
        return error_set(err, ERROR_FORMAT, "output.character_embedding: belongs to the type characters, and only there");
    if (spells && !config->output.unknowns)
        return error_set(err, ERROR_FORMAT, "output.unknowns: the type characters spells the words that come out as <unk>");
    return 0;
}

static int check_tokenizer(const struct model_config *config, struct error *err) {
    if (config->tokenizer.lowercase && strcmp(config->tokenizer.type, "sentencepiece") == 0)
        return error_set(err, ERROR_FORMAT, "tokenizer.lowercase: a SentencePiece vocabulary has its own normalisation");
    if (config->tokenizer.punctuation && strcmp(config->tokenizer.type, "words") != 0)
        return error_set(err, ERROR_FORMAT, "tokenizer.punctuation: belongs to words, and only there");
    return 0;
}

bool config_copies(const struct model_config *config) {
    static const char *const types[] = {"pointer", "pointer_generator", "copy"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(config->output.type, types[i]) == 0)
            return true;
    return false;
}

static int check_copying(const struct model_config *config, struct error *err) {
    const struct decoder_config *dec = &config->decoder;
    if (config_copies(config) && strcmp(dec->style, "fixed") == 0)
        return error_set(err, ERROR_FORMAT, "output.type: copying needs a decoder with attention");
    if (strcmp(config->output.gate, "readout") == 0 && strcmp(config->output.type, "pointer_generator") != 0)
        return error_set(err, ERROR_FORMAT, "output.gate: belongs to the type pointer_generator");
    if (strcmp(config->output.type, "pointer") != 0)
        return 0;
    if (!config->encoder.eos)
        return error_set(err, ERROR_FORMAT, "encoder.eos: a pointer ends by pointing at the source's </s>");
    if (config->output.tied)
        return error_set(err, ERROR_FORMAT, "output.tied: a pointer has no output matrix");
    if (!dec->input_feeding && strcmp(dec->readout, "concat") != 0)
        return error_set(err, ERROR_FORMAT,
                         "decoder.readout: must be concat, since a pointer reads none, unless decoder.input_feeding does");
    return 0;
}

/* The JSON of the file; NULL with err set. */
static json_t *load_json(const char *path, struct error *err) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        error_set(err, ERROR_FILE, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    json_error_t problem;
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL && ferror(file))
        error_set(err, ERROR_FILE, "cannot read %s", path);
    else if (root == NULL && json_error_code(&problem) == json_error_out_of_memory)
        error_memory(err);
    else if (root == NULL)
        error_set(err, ERROR_FORMAT, "line %d, column %d: %s", problem.line, problem.column, problem.text);
    fclose(file);
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
    raw.config.decoder.initial_state = find_initial_state(raw.initial_state);
    raw.config.decoder.first_zero = strcmp(raw.first_input, "zero") == 0;
    raw.config.decoder.initial_cell = strcmp(raw.initial_cell, "state") == 0;
    raw.config.attention.learned_scale = strcmp(raw.scale, "learned") == 0;
    raw.config.attention.learned_keys = strcmp(raw.keys, "learned") == 0;
    raw.config.attention.learned_values = strcmp(raw.values, "learned") == 0;
    raw.config.encoder.bidirectional &= strcmp(raw.config.encoder.type, "recurrent") == 0; /* true by default, but only there */
    if (check_layers(&raw.config, err) != 0 || check_cells(&raw.config, err) != 0 || check_style(&raw.config, err) != 0 ||
        check_attention(&raw.config, err) != 0 || check_readout(&raw.config, err) != 0 ||
        check_initial_state(&raw.config, err) != 0 || check_tokenizer(&raw.config, err) != 0 ||
        check_characters(&raw.config, err) != 0 || check_copying(&raw.config, err) != 0)
        return -1;
    *config = raw.config;
    return 0;
}

bool config_attends(const struct model_config *config) {
    return config->attention.score[0] != '\0';
}

size_t config_annotation_size(const struct model_config *config) {
    return config->encoder.hidden * (config->encoder.bidirectional && !stacks_forward(config) ? 2 : 1);
}

size_t config_context_size(const struct model_config *config) {
    return config->attention.value_size > 0 ? config->attention.value_size : config_annotation_size(config);
}

size_t config_positions(const struct model_config *config) {
    return config->limits.max_source_tokens + 1;
}

size_t config_readout_size(const struct model_config *config) {
    bool concat = strcmp(config->decoder.readout, "concat") == 0;
    return concat ? config_context_size(config) + config->decoder.hidden : config->decoder.readout_size;
}
