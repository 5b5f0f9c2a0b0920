/* This module decides where the inline elements of a segment go in its translation. */
#ifndef ALIGND_PLACE_H
#define ALIGND_PLACE_H

#include "server/markup/markup.h"

/* The place of an inline element in the translation of its segment. */
struct place_node {
    size_t piece, end_piece; /* a unit includes all pieces between them */
    size_t parent;
    size_t first, end;  /* words of the translation */
    size_t begin, past; /* bytes of the translation; equal if the node is a point between words */
    bool given;         /* the translation gives the place */
    bool unit, part, last;                   /* last: nothing follows in the element around it */
    bool space_before, space_after;          /* there is white space beside it in the source */
    bool word_before, word_after;            /* there is a letter or a digit beside it */
    bool inner_head, inner_tail, outer_tail; /* white space is at either end of the element's
                                                content, or follows the element */

    /* only place.c uses these */
    struct span source; /* bytes of the segment's text, without white space at either end */
    size_t need; /* the number of words that it must get: one if it had any, and at least as many as
                    its children need */
    size_t owed; /* the needs of its children that have no place yet */
    size_t free; /* the number of its words that no child has, without punctuation */
    bool kept;   /* stays as it was, because the translation has no word left for it or for the unit
                    around it */
};
/* Places the elements of a segment. Sets *nodes in the order of their start tags; the
 * first node is the whole segment. Returns the number of nodes, or 0 if memory runs out. */
size_t place_elements(const struct markup *markup, const struct markup_segment *segment,
                      const struct markup_translation *translation, struct arena *arena,
                      struct place_node **nodes);

/* True if the character at this byte is white space according to Unicode. */
static inline bool bytes_space_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_space(character_next(text, length, &at));
}

#endif
