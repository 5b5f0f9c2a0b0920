/* Markup -> texts to translate, and back with every tag in its place. Knows nothing of HTTP or of models.
 *
 * libxml2 reads the markup into pieces: tags, text, comments. Block-level tags, <br> and what is not to be translated separate the
 * segments, runs of text with inline elements in them. A segment's text goes through a translator, which also tells which words
 * became which; html_write then puts each inline element around the words that its own words became.
 *
 * The pieces always nest, whatever the markup: libxml2 ends what was left open and drops end tags without an element. They come
 * out in one form: names of elements in lower case, values in quotes, "/>" behind elements that have no content, in text characters
 * instead of the references that libxml2 knows, and "&amp;", "&lt;", "&gt;". Attributes keep their names, order and references,
 * whatever libxml2 thinks of them (html_attributes.h). Time is linear in the markup's length.
 *
 * Values of alt, title, placeholder, aria-label and of a document's description are segments, too.
 *
 * Never translated: script, style, code, pre, textarea, template, svg, math, what has translate="no" or class="notranslate", and
 * character references of unknown name. Inside a sentence such a thing is a unit: it moves as a whole. */
#ifndef ALIGND_HTML_H
#define ALIGND_HTML_H

#include "model/translator.h"

enum {
    HTML_MAX_DEPTH = 256,      /* elements open at once: libxml2 takes time for each at every end tag */
    HTML_MAX_ATTRIBUTES = 256, /* in a tag: libxml2 compares each with all others */
    HTML_MAX_PIECES = 1 << 17, /* tags, texts and comments: each takes a place of its own, and may be four bytes of markup */
    HTML_MAX_BYTES = 1 << 29
};

struct html_piece;
struct html_inset;
struct html_buffer;

struct html_segment {
    const char *text; /* [length] plain text: references decoded, white space collapsed */
    size_t length;
    size_t first, end; /* its pieces; of an attribute's value: 0 */
};

/* An inline element of another format whose end is about to be written. */
struct html_end {
    size_t open, inside;  /* where its start tag, and the text behind that, begin in the document so far */
    bool first;           /* its start tag stands right behind the one of its parent */
    int32_t next;         /* the character that follows: '*' for any other tag; 0: the segment ends there */
    const char *written;  /* [written_length] how it ended in the source */
    const char *replaced; /* [replaced_length] how it ends where its text is another one */
    size_t written_length, replaced_length;
};
/* Writes the end, and may change what stands in the document from its start tag on. */
typedef void html_close(struct html_buffer *out, const struct html_end *end);

struct html;
/* Writes what stands between a segment and its translation below it and, where behind is set, behind both. */
typedef void html_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool behind);

struct html {
    struct html_piece *pieces; /* [piece_count] */
    size_t piece_count;
    struct html_segment *segments; /* [count]: in order, then values of attributes in theirs */
    size_t count, values;
    struct html_inset *insets; /* [inset_count] what is written anew in tags, in the order of their pieces */
    size_t inset_count;
    /* What html_write sets lang to: BCP 47; NULL: it stays. It does where the document says its language, and in elements that say
     * that they are in the language which is translated, `from` (NULL: not known). */
    const char *language, *from;
    bool built; /* of another format (html_build.h), whose text is written by escape; NULL: as it is */
    void (*escape)(struct html_buffer *out, const char *text, size_t length);
    html_close *close; /* NULL: ends of elements are written as they were */
    /* Segments stay, and their translations are written below them; values of attributes stay, too. NULL: translations take their
     * segments' place. */
    html_below *below;
};

/* markup: valid UTF-8. All in the arena. -1 with ERROR_MEMORY, ERROR_INPUT (more than HTML_MAX_DEPTH elements are open at once, a
 * tag has more than HTML_MAX_ATTRIBUTES, or there are more than HTML_MAX_PIECES), or ERROR_LENGTH (HTML_MAX_BYTES and over). */
int html_parse(const char *markup, size_t length, struct arena *arena, struct html *out, struct error *err);

/* Names of elements. */
struct html_names {
    const char *const *all; /* [count] */
    size_t count;
};
/* What is said of XML's elements. */
struct html_tags {
    struct html_names ignored;      /* not translated, as what has translate="no" */
    struct html_names splitting;    /* end segments */
    struct html_names inline_names; /* never do */
    bool doctype;                   /* a document type's declaration stays as it is; otherwise it is refused */
    bool outline; /* so do elements beside which no text stands: children of an element that has none of its own, but elements */
};

/* The same of XML, a document or a part of one. ERROR_INPUT also where tags do not nest, or it has declarations that tags do not
 * allow; the message tells the line. The markup outlives the html. */
int html_parse_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *out,
                   struct error *err);

/* Words of a segment's text and of its translation, in bytes, of which the second came from the first. */
struct html_link {
    struct span source, target;
};

struct html_translation {
    const char *text;
    size_t length;
    const struct span *words; /* [word_count] of the text, in order; NULL: what stands between white space */
    size_t word_count;
    struct html_link *links; /* [link_count] in any order; html_write sorts them */
    size_t link_count;
};

/* translations [html->count]; one whose text is NULL leaves its segment as it is. NUL-terminated; all in the arena. NULL with
 * ERROR_MEMORY. */
char *html_write(const struct html *html, const struct html_translation *translations, struct arena *arena, size_t *length,
                 struct error *err);

#endif
