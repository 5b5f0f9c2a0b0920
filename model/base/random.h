/* Philox4x32-10 is a counter-based generator (Salmon et al. 2011, "Parallel random numbers: as easy
 * as 1, 2, 3"). Its numbers are a function of key and counter alone, so they do not depend on other
 * draws or on their order. */
#ifndef ALIGND_RANDOM_H
#define ALIGND_RANDOM_H

#include <stdint.h>

struct random_counter {
    uint32_t words[4];
};

/* Returns 128 random bits. */
static inline struct random_counter random_bits(struct random_counter c, uint64_t key) {
    enum { ROUNDS = 10 };
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int i = 0; i < ROUNDS; i++, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
        uint64_t product0 = (uint64_t)0xD2511F53 * c.words[0],
                 product1 = (uint64_t)0xCD9E8D57 * c.words[2];
        c = (struct random_counter){
            {(uint32_t)(product1 >> 32) ^ c.words[1] ^ key0, (uint32_t)product1,
             (uint32_t)(product0 >> 32) ^ c.words[3] ^ key1, (uint32_t)product0}};
    }
    return c;
}

/* Returns u, 0 <= u < 1, a multiple of 2^-53. */
static inline double random_uniform(struct random_counter counter, uint64_t key) {
    struct random_counter bits = random_bits(counter, key);
    uint64_t all = (uint64_t)bits.words[1] << 32 | bits.words[0];
    return (double)(all >> 11) * 0x1p-53;
}

#endif
