/* Files that wait to be fetched (LibreTranslate's /translate_file): each under a name that cannot be guessed, for a while: then
 * they are gone, whether anybody asks or not. One that has been sent whole stays for a shorter while, since nobody can tell whether
 * it has arrived. Bounded in number and bytes: those that have been sent make room, then the oldest. Thread-safe. */
#ifndef ALIGND_KEPT_FILES_H
#define ALIGND_KEPT_FILES_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>

struct kept_files;

struct kept_files_limits {
    int64_t keep_us, sent_us; /* from when it was added; from when it was first sent, if that is earlier */
    size_t count, bytes;      /* of all files together */
};

enum { KEPT_ID_BYTES = 33, KEPT_NAME_BYTES = 256 };

struct kept_file {
    char name[KEPT_NAME_BYTES];
    const char *content_type; /* static */
    size_t length;            /* of its text */
};

/* Starts a thread that removes what is too old. NULL with ERROR_MEMORY. */
struct kept_files *kept_files_create(const struct kept_files_limits *limits, struct error *err);
/* NULL allowed. */
void kept_files_free(struct kept_files *files);

/* Keeps a copy. text [file->length]. -1 with ERROR_MEMORY, or ERROR_LENGTH: it is longer than all may be together. */
int kept_files_add(struct kept_files *files, const struct kept_file *file, const char *text, char id[KEPT_ID_BYTES],
                   struct error *err);
/* A copy of its text, NUL-terminated, which the caller frees. NULL with ERROR_INPUT: there is none of this id, or no longer; or
 * ERROR_MEMORY. */
char *kept_files_find(struct kept_files *files, const char *id, struct kept_file *out, struct error *err);
/* Notes that the file, if there is one of this id, has been sent whole: it expires soon. */
void kept_files_sent(struct kept_files *files, const char *id);
/* How many there are. */
size_t kept_files_count(struct kept_files *files);

#endif
