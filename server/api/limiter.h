/* How much each client may ask for: a bucket of tokens, one for a sentence, that is filled at a steady rate up to a burst. What
 * asks for more than a burst needs a full bucket and leaves it in debt. Memory is bounded: where many clients come at once, those
 * that are closest to a full bucket are forgotten, which gives them little. Thread-safe. */
#ifndef ALIGND_LIMITER_H
#define ALIGND_LIMITER_H

#include <stddef.h>
#include <stdint.h>

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
/* What was taken has been of no use. */
void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens);

#endif
