/* A request's body, as it comes in. */
#ifndef ALIGND_HTTP_BODY_H
#define ALIGND_HTTP_BODY_H

#include <stddef.h>

struct body {
    char *bytes; /* [length] */
    size_t length, capacity;
    size_t discarded; /* > 0: it is over the limit, and no longer kept */
};

/* Appends, unless the body gets longer than the limit: what is beyond is read and thrown away, since a client that is still sending
 * when the connection closes may never see the reply. -1 when it sends without end or memory is out: the connection should close.
 */
int body_append(struct body *body, const char *bytes, size_t count, size_t limit);
void body_done(struct body *body); /* may be called again */

#endif
