/* This module hides how bytes are written to a socket of libmicrohttpd, with or without TLS. */
#include "server/http/passage.h"
#include <microhttpd.h>
#include <sys/socket.h>

struct passage passage_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct passage passage = {.fd = info->connect_fd};
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    passage.session = info ? info->tls_session : NULL;
    return passage;
}

void passage_send(const struct passage *passage, const char *bytes, size_t length) {
    if (passage->session) {
        gnutls_record_send(
            passage->session, bytes,
            length); /* the socket does not block; GnuTLS lets another thread receive */
        gnutls_bye(passage->session, GNUTLS_SHUT_WR);
    } else {
        send(passage->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shutdown(passage->fd, SHUT_WR);
}
