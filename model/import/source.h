/* This module opens, unpacks and reads the files of an import, and names them in messages. The content of a file is never trusted,
 * and its size is limited. Strings and bytes are allocated in the caller's arena. */
#ifndef ALIGND_IMPORT_SOURCE_H
#define ALIGND_IMPORT_SOURCE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place from which a model was downloaded. It is written into the card, and into origin.json, by which the model can be
 * recognised and updated. */
struct import_origin {
    const char *from;    /* the source: mozilla, opus, hf, argos or url */
    const char *asked;   /* its name for `alignd get`: mozilla:en-fr */
    const char *version; /* "": unknown, as for the other members */
    const char *url;     /* of its largest file */
    const char *licence, *attribution;
};

/* Set by a signal handler: long steps stop with ERROR_INPUT, "interrupted". NULL: never. */
typedef const atomic_bool *import_stop;
int import_interrupted(import_stop stop, struct error *err);

/* ---- messages and paths ---- */

/* Formats a string; NULL if memory is out, which the arena remembers. */
__attribute__((format(printf, 2, 3))) char *import_say(struct arena *arena, const char *format, ...);
/* 1234567 as "1,234,567". */
const char *import_thousands(struct arena *arena, uint64_t number);

/* Appends a component to a path. NULL if memory is out, which the arena remembers. */
const char *path_join(struct arena *arena, const char *folder, const char *name);
bool is_folder(const char *path);
/* path NULL: memory was out; the result is true, so that opening the path reports that. */
bool source_exists(const char *path);
/* The path's last component. */
const char *source_name(const char *path);
bool source_ends(const char *name, const char *ending);
/* The length of a name without .gz or .zst. */
size_t source_plain_length(const char *name);
bool source_begins(const char *name, const char *beginning);
/* Compares strings of an array, for qsort. */
int source_by_name(const void *a, const void *b);

/* ---- files ---- */

/* Opens a regular file for reading, and refuses a Git LFS pointer, which only stands for the file. Returns the descriptor, or -1
 * with ERROR_FILE or ERROR_FORMAT; the message begins with the path. path NULL, as path_join returns it, is ERROR_MEMORY; all
 * functions that open a file by its path inherit this. */
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
/* A file of JSON, the caller's. shown: names it in messages about its syntax. */
int source_json(const char *path, const char *shown, struct arena *arena, json_t **out, struct error *err);
/* A value as a message shows it: its JSON; "" if memory is out, which the arena remembers. */
const char *json_shown(struct arena *arena, const json_t *value);

/* ---- archives ----
 * Zips, tar archives and compressed files. Names must stay within the folder, and links, devices, repeated names, too many members,
 * and contents that are far larger than the archive are refused. */

struct archive_limits {
    size_t members;
    uint64_t bytes; /* of all contents together */
    uint64_t ratio; /* contents to archive, beside ARCHIVE_FREE_BYTES */
};
enum { ARCHIVE_FREE_BYTES = 64 << 20 };
extern const struct archive_limits archive_usual;

/* The type of a file by its first bytes. */
enum archive_kind { ARCHIVE_NONE, ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_COMPRESSED };
/* A compressed tar is ARCHIVE_TAR if its name says so (.tar.gz, .tgz, .tar.zst). -1 with ERROR_FILE or ERROR_FORMAT. */
int archive_kind_of(const char *path, enum archive_kind *kind, struct error *err);

/* Unpacks a zip or tar into the folder, which exists and is empty. Returns -1 with ERROR_FORMAT, ERROR_FILE or ERROR_MEMORY. */
int archive_unpack(const char *path, const char *folder, const struct archive_limits *limits, import_stop stop, struct error *err);
/* Unpacks a .gz or .zst into a new file. */
int archive_expand(const char *path, const char *out, const struct archive_limits *limits, import_stop stop, struct error *err);

/* A zip whose members are read without being unpacked. */
struct archive_member {
    const char *name;
    uint64_t at, bytes; /* its contents in the file `spool` */
};
struct archive_members {
    struct archive_member *members; /* [count], in the arena */
    size_t count;
    int spool; /* a file without a name, the caller's to close */
};
/* All contents of a zip, within archive_usual, end to end in one file in the folder `work`. Checksums are checked. */
int archive_spool(const char *path, const char *work, struct arena *arena, import_stop stop, struct archive_members *out,
                  struct error *err);

/* ---- YAML ----
 * One mapping of scalars and of lists of scalars, as Marian writes its options and vocabularies: keys and values as the strings
 * that they are (`on` is a word, 00 and 000 are two), in their order. Anchors, nested mappings and repeated keys are refused. */

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

/* text: UTF-8. -1 with ERROR_FORMAT, "line N: ...", or ERROR_MEMORY. */
int mapping_read(const char *text, size_t length, struct arena *arena, struct mapping *out, struct error *err);
/* NULL: the mapping lacks the key. */
const struct mapping_pair *mapping_find(const struct mapping *mapping, const char *key);
/* The value as messages show it: itself, or [a, b]. */
const char *mapping_shown(struct arena *arena, const struct mapping_pair *pair);

#endif
