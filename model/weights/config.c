/* This file hides how config.json is read and checked: weights/config.def lists the keys and the
 * rules between them, as data that weights/model/config.py reads, too. First come the sizes that
 * follow from several keys, then the keys, then the rules, then the languages of a model of many.
 */
#include "model/weights/config.h"
#include "model/base/file.h"
#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_FILE_BYTES = 1 << 20, MAX_RULE_BYTES = 512 };

/* ---- sizes ---- */

bool config_has_file(const char *value) {
    return strcmp(value, "none") != 0;
}

bool config_lists(const char *list, const char *name) {
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

bool config_copies(const struct model_config *config) {
    const char *type = config->output.type;
    return strcmp(type, "pointer") == 0 || strcmp(type, "pointer_generator") == 0 ||
           strcmp(type, "copy") == 0;
}

static bool is_transformer(const struct model_config *config) {
    return strcmp(config->decoder.style, "transformer") == 0;
}

bool config_attends(const struct model_config *config) {
    return config->attention.score[0] != '\0' || is_transformer(config);
}

size_t config_annotation_size(const struct model_config *config) {
    bool both = config->encoder.bidirectional && strcmp(config->encoder.stack, "forward") != 0;
    return config->encoder.hidden * (both ? 2 : 1);
}

size_t config_context_size(const struct model_config *config) {
    return config->attention.value_size > 0 ? config->attention.value_size
                                            : config_annotation_size(config);
}

size_t config_positions(const struct model_config *config) {
    return config->limits.max_source_tokens + 1;
}

size_t config_target_positions(const struct model_config *config) {
    double longest =
        floor(config->limits.max_target_ratio * (double)config_positions(config) + 0.5);
    return longest < 1 ? 1 : (size_t)longest;
}

size_t config_readout_size(const struct model_config *config) {
    if (is_transformer(config))
        return config->decoder.hidden;
    bool concat = strcmp(config->decoder.readout, "concat") == 0,
         state = strcmp(config->decoder.readout, "state") == 0;
    return concat  ? config_context_size(config) + config->decoder.hidden
           : state ? config->decoder.hidden
                   : config->decoder.readout_size;
}

/* ---- keys and rules ---- */

/* The file as it is read, before names of choices become values. */
struct raw_config {
    size_t format;
    char initial_state[CONFIG_NAME_BYTES], first_input[CONFIG_NAME_BYTES],
        finished[CONFIG_NAME_BYTES];
    char scale[CONFIG_NAME_BYTES], keys[CONFIG_NAME_BYTES],
        values[CONFIG_NAME_BYTES]; /* the attention's scale, keys and values */
    char capitals[CONFIG_NAME_BYTES], lowercase[CONFIG_NAME_BYTES],
        punctuation[CONFIG_NAME_BYTES]; /* on which sides */
    char initial_cell[CONFIG_NAME_BYTES], preparation[CONFIG_NAME_BYTES], query[CONFIG_NAME_BYTES];
    struct model_config config;
};

/* The kinds of values; their fields are char [CONFIG_NAME_BYTES] for the first two, then bool,
 * size_t and double. */
enum kind { KIND_string, KIND_file, KIND_boolean, KIND_integer, KIND_number };

/* The keys in the order of config.def. Messages begin with the path. */
static const struct key {
    const char *path;
    enum kind kind;
    size_t offset;        /* offset of the field in struct raw_config */
    const char *fallback; /* the default; "": the key is required */
    const char *allowed;  /* "one, two, three" or "least to most"; "": any string or boolean */
    const char *only; /* "one, two": the values of encoder.type, or of decoder.style, that have the
                         key; "": any */
} keys[] = {
#define RULE(message, when, unless)
#define KEY(path, field, kind, fallback, allowed, only)                                            \
    {#path, KIND_##kind, offsetof(struct raw_config, field), fallback, allowed, only},
#include "weights/config.def"
#undef KEY
#undef RULE
};

static const struct rule {
    const char *message, *when, *unless;
} rules[] = {
#define KEY(path, field, kind, fallback, allowed, only)
#define RULE(message, when, unless) {message, when, unless},
#include "weights/config.def"
#undef KEY
#undef RULE
};

enum { KEYS = sizeof keys / sizeof *keys, RULES = sizeof rules / sizeof *rules };

static const char *const sections[] = {
    "",       "encoder",   "attention", "decoder", "alignment",
    "output", "tokenizer", "limits",    "defaults"}; /* "": the top */
enum { SECTIONS = sizeof sections / sizeof *sections };

static bool is_of_decoder(const struct key *key) {
    return strncmp(key->path, "decoder.", strlen("decoder.")) == 0;
}

/* True if the encoder's type or the decoder's style, which are read first, has this key. */
static bool is_allowed(const struct key *key, const struct raw_config *raw) {
    return *key->only == '\0' ||
           config_lists(key->only,
                        is_of_decoder(key) ? raw->config.decoder.style : raw->config.encoder.type);
}

/* ---- reading keys ---- */

static int read_value(const struct key *key, const json_t *value, void *field, struct error *err) {
    const bool is_typed[] = {[KIND_string] = json_is_string(value),
                             [KIND_file] = json_is_string(value),
                             [KIND_boolean] = json_is_boolean(value),
                             [KIND_integer] = json_is_integer(value),
                             [KIND_number] = json_is_number(value)};
    static const char *const types[] = {"string", "string", "boolean", "integer", "number"};
    if (!is_typed[key->kind])
        return error_set(err, ERROR_FORMAT, "%s: must be of type %s", key->path, types[key->kind]);
    if (key->kind == KIND_string || key->kind == KIND_file) {
        const char *text = json_string_value(value);
        if (*key->allowed != '\0' && !config_lists(key->allowed, text))
            return error_set(err, ERROR_FORMAT, "%s: must be one of %s, got %s", key->path,
                             key->allowed, text);
        if (strlen(text) >= CONFIG_NAME_BYTES)
            return error_set(err, ERROR_FORMAT, "%s: must be shorter than %d bytes", key->path,
                             CONFIG_NAME_BYTES);
        /* A model folder is complete in itself, so its files cannot lie elsewhere. */
        bool in_folder = *text != '\0' && strchr(text, '/') == NULL && strcmp(text, ".") != 0 &&
                         strcmp(text, "..") != 0;
        if (key->kind == KIND_file && !in_folder)
            return error_set(err, ERROR_FORMAT,
                             "%s: must be the name of a file in the model folder, got %s",
                             key->path, text);
        memcpy(field, text, strlen(text) + 1);
        return 0;
    }
    if (key->kind == KIND_boolean) {
        *(bool *)field = json_is_true(value);
        return 0;
    }
    char *end;
    double number = json_number_value(value), least = strtod(key->allowed, &end),
           most = strtod(end + strlen(" to "), NULL);
    if (!(number >= least && number <= most)) /* %.15g shows integers in full, and decimal fractions
                                                 without rounding errors */
        return error_set(err, ERROR_FORMAT, "%s: must be between %.15g and %.15g, got %.15g",
                         key->path, least, most, number);
    if (key->kind == KIND_integer)
        *(size_t *)field = (size_t)json_integer_value(value); /* no range begins below 0 */
    else
        *(double *)field = number;
    return 0;
}

/* Returns the key's name if it is in this section; otherwise NULL. */
static const char *name_in(const char *section, const struct key *key) {
    size_t length = strlen(section);
    if (length == 0)
        return strchr(key->path, '.') ? NULL : key->path;
    return strncmp(key->path, section, length) == 0 && key->path[length] == '.'
               ? key->path + length + 1
               : NULL;
}

/* object NULL: the section is not there, so all of its keys are missing. At the top, the names of
 * the other sections are known, too, and that of the languages, which model_languages_read reads.
 */
static int read_section(const char *section, json_t *object, struct raw_config *raw,
                        struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        bool known = *section == '\0' && strcmp(name, "languages") == 0;
        for (size_t i = 0; !known && i < KEYS; i++) {
            const char *own = name_in(section, &keys[i]);
            known = own && strcmp(own, name) == 0;
        }
        for (size_t i = 1; !known && *section == '\0' && i < SECTIONS; i++)
            known = strcmp(sections[i], name) == 0;
        if (!known)
            return error_set(err, ERROR_FORMAT, "%s%s%s: unknown key", section,
                             *section == '\0' ? "" : ".", name);
    }
    for (const struct key *key = keys; key < keys + KEYS; key++) {
        name = name_in(section, key);
        if (!name)
            continue;
        value = json_object_get(object, name);
        bool allowed = is_allowed(key, raw);
        if (value && !allowed)
            return error_set(err, ERROR_FORMAT, "%s: allowed only for %s %s", key->path,
                             is_of_decoder(key) ? "style" : "type", key->only);
        if (!value && *key->fallback == '\0' && allowed)
            return error_set(err, ERROR_FORMAT, "%s: missing", key->path);
        if (value && read_value(key, value, (char *)raw + key->offset, err) != 0)
            return -1;
    }
    return 0;
}

/* Turns the names of choices into values. */
static void set_choices(struct raw_config *raw) {
    struct model_config *config = &raw->config;
    struct tokenizer_side *source = &config->tokenizer.source, *target = &config->tokenizer.target;
    if (!config_has_file(target->pieces))
        memcpy(target->pieces, source->pieces, CONFIG_NAME_BYTES);
    source->prepared = target->prepared = strcmp(raw->preparation, "none") != 0;
    source->lowers = target->lowers = strcmp(raw->capitals, "lowered") == 0;
    source->lowercase = strcmp(raw->lowercase, "none") != 0; /* "none", "source" or "both" */
    target->lowercase = strcmp(raw->lowercase, "both") == 0;
    source->punctuation = strcmp(raw->punctuation, "none") != 0;
    target->punctuation = strcmp(raw->punctuation, "both") == 0;

    config->encoder.bidirectional &=
        strcmp(config->encoder.type, "recurrent") == 0; /* true by default, but only there */
    config->attention.learned_scale = strcmp(raw->scale, "learned") == 0;
    config->attention.learned_keys = strcmp(raw->keys, "learned") == 0;
    config->attention.learned_values = strcmp(raw->values, "learned") == 0;
    config->decoder.initial_state = strcmp(raw->initial_state, "zero") == 0   ? INITIAL_ZERO
                                    : strcmp(raw->initial_state, "last") == 0 ? INITIAL_LAST
                                                                              : INITIAL_MEAN;
    config->decoder.first_input = strcmp(raw->first_input, "zero") == 0   ? FIRST_ZERO
                                  : strcmp(raw->first_input, "eos") == 0  ? FIRST_EOS
                                  : strcmp(raw->first_input, "id_0") == 0 ? FIRST_ID
                                                                          : FIRST_BOS;
    config->defaults.replaces = strcmp(raw->finished, "replaced") == 0;
    config->decoder.initial_cell = strcmp(raw->initial_cell, "state") == 0;
    config->decoder.query_top = strcmp(raw->query, "top") == 0;
}

/* ---- checking rules ---- */

/* Prints the value of a key, or of a size that follows from several keys; "" if it has no value. */
static void print(const struct raw_config *raw, const char *name, char text[CONFIG_NAME_BYTES]) {
    const struct key *key = keys;
    while (key < keys + KEYS && strcmp(name, key->path) != 0)
        key++;
    if (key == keys + KEYS) {
        bool annotation = strcmp(name, "annotation") == 0;
        assert(annotation || strcmp(name, "readout") == 0);
        snprintf(text, CONFIG_NAME_BYTES, "%zu",
                 annotation ? config_annotation_size(&raw->config)
                            : config_readout_size(&raw->config));
        return;
    }
    const void *field = (const char *)raw + key->offset;
    *text = '\0';
    if (!is_allowed(key, raw))
        return;
    if (key->kind == KIND_boolean)
        snprintf(text, CONFIG_NAME_BYTES, "%s", *(const bool *)field ? "true" : "false");
    else if (key->kind == KIND_integer)
        snprintf(text, CONFIG_NAME_BYTES, "%zu", *(const size_t *)field);
    else if (key->kind == KIND_number)
        snprintf(text, CONFIG_NAME_BYTES, "%.15g", *(const double *)field);
    else
        snprintf(text, CONFIG_NAME_BYTES, "%s", (const char *)field);
}

/* Compares a key's value with a value of a rule. */
static bool equals(const struct raw_config *raw, const char *text, const char *value) {
    char other[CONFIG_NAME_BYTES];
    const char *colon = strchr(value, ':');
    if (colon) { /* "below:KEY" and "multiple:KEY": two numbers, neither of which may be missing */
        print(raw, colon + 1, other);
        if (*text == '\0' || *other == '\0')
            return false;
        size_t number = strtoul(text, NULL, 10), bound = strtoul(other, NULL, 10);
        return *value == 'b' ? number < bound : bound > 0 && number % bound == 0;
    }
    if (strcmp(value, "even") == 0)
        return *text != '\0' && strtoul(text, NULL, 10) % 2 == 0;
    if (strcmp(value, "nothing") == 0)
        return *text == '\0';
    if (!strchr(value, '.'))
        return strcmp(text, value) == 0;
    print(raw, value, other);
    return strcmp(text, other) == 0;
}

/* True if all clauses hold: "KEY is [not] VALUE or VALUE and KEY is ...". */
static bool holds(const struct raw_config *raw, const char *condition) {
    char words[MAX_RULE_BYTES], text[CONFIG_NAME_BYTES];
    bool all = true;
    assert(strlen(condition) < sizeof words);
    snprintf(words, sizeof words, "%s", condition);
    for (char *rest = *words ? words : NULL, *word; rest;) {
        print(raw, strsep(&rest, " "), text);
        strsep(&rest, " "); /* is */
        word = strsep(&rest, " ");
        bool wanted = strcmp(word, "not") != 0;
        bool found = equals(raw, text, wanted ? word : strsep(&rest, " "));
        while ((word = strsep(&rest, " ")) && strcmp(word, "or") == 0)
            found |= equals(raw, text, strsep(&rest, " "));
        all &= found == wanted; /* the next word is "and", or there is no word left */
    }
    return all;
}

/* Sets the message, with values in place of {KEY}. */
static int refuse(const struct raw_config *raw, const char *message, struct error *err) {
    char filled[sizeof err->message], *out = filled, name[CONFIG_NAME_BYTES];
    while (*message != '\0' && out + CONFIG_NAME_BYTES < filled + sizeof filled) {
        int length = 0;
        sscanf(message, "{%63[^}]}%n", name, &length);
        if (length > 0) {
            print(raw, name, out);
        } else {
            out[0] = *message;
            out[1] = '\0';
        }
        out += strlen(out);
        message += length > 0 ? length : 1;
    }
    return error_set(err, ERROR_FORMAT, "%s", filled);
}

/* ---- the whole file ---- */

static json_t *load_json(const char *path, struct error *err) {
    char *text;
    size_t length;
    if (file_read(path, MAX_FILE_BYTES, &text, &length, err) != 0)
        return NULL;
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!root && json_error_code(&problem) == json_error_out_of_memory)
        error_memory(err);
    else if (!root)
        error_set(err, ERROR_FORMAT, "line %d, column %d: %s", problem.line, problem.column,
                  problem.text);
    free(text);
    return root;
}

