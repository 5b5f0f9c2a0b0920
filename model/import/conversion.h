/* The files of this folder share this interface. It is in the order of a conversion, which finds
 * the parts of a foreign model, reads its tokens, plans the tensors and the configuration in the
 * module of the model's family, and writes the model folder. A family is a file that defines a
 * struct import_family, declared below, and a row of the table in import.c. */
#ifndef ALIGND_IMPORT_CONVERSION_H
#define ALIGND_IMPORT_CONVERSION_H

#include "model/import/import_options.h"
#include "model/import/tensors.h"
#include <stdio.h>

/* ---- parts ----
 * The forms in which models are distributed: an unpacked OPUS-MT package, the files of a Firefox
 * (Bergamot) pair, a translateLocally folder, files that are named one by one, or a folder of
 * Hugging Face or CTranslate2. */

/* The origin of a model, as far as the files beside it state it; "" where they do not. */
struct origin {
    const char *licence, *attribution; /* as the card of the model folder shows them */
    const char *text; /* [text_bytes] of LICENSE or a file of a similar name; NULL: none */
    size_t text_bytes;
    const char *card; /* the card beside the foreign model; "" if there is none */
};

/* The programs that a model was made for, which decide how it is decoded if its files do not. */
enum program {
    PROGRAM_OTHER,
    PROGRAM_BERGAMOT,
    PROGRAM_OPUS
}; /* PROGRAM_BERGAMOT: Firefox and translateLocally */

struct parts {
    enum program program;
    const char *folder; /* the model's folder */
    const char *name;   /* the model's file, as messages and the card name it */
    const char *model;
    const char *vocabularies[2], *segmenters[2]; /* segmenters: SentencePiece files whose pieces the
                                                    vocabularies number; NULL: none */
    const char *shortlist, *quality;             /* NULL: none */
    const char *options;                         /* a file of training options; NULL: not named */
    struct mapping decoder, training;            /* options of the decoder, and of the training */
    struct origin origin;
    bool guided;                 /* its attention was trained to align */
    const char *source, *target; /* languages by the names of the files; NULL: unknown */
};

/* Finds the parts of a model in these paths [count]: one folder or a model's file, and perhaps some
 * of the files that it needs. The other parts are searched for beside the model, unless both the
 * model's file and its vocabularies are named. shown: the folder's name in messages. Returns -1
 * with ERROR_INPUT, ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; messages begin with a path. */
int parts_find(const char *const *paths, size_t count, const char *shown, struct arena *arena,
               struct parts *out, struct error *err);
/* These return -1 with ERROR_FORMAT and what to get in its stead if a file, or a folder of these
 * files, is a model of a program whose models alignd does not read. */
int foreign_check_file(const char *path, struct error *err);
int foreign_check_folder(const char *folder, const char *const *names, size_t count,
                         struct error *err);
/* Returns true if the path is a Hugging Face folder or a file in one. folder: set to that folder.
 */
bool parts_huggingface(const char *path, struct arena *arena, const char **folder);

/* The clues to where a model comes from. */
struct origin_clues {
    const char *folder, *name; /* the model's folder and its name */
    bool firefox;              /* it is one of Mozilla's models */
    const char *card;
};

/* Finds the licence and the attribution. */
int conversion_origin_find(const struct origin_clues *clues, struct arena *arena,
                           struct origin *out, struct error *err);
/* Reads README.md beside the model; "" if it is missing. */
int conversion_origin_card(const char *folder, struct arena *arena, const char **card,
                           struct error *err);
/* Returns true if the files indicate that attention was trained to align. training may be NULL:
 * there are no options. */
bool conversion_origin_guided(const char *model, bool bergamot, const struct mapping *training,
                              const char *card);
/* Reads the languages from the name of a folder or file, such as opus-mt-de-en or
 * model.enfr.intgemm.alphas.bin. Returns false if the name does not contain them. */
bool conversion_origin_languages(const char *name, struct arena *arena, const char **source,
                                 const char **target);

/* The behaviour of a Marian model's own decoder, as the options in decoder.yml define it. */
struct marian_defaults {
    json_t *section;      /* config.json's section defaults, with the keys of searches; owned */
    const char *compute;  /* the compute type; NULL: the options do not state it */
    bool lists;           /* a shortlist is used */
    size_t source_tokens; /* limit on the tokens of a sentence; 0: the options do not state it */
    double ratio;         /* the most target tokens for each source token */
    bool unknowns;        /* searches may choose <unk> */
    const char
        *said; /* a line for each option that alignd lacks, limits or implements differently */
};
/* Reads the options with single values, and the presence of shortlist, which is a list. The mapping
 * may be empty. */
