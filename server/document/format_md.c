/* Markdown with GitHub's tables and strikethrough. cmark tells the blocks and what is inline in them; a second walk, over the
 * source itself, finds where each of it is written, so that everything keeps its notation. A block in which the two do not agree
 * stays as it is. Never translated: front matter, code, HTML, addresses of links, definitions of references. */
#include "model/text/character.h"
#include "server/document/format.h"
#include "server/document/markdown.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCE = 40 };

/* A block of inline content, and where it begins. */
struct block {
    size_t begin;
    cmark_node *node;
};

struct md_reader {
    struct html_builder builder;
    const char *at, *end;
    const char *done;   /* the document up to here is in pieces */
    char *decoded;      /* what is left of room for text that is not as it is written */
    const char **lines; /* [line_count] their begins */
    size_t line_count;
    struct block *blocks; /* [block_count] */
    size_t block_count, block_room;
    struct arena *arena;
};

/* ---- notation ---- */

static bool is_mark(char c) {
    return ispunct((unsigned char)c) != 0;
}

/* Bytes of "&name;" that begins there; 0: none does. */
static size_t reference_length(const char *at, const char *end) {
    const char *c = at + 1;
    while (c < end && c - at < MOST_REFERENCE && (isalnum((unsigned char)*c) || *c == '#'))
        c++;
    return c < end && *c == ';' && c > at + 1 ? (size_t)(c + 1 - at) : 0;
}

/* What a reference stands for, of those that texts have, in UTF-8 [*length]. NULL: it is another one. buffer: for its character. */
static const char *decode(const char *reference, size_t bytes, char buffer[4], size_t *length) {
    static const char *const known[][2] = {
        {"amp", "&"},        {"lt", "<"},         {"gt", ">"},         {"quot", "\""},      {"apos", "'"},
        {"nbsp", "\u00a0"},  {"copy", "\u00a9"},  {"reg", "\u00ae"},   {"trade", "\u2122"}, {"hellip", "\u2026"},
        {"mdash", "\u2014"}, {"ndash", "\u2013"}, {"laquo", "\u00ab"}, {"raquo", "\u00bb"}, {"lsquo", "\u2018"},
        {"rsquo", "\u2019"}, {"ldquo", "\u201c"}, {"rdquo", "\u201d"}, {"bull", "\u2022"},  {"middot", "\u00b7"},
        {"times", "\u00d7"}, {"deg", "\u00b0"},   {"euro", "\u20ac"},  {"shy", "\u00ad"},
    };
    const char *name = reference + 1;
    size_t name_length = bytes - 2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == name_length && memcmp(known[i][0], name, name_length) == 0) {
            *length = strlen(known[i][1]);
            return known[i][1];
        }
    bool hexadecimal = name_length > 2 && (name[1] == 'x' || name[1] == 'X');
    long number = *name == '#' && name_length < 10 ? strtol(name + 1 + hexadecimal, NULL, hexadecimal ? 16 : 10) : 0;
    if (number < ' ' || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
        return NULL;
    *length = character_put((int32_t)number, buffer);
    return buffer;
}

/* Behind so many of the character; NULL: they are not there. */
static const char *skip_marks(const char *at, const char *end, char mark, size_t count) {
    for (; count > 0; count--, at++)
        if (at == end || *at != mark)
            return NULL;
    return at;
}

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* A line's end, and what the next one has in front of its text: indentation, marks of quotations. */
static const char *skip_line_end(const char *at, const char *end) {
    at = skip_space(at, end);
    if (at == end || (*at != '\n' && *at != '\r'))
        return NULL;
    at += *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 1;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '>'))
        at++;
    return at;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

/* Up to the mark that ends it, escapes apart; NULL: there is none. */
static const char *skip_until(const char *at, const char *end, char mark) {
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == mark)
            return at + 1;
    }
    return NULL;
}

/* An address in parentheses that nest, or in angles. */
static const char *skip_address(const char *at, const char *end) {
    size_t depth = 0;
    if (at < end && *at == '<')
        return skip_until(at + 1, end, '>');
    for (; at < end && !isspace((unsigned char)*at) && (*at != ')' || depth > 0); at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')')
            depth--;
    }
    return at;
}

/* (address "title"); NULL: it is none. */
static const char *skip_target(const char *at, const char *end) {
    const char *address = at < end && *at == '(' ? skip_address(skip_blanks(at + 1, end), end) : NULL;
    if (!address)
        return NULL;
    at = skip_blanks(address, end);
    if (at < end && at > address && strchr("\"'(", *at)) {
        const char *behind = skip_until(at + 1, end, *at == '(' ? ')' : *at);
        at = behind ? skip_blanks(behind, end) : end;
    }
    return at < end && *at == ')' ? at + 1 : NULL;
}

