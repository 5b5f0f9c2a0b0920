/* This module hides when the daemon downloads a model, which requests wait for it, and which models
 * are evicted for it. */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/get/get_parts.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    MOST_ENTRIES = 128,
    MOST_ORDERS = 16,
    MOST_WAITS = 1024,
    FETCHER_NICE = 5,
    LOOK_US = 20 * 1000,
    FAILED_US = 60 * 1000 * 1000, /* a pair that failed is not retried on demand for this time */
    PAIR_BYTES = 64,
    MODEL_BYTES = 256
};
static const int64_t UNKNOWN_US =
    INT64_C(600) * 1000000; /* the time for which a source is believed that it has no such pair */
static const int64_t LIST_US =
    INT64_C(6) * 3600 * 1000000; /* a list of pairs is read again after this time */
static const int64_t LIST_FAILED_US = INT64_C(60) * 1000000;

enum thread { WORKER, KEEPER, LISTER, THREADS };

enum entry_state { ENTRY_WAITING, ENTRY_RUNNING, ENTRY_DONE, ENTRY_FAILED, ENTRY_UNKNOWN };

struct entry {
    char asked[FETCH_ASKED_BYTES];
    enum entry_state state;
    bool on_demand; /* requested on demand, from the sources of --fetch; otherwise ordered by an
                       administrator */
    char model[MODEL_BYTES]; /* ENTRY_DONE: the name of its folder */
    uint64_t bytes, total;
    int64_t order, changed_us; /* order: entries with lower numbers come first */
    char reason[256];
};

struct fetcher {
    struct fetcher_options options; /* constant */
    bool mozilla, opus;             /* constant */
    uint64_t most_bytes; /* limit for the bytes of the models in the folder; 0: no limit. Only the
                            worker's thread uses it */
    atomic_bool stop;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t changed;
    pthread_t threads[THREADS];
    bool started[THREADS];
    bool stopped;
    struct entry entries[MOST_ENTRIES]; /* [count] */
    size_t count;
    int64_t orders;
    struct fetch_wait *waits;
    size_t wait_count;
    struct get_pair *pairs; /* [pair_count] the pairs of Mozilla's list; NULL: not read yet */
    size_t pair_count;
    int64_t listed_us; /* when reading the list last succeeded or failed; 0: never */
    char list_reason[256];
    struct get_pair *kept; /* [kept_count] the pairs of a list that another process read, which is
                              shown until this one has read its own */
    size_t kept_count;
    int64_t kept_change_ns;        /* kept_change() when it was read */
    bool list_wanted, kept_wanted; /* work for the lister's thread, until it is done */
};

/* ---- the pairs that may be fetched ---- */

/* True if --fetch-pairs allows the pair. */
static bool is_allowed(const struct fetcher *fetcher, const char *pair) {
    return !fetcher->options.pairs || records_is_listed(fetcher->options.pairs, pair, FNM_CASEFOLD);
}

int fetcher_check_sources(const char *sources, struct error *err) {
    for (const char *at = sources; *at; at += strcspn(at, ","), at += *at == ',') {
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (!records_is_listed("mozilla,opus", word + strspn(word, " "), 0))
            return error_set(
                err, ERROR_INPUT,
                "--fetch must be mozilla, opus or both, separated by ',', got \"%.60s\"", sources);
    }
    return *sources ? 0 : error_set(err, ERROR_INPUT, "--fetch must be mozilla, opus or both");
}

static bool is_code(const char *code) {
    size_t length = strlen(code);
    return length >= 2 && length < PAIR_BYTES / 2 && *code != '-' && records_is_made_of(code, "-");
}

/* True if both are the same language; one of them may have a script or region. */
static bool codes_match(const char *a, const char *b) {
    return records_codes_match(a, strlen(a), b, true);
}

/* True if a source may have the pair; OPUS-MT, or Mozilla while its list is unknown, may have any
 * pair. Requires the lock. */
static bool may_have(const struct fetcher *fetcher, const char *source, const char *target) {
    if (fetcher->opus || !fetcher->pairs)
        return true;
    for (size_t i = 0; i < fetcher->pair_count; i++)
        if (codes_match(fetcher->pairs[i].source, source) &&
            codes_match(fetcher->pairs[i].target, target))
            return true;
    return false;
}

/* ---- entries: called with the lock held ---- */

