/* This file translates XLIFF 1.2 and 2, and TMX 1.4, whose units get a variant in the target
 * language if they lack one. In XLIFF, sources whose target is missing, or still untranslated
 * according to its state, get a target with its state and language; everything else stays byte for
 * byte. Elements around words in a source (g, pc, mrk) and pairs of codes around words (bpt and
 * ept, bx and ex, sc and ec) surround the translation of these words; other elements are units. */
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "server/documents/spans.h"
#include "server/markup/html.h"
#include "server/markup/xml.h"
#include <stdio.h>
#include <stdlib.h>

#define INLINE "{inline_" /* begins the argument of a message that represents an inline element */

enum {
    VALUE_SHOWN = 40, /* bytes of a value in an error */
    MOST_INLINE = 32, /* bytes of such an argument, which has the number of the element's piece */
    MOST_DATA = 256,  /* pieces before a unit's content in which original data are looked for */
    MOST_OPEN = 128,  /* elements and codes of a unit that are open at once */
    NONE = 0          /* instead of a piece: the first piece is never one of those that matter */
};

/* A <trans-unit>, a <segment> of a <unit>, or a <tu>, that needs a target. All fields but the last
 * two are pieces. */
struct unit {
    size_t language; /* the <file> or <xliff> whose attribute names the language of the targets */
    size_t unit, source, target; /* target NONE: no target */
    size_t content; /* the content to translate, which a new target follows: the source, or its
                       <seg-source> */
    size_t variant; /* the source's <tuv>, which a new one follows; NONE: XLIFF */
    bool segment;   /* it is of XLIFF 2 */
    bool preserve;  /* white space counts */
};

struct xliff {
    const char *begin, *end;    /* the document */
    const struct piece *pieces; /* [piece_count] */
    size_t piece_count;
    struct unit *units; /* [count] in their order */
    size_t count, room;
};

/* ---- tags ---- */

static bool is_start(const struct piece *piece) {
    bool tag = piece->length > 1 && piece->raw[0] == '<' && !piece->plain;
    return tag && !strchr("/!?", piece->raw[1]);
}

/* Returns the place after the name of a tag. */
static const char *name_end(const struct piece *piece) {
    const char *at = piece->raw + 1, *end = piece->raw + piece->length - 1;
    while (at < end && !byte_is_space(*at) && *at != '/')
        at++;
    return at;
}

/* True for the start of an element with one of these names, with any prefix. */
static bool is(const struct piece *piece, const char *names) {
    return is_start(piece) &&
           bytes_among(xml_local_name(bytes_between(piece->raw + 1, name_end(piece))), names);
}

/* Reads the next attribute from *at, which is NULL at first. */
static bool next_attribute(const struct piece *piece, const char **at, struct xml_attribute *out) {
    const struct xml_token tag = {.end = piece->raw + piece->length,
                                  .name = bytes_between(piece->raw + 1, name_end(piece))};
    return xml_next_attribute(&tag, at, out);
}

static bool find_attribute(const struct piece *piece, const char *name, struct xml_attribute *out) {
    if (!is_start(piece) && piece->kind != PIECE_BREAK) /* instructions are PIECE_BREAK */
        return false;
    for (const char *at = NULL; next_attribute(piece, &at, out);)
        if (bytes_are(out->name, name))
            return true;
    return false;
}

static bool says(const struct piece *piece, const char *name, const char *value) {
    struct xml_attribute attribute;
    return find_attribute(piece, name, &attribute) && bytes_are(attribute.value, value);
}

/* ---- elements ---- */

/* Returns the piece after the element that begins with piece i, or after the piece. */
static size_t piece_after(const struct xliff *xliff, size_t i) {
    const struct piece *piece = &xliff->pieces[i];
    return is_start(piece) && piece->pair > i ? piece->pair + 1 : i + 1;
}

