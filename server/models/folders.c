/* This module hides where model folders are kept, and how the files beside the weights are read,
 * compared and changed. */
#include "server/models/folders.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/translator.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MANIFEST_FORMAT = 1,
    MAX_MANIFEST_BYTES = 1 << 20,
    MAX_ORIGIN_BYTES = 1 << 16,
    READ_BYTES = 1 << 16,
    SMALL_BYTES = 1 << 20, /* a file of this size is read in a few milliseconds */
    MOST_DEPTH = 16,
    IDENTITY_BYTES = 160, /* seven numbers of up to 20 digits */
    MOST_HOME = 4000
};

/* Writes the path of a file in the folder. Messages contain only its name. */
static int make_path(char path[MODEL_PATH_BYTES], const char *folder, const char *name,
                     struct error *err) {
    int length = snprintf(path, MODEL_PATH_BYTES, "%s/%s", folder, name);
    return length >= 0 && length < MODEL_PATH_BYTES
               ? 0
               : error_set(err, ERROR_FILE, "%.100s: the path is too long", name);
}

/* ---- folders of model folders ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int folders_list(struct name_list *list, const char *directory, struct error *err) {
    size_t former = list->count;
    int result = 0;
    DIR *open = opendir(directory);
    if (!open)
        return error_set(err, ERROR_FILE, "cannot open %s: %s", directory, strerror(errno));
    for (const struct dirent *entry; result == 0 && (entry = readdir(open)) != NULL;) {
        char path[MODEL_PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s/%s/config.json", directory, entry->d_name);
        if (entry->d_name[0] != '.' && length >= 0 && length < MODEL_PATH_BYTES &&
            access(path, F_OK) == 0)
            result = name_list_add(list, path, (size_t)length - strlen("/config.json"));
    }
    closedir(open);
    if (list->count > former)
        qsort(list->names + former, list->count - former, sizeof *list->names, compare_names);
    return result == 0 ? 0 : error_memory(err);
}

bool folders_any(const char *directory) {
    struct name_list found = {0};
    bool has = folders_list(&found, directory, NULL) == 0 && found.count > 0;
    name_list_done(&found);
    return has;
}

static int delete_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void folders_delete_model(const char *folder) {
    nftw(folder, delete_one, MOST_DEPTH, FTW_DEPTH | FTW_PHYS);
}

#define MACHINE_PLACE "/var/lib/alignd/models"

int installed_place(const char *given, bool writing, char path[MODEL_PATH_BYTES],
                    struct error *err) {
    static const char machine_place[] = MACHINE_PLACE;
    const char *home = getenv("HOME");
    char own[MODEL_PATH_BYTES] = "";
    if (home && *home == '/' && home[1])
        snprintf(own, sizeof own, "%.*s/.local/share/alignd/models", MOST_HOME, home);
    /* The machine's folder is writable if it exists and is, or if it can be made in its nearest
     * existing parent. */
    char there[] = MACHINE_PLACE, *slash;
    while (access(there, F_OK) != 0 && (slash = strrchr(there, '/')) != there)
        *slash = '\0';
    bool writable = access(there, W_OK | X_OK) == 0;
    bool machine =
        writable || (!writing && folders_any(machine_place) && (!*own || !folders_any(own)));
    const char *place = given && *given ? given : machine || !*own ? machine_place : own;
    if (writing && place == machine_place && !machine)
        return error_set(err, ERROR_INPUT,
                         "%s is not writable, and there is no home folder: give --into DIR",
                         machine_place);
    if (strlen(place) >= MODEL_PATH_BYTES || (place == own && strlen(home) > MOST_HOME))
        return error_set(err, ERROR_INPUT, "%.100s...: the path of the models is too long", place);
    snprintf(path, MODEL_PATH_BYTES, "%s", place);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';)
        path[--length] = '\0';
    return 0;
}

int installed_make(const char *folder, struct error *err) {
    char path[MODEL_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST &&
            (errno != EROFS || access(path, F_OK) != 0))
            return error_set(err, ERROR_FILE, "%.300s: %s", path, strerror(errno));
        *at = end;
        if (end == '\0')
            return 0;
    }
}

/* ---- origin.json ---- */

/* Copies a value, cut between characters if it is too long. */
static void keep(const json_t *root, const char *key, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(root, key));
    size_t length = text ? strlen(text) : 0;
    if (length >= room)
        length = room - 1;
    while (length > 0 && !utf8_valid(text, length))
        length--;
    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

