/* Walks through a part of an archive and finds its paragraphs, in an order that depends on nothing but the part: one that stands in
 * another, in a text box or a note, comes before that. Reading makes a message of each; writing walks through the part again, takes
 * the messages in the same order, and puts the paragraphs that were translated in their places. */
#ifndef ALIGND_OFFICE_WALK_H
#define ALIGND_OFFICE_WALK_H

#include "server/office/paragraph.h"

struct walk_part {
    struct html_bytes bytes; /* unpacked */
    const struct grammar *grammar;
    const char *language; /* of the translation, a BCP 47 code */
    /* True for the text of a paragraph that others refer to by its words. NULL: there is none. */
    bool (*keeps)(const void *owner, const struct paragraph *paragraph);
    const void *owner;
};

/* Adds the messages of a part, which need not outlive the call. Returns -1 with ERROR_INPUT, whose message names line and column,
 * or ERROR_MEMORY. */
int walk_read(const struct walk_part *part, struct html_builder *builder, struct arena *scratch, struct error *err);
/* Puts the part with its translations. messages: those of the part and of later ones, taken as they are read. bilingual: a
 * translation stands below its source. *accepted is set if tracked changes were accepted. Fails like walk_read. */
int walk_write(const struct walk_part *part, struct html_bytes *messages, bool bilingual, struct arena *arena,
               struct html_buffer *out, bool *accepted, struct error *err);

#endif
