/* `warnings` of a text: what is likely wrong with it or with its translation, said without being asked for. One table
 * (warnings.c) has the codes and what looks for each. The native dialect writes them beside a text's sentences; dialects
 * without a place for them, and documents, have the codes in a header, and the stream of a document has an event for each. */
#ifndef ALIGND_WARNINGS_H
#define ALIGND_WARNINGS_H

#include "model/base/arena.h"
#include "server/base/writer.h"
#include <stdbool.h>
#include <stddef.h>

struct request;
struct text;
struct plan;

/* In the order in which they are written. */
enum warning_code {
    WARNING_LANGUAGE,     /* the text looks like another language than the model reads */
    WARNING_UNTRANSLATED, /* it was returned unchanged: the model can read none of its letters */
    WARNING_UNKNOWN,      /* the model does not know many of its tokens */
    WARNING_SHORTENED,    /* much of it may have been left out */
    WARNING_NUMBERS,      /* the translation has other numbers */
    WARNING_DOUBTFUL,     /* the model's own estimate is low */
    WARNING_ENCODING,     /* a document is in another than UTF-8, which was guessed */
    WARNING_CHANGED,      /* a document was changed beside its text: a signature was removed, for example */
    WARNING_CODES
};

struct warning {
    enum warning_code code;
    const char *message;
    /* Writes what this code has besides, as members of its object. NULL: nothing. */
    void (*put)(struct writer *w, const struct warning *warning);
    const void *detail; /* for put */
    size_t text;        /* of the request: its index */
    struct warning *next;
};

/* In an arena, as all that they hold. */
struct warnings {
    struct warning *first, *last;
    unsigned codes; /* a bit for each that is there: 1 << code */
};

/* Adds one, whose members put, detail and text are to be set. NULL: memory is out. */
__attribute__((format(printf, 4, 5))) struct warning *warnings_add(struct warnings *warnings, struct arena *arena,
                                                                   enum warning_code code, const char *format, ...);

/* Adds those of a decoded text. -1: memory is out. */
int warnings_of_text(const struct request *request, const struct text *text, struct arena *arena, struct warnings *warnings);
/* Adds those of all texts of a decoded plan; a markup's language is judged by all of its segments together, since a title or a name
 * is in another one often. */
int warnings_of_plan(const struct request *request, const struct plan *plan, struct arena *arena, struct warnings *warnings);

/* {"code","message"} and what the code has besides; the caller adds members before it ends the object. */
void warning_begin(struct writer *w, const struct warning *warning);

/* NULL: there are no more. */
const char *warning_name(size_t code);

#endif
