/* A sentence is one unit of work: the question, made from a text, and its answer. sentence.c makes
 * the question; a batch (batch.c) gives the answer. */
#ifndef ALIGND_SENTENCE_H
#define ALIGND_SENTENCE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/formality.h"
#include "model/search/search.h"
#include "model/text/spans.h"
#include "model/text/tokenizer.h"
#include "model/weights/weights.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct looks;
struct translator;

enum { TRANSLATOR_MAX_TARGET = 1000 }; /* tokens, the maximum for any options */

/* An attention row that a step takes instead of the model's own. */
struct forced_attention {
    size_t step;
    const float *weights; /* [length] of the sentence, not negative, sum 1 */
};

/* The kinds of comparison of a sentence with its translation, in the order of the answer. */
enum check { CHECK_NUMBERS, CHECK_SIGNS, CHECK_GLOSSARY, CHECKS };

/* The strings that each side has and the other lacks, as they are written. */
struct check_lists {
    const char **source, **target;
    size_t source_count, target_count;
};

/* Compares the signs of a whole text, as it was sent, with those of its translation, as it is
 * written: after all sentences are in their places, with what stood between them and the marks
 * around them. from, to: BCP-47. Takes time proportional to the lengths, and that of sorting the
 * signs. The lists are in the arena. Returns -1 if memory runs out. */
int correction_check_whole(const char *from, const char *to, struct bytes text,
                           struct bytes translation, struct arena *arena, struct check_lists *out);

/* Compares the amounts of a text with those of a translation that is not the model's own.
 * source_model, target_model: a model that reads the text's language, and one that writes the
 * translation's; they may be the same. An amount in the notation of another language differs. The
 * lists stay empty if the notation of a language is unknown; they are in the arena. Takes the time
 * of reading both texts and of sorting the amounts. Returns -1 if memory runs out. */
int correction_check_numbers(const struct translator *source_model,
                             const struct translator *target_model, struct bytes text,
                             struct bytes translation, struct arena *arena,
                             struct check_lists *out);

/* For a sentence that is compared with its translation (model/rendering.h); in its arena. */
struct sentence_check {
    struct search_options options; /* the caller's, before glossary_constrain changed them */
    bool applies[CHECKS];          /* the source has digits; it may have signs */
    bool shown; /* tokens of the first attempt were sent, so there is no retry; the caller's */
    /* Valid for the answer when correction_try_again has returned NULL or correction_choose is
     * done. */
    bool echoes; /* the retry only shows whether the first is a translation (echo.c) */
    bool rest;   /* a word translates a term of the glossary besides its phrase */
    struct check_lists lists[CHECKS];
    struct span
        *places; /* [lists[CHECK_NUMBERS].source_count] the source's amounts, within the sentence */
};

/* How the text of a sentence was read. */
struct sentence_reading {
    bool verbatim; /* translator_text's */
    size_t labels; /* the first tokens that are not the text's: a label (sentence_choose_variant) or
                      <s> */
    bool lowered;  /* the text is in capitals and was read in small letters; the translation will be
                      in capitals */
    size_t unknown; /* tokens that the vocabulary lacks */
};

/* The parts of the translation that the caller gives. */
struct sentence_given {
    const char *text;     /* it begins with this text, whose tokens are options.prefix and */
    struct token *tokens; /* [options.prefix_length] */
    struct forced_attention *attention; /* [attention_count] at most one a step */
    size_t attention_count;
    const char *suffix; /* it ends with this text; NULL: with any */
};

/* What the caller sets. */
struct sentence_caller {
    bool replace_unknowns;        /* for rendering_make */
    bool wants_alignment;         /* hypotheses have the rows of the model's alignment head */
    bool wants_scores;            /* steps keep the scores of their attention (struct step_row) */
    bool wants_looks;             /* the answer has the weights of all heads (struct looks) */
    const atomic_bool *cancelled; /* decoding stops when it turns true; NULL: it does not stop */
    void *owner;
};

/* What only the steps read, while the sentence is in a batch. */
struct sentence_decoding {
    struct arena arena;          /* holds the rest, but for */
    struct arena searching;      /* data of a search of several rows, until its answer is copied */
    struct memory *memory;       /* that the decoder attends to (model/network/network.h) */
    const float *first_state;    /* [S] the decoder's first state, if the search may return to it */
    const float **opening_past;  /* [opening_count] what the steps of the opening have added, [G]
                                    each */
    const float *alignment_keys; /* [T, A] of the alignment head, where it is wanted */
    size_t first_row;            /* place in its batch */
};

