/* The glossaries in service: those of --glossary, read again on SIGHUP, and those that clients made, which one file keeps. The file
 * is written whole beside itself and renamed, before a change counts: after a crash it is the old one or the new one. A thread
 * writes it; changes that come meanwhile are written together.
 *
 * Bounds of what clients may make: GLOSSARIES_MOST, and so many of one owner; GLOSSARIES_MOST_ENTRIES and GLOSSARIES_MOST_BYTES in
 * all of them together. All calls are thread-safe. */
#ifndef ALIGND_GLOSSARIES_H
#define ALIGND_GLOSSARIES_H

#include "server/base/name_list.h"
#include "server/decode/kept_glossary.h"

enum { GLOSSARIES_MOST = 1000, GLOSSARIES_MOST_OF_OWNER = 100, GLOSSARIES_MOST_ENTRIES = 200000, GLOSSARIES_MOST_BYTES = 1 << 24 };

struct glossaries;

struct glossaries_options {
    const struct name_list *fixed; /* NAME=FILE or NAME:SOURCE:TARGET=FILE; it outlives them */
    const char *path;              /* of what clients make; NULL: they may make none */
};

/* NULL with ERROR_INPUT (the message names option or file, and line), ERROR_FILE or ERROR_MEMORY. A file that is not there yet is
 * empty. */
struct glossaries *glossaries_open(const struct glossaries_options *options, struct error *err);
/* NULL allowed. */
void glossaries_free(struct glossaries *glossaries);
/* Reads the files of --glossary again. -1 as open: all stay as they were. */
int glossaries_reload(struct glossaries *glossaries, struct error *err);

/* Whether clients may make any. */
bool glossaries_keep(const struct glossaries *glossaries);

/* Everything in service, the fixed ones first, each with a reference for the caller; *count. malloc'ed; NULL when memory is out. */
struct kept_glossary **glossaries_all(struct glossaries *glossaries, size_t *count);
/* The first that fits, with a reference for the caller; NULL: none does. fits is called under a lock. */
struct kept_glossary *glossaries_find(struct glossaries *glossaries, bool (*fits)(const struct kept_glossary *, const void *),
                                      const void *context);

enum glossaries_verdict { GLOSSARIES_DONE, GLOSSARIES_FULL, GLOSSARIES_UNKNOWN, GLOSSARIES_FAILED };
/* Puts one more into service and gives it an id; returns when the file with it is durable, which may take as long as writing it
 * twice. FULL, with what there is too much of in err; FAILED with ERROR_FILE or
 * ERROR_MEMORY, and nothing is changed. */
enum glossaries_verdict glossaries_add(struct glossaries *glossaries, struct kept_glossary *glossary, struct error *err);
/* The same of several at once, which take the place of others: old [old_count] were in service, and UNKNOWN says that one of them
 * is not any more. made [count] have their ids. */
enum glossaries_verdict glossaries_change(struct glossaries *glossaries, struct kept_glossary *const *old, size_t old_count,
                                          struct kept_glossary *const *made, size_t count, struct error *err);
/* A new id, and the time. -1 with ERROR_FILE. */
int glossaries_name(struct glossary_about *about, struct error *err);
/* Takes the owner's glossary of this id out, whatever languages it is for. UNKNOWN, or FAILED as above. */
enum glossaries_verdict glossaries_remove(struct glossaries *glossaries, const char *id, const char *owner, struct error *err);

#endif
