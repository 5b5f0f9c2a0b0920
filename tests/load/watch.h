/* Watches the memory of a daemon as a control group counts it, and ends one that takes more than it
 * may. */
#ifndef ALIGND_TESTS_LOAD_WATCH_H
#define ALIGND_TESTS_LOAD_WATCH_H

#include "tests/load/server.h"

struct watch;

/* The greatest values so far, in MiB. */
struct watch_peak {
    double resident, sockets,
        both;     /* sockets: what the kernel keeps for those of the daemon, unread or unsent */
    double group; /* charged to its control group, with cached files; -1: it has none of its own */
    bool within;  /* its own control group is part of this process's, whose limits hold for it */
    bool killed;  /* both were more than the daemon may have */
};

/* Begins at once, in a thread of its own, and looks every few milliseconds. most_mib: above it the
 * daemon is killed. */
struct watch *watch_start(const struct server *server, double most_mib);
/* Returns the peak, and ends the watch. */
struct watch_peak watch_stop(struct watch *watch);

#endif
