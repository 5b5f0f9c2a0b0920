/* Who sends a request, as far as fairness and rates are concerned: a number that is the same for all that one client sends and, but
 * for chance, for nobody else. Nothing is kept. */
#ifndef ALIGND_CLIENT_H
#define ALIGND_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct sockaddr;

/* An IPv4 address is a client, as is a network of 64 bits in IPv6, of which one host may have any address; an IPv4 address within
 * IPv6 is that address. All that come over a Unix socket, or from nowhere known (NULL), are one client. */
uint64_t client_of_peer(const struct sockaddr *address);

/* Of a name [length] bytes: an API key's, or whatever tells clients apart. */
uint64_t client_of_name(const char *name, size_t length);

/* Of a header that a trusted proxy sets, such as X-Forwarded-For: what stands behind the last comma, which is what the nearest
 * proxy saw. An address, with or without a port, is the same client as that peer; anything else is a name. */
uint64_t client_of_forwarded(const char *header);

#endif
