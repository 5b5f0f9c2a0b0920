#include "model/weights/quality_weights.h"
#include "model/weights/safetensors.h"
#include <math.h>
#include <string.h>

/* weights [count] and the constant behind them: copies, since data in the file may be misaligned. */
static int read_regression(const struct safetensors *file, const char *name, float *weights, size_t count, float *constant,
                           struct error *err) {
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor)
        return error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
    if (tensor->dtype != DTYPE_F32 || tensor->bytes != (count + 1) * sizeof *weights || tensor->dims != 1)
        return error_set(err, ERROR_FORMAT, "tensor %s: must be F32 of %zu numbers", name, count + 1);
    memcpy(weights, tensor->data, count * sizeof *weights);
    memcpy(constant, (const char *)tensor->data + count * sizeof *weights, sizeof *constant);
    for (size_t i = 0; i <= count; i++)
        if (!isfinite(i < count ? weights[i] : *constant))
            return error_set(err, ERROR_FORMAT, "tensor %s: must hold finite numbers", name);
    return 0;
}

static int read_doubt(const struct safetensors *file, struct quality_doubt *doubt, struct error *err) {
    float numbers[QUALITY_DOUBT_FEATURES + 1], below;
    if (!safetensors_find(file, "doubt"))
        return 0;
    if (read_regression(file, "doubt", numbers, QUALITY_DOUBT_FEATURES + 1, &below, err) != 0)
        return -1;
    memcpy(doubt->weights, numbers, sizeof doubt->weights);
    doubt->constant = numbers[QUALITY_DOUBT_FEATURES];
    doubt->below = below;
    return 0;
}

static int read_both(const struct safetensors *file, struct quality_weights *read, struct error *err) {
    if (read_regression(file, "words", read->words.weights, QUALITY_FEATURES, &read->words.constant, err) != 0 ||
        read_regression(file, "sentence", read->sentence.weights, QUALITY_FEATURES, &read->sentence.constant, err) != 0 ||
        read_doubt(file, &read->doubt, err) != 0)
        return -1;
    bool whole = safetensors_count(file) == 2 + (safetensors_find(file, "doubt") != NULL);
    return whole ? 0 : error_set(err, ERROR_FORMAT, "must hold words, sentence and perhaps doubt alone");
}

static int read_log_probs(const struct safetensors *file, struct quality_weights *read, struct error *err) {
    read->log_probs_alone = true;
    if (read_regression(file, "log_probs", read->log_probs.weights, QUALITY_LOG_PROB_FEATURES, &read->log_probs.constant, err) != 0)
        return -1;
    return safetensors_count(file) == 1 ? 0 : error_set(err, ERROR_FORMAT, "must hold log_probs alone");
}

int quality_read(const char *path, struct quality_weights *weights, struct error *err) {
    struct safetensors *file = safetensors_open(path, err);
    struct quality_weights read = {0};
    if (!file)
        return -1;
    int result = safetensors_find(file, "log_probs") ? read_log_probs(file, &read, err) : read_both(file, &read, err);
    if (result == 0)
        *weights = read;
    safetensors_free(file);
    return result;
}
