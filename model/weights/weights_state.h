/* What struct weights is, for the files that make it: weights.c, which has the parameters, and weights_linear.c, the linears that
 * are made of them. */
#ifndef ALIGND_WEIGHTS_STATE_H
#define ALIGND_WEIGHTS_STATE_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include "model/weights/panels.h"
#include "model/weights/parameters.h"
#include <stdbool.h>
#include <stddef.h>

/* What was made, but for the linears that OpenBLAS multiplies with. */
struct linears {
    size_t bytes;                 /* of all linears */
    struct panels *panels;        /* where they may be found; NULL: each is packed */
    struct panels_matrix *packed; /* [count] */
    size_t count, room, mapped;   /* mapped: so many are of the panels */
};

void linears_done(struct linears *linears);

struct weights {
    struct backend backend; /* of the linears */
    bool failed;
    struct arena arena; /* parameters, and the values that had to be expanded */
    struct parameters parameters;
    struct linears linears;
};

#endif
