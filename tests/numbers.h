/* Functions that the tests of the numeric modules share: instruction sets, reproducible noise,
 * guard zones, distances from a reference. */
#ifndef ALIGND_TESTS_NUMBERS_H
#define ALIGND_TESTS_NUMBERS_H

#include "model/compute/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The instruction sets that are compiled in and that this processor runs, generic first. A test of
 * all: a loop test from 0 to kernel_sets(). */
int kernel_sets(void);
const struct kernels *kernel_set(int index);
/* Says on stderr which ones are compiled in but not tested here. */
void kernel_sets_report(void);

/* n floats, uniform in (-scale, scale), the same for the same seed. Exactly n, so that a sanitizer
 * sees a read past either end. free() ends it. */
float *noise(size_t n, float scale, uint32_t seed);

/* n floats, 64-byte-aligned, between guard zones; all of it holds one NaN that no arithmetic makes.
 */
float *guarded(size_t n);
/* The same, holding a copy of from. */
float *guarded_copy(const float *from, size_t n);
void guarded_free(float *x);
/* The zones before and after x [n] are as guarded left them. */
bool guards_intact(const float *x, size_t n);
/* So are all of these. */
bool untouched(const float *x, size_t n);

/* for (n = 1; n > 0; n = next_size(n)): 1..70, 127, 1000: around every vector width. */
size_t next_size(size_t n);
/* Where rounding grows with the terms: a test on sums of up to 1000 of them allows this share of
 * the sum of their magnitudes. */
extern const double SUM_TOLERANCE;

/* The larger one; infinite if the new one is not a number. */
double worse(double worst, double error);
/* max |x - y|. */
double distance(const float *x, const double *y, size_t n);
/* The same bits. */
bool identical(const float *x, const float *y, size_t n);

#endif
