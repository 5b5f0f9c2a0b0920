/* How Markdown is written: what stands between texts, and texts so that they are read as such. Included by server/document/ only.
 */
#ifndef ALIGND_DOCUMENT_MARKDOWN_NOTATION_H
#define ALIGND_DOCUMENT_MARKDOWN_NOTATION_H

#include "server/html/html_build.h"
#include <stdbool.h>
#include <stddef.h>

/* An ASCII character that a backslash in front makes plain. */
bool markdown_is_mark(char c);
/* Bytes of "&name;" that begins there; 0: none does. */
size_t markdown_reference_length(const char *at, const char *end);
/* What a reference stands for, of those that texts have, in UTF-8 [*length]. NULL: it is another one. buffer: for its character. */
const char *markdown_decode(const char *reference, size_t bytes, char buffer[4], size_t *length);

/* Each skips what it names from `at` on, at most to the end. */

/* So many of the character; NULL: they are not there. */
const char *markdown_skip_marks(const char *at, const char *end, char mark, size_t count);
/* Spaces and tabs. */
const char *markdown_skip_space(const char *at, const char *end);
/* A line's end, and what the next one has in front of its text: indentation, marks of quotations. NULL: no line ends there. */
const char *markdown_skip_line_end(const char *at, const char *end);
/* Up to the mark that ends it, escapes apart, and the mark; NULL: there is none. */
const char *markdown_skip_until(const char *at, const char *end, char mark);
/* ](address), ][name], ]; NULL: none of them. */
const char *markdown_skip_link_end(const char *at, const char *end);

/* Appends a text with a backslash in front of what would be read as notation behind what is already written. */
void markdown_escape(struct html_buffer *out, const char *text, size_t length);

#endif
