/* The endpoints: bytes in, a reply out. Each is a row of the routes table (routes.c), and described in openapi.json. */
#ifndef ALIGND_API_H
#define ALIGND_API_H

#include "server/api/cache.h"
#include "server/api/kept_files.h"
#include "server/api/keys.h"
#include "server/api/limits.h"
#include "server/base/metrics.h"
#include "server/base/name_list.h"
#include "server/decode/scheduler.h"
#include "server/glossaries/glossaries.h"
#include "server/models/catalog.h"

/* ---- what the parts of the daemon share: made by main, used by http and the endpoints ---- */

enum service_state { SERVICE_LOADING, SERVICE_READY, SERVICE_DRAINING };

/* The options that requests are answered by. Strings belong to main. */
struct service_options {
    size_t workers, rows, queue;
    size_t decode_memory; /* of a sentence; 0: no limit */
    bool verbatim;        /* of every request */
    size_t max_body_bytes, max_text_chars, request_memory, max_reply_bytes, reply_memory;
    size_t max_steps;    /* of an exact search */
    size_t model_memory; /* of all models together; 0: no limit */
    size_t deadline_ms, document_ms, heartbeat_ms;
    double rate; /* sentences a second; 0: no limit */
    size_t burst;
    const char *client_header;    /* NULL: none */
    const char *default_model;    /* name of the one that answers what says neither model nor languages; NULL: none */
    const char *pivot;            /* language code; NULL: any; "none": no two models in the place of one */
    const struct name_list *cors; /* origins, "*" alone: any; NULL: none */
};

struct service {
    struct service_options options;
    struct metrics *metrics;
    struct scheduler *scheduler;
    struct catalog *catalog;
    struct fetcher *fetcher; /* NULL: nothing can be downloaded */
    struct cache *cache;     /* NULL: off */
    struct limiter *limiter;
    struct usage *usage;
    struct kept_files *files;
    struct glossaries *glossaries;
    struct keys *keys; /* NULL: everybody may translate, nobody may administer */
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
    char *value; /* [length] bytes, any, and a NUL */
    size_t length;
    const char *file_name, *media_type; /* of a multipart form's part that has them; NULL: none */
};

/* A request as an endpoint sees it. */
struct call {
    const char *body; /* [length] bytes, any */
    size_t length;
    const char *content_type;         /* NULL: none */
    const char *path;                 /* without the query string */
    const char *if_none_match;        /* that header; NULL: none */
    const char *authorization, *host; /* the same of these */
    const char *accept_language;
    bool secure;                           /* its client came by https */
    const char *api_keys[API_KEY_HEADERS]; /* of api_key_headers */
    bool administrator;                    /* whoever sends it is one, without a key */
    bool form;                             /* the body is a form, and not a JSON object whatever its content type */
    const struct api_field *fields;        /* [field_count] the form's, then the query string's */
    size_t field_count;
};

struct dialect;

enum { API_FILE_NAME_BYTES = 256 };

struct reply {
    unsigned status; /* 0: not set yet */
    const char *content_type;
    char *body; /* malloc'ed, [length] */
    size_t length;
    unsigned retry_after_s;              /* 0: no such header */
    const char *location;                /* NULL: no such header; static */
    const char *etag;                    /* the same; what has one is asked for again before it is taken from a cache */
    const char *policy;                  /* Content-Security-Policy; the same */
    char file_name[API_FILE_NAME_BYTES]; /* under which it is to be kept: UTF-8, nothing in it that file systems refuse; "": none */
    unsigned warnings;                   /* that its body has no place for: a bit for each code (warnings.h) */
    bool close;                          /* nothing more is read from this connection */
    bool compressed;                     /* the body is gzip */
    bool streamed;                       /* the body comes piece by piece: nobody on the way may keep it */
    /* Called with the request's path once the body has been sent whole. NULL: nobody needs to know. */
    void (*sent)(const struct service *service, const char *path);
    const struct dialect *dialect; /* whose words and shape an error has (endpoint.h); NULL: alignd's own. It stays */
};

/* Who may call an endpoint. With API keys: everybody, holders of a key, holders of an admin's key. Without keys: everybody,
 * everybody, nobody. An administrator (struct call) needs no key. */
enum access { ACCESS_OPEN, ACCESS_USER, ACCESS_ADMIN };

/* start: either answers at once (sets the reply) or prepares the jobs of the request, or its reload, and leaves the reply alone.
 * request->models: those in service, NULL while there are none. finish: sets the reply once every job, or the reload, has ended
 * undisturbed; runs on a worker thread, or on the one that loads. */
