/* This file hides how an import unpacks what it reads, how errors name the paths that the user
 * knows, and how config.json begins. */
#include "model/import/conversion.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path of something unpacked, and the path that the user knows. */
struct alias {
    const char *path, *shown;
    struct alias *next;
};

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

int conversion_open(struct import *import, const char *path, const char **out, struct error *err) {
    enum archive_kind kind = ARCHIVE_NONE;
    size_t length = strlen(path), count = 0;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (!(*out = arena_copy(&import->arena, path, length)))
        return error_memory(err);
    if (source_refuse(*out, err) != 0)
        return -1;
    if (source_is_folder(*out))
        return 0;
    if (foreign_check_file(*out, err) != 0)
        return -1;
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

int conversion_expand(struct import *import, struct parts *parts, struct error *err) {
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

void conversion_show_paths(const struct import *import, struct error *err) {
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

/* ---- the beginning of config.json ---- */

const char *conversion_stem(const char *name, struct arena *arena) {
    static const char *const endings[] = {".gz",  ".zst", ".tar", ".tgz",
                                          ".zip", ".npz", ".bin", ".argosmodel"};
    size_t length = strlen(name);
    const char *copy = arena_copy(arena, name, length);
    for (size_t i = 0; copy && i < sizeof endings / sizeof *endings; i++)
        if (source_ends(copy, endings[i]) && strlen(copy) > strlen(endings[i]))
            copy = arena_copy(arena, copy, strlen(copy) - strlen(endings[i]));
    return copy;
}

int conversion_begin(struct import *import, const struct model_limits *limits, const char *source,
                     const char *target, struct error *err) {
    static const struct model_limits usual = {512, 3};
    const struct import_options *o = import->options;
    limits = limits ? limits : &usual;
    source = o->from ? o->from : source ? source : "und";
    target = o->to ? o->to : target ? target : "und";
    bool languages = strcmp(source, "und") != 0 && strcmp(target, "und") != 0;
    const char *name = o->name     ? o->name
                       : languages ? source_say(&import->arena, "%s-%s", source, target)
                                   : conversion_stem(source_name(import->shown), &import->arena);
    if (!name)
        return error_memory(err);
    if (!*name || *name == '.' || strchr(name, '/'))
        return error_set(err, ERROR_INPUT,
                         "%s: is not a valid name for a model folder: give another with --name",
                         name);
    import->name = name;
    import->conversion.config = json_pack(
        "{s:i, s:s, s:s, s:s, s:{s:i, s:f}}", "format", 1, "name", name, "source", source, "target",
        target, "limits", "max_source_tokens",
        (int)(o->max_source_tokens ? o->max_source_tokens : limits->source_tokens),
        "max_target_ratio", o->max_target_ratio > 0 ? o->max_target_ratio : limits->target_ratio);
    return import->conversion.config
               ? 0
               : error_set(err, ERROR_INPUT, "%s: a name or a language is not UTF-8",
                           import->shown);
}
