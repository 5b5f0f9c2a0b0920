/* This module presents a hypothesis to its readers: as text, in words, with an estimate of its
 * quality, and with corrections. */
#ifndef ALIGND_RENDERING_H
#define ALIGND_RENDERING_H

#include "model/sentence.h"

/* Returns the piece that a token of the sentence's translation stands for; the sentence or the
 * translator owns it. */
const char *rendering_piece(const struct sentence *sentence, int token);

/* A hypothesis as text: tokens [length], with their bytes within it. */
struct rendering {
    char *text;
    struct token *tokens;
};

/* Writes a hypothesis as text, all in the arena. Thread-safe.
 * With replace_unknowns, <unk> is printed as the source token that it is aligned with
 * (sentence_replaces) or that got the most attention in its step (Luong et al. 2015), as it stands
 * in the source text; its piece is that text, too, unless the model copies: then it is <unk>, as
 * the same word copied is another hypothesis. </s> does not count, and a token without a character
 * of its own stands for the next. A model whose output spells (model/network/network.h) always
 * spells it instead. A forced target and a prefix are printed as they were given. */
int rendering_make(const struct sentence *sentence, const struct hypothesis *hypothesis,
                   struct arena *arena, struct rendering *out, struct error *err);

/* Writes only the tokens from first on, as if nothing stood before them; first is 0 or after the
 * given tokens. */
int rendering_make_rest(const struct sentence *sentence, const struct hypothesis *hypothesis,
                        size_t first, struct arena *arena, struct rendering *out,
                        struct error *err);

/* ---- words: the same notion for source and target ---- */

/* Words as segmenter_words cuts them, or at white space for a text that was cut into words before.
 */
enum word_kind { WORDS_UNICODE, WORDS_SPACED };

/* Gives the words of a text, valid UTF-8: spans in order, in the arena. Thread-safe. Returns
 * -1 with ERROR_LENGTH or ERROR_MEMORY. */
int rendering_words(const struct translator *translator, enum word_kind kind, struct bytes text,
                    struct arena *arena, struct spans *out, struct error *err);

/* Words first to end - 1. */
struct word_range {
    size_t first, end;
};

/* Sets ranges [count] to the words that each token has characters of. A token without any, such as
 * a blank, belongs to the word that follows it; one after the last word (</s>) has first == end.
 * tokens and words [word_count] are places of text. */
void rendering_words_of_tokens(const char *text, const struct token *tokens, size_t count,
                               const struct span *words, size_t word_count,
                               struct word_range *ranges);

/* ---- the weights with which a model attended ----
 * They are computed and kept only for sentences that ask for them (wants_alignment, wants_looks).
 */

/* Returns the row [T] of the alignment head for a token that was just decided, in the arena, while
 * the sentence is in a batch; the attention of the step that decided it, if nothing is kept.
 * Returns NULL with ERROR_MEMORY. */
const float *soft_alignment_row(const struct sentence *sentence, const struct decision *decision,
                                struct arena *arena, struct error *err);

/* The weights of a transformer's heads. */
enum looks_part { LOOKS_ENCODER, LOOKS_DECODER, LOOKS_CROSS, LOOKS_PARTS };

/* The numbers of layers and of heads in each; 0, 0 if the network has no heads. weights: as
 * looks_row reads them. */
struct look_set {
    size_t layers, heads;
    float *weights;
};

struct looks {
    size_t source, target; /* T; n, with </s> if the hypothesis ended */
    struct look_set parts[LOOKS_PARTS];
};

/* Returns the weights of one head for row i, and their number: for a source token i all T; for the
 * step of target token i all T source tokens (cross), or the i + 1 that had been read by then
 * (decoder): the start, and the i tokens before it. Each row sums to 1. */
const float *looks_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head,
                       size_t i, size_t *count);

/* ---- quality: how likely it is that a word, or a sentence, of a translation is correct ----
 *
 * Two logistic regressions (model/weights/weights.h), p = 1 / (1 + exp(-(w . features + c))), of
 * these features of the decoder:
 *
 *   log-probability  of a word: the sum over its tokens; of a sentence: over all steps, </s> too
 *   entropy          the mean over the same, nats
 *   gap              the least over the same of a token's log-probability less that of the best
 * other token coverage         of a word: how much all rows of the soft alignment together give the
 * source token that one of its tokens is aligned with, the mean over its tokens; of a sentence: the
 * mean over the source tokens of the same, at most 1 sharpness        the largest weight in a
 * token's row of the soft alignment, the mean over the tokens
 *
 * A model with Bergamot's regression has instead the mean and the least of the log-probabilities of
 * a word's tokens, how many they are, and the mean over all tokens but </s>; a word there lies
 * between white space, and each of our words gets the number of the one that it is in. A sentence's
 * number is the geometric mean of those, 0 if there is none.
 *
 * </s> of the source never counts; without attention the last two features are 0. Log-probabilities
 * and gaps below -50 count as -50, gaps above 10 as 10. weights/evaluation/quality.py has the same
 * arithmetic; a golden case holds both to the same numbers. */

/* Estimates, 0 to 1. words [count], in the arena. */
struct quality {
    float sentence, *words;
    size_t count;
};

/* The words of a hypothesis. */
struct token_words {
    const struct word_range *tokens; /* [hypothesis->length] the words that each has a part of */
    size_t count;                    /* of the words of its text */
};

/* Estimates the quality of a hypothesis whose alternatives were asked for, with a model that can
 * (translator_info.quality). Thread-safe. Returns -1 with ERROR_MEMORY. */
int rendering_quality(const struct sentence *sentence, const struct hypothesis *hypothesis,
                      const struct token_words *words, struct arena *arena, struct quality *out,
                      struct error *err);