struct route {
    const char *path; /* a segment in braces stands for any: "/models/{name}"; rows of one path with other methods stand together */
    const char *method; /* "GET" (HEAD too), "POST", "PUT", "PATCH" or "DELETE" */
    enum access access;
    void (*start)(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
    void (*finish)(const struct service *service, struct request *request, struct reply *reply);
    /* Whose words its errors have, and who starts and finishes what it decodes. NULL: alignd's own or, where several dialects share
     * the path, as the request's fields say. */
    const struct dialect *dialect;
};

/* Before any thread starts. */
void api_init(void);

/* A method's name, for comparison and the log, which must not hold what a client made up: GET, HEAD, POST, PUT, PATCH, DELETE,
 * OPTIONS, or "other". */
const char *api_method(const char *method);
/* The i-th; NULL: there are no more. */
const struct route *api_route(size_t i);
/* NULL: there is no such path. If no row of the path has the method, the first one is returned. index: the place of its label in
 * api_labels; that of other paths is the last. */
const struct route *api_find(const char *path, const char *method, size_t *index);
bool api_method_fits(const struct route *route, const char *method);
/* All methods of the route's path: "GET, HEAD, OPTIONS". */
enum { API_METHODS_BYTES = 64 };
void api_allowed(const struct route *route, char methods[API_METHODS_BYTES]);
/* The part of the path that the route has in braces, [length] bytes. NULL: the route has no such part. */
const char *api_path_part(const struct route *route, const char *path, size_t *length);
const char *const *api_labels(size_t *count);
/* A header's value of the reply's warnings: "language, numbers". */
enum { API_WARNINGS_BYTES = 128 };
void api_name_warnings(const struct reply *reply, char text[API_WARNINGS_BYTES]);
/* The dialect of requests for this path, before their fields are known. NULL: there is none. */
const struct dialect *api_dialect(const char *path);
/* Sets the reply's, where several share the path, as far as the query string or a form tells it. */
void api_choose_dialect(const struct route *route, const struct call *call, struct reply *reply);
/* Whether it may take as long as a document (--document-ms). */
bool api_is_lasting(const struct route *route);
/* Whether its start may wait until a file has been written, and so must not run on a thread that others wait for. */
bool api_writes(const struct route *route);
/* Whether its reply is sent before the request is decoded: api_detach sets that reply, or another status than 200. Once the request
 * has ended, with the reply that finish or a failure has set, api_settle keeps what came of it for whoever asks later. */
bool api_detaches(const struct route *route);
void api_detach(const struct service *service, struct request *request, struct reply *reply);
void api_settle(const struct service *service, struct request *request, const struct reply *reply);
/* Whether it is found at addresses for administrators, too (--admin-listen). */
bool api_is_for_administrators(const struct route *route);

/* Asks for the key that the route needs: Authorization (Bearer or DeepL-Auth-Key), a header of api_key_headers, a field of a form
 * or the query string (api_is_key), or the field api_key of a JSON object, in this order; null and "" are none. 0:
 * request->key is set if there are keys. -1: the reply is set: 401, 403, or 503 where memory is out. */
int api_authorize(const struct service *service, const struct route *route, const struct call *call, struct request *request,
                  struct reply *reply);

/* The call comes from an administrator, by the Unix socket for them or by a key; also where its route needs none. */
bool api_is_administrator(const struct service *service, const struct call *call);

/* Sets request->models to those in service that its key may use; NULL while there are none. -1: the reply is set. */
int api_take_models(const struct service *service, struct request *request, struct reply *reply);

/* Counts a prepared request against what its client and its key may ask for. False: it is more than that, and the reply is set. */
bool api_charge(const struct service *service, const struct request *request, struct reply *reply);
/* Takes that back: it was refused. sentences: as many as were counted. */
void api_refund(const struct service *service, const struct request *request, size_t sentences);

/* The body's first character that is not blank is { or [: it is taken for JSON whatever its content type says. */
bool api_begins_json(const struct call *call);
bool api_is_blank(const struct call *call);
/* The request is a form, or all in the query string. */
bool api_is_form(const struct call *call);

enum { API_MESSAGE_BYTES = 400 }; /* longer ones are cut */

/* An error reply with "progress": 0 to 1. */
void api_fail_progress(struct reply *reply, unsigned status, const char *code, const char *message, double progress);

/* Sets an error reply: {"error": message, "code": ..., "field": field}, or what it is in the reply's dialect. field may be NULL. */
__attribute__((format(printf, 4, 5))) void api_fail(struct reply *reply, unsigned status, const char *field, const char *format,
                                                    ...);
/* The same where the status alone does not tell the code. message: valid UTF-8. */
void api_fail_coded(struct reply *reply, unsigned status, const char *code, const char *field, const char *message);
/* It was not prepared, since its model is not in memory yet: once it is submitted and finished, start is to be called again. */
bool api_waits(const struct request *request);
/* Its jobs have ended, and it is to be decoded once more, by another model: api_go_on makes the jobs of that. -1: the reply is set.
 */
bool api_goes_on(const struct request *request);
int api_go_on(struct request *request, struct reply *reply);
/* Hands a prepared request to those who finish it: the workers, or those who load models. */
enum scheduler_verdict api_submit(const struct service *service, struct request *request);

/* 503 in its place, counted: there are too many that nobody has read yet. */
void api_fail_unread(const struct service *service, struct reply *reply);

/* The answer of a decoded request will be large: it is not to be written where others wait meanwhile. Of a stream: each part. */
bool api_is_large(const struct request *request);

/* 503: memory is out, and may be there again soon. */
void api_fail_memory(struct reply *reply);
/* The reply of what needs SERVICE_READY in any other state. */
void api_fail_unready(enum service_state state, struct reply *reply);
/* 503: all models have been taken out of service. */
void api_fail_modelless(struct reply *reply);
/* The reply to a request whose jobs were cancelled, to one that the scheduler refused, and to one whose client asks for more than
 * its rate (limits.h) and would have to wait so long. Counted. */
void api_fail_cancelled(const struct service *service, enum cancel_reason reason, struct reply *reply);
void api_fail_refused(const struct service *service, enum scheduler_verdict verdict, const struct request *request,
                      struct reply *reply);
void api_fail_rate(const struct service *service, double rate, double wait_s, struct reply *reply);
/* The same where its key may translate no more until the day ends. */
void api_fail_quota(const struct service *service, uint64_t daily, unsigned wait_s, struct reply *reply);
/* The same for a large request, if the requests that were read take too much memory. */
void api_fail_crowded(const struct service *service, struct reply *reply);
/* And where too many wait to be read (chores.h). */
void api_fail_unprepared(const struct service *service, double wait_s, struct reply *reply);

/* The answer to a streamed request as server-sent events. The reader's of the request's events. */
struct api_stream {
    struct request *request;
    struct reply *reply;     /* that finish sets: the last event */
    size_t most;             /* bytes of an event */
    size_t left;             /* sentences that are still to come */
    struct api_places *sent; /* [request->text_count] the end of each text's last sentence that was sent */
    char *text;              /* [length] of the event in hand, malloc'ed */
    size_t length;
    bool over; /* it is the last */
};
/* -1: memory is out. */
int api_stream_init(struct api_stream *stream, struct request *request, struct reply *reply, size_t most);
void api_stream_done(struct api_stream *stream);
/* 1: the next event is in hand. 0: there is none yet. -1: memory is out. */
int api_stream_next(struct api_stream *stream);

/* Dialects that routes name (struct route). */
extern const struct dialect dialect_deepl, dialect_google, dialect_google_detect, dialect_microsoft, dialect_microsoft_break,
    dialect_immersive, dialect_kiss, dialect_deeplx;

/* The endpoints; their places are in the table. */
void api_decode_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_decode_finish(const struct service *service, struct request *request, struct reply *reply);
void api_models(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_add_model(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_remove_model(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_reload_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_reload_finish(const struct service *service, struct request *request, struct reply *reply);
void api_document_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_document_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_document_status(const struct service *service, const struct call *call, struct request *request,
                               struct reply *reply);
void api_deepl_document_result(const struct service *service, const struct call *call, struct request *request,
                               struct reply *reply);
void api_document_finish(const struct service *service, struct request *request, struct reply *reply);
void api_file_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_file_finish(const struct service *service, struct request *request, struct reply *reply);
void api_file(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_health(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_ready(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_metrics(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_usage(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_glossary_pairs(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_glossaries(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_make_glossary(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_glossary(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_remove_glossary(const struct service *service, const struct call *call, struct request *request,
                               struct reply *reply);
void api_deepl_multilingual_glossaries(const struct service *service, const struct call *call, struct request *request,
                                       struct reply *reply);
void api_deepl_make_multilingual(const struct service *service, const struct call *call, struct request *request,
                                 struct reply *reply);
void api_deepl_multilingual(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_change_multilingual(const struct service *service, const struct call *call, struct request *request,
                                   struct reply *reply);
void api_deepl_dictionary_entries(const struct service *service, const struct call *call, struct request *request,
                                  struct reply *reply);
void api_deepl_set_dictionary(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_deepl_remove_dictionary(const struct service *service, const struct call *call, struct request *request,
                                 struct reply *reply);
void api_deepl_entries(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_google_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_microsoft_token(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_settings(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_docs(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_spec(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_page(const struct service *service, const struct call *call, struct request *request, struct reply *reply);

#endif
