/* Hugging Face's MarianMT models: config.json, model.safetensors or pytorch_model.bin, vocab.json (and target_vocab.json),
 * source.spm, target.spm. They are converted to the same folder as the Marian model that they were made from: without the padding
 * token, which has no counterpart there, and with Marian's own positions and epsilon, with which they were trained. */
#ifndef ALIGND_IMPORT_HUGGINGFACE_H
#define ALIGND_IMPORT_HUGGINGFACE_H

#include "model/import/folder.h"

struct huggingface_options {
    const char *name;        /* origin of the model, as its card names it */
    const char *work;        /* a folder for unpacking */
    const char *preparation; /* none or opus */
    const char *alignment;   /* trained or untrained; NULL: as the card says */
    bool unknowns;
    import_stop stop;
};

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the configuration. Returns -1 with a
 * message that begins with the name of a file in the folder or of a tensor. */
int huggingface_convert(const char *folder, const struct huggingface_options *options, struct arena *arena, struct conversion *out,
                        struct error *err);

#endif
