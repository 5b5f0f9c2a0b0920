/* A piece of XML -> pieces that nest. Tags stay byte for byte as they are; nothing is looked up or expanded, so that time and
 * memory are linear in the markup's length: a reference that is not of XML's own five or a number is a unit, as it is. */
#include "model/base/utf8.h"
#include "server/markup/html_piece.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_SHOWN = 40, REFERENCE_BYTES = 40, UTF8_BYTES = 4 };

/* A name in the markup. */
struct name {
    const char *text;
    size_t length;
};

struct element {
    struct name name;
    uint32_t piece;
    bool content; /* text or an element was in it */
};

struct reader {
    const struct html_tags *tags;
    const char *begin, *at, *end; /* the markup; at: not read yet */
    struct arena *arena;
    struct html_piece *pieces;
    size_t count, capacity;
    struct element open[HTML_MAX_DEPTH];
    size_t depth;
    size_t opaque;           /* the depth of the outermost open element that is not translated; 0: none */
    bool text_at_top;        /* text that is not blank stands outside of all elements */
    struct html_buffer text; /* since the last piece */
    struct error *err;
};

/* ---- errors ---- */

static int refuse(struct reader *reader, const char *at, const char *what, struct name name) {
    struct utf8_place place = utf8_place(reader->begin, at);
    int shown = (int)utf8_clip(name.text, name.length, NAME_SHOWN);
    return error_set(reader->err, ERROR_INPUT, "line %zu, column %zu: %s%s%.*s", place.line, place.column, what,
                     shown > 0 ? " " : "", shown, name.text ? name.text : "");
}

static int refuse_most(struct reader *reader, const char *at, const char *what, int most, const char *behind) {
    struct utf8_place place = utf8_place(reader->begin, at);
    return error_set(reader->err, ERROR_INPUT, "line %zu, column %zu: %s %d%s", place.line, place.column, what, most, behind);
}

/* ---- pieces ---- */

/* Bytes of the markup, or decoded text in the arena. */
static int add(struct reader *reader, enum html_kind kind, const char *bytes, size_t length) {
    if (reader->count == HTML_MAX_PIECES)
        return refuse_most(reader, reader->at, "there are more than", HTML_MAX_PIECES, " tags, texts and comments");
    struct html_piece *pieces =
        arena_grow(reader->arena, reader->pieces, reader->count, &reader->capacity, 1, sizeof *reader->pieces);
    if (!pieces)
        return error_memory(reader->err);
    reader->pieces = pieces;
    pieces[reader->count++] = (struct html_piece){.raw = bytes,
                                                  .length = (uint32_t)length,
                                                  .kind = (uint8_t)(reader->opaque ? PIECE_RAW : kind),
                                                  .plain = kind == PIECE_TEXT};
    return 0;
}

static bool is_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!html_is_space(text[i]))
            return false;
    return true;
}

/* The piece of the innermost element that is open is marked as one with text of its own: end says so until segments are cut. */
static void note_text(struct reader *reader) {
    if (reader->depth == 0)
        reader->text_at_top = true;
    else
        reader->pieces[reader->open[reader->depth - 1].piece].end = 1;
}

static int end_text(struct reader *reader) {
    struct html_buffer *text = &reader->text;
    if (text->failed)
        return error_memory(reader->err);
    if (text->length == 0)
        return 0;
    char *copy = arena_copy(reader->arena, text->bytes, text->length);
    size_t length = text->length;
    text->length = 0;
    if (!copy)
        return error_memory(reader->err);
    if (!is_blank(copy, length))
        note_text(reader);
    if (reader->depth > 0)
        reader->open[reader->depth - 1].content = true;
    return add(reader, PIECE_TEXT, copy, length);
}

/* ---- character data ---- */

static size_t put_utf8(char out[UTF8_BYTES], unsigned long c) {
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(marks[length] | c);
    return length;
}

/* One that XML has (XML 1.0, production 2). */
static bool is_character(unsigned long c) {
    return c < 0x20 ? c == '\t' || c == '\n' || c == '\r'
                    : c < 0xd800 || (c > 0xdfff && c < 0x110000 && c != 0xfffe && c != 0xffff);
}

/* The character of "amp" or "#233"; length 0: it is another reference. */
static size_t decode(const char *reference, size_t length, char out[UTF8_BYTES]) {
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    char digits[REFERENCE_BYTES], *end;
    for (size_t i = 0; i < 5; i++)
        if (strlen(names[i]) == length && memcmp(names[i], reference, length) == 0) {
            *out = "&<>\"'"[i];
            return 1;
        }
    if (length < 2 || length >= sizeof digits || *reference != '#')
        return 0;
    memcpy(digits, reference + 1, length - 1);
    digits[length - 1] = '\0';
    bool hexadecimal = digits[0] == 'x' || digits[0] == 'X';
    unsigned long c = strtoul(digits + hexadecimal, &end, hexadecimal ? 16 : 10);
    return *end == '\0' && digits[hexadecimal] >= '0' && is_character(c) ? put_utf8(out, c) : 0;
}

