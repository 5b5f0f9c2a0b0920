#include "tests/http/folder.h"
#include "tests/check.h"
#include "tests/http/daemon.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static const char *const files[] = {"model.safetensors", "source.spm", "target.spm", "config.json"};
enum { FILE_COUNT = sizeof files / sizeof *files, CONFIG = FILE_COUNT - 1 };

static void path_in(const char *folder, size_t file, char path[PATH_BYTES]) {
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", folder, files[file]), PATH_BYTES);
}

static void link_files(char *folder) {
    char path[PATH_BYTES];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (size_t i = 0; i < CONFIG; i++) {
        path_in(MODEL, i, path);
        char *original = realpath(path, NULL);
        ck_assert_ptr_nonnull(original);
        path_in(folder, i, path);
        ck_assert_int_eq(symlink(original, path), 0);
        free(original);
    }
}

void folder_make(char *folder, const char *name, const char *source, const char *target) {
    char path[PATH_BYTES];
    json_t *config = json_load_file(MODEL "/config.json", 0, NULL);
    ck_assert_ptr_nonnull(config);
    json_object_set_new(config, "name", json_string(name));
    json_object_set_new(config, "source", json_string(source));
    json_object_set_new(config, "target", json_string(target));
    link_files(folder);
    path_in(folder, CONFIG, path);
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

void folder_set(const char *folder, const char *key, const char *value) {
    char path[PATH_BYTES];
    path_in(folder, CONFIG, path);
    json_t *config = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(config);
    json_object_set_new(config, key, json_string(value));
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

void folder_set_json(const char *folder, const char *section, const char *json) {
    char path[PATH_BYTES], text[256];
    path_in(folder, CONFIG, path);
    snprintf(text, sizeof text, "%s", json);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *config = json_load_file(path, 0, NULL), *value = json_loads(text, 0, NULL);
    ck_assert(config && value);
    if (!json_object_get(config, section))
        json_object_set_new(config, section, json_object());
    ck_assert_int_eq(json_object_update(json_object_get(config, section), value), 0);
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
    json_decref(value);
}

/* While a file has a write lease, who opens it waits until it is given up. */
static int leased = -1;

void folder_block(const char *folder) {
    char path[PATH_BYTES];
    path_in(folder, CONFIG, path);
    ck_assert_int_lt(leased, 0);
    signal(SIGIO, SIG_IGN); /* that somebody opens it */
    leased = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(leased, 0);
    ck_assert_msg(fcntl(leased, F_SETLEASE, F_WRLCK) == 0, "%s: no lease: %s", path,
                  strerror(errno));
}

void folder_unblock(const char *folder) {
    (void)folder;
    for (struct patience patience = {0}; fcntl(leased, F_GETLEASE) == F_WRLCK;)
        patience_wait(&patience, "somebody who opens the file");
    ck_assert_int_eq(fcntl(leased, F_SETLEASE, F_UNLCK), 0);
    close(leased);
    leased = -1;
}

void folder_make_waiting(char *folder) {
    folder_make(folder, "luong-general-gru", "en", "fr");
    folder_block(folder);
}

void folder_release(const char *folder) {
    folder_unblock(folder);
}

void folder_lose(const char *folder, const char *file) {
    char path[PATH_BYTES];
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", folder, file), PATH_BYTES);
    ck_assert_int_eq(unlink(path), 0);
}

/* A new file: what the folder had may be a link, or mapped by the daemon. */
void folder_truncate(const char *folder, const char *file) {
    char path[PATH_BYTES];
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", folder, file), PATH_BYTES);
    int whole = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    ck_assert(whole >= 0 && fstat(whole, &status) == 0);
    folder_lose(folder, file);
    size_t half = (size_t)status.st_size / 2;
    char *bytes = malloc(half);
    int cut = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(read(whole, bytes, half), (ssize_t)half);
    ck_assert_int_eq(write(cut, bytes, half), (ssize_t)half);
    free(bytes);
    close(whole);
    close(cut);
}

void folder_replace(const char *folder, const char *with) {
    char old[PATH_BYTES];
    ck_assert_int_lt(snprintf(old, PATH_BYTES, "%s.old", folder), PATH_BYTES);
    ck_assert_int_eq(rename(folder, old), 0);
    ck_assert_int_eq(rename(with, folder), 0);
    folder_remove(old);
}

void folder_list(const char *folder, const char *file, size_t bytes, const char *sha256) {
    char path[PATH_BYTES];
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", folder, file), PATH_BYTES);
    int made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(made, (off_t)bytes), 0);
    close(made);
    json_t *manifest = json_pack("{s:i,s:{s:{s:I,s:s}}}", "format", 1, "files", file, "bytes",
                                 (json_int_t)bytes, "sha256", sha256);
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/manifest.json", folder), PATH_BYTES);
    ck_assert_int_eq(json_dump_file(manifest, path, 0), 0);
    json_decref(manifest);
}

void folder_remove(const char *folder) {
    DIR *open = opendir(folder);
    if (!open)
        return;
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        unlinkat(dirfd(open), entry->d_name, 0);
    closedir(open);
    rmdir(folder);
}
