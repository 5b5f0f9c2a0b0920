#include "tests/files.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *file_write(const void *data, size_t length) {
    char *path = strdup("/tmp/alignd-test-XXXXXX");
    ck_assert_ptr_nonnull(path);
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, data, length), (ssize_t)length);
    close(descriptor);
    return path;
}

char *container_write(const char *header, const void *data, size_t length) {
    size_t header_bytes = strlen(header), total = 8 + header_bytes + length;
    unsigned char *content = malloc(total);
    ck_assert_ptr_nonnull(content);
    for (size_t i = 0; i < 8; i++)
        content[i] = (unsigned char)(header_bytes >> 8 * i);
    memcpy(content + 8, header, header_bytes);
    if (length > 0)
        memcpy(content + 8 + header_bytes, data, length);
    char *path = file_write(content, total);
    free(content);
    return path;
}

void file_remove(char *path) {
    unlink(path);
    free(path);
}
