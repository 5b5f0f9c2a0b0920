/* This file hides how a list of target ids is added to the files of a model folder. */
#include "model/import/lists.h"
#include "model/base/arena.h"
#include "model/base/file.h"
#include "model/import/folder.h"
#include "model/import/source.h"
#include "model/import/tensors.h"
#include "model/weights/safetensors.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CONFIG_BYTES = 1 << 20 };

/* Reads config.json. NULL: an error. */
static json_t *read_config(const char *path, struct error *err) {
    char *text;
    size_t length;
    json_error_t problem;
    if (file_read(path, MOST_CONFIG_BYTES, &text, &length, err) != 0)
        return NULL;
    json_t *config = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!config)
        error_set(err, ERROR_FORMAT, "%s: line %d, column %d: %s", path, problem.line, problem.column, problem.text);
    return config;
}

/* Names the list in the language's section. */
static int name_list(json_t *config, const char *code, struct error *err) {
    json_t *languages = json_object_get(config, "languages"), *language = json_object_get(languages, code), *other;
    const char *key;
    if (!json_is_object(language))
        return error_set(err, ERROR_INPUT, "config.json has no language %.60s", code);
    json_object_foreach(languages, key, other) {
        const char *list = json_string_value(json_object_get(other, "list"));
        if (other != language && list && strcmp(list, code) == 0)
            return error_set(err, ERROR_INPUT, "languages.%.60s.list of config.json has the name of another language's list, %.60s",
                             key, code);
    }
    return json_object_set_new(language, "list", json_string(code)) == 0 ? 0 : error_memory(err);
}

/* Copies the tensors of the container, except the one of this name, and adds it. file NULL: there is no container yet. */
static struct ready *join_tensors(const struct safetensors *file, const struct ready *added, struct arena *arena, size_t *count,
                                  struct error *err) {
    size_t room = file ? safetensors_count(file) : 0;
    struct ready *tensors = arena_alloc(arena, room + 2, sizeof *tensors);
    *count = 0;
    if (!tensors) {
        error_memory(err);
        return NULL;
    }
    if (!file)
        tensors[(*count)++] = (struct ready){.name = "always", .integers = true, .numbers = ""};
    for (size_t i = 0; i < room; i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        if (tensor->dtype != DTYPE_I32 || tensor->dims != 1) {
            error_set(err, ERROR_FORMAT, "shortlist.safetensors: tensor %s: must be I32 with one dimension", tensor->name);
            return NULL;
        }
        if (strcmp(tensor->name, added->name) != 0)
            tensors[(*count)++] = (struct ready){tensor->name, true, tensor->shape[0], tensor->data};
    }
    tensors[(*count)++] = *added;
    return tensors;
}

static int write_shortlist(const char *path, const struct ready *added, struct arena *arena, struct error *err) {
    size_t count;
    struct safetensors *file = NULL;
    const char *next = import_say(arena, "%s.new", path);
    if (!next)
        return error_memory(err);
    if (source_exists(path) && !(file = safetensors_open(path, err)))
        return -1;
    const struct ready *tensors = join_tensors(file, added, arena, &count, err);
    unlink(next); /* of a process that was interrupted */
    int result = tensors ? ready_write(next, tensors, count, arena, err) : -1;
    if (result == 0 && rename(next, path) != 0)
        result = error_set(err, ERROR_FILE, "cannot write %s: %s", path, strerror(errno));
    if (result != 0)
        unlink(next);
    safetensors_free(file);
    return result;
}

static int put(const char *folder, const char *code, const int32_t *ids, size_t count, struct arena *arena, struct error *err) {
    const char *path = import_say(arena, "%s/config.json", folder), *name = import_say(arena, "list.%s", code),
               *shortlist = import_say(arena, "%s/shortlist.safetensors", folder);
    if (!path || !name || !shortlist)
        return error_memory(err);
    json_t *config = read_config(path, err);
    int result = config ? name_list(config, code, err) : -1;
    char *text = result == 0 ? config_text(config) : NULL;
    json_decref(config);
    if (result == 0 && !text)
        result = error_memory(err);
    const struct ready added = {name, true, count, ids};
    if (result == 0)
        result = write_shortlist(shortlist, &added, arena, err);
    if (result == 0) {
        const struct file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
        result = file_replace_parts(path, parts, sizeof parts / sizeof *parts, err);
    }
    free(text);
    return result;
}

int lists_put(const char *folder, const char *code, const int32_t *ids, size_t count, struct error *err) {
    struct arena arena;
    arena_init(&arena, 16 * 1024);
    int result = put(folder, code, ids, count, &arena, err);
    arena_done(&arena);
    return result;
}
