#include "model/import/source.h"
#include "model/base/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char LFS_POINTER[] = "version https://git-lfs.github.com/spec/";

int import_interrupted(import_stop stop, struct error *err) {
    return stop && *stop ? error_set(err, ERROR_INPUT, "interrupted") : 0;
}

char *import_say(struct arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

const char *import_thousands(struct arena *arena, uint64_t number) {
    char digits[32], grouped[48];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            grouped[at++] = ',';
        grouped[at++] = digits[i];
    }
    const char *copy = arena_copy(arena, grouped, at);
    return copy ? copy : "";
}

int source_open(const char *path, uint64_t *size, struct error *err) {
    struct stat status;
    char start[sizeof LFS_POINTER - 1];
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        return error_set(err, ERROR_FILE, "%s: is not a regular file", path);
    }
    if (pread(file, start, sizeof start, 0) == (ssize_t)sizeof start && memcmp(start, LFS_POINTER, sizeof start) == 0) {
        close(file);
        return error_set(err, ERROR_FORMAT, "%s: is a Git LFS pointer, not the file itself, which `git lfs pull` fetches", path);
    }
    *size = (uint64_t)status.st_size;
    return file;
}

int source_read_at(int file, uint64_t at, void *bytes, size_t count, const char *what, struct error *err) {
    char *next = bytes;
    while (count > 0) {
        ssize_t got = pread(file, next, count, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, ERROR_FILE, "%s: %s", what, got < 0 ? strerror(errno) : "the file ends within it");
        next += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

int source_take(struct source_cursor *cursor, void *out, uint64_t count, const char *what, struct error *err) {
    if (count > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within %s", cursor->path, what);
    if (source_read_at(cursor->file, cursor->at, out, (size_t)count, cursor->path, err) != 0)
        return -1;
    cursor->at += count;
    return 0;
}

int source_read(const char *path, size_t most, struct arena *arena, char **bytes, size_t *size, struct error *err) {
    uint64_t length;
    int result = -1, file = source_open(path, &length, err);
    if (file < 0)
        return -1;
    char *read = NULL;
    if (length > most)
        error_set(err, ERROR_FILE, "%s: has %llu bytes, more than the allowed %zu", path, (unsigned long long)length, most);
    else if (!(read = arena_alloc(arena, (size_t)length + 1, 1)))
        error_memory(err);
    else
        result = source_read_at(file, 0, read, (size_t)length, path, err);
    close(file);
    if (result == 0) {
        read[length] = '\0';
        *bytes = read;
        *size = (size_t)length;
    }
    return result;
}

/* In place: CR LF and CR become LF. Returns the new length. */
static size_t unify_lines(char *text, size_t length) {
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\r' && i + 1 < length && text[i + 1] == '\n')
            continue;
        text[out++] = text[i] == '\r' ? '\n' : text[i];
    }
    text[out] = '\0';
    return out;
}

int source_text(const char *path, size_t most, struct arena *arena, char **text, size_t *length, struct error *err) {
    if (source_read(path, most, arena, text, length, err) != 0)
        return -1;
    if (!utf8_valid(*text, *length))
        return error_set(err, ERROR_FORMAT, "%s: not valid UTF-8", path);
    *length = unify_lines(*text, *length);
    return 0;
}

int source_text_mended(const char *path, size_t most, struct arena *arena, char **text, size_t *length, struct error *err) {
    static const char UNKNOWN[] = "\xef\xbf\xbd";
    char *bytes;
    size_t size;
    if (source_read(path, most, arena, &bytes, &size, err) != 0)
        return -1;
    char *mended = arena_alloc(arena, 3 * size + 1, 1);
    if (!mended)
        return error_memory(err);
    size_t out = 0;
    for (size_t at = 0, step; at < size; at += step) {
        bool valid;
        step = utf8_first(bytes + at, size - at, &valid);
        memcpy(mended + out, valid ? bytes + at : UNKNOWN, valid ? step : 3);
        out += valid ? step : 3;
    }
    mended[out] = '\0';
    *length = unify_lines(mended, out);
    *text = mended;
    return 0;
}

bool source_exists(const char *path) {
    return access(path, F_OK) == 0;
}

const char *source_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool source_ends(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && memcmp(name + length - end, ending, end) == 0;
}

bool source_begins(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}
