/* Which strings of a data file are language, and which are for programs. The rule is in server/README.md ("Which strings are
 * prose"): it looks at the notation of a string first, and at the names of the members that hold it where a single word could be
 * either. Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_PROSE_H
#define ALIGND_DOCUMENT_PROSE_H

#include "server/documents/format.h"

enum prose {
    PROSE_PROGRAM,  /* no words of a language, or a notation that nobody reads: a date, an address, markup without text */
    PROSE_DOUBTFUL, /* likely a name or a word for programs: kebab-case, FOO_BAR, "module" as the value of "type" */
    PROSE_LANGUAGE
};

/* The names of the members that hold a string, of arrays those of the member that holds the array; length 0: there is none. */
struct prose_place {
    struct html_bytes name, parent;
};

/* text: valid UTF-8. scratch: room for as many bytes. Time is linear in the length. */
enum prose prose_judge(struct html_bytes text, const struct prose_place *place, char *scratch);

#endif
