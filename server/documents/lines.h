/* Lines of text files, and how lines of plain text, whose sentences may run over line ends, become
 * pieces. */
#ifndef ALIGND_LINES_H
#define ALIGND_LINES_H

#include "server/markup/piece.h"
#include <stdbool.h>
#include <stddef.h>

struct line {
    const char *begin, *end; /* without its LF, CR LF or CR, or CR CR LF, which a program wrote
                                that made CR LF of each LF once more */
    const char *next;        /* where the next line begins */
    size_t number;           /* from 1; 0 before the first line */
};
/* Moves to the next line; after the last, returns false and leaves an empty line. At first, *line
 * is zeroed except for next, the begin of the document. */
bool lines_next(struct line *line, const char *end);
/* Returns the text of a line without ASCII white space at either end. */
struct bytes lines_trimmed(const struct line *line);

/* Returns the bytes of a bullet or similar mark, with the white space after it, before a line's
 * text. */
typedef size_t text_lead(const char *text, size_t length);
/* Adds plain text as pieces. Each line is a segment, except that a sentence may run over line ends,
 * as in wrapped text: its lines are parts of one segment, and the translation has line ends where
 * their words do. Not so in a list: three short lines or more without the end of a sentence.
 * marking: for the text of a line. */
void lines_add(struct piece_builder *builder, struct bytes text, text_lead *lead,
               const struct marking *marking);
/* A text_lead for the labels of a line in any language (layout_label). It finds nothing after white
 * space. */
size_t lines_label(const char *text, size_t length);
/* True if the last character ends a sentence, apart from white space, quotation marks and the like,
 * or the text is blank. */
bool lines_end_sentence(const char *text, size_t length);

/* An markup_escape that writes "&amp;", "&lt;" and "&gt;". */
void lines_escape_markup(struct bytes_buffer *out, const char *text, size_t length);

#endif