struct sentence {
    /* the question: sentence_prepare and the caller set it before batch_admit */
    const struct translator *translator;
    const char *text;     /* the whole input text, not owned, not NUL-terminated */
    struct span source;   /* this sentence's bytes within it */
    struct token *tokens; /* [length]; the last is </s> if the encoder reads it; offsets are within
                             the sentence */
    size_t length;        /* T, 1.. */
    struct sentence_reading reading;
    struct opaque_runs held; /* bytes that are copied unchanged; each run is one token if the model
                                and the search can do that */
    struct sentence_check *check; /* NULL if it is not compared */
    bool untranslated; /* its translation is its own text: the model can read few or no letters of
                          it, or found no words */
    struct search_options options;
    bool usual_length;  /* options.max_length is the model's, not the caller's */
    const int *opening; /* [translator's opening_count] tokens that the decoder reads before its
                           first step */
    struct sentence_given given;
    struct sentence_caller caller;

    /* the answer: valid when batch_step has handed the sentence back */
    struct hypothesis *hypotheses; /* [count], best first; NULL when error or dropped is set */
    size_t count;
    const struct looks *looks; /* weights of all heads for the best hypothesis, or NULL */
    bool dropped;              /* it left the batch because of *caller.cancelled */
    const struct error *error; /* NULL: none */
    size_t steps;              /* decoder steps taken */

    /* inside */
    struct arena arena;   /* holds all of the sentence but its decoding */
    struct search search; /* after the batch only its options and its tree are valid */
    struct sentence_decoding decoding;
    struct copies *copies; /* target tokens that no vocabulary has (model/network/network.h), for
                              phrases and models that copy */
    struct target_ids
        targets; /* the search chooses from these; its ids may be freed when it leaves its batch */
};

/* ---- making the question ---- */

/* A text to translate. */
struct translator_text {
    const char *text; /* [length], valid UTF-8, which outlives the sentences */
    size_t length;
    struct opaque_runs held; /* copied unchanged (guard_find) */
    bool split;              /* cut into sentences; otherwise it is one */
    bool verbatim;           /* only `held` is held, and marks are read as they are */
    struct formality_wish formality;
};

struct sentence_list {
    struct sentence *all; /* [count], in the caller's arena */
    size_t count;
};

/* Cuts a text into sentences ready to be admitted: segmented, tokenized, and, where a sentence has
 * more than max_source_tokens, wrapped at clause punctuation or white space. If the model and the
 * search can copy held runs (sentence_holds), each is one token and is not cut;
 * glossary_constrain must follow. A text over the limit that is not split gets ERROR_LENGTH, and
 * so does a part over it that cannot be cut if the output copies source words. options: strategy
 * and numbers for all; max_length 0 means the model's ratio, or min_length if that is more. End
 * each of the sentences with sentence_done; a blank text has none. Returns -1 with ERROR_INPUT,
 * ERROR_LENGTH or ERROR_MEMORY. Thread-safe. */
int sentence_prepare(const struct translator *translator, const struct translator_text *text,
                     const struct search_options *options, struct arena *arena,
                     struct sentence_list *out, struct error *err);
/* Makes the same sentences one by one, for a caller that keeps few. take gets each in turn and must
 * end it, unless take fails. */
struct sentence_taker {
    int (*take)(void *owner, struct sentence *sentence, struct error *err);
    void *owner;
};
int sentence_read_text(const struct translator *translator, const struct translator_text *text,
                       const struct search_options *options, const struct sentence_taker *taker,
                       struct arena *arena, struct error *err);
/* Makes one of these sentences again, the same in all bits. span: its source; text->held:
 * sentence.held, at their places in the text. */
int sentence_prepare_again(const struct translator *translator, const struct translator_text *text,
                           struct span span, const struct search_options *options,
                           struct sentence *sentence, struct error *err);

/* Returns which runs count as opaque in a text that this model translates. */
unsigned sentence_notations(const struct translator *translator, bool verbatim);
/* Returns true if held runs can be copied by the model, with a search that can do that
 * (search_constrains). */
bool sentence_holds(const struct translator *translator);

/* Models of several target languages: puts the label of a variant (translator_info) before the
 * tokens of a prepared sentence, which must come first of all changes. The default of max_length
 * counts it. Returns -1 with ERROR_INPUT (the model lacks the variant) or ERROR_MEMORY. */
int sentence_choose_variant(struct sentence *sentence, const char *variant, struct error *err);

/* Models of many languages: the source begins with the token of its language, and the decoder reads
 * that of the target's before its first step; both are codes or aliases of the model's
 * (translator_info). It must come first of all changes. Returns -1 with ERROR_INPUT (the model
 * lacks one of them) or ERROR_MEMORY. Models that name only the target, by a label, take that of
 * their variant. */
