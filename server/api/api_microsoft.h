/* What the endpoints of Microsoft's dialect share. Included by api_microsoft*.c and by those who share a path with them. */
#ifndef ALIGND_API_MICROSOFT_H
#define ALIGND_API_MICROSOFT_H

#include "server/api/api_plan.h"

enum { MICROSOFT_MOST_TEXTS = 1000 };

/* As of struct dialect. */
bool microsoft_speaks(const struct dialect_fields *fields);
json_t *microsoft_load(const struct call *call, struct reply *reply);
json_t *microsoft_merge(const struct call *call, json_t *body, struct reply *reply);
void microsoft_put_error(struct writer *w, const struct dialect_error *error);

/* {"language","score"}. */
void microsoft_put_guess(struct writer *w, const char *key, const struct plan_guess *guess);
/* GET /languages with api-version. */
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

#endif
