/* Markup -> pieces that nest -> segments. */
#include "server/html.h"
#include "server/html_piece.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

/* An unterminated tag is text; after so many, all '<' are, since each may have been read to the end. STAND_IN_BYTES: a unit's own
 * text is shown to the translator if it is one word and no longer. */
enum { MAX_UNTERMINATED = 16, STAND_IN_BYTES = 32, FIRST_ITEMS = 64 };

struct element {
    struct html_tag tag;
    uint32_t piece;
};

struct parser {
    const char *text;            /* [length] */
    size_t length, at, last_end; /* last_end: of the last '>' */
    struct arena *arena;
    struct html_piece *pieces;
    size_t count, capacity;
    struct element open[HTML_MAX_DEPTH];
    size_t depth;
    size_t opaque; /* the depth of the outermost open element that is not translated; 0: none */
    size_t unterminated;
    bool failed; /* memory */
};

void *html_reserve(struct arena *arena, void *items, size_t used, size_t *capacity, size_t count, size_t size) {
    if (*capacity - used >= count)
        return items;
    size_t wanted = 2 * *capacity + count + FIRST_ITEMS;
    void *grown = arena_alloc(arena, wanted, size);
    if (!grown)
        return NULL;
    if (used > 0)
        memcpy(grown, items, used * size);
    *capacity = wanted;
    return grown;
}

static uint32_t add(struct parser *parser, enum html_kind kind, const char *raw, size_t length) {
    struct html_piece *pieces =
        html_reserve(parser->arena, parser->pieces, parser->count, &parser->capacity, 1, sizeof *parser->pieces);
    if (!pieces) {
        parser->failed = true;
        return 0;
    }
    parser->pieces = pieces;
    pieces[parser->count] = (struct html_piece){.raw = raw, .length = (uint32_t)length, .kind = (uint8_t)kind};
    return (uint32_t)parser->count++;
}

/* The same, within what is not translated verbatim. */
static uint32_t add_content(struct parser *parser, enum html_kind kind, const char *raw, size_t length) {
    return add(parser, parser->opaque ? PIECE_RAW : kind, raw, length);
}

/* ---- elements ---- */

static bool is_break(const struct html_tag *tag) {
    return tag->flags & (TAG_BLOCK | TAG_BREAK);
}

static bool is_cell_of_other(const struct html_tag *tag, const struct html_tag *of) {
    static const struct html_tag whole = {.name = "table", .name_length = 5};
    return (tag->flags & TAG_CELL) && of->family != FAMILY_TABLE && !html_same_name(of, &whole);
}

/* The end tag of an element that has none. */
static const char *make_end(struct parser *parser, const struct html_tag *tag, size_t *length) {
    *length = tag->name_length + strlen("</>");
    char *made = arena_alloc(parser->arena, *length, 1);
    if (!made) {
        parser->failed = true;
        return NULL;
    }
    memcpy(mempcpy(mempcpy(made, "</", 2), tag->name, tag->name_length), ">", 1);
    return made;
}

/* raw: the end tag as written; NULL: it was not. */
static void close_innermost(struct parser *parser, const char *raw, size_t length) {
    assert(parser->depth > 0);
    const struct element *element = &parser->open[--parser->depth];
    bool outermost = parser->opaque == parser->depth + 1, inside = parser->opaque && !outermost;
    if (!raw)
        raw = make_end(parser, &element->tag, &length);
    uint32_t piece = add(parser, inside ? PIECE_RAW : is_break(&element->tag) ? PIECE_BREAK : PIECE_CLOSE, raw, length);
    if (outermost)
        parser->opaque = 0;
    if (!parser->failed) {
        parser->pieces[piece].pair = element->piece;
        parser->pieces[element->piece].pair = piece;
    }
}

static const struct html_tag *innermost_block(const struct parser *parser, size_t *depth) {
    for (size_t i = parser->depth; i-- > 0;) {
        if (parser->open[i].tag.flags & TAG_BLOCK) {
            *depth = i;
            return &parser->open[i].tag;
        }
    }
    return NULL;
}

/* HTML lets authors leave out these end tags: a block ends a paragraph, a list item the one before it, a row its cells. */
static void close_implied(struct parser *parser, const struct html_tag *next) {
    size_t depth;
    for (const struct html_tag *block; (next->flags & TAG_BLOCK) && (block = innermost_block(parser, &depth));) {
        bool ends = block->family == FAMILY_PARAGRAPH ||
                    (block->family != FAMILY_NONE && block->family == next->family && block->rank <= next->rank);
        if (!ends)
            return;
        while (parser->depth > depth)
            close_innermost(parser, NULL, 0);
    }
}

