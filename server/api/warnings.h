/* Warnings report likely errors in a text or in its translation, without being requested. The
 * native dialect writes them beside a text's sentences. Dialects that have no place for warnings,
 * and documents, send the codes in a header; a document's stream sends an event for each. */
#ifndef ALIGND_WARNINGS_H
#define ALIGND_WARNINGS_H

#include "server/api/plan.h"

/* In the order in which they are written. */
enum warning_code {
    WARNING_LANGUAGE,     /* the text appears to be in another language than the model reads */
    WARNING_UNTRANSLATED, /* returned unchanged: the model cannot read any of its letters */
    WARNING_UNKNOWN,      /* many of its tokens are unknown to the model */
    WARNING_SHORTENED,    /* much of it may have been left out */
    WARNING_NUMBERS,      /* the translation has different numbers */
    WARNING_SIGNS,        /* the translation has different signs */
    WARNING_GLOSSARY,     /* it lacks entries of the glossary */
    WARNING_FORMALITY,    /* its form of address is not the wanted one */
    WARNING_DOUBTFUL,     /* the model's own estimate is low */
    WARNING_ENCODING,     /* the document is not UTF-8; its encoding was guessed */
    WARNING_CHANGED, /* a document was changed beside its text: a signature was removed, for example
                      */
    WARNING_IGNORED, /* fields of the request are ignored: only in the header */
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

/* Sets the plan's warnings, of all its texts, after the jobs have ended. The language of markup is
 * judged by all its segments together, since a title or a name is often in another language.
 * answers: of the items, whose texts are compared as a whole; NULL: they are not. Returns -1 if
 * memory runs out. */
int warnings_of_plan(struct request *request, const struct plan_answers *answers);
/* The text that a client sent, and its translation as the client gets it. */
struct whole {
    struct bytes source, translation;
};
/* Writes the member "warnings" of a text's object if the text has warnings. apart: the object has
 * no text in which sentences have places. arena provides scratch memory. */
void warnings_put(const struct request *request, const struct text *text, const struct whole *whole,
                  bool apart, struct arena *arena, struct writer *out);

/* Writes {"code","message"} and the other members; the caller may add members before it ends the
 * object. */
void warnings_begin(struct writer *w, const struct warning *warning);

/* Returns NULL after the last. */
const char *warnings_name(size_t code);

/* Writes the value of the header that lists the reply's warnings: "language, numbers". */
enum { WARNINGS_LIST_BYTES = 128 };
void warnings_list(const struct reply *reply, char text[WARNINGS_LIST_BYTES]);

#endif
