/* This module hides how XML is read without a library: tag by tag, for callers that rewrite the
 * document, and into pieces that nest. Tags stay byte for byte as they are, and nothing is looked
 * up or expanded, so that time and memory are linear in the length of the markup. In pieces, a
 * reference other than a number or one of XML's own five is a unit. */
#include "server/markup/xml.h"
#include "model/base/utf8.h"
#include "server/markup/html.h"
#include "server/markup/segment.h"
#include <ctype.h>

enum { NAME_SHOWN = 40, MOST_REFERENCE = 40, UTF8_BYTES = 4 };
enum {
    CHECKED_BYTES = 16 * 1024 /* at once */,
    FOUND_BYTES = 64 * 1024,
    FOUND_STEPS = 16,
    STEP_BYTES = 64 /* bytes of a token for each step of the budget */
};
/* These limits keep the time for one tag far below a turn of the budget. Values have no limit,
 * since they may hold pictures and are searched by memchr. */
enum { MOST_NAME = 1024, MOST_BESIDE_VALUES = 32 * 1024, MOST_DOCTYPE = 64 * 1024 };

static int refuse(const char *document, const char *at, const char *what, struct bytes name,
                  struct error *err) {
    int shown = (int)utf8_clip(name.start, name.length, NAME_SHOWN);
    return markup_error_at(err, document, at, "%s%s%.*s", what, shown > 0 ? " " : "", shown,
                           name.start);
}

/* ---- names, tags and attributes ---- */

/* Returns the name that begins at `at` and may be empty. */
static struct bytes name_at(const char *at, const char *end) {
    const char *begin = at;
    while (at < end && !byte_is_space(*at) && !strchr("<>/=\"'&", *at))
        at++;
    return bytes_between(begin, at);
}

/* Returns the end of a tag, past its '>'; quoted values may contain '>', too. Returns NULL if the
 * tag is incomplete or, with *large set, if it has more than `most` bytes outside its values. */
