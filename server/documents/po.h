/* Messages of gettext's PO files, as they are written (GNU gettext's manual, "The Format of PO Files"). Included by
 * server/documents/ only. */
#ifndef ALIGND_DOCUMENT_PO_H
#define ALIGND_DOCUMENT_PO_H

#include "server/documents/format.h"

enum { PO_MOST_FORMS = 16 };

/* Strings that follow each other and make one text: from the first one's quotation mark to behind the last one's. */
struct po_text {
    const char *begin, *end; /* begin NULL: there is none */
    size_t strings;
};

struct po_message {
    const char *begin;       /* of its comments */
    const char *keyword;     /* msgctxt or msgid, behind them */
    const char *translation; /* msgstr */
    const char *end;         /* behind the last string */
    size_t line;             /* of msgid */
    struct po_text context, id, plural;
    struct po_text forms[PO_MOST_FORMS]; /* [form_count] one, unless it has a plural */
    size_t form_count;
};

struct po_reader {
    const char *at, *end;
    size_t line; /* from 1 */
    struct error *err;
};

/* 1: the next message; those that are obsolete are comments. 0: there are no more. -1 with ERROR_INPUT: the message names the line.
 */
int po_next(struct po_reader *reader, struct po_message *out);

/* What a text of a message says: at most text->end - text->begin bytes, written there. */
struct html_bytes po_decode(const struct po_text *text, char *out);
/* Nothing, or nothing but empty strings. */
bool po_is_empty(const struct po_text *text);
/* It says what the file is, and nothing to translate. */
bool po_is_header(const struct po_message *message);

/* The next line of a message's comments, with its end, from *at, which is message->begin at first. False: there are no more. */
bool po_next_comment(const struct po_message *message, const char **at, struct html_bytes *line);
/* The next flag of such a line, "c-format"; from *at, which is NULL at first. */
bool po_next_flag(struct html_bytes line, const char **at, struct html_bytes *flag);
bool po_is_fuzzy(const struct po_message *message);

#endif
