/* This module compresses the body of a reply. */
#ifndef ALIGND_COMPRESS_H
#define ALIGND_COMPRESS_H

#include "server/api/api.h"

enum {
    COMPRESS_LEAST_BYTES = 1024, /* shorter replies fit into one or two packets anyway */
    COMPRESS_QUICK_BYTES =
        256 * 1024 /* takes about 3 ms, the limit for a thread that others wait for */
};

/* Returns true if the client accepts gzip. accept: its Accept-Encoding header; NULL: none, so that
 * it accepts only plain text. */
bool compress_is_accepted(const char *accept);
/* Returns true if the reply may be compressed for clients that accept gzip. */
bool compress_is_worthwhile(const struct reply *reply);
/* Compresses the body and sets reply->compressed, if the result is shorter and memory suffices;
 * otherwise does not change the reply. */
void compress_reply(struct reply *reply);

#endif
