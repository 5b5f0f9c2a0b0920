/* This file hides the steps of an import: unpacking, recognising the kind of model, converting, and
 * publishing the folder or removing every trace. It also hides how errors name the paths that the
 * user knows. */
#include "model/import/import.h"
#include "model/base/utf8.h"
#include "model/import/conversion.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LARGE_VOCABULARY = 100000,
    ARENA_BYTES = 1 << 16,
    MOST_PATHS = 16,
    USUAL_LISTED = 100,
    MOST_OPTIONS_BYTES = 1 << 22
};

/* A path of something unpacked, and the path that the user knows. */
struct alias {
    const char *path, *shown;
    struct alias *next;
};

struct import {
    const struct import_options *options;
    struct arena arena;
    const char *work; /* a folder beside the one that is made, with a name that no model has; NULL:
                         not made yet */
    const char
        *made; /* the first folder on the way to INTO that did not exist; NULL: all existed */
    const char
        *paths[MOST_PATHS]; /* [path_count] the given paths, or the folders of unpacked archives */
    const char *shown;      /* the first path as the user knows it */
    const char *inner;      /* the name of the only folder in an archive; NULL: none */
    struct alias *aliases;
    unsigned unpacked;   /* the number of folders in `work` that are used */
    const char *compute; /* compute type of the model's own decoder; NULL: not stated */
    struct conversion conversion;
    FILE *said;
};

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

/* Makes an empty folder in `work` for unpacking. */
static const char *make_room(struct import *import, struct error *err) {
    const char *folder = source_say(&import->arena, "%s/%03u", import->work, ++import->unpacked);
    if (folder && mkdir(folder, 0700) == 0)
        return folder;
    if (folder)
        error_set(err, ERROR_FILE, "%s: %s", folder, strerror(errno));
    else
        error_memory(err);
    return NULL;
}

static int add_alias(struct import *import, const char *path, const char *shown,
                     struct error *err) {
    struct alias *alias = arena_alloc(&import->arena, 1, sizeof *alias);
    if (!alias)
        return error_memory(err);
    *alias = (struct alias){path, shown, import->aliases};
    import->aliases = alias;
    return 0;
}

/* ---- archives and compressed files ---- */

/* Unpacks an archive and replaces its path with the folder's or, if that contains only one folder,
 * the inner folder's. A .npz is an archive, too, but is read directly, and so is pytorch_model.bin.
 */
static int open_path(struct import *import, const char *path, const char **out, struct error *err) {
    enum archive_kind kind = ARCHIVE_NONE;
    size_t length = strlen(path), count = 0;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (!(*out = arena_copy(&import->arena, path, length)))
        return error_memory(err);
    if (import_refuse(*out, err) != 0)
        return -1;
    if (source_is_folder(*out))
        return 0;
    if (source_archive_kind_of(*out, &kind, err) != 0)
        return -1;
    bool model = source_ends(*out, ".npz") || source_ends(*out, ".bin");
    if (kind != ARCHIVE_TAR && (kind != ARCHIVE_ZIP || model))
        return 0;
    const char *folder = make_room(import, err), *inner = NULL;
    if (!folder ||
        source_archive_unpack(*out, folder, &archive_usual, import->options->stop, err) != 0 ||
        add_alias(import, folder, *out, err) != 0)
        return -1;

    const struct dirent *entry;
    DIR *open = opendir(folder);
    while (open && (entry = readdir(open)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && ++count == 1)
            inner = source_path_join(&import->arena, folder, entry->d_name);
    if (open)
        closedir(open);
    if (count == 1 && inner && source_is_folder(inner)) {
        if (add_alias(import, inner, *out, err) != 0)
            return -1;
        import->inner = source_name(inner);
        folder = inner;
    }
    *out = folder;
    return 0;
}

/* Replaces compressed files with their contents, under their names without the ending. */
static int expand(struct import *import, struct parts *parts, struct error *err) {
    const char **const places[] = {&parts->model,           &parts->vocabularies[0],
                                   &parts->vocabularies[1], &parts->segmenters[0],
                                   &parts->segmenters[1],   &parts->shortlist,
                                   &parts->quality};
    const char *packed = "", *out = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *path = *places[i];
        enum archive_kind kind;
        if (path && strcmp(path, packed) == 0) /* both sides have the same file */
            *places[i] = out;
        if (!path || *places[i] != path)
            continue;
        if (source_archive_kind_of(path, &kind, err) != 0)
            return -1;
        if (kind != ARCHIVE_COMPRESSED)
            continue;
        const char *folder = make_room(import, err), *name = source_name(path);
        size_t length = source_plain_length(name);
        if (!folder)
            return -1;
        if (!(out = source_say(&import->arena, "%s/%.*s", folder, (int)length, name)))
            return error_memory(err);
        if (source_archive_expand(path, out, &archive_usual, import->options->stop, err) != 0 ||
            add_alias(import, out, path, err) != 0)
            return -1;
        packed = path;
        *places[i] = out;
    }
    return 0;
}

