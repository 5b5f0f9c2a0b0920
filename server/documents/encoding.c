/* Subtitles are often in older encodings: those that tell themselves, and the one of Western Europe. */
#include "model/base/utf8.h"
#include "model/text/character.h"
#include "server/documents/document.h"
#include <strings.h>

enum { LOOKED_AT = 4096 /* bytes in which zeros tell UTF-16 without a mark */, LATIN_PARTS = 3 };

static const char windows_1252[] = "Windows-1252";

/* What the bytes 0x80 to 0x9f are; 0: nothing. */
static const uint16_t latin_marks[32] = {0x20ac, 0,      0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
                                         0x2039, 0x152,  0,      0x17d,  0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                                         0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0,      0x17e,  0x178};

/* ---- UTF-16 ---- */

enum order { ORDER_NONE, ORDER_LITTLE, ORDER_BIG };

static uint16_t unit_at(const unsigned char *bytes, enum order order) {
    return order == ORDER_LITTLE ? (uint16_t)(bytes[0] | bytes[1] << 8) : (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* By its mark, or by zeros in one half of its units: letters of ASCII, of which time lines are full. */
static enum order find_order(const unsigned char *bytes, size_t length) {
    size_t zeros[2] = {0}, pairs = (length < LOOKED_AT ? length : LOOKED_AT) / 2;
    bool utf32 = length > 3 && bytes[0] == 0xff && bytes[1] == 0xfe && bytes[2] == 0 && bytes[3] == 0;
    if (length < 2 || length % 2 != 0 || utf32)
        return ORDER_NONE;
    if (unit_at(bytes, ORDER_LITTLE) == 0xfeff)
        return ORDER_LITTLE;
    if (unit_at(bytes, ORDER_BIG) == 0xfeff)
        return ORDER_BIG;
    for (size_t i = 0; i < 2 * pairs; i++)
        zeros[i % 2] += bytes[i] == 0;
    if (3 * zeros[1] > pairs && zeros[0] == 0)
        return ORDER_LITTLE;
    return 3 * zeros[0] > pairs && zeros[1] == 0 ? ORDER_BIG : ORDER_NONE;
}

static int from_utf16(struct document *document, enum order order, struct arena *arena, struct error *err) {
    const unsigned char *bytes = (const unsigned char *)document->source, *end = bytes + document->length;
    char *text = arena_alloc(arena, document->length + document->length / 2 + 1, 1), *out = text;
    size_t line = 1;
    if (!text)
        return error_memory(err);
    for (bytes += unit_at(bytes, order) == 0xfeff ? 2 : 0; bytes < end; bytes += 2) {
        int32_t character = unit_at(bytes, order);
        bool first = character >= 0xd800 && character < 0xdc00, second = character >= 0xdc00 && character < 0xe000;
        if (first && end - bytes > 2) {
            int32_t low = unit_at(bytes + 2, order);
            second = low < 0xdc00 || low >= 0xe000;
            character = 0x10000 + (character - 0xd800) * 0x400 + (low - 0xdc00);
            bytes += 2;
        } else {
            second |= first;
        }
        if (second || character == 0)
            return error_set(err, ERROR_INPUT, "line %zu: it is not valid UTF-16", line);
        line += character == '\n';
        out += character_put(character, out);
    }
    document->source = text;
    document->length = (size_t)(out - text);
    return 0;
}

/* ---- Windows-1252 ---- */

/* Languages whose older files are in encodings that look like it. */
static bool has_other_encoding(const char *language) {
    static const char *const all[] = {"cs", "sk", "pl", "hu", "sl", "hr", "bs", "ro", "sq", "tr", "lt", "lv", "et", "vi",
                                      "ru", "uk", "bg", "sr", "mk", "be", "el", "he", "ar", "fa", "th", "ja", "zh", "ko"};
    for (size_t i = 0; language && i < sizeof all / sizeof *all; i++)
        if (bytes_are_language((struct html_bytes){language, strlen(language)}, all[i]))
            return true;
    return false;
}

/* Letters beyond ASCII are few among those of ASCII, and no sequence of bytes is UTF-8: a file that is broken is no other one. */
static bool is_latin(const char *text, size_t length) {
    size_t letters = 0, others = 0, sequences = 0;
    for (size_t at = 0; at < length;) {
        unsigned char c = (unsigned char)text[at];
        bool valid;
        if ((c < ' ' && !strchr("\t\n\r\f", c)) || c == 0 || (c >= 0x80 && c < 0xa0 && latin_marks[c - 0x80] == 0))
            return false;
        letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        others += c >= 0xc0;
        size_t bytes = c < 0x80 ? 1 : utf8_first(text + at, length - at, &valid);
        sequences += bytes > 1 && valid;
        at += bytes > 1 && valid ? bytes : 1;
    }
    return LATIN_PARTS * others <= letters && sequences == 0;
}

static int from_latin(struct document *document, struct arena *arena, struct error *err) {
    char *text = arena_alloc(arena, 3 * document->length + 1, 1), *out = text;
    if (!text)
        return error_memory(err);
    for (size_t i = 0; i < document->length; i++) {
        unsigned char c = (unsigned char)document->source[i];
        out += character_put(c >= 0x80 && c < 0xa0 ? latin_marks[c - 0x80] : c, out);
    }
    document->source = text;
    document->length = (size_t)(out - text);
    document_note(document, text, "encoding", "the file is no UTF-8 and was read as %s; its translation is UTF-8", windows_1252);
    return 0;
}

int document_decode(struct document *document, const char *language, struct arena *arena, struct error *err) {
    const char *text = document->source;
    if (!document->format->older_encodings || document->length >= HTML_MAX_BYTES)
        return 0;
    enum order order = find_order((const unsigned char *)text, document->length);
    if (order != ORDER_NONE)
        return from_utf16(document, order, arena, err);
    if (utf8_valid(text, document->length))
        return 0;
    if (!has_other_encoding(language) && is_latin(text, document->length))
        return from_latin(document, arena, err);
    size_t line = 1;
    for (size_t at = 0; at < document->length;) {
        bool valid;
        size_t bytes = utf8_first(text + at, document->length - at, &valid);
        if (!valid)
            break;
        line += text[at] == '\n';
        at += bytes;
    }
    return error_set(err, ERROR_INPUT,
                     "line %zu: it is not valid UTF-8, and does not look like UTF-16 or %s: save the file as UTF-8", line,
                     windows_1252);
}