struct model_origin folders_read_origin(const char *folder) {
    struct model_origin origin = {.from = ""};
    char path[MODEL_PATH_BYTES], *bytes;
    size_t size;
    if (make_path(path, folder, "origin.json", NULL) != 0 ||
        file_read(path, MAX_ORIGIN_BYTES, &bytes, &size, NULL) != 0)
        return origin;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES,
                              NULL); /* without an object, all values are missing */
    free(bytes);
    keep(root, "from", origin.from, sizeof origin.from);
    keep(root, "asked", origin.asked, sizeof origin.asked);
    keep(root, "version", origin.version, sizeof origin.version);
    keep(root, "licence", origin.licence, sizeof origin.licence);
    keep(root, "attribution", origin.attribution, sizeof origin.attribution);
    json_decref(root);
    return origin;
}

/* ---- digests ---- */

int folders_digest_file(int file, const char *path, const atomic_bool *stop,
                        unsigned char sha256[SHA256_BYTES], struct error *err) {
    struct sha256_ctx hash;
    uint8_t *buffer = malloc(READ_BYTES);
    int result = buffer ? 0 : error_memory(err);
    sha256_init(&hash);
    for (ssize_t count = 1; result == 0 && count != 0;) {
        count = read(file, buffer, READ_BYTES);
        if (stop && atomic_load(stop))
            result = -1;
        else if (count < 0 && errno != EINTR)
            result = error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
        else if (count > 0)
            sha256_update(&hash, (size_t)count, buffer);
    }
    sha256_digest(&hash, SHA256_BYTES, sha256);
    free(buffer);
    return result;
}

static int digest_path(const char *path, const atomic_bool *stop,
                       unsigned char sha256[SHA256_BYTES], struct error *err) {
    size_t size;
    int file = file_open(path, SIZE_MAX / 2, &size, err);
    int result = file >= 0 ? folders_digest_file(file, path, stop, sha256, err) : -1;
    if (file >= 0)
        close(file);
    return result;
}

int manifest_digest_weights(const char *folder, char sha256[SHA256_DIGITS + 1], struct error *err) {
    char path[MODEL_PATH_BYTES];
    unsigned char bytes[SHA256_BYTES];
    if (make_path(path, folder, "model.safetensors", err) != 0 ||
        digest_path(path, NULL, bytes, err) != 0)
        return -1;
    hex_print(bytes, sizeof bytes, sha256);
    return 0;
}

struct integrity {
    atomic_bool stopped;
    pthread_mutex_t lock; /* protects known */
    json_t *known;        /* by path: numbers that change with the file's content, and its digest */
};

struct integrity *integrity_create(void) {
    struct integrity *integrity = calloc(1, sizeof *integrity);
    if (!integrity || !(integrity->known = json_object())) {
        free(integrity);
        return NULL;
    }
    pthread_mutex_init(&integrity->lock, NULL);
    return integrity;
}

void integrity_free(struct integrity *integrity) {
    if (!integrity)
        return;
    json_decref(integrity->known);
    pthread_mutex_destroy(&integrity->lock);
    free(integrity);
}

void integrity_stop(struct integrity *integrity) {
    atomic_store(&integrity->stopped, true);
}

/* ---- the comparison ---- */

static int refuse(const char *name, const char *problem, struct error *err) {
    return error_set(err, ERROR_FORMAT, "manifest.json: %.100s: %s", name, problem);
}

/* Returns the manifest, or NULL if the folder has none or an error occurs. */
static json_t *read_manifest(const char *folder, struct error *err) {
    char path[MODEL_PATH_BYTES], *text;
    size_t length;
    json_error_t problem;
    if (make_path(path, folder, "manifest.json", err) != 0 ||
        (access(path, F_OK) != 0 && errno == ENOENT) ||
        file_read(path, MAX_MANIFEST_BYTES, &text, &length, err) != 0)
        return NULL;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!root && json_error_code(&problem) == json_error_out_of_memory) {
        error_memory(err);
    } else if (!root) {
        error_set(err, ERROR_FORMAT, "manifest.json: line %d: %s", problem.line, problem.text);
    } else if (json_integer_value(json_object_get(root, "format")) != MANIFEST_FORMAT ||
               !json_is_object(json_object_get(root, "files"))) {
        error_set(err, ERROR_FORMAT, "manifest.json: the format must be %d", MANIFEST_FORMAT);
        json_decref(root);
        return NULL;
    }
    return root;
}

