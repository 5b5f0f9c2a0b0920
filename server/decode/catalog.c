#include "server/decode/catalog.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { LOADER_NICE = 5 };

struct catalog {
    struct model_set_options options;
    struct metrics *metrics;
    pthread_t loader;
    bool started; /* the loader; the owner's */

    pthread_mutex_t lock;     /* guards everything below */
    pthread_cond_t changed;   /* asked or closed was set */
    struct model_set *models; /* in service; NULL: none yet */
    struct reload *waiting;   /* for the next load */
    bool asked, closed;
    const char *reloading;
};

struct catalog *catalog_create(const struct model_set_options *options, struct metrics *metrics) {
    struct catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return NULL;
    catalog->options = *options;
    catalog->metrics = metrics;
    catalog->reloading = "none";
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

/* The old set is given back without the lock: it may be the last reference. */
static void put_in_service(struct catalog *catalog, struct model_set *models) {
    pthread_mutex_lock(&catalog->lock);
    struct model_set *old = catalog->models;
    catalog->models = models;
    pthread_mutex_unlock(&catalog->lock);
    model_set_release(old);
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
    struct model_set *current = catalog_acquire(catalog), *next = model_set_load(&catalog->options, current, catalog->metrics, err);
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
    size_t generation = load_next(catalog, &error);
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
    struct model_set *models = model_set_load(&catalog->options, NULL, catalog->metrics, err);
    if (!models)
        return -1;
    put_in_service(catalog, models);
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

void catalog_close(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    catalog->closed = true;
    pthread_cond_signal(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
    if (catalog->started)
        pthread_join(catalog->loader, NULL);
    catalog->started = false;
}

void catalog_free(struct catalog *catalog) {
    if (!catalog)
        return;
    catalog_close(catalog);
    model_set_release(catalog->models);
    pthread_cond_destroy(&catalog->changed);
    pthread_mutex_destroy(&catalog->lock);
    free(catalog);
}