/* ---- the beginning of config.json ---- */

/* Returns the name of a file or folder without the suffixes of archives, compression and models. */
static const char *stem(const char *name, struct arena *arena) {
    static const char *const endings[] = {".gz",  ".zst", ".tar", ".tgz",
                                          ".zip", ".npz", ".bin", ".argosmodel"};
    size_t length = strlen(name);
    const char *copy = arena_copy(arena, name, length);
    for (size_t i = 0; copy && i < sizeof endings / sizeof *endings; i++)
        if (source_ends(copy, endings[i]) && strlen(copy) > strlen(endings[i]))
            copy = arena_copy(arena, copy, strlen(copy) - strlen(endings[i]));
    return copy;
}

/* Begins the configuration and sets the folder's name. tokens, ratio: the model's limits, which
 * apply unless the command line sets others. */
static int begin_config(struct import *import, const char *source, const char *target,
                        size_t tokens, double ratio, const char **name, struct error *err) {
    const struct import_options *o = import->options;
    source = o->from ? o->from : source ? source : "und";
    target = o->to ? o->to : target ? target : "und";
    bool languages = strcmp(source, "und") != 0 && strcmp(target, "und") != 0;
    *name = o->name     ? o->name
            : languages ? source_say(&import->arena, "%s-%s", source, target)
                        : stem(source_name(import->shown), &import->arena);
    if (!*name)
        return error_memory(err);
    if (!**name || **name == '.' || strchr(*name, '/'))
        return error_set(err, ERROR_INPUT,
                         "%s: is not a valid name for a model folder: give another with --name",
                         *name);
    import->conversion.config =
        json_pack("{s:i, s:s, s:s, s:s, s:{s:i, s:f}}", "format", 1, "name", *name, "source",
                  source, "target", target, "limits", "max_source_tokens",
                  (int)(o->max_source_tokens ? o->max_source_tokens : tokens), "max_target_ratio",
                  o->max_target_ratio > 0 ? o->max_target_ratio : ratio);
    return import->conversion.config
               ? 0
               : error_set(err, ERROR_INPUT, "%s: a name or a language is not UTF-8",
                           import->shown);
}

/* ---- Marian ---- */

/* The most source tokens of a sentence if the decoder's options do not state them. */
static const size_t family_tokens[] = {
    [FAMILY_OTHER] = 100, [FAMILY_BERGAMOT] = 128, [FAMILY_OPUS] = 512};

static const char SPECIAL_OPTIONS[] = "special:model.yml";

/* Tensors that are not converted; sorted. */
static const struct {
    const char *name, *what;
} dropped[] = {{"decoder_c_tt", "an empty array for old programs"},
               {"history_errs", "Nematus's validation errors"},
               {"none_QuantMultA", "a copy of the multiplier of Wemb"},
               {SPECIAL_OPTIONS, "the options"},
               {"uidx", "Nematus's count of updates"}};
enum { DROPPED = sizeof dropped / sizeof *dropped };

static int read_options(struct import *import, const struct parts *parts,
                        struct marian_options *options, struct error *err) {
    struct arena *arena = &import->arena;
    const struct stored_tensor *own =
        tensors_find_stored(&import->conversion.container, SPECIAL_OPTIONS);
    if (own) {
        uint64_t size = tensors_count(own) * stored_types[own->kind].bytes;
        char *text = size <= MOST_OPTIONS_BYTES ? arena_zalloc(arena, (size_t)size + 1, 1) : NULL;
        if (!text)
            return error_set(err, ERROR_FORMAT, "%s: is too large", SPECIAL_OPTIONS);
        if (tensors_bytes(own, 0, (size_t)tensors_count(own), text, err) != 0)
            return -1;
        while (size > 0 && text[size - 1] == '\0')
            size--;
        if (strlen(text) != size)
            return error_set(err, ERROR_FORMAT, "%s: has a NUL in the middle", SPECIAL_OPTIONS);
        return marian_options_read(text, (size_t)size, true, arena, options, err);
    }
    const char *path =
        parts->options ? parts->options
                       : source_say(arena, "%s/%s.json", parts->folder, source_name(parts->model));
    char *text;
    size_t length;
    if (!source_exists(path))
        return error_set(err, ERROR_FORMAT,
                         "%s: has no options (%s): name a file of options, such as %s.json",
                         parts->model, SPECIAL_OPTIONS, parts->name);
    return source_text(path, MOST_OPTIONS_BYTES, arena, &text, &length, err) == 0
               ? marian_options_read(text, length, false, arena, options, err)
               : -1;
}

