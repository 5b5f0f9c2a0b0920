/* Markdown with GitHub's tables and strikethrough. cmark tells the blocks and what is inline in them; a second walk, over the
 * source itself, finds where each of it is written, so that everything keeps its notation. A block in which the two do not agree
 * stays as it is. Never translated: front matter, code, HTML, addresses of links, definitions of references. */
#include "server/document/format.h"
#include "server/document/markdown.h"
#include "server/document/markdown_notation.h"
#include <stdlib.h>
#include <string.h>

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

/* ---- the walk ---- */

/* text: of a node; as it is written at reader->at, with escapes and references. */
static bool take_text(struct md_reader *reader, const char *text) {
    const char *begin = reader->at, *at = begin, *end = reader->end;
    size_t length = strlen(text), read = 0;
    while (read < length) {
        char buffer[4];
        size_t reference = at < end && *at == '&' ? markdown_reference_length(at, end) : 0, bytes;
        const char *decoded = reference > 0 ? markdown_decode(at, reference, buffer, &bytes) : NULL;
        if (decoded) {
            if (strncmp(text + read, decoded, bytes) != 0)
                return false;
            at += reference;
            read += bytes;
            continue;
        }
        if (at + 1 < end && *at == '\\' && markdown_is_mark(at[1]) && at[1] == text[read])
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
    const char *behind = markdown_skip_line_end(reader->at, reader->end);
    if (behind)
        html_add_text(&reader->builder, (struct html_bytes){" ", 1}, bytes_between(reader->at, behind));
    reader->at = behind ? behind : reader->at;
    return behind != NULL;
}

static bool take_hard_break(struct md_reader *reader) {
    const char *at = reader->at + (reader->at < reader->end && *reader->at == '\\');
    const char *behind = markdown_skip_line_end(at, reader->end);
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
    return mark == '*' || mark == '_' ? markdown_skip_marks(reader->at, reader->end, mark, count) : NULL;
}

static const char *skip_strike(const struct md_reader *reader) {
    const char *twice = markdown_skip_marks(reader->at, reader->end, '~', 2);
    return twice ? twice : markdown_skip_marks(reader->at, reader->end, '~', 1);
}

/* Enters or leaves an element. *whole: what is in it has been taken, too. */
static bool take_link(struct md_reader *reader, bool enter, bool image, bool *whole) {
    const char *at = reader->at;
    *whole = enter && !image && at < reader->end && *at == '<';
    if (*whole)
        return take_unit(reader, markdown_skip_until(at + 1, reader->end, '>'));
    if (!enter)
        return take_close(reader, markdown_skip_link_end(at, reader->end));
    if (image)
        at = markdown_skip_marks(at, reader->end, '!', 1);
    return take_open(reader, at ? markdown_skip_marks(at, reader->end, '[', 1) : NULL);
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
        return take_unit(reader, markdown_skip_until(reader->at, reader->end, ']'));
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
    const char *at = markdown_skip_space(begin + column - 1, end);
    char mark = cmark_node_get_type(node) == CMARK_NODE_HEADING ? '#' : '|';
    if (cmark_node_get_type(node) != CMARK_NODE_PARAGRAPH)
        while (at < end && *at == mark)
            at++;
    at = markdown_skip_space(at, end);
    bool task = is_of(cmark_node_parent(node), "tasklist") && end - at > 3 && at[0] == '[' && at[2] == ']';
    return task ? markdown_skip_space(at + 3, end) : at;
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

/* ---- all of it ---- */

static int md_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    const char *source = document->source, *end = source + document->length, *begin = skip_front_matter(source, end);
    struct md_reader reader = {.builder = document_builder(document, arena), .end = end, .done = source, .arena = arena};
    reader.decoded = arena_alloc(arena, document->length + 1, 1);
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
    return html_build(&reader.builder, markdown_escape, out, err);
}

const struct document_format format_md = {.name = "md",
                                          .extensions = "md markdown",
                                          .media_types = "text/markdown text/x-markdown",
                                          .content_type = "text/markdown; charset=utf-8",
                                          .read = md_read};
