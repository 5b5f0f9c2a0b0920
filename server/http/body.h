/* Bodies: of requests as they arrive and as forms, of replies compressed or sent piece by piece. */
#ifndef ALIGND_BODY_H
#define ALIGND_BODY_H

#include "server/api/api.h"
#include "server/decode/chores.h"

struct MHD_Connection;
struct MHD_Response;

/* ---- a request's body ---- */

struct body {
    char *bytes; /* [length] */
    size_t length, capacity;
    size_t discarded; /* bytes that were not kept */
};

/* Returns the capacity after so many bytes have been appended, which is the memory that it takes. */
size_t body_room(const struct body *body, size_t count);
/* Returns -1 if memory is out: the connection should close. */
int body_append(struct body *body, const char *bytes, size_t count);
/* Counts bytes of a body that is over its limit and not kept; they are read because a client that is still sending when the
 * connection closes may never see the reply. Returns -1 if the client sends far more: the connection should close. */
int body_discard(struct body *body, size_t count, size_t limit);
void body_done(struct body *body); /* may be called again */

/* ---- the fields of a request ----
 *
 * Forms as browsers and curl send them: urlencoded (WHATWG URL, 5.1) or multipart/form-data (RFC 7578). */

enum { FORM_MOST_FIELDS = 256, FORM_MOST_BOUNDARY = 70 /* RFC 2046, 5.1.1 */ };

struct form_fields {
    struct arena *arena; /* of all names and values */
    struct api_field all[FORM_MOST_FIELDS];
    size_t count;
};

/* content_type: the content type of the body; NULL: none. */
bool form_is(const char *content_type);

/* Appends the fields of a form's body in their order. Returns -1 with ERROR_INPUT (the body is not a form, or has too many fields)
 * or ERROR_MEMORY. */
int form_parse(struct form_fields *fields, const char *content_type, const char *body, size_t length, struct error *err);

/* Sets call->fields: first those of the form, if the body is one (urlencoded or multipart) and does not begin like a JSON object,
 * then those of the query string. All are in the arena. -1: the reply is set. */
int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call, struct reply *reply);

/* ---- a reply's body as gzip ---- */

enum {
    COMPRESS_LEAST_BYTES = 1024,      /* shorter replies fit into one or two packets anyway */
    COMPRESS_QUICK_BYTES = 256 * 1024 /* takes about 3 ms, the limit for a thread that others wait for */
};

/* accept: the header Accept-Encoding; NULL: none; the client then accepts only uncompressed text. */
bool compress_is_accepted(const char *accept);
/* True if the reply may be compressed for clients that accept it. */
bool compress_is_worthwhile(const struct reply *reply);
/* Compresses the body and sets reply->compressed, if that makes it shorter and there is memory; otherwise does not change the
 * reply. */
void compress_reply(struct reply *reply);

/* ---- a reply as a stream of events ---- */

/* libmicrohttpd asks for a piece whenever the socket is writable. While there is nothing to send the connection is suspended. */
struct stream;

/* For a request that is prepared but not submitted yet. reply: the one that its finish will set. most: maximum bytes of an event.
 * The chores write events that may be large. NULL: memory is out. */
struct stream *stream_open(struct MHD_Connection *connection, struct request *request, struct reply *reply, size_t most,
                           struct chores *chores);
/* Accepts NULL. */
void stream_free(struct stream *stream);
/* The response that the stream feeds; the stream must outlive it. NULL: memory is out. */
struct MHD_Response *stream_response(struct stream *stream);

#endif
