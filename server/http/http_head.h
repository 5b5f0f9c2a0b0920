/* The head of a request as libmicrohttpd took it, held against what was sent: whatever a proxy may read otherwise than it does is
 * refused (RFC 9112, 11.2). libmicrohttpd 0.9.75 ends fields at zero bytes and bare line feeds, joins folded lines to the name
 * before them, and takes a blank before a colon for a part of the name. Later versions refuse all that by themselves. */
#ifndef ALIGND_HTTP_HEAD_H
#define ALIGND_HTTP_HEAD_H

#include "server/api/api.h"

struct MHD_Connection;

enum { HEAD_MOST_ARGUMENTS = 100 };

/* What its first line tells. */
struct head_line {
    const char *version; /* where the version should stand; NULL: there was no URI */
    bool odd;            /* the URI has bytes that no URI has */
    bool crowded;        /* it leaves too little memory for its arguments */
    size_t arguments;
};

/* Upon MHD_OPTION_URI_LOG_CALLBACK: uri is as sent, and cut up next. Of too many arguments none is left to libmicrohttpd, which
 * would close the connection without a reply. */
void head_begin(struct head_line *line, const char *uri);

/* Once the head is whole, in the first call of the handler; method and version are that call's. line: NULL: not known. -1: the
 * reply is set, and the connection must close. */
int head_check(const struct head_line *line, struct MHD_Connection *connection, const char *method, const char *version,
               struct reply *reply);

/* Whether libmicrohttpd itself should be strict: MHD_OPTION_STRICT_FOR_CLIENT. */
int head_strictness(void);

#endif
