/* The notation of Markdown: separators between texts, and escapes that make text read as text. For markdown.c only. */
#ifndef ALIGND_DOCUMENT_MARKDOWN_NOTATION_H
#define ALIGND_DOCUMENT_MARKDOWN_NOTATION_H

#include "server/markup/build.h"

/* True for an ASCII character that a backslash before it makes plain. */
bool markdown_is_mark(char c);
/* The bytes of the "&name;" that begins there, or 0. */
size_t markdown_reference_length(const char *at, const char *end);
/* True if a reference of this many bytes stands for "&". */
bool markdown_is_ampersand(const char *reference, size_t bytes);

/* Each of these returns the end of what it skips from `at` on, at most `end`. */

/* So many of the character; NULL if they are not there. */
const char *markdown_skip_marks(const char *at, const char *end, char mark, size_t count);
/* Spaces and tabs. */
const char *markdown_skip_space(const char *at, const char *end);
/* The end of a line, and what the next one has before its text: indentation, marks of quotations. NULL if no line ends there. */
const char *markdown_skip_line_end(const char *at, const char *end);
/* Everything up to the mark, and the mark, escapes aside; NULL if there is none. */
const char *markdown_skip_until(const char *at, const char *end, char mark);
/* ](address), ][name], ][], ]; NULL if nothing of that kind follows. *by_text: it is one of the last two, so that the link's own
 * text is its name. */
const char *markdown_skip_link_end(const char *at, const char *end, bool *by_text);

/* Notation of tools other than cmark, which must stay unchanged: formulas, marks of alerts, :shortcodes: and similar. */
struct markdown_kept {
    size_t begin, end; /* bytes of the source; equal: a line ends there that no sentence runs over */
    enum markdown_kept_kind {
        MARKDOWN_LINE, /* stands by itself */
        MARKDOWN_UNIT, /* is a unit of a sentence */
        MARKDOWN_NOUN  /* is a unit that a word represents in the sentence */
    } kind;
};
struct markdown_kept_list {
    struct markdown_kept *all; /* [count] in order, without overlaps */
    size_t count, room;
};
/* Where the text of a block is written, as cmark reports. */
struct markdown_place {
    size_t begin, end; /* bytes of the source */
    size_t quotes;     /* the number of quotations around it */
    bool paragraph;    /* not a heading or a cell */
    bool quotes_first; /* the first paragraph of a quotation */
};
/* Adds what is kept in a place to that of earlier places. Its end may be after the place's. Time is linear in the bytes that it
 * examines. Returns -1 if memory runs out. */
int markdown_find_kept(const char *source, size_t length, const struct markdown_place *place, struct arena *arena,
                       struct markdown_kept_list *list);
/* Overwrites it, in a copy of the source, with a character that has no meaning for cmark; lines and quotations stay. */
void markdown_hide_kept(char *copy, const struct markdown_kept *kept, size_t quotes);

/* An html_escape: a backslash precedes what would otherwise be read as notation after what is already written. */
void markdown_escape(struct html_buffer *out, const char *text, size_t length);
/* An html_close: a link by its text whose text has changed gets its name; marks of emphasis move to where they are read as such, or
 * become HTML tags if there is no such place. */
void markdown_close(struct html_buffer *out, const struct html_end *end);

#endif
