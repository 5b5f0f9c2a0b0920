#include "server/decode/residence.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/decode/shelf.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
    LOADER_NICE = 5,
    CHECKER_NICE = 10,
    RETRY_US = 10 * 1000 * 1000,
    ROOM_US = 1000 * 1000,
    LOOK_US = 20 * 1000,
    MOST_IDLE_LOOK_US = 1000 * 1000,
    THREADS = 3
};

struct residence {
    struct residence_options options;
    pthread_t threads[THREADS]; /* [started] the loader, the keeper, the checker; the owner's */
    size_t started;

    pthread_mutex_t lock;
    pthread_cond_t ordered, changed, told; /* for the loader; for the keeper; nobody waits any more */
    pthread_cond_t shelved;                /* for the checker */
    struct served_model *orders;           /* the oldest first */
    struct shelf shelf;                    /* what is ready */
    struct model_wait *waiting;
    size_t wait_count; /* those being told counted */
    bool closed;
};

struct residence *residence_create(const struct residence_options *options) {
    struct residence *residence = calloc(1, sizeof *residence);
    if (!residence)
        return NULL;
    residence->options = *options;
    residence->shelf =
        (struct shelf){.most_bytes = options->most_bytes, .taken = options->loading.taken, .metrics = options->loading.metrics};
    pthread_mutex_init(&residence->lock, NULL);
    clock_condition_init(&residence->ordered);
    clock_condition_init(&residence->changed);
    clock_condition_init(&residence->told);
    clock_condition_init(&residence->shelved);
    return residence;
}

static void wait_until(struct residence *residence, pthread_cond_t *condition, int64_t until_us) {
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    pthread_cond_timedwait(condition, &residence->lock, &until);
}

/* ---- who waits ---- */

/* Off the list, with the lock: those of this model, or, where it is NULL, those whom no model will help any more. */
static struct model_wait *take_waiting(struct residence *residence, const struct served_model *model, int64_t now_us) {
    struct model_wait *taken = NULL;
    for (struct model_wait **link = &residence->waiting; *link;) {
        struct model_wait *wait = *link;
        bool over = residence->closed || now_us >= wait->deadline_us || (wait->cancelled && atomic_load(wait->cancelled));
        if (model ? wait->model != model : !over) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        wait->next = taken;
        taken = wait;
    }
    return taken;
}

/* Without the lock. */
static void tell(struct residence *residence, struct model_wait *taken) {
    size_t count = 0;
    for (struct model_wait *next; taken; taken = next) {
        next = taken->next;
        taken->finish(taken);
        count++;
    }
    pthread_mutex_lock(&residence->lock);
    residence->wait_count -= count;
    if (residence->wait_count == 0)
        pthread_cond_broadcast(&residence->told);
    pthread_mutex_unlock(&residence->lock);
}

/* With the lock: what each of them gets. */
static void give(struct model_wait *taken, struct loaded_model *loaded, const struct error *error) {
    for (struct model_wait *wait = taken; wait; wait = wait->next) {
        wait->loaded = loaded ? loaded_model_acquire(loaded) : NULL;
        wait->error = *error;
    }
}

/* ---- orders: with the lock ---- */

static void order(struct residence *residence, struct served_model *model) {
    if (model->ordered || residence->closed)
        return;
    struct served_model **end = &residence->orders;
    while (*end)
        end = &(*end)->next;
    model->state = MODEL_LOADING;
    model->ordered = true;
    model->changed_us = clock_us();
    model->next = NULL;
    *end = served_model_acquire(model);
    pthread_cond_signal(&residence->ordered);
}

static bool has_failed(const struct served_model *model) {
    return model->state == MODEL_FAILED && (!model->card || clock_us() - model->changed_us < RETRY_US);
}

enum residence_verdict residence_take(struct residence *residence, struct served_model *model, struct loaded_model **loaded,
                                      struct error *err) {
    enum residence_verdict verdict = RESIDENCE_NOT_YET;
    pthread_mutex_lock(&residence->lock);
    if (model->state == MODEL_READY) {
        model->asked_us = clock_us();
        *loaded = loaded_model_acquire(model->loaded);
        verdict = RESIDENCE_READY;
    } else if (has_failed(model)) {
        error_set(err, model->error.code, "%s", model->error.message);
        verdict = RESIDENCE_FAILED;
    }
    pthread_mutex_unlock(&residence->lock);
    return verdict;
}

