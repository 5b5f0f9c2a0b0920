/* This module notices clients that hang up while their requests are decoded. Its thread polls the
 * sockets of the requests registered with it and cancels the request (CANCEL_CLIENT) whose peer
 * hung up. It also gives streamed requests a pulse now and then (events_pulse). */
#ifndef ALIGND_WATCH_H
#define ALIGND_WATCH_H

#include "server/decode/request.h"
#include <stddef.h>
#include <stdint.h>

struct watch;

/* A registered request; lives in its owner's memory. */
struct watched {
    struct request *request;
    void (*gone)(struct request *request); /* NULL: none */
    int fd;
    uint64_t serial; /* never used twice, so that a late event cannot match another request */
    struct watched *next, *previous;
};

/* Starts the thread. pulse_ms: the time between pulses. Returns NULL with ERROR_FILE or
 * ERROR_MEMORY. */
struct watch *watch_start(size_t pulse_ms, struct error *err);
/* Stops the thread and frees the watch. All requests must have been removed. Accepts NULL. */
void watch_free(struct watch *watch);

/* gone: called after the request was cancelled, on the watch's thread, which holds its lock. fd
 * must stay open until watch_remove has returned. If the system cannot poll it, a client that hangs
 * up is not noticed. Thread-safe. */
void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd,
               void (*gone)(struct request *request));
/* After this returns, the watch does not use the request any more. It may be called twice, or for a
 * zeroed entry that was never added. Thread-safe. */
void watch_remove(struct watch *watch, struct watched *watched);

#endif