int config_read(const char *path, struct model_config *config, struct error *err) {
    json_t *root = load_json(path, err);
    if (!root)
        return -1;
    struct raw_config raw = {0};
    for (const struct key *key = keys; key < keys + KEYS; key++) {
        void *field = (char *)&raw + key->offset;
        if (key->kind == KIND_boolean)
            *(bool *)field = strcmp(key->fallback, "true") == 0;
        else if (key->kind == KIND_integer)
            *(size_t *)field = strtoul(key->fallback, NULL, 10);
        else if (key->kind == KIND_number)
            *(double *)field = strtod(key->fallback, NULL);
        else
            snprintf(field, CONFIG_NAME_BYTES, "%s", key->fallback);
    }
    int result = json_is_object(root) ? read_section("", root, &raw, err)
                                      : error_set(err, ERROR_FORMAT, "config: must be an object");
    for (size_t i = 1; result == 0 && i < SECTIONS; i++) {
        json_t *object = json_object_get(root, sections[i]);
        if (json_is_null(object) && strcmp(sections[i], "attention") == 0)
            continue; /* no attention */
        if (object && !json_is_object(object))
            result = error_set(err, ERROR_FORMAT, "%s: must be an object", sections[i]);
        else
            result = read_section(sections[i], object, &raw, err);
    }
    json_decref(root);
    if (result != 0)
        return -1;
    set_choices(&raw);
    for (size_t i = 0; i < RULES; i++) {
        if (holds(&raw, rules[i].when) &&
            (*rules[i].unless == '\0' || !holds(&raw, rules[i].unless)))
            return refuse(&raw, rules[i].message, err);
    }
    assert(raw.config.encoder.layers <= CONFIG_MAX_LAYERS &&
           raw.config.decoder.layers <= CONFIG_MAX_LAYERS); /* see config.def */
    *config = raw.config;
    return 0;
}