/* An ampersand that begins no reference is one. */
static int read_reference(struct reader *reader) {
    const char *begin = reader->at, *end = begin + 1;
    char character[UTF8_BYTES];
    while (end < reader->end && end - begin < REFERENCE_BYTES &&
           (*end == '#' || ((*end | 0x20) >= 'a' && (*end | 0x20) <= 'z') || (*end >= '0' && *end <= '9')))
        end++;
    size_t name = (size_t)(end - begin) - 1;
    bool whole = name > 0 && end < reader->end && *end == ';';
    size_t length = whole ? decode(begin + 1, name, character) : 0;
    reader->at = whole ? end + 1 : begin + 1;
    if (length > 0 || !whole) {
        html_put(&reader->text, length > 0 ? character : "&", length > 0 ? length : 1);
        return 0;
    }
    return end_text(reader) == 0 ? add(reader, PIECE_UNIT, begin, name + 2) : -1;
}

static int read_text(struct reader *reader) {
    while (reader->at < reader->end && *reader->at != '<') {
        const char *next = reader->at;
        while (next < reader->end && *next != '<' && *next != '&')
            next++;
        html_put(&reader->text, reader->at, (size_t)(next - reader->at));
        reader->at = next;
        if (next < reader->end && *next == '&' && read_reference(reader) != 0)
            return -1;
    }
    return 0;
}

/* ---- tags ---- */

static bool is_name(const struct name *name, const char *other) {
    return strlen(other) == name->length && memcmp(other, name->text, name->length) == 0;
}

static bool is_listed(const struct html_names *names, const struct name *name) {
    for (size_t i = 0; i < names->count; i++)
        if (is_name(name, names->all[i]))
            return true;
    return false;
}

static struct name name_at(const char *at, const char *end) {
    const char *begin = at;
    while (at < end && !html_is_space(*at) && !strchr("<>/=\"'&", *at))
        at++;
    return (struct name){begin, (size_t)(at - begin)};
}

/* The attribute whose value begins here is `translate`. begin: behind the element's name. */
static bool is_translate(const char *begin, const char *value) {
    static const char name[] = "translate=";
    size_t length = sizeof name - 1;
    return (size_t)(value - begin) > length && html_is_space(value[-1 - (ptrdiff_t)length]) &&
           memcmp(value - length, name, length) == 0;
}

/* Behind the '>' of a tag, whose attributes may have others in quotes. NULL: there is none. keeps: it has translate="no". */
static const char *tag_end(const char *at, const char *end, bool *keeps) {
    const char *begin = at;
    *keeps = false;
    while (at < end && *at != '>' && *at != '<') {
        if (*at != '"' && *at != '\'') {
            at++;
            continue;
        }
        const char *value = at + 1, *quote = memchr(value, *at, (size_t)(end - value));
        if (!quote)
            return NULL;
        *keeps |= quote - value == 2 && strncasecmp(value, "no", 2) == 0 && is_translate(begin, at);
        at = quote + 1;
    }
    return at < end && *at == '>' ? at + 1 : NULL;
}

static int read_start(struct reader *reader) {
    const char *begin = reader->at;
    struct name name = name_at(begin + 1, reader->end);
    bool keeps;
    const char *end = name.length > 0 ? tag_end(name.text + name.length, reader->end, &keeps) : NULL;
    if (!end)
        return refuse(reader, begin, "this is no whole tag", (struct name){0});
    if (reader->depth == HTML_MAX_DEPTH)
        return refuse_most(reader, begin, "elements nest deeper than", HTML_MAX_DEPTH, "");
    bool is_void = end[-2] == '/';
    uint32_t parent = reader->depth > 0 ? reader->open[reader->depth - 1].piece + 1 : 0;
    if (reader->depth > 0)
        reader->open[reader->depth - 1].content = true;
    reader->at = end;
    if (add(reader, is_void ? PIECE_UNIT : PIECE_OPEN, begin, (size_t)(end - begin)) != 0)
        return -1;
    struct html_piece *piece = &reader->pieces[reader->count - 1];
    piece->begin = parent;
    if (is_void)
        return 0;
    reader->open[reader->depth++] = (struct element){name, (uint32_t)reader->count - 1, false};
    if (!reader->opaque && (keeps || is_listed(&reader->tags->ignored, &name))) {
        reader->opaque = reader->depth;
        piece->opaque = piece->stands_in = true;
    }
    return 0;
}

static int read_end(struct reader *reader) {
    const char *begin = reader->at, *end = memchr(begin, '>', (size_t)(reader->end - begin));
    struct name name = name_at(begin + 2, reader->end);
    const struct element *element = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (!end)
        return refuse(reader, begin, "this is no whole tag", (struct name){0});
    if (!element || element->name.length != name.length || memcmp(element->name.text, name.text, name.length) != 0)
        return refuse(reader, begin, element ? "another tag ends than began:" : "nothing is open that ends here:", name);
    if (reader->opaque == reader->depth)
        reader->opaque = 0;
    else if (!element->content) /* a placeholder */
        reader->pieces[element->piece].opaque = !reader->opaque;
    reader->depth--;
    reader->at = end + 1;
    if (add(reader, PIECE_CLOSE, begin, (size_t)(end + 1 - begin)) != 0)
        return -1;
    reader->pieces[reader->count - 1].pair = element->piece;
    reader->pieces[element->piece].pair = (uint32_t)reader->count - 1;
    return 0;
}

