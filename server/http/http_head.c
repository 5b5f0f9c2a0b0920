#include "server/http/http_head.h"
#include <ctype.h>
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>

/* Of the 32 KiB that libmicrohttpd has for a connection: what an argument takes, and what the rest of the head needs at least. */
enum { CONNECTION_BYTES = 32 * 1024, ARGUMENT_BYTES = 64, OTHER_BYTES = 4096 };

/* ---- the first line ---- */

static size_t count_arguments(const char *query) {
    size_t count = 0;
    for (const char *at = query, *next; at && *at; at = next ? next + 1 : NULL) {
        next = strchr(at, '&');
        count++;
    }
    return count;
}

void head_begin(struct head_line *line, const char *uri) {
    *line = (struct head_line){0};
    if (!uri)
        return;
    char *query = strchr(uri, '?');
    size_t length = strlen(uri);
    line->version = uri + length + 1;
    for (const char *c = uri; *c; c++)
        line->odd |= (unsigned char)*c <= ' ' || *c == 0x7f;
    line->arguments = count_arguments(query ? query + 1 : NULL);
    line->crowded = length + ARGUMENT_BYTES * line->arguments > CONNECTION_BYTES - OTHER_BYTES;
    if (query && (line->arguments > HEAD_MOST_ARGUMENTS || line->crowded))
        query[1] = '\0';
}

#define refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

static int check_line(const struct head_line *line, const char *version, struct reply *reply) {
    if (line->odd || line->version != version)
        return refuse(reply, NULL, "the request line must be METHOD URI HTTP/1.1, with no spaces or control characters in the URI");
    if (line->arguments > HEAD_MOST_ARGUMENTS)
        return refuse(reply, NULL, "the query string must have at most %d fields, got %zu", HEAD_MOST_ARGUMENTS, line->arguments);
    if (line->crowded)
        return refuse(reply, NULL, "the query string is too long");
    return 0;
}

/* ---- the other lines ---- */

/* libmicrohttpd cuts the head up where it stands: zero bytes instead of colons and of both bytes of line ends. */
struct walk {
    const char *at, *end; /* the next line, and what follows the head; at NULL: they are not looked at */
    bool clean;
    size_t hosts, encodings;
};

static bool is_token(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !(name[i] && strchr("!#$%&'*+-.^_`|~", name[i])))
            return false;
    }
    return length > 0;
}

static bool is_value(const char *value, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
            return false;
    }
    return true;
}

/* The line is where the one before it ended, and holds this field and nothing else. */
static bool stands_here(const struct walk *walk, const char *name, size_t name_length, const char *value, size_t length) {
    if (name != walk->at)
        return false;
    const char *behind = name + name_length + 1;
    behind += strspn(behind, " \t");
    return value == behind && walk->end - value >= (ptrdiff_t)length + 4 && value[length] == '\0' && value[length + 1] == '\0';
}

static enum MHD_Result head_note(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value,
                                 size_t length) {
    (void)kind;
    struct walk *walk = closure;
    bool here = !walk->at || stands_here(walk, name, name_length, value, length);
    walk->clean = walk->clean && here && is_token(name, name_length) && is_value(value, length);
    if (walk->at && walk->clean)
        walk->at = value + length + 2;
    walk->hosts += strcasecmp(name, "Host") == 0;
    walk->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Later versions may keep heads otherwise. */
static bool cuts_in_place(void) {
    return strverscmp(MHD_get_version(), "0.9.76") < 0;
}

int head_strictness(void) {
    return cuts_in_place() ? 0 : 1;
}

static struct walk walk_fields(struct MHD_Connection *connection, const char *method, const char *version) {
    struct walk walk = {.clean = true};
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    bool in_place = info && cuts_in_place();
    if (in_place) {
        walk.at = version + strlen(version) + 2;
        walk.end = method + info->header_size;
    }
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, head_note, &walk);
    walk.clean = walk.clean && (!in_place || walk.end - walk.at == 2);
    return walk;
}

static int check_fields(const struct walk *walk, const char *version, struct reply *reply) {
    bool old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    if (!walk->clean)
        return refuse(reply, NULL, "each header must be a single line NAME: VALUE without control characters");
    if (walk->hosts > 1 || (walk->hosts == 0 && !old))
        return refuse(reply, "Host", "there must be exactly one Host header, got %zu", walk->hosts);
    if (old && walk->encodings > 0)
        return refuse(reply, "Transfer-Encoding", "HTTP/1.0 does not support Transfer-Encoding");
    return 0;
}

int head_check(const struct head_line *line, struct MHD_Connection *connection, const char *method, const char *version,
               struct reply *reply) {
    struct walk walk = walk_fields(connection, method, version);
    if ((!line || check_line(line, version, reply) == 0) && check_fields(&walk, version, reply) == 0)
        return 0;
    reply->close = true;
    return -1;
}
