/* This module converts markup to texts to translate, and back, with every tag in its place. It is
 * independent of HTTP and of models.
 *
 * A reader (read.c for HTML, xml.c for XML, piece.c for other formats) turns a document into
 * pieces: tags, text, comments. Block tags, <br> and untranslated content separate segments, which
 * are runs of text with inline elements. The caller translates the text of each segment and links
 * its words to those of the translation; markup_write then puts each inline element around the
 * words that are linked to its own.
 *
 * Pieces nest for any markup: libxml2 closes open elements and drops end tags without an element.
 * HTML is written in one form: names of elements in lower case, values in quotes, "/>" after
 * elements without content, characters instead of the references that libxml2 knows, and "&amp;",
 * "&lt;", "&gt;". Attributes keep their names, order and references. Time is linear in the length
 * of the markup.
 *
 * The values of attributes that people read (alt, title, placeholder, aria-label, the value of a
 * submit button, ...) and the names and descriptions of JSON-LD are segments, too.
 *
 * Translation skips script, style, code, pre, textarea, template, svg, math, elements with
 * translate="no" or class="notranslate", and character references with unknown names. Inside a
 * sentence such an element is a unit, which moves as a whole. */
#ifndef ALIGND_MARKUP_H
#define ALIGND_MARKUP_H

#include "model/translator.h"
#include "server/base/bytes.h"

enum {
    MARKUP_MAX_DEPTH = 256,      /* open elements: libxml2 examines each of them at every end tag */
    MARKUP_MAX_ATTRIBUTES = 256, /* attributes in a tag: libxml2 compares each with all others */
    MARKUP_MAX_PIECES = 1 << 17, /* a piece may be as little as four bytes of markup */
    MARKUP_MAX_BYTES = 1 << 29
};

/* ---- pieces ---- */

enum piece_kind {
    PIECE_BREAK, /* ends a segment: a block's tag, a line break, a declaration */
    PIECE_RAW,   /* within an element that is not translated */
    PIECE_UNIT,  /* stays unchanged within a segment */
    PIECE_TEXT,
    PIECE_OPEN,  /* the start tag of an inline element */
    PIECE_CLOSE, /* its end tag */
};

/* How the translations of a segment are written, by its first piece, in a document of several
 * notations. */
enum piece_notation {
    PIECE_BY_FORMAT, /* by markup.escape */
    PIECE_ESCAPED,
    PIECE_AS_IT_IS /* as they are; markup.close finishes them */
};

struct piece {
    const char *raw; /* [length] */
    uint32_t length;
    uint32_t pair;       /* the piece at the other end of the element */
    uint32_t begin, end; /* in the segment's text; a unit has the words that represent it */
    union {
        uint32_t source_length; /* in a text or tag of another format than HTML */
        uint32_t inset; /* if source is NULL: the first inset of the tag in markup->insets, counted
                           from 1; 0: none */
    };
    const char *source; /* [source_length] how it was written; NULL: raw, escaped. [shown_length] of
                           a unit: represents it */
    uint8_t kind;       /* enum piece_kind */
    uint8_t tag;        /* PIECE_UNIT: enum mark_tag, until marks_pair_tags */
    uint8_t shown_length; /* PIECE_UNIT: this many bytes of source represent it */
    uint8_t bond;         /* PIECE_OPEN: enum piece_bond */
    bool plain : 1;       /* raw is text and escaped when it is written; otherwise it is markup */
    bool part : 1;        /* PIECE_OPEN: a part, which shares its segment with adjacent parts
                             (piece_add_part) */
    bool opaque : 1;      /* PIECE_OPEN: the element is a unit, */
    bool stands_in : 1;   /* which its content represents in the segment */
    bool blank : 1;       /* PIECE_UNIT: white space */
    uint8_t notation : 2; /* enum piece_notation */
    bool yields : 1;      /* a blank unit replaces white space of the translation, and goes if
                             there is none */
};

/* The kind of an inline element, which decides whether neighbours share a sentence. */
enum piece_bond {
    BOND_PHRASE,  /* formats words of a sentence: b, em, a run of a text processor */
    BOND_NEUTRAL, /* says nothing: span, unknown elements */
    BOND_LINK,    /* may stand alone: an entry of a menu */
};

