/* One unit of work: the question, set from a text, and its answer. */
#ifndef ALIGND_SENTENCE_H
#define ALIGND_SENTENCE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/search/search.h"
#include "model/text/opaque.h"
#include "model/text/segmenter.h"
#include "model/text/token.h"
#include "model/weights/shortlist.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct looks;
struct translator;

enum { TRANSLATOR_MAX_TARGET = 1000 }; /* tokens, whatever the options say */

/* An attention row that a step takes instead of the model's own. */
struct forced_attention {
    size_t step;
    const float *weights; /* [length] of the sentence, not negative, sum 1 */
};

/* Of a sentence whose amounts are compared with those of its translation; in its arena. */
struct sentence_amounts {
    struct search_options options; /* as they were asked for, before translator_constrain */
    /* The amounts of each side that have no equal on the other, as they are written: of the answer, valid when amounts_try_again
     * has said 0, or amounts_choose is done. */
    const char **source, **target;
    size_t source_count, target_count;
    struct span *places; /* [source_count] of those of the source, within the sentence */
};

struct sentence {
    /* the question: set by translator_prepare and the caller before batch_admit */
    const struct translator *translator;
    const char *text;        /* the whole input text, not owned, not NUL-terminated */
    struct span source;      /* this sentence's bytes within it */
    struct token *tokens;    /* [length]; the last is </s> if the encoder reads it; offsets are within the sentence */
    size_t length;           /* T, 1.. */
    bool verbatim;           /* translator_text's */
    struct opaque_runs held; /* of its bytes: come through as they are, each one token if the model and the search can do that */
    bool labelled;           /* the first is a label (model/variants.h), and not the text's */
    bool lowered; /* it is in capitals and was read in small letters (model/text/capitals.h); its translation is in capitals, too */
    size_t unknown;                   /* tokens that the vocabulary does not have */
    struct sentence_amounts *amounts; /* model/amounts.h; NULL: it has none, or they are not compared */
    bool untranslated;                /* the model can read few or none of its letters: its translation is its own text */
    struct search_options options;
    bool usual_length;                         /* options.max_length is the model's, not the caller's */
    bool replace_unknowns;                     /* for translator_render; the caller's */
    bool wants_alignment;                      /* hypotheses tell what the model's alignment head says; the caller's */
    bool wants_looks;                          /* the answer has what its heads looked at (model/looks.h); the caller's */
    const char *given;                         /* what the translation begins with: the text of options.prefix, */
    struct token *given_tokens;                /* [options.prefix_length] */
    struct forced_attention *forced_attention; /* [forced_count] at most one a step */
    size_t forced_count;
    const atomic_bool *cancelled; /* NULL, or: stop decoding when it turns true */
    void *owner;                  /* the caller's */

    /* the answer: valid when batch_step has handed the sentence back */
    struct hypothesis *hypotheses; /* [count], best first; NULL when error.code or dropped is set */
    size_t count;
    const struct looks *looks; /* of the best hypothesis, if they are wanted; NULL: of none */
    bool dropped;              /* left because of *cancelled */
    struct error error;
    size_t steps; /* decoder steps taken */

    /* inside */
    struct arena arena;     /* everything that belongs to this sentence, */
    struct arena decoding;  /* but for what only its steps read, while it is in a batch, */
    struct arena searching; /* and what a search of several rows looks at, until its answer is kept (model/answer.h) */
    struct search search;   /* behind the batch only what its options say, and its tree */
    struct memory *memory;  /* what the decoder looks at (model/network/row.h), while decoding */
    struct copies *copies;  /* target tokens that no vocabulary has (model/network/output.h): of a model that copies, of phrases */
    struct target_ids targets;   /* what it chooses from */
    const float *first_state;    /* of the decoder, where the search may come back to it */
    const float *alignment_keys; /* [T, A] of the alignment head, where it is asked */
    size_t first_row;            /* place in its batch */
};

/* A text to be translated. */
struct translator_text {
    const char *text; /* [length], valid UTF-8, which outlives the sentences */
    size_t length;
    struct opaque_runs held; /* what comes through as it is (guard_find) */
    bool split;              /* cut into sentences; otherwise it is one */
    bool verbatim;           /* nothing is held but what `held` says, and marks are read as they are */
};