static struct entry *find(struct fetcher *fetcher, const char *asked) {
    for (size_t i = 0; i < fetcher->count; i++)
        if (strcasecmp(fetcher->entries[i].asked, asked) == 0)
            return &fetcher->entries[i];
    return NULL;
}

static bool is_live(const struct entry *entry) {
    return entry->state == ENTRY_WAITING || entry->state == ENTRY_RUNNING;
}

static double progress_of(const struct entry *entry) {
    return entry->total > 0 ? (double)entry->bytes / (double)entry->total : 0;
}

static void *worker_run(void *argument);
static void *keeper_run(void *argument);
static void *lister_run(void *argument);

/* Starts the thread unless it runs. Returns false if it cannot start, or the fetcher is stopped. */
static bool start(struct fetcher *fetcher, enum thread which) {
    static void *(*const runs[THREADS])(void *) = {worker_run, keeper_run, lister_run};
    if (!fetcher->started[which] && !fetcher->stopped)
        fetcher->started[which] =
            pthread_create(&fetcher->threads[which], NULL, runs[which], fetcher) == 0;
    return fetcher->started[which] && !fetcher->stopped;
}

/* Queues a download. entry is that of `asked`, or NULL for a new one, which replaces the oldest
 * finished one if all are taken. Returns false if the queue is full, the fetcher is stopped, or the
 * threads cannot start. */
static bool order(struct fetcher *fetcher, struct entry *entry, const char *asked, bool on_demand) {
    struct entry *oldest = NULL;
    size_t live = 0;
    for (size_t i = 0; i < fetcher->count; i++) {
        struct entry *one = &fetcher->entries[i];
        if (is_live(one))
            live++;
        else if (!oldest || one->changed_us < oldest->changed_us)
            oldest = one;
    }
    if (live >= MOST_ORDERS || !start(fetcher, WORKER) || !start(fetcher, KEEPER))
        return false;

    if (!entry)
        entry = fetcher->count < MOST_ENTRIES ? &fetcher->entries[fetcher->count++] : oldest;
    assert(entry); /* because MOST_ORDERS < MOST_ENTRIES */
    *entry = (struct entry){.state = ENTRY_WAITING,
                            .on_demand = on_demand,
                            .order = ++fetcher->orders,
                            .changed_us = clock_us()};
    snprintf(entry->asked, sizeof entry->asked, "%s", asked);
    log_event(LOG_INFO, "fetch_asked", log_text("pair", entry->asked),
              log_text("on_demand", on_demand ? "true" : "false"));
    pthread_cond_broadcast(&fetcher->changed);
    return true;
}

/* ---- requests ---- */

/* Writes the name that entries have for the pair. Returns false if the pair is never fetched on
 * demand. */
static bool make_pair(const struct fetcher *fetcher, const char *source, const char *target,
                      char pair[PAIR_BYTES]) {
    if (!fetcher_is_on(fetcher) || !is_code(source) || !is_code(target) ||
        codes_match(source, target))
        return false;
    snprintf(pair, PAIR_BYTES, "%s-%s", source, target);
    return is_allowed(fetcher, pair);
}

enum fetch_answer fetcher_ask(struct fetcher *fetcher, const char *source, const char *target,
                              double *progress) {
    char pair[PAIR_BYTES];
    *progress = 0;
    if (!make_pair(fetcher, source, target, pair))
        return FETCH_NONE;
    enum fetch_answer answer = FETCH_NONE;
    pthread_mutex_lock(&fetcher->lock);
    struct entry *entry = find(fetcher, pair);
    int64_t age_us = entry ? clock_us() - entry->changed_us : 0;
    bool again =
        entry &&
        age_us > (entry->state == ENTRY_UNKNOWN ? UNKNOWN_US : FAILED_US); /* if it is not live */
    if (fetcher->stopped) {
        answer = FETCH_BUSY;
    } else if (entry && is_live(entry)) {
        *progress = progress_of(entry);
        answer = FETCH_RUNNING;
    } else if ((!entry || again) && may_have(fetcher, source, target)) {
        answer = order(fetcher, entry, pair, true) ? FETCH_RUNNING : FETCH_BUSY;
    }
    pthread_mutex_unlock(&fetcher->lock);
    return answer;
}

bool fetcher_is_on(const struct fetcher *fetcher) {
    return fetcher && fetcher->options.sources;
}

