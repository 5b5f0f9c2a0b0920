/* This module receives the bodies of requests and bounds the memory of all of them together.
 *
 * Bodies share a budget. A client has at most a quarter of it, and at most as much as is left for
 * others, so that neither one client nor many together keep another one out: n clients that send
 * as much as they can have one part in n + 1 each, and one part stays free. A body counts with the
 * memory that it has got so far, from its first byte until it is released; one that has been
 * announced counts nothing. Whoever is over waits: its connection is suspended, the socket is not
 * read, and TCP slows down the sender. The oldest body of a client may be larger than a quarter,
 * and the oldest of all larger than the budget, so that one of them always goes on. The budget is
 * exceeded by at most one body of the maximum size and the first 4 KiB of each client. Thread-safe,
 * except that one body has one thread at a time. */
#ifndef ALIGND_BODIES_H
#define ALIGND_BODIES_H

#include "server/base/metrics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BODIES_CLIENT_SHARE = 4 /* a client has one part in so many */ };

struct bodies;
struct bodies_client;

/* One body; lives in its owner's memory and starts as {.wake = ..., .owner = ...}. */
struct body {
    char *bytes; /* [length] */
    size_t length, capacity;
    /* Called by any thread when the wait of the body ends; it must not call this module. */
    void (*wake)(void *owner);
    void *owner;

    /* private; the lock of bodies guards them */
    struct bodies_client *client; /* NULL: the body has no bytes yet */
    size_t counted,
        wanted; /* bytes that count, at least the capacity; those for which the body waits */
    bool waits;
    struct body *older, *newer;
};

/* most: bytes of all bodies. metrics outlives the bodies. Returns NULL if memory runs out. */
struct bodies *bodies_create(size_t most, struct metrics *metrics);
/* All bodies must have been released. Accepts NULL. */
void bodies_free(struct bodies *bodies);

enum body_verdict {
    BODY_TAKEN,
    BODY_FULL /* bodies_wait must be called */,
    BODY_FAILED /* memory has run out, or bodies_close was called */
};

/* Appends a piece, or nothing if there is no room for it. client: whoever sends it, the same for
 * all pieces. */
enum body_verdict bodies_receive(struct bodies *bodies, struct body *body, uint64_t client,
                                 const char *bytes, size_t count);
/* Makes the body wait for room for the piece that was refused, after its connection was suspended.
 * Once wake is called, perhaps before this returns, the piece has its room, unless the wait was
 * ended by bodies_wake. */
void bodies_wait(struct bodies *bodies, struct body *body);
/* Ends the wait of a body, if it waits: its client has left. */
void bodies_wake(struct bodies *bodies, struct body *body);
/* Ends all waits. From now on no body waits. */
void bodies_close(struct bodies *bodies);
/* Frees the bytes and lets others go on. May be called again, but not while the body waits. */
void bodies_release(struct bodies *bodies, struct body *body);

#endif
