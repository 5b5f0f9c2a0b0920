/* Where the inline elements of a segment go in its translation: the interface of place.c, for write.c only. */
#ifndef ALIGND_MARKUP_PLACE_H
#define ALIGND_MARKUP_PLACE_H

#include "server/markup/piece.h"

struct node {
    size_t piece, end_piece; /* a unit includes all pieces between them */
    size_t parent;
    struct span source; /* bytes of the segment's text, without white space at either end */
    size_t first, end;  /* words of the translation */
    size_t begin, past; /* the same in bytes; equal if the node is a point between words */
    size_t need;        /* words that it must get: one if it had any, and at least as many as its children need */
    size_t owed;        /* needs of its children that have no place yet */
    size_t free;        /* its words that no child has, punctuation not counted */
    bool unit, part, space_before, space_after;
    bool kept; /* stays as it was, because the translation has no word left for it or for the unit around it */
};

struct placer {
    const struct html *html;
    const struct html_segment *segment;
    const struct html_translation *translation;
    const struct span *words; /* [word_count] of the translation */
    size_t word_count;
    size_t *owner;      /* [word_count] the innermost node that has the word so far */
    size_t *link_word;  /* [link_count] the word of each link's target */
    bool *linked;       /* [word_count] */
    bool *spoken;       /* [word_count] the word is more than punctuation */
    uint32_t *covers;   /* [translation->length] the innermost node around each byte */
    struct node *nodes; /* [count] in the order of their start tags; the first is the whole segment */
    size_t count;
    size_t *candidates; /* [link_count] */
};

/* The caller sets html, segment and translation; the rest is filled in. Returns -1 if memory runs out. */
int html_place(struct placer *placer, struct arena *arena);

static inline bool html_is_space_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_space(character_next(text, length, &at));
}

#endif
