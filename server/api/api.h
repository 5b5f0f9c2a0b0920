/* Endpoints turn a request's bytes into a reply. Each has a row in the table of routes
 * (server/endpoints) and a description in openapi.json. */
#ifndef ALIGND_API_H
#define ALIGND_API_H

#include "server/api/kept.h"
#include "server/api/keys.h"
#include "server/base/metrics.h"
#include "server/base/strings.h"
#include "server/decode/scheduler.h"
#include "server/glossaries/glossaries.h"
#include "server/models/catalog.h"

/* ---- shared state: created by main, used by http and the endpoints ---- */

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

/* The options that apply to requests. main owns the strings. */
struct service_options {
    size_t workers, rows, queue;
    size_t decode_memory; /* of a sentence; 0: no limit */
    bool verbatim;        /* of every request */
    size_t max_body_bytes, body_memory, max_text_chars, request_memory, max_reply_bytes,
        reply_memory;
    size_t max_steps;    /* of an exact search */
    size_t model_memory; /* of all models together; 0: no limit */
    size_t deadline_ms, document_ms, heartbeat_ms;
    size_t document_bytes;     /* the most of a body with a document in an archive, unless
                                  max_body_bytes is more */
    size_t document_sentences; /* the most of a document */
    double rate;               /* sentences a second; 0: no limit */
    size_t burst;
    const char *client_header; /* NULL: none */
    const char *default_model; /* answers requests without model and languages; NULL: none */
    const char *pivot; /* language code of the pivot; NULL: any; "none": never use two models */
    const struct name_list *cors;  /* allowed origins; "*" alone: any */
    const struct name_list *hosts; /* names of this machine; "*": any */
};

struct service {
    struct service_options options;
    struct metrics *metrics;
    struct scheduler *scheduler;
    struct catalog *catalog;
    struct fetcher *fetcher; /* NULL: nothing can be downloaded */
    struct cache *cache;     /* NULL: off */
    struct limiter *limiter;
    struct kept_files *files;
    struct glossaries *glossaries;
    struct keys *keys; /* NULL: anyone may translate, and no client is an administrator */
    atomic_int state;  /* enum service_state; a reload does not change it */
};

static inline enum service_state service_state(const struct service *service) {
    return (enum service_state)atomic_load(&service->state);
}

/* ---- calls and replies ---- */

enum {
    STATUS_OK = 200,
    STATUS_CREATED = 201,
    STATUS_NO_CONTENT = 204,
    STATUS_MOVED = 302,
    STATUS_NOT_MODIFIED = 304,
    STATUS_INVALID = 400,
    STATUS_UNAUTHORIZED = 401,
    STATUS_FORBIDDEN = 403,
    STATUS_NOT_FOUND = 404,
    STATUS_METHOD = 405,
    STATUS_CONFLICT = 409,
    STATUS_TOO_LARGE = 413,
    STATUS_MEDIA_TYPE = 415,
    STATUS_MISDIRECTED = 421,
    STATUS_QUEUE_FULL = 429,
    STATUS_INTERNAL = 500,
    STATUS_UNAVAILABLE = 503,
    STATUS_DEADLINE = 504,
};

/* Headers that may hold an API key: alignd's own, then those of other services. */
enum { API_KEY_HEADERS = 3 };
extern const char *const api_key_headers[API_KEY_HEADERS];

/* A field of a form or of the query string. */
struct api_field {
    const char *name;
    char *value; /* [length] bytes of any value, then a NUL */
    size_t length;
    const char *file_name, *media_type; /* only of a multipart form's part; NULL: none */
};

/* A request as an endpoint sees it. */
struct call {
    const char *body; /* [length] bytes of any value */
    size_t length;
    const char *content_type;         /* NULL: none */
    const char *path;                 /* without the query string */
    const struct route *route;        /* the path's */
    const char *if_none_match;        /* the header; NULL: none */
    const char *authorization, *host; /* the same for these headers */
    const char *accept_language;
    bool secure;                           /* the client connected by https */
    const char *api_keys[API_KEY_HEADERS]; /* the values of api_key_headers */
    bool administrator;                    /* the sender is an administrator, and needs no key */
    bool form; /* the body is a form; false: it is a JSON object, whatever its content type */
    const struct api_field
        *fields; /* [field_count] those of the form, then those of the query string */
    size_t field_count;
};

struct dialect;
struct route;

enum { API_FILE_NAME_BYTES = 256 };