/* Returns the bytes of a piece in the document: a text spans those between the adjacent pieces. */
static struct bytes written(const struct xliff *xliff, size_t i) {
    const struct piece *piece = &xliff->pieces[i];
    if (!piece->plain)
        return (struct bytes){piece->raw, piece->length};
    const char *begin = i > 0 ? piece[-1].raw + piece[-1].length : xliff->begin;
    return bytes_between(begin, i + 1 < xliff->piece_count ? piece[1].raw : xliff->end);
}

/* Returns the content of an element, as written. */
static struct bytes inside(const struct xliff *xliff, size_t element) {
    const struct piece *piece = &xliff->pieces[element];
    return bytes_between(piece->raw + piece->length, xliff->pieces[piece->pair].raw);
}

static bool is_blank(const struct piece *piece) {
    for (size_t i = 0; i < piece->length; i++)
        if (!byte_is_space(piece->raw[i]))
            return false;
    return piece->plain;
}

/* ---- units ---- */

static int add_unit(struct xliff *xliff, const struct unit *unit, struct arena *arena,
                    struct error *err) {
    struct unit *units =
        arena_grow(arena, xliff->units, xliff->count, &xliff->room, 1, sizeof *units);
    if (!units)
        return error_memory(err);
    xliff->units = units;
    units[xliff->count++] = *unit;
    return 0;
}

/* True if the unit is not approved and has no target that is finished by its state. A target
 * without a state is finished unless it is empty. */
static bool wants_target(const struct xliff *xliff, const struct unit *unit) {
    const struct piece *stated = &xliff->pieces[unit->segment ? unit->unit : unit->target];
    struct xml_attribute state = {.value = {"", 0}};
    if (says(&xliff->pieces[unit->unit], "approved", "yes"))
        return false;
    if ((unit->segment || unit->target != NONE) && !find_attribute(stated, "state", &state))
        state.value = nothing;
    const struct piece *target = &xliff->pieces[unit->target];
    bool empty = target->pair <= unit->target + 1 ||
                 (target->pair == unit->target + 2 && is_blank(target + 1));
    if (unit->target == NONE || empty)
        return !bytes_among(state.value, "final signed-off reviewed");
    return bytes_among(state.value, "new needs-translation initial");
}

static int find_units(struct xliff *xliff, size_t root, struct arena *arena, struct error *err) {
    size_t file = root,
           preserved = 0; /* the end of the outermost element so far that preserves white space */
    for (size_t i = root; i < xliff->piece_count; i++) {
        const struct piece *piece = &xliff->pieces[i];
        struct unit unit = {.unit = i, .segment = is(piece, "segment")};
        if (piece->kind != PIECE_OPEN || piece->opaque)
            continue;
        if (i >= preserved && says(piece, "xml:space", "preserve"))
            preserved = piece->pair;
        if (is(piece, "file"))
            file = i;
        if (!unit.segment && !is(piece, "trans-unit"))
            continue;
        for (size_t k = i + 1; k < piece->pair; k = piece_after(xliff, k)) {
            if (is(&xliff->pieces[k], "source"))
                unit.source = unit.content = k;
            else if (is(&xliff->pieces[k], "seg-source"))
                unit.content = k;
            else if (is(&xliff->pieces[k], "target"))
                unit.target = k;
        }
        const struct piece *source = &xliff->pieces[unit.source],
                           *content = &xliff->pieces[unit.content];
        if (unit.source == NONE || source->kind != PIECE_OPEN || source->opaque ||
            content->kind != PIECE_OPEN || content->opaque ||
            !messages_can_hold(inside(xliff, unit.content)) || !wants_target(xliff, &unit))
            continue;
        bool inherits =
            !says(source, "xml:space", "default") && !says(piece, "xml:space", "default");
        unit.language = unit.segment ? root : file;
        unit.preserve = says(source, "xml:space", "preserve") ||
                        says(piece, "xml:space", "preserve") ||
                        (unit.source < preserved && inherits);
        if (add_unit(xliff, &unit, arena, err) != 0)
            return -1;
        i = piece->pair;
    }
    return 0;
}

