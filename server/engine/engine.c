/* This file hides of which parts an engine is made, in which order they start and end, and how a
 * call waits for them. */
#include "server/engine/engine.h"
#include "server/api/decode.h"
#include "server/api/reply.h"
#include "server/api/wait.h"
#include "server/decode/admission.h"
#include <semaphore.h>
#include <stdlib.h>

enum {
    KEPT_FILES = 1024,
    KEPT_SENT_S = 60,

    /* Reading a call's body may take this much memory: READ_BYTES, and READ_FACTOR times its
       length. */
    READ_BYTES = 24 << 20,
    READ_FACTOR = 8
};

static struct catalog_options catalog_options(const struct engine_plan *plan) {
    const struct options *options = plan->options;
    return (struct catalog_options){.folders = plan->folders,
                                    .directory = plan->directory,
                                    .downloads = plan->downloads,
                                    .usual = options->default_model,
                                    .loading = {.compute = options->compute,
                                                .shortlist = options->shortlist,
                                                .half_past = options->half_past,
                                                .workers = plan->threadless ? 1 : options->workers,
                                                .rows = admission_all_rows(options->rows),
                                                .state_bytes = worker_state_bytes()},
                                    .resident = plan->resident || plan->threadless,
                                    .most_bytes = options->model_memory,
                                    .most_waiting = options->queue,
                                    .idle_us = (int64_t)options->idle_unload_s * 1000000};
}

int engine_make(struct engine *engine, const struct engine_plan *plan, struct error *err) {
    const struct options *options = plan->options;
    const struct catalog_options models = catalog_options(plan);
    const struct kept_files_limits kept = {(int64_t)options->keep_files_s * 1000000,
                                           KEPT_SENT_S * INT64_C(1000000), KEPT_FILES,
                                           options->keep_files_bytes};
    *engine = (struct engine){.service = {.options = options}, .threadless = plan->threadless};
    struct service *service = &engine->service;
    if ((options->api_keys && !(service->keys = keys_open(options->api_keys, err))) ||
        !(service->glossaries = glossaries_open(
              &(struct glossaries_options){&options->glossary, options->glossaries}, err)) ||
        !(service->metrics = metrics_create(plan->labels, plan->label_count, err)))
        return -1;
    service->scheduler =
        scheduler_create(&(struct scheduler_limits){options->queue, options->queue_work});
    service->limiter = limiter_create();
    service->files = kept_files_create(&kept);
    service->catalog = catalog_create(&models, service->metrics);
    service->cache = options->cache_bytes > 0 ? cache_create(options->cache_bytes) : NULL;
    bool cached = service->cache || options->cache_bytes == 0;
    return service->scheduler && service->limiter && service->files && service->catalog && cached
               ? 0
               : error_memory(err);
}

int engine_start(struct engine *engine, struct error *err) {
    const struct options *options = engine->service.options;
    struct service *service = &engine->service;
    const struct worker_options decoding = {
        .waiting = engine->threadless,
        .workers = engine->threadless ? 1 : options->workers,
        .rows = options->rows,
        .bytes = options->decode_memory,
        .shared = true,
        .step_us = (int64_t)options->step_ms * 1000,
        .scheduler = service->scheduler,
        .metrics = service->metrics,
    };
    if (catalog_open(service->catalog, err) == 0)
        engine->workers = workers_start(&decoding, err);
    if (!engine->workers)
        return -1;
    atomic_store(&service->state, SERVICE_READY);
    return 0;
}

bool engine_stop(struct engine *engine, size_t most_ms) {
    if (!engine->workers)
        return true;
    scheduler_close(engine->service.scheduler);
    bool clean = workers_wait(engine->workers, most_ms);
    if (!clean)
        workers_abandon(engine->workers);
    workers_free(engine->workers);
    engine->workers = NULL;
    catalog_close(engine->service.catalog);
    return clean;
}

void engine_free(struct engine *engine) {
    struct service *service = &engine->service;
    catalog_free(service->catalog);
    cache_free(service->cache);
    limiter_free(service->limiter);
    kept_files_free(service->files);
    scheduler_free(service->scheduler);
    metrics_free(service->metrics);
    glossaries_free(service->glossaries);
    keys_free(service->keys);
}

/* ---- answering a call ---- */

static void end_wait(struct request *request) {
    sem_post(request->owner);
}

static void note_end(struct request *request) {
    atomic_store((atomic_bool *)request->owner, true);
}

/* Decodes the request, together with those of other threads that call. */
static void decode_here(struct engine *engine, struct request *request, struct reply *reply) {
    atomic_bool ended = false;
    request->finish = note_end;
    request->owner = &ended;
    enum scheduler_verdict verdict = decode_submit(&engine->service, request);
    if (verdict != SCHEDULER_ACCEPTED)
        reply_fail_refused(&engine->service, verdict, request, reply);
    while (verdict == SCHEDULER_ACCEPTED && !atomic_load(&ended))
        workers_turn(engine->workers);
}

/* Hands the request to the threads that decode or load, and waits until they are done. */
static void await(struct service *service, struct request *request, struct reply *reply) {
    sem_t ended;
    sem_init(&ended, 0, 0);
    request->finish = end_wait;
    request->owner = &ended;
    enum scheduler_verdict verdict = decode_submit(service, request);
    if (verdict != SCHEDULER_ACCEPTED)
        reply_fail_refused(service, verdict, request, reply);
    while (verdict == SCHEDULER_ACCEPTED && sem_wait(&ended) != 0) {
    } /* a signal interrupted it */
    sem_destroy(&ended);
}

bool engine_prepare(struct engine *engine, const struct call *call, struct request *request,
                    struct reply *reply) {
    struct service *service = &engine->service;
    if (!request->models)
        request->models = catalog_acquire(service->catalog);
    request->budget = (struct budget){.most_bytes = READ_BYTES + READ_FACTOR * call->length,
                                      .most_sentences = service->options->document_sentences};
    arena_limit(&request->arena, &request->budget);
    call->route->start(service, call, request, reply);
    arena_limit(&request->arena, NULL);
    bool waits = reply->status == 0 && wait_is_needed(request);
    request->waits.accepted |= waits;
    return waits;
}

void engine_conclude(struct engine *engine, const struct call *call, struct request *request,
                     struct reply *reply) {
    struct service *service = &engine->service;
    if (reply->status == 0 && request_reason(request) == CANCEL_NONE)
        call->route->finish(service, request, reply);
    if (request_reason(request) == CANCEL_NONE)
        return;
    free(reply->body); /* of an answer that came too late */
    reply->body = NULL;
    reply_fail_cancelled(service, request_reason(request), reply);
}

void engine_answer(struct engine *engine, const struct call *call, struct request *request,
                   struct reply *reply) {
    for (bool again = true; again && reply->status == 0;) {
        again = engine_prepare(engine, call, request, reply);
        bool submits = again || (reply->status == 0 && request->job_count > 0);
        if (submits && engine->threadless)
            decode_here(engine, request, reply);
        else if (submits)
            await(&engine->service, request, reply);
    }
    engine_conclude(engine, call, request, reply);
}
