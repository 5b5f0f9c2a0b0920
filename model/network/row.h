/* One live hypothesis in one step, as batch, decoder, attention and output layer know it: the batch says what a row reads and where
 * its results go, the decoder writes what it shows of the step, the output layer what it makes of that. Rows of different sentences
 * go through a step together. R rows are an array, and their vectors of one kind (states, readouts, inputs, tops, logits,
 * distributions) lie side by side: row r's begin r times their size behind the first row's, so that one product reads them all.
 *
 * What a row carries from step to step is of two kinds (struct decoder_shape):
 *
 * - A state of fixed size, whatever the length of the hypothesis: read and updated in place, copied when a beam is reordered.
 * - A past that grows: what a step adds (such as the keys and values of self-attention, layer by layer) is written once and stays
 *   where it is until the sentence leaves the batch; behind the attention row of that step stands where. A row knows its past as a
 *   path through the search's nodes (search_past): one pointer a step. So nothing is copied when rows are reordered, two hypotheses
 * share what they have in common, and a search that comes back to an earlier step finds its past as it was. */
#ifndef ALIGND_ROW_H
#define ALIGND_ROW_H

#include <stddef.h>

struct copies;
struct distribution;
struct target_ids;

/* What a decoder looks at, made once for a sentence: an entry for each of its source tokens, whose keys and values hold those of
 * all layers that attend, side by side. Owned by the sentence's arena. */
struct memory {
    size_t length;       /* T */
    const float *keys;   /* [T, K], as the scores read them */
    const float *values; /* [T, P], of which contexts are weighted sums */
};

/* The weights of all layers' heads in one step, for whoever wants to see them. */
struct row_looks {
    float *self, *cross; /* [layers, heads, step + 1], [layers, heads, T]; NULL: not wanted, or there are none */
};

struct row {
    /* read; set by the batch in every step */
    int token;                        /* the last one; DECODER_FIRST: there is none */
    size_t step;                      /* target tokens before this one */
    const struct memory *memory;      /* its sentence's */
    const struct copies *copies;      /* its sentence's; NULL: it has none */
    const struct target_ids *targets; /* what it chooses from; NULL: the whole vocabulary, and its copies */
    size_t wanted;                    /* how many of its best tokens its search wants to know */
    const float *forced;              /* [T] the attention that is taken instead of the model's own; NULL: its own */
    const float *const *past;         /* [step + 1] what each step on its path has added, [G] each, this one last (it is `added`);
                                       * NULL where steps add nothing */

    float *state; /* [S] updated */

    /* written */
    float *added;     /* [G] what this step adds to its past; NULL where steps add nothing */
    float *attention; /* [T], if there is attention */
    float *readout;   /* [O] */
    float *input;     /* [E] the token's embedding; NULL: not wanted */
    struct row_looks looks;
    float *top;                        /* [H] what the decoder's top layer puts out; NULL: not wanted */
    float *logits;                     /* [stride] */
    struct distribution *distribution; /* what its search reads */
};

#endif
