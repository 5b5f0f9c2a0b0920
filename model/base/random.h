/* Philox4x32-10, a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): numbers are a
 * function of key and counter alone, so that they do not depend on what else is drawn, by whom, or in which order. */
#ifndef ALIGND_RANDOM_H
#define ALIGND_RANDOM_H

#include <stdint.h>

struct random_counter {
    uint32_t words[4];
};

/* 128 random bits. */
struct random_counter random_bits(struct random_counter counter, uint64_t key);
/* 0 <= u < 1, a multiple of 2^-53. */
double random_uniform(struct random_counter counter, uint64_t key);

#endif
