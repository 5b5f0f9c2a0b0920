/* Reads memory as fast as one core can: compiled once per instruction set from reading.c, as
 * model/compute/kernels.c is. */
#ifndef ALIGND_BENCH_READING_H
#define ALIGND_BENCH_READING_H

#include <stddef.h>

/* Loads every float once; count: a multiple of 64. The sum is there so that nothing is left out. */
float read_generic(const float *memory, size_t count);
#if defined(__x86_64__)
float read_v3(const float *memory, size_t count);
float read_v4(const float *memory, size_t count);
#endif

#endif
