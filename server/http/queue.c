/* This module hides that libmicrohttpd makes replies of its own, to requests that are not HTTP or
 * too large, and how they become ours. */
#include "server/http/queue.h"
#include "server/api/api.h"
#include "server/api/reply.h"
#include "server/http/old_library.h"
#include <dlfcn.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_URI_TOO_LONG = 414, STATUS_HEAD_TOO_LARGE = 431, STATUS_VERSION = 505 };

typedef enum MHD_Result queue_function(struct MHD_Connection *connection, unsigned status,
                                       struct MHD_Response *response);

/* Calls the library's function, which the function below overrides. */
bool queue_response(struct MHD_Connection *connection, unsigned status,
                    struct MHD_Response *response) {
    queue_function *function;
    void *symbol = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&function, &symbol,
           sizeof function); /* ISO C has no conversion from a data pointer to a function pointer */
    return function(connection, status, response) == MHD_YES;
}

/* The reasons why libmicrohttpd refuses requests. Any other status means that a request is not
 * HTTP. */
static const struct {
    unsigned refused, status;
    const char *code, *message;
} refusals[] = {
    /* Our handler takes every byte of a body, so only a chunk extension longer than the buffer
       leads here. */
    {STATUS_INTERNAL, STATUS_INVALID, "invalid_request", "a chunk extension is too long"},
    {STATUS_URI_TOO_LONG, STATUS_URI_TOO_LONG, "too_large", "the request line is too long"},
    {STATUS_HEAD_TOO_LARGE, STATUS_HEAD_TOO_LARGE, "too_large", "the request headers are too long"},
    {STATUS_TOO_LARGE, STATUS_TOO_LARGE, "too_large", "the body is too long"},
    {STATUS_VERSION, STATUS_VERSION, "invalid_request", "the version must be HTTP/1.0 or HTTP/1.1"},
};

/* Replaces libmicrohttpd's function of this name, which the library itself calls through the
 * linker: its own replies are HTML, with status 500 if a chunk extension is too long, and clients
 * expect JSON. No version of the library has an interface for this. If memory runs out, the
 * library's reply is sent. The library must see this function, which -fvisibility=hidden would
 * hide. */
__attribute__((visibility("default"))) enum MHD_Result
MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                   struct MHD_Response *response) {
    struct reply reply = {0};
    if (status >= STATUS_INVALID) {
        size_t i = 0, count = sizeof refusals / sizeof *refusals;
        while (i < count && refusals[i].refused != status)
            i++;
        if (i < count)
            reply_fail_coded(&reply, refusals[i].status, refusals[i].code, NULL,
                             refusals[i].message);
        else
            reply_fail_coded(&reply, status, "invalid_request", NULL, "the request is not HTTP");
    }
    if (reply.body && old_library_send_past(connection, &reply)) {
        free(reply.body);
        return MHD_NO;
    }
    struct MHD_Response *own =
        reply.body
            ? MHD_create_response_from_buffer(reply.length, reply.body, MHD_RESPMEM_MUST_FREE)
            : NULL;
    if (!own)
        free(reply.body);
    bool made = own &&
                MHD_add_response_header(own, "Content-Type", reply.content_type) == MHD_YES &&
                MHD_add_response_header(own, "X-Content-Type-Options", "nosniff") == MHD_YES;
    bool queued = made ? queue_response(connection, reply.status, own)
                       : queue_response(connection, status, response);
    if (own)
        MHD_destroy_response(own);
    return queued ? MHD_YES : MHD_NO;
}
