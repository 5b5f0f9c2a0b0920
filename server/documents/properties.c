/* This file translates Java's properties (java.util.Properties): lines with a key and a value,
 * which may go on over lines. A value with arguments is a message of java.text.MessageFormat, in
 * which an apostrophe is written twice. Characters beyond ASCII are written as the file has them,
 * as \u00e9 if it has none, so that programs which read Latin-1 understand it as well as those that
 * read UTF-8. */
#include "model/base/utf8.h"
#include "server/documents/values.h"
#include <ctype.h>

static const struct value_escapes escapes = {
    .names = "tnrf", .means = "\t\n\r\f", .written = "\\\t\n\r\f", .continues = true};

enum {
    STYLE_PLAIN,
    STYLE_DOUBLED, /* apostrophes are written twice */
    STYLE_CURLED   /* apostrophes between letters are written as U+2019, which never quotes */
};

struct bytes properties_stated(struct bytes file) {
    static const struct bytes latin = {"ISO-8859-1", 10};
    return utf8_valid(file.start, file.length) ? nothing : latin;
}

/* True if a brace that is text stands there in apostrophes, '{'. */
static bool is_quoted_brace(struct bytes text, size_t i) {
    return text.length - i > 2 && text.start[i] == '\'' && strchr("{}", text.start[i + 1]) &&
           text.start[i + 1] && text.start[i + 2] == '\'';
}

/* True if the value has arguments, or two apostrophes within a word, and no apostrophe that stands
 * by itself, as in a message whose author knows that it would quote; braces may be quoted. */
static bool is_doubled(struct bytes text) {
    bool message = false;
    for (size_t i = 0; i < text.length; i++) {
        message |= text.start[i] == '{' && i + 1 < text.length && text.start[i + 1] >= '0' &&
                   text.start[i + 1] <= '9';
        if (text.start[i] != '\'')
            continue;
        if (is_quoted_brace(text, i)) {
            message = true;
            i += 2;
            continue;
        }
        if (i + 1 == text.length || text.start[++i] != '\'')
            return false;
        message |= i > 1 && i + 1 < text.length && isalpha((unsigned char)text.start[i - 2]) &&
                   isalpha((unsigned char)text.start[i + 1]);
    }
    return message;
}

/* True for an apostrophe between letters. */
static bool is_within_word(struct bytes text, size_t i) {
    return text.start[i] == '\'' && i > 0 && i + 1 < text.length &&
           (isalpha((unsigned char)text.start[i - 1]) ||
            (unsigned char)text.start[i - 1] >= 0x80) &&
           (isalpha((unsigned char)text.start[i + 1]) || (unsigned char)text.start[i + 1] >= 0x80);
}

/* Returns how a message with branches is written. One whose author wrote apostrophes within words
 * is for a program that reads them as such; in others, java.text.MessageFormat would quote. */
static size_t style_of_branches(struct bytes text) {
    for (size_t i = 0; i < text.length; i++)
        if (is_within_word(text, i))
            return STYLE_PLAIN;
    return STYLE_CURLED;
}

/* Returns the text with one apostrophe for two. */
static struct bytes single(struct bytes text, struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *mark = memchr(at, '\'', (size_t)(end - at)), *stop = mark ? mark + 1 : end;
        bool quoted = mark && is_quoted_brace(text, (size_t)(mark - text.start));
        stop += quoted ? 2 : 0;
        bytes_put(&out, at, (size_t)(stop - at));
        at = stop + (mark && !quoted);
    }
    return out.failed ? nothing : (struct bytes){out.bytes, out.length};
}

