/* This module hides what a model in service consists of before it is loaded, and how long it lives. */
#include "server/models/model_set.h"
#include <stdlib.h>
#include <string.h>

/* ---- a model in service ---- */

const char *model_state_name(enum model_state state) {
    static const char *const names[MODEL_STATES] = {"cold", "loading", "ready", "failed"};
    return names[state];
}

void model_hide_folder(const char *folder, char *message) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    bool path = memchr(folder, '/', length) != NULL;
    for (char *at = message; (at = memmem(at, strlen(at), folder, length)) != NULL;) {
        /* The complete path is removed, too; a folder such as "." or "a" also occurs in sentences that do not name it. */
        bool begins = at == message || strchr(" \"'(", at[-1]);
        bool names = begins && (at[length] == '/' || (path && strchr(" :,\"')", at[length])));
        size_t skip = !names ? 0 : at[length] == '/' ? length + 1 : length;
        memmove(at, at + skip, strlen(at + skip) + 1);
        at += skip == 0;
    }
}

struct served_model *served_model_read(const char *folder, bool broken, const struct loading *loading, struct metrics *metrics,
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
        model->bytes = loaded_model_estimate(model->card, loading);
        model->origin = model_origin_read(model->folder);
    } else if (broken && inner.code != ERROR_MEMORY) {
        const char *slash = strrchr(model->folder, '/');
        const char *name = slash && slash[1] ? slash + 1 : model->folder;
        model->info = (struct translator_info){.name = name, .source = "", .target = "", .task = "", .beam_size = 1};
        model->state = MODEL_FAILED;
        model->error = inner;
        model_hide_folder(model->folder, model->error.message);
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

void model_delete_moved(char *path) {
    *strrchr(path, '/') = '\0';
    model_folder_delete(path);
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
        model_delete_moved(model->moved);
    free(model->moved);
    free(model->folder);
    free(model);
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
        result = error_set(err, ERROR_INPUT, "a model named \"%s\" is already loaded", model->info.name);
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
