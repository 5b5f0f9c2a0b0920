/* This module plans edits of a translation that lacks signs of its source or has invented some
 * (model/text/signs.h). The words stay as the model wrote them. */
#ifndef ALIGND_MENDING_H
#define ALIGND_MENDING_H

#include "model/rendering.h"
#include "model/text/signs.h"

/* The signs of a sentence and of its translation, and those that differ. */
struct compared_signs {
    struct signs source, target;
    struct sign_difference difference;
};

/* A decoded sentence with an alignment, and its best translation. */
struct mending {
    const struct sentence *sentence;
    const char *source; /* the sentence's text, NUL-terminated */
    const struct rendering *translation;
    struct compared_signs signs;
    struct spans skip_source, skip_target; /* the parts that are left out of the comparison */
};

/* Plan edits for retelling_edit, in the arena: *edits [*count]. Both take time proportional to the
 * number of signs times the length. Return false if there are too many signs or memory is out.
 *
 * mending_beside: signs that the translation lacks go beside the words that are aligned with those
 * beside them in the source, and signs that it invented go. All others stay where they are, so that
 * signs in pairs may cross, or meet with nothing between.
 *
 * mending_in_order: all signs leave the translation and are put into it again, in the order of the
 * source, spaced as there, and as close to the words that are aligned with their own as that order
 * allows. Where words stand between two signs in the source, at least one does in the translation,
 * if it has enough of them. Nothing is lost or crossed, whatever the words are.
 *
 * mending_as_written: the same, with quotation marks in the forms of the source. Pairs of different
 * forms that cross there would nest if they were written alike. */
bool mending_beside(const struct mending *mending, struct arena *arena, struct edit **edits,
                    size_t *count);
bool mending_in_order(const struct mending *mending, struct arena *arena, struct edit **edits,
                      size_t *count);
bool mending_as_written(const struct mending *mending, struct arena *arena, struct edit **edits,
                        size_t *count);

/* Adds to the difference, in the arena, the signs of both texts that join words, as in he/she, but
 * in the translation words of which one belongs to another part of the source. Only signs that the
 * texts have equally often are looked at. Returns false if memory is out. */
bool mending_find_strangers(const struct mending *mending, struct arena *arena,
                            struct sign_difference *difference);

#endif
