#include "tests/bench/reading.h"
#include "model/compute/vector.h"

float JOIN(read, KERNELS)(const float *memory, size_t count) {
    enum { SUMS = 4 }; /* enough additions under way that loads are what takes the time */
    vec sums[SUMS] = {{0}};
    for (size_t i = 0; i < count; i += SUMS * VL)
        for (size_t s = 0; s < SUMS; s++)
            sums[s] += load(memory + i + s * VL);
    return sum_lanes(sums[0] + sums[1] + sums[2] + sums[3]);
}
