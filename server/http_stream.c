#include "server/http_stream.h"
#include "server/events.h"
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024 };

struct stream {
    struct MHD_Connection *connection;
    struct api_stream events;
    size_t sent; /* of the event in hand */
};

static void park(void *owner) {
    struct stream *stream = owner;
    MHD_suspend_connection(stream->connection);
}

static void wake(void *owner) {
    struct stream *stream = owner;
    MHD_resume_connection(stream->connection);
}

struct stream *stream_open(struct MHD_Connection *connection, struct request *request, const struct reply *reply) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->connection = connection;
    if (events_follow(request, &(struct events_reader){park, wake, stream}) == 0 &&
        api_stream_init(&stream->events, request, reply) == 0)
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

static size_t copy(struct stream *stream, char *buffer, size_t room) {
    size_t left = stream->events.length - stream->sent, count = left < room ? left : room;
    if (count > 0)
        memcpy(buffer, stream->events.text + stream->sent, count);
    stream->sent += count;
    return count;
}

/* As many events as there are and fit. -1: memory is out. */
static ssize_t fill(struct stream *stream, char *buffer, size_t room) {
    size_t filled = 0;
    for (;;) {
        filled += copy(stream, buffer + filled, room - filled);
        if (filled == room || stream->events.over)
            return (ssize_t)filled;
        stream->sent = 0;
        int next = api_stream_next(&stream->events);
        if (next <= 0)
            return next < 0 ? -1 : (ssize_t)filled;
    }
}

static ssize_t read_stream(void *closure, uint64_t position, char *buffer, size_t room) {
    (void)position;
    struct stream *stream = closure;
    for (;;) {
        ssize_t filled = fill(stream, buffer, room);
        if (filled > 0)
            return filled;
        if (filled < 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->events.over)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (events_park(stream->events.request->events))
            return 0; /* asked again once resumed */
    }
}

struct MHD_Response *stream_response(struct stream *stream) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream, NULL);
}
