/* This module has the glossaries that outlive requests: those of --glossary, read again on SIGHUP,
 * and those that clients make, which are kept in one file. A change counts once the complete file
 * has been written beside the old one and renamed, so that a crash leaves either the old file or
 * the new one. Changes are made one after the other. All calls are thread-safe. */
#ifndef ALIGND_GLOSSARIES_H
#define ALIGND_GLOSSARIES_H

#include "model/translator.h"
#include "server/base/strings.h"
#include <stdatomic.h>
#include <stdint.h>

/* ---- one glossary ---- */

enum {
    GLOSSARY_ID_BYTES = 40,
    GLOSSARY_NAME_BYTES = 256,
    GLOSSARY_CODE_BYTES = 36,
    GLOSSARY_OWNER_BYTES = 64,
    GLOSSARY_PHRASE_BYTES = 1024,  /* maximum of a phrase */
    GLOSSARY_MOST_ENTRIES = 100000 /* maximum of a glossary */
};

struct glossary_about {
    char id[GLOSSARY_ID_BYTES]; /* the name, unless a client made it */
    char name[GLOSSARY_NAME_BYTES];
    char source[GLOSSARY_CODE_BYTES],
        target[GLOSSARY_CODE_BYTES];  /* language codes in lower case; "": any */
    char owner[GLOSSARY_OWNER_BYTES]; /* the holder of the key that made it; "": without API keys */
    int64_t created_ms;               /* milliseconds since 1970 */
    bool fixed; /* from an option: every client may use it, and none can remove it */
};

/* A glossary is immutable and reference-counted: requests hold a reference while they translate, so
 * that it can be taken out of service without waiting for them. */
struct kept_glossary {
    struct glossary_about about;
    struct lexicon lexicon;
    size_t bytes;  /* approximate bytes of its entries as text */
    size_t number; /* unique among all that were ever in service, so that it identifies cached
                      answers; 0: not in service yet */

    /* private */
    struct arena arena; /* owns the entries and their strings */
    atomic_size_t references;
};

enum glossary_format { GLOSSARY_TSV, GLOSSARY_CSV };

/* Reads text [length], any bytes. Each line has one entry: the source and target phrase separated
 * by a tab, or the first two of comma-separated values (RFC 4180). Lines end with LF or CRLF; blank
 * lines are ignored. The caller gets a reference. Returns NULL with ERROR_MEMORY, or with
 * ERROR_INPUT: a line (which the message names) does not have two phrases, or has one that is
 * blank, too long, not UTF-8 or has control characters; a source phrase (which the message names)
 * occurs twice; there are no entries, although the glossary has languages or is fixed, or too many.
 */
struct kept_glossary *kept_glossary_create(const struct glossary_about *about, const char *text,
                                           size_t length, enum glossary_format format,
                                           struct error *err);
struct kept_glossary *kept_glossary_acquire(struct kept_glossary *glossary);
/* Releases a reference; the last release frees the glossary. Accepts NULL. */
void kept_glossary_release(struct kept_glossary *glossary);

/* A list of glossaries that owns a reference to each. It starts zeroed. */
struct glossary_list {
    struct kept_glossary **all; /* [count] */
    size_t count;
};

/* Takes over the reference. Returns -1 with ERROR_MEMORY, and releases it; -1 without an error if
 * glossary is NULL, because the caller could not make it. */
int glossaries_list_add(struct glossary_list *list, struct kept_glossary *glossary,
                        struct error *err);
/* The list must contain the glossary. */
void glossaries_list_remove(struct glossary_list *list, const struct kept_glossary *glossary);
/* Releases the references and empties the list. */
void glossaries_list_done(struct glossary_list *list);

/* ---- the file of the glossaries that clients make ----
 *
 * The first line names the format. Each glossary is a line with its id, languages, time, owner,
 * number of entries and name, followed by its entries as TSV. */

/* Returns the malloc'ed text of the file, without fixed glossaries, and sets *length. Returns NULL
 * if memory runs out. */
char *glossaries_write_file(const struct glossary_list *list, size_t *length);
/* Adds the glossaries of the file, at most GLOSSARIES_MOST. Returns -1 with ERROR_INPUT (the
 * message names the line) or ERROR_MEMORY. */
int glossaries_read_file(const char *text, size_t length, struct glossary_list *list,
                         struct error *err);

/* ---- the glossaries in service ---- */

/* Limits for clients: all glossaries, those of one owner, and all entries and bytes together. */
enum {
    GLOSSARIES_MOST = 1000,
    GLOSSARIES_MOST_OF_OWNER = 100,
    GLOSSARIES_MOST_ENTRIES = 200000,
    GLOSSARIES_MOST_BYTES = 1 << 24
};

struct glossaries;

/* Both members must outlive the glossaries. */
struct glossaries_options {
    const struct name_list *fixed; /* NAME=FILE or NAME:SOURCE:TARGET=FILE */
    const char
        *path; /* path of the file with the glossaries of clients; NULL: clients cannot make any */
};

/* Returns NULL with ERROR_INPUT (the message names the option or file, and the line), ERROR_FILE or
 * ERROR_MEMORY. A missing file counts as empty. */
struct glossaries *glossaries_open(const struct glossaries_options *options, struct error *err);
/* Accepts NULL. */
void glossaries_free(struct glossaries *glossaries);
/* Reads the files of --glossary again. Returns -1 as glossaries_open does; all glossaries then stay
 * as they were. */
int glossaries_reload(struct glossaries *glossaries, struct error *err);

/* Returns whether clients may make glossaries. */
bool glossaries_keep(const struct glossaries *glossaries);

/* Sets *list to all glossaries in service, the fixed ones first. Returns -1 with ERROR_MEMORY; the
 * list is empty then. */
int glossaries_all(struct glossaries *glossaries, struct glossary_list *list, struct error *err);

/* Edits a list of glossaries. Returns -1, with or without an error, if nothing shall change. */
typedef int glossaries_edit(struct glossary_list *list, void *context, struct error *err);
/* Changes what clients have made. edit gets a list of all glossaries in service, removes glossaries
 * from it and adds new ones. Waits for earlier changes, and returns 0 once the file with the change
 * is durable. Otherwise nothing has changed, and it returns -1 with ERROR_LENGTH (the message says
 * which limit an addition exceeds), ERROR_FILE or ERROR_MEMORY, or because edit returned -1.
 */
int glossaries_change(struct glossaries *glossaries, glossaries_edit *edit, void *context,
                      struct error *err);
/* Sets a new id and the time. Returns -1 with ERROR_FILE. */
int glossaries_name(struct glossary_about *about, struct error *err);
#endif
