/* This module hides the life of the models in service: how one set replaces another, and when a
 * model is loaded and unloaded.
 *
 * Threads. The loader loads one model after the other, while others decode, at a lower priority.
 * The keeper unloads models that are idle or exceed the limit, and ends waits at their deadline.
 * The reloader makes the next set; between reloads it compares the larger files of loaded models
 * with their manifests, while the models are already in use. Waits end (finish is called) without
 * the lock held.
 *
 * The lock protects the state of every model in service, and the lists. References are counted
 * without it, but the first reference to a model is only taken with it: a model found unused with
 * the lock held stays unused. */
#include "server/models/catalog.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LOADER_NICE = 5,
    RETRY_US = 10 * 1000 * 1000, /* the time before a failed model is tried again */
    ROOM_US =
        1000 *
        1000, /* the time that a load for which no request waits does wait for models in use */
    TURN_US = 1000 * 1000, /* the time that a load for which a request waits leaves models in use */
    LOOK_US = 20 * 1000,   /* the time between two checks of conditions that are not signalled */
    MOST_LOOK_US = 1000 * 1000, /* the time between two checks for idle models */
    THREADS = 3
};

struct catalog {
    struct catalog_options options; /* constant */
    struct loading loading;         /* constant */
    struct metrics *metrics;
    atomic_size_t taken;        /* bytes of all models in memory */
    atomic_size_t retired;      /* models in memory that are out of service */
    pthread_t threads[THREADS]; /* [started]; only the owner uses them */
    size_t started;

    pthread_mutex_t lock;     /* protects everything below, and the state of the models */
    pthread_cond_t changed;   /* something changed that a thread or a caller waits for */
    struct model_set *models; /* the set in service; NULL: none yet */
    bool changing;            /* a thread is making the next set */
    struct name_list added;   /* added folders; only the thread that set `changing` uses them */
    struct reload *reloads;   /* waits for the next reload */
    bool reload_ordered;
    const char *reloading;
    struct served_model *orders; /* by next, oldest first, with a reference each */
    struct served_model *kept;   /* by next_kept: ready models in service, with a reference each */
    struct model_wait *waiting;
    size_t wait_count; /* including those whose finish is being called */
    bool closed;
};

/* ---- the states; all functions require the lock, unless the model is not in service yet ---- */

/* Loads the model without changing its state. The error does not name the folder. */
static struct loaded_model *load_model(const struct catalog *catalog,
                                       const struct served_model *model,
                                       enum integrity_extent extent, struct error *err) {
    struct loading loading = catalog->loading;
    loading.extent = extent;
    struct loaded_model *loaded = loaded_model_open(model->moved ? model->moved : model->folder,
                                                    model->compute, &loading, err);
    if (!loaded)
        return NULL;
    const struct translator_info *is = &loaded->info, *was = &model->info;
    if (strcmp(is->name, was->name) == 0 && strcmp(is->source, was->source) == 0 &&
        strcmp(is->target, was->target) == 0 && is->attention == was->attention &&
        is->alignment_head == was->alignment_head && is->heads == was->heads &&
        is->quality == was->quality)
        return loaded;
    error_set(err, ERROR_FILE, "the folder now contains another model: reload the models");
    loaded_model_release(loaded);
    return NULL;
}

/* Takes ownership of the reference. Requires the lock, unless the model is not in service yet. */
static void set_loaded(struct served_model *model, struct loaded_model *loaded) {
    model->loaded = loaded;
    model->state = MODEL_READY;
    model->compute = loaded->info.compute;
    model->bytes = loaded->bytes;
    model->asked_us = clock_us();
    model->unchecked = loaded->files.listed && !loaded->files.checked;
}

/* Requires the lock. */
static void set_failed(struct served_model *model, const struct error *error) {
    model->error = *error;
    model_set_hide_folder(model->moved ? model->moved : model->folder, model->error.message);
    model->state = MODEL_FAILED;
    model->changed_us = clock_us();
}

struct model_set *catalog_acquire(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    struct model_set *models = catalog->models ? model_set_acquire(catalog->models) : NULL;
    pthread_mutex_unlock(&catalog->lock);
    return models;
}

/* ---- room; all functions require the lock ----
 *
 * A model that is unloaded is cold at once. It is put on a list, gone, and freed by free_gone
 * without the lock; until then its bytes count as taken. */

static void keep(struct catalog *catalog, struct served_model *model) {
    model->next_kept = catalog->kept;
    catalog->kept = served_model_acquire(model);
    if (model->unchecked)
        pthread_cond_broadcast(&catalog->changed);
}

/* Does nothing if the model is not kept. The released reference is never the last one: a kept model
 * is in service, or the caller has another reference. */
static void unkeep(struct catalog *catalog, struct served_model *model) {
    struct served_model **link = &catalog->kept;
    while (*link && *link != model)
        link = &(*link)->next_kept;
    if (!*link)
        return;
    *link = model->next_kept;
    served_model_release(model);
}

/* Gives up the model's own reference to what is in memory, which its last user then frees. */
static void let_go(struct catalog *catalog, struct served_model *model,
                   struct loaded_model **gone) {
    model->loaded->next = *gone;
    *gone = model->loaded;
    loaded_model_retire(model->loaded, &catalog->retired);
    model->loaded = NULL;
    model->state = MODEL_COLD;
}

