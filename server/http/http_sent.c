#include "server/http/http_sent.h"
#include "server/http/client.h"
#include <ctype.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

const char *sent_header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool usable_id(const char *id) {
    size_t length = id ? strlen(id) : 0;
    if (length == 0 || length >= SENT_ID_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (id[i] < '!' || id[i] > '~')
            return false;
    }
    return true;
}

bool sent_id(struct MHD_Connection *connection, char id[SENT_ID_BYTES]) {
    const char *sent = sent_header(connection, "X-Request-Id");
    if (!usable_id(sent))
        return false;
    strcpy(id, sent);
    return true;
}

/* VERSION-TRACE-PARENT-FLAGS; ids of zeros are none. */
static bool usable_trace(const char *trace) {
    static const char pattern[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    _Static_assert(sizeof pattern == SENT_TRACE_BYTES, "the header's only length");
    if (!trace || strlen(trace) != sizeof pattern - 1)
        return false;
    for (size_t i = 0; pattern[i]; i++) {
        if (pattern[i] == 'h' ? !strchr("0123456789abcdef", trace[i]) : trace[i] != pattern[i])
            return false;
    }
    return strspn(trace + SENT_TRACE_ID, "0") < SENT_TRACE_ID_LENGTH &&
           strspn(trace + SENT_TRACE_ID + SENT_TRACE_ID_LENGTH + 1, "0") < 16;
}

bool sent_trace(struct MHD_Connection *connection, char trace[SENT_TRACE_BYTES]) {
    const char *sent = sent_header(connection, "traceparent");
    bool usable = usable_trace(sent);
    strcpy(trace, usable ? sent : "");
    return usable;
}

struct lookup {
    const char *name, *value; /* value: of the last one */
    size_t count;
};

static enum MHD_Result sent_note(void *closure, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct lookup *lookup = closure;
    if (strcasecmp(name, lookup->name) == 0) {
        lookup->value = value;
        lookup->count++;
    }
    return MHD_YES;
}

static struct lookup look_up(struct MHD_Connection *connection, const char *name) {
    struct lookup lookup = {.name = name};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, sent_note, &lookup);
    return lookup;
}

int sent_length(struct MHD_Connection *connection, struct reply *reply) {
    struct lookup length = look_up(connection, "Content-Length"), encoding = look_up(connection, "Transfer-Encoding");
    const char *what = NULL;
    if (length.count + encoding.count > 1)
        what = encoding.count > 0 ? "Transfer-Encoding" : "Content-Length";
    else if (encoding.count > 0 && (!encoding.value || strcasecmp(encoding.value, "chunked") != 0))
        what = "Transfer-Encoding";
    if (!what)
        return 0;
    api_fail(reply, STATUS_INVALID, what, "the body must have either one Content-Length or Transfer-Encoding: chunked");
    reply->close = true;
    return -1;
}

int sent_as_it_is(struct MHD_Connection *connection, struct reply *reply) {
    static const char name[] = "Content-Encoding";
    struct lookup encoding = look_up(connection, name);
    if (encoding.count == 0 || (encoding.count == 1 && encoding.value && strcasecmp(encoding.value, "identity") == 0))
        return 0;
    api_fail(reply, STATUS_MEDIA_TYPE, name, "the body must be sent without %s, got \"%.60s\"", name,
             encoding.value ? encoding.value : "");
    return -1;
}

/* A client may send the header, too: the proxy's comes behind it, in the same line or in one of its own. */
uint64_t sent_client(struct MHD_Connection *connection, const char *header) {
    struct lookup sent = {0};
    if (header)
        sent = look_up(connection, header);
    if (sent.value && *sent.value != '\0')
        return client_of_forwarded(sent.value);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return client_of_peer(info ? info->client_addr : NULL);
}

int sent_priority(struct MHD_Connection *connection, enum priority *priority, struct reply *reply) {
    static const char name[] = "X-Priority";
    const char *sent = sent_header(connection, name);
    *priority = PRIORITY_INTERACTIVE;
    if (!sent || priority_find(sent, priority) == 0)
        return 0;
    api_fail(reply, STATUS_INVALID, name, "%s must be interactive or batch, got \"%.60s\"", name, sent);
    return -1;
}

int sent_deadline(struct MHD_Connection *connection, size_t most_ms, size_t *deadline_ms, struct reply *reply) {
    static const char name[] = "X-Deadline-Ms";
    const char *sent = sent_header(connection, name);
    *deadline_ms = most_ms;
    if (!sent)
        return 0;
    char *end;
    unsigned long long number = strtoull(sent, &end, 10); /* what is too large for it is ULLONG_MAX: all there is */
    if (isdigit((unsigned char)sent[0]) && *end == '\0' && number >= 1) {
        *deadline_ms = number < most_ms ? (size_t)number : most_ms;
        return 0;
    }
    api_fail(reply, STATUS_INVALID, name, "%s must be a whole number of milliseconds, at least 1, got \"%.60s\"", name, sent);
    return -1;
}
