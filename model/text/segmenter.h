/* Text -> sentences, by ICU's sentence break rules with CLDR's list of abbreviations for the language; text -> words. */
#ifndef ALIGND_SEGMENTER_H
#define ALIGND_SEGMENTER_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stddef.h>

struct segmenter;

struct span {
    size_t begin, end; /* bytes, end exclusive */
};

/* language: BCP-47; one without rules of its own gets the general ones. Immutable after opening: thread-safe.
 * NULL with ERROR_FORMAT (not BCP-47), ERROR_FILE (ICU's data) or ERROR_MEMORY. */
struct segmenter *segmenter_open(const char *language, struct error *err);
void segmenter_free(struct segmenter *segmenter);

/* text: valid UTF-8, length bytes. Spans in order, without the white space around them; blank ones are left out. The end of a
 * line is the end of a sentence; an abbreviation (model/text/abbreviation.h) is none, and neither is an ordinal number with a full
 * stop (model/text/ordinal.h) before a letter or digit, in languages that write them so. -1 with ERROR_LENGTH (over INT_MAX bytes)
 * or ERROR_MEMORY. */
int segmenter_split(const struct segmenter *segmenter, const char *text, size_t length, struct arena *arena, struct span **spans,
                    size_t *count, struct error *err);

/* Words as ICU's word break rules (UAX 29) have them, punctuation marks among them, but that an elided article, pronoun or
 * conjunction with its apostrophe is a word of its own (J' aime; model/text/elision.h). White space is none. As segmenter_split. */
int segmenter_words(const struct segmenter *segmenter, const char *text, size_t length, struct arena *arena, struct span **spans,
                    size_t *count, struct error *err);

/* The whole text as one span without the white space around it; blank text: begin == end == length. White space: Unicode's
 * White_Space. */
struct span segmenter_trim(const char *text, size_t length);

#endif
