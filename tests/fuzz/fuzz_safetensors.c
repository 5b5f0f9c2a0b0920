/* The safetensors container: every byte of every tensor can be read, and every number, as the
 * import does. */
#include "model/weights/safetensors.h"
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct safetensors *file = safetensors_open(fuzz_file(data, size), &error);
    FUZZ_CHECK(file || error.message[0] != '\0');
    unsigned sum = 0;
    for (size_t i = 0; file && i < safetensors_count(file); i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        FUZZ_CHECK(tensor->dims <= TENSOR_MAX_DIMS &&
                   safetensors_find(file, tensor->name) == tensor);
        for (size_t j = 0; j < tensor->bytes; j++)
            sum += tensor->data[j];
    }
    FUZZ_CHECK(sum < UINT32_MAX); /* so that the reads stay */
    safetensors_free(file);

    struct arena arena;
    struct container container = {.file = -1};
    arena_init(&arena, 1 << 16);
    error = (struct error){0};
    int result = tensors_open_safetensors(fuzz_file(data, size), &arena, &container, &error);
    FUZZ_CHECK(result == 0 ? file != NULL : error.message[0] != '\0');
    foreign_check(result, &container, &error);
    arena_done(&arena);
    return 0;
}
