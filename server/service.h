/* What the parts of the daemon share. Made by main, used by http and the endpoints. */
#ifndef ALIGND_SERVICE_H
#define ALIGND_SERVICE_H

#include "server/cache.h"
#include "server/catalog.h"
#include "server/keys.h"
#include "server/limiter.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/scheduler.h"

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

struct service {
    const struct options *options;
    struct metrics *metrics;
    struct scheduler *scheduler;
    struct catalog *catalog;
    struct cache *cache; /* NULL: off */
    struct limiter *limiter;
    struct keys *keys; /* NULL: everybody may translate, nobody may administer */
    atomic_int state;  /* enum service_state; a reload does not change it */
};

static inline enum service_state service_state(const struct service *service) {
    return (enum service_state)atomic_load(&service->state);
}

#endif
