/* This file hides which threads answer a call that nobody waits for. Chores prepare it, send its
 * events and end it, one after the other; workers decode it in between. Where there are no threads,
 * the caller does all of this before its call returns. */
#include "server/api/decode.h"
#include "server/api/event_stream.h"
#include "server/api/reply.h"
#include "server/api/wait.h"
#include "server/decode/events.h"
#include "server/decode/worker.h"
#include "server/library/library.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pending {
    struct library_call call;
    alignd_engine *engine;
    uint64_t number;
    char *what, *bytes; /* owned */
    alignd_listener listener;
    struct pending *next, *previous; /* in the engine's list */

    bool streamed; /* the stream is open */
    struct event_stream stream;
    struct chore chore;   /* where the engine has threads */
    pthread_mutex_t lock; /* guards all below; the last taken of all locks */
    bool scheduled;       /* the chore waits or runs; always, if the caller does what is due */
    unsigned due;         /* enum due: what the chore has to do */
};

enum due {
    DUE_PREPARATION = 1 << 0, /* a model that it waited for has been loaded, or it is new */
    DUE_EVENTS = 1 << 1,
    DUE_END = 1 << 2 /* all of it is decoded */
};

static void run(void *owner);

/* Makes the chore do something, now or once it has done what it does. */
static void schedule(struct pending *pending, enum due due) {
    sigset_t before;
    pthread_mutex_lock(&pending->lock);
    pending->due |= due;
    bool asleep = !pending->scheduled;
    pending->scheduled = true;
    pthread_mutex_unlock(&pending->lock);
    if (!asleep)
        return;
    pending->chore = (struct chore){.request = &pending->call.request,
                                    .kind = CHORE_RENDERING, /* which is always accepted */
                                    .large = false,
                                    .run = run,
                                    .owner = pending};
    library_block_signals(&before); /* the chore may start a thread */
    chores_submit(pending->engine->chores, &pending->chore);
    library_restore_signals(&before);
}

/* ---- the list ---- */

static void list(struct pending *pending) {
    alignd_engine *engine = pending->engine;
    pthread_mutex_lock(&engine->lock);
    pending->number = ++engine->last;
    pending->next = engine->pending;
    if (engine->pending)
        engine->pending->previous = pending;
    engine->pending = pending;
    engine->open++;
    pthread_mutex_unlock(&engine->lock);
}

static void unlist(struct pending *pending) {
    alignd_engine *engine = pending->engine;
    pthread_mutex_lock(&engine->lock);
    *(pending->previous ? &pending->previous->next : &engine->pending) = pending->next;
    if (pending->next)
        pending->next->previous = pending->previous;
    pthread_mutex_unlock(&engine->lock);
}

void alignd_cancel(alignd_engine *engine, uint64_t call) {
    if (engine->process != getpid())
        return;
    pthread_mutex_lock(&engine->lock);
    struct pending *pending = engine->pending;
    while (pending && pending->number != call)
        pending = pending->next;
    if (pending)
        request_cancel(&pending->call.request, CANCEL_CLIENT);
    pthread_mutex_unlock(&engine->lock);
}

