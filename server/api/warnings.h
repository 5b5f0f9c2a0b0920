/* The `warnings` of a text, which report likely errors in the text or in its translation without being asked for. One table
 * (warnings.c) has the codes and their checks. The native dialect writes them beside a text's sentences. Dialects that have no
 * place for warnings, and documents, send the codes in a header; a document's stream sends an event for each. */
#ifndef ALIGND_WARNINGS_H
#define ALIGND_WARNINGS_H

#include "model/base/arena.h"
#include "server/base/strings.h"
#include <stdbool.h>
#include <stddef.h>

struct request;
struct text;
struct plan;

/* In the order in which they are written. */
enum warning_code {
    WARNING_LANGUAGE,     /* the text appears to be in another language than the model reads */
    WARNING_UNTRANSLATED, /* returned unchanged: the model cannot read any of its letters */
    WARNING_UNKNOWN,      /* many of its tokens are unknown to the model */
    WARNING_SHORTENED,    /* much of it may have been left out */
    WARNING_NUMBERS,      /* the translation has different numbers */
    WARNING_DOUBTFUL,     /* the model's own estimate is low */
    WARNING_ENCODING,     /* the document is not UTF-8; its encoding was guessed */
    WARNING_CHANGED,      /* a document was changed beside its text: a signature was removed, for example */
    WARNING_CODES
};

struct warning {
    enum warning_code code;
    const char *message;
    /* Writes the other members of the warning's object. NULL: it has none. */
    void (*put)(struct writer *w, const struct warning *warning);
    const void *detail; /* an argument for put */
    size_t text;        /* the text's index in the request */
    struct warning *next;
};

/* The list and everything in it are in an arena. */
struct warnings {
    struct warning *first, *last;
    unsigned codes; /* a bit for each code in the list: 1 << code */
};

/* Adds a warning; the caller sets its put, detail and text. NULL: memory is out. */
__attribute__((format(printf, 4, 5))) struct warning *warnings_add(struct warnings *warnings, struct arena *arena,
                                                                   enum warning_code code, const char *format, ...);

/* Adds the warnings of all texts of a decoded plan. The language of markup is judged by all its segments together, since a title or
 * a name is often in another language. */
int warnings_of_plan(const struct request *request, const struct plan *plan, struct arena *arena, struct warnings *warnings);

/* Writes {"code","message"} and the other members; the caller may add members before it ends the object. */
void warning_begin(struct writer *w, const struct warning *warning);

/* Returns NULL after the last. */
const char *warning_name(size_t code);

#endif
