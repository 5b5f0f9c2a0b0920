/* Files that wait to be fetched (LibreTranslate's /translate_file, DeepL's /v2/document): each under a name that cannot be guessed,
 * for a while: then they are gone, whether anybody asks or not. One that has been sent whole stays for a shorter while, since
 * nobody can tell whether it has arrived. Bounded in number and bytes: those that have been sent make room, then the oldest. An
 * order is a file that is still being made, or could not be; it is found by its id and a key. Thread-safe. */
#ifndef ALIGND_KEPT_FILES_H
#define ALIGND_KEPT_FILES_H

#include "model/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
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
/* A copy of its text, NUL-terminated, which the caller frees. NULL with ERROR_INPUT, if there is no such file or it has expired, or
 * ERROR_MEMORY. */
char *kept_files_find(struct kept_files *files, const char *id, struct kept_file *out, struct error *err);
/* Notes that the file, if there is one of this id, has been sent whole: it expires soon. */
void kept_files_sent(struct kept_files *files, const char *id);

/* An order, as whoever has its key sees it. */
enum kept_state { KEPT_PENDING, KEPT_READY, KEPT_FAILED };
enum { KEPT_MESSAGE_BYTES = 400 };
struct kept_order {
    enum kept_state state;
    size_t total, left;               /* PENDING: parts of it, and how many are still to be made */
    int64_t began_us;                 /* of clock_us() */
    size_t characters;                /* of its source */
    char message[KEPT_MESSAGE_BYTES]; /* FAILED: why */
};
/* Keeps an order that is pending, and makes its id and key. It counts as a file of no bytes. left: of total parts; whoever makes
 * the file counts it down, and it stays there until deliver or fail is called. -1 with ERROR_MEMORY. */
int kept_files_order(struct kept_files *files, const atomic_size_t *left, size_t total, size_t characters, char id[KEPT_ID_BYTES],
                     char key[KEPT_ID_BYTES], struct error *err);
/* The file of an order has been made: keeps a copy of text [file->length]. An order that has expired since is forgotten. One that
 * is longer than all files may be together has failed, and so has one that there is no memory for. */
void kept_files_deliver(struct kept_files *files, const char *id, const struct kept_file *file, const char *text);
/* It will never be made. */
void kept_files_fail(struct kept_files *files, const char *id, const char *message);
/* False: there is no order of this id that has this key. */
bool kept_files_look(struct kept_files *files, const char *id, const char *key, struct kept_order *out);
/* As kept_files_find, of the file of an order with this key. */
char *kept_files_fetch(struct kept_files *files, const char *id, const char *key, struct kept_file *out, struct error *err);
/* Removes the file, if there is one of this id. */
void kept_files_remove(struct kept_files *files, const char *id);

/* How many there are. */
size_t kept_files_count(struct kept_files *files);

#endif
