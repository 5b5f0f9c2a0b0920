#include "server/http/body.h"
#include "server/api/form.h"
#include "server/decode/events.h"
#include "server/http/guard.h"
#include <ctype.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define ZLIB_CONST /* next_in is not written to */
#include <zlib.h>

/* DISCARD_FACTOR: at most this many times the limit is read and discarded. GZIP_WINDOW: + 16 makes zlib write gzip's header. */
enum { FIRST_BYTES = 4096, DISCARD_FACTOR = 16, BLOCK_BYTES = 16 * 1024, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

/* ---- a request's body ---- */

size_t body_room(const struct body *body, size_t count) {
    size_t capacity = body->capacity ? body->capacity : FIRST_BYTES;
    while (capacity - body->length < count)
        capacity *= 2;
    return capacity;
}

int body_append(struct body *body, const char *bytes, size_t count) {
    if (count > body->capacity - body->length) {
        size_t capacity = body_room(body, count);
        char *grown = realloc(body->bytes, capacity);
        if (!grown)
            return -1;
        body->bytes = grown;
        body->capacity = capacity;
    }
    memcpy(body->bytes + body->length, bytes, count);
    body->length += count;
    return 0;
}

int body_discard(struct body *body, size_t count, size_t limit) {
    body->discarded += count;
    return body->discarded / DISCARD_FACTOR > limit ? -1 : 0;
}

void body_done(struct body *body) {
    free(body->bytes);
    *body = (struct body){.discarded = body->discarded};
}

/* Adds the query string's fields. */
struct arguments {
    struct arena *arena;
    struct api_field *all; /* [GUARD_ARGUMENTS] */
    size_t count;
};

static enum MHD_Result take_argument(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                     const char *value, size_t length) {
    (void)kind;
    struct arguments *arguments = closure;
    if (arguments->count == GUARD_ARGUMENTS)
        return MHD_NO; /* the guard refuses requests with more */
    arguments->all[arguments->count++] =
        (struct api_field){.name = arena_copy(arguments->arena, name, name_length),
                           .value = arena_copy(arguments->arena, value ? value : "", value ? length : 0),
                           .length = value ? length : 0};
    return arena_failed(arguments->arena) ? MHD_NO : MHD_YES;
}

int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call, struct reply *reply) {
    struct error err = {0};
    struct form_fields form = {.arena = arena};
    call->form = !api_is_blank(call) && !api_begins_json(call) && form_is(call->content_type);
    if (call->form && form_parse(&form, call->content_type, call->body, call->length, &err) != 0) {
        if (err.code == ERROR_MEMORY)
            api_fail_memory(reply);
        else
            api_fail(reply, STATUS_INVALID, NULL, "%s", err.message);
        return -1;
    }
    struct api_field *fields = arena_alloc(arena, form.count + GUARD_ARGUMENTS, sizeof *fields);
    struct arguments arguments = {.arena = arena, .all = fields ? fields + form.count : NULL};
    if (fields) {
        memcpy(fields, form.all, form.count * sizeof *fields);
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_argument, &arguments);
    }
    if (arena_failed(arena)) {
        api_fail_memory(reply);
        return -1;
    }
    call->fields = fields;
    call->field_count = form.count + arguments.count;
    return 0;
}

/* ---- a reply's body as gzip ---- */

/* "q=0" or "q=0.000": the client does not accept it. */
static bool is_refused(const char *parameters, size_t length) {
    const char *end = parameters + length;
    for (const char *at = parameters; at < end; at++) {
        if (tolower((unsigned char)*at) == 'q' && at + 1 < end && at[1] == '=') {
            at += 2;
            while (at < end && strchr("0.", *at))
                at++;
            return at == end || !isdigit((unsigned char)*at);
        }
    }
    return false;
}

/* Elements are separated by ',', and parameters follow a ';'. An element that names gzip takes precedence over "*". */
bool compress_is_accepted(const char *accept) {
    bool any = false;
    for (const char *at = accept; at && *at;) {
        size_t length = strcspn(at, ","), blank = strspn(at, " \t");
        const char *end = at + length, *name = at + (blank < length ? blank : length);
        size_t bytes = strcspn(name, " \t;,");
        bool refused = is_refused(name + bytes, (size_t)(end - name) - bytes);
        if (bytes == 4 && strncasecmp(name, "gzip", bytes) == 0)
            return !refused;
        any |= bytes == 1 && *name == '*' && !refused;
        at = end + (*end == ',');
    }
    return any;
}

