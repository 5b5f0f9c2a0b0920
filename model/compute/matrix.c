#include "model/compute/matrix.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *compute_name(enum compute compute) {
    static const char *const names[COMPUTE_TYPES] = {"float32", "bfloat16", "int8"};
    return names[compute];
}

static const struct packing *choose_packing(const struct backend *backend, enum stored stored, size_t in) {
    const struct packings *packings = backend->kernels->packings;
    if (backend->compute == COMPUTE_INT8 && in <= packings->int8->max_in)
        return packings->int8;
    if (backend->compute == COMPUTE_BFLOAT16)
        return packings->bfloat16;
    return stored == STORED_FLOAT16 ? packings->float16 : stored == STORED_BFLOAT16 ? packings->bfloat16 : packings->float32;
}

struct backend backend_choose(void) {
    const struct kernels *kernels = kernels_choose();
    return (struct backend){.kernels = kernels, .blas = kernels == &kernels_generic ? blas_get() : NULL};
}

/* OpenBLAS has products in float32 alone. */
static bool leave_to_blas(const struct backend *backend, const struct packing *packing) {
    return backend->blas && backend->compute != COMPUTE_BFLOAT16 && packing != backend->kernels->packings->int8;
}

/* What `pack` makes of it, in whole lines; owned: the same, unless it is the pages'. NULL: memory is out. */
static void *make_packed(const struct unpacked *from, void (*pack)(const struct unpacked *from, void *packed), size_t bytes,
                         struct pages *pages, void **owned) {
    void *packed = pages ? pages_alloc(pages, bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (packed)
        pack(from, packed);
    *owned = pages ? NULL : packed;
    return packed;
}

const struct packing *linear_packing(const struct linear_source *source, const struct backend *backend) {
    const struct packing *packing = choose_packing(backend, source->stored, source->in);
    return leave_to_blas(backend, packing) ? NULL : packing;
}

static int keep(struct linear *linear, const struct linear_source *source, const struct backend *backend) {
    const struct packing *packing = linear->packing;
    struct unpacked from = {source->weight, source->out, source->in, source->scale, source->input_scale};
    if (source->packed) {
        assert(linear_packing(source, backend) && (source->rows || !source->lookups));
        linear->packed = source->packed;
        linear->rows = source->rows;
        return 0;
    }
    if (leave_to_blas(backend, packing)) {
        linear->weight = source->weight;
        linear->blas = backend->blas;
    } else {
        linear->packed = make_packed(&from, packing->pack, packing->bytes(from.out, from.in), backend->pages, &linear->owned[0]);
    }
    if (source->lookups)
        linear->rows =
            make_packed(&from, packing->pack_rows, packing->rows_bytes(from.out, from.in), backend->pages, &linear->owned[1]);
    return (linear->blas || linear->packed) && (linear->rows || !source->lookups) ? 0 : -1;
}

int linear_init(struct linear *linear, const struct linear_source *source, const struct backend *backend, struct error *err) {
    if (!source->weight && !source->packed)
        return -1;
    struct linear made = {.out = source->out,
                          .in = source->in,
                          .bias = source->bias,
                          .input_scale = source->input_scale,
                          .packing = choose_packing(backend, source->stored, source->in)};
    if (keep(&made, source, backend) != 0) {
        linear_done(&made);
        return error_memory(err);
    }
    *linear = made;
    return 0;
}

void linear_done(struct linear *linear) {
    free(linear->owned[0]);
    free(linear->owned[1]);
    *linear = (struct linear){0};
}

size_t linear_bytes(const struct linear *linear) {
    size_t packed = linear->packed ? linear->packing->bytes(linear->out, linear->in) : 0;
    return packed + (linear->rows ? linear->packing->rows_bytes(linear->out, linear->in) : 0);
}

static void apply_blas(const struct linear *l, const float *x, size_t ldx, size_t rows, float *y, size_t ldy) {
    struct blas_product product = {
        .weight = l->weight, .bias = l->bias, .out = l->out, .in = l->in, .rows = rows, .x = x, .ldx = ldx, .y = y, .ldy = ldy};
    blas_multiply(l->blas, &product);
}

void linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy) {
    if (rows == 0)
        return;
    if (!linear->packed) {
        apply_blas(linear, x, ldx, rows, y, ldy);
        return;
    }
    struct product product = {.packed = linear->packed,
                              .bias = linear->bias,
                              .out = linear->out,
                              .in = linear->in,
                              .input_scale = linear->input_scale,
                              .x = x,
                              .ldx = ldx,
                              .rows = rows,
                              .y = y,
                              .ldy = ldy};
    linear->packing->multiply(&product);
}

void linear_look_up(const struct linear *linear, const float *x, const int *ids, size_t count, float *y) {
    assert(linear->rows);
    struct lookup lookup = {.rows = linear->rows,
                            .bias = linear->bias,
                            .out = linear->out,
                            .in = linear->in,
                            .input_scale = linear->input_scale,
                            .x = x,
                            .ids = ids,
                            .count = count,
                            .y = y};
    linear->packing->look_up(&lookup);
}

/* ---- which is fastest ---- */

enum { TRIAL_ROWS = 32, TRIALS = 3 };

/* The calling thread's seconds: other programs do not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds for a product of one row and one of TRIAL_ROWS, the best of some trials; x [TRIAL_ROWS, in], y [TRIAL_ROWS, out]. A row
 * alone counts as much as TRIAL_ROWS together: both loads are common. */
static double trial(const struct linear *linear, const float *x, float *y) {
    static const size_t rows[] = {1, TRIAL_ROWS};
    double sum = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double best = HUGE_VAL;
        for (int run = 0; run < TRIALS; run++) {
            double began = now();
            linear_apply(linear, x, linear->in, rows[i], y, linear->out);
            best = fmin(best, now() - began);
        }
        sum += best;
    }
    return sum;
}

static int measure(const struct linear_source *source, const struct backend *backend, const float *x, float *y, double *seconds,
                   struct error *err) {
    struct linear linear;
    if (linear_init(&linear, source, backend, err) != 0)
        return -1;
    *seconds = trial(&linear, x, y);
    linear_done(&linear);
    return 0;
}

int compute_fastest(const struct backend *backend, const struct linear_source *shape, enum compute *fastest, struct error *err) {
    size_t out = shape->out, in = shape->in;
    float *weight = calloc(out * in, sizeof *weight), *x = calloc(TRIAL_ROWS * in, sizeof *x),
          *y = calloc(TRIAL_ROWS * out, sizeof *y);
    struct linear_source source = {.weight = weight, .out = out, .in = in, .stored = shape->stored};
    struct backend trial = *backend;
    trial.pages = NULL;
    double least = HUGE_VAL;
    int result = weight && x && y ? 0 : error_memory(err);
    for (trial.compute = 0; result == 0 && trial.compute < COMPUTE_TYPES; trial.compute++) {
        double seconds;
        result = measure(&source, &trial, x, y, &seconds, err);
        if (result == 0 && seconds < least) {
            least = seconds;
            *fastest = trial.compute;
        }
    }
    free(weight);
    free(x);
    free(y);
    return result;
}
