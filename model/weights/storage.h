/* How a tensor's numbers are stored, and what they are as float32. */
#ifndef ALIGND_STORAGE_H
#define ALIGND_STORAGE_H

#include "model/compute/matrix.h"
#include "model/weights/safetensors.h"
#include <stddef.h>

struct storage {
    const char *name; /* "float32", "float16", "bfloat16", "int8" */
    enum stored stored;
    size_t bytes; /* of a value */
    void (*expand)(const unsigned char *data, size_t count, float *values);
    /* How many there are before the first that is infinite or no number; count: all are finite. */
    size_t (*finite)(const unsigned char *data, size_t count);
};

/* dtype: one that parameters may have, all but DTYPE_I32. */
const struct storage *storage_of(enum dtype dtype);

#endif
