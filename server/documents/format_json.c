/* JSON (RFC 8259): of the strings that are values those that are prose (prose.h) are translated, line by line; names of members and
 * all else stay byte for byte, which is why no library reads it: one would not tell where a value stood, nor how its numbers and
 * escapes were written. Of messages in ICU's notation the texts of their branches are translated, of vue-i18n's "a | b | c" each
 * alternative. */
#include "model/base/utf8.h"
#include "model/text/character.h"
#include "server/documents/format.h"
#include "server/documents/icu_sentence.h"
#include "server/documents/key_globs.h"
#include "server/documents/prose.h"
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 512, MOST_NAME = 128 /* bytes of a reference */ };

/* What may come next. */
enum expected { VALUE, FIRST_VALUE /* or the array's end */, NAME, FIRST_NAME, COLON, MORE /* a comma, or the end */, NOTHING };

struct level {
    char open;               /* '{' or '[' */
    struct html_bytes name;  /* of the member in hand; of an array's elements that of the member that it is the value of */
    size_t index;            /* of the element in hand */
    struct key_state *place; /* how far the globs match its path; NULL: there are none */
};

struct json_reader {
    struct html_builder builder;
    const struct document *document;
    const char *begin, *at, *end;
    const char *done; /* the document up to here is in pieces */
    char *decoded;    /* what is left of room for all that escapes stand for */
    char *scratch;    /* room for the longest string */
    struct level levels[MOST_DEPTH];
    struct key_state *places; /* [MOST_DEPTH + 1]: above the first level, then of each; NULL: there are no globs */
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

/* A string in hand: what it says, and how it is written. */
struct json_string {
    struct html_bytes raw, text; /* the same where there are no escapes */
    size_t at;                   /* in the text; places are looked for in their order */
    const char *raw_at;          /* where that stands */
};

/* What it says; of a value this is borrowed by pieces, and so it stays. raw: between the marks, valid. */
static struct json_string decode(struct json_reader *reader, struct html_bytes raw) {
    struct json_string string = {.raw = raw, .text = raw, .raw_at = raw.start};
    if (!memchr(raw.start, '\\', raw.length))
        return string;
    char *out = reader->decoded;
    for (const char *at = raw.start, *end = at + raw.length; at < end;) {
        int32_t character;
        size_t bytes = *at == '\\' ? read_escape(at, end, &character) : 1;
        if (bytes > 1)
            out += character_put(character, out);
        else
            *out++ = *at;
        at += bytes;
    }
    string.text = bytes_between(reader->decoded, out);
    reader->decoded = out;
    return string;
}

/* How the byte of the text is written; places only grow. */
static const char *raw_of(struct json_string *string, size_t byte) {
    const char *end = string->raw.start + string->raw.length;
    char ignored[4];
    if (string->text.start == string->raw.start)
        return string->raw.start + byte;
    while (string->at < byte) {
        int32_t character;
        size_t bytes = *string->raw_at == '\\' ? read_escape(string->raw_at, end, &character) : 1;
        string->at += bytes > 1 ? character_put(character, ignored) : 1;
        string->raw_at += bytes;
    }
    return string->raw_at;
}

/* ---- pieces ---- */

/* Up to where a sentence begins. */
static void begin_sentence(struct json_reader *reader, struct json_string *string, size_t at) {
    const char *begin = raw_of(string, at);
    html_add_break(&reader->builder, bytes_between(reader->done, begin));
    reader->done = begin;
}

/* A part of a text, and how it is written there. */
struct json_marking {
    struct html_marking marking;
    struct json_reader *reader;
    struct json_string *string;
};

static const struct json_marking *marking_of(const struct html_marking *marking) {
    return (const struct json_marking *)((const char *)marking - offsetof(struct json_marking, marking));
}

/* Parts are asked for in their order. */
static struct html_bytes write_part(const struct html_marking *marking, struct html_bytes part, struct arena *arena) {
    const struct json_marking *own = marking_of(marking);
    size_t begin = (size_t)(part.start - own->string->text.start);
    const char *from = raw_of(own->string, begin), *to = raw_of(own->string, begin + part.length);
    (void)arena;
    own->reader->done = to;
    return bytes_between(from, to);
}

/* Of letters, digits and these. */
static size_t skip_name(struct html_bytes text, size_t begin, const char *others) {
    size_t at = begin;
    while (at < text.length && at - begin < MOST_NAME &&
           (isalnum((unsigned char)text.start[at]) || (text.start[at] && strchr(others, text.start[at]))))
        at++;
    return at;
}

/* A reference that begins there: i18next's $t(key), vue-i18n's @:key, @.lower:key and @:(key), Chrome's $NAME$, Laravel's :name.
 * Where it ends; at: none begins. */
static size_t skip_reference(struct html_bytes text, size_t at) {
    const char *begin = text.start + at, *end = text.start + text.length;
    if (end - begin < 3)
        return at;
    if (memcmp(begin, "$t(", 3) == 0) {
        const char *close = memchr(begin, ')', (size_t)(end - begin) < 256 ? (size_t)(end - begin) : 256);
        return close ? (size_t)(close + 1 - text.start) : at;
    }
    if (*begin == ':') {
        bool behind_word = at > 0 && !strchr(" \t(\"'[", begin[-1]);
        return !behind_word && isalpha((unsigned char)begin[1]) ? skip_name(text, at + 1, "_") : at;
    }
    size_t behind = skip_name(text, at + 1, "_.-@");
    if (*begin == '$')
        return behind > at + 1 && behind < text.length && text.start[behind] == '$' ? behind + 1 : at;
    bool starts = *begin == '@' && (begin[1] == ':' || begin[1] == '.') && (at == 0 || !isalnum((unsigned char)begin[-1]));
    if (!starts || behind >= text.length || text.start[behind] != ':')
        return at;
    bool bracket = behind + 1 < text.length && text.start[behind + 1] == '(';
    size_t name = skip_name(text, behind + 1 + bracket, "_.-");
    while (!bracket && name > behind + 1 && text.start[name - 1] == '.') /* ends the sentence */
        name--;
    if (name == behind + 1 + bracket || (bracket && (name == text.length || text.start[name] != ')')))
        return at;
    return name + bracket;
}

/* Text between marks, in which references stay as they are. */
static void add_words(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    static const struct html_bytes any_word = {"{0}", 3};
    const struct json_string *string = marking_of(marking)->string;
    size_t begin = (size_t)(text.start - string->text.start), end = begin + text.length, plain = begin;
    struct html_bytes whole = {string->text.start, end};
    for (size_t at = begin; at < end;) {
        size_t behind = memchr("$@:", whole.start[at], 3) ? skip_reference(whole, at) : at;
        if (behind == at) {
            at++;
            continue;
        }
        struct html_bytes before = {whole.start + plain, at - plain}, reference = {whole.start + at, behind - at};
        if (before.length > 0)
            html_add_text(builder, before, write_part(marking, before, builder->arena));
        html_add_word(builder, any_word, write_part(marking, reference, builder->arena));
        plain = at = behind;
    }
    struct html_bytes rest = {whole.start + plain, end - plain};
    if (rest.length > 0)
        html_add_text(builder, rest, write_part(marking, rest, builder->arena));
}

/* A sentence or more of them, in one line. */
static void add_sentence(struct json_reader *reader, struct json_string *string, size_t begin, size_t end) {
    const struct json_marking own = {{.written = write_part, .add_text = add_words}, reader, string};
    begin_sentence(reader, string, begin);
    html_add_marked(&reader->builder, (struct html_bytes){string->text.start + begin, end - begin}, &own.marking);
}

/* In front of an alternative: Laravel's {0} and [2,*]. */
static size_t skip_range(struct html_bytes text, size_t at) {
    size_t begin = at;
    while (at < text.length && text.start[at] == ' ')
        at++;
    char close = at < text.length && text.start[at] == '{' ? '}' : ']';
    if (at == text.length || !strchr("{[", text.start[at]))
        return begin;
    at++;
    size_t behind = at;
    while (behind < text.length && strchr(close == ']' ? "0123456789,*-Inf" : "0123456789", text.start[behind]))
        behind++;
    return behind > at && behind < text.length && text.start[behind] == close ? behind + 1 : begin;
}

/* Alternatives with bars between them, as vue-i18n's plurals are, each by itself. */
static void add_alternatives(struct json_reader *reader, struct json_string *string, size_t begin, size_t end) {
    size_t depth = 0;
    bool alternatives = false;
    for (size_t at = begin; at <= end; at++) {
        char c = at < end ? string->text.start[at] : '|';
        depth += c == '{';
        depth -= c == '}' && depth > 0;
        if (c != '|' || (depth > 0 && at < end))
            continue;
        alternatives |= at < end;
        if (alternatives)
            begin = skip_range((struct html_bytes){string->text.start, at}, begin);
        if (begin < at)
            add_sentence(reader, string, begin, at);
        begin = at + 1;
    }
}

/* Line by line; a line of its own may be for programs, too. */
static void add_lines(struct json_reader *reader, struct json_string *string) {
    static const struct prose_place nowhere = {{"", 0}, {"", 0}};
    struct html_bytes text = string->text;
    for (size_t begin = 0, end; begin < text.length && !reader->builder.failed; begin = end + 1) {
        end = begin;
        while (end < text.length && (unsigned char)text.start[end] >= ' ')
            end++;
        struct html_bytes line = {text.start + begin, end - begin};
        if (line.length > 0 && (line.length == text.length || prose_judge(line, &nowhere, reader->scratch) == PROSE_LANGUAGE))
            add_alternatives(reader, string, begin, end);
    }
}

/* ---- messages ---- */

static void json_escape(struct html_buffer *out, const char *text, size_t length);

/* A message with whole sentences in its branches is written anew. */
static void add_message(struct json_reader *reader, struct json_string *string, const struct icu_source *source) {
    struct html_bytes raw = string->raw;
    struct json_string anew = *string;
    if (source->text.start != string->text.start) {
        struct html_buffer written = {.arena = reader->builder.arena};
        html_put(&written, "", 0);
        json_escape(&written, source->text.start, source->text.length);
        anew = (struct json_string){.raw = {written.bytes, written.length}, .text = source->text, .raw_at = written.bytes};
        if (written.failed)
            return; /* the arena has failed, which html_build says */
    }
    const struct json_marking own = {{.written = write_part}, reader, &anew};
    html_add_break(&reader->builder, bytes_between(reader->done, raw.start));
    icu_source_add(&reader->builder, source, &own.marking);
    reader->done = raw.start + raw.length;
}

/* Nothing of it is added where it is for programs, or cannot be read; -1: memory. */
static int add_value(struct json_reader *reader, struct html_bytes raw, enum key_choice choice) {
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    struct prose_place place = {{"", 0}, {"", 0}};
    struct json_string string = decode(reader, raw);
    struct icu_source source;
    struct error error = {0};
    if (reader->builder.failed) /* html_build says why */
        return 0;
    if (icu_source_is(string.text)) {
        if (icu_source_open(string.text, reader->builder.arena, &source, &error) == 0)
            add_message(reader, &string, &source);
        else if (error.code == ERROR_MEMORY)
            return error_memory(reader->err);
        else
            document_note(reader->document, raw.start, "untranslated", "%s: it stays as it is", error.message);
        return 0;
    }
    if (level)
        place.name = level->name;
    for (size_t above = reader->depth; above-- > 1 && place.parent.length == 0;)
        if (reader->levels[above].open == '{') /* the member that holds this object */
            place.parent = reader->levels[above - 1].name;
    enum prose prose = prose_judge(string.text, &place, reader->scratch);
    if (prose == PROSE_LANGUAGE || (prose == PROSE_DOUBTFUL && choice == KEY_ASKED_FOR))
        add_lines(reader, &string);
    return 0;
}

/* at: the quotation mark. *raw: what stands behind it up to the next. */
static int read_string(struct json_reader *reader, struct html_bytes *raw, bool *whole) {
    const char *begin = ++reader->at;
    if (skip_string(reader, whole) != 0)
        return -1;
    *raw = bytes_between(begin, reader->at++);
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

/* The value in hand is a level deeper: where the globs are at it. Of members this is known with their names. */
static void enter_element(struct json_reader *reader) {
    char number[24];
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    if (!level || level->open != '[')
        return;
    if (reader->places)
        key_globs_step(reader->document->keys, &reader->places[reader->depth - 1], number,
                       (size_t)snprintf(number, sizeof number, "%zu", level->index), &reader->places[reader->depth]);
    level->index++;
}

/* *expected: what comes behind it. */
static int read_value(struct json_reader *reader, enum expected *expected) {
    char first = *reader->at;
    enter_element(reader);
    if (first == '{' || first == '[') {
        if (reader->depth == MOST_DEPTH)
            return refuse(reader, reader->at, "objects and arrays nest deeper than 512");
        struct html_bytes name = reader->depth > 0 ? reader->levels[reader->depth - 1].name : (struct html_bytes){"", 0};
        reader->levels[reader->depth++] = (struct level){.open = first, .name = name};
        reader->at++;
        *expected = first == '{' ? FIRST_NAME : FIRST_VALUE;
        return 0;
    }
    *expected = reader->depth > 0 ? MORE : NOTHING;
    if (first == '"') {
        struct html_bytes raw;
        bool whole;
        if (read_string(reader, &raw, &whole) != 0)
            return -1;
        enum key_choice choice = reader->places ? key_globs_choose(reader->document->keys, &reader->places[reader->depth]) : KEY_IN;
        return whole && choice != KEY_LEFT_OUT ? add_value(reader, raw, choice) : 0;
    }
    return first == '-' || isdigit((unsigned char)first) ? read_number(reader) : read_word(reader);
}

static int read_name(struct json_reader *reader, enum expected *expected) {
    struct html_bytes raw;
    bool whole;
    *expected = COLON;
    if (*reader->at != '"')
        return refuse(reader, reader->at, "the name of a member is expected here");
    if (read_string(reader, &raw, &whole) != 0)
        return -1;
    struct html_bytes name = whole ? decode(reader, raw).text : raw;
    reader->levels[reader->depth - 1].name = name;
    if (reader->places)
        key_globs_step(reader->document->keys, &reader->places[reader->depth - 1], name.start, name.length,
                       &reader->places[reader->depth]);
    return 0;
}

static int read_end(struct json_reader *reader, enum expected *expected) {
    reader->at++;
    reader->depth--;
    *expected = reader->depth > 0 ? MORE : NOTHING;
    return 0;
}

static int read_mark(struct json_reader *reader, enum expected *expected) {
    bool object = *expected == COLON || reader->levels[reader->depth - 1].open == '{';
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
    char end = reader->depth > 0 && reader->levels[reader->depth - 1].open == '{' ? '}' : ']';
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
    struct json_reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    char *decoded = arena_alloc(arena, document->length + 1, 1), *scratch = arena_alloc(arena, document->length + 1, 1);
    struct key_state *places = document->keys ? arena_alloc(arena, MOST_DEPTH + 1, sizeof *places) : NULL;
    if (arena_failed(arena))
        return error_memory(err);
    *reader = (struct json_reader){.builder = document_builder(document, arena),
                                   .document = document,
                                   .begin = source,
                                   .at = source,
                                   .end = end,
                                   .done = source,
                                   .decoded = decoded,
                                   .scratch = scratch,
                                   .places = places,
                                   .err = err};
    if (places)
        key_globs_begin(document->keys, &places[0]);
    if (read_all(reader) != 0)
        return -1;
    html_add_break(&reader->builder, bytes_between(reader->done, reader->end));
    return html_build(&reader->builder, json_escape, out, err);
}

/* ---- messages that were translated ---- */

/* The next string of valid JSON, at or behind *at, which is moved behind it. False: there are no more. */
static bool next_string(const char **at, const char *end, struct html_bytes *raw) {
    const char *begin = memchr(*at, '"', (size_t)(end - *at));
    if (!begin)
        return false;
    const char *c = begin + 1;
    while (c < end && *c != '"')
        c += *c == '\\' ? 2 : 1;
    *raw = bytes_between(begin + 1, c);
    *at = c + 1;
    return true;
}

/* Puts the translation of a message, or, where it does not have the arguments of its source, the source. */
static void put_message(const struct document *document, struct json_reader *room, struct html_bytes source,
                        struct html_bytes written, struct html_buffer *out) {
    struct json_string from = decode(room, source), to = decode(room, written);
    struct icu_source before;
    struct html_bytes settled;
    if (icu_source_open(from.text, out->arena, &before, NULL) != 0) {
        html_put(out, written.start, written.length);
    } else if (!icu_source_settle(&before, to.text, out->arena, &settled)) {
        bool branches = icu_source_is(from.text);
        if (branches)
            document_note(document, source.start, "untranslated",
                          "the translation of the message does not have its arguments as they were: it stays as it is");
        html_put(out, branches ? source.start : written.start, branches ? source.length : written.length);
    } else if (settled.start == to.text.start) {
        html_put(out, written.start, written.length);
    } else {
        json_escape(out, settled.start, settled.length);
    }
}

/* In a document in which one message has branches, others are messages, too. */
static bool has_messages(const char *source, const char *end) {
    struct html_bytes raw;
    for (const char *at = source; next_string(&at, end, &raw);)
        if (icu_message_is(raw.start, raw.length))
            return true;
    return false;
}

static char *json_finish(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                         size_t *out_length, struct error *err) {
    const char *source = document->source, *end = source + document->length, *at = written, *to = written + written_length;
    struct html_buffer out = {.arena = arena};
    struct html_bytes before, now;
    html_put(&out, "", 0);
    if (has_messages(source, end)) {
        struct json_reader room = {.decoded = arena_alloc(arena, document->length + written_length + 1, 1)};
        for (const char *next = written; room.decoded && next_string(&source, end, &before) && next_string(&next, to, &now);) {
            bool same = before.length == now.length && memcmp(before.start, now.start, now.length) == 0;
            if (same || !memchr(before.start, '{', before.length))
                continue;
            html_put(&out, at, (size_t)(now.start - at));
            put_message(document, &room, before, now, &out);
            at = now.start + now.length;
        }
    }
    html_put(&out, at, (size_t)(to - at));
    if (out.failed || arena_failed(arena)) {
        error_memory(err);
        return NULL;
    }
    *out_length = out.length;
    return out.bytes;
}

const struct document_format format_json = {.name = "json",
                                            .extensions = "json arb",
                                            .media_types = "application/json text/json",
                                            .content_type = "application/json; charset=utf-8",
                                            .read = json_read,
                                            .finish = json_finish};