/* Finds the units of a TMX file: those without a text in the target language. The source is that of
 * the header's or the unit's srclang, or else the first. */
static int find_variants(struct xliff *xliff, const char *language, struct arena *arena,
                         struct error *err) {
    struct bytes whole = nothing; /* the header's srclang */
    struct xml_attribute found;
    for (size_t i = 0; i < xliff->piece_count; i++) {
        const struct piece *piece = &xliff->pieces[i];
        if (is(piece, "header") && find_attribute(piece, "srclang", &found))
            whole = found.value;
        if (piece->kind != PIECE_OPEN || piece->opaque || !is(piece, "tu"))
            continue;
        struct bytes from = find_attribute(piece, "srclang", &found) ? found.value : whole;
        struct unit unit = {.unit = i, .preserve = true};
        bool done = false, exact = false;
        for (size_t k = i + 1; k < piece->pair; k = piece_after(xliff, k)) {
            size_t text = k + 1;
            if (xliff->pieces[k].kind != PIECE_OPEN || !is(&xliff->pieces[k], "tuv") ||
                !(find_attribute(&xliff->pieces[k], "xml:lang", &found) ||
                  find_attribute(&xliff->pieces[k], "lang", &found)))
                continue;
            while (text < xliff->pieces[k].pair && !is(&xliff->pieces[text], "seg"))
                text = piece_after(xliff, text);
            const struct piece *content = &xliff->pieces[text];
            bool blank = text == xliff->pieces[k].pair || content->pair <= text + 1 ||
                         (content->pair == text + 2 && is_blank(content + 1));
            if (bytes_same_language(found.value, bytes_of(language))) {
                done |= !blank || text == xliff->pieces[k].pair;
                unit.target = text;
            } else if (!blank && !content->opaque && !exact) {
                exact = bytes_same_language(found.value, from);
                if (exact || unit.source == NONE) {
                    unit.source = unit.content = text;
                    unit.variant = k;
                }
            }
        }
        if (done || unit.source == NONE || !messages_can_hold(inside(xliff, unit.source)))
            continue;
        if (add_unit(xliff, &unit, arena, err) != 0)
            return -1;
        i = piece->pair;
    }
    return 0;
}

/* ---- the document ---- */

static int refuse(const struct xliff *xliff, const char *what, struct bytes value,
                  struct error *err) {
    return markup_error_at(err, xliff->begin, value.start, "%s \"%.*s\"", what,
                           (int)utf8_clip(value.start, value.length, VALUE_SHOWN), value.start);
}

/* Reads the document and checks its root and the language of its targets. */
static int open_xliff(const struct document *document, bool tmx, struct arena *arena,
                      struct xliff *out, struct error *err) {
    const struct xml_tags tags = {.doctype = tmx};
    struct markup xml = {0};
    struct xml_attribute found;
    size_t root = 0;
    if (xml_pieces(document->source, document->length, &tags, arena, &xml, err) != 0)
        return -1;
    *out = (struct xliff){.begin = document->source,
                          .end = document->source + document->length,
                          .pieces = xml.pieces,
                          .piece_count = xml.piece_count};
    while (root < out->piece_count && out->pieces[root].kind != PIECE_OPEN)
        root++;
    const char *name = tmx ? "tmx" : "xliff";
    if (root == out->piece_count || !is(&out->pieces[root], name))
        return markup_error_at(err, out->begin,
                               root < out->piece_count ? out->pieces[root].raw : out->end,
                               "the element <%s> is expected here", name);
    if (tmx)
        return find_variants(out, document->language, arena, err);
    if (find_units(out, root, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < out->count; i++) {
        const struct unit *unit = &out->units[i];
        if (i > 0 && unit->language == out->units[i - 1].language)
            continue;
        if (find_attribute(&out->pieces[unit->language],
                           unit->segment ? "trgLang" : "target-language", &found) &&
            found.value.length > 0 &&
            !bytes_same_language(found.value, bytes_of(document->language)))
            return refuse(out, "the document has targets in another language:", found.value, err);
    }
    return 0;
}

/* ---- pairs of codes and of tags in a source ---- */

/* An element, or a code that another one ends. */
struct open {
    size_t piece;
    bool code;
    struct bytes key;
};

/* Returns the key that both ends of a pair share: rid, or the id, which an end of XLIFF 2 calls
 * startRef. */
static struct bytes key_of(const struct piece *piece) {
    static const char *const names[] = {"rid", "startRef", "id", "i" /* TMX */};
    struct xml_attribute key;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_attribute(piece, names[i], &key))
            return key.value;
    return nothing;
}