int sentence_choose_languages(struct sentence *sentence, const char *source, const char *target,
                              struct error *err);

/* Makes a prepared sentence score this target text instead (search_forced). target: valid UTF-8.
 * Returns -1 with ERROR_LENGTH if it has more than TRANSLATOR_MAX_TARGET tokens, or ERROR_INPUT if
 * the model only copies and the source lacks one of them. */
int sentence_force(struct sentence *sentence, const char *target, size_t length, struct error *err);

/* Makes a prepared sentence's translation begin with this text. prefix: valid UTF-8, not empty. The
 * default of max_length grows to have room for it. Returns -1 with ERROR_LENGTH if it has more than
 * TRANSLATOR_MAX_TARGET tokens, or ERROR_INPUT if it has more than max_length or if the model only
 * copies and the source lacks one of them. */
int sentence_begin_with(struct sentence *sentence, const char *prefix, size_t length,
                        struct error *err);

/* Makes a prepared sentence's translation end with this text, which is the last of its phrases:
 * glossary_constrain must follow. White space before it is as its first word needs it. suffix:
 * valid UTF-8. Returns -1 with ERROR_INPUT if it is blank, or ERROR_MEMORY. */
int sentence_end_with(struct sentence *sentence, const char *suffix, size_t length,
                      struct error *err);

/* Makes the step take these weights [count] as its attention, divided by their sum; they are
 * finite, not negative and not all 0. Returns -1 with ERROR_INPUT if there is not one for each
 * source token. */
int sentence_attend(struct sentence *sentence, size_t step, const double *weights, size_t count,
                    struct error *err);

/* Returns the sentence's own text, [sentence_text_length] bytes. */
const char *sentence_text(const struct sentence *sentence);
size_t sentence_text_length(const struct sentence *sentence);

/* Ends a sentence, admitted or not (but not while it is in a batch). */
void sentence_done(struct sentence *sentence);

/* ---- the rows and memory of a sentence ---- */

/* Returns the range of the text's own tokens, without a label before them and </s> after them. */
struct span sentence_own(const struct sentence *sentence);

/* Returns the most rows that a sentence needs; they must be free before it is admitted. */
size_t sentence_max_rows(const struct sentence *sentence);

/* Returns true if its search may drop rows that it has looked at, because it has several or returns
 * to earlier steps. Otherwise all rows are part of the answer, and a caller that follows the search
 * step by step (search_last) may keep pointers. */
bool sentence_drops(const struct sentence *sentence);

/* Returns the most bytes that its decoding takes and frees when it leaves the batch: the memory
 * that its steps attend to, and what they add to their past. At most SIZE_MAX. */
size_t sentence_max_bytes(const struct sentence *sentence);

/* Block sizes of the arenas of struct sentence_decoding, and of the blocks for what steps add to
 * the past. */
enum { SENTENCE_BLOCK_BYTES = 16 * 1024, SENTENCE_SEARCH_BYTES = 32 * 1024 };
size_t sentence_past_block(const struct sentence *sentence);

/* Returns true if the alignment chooses the words that replace <unk>: if the caller wants them
 * replaced and the source has unknown words. Otherwise there is almost never an <unk>, and
 * attention serves, so that ordinary sentences keep nothing. */
bool sentence_replaces(const struct sentence *sentence);

/* Returns the attention row that a step takes, or NULL for the model's own. */
const float *sentence_forced(const struct sentence *sentence, size_t step);

/* Returns the floats of a readout that are kept of each step, where words are spelled from it. */
size_t sentence_readout(const struct sentence *sentence);

/* Returns how many scores of the attention are kept of each step: T if they are wanted and there is
 * attention, or 0. */
size_t sentence_scores(const struct sentence *sentence);

/* Returns how many floats of the top layer's output are kept of each step for the alignment head:
 * H, or 0. */
size_t sentence_top(const struct sentence *sentence);
/* Returns how many of them the search stores itself: all, if it copies the rows of a path that it
 * leaves (exact, which has few); otherwise none, because rows live as long as the answer. */
size_t sentence_top_inline(const struct sentence *sentence);

/* Returns the number of weights that the heads of its model have for it and for this many steps
 * (struct looks). */
size_t sentence_looks(const struct sentence *sentence, size_t steps);

/* Returns the floats that each of its steps leaves: what it adds to its row's past, then what the
 * alignment head will read. */
size_t sentence_added(const struct sentence *sentence);

/* Sets the sentence's error, unless it has one. */
void sentence_fail(struct sentence *sentence, const struct error *error);

/* Frees all but the sentence's own arena when it leaves its batch. */
void sentence_leave(struct sentence *sentence);

#endif
