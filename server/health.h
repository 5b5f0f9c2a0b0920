/* `alignd health`: asks a running daemon how it is, for health checks of containers that have no curl. */
#ifndef ALIGND_HEALTH_H
#define ALIGND_HEALTH_H

#include "model/translator.h"

enum { HEALTH_TIMEOUT_MS = 5000 };

/* GET of path, in plain HTTP. address: as --listen takes it, HOST:PORT or unix:PATH; of several with ',' between them the first; no
 * host, or one that stands for every address, means this machine. timeout_ms: of the whole question. Returns 0 if the reply's
 * status is 200; else -1 with ERROR_INPUT (not an address) or ERROR_FILE (no connection, no reply in time, or another status). */
int health_ask(const char *address, const char *path, int timeout_ms, struct error *err);

#endif
