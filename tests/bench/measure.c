#include "tests/bench/measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double RUN_SECONDS = 0.02;

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void *must(void *memory) {
    if (memory)
        return memory;
    fputs("out of memory\n", stderr);
    exit(1);
}

float *random_floats(size_t count) {
    float *x = must(aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64));
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    return x;
}

/* Seconds of so many calls. */
static double time_calls(void (*run)(void *what), void *what, long calls) {
    double begin = now();
    for (long i = 0; i < calls; i++)
        run(what);
    return now() - begin;
}

double best_rate(void (*run)(void *what), void *what, double operations, int runs) {
    time_calls(run, what, 1);
    long calls = 1 + (long)(RUN_SECONDS / (time_calls(run, what, 1) + 1e-9));
    double best = 0;
    for (int i = 0; i < runs; i++) {
        double rate = operations * (double)calls / time_calls(run, what, calls);
        best = rate > best ? rate : best;
    }
    return best;
}