bool residence_await(struct residence *residence, struct model_wait *wait) {
    struct served_model *model = wait->model;
    pthread_mutex_lock(&residence->lock);
    bool taken = !residence->closed && residence->wait_count < residence->options.most_waiting;
    bool at_once = taken && (model->state == MODEL_READY || has_failed(model));
    wait->next = NULL;
    model->asked_us = clock_us();
    if (at_once) {
        give(wait, model->loaded, &model->error);
    } else if (taken) {
        order(residence, model);
        wait->next = residence->waiting;
        residence->waiting = wait;
        pthread_cond_signal(&residence->changed);
    }
    residence->wait_count += taken;
    pthread_mutex_unlock(&residence->lock);
    if (at_once)
        tell(residence, wait);
    return taken;
}

void residence_order(struct residence *residence, struct served_model *model) {
    pthread_mutex_lock(&residence->lock);
    if (model->state != MODEL_READY && !has_failed(model))
        order(residence, model);
    pthread_mutex_unlock(&residence->lock);
}

bool residence_wait(struct residence *residence, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    pthread_mutex_lock(&residence->lock);
    while (residence->wait_count > 0 && clock_us() < until_us)
        wait_until(residence, &residence->told, until_us);
    bool nobody = residence->wait_count == 0;
    pthread_mutex_unlock(&residence->lock);
    return nobody;
}

/* ---- the loader ---- */

/* An order that is done with, one way or the other. */
struct result {
    struct served_model *model;
    struct loaded_model *loaded;
    struct error error;
    bool too_tight; /* it may fit another time */
};

/* With the lock. */
static void put(struct residence *residence, struct served_model *model) {
    shelf_put(&residence->shelf, model);
    if (model->unchecked)
        pthread_cond_signal(&residence->shelved);
}

/* The reference of the order goes. */
static void conclude(struct residence *residence, struct result *result) {
    struct served_model *model = result->model;
    pthread_mutex_lock(&residence->lock);
    model->ordered = false;
    if (result->loaded)
        served_model_set(model, result->loaded);
    else if (result->too_tight)
        model->state = MODEL_COLD;
    else
        served_model_fail(model, &result->error);
    if (result->loaded && !model->left)
        put(residence, model);
    pthread_cond_signal(&residence->changed);
    struct model_wait *taken = take_waiting(residence, model, 0);
    give(taken, result->loaded, result->loaded ? &(struct error){0} : result->too_tight ? &result->error : &model->error);
    pthread_mutex_unlock(&residence->lock);
    metrics_model_loaded(residence->options.loading.metrics, result->loaded != NULL);
    if (!result->loaded)
        log_event(LOG_ERROR, "model_failed", "model=%s reason=%s", model->info.name, result->error.message);
    tell(residence, taken);
    served_model_release(model);
}

static void refuse_room(const struct residence *residence, struct result *result) {
    size_t most = residence->options.most_bytes, bytes = result->model->bytes;
    result->too_tight = bytes <= most;
    if (result->too_tight)
        error_set(&result->error, ERROR_MEMORY,
                  "it needs about %zu bytes, which do not fit into --model-memory (%zu) beside the models in use", bytes, most);
    else
        error_set(&result->error, ERROR_MEMORY, "it needs about %zu bytes, which is more than --model-memory (%zu)", bytes, most);
}

/* The first order that can be dealt with now, off the list; with the lock. True: it is to be loaded. */
static bool take_order(struct residence *residence, struct result *result, struct gone *gone) {
    int64_t now_us = clock_us();
    *result = (struct result){0};
    for (struct served_model **link = &residence->orders; *link; link = &(*link)->next) {
        struct served_model *model = *link;
        bool fits = shelf_make_room(&residence->shelf, model->bytes, gone);
        bool never = residence->options.most_bytes > 0 && model->bytes > residence->options.most_bytes;
        if (!fits && !never && now_us - model->changed_us < ROOM_US)
            continue;
        result->model = model;
        *link = model->next;
        if (!fits)
            refuse_room(residence, result);
        return fits;
    }
    return false;
}