bool compress_is_worthwhile(const struct reply *reply) {
    return !reply->streamed && reply->length >= COMPRESS_LEAST_BYTES && reply->length <= UINT_MAX;
}

/* Uses the fastest level, which shrinks JSON to a fifth. */
void compress_reply(struct reply *reply) {
    char *out = malloc(reply->length);
    z_stream stream = {.next_in = (const Bytef *)reply->body,
                       .avail_in = (uInt)reply->length,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)(reply->length - 1)};
    size_t length = 0;
    if (out && deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK) {
        length = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
        deflateEnd(&stream);
    }
    char *fitted = length > 0 ? realloc(out, length) : NULL;
    if (!fitted) {
        free(out);
        return;
    }
    free(reply->body);
    reply->body = fitted;
    reply->length = length;
    reply->compressed = true;
}

/* ---- a reply as a stream of events ---- */

/* The state of an event that a chore writes: no event, written, or the chore must be started. */
enum fetched { NOT_FETCHED, FETCHED, TO_FETCH };

struct stream {
    struct MHD_Connection *connection;
    struct api_stream events;
    size_t sent;           /* of the current event */
    struct chores *chores; /* write the events; NULL: events are small */
    struct chore chore;
    enum fetched fetched;
    int result; /* for the current event: the result of api_stream_next */
};

static void suspend_stream(void *owner) {
    struct stream *stream = owner;
    MHD_suspend_connection(stream->connection);
}

static void resume_stream(void *owner) {
    struct stream *stream = owner;
    MHD_resume_connection(stream->connection);
}

struct stream *stream_open(struct MHD_Connection *connection, struct request *request, struct reply *reply, size_t most,
                           struct chores *chores) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->connection = connection;
    stream->chores = api_is_large(request) ? chores : NULL;
    if (events_follow(request, &(struct events_reader){suspend_stream, resume_stream, stream}) == 0 &&
        api_stream_init(&stream->events, request, reply, most) == 0)
        return stream;
    stream_free(stream);
    return NULL;
}

void stream_free(struct stream *stream) {
    if (!stream)
        return;
    api_stream_done(&stream->events);
    free(stream);
}

/* The chore that writes an event. The previous event has been sent completely; the new one is not current yet. */
static void run_fetch(void *owner) {
    struct stream *stream = owner;
    stream->result = api_stream_next(&stream->events);
    stream->sent = stream->events.length;
    stream->fetched = FETCHED;
    MHD_resume_connection(stream->connection);
}

/* Fills the buffer with as many available events as fit; returns the number of bytes, or -1 if memory is out. */
static ssize_t stream_fill(struct stream *stream, char *buffer, size_t room) {
    for (size_t filled = 0;;) {
        size_t left = stream->events.length - stream->sent, count = left < room - filled ? left : room - filled;
        if (count > 0)
            memcpy(buffer + filled, stream->events.text + stream->sent, count);
        stream->sent += count;
        filled += count;
        bool fetched = stream->fetched == FETCHED;
        if (filled == room || (stream->events.over && !fetched))
            return (ssize_t)filled;

        int next = 0;
        if (!stream->chores) {
            stream->sent = 0;
            next = api_stream_next(&stream->events);
        } else if (fetched) {
            stream->sent = 0;
            next = stream->result;
            stream->fetched = NOT_FETCHED;
        } else {
            stream->fetched = TO_FETCH;
        }
        if (next <= 0)
            return next < 0 ? -1 : (ssize_t)filled;
    }
}

static ssize_t read_stream(void *closure, uint64_t position, char *buffer, size_t room) {
    (void)position;
    struct stream *stream = closure;
    for (;;) {
        ssize_t filled = stream_fill(stream, buffer, room);
        if (filled > 0)
            return filled;
        if (filled < 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->events.over)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->fetched == TO_FETCH) {
            stream->chore = (struct chore){
                .request = stream->events.request, .kind = CHORE_RENDERING, .large = true, .run = run_fetch, .owner = stream};
            stream->fetched = NOT_FETCHED;
            MHD_suspend_connection(stream->connection);
            chores_submit(stream->chores, &stream->chore);
        } else if (!events_park(stream->events.request->events)) {
            continue;
        }
        return 0; /* libmicrohttpd calls this again once the connection is resumed */
    }
}

struct MHD_Response *stream_response(struct stream *stream) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream, NULL);
}
