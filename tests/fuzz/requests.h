/* A request through its endpoint, up to the point where its sentences would be queued. */
#ifndef ALIGND_TESTS_FUZZ_REQUESTS_H
#define ALIGND_TESTS_FUZZ_REQUESTS_H

#include "server/api/api.h"

/* A service that is ready, with one tiny model and no threads. Made once. */
const struct service *fuzz_service(void);

/* Answered at once, or its jobs are prepared. Ends the request either way. */
void fuzz_request(const char *path, struct call *call);

#endif
