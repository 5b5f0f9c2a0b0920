/* What formats share whose translations stand beside what they translate: po, xliff. What they read is no document but its
 * messages, one after the other, and so is what html_write makes of it; `finish` puts these where they belong. Marks tell where a
 * message ends and whether it was translated: bytes that no message may have. Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_MESSAGES_H
#define ALIGND_DOCUMENT_MESSAGES_H

#include "server/documents/format.h"

enum { MESSAGE_TRANSLATED = '\1' /* in front of words of a translation */, MESSAGE_OWN = '\2' /* the format's own */ };

/* It is text, and has no control characters, of which the marks are some. text: any bytes. */
bool messages_can_hold(struct html_bytes text);
/* Behind the pieces of a message. */
void messages_end(struct html_builder *builder);
/* The pieces of a message in ICU's notation, and its end. escape: how its text is written in the document; NULL: as it is. One that
 * cannot be read stands there as it is, marked as translated: messages_settle_icu says that it was not. */
void messages_add_icu(struct html_builder *builder, struct html_bytes text, html_escape *escape);
/* What was written of such a message, without marks and escapes, becomes its translation. False: it is none, and *out is the
 * source. */
bool messages_settle_icu(struct html_bytes source, struct html_bytes written, struct arena *arena, struct html_bytes *out);
/* What an html_escape begins with. */
void messages_put_mark(struct html_buffer *out);

/* In what was written: some of it was translated. */
bool messages_translated(struct html_bytes written);
/* The next message, which still has its marks of translations; *written is moved behind it. */
struct html_bytes messages_next(struct html_bytes *written);
/* Appends a message, or a part of it, without these. */
void messages_put(struct html_buffer *out, struct html_bytes message);

#endif
