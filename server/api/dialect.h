/* A dialect: what requests for a decoding endpoint look like, and how they are answered. Several may share a path; which one a
 * request speaks shows in its fields. A new dialect is a file that defines one, and its row in the table (decode.c). */
#ifndef ALIGND_DIALECT_H
#define ALIGND_DIALECT_H

#include "server/api/endpoint.h"

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
