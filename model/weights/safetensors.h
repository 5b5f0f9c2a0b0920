/* This module maps the files of tensors in a model folder: safetensors, and the packed weights
 * beside them. */
#ifndef ALIGND_SAFETENSORS_H
#define ALIGND_SAFETENSORS_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- safetensors ----
 * The Hugging Face container: an 8-byte little-endian header length N, N bytes of JSON, then the
 * data. The file is mapped read-only; tensors point into the mapping. Every offset, dtype and shape
 * is checked against the file size before a byte of data is touched. Errors are: a header past the
 * end or over 100,000,000 bytes, gaps, overlaps, a last end that is not the end of the file, end -
 * begin != product(shape) x size, overflow, duplicate keys, an unknown dtype, too many dimensions.
 * Zero-size tensors, scalars, space padding after the JSON, and misaligned data are allowed. */

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I8, DTYPE_I32 };

enum { DTYPES = 5, TENSOR_MAX_DIMS = 8 };

extern const struct dtype_row {
    const char *name; /* in the container */
    size_t bytes;     /* size of one number */
} dtypes[DTYPES];

struct tensor {
    const char *name; /* owned by the container */
    enum dtype dtype;
    size_t dims; /* 0 for a scalar */
    size_t shape[TENSOR_MAX_DIMS];
    const unsigned char *data; /* may be misaligned */
    size_t bytes;
};

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static inline float half_to_float(uint32_t half) {
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0) { /* zero and subnormals: fraction x 2^-24, exact in float32 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 0x1f) /* infinity and NaN */
        return float_of_bits(sign | 0x7f800000 | fraction << 13);
    return float_of_bits(sign | (exponent - 15 + 127) << 23 | fraction << 13);
}

struct safetensors;

/* Opens and checks the file. Returns NULL with ERROR_FILE or ERROR_FORMAT (the message names the
 * tensor), or ERROR_MEMORY. */
struct safetensors *safetensors_open(const char *path, struct error *err);
void safetensors_free(struct safetensors *file);

/* Gives back to the kernel the pages that were read so far. The data stays valid: pages that are
 * touched again are read again. */
void safetensors_rest(const struct safetensors *file);

size_t safetensors_bytes(const struct safetensors *file);
/* Returns a checksum of the header, and of the first and last bytes of each tensor and some in
 * between. Two training runs give different sums, and only a few pages of each tensor are read. */
uint64_t safetensors_sample(const struct safetensors *file);

size_t safetensors_count(const struct safetensors *file);
/* Returns the tensor at this index, 0..count-1, in the order of data offsets. */
const struct tensor *safetensors_at(const struct safetensors *file, size_t index);
/* Returns NULL if the container lacks the tensor. */
const struct tensor *safetensors_find(const struct safetensors *file, const char *name);

/* ---- the file of packed weights ----
 * It lies beside the weights that it was made from, and is mapped read-only, so that loading packs
 * nothing and the daemons of a machine share the memory.
 *
 *     struct panels_header
 *     struct panels_entry [entries]     the matrices, and the places of their panels and rows
 *     panels and rows                   each at a multiple of PANELS_ALIGNMENT
 *
 * Numbers and strings are stored as they lie in memory; strings end with a NUL. The header is
 * trusted only if its checksum is right, and each matrix only if its own checksum is right, which
 * is compared on access. All other content is checked against the file's size before it is used:
 * for any content, no byte outside the file is read. Panels are numbers to multiply with, never
 * places or counts.
 *
 * A new file is written beside the old one and renamed, so processes that have the old one mapped
 * never see it change. A file that is truncated in place kills its readers (SIGBUS), as
 * model.safetensors does. */

/* VERSION rises with each change of this format, or of how any packing stores a weight, which
 * test_panels.c detects. */
enum {
    PANELS_VERSION = 1,
    PANELS_ALIGNMENT = 64,
    PANELS_WORD = 32,
    PANELS_NAME = 128,
    PANELS_SHA256 = 72,
    PANELS_MOST = 65536
};
#define PANELS_MAGIC "alignd-p" /* 8 bytes */

/* The origin of a file: the weights from which it was made, and the compute type and the processor
 * that can use it. */
struct panels_origin {
    char compute[PANELS_WORD], processor[PANELS_WORD]; /* compute_name; kernels' processor */
    uint64_t source_bytes, source_sample;              /* size and sample of model.safetensors */
    char source_sha256[PANELS_SHA256];                 /* in hexadecimal digits; "": unknown */
};

struct panels_header {
    char magic[8];
    uint32_t version, entries; /* entries: at most PANELS_MOST */
    uint64_t bytes;            /* length of the file */
    struct panels_origin origin;
    uint64_t sum; /* checksum of all before it, and of the entries */
};

/* One matrix: columns first .. first + in - 1 of `out` rows of the tensor. */
struct panels_entry {
    char name[PANELS_NAME], packing[PANELS_WORD];
    uint64_t first, out, in;
    uint64_t panels_at, panels_sum; /* at: bytes from the start of the file */
    uint64_t rows_at, rows_sum;     /* for lookups; at 0: none */
};

/* A packed matrix; rows: for lookups, or NULL. */
struct panels_matrix {
    const char *name;
    size_t first, out, in;
    const struct packing *packing;
    const void *packed, *rows;
};

/* Maps the file if its origin is this one. The sha256 is compared only if both are known. Returns
 * NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY if the file cannot be used. */
struct panels;
struct panels *panels_open(const char *path, const struct panels_origin *origin, struct error *err);
void panels_free(struct panels *panels);
/* Finds the matrix by its first five fields and sets packed and, if rows is true, rows, which stay
 * valid until panels_free. Returns false and sets nothing if the file does not have this matrix, or
 * has it damaged. */
bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows);
/* Gives back to the kernel the pages that were read to compare checksums. */
void panels_rest(const struct panels *panels);

/* Writes the matrices [count]. Returns -1 with ERROR_FILE, ERROR_MEMORY or ERROR_INPUT (a name is
 * too long, or there are too many). */
int panels_write(const char *path, const struct panels_origin *origin,
                 const struct panels_matrix *matrices, size_t count, struct error *err);

#endif
