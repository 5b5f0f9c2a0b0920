#include "server/documents/review.h"
#include "model/base/utf8.h"
#include "server/decode/outcome.h"
#include "server/markup/xml.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    SHOWN_BYTES = 60, /* bytes of notation that an inline element shows */
    TAG_BYTES = 64,   /* bytes of a tag beside what it shows */
    MOST_NOTED = 20   /* doubtful words, or differing signs, that a note names */
};

/* True if all of a segment is one part, whose marks say nothing to a person. */
static bool is_one_part(const struct markup *markup, const struct markup_segment *segment) {
    const struct piece *first = &markup->pieces[segment->first];
    return segment->first < segment->end && first->kind == PIECE_OPEN && first->part &&
           first->pair + 1 == segment->end;
}

/* ---- writing ---- */

/* Appends text as XML, which has no notation for control characters. quoted: it is a value. */
static void put_xml(struct bytes_buffer *out, struct bytes text, bool quoted) {
    for (size_t at = 0; at < text.length;) {
        size_t run = 0;
        while (at + run < text.length && ((unsigned char)text.start[at + run] >= ' ' ||
                                          strchr("\t\n\r", text.start[at + run])))
            run++;
        bytes_put_escaped(out, text.start + at, run, quoted ? "&<>\"" : "&<>");
        at += run;
        if (at < text.length) {
            bytes_put(out, " ", 1);
            at++;
        }
    }
}

/* A markup_escape. */
static void escape(struct bytes_buffer *out, const char *text, size_t length) {
    put_xml(out, (struct bytes){text, length}, false);
}

/* Makes a piece the start tag of an inline element, which encloses text, or the tag of one that
 * shows the notation that it stands for. */
static void set_tag(struct piece *piece, size_t id, struct bytes shown, struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    char tag[TAG_BYTES];
    bool encloses = shown.length == 0;
    snprintf(tag, sizeof tag, "<%s id=\"%zu\"", encloses ? "pc" : "ph", id);
    bytes_put_string(&out, tag);
    bytes_put_string(&out, encloses ? ">" : " disp=\"");
    if (!encloses) {
        shown.length = utf8_clip(shown.start, shown.length, SHOWN_BYTES);
        put_xml(&out, shown, true);
        bytes_put_string(&out, "\"/>");
    }
    piece->raw = out.failed ? "" : out.bytes;
    piece->length = out.failed ? 0 : (uint32_t)out.length;
}

/* Returns what the pieces [first,last] stand for: their notation, or else the words that represent
 * them. */
static struct bytes shown_of(const struct markup *markup, size_t first, size_t last,
                             const struct markup_segment *segment) {
    const struct piece *piece = &markup->pieces[first];
    if (first < last) /* an element that stays: its content represents it */
        piece++;
    struct bytes shown = piece->blank        ? (struct bytes){"space", 5}
                         : piece->length > 0 ? (struct bytes){piece->raw, piece->length}
                                             : (struct bytes){segment->text + piece->begin,
                                                              piece->end - piece->begin};
    return shown.length > 0 ? shown : (struct bytes){"mark", 4};
}

/* Rewrites the pieces of a segment, in a copy of them, in the notation of XLIFF. */
static void write_pieces_anew(const struct markup *markup, const struct markup_segment *segment,
                              struct piece *pieces, struct arena *arena) {
    static const char end[] = "</pc>";
    size_t hidden = is_one_part(markup, segment) ? segment->first : SIZE_MAX;
    for (size_t i = segment->first; i < segment->end; i++) {
        struct piece *piece = &pieces[i];
        size_t last = piece->kind == PIECE_OPEN && piece->opaque ? piece->pair : i,
               id = i - segment->first + 1;
        piece->notation = PIECE_BY_FORMAT;
        if (piece->kind == PIECE_TEXT && piece->plain) {
            struct bytes_buffer out = {.arena = arena};
            struct bytes text = {piece->raw, piece->length};
            while (i == segment->first && text.length > 0 && byte_is_space(*text.start))
                text = bytes_between(text.start + 1, text.start + text.length);
            while (i + 1 == segment->end && text.length > 0 &&
                   byte_is_space(text.start[text.length - 1]))
                text.length--;
            bytes_put(&out, "", 0);
            put_xml(&out, text, false);
            piece->raw = text.start;
            piece->length = (uint32_t)text.length;
            piece->source = out.failed ? "" : out.bytes;
            piece->source_length = out.failed ? 0 : (uint32_t)out.length;
            continue;
        }
        struct bytes shown = shown_of(markup, i, last, segment);
        bool open = piece->kind == PIECE_OPEN && last == i, close = piece->kind == PIECE_CLOSE;
        for (size_t k = i; k <= last; k++) {
            pieces[k].source = NULL;
            pieces[k].source_length = 0;
            pieces[k].shown_length = 0;
            pieces[k].plain = false;
            pieces[k].length = 0;
            pieces[k].raw = "";
        }
        if (hidden != SIZE_MAX && (i == hidden || i + 1 == segment->end)) {
            continue;
        } else if (close) {
            piece->raw = end;
            piece->length = sizeof end - 1;
        } else {
            set_tag(piece, id, open ? nothing : shown, arena);
        }
        i = last;
    }
}

