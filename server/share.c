#include "server/share.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int fail(struct error *err) {
    return error_set(err, ERROR_FILE, "cannot read the input: %s", strerror(errno));
}

static int find_size(FILE *file, uint64_t *size, struct error *err) {
    struct stat status;
    if (fstat(fileno(file), &status) != 0)
        return fail(err);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_INPUT,
                         "the input must be a file (< FILE), not a pipe: --shard and --checkpoint look for places in it");
    *size = (uint64_t)status.st_size;
    return 0;
}

/* index / count of size, without overflow */
static uint64_t part_of(uint64_t size, size_t index, size_t count) {
    return size / count * index + size % count * index / count;
}

/* Where the first line begins that does not begin before `from`. */
static int find_line(FILE *file, uint64_t from, uint64_t size, uint64_t *at, struct error *err) {
    int byte = '\n';
    *at = from < size ? from : size;
    if (*at == 0 || *at == size)
        return 0;
    if (fseeko(file, (off_t)*at - 1, SEEK_SET) != 0)
        return fail(err);
    for (*at -= 1; (byte = getc(file)) != EOF; *at += 1) {
        if (byte == '\n') {
            *at += 1;
            return 0;
        }
    }
    return ferror(file) ? fail(err) : 0;
}

static int count_lines(FILE *file, uint64_t bytes, size_t *lines, struct error *err) {
    char buffer[1 << 16];
    *lines = 0;
    if (fseeko(file, 0, SEEK_SET) != 0)
        return fail(err);
    while (bytes > 0) {
        size_t count = fread(buffer, 1, bytes < sizeof buffer ? (size_t)bytes : sizeof buffer, file);
        if (count == 0)
            return ferror(file) ? fail(err) : error_set(err, ERROR_FILE, "the input became shorter while it was read");
        for (const char *at = buffer; (at = memchr(at, '\n', (size_t)(buffer + count - at))) != NULL; at++)
            *lines += 1;
        bytes -= count;
    }
    return 0;
}

int share_find(FILE *file, size_t index, size_t count, struct share *share, struct error *err) {
    assert(index < count);
    uint64_t size = 0;
    struct share found;
    if (find_size(file, &size, err) != 0 || find_line(file, part_of(size, index, count), size, &found.begin, err) != 0 ||
        find_line(file, part_of(size, index + 1, count), size, &found.end, err) != 0 ||
        count_lines(file, found.begin, &found.lines, err) != 0)
        return -1;
    *share = found;
    return 0;
}
