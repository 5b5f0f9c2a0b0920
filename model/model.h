/* The files of model/ share these declarations: the parts of a translator, and splitting a long
 * text. The server does not include this header. */
#ifndef ALIGND_MODEL_H
#define ALIGND_MODEL_H

#include "model/formality.h"
#include "model/network/network.h"
#include "model/text/numbers.h"
#include "model/text/signs.h"
#include "model/text/spans.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

struct sentence;

/* The attention that chose a token does not know that token yet; this head does (Chen et al. 2020).
 * a[i][j] = softmax_j of q_i . k_j over the sentence's own tokens, where q_i = W [e(y_i); s_i] + b
 * reads the token's own embedding and the top layer's output in the step that chose it, and k_j = U
 * [h_j; e(x_j)] the annotation and the embedding of source token j. Nothing else reads the result
 * (weights/alignment/align_head.py). */
struct alignment {
    const struct kernels *kernels;
    struct linear query; /* [A, E + H]; out 0: the model has no head */
    struct linear key;   /* [A, D + E'] */
};

struct translator {
    struct model_config config;
    struct weights *weights;
    struct tokenizer *source, *target, *characters; /* characters: NULL unless the output spells */
    bool holds;               /* opaque runs: it has <unk>, to read and to write in their place */
    unsigned notations;       /* which runs are opaque, unless the caller asks for verbatim */
    struct readable readable; /* for the source; set where the notations are NOTATION_ALL */
    struct labels variants;
    struct model_languages languages;
    struct language_ids {
        int source, target;
        struct target_ids list; /* the ids that a translation into it is chosen from; none: from
                                   all, or by source pieces */
    } * language_ids;           /* [languages.count] their tokens */
    int *opening; /* [opening_count] decoder.prefix: pieces that begin each translation, which its
                     tokens do not include */
    size_t opening_count;
    bool *continues; /* [V] pieces that continue a word; NULL where each piece is a word or a
                        character */
    short *bytes;    /* [V] tokenizer_byte of the target's pieces; NULL if it has no byte pieces */
    struct segmenter *segmenter;
    /* NULL if the model does not translate or ICU does not know how the language writes numbers */
    struct number_words *source_numbers, *target_numbers;
    struct sign_rules sign_rules;
    bool *signs, *marks; /* [V] pieces of the target that have signs; that are a mark, of which two
                            are a sign. NULL: not compared */
    struct formality_tables *formality;
    struct shortlist *shortlist;     /* NULL if not in use */
    struct quality_weights *quality; /* NULL if the model does not estimate quality */
    struct pages pages;              /* the backend's */
    struct arena arena;              /* holds the parts of the network */
    struct backend backend;
    struct encoder encoder;
    struct decoder decoder;
    struct output output;
    struct alignment alignment;
    struct speller speller;
    char architecture[288];
    char unmapped[160];              /* see translator_info */
    size_t tokenizer_bytes;          /* an estimate */
    size_t source_size, target_size; /* sizes of vocabularies that translator_options.pack drops */
};

/* ---- long texts (sentence.c) ---- */

/* How a text is read, and how long a piece of it may be. */
struct text_reading {
    const struct tokenizer *tokenizer;
    struct tokenizer_reading how; /* .held: runs of the text, each of which is one token */
    size_t max_tokens;
};

/* Cuts text[sentence] into pieces of at most max_tokens (>= 1) tokens each, counted as each piece
 * is tokenized on its own. A piece ends, by preference, after the last clause mark that fits, at
 * the last white space that fits, or between any two tokens. Spans are within text, in order,
 * without the white space around them; no visible character is lost. A sentence that fits is one
 * piece, blank text none. Only a piece of one token, which cannot be cut, may be longer (one
 * character can stand for many, such as U+FDFA). A sentence of more than 4 kB is tokenized piece by
 * piece. Takes time proportional to the length. Returns -1 with ERROR_LENGTH, ERROR_INPUT or
 * ERROR_MEMORY. */
int text_wrap(const struct text_reading *reading, const char *text, struct span sentence,
              struct arena *arena, struct spans *out, struct error *err);

/* Returns false if the text is so long that it must be wrapped without being tokenized as a whole
 * first. held: runs within it. */
bool text_is_short(const char *text, size_t length, const struct opaque_runs *held);

/* Adds the runs of a text that cannot be read to those that `how` holds, in the arena, as
 * readable_hold does, for a text of any length: it is tokenized 4 kB at a time, and a run that
 * crosses the end of such a part stays one run. Takes time proportional to the length. Returns -1
 * as text_wrap does. */
int text_hold(const struct readable *readable, const struct tokenizer *tokenizer, struct bytes text,
              struct tokenizer_reading *how, struct arena *arena, struct error *err);

/* ---- the answer ---- */

/* Returns which of the first i hypotheses shares the longest beginning with hypothesis i; *common:
 * the steps that they share, which are one path through the search's tree. decided: only those that
 * decided the same tokens, </s> not counted, whereas the last shared step may decide two. */
size_t sentence_closest(const struct sentence *sentence, size_t i, bool decided, size_t *common);

/* ---- the weights with which a model attended, when a search has ended (alignment.c) ---- */

int alignment_init(struct alignment *alignment, const struct model_config *config,
                   const struct loader *loader);
struct alignment_inputs {
    const float *x; /* [n, E + H]: embeddings and outputs side by side */
    size_t n;
    const float *keys; /* [length, A] */
    size_t length;     /* T */
};

/* Computes rows [n, T], each a distribution. queries [n, A]: scratch. */
void alignment_rows(const struct alignment *alignment, const struct alignment_inputs *inputs,
                    float *queries, float *rows);

/* Makes the head's keys from annotations [T, D] of an encoded sentence; they are kept while it is
 * in a batch. Releases scratch. Returns -1 with ERROR_MEMORY. */
int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch,
                         struct error *err);
/* Sets the alignment of each hypothesis, in the sentence's arena, before the sentence leaves its
 * batch. Fails as soft_alignment_begin does. */
int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err);

/* Returns true if the translator's network has heads whose weights can be shown (struct looks). */
bool looks_there(const struct translator *translator);
/* Sets sentence->looks, in its arena, if it wants them, before it leaves its batch. Fails as
 * soft_alignment_begin does. */
int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err);

#endif
