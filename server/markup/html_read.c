/* Markup -> pieces that nest: libxml2's parser of HTML tells what begins and ends, also where the markup does not say. */
#include "server/markup/html_attributes.h"
#include "server/markup/html_marks.h"
#include "server/markup/html_piece.h"
#include <ctype.h>
#include <libxml/HTMLparser.h>
#include <libxml/SAX2.h>
#include <libxml/parserInternals.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <threads.h>

enum { NAME_BYTES = 32, PACK_BYTES = 4096, PACKED_BYTES = PACK_BYTES / 8 };

/* An element around what is no whole document: in it the parser makes no paragraphs of its own, and keeps all white space. */
#define ROOT "alignd-fragment"

struct element {
    const char *name; /* the parser's */
    uint32_t piece;
    unsigned flags;
    size_t content_before;
};

/* How much of a reference of unknown name was told: "&" and the name come alone, the ';' begins what follows. */
enum reference { NO_REFERENCE, AMPERSAND, NAME };

struct reader {
    htmlParserCtxtPtr parser;
    struct arena *arena;
    struct html_piece *pieces;
    size_t count, capacity;
    struct element open[HTML_MAX_DEPTH];
    size_t depth;
    size_t opaque;  /* the depth of the outermost open element that is not translated; 0: none */
    size_t content; /* pieces so far that are text or end a segment */
    char *pack;     /* [pack_left] for bytes of pieces: in the arena each would begin a cache line */
    size_t pack_left;
    struct html_buffer markup; /* of the piece in hand */
    struct html_buffer text;   /* since the last piece */
    enum reference reference;
    size_t reference_begin; /* in text */
    struct html_hidden hidden;
    struct html_inset *insets; /* [inset_count] */
    size_t inset_count, inset_room;
    bool rooted, failed;
    bool tags;          /* there are tags in text */
    struct error error; /* why it failed, if that is the markup's fault */
    const char *unread; /* [unread_length] markup that the parser has not asked for yet */
    size_t unread_length;
};

/* ---- pieces ---- */

/* Fails without a word to the parser, which cannot be stopped while it reads. */
static void reader_tell(struct reader *reader, const char *what, int most, const char *unit) {
    error_set(&reader->error, ERROR_INPUT, "line %d: %s %d%s", xmlSAX2GetLineNumber(reader->parser), what, most, unit);
    reader->failed = true;
}

static void reader_fail(struct reader *reader) {
    reader->failed = true;
    xmlStopParser(reader->parser);
}

/* what: there is too much of it for this limit. */
static void reader_exceed(struct reader *reader, const char *what, int most, const char *unit) {
    reader_tell(reader, what, most, unit);
    reader_fail(reader);
}

static char *reader_copy(struct reader *reader, const char *bytes, size_t length) {
    if (length > PACKED_BYTES)
        return arena_copy(reader->arena, bytes, length);
    if (length > reader->pack_left) {
        char *pack = arena_alloc(reader->arena, PACK_BYTES, 1);
        if (!pack)
            return NULL;
        reader->pack = pack;
        reader->pack_left = PACK_BYTES;
    }
    char *packed = reader->pack;
    memcpy(packed, bytes, length);
    reader->pack += length;
    reader->pack_left -= length;
    return packed;
}

/* A piece of these bytes, copied. Within what is not translated all is PIECE_RAW. */
static struct html_piece *reader_add(struct reader *reader, enum html_kind kind, const char *bytes, size_t length) {
    struct html_piece *pieces =
        arena_grow(reader->arena, reader->pieces, reader->count, &reader->capacity, 1, sizeof *reader->pieces);
    char *raw = reader_copy(reader, bytes, length);
    if (reader->count == HTML_MAX_PIECES)
        reader_exceed(reader, "there are more than", HTML_MAX_PIECES, " tags, texts and comments");
    else if (arena_failed(reader->arena))
        reader_fail(reader);
    if (reader->failed)
        return NULL;
    reader->pieces = pieces;
    reader->content += kind == PIECE_TEXT || kind == PIECE_BREAK;
    struct html_piece *piece = &pieces[reader->count++];
    *piece = (struct html_piece){
        .raw = raw, .length = (uint32_t)length, .kind = (uint8_t)(reader->opaque ? PIECE_RAW : kind), .plain = kind == PIECE_TEXT};
    return piece;
}

/* The buffer is empty then. */
static void add_buffer(struct reader *reader, enum html_kind kind, struct html_buffer *buffer) {
    if (buffer->failed)
        reader_fail(reader);
    else
        reader_add(reader, kind, buffer->bytes, buffer->length);
    buffer->length = 0;
}

