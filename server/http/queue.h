/* This module hands replies to libmicrohttpd. */
#ifndef ALIGND_QUEUE_H
#define ALIGND_QUEUE_H

#include <stdbool.h>

struct MHD_Connection;
struct MHD_Response;

/* Calls libmicrohttpd's own MHD_queue_response, for our replies; queue.c defines another function
 * of that name. Returns false if the reply is not queued. Called on the connection's thread. */
bool queue_response(struct MHD_Connection *connection, unsigned status,
                    struct MHD_Response *response);

#endif
