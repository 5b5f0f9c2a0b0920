/* Zips and tar archives: nothing is unpacked outside the folder, which a file beside it would show;
 * and compressed files. */
#include "model/import/source.h"
#include "tests/fuzz/foreign.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder holds "in" and nothing else. */
static int alone(const char *folder) {
    int others = 0;
    DIR *open = opendir(folder);
    FUZZ_CHECK(open != NULL);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        others += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                  strcmp(entry->d_name, "in") != 0;
    closedir(open);
    return others == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    const struct archive_limits limits = {100, 1 << 22, 100};
    char out[96];
    const char *work = foreign_work(), *path = fuzz_file(data, size);
    snprintf(out, sizeof out, "%s/in", work);
    FUZZ_CHECK(mkdir(out, 0700) == 0);
    FUZZ_CHECK(source_archive_unpack(path, out, &limits, NULL, &error) == 0 ||
               error.message[0] != 0);
    FUZZ_CHECK(rmdir(work) != 0 && alone(work));
    error = (struct error){0};
    snprintf(out, sizeof out, "%s/out", work);
    FUZZ_CHECK(source_archive_expand(path, out, &limits, NULL, &error) == 0 ||
               error.message[0] != 0);
    arena_done(&arena);
    return 0;
}
