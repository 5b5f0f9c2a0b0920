/* Markdown with GitHub's tables, strikethrough, footnotes, alerts and formulas. cmark tells the blocks and what is inline in them;
 * a second walk, over the source itself, finds where each of it is written, so that everything keeps its notation. A block in which
 * the two do not agree stays as it is. What cmark does not know of (markdown_find_kept) is hidden from it: it reads a copy in which
 * other characters stand there. Never translated: front matter, code, HTML, formulas, addresses of links, definitions of
 * references. */
#include "server/document/format.h"
#include "server/document/markdown.h"
#include "server/document/markdown_notation.h"
#include "server/html/html_piece.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* MOST_SIBLINGS: behind a tag of HTML, among which its end tag is looked for. MOST_DEFINITIONS: lines of them before a paragraph.
 */
enum { MOST_SIBLINGS = 256, MOST_DEFINITIONS = 64, MOST_NAME = 32, MOST_ADDRESS = 32 };

/* A block of inline content, and where it is. */
struct block {
    struct markdown_place place;
    cmark_node *node;
};

/* A tag of HTML that is open in a sentence. */
struct tag {
    cmark_node *close; /* its end tag */
    size_t piece;      /* opaque: all from this piece on is one unit */
    size_t depth;
    const char *begin;
    bool opaque;
};

struct md_reader {
    struct html_builder builder;
    const char *source;          /* without front matter */
    const char *text, *at, *end; /* the same bytes, as cmark has them */
    const char *done;            /* the document up to here is in pieces */
    char *decoded;               /* what is left of room for text that is not as it is written */
    const size_t *lines;         /* [line_count] their begins */
    size_t line_count;
    struct block *blocks; /* [block_count] */
    size_t block_count, block_room;
    struct markdown_kept_list kept;
    size_t next_kept;
    const char *covered; /* up to here all is in pieces: it was kept as a whole */
    bool line_ends;      /* of what covered: it stands by itself */
    bool row;            /* the block is a row of links and images with no words between them */
    const char **opens;  /* [HTML_MAX_DEPTH] where the text of an element that is open begins */
    struct tag *tags;    /* [tag_count], HTML_MAX_DEPTH at most */
    size_t tag_count;
    struct arena *arena;
};

/* As the document has what cmark reads there. */
static struct html_bytes written(const struct md_reader *reader, const char *begin, const char *end) {
    return (struct html_bytes){reader->source + (begin - reader->text), (size_t)(end - begin)};
}

/* ---- the walk ---- */

/* What is kept and begins there; NULL: nothing does. */
static const struct markdown_kept *kept_at(struct md_reader *reader, const char *at) {
    const struct markdown_kept_list *kept = &reader->kept;
    size_t byte = (size_t)(at - reader->text);
    while (reader->next_kept < kept->count && kept->all[reader->next_kept].begin < byte)
        reader->next_kept++;
    return reader->next_kept < kept->count && kept->all[reader->next_kept].begin == byte ? &kept->all[reader->next_kept] : NULL;
}

static void add_kept(struct md_reader *reader, const struct markdown_kept *kept) {
    static const struct html_bytes noun = {"X", 1};
    reader->covered = reader->text + kept->end;
    reader->line_ends = kept->kind == MARKDOWN_LINE;
    struct html_bytes raw = written(reader, reader->text + kept->begin, reader->covered);
    if (kept->kind == MARKDOWN_LINE)
        html_add_break(&reader->builder, raw);
    else if (kept->kind == MARKDOWN_UNIT)
        html_add_unit(&reader->builder, raw);
    else
        html_add_word(&reader->builder, noun, raw);
}

/* text [length]: what has been read from `begin` on. */
static void add_text(struct md_reader *reader, const char *text, size_t length, const char *begin) {
    struct html_bytes raw = written(reader, begin, reader->at), own = raw;
    if (raw.length == 0)
        return;
    if (reader->row && html_depth(&reader->builder) == 0) {
        html_add_break(&reader->builder, raw);
        return;
    }
    if (raw.length != length || memcmp(raw.start, text, length) != 0) {
        memcpy(reader->decoded, text, length);
        own = (struct html_bytes){reader->decoded, length};
        reader->decoded += length;
    }
    html_add_text(&reader->builder, own, raw);
}

