/* Functions that endpoints share: JSON replies, and the path of a decoding request from its body to its sentences and back.
 * server/api and server/dialects include it. */
#ifndef ALIGND_ENDPOINT_H
#define ALIGND_ENDPOINT_H

#include "server/api/api.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include <jansson.h>
#include <stddef.h>

/* True, once, if jansson has lacked memory on this thread. What it read then may be incomplete and look complete. */
bool api_lacked_memory(void);
/* json_loadb with reserved memory (model/base/arena.h): jansson aborts if it cannot lengthen the string that it is reading. */
json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error);

/* Sets a JSON reply from the writer's text, which it takes over; 503 if the writer has failed. */
void api_reply_json(struct reply *reply, struct writer *w);
/* The same with another status. */
void api_reply_status(struct reply *reply, unsigned status, struct writer *w);
/* Sets a JSON reply from this text, malloc'ed, which it takes over. */
void api_reply_text(struct reply *reply, unsigned status, char *text);

/* Always returns -1. */
#define api_refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* Reads an integer, which may have a fraction of 0, such as 5.0. False: the value is not an integer, or too large. */
bool api_integer(const json_t *value, json_int_t *number);

/* The type of a value with its article: "an array", "null". */
const char *api_type_name(const json_t *value);

/* The fields of the two decoding endpoints, and the differences between them. */
enum api_kind { API_TRANSLATE = 1 << 0, API_ATTENTION = 1 << 1 };

enum { API_MAX_TEXTS = 64 }; /* in a request */

/* Parse the body as any JSON value, or as an object. NULL: the reply is set. */
json_t *api_load_value(const struct call *call, struct reply *reply);
json_t *api_load(const struct call *call, struct reply *reply);
/* True if a form field or query parameter of this name holds an API key. */
bool api_is_key(const char *name);
/* Returns -1 after setting the reply if a field of a form or of the query string is not text. */
int api_check_fields(const struct call *call, struct reply *reply);
/* Two models in sequence: the first writes a language that the second reads. */
struct api_pivot {
    struct served_model *first, *second;
    const char *first_variant; /* NULL: no variant */
};
/* Finds the nearest two models from source to target, which are different languages. through: as pivot of struct service_options.
 * False: there are no such models. */
bool api_find_pivot(const struct model_set *models, const char *through, const char *source, const char *target,
                    struct api_pivot *out);

/* False if the daemon is loading or draining; the reply is set. */
bool api_admit(const struct service *service, const struct request *request, struct reply *reply);
/* True if requests like this one may have models downloaded (--fetch). */
bool api_fetches(const struct service *service, const struct request *request);
/* True: a model for these languages is being downloaded, and either the request waits for it (api_waits) or the reply is set: 503,
 * "fetching". False: it is not to be had. */
bool api_fetch(const struct service *service, const char *source, const char *target, struct request *request, struct reply *reply);
/* The same for languages that neither a model in service nor two of them translate: one model, or two that meet. */
bool api_fetch_missing(const struct service *service, const char *source, const char *target, struct request *request,
                       struct reply *reply);

/* The same for an admitted request: false if all models have been taken out of service; the reply is set. */
bool api_has_models(const struct service *service, const struct request *request, struct reply *reply);
/* True if no models are loaded yet; the reply is set. */
bool api_is_loading(const struct request *request, struct reply *reply);
/* Finds the kept glossary of this name or id for the languages of the request's model, and sets request->glossary and kept. -1: the
 * request may use no such glossary; the reply is set. */
int api_use_glossary(const struct service *service, const char *asked, struct request *request, struct reply *reply);
/* Sets request->protection from protect. -1: the reply is set. */
int api_read_protect(const json_t *value, struct request *request, struct reply *reply);
/* The owner of glossaries that this request makes: struct glossary_about. */
const char *api_glossary_owner(const struct request *request);
/* Makes jobs of the request's texts, or sets the reply. field: the name that errors about a text use. */
void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply);
/* The minimum length of the answer to a prepared request. */
size_t api_least_bytes(const struct request *request);
/* Replies 413 and counts it. least: the minimum length of the answer; 0: unknown, but over the limit. */
void api_fail_length(const struct service *service, size_t least, struct reply *reply);
/* The writer of a decoding request's answer, limited to --max-reply-bytes, and its reply, which is 413 if the answer is too
 * long. */
struct writer api_begin_answer(const struct service *service);
void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w);
/* For a parsed request: true, and the reply is set, if its answer is in the cache; otherwise its answer may be kept later. root and
 * dialect together are the whole question. */
