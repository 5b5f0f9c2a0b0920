#include "server/decode/catalog.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/decode/model_folders.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LOADER_NICE = 5 };

struct catalog {
    struct catalog_options options;
    struct metrics *metrics;
    struct loading loading;
    atomic_size_t taken;
    struct integrity *integrity;
    struct residence *residence;
    pthread_t loader;
    bool started; /* the loader; the owner's */

    pthread_mutex_t changing; /* held by whoever makes the next set; guards added */
    struct name_list added;   /* folders */

    pthread_mutex_t lock;     /* guards everything below */
    pthread_cond_t changed;   /* asked or closed was set */
    struct model_set *models; /* in service; NULL: none yet */
    struct reload *waiting;   /* for the next load */
    bool asked, closed;
    const char *reloading;
};

struct catalog *catalog_create(const struct catalog_options *options, struct metrics *metrics) {
    struct catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return NULL;
    catalog->options = *options;
    catalog->metrics = metrics;
    catalog->reloading = "none";
    catalog->integrity = integrity_create();
    catalog->loading = (struct loading){.compute = options->compute,
                                        .shortlist = options->shortlist,
                                        .half_past = options->half_past,
                                        .workers = options->workers,
                                        .rows = options->rows,
                                        .metrics = metrics,
                                        .taken = &catalog->taken,
                                        .integrity = catalog->integrity};
    if (catalog->integrity)
        catalog->residence = residence_create(&(struct residence_options){.loading = catalog->loading,
                                                                          .most_bytes = options->most_bytes,
                                                                          .idle_us = options->idle_us,
                                                                          .most_waiting = options->most_waiting});
    if (!catalog->residence) {
        integrity_free(catalog->integrity);
        free(catalog);
        return NULL;
    }
    pthread_mutex_init(&catalog->changing, NULL);
    pthread_mutex_init(&catalog->lock, NULL);
    pthread_cond_init(&catalog->changed, NULL);
    return catalog;
}

struct model_set *catalog_acquire(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    struct model_set *models = catalog->models ? model_set_acquire(catalog->models) : NULL;
    pthread_mutex_unlock(&catalog->lock);
    return models;
}

struct residence *catalog_residence(struct catalog *catalog) {
    return catalog->residence;
}

static bool has(const struct model_set *models, const struct served_model *model) {
    for (size_t i = 0; i < models->count; i++) {
        if (models->all[i] == model)
            return true;
    }
    return false;
}

/* The old set is given back without the lock: it may be the last reference. */
static void put_in_service(struct catalog *catalog, struct model_set *models) {
    if (catalog->options.usual && !model_set_find(models, catalog->options.usual))
        log_event(LOG_WARN, "default_model_missing", "model=%s", catalog->options.usual);
    pthread_mutex_lock(&catalog->lock);
    struct model_set *old = catalog->models;
    catalog->models = models;
    pthread_mutex_unlock(&catalog->lock);
    for (size_t i = 0; i < models->count; i++) {
        if (!old || !has(old, models->all[i]))
            residence_enter(catalog->residence, models->all[i]);
    }
    for (size_t i = 0; old && i < old->count; i++) {
        if (!has(models, old->all[i]))
            residence_leave(catalog->residence, old->all[i]);
    }
    model_set_release(old);
}

/* ---- sets ---- */

/* The one that is from this folder. */
static struct served_model *find_folder(const struct model_set *models, const char *folder) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->all[i]->folder, folder) == 0)
            return models->all[i];
    }
    return NULL;
}

/* broken: a folder that cannot be read is in the set, too, and one whose name is taken is left out. */
static int read_folder(struct catalog *catalog, struct model_set *models, const char *folder, bool broken, struct error *err) {
    struct error inner = {0};
    struct served_model *model = served_model_read(folder, broken, &catalog->loading, err);
    if (!model)
        return -1;
    if (find_folder(models, model->folder)) {
        served_model_release(model);
        return 0;
    }
    if (model_set_add(models, model, &inner) == 0)
        return 0;
    if (broken && inner.code == ERROR_INPUT) {
        log_event(LOG_WARN, "model_left_out", "folder=%s reason=%s", folder, inner.message);
        return 0;
    }
    return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
}

static int read_list(struct catalog *catalog, struct model_set *models, const struct name_list *folders, bool broken,
                     struct error *err) {
    for (size_t i = 0; i < folders->count; i++) {
        if (read_folder(catalog, models, folders->names[i], broken, err) != 0)
            return -1;
    }
    return 0;
}

