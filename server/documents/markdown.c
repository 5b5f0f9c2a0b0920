/* This file reads Markdown with GitHub's tables, strikethrough, footnotes, alerts and formulas.
 * cmark finds the blocks and the inline elements in them; a second walk, over the source itself,
 * finds where each of them is written, so that everything keeps its notation. A block in which the
 * two disagree is left unchanged. Notation that cmark does not know (markdown_notation_find_kept)
 * is hidden from it by other characters in the copy that it reads. Code, formulas, addresses of
 * links and definitions of references are never translated. */
#include "model/base/arena.h"
#include "model/base/utf8.h"
#include "server/documents/document.h"
#include "server/markup/html.h"
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <strings.h>
#include <threads.h>

enum {
    BLOCK_BYTES = 1 << 18, /* bytes of a block in the pool of cmark's memory */
    ALIGNMENT = 16,
    BYTES_EACH = 256, /* bytes of memory for each byte of the document, with bounds: */
    BYTES_LEAST = 1 << 22,
    MOST_BYTES =
        36 << 20, /* documents that need more have too many texts and marks (MARKUP_MAX_PIECES) */
    MOST_STEPS = 1 << 29,  /* "<?" and "<!" times the length */
    MOST_SIBLINGS = 256,   /* nodes after an HTML tag that are searched for its end tag */
    MOST_DEFINITIONS = 64, /* lines of definitions before the text of a paragraph */
    MOST_NAME = 32,        /* bytes of the name of a tag */
    MOST_ADDRESS = 32      /* bytes of an address that is a word of its sentence */
};

/* ---- parsing by cmark ---- */

/* cmark exits if memory runs out, and its extensions use global variables. So only one thread
 * parses at a time, and cmark allocates from a pool that can abort a parse. */
struct pool_block {
    struct pool_block *next;
    size_t used, size; /* bytes after this struct */
};

struct markdown {
    struct pool_block *blocks; /* the last one first */
    size_t bytes, most;        /* bytes of all blocks, and their bound */
    bool lacked; /* the parse was aborted by a lack of memory or the budget, not by the bound */
    struct budget *budget; /* aborts the parse once it is used up */
    jmp_buf out;
    cmark_node *document;
};

static thread_local struct markdown *current;            /* the parse that cmark allocates for */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards cmark's own variables */
static pthread_once_t registered = PTHREAD_ONCE_INIT;

/* The size of each allocation stands before it. */
static void *pool_take(size_t bytes) {
    struct markdown *pool = current;
    size_t needed = ALIGNMENT + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct pool_block *block = pool->blocks;
    if (!budget_step(pool->budget, 1)) {
        pool->lacked = true;
        longjmp(pool->out, 1);
    }
    if (!block || block->size - block->used < needed) {
        size_t size = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
        bool room = bytes < SIZE_MAX / 2 && pool->most - pool->bytes >= size;
        block = room ? malloc(sizeof *block + ALIGNMENT + size) : NULL;
        if (!block) {
            pool->lacked = room;
            longjmp(pool->out, 1);
        }
        *block = (struct pool_block){pool->blocks, 0, size};
        pool->blocks = block;
        pool->bytes += size;
    }
    char *memory =
        (char *)block + (sizeof *block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + block->used;
    block->used += needed;
    *(size_t *)(void *)memory = bytes;
    return memory + ALIGNMENT;
}

static void *pool_calloc(size_t count, size_t size) {
    size_t bytes = count > 0 && size > SIZE_MAX / 2 / count ? SIZE_MAX / 2 : count * size;
    return memset(pool_take(bytes), 0, bytes);
}

static void *pool_realloc(void *former, size_t bytes) {
    void *memory = pool_take(bytes);
    if (former) {
        size_t had = *(size_t *)(void *)((char *)former - ALIGNMENT);
        memcpy(memory, former, had < bytes ? had : bytes);
    }
    return memory;
}

static void pool_free(void *memory) {
    (void)memory;
}

/* A step of a walk below a root, which enters each node and leaves it after its content. The walk
 * begins with {root, true}. */
struct step {
    cmark_node *node;
    bool enter;
};

/* Returns false at the end. */
static bool next_step(cmark_node *root, struct step *step) {
    cmark_node *child = step->enter ? cmark_node_first_child(step->node) : NULL,
               *next = cmark_node_next(step->node);
    if (child)
        *step = (struct step){child, true};
    else if (step->enter || step->node == root)
        step->enter = false;
    else if (next)
        *step = (struct step){next, true};
    else
        *step = (struct step){cmark_node_parent(step->node), false};
    return !(step->node == root && !step->enter);
}

static void markdown_free(struct markdown *markdown) {
    for (struct pool_block *block = markdown ? markdown->blocks : NULL, *next; block;
         block = next) {
        next = block->next;
        free(block);
    }
    free(markdown);
}

/* The caller holds the lock. The document stays NULL if the pool aborts the parse. */
static void parse(struct markdown *markdown, const char *source, size_t length) {
    static cmark_mem memory = {pool_calloc, pool_realloc, pool_free};
    static const char *const extensions[] = {"table", "strikethrough", "tasklist", "autolink"};
    current = markdown;
    if (setjmp(markdown->out) != 0)
        return;
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_FOOTNOTES, &memory);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension(extensions[i]));
    cmark_parser_feed(parser, source, length);
    cmark_node *document = cmark_parser_finish(parser);
    for (struct step step = {document, true}; next_step(document, &step);)
        cmark_node_get_literal(step.node); /* makes a copy, once */
    markdown->document = document;
}

