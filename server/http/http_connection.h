/* Connections as such: how many there may be, how long each may take for what it does, and what stands in the URLs that they ask
 * for.
 *
 * A request has read_timeout_ms to come in whole, head and body, from its first line on, or from the beginning of the connection. A
 * reply has send_timeout_ms to be taken. In between the deadline counts, and between two requests CONNECTION_IDLE_S, or a second
 * while three quarters of the connections that there may be are open. Before the last place is taken, the connection that has
 * waited longest without sending a complete head makes room (cutoff.h). */
#ifndef ALIGND_HTTP_CONNECTION_H
#define ALIGND_HTTP_CONNECTION_H

#include "model/base/error.h"
#include "server/http/cutoff.h"

struct MHD_Connection;
struct head_line;
struct MHD_OptionItem;
struct tls;

enum { CONNECTION_OPTIONS = 8, CONNECTION_IDLE_S = 60 };

struct connections_options {
    size_t most;          /* 0: as many as requests, and some more */
    size_t requests;      /* that may wait and be decoded */
    size_t most_per_peer; /* from one address; 0: half of them, or all of them where trusts_proxy */
    bool trusts_proxy;    /* that names the clients of its requests */
    size_t read_timeout_ms, send_timeout_ms;
    bool admin; /* there are addresses for administrators */
};

struct connections {
    struct connections_options options;
    size_t most, most_admin; /* at once, by the addresses of each kind */
    struct cutoff *cutoff;
    struct tls *tls; /* NULL: no HTTPS */
};

/* What the connections of one listening socket share. */
struct gate {
    struct connections *connections;
    struct crowd crowd;
    bool admin; /* for administrators */
    bool local; /* a Unix socket */
};

/* Opens as many files as the process may and starts to watch the time. Fewer connections if there cannot be so many
 * files. -1 with ERROR_MEMORY. */
int connections_start(struct connections *connections, const struct connections_options *options, struct metrics *metrics,
                      struct error *err);
/* No connection may be left. Zeroed ones allowed. */
void connections_stop(struct connections *connections);

/* items [CONNECTION_OPTIONS]: those options of libmicrohttpd that are about each connection, and MHD_OPTION_END; for
 * MHD_OPTION_ARRAY. gate must outlive the daemon. */
void connection_options(struct gate *gate, struct MHD_OptionItem *items);

/* Where the connection came in. NULL: memory was out when it was opened. */
const struct gate *connection_gate(struct MHD_Connection *connection);

/* The first line of the connection's request. NULL: memory was out when it was opened. */
const struct head_line *connection_line(struct MHD_Connection *connection);

/* What happens with the connection's request: its head has come; it has come in whole and will be worked on; a reply is to be sent,
 * which takes as long as the answer plus the time to read it; all is sent. */
void connection_begun(const struct connections *connections, struct MHD_Connection *connection);
void connection_received(const struct connections *connections, struct MHD_Connection *connection);
void connection_replying(const struct connections *connections, struct MHD_Connection *connection, int64_t answer_us);
void connection_idle(const struct connections *connections, struct MHD_Connection *connection);

#endif
