/* `alignd health`: asks a running daemon how it is, for health checks of containers that lack curl. */
#ifndef ALIGND_HEALTH_H
#define ALIGND_HEALTH_H

#include "model/base/error.h"
#include <stdbool.h>

enum { HEALTH_TIMEOUT_MS = 5000 };

/* Sends GET of path. addresses: as --listen takes them, HOST:PORT or unix:PATH; of several, separated by ',', the first; no host,
 * or one that stands for every address, means this machine. https: a HOST:PORT speaks TLS; its certificate is not verified, because
 * one that was renewed or has expired is not a failure of the daemon, and nothing secret is sent. timeout_ms: for everything but
 * the lookup of a name. Returns 0 if the reply's status is 200; else -1 with ERROR_INPUT (not an address), ERROR_FILE (no
 * connection, no TLS, no reply in time, or another status) or ERROR_MEMORY. */
int health_ask(const char *addresses, const char *path, bool https, int timeout_ms, struct error *err);

#endif
