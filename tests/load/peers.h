/* Misbehaving clients. Each returns how many there were; `wrong` counts answers that no such client
 * may get: a 2xx, or a 5xx. */
#ifndef ALIGND_TESTS_LOAD_PEERS_H
#define ALIGND_TESTS_LOAD_PEERS_H

#include "tests/load/server.h"

/* Connects, sends nothing, stays for so many seconds. */
long peers_silent(const struct server *server, long count, double seconds);
/* Sends a part of a request, of head or body; half of them then say that nothing follows, the
 * others keep quiet. All reset the connection after so many seconds. */
long peers_half_open(const struct server *server, long count, double seconds);
long peers_random_bytes(const struct server *server, long count, long *wrong);
/* A body of each length from 0 to its own less 1, in a head that promises all of it. */
long peers_truncated(const struct server *server, long *wrong);
/* Nested arrays, objects and both, closed or not. */
long peers_deep_json(const struct server *server, long *wrong);

#endif
