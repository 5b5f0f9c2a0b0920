/* Where the inline elements of a segment go in its translation. Included by html_*.c only. */
#ifndef ALIGND_HTML_PLACE_H
#define ALIGND_HTML_PLACE_H

#include "server/markup/html_piece.h"

struct node {
    size_t piece, end_piece; /* of a unit, all between is part of it */
    size_t parent;
    struct span source;   /* bytes of the segment's text, without white space around them */
    size_t first, end;    /* words of the translation */
    size_t begin, behind; /* the same in bytes; of a point, equal */
    size_t need;          /* words that it must get: one if there were some in it, and as many as the nodes in it must get */
    size_t owed;          /* the need of the nodes in it that have no place yet */
    size_t free;          /* words of its own that are none of theirs, punctuation not counted */
    bool unit, part, space_before, space_behind;
    bool kept; /* a unit because the translation has no word left for it, or within such a unit */
};

struct placer {
    const struct html *html;
    const struct html_segment *segment;
    const struct html_translation *translation;
    const struct span *words; /* [word_count] of the translation */
    size_t word_count;
    size_t *owner;      /* [word_count] the innermost node that has it so far */
    size_t *link_word;  /* [link_count] the word of each link's target */
    bool *linked;       /* [word_count] */
    bool *spoken;       /* [word_count] it is more than punctuation */
    uint32_t *covers;   /* [translation->length] the innermost node around each byte */
    struct node *nodes; /* [count] in the order of their start tags; the first is the whole segment */
    size_t count;
    size_t *candidates; /* [link_count] */
};

/* The parts of the segment, if it has any, get all words (html_part.c). -1: memory. */
int html_place_parts(struct placer *placer, struct arena *arena);

/* html, segment and translation are set: fills in the rest. -1: memory. */
int html_place(struct placer *placer, struct arena *arena);

static inline bool html_is_space_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_space(character_next(text, length, &at));
}

#endif
