/* This module reads the headers and the body of a request, and writes those of a reply, whose body
 * may be compressed or a stream of events. */
#ifndef ALIGND_MESSAGE_H
#define ALIGND_MESSAGE_H

#include "server/api/api.h"
#include "server/api/reach.h"
#include "server/decode/chores.h"

struct MHD_Connection;
struct MHD_Response;

enum { SENT_ID_BYTES = 129, SENT_TRACE_BYTES = 56, SENT_TRACE_ID = 3, SENT_TRACE_ID_LENGTH = 32 };

/* ---- headers of a request ---- */

/* Returns the first header of this name, or NULL if there is none. */
const char *sent_header(struct MHD_Connection *connection, const char *name);

/* Copies X-Request-Id. Returns false if it is missing, has more than 128 bytes, or contains
 * anything but visible ASCII, which would corrupt replies and log lines. */
bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]);

/* Copies traceparent (W3C Trace Context, version 00); the trace id begins at SENT_TRACE_ID. Copies
 * "" if there is none, or it is invalid. */
void sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]);

#define LENGTH_UNKNOWN SIZE_MAX
/* Reads the length of the body: 0 if there is none, LENGTH_UNKNOWN if it is chunked. Returns -1
 * after setting the reply if the length, and so the beginning of the next request, is ambiguous: a
 * proxy may read it differently. */
int sent_length(struct MHD_Connection *connection, size_t *bytes, struct reply *reply);

/* Returns -1 after setting the reply if the body is compressed or otherwise encoded. */
int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply);

/* Reads X-Priority; the default is interactive. Returns -1 after setting the reply. */
int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply);
/* Reads X-Deadline-Ms, at most most_ms, which is also the default. Returns -1 after setting the
 * reply. */
int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms,
                  struct reply *reply);

/* ---- the client of a request ---- */

/* Returns the client that sends the request. If a proxy is trusted, the last header of this name
 * identifies it, or else the peer does. header NULL: no proxy is trusted. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header);

/* Returns what the head says of where the request comes from. */
struct visit sent_visit(struct MHD_Connection *connection, const char *method);

/* ---- the fields of a request ----
 *
 * Forms as browsers and curl send them: urlencoded (WHATWG URL, 5.1) or multipart/form-data (RFC
 * 7578). */

enum { FORM_MOST_FIELDS = 256, FORM_MOST_BOUNDARY = 70 /* RFC 2046, 5.1.1 */ };

struct form_fields {
    struct arena *arena; /* of all names and values */
    struct api_field all[FORM_MOST_FIELDS];
    size_t count;
};

/* Returns true if this is the content type of a form; NULL: none. */
bool form_is(const char *content_type);

/* Appends the fields of a form's body in their order. Returns -1 with ERROR_INPUT (the body is not
 * a form, or has too many fields) or ERROR_MEMORY. */
int form_parse(struct form_fields *fields, const char *content_type, const char *body,
               size_t length, struct error *err);

/* Sets call->fields: first those of the form, if the body is one (urlencoded or multipart) and does
 * not begin like JSON, then those of the query string. All are in the arena. Returns -1 after
 * setting the reply. */
int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call,
              struct reply *reply);

/* ---- headers of a reply ---- */

/* The values on which a reply's headers depend. */
struct heading {
    const struct service *service;
    const struct route *route; /* NULL: the path does not exist */
    const char *method, *id;
    const char *trace;  /* traceparent; "": none */
    const char *origin; /* the request's Origin header; NULL: none */
    const struct reply *reply;
};
/* Returns -1 if memory runs out; some headers are then missing. */
int headers_add(const struct heading *heading, struct MHD_Response *response);
/* Writes a reply as HTTP/1.1, with the same headers. Returns malloc'ed bytes [*length], or NULL if
 * memory runs out. */
char *reply_text(const struct heading *heading, size_t *length);

/* ---- a reply's body as gzip ---- */

enum {
    COMPRESS_LEAST_BYTES = 1024, /* shorter replies fit into one or two packets anyway */
    COMPRESS_QUICK_BYTES =
        256 * 1024 /* takes about 3 ms, the limit for a thread that others wait for */
};

/* Returns true if the client accepts gzip. accept: its Accept-Encoding header; NULL: none, so that
 * it accepts only plain text. */
bool compress_is_accepted(const char *accept);
/* Returns true if the reply may be compressed for clients that accept gzip. */
bool compress_is_worthwhile(const struct reply *reply);
/* Compresses the body and sets reply->compressed, if the result is shorter and memory suffices;
 * otherwise does not change the reply. */
void compress_reply(struct reply *reply);

/* ---- a reply as a stream of events ---- */

/* libmicrohttpd asks for a piece whenever the socket is writable. While there is nothing to send,
 * the connection is suspended.
 *
 * The stream writes events as its client reads them while the request is decoded. When that has
 * ended, the thread that ended it writes all other events, so that the request, with its models,
 * can be freed however slowly the client reads. */
struct stream;

struct stream_options {
    size_t most;           /* bytes of an event */
    struct chores *chores; /* write events that may be large */
    struct cutoff *cutoff; /* limits the time in which the client reads */
    int64_t
        send_us; /* for each piece while the request is decoded, and for all the rest afterwards */
};

/* Opens the stream of a request that is prepared but not submitted yet. reply: the one that its
 * finish will set. Called on the connection's thread, or while it is suspended. Returns NULL if
 * memory runs out. */
struct stream *stream_open(struct MHD_Connection *connection, struct request *request,
                           struct reply *reply, const struct stream_options *options);
/* The request may have been freed since stream_release. Accepts NULL. */
void stream_free(struct stream *stream);
/* Returns the thread that ends the request the stream, whose reply is set: from now on its client
 * waits until stream_end. */
void stream_take(struct stream *stream);
/* Writes the next event. Returns its bytes, which the stream keeps; 0 after the last event, or if
 * memory runs out, which ends the stream there. */
size_t stream_write(struct stream *stream);
/* Returns true if the last event has been written, which took the reply's body. */
bool stream_is_whole(const struct stream *stream);
/* Drops the events that nothing has been sent of, and writes the reply instead. */
void stream_cut(struct stream *stream);
/* Ends the use of the request, which can be freed afterwards. */
void stream_release(struct stream *stream);
/* Returns true if the client has left: the caller then owns the exchange. Otherwise the connection
 * owns it, and the caller must not use it any more. */
bool stream_end(struct stream *stream);
/* Notes that the client leaves. Returns true after stream_end: the caller then owns the exchange.
 * Otherwise the request is cancelled (CANCEL_CLIENT), and the caller of stream_end will own it. */
bool stream_close(struct stream *stream);
/* Returns the response that the stream feeds, or NULL if memory runs out. The stream must outlive
 * it. */
struct MHD_Response *stream_response(struct stream *stream);

#endif
