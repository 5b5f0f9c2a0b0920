/* The facade of model/: all that the server sees.
 *
 * A translator is one loaded model, immutable and shared by all threads. A sentence is one unit of work: its source tokens, its
 * search options and, when done, its hypotheses. A batch is the live rows of one worker thread: sentences are admitted, all
 * rows advance one step at a time, finished sentences leave at once.
 *
 *   text --translator_prepare--> sentences --batch_admit, batch_step...--> done --translator_render--> text, offsets, words
 */
#ifndef ALIGND_TRANSLATOR_H
#define ALIGND_TRANSLATOR_H

#include "model/arena.h"
#include "model/character.h"
#include "model/error.h"
#include "model/file.h"
#include "model/reserve.h"
#include "model/search.h"
#include "model/segmenter.h"
#include "model/shortlist.h"
#include "model/tokenizer.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct translator;
struct batch;

/* What GET /models tells. Strings are owned by the translator. */
struct translator_info {
    const char *name, *source, *target, *task; /* source, target: BCP-47 */
    /* one line, e.g. "gru encoder 1x256 bidirectional, luong general attention, gru decoder 1x512" */
    const char *architecture;
    const char *compute, *storage; /* "int8"; "float16" */
    size_t parameters;
    size_t source_vocabulary, target_vocabulary;
    size_t max_source_tokens; /* </s> not counted */
    double max_target_ratio;
    bool source_end; /* the encoder reads </s>, so attention has a last column for it */
    bool shortlist;  /* in use */
    bool attention;  /* false: hypotheses have none, their attention rows are empty */
};

struct translator_options {
    /* How products with weights are computed (model/matrix.h): "float32", "bfloat16", "int8", or "auto": the fastest here, measured
     * while loading. NULL: "float32". */
    const char *compute;
    /* A sentence chooses its tokens from FOLDER/shortlist.safetensors' ids for it, some hundreds, instead of the whole vocabulary:
     * the tokens' log-probabilities and entropies are then over those alone, and its translation is another wherever the best of
     * all is not among them. A given target (translator_force) is scored over the whole vocabulary always. */
    bool shortlist;
};

/* Call once, before any thread starts and any model is opened: loads what processors without AVX2 multiply with, if it is there.
 * Never called, translations are the same, but for rounding, and slower on such processors. */
void translator_setup(void);

/* Loads a model folder (config.json, model.safetensors, tokenizer files, shortlist.safetensors if asked for). options: NULL for the
 * defaults. NULL with ERROR_INPUT (an unknown compute type, a shortlist for a model that copies), ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY. */
struct translator *translator_open(const char *folder, const struct translator_options *options, struct error *err);
void translator_free(struct translator *translator);
struct translator_info translator_info(const struct translator *translator);

/* An attention row that a step takes instead of the model's own. */
struct forced_attention {
    size_t step;
    const float *weights; /* [length] of the sentence, not negative, sum 1 */
};

struct sentence {
    /* the question: set by translator_prepare and the caller before batch_admit */
    const struct translator *translator;
    const char *text;     /* the whole input text, not owned, not NUL-terminated */
    struct span source;   /* this sentence's bytes within it */
    struct token *tokens; /* [length]; the last is </s> if the encoder reads it; offsets are within the sentence */
    size_t length;        /* T, 1.. */
    size_t unknown;       /* tokens that the vocabulary does not have */
    struct search_options options;
    bool usual_length;                         /* options.max_length is the model's, not the caller's */
    bool replace_unknowns;                     /* for translator_render; the caller's */
    const char *given;                         /* what the translation begins with: the text of options.prefix, */
    struct token *given_tokens;                /* [options.prefix_length] */
    struct forced_attention *forced_attention; /* [forced_count] at most one a step */
    size_t forced_count;
    const atomic_bool *cancelled; /* NULL, or: stop decoding when it turns true */
    void *owner;                  /* the caller's */

    /* the answer: valid when batch_step has handed the sentence back */
    struct hypothesis *hypotheses; /* [count], best first; NULL when error.code or dropped is set */
    size_t count;
    bool dropped; /* left because of *cancelled */
    struct error error;
    size_t steps; /* decoder steps taken */

    /* inside */
    struct arena arena; /* everything that belongs to this sentence */
    struct search search;
    struct memory *memory;     /* what the decoder looks at (model/row.h), while decoding */
    struct copies *copies;     /* target tokens that no vocabulary has (model/copies.h): of a model that copies, of phrases */
    struct target_ids targets; /* what it chooses from */
    const float *first_state;  /* of the decoder, where the search may come back to it */
    size_t first_row;          /* place in its batch */
};

/* Cuts text into sentences ready to be admitted: segmented (split true; otherwise the text is one sentence), tokenized, and, where
 * a sentence has more than max_source_tokens, wrapped at clause punctuation or white space. For strategies beam and greedy a
 * placeholder (model/placeholder.h) is one token, and is not cut: translator_constrain must follow. With split false a text over
 * the limit is ERROR_LENGTH, and where the output copies source words, so is a part over it that cannot be cut. text: valid UTF-8
 * that outlives the sentences. options: strategy and numbers for all; max_length 0 means the model's ratio, or min_length if that
 * is more. sentences: an array in the arena, each to be ended with sentence_done. A blank text gives count 0. -1 with ERROR_INPUT,
 * ERROR_LENGTH or ERROR_MEMORY. Thread-safe. */