/* A value in a start tag that is rewritten: a separate text, or the language of the text. */
struct piece_inset {
    uint32_t piece, begin, end; /* bytes of the piece's raw */
    bool language, root;        /* a language code; that of the whole document */
    bool json;                  /* a string of JSON-LD */
    const char *text;           /* [length] the decoded value */
    size_t length;
    uint32_t segment; /* its index in markup->segments */
};

/* True if the piece is text with white space at this end. */
static inline bool piece_has_space(const struct piece *piece, bool head) {
    return piece->kind == PIECE_TEXT && piece->length > 0 &&
           byte_is_space(piece->raw[head ? 0 : piece->length - 1]);
}

/* Makes a piece of white space with a no-break space a unit, which replaces a space of the
 * translation. */
static inline void piece_set_blank(struct piece *piece) {
    piece->kind = PIECE_UNIT;
    piece->blank = piece->yields = true;
    piece->source = " ";
    piece->shown_length = 1;
}

/* ---- documents, segments and translations ---- */

struct markup_segment {
    const char *text; /* [length] plain text: references decoded, white space collapsed */
    size_t length;
    size_t first, end; /* its pieces [first,end); both 0 if it is the value of an attribute */
};

/* The end of an inline element that is about to be written in a format other than HTML. */
struct markup_end {
    size_t open,
        inside; /* where its start tag, and the text after that, begin in the document so far */
    bool first; /* its start tag directly follows that of its parent */
    int32_t
        next; /* the character that follows: '*' for any other tag; 0 if the segment ends there */
    const char *written;  /* [written_length] the end in the source */
    const char *replaced; /* [replaced_length] the end if its text has changed */
    size_t written_length, replaced_length;
};
/* Writes the end, and may change the output from the element's start tag on. */
typedef void markup_close(struct bytes_buffer *out, const struct markup_end *end);
/* Appends text of a translation to the document, written so that it reads as text. */
typedef void markup_escape(struct bytes_buffer *out, const char *text, size_t length);

struct markup;
/* Writes the separator between a segment and its translation below it and, if `after` is set, the
 * bytes that follow both. */
typedef void markup_below(struct bytes_buffer *out, const struct markup *markup,
                          const struct markup_segment *segment, bool after);

struct markup {
    struct piece *pieces; /* [piece_count] */
    size_t piece_count;
    struct markup_segment
        *segments; /* [count] in order, followed by the values of attributes in their order */
    size_t count, values;
    struct piece_inset
        *insets; /* [inset_count] values in tags that are rewritten, in the order of their pieces */
    size_t inset_count;
    /* markup_write sets lang to this BCP 47 code (NULL: lang stays) where the document states its
     * language, and in elements whose lang is the source language, `from` (NULL: unknown). */
    const char *language, *from;
    bool units_part; /* an element without content that stands between two words without white space
                        separates them */
    bool built;  /* made by piece_build, for a format whose text is written by `escape` (NULL: as it
                    is) */
    bool spaced; /* tabs and several spaces side by side within a text are columns, and stay */
    markup_escape *escape;
    markup_close *close; /* NULL: ends of elements are written as they were */
    /* Segments stay, and their translations are written below them; values of attributes stay, too.
     * NULL: translations replace their segments. */
    markup_below *below;
    const struct document_spans
        *spans; /* the document is written from these (server/documents/spans.h), */
    const struct office_archive
        *archive; /* or from this (server/office); both NULL: from all pieces */
};

/* Reads valid UTF-8. All results are in the arena. Returns -1 with ERROR_MEMORY, ERROR_LENGTH
 * (MARKUP_MAX_BYTES or more), or ERROR_INPUT if one of the limits above is exceeded. */
int markup_parse_html(const char *text, size_t length, struct arena *arena, struct markup *out,
                      struct error *err);

struct xml_names {
    const char *const *all; /* [count] names of elements */
    size_t count;
};
/* The treatment of the elements of an XML document. */
struct xml_tags {
    struct xml_names ignored;      /* not translated, like an element with translate="no" */
    struct xml_names splitting;    /* end segments */
    struct xml_names inline_names; /* never end segments */
    bool doctype; /* a document type declaration is kept; otherwise it is refused */
    bool outline; /* elements without text beside them end segments: children of an element that
                     holds only elements */
};

