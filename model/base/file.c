/* This file hides how reads and writes cope with leases, special files, interrupted calls, power
 * failures and damaged bytes. */
#include "model/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The kernel ends a lease after /proc/sys/fs/lease-break-time, 45 s. */
enum { LEASE_MS = 60000, LEASE_POLL_MS = 10 };

/* ---- reading ---- */

int file_open(const char *path, size_t most, size_t *size, struct error *err) {
    int descriptor;
    for (int waited_ms = 0;; waited_ms += LEASE_POLL_MS) {
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (descriptor >= 0 || errno != EWOULDBLOCK || waited_ms >= LEASE_MS)
            break;
        nanosleep(&(struct timespec){.tv_nsec = LEASE_POLL_MS * 1000000L}, NULL);
    }
    if (descriptor < 0)
        return error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));

    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        error_set(err, ERROR_FILE, "cannot read %.150s: not a regular file", path);
    } else if (status.st_size < 0 || (uintmax_t)status.st_size > most) {
        error_set(err, ERROR_FILE, "cannot read %.150s: %lld bytes are more than %zu", path,
                  (long long)status.st_size, most);
    } else {
        *size = (size_t)status.st_size;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

int file_read(const char *path, size_t most, char **bytes, size_t *size, struct error *err) {
    size_t length, done = 0;
    int descriptor = file_open(path, most, &length, err);
    if (descriptor < 0)
        return -1;
    char *text = length < SIZE_MAX ? malloc(length + 1) : NULL;
    int result = text ? 0 : error_memory(err);
    while (result == 0 && done < length) {
        ssize_t count = read(descriptor, text + done, length - done);
        if (count == 0)
            break; /* the file has shrunk */
        if (count > 0)
            done += (size_t)count;
        else if (errno != EINTR)
            result = error_set(err, ERROR_FILE, "cannot read %.150s: %s", path, strerror(errno));
    }
    close(descriptor);
    if (result != 0) {
        free(text);
        return -1;
    }
    text[done] = '\0';
    *bytes = text;
    *size = done;
    return 0;
}

bool file_same(const char *path, const char *other, size_t most) {
    char *bytes = NULL, *others = NULL;
    size_t size, other_size;
    bool same =
        strcmp(path, other) == 0 || (file_read(path, most, &bytes, &size, NULL) == 0 &&
                                     file_read(other, most, &others, &other_size, NULL) == 0 &&
                                     size == other_size && memcmp(bytes, others, size) == 0);
    free(bytes);
    free(others);
    return same;
}

/* ---- writing ---- */

int file_write_all(int descriptor, const void *bytes, size_t size) {
    for (const char *next = bytes; size > 0;) {
        ssize_t count = write(descriptor, next, size);
        if (count < 0 && errno != EINTR)
            return -1;
        next += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static int replace(const char *path, const struct file_part *parts, size_t count, mode_t mode,
                   struct error *err) {
    char *next;
    if (asprintf(&next, "%s.new", path) < 0)
        return error_memory(err);
    int result = 0,
        descriptor = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor < 0)
        result = error_set(err, ERROR_FILE, "cannot write %.150s: %s", next, strerror(errno));
    for (size_t i = 0; result == 0 && i < count; i++)
        result = file_write_all(descriptor, parts[i].bytes, parts[i].size);
    if (result == 0)
        result = fsync(descriptor);
    if (descriptor >= 0) {
        int reason = errno;
        close(descriptor);
        if (result != 0)
            error_set(err, ERROR_FILE, "cannot write %.150s: %s", next, strerror(reason));
    }
    if (result == 0 && rename(next, path) != 0)
        result = error_set(err, ERROR_FILE, "cannot write %.150s: %s", path, strerror(errno));
    if (result != 0) {
        unlink(next);
        free(next);
        return -1;
    }

    /* The folder is synced so that the new name survives a power cut. If that fails, nothing more
     * can be done. */
    int folder = open(dirname(next), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
    free(next);
    return 0;
}

int file_replace(const char *path, const char *bytes, size_t size, struct error *err) {
    return replace(path, &(struct file_part){bytes, size}, 1, 0600, err);
}

int file_replace_parts(const char *path, const struct file_part *parts, size_t count,
                       struct error *err) {
    return replace(path, parts, count, 0666, err);
}

/* ---- the checksum ---- */

static uint64_t mix(uint64_t sum, uint64_t word) {
    uint64_t product =
        (sum ^ word) *
        0x9e3779b97f4a7c15; /* the factor is odd, so the product is invertible and loses nothing */
    return product << 29 | product >> 35;
}

/* There are four sums side by side, so the processor need not wait for a product before it begins
 * the next one. */
uint64_t file_checksum(uint64_t sum, const void *bytes, size_t count) {
    enum { LANES = 4, STRIDE = LANES * sizeof(uint64_t) };
    const char *at = bytes;
    uint64_t lanes[LANES] = {sum, sum + 1, sum + 2, sum + 3}, words[LANES];
    size_t left = count;
    for (; left >= STRIDE; left -= STRIDE, at += STRIDE) {
        memcpy(words, at, STRIDE);
#pragma GCC unroll LANES
        for (size_t i = 0; i < LANES; i++) /* unrolled, the lanes stay in registers */
            lanes[i] = mix(lanes[i], words[i]);
    }
    memset(words, 0, STRIDE);
    memcpy(words, at, left);
    sum = mix(sum, count); /* the last bytes may be zeros */
    for (size_t i = 0; i < LANES; i++)
        sum = mix(mix(sum, lanes[i]), words[i]);
    return sum ^ sum >> 32;
}
