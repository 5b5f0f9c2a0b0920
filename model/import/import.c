/* This file hides the steps of an import: unpacking, recognising the family of the model,
 * converting, and publishing the folder or removing every trace. */
#include "model/import/import.h"
#include "model/base/utf8.h"
#include "model/import/conversion.h"
#include "model/text/tokenizer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE_VOCABULARY = 100000, ARENA_BYTES = 1 << 16 };

/* A family is asked if those before it do not recognise the model; the last takes every model. */
static const struct import_family *const families[] = {&import_ctranslate2, &import_huggingface,
                                                       &import_marian};

/* ---- folders ---- */

/* Makes the folder and those that lead to it. *first: the first one that did not exist. */
static int make_folders(const char *path, struct arena *arena, const char **first,
                        struct error *err) {
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        const char *part = arena_copy(arena, path, (size_t)(end - path));
        if (!part)
            return error_memory(err);
        if (mkdir(part, 0777) == 0) {
            *first = *first ? *first : part;
        } else if (errno != EEXIST) {
            return error_set(err, ERROR_FILE, "%s: %s", part, strerror(errno));
        }
    }
    return 0;
}

/* Removes the folders of make_folders that are empty. */
static void unmake_folders(const char *path, const char *first) {
    char *part = first ? strdup(path) : NULL;
    while (part && rmdir(part) == 0 && strcmp(part, first) != 0) {
        char *slash = strrchr(part, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    free(part);
}

/* ---- the last steps ---- */

/* Sets the storage, the compute type and the licence by the options and the complete model, and
 * decides if lists are used by default. */
static int settle(struct import *import, struct error *err) {
    const struct import_options *o = import->options;
    struct conversion *c = &import->conversion;
    json_t *defaults = json_object_get(c->config, "defaults"),
           *languages = json_object_get(c->config, "languages"), *language;
    const char *code;

    /* int8 weights of the file stay int8 and are computed in int8, unless the decoder's options
     * name another type. A requested storage overrides both. */
    for (const struct made *made = c->tensors.made; !o->storage && made; made = made->next)
        if (made->given)
            c->storage = STORAGE_INT8;
    if (!o->storage && !c->compute && c->storage == STORAGE_INT8)
        c->compute = storage_names[STORAGE_INT8];
    if (!o->storage && c->compute &&
        json_object_set_new(defaults, "compute", json_string(c->compute)) != 0)
        return error_memory(err);
    if (o->storage) {
        size_t i = 0;
        while (i < STORAGE_KINDS && strcmp(storage_names[i], o->storage) != 0)
            i++;
        if (i == STORAGE_KINDS)
            return error_set(err, ERROR_INPUT,
                             "the storage must be float32, float16, bfloat16 or int8, got \"%s\"",
                             o->storage);
        c->storage = (enum storage_kind)i;
    }

    /* --licence names the licence if the files state none. Meta has published NLLB-200 and M2M-100
     * under one licence each, and folders of them often have no card; the number of their languages
     * and the form of their tokens identify them. */
    size_t count = json_object_size(languages);
    const char *token = json_string_value(
        json_object_get(json_object_iter_value(json_object_iter(languages)), "source"));
    if (!*c->origin.licence) {
        if (o->licence)
            c->origin.licence = o->licence;
        else if (token && count >= 190 && count <= 210 && !source_begins(token, "__"))
            c->origin.licence = "CC BY-NC 4.0 (https://creativecommons.org/licenses/by-nc/4.0/), "
                                "that of NLLB-200, whose languages these are";
        else if (token && count >= 95 && count <= 105 && source_begins(token, "__"))
            c->origin.licence = "MIT, that of M2M-100, whose languages these are";
        if (!utf8_valid(c->origin.licence, strlen(c->origin.licence)))
            return error_set(err, ERROR_INPUT, "the licence is not UTF-8");
    }

    /* Lists are used by default if the vocabulary is so large that the output layer would take most
     * of a step. */
    if (o->no_shortlist) {
        c->list_count = 0;
        json_object_foreach(languages, code, language) {
            json_object_del(language, "list");
        }
    }
    if (c->list_count > 1 && c->vocabulary >= LARGE_VOCABULARY &&
        json_object_set_new(defaults, "shortlist", json_true()) != 0)
        return error_memory(err);
    return 0;
}

/* Reports the result. Labels such as >>fra<< in the list of pieces are the languages that a model
 * writes. */
static void tell(struct import *import, const char *out, uint64_t weights) {
    const struct conversion *c = &import->conversion;
    struct bytes first = {0};
    const char *pieces = json_string_value(json_object_get(c->tokenizer.section, "pieces"));
    size_t labels = 0;
    for (size_t i = 0; pieces && i < c->tokenizer.count; i++)
        for (const char *line = c->tokenizer.files[i].content;
             strcmp(c->tokenizer.files[i].name, pieces) == 0 && *line;) {
            size_t size = strcspn(line, "\n");
            struct bytes name;
            bool label = labels_name(line, size, &name);
            labels += label;
            first = label && !first.length ? name : first;
            line += size + (line[size] == '\n');
        }
    if (labels)
        fprintf(import->said,
                "it writes %zu languages, such as %s: requests choose with variant, or target\n",
                labels, source_shown(&import->arena, first.start, first.length));
    const json_t *decoder = json_object_get(c->config, "decoder"),
                 *trained = json_object_get(decoder, "alignment_trained");
    if (json_is_null(json_object_get(c->config, "attention")) && json_is_false(trained))
        fprintf(import->said,
                "its attention was not trained to align: alignd align-head gives it an alignment "
                "head\n");
    size_t languages = json_object_size(json_object_get(c->config, "languages"));
    if (languages)
        fprintf(import->said,
                "it translates between %zu languages: requests choose with source and target\n",
                languages);
    if (*c->origin.licence)
        fprintf(import->said, "licence: %s\n",
                source_shown(&import->arena, c->origin.licence, strlen(c->origin.licence)));
    fprintf(import->said, "%s: %zu tensors, %s bytes%s%s\n",
            source_shown(&import->arena, out, strlen(out)), c->tensors.count,
            source_thousands(&import->arena, weights),
            c->has_shortlist    ? ", a shortlist"
            : c->list_count > 1 ? ", lists of languages"
                                : "",
            c->has_quality ? ", a quality model" : "");
}

static int check_name(struct import *import, const char *into, const char *name, const char **out,
                      struct error *err) {
    *out = strcmp(into, "/") == 0 ? source_say(&import->arena, "/%s", name)
                                  : source_path_join(&import->arena, into, name);
    if (!*out)
        return error_memory(err);
    return source_exists(*out) ? error_set(err, ERROR_INPUT, "%s: already exists", *out) : 0;
}

static int convert(struct import *import, const char *into, const char **out, uint64_t *weights,
                   struct error *err) {
    const struct import_options *o = import->options;
    struct conversion *c = &import->conversion;
    const char *folder;
    for (size_t i = 0; i < o->path_count; i++)
        if (conversion_open(import, o->paths[i], &import->paths[i], err) != 0)
            return -1;
    if (o->name && check_name(import, into, o->name, out, err) != 0)
        return -1;
    size_t family = 0;
    while (!families[family]->is(import))
        family++;
    if (families[family]->convert(import, err) != 0)
        return -1;
    folder = source_path_join(&import->arena, import->work, "model");
    if (!folder)
        return error_memory(err);
    if (check_name(import, into, import->name, out, err) != 0 || settle(import, err) != 0)
        return -1;
    if (mkdir(folder, 0777) != 0)
        return error_set(err, ERROR_FILE, "%s: %s", folder, strerror(errno));
    if (folder_write(folder, c, &import->arena, o->stop, weights, err) != 0)
        return -1;
    return source_interrupted(o->stop, err) == 0 ? folder_publish(folder, *out, err) : -1;
}

int import_run(const struct import_options *options, char **said, struct error *err) {
    struct import import = {
        .options = options,
        .shown = options->paths[0],
        .conversion = {.container = {.file = -1}, .downloaded = options->origin}};
    char *text = NULL;
    const char *out, *into;
    size_t size = 0, length = strlen(options->into);
    uint64_t weights = 0;
    struct error inner = {0};
    int result = -1;
    if (options->path_count == 0 || options->path_count > IMPORT_PATHS_MOST)
        return error_set(err, ERROR_INPUT, "give 1 to %d paths", IMPORT_PATHS_MOST);
    arena_init(&import.arena, ARENA_BYTES);
    while (length > 1 && options->into[length - 1] == '/')
        length--;
    into = arena_copy(&import.arena, options->into, length);
    import.said = open_memstream(&text, &size);
    char *work = into ? source_say(&import.arena, "%s/.import-XXXXXX", into) : NULL;
    if (!import.said || !work) {
        error_memory(&inner);
        goto done;
    }
    for (size_t i = 0; i < options->path_count; i++) /* before any folder is made */
        if (source_refuse(options->paths[i], &inner) != 0)
            goto done;
    if (make_folders(into, &import.arena, &import.made, &inner) != 0)
        goto done;
    if (!mkdtemp(work)) {
        error_set(&inner, ERROR_FILE, "%s: %s", into, strerror(errno));
        goto done;
    }
    import.work = work;
    result = convert(&import, into, &out, &weights, &inner);
    if (result == 0)
        tell(&import, out, weights);
    if (result == 0 && options->made) {
        *options->made =
            (struct import_made){strdup(out), tensors_parameters(&import.conversion.tensors)};
        options->made->parameters *= options->made->folder != NULL;
    }
done:
    if (import.said && fclose(import.said) != 0 && result == 0)
        result = error_memory(&inner);
    conversion_done(&import.conversion);
    if (import.work)
        folder_remove(import.work);
    if (result != 0 && into)
        unmake_folders(into, import.made);
    if (result != 0) {
        conversion_show_paths(&import, &inner);
        error_set(err, inner.code, "%s", inner.message);
        free(text);
    } else {
        *said = text;
    }
    arena_done(&import.arena);
    return result;
}