/* True if the element moves with all that is in it. */
static bool is_whole(const struct piece *piece) {
    return piece->kind == PIECE_OPEN &&
           (is(piece, "bpt ept it ph ut") || piece->opaque || says(piece, "mtype", "protected") ||
            says(piece, "translate", "no"));
}

/* Finds the pairs of a content. other [piece_count]: the other end of a piece that begins or ends
 * something; 0: it is a unit. */
static void find_pairs(const struct xliff *xliff, size_t content, size_t *other) {
    const struct piece *pieces = xliff->pieces;
    struct open open[MOST_OPEN];
    size_t depth = 0;
    for (size_t i = content + 1; i < pieces[content].pair;) {
        const struct piece *piece = &pieces[i];
        bool element = piece->kind == PIECE_OPEN,
             whole = is_whole(piece) || (element && depth == MOST_OPEN);
        bool code = is(piece, "bpt bx sc"), ends_code = !code && is(piece, "ept ex ec");
        size_t top = depth;
        if (code || (element && !whole && !ends_code)) {
            if (depth < MOST_OPEN)
                open[depth++] = (struct open){i, code, code ? key_of(piece) : nothing};
            top = 0;
        } else if (ends_code) { /* a code ends one within the element that is open, so that all of
                                   them nest */
            struct bytes key = key_of(piece);
            while (top > 0 && open[top - 1].code && !bytes_same(open[top - 1].key, key))
                top--;
            if (key.length == 0 || (top > 0 && !open[top - 1].code))
                top = 0;
        } else if (piece->kind == PIECE_CLOSE) {
            while (top > 0 && open[top - 1].code)
                top--;
            depth = top;
        } else {
            top = 0;
        }
        if (top > 0) {
            depth = top - 1;
            other[open[depth].piece] = i;
            other[i] = open[depth].piece;
        }
        i = whole ? piece_after(xliff, i) : i + 1;
    }
}

/* ---- a source as pieces ---- */

/* Takes the text up to the next line end from *bytes, and the line end, which may be written as a
 * reference. Without such an end, it takes everything, and *end has length 0. preserve: a line end
 * of the document counts, too. */
static struct bytes take_line(struct bytes *bytes, bool preserve, struct bytes *end) {
    const char *last = bytes->start + bytes->length;
    *end = bytes_between(last, last);
    for (const char *at = bytes->start; at < last && end->length == 0; at++) {
        const char *after = at;
        for (size_t step = 1; step > 0 && after < last; after += step) { /* CR LF is one end */
            int32_t c = *after == '&' ? 0 : *after;
            step = *after == '&' ? html_reference(after, last, &c) : preserve;
            step = c == '\n' || c == '\r' ? step : 0;
        }
        *end = after > at ? bytes_between(at, after) : *end;
    }
    struct bytes line = bytes_between(bytes->start, end->start);
    *bytes = bytes_between(end->start + end->length, last);
    return line;
}

/* Returns how text is written in XML. */
static struct bytes write_escaped(const struct marking *marking, struct bytes text,
                                  struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    (void)marking;
    bytes_put(&out, "", 0);
    lines_escape_markup(&out, text.start, text.length);
    return out.failed ? nothing : (struct bytes){out.bytes, out.length};
}

