/* This module hides how a connection begins and ends, how many there are, and which heads are
 * refused. */
#include "server/http/connection.h"
#include "server/api/reply.h"
#include "server/base/log.h"
#include "server/http/client.h"
#include "server/http/old_library.h"
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* OTHER_FILES: models, logs and libraries; MORE_CONNECTIONS: in addition to those whose requests
 * wait or are decoded. */
enum { OTHER_FILES = 128, MORE_CONNECTIONS = 1024, LEAST_CONNECTIONS = 16, ADMIN_CONNECTIONS = 16 };

/* libmicrohttpd has 32 KiB for a connection: an argument takes 64 bytes, and the rest of the head
 * needs at least 4096. */
enum { CONNECTION_BYTES = 32 * 1024, ARGUMENT_BYTES = 64, OTHER_BYTES = 4096 };

#define refuse(reply, field, ...) (reply_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* ---- the first line of a request ---- */

struct line {
    const char *version; /* where the version should begin; NULL: there was no URI */
    bool odd;            /* the URI contains bytes that no URI may contain */
    bool crowded;        /* the URI leaves too little memory for its arguments */
    size_t arguments;
};

/* uri: as it was sent, before libmicrohttpd splits it; NULL: there is no request yet. Cuts off the
 * whole query string if it has too many arguments or is too long, because libmicrohttpd would close
 * the connection without a reply. */
static void line_begin(struct line *line, const char *uri) {
    *line = (struct line){0};
    if (!uri)
        return;
    char *query = strchr(uri, '?');
    size_t length = strlen(uri);
    line->version = uri + length + 1;
    for (const char *c = uri; *c; c++)
        line->odd |= (unsigned char)*c <= ' ' || *c == 0x7f;
    for (const char *at = query ? query + 1 : NULL; at && *at; at += *at == '&') {
        at += strcspn(at, "&");
        line->arguments++;
    }
    line->crowded = length + ARGUMENT_BYTES * line->arguments > CONNECTION_BYTES - OTHER_BYTES;
    if (query && (line->arguments > CONNECTION_ARGUMENTS || line->crowded))
        query[1] = '\0';
}

/* libmicrohttpd would end a path at %00, in every version. Two bytes that are never part of UTF-8
 * replace it: no path contains them, and a field with them is refused. */
static size_t unescape(void *closure, struct MHD_Connection *connection, char *text) {
    (void)closure;
    (void)connection;
    for (char *at = text; (at = strstr(at, "%00")) != NULL;) {
        memcpy(at, "\xC0\x80", 2);
        memmove(at + 2, at + 3, strlen(at + 3) + 1);
    }
    return MHD_http_unescape(text);
}

/* ---- a connection ---- */

struct peer {
    struct timed timed;
    const struct gate *gate;
    struct line line; /* first line of the current request */
};

/* Returns NULL if memory ran out when the connection was opened; it then has no time limit. */
static struct peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

const struct gate *connection_gate(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? peer->gate : NULL;
}

/* How often the fields occur that a head may have once. */
struct fields {
    size_t hosts, encodings;
};

static enum MHD_Result count_field(void *closure, enum MHD_ValueKind kind, const char *name,
                                   const char *value) {
    (void)kind;
    (void)value;
    struct fields *fields = closure;
    fields->hosts += strcasecmp(name, "Host") == 0;
    fields->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

int connection_check(struct MHD_Connection *connection, const char *method, const char *version,
                     struct reply *reply) {
    const struct peer *peer = peer_of(connection);
    const struct line none = {.version = version}, *line = peer ? &peer->line : &none;
    struct fields fields = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_field, &fields);

    bool apart = old_library_skips_spaces(line->version, version);
    bool old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    int result = 0;
    if (line->odd || apart)
        result = refuse(reply, NULL,
                        "the request line must be METHOD URI HTTP/1.1, with no spaces or control "
                        "characters in the URI");
    else if (line->arguments > CONNECTION_ARGUMENTS)
        result = refuse(reply, NULL, "the query string must have at most %d fields, got %zu",
                        CONNECTION_ARGUMENTS, line->arguments);
    else if (line->crowded)
        result = refuse(reply, NULL, "the query string is too long");
    else if (!old_library_fields_are_clean(connection, method, version))
        result = refuse(reply, NULL,
                        "each header must be a single line NAME: VALUE without control characters");
    else if (fields.hosts > 1 || (fields.hosts == 0 && !old))
        result =
            refuse(reply, "Host", "there must be exactly one Host header, got %zu", fields.hosts);
    else if (old && fields.encodings > 0)
        result = refuse(reply, "Transfer-Encoding", "HTTP/1.0 does not support Transfer-Encoding");
    reply->close |= result != 0;
    return result;
}

void connection_begun(const struct connections *connections, struct MHD_Connection *connection) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_listen(connections->cutoff, &peer->timed, false);
}

