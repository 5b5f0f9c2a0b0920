#include "tests/http/folder.h"
#include "tests/http/daemon.h"
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
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

void folder_make_waiting(char *folder) {
    char path[PATH_BYTES];
    link_files(folder);
    path_in(folder, CONFIG, path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

void folder_release(const char *folder) {
    char path[PATH_BYTES];
    path_in(folder, CONFIG, path);
    json_t *config = json_load_file(MODEL "/config.json", 0, NULL);
    ck_assert_ptr_nonnull(config);
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

void folder_remove(const char *folder) {
    char path[PATH_BYTES];
    for (size_t i = 0; i < FILE_COUNT; i++) {
        path_in(folder, i, path);
        unlink(path);
    }
    rmdir(folder);
}
