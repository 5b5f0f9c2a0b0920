/* This module manages connections over libmicrohttpd: their maximum number, the time limit of each
 * stage, cutting off slow connections, noticing clients that hang up, the certificate, and
 * workarounds for the library's heads and replies.
 *
 * A connection has read_timeout_ms to send its first line, and each request has as long from its
 * first line to arrive completely. A reply has send_timeout_ms to be read; a stream has as long for
 * each piece, and from the end of the decoding on for all the rest. In between, the deadline
 * applies, and between two requests CONNECTION_IDLE_S. libmicrohttpd limits only silence, and a
 * client could evade that by sending a byte now and then. So a thread shuts down the sockets of
 * connections that take too long, and the threads that serve them see that the peer is gone.
 *
 * While at least three quarters of a crowd's places are taken, connections between two requests
 * (SLOW_IDLE) are cut after a second. When the last place is taken, the connection that has been
 * silent for the longest time is cut at once (SLOW_SILENT). A connection is silent from its
 * beginning, or from the first line of a later request, until the head of the request is complete.
 * If none is, the client with the most connections loses the newest one whose body is arriving,
 * unless it has no more than a browser opens. So a place stays free for others. While all places
 * are taken, silent connections are cut after a second, and bodies have five seconds to arrive. */
#ifndef ALIGND_CONNECTION_H
#define ALIGND_CONNECTION_H

#include "server/api/api.h"
#include <gnutls/abstract.h>
#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_OptionItem;
struct MHD_Response;
struct tls;

enum {
    CONNECTION_OPTIONS = 8,
    CONNECTION_IDLE_S = 60,
    CONNECTION_ARGUMENTS = 100 /* of a query string */
};
enum { CONNECTION_MEMORY = 40 * 1024 /* bytes that a connection takes without its request */ };

/* ---- cutting off ---- */

struct cutoff;

/* Whoever has more connections than this (a browser opens six) may lose some while places are
 * scarce. */
enum { CONNECTIONS_FEW = 8 };

/* The connections that share a limit; lives in its owner's memory. */
struct crowd {
    size_t most;

    /* only for cutoff */
    size_t count;
    struct holder *holders; /* its clients */
};

/* One connection; lives in its owner's memory. */
struct timed {
    int fd;
    struct crowd *crowd;
    uint64_t client;    /* whose connection it is; 0: a proxy's, which stands for many clients */
    int64_t timeout_us; /* of its stage; INT64_MAX: no limit */

    /* private */
    bool silent;      /* the head of its first request, or of one that has begun, is not complete */
    int64_t since_us; /* clock_us */
    enum metrics_counter
        reason;            /* counts the connection if its stage takes longer than its limit */
    struct holder *holder; /* the client, with the number of its connections; NULL: no client's */
    struct timed *next, *previous;
};

/* Starts the thread. Returns NULL with ERROR_MEMORY. */
struct cutoff *cutoff_start(struct metrics *metrics, struct error *err);
/* Stops the thread and frees the cutoff. All connections must have been removed. Accepts NULL. */
void cutoff_free(struct cutoff *cutoff);

/* These functions are thread-safe. A new connection, whose public members the caller has set, is
 * silent and has timeout_us to send the first line of a request (SLOW_REQUEST). It must stay open
 * until cutoff_remove. */
void cutoff_add(struct cutoff *cutoff, struct timed *timed);
void cutoff_remove(struct cutoff *cutoff, struct timed *timed);
/* Begins a stage, which may take this long; INT64_MAX: no limit. */
void cutoff_set(struct cutoff *cutoff, struct timed *timed, enum metrics_counter reason,
                int64_t timeout_us);
void cutoff_listen(struct cutoff *cutoff, struct timed *timed, bool silent);

/* ---- clients that hang up ---- */

/* A thread that polls the sockets of the requests registered with it and cancels the request
 * (CANCEL_CLIENT) whose peer hung up. It also gives streamed requests a pulse now and then
 * (events_pulse). */
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
 * must stay open until watch_remove. If the system cannot poll it, a client that hangs up is not
 * noticed. Thread-safe. */
void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd,
               void (*gone)(struct request *request));
/* After this returns, the watch does not use the request any more. It may be called twice, or for a
 * zeroed entry that was never added. Thread-safe. */
void watch_remove(struct watch *watch, struct watched *watched);

/* ---- the connections of all listening sockets ---- */

