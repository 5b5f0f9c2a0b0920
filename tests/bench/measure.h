/* Functions that all measuring programs share. These are tools: if memory is out, they exit. */
#ifndef ALIGND_BENCH_MEASURE_H
#define ALIGND_BENCH_MEASURE_H

#include <stddef.h>

/* Seconds of a clock that only goes forward. */
double now(void);

/* The memory, or the end of the program if it is NULL. */
void *must(void *memory);

/* count numbers in -0.5..0.5, the same in every run, 64-byte-aligned; to be freed. Written, so that
 * each page is memory of its own: pages never written are all the one page of zeros, which lies in
 * the cache and makes any product look fast. */
float *random_floats(size_t count);

/* Operations a second of run(what), which does so many in one call: the best of `runs` runs of
 * about 20 ms after one call of warm-up. The best, since what other programs take is not the fault
 * of what is measured. */
double best_rate(void (*run)(void *what), void *what, double operations, int runs);

#endif
