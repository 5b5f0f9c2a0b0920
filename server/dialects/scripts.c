/* This file hides ICU's transliterators. ICU names them by the scripts of Unicode, and languages
 * that are written in several scripts have codes of their own in ISO 15924. */
#include "server/dialects/scripts.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unicode/ustring.h>
#include <unicode/utrans.h>

enum {
    ID_BYTES = 64,
    CODE_LETTERS = 4,
    GROWTH = 10 /* a character of Han is a syllable of Latin */
};

/* What ICU names the scripts of a code when they are read, and when they are written. */
static const struct {
    const char *code, *read[4], *written;
} codes[] = {
    {"Jpan", {"Hira", "Kana", "Hani"}, "Hira"},
    {"Kore", {"Hang", "Hani"}, "Hang"},
    {"Hans", {"Hani"}, NULL},
    {"Hant", {"Hani"}, NULL},
};
static const char *const direct[] = {"Hans-Hant", "Hant-Hans"}; /* written as they are named */

static bool is_code(const char *code) {
    size_t letters = 0;
    while (isalpha((unsigned char)code[letters]))
        letters++;
    return letters == CODE_LETTERS && !code[letters];
}

/* Writes the name of the transliterator, or of several, one after the other. */
static void name_conversion(const char *from, const char *to, char id[ID_BYTES]) {
    size_t length = 0;
    snprintf(id, ID_BYTES, "%s-%s", from, to);
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        if (strcmp(id, direct[i]) == 0)
            return;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        to = strcmp(codes[i].code, to) == 0 && codes[i].written ? codes[i].written : to;
    snprintf(id, ID_BYTES, "%s-%s", from, to);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        for (size_t k = 0; strcmp(codes[i].code, from) == 0 && codes[i].read[k]; k++)
            length += (size_t)snprintf(id + length, ID_BYTES - length, "%s%s-%s",
                                       length > 0 ? "; " : "", codes[i].read[k], to);
}

int scripts_convert(const char *from, const char *to, struct bytes text, struct arena *arena,
                    const char **out, struct error *err) {
    char id[ID_BYTES];
    UChar name[ID_BYTES];
    UErrorCode status = U_ZERO_ERROR;
    UParseError where;
    bool valid = is_code(from) && is_code(to) && strcmp(from, to) != 0;
    if (valid) {
        name_conversion(from, to, id);
        u_charsToUChars(id, name, (int32_t)strlen(id) + 1);
    }
    UTransliterator *converter =
        valid ? utrans_openU(name, -1, UTRANS_FORWARD, NULL, 0, &where, &status) : NULL;
    if (!converter || U_FAILURE(status))
        return error_set(err, ERROR_INPUT, "there is no conversion from script %.20s to %.20s",
                         from, to);
    size_t room = GROWTH * text.length + ID_BYTES;
    UChar *units = arena_alloc(arena, room, sizeof *units);
    char *bytes = arena_alloc(arena, 3 * room + 1, 1);
    int32_t count = 0, limit, written = 0;
    if (units && bytes) {
        u_strFromUTF8(units, (int32_t)room, &count, text.start, (int32_t)text.length, &status);
        limit = count;
        utrans_transUChars(converter, units, &count, (int32_t)room, 0, &limit, &status);
        u_strToUTF8(bytes, (int32_t)(3 * room + 1), &written, units, limit, &status);
    }
    utrans_close(converter);
    if (!units || !bytes || U_FAILURE(status))
        return error_memory(err);
    *out = bytes;
    return 0;
}
