/* This module hides how a request gets its models: from the disk into memory, or by a download,
 * while the request waits (service.catalog, service.fetcher) and is then prepared from the
 * beginning. */
#include "server/api/wait.h"
#include "server/api/languages.h"
#include "server/api/pairs.h"
#include "server/api/reply.h"
#include "server/base/clock.h"
#include "server/get/get.h"
#include <stdio.h>
#include <string.h>

/* ---- missing models: a request waits for the download (server/get/get.h) or gets its progress
 * ---- */

enum {
    ANSWER_US = 300 * 1000, /* time before the deadline that is reserved for the reply that a model
                               is still missing */
    MOST_WAIT_S = 60,
    RETRY_S = 5
};

/* Releases the request's models, which lack the new model. The request gets the current models when
 * it is prepared again. */
static void finish_fetch(struct fetch_wait *wait) {
    struct request *request = wait->owner;
    request->waits.fetch = NULL;
    model_set_release(request->models);
    request->models = NULL;
    request->finish(request);
}

bool wait_may_fetch(const struct service *service, const struct request *request) {
    return fetcher_is_on(service->fetcher) && !(request->key && *request->key->models);
}

/* Returns true if a model for these languages is being downloaded: either the request waits for it
 * (wait_is_needed), or the reply is set to 503. Returns false if no such model can be downloaded.
 */
static bool fetch(const struct service *service, const char *source, const char *target,
                  struct request *request, struct reply *reply) {
    double progress;
    char pair[FETCH_ASKED_BYTES];
    if (!wait_may_fetch(service, request))
        return false;
    if (!request->waits.fetches) {
        if (!fetcher_could(service->fetcher, source, target))
            return false;
        reply_fail(reply, STATUS_UNAVAILABLE, NULL,
                   "no model from %.60s to %.60s is here yet; send the text by POST as "
                   "application/json, which downloads it",
                   source, target);
        return true;
    }
    enum fetch_answer answer = fetcher_ask(service->fetcher, source, target, &progress);
    if (answer == FETCH_NONE)
        return false;
    snprintf(pair, sizeof pair, "%.60s-%.60s", source, target);
    int64_t now_us = clock_us(), most_us = now_us + (int64_t)MOST_WAIT_S * 1000000;
    int64_t until_us = request->deadline_us < most_us ? request->deadline_us - ANSWER_US : most_us;
    if (answer == FETCH_BUSY || until_us <= now_us) {
        char message[REPLY_MESSAGE_BYTES];
        snprintf(message, sizeof message,
                 "the model for %.60s is being downloaded: try again later", pair);
        metrics_rejected(service->metrics, REJECTED_FETCHING);
        reply_fail_progress(reply, STATUS_UNAVAILABLE, "fetching", message, progress);
        reply->retry_after_s = RETRY_S;
        return true;
    }
    struct fetch_wait *wait = request->waits.fetch = arena_zalloc(&request->arena, 1, sizeof *wait);
    if (wait) {
        *wait = (struct fetch_wait){.deadline_us = until_us,
                                    .cancelled = &request->cancellation.flag,
                                    .finish = finish_fetch,
                                    .owner = request};
        strcpy(wait->pair, pair);
    } else {
        reply_fail_memory(reply);
    }
    return true;
}

/* Returns true if a model in service translates from source to target. */
static bool has_leg(const struct model_set *models, const char *source, const char *target) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (strcmp(info->task, "translation") == 0 &&
            pair_source_distance(info, source) < LANGUAGE_FAR &&
            (language_distance(info->target, target) < LANGUAGE_FAR || pair_variant(info, target)))
            return true;
    }
    return false;
}

/* Replies 503 if the download of a model for these languages has failed: that is not the client's
 * fault. */
static bool fail_fetched(const struct service *service, const char *source, const char *target,
                         struct reply *reply) {
    char message[REPLY_MESSAGE_BYTES];
    unsigned retry_s;
    if (!fetcher_failed(service->fetcher, source, target, &retry_s))
        return false;
    snprintf(message, sizeof message,
             "the model for %.60s-%.60s could not be downloaded: the server's log has the reason",
             source, target);
    metrics_rejected(service->metrics, REJECTED_FETCHING);
    reply_fail_coded(reply, STATUS_UNAVAILABLE, "fetch_failed", NULL, message);
    reply->retry_after_s = retry_s;
    return true;
}

