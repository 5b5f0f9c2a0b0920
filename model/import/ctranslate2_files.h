/* The files of a CTranslate2 model: where they are, and all but model.bin: config.json, metadata.json, and the vocabularies. */
#ifndef ALIGND_IMPORT_CTRANSLATE2_FILES_H
#define ALIGND_IMPORT_CTRANSLATE2_FILES_H

#include "model/import/parts.h"
#include "model/import/tokens.h"
#include "model/import/vocabulary.h"

/* Where the parts of a model lie. */
struct ctranslate2_parts {
    const char *folder;          /* of model.bin */
    const char *package;         /* an Argos package's, which has metadata.json; NULL: it is none */
    const char *name;            /* as its card names it */
    const char *source, *target; /* languages by metadata.json; NULL: it does not say */
    const char *prefix;          /* pieces that begin every translation; NULL: none */
    const char *segmenters[2];   /* SentencePiece files; NULL: tokens are separated by white space */
    bool guessed;                /* they lie in the folder around the model's, and may be another's */
};

/* True if the path is such a folder or package, or its model.bin. */
bool ctranslate2_is(const char *path, struct arena *arena);
/* paths [count]: the model, and perhaps SentencePiece files that are named. -1 with ERROR_FORMAT or ERROR_FILE. */
int ctranslate2_find(const char *const *paths, size_t count, struct arena *arena, struct ctranslate2_parts *out, struct error *err);

struct ctranslate2_settings {
    const char *unknown, *begin, *end; /* tokens, as this model calls <unk>, <s> and </s> */
    const char *first_input;           /* of config.json's decoder: bos or eos */
    bool eos;                          /* the encoder reads </s> */
    double epsilon;
};

/* config.json, which old models do not have. */
int ctranslate2_read_settings(const struct ctranslate2_parts *parts, struct arena *arena, struct ctranslate2_settings *out,
                              struct error *err);
/* The languages of a model of many, by the tokens of its vocabularies such as __fr__ (M2M-100) and fra_Latn (NLLB-200):
 * config.json's section, a new object, the caller's; *out NULL: it has no such tokens. target: set to those of the target. */
int ctranslate2_read_languages(const struct ctranslate2_parts *parts, struct arena *arena, json_t **out, struct tokens *target,
                               struct error *err);
/* source, target: how many tokens the model has. */
int ctranslate2_read_words(const struct ctranslate2_parts *parts, const struct ctranslate2_settings *settings, size_t source,
                           size_t target, struct arena *arena, struct tokenizer_files *out, struct error *err);

#endif
