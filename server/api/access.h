/* Who may call an endpoint: keys, the models of a key, allowances, and the state of the daemon. */
#ifndef ALIGND_ACCESS_H
#define ALIGND_ACCESS_H

#include "server/api/api.h"

/* The headers, [ACCESS_KEY_HEADERS]. */
extern const char *const access_key_headers[ACCESS_KEY_HEADERS];

/* Returns false if the daemon is loading or draining; the reply is set. */
bool access_admit(const struct service *service, const struct request *request,
                  struct reply *reply);
/* Returns true if no models are loaded yet; the reply is set. */
bool access_is_loading(const struct request *request, struct reply *reply);
/* Returns true if a form field or query parameter of this name holds an API key. */
bool access_is_key(const char *name);
/* Checks the key that the route requires. It reads, in this order, Authorization (Bearer or
 * DeepL-Auth-Key), a header of access_key_headers, a field of a form or the query string
 * (access_is_key), and, of a route with ROUTE_KEYED, the field api_key or auth_key of a JSON
 * object; null and "" count as absent. Returns 0, with request->key set if a key is required, or -1
 * after setting the reply: 401, 403, or 503 if memory runs out. */
int access_authorize(const struct service *service, const struct route *route,
                     const struct call *call, struct request *request, struct reply *reply);
/* Returns true if the head of the request shows whether its sender may call the endpoint, before
 * the body is read: its body cannot have the key. call: without a body. */
bool access_shows_key(const struct service *service, const struct route *route,
                      const struct call *call);
/* Returns true if the call comes from an administrator, by the administrators' Unix socket or by a
 * key, even if its route requires no key. */
bool access_is_administrator(const struct service *service, const struct call *call);
/* Sets request->models to the models in service that its key may use, or to NULL while there are
 * none. -1: the reply is set, since the key may use no model and the route does more than list
 * them. */
int access_take_models(const struct service *service, const struct route *route,
                       struct request *request, struct reply *reply);
/* Charges a prepared request to the allowance of its client and its key. False: the allowance is
 * used up, and the reply is set. */
bool access_charge(const struct service *service, const struct request *request,
                   struct reply *reply);
/* Sets the reply if the client of a request that is not prepared yet has used up its allowance. */
void access_check_allowance(const struct service *service, const struct route *route,
                            const struct request *request, struct reply *reply);
/* Undoes that charge after the request was refused. sentences: the number that was charged. */
void access_refund(const struct service *service, const struct request *request, size_t sentences);

#endif
