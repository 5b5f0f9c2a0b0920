/* Rate limits in sentences and daily quotas in characters, for clients and keys. Thread-safe. */
#ifndef ALIGND_LIMITS_H
#define ALIGND_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each client has a bucket of tokens, one per sentence, which is refilled at a steady rate up to a burst. A request for more than a
 * burst needs a full bucket and leaves it in debt. Memory is bounded: if many clients come at once, the fullest buckets are
 * dropped, which gives their clients little. */
struct limiter;

/* rate: tokens a second; 0: everything is allowed. burst: tokens, at least 1. */
struct limit {
    double rate;
    size_t burst;
};

/* Returns NULL if memory is out. */
struct limiter *limiter_create(void);
void limiter_free(struct limiter *limiter); /* Accepts NULL. */

/* Takes this many tokens from the client's bucket, which has this limit from now on, and returns 0. If there are too few, takes
 * none and returns the seconds until there will be enough. */
double limiter_take(struct limiter *limiter, uint64_t client, const struct limit *limit, size_t tokens, int64_t now_us);
/* Gives back tokens of a request that was refused. */
void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens);

/* The characters of accepted texts that each key has translated today and since the start. Days are UTC days. The counts are in
 * memory only: they begin at 0 when the daemon starts. */
struct usage;

struct usage_count {
    uint64_t today, total;
};

/* Returns NULL if memory is out. */
struct usage *usage_create(void);
void usage_free(struct usage *usage); /* Accepts NULL. */

enum usage_verdict { USAGE_TAKEN, USAGE_EXCEEDED, USAGE_MEMORY };
/* Counts this many characters for the name ("": requests without a key), unless the count would exceed daily (0: no limit). now_s:
 * by time(). */
enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s);
/* Takes back the characters of a request that was refused, if they were counted on the same day. */
void usage_return(struct usage *usage, const char *name, uint64_t characters, int64_t now_s);
struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s);
/* The seconds until the day ends. */
unsigned usage_rest_s(int64_t now_s);

#endif