void connection_limit(const struct connections *connections, struct MHD_Connection *connection,
                      enum metrics_counter stage, int64_t timeout_us) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_set(connections->cutoff, &peer->timed, stage, timeout_us);
}

struct timed *connection_timed(struct MHD_Connection *connection) {
    struct peer *peer = peer_of(connection);
    return peer ? &peer->timed : NULL;
}

/* Whose connection it is; 0: a proxy's. */
static uint64_t client_of(const struct gate *gate, const struct sockaddr *address) {
    bool proxy = gate->connections->options.trusts_proxy || gate->local;
    return proxy || !address ? 0 : client_of_peer(address);
}

enum MHD_Result connection_admits(void *closure, const struct sockaddr *address, socklen_t length) {
    const struct gate *gate = closure;
    (void)length;
    return cutoff_admits(gate->connections->cutoff, &gate->crowd, client_of(gate, address))
               ? MHD_YES
               : MHD_NO;
}

static void opened_or_closed(void *closure, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code) {
    struct gate *gate = closure;
    const struct connections *connections = gate->connections;
    struct peer *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *session =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        if (session)
            gnutls_session_set_ptr(session->tls_session, connections->tls); /* for tls_retrieve */
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = peer = malloc(sizeof *peer);
        if (!peer)
            return;
        peer->gate = gate;
        line_begin(&peer->line, NULL);
        const union MHD_ConnectionInfo *from =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        peer->timed =
            (struct timed){.fd = info->connect_fd,
                           .crowd = &gate->crowd,
                           .client = client_of(gate, from ? from->client_addr : NULL),
                           .timeout_us = (int64_t)connections->options.read_timeout_ms * 1000};
        cutoff_add(connections->cutoff, &peer->timed);
    } else if (peer) {
        cutoff_remove(connections->cutoff, &peer->timed);
        free(peer);
        *context = NULL;
    }
}

/* Called when the first line of a request has arrived. Returns NULL: http.c makes its own state
 * once the head is complete. */
static void *request_began(void *closure, const char *uri, struct MHD_Connection *connection) {
    const struct connections *connections = closure;
    struct peer *peer = peer_of(connection);
    if (!peer)
        return NULL;
    line_begin(&peer->line, uri);
    cutoff_set(connections->cutoff, &peer->timed, SLOW_REQUEST,
               (int64_t)connections->options.read_timeout_ms * 1000);
    cutoff_listen(connections->cutoff, &peer->timed, true);
    return NULL;
}

/* ---- all connections ---- */

int connection_start_all(struct connections *connections, const struct connections_options *options,
                         struct metrics *metrics, struct error *err) {
    struct rlimit allowed;
    size_t files = LEAST_CONNECTIONS + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &allowed) == 0) {
        allowed.rlim_cur = allowed.rlim_max; /* as many as the system allows */
        if (setrlimit(RLIMIT_NOFILE, &allowed) != 0)
            getrlimit(RLIMIT_NOFILE, &allowed);
        files = allowed.rlim_cur;
    }
    size_t others = files / 2 < OTHER_FILES ? files / 2 : OTHER_FILES, most = files - others;
    size_t wanted = options->requests + MORE_CONNECTIONS,
           affordable = options->memory / CONNECTION_MEMORY;
    if (options->most > 0)
        wanted = options->most;
    else if (affordable < wanted)
        wanted = affordable > LEAST_CONNECTIONS ? affordable : LEAST_CONNECTIONS;
    if (wanted > most)
        log_event(LOG_WARN, "few_files", log_count("connections", most),
                  log_count("wanted", wanted), log_count("files", files));
    else
        most = wanted;
    size_t quarter = most / 4, admin = !options->admin               ? 0
                                       : quarter < ADMIN_CONNECTIONS ? quarter
                                                                     : ADMIN_CONNECTIONS;
    *connections = (struct connections){.options = *options,
                                        .most = most,
                                        .most_admin = admin,
                                        .cutoff = cutoff_start(metrics, err)};
    return connections->cutoff ? 0 : -1;
}

void connection_options(struct gate *gate, struct MHD_OptionItem *items) {
    struct connections *connections = gate->connections;
    const struct connections_options *options = &connections->options;

    /* A proxy that names its clients may have all connections, and so may administrators. Any other
     * address may have half of them. */
    size_t per_peer = options->most_per_peer;
    if (per_peer == 0)
        per_peer =
            gate->admin || options->trusts_proxy ? gate->crowd.most : (gate->crowd.most + 1) / 2;
    const struct MHD_OptionItem all[CONNECTION_OPTIONS] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)gate->crowd.most, NULL},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)per_peer, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)opened_or_closed, gate},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_began, connections},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, old_library_splits_in_place() ? 0 : 1,
         NULL}, /* 0: connection_check compares the lines instead */
        {MHD_OPTION_END, 0, NULL},
    };
    memcpy(items, all, sizeof all);
}
