/* Answers that are kept for the same question (service.cache). */
#ifndef ALIGND_RECALL_H
#define ALIGND_RECALL_H

#include "server/api/api.h"
#include <jansson.h>

/* Returns true and sets the reply if the answer to a parsed request is in the cache; otherwise the
 * answer may be kept later. The question is root without api_key, the dialect, the models of the
 * request's key, and its kept glossary. */
bool recall_answer(const struct service *service, const char *dialect, const json_t *root,
                   struct request *request, struct reply *reply);
/* Keeps the reply to a request that was looked up, if it is an answer. */
void recall_keep(const struct service *service, const struct request *request,
                 const struct reply *reply);

#endif
