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
#include "server/options/options.h"

/* ---- shared state: created by main, used by http and the endpoints ---- */

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

struct service {
    const struct options *options; /* main owns them */
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
    STATUS_ACCEPTED = 202,
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
enum { ACCESS_KEY_HEADERS = 4 };

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
    const char *protocol_version;             /* the header with MCP's version; NULL: none */
    bool secure;                              /* the client connected by https */
    const char *api_keys[ACCESS_KEY_HEADERS]; /* the values of access_key_headers */
    bool administrator;                       /* the sender is an administrator, and needs no key */
    bool form; /* the body is a form; false: it is a JSON object, whatever its content type */
    const struct api_field
        *fields; /* [field_count] those of the form, then those of the query string */
    size_t field_count;
};

struct dialect;
struct route;

enum { API_MAX_TEXTS = 64 };    /* in a request */
enum { ORDER_MAX_TEXTS = 128 }; /* in most requests of other services */

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
    uint64_t ignored;  /* for another header: a bit for each field of the dialect that the request
                          has and that is ignored (dialect_judge_fields) */
    bool close;        /* the connection is closed after this reply */
    bool compressed;   /* the body is gzip */
    bool streamed;     /* the body comes piece by piece: proxies must not buffer or cache it */
    /* Called with the request's route and path once the whole body has been sent. NULL: not needed.
     */
    void (*sent)(const struct service *service, const struct route *route, const char *path);
    const struct dialect
        *dialect; /* the dialect of an error (dialect.h); NULL: alignd's own. reply_fail keeps it */
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
    ROUTE_DETACHES =
        1 << 2, /* the reply is sent before the request is decoded (documents_detach) */
    ROUTE_ADMIN =
        1 << 3, /* the endpoint is also served at administrators' addresses (--admin-listen) */
    ROUTE_REST = 1 << 4,  /* the last braces of the path match slashes, too */
    ROUTE_KEYED = 1 << 5, /* the body, a form or JSON, may have the API key: clients of other
                             services, and forms, send it there. The head of a request without a
                             key then does not show whether it may be answered */
};
static inline bool route_has(const struct route *route, enum route_trait trait) {
    return route->traits & trait;
}

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

#endif
