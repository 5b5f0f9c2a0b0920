/* The named parameters of one model as float32, whatever they are stored as: float32, float16, bfloat16, or int8 with one float32
 * scale per output channel, or one for all, in NAME.scale. What a matrix's input is multiplied with before it is rounded to int8
 * may stand in NAME.input_scale (model/compute/products.h): products in other types do not read it. float32 tensors that lie
 * aligned in the file are used where they are mapped; all others are expanded once into memory of this object. One read-only copy
 * serves all threads. */
#ifndef ALIGND_WEIGHTS_H
#define ALIGND_WEIGHTS_H

#include "model/base/error.h"
#include "model/compute/matrix.h"
#include <stdbool.h>
#include <stddef.h>

struct weights;

/* Maps the container and checks that every NAME.scale and NAME.input_scale belongs to an int8 tensor and every int8 tensor has a
 * scale. */
struct weights *weights_open(const char *path, struct error *err);
void weights_free(struct weights *weights);

/* What the linear layers made from now on compute with; before the first call float32 on the best kernels. Copied. */
void weights_use(struct weights *weights, const struct backend *backend);

const struct backend *weights_backend(const struct weights *weights);

/* The parameter of this name as [rows, cols] row-major (cols 1: a vector [rows]). The shape must match exactly.
 * On a missing name, a wrong shape or a value that is not finite: NULL, and the first such error stays in err (ERROR_FORMAT).
 * err may already hold an error: then nothing is looked up and NULL comes back, so that a whole model is asked for in one go. */
const float *weights_get(struct weights *weights, const char *name, size_t rows, size_t cols, struct error *err);

/* A parameter [rows, cols] that is read row by row, such as an embedding. It stays as it is stored; a row is expanded when it is
 * read, to the values that weights_get gives. Lives as long as the weights; thread-safe. */
struct weights_table {
    const float *values;               /* [rows, cols]; NULL: expanded when they are read */
    const struct parameter *parameter; /* the weights' own */
    size_t cols;
};
/* Errors as weights_get's: then -1. */
int weights_table(struct weights *weights, const char *name, size_t rows, size_t cols, struct weights_table *table,
                  struct error *err);
/* x [cols]; row: below rows. */
void weights_row(const struct weights_table *table, size_t row, float *x);

/* What a linear layer is made of. */
struct linear_names {
    const char *weight;    /* [out, in], or [out, columns] of which in are taken, from column `first` on */
    const char *bias;      /* [out]; NULL: none */
    size_t first, columns; /* columns 0: all */
    bool lookups;          /* as in struct linear_source */
};

/* True once weights_get or weights_linear has come to nothing, or weights_fail was called, whatever was found after it: what a
 * model is made of is asked for one after the other and checked once, before any of it is used. NULL (there are no parameters):
 * false. */
bool weights_failed(const struct weights *weights);
/* Makes it so where something else failed; err has been told. Returns -1. */
int weights_fail(struct weights *weights);

/* Makes the linear of these parameters, to be ended with linear_done before the weights. A matrix that was expanded only to be
 * packed does not stay in memory. Errors as weights_get's and linear_init's; the linear is for nothing but
 * linear_done then. */
int weights_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in, struct linear *linear,
                   struct error *err);

/* Takes what linears are packed into from this file from now on, where it has them (model/weights/panels.h). Call after
 * weights_use. sha256: of the container, in hexadecimal digits; NULL or "": not known. -1: why the file is not used, and nothing
 * has changed. A matrix of which the file has no panels, or damaged ones, is packed as ever. */
int weights_map(struct weights *weights, const char *path, const char *sha256, struct error *err);
/* Writes the linears made so far into such a file. -1 with ERROR_INPUT where nothing was packed (OpenBLAS multiplies), ERROR_FILE
 * or ERROR_MEMORY. */
int weights_pack(const struct weights *weights, const char *path, const char *sha256, struct error *err);
/* Linears made so far, and how many of them are the file's. */
struct weights_linears {
    size_t packed, mapped;
};
struct weights_linears weights_linears(const struct weights *weights);

/* Fails (-1, ERROR_FORMAT) naming a tensor that weights_get was never asked for: a file with strange parameters is not this model.
 */
int weights_all_used(const struct weights *weights, struct error *err);

/* The model is loaded: pages of the file that were read only to be expanded or packed need not stay in memory. */
void weights_rest(const struct weights *weights);

/* Memory that the parameters take, and the linears that were made of them: what is read where it is mapped counts, too. */
size_t weights_bytes(const struct weights *weights);

/* Parameters in the file, scales not counted. */
size_t weights_parameters(const struct weights *weights);
/* The storage of the largest tensor; its name: "float32", "float16", "bfloat16" or "int8". */
enum stored weights_stored(const struct weights *weights);
const char *weights_storage(const struct weights *weights);

#endif