void pending_end(alignd_engine *engine) {
    pthread_mutex_lock(&engine->lock);
    for (struct pending *pending = engine->pending; pending; pending = pending->next)
        request_cancel(&pending->call.request, CANCEL_SHUTDOWN);
    while (engine->open > 0)
        pthread_cond_wait(&engine->idle, &engine->lock);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- events ---- */

static void park(void *owner) {
    (void)owner; /* the chore ends, and wake schedules it again */
}

static void wake(void *owner) {
    schedule(owner, DUE_EVENTS);
}

static void tell(struct pending *pending) {
    const struct event_stream *stream = &pending->stream;
    pending->listener.event(pending->listener.owner, stream->text, stream->length);
}

/* Tells the events that are there. */
static void tell_events(struct pending *pending) {
    if (!pending->streamed)
        return;
    do {
        while (event_stream_next(&pending->stream) > 0)
            tell(pending);
    } while (!events_park(pending->call.request.events));
}

/* Tells all other events, the last of which has the reply. */
static void end_events(struct pending *pending) {
    int next = 0;
    if (!pending->streamed)
        return;
    events_end(pending->call.request.events);
    while (next >= 0 && !pending->stream.over) {
        next = event_stream_next(&pending->stream);
        if (next > 0)
            tell(pending);
    }
    event_stream_done(&pending->stream);
}

static int open_stream(struct pending *pending) {
    struct request *request = &pending->call.request;
    const struct events_follower follower = {park, wake, pending};
    size_t most = pending->engine->engine.service.options->max_reply_bytes;
    if (events_follow(request, &follower) != 0 ||
        event_stream_init(&pending->stream, request, &pending->call.reply, most) != 0)
        return -1;
    pending->streamed = true;
    return 0;
}

/* ---- from the call to its end ---- */

static void pending_free(struct pending *pending) {
    if (!pending)
        return;
    free(pending->what);
    free(pending->bytes);
    free(pending);
}

static void end(struct pending *pending) {
    struct library_call *call = &pending->call;
    struct reply *reply = &call->reply;
    alignd_engine *engine = pending->engine;
    engine_conclude(&engine->engine, &call->call, &call->request, reply);
    bool streamed = pending->streamed;
    end_events(pending);
    if (streamed) {
        free(reply->body);
        reply->body = calloc(1, 1);
        reply->length = 0;
    }
    const alignd_listener listener = pending->listener;
    unlist(pending); /* it cannot be cancelled any more */
    alignd_reply *made = call_end(call);
    pthread_mutex_destroy(&pending->lock);
    pending_free(pending);
    listener.end(listener.owner, made);
    pthread_mutex_lock(&engine->lock);
    if (--engine->open == 0)
        pthread_cond_broadcast(&engine->idle);
    pthread_mutex_unlock(&engine->lock);
}

static void note_loaded(struct request *request) {
    schedule(request->owner, DUE_PREPARATION);
}

static void note_decoded(struct request *request) {
    schedule(request->owner, DUE_END);
}

/* Prepares the request and hands it on. Returns false if there is nothing to wait for. */
static bool prepare(struct pending *pending) {
    struct service *service = &pending->engine->engine.service;
    struct library_call *call = &pending->call;
    struct request *request = &call->request;
    bool waits = engine_prepare(&pending->engine->engine, &call->call, request, &call->reply);
    if (call->reply.status != 0 || (!waits && request->job_count == 0))
        return false;
    if (!waits && request->wanted.streamed && pending->listener.event &&
        open_stream(pending) != 0) {
        reply_fail_memory(&call->reply);
        return false;
    }
    request->finish = waits ? note_loaded : note_decoded;
    request->owner = pending;
    enum scheduler_verdict verdict = decode_submit(service, request);
    if (verdict != SCHEDULER_ACCEPTED) { /* no job will tell an event */
        reply_fail_refused(service, verdict, request, &call->reply);
        if (pending->streamed)
            event_stream_done(&pending->stream);
        pending->streamed = false;
    }
    return verdict == SCHEDULER_ACCEPTED;
}

/* Goes on until nothing is due. Nothing can become due after the end. Returns whether the call has
 * ended. */
static bool go_on(struct pending *pending) {
    for (;;) {
        pthread_mutex_lock(&pending->lock);
        unsigned due = pending->due;
        pending->due = 0;
        pending->scheduled = due != 0 || !pending->engine->chores;
        pthread_mutex_unlock(&pending->lock);
        if (due == 0)
            return false;
        bool over = due & DUE_END;
        if ((due & DUE_PREPARATION) && !over)
            over = !prepare(pending);
        if (!over) /* also when nothing has been decoded: it parks, so that it is woken */
            tell_events(pending);
        if (over) {
            end(pending);
            return true;
        }
    }
}

/* The chore. */
static void run(void *owner) {
    go_on(owner);
}

uint64_t alignd_call_async(alignd_engine *engine, const char *what, const char *request,
                           size_t length, const alignd_listener *listener) {
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending) {
        pending->what = strdup(what);
        pending->bytes = malloc(length + 1);
    }
    if (!pending || !pending->what || !pending->bytes) {
        pending_free(pending);
        return 0;
    }
    if (length > 0)
        memcpy(pending->bytes, request, length);
    pending->engine = engine;
    pending->listener = *listener;
    pending->scheduled = !engine->chores;
    pthread_mutex_init(&pending->lock, NULL);
    call_begin(&pending->call, engine, pending->what, pending->bytes, length);
    list(pending);
    uint64_t number = pending->number; /* it may end at once */
    schedule(pending, pending->call.reply.status == 0 ? DUE_PREPARATION : DUE_END);
    while (!engine->chores && !go_on(pending))
        workers_turn(engine->engine.workers);
    return number;
}
