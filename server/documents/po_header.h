/* The header of a PO file: what it says of the file's language. Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_PO_HEADER_H
#define ALIGND_DOCUMENT_PO_HEADER_H

#include "server/documents/po.h"

/* The forms of a message by numbers: how many there are, and which of them is that of one thing. */
struct po_plurals {
    size_t forms, one;
    const char *rule; /* "nplurals=2; plural=(n != 1);" */
};

/* A language's, as gettext has them; of one that is not known, the most common. */
const struct po_plurals *po_plurals_of(const char *language);

/* header: a text of lines "Name: value". 0: it has no number of forms, or one beyond PO_MOST_FORMS. */
size_t po_header_forms(struct html_bytes header);
/* False: its text is in another character set than UTF-8, which *charset is. */
bool po_header_is_utf8(struct html_bytes header, struct html_bytes *charset);
/* The forms that messages get: those of the header where it is in this language; else the language's. */
struct po_plurals po_header_plurals(struct html_bytes header, const char *language);

/* The header, of UTF-8 and in this language; other fields as they are. */
void po_header_put(struct html_buffer *out, struct html_bytes header, const char *language);

#endif