/* Strings of programs are often HTML: markup that remains after XLIFF's own references were decoded
 * is not text. */
static void add_words(struct piece_builder *builder, struct bytes text, struct bytes raw) {
    static const struct marking marking = {.written = write_escaped, .accelerators = true};
    if (marks_are_in(text, &marking))
        piece_add_marked(builder, text, &marking);
    else
        piece_add_text(builder, text, raw);
}

/* True if the source is a message in ICU's notation. Inline elements without words become arguments
 * of the message. */
static bool is_message(const struct xliff *xliff, const struct unit *unit, struct arena *arena,
                       struct bytes *text) {
    const struct piece *pieces = xliff->pieces;
    size_t end = pieces[unit->content].pair;
    struct bytes_buffer out = {.arena = arena};
    if (!pieces[unit->content + 1].plain ||
        !memchr(pieces[unit->content + 1].raw, '{', pieces[unit->content + 1].length))
        return false;
    for (size_t i = unit->content + 1; i < end; i = piece_after(xliff, i)) {
        const struct piece *piece = &pieces[i];
        char name[MOST_INLINE];
        if (piece->plain ? memmem(piece->raw, piece->length, INLINE, strlen(INLINE)) != NULL
                         : !(piece->kind == PIECE_UNIT || is_whole(piece)) ||
                               is(piece, "bpt ept bx ex sc ec mrk"))
            return false;
        snprintf(name, sizeof name, INLINE "%zu}", i);
        bytes_put(&out, piece->plain ? piece->raw : name,
                  piece->plain ? piece->length : strlen(name));
    }
    *text = (struct bytes){out.bytes, out.length};
    return !out.failed && out.length > 0 && icu_message_is(text->start, text->length);
}

/* Puts a message with its inline elements. */
static void put_message(const struct xliff *xliff, struct bytes_buffer *out, struct bytes message) {
    const char *at = message.start, *end = at + message.length;
    for (const char *unit;
         (unit = memmem(at, (size_t)(end - at), INLINE, strlen(INLINE))) != NULL;) {
        char *after;
        size_t piece = strtoul(unit + strlen(INLINE), &after, 10);
        bytes_put(out, at, (size_t)(unit - at));
        at = after < end ? after + 1 : end;
        if (piece >= xliff->piece_count)
            continue;
        struct bytes first = written(xliff, piece),
                     last = written(xliff, piece_after(xliff, piece) - 1);
        bytes_put(out, first.start, (size_t)(last.start + last.length - first.start));
    }
    bytes_put(out, at, (size_t)(end - at));
}

/* Returns what an inline element stands for: its content, an attribute, or original data before the
 * unit's content; length 0: unknown. */
static struct bytes meaning_of(const struct xliff *xliff, const struct unit *unit, size_t i,
                               size_t last, struct arena *arena) {
    static const char *const names[] = {"equiv-text", "equiv", "disp"};
    const struct piece *piece = &xliff->pieces[i];
    struct xml_attribute found;
    struct bytes out = nothing;
    if (last == i + 2 && piece[1].plain)
        return (struct bytes){piece[1].raw, piece[1].length};
    if (find_attribute(piece, "dataRef", &found)) {
        size_t first = unit->content > MOST_DATA ? unit->content - MOST_DATA : 0;
        for (size_t k = unit->content; k-- > first && !is(&xliff->pieces[k], "unit");) {
            struct xml_attribute id;
            const struct piece *data = &xliff->pieces[k];
            if (is(data, "data") && data[1].plain && find_attribute(data, "id", &id) &&
                bytes_same(id.value, found.value))
                return (struct bytes){data[1].raw, data[1].length};
        }
    }
    for (size_t k = 0; k < sizeof names / sizeof *names && out.length == 0; k++) {
        if (!find_attribute(piece, names[k], &found))
            continue;
        const struct xml_token token = {.kind = XML_TEXT,
                                        .begin = found.value.start,
                                        .end = found.value.start + found.value.length};
        if (xml_decode(xliff->begin, &token, arena, &out, NULL) != 0)
            return nothing;
    }
    return out;
}

