/* Transformers that other programs than Marian hand around: CTranslate2's models and Hugging Face's folders. Each becomes a
 * conversion: its container, tensors, tokenizer, origin, and sections of the configuration. */
#ifndef ALIGND_IMPORT_TRANSFORMERS_H
#define ALIGND_IMPORT_TRANSFORMERS_H

#include "model/import/folder.h"

struct transformer_options {
    const char *name;        /* origin of the model, as its card names it; of CTranslate2's models their parts say it */
    const char *work;        /* a folder for unpacking */
    const char *preparation; /* none or opus; NULL: opus of MarianMT, none of the others */
    const char *alignment;   /* trained or untrained; NULL: as the card says */
    bool unknowns;           /* searches may choose <unk>, which those of MarianMT otherwise may not */
    import_stop stop;
};

/* ---- Hugging Face ----
 * Hugging Face's folders of MarianMT, and of M2M-100 and NLLB-200, which have one structure: config.json, model.safetensors or
 * pytorch_model.bin, in one file or in several that an index names.
 *
 * MarianMT: vocab.json (and target_vocab.json), source.spm, target.spm. The model becomes the same folder as the Marian model that
 * it was made from: without the padding token, which has no counterpart there, and with Marian's own positions and epsilon, with
 * which it was trained.
 *
 * M2M-100 and NLLB-200: sentencepiece.bpe.model and, of M2M-100, vocab.json, which numbers its pieces. NLLB-200's pieces have the
 * ids of the file and one more, after <s>, <pad>, </s> and <unk>. The tokens of languages follow in the order of
 * special_tokens_map.json, unless tokenizer_config.json gives their ids. The model becomes the same folder as CTranslate2's
 * conversion of it. */

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the configuration. Returns -1 with a
 * message that begins with the name of a file in the folder or of a tensor. */
int huggingface_convert(const char *folder, const struct transformer_options *options, struct arena *arena, struct conversion *out,
                        struct error *err);

/* ---- CTranslate2 ----
 * Models of an encoder and a decoder, whose files ctranslate2_find (parts.h) has found. */

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

/* The header of the file. */
struct ctranslate2_head {
    uint32_t version, revision; /* of the format; of the specification */
    const char *spec;           /* TransformerSpec and others */
};

/* Opens model.bin. Everything that it says is checked before a number is read; an alias is an entry of its own, with the data of
 * the variable that it stands for. Errors as those of the other readers (tensors.h). */
int ctranslate2_open(const char *path, struct arena *arena, struct container *out, struct ctranslate2_head *head,
                     struct error *err);

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the configuration. -1: the message begins
 * with a file or a tensor. */
int ctranslate2_convert(const struct ctranslate2_parts *parts, const struct transformer_options *options, struct arena *arena,
                        struct conversion *out, struct error *err);

#endif
