/* What a streamed request sends while it is decoded: a queue from the workers to the one thread that sends it, the reader.
 *
 * Workers note the tokens that are decided and the sentences that are done; the reader turns notes into events when it has room for
 * them. A sentence has room for the notes of all the tokens that it can get, so that nothing is lost, memory is bounded and no
 * worker ever waits, however slow the reader. */
#ifndef ALIGND_EVENTS_H
#define ALIGND_EVENTS_H

#include "server/decode/request.h"

enum event_kind {
    EVENT_NONE,     /* nothing to send yet */
    EVENT_TOKEN,    /* a token was decided */
    EVENT_SENTENCE, /* a sentence is done, and so are those before it in its text */
    EVENT_PULSE,    /* nothing was sent for a while */
    EVENT_END,      /* all jobs have ended; nothing follows */
};

struct event {
    enum event_kind kind;
    size_t text, sentence; /* indexes: of the text, of the sentence within it */
    /* EVENT_TOKEN; valid until the next event. `added` [added_length] is what the token adds to the sentence's text: together they
     * are the text. A token whose characters are not complete adds nothing, the one that completes them adds all. */
    const char *piece, *added;
    size_t added_length;
    double log_prob;
};

/* How the reader is told to come back. Called with the events locked: park after events_park found nothing to read, wake when
 * there is something again. */
struct events_reader {
    void (*park)(void *owner);
    void (*wake)(void *owner);
    void *owner;
};

/* Follows a request whose jobs are prepared but not submitted: sets its progress and events. Tokens are sent of sentences of which
 * each step decides one for good (greedy, one sample). -1: memory is out. */
int events_follow(struct request *request, const struct events_reader *reader);
/* NULL allowed. */
void events_done(struct events *events);

/* ---- the reader's side ---- */

void events_next(struct events *events, struct event *event);
/* True: parked, there is nothing to read. */
bool events_park(struct events *events);
/* The reader leaves. True: all jobs have ended, events and request are its own. False: the request is cancelled (CANCEL_CLIENT) and
 * belongs to whoever calls events_end. */
bool events_close(struct events *events);

/* ---- the others' ---- */

/* All jobs have ended and the answer is ready. True: the reader has left, events and request are the caller's. False: they are the
 * reader's, and must not be touched any more. */
bool events_end(struct events *events);
/* A parked reader gets EVENT_PULSE. The request must be alive, not ended. */
void events_pulse(struct events *events);

#endif
