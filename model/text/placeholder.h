/* What is not language and has to come through a translation byte for byte, found in text. */
#ifndef ALIGND_PLACEHOLDER_H
#define ALIGND_PLACEHOLDER_H

#include "model/text/segmenter.h"
#include <stdbool.h>
#include <stddef.h>

/* The next at or behind text[*at], moving *at behind it; false: there is none. text: valid UTF-8. Kinds:
 *   {name} {0} {a.b:>8} {{count}} {{ count }} ${name} %{name} #{name}   what stands in braces has no line break, alone no space
 *   %s %d %-5.2f %1$s %lld %@ %% %(total)s                              with no letter or digit behind, nor a digit before
 *   [X12X]                                                              capitals, digits, and if need be capitals
 *   https://example.com/a?b=c  www.example.com                          up to white space; what ends a sentence is not of it
 *   jane.doe@example.com */
bool placeholder_next(const char *text, size_t length, size_t *at, struct span *found);

/* What is held of a text: placeholders, or what else is treated as they are (model/guard.h). In order, none overlaps another. */
struct placeholders {
    struct span *all; /* [count] */
    size_t count;
};
/* Those that lie within this part of the text, as of that alone. In the arena. -1 with ERROR_MEMORY. */
int placeholders_within(const struct placeholders *held, struct span part, struct arena *arena, struct placeholders *out,
                        struct error *err);

#endif
