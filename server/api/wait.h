/* Requests wait until their models are in memory, and until missing models are downloaded. */
#ifndef ALIGND_WAIT_H
#define ALIGND_WAIT_H

#include "server/api/api.h"

/* Returns true if requests like this one may have models downloaded (--fetch). */
bool wait_may_fetch(const struct service *service, const struct request *request);
/* Returns true if no model in service translates between these languages, and a model that does, or
 * a missing one of two via a pivot, is being downloaded: then either the request waits for it
 * (wait_is_needed) or the reply is set to 503, "fetching". Otherwise returns false. */
bool wait_fetch_missing(const struct service *service, const char *source, const char *target,
                        struct request *request, struct reply *reply);

/* Returns false if no model is in service and none can be downloaded for an admitted request; the
 * reply is set. */
bool wait_finds_models(const struct service *service, const struct request *request,
                       struct reply *reply);
/* Returns true if the request was not prepared because its model is not in memory yet. Once it is
 * submitted and finished, start must be called again. */
bool wait_is_needed(const struct request *request);
/* Returns true if the request holds all models of its texts in memory. Otherwise the reply is set,
 * or the request waits for a model (wait_is_needed). */
bool wait_has_models(const struct service *service, struct request *request, struct reply *reply);
/* Hands a request that waits to the thread that ends its wait. */
enum scheduler_verdict wait_submit(const struct service *service, struct request *request);

#endif
