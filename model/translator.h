/* The interface of model/ for the server. No file of model/ but translator.c includes it.
 *
 * A translator is one loaded model, immutable and shared by all threads. A sentence is one unit of work: its source tokens, its
 * search options and, when done, its hypotheses. A batch is the live rows of one worker thread: sentences are admitted, all
 * rows advance one step at a time, finished sentences leave at once.
 *
 *   text --translator_prepare--> sentences --batch_admit, batch_step...--> done --translator_render--> text, offsets, words
 */
#ifndef ALIGND_TRANSLATOR_H
#define ALIGND_TRANSLATOR_H

#include "model/alignment.h"
#include "model/amounts.h"
#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/batch.h"
#include "model/ending.h"
#include "model/glossary.h"
#include "model/pieces.h"
#include "model/rendering.h"
#include "model/search/search.h"
#include "model/sentence.h"
#include <stdbool.h>
#include <stddef.h>

struct translator;
struct model_languages; /* model/weights/config.h */

/* The facts that GET /models shows. The translator owns the strings. */
struct translator_info {
    const char *name, *source, *target, *task; /* source, target: BCP-47 */
    /* one line, e.g. "gru encoder 1x256 bidirectional, luong general attention, gru decoder 1x512" */
    const char *architecture;
    const char *compute, *storage; /* "int8"; "float16" */
    size_t parameters;
    size_t source_vocabulary, target_vocabulary;
    size_t max_source_tokens; /* </s> not counted */
    double max_target_ratio;
    size_t beam_size; /* config.json's defaults of requests */
    double length_penalty;
    bool lists;             /* config.json's default of struct translator_options.shortlist */
    bool source_end;        /* the encoder reads </s>, so attention has a last column for it */
    bool shortlist;         /* in use */
    bool attention;         /* false: hypotheses have none, and their attention rows are empty */
    bool attention_trained; /* attention shows which words are translated; false for a head that was never trained to */
    const struct model_languages *languages; /* that it reads and writes, any of them to any other; NULL: source and target */
    const char *const *variants; /* [variant_count] of the target language (translator_choose_variant), or the codes of languages */
    size_t variant_count;
    bool alignment_head; /* hypotheses have its rows, if sentence.wants_alignment */
    bool heads;          /* hypotheses have looks, if sentence.wants_looks */
    bool quality;        /* it estimates the quality of hypotheses (translator_quality) */
    size_t matrices;     /* packed for products */
    size_t mapped;       /* how many of them the folder's file has (translator_pack) */
    /* why an existing file is not used; "" if it is used or does not exist */
    const char *unmapped;
};

enum translator_shortlist { SHORTLIST_OF_MODEL, SHORTLIST_ON, SHORTLIST_OFF }; /* SHORTLIST_OF_MODEL: as config.json says */

struct translator_options {
    /* How products with weights are computed (model/compute/matrix.h): "float32", "bfloat16", "int8"; "auto": the fastest here,
     * measured while loading; or "model", as NULL: defaults.compute of config.json, by default int8 where weights are stored as
     * int8, otherwise float32. */
    const char *compute;
    /* A sentence chooses its tokens from the some hundred ids that FOLDER/shortlist.safetensors has for it, instead of the whole
     * vocabulary. The tokens' log-probabilities and entropies are then over those alone, and the translation differs wherever the
     * best token is not among them. A given target (translator_force) is always scored over the whole vocabulary. */
    enum translator_shortlist shortlist;
    /* The keys and values of self-attention that a transformer's decoder keeps of each step are IEEE binary16, which halves their
     * memory. Weights and products do not change. */
    bool half_past;
    /* The SHA-256 of model.safetensors in hexadecimal digits, or NULL or "" if it is unknown. A file that was packed from other
     * weights is not used. */
    const char *sha256;
    /* Only for translator_pack and translator_info: all weights are packed now, even if the folder has packed ones, and the
     * vocabularies, of which a large one takes 50 MB, are dropped before that. */
    bool pack;
};

/* Loads the library that processors without AVX2 multiply with, if it is installed. Call it once, before any thread starts and any
 * model is opened. Without the call translations are the same, except for rounding, but slower on such processors. */
void translator_setup(void);

/* Loads a model folder (config.json, model.safetensors, tokenizer files, quality.safetensors if it is there, shortlist.safetensors
 * if asked for). options: NULL for the defaults. NULL with ERROR_INPUT (an unknown compute type, a shortlist for a model that
 * copies), ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct translator *translator_open(const char *folder, const struct translator_options *options, struct error *err);
void translator_free(struct translator *translator);
struct translator_info translator_info(const struct translator *translator);
/* The code of this name among the model's languages, as the model's string; name: a code or an alias. NULL: it has none. */
const char *translator_language(const struct translator_info *info, const char *name);
/* Writes the packed weights to FOLDER/packed-COMPUTE-PROCESSOR.bin, which a later translator_open with the same compute type on
 * such a processor maps instead of packing, with the same results bit by bit. sha256: as in struct translator_options. path
 * [bytes]: the file's. -1 with ERROR_INPUT (nothing is packed: OpenBLAS multiplies), ERROR_FILE or ERROR_MEMORY. */
int translator_pack(const struct translator *translator, const char *folder, const char *sha256, char *path, size_t bytes,
                    struct error *err);
/* The memory that it takes, without small items and with an estimate for its tokenizers. */
size_t translator_bytes(const struct translator *translator);

/* The facts that are known before a folder is loaded: config.json, and which parameters there are. */
struct translator_card;
/* Returns NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; such a folder cannot be loaded, either. */
struct translator_card *translator_card_read(const char *folder, struct error *err);
void translator_card_free(struct translator_card *card); /* accepts NULL */
/* As translator_info, without architecture, compute (NULL), vocabularies and shortlist. The card owns the strings. */
struct translator_info translator_card_info(const struct translator_card *card);
/* The compute type that the folder gets with this one of struct translator_options; NULL: auto, which is chosen while loading. */
const char *translator_card_compute(const struct translator_card *card, const char *compute);
/* An estimate of translator_bytes with this type of products, as in struct translator_options. */
size_t translator_card_bytes(const struct translator_card *card, const char *compute);

#endif
