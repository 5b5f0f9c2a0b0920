/* This file has the endpoints about the service itself. GET /models, /health, /ready and /metrics
 * report its state; POST and DELETE change the set of loaded models. The page and the description
 * of the API are part of the program. */
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

/* Omits the reason of a failure, which names files, unless an administrator asks. */
static void put_model(struct writer *w, const struct service *service, struct served_model *model,
                      bool administrator) {
    struct model_view view = catalog_view(service->catalog, model);
    writer_begin_object(w, NULL);
    writer_string(w, "name", model->info.name);
    if (model->card) { /* a folder that cannot be read does not describe its model */
        const struct translator_info *info = &model->info;
        const char *attention = !info->attention          ? "none"
                                : info->attention_trained ? "attention"
                                                          : "untrained";
        writer_strings(w, "source", info->source, "target", info->target, "task", info->task, NULL);
        writer_count(w, "parameters", info->parameters);
        writer_string(w, "storage", info->storage);
        writer_string(w, "alignment", info->alignment_head ? "head" : attention);
        writer_boolean(w, "alignment_head", info->alignment_head);
        writer_boolean(w, "heads", info->heads);
        writer_boolean(w, "quality", info->quality);
        if (info->variant_count > 0) {
            writer_begin_array(w, "variants");
            for (size_t i = 0; i < info->variant_count; i++)
                writer_string(w, NULL, info->variants[i]);
            writer_end_array(w);
        }
        writer_begin_object(w, "defaults");
        if (view.compute)
            writer_string(w, "compute", view.compute);
        writer_boolean(w, "shortlist", view.shortlist);
        writer_count(w, "beam_size", info->beam_size);
        writer_number(w, "length_penalty", info->length_penalty);
        writer_end_object(w);
        writer_begin_object(w, "limits");
        writer_count(w, "max_source_tokens", info->max_source_tokens);
        writer_number(w, "max_target_ratio", info->max_target_ratio);
        writer_count(w, "max_target_tokens", TRANSLATOR_MAX_TARGET);
        writer_end_object(w);
    }

    /* a downloaded model has an origin, and an imported model may have a licence */
    const char *const origin[][2] = {{"from", model->origin.from},
                                     {"version", model->origin.version},
                                     {"licence", model->origin.licence},
                                     {"attribution", model->origin.attribution}};
    for (size_t i = 0; i < sizeof origin / sizeof *origin; i++)
        if (*origin[i][1])
            writer_string(w, origin[i][0], origin[i][1]);
    writer_string(w, "state", model_set_state_name(view.state));
    if (view.state == MODEL_FAILED && administrator)
        writer_string(w, "reason", view.error.message);
    writer_count(w, "bytes", view.bytes);
    if (view.loaded) {
        const struct integrity_found *files = &view.loaded->files;
        const struct translator_info *info = &view.loaded->info;
        writer_string(w, "integrity",
                      !files->listed   ? "unlisted"
                      : view.unchecked ? "checking"
                                       : "checked");
        if (*files->sha256)
            writer_string(w, "sha256", files->sha256);
        writer_strings(w, "architecture", info->architecture, "compute", info->compute, NULL);
        writer_begin_object(w, "vocabulary");
        writer_count(w, "source", info->source_vocabulary);
        writer_count(w, "target", info->target_vocabulary);
        writer_end_object(w);
    }
    writer_end_object(w);
    loaded_model_release(view.loaded);
}

