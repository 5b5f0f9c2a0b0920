/* For fairness and rates, a client is a number (a hash) that is the same for all its requests and,
 * with high probability, differs from those of all others and from 0. Nothing is stored. */
#ifndef ALIGND_CLIENT_H
#define ALIGND_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;
struct sockaddr;

/* A client is an IPv4 address or an IPv6 network of 64 bits, since one host may use any address in
 * it. An IPv4 address mapped to IPv6 counts as that IPv4 address. All peers of Unix sockets, and
 * unknown ones (NULL), are one client. */
uint64_t client_of_peer(const struct sockaddr *address);
/* name: [length], an API key's name or anything else that identifies a client. */
uint64_t client_of_name(const char *name, size_t length);
/* Reads a header such as X-Forwarded-For: the nearest proxy appends the part after the last comma.
 * An address, with or without a port, is the same client as that peer; anything else is a name. */
uint64_t client_of_forwarded(const char *header);
/* Returns the client that sends the request of a connection. If a proxy is trusted, the last header
 * of this name identifies it, or else the peer does. header NULL: no proxy is trusted. */
uint64_t client_of_connection(struct MHD_Connection *connection, const char *header);

#endif
