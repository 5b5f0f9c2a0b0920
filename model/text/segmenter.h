/* Splits text into sentences by ICU's sentence break rules with CLDR's list of abbreviations for the language, and into words. */
#ifndef ALIGND_SEGMENTER_H
#define ALIGND_SEGMENTER_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stddef.h>

struct segmenter;

struct span {
    size_t begin, end; /* bytes, end exclusive */
};

/* language: BCP-47; a language without its own rules gets the general ones. A segmenter is immutable after opening and therefore
 * thread-safe. Returns NULL with ERROR_FORMAT (not BCP-47), ERROR_FILE (ICU's data) or ERROR_MEMORY. */
struct segmenter *segmenter_open(const char *language, struct error *err);
void segmenter_free(struct segmenter *segmenter);

/* text: valid UTF-8, length bytes. Gives spans in order, without the white space around them and without blank ones. The end of a
 * line is the end of a sentence. The full stop of an abbreviation is not, and neither is that of an ordinal number before a letter
 * or digit in languages that write them so. Returns -1 with ERROR_LENGTH (over INT_MAX bytes) or ERROR_MEMORY. */
int segmenter_split(const struct segmenter *segmenter, const char *text, size_t length, struct arena *arena, struct span **spans,
                    size_t *count, struct error *err);

/* Gives words by ICU's word break rules (UAX 29), punctuation marks among them. An elided article, pronoun or conjunction with its
 * apostrophe is a separate word (J' aime). White space is omitted. Otherwise the same as segmenter_split. */
int segmenter_words(const struct segmenter *segmenter, const char *text, size_t length, struct arena *arena, struct span **spans,
                    size_t *count, struct error *err);

/* The whole text as one span without the white space around it (Unicode's White_Space); for blank text begin == end == length. */
struct span segmenter_trim(const char *text, size_t length);

#endif
