#include "server/http/http_stream.h"
#include "server/decode/events.h"
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024 };

/* Of an event that is a chore: none, there it is, or the chore is to be begun. */
enum fetched { NOT_FETCHED, FETCHED, TO_FETCH };

struct stream {
    struct MHD_Connection *connection;
    struct api_stream events;
    size_t sent;           /* of the event in hand */
    struct chores *chores; /* that write the events; NULL: they are small */
    struct chore chore;
    enum fetched fetched;
    int result; /* of the event fetched: as of api_stream_next */
};

static void park(void *owner) {
    struct stream *stream = owner;
    MHD_suspend_connection(stream->connection);
}

static void wake(void *owner) {
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
    if (events_follow(request, &(struct events_reader){park, wake, stream}) == 0 &&
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

static size_t stream_copy(struct stream *stream, char *buffer, size_t room) {
    size_t left = stream->events.length - stream->sent, count = left < room ? left : room;
    if (count > 0)
        memcpy(buffer, stream->events.text + stream->sent, count);
    stream->sent += count;
    return count;
}

static void run_fetch(void *owner) {
    struct stream *stream = owner;
    stream->result = api_stream_next(&stream->events);
    stream->sent = stream->events.length; /* of the former one all was; this one is not in hand yet */
    stream->fetched = FETCHED;
    MHD_resume_connection(stream->connection);
}

/* The next event becomes a chore, for which the connection waits. */
static void begin_fetch(struct stream *stream) {
    stream->chore = (struct chore){
        .request = stream->events.request, .kind = CHORE_RENDERING, .large = true, .run = run_fetch, .owner = stream};
    stream->fetched = NOT_FETCHED;
    MHD_suspend_connection(stream->connection);
    chores_submit(stream->chores, &stream->chore);
}

/* As api_stream_next; 0, too, where it is to be fetched. */
static int next_event(struct stream *stream) {
    bool fetched = stream->fetched == FETCHED;
    if (fetched || !stream->chores)
        stream->sent = 0;
    if (!stream->chores)
        return api_stream_next(&stream->events);
    stream->fetched = fetched ? NOT_FETCHED : TO_FETCH;
    return fetched ? stream->result : 0;
}

/* As many events as there are and fit. -1: memory is out. */
static ssize_t stream_fill(struct stream *stream, char *buffer, size_t room) {
    size_t filled = 0;
    for (;;) {
        filled += stream_copy(stream, buffer + filled, room - filled);
        bool over = stream->events.over && stream->fetched != FETCHED;
        if (filled == room || over)
            return (ssize_t)filled;
        int next = next_event(stream);
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
        if (stream->fetched == TO_FETCH)
            begin_fetch(stream);
        else if (!events_park(stream->events.request->events))
            continue;
        return 0; /* asked again once resumed */
    }
}

struct MHD_Response *stream_response(struct stream *stream) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream, NULL);
}
