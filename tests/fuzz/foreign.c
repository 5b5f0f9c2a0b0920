#include "tests/fuzz/foreign.h"
#include "model/import/conversion.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_NUMBERS = 1 << 16 };

const char *foreign_work(void) {
    static char path[64];
    if (*path)
        folder_remove(path);
    snprintf(path, sizeof path, "/dev/shm/alignd-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(path) != NULL);
    return path;
}

void foreign_check(int result, struct container *container, const struct error *error) {
    FUZZ_CHECK(result == 0 || error->message[0] != '\0');
    for (size_t i = 0; result == 0 && i < container->count; i++) {
        const struct stored_tensor *stored = &container->entries[i];
        struct error inner = {0};
        uint64_t count = tensors_count(stored);
        static float numbers[MOST_NUMBERS];
        FUZZ_CHECK(stored->dims <= STORED_MOST_DIMS &&
                   tensors_find_stored(container, stored->name) == stored);
        for (uint64_t at = 0; at < count && inner.code == ERROR_NONE; at += MOST_NUMBERS)
            if (tensors_numbers(stored, at,
                                (size_t)(count - at < MOST_NUMBERS ? count - at : MOST_NUMBERS),
                                numbers, &inner) != 0)
                FUZZ_CHECK(inner.code ==
                           ERROR_FORMAT); /* a number that is none: all of them lie in the file */
    }
    if (result == 0)
        tensors_close(container);
}
