/* The pieces of markup, and what is known of elements. Included by html*.c, and by
 * server/documents/xliff* and format_md.c. */
#ifndef ALIGND_HTML_PIECE_H
#define ALIGND_HTML_PIECE_H

#include "server/markup/html.h"
#include "server/markup/html_buffer.h"
#include <stdint.h>

enum html_kind {
    PIECE_BREAK, /* the end of a segment: a block's tag, a line break, a declaration */
    PIECE_RAW,   /* within an element that is not translated */
    PIECE_UNIT,  /* as it is, in a segment */
    PIECE_TEXT,
    PIECE_OPEN,  /* the start tag of an inline element */
    PIECE_CLOSE, /* its end */
};

struct html_piece {
    const char *raw; /* [length] */
    uint32_t length;
    uint32_t pair;       /* the other end of an element: an index of pieces */
    uint32_t begin, end; /* in the segment's text; of a unit: the words that stand in for it */
    union {
        uint32_t source_length; /* of a text or tag of another format: how it was written */
        uint32_t inset;         /* where source is NULL: its first one in html->insets, from 1; 0: it has none */
    };
    const char
        *source;  /* [source_length]; NULL: its raw, escaped. Of a unit with shown_length: what the segment's text has for it */
    uint8_t kind; /* enum html_kind */
    bool plain;   /* raw is text, escaped when written; otherwise markup */
    bool part;    /* of PIECE_OPEN: it shares the segment with those beside it (html_build.h) */
    bool opaque, stands_in; /* of PIECE_OPEN: the element is a unit; its content is part of the segment's text */
    bool blank;             /* of PIECE_UNIT: it is white space */
    uint8_t tag;            /* of PIECE_UNIT: enum html_tag, until html_pair_marks */
    uint8_t shown_length;   /* of PIECE_UNIT: bytes of source that stand in for it */
};

/* A tag in text, whose other end is looked for (html_marks.h). */
enum html_tag { TAG_NONE, TAG_START, TAG_END, TAG_ALONE };
/* What else is known of it. */
enum { TAG_FIRM = 1 << 2 /* a tag even without its other end */, TAG_QUOTED = 1 << 3 /* it is inside a sentence whatever it is */ };

/* A value in a start tag that is written anew: a text of its own, or the language of the text. */
struct html_inset {
    uint32_t piece, begin, end; /* bytes of its raw */
    bool language, root;        /* it is a language's code; that of the whole document */
    const char *text;           /* [length] what it says */
    size_t length;
    uint32_t segment; /* of html->segments */
};

/* Numbers and marks alone are the same in all languages. */
bool html_has_letters(const char *text, size_t begin, size_t end);

enum {
    ELEMENT_BLOCK = 1 << 0,  /* ends segments */
    ELEMENT_VOID = 1 << 1,   /* has no content and no end tag */
    ELEMENT_OPAQUE = 1 << 2, /* not to be translated */
    ELEMENT_CODE = 1 << 3,   /* its content is for programs: no word of a sentence */
};

/* What is known of an element of this name, in lower case. */
unsigned html_element(const char *name);
/* HTML has an element of this name, in lower case. */
bool html_is_known(const char *name);
/* The character of "eacute"; -1: HTML 4 has no such name. */
int32_t html_entity(const char *name);

/* Reads markup into html->pieces, which nest. As html_parse. */
int html_read(const char *markup, size_t length, struct arena *arena, struct html *html, struct error *err);

/* The same of XML. As html_parse_xml. */
int html_read_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *html,
                  struct error *err);

/* Tells of a unit that is a tag in text what kind it is. */
void html_note_tag(struct html_piece *piece, const char *text, size_t length, bool quoted);

/* Tags among the pieces [first,end): those whose start and end nest become elements, and what is none after all becomes text. Time
 * is linear in the pieces. */
void html_pair_marks(struct html_piece *pieces, size_t first, size_t end);

/* Pieces -> segments. html has its pieces. */
int html_cut(struct html *html, struct arena *arena, struct html *out, struct error *err);

/* HTML's white space. */
static inline bool html_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

#endif
