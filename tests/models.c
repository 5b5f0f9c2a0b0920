#include "tests/models.h"
#include "tests/files.h"
#include <check.h>

struct translator *model_open(const char *folder) {
    struct error err = {0};
    struct translator *translator = translator_open(folder, NULL, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
    return translator;
}

struct weights *parameters_open(const char *header, const float *values, size_t count) {
    struct error err = {0};
    char *path = container_write(header, values, count * sizeof *values);
    struct weights *weights = weights_open(path, &err);
    ck_assert_msg(weights != NULL, "%s", err.message);
    file_remove(path);
    return weights;
}
