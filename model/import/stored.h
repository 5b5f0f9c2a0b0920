/* The tensors of a foreign file in any container: their names, types and shapes, and their numbers, which are read a few at a time
 * as float32. Only the list is held in memory. */
#ifndef ALIGND_IMPORT_STORED_H
#define ALIGND_IMPORT_STORED_H

#include "model/import/source.h"

enum stored_kind { STORED_F32, STORED_F16, STORED_BF16, STORED_F64, STORED_I8, STORED_I16, STORED_I32, STORED_OTHER };
enum { STORED_MOST_DIMS = 8 };

struct safetensors;

struct stored {
    const char *name;
    const char *type; /* as messages say it: float32, int8 */
    enum stored_kind kind;
    size_t dims, shape[STORED_MOST_DIMS];
    size_t item;             /* bytes of a number */
    bool quantised;          /* int8 or int16 that stand for other numbers: each is q * scale */
    float scale;             /* of quantised ones; 1 / the multiplier in the file */
    const float *row_scales; /* [shape[0]] in the place of scale, where each row has its own; NULL: none has */
    bool transposed;         /* of a matrix [R, C]: the numbers lie as those of [C, R] */
    int file;                /* where they are, from the byte `at` on ... */
    uint64_t at;
    const unsigned char *data; /* ... or in memory, if this is not NULL */
};

/* An open file. */
struct container {
    const char *path;
    struct stored *entries; /* [count] in the arena */
    size_t count;
    int file;                   /* -1: none */
    struct safetensors *mapped; /* NULL: none */
    struct container *parts;    /* [part_count] files of a model that is stored in several; entries are theirs */
    size_t part_count;
};

/* Three of the readers (the fourth is in ctranslate2.h), and the Hugging Face container of model/weights. work: a folder for
 * unpacking, in which they leave no files. Each checks the complete list before it reads a number. They return -1 with ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY; then nothing is open, and messages begin with the path. */
int npz_open(const char *path, const char *work, struct arena *arena, import_stop stop, struct container *out, struct error *err);
int marian_bin_open(const char *path, struct arena *arena, struct container *out, struct error *err);
int pickle_open(const char *path, const char *work, struct arena *arena, import_stop stop, struct container *out,
                struct error *err);
int safetensors_container(const char *path, struct arena *arena, struct container *out, struct error *err);
/* May be called twice, and for a container that was never opened but is zeroed except for file -1. */
void container_close(struct container *container);
/* Forgets pages of a mapped file that have been read. */
void container_rest(const struct container *container);

/* NULL: no tensor has this name. */
const struct stored *stored_find(const struct container *container, const char *name);
/* The number of its numbers. The readers have checked that the product does not overflow. */
uint64_t stored_count(const struct stored *stored);
/* Numbers first .. first + count - 1 in the order in which they lie there. -1 with ERROR_FILE, or with ERROR_FORMAT if one is not
 * finite. */
int stored_numbers(const struct stored *stored, uint64_t first, size_t count, float *out, struct error *err);
/* The same as the bytes that they are. */
int stored_bytes(const struct stored *stored, uint64_t first, size_t count, void *out, struct error *err);
/* "(8, 9)", "(5,)", "()". */
const char *stored_shape(struct arena *arena, const size_t *shape, size_t dims);
/* The product of the shape and the size of a number; false: it does not fit. */
bool stored_size(const size_t *shape, size_t dims, size_t item, uint64_t *bytes);

/* IEEE half precision, to the nearest, of two equally near the even one. */
float half_to_float(uint16_t half);
uint16_t half_from_float(float value);

#endif
