/* NumPy's archives: every number of every array can be read. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct container container = {.file = -1};
    int result =
        tensors_open_npz(fuzz_file(data, size), "/dev/shm", &arena, NULL, &container, &error);
    foreign_check(result, &container, &error);
    arena_done(&arena);
    return 0;
}