/* Blocks until there is an order to deal with. False: closed. */
static bool await_order(struct residence *residence, struct result *result, bool *fits, struct gone *gone) {
    pthread_mutex_lock(&residence->lock);
    for (;;) {
        *fits = !residence->closed && take_order(residence, result, gone);
        if (residence->closed || result->model)
            break;
        if (residence->orders)
            wait_until(residence, &residence->ordered, clock_us() + LOOK_US);
        else
            pthread_cond_wait(&residence->ordered, &residence->lock);
    }
    bool open = !residence->closed;
    pthread_mutex_unlock(&residence->lock);
    return open;
}

static void *loader_run(void *argument) {
    struct residence *residence = argument;
    struct result result;
    struct gone gone = {0};
    bool fits;
    setpriority(PRIO_PROCESS, 0, LOADER_NICE); /* on Linux of this thread alone: decoding goes before loading */
    for (; await_order(residence, &result, &fits, &gone);) {
        gone_free(&gone);
        if (fits)
            result.loaded = served_model_open(result.model, result.model->compute, &residence->options.loading, &result.error);
        conclude(residence, &result);
    }
    return NULL;
}

/* ---- the keeper ---- */

/* Until when there is nothing to look at; INT64_MAX: until something changes. */
static int64_t next_look_us(const struct residence *residence, int64_t now_us) {
    int64_t idle_us = residence->options.idle_us / 4;
    if (residence->waiting || (residence->shelf.first && shelf_is_over(&residence->shelf)))
        return now_us + LOOK_US;
    if (idle_us == 0 || !residence->shelf.first)
        return INT64_MAX;
    return now_us + (idle_us > MOST_IDLE_LOOK_US ? MOST_IDLE_LOOK_US : idle_us < LOOK_US ? LOOK_US : idle_us);
}

static void rest(struct residence *residence) {
    int64_t until_us = next_look_us(residence, clock_us());
    if (until_us == INT64_MAX)
        pthread_cond_wait(&residence->changed, &residence->lock);
    else
        wait_until(residence, &residence->changed, until_us);
}

static void *keeper_run(void *argument) {
    struct residence *residence = argument;
    pthread_mutex_lock(&residence->lock);
    while (!residence->closed) {
        struct gone gone = {0};
        int64_t now_us = clock_us();
        struct model_wait *over = take_waiting(residence, NULL, now_us);
        if (residence->options.idle_us > 0)
            shelf_unload_idle(&residence->shelf, now_us - residence->options.idle_us, &gone);
        shelf_unload_excess(&residence->shelf, &gone);
        if (!over && !gone.models) {
            rest(residence);
            continue;
        }
        pthread_mutex_unlock(&residence->lock);
        gone_free(&gone);
        tell(residence, over);
        pthread_mutex_lock(&residence->lock);
    }
    pthread_mutex_unlock(&residence->lock);
    return NULL;
}

/* ---- the checker ---- */

/* Of a model that was loaded, in use meanwhile; with the lock. One whose files are others than its manifest's leaves: who has it
 * goes on, nobody else gets it. */
static void judge(struct residence *residence, struct served_model *model, const struct loaded_model *loaded,
                  const struct error *error, struct gone *gone) {
    if (model->loaded != loaded || residence->closed)
        return;
    model->unchecked = false;
    if (error->code == ERROR_NONE)
        return;
    if (!model->left)
        shelf_unload(&residence->shelf, model, "files", gone);
    served_model_fail(model, error);
    metrics_model_loaded(residence->options.loading.metrics, false);
    log_event(LOG_ERROR, "model_failed", "model=%s reason=%s", model->info.name, model->error.message);
}

