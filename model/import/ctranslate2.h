/* A model of CTranslate2: the conversion of its TransformerSpec (ctranslate2.c), and its files,
 * from which that is made (ctranslate2_files.c). */
#ifndef ALIGND_IMPORT_CTRANSLATE2_H
#define ALIGND_IMPORT_CTRANSLATE2_H

#include "model/import/conversion.h"

/* Converts a model of CTranslate2, whose files conversion_ctranslate2_find has found. Fills in
 * the container, the tensors, the tokenizer and the origin, and adds sections to the configuration.
 * Returns -1 with a message that begins with the name of a file in the folder or of a tensor. */
int ctranslate2_convert(const struct ctranslate2_parts *parts,
                        const struct transformer_options *options, struct arena *arena,
                        struct conversion *out, struct error *err);

/* ---- the files ---- */

struct ctranslate2_settings {
    const char *unknown, *begin, *end; /* the tokens that this model uses as <unk>, <s> and </s> */
    const char *first_input; /* bos or eos, for the decoder in the model folder's config.json; NULL:
                                another token */
    const char *start;       /* the decoder's first token; "": not stated */
    bool bos, eos;           /* the encoder reads <s>, and </s> */
    double epsilon;          /* of norms; 0: not stated */
};
/* Reads config.json, which old models lack. */
int ctranslate2_read_settings(const struct ctranslate2_parts *parts, struct arena *arena,
                              struct ctranslate2_settings *out, struct error *err);
/* Finds the languages of a multilingual model by conversion_tokens_languages. target: set to the
 * target's tokens, unless the files are missing. */
int ctranslate2_read_languages(const struct ctranslate2_parts *parts, struct arena *arena,
                               json_t **out, struct tokens *target, struct error *err);
/* Reads the vocabularies. sizes: the numbers of tokens that the model has, the source's first. */
int ctranslate2_read_words(const struct ctranslate2_parts *parts,
                           const struct ctranslate2_settings *settings, const size_t sizes[2],
                           struct arena *arena, struct tokenizer_files *out, struct error *err);

/* The header of model.bin. */
struct ctranslate2_head {
    uint32_t version, revision; /* version of the format; revision of the specification */
    const char *spec;           /* TransformerSpec and others */
};
/* Opens model.bin and checks everything in it, but reads only the numbers of scales. An alias
 * becomes a separate entry with the data of its variable. Returns the same errors as the other
 * readers (tensors.h). */
int ctranslate2_open(const char *path, struct arena *arena, struct container *out,
                     struct ctranslate2_head *head, struct error *err);

#endif
