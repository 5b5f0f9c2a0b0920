/* What lies beside CTranslate2's model.bin: config.json, and the vocabularies. */
#ifndef ALIGND_IMPORT_CTRANSLATE2_FILES_H
#define ALIGND_IMPORT_CTRANSLATE2_FILES_H

#include "model/import/ctranslate2.h"

struct ctranslate2_settings {
    const char *unknown, *begin, *end; /* tokens, as this model calls <unk>, <s> and </s> */
    const char *first_input;           /* of config.json's decoder: bos or eos */
    bool eos;                          /* the encoder reads </s> */
    double epsilon;
};

/* config.json, which old models do not have. */
int ctranslate2_read_settings(const struct ctranslate2_parts *parts, struct arena *arena, struct ctranslate2_settings *out,
                              struct error *err);
/* source, target: how many tokens the model has. */
/* The languages of a model of many, by the tokens of its vocabularies such as __fr__ (M2M-100) and fra_Latn (NLLB-200):
 * config.json's section, a new object, the caller's; *out NULL: it has no such tokens. */
int ctranslate2_read_languages(const struct ctranslate2_parts *parts, struct arena *arena, json_t **out, struct error *err);
int ctranslate2_read_words(const struct ctranslate2_parts *parts, const struct ctranslate2_settings *settings, size_t source,
                           size_t target, struct arena *arena, struct tokenizer_files *out, struct error *err);

#endif
