/* Requests for languages that no model is for yet: they wait while one is downloaded (server/get/fetch.h), or hear how far it is.
 */
#include "model/translator.h"
#include "server/api/endpoint.h"
#include "server/api/languages.h"
#include "server/base/clock.h"
#include "server/get/fetch.h"
#include "server/models/variant.h"
#include <stdio.h>
#include <string.h>

enum {
    ANSWER_US = 300 * 1000, /* before the deadline, in which the answer that it is still being fetched is sent */
    MOST_WAIT_S = 60,
    RETRY_S = 5
};

/* The set of models that the request has is older than the model: it gets the next one when it is prepared again. */
static void finish_fetch(struct fetch_wait *wait) {
    struct request *request = wait->owner;
    request->fetch = NULL;
    model_set_release(request->models);
    request->models = NULL;
    request->finish(request);
}

static void fail_fetching(const struct service *service, const char *pair, double progress, struct reply *reply) {
    char message[API_MESSAGE_BYTES];
    snprintf(message, sizeof message, "the model for %.60s is being downloaded: try again later", pair);
    metrics_rejected(service->metrics, REJECTED_FETCHING);
    api_fail_progress(reply, STATUS_UNAVAILABLE, "fetching", message, progress);
    reply->retry_after_s = RETRY_S;
}

bool api_fetches(const struct service *service, const struct request *request) {
    return fetcher_is_on(service->fetcher) && !(request->key && *request->key->limits.models);
}

bool api_fetch(const struct service *service, const char *source, const char *target, struct request *request,
               struct reply *reply) {
    double progress;
    char pair[FETCH_ASKED_BYTES];
    if (!api_fetches(service, request))
        return false;
    enum fetch_answer answer = fetcher_ask(service->fetcher, source, target, &progress);
    if (answer == FETCH_NONE)
        return false;
    snprintf(pair, sizeof pair, "%.60s-%.60s", source, target);
    int64_t now_us = clock_us(), most_us = now_us + (int64_t)MOST_WAIT_S * 1000000;
    int64_t until_us = request->deadline_us < most_us ? request->deadline_us - ANSWER_US : most_us;
    if (answer == FETCH_BUSY || until_us <= now_us) {
        fail_fetching(service, pair, progress, reply);
        return true;
    }
    struct fetch_wait *wait = request->fetch = arena_zalloc(&request->arena, 1, sizeof *wait);
    if (wait) {
        *wait = (struct fetch_wait){
            .deadline_us = until_us, .cancelled = &request->cancelled, .finish = finish_fetch, .owner = request};
        strcpy(wait->pair, pair);
    } else {
        api_fail_memory(reply);
    }
    return true;
}

/* True if a model in service translates so. */
static bool has_leg(const struct model_set *models, const char *source, const char *target) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        if (strcmp(info->task, "translation") == 0 && language_distance(info->source, source) < LANGUAGE_FAR &&
            (language_distance(info->target, target) < LANGUAGE_FAR || variant_for(info, target)))
            return true;
    }
    return false;
}

bool api_fetch_missing(const struct service *service, const char *source, const char *target, struct request *request,
                       struct reply *reply) {
    if (!source || !target || !api_fetches(service, request))
        return false;
    if (has_leg(request->models, source, target))
        return false;
    if (api_fetch(service, source, target, request, reply))
        return true;

    /* two models that meet, both of which are there or can be fetched */
    const char *middle = service->options.pivot ? service->options.pivot : "en";
    if (strcmp(middle, "none") == 0 || language_distance(middle, source) < LANGUAGE_FAR ||
        language_distance(middle, target) < LANGUAGE_FAR)
        return false;
    bool first = has_leg(request->models, source, middle), second = has_leg(request->models, middle, target);
    if ((!first && !fetcher_could(service->fetcher, source, middle)) ||
        (!second && !fetcher_could(service->fetcher, middle, target)))
        return false;
    return (!first && api_fetch(service, source, middle, request, reply)) ||
           (!second && api_fetch(service, middle, target, request, reply));
}
