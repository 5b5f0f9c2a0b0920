/* Failing allocations of a program under test. shortage.so, preloaded (LD_PRELOAD), takes the place
 * of the C library's allocation functions, those that C++'s new calls among them, and does what the
 * struct says, which the test and the program share: a memory file whose descriptor is in the
 * variable ALIGND_SHORTAGE. Allocations before main() never fail. */
#ifndef ALIGND_TESTS_SHORTAGE_H
#define ALIGND_TESTS_SHORTAGE_H

#include <stdatomic.h>

#define SHORTAGE_VARIABLE "ALIGND_SHORTAGE"

struct shortage {
    atomic_long countdown; /* the so many-th allocation from now on fails; below 1: none does */
    atomic_long failed;    /* how many have */
    atomic_long live;      /* blocks allocated and not freed, since main() began */
};

#endif