/* ](address), ][name], ] */
static const char *skip_link_end(const char *at, const char *end) {
    at = skip_marks(at, end, ']', 1);
    const char *target = at ? skip_target(at, end) : NULL;
    if (target || !at || at == end || *at != '[')
        return target ? target : at;
    const char *name = skip_until(at + 1, end, ']');
    return name ? name : at;
}

/* ---- the walk ---- */

/* text: of a node; as it is written at reader->at, with escapes and references. */
static bool take_text(struct md_reader *reader, const char *text) {
    const char *begin = reader->at, *at = begin, *end = reader->end;
    size_t length = strlen(text), read = 0;
    while (read < length) {
        char buffer[4];
        size_t reference = at < end && *at == '&' ? reference_length(at, end) : 0, bytes;
        const char *decoded = reference > 0 ? decode(at, reference, buffer, &bytes) : NULL;
        if (decoded) {
            if (strncmp(text + read, decoded, bytes) != 0)
                return false;
            at += reference;
            read += bytes;
            continue;
        }
        if (at + 1 < end && *at == '\\' && is_mark(at[1]) && at[1] == text[read])
            at++;
        if (at == end || *at != text[read])
            return false;
        at++;
        read++;
    }
    struct html_bytes raw = bytes_between(begin, at), own = raw;
    if (raw.length != length || memcmp(begin, text, length) != 0) {
        memcpy(reader->decoded, text, length);
        own = (struct html_bytes){reader->decoded, length};
        reader->decoded += length;
    }
    if (length > 0)
        html_add_text(&reader->builder, own, raw);
    reader->at = at;
    return true;
}

static bool take_unit(struct md_reader *reader, const char *behind) {
    if (!behind)
        return false;
    html_add_unit(&reader->builder, bytes_between(reader->at, behind));
    reader->at = behind;
    return true;
}

static bool take_soft_break(struct md_reader *reader) {
    const char *behind = skip_line_end(reader->at, reader->end);
    if (behind)
        html_add_text(&reader->builder, (struct html_bytes){" ", 1}, bytes_between(reader->at, behind));
    reader->at = behind ? behind : reader->at;
    return behind != NULL;
}

static bool take_hard_break(struct md_reader *reader) {
    const char *at = reader->at + (reader->at < reader->end && *reader->at == '\\');
    const char *behind = skip_line_end(at, reader->end);
    if (behind)
        html_add_break(&reader->builder, bytes_between(reader->at, behind));
    reader->at = behind ? behind : reader->at;
    return behind != NULL;
}

static bool take_code(struct md_reader *reader) {
    const char *open = reader->at, *end = reader->end;
    while (open < end && *open == '`')
        open++;
    size_t marks = (size_t)(open - reader->at);
    for (const char *at = open; marks > 0 && at < end;) {
        const char *close = at;
        while (close < end && *close == '`')
            close++;
        if ((size_t)(close - at) == marks) {
            html_add_code(&reader->builder, bytes_between(reader->at, open), bytes_between(open, at), bytes_between(at, close));
            reader->at = close;
            return true;
        }
        at = close > at ? close : at + 1;
    }
    return false;
}

static bool take_open(struct md_reader *reader, const char *behind) {
    if (!behind || !html_add_open(&reader->builder, bytes_between(reader->at, behind)))
        return false;
    reader->at = behind;
    return true;
}

static bool take_close(struct md_reader *reader, const char *behind) {
    if (!behind || !html_add_close(&reader->builder, bytes_between(reader->at, behind)))
        return false;
    reader->at = behind;
    return true;
}

/* * or _, as often as the element needs; ~ once or twice. */
static const char *skip_emphasis(const struct md_reader *reader, size_t count) {
    char mark = reader->at < reader->end ? *reader->at : '\0';
    return mark == '*' || mark == '_' ? skip_marks(reader->at, reader->end, mark, count) : NULL;
}

static const char *skip_strike(const struct md_reader *reader) {
    const char *twice = skip_marks(reader->at, reader->end, '~', 2);
    return twice ? twice : skip_marks(reader->at, reader->end, '~', 1);
}

/* Enters or leaves an element. *whole: what is in it has been taken, too. */
static bool take_link(struct md_reader *reader, bool enter, bool image, bool *whole) {
    const char *at = reader->at;
    *whole = enter && !image && at < reader->end && *at == '<';
    if (*whole)
        return take_unit(reader, skip_until(at + 1, reader->end, '>'));
    if (!enter)
        return take_close(reader, skip_link_end(at, reader->end));
    if (image)
        at = skip_marks(at, reader->end, '!', 1);
    return take_open(reader, at ? skip_marks(at, reader->end, '[', 1) : NULL);
}

