/* This module builds the pieces of a document, from which segments are cut. The readers of HTML and
 * XML make pieces themselves; the readers of other formats call the builder, and only few of them
 * look at pieces. */
#ifndef ALIGND_PIECE_H
#define ALIGND_PIECE_H

#include "server/markup/markup.h"

struct marking;

/* A reader adds the content of its document piece by piece, and markup_write reassembles the
 * document with the translations. All bytes are borrowed and outlive the markup. */

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

/* Appends the pieces of a text. The text and its marks outlive the builder's markup. */
void piece_add_marked(struct piece_builder *builder, struct bytes text,
                      const struct marking *marking);

#endif
