/* This module hides how a model is made ready (it is opened and warmed up, and each worker gets a
 * batch), which of its facts are known before it is loaded, and how long it lives. */
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/models/catalog.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a model in memory ---- */

enum { ARENA_BLOCK_BYTES = 4096, BATCH_BYTES = 64 * 1024, BATCH_ROW_BYTES = 256 };

/* Decodes a text, so that the pages of the file that decoding needs are read before any request
 * waits for them. */
static int warm_up(const struct translator *translator, struct error *err) {
    static const struct translator_text text = {
        .text = "one two three", .length = sizeof "one two three" - 1, .verbatim = true};
    const struct search_options options = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .max_length = 1};
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES);
    struct sentence_list sentences;
    struct sentence *done[1];
    int result = sentence_prepare(translator, &text, &options, &arena, &sentences, err);
    struct batch *batch = result == 0 ? batch_create(translator, 1, err) : NULL;
    result = batch ? 0 : -1;
    for (size_t i = 0; batch && i < sentences.count; i++) {
        struct sentence *sentence = &sentences.all[i];
        batch_admit(batch, &sentence, 1);
        while (batch_step(batch, done) == 0) {
        }
        if (sentence->error)
            result = error_set(err, sentence->error->code, "%s", sentence->error->message);
        sentence_done(sentence);
    }
    batch_free(batch);
    arena_done(&arena);
    return result;
}

static void loaded_model_free(struct loaded_model *model) {
    for (size_t i = 0; i < model->workers; i++) {
        batch_free(model->batches[i].batch);
        free(model->batches[i].state);
    }
    free(model->batches);
    translator_free(model->translator);
    atomic_fetch_sub(model->taken, model->bytes);
    if (model->retired)
        atomic_fetch_sub(model->retired, 1);
    free(model);
}

void loaded_model_retire(struct loaded_model *model, atomic_size_t *retired) {
    model->retired = retired;
    atomic_fetch_add(retired, 1);
}

/* After an error, the model contains the parts that were loaded before it. */
static int model_load(struct loaded_model *model, const char *folder, const char *compute,
                      const struct loading *loading, struct error *err) {
    const struct translator_options choices = {.compute = compute ? compute : loading->compute,
                                               .shortlist = loading->shortlist,
                                               .half_past = loading->half_past,
                                               .sha256 = model->files.sha256};
    int64_t began_us = clock_us();
    if (loading->integrity &&
        integrity_check(loading->integrity, folder, loading->extent, &model->files, err) != 0)
        return -1;
    model->translator = translator_open(folder, &choices, err);
    if (!model->translator)
        return -1;
    model->info = translator_info(model->translator);
    size_t bytes = translator_bytes(model->translator);
    if (warm_up(model->translator, err) != 0)
        return -1;
    model->batches = calloc(loading->workers, sizeof *model->batches);
    if (!model->batches)
        return error_memory(err);
    model->workers = loading->workers;
    for (size_t i = 0; i < model->workers; i++) {
        struct worker_batch *slot = &model->batches[i];
        slot->batch = batch_create(model->translator, loading->rows, err);
        if (!slot->batch)
            return -1;
        slot->state =
            calloc(1, loading->state_bytes + 1); /* + 1 makes the result not NULL if that is 0 */
        if (!slot->state)
            return error_memory(err);
        model->bytes += batch_bytes(slot->batch);
    }
    model->metrics = metrics_model(loading->metrics, model->info.name, err);
    if (!model->metrics)
        return -1;
    model->bytes += bytes;
    model->load_us = clock_us() - began_us;
    return 0;
}

struct loaded_model *loaded_model_open(const char *folder, const char *compute,
                                       const struct loading *loading, struct error *err) {
    struct loaded_model *model = calloc(1, sizeof *model);
    if (!model) {
        error_memory(err);
        return NULL;
    }
    model->taken = loading->taken;
    atomic_init(&model->references, 1);
    int result = model_load(model, folder, compute, loading, err);
    atomic_fetch_add(model->taken, model->bytes);
    if (result != 0) {
        loaded_model_free(model);
        return NULL;
    }
    const struct translator_info *info = &model->info;
    if (*info->unmapped)
        log_event(LOG_WARN, "packed_ignored", log_text("model", info->name),
                  log_text("folder", folder), log_text("compute", info->compute),
                  log_text("reason", info->unmapped));
    char mapped[48];
    snprintf(mapped, sizeof mapped, "%zu/%zu", info->mapped, info->matrices);
    log_event(LOG_INFO, "model_loaded", log_text("model", info->name), log_text("folder", folder),
              log_count("parameters", info->parameters), log_text("compute", info->compute),
              log_text("mapped", mapped), log_count("duration_ms", (size_t)(model->load_us / 1000)),
              log_count("bytes", model->bytes));
    return model;
}

struct loaded_model *loaded_model_acquire(struct loaded_model *model) {
    atomic_fetch_add_explicit(&model->references, 1, memory_order_relaxed);
    return model;
}

void loaded_model_release(struct loaded_model *model) {
    if (model && atomic_fetch_sub_explicit(&model->references, 1, memory_order_acq_rel) == 1)
        loaded_model_free(model);
}

bool loaded_model_used(const struct loaded_model *model) {
    return atomic_load_explicit(&model->references, memory_order_acquire) > 1;
}

/* ---- a model in service ---- */

const char *model_set_state_name(enum model_state state) {
    static const char *const names[MODEL_STATES] = {"cold", "loading", "ready", "failed"};
    return names[state];
}

