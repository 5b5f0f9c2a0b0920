/* Documents that are archives of XML: docx, pptx, xlsx; odt, odp, ods; epub. What is translated becomes messages, one for each
 * paragraph; what is written puts them back. Members without text stay byte for byte, in their order. Time is linear; memory is
 * that of the parts with text, unpacked, and of what they become. This module knows nothing of HTTP. */
#ifndef ALIGND_OFFICE_H
#define ALIGND_OFFICE_H

#include "server/markup/build.h"

struct office_family;
extern const struct office_family office_docx, office_pptx, office_xlsx, office_odf, office_epub;

enum {
    OFFICE_MOST_PIECES = 1 << 19,
    OFFICE_MOST_BYTES = 256 << 20, /* of parts with text, unpacked, together */
};

struct office_document {
    const struct office_family *family;
    struct html_bytes bytes;
    const char *language; /* of the translation, a BCP 47 code */
    bool bilingual;       /* each translation stands below its source */
};

/* Things that a user should know about the result. */
struct office_changes {
    bool signatures; /* were dropped: they would no longer be valid */
    bool accepted;   /* tracked changes were accepted in paragraphs that were translated */
    bool columns;    /* names of columns of tables stay, because formulas refer to them */
};

/* Finds what is to be translated. Returns -1 with ERROR_MEMORY, or ERROR_INPUT and a message that names the part. */
int office_read(const struct office_document *document, struct arena *arena, struct html *out, struct office_changes *changes,
                struct error *err);
/* Writes the document from what html_write wrote of that. A document of which nothing was translated stays byte for byte. Returns
 * NULL with ERROR_MEMORY. */
char *office_write(const struct office_document *document, struct html_bytes written, struct arena *arena, size_t *out_length,
                   struct office_changes *changes, struct error *err);

#endif
