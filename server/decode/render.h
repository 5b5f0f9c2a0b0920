/* The words of a sentence and of its translation, and the weights between them. All results are in
 * the caller's arena. */
#ifndef ALIGND_RENDER_H
#define ALIGND_RENDER_H

#include "server/decode/request.h"

/* The words of one side, and which of them each token is part of. */
struct word_side {
    struct span *words; /* [count] bytes in the sentence's source text, or in its rendering */
    size_t count;
    struct word_range *tokens; /* [token_count] */
    size_t token_count;
};

struct word_sides {
    struct word_side source, target;
    bool source_end; /* the last source token is </s> */
};

/* A sentence and one of its hypotheses with its text. */
struct rendered_sentence {
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    const struct rendering *rendering;
};

/* Finds the words of both. A long run of words within a token is one word. */
int render_words(const struct rendered_sentence *rendered, enum word_kind kind, struct arena *arena,
                 struct word_sides *out, struct error *err);

/* Weights between words. */
struct word_matrix {
    size_t source_count, target_count;
    float *weights; /* [target_count, source_count] */
    float *ends; /* [target_count] the weight of the source's </s>: with it, rows have the sums of
                    the tokens' rows */
    bool merged; /* the weights of two models are merged (links_merge) */
};

/* Merges the rows of a hypothesis (its attention or alignment): they are summed over the pieces of
 * a source word and averaged over those of a target word. Of a piece with several words each gets
 * its share; if the other side's piece has as many words, each gets its own. */
int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena,
                 struct word_matrix *out, struct error *err);

/* Finds the source token (or word) that a target token is aligned with: of n source tokens without
 * </s>, the one with the most weight. Returns false if </s> has half of the weight or more (end),
 * or if no token has any: the target token is then unaligned, or the model's window
 * (attention.window, attention.source_depth) shows only </s>. */
bool render_aligned(const float *row, size_t n, float end, size_t *j);

#endif
