/* The output layer: readouts -> one distribution over the vocabulary per row. */
#ifndef ALIGND_OUTPUT_H
#define ALIGND_OUTPUT_H

#include "model/config.h"
#include "model/matrix.h"
#include "model/search.h"
#include "model/weights.h"

struct output {
    const struct kernels *kernels;
    struct linear linear; /* [V, O]; tied: the weight is the target embedding */
};

int output_init(struct output *output, const struct model_config *config, size_t vocabulary, struct weights *weights,
                const struct kernels *kernels, struct error *err);
void output_done(struct output *output);

/* R rows side by side. */
struct output_rows {
    size_t rows;
    const float *readouts;              /* [R, O] */
    const size_t *wanted;               /* [R] how many of the best tokens, at most SEARCH_MAX_WANTED */
    float *logits;                      /* [R, V], written */
    struct ranked *top;                 /* [R, SEARCH_MAX_WANTED], written */
    struct distribution *distributions; /* [R], written: they point into logits and top */
};

void output_run(const struct output *output, const struct output_rows *rows);

#endif