/* Adds the content of the files beside the tensors to the configuration and the tokenizer.
 * sections: encoder, decoder, attention and output of config.json. */
static int describe_marian(struct import *import, const struct parts *parts,
                           const struct marian_options *options,
                           const struct marian_defaults *defaults, struct marian_sizes sizes,
                           json_t *sections, const char **name, struct error *err) {
    const struct import_options *o = import->options;
    struct arena *arena = &import->arena;
    struct conversion *c = &import->conversion;
    struct vocabulary sides[2];
    const size_t counts[] = {sizes.source, sizes.target};
    for (size_t side = 0; side < 2; side++) {
        if (vocabulary_import(parts->vocabularies[side], counts[side], arena, &sides[side], err) !=
            0)
            return -1;
        const struct vocabulary list = sides[side];
        if (parts->segmenters[side] &&
            vocabulary_segmented(parts->segmenters[side], &list, arena, &sides[side], err) != 0)
            return -1;
    }
    if (conversion_tokenizer_files_of(&sides[0], &sides[1], &c->tokenizer, err) != 0)
        return -1;
    if (marian_shares(options) && !c->tokenizer.one_list)
        return error_set(err, ERROR_FORMAT,
                         "source and target have one embedding, but their vocabularies differ");
    size_t tokens =
        defaults->source_tokens ? defaults->source_tokens : family_tokens[parts->family];
    if (begin_config(import, parts->source, parts->target, tokens, defaults->ratio, name, err) != 0)
        return -1;

    bool guided = o->alignment ? strcmp(o->alignment, "trained") == 0 : parts->guided;
    int failed = json_object_set(c->config, "defaults", defaults->section) |
                 json_object_update(c->config, sections);
    failed |= json_object_set_new(json_object_get(c->config, "output"), "unknowns",
                                  json_boolean(o->unknowns || defaults->unknowns));
    if (options->transformer)
        failed |= json_object_set_new(json_object_get(c->config, "decoder"), "alignment_trained",
                                      json_boolean(guided));
    if (parts->segmenters[0])
        failed |= json_object_set_new(c->tokenizer.section, "preparation",
                                      json_string(o->preparation ? o->preparation : "opus"));
    failed |= json_object_set(c->config, "tokenizer", c->tokenizer.section);
    if (failed)
        return error_memory(err);

    if (parts->shortlist && !o->no_shortlist) {
        struct ids source, target;
        struct shortlist_options list = {&source, &target, c->tokenizer.one_list,
                                         o->shortlist_first ? o->shortlist_first : USUAL_LISTED,
                                         o->shortlist_best ? o->shortlist_best : USUAL_LISTED};
        if (conversion_ids_of(&sides[0], arena, &source, err) != 0 ||
            conversion_ids_of(&sides[1], arena, &target, err) != 0 ||
            conversion_import_shortlist(parts->shortlist, &list, arena, &c->shortlist, err) != 0)
            return -1;
        c->has_shortlist = true;
    }
    c->has_quality = parts->quality != NULL;
    if (c->has_quality && conversion_import_quality(parts->quality, arena, c->quality, err) != 0)
        return -1;
    if (c->has_shortlist && (defaults->lists || parts->family == FAMILY_BERGAMOT) &&
        json_object_set_new(defaults->section, "shortlist", json_true()) != 0)
        return error_memory(err);
    return 0;
}

