/* Markup -> texts to translate, and back, with every tag in its place. This module is independent of HTTP and of models.
 *
 * A reader (read.c for HTML, xml.c for XML, build.h for other formats) turns a document into pieces: tags, text, comments. Tags of
 * blocks, <br> and whatever is not translated separate the segments, which are runs of text with inline elements in them. The
 * caller translates the text of each segment and reports which words became which; html_write then puts each inline element around
 * the words that its own words became.
 *
 * Pieces nest for any markup: libxml2 ends what was left open and drops end tags without an element. HTML comes out in
 * one form: names of elements in lower case, values in quotes, "/>" after elements without content, characters instead of the
 * references that libxml2 knows, and "&amp;", "&lt;", "&gt;". Attributes keep their names, order and references. Time is linear in
 * the length of the markup.
 *
 * The values of alt, title, placeholder, aria-label and of a document's description are segments, too.
 *
 * Never translated: script, style, code, pre, textarea, template, svg, math, elements with translate="no" or class="notranslate",
 * and character references with unknown names. Inside a sentence such an element is a unit, which moves as a whole. */
#ifndef ALIGND_MARKUP_H
#define ALIGND_MARKUP_H

#include "model/translator.h"
#include <string.h>

enum {
    HTML_MAX_DEPTH = 256,      /* open elements: libxml2 takes time for each of them at every end tag */
    HTML_MAX_ATTRIBUTES = 256, /* attributes in a tag: libxml2 compares each with all others */
    HTML_MAX_PIECES = 1 << 17, /* a piece may be as little as four bytes of markup */
    HTML_MAX_BYTES = 1 << 29
};

/* ---- bytes ---- */

/* Bytes of a document, or made from them. */
struct html_bytes {
    const char *start; /* [length] */
    size_t length;
};

static inline struct html_bytes bytes_between(const char *begin, const char *end) {
    return (struct html_bytes){begin, (size_t)(end - begin)};
}
static inline bool bytes_are(struct html_bytes bytes, const char *text) {
    return bytes.length == strlen(text) && memcmp(bytes.start, text, bytes.length) == 0;
}
/* True if the text stands at `at`. */
static inline bool bytes_begin(const char *at, const char *end, const char *text) {
    size_t length = strlen(text);
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}
static inline bool bytes_same(struct html_bytes a, struct html_bytes b) {
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

/* True if the word is one of a list that spaces separate. */
bool bytes_among(struct html_bytes word, const char *list);

/* Bytes that grow in an arena. */
struct html_buffer {
    struct arena *arena;
    char *bytes; /* [length] and a NUL, once something was put */
    size_t length, capacity;
    bool failed; /* memory is out, and nothing more is added */
};

void html_put(struct html_buffer *buffer, const char *bytes, size_t length);
void html_put_string(struct html_buffer *buffer, const char *string);
/* Returns the bytes, or NULL with ERROR_MEMORY if the buffer has failed. */
char *html_take(const struct html_buffer *buffer, size_t *length, struct error *err);
/* Writes references for the given marks, which are some of "&<>\"". */
void html_put_escaped(struct html_buffer *buffer, const char *text, size_t length, const char *marks);

/* ---- documents ---- */

struct html_piece;
struct html_inset;

struct html_segment {
    const char *text; /* [length] plain text: references decoded, white space collapsed */
    size_t length;
    size_t first, end; /* its pieces; 0 if it is the value of an attribute */
};

/* The end of an inline element that is about to be written in a format other than HTML. */
struct html_end {
    size_t open, inside;  /* where its start tag, and the text after that, begin in the document so far */
    bool first;           /* its start tag directly follows that of its parent */
    int32_t next;         /* the character that follows: '*' for any other tag; 0 if the segment ends there */
    const char *written;  /* [written_length] how it ended in the source */
    const char *replaced; /* [replaced_length] how it ends if its text has changed */
    size_t written_length, replaced_length;
};
/* Writes the end, and may change what stands in the document from its start tag on. */
typedef void html_close(struct html_buffer *out, const struct html_end *end);
/* Appends text of a translation to the document, written so that it reads as text. */
typedef void html_escape(struct html_buffer *out, const char *text, size_t length);

struct html;
struct html_segment;
/* Writes what stands between a segment and its translation below it and, if `after` is set, what follows both. */
typedef void html_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool after);

struct html {
    struct html_piece *pieces; /* [piece_count] */
    size_t piece_count;
    struct html_segment *segments; /* [count] in order, followed by the values of attributes in their order */
    size_t count, values;
    struct html_inset *insets; /* [inset_count] values in tags that are rewritten, in the order of their pieces */
    size_t inset_count;
    /* html_write sets lang to this BCP 47 code (NULL: lang stays) where the document states its own language, and in elements that
     * state the language which is translated, `from` (NULL: unknown). */
    const char *language, *from;
    bool built; /* by build.h, for a format whose text is written by `escape` (NULL: as it is) */
    html_escape *escape;
    html_close *close; /* NULL: ends of elements are written as they were */
    /* Segments stay, and their translations are written below them; values of attributes stay, too. NULL: translations replace
     * their segments. */
    html_below *below;
};

/* Reads valid UTF-8. All results are in the arena. Returns -1 with ERROR_MEMORY, ERROR_LENGTH (HTML_MAX_BYTES or more), or
 * ERROR_INPUT if one of the limits above is exceeded. */
int html_parse(const char *markup, size_t length, struct arena *arena, struct html *out, struct error *err);

struct html_names {
    const char *const *all; /* [count] names of elements */
    size_t count;
};
/* How the elements of an XML document are treated. */
struct html_tags {
    struct html_names ignored;      /* not translated, like an element with translate="no" */
    struct html_names splitting;    /* end segments */
    struct html_names inline_names; /* never end segments */
    bool doctype;                   /* a document type declaration is kept; otherwise it is refused */
    bool outline; /* elements without text beside them end segments: children of an element that holds only elements */
};

/* Reads XML, a document or a part of one, which outlives the html. Like html_parse; ERROR_INPUT also if tags do not nest or a
 * declaration is not allowed. The message names the line. */
int html_parse_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *out,
                   struct error *err);

/* Byte ranges of a segment's text and of its translation: the second came from the first. */
struct html_link {
    struct span source, target;
};

struct html_translation {
    const char *text;
    size_t length;
    const struct span *words; /* [word_count] of the text, in order; NULL: white space separates words */
    size_t word_count;
    struct html_link *links; /* [link_count] in any order; html_write sorts them */
    size_t link_count;
};

/* True if html_write needs the words and links of the segment's translation: there is an element, a unit or a second part to be
 * placed in it. */
bool html_is_placed(const struct html *html, const struct html_segment *segment);

/* translations [html->count]; a segment whose translation has text NULL stays as it is. The result is NUL-terminated and in the
 * arena. Returns NULL with ERROR_MEMORY. */
char *html_write(const struct html *html, const struct html_translation *translations, struct arena *arena, size_t *length,
                 struct error *err);

#endif