struct connections_options {
    size_t most;          /* 0: enough for all requests, plus a reserve, within the memory */
    size_t memory;        /* bytes that most, if it is 0, may take */
    size_t requests;      /* maximum number of requests that wait or are decoded */
    size_t most_per_peer; /* from one address; 0: half of them, or all for administrators or if
                             trusts_proxy */
    bool trusts_proxy;    /* a proxy names the clients of its requests */
    size_t read_timeout_ms, send_timeout_ms;
    bool admin; /* there are addresses for administrators */
};

struct connections {
    struct connections_options options;
    size_t most, most_admin; /* at the same time, on the addresses of each kind */
    struct cutoff *cutoff;   /* connections_start starts it, and cutoff_free ends it */
    struct tls *tls;         /* NULL: no HTTPS */
};

/* The connections of one listening socket share a gate. */
struct gate {
    struct connections *connections;
    struct crowd crowd;
    bool admin; /* for administrators */
    bool local; /* a Unix socket */
};

/* Raises the limit of open files and starts the cutoff. If the process may not open enough files,
 * there are fewer connections. Returns -1 with ERROR_MEMORY. */
int connections_start(struct connections *connections, const struct connections_options *options,
                      struct metrics *metrics, struct error *err);

/* Fills items [CONNECTION_OPTIONS] for MHD_OPTION_ARRAY: the options for connections, and
 * MHD_OPTION_END. gate must outlive the daemon. */
void connection_options(struct gate *gate, struct MHD_OptionItem *items);

/* Returns the gate through which the connection came in, or NULL if memory ran out when it was
 * opened. */
const struct gate *connection_gate(struct MHD_Connection *connection);

/* Refuses heads that libmicrohttpd accepts but a proxy may read differently (RFC 9112, 11.2), and
 * query strings that are too long. Call this once the head is complete, in the first call of the
 * handler, with its method and version. Returns -1 after setting the reply; the connection must
 * then close. */
int connection_check(struct MHD_Connection *connection, const char *method, const char *version,
                     struct reply *reply);

/* Calls libmicrohttpd's own MHD_queue_response, for our replies; connection.c defines another
 * function of that name. Returns false if the reply is not queued. */
bool connection_queue(struct MHD_Connection *connection, unsigned status,
                      struct MHD_Response *response);

/* A way to write to a connection past libmicrohttpd, which cannot reply before a body has arrived.
 */
struct passage {
    int fd;
    gnutls_session_t session; /* NULL: no HTTPS */
};
/* Called on the connection's thread. */
struct passage connection_passage(struct MHD_Connection *connection);
/* Writes the whole reply and ends the sending side, so that the library must not reply. What the
 * socket does not take at once is lost. Thread-safe while the connection is open and its thread
 * sends nothing. */
void passage_send(const struct passage *passage, const char *bytes, size_t length);

/* Notes that the head of a request is complete. */
void connection_begun(const struct connections *connections, struct MHD_Connection *connection);
/* Begins a stage, which may take this long: SLOW_REQUEST while the complete request is handled,
 * SLOW_READER while a reply is sent, and SLOW_IDLE once everything is sent. INT64_MAX: no limit. */
void connection_limit(const struct connections *connections, struct MHD_Connection *connection,
                      enum metrics_counter stage, int64_t timeout_us);
/* Returns what cutoff_set takes, so that any thread can begin a stage while the connection is open.
 * NULL: memory ran out when the connection was opened. Called on the connection's thread, or while
 * it is suspended. */
struct timed *connection_timed(struct MHD_Connection *connection);

/* ---- the certificate of HTTPS ----
 *
 * The certificate may change while connections are open: each connection keeps the one that it
 * started with. */

/* Allows TLS 1.2 and 1.3, always with forward secrecy and an authenticated cipher (no CBC), in
 * GnuTLS's syntax. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:" \
    "+AES-128-GCM:-MAC-ALL:+AEAD:"                                                                 \
    "%SERVER_PRECEDENCE"

struct tls;

/* Both files are PEM: the chain, the server's own certificate first, and its unencrypted key.
 * Returns NULL with ERROR_FILE (cannot be read), ERROR_FORMAT (not PEM, or the key is not the
 * certificate's) or ERROR_MEMORY. */
struct tls *tls_open(const char *certificate, const char *key, struct error *err);
/* All sessions must have ended. Accepts NULL. */
void tls_free(struct tls *tls);

/* Reads the files again, for new sessions. Returns -1 with the same errors as tls_open, and then
 * keeps the old certificate and key. Thread-safe. */
int tls_reload(struct tls *tls, struct error *err);

/* GnuTLS calls this for the certificate of a session, whose user pointer is the tls, from any
 * thread. */
gnutls_certificate_retrieve_function3 tls_retrieve;

#endif