static const char *tag_end(const char *at, const char *end, size_t most, bool *large) {
    for (size_t beside = 0; at < end && *at != '>' && *at != '<'; beside++) {
        *large = beside == most;
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

/* Returns the end of a document type declaration, past its '>', or NULL if it has no end; its
 * values and inner declarations may contain '>', too. at: after "<!DOCTYPE". */
static const char *doctype_end(const char *at, const char *end) {
    bool inside = false; /* `at` is within the brackets */
    while (at < end && (inside || *at != '>')) {
        bool comment = bytes_begin(at, end, "<!--"), quote = *at == '"' || *at == '\'';
        const char *found = comment ? memmem(at + 4, (size_t)(end - at) - 4, "-->", 3)
                            : quote ? memchr(at + 1, *at, (size_t)(end - at) - 1)
                                    : at;
        if (!found)
            return NULL;
        inside = !comment && !quote && *at == '['   ? true
                 : !comment && !quote && *at == ']' ? false
                                                    : inside;
        at = found + (comment ? 3 : 1);
    }
    return at < end ? at + 1 : NULL;
}

struct bytes xml_local_name(struct bytes name) {
    const char *colon = name.length > 0 ? memchr(name.start, ':', name.length) : NULL;
    return colon ? bytes_between(colon + 1, name.start + name.length) : name;
}

bool xml_next_attribute(const struct xml_token *tag, const char **at, struct xml_attribute *out) {
    const char *end = tag->end - 1, *begin = *at               ? *at
                                             : tag->name.start ? tag->name.start + tag->name.length
                                                               : tag->begin + 5;
    const char *from = begin;
    while (from < end && (byte_is_space(*from) || *from == '/'))
        from++;
    const char *equals = memchr(from, '=', (size_t)(end - from)), *open = equals ? equals + 1 : end;
    while (open < end && byte_is_space(*open))
        open++;
    const char *close = open < end && strchr("\"'", *open)
                            ? memchr(open + 1, *open, (size_t)(end - open) - 1)
                            : NULL;
    if (!close)
        return false;
    while (equals > from && byte_is_space(equals[-1]))
        equals--;
    *out = (struct xml_attribute){begin, close + 1, bytes_between(from, equals),
                                  bytes_between(open + 1, close)};
    *at = close + 1;
    return true;
}

bool xml_attribute(const struct xml_token *tag, const char *name, struct bytes *value) {
    struct xml_attribute attribute;
    for (const char *at = NULL; xml_next_attribute(tag, &at, &attribute);)
        if (bytes_are(xml_local_name(attribute.name), name) || bytes_are(attribute.name, name)) {
            *value = attribute.value;
            return true;
        }
    return false;
}

/* ---- references ---- */

/* Reads the reference that begins at `at`: one of XML's own five or, if `all` is set, of HTML's, or
 * the number of a character that XML allows (XML 1.0, production 2). Returns its length, or 0. */
static size_t read_character(const char *at, const char *end, bool all, int32_t *character) {
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    for (size_t i = 0; i < 5; i++)
        if (bytes_begin(at, end, names[i])) {
            *character = "&<>\"'"[i];
            return strlen(names[i]);
        }
    size_t length = html_reference(at, end, character);
    bool is_known = length > 0 && *character >= 0 && (all || at[1] == '#');
    return is_known && *character != 0xfffe && *character != 0xffff ? length : 0;
}

int xml_decode(const char *document, const struct xml_token *token, struct arena *arena,
               struct bytes *out, struct error *err) {
    const char *at = token->begin, *end = token->end;
    *out = bytes_between(at, end);
    if (token->kind == XML_CDATA || !memchr(at, '&', out->length))
        return 0;
    struct bytes_buffer text = {.arena = arena};
    while (at < end) {
        const char *mark = memchr(at, '&', (size_t)(end - at)), *plain_end = mark ? mark : end;
        bytes_put(&text, at, (size_t)(plain_end - at));
        at = plain_end;
        if (!mark)
            break;
        char bytes[UTF8_BYTES];
        int32_t character;
        size_t length = read_character(at, end, true, &character);
        if (length == 0)
            return refuse(document, at, "unknown reference:",
                          (struct bytes){at, utf8_clip(at, (size_t)(end - at), MOST_REFERENCE)},
                          err);
        bytes_put(&text, bytes, character_put(character, bytes));
        at += length;
    }
    if (text.failed)
        return error_memory(err);
    *out = (struct bytes){text.bytes, text.length};
    return 0;
}

/* ---- tag by tag ---- */

const char *xml_find(struct bytes bytes, const char *text, struct budget *budget) {
    size_t length = strlen(text);
    for (size_t at = 0; at < bytes.length; at += FOUND_BYTES) {
        size_t left = bytes.length - at, looked = FOUND_BYTES + length - 1;
        const char *found = memmem(bytes.start + at, left < looked ? left : looked, text, length);
        if (found || !budget_step(budget, FOUND_STEPS))
            return found;
    }
    return NULL;
}

void xml_scan_begin(struct xml_scan *scan, struct bytes document, bool doctype,
                    struct budget *budget) {
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

/* Reads a token that begins with "<!" or "<?". */
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
            return markup_error_at(err, scan->begin, begin,
                                   i == 2 ? "a CDATA section has no end"
                                          : "a comment or an instruction has no end");
        scan->at = token->end = close + strlen(others[i][1]);
        if (i == 2)
            *token = (struct xml_token){.kind = XML_CDATA, .begin = content, .end = close};
        return 1;
    }
    bool declares = scan->doctype && !scan->rooted && scan->end - begin > 9 &&
                    strncasecmp(begin, "<!doctype", 9) == 0;
    bool near = scan->end - begin <= MOST_DOCTYPE;
    const char *end =
        declares ? doctype_end(begin + 9, near ? scan->end : begin + MOST_DOCTYPE) : NULL;
    if (!end && declares)
        return markup_error_at(err, scan->begin, begin,
                               near ? "the document type has no end"
                                    : "the document type is longer than 64 KiB");
    if (!end)
        return markup_error_at(err, scan->begin, begin,
                               "declarations, such as a document type, are not allowed here");
    scan->at = token->end = end;
    return 1;
}

static int read_tag(struct xml_scan *scan, struct xml_token *token, struct error *err) {
    const char *begin = scan->at;
    bool is_end = scan->end - begin > 1 && begin[1] == '/';
    const char *name = begin + 1 + is_end;
    bool large = false;
    token->name = name_at(name, scan->end - name > MOST_NAME ? name + MOST_NAME + 1 : scan->end);
    if (token->name.length > MOST_NAME)
        return markup_error_at(err, scan->begin, begin,
                               "the name of an element is longer than %d bytes", MOST_NAME);
    const char *end = token->name.length > 0 ? tag_end(name + token->name.length, scan->end,
                                                       MOST_BESIDE_VALUES, &large)
                                             : NULL;
    if (large)
        return markup_error_at(err, scan->begin, begin,
                               "a tag has more than %d KiB beside its values",
                               MOST_BESIDE_VALUES / 1024);
    if (!end)
        return markup_error_at(err, scan->begin, begin, "incomplete tag");
    scan->at = token->end = end;
    if (is_end) {
        token->kind = XML_END;
        if (scan->depth == 0 || !bytes_same(scan->open[scan->depth - 1], token->name))
            return refuse(scan->begin, begin, "mismatched end tag:", token->name, err);
        scan->depth--;
        return 1;
    }
    if (scan->depth == 0 && scan->rooted)
        return refuse(scan->begin, begin, "there is a second root:", token->name, err);
    scan->rooted = true;
    token->kind = end[-2] == '/' ? XML_EMPTY : XML_START;
    if (token->kind == XML_EMPTY)
        return 1;
    if (scan->depth == MARKUP_MAX_DEPTH)
        return markup_error_at(err, scan->begin, begin, "elements nest deeper than %d",
                               MARKUP_MAX_DEPTH);
    scan->open[scan->depth++] = token->name;
    return 1;
}

int xml_next(struct xml_scan *scan, struct xml_token *token, struct error *err) {
    const char *begin = scan->at;
    *token = (struct xml_token){.kind = XML_TEXT, .begin = begin};
    if (begin == scan->end) {
        if (scan->depth > 0)
            return refuse(scan->begin, begin, "missing end tag:", scan->open[scan->depth - 1], err);
        return scan->rooted ? 0 : markup_error_at(err, scan->begin, begin, "there are no elements");
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
    if (read < 0)
        return -1;

    /* The bytes must be UTF-8 without control characters, which XML does not allow and the notation
     * of messages uses. */
    for (const char *at = begin; at < scan->at;) {
        size_t left = (size_t)(scan->at - at), checked = utf8_clip(at, left, CHECKED_BYTES);
        if (checked == 0 || !utf8_valid(at, checked))
            return error_set(err, ERROR_INPUT, "it is not valid UTF-8");
        for (const char *c = at; c < at + checked; c++)
            if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t' && *c != '\r')
                return markup_error_at(err, scan->begin, begin, "there is a control character");
        if (!budget_step(scan->budget, checked / STEP_BYTES))
            return error_memory(err);
        at += checked;
    }
    return budget_step(scan->budget, 1) ? 1 : error_memory(err);
}

/* ---- into pieces ---- */

struct element {
    struct bytes name;
    uint32_t piece;
    bool content; /* there is text or an element in it */
};

struct reader {
    const struct xml_tags *tags;
    const char *begin, *at, *end; /* the markup; read up to `at` */
    struct arena *arena;
    struct piece *pieces;
    size_t count, capacity;
    struct element open[MARKUP_MAX_DEPTH];
    size_t depth;
    size_t opaque;    /* the depth of the outermost open element that is not translated; 0: none */
    bool text_at_top; /* there is text that is not blank outside of all elements */
    struct bytes_buffer text; /* since the last piece */
    struct error *err;
};

static int add(struct reader *reader, enum piece_kind kind, const char *bytes, size_t length) {
    if (reader->count == MARKUP_MAX_PIECES)
        return markup_error_at(reader->err, reader->begin, reader->at,
                               "the markup has more than %d tags, texts and comments",
                               MARKUP_MAX_PIECES);
    struct piece *pieces = arena_grow(reader->arena, reader->pieces, reader->count,
                                      &reader->capacity, 1, sizeof *reader->pieces);
    if (!pieces)
        return error_memory(reader->err);
    reader->pieces = pieces;
    pieces[reader->count++] = (struct piece){.raw = bytes,
                                             .length = (uint32_t)length,
                                             .kind = (uint8_t)(reader->opaque ? PIECE_RAW : kind),
                                             .plain = kind == PIECE_TEXT};
    return 0;
}

static int end_text(struct reader *reader) {
    struct bytes_buffer *text = &reader->text;
    size_t length = text->length, blank = 0;
    if (text->failed)
        return error_memory(reader->err);
    if (length == 0)
        return 0;
    char *copy = arena_copy(reader->arena, text->bytes, length);
    text->length = 0;
    if (!copy)
        return error_memory(reader->err);

    for (size_t i = 0; i < length; i++) /* XML has no notation for other control characters */
        if ((unsigned char)copy[i] < ' ' && !memchr("\t\n\r", copy[i], 3))
            copy[i] = ' ';

    /* Until segments are cut, `end` of the innermost open element's piece says that the element has
     * text of its own. */
    while (blank < length && byte_is_space(copy[blank]))
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

/* Reads character data. An ampersand that does not begin a reference is a character. */
static int read_text(struct reader *reader) {
    while (reader->at < reader->end && *reader->at != '<') {
        const char *begin = reader->at;
        while (begin < reader->end && *begin != '<' && *begin != '&')
            begin++;
        bytes_put(&reader->text, reader->at, (size_t)(begin - reader->at));
        reader->at = begin;
        if (begin == reader->end || *begin != '&')
            continue;
        const char *end = begin + 1;
        char bytes[UTF8_BYTES];
        int32_t character = '&';
        while (end < reader->end && end - begin < MOST_REFERENCE &&
               (*end == '#' || isalnum((unsigned char)*end)))
            end++;
        bool whole = end > begin + 1 && end < reader->end && *end == ';';
        reader->at = whole ? end + 1 : begin + 1;
        if (!whole || read_character(begin, reader->at, false, &character) != 0)
            bytes_put(&reader->text, bytes, character_put(character, bytes));
        else if (end_text(reader) != 0 ||
                 add(reader, PIECE_UNIT, begin, (size_t)(reader->at - begin)) != 0)
            return -1;
    }
    return 0;
}

/* ---- tags ---- */

static bool records_is_listed(const struct xml_names *names, struct bytes name) {
    for (size_t i = 0; i < names->count; i++)
        if (bytes_are(name, names->all[i]))
            return true;
    return false;
}

static int read_start(struct reader *reader) {
    const char *begin = reader->at;
    struct bytes name = name_at(begin + 1, reader->end);
    struct html_attribute attribute;
    bool large, keeps = false;
    const char *at = name.start + name.length,
               *end = name.length > 0 ? tag_end(at, reader->end, SIZE_MAX, &large) : NULL;
    if (!end)
        return markup_error_at(reader->err, reader->begin, begin, "incomplete tag");
    if (reader->depth == MARKUP_MAX_DEPTH)
        return markup_error_at(reader->err, reader->begin, begin, "elements nest deeper than %d",
                               MARKUP_MAX_DEPTH);
    bool is_void = end[-2] == '/';
    uint32_t parent = reader->depth > 0 ? reader->open[reader->depth - 1].piece + 1 : 0;
    if (reader->depth > 0)
        reader->open[reader->depth - 1].content = true;
    reader->at = end;
    if (add(reader, is_void ? PIECE_UNIT : PIECE_OPEN, begin, (size_t)(end - begin)) != 0)
        return -1;
    struct piece *piece = &reader->pieces[reader->count - 1];
    piece->begin = parent;
    if (is_void)
        return 0;
    reader->open[reader->depth++] = (struct element){name, (uint32_t)reader->count - 1, false};
    while (!reader->opaque && !keeps && html_next_attribute(&at, end, &attribute))
        keeps = bytes_are(attribute.name, "translate") && bytes_are_any_case(attribute.value, "no");
    if (!reader->opaque && (keeps || records_is_listed(&reader->tags->ignored, name))) {
        reader->opaque = reader->depth;
        piece->opaque = piece->stands_in = true;
    }
    return 0;
}

static int read_end(struct reader *reader) {
    const char *begin = reader->at, *end = memchr(begin, '>', (size_t)(reader->end - begin));
    struct bytes name = name_at(begin + 2, reader->end);
    const struct element *element = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;
    if (!end)
        return markup_error_at(reader->err, reader->begin, begin, "incomplete tag");
    if (!element || !bytes_same(element->name, name))
        return refuse(reader->begin, begin,
                      element ? "mismatched end tag:" : "end tag without a start tag:", name,
                      reader->err);
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

/* Returns 1 if there was one of them, 0 if not, -1 on failure. */
static int add_other(struct reader *reader) {
    static const struct {
        const char *begin, *end;
        enum piece_kind kind;
    } others[] = {
        {"<!--", "-->", PIECE_UNIT}, {"<?", "?>", PIECE_BREAK}, {"<![CDATA[", "]]>", PIECE_TEXT}};
    static const char doctype[] = "<!DOCTYPE";
    const char *begin = reader->at;
    size_t left = (size_t)(reader->end - begin);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t mark = strlen(others[i].begin);
        if (!bytes_begin(begin, reader->end, others[i].begin))
            continue;
        const char *end = memmem(begin + mark, left - mark, others[i].end, strlen(others[i].end));
        if (!end)
            return refuse(reader->begin, begin, "missing end of",
                          (struct bytes){others[i].begin, mark}, reader->err);
        reader->at = end + strlen(others[i].end);
        if (others[i].kind == PIECE_TEXT)
            bytes_put(&reader->text, begin + mark, (size_t)(end - begin) - mark);
        else if (end_text(reader) != 0 ||
                 add(reader, others[i].kind, begin, (size_t)(reader->at - begin)) != 0)
            return -1;
        return 1;
    }
    if (reader->tags->doctype && reader->depth == 0 && left > sizeof doctype &&
        strncasecmp(begin, doctype, sizeof doctype - 1) == 0) {
        const char *end = doctype_end(begin + sizeof doctype - 1, reader->end);
        if (!end)
            return refuse(reader->begin, begin, "missing end of",
                          (struct bytes){doctype, sizeof doctype - 1}, reader->err);
        reader->at = end;
        return end_text(reader) == 0 && add(reader, PIECE_BREAK, begin, (size_t)(end - begin)) == 0
                   ? 1
                   : -1;
    }
    if (left > 1 && begin[1] == '!')
        return markup_error_at(reader->err, reader->begin, begin,
                               "declarations, such as a document type, are not allowed");
    return 0;
}

/* ---- the whole markup ---- */

int xml_pieces(const char *text, size_t length, const struct xml_tags *tags, struct arena *arena,
               struct markup *out, struct error *err) {
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    if (!reader)
        return error_memory(err);
    *reader = (struct reader){.tags = tags,
                              .begin = text,
                              .at = text,
                              .end = text + length,
                              .arena = arena,
                              .text.arena = arena,
                              .err = err};
    while (reader->at < reader->end) {
        if (read_text(reader) != 0)
            return -1;
        int other = reader->at < reader->end ? add_other(reader) : 1;
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
    if (reader->depth > 0)
        return refuse(text, reader->end, "missing end tag:", reader->open[reader->depth - 1].name,
                      err);

    /* Tags end segments if they are listed or, in an outline, if there is no text beside the
     * element. */
    for (size_t i = 0; i < reader->count; i++) {
        struct piece *piece = &reader->pieces[i];
        if (piece->kind != PIECE_OPEN || piece->opaque)
            continue;
        struct bytes name = name_at(piece->raw + 1, piece->raw + piece->length);
        bool within_text =
            piece->begin > 0 ? reader->pieces[piece->begin - 1].end : reader->text_at_top;
        bool splits =
            tags->outline && !within_text && !records_is_listed(&tags->inline_names, name);
        if (splits || records_is_listed(&tags->splitting, name))
            piece->kind = reader->pieces[piece->pair].kind = PIECE_BREAK;
    }
    for (size_t i = 0; i < reader->count; i++)
        reader->pieces[i].begin = reader->pieces[i].end = 0;
    *out =
        (struct markup){.pieces = reader->pieces, .piece_count = reader->count, .units_part = true};
    return 0;
}

int markup_parse_xml(const char *text, size_t length, const struct xml_tags *tags,
                     struct arena *arena, struct markup *out, struct error *err) {
    struct markup markup;
    if (length >= MARKUP_MAX_BYTES)
        return error_set(err, ERROR_LENGTH, "the markup is too long");
    if (xml_pieces(text, length, tags, arena, &markup, err) != 0)
        return -1;
    return segment_cut(&markup, arena, out, err);
}
