#include "server/base/memory.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = PATH_MAX, LINE_BYTES = PATH_MAX + 128 };

/* Returns the number in a file of one line, or SIZE_MAX: there is no such file, or it says "max".
 */
static size_t read_limit(const char *path) {
    unsigned long long number = ULLONG_MAX;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &number) != 1)
        number = ULLONG_MAX;
    if (file)
        fclose(file);
    return number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* Returns the least limit of the group ROOT/MOUNT/GROUP and the groups around it. */
static size_t least_limit(const char *root, const char *mount, const char *group,
                          const char *file) {
    char path[PATH_BYTES], folder[PATH_BYTES];
    size_t least = SIZE_MAX;
    if (snprintf(folder, sizeof folder, "%s", group) >= (int)sizeof folder)
        return SIZE_MAX;
    for (size_t length = strlen(folder);; folder[length] = '\0') {
        if (snprintf(path, sizeof path, "%s%s%s/%s", root, mount, folder, file) <
            (int)sizeof path) {
            size_t limit = read_limit(path);
            least = limit < least ? limit : least;
        }
        if (length == 0)
            return least;
        while (length > 0 && folder[--length] != '/')
            ;
    }
}

static size_t machine_memory(const char *root) {
    char path[PATH_BYTES];
    unsigned long long kibibytes = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "MemTotal: %llu kB", &kibibytes) != 1)
        kibibytes = SIZE_MAX / 1024;
    if (file)
        fclose(file);
    return (size_t)kibibytes * 1024;
}

size_t memory_limit(const char *root) {
    char path[PATH_BYTES], line[LINE_BYTES];
    size_t least = machine_memory(root);
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line,
                         file)) { /* NUMBER:CONTROLLERS:/PATH; version 2 has 0 and no controllers */
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        bool second = strcmp(line, "0:") == 0;
        if (!second && strcmp(controllers + 1, "memory") != 0)
            continue;
        size_t limit =
            second ? least_limit(root, "/sys/fs/cgroup", group, "memory.max")
                   : least_limit(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (file)
        fclose(file);
    return least;
}
