/* Declarations that the files of model/ share: the parts of a translator, and splitting a long text. The server does not include
 * it. */
#ifndef ALIGND_MODEL_H
#define ALIGND_MODEL_H

#include "model/network/attention.h"
#include "model/network/decoder.h"
#include "model/network/encoder.h"
#include "model/network/output.h"
#include "model/text/numbers.h"
#include "model/text/readable.h"
#include "model/text/segmenter.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

struct translator {
    struct model_config config;
    struct weights *weights;
    struct tokenizer *source, *target, *characters; /* characters: NULL unless the output spells */
    bool holds;                                     /* opaque runs: it has <unk>, to read and to write in their place */
    enum opaque_scope scope;                        /* which runs are opaque, unless the caller asks for verbatim */
    struct readable readable;                       /* for the source; set where the scope is OPAQUE_ALL */
    struct labels variants;
    struct model_languages languages;
    struct language_ids {
        int source, target;
        struct target_ids list; /* the ids that a translation into it is chosen from; none: from all, or by source pieces */
    } * language_ids;           /* [languages.count] their tokens */
    int *opening; /* [opening_count] decoder.prefix: pieces that begin each translation, which its tokens do not include */
    size_t opening_count;
    bool *continues; /* [V] pieces that continue a word; NULL where each piece is a word or a character */
    short *bytes;    /* [V] tokenizer_byte of the target's pieces; NULL if it has no byte pieces */
    struct segmenter *segmenter;
    /* NULL if the model does not translate or ICU does not know how the language writes numbers */
    struct number_words *source_numbers, *target_numbers;
    struct shortlist *shortlist;     /* NULL if not in use */
    struct quality_weights *quality; /* NULL if the model does not estimate quality */
    struct pages pages;              /* the backend's */
    struct backend backend;
    struct encoder encoder;
    struct decoder decoder;
    struct output output;
    struct alignment alignment;
    struct speller speller;
    char architecture[288];
    char unmapped[160];              /* translator_info's */
    size_t tokenizer_bytes;          /* an estimate */
    size_t source_size, target_size; /* of the vocabularies, which only a translator that is packed has dropped */
};

/* ---- long texts (sentence.c) ---- */

/* How a text is read, and how long a piece of it may be. */
struct text_reading {
    const struct tokenizer *tokenizer;
    struct tokenizer_reading how; /* .held: runs of the text, each of which is one token */
    size_t max_tokens;
};

/* Cuts text[sentence] into pieces of at most max_tokens (>= 1) tokens each, counted as each piece is tokenized on its own. A
 * piece ends, by preference, after the last clause mark that fits, at the last white space that fits, or between any two tokens.
 * Spans are within text, in order, without the white space around them; no visible character is lost. A sentence that fits is one
 * piece, blank text none. Only a piece of one token, which cannot be cut, may be longer (one character can stand for many, such
 * as U+FDFA). A sentence of more than 4 kB is tokenized piece by piece. Takes time proportional to the length. Returns -1 with
 * ERROR_LENGTH, ERROR_INPUT or ERROR_MEMORY. */
int text_wrap(const struct text_reading *reading, const char *text, struct span sentence, struct arena *arena, struct span **spans,
              size_t *count, struct error *err);

/* False if the text is so long that it must be wrapped without being tokenized as a whole first. held: runs within it. */
bool text_is_short(const char *text, size_t length, const struct opaque_runs *held);

/* Adds the runs of text[length] that cannot be read to those that `how` holds, in the arena, as readable_hold does, for a text of
 * any length: it is tokenized 4 kB at a time, and a run that crosses the end of such a part stays one run. Takes time proportional
 * to the length. Returns -1 as text_wrap does. */
int text_hold(const struct readable *readable, const struct tokenizer *tokenizer, const char *text, size_t length,
              struct tokenizer_reading *how, struct arena *arena, struct error *err);

#endif