/* *given: how many of them are from the folders of --model; the first ones. */
static int read_all(struct catalog *catalog, struct model_set *models, size_t *given, struct error *err) {
    struct name_list found = {0};
    const char *directory = catalog->options.directory;
    int result = read_list(catalog, models, catalog->options.folders, false, err);
    *given = models->count;
    if (result == 0 && directory)
        result = model_folders_list(&found, directory, err);
    if (result == 0)
        result = read_list(catalog, models, &found, true, err);
    if (result == 0)
        result = read_list(catalog, models, &catalog->added, true, err);
    name_list_done(&found);
    return result;
}

/* At the start the folders that were given, as far as there is room; later those whose models are in memory. */
static bool wants_loading(struct catalog *catalog, const struct model_set *former, struct served_model *model, bool given) {
    if (!former)
        return given && residence_has_room(catalog->residence, model->bytes);
    struct served_model *old = find_folder(former, model->folder);
    if (!old)
        return false;
    struct model_view view = residence_view(catalog->residence, old);
    loaded_model_release(view.loaded);
    model->compute = view.compute;
    return view.state == MODEL_READY;
}

/* At the start larger files are checked while their model is in use already; a reload has the time. */
static int load_model(struct catalog *catalog, struct served_model *model, bool start, struct error *err) {
    struct error inner = {0};
    struct loading loading = catalog->loading;
    loading.extent = start ? INTEGRITY_QUICK : INTEGRITY_WHOLE;
    struct loaded_model *loaded = model->card ? served_model_open(model, model->compute, &loading, &inner) : NULL;
    if (loaded)
        served_model_set(model, loaded);
    else if (!model->card)
        inner = model->error;
    return loaded ? 0 : error_set(err, inner.code, "cannot load %s: %s", model->folder, inner.message);
}

/* The next set, with a reference. NULL: the message names the folder. */
static struct model_set *make_set(struct catalog *catalog, const struct model_set *former, struct error *err) {
    struct model_set *models = model_set_create(former ? former->generation + 1 : 1, catalog->metrics);
    size_t given = 0;
    const char *usual = catalog->options.usual;
    int result = models ? read_all(catalog, models, &given, err) : error_memory(err);
    if (result == 0 && !former && usual && !model_set_find(models, usual))
        result = error_set(err, ERROR_INPUT, "--default-model: there is no model \"%.60s\" among those that are served", usual);
    for (size_t i = 0; result == 0 && i < models->count; i++) {
        if (wants_loading(catalog, former, models->all[i], i < given))
            result = load_model(catalog, models->all[i], !former, err);
    }
    if (result == 0)
        return models;
    model_set_release(models);
    return NULL;
}

/* ---- the loader ---- */

/* Until a load is asked for: those who wait for it. False: the catalog is closed. */
static bool await_order(struct catalog *catalog, struct reload **waiting) {
    pthread_mutex_lock(&catalog->lock);
    while (!catalog->asked && !catalog->closed)
        pthread_cond_wait(&catalog->changed, &catalog->lock);
    bool open = !catalog->closed;
    *waiting = catalog->waiting;
    catalog->waiting = NULL;
    catalog->asked = false;
    if (open)
        catalog->reloading = "running";
    pthread_mutex_unlock(&catalog->lock);
    return open;
}

/* Returns the generation; 0: nothing has changed. */
static size_t load_next(struct catalog *catalog, struct error *err) {
    int64_t began_us = clock_us();
    struct model_set *current = catalog_acquire(catalog), *next = make_set(catalog, current, err);
    model_set_release(current);
    long long duration_ms = (clock_us() - began_us) / 1000;
    if (!next) {
        log_event(LOG_ERROR, "reload_failed", "what=models duration_ms=%lld reason=%s", duration_ms, err->message);
        return 0;
    }
    size_t generation = next->generation;
    put_in_service(catalog, next);
    log_event(LOG_INFO, "reloaded", "what=models generation=%zu duration_ms=%lld", generation, duration_ms);
    return generation;
}

static void tell(struct reload *waiting, size_t generation, const struct error *error) {
    while (waiting) {
        struct reload *reload = waiting;
        waiting = reload->next;
        reload->generation = generation;
        reload->error = *error;
        reload->finish(reload);
    }
}

static void reload(struct catalog *catalog, struct reload *waiting) {
    struct error error = {0};
    pthread_mutex_lock(&catalog->changing);
    size_t generation = load_next(catalog, &error);
    pthread_mutex_unlock(&catalog->changing);
    pthread_mutex_lock(&catalog->lock);
    catalog->reloading = generation > 0 ? "done" : "failed";
    pthread_mutex_unlock(&catalog->lock);
    metrics_reloaded(catalog->metrics, generation > 0);
    tell(waiting, generation, &error);
}

