/* server/models/manifest: files that match the manifest, and files that do not. */
#include "server/models/folders.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABC                                                                                        \
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* SHA-256 of "abc", FIPS   \
                                                                          180-2, B.1 */
#define ENTRY "{\"format\": 1, \"files\": {\"%s\": {\"bytes\": %zu, \"sha256\": \"%s\"}}}"

enum { LARGE = (1 << 20) + 1 };

static char folder[32], path[64], manifest_path[64];
static struct integrity *integrity;
static struct integrity_found found;
static struct error error;

static void write_file(const char *where, const void *data, size_t length) {
    FILE *file = fopen(where, "w");
    ck_assert(file && fwrite(data, 1, length, file) == length && fclose(file) == 0);
}

static void list(const char *name, size_t bytes, const char *sha256) {
    char text[512];
    int length = snprintf(text, sizeof text, ENTRY, name, bytes, sha256);
    write_file(manifest_path, text, (size_t)length);
}

static void setup(void) {
    strcpy(folder, "/tmp/alignd-integrity-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    snprintf(manifest_path, sizeof manifest_path, "%s/manifest.json", folder);
    integrity = integrity_create();
    error = (struct error){0};
}

static void teardown(void) {
    integrity_free(integrity);
    unlink(path);
    unlink(manifest_path);
    rmdir(folder);
}

static int check(enum integrity_extent extent) {
    error = (struct error){0};
    return integrity_check(integrity, folder, extent, &found, &error);
}

START_TEST(no_manifest_is_right) {
    ck_assert_int_eq(check(INTEGRITY_WHOLE), 0);
    ck_assert(!found.listed);
    ck_assert_str_eq(found.sha256, "");
}
END_TEST

START_TEST(the_files_listed) {
    write_file(path, "abc", 3);
    list("model.safetensors", 3, ABC);
    ck_assert_int_eq(check(INTEGRITY_QUICK), 0);
    ck_assert(found.listed && found.checked);
    ck_assert_str_eq(found.sha256, ABC);
}
END_TEST

START_TEST(another_file_is_named) {
    list("model.safetensors", 3, ABC);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1);
    ck_assert_ptr_nonnull(
        strstr(error.message, "model.safetensors is listed in manifest.json but cannot be read"));
    write_file(path, "abcd", 4);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1);
    ck_assert_int_eq(error.code, ERROR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(error.message, "model.safetensors is not the file that manifest.json lists"));
    write_file(path, "abd", 3);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1);
    ck_assert_ptr_nonnull(strstr(error.message, "model.safetensors is not the file"));
    write_file(path, "abc", 3); /* what was computed of the other counts no more */
    ck_assert_int_eq(check(INTEGRITY_QUICK), 0);
}
END_TEST

START_TEST(large_files_are_read_once) {
    char *zeros = calloc(1, LARGE);
    write_file(path, zeros, LARGE);
    list("model.safetensors", LARGE, ABC);
    ck_assert_int_eq(check(INTEGRITY_QUICK), 0);
    ck_assert(found.listed && !found.checked);
    ck_assert_int_eq(check(INTEGRITY_WHOLE), -1);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1); /* known by now */
    zeros[LARGE - 1] = 1;
    write_file(path, zeros, LARGE);
    ck_assert_int_eq(check(INTEGRITY_QUICK), 0); /* not this one */
    list("model.safetensors", LARGE + 1, ABC);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1); /* its size is seen at once */
    free(zeros);
}
END_TEST

START_TEST(stopped) {
    write_file(path, "abc", 3);
    list("model.safetensors", 3, ABC);
    integrity_stop(integrity);
    ck_assert_int_eq(check(INTEGRITY_WHOLE), -1);
    ck_assert_int_eq(error.code, ERROR_NONE);
}
END_TEST

START_TEST(manifests_that_are_none) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[", "manifest.json: line 1"},
        {"{}", "the format must be 1"},
        {"{\"format\": 2, \"files\": {}}", "the format must be 1"},
        {"{\"format\": 1, \"files\": {\"../x\": {\"bytes\": 1, \"sha256\": \"" ABC "\"}}}",
         "not the name of a file"},
        {"{\"format\": 1, \"files\": {\"..\": {\"bytes\": 1, \"sha256\": \"" ABC "\"}}}",
         "not the name of a file"},
        {"{\"format\": 1, \"files\": {\"x\": {\"bytes\": -1, \"sha256\": \"" ABC "\"}}}",
         "bytes must be a whole number"},
        {"{\"format\": 1, \"files\": {\"x\": {\"bytes\": 1, \"sha256\": \"ba78\"}}}",
         "64 hexadecimal digits"},
        {"{\"format\": 1, \"files\": {\"x\": 3}}", "bytes must be a whole number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(manifest_path, rows[i].text, strlen(rows[i].text));
        ck_assert_int_eq(check(INTEGRITY_QUICK), -1);
        ck_assert_int_eq(error.code, ERROR_FORMAT);
        ck_assert_msg(strstr(error.message, rows[i].message) != NULL, "%s", error.message);
    }
}
END_TEST

/* The entry of a file that has changed is written anew, and others stay, whatever they say. */
START_TEST(entries_are_updated) {
    static const char *const names[] = {"model.safetensors"}, *const missing[] = {"config.json"};
    write_file(path, "abc", 3);
    ck_assert_int_eq(manifest_update(folder, names, 1, &error),
                     0); /* no manifest: there is none afterwards */
    ck_assert_int_ne(access(manifest_path, F_OK), 0);
    static const char before[] =
        "{\"format\": 1, \"files\": {\"model.safetensors\": {\"bytes\": 9, \"sha256\": \"00\"}}}";
    write_file(manifest_path, before, strlen(before));
    ck_assert_int_eq(manifest_update(folder, missing, 1, &error), -1);
    ck_assert_int_eq(error.code, ERROR_FILE);
    ck_assert_int_eq(check(INTEGRITY_QUICK), -1);
    ck_assert_int_eq(manifest_update(folder, names, 1, NULL), 0);
    ck_assert_int_eq(check(INTEGRITY_WHOLE), 0);
    ck_assert_str_eq(found.sha256, ABC);
    list("config.json", 9, ABC);
    ck_assert_int_eq(manifest_update(folder, names, 1, NULL), 0);
    ck_assert_int_eq(check(INTEGRITY_WHOLE), -1);
    ck_assert_ptr_nonnull(strstr(error.message, "config.json is listed"));
}
END_TEST

Suite *integrity_suite(void) {
    Suite *suite = suite_create("integrity");
    TCase *tcase = tcase_create("integrity");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, no_manifest_is_right);
    tcase_add_test(tcase, the_files_listed);
    tcase_add_test(tcase, another_file_is_named);
    tcase_add_test(tcase, large_files_are_read_once);
    tcase_add_test(tcase, stopped);
    tcase_add_test(tcase, manifests_that_are_none);
    tcase_add_test(tcase, entries_are_updated);
    suite_add_tcase(suite, tcase);
    return suite;
}
