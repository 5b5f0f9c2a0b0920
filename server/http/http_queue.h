/* Replies on their way to libmicrohttpd, its own among them. */
#ifndef ALIGND_HTTP_QUEUE_H
#define ALIGND_HTTP_QUEUE_H

#include <stdbool.h>

struct MHD_Connection;
struct MHD_Response;

/* What MHD_queue_response is without us. A reply of ours goes this way: MHD_queue_response itself (http_queue.c) is what
 * libmicrohttpd calls when it answers what is no HTTP, in HTML, and with status 500 where a chunk's extension is too long for its
 * buffer. There it finds an error in JSON instead. False: it is not
 * queued. */
bool http_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

#endif
