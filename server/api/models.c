/* This file has the endpoints that list the models and change which are in service. */
#include "server/api/models.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/base/clock.h"
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
        writer_strings(w, "style", info->style, "score", info->score, NULL);
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
    writer_boolean(w, "in_use", view.in_use);
    if (view.used_us > 0)
        writer_count(w, "idle_s", (size_t)((clock_us() - view.used_us) / 1000000));
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

void models_list(const struct service *service, const struct call *call, struct request *request,
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
    writer_boolean(&w, "administrator", administrator);
    writer_end_object(&w);
    reply_json(reply, &w);
}

void models_available(const struct service *service, const struct call *call,
                      struct request *request, struct reply *reply) {
    static const char *const states[] = {[FETCH_LIST_UNKNOWN] = "unknown",
                                         [FETCH_LIST_READING] = "reading",
                                         [FETCH_LIST_READY] = "ready",
                                         [FETCH_LIST_FAILED] = "failed"};
    bool administrator = access_is_administrator(service, call);
    enum fetch_list state = FETCH_LIST_UNKNOWN;
    struct get_pair *pairs = NULL;
    size_t count = 0;
    char reason[256] = "";
    struct writer w = {.most = SIZE_MAX};
    (void)request;
    if (service->fetcher)
        state =
            fetcher_available(service->fetcher, administrator || fetcher_is_on(service->fetcher),
                              &pairs, &count, reason);
    writer_begin_object(&w, NULL);
    writer_string(&w, "state", service->fetcher ? states[state] : "offline");
    if (state == FETCH_LIST_FAILED && administrator)
        writer_string(&w, "reason", reason);
    writer_begin_array(&w, "models");
    for (size_t i = 0; i < count; i++) {
        writer_begin_object(&w, NULL);
        writer_strings(&w, "source", pairs[i].source, "target", pairs[i].target, "from", "mozilla",
                       "version", pairs[i].version, "architecture", pairs[i].architecture,
                       "licence", pairs[i].licence, NULL);
        writer_count(&w, "bytes", pairs[i].bytes);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    free(pairs);
    reply_json(reply, &w);
}

/* ---- adding and removing a model ---- */

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
    static const char *const sources[] = {"mozilla", "opus", "argos", "quickmt", "hplt", "hf"};
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
        reply_fail(reply, STATUS_INVALID, "from",
                   "from must be mozilla, opus, argos, quickmt, hplt or hf");
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

void models_add(const struct service *service, const struct call *call, struct request *request,
                struct reply *reply) {
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

void models_remove(const struct service *service, const struct call *call, struct request *request,
                   struct reply *reply) {
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

void models_reload_start(const struct service *service, const struct call *call,
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
void models_reload_finish(const struct service *service, struct request *request,
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
