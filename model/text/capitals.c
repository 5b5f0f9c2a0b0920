#include "model/text/capitals.h"
#include "model/text/character.h"
#include <string.h>

bool capitals_only(const char *text, size_t length) {
    size_t letters = 0;
    for (size_t at = 0; at < length;) {
        int32_t character = character_next(text, length, &at);
        if (character != character_upper(character))
            return false;
        letters += character != character_lower(character);
    }
    return letters >= CAPITALS_LEAST;
}

/* Writes a character in the place of one of `size` bytes, if it has as many. */
static void replace(char *place, size_t size, int32_t character) {
    char written[4];
    if (character_put(character, written) == size)
        memcpy(place, written, size);
}

void capitals_lower(char *text, size_t length) {
    bool first = true;
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next), lower = character_lower(character);
        if (character != lower && !first)
            replace(text + at, next - at, lower);
        first = first && character == lower;
    }
}

void capitals_raise(char *text, size_t length) {
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next), upper = character_upper(character);
        if (character != upper)
            replace(text + at, next - at, upper);
    }
}
