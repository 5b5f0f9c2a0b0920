/* Replies as gzip, for clients that take it. */
#ifndef ALIGND_HTTP_COMPRESS_H
#define ALIGND_HTTP_COMPRESS_H

#include "server/api/api.h"

enum {
    COMPRESS_LEAST_BYTES = 1024,      /* shorter ones fit into a packet or two as they are */
    COMPRESS_QUICK_BYTES = 256 * 1024 /* about 3 ms: no more on a thread that has others waiting */
};

/* accept: the header Accept-Encoding; NULL: none, and nothing but the text itself is taken. */
bool compress_is_accepted(const char *accept);
/* Whether it may come compressed, to those who take that. */
bool compress_is_worthwhile(const struct reply *reply);
/* Makes the body gzip, and says so (reply->compressed), if it is shorter so and there is memory for it; otherwise it stays. */
void compress_reply(struct reply *reply);

#endif