int conversion_marian_decoder_read(const struct mapping *options, struct arena *arena,
                                   struct marian_defaults *out, struct error *err);

/* The places of the parts of a CTranslate2 model (OpenNMT/CTranslate2): a folder of model.bin,
 * vocabularies and perhaps config.json, or a package of Argos Translate and LibreTranslate, which
 * holds such a folder and a SentencePiece model beside it. */
struct ctranslate2_parts {
    const char *folder;  /* the folder of model.bin */
    const char *package; /* an Argos package's folder, with metadata.json; NULL: not a package */
    const char *name;    /* the model's name for the card */
    const char *source, *target; /* languages by metadata.json; NULL: unknown */
    const char *prefix;          /* pieces that begin every translation; NULL: none */
    const char *segmenters[2]; /* SentencePiece files; NULL: tokens are separated by white space */
    bool guessed; /* the segmenters are in the parent of the model's folder, and may belong to
                     another model */
};

/* Returns true if the path is such a folder or package, or its model.bin. */
bool conversion_ctranslate2_is(const char *path, struct arena *arena);
/* Finds the parts of a model. paths [count]: the model, and perhaps one or two SentencePiece files.
 * Returns -1 with ERROR_INPUT, ERROR_FORMAT, ERROR_FILE or ERROR_MEMORY. */
int conversion_ctranslate2_find(const char *const *paths, size_t count, struct arena *arena,
                                struct ctranslate2_parts *out, struct error *err);

/* ---- vocabularies ----
 * The name of a vocabulary's file decides its format: YAML (.yml, .yaml), JSON (.json),
 * SentencePiece (.spm, .model), or else one word a line. */

/* The vocabulary of one side, as a model folder holds it. */
struct vocabulary {
    bool sentencepiece;  /* otherwise words */
    const char *content; /* [bytes] of its file */
    size_t bytes;
    size_t size;      /* number of tokens */
    const char *list; /* the list that numbers the tokens if the file only segments; NULL: the file
                         numbers them */
    size_t list_bytes;
};

/* Reads a vocabulary. size: the number of the model's words; 0: any number of SentencePiece's
 * pieces. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; messages begin with the path.
 */
int vocabulary_import(const char *path, size_t size, struct arena *arena, struct vocabulary *out,
                      struct error *err);
/* Joins path, a SentencePiece file that segments text, with words, the list that numbers its
 * pieces. */
int vocabulary_segmented(const char *path, const struct vocabulary *words, struct arena *arena,
                         struct vocabulary *out, struct error *err);
/* Makes a vocabulary of words. path: the path in messages. */
int vocabulary_of_words(const char *path, const char *const *words, size_t count,
                        struct arena *arena, struct vocabulary *out, struct error *err);

/* The files of a tokenizer, and config.json's section on it. */
struct tokenizer_files {
    json_t *section; /* owned */
    struct {
        const char *name, *content;
        size_t bytes;
    } files[4]; /* [count] */
    size_t count;
    bool one_list; /* source and target have the same tokens under the same ids */
};
int conversion_tokenizer_files_of(const struct vocabulary *source, const struct vocabulary *target,
                                  struct tokenizer_files *out, struct error *err);

/* The ids of one side's tokens. */
struct ids {
    struct id {
        const char *piece;
        size_t length;
        uint32_t id;
    } * sorted; /* [size], by piece, in the arena */
    size_t size;
};
int conversion_ids_of(const struct vocabulary *vocabulary, struct arena *arena, struct ids *out,
                      struct error *err);
/* Returns false if the piece is missing. */
bool conversion_ids_find(const struct ids *ids, const char *piece, size_t length, uint32_t *id);

/* The tokens of a model in the order of their ids, as its files list them. Some may represent
 * languages. */
struct tokens {
    const char *path;  /* the file's path, for messages */
    const char **list; /* [count], with room for one more */
    size_t count;
};

/* Respells tokens that alignd's lists must not contain: duplicates, empty tokens, and tokens with
 * white space. Text is never split into such tokens. Returns -1 with ERROR_MEMORY. */
int conversion_tokens_respell(struct tokens *tokens, struct arena *arena, struct error *err);
/* Checks that path, a SentencePiece file, belongs to the tokens: at least half of its pieces must
 * be tokens, or half of the tokens must be pieces. Returns -1 with ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY. */
int conversion_tokens_check_pieces(const struct tokens *tokens, const char *path,
                                   struct arena *arena, struct error *err);
