/* One live hypothesis in one step, as batch, decoder, attention and output layer see it: the batch says what the row reads and
 * where its results go, the decoder writes what the step produced, and the output layer turns that into a distribution. Rows of
 * different sentences go through a step together. R rows are an array, and their vectors of one kind (states, readouts, inputs,
 * tops, logits, distributions) lie side by side: row r's vector begins r times its size after the first row's, so that one product
 * reads them all.
 *
 * A row carries two kinds of things from step to step (struct decoder_shape):
 *
 * - A state whose size does not depend on the length of the hypothesis. It is read and updated in place, and copied when a beam is
 *   reordered.
 * - A past that grows. The addition of a step, such as the keys and values of self-attention, is written once and stays where it is
 *   until the sentence leaves the batch; it stands after the attention row of that step. A row knows its past as a path through the
 *   search's nodes (search_past), one pointer a step. So reordering rows copies nothing, hypotheses share what they have in common,
 *   and a search that comes back to an earlier step finds its past unchanged. */
#ifndef ALIGND_ROW_H
#define ALIGND_ROW_H

#include "model/compute/kernels.h"
#include <stddef.h>

struct copies;
struct target_ids;

/* The next token of a row, as the output layer describes it to the search: log p(token) = logits[token] - log_sum. With ids, log
 * p(ids[i]) = logits[i] - log_sum, and no other token is possible. */
struct distribution {
    const float *logits;      /* [size] */
    const int *ids;           /* [size] the tokens, ascending; NULL: 0 .. size - 1 */
    float log_sum;            /* log of the sum of exp(logits) */
    float entropy;            /* of the whole distribution, in nats */
    size_t size;              /* V, or the number of ids */
    const struct ranked *top; /* [top_count] the best tokens, best first; of equals the lower one comes first */
    size_t top_count;         /* as many as were wanted, or fewer if all others are impossible or NaN */
};

/* The source as a decoder sees it: an entry for each source token, computed once for a sentence. Keys and values hold those of all
 * layers that attend, side by side. The sentence's arena owns them. */
struct memory {
    size_t length;       /* T */
    const float *keys;   /* [T, K], as the scores read them */
    const float *values; /* [T, P], of which contexts are weighted sums */
};

/* The weights of all layers' heads in one step; NULL where they are not wanted or do not exist. */
struct row_looks {
    float *self, *cross; /* [layers, heads, step + 1], [layers, heads, T] */
};

struct row {
    /* Input, set by the batch in every step. */
    int token;                        /* the last token, or DECODER_FIRST before the first one */
    size_t step;                      /* target tokens before this one */
    const struct memory *memory;      /* of the sentence */
    const struct copies *copies;      /* of the sentence; NULL: it has none */
    const struct target_ids *targets; /* the tokens to choose from; NULL: the whole vocabulary, and the sentence's copies */
    size_t wanted;                    /* how many of its best tokens the search wants to know */
    const float *forced;              /* [T] the attention that replaces the model's own; NULL: the model's own */
    const float *const *past;         /* [step + 1] what each step on the path has added, [G] each, this one (`added`) last;
                                       * NULL where steps add nothing */

    float *state; /* [S] updated */

    /* Output. */
    float *added;     /* [G] what this step adds to its past; NULL where steps add nothing */
    float *attention; /* [T], if there is attention */
    float *readout;   /* [O] */
    float *input;     /* [E] the token's embedding; NULL: not wanted */
    struct row_looks looks;
    float *top;                        /* [H] the output of the decoder's top layer; NULL: not wanted */
    float *logits;                     /* [stride] */
    struct distribution *distribution; /* what the search reads */
};

#endif
