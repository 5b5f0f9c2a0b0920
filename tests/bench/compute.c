#include "tests/bench/compute.h"

#include <string.h>

const char *const compute_types[] = {"float32", NULL};

static int check(const char *compute, struct error *err) {
    for (const char *const *type = compute_types; *type; type++)
        if (strcmp(*type, compute) == 0)
            return 0;
    return error_set(err, ERROR_INPUT, "there is no compute type %s", compute);
}

struct translator *compute_open(const char *compute, const char *folder, struct error *err) {
    return check(compute, err) == 0 ? translator_open(folder, err) : NULL;
}

int compute_linear(const char *compute, const float *weight, size_t out, size_t in, struct linear *linear, struct error *err) {
    return check(compute, err) == 0 ? linear_init(linear, weight, NULL, out, in, kernels_choose(), err) : -1;
}