/* With the lock, which is given up meanwhile. */
static void check(struct residence *residence, struct served_model *model) {
    struct gone gone = {0};
    struct error error = {0};
    struct integrity_found found;
    struct loaded_model *loaded = loaded_model_acquire(model->loaded);
    served_model_acquire(model);
    pthread_mutex_unlock(&residence->lock);
    integrity_check(residence->options.loading.integrity, model->folder, INTEGRITY_WHOLE, &found, &error);
    pthread_mutex_lock(&residence->lock);
    judge(residence, model, loaded, &error, &gone);
    pthread_mutex_unlock(&residence->lock);
    loaded_model_release(loaded);
    gone_free(&gone);
    served_model_release(model);
    pthread_mutex_lock(&residence->lock);
}

static void *checker_run(void *argument) {
    struct residence *residence = argument;
    struct served_model *model;
    setpriority(PRIO_PROCESS, 0, CHECKER_NICE);
    pthread_mutex_lock(&residence->lock);
    while (!residence->closed) {
        if ((model = shelf_find_unchecked(&residence->shelf)) != NULL)
            check(residence, model);
        else
            pthread_cond_wait(&residence->shelved, &residence->lock);
    }
    pthread_mutex_unlock(&residence->lock);
    return NULL;
}

/* ---- service ---- */

void residence_enter(struct residence *residence, struct served_model *model) {
    pthread_mutex_lock(&residence->lock);
    if (model->state == MODEL_READY)
        put(residence, model);
    pthread_mutex_unlock(&residence->lock);
}

void residence_leave(struct residence *residence, struct served_model *model) {
    pthread_mutex_lock(&residence->lock);
    model->left = true;
    bool kept = shelf_remove(&residence->shelf, model);
    pthread_mutex_unlock(&residence->lock);
    if (kept)
        served_model_release(model);
}

bool residence_has_room(struct residence *residence, size_t bytes) {
    pthread_mutex_lock(&residence->lock);
    bool room = shelf_could_fit(&residence->shelf, bytes);
    pthread_mutex_unlock(&residence->lock);
    return room;
}

size_t residence_bytes(const struct residence *residence) {
    return atomic_load(residence->options.loading.taken);
}

struct model_view residence_view(struct residence *residence, struct served_model *model) {
    pthread_mutex_lock(&residence->lock);
    struct model_view view = {.state = model->state,
                              .bytes = model->bytes,
                              .compute = model->compute,
                              .unchecked = model->unchecked,
                              .error = model->error};
    view.loaded = model->loaded ? loaded_model_acquire(model->loaded) : NULL;
    pthread_mutex_unlock(&residence->lock);
    return view;
}

/* ---- the owner ---- */

int residence_start(struct residence *residence, struct error *err) {
    static void *(*const runs[THREADS])(void *) = {loader_run, keeper_run, checker_run};
    while (residence->started < THREADS) {
        if (pthread_create(&residence->threads[residence->started], NULL, runs[residence->started], residence) != 0) {
            residence_close(residence);
            return error_set(err, ERROR_MEMORY, "cannot start the threads that load and unload models");
        }
        residence->started++;
    }
    return 0;
}

void residence_close(struct residence *residence) {
    pthread_mutex_lock(&residence->lock);
    residence->closed = true;
    struct model_wait *over = take_waiting(residence, NULL, 0);
    struct served_model *orders = residence->orders;
    residence->orders = NULL;
    pthread_cond_signal(&residence->ordered);
    pthread_cond_signal(&residence->changed);
    pthread_cond_signal(&residence->shelved);
    pthread_mutex_unlock(&residence->lock);
    tell(residence, over);
    for (struct served_model *next; orders; orders = next) {
        next = orders->next;
        served_model_release(orders);
    }
    while (residence->started > 0)
        pthread_join(residence->threads[--residence->started], NULL);
}

void residence_free(struct residence *residence) {
    if (!residence)
        return;
    residence_close(residence);
    for (struct served_model *model; (model = residence->shelf.first) != NULL;) {
        shelf_remove(&residence->shelf, model);
        served_model_release(model);
    }
    pthread_cond_destroy(&residence->ordered);
    pthread_cond_destroy(&residence->changed);
    pthread_cond_destroy(&residence->told);
    pthread_cond_destroy(&residence->shelved);
    pthread_mutex_destroy(&residence->lock);
    free(residence);
}