/* ---- the second walk ---- */

/* A block with inline content. */
struct block {
    struct markdown_place place;
    cmark_node *node;
};

/* An HTML tag that is open in a sentence. */
struct tag {
    cmark_node *close; /* its end tag */
    size_t piece;      /* everything from this piece on is one unit, if the element is opaque */
    size_t depth;
    const char *begin;
    bool opaque;
};

struct md_reader {
    struct piece_builder builder;
    const char *source;          /* without front matter */
    const char *text, *at, *end; /* the same bytes as cmark reads them */
    const char *done;            /* the document up to here is in pieces */
    char *decoded;               /* the rest of the room for text that is written in another way */
    const size_t *lines;         /* [line_count] where each line begins */
    size_t line_count;
    struct block *blocks; /* [block_count] */
    size_t block_count, block_room;
    struct markdown_kept_list kept;
    size_t next_kept;
    const char *covered; /* up to here everything was kept, and is in pieces */
    bool line_ends;      /* the last kept text is not part of a sentence */
    bool row;            /* the block is a row of links and images without words between them */
    const char **opens;  /* [MARKUP_MAX_DEPTH] where the text of each open element begins */
    struct tag *tags;    /* [tag_count], at most MARKUP_MAX_DEPTH */
    size_t tag_count;
};

/* Returns the bytes of the document that cmark reads as these. */
static struct bytes written(const struct md_reader *reader, const char *begin, const char *end) {
    return (struct bytes){reader->source + (begin - reader->text), (size_t)(end - begin)};
}

/* True between the elements of a row, where no text is a word. */
static bool in_row(const struct md_reader *reader) {
    return reader->row && reader->builder.depth == 0;
}

/* Returns the kept run that begins there, or NULL. */
static const struct markdown_kept *kept_at(struct md_reader *reader, const char *at) {
    const struct markdown_kept_list *kept = &reader->kept;
    size_t byte = (size_t)(at - reader->text);
    while (reader->next_kept < kept->count && kept->all[reader->next_kept].begin < byte)
        reader->next_kept++;
    return reader->next_kept < kept->count && kept->all[reader->next_kept].begin == byte
               ? &kept->all[reader->next_kept]
               : NULL;
}

/* Adds text [length], which is written from `begin` on. */
static void add_text(struct md_reader *reader, const char *text, size_t length, const char *begin) {
    struct bytes raw = written(reader, begin, reader->at), own = raw;
    if (raw.length == 0)
        return;
    if (in_row(reader)) {
        piece_add_break(&reader->builder, raw);
        return;
    }
    if (raw.length != length || memcmp(raw.start, text, length) != 0) {
        memcpy(reader->decoded, text, length);
        own = (struct bytes){reader->decoded, length};
        reader->decoded += length;
    }
    piece_add_text(&reader->builder, own, raw);
}

/* Each of these takes the content of a node. They return false if the text at reader->at is not the
 * notation of that content. */

static bool take_unit(struct md_reader *reader, const char *after) {
    if (!after)
        return false;
    struct bytes raw = written(reader, reader->at, after);
    if (in_row(reader))
        piece_add_break(&reader->builder, raw);
    else
        piece_add_unit(&reader->builder, raw);
    reader->at = after;
    return true;
}