/* ---- doubt ----
 * A translation is doubtful if the search itself was unsure of most of its words. A word's
 * log-probability is the sum of its tokens'; words stand between white space, and those without a
 * letter do not count, nor do tokens of no vocabulary (opaque runs, glossary phrases). The estimate
 * is the geometric mean of the probabilities of three fifths of the words, those of least
 * probability: all of a short sentence can be wrong because of one word, whereas a long one always
 * has a few rare ones. It needs no trained weights and only data that every search keeps. Up to
 * eight words have one limit for all models; more words have the model's own (limits.doubt of
 * config.json). weights/evaluation/doubt.py chooses that, and measures all with judged
 * translations.
 */

struct doubt {
    bool doubtful;
    double estimate;    /* 0 to 1 */
    struct span *words; /* [word_count] of the rendering's text, if doubtful: the words that are
                           less probable than the limit */
    size_t word_count;
};

/* Measures a decoded hypothesis whose target was not given. The words are in the arena.
 * Thread-safe. Returns -1 with ERROR_MEMORY.
 */
int rendering_doubts(const struct sentence *sentence, const struct hypothesis *hypothesis,
                     struct arena *arena, struct doubt *out, struct error *err);

/* ---- hypotheses that are corrected (retelling.c) ---- */

struct retold_token {
    int id;
    size_t step;       /* step of the hypothesis whose rows it takes over; in ascending order */
    bool added;        /* has no log-probability of its own */
    const char *piece; /* how it is printed; NULL: as usual */
};

/* Gives the hypothesis these tokens. The log-probability of each step goes to the first token of
 * this or a later step that is not added, or to </s>, so that all sums stay. The arena is the
 * sentence's. Returns -1, and changes nothing, if memory runs out. */
int retelling_make(struct hypothesis *h, const struct retold_token *tokens, size_t count,
                   struct arena *arena);

enum { EDIT_BYTES = 64 };

/* A change of the translation: its bytes [at, at + removed) become put[length]. apart: with spaces
 * around it. order: of the signs in the source. */
struct edit {
    size_t at, removed, length, order;
    bool apart;
    char put[EDIT_BYTES];
};

/* Gives the best hypothesis the tokens of its text with these edits, which it sorts. Each takes
 * over the rows of the token from which its first byte comes. What is put in is a token of its own,
 * printed as it stands, if the vocabulary cannot write it. Returns false, and changes nothing, if
 * an edit is within a token of no vocabulary or memory is out. */
bool retelling_edit(struct sentence *sentence, const struct rendering *rendering,
                    struct edit *edits, size_t count, struct arena *scratch);

/* ---- corrections after the search (correction.c): amounts and signs ----
 * Compares the amounts of a sentence (model/text/numbers.h) and its signs (model/text/signs.h) with
 * those of its translation. If they differ, a retry is made, in which each missing amount
 * is held and written as in the target language. If signs differ, all signs of the source are held
 * in it, and the model can write no others. Signs that differ even then are put back in the order
 * of the source (model/mending.h).
 *
 *   batch_step hands a sentence back -> correction_try_again -> the retry is decoded like any
 * other -> correction_choose
 *
 * This concerns searches that choose the target (search_constrains), samples excepted, of models
 * that translate. Amounts are compared if the source has digits and ICU knows both languages'
 * numbers. Runs that are held and phrases of a glossary are left out on both sides. A sentence has
 * at most one retry, and none if its model cannot hold runs. */

struct lexicon; /* model/glossary.h */

/* Compares a sentence that has been decoded with its translation. Returns NULL if they agree or
 * cannot be corrected. Otherwise the result is a retry, a sentence in the first one's arena, to be
 * decoded for the same owner and then given to correction_choose. lexicon: of the client's
 * glossary, or NULL; it outlives the sentences. */
struct sentence *correction_try_again(struct sentence *sentence, const struct lexicon *lexicon);

/* Puts the one with fewer differences into *sentence and ends the other one. The retry
 * need not have been decoded. */
void correction_choose(struct sentence *sentence, struct sentence *retry);

/* ---- corrections: a translation that is the text itself (echo.c) ----
 * If the best translation has the characters of its source, which has capital letters and words
 * that the vocabulary knows only in small ones, the retry is the text in small letters. If
 * that is translated, the sentence is said to be untranslated; it stays as it is, since it may be a
 * name after all. Texts with opaque runs or phrases of a glossary are not judged. */

/* Returns the retry, in the arena, which is the sentence's; NULL if there is none. */
struct sentence *echo_try_again(const struct sentence *sentence, struct arena *arena);
/* Returns whether the retry is a translation. */
bool echo_is_untranslated(const struct sentence *retry);

/* ---- corrections: the mark at the end (ending.c) ----
 * Corrects the mark that ends a sentence, so that a question stays a question and an exclamation
 * stays an exclamation.
 *
 * Models sometimes end the translation of "Watch out!" with a full stop or with nothing. Such a
 * translation gets the mark of its source as its language writes it, instead of its own mark, which
 * costs nothing if the marks agree. The new token takes over the attention and the log-probability
 * of the token in its place, so that all sums stay the same; it has 0 if there was none.
 * Translations that are forced, given, verbatim or looked into (a tree, heads) stay as they are,
 * and so do marks that are copied unchanged. An opening mark, as in Spanish, is not added. */

/* Returns true if the source ends with such a mark and ending_mend may change the end of the
 * translation. */
bool ending_is_asked(const struct sentence *sentence);
/* Returns true if a token of the translation consists only of marks, so that it may be replaced. */
bool ending_may_replace(const struct sentence *sentence, int token);
/* Corrects the hypotheses of a decoded sentence and removes those that become equal to a better
 * one. They stay as they were if memory runs out. */
void ending_mend(struct sentence *sentence);

#endif