/* Reads XML, a document or a part of one, which outlives the markup. Like markup_parse_html, but
 * also fails with ERROR_INPUT if tags do not nest or a declaration is not allowed. The message
 * names the line and the column. */
int markup_parse_xml(const char *text, size_t length, const struct xml_tags *tags,
                     struct arena *arena, struct markup *out, struct error *err);

/* Like markup_parse_html for lines that are separate segments. If there are no marks or too many
 * pieces, only sets *marked to false. */
int markup_parse_marked(const char *text, size_t length, struct arena *arena, struct markup *out,
                        bool *marked, struct error *err);

/* Byte ranges of a segment's text and of its translation; target is the translation of source. */
struct markup_link {
    struct span source, target;
};

/* A place that is given to an inline element or a unit, by its first piece: bytes of the
 * translation. A unit has no words in the translation, so that both ends are the same. */
struct markup_placed {
    size_t piece, parent; /* parent: the index of the element around it + 1; 0: none */
    size_t begin, past;
};

struct markup_translation {
    const char *text; /* [length] a segment is one line: a line end in it is written as a space */
    size_t length;
    const struct span
        *words; /* [word_count] of the text, in order; NULL: white space separates words */
    size_t word_count;
    struct markup_link *links; /* [link_count] in any order; markup_write sorts them */
    size_t link_count;
    const struct markup_placed *placed; /* [placed_count] in the order of their begins; NULL: words
                                           and links decide */
    size_t placed_count;
    bool lossy; /* it is known to lack something that its source has: signs, amounts */
};

/* True if markup_write needs the words and links of the segment's translation, because it must
 * place an element, a unit or a second part. */
bool markup_is_placed(const struct markup *markup, const struct markup_segment *segment);

/* Writes the document with the translations [markup->count]; a segment whose translation has text
 * NULL or no text stays as it is. Returns a NUL-terminated string in the arena, or NULL with
 * ERROR_MEMORY. */
char *markup_write(const struct markup *markup, const struct markup_translation *translations,
                   struct arena *arena, size_t *length, struct error *err);

/* Where a byte of a segment's text, or of its translation, stands in a document: bytes [begin,end),
 * such as those of a reference, or of the unit that it is part of. end 0: it does not stand there.
 */
struct markup_place {
    uint32_t begin, end;
};
/* Finds the texts of the markup's segments in the HTML that it was read from. Returns the places
 * [markup->count][length of the segment], all in the arena; NULL if memory runs out. Values of
 * attributes have none. Time is linear in the length of the HTML. */
struct markup_place **markup_find_places(const struct markup *markup, const char *html,
                                         size_t length, struct arena *arena);
/* Like markup_write, for HTML, and sets the places of the translations' bytes:
 * places [markup->count], each NULL or zeroed [length of the translation]. */
char *markup_write_places(const struct markup *markup,
                          const struct markup_translation *translations,
                          struct markup_place *const *places, struct arena *arena, size_t *length,
                          struct error *err);

/* Where pieces were written that are not part of a translation's own text, in the order of the
 * output. */
struct markup_trace {
    struct arena *arena;
    struct markup_traced {
        size_t piece, at; /* a piece of the markup; its first byte in the output */
    } * all;              /* [count] */
    size_t count, room;
};

/* A document that is written in parts, in the order of its pieces. It starts as {markup,
 * translations}; the output and the trace may change from part to part. */
struct markup_writing {
    const struct markup *markup;
    const struct markup_translation *translations; /* [markup->count] */
    struct bytes_buffer *out;
    struct markup_trace *trace; /* NULL: not wanted */
    bool lossy;                 /* a translation of the last part was */
    size_t segment;             /* the next one */
};

/* Appends the pieces [first,end) of a document that is not written below its source, with their
 * translations; no segment runs over an end. Returns true if there is a translation among them. If
 * memory runs out, the output has failed. */
bool markup_write_pieces(struct markup_writing *writing, size_t first, size_t end);

/* Fails with ERROR_INPUT and a message that names the line and the column of `at` in the document.
 * Returns -1. */
__attribute__((format(printf, 4, 5))) int markup_error_at(struct error *err, const char *document,
                                                          const char *at, const char *format, ...);

#endif
