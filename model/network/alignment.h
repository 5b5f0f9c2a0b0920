/* The alignment head: which source tokens a token that has been chosen is linked with. What attention looked at in order to choose
 * it knows nothing of it yet; the head does (Chen et al. 2020). soft alignment a[i][j] = softmax_j of q_i . k_j over the sentence's
 * own tokens, q_i = W [e(y_i); s_i] + b of the token's own embedding and of what the top layer put out in the step that chose it,
 * k_j = U [h_j; e(x_j)] of the annotation and the embedding of source token j. Nothing else reads it (weights/align_head.py). */
#ifndef ALIGND_ALIGNMENT_H
#define ALIGND_ALIGNMENT_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

struct alignment {
    const struct kernels *kernels;
    struct linear query; /* [A, E + H]; out 0: the model has no head */
    struct linear key;   /* [A, D + E'] */
};

int alignment_init(struct alignment *alignment, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err);
/* A zeroed one is allowed. */
void alignment_done(struct alignment *alignment);

/* Vectors that are read side by side: left [n, its size], right [n, its size], together as large as the linear's input. */
struct alignment_inputs {
    struct vectors left, right;
    size_t left_size, count; /* floats of a left vector; n */
};

/* keys [T, A] of annotations (left) and source embeddings (right). Scratch in the arena, released. -1 with ERROR_MEMORY. */
int alignment_keys(const struct alignment *alignment, const struct alignment_inputs *inputs, struct arena *arena, float *keys,
                   struct error *err);

/* rows [n, T], each a distribution, of the tokens' embeddings (left) and what the top layer put out (right). keys [T, A]. As above.
 */
int alignment_run(const struct alignment *alignment, const struct alignment_inputs *inputs, const float *keys, size_t length,
                  struct arena *arena, float *rows, struct error *err);

#endif
