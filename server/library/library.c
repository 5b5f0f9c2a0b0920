/* This file hides how an engine is opened for a program, and how it ends. */
#include "server/library/library.h"
#include "server/base/log.h"
#include "server/engine/shipped.h"
#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OVERDUE_MS = 40,
    STOP_MS = 1000 /* in which cancelled sentences leave */
};

const char *alignd_version(void) {
    return ALIGND_VERSION;
}

static void discard_line(void *owner, const char *text, size_t length) {
    (void)owner, (void)text, (void)length;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void) {
    log_set_sink(discard_line, NULL);
    translator_setup();
    json_object_seed(0); /* otherwise jansson seeds its hash at the first object, on any thread */
}

void alignd_set_log(void (*line)(void *owner, const char *text, size_t length), void *owner) {
    pthread_once(&once, set_up);
    log_set_sink(line ? line : discard_line, owner);
}

static int find_models(alignd_engine *engine, struct error *err) {
    Dl_info file;
    if (engine->options.models.count == 0 && !engine->options.directory)
        return error_set(err, ERROR_INPUT, "--model MODEL or --models DIR is missing");
    if (dladdr((const void *)(uintptr_t)alignd_open, &file) != 0 && file.dli_fname)
        engine->path = strdup(file.dli_fname);
    engine->options.beside = engine->path;
    return shipped_find_named(&engine->options, err);
}

static int start(alignd_engine *engine, struct error *err) {
    const struct options *options = &engine->options;
    const char *labels[LIBRARY_ROUTES];
    call_labels(labels);
    const struct engine_plan plan = {.options = options,
                                     .folders = &options->models,
                                     .directory = options->directory,
                                     .threadless = !options->threads,
                                     .resident = options->resident,
                                     .labels = labels,
                                     .label_count = LIBRARY_ROUTES};
    if (engine_make(&engine->engine, &plan, err) != 0)
        return -1;
    if (!options->threads)
        return engine_start(&engine->engine, err);
    const struct chores_options chores = {.threads = options->workers / 4 + 1,
                                          .chores = SIZE_MAX,
                                          .bytes = SIZE_MAX,
                                          .metrics = engine->engine.service.metrics,
                                          .overdue_ms = OVERDUE_MS};
    engine->chores = chores_start(&chores, err);
    return engine->chores ? engine_start(&engine->engine, err) : -1;
}

alignd_engine *alignd_open(const char *const *options, size_t count,
                           char error[ALIGND_ERROR_BYTES]) {
    sigset_t before;
    struct error err = {0};
    alignd_engine *engine = calloc(1, sizeof *engine);
    pthread_once(&once, set_up);
    if (engine && options_read(&engine->options, COMMAND_LIBRARY, count, options, &err) != 0) {
        free(engine);
        engine = NULL;
    } else if (engine) {
        pthread_mutex_init(&engine->lock, NULL);
        pthread_cond_init(&engine->idle, NULL);
        engine->process = getpid();
        library_block_signals(&before);
        bool open = find_models(engine, &err) == 0 && start(engine, &err) == 0;
        library_restore_signals(&before);
        if (!open) {
            alignd_close(engine);
            engine = NULL;
        }
    } else {
        error_memory(&err);
    }
    if (!engine && error)
        snprintf(error, ALIGND_ERROR_BYTES, "%s", err.message);
    return engine;
}

void alignd_close(alignd_engine *engine) {
    if (!engine || engine->process != getpid())
        return;
    pending_end(engine);
    engine_stop(&engine->engine, STOP_MS);
    chores_free(engine->chores);
    engine_free(&engine->engine);
    options_done(&engine->options);
    pthread_cond_destroy(&engine->idle);
    pthread_mutex_destroy(&engine->lock);
    free(engine->path);
    free(engine);
}
