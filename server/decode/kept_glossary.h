/* A glossary that outlives requests: its name and languages, and its entries as they were read. Immutable and counted: requests
 * hold a reference while they translate, and whoever takes it out of service waits for none of them. */
#ifndef ALIGND_KEPT_GLOSSARY_H
#define ALIGND_KEPT_GLOSSARY_H

#include "model/translator.h"
#include <stdatomic.h>
#include <stdint.h>

enum {
    GLOSSARY_ID_BYTES = 40,
    GLOSSARY_NAME_BYTES = 256,
    GLOSSARY_CODE_BYTES = 36,
    GLOSSARY_OWNER_BYTES = 64,
    GLOSSARY_PHRASE_BYTES = 1024,  /* of a phrase, at most */
    GLOSSARY_MOST_ENTRIES = 100000 /* in one glossary */
};

struct glossary_about {
    char id[GLOSSARY_ID_BYTES]; /* of one that a client made; of others the name */
    char name[GLOSSARY_NAME_BYTES];
    char source[GLOSSARY_CODE_BYTES], target[GLOSSARY_CODE_BYTES]; /* language codes in small letters; "": any */
    char owner[GLOSSARY_OWNER_BYTES];                              /* who holds the key that made it; "": there are no keys */
    int64_t created_ms;                                            /* since 1970 */
    bool fixed;                                                    /* an option's: everybody's, and nobody can remove it */
};

struct kept_glossary {
    struct glossary_about about;
    struct lexicon lexicon;
    size_t bytes;  /* of its entries as text, about */
    size_t number; /* no other in service has had it: what was answered with it is known by that; set by glossaries.c */

    /* inside */
    char *text; /* that the entries' strings stand in */
    struct arena arena;
    atomic_size_t references;
};

enum glossary_format { GLOSSARY_TSV, GLOSSARY_CSV };

/* text: [length], any bytes: one entry a line, source and target phrase with a tab between them, or of comma-separated values the
 * first two (RFC 4180); lines end with LF or CRLF, blank ones count for nothing. Returns it with a reference for the caller. NULL
 * with ERROR_INPUT (the message names the line: no such line, a phrase that is blank, too long, not UTF-8 or has control
 * characters, one source phrase twice, more entries than there may be, or none) or ERROR_MEMORY. */
struct kept_glossary *kept_glossary_create(const struct glossary_about *about, const char *text, size_t length,
                                           enum glossary_format format, struct error *err);

/* One more reference; returns it. Thread-safe, as is release. */
struct kept_glossary *kept_glossary_acquire(struct kept_glossary *glossary);
/* One less: the last one frees it. NULL allowed. */
void kept_glossary_release(struct kept_glossary *glossary);

#endif