/* A file of a model folder, and its entry in the manifest. */
struct listed_file {
    const char *folder, *name;
    const json_t *entry;
};

/* Compares one file with its entry. A name that leads outside the folder is refused. Clears
 * found->checked if the content is not compared. */
static int check_file(struct integrity *integrity, const struct listed_file *file,
                      enum integrity_extent extent, struct integrity_found *found,
                      struct error *err) {
    const char *name = file->name;
    const json_t *bytes = json_object_get(file->entry, "bytes");
    const char *digits = json_string_value(json_object_get(file->entry, "sha256"));
    unsigned char listed[SHA256_BYTES], sha256[SHA256_BYTES];
    char path[MODEL_PATH_BYTES];
    struct stat status;
    if (!*name || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
        return refuse(name, "not the name of a file in the folder", err);
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0)
        return refuse(name, "bytes must be a whole number", err);
    if (!digits || !hex_parse(digits, listed, SHA256_BYTES))
        return refuse(name, "sha256 must have 64 hexadecimal digits", err);
    if (strcmp(name, "model.safetensors") == 0)
        hex_print(listed, SHA256_BYTES, found->sha256);

    if (make_path(path, file->folder, name, err) != 0)
        return -1;
    if (stat(path, &status) != 0)
        return error_set(err, ERROR_FORMAT,
                         "%.100s is listed in manifest.json but cannot be read: %s", name,
                         strerror(errno));
    char identity[IDENTITY_BYTES + SHA256_DIGITS + 1];
    size_t length = (size_t)snprintf(
        identity, IDENTITY_BYTES, "%ju %ju %jd %jd.%09ld %jd.%09ld ", (uintmax_t)status.st_dev,
        (uintmax_t)status.st_ino, (intmax_t)status.st_size, (intmax_t)status.st_mtim.tv_sec,
        status.st_mtim.tv_nsec, (intmax_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    pthread_mutex_lock(&integrity->lock);
    const char *known = json_string_value(json_object_get(integrity->known, path));
    bool recalled = known && strncmp(known, identity, length) == 0 &&
                    hex_parse(known + length, sha256, SHA256_BYTES);
    pthread_mutex_unlock(&integrity->lock);
    bool same = status.st_size == json_integer_value(bytes);
    if (same && !recalled) {
        if (extent == INTEGRITY_QUICK && status.st_size > SMALL_BYTES) {
            found->checked = false;
            return 0;
        }
        if (digest_path(path, &integrity->stopped, sha256, err) != 0)
            return -1;
        hex_print(sha256, SHA256_BYTES, identity + length);
        pthread_mutex_lock(
            &integrity->lock); /* if memory runs out, the digest is computed again the next time */
        json_object_set_new_nocheck(integrity->known, path, json_string_nocheck(identity));
        pthread_mutex_unlock(&integrity->lock);
    }
    if (same && memcmp(sha256, listed, SHA256_BYTES) == 0)
        return 0;
    return error_set(err, ERROR_FORMAT,
                     "%.60s is not the file that manifest.json lists: restore it, or, if it was "
                     "meant to change, write the manifest "
                     "anew (python3 -m weights.model.manifest)",
                     name);
}

int integrity_check(struct integrity *integrity, const char *folder, enum integrity_extent extent,
                    struct integrity_found *found, struct error *err) {
    struct error inner = {0};
    json_t *manifest = read_manifest(folder, &inner), *files = json_object_get(manifest, "files"),
           *entry;
    struct integrity_found all = {.listed = json_object_size(files) > 0,
                                  .checked = json_object_size(files) > 0};
    const char *name;
    if (inner.code != ERROR_NONE)
        return error_set(err, inner.code, "%s", inner.message);
    int result = 0;
    json_object_foreach(files, name, entry) {
        if ((result = check_file(integrity, &(struct listed_file){folder, name, entry}, extent,
                                 &all, err)) != 0)
            break;
    }
    json_decref(manifest);
    *found = all;
    return result;
}

int manifest_update(const char *folder, const char *const *names, size_t count, struct error *err) {
    struct error inner = {0};
    char path[MODEL_PATH_BYTES], digits[SHA256_DIGITS + 1];
    json_t *manifest = read_manifest(folder, &inner), *files = json_object_get(manifest, "files");
    if (inner.code != ERROR_NONE)
        return error_set(err, inner.code, "%s", inner.message);
    if (!manifest)
        return 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        unsigned char sha256[SHA256_BYTES];
        struct stat status;
        if ((result = make_path(path, folder, names[i], err)) != 0 ||
            (result = digest_path(path, NULL, sha256, err)) != 0)
            break;
        if (stat(path, &status) != 0) {
            result = error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
            break;
        }
        hex_print(sha256, sizeof sha256, digits);
        json_t *entry =
            json_pack("{s:I, s:s}", "bytes", (json_int_t)status.st_size, "sha256", digits);
        result = json_object_set_new(files, names[i], entry) == 0 ? 0 : error_memory(err);
    }
    char *text = result == 0 ? json_dumps(manifest, JSON_INDENT(2)) : NULL;
    json_decref(manifest);
    if (result == 0 && !text)
        result = error_memory(err);
    if (result == 0 && (result = make_path(path, folder, "manifest.json", err)) == 0) {
        const struct file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
        result = file_replace_parts(path, parts, sizeof parts / sizeof *parts, err);
    }
    free(text);
    return result;
}

/* ---- downloaded models ---- */

static const char mark_name[] = "on-demand"; /* a file; its time is that of the mark */

static _Thread_local uint64_t
    counted; /* counted by nftw's callback, which gets no data from the caller */

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)path;
    (void)place;
    if (kind == FTW_F && S_ISREG(status->st_mode))
        counted += (uint64_t)status->st_size;
    return 0;
}

