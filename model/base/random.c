#include "model/base/random.h"

enum { ROUNDS = 10 };

static struct random_counter turn(struct random_counter c, uint32_t key0, uint32_t key1) {
    uint64_t product0 = (uint64_t)0xD2511F53 * c.words[0], product1 = (uint64_t)0xCD9E8D57 * c.words[2];
    return (struct random_counter){{(uint32_t)(product1 >> 32) ^ c.words[1] ^ key0, (uint32_t)product1,
                                    (uint32_t)(product0 >> 32) ^ c.words[3] ^ key1, (uint32_t)product0}};
}

struct random_counter random_bits(struct random_counter counter, uint64_t key) {
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int i = 0; i < ROUNDS; i++, key0 += 0x9E3779B9, key1 += 0xBB67AE85)
        counter = turn(counter, key0, key1);
    return counter;
}

double random_uniform(struct random_counter counter, uint64_t key) {
    struct random_counter bits = random_bits(counter, key);
    uint64_t all = (uint64_t)bits.words[1] << 32 | bits.words[0];
    return (double)(all >> 11) * 0x1p-53;
}
