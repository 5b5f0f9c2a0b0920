/* A dialect defines what requests for a decoding endpoint look like and how they are answered.
 * Several dialects may share a path; the fields of a request then show which one it speaks. A new
 * dialect is a file that defines one, and its place in the rows of the table of routes
 * (server/endpoints/routes.c). */
#ifndef ALIGND_DIALECT_H
#define ALIGND_DIALECT_H

#include "server/api/plan.h"

/* The fields of a request: those of a JSON object or, if that is NULL, of a form and the query
 * string. */
struct dialect_fields {
    const json_t *root;
    const struct call *call;
};
bool dialect_has(const struct dialect_fields *fields, const char *name);
/* Returns the field of this name in the form or the query string, regardless of the body. NULL:
 * there is no such field. */
const struct api_field *dialect_sent(const struct call *call, const char *name);
/* Returns the first of the route's other dialects whose fields these are, or else the route's
 * first. */
const struct dialect *route_spoken(const struct route *route, const struct dialect_fields *fields);

/* An error before it is written; strings as for reply_fail_coded. */
struct dialect_error {
    unsigned status;
    const char *code, *field, *message; /* field NULL: no field is to blame */
    const double *progress; /* progress of a download that the client should wait for; NULL: none */
};

/* ---- dialects ---- */

enum field_fate {
    FIELD_HONOURED,
    FIELD_IGNORED, /* named in the header X-Alignd-Ignored */
    FIELD_REFUSED  /* without it the reply would mean something else */
};
/* A published field of another service (server/dialects/fields.def). */
struct dialect_field {
    const char *name; /* dots are between the names of objects or arrays and of their members */
    enum field_fate fate;
    const char *usual; /* the values that ask for nothing, separated by spaces */
};
enum { DIALECT_MOST_FIELDS = 64 };
/* Sets reply->ignored to the fields that ask for something and are ignored. Returns -1 after
 * setting the reply if one is refused. */
int dialect_judge_fields(const struct dialect *dialect, const struct dialect_fields *fields,
                         struct reply *reply);
/* Writes the names of the ignored fields: "context, style_id". */
enum { DIALECT_IGNORED_BYTES = 1024 };
void dialect_list_ignored(const struct reply *reply, char text[DIALECT_IGNORED_BYTES]);

struct dialect {
    const char *name; /* part of the cache's question (recall_answer) */
    /* How clients of the service send their key, for the error that it is missing; KEY stands for
     * it. */
    const char *key;
    /* Returns true if the fields belong to this dialect. NULL if it shares no route with others. */
    bool (*speaks)(const struct dialect_fields *fields);
    /* Converts a form or a query string, in valid UTF-8, to the object that start takes. NULL: the
     * reply is set. */
    json_t *(*load)(const struct call *call, struct reply *reply);
    /* Converts a JSON body and the query string to that object; the caller still owns the body.
     * Returns NULL after setting the reply. If this member is NULL, the body itself is that object.
     */
    json_t *(*merge)(const struct call *call, json_t *body, struct reply *reply);
    /* Makes jobs of the object (decode_prepare), or sets the reply. */
    void (*start)(const struct dialect *dialect, const struct service *service, json_t *root,
                  struct request *request, struct reply *reply);
    /* Sets the reply after the jobs have ended. */
    api_finish *finish;
    /* [<= DIALECT_MOST_FIELDS], up to one without a name. NULL: decode_start judges no fields. */
    const struct dialect_field *fields;
    /* For order_load: the field that may be repeated; NULL: none. */
    const char *several;
    /* For order_begin: how each order begins, the most texts (0: ORDER_MAX_TEXTS), and the bytes of
     * order->own (0: it has none). */
    struct order order;
    size_t most_texts, own_bytes;
    /* For order_begin: reads the other fields. Returns -1 after setting the reply. NULL: there are
     * no others. */
    int (*read)(const json_t *root, struct order *order, struct arena *arena, struct reply *reply);
    /* For order_finish: writes the answer. */
    void (*put)(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                struct arena *arena);
    /* Writes the body of an error reply, which is one object. NULL: as reply_fail_coded does. */
    void (*put_error)(struct writer *w, const struct dialect_error *error);
    /* Refuses a kept glossary that does not exist (NULL: with 400), or that has no entries for the
     * languages (NULL: as one that does not exist). asked: its name or id. message: what alignd's
     * own dialect says. Returns -1 after setting the reply. */
    int (*lacks_glossary)(bool exists, const char *asked, const char *message, struct reply *reply);
    /* The status of an error, if the other service uses another one. NULL: the error's own status.
     */
    unsigned (*status_of)(const struct dialect_error *error);
};

/* alignd's own (native.c). */
extern const struct dialect dialect_translate, dialect_attention, dialect_align;

#endif
