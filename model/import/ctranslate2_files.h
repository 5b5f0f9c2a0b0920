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
int ctranslate2_read_words(const struct ctranslate2_parts *parts, const struct ctranslate2_settings *settings, size_t source,
                           size_t target, struct arena *arena, struct tokenizer_files *out, struct error *err);

#endif
