/* This module opens, unpacks and reads the files of an import, and names them in messages. The
 * content of a file is never trusted, and its size is limited. Strings and bytes are allocated in
 * the caller's arena. */
#ifndef ALIGND_IMPORT_SOURCE_H
#define ALIGND_IMPORT_SOURCE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place from which a model was downloaded. It is written into the card, and into origin.json,
 * by which the model can be recognised and updated. */
struct import_origin {
    const char *from;    /* the source: mozilla, opus, hf, argos or url */
    const char *asked;   /* the name for `alignd get`, such as mozilla:en-fr */
    const char *version; /* "": unknown, as for the other members */
    const char *url;     /* URL of the model's largest file */
    const char *licence, *attribution;
};

/* A signal handler sets it; long steps then stop with ERROR_INPUT, "interrupted". NULL: never. */
typedef const atomic_bool *import_stop;
int source_interrupted(import_stop stop, struct error *err);

/* ---- messages and paths ---- */

/* Formats a string. Returns NULL when memory runs out, which the arena remembers. */
__attribute__((format(printf, 2, 3))) char *source_say(struct arena *arena, const char *format,
                                                       ...);
/* Returns a text [length] of a file as one line of a report may show it (utf8_show); "" when memory
 * runs out. */
const char *source_shown(struct arena *arena, const char *text, size_t length);
/* Formats 1234567 as "1,234,567". */
const char *source_thousands(struct arena *arena, uint64_t number);

/* Appends a component to a path. Returns NULL when memory runs out, which the arena remembers. */
const char *source_path_join(struct arena *arena, const char *folder, const char *name);
bool source_is_folder(const char *path);
/* Returns true also if path is NULL after memory ran out, so that opening the path reports this. */
bool source_exists(const char *path);
/* Returns the path's last component. */
const char *source_name(const char *path);
bool source_ends(const char *name, const char *ending);
/* Returns the length of a name without .gz or .zst. */
size_t source_plain_length(const char *name);
bool source_begins(const char *name, const char *beginning);
/* Compares strings of an array, for qsort. */
int source_by_name(const void *a, const void *b);

/* ---- files ---- */

/* Opens a regular file for reading, and refuses a Git LFS pointer, which only stands for the file.
 * Returns the descriptor, or -1 with ERROR_FILE or ERROR_FORMAT; the message begins with the path.
 * path NULL, as source_path_join returns it, is ERROR_MEMORY; all functions that open a file by its
 * path inherit this. */
int source_open(const char *path, uint64_t *size, struct error *err);
/* Reads exactly these bytes. Returns -1 with ERROR_FILE; what: names them in the message. */
int source_read_at(int file, uint64_t at, void *bytes, size_t count, const char *what,
                   struct error *err);
/* A place in a file that is read from its beginning, never past its end. */
struct source_cursor {
    const char *path;
    int file;
    uint64_t size, at;
    struct arena *arena;
};
/* Reads the next bytes. Returns -1 with ERROR_FORMAT if the file ends within them (what: names them
 * in the message), or with ERROR_FILE; the cursor then stays. */
int source_take(struct source_cursor *cursor, void *out, uint64_t count, const char *what,
                struct error *err);
/* Reads the whole file, which may have at most this many bytes, and appends a NUL. */
int source_read(const char *path, size_t most, struct arena *arena, char **bytes, size_t *size,
                struct error *err);
/* Reads a file of UTF-8 in the same way; CR LF and CR become LF. */
int source_text(const char *path, size_t most, struct arena *arena, char **text, size_t *length,
                struct error *err);
/* Reads a file of any bytes like source_text; bytes that are not UTF-8 become U+FFFD. */
int source_text_mended(const char *path, size_t most, struct arena *arena, char **text,
                       size_t *length, struct error *err);
/* Parses a JSON file; the caller owns the result. shown: the file's name in messages about its
 * syntax. */
int source_json(const char *path, const char *shown, struct arena *arena, json_t **out,
                struct error *err);
/* Returns a value's JSON for a message; "" when memory runs out, which the arena remembers. */
const char *source_json_shown(struct arena *arena, const json_t *value);

/* ---- archives ----
 * Zips, tar archives and compressed files. Names must stay within the folder, and links, devices,
 * repeated names, too many members, and contents that are far larger than the archive are refused.
 */

struct archive_limits {
    size_t members;
    uint64_t bytes; /* the most bytes of all contents together */
    uint64_t ratio; /* the largest ratio of contents to archive, beyond ARCHIVE_FREE_BYTES */
};
enum { ARCHIVE_FREE_BYTES = 64 << 20 };
extern const struct archive_limits archive_usual;

/* The type of a file by its first bytes. */
enum archive_kind { ARCHIVE_NONE, ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_COMPRESSED };
/* Finds the type. A compressed tar is ARCHIVE_TAR if its name says so (.tar.gz, .tgz, .tar.zst).
 * Returns -1 with ERROR_FILE or ERROR_FORMAT. */
int source_archive_kind_of(const char *path, enum archive_kind *kind, struct error *err);

/* Unpacks a zip or tar into the folder, which exists and is empty. Returns -1 with ERROR_FORMAT,
 * ERROR_FILE, ERROR_INPUT (interrupted) or ERROR_MEMORY. */
int source_archive_unpack(const char *path, const char *folder, const struct archive_limits *limits,
                          import_stop stop, struct error *err);
/* Unpacks a .gz or .zst into a new file. */
int source_archive_expand(const char *path, const char *out, const struct archive_limits *limits,
                          import_stop stop, struct error *err);

/* A member of a zip that was unpacked into one file. */
struct archive_member {
    const char *name;
    uint64_t at, bytes; /* the place of its contents in the file `spool` */
};
struct archive_members {
    struct archive_member *members; /* [count], in the arena */
    size_t count;
    int spool; /* a file without a name, which the caller closes */
};
/* Unpacks all members of a zip, within archive_usual, one after the other into one file in the
 * folder `work`, and checks their checksums. */
int source_archive_spool(const char *path, const char *work, struct arena *arena, import_stop stop,
                         struct archive_members *out, struct error *err);

/* ---- YAML ----
 * The parser reads one mapping of scalars and of lists of scalars, as Marian writes its options and
 * vocabularies. Keys and values stay strings (`on` is a word, and 00 and 000 differ) and keep their
 * order. Anchors, nested mappings and repeated keys are refused. */

struct mapping_pair {
    const char *key;
    const char *value;  /* NULL: a list */
    const char **items; /* [count] of a list */
    size_t count;
};

struct mapping {
    struct mapping_pair *pairs; /* [count] in the arena */
    size_t count;
};

/* Parses UTF-8 text. Returns -1 with ERROR_FORMAT ("line N: ...", or a key that occurs twice) or
 * ERROR_MEMORY. */
int source_mapping_read(const char *text, size_t length, struct arena *arena, struct mapping *out,
                        struct error *err);
/* Returns NULL if the mapping lacks the key. */
const struct mapping_pair *source_mapping_find(const struct mapping *mapping, const char *key);
/* Returns the value for a message: a scalar unchanged, a list as [a, b]. */
const char *source_mapping_shown(struct arena *arena, const struct mapping_pair *pair);

/* Refuses a path that does not exist (ERROR_FILE), and an address (ERROR_INPUT). */
int source_refuse(const char *path, struct error *err);

#endif