/* True if all of the text is a placeholder: {0}, {{name}}, %s, ${name}. */
static bool is_placeholder(struct bytes text) {
    struct opaque_run run;
    size_t at = 0;
    if (text.length == 0 || *text.start == '<' || memchr(text.start, ' ', text.length))
        return false;
    return opaque_at(NOTATION_BRACES | NOTATION_PERCENT | NOTATION_DOLLAR, text.start, text.length,
                     0) == text.length ||
           (opaque_next(NOTATION_PLACEHOLDERS, text.start, text.length, &at, &run) &&
            run.begin == 0 && run.end == text.length);
}

/* Adds an inline element without words. A line break ends a sentence, as in HTML; a placeholder is
 * a word of it. */
static void add_empty(const struct xliff *xliff, const struct unit *unit, size_t i, size_t last,
                      struct bytes raw, struct piece_builder *builder) {
    const struct piece *piece = &xliff->pieces[i];
    if (!is(piece, "x ph it")) {
        piece_add_unit(builder, raw);
        return;
    }
    struct bytes means = bytes_trimmed(meaning_of(xliff, unit, i, last, builder->arena));
    struct xml_attribute id;
    if (says(piece, "ctype", "lb") || says(piece, "type", "lb") ||
        says(piece, "subType", "xlf:lb") ||
        bytes_begin(means.start, means.start + means.length, "<br"))
        piece_add_break(builder, raw);
    else if (is_placeholder(means))
        piece_add_word(builder, means, raw);
    else if (means.length == 0 && find_attribute(piece, "id", &id) && /* Angular's {{name}} */
             bytes_begin(id.value.start, id.value.start + id.value.length, "INTERPOLATION"))
        piece_add_word(builder, bytes_of("{0}"), raw);
    else
        piece_add_unit(builder, raw);
}

static void add_content(const struct xliff *xliff, const struct unit *unit, size_t *others,
                        struct document_spans *spans, struct piece_builder *builder) {
    size_t first = builder->markup.piece_count;
    struct bytes message;
    if (is_message(xliff, unit, builder->arena, &message)) {
        spans_add_message(spans, builder, message, &(struct error){0});
        return;
    }
    find_pairs(xliff, unit->content, others);
    builder->markup.units_part = true;
    for (size_t i = unit->content + 1, next; i < xliff->pieces[unit->content].pair; i = next) {
        const struct piece *piece = &xliff->pieces[i];
        size_t other = others[i],
               last = is_whole(piece) || other == 0 ? piece_after(xliff, i) - 1 : i;
        struct bytes begin = written(xliff, i), end = written(xliff, last);
        struct bytes raw = bytes_between(begin.start, end.start + end.length);
        next = last + 1;
        if (piece->plain) {
            /* If white space counts, lines are separate texts; a line end that is written as a
             * reference always counts. */
            struct bytes rest = begin, line = begin, text = {piece->raw, piece->length},
                         line_end = nothing;
            bool data = memchr(begin.start, '<', begin.length) !=
                        NULL; /* CDATA, whose text is not decoded again */
            do {
                line = data ? rest : take_line(&rest, unit->preserve, &line_end);
                const struct xml_token token = {
                    .kind = XML_TEXT, .begin = line.start, .end = line.start + line.length};
                if (line.length < begin.length &&
                    xml_decode(xliff->begin, &token, builder->arena, &text, NULL) != 0)
                    builder->failed = ERROR_MEMORY;
                add_words(builder, text, line);
                if (line_end.length > 0)
                    piece_add_break(builder, line_end);
            } while (!data && rest.length > 0);
        } else if (other == 0 && last == i + 2 &&
                   is(piece, "mrk")) { /* a name that is not translated, but is a word */
            piece_add_code(builder, begin, written(xliff, i + 1), end);
        } else if (other == 0) {
            add_empty(xliff, unit, i, last, raw, builder);
        } else if (says(&xliff->pieces[piece->kind == PIECE_CLOSE ? piece->pair : i], "mtype",
                        "seg")) {
            piece_add_break(builder, raw); /* a sentence of a <seg-source> */
        } else if (other > i) {
            piece_add_open(builder, raw);
        } else {
            piece_add_close(builder, raw);
        }
    }
    spans_end_text(spans, builder, first);
}

