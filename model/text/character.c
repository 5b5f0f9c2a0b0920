/* Decoding and encoding of UTF-8; ICU has the properties. */
#include "model/text/character.h"
#include <unicode/uchar.h>
#include <unicode/uscript.h>

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

int32_t character_next(const char *text, size_t length, size_t *next) {
    unsigned char lead = (unsigned char)text[(*next)++];
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* smaller characters have a shorter form */
    size_t size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
    if (size == 0) /* no character begins so */
        return -1;
    int32_t character = size == 1 ? lead : lead & (0x7f >> size);
    for (size_t i = 1; i < size; i++) {
        if (*next == length || !is_continuation(text[*next]))
            return -1;
        character = character << 6 | (text[(*next)++] & 0x3f);
    }
    bool scalar = character >= least[size] && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
    return scalar ? character : -1;
}

int32_t character_previous(const char *text, size_t *end) {
    size_t length = *end, begin = length - 1;
    while (begin > 0 && length - begin < 4 && is_continuation(text[begin]))
        begin--;
    size_t next = begin;
    int32_t character = character_next(text, length, &next);
    bool whole = next == length;
    *end = whole ? begin : length - 1;
    return whole ? character : -1;
}

bool character_is_space(int32_t character) {
    return character >= 0 && u_isUWhiteSpace(character);
}

bool character_ends_line(int32_t character) {
    return character == '\n' || character == '\r' || character == 0x85 || character == 0x2028 || character == 0x2029;
}

bool character_is_punctuation(int32_t character) {
    return character >= 0 && (U_GET_GC_MASK(character) & (U_GC_P_MASK | U_GC_S_MASK)) != 0;
}

bool character_is_mark(int32_t character) {
    return character >= 0 && (U_GET_GC_MASK(character) & U_GC_P_MASK) != 0;
}

bool character_is_other(int32_t character) {
    return character < 0 || (U_GET_GC_MASK(character) & U_GC_C_MASK) != 0;
}

bool character_is_wide(int32_t character) {
    int32_t width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
    return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

bool character_is_spaced(int32_t character) {
    return character >= 0 && !character_is_space(character) && !character_is_punctuation(character) &&
           !character_is_wide(character);
}

size_t character_script(int32_t character) {
    UErrorCode status = U_ZERO_ERROR;
    UScriptCode script = character < 0 ? USCRIPT_COMMON : uscript_getScript(character, &status);
    bool own = U_SUCCESS(status) && script > USCRIPT_INHERITED && (int)script < CHARACTER_SCRIPTS && script != USCRIPT_UNKNOWN;
    return own ? (size_t)script : 0;
}

int32_t character_lower(int32_t character) {
    return u_tolower(character);
}

int32_t character_upper(int32_t character) {
    return u_toupper(character);
}

size_t character_put(int32_t character, char *to) {
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(leads[size] | character);
    return size;
}