int translator_prepare(const struct translator *translator, const char *text, size_t length, bool split,
                       const struct search_options *options, struct arena *arena, struct sentence **sentences, size_t *count,
                       struct error *err);

enum { TRANSLATOR_MAX_TARGET = 1000 }; /* tokens, whatever the options say */

/* Makes a prepared sentence score this target text instead (search_forced). target: valid UTF-8. -1 with ERROR_LENGTH
 * if it has more than TRANSLATOR_MAX_TARGET tokens, ERROR_INPUT if the model can but copy and the source has not all of them. */
int translator_force(struct sentence *sentence, const char *target, size_t length, struct error *err);

/* Makes a prepared sentence's translation begin with this text. prefix: valid UTF-8, not empty. The default of max_length becomes
 * what has room for it. -1 with ERROR_LENGTH if it has more than TRANSLATOR_MAX_TARGET tokens, ERROR_INPUT if it has more than
 * max_length or if the model can but copy and the source has not all of them. */
int translator_begin_with(struct sentence *sentence, const char *prefix, size_t length, struct error *err);

/* Source phrase -> target phrase, both NUL-terminated, not blank. */
struct glossary_entry {
    const char *source, *target;
};
struct glossary {
    const struct glossary_entry *entries; /* [count]; the strings must live until the call ends */
    size_t count;
};

/* Makes a prepared sentence's translation hold a target phrase wherever a source phrase stands in its text, and every placeholder
 * (model/placeholder.h) as it is; nothing changes where there are none. Behind translator_begin_with; for strategies beam and
 * greedy, with others nothing happens. Where source phrases overlap the first counts, of those that begin together the longest;
 * they are found as whole words, with the case as given or with a first letter of the other case. -1 with ERROR_INPUT if the model
 * cannot write a phrase, or with ERROR_MEMORY. */
int translator_constrain(struct sentence *sentence, const struct glossary *glossary, struct error *err);

/* Makes the step take these weights [count] as its attention, divided by their sum; they are finite, not negative and not all 0.
 * -1 with ERROR_INPUT if they are not as many as the source tokens. */
int translator_attend(struct sentence *sentence, size_t step, const double *weights, size_t count, struct error *err);

/* The piece that a token of the sentence's translation stands for; owned by it or the translator. */
const char *translator_piece(const struct sentence *sentence, int token);

/* Ends a sentence, admitted or not (but not while in a batch). */
void sentence_done(struct sentence *sentence);

/* A hypothesis as text. tokens [length]: pieces with their bytes within text. All in the arena. Thread-safe.
 * With replace_unknowns, <unk> is printed as the source token that got the most attention in its step (Luong et al. 2015), as it
 * stands in the source text; its piece is that text, too, unless the model copies: then it is <unk>, as the same word copied is
 * another hypothesis. </s> does not count, and a token without a character of its own stands
 * for the next. A model whose output spells (model/speller.h) spells it instead, always. A forced target and a prefix are printed
 * as they were given. */
struct rendering {
    char *text;
    struct token *tokens;
};
int translator_render(const struct sentence *sentence, const struct hypothesis *hypothesis, struct arena *arena,
                      struct rendering *out, struct error *err);

/* The same of its tokens from first on alone, as if nothing stood before them; first is behind what was given, or 0. */
int translator_render_rest(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t first, struct arena *arena,
                           struct rendering *out, struct error *err);

/* Words: runs of tokens between white space. word_of [count] gives each token's word, rising from 0; returns the number of words.
 * An empty token (begin == end) belongs to the word of the next that is not; after the last of those (</s>) to none: SIZE_MAX.
 * text: what the offsets of the tokens are of. */
size_t translator_words(const char *text, const struct token *tokens, size_t count, size_t *word_of);

/* A batch of at most max_rows rows, for one thread. Everything a step needs is allocated here, once. */
struct batch *batch_create(const struct translator *translator, size_t max_rows, struct error *err);
/* The batch must be empty. NULL allowed. */
void batch_free(struct batch *batch);
size_t batch_rows(const struct batch *batch);      /* live now */
size_t batch_sentences(const struct batch *batch); /* live now */

/* Rows that a sentence takes at most: what must be free before it is admitted. */
size_t sentence_max_rows(const struct sentence *sentence);

/* False while new sentences had better wait for others to be admitted with: for a few steps, and only while many rows are live. */
bool batch_wants(const struct batch *batch);

/* Encodes these sentences together and adds a row for each. The sum of sentence_max_rows over all live and new sentences must not
 * exceed max_rows. A sentence whose admission fails (memory) comes back from the next batch_step with its error set. */
void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count);

/* One decoder step for all live rows. Finished, failed and cancelled sentences leave the batch: they are written to done
 * (room for batch_sentences) and counted in the result. */
size_t batch_step(struct batch *batch, struct sentence **done);

#endif
