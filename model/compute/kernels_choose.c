#include "model/compute/kernels.h"

const struct kernels *kernels_choose(void) {
#if defined(__x86_64__)
    /* what x86-64-v4 and -v3 ask for beyond the features named is present wherever these are */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        return __builtin_cpu_supports("avx512vnni") ? &kernels_vnni : &kernels_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return &kernels_v3;
#endif
    return &kernels_generic;
}