/* ---- writing tags ---- */

static void put_value(struct span_writer *writer, const char *value) {
    bytes_put_escaped(&writer->out, value, strlen(value), "&<\"");
}

static void put_attribute(struct span_writer *writer, const char *name, const char *value) {
    bytes_put_string(&writer->out, " ");
    bytes_put_string(&writer->out, name);
    bytes_put_string(&writer->out, "=\"");
    put_value(writer, value);
    bytes_put_string(&writer->out, "\"");
}

/* Returns the place after the last attribute of a tag, or after its name. */
static const char *content_end(const struct piece *tag) {
    const char *end = tag->raw + tag->length - 1;
    while (byte_is_space(end[-1]) || end[-1] == '/')
        end--;
    return end;
}

/* Puts a tag up to its last attribute, with this value of `name`, and without the attribute
 * `without` (NULL: with all). */
static void put_tag(struct span_writer *writer, const struct piece *tag, const char *name,
                    const char *value, const char *without) {
    struct xml_attribute attribute;
    bool found = false;
    for (const char *at = NULL; next_attribute(tag, &at, &attribute);) {
        if (bytes_are(attribute.name, name)) {
            span_keep(writer, attribute.value.start);
            put_value(writer, value);
            writer->done = attribute.value.start + attribute.value.length;
            found = true;
        } else if (without && bytes_are(attribute.name, without)) {
            span_keep(writer, attribute.begin);
            writer->done = attribute.end;
        }
    }
    span_keep(writer, content_end(tag));
    if (!found)
        put_attribute(writer, name, value);
}

/* Begins a tag of a new element, with the prefix of its source. */
static void put_new_tag(struct span_writer *writer, const char *mark, const char *name,
                        const struct piece *source) {
    const char *begin = source->raw + 1, *end = begin;
    while (!byte_is_space(*end) && *end != '>' && *end != '/' && *end != ':')
        end++;
    bytes_put_string(&writer->out, mark);
    bytes_put(&writer->out, begin, *end == ':' ? (size_t)(end + 1 - begin) : 0);
    bytes_put_string(&writer->out, name);
}

/* ---- writing targets ---- */

/* A span_put: puts a translated unit. In XLIFF 2 the segment has the state; the subState of a tool
 * is dropped with the former state. */