/* The text of a node may be written with escapes and references. */
static bool take_text(struct md_reader *reader, cmark_node *node) {
    const char *text = cmark_node_get_literal(node);
    const char *begin = reader->at, *end = reader->end;
    size_t length = strlen(text), read = 0, first = 0;
    while (read < length) {
        const char *at = reader->at;
        const struct markdown_kept *kept = at >= reader->covered ? kept_at(reader, at) : NULL;
        if (kept && kept->end > kept->begin) {
            add_text(reader, text + first, read - first, begin);
            struct bytes raw =
                written(reader, reader->text + kept->begin, reader->text + kept->end);
            reader->covered = reader->text + kept->end;
            reader->line_ends = kept->kind == MARKDOWN_LINE;
            if (kept->kind == MARKDOWN_LINE)
                piece_add_break(&reader->builder, raw);
            else if (kept->kind != MARKDOWN_NOUN)
                piece_add_unit(&reader->builder, raw);
            else
                piece_add_word(&reader->builder, *raw.start == '{' ? raw : (struct bytes){"X", 1},
                               raw);
        }
        size_t reference = at < end && *at == '&' ? html_reference(at, end, &(int32_t){0}) : 0;
        if (reference > 0 &&
            isspace((
                unsigned char)text[read])) { /* white space that cannot be written in another way */
            add_text(reader, text + first, read - first, begin);
            take_unit(reader, at + reference);
            begin = reader->at;
            first = ++read;
            continue;
        }
        int32_t character = 0;
        if (reference > 0 && text[read] == '&')
            html_reference(at, at + reference, &character);
        if (reference > 0 &&
            (text[read] != '&' || character == '&' || bytes_begin(at, at + reference, "&AMP;"))) {
            reader->at += reference;
            for (read++; ((unsigned char)text[read] & 0xc0) == 0x80;)
                read++;
            continue;
        }
        bool escaped =
            at + 1 < end && *at == '\\' && ispunct((unsigned char)at[1]) && at[1] == text[read];
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

static bool is_capital_at(const char *at, const char *end) {
    size_t length = 0;
    int32_t c = at < end ? character_next(at, (size_t)(end - at), &length) : 0;
    return character_lower(c) != c;
}

/* A sentence runs over a line end, unless that is a hard break or in a row, or one of the lines is
 * not part of a sentence, or is only an HTML tag at an end of the block, or strong text before a
 * capital: the title of a note. */
static bool take_break(struct md_reader *reader, cmark_node *node) {
    bool hard = cmark_node_get_type(node) == CMARK_NODE_LINEBREAK;
    const char *line = reader->at,
               *end_of_line = line + (hard && line < reader->end && *line == '\\');
    const char *after = markdown_notation_skip_line_end(end_of_line, reader->end);
    cmark_node *previous = cmark_node_previous(node), *following = cmark_node_next(node);
    if (!after)
        return false;
    reader->at = after;
    struct bytes raw = written(reader, line, after);
    if (hard)
        piece_add_break(&reader->builder, raw);
    if (hard || line < reader->covered)
        return true;
    const struct markdown_kept *end = kept_at(reader, line);
    bool ends =
        (line == reader->covered && reader->line_ends) || (end && end->kind == MARKDOWN_LINE);
    const struct markdown_kept *next = kept_at(reader, after);
    bool first = previous && cmark_node_get_type(previous) == CMARK_NODE_HTML_INLINE &&
                 !cmark_node_previous(previous);
    bool last = following && cmark_node_get_type(following) == CMARK_NODE_HTML_INLINE &&
                !cmark_node_next(following);
    bool beside_tag = (first || last) && reader->builder.depth == 0;
    bool titled = previous && cmark_node_get_type(previous) == CMARK_NODE_STRONG &&
                  !cmark_node_previous(previous) && is_capital_at(after, reader->end);
    if (ends || (next && next->kind == MARKDOWN_LINE) || in_row(reader) || beside_tag || titled)
        piece_add_break(&reader->builder, raw);
    else
        piece_add_text(&reader->builder, (struct bytes){" ", 1}, raw);
    return true;
}

static bool take_code(struct md_reader *reader, cmark_node *node) {
    const char *open = reader->at, *end = reader->end;
    while (open < end && *open == '`')
        open++;
    size_t marks = (size_t)(open - reader->at);
    (void)node;
    for (const char *at = open; marks > 0 && at < end;) {
        const char *close = at;
        while (close < end && *close == '`')
            close++;
        if ((size_t)(close - at) == marks) {
            piece_add_code(&reader->builder, written(reader, reader->at, open),
                           written(reader, open, at), written(reader, at, close));
            reader->at = close;
            return true;
        }
        at = close > at ? close : at + 1;
    }
    return false;
}

static bool take_open(struct md_reader *reader, const char *after) {
    if (!after || !piece_add_open(&reader->builder, written(reader, reader->at, after)))
        return false;
    reader->at = after;
    reader->opens[reader->builder.depth - 1] = after;
    return true;
}

static bool take_close(struct md_reader *reader, const char *after) {
    if (!after || !piece_add_close(&reader->builder, written(reader, reader->at, after)))
        return false;
    reader->at = after;
    return true;
}

/* The end of a link whose own text is its name gets "][name]", in one line, which is written if
 * that text changes. */
static bool take_link_end(struct md_reader *reader) {
    bool by_text;
    const char *after = markdown_notation_skip_link_end(reader->at, reader->end, &by_text);
    size_t depth = reader->builder.depth, length = 0;
    if (!after || !by_text || depth == 0)
        return take_close(reader, after);
    const char *begin = reader->opens[depth - 1];
    char *name = arena_alloc(reader->builder.arena, (size_t)(reader->at - begin) + 4, 1);
    if (!name)
        return false;
    name[length++] = ']';
    name[length++] = '[';
    for (const char *at = begin; at < reader->at;) {
        const char *next = markdown_notation_skip_line_end(at, reader->at);
        name[length++] = next ? ' ' : *written(reader, at, at + 1).start;
        at = next ? next : at + 1;
    }
    name[length++] = ']';
    if (!piece_add_close_or(&reader->builder, written(reader, reader->at, after),
                            (struct bytes){name, length}))
        return false;
    reader->at = after;
    return true;
}

/* An address that stands for itself, in angle brackets or without them, is a word of the sentence;
 * a short address represents a long one. An address within a word is a unit. */
static bool take_address(struct md_reader *reader, cmark_node *node) {
    static const char some[] = "https://a.org";
    const char *begin = reader->at, *text = cmark_node_get_literal(cmark_node_first_child(node));
    bool angles = begin < reader->end && *begin == '<';
    const char *after = angles ? markdown_notation_skip_until(begin + 1, reader->end, '>')
                               : begin + (text ? strlen(text) : 0);
    if (!after || !text || after > reader->end || after == begin ||
        (!angles && memcmp(begin, text, strlen(text)) != 0))
        return false;
    bool in_word = (begin > reader->text && isalnum((unsigned char)begin[-1])) ||
                   (after < reader->end && isalnum((unsigned char)*after));
    if (in_word)
        piece_add_unit(&reader->builder, written(reader, begin, after));
    else if (after - begin > MOST_ADDRESS)
        piece_add_word(&reader->builder, (struct bytes){some, sizeof some - 1},
                       written(reader, begin, after));
    else
        piece_add_code(&reader->builder, written(reader, begin, begin + angles),
                       written(reader, begin + angles, after - angles),
                       written(reader, after - angles, after));
    reader->at = after;
    return true;
}

/* ---- HTML tags in a sentence ---- */

static const char *tag_of(cmark_node *node) {
    return cmark_node_get_type(node) == CMARK_NODE_HTML_INLINE ? cmark_node_get_literal(node) : "";
}

/* Reads the name of a start tag, in lower case. Returns false if it has no end tag. */
static bool start_name(const char *tag, char name[MOST_NAME]) {
    size_t length = strlen(tag), bytes = 0;
    if (length < 3 || tag[1] == '/' || tag[length - 2] == '/')
        return false;
    for (const char *at = tag + 1;
         bytes < MOST_NAME - 1 && (isalnum((unsigned char)*at) || *at == '-'); at++)
        name[bytes++] = (char)tolower((unsigned char)*at);
    name[bytes] = '\0';
    return bytes > 0 && bytes < MOST_NAME - 1 && (html_element(name) & ELEMENT_VOID) == 0;
}

/* Returns 1 for a start tag of this element, which has an end tag, -1 for the end tag, else 0. */
static int nesting_of(const char *tag, const char *name) {
    size_t length = strlen(name);
    bool end = *tag == '<' && tag[1] == '/';
    if (*tag != '<' || strncasecmp(tag + 1 + end, name, length) != 0)
        return 0;
    const char *past = tag + 1 + end + length;
    if (isalnum((unsigned char)*past) || *past == '-')
        return 0;
    return end ? -1 : tag[strlen(tag) - 2] != '/';
}

static bool take_tag(struct md_reader *reader, cmark_node *node) {
    struct piece_builder *builder = &reader->builder;
    const char *literal = cmark_node_get_literal(node), *begin = reader->at;
    size_t length = strlen(literal);
    if ((size_t)(reader->end - begin) < length || memcmp(begin, literal, length) != 0)
        return false;
    const char *after = begin + length;
    struct tag *around = reader->tag_count > 0 ? &reader->tags[reader->tag_count - 1] : NULL;
    if (around && around->close == node) {
        reader->tag_count--;
        if (!around->opaque)
            return take_close(reader, after);
        reader->at = after;
        if (builder->failed)
            return true;

        /* The pieces between tags whose content is for programs become one unit, which a single
         * text represents. */
        bool one = builder->markup.piece_count == around->piece + 2 &&
                   builder->markup.pieces[around->piece + 1].kind == PIECE_TEXT;
        struct piece text = one ? builder->markup.pieces[around->piece + 1] : (struct piece){0};
        struct bytes raw = written(reader, around->begin, after);
        builder->markup.piece_count = around->piece;
        builder->depth = around->depth;
        if (one)
            piece_add_word(builder, (struct bytes){text.raw, text.length}, raw);
        else
            piece_add_unit(builder, raw);
        return true;
    }
    if (strncasecmp(literal, "<br", 3) == 0 && !isalnum((unsigned char)literal[3]) &&
        literal[3] != '-') { /* as in HTML */
        piece_add_break(builder, written(reader, begin, after));
        reader->at = after;
        return true;
    }

    /* Find the end tag of a start tag, before that of the tag around it. */
    char name[MOST_NAME];
    int depth = start_name(literal, name), seen = 0;
    cmark_node *close = node, *last = around ? around->close : NULL;
    while (depth > 0 && (close = cmark_node_next(close)) && close != last && seen++ < MOST_SIBLINGS)
        depth += nesting_of(tag_of(close), name);
    if (close == node || depth > 0 || reader->tag_count == MARKUP_MAX_DEPTH)
        return take_unit(reader, after);
    bool opaque = (html_element(name) & (ELEMENT_OPAQUE | ELEMENT_CODE)) != 0;
    reader->tags[reader->tag_count++] =
        (struct tag){close, builder->markup.piece_count, builder->depth, begin, opaque};
    return take_open(reader, after);
}

/* ---- blocks ---- */

/* The types of extensions get their numbers at run time. */
static bool is_of(cmark_node *node, const char *extension) {
    return strcmp(cmark_node_get_type_string(node), extension) == 0;
}

/* Enters or leaves a node. *whole: everything in it has been taken, too. */
static bool take_inline(struct md_reader *reader, cmark_node *node, bool enter, bool *whole) {
    static const struct {
        cmark_node_type type;
        bool (*take)(struct md_reader *reader, cmark_node *node);
    } leaves[] = {{CMARK_NODE_TEXT, take_text},
                  {CMARK_NODE_SOFTBREAK, take_break},
                  {CMARK_NODE_LINEBREAK, take_break},
                  {CMARK_NODE_CODE, take_code},
                  {CMARK_NODE_HTML_INLINE, take_tag}};
    cmark_node_type type = cmark_node_get_type(node);
    const char *at = reader->at, *end = reader->end, *after;
    bool image = type == CMARK_NODE_IMAGE, link = type == CMARK_NODE_LINK,
         strike = is_of(node, "strikethrough");
    bool emphasis = type == CMARK_NODE_EMPH || type == CMARK_NODE_STRONG;
    if (!enter && !image && !link && !strike && !emphasis)
        return true;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (leaves[i].type == type)
            return leaves[i].take(reader, node);
    if (type == CMARK_NODE_FOOTNOTE_REFERENCE)
        return take_unit(reader, markdown_notation_skip_until(at, end, ']'));
    if (link || image) {
        *whole = enter && link && at < end && *at != '[';
        if (*whole)
            return take_address(reader, node);
        if (!enter)
            return take_link_end(reader);
        after = image ? markdown_notation_skip_marks(at, end, '!', 1) : at;
        return take_open(reader, after ? markdown_notation_skip_marks(after, end, '[', 1) : NULL);
    }
    if (strike) { /* two tildes or one */
        after = markdown_notation_skip_marks(at, end, '~', 2);
        after = after ? after : markdown_notation_skip_marks(at, end, '~', 1);
    } else if (emphasis) {
        char mark = at < end ? *at : '\0';
        after = mark == '*' || mark == '_'
                    ? markdown_notation_skip_marks(at, end, mark, type == CMARK_NODE_EMPH ? 1 : 2)
                    : NULL;
    } else {
        return false;
    }
    return enter ? take_open(reader, after) : take_close(reader, after);
}

static int compare_blocks(const void *a, const void *b) {
    const struct block *x = a, *y = b;
    return x->place.begin < y->place.begin ? -1 : x->place.begin > y->place.begin;
}

/* Finds the blocks and sorts them by place, because footnotes stand at the end of the tree. Returns
 * -1 if memory runs out. */
static int find_blocks(struct md_reader *reader, cmark_node *document) {
    struct step step = {document, true};
    reader->block_count = 0;
    while (next_step(document, &step)) {
        cmark_node *node = step.node, *parent = cmark_node_parent(node);
        cmark_node_type type = cmark_node_get_type(node);
        bool markup = type == CMARK_NODE_HTML_BLOCK, paragraph = type == CMARK_NODE_PARAGRAPH,
             cell = is_of(node, "table_cell");
        int line = cmark_node_get_start_line(node), column = cmark_node_get_start_column(node);
        if (!step.enter || !(markup || paragraph || cell || type == CMARK_NODE_HEADING))
            continue;
        if (line < 1 || (size_t)line > reader->line_count ||
            column < 1) /* cmark does not know where it begins */
            continue;
        size_t first = (size_t)line - 1, last = first;
        const char *line_begin = reader->text + reader->lines[first];
        const char *end =
            first + 1 < reader->line_count ? reader->text + reader->lines[first + 1] : reader->end;
        if (column > end - line_begin)
            continue;

        /* The content begins after the marks of a heading, a cell or a task. */
        const char *begin = markdown_notation_skip_space(line_begin + column - 1, end);
        while (!paragraph && !markup && begin < end &&
               *begin == (type == CMARK_NODE_HEADING ? '#' : '|'))
            begin++;
        begin = markdown_notation_skip_space(begin, end);
        if (is_of(parent, "tasklist") && end - begin > 3 && begin[0] == '[' && begin[2] == ']')
            begin = markdown_notation_skip_space(begin + 3, end);

        int end_line = cmark_node_get_end_line(node);
        if (paragraph && end_line > 0 && (size_t)end_line <= reader->line_count &&
            (size_t)end_line > first)
            last = (size_t)end_line - 1;
        for (const char *literal = markup ? cmark_node_get_literal(node) : "";
             (literal = strchr(literal, '\n')) && literal[1];)
            last += last + 1 < reader->line_count, literal++;
        end = last + 1 < reader->line_count ? reader->text + reader->lines[last + 1] : reader->end;
        const char *after = cell ? markdown_notation_skip_until(begin, end, '|') : NULL;
        end = after ? after - 1 : end;
        struct markdown_place place = {(size_t)(begin - reader->text), (size_t)(end - reader->text),
                                       .paragraph = paragraph, .markup = markup};
        for (const char *at = line_begin; at < begin; at++)
            place.quotes += *at == '>';
        place.quotes_first = parent && cmark_node_get_type(parent) == CMARK_NODE_BLOCK_QUOTE &&
                             cmark_node_first_child(parent) == node;
        struct block *blocks =
            arena_grow(reader->builder.arena, reader->blocks, reader->block_count,
                       &reader->block_room, 1, sizeof *blocks);
        if (!blocks)
            return -1;
        reader->blocks = blocks;
        blocks[reader->block_count++] = (struct block){place, node};
    }
    if (reader->block_count > 0)
        qsort(reader->blocks, reader->block_count, sizeof *reader->blocks, compare_blocks);
    return 0;
}

/* ---- blocks of HTML ---- */

/* Returns the end of an element that begins with this tag [begin,at): its end tag, or the end of
 * the block. */
static const char *element_end(const char *begin, const char *at, const char *end) {
    size_t length = 1, depth = 1;
    while (begin + length < at && html_is_of_name(begin[length]))
        length++;
    for (const char *next = at; (at = memchr(next, '<', (size_t)(end - next)));) {
        bool closes = at + 1 < end && at[1] == '/';
        const char *name = at + 1 + closes;
        next = at + 1;
        if ((size_t)(end - name) < length || strncasecmp(name, begin + 1, length - 1) != 0 ||
            html_is_of_name(name[length - 1]))
            continue;
        const char *close = memchr(at, '>', (size_t)(end - at));
        depth += closes ? (size_t)-1 : 1;
        if (closes && depth == 0)
            return close ? close + 1 : end;
    }
    return end;
}

/* Returns the end of what stands between texts of a block of HTML: a comment, an element for
 * programs, or the tag of a block or of a component, whose name has a capital. Returns NULL if
 * nothing of that kind begins there. *next: the end of any other tag. */
static const char *markup_end(const char *at, const char *end, const char **next) {
    char name[MOST_NAME] = "";
    *next = at + 1;
    if (bytes_begin(at, end, "<?") || bytes_begin(at, end, "<!")) {
        const char *mark = at[1] == '?' ? "?>" : ">";
        mark = bytes_begin(at, end, "<!--") ? "-->" : mark;
        const char *close = memmem(at, (size_t)(end - at), mark, strlen(mark));
        return close ? close + strlen(mark) : end;
    }
    const char *tag = markdown_notation_skip_tag(at, end);
    if (!tag)
        return NULL;
    const char *first = at + 1 + (at[1] == '/');
    for (size_t i = 0; i + 1 < sizeof name && html_is_of_name(first[i]); i++)
        name[i] = (char)tolower((unsigned char)first[i]);
    unsigned flags = html_element(name);
    bool programs = flags & ELEMENT_CODE || (flags & ELEMENT_BLOCK && flags & ELEMENT_OPAQUE);
    bool component = !html_is_known(name) ||
                     (isupper((unsigned char)*first) && islower((unsigned char)first[1]));
    bool alone = tag[-2] == '/' || flags & ELEMENT_VOID;
    bool forbids = html_translate(first + strlen(name), tag) == TRANSLATE_NO;
    *next = tag;
    if (at[1] != '/' && !alone && (programs || forbids))
        return element_end(at, tag, end);
    return flags & ELEMENT_BLOCK || component || memchr(at, '{', (size_t)(tag - at)) ? tag : NULL;
}

/* Adds bytes of HTML: the texts between the tags of blocks are sentences. */
static void add_markup(struct piece_builder *builder, struct bytes markup) {
    static const struct marking as_it_is;
    const char *end = markup.start + markup.length, *text = markup.start;
    size_t first = builder->markup.piece_count;
    for (const char *at = text, *next; at <= end; at = next) {
        const char *after = at < end && *at == '<' ? markup_end(at, end, &next) : NULL;
        if (at == end || *at != '<')
            next = at + 1;
        if (!after && at < end)
            continue;
        piece_add_marked(builder, bytes_between(text, at), &as_it_is);
        if (after)
            piece_add_break(builder, bytes_between(at, after));
        text = next = after ? after : next;
    }
    for (size_t i = first; i < builder->markup.piece_count; i++)
        builder->markup.pieces[i].notation = PIECE_ESCAPED;
}

/* In a quotation each line of a block stands after the marks of the quotation. */
static void take_markup(struct md_reader *reader, const struct block *block) {
    const char *begin = reader->text + block->place.begin, *end = reader->text + block->place.end;
    if (begin < reader->done)
        return;
    piece_add_break(&reader->builder, written(reader, reader->done, begin));
    for (const char *line = begin, *at = begin; line < end;) {
        while (at < end && (block->place.quotes == 0 || (*at != '\n' && *at != '\r')))
            at++;
        const char *next = at < end ? markdown_notation_skip_line_end(at, end) : at;
        add_markup(&reader->builder, written(reader, line, at));
        piece_add_break(&reader->builder, written(reader, at, next));
        line = at = next;
    }
    reader->done = end;
}

/* ---- blocks of text ---- */

/* Takes a block whose content begins there. Returns false if it is written in another way than
 * cmark reads it. */
static bool take_block_from(struct md_reader *reader, const struct block *block,
                            const char *begin) {
    piece_add_break(&reader->builder, written(reader, reader->done, begin));
    reader->at = reader->covered = begin;
    reader->line_ends = false;
    reader->tag_count = 0;

    /* Links and images, at least two, without letters and digits between them, are a row. */
    size_t links = 0;
    reader->row = true;
    for (cmark_node *node = cmark_node_first_child(block->node); node && reader->row;
         node = cmark_node_next(node)) {
        cmark_node_type type = cmark_node_get_type(node);
        bool link = type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE;
        const char *text = type == CMARK_NODE_TEXT ? cmark_node_get_literal(node) : "";
        size_t length = strlen(text);
        reader->row = link || type == CMARK_NODE_TEXT || type == CMARK_NODE_SOFTBREAK ||
                      type == CMARK_NODE_LINEBREAK;
        for (size_t next = 0; next < length && reader->row;)
            reader->row = !character_is_letter(character_next(text, length, &next));
        links += link;
    }
    reader->row = reader->row && links > 1;
    for (struct step step = {block->node, true}; next_step(block->node, &step);) {
        bool whole = false;
        if (!take_inline(reader, step.node, step.enter, &whole))
            return false;
        if (whole)
            step.enter = false;
    }
    if (reader->builder.depth > 0)
        return false;
    reader->done = reader->at > reader->covered ? reader->at : reader->covered;
    return true;
}

/* Definitions of references may stand in the first lines of a paragraph, before its text. */
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
        begin = markdown_notation_skip_line_end(begin, end);
    }
}