static void unload(struct catalog *catalog, struct served_model *model, const char *reason,
                   struct loaded_model **gone) {
    let_go(catalog, model, gone);
    log_event(LOG_INFO, "model_unloaded", log_text("model", model->info.name),
              log_count("bytes", model->bytes), log_text("reason", reason));
    metrics_count(catalog->metrics, MODEL_UNLOADED);
    unkeep(catalog, model);
}

/* Called without the lock. Returns the memory to the system. */
static void free_gone(struct loaded_model *gone) {
    bool any = gone != NULL;
    for (struct loaded_model *next; gone; gone = next) {
        next = gone->next;
        loaded_model_release(gone);
    }
    if (any)
        malloc_trim(0);
}

/* Returns the least recently used model that is not in use. */
static struct served_model *find_oldest(const struct catalog *catalog) {
    struct served_model *oldest = NULL;
    for (struct served_model *model = catalog->kept; model; model = model->next_kept) {
        if (!loaded_model_used(model->loaded) && (!oldest || model->asked_us < oldest->asked_us))
            oldest = model;
    }
    return oldest;
}

/* Returns whether a model of this many bytes fits beside others. */
static bool fits_beside(const struct catalog *catalog, size_t bytes, size_t others) {
    size_t most = catalog->options.most_bytes;
    return most == 0 || (bytes <= most && others <= most - bytes);
}

/* Returns whether this many bytes would fit if all unused models were unloaded. */
static bool could_fit(const struct catalog *catalog, size_t bytes) {
    size_t taken = atomic_load(&catalog->taken), unused = 0;
    for (const struct served_model *model = catalog->kept; model; model = model->next_kept)
        unused += loaded_model_used(model->loaded) ? 0 : model->loaded->bytes;
    return fits_beside(catalog, bytes, taken > unused ? taken - unused : 0);
}

/* Sets the reason why there is no room for the model. others: beside which models, if it is not too
 * large by itself. */
static void fail_room(const struct catalog *catalog, const struct served_model *model,
                      const char *others, struct error *err) {
    size_t most = catalog->options.most_bytes;
    if (model->bytes > most)
        error_set(err, ERROR_MEMORY,
                  "it needs about %zu bytes, which is more than --model-memory (%zu)", model->bytes,
                  most);
    else
        error_set(err, ERROR_MEMORY,
                  "it needs about %zu bytes, which do not fit into --model-memory (%zu) beside %s",
                  model->bytes, most, others);
}

static const char in_use[] = "the models in use";

static bool is_over(const struct catalog *catalog) {
    return catalog->options.most_bytes > 0 &&
           atomic_load(&catalog->taken) > catalog->options.most_bytes;
}

/* Returns whether the load of the model is ordered and has not begun. */
static bool is_ordered(const struct catalog *catalog, const struct served_model *model) {
    const struct served_model *ordered = catalog->orders;
    while (ordered && ordered != model)
        ordered = ordered->next;
    return ordered != NULL;
}

/* ---- waits for a model ---- */

/* Returns whether the wait is over although its model is not loaded, and sets its error if it is
 * for lack of room. Requires the lock. */
static bool is_wait_over(const struct catalog *catalog, struct model_wait *wait, int64_t now_us) {
    if (catalog->closed || now_us >= wait->deadline_us ||
        (wait->cancelled && atomic_load(wait->cancelled)))
        return true;
    if (now_us < wait->room_us || !is_ordered(catalog, wait->model) ||
        could_fit(catalog, wait->model->bytes))
        return false;
    fail_room(catalog, wait->model, in_use, &wait->error);
    return true;
}

/* Removes the waits for this model from the list or, if model is NULL, the waits that are over.
 * Requires the lock. */
static struct model_wait *take_waits(struct catalog *catalog, const struct served_model *model) {
    struct model_wait *taken = NULL;
    int64_t now_us = clock_us();
    for (struct model_wait **link = &catalog->waiting; *link;) {
        struct model_wait *wait = *link;
        if (model ? wait->model != model : !is_wait_over(catalog, wait, now_us)) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        wait->next = taken;
        taken = wait;
    }
    return taken;
}

/* Sets the outcome of each wait: the model or the error. Requires the lock. */
static void set_outcome(struct model_wait *waits, struct loaded_model *loaded,
                        const struct error *error) {
    for (struct model_wait *wait = waits; wait; wait = wait->next) {
        wait->loaded = loaded ? loaded_model_acquire(loaded) : NULL;
        wait->error = *error;
    }
}

