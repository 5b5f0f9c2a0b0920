/* What the parts of the daemon share. Made by main, used by http and the endpoints. */
#ifndef ALIGND_SERVICE_H
#define ALIGND_SERVICE_H

#include "server/keys.h"
#include "server/limiter.h"
#include "server/metrics.h"
#include "server/models.h"
#include "server/options.h"
#include "server/scheduler.h"

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

struct service {
    const struct options *options;
    struct metrics *metrics;
    struct scheduler *scheduler;
    struct limiter *limiter;
    struct keys *keys;    /* NULL: everybody may translate, nobody may administer */
    struct models models; /* written while loading, constant once state is SERVICE_READY */
    atomic_int state;     /* enum service_state */
};

static inline enum service_state service_state(const struct service *service) {
    return (enum service_state)atomic_load(&service->state);
}

#endif