/* Finds the languages of a multilingual model by tokens that both sides have, such as __fr__
 * (M2M-100) and fra_Latn (NLLB-200). *out: config.json's section, a new object that the caller
 * owns; NULL if there are fewer than three languages. */
int conversion_tokens_languages(const struct tokens *source, const struct tokens *target,
                                struct arena *arena, json_t **out, struct error *err);
/* Makes lists of target ids by script for the languages of conversion_tokens_languages, and adds
 * the lists' names to them. A list contains the pieces of the language's script, pieces without a
 * script, such as digits, and common pieces of plain Latin letters, which occur in names. A
 * language that is written in several scripts has no list, unless its token names the script. lists
 * [count]: the tensors list.NAME, and the tensor always, which is empty. Returns -1 with
 * ERROR_MEMORY. */
int conversion_tokens_lists(const struct tokens *target, json_t *languages, struct arena *arena,
                            struct ready **lists, size_t *count, struct error *err);

/* ---- the files beside a Marian model ----
 * Lexical shortlists become shortlist.safetensors, and Bergamot's quality models become
 * quality.safetensors (model/weights/weights.h has both formats). */

struct conversion_import_shortlist {
    int32_t *always, *offsets, *targets; /* in the arena */
    size_t always_count, offset_count, target_count;
};

struct shortlist_options {
    const struct ids *source, *target;
    bool one_list;      /* source and target have one vocabulary: each word is on its own list */
    size_t first, best; /* for text: the numbers of first ids that are on every list, and of targets
                           of each source word */
};

/* Reads a binary shortlist (lex.50.50.s2t.bin) or one of text (lex.s2t), depending on the name and
 * the first bytes. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; messages begin with
 * the path. */
int conversion_import_shortlist(const char *path, const struct shortlist_options *options,
                                struct arena *arena, struct conversion_import_shortlist *out,
                                struct error *err);

enum { QUALITY_WEIGHTS = 5 };
/* Reads a quality model. weights: for the mean and the least log-probability of a word's tokens,
 * for their number, and for the mean of the sentence, followed by a constant. */
int conversion_import_quality(const char *path, struct arena *arena, float weights[QUALITY_WEIGHTS],
                              struct error *err);

/* ---- the folder ---- */

/* A model that is going to be written. */
struct conversion {
    json_t *config; /* owned; folder_write fills in its defaults */
    struct container container;
    struct tensors tensors;
    struct tokenizer_files tokenizer;
    const char *from; /* the original's name, for the card and the metadata */
    struct origin origin;
    const struct import_origin *downloaded; /* NULL: it was not downloaded */
    struct conversion_import_shortlist shortlist;
    float quality[QUALITY_WEIGHTS];
    struct ready
        *lists; /* [list_count] lists of languages, which form the shortlist if there is no other */
    size_t list_count;
    size_t vocabulary; /* number of target tokens of a multilingual model */
    bool has_shortlist, has_quality;
    enum storage_kind storage;
    const char *compute; /* compute type of the model's own decoder; NULL: not stated */
};

/* Frees everything that the conversion owns. */
void conversion_done(struct conversion *conversion);
/* Adds the languages of a multilingual model, a section of config.json that the conversion takes
 * over, with lists of target ids for them, and sets source and target to mul. Returns -1 with
 * ERROR_MEMORY. */
int conversion_add_languages(struct conversion *conversion, json_t *languages,
                             const struct tokens *target, struct arena *arena, struct error *err);

/* Writes the files into the folder, which exists and is empty, and syncs each to the disk. weights:
 * bytes of model.safetensors. Returns -1 with ERROR_FILE, ERROR_FORMAT (the configuration cannot be
 * built, or a tensor cannot be read), ERROR_INPUT (interrupted) or ERROR_MEMORY. */
int folder_write(const char *folder, struct conversion *conversion, struct arena *arena,
                 import_stop stop, uint64_t *weights, struct error *err);
/* Renames the complete folder, and syncs the folder and its new name to the disk. Returns -1 with
 * ERROR_FILE, also if the name already exists, or with ERROR_MEMORY. */
int folder_publish(const char *folder, const char *out, struct error *err);
/* Removes the folder with its contents. */
void folder_remove(const char *folder);

/* ---- the import ---- */

enum { IMPORT_PATHS_MOST = 16 };

