/* The Hugging Face safetensors container: an 8-byte little-endian header length N, N bytes of JSON, then the data.
 * The file is mapped read-only; tensors point into the mapping. Every offset, dtype and shape is checked against the file size
 * before a byte of data is touched. Rejected: a header past the end or over 100,000,000 bytes, gaps, overlaps, a last end that
 * is not the end of the file, end - begin != product(shape) x size, overflow, duplicate keys, an unknown dtype.
 * Allowed: zero-size tensors, scalars, space padding after the JSON, misaligned data. */
#ifndef ALIGND_SAFETENSORS_H
#define ALIGND_SAFETENSORS_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I8, DTYPE_I32 };

enum { TENSOR_MAX_DIMS = 8 };

struct tensor {
    const char *name; /* owned by the container */
    enum dtype dtype;
    size_t dims; /* 0 for a scalar */
    size_t shape[TENSOR_MAX_DIMS];
    const unsigned char *data; /* may be misaligned */
    size_t bytes;
};

struct safetensors;

/* Opens and checks the file. Returns NULL with ERROR_FILE or ERROR_FORMAT (the message names the tensor), or ERROR_MEMORY. */
struct safetensors *safetensors_open(const char *path, struct error *err);
void safetensors_free(struct safetensors *file);

/* Gives the pages that were read so far back to the kernel. The data stays valid: pages that are touched again are read again. */
void safetensors_rest(const struct safetensors *file);

size_t safetensors_bytes(const struct safetensors *file);
/* Returns a checksum of the header, and of the first and last bytes of each tensor and some in between. Two training runs give two
 * sums, and only a few pages of each tensor are read. */
uint64_t safetensors_sample(const struct safetensors *file);

size_t safetensors_count(const struct safetensors *file);
/* index 0..count-1, sorted by data offset. */
const struct tensor *safetensors_at(const struct safetensors *file, size_t index);
/* Returns NULL if the container lacks the tensor. */
const struct tensor *safetensors_find(const struct safetensors *file, const char *name);

#endif