static int convert_marian(struct import *import, struct parts *parts, const char **name,
                          struct error *err) {
    struct arena *arena = &import->arena;
    struct conversion *c = &import->conversion;
    struct marian_options options;
    struct marian_defaults defaults = {.section = NULL};
    json_t *sections = NULL;
    enum archive_kind kind;
    if (expand(import, parts, err) != 0 || source_archive_kind_of(parts->model, &kind, err) != 0)
        return -1;
    bool zip = kind == ARCHIVE_ZIP || source_ends(parts->model, ".npz");
    int result = zip ? tensors_open_npz(parts->model, import->work, arena, import->options->stop,
                                        &c->container, err)
                     : tensors_open_marian(parts->model, arena, &c->container, err);
    if (result != 0 || read_options(import, parts, &options, err) != 0 ||
        conversion_marian_decoder_read(&parts->decoder, arena, &defaults, err) != 0)
        return -1;
    result = tensors_init(&c->tensors, &c->container, arena, err);
    for (size_t d = 0; result == 0 && d < DROPPED; d++)
        for (size_t i = 0; i < c->container.count; i++)
            if (strcmp(c->container.entries[i].name, dropped[d].name) == 0) {
                c->tensors.names[i] = NULL;
                c->tensors.left[i] = false;
                fprintf(import->said, "dropped: %s, %s\n", dropped[d].name, dropped[d].what);
            }
    if (result == 0) {
        struct marian_sizes sizes = marian_convert(&c->tensors, &options, &sections);
        tensors_check_left(&c->tensors, "unknown, so the options do not describe this model");
        result = c->tensors.failed ? -1
                                   : describe_marian(import, parts, &options, &defaults, sizes,
                                                     sections, name, err);
    }
    import->compute = defaults.compute;
    c->from = source_name(parts->model);
    c->origin = parts->origin;
    if (result == 0)
        fprintf(import->said, "%s%s%s%s", defaults.said,
                *options.ignored ? "options of training, ignored: " : "", options.ignored,
                *options.ignored ? "\n" : "");
    json_decref(sections);
    json_decref(defaults.section);
    return result;
}

static int convert_huggingface(struct import *import, const char *folder, const char **name,
                               struct error *err) {
    const struct import_options *o = import->options;
    const char *source = NULL, *target = NULL, *shown = source_name(import->shown);
    char *real =
        strcmp(folder, ".") == 0 || strcmp(shown, "..") == 0 ? realpath(folder, NULL) : NULL;
    if (real)
        shown = arena_copy(&import->arena, source_name(real), strlen(source_name(real)));
    free(real);
    if (import->inner)
        shown = import->inner;
    else if (!source_is_folder(import->shown) &&
             strcmp(folder, import->paths[0]) != 0) /* a file in it was named */
        shown = source_name(folder);
    if (!shown)
        return error_memory(err);
    conversion_origin_languages(stem(shown, &import->arena), &import->arena, &source, &target);
    const struct transformer_options options = {.name = shown,
                                                .work = import->work,
                                                .preparation = o->preparation,
                                                .alignment = o->alignment,
                                                .unknowns = o->unknowns,
                                                .stop = o->stop};
    return begin_config(import, source, target, family_tokens[FAMILY_OPUS], 3, name, err) == 0
               ? huggingface_convert(folder, &options, &import->arena, &import->conversion, err)
               : -1;
}

