/* This module hides how the memory of bodies is counted and who waits for it. */
#include "server/http/bodies.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 4096 /* initial capacity of a body, which every client may have: a sentence waits
                          for nobody */
};

/* A client with bodies. There are at most as many as connections. */
struct bodies_client {
    uint64_t id;
    size_t bytes, bodies;
    struct body *oldest;
    struct bodies_client *next;
};

struct bodies {
    size_t most;
    struct metrics *metrics;

    pthread_mutex_t lock; /* guards everything below */
    size_t bytes, waiting;
    bool closed;
    struct body *oldest, *newest;
    struct bodies_client *clients;
};

struct bodies *bodies_create(size_t most, struct metrics *metrics) {
    struct bodies *bodies = calloc(1, sizeof *bodies);
    if (!bodies)
        return NULL;
    bodies->most = most;
    bodies->metrics = metrics;
    pthread_mutex_init(&bodies->lock, NULL);
    return bodies;
}

void bodies_free(struct bodies *bodies) {
    if (!bodies)
        return;
    assert(!bodies->oldest && !bodies->clients);
    pthread_mutex_destroy(&bodies->lock);
    free(bodies);
}

/* ---- the list, which requires the lock ---- */

static void add_bytes(struct bodies *bodies, struct body *body, int64_t difference) {
    body->counted += (size_t)difference;
    body->client->bytes += (size_t)difference;
    bodies->bytes += (size_t)difference;
    metrics_add(bodies->metrics, GAUGE_BODY_BYTES, difference);
}

static void add_waiting(struct bodies *bodies, struct body *body, bool waits) {
    body->waits = waits;
    waits ? bodies->waiting++ : bodies->waiting--;
    metrics_add(bodies->metrics, GAUGE_BODIES_WAITING, waits ? 1 : -1);
}

/* Lists the body as the newest. Returns false if memory runs out. */
static bool enter(struct bodies *bodies, struct body *body, uint64_t id) {
    struct bodies_client *client = bodies->clients;
    while (client && client->id != id)
        client = client->next;
    if (!client) {
        client = malloc(sizeof *client);
        if (!client)
            return false;
        *client = (struct bodies_client){.id = id, .oldest = body, .next = bodies->clients};
        bodies->clients = client;
    }
    client->bodies++;
    body->client = client;
    body->newer = NULL;
    body->older = bodies->newest;
    *(body->older ? &body->older->newer : &bodies->oldest) = body;
    bodies->newest = body;
    return true;
}

static void leave(struct bodies *bodies, struct body *body) {
    struct bodies_client *client = body->client;
    *(body->older ? &body->older->newer : &bodies->oldest) = body->newer;
    *(body->newer ? &body->newer->older : &bodies->newest) = body->older;
    add_bytes(bodies, body, -(int64_t)body->counted);
    body->client = NULL;
    if (--client->bodies > 0) {
        struct body *next = client->oldest == body ? body->newer : client->oldest;
        while (next->client != client)
            next = next->newer;
        client->oldest = next;
        return;
    }
    struct bodies_client **place = &bodies->clients;
    while (*place != client)
        place = &(*place)->next;
    *place = client->next;
    free(client);
}

/* Returns whether a listed body may have so many bytes more. A client that may have only as much as
 * it leaves to others cannot fill the budget, alone or together with others. */
static bool has_room(const struct bodies *bodies, const struct body *body, size_t more) {
    const struct bodies_client *client = body->client;
    size_t own = client->bytes + more, all = bodies->bytes + more;
    if (body == bodies->oldest || own <= FIRST_BYTES)
        return true;
    size_t share = body == client->oldest ? bodies->most : bodies->most / BODIES_CLIENT_SHARE;
    return all <= bodies->most && own <= bodies->most - all && own <= share;
}

/* Counts more bytes for a listed body. Returns false if they do not fit. */
static bool count_more(struct bodies *bodies, struct body *body, size_t more) {
    bool fits = has_room(bodies, body, more);
    if (fits)
        add_bytes(bodies, body, (int64_t)more);
    return fits;
}

static void end_wait(struct bodies *bodies, struct body *body) {
    add_waiting(bodies, body, false);
    body->wake(body->owner);
}

/* ---- a body ---- */

enum body_verdict bodies_receive(struct bodies *bodies, struct body *body, uint64_t client,
                                 const char *bytes, size_t count) {
    size_t room = body->capacity > 0 ? body->capacity : FIRST_BYTES;
    while (room - body->length < count)
        room *= 2;
    if (room > body->capacity) {
        pthread_mutex_lock(&bodies->lock);
        bool listed = body->client || enter(bodies, body, client);
        bool fits =
            listed && (room <= body->counted || count_more(bodies, body, room - body->counted));
        bool waits = listed && !fits && !bodies->closed;
        body->wanted = room;
        pthread_mutex_unlock(&bodies->lock);
        if (!fits)
            return waits ? BODY_FULL : BODY_FAILED;
        char *grown = realloc(body->bytes, room);
        if (!grown)
            return BODY_FAILED;
        body->bytes = grown;
        body->capacity = room;
    }
    memcpy(body->bytes + body->length, bytes, count);
    body->length += count;
    return BODY_TAKEN;
}

void bodies_wait(struct bodies *bodies, struct body *body) {
    pthread_mutex_lock(&bodies->lock);
    add_waiting(bodies, body, true);
    if (bodies->closed || count_more(bodies, body, body->wanted - body->counted))
        end_wait(bodies, body);
    pthread_mutex_unlock(&bodies->lock);
}

void bodies_wake(struct bodies *bodies, struct body *body) {
    pthread_mutex_lock(&bodies->lock);
    if (body->waits)
        end_wait(bodies, body);
    pthread_mutex_unlock(&bodies->lock);
}

void bodies_close(struct bodies *bodies) {
    pthread_mutex_lock(&bodies->lock);
    bodies->closed = true;
    for (struct body *body = bodies->oldest; body; body = body->newer)
        if (body->waits)
            end_wait(bodies, body);
    pthread_mutex_unlock(&bodies->lock);
}

void bodies_release(struct bodies *bodies, struct body *body) {
    free(body->bytes);
    body->bytes = NULL;
    body->length = body->capacity = 0;
    pthread_mutex_lock(&bodies->lock);
    assert(!body->waits);
    if (body->client) {
        leave(bodies, body);
        for (struct body *other = bodies->oldest; other && bodies->waiting > 0;
             other = other->newer)
            if (other->waits && count_more(bodies, other, other->wanted - other->counted))
                end_wait(bodies, other);
    }
    pthread_mutex_unlock(&bodies->lock);
}
