/* Files of strings, such as those of a program's user interface: a reader reports the place of each
 * string, what it says, and how it is written. What makes a string a text to translate, its
 * placeholders, lines and branches, and the check of its translation are the same in all of them.
 */
#ifndef ALIGND_DOCUMENT_VALUES_H
#define ALIGND_DOCUMENT_VALUES_H

#include "server/documents/spans.h"

struct value {
    const char *begin, *end; /* bytes of the file that the translation replaces; equal: it is
                                inserted there */
    struct bytes text;       /* decoded; it outlives the markup */
    struct bytes name;       /* its key, with dots between names; length 0: none */
    struct bytes fixed;      /* is written instead of a translation if anything in the file is
                                translated;      start NULL: there is a text */
    unsigned notations;      /* of its directives, as for directives_add */
    size_t style;            /* how it is written, for the format's own use */
    const void *about;       /* what else the format knows about it; NULL: nothing */
};

struct values;
/* Puts the translation of a value in place of its bytes. sound: it has all that the source has.
 * writer->about is the struct values. */
typedef void value_put(struct span_writer *writer, const struct value *value, struct bytes text,
                       bool sound);

struct values {
    const struct document *document;
    struct piece_builder builder;
    struct document_spans spans;
    value_put *put;
    /* Strings for programs stay (prose.c); otherwise all strings are texts. */
    bool judged;
    bool named;  /* names say what a string is for, as in data files; those of a user interface do
                    not */
    bool states; /* a translation that is not sound is put, too, and its state says so; otherwise
                    the source stays, with a note */
    text_lead *lead;       /* finds the labels of a line */
    markup_escape *escape; /* writes text into the file; NULL: `put` does it */
    const void *about;
    char *scratch; /* room for the longest string */
    struct error *err;
};

/* Begins to read a document. Returns NULL with ERROR_MEMORY. */
struct values *values_open(const struct document *document, struct arena *arena, value_put *put,
                           struct error *err);
/* Adds a string, if it is a text, in the order of their places. Fails with the builder. */
void values_add(struct values *values, const struct value *value);
/* Returns true if a string of this name is a text that is translated: not one for programs, and not
 * left out by the request's globs. */
bool values_want(const struct values *values, struct bytes text, struct bytes name);
/* Adds a value, to which the caller adds pieces and then spans_end_text. Returns NULL if memory
 * runs out. */
struct value *values_begin(struct values *values, const struct value *value);
/* Adds bytes that state the language of the translation, or something else that follows from it;
 * [begin,end) become `text` if anything is translated, unless the caller takes `fixed` away.
 * Returns NULL if memory runs out. */
struct value *values_restate(struct values *values, const char *begin, const char *end,
                             struct bytes text);
/* Ends reading, like piece_build. */
int values_build(struct values *values, struct markup *out, struct error *err);

/* Returns the notations of printf's directives, with numbers, for a text that may have them: not if
 * a blank follows a percent sign, as in prose. */
unsigned values_percents(struct bytes text);

/* ---- how strings are written ---- */

/* Escapes with a backslash: names[i] stands for means[i], any other character for itself, and u and
 * four digits for a character. */
struct value_escapes {
    const char *names, *means;
    const char *written; /* the characters that are escaped when text is written */
    bool capital;        /* U is a number, too */
    bool continues;      /* before a line end it continues the line, whose indentation is ignored */
};
/* Decodes escapes; the text borrows the bytes or is in the arena. Returns false if one of them is
 * invalid, or if memory runs out, which fails the arena. */
bool values_unescape(struct bytes raw, const struct value_escapes *escapes, struct arena *arena,
                     struct bytes *out);
/* Puts text with escapes. ascii: all characters beyond ASCII become numbers. */
void values_escape(struct bytes_buffer *out, struct bytes text, const struct value_escapes *escapes,
                   bool ascii);
/* Decodes what is between two tags of XML, which may have references, comments and CDATA but no
 * elements, into the arena. Returns false if it has an element or an unknown reference, or if
 * memory runs out, which fails the arena. */
bool values_decode_xml(const char *document, struct bytes raw, struct arena *arena,
                       struct bytes *out);

#endif
