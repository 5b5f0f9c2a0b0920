/* What a translator is made of; seen inside model/ only. */
#ifndef ALIGND_MODEL_H
#define ALIGND_MODEL_H

#include "model/network/attention.h"
#include "model/network/decoder.h"
#include "model/network/encoder.h"
#include "model/network/output.h"
#include "model/text/labels.h"
#include "model/text/numbers.h"
#include "model/text/readable.h"
#include "model/text/segmenter.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/quality_weights.h"
#include "model/weights/shortlist.h"
#include "model/weights/weights.h"

struct translator {
    struct model_config config;
    struct weights *weights;
    struct tokenizer *source, *target, *characters; /* characters: NULL unless the output spells */
    bool holds;                                     /* opaque runs: it has <unk>, to read and to write in their place */
    enum opaque_scope scope;                        /* what counts as one, unless the caller wants it read as it is */
    struct readable readable;                       /* of the source, where the scope is OPAQUE_ALL */
    struct labels variants;
    bool *continues; /* [V] glossary_continues */
    short *bytes;    /* [V] tokenizer_byte of the target's pieces; NULL: none is a byte */
    struct segmenter *segmenter;
    struct number_words *source_numbers,
        *target_numbers;             /* NULL: it does not translate, or ICU does not know the language's numbers */
    struct shortlist *shortlist;     /* NULL: none in use */
    struct quality_weights *quality; /* NULL: the model does not estimate any */
    struct pages pages;              /* the backend's */
    struct backend backend;
    struct encoder encoder;
    struct decoder decoder;
    struct output output;
    struct alignment alignment;
    struct speller speller;
    char architecture[288];
    char unmapped[160];     /* translator_info's */
    size_t tokenizer_bytes; /* an estimate */
};

#endif
