/* The parameters of a model's file: tensors, with the scales of those that are int8 (model/weights/weights.h). */
#ifndef ALIGND_PARAMETERS_H
#define ALIGND_PARAMETERS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/weights/safetensors.h"
#include <stdbool.h>
#include <stddef.h>

struct parameter {
    const struct tensor *tensor;
    const struct tensor *scale; /* int8 only: float32 [rows], or one for all */
    float input_scale;          /* int8: NAME.input_scale; 0: there is none */
    const float *values;        /* NULL until asked for, and again once packed */
    bool used;
};

struct parameters {
    struct safetensors *file;
    struct parameter *all; /* [safetensors_count], scales included; in the arena of parameters_map */
};

/* Maps the file, and gives each int8 tensor its scales. -1 with safetensors_open's errors, or ERROR_FORMAT: a scale without an int8
 * tensor, an int8 tensor without a scale, a tensor that can be no parameter. To be ended, failed or not. */
int parameters_map(struct parameters *parameters, const char *path, struct arena *arena, struct error *err);
void parameters_done(struct parameters *parameters);

/* NULL: there is none of that name. */
struct parameter *parameters_find(const struct parameters *parameters, const char *name);

/* The tensor is a scale of another, and no parameter of its own. */
bool parameter_is_scale(const struct parameter *parameter);
/* Numbers in it. */
size_t parameter_count(const struct parameter *parameter);
/* float32 that is used where it is mapped. */
bool parameter_in_place(const struct parameter *parameter);

/* -1 with ERROR_FORMAT where it is not [rows, cols] (cols 1: [rows]), which is what rows and cols are below. */
int parameter_check_shape(const struct parameter *parameter, size_t rows, size_t cols, struct error *err);

/* Sets values: as float32 where they are mapped, or in the arena. -1 with ERROR_FORMAT (one is not finite) or ERROR_MEMORY. */
int parameter_load(struct parameter *parameter, size_t rows, size_t cols, struct arena *arena, struct error *err);

/* One row of what parameter_load would make, x [cols]. */
void parameter_row(const struct parameter *parameter, size_t row, size_t cols, float *x);
/* -1 with ERROR_FORMAT where one is not finite, as parameter_load says it. */
int parameter_check_values(const struct parameter *parameter, size_t rows, size_t cols, struct error *err);

/* One scale for several channels is as another program chose it: the whole numbers are to stay as they are. 0: each channel has its
 * own, which is found again. */
float parameter_given_scale(const struct parameter *parameter);

#endif