/* Appends strings with commas between them, up to MOST_NOTED of them. */
static void put_list(struct bytes_buffer *out, const char *const *strings, size_t count) {
    for (size_t i = 0; i < count && i < MOST_NOTED; i++) {
        bytes_put_string(out, i > 0 ? ", " : "");
        put_xml(out, bytes_of(strings[i]), false);
    }
}

static void put_note(struct bytes_buffer *out, const char *category, const char *text) {
    bytes_put_string(out, "    <note category=\"");
    bytes_put_string(out, category);
    bytes_put_string(out, "\">");
    bytes_put_string(out, text);
}

/* Appends notes on the sentences of a text: the words of which the model is unsure, and what source
 * and translation do not share. Returns -1 if memory runs out. */
static int put_judgements(struct bytes_buffer *out, const struct text *text) {
    static const char *const codes[CHECKS] = {
        [CHECK_NUMBERS] = "numbers", [CHECK_SIGNS] = "signs", [CHECK_GLOSSARY] = "glossary"};
    for (size_t i = 0; i < text->count; i++) {
        const struct outcome *outcome = text->jobs[i].outcome;
        struct judgement judgement;
        if (outcome_judgement(outcome, out->arena, &judgement) != 0)
            return -1;
        if (outcome->untranslated)
            put_note(out, "untranslated", "the model found no translation</note>\n");
        for (size_t k = 0; k < outcome->doubt_count && k < MOST_NOTED; k++) {
            struct outcome_place word = outcome_doubts(outcome)[k];
            if (k == 0)
                put_note(out, "doubtful", "the model is unsure of: ");
            else
                bytes_put_string(out, ", ");
            put_xml(out, (struct bytes){outcome->text + word.begin, word.end - word.begin}, false);
        }
        bytes_put_string(out, outcome->doubt_count > 0 ? "</note>\n" : "");
        for (size_t k = 0; k < CHECKS; k++) {
            const struct check_lists *lists = &judgement.lists[k];
            if (lists->source_count + lists->target_count == 0)
                continue;
            put_note(out, codes[k], lists->source_count > 0 ? "the translation lacks: " : "");
            put_list(out, lists->source, lists->source_count);
            bytes_put_string(out, lists->source_count > 0 && lists->target_count > 0 ? "; " : "");
            bytes_put_string(out, lists->target_count > 0 ? "the source lacks: " : "");
            put_list(out, lists->target, lists->target_count);
            bytes_put_string(out, "</note>\n");
        }
    }
    return 0;
}

/* Appends the source of a segment, or its translation. */
static void put_side(struct bytes_buffer *out, struct markup_writing *writing, size_t i,
                     const struct markup_translation *translations) {
    const struct markup_segment *segment = &writing->markup->segments[i];
    const struct markup_translation *translation = &translations[i];
    if (segment->first == segment->end) { /* the value of an attribute */
        put_xml(out,
                translation->text ? (struct bytes){translation->text, translation->length}
                                  : (struct bytes){segment->text, segment->length},
                false);
        return;
    }
    writing->translations = translations;
    writing->out = out;
    writing->segment = i;
    markup_write_pieces(writing, segment->first, segment->end);
}

