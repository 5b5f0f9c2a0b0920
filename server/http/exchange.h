/* An exchange as the files see it between which its life is divided: http.c has the life itself,
 * receiving.c the time until the body has arrived, and serving.c begins and ends the service. */
#ifndef ALIGND_EXCHANGE_H
#define ALIGND_EXCHANGE_H

#include "server/base/metrics.h"
#include "server/decode/chores.h"
#include "server/endpoints/routes.h"
#include "server/http/bodies.h"
#include "server/http/connection.h"
#include "server/http/feed.h"
#include "server/http/headers.h"
#include "server/http/passage.h"
#include "server/http/watch.h"
#include <assert.h>
#include <microhttpd.h>

struct http_listeners;
struct tls;

struct http {
    struct service *service;
    struct watch *watch;
    struct chores *chores;
    struct connections connections;
    struct http_listeners *listeners;
    struct tls *tls; /* NULL: no HTTPS */
    struct bodies *bodies;
    atomic_size_t read;   /* bytes of requests that have been read and are not answered yet */
    atomic_size_t unread; /* bytes of answers that have been written and are not sent yet */
    uint32_t id_prefix;   /* the prefix of generated request ids */
    atomic_uint_least32_t id_counter;

    pthread_mutex_t lock;       /* guards all below */
    struct exchange *receiving; /* the exchanges whose body has not arrived */
    pthread_cond_t idle;        /* in_flight became 0 */
    size_t in_flight;           /* exchanges whose request is complete or refused, until they end */
    bool untidy;                /* requests that were decoded have ended since http_tidy */
};

/* Time and tokens that a request used, for its log line. */
struct spent {
    char model[64];                /* its name, truncated; "": none */
    struct model_metrics *metrics; /* its counters; NULL: none */
    size_t tokens;                 /* tokens of the best hypotheses */
    int64_t queue_us, decode_us;
};

/* The states of an exchange: see the top of http.c. */
enum stage {
    STAGE_RECEIVING,
    STAGE_WAITING,
    STAGE_SUSPENDED,
    STAGE_ANSWERED,
    STAGE_STREAMING,
    STAGE_DETACHED
};

/* One request and its reply. exchange_handle creates it, and exchange_completed ends it. While it
 * streams, request and reply belong to the workers until feed_end; if the client has left by then,
 * they end the exchange. The thread that finishes a detached request ends its exchange. */
struct exchange {
    struct request request;
    struct http *http;
    struct MHD_Connection *connection;
    enum stage stage;
    const struct route *route; /* NULL: the path does not exist */
    size_t endpoint;           /* index of its label */
    const char *path;          /* lives as long as the request */
    const char *method;        /* as api_method returns it */
    char id[HEADERS_ID_BYTES], trace[HEADERS_TRACE_BYTES], key_name[KEY_NAME_BYTES];
    struct spent spent;
    bool untidy; /* it had models: http->untidy once it has ended */
    bool whole;  /* the request is complete or refused, and counted in http->in_flight */
    bool listed; /* in http->receiving, whose lock guards this and the links */
    struct exchange *next, *previous; /* in that list */
    struct passage passage;           /* while it is listed */
    const char *origin;               /* the header; NULL: none */
    atomic_bool passed; /* it was answered past libmicrohttpd, before its body had arrived */
    int64_t began_us;
    struct body body;
    size_t discarded; /* bytes of the body that were not kept */
    struct reply reply;
    bool gzip;   /* the client accepts it */
    size_t kept; /* bytes of the request counted in http->read */
    size_t held; /* bytes of the reply counted in http->unread */
    struct watched watched;
    struct chore chore;
    struct feed *feed; /* NULL: the reply is one piece */
};

/* gone: see watch_add. */
static inline void exchange_watch(struct exchange *exchange,
                                  void (*gone)(struct request *request)) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info);
    watch_add(exchange->http->watch, &exchange->watched, &exchange->request, info->connect_fd,
              gone);
}

/* libmicrohttpd's calls: for the head, for each piece of the body, and at the end of the request;
 * and when the reply was sent or the connection has ended. closure: the struct http. */
enum MHD_Result exchange_handle(void *closure, struct MHD_Connection *connection, const char *path,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_bytes, void **state);
void exchange_completed(void *closure, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code);

/* ---- until the body has arrived (receiving.c) ---- */

/* Lists an exchange whose head is complete. */
void receiving_list(struct exchange *exchange);
/* Takes an exchange off the list. Requires the lock. */
void receiving_unlist(struct exchange *exchange);
/* Answers the requests whose bodies have not arrived with 503. Their connections' threads discard
 * what still arrives, since a client that is sending when the connection closes may never see the
 * reply. */
void receiving_refuse(struct http *http);
/* Called by any thread when the wait of a body ends. owner: the exchange. */
void receiving_resume(void *owner);
/* Returns the most bytes that the body may have. */
size_t receiving_most_bytes(const struct exchange *exchange);
/* Takes a piece of the body, or discards it if the request is refused or the body too large. The
 * rest of a body that is short or of unknown length is read, because a client that is still sending
 * when the connection closes may never see the reply. If there is no room for the piece, the
 * connection is suspended, and this is called again later. Returns false if the connection should
 * close: memory ran out, the client left, or it sends far more than allowed. */
bool receiving_take(struct exchange *exchange, const char *bytes, size_t *count);

#endif
