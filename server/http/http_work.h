/* From a request that has come in whole to its reply. What is small is prepared at once, on the connection's own thread; what is
 * large, and the writing of large answers, are chores (chores.h); the workers decode in between. Meanwhile the connection is
 * suspended, and a client that leaves cancels its request. */
#ifndef ALIGND_HTTP_WORK_H
#define ALIGND_HTTP_WORK_H

#include "server/http/http_exchange.h"

/* Bytes of a request's body and query string that are read at once: that takes a few milliseconds at the most, whatever they are.
 * A request for one sentence rarely has more. */
enum { WORK_SMALL_BYTES = 256 };

/* True: suspended, and exchange_respond is to be called once it is resumed. False: at once. */
bool work_begin(struct exchange *exchange);
/* To be called before exchange_respond, on the connection's thread. Of a request that is answered before it is decoded
 * (api_detaches) and has been prepared: hands it to the workers, who end it, and returns another exchange with its reply. Of
 * others: the same exchange. */
struct exchange *work_detach(struct exchange *exchange);
/* The completion callback of an exchange: it ends, or will. */
void work_end(struct exchange *exchange);

#endif
