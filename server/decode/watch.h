/* Notices that a waiting client has gone: a thread that polls the sockets of the requests registered with it, and cancels the
 * request (CANCEL_CLIENT) whose peer hung up. It also gives those that are streamed a pulse now and then (events_pulse). */
#ifndef ALIGND_WATCH_H
#define ALIGND_WATCH_H

#include "server/decode/request.h"

struct watch;

/* One registered request; lives in its owner's memory. */
struct watched {
    struct request *request;
    int fd;
    uint64_t serial; /* never used twice, so that an event for a request that has gone finds nobody */
    struct watched *next, *previous;
};

/* Starts the thread. pulse_ms: time between pulses. NULL with ERROR_FILE or ERROR_MEMORY. */
struct watch *watch_start(size_t pulse_ms, struct error *err);
/* Ends the thread; nothing may be registered. NULL allowed. */
void watch_free(struct watch *watch);

/* fd stays open until watch_remove. Should the system refuse to poll it, the request is simply not watched. Thread-safe. */
void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd);
/* When this returns, the watch touches the request no more. May be called twice, or for what was zeroed and never added.
 * Thread-safe. */
void watch_remove(struct watch *watch, struct watched *watched);

#endif
