/* This module decides which requests reach an endpoint at all: by the name that they call this
 * machine, and by the web page that sent them. The keys of endpoints are in keys.h.
 *
 * A browser sends requests to this machine for any page that its user visits. So a page of another
 * site may translate, align, detect and list languages, but neither change anything nor read what
 * clients have stored; --cors names pages that may. And a page may give its own name the address of
 * this machine (DNS rebinding), so that the browser takes both for one site. So over loopback,
 * without keys, the Host must be an address, localhost, this machine's name, or a name of --host.
 */
#ifndef ALIGND_REACH_H
#define ALIGND_REACH_H

#include "server/api/api.h"

/* The headers of a request that show where it comes from; those that were not sent are NULL. */
struct visit {
    const char *method;
    const char *host, *origin, *content_type;
    const char *site, *mode, *dest; /* Sec-Fetch-Site, Sec-Fetch-Mode, Sec-Fetch-Dest */
    bool loopback;                  /* a TCP connection from this machine */
    bool secure;                    /* it speaks TLS, so that the browser has verified the name */
    bool keyed; /* it has a header for a key, which no page sends unless a preflight allows it */
};

/* Returns -1 after setting the reply: 421 for another host, 403 for another page. route NULL: the
 * path does not exist. */
int reach_check(const struct service *service, const struct route *route, const struct visit *visit,
                struct reply *reply);
/* Returns true if the request may start a download: no page could have sent it without the consent
 * of its user's browser, which asks with a preflight, or it does not come from another page. */
bool reach_may_fetch(const struct service *service, const struct visit *visit);

#endif
