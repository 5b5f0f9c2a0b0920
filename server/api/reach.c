#include "server/api/reach.h"
#include "server/api/reply.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

/* ---- hosts ---- */

/* Copies the name of a Host header without its port and brackets. Returns false if it is too long.
 */
static bool copy_name(const char *host, char name[HOST_BYTES]) {
    bool bracketed = *host == '[';
    host += bracketed;
    size_t length = strcspn(host, bracketed ? "]" : ":");
    if (length >= HOST_BYTES)
        return false;
    memcpy(name, host, length);
    name[length] = '\0';
    return true;
}

static bool is_address(const char *name) {
    struct in_addr ipv4;
    struct in6_addr ipv6;
    return inet_pton(AF_INET, name, &ipv4) == 1 || inet_pton(AF_INET6, name, &ipv6) == 1;
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), with = strlen(end);
    return length > with && strcasecmp(name + length - with, end) == 0;
}

/* True for this machine's name, and the one that it has in its own network. */
static bool is_this_machine(const char *name) {
    char own[HOST_BYTES] = "";
    if (gethostname(own, sizeof own - 1) != 0 || !*own)
        return false;
    size_t length = strlen(own);
    return strncasecmp(name, own, length) == 0 &&
           (name[length] == '\0' || strcasecmp(name + length, ".local") == 0);
}

static bool is_host(const struct service *service, const char *host) {
    const struct name_list *hosts = &service->options->hosts;
    char name[HOST_BYTES];
    if (name_list_has(hosts, "*") || !host || !*host)
        return true;
    if (!copy_name(host, name))
        return false;
    for (size_t i = 0; i < hosts->count; i++)
        if (strcasecmp(hosts->names[i], name) == 0)
            return true;
    return is_address(name) || strcasecmp(name, "localhost") == 0 ||
           ends_with(name, ".localhost") || is_this_machine(name);
}

/* ---- pages ---- */

/* True if the page is an extension's, which the user has installed. No web page has such an origin.
 */
static bool is_extension(const char *origin) {
    const char *scheme = origin ? strstr(origin, "-extension://") : NULL;
    return scheme && strspn(origin, "abcdefghijklmnopqrstuvwxyz-") >= (size_t)(scheme - origin);
}

/* True if a browser says that a page of another site sends the request. "none" means the user, by
 * the address bar or a bookmark. */
static bool is_of_another_page(const struct service *service, const struct visit *visit) {
    const char *authority = visit->origin ? strstr(visit->origin, "://") : NULL;
    if (visit->site &&
        (strcmp(visit->site, "same-origin") == 0 || strcmp(visit->site, "none") == 0))
        return false;
    if (!visit->site && (!visit->origin ||
                         (authority && visit->host && strcasecmp(authority + 3, visit->host) == 0)))
        return false;
    return !(visit->origin && name_list_has(&service->options->cors, visit->origin)) &&
           !is_extension(visit->origin);
}

/* True for a link that the user follows: the page that has it cannot read what is shown. */
static bool is_link(const struct visit *visit) {
    return strcmp(visit->method, "GET") == 0 && visit->mode &&
           strcmp(visit->mode, "navigate") == 0 && visit->dest &&
           strcmp(visit->dest, "document") == 0;
}

int reach_check(const struct service *service, const struct route *route, const struct visit *visit,
                struct reply *reply) {
    char message[REPLY_MESSAGE_BYTES];
    bool open =
        !service->keys && !service->options->client_header && visit->loopback && !visit->secure;
    if (open && !is_host(service, visit->host)) {
        snprintf(message, sizeof message,
                 "the Host must be localhost, an address, or a name given with --host NAME, got "
                 "\"%.100s\"",
                 visit->host);
        return reply_fail_coded(reply, STATUS_MISDIRECTED, "misdirected", "Host", message);
    }
    bool asks_first = strcmp(visit->method, "OPTIONS") == 0;
    if (route && route->pages == PAGES_OWN && !asks_first && !is_link(visit) &&
        is_of_another_page(service, visit))
        return reply_fail_coded(
            reply, STATUS_FORBIDDEN, "cross_site", NULL,
            "a page of another site may not do this; --cors ORIGIN names pages that may");
    return 0;
}

/* The types that a page may send without a preflight (Fetch standard, "CORS-safelisted
 * request-header"). */
bool reach_may_fetch(const struct service *service, const struct visit *visit) {
    static const char *const simple[] = {"application/x-www-form-urlencoded", "multipart/form-data",
                                         "text/plain"};
    size_t length = visit->content_type ? strcspn(visit->content_type, "; \t") : 0;
    bool asked_first = visit->keyed || length > 0;
    for (size_t i = 0; i < sizeof simple / sizeof *simple && !visit->keyed; i++)
        asked_first &=
            length != strlen(simple[i]) || strncasecmp(visit->content_type, simple[i], length) != 0;
    return strcmp(visit->method, "POST") == 0 &&
           (asked_first || !is_of_another_page(service, visit));
}
