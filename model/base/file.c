#include "model/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A lease that somebody breaks is over after /proc/sys/fs/lease-break-time: 45 s. */
enum { LEASE_MS = 60000, LEASE_POLL_MS = 10 };

static int open_unleased(const char *path) {
    for (int waited_ms = 0;; waited_ms += LEASE_POLL_MS) {
        int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (descriptor >= 0 || errno != EWOULDBLOCK || waited_ms >= LEASE_MS)
            return descriptor;
        nanosleep(&(struct timespec){.tv_nsec = LEASE_POLL_MS * 1000000L}, NULL);
    }
}

static int file_check(int descriptor, const char *path, size_t most, size_t *size, struct error *err) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_FILE, "cannot read %.150s: not a regular file", path);
    if (status.st_size < 0 || (uintmax_t)status.st_size > most)
        return error_set(err, ERROR_FILE, "cannot read %.150s: %lld bytes are more than %zu", path, (long long)status.st_size,
                         most);
    *size = (size_t)status.st_size;
    return 0;
}

int file_open(const char *path, size_t most, size_t *size, struct error *err) {
    int descriptor = open_unleased(path);
    if (descriptor < 0)
        return error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));
    if (file_check(descriptor, path, most, size, err) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

/* A file that shrinks meanwhile ends early. */
static int read_all(int descriptor, const char *path, char *bytes, size_t *size, struct error *err) {
    size_t length = 0;
    while (length < *size) {
        ssize_t count = read(descriptor, bytes + length, *size - length);
        if (count < 0 && errno != EINTR)
            return error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
        if (count == 0)
            break;
        length += count > 0 ? (size_t)count : 0;
    }
    bytes[length] = '\0';
    *size = length;
    return 0;
}

int file_read(const char *path, size_t most, char **bytes, size_t *size, struct error *err) {
    size_t length;
    int descriptor = file_open(path, most, &length, err);
    if (descriptor < 0)
        return -1;
    char *text = length < SIZE_MAX ? malloc(length + 1) : NULL;
    int result = text ? read_all(descriptor, path, text, &length, err) : error_memory(err);
    close(descriptor);
    if (result != 0) {
        free(text);
        return -1;
    }
    *bytes = text;
    *size = length;
    return 0;
}

bool file_same(const char *path, const char *other, size_t most) {
    char *bytes = NULL, *others = NULL;
    size_t size, other_size;
    bool same = strcmp(path, other) == 0 ||
                (file_read(path, most, &bytes, &size, NULL) == 0 && file_read(other, most, &others, &other_size, NULL) == 0 &&
                 size == other_size && memcmp(bytes, others, size) == 0);
    free(bytes);
    free(others);
    return same;
}

/* ---- writing ---- */

static int write_all(int descriptor, const void *from, size_t size) {
    const char *bytes = from;
    while (size > 0) {
        ssize_t count = write(descriptor, bytes, size);
        if (count < 0 && errno != EINTR)
            return -1;
        bytes += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return 0;
}

/* parts [count]; mode: of its permissions. */
struct content {
    const struct file_part *parts;
    size_t count;
    mode_t mode;
};

static int write_file(const char *path, const struct content *content, struct error *err) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, content->mode);
    if (descriptor < 0)
        return error_set(err, ERROR_FILE, "cannot write %.150s: %s", path, strerror(errno));
    int result = 0;
    for (size_t i = 0; result == 0 && i < content->count; i++)
        result = write_all(descriptor, content->parts[i].bytes, content->parts[i].size);
    if (result == 0)
        result = fsync(descriptor);
    int reason = errno;
    close(descriptor);
    return result == 0 ? 0 : error_set(err, ERROR_FILE, "cannot write %.150s: %s", path, strerror(reason));
}

/* So that the new name is there after a power cut. What cannot do that has done all it can. */
static void sync_folder(const char *path) {
    char *copy = strdup(path);
    int folder = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (folder < 0)
        return;
    fsync(folder);
    close(folder);
}

static int replace(const char *path, const struct content *content, struct error *err) {
    char *next;
    if (asprintf(&next, "%s.new", path) < 0)
        return error_memory(err);
    int result = write_file(next, content, err);
    if (result == 0 && rename(next, path) != 0)
        result = error_set(err, ERROR_FILE, "cannot write %.150s: %s", path, strerror(errno));
    if (result == 0)
        sync_folder(path);
    else
        unlink(next);
    free(next);
    return result;
}

int file_replace_parts(const char *path, const struct file_part *parts, size_t count, struct error *err) {
    return replace(path, &(struct content){parts, count, 0666}, err);
}

int file_replace(const char *path, const char *bytes, size_t size, struct error *err) {
    return replace(path, &(struct content){&(struct file_part){bytes, size}, 1, 0600}, err);
}