/* ---- languages ---- */

enum { MOST_ALIASES = 16 };

static int take_string(const char *code, const char *key, const char *text,
                       char out[MODEL_LANGUAGE_BYTES], struct error *err) {
    if (!text || !*text || strlen(text) >= MODEL_LANGUAGE_BYTES)
        return error_set(err, ERROR_FORMAT, "languages.%.60s%s: must be a string of 1 to %d bytes",
                         code, key, MODEL_LANGUAGE_BYTES - 1);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static int take_languages(struct model_languages *languages, json_t *section, struct error *err) {
    const char *code, *key;
    json_t *value, *part;
    size_t count = json_object_size(section), aliases = 0;
    if (!json_is_object(section) || count < 2 || count > MODEL_LANGUAGES_MOST)
        return error_set(err, ERROR_FORMAT, "languages: must be an object of 2 to %d languages",
                         MODEL_LANGUAGES_MOST);
    json_object_foreach(section, code, value) {
        aliases += json_array_size(json_object_get(value, "aliases"));
    }
    languages->all = calloc(count, sizeof *languages->all);
    languages->codes = calloc(count, sizeof *languages->codes);
    languages->aliases = calloc(aliases + 1, sizeof *languages->aliases);
    if (!languages->all || !languages->codes || !languages->aliases)
        return error_memory(err);
    json_object_foreach(section, code, value) {
        struct model_language *language = &languages->all[languages->count];
        if (!json_is_object(value))
            return error_set(err, ERROR_FORMAT, "languages.%.60s: must be an object", code);
        json_object_foreach(value, key, part) {
            if (strcmp(key, "source") != 0 && strcmp(key, "target") != 0 &&
                strcmp(key, "aliases") != 0 && strcmp(key, "list") != 0)
                return error_set(err, ERROR_FORMAT, "languages.%.60s.%.60s: unknown key", code,
                                 key);
        }
        const json_t *list = json_object_get(value, "list"),
                     *names = json_object_get(value, "aliases");
        if (take_string(code, "", code, language->code, err) != 0 ||
            take_string(code, ".source", json_string_value(json_object_get(value, "source")),
                        language->source, err) != 0 ||
            take_string(code, ".target", json_string_value(json_object_get(value, "target")),
                        language->target, err) != 0 ||
            (list && take_string(code, ".list", json_string_value(list), language->list, err) != 0))
            return -1;
        if (names && (!json_is_array(names) || json_array_size(names) > MOST_ALIASES))
            return error_set(err, ERROR_FORMAT,
                             "languages.%.60s.aliases: must be a list of at most %d strings", code,
                             MOST_ALIASES);
        for (size_t i = 0; i < json_array_size(names); i++) {
            struct language_alias *alias = &languages->aliases[languages->alias_count];
            if (take_string(code, ".aliases", json_string_value(json_array_get(names, i)),
                            alias->name, err) != 0)
                return -1;
            alias->language = languages->count;
            languages->alias_count++;
        }
        languages->codes[languages->count++] = language->code;
    }
    return 0;
}

int model_languages_read(const char *path, struct model_languages *out, struct error *err) {
    struct model_languages made = {.count = 0};
    json_t *root = load_json(path, err), *section = json_object_get(root, "languages");
    int result = !root ? -1 : section ? take_languages(&made, section, err) : 0;
    json_decref(root);
    if (result != 0) {
        model_languages_done(&made);
        return -1;
    }
    *out = made;
    return 0;
}

void model_languages_done(struct model_languages *languages) {
    free(languages->all);
    free(languages->codes);
    free(languages->aliases);
    *languages = (struct model_languages){.count = 0};
}

static bool is_same(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (strncasecmp(a, b, 1) != 0 && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

const struct model_language *model_languages_find(const struct model_languages *languages,
                                                  const char *name) {
    for (size_t i = 0; i < languages->count; i++)
        if (is_same(languages->all[i].code, name))
            return &languages->all[i];
    for (size_t i = 0; i < languages->alias_count; i++)
        if (is_same(languages->aliases[i].name, name))
            return &languages->all[languages->aliases[i].language];
    return NULL;
}
