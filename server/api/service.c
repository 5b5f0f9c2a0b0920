/* This file has the endpoints about the service itself. GET /health, /ready and /metrics report its
 * state. The page and the description of the API are part of the program. */
#include "server/api/service.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/page.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/get/get.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void service_health(const struct service *service, const struct call *call, struct request *request,
                    struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    reply_status(reply, "ok", NULL, 0);
}

void service_ready(const struct service *service, const struct call *call, struct request *request,
                   struct reply *reply) {
    (void)call;
    enum service_state state = service_state(service);
    if (state != SERVICE_READY)
        reply_fail_unready(state, reply);
    else if (request->models && request->models->count == 0 && !fetcher_is_on(service->fetcher))
        reply_fail_modelless(reply);
    else
        reply_status(reply, "ready", NULL, 0);
}

void service_metrics(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    (void)call;
    struct reply made = {.status = STATUS_OK,
                         .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    size_t count = request->models ? request->models->count : 0;
    struct metrics_served *served = arena_zalloc(&request->arena, count, sizeof *served);
    struct loaded_model **loaded =
        arena_zalloc(&request->arena, count, sizeof(struct loaded_model *));
    if (arena_failed(&request->arena)) {
        reply_fail_memory(reply);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct served_model *model = request->models->all[i];
        struct loaded_model *one = loaded[i] =
            catalog_view(service->catalog, request->models->all[i]).loaded;
        served[i] = (struct metrics_served){.name = model->info.name,
                                            .source = model->info.source,
                                            .target = model->info.target,
                                            .architecture = one ? one->info.architecture : NULL,
                                            .compute = one ? one->info.compute : NULL,
                                            .storage = model->info.storage,
                                            .load_us = one ? one->load_us : 0,
                                            .counters = model->metrics};
    }
    struct metrics_state state = {.models = served,
                                  .model_count = count,
                                  .model_bytes = catalog_bytes(service->catalog),
                                  .model_memory = service->options->model_memory,
                                  .cache_bytes = service->cache ? cache_bytes(service->cache) : 0};
    struct fetch_view views[FETCH_MOST_VIEWS];
    size_t fetched = fetcher_list(service->fetcher, views);
    for (size_t i = 0; i < fetched; i++)
        state.fetching += !views[i].failed;
    for (int i = 0; i < PRIORITIES; i++)
        state.queue_depth[i] = scheduler_depth_of(service->scheduler, (enum priority)i);
    if (metrics_write(service->metrics, &state, &made.body, &made.length, NULL) != 0)
        reply_fail_memory(reply);
    else
        *reply = made;
    for (size_t i = 0; i < count; i++)
        loaded_model_release(loaded[i]);
}

/* ---- the page ---- */

const struct page_file *page_find(const char *path) {
    for (size_t i = 0; i < page_file_count; i++)
        if (strcmp(page_files[i].path, path) == 0)
            return &page_files[i];
    return NULL;
}

void service_page(const struct service *service, const struct call *call, struct request *request,
                  struct reply *reply) {
    /* the policy allows nothing inline or from other hosts, but data: images, since an export draws
     * one */
    static const char policy[] = "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
                                 "form-action 'none'; frame-ancestors 'self'";
    (void)service;
    (void)request;
    const struct page_file *file = page_find(call->path);
    if (!file) {
        reply_fail(reply, STATUS_NOT_FOUND, NULL, "this path does not exist");
        return;
    }

    /* If-None-Match is "*" or a list of tags, which may be weak; strstr suffices, since no tag of a
     * file contains another */
    const char *tags = call->if_none_match;
    bool known = tags && (strcmp(tags, "*") == 0 || strstr(tags, file->etag));
    struct reply made = {.status = STATUS_NOT_MODIFIED,
                         .content_type = file->type,
                         .etag = file->etag,
                         .policy = policy};
    if (!known) {
        made.body = malloc(file->length);
        if (!made.body) {
            reply_fail_memory(reply);
            return;
        }
        memcpy(made.body, file->bytes, file->length);
        made.status = STATUS_OK;
        made.length = file->length;
    }
    *reply = made;
}

/* ---- the description of the API ----
 *
 * Programs read openapi.json, and people read docs.html, which docs.py makes from it. Both are part
 * of the program; tests compare openapi.json with the tables of routes and fields. The endpoints
 * insert the version and, in openapi.json, the use of API keys. */

/* The page has one stylesheet and one script, which sends requests only to this server. */
static const char docs_policy[] = "default-src 'none'; style-src 'self'; img-src 'self'; "
                                  "script-src 'self'; connect-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'self'";

/* Writes text, replacing every occurrence of one string with another. */
static void put_replaced(struct writer *w, const char *text, size_t length, const char *what,
                         const char *with) {
    for (const char *end = text + length, *found; text < end; text = found + strlen(what)) {
        found = memmem(text, (size_t)(end - text), what, strlen(what));
        writer_put(w, text, (size_t)((found ? found : end) - text));
        if (!found)
            return;
        writer_put(w, with, strlen(with));
    }
}

void service_openapi(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    const struct page_file *file = page_find("/openapi.json");
    struct writer compact = {.most = SIZE_MAX}, versioned = {.most = SIZE_MAX},
                  w = {.most = SIZE_MAX};

    /* copy the file without the white space between its parts */
    const char *begin = (const char *)file->bytes, *end = begin + file->length;
    bool inside = false; /* inside a string */
    for (const char *c = begin; c < end; c++) {
        if (inside && *c == '\\')
            c++;
        else if (*c == '"')
            inside = !inside;
        else if (!inside && (*c == ' ' || *c == '\n')) {
            writer_put(&compact, begin, (size_t)(c - begin));
            begin = c + 1;
        }
    }
    writer_put(&compact, begin, (size_t)(end - begin));

    put_replaced(&versioned, compact.bytes, compact.length, "\"version\":\"VERSION\"",
                 "\"version\":\"" ALIGND_VERSION "\"");
    /* remove the option to send no key if the server has API keys */
    put_replaced(&w, versioned.bytes, versioned.length, ",{}]", service->keys ? "]" : ",{}]");
    if (writer_ended(&compact) || writer_ended(&versioned))
        writer_fail(&w);
    writer_done(&compact);
    writer_done(&versioned);
    reply_json(reply, &w);
}

void service_docs(const struct service *service, const struct call *call, struct request *request,
                  struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    const struct page_file *file = page_find("/docs");
    struct writer w = {.most = SIZE_MAX};
    put_replaced(&w, (const char *)file->bytes, file->length, "<h1>alignd VERSION</h1>",
                 "<h1>alignd " ALIGND_VERSION "</h1>");
    reply_json(reply, &w);
    if (reply->status == STATUS_OK) {
        reply->content_type = "text/html; charset=utf-8";
        reply->policy = docs_policy;
    }
}
