/* server/models/catalog: sets of models that follow each other, without HTTP. Meant to run under
 * ThreadSanitizer too. */
#include "server/base/log.h"
#include "server/models/catalog.h"
#include "tests/suites.h"
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *first[1];
static struct name_list folders;
static struct metrics *metrics;
static struct catalog *catalog;

static void set_folder(const char *folder) {
    free(folders.names[0]);
    folders.names[0] = strdup(folder);
}

static void setup(void) {
    static const char *const labels[] = {"other"};
    struct catalog_options options = {.folders = &folders,
                                      .loading.compute = "auto",
                                      .loading.workers = 2,
                                      .loading.rows = 4,
                                      .most_waiting = 8};
    folders = (struct name_list){first, 1};
    set_folder("tests/golden/luong-general-gru");
    log_set_level("error");
    metrics = metrics_create(labels, 1, NULL);
    catalog = catalog_create(&options, metrics);
    ck_assert_ptr_null(catalog_acquire(catalog));
    ck_assert_int_eq(catalog_open(catalog, NULL), 0);
}

static void teardown(void) {
    catalog_free(catalog);
    metrics_free(metrics);
    free(folders.names[0]);
    folders.names[0] = NULL;
}

static void post(struct reload *reload) {
    sem_post(reload->owner);
}

/* Asks, and waits for the answer. */
static struct reload reload_now(void) {
    sem_t done;
    struct reload reload = {.finish = post, .owner = &done};
    sem_init(&done, 0, 0);
    ck_assert(catalog_reload(catalog, &reload));
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    return reload;
}

START_TEST(who_waits_is_told) {
    struct model_set *old = catalog_acquire(catalog);
    ck_assert_uint_eq(old->generation, 1);
    struct loaded_model *used = loaded_model_acquire(old->all[0]->loaded);
    struct reload reload = reload_now();
    ck_assert_uint_eq(reload.generation, 2);
    ck_assert_int_eq(reload.error.code, ERROR_NONE);
    struct model_set *new = catalog_acquire(catalog);
    ck_assert_uint_eq(new->generation, 2);
    ck_assert_ptr_ne(new->all[0]->loaded->translator, used->translator);
    ck_assert_str_eq(new->all[0]->loaded->info.name,
                     used->info.name); /* both are there, the old one while it is used */
    ck_assert(!loaded_model_used(used) && !old->all[0]->loaded);
    ck_assert_ptr_eq(new->all[0]->metrics, old->all[0]->metrics);
    ck_assert_str_eq(new->all[0]->loaded->info.compute, used->info.compute);
    loaded_model_release(used);
    model_set_release(old);
    model_set_release(new);
}
END_TEST

START_TEST(why_it_failed_is_told) {
    set_folder("tests/golden/no-such-model");
    struct reload reload = reload_now();
    ck_assert_uint_eq(reload.generation, 0);
    ck_assert_int_eq(reload.error.code, ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(reload.error.message, "cannot load tests/golden/no-such-model: "));
    struct model_set *models = catalog_acquire(catalog);
    ck_assert_uint_eq(models->generation, 1);
    model_set_release(models);
    ck_assert_str_eq(catalog_reloading(catalog), "failed");
}
END_TEST

START_TEST(nobody_is_told_once_closed) {
    struct reload reload = {.finish = post};
    catalog_close(catalog);
    ck_assert(!catalog_reload(catalog, &reload));
}
END_TEST

/* Whether its load still ran or not: the answer comes before the close ends. */
static void count(struct reload *reload) {
    ++*(size_t *)reload->owner;
}

START_TEST(all_are_told_at_the_close) {
    enum { WAITING = 5 };
    struct reload reloads[WAITING];
    size_t told = 0;
    for (size_t i = 0; i < WAITING; i++) {
        reloads[i] = (struct reload){.finish = count, .owner = &told};
        ck_assert(catalog_reload(catalog, &reloads[i]));
    }
    catalog_close(catalog);
    ck_assert_uint_eq(told, WAITING);
    for (size_t i = 0; i < WAITING; i++)
        ck_assert(reloads[i].generation > 0 || reloads[i].error.code == ERROR_NONE);
}
END_TEST

/* A folder that is given twice is one model, and what is in the directory waits until it is asked
 * for. */
START_TEST(given_twice) {
    char once[] = "tests/golden/luong-general-gru", again[] = "tests/golden/luong-general-gru/",
         *twice[] = {once, again};
    const struct name_list given = {twice, 2};
    const struct catalog_options options = {.folders = &given,
                                            .directory = "tests/golden",
                                            .loading.compute = "float32",
                                            .loading.workers = 1,
                                            .loading.rows = 4,
                                            .most_waiting = 8};
    struct catalog *other = catalog_create(&options, metrics);
    ck_assert_int_eq(catalog_open(other, NULL), 0);
    struct model_set *models = catalog_acquire(other);
    ck_assert_uint_gt(models->count, 2);
    for (size_t i = 0; i < models->count; i++) {
        struct model_view view = catalog_view(other, models->all[i]);
        ck_assert_int_eq(view.state, i == 0 ? MODEL_READY : MODEL_COLD);
        loaded_model_release(view.loaded);
    }
    model_set_release(models);
    catalog_free(other);
}
END_TEST

