/* This module makes the events of a streamed request, as its client gets them.
 *
 * The request has a queue from the workers to the follower, one thread at a time. Workers queue
 * notes of decided tokens and finished sentences, and the follower turns them into events when it
 * has room. Each sentence has room for the notes of all its possible tokens, so nothing is lost,
 * memory is bounded, and no worker ever waits for a slow follower. */
#ifndef ALIGND_EVENTS_H
#define ALIGND_EVENTS_H

#include "server/decode/request.h"

enum event_kind {
    EVENT_NONE,     /* nothing to send yet */
    EVENT_TOKEN,    /* a token was decided */
    EVENT_SENTENCE, /* a sentence is done, and so are those before it in its text */
    EVENT_PULSE,    /* nothing has been sent for a while */
    EVENT_END,      /* all jobs have ended; nothing follows */
};

struct event {
    enum event_kind kind;
    size_t text, sentence; /* indexes: of the text, and of the sentence within it */
    /* EVENT_TOKEN; valid until the next event. added [added_length]: the text that the token
     * appends to the sentence. A token with an incomplete character appends nothing; the one that
     * completes the character appends it. */
    const char *piece, *added;
    size_t added_length;
    double log_prob;
};

/* Parks and wakes the follower. Both are called with the events locked: park after events_park has
 * found nothing to read, wake when there is something again. */
struct events_follower {
    void (*park)(void *owner);
    void (*wake)(void *owner);
    void *owner;
};

/* Follows a request whose jobs are prepared but not submitted: sets its progress and events. Tokens
 * are sent for sentences in which each step decides one for good (greedy, one sample), if the
 * request keeps its sentences. Returns -1 when memory runs out. */
int events_follow(struct request *request, const struct events_follower *follower);
/* Accepts NULL. */
void events_done(struct events *events);

/* ---- called by the follower ---- */

void events_next(struct events *events, struct event *event);
/* Returns true if there is nothing to read: the follower is parked. */
bool events_park(struct events *events);

/* ---- called by others ---- */

/* Notes that all jobs have ended and the answer is ready. */
void events_end(struct events *events);
/* Sends EVENT_PULSE to a parked follower. The request must be alive, not ended. */
void events_pulse(struct events *events);

#endif
