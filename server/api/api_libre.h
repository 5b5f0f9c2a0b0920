/* What LibreTranslate's other endpoints share with its dialect of POST /translate. Included by api_libre.c and api_languages.c. */
#ifndef ALIGND_API_LIBRE_H
#define ALIGND_API_LIBRE_H

#include "server/api/api_dialect.h"
#include "server/api/api_plan.h"

/* A form and a query string, of valid UTF-8: {name: value}, strings only. NULL: the reply is set. */
/* The text or texts to translate: q [count] of them. -1: the reply is set. */
int libre_count(const json_t *q, size_t *count, struct reply *reply);
/* {"confidence","language"}. */
void libre_put_guess(struct writer *w, const char *key, const struct plan_guess *guess);

#endif
