/* The path of a decoding request from its body to its jobs, and to its reply. */
#ifndef ALIGND_DECODE_H
#define ALIGND_DECODE_H

#include "server/api/api.h"

api_start decode_start;
api_finish decode_finish;

/* Makes jobs of the request's texts, or sets the reply. field: the name that errors about a text
 * use. */
void decode_prepare(const struct service *service, const char *field, struct request *request,
                    struct reply *reply);
/* Returns how many sentences of a document or of a long text may wait at once (request.window). */
size_t decode_window(const struct service *service);
/* Replies 500, or 503 if memory runs out, and returns true if a sentence failed. */
bool decode_fail(const struct request *request, struct reply *reply);

/* Hands a prepared request to the threads that finish it: the workers, or those that load models.
 */
enum scheduler_verdict decode_submit(const struct service *service, struct request *request);

#endif