bool fetcher_could(struct fetcher *fetcher, const char *source, const char *target) {
    char pair[PAIR_BYTES];
    if (!make_pair(fetcher, source, target, pair))
        return false;
    pthread_mutex_lock(&fetcher->lock);
    const struct entry *entry = find(fetcher, pair);
    bool could = may_have(fetcher, source, target) &&
                 !(entry && (entry->state == ENTRY_FAILED || entry->state == ENTRY_UNKNOWN));
    pthread_mutex_unlock(&fetcher->lock);
    return could;
}

bool fetcher_failed(struct fetcher *fetcher, const char *source, const char *target,
                    unsigned *retry_s) {
    char pair[PAIR_BYTES];
    if (!make_pair(fetcher, source, target, pair))
        return false;
    pthread_mutex_lock(&fetcher->lock);
    const struct entry *entry = find(fetcher, pair);
    bool failed = entry && entry->state == ENTRY_FAILED;
    int64_t left_us = failed ? entry->changed_us + FAILED_US - clock_us() : 0;
    pthread_mutex_unlock(&fetcher->lock);
    *retry_s = left_us > 0 ? (unsigned)(left_us / 1000000) + 1 : 1;
    return failed;
}

size_t fetcher_sources(struct fetcher *fetcher, const char *target, char (*codes)[32],
                       size_t most) {
    size_t count = 0;
    if (!fetcher_is_on(fetcher))
        return 0;
    pthread_mutex_lock(&fetcher->lock);
    for (size_t i = 0; i < fetcher->pair_count && count < most; i++) {
        char pair[PAIR_BYTES + 1];
        const struct get_pair *has = &fetcher->pairs[i];
        snprintf(pair, sizeof pair, "%s-%s", has->source, has->target);
        if (codes_match(has->target, target) && is_allowed(fetcher, pair))
            snprintf(codes[count++], sizeof *codes, "%s", has->source);
    }
    pthread_mutex_unlock(&fetcher->lock);
    return count;
}

/* True if Mozilla's list has the pair, written as en-fr or en-zh-Hans. Requires the lock and the
 * list. */
static bool lists_pair(const struct fetcher *fetcher, const char *pair) {
    for (const char *dash = strchr(pair, '-'); dash; dash = strchr(dash + 1, '-'))
        for (size_t i = 0; i < fetcher->pair_count; i++)
            if (records_codes_match(pair, (size_t)(dash - pair), fetcher->pairs[i].source, true) &&
                codes_match(dash + 1, fetcher->pairs[i].target))
                return true;
    return false;
}

/* Returns -1 with an error if the source is known not to have the model. Requires the lock. */
static int check_known(struct fetcher *fetcher, const char *asked, enum source_kind kind,
                       const char *rest, struct error *err) {
    const struct entry *entry = find(fetcher, asked);
    int64_t now_us = clock_us();
    bool listed = fetcher->pairs && now_us - fetcher->listed_us < UNKNOWN_US;
    if (entry && entry->state == ENTRY_UNKNOWN && now_us - entry->changed_us < UNKNOWN_US)
        return error_set(err, ERROR_INPUT, "%s", entry->reason);
    if (kind == SOURCE_MOZILLA && listed && !lists_pair(fetcher, rest))
        return error_set(err, ERROR_INPUT, "Mozilla's list has no model \"%.60s\"", rest);
    return 0;
}

int fetcher_order(struct fetcher *fetcher, const char *asked, struct error *err) {
    enum source_kind kind;
    const char *rest;
    if (strlen(asked) >= FETCH_ASKED_BYTES)
        return error_set(err, ERROR_INPUT, "the name of a model must have fewer than %d bytes",
                         FETCH_ASKED_BYTES);
    if (sources_parse(asked, &kind, &rest, err) != 0)
        return -1;
    if (kind == SOURCE_URL)
        return error_set(err, ERROR_INPUT, "a URL cannot be ordered");
    pthread_mutex_lock(&fetcher->lock);
    int result = check_known(fetcher, asked, kind, rest, err);
    struct entry *entry = find(fetcher, asked);
    if (result == 0 && !(entry && is_live(entry)) && !order(fetcher, entry, asked, false))
        result =
            error_set(err, ERROR_MEMORY,
                      "at most %d models are downloaded at a time: try again later", MOST_ORDERS);
    pthread_mutex_unlock(&fetcher->lock);
    return result;
}

