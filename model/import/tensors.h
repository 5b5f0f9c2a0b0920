/* The tensors of the model folder that is made: for each its shape, and from which parts of the file's tensors it is put together.
 * They are made when they are written, a few rows at a time; at most one foreign matrix is in memory, where it has to be
 * transposed.
 *
 * Errors are sticky: after the first one the functions do nothing, and tensors_write returns it. So a converter is a list of
 * tensors, and not a list of checks. */
#ifndef ALIGND_IMPORT_TENSORS_H
#define ALIGND_IMPORT_TENSORS_H

#include "model/import/stored.h"

enum storage_kind { STORAGE_FLOAT32, STORAGE_FLOAT16, STORAGE_BFLOAT16, STORAGE_INT8, STORAGE_KINDS };
extern const char *const storage_names[STORAGE_KINDS];

/* A part of a tensor [rows, columns]: element (i, j) is that of the foreign matrix at (row + i, column + j), or if it is flipped at
 * (row + j, column + i). */
struct patch {
    const struct stored *from;
    bool flip;
    bool add; /* to what is there */
    size_t row, column;
    size_t to_row, to_column, rows, columns;
    struct patch *next;
};

struct made {
    const char *name;
    size_t dims, rows, columns; /* dims 1: a vector [columns], rows 1 */
    bool identity;              /* ones on the diagonal where there are no patches, and not zeros */
    struct patch *patches, **last;
    const struct stored *given; /* the same matrix as int8 in the file, kept as it is with storage int8; NULL: none */
    float input_scale;          /* of given: what inputs are multiplied with before they are rounded; 0: the file does not say */
    struct made *next;
};

/* The foreign tensors that were used, and the new ones. */
struct tensors {
    struct arena *arena;
    const struct container *from;
    const char **names; /* [from->count] by which the foreign tensors are requested; NULL: dropped */
    bool *left;         /* [from->count] not requested yet */
    struct made *made, **last;
    size_t count;
    struct made nobody; /* what tensors_make returns after an error */
    struct error *err;
    bool failed;
};

/* Returns -1 with ERROR_MEMORY. At first all tensors are unused and have their own names. */
int tensors_init(struct tensors *tensors, const struct container *from, struct arena *arena, struct error *err);
/* Fails with this message, unless something failed before. */
__attribute__((format(printf, 2, 3))) void tensors_fail(struct tensors *tensors, const char *format, ...);

/* A tensor's name in its own buffer, for the duration of an expression or in a variable. A name that is too long is truncated and
 * then does not match any tensor. */
struct name {
    char text[128];
};
__attribute__((format(printf, 1, 2))) struct name named(const char *format, ...);

/* ---- the foreign tensors ---- */

/* NULL: missing, which is not an error. */
const struct stored *tensors_find(const struct tensors *tensors, const char *name);
/* The first size of its shape, 1 after an error. */
size_t tensors_rows(struct tensors *tensors, const char *name);
/* Requests the tensor, once or several times. NULL after an error: it is missing, has another shape, or is not of floating-point
 * numbers. */
const struct stored *tensors_matrix(struct tensors *tensors, const char *name, size_t rows, size_t columns);
/* [size], [1, size] or [size, 1] */
const struct stored *tensors_vector(struct tensors *tensors, const char *name, size_t size);
/* Marks a tensor that is not needed and may be present. */
void tensors_drop(struct tensors *tensors, const char *name);
/* Fails if a foreign tensor is unused. what: the end of the message. */
void tensors_check_left(struct tensors *tensors, const char *what);

/* ---- the made ones ---- */

/* A matrix or vector of zeros. Never NULL: after an error it is a dummy. The name is copied. */
struct made *tensors_make(struct tensors *tensors, const char *name, size_t rows, size_t columns);
struct made *tensors_make_vector(struct tensors *tensors, const char *name, size_t size);
/* Adds a part. patch.from NULL: does nothing. */
void tensors_patch(struct tensors *tensors, struct made *made, struct patch patch);
/* All of a foreign matrix as it is, or transposed; a whole vector; made from them. */
struct made *tensors_copy(struct tensors *tensors, const char *name, const struct stored *from, size_t rows, size_t columns);
struct made *tensors_transpose(struct tensors *tensors, const char *name, const struct stored *from, size_t inputs, size_t outputs);
struct made *tensors_copy_vector(struct tensors *tensors, const char *name, const struct stored *from, size_t size);

/* The numbers of all made tensors. */
uint64_t tensors_parameters(const struct tensors *tensors);
/* Writes model.safetensors to the path, which must not exist, with `origin` as its metadata converted_from. bytes: of the file.
 * Returns -1 with the first error, or ERROR_FILE, ERROR_FORMAT, ERROR_MEMORY. */
int tensors_write(struct tensors *tensors, const char *path, enum storage_kind kind, const char *origin, import_stop stop,
                  uint64_t *bytes, struct error *err);

/* A small safetensors file of tensors in memory, as shortlists are. */
struct ready {
    const char *name;
    bool integers; /* int32 instead of float32 */
    size_t count;
    const void *numbers; /* [count] */
};
int ready_write(const char *path, const struct ready *tensors, size_t count, struct arena *arena, struct error *err);

#endif
