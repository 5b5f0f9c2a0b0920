/* Reads tags and texts in their order, and checks that tags nest. */
#include "model/base/utf8.h"
#include "server/markup/piece.h"
#include "server/office/part.h"
#include <strings.h>

enum { NAME_SHOWN = 40, STEP_BYTES = 64 /* of a token: a step of the budget */, MOST_REFERENCE = 40 };
/* Limits of a tag, so that looking through one takes far less than a turn. Values may be long, as those that hold pictures are:
 * they are searched by memchr. */
enum { MOST_NAME = 1024, MOST_BESIDE_VALUES = 32 * 1024, MOST_DOCTYPE = 64 * 1024 };
enum { CHECKED_BYTES = 16 * 1024 /* at once */, FOUND_BYTES = 64 * 1024, FOUND_STEPS = 16 };

const char *xml_find(struct html_bytes bytes, const char *text, struct budget *budget) {
    size_t length = strlen(text);
    for (size_t at = 0; at < bytes.length; at += FOUND_BYTES) {
        size_t left = bytes.length - at, looked = FOUND_BYTES + length - 1;
        const char *found = memmem(bytes.start + at, left < looked ? left : looked, text, length);
        if (found || !budget_step(budget, FOUND_STEPS))
            return found;
    }
    return NULL;
}

static int refuse(const struct xml_scan *scan, const char *at, const char *what, struct html_bytes name, struct error *err) {
    int shown = (int)utf8_clip(name.start, name.length, NAME_SHOWN);
    return html_error_at(err, scan->begin, at, "%s%s%.*s", what, shown > 0 ? " " : "", shown, name.start);
}

static int refuse_at(const struct xml_scan *scan, const char *at, const char *what, struct error *err) {
    return html_error_at(err, scan->begin, at, "%s", what);
}

void xml_scan_begin(struct xml_scan *scan, struct html_bytes document, bool doctype, struct budget *budget) {
    static const char mark[] = "\xef\xbb\xbf";
    scan->begin = scan->at = document.start;
    scan->end = document.start + document.length;
    scan->budget = budget;
    scan->doctype = doctype;
    scan->rooted = false;
    scan->depth = 0;
    if (bytes_begin(scan->at, scan->end, mark))
        scan->begin = scan->at += 3;
}

/* The bytes must be UTF-8 without control characters, which XML does not have and the notation of messages uses. */
static int check_bytes(const struct xml_scan *scan, const char *begin, const char *end, struct error *err) {
    for (const char *at = begin; at < end;) {
        size_t left = (size_t)(end - at), checked = utf8_clip(at, left, CHECKED_BYTES);
        if (checked == 0 || !utf8_valid(at, checked))
            return error_set(err, ERROR_INPUT, "it is not valid UTF-8");
        for (const char *c = at; c < at + checked; c++)
            if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t' && *c != '\r')
                return refuse_at(scan, begin, "there is a control character", err);
        if (!budget_step(scan->budget, checked / STEP_BYTES))
            return error_memory(err);
        at += checked;
    }
    return 0;
}

/* Returns the end of a tag, past its '>'; values in quotes may hold others. NULL: the tag is incomplete, or *large. */
static const char *tag_end(const char *at, const char *end, bool *large) {
    for (size_t beside = 0; at < end && *at != '>' && *at != '<'; beside++) {
        *large = beside == MOST_BESIDE_VALUES;
        if (*large)
            return NULL;
        if (*at == '"' || *at == '\'') {
            at = memchr(at + 1, *at, (size_t)(end - at) - 1);
            if (!at)
                return NULL;
        }
        at++;
    }
    return at < end && *at == '>' ? at + 1 : NULL;
}

static int check_encoding(const struct xml_scan *scan, const struct xml_token *declaration, struct error *err) {
    struct html_bytes encoding;
    if (bytes_begin(declaration->begin, declaration->end, "<?xml ") && xml_attribute(declaration, "encoding", &encoding) &&
        !(encoding.length == 5 && strncasecmp(encoding.start, "utf-8", 5) == 0) &&
        !(encoding.length == 8 && strncasecmp(encoding.start, "us-ascii", 8) == 0))
        return refuse(scan, declaration->begin, "the encoding must be UTF-8, got", encoding, err);
    return 0;
}