size_t fetcher_list(struct fetcher *fetcher, struct fetch_view views[FETCH_MOST_VIEWS]) {
    size_t count = 0;
    if (!fetcher)
        return 0;
    pthread_mutex_lock(&fetcher->lock);
    for (size_t i = 0; i < fetcher->count && count < FETCH_MOST_VIEWS; i++) {
        const struct entry *entry = &fetcher->entries[i];
        if (!is_live(entry) && entry->state != ENTRY_FAILED &&
            (entry->state != ENTRY_UNKNOWN || entry->on_demand))
            continue;
        struct fetch_view *view = &views[count++];
        *view = (struct fetch_view){.failed = !is_live(entry),
                                    .progress = progress_of(entry),
                                    .bytes = entry->bytes,
                                    .total = entry->total};
        snprintf(view->asked, sizeof view->asked, "%s", entry->asked);
        snprintf(view->reason, sizeof view->reason, "%s", entry->reason);
    }
    pthread_mutex_unlock(&fetcher->lock);
    return count;
}

/* ---- waits ---- */

/* Removes and returns the waits for this pair or, if it is NULL, those that are over. Requires the
 * lock. */
static struct fetch_wait *take_waits(struct fetcher *fetcher, const char *pair) {
    struct fetch_wait *taken = NULL;
    int64_t now_us = clock_us();
    for (struct fetch_wait **link = &fetcher->waits; *link;) {
        struct fetch_wait *wait = *link;
        bool over = fetcher->stopped || now_us >= wait->deadline_us ||
                    (wait->cancelled && atomic_load(wait->cancelled));
        if (pair ? strcasecmp(wait->pair, pair) != 0 : !over) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        wait->next = taken;
        taken = wait;
        fetcher->wait_count--;
    }
    return taken;
}

/* Must be called without the lock. */
static void finish_waits(struct fetch_wait *waits) {
    for (struct fetch_wait *next; waits; waits = next) {
        next = waits->next;
        waits->finish(waits);
    }
}

bool fetcher_await(struct fetcher *fetcher, struct fetch_wait *wait) {
    pthread_mutex_lock(&fetcher->lock);
    const struct entry *entry = find(fetcher, wait->pair);
    bool taken = !fetcher->stopped && fetcher->wait_count < MOST_WAITS,
         at_once = taken && (!entry || !is_live(entry));
    wait->next = NULL;
    if (taken && !at_once) {
        wait->next = fetcher->waits;
        fetcher->waits = wait;
        fetcher->wait_count++;
        pthread_cond_broadcast(&fetcher->changed);
    }
    pthread_mutex_unlock(&fetcher->lock);
    if (at_once)
        wait->finish(wait);
    return taken;
}

static void *keeper_run(void *argument) {
    struct fetcher *fetcher = argument;
    pthread_mutex_lock(&fetcher->lock);
    while (!fetcher->stopped) {
        struct fetch_wait *over = take_waits(fetcher, NULL);
        if (over) {
            pthread_mutex_unlock(&fetcher->lock);
            finish_waits(over);
            pthread_mutex_lock(&fetcher->lock);
        } else if (fetcher->waits) {
            clock_wait(&fetcher->changed, &fetcher->lock, clock_us() + LOOK_US);
        } else {
            pthread_cond_wait(&fetcher->changed, &fetcher->lock);
        }
    }
    pthread_mutex_unlock(&fetcher->lock);
    return NULL;
}

/* ---- the download ---- */

/* The download that the thread is working on. */
struct running {
    struct fetcher *fetcher;
    char asked[FETCH_ASKED_BYTES];
    char model[MODEL_BYTES]; /* the name of its folder, once it exists */
    bool began;              /* a source has the model */
};

static void note(void *owner, const struct get_event *event) {
    struct running *work = owner;
    struct fetcher *fetcher = work->fetcher;
    work->began |= event->kind == GET_BEGINS;
    if (event->kind == GET_BEGINS)
        log_event(LOG_INFO, "fetch_began", log_text("pair", work->asked),
                  log_text("model", event->name), log_count("bytes", event->total),
                  log_text("from", event->text));
    else if (event->kind == GET_RETRIES)
        log_event(LOG_WARN, "fetch_retries", log_text("pair", work->asked),
                  log_count("wait_ms", event->wait_ms), log_text("reason", event->text));
    if (event->kind != GET_DOWNLOADS)
        return;
    pthread_mutex_lock(&fetcher->lock);
    struct entry *entry = find(fetcher, work->asked);
    if (entry) {
        entry->bytes = event->bytes;
        entry->total = event->total;
    }
    pthread_mutex_unlock(&fetcher->lock);
}

