/* This header has the pieces that readers produce, and the table of HTML's elements. Outside this
 * folder, only readers that use the pieces of another reader include it. */
#ifndef ALIGND_MARKUP_PIECE_H
#define ALIGND_MARKUP_PIECE_H

#include "server/markup/markup.h"
#include <ctype.h>

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

/* A tag in text whose partner pieces_pair_tags finds, with flags. */
enum piece_tag { TAG_NONE, TAG_START, TAG_END, TAG_ALONE };
enum {
    TAG_FIRM = 1 << 2 /* is a tag even without a partner */,
    TAG_QUOTED = 1 << 3 /* never leaves its sentence */
};

struct piece {
    const char *raw; /* [length] */
    uint32_t length;
    uint32_t pair;       /* the piece at the other end of the element */
    uint32_t begin, end; /* in the segment's text; of a unit: the words that represent it */
    union {
        uint32_t source_length; /* of a text or tag of another format: the length of `source` */
        uint32_t inset; /* if source is NULL: the first inset of the tag in markup->insets, counted
                           from 1; 0: none */
    };
    const char *source; /* [source_length] how it was written; NULL: raw, escaped. [shown_length] of
                           a unit: represents it */
    uint8_t kind;       /* enum piece_kind */
    uint8_t tag;        /* of PIECE_UNIT: enum piece_tag, until pieces_pair_tags */
    uint8_t shown_length; /* of PIECE_UNIT: bytes of source that represent it */
    uint8_t bond;         /* of PIECE_OPEN: enum piece_bond */
    bool plain : 1;       /* raw is text and escaped when it is written; otherwise it is markup */
    bool part : 1;        /* of PIECE_OPEN: a part, which shares its segment with adjacent parts
                             (piece_add_part) */
    bool opaque : 1;      /* of PIECE_OPEN: the element is a unit, */
    bool stands_in : 1;   /* which its content represents in the segment */
    bool blank : 1;       /* of PIECE_UNIT: white space */
    uint8_t notation : 2; /* enum piece_notation */
    bool yields : 1; /* of a blank unit: it replaces white space of the translation, and goes if
                        there is none */
};

/* The kind of an inline element: it decides whether neighbours share a sentence (segment.c). */
enum piece_bond {
    BOND_PHRASE,  /* formats words of a sentence: b, em, a run of a text processor */
    BOND_NEUTRAL, /* says nothing: span, unknown elements */
    BOND_LINK,    /* may stand alone: an entry of a menu */
};

/* A value in a start tag that is rewritten: a separate text, or the language of the text. */
struct piece_inset {
    uint32_t piece, begin, end; /* bytes of the piece's raw */
    bool language, root;        /* a language code; that of the whole document */
    const char *text;           /* [length] the decoded value */
    size_t length;
    uint32_t segment; /* of markup->segments */
};

/* ---- elements (read.c) ---- */

enum {
    ELEMENT_BLOCK = 1 << 0,  /* ends segments */
    ELEMENT_VOID = 1 << 1,   /* has no content and no end tag */
    ELEMENT_OPAQUE = 1 << 2, /* is not translated */
    ELEMENT_CODE =
        1 << 3, /* its content is meant for programs and represents no word of a sentence */
    ELEMENT_BESIDE =
        1 << 4, /* belongs to the text before it and represents no word of a sentence */
    ELEMENT_PHRASE = 1 << 5, /* BOND_PHRASE */
    ELEMENT_LINK = 1 << 6,   /* BOND_LINK */
};

/* Returns the bond of an inline element with these flags. */
static inline enum piece_bond piece_bond(unsigned flags) {
    return flags & ELEMENT_LINK ? BOND_LINK : flags & ELEMENT_PHRASE ? BOND_PHRASE : BOND_NEUTRAL;
}

/* Returns the flags of the element with this name, in lower case; 0: an inline element, or an
 * unknown one. */
