/* This module reads the numbers of a model: its parameters, the weights of its quality estimates,
 * and its shortlist. */
#ifndef ALIGND_WEIGHTS_H
#define ALIGND_WEIGHTS_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- parameters ----
 * The named parameters of one model as float32, whether they are stored as float32, float16,
 * bfloat16, or int8 with one float32 scale per output channel, or one for all, in NAME.scale.
 * NAME.input_scale may hold the factor of a matrix's input before it is rounded to int8 (see struct
 * packing in model/compute/kernels.h); products in other types ignore it. float32 tensors that lie
 * aligned in the file are used where they are mapped; all others are expanded once into memory of
 * this object. One read-only copy serves all threads. */

struct weights;

/* Maps the container and checks that every NAME.scale and NAME.input_scale belongs to an int8
 * tensor and every int8 tensor has a scale. Returns NULL with ERROR_FILE, ERROR_FORMAT or
 * ERROR_MEMORY. */
struct weights *weights_open(const char *path, struct error *err);
void weights_free(struct weights *weights);

/* Sets the backend of the linear layers that are made from now on; it is copied. The default is
 * float32 on the best kernels. */
void weights_use(struct weights *weights, const struct backend *backend);
const struct backend *weights_backend(const struct weights *weights);

/* Once *stop is true, no further linear is made: ERROR_INPUT, "interrupted". NULL: never. */
void weights_stop(struct weights *weights, const atomic_bool *stop);

/* Returns the parameter as [rows, cols] row-major (cols 1: a vector [rows]). The shape must match
 * exactly. If the name is missing, the shape is wrong, or a value is not finite, it returns NULL
 * with ERROR_FORMAT; ERROR_MEMORY is possible, too. If err already holds an error, it returns NULL
 * at once, so that a whole model can be loaded before errors are checked. */
const float *weights_get(struct weights *weights, const char *name, size_t rows, size_t cols,
                         struct error *err);

/* Returns the number of rows of a parameter for which the file decides it; 0 if the parameter is
 * missing or a scalar. */
size_t weights_rows(const struct weights *weights, const char *name);
/* Fails (-1, ERROR_FORMAT) if the parameter is missing or has another shape; [rows] if there is one
 * column. */
int weights_check(const struct weights *weights, const char *name, size_t rows, size_t cols,
                  struct error *err);

/* A parameter [rows, cols] that is read row by row, such as an embedding. It stays as it is stored;
 * each row is expanded when it is read, to the values that weights_get gives. It lives as long as
 * the weights and is thread-safe. */
struct weights_table {
    const float *values; /* [rows, cols]; NULL: rows are expanded when they are read */
    const struct parameter *parameter; /* owned by the weights */
    size_t cols;
};
/* Returns -1 with the errors of weights_get. */
int weights_table(struct weights *weights, const char *name, size_t rows, size_t cols,
                  struct weights_table *table, struct error *err);
/* Writes a row, below rows, to x [cols]. */
void weights_row(const struct weights_table *table, size_t row, float *x);

/* The parameters of a linear layer. */
struct linear_names {
    const char
        *weight; /* [out, in], or [out, columns] of which in are taken, from column `first` on */
    const char *bias;      /* [out]; NULL: none */
    size_t first, columns; /* columns 0: all */
    bool lookups;          /* as in struct linear_source */
};

/* Makes the linear of these parameters, which lie in the backend's pages or in the mapped file;
 * without pages linear_done must be called before weights_free. A matrix that was expanded only to
 * be packed does not stay in memory. Errors are those of weights_get and linear_init; linear must
 * be zeroed before, so that linear_done may be called then. */
int weights_linear(struct weights *weights, const struct linear_names *names, size_t out, size_t in,
                   struct linear *linear, struct error *err);

/* True once weights_get, weights_table or weights_linear has failed, or weights_fail was called,
 * even if later calls succeed: a model gets all its parameters and checks once, before it uses any
 * of them. Returns false for NULL (there are no parameters). */
bool weights_failed(const struct weights *weights);
/* Marks a failure elsewhere, whose error is in err. Returns -1. */
int weights_fail(struct weights *weights);

/* From now on takes packed linears from this file of packed weights if it has them. Call it after
 * weights_use. sha256: of the container, in hexadecimal digits; NULL or "": unknown. If the file
 * has the same one, no value is looked at only to learn whether it is finite: all were when the
 * file was made, and who compares the container with its digest finds other damage. Returns -1,
 * with the reason in err, if the file cannot be used; nothing has changed then. Matrices that the
 * file lacks or holds damaged are packed as usual. */
int weights_map(struct weights *weights, const char *path, const char *sha256, struct error *err);
/* Writes the linears made so far into such a file. Returns -1 with ERROR_INPUT if nothing was
 * packed (OpenBLAS multiplies) or a name is too long, ERROR_FILE or ERROR_MEMORY. */