/* An import in progress. */
struct import {
    const struct import_options *options;
    struct arena arena;
    const char *work; /* a folder beside the one that is made, with a name that no model has; NULL:
                         not made yet */
    const char
        *made; /* the first folder on the way to INTO that did not exist; NULL: all existed */
    const char *paths[IMPORT_PATHS_MOST]; /* [path_count] the given paths, or the folders of
                                             unpacked archives */
    const char *shown;                    /* the first path as the user knows it */
    const char *inner; /* the name of the only folder in an archive; NULL: none */
    struct alias *aliases;
    unsigned unpacked; /* the number of folders in `work` that are used */
    const char *name;  /* of the model folder */
    struct conversion conversion;
    FILE *said; /* lines that report the result */
};

/* A kind of foreign model. */
struct import_family {
    /* Returns true if the paths of the import are a model of this family. */
    bool (*is)(struct import *import);
    /* Fills in the conversion, and calls conversion_begin. Returns -1 with ERROR_INPUT, ERROR_FILE,
     * ERROR_FORMAT or ERROR_MEMORY, and a message that names a file or a tensor. */
    int (*convert)(struct import *import, struct error *err);
};
/* CTranslate2's folders and packages of Argos; Hugging Face's folders; Marian and Nematus. */
extern const struct import_family import_ctranslate2, import_huggingface, import_marian;

/* Unpacks an archive and replaces its path with the folder's or, if that contains only one folder,
 * the inner folder's. A .npz is an archive, too, but is read directly, and so is pytorch_model.bin.
 */
int conversion_open(struct import *import, const char *path, const char **out, struct error *err);
/* Replaces compressed files with their contents, under their names without the ending. */
int conversion_expand(struct import *import, struct parts *parts, struct error *err);
/* Replaces the paths of unpacked files in the message with those of their archives, and makes sure
 * that the message names the first path. */
void conversion_show_paths(const struct import *import, struct error *err);
/* Returns the name of a file or folder without the suffixes of archives, compression and models. */
const char *conversion_stem(const char *name, struct arena *arena);

/* Limits on a sentence. */
struct model_limits {
    size_t source_tokens;
    double target_ratio;
};
/* Begins config.json and sets the folder's name. limits: the model's, which apply unless the
 * options set others; NULL: those of a transformer whose files state none. source, target: its
 * languages; NULL: unknown. */
int conversion_begin(struct import *import, const struct model_limits *limits, const char *source,
                     const char *target, struct error *err);

/* ---- Marian and Nematus ---- */

enum { OPTION_ROWS_MOST = 64 };

/* The options of a model's own type, in the order of the table. */
struct marian_options {
    struct {
        const char *name, *value;
    } rows[OPTION_ROWS_MOST]; /* [count] */
    size_t count;
    bool transformer;
    const char *norm; /* place of the norms in transformers: "post", after each block, or "pre",
                         before it and on top of each stack */
    size_t tied_layers[16]; /* for each layer of a transformer's decoder, the layer whose tensors it
                               uses, from 1 */
    const char *ignored;    /* names of ignored options, separated by commas; "": none */
};

/* Return the value, which may be "", whether it is "true", and its number. The table must list the
 * name for the model's type. */
const char *marian_options_value(const struct marian_options *options, const char *name);
bool marian_options_on(const struct marian_options *options, const char *name);
size_t marian_options_number(const struct marian_options *options, const char *name);
/* Returns true if source and target have one embedding. */
bool marian_options_share_embedding(const struct marian_options *options);

/* Reads the text of the options: Marian's YAML, or Nematus's JSON if it begins with {. own: the
 * text comes from the model itself, and an unknown option is an error; otherwise it comes from a
 * file of training options, and unknown options are ignored. Returns -1 with ERROR_FORMAT and a
 * message that names the option, or with ERROR_MEMORY. */
int marian_options_read(const char *text, size_t length, bool own, struct arena *arena,
                        struct marian_options *out, struct error *err);

/* ---- transformers of other programs ---- */

struct transformer_options {
    const char *name;        /* the model's name for the card; CTranslate2's parts have their own */
    const char *work;        /* a folder for unpacking */
    const char *preparation; /* none or opus; NULL: opus for MarianMT, none for other families */
    const char *alignment; /* trained or untrained; NULL: as the card or, with CTranslate2, the name
                              indicates */
    bool unknowns; /* searches may choose <unk>, which searches of MarianMT otherwise may not */
    import_stop stop;
};

/* Hugging Face's T5, mT5, UMT5 and MADLAD-400, by model_type in config.json. */
bool t5_is(const json_t *config);
/* Plans the tensors of a model whose file is open, and fills in the tokenizer and sections of the
 * configuration. guided: its attention was trained to align. Returns -1 as ctranslate2_convert
 * (ctranslate2.h). */
int t5_convert(const char *folder, const json_t *config, bool guided, struct arena *arena,
               struct conversion *out, struct error *err);

#endif
