#include "model/base/checksum.h"
#include <string.h>

/* Four sums side by side, so that the processor need not wait for a product before it begins the next. */
enum { LANES = 4, STRIDE = LANES * sizeof(uint64_t) };

static const uint64_t FACTOR = 0x9e3779b97f4a7c15; /* odd: a product with it can be undone, nothing is lost */

static uint64_t mix(uint64_t sum, uint64_t word) {
    uint64_t product = (sum ^ word) * FACTOR;
    return product << 29 | product >> 35;
}

uint64_t checksum(uint64_t sum, const void *bytes, size_t count) {
    const char *at = bytes;
    uint64_t lanes[LANES] = {sum, sum + 1, sum + 2, sum + 3}, words[LANES];
    size_t left = count;
    for (; left >= STRIDE; left -= STRIDE, at += STRIDE) {
        memcpy(words, at, STRIDE);
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = mix(lanes[i], words[i]);
    }
    memset(words, 0, STRIDE);
    memcpy(words, at, left);
    sum = mix(sum, count); /* what is left may end with zeros */
    for (size_t i = 0; i < LANES; i++)
        sum = mix(mix(sum, lanes[i]), words[i]);
    return sum ^ sum >> 32;
}