/* A tag that the text tells of. */
static void add_mark(struct reader *reader, const char *text, size_t length, bool is_tag) {
    struct html_piece *piece = reader_add(reader, PIECE_UNIT, text, length);
    if (!piece)
        return;
    piece->plain = true;
    if (!is_tag || reader->opaque)
        return;
    html_note_tag(piece, piece->raw, length, true);
    reader->tags = true;
}

/* What was told of character data becomes pieces: "&lt;br&gt;" is not for the translator to read. */
static void end_text(struct reader *reader) {
    struct html_buffer *text = &reader->text;
    struct html_mark_scan scan = {.text = text->bytes, .length = text->length, .quoted = true};
    struct html_mark mark;
    size_t at = 0;
    reader->reference = NO_REFERENCE;
    if (text->failed)
        reader_fail(reader);
    if (text->length == 0 || text->failed)
        return;
    while (!reader->opaque && html_next_mark(&scan, &mark)) {
        if (mark.begin > at)
            reader_add(reader, PIECE_TEXT, text->bytes + at, mark.begin - at);
        add_mark(reader, text->bytes + mark.begin, mark.end - mark.begin, mark.kind == MARK_TAG);
        at = mark.end;
    }
    if (at < text->length)
        reader_add(reader, PIECE_TEXT, text->bytes + at, text->length - at);
    text->length = 0;
}

/* parts: up to NULL. */
static void add_parts(struct reader *reader, enum html_kind kind, const char *const *parts) {
    end_text(reader);
    for (; *parts; parts++)
        html_put_string(&reader->markup, *parts);
    add_buffer(reader, kind, &reader->markup);
}

/* ---- character data ---- */

static bool is_element_name(const char *text, size_t length) {
    size_t at = 0;
    while (at < length && isalnum((unsigned char)text[at]))
        at++;
    return at == length && length < NAME_BYTES;
}

/* "&check;" of HTML 5, which libxml2 does not know and tells as "&", "check", "; ...": a unit, as it is. */
static bool end_reference(struct reader *reader) {
    struct html_buffer *text = &reader->text;
    char unit[NAME_BYTES + 2];
    size_t length = text->length - reader->reference_begin;
    memcpy(mempcpy(unit, text->bytes + reader->reference_begin, length), ";", 1);
    text->length = reader->reference_begin;
    end_text(reader);
    return reader_add(reader, PIECE_UNIT, unit, length + 1) != NULL;
}

static void on_characters(void *owner, const xmlChar *characters, int count) {
    struct reader *reader = owner;
    const char *text = (const char *)characters;
    size_t length = (size_t)count;
    enum reference was = reader->reference;
    reader->reference = NO_REFERENCE;
    if (length == 1 && *text == '&') {
        reader->reference = AMPERSAND;
        reader->reference_begin = reader->text.length;
    } else if (was == AMPERSAND && is_element_name(text, length)) {
        reader->reference = NAME;
    } else if (was == NAME && *text == ';') {
        if (!end_reference(reader))
            return;
        text++;
        length--;
    }
    html_put(&reader->text, text, length);
}

/* Scripts and styles. */
static void on_code(void *owner, const xmlChar *code, int length) {
    struct reader *reader = owner;
    end_text(reader);
    reader_add(reader, PIECE_RAW, (const char *)code, (size_t)length);
}

/* ---- elements ---- */

