/* server/shipped: models are found beside the program, in their order, and nowhere else. */
#include "server/engine/shipped.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static struct shipped shipped;

/* Paths are of the tree under root. */
static const char *in_tree(const char *path) {
    static char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    return whole;
}

static void make_file(const char *path) {
    FILE *file = fopen(in_tree(path), "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

/* files: of a model folder. */
static void make_model(const char *folder, bool config, bool weights) {
    char path[128];
    ck_assert_int_eq(mkdir(in_tree(folder), 0700), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    if (config)
        make_file(path);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (weights)
        make_file(path);
}

static void setup(void) {
    static const char *const folders[] = {"bin",     "share", "share/alignd",
                                          "weights", "build", "build/asan"};
    scratch_setup();
    strcpy(root, "/tmp/alignd-shipped-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        ck_assert_int_eq(mkdir(in_tree(folders[i]), 0700), 0);
    make_file("bin/alignd");
    make_file("build/alignd");
    make_file("build/asan/alignd");
}

static void teardown(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
    shipped_done(&shipped);
    scratch_teardown();
}

/* names: with blanks between them, in their order. */
static void check_found(const char *program, const char *directory, const char *names) {
    char found[256] = "", *end = found;
    shipped_done(&shipped);
    ck_assert_msg(shipped_find_beside(in_tree(program), &shipped, &err) == 0, "%s", err.message);
    ck_assert_str_eq(shipped.directory, in_tree(directory));
    for (size_t i = 0; i < shipped.folders.count; i++) {
        const char *folder = shipped.folders.names[i];
        ck_assert_int_eq(strncmp(folder, shipped.directory, strlen(shipped.directory)), 0);
        end += sprintf(end, "%s%s", i > 0 ? " " : "", folder + strlen(shipped.directory) + 1);
    }
    ck_assert_str_eq(found, names);
}

/* The general model from English to French is the first; incomplete models are skipped. */
START_TEST(order) {
    make_model("share/alignd/fr-en", true, true);
    make_model("share/alignd/geoquery", true, true);
    make_model("share/alignd/de-en", true, true);
    make_model("share/alignd/en-fr", true, true);
    make_model("share/alignd/.hidden", true, true);
    make_model("share/alignd/half", true, false);
    make_model("share/alignd/other", false, true);
    make_file("share/alignd/README");
    check_found("bin/alignd", "share/alignd", "en-fr de-en fr-en geoquery");
}
END_TEST

START_TEST(places) {
    make_model("weights/b", true, true);
    make_model("weights/a", true, true);
    check_found("build/alignd", "weights", "a b");
    check_found("build/asan/alignd", "weights", "a b");
    make_model("share/alignd/c", true, true); /* an installed one is not asked for its checkout's */
    check_found("bin/alignd", "share/alignd", "c");
}
END_TEST

/* /usr/local/bin/alignd may be a link to where it was unpacked. */
START_TEST(links) {
    char target[PATH_MAX];
    make_model("weights/a", true, true);
    strcpy(target, in_tree("build/alignd"));
    ck_assert_int_eq(symlink(target, in_tree("build/asan/link")), 0);
    check_found("build/asan/link", "weights", "a");
}
END_TEST

START_TEST(none) {
    char expected[256];
    ck_assert_int_eq(shipped_find_beside(in_tree("bin/alignd"), &shipped, &err), -1);
    snprintf(expected, sizeof expected,
             "found no models in %s/share/alignd, %s/weights or /tmp/weights: `alignd get en-fr` "
             "downloads one; or give --model "
             "DIR or --models DIR",
             root, root);
    ck_assert_str_eq(err.message, expected);
    ck_assert(err.code == ERROR_FILE && shipped.folders.count == 0 && !shipped.directory);
    err = (struct error){0};
    ck_assert_int_eq(shipped_find_beside(NULL, &shipped, &err), -1);
    ck_assert_int_eq(shipped_find_beside(in_tree("bin/gone"), &shipped, NULL), -1);
    ck_assert_str_eq(err.message,
                     "cannot determine the path of alignd: give --model DIR or --models DIR");
}
END_TEST

/* A downloaded model for the default's languages becomes the default by the name that config.json
 * has, which need not be that of its folder. */
START_TEST(replaced) {
    char command[192];
    struct installed_list downloaded = {NULL, 0};
    make_model("share/alignd/en-fr", true, true);
    check_found("bin/alignd", "share/alignd", "en-fr");
    ck_assert_str_eq(shipped_usual(&shipped, &downloaded), "en-fr");
    snprintf(command, sizeof command, "mkdir %s/got && cp -r weights/en-fr %s/got/copied", root,
             root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(installed_list(in_tree("got"), &downloaded, &err), 0);
    ck_assert_str_eq(downloaded.models[0].name, "copied");
    ck_assert_str_eq(shipped_usual(&shipped, &downloaded), "en-fr");
    strcpy(downloaded.models[0].model, "mine");
    ck_assert_str_eq(shipped_usual(&shipped, &downloaded), "mine");
    strcpy(downloaded.models[0].target, "de");
    ck_assert_str_eq(shipped_usual(&shipped, &downloaded), "en-fr");
    installed_list_done(&downloaded);
}
END_TEST

Suite *shipped_suite(void) {
    Suite *suite = suite_create("shipped");
    TCase *tests = tcase_create("shipped");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, order);
    tcase_add_test(tests, places);
    tcase_add_test(tests, links);
    tcase_add_test(tests, none);
    tcase_add_test(tests, replaced);
    suite_add_tcase(suite, tests);
    return suite;
}
