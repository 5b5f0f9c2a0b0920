/* Attention of many heads (Vaswani et al. 2017, 3.2.2): q = W_q u + b_q, K = W_k m + b_k, V = W_v m + b_v, each d columns; head h
 * has the d / H columns from h d / H on, and its own a_j = softmax_j(q_h . K_jh / sqrt(d / H)), c_h = sum_j a_j V_jh; F = W_o [c_1
 * ... c_H] + b_o. m is what the row's own stack reads (self-attention) or the encoder's annotations (cross-attention). With ALiBi
 * (Press et al. 2022) the score of what stands n places away is lower by n 2^(-8 h / H), h from 1; where H is no power of two,
 * slope_of in heads.c. */
#ifndef ALIGND_HEADS_H
#define ALIGND_HEADS_H

#include "model/network/block.h"

struct heads {
    struct linear query, key, value, output;
    struct norm norm;
};

/* PREFIX.query, .key, .value, .output, .norm; memory: D, the size of an m. Failures as weights_get's, for weights_failed. */
void heads_init(struct heads *heads, const struct stack *stack, const char *prefix, size_t memory, struct weights *weights,
                struct error *err);
void heads_done(struct heads *heads);

/* What one row looks at. */
struct gaze {
    const float *query; /* [d] */
    struct looked_at keys, values;
    size_t count, position; /* of what is looked at; and, with ALiBi, which of them stands where the row does */
    bool alibi;
    const float *forced; /* [count] the weights of all heads; NULL: their own */
    float *weights;      /* [H, count], written */
    float *context;      /* [d], written */
};

/* Rows of one sentence, which all look at each other; slopes: [H] where there is ALiBi, written. Otherwise as the kernel says. */
void heads_look_around(const struct stack *stack, struct mutual *mutual, float *slopes);

void heads_look(const struct stack *stack, const struct gaze *gaze);

#endif