/* ---- the whole document ---- */

/* Finds the kept notation in the blocks. If there is any, the reader gets a copy that hides it.
 * Returns -1 if memory runs out. */
static int hide_kept(struct md_reader *reader) {
    size_t length = (size_t)(reader->end - reader->text), hidden = 0;
    char *copy = NULL;
    for (size_t i = 0; i < reader->block_count; i++) {
        const struct markdown_place *place = &reader->blocks[i].place;
        if (!place->markup &&
            markdown_notation_find_kept(reader->source, length, place, reader->builder.arena,
                                        &reader->kept) != 0)
            return -1;
        if (reader->kept.count > 0 && !copy) {
            copy = arena_alloc(reader->builder.arena, length + 1, 1);
            if (!copy)
                return -1;
            memcpy(copy, reader->text, length);
        }
        for (; hidden < reader->kept.count; hidden++)
            markdown_notation_hide_kept(copy, &reader->kept.all[hidden], place->quotes);
    }
    if (copy) {
        reader->text = copy;
        reader->end = copy + length;
    }
    return 0;
}

/* Finds where the lines of the text begin. Returns -1 if memory runs out. */
static int find_lines(struct md_reader *reader) {
    size_t room = 0, *lines = NULL;
    reader->line_count = 0;
    for (struct line line = {.next = reader->text}; lines_next(&line, reader->end);
         reader->line_count++) {
        lines =
            arena_grow(reader->builder.arena, lines, reader->line_count, &room, 1, sizeof *lines);
        if (!lines)
            return -1;
        lines[reader->line_count] = (size_t)(line.begin - reader->text);
    }
    reader->lines = lines;
    return 0;
}