static int convert_ctranslate2(struct import *import, const char **name, struct error *err) {
    const struct import_options *o = import->options;
    struct ctranslate2_parts parts;
    const struct transformer_options options = {.preparation = o->preparation,
                                                .alignment = o->alignment};
    if (conversion_ctranslate2_find(import->paths, o->path_count, &import->arena, &parts, err) != 0)
        return -1;
    if (import->inner && strcmp(parts.name, import->inner) != 0)
        parts.name = import->inner;
    if (!parts.source || !parts.target) {
        const char *shown = stem(source_name(import->shown), &import->arena);
        if (!conversion_origin_languages(stem(parts.name, &import->arena), &import->arena,
                                         &parts.source, &parts.target) &&
            shown)
            conversion_origin_languages(shown, &import->arena, &parts.source, &parts.target);
    }
    return begin_config(import, parts.source, parts.target, family_tokens[FAMILY_OPUS], 3, name,
                        err) == 0
               ? ctranslate2_convert(&parts, &options, &import->arena, &import->conversion, err)
               : -1;
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
    if (!o->storage && !import->compute && c->storage == STORAGE_INT8)
        import->compute = storage_names[STORAGE_INT8];
    if (!o->storage && import->compute &&
        json_object_set_new(defaults, "compute", json_string(import->compute)) != 0)
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
    const char *first = NULL,
               *pieces = json_string_value(json_object_get(c->tokenizer.section, "pieces"));
    size_t labels = 0, length = 0;
    for (size_t i = 0; pieces && i < c->tokenizer.count; i++)
        for (const char *line = c->tokenizer.files[i].content;
             strcmp(c->tokenizer.files[i].name, pieces) == 0 && *line;) {
            size_t size = strcspn(line, "\n");
            bool label = size > 4 && memcmp(line, ">>", 2) == 0 &&
                         memcmp(line + size - 2, "<<", 2) == 0 && !memchr(line + 2, '<', size - 4);
            labels += label;
            length = label && !first ? size - 4 : length;
            first = label && !first ? line + 2 : first;
            line += size + (line[size] == '\n');
        }
    if (labels)
        fprintf(import->said,
                "it writes %zu languages, such as %s: requests choose with variant, or target\n",
                labels, source_shown(&import->arena, first, length));
    const json_t *decoder = json_object_get(c->config, "decoder"),
                 *trained = json_object_get(decoder, "alignment_trained");
    if (json_is_null(json_object_get(c->config, "attention")) && json_is_false(trained))
        fprintf(import->said, "its attention was not trained to align: weights.align_head gives it "
                              "an alignment head\n");
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

/* Replaces the paths of unpacked files with those of their archives, and makes sure that the
 * message names the first path. */
static void show_paths(const struct import *import, struct error *err) {
    for (const struct alias *alias = import->aliases; alias; alias = alias->next) {
        struct error shown = {.code = err->code};
        const char *at = err->message, *found;
        size_t length = 0;
        while (*at && (found = strstr(at, alias->path)) != NULL && length < sizeof shown.message) {
            length += (size_t)snprintf(shown.message + length, sizeof shown.message - length,
                                       "%.*s%s", (int)(found - at), at, alias->shown);
            at = found + strlen(alias->path);
        }
        if (length < sizeof shown.message)
            snprintf(shown.message + length, sizeof shown.message - length, "%s", at);
        *err = shown;
    }
    if (err->code == ERROR_MEMORY || !import->shown || strstr(err->message, import->shown) ||
        err->code == ERROR_NONE)
        return;
    struct error shown = {.code = err->code};
    snprintf(shown.message, sizeof shown.message, "%s: %.*s", import->shown,
             (int)(sizeof shown.message - 3), err->message);
    *err = shown;
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
    const char *name, *folder;
    struct parts parts;
    for (size_t i = 0; i < o->path_count; i++)
        if (open_path(import, o->paths[i], &import->paths[i], err) != 0)
            return -1;
    if (o->name && check_name(import, into, o->name, out, err) != 0)
        return -1;
    bool ctranslate2 = false;
    for (size_t i = 0; i < o->path_count; i++)
        ctranslate2 |= conversion_ctranslate2_is(import->paths[i], &import->arena);
    if (ctranslate2) {
        if (convert_ctranslate2(import, &name, err) != 0)
            return -1;
    } else if (o->path_count == 1 && parts_huggingface(import->paths[0], &import->arena, &folder)) {
        if (convert_huggingface(import, folder, &name, err) != 0)
            return -1;
    } else if (parts_find(import->paths, o->path_count,
                          stem(source_name(import->shown), &import->arena), &import->arena, &parts,
                          err) != 0 ||
               convert_marian(import, &parts, &name, err) != 0) {
        return -1;
    }
    folder = source_path_join(&import->arena, import->work, "model");
    if (!folder)
        return error_memory(err);
    if (check_name(import, into, name, out, err) != 0 || settle(import, err) != 0)
        return -1;
    if (mkdir(folder, 0777) != 0)
        return error_set(err, ERROR_FILE, "%s: %s", folder, strerror(errno));
    if (folder_write(folder, c, &import->arena, o->stop, weights, err) != 0)
        return -1;
    return source_interrupted(o->stop, err) == 0 ? folder_publish(folder, *out, err) : -1;
}

int import_refuse(const char *path, struct error *err) {
    if (strstr(path, "://"))
        return error_set(err, ERROR_INPUT,
                         "%s: is not a path: only http:// and https:// addresses are downloaded",
                         path);
    return source_exists(path) ? 0 : error_set(err, ERROR_FILE, "%s: does not exist", path);
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
    if (options->path_count == 0 || options->path_count > MOST_PATHS)
        return error_set(err, ERROR_INPUT, "give 1 to %d paths", MOST_PATHS);
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
        if (import_refuse(options->paths[i], &inner) != 0)
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
        show_paths(&import, &inner);
        error_set(err, inner.code, "%s", inner.message);
        free(text);
    } else {
        *said = text;
    }
    arena_done(&import.arena);
    return result;
}