static struct get_options get_options_of(struct fetcher *fetcher, struct running *work) {
    const struct fetcher_options *o = &fetcher->options;
    return (struct get_options){.into = o->into,
                                .mirror = o->mirror,
                                .records = o->records,
                                .offline = o->offline,
                                .retries = o->retries,
                                .stall_s = o->stall_s,
                                .stop = &fetcher->stop,
                                .tell = work ? note : NULL,
                                .owner = work};
}

/* Returns whether Mozilla's list may be read again. Requires the lock. */
static bool list_is_old(const struct fetcher *fetcher) {
    int64_t age_us = clock_us() - fetcher->listed_us;
    return fetcher->listed_us == 0 || age_us > (fetcher->pairs ? LIST_US : LIST_FAILED_US);
}

/* Reads Mozilla's list. Must be called without the lock. */
static void read_list(struct fetcher *fetcher) {
    const struct get_options options = get_options_of(fetcher, NULL);
    struct get_pair *pairs = NULL;
    size_t count = 0;
    struct error error = {0};
    enum get_status status = get_pairs(&options, &pairs, &count, &error);
    if (status != GET_DONE)
        log_event(LOG_WARN, "fetch_list_failed", log_text("result", get_status_name(status)),
                  log_text("reason", error.message));
    pthread_mutex_lock(&fetcher->lock);
    fetcher->listed_us = clock_us();
    snprintf(fetcher->list_reason, sizeof fetcher->list_reason, "%.255s", error.message);
    if (status == GET_DONE) {
        free(fetcher->pairs);
        fetcher->pairs = pairs;
        fetcher->pair_count = count;
    }
    pthread_mutex_unlock(&fetcher->lock);
}

/* Returns when something last changed in the folder in which processes keep the list, in
 * nanoseconds; 0: there is no such folder. */