void service_models(const struct service *service, const struct call *call, struct request *request,
                    struct reply *reply) {
    if (access_is_loading(request, reply))
        return;
    bool administrator = access_is_administrator(service, call);
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "models");
    for (size_t i = 0; i < request->models->count; i++)
        put_model(&w, service, request->models->all[i], administrator);
    struct fetch_view views[FETCH_MOST_VIEWS]; /* downloads that are running or have failed */
    bool limited = request->key && *request->key->models && !administrator;
    size_t count = limited ? 0 : fetcher_list(service->fetcher, views);
    for (size_t i = 0; i < count; i++) {
        writer_begin_object(&w, NULL);
        writer_string(&w, "name", views[i].asked);
        writer_string(&w, "state", views[i].failed ? "failed" : "fetching");
        if (!views[i].failed)
            writer_number(&w, "progress", views[i].progress);
        if (views[i].failed && administrator)
            writer_string(&w, "reason", views[i].reason);
        writer_count(&w, "bytes", (size_t)views[i].total);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    writer_count(&w, "generation", request->models->generation);
    writer_string(&w, "reload", catalog_reloading(service->catalog));
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- adding and removing a model ---- */

/* Replies with a status. Omits the name if it is NULL, and the generation if it is 0. */
static void reply_status(struct reply *reply, const char *status, const char *name,
                         size_t generation) {
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_strings(&w, "status", status, name ? "name" : NULL, name, NULL);
    if (generation > 0)
        writer_count(&w, "generation", generation);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* The reason names folders and files, so only administrators may see it. */
static void fail_change(enum catalog_verdict verdict, const struct error *error,
                        struct reply *reply) {
    if (verdict == CATALOG_BUSY)
        reply_fail_coded(reply, STATUS_CONFLICT, "busy", NULL,
                         "the models are being reloaded; try again later");
    else if (verdict == CATALOG_UNKNOWN)
        reply_fail(reply, STATUS_NOT_FOUND, NULL, "no model has this name");
    else if (error->code == ERROR_MEMORY)
        reply_fail_memory(reply);
    else
        reply_fail_coded(reply, STATUS_CONFLICT, "model_refused", "folder", error->message);
}

/* Orders the model "mozilla:en-fr", for example, if the body is {"get": "en-fr", "from":
 * "mozilla"}. */
static void get_model_asked(const struct service *service, const json_t *root,
                            struct reply *reply) {
    static const char *const sources[] = {"mozilla", "opus", "argos", "hf"};
    const json_t *get = json_object_get(root, "get"), *from = json_object_get(root, "from");
    const char *source = json_string_value(from), *what = json_string_value(get);
    char asked[FETCH_ASKED_BYTES] = "";
    struct error error = {0};
    bool known = !from;
    for (size_t i = 0; source && i < sizeof sources / sizeof *sources; i++)
        known |= strcmp(source, sources[i]) == 0;
    if (!what || !*what || strlen(what) > sizeof asked - 16 || strstr(what, "://")) {
        reply_fail(
            reply, STATUS_INVALID, "get",
            "get must be a pair of languages such as en-fr, or with from \"hf\" a repository");
    } else if (!known) {
        reply_fail(reply, STATUS_INVALID, "from", "from must be mozilla, opus, argos or hf");
    } else if (!service->fetcher) {
        reply_fail_coded(reply, STATUS_CONFLICT, "offline", "get",
                         "this server downloads no models (--offline)");
    } else {
        snprintf(asked, sizeof asked, "%s%s%s", source ? source : "", source ? ":" : "", what);
        if (fetcher_order(service->fetcher, asked, &error) == 0)
            reply_status(reply, "fetching", asked, 0);
        else if (error.code == ERROR_INPUT)
            reply_fail(reply, STATUS_INVALID, "get", "get: %s", error.message);
        else
            reply_fail_coded(reply, STATUS_CONFLICT, "busy", "get", error.message);
    }
}

void service_add_model(const struct service *service, const struct call *call,
                       struct request *request, struct reply *reply) {
    if (!access_admit(service, request, reply))
        return;
    json_t *root = call_load(call, reply), *item;
    const json_t *value = json_object_get(root, "folder");
    const char *name;
    struct error error = {0};
    bool gets = json_object_get(root, "get") != NULL;
    json_object_foreach(root, name, item) {
        if (strcmp(name, gets ? "get" : "folder") == 0 || (gets && strcmp(name, "from") == 0))
            continue;
        reply_fail(reply, STATUS_INVALID, name, "unknown field \"%.60s\"", name);
        json_decref(root);
        return;
    }
    if (gets) {
        get_model_asked(service, root, reply);
    } else if (root && json_string_length(value) == 0) {
        reply_fail(reply, STATUS_INVALID, "folder",
                   "folder must be the path of a model folder on the server; get, a pair of "
                   "languages, downloads one");
    } else if (root) {
        struct served_model *added = NULL;
        enum catalog_verdict verdict =
            catalog_add(service->catalog, json_string_value(value), &added, &error);
        if (verdict == CATALOG_DONE)
            reply_status(reply, "added", added->info.name, 0);
        else
            fail_change(verdict, &error, reply);
        served_model_release(added);
    }
    json_decref(root);
}

void service_remove_model(const struct service *service, const struct call *call,
                          struct request *request, struct reply *reply) {
    size_t length;
    if (!access_admit(service, request, reply))
        return;
    const char *part = route_part(call->route, call->path, &length);
    const char *name = arena_copy(&request->arena, part, length);
    struct error error = {0};
    enum catalog_verdict verdict = CATALOG_REFUSED;
    if (name)
        verdict = catalog_remove(service->catalog, name, &error);
    else
        error_memory(&error);
    if (verdict == CATALOG_DONE)
        reply_status(reply, "removed", name, 0);
    else
        fail_change(verdict, &error, reply);
}

static void finish_reload(struct reload *reload) {
    struct request *request = reload->owner;
    request->finish(request);
}

void service_reload_start(const struct service *service, const struct call *call,
                          struct request *request, struct reply *reply) {
    (void)call;
    if (!access_admit(service, request, reply))
        return;
    model_set_release(request->models); /* a reload waits for requests that keep an earlier set */
    request->models = NULL;
    request->waits.reload = arena_zalloc(&request->arena, 1, sizeof *request->waits.reload);
    if (request->waits.reload)
        *request->waits.reload = (struct reload){.finish = finish_reload, .owner = request};
    else
        reply_fail_memory(reply);
}

/* The reason names folders and files, so only administrators may see it. */
void service_reload_finish(const struct service *service, struct request *request,
                           struct reply *reply) {
    (void)service;
    const struct reload *reload = request->waits.reload;
    if (reload->generation > 0)
        reply_status(reply, "reloaded", NULL, reload->generation);
    else if (reload->error.code != ERROR_NONE)
        reply_fail(reply, STATUS_CONFLICT, NULL,
                   "reloading failed, and the loaded models stay in service: %s",
                   reload->error.message);
    else
        reply_fail_unready(SERVICE_DRAINING, reply);
}

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
                                  .model_memory = service->options.model_memory,
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
static const char docs_policy[] =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
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