static void open_element(struct parser *parser, const struct html_tag *tag, const char *raw, size_t length) {
    if (parser->depth == HTML_MAX_DEPTH)
        close_innermost(parser, NULL, 0);
    bool opaque = tag->flags & TAG_OPAQUE, block = is_break(tag);
    uint32_t piece = add_content(parser, block ? PIECE_BREAK : PIECE_OPEN, raw, length);
    parser->open[parser->depth++] = (struct element){*tag, piece};
    if (opaque && !parser->opaque && !parser->failed) {
        parser->opaque = parser->depth;
        parser->pieces[piece].opaque = true;
        parser->pieces[piece].stands_in = !(tag->flags & TAG_RAW);
    }
}

/* Where the end tag of a raw element begins, or the end of all. */
static size_t find_raw_end(const struct parser *parser, const struct html_tag *tag) {
    const char *at = parser->text + parser->at, *last = parser->text + parser->last_end;
    for (; at < last && (at = memchr(at, '<', (size_t)(last - at))) != NULL; at++) {
        size_t behind = 2 + tag->name_length;
        if (at[1] == '/' && (size_t)(last - at) >= behind && strncasecmp(at + 2, tag->name, tag->name_length) == 0 &&
            (html_is_space(at[behind]) || at[behind] == '/' || at[behind] == '>'))
            return (size_t)(at - parser->text);
    }
    return parser->length;
}

static void end_tag(struct parser *parser);
static void add_text(struct parser *parser, size_t end);

static void raw_content(struct parser *parser, const struct html_tag *tag) {
    size_t end = find_raw_end(parser, tag);
    if (tag->flags & TAG_OPAQUE) {
        add(parser, PIECE_RAW, parser->text + parser->at, end - parser->at);
        parser->at = end;
    } else {
        add_text(parser, end);
    }
    if (end < parser->length)
        end_tag(parser);
    else
        close_innermost(parser, NULL, 0);
}

/* ---- markup ---- */

/* A '<' that begins nothing. */
static void literal(struct parser *parser) {
    add_content(parser, PIECE_TEXT, "&lt;", 4);
    parser->at++;
}

static void start_tag(struct parser *parser) {
    struct html_tag tag;
    size_t end = parser->unterminated < MAX_UNTERMINATED ? html_read_tag(parser->text, parser->length, parser->at, &tag) : SIZE_MAX;
    if (end == SIZE_MAX) {
        parser->unterminated++;
        literal(parser);
        return;
    }
    const char *raw = parser->text + parser->at;
    size_t length = end - parser->at;
    parser->at = end;
    close_implied(parser, &tag);
    if ((tag.flags & TAG_VOID) || tag.self_closing) {
        add_content(parser, is_break(&tag) ? PIECE_BREAK : PIECE_UNIT, raw, length);
        return;
    }
    open_element(parser, &tag, raw, length);
    if ((tag.flags & TAG_RAW) && !parser->failed)
        raw_content(parser, &tag);
}

/* An inline end tag ends no block around it; no end tag of something else ends a table's cell. */
static void end_tag(struct parser *parser) {
    struct html_tag tag;
    const char *raw = parser->text + parser->at;
    const char *end = memchr(raw, '>', parser->length - parser->at);
    assert(end); /* before last_end */
    size_t length = (size_t)(end - raw) + 1;
    html_read_name(parser->text, parser->length, parser->at + 2, &tag);
    parser->at += length;
    size_t depth = parser->depth;
    while (depth > 0 && !html_same_name(&parser->open[depth - 1].tag, &tag)) {
        const struct html_tag *open = &parser->open[depth - 1].tag;
        if (((open->flags & TAG_BLOCK) && !(tag.flags & TAG_BLOCK)) || is_cell_of_other(open, &tag))
            return;
        depth--;
    }
    if (depth == 0)
        return;
    while (parser->depth > depth)
        close_innermost(parser, NULL, 0);
    close_innermost(parser, raw, length);
}

