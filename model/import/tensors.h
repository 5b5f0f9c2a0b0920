/* This module reads the tensors of a foreign file in any container, and makes those of the model
 * folder from them.
 *
 * The container's list holds names, types and shapes; numbers are read a few at a time as float32.
 * For each new tensor, a list of patches defines from which parts of the file's tensors it is
 * assembled. Each is assembled when it is written, a few rows at a time, so the only foreign
 * matrices in memory are those that this tensor transposes. */
#ifndef ALIGND_IMPORT_TENSORS_H
#define ALIGND_IMPORT_TENSORS_H

#include "model/import/source.h"
#include "model/weights/safetensors.h"

/* ---- the tensors of a file ---- */

/* The types of numbers. Numbers of the types after STORED_I32 are never converted: their tensors
 * are dropped, or an error names them. */
enum stored_kind {
    STORED_F32,
    STORED_F16,
    STORED_BF16,
    STORED_F64,
    STORED_I8,
    STORED_I16,
    STORED_I32,
    STORED_I64,
    STORED_U8,
    STORED_U16,
    STORED_U32,
    STORED_U64,
    STORED_BOOL,
    STORED_KINDS
};
extern const struct stored_type {
    const char *name; /* the name in messages: float32, int8 */
    size_t bytes;     /* size of one number */
} stored_types[STORED_KINDS];
enum { STORED_MOST_DIMS = 8 };

struct stored_tensor {
    const char *name;
    enum stored_kind kind;
    size_t dims, shape[STORED_MOST_DIMS];
    bool quantised;          /* int8 or int16 that represent other numbers: each is q * scale */
    float scale;             /* scale of quantised numbers; 1 / the multiplier in the file */
    const float *row_scales; /* [shape[0]] used instead of scale if each row has its own; NULL: one
                                scale for all */
    bool transposed;         /* the numbers of a matrix [R, C] are in the order of [C, R] */
    int file;                /* the numbers are in this file, from the byte `at` on ... */
    uint64_t at;
    const unsigned char *data; /* ... or in memory, if this is not NULL */
};

/* An open file. */
struct container {
    struct stored_tensor *entries; /* [count] in the arena */
    size_t count;
    int file;                   /* -1: none */
    struct safetensors *mapped; /* NULL: none */
    struct container *parts;    /* [part_count] files of a model that is stored in several, to which
                                   the entries refer */
    size_t part_count;
};

/* These functions read Marian's, NumPy's and PyTorch's containers (containers.c), and the Hugging
 * Face container of model/weights; ctranslate2.c reads CTranslate2's. work: a folder for unpacking,
 * in which they leave no files. Each checks the complete list when it opens a file, and reads only
 * the numbers of scales. They return -1 with ERROR_FILE, ERROR_FORMAT, ERROR_INPUT (interrupted) or
 * ERROR_MEMORY; nothing is then open, and messages about the file begin with the path. */
int tensors_open_marian(const char *path, struct arena *arena, struct container *out,
                        struct error *err);
int tensors_open_npz(const char *path, const char *work, struct arena *arena, import_stop stop,
                     struct container *out, struct error *err);
int tensors_open_pickle(const char *path, const char *work, struct arena *arena, import_stop stop,
                        struct container *out, struct error *err);
int tensors_open_safetensors(const char *path, struct arena *arena, struct container *out,
                             struct error *err);
/* Ends a reader with this result: moves the opened container to *out, or closes it after an error.
 * Returns the result. */
int tensors_finish(struct container *opened, int result, struct container *out);
/* Closes the container. May be called twice, and for a container that was never opened but is
 * zeroed except for file -1. */
void tensors_close(struct container *container);

/* Returns NULL if no tensor has this name. */
const struct stored_tensor *tensors_find_stored(const struct container *container,
                                                const char *name);
/* Returns the number of elements. The readers have checked that the product does not overflow. */
uint64_t tensors_count(const struct stored_tensor *stored);
/* Reads numbers first .. first + count - 1, in the order of the file. Returns -1 with ERROR_FILE,
 * or with ERROR_FORMAT if a number is not finite. */
int tensors_numbers(const struct stored_tensor *stored, uint64_t first, size_t count, float *out,
                    struct error *err);
/* Reads the same range as unconverted bytes. */
int tensors_bytes(const struct stored_tensor *stored, uint64_t first, size_t count, void *out,
                  struct error *err);
/* Formats a shape: "(8, 9)", "(5,)", "()". */
const char *tensors_shape(struct arena *arena, const size_t *shape, size_t dims);
/* Computes the bytes of all elements from kind and shape. Returns false if they exceed INT64_MAX.
 */
bool tensors_size(const struct stored_tensor *stored, uint64_t *bytes);

/* Rounds to IEEE half precision, to nearest, ties to even. */
uint16_t tensors_half(float value);

/* ---- conversion ----
 * Errors are sticky: after the first one the functions do nothing, and tensors_write returns that
 * error. A converter therefore is a list of tensors without checks. */

/* The storages are in the order of the dtypes. */
enum storage_kind {
    STORAGE_FLOAT32,
    STORAGE_FLOAT16,
    STORAGE_BFLOAT16,
    STORAGE_INT8,
    STORAGE_KINDS
};
extern const char *const storage_names[STORAGE_KINDS];

/* A part of a tensor [rows, columns]: element (i, j) is the foreign matrix's element at (row + i,
 * column + j), or if flip is set at (row + j, column + i). */
