/* Reads XML into pieces that nest. Tags stay byte for byte as they are, and nothing is looked up or expanded, so that time and
 * memory are linear in the length of the markup: a reference other than a number or one of XML's own five is a unit. */
#include "model/base/utf8.h"
#include "server/markup/build.h"
#include "server/markup/piece.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_SHOWN = 40, REFERENCE_BYTES = 40, UTF8_BYTES = 4 };

struct element {
    struct html_bytes name;
    uint32_t piece;
    bool content; /* has had text or an element in it */
};

struct reader {
    const struct html_tags *tags;
    const char *begin, *at, *end; /* the markup; read up to `at` */
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

static int refuse(struct reader *reader, const char *at, const char *what, struct html_bytes name) {
    int shown = (int)utf8_clip(name.start, name.length, NAME_SHOWN);
    return html_error_at(reader->err, reader->begin, at, "%s%s%.*s", what, shown > 0 ? " " : "", shown, name.start);
}

/* ---- pieces ---- */

static int add(struct reader *reader, enum html_kind kind, const char *bytes, size_t length) {
    if (reader->count == HTML_MAX_PIECES)
        return html_error_at(reader->err, reader->begin, reader->at, "the markup has more than %d tags, texts and comments",
                             HTML_MAX_PIECES);
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

static int end_text(struct reader *reader) {
    struct html_buffer *text = &reader->text;
    size_t length = text->length, blank = 0;
    if (text->failed)
        return error_memory(reader->err);
    if (length == 0)
        return 0;
    char *copy = arena_copy(reader->arena, text->bytes, length);
    text->length = 0;
    if (!copy)
        return error_memory(reader->err);

    /* The piece of the innermost open element is marked by its `end` as having its own text, until segments are cut. */
    while (blank < length && html_is_space(copy[blank]))
        blank++;
    struct element *parent = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (blank < length && parent)
        reader->pieces[parent->piece].end = 1;
    else if (blank < length)
        reader->text_at_top = true;
    if (parent)
        parent->content = true;
    return add(reader, PIECE_TEXT, copy, length);
}

/* ---- character data ---- */

/* Decodes a reference such as "amp" or "#233" to one of the characters that XML has (XML 1.0, production 2). Returns its bytes; 0
 * if it is another reference. */
static size_t decode(const char *reference, size_t length, char out[UTF8_BYTES]) {
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    char digits[REFERENCE_BYTES], *end;
    for (size_t i = 0; i < 5; i++)
        if (bytes_are((struct html_bytes){reference, length}, names[i])) {
            *out = "&<>\"'"[i];
            return 1;
        }
    if (length < 2 || length >= sizeof digits || *reference != '#')
        return 0;
    memcpy(digits, reference + 1, length - 1);
    digits[length - 1] = '\0';
    bool hexadecimal = digits[0] == 'x' || digits[0] == 'X';
    unsigned long c = strtoul(digits + hexadecimal, &end, hexadecimal ? 16 : 10);
    bool valid =
        c < 0x20 ? c == '\t' || c == '\n' || c == '\r' : c < 0xd800 || (c > 0xdfff && c < 0x110000 && c != 0xfffe && c != 0xffff);
    return *end == '\0' && digits[hexadecimal] >= '0' && valid ? character_put((int32_t)c, out) : 0;
}

/* An ampersand that begins no reference is a character. */
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

static bool is_listed(const struct html_names *names, struct html_bytes name) {
    for (size_t i = 0; i < names->count; i++)
        if (bytes_are(name, names->all[i]))
            return true;
    return false;
}

struct html_bytes html_name_at(const char *at, const char *end) {
    const char *begin = at;
    while (at < end && !html_is_space(*at) && !strchr("<>/=\"'&", *at))
        at++;
    return bytes_between(begin, at);
}

/* Returns the end of a tag, past its '>'; values in quotes may hold others. NULL: the tag is incomplete. begin: after the name.
 * keeps: the tag has translate="no". */
static const char *tag_end(const char *begin, const char *end, bool *keeps) {
    static const char name[] = "translate=";
    const size_t length = sizeof name - 1;
    const char *at = begin;
    *keeps = false;
    while (at < end && *at != '>' && *at != '<') {
        if (*at != '"' && *at != '\'') {
            at++;
            continue;
        }
        const char *value = at + 1, *quote = memchr(value, *at, (size_t)(end - value));
        if (!quote)
            return NULL;
        *keeps |= quote - value == 2 && strncasecmp(value, "no", 2) == 0 && (size_t)(at - begin) > length &&
                  html_is_space(at[-1 - (ptrdiff_t)length]) && memcmp(at - length, name, length) == 0;
        at = quote + 1;
    }
    return at < end && *at == '>' ? at + 1 : NULL;
}

static int read_start(struct reader *reader) {
    const char *begin = reader->at;
    struct html_bytes name = html_name_at(begin + 1, reader->end);
    bool keeps;
    const char *end = name.length > 0 ? tag_end(name.start + name.length, reader->end, &keeps) : NULL;
    if (!end)
        return html_error_at(reader->err, reader->begin, begin, "incomplete tag");
    if (reader->depth == HTML_MAX_DEPTH)
        return html_error_at(reader->err, reader->begin, begin, "elements nest deeper than %d", HTML_MAX_DEPTH);
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
    if (!reader->opaque && (keeps || is_listed(&reader->tags->ignored, name))) {
        reader->opaque = reader->depth;
        piece->opaque = piece->stands_in = true;
    }
    return 0;
}

static int read_end(struct reader *reader) {
    const char *begin = reader->at, *end = memchr(begin, '>', (size_t)(reader->end - begin));
    struct html_bytes name = html_name_at(begin + 2, reader->end);
    const struct element *element = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (!end)
        return html_error_at(reader->err, reader->begin, begin, "incomplete tag");
    if (!element || !bytes_same(element->name, name))
        return refuse(reader, begin, element ? "mismatched end tag:" : "end tag without a start tag:", name);
    if (reader->opaque == reader->depth)
        reader->opaque = 0;
    else if (!element->content) /* an empty element is a placeholder */
        reader->pieces[element->piece].opaque = !reader->opaque;
    reader->depth--;
    reader->at = end + 1;
    if (add(reader, PIECE_CLOSE, begin, (size_t)(end + 1 - begin)) != 0)
        return -1;
    reader->pieces[reader->count - 1].pair = element->piece;
    reader->pieces[element->piece].pair = (uint32_t)reader->count - 1;
    return 0;
}

/* ---- comments, instructions and declarations ---- */

const char *html_doctype_end(const char *at, const char *end) {
    bool inside = false; /* of the brackets */
    while (at < end && (inside || *at != '>')) {
        bool comment = bytes_begin(at, end, "<!--"), quote = *at == '"' || *at == '\'';
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

/* Returns 1 if it read one of them, 0 if there was nothing to read, -1 on failure. */
static int read_other(struct reader *reader) {
    static const struct {
        const char *begin, *end;
        enum html_kind kind;
    } others[] = {{"<!--", "-->", PIECE_UNIT}, {"<?", "?>", PIECE_BREAK}, {"<![CDATA[", "]]>", PIECE_TEXT}};
    static const char doctype[] = "<!DOCTYPE";
    const char *begin = reader->at;
    size_t left = (size_t)(reader->end - begin);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t mark = strlen(others[i].begin);
        if (!bytes_begin(begin, reader->end, others[i].begin))
            continue;
        const char *end = memmem(begin + mark, left - mark, others[i].end, strlen(others[i].end));
        if (!end)
            return refuse(reader, begin, "missing end of", (struct html_bytes){others[i].begin, mark});
        reader->at = end + strlen(others[i].end);
        if (others[i].kind == PIECE_TEXT)
            html_put(&reader->text, begin + mark, (size_t)(end - begin) - mark);
        else if (end_text(reader) != 0 || add(reader, others[i].kind, begin, (size_t)(reader->at - begin)) != 0)
            return -1;
        return 1;
    }
    if (reader->tags->doctype && reader->depth == 0 && left > sizeof doctype &&
        strncasecmp(begin, doctype, sizeof doctype - 1) == 0) {
        const char *end = html_doctype_end(begin + sizeof doctype - 1, reader->end);
        if (!end)
            return refuse(reader, begin, "missing end of", (struct html_bytes){doctype, sizeof doctype - 1});
        reader->at = end;
        return end_text(reader) == 0 && add(reader, PIECE_BREAK, begin, (size_t)(end - begin)) == 0 ? 1 : -1;
    }
    if (left > 1 && begin[1] == '!')
        return html_error_at(reader->err, reader->begin, begin, "declarations, such as a document type, are not allowed");
    return 0;
}

/* ---- the whole markup ---- */

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
    return reader->depth == 0 ? 0 : refuse(reader, reader->end, "missing end tag:", reader->open[reader->depth - 1].name);
}

int html_read_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *html,
                  struct error *err) {
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    struct error own = {0};
    if (!reader)
        return error_memory(err);
    *reader = (struct reader){.tags = tags,
                              .begin = markup,
                              .at = markup,
                              .end = markup + length,
                              .arena = arena,
                              .text.arena = arena,
                              .err = err ? err : &own};
    if (read_all(reader) != 0)
        return -1;

    /* Tags end segments if they are listed or, in an outline, if no text stands beside the element. */
    for (size_t i = 0; i < reader->count; i++) {
        struct html_piece *piece = &reader->pieces[i];
        if (piece->kind != PIECE_OPEN || piece->opaque)
            continue;
        struct html_bytes name = html_name_at(piece->raw + 1, piece->raw + piece->length);
        bool within_text = piece->begin > 0 ? reader->pieces[piece->begin - 1].end : reader->text_at_top;
        bool splits = tags->outline && !within_text && !is_listed(&tags->inline_names, name);
        if (splits || is_listed(&tags->splitting, name))
            piece->kind = reader->pieces[piece->pair].kind = PIECE_BREAK;
    }
    for (size_t i = 0; i < reader->count; i++)
        reader->pieces[i].begin = reader->pieces[i].end = 0;
    html->pieces = reader->pieces;
    html->piece_count = reader->count;
    return 0;
}
