/* This module cuts pieces into segments. */
#ifndef ALIGND_SEGMENT_H
#define ALIGND_SEGMENT_H

#include "server/markup/markup.h"

/* Cuts the pieces of `markup` into segments; *out is the markup with them. Fails like
 * markup_parse_html. Returns 0 or -1. */
int segment_cut(struct markup *markup, struct arena *arena, struct markup *out, struct error *err);
/* True if bytes [begin,end) have more than digits, marks and spaces, which are the same in all
 * languages. */
bool segment_has_letters(const char *text, size_t begin, size_t end);

/* True for one word, such as a name or a command, one sign, or a run that models read as one token,
 * without white space. */
bool segment_is_word(const char *text, size_t length);

/* True if there is nothing but white space. */
bool segment_is_blank(const char *text, size_t length);
/* Returns the length of the text's first part: white space around a no-break space (*blank), signs
 * that separate, or anything between these. */
size_t segment_next_part(const char *text, size_t length, bool *blank);

#endif
