/* The pieces of markup, and what is known of elements. Included by html*.c, and by
 * server/document/xliff* and format_md.c. */
#ifndef ALIGND_HTML_PIECE_H
#define ALIGND_HTML_PIECE_H

#include "server/html/html.h"
#include "server/html/html_buffer.h"
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
    uint32_t pair;          /* the other end of an element: an index of pieces */
    uint32_t begin, end;    /* in the segment's text; of a unit: the words that stand in for it */
    uint32_t source_length; /* of a text of another format: how it was written */
    const char *source;     /* [source_length]; NULL: its raw, escaped */
    uint8_t kind;           /* enum html_kind */
    bool plain;             /* raw is text, escaped when written; otherwise markup */
    bool part;              /* of PIECE_OPEN: it shares the segment with those beside it (html_build.h) */
    bool opaque, stands_in; /* of PIECE_OPEN: the element is a unit; its content is part of the segment's text */
};

enum {
    ELEMENT_BLOCK = 1 << 0,  /* ends segments */
    ELEMENT_VOID = 1 << 1,   /* has no content and no end tag */
    ELEMENT_OPAQUE = 1 << 2, /* not to be translated */
    ELEMENT_CODE = 1 << 3,   /* its content is for programs: no word of a sentence */
};

/* What is known of an element of this name, in lower case. */
unsigned html_element(const char *name);

/* Reads markup into html->pieces, which nest. As html_parse. */
int html_read(const char *markup, size_t length, struct arena *arena, struct html *html, struct error *err);

/* The same of XML. As html_parse_xml. */
int html_read_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *html,
                  struct error *err);

/* Pieces -> segments. html has its pieces. */
int html_cut(struct html *html, struct arena *arena, struct html *out, struct error *err);

/* HTML's white space. */
static inline bool html_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

#endif