void model_set_hide_folder(const char *folder, char *message) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    bool path = memchr(folder, '/', length) != NULL;
    for (char *at = message; (at = memmem(at, strlen(at), folder, length)) != NULL;) {
        /* The complete path is removed, too; a folder such as "." or "a" also occurs in sentences
         * that do not name it. */
        bool begins = at == message || strchr(" \"'(", at[-1]);
        bool names = begins && (at[length] == '/' || (path && strchr(" :,\"')", at[length])));
        size_t skip = !names ? 0 : at[length] == '/' ? length + 1 : length;
        memmove(at, at + skip, strlen(at + skip) + 1);
        at += skip == 0;
    }
}

struct served_model *served_model_read(const char *folder, bool broken,
                                       const struct loading *loading, struct metrics *metrics,
                                       struct error *err) {
    struct error inner = {0};
    struct served_model *model = calloc(1, sizeof *model);
    if (!model || !(model->folder = strdup(folder))) {
        free(model);
        error_memory(err);
        return NULL;
    }
    for (size_t length = strlen(folder); length > 1 && model->folder[length - 1] == '/';)
        model->folder[--length] = '\0';
    atomic_init(&model->references, 1);
    model->card = translator_card_read(model->folder, &inner);
    if (model->card) {
        model->info = translator_card_info(model->card);
        model->bytes =
            translator_card_bytes(model->card, loading->compute) +
            loading->workers * (BATCH_BYTES + loading->rows * BATCH_ROW_BYTES); /* roughly */
        model->origin = folders_read_origin(model->folder);
    } else if (broken && inner.code != ERROR_MEMORY) {
        const char *slash = strrchr(model->folder, '/');
        const char *name = slash && slash[1] ? slash + 1 : model->folder;
        model->info = (struct translator_info){
            .name = name, .source = "", .target = "", .task = "", .beam_size = 1};
        model->state = MODEL_FAILED;
        model->error = inner;
        model_set_hide_folder(model->folder, model->error.message);
    } else {
        error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
        served_model_release(model);
        return NULL;
    }
    model->metrics = metrics_model(metrics, model->info.name, err);
    if (model->metrics)
        return model;
    served_model_release(model);
    return NULL;
}

void model_set_delete_moved(char *path) {
    *strrchr(path, '/') = '\0';
    folders_delete_model(path);
}

struct served_model *served_model_acquire(struct served_model *model) {
    atomic_fetch_add_explicit(&model->references, 1, memory_order_relaxed);
    return model;
}

void served_model_release(struct served_model *model) {
    if (!model || atomic_fetch_sub_explicit(&model->references, 1, memory_order_acq_rel) > 1)
        return;
    loaded_model_release(model->loaded);
    translator_card_free(model->card);
    if (model->moved)
        model_set_delete_moved(model->moved);
    free(model->moved);
    free(model->folder);
    free(model);
}

bool served_model_same(const struct served_model *a, const struct served_model *b) {
    const struct translator_info *x = &a->info, *y = &b->info;
    return strcmp(x->source, y->source) == 0 && strcmp(x->target, y->target) == 0 &&
           strcmp(x->task, y->task) == 0;
}

/* ---- a set of models ---- */

struct model_set *model_set_create(size_t generation, struct metrics *metrics) {
    struct model_set *models = calloc(1, sizeof *models);
    if (!models)
        return NULL;
    models->generation = generation;
    models->metrics = metrics;
    atomic_init(&models->references, 1);
    if (metrics)
        metrics_add(metrics, GAUGE_MODEL_SETS, 1);
    return models;
}

struct served_model *model_set_find_name(const struct model_set *models, const char *name) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->all[i]->info.name, name) == 0)
            return models->all[i];
    }
    return NULL;
}

struct served_model *model_set_find_folder(const struct model_set *models, const char *folder) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->all[i]->folder, folder) == 0)
            return models->all[i];
    }
    return NULL;
}

bool model_set_has(const struct model_set *models, const struct served_model *model) {
    for (size_t i = 0; models && i < models->count; i++) {
        if (models->all[i] == model)
            return true;
    }
    return false;
}

int model_set_add(struct model_set *models, struct served_model *model, struct error *err) {
    int result = 0;
    if (model_set_find_name(models, model->info.name)) { /* their names would be ambiguous */
        result =
            error_set(err, ERROR_INPUT, "a model named \"%s\" is already loaded", model->info.name);
    } else {
        struct served_model **all = reallocarray(models->all, models->count + 1, sizeof *all);
        result = all ? 0 : error_memory(err);
        models->all = all ? all : models->all;
    }
    if (result == 0)
        models->all[models->count++] = model;
    else
        served_model_release(model);
    return result;
}

int model_set_add_all(struct model_set *models, const struct model_set *from,
                      const struct served_model *without, struct error *err) {
    int result = 0;
    for (size_t i = 0; result == 0 && i < from->count; i++)
        if (from->all[i] != without)
            result = model_set_add(models, served_model_acquire(from->all[i]), err);
    return result;
}

struct model_set *model_set_acquire(struct model_set *models) {
    atomic_fetch_add_explicit(&models->references, 1, memory_order_relaxed);
    return models;
}

void model_set_release(struct model_set *models) {
    if (!models || atomic_fetch_sub_explicit(&models->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < models->count; i++)
        served_model_release(models->all[i]);
    if (models->metrics)
        metrics_add(models->metrics, GAUGE_MODEL_SETS, -1);
    free(models->all);
    free(models);
}
