/* CTranslate2's models (OpenNMT/CTranslate2) of an encoder and a decoder: a folder of model.bin, vocabularies and perhaps
 * config.json; and packages of Argos Translate and LibreTranslate, which hold such a folder with a SentencePiece model beside it.
 */
#ifndef ALIGND_IMPORT_CTRANSLATE2_H
#define ALIGND_IMPORT_CTRANSLATE2_H

#include "model/import/ctranslate2_files.h"
#include "model/import/folder.h"

/* The header of the file. */
struct ctranslate2_head {
    uint32_t version, revision; /* of the format; of the specification */
    const char *spec;           /* TransformerSpec and others */
};

/* Opens model.bin. Everything that it says is checked before a number is read; an alias is an entry of its own, with the data of
 * the variable that it stands for. Errors as those of the other readers (stored.h). */
int ctranslate2_open(const char *path, struct arena *arena, struct container *out, struct ctranslate2_head *head,
                     struct error *err);

struct ctranslate2_options {
    const char *preparation; /* none or opus */
    const char *alignment;   /* trained or untrained; NULL: what the card says */
};

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the configuration. -1: the message begins
 * with a file or a tensor. */
int ctranslate2_convert(const struct ctranslate2_parts *parts, const struct ctranslate2_options *options, struct arena *arena,
                        struct conversion *out, struct error *err);

#endif