struct patch {
    const struct stored_tensor *from;
    bool flip;
    bool add;     /* the part is added to the current values, which it otherwise replaces */
    float factor; /* of the numbers of a vector; 0: 1 */
    size_t row, column;
    size_t to_row, to_column, rows, columns;
    struct patch *next;
};

struct made {
    const char *name;
    size_t dims, rows, columns; /* dims 1: a vector [columns], rows 1 */
    bool identity;              /* where there are no patches, the diagonal is 1 instead of 0 */
    struct patch *patches, **last;
    const struct stored_tensor *given; /* the same matrix as int8 in the file, copied unchanged with
                                          storage int8; NULL: none */
    size_t given_row;  /* the row of given that is the first here; more than 0 only if each row has
                          its own scale */
    bool exact;        /* float32 with any storage: a matrix that is added, not multiplied with */
    float input_scale; /* given's factor that scales inputs before they are rounded; 0: the file has
                          none */
    struct made *next;
};

/* The foreign tensors, of which some were requested, and the new ones. */
struct tensors {
    struct arena *arena;
    const struct container *from;
    const char *
        *names; /* [from->count] names by which the foreign tensors are requested; NULL: dropped */
    bool *left; /* [from->count] not requested yet */
    struct made *made, **last;
    size_t count;
    struct made nobody; /* the dummy that tensors_make returns after an error */
    struct error *err;
    bool failed;
};

/* Returns -1 with ERROR_MEMORY. Initially all tensors are unused and have their own names. */
int tensors_init(struct tensors *tensors, const struct container *from, struct arena *arena,
                 struct error *err);
/* Fails with this message, unless something failed before. */
__attribute__((format(printf, 2, 3))) void tensors_fail(struct tensors *tensors, const char *format,
                                                        ...);

/* A buffer for a tensor's name, which lasts for an expression or in a variable. A name that is too
 * long is truncated and then does not match any tensor. */
struct name {
    char text[128];
};
__attribute__((format(printf, 1, 2))) struct name tensors_named(const char *format, ...);

/* ---- the foreign tensors ---- */

/* Returns NULL if the tensor is missing, which is not an error. */
const struct stored_tensor *tensors_find(const struct tensors *tensors, const char *name);
/* Returns the first size of the tensor's shape, or 1 after an error. */
size_t tensors_rows(struct tensors *tensors, const char *name);
/* Requests the tensor, once or several times. Returns NULL after an error: it is missing, has
 * another shape, or its numbers are neither floating-point nor quantised. */
const struct stored_tensor *tensors_matrix(struct tensors *tensors, const char *name, size_t rows,
                                           size_t columns);
/* Requests a vector of the shape [size], [1, size] or [size, 1]. */
const struct stored_tensor *tensors_vector(struct tensors *tensors, const char *name, size_t size);
/* Marks a tensor that is not needed and may be present. */
void tensors_drop(struct tensors *tensors, const char *name);
/* Fails if a foreign tensor is unused. what: the end of the message. */
void tensors_check_left(struct tensors *tensors, const char *what);

/* ---- the new tensors ---- */

/* Plans a matrix or vector of zeros, and copies the name. Returns a dummy after an error, never
 * NULL. */
struct made *tensors_make(struct tensors *tensors, const char *name, size_t rows, size_t columns);
struct made *tensors_make_vector(struct tensors *tensors, const char *name, size_t size);

/* Plans the embedding, the output layer unless it is tied, and its bias, of a model of Hugging Face
 * with one vocabulary, whose embedding [V, size] may have only one of its names in the file:
 * PREFIXshared, those of either side, or the output layer's. Returns V. */
size_t tensors_copy_words(struct tensors *tensors, const char *prefix, size_t size, bool tied);
/* Adds a part. Does nothing if patch.from is NULL. */
void tensors_patch(struct tensors *tensors, struct made *made, struct patch patch);
/* These plan a tensor of the first rows and columns of a foreign matrix, as it is or transposed, or
 * of a vector's first numbers. */
struct made *tensors_copy(struct tensors *tensors, const char *name,
                          const struct stored_tensor *from, size_t rows, size_t columns);
struct made *tensors_transpose(struct tensors *tensors, const char *name,
                               const struct stored_tensor *from, size_t inputs, size_t outputs);
struct made *tensors_copy_vector(struct tensors *tensors, const char *name,
                                 const struct stored_tensor *from, size_t size);

/* Returns how many numbers all new tensors have. */
uint64_t tensors_parameters(const struct tensors *tensors);
/* A safetensors file that is written. */
struct tensors_file {
    const char *path; /* must not exist */
    enum storage_kind kind;
    const char *origin; /* its metadata converted_from; NULL: none */
};

/* Writes model.safetensors. bytes: set to the file's size. Returns -1 with the first error, or
 * ERROR_FILE, ERROR_FORMAT, ERROR_INPUT (interrupted) or ERROR_MEMORY. */
int tensors_write(struct tensors *tensors, const struct tensors_file *file, import_stop stop,
                  uint64_t *bytes, struct error *err);

/* A tensor in memory, which tensors_write_ready writes into a small safetensors file, such as a
 * shortlist.
 */
struct ready {
    const char *name;
    bool integers; /* int32 instead of float32 */
    size_t count;
    const void *numbers; /* [count] */
};
int tensors_write_ready(const char *path, const struct ready *tensors, size_t count,
                        struct arena *arena, struct error *err);

#endif