static void *catalog_run(void *argument) {
    struct catalog *catalog = argument;
    struct reload *waiting;
    setpriority(PRIO_PROCESS, 0, LOADER_NICE); /* on Linux of this thread alone: decoding goes before loading */
    while (await_order(catalog, &waiting))
        reload(catalog, waiting);
    tell(waiting, 0, &(struct error){0});
    return NULL;
}

/* ---- the owner ---- */

int catalog_open(struct catalog *catalog, struct error *err) {
    struct model_set *models = make_set(catalog, NULL, err);
    if (!models)
        return -1;
    put_in_service(catalog, models);
    if (residence_start(catalog->residence, err) != 0)
        return -1;
    if (pthread_create(&catalog->loader, NULL, catalog_run, catalog) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the thread that reloads models");
    catalog->started = true;
    return 0;
}

bool catalog_reload(struct catalog *catalog, struct reload *reload) {
    pthread_mutex_lock(&catalog->lock);
    bool open = !catalog->closed;
    if (open && reload) {
        reload->next = catalog->waiting;
        catalog->waiting = reload;
    }
    catalog->asked = open;
    if (open)
        log_event(LOG_INFO, "reload_asked", "what=models"); /* before it can begin */
    pthread_cond_signal(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
    return open;
}

const char *catalog_reloading(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    const char *reloading = catalog->reloading;
    pthread_mutex_unlock(&catalog->lock);
    return reloading;
}

/* ---- one model ---- */

/* The set in service, changed; changing is held. */
static struct model_set *next_set(struct catalog *catalog, const struct served_model *but, struct error *err) {
    struct model_set *former = catalog_acquire(catalog);
    struct model_set *models = model_set_create(former->generation + 1, catalog->metrics);
    int result = models ? model_set_add_all(models, former, but, err) : error_memory(err);
    model_set_release(former);
    if (result == 0)
        return models;
    model_set_release(models);
    return NULL;
}

static int add_model(struct catalog *catalog, struct served_model *model, struct error *err) {
    struct model_set *models = next_set(catalog, NULL, err);
    if (!models || model_set_add(models, served_model_acquire(model), err) != 0 ||
        (!name_list_has(&catalog->added, model->folder) &&
         name_list_add(&catalog->added, model->folder, strlen(model->folder)) != 0 && error_memory(err) != 0)) {
        model_set_release(models);
        return -1;
    }
    put_in_service(catalog, models);
    return 0;
}

enum catalog_verdict catalog_add(struct catalog *catalog, const char *folder, struct served_model **added, struct error *err) {
    if (pthread_mutex_trylock(&catalog->changing) != 0)
        return CATALOG_BUSY;
    struct served_model *model = served_model_read(folder, false, &catalog->loading, err);
    int result = model ? add_model(catalog, model, err) : -1;
    pthread_mutex_unlock(&catalog->changing);
    if (result != 0) {
        served_model_release(model);
        return CATALOG_REFUSED;
    }
    residence_order(catalog->residence, model);
    log_event(LOG_INFO, "model_added", "model=%s folder=%s", model->info.name, model->folder);
    *added = model;
    return CATALOG_DONE;
}

static enum catalog_verdict remove_model(struct catalog *catalog, const char *name, struct error *err) {
    struct model_set *former = catalog_acquire(catalog);
    struct served_model *model = model_set_find(former, name);
    struct model_set *models = model ? next_set(catalog, model, err) : NULL;
    if (models) {
        name_list_remove(&catalog->added, model->folder);
        put_in_service(catalog, models);
        log_event(LOG_INFO, "model_removed", "model=%s", model->info.name);
    }
    model_set_release(former);
    return models ? CATALOG_DONE : model ? CATALOG_REFUSED : CATALOG_UNKNOWN;
}

enum catalog_verdict catalog_remove(struct catalog *catalog, const char *name, struct error *err) {
    if (pthread_mutex_trylock(&catalog->changing) != 0)
        return CATALOG_BUSY;
    enum catalog_verdict verdict = remove_model(catalog, name, err);
    pthread_mutex_unlock(&catalog->changing);
    return verdict;
}

/* ---- the end ---- */

void catalog_close(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    catalog->closed = true;
    pthread_cond_signal(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
    integrity_stop(catalog->integrity);
    if (catalog->started)
        pthread_join(catalog->loader, NULL);
    catalog->started = false;
    residence_close(catalog->residence);
}

void catalog_free(struct catalog *catalog) {
    if (!catalog)
        return;
    catalog_close(catalog);
    model_set_release(catalog->models);
    residence_free(catalog->residence);
    integrity_free(catalog->integrity);
    name_list_done(&catalog->added);
    pthread_mutex_destroy(&catalog->changing);
    pthread_cond_destroy(&catalog->changed);
    pthread_mutex_destroy(&catalog->lock);
    free(catalog);
}