char *review_write(const struct markup *markup, const struct markup_translation *translations,
                   const struct text *texts, struct arena *arena, size_t *length,
                   struct error *err) {
    struct bytes_buffer out = {.arena = arena}, notes = {.arena = arena};
    struct piece *pieces = arena_alloc(arena, markup->piece_count + 1, sizeof *pieces);
    struct markup_translation *none = arena_zalloc(arena, markup->count + 1, sizeof *none);
    struct markup anew = {.pieces = pieces,
                          .piece_count = markup->piece_count,
                          .segments = markup->segments,
                          .count = markup->count,
                          .values = markup->values,
                          .units_part = markup->units_part,
                          .spaced = markup->spaced,
                          .built = true,
                          .escape = escape};
    struct markup_writing writing = {.markup = &anew};
    if (!pieces || !none)
        return error_memory(err), NULL;
    if (markup->piece_count > 0)
        memcpy(pieces, markup->pieces, markup->piece_count * sizeof *pieces);
    bytes_put_string(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<xliff xmlns=\"urn:oasis:names:tc:xliff:document:2.0\" version=\"2.0\" "
                           "srcLang=\"");
    put_xml(&out, bytes_of(markup->from ? markup->from : "und"), true);
    bytes_put_string(&out, "\" trgLang=\"");
    put_xml(&out, bytes_of(markup->language ? markup->language : "und"), true);
    bytes_put_string(&out, "\">\n<file id=\"document\">\n");
    for (size_t i = 0; i < markup->count && !out.failed; i++) {
        const struct markup_segment *segment = &markup->segments[i];
        char tag[TAG_BYTES];
        write_pieces_anew(markup, segment, pieces, arena);
        snprintf(tag, sizeof tag, "<unit id=\"%zu\" xml:space=\"preserve\">\n", i + 1);
        bytes_put_string(&out, tag);
        notes.length = 0;
        if (texts && put_judgements(&notes, &texts[i]) != 0)
            return error_memory(err), NULL;
        if (notes.length > 0) {
            bytes_put_string(&out, "  <notes>\n");
            bytes_put(&out, notes.bytes, notes.length);
            bytes_put_string(&out, "  </notes>\n");
        }
        bool translated = translations[i].text != NULL;
        bytes_put_string(&out, translated ? "  <segment state=\"translated\">\n    <source>"
                                          : "  <segment>\n    <source>");
        put_side(&out, &writing, i, none);
        bytes_put_string(&out, "</source>\n");
        if (translated) {
            bytes_put_string(&out, "    <target>");
            put_side(&out, &writing, i, translations);
            bytes_put_string(&out, "</target>\n");
        }
        bytes_put_string(&out, "  </segment>\n</unit>\n");
        out.failed |= notes.failed || arena_failed(arena);
    }
    bytes_put_string(&out, "</file>\n</xliff>\n");
    return bytes_take(&out, length, err);
}

/* ---- reading ---- */

/* A unit while it is read. */
struct unit {
    size_t segment;             /* its index; SIZE_MAX: no unit is open */
    struct bytes_buffer source; /* text without inline elements */
    struct bytes_buffer target;
    struct markup_placed *placed; /* [count] */
    size_t count, room;
    size_t open[MARKUP_MAX_DEPTH]; /* [depth] indices of what is open in placed, or SIZE_MAX */
    size_t depth;
    size_t part; /* 1: the text is one part, which is placed[0]; otherwise 0 */
    bool has_target, in_source, in_target;
};

struct reading {
    struct bytes review;
    const struct document *document;
    const struct markup *markup;
    struct arena *arena;
    struct markup_translation *translations;
    struct unit unit;
    size_t units;
    bool *seen; /* [markup->piece_count] inline elements that a target has */
};

/* True if both texts have the same bytes beside white space. */
static bool same_words(struct bytes a, struct bytes b) {
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a.length && byte_is_space(a.start[i]))
            i++;
        while (k < b.length && byte_is_space(b.start[k]))
            k++;
        if (i == a.length || k == b.length)
            return i == a.length && k == b.length;
        if (a.start[i] != b.start[k])
            return false;
    }
}

/* Returns the text of a segment without its inline elements, as review_write writes it. */
static struct bytes text_of(const struct markup *markup, const struct markup_segment *segment,
                            struct arena *arena) {
    struct bytes_buffer out = {.arena = arena};
    if (segment->first == segment->end)
        return (struct bytes){segment->text, segment->length};
    bytes_put(&out, "", 0);
    for (size_t i = segment->first; i < segment->end; i++) {
        const struct piece *piece = &markup->pieces[i];
        if (piece->kind == PIECE_OPEN && piece->opaque)
            i = piece->pair;
        else if (piece->kind == PIECE_TEXT && piece->plain)
            for (size_t k = 0; k < piece->length; k++) /* as put_xml */
                bytes_put(&out, (unsigned char)piece->raw[k] < ' ' ? " " : piece->raw + k, 1);
    }
    return (struct bytes){out.bytes, out.length};
}

/* Returns the first piece that the target must have and lacks; SIZE_MAX: it lacks none. */
static size_t find_missing(const struct reading *reading) {
    const struct markup *markup = reading->markup;
    const struct markup_segment *segment = &markup->segments[reading->unit.segment];
    for (size_t i = segment->first; i < segment->end; i++) {
        const struct piece *piece = &markup->pieces[i];
        bool whole = piece->kind == PIECE_OPEN && piece->opaque;
        bool needed = whole || (piece->kind == PIECE_UNIT && !piece->blank) ||
                      (piece->kind == PIECE_OPEN && piece->part);
        if (needed && !reading->seen[i])
            return i;
        i = whole ? piece->pair : i;
    }
    return SIZE_MAX;
}

