/* Where connections come in: for each listening socket a libmicrohttpd daemon with a thread of its own. TCP sockets speak HTTPS
 * where there is a certificate; Unix sockets never do. */
#ifndef ALIGND_HTTP_LISTENERS_H
#define ALIGND_HTTP_LISTENERS_H

#include "model/base/error.h"
#include "server/base/name_list.h"
#include "server/http/tls.h"
#include <microhttpd.h>

struct http_listeners;
struct connections;

/* Called by the thread of any of them; a connection stays with one. */
struct http_callbacks {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    void *closure;                   /* of both */
    struct connections *connections; /* how many: shared out among the sockets of each kind; outlives the listeners */
};

struct listeners_options {
    const struct name_list *listen, *admin_listen; /* addresses; those for administrators */
    const char *standard;                          /* address, should there be neither any of listen nor a socket of systemd */
    size_t socket_mode;                            /* of Unix sockets */
};

/* Listens on the sockets that systemd hands over and on all of the options. https: there is a certificate. NULL with ERROR_INPUT,
 * ERROR_FILE or ERROR_MEMORY. */
struct http_listeners *http_listeners_start(const struct listeners_options *options, bool https,
                                            const struct http_callbacks *callbacks, struct error *err);

/* Where the i-th listens: "127.0.0.1:8080"; admin: whether for administrators. NULL: there are no more. */
const char *http_listeners_address(const struct http_listeners *listeners, size_t i, bool *admin);
/* Takes no more connections; those that are open stay so. */
void http_listeners_quiesce(struct http_listeners *listeners);
/* Closes everything; no connection may be suspended. NULL allowed. */
void http_listeners_stop(struct http_listeners *listeners);

#endif
