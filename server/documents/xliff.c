#include "server/documents/xliff.h"
#include "model/base/utf8.h"
#include "server/documents/messages.h"
#include <string.h>
#include <strings.h>

enum { VALUE_SHOWN = 40 };

/* ---- tags ---- */

static bool is_start(const struct html_piece *piece) {
    bool tag = piece->length > 1 && piece->raw[0] == '<' && !piece->plain;
    return tag && !strchr("/!?", piece->raw[1]);
}

/* Behind the name. */
static const char *name_end(const struct html_piece *piece) {
    const char *at = piece->raw + 1, *end = piece->raw + piece->length - 1;
    while (at < end && !html_is_space(*at) && *at != '/')
        at++;
    return at;
}

bool xliff_is(const struct html_piece *piece, const char *name) {
    if (!is_start(piece))
        return false;
    const char *begin = piece->raw + 1, *end = name_end(piece);
    const char *colon = memchr(begin, ':', (size_t)(end - begin));
    return bytes_are(bytes_between(colon ? colon + 1 : begin, end), name);
}

bool xliff_next_attribute(const struct html_piece *piece, const char **at, struct xliff_attribute *out) {
    const char *end = piece->raw + piece->length - 1, *begin = *at ? *at : name_end(piece), *from = begin;
    while (from < end && (html_is_space(*from) || *from == '/'))
        from++;
    const char *equals = memchr(from, '=', (size_t)(end - from)), *open = equals ? equals + 1 : end;
    while (open < end && html_is_space(*open))
        open++;
    const char *close = open < end && strchr("\"'", *open) ? memchr(open + 1, *open, (size_t)(end - open - 1)) : NULL;
    if (!close)
        return false;
    while (equals > from && html_is_space(equals[-1]))
        equals--;
    *out = (struct xliff_attribute){begin, close + 1, bytes_between(from, equals), bytes_between(open + 1, close)};
    *at = close + 1;
    return true;
}

bool xliff_find(const struct html_piece *piece, const char *name, struct xliff_attribute *out) {
    if (!is_start(piece) && piece->kind != PIECE_BREAK) /* which an instruction is */
        return false;
    for (const char *at = NULL; xliff_next_attribute(piece, &at, out);)
        if (bytes_are(out->name, name))
            return true;
    return false;
}

bool xliff_says(const struct html_piece *piece, const char *name, const char *value) {
    struct xliff_attribute attribute;
    return xliff_find(piece, name, &attribute) && bytes_are(attribute.value, value);
}

/* ---- elements ---- */

size_t xliff_behind(const struct xliff *xliff, size_t i) {
    const struct html_piece *piece = &xliff->pieces[i];
    return is_start(piece) && piece->pair > i ? piece->pair + 1 : i + 1;
}

struct html_bytes xliff_written(const struct xliff *xliff, size_t i) {
    const struct html_piece *piece = &xliff->pieces[i];
    if (!piece->plain)
        return (struct html_bytes){piece->raw, piece->length};
    const char *begin = i > 0 ? piece[-1].raw + piece[-1].length : xliff->begin;
    return bytes_between(begin, i + 1 < xliff->piece_count ? piece[1].raw : xliff->end);
}

bool xliff_is_code(const struct html_piece *piece) {
    static const char *const names[] = {"bpt", "ept", "it", "ph"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (xliff_is(piece, names[i]))
            return true;
    return false;
}

bool xliff_is_blank(const struct html_piece *piece) {
    for (size_t i = 0; i < piece->length; i++)
        if (!html_is_space(piece->raw[i]))
            return false;
    return piece->plain;
}

static bool is_empty(const struct xliff *xliff, size_t element) {
    const struct html_piece *piece = &xliff->pieces[element];
    return piece->pair <= element + 1 || (piece->pair == element + 2 && xliff_is_blank(piece + 1));
}

/* ---- units ---- */

static bool is_one_of(struct html_bytes value, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes_are(value, names[i]))
            return true;
    return false;
}

/* What says that it is done stays, and so does a target that does not say that it is none. */
static bool is_wanted(const struct xliff *xliff, const struct xliff_unit *unit) {
    static const char *const open[] = {"new", "needs-translation", "initial"};
    static const char *const done[] = {"final", "signed-off", "reviewed"};
    const struct html_piece *stated = &xliff->pieces[unit->segment ? unit->unit : unit->target];
    struct xliff_attribute state = {.value = {"", 0}};
    if (xliff_says(&xliff->pieces[unit->unit], "approved", "yes"))
        return false;
    if (unit->segment || unit->target != XLIFF_NONE)
        xliff_find(stated, "state", &state);
    if (unit->target == XLIFF_NONE || is_empty(xliff, unit->target))
        return !is_one_of(state.value, done, sizeof done / sizeof *done);
    return is_one_of(state.value, open, sizeof open / sizeof *open);
}

static struct html_bytes between(const struct xliff *xliff, size_t element) {
    const struct html_piece *piece = &xliff->pieces[element];
    return bytes_between(piece->raw + piece->length, xliff->pieces[piece->pair].raw);
}