/* ---- the rest ---- */

/* Comments, instructions and declarations: from a mark to another. */
static const struct {
    const char *begin, *end;
    enum html_kind kind;
} others[] = {{"<!--", "-->", PIECE_UNIT}, {"<?", "?>", PIECE_BREAK}, {"<![CDATA[", "]]>", PIECE_TEXT}};

/* Behind the '>' of a document type's declaration, whose values and own declarations may have others. NULL: it does not end. */
static const char *doctype_end(const char *at, const char *end) {
    bool inside = false; /* of the brackets */
    while (at < end && (inside || *at != '>')) {
        bool comment = end - at > 3 && memcmp(at, "<!--", 4) == 0, quote = *at == '"' || *at == '\'';
        const char *found = comment ? memmem(at + 4, (size_t)(end - at) - 4, "-->", 3)
                            : quote ? memchr(at + 1, *at, (size_t)(end - at) - 1)
                                    : at;
        if (!found)
            return NULL;
        inside = !comment && !quote && *at == '[' ? true : !comment && !quote && *at == ']' ? false : inside;
        at = found + (comment ? 3 : 1);
    }
    return at < end ? at + 1 : NULL;
}

/* 1: it was one. 0: it is none. */
static int read_other(struct reader *reader) {
    size_t left = (size_t)(reader->end - reader->at);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t mark = strlen(others[i].begin);
        if (left < mark || memcmp(reader->at, others[i].begin, mark) != 0)
            continue;
        const char *begin = reader->at, *end = memmem(begin + mark, left - mark, others[i].end, strlen(others[i].end));
        if (!end)
            return refuse(reader, begin, "this does not end:", (struct name){others[i].begin, mark});
        reader->at = end + strlen(others[i].end);
        if (others[i].kind == PIECE_TEXT)
            html_put(&reader->text, begin + mark, (size_t)(end - begin) - mark);
        else if (end_text(reader) != 0 || add(reader, others[i].kind, begin, (size_t)(reader->at - begin)) != 0)
            return -1;
        return 1;
    }
    static const char doctype[] = "<!DOCTYPE";
    if (reader->tags->doctype && reader->depth == 0 && left > sizeof doctype &&
        strncasecmp(reader->at, doctype, sizeof doctype - 1) == 0) {
        const char *begin = reader->at, *end = doctype_end(begin + sizeof doctype - 1, reader->end);
        if (!end)
            return refuse(reader, begin, "this does not end:", (struct name){doctype, sizeof doctype - 1});
        reader->at = end;
        return end_text(reader) == 0 && add(reader, PIECE_BREAK, begin, (size_t)(end - begin)) == 0 ? 1 : -1;
    }
    if (left > 1 && reader->at[1] == '!')
        return refuse(reader, reader->at, "declarations, such as of a document type, are not taken", (struct name){0});
    return 0;
}

static int read_all(struct reader *reader) {
    while (reader->at < reader->end) {
        if (read_text(reader) != 0)
            return -1;
        int other = reader->at < reader->end ? read_other(reader) : 1;
        if (other < 0)
            return -1;
        if (other > 0)
            continue;
        bool ends = reader->end - reader->at > 1 && reader->at[1] == '/';
        if (end_text(reader) != 0 || (ends ? read_end(reader) : read_start(reader)) != 0)
            return -1;
    }
    if (end_text(reader) != 0)
        return -1;
    return reader->depth == 0 ? 0 : refuse(reader, reader->end, "this is not ended:", reader->open[reader->depth - 1].name);
}

/* The tags that end segments: those listed, and elements whose parent has no text of its own, but elements. */
static void find_breaks(struct reader *reader) {
    const struct html_tags *tags = reader->tags;
    for (size_t i = 0; i < reader->count; i++) {
        struct html_piece *piece = &reader->pieces[i];
        if (piece->kind != PIECE_OPEN || piece->opaque)
            continue;
        struct name name = name_at(piece->raw + 1, piece->raw + piece->length);
        bool within_text = piece->begin > 0 ? reader->pieces[piece->begin - 1].end : reader->text_at_top;
        bool splits = tags->outline && !within_text && !is_listed(&tags->inline_names, &name);
        if (splits || is_listed(&tags->splitting, &name))
            piece->kind = reader->pieces[piece->pair].kind = PIECE_BREAK;
    }
    for (size_t i = 0; i < reader->count; i++)
        reader->pieces[i].begin = reader->pieces[i].end = 0;
}

int html_read_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *html,
                  struct error *err) {
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    if (!reader)
        return error_memory(err);
    struct error own = {0};
    *reader = (struct reader){.tags = tags,
                              .begin = markup,
                              .at = markup,
                              .end = markup + length,
                              .arena = arena,
                              .text.arena = arena,
                              .err = err ? err : &own};
    if (read_all(reader) != 0)
        return -1;
    find_breaks(reader);
    html->pieces = reader->pieces;
    html->piece_count = reader->count;
    return 0;
}
