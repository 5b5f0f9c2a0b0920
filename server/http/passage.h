/* This module writes to a connection past libmicrohttpd, which cannot reply before a body has
 * arrived. */
#ifndef ALIGND_PASSAGE_H
#define ALIGND_PASSAGE_H

#include <gnutls/gnutls.h>
#include <stddef.h>

struct MHD_Connection;

struct passage {
    int fd;
    gnutls_session_t session; /* NULL: no HTTPS */
};
/* Called on the connection's thread. */
struct passage passage_of(struct MHD_Connection *connection);
/* Writes the whole reply and ends the sending side, so that the library must not reply. What the
 * socket does not take at once is lost. Thread-safe while the connection is open and its thread
 * sends nothing. */
void passage_send(const struct passage *passage, const char *bytes, size_t length);

#endif
