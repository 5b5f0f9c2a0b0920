/* The parts that endpoints share: JSON replies, and the way of a decoding request from its body to its sentences and back. Included
 * in server/api and server/dialects. */
#ifndef ALIGND_ENDPOINT_H
#define ALIGND_ENDPOINT_H

#include "server/api/api.h"
#include "server/base/writer.h"
#include "server/decode/render.h"
#include <jansson.h>

/* True, once: jansson has lacked memory on this thread. What it reads may lack a part then, and look whole. */
bool api_lacked_memory(void);
/* json_loadb, with memory kept back (model/base/reserve.h): jansson aborts where it cannot lengthen the string that it is in. */
json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error);

/* Sets a JSON reply of what was written, which it takes; 503 where that failed. */
void api_reply_json(struct reply *reply, struct writer *w);
/* The same with another status. */
void api_reply_status(struct reply *reply, unsigned status, struct writer *w);
/* Sets a JSON reply of this text, malloc'ed, which it takes over. */
void api_reply_text(struct reply *reply, unsigned status, char *text);

/* Always -1. */
#define api_refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* An integer, which may be written as one with a fraction of 0, 5.0, too. False: it is none, or too large for one. */
bool api_integer(const json_t *value, json_int_t *number);

/* "an array", "null". */
const char *api_type_name(const json_t *value);

/* The fields and differences of the two decoding endpoints. */
enum api_kind { API_TRANSLATE = 1 << 0, API_ATTENTION = 1 << 1 };

enum { API_MAX_TEXTS = 64 }; /* in a request */

/* The JSON value that the body is: any; an object. NULL: the reply is set. */
json_t *api_load_value(const struct call *call, struct reply *reply);
json_t *api_load(const struct call *call, struct reply *reply);
/* Whether a field of this name of a form or the query string holds an API key. */
bool api_is_key(const char *name);
/* -1, and the reply is set: a field of a form or of the query string is not text. */
int api_check_fields(const struct call *call, struct reply *reply);
/* Two models that meet in a language. */
struct api_pivot {
    struct served_model *first, *second;
    const char *first_variant; /* NULL: none */
};
/* The nearest two from source to target, which are not the same language. through: as struct service_options' pivot. False: there
 * are none. */
bool api_find_pivot(const struct model_set *models, const char *through, const char *source, const char *target,
                    struct api_pivot *out);

/* False, and the reply is set: the daemon is loading or draining. */
bool api_admit(const struct service *service, const struct request *request, struct reply *reply);
/* Whether requests like this one may have models downloaded (--fetch). */
bool api_fetches(const struct service *service, const struct request *request);
/* True: a model for these languages is being downloaded, and either the request waits for it (api_waits) or the reply is set: 503,
 * "fetching". False: it is not to be had. */
bool api_fetch(const struct service *service, const char *source, const char *target, struct request *request, struct reply *reply);
/* The same for languages that neither a model in service nor two of them translate: one model, or two that meet. */
bool api_fetch_missing(const struct service *service, const char *source, const char *target, struct request *request,
                       struct reply *reply);

/* False, and the reply is set: all models have been taken out of service. An admitted request's. */
bool api_has_models(const struct service *service, const struct request *request, struct reply *reply);
/* True, and the reply is set: there are no models yet. */
bool api_is_loading(const struct request *request, struct reply *reply);
/* The kept glossary of this name or id, for the languages of the request's model -> request->glossary and kept. -1: there is none
 * that the request may use; the reply is set. */
int api_use_glossary(const struct service *service, const char *asked, struct request *request, struct reply *reply);
/* protect -> request->protection. -1: the reply is set. */
int api_read_protect(const json_t *value, struct request *request, struct reply *reply);
/* Whose the glossaries are that it makes: struct glossary_about. */
const char *api_glossary_owner(const struct request *request);
/* Texts -> jobs. field: what a text's error names. Otherwise the reply is set. */
void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply);
/* The least that its answer can have, of one that is prepared. */
size_t api_least_bytes(const struct request *request);
/* 413, counted. least: what the answer would have at least; 0: it is not known, but over the limit. */
void api_fail_length(const struct service *service, size_t least, struct reply *reply);
/* The writer of a decoding request's answer, of at most --max-reply-bytes; and its reply: 413 where it is too long. */
struct writer api_begin_answer(const struct service *service);
void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w);
/* A request that is parsed: true, and the reply is set, if its answer is in the cache; otherwise it may get there. dialect: with
 * root it is the whole question. */
