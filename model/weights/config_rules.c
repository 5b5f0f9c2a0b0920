/* What no single key of config.json can tell: combinations that cannot be built (weights/config.def), and the sizes that follow
 * from several keys. */
#include "model/weights/config_rules.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool config_has_file(const char *value) {
    return strcmp(value, "none") != 0;
}

bool config_copies(const struct model_config *config) {
    static const char *const types[] = {"pointer", "pointer_generator", "copy"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(config->output.type, types[i]) == 0)
            return true;
    return false;
}

static bool is_transformer(const struct model_config *config) {
    return strcmp(config->decoder.style, "transformer") == 0;
}

bool config_attends(const struct model_config *config) {
    return config->attention.score[0] != '\0' || is_transformer(config);
}

static bool stacks_forward(const struct model_config *config) {
    return strcmp(config->encoder.stack, "forward") == 0;
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

size_t config_target_positions(const struct model_config *config) {
    double longest = floor(config->limits.max_target_ratio * (double)config_positions(config) + 0.5);
    return longest < 1 ? 1 : (size_t)longest;
}

size_t config_readout_size(const struct model_config *config) {
    if (is_transformer(config))
        return config->decoder.hidden;
    bool concat = strcmp(config->decoder.readout, "concat") == 0;
    return concat ? config_context_size(config) + config->decoder.hidden : config->decoder.readout_size;
}

/* ---- keys and rules ---- */

#define RULE(message, when, unless)
#define KEY(path, field, kind, fallback, allowed, only)                                                                            \
    {#path, CONFIG_##kind, offsetof(struct raw_config, field), fallback, allowed, only},
const struct config_key config_keys[] = {
#include "weights/config.def"
    {0}};
#undef KEY
#undef RULE

static const struct rule {
    const char *message, *when, *unless;
} rules[] = {
#define KEY(path, field, kind, fallback, allowed, only)
#define RULE(message, when, unless) {message, when, unless},
#include "weights/config.def"
#undef KEY
#undef RULE
};

bool config_listed(const char *list, const char *name) {
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

static bool is_of_decoder(const struct config_key *key) {
    return strncmp(key->path, "decoder.", strlen("decoder.")) == 0;
}

bool config_has(const struct config_key *key, const struct raw_config *raw) {
    const char *chosen = is_of_decoder(key) ? raw->config.decoder.style : raw->config.encoder.type;
    return *key->only == '\0' || config_listed(key->only, chosen);
}

const char *config_chooser(const struct config_key *key) {
    return is_of_decoder(key) ? "style" : "type";
}

/* ---- values as text ---- */

enum { VALUE_BYTES = CONFIG_NAME_BYTES };

static void print_key(const struct raw_config *raw, const struct config_key *key, char text[VALUE_BYTES]) {
    const void *field = (const char *)raw + key->offset;
    *text = '\0';
    if (!config_has(key, raw))
        return;
    if (key->kind == CONFIG_boolean)
        snprintf(text, VALUE_BYTES, "%s", *(const bool *)field ? "true" : "false");
    else if (key->kind == CONFIG_integer)
        snprintf(text, VALUE_BYTES, "%zu", *(const size_t *)field);
    else if (key->kind == CONFIG_number)
        snprintf(text, VALUE_BYTES, "%.15g", *(const double *)field);
    else
        snprintf(text, VALUE_BYTES, "%s", (const char *)field);
}

static bool is_rule_name(const char *name, size_t length, const char *wanted) {
    return strlen(wanted) == length && memcmp(name, wanted, length) == 0;
}

/* The value of a key, or of a size that follows from several, by its name [length]; "" where there is none. */
static void print(const struct raw_config *raw, const char *name, size_t length, char text[VALUE_BYTES]) {
    const struct config_key *key = config_keys;
    while (key->path && !is_rule_name(name, length, key->path))
        key++;
    if (key->path) {
        print_key(raw, key, text);
        return;
    }
    bool annotation = is_rule_name(name, length, "annotation");
    assert(annotation || is_rule_name(name, length, "readout"));
    snprintf(text, VALUE_BYTES, "%zu", annotation ? config_annotation_size(&raw->config) : config_readout_size(&raw->config));
}

/* ---- conditions ---- */

/* The length of the word that begins here. */
static size_t word(const char *text) {
    return strcspn(text, " ");
}

static bool is_word(const char *text, const char *wanted) {
    return is_rule_name(text, word(text), wanted);
}

/* Behind that word and the blank after it. */
static const char *next_rule(const char *text) {
    text += word(text);
    return *text == ' ' ? text + 1 : text;
}

/* Two numbers, neither of which may be missing: "below" and "multiple" of another key's. */
static bool compares(const struct raw_config *raw, const char *text, const char *value) {
    char other[VALUE_BYTES];
    const char *key = strchr(value, ':') + 1;
    print(raw, key, word(key), other);
    if (*text == '\0' || *other == '\0')
        return false;
    size_t number = strtoul(text, NULL, 10), bound = strtoul(other, NULL, 10);
    return *value == 'b' ? number < bound : bound > 0 && number % bound == 0;
}

static bool equals(const struct raw_config *raw, const char *text, const char *value) {
    char other[VALUE_BYTES];
    if (memchr(value, ':', word(value)))
        return compares(raw, text, value);
    if (is_word(value, "even"))
        return *text != '\0' && strtoul(text, NULL, 10) % 2 == 0;
    if (is_word(value, "nothing"))
        return *text == '\0';
    if (!memchr(value, '.', word(value)))
        return is_word(value, text);
    print(raw, value, word(value), other);
    return strcmp(text, other) == 0;
}

/* One clause, "KEY is [not] VALUE or VALUE"; *at goes on behind it. */
static bool clause_holds(const struct raw_config *raw, const char **at) {
    char text[VALUE_BYTES];
    print(raw, *at, word(*at), text);
    const char *value = next_rule(next_rule(*at)); /* behind "is" */
    bool wanted = !is_word(value, "not");
    value = wanted ? value : next_rule(value);
    bool found = equals(raw, text, value);
    for (value = next_rule(value); is_word(value, "or"); value = next_rule(value)) {
        value = next_rule(value);
        found |= equals(raw, text, value);
    }
    *at = next_rule(value); /* behind "and" */
    return found == wanted;
}

static bool holds(const struct raw_config *raw, const char *condition) {
    bool all = true;
    while (*condition != '\0')
        all &= clause_holds(raw, &condition);
    return all;
}

/* The message, with values in place of {KEY}. */
static int refuse(const struct raw_config *raw, const char *message, struct error *err) {
    char filled[sizeof err->message], *out = filled;
    while (*message != '\0' && out + VALUE_BYTES < filled + sizeof filled) {
        size_t name = *message == '{' ? strcspn(message, "}") - 1 : 0;
        if (name > 0)
            print(raw, message + 1, name, out);
        else
            *out = *message, out[1] = '\0';
        out += strlen(out);
        message += name > 0 ? name + 2 : 1;
    }
    return error_set(err, ERROR_FORMAT, "%s", filled);
}

int config_check(const struct raw_config *raw, struct error *err) {
    for (const struct rule *rule = rules; rule < rules + sizeof rules / sizeof *rules; rule++)
        if (holds(raw, rule->when) && (*rule->unless == '\0' || !holds(raw, rule->unless)))
            return refuse(raw, rule->message, err);
    return 0;
}