static int end_unit(struct reading *reading, const char *at, struct error *err) {
    struct unit *unit = &reading->unit;
    const struct markup *markup = reading->markup;
    const struct markup_segment *segment = &markup->segments[unit->segment];
    struct arena *arena = reading->arena;
    static const struct markup_placed nowhere;
    if (unit->source.failed || unit->target.failed)
        return error_memory(err);
    size_t number = unit->segment + 1;
    if (!same_words((struct bytes){unit->source.bytes, unit->source.length},
                    text_of(markup, segment, arena)))
        return markup_error_at(err, reading->review.start, at,
                               "the source of unit %zu is not that of the document", number);
    struct bytes target = {unit->target.bytes, unit->target.length};
    size_t least = 0; /* white space before an inline element counts */
    for (size_t i = unit->part; i < unit->count; i++)
        least = unit->placed[i].past > least ? unit->placed[i].past : least;
    while (target.length > least && byte_is_space(target.start[target.length - 1]))
        target.length--;
    if (unit->part > 0)
        unit->placed[0].past = target.length;
    size_t missing = unit->has_target ? find_missing(reading) : SIZE_MAX;
    if (missing != SIZE_MAX)
        document_note(reading->document, NULL, "untranslated",
                      "unit %zu stays, because its target lacks the inline element %zu", number,
                      missing - segment->first + 1);
    else if (unit->has_target)
        reading->translations[unit->segment] =
            (struct markup_translation){.text = target.start,
                                        .length = target.length,
                                        .placed = unit->placed ? unit->placed : &nowhere,
                                        .placed_count = unit->count};
    unit->segment = SIZE_MAX;
    return 0;
}

/* Begins a unit by its id. */
static int begin_unit(struct reading *reading, const struct xml_token *token, struct error *err) {
    struct bytes id;
    size_t number = 0;
    if (xml_attribute(token, "id", &id) && id.length > 0 && id.length < 10)
        number = strtoul(id.start, NULL, 10);
    if (number == 0 || number > reading->markup->count)
        return markup_error_at(err, reading->review.start, token->begin,
                               "the document has no text with the number of this unit; it has %zu",
                               reading->markup->count);
    struct arena *arena = reading->arena;
    reading->unit =
        (struct unit){.segment = number - 1, .source.arena = arena, .target.arena = arena};
    bytes_put(&reading->unit.source, "", 0);
    bytes_put(&reading->unit.target, "", 0);
    reading->units++;
    const struct markup_segment *segment = &reading->markup->segments[number - 1];
    if (!is_one_part(reading->markup, segment))
        return 0;
    struct unit *unit = &reading->unit;
    unit->placed = arena_grow(arena, NULL, 0, &unit->room, 1, sizeof *unit->placed);
    if (!unit->placed)
        return error_memory(err);
    unit->placed[0] = (struct markup_placed){segment->first, 0, 0, 0};
    unit->part = unit->count = 1;
    reading->seen[segment->first] = true;
    return 0;
}

/* Reads the start of an inline element in a target. Elements of a tool, which are not the
 * document's, are only open. */
static int begin_inline(struct reading *reading, const struct xml_token *token, struct error *err) {
    struct unit *unit = &reading->unit;
    const struct markup_segment *segment = &reading->markup->segments[unit->segment];
    struct bytes name = xml_local_name(token->name), id;
    size_t number = 0, parent = 0, own = SIZE_MAX;
    if (bytes_among(name, "pc ph") && xml_attribute(token, "id", &id) && id.length > 0 &&
        id.length < 10)
        number = strtoul(id.start, NULL, 10);
    for (size_t i = unit->depth; i > 0 && parent == 0; i--)
        parent = unit->open[i - 1] == SIZE_MAX ? 0 : unit->open[i - 1] + 1;
    parent = parent > 0 ? parent : unit->part;
    if (number > 0 && number <= segment->end - segment->first) {
        size_t at = segment->first + number - 1;
        const struct piece *piece = &reading->markup->pieces[at];
        bool element = piece->kind == PIECE_OPEN && !piece->opaque,
             whole = piece->kind == PIECE_UNIT || (piece->kind == PIECE_OPEN && piece->opaque);
        if (!reading->seen[at] && (bytes_are(name, "pc") ? element : whole)) {
            struct markup_placed *placed = arena_grow(reading->arena, unit->placed, unit->count,
                                                      &unit->room, 1, sizeof *placed);
            if (!placed)
                return error_memory(err);
            unit->placed = placed;
            reading->seen[at] = true;
            own = unit->count++;
            placed[own] =
                (struct markup_placed){at, parent, unit->target.length, unit->target.length};
        }
    }
    if (token->kind == XML_START) {
        if (unit->depth == MARKUP_MAX_DEPTH)
            return markup_error_at(err, reading->review.start, token->begin,
                                   "there are too many elements within elements");
        unit->open[unit->depth++] = own;
    }
    return 0;
}

