/* The answer to a streamed request as server-sent events. */
#ifndef ALIGND_EVENT_STREAM_H
#define ALIGND_EVENT_STREAM_H

#include "server/api/api.h"
#include "server/api/value.h"

/* The answer to a streamed request as server-sent events. It belongs to the thread that reads the
 * request's events. */
struct event_stream {
    struct request *request; /* NULL: the stream is done */
    struct reply *reply;     /* set by finish; it is the last event */
    size_t most;             /* maximum bytes of one event */
    size_t left;             /* sentences that are still to come */
    struct value_places
        *sent;  /* [request->text_count] where the last sentence sent of each text ended */
    char *text; /* [length] the current event, malloc'ed */
    size_t length;
    bool over; /* the current event is the last */
};
/* Returns -1 if memory runs out. */
int event_stream_init(struct event_stream *stream, struct request *request, struct reply *reply,
                      size_t most);
/* Must come before request_done. It may be called twice. */
void event_stream_done(struct event_stream *stream);
/* Returns 1 if the next event is ready, 0 if there is none yet, or -1 if memory runs out. */
int event_stream_next(struct event_stream *stream);
/* Makes the reply the next event and the last one, whatever has not been read yet. Returns as
 * event_stream_next does. */
int event_stream_last(struct event_stream *stream);

#endif