/* Everything that begins with "<!" or "<?". */
static int read_other(struct xml_scan *scan, struct xml_token *token, struct error *err) {
    static const char *const others[][2] = {{"<!--", "-->"}, {"<?", "?>"}, {"<![CDATA[", "]]>"}};
    const char *begin = scan->at;
    token->kind = XML_OTHER;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!bytes_begin(begin, scan->end, others[i][0]))
            continue;
        const char *content = begin + strlen(others[i][0]);
        const char *close = xml_find(bytes_between(content, scan->end), others[i][1], scan->budget);
        if (!close && !budget_step(scan->budget, 0))
            return error_memory(err);
        if (!close)
            return refuse_at(scan, begin, i == 2 ? "a CDATA section has no end" : "a comment or an instruction has no end", err);
        scan->at = token->end = close + strlen(others[i][1]);
        if (i != 2)
            return check_encoding(scan, token, err) == 0 ? 1 : -1;
        *token = (struct xml_token){.kind = XML_CDATA, .begin = content, .end = close};
        return 1;
    }
    bool declares = scan->doctype && !scan->rooted && scan->end - begin > 9 && strncasecmp(begin, "<!doctype", 9) == 0;
    bool near = scan->end - begin <= MOST_DOCTYPE;
    const char *end = declares ? html_doctype_end(begin + 9, near ? scan->end : begin + MOST_DOCTYPE) : NULL;
    if (!end && declares)
        return refuse_at(scan, begin, near ? "the document type has no end" : "the document type is longer than 64 KiB", err);
    if (!end)
        return refuse_at(scan, begin, "declarations, such as a document type, are not allowed here", err);
    scan->at = token->end = end;
    return 1;
}

static int read_tag(struct xml_scan *scan, struct xml_token *token, struct error *err) {
    const char *begin = scan->at;
    bool is_end = scan->end - begin > 1 && begin[1] == '/';
    const char *name = begin + 1 + is_end;
    bool large = false;
    token->name = html_name_at(name, scan->end - name > MOST_NAME ? name + MOST_NAME + 1 : scan->end);
    if (token->name.length > MOST_NAME)
        return html_error_at(err, scan->begin, begin, "the name of an element is longer than %d bytes", MOST_NAME);
    const char *end = token->name.length > 0 ? tag_end(name + token->name.length, scan->end, &large) : NULL;
    if (large)
        return html_error_at(err, scan->begin, begin, "a tag has more than %d KiB beside its values", MOST_BESIDE_VALUES / 1024);
    if (!end)
        return refuse_at(scan, begin, "incomplete tag", err);
    scan->at = token->end = end;
    if (is_end) {
        token->kind = XML_END;
        if (scan->depth == 0 || !bytes_same(scan->open[scan->depth - 1], token->name))
            return refuse(scan, begin, "mismatched end tag:", token->name, err);
        scan->depth--;
        return 1;
    }
    if (scan->depth == 0 && scan->rooted)
        return refuse(scan, begin, "there is a second root:", token->name, err);
    scan->rooted = true;
    token->kind = end[-2] == '/' ? XML_EMPTY : XML_START;
    if (token->kind == XML_EMPTY)
        return 1;
    if (scan->depth == HTML_MAX_DEPTH)
        return html_error_at(err, scan->begin, begin, "elements nest deeper than %d", HTML_MAX_DEPTH);
    scan->open[scan->depth++] = token->name;
    return 1;
}

