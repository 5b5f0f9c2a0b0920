#include "tests/fuzz/requests.h"
#include "server/endpoints/routes.h"
#include "tests/fuzz/fuzz.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    FUZZ_CHECK(request->job_count <= service->options.queue);
    for (size_t i = 0; i < request->job_count; i++) {
        FUZZ_CHECK(request->jobs[i].rows >= 1 && request->jobs[i].rows <= service->options.rows);
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
