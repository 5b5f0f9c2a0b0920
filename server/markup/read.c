/* This file reads HTML into pieces that nest. libxml2's parser decides where elements begin and
 * end, including tags that the markup omits. The parser never sees attributes, because it would
 * drop those whose names it does not accept (@click, [href], *ngIf, #name), convert others to lower
 * case, and compare each with all before it. In the markup that the parser gets, each start tag has
 * one attribute instead, HIDDEN, whose value is the number of the span with the tag's own
 * attributes. Such numbers also replace the content of scripts and styles and, in comments,
 * declarations and instructions that HTML does not know. */
#include "server/markup/html.h"
#include "server/markup/linked_data.h"
#include "server/markup/marks.h"
#include "server/markup/segment.h"
#include <ctype.h>
#include <libxml/HTMLparser.h>
#include <libxml/SAX2.h>
#include <libxml/parserInternals.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum {
    REFERENCE_BYTES = 32, /* limit for the name of a reference */
    NAME_BYTES = 100,     /* the part of an element's name that libxml2 reads */
    PACK_BYTES = 4096,
    PACKED_BYTES = PACK_BYTES / 8
};

/* The ROOT element surrounds markup that is not a document, so that the parser adds no paragraphs
 * and keeps all white space. */
#define ROOT   "alignd-fragment"
#define HIDDEN "alignd-hidden"

/* ---- hiding attributes from the parser ---- */

struct hider {
    struct bytes_buffer out;
    struct bytes *spans; /* [count] hidden parts of the markup, such as the attributes of a tag */
    size_t count, room;
    const char *done; /* the markup up to here is in the output */
    /* The directives of templates outside of the body, {% load a %}, are hidden, because the parser
     * would begin a paragraph there, and drop the tags around it. */
    const char *body, *after; /* where the body begins, and where it has ended; NULL: nowhere */
    const char *text;         /* the end of the last tag */
    struct bytes within;      /* an element outside of the body whose content is read */
    bool no_code_end;         /* "<%" has been read that no "%>" follows */
};

/* Returns the place after the next `mark`, or the end. */
static const char *skip_past(const char *at, const char *end, const char *mark) {
    const char *found = memmem(at, (size_t)(end - at), mark, strlen(mark));
    return found ? found + strlen(mark) : end;
}

/* Replaces a part of the markup by its number between two texts. Returns false if memory runs out.
 */
static bool hide(struct hider *hider, const char *begin, const char *end, const char *before,
                 const char *after) {
    char number[24];
    struct bytes *spans =
        arena_grow(hider->out.arena, hider->spans, hider->count, &hider->room, 1, sizeof *spans);
    if (!spans)
        return false;
    hider->spans = spans;
    spans[hider->count] = bytes_between(begin, end);
    snprintf(number, sizeof number, "%zu", hider->count++);
    bytes_put(&hider->out, hider->done, (size_t)(begin - hider->done));
    bytes_put_string(&hider->out, before);
    bytes_put_string(&hider->out, number);
    bytes_put_string(&hider->out, after);
    hider->done = end;
    return true;
}

/* Replaces the attributes of the start tag at `at` with the hidden attribute. Also hides the
 * content of a script or style, because the parser takes "</" at its beginning for an end tag.
 * Returns the place after both, or NULL if memory runs out. */
static const char *hide_tag(struct hider *hider, const char *at, const char *end) {
    struct html_attribute attribute;
    size_t length = 0;
    const char *name = at + 1;
    while (length < NAME_BYTES && name + length < end && html_is_of_name(name[length]))
        length++;
    const char *begin = name + length, *close = begin, *last = begin;
    while (html_next_attribute(&close, end, &attribute))
        last = close;
    if (close == end)
        return end;

    /* A '/' before the '>' that is not part of a value stays where the parser sees it. */
    bool closed = memchr(last, '/', (size_t)(close - last)) && close[-1] == '/';
    const char *stop = closed ? close - 1 : close;
    if (stop > begin) {
        if (!hide(hider, begin, stop, " " HIDDEN "=\"", "\""))
            return NULL;
    }
    struct bytes element = {name, length};
    if (stop < close ||
        (!bytes_are_any_case(element, "script") && !bytes_are_any_case(element, "style")))
        return close + 1;
    const char *content = close + 1;
    for (at = content; (at = memmem(at, (size_t)(end - at), "</", 2)) != NULL; at += 2) {
        size_t left = (size_t)(end - at) - 2;
        if (left >= length && strncasecmp(at + 2, name, length) == 0 &&
            (left == length || !html_is_of_name(at[2 + length])))
            break; /* </scripts> does not end a script */
    }
    if (!at)
        at = end;
    return at == content || hide(hider, content, at, HIDDEN " ", "") ? at : NULL;
}

/* True if the markup at this place is outside of the body. */
static bool is_outside(const struct hider *hider, const char *at) {
    return (hider->body && at < hider->body) || (hider->after && at >= hider->after);
}

