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

/* readouts [rows, O] -> logits [rows, V] and a distribution for each row, which points into them. */
void output_run(const struct output *output, const float *readouts, size_t rows, float *logits, struct distribution *distributions);

#endif
