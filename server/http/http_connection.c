#include "server/http/http_connection.h"
#include "server/base/log.h"
#include "server/http/http_head.h"
#include "server/http/tls.h"
#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* OTHER_FILES: models, logs and libraries; the number of connections beyond those whose requests wait or are decoded. */
enum { OTHER_FILES = 128, MORE_CONNECTIONS = 1024, LEAST_CONNECTIONS = 16, ADMIN_CONNECTIONS = 16 };

/* ---- time ---- */

/* What is kept for a connection. */
struct peer {
    struct timed timed;
    const struct gate *gate;
    struct head_line line; /* of the request in hand */
};

/* NULL: memory was out when it was opened, nothing is timed. */
static struct peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

const struct head_line *connection_line(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? &peer->line : NULL;
}

const struct gate *connection_gate(struct MHD_Connection *connection) {
    const struct peer *peer = peer_of(connection);
    return peer ? peer->gate : NULL;
}

static void limit(const struct connections *connections, struct MHD_Connection *connection, enum metrics_slow reason,
                  int64_t timeout_us) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_set(connections->cutoff, &peer->timed, reason, timeout_us);
}

static int64_t read_timeout_us(const struct connections *connections) {
    return (int64_t)connections->options.read_timeout_ms * 1000;
}

static void listen_for_head(const struct connections *connections, struct MHD_Connection *connection, bool silent) {
    struct peer *peer = peer_of(connection);
    if (peer)
        cutoff_listen(connections->cutoff, &peer->timed, silent);
}

void connection_begun(const struct connections *connections, struct MHD_Connection *connection) {
    listen_for_head(connections, connection, false);
}

void connection_received(const struct connections *connections, struct MHD_Connection *connection) {
    limit(connections, connection, SLOW_REQUEST, INT64_MAX);
}

void connection_replying(const struct connections *connections, struct MHD_Connection *connection, int64_t answer_us) {
    limit(connections, connection, SLOW_READER, answer_us + (int64_t)connections->options.send_timeout_ms * 1000);
}

void connection_idle(const struct connections *connections, struct MHD_Connection *connection) {
    limit(connections, connection, SLOW_IDLE, (int64_t)CONNECTION_IDLE_S * 1000000);
}

/* An HTTPS connection gets its certificate; any other is left alone. */
static void secure(struct MHD_Connection *connection, struct tls *tls) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info)
        tls_serve(tls, info->tls_session);
}

static void opened_or_closed(void *closure, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code) {
    struct gate *gate = closure;
    const struct connections *connections = gate->connections;
    struct peer *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        secure(connection, connections->tls);
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = peer = malloc(sizeof *peer);
        if (!peer)
            return;
        peer->gate = gate;
        head_begin(&peer->line, NULL);
        cutoff_add(connections->cutoff, &peer->timed, info->connect_fd, &gate->crowd, read_timeout_us(connections));
    } else if (peer) {
        cutoff_remove(connections->cutoff, &peer->timed);
        free(peer);
        *context = NULL;
    }
}

/* The first line of a request has come. NULL: http.c makes its own state of the request when the rest of the head has come, too. */
static void *request_began(void *closure, const char *uri, struct MHD_Connection *connection) {
    const struct connections *connections = closure;
    struct peer *peer = peer_of(connection);
    if (peer)
        head_begin(&peer->line, uri);
    limit(connections, connection, SLOW_REQUEST, read_timeout_us(connections));
    listen_for_head(connections, connection, true);
    return NULL;
}

/* ---- URLs ---- */

/* libmicrohttpd would end a path at %00. In its stand come two bytes that are never part of UTF-8: there is no such path, and a
 * field with them is refused. */
static size_t unescape(void *closure, struct MHD_Connection *connection, char *text) {
    (void)closure;
    (void)connection;
    for (char *at = text; (at = strstr(at, "%00")) != NULL;) {
        memcpy(at, "\xC0\x80", 2);
        memmove(at + 2, at + 3, strlen(at + 3) + 1);
    }
    return MHD_http_unescape(text);
}

/* ---- how many ---- */

/* As many files as the system lets the process open. */
static size_t raise_file_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return LEAST_CONNECTIONS + OTHER_FILES;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

static size_t most_connections(const struct connections_options *options) {
    size_t wanted = options->most, files = raise_file_limit();
    if (wanted == 0)
        wanted = options->requests + MORE_CONNECTIONS;
    size_t others = files / 2 < OTHER_FILES ? files / 2 : OTHER_FILES, most = files - others;
    if (wanted > most)
        log_event(LOG_WARN, "few_files", "connections=%zu wanted=%zu files=%zu", most, wanted, files);
    return wanted < most ? wanted : most;
}

int connections_start(struct connections *connections, const struct connections_options *options, struct metrics *metrics,
                      struct error *err) {
    size_t most = most_connections(options), quarter = most / 4;
    size_t admin = !options->admin ? 0 : quarter < ADMIN_CONNECTIONS ? quarter : ADMIN_CONNECTIONS;
    *connections =
        (struct connections){.options = *options, .most = most, .most_admin = admin, .cutoff = cutoff_start(metrics, err)};
    return connections->cutoff ? 0 : -1;
}

void connections_stop(struct connections *connections) {
    cutoff_free(connections->cutoff);
}

/* A proxy that names the clients of its requests may have every connection, and so may administrators. Any other address leaves
 * half of them to others. */
static size_t most_of_address(const struct gate *gate) {
    const struct connections_options *options = &gate->connections->options;
    if (options->most_per_peer > 0)
        return options->most_per_peer;
    bool all = gate->admin || options->trusts_proxy;
    return all ? gate->crowd.most : (gate->crowd.most + 1) / 2;
}

void connection_options(struct gate *gate, struct MHD_OptionItem *items) {
    struct connections *connections = gate->connections;
    const struct MHD_OptionItem all[CONNECTION_OPTIONS] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)gate->crowd.most, NULL},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, (intptr_t)most_of_address(gate), NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)opened_or_closed, gate},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_began, connections},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, head_strictness(), NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    memcpy(items, all, sizeof all);
}
