#include "server/get/installed.h"
#include "model/translator.h"
#include "server/models/manifest.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT_DEPTH = 16, MOST_HOME = 4000 };

static const char machine_place[] = "/var/lib/alignd/models";

/* ---- the place ---- */

/* True if the folder is there and may be written to, or can be made in the first of its parents that is there. */
static bool may_write(const char *folder) {
    char path[INSTALLED_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder);
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
    return access(path, W_OK | X_OK) == 0;
}

static bool has_models(const char *directory) {
    struct name_list found = {0};
    bool has = model_folders_list(&found, directory, NULL) == 0 && found.count > 0;
    name_list_done(&found);
    return has;
}

int installed_place(const char *given, bool writing, char path[INSTALLED_PATH_BYTES], struct error *err) {
    const char *home = getenv("HOME");
    char own[INSTALLED_PATH_BYTES] = "";
    if (home && *home == '/' && home[1])
        snprintf(own, sizeof own, "%.*s/.local/share/alignd/models", MOST_HOME, home);
    bool machine = may_write(machine_place) || (!writing && has_models(machine_place) && (!*own || !has_models(own)));
    const char *place = given && *given ? given : machine || !*own ? machine_place : own;
    if (writing && place == machine_place && !machine)
        return error_set(err, ERROR_INPUT, "%s may not be written to, and there is no home folder: give --into DIR", machine_place);
    if (strlen(place) >= INSTALLED_PATH_BYTES || (place == own && strlen(home) > MOST_HOME))
        return error_set(err, ERROR_INPUT, "%.100s...: the path of the models is too long", place);
    snprintf(path, INSTALLED_PATH_BYTES, "%s", place);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';)
        path[--length] = '\0';
    return 0;
}

int installed_make(const char *folder, struct error *err) {
    char path[INSTALLED_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST && (errno != EROFS || access(path, F_OK) != 0))
            return error_set(err, ERROR_FILE, "%.300s: %s", path, strerror(errno));
        *at = end;
        if (end == '\0')
            return 0;
    }
}

/* ---- models ---- */

static _Thread_local uint64_t counted; /* by nftw, which hands over nothing of the caller's */

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)path;
    (void)place;
    if (kind == FTW_F && S_ISREG(status->st_mode))
        counted += (uint64_t)status->st_size;
    return 0;
}

/* Its time is when it was made. */
static bool mark_path(const char *folder, char path[INSTALLED_PATH_BYTES]) {
    int length = snprintf(path, INSTALLED_PATH_BYTES, "%s/on-demand", folder);
    return length >= 0 && length < INSTALLED_PATH_BYTES;
}

int installed_mark(const char *folder, bool on_demand, struct error *err) {
    char path[INSTALLED_PATH_BYTES];
    int file = -1;
    if (!mark_path(folder, path))
        return error_set(err, ERROR_INPUT, "%.100s: the path is too long", folder);
    if (on_demand && (file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) < 0)
        return error_set(err, ERROR_FILE, "%.400s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    else if (unlink(path) != 0 && errno != ENOENT)
        return error_set(err, ERROR_FILE, "%.400s: %s", path, strerror(errno));
    return 0;
}

int installed_read(const char *folder, struct installed *out, struct error *err) {
    struct translator_card *card = translator_card_read(folder, err);
    if (!card)
        return -1;
    struct translator_info info = translator_card_info(card);
    struct installed made = {.folder = strdup(folder)};
    snprintf(made.source, sizeof made.source, "%s", info.source);
    snprintf(made.target, sizeof made.target, "%s", info.target);
    translator_card_free(card);
    if (!made.folder)
        return error_memory(err);
    const char *slash = strrchr(made.folder, '/');
    made.name = slash ? slash + 1 : made.folder;
    made.origin = model_origin_read(folder);
    counted = 0;
    nftw(folder, count_one, COUNT_DEPTH, FTW_PHYS);
    made.bytes = counted;
    char mark[INSTALLED_PATH_BYTES];
    struct stat marked;
    made.on_demand = mark_path(folder, mark) && stat(mark, &marked) == 0;
    if (made.on_demand)
        made.marked_us = (int64_t)marked.st_mtim.tv_sec * 1000000 + marked.st_mtim.tv_nsec / 1000;
    *out = made;
    return 0;
}

void installed_done(struct installed *model) {
    free(model->folder);
    model->folder = NULL;
}

int installed_list(const char *directory, struct installed_list *list, struct error *err) {
    struct name_list found = {0};
    struct error inner = {0};
    int result = 0;
    if (model_folders_list(&found, directory, &inner) != 0 && inner.code == ERROR_MEMORY)
        result = error_memory(err);
    for (size_t i = 0; result == 0 && i < found.count; i++) {
        struct installed model, *models;
        inner = (struct error){0};
        if (installed_read(found.names[i], &model, &inner) != 0) {
            result = inner.code == ERROR_MEMORY ? error_memory(err) : 0;
            continue;
        }
        models = reallocarray(list->models, list->count + 1, sizeof *models);
        if (models) {
            list->models = models;
            models[list->count++] = model;
        } else {
            installed_done(&model);
            result = error_memory(err);
        }
    }
    name_list_done(&found);
    return result;
}

void installed_list_done(struct installed_list *list) {
    for (size_t i = 0; i < list->count; i++)
        installed_done(&list->models[i]);
    free(list->models);
    *list = (struct installed_list){NULL, 0};
}

/* The folder of this name, or the only one for the pair. */
static const struct installed *find(const struct installed_list *list, const char *name, struct error *err) {
    const struct installed *found = NULL;
    size_t count = 0;
    char pair[80];
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->models[i].name, name) == 0)
            return &list->models[i];
    for (size_t i = 0; i < list->count; i++) {
        snprintf(pair, sizeof pair, "%s-%s", list->models[i].source, list->models[i].target);
        if (strcasecmp(pair, name) == 0) {
            found = &list->models[i];
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count > 1)
        error_set(err, ERROR_INPUT, "\"%.60s\": %zu models are for these languages: give the name of one", name, count);
    return NULL;
}

int installed_remove(const char *directory, const char *name, char **removed, struct error *err) {
    struct installed_list list = {NULL, 0};
    struct error inner = {0};
    char gone[INSTALLED_PATH_BYTES];
    if (installed_list(directory, &list, err) != 0) {
        installed_list_done(&list);
        return -1;
    }
    const struct installed *model = find(&list, name, &inner);
    int result = -1;
    bool made = false;
    int length = snprintf(gone, sizeof gone, "%s/.removed-XXXXXX", directory);
    if (!model && inner.code != ERROR_NONE)
        error_set(err, inner.code, "%s", inner.message);
    else if (!model)
        error_set(err, ERROR_INPUT, "%.300s has no model \"%.60s\"", directory, name);
    else if (length < 0 || (size_t)length >= sizeof gone || !(made = mkdtemp(gone) != NULL) || rename(model->folder, gone) != 0)
        error_set(err, ERROR_FILE, "%.300s: %s", model->folder, strerror(errno));
    else if (!(*removed = strdup(model->name)))
        error_memory(err);
    else
        result = 0;
    if (made)
        model_folder_delete(gone);
    installed_list_done(&list);
    return result;
}
