#include "server/decode/served_model.h"
#include "server/base/clock.h"
#include <stdlib.h>
#include <string.h>

const char *model_state_name(enum model_state state) {
    static const char *const names[MODEL_STATES] = {"cold", "loading", "ready", "failed"};
    return names[state];
}

static const char *base_name(const char *folder) {
    const char *slash = strrchr(folder, '/');
    return slash && slash[1] ? slash + 1 : folder;
}

/* With a slash after it, or as a whole; a folder such as "." or "a" also stands in sentences that do not name it. */
static bool names_folder(const struct served_model *model, const char *at, size_t length) {
    bool begins = at == model->error.message || strchr(" \"'(", at[-1]);
    bool ends = strchr(model->folder, '/') && strchr(" :,\"')", at[length]);
    return begins && (at[length] == '/' || ends);
}

void served_model_fail(struct served_model *model, const struct error *error) {
    size_t length = strlen(model->folder);
    model->error = *error;
    for (char *at = model->error.message; (at = strstr(at, model->folder)) != NULL;) {
        size_t skip = !names_folder(model, at, length) ? 0 : at[length] == '/' ? length + 1 : length;
        memmove(at, at + skip, strlen(at + skip) + 1);
        at += skip == 0;
    }
    model->state = MODEL_FAILED;
    model->changed_us = clock_us();
}

static struct served_model *model_create(const char *folder) {
    struct served_model *model = calloc(1, sizeof *model);
    char *copy = model ? strdup(folder) : NULL;
    if (!copy) {
        free(model);
        return NULL;
    }
    for (size_t length = strlen(copy); length > 1 && copy[length - 1] == '/';)
        copy[--length] = '\0';
    model->folder = copy;
    model->info = (struct translator_info){.name = base_name(copy), .source = "", .target = "", .task = "", .beam_size = 1};
    atomic_init(&model->references, 1);
    return model;
}

struct served_model *served_model_read(const char *folder, bool broken, const struct loading *loading, struct error *err) {
    struct error inner = {0};
    struct served_model *model = model_create(folder);
    if (!model) {
        error_memory(err);
        return NULL;
    }
    model->card = translator_card_read(model->folder, &inner);
    if (model->card) {
        model->info = translator_card_info(model->card);
        model->bytes = loaded_model_estimate(model->card, loading);
    } else if (broken && inner.code != ERROR_MEMORY) {
        served_model_fail(model, &inner);
    } else {
        error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
        served_model_release(model);
        return NULL;
    }
    model->metrics = metrics_model(loading->metrics, model->info.name, err);
    if (model->metrics)
        return model;
    served_model_release(model);
    return NULL;
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
    free(model->folder);
    free(model);
}

/* The folder may have been replaced since it was read. */
static bool is_as_read(const struct served_model *model, const struct translator_info *info) {
    return strcmp(info->name, model->info.name) == 0 && strcmp(info->source, model->info.source) == 0 &&
           strcmp(info->target, model->info.target) == 0 && info->attention == model->info.attention &&
           info->alignment_head == model->info.alignment_head && info->heads == model->info.heads &&
           info->quality == model->info.quality;
}

struct loaded_model *served_model_open(const struct served_model *model, const char *compute, const struct loading *loading,
                                       struct error *err) {
    struct loaded_model *loaded = loaded_model_open(model->folder, compute, loading, err);
    if (!loaded || is_as_read(model, &loaded->info))
        return loaded;
    error_set(err, ERROR_FILE, "the folder holds another model by now: reload the models");
    loaded_model_release(loaded);
    return NULL;
}

void served_model_set(struct served_model *model, struct loaded_model *loaded) {
    model->loaded = loaded;
    model->state = MODEL_READY;
    model->compute = loaded->info.compute;
    model->bytes = loaded->bytes;
    model->asked_us = clock_us();
    model->unchecked = loaded->files.listed && !loaded->files.checked;
}
