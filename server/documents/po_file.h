/* A PO file on its way into a language: which of its messages are to be translated, and where they go. Included by
 * server/documents/ only. */
#ifndef ALIGND_DOCUMENT_PO_FILE_H
#define ALIGND_DOCUMENT_PO_FILE_H

#include "server/documents/po_header.h"

struct po_file {
    const struct document *document;
    struct po_reader reader;
    struct po_plurals plurals; /* of messages from here on */
    char *room;                /* as many bytes as the document has: what is decoded */
    struct po_message message; /* the one in hand */
    bool header, fuzzy, wanted;
    bool surplus;                 /* it has more forms than the language */
    struct html_bytes id, plural; /* decoded, if it is wanted; of the header: id is what it says */
};

int po_file_open(struct po_file *file, const struct document *document, struct arena *arena, struct error *err);
/* As po_next. -1 also where the file is of another character set. */
int po_file_next(struct po_file *file);
/* The form is still to be translated. */
bool po_file_lacks(const struct po_file *file, size_t form);

/* Messages with their translations, as finish of a format. */
char *po_write(const struct document *document, const char *written, size_t written_length, struct arena *arena, size_t *out_length,
               struct error *err);

/* In the pieces of a message, in front of each directive that takes the next argument: MESSAGE_OWN, and which of them it is, from
 * PO_FIRST. */
enum { PO_FIRST = 32, PO_MOST_MARKED = 200 };

#endif