static bool take_unit(struct md_reader *reader, const char *behind) {
    if (!behind)
        return false;
    struct html_bytes raw = written(reader, reader->at, behind);
    if (reader->row && html_depth(&reader->builder) == 0)
        html_add_break(&reader->builder, raw);
    else
        html_add_unit(&reader->builder, raw);
    reader->at = behind;
    return true;
}

static size_t character_bytes(const char *text) {
    size_t bytes = 1;
    while (((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes++;
    return bytes;
}

/* text: of a node; as it is written at reader->at, with escapes and references. */
static bool take_text(struct md_reader *reader, const char *text) {
    const char *begin = reader->at, *end = reader->end;
    size_t length = strlen(text), read = 0, first = 0;
    while (read < length) {
        const char *at = reader->at;
        const struct markdown_kept *kept = at >= reader->covered ? kept_at(reader, at) : NULL;
        if (kept && kept->end > kept->begin) {
            add_text(reader, text + first, read - first, begin);
            add_kept(reader, kept);
        }
        size_t reference = at < end && *at == '&' ? markdown_reference_length(at, end) : 0;
        if (reference > 0 && isspace((unsigned char)text[read])) { /* it could not be written otherwise */
            add_text(reader, text + first, read - first, begin);
            take_unit(reader, at + reference);
            begin = reader->at;
            first = ++read;
            continue;
        }
        if (reference > 0 && (text[read] != '&' || markdown_is_ampersand(at, reference))) {
            reader->at += reference;
            read += character_bytes(text + read);
            continue;
        }
        bool escaped = at + 1 < end && *at == '\\' && markdown_is_mark(at[1]) && at[1] == text[read];
        at += escaped;
        if (at == end || *at != text[read])
            return false;
        reader->at = at + 1;
        read++;
        if (reader->at <= reader->covered) {
            begin = reader->at;
            first = read;
        }
    }
    add_text(reader, text + first, length - first, begin);
    return true;
}

/* A tag alone in the first or in the last line of a block. */
static bool is_beside_tag(const struct md_reader *reader, cmark_node *line_end) {
    cmark_node *before = cmark_node_previous(line_end), *behind = cmark_node_next(line_end);
    bool first = before && cmark_node_get_type(before) == CMARK_NODE_HTML_INLINE && !cmark_node_previous(before);
    bool last = behind && cmark_node_get_type(behind) == CMARK_NODE_HTML_INLINE && !cmark_node_next(behind);
    return (first || last) && html_depth(&reader->builder) == 0;
}

/* A line end that a sentence runs over, unless one of its lines stands by itself. */
static bool take_soft_break(struct md_reader *reader, cmark_node *node) {
    const char *line = reader->at, *behind = markdown_skip_line_end(line, reader->end);
    if (!behind)
        return false;
    reader->at = behind;
    if (line < reader->covered)
        return true;
    const struct markdown_kept *end = kept_at(reader, line);
    bool ends = (line == reader->covered && reader->line_ends) || (end && end->kind == MARKDOWN_LINE);
    const struct markdown_kept *next = kept_at(reader, behind);
    struct html_bytes raw = written(reader, line, behind);
    bool row = reader->row && html_depth(&reader->builder) == 0;
    if (ends || (next && next->kind == MARKDOWN_LINE) || row || is_beside_tag(reader, node))
        html_add_break(&reader->builder, raw);
    else
        html_add_text(&reader->builder, (struct html_bytes){" ", 1}, raw);
    return true;
}

static bool take_hard_break(struct md_reader *reader) {
    const char *at = reader->at + (reader->at < reader->end && *reader->at == '\\');
    const char *behind = markdown_skip_line_end(at, reader->end);
    if (behind)
        html_add_break(&reader->builder, written(reader, reader->at, behind));
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
            html_add_code(&reader->builder, written(reader, reader->at, open), written(reader, open, at),
                          written(reader, at, close));
            reader->at = close;
            return true;
        }
        at = close > at ? close : at + 1;
    }
    return false;
}

static bool take_open(struct md_reader *reader, const char *behind) {
    if (!behind || !html_add_open(&reader->builder, written(reader, reader->at, behind)))
        return false;
    reader->at = behind;
    reader->opens[html_depth(&reader->builder) - 1] = behind;
    return true;
}

static bool take_close(struct md_reader *reader, const char *behind) {
    if (!behind || !html_add_close(&reader->builder, written(reader, reader->at, behind)))
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

/* "][name]" of the text of a link that is its own name, in one line. Bytes of length 0: memory. */
static struct html_bytes name_of(struct md_reader *reader, const char *begin, const char *end) {
    char *name = arena_alloc(reader->arena, (size_t)(end - begin) + 4, 1);
    size_t length = 0;
    if (!name)
        return (struct html_bytes){"", 0};
    name[length++] = ']';
    name[length++] = '[';
    for (const char *at = begin; at < end;) {
        const char *next = markdown_skip_line_end(at, end);
        name[length++] = next ? ' ' : written(reader, at, at + 1).start[0];
        at = next ? next : at + 1;
    }
    name[length++] = ']';
    return (struct html_bytes){name, length};
}

static bool take_link_end(struct md_reader *reader) {
    bool by_text;
    const char *behind = markdown_skip_link_end(reader->at, reader->end, &by_text);
    size_t depth = html_depth(&reader->builder);
    if (!behind || !by_text || depth == 0)
        return take_close(reader, behind);
    struct html_bytes name = name_of(reader, reader->opens[depth - 1], reader->at);
    if (name.length == 0 || !html_add_close_or(&reader->builder, written(reader, reader->at, behind), name))
        return false;
    reader->at = behind;
    return true;
}

/* An address that stands for itself, in angles or as it is: a word of the sentence. */
static bool take_address(struct md_reader *reader, cmark_node *node) {
    static const char some[] = "https://a.org"; /* for one that is too long to be a word of the sentence */
    const char *begin = reader->at, *text = cmark_node_get_literal(cmark_node_first_child(node));
    bool angles = begin < reader->end && *begin == '<';
    const char *behind = angles ? markdown_skip_until(begin + 1, reader->end, '>') : begin + (text ? strlen(text) : 0);
    if (!behind || !text || behind > reader->end || behind == begin || (!angles && memcmp(begin, text, strlen(text)) != 0))
        return false;
    bool in_word =
        (begin > reader->text && isalnum((unsigned char)begin[-1])) || (behind < reader->end && isalnum((unsigned char)*behind));
    if (in_word)
        html_add_unit(&reader->builder, written(reader, begin, behind));
    else if (behind - begin > MOST_ADDRESS)
        html_add_word(&reader->builder, (struct html_bytes){some, sizeof some - 1}, written(reader, begin, behind));
    else
        html_add_code(&reader->builder, written(reader, begin, begin + angles), written(reader, begin + angles, behind - angles),
                      written(reader, behind - angles, behind));
    reader->at = behind;
    return true;
}

/* Enters or leaves an element. *whole: what is in it has been taken, too. */
static bool take_link(struct md_reader *reader, cmark_node *node, bool enter, bool *whole) {
    bool image = cmark_node_get_type(node) == CMARK_NODE_IMAGE;
    const char *at = reader->at;
    *whole = enter && !image && at < reader->end && *at != '[';
    if (*whole)
        return take_address(reader, node);
    if (!enter)
        return take_link_end(reader);
    if (image)
        at = markdown_skip_marks(at, reader->end, '!', 1);
    return take_open(reader, at ? markdown_skip_marks(at, reader->end, '[', 1) : NULL);
}

/* ---- tags of HTML in a sentence ---- */

/* The name of a tag, in lower case. False: it is none, or it is no start tag (of an end tag, if end) that has an end tag. */
static bool tag_name(cmark_node *node, bool end, char name[MOST_NAME]) {
    const char *tag = cmark_node_get_type(node) == CMARK_NODE_HTML_INLINE ? cmark_node_get_literal(node) : NULL;
    size_t length = tag ? strlen(tag) : 0, bytes = 0;
    if (length < 3 || (tag[1] == '/') != end || (!end && tag[length - 2] == '/'))
        return false;
    for (const char *at = tag + 1 + end; bytes < MOST_NAME - 1 && (isalnum((unsigned char)*at) || *at == '-'); at++)
        name[bytes++] = (char)tolower((unsigned char)*at);
    name[bytes] = '\0';
    return bytes > 0 && bytes < MOST_NAME - 1 && (html_element(name) & ELEMENT_VOID) == 0;
}

/* The end tag beside a start tag, before the one of the tag around it. NULL: there is none. */
static cmark_node *find_end_tag(const struct md_reader *reader, cmark_node *start, const char *name) {
    cmark_node *last = reader->tag_count > 0 ? reader->tags[reader->tag_count - 1].close : NULL;
    size_t depth = 1, seen = 0;
    char other[MOST_NAME];
    for (cmark_node *node = cmark_node_next(start); node && node != last && seen < MOST_SIBLINGS;
         node = cmark_node_next(node), seen++) {
        if (tag_name(node, false, other) && strcmp(other, name) == 0)
            depth++;
        else if (tag_name(node, true, other) && strcmp(other, name) == 0 && --depth == 0)
            return node;
    }
    return NULL;
}

/* What is between the tags is for programs: one unit, in place of the pieces that it was read into. */
static void join(struct md_reader *reader, const struct tag *tag) {
    struct html_builder *builder = &reader->builder;
    if (builder->failed)
        return;
    bool one = builder->html.piece_count == tag->piece + 2 && builder->html.pieces[tag->piece + 1].kind == PIECE_TEXT;
    struct html_piece text = one ? builder->html.pieces[tag->piece + 1] : (struct html_piece){0};
    struct html_bytes raw = written(reader, tag->begin, reader->at);
    builder->html.piece_count = tag->piece;
    builder->depth = tag->depth;
    if (one)
        html_add_word(builder, (struct html_bytes){text.raw, text.length}, raw);
    else
        html_add_unit(builder, raw);
}

/* <br>, as in HTML. */
static bool ends_segment(const char *tag) {
    return strncasecmp(tag, "<br", 3) == 0 && !isalnum((unsigned char)tag[3]) && tag[3] != '-';
}

static bool take_tag(struct md_reader *reader, cmark_node *node) {
    const char *literal = cmark_node_get_literal(node);
    size_t length = strlen(literal);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, literal, length) != 0)
        return false;
    const char *begin = reader->at, *behind = begin + length;
    struct tag *around = reader->tag_count > 0 ? &reader->tags[reader->tag_count - 1] : NULL;
    if (around && around->close == node) {
        reader->tag_count--;
        if (!around->opaque)
            return take_close(reader, behind);
        reader->at = behind;
        join(reader, around);
        return true;
    }
    if (ends_segment(literal)) {
        html_add_break(&reader->builder, written(reader, begin, behind));
        reader->at = behind;
        return true;
    }
    char name[MOST_NAME];
    cmark_node *close = tag_name(node, false, name) ? find_end_tag(reader, node, name) : NULL;
    if (!close || reader->tag_count == HTML_MAX_DEPTH)
        return take_unit(reader, behind);
    bool opaque = (html_element(name) & (ELEMENT_OPAQUE | ELEMENT_CODE)) != 0;
    reader->tags[reader->tag_count++] =
        (struct tag){close, reader->builder.html.piece_count, html_depth(&reader->builder), begin, opaque};
    return take_open(reader, behind);
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
        return take_soft_break(reader, node);
    if (type == CMARK_NODE_LINEBREAK)
        return take_hard_break(reader);
    if (type == CMARK_NODE_CODE)
        return take_code(reader);
    if (type == CMARK_NODE_HTML_INLINE)
        return take_tag(reader, node);
    if (type == CMARK_NODE_FOOTNOTE_REFERENCE)
        return take_unit(reader, markdown_skip_until(reader->at, reader->end, ']'));
    if (type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE)
        return take_link(reader, node, enter, whole);
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

/* Links and images, at least two, and nothing but marks and white space between them. */
static bool is_row(cmark_node *block) {
    size_t links = 0;
    for (cmark_node *node = cmark_node_first_child(block); node; node = cmark_node_next(node)) {
        cmark_node_type type = cmark_node_get_type(node);
        const char *text = type == CMARK_NODE_TEXT ? cmark_node_get_literal(node) : "";
        for (; *text; text++)
            if (isalnum((unsigned char)*text))
                return false;
        links += type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE;
        if (type != CMARK_NODE_LINK && type != CMARK_NODE_IMAGE && type != CMARK_NODE_TEXT && type != CMARK_NODE_SOFTBREAK &&
            type != CMARK_NODE_LINEBREAK)
            return false;
    }
    return links > 1;
}

/* Where it says it begins, behind the marks of a heading or a cell. NULL: nowhere. */
static const char *content_of(const struct md_reader *reader, cmark_node *node) {
    int line = cmark_node_get_start_line(node), column = cmark_node_get_start_column(node);
    if (line < 1 || (size_t)line > reader->line_count || column < 1)
        return NULL;
    const char *begin = reader->text + reader->lines[line - 1];
    const char *end = (size_t)line < reader->line_count ? reader->text + reader->lines[line] : reader->end;
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

static struct markdown_place place_of(const struct md_reader *reader, cmark_node *node, const char *begin) {
    bool paragraph = cmark_node_get_type(node) == CMARK_NODE_PARAGRAPH;
    size_t first = (size_t)cmark_node_get_start_line(node) - 1, last = first;
    int end_line = cmark_node_get_end_line(node);
    if (paragraph && end_line > 0 && (size_t)end_line <= reader->line_count && (size_t)end_line > first)
        last = (size_t)end_line - 1;
    const char *end = last + 1 < reader->line_count ? reader->text + reader->lines[last + 1] : reader->end;
    if (is_of(node, "table_cell")) {
        const char *behind = markdown_skip_until(begin, end, '|');
        end = behind ? behind - 1 : end;
    }
    struct markdown_place place = {(size_t)(begin - reader->text), (size_t)(end - reader->text), .paragraph = paragraph};
    for (const char *at = reader->text + reader->lines[first]; at < begin; at++)
        place.quotes += *at == '>';
    cmark_node *parent = cmark_node_parent(node);
    place.quotes_first = parent && cmark_node_get_type(parent) == CMARK_NODE_BLOCK_QUOTE && cmark_node_first_child(parent) == node;
    return place;
}

static int add_block(struct md_reader *reader, cmark_node *node) {
    const char *content = content_of(reader, node);
    if (!content)
        return 0;
    struct block *blocks = arena_grow(reader->arena, reader->blocks, reader->block_count, &reader->block_room, 1, sizeof *blocks);
    if (!blocks)
        return -1;
    reader->blocks = blocks;
    blocks[reader->block_count++] = (struct block){place_of(reader, node, content), node};
    return 0;
}

static int compare_blocks(const void *a, const void *b) {
    const struct block *x = a, *y = b;
    return x->place.begin < y->place.begin ? -1 : x->place.begin > y->place.begin;
}

/* In their order in the source: footnotes stand at the tree's end. */
static int find_blocks(struct md_reader *reader, cmark_node *document) {
    struct markdown_step step = {document, true};
    reader->block_count = 0;
    while (markdown_next(document, &step))
        if (step.enter && has_text(step.node) && add_block(reader, step.node) != 0)
            return -1;
    if (reader->block_count > 0)
        qsort(reader->blocks, reader->block_count, sizeof *reader->blocks, compare_blocks);
    return 0;
}

static bool take_block_from(struct md_reader *reader, const struct block *block, const char *begin) {
    html_add_break(&reader->builder, written(reader, reader->done, begin));
    reader->at = reader->covered = begin;
    reader->line_ends = false;
    reader->row = is_row(block->node);
    reader->tag_count = 0;
    if (!take_inlines(reader, block->node) || html_depth(&reader->builder) > 0)
        return false;
    reader->done = reader->at > reader->covered ? reader->at : reader->covered;
    return true;
}

/* Definitions of references may stand before a paragraph's text, in its first lines. */
static void take_block(struct md_reader *reader, const struct block *block) {
    const char *begin = reader->text + block->place.begin, *end = reader->text + block->place.end;
    if (begin < reader->done)
        return;
    bool defines = begin < end && *begin == '[';
    for (size_t i = 0; begin && begin < end && i <= MOST_DEFINITIONS; i++) {
        struct md_reader before = *reader;
        bool may_be_title = i > 0 && strchr("\"'(", *begin);
        if ((!may_be_title && take_block_from(reader, block, begin)) || reader->builder.failed)
            return;
        *reader = before;
        if (!defines)
            return;
        while (begin < end && *begin != '\n' && *begin != '\r')
            begin++;
        begin = markdown_skip_line_end(begin, end);
    }
}

static int find_lines(struct md_reader *reader) {
    struct line line = {.next = reader->text};
    size_t room = 0, *lines = NULL;
    while (line_next(&line, reader->end)) {
        lines = arena_grow(reader->arena, lines, reader->line_count, &room, 1, sizeof *lines);
        if (!lines)
            return -1;
        lines[reader->line_count++] = (size_t)(line.begin - reader->text);
        reader->lines = lines;
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

/* What is kept of the blocks; where there is some, the reader gets a copy that hides it. -1: memory. */
static int hide_kept(struct md_reader *reader) {
    size_t length = (size_t)(reader->end - reader->text), hidden = 0;
    char *copy = NULL;
    for (size_t i = 0; i < reader->block_count; i++) {
        const struct markdown_place *place = &reader->blocks[i].place;
        if (markdown_find_kept(reader->source, length, place, reader->arena, &reader->kept) != 0)
            return -1;
        if (reader->kept.count > 0 && !copy) {
            copy = arena_alloc(reader->arena, length + 1, 1);
            if (!copy)
                return -1;
            memcpy(copy, reader->source, length);
        }
        for (; hidden < reader->kept.count; hidden++)
            markdown_hide_kept(copy, &reader->kept.all[hidden], place->quotes);
    }
    if (copy) {
        reader->text = copy;
        reader->end = copy + length;
    }
    return 0;
}

/* The blocks of what cmark has. */
static struct markdown *open_text(struct md_reader *reader, struct error *err) {
    struct markdown *markdown = markdown_open(reader->text, (size_t)(reader->end - reader->text), reader->arena->budget, err);
    if (markdown && find_blocks(reader, markdown_document(markdown)) != 0) {
        markdown_free(markdown);
        error_memory(err);
        return NULL;
    }
    return markdown;
}

static int md_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    const char *source = document->source, *end = source + document->length, *begin = skip_front_matter(source, end);
    struct md_reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    char *decoded = arena_alloc(arena, document->length + 1, 1);
    const char **opens = arena_alloc(arena, HTML_MAX_DEPTH, sizeof *opens);
    struct tag *tags = arena_alloc(arena, HTML_MAX_DEPTH, sizeof *tags);
    if (arena_failed(arena))
        return error_memory(err);
    reader->builder = document_builder(document, arena);
    reader->source = reader->text = begin;
    reader->end = end;
    reader->decoded = decoded;
    reader->opens = opens;
    reader->tags = tags;
    reader->arena = arena;
    html_add_break(&reader->builder, bytes_between(source, begin));
    if (find_lines(reader) != 0)
        return error_memory(err);

    struct markdown *markdown = open_text(reader, err);
    if (markdown && hide_kept(reader) != 0) {
        markdown_free(markdown);
        return error_memory(err);
    }
    if (markdown && reader->kept.count > 0) {
        markdown_free(markdown);
        markdown = open_text(reader, err);
    }
    if (!markdown)
        return -1;
    reader->done = reader->text;
    for (size_t i = 0; i < reader->block_count; i++)
        take_block(reader, &reader->blocks[i]);
    html_add_break(&reader->builder, written(reader, reader->done, reader->end));
    markdown_free(markdown);
    reader->builder.html.close = markdown_close;
    return html_build(&reader->builder, markdown_escape, out, err);
}

const struct document_format format_md = {.name = "md",
                                          .extensions = "md markdown",
                                          .media_types = "text/markdown text/x-markdown",
                                          .content_type = "text/markdown; charset=utf-8",
                                          .bilingual = true,
                                          .below = markdown_below,
                                          .read = md_read};
