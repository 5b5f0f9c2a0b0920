/* What a translator is made of; seen inside model/ only. */
#ifndef ALIGND_MODEL_H
#define ALIGND_MODEL_H

#include "config.h"
#include "decoder.h"
#include "encoder.h"
#include "output.h"
#include "segmenter.h"
#include "tokenizer.h"
#include "weights.h"

struct translator {
    struct model_config config;
    struct weights *weights;
    struct tokenizer *source, *target;
    struct segmenter *segmenter;
    const struct kernels *kernels;
    struct encoder encoder;
    struct decoder decoder;
    struct output output;
    char architecture[160];
};

#endif