struct reply {
    unsigned status; /* 0: not set yet */
    const char *content_type;
    char *body; /* malloc'ed, [length] */
    size_t length;
    unsigned retry_after_s;              /* 0: no such header */
    const char *location;                /* NULL: no such header; a static string */
    const char *etag;                    /* the same; caches must revalidate a reply that has one */
    const char *policy;                  /* Content-Security-Policy; the same */
    char file_name[API_FILE_NAME_BYTES]; /* for saving the body: UTF-8 that every file system
                                            accepts; "": none */
    unsigned warnings; /* for a header, if the body has no place for them: a bit for each code (enum
                          warning_code) */
    bool close;        /* the connection is closed after this reply */
    bool compressed;   /* the body is gzip */
    bool streamed;     /* the body comes piece by piece: proxies must not buffer or cache it */
    /* Called with the request's route and path once the whole body has been sent. NULL: not needed.
     */
    void (*sent)(const struct service *service, const struct route *route, const char *path);
    const struct dialect
        *dialect; /* the dialect of an error (dialect.h); NULL: alignd's own. api_fail keeps it */
};

/* The clients that may call an endpoint. With API keys: all; all, but a key that is limited to some
 * models lists no others; holders of any key; or holders of an admin key. Without API keys: all, or
 * for the last one none. An administrator (struct call) needs no key. */
enum access { ACCESS_OPEN, ACCESS_LIST, ACCESS_USER, ACCESS_ADMIN };

/* The web pages that may call an endpoint: those of any site, or only alignd's own and those that
 * --cors names. */
enum reach { PAGES_ANY, PAGES_OWN };

/* Either answers at once by setting the reply, or prepares the request's jobs or its reload and
 * does not change the reply. request->models are the models in service, or NULL while there are
 * none. */
typedef void api_start(const struct service *service, const struct call *call,
                       struct request *request, struct reply *reply);
/* Sets the reply once every job, or the reload, has ended without being cancelled. It runs on a
 * worker thread or on the loading thread. */
typedef void api_finish(const struct service *service, struct request *request,
                        struct reply *reply);

struct route {
    const char *
        path; /* a segment in braces matches any: "/models/{name}"; rows of one path are adjacent */
    const char *method; /* "GET" (HEAD too), "POST", "PUT", "PATCH" or "DELETE" */
    enum access access;
    api_start *start;
    api_finish *finish;
    /* Those that may be spoken here, then NULL: the first whose fields a request has, or else the
     * first of all. It starts and finishes what the endpoint decodes, and its errors have its form.
     * NULL: alignd's own form of errors. */
    const struct dialect *const *dialects;
    enum reach pages;
    unsigned traits; /* enum route_trait */
};

enum route_trait {
    ROUTE_WRITES = 1 << 0, /* start may wait until a file has been written, and so must not run on a
                              thread that others wait for */
    ROUTE_LASTS = 1 << 1,  /* the request may take as long as a document (--document-ms) */
    ROUTE_DETACHES = 1 << 2, /* the reply is sent before the request is decoded (api_detach) */
    ROUTE_ADMIN =
        1 << 3, /* the endpoint is also served at administrators' addresses (--admin-listen) */
};
static inline bool route_has(const struct route *route, enum route_trait trait) {
    return route->traits & trait;
}

/* Call this before any thread starts. */
void api_init(void);

/* Returns a method's name for comparison and for the log, which must not contain strings from
 * clients: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, or "other". */
const char *route_method(const char *method);
bool route_fits(const struct route *route, const char *path);
bool route_takes(const struct route *route, const char *method);
/* Returns the part of the path, [length] bytes, for which the route has braces, or NULL if it has
 * none. */
const char *route_part(const struct route *route, const char *path, size_t *length);
/* Returns the dialect of a request before its fields are known. NULL: none, or no route. */
const struct dialect *route_dialect(const struct route *route);
/* Sets the reply's dialect if several share the route, as far as the query string or a form shows
 * it. */
void route_choose_dialect(const struct route *route, const struct call *call, struct reply *reply);
/* Writes the value of the header that lists the reply's warnings: "language, numbers". */
enum { API_WARNINGS_BYTES = 128 };
void api_name_warnings(const struct reply *reply, char text[API_WARNINGS_BYTES]);
/* api_detach sets the reply that is sent before the request is decoded, or one with a status other
 * than 200. Once the request has ended and finish or a failure has set a reply, api_settle stores
 * the outcome for clients that ask later. */
void api_detach(const struct service *service, struct request *request, struct reply *reply);
void api_settle(const struct service *service, struct request *request, const struct reply *reply);
/* Returns false if the daemon is loading or draining; the reply is set. */
bool api_admit(const struct service *service, const struct request *request, struct reply *reply);
/* Returns true if no models are loaded yet; the reply is set. */
bool api_is_loading(const struct request *request, struct reply *reply);
/* Returns true if a form field or query parameter of this name holds an API key. */
bool api_is_key(const char *name);
/* Checks the key that the route requires. It reads, in this order, Authorization (Bearer or
 * DeepL-Auth-Key), a header of api_key_headers, a field of a form or the query string (api_is_key),
 * and the field api_key of a JSON object; null and "" count as absent. Returns 0, with request->key
 * set if a key is required, or -1 after setting the reply: 401, 403, or 503 if memory runs out. */
int api_authorize(const struct service *service, const struct route *route, const struct call *call,
                  struct request *request, struct reply *reply);

