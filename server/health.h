/* `alignd health`: checks a running daemon, for health checks in containers that lack curl. */
#ifndef ALIGND_HEALTH_H
#define ALIGND_HEALTH_H

#include "model/base/error.h"
#include <stdbool.h>

enum { HEALTH_TIMEOUT_MS = 5000 };

/* Sends GET of path. addresses: in the form of --listen, HOST:PORT or unix:PATH; of several, separated by ',', the first counts. No
 * host, or one that stands for every address, means this machine. https: a HOST:PORT speaks TLS. Its certificate is not verified,
 * because a renewed or expired one is not a failure of the daemon, and nothing secret is sent. timeout_ms: for everything except
 * resolving a name. Returns 0 if the reply's status is 200, or else -1 with ERROR_INPUT (not an address), ERROR_FILE (no
 * connection, no TLS, no reply in time, or another status) or ERROR_MEMORY. */
int health_ask(const char *addresses, const char *path, bool https, int timeout_ms, struct error *err);

#endif
