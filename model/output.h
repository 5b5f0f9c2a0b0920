/* The output layer: readouts -> one distribution per row, over the vocabulary or over a list of its ids. */
#ifndef ALIGND_OUTPUT_H
#define ALIGND_OUTPUT_H

#include "model/config.h"
#include "model/matrix.h"
#include "model/search.h"
#include "model/shortlist.h"
#include "model/weights.h"

struct output {
    const struct kernels *kernels;
    struct linear linear; /* [V, O]; tied: the weight is the target embedding */
};

struct output_options {
    size_t vocabulary; /* V */
    bool shortlists;   /* rows may come with ids */
};

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err);
void output_done(struct output *output);

/* R rows side by side. */
struct output_rows {
    size_t rows;
    const float *readouts;              /* [R, O] */
    const struct target_ids *targets;   /* [R] what each row may choose from */
    const size_t *wanted;               /* [R] how many of the best tokens, at most SEARCH_MAX_WANTED */
    float *logits;                      /* [R, V], written: of each row as many as it has targets */
    struct ranked *top;                 /* [R, SEARCH_MAX_WANTED], written */
    struct distribution *distributions; /* [R], written: they point into logits and top */
};

void output_run(const struct output *output, const struct output_rows *rows);

#endif