/* Parses the text and finds its blocks. The budget bounds the time of cmark, and is away meanwhile.
 * Returns NULL with ERROR_MEMORY, also if the budget is used up, or ERROR_INPUT if the document has
 * too many marks. Thread-safe: one parse runs at a time. */
static struct markdown *open_text(struct md_reader *reader, struct error *err) {
    static const char too_many[] = "the document has too many marks";
    const char *text = reader->text;
    struct budget *budget = reader->builder.arena->budget;
    size_t length = (size_t)(reader->end - text);
    size_t endless =
        0; /* cmark searches everything that follows for the end of each "<?" and "<!" */
    for (size_t i = 0; i + 1 < length; i++)
        endless += text[i] == '<' && (text[i + 1] == '?' || text[i + 1] == '!');
    if (endless > MOST_STEPS / (length + 1))
        return error_set(err, ERROR_INPUT, "%s", too_many), NULL;
    struct markdown *markdown = find_lines(reader) == 0 ? calloc(1, sizeof *markdown) : NULL;
    if (!markdown)
        return error_memory(err), NULL;
    markdown->most = length < (MOST_BYTES - BYTES_LEAST) / BYTES_EACH
                         ? BYTES_LEAST + length * BYTES_EACH
                         : MOST_BYTES;
    markdown->budget = budget;
    pthread_once(&registered, cmark_gfm_core_extensions_ensure_registered);
    budget_away(budget, true);
    pthread_mutex_lock(&lock);
    parse(markdown, text, length);
    pthread_mutex_unlock(&lock);
    budget_away(budget, false);
    bool bounded = !markdown->document && !markdown->lacked;
    if (markdown->document && find_blocks(reader, markdown->document) == 0)
        return markdown;
    if (bounded)
        error_set(err, ERROR_INPUT, "%s", too_many);
    else
        error_memory(err);
    markdown_free(markdown);
    return NULL;
}

