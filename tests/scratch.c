#include "tests/scratch.h"

struct arena arena;
struct error err;

void scratch_setup(void) {
    arena_init(&arena, 1 << 16);
    err = (struct error){0};
}

void scratch_teardown(void) {
    arena_done(&arena);
}
