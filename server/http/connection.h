/* This module opens and closes connections over libmicrohttpd: their maximum number, the time limit
 * of each stage (cutoff.h), checks of heads, and replies past the library. */
#ifndef ALIGND_CONNECTION_H
#define ALIGND_CONNECTION_H

#include "server/api/api.h"
#include "server/http/cutoff.h"
#include "server/http/tls.h"
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    CONNECTION_OPTIONS = 8,
    CONNECTION_IDLE_S = 60,
    CONNECTION_ARGUMENTS = 100 /* the most arguments of a query string */
};
enum { CONNECTION_MEMORY = 40 * 1024 /* bytes that a connection takes without its request */ };

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
int connection_start_all(struct connections *connections, const struct connections_options *options,
                         struct metrics *metrics, struct error *err);

/* Accepts or refuses a connection (MHD_AcceptPolicyCallback). closure: the gate. */
enum MHD_Result connection_admits(void *closure, const struct sockaddr *address, socklen_t length);

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

#endif
