/* "HOST:PORT" -> a listening socket. */
#ifndef ALIGND_LISTEN_H
#define ALIGND_LISTEN_H

#include "model/translator.h"
#include <stddef.h>

enum { LISTEN_ADDRESS_BYTES = 64 };

/* where: "127.0.0.1:8080", "[::1]:8080", "localhost:8080", ":8080" (every address); port 0: a free one. Returns the socket, and the
 * numeric address it is bound to. -1 with ERROR_INPUT (not an address) or ERROR_FILE (in use, not ours). */
int listen_open(const char *where, char address[LISTEN_ADDRESS_BYTES], struct error *err);

#endif