/* Called without the lock. */
static void finish_waits(struct catalog *catalog, struct model_wait *waits) {
    size_t count = 0;
    for (struct model_wait *next; waits; waits = next, count++) {
        next = waits->next;
        waits->finish(waits);
    }
    pthread_mutex_lock(&catalog->lock);
    catalog->wait_count -= count;
    if (catalog->wait_count == 0)
        pthread_cond_broadcast(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
}

/* Requires the lock. */
static bool has_failed(const struct served_model *model) {
    return model->state == MODEL_FAILED &&
           (!model->card || clock_us() - model->changed_us < RETRY_US);
}

/* Requires the lock. */
static void order(struct catalog *catalog, struct served_model *model) {
    if (model->state == MODEL_LOADING || catalog->closed)
        return;
    struct served_model **end = &catalog->orders;
    while (*end)
        end = &(*end)->next;
    model->state = MODEL_LOADING;
    model->changed_us = clock_us();
    model->next = NULL;
    *end = served_model_acquire(model);
    pthread_cond_broadcast(&catalog->changed);
}

enum catalog_readiness catalog_take(struct catalog *catalog, struct served_model *model,
                                    struct loaded_model **loaded, struct error *err) {
    enum catalog_readiness readiness = CATALOG_NOT_YET;
    pthread_mutex_lock(&catalog->lock);
    if (model->state == MODEL_READY) {
        model->asked_us = model->used_us = clock_us();
        *loaded = loaded_model_acquire(model->loaded);
        readiness = CATALOG_READY;
    } else if (has_failed(model)) {
        error_set(err, model->error.code, "%s", model->error.message);
        readiness = CATALOG_FAILED;
    }
    pthread_mutex_unlock(&catalog->lock);
    return readiness;
}

bool catalog_await(struct catalog *catalog, struct model_wait *wait) {
    struct served_model *model = wait->model;
    pthread_mutex_lock(&catalog->lock);
    bool taken = !catalog->closed && catalog->wait_count < catalog->options.most_waiting;
    bool known = taken && (model->state == MODEL_READY || has_failed(model));
    bool never = taken && !known && wait->held_bytes > 0 &&
                 !fits_beside(catalog, model->bytes, wait->held_bytes);
    wait->next = NULL;
    model->asked_us = model->used_us = clock_us();
    if (known) {
        set_outcome(wait, model->loaded, &model->error);
    } else if (never) {
        fail_room(catalog, model, "the other models of the request", &wait->error);
    } else if (taken) {
        order(catalog, model);
        wait->next = catalog->waiting;
        catalog->waiting = wait;
        pthread_cond_broadcast(&catalog->changed);
    }
    catalog->wait_count += taken;
    pthread_mutex_unlock(&catalog->lock);
    if (known || never)
        finish_waits(catalog, wait);
    return taken;
}

bool catalog_wait(struct catalog *catalog, size_t timeout_ms) {
    return clock_wait_zero(&catalog->changed, &catalog->lock, &catalog->wait_count, timeout_ms);
}

size_t catalog_bytes(const struct catalog *catalog) {
    return atomic_load(&catalog->taken);
}

struct model_view catalog_view(struct catalog *catalog, struct served_model *model) {
    const struct loading *loading = &catalog->loading;
    const char *planned =
        model->card ? translator_card_compute(model->card, loading->compute) : NULL;
    bool listed =
        loading->shortlist == SWITCH_OF_MODEL ? model->info.lists : loading->shortlist == SWITCH_ON;
    pthread_mutex_lock(&catalog->lock);
    struct model_view view = {.state = model->state,
                              .bytes = model->bytes,
                              .compute = model->compute ? model->compute : planned,
                              .shortlist = listed,
                              .unchecked = model->unchecked,
                              .in_use = model->used_us > 0 && !model->unchecked && model->loaded &&
                                        loaded_model_used(model->loaded),
                              .used_us = model->used_us,
                              .loaded = model->loaded ? loaded_model_acquire(model->loaded) : NULL,
                              .error = model->error};
    pthread_mutex_unlock(&catalog->lock);
    return view;
}

/* ---- the loader ---- */

static bool is_awaited(const struct catalog *catalog, const struct served_model *model) {
    const struct model_wait *wait = catalog->waiting;
    while (wait && wait->model != model)
        wait = wait->next;
    return wait != NULL;
}

/* Lets go of models in use, least recently used first, until a model of this many bytes will fit
 * once the requests that have them have ended. Later requests for these models wait until they are
 * loaded again. Requires the lock. */
static void give_way(struct catalog *catalog, size_t bytes, struct loaded_model **gone) {
    for (;;) {
        struct served_model *victim = NULL;
        size_t used = 0;
        for (struct served_model *model = catalog->kept; model; model = model->next_kept) {
            if (!loaded_model_used(model->loaded))
                continue;
            used += model->loaded->bytes;
            if (!victim || model->asked_us < victim->asked_us)
                victim = model;
        }
        if (!victim || fits_beside(catalog, bytes, used))
            return;
        unload(catalog, victim, "turn", gone);
    }
}

/* Takes the first order that can be carried out now, and makes room for it, or one that has no room
 * and is not worth waiting for. If *fits is false, err has the reason. An order that has waited for
 * long is not overtaken, and models in use give way to it, so that their requests do not keep it
 * out for ever. Requires the lock. */
static struct served_model *take_order(struct catalog *catalog, bool *fits,
                                       struct loaded_model **gone, struct error *err) {
    size_t most = catalog->options.most_bytes;
    int64_t now_us = clock_us();
    bool turn = false; /* an order that must not be overtaken waits */
    for (struct served_model **link = &catalog->orders; *link; link = &(*link)->next) {
        struct served_model *model = *link, *oldest;
        bool never = !fits_beside(catalog, model->bytes, 0);
        *fits = could_fit(catalog, model->bytes);
        bool awaited = is_awaited(catalog, model);
        int64_t waited_us = now_us - model->changed_us;
        bool waits = !*fits && !never && (awaited || waited_us < ROOM_US);
        if (waits && awaited && waited_us >= TURN_US && !turn) {
            give_way(catalog, model->bytes, gone);
            turn = true;
        }
        if (waits || (turn && *fits))
            continue;
        size_t taken = atomic_load(&catalog->taken);
        while (*fits && most > 0 && taken + model->bytes > most &&
               (oldest = find_oldest(catalog)) != NULL) {
            taken -= oldest->loaded->bytes;
            unload(catalog, oldest, "room", gone);
        }
        *link = model->next;
        if (!*fits)
            fail_room(catalog, model, in_use, err);
        return model;
    }
    return NULL;
}

static void *loader_run(void *argument) {
    struct catalog *catalog = argument;
    setpriority(PRIO_PROCESS, 0, LOADER_NICE); /* on Linux this affects only this thread: decoding
                                                  has priority over loading */
    pthread_mutex_lock(&catalog->lock);
    while (!catalog->closed) {
        struct loaded_model *loaded = NULL, *gone = NULL;
        struct error error = {0};
        bool fits;
        struct served_model *model =
            take_order(catalog, &fits, &gone, &error); /* takes over the order's reference */
        if (!model && !gone) {
            clock_wait(&catalog->changed, &catalog->lock,
                       catalog->orders ? clock_us() + LOOK_US : INT64_MAX);
            continue;
        }
        if (!model) {
            pthread_mutex_unlock(&catalog->lock);
            free_gone(gone);
            pthread_mutex_lock(&catalog->lock);
            continue;
        }
        bool later = !fits && model->bytes <= catalog->options.most_bytes; /* it may fit later */
        pthread_mutex_unlock(&catalog->lock);
        free_gone(gone);
        if (fits)
            loaded = load_model(catalog, model, INTEGRITY_QUICK, &error);

        pthread_mutex_lock(&catalog->lock);
        if (loaded)
            set_loaded(model, loaded);
        else if (later)
            model->state = MODEL_COLD;
        else
            set_failed(model, &error);
        gone = NULL;
        if (loaded && model->left)
            let_go(catalog, model, &gone);
        else if (loaded)
            keep(catalog, model);
        struct model_wait *waits = take_waits(catalog, model);
        set_outcome(waits, loaded, loaded ? &(struct error){0} : later ? &error : &model->error);
        pthread_cond_broadcast(&catalog->changed);
        pthread_mutex_unlock(&catalog->lock);
        metrics_count(catalog->metrics, loaded ? LOAD_DONE : LOAD_FAILED);
        if (!loaded)
            log_event(LOG_ERROR, "model_failed", log_text("model", model->info.name),
                      log_text("reason", error.message));
        finish_waits(catalog, waits);
        free_gone(gone);
        served_model_release(model);
        pthread_mutex_lock(&catalog->lock);
    }
    pthread_mutex_unlock(&catalog->lock);
    return NULL;
}

/* ---- the keeper ---- */

static void *keeper_run(void *argument) {
    struct catalog *catalog = argument;
    int64_t idle_us = catalog->options.idle_us, pause_us = idle_us / 4;
    pause_us = pause_us > MOST_LOOK_US ? MOST_LOOK_US : pause_us < LOOK_US ? LOOK_US : pause_us;
    pthread_mutex_lock(&catalog->lock);
    while (!catalog->closed) {
        struct loaded_model *gone = NULL;
        struct model_wait *over = take_waits(catalog, NULL);
        int64_t now_us = clock_us();
        for (struct served_model *model = catalog->kept, *next; idle_us > 0 && model;
             model = next) {
            next = model->next_kept;
            if (!loaded_model_used(model->loaded) && model->asked_us <= now_us - idle_us)
                unload(catalog, model, "idle", &gone);
        }
        /* Unloads one excess model at a time, and not in the same pass as idle ones, since the
         * bytes of unloaded models still count until they are freed. */
        struct served_model *excess = !gone && is_over(catalog) ? find_oldest(catalog) : NULL;
        if (excess)
            unload(catalog, excess, "room", &gone);
        if (!over && !gone) { /* sleeps until the next check, or until something changes */
            bool soon = catalog->waiting || (catalog->kept && is_over(catalog)),
                 idles = idle_us > 0 && catalog->kept;
            clock_wait(&catalog->changed, &catalog->lock,
                       soon    ? clock_us() + LOOK_US
                       : idles ? clock_us() + pause_us
                               : INT64_MAX);
            continue;
        }
        pthread_mutex_unlock(&catalog->lock);
        free_gone(gone);
        finish_waits(catalog, over);
        pthread_mutex_lock(&catalog->lock);
    }
    pthread_mutex_unlock(&catalog->lock);
    return NULL;
}

/* ---- the next set: only one thread at a time makes it; it has set `changing` ---- */

/* Adds the folders that are not in the set yet. broken: a folder that cannot be read is added as a
 * failed model, and a folder whose name is taken is skipped. */
static int add_folders(const struct catalog *catalog, struct model_set *models,
                       const struct name_list *folders, bool broken, struct error *err) {
    for (size_t i = 0; i < folders->count; i++) {
        const char *folder = folders->names[i];
        struct error inner = {0};
        struct served_model *model =
            served_model_read(folder, broken, &catalog->loading, catalog->metrics, err);
        if (!model)
            return -1;
        if (model_set_find_folder(models, model->folder)) {
            served_model_release(model);
        } else if (model_set_add(models, model, &inner) != 0) {
            if (!broken || inner.code != ERROR_INPUT)
                return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
            log_event(LOG_WARN, "model_left_out", log_text("folder", folder),
                      log_text("reason", inner.message));
        }
    }
    return 0;
}

/* Adds the models of the folders, except those whose name or languages a downloaded model in the
 * set has. */
static int add_others(const struct catalog *catalog, struct model_set *models,
                      const struct name_list *folders, struct error *err) {
    struct model_set *downloaded = model_set_create(0, NULL);
    int result = downloaded ? model_set_add_all(downloaded, models, NULL, err) : error_memory(err);
    for (size_t i = 0; result == 0 && i < folders->count; i++) {
        struct served_model *model =
            served_model_read(folders->names[i], false, &catalog->loading, catalog->metrics, err);
        const char *with = NULL; /* the folder that replaces this one */
        for (size_t j = 0; model && !with && j < downloaded->count; j++) {
            const struct served_model *other = downloaded->all[j];
            if (strcmp(other->info.name, model->info.name) == 0 ||
                (other->card && served_model_same(other, model)))
                with = other->folder;
        }
        if (!model) {
            result = -1;
        } else if (with) {
            log_event(LOG_INFO, "model_replaced", log_text("model", model->info.name),
                      log_text("by", with));
            served_model_release(model);
        } else {
            result = model_set_add(models, model, err);
        }
    }
    model_set_release(downloaded);
    return result;
}

/* Returns the next set with a reference, or NULL with an error that names the folder. former: NULL
 * at the start. */
static struct model_set *make_set(struct catalog *catalog, const struct model_set *former,
                                  struct error *err) {
    const struct catalog_options *options = &catalog->options;
    struct model_set *models =
        model_set_create(former ? former->generation + 1 : 1, catalog->metrics);
    struct name_list found = {0};
    struct error missing = {0};
    int result = models ? 0 : error_memory(err);
    if (result == 0 && !options->downloads)
        result = add_folders(catalog, models, options->folders, false, err);
    size_t given_first = 0, given = models
                                        ? models->count
                                        : 0; /* models [given_first, given) are from the folders */
    if (result == 0 && options->directory &&
        folders_list(&found, options->directory, &missing) != 0 &&
        (!options->downloads || missing.code == ERROR_MEMORY))
        result = error_set(err, missing.code, "%s", missing.message);
    if (result == 0)
        result = add_folders(catalog, models, &found, true, err);
    name_list_done(&found);
    if (result == 0 && options->downloads) {
        given_first = models->count;
        result = add_others(catalog, models, options->folders, err);
        given = models->count;
    }
    if (result == 0)
        result = add_folders(catalog, models, &catalog->added, true, err);
    if (result == 0 && !former && options->usual && !model_set_find_name(models, options->usual))
        result = error_set(err, ERROR_INPUT,
                           "--default-model: model \"%.60s\" is not among the served models",
                           options->usual);

    /* At the start, the models of --model are loaded as far as there is room, and larger files are
     * compared while the model is already in use. A reload loads the models that are in memory, and
     * can wait for the comparison. */
    enum integrity_extent extent = former ? INTEGRITY_WHOLE : INTEGRITY_QUICK;
    for (size_t i = 0; result == 0 && i < models->count; i++) {
        struct served_model *model = models->all[i];
        const struct served_model *old =
            former ? model_set_find_folder(former, model->folder) : NULL;
        pthread_mutex_lock(&catalog->lock);
        bool wanted = former ? old && old->state == MODEL_READY
                             : i >= given_first && i < given && could_fit(catalog, model->bytes);
        if (old) {
            model->asked_us = old->asked_us;
            model->used_us = old->used_us;
        }
        if (old && catalog->loading.compute && strcmp(catalog->loading.compute, "auto") == 0)
            model->compute = old->compute; /* measured once */
        pthread_mutex_unlock(&catalog->lock);
        if (!wanted)
            continue;
        struct error inner = {0};
        struct loaded_model *loaded =
            model->card ? load_model(catalog, model, extent, &inner) : NULL;
        if (loaded)
            set_loaded(model, loaded);
        else
            result =
                error_set(err, model->card ? inner.code : model->error.code, "cannot load %s: %s",
                          model->folder, model->card ? inner.message : model->error.message);
    }
    if (result == 0)
        return models;
    model_set_release(models);
    return NULL;
}

/* Puts a set into service and takes ownership of its reference. The memory of models that leave the
 * service belongs to the requests that decode with them: others that still have the former set may
 * wait for room, which they would take from themselves. */
static void put_in_service(struct catalog *catalog, struct model_set *models) {
    struct loaded_model *gone = NULL;
    const char *usual = catalog->options.usual;
    if (usual && !model_set_find_name(models, usual))
        log_event(LOG_WARN, "default_model_missing", log_text("model", usual));
    pthread_mutex_lock(&catalog->lock);
    struct model_set *old = catalog->models;
    catalog->models = models;
    for (size_t i = 0; i < models->count; i++) {
        if (!model_set_has(old, models->all[i]) && models->all[i]->state == MODEL_READY)
            keep(catalog, models->all[i]);
    }
    for (size_t i = 0; old && i < old->count; i++) {
        struct served_model *model = old->all[i];
        if (!model_set_has(models, model)) {
            model->left = true;
            unkeep(catalog, model);
            if (model->state == MODEL_READY)
                let_go(catalog, model, &gone);
        }
    }
    pthread_mutex_unlock(&catalog->lock);
    free_gone(gone);
    model_set_release(old); /* this may be the last reference */
}

/* Returns false if another thread is making a set or, if it waits for that thread, once the catalog
 * is closed. */
static bool begin_change(struct catalog *catalog, bool waits) {
    pthread_mutex_lock(&catalog->lock);
    while (waits && catalog->changing && !catalog->closed)
        pthread_cond_wait(&catalog->changed, &catalog->lock);
    bool begun = !catalog->changing && !(waits && catalog->closed);
    catalog->changing |= begun;
    pthread_mutex_unlock(&catalog->lock);
    return begun;
}

static void end_change(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    catalog->changing = false;
    pthread_cond_broadcast(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
}

/* Replaces the set in service with a copy without one model and with another; either may be NULL.
 * keeps: the added model survives reloads. */
static int change_set(struct catalog *catalog, const struct served_model *without,
                      struct served_model *with, bool keeps, struct error *err) {
    struct model_set *former = catalog_acquire(catalog),
                     *models = model_set_create(former->generation + 1, catalog->metrics);
    int result = models ? model_set_add_all(models, former, without, err) : error_memory(err);
    if (result == 0 && with)
        result = model_set_add(models, served_model_acquire(with), err);
    if (result == 0 && with && keeps && !name_list_has(&catalog->added, with->folder) &&
        name_list_add(&catalog->added, with->folder, strlen(with->folder)) != 0)
        result = error_memory(err);
    if (result == 0)
        put_in_service(catalog, models);
    else
        model_set_release(models);
    model_set_release(former);
    return result;
}

enum catalog_verdict catalog_add(struct catalog *catalog, const char *folder,
                                 struct served_model **added, struct error *err) {
    if (!begin_change(catalog, false))
        return CATALOG_BUSY;
    struct served_model *model =
        served_model_read(folder, false, &catalog->loading, catalog->metrics, err);
    int result = model ? change_set(catalog, NULL, model, true, err) : -1;
    end_change(catalog);
    if (result != 0) {
        served_model_release(model);
        return CATALOG_REFUSED;
    }
    pthread_mutex_lock(&catalog->lock);
    if (model->state != MODEL_READY && !has_failed(model))
        order(catalog, model);
    pthread_mutex_unlock(&catalog->lock);
    log_event(LOG_INFO, "model_added", log_text("model", model->info.name),
              log_text("folder", model->folder));
    *added = model;
    return CATALOG_DONE;
}

int catalog_take_in(struct catalog *catalog, const char *folder, struct error *err) {
    if (!begin_change(catalog, true))
        return error_set(err, ERROR_FILE, "the daemon is stopping");
    struct served_model *model =
        served_model_read(folder, false, &catalog->loading, catalog->metrics, err);
    struct model_set *former = catalog_acquire(catalog);
    const char *directory = catalog->options.directory;
    size_t length = directory ? strlen(directory) : 0;
    bool listed = length > 0 && strncmp(folder, directory, length) == 0 &&
                  folder[length] == '/'; /* a reload finds it */
    const struct served_model *replaced =
        model && former ? model_set_find_name(former, model->info.name) : NULL;
    for (size_t i = 0;
         model && former && !replaced && catalog->options.downloads && i < former->count; i++)
        if (name_list_has(catalog->options.folders, former->all[i]->folder) &&
            served_model_same(former->all[i], model))
            replaced = former->all[i];
    int result = model && former ? change_set(catalog, replaced, model, !listed, err) : -1;
    end_change(catalog);
    if (result == 0)
        log_event(LOG_INFO, "model_added", log_text("model", model->info.name),
                  log_text("folder", model->folder));
    model_set_release(former);
    served_model_release(model);
    return result == 0 ? 0
                       : error_set(err, ERROR_FILE, "%.300s cannot be put into service", folder);
}

enum catalog_verdict catalog_remove(struct catalog *catalog, const char *name, struct error *err) {
    if (!begin_change(catalog, false))
        return CATALOG_BUSY;
    struct model_set *former = catalog_acquire(catalog);
    const struct served_model *model = model_set_find_name(former, name);
    enum catalog_verdict verdict = !model ? CATALOG_UNKNOWN
                                   : change_set(catalog, model, NULL, false, err) == 0
                                       ? CATALOG_DONE
                                       : CATALOG_REFUSED;
    if (verdict == CATALOG_DONE) {
        name_list_remove(&catalog->added, model->folder);
        log_event(LOG_INFO, "model_removed", log_text("model", model->info.name));
    }
    end_change(catalog);
    model_set_release(former);
    return verdict;
}

int64_t catalog_used_us(struct catalog *catalog, const char *folder) {
    pthread_mutex_lock(&catalog->lock);
    const struct served_model *model =
        catalog->models ? model_set_find_folder(catalog->models, folder) : NULL;
    int64_t used_us = model ? model->asked_us : 0;
    pthread_mutex_unlock(&catalog->lock);
    return used_us;
}

/* Gives the folder its hidden name when no load reads it; one that is ordered and has not begun
 * will read it there. model: already out of service; NULL: it was not in service. */
static int move_away(struct catalog *catalog, struct served_model *model, const char *folder,
                     const char *moved, struct error *err) {
    int result = 0;
    pthread_mutex_lock(&catalog->lock);
    while (model && model->state == MODEL_LOADING && !is_ordered(catalog, model) &&
           !catalog->closed)
        pthread_cond_wait(&catalog->changed, &catalog->lock);
    char *copy = strdup(moved);
    if (catalog->closed)
        result = error_set(err, ERROR_FILE, "the daemon is stopping");
    else if (!copy)
        result = error_memory(err);
    else if (rename(folder, moved) != 0)
        result = error_set(err, ERROR_FILE, "%.300s: %s", folder, strerror(errno));
    if (result == 0 && model) {
        model->moved = copy;
        copy = NULL;
    }
    pthread_mutex_unlock(&catalog->lock);
    if (result == 0 && copy)
        model_set_delete_moved(copy);
    free(copy);
    return result;
}

int catalog_evict(struct catalog *catalog, const char *folder, struct error *err) {
    char moved[MODEL_PATH_BYTES];
    const char *name = strrchr(folder, '/'), *usual = catalog->options.usual;
    if (!name || snprintf(moved, sizeof moved, "%.*s/.removed-XXXXXX", (int)(name - folder),
                          folder) >= MODEL_PATH_BYTES - 300)
        return error_set(err, ERROR_FILE, "%.100s: the path is too long", folder);
    if (!begin_change(catalog, true))
        return error_set(err, ERROR_FILE, "the daemon is stopping");
    struct model_set *former = catalog_acquire(catalog);
    struct served_model *model = former ? model_set_find_folder(former, folder) : NULL;
    bool made = false;
    int result = -1;
    if (model && usual && strcmp(model->info.name, usual) == 0)
        error_set(err, ERROR_INPUT, "%.300s is the default model", folder);
    else if (!(made = mkdtemp(moved) != NULL))
        error_set(err, ERROR_FILE, "%.300s: %s", moved, strerror(errno));
    else
        result = model ? change_set(catalog, model, NULL, false, err) : 0;
    if (result == 0 && model)
        served_model_acquire(model);
    if (result == 0)
        name_list_remove(&catalog->added, folder);
    end_change(catalog);
    model_set_release(former);
    if (result == 0) {
        strncat(moved, name, 256);
        result = move_away(catalog, model, folder, moved, err);
        served_model_release(model);
    }
    if (result != 0 && made) {
        moved[(size_t)(name - folder) + strlen("/.removed-XXXXXX")] = '\0';
        rmdir(moved);
    }
    return result;
}

/* ---- the reloader ---- */

/* Called without the lock. */
static void finish_reloads(struct reload *reloads, size_t generation, const struct error *error) {
    for (struct reload *next; reloads; reloads = next) {
        next = reloads->next;
        reloads->generation = generation;
        reloads->error = *error;
        reloads->finish(reloads);
    }
}

/* Requires the lock, which it releases in between; no other thread makes a set. */
static void reload(struct catalog *catalog) {
    struct reload *reloads = catalog->reloads;
    struct error error = {0};
    catalog->reloads = NULL;
    catalog->reload_ordered = false;
    catalog->reloading = "running";
    catalog->changing = true;
    pthread_mutex_unlock(&catalog->lock);

    int64_t began_us = clock_us();
    struct model_set *former = catalog_acquire(catalog),
                     *models = make_set(catalog, former, &error);
    model_set_release(former);
    size_t duration_ms = (size_t)((clock_us() - began_us) / 1000);
    size_t generation = models ? models->generation : 0;
    if (models) {
        put_in_service(catalog, models);
        log_event(LOG_INFO, "reloaded", log_text("what", "models"),
                  log_count("generation", generation), log_count("duration_ms", duration_ms));
    } else {
        log_event(LOG_ERROR, "reload_failed", log_text("what", "models"),
                  log_count("duration_ms", duration_ms), log_text("reason", error.message));
    }
    pthread_mutex_lock(&catalog->lock);
    catalog->reloading = models ? "done" : "failed";
    pthread_mutex_unlock(&catalog->lock);
    end_change(catalog);
    metrics_count(catalog->metrics, generation > 0 ? RELOAD_DONE : RELOAD_FAILED);
    finish_reloads(reloads, generation, &error);
    pthread_mutex_lock(&catalog->lock);
}

/* Returns whether the reload that was ordered has to wait for requests that use models out of
 * service. Requires the lock. */
static bool reload_waits(struct catalog *catalog) {
    size_t retired = atomic_load(&catalog->retired);
    if (retired > 0 && strcmp(catalog->reloading, "waiting") != 0) {
        catalog->reloading = "waiting";
        log_event(LOG_INFO, "reload_waits", log_count("models", retired));
    }
    return retired > 0;
}

/* Compares all files of a model in use with its manifest. Requires the lock, which it releases in
 * between. If they differ, no further request gets the model, but requests that have it continue.
 */
static void check_files(struct catalog *catalog, struct served_model *model) {
    struct error error = {0};
    struct integrity_found found;
    struct loaded_model *loaded = loaded_model_acquire(model->loaded), *gone = NULL;
    served_model_acquire(model);
    pthread_mutex_unlock(&catalog->lock);
    integrity_check(catalog->loading.integrity, model->folder, INTEGRITY_WHOLE, &found, &error);
    pthread_mutex_lock(&catalog->lock);
    if (model->loaded == loaded && !catalog->closed) {
        model->unchecked = false;
        if (error.code != ERROR_NONE && !model->moved) {
            if (!model->left)
                unload(catalog, model, "files", &gone);
            set_failed(model, &error);
            metrics_count(catalog->metrics, LOAD_FAILED);
            log_event(LOG_ERROR, "model_failed", log_text("model", model->info.name),
                      log_text("reason", model->error.message));
        }
    }
    pthread_mutex_unlock(&catalog->lock);
    loaded_model_release(loaded);
    free_gone(gone);
    served_model_release(model);
    pthread_mutex_lock(&catalog->lock);
}

static void *reloader_run(void *argument) {
    struct catalog *catalog = argument;
    setpriority(PRIO_PROCESS, 0, LOADER_NICE);
    pthread_mutex_lock(&catalog->lock);
    while (!catalog->closed) {
        struct served_model *unchecked = catalog->kept;
        while (unchecked && !unchecked->unchecked)
            unchecked = unchecked->next_kept;
        bool ordered = catalog->reload_ordered && !catalog->changing,
             waits = ordered && reload_waits(catalog);
        if (ordered && !waits)
            reload(catalog);
        else if (unchecked)
            check_files(catalog, unchecked);
        else
            clock_wait(&catalog->changed, &catalog->lock, waits ? clock_us() + LOOK_US : INT64_MAX);
    }
    struct reload *reloads = catalog->reloads;
    catalog->reloads = NULL;
    pthread_mutex_unlock(&catalog->lock);
    finish_reloads(reloads, 0, &(struct error){0});
    return NULL;
}

bool catalog_reload(struct catalog *catalog, struct reload *reload) {
    pthread_mutex_lock(&catalog->lock);
    bool open = !catalog->closed;
    if (open && reload) {
        reload->next = catalog->reloads;
        catalog->reloads = reload;
    }
    catalog->reload_ordered = open;
    if (open)
        log_event(LOG_INFO, "reload_asked",
                  log_text("what", "models")); /* logged before the reload can begin */
    pthread_cond_broadcast(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
    return open;
}

const char *catalog_reloading(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    const char *reloading = catalog->reloading;
    pthread_mutex_unlock(&catalog->lock);
    return reloading;
}

/* ---- the owner ---- */

struct catalog *catalog_create(const struct catalog_options *options, struct metrics *metrics) {
    struct catalog *catalog = calloc(1, sizeof *catalog);
    struct integrity *integrity = integrity_create();
    if (!catalog || !integrity) {
        free(catalog);
        integrity_free(integrity);
        return NULL;
    }
    catalog->options = *options;
    catalog->metrics = metrics;
    catalog->reloading = "none";
    catalog->loading = options->loading;
    catalog->loading.metrics = metrics;
    catalog->loading.taken = &catalog->taken;
    catalog->loading.integrity = integrity;
    pthread_mutex_init(&catalog->lock, NULL);
    clock_condition_init(&catalog->changed);
    return catalog;
}

int catalog_open(struct catalog *catalog, struct error *err) {
    static void *(*const runs[THREADS])(void *) = {loader_run, keeper_run, reloader_run};
    struct model_set *models = make_set(catalog, NULL, err);
    if (!models)
        return -1;
    put_in_service(catalog, models);
    for (; catalog->started < THREADS && !catalog->options.resident; catalog->started++) {
        if (pthread_create(&catalog->threads[catalog->started], NULL, runs[catalog->started],
                           catalog) != 0)
            return error_set(err, ERROR_MEMORY,
                             "cannot start the threads that load and unload models");
    }
    return 0;
}

void catalog_close(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    catalog->closed = true;
    struct model_wait *over = take_waits(catalog, NULL);
    struct served_model *orders = catalog->orders;
    catalog->orders = NULL;
    pthread_cond_broadcast(&catalog->changed);
    pthread_mutex_unlock(&catalog->lock);
    integrity_stop(catalog->loading.integrity);
    finish_waits(catalog, over);
    for (struct served_model *next; orders; orders = next) {
        next = orders->next;
        served_model_release(orders);
    }
    while (catalog->started > 0)
        pthread_join(catalog->threads[--catalog->started], NULL);
}

void catalog_free(struct catalog *catalog) {
    if (!catalog)
        return;
    catalog_close(catalog);
    while (catalog->kept)
        unkeep(catalog, catalog->kept);
    model_set_release(catalog->models);
    integrity_free(catalog->loading.integrity);
    name_list_done(&catalog->added);
    pthread_cond_destroy(&catalog->changed);
    pthread_mutex_destroy(&catalog->lock);
    free(catalog);
}
