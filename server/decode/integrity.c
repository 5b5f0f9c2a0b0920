#include "server/decode/integrity.h"
#include "server/base/hex.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file of so many bytes is read in a few milliseconds. */
enum { SMALL_BYTES = 1 << 20 };

/* What changes with a file's content. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified, changed;
};

struct known {
    char *path;
    struct identity identity;
    unsigned char sha256[SHA256_BYTES];
    struct known *next;
};

struct integrity {
    atomic_bool stopped;
    pthread_mutex_t lock; /* guards known */
    struct known *known;
};

struct integrity *integrity_create(void) {
    struct integrity *integrity = calloc(1, sizeof *integrity);
    if (integrity)
        pthread_mutex_init(&integrity->lock, NULL);
    return integrity;
}

void integrity_free(struct integrity *integrity) {
    if (!integrity)
        return;
    for (struct known *known = integrity->known, *next; known; known = next) {
        next = known->next;
        free(known->path);
        free(known);
    }
    pthread_mutex_destroy(&integrity->lock);
    free(integrity);
}

void integrity_stop(struct integrity *integrity) {
    atomic_store(&integrity->stopped, true);
}

static struct identity identity_of(const struct stat *status) {
    return (struct identity){status->st_dev, status->st_ino, status->st_size, status->st_mtim, status->st_ctim};
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct identity *a, const struct identity *b) {
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && same_time(&a->modified, &b->modified) &&
           same_time(&a->changed, &b->changed);
}

/* With the lock. */
static struct known *find(const struct integrity *integrity, const char *path) {
    struct known *known = integrity->known;
    while (known && strcmp(known->path, path) != 0)
        known = known->next;
    return known;
}

static bool recall(struct integrity *integrity, const char *path, const struct identity *identity,
                   unsigned char sha256[SHA256_BYTES]) {
    pthread_mutex_lock(&integrity->lock);
    const struct known *known = find(integrity, path);
    bool is_known = known && same(&known->identity, identity);
    if (is_known)
        memcpy(sha256, known->sha256, SHA256_BYTES);
    pthread_mutex_unlock(&integrity->lock);
    return is_known;
}

/* With the lock. NULL when memory is out. */
static struct known *add(struct integrity *integrity, const char *path) {
    struct known *known = calloc(1, sizeof *known);
    if (!known || !(known->path = strdup(path))) {
        free(known);
        return NULL;
    }
    known->next = integrity->known;
    integrity->known = known;
    return known;
}

/* Where memory is out, it is computed again the next time. */
static void keep(struct integrity *integrity, const char *path, const struct identity *identity,
                 const unsigned char sha256[SHA256_BYTES]) {
    pthread_mutex_lock(&integrity->lock);
    struct known *known = find(integrity, path);
    if (!known)
        known = add(integrity, path);
    if (known) {
        known->identity = *identity;
        memcpy(known->sha256, sha256, SHA256_BYTES);
    }
    pthread_mutex_unlock(&integrity->lock);
}

static int differs(const char *name, struct error *err) {
    return error_set(
        err, ERROR_FORMAT,
        "%.60s is not the file that manifest.json lists: restore it, or, if it was meant to change, write the manifest "
        "anew (python3 -m weights.manifest)",
        name);
}

/* One file. *later: it was not compared. */
static int check_file(struct integrity *integrity, const char *folder, const struct manifest_file *file,
                      enum integrity_extent extent, bool *later, struct error *err) {
    char path[4096];
    struct stat status;
    unsigned char sha256[SHA256_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file->name);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, ERROR_FILE, "%.100s: the path is too long", file->name);
    if (stat(path, &status) != 0)
        return error_set(err, ERROR_FORMAT, "%.100s is listed in manifest.json, and cannot be read: %s", file->name,
                         strerror(errno));
    if (status.st_size < 0 || (uintmax_t)status.st_size != file->bytes)
        return differs(file->name, err);
    const struct identity identity = identity_of(&status);
    if (!recall(integrity, path, &identity, sha256)) {
        *later = extent == INTEGRITY_QUICK && file->bytes > SMALL_BYTES;
        if (*later)
            return 0;
        if (manifest_digest(path, &integrity->stopped, sha256, err) != 0)
            return -1;
        keep(integrity, path, &identity, sha256);
    }
    return memcmp(sha256, file->sha256, SHA256_BYTES) == 0 ? 0 : differs(file->name, err);
}

int integrity_check(struct integrity *integrity, const char *folder, enum integrity_extent extent, struct integrity_found *found,
                    struct error *err) {
    struct manifest manifest;
    if (manifest_read(folder, &manifest, err) != 0)
        return -1;
    *found = (struct integrity_found){.listed = manifest.count > 0, .checked = manifest.count > 0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < manifest.count; i++) {
        bool later = false;
        result = check_file(integrity, folder, &manifest.files[i], extent, &later, err);
        found->checked &= !later;
        if (strcmp(manifest.files[i].name, "model.safetensors") == 0)
            hex_print(manifest.files[i].sha256, SHA256_BYTES, found->sha256);
    }
    manifest_done(&manifest);
    return result;
}