/* Types of extensions have numbers of their own, at run time. */
static bool is_of(cmark_node *node, const char *extension) {
    return strcmp(cmark_node_get_type_string(node), extension) == 0;
}

static bool is_element(cmark_node *node) {
    cmark_node_type type = cmark_node_get_type(node);
    return type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE || type == CMARK_NODE_EMPH || type == CMARK_NODE_STRONG ||
           is_of(node, "strikethrough");
}

static bool take_inline(struct md_reader *reader, cmark_node *node, bool enter, bool *whole) {
    cmark_node_type type = cmark_node_get_type(node);
    const char *literal = cmark_node_get_literal(node);
    if (type == CMARK_NODE_TEXT)
        return take_text(reader, literal);
    if (type == CMARK_NODE_SOFTBREAK)
        return take_soft_break(reader);
    if (type == CMARK_NODE_LINEBREAK)
        return take_hard_break(reader);
    if (type == CMARK_NODE_CODE)
        return take_code(reader);
    if (type == CMARK_NODE_HTML_INLINE) {
        size_t length = strlen(literal);
        bool there = (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, literal, length) == 0;
        return take_unit(reader, there ? reader->at + length : NULL);
    }
    if (type == CMARK_NODE_FOOTNOTE_REFERENCE)
        return take_unit(reader, skip_until(reader->at, reader->end, ']'));
    if (type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE)
        return take_link(reader, enter, type == CMARK_NODE_IMAGE, whole);
    bool strike = is_of(node, "strikethrough");
    if (!strike && type != CMARK_NODE_EMPH && type != CMARK_NODE_STRONG)
        return false;
    const char *behind = strike ? skip_strike(reader) : skip_emphasis(reader, type == CMARK_NODE_EMPH ? 1 : 2);
    return enter ? take_open(reader, behind) : take_close(reader, behind);
}

/* All that is inline in the block. False: it is written otherwise than it was read. */
static bool take_inlines(struct md_reader *reader, cmark_node *block) {
    struct markdown_step step = {block, true};
    while (markdown_next(block, &step)) {
        bool whole = false;
        if (!step.enter && !is_element(step.node))
            continue;
        if (!take_inline(reader, step.node, step.enter, &whole))
            return false;
        if (whole)
            step.enter = false;
    }
    return true;
}

/* ---- blocks ---- */

static bool has_text(cmark_node *node) {
    cmark_node_type type = cmark_node_get_type(node);
    return type == CMARK_NODE_PARAGRAPH || type == CMARK_NODE_HEADING || is_of(node, "table_cell");
}

/* Where it says it begins, behind the marks of a heading or a cell. */
static const char *content_of(const struct md_reader *reader, cmark_node *node) {
    int line = cmark_node_get_start_line(node), column = cmark_node_get_start_column(node);
    if (line < 1 || (size_t)line > reader->line_count || column < 1)
        return NULL;
    const char *begin = reader->lines[line - 1];
    const char *end = (size_t)line < reader->line_count ? reader->lines[line] : reader->end;
    if (column > end - begin)
        return NULL;
    const char *at = skip_space(begin + column - 1, end);
    char mark = cmark_node_get_type(node) == CMARK_NODE_HEADING ? '#' : '|';
    if (cmark_node_get_type(node) != CMARK_NODE_PARAGRAPH)
        while (at < end && *at == mark)
            at++;
    at = skip_space(at, end);
    bool task = is_of(cmark_node_parent(node), "tasklist") && end - at > 3 && at[0] == '[' && at[2] == ']';
    return task ? skip_space(at + 3, end) : at;
}

static int add_block(struct md_reader *reader, cmark_node *node) {
    const char *content = content_of(reader, node);
    if (!content)
        return 0;
    struct block *blocks = arena_grow(reader->arena, reader->blocks, reader->block_count, &reader->block_room, 1, sizeof *blocks);
    if (!blocks)
        return -1;
    reader->blocks = blocks;
    blocks[reader->block_count++] = (struct block){(size_t)(content - reader->lines[0]), node};
    return 0;
}