/* Those that are for people. */
static bool is_prose(const struct html_attribute *attribute, bool description) {
    static const char *const names[] = {"alt", "title", "placeholder", "aria-label"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (html_attribute_is(attribute, names[i]))
            return true;
    return description && html_attribute_is(attribute, "content");
}

static bool is_description(const char *name, struct html_bytes attributes) {
    struct html_attribute attribute;
    const char *at = attributes.start, *end = at + attributes.length;
    if (strcmp(name, "meta") != 0)
        return false;
    while (html_next_attribute(&at, end, &attribute))
        if (html_attribute_is(&attribute, "name"))
            return attribute.value.length == 11 && strncasecmp(attribute.value.start, "description", 11) == 0;
    return false;
}

/* What a value says, without the white space around it. False: it says something that is not known, or nothing. */
static bool decode_value(struct reader *reader, struct html_bytes value, struct html_bytes *text) {
    struct html_buffer decoded = {.arena = reader->arena};
    const char *at = value.start, *end = at + value.length;
    while (at < end) {
        int32_t c;
        char bytes[4];
        size_t reference = html_reference(at, end, &c);
        if (reference > 0 && c < 0)
            return false;
        bool space = reference == 0 && html_is_space(*at);
        if (reference > 0)
            html_put(&decoded, bytes, character_put(c, bytes));
        else if (!space || (decoded.length > 0 && decoded.bytes[decoded.length - 1] != ' '))
            html_put(&decoded, space ? " " : at, 1);
        at += reference > 0 ? reference : 1;
    }
    if (decoded.failed)
        reader_fail(reader);
    if (decoded.failed || decoded.length == 0)
        return false;
    decoded.length -= decoded.bytes[decoded.length - 1] == ' ';
    *text = (struct html_bytes){decoded.bytes, decoded.length};
    return html_has_letters(text->start, 0, text->length);
}

/* The value that was just put is written anew; length: of the value in the tag. */
static void add_inset(struct reader *reader, struct html_inset inset, size_t length) {
    struct html_inset *insets =
        arena_grow(reader->arena, reader->insets, reader->inset_count, &reader->inset_room, 1, sizeof *insets);
    if (!insets) {
        reader_fail(reader);
        return;
    }
    reader->insets = insets;
    inset.piece = (uint32_t)reader->count; /* the tag's, which is not there yet */
    inset.end = (uint32_t)reader->markup.length - 1;
    inset.begin = inset.end - (uint32_t)length;
    insets[reader->inset_count++] = inset;
}

/* A name with '<' is text after a tag that was not closed. */
static bool is_written(const struct html_attribute *attribute) {
    return !memchr(attribute->name.start, '<', attribute->name.length);
}

static void put_attribute(struct reader *reader, const char *name, const struct html_attribute *attribute, bool prose) {
    struct html_buffer *tag = &reader->markup;
    struct html_bytes text;
    html_put_string(tag, " ");
    html_put(tag, attribute->name.start, attribute->name.length);
    if (!attribute->has_value)
        return;
    html_put_string(tag, "=\"");
    size_t begin = tag->length;
    html_put_escaped(tag, attribute->value.start, attribute->value.length, "<>\"");
    size_t length = tag->length - begin;
    html_put_string(tag, "\"");
    bool language = html_attribute_is(attribute, "lang") || html_attribute_is(attribute, "xml:lang");
    if (language && attribute->value.length > 0)
        add_inset(reader,
                  (struct html_inset){.language = true,
                                      .root = strcmp(name, "html") == 0,
                                      .text = arena_copy(reader->arena, attribute->value.start, attribute->value.length),
                                      .length = attribute->value.length},
                  length);
    else if (prose && decode_value(reader, attribute->value, &text))
        add_inset(reader, (struct html_inset){.text = text.start, .length = text.length}, length);
}

/* translated: the element is. */
static void put_tag(struct reader *reader, const char *name, struct html_bytes attributes, bool translated, bool is_void) {
    struct html_attribute attribute;
    const char *at = attributes.start, *end = at + attributes.length;
    bool description = translated && is_description(name, attributes);
    size_t insets = reader->inset_count;
    html_put_string(&reader->markup, "<");
    html_put_string(&reader->markup, name);
    while (html_next_attribute(&at, end, &attribute))
        if (is_written(&attribute))
            put_attribute(reader, name, &attribute, translated && is_prose(&attribute, description));
    html_put_string(&reader->markup, is_void ? "/>" : ">");
    if (!translated)
        reader->inset_count = insets;
}

static const char a_tag_has[] = "a tag has more than";

static bool has_too_many(struct html_bytes attributes) {
    struct html_attribute attribute;
    const char *at = attributes.start, *end = at + attributes.length;
    size_t count = 0;
    while (count <= HTML_MAX_ATTRIBUTES && html_next_attribute(&at, end, &attribute))
        count++;
    return count > HTML_MAX_ATTRIBUTES;
}

/* As they stand in the markup. Those of a tag that has no end were not hidden: they are put together as the parser tells them. */
static struct html_bytes find_attributes(struct reader *reader, const char *const *told) {
    struct html_buffer all = {.arena = reader->arena};
    if (told && told[0] && strcmp(told[0], HTML_HIDDEN) == 0 && told[1]) {
        size_t number = strtoul(told[1], NULL, 10);
        return number < reader->hidden.count ? reader->hidden.spans[number] : (struct html_bytes){"", 0};
    }
    if (!told || !told[0])
        return (struct html_bytes){"", 0};
    for (; told[0]; told += 2) {
        html_put_string(&all, " ");
        html_put_string(&all, told[0]);
        if (!told[1])
            continue;
        html_put_string(&all, "=\"");
        html_put_escaped(&all, told[1], strlen(told[1]), "&<>\"");
        html_put_string(&all, "\"");
    }
    if (!all.failed)
        return (struct html_bytes){all.bytes, all.length};
    reader_fail(reader);
    return (struct html_bytes){"", 0};
}

static void on_start(void *owner, const xmlChar *element, const xmlChar **told) {
    struct reader *reader = owner;
    const char *name = (const char *)element;
    end_text(reader);
    struct html_bytes attributes = find_attributes(reader, (const char *const *)told);
    if (has_too_many(attributes)) {
        reader_exceed(reader, a_tag_has, HTML_MAX_ATTRIBUTES, " attributes");
        return;
    }
    if (!reader->rooted) {
        reader->rooted = true;
        return;
    }
    if (reader->depth == HTML_MAX_DEPTH) {
        reader_exceed(reader, "elements nest deeper than", HTML_MAX_DEPTH, "");
        return;
    }
    bool forbids = html_attributes_forbid(attributes.start, attributes.start + attributes.length);
    unsigned flags = html_element(name) | (forbids ? (unsigned)ELEMENT_OPAQUE : 0);
    bool is_void = flags & ELEMENT_VOID, block = flags & ELEMENT_BLOCK;
    size_t insets = reader->inset_count;
    put_tag(reader, name, attributes, !forbids && !reader->opaque, is_void);
    add_buffer(reader, block ? PIECE_BREAK : is_void ? PIECE_UNIT : PIECE_OPEN, &reader->markup);
    if (reader->failed)
        return;
    if (reader->inset_count > insets)
        reader->pieces[reader->count - 1].inset = (uint32_t)insets + 1;
    reader->open[reader->depth++] = (struct element){name, (uint32_t)reader->count - 1, flags, reader->content};
    if ((flags & ELEMENT_OPAQUE) && !is_void && !reader->opaque) {
        reader->opaque = reader->depth;
        reader->pieces[reader->count - 1].opaque = true;
        reader->pieces[reader->count - 1].stands_in = !(flags & ELEMENT_CODE);
    }
}

static void end_innermost(struct reader *reader) {
    const struct element *element = &reader->open[--reader->depth];
    if (element->flags & ELEMENT_VOID)
        return;
    if (reader->opaque == reader->depth + 1)
        reader->opaque = 0;
    else if (reader->content == element->content_before) /* others' placeholders are such elements */
        reader->pieces[element->piece].opaque = reader->pieces[element->piece].kind == PIECE_OPEN;
    add_parts(reader, element->flags & ELEMENT_BLOCK ? PIECE_BREAK : PIECE_CLOSE,
              (const char *const[]){"</", element->name, ">", NULL});
    if (reader->failed)
        return;
    reader->pieces[reader->count - 1].pair = element->piece;
    reader->pieces[element->piece].pair = (uint32_t)reader->count - 1;
}

/* Ends all elements but the outermost `depth`. */
static void end_to(struct reader *reader, size_t depth) {
    end_text(reader);
    while (reader->depth > depth && !reader->failed)
        end_innermost(reader);
}

/* The parser is silent about the end of an element whose start tag is the unfinished end of the markup. */
static void on_end(void *owner, const xmlChar *name) {
    struct reader *reader = owner;
    size_t depth = reader->depth;
    while (depth > 0 && strcmp(reader->open[depth - 1].name, (const char *)name) != 0)
        depth--;
    end_to(reader, depth > 0 ? depth - 1 : 0); /* none of that name: the root ends */
}

/* ---- comments and declarations ---- */

static void on_comment(void *owner, const xmlChar *text) {
    add_parts(owner, PIECE_UNIT, (const char *const[]){"<!--", (const char *)text, "-->", NULL});
}

static void on_instruction(void *owner, const xmlChar *target, const xmlChar *data) {
    const char *more = data ? (const char *)data : "";
    add_parts(owner, PIECE_BREAK, (const char *const[]){"<?", (const char *)target, data ? " " : "", more, ">", NULL});
}

static void on_doctype(void *owner, const xmlChar *name, const xmlChar *public, const xmlChar *system) {
    const char *where = public ? " PUBLIC \"" : " SYSTEM \"", *begin = public && system ? "\" \"" : "";
    const char *id = public ? (const char *)public : "", *address = system ? (const char *)system : "";
    const char *end = public || system ? "\"" : "";
    add_parts(owner, PIECE_BREAK,
              (const char *const[]){"<!DOCTYPE ", (const char *)name, *end ? where : "", id, begin, address, end, ">", NULL});
}

/* ---- libxml2's memory ---- */

/* Where a parser cannot be made, libxml2 leaves its parts behind, so it falls back on the reserve; not all that fails shows in the
 * parser's errors, so it is noted here. */
static thread_local bool lacking;

static void *note_failure(void *block) {
    lacking |= block == NULL;
    return block;
}

static void *xml_allocate(size_t bytes) {
    return note_failure(reserve_alloc(bytes));
}

static void *reallocate(void *block, size_t bytes) {
    return note_failure(reserve_realloc(block, bytes));
}

static char *duplicate(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = xml_allocate(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static void set_up(void) {
    xmlMemSetup(free, xml_allocate, reallocate, duplicate);
    xmlInitParser();
}

/* ---- all of it ---- */

/* A whole document has a root of its own. */
static bool is_document(const char *markup) {
    static const char *const tags[] = {"<!doctype", "<html", "<head", "<body"};
    for (const char *at = markup; (at = strchr(at, '<')) != NULL; at++) {
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
            if (strncasecmp(at, tags[i], strlen(tags[i])) == 0)
                return true;
        }
    }
    return false;
}

static const htmlSAXHandler handler = {
    .startElement = on_start,
    .endElement = on_end,
    .characters = on_characters,
    .ignorableWhitespace = on_characters,
    .cdataBlock = on_code,
    .comment = on_comment,
    .processingInstruction = on_instruction,
    .internalSubset = on_doctype,
};

/* The parser compares each attribute with all before it in the tag: one of 200,000 would take minutes, and tells nobody before its
 * end. So it gets a few kilobytes at a time, and no more once its table of attributes (names and values, doubled when full) is too
 * large for what a tag may have. */
static int give(void *owner, char *buffer, int room) {
    struct reader *reader = owner;
    if (reader->parser->maxatts > 4 * HTML_MAX_ATTRIBUTES)
        reader_tell(reader, a_tag_has, HTML_MAX_ATTRIBUTES, " attributes");
    size_t left = reader->failed ? 0 : reader->unread_length, count = left < (size_t)room ? left : (size_t)room;
    memcpy(buffer, reader->unread, count);
    reader->unread += count;
    reader->unread_length -= count;
    return (int)count;
}

/* NULL: no memory. */
static xmlParserInputPtr open_input(struct reader *reader, htmlParserCtxtPtr parser) {
    xmlParserInputBufferPtr buffer = xmlParserInputBufferCreateIO(give, NULL, reader, XML_CHAR_ENCODING_NONE);
    xmlParserInputPtr input = buffer ? xmlNewIOInputStream(parser, buffer, XML_CHAR_ENCODING_NONE) : NULL;
    if (!input && buffer)
        xmlFreeParserInputBuffer(buffer);
    return input;
}

static htmlParserCtxtPtr open_parser(struct reader *reader) {
    htmlParserCtxtPtr parser = reader->parser = htmlNewParserCtxt();
    xmlParserInputPtr input = parser ? open_input(reader, parser) : NULL;
    if (!input || inputPush(parser, input) < 0) {
        xmlFreeInputStream(input);
        htmlFreeParserCtxt(parser);
        return NULL;
    }
    htmlCtxtUseOptions(parser, HTML_PARSE_RECOVER | HTML_PARSE_NOIMPLIED | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                   HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    return parser;
}

static int reader_run(struct reader *reader, struct error *err) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, set_up);
    if (reserve_fill(err) != 0)
        return -1;
    lacking = false;
    reader->parser = open_parser(reader);
    if (!reader->parser)
        return error_memory(err);
    *reader->parser->sax = handler;
    reader->parser->userData = reader;
    htmlParseDocument(reader->parser);
    end_to(reader, 0);
    htmlFreeParserCtxt(reader->parser);
    if (reader->error.code != ERROR_NONE)
        return error_set(err, reader->error.code, "%s", reader->error.message);
    return lacking || reader->failed ? error_memory(err) : 0;
}

int html_read(const char *markup, size_t length, struct arena *arena, struct html *html, struct error *err) {
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    char *whole = arena_copy(arena, markup, length);
    if (!reader || !whole)
        return error_memory(err);
    *reader = (struct reader){.arena = arena, .markup.arena = arena, .text.arena = arena, .rooted = is_document(whole)};
    if (html_hide_attributes(reader->rooted ? "" : "<" ROOT ">", whole, length, arena, &reader->hidden) != 0)
        return error_memory(err);
    reader->unread = reader->hidden.markup;
    reader->unread_length = reader->hidden.length;
    if (reader_run(reader, err) != 0)
        return -1;
    if (reader->tags)
        html_pair_marks(reader->pieces, 0, reader->count);
    html->pieces = reader->pieces;
    html->piece_count = reader->count;
    html->insets = reader->insets;
    html->inset_count = reader->inset_count;
    return 0;
}
