#include "server/decode/model_set.h"
#include <stdlib.h>
#include <string.h>

struct model_set *model_set_create(size_t generation, struct metrics *metrics) {
    struct model_set *models = calloc(1, sizeof *models);
    if (!models)
        return NULL;
    models->generation = generation;
    models->metrics = metrics;
    atomic_init(&models->references, 1);
    if (metrics)
        metrics_model_sets_changed(metrics, 1);
    return models;
}

struct served_model *model_set_find(const struct model_set *models, const char *name) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->all[i]->info.name, name) == 0)
            return models->all[i];
    }
    return NULL;
}

static int append(struct model_set *models, struct served_model *model, struct error *err) {
    struct served_model **all = reallocarray(models->all, models->count + 1, sizeof *all);
    if (!all)
        return error_memory(err);
    models->all = all;
    all[models->count++] = model;
    return 0;
}

/* Two models of one name could not be told apart. */
int model_set_add(struct model_set *models, struct served_model *model, struct error *err) {
    int result = 0;
    if (model_set_find(models, model->info.name))
        result = error_set(err, ERROR_INPUT, "a model named \"%s\" is already loaded", model->info.name);
    if (result == 0)
        result = append(models, model, err);
    if (result != 0)
        served_model_release(model);
    return result;
}

int model_set_add_all(struct model_set *models, const struct model_set *from, const struct served_model *but, struct error *err) {
    for (size_t i = 0; i < from->count; i++) {
        if (from->all[i] != but && model_set_add(models, served_model_acquire(from->all[i]), err) != 0)
            return -1;
    }
    return 0;
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
        metrics_model_sets_changed(models->metrics, -1);
    free(models->all);
    free(models);
}