/* A value_put. */
static void put_text(struct span_writer *writer, const struct value *value, struct bytes text,
                     bool sound) {
    const struct values *values = writer->about;
    struct bytes_buffer *out = &writer->out, rewritten = {.arena = out->arena};
    bool numbers = values->document->encoding || *(const bool *)values->about;
    (void)sound;
    for (size_t i = 0; value->style != STYLE_PLAIN && i < text.length; i++) {
        if (value->style == STYLE_DOUBLED && is_quoted_brace(text, i)) {
            bytes_put(&rewritten, text.start + i, 3);
            i += 2;
            continue;
        }
        bool curled = value->style == STYLE_CURLED && is_within_word(text, i);
        bytes_put(&rewritten, curled ? "\u2019" : text.start + i, curled ? strlen("\u2019") : 1);
        bytes_put(&rewritten, "'", value->style == STYLE_DOUBLED && text.start[i] == '\'');
    }
    if (value->style != STYLE_PLAIN)
        text = (struct bytes){rewritten.bytes, rewritten.length};
    out->failed |= rewritten.failed;
    bytes_put(out, "\\", text.length > 0 && *text.start == ' ');
    bool kept = text.length > 1 && text.start[text.length - 1] == ' ' &&
                value->end - value->begin > 1 && value->end[-1] == ' ' && value->end[-2] == '\\';
    values_escape(out, (struct bytes){text.start, text.length - kept}, &escapes, numbers);
    bytes_put_string(out, kept ? "\\ " : "");
}

/* Moves *at past blanks, and past line ends after a backslash. */
static void skip_blanks(const char **at, const char *end) {
    for (;;) {
        while (*at < end && (**at == ' ' || **at == '\t' || **at == '\f'))
            ++*at;
        if (end - *at < 2 || **at != '\\' || ((*at)[1] != '\n' && (*at)[1] != '\r'))
            return;
        *at += (*at)[1] == '\r' && end - *at > 2 && (*at)[2] == '\n' ? 3 : 2;
    }
}

/* Returns the end of the characters from `at` on that are not among `ends`; none counts after a
 * backslash. */
static const char *skip_text(const char *at, const char *end, const char *ends) {
    while (at < end && !strchr(ends, *at)) {
        bool line = *at == '\\' && end - at > 2 && at[1] == '\r' && at[2] == '\n';
        at += *at == '\\' && at + 1 < end ? 2 + line : 1;
    }
    return at;
}

int properties_read(const struct document *document, struct arena *arena, struct markup *out,
                    struct error *err) {
    const char *at = document->source, *end = at + document->length;
    struct values *values = values_open(document, arena, put_text, err);
    bool *numbers = arena_zalloc(arena, 1, sizeof *numbers);
    if (!values || !numbers)
        return error_memory(err);
    values->judged = true;
    values->about = numbers;
    *numbers = true;
    for (const char *c = at; c < end && *numbers; c++)
        *numbers = (unsigned char)*c < 0x80;
    while (at < end && !values->builder.failed) {
        while (at < end && (byte_is_space(*at) || *at == '\f'))
            at++;
        if (at < end && (*at == '#' || *at == '!')) {
            while (at < end && *at != '\n' && *at != '\r')
                at++;
            continue;
        }
        struct bytes key = bytes_between(at, skip_text(at, end, "=: \t\f\r\n")), name, text;
        at = key.start + key.length;
        skip_blanks(&at, end);
        if (at < end && (*at == '=' || *at == ':')) {
            at++;
            skip_blanks(&at, end);
        }
        struct value value = {.begin = at, .end = skip_text(at, end, "\r\n")};
        at = value.end;
        if (!values_unescape(bytes_between(value.begin, value.end), &escapes, arena, &text) ||
            !values_unescape(key, &escapes, arena, &name))
            continue; /* it has an escape that no program can read */
        value.name = name;
        value.text = text;
        value.notations = values_percents(text);
        if (icu_message_is(text.start, text.length)) {
            value.style = style_of_branches(text);
        } else if (is_doubled(text)) {
            value.style = STYLE_DOUBLED;
            value.text = memchr(text.start, '\'', text.length) ? single(text, arena) : text;
        }
        values_add(values, &value);
    }
    return values_build(values, out, err);
}
