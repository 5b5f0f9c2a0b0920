/* The fields that say how terms are translated: glossary and protect. */
#ifndef ALIGND_TERMS_H
#define ALIGND_TERMS_H

#include "server/api/api.h"
#include <jansson.h>

struct order;
/* Finds the kept glossary of an order, or its glossaries, for the languages of the request's model,
 * and sets request->parameters.glossary and kept. -1: the request may use no such glossary; the
 * reply is set. */
int terms_use_glossaries(const struct service *service, const struct order *order,
                         struct request *request, struct reply *reply);
/* Sets request->parameters.protection from protect. -1: the reply is set. */
int terms_read_protect(const json_t *value, struct request *request, struct reply *reply);
/* Returns the owner of glossaries that this request makes (struct glossary_about). */
const char *terms_owner(const struct request *request);
/* Sets request->parameters.glossary from glossary, once the request has its model. -1: the reply is
 * set. */
int terms_read_glossary(const struct service *service, json_t *value, struct request *request,
                        struct reply *reply);

#endif
