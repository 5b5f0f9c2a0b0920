#include "model/weights/quality_weights.h"
#include "model/weights/safetensors.h"
#include <math.h>
#include <string.h>

/* A copy, since data in the file may be misaligned. */
static int read_regression(const struct safetensors *file, const char *name, struct quality_regression *regression,
                           struct error *err) {
    float numbers[QUALITY_FEATURES + 1];
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor)
        return error_set(err, ERROR_FORMAT, "tensor %s: missing", name);
    if (tensor->dtype != DTYPE_F32 || tensor->bytes != sizeof numbers || tensor->dims != 1)
        return error_set(err, ERROR_FORMAT, "tensor %s: must be F32 of %d numbers", name, (int)QUALITY_FEATURES + 1);
    memcpy(numbers, tensor->data, sizeof numbers);
    for (size_t i = 0; i <= QUALITY_FEATURES; i++)
        if (!isfinite(numbers[i]))
            return error_set(err, ERROR_FORMAT, "tensor %s: must hold finite numbers", name);
    memcpy(regression->weights, numbers, sizeof regression->weights);
    regression->constant = numbers[QUALITY_FEATURES];
    return 0;
}

int quality_read(const char *path, struct quality_weights *weights, struct error *err) {
    struct safetensors *file = safetensors_open(path, err);
    struct quality_weights read;
    if (!file)
        return -1;
    int result = read_regression(file, "words", &read.words, err);
    if (result == 0)
        result = read_regression(file, "sentence", &read.sentence, err);
    if (result == 0 && safetensors_count(file) > 2)
        result = error_set(err, ERROR_FORMAT, "must hold words and sentence alone");
    if (result == 0)
        *weights = read;
    safetensors_free(file);
    return result;
}
