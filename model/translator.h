/* The door of model/: all that the server sees. Nothing in model/ includes it.
 *
 * A translator is one loaded model, immutable and shared by all threads. A sentence is one unit of work: its source tokens, its
 * search options and, when done, its hypotheses. A batch is the live rows of one worker thread: sentences are admitted, all
 * rows advance one step at a time, finished sentences leave at once.
 *
 *   text --translator_prepare--> sentences --batch_admit, batch_step...--> done --translator_render--> text, offsets, words
 */
#ifndef ALIGND_TRANSLATOR_H
#define ALIGND_TRANSLATOR_H

#include "model/amounts.h"
#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/base/file.h"
#include "model/base/reserve.h"
#include "model/batch.h"
#include "model/ending.h"
#include "model/given.h"
#include "model/glossary.h"
#include "model/guard.h"
#include "model/lexicon.h"
#include "model/looks.h"
#include "model/quality.h"
#include "model/rendering.h"
#include "model/search/search.h"
#include "model/sentence.h"
#include "model/soft_alignment.h"
#include "model/text.h"
#include "model/text/character.h"
#include "model/variants.h"
#include "model/words.h"
#include <stdbool.h>
#include <stddef.h>

struct translator;

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
    size_t beam_size; /* what requests get that ask for nothing else, */
    double length_penalty;
    bool source_end;             /* the encoder reads </s>, so attention has a last column for it */
    bool shortlist;              /* in use */
    bool attention;              /* false: hypotheses have none, their attention rows are empty */
    bool attention_trained;      /* it tells what is translated: not a head that was never asked to */
    const char *const *variants; /* [variant_count] of the target language (model/variants.h) */
    size_t variant_count;
    bool alignment_head; /* hypotheses have its rows, if sentence.wants_alignment */
    bool heads;          /* hypotheses have looks, if sentence.wants_looks */
    bool quality;        /* it estimates the quality of hypotheses (translator_quality) */
    size_t matrices;     /* that are packed for products; */
    size_t mapped;       /* so many of them in the folder's file, by translator_pack */
    /* why that file is not used, though there is one; "": there is none, or it is used */
    const char *unmapped;
};

struct translator_options {
    /* How products with weights are computed (model/compute/matrix.h): "float32", "bfloat16", "int8", or "auto": the fastest here,
     * measured while loading. NULL: "float32". */
    const char *compute;
    /* A sentence chooses its tokens from FOLDER/shortlist.safetensors' ids for it, some hundreds, instead of the whole vocabulary:
     * the tokens' log-probabilities and entropies are then over those alone, and its translation is another wherever the best of
     * all is not among them. A given target (translator_force) is scored over the whole vocabulary always. */
    bool shortlist;
    /* What a transformer's decoder keeps of each step, keys and values of self-attention, is IEEE binary16: half the memory.
     * Weights and products stay what they are. */
    bool half_past;
    /* The SHA-256 of model.safetensors in hexadecimal digits, where it is known: what was packed of another file is not used. NULL
     * or "": not known. */
    const char *sha256;
    bool pack; /* all weights now, whatever the folder has packed */
};

/* Call once, before any thread starts and any model is opened: loads what processors without AVX2 multiply with, if it is there.
 * Never called, translations are the same, but for rounding, and slower on such processors. */
void translator_setup(void);

/* Loads a model folder (config.json, model.safetensors, tokenizer files, quality.safetensors if it is there, shortlist.safetensors
 * if asked for). options: NULL for the defaults. NULL with ERROR_INPUT (an unknown compute type, a shortlist for a model that
 * copies), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct translator *translator_open(const char *folder, const struct translator_options *options, struct error *err);
void translator_free(struct translator *translator);
struct translator_info translator_info(const struct translator *translator);
/* Writes what it has packed to FOLDER/packed-COMPUTE-PROCESSOR.bin, which a later translator_open with the same compute type on
 * such a processor maps instead of packing, with the same results bit by bit. sha256: as in struct translator_options. path
 * [bytes]: the file's. -1 with ERROR_INPUT (nothing is packed: OpenBLAS multiplies), ERROR_FILE or ERROR_MEMORY. */
int translator_pack(const struct translator *translator, const char *folder, const char *sha256, char *path, size_t bytes,
                    struct error *err);
/* Memory that it takes, but for small things; of its tokenizers an estimate. */
size_t translator_bytes(const struct translator *translator);

/* What a folder tells before it is loaded: config.json, and which parameters there are. */
struct translator_card;
/* NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY: such a folder cannot be loaded, either. */
struct translator_card *translator_card_read(const char *folder, struct error *err);
void translator_card_free(struct translator_card *card); /* NULL allowed */
/* As of the translator, but for its architecture, compute (NULL), vocabularies and shortlist. Strings are owned by the card. */
struct translator_info translator_card_info(const struct translator_card *card);
/* About what translator_bytes will be with this type of products (NULL: the default). */
size_t translator_card_bytes(const struct translator_card *card, const char *compute);

#endif
