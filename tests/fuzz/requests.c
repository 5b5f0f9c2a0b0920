#include "tests/fuzz/requests.h"
#include "server/api/value.h"
#include "server/base/log.h"
#include "server/endpoints/routes.h"
#include "server/options/options.h"
#include "tests/fuzz/fuzz.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char model[] = "tests/golden/luong-general-gru";

static void start(struct service *service) {
    static char program[] = "alignd", flag[] = "--model", folder[sizeof model];
    static struct options options;
    snprintf(folder, sizeof folder, "%s", model);
    static const char *names[ROUTES_MOST_LABELS];
    const size_t labels = routes_labels(names);
    FUZZ_CHECK(options_parse(&options, 3, (char *const[]){program, flag, folder}, NULL) == 0);
    log_set_level("error");
    value_init();
    service->options = &options;
    service->metrics = metrics_create(names, labels, NULL);
    service->scheduler =
        scheduler_create(&(struct scheduler_limits){options.queue, options.queue_work});
    const struct catalog_options models = {.folders = &options.models,
                                           .loading.compute = options.compute,
                                           .loading.shortlist = options.shortlist,
                                           .loading.half_past = options.half_past,
                                           .loading.workers = options.workers,
                                           .loading.rows = options.rows,
                                           .most_waiting = options.queue};
    service->catalog = catalog_create(&models, service->metrics);
    static const struct name_list none;
    service->glossaries = glossaries_open(&(struct glossaries_options){.fixed = &none}, NULL);
    FUZZ_CHECK(service->metrics && service->scheduler && service->catalog && service->glossaries &&
               catalog_open(service->catalog, NULL) == 0);
    atomic_store(&service->state, SERVICE_READY);
}

const struct service *fuzz_service(void) {
    static struct service service;
    if (!service.metrics)
        start(&service);
    return &service;
}

/* An error is JSON and says what it is about; bytes alone never make it the server's. */
static void check_reply(const struct reply *reply) {
    FUZZ_CHECK(reply->status == STATUS_OK || (reply->status >= 400 && reply->status < 500));
    json_t *root = json_loadb(reply->body, reply->length, 0, NULL);
    FUZZ_CHECK(root);
    bool failed = json_object_get(root, "error") ||
                  json_object_get(root, "message"); /* DeepL's dialect has a message */
    FUZZ_CHECK((reply->status == STATUS_OK) == !failed);
    json_decref(root);
}

/* Checks that jobs are within the limits on which the workers rely. */
static void check_jobs(const struct service *service, const struct request *request) {
    FUZZ_CHECK(request->job_count <= service->options->queue);
    for (size_t i = 0; i < request->job_count; i++) {
        FUZZ_CHECK(request->jobs[i].rows >= 1 && request->jobs[i].rows <= service->options->rows);
        FUZZ_CHECK(request->jobs[i].tokens <= request->models->all[0]->info.max_source_tokens + 1);
    }
}

void fuzz_request(const char *path, struct call *call) {
    const struct service *service = fuzz_service();
    struct request request;
    struct reply reply = {0};
    size_t endpoint;
    call->path = path;
    request_init(&request);
    request.id = "fuzz";
    request.models = catalog_acquire(service->catalog);
    const struct route *route = call->route = routes_find(path, "POST", &endpoint);
    reply.dialect = route_dialect(route);
    route->start(service, call, &request, &reply);
    if (reply.status != 0)
        check_reply(&reply);
    else
        check_jobs(service, &request);
    free(reply.body);
    request_done(&request);
}
