#include "model/text/ordinal.h"
#include "model/text/character.h"

#include <stdint.h>
#include <string.h>

static const char *const languages[] = {"bs", "cs", "da", "de", "dsb", "et", "eu", "fi", "fo", "gsw", "hr", "hsb", "hu",
                                        "is", "lb", "lv", "nb", "nn",  "no", "pl", "sh", "sk", "sl",  "sr", "tr"};

bool ordinal_has_stop(const char *language) {
    size_t length = strcspn(language, "-_");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (strlen(languages[i]) == length && strncmp(languages[i], language, length) == 0)
            return true;
    return false;
}

static size_t count_digits(const char *text, size_t end) {
    size_t digits = 0;
    while (digits < end && text[end - digits - 1] >= '0' && text[end - digits - 1] <= '9')
        digits++;
    return digits;
}

/* Up to so many of the letter before end. */
static size_t count_letters(const char *text, size_t end, char letter, size_t most) {
    size_t count = 0;
    while (count < most && count < end && text[end - count - 1] == letter)
        count++;
    return count;
}

/* Letters before end that spell a numeral, read from behind: I to III, with V before them or not; IV, IX; then up to three X. */
static size_t count_numeral(const char *text, size_t end) {
    size_t length = count_letters(text, end, 'I', 3), at = end - length;
    if (length == 0 && (count_letters(text, end, 'V', 1) || count_letters(text, end, 'X', 1)) &&
        count_letters(text, end - 1, 'I', 1))
        length = 2;
    else
        length += count_letters(text, at, 'V', 1);
    return length + count_letters(text, end - length, 'X', 3);
}

/* Nothing before it, or what may stand before a word: white space, a bracket, a dash; not 3. of 2.3. and 12:3. */
static bool is_word_begin(const char *text, size_t at) {
    if (at == 0)
        return true;
    int32_t before = character_previous(text, &at);
    return character_is_space(before) || (character_is_punctuation(before) && before != '.' && before != ',' && before != ':');
}

bool ordinal_ends(const char *text, size_t length) {
    if (length < 2 || text[length - 1] != '.')
        return false;
    size_t end = length - 1, digits = count_digits(text, end), word = digits > 0 ? digits : count_numeral(text, end);
    return word > 0 && digits <= 2 && is_word_begin(text, end - word);
}