/* Hides the text before a tag, with the white space around it, if it is outside of the body.
 * Returns false if memory runs out. */
static bool hide_text(struct hider *hider, const char *end) {
    const char *begin = hider->text;
    while (begin < end && byte_is_space(*begin))
        begin++;
    return begin == end || hider->within.length > 0 || !is_outside(hider, begin) ||
           hide(hider, hider->text, end, "<!--" HIDDEN " ", "-->");
}

/* True for the name of a directive that stands for no value: {% if a %}, {% endblock %}. */
static bool is_statement(struct bytes name) {
    static const char names[] =
        "if elif elsif elseif else unless for foreach while empty break continue block extends "
        "load include import from macro call filter set assign capture with autoescape spaceless "
        "ifchanged case when switch cache comment raw verbatim highlight trans blocktrans "
        "blocktranslate pluralize plural layout section render embed use";
    return bytes_among(name, names) || bytes_begin(name.start, name.start + name.length, "end");
}

/* Returns the end of a directive of a template that begins at '{', stands for no value, and so
 * separates texts: {% if a %}, {# note #}, {{#if a}}, {{/if}}, {{else}}, {{> part}}. Otherwise
 * NULL. *no_end: marks that do not follow, as bits. */
static const char *skip_directive(const char *at, const char *end, unsigned *no_end) {
    static const char *const closing[] = {"%}", "#}", "}}"};
    const char *name = at + 2;
    if (end - at < 4 || !strchr("%#{", at[1]))
        return NULL;
    size_t kind = at[1] == '%' ? 0 : at[1] == '#' ? 1 : 2;
    while (name < end && strchr("-+~ \t\n", *name))
        name++;
    bool sign = kind == 1 || (kind == 2 && name < end && strchr("#/^>!", *name));
    const char *past = name;
    while (past < end && isalpha((unsigned char)*past))
        past++;
    struct bytes own = bytes_between(name, past);
    bool spaced = past < end && *past == ' '; /* {{ if a }} of Go */
    if (!sign && !(kind == 0 ? is_statement(own)
                             : bytes_among(own, "else end") ||
                                   (spaced && bytes_among(own, "if range with define template"))))
        return NULL;
    const char *close =
        *no_end & 1U << kind ? NULL : memmem(at + 2, (size_t)(end - at - 2), closing[kind], 2);
    *no_end |= close ? 0 : 1U << kind;
    return close ? close + 2 : NULL;
}

/* Hides the directives of templates in the text before a tag. Returns false if memory runs out. */
static bool hide_directives(struct hider *hider, const char *end) {
    const char *at = hider->text > hider->done ? hider->text : hider->done;
    unsigned no_end = 0;
    while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
        const char *after = skip_directive(at, end, &no_end);
        if (after && !hide(hider, at, after, "<!--" HIDDEN " ", "-->"))
            return false;
        at = after ? after : at + 1;
    }
    return true;
}

/* Notes that a tag at `at` has been read up to `after`. */
static void note_tag(struct hider *hider, const char *at, const char *after) {
    bool ends = at[1] == '/';
    const char *begin = at + 1 + ends, *past = begin;
    hider->text = after;
    while (past < after && html_is_of_name(*past))
        past++;
    struct bytes name = bytes_between(begin, past);
    if (name.length == 0)
        return;
    if (ends && hider->within.length == 0 && bytes_are_any_case(name, "body"))
        hider->after = after;
    else if (ends && bytes_same_any_case(name, hider->within))
        hider->within = nothing;
    else if (!ends && hider->within.length == 0 && is_outside(hider, at) && after[-2] != '/' &&
             !bytes_among_any_case(name, "html head body meta link base"))
        hider->within = name;
}

/* Writes the markup with its attributes hidden, within ROOT unless it is `rooted`. Returns -1 if
 * memory runs out. */
