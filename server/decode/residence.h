/* Which of the models in service are in memory.
 *
 *            asked for                    loaded
 *   cold ----------------> loading ----------------> ready ---- nobody asked, or room is needed ----> cold
 *     ^                       |
 *     |   asked for, later    v  does not load
 *     +------------------- failed
 *
 * Who owns what. A struct served_model (a folder) belongs to the sets that list it, and to the residence while that loads or keeps
 * it. A struct loaded_model (what is in memory) belongs to its served_model while that is ready, and to each request that decodes
 * with it: a model that somebody uses is never unloaded, and one that is unloaded is gone with its last user. A request waits in a
 * struct model_wait of its own, which comes back with a reference to the model, so that nobody can unload it in between.
 *
 * Threads. The loader loads one model after the other, beside decoding and at a lower priority; the keeper unloads what is idle,
 * and tells those whose deadline passes while they wait; the checker compares the files of what was loaded with their manifest,
 * the larger ones while the model is in use already. Whoever waits is told without the lock held, on one of these, or on
 * his own.
 *
 * The lock guards the state of every model in service, and the lists. References are counted without it, but the first one to a
 * model is only taken with it: what is found unused with the lock held stays so.
 *
 * Room. With most_bytes those are unloaded first that have not been used for longest. What does not fit beside the models in use
 * waits a little for them, then whoever asked for it is told so. */
#ifndef ALIGND_RESIDENCE_H
#define ALIGND_RESIDENCE_H

#include "server/decode/served_model.h"
#include <stdbool.h>

struct residence;

struct residence_options {
    struct loading loading;
    size_t most_bytes;   /* that loaded models may take together; 0: no limit */
    int64_t idle_us;     /* after so long without use a model is unloaded; 0: never */
    size_t most_waiting; /* who may wait at a time */
};

/* loading.taken must count to the residence's end, and loading.integrity last as long: not NULL. NULL when memory is out. */
struct residence *residence_create(const struct residence_options *options);
/* Starts the threads. -1 with ERROR_MEMORY. */
int residence_start(struct residence *residence, struct error *err);
/* Ends the threads, once those that check files are told to stop (integrity_stop); who waits is told: neither model nor error.
 * Nothing is loaded afterwards. */
void residence_close(struct residence *residence);
/* Gives back what it keeps. NULL allowed. */
void residence_free(struct residence *residence);

/* Who waits for a model; in its owner's memory, which may be gone as soon as finish is called. */
struct model_wait {
    struct served_model *model;
    int64_t deadline_us;          /* of clock_us */
    const atomic_bool *cancelled; /* NULL: it never is */
    void (*finish)(struct model_wait *wait);
    void *owner;
    struct loaded_model *loaded; /* with a reference; NULL: none came */
    struct error error;          /* why; ERROR_NONE: it took too long, it was cancelled, or the residence closed */
    struct model_wait *next;
};

enum residence_verdict { RESIDENCE_READY, RESIDENCE_NOT_YET, RESIDENCE_FAILED };

/* READY: *loaded, with a reference. NOT_YET: residence_await gets it. FAILED: err tells why; it is tried again some seconds later.
 */
enum residence_verdict residence_take(struct residence *residence, struct served_model *model, struct loaded_model **loaded,
                                      struct error *err);
/* Has the model loaded; wait is told once, perhaps before this returns. False: too many wait, or it is closed; nobody is told. */
bool residence_await(struct residence *residence, struct model_wait *wait);
/* The same for nobody who waits. */
void residence_order(struct residence *residence, struct served_model *model);
/* Waits until nobody waits. False after timeout_ms. */
bool residence_wait(struct residence *residence, size_t timeout_ms);

/* A model that has just come into service: if it is ready, it is kept. */
void residence_enter(struct residence *residence, struct served_model *model);
/* It is in service no more: who uses it may go on to, and it is gone with the sets that list it. */
void residence_leave(struct residence *residence, struct served_model *model);
/* Bytes would fit, once what nobody uses were unloaded. */
bool residence_has_room(struct residence *residence, size_t bytes);

/* Of all models in memory. */
size_t residence_bytes(const struct residence *residence);

/* A model as it is now. */
struct model_view {
    enum model_state state;
    size_t bytes;                /* that it takes, or is expected to */
    bool unchecked;              /* as in struct served_model */
    const char *compute;         /* NULL: not known yet */
    struct loaded_model *loaded; /* with a reference; NULL: it is not */
    struct error error;
};
struct model_view residence_view(struct residence *residence, struct served_model *model);

#endif