static void put_unit(struct span_writer *writer, const struct document_span *span,
                     const struct span_written *text) {
    const struct xliff *xliff = writer->about;
    const struct unit *unit = span->about;
    const struct piece *tag = &xliff->pieces[unit->language];
    const char *name = unit->segment ? "trgLang" : "target-language";
    struct xml_attribute found;
    if (!text->translated)
        return;
    bool sound = text->sound && (span->texts[0].plain ||
                                 marks_same(inside(xliff, unit->content), text->text, false));
    const char *state = sound ? "translated" : "needs-review-translation";
    const bool memory = unit->variant != NONE;
    const char *element = memory ? "seg" : "target";
    if (!memory && tag->raw >= writer->done &&
        (!find_attribute(tag, name, &found) || found.value.length == 0))
        put_tag(writer, tag, name, writer->document->language, NULL);
    if (unit->segment)
        put_tag(writer, &xliff->pieces[unit->unit], "state", "translated", "subState");
    if (unit->segment && !sound)
        put_attribute(writer, "subState", "alignd:needs-review-translation");

    /* A new target follows the content, on its own line if the source is; "<target/>" becomes two
     * tags. */
    const size_t beside = memory ? unit->variant : unit->source;
    const struct piece *own = &xliff->pieces[beside], *target = &xliff->pieces[unit->target];
    bool fresh = unit->target == NONE, is_void = !fresh && target->kind == PIECE_UNIT;
    if (fresh) {
        struct bytes before = is_blank(own - 1) ? written(xliff, beside - 1) : nothing;
        struct bytes last = written(xliff, piece_after(xliff, memory ? beside : unit->content) - 1);
        span_keep(writer, last.start + last.length);
        bytes_put(&writer->out, before.start, before.length);
        if (memory) {
            put_new_tag(writer, "<", "tuv", own);
            put_attribute(writer, "xml:lang", writer->document->language);
            bytes_put_string(&writer->out, ">");
        }
        put_new_tag(writer, "<", element, own);
        if (!unit->segment && !memory)
            put_attribute(writer, "state", state);
    } else if (unit->segment || memory) {
        span_keep(writer, content_end(target));
    } else {
        put_tag(writer, target, "state", state, NULL);
    }

    /* Put the namespaces that the source declares and the tag of the target does not, because the
     * content may use them. */
    struct xml_attribute attribute, there;
    for (const char *at = NULL; next_attribute(&xliff->pieces[unit->content], &at, &attribute);) {
        struct bytes prefix = attribute.name;
        bool declares = prefix.length >= 5 && memcmp(prefix.start, "xmlns", 5) == 0 &&
                        (prefix.length == 5 || prefix.start[5] == ':');
        for (const char *other = NULL;
             declares && !fresh && next_attribute(target, &other, &there);)
            declares = !bytes_same(there.name, prefix);
        if (!declares)
            continue;
        bytes_put_string(&writer->out, " ");
        bytes_put(&writer->out, prefix.start, (size_t)(attribute.end - prefix.start));
    }
    bytes_put_string(&writer->out, ">");
    if (span->texts[0].plain)
        put_message(xliff, &writer->out, text->text);
    else
        bytes_put(&writer->out, text->text.start, text->text.length);
    if (!fresh)
        writer->done = is_void ? target->raw + target->length : xliff->pieces[target->pair].raw;
    if (fresh || is_void) {
        put_new_tag(writer, "</", element, fresh ? own : target);
        bytes_put_string(&writer->out, ">");
    }
    if (fresh && memory) {
        put_new_tag(writer, "</", "tuv", own);
        bytes_put_string(&writer->out, ">");
    }
}

static int read_units(const struct document *document, bool tmx, struct arena *arena,
                      struct markup *out, struct error *err) {
    struct piece_builder builder = document_builder(document, arena);
    struct document_spans *spans = arena_zalloc(arena, 1, sizeof *spans);
    struct xliff *xliff = arena_alloc(arena, 1, sizeof *xliff);
    if (!spans || !xliff)
        return error_memory(err);
    if (open_xliff(document, tmx, arena, xliff, err) != 0)
        return -1;
    size_t *others = arena_zalloc(arena, xliff->piece_count, sizeof *others);
    if (!others)
        return error_memory(err);
    spans->about = xliff;
    spans->put = put_unit;
    for (size_t i = 0; i < xliff->count && !builder.failed; i++) {
        const struct unit *unit = &xliff->units[i];
        const char *begin = xliff->pieces[unit->unit].raw;
        spans_add(spans, &builder, begin, begin, unit);
        if (!builder.failed)
            add_content(xliff, unit, others, spans, &builder);
    }
    return spans_build(spans, &builder, lines_escape_markup, out, err);
}

int xliff_read(const struct document *document, struct arena *arena, struct markup *out,
               struct error *err) {
    return read_units(document, false, arena, out, err);
}

int xliff_read_tmx(const struct document *document, struct arena *arena, struct markup *out,
                   struct error *err) {
    return read_units(document, true, arena, out, err);
}