/* An error is kept without what it tells of the folder's place, and otherwise as it was. */
START_TEST(places_are_left_out) {
    static const struct {
        const char *folder, *message, *kept;
    } rows[] = {
        {"/srv/models/a", "cannot open /srv/models/a/config.json: No such file",
         "cannot open config.json: No such file"},
        {"/srv/models/a/", "\"/srv/models/a/x\" and /srv/models/a/y", "\"x\" and y"},
        {"a", "a/manifest.json: a tensor, and a matrix", "manifest.json: a tensor, and a matrix"},
        {".", "./model.safetensors is listed in ./manifest.json. It has 3.5 MB.",
         "model.safetensors is listed in manifest.json. It has 3.5 MB."},
        {"..", "cannot read ../config.json: line 1...", "cannot read config.json: line 1..."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[256];
        strcpy(message, rows[i].message);
        model_set_hide_folder(rows[i].folder, message);
        ck_assert_str_eq(message, rows[i].kept);
    }
}
END_TEST

static atomic_bool enough;

static void *hold_and_give_back(void *argument) {
    (void)argument;
    while (!atomic_load(&enough)) {
        struct model_set *models = catalog_acquire(catalog);
        ck_assert_str_eq(models->all[0]->info.name, "luong-general-gru");
        model_set_release(models);
    }
    return NULL;
}

START_TEST(sets_are_held_while_others_load) {
    enum { THREADS = 3, RELOADS = 5 };
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hold_and_give_back, NULL);
    for (size_t i = 0; i < RELOADS; i++)
        ck_assert_uint_eq(reload_now().generation, i + 2);
    atomic_store(&enough, true);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

static bool is_empty(const char *directory) {
    size_t entries = 0;
    DIR *open = opendir(directory);
    while (readdir(open))
        entries++;
    closedir(open);
    return entries == 2; /* "." and ".." */
}

static void post_wait(struct model_wait *wait) {
    sem_post(wait->owner);
}

/* A request with the old set still loads the model, and the files are deleted when the set is
 * released. */
START_TEST(evicted_while_requests_have_it) {
    char directory[] = "/tmp/alignd-evicted-XXXXXX", line[256], folder[64];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(folder, sizeof folder, "%s/luong-general-gru", directory);
    snprintf(line, sizeof line, "cp -rL tests/golden/luong-general-gru %s", directory);
    ck_assert_int_eq(system(line), 0);
    const struct name_list none = {0};
    const struct catalog_options options = {.folders = &none,
                                            .directory = directory,
                                            .loading.compute = "float32",
                                            .loading.workers = 1,
                                            .loading.rows = 4,
                                            .most_waiting = 8,
                                            .usual = "luong-general-gru"};
    struct catalog_options plain = options;
    struct catalog *other = catalog_create(&options, metrics);
    struct error error = {0};
    ck_assert_int_eq(catalog_open(other, NULL), 0);
    ck_assert_int_eq(catalog_evict(other, folder, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.message, "is the default model"));
    catalog_free(other);

    plain.usual = NULL;
    other = catalog_create(&plain, metrics);
    ck_assert_int_eq(catalog_open(other, NULL), 0);
    ck_assert_int_eq(catalog_used_us(other, folder), 0);
    struct model_set *old = catalog_acquire(other);
    ck_assert_int_eq(catalog_evict(other, folder, NULL), 0);
    ck_assert_int_ne(access(folder, F_OK), 0);
    struct model_set *now = catalog_acquire(other);
    ck_assert_uint_eq(now->count, 0);
    model_set_release(now);

    sem_t done;
    struct model_wait wait = {
        .model = old->all[0], .deadline_us = INT64_MAX, .finish = post_wait, .owner = &done};
    sem_init(&done, 0, 0);
    ck_assert(catalog_await(other, &wait));
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    ck_assert_msg(wait.loaded != NULL, "%s", wait.error.message);
    loaded_model_release(wait.loaded);
    ck_assert(!is_empty(directory));
    model_set_release(old);
    catalog_free(other); /* its loader may have had the last reference */
    ck_assert(is_empty(directory));
    rmdir(directory);
}
END_TEST

Suite *catalog_suite(void) {
    Suite *suite = suite_create("catalog");
    TCase *tcase = tcase_create("catalog");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, given_twice);
    tcase_add_test(tcase, places_are_left_out);
    tcase_add_test(tcase, who_waits_is_told);
    tcase_add_test(tcase, why_it_failed_is_told);
    tcase_add_test(tcase, nobody_is_told_once_closed);
    tcase_add_test(tcase, all_are_told_at_the_close);
    tcase_add_test(tcase, sets_are_held_while_others_load);
    tcase_add_test(tcase, evicted_while_requests_have_it);
    suite_add_tcase(suite, tcase);
    return suite;
}
