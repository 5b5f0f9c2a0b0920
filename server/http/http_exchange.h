/* One request and its reply, from the head that has come to the last byte that is sent. Who works on it, see http_work.h. */
#ifndef ALIGND_HTTP_EXCHANGE_H
#define ALIGND_HTTP_EXCHANGE_H

#include "server/api/api.h"
#include "server/decode/chores.h"
#include "server/decode/watch.h"
#include "server/http/http_body.h"
#include "server/http/http_connection.h"
#include "server/http/http_sent.h"
#include "server/http/http_stream.h"
#include <microhttpd.h>
#include <pthread.h>

/* What all exchanges share. */
struct exchanges {
    struct service *service;
    struct watch *watch;
    struct chores *chores;
    struct connections connections;
    atomic_size_t read;   /* bytes of requests, from when they are read until their answers are written */
    atomic_size_t unread; /* bytes of answers, from when they are written until they are sent */
    uint32_t id_prefix;   /* of generated request ids */
    atomic_uint_least32_t id_counter;

    pthread_mutex_t lock; /* guards in_flight */
    pthread_cond_t idle;  /* in_flight became 0 */
    size_t in_flight;     /* exchanges whose request has come in whole: they are owed a reply */
};

/* What a request took, for its log line. */
struct spent {
    char model[64];                /* its name, cut; "": none */
    struct model_metrics *metrics; /* its counters; NULL: none */
    size_t tokens;                 /* of the best hypotheses */
    int64_t queue_us, decode_us;
};

/* RECEIVING -> ANSWERED or STREAMING, by way of SUSPENDED where others than the connection's thread work on the request. DETACHED:
 * another exchange answers its client, and whoever finishes the request ends it (work_detach). */
enum stage { STAGE_RECEIVING, STAGE_SUSPENDED, STAGE_ANSWERED, STAGE_STREAMING, STAGE_DETACHED };

/* Made by the first call for it, ended by the completion callback and nowhere else; but while it streams, request and reply are the
 * workers' until they have the answer (events_end), and if the client has left by then, they end it. */
struct exchange {
    struct request request;
    struct exchanges *exchanges;
    struct MHD_Connection *connection;
    enum stage stage;
    const struct route *route; /* NULL: no such path */
    size_t endpoint;           /* index of its label */
    const char *path;          /* as long as the request */
    const char *method;        /* as of api_method */
    char id[SENT_ID_BYTES], trace[SENT_TRACE_BYTES], key_name[KEY_NAME_BYTES];
    struct spent spent;
    bool whole; /* the request has come in whole: counted in exchanges->in_flight */
    int64_t began_us;
    struct body body;
    struct reply reply;
    bool gzip;   /* its client takes that */
    size_t kept; /* bytes of the request counted in exchanges->read */
    size_t held; /* bytes of the reply counted in exchanges->unread */
    struct watched watched;
    struct chore chore;
    struct stream *stream; /* NULL: answered in one piece */
};

void exchanges_init(struct exchanges *exchanges, struct service *service);
/* Waits until no request is unanswered. False after timeout_ms. */
bool exchanges_wait_idle(struct exchanges *exchanges, size_t timeout_ms);
/* None may be left. */
void exchanges_done(struct exchanges *exchanges);

/* path and method outlive the exchange. NULL when memory is out. */
struct exchange *exchange_create(struct exchanges *exchanges, struct MHD_Connection *connection, const char *path,
                                 const char *method);
/* Another for the same client and connection, with an empty request and this reply, which it takes over. NULL when memory is out.
 */
struct exchange *exchange_fork(const struct exchange *exchange, const struct reply *reply);
/* The request has come in whole. */
void exchange_count(struct exchange *exchange);
/* Its reply has gone out whole. */
void exchange_sent(const struct exchange *exchange);
/* Counts and logs it, and frees it. */
void exchange_end(struct exchange *exchange);

/* Notes what it took, before request_done. */
void exchange_note(struct exchange *exchange);

/* Counts its request, until exchange_forget. False, and the reply is set: it is large, and there is no room beside others. */
bool exchange_keep(struct exchange *exchange);
void exchange_forget(struct exchange *exchange);

/* Makes its answer gzip, if that is wanted and of use. Takes 10 ms a MB. */
void exchange_compress(struct exchange *exchange);
/* Counts its answer, if it has one, with those that are unread. One that does not fit becomes 503. */
void exchange_hold(struct exchange *exchange);

/* Hands the reply to libmicrohttpd; of a stream its beginning. MHD_NO: the connection is to be closed. */
enum MHD_Result exchange_respond(struct exchange *exchange);

#endif
