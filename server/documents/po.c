#include "server/documents/po.h"
#include <ctype.h>
#include <string.h>

/* ---- what stands in a file ---- */

static int refuse(const struct po_reader *reader, const char *what) {
    return error_set(reader->err, ERROR_INPUT, "line %zu: %s", reader->line, what);
}

static void skip_space(struct po_reader *reader) {
    while (reader->at < reader->end && strchr(" \t\n\r\f\v", *reader->at))
        reader->line += *reader->at++ == '\n';
}

static void skip_line(struct po_reader *reader) {
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->at = end ? end : reader->end;
    skip_space(reader);
}

/* Behind white space and comments. *begin: of those that belong to what follows. */
static void skip_comments(struct po_reader *reader, const char **begin) {
    skip_space(reader);
    *begin = reader->at;
    while (reader->at < reader->end && *reader->at == '#') {
        bool obsolete = reader->end - reader->at > 1 && reader->at[1] == '~';
        skip_line(reader);
        if (obsolete)
            *begin = reader->at;
    }
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool at_keyword(const struct po_reader *reader, const char *keyword) {
    size_t length = strlen(keyword), left = (size_t)(reader->end - reader->at);
    return left >= length && memcmp(reader->at, keyword, length) == 0 && (left == length || !is_name(reader->at[length]));
}

static bool take_keyword(struct po_reader *reader, const char *keyword) {
    if (!at_keyword(reader, keyword))
        return false;
    reader->at += strlen(keyword);
    skip_space(reader);
    return true;
}

/* ---- strings ---- */

static size_t skip_digits(const char *at, const char *end, size_t most, int (*is_digit)(int)) {
    size_t count = 0;
    while (count < most && at + count < end && is_digit((unsigned char)at[count]))
        count++;
    return count;
}

static int is_octal(int c) {
    return c >= '0' && c <= '7';
}

/* An escape that begins there: its bytes, and the byte that it is; 0: it is none. */
static size_t read_escape(const char *at, const char *end, char *byte) {
    static const char names[] = "nt\"\\rabfv", means[] = "\n\t\"\\\r\a\b\f\v";
    const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
    bool hexadecimal = at + 1 < end && at[1] == 'x';
    const char *digits = at + 1 + hexadecimal;
    size_t count = hexadecimal ? skip_digits(digits, end, 2, isxdigit) : skip_digits(digits, end, 3, is_octal);
    unsigned value = 0;
    for (size_t i = 0; i < count; i++)
        value = value * (hexadecimal ? 16 : 8) +
                (unsigned)(isdigit((unsigned char)digits[i]) ? digits[i] - '0' : tolower((unsigned char)digits[i]) - 'a' + 10);
    *byte = name ? means[name - names] : (char)value;
    return name ? 2 : count > 0 ? (size_t)(digits - at) + count : 0;
}

/* at: the quotation mark. */
static int skip_string(struct po_reader *reader) {
    for (reader->at++; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        char byte;
        size_t escape = *reader->at == '\\' ? read_escape(reader->at, reader->end, &byte) : 1;
        if (escape == 0)
            return refuse(reader, "this is no escape");
        if (*reader->at == '"') {
            reader->at++;
            return 0;
        }
        reader->at += escape - 1;
    }
    return refuse(reader, "this string has no end");
}

/* Then at what follows it. */
static int read_text(struct po_reader *reader, struct po_text *text) {
    *text = (struct po_text){.begin = reader->at};
    while (reader->at < reader->end && *reader->at == '"') {
        if (skip_string(reader) != 0)
            return -1;
        text->end = reader->at;
        text->strings++;
        skip_space(reader);
    }
    return text->strings > 0 ? 0 : refuse(reader, "a string is expected here");
}

struct html_bytes po_decode(const struct po_text *text, char *out) {
    char *to = out;
    bool inside = false;
    for (const char *at = text->begin; at < text->end;) {
        size_t bytes = inside && *at == '\\' ? read_escape(at, text->end, to) : 1;
        if (bytes > 1)
            to++;
        else if (*at == '"')
            inside = !inside;
        else if (inside)
            *to++ = *at;
        at += bytes;
    }
    return bytes_between(out, to);
}

bool po_is_empty(const struct po_text *text) {
    bool inside = false;
    for (const char *at = text->begin; at < text->end; at++) {
        if (inside && *at != '"')
            return false;
        inside ^= *at == '"';
    }
    return true;
}

/* ---- messages ---- */

/* [1] behind msgstr. */
static int read_index(struct po_reader *reader, size_t index) {
    size_t number = 0, digits = 0;
    bool open = reader->at < reader->end && *reader->at == '[';
    const char *at = reader->at + open;
    for (; at < reader->end && isdigit((unsigned char)*at) && digits < 4; at++, digits++)
        number = number * 10 + (size_t)(*at - '0');
    if (!open || digits == 0 || at == reader->end || *at != ']' || number != index)
        return error_set(reader->err, ERROR_INPUT, "line %zu: msgstr[%zu] is expected here", reader->line, index);
    reader->at = at + 1;
    skip_space(reader);
    return 0;
}

static int read_forms(struct po_reader *reader, struct po_message *out) {
    while (take_keyword(reader, "msgstr")) {
        if (out->form_count == PO_MOST_FORMS)
            return refuse(reader, "there are too many forms");
        if (read_index(reader, out->form_count) != 0 || read_text(reader, &out->forms[out->form_count]) != 0)
            return -1;
        out->form_count++;
    }
    return out->form_count > 0 ? 0 : refuse(reader, "msgstr[0] is expected here");
}

static int read_translation(struct po_reader *reader, struct po_message *out) {
    out->translation = reader->at;
    if (out->plural.begin)
        return read_forms(reader, out);
    if (!take_keyword(reader, "msgstr"))
        return refuse(reader, "msgid_plural or msgstr is expected here");
    if (reader->at < reader->end && *reader->at == '[')
        return refuse(reader, "this message has forms, but no msgid_plural");
    out->form_count = 1;
    return read_text(reader, &out->forms[0]);
}

static int read_message(struct po_reader *reader, struct po_message *out) {
    if (take_keyword(reader, "msgctxt") && read_text(reader, &out->context) != 0)
        return -1;
    out->line = reader->line;
    if (!take_keyword(reader, "msgid"))
        return refuse(reader, out->context.begin ? "msgid is expected here" : "msgctxt or msgid is expected here");
    if (read_text(reader, &out->id) != 0 || (take_keyword(reader, "msgid_plural") && read_text(reader, &out->plural) != 0) ||
        read_translation(reader, out) != 0)
        return -1;
    out->end = out->forms[out->form_count - 1].end;
    return 1;
}

int po_next(struct po_reader *reader, struct po_message *out) {
    struct po_text domain;
    *out = (struct po_message){0};
    skip_comments(reader, &out->begin);
    while (take_keyword(reader, "domain")) {
        if (read_text(reader, &domain) != 0)
            return -1;
        skip_comments(reader, &out->begin);
    }
    if (reader->at == reader->end)
        return 0;
    out->keyword = reader->at;
    return read_message(reader, out);
}

bool po_is_header(const struct po_message *message) {
    return !message->context.begin && po_is_empty(&message->id);
}

/* ---- comments ---- */

bool po_next_comment(const struct po_message *message, const char **at, struct html_bytes *line) {
    if (*at == message->keyword)
        return false;
    const char *end = memchr(*at, '\n', (size_t)(message->keyword - *at));
    *line = bytes_between(*at, end ? end + 1 : message->keyword);
    *at = line->start + line->length;
    return true;
}

bool po_next_flag(struct html_bytes line, const char **at, struct html_bytes *flag) {
    const char *end = line.start + line.length, *begin = *at ? *at : line.start + 2;
    if (line.length < 2 || memcmp(line.start, "#,", 2) != 0)
        return false;
    while (begin < end && strchr(", \t\r\n", *begin))
        begin++;
    const char *behind = begin;
    while (behind < end && !strchr(", \t\r\n", *behind))
        behind++;
    *flag = bytes_between(begin, behind);
    *at = behind;
    return behind > begin;
}

bool po_is_fuzzy(const struct po_message *message) {
    struct html_bytes line, flag;
    for (const char *next = message->begin; po_next_comment(message, &next, &line);)
        for (const char *at = NULL; po_next_flag(line, &at, &flag);)
            if (bytes_are(flag, "fuzzy"))
                return true;
    return false;
}