bool wait_fetch_missing(const struct service *service, const char *source, const char *target,
                        struct request *request, struct reply *reply) {
    if (!source || !target || !wait_may_fetch(service, request))
        return false;
    if (has_leg(request->models, source, target))
        return false;
    if (fetch(service, source, target, request, reply))
        return true;

    /* try two models via a pivot, each of which is in service or can be downloaded */
    const char *middle = service->options->pivot ? service->options->pivot : "en";
    bool pivots = strcmp(middle, "none") != 0 &&
                  language_distance(middle, source) == LANGUAGE_FAR &&
                  language_distance(middle, target) == LANGUAGE_FAR;
    bool first = pivots && has_leg(request->models, source, middle),
         second = pivots && has_leg(request->models, middle, target);
    if (first && second)
        return false;
    if (pivots && (first || fetcher_could(service->fetcher, source, middle)) &&
        (second || fetcher_could(service->fetcher, middle, target)) &&
        ((!first && fetch(service, source, middle, request, reply)) ||
         (!second && fetch(service, middle, target, request, reply))))
        return true;
    return fail_fetched(service, source, target, reply) ||
           (pivots && !first && fail_fetched(service, source, middle, reply)) ||
           (pivots && !second && fail_fetched(service, middle, target, reply));
}

/* ---- models in memory ---- */

bool wait_finds_models(const struct service *service, const struct request *request,
                       struct reply *reply) {
    if (request->models->count > 0 || wait_may_fetch(service, request))
        return true;
    metrics_rejected(service->metrics, REJECTED_MODEL);
    reply_fail_modelless(reply);
    return false;
}

static struct held_model *find_held(const struct request *request,
                                    const struct served_model *model) {
    struct held_model *held = request->held;
    while (held && held->model != model)
        held = held->next;
    return held;
}

/* If wait has no model and no error, the request has ended or the daemon is stopping; preparing it
 * again finds out which. */
static void finish_wait(struct model_wait *wait) {
    struct request *request = wait->owner;
    find_held(request, wait->model)->loaded = wait->loaded;
    if (wait->error.code == ERROR_NONE)
        request->waits.model = NULL;
    request->finish(request);
}

/* Replies 503 with Retry-After, since the client is not to blame and the failure may be temporary.
 */
static void fail_model(const struct service *service, const struct served_model *model,
                       const struct error *error, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_MODEL);
    reply_fail(reply, STATUS_UNAVAILABLE, NULL, "model \"%.60s\" cannot be loaded: %s",
               model->info.name, error->message);
    reply->retry_after_s = 10;
}

bool wait_is_needed(const struct request *request) {
    return request->waits.fetch ||
           (request->waits.model && request->waits.model->error.code == ERROR_NONE);
}

/* Returns true if the request holds the model in memory. Otherwise sets the reply or makes the
 * request wait for the model. */
static bool has_model(const struct service *service, struct served_model *model,
                      struct request *request, struct reply *reply) {
    struct error error = {0};
    struct held_model *held = find_held(request, model);
    if (!held && (held = arena_zalloc(&request->arena, 1, sizeof *held)) != NULL) {
        held->model = model;
        held->next = request->held;
        request->held = held;
    }
    if (!held) {
        reply_fail_memory(reply);
        return false;
    }
    if (held->loaded)
        return true;
    switch (catalog_take(service->catalog, model, &held->loaded, &error)) {
    case CATALOG_READY:
        return true;
    case CATALOG_FAILED:
        fail_model(service, model, &error, reply);
        return false;
    case CATALOG_NOT_YET:
        break;
    }
    size_t held_bytes = 0;
    for (const struct held_model *other = request->held; other; other = other->next)
        held_bytes += other->loaded ? other->loaded->bytes : 0;
    request->waits.model = arena_zalloc(&request->arena, 1, sizeof *request->waits.model);
    if (request->waits.model)
        *request->waits.model = (struct model_wait){.model = model,
                                                    .deadline_us = request->deadline_us,
                                                    .room_us = request->deadline_us - ANSWER_US,
                                                    .held_bytes = held_bytes,
                                                    .cancelled = &request->cancellation.flag,
                                                    .finish = finish_wait,
                                                    .owner = request};
    else
        reply_fail_memory(reply);
    return false;
}

bool wait_has_models(const struct service *service, struct request *request, struct reply *reply) {
    if (request->waits.model) { /* loading has failed with an error */
        fail_model(service, request->waits.model->model, &request->waits.model->error, reply);
        return false;
    }
    if (!request->loaded) {
        if (!has_model(service, request->model, request, reply))
            return false;
        request->loaded = loaded_model_acquire(find_held(request, request->model)->loaded);
    }
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (text->model && !has_model(service, text->model, request, reply))
            return false;
        text->loaded = text->model ? find_held(request, text->model)->loaded : NULL;
        if (text->second && !has_model(service, text->second, request, reply))
            return false;
        text->second_loaded = text->second ? find_held(request, text->second)->loaded : NULL;
    }
    return true;
}

enum scheduler_verdict wait_submit(const struct service *service, struct request *request) {
    if (request->waits.fetch)
        return fetcher_await(service->fetcher, request->waits.fetch) ? SCHEDULER_ACCEPTED
                                                                     : SCHEDULER_FULL;
    if (catalog_await(service->catalog, request->waits.model)) /* the request may have been freed */
        return SCHEDULER_ACCEPTED;
    return service_state(service) == SERVICE_DRAINING ? SCHEDULER_CLOSED : SCHEDULER_FULL;
}
