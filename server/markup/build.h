/* Pieces of formats other than HTML and XML. A reader adds what stands in its document, one piece after the other, and html_write
 * puts the document together again with the translations. All bytes are borrowed and outlive the html.
 *
 * Text may hold marks: parts of a sentence that are meant for browsers and programs and not for people, though the text itself is
 * no HTML document. Strings of interfaces (PO, XLIFF, JSON), subtitles and pasted text have them. The rule, which
 * server/documents/FORMATS.md describes:
 *
 *   <b>, </b>, <a href="x">, <0>, </0>   tags, if a start and an end of one name nest; a name begins with a letter or is a number
 *   <br>, <img ...>, <x/>                tags without an end: void elements of HTML, and tags that end in "/>"
 *   <p>, </b>, <file>                    tags without a partner: HTML names whose attributes all have values, and others without
 * any
 *   <!-- -->, <![CDATA[ ]]>, <? ?>       comments and the like
 *   &amp;, &#233;, &brandName;           references of at least two letters; &lt;b&gt; is a tag that is written with references
 *   `code`, ``code``                     code
 *   `text <url>`_, `text`_, :ref:`a <b>` links of reStructuredText, whose text is prose
 *
 * Everything else is text: "a < b", "<3", "5 > 3", "AT&T", "R&D &c.". */
#ifndef ALIGND_MARKUP_BUILD_H
#define ALIGND_MARKUP_BUILD_H

#include "server/markup/markup.h"

/* Fails with ERROR_INPUT and a message that names the line and the column of `at` in the document. Returns -1. */
__attribute__((format(printf, 4, 5))) int html_error_at(struct error *err, const char *document, const char *at, const char *format,
                                                        ...);

/* ---- pieces ---- */

struct html_builder {
    struct arena *arena;
    struct html_bytes document; /* errors name its lines, if the pieces are part of it */
    size_t line;                /* otherwise errors name this line; 0: none */
    struct html html;
    size_t room;
    uint32_t open[HTML_MAX_DEPTH]; /* [depth] pieces: elements that are open */
    size_t depth;
    bool tags;              /* tags were added that html_build must pair */
    enum error_code failed; /* ERROR_NONE, or ERROR_MEMORY or ERROR_INPUT, after which nothing more is added */
};

/* Bytes that stay as they are and end a segment. */
void html_add_break(struct html_builder *builder, struct html_bytes raw);
/* Words of a sentence. raw: their notation in the document, which is kept if the segment is not translated. */
void html_add_text(struct html_builder *builder, struct html_bytes text, struct html_bytes raw);
/* Bytes within a sentence that move as a whole. */
void html_add_unit(struct html_builder *builder, struct html_bytes raw);
/* A unit that another word represents in the sentence, such as a formula. */
void html_add_word(struct html_builder *builder, struct html_bytes word, struct html_bytes raw);
/* A unit whose own word represents it: `code`. All three are written unchanged. */
void html_add_code(struct html_builder *builder, struct html_bytes before, struct html_bytes word, struct html_bytes after);
/* The start and the end of an element around words. Return false without adding anything if too many elements are open, or if no
 * element is open. */
bool html_add_open(struct html_builder *builder, struct html_bytes raw);
bool html_add_close(struct html_builder *builder, struct html_bytes raw);
/* An end that html.close writes as `replaced` if the words have changed. */
bool html_add_close_or(struct html_builder *builder, struct html_bytes raw, struct html_bytes replaced);
/* The start and the end of a part, such as a cue of subtitles or a line. Adjacent parts share a segment of their own, and its
 * translation is cut among them in their order, each word where its own words stood. `raw` separates the part from the next. */
void html_add_part(struct html_builder *builder);
void html_end_part(struct html_builder *builder, struct html_bytes raw);

/* Cuts segments from what was added; every element must have been closed. escape NULL: translations are written as they are. Like
 * html_parse. */
int html_build(struct html_builder *builder, html_escape *escape, struct html *out, struct error *err);

/* ---- marks in text ---- */

enum html_mark_kind {
    MARK_TAG,   /* html_pair_tags decides what it becomes */
    MARK_UNIT,  /* stays as it is */
    MARK_SPACE, /* white space that is written as a reference */
    MARK_TEXT,  /* a reference that is read as its character */
    MARK_BREAK, /* stays as it is and ends a sentence */
    MARK_OPEN,  /* surrounds words up to the next MARK_CLOSE */
    MARK_CLOSE,
};

enum { MARK_SHOWN_BYTES = 32 };

struct html_mark {
    size_t begin, end; /* bytes of the text */
    enum html_mark_kind kind;
    char shown[MARK_SHOWN_BYTES]; /* [shown_length] what represents MARK_UNIT and MARK_TEXT in the sentence */
    size_t shown_length;
};

/* How marks and the text between them become pieces. Members may be NULL: bytes are then written as they are. */
struct html_marking {
    const void *owner; /* the caller's data */
    /* How a mark is written in the document. */
    struct html_bytes (*written)(const struct html_marking *marking, struct html_bytes mark, struct arena *arena);
    void (*add_text)(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text);
    /* Returns the bytes of something that begins at `at` and holds no marks, or 0. */
    size_t (*skip)(const struct html_marking *marking, const char *at, const char *end);
};

/* A scan through a text, which starts as {text, length}. quoted: the text mentions marks instead of having them, as HTML's own text
 * does in which "&lt;br&gt;" is written; all of them are tags and units within the sentence. */
struct html_mark_scan {
    const char *text; /* [length] */
    size_t length, at;
    bool quoted;
    const struct html_marking *marking; /* whose skip is used; NULL: none */
    size_t close_begin, close_end;      /* the end of a link that is open */
};
/* Finds the next mark at or after scan->at, and moves scan->at past it. Returns false at the end. A whole scan is linear in the
 * text. */
bool html_next_mark(struct html_mark_scan *scan, struct html_mark *mark);

/* Returns the bytes of the reference that begins at `at`, or 0. *character: its character, or -1 if it is unknown. */
size_t html_reference(const char *at, const char *end, int32_t *character);

/* Appends the pieces of a text. The text and its marks outlive the builder's html. */
void html_add_marked(struct html_builder *builder, struct html_bytes text, const struct html_marking *marking);
/* True if html_add_marked would find a mark. */
bool html_is_marked(struct html_bytes text);
/* True if two texts have the same marks in any order; tags are compared by name. references: compare these, too. */
bool html_same_marks(struct html_bytes a, struct html_bytes b, bool references);

/* Reads a text whose lines are separate segments, like html_parse. If it has no marks, *marked is false and nothing is read. */
int html_parse_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err);

#endif
