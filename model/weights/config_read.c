#include "model/base/file.h"
#include "model/weights/config_rules.h"
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* A key's default is written into its field as its text is, a value of the file by read. */
struct kind {
    void (*set)(void *field, const char *text);
    int (*read)(const struct config_key *key, const json_t *value, void *field, struct error *err);
};

static const char *const sections[] = {"",       "encoder",   "attention", "decoder", "alignment",
                                       "output", "tokenizer", "limits",    "search"}; /* "": the top */
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

/* field: char [CONFIG_NAME_BYTES] */
static int read_string(const struct config_key *key, const json_t *value, void *field, struct error *err) {
    const char *string = json_string_value(value);
    if (string == NULL)
        return error_set(err, ERROR_FORMAT, "%s: must be of type string", key->path);
    if (*key->allowed != '\0' && !config_listed(key->allowed, string))
        return error_set(err, ERROR_FORMAT, "%s: must be one of %s, got %s", key->path, key->allowed, string);
    if (strlen(string) >= CONFIG_NAME_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: must be shorter than %d bytes", key->path, CONFIG_NAME_BYTES);
    memcpy(field, string, strlen(string) + 1);
    return 0;
}

/* field: char [CONFIG_NAME_BYTES]. A model folder is whole in itself: its files cannot lie elsewhere. */
static int read_file_name(const struct config_key *key, const json_t *value, void *field, struct error *err) {
    if (read_string(key, value, field, err) != 0)
        return -1;
    const char *name = field;
    if (*name == '\0' || strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, ERROR_FORMAT, "%s: must be the name of a file in the model folder, got %s", key->path, name);
    return 0;
}

/* field: bool */
static int read_boolean(const struct config_key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_boolean(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type boolean", key->path);
    *(bool *)field = json_is_true(value);
    return 0;
}

/* %.15g shows the integers in full, and decimal fractions without the digits of their binary form. */
static int check_range(const struct config_key *key, double value, struct error *err) {
    char *end;
    double least = strtod(key->allowed, &end), most = strtod(end + strlen(" to "), NULL);
    if (value >= least && value <= most)
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: must be between %.15g and %.15g, got %.15g", key->path, least, most, value);
}

/* field: size_t; no range begins below 0 */
static int read_integer(const struct config_key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_integer(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type integer", key->path);
    if (check_range(key, json_number_value(value), err) != 0)
        return -1;
    *(size_t *)field = (size_t)json_integer_value(value);
    return 0;
}

/* field: double */
static int read_number(const struct config_key *key, const json_t *value, void *field, struct error *err) {
    if (!json_is_number(value))
        return error_set(err, ERROR_FORMAT, "%s: must be of type number", key->path);
    *(double *)field = json_number_value(value);
    return check_range(key, json_number_value(value), err);
}

static void set_string(void *field, const char *text) {
    snprintf(field, CONFIG_NAME_BYTES, "%s", text);
}

static void set_boolean(void *field, const char *text) {
    *(bool *)field = strcmp(text, "true") == 0;
}

static void set_integer(void *field, const char *text) {
    *(size_t *)field = strtoul(text, NULL, 10);
}

static void set_number(void *field, const char *text) {
    *(double *)field = strtod(text, NULL);
}

static const struct kind kinds[] = {
    [CONFIG_string] = {set_string, read_string},    [CONFIG_file] = {set_string, read_file_name},
    [CONFIG_boolean] = {set_boolean, read_boolean}, [CONFIG_integer] = {set_integer, read_integer},
    [CONFIG_number] = {set_number, read_number},
};

static void set_defaults(struct raw_config *raw) {
    *raw = (struct raw_config){0};
    for (const struct config_key *key = config_keys; key->path; key++)
        kinds[key->kind].set((char *)raw + key->offset, key->fallback);
}

/* The key's name, if it is in this section; otherwise NULL. */
static const char *name_in(const char *section, const struct config_key *key) {
    size_t length = strlen(section);
    if (length == 0)
        return strchr(key->path, '.') ? NULL : key->path;
    return strncmp(key->path, section, length) == 0 && key->path[length] == '.' ? key->path + length + 1 : NULL;
}

/* The other sections are known at the top as well. */
static bool known(const char *section, const char *name) {
    for (const struct config_key *key = config_keys; key->path; key++) {
        const char *own = name_in(section, key);
        if (own && strcmp(own, name) == 0)
            return true;
    }
    for (size_t i = 1; *section == '\0' && i < SECTION_COUNT; i++) {
        if (strcmp(sections[i], name) == 0)
            return true;
    }
    return false;
}

/* value NULL: the file has none. */
static int read_key(const struct config_key *key, const json_t *value, struct raw_config *raw, struct error *err) {
    bool belongs = config_has(key, raw);
    if (value != NULL && !belongs)
        return error_set(err, ERROR_FORMAT, "%s: allowed only for %s %s", key->path, config_chooser(key), key->only);
    if (value == NULL && *key->fallback == '\0' && belongs)
        return error_set(err, ERROR_FORMAT, "%s: missing", key->path);
    return value != NULL ? kinds[key->kind].read(key, value, (char *)raw + key->offset, err) : 0;
}

/* object NULL: the section is not there, so all of its keys are missing. */
static int read_section(const char *section, json_t *object, struct raw_config *raw, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (!known(section, name))
            return error_set(err, ERROR_FORMAT, "%s%s%s: unknown key", section, *section == '\0' ? "" : ".", name);
    }
    for (const struct config_key *key = config_keys; key->path; key++) {
        name = name_in(section, key);
        if (name && read_key(key, json_object_get(object, name), raw, err) != 0)
            return -1;
    }
    return 0;
}

static int read_sections(json_t *root, struct raw_config *raw, struct error *err) {
    if (!json_is_object(root))
        return error_set(err, ERROR_FORMAT, "config: must be an object");
    if (read_section("", root, raw, err) != 0)
        return -1;
    for (size_t i = 1; i < SECTION_COUNT; i++) {
        json_t *object = json_object_get(root, sections[i]);
        if (json_is_null(object) && strcmp(sections[i], "attention") == 0)
            continue; /* no attention */
        if (object != NULL && !json_is_object(object))
            return error_set(err, ERROR_FORMAT, "%s: must be an object", sections[i]);
        if (read_section(sections[i], object, raw, err) != 0)
            return -1;
    }
    return 0;
}

/* "none", "source" or "both". */
static void set_sides(const struct raw_config *raw, struct model_config *config) {
    if (!config_has_file(config->tokenizer.target.pieces))
        memcpy(config->tokenizer.target.pieces, config->tokenizer.source.pieces, CONFIG_NAME_BYTES);
    config->tokenizer.source.prepared = config->tokenizer.target.prepared = strcmp(raw->preparation, "none") != 0;
    config->tokenizer.source.lowers = config->tokenizer.target.lowers = strcmp(raw->capitals, "lowered") == 0;
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
    struct raw_config raw;
    set_defaults(&raw);
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
    if (config_check(&raw, err) != 0)
        return -1;
    assert(raw.config.encoder.layers <= CONFIG_MAX_LAYERS &&
           raw.config.decoder.layers <= CONFIG_MAX_LAYERS); /* as config.def says */
    *config = raw.config;
    return 0;
}
