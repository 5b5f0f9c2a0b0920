/* Sentences of a batch on their way to be live: those that wait are encoded in groups, and where the encoder divides
 * (encoder_divides) in parts, between which the rows that are live go on. One thread's, as the batch. */
#ifndef ALIGND_PENDING_H
#define ALIGND_PENDING_H

#include "model/network/encoder.h"
#include "model/sentence.h"

/* What encoding a group of sentences gives: keys [slots, A], values [slots, P], copy_keys [tokens, K], copy_gates [tokens, 1 or 0],
 * states [n, S]; there are at most as many slots as tokens, and as many where the output copies. */
struct encoding {
    size_t n, tokens;         /* 0: there is no group */
    size_t slots, remembered; /* 0 until there are annotations; keys and values so far */
    int *ids;                 /* [tokens] */
    size_t *lengths;          /* [n] */
    struct encoded encoded;
    float *keys, *values, *copy_keys, *copy_gates, *states;
};

/* Begins the decoding of one sentence of the group: what its steps look at, from slot `first` on, is copied into an arena of its
 * own, and its search starts; state [S]: its first. -1 with the sentence's error set. Scratch is released. */
int encoding_settle(const struct encoding *encoding, size_t first, const float *state, struct sentence *sentence,
                    struct arena *scratch);

struct pending {
    const struct translator *translator;
    struct sentence **sentences; /* [count] the first encoding.n are being encoded */
    size_t count;
    struct encoding encoding;
    void *parts;        /* NULL: none is being encoded in parts */
    struct arena arena; /* what the group works on */
};

/* For so many sentences at most, in the arena. -1: memory is out; ended by pending_done all the same. */
int pending_init(struct pending *pending, const struct translator *translator, size_t most, struct arena *arena);
void pending_done(struct pending *pending);
void pending_add(struct pending *pending, struct sentence *sentence);

/* Encodes the next group, or, of an encoder that divides, about so many multiplications of it. How many of the first sentences
 * are done: all with the encoding, or all with err set; 0: the group is not done yet. There must be one that waits. */
size_t pending_encode(struct pending *pending, size_t work, struct error *err);
/* The group that is done leaves, and its encoding goes. */
void pending_remove(struct pending *pending);

#endif
