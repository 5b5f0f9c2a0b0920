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

/* Attention between words: summed over the pieces of a source word, averaged over those of a target word. The columns of </s> are
 * left out, so rows sum to 1 less what it got. */
struct word_attention {
    struct span *source, *target; /* [source_count], [target_count] bytes in the sentence's source text and its rendering */
    size_t source_count, target_count;
    float *weights; /* [target_count, source_count] */
};
int render_words(const struct sentence *sentence, const struct hypothesis *hypothesis, const struct rendering *rendering,
                 struct arena *arena, struct word_attention *out, struct error *err);

/* The source word that target word i is aligned with: the one with the most attention. false if none has any: there is no word, or
 * the model's window (attention.window, attention.source_depth) shows only </s>. */
bool render_aligned(const struct word_attention *words, size_t i, size_t *j);

/* Index of the greatest of n values, the first if there are several; n >= 1. */
size_t render_argmax(const float *values, size_t n);

#endif