int xml_next(struct xml_scan *scan, struct xml_token *token, struct error *err) {
    const char *begin = scan->at;
    *token = (struct xml_token){.kind = XML_TEXT, .begin = begin};
    if (begin == scan->end) {
        if (scan->depth > 0)
            return refuse(scan, begin, "missing end tag:", scan->open[scan->depth - 1], err);
        return scan->rooted ? 0 : refuse_at(scan, begin, "there are no elements", err);
    }
    int read = 1;
    if (*begin != '<') {
        const char *next = memchr(begin, '<', (size_t)(scan->end - begin));
        scan->at = token->end = next ? next : scan->end;
    } else if (scan->end - begin > 1 && (begin[1] == '!' || begin[1] == '?')) {
        read = read_other(scan, token, err);
    } else {
        read = read_tag(scan, token, err);
    }
    if (read < 0 || check_bytes(scan, begin, scan->at, err) != 0)
        return -1;
    return budget_step(scan->budget, 1) ? 1 : error_memory(err);
}

/* ---- attributes ---- */

struct html_bytes xml_local_name(struct html_bytes name) {
    const char *colon = memchr(name.start, ':', name.length);
    return colon ? bytes_between(colon + 1, name.start + name.length) : name;
}

bool xml_next_attribute(const struct xml_token *tag, const char **at, struct xml_attribute *out) {
    const char *end = tag->end - 1, *begin = *at ? *at : tag->name.start ? tag->name.start + tag->name.length : tag->begin + 5;
    const char *from = begin;
    while (from < end && (html_is_space(*from) || *from == '/'))
        from++;
    const char *equals = memchr(from, '=', (size_t)(end - from)), *open = equals ? equals + 1 : end;
    while (open < end && html_is_space(*open))
        open++;
    const char *close = open < end && strchr("\"'", *open) ? memchr(open + 1, *open, (size_t)(end - open) - 1) : NULL;
    if (!close)
        return false;
    while (equals > from && html_is_space(equals[-1]))
        equals--;
    *out = (struct xml_attribute){begin, close + 1, bytes_between(from, equals), bytes_between(open + 1, close)};
    *at = close + 1;
    return true;
}

bool xml_attribute(const struct xml_token *tag, const char *name, struct html_bytes *value) {
    struct xml_attribute attribute;
    for (const char *at = NULL; xml_next_attribute(tag, &at, &attribute);)
        if (bytes_are(xml_local_name(attribute.name), name) || bytes_are(attribute.name, name)) {
            *value = attribute.value;
            return true;
        }
    return false;
}

/* ---- references ---- */

/* Puts the character of the reference at `at`. Returns the bytes of the reference, or 0. */
static size_t put_reference(struct html_buffer *out, const char *at, const char *end) {
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    char bytes[4];
    int32_t character;
    for (size_t i = 0; i < 5; i++)
        if (bytes_begin(at, end, names[i])) {
            html_put(out, &"&<>\"'"[i], 1);
            return strlen(names[i]);
        }
    size_t length = html_reference(at, end, &character);
    bool control = character < ' ' && character != '\n' && character != '\t' && character != '\r';
    if (length == 0 || control || character == 0xfffe || character == 0xffff)
        return 0;
    html_put(out, bytes, character_put(character, bytes));
    return length;
}

int xml_decode(const struct xml_scan *scan, const struct xml_token *token, struct arena *arena, struct html_bytes *out,
               struct error *err) {
    const char *at = token->begin, *end = token->end;
    *out = bytes_between(at, end);
    if (token->kind == XML_CDATA || !memchr(at, '&', out->length))
        return 0;
    struct html_buffer text = {.arena = arena};
    while (at < end) {
        const char *mark = memchr(at, '&', (size_t)(end - at)), *plain_end = mark ? mark : end;
        html_put(&text, at, (size_t)(plain_end - at));
        at = plain_end;
        if (!mark)
            break;
        size_t length = put_reference(&text, at, end);
        if (length == 0)
            return refuse(scan, at, "unknown reference:", bytes_between(at, end - at > MOST_REFERENCE ? at + MOST_REFERENCE : end),
                          err);
        at += length;
    }
    if (text.failed)
        return error_memory(err);
    *out = (struct html_bytes){text.bytes, text.length};
    return 0;
}
