/* Documents: files in formats with more in them than sentences. A format's reader tells what is to be translated and what stands
 * around it, as pieces (server/markup/build.h); html_write puts the translations back, and all else stays byte for byte, but
 * that HTML comes out in one notation (server/markup/markup.h). Knows nothing of HTTP.
 *
 * A new format is a file that defines one, and its row in the table (document.c). Readers take time and memory linear in the
 * document's length, whatever it is, and have no recursion. */
#ifndef ALIGND_DOCUMENT_H
#define ALIGND_DOCUMENT_H

#include "server/decode/request.h"
#include "server/documents/format.h"

/* The i-th; NULL: there are no more. */
const struct document_format *document_nth(size_t i);
/* By its name. NULL: there is none. */
const struct document_format *document_find(const char *name);
/* By a file's name, then, where that tells nothing, by its media type; either may be NULL. */
const struct document_format *document_guess(const char *file_name, const char *media_type);
/* "txt, srt, ...": all names. */
enum { DOCUMENT_NAMES_BYTES = 128 };
void document_names(char names[DOCUMENT_NAMES_BYTES]);

/* Of a format whose files may be in UTF-16 or Windows-1252: makes its source UTF-8, in the arena; others stay as they are.
 * language: of the text, as far as it is known; NULL: it is not. -1 with ERROR_MEMORY, or ERROR_INPUT: the encoding is another one.
 */
int document_decode(struct document *document, const char *language, struct arena *arena, struct error *err);

/* Segments to be translated. Its source: any bytes; outlives the html. -1 with ERROR_MEMORY, ERROR_LENGTH, or ERROR_INPUT: the
 * message tells what is wrong, and where. */
int document_read(const struct document *document, struct arena *arena, struct html *out, struct error *err);
/* The document with its translations, as of html_write. */
char *document_write(const struct document *document, const struct html *html, const struct html_translation *translations,
                     struct arena *arena, size_t *out_length, struct error *err);

/* A text of a request that is no document, but may have marks in it (server/markup/build.h), or be a message in ICU's
 * notation. False in *marked, and nothing is read: it is plain. A message that cannot be read has no segments, so that it stays as
 * it is. As html_parse_text. */
int document_read_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err);
/* The text is such a message, readable or not. */
bool document_is_message(const char *text, size_t length);
/* Such a text with its translations. A message whose translation is none stays as it is. As html_write. */
char *document_write_text(const char *text, size_t length, const struct html *html, const struct html_translation *translations,
                          struct arena *arena, size_t *out_length, struct error *err);

/* Translation of a text of a request that has been decoded, and what its words are linked with. text NULL: it stays as it is. All
 * in the arena. -1: memory. */
int document_translate(const struct text *text, struct arena *arena, struct html_translation *out);

#endif
