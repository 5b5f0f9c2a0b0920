/* Hugging Face's folders of MarianMT, and of M2M-100 and NLLB-200, which have one structure: config.json, model.safetensors or
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
#ifndef ALIGND_IMPORT_HUGGINGFACE_H
#define ALIGND_IMPORT_HUGGINGFACE_H

#include "model/import/folder.h"

struct huggingface_options {
    const char *name;        /* origin of the model, as its card names it */
    const char *work;        /* a folder for unpacking */
    const char *preparation; /* none or opus; NULL: opus of MarianMT, none of the others */
    const char *alignment;   /* trained or untrained; NULL: as the card says */
    bool unknowns;
    import_stop stop;
};

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the configuration. Returns -1 with a
 * message that begins with the name of a file in the folder or of a tensor. */
int huggingface_convert(const char *folder, const struct huggingface_options *options, struct arena *arena, struct conversion *out,
                        struct error *err);

#endif
