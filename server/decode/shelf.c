#include "server/decode/shelf.h"
#include "server/base/log.h"
#include <malloc.h>

void gone_free(struct gone *gone) {
    for (struct loaded_model *model = gone->models, *next; model; model = next) {
        next = model->next;
        loaded_model_release(model);
    }
    if (gone->models)
        malloc_trim(0);
    gone->models = NULL;
}

void shelf_put(struct shelf *shelf, struct served_model *model) {
    model->next_kept = shelf->first;
    shelf->first = served_model_acquire(model);
}

bool shelf_remove(struct shelf *shelf, struct served_model *model) {
    struct served_model **link = &shelf->first;
    while (*link && *link != model)
        link = &(*link)->next_kept;
    bool found = *link != NULL;
    if (found)
        *link = model->next_kept;
    return found;
}

/* The reference given back is never the last: the model is in service. */
void shelf_unload(struct shelf *shelf, struct served_model *model, const char *why, struct gone *gone) {
    shelf_remove(shelf, model);
    model->loaded->next = gone->models;
    gone->models = model->loaded;
    model->loaded = NULL;
    model->state = MODEL_COLD;
    log_event(LOG_INFO, "model_unloaded", "model=%s bytes=%zu reason=%s", model->info.name, model->bytes, why);
    metrics_model_unloaded(shelf->metrics);
    served_model_release(model);
}

/* Of those that nobody uses the one that was asked for the longest ago. NULL: all are in use. */
static struct served_model *find_oldest(const struct shelf *shelf) {
    struct served_model *oldest = NULL;
    for (struct served_model *model = shelf->first; model; model = model->next_kept) {
        if (!loaded_model_used(model->loaded) && (!oldest || model->asked_us < oldest->asked_us))
            oldest = model;
    }
    return oldest;
}

static size_t unused_bytes(const struct shelf *shelf) {
    size_t bytes = 0;
    for (const struct served_model *model = shelf->first; model; model = model->next_kept)
        bytes += loaded_model_used(model->loaded) ? 0 : model->loaded->bytes;
    return bytes;
}

bool shelf_could_fit(const struct shelf *shelf, size_t bytes) {
    size_t most = shelf->most_bytes, taken = atomic_load(shelf->taken), unused = unused_bytes(shelf);
    size_t rest = taken > unused ? taken - unused : 0;
    return most == 0 || (bytes <= most && rest <= most - bytes);
}

bool shelf_make_room(struct shelf *shelf, size_t bytes, struct gone *gone) {
    if (!shelf_could_fit(shelf, bytes))
        return false;
    size_t taken = atomic_load(shelf->taken);
    struct served_model *model;
    while (shelf->most_bytes > 0 && taken + bytes > shelf->most_bytes && (model = find_oldest(shelf)) != NULL) {
        taken -= model->loaded->bytes;
        shelf_unload(shelf, model, "room", gone);
    }
    return true;
}

void shelf_unload_idle(struct shelf *shelf, int64_t before_us, struct gone *gone) {
    for (struct served_model *model = shelf->first, *next; model; model = next) {
        next = model->next_kept;
        if (!loaded_model_used(model->loaded) && model->asked_us <= before_us)
            shelf_unload(shelf, model, "idle", gone);
    }
}

struct served_model *shelf_find_unchecked(const struct shelf *shelf) {
    struct served_model *model = shelf->first;
    while (model && !model->unchecked)
        model = model->next_kept;
    return model;
}

bool shelf_is_over(const struct shelf *shelf) {
    return shelf->most_bytes > 0 && atomic_load(shelf->taken) > shelf->most_bytes;
}

/* One at a time, and none beside others that are going: what is gone counts until it is freed. */
void shelf_unload_excess(struct shelf *shelf, struct gone *gone) {
    struct served_model *oldest = !gone->models && shelf_is_over(shelf) ? find_oldest(shelf) : NULL;
    if (oldest)
        shelf_unload(shelf, oldest, "room", gone);
}
