#include "tests/http/work.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

char *work_body(size_t texts, size_t beam_size, size_t tokens) {
    char *body = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&body, &length);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "{'beam_size': %zu, 'min_length': %zu, 'max_length': %zu, 'text': [", beam_size, tokens, tokens);
    for (size_t i = 0; i < texts; i++)
        fprintf(out, "%s'Text number %zu goes here.'", i == 0 ? "" : ", ", i);
    fputs("]}", out);
    ck_assert_int_eq(fclose(out), 0);
    return body;
}
