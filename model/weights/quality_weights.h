/* What quality is estimated with: two logistic regressions over the same features, one of words and one of sentences
 * (model/quality.h). FOLDER/quality.safetensors, which weights/quality.py fits: words and sentence, F32 [QUALITY_FEATURES + 1], a
 * weight for each feature and a constant. */
#ifndef ALIGND_QUALITY_WEIGHTS_H
#define ALIGND_QUALITY_WEIGHTS_H

#include "model/base/error.h"

enum quality_feature { QUALITY_LOG_PROB, QUALITY_ENTROPY, QUALITY_GAP, QUALITY_COVERAGE, QUALITY_SHARPNESS, QUALITY_FEATURES };

struct quality_regression {
    float weights[QUALITY_FEATURES], constant;
};

struct quality_weights {
    struct quality_regression words, sentence;
};

/* -1 with ERROR_FILE, ERROR_FORMAT (a tensor that is missing, of another type or shape, not finite, or unknown) or ERROR_MEMORY. */
int quality_read(const char *path, struct quality_weights *weights, struct error *err);

#endif
