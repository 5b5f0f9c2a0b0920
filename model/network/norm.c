#include "model/network/norm.h"
#include "model/base/table.h"

#include <string.h>

static const struct norm_kind kinds[] = {
    {"none", false, 0},
    {"layer", false, 1e-9f}, /* the whole vector at once, as Marian's models are trained */
    {"gates", true, 1e-5f},  /* a GRU's gates and its candidate apart, as Nematus's models are */
    {"block", false, 1e-6f}, /* of a transformer, Marian's among others: no value of any key */
};

const struct norm_kind *norm_kind_find(const char *key, const char *name, struct error *err) {
    return TABLE_FIND(kinds, key, name, err);
}

void norm_init(struct norm *norm, const struct norm_kind *kind, const struct norm_names *names, struct weights *weights,
               struct error *err) {
    *norm = (struct norm){0};
    if (kind->epsilon == 0)
        return;
    const float *gain = weights_get(weights, names->gain, names->size, 1, err);
    const float *shift = weights_get(weights, names->shift, names->size, 1, err);
    *norm = (struct norm){.size = names->size,
                          .first = kind->apart && names->first > 0 ? names->first : names->size,
                          .epsilon = kind->epsilon,
                          .gain = gain,
                          .shift = shift};
}

void norm_apply(const struct norm *norm, const struct kernels *kernels, size_t rows, float *x, size_t ld) {
    if (!norm_is_set(norm))
        return;
    size_t first = norm->first, rest = norm->size - first;
    for (size_t r = 0; r < rows; r++, x += ld) {
        kernels->normalize(x, norm->gain, norm->shift, first, norm->epsilon);
        if (rest > 0)
            kernels->normalize(x + first, norm->gain + first, norm->shift + first, rest, norm->epsilon);
    }
}
