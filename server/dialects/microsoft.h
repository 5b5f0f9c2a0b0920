/* Microsoft Translator's dialect. */
#ifndef ALIGND_MICROSOFT_H
#define ALIGND_MICROSOFT_H

#include "server/api/dialect.h"

extern const struct dialect dialect_microsoft, dialect_microsoft_break, dialect_microsoft_detect,
    dialect_microsoft_scripts;

api_start microsoft_token;
/* Returns true if the request speaks Microsoft's dialect; microsoft_languages answers its GET
 * /languages. */
bool microsoft_speaks(const struct dialect_fields *fields);
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

/* How clients send their key. */
extern const char microsoft_key[];
/* The parts of Microsoft's dialects: load refuses a request whose body is a form or empty; merge_3
 * reads what there is in 3.0 only, whose version need not be named. */
json_t *microsoft_load(const struct call *call, struct reply *reply);
json_t *microsoft_merge_3(const struct call *call, json_t *body, struct reply *reply);
void microsoft_put_error(struct writer *w, const struct dialect_error *error);

#endif