static int hide_attributes(bool rooted, const char *markup, size_t length, struct arena *arena,
                           struct hider *hider) {
    const char *at = markup, *end = markup + length;
    *hider = (struct hider){.out.arena = arena, .done = markup, .text = markup};
    static const char *const bodies[] = {"<body", "</head", "<html"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies && rooted && !hider->body; i++)
        hider->body = strcasestr(markup, bodies[i]);
    bytes_put_string(&hider->out, rooted ? "" : "<" ROOT ">");
    while (at && (at = memchr(at, '<', (size_t)(end - at))) != NULL && end - at > 1) {
        /* HTML's standard, but not every version of the parser, reads a comment at "<!" without a
         * comment or document type, and at "<?" without an instruction. */
        bool bogus =
            (at[1] == '?' &&
             (end - at < 3 || !(isalpha((unsigned char)at[2]) || at[2] == '_' || at[2] == ':'))) ||
            (at[1] == '!' && (end - at < 9 || strncasecmp(at, "<!doctype", 9) != 0));
        const char *tag = at, *code = hider->no_code_end ? NULL : html_code_end(at, end);
        if (!code && bytes_begin(at, end, "<?php"))
            code = end; /* PHP does not ask for an end */
        hider->no_code_end |= !code && at[1] == '%';
        if (!code && !isalpha((unsigned char)at[1]) && (!at[1] || !strchr("!?/", at[1]))) {
            at++; /* before anything else '<' is text, as in HTML's standard */
            continue;
        }
        if (!hide_text(hider, at) || !hide_directives(hider, at)) {
            at = NULL;
        } else if (code) {
            bool hidden = hide(hider, at, code, "<!--" HIDDEN " ", "-->");
            at = hidden ? code : NULL;
            hider->text = code;
            continue;
        } else if (isalpha((unsigned char)at[1])) {
            at = hide_tag(hider, at, end);
        } else if (bytes_begin(at, end, "<!--")) {
            at = skip_past(at + 4, end, "-->");
        } else if (bogus) {
            const char *close = memchr(at, '>', (size_t)(end - at));
            bool hidden = !close || hide(hider, at, close + 1, "<!--" HIDDEN " ", "-->");
            at = !hidden ? NULL : close ? close + 1 : end;
        } else if (at[1] == '/' && !(end - at > 2 && at[2] &&
                                     (isalpha((unsigned char)at[2]) || strchr("_:.", at[2])))) {
            at += 2; /* this is not an end tag, and the parser continues here */
        } else {
            at = skip_past(at, end, ">");
        }
        if (at)
            note_tag(hider, tag, at);
    }
    if (hide_text(hider, end))
        hide_directives(hider, end);
    bytes_put(&hider->out, hider->done, (size_t)(end - hider->done));
    return hider->out.failed || arena_failed(arena) ? -1 : 0;
}

/* ---- pieces ---- */

struct element {
    const char *name; /* the parser's */
    uint32_t piece;
    unsigned flags;
    size_t content_before, opaque_around; /* the reader's at its start */
};

/* The part of a reference with an unknown name that the parser has reported so far. It reports "&"
 * and the name separately, and then text that begins with ';'. */
enum reference { NO_REFERENCE, AMPERSAND, NAME };

struct reader {
    htmlParserCtxtPtr parser;
    struct arena *arena;
    struct piece *pieces;
    size_t count, capacity;
    struct element open[MARKUP_MAX_DEPTH];
    size_t depth;
    size_t opaque;  /* the depth of the outermost open element that is not translated; 0: none */
    size_t content; /* the number of pieces so far that are text or end a segment */
    char *pack; /* [pack_left] for bytes of pieces: in the arena each piece would begin a cache line
                 */
    size_t pack_left;
    struct bytes_buffer markup; /* markup of the piece that is being made */
    struct bytes_buffer text;   /* since the last piece */
    enum reference reference;
    size_t reference_begin; /* in text */
    struct hider hidden;
    struct piece_inset *insets; /* [inset_count] */
    size_t inset_count, inset_room;
    bool rooted, failed;
    bool tags;          /* there are tags in text */
    bool linked;        /* the last tag is that of JSON-LD */
    struct error error; /* an error in the markup, if it caused the failure */
    const char *unread; /* [unread_length] markup that the parser has not asked for yet */
    size_t unread_length;
};

/* Returns the bond of an inline element with these flags. */
static enum piece_bond piece_bond(unsigned flags) {
    return flags & ELEMENT_LINK ? BOND_LINK : flags & ELEMENT_PHRASE ? BOND_PHRASE : BOND_NEUTRAL;
}

static void fail(struct reader *reader) {
    reader->failed = true;
    xmlStopParser(reader->parser);
}

/* Notes that a limit is exceeded, without stopping the parser, which must not be stopped while it
 * reads. */
static void note_excess(struct reader *reader, const char *what, int most, const char *unit) {
    error_set(&reader->error, ERROR_INPUT, "line %d: %s %d%s", xmlSAX2GetLineNumber(reader->parser),
              what, most, unit);
    reader->failed = true;
}

static void exceed(struct reader *reader, const char *what, int most, const char *unit) {
    note_excess(reader, what, most, unit);
    fail(reader);
}