/* Returns true if the head of the request shows whether its sender may call the endpoint, before
 * the body is read: its body cannot have the key. call: without a body. form: the body will be a
 * form. */
bool api_shows_key(const struct service *service, const struct route *route,
                   const struct call *call, bool form);

/* Returns true if the call comes from an administrator, by the administrators' Unix socket or by a
 * key, even if its route requires no key. */
bool api_is_administrator(const struct service *service, const struct call *call);

/* Sets request->models to the models in service that its key may use, or to NULL while there are
 * none. -1: the reply is set, since the key may use no model and the route does more than list
 * them. */
int api_take_models(const struct service *service, const struct route *route,
                    struct request *request, struct reply *reply);

/* Charges a prepared request to the allowance of its client and its key. False: the allowance is
 * used up, and the reply is set. */
bool api_charge(const struct service *service, const struct request *request, struct reply *reply);
/* Sets the reply if the client of a request that is not prepared yet has used up its allowance. */
void api_check_allowance(const struct service *service, const struct route *route,
                         const struct request *request, struct reply *reply);
/* Undoes that charge after the request was refused. sentences: the number that was charged. */
void api_refund(const struct service *service, const struct request *request, size_t sentences);

/* Returns true if the body's first character that is not blank is { or [: such a body counts as
 * JSON regardless of its content type. */
bool api_begins_json(const struct call *call);
bool api_is_blank(const struct call *call);
/* Returns true if the request is a form, or entirely in the query string. */
bool api_is_form(const struct call *call);

enum { API_MESSAGE_BYTES = 400 }; /* longer messages are cut */

/* Sets an error reply with "progress": 0 to 1. */
void api_fail_progress(struct reply *reply, unsigned status, const char *code, const char *message,
                       double progress);

/* Sets an error reply: {"error": message, "code": ..., "field": field}, or its form in the reply's
 * dialect. field may be NULL. This and the other functions of this name that return an int always
 * return -1. */
__attribute__((format(printf, 4, 5))) int api_fail(struct reply *reply, unsigned status,
                                                   const char *field, const char *format, ...);
/* The same for errors whose code does not follow from the status. message: valid UTF-8. */
int api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field,
                   const char *message);
/* Makes the jobs of the second model if its jobs have ended and pivot_goes_on (server/decode). -1:
 * the reply is set. */
int api_go_on(struct request *request, struct reply *reply);
/* Hands a prepared request to the threads that finish it: the workers, or those that load models.
 */
enum scheduler_verdict api_submit(const struct service *service, struct request *request);

/* Replaces the reply by 503 and counts it, because too many unread replies are waiting. */
void api_fail_unread(const struct service *service, struct reply *reply);

/* Returns true if the answer of a decoded request is large, so that a thread that others wait for
 * must not write it. For a stream this applies to each part. */
bool api_is_large(struct request *request);

/* Replies 503 because memory has run out; it may be available again soon. */
int api_fail_memory(struct reply *reply);
/* Sets the reply of an endpoint that requires SERVICE_READY in any other state. */
void api_fail_unready(enum service_state state, struct reply *reply);
/* Replies 503: all models have been taken out of service. */
void api_fail_modelless(struct reply *reply);
/* Set and count the reply to a request whose jobs were cancelled, and to one that the scheduler
 * refused. */
void api_fail_cancelled(const struct service *service, enum cancel_reason reason,
                        struct reply *reply);
void api_fail_refused(const struct service *service, enum scheduler_verdict verdict,
                      const struct request *request, struct reply *reply);
/* The same for a large request, if the requests that have been read take too much memory. */
void api_fail_crowded(const struct service *service, struct reply *reply);
/* The same if too many requests wait to be read (chores.h). */
void api_fail_unprepared(const struct service *service, double wait_s, struct reply *reply);

/* The answer to a streamed request as server-sent events. It belongs to the thread that reads the
 * request's events. */
struct api_stream {
    struct request *request; /* NULL: the stream is done */
    struct reply *reply;     /* set by finish; it is the last event */
    size_t most;             /* maximum bytes of one event */
    size_t left;             /* sentences that are still to come */
    struct api_places
        *sent;  /* [request->text_count] where the last sentence sent of each text ended */
    char *text; /* [length] the current event, malloc'ed */
    size_t length;
    bool over; /* the current event is the last */
};
/* Returns -1 if memory runs out. */
int api_stream_init(struct api_stream *stream, struct request *request, struct reply *reply,
                    size_t most);
/* Must come before request_done. It may be called twice. */
void api_stream_done(struct api_stream *stream);
/* Returns 1 if the next event is ready, 0 if there is none yet, or -1 if memory runs out. */
int api_stream_next(struct api_stream *stream);
/* Makes the reply the next event and the last one, whatever has not been read yet. Returns as
 * api_stream_next does. */
int api_stream_last(struct api_stream *stream);

#endif
