/* The loaded models that may be unloaded again, and the room that all models in memory share. A part of the residence, whose lock
 * guards it. What is unloaded is cold at once; it is freed by gone_free, without the lock. */
#ifndef ALIGND_SHELF_H
#define ALIGND_SHELF_H

#include "server/decode/served_model.h"

struct shelf {
    struct served_model *first; /* ready, a reference each */
    size_t most_bytes;          /* that models in memory may take together; 0: no limit */
    atomic_size_t *taken;       /* by those on the shelf and by all others */
    struct metrics *metrics;
};

/* Unloaded, and still in memory. Zeroed at first. */
struct gone {
    struct loaded_model *models;
};
/* Gives the memory back to the system. */
void gone_free(struct gone *gone);

void shelf_put(struct shelf *shelf, struct served_model *model);
/* False: it is not there. */
bool shelf_remove(struct shelf *shelf, struct served_model *model);

/* So many bytes would fit if all that nobody uses were unloaded. */
bool shelf_could_fit(const struct shelf *shelf, size_t bytes);
/* The same, and makes it so: those are unloaded first that were asked for the longest ago. */
bool shelf_make_room(struct shelf *shelf, size_t bytes, struct gone *gone);
/* Unloads what was last asked for before that time and is not in use. */
void shelf_unload_idle(struct shelf *shelf, int64_t before_us, struct gone *gone);
/* One whose files are yet to be checked. NULL: there is none. */
struct served_model *shelf_find_unchecked(const struct shelf *shelf);
/* Unloads one that is on the shelf, used or not. why: for the log. */
void shelf_unload(struct shelf *shelf, struct served_model *model, const char *why, struct gone *gone);
/* More is in memory than may be. */
bool shelf_is_over(const struct shelf *shelf);
/* Where that is so, unloads one that nobody uses. */
void shelf_unload_excess(struct shelf *shelf, struct gone *gone);

#endif
