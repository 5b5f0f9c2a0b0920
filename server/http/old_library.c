/* This module hides what libmicrohttpd before 1.0 gets wrong (Debian 12 has 0.9.75): it accepts
 * heads that a proxy may read differently, and repeats a reply of its own. The Makefile leaves this
 * file out where the library is newer. */
#include "server/http/old_library.h"
#include "server/api/api.h"
#include "server/http/passage.h"
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { REPLY_BYTES = 1024 };

/* ---- heads ---- */

struct walk {
    const char *at, *end; /* the expected beginning of the next line, and the end of the head; NULL:
                             lines are not compared */
    bool clean;
};

/* 0.9.75 ends fields at zero bytes and bare line feeds, joins folded lines to the name before them,
 * and counts a blank before a colon as a part of the name. It splits the head in place and replaces
 * colons and both bytes of line ends by zero bytes, so the fields can be compared with the bytes
 * that were sent. From 0.9.76 on, libmicrohttpd refuses all this in strict mode. */
bool old_library_splits_in_place(void) {
    return strverscmp(MHD_get_version(), "0.9.76") < 0;
}

/* Checks that the field's line begins where the last one ended and contains nothing else. */
static enum MHD_Result note_field(void *closure, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t length) {
    (void)kind;
    struct walk *walk = closure;
    const char *after = name + name_length + 1;
    walk->clean = walk->clean && name_length > 0;
    if (walk->at)
        walk->clean = walk->clean && name == walk->at && value == after + strspn(after, " \t") &&
                      walk->end - value >= (ptrdiff_t)length + 4 && value[length] == '\0' &&
                      value[length + 1] == '\0';
    for (size_t i = 0; walk->clean && i < name_length; i++)
        walk->clean =
            isalnum((unsigned char)name[i]) || (name[i] && strchr("!#$%&'*+-.^_`|~", name[i]));
    for (size_t i = 0; walk->clean && i < length; i++)
        walk->clean = ((unsigned char)value[i] >= ' ' || value[i] == '\t') && value[i] != 0x7f;
    if (walk->at && walk->clean)
        walk->at = value + length + 2;
    return MHD_YES;
}

bool old_library_fields_are_clean(struct MHD_Connection *connection, const char *method,
                                  const char *version) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct walk walk = {.clean = true};
    if (info && old_library_splits_in_place()) {
        walk.at = version + strlen(version) + 2;
        walk.end = method + info->header_size;
    }
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_field, &walk);
    return walk.clean && (!walk.end || walk.end - walk.at == 2);
}

bool old_library_skips_spaces(const char *expected, const char *version) {
    return expected != version;
}

/* ---- a reply of the library ---- */

/* 0.9.75 continues after it has refused a Content-Length and begins the same reply again. So the
 * reply is written directly to the socket, and the library then closes the connection. An HTTPS
 * connection is closed without a reply. 0.9.76 does not need this. */
bool old_library_send_past(struct MHD_Connection *connection, const struct reply *reply) {
    char text[REPLY_BYTES];
    if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding"))
        return false;
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
        return true;
    int length = snprintf(
        text, sizeof text,
        "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
        reply->status, MHD_get_reason_phrase_for(reply->status), reply->content_type, reply->length,
        reply->body);
    const struct passage passage = passage_of(connection);
    if (length > 0 && (size_t)length < sizeof text)
        passage_send(&passage, text, (size_t)length);
    return true;
}