bool api_recall(const struct service *service, const char *dialect, const json_t *root, struct request *request,
                struct reply *reply);
/* A request that is answered: keeps the answer, if it may be given again. */
void api_remember(const struct service *service, const struct request *request, const struct reply *reply);
/* Replies 500, or 503 for want of memory, and true, if a sentence failed. */
bool api_fail_decoded(const struct request *request, struct reply *reply);

/* "warnings" of a text (warnings.h), if there are any, as a member of its object. arena: scratch. */
void api_put_warnings(const struct request *request, const struct text *text, struct arena *arena, struct writer *out);

/* The warnings of a document that is decoded and answered, as events of its stream: each with the line that its text begins in,
 * where that is found. */
void api_put_document_warnings(const struct request *request, struct writer *w);

/* One text's answer: {"text","sentences":[...]}, "warnings" where there are any, as the README describes it. It ends early where
 * the text has or the request is over. markup: what "text" is instead, of one that was cut at its tags, whose sentences have no
 * place in the whole; NULL: the sentences. */
struct html_bytes;
void api_render_text(struct request *request, const struct text *text, const struct html_bytes *markup, struct writer *out);
/* The same for an item of request->plan. */
struct plan_item;
void api_render_item(struct request *request, const struct plan_item *item, struct writer *out);

/* Where a sentence begins in the whole input and output. */
struct api_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct api_places {
    struct api_place source, target;
};
/* One sentence object of a text, without its braces. at: where sentence i - 1 ended, zeroed for the first; moved to the end of this
 * one. */
void api_render_sentence(struct request *request, const struct text *text, size_t i, struct api_places *at, struct writer *out);

/* ---- dialects ---- */

/* A dialect says what requests for a decoding endpoint look like, and how they are answered. Several dialects may share a path, and
 * the fields of a request show which one it speaks. A new dialect is a file that defines one, and its row in the table (decode.c).
 */

/* The fields of a request: of a JSON object or, if that is NULL, of a form and the query string. */
struct dialect_fields {
    const json_t *root;
    const struct call *call;
};
bool dialect_has(const struct dialect_fields *fields, const char *name);
/* The field of this name in the form or the query string, whatever the body is; NULL: there is none. */
const struct api_field *dialect_sent(const struct call *call, const char *name);

/* An error as it is answered; strings as of api_fail_coded. */
struct dialect_error {
    unsigned status;
    const char *code, *field, *message; /* field NULL: none is to blame */
    const double *progress;             /* of what the client should wait for; NULL: there is no such thing */
};

struct plan;
struct plan_answers;

struct dialect {
    const char *name; /* with the fields it is the question that an answer is kept by (api_recall) */
    const char *path; /* of its routes; NULL: of whichever name it (struct route) */
    /* Whether the fields are its own. The first row of the path that says so is taken, else the path's first. Where routes name
     * the dialect: NULL. */
    bool (*speaks)(const struct dialect_fields *fields);
    /* A form or a query string, of valid UTF-8, as the object that start takes. NULL: the reply is set. */
    json_t *(*load)(const struct call *call, struct reply *reply);
    /* A JSON body and the query string as that object; the body is the caller's still. NULL: the reply is set. The member NULL: it
     * is the body, which must be an object. */
    json_t *(*merge)(const struct call *call, json_t *body, struct reply *reply);
    /* Object -> jobs (api_prepare), or the reply is set. */
    void (*start)(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                  struct reply *reply);
    /* Jobs that have ended -> reply. */
    void (*finish)(const struct service *service, struct request *request, struct reply *reply);
    /* With order_load: the field that may be there several times; NULL: none. */
    const char *several;
    /* With order_finish: writes the answer. */
    void (*put)(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena);
    /* Writes the body of an error reply: one object. NULL: as of api_fail_coded. */
    void (*put_error)(struct writer *w, const struct dialect_error *error);
    /* The status of an error, where the service that it is of has another. NULL: the error's own. */
    unsigned (*status_of)(const struct dialect_error *error);
};

/* Those that share a path; api.h has the others. */
extern const struct dialect dialect_translate, dialect_attention, dialect_libre, dialect_libre_detect, dialect_microsoft_detect;

/* The request speaks Microsoft's; GET /languages in it. */
bool microsoft_speaks(const struct dialect_fields *fields);
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

/* {"error","code","field"}: alignd's own. */
void dialect_put_error(struct writer *w, const struct dialect_error *error);

#endif
