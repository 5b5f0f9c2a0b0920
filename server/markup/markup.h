/* This module converts markup to texts to translate, and back, with every tag in its place. It is
 * independent of HTTP and of models.
 *
 * A reader (read.c for HTML, xml.c for XML, build.c for other formats) turns a document into
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
 * submit button, ...) are segments, too.
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

/* ---- documents, segments and translations ---- */

struct piece;
struct piece_inset;

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

/* Reads XML, a document or a part of one, which outlives the html. Like markup_parse_html, but also
 * fails with ERROR_INPUT if tags do not nest or a declaration is not allowed. The message names the
 * line and the column. */
int markup_parse_xml(const char *text, size_t length, const struct xml_tags *tags,
                     struct arena *arena, struct markup *out, struct error *err);

/* Byte ranges of a segment's text and of its translation; target is the translation of source. */
struct markup_link {
    struct span source, target;
};

struct markup_translation {
    const char *text; /* [length] a segment is one line: a line end in it is written as a space */
    size_t length;
    const struct span
        *words; /* [word_count] of the text, in order; NULL: white space separates words */
    size_t word_count;
    struct markup_link *links; /* [link_count] in any order; markup_write sorts them */
    size_t link_count;
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

/* Where pieces were written that are not part of a translation's own text, in the order of the
 * output. */
struct markup_trace {
    struct arena *arena;
    struct markup_traced {
        size_t piece, at; /* a piece of the html; its first byte in the output */
    } * all;              /* [count] */
    size_t count, room;
};

/* A document that is written in parts, in the order of its pieces. It starts as {html,
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

/* ---- documents of other formats (build.c) ----
 *
 * A reader adds the content of its document piece by piece, and markup_write reassembles the
 * document with the translations. All bytes are borrowed and outlive the html. */

struct piece_builder {
    struct arena *arena;
    struct bytes document; /* if pieces are part of it, errors name its lines */
    size_t line;           /* errors name this line instead; 0: a line of the document */
    struct markup markup;
    size_t room, most;               /* most: limit for the pieces; 0: MARKUP_MAX_PIECES */
    uint32_t open[MARKUP_MAX_DEPTH]; /* [depth] pieces: elements that are open */
    size_t depth;
    bool tags; /* tags were added that piece_build must pair */
    enum error_code
        failed; /* ERROR_NONE, or ERROR_MEMORY or ERROR_INPUT, after which nothing more is added */
};

/* Adds bytes that stay as they are and end a segment. */
void piece_add_break(struct piece_builder *builder, struct bytes raw);
/* Adds words of a sentence. raw: their notation in the document, which is kept if the segment is
 * not translated. No-break spaces stay if both are the same bytes. */
void piece_add_text(struct piece_builder *builder, struct bytes text, struct bytes raw);
/* Adds bytes within a sentence that move as a whole. */
void piece_add_unit(struct piece_builder *builder, struct bytes raw);
/* Adds white space that stays as it is, which a space represents in the sentence. */
void piece_add_space(struct piece_builder *builder, struct bytes raw);
/* Adds a unit that another word represents in the sentence, such as a formula. */
void piece_add_word(struct piece_builder *builder, struct bytes word, struct bytes raw);
/* Adds a unit whose own word represents it: `code`. All three are written unchanged. */
void piece_add_code(struct piece_builder *builder, struct bytes before, struct bytes word,
                    struct bytes after);
/* Add the start and the end of an element around words. Return false without adding anything if too
 * many elements are open, no element is open, or the builder has failed. */
bool piece_add_open(struct piece_builder *builder, struct bytes raw);
bool piece_add_close(struct piece_builder *builder, struct bytes raw);
/* Adds the start of an element that may stand alone, as in a menu, such as a link. */
bool piece_add_link(struct piece_builder *builder, struct bytes raw);
/* Adds an end that markup.close writes as `replaced` if the words have changed. */
bool piece_add_close_or(struct piece_builder *builder, struct bytes raw, struct bytes replaced);
/* Adds the start of a part, such as a cue of subtitles or a line, which piece_add_close ends.
 * Adjacent parts share a segment, whose translation is divided among them in order, so that each
 * word goes to the part of its source words. The end's raw bytes separate the part from the next.
 */
void piece_add_part(struct piece_builder *builder);

/* Cuts the pieces into segments; every element must have been closed. escape NULL: translations are
 * written as they are. Fails like markup_parse_html. */
int piece_build(struct piece_builder *builder, markup_escape *escape, struct markup *out,
                struct error *err);

/* ---- marks in text (build.c) ----
 *
 * Text may contain marks: parts of a sentence that are meant for browsers and programs instead of
 * people, although the text is not an HTML document. Strings of user interfaces (PO, XLIFF, JSON),
 * subtitles and pasted text have them. server/documents/FORMATS.md has the rule ("Marks in text").
 */

enum mark_kind {
    MARK_TAG,   /* pieces_pair_tags decides what it becomes */
    MARK_UNIT,  /* stays as it is */
    MARK_SPACE, /* a reference to white space */
    MARK_TEXT,  /* a reference that is read as its character */
    MARK_BREAK, /* stays as it is and ends a sentence */
    MARK_OPEN,  /* surrounds words up to the next MARK_CLOSE */
    MARK_CLOSE,
};

enum { MARK_SHOWN_BYTES = 32 };

struct mark {
    size_t begin, end; /* bytes of the text */
    enum mark_kind kind;
    char shown[MARK_SHOWN_BYTES]; /* [shown_length] represents MARK_UNIT and MARK_TEXT in the
                                     sentence */
    size_t shown_length;
};

/* The functions that turn marks and the text between them into pieces. Members may be NULL: bytes
 * are then written as they are. */
struct marking {
    const void *owner; /* the caller's data */
    /* Returns the notation in the document of a mark or, without add_text, of text. */
    struct bytes (*written)(const struct marking *marking, struct bytes mark, struct arena *arena);
    void (*add_text)(const struct marking *marking, struct piece_builder *builder,
                     struct bytes text);
    /* Returns the length of a part of the text that begins at `at` and has no marks, or 0. */
    size_t (*skip)(const struct marking *marking, const char *at, const char *end);
};

/* A scan through a text, which starts as {text, length}. quoted: the text mentions marks instead of
 * having them, like text in HTML with "&lt;br&gt;"; all marks are then tags and units within the
 * sentence. */
struct mark_scan {
    const char *text; /* [length] */
    size_t length, at;
    bool quoted;
    const struct marking *marking; /* its `skip` is used; NULL: none */
    size_t close_begin, close_end; /* the end of a link that is open */
};
/* Finds the next mark at or after scan->at, and moves scan->at past it. Returns false at the end. A
 * scan takes linear time. */
bool mark_next(struct mark_scan *scan, struct mark *mark);

/* Returns the bytes of the reference that begins at `at`, or 0. *character: its character, or -1 if
 * it is unknown. */
size_t html_reference(const char *at, const char *end, int32_t *character);

/* Appends the pieces of a text. The text and its marks outlive the builder's html. */
void piece_add_marked(struct piece_builder *builder, struct bytes text,
                      const struct marking *marking);
/* True if piece_add_marked would find a mark. */
bool marks_are_in(struct bytes text);
/* True if two texts have the same tags, compared by name, in any order. references: compare all
 * other marks but MARK_TEXT, too. */
bool marks_same(struct bytes a, struct bytes b, bool references);

/* Like markup_parse_html for lines that are separate segments. If there are no marks or too many
 * pieces, only sets *marked to false. */
int marks_parse(const char *text, size_t length, struct arena *arena, struct markup *out,
                bool *marked, struct error *err);

/* ---- XML tag by tag (xml.c) ----
 *
 * xml_next reads the tags and texts of an XML document one after the other, each with its place, so
 * that a caller that rewrites the document can keep all other bytes. libxml2's reader does not
 * state the byte at which a tag begins, and a document may have millions of pieces. Nothing is
 * expanded or looked up: a document type declaration is refused or skipped as a whole. Memory does
 * not depend on the length; time is linear. */

enum xml_kind {
    XML_START, /* <name ...> */
    XML_END,   /* </name> */
    XML_EMPTY, /* <name .../> */
    XML_TEXT,  /* up to the next tag; with references */
    XML_CDATA, /* <![CDATA[...]]>: begin and end are those of its content */
    XML_OTHER, /* comments, instructions, a document type declaration */
};

struct xml_token {
    enum xml_kind kind;
    const char *begin, *end; /* in the document */
    struct bytes name;       /* of a tag, with its prefix */
};

struct xml_scan {
    const char *begin, *at, *end; /* the document; read up to `at` */
    struct budget *budget;        /* NULL: none */
    bool doctype; /* a document type declaration is skipped; otherwise it is refused */
    bool rooted;  /* the root was read */
    struct bytes open[MARKUP_MAX_DEPTH]; /* [depth] names of open elements */
    size_t depth;
};

/* Starts a scan of a document, which must outlive the scan. Skips a byte order mark. */
void xml_scan_begin(struct xml_scan *scan, struct bytes document, bool doctype,
                    struct budget *budget);
/* Returns 1 with the next token, 0 after the last, or -1 with ERROR_INPUT (the message names the
 * place, except for invalid UTF-8) or ERROR_MEMORY (the budget is used up). The depth includes the
 * element after XML_START, but not after XML_END. */
int xml_next(struct xml_scan *scan, struct xml_token *token, struct error *err);

/* Sets the undecoded value of an attribute, whose name may omit the prefix. Returns false if the
 * tag has no such attribute. */
bool xml_attribute(const struct xml_token *tag, const char *name, struct bytes *value);
struct xml_attribute {
    const char *begin, *end; /* with the white space before it */
    struct bytes name, value;
};
/* Reads the next attribute of a tag from *at, which is NULL at first. */
bool xml_next_attribute(const struct xml_token *tag, const char **at, struct xml_attribute *out);

/* Decodes a text, which then borrows from the document or is in the arena. Returns -1 with
 * ERROR_INPUT if a reference is unknown (the message names its place in the document), or
 * ERROR_MEMORY. */
int xml_decode(const char *document, const struct xml_token *token, struct arena *arena,
               struct bytes *out, struct error *err);

/* Returns the name without its prefix. */
struct bytes xml_local_name(struct bytes name);

/* Finds the first occurrence of a short text in the bytes, which may be long: the budget lets
 * others run in between. Returns NULL if the text is not found or the budget is used up. */
const char *xml_find(struct bytes bytes, const char *text, struct budget *budget);

#endif
