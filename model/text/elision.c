#include "model/text/elision.h"
#include "model/text/character.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* French, Italian, Catalan. What is one word to its speakers stays one: aujourd'hui, quelqu'un, o'clock. */
static const char *const elided[] = {"l",   "d",     "j",      "m",      "t",      "s",     "n",     "c",
                                     "qu",  "jusqu", "lorsqu", "puisqu", "quoiqu", "un",    "gl",    "dell",
                                     "all", "dall",  "nell",   "sull",   "coll",   "quell", "quest", "v"};

static bool is_apostrophe(int32_t c) {
    return c == '\'' || c == 0x2019;
}

/* True if the first bytes of the word, which end before an apostrophe, are this in any case. */
static bool spells(const char *word, size_t length, const char *name) {
    size_t i = 0;
    for (; i < length && name[i]; i++)
        if (character_lower((unsigned char)word[i]) != name[i])
            return false;
    return i == length && !name[i];
}

size_t elision_length(const char *word, size_t length) {
    size_t at = 0, next = 0;
    while (next < length && !is_apostrophe(character_next(word, length, &next)))
        at = next;
    if (next == length)
        return 0;
    for (size_t i = 0; i < sizeof elided / sizeof *elided; i++)
        if (spells(word, at, elided[i]))
            return next;
    return 0;
}
