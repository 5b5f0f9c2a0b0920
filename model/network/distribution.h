/* What is known of a row's next token: the output layer writes it, the search reads it. */
#ifndef ALIGND_DISTRIBUTION_H
#define ALIGND_DISTRIBUTION_H

#include "model/compute/ranked.h"
#include <stddef.h>

/* log p(token) = logits[token] - log_sum; with ids, log p(ids[i]) = logits[i] - log_sum and no other token is possible. */
struct distribution {
    const float *logits;      /* [size] */
    const int *ids;           /* [size] the tokens, ascending; NULL: 0 .. size - 1 */
    float log_sum;            /* log of the sum of exp(logits) */
    float entropy;            /* of the whole distribution, nats */
    size_t size;              /* V, or the number of ids */
    const struct ranked *top; /* [top_count] the best tokens, best first, of equals the lower one first */
    size_t top_count;         /* as many as were wanted; fewer: all others are impossible, or no numbers */
};

#endif
