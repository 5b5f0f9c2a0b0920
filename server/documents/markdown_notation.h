/* How Markdown is written: what stands between texts, and texts so that they are read as such. Included by server/documents/ only.
 */
#ifndef ALIGND_DOCUMENT_MARKDOWN_NOTATION_H
#define ALIGND_DOCUMENT_MARKDOWN_NOTATION_H

#include "server/markup/build.h"
#include <stdbool.h>
#include <stddef.h>

/* An ASCII character that a backslash in front makes plain. */
bool markdown_is_mark(char c);
/* Bytes of "&name;" that begins there; 0: none does. */
size_t markdown_reference_length(const char *at, const char *end);
/* A reference of so many bytes that stands for "&". */
bool markdown_is_ampersand(const char *reference, size_t bytes);

/* Each skips what it names from `at` on, at most to the end. */

/* So many of the character; NULL: they are not there. */
const char *markdown_skip_marks(const char *at, const char *end, char mark, size_t count);
/* Spaces and tabs. */
const char *markdown_skip_space(const char *at, const char *end);
/* A line's end, and what the next one has in front of its text: indentation, marks of quotations. NULL: no line ends there. */
const char *markdown_skip_line_end(const char *at, const char *end);
/* Up to the mark that ends it, escapes apart, and the mark; NULL: there is none. */
const char *markdown_skip_until(const char *at, const char *end, char mark);
/* ](address), ][name], ][], ]; NULL: none of them. *by_text: one of the last two, by which the link's own text is its name. */
const char *markdown_skip_link_end(const char *at, const char *end, bool *by_text);

/* What other tools than cmark read, and what must stay as it is: formulas, marks of alerts, :shortcodes: and the like. */
struct markdown_kept {
    size_t begin, end; /* bytes of the source; equal: a line ends there that no sentence runs over */
    enum markdown_kept_kind {
        MARKDOWN_LINE, /* stands by itself */
        MARKDOWN_UNIT, /* within a sentence */
        MARKDOWN_NOUN  /* the same, and the sentence needs a word there */
    } kind;
};
struct markdown_kept_list {
    struct markdown_kept *all; /* [count] in order, side by side at most */
    size_t count, room;
};
/* Where text is written, as cmark tells. */
struct markdown_place {
    size_t begin, end; /* bytes of the source */
    size_t quotes;     /* it stands in so many quotations */
    bool paragraph;    /* not a heading or a cell */
    bool quotes_first; /* the first paragraph of a quotation */
};
/* Adds what is to be kept of a place behind those of former ones. Its end may be behind the place's. Time: linear in what it looks
 * at. -1: memory. */
int markdown_find_kept(const char *source, size_t length, const struct markdown_place *place, struct arena *arena,
                       struct markdown_kept_list *list);
/* Overwrites all of it, in a copy of the source, with a mark that means nothing to cmark; lines and quotations stay. */
void markdown_hide_kept(char *copy, const struct markdown_kept *kept, size_t quotes);

/* Appends a text with a backslash in front of what would be read as notation behind what is already written. */
void markdown_escape(struct html_buffer *out, const char *text, size_t length);
/* An html_close: a link by its text whose text has changed gets its name; marks of emphasis come to stand where they are read as
 * such, or become tags of HTML where there is no such place. */
void markdown_close(struct html_buffer *out, const struct html_end *end);

#endif
