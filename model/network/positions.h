/* What a transformer adds to its embeddings, so that it knows where they stand: a vector for each position. One table of kinds. */
#ifndef ALIGND_POSITIONS_H
#define ALIGND_POSITIONS_H

#include "model/compute/kernels.h"
#include "model/weights/weights.h"

struct positions_kind;

struct positions {
    const struct positions_kind *kind;
    size_t size, rows;  /* d; of the table */
    const float *table; /* [rows, d], owned by the weights, or `made`; NULL: nothing is added */
    float *made;        /* owned */
    bool alibi;         /* instead, scores fall with the distance (model/network/heads.h) */
};

/* parameter: the name of the table of learned ones, and of the key where it is not in the table of kinds. rows: how many positions
 * there are of these. Errors as weights_linear's; positions_done ends it then, too. */
int positions_init(struct positions *positions, const char *kind, const char *parameter, size_t rows, size_t size,
                   struct weights *weights, struct error *err);
/* A zeroed one is allowed. */
void positions_done(struct positions *positions);

/* x [d] += p(position). Learned positions end: all beyond are the last one. */
void positions_add(const struct positions *positions, const struct kernels *kernels, size_t position, float *x);

#endif
