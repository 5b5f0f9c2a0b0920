/* The files that are imported: opened, read, and named in messages. The content of a file is never trusted, and its size is
 * limited. Strings and bytes are allocated in the caller's arena. */
#ifndef ALIGND_IMPORT_SOURCE_H
#define ALIGND_IMPORT_SOURCE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set by a signal handler: long steps stop with ERROR_INPUT, "interrupted". NULL: never. */
typedef const atomic_bool *import_stop;
int import_interrupted(import_stop stop, struct error *err);

/* Formats a string; NULL if memory is out, which the arena remembers. */
__attribute__((format(printf, 2, 3))) char *import_say(struct arena *arena, const char *format, ...);
/* 1234567 as "1,234,567". */
const char *import_thousands(struct arena *arena, uint64_t number);

/* Opens a regular file for reading, and refuses a Git LFS pointer, which only stands for the file. Returns the descriptor, or -1
 * with ERROR_FILE or ERROR_FORMAT; the message begins with the path. */
int source_open(const char *path, uint64_t *size, struct error *err);
/* Reads exactly these bytes. Returns -1 with ERROR_FILE; what: names them in the message. */
int source_read_at(int file, uint64_t at, void *bytes, size_t count, const char *what, struct error *err);
/* A place in a file that is read from its beginning, never past its end. */
struct source_cursor {
    const char *path;
    int file;
    uint64_t size, at;
    struct arena *arena;
};
/* Reads the next bytes. Returns -1 with ERROR_FORMAT if the file ends within them (what: names them in the message), or with
 * ERROR_FILE; the cursor then stays. */
int source_take(struct source_cursor *cursor, void *out, uint64_t count, const char *what, struct error *err);
/* The whole file, which may have at most this many bytes, and a NUL. */
int source_read(const char *path, size_t most, struct arena *arena, char **bytes, size_t *size, struct error *err);
/* The same for UTF-8; CR LF and CR become LF. */
int source_text(const char *path, size_t most, struct arena *arena, char **text, size_t *length, struct error *err);
/* The same for any bytes; those that are not UTF-8 become U+FFFD. */
int source_text_mended(const char *path, size_t most, struct arena *arena, char **text, size_t *length, struct error *err);

bool source_exists(const char *path);
/* The path's last component. */
const char *source_name(const char *path);
bool source_ends(const char *name, const char *ending);
bool source_begins(const char *name, const char *beginning);

#endif
