/* What the paths of a search are made of. Included by search*.c only. */
#ifndef ALIGND_SEARCH_NODE_H
#define ALIGND_SEARCH_NODE_H

#include "model/search/search_state.h"
#include <stddef.h>

/* One decided token. Paths share their beginnings. */
struct search_node {
    const struct search_node *parent; /* NULL: the first token */
    int token;
    float log_prob, entropy;
    double total;           /* log-probability of the path up to here */
    double merit;           /* the same as it counts: with repetition_penalty */
    const float *attention; /* the row of the step that decided it */
    const struct alternatives *alternatives;
    size_t depth;  /* tokens on the path, this one counted */
    size_t lane;   /* sample: which of the samples */
    size_t branch; /* in the tree */
    struct utf8_due due;
};

/* A continuation of a live row. */
struct candidate {
    size_t row;
    int token;
    float log_prob;
    double total, merit; /* of the path with it */
    size_t lane;
};

#endif
