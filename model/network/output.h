/* The output layer: what the decoder shows of a step -> one distribution per row, over the vocabulary or a list of its ids, the
 * source's words, or vocabulary and source.
 * Outputs are a table. Those that copy give every source position a score on the scale of the vocabulary's logits; positions of
 * equal words add up, and one softmax goes over them all. The attention that a search keeps is that of the step, also where the
 * scores of the positions are others (pointer, copy, a pointer_generator whose pointer is the readout's). */
#ifndef ALIGND_OUTPUT_H
#define ALIGND_OUTPUT_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include "model/network/copies.h"
#include "model/network/distribution.h"
#include "model/network/row.h"
#include "model/weights/config.h"
#include "model/weights/shortlist.h"
#include "model/weights/weights.h"

struct output_kind;
struct output_gate;
struct output_pointer;

struct output {
    const struct output_kind *kind;
    const struct output_gate *gate;       /* pointer_generator: how likely it copies */
    const struct output_pointer *pointer; /* and what */
    const struct kernels *kernels;
    size_t vocabulary, stride;  /* V; floats of a row of logits: V, and room for temporary ids */
    struct linear linear;       /* [V, O]; tied: the weight is the target embedding; out 0: nothing but copies */
    struct linear key;          /* [K, D] of an annotation; out 0: has no scores of its own */
    struct linear gate_context; /* of a gate on [c; s; y]: c's part, [1, D] of an annotation; out 0: another gate, or none */
    struct linear gate_state, gate_input; /* the others: [1, H], [1, E] */
    struct linear gate_readout;           /* of a gate on the readout: [1, O] */
};

struct output_options {
    size_t vocabulary; /* V */
    bool shortlists;   /* rows may come with ids; not for outputs that copy */
};

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err);
void output_done(struct output *output);

bool output_copies(const struct output *output);
/* False: it can produce the source's words alone. */
bool output_writes(const struct output *output);

/* keys [tokens, K], K = output->key.out, and gates [tokens, output->gate_context.out] of annotations [tokens, D], sentences end to
 * end. */
void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys, float *gates);

/* Reads the rows' readouts and, for outputs that copy, their copies (with keys and gates), inputs, tops and attention; rows of an
 * output that copies have no targets. Writes their logits, as many of each row as it has targets, and their distributions, which
 * point into the logits and, for the best tokens, into the arena. -1 with ERROR_MEMORY. */
int output_run(const struct output *output, const struct row *rows, size_t count, struct arena *arena, struct error *err);

#endif
