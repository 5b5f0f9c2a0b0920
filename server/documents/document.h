/* Documents: files in formats that hold more than sentences. The reader of a format reports the text to translate and everything
 * around it as pieces (server/markup/build.h); html_write inserts the translations. Everything else stays byte for byte, except
 * that HTML is written in one notation (server/markup/markup.h). This module is independent of HTTP.
 *
 * A new format is a file with its functions and a row in the table of document.c. Readers take time and memory linear in the length
 * of any document, and do not recurse. */
#ifndef ALIGND_DOCUMENT_H
#define ALIGND_DOCUMENT_H

#include "server/decode/request.h"
#include "server/documents/format.h"

/* The i-th format; NULL after the last. */
const struct document_format *document_nth(size_t i);
/* The format of this name; NULL if there is none. */
const struct document_format *document_find(const char *name);
/* Guesses from a file's name, then from its media type; either may be NULL. */
const struct document_format *document_guess(const char *file_name, const char *media_type);
/* All names: "txt, srt, ...". */
enum { DOCUMENT_NAMES_BYTES = 128 };
void document_names(char names[DOCUMENT_NAMES_BYTES]);

/* Converts the source to UTF-8, in the arena, if the files of its format may be in UTF-16 or Windows-1252. language: of the text;
 * NULL if it is unknown. Returns -1 with ERROR_MEMORY, or with ERROR_INPUT if it is in another encoding. */
int document_decode(struct document *document, const char *language, struct arena *arena, struct error *err);

/* Finds the segments to translate. The source may have any bytes, and outlives the html. Returns -1 with ERROR_MEMORY,
 * ERROR_LENGTH, or ERROR_INPUT with a message that says what is wrong, and where. */
int document_read(const struct document *document, struct arena *arena, struct html *out, struct error *err);
/* Writes the document with its translations, like html_write. */
char *document_write(const struct document *document, const struct html *html, const struct html_translation *translations,
                     struct arena *arena, size_t *out_length, struct error *err);

/* Reads a text of a request that is not a document, but may have marks in it (server/markup/build.h) or be a message in ICU's
 * notation. If it is plain, *marked is false and nothing is read. A message that cannot be parsed has no segments, so that it stays
 * unchanged. Like html_parse_text. */
int document_read_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err);
/* True if the text is such a message, readable or not. */
bool document_is_message(const char *text, size_t length);
/* Writes such a text with its translations, like html_write. A message whose translation is not valid stays unchanged. */
char *document_write_text(const char *text, size_t length, const struct html *html, const struct html_translation *translations,
                          struct arena *arena, size_t *out_length, struct error *err);

/* The translation of a text of a request that has been decoded, with the links of its words, in the arena. Its text is NULL if it
 * is empty, so that the segment stays unchanged. Returns -1 if memory runs out. */
int document_translate(const struct text *text, struct arena *arena, struct html_translation *out);

#endif