static int64_t kept_change(const struct fetcher *fetcher) {
    char work[MODEL_PATH_BYTES];
    struct stat status;
    if (!work_path(work, "%s/.get", fetcher->options.into) || stat(work, &status) != 0)
        return 0;
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

/* Reads the list that another process kept in the folder, which exists. Must be called without the
 * lock. */
static void read_kept_list(struct fetcher *fetcher) {
    struct get_options options = get_options_of(fetcher, NULL);
    struct get_pair *pairs = NULL;
    size_t count = 0;
    struct error error = {0};
    options.offline = true;
    enum get_status status = get_pairs(&options, &pairs, &count, &error);
    pthread_mutex_lock(&fetcher->lock);
    if (status == GET_DONE) {
        free(fetcher->kept);
        fetcher->kept = pairs;
        fetcher->kept_count = count;
    }
    fetcher->kept_change_ns = kept_change(fetcher);
    pthread_mutex_unlock(&fetcher->lock);
}

static void *lister_run(void *argument) {
    struct fetcher *fetcher = argument;
    setpriority(PRIO_PROCESS, 0, FETCHER_NICE); /* on Linux, this affects only this thread */
    pthread_mutex_lock(&fetcher->lock);
    while (!fetcher->stopped) {
        bool kept = fetcher->kept_wanted, list = !kept && fetcher->list_wanted;
        if (!kept && !list) {
            pthread_cond_wait(&fetcher->changed, &fetcher->lock);
            continue;
        }
        pthread_mutex_unlock(&fetcher->lock);
        if (kept)
            read_kept_list(fetcher);
        else
            read_list(fetcher);
        pthread_mutex_lock(&fetcher->lock);
        if (kept)
            fetcher->kept_wanted = false;
        else
            fetcher->list_wanted = false;
    }
    pthread_mutex_unlock(&fetcher->lock);
    return NULL;
}

enum fetch_list fetcher_available(struct fetcher *fetcher, bool asks, struct get_pair **pairs,
                                  size_t *count, char reason[256]) {
    *pairs = NULL;
    *count = 0;
    pthread_mutex_lock(&fetcher->lock);
    if (start(fetcher, LISTER)) {
        fetcher->kept_wanted |= !fetcher->pairs && kept_change(fetcher) != fetcher->kept_change_ns;
        fetcher->list_wanted |= asks && list_is_old(fetcher);
        pthread_cond_broadcast(&fetcher->changed);
    }
    const struct get_pair *known = fetcher->pairs ? fetcher->pairs : fetcher->kept;
    size_t most = fetcher->pairs ? fetcher->pair_count : fetcher->kept_count;
    enum fetch_list state = known                                          ? FETCH_LIST_READY
                            : fetcher->list_wanted || fetcher->kept_wanted ? FETCH_LIST_READING
                            : fetcher->listed_us != 0                      ? FETCH_LIST_FAILED
                                                                           : FETCH_LIST_UNKNOWN;
    snprintf(reason, 256, "%s", fetcher->list_reason);
    most = most < FETCH_MOST_PAIRS ? most : FETCH_MOST_PAIRS;
    if (known && (*pairs = calloc(most + 1, sizeof **pairs)) != NULL) {
        memcpy(*pairs, known, most * sizeof **pairs);
        *count = most;
    } else if (known) {
        state = FETCH_LIST_FAILED;
    }
    pthread_mutex_unlock(&fetcher->lock);
    return state;
}

/* Sums the bytes of the folder's models except the one with this name (NULL: no exception). all:
 * include models that may be evicted. */
static uint64_t sum_bytes(const struct installed_list *list, const char *name, bool all) {
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        if ((all || !list->models[i].on_demand) &&
            (!name || strcmp(list->models[i].name, name) != 0))
            sum += list->models[i].bytes;
    return sum;
}

/* Returns the least recently used model that may be evicted, or NULL if there is none. A model that
 * was not used since the start counts as used when it was downloaded. */
static struct installed *find_oldest(const struct fetcher *fetcher,
                                     const struct installed_list *list, const char *name) {
    struct installed *oldest = NULL;
    struct timespec now;
    int64_t least_us = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t since_1970_us = clock_us() - ((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    for (size_t i = 0; i < list->count; i++) {
        struct installed *model = &list->models[i];
        int64_t used_us = catalog_used_us(fetcher->options.catalog, model->folder);
        used_us = used_us > 0 ? used_us : since_1970_us + model->marked_us;
        if (!model->on_demand || strcmp(model->name, name) == 0 || (oldest && used_us >= least_us))
            continue;
        oldest = model;
        least_us = used_us;
    }
    return oldest;
}

/* Evicts models until one of this name and size fits. A model that cannot be evicted counts as one
 * that stays. */
static enum get_status make_room(void *owner, const char *name, uint64_t bytes, struct error *err) {
    const struct running *work = owner;
    struct fetcher *fetcher = work->fetcher;
    const struct fetcher_options *o = &fetcher->options;
    struct installed_list list = {NULL, 0};
    uint64_t most = fetcher->most_bytes > bytes ? fetcher->most_bytes - bytes : 0;
    if (installed_list(o->into, &list, err) != 0) {
        installed_list_done(&list);
        return GET_FAILED;
    }
    bool fits = fetcher->most_bytes >= bytes;
    while ((fits = fits && sum_bytes(&list, name, false) <= most) &&
           sum_bytes(&list, name, true) > most) {
        struct installed *model = find_oldest(fetcher, &list, name);
        struct error error = {0};
        pthread_mutex_lock(&fetcher->lock);
        for (size_t i = 0; i < fetcher->count;) { /* without a finished entry, the next request
                                                     fetches the pair again */
            if (fetcher->entries[i].state == ENTRY_DONE &&
                strcmp(fetcher->entries[i].model, model->name) == 0)
                fetcher->entries[i] = fetcher->entries[--fetcher->count];
            else
                i++;
        }
        pthread_mutex_unlock(&fetcher->lock);
        if (catalog_evict(o->catalog, model->folder, &error) == 0) {
            log_event(LOG_INFO, "model_evicted", log_text("model", model->name),
                      log_count("bytes", model->bytes), log_text("for", work->asked));
            metrics_count(o->metrics, MODEL_EVICTED);
            model->bytes = 0;
        } else {
            log_event(LOG_WARN, "model_not_evicted", log_text("model", model->name),
                      log_text("reason", error.message));
        }
        model->on_demand = false;
    }
    if (!fits)
        error_set(err, ERROR_FILE,
                  "needs %.1f MB, and --fetch-bytes allows %.1f MB, of which models that stay take "
                  "%.1f MB",
                  (double)bytes / 1e6, (double)fetcher->most_bytes / 1e6,
                  (double)sum_bytes(&list, name, false) / 1e6);
    installed_list_done(&list);
    return fits ? GET_DONE : GET_SPACE;
}

/* Gets the model from the first source that has it, and puts the model into service. Must be called
 * without the lock. */
static enum get_status work_on(struct running *work, bool on_demand, struct error *err) {
    struct fetcher *fetcher = work->fetcher;
    const struct fetcher_options *o = &fetcher->options;
    struct got got;
    if (on_demand && fetcher->mozilla) { /* so that unknown pairs are refused at once */
        pthread_mutex_lock(&fetcher->lock);
        bool old = list_is_old(fetcher);
        pthread_mutex_unlock(&fetcher->lock);
        if (old)
            read_list(fetcher);
    }

    int64_t began_us = clock_us();
    enum get_status status = GET_UNKNOWN;
    struct get_options options = get_options_of(fetcher, work);
    options.update = !on_demand;
    options.on_demand = on_demand;
    if (fetcher->most_bytes >
        0) { /* the new model may take the space that is left by models that are never evicted */
        struct installed_list list = {NULL, 0};
        installed_list(o->into, &list, NULL);
        uint64_t kept = sum_bytes(&list, NULL, false);
        installed_list_done(&list);
        options.make_room = make_room;
        options.most_bytes = kept < fetcher->most_bytes ? fetcher->most_bytes - kept : 0;
        if (options.most_bytes == 0)
            status =
                get_fail(err, GET_SPACE, ERROR_FILE,
                         "%.300s has models that stay, which take all of --fetch-bytes", o->into);
    }
    const char *const prefixes[] = {fetcher->mozilla || !on_demand ? "" : NULL,
                                    fetcher->opus && on_demand ? "opus:" : NULL};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && status == GET_UNKNOWN; i++) {
        char asked[FETCH_ASKED_BYTES + 8];
        if (!prefixes[i])
            continue;
        snprintf(asked, sizeof asked, "%s%s", prefixes[i], work->asked);
        *err = (struct error){0};
        status = get_model(&options, asked, &got, err);
    }

    if (status == GET_UNKNOWN && work->began) /* a file that the source's list names is missing */
        status = GET_NETWORK;

    bool there = status == GET_DONE || status == GET_PRESENT;
    if (there && catalog_take_in(o->catalog, got.folder, err) != 0) {
        status = GET_UNREADABLE;
        there = false;
    }
    if (there) {
        const char *slash = strrchr(got.folder, '/');
        snprintf(work->model, sizeof work->model, "%.255s", slash ? slash + 1 : got.folder);
        log_event(LOG_INFO, "fetched", log_text("pair", work->asked),
                  log_text("folder", got.folder), log_text("version", got.origin.version),
                  log_text("licence", got.origin.licence), log_count("bytes", got.unpacked),
                  log_count("duration_ms", (size_t)((clock_us() - began_us) / 1000)));
    } else if (status != GET_STOPPED) {
        log_event(LOG_ERROR, "fetch_failed", log_text("pair", work->asked),
                  log_text("result", get_status_name(status)), log_text("reason", err->message));
    }
    metrics_count(o->metrics, there ? DOWNLOAD_DONE : DOWNLOAD_FAILED);
    return status;
}

/* Sets the limit for the folder's models. Without a limit of the administrator's, models that are
 * fetched take a part of the space that they can have, so that the part is the same after a
 * restart; the disk belongs to others, too. */
static void set_limit(struct fetcher *fetcher) {
    static const uint64_t most_fetched = UINT64_C(10) * 1000 * 1000 * 1000;
    const struct fetcher_options *o = &fetcher->options;
    struct installed_list list = {NULL, 0};
    struct statvfs disk;
    fetcher->most_bytes = o->most_bytes == FETCH_BYTES_AUTO ? 0 : o->most_bytes;
    if (o->most_bytes != FETCH_BYTES_AUTO || installed_make(o->into, NULL) != 0 ||
        statvfs(o->into, &disk) != 0 ||
        installed_list(o->into, &list, NULL) !=
            0) { /* if the folder cannot be read, the download will report that */
        installed_list_done(&list);
        return;
    }
    uint64_t all = sum_bytes(&list, NULL, true), stay = sum_bytes(&list, NULL, false);
    uint64_t part = ((uint64_t)disk.f_bavail * disk.f_frsize + all - stay) / 4;
    fetcher->most_bytes = stay + (part > most_fetched ? most_fetched : part > 0 ? part : 1);
    installed_list_done(&list);
    log_event(LOG_INFO, "fetch_limit", log_text("folder", o->into),
              log_count("bytes", fetcher->most_bytes));
}

static void *worker_run(void *argument) {
    struct fetcher *fetcher = argument;
    setpriority(PRIO_PROCESS, 0, FETCHER_NICE); /* on Linux, this affects only this thread */

    /* Deletes folders that a killed process was removing. */
    const struct dirent *remains;
    DIR *directory = opendir(fetcher->options.into);
    while (directory && (remains = readdir(directory)) != NULL) {
        char path[MODEL_PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s/%s", fetcher->options.into, remains->d_name);
        if (strncmp(remains->d_name, ".removed-", strlen(".removed-")) == 0 && length >= 0 &&
            (size_t)length < sizeof path)
            folders_delete_model(path);
    }
    if (directory)
        closedir(directory);
    set_limit(fetcher);

    pthread_mutex_lock(&fetcher->lock);
    while (!fetcher->stopped) {
        struct entry *entry = NULL; /* the first in the queue */
        for (size_t i = 0; i < fetcher->count; i++) {
            struct entry *one = &fetcher->entries[i];
            if (one->state == ENTRY_WAITING && (!entry || one->order < entry->order))
                entry = one;
        }
        if (!entry) {
            pthread_cond_wait(&fetcher->changed, &fetcher->lock);
            continue;
        }

        struct running work = {.fetcher = fetcher};
        struct error error = {0};
        bool on_demand = entry->on_demand;
        snprintf(work.asked, sizeof work.asked, "%s", entry->asked);
        entry->state = ENTRY_RUNNING;
        pthread_mutex_unlock(&fetcher->lock);
        enum get_status status = work_on(&work, on_demand, &error);
        pthread_mutex_lock(&fetcher->lock);
        entry = find(fetcher, work.asked);
        if (entry) { /* a live entry is never removed */
            entry->state = status == GET_DONE || status == GET_PRESENT ? ENTRY_DONE
                           : status == GET_UNKNOWN                     ? ENTRY_UNKNOWN
                                                                       : ENTRY_FAILED;
            entry->changed_us = clock_us();
            snprintf(entry->reason, sizeof entry->reason, "%.255s", error.message);
            strcpy(entry->model, work.model);
        }
        struct fetch_wait *waits = take_waits(fetcher, work.asked);
        pthread_mutex_unlock(&fetcher->lock);
        finish_waits(waits);
        pthread_mutex_lock(&fetcher->lock);
    }
    pthread_mutex_unlock(&fetcher->lock);
    return NULL;
}

/* ---- the owner ---- */

struct fetcher *fetcher_create(const struct fetcher_options *options) {
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher)
        return NULL;
    fetcher->options = *options;
    fetcher->mozilla = options->sources && records_is_listed(options->sources, "mozilla", 0);
    fetcher->opus = options->sources && records_is_listed(options->sources, "opus", 0);
    pthread_mutex_init(&fetcher->lock, NULL);
    clock_condition_init(&fetcher->changed);
    return fetcher;
}

void fetcher_stop(struct fetcher *fetcher) {
    if (!fetcher)
        return;
    atomic_store(&fetcher->stop, true);
    pthread_mutex_lock(&fetcher->lock);
    fetcher->stopped = true;
    struct fetch_wait *waits = take_waits(fetcher, NULL);
    pthread_cond_broadcast(&fetcher->changed);
    pthread_mutex_unlock(&fetcher->lock);
    finish_waits(waits);
    for (int i = 0; i < THREADS; i++) {
        if (fetcher->started[i])
            pthread_join(fetcher->threads[i], NULL);
        fetcher->started[i] = false;
    }
}

void fetcher_free(struct fetcher *fetcher) {
    if (!fetcher)
        return;
    fetcher_stop(fetcher);
    free(fetcher->pairs);
    free(fetcher->kept);
    pthread_cond_destroy(&fetcher->changed);
    pthread_mutex_destroy(&fetcher->lock);
    free(fetcher);
}
