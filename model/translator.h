/* This is the interface of model/ for the server. Of the files of model/, only translator.c
 * includes it.
 *
 * A translator is one loaded model, immutable and shared by all threads. A sentence is one unit of
 * work: its source tokens, its search options and, when done, its hypotheses. A batch is the live
 * rows of one worker thread: sentences are admitted, all rows advance one step at a time, finished
 * sentences leave at once.
 *
 *   text --sentence_prepare--> sentences --batch_admit, batch_step...--> done
 * --rendering_make--> text, offsets, words */
#ifndef ALIGND_TRANSLATOR_H
#define ALIGND_TRANSLATOR_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/batch.h"
#include "model/glossary.h"
#include "model/rendering.h"
#include "model/search/search.h"
#include "model/sentence.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct translator;
struct model_languages; /* model/weights/config.h */

/* The facts that GET /models shows. The translator owns the strings. */
struct translator_info {
    const char *name, *source, *target, *task; /* source, target: BCP-47 */
    /* one line, e.g. "gru encoder 1x256 bidirectional, luong general attention, gru decoder 1x512"
     */
    const char *architecture;
    const char *compute, *storage; /* "int8"; "float16" */
    size_t parameters;
    size_t source_vocabulary, target_vocabulary;
    size_t max_source_tokens; /* </s> not counted */
    double max_target_ratio;
    size_t beam_size; /* config.json's defaults of requests */
    double length_penalty;
    bool lists;                /* config.json's default of struct translator_options.shortlist */
    bool source_end;           /* the encoder reads </s>, so attention has a last column for it */
    bool shortlist;            /* in use */
    bool attention;            /* false: hypotheses have none, and their attention rows are empty */
    const char *style, *score; /* of the decoder and of its attention, as config.json calls them;
                                  score is "" without attention */
    bool attention_trained; /* attention shows which words are translated; false for a head that was
                               never trained to */
    const struct model_languages *languages; /* languages that it translates between, each to any
                                                other; NULL: only source to target */
    /* [variant_count] of the target language (sentence_choose_variant), or codes of languages */
    const char *const *variants;
    size_t variant_count;
    bool alignment_head; /* hypotheses have its rows, if sentence.wants_alignment */
    bool heads;          /* hypotheses have looks, if sentence.wants_looks */
    bool quality;        /* it estimates the quality of hypotheses (rendering_quality) */
    size_t matrices;     /* packed for products */
    size_t mapped;       /* how many of them the folder's file has (translator_pack) */
    /* why an existing file is not used; "" if it is used or does not exist */
    const char *unmapped;
};

/* SWITCH_OF_MODEL: as suits the model; each option says what that is. */
enum translator_switch { SWITCH_OF_MODEL, SWITCH_ON, SWITCH_OFF };

struct translator_options {
    /* How products with weights are computed (model/compute/matrix.h): "float32", "bfloat16",
     * "int8"; "auto": the fastest here, measured while loading; or "model", as NULL:
     * defaults.compute of config.json, by default int8 where weights are stored as int8, otherwise
     * float32. */
    const char *compute;
    /* A sentence chooses its tokens from the some hundred ids that FOLDER/shortlist.safetensors has
     * for it, instead of the whole vocabulary; SWITCH_OF_MODEL: as config.json says. The tokens'
     * log-probabilities and entropies are then over those alone, and the translation differs
     * wherever the best token is not among them. A given target (sentence_force) is always scored
     * over the whole vocabulary. */
    enum translator_switch shortlist;
    /* The keys and values that a transformer's decoder keeps, of the source and of each step, are
     * int16 with a factor for each vector, which halves their memory and the time of reading them;
     * scores and sums are float32. SWITCH_OF_MODEL: unless the compute type is float32. */
    enum translator_switch half_past;
    /* The SHA-256 of model.safetensors in hexadecimal digits, or NULL or "" if it is unknown. A
     * file that was packed from other weights is not used. */
    const char *sha256;
    /* Only for translator_pack and translator_info: all weights are packed now, even if the folder
     * has packed ones, and the vocabularies, of which a large one takes 50 MB, are dropped before
     * that. */
    bool pack;
    /* Once it is true, no other matrix is packed and translator_open ends with ERROR_INPUT
     * ("interrupted"); NULL: never. */
    const atomic_bool *stop;
};

/* Loads the library that processors without AVX2 multiply with, if it is installed. Call it once,
 * before any thread starts and any model is opened. Without the call translations are the same,
 * except for rounding, but slower on such processors. */