static char *copy_packed(struct reader *reader, const char *bytes, size_t length) {
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

/* Adds a piece with a copy of these bytes. Every piece within an element that is not translated is
 * PIECE_RAW. */
static struct piece *add(struct reader *reader, enum piece_kind kind, const char *bytes,
                         size_t length) {
    struct piece *pieces = arena_grow(reader->arena, reader->pieces, reader->count,
                                      &reader->capacity, 1, sizeof *reader->pieces);
    char *raw = copy_packed(reader, bytes, length);
    if (reader->count == MARKUP_MAX_PIECES)
        exceed(reader, "the markup has more than", MARKUP_MAX_PIECES, " tags, texts and comments");
    else if (arena_failed(reader->arena))
        fail(reader);
    if (reader->failed)
        return NULL;
    reader->pieces = pieces;
    reader->content += kind == PIECE_TEXT || kind == PIECE_BREAK;
    struct piece *piece = &pieces[reader->count++];
    *piece = (struct piece){.raw = raw,
                            .length = (uint32_t)length,
                            .kind = (uint8_t)(reader->opaque ? PIECE_RAW : kind),
                            .plain = kind == PIECE_TEXT};
    return piece;
}

/* Makes a piece of reader->markup, and empties the buffer. */
static void add_markup(struct reader *reader, enum piece_kind kind) {
    if (reader->markup.failed)
        fail(reader);
    else
        add(reader, kind, reader->markup.bytes, reader->markup.length);
    reader->markup.length = 0;
}

/* Adds text, whose no-break spaces become units while there is room for as many pieces. */
static void add_text(struct reader *reader, const char *text, size_t length) {
    bool blank = false;
    for (size_t at = 0, part; at < length && !reader->failed; at += part) {
        bool room = !reader->opaque && reader->count < MARKUP_MAX_PIECES / 2;
        part = room ? segment_next_part(text + at, length - at, &blank) : length - at;
        struct piece *piece = add(reader, PIECE_TEXT, text + at, part);
        if (piece && room && blank)
            piece_set_blank(piece);
    }
}

/* Makes pieces of the character data so far. Tags that the text mentions ("&lt;br&gt;") become
 * units, which models do not read. */
static void end_text(struct reader *reader) {
    struct bytes_buffer *text = &reader->text;
    struct mark_scan scan = {.text = text->bytes, .length = text->length, .quoted = true};
    struct mark mark;
    size_t at = 0;
    reader->reference = NO_REFERENCE;
    if (text->failed)
        fail(reader);
    if (text->length == 0 || text->failed)
        return;
    while (!reader->opaque && marks_next(&scan, &mark)) {
        add_text(reader, text->bytes + at, mark.begin - at);
        struct piece *piece =
            add(reader, PIECE_UNIT, text->bytes + mark.begin, mark.end - mark.begin);
        if (piece)
            piece->plain = true;
        if (piece && mark.kind == MARK_TAG) {
            marks_note_tag(piece, piece->raw, piece->length, true);
            reader->tags = true;
        }
        at = mark.end;
    }
    add_text(reader, text->bytes + at, text->length - at);
    text->length = 0;
}

/* Makes a piece of several strings, up to NULL. */
static void add_strings(struct reader *reader, enum piece_kind kind, const char *const *strings) {
    end_text(reader);
    for (; *strings; strings++)
        bytes_put_string(&reader->markup, *strings);
    add_markup(reader, kind);
}

/* ---- character data ---- */

static void on_characters(void *owner, const xmlChar *characters, int count) {
    struct reader *reader = owner;
    const char *text = (const char *)characters;
    size_t length = (size_t)count;
    enum reference was = reader->reference;
    size_t letters = 0; /* letters and digits */
    reader->reference = NO_REFERENCE;
    while (was == AMPERSAND && letters < length && isalnum((unsigned char)text[letters]))
        letters++;
    if (length == 1 && *text == '&') {
        reader->reference = AMPERSAND;
        reader->reference_begin = reader->text.length;
    } else if (was == AMPERSAND && letters == length && length < REFERENCE_BYTES) {
        reader->reference = NAME;
    } else if (was == NAME && *text == ';') {
        /* libxml2 reports "&check;" of HTML 5, which it does not know, as "&", "check" and "; ...":
         * this becomes a unit. */
        char unit[REFERENCE_BYTES + 2];
        size_t name = reader->text.length - reader->reference_begin;
        memcpy(mempcpy(unit, reader->text.bytes + reader->reference_begin, name), ";", 1);
        reader->text.length = reader->reference_begin;
        end_text(reader);
        if (!add(reader, PIECE_UNIT, unit, name + 1))
            return;
        text++;
        length--;
    }
    bytes_put(&reader->text, text, length);
}

/* Finds the bytes that hide replaced by a text that begins with HIDDEN. Returns false for any other
 * text. */
static bool find_hidden(const struct reader *reader, const char *text, size_t length,
                        struct bytes *out) {
    static const char mark[] = HIDDEN " ";
    char number[24] = "";
    if (length < sizeof mark || length >= sizeof mark + sizeof number - 1 ||
        memcmp(text, mark, sizeof mark - 1) != 0)
        return false;
    memcpy(number, text + sizeof mark - 1, length - (sizeof mark - 1));
    size_t index = strtoul(number, NULL, 10);
    *out = index < reader->hidden.count ? reader->hidden.spans[index] : nothing;
    return true;
}

/* ---- start tags ---- */

/* Returns the attributes as written in the markup. Those of a tag without an end were not hidden,
 * and are reassembled from the parser's report. */
static struct bytes find_attributes(struct reader *reader, const char *const *reported) {
    struct bytes_buffer all = {.arena = reader->arena};
    if (!reported || !reported[0])
        return nothing;
    if (strcmp(reported[0], HIDDEN) == 0 && reported[1]) {
        size_t number = strtoul(reported[1], NULL, 10);
        return number < reader->hidden.count ? reader->hidden.spans[number] : nothing;
    }
    for (; reported[0]; reported += 2) {
        bytes_put_string(&all, " ");
        bytes_put_string(&all, reported[0]);
        if (!reported[1])
            continue;
        bytes_put_string(&all, "=\"");
        bytes_put_escaped(&all, reported[1], strlen(reported[1]), "&<>\"");
        bytes_put_string(&all, "\"");
    }
    if (!all.failed)
        return (struct bytes){all.bytes, all.length};
    fail(reader);
    return nothing;
}

/* Attributes that people read: on any element, or on these elements if another attribute has one of
 * these values. Lists are separated by spaces. */
static const struct {
    const char *names, *elements, *other, *values;
} read_attributes[] = {
    {"alt title placeholder summary abbr aria-label aria-description aria-placeholder "
     "aria-roledescription aria-valuetext",
     NULL, NULL, NULL},
    {"label", "optgroup option track", NULL, NULL},
    {"value", "input", "type", "button reset submit"},
    {"content", "meta", "name property itemprop",
     "description headline og:description og:image:alt og:title twitter:description "
     "twitter:image:alt twitter:title"},
};

/* Returns a bit for each row of the table that the element and its attributes fulfil. */
static unsigned find_read_rows(const char *element, struct bytes attributes) {
    unsigned rows = 0;
    for (unsigned i = 0; i < sizeof read_attributes / sizeof *read_attributes; i++) {
        const char *at = attributes.start, *end = at + attributes.length;
        struct html_attribute attribute;
        bool found = !read_attributes[i].elements ||
                     bytes_among(bytes_of(element), read_attributes[i].elements);
        bool asked = found && read_attributes[i].other;
        for (found &= !asked; asked && !found && html_next_attribute(&at, end, &attribute);)
            found = bytes_among_any_case(attribute.name, read_attributes[i].other) &&
                    bytes_among_any_case(attribute.value, read_attributes[i].values);
        rows |= (unsigned)found << i;
    }
    return rows;
}

static bool is_read(const struct html_attribute *attribute, unsigned rows) {
    for (unsigned i = 0; i < sizeof read_attributes / sizeof *read_attributes; i++)
        if (rows >> i & 1 && bytes_among_any_case(attribute->name, read_attributes[i].names))
            return true;
    return false;
}

/* Decodes a value without the white space around it. Returns false if it has an unknown reference
 * or no letters. */
static bool decode_value(struct reader *reader, struct bytes value, struct bytes *text) {
    struct bytes_buffer decoded = {.arena = reader->arena};
    const char *at = value.start, *end = at + value.length;
    while (at < end) {
        int32_t c;
        char bytes[4];
        size_t reference = html_reference(at, end, &c);
        if (reference > 0 && c < 0)
            return false;
        bool space = reference == 0 && byte_is_space(*at);
        if (reference > 0)
            bytes_put(&decoded, bytes, character_put(c, bytes));
        else if (!space || (decoded.length > 0 && decoded.bytes[decoded.length - 1] != ' '))
            bytes_put(&decoded, space ? " " : at, 1);
        at += reference > 0 ? reference : 1;
    }
    if (decoded.failed)
        fail(reader);
    if (decoded.failed || decoded.length == 0)
        return false;
    decoded.length -= decoded.bytes[decoded.length - 1] == ' ';
    *text = (struct bytes){decoded.bytes, decoded.length};
    return segment_has_letters(text->start, 0, text->length);
}

/* Adds a value that is rewritten. */
static void add_inset(struct reader *reader, struct piece_inset inset) {
    struct piece_inset *insets = arena_grow(reader->arena, reader->insets, reader->inset_count,
                                            &reader->inset_room, 1, sizeof *insets);
    if (!insets) {
        fail(reader);
        return;
    }
    reader->insets = insets;
    insets[reader->inset_count++] = inset;
}

/* True for a code of a language, rather than a template that writes one. */
static bool is_language(struct bytes value) {
    for (size_t i = 0; i < value.length; i++)
        if (!isalnum((unsigned char)value.start[i]) && !strchr("-_", value.start[i]))
            return false;
    return value.length > 0;
}

static void put_attribute(struct reader *reader, const char *element,
                          const struct html_attribute *attribute, bool prose) {
    struct bytes_buffer *tag = &reader->markup;
    /* a name with a quotation mark is a part of a template: {{ a | default: "b" }} */
    bool part = memchr(attribute->name.start, '"', attribute->name.length);
    bytes_put_string(tag, part && attribute->name.start[-1] == '"' ? "" : " ");
    bytes_put(tag, attribute->name.start, attribute->name.length);
    if (!attribute->has_value)
        return;
    bytes_put_string(tag, "=\"");
    size_t begin = tag->length;
    bool has_code = false;
    for (const char *at = attribute->value.start, *end = at + attribute->value.length; at < end;) {
        const char *mark = memchr(at, '<', (size_t)(end - at)), *stop = mark ? mark : end,
                   *code = mark ? html_code_in_tag(mark, end) : NULL;
        has_code |= code != NULL;
        stop += mark && !code;
        bytes_put_escaped(tag, at, (size_t)(stop - at), "<>\"");
        bytes_put(tag, stop, code ? (size_t)(code - stop) : 0);
        at = code ? code : stop;
    }
    struct piece_inset inset = {
        .piece = (uint32_t)reader->count, /* the piece of the tag, which is added later */
        .begin = (uint32_t)begin,
        .end = (uint32_t)tag->length};
    bytes_put_string(tag, "\"");

    struct bytes text = attribute->value;
    inset.language = is_language(text) && (bytes_are_any_case(attribute->name, "lang") ||
                                           bytes_are_any_case(attribute->name, "xml:lang"));
    inset.root = strcmp(element, "html") == 0;
    if (inset.language)
        text.start = arena_copy(reader->arena, text.start, text.length);
    else if (has_code || !prose || !decode_value(reader, attribute->value, &text))
        return;
    inset.text = text.start;
    inset.length = text.length;
    add_inset(reader, inset);
}

/* Adds the content of a script or style. */
static void on_code(void *owner, const xmlChar *code, int length) {
    struct reader *reader = owner;
    struct bytes hidden = {(const char *)code, (size_t)length};
    struct linked_text *texts = NULL;
    size_t insets = reader->inset_count;
    end_text(reader);
    find_hidden(reader, hidden.start, hidden.length, &hidden);
    size_t count = reader->linked ? linked_data_find(hidden, reader->arena, &texts) : 0;
    for (size_t i = 0; i < count && !reader->failed; i++)
        if (segment_has_letters(texts[i].text.start, 0, texts[i].text.length))
            add_inset(reader,
                      (struct piece_inset){.piece = (uint32_t)reader->count,
                                           .begin = (uint32_t)(texts[i].raw.start - hidden.start),
                                           .end = (uint32_t)(texts[i].raw.start +
                                                             texts[i].raw.length - hidden.start),
                                           .json = true,
                                           .text = texts[i].text.start,
                                           .length = texts[i].text.length});
    struct piece *piece = add(reader, PIECE_RAW, hidden.start, hidden.length);
    if (piece && reader->inset_count > insets)
        piece->inset = (uint32_t)insets + 1;
    reader->linked = false;
}

/* Opens an element with translate="yes" and these flags. An element that is not translated, but
 * holds such an element, is no unit of a sentence: its tags and those between the two separate
 * texts, as blocks do. Returns the flags of the new element. */
static unsigned open_within(struct reader *reader, unsigned flags) {
    if (reader->opaque && reader->open[reader->opaque - 1].flags & ELEMENT_CODE)
        return flags;
    for (size_t i = reader->opaque; reader->opaque && i <= reader->depth; i++) {
        struct piece *piece = &reader->pieces[reader->open[i - 1].piece];
        piece->kind = i == reader->opaque ? PIECE_BREAK : piece->kind;
        piece->opaque = false;
        reader->open[i - 1].flags |= ELEMENT_BLOCK;
    }
    flags = (flags & ~(unsigned)ELEMENT_OPAQUE) | (reader->opaque ? (unsigned)ELEMENT_BLOCK : 0);
    reader->opaque = 0;
    return flags;
}

static void on_start(void *owner, const xmlChar *element, const xmlChar **reported) {
    struct reader *reader = owner;
    const char *name = (const char *)element;
    end_text(reader);
    struct bytes attributes = find_attributes(reader, (const char *const *)reported);
    const char *begin = attributes.start, *end = begin + attributes.length, *at = begin;
    struct html_attribute attribute;
    size_t attribute_count = 0;
    while (attribute_count <= MARKUP_MAX_ATTRIBUTES && html_next_attribute(&at, end, &attribute))
        attribute_count++;
    if (attribute_count > MARKUP_MAX_ATTRIBUTES) {
        exceed(reader, "a tag has more than", MARKUP_MAX_ATTRIBUTES, " attributes");
        return;
    }
    if (!reader->rooted) {
        reader->rooted = true;
        return;
    }
    if (reader->depth == MARKUP_MAX_DEPTH) {
        exceed(reader, "elements nest deeper than", MARKUP_MAX_DEPTH, "");
        return;
    }
    size_t opaque_around = reader->opaque;
    enum html_translate translate = html_translate(begin, end);
    unsigned flags =
        html_element(name) | (translate == TRANSLATE_NO ? (unsigned)ELEMENT_OPAQUE : 0);
    if (translate == TRANSLATE_YES && !(flags & (ELEMENT_CODE | ELEMENT_BESIDE)))
        flags = open_within(reader, flags);
    bool translated = translate != TRANSLATE_NO && !reader->opaque;
    bool is_void = flags & ELEMENT_VOID, block = flags & ELEMENT_BLOCK;

    /* Add the tag. An attribute whose name contains '<' is text after a tag that was not closed. */
    size_t insets = reader->inset_count;
    unsigned rows = translated ? find_read_rows(name, attributes) : 0;
    reader->linked = false;
    bytes_put_string(&reader->markup, "<");
    bytes_put_string(&reader->markup, name);
    for (at = begin; html_next_attribute(&at, end, &attribute);) {
        const char *last = attribute.name.start + attribute.name.length;
        if (!memchr(attribute.name.start, '<', attribute.name.length) ||
            html_code_end(attribute.name.start, last) == last)
            put_attribute(reader, name, &attribute, is_read(&attribute, rows));
        reader->linked |= bytes_are_any_case(attribute.name, "type") &&
                          bytes_are_any_case(attribute.value, "application/ld+json");
    }
    reader->linked &= translated && strcmp(name, "script") == 0;
    bytes_put_string(&reader->markup, is_void ? "/>" : ">");
    if (!translated)
        reader->inset_count = insets;
    add_markup(reader, block ? PIECE_BREAK : is_void ? PIECE_UNIT : PIECE_OPEN);
    if (reader->failed)
        return;

    /* Open the element. */
    struct piece *piece = &reader->pieces[reader->count - 1];
    if (reader->inset_count > insets)
        piece->inset = (uint32_t)insets + 1;
    piece->bond = (uint8_t)piece_bond(flags);
    reader->open[reader->depth++] =
        (struct element){name, (uint32_t)reader->count - 1, flags, reader->content, opaque_around};
    if ((flags & ELEMENT_OPAQUE) && !is_void && !reader->opaque) {
        reader->opaque = reader->depth;
        piece->opaque = true;
        piece->stands_in = !(flags & (ELEMENT_CODE | ELEMENT_BESIDE));
    }
}

/* ---- ends, comments and declarations ---- */

/* Ends all elements but the outermost `depth`. */
static void end_to(struct reader *reader, size_t depth) {
    end_text(reader);
    while (reader->depth > depth && !reader->failed) {
        const struct element *element = &reader->open[--reader->depth];
        bool differs = reader->opaque != element->opaque_around;
        reader->opaque = element->opaque_around;
        if (element->flags & ELEMENT_VOID)
            continue;
        if (!differs &&
            reader->content ==
                element
                    ->content_before) /* an empty element may be a placeholder of another program */
            reader->pieces[element->piece].opaque =
                reader->pieces[element->piece].kind == PIECE_OPEN;
        add_strings(reader, element->flags & ELEMENT_BLOCK ? PIECE_BREAK : PIECE_CLOSE,
                    (const char *const[]){"</", element->name, ">", NULL});
        if (reader->failed)
            return;
        reader->pieces[reader->count - 1].pair = element->piece;
        reader->pieces[element->piece].pair = (uint32_t)reader->count - 1;
    }
}

/* Ends an element. The parser does not report the end of an element whose start tag is cut off by
 * the end of the markup. */
static void on_end(void *owner, const xmlChar *name) {
    struct reader *reader = owner;
    size_t depth = reader->depth;
    while (depth > 0 && strcmp(reader->open[depth - 1].name, (const char *)name) != 0)
        depth--;
    end_to(reader, depth > 0 ? depth - 1 : 0); /* if no element has the name, the root ends */
}

static void on_comment(void *owner, const xmlChar *text) {
    struct reader *reader = owner;
    struct bytes hidden;
    if (find_hidden(reader, (const char *)text, strlen((const char *)text), &hidden)) {
        end_text(reader);
        bool code = bytes_begin(hidden.start, hidden.start + hidden.length, "<%") ||
                    bytes_begin(hidden.start, hidden.start + hidden.length, "<?");
        bool value = bytes_begin(hidden.start, hidden.start + hidden.length, "<%=") ||
                     bytes_begin(hidden.start, hidden.start + hidden.length, "<?=");
        bool directive = (code && !value) || *hidden.start == '{';
        struct piece *piece =
            add(reader, directive ? PIECE_BREAK : PIECE_UNIT, hidden.start, hidden.length);
        if (piece && value) { /* it represents itself in its sentence */
            piece->source = hidden.length <= UINT8_MAX ? piece->raw : "{0}";
            piece->shown_length = hidden.length <= UINT8_MAX ? (uint8_t)hidden.length : 3;
        }
        return;
    }
    add_strings(owner, PIECE_UNIT, (const char *const[]){"<!--", (const char *)text, "-->", NULL});
}

static void on_instruction(void *owner, const xmlChar *target, const xmlChar *data) {
    const char *more = data ? (const char *)data : "";
    add_strings(
        owner, PIECE_BREAK,
        (const char *const[]){"<?", (const char *)target, data ? " " : "", more, ">", NULL});
}

static void on_doctype(void *owner, const xmlChar *name, const xmlChar *public,
                       const xmlChar *system) {
    const char *where = public ? " PUBLIC \"" : " SYSTEM \"",
               *begin = public && system ? "\" \"" : "";
    const char *id = public ? (const char *)public : "",
               *address = system ? (const char *)system : "";
    const char *end = public || system ? "\"" : "";
    add_strings(owner, PIECE_BREAK,
                (const char *const[]){"<!DOCTYPE ", (const char *)name, *end ? where : "", id,
                                      begin, address, end, ">", NULL});
}

/* ---- libxml2's memory ---- */

/* libxml2 leaks if a parser cannot be made, so its allocations fall back on the reserve. The
 * parser's errors do not show every failed allocation, so `lacking` notes failures. */
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

/* ---- the whole markup ---- */

/* The parser compares each attribute with all before it in the tag: a tag with 200,000 attributes
 * would take minutes, and is not reported before its end. So the parser gets a few kilobytes at a
 * time, and no more once its table of attributes (names and values, doubled when it is full) is too
 * large for the limit. */
static int give(void *owner, char *buffer, int room) {
    struct reader *reader = owner;
    if (reader->parser->maxatts > 4 * MARKUP_MAX_ATTRIBUTES)
        note_excess(reader, "a tag has more than", MARKUP_MAX_ATTRIBUTES, " attributes");
    size_t left = reader->failed ? 0 : reader->unread_length,
           count = left < (size_t)room ? left : (size_t)room;
    memcpy(buffer, reader->unread, count);
    reader->unread += count;
    reader->unread_length -= count;
    return (int)count;
}

/* Returns NULL if memory runs out. */
static htmlParserCtxtPtr open_parser(struct reader *reader) {
    htmlParserCtxtPtr parser = reader->parser = htmlNewParserCtxt();
    xmlParserInputBufferPtr buffer =
        parser ? xmlParserInputBufferCreateIO(give, NULL, reader, XML_CHAR_ENCODING_NONE) : NULL;
    xmlParserInputPtr input =
        buffer ? xmlNewIOInputStream(parser, buffer, XML_CHAR_ENCODING_NONE) : NULL;
    if (!input && buffer)
        xmlFreeParserInputBuffer(buffer);
    if (!input || inputPush(parser, input) < 0) {
        xmlFreeInputStream(input);
        htmlFreeParserCtxt(parser);
        return NULL;
    }
    htmlCtxtUseOptions(parser, HTML_PARSE_RECOVER | HTML_PARSE_NOIMPLIED | HTML_PARSE_NOERROR |
                                   HTML_PARSE_NOWARNING | HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    return parser;
}

static int read_html(const char *text, size_t length, struct arena *arena, struct markup *markup,
                     struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
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
    static const char *const roots[] = {"<!doctype", "<html", "<head",
                                        "<body"}; /* a whole document has its own root */
    struct reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    char *whole = arena_copy(arena, text, length);
    if (!reader || !whole)
        return error_memory(err);
    *reader = (struct reader){.arena = arena, .markup.arena = arena, .text.arena = arena};
    for (const char *at = whole; !reader->rooted && (at = strchr(at, '<')) != NULL; at++)
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
            reader->rooted |= strncasecmp(at, roots[i], strlen(roots[i])) == 0;
    if (hide_attributes(reader->rooted, whole, length, arena, &reader->hidden) != 0)
        return error_memory(err);
    reader->unread = reader->hidden.out.bytes;
    reader->unread_length = reader->hidden.out.length;

    pthread_once(&once, set_up);
    if (reserve_fill(err) != 0)
        return -1;
    lacking = false;
    if (!open_parser(reader))
        return error_memory(err);
    *reader->parser->sax = handler;
    reader->parser->userData = reader;
    htmlParseDocument(reader->parser);
    end_to(reader, 0);
    htmlFreeParserCtxt(reader->parser);
    if (reader->error.code != ERROR_NONE)
        return error_set(err, reader->error.code, "%s", reader->error.message);
    if (lacking || reader->failed)
        return error_memory(err);
    if (reader->tags)
        marks_pair_tags(reader->pieces, reader->count);
    markup->pieces = reader->pieces;
    markup->piece_count = reader->count;
    markup->insets = reader->insets;
    markup->inset_count = reader->inset_count;
    return 0;
}

int markup_parse_html(const char *text, size_t length, struct arena *arena, struct markup *out,
                      struct error *err) {
    struct markup markup = {0};
    if (length >= MARKUP_MAX_BYTES)
        return error_set(err, ERROR_LENGTH, "the markup is too long");
    if (read_html(text, length, arena, &markup, err) != 0 ||
        segment_cut(&markup, arena, out, err) != 0)
        return -1;

    /* The values of attributes are segments after those of the pieces. */
    struct markup_segment *segments =
        arena_alloc(arena, out->count + out->inset_count, sizeof *segments);
    if (!segments)
        return error_memory(err);
    if (out->count > 0)
        memcpy(segments, out->segments, out->count * sizeof *segments);
    out->segments = segments;
    for (size_t i = 0; i < out->inset_count; i++) {
        struct piece_inset *inset = &out->insets[i];
        if (inset->language)
            continue;
        inset->segment = (uint32_t)out->count;
        segments[out->count++] =
            (struct markup_segment){.text = inset->text, .length = inset->length};
        out->values++;
    }
    return 0;
}
