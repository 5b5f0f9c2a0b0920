/* A connection of ours to a server, plain or TLS, with a deadline for all that it waits for but the lookup of a name. */
#ifndef ALIGND_OUTGOING_H
#define ALIGND_OUTGOING_H

#include "model/base/error.h"
#include <gnutls/gnutls.h>
#include <stdbool.h>

struct outgoing {
    int fd;
    int64_t until_us;     /* by clock_us() */
    gnutls_session_t tls; /* NULL: plain */
    gnutls_certificate_credentials_t credentials;
};

/* addresses: as --listen takes them, HOST:PORT or unix:PATH; of several with ',' between them the first; no host, or one that
 * stands for every address, means this machine. tls: a HOST:PORT speaks it. Who answers is not verified: nothing secret may be
 * told. -1 with ERROR_INPUT (not an address), ERROR_FILE (no connection, no TLS, or not in time) or ERROR_MEMORY: nothing is open.
 */
int outgoing_open(struct outgoing *outgoing, const char *addresses, bool tls, int timeout_ms, struct error *err);
void outgoing_close(struct outgoing *outgoing);

/* As send, without waiting: a new connection takes a few KiB at once. */
ssize_t outgoing_send(const struct outgoing *outgoing, const char *bytes, size_t size);
/* As recv; waits for the first byte. ETIMEDOUT: the deadline has passed. EPROTO: what came is not TLS. */
ssize_t outgoing_receive(const struct outgoing *outgoing, char *bytes, size_t size);

#endif
