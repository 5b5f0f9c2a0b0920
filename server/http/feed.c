/* This module hides how a reply becomes a stream of events, and who writes them. One thread at a
 * time writes: the connection's, a chore that writes one large event, or from feed_take on the
 * thread that ends the request. */
#include "server/http/feed.h"
#include "server/api/answer.h"
#include "server/api/event_stream.h"
#include "server/base/clock.h"
#include "server/decode/events.h"
#include "server/http/connection.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024 };

/* The state of an event that a chore writes: no event, written, or the chore must be started. */
enum fetched { NOT_FETCHED, FETCHED, TO_FETCH };

struct feed {
    struct MHD_Connection *connection;
    struct timed *timed; /* the connection as the cutoff knows it; NULL: its time is not limited */
    struct request
        *request; /* memory of the exchange, so that it can be cancelled after it was freed */
    struct feed_options options;
    bool large; /* chores write the events */
    struct chore chore;

    /* only the thread that writes uses these */
    struct event_stream events;
    size_t sent; /* bytes of the current event */
    enum fetched fetched;
    int result; /* result of event_stream_next for the event that the chore wrote */

    /* written by the thread that took the feed; constant after the end */
    char *rest; /* [rest_length] events that are not sent yet */
    size_t rest_length, rest_capacity,
        begun;   /* begun: bytes of the rest that belong to the event that was being sent */
    bool broken; /* memory ran out */

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t idle;  /* writing became false */
    bool writing;         /* a thread writes */
    bool taken;           /* by the thread that ends the request */
    bool parked;          /* the connection is suspended until the end */
    bool complete;        /* the client has everything, although the request may not have ended */
    bool ended, closed;
};

static void suspend_feed(void *owner) {
    struct feed *feed = owner;
    MHD_suspend_connection(feed->connection);
}

static void resume_feed(void *owner) {
    struct feed *feed = owner;
    MHD_resume_connection(feed->connection);
}

struct feed *feed_open(struct MHD_Connection *connection, struct request *request,
                       struct reply *reply, const struct feed_options *options) {
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return NULL;
    feed->connection = connection;
    feed->timed = connection_timed(connection);
    feed->request = request;
    feed->options = *options;
    feed->large = answer_is_large(request);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->idle, NULL);
    if (events_follow(request, &(struct events_follower){suspend_feed, resume_feed, feed}) == 0 &&
        event_stream_init(&feed->events, request, reply, options->most) == 0)
        return feed;
    feed_free(feed);
    return NULL;
}

void feed_free(struct feed *feed) {
    if (!feed)
        return;
    event_stream_done(&feed->events);
    pthread_cond_destroy(&feed->idle);
    pthread_mutex_destroy(&feed->lock);
    free(feed->rest);
    free(feed);
}

/* Returns false if the stream is taken. Otherwise the caller writes until end_writing. */
static bool begin_writing(struct feed *feed) {
    pthread_mutex_lock(&feed->lock);
    while (feed->writing && !feed->taken)
        pthread_cond_wait(&feed->idle, &feed->lock);
    bool begun = !feed->taken;
    feed->writing |= begun;
    pthread_mutex_unlock(&feed->lock);
    return begun;
}

/* Limits the time for the client to read what it has been sent. waits: it has read everything, and
 * there is nothing else until the request is decoded further. Called before the end. */
static void limit_reader(struct feed *feed, bool waits) {
    const struct feed_options *options = &feed->options;
    int64_t left_us = feed->request->deadline_us - clock_us();
    if (feed->timed)
        cutoff_set(options->cutoff, feed->timed, SLOW_READER,
                   options->send_us + (waits && left_us > 0 ? left_us : 0));
}

/* complete: there is nothing else to send. */
static void end_writing(struct feed *feed, bool complete) {
    pthread_mutex_lock(&feed->lock);
    feed->writing = false;
    feed->complete = complete;
    pthread_cond_broadcast(&feed->idle);
    pthread_mutex_unlock(&feed->lock);
}

/* ---- while the request is decoded ---- */

/* Writes the next event, as a chore. The previous event has been sent completely; the new one
 * becomes current in feed_fill. */
static void run_fetch(void *owner) {
    struct feed *feed = owner;
    if (begin_writing(feed)) {
        feed->result = event_stream_next(&feed->events);
        feed->sent = feed->events.length;
        feed->fetched = FETCHED;
        end_writing(feed, false);
    }
    MHD_resume_connection(feed->connection);
}

/* Makes the event that a chore has written the current one. Returns the result of
 * event_stream_next.
 */
static int take_fetched(struct feed *feed) {
    feed->sent = 0;
    feed->fetched = NOT_FETCHED;
    return feed->result;
}

/* Fills the buffer with as many available events as fit; returns the number of bytes, or -1 if
 * memory runs out. */
static ssize_t feed_fill(struct feed *feed, char *buffer, size_t room) {
    for (size_t filled = 0;;) {
        size_t left = feed->events.length - feed->sent,
               count = left < room - filled ? left : room - filled;
        if (count > 0)
            memcpy(buffer + filled, feed->events.text + feed->sent, count);
        feed->sent += count;
        filled += count;
        bool fetched = feed->fetched == FETCHED;
        if (filled == room || (feed->events.over && !fetched))
            return (ssize_t)filled;

        int next = 0;
        if (!feed->large) {
            feed->sent = 0;
            next = event_stream_next(&feed->events);
        } else if (fetched) {
            next = take_fetched(feed);
        } else {
            feed->fetched = TO_FETCH;
        }
        if (next <= 0)
            return next < 0 ? -1 : (ssize_t)filled;
    }
}

