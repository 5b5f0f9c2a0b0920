/* `alignd health`: asks a running daemon how it is, for health checks of containers that have no curl. */
#ifndef ALIGND_HEALTH_H
#define ALIGND_HEALTH_H

#include "model/base/error.h"
#include <stdbool.h>

enum { HEALTH_TIMEOUT_MS = 5000 };

/* GET of path. address: of the daemon, as outgoing_open takes it. https: at a HOST:PORT, whatever its certificate, since one that
 * was renewed or has expired is no illness. timeout_ms: of the whole question. Returns 0 if the reply's status is 200; else -1 with
 * outgoing_open's errors, or ERROR_FILE (no reply in time, or another status). */
int health_ask(const char *address, const char *path, bool https, int timeout_ms, struct error *err);

#endif
