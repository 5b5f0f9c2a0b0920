/* The endpoints: bytes in, a reply out. Each is a row of the routes table (api.c); a family has a file of its own. jansson is used
 * behind this header only, in api_*.c. */
#ifndef ALIGND_API_H
#define ALIGND_API_H

#include "server/service.h"

enum {
    STATUS_OK = 200,
    STATUS_NO_CONTENT = 204,
    STATUS_MOVED = 302,
    STATUS_NOT_MODIFIED = 304,
    STATUS_INVALID = 400,
    STATUS_NOT_FOUND = 404,
    STATUS_METHOD = 405,
    STATUS_TOO_LARGE = 413,
    STATUS_MEDIA_TYPE = 415,
    STATUS_QUEUE_FULL = 429,
    STATUS_INTERNAL = 500,
    STATUS_UNAVAILABLE = 503,
    STATUS_DEADLINE = 504,
};

/* A field of a form or of the query string. */
struct api_field {
    const char *name;
    char *value; /* [length] bytes, any, and a NUL */
    size_t length;
};

/* What an endpoint is given. */
struct call {
    const char *body; /* [length] bytes, any */
    size_t length;
    const char *content_type;       /* NULL: none */
    const char *path;               /* without the query string */
    const char *if_none_match;      /* that header; NULL: none */
    bool form;                      /* the body is a form, and not a JSON object whatever its content type */
    const struct api_field *fields; /* [field_count] the form's, then the query string's */
    size_t field_count;
};

struct reply {
    unsigned status; /* 0: not set yet */
    const char *content_type;
    char *body; /* malloc'ed, [length] */
    size_t length;
    unsigned retry_after_s; /* 0: no such header */
    const char *location;   /* NULL: no such header; static */
    const char *etag;       /* the same; what has one is asked for again before it is taken from a cache */
    const char *policy;     /* Content-Security-Policy; the same */
    bool streamed;          /* the body comes piece by piece: nobody on the way may keep it */
};

/* start: either answers at once (sets the reply) or prepares the jobs of the request and leaves the reply alone. finish: sets the
 * reply once every job has ended undisturbed; runs on a worker thread. */
struct route {
    const char *path, *method; /* "GET" (HEAD too) or "POST" */
    void (*start)(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
    void (*finish)(const struct service *service, struct request *request, struct reply *reply);
    /* for /openapi.json: what it does, the schemas (api_schema) of body and reply; NULL: none; of a reply: text */
    const char *summary, *takes, *gives;
};

/* Before any thread starts. */
void api_init(void);

/* The i-th; NULL: there are no more. */
const struct route *api_route(size_t i);
/* NULL: no such path. index: the place of its label in api_labels; that of other paths is the last. */
const struct route *api_find(const char *path, size_t *index);
const char *const *api_labels(size_t *count);

/* The body's first character that is not blank is {: it is taken for JSON whatever its content type says. */
bool api_begins_object(const struct call *call);
bool api_is_blank(const struct call *call);
/* The request is a form, or all in the query string. */
bool api_is_form(const struct call *call);

/* Sets an error reply: {"error": message, "code": ..., "field": field}. field may be NULL. */
__attribute__((format(printf, 4, 5))) void api_fail(struct reply *reply, unsigned status, const char *field, const char *format,
                                                    ...);
/* 503: memory is out, and may be there again soon. */
void api_fail_memory(struct reply *reply);
/* The reply of what needs SERVICE_READY in any other state. */
void api_fail_unready(enum service_state state, struct reply *reply);
/* The reply to a request whose jobs were cancelled, or to one that the scheduler refused. */
void api_fail_cancelled(const struct service *service, enum cancel_reason reason, struct reply *reply);
void api_fail_refused(const struct service *service, enum scheduler_verdict verdict, struct reply *reply);

/* The answer to a streamed request as server-sent events. The reader's of the request's events. */
struct api_stream {
    struct request *request;
    const struct reply *reply; /* that finish sets: the last event */
    struct arena arena;        /* of one event */
    struct api_places *told;   /* [request->text_count] the end of each text's last sentence told */
    char *text;                /* [length] of the event in hand, malloc'ed */
    size_t length;
    bool over; /* it is the last */
};
/* -1: memory is out. */
int api_stream_init(struct api_stream *stream, struct request *request, const struct reply *reply);
void api_stream_done(struct api_stream *stream);
/* 1: the next event is in hand. 0: there is none yet. -1: memory is out. */
int api_stream_next(struct api_stream *stream);

/* The endpoints; their places are in the table. */
void api_translate_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_translate_finish(const struct service *service, struct request *request, struct reply *reply);
void api_attention_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_attention_finish(const struct service *service, struct request *request, struct reply *reply);
void api_models(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_health(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_ready(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_metrics(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_detect(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_languages(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_settings(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_spec(const struct service *service, const struct call *call, struct request *request, struct reply *reply);
void api_page(const struct service *service, const struct call *call, struct request *request, struct reply *reply);

#endif
