/* What quality is estimated with (model/quality.h): two logistic regressions over the same features, one of words and one of
 * sentences, or one of words over others, as Bergamot has it. FOLDER/quality.safetensors: words and sentence, F32 [QUALITY_FEATURES
 * + 1], a weight for each feature and a constant, which weights/quality.py fits; or log_probs, F32 [QUALITY_LOG_PROB_FEATURES + 1],
 * which model/import converts. Beside words and sentence there may be doubt, F32 [QUALITY_DOUBT_FEATURES + 2]: a
 * regression that estimates cheaply whether a sentence is right, and the estimate below which it is doubtful (weights/doubt.py). */
#ifndef ALIGND_QUALITY_WEIGHTS_H
#define ALIGND_QUALITY_WEIGHTS_H

#include "model/base/error.h"
#include <stdbool.h>

enum quality_feature { QUALITY_LOG_PROB, QUALITY_ENTROPY, QUALITY_GAP, QUALITY_COVERAGE, QUALITY_SHARPNESS, QUALITY_FEATURES };

struct quality_regression {
    float weights[QUALITY_FEATURES], constant;
};

enum quality_log_prob_feature { QUALITY_MEAN, QUALITY_LEAST, QUALITY_TOKENS, QUALITY_OVERALL, QUALITY_LOG_PROB_FEATURES };

enum quality_doubt_feature { QUALITY_DOUBT_LOG_PROB, QUALITY_DOUBT_ENTROPY, QUALITY_DOUBT_LENGTH, QUALITY_DOUBT_FEATURES };

struct quality_doubt {
    float weights[QUALITY_DOUBT_FEATURES], constant, below; /* below 0: the model doubts nothing */
};

struct quality_weights {
    struct quality_doubt doubt;
    bool log_probs_alone; /* then the first two are not there, otherwise the last is not */
    struct quality_regression words, sentence;
    struct {
        float weights[QUALITY_LOG_PROB_FEATURES], constant;
    } log_probs;
};

/* -1 with ERROR_FILE, ERROR_FORMAT (a tensor that is missing, of another type or shape, not finite, or unknown) or ERROR_MEMORY. */
int quality_read(const char *path, struct quality_weights *weights, struct error *err);

#endif
