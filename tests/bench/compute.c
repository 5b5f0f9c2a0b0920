#include "tests/bench/compute.h"

#include <string.h>

const char *const compute_types[] = {"float32", "bfloat16", "int8", NULL};

int compute_linear(const char *compute, const float *weight, size_t out, size_t in,
                   struct linear *linear, struct error *err) {
    struct backend backend = backend_choose();
    while (backend.compute < COMPUTE_TYPES && strcmp(compute_name(backend.compute), compute) != 0)
        backend.compute++;
    if (backend.compute == COMPUTE_TYPES)
        return error_set(err, ERROR_INPUT, "compute type %s is unknown", compute);
    return linear_init(linear, &(struct linear_source){.weight = weight, .out = out, .in = in},
                       &backend, err);
}