/* The children that matter. False: there is nothing to translate in it. */
static bool find_children(const struct xliff *xliff, struct xliff_unit *unit) {
    for (size_t i = unit->unit + 1; i < xliff->pieces[unit->unit].pair; i = xliff_behind(xliff, i)) {
        const struct html_piece *piece = &xliff->pieces[i];
        if (xliff_is(piece, "source"))
            unit->source = unit->content = i;
        else if (xliff_is(piece, "seg-source"))
            unit->content = i;
        else if (xliff_is(piece, "target"))
            unit->target = i;
    }
    const struct html_piece *source = &xliff->pieces[unit->source], *content = &xliff->pieces[unit->content];
    return unit->source != XLIFF_NONE && source->kind == PIECE_OPEN && !source->opaque && content->kind == PIECE_OPEN &&
           !content->opaque && messages_can_hold(between(xliff, unit->content)) && is_wanted(xliff, unit);
}

/* How elements within another one have white space. */
struct spaces {
    size_t end; /* of the outermost one that preserves it */
};

static void note_space(struct spaces *spaces, const struct html_piece *piece, size_t i) {
    if (i >= spaces->end && xliff_says(piece, "xml:space", "preserve"))
        spaces->end = piece->pair;
}

static bool preserves(const struct xliff *xliff, const struct xliff_unit *unit, const struct spaces *spaces) {
    const struct html_piece *own = &xliff->pieces[unit->unit], *source = &xliff->pieces[unit->source];
    if (xliff_says(source, "xml:space", "preserve") || xliff_says(own, "xml:space", "preserve"))
        return true;
    return unit->source < spaces->end && !xliff_says(source, "xml:space", "default") && !xliff_says(own, "xml:space", "default");
}

static int add_unit(struct xliff *xliff, struct arena *arena, size_t *room, const struct xliff_unit *unit, struct error *err) {
    struct xliff_unit *units = arena_grow(arena, xliff->units, xliff->count, room, 1, sizeof *units);
    if (!units)
        return error_memory(err);
    xliff->units = units;
    units[xliff->count++] = *unit;
    return 0;
}

static int find_units(struct xliff *xliff, size_t root, struct arena *arena, struct error *err) {
    size_t room = 0, file = root;
    struct spaces spaces = {0};
    for (size_t i = root; i < xliff->piece_count; i++) {
        const struct html_piece *piece = &xliff->pieces[i];
        struct xliff_unit unit = {.unit = i, .segment = xliff_is(piece, "segment")};
        if (piece->kind != PIECE_OPEN || piece->opaque)
            continue;
        note_space(&spaces, piece, i);
        if (xliff_is(piece, "file"))
            file = i;
        if ((!unit.segment && !xliff_is(piece, "trans-unit")) || !find_children(xliff, &unit))
            continue;
        unit.language = unit.segment ? root : file;
        unit.preserve = preserves(xliff, &unit, &spaces);
        if (add_unit(xliff, arena, &room, &unit, err) != 0)
            return -1;
        i = piece->pair;
    }
    return 0;
}

/* ---- the document ---- */

static int refuse(const struct xliff *xliff, const char *at, const char *what, struct html_bytes value, struct error *err) {
    struct utf8_place place = utf8_place(xliff->begin, at);
    return error_set(err, ERROR_INPUT, "line %zu, column %zu: %s%s%.*s%s", place.line, place.column, what,
                     value.length > 0 ? " \"" : "", (int)utf8_clip(value.start, value.length, VALUE_SHOWN), value.start,
                     value.length > 0 ? "\"" : "");
}

/* Of "<?xml ...?>": what is written is UTF-8. */
static int check_encoding(const struct xliff *xliff, struct error *err) {
    const struct html_piece *first = xliff->pieces;
    struct xliff_attribute encoding;
    bool declared = xliff->piece_count > 0 && first->kind == PIECE_BREAK && xliff_find(first, "encoding", &encoding);
    if (!declared || (encoding.value.length == 5 && strncasecmp(encoding.value.start, "UTF-8", 5) == 0))
        return 0;
    return refuse(xliff, encoding.value.start, "the encoding should be UTF-8, and is", encoding.value, err);
}

static int check_languages(const struct xliff *xliff, const char *language, struct error *err) {
    for (size_t i = 0; i < xliff->count; i++) {
        const struct xliff_unit *unit = &xliff->units[i];
        struct xliff_attribute found;
        if (i > 0 && unit->language == xliff->units[i - 1].language)
            continue;
        if (xliff_find(&xliff->pieces[unit->language], unit->segment ? "trgLang" : "target-language", &found) &&
            found.value.length > 0 && !bytes_are_language(found.value, language))
            return refuse(xliff, found.value.start, "the targets are to be in another language:", found.value, err);
    }
    return 0;
}

int xliff_open(const struct document *document, struct arena *arena, struct xliff *out, struct error *err) {
    static const struct html_tags tags;
    struct html xml = {0};
    if (html_read_xml(document->source, document->length, &tags, arena, &xml, err) != 0)
        return -1;
    *out = (struct xliff){.begin = document->source,
                          .end = document->source + document->length,
                          .pieces = xml.pieces,
                          .piece_count = xml.piece_count};
    size_t root = 0;
    while (root < out->piece_count && out->pieces[root].kind != PIECE_OPEN)
        root++;
    if (check_encoding(out, err) != 0)
        return -1;
    if (root == out->piece_count || !xliff_is(&out->pieces[root], "xliff"))
        return refuse(out, root < out->piece_count ? out->pieces[root].raw : out->end, "the element <xliff> is expected here",
                      (struct html_bytes){"", 0}, err);
    return find_units(out, root, arena, err) == 0 ? check_languages(out, document->language, err) : -1;
}
