#include "server/http/client.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

enum kind { KIND_NOWHERE, KIND_IPV4, KIND_IPV6, KIND_NAME };
enum { ADDRESS_BYTES = INET6_ADDRSTRLEN + 8 }; /* with brackets and a port */

/* The finalizer of splitmix64 (Steele et al. 2014): one to one, and every bit counts in all others. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t identify(enum kind kind, uint64_t value) {
    return mix(value + mix((uint64_t)kind + 0x9e3779b97f4a7c15u));
}

static uint64_t client_of_ipv4(const struct in_addr *address) {
    return identify(KIND_IPV4, ntohl(address->s_addr));
}

static uint64_t client_of_ipv6(const struct in6_addr *address) {
    struct in_addr inner;
    uint64_t network = 0;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&inner, address->s6_addr + 12, sizeof inner);
        return client_of_ipv4(&inner);
    }
    for (size_t i = 0; i < 8; i++)
        network = network << 8 | address->s6_addr[i];
    return identify(KIND_IPV6, network);
}

uint64_t client_of_peer(const struct sockaddr *address) {
    if (address && address->sa_family == AF_INET)
        return client_of_ipv4(&((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address && address->sa_family == AF_INET6)
        return client_of_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return identify(KIND_NOWHERE, 0);
}

/* FNV-1a. */
uint64_t client_of_name(const char *name, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return identify(KIND_NAME, hash);
}

/* "[2001:db8::1]:80" -> "2001:db8::1", "192.0.2.1:80" -> "192.0.2.1": in place. */
static const char *without_port(char *text) {
    char *colon = strchr(text, ':');
    if (text[0] == '[') {
        text[strcspn(text, "]")] = '\0';
        return text + 1;
    }
    if (colon && !strchr(colon + 1, ':'))
        *colon = '\0';
    return text;
}

static bool read_address(const char *name, size_t length, uint64_t *client) {
    char text[ADDRESS_BYTES];
    struct in_addr ipv4;
    struct in6_addr ipv6;
    if (length >= sizeof text)
        return false;
    memcpy(text, name, length);
    text[length] = '\0';
    const char *address = without_port(text);
    if (inet_pton(AF_INET, address, &ipv4) == 1)
        *client = client_of_ipv4(&ipv4);
    else if (inet_pton(AF_INET6, address, &ipv6) == 1)
        *client = client_of_ipv6(&ipv6);
    else
        return false;
    return true;
}

uint64_t client_of_forwarded(const char *header) {
    const char *comma = strrchr(header, ','), *name = comma ? comma + 1 : header;
    uint64_t client;
    name += strspn(name, " \t");
    size_t length = strlen(name);
    while (length > 0 && strchr(" \t", name[length - 1]))
        length--;
    return read_address(name, length, &client) ? client : client_of_name(name, length);
}
