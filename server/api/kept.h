/* This module keeps replies and files in memory for later requests, within limits on their bytes.
 * Thread-safe. */
#ifndef ALIGND_KEPT_H
#define ALIGND_KEPT_H

#include "model/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- answers, by question ----
 *
 * The least recently used answers are evicted first. Questions are compared as a whole. */

struct cache;

/* capacity: bytes of all questions and answers, including overhead. Returns NULL if memory runs
 * out. */
struct cache *cache_create(size_t capacity);
/* Accepts NULL. */
void cache_free(struct cache *cache);

/* A question, and the epoch of the models that answer it. When a later epoch appears, after a
 * reload, the cache drops all answers of earlier epochs and keeps no more of them. */
struct question {
    const char *bytes; /* [length] */
    size_t length;
    size_t epoch;
};

/* Returns a copy of the cached answer, malloc'ed and NUL-terminated, or NULL if there is none or
 * memory runs out. mark: the number that was kept with it; may be NULL. */
char *cache_find(struct cache *cache, const struct question *question, unsigned *mark);
/* Keeps a copy and replaces an older one. Does nothing if the entry is larger than the cache, its
 * epoch has passed, or memory runs out. */
void cache_keep(struct cache *cache, const struct question *question, const char *answer,
                unsigned mark);

/* Returns the bytes in use. */
size_t cache_bytes(struct cache *cache);

/* ---- files ----
 *
 * These files wait to be fetched (LibreTranslate's /translate_file, DeepL's /v2/document). Each has
 * a name that cannot be guessed and expires after a while. A file that has been sent completely is
 * kept for a shorter time, since the server cannot know whether it arrived. An order is a file that
 * is still being made or could not be made; it is found by its id and a key.
 *
 * Number and bytes are bounded. While a limit is exceeded and somebody has more than a quarter of
 * it, the owner with the most loses files until no more than the quarter is left, so that nobody's
 * uploads remove the files of others; otherwise anybody does. Files that have been sent go first,
 * then the oldest. */

struct kept_files;

struct kept_files_limits {
    int64_t keep_us,
        sent_us;         /* since it was added; since it was first sent, if that expires earlier */
    size_t count, bytes; /* the most files, and the most bytes of all files together */
};

/* Ids and keys are upper-case hexadecimal digits, 32 and 64 of them as DeepL's are, which its
 * clients expect. */
enum { KEPT_ID_BYTES = 33, KEPT_KEY_BYTES = 65, KEPT_NAME_BYTES = 256 };

struct kept_file {
    uint64_t owner; /* the client that stores it (struct request) */
    char name[KEPT_NAME_BYTES];
    const char *content_type; /* a static string */
    size_t length;            /* bytes of its text */
};

/* Returns NULL if memory runs out. */
struct kept_files *kept_files_create(const struct kept_files_limits *limits);
/* Accepts NULL. */
void kept_files_free(struct kept_files *files);

/* Frees the memory of expired files, which are not found any more. Call it now and then. Returns
 * the number of kept files and orders. */
size_t kept_files_expire(struct kept_files *files);

/* Keeps a copy of text [file->length]. Returns -1 with ERROR_MEMORY, or with ERROR_LENGTH if it is
 * longer than all files together may be, or than its owner's share beside the files of others. */
int kept_files_add(struct kept_files *files, const struct kept_file *file, const char *text,
                   char id[KEPT_ID_BYTES], struct error *err);
/* Notes that the file of this id, if there is one, has been sent completely: it expires soon or, if
 * it has an order, is removed. */
void kept_files_sent(struct kept_files *files, const char *id);

/* Keeps a pending order, and makes its id and key. It counts as a file of 0 bytes. left: how many
 * of total parts are still to be made; the thread that makes the file counts it down, and it must
 * stay valid until kept_files_end is called. Returns -1 with ERROR_MEMORY. */
struct kept_order {
    uint64_t owner;
    const atomic_size_t *left;
    size_t total, characters; /* characters: of the source */
};
int kept_files_order(struct kept_files *files, const struct kept_order *order,
                     char id[KEPT_ID_BYTES], char key[KEPT_KEY_BYTES], struct error *err);
/* Completes an order: keeps a copy of text [file->length], or marks it as failed if text is NULL;
 * message: the reason. An order that has expired in the meantime is dropped. It also fails if the
 * text is longer than all files together may be, or if there is no memory for it. */
void kept_files_end(struct kept_files *files, const char *id, const struct kept_file *file,
                    const char *text, const char *message);
/* A file or an order as its client sees it. */
enum kept_state { KEPT_READY, KEPT_PENDING, KEPT_FAILED };
enum { KEPT_MESSAGE_BYTES = 400 };
struct kept_view {
    char id[KEPT_ID_BYTES];
    enum kept_state state;
    struct kept_file file; /* READY */
    size_t total, left;    /* PENDING: the number of parts, and how many are still to be made */
    int64_t began_us;      /* time at which an order was made, by clock_us() */
    size_t characters;     /* characters of an order's source */
    char message[KEPT_MESSAGE_BYTES]; /* FAILED: the reason */
};
struct kept_query {
    const char *id, *key;  /* key of an order; NULL: a file without an order */
    const uint64_t *owner; /* NULL: anybody's */
};
/* Finds a file or an order. text: unless it is NULL, it is set to
 * a copy of the file's text, NUL-terminated, which the caller frees; to NULL unless the file is
 * READY. Returns -1 with ERROR_INPUT if nothing is found or it has expired, or with ERROR_MEMORY.
 */
int kept_files_find(struct kept_files *files, const struct kept_query *query,
                    struct kept_view *view, char **text, struct error *err);

#endif