unsigned html_element(const char *name);
/* True if HTML has an element of this name, in lower case. */
bool html_is_known(const char *name);
/* Returns the character of a reference such as "eacute", or -1 if HTML 4 has no such name. */
int32_t html_entity(const char *name);

/* An attribute as browsers read it. */
struct html_attribute {
    struct bytes name, value; /* as written; the value without quotation marks */
    bool has_value;
};
/* Reads the next attribute and moves *at past it. Returns false if the tag's '>' or the end of the
 * text is at *at. */
bool html_next_attribute(const char **at, const char *end, struct html_attribute *out);
/* Whether the attributes say translate="no" or class="notranslate", or else translate="yes". */
enum html_translate { TRANSLATE_AS_AROUND, TRANSLATE_NO, TRANSLATE_YES };
enum html_translate html_attributes_translate(const char *at, const char *end);

/* ---- steps between the modules ---- */

/* Read HTML and XML into markup->pieces. They fail like markup_parse_html and markup_parse_xml. */
int html_read(const char *text, size_t length, struct arena *arena, struct markup *markup,
              struct error *err);
int xml_read(const char *text, size_t length, const struct xml_tags *tags, struct arena *arena,
             struct markup *markup, struct error *err);

/* Sets the kind of tag of a unit that is a tag in text (build.c). */
void piece_note_tag(struct piece *piece, const char *text, size_t length, bool quoted);
/* Returns the length of the text's first part: white space around a no-break space (*blank), signs
 * that separate, or anything between these (segment.c). */
size_t markup_next_part(const char *text, size_t length, bool *blank);
/* Makes a piece of white space with a no-break space a unit, which replaces a space of the
 * translation. */
static inline void piece_set_blank(struct piece *piece) {
    piece->kind = PIECE_UNIT;
    piece->blank = piece->yields = true;
    piece->source = " ";
    piece->shown_length = 1;
}
/* Turns noted tags whose start and end nest into elements, and unpaired tags without TAG_FIRM into
 * text, in linear time. */
void pieces_pair_tags(struct piece *pieces, size_t count);

/* Cuts the pieces of html into segments (segment.c). */
int markup_cut(struct markup *markup, struct arena *arena, struct markup *out, struct error *err);
/* True if bytes [begin,end) have more than digits, marks and spaces, which are the same in all
 * languages. */
bool markup_has_letters(const char *text, size_t begin, size_t end);

/* The place of an inline element in the translation of its segment. */
struct place_node {
    size_t piece, end_piece; /* a unit includes all pieces between them */
    size_t parent;
    size_t first, end;  /* words of the translation */
    size_t begin, past; /* bytes of the translation; equal if the node is a point between words */
    bool unit, part, last;          /* last: nothing follows in the element around it */
    bool space_before, space_after; /* there is white space beside it in the source */
    bool word_before, word_after;   /* there is a letter or a digit beside it */
    bool inner_head, inner_tail,
        outer_tail; /* of an element: white space is at either end of its content, or follows it */

    /* only place.c uses these */
    struct span source; /* bytes of the segment's text, without white space at either end */
    size_t need; /* the number of words that it must get: one if it had any, and at least as many as
                    its children need */
    size_t owed; /* the needs of its children that have no place yet */
    size_t free; /* the number of its words that no child has, without punctuation */
    bool kept;   /* stays as it was, because the translation has no word left for it or for the unit
                    around it */
};
/* Places the elements of a segment (place.c). Sets *nodes in the order of their start tags; the
 * first node is the whole segment. Returns the number of nodes, or 0 if memory runs out. */
size_t markup_place(const struct markup *markup, const struct markup_segment *segment,
                    const struct markup_translation *translation, struct arena *arena,
                    struct place_node **nodes);

/* True for a character of a tag's name. */
static inline bool html_is_of_name(char c) {
    return isalnum((unsigned char)c) || (c && strchr("-_.:", c));
}
/* True if the character at this byte is white space according to Unicode. */
static inline bool bytes_space_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_space(character_next(text, length, &at));
}

#endif
