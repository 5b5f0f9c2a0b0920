/* This file hides how bodies arrive: the exchanges that wait for theirs, the room that a body
 * needs, and what becomes of a body that nobody wants. */
#include "server/api/reply.h"
#include "server/http/exchange.h"
#include <stdlib.h>

enum {
    DISCARD_FACTOR = 16, /* at most this many times the limit of a body of unknown length is read
                            and discarded */
};

size_t receiving_most_bytes(const struct exchange *exchange) {
    const struct options *options = exchange->http->service->options;
    bool more = exchange->route && route_has(exchange->route, ROUTE_LASTS) &&
                options->document_bytes > options->max_body_bytes;
    return more ? options->document_bytes : options->max_body_bytes;
}

/* ---- bodies that arrive while the daemon stops ----
 *
 * libmicrohttpd cannot reply before a body has arrived, and whether it ever does is up to the
 * client. */

void receiving_list(struct exchange *exchange) {
    struct http *http = exchange->http;
    exchange->passage = passage_of(exchange->connection);
    pthread_mutex_lock(&http->lock);
    exchange->next = http->receiving;
    if (http->receiving)
        http->receiving->previous = exchange;
    http->receiving = exchange;
    exchange->listed = true;
    pthread_mutex_unlock(&http->lock);
}

void receiving_unlist(struct exchange *exchange) {
    if (!exchange->listed)
        return;
    *(exchange->previous ? &exchange->previous->next : &exchange->http->receiving) = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    exchange->listed = false;
}

void receiving_refuse(struct http *http) {
    pthread_mutex_lock(&http->lock);
    for (struct exchange *exchange; (exchange = http->receiving) != NULL;
         receiving_unlist(exchange)) {
        struct reply reply = {.dialect = exchange->reply.dialect};
        reply_fail_unready(SERVICE_DRAINING, &reply);
        reply.close = true;
        const struct heading heading = {http->service, exchange->route, exchange->method,
                                        exchange->id,  exchange->trace, exchange->origin,
                                        &reply};
        size_t length;
        char *text = headers_write_reply(&heading, &length);
        if (text)
            passage_send(&exchange->passage, text, length);
        atomic_store(&exchange->passed, text != NULL);
        metrics_rejected(http->service->metrics, REJECTED_DRAINING);
        free(text);
        free(reply.body);
    }
    pthread_mutex_unlock(&http->lock);
}

/* ---- the body ---- */

void receiving_resume(void *owner) {
    MHD_resume_connection(((struct exchange *)owner)->connection);
}

/* Called by the watch when the client of a waiting body has left. */
static void end_waiting(struct request *request) {
    struct exchange *exchange = request->owner;
    bodies_wake(exchange->http->bodies, &exchange->body);
}

bool receiving_take(struct exchange *exchange, const char *bytes, size_t *count) {
    struct http *http = exchange->http;
    struct body *body = &exchange->body;
    size_t most = receiving_most_bytes(exchange);
    if (exchange->stage == STAGE_WAITING) {
        watch_remove(http->watch, &exchange->watched);
        exchange->stage = STAGE_RECEIVING;
        if (request_reason(&exchange->request) != CANCEL_NONE)
            return false;
    }
    if (exchange->reply.status == 0 && exchange->discarded == 0 &&
        !atomic_load(&exchange->passed) && *count <= most - body->length) {
        enum body_verdict verdict =
            bodies_receive(http->bodies, body, exchange->request.account.client, bytes, *count);
        if (verdict != BODY_FULL) {
            *count = 0;
            return verdict == BODY_TAKEN;
        }
        exchange->stage = STAGE_WAITING;
        MHD_suspend_connection(exchange->connection);
        bodies_wait(http->bodies, body);
        exchange_watch(exchange, end_waiting);
        return true;
    }
    bodies_release(http->bodies, body);
    exchange->discarded += *count;
    *count = 0;
    return exchange->discarded / DISCARD_FACTOR <= most;
}
