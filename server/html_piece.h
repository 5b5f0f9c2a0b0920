/* The pieces of markup, and the tags they come from. Included by html*.c only. */
#ifndef ALIGND_HTML_PIECE_H
#define ALIGND_HTML_PIECE_H

#include "server/html.h"
#include <stdint.h>

enum html_kind {
    PIECE_BREAK, /* verbatim, and the end of a segment */
    PIECE_RAW,   /* verbatim, within an element that is not translated */
    PIECE_UNIT,  /* verbatim, in a segment */
    PIECE_TEXT,
    PIECE_OPEN,  /* the start tag of an inline element */
    PIECE_CLOSE, /* its end */
};

struct html_piece {
    const char *raw; /* [length] */
    uint32_t length;
    uint32_t pair;          /* the other end of an element: an index of pieces */
    uint32_t begin, end;    /* in the segment's text; of a unit: the words that stand in for it */
    uint8_t kind;           /* enum html_kind */
    bool opaque, stands_in; /* of PIECE_OPEN: the element is a unit; its content is part of the segment's text */
};

enum {
    TAG_BLOCK = 1 << 0,  /* ends segments */
    TAG_VOID = 1 << 1,   /* has no content and no end tag */
    TAG_OPAQUE = 1 << 2, /* not to be translated */
    TAG_RAW = 1 << 3,    /* its content is text up to its end tag, whatever that text holds */
    TAG_BREAK = 1 << 4,  /* like a block, but within paragraphs: <br> */
    TAG_CELL = 1 << 5,   /* no end tag of something else ends it */
};

/* An element's start tag closes innermost blocks of its family and of no higher rank. */
enum tag_family { FAMILY_NONE, FAMILY_PARAGRAPH, FAMILY_ITEM, FAMILY_DEFINITION, FAMILY_TABLE, FAMILY_OPTION };

struct html_tag {
    const char *name; /* [name_length] as written */
    uint32_t name_length;
    unsigned flags;
    enum tag_family family;
    int rank;
    bool self_closing;
};

/* The start tag at text[at] ('<' and a letter). Returns where it ends, or SIZE_MAX: nowhere. Takes time for what it reads. */
size_t html_read_tag(const char *text, size_t length, size_t at, struct html_tag *tag);
/* The name at text[at], as tags and end tags have them, and what is known of it. */
void html_read_name(const char *text, size_t length, size_t at, struct html_tag *tag);
bool html_same_name(const struct html_tag *a, const struct html_tag *b);

/* The character reference at text[at] ('&'): its character, and *end behind it. -1: no reference. 0: one of unknown name. */
int32_t html_read_reference(const char *text, size_t length, size_t at, size_t *end);

/* HTML's white space. */
static inline bool html_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Makes room for count more items of this size: arrays that double in the arena. items [used of *capacity]. NULL: memory. */
void *html_reserve(struct arena *arena, void *items, size_t used, size_t *capacity, size_t count, size_t size);

#endif
