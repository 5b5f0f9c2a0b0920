/* This module has the workarounds that only libmicrohttpd before 1.0 needs. With a later version,
 * which refuses malformed heads itself, they do nothing. The library may be newer at run time than
 * at compile time. All are called on the connection's thread. */
#ifndef ALIGND_OLD_LIBRARY_H
#define ALIGND_OLD_LIBRARY_H

#include <microhttpd.h>
#include <stdbool.h>

struct reply;

#if MHD_VERSION < 0x01000000

/* Returns whether the library splits heads as 0.9.75 does, so that the lines of a head can be
 * compared with the bytes that were sent. It must not be in strict mode then. */
bool old_library_splits_in_place(void);
/* Returns whether each field of the head is a single line NAME: VALUE without control characters.
 */
bool old_library_fields_are_clean(struct MHD_Connection *connection, const char *method,
                                  const char *version);
/* Returns whether the library skipped spaces between the URI and the version, which should begin
 * where expected points. */
bool old_library_skips_spaces(const char *expected, const char *version);
/* Writes a reply of the library to a request with a Content-Length, past the library. Returns false
 * if the library can send it. */
bool old_library_send_past(struct MHD_Connection *connection, const struct reply *reply);

#else

static inline bool old_library_splits_in_place(void) {
    return false;
}

static inline bool old_library_fields_are_clean(struct MHD_Connection *connection,
                                                const char *method, const char *version) {
    (void)connection, (void)method, (void)version;
    return true;
}

static inline bool old_library_skips_spaces(const char *expected, const char *version) {
    (void)expected, (void)version;
    return false;
}

static inline bool old_library_send_past(struct MHD_Connection *connection,
                                         const struct reply *reply) {
    (void)connection, (void)reply;
    return false;
}

#endif

#endif
