/* Decoded sentences -> text and word alignments: what JSON replies and the batch modes have in common. */
#ifndef ALIGND_RENDER_H
#define ALIGND_RENDER_H

#include "server/decode/request.h"

/* The answer to one text: its sentences' best hypotheses with the white space of the source between them. */
struct rendered {
    char *text; /* NUL-terminated */
    size_t length;
    struct rendering *sentences; /* [text.count] */
    size_t *begins;              /* [text.count] where each starts in text */
};

/* Every sentence must have hypotheses. All in the arena. */
int render_text(const struct text *text, struct arena *arena, struct rendered *out, struct error *err);

/* Source bytes between the end of sentence i - 1 and the start of sentence i; i == count: what follows the last. */
struct span render_gap(const struct text *text, size_t i);

/* One side's words, and which of them each token has a part of. */
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

/* The words of a sentence and of a hypothesis; long runs of them within a token are one. All in the arena. */
int render_words(const struct sentence *sentence, enum word_kind kind, const struct hypothesis *hypothesis,
                 const struct rendering *rendering, struct arena *arena, struct word_sides *out, struct error *err);

/* Weights between words. */
struct word_matrix {
    size_t source_count, target_count;
    float *weights; /* [target_count, source_count] */
    float *ends;    /* [target_count] what the source's </s> got: with it, rows sum to what those of the tokens do */
};

/* Rows of a hypothesis (its attention or alignment) merged: summed over the pieces of a source word, averaged over those of a
 * target word; a piece of several words gives each its share, or, to a piece of as many, each to its own. All in the arena. */
int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena, struct word_matrix *out,
                 struct error *err);

/* What a target token (or word) is aligned with: of the n source tokens that are not </s> the one with the most weight. False: </s>
 * has half of the weight or more (end), or no token has any: there is none, or the model's window (attention.window,
 * attention.source_depth) shows only </s>. */
bool render_aligned(const float *row, size_t n, float end, size_t *j);

/* Index of the greatest of n values, the first if there are several; n >= 1. */
size_t render_argmax(const float *values, size_t n);

#endif
