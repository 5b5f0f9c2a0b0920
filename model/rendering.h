/* Hypotheses as text. */
#ifndef ALIGND_RENDERING_H
#define ALIGND_RENDERING_H

#include "model/sentence.h"

/* The piece that a token of the sentence's translation stands for; owned by it or the translator. */
const char *translator_piece(const struct sentence *sentence, int token);

/* A hypothesis as text. tokens [length]: pieces with their bytes within text. All in the arena. Thread-safe.
 * With replace_unknowns, <unk> is printed as the source token that it is aligned with (sentence_replaces) or that got the
 * most attention in its step (Luong et al. 2015), as it stands in the source text; its piece is that text, too, unless the model
 * copies: then it is <unk>, as the same word copied is another hypothesis. </s> does not count, and a token without a character of
 * its own stands for the next. A model whose output spells (model/network/output.h) spells it instead, always. A forced target and
 * a prefix are printed as they were given. */
int translator_render(const struct sentence *sentence, const struct hypothesis *hypothesis, struct arena *arena,
                      struct rendering *out, struct error *err);

/* The same of its tokens from first on alone, as if nothing stood before them; first is behind what was given, or 0. */
int translator_render_rest(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t first, struct arena *arena,
                           struct rendering *out, struct error *err);

#endif
