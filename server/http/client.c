/* This module hides how clients are identified by numbers. */
#include "server/http/client.h"
#include "server/http/headers.h"
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { ADDRESS_BYTES = INET6_ADDRSTRLEN + 8 /* with brackets and a port */ };

enum kind { KIND_NOWHERE, KIND_IPV4, KIND_IPV6, KIND_NAME };

/* The finalizer of splitmix64 (Steele et al. 2014): a bijection in which every bit affects all
 * others. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t identify(enum kind kind, uint64_t value) {
    return mix(value + mix((uint64_t)kind + 0x9e3779b97f4a7c15u));
}

static uint64_t client_of_ipv4(struct in_addr address) {
    return identify(KIND_IPV4, ntohl(address.s_addr));
}

static uint64_t client_of_ipv6(const struct in6_addr *address) {
    struct in_addr inner;
    uint64_t network = 0;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&inner, address->s6_addr + 12, sizeof inner);
        return client_of_ipv4(inner);
    }
    for (size_t i = 0; i < 8; i++)
        network = network << 8 | address->s6_addr[i];
    return identify(KIND_IPV6, network);
}

uint64_t client_of_peer(const struct sockaddr *address) {
    if (address && address->sa_family == AF_INET)
        return client_of_ipv4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address && address->sa_family == AF_INET6)
        return client_of_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return identify(KIND_NOWHERE, 0);
}

uint64_t client_of_name(const char *name, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return identify(KIND_NAME, hash);
}

uint64_t client_of_forwarded(const char *header) {
    const char *comma = strrchr(header, ','), *name = comma ? comma + 1 : header;
    name += strspn(name, " \t");
    size_t length = strlen(name);
    while (length > 0 && strchr(" \t", name[length - 1]))
        length--;

    char text[ADDRESS_BYTES], *address = text;
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (length >= sizeof text)
        return client_of_name(name, length);
    memcpy(text, name, length);
    text[length] = '\0';
    char *colon = strchr(text, ':');
    if (text[0] == '[') { /* [2001:db8::1]:80 */
        address++;
        text[strcspn(text, "]")] = '\0';
    } else if (colon && !strchr(colon + 1, ':')) { /* 192.0.2.1:80 */
        *colon = '\0';
    }
    if (inet_pton(AF_INET, address, &ipv4) == 1)
        return client_of_ipv4(ipv4);
    return inet_pton(AF_INET6, address, &ipv6) == 1 ? client_of_ipv6(&ipv6)
                                                    : client_of_name(name, length);
}

/* A client may send the header, too; the proxy's value follows it, in the same line or in another
 * header. */
uint64_t client_of_connection(struct MHD_Connection *connection, const char *header) {
    const char *sent = header ? headers_find_last(connection, header) : NULL;
    if (sent && *sent != '\0')
        return client_of_forwarded(sent);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return client_of_peer(info ? info->client_addr : NULL);
}
