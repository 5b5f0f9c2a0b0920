/* What the parts of the daemon share. Made by main, used by http and the endpoints. */
#ifndef ALIGND_SERVICE_H
#define ALIGND_SERVICE_H

#include "server/api/cache.h"
#include "server/api/kept_files.h"
#include "server/api/keys.h"
#include "server/api/limits.h"
#include "server/base/metrics.h"
#include "server/base/name_list.h"
#include "server/decode/catalog.h"
#include "server/decode/glossaries.h"
#include "server/decode/scheduler.h"

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

/* What requests are answered by; strings are main's. */
struct service_options {
    size_t workers, rows, queue;
    size_t decode_memory; /* of a sentence; 0: no limit */
    bool verbatim;        /* of every request */
    size_t max_body_bytes, max_text_chars, request_memory, max_reply_bytes, reply_memory;
    size_t max_steps;    /* of an exact search */
    size_t model_memory; /* of all models together; 0: no limit */
    size_t deadline_ms, document_ms, heartbeat_ms;
    double rate; /* sentences a second; 0: no limit */
    size_t burst;
    const char *client_header;    /* NULL: none */
    const char *default_model;    /* name of the one that answers what says neither model nor languages; NULL: none */
    const char *pivot;            /* language code; NULL: any; "none": no two models in the place of one */
    const struct name_list *cors; /* origins, "*" alone: any; NULL: none */
};

struct service {
    struct service_options options;
    struct metrics *metrics;
    struct scheduler *scheduler;
    struct catalog *catalog;
    struct cache *cache; /* NULL: off */
    struct limiter *limiter;
    struct usage *usage;
    struct kept_files *files;
    struct glossaries *glossaries;
    struct keys *keys; /* NULL: everybody may translate, nobody may administer */
    atomic_int state;  /* enum service_state; a reload does not change it */
};

static inline enum service_state service_state(const struct service *service) {
    return (enum service_state)atomic_load(&service->state);
}

#endif