/* Cuts a text into sentences ready to be admitted: segmented, tokenized, and, where a sentence has more than max_source_tokens,
 * wrapped at clause punctuation or white space. For strategies beam and greedy what is held is one token, and is not cut:
 * translator_constrain must follow. A text over the limit that is not split is ERROR_LENGTH, and where the output copies source
 * words, so is a part over it that cannot be cut. options: strategy and numbers for all; max_length 0 means the model's ratio, or
 * min_length if that is more. sentences: an array in the arena, each to be ended with sentence_done. A blank text gives count 0. -1
 * with ERROR_INPUT, ERROR_LENGTH or ERROR_MEMORY. Thread-safe. */
int translator_prepare_text(const struct translator *translator, const struct translator_text *text,
                            const struct search_options *options, struct arena *arena, struct sentence **sentences, size_t *count,
                            struct error *err);
/* The same, verbatim, but that placeholders of programs are held. */
int translator_prepare(const struct translator *translator, const char *text, size_t length, bool split,
                       const struct search_options *options, struct arena *arena, struct sentence **sentences, size_t *count,
                       struct error *err);

/* What counts as opaque in a text that this model translates: all that it finds by itself, unless verbatim. */
enum opaque_scope translator_scope(const struct translator *translator, bool verbatim);

/* True if what is held comes through it, with a search that can do that (search_constrains). */
bool translator_holds(const struct translator *translator);

/* What was prepared has another length now: sets the default of max_length anew. */
void sentence_limit(struct sentence *sentence);

/* Of its tokens those of the text: without a label before and </s> behind them. */
struct span sentence_own(const struct sentence *sentence);

/* It leaves its batch: only its own arena stays. */
void sentence_leave(struct sentence *sentence);

/* Ends a sentence, admitted or not (but not while in a batch). */
void sentence_done(struct sentence *sentence);

/* Rows that a sentence takes at most: what must be free before it is admitted. */
size_t sentence_max_rows(const struct sentence *sentence);

/* True if its search may drop some of what it has looked at: it has several rows. Of one that has not, all is the answer, and who
 * follows it step by step (search_last) may keep pointers. */
bool sentence_drops(const struct sentence *sentence);

/* Bytes that its decoding takes at most, and gives back when it leaves the batch: what its steps look at, and what they add to
 * that. At most SIZE_MAX. */
size_t sentence_max_bytes(const struct sentence *sentence);

/* Of sentence->decoding and ->searching: how large their blocks are, and those of what steps add to the past, made later. */
enum { SENTENCE_BLOCK_BYTES = 16 * 1024, SENTENCE_SEARCH_BYTES = 32 * 1024 };
size_t sentence_past_block(const struct sentence *sentence);

/* True if <unk> is replaced by the alignment, whatever else was asked for: of a source that has unknown words. Without one there is
 * almost never an <unk>; attention serves then, so that ordinary sentences keep nothing. */
bool sentence_replaces(const struct sentence *sentence);

/* The attention row that a step takes; NULL: the model's own. */
const float *sentence_forced(const struct sentence *sentence, size_t step);

/* Floats of a readout that is kept behind each attention row, where words are spelled from it. Where what the step leaves for later
 * steps and for the alignment head is kept comes next: the attention row is there as long as the answer is, and that only until the
 * sentence leaves. */
size_t sentence_readout(const struct sentence *sentence);

/* Floats of what the top layer puts out that are kept of each step for the alignment head: H, or 0. */
size_t sentence_top(const struct sentence *sentence);
/* So many of them stand behind the attention row itself: all, of a search that copies the rows of a path that it leaves (exact,
 * which has few), otherwise none: attention rows are there as long as the answer is. */
size_t sentence_top_inline(const struct sentence *sentence);

/* Weights that the heads of its model have for it and for so many steps (model/looks.h). */
size_t sentence_looks(const struct sentence *sentence, size_t steps);

/* Floats that each of its steps leaves there: what it adds to its row's past, and behind that what the alignment head will read
 * (model/soft_alignment.h). */
size_t sentence_added(const struct sentence *sentence);

/* What a hypothesis is as text (model/rendering.h): tokens [length], with their bytes within it. */
struct rendering {
    char *text;
    struct token *tokens;
};

#endif