int markdown_read(const struct document *document, struct arena *arena, struct markup *out,
                  struct error *err) {
    struct piece_builder builder = document_builder(document, arena);
    const char *source = document->source, *end = source + document->length;
    bool mdx = strcmp(document->format->name, "mdx") == 0;
    const char *begin = front_matter_read(&builder, bytes_between(source, end),
                                          !document->bilingual, document->keys);
    struct md_reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    char *decoded = arena_alloc(arena, document->length + 1, 1);
    const char **opens = arena_alloc(arena, MARKUP_MAX_DEPTH, sizeof *opens);
    struct tag *tags = arena_alloc(arena, MARKUP_MAX_DEPTH, sizeof *tags);
    if (arena_failed(arena))
        return error_memory(err);
    *reader = (struct md_reader){.builder = builder,
                                 .source = begin,
                                 .text = begin,
                                 .end = end,
                                 .decoded = decoded,
                                 .opens = opens,
                                 .tags = tags};
    reader->builder.markup.spaced = false; /* white space is collapsed where Markdown is shown */

    char *marked = arena_alloc(arena, (size_t)(end - begin) + 1, 1);
    if (!marked)
        return error_memory(err);
    memcpy(marked, begin, (size_t)(end - begin));
    markdown_notation_mark_directives(marked, begin, (size_t)(end - begin));
    reader->text = marked;
    reader->end = marked + (end - begin);
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
        (reader->blocks[i].place.markup ? take_markup : take_block)(reader, &reader->blocks[i]);
    piece_add_break(&reader->builder, written(reader, reader->done, reader->end));
    markdown_free(markdown);
    reader->builder.markup.close = markdown_notation_close;
    return piece_build(&reader->builder,
                       mdx ? markdown_notation_escape_mdx : markdown_notation_escape, out, err);
}
