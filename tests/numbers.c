#include "tests/numbers.h"
#include "tests/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kernels *const sets[] = {
#define SET(architecture, name, flags, condition) SETS_##architecture(&kernels_##name, )
#include "model/compute/sets.def"
};

enum { SETS = sizeof sets / sizeof *sets };

int kernel_sets(void) {
    const struct kernels *best = kernels_choose();
    int count = 1;
    while (sets[count - 1] != best) /* each set has all that the ones before it have */
        count++;
    return count;
}

const struct kernels *kernel_set(int index) {
    return sets[index];
}

void kernel_sets_report(void) {
    for (int i = kernel_sets(); i < SETS; i++)
        fprintf(stderr,
                "SKIPPED: this processor cannot run the kernels for %s (%d of %d are tested)\n",
                sets[i]->name, kernel_sets(), SETS);
}

float *noise(size_t n, float scale, uint32_t seed) {
    float *x = malloc(n * sizeof *x);
    ck_assert(x || n == 0);
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    return x;
}

/* ---- guard zones ---- */

enum { GUARD = 16 }; /* floats: as wide as the widest vector */
static const uint32_t mark = 0x7fc0dead;

float *guarded(size_t n) {
    size_t whole = (GUARD + n + GUARD + 15) / 16 * 16;
    float *x = aligned_alloc(64, whole * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < whole; i++)
        memcpy(x + i, &mark, sizeof mark);
    return x + GUARD;
}

float *guarded_copy(const float *from, size_t n) {
    return memcpy(guarded(n), from, n * sizeof *from);
}

void guarded_free(float *x) {
    free(x - GUARD);
}

bool untouched(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + i, &mark, sizeof mark) != 0)
            return false;
    return true;
}

bool guards_intact(const float *x, size_t n) {
    return untouched(x - GUARD, GUARD) && untouched(x + n, GUARD);
}

/* ---- sizes and distances ---- */

const double SUM_TOLERANCE = 1e-6;

size_t next_size(size_t n) {
    return n < 70 ? n + 1 : n == 70 ? 127 : n == 127 ? 1000 : 0;
}

double worse(double worst, double error) {
    if (isnan(error))
        return INFINITY;
    return error > worst ? error : worst;
}

double distance(const float *x, const double *y, size_t n) {
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = worse(worst, fabs((double)x[i] - y[i]));
    return worst;
}

bool identical(const float *x, const float *y, size_t n) {
    return memcmp(x, y, n * sizeof *x) == 0;
}
