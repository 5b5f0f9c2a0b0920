#include "model/weights/languages.h"
#include "model/base/file.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_FILE_BYTES = 1 << 20, MOST_ALIASES = 16 };

static int take_string(const char *code, const char *key, const json_t *value, char out[MODEL_LANGUAGE_BYTES], struct error *err) {
    const char *text = json_string_value(value);
    if (!text || !*text || strlen(text) >= MODEL_LANGUAGE_BYTES)
        return error_set(err, ERROR_FORMAT, "languages.%.60s%s: must be a string of 1 to %d bytes", code, key,
                         MODEL_LANGUAGE_BYTES - 1);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

static int take_aliases(struct model_languages *languages, const char *code, const json_t *list, struct error *err) {
    if (list && (!json_is_array(list) || json_array_size(list) > MOST_ALIASES))
        return error_set(err, ERROR_FORMAT, "languages.%.60s.aliases: must be a list of at most %d strings", code, MOST_ALIASES);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct language_alias *alias = &languages->aliases[languages->alias_count];
        if (take_string(code, ".aliases", json_array_get(list, i), alias->name, err) != 0)
            return -1;
        alias->language = languages->count;
        languages->alias_count++;
    }
    return 0;
}

static int take_language(struct model_languages *languages, const char *code, json_t *value, struct error *err) {
    struct model_language *language = &languages->all[languages->count];
    const char *key;
    json_t *part;
    if (!json_is_object(value))
        return error_set(err, ERROR_FORMAT, "languages.%.60s: must be an object", code);
    json_object_foreach(value, key, part) {
        if (strcmp(key, "source") != 0 && strcmp(key, "target") != 0 && strcmp(key, "aliases") != 0 && strcmp(key, "list") != 0)
            return error_set(err, ERROR_FORMAT, "languages.%.60s.%.60s: unknown key", code, key);
    }
    json_t *name = json_string(code);
    int result = name ? take_string(code, "", name, language->code, err) : error_memory(err);
    json_decref(name);
    if (result != 0 || take_string(code, ".source", json_object_get(value, "source"), language->source, err) != 0 ||
        take_string(code, ".target", json_object_get(value, "target"), language->target, err) != 0 ||
        (json_object_get(value, "list") && take_string(code, ".list", json_object_get(value, "list"), language->list, err) != 0) ||
        take_aliases(languages, code, json_object_get(value, "aliases"), err) != 0)
        return -1;
    languages->codes[languages->count++] = language->code;
    return 0;
}

static int take_all(struct model_languages *languages, json_t *section, struct error *err) {
    const char *code;
    json_t *value;
    size_t count = json_object_size(section), aliases = 0;
    if (!json_is_object(section) || count < 2 || count > MODEL_LANGUAGES_MOST)
        return error_set(err, ERROR_FORMAT, "languages: must be an object of 2 to %d languages", MODEL_LANGUAGES_MOST);
    json_object_foreach(section, code, value) {
        aliases += json_array_size(json_object_get(value, "aliases"));
    }
    languages->all = calloc(count, sizeof *languages->all);
    languages->codes = calloc(count, sizeof *languages->codes);
    languages->aliases = calloc(aliases + 1, sizeof *languages->aliases);
    if (!languages->all || !languages->codes || !languages->aliases)
        return error_memory(err);
    json_object_foreach(section, code, value) {
        if (take_language(languages, code, value, err) != 0)
            return -1;
    }
    return 0;
}

int model_languages_read(const char *path, struct model_languages *out, struct error *err) {
    struct model_languages made = {.count = 0};
    char *text;
    size_t length;
    json_error_t problem;
    if (file_read(path, MAX_FILE_BYTES, &text, &length, err) != 0)
        return -1;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem), *section = json_object_get(root, "languages");
    free(text);
    int result = root ? 0 : error_set(err, ERROR_FORMAT, "line %d, column %d: %s", problem.line, problem.column, problem.text);
    if (section)
        result = take_all(&made, section, err);
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

const struct model_language *model_languages_find(const struct model_languages *languages, const char *name) {
    for (size_t i = 0; i < languages->count; i++)
        if (is_same(languages->all[i].code, name))
            return &languages->all[i];
    for (size_t i = 0; i < languages->alias_count; i++)
        if (is_same(languages->aliases[i].name, name))
            return &languages->all[languages->aliases[i].language];
    return NULL;
}
