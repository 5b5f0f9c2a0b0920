/* The upper limits of this machine: products of few rows, and reading memory. One core. */
#ifndef ALIGND_BENCH_CEILINGS_H
#define ALIGND_BENCH_CEILINGS_H

#include <stddef.h>

enum { CEILING_ROWS = 4, MAX_COMPUTE_TYPES = 8 };

/* Operations a second (two a multiply-add) of the large product, 4096 x 1024, at 1, 8, 32 and 64
 * rows. */
struct ceiling {
    double rates[CEILING_ROWS];
};

/* Prints the products of each compute type, NULL last (at most MAX_COMPUTE_TYPES), beside
 * OpenBLAS's in float32, and the read bandwidth. output, readout: V and O of the model. runs: for
 * best_rate. ceilings: one a type, written. */
void ceilings_print(const char *const *computes, size_t output, size_t readout, int runs,
                    struct ceiling *ceilings);

/* At so many rows, or the next number of rows above that is measured. */
double ceiling_at(const struct ceiling *ceiling, size_t rows);

#endif
