/* Trains the alignment head of a model that has none (struct alignment in model/model.h), from
 * pairs of sentences.
 *
 * The pairs are aligned first (model/gibbs), piece by piece, in both directions. Then the model
 * reads each source and the translation that is given for it, and keeps what the head will read:
 * annotations, and the outputs of the decoder's top layer. Queries and keys are fitted to them by
 * the cross-entropy between the head's weights and the links: a piece has equal shares of its
 * links, </s> is linked with </s>, and a piece without links says nothing. Nothing else of the
 * model changes. */
#ifndef ALIGND_HEAD_H
#define ALIGND_HEAD_H

#include "model/base/error.h"
#include "model/base/utf8.h"
#include <stddef.h>
#include <stdint.h>

struct translator;

/* A sentence and its translation: valid UTF-8. */
struct head_pair {
    struct bytes source, target;
};

struct head_pairs {
    const struct head_pair *all; /* [count] */
    size_t count;
};

enum head_stage { HEAD_READS, HEAD_ALIGNS, HEAD_DECODES, HEAD_FITS };

struct head_options {
    const char *from, *to; /* for a model of many languages: their codes; NULL: its own */
    size_t size;           /* A, of queries and keys */
    size_t epochs;         /* passes through the pairs; 0: more for fewer pairs */
    size_t most_bytes;     /* of what the model computes for the pairs; beyond it, pairs that are
                              chosen at random are used */
    uint64_t seed;
    void (*report)(void *owner, enum head_stage stage, size_t done, size_t of); /* NULL: none */
    void *owner;
};

/* The tensors of a head, and how it was made. */
struct head {
    size_t size, query_in, key_in;
    float *query, *bias, *key; /* [size, query_in], [size], [size, key_in]; owned */
    size_t used;               /* pairs that were decoded */
    size_t unlinked; /* pairs that have no links: they are too long, or one side is empty */
    double loss;     /* mean cross-entropy of a linked piece in the last pass, in nats */
};

/* Returns -1 with ERROR_INPUT (the model has no attention, or copies its source's words; it lacks a
 * language; no pair has links) or ERROR_MEMORY. The same pairs and options give the same head on a
 * processor. */
int head_train(const struct translator *translator, const struct head_pairs *pairs,
               const struct head_options *options, struct head *out, struct error *err);
void head_done(struct head *head);

#endif