static int compare_blocks(const void *a, const void *b) {
    const struct block *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* In their order in the source: footnotes stand at the tree's end. */
static int find_blocks(struct md_reader *reader, cmark_node *document) {
    struct markdown_step step = {document, true};
    while (markdown_next(document, &step))
        if (step.enter && has_text(step.node) && add_block(reader, step.node) != 0)
            return -1;
    if (reader->block_count > 0)
        qsort(reader->blocks, reader->block_count, sizeof *reader->blocks, compare_blocks);
    return 0;
}

static void take_block(struct md_reader *reader, const struct block *block) {
    const char *begin = reader->lines[0] + block->begin;
    if (begin < reader->done)
        return;
    struct md_reader before = *reader;
    html_add_break(&reader->builder, bytes_between(reader->done, begin));
    reader->at = begin;
    if (take_inlines(reader, block->node) && html_depth(&reader->builder) == 0)
        reader->done = reader->at;
    else if (!reader->builder.failed)
        *reader = before;
}

static int find_lines(struct md_reader *reader, const char *begin) {
    struct line line = {.next = begin};
    size_t room = 0;
    while (line_next(&line, reader->end)) {
        const char **lines = arena_grow(reader->arena, reader->lines, reader->line_count, &room, 1, sizeof *lines);
        if (!lines)
            return -1;
        reader->lines = lines;
        lines[reader->line_count++] = line.begin;
    }
    return 0;
}

/* Behind the YAML or TOML between two lines of dashes or of pluses at the document's begin. */
static const char *skip_front_matter(const char *source, const char *end) {
    struct line line = {.next = source};
    if (!line_next(&line, end))
        return source;
    struct html_bytes mark = line_trimmed(&line);
    if (mark.length != 3 || (memcmp(mark.start, "---", 3) != 0 && memcmp(mark.start, "+++", 3) != 0))
        return source;
    while (line_next(&line, end)) {
        struct html_bytes text = line_trimmed(&line);
        if (text.length == 3 && memcmp(text.start, mark.start, 3) == 0)
            return line.next;
    }
    return source;
}

/* ---- text as Markdown ---- */

/* Only indentation and marks of blocks stand before it in its line. */
static bool begins_block(const struct html_buffer *out) {
    size_t at = out->length;
    while (at > 0 && strchr(" \t>*+-#.)0123456789|", out->bytes[at - 1]))
        at--;
    return at == 0 || out->bytes[at - 1] == '\n' || out->bytes[at - 1] == '\r';
}

/* Of text that begins a block: the byte before which an escape keeps it from being a list, a heading or a quotation; length: none.
 */
static size_t block_mark(const char *text, size_t length) {
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[digits]))
        digits++;
    if (length > 0 && strchr("#>+-=", *text))
        return 0;
    return digits > 0 && digits < length && (text[digits] == '.' || text[digits] == ')') ? digits : length;
}

static bool is_marked(const char *text, size_t length, size_t at) {
    bool inside = at > 0 && at + 1 < length && (isalnum((unsigned char)text[at - 1]) || text[at - 1] < 0) &&
                  (isalnum((unsigned char)text[at + 1]) || text[at + 1] < 0);
    switch (text[at]) {
    case '\\':
    case '`':
    case '*':
    case '[':
    case ']':
    case '<':
    case '|':
        return true;
    case '_':
        return !inside;
    case '~':
        return at + 1 < length ? text[at + 1] == '~' : at > 0 && text[at - 1] == '~';
    case '&':
        return reference_length(text + at, text + length) > 0;
    default:
        return false;
    }
}

static void md_escape(struct html_buffer *out, const char *text, size_t length) {
    size_t first = length > 0 && begins_block(out) ? block_mark(text, length) : length;
    for (size_t at = 0, plain = 0; at <= length; at++) {
        bool marked = at < length && (at == first || is_marked(text, length, at));
        if (!marked && at < length)
            continue;
        html_put(out, text + plain, at - plain);
        if (marked)
            html_put(out, "\\", 1);
        plain = at;
    }
}

/* ---- all of it ---- */

static int md_read(const char *source, size_t length, struct arena *arena, struct html *out, struct error *err) {
    const char *end = source + length, *begin = skip_front_matter(source, end);
    struct md_reader reader = {.builder.arena = arena, .end = end, .done = source, .arena = arena};
    reader.decoded = arena_alloc(arena, length + 1, 1);
    if (!reader.decoded || find_lines(&reader, begin) != 0)
        return error_memory(err);
    struct markdown *markdown = markdown_open(begin, (size_t)(end - begin), err);
    if (!markdown)
        return -1;
    int result = find_blocks(&reader, markdown_document(markdown));
    for (size_t i = 0; result == 0 && i < reader.block_count; i++)
        take_block(&reader, &reader.blocks[i]);
    markdown_free(markdown);
    if (result != 0)
        return error_memory(err);
    html_add_break(&reader.builder, bytes_between(reader.done, end));
    return html_build(&reader.builder, md_escape, out, err);
}

const struct document_format format_md = {.name = "md",
                                          .extensions = "md markdown",
                                          .media_types = "text/markdown text/x-markdown",
                                          .content_type = "text/markdown; charset=utf-8",
                                          .read = md_read};
