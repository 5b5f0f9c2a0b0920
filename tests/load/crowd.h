/* Clients, many at once, from one thread: each keeps a connection and has one request under way.
 * They ask again as soon as they are answered (closed loop), or requests begin at a given rate
 * whether or not others are answered (open loop). */
#ifndef ALIGND_TESTS_LOAD_CROWD_H
#define ALIGND_TESTS_LOAD_CROWD_H

#include <stdbool.h>
#include <stddef.h>

/* A request as bytes, head and body. */
struct message {
    char *bytes; /* [length] */
    size_t length;
};
/* POST of a JSON body, or of any with a content type. The caller ends it with message_done. */
struct message message_post(const char *path, const char *type, const char *body);
struct message message_get(const char *path);
void message_done(struct message *message);

struct crowd_options {
    int port;        /* of 127.0.0.1 */
    unsigned source; /* they come from 127.0.0.1 + source */
    size_t clients;  /* open loop: at most so many at once */
    double rate;     /* open loop: requests a second; 0: closed loop */
    double pace; /* bytes a second that each client sends at most; 0: as fast as they are taken */
    const struct message *messages; /* [count], chosen at random; outlive the crowd */
    size_t count;
    double leaving; /* share of the requests whose client disconnects after a random time, within
                       leave_s */
    double leave_s;
    double warm_s; /* not counted in the rate */
    unsigned seed;
};

enum { CROWD_STATUSES = 600 };

struct crowd_result {
    double seconds, rate; /* rate: replies of 200 a second, from warm_s until crowd_stop */
    long begun, answered, statuses[CROWD_STATUSES]; /* answered: with any status */
    long lost;    /* connection closed or reset after the request, before its reply was whole */
    long refused; /* connections that were not accepted */
    long unseen;  /* a kept connection that ended as it was used again: begun anew */
    long left;    /* clients that disconnected as planned */
    long unsent;  /* open loop: no client was free when a request was due */
    double p50, p99, p999, most; /* seconds to a 200 */
};

struct crowd;
/* Begins at once, in a thread of its own. A crowd that cannot be made ends the program. */
struct crowd *crowd_start(const struct crowd_options *options);
/* No more requests are begun; waits for those under way, so many seconds at most. Ends the crowd.
 */
struct crowd_result crowd_stop(struct crowd *crowd, double patience_s);
/* So far; from any thread. */
long crowd_answered(const struct crowd *crowd);
long crowd_left(const struct crowd *crowd);

#endif
