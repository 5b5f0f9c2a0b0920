#include "server/decode/model_set.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_TOKENS = 8, ARENA_BLOCK_BYTES = 4096 };

static int decode_all(const struct translator *translator, struct sentence *sentences, size_t count, struct error *err) {
    struct sentence *done[1];
    struct batch *batch = batch_create(translator, 1, err);
    if (!batch)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct sentence *sentence = &sentences[i];
        batch_admit(batch, &sentence, 1);
        while (batch_step(batch, done) == 0) {
        }
        if (sentence->error.code != ERROR_NONE)
            error_set(err, sentence->error.code, "%s", sentence->error.message);
        sentence_done(sentence);
    }
    batch_free(batch);
    return 0;
}

/* Touches the weights that a decode touches: pages of the file come in before anybody waits. */
static int warm_up(const struct translator *translator, struct error *err) {
    static const char text[] = "one two three";
    struct search_options options = {.strategy = &search_greedy, .beam_size = 1, .n_best = 1, .max_length = WARM_UP_TOKENS};
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES);
    struct sentence *sentences;
    size_t count;
    int result = translator_prepare(translator, text, sizeof text - 1, false, &options, &arena, &sentences, &count, err);
    if (result == 0)
        result = decode_all(translator, sentences, count, err);
    arena_done(&arena);
    return result;
}

/* Two models of one name could not be told apart. */
static int check_name(const struct model_set *models, const char *name, struct error *err) {
    for (size_t i = 0; i < models->count; i++) {
        if (strcmp(models->all[i].info.name, name) == 0)
            return error_set(err, ERROR_INPUT, "a model named \"%s\" is already loaded", name);
    }
    return 0;
}

static int make_batches(struct served_model *model, size_t workers, size_t rows, struct error *err) {
    model->batches = calloc(workers, sizeof *model->batches);
    if (!model->batches)
        return error_memory(err);
    for (size_t i = 0; i < workers; i++) {
        struct worker_batch *slot = &model->batches[i];
        slot->model = model;
        slot->load.owner = slot;
        slot->batch = batch_create(model->translator, rows, err);
        if (!slot->batch)
            return -1;
        slot->load.grows = batch_grows(slot->batch);
    }
    return 0;
}

static void model_done(struct served_model *model, size_t workers) {
    for (size_t i = 0; model->batches && i < workers; i++)
        batch_free(model->batches[i].batch);
    free(model->batches);
    translator_free(model->translator);
}

/* What was loaded before an error is in the model all the same, to be ended with model_done. */
static int model_load(struct model_set *models, struct served_model *model, const char *folder,
                      const struct translator_options *choices, const struct model_set_options *options, struct error *err) {
    int64_t began_us = clock_us();
    model->translator = translator_open(folder, choices, err);
    if (!model->translator)
        return -1;
    model->info = translator_info(model->translator);
    if (check_name(models, model->info.name, err) != 0 || warm_up(model->translator, err) != 0 ||
        make_batches(model, options->workers, options->rows, err) != 0)
        return -1;
    model->metrics = metrics_model(models->metrics, model->info.name, err);
    if (!model->metrics)
        return -1;
    model->load_us = clock_us() - began_us;
    log_event(LOG_INFO, "model_loaded", "model=%s folder=%s parameters=%zu compute=%s duration_ms=%lld", model->info.name, folder,
              model->info.parameters, model->info.compute, (long long)(model->load_us / 1000));
    return 0;
}

static int load_all(struct model_set *models, const struct model_set_options *options, const struct model_set *previous,
                    struct error *err) {
    for (size_t i = 0; i < options->folders->count; i++) {
        const char *folder = options->folders->names[i];
        const char *compute = previous ? previous->all[i].info.compute : options->compute;
        struct translator_options choices = {.compute = compute, .shortlist = options->shortlist, .half_past = options->half_past};
        struct error inner = {0};
        struct served_model *model = &models->all[i];
        if (model_load(models, model, folder, &choices, options, &inner) != 0) {
            model_done(model, models->workers);
            return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
        }
        models->count++;
    }
    return 0;
}

struct model_set *model_set_load(const struct model_set_options *options, const struct model_set *previous, struct metrics *metrics,
                                 struct error *err) {
    struct model_set *models = calloc(1, sizeof *models);
    if (!models) {
        error_memory(err);
        return NULL;
    }
    models->generation = previous ? previous->generation + 1 : 1;
    models->workers = options->workers;
    models->metrics = metrics;
    atomic_init(&models->references, 1);
    metrics_model_sets_changed(metrics, 1);
    if (load_all(models, options, previous, err) == 0)
        return models;
    model_set_release(models);
    return NULL;
}

struct model_set *model_set_acquire(struct model_set *models) {
    atomic_fetch_add_explicit(&models->references, 1, memory_order_relaxed);
    return models;
}

void model_set_release(struct model_set *models) {
    if (!models || atomic_fetch_sub_explicit(&models->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < models->count; i++)
        model_done(&models->all[i], models->workers);
    metrics_model_sets_changed(models->metrics, -1);
    free(models);
}

static struct metrics_served served_of(const struct served_model *model) {
    const struct translator_info *info = &model->info;
    return (struct metrics_served){.name = info->name,
                                   .source = info->source,
                                   .target = info->target,
                                   .architecture = info->architecture,
                                   .compute = info->compute,
                                   .storage = info->storage,
                                   .load_us = model->load_us,
                                   .counters = model->metrics};
}

size_t model_set_served(const struct model_set *models, struct metrics_served *served) {
    size_t count = models ? models->count : 0;
    for (size_t i = 0; i < count; i++)
        served[i] = served_of(&models->all[i]);
    return count;
}