bool api_recall(const struct service *service, const char *dialect, const json_t *root, struct request *request,
                struct reply *reply);
/* For an answered request: keeps the answer if other requests may get it. */
void api_remember(const struct service *service, const struct request *request, const struct reply *reply);
/* Replies 500, or 503 if memory is out, and returns true if a sentence failed. */
bool api_fail_decoded(const struct request *request, struct reply *reply);

/* Writes "warnings" (warnings.h) as a member of a text's object, if the text has any. arena: scratch. */
void api_put_warnings(const struct request *request, const struct text *text, struct arena *arena, struct writer *out);

/* Writes the warnings of a document that is decoded and answered as events of its stream. Each has the line in which its text
 * begins, if that line is found. */
void api_put_document_warnings(const struct request *request, struct writer *w);

/* Writes one text's answer, {"text","sentences":[...]} and any "warnings", as the README describes it. It stops early if the writer
 * has ended or the request is over. markup: replaces "text" if the text was cut at its tags; its sentences then have no offsets in
 * the whole. NULL: "text" is made of the sentences. */
struct html_bytes;
void api_render_text(struct request *request, const struct text *text, const struct html_bytes *markup, struct writer *out);
/* The same for an item of request->plan. */
struct plan_item;
void api_render_item(struct request *request, const struct plan_item *item, struct writer *out);

/* ---- dialects ---- */

/* A dialect defines what requests for a decoding endpoint look like and how they are answered. Several dialects may share a path;
 * the fields of a request then show which one it speaks. A new dialect is a file that defines one, and its row in the table
 * (decode.c). */

/* The fields of a request: those of a JSON object or, if that is NULL, of a form and the query string. */
struct dialect_fields {
    const json_t *root;
    const struct call *call;
};
bool dialect_has(const struct dialect_fields *fields, const char *name);
/* The field of this name in the form or the query string, regardless of the body. NULL: there is no such field. */
const struct api_field *dialect_sent(const struct call *call, const char *name);

/* An error before it is written; strings as for api_fail_coded. */
struct dialect_error {
    unsigned status;
    const char *code, *field, *message; /* field NULL: no field is to blame */
    const double *progress;             /* of what the client should wait for; NULL: there is no such thing */
};

struct plan;
struct plan_answers;

struct dialect {
    const char *name; /* together with the fields, the cache's question (api_recall) */
    const char *path; /* the path of its routes; NULL: routes name the dialect (struct route) */
    /* True if the fields belong to this dialect. The first row of the path that says so is used, or else the path's first row. NULL
     * if routes name the dialect. */
    bool (*speaks)(const struct dialect_fields *fields);
    /* Converts a form or a query string, in valid UTF-8, to the object that start takes. NULL: the reply is set. */
    json_t *(*load)(const struct call *call, struct reply *reply);
    /* Converts a JSON body and the query string to that object; the caller still owns the body. Returns NULL after setting the
     * reply. If this member is NULL, the body itself is that object. */
    json_t *(*merge)(const struct call *call, json_t *body, struct reply *reply);
    /* Makes jobs of the object (api_prepare), or sets the reply. */
    void (*start)(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                  struct reply *reply);
    /* Sets the reply after the jobs have ended. */
    void (*finish)(const struct service *service, struct request *request, struct reply *reply);
    /* For order_load: the field that may be repeated; NULL: none. */
    const char *several;
    /* For order_finish: writes the answer. */
    void (*put)(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena);
    /* Writes the body of an error reply, which is one object. NULL: as api_fail_coded does. */
    void (*put_error)(struct writer *w, const struct dialect_error *error);
    /* The status of an error, if the other service uses another one. NULL: the error's own status. */
    unsigned (*status_of)(const struct dialect_error *error);
};

/* The dialects that share a path; api.h has the others. */
extern const struct dialect dialect_translate, dialect_attention, dialect_libre, dialect_libre_detect, dialect_microsoft_detect;

/* True if the request speaks Microsoft's dialect, and its GET /languages. */
bool microsoft_speaks(const struct dialect_fields *fields);
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

/* The error object of alignd's own dialect: {"error","code","field"}. */
void dialect_put_error(struct writer *w, const struct dialect_error *error);

/* ---- the page ---- */

/* The files of server/page/, made part of the program by server/page/embed.sh. */
struct page_file {
    const char *path, *type; /* its path on the server, its content type */
    const char *etag;        /* a hash of its bytes, in quotes */
    const unsigned char *bytes;
    size_t length;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

/* Returns NULL if the page has no such path. */
const struct page_file *page_find(const char *path);

#endif