/* Sends events; called while the caller writes. Returns as read_feed does. */
static ssize_t send_events(struct feed *feed, char *buffer, size_t room) {
    for (;;) {
        ssize_t filled = feed_fill(feed, buffer, room);
        if (filled > 0)
            return filled;
        if (filled < 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (feed->events.over)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (feed->fetched == TO_FETCH) {
            feed->chore = (struct chore){.request = feed->request,
                                         .kind = CHORE_RENDERING,
                                         .large = true,
                                         .run = run_fetch,
                                         .owner = feed};
            feed->fetched = NOT_FETCHED;
            MHD_suspend_connection(feed->connection);
            chores_submit(feed->options.chores, &feed->chore);
        } else if (!events_park(feed->request->events)) {
            continue;
        }
        return 0; /* libmicrohttpd calls read_feed again once the connection is resumed */
    }
}

/* ---- from the end of the decoding on ---- */

/* Appends the bytes of the current event that are not sent yet. */
static void keep_event(struct feed *feed) {
    size_t count = feed->events.length - feed->sent, needed = feed->rest_length + count;
    if (needed > feed->rest_capacity) {
        size_t capacity = needed + feed->rest_capacity; /* at least twice as much */
        char *rest = realloc(feed->rest, capacity);
        feed->broken |= !rest;
        if (!rest)
            return;
        feed->rest = rest;
        feed->rest_capacity = capacity;
    }
    if (count > 0)
        memcpy(feed->rest + feed->rest_length, feed->events.text + feed->sent, count);
    feed->rest_length = needed;
    feed->sent = feed->events.length;
}

void feed_take(struct feed *feed) {
    events_end(feed->request->events);
    pthread_mutex_lock(&feed->lock);
    feed->taken = true;
    while (feed->writing) /* for one event at most */
        pthread_cond_wait(&feed->idle, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
    if (feed->fetched == FETCHED)
        feed->broken |= take_fetched(feed) < 0;
    bool whole = feed->sent == 0;
    keep_event(feed);
    feed->begun = whole ? 0 : feed->rest_length;
}

size_t feed_write(struct feed *feed) {
    size_t before = feed->rest_length;
    if (feed->events.over || feed->broken)
        return 0;
    int next;
    while ((next = event_stream_next(&feed->events)) ==
           0) { /* an event that would have been too long */
    }
    feed->sent = 0;
    feed->broken |= next < 0;
    if (next > 0)
        keep_event(feed);
    return feed->rest_length - before;
}

bool feed_is_whole(const struct feed *feed) {
    return feed->events.over;
}

void feed_cut(struct feed *feed) {
    feed->rest_length = feed->begun;
    feed->broken |= event_stream_last(&feed->events) < 0;
    feed->sent = 0;
    keep_event(feed);
}

void feed_release(struct feed *feed) {
    event_stream_done(&feed->events);
    feed->sent = 0;
}

bool feed_end(struct feed *feed) {
    pthread_mutex_lock(&feed->lock);
    feed->ended = true;
    bool closed = feed->closed;
    if (!closed)
        limit_reader(feed, false);
    if (feed->parked)
        MHD_resume_connection(feed->connection);
    pthread_mutex_unlock(&feed->lock);
    return closed;
}

bool feed_close(struct feed *feed) {
    pthread_mutex_lock(&feed->lock);
    feed->closed = true;
    bool ended = feed->ended;
    if (!ended && !feed->complete) /* after the lock is released, it may have been freed */
        request_cancel(feed->request, CANCEL_CLIENT);
    pthread_mutex_unlock(&feed->lock);
    return ended;
}

static ssize_t send_rest(struct feed *feed, char *buffer, size_t room) {
    size_t left = feed->rest_length - feed->sent, count = left < room ? left : room;
    if (count == 0)
        return feed->broken ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    memcpy(buffer, feed->rest + feed->sent, count);
    feed->sent += count;
    return (ssize_t)count;
}

/* ---- the connection's side ---- */

/* Returns the number of bytes, 0 if the connection was suspended, or one of libmicrohttpd's codes
 * for the end. */
static ssize_t read_feed(void *closure, uint64_t position, char *buffer, size_t room) {
    (void)position;
    struct feed *feed = closure;
    if (begin_writing(feed)) {
        ssize_t sent = send_events(feed, buffer, room);
        limit_reader(feed, sent == 0);
        end_writing(feed, sent == MHD_CONTENT_READER_END_OF_STREAM);
        return sent;
    }
    pthread_mutex_lock(&feed->lock);
    bool ended = feed->ended;
    feed->parked = !ended;
    if (!ended)
        MHD_suspend_connection(feed->connection);
    pthread_mutex_unlock(&feed->lock);
    return ended ? send_rest(feed, buffer, room) : 0;
}

struct MHD_Response *feed_response(struct feed *feed) {
    if (begin_writing(feed)) {
        limit_reader(feed, true);
        end_writing(feed, false);
    }
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_feed, feed, NULL);
}