static int take_text(struct reading *reading, const struct xml_token *token, struct error *err) {
    struct unit *unit = &reading->unit;
    struct bytes text = bytes_between(token->begin, token->end);
    if (token->kind == XML_TEXT &&
        xml_decode(reading->review.start, token, reading->arena, &text, err) != 0)
        return -1;
    struct bytes_buffer *out = unit->in_source ? &unit->source : &unit->target;
    for (size_t i = 0; i < text.length; i++) /* the document has its own white space around it */
        if (out->length > 0 || unit->count > unit->part || !byte_is_space(text.start[i]))
            bytes_put(out, strchr("\n\r", text.start[i]) ? " " : text.start + i, 1);
    return 0;
}

static int take_token(struct reading *reading, const struct xml_token *token, struct error *err) {
    struct unit *unit = &reading->unit;
    struct bytes name = xml_local_name(token->name);
    bool open = unit->segment != SIZE_MAX, tag = token->kind <= XML_EMPTY;
    if (!open)
        return token->kind == XML_START && bytes_are(name, "unit") ? begin_unit(reading, token, err)
                                                                   : 0;
    if (tag && bytes_are(name, "unit"))
        return token->kind == XML_END ? end_unit(reading, token->begin, err) : 0;
    if (tag && bytes_are(name, "source")) {
        unit->in_source = token->kind == XML_START;
    } else if (tag && bytes_are(name, "target")) {
        unit->in_target = token->kind == XML_START;
        unit->has_target |= unit->in_target;
    } else if (unit->in_target && token->kind == XML_END) {
        size_t own = unit->depth > 0 ? unit->open[--unit->depth] : SIZE_MAX;
        if (own != SIZE_MAX)
            unit->placed[own].past = unit->target.length;
    } else if (unit->in_target && tag) {
        return begin_inline(reading, token, err);
    } else if ((unit->in_source || unit->in_target) &&
               (token->kind == XML_TEXT || token->kind == XML_CDATA)) {
        return take_text(reading, token, err);
    }
    return 0;
}

const char *review_language(struct bytes review, struct arena *arena, struct error *err) {
    struct xml_scan scan;
    struct xml_token token;
    struct bytes language, version;
    int result;
    xml_scan_begin(&scan, review, false, arena->budget);
    while ((result = xml_next(&scan, &token, err)) > 0 && token.kind != XML_START)
        ;
    if (result < 0)
        return NULL;
    if (result == 0 || !bytes_are(xml_local_name(token.name), "xliff") ||
        !xml_attribute(&token, "version", &version) || version.length == 0 ||
        *version.start != '2' || !xml_attribute(&token, "trgLang", &language) ||
        language.length == 0)
        return error_set(err, ERROR_INPUT, "the review must be XLIFF 2 with trgLang"), NULL;
    const char *copy = arena_copy(arena, language.start, language.length);
    if (!copy)
        error_memory(err);
    return copy;
}

int review_read(struct bytes review, const struct document *document, const struct markup *markup,
                struct arena *arena, struct markup_translation *translations, struct error *err) {
    struct reading *reading = arena_zalloc(arena, 1, sizeof *reading);
    struct xml_scan scan;
    struct xml_token token;
    int result;
    bool *seen = arena_zalloc(arena, markup->piece_count + 1, sizeof *seen);
    if (!reading || !seen)
        return error_memory(err);
    *reading = (struct reading){.review = review,
                                .document = document,
                                .markup = markup,
                                .arena = arena,
                                .translations = translations,
                                .unit.segment = SIZE_MAX,
                                .seen = seen};
    xml_scan_begin(&scan, review, false, arena->budget);
    while ((result = xml_next(&scan, &token, err)) > 0)
        if (take_token(reading, &token, err) != 0)
            return -1;
    if (result == 0 && reading->units != markup->count)
        return error_set(err, ERROR_INPUT,
                         "the review has %zu units, and the document has %zu texts", reading->units,
                         markup->count);
    return result;
}
