#include "server/decode/manifest.h"
#include "model/base/file.h"
#include "server/base/hex.h"
#include <errno.h>
#include <gnutls/crypto.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANIFEST_FORMAT = 1, MAX_MANIFEST_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

static int wrong(const char *name, const char *what, struct error *err) {
    return error_set(err, ERROR_FORMAT, "manifest.json: %.100s: %s", name, what);
}

void manifest_done(struct manifest *manifest) {
    for (size_t i = 0; i < manifest->count; i++)
        free(manifest->files[i].name);
    free(manifest->files);
    *manifest = (struct manifest){0};
}

/* A name that leads out of the folder is none of its files. */
static int read_file(struct manifest_file *file, const char *name, const json_t *value, struct error *err) {
    const json_t *bytes = json_object_get(value, "bytes");
    const char *sha256 = json_string_value(json_object_get(value, "sha256"));
    if (!*name || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
        return wrong(name, "not the name of a file in the folder", err);
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0)
        return wrong(name, "bytes must be a whole number", err);
    if (!sha256 || !hex_parse(sha256, file->sha256, SHA256_BYTES))
        return wrong(name, "sha256 must have 64 hexadecimal digits", err);
    file->bytes = (uintmax_t)json_integer_value(bytes);
    file->name = strdup(name);
    return file->name ? 0 : error_memory(err);
}

static int read_files(struct manifest *manifest, json_t *root, struct error *err) {
    json_t *files = json_object_get(root, "files"), *value;
    const char *name;
    if (json_integer_value(json_object_get(root, "format")) != MANIFEST_FORMAT || !json_is_object(files))
        return error_set(err, ERROR_FORMAT, "manifest.json: not of format %d", MANIFEST_FORMAT);
    manifest->files = calloc(json_object_size(files) + 1, sizeof *manifest->files);
    if (!manifest->files)
        return error_memory(err);
    json_object_foreach(files, name, value) {
        if (read_file(&manifest->files[manifest->count], name, value, err) != 0)
            return -1;
        manifest->count++;
    }
    return 0;
}

static int parse(struct manifest *manifest, const char *text, size_t length, struct error *err) {
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return json_error_code(&problem) == json_error_out_of_memory
                   ? error_memory(err)
                   : error_set(err, ERROR_FORMAT, "manifest.json: line %d: %s", problem.line, problem.text);
    int result = read_files(manifest, root, err);
    json_decref(root);
    return result;
}

int manifest_read(const char *folder, struct manifest *manifest, struct error *err) {
    char path[4096], *text;
    size_t length;
    *manifest = (struct manifest){0};
    int printed = snprintf(path, sizeof path, "%s/manifest.json", folder);
    if (printed < 0 || (size_t)printed >= sizeof path)
        return error_set(err, ERROR_FILE, "manifest.json: the path is too long");
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    if (file_read(path, MAX_MANIFEST_BYTES, &text, &length, err) != 0)
        return -1;
    int result = parse(manifest, text, length, err);
    free(text);
    if (result != 0)
        manifest_done(manifest);
    return result;
}

/* ---- digests ---- */

/* buffer: [READ_BYTES]. */
static int add_content(gnutls_hash_hd_t hash, int descriptor, char *buffer, const char *path, const atomic_bool *stop,
                       struct error *err) {
    for (;;) {
        ssize_t count = read(descriptor, buffer, READ_BYTES);
        if (stop && atomic_load(stop))
            return -1;
        if (count == 0)
            return 0;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
        if (gnutls_hash(hash, buffer, (size_t)count) != 0)
            return error_set(err, ERROR_FILE, "SHA-256 is not available");
    }
}

int manifest_digest(const char *path, const atomic_bool *stop, unsigned char sha256[SHA256_BYTES], struct error *err) {
    size_t size;
    gnutls_hash_hd_t hash;
    int descriptor = file_open(path, SIZE_MAX / 2, &size, err);
    if (descriptor < 0)
        return -1;
    char *buffer = malloc(READ_BYTES);
    int result = buffer && gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) == 0 ? 0 : error_memory(err);
    if (result == 0) {
        result = add_content(hash, descriptor, buffer, path, stop, err);
        gnutls_hash_deinit(hash, sha256);
    }
    free(buffer);
    close(descriptor);
    return result;
}

int manifest_digest_weights(const char *folder, char sha256[SHA256_DIGITS + 1], struct error *err) {
    char path[PATH_MAX];
    unsigned char bytes[SHA256_BYTES];
    int length = snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, ERROR_FILE, "the path is too long");
    if (manifest_digest(path, NULL, bytes, err) != 0)
        return -1;
    hex_print(bytes, sizeof bytes, sha256);
    return 0;
}
