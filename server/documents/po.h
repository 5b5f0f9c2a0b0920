/* A PO file that is translated into a language: its syntax (GNU gettext's manual, "The Format of PO Files"), the fields of its
 * header, and the messages that need a translation. For po_messages.c only. */
#ifndef ALIGND_DOCUMENT_PO_H
#define ALIGND_DOCUMENT_PO_H

#include "server/documents/document.h"

enum { PO_MOST_FORMS = 16 };

/* Adjacent strings that make one text: from the first quotation mark to the end of the last string. */
struct po_text {
    const char *begin, *end; /* begin NULL: there is none */
    size_t strings;
};

struct po_message {
    const char *begin;       /* of its comments */
    const char *keyword;     /* msgctxt or msgid, after them */
    const char *translation; /* msgstr */
    const char *end;         /* of the last string */
    size_t line;             /* of msgid */
    struct po_text context, id, plural;
    struct po_text forms[PO_MOST_FORMS]; /* [form_count] one, unless it has a plural */
    size_t form_count;
};

/* The plural forms of a language. */
struct po_plurals {
    size_t forms, one; /* how many; which of them is for one thing */
    const char *rule;  /* "nplurals=2; plural=(n != 1);" */
};

struct po_file {
    const struct document *document;
    const char *at; /* read up to here */
    size_t line;    /* from 1 */
    struct error *err;
    struct po_plurals plurals; /* of the messages from here on */
    char *room;                /* the rest of the room for decoded texts */
    struct po_message message; /* the current one */
    bool header, fuzzy, wanted;
    bool surplus;                 /* it has more forms than the language */
    struct html_bytes id, plural; /* decoded, if it is wanted; id of the header: what it says */
};

int po_file_open(struct po_file *file, const struct document *document, struct arena *arena, struct error *err);
/* Returns 1 with the next message (obsolete ones are comments), 0 after the last, or -1 with ERROR_INPUT; the message names the
 * line. */
int po_file_next(struct po_file *file);
/* True if the form still needs a translation. */
bool po_file_lacks(const struct po_file *file, size_t form);
/* True if one of the document's messages is a header. */
bool po_has_header(const struct document *document);

/* Appends the header with UTF-8 and this language, and other fields as they are. header: lines "Name: value". */
void po_header_put(struct html_buffer *out, struct html_bytes header, const char *language);

/* The next line of a message's comments, with its end, from *at, which is message->begin at first. Returns false after the last. */
bool po_next_comment(const struct po_message *message, const char **at, struct html_bytes *line);
/* The next flag of such a line, "c-format", from *at, which is NULL at first. */
bool po_next_flag(struct html_bytes line, const char **at, struct html_bytes *flag);

#endif