void translator_setup(void);

/* Loads a model folder (config.json, model.safetensors, tokenizer files, quality.safetensors if it
 * is there, shortlist.safetensors if asked for). options: NULL for the defaults. Returns NULL with
 * ERROR_INPUT (an unknown compute type, a shortlist for a model that copies, options->stop),
 * ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct translator *translator_open(const char *folder, const struct translator_options *options,
                                   struct error *err);
void translator_free(struct translator *translator);
struct translator_info translator_info(const struct translator *translator);
/* Returns the code of a language of a model of many, as the model's string; name: a code or an
 * alias. NULL: not found. */
const char *translator_language(const struct translator_info *info, const char *name);
/* Writes the packed weights to FOLDER/packed-COMPUTE-PROCESSOR.bin, which a later translator_open
 * with the same compute type on such a processor maps instead of packing, with the same results bit
 * by bit. sha256: as in struct translator_options. path [bytes]: the file's. Returns -1 with
 * ERROR_INPUT (nothing is packed: OpenBLAS multiplies), ERROR_FILE or ERROR_MEMORY. */
int translator_pack(const struct translator *translator, const char *folder, const char *sha256,
                    char *path, size_t bytes, struct error *err);
/* Returns the memory that it takes, without small items and with an estimate for its tokenizers. */
size_t translator_bytes(const struct translator *translator);

/* The facts that are known before a folder is loaded: config.json, and which parameters there are.
 */
struct translator_card;
/* Returns NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; such a folder cannot be loaded,
 * either. */
struct translator_card *translator_card_read(const char *folder, struct error *err);
void translator_card_free(struct translator_card *card); /* accepts NULL */
/* Returns a translator_info without architecture, compute (NULL), vocabularies and shortlist. The
 * card owns the strings. */
struct translator_info translator_card_info(const struct translator_card *card);
/* Returns the compute type that the folder gets with this one of struct translator_options; NULL:
 * auto, which is chosen while loading. */
const char *translator_card_compute(const struct translator_card *card, const char *compute);
/* Returns an estimate of translator_bytes with this type of products, as in struct
 * translator_options. */
size_t translator_card_bytes(const struct translator_card *card, const char *compute);

/* ---- the list of a language ----
 * A list has the target pieces that a language uses, counted from text. A model of many languages
 * has such a list of target ids for each of its languages (model/weights/weights.h). */

/* The counts of one language. One thread at a time. */
struct pieces;

/* Reads config.json and the target vocabulary of a model folder, but not its weights. language: a
 * code or an alias. Returns NULL with ERROR_INPUT (the model has no languages, or not this one),
 * ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct pieces *pieces_open(const char *folder, const char *language, struct error *err);
void pieces_free(struct pieces *pieces); /* accepts NULL */

/* Returns the language's code in config.json. */
const char *pieces_language(const struct pieces *pieces);
/* Returns true if translations are chosen from lists by default (defaults.shortlist of
 * config.json). */
bool pieces_used(const struct pieces *pieces);

/* Counts the pieces of a text in the language: valid UTF-8. Returns -1 with ERROR_LENGTH,
 * ERROR_INPUT or ERROR_MEMORY. */
int pieces_count(struct pieces *pieces, const char *text, size_t length, struct error *err);

/* The most frequent pieces that together make up a share of the text, 0 to 1, but not more than
 * `most` of them (0: no limit). */
struct pieces_wanted {
    double share;
    size_t most;
};

struct pieces_list {
    int32_t *ids; /* [count] ascending, malloc'ed */
    size_t count;
    size_t counted;   /* how many of them were chosen by their counts; the others are there to spell
                         with */
    uint64_t tokens;  /* tokens of the whole text, without unknown ones */
    uint64_t covered; /* how many of these are on the list */
};

/* Makes the list. Besides the pieces that are chosen by their counts it has </s>, <unk>, the pieces
 * of bytes, the mark of a word alone, and each piece of one character that belongs to ASCII, to no
 * script, or to a script that at least a hundredth of the text's characters have, so that a word
 * that the text lacks can be spelled. The language's token is not on it, as it is read and never
 * chosen. Returns -1 with ERROR_INPUT (the text has no pieces) or ERROR_MEMORY. */
int pieces_choose(const struct pieces *pieces, const struct pieces_wanted *wanted,
                  struct pieces_list *out, struct error *err);

#endif