int weights_pack(const struct weights *weights, const char *path, const char *sha256,
                 struct error *err);
/* Counts the packed linears made so far, and those of them that the file of weights_map provides,
 * if there is one. */
struct weights_linears {
    size_t packed, mapped;
    bool file;
};
struct weights_linears weights_linears(const struct weights *weights);

/* Fails (-1, ERROR_FORMAT) with the name of a tensor that was never used: a file with unknown
 * parameters is not this model. */
int weights_all_used(const struct weights *weights, struct error *err);

/* Call it when the model is loaded: pages of the file that were read only to be expanded or packed
 * need not stay in memory. */
void weights_rest(const struct weights *weights);

/* Returns the bytes of memory that the parameters and their linears take, including mapped weights.
 */
size_t weights_bytes(const struct weights *weights);

/* Returns the number of parameters in the file, without scales. */
size_t weights_parameters(const struct weights *weights);
/* Return the storage of the largest tensor, and its name: "float32", "float16", "bfloat16" or
 * "int8". */
enum stored weights_stored(const struct weights *weights);
const char *weights_storage(const struct weights *weights);

/* ---- the weights of quality estimates ----
 * model/rendering.h uses two logistic regressions over the same features, one for words and one for
 * sentences, or, as Bergamot does, one for words over other features. FOLDER/quality.safetensors
 * has words and sentence, F32 [QUALITY_FEATURES + 1], a weight for each feature and a constant,
 * which weights/evaluation/quality.py fits; or log_probs, F32 [QUALITY_LOG_PROB_FEATURES + 1],
 * which weights/conversion/marian_quality.py converts. */

enum quality_feature {
    QUALITY_LOG_PROB,
    QUALITY_ENTROPY,
    QUALITY_GAP,
    QUALITY_COVERAGE,
    QUALITY_SHARPNESS,
    QUALITY_FEATURES
};

struct quality_regression {
    float weights[QUALITY_FEATURES], constant;
};

enum quality_log_prob_feature {
    QUALITY_MEAN,
    QUALITY_LEAST,
    QUALITY_TOKENS,
    QUALITY_OVERALL,
    QUALITY_LOG_PROB_FEATURES
};

struct quality_weights {
    bool log_probs_alone; /* true: words and sentence are missing; false: log_probs is missing */
    struct quality_regression words, sentence;
    struct {
        float weights[QUALITY_LOG_PROB_FEATURES], constant;
    } log_probs;
};

/* Returns -1 with ERROR_FILE, ERROR_FORMAT (a tensor is missing or unknown, its type or shape is
 * wrong, or a number is not finite) or ERROR_MEMORY. */
int weights_read_quality(const char *path, struct quality_weights *weights, struct error *err);

/* ---- shortlists ----
 * The vocabulary shortlist of a model holds target ids that are likely in any sentence, and those
 * that are likely for each source piece (weights/training/shortlist.py makes the file), or those
 * that a target language uses (`alignd import` makes it). The output layer then scores a few
 * hundred ids instead of the vocabulary. A shortlist is immutable, so one object serves all
 * threads. */

struct shortlist;

/* Target ids to choose from, ascending and unique; ids NULL: the whole vocabulary. */
struct target_ids {
    const int *ids; /* [count] */
    size_t count;
};

/* Reads a container with always [A], and with offsets [source_vocabulary + 1] and targets [n], all
 * I32: source piece s has targets offsets[s] .. offsets[s + 1] - 1. With an optional multiple [1],
 * the lowest missing ids fill a list up to a multiple of that. A container without offsets and
 * targets has only named lists, in tensors list.NAME [n], I32. end: the target id of </s>, which is
 * on every list. Every offset and id is checked. Returns NULL with ERROR_FILE, ERROR_FORMAT (the
 * message names the tensor) or ERROR_MEMORY. */
struct shortlist *shortlist_open(const char *path, size_t source_vocabulary,
                                 size_t target_vocabulary, int end, struct error *err);
void shortlist_free(struct shortlist *list);

/* Finds a named list, together with the ids that are on every list; it lives as long as the
 * shortlist. Returns -1 with ERROR_FORMAT if the container has no such list. */
int shortlist_named(struct shortlist *list, const char *name, struct target_ids *found,
                    struct error *err);

/* Adds ids [count], in any order, which it sorts, to the list. The result is allocated in the
 * arena. Returns -1 with ERROR_MEMORY.
 */
int target_ids_add(struct target_ids *list, int *ids, size_t count, struct arena *arena,
                   struct error *err);

/* Finds the target ids of a sentence, allocated in the arena (with target_vocabulary / 8 bytes of
 * scratch). source_ids [length]: as the encoder reads them, each in the source vocabulary. Returns
 * 0, or -1 with ERROR_MEMORY. */
int shortlist_of(const struct shortlist *list, const int *source_ids, size_t length,
                 struct arena *arena, struct target_ids *found, struct error *err);

#endif
