#include "tests/load/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void tool_check(bool holds, const char *what) {
    if (holds)
        return;
    perror(what);
    exit(2);
}

double tool_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void tool_sleep(double seconds) {
    nanosleep(
        &(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)},
        NULL);
}

uint32_t tool_random(struct tool_random *random) {
    random->state = random->state * 1664525u + 1013904223u;
    return random->state >> 8;
}

double tool_share(struct tool_random *random) {
    return (double)tool_random(random) / (double)(1u << 24);
}

double tool_parameter(const char *name, double fallback) {
    const char *given = getenv(name);
    return given && *given ? strtod(given, NULL) : fallback;
}
