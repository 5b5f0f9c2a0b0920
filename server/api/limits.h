/* How much clients and keys may ask for: sentences by a rate, and characters of a day. Thread-safe. */
#ifndef ALIGND_LIMITS_H
#define ALIGND_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each client has a bucket of tokens, one for a sentence, that is filled at a steady rate up to a burst. A request for more than a
 * burst needs a full bucket and leaves it in debt. Memory is bounded: if many clients come at once, those that are closest to a
 * full bucket are forgotten, which gives them little. */
struct limiter;

/* rate: tokens a second; 0: everything is allowed. burst: tokens, at least 1. */
struct limit {
    double rate;
    size_t burst;
};

/* NULL when memory is out. */
struct limiter *limiter_create(void);
void limiter_free(struct limiter *limiter); /* NULL allowed */

/* Takes so many tokens of the client's, whose limit is this from now on: 0. Or says in how many seconds there will be enough, and
 * takes none. */
double limiter_take(struct limiter *limiter, uint64_t client, const struct limit *limit, size_t tokens, int64_t now_us);
/* Gives back tokens of a request that was refused. */
void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens);

/* The characters of accepted texts that each key has translated today and since the start. A day is one of UTC. The counts are in
 * memory: a daemon that starts again begins at 0. */
struct usage;

struct usage_count {
    uint64_t today, total;
};

/* NULL when memory is out. */
struct usage *usage_create(void);
void usage_free(struct usage *usage); /* NULL allowed */

enum usage_verdict { USAGE_TAKEN, USAGE_EXCEEDED, USAGE_MEMORY };
/* Counts so many characters for this name ("": requests without a key), unless that would be more than daily (0: no limit).
 * now_s: of time(). */
enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s);
/* Takes back characters of a request that was refused, counted on that day. */
void usage_return(struct usage *usage, const char *name, uint64_t characters, int64_t now_s);
struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s);
/* Until the day ends. */
unsigned usage_rest_s(int64_t now_s);

#endif