static void comment(struct parser *parser) {
    const char *raw = parser->text + parser->at;
    const char *end = memmem(raw + 2, parser->length - parser->at - 2, "-->", 3);
    if (end) {
        add_content(parser, PIECE_UNIT, raw, (size_t)(end - raw) + 3);
        parser->at += (size_t)(end - raw) + 3;
        return;
    }
    add_content(parser, PIECE_UNIT, raw, parser->length - parser->at);
    add_content(parser, PIECE_UNIT, "-->", 3);
    parser->at = parser->length;
}

/* <!doctype>, <?xml ...?> and what browsers take for comments. */
static void declaration(struct parser *parser) {
    const char *raw = parser->text + parser->at, *end = memchr(raw, '>', parser->length - parser->at);
    assert(end);
    add_content(parser, PIECE_BREAK, raw, (size_t)(end - raw) + 1);
    parser->at += (size_t)(end - raw) + 1;
}

static bool is_letter(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static void read_markup(struct parser *parser) {
    const char *at = parser->text + parser->at;
    size_t left = parser->length - parser->at;
    if (left >= 4 && memcmp(at, "<!--", 4) == 0)
        comment(parser);
    else if (left < 2 || parser->at >= parser->last_end)
        literal(parser);
    else if (is_letter(at[1]))
        start_tag(parser);
    else if (at[1] == '/') /* </> and the like name no element: they are dropped with the end tags that end none */
        end_tag(parser);
    else if (at[1] == '!' || at[1] == '?')
        declaration(parser);
    else
        literal(parser);
}

/* Text up to end, cut at references of unknown name: they are units. */
static void add_text(struct parser *parser, size_t end) {
    size_t begin = parser->at, next = 0;
    for (size_t at = begin; at < end; at++) {
        if (parser->text[at] != '&' || parser->opaque || html_read_reference(parser->text, end, at, &next) != 0)
            continue;
        if (at > begin)
            add(parser, PIECE_TEXT, parser->text + begin, at - begin);
        add(parser, PIECE_UNIT, parser->text + at, next - at);
        begin = next;
        at = next - 1;
    }
    if (end > begin)
        add_content(parser, PIECE_TEXT, parser->text + begin, end - begin);
    parser->at = end;
}

static void parse(struct parser *parser) {
    while (parser->at < parser->length && !parser->failed) {
        const char *at = parser->text + parser->at;
        if (*at == '<') {
            read_markup(parser);
        } else {
            const char *next = memchr(at, '<', parser->length - parser->at);
            add_text(parser, next ? (size_t)(next - parser->text) : parser->length);
        }
    }
    while (parser->depth > 0 && !parser->failed)
        close_innermost(parser, NULL, 0);
}

/* ---- segments ---- */

struct cutter {
    struct html *html;
    struct arena *arena;
    char *text; /* what is left of a buffer as long as the markup: decoding makes nothing longer */
    size_t capacity;
    bool failed;
};

/* A text on its way. */
struct writer {
    char *text;
    size_t length;
    bool space; /* the last one is white space, which the next one joins */
};

static void put_bytes(struct writer *writer, const char *bytes, size_t length) {
    memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
}

static void put_character(struct writer *writer, const char *raw, size_t length, size_t *at) {
    char bytes[4];
    size_t end;
    int32_t character = raw[*at] == '&' ? html_read_reference(raw, length, *at, &end) : -1;
    if (character > 0) {
        put_bytes(writer, bytes, character_put(character, bytes));
        *at = end;
    } else {
        put_bytes(writer, raw + (*at)++, 1);
    }
    writer->space = false;
}

static void put_text(struct writer *writer, const char *raw, size_t length) {
    for (size_t at = 0; at < length;) {
        if (!html_is_space(raw[at])) {
            put_character(writer, raw, length, &at);
            continue;
        }
        if (!writer->space)
            put_bytes(writer, " ", 1);
        writer->space = true;
        at++;
    }
}

/* Numbers and marks alone are the same in all languages. */
static bool has_letters(const char *text, size_t begin, size_t end) {
    while (begin < end) {
        int32_t character = character_next(text, end, &begin);
        if (!character_is_space(character) && !character_is_punctuation(character) && !(character >= '0' && character <= '9'))
            return true;
    }
    return false;
}

/* A name or a command that a sentence may hold as a word. */
static bool is_word(const struct html_piece *piece) {
    if (piece->length == 0 || piece->length > STAND_IN_BYTES || piece->raw[0] == '<')
        return false;
    for (size_t i = 0; i < piece->length; i++) {
        if (html_is_space(piece->raw[i]))
            return false;
    }
    return true;
}

static size_t put_unit(struct writer *writer, struct html_piece *pieces, size_t i) {
    size_t end = pieces[i].kind == PIECE_OPEN ? pieces[i].pair : i;
    pieces[i].begin = (uint32_t)writer->length;
    if (end == i + 2 && pieces[i].stands_in && is_word(&pieces[i + 1]))
        put_text(writer, pieces[i + 1].raw, pieces[i + 1].length);
    pieces[i].end = (uint32_t)writer->length;
    writer->space = false; /* white space on both sides of a unit counts */
    return end + 1;
}

/* The text of the pieces [first,end): true if there is something to translate. */
static bool write_segment(struct html_piece *pieces, size_t first, size_t end, struct writer *writer) {
    bool letters = false;
    writer->space = pieces[first].kind == PIECE_TEXT; /* html_write leaves the white space at both ends as it is */
    for (size_t i = first; i < end;) {
        size_t begin = writer->length;
        if (pieces[i].kind == PIECE_UNIT || pieces[i].opaque) {
            i = put_unit(writer, pieces, i);
            continue;
        }
        pieces[i].begin = (uint32_t)begin;
        if (pieces[i].kind == PIECE_TEXT)
            put_text(writer, pieces[i].raw, pieces[i].length);
        letters = letters || has_letters(writer->text, begin, writer->length);
        pieces[i++].end = (uint32_t)writer->length;
    }
    if (pieces[end - 1].end > pieces[end - 1].begin && pieces[end - 1].kind == PIECE_TEXT &&
        writer->text[writer->length - 1] == ' ')
        pieces[end - 1].end = (uint32_t)--writer->length;
    return letters;
}

static void add_segment(struct cutter *cutter, size_t first, size_t end) {
    struct html *html = cutter->html;
    struct writer writer = {.text = cutter->text};
    if (first == end || !write_segment(html->pieces, first, end, &writer))
        return;
    struct html_segment *segments =
        html_reserve(cutter->arena, html->segments, html->count, &cutter->capacity, 1, sizeof *segments);
    if (!segments) {
        cutter->failed = true;
        return;
    }
    html->segments = segments;
    segments[html->count++] = (struct html_segment){writer.text, writer.length, first, end};
    cutter->text += writer.length;
}

static bool is_tag(const struct html_piece *piece) {
    return piece->kind == PIECE_OPEN || piece->kind == PIECE_CLOSE;
}

/* An inline element with blocks inside ends segments, too. */
static void cut_run(struct cutter *cutter, size_t first, size_t end) {
    const struct html_piece *pieces = cutter->html->pieces;
    for (size_t i = first; i < end; i++) {
        if (is_tag(&pieces[i]) && (pieces[i].pair < first || pieces[i].pair >= end)) {
            add_segment(cutter, first, i);
            first = i + 1;
        }
    }
    add_segment(cutter, first, end);
}

static void cut(struct cutter *cutter) {
    const struct html_piece *pieces = cutter->html->pieces;
    size_t first = 0, i = 0;
    while (i < cutter->html->piece_count && !cutter->failed) {
        if (pieces[i].kind == PIECE_BREAK || pieces[i].kind == PIECE_RAW) {
            cut_run(cutter, first, i);
            first = i + 1;
        }
        i = pieces[i].kind == PIECE_OPEN && pieces[i].opaque ? pieces[i].pair + 1 : i + 1;
    }
    cut_run(cutter, first, i);
}

int html_parse(const char *markup, size_t length, struct arena *arena, struct html *out, struct error *err) {
    if (length >= UINT32_MAX / 4)
        return error_set(err, ERROR_LENGTH, "the markup is too long");
    const char *last_end = length > 0 ? memrchr(markup, '>', length) : NULL;
    struct parser *parser = arena_zalloc(arena, 1, sizeof *parser);
    struct cutter cutter = {.arena = arena, .html = out, .text = arena_alloc(arena, length + 1, 1)};
    if (!parser || !cutter.text)
        return error_memory(err);
    *parser =
        (struct parser){.text = markup, .length = length, .last_end = last_end ? (size_t)(last_end - markup) : 0, .arena = arena};
    parse(parser);
    *out = (struct html){.pieces = parser->pieces, .piece_count = parser->count};
    if (!parser->failed)
        cut(&cutter);
    return parser->failed || cutter.failed ? error_memory(err) : 0;
}