int installed_mark(const char *folder, bool on_demand, struct error *err) {
    char path[MODEL_PATH_BYTES];
    int file = -1;
    if (make_path(path, folder, mark_name, NULL) != 0)
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
    snprintf(made.model, sizeof made.model, "%s", info.name);
    snprintf(made.source, sizeof made.source, "%s", info.source);
    snprintf(made.target, sizeof made.target, "%s", info.target);
    translator_card_free(card);
    if (!made.folder)
        return error_memory(err);
    const char *slash = strrchr(made.folder, '/');
    made.name = slash ? slash + 1 : made.folder;
    made.origin = folders_read_origin(folder);
    counted = 0;
    nftw(folder, count_one, MOST_DEPTH, FTW_PHYS);
    made.bytes = counted;
    char mark[MODEL_PATH_BYTES];
    struct stat marked;
    made.on_demand = make_path(mark, folder, mark_name, NULL) == 0 && stat(mark, &marked) == 0;
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
    if (folders_list(&found, directory, &inner) != 0 && inner.code == ERROR_MEMORY)
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

/* Returns the model of this name or, if there is only one, the model for the pair. Returns NULL
 * otherwise. */
static const struct installed *find_installed(const struct installed_list *list, const char *name,
                                              struct error *err) {
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
        error_set(err, ERROR_INPUT,
                  "\"%.60s\": %zu models are for these languages: give the name of one", name,
                  count);
    return NULL;
}

int installed_remove(const char *directory, const char *name, char **removed, struct error *err) {
    struct installed_list list = {NULL, 0};
    struct error inner = {0};
    char gone[MODEL_PATH_BYTES];
    if (installed_list(directory, &list, err) != 0) {
        installed_list_done(&list);
        return -1;
    }
    const struct installed *model = find_installed(&list, name, &inner);
    int result = -1;
    bool made = false;
    int length = snprintf(gone, sizeof gone, "%s/.removed-XXXXXX", directory);
    if (!model && inner.code != ERROR_NONE)
        error_set(err, inner.code, "%s", inner.message);
    else if (!model)
        error_set(err, ERROR_INPUT, "%.300s has no model \"%.60s\"", directory, name);
    else if (length < 0 || (size_t)length >= sizeof gone || !(made = mkdtemp(gone) != NULL) ||
             rename(model->folder, gone) != 0)
        error_set(err, ERROR_FILE, "%.300s: %s", model->folder, strerror(errno));
    else if (!(*removed = strdup(model->name)))
        error_memory(err);
    else
        result = 0;
    if (made)
        folders_delete_model(gone);
    installed_list_done(&list);
    return result;
}
