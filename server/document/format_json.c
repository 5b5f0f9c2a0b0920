/* JSON (RFC 8259): the strings that are values are translated, line by line; names of members and all else stay byte for byte,
 * which is why no library reads it: one would not tell where a value stood, nor how its numbers and escapes were written. */
#include "model/base/utf8.h"
#include "model/text/character.h"
#include "server/document/format.h"
#include <ctype.h>
#include <string.h>

enum { MOST_DEPTH = 512 };

/* What may come next. */
enum expected { VALUE, FIRST_VALUE /* or the array's end */, NAME, FIRST_NAME, COLON, MORE /* a comma, or the end */, NOTHING };

struct json_reader {
    struct html_builder builder;
    const char *begin, *at, *end;
    const char *done; /* the document up to here is in pieces */
    char *decoded;    /* what is left of room for all that escapes stand for */
    char open[MOST_DEPTH];
    size_t depth;
    struct error *err;
};

static int refuse(const struct json_reader *reader, const char *at, const char *what) {
    struct utf8_place place = utf8_place(reader->begin, at);
    return error_set(reader->err, ERROR_INPUT, "line %zu, column %zu: %s", place.line, place.column, what);
}

/* ---- strings ---- */

static int32_t read_hex(const char *at, const char *end) {
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++, at++) {
        if (at >= end || !isxdigit((unsigned char)*at))
            return -1;
        value = value * 16 + (isdigit((unsigned char)*at) ? *at - '0' : tolower((unsigned char)*at) - 'a' + 10);
    }
    return value;
}

/* An escape that begins there: its bytes, and the character that it is; -1: half of a pair. 0: it is none. */
static size_t read_escape(const char *at, const char *end, int32_t *character) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
    if (name) {
        *character = means[name - names];
        return 2;
    }
    int32_t high = at + 1 < end && at[1] == 'u' ? read_hex(at + 2, end) : -1, low = -1;
    if (high < 0)
        return 0;
    bool first = high >= 0xd800 && high < 0xdc00, second = high >= 0xdc00 && high < 0xe000;
    if (first && end - at > 7 && at[6] == '\\' && at[7] == 'u')
        low = read_hex(at + 8, end);
    bool pair = low >= 0xdc00 && low < 0xe000;
    *character = pair ? 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00) : first || second ? -1 : high;
    return pair ? 12 : 6;
}

/* at: behind the quotation mark; then at the one that ends it. *whole false: an escape stands for no character of a text. */
static int skip_string(struct json_reader *reader, bool *whole) {
    const char *begin = reader->at - 1;
    *whole = true;
    while (reader->at < reader->end && *reader->at != '"') {
        int32_t character = (unsigned char)*reader->at;
        size_t bytes = *reader->at == '\\' ? read_escape(reader->at, reader->end, &character) : 1;
        if (bytes == 0)
            return refuse(reader, reader->at, "this is no escape");
        if (bytes == 1 && character < ' ')
            return refuse(reader, reader->at, "a control character in a string must be written as an escape");
        *whole &= character > 0;
        reader->at += bytes;
    }
    return reader->at < reader->end ? 0 : refuse(reader, begin, "this string has no end");
}

/* Up to a line's end or another control character, or the string's. Decoded only where there are escapes. */
static void add_run(struct json_reader *reader, const char *begin, const char *end) {
    struct html_bytes raw = bytes_between(begin, end), text = raw;
    if (raw.length == 0)
        return;
    if (memchr(begin, '\\', raw.length)) {
        char *out = reader->decoded;
        for (const char *at = begin; at < end;) {
            int32_t character;
            size_t bytes = *at == '\\' ? read_escape(at, end, &character) : 1;
            if (bytes > 1)
                out += character_put(character, out);
            else
                *out++ = *at;
            at += bytes;
        }
        text = bytes_between(reader->decoded, out);
        reader->decoded = out;
    }
    html_add_break(&reader->builder, bytes_between(reader->done, begin));
    html_add_text(&reader->builder, text, raw);
    reader->done = end;
}

/* [begin,end) between the marks, valid. */
static void add_value(struct json_reader *reader, const char *begin, const char *end) {
    const char *run = begin;
    for (const char *at = begin; at < end;) {
        int32_t character = 'x';
        size_t bytes = *at == '\\' ? read_escape(at, end, &character) : 1;
        if (character < ' ') {
            add_run(reader, run, at);
            run = at + bytes;
        }
        at += bytes;
    }
    add_run(reader, run, end);
}

static int read_string(struct json_reader *reader, bool is_value) {
    const char *begin = ++reader->at;
    bool whole;
    if (skip_string(reader, &whole) != 0)
        return -1;
    if (is_value && whole)
        add_value(reader, begin, reader->at);
    reader->at++;
    return 0;
}

/* ---- the rest ---- */

static size_t skip_digits(struct json_reader *reader) {
    const char *begin = reader->at;
    while (reader->at < reader->end && isdigit((unsigned char)*reader->at))
        reader->at++;
    return (size_t)(reader->at - begin);
}

static int read_number(struct json_reader *reader) {
    const char *begin = reader->at;
    reader->at += *reader->at == '-';
    bool zero = reader->at < reader->end && *reader->at == '0';
    size_t digits = skip_digits(reader), others = 1;
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        others = skip_digits(reader);
    }
    if (others > 0 && reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        reader->at++;
        reader->at += reader->at < reader->end && (*reader->at == '+' || *reader->at == '-');
        others = skip_digits(reader);
    }
    return digits == 0 || (zero && digits > 1) || others == 0 ? refuse(reader, begin, "this is no number") : 0;
}

static int read_word(struct json_reader *reader) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, words[i], length) == 0) {
            reader->at += length;
            return 0;
        }
    }
    return refuse(reader, reader->at, "a value is expected here");
}

/* *expected: what comes behind it. */
static int read_value(struct json_reader *reader, enum expected *expected) {
    char first = *reader->at;
    if (first == '{' || first == '[') {
        if (reader->depth == MOST_DEPTH)
            return refuse(reader, reader->at, "objects and arrays nest deeper than 512");
        reader->open[reader->depth++] = first;
        reader->at++;
        *expected = first == '{' ? FIRST_NAME : FIRST_VALUE;
        return 0;
    }
    *expected = reader->depth > 0 ? MORE : NOTHING;
    if (first == '"')
        return read_string(reader, true);
    return first == '-' || isdigit((unsigned char)first) ? read_number(reader) : read_word(reader);
}

static int read_name(struct json_reader *reader, enum expected *expected) {
    *expected = COLON;
    return *reader->at == '"' ? read_string(reader, false) : refuse(reader, reader->at, "the name of a member is expected here");
}

static int read_end(struct json_reader *reader, enum expected *expected) {
    reader->at++;
    reader->depth--;
    *expected = reader->depth > 0 ? MORE : NOTHING;
    return 0;
}

static int read_mark(struct json_reader *reader, enum expected *expected) {
    bool object = *expected == COLON || reader->open[reader->depth - 1] == '{';
    if (*expected == COLON && *reader->at != ':')
        return refuse(reader, reader->at, "a colon is expected here");
    if (*expected == MORE && *reader->at != ',')
        return refuse(reader, reader->at, object ? "a comma or } is expected here" : "a comma or ] is expected here");
    *expected = *expected == COLON || !object ? VALUE : NAME;
    reader->at++;
    return 0;
}

/* at: a character that is no white space. */
static int read_next(struct json_reader *reader, enum expected *expected) {
    char end = reader->depth > 0 && reader->open[reader->depth - 1] == '{' ? '}' : ']';
    bool may_end = *expected == MORE || *expected == FIRST_NAME || *expected == FIRST_VALUE;
    if (may_end && *reader->at == end)
        return read_end(reader, expected);
    switch (*expected) {
    case VALUE:
    case FIRST_VALUE:
        return read_value(reader, expected);
    case NAME:
    case FIRST_NAME:
        return read_name(reader, expected);
    case NOTHING:
        return refuse(reader, reader->at, "nothing may stand behind the value");
    default:
        return read_mark(reader, expected);
    }
}

static int read_all(struct json_reader *reader) {
    enum expected expected = VALUE;
    for (;;) {
        while (reader->at < reader->end && strchr(" \t\r\n", *reader->at))
            reader->at++;
        if (reader->at == reader->end)
            return expected == NOTHING ? 0 : refuse(reader, reader->at, "the document ends too early");
        if (read_next(reader, &expected) != 0)
            return -1;
    }
}

static void json_escape(struct html_buffer *out, const char *text, size_t length) {
    static const char digits[] = "0123456789abcdef";
    for (size_t at = 0; at < length; at++) {
        size_t plain = at;
        while (at < length && text[at] != '"' && text[at] != '\\' && (unsigned char)text[at] >= ' ')
            at++;
        html_put(out, text + plain, at - plain);
        if (at == length)
            return;
        unsigned char c = (unsigned char)text[at];
        const char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, mark[] = {'\\', (char)c};
        html_put(out, c < ' ' ? escape : mark, c < ' ' ? sizeof escape : sizeof mark);
    }
}

static int json_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    const char *source = document->source, *end = source + document->length;
    struct json_reader reader = {
        .builder = document_builder(document, arena), .begin = source, .at = source, .end = end, .done = source, .err = err};
    reader.decoded = arena_alloc(arena, document->length + 1, 1);
    if (!reader.decoded)
        return error_memory(err);
    if (read_all(&reader) != 0)
        return -1;
    html_add_break(&reader.builder, bytes_between(reader.done, reader.end));
    return html_build(&reader.builder, json_escape, out, err);
}

const struct document_format format_json = {.name = "json",
                                            .extensions = "json arb",
                                            .media_types = "application/json text/json",
                                            .content_type = "application/json; charset=utf-8",
                                            .read = json_read};
