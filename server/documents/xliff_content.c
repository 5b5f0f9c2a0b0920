/* What a unit says, as pieces: words, and elements that go where their words go. Of 1.2 and 2 alike: those that hold words (g, pc,
 * mrk) and pairs of codes around words (bpt and ept, bx and ex, sc and ec) are around what became of these; others are units. */
#include "server/documents/icu_sentence.h"
#include "server/documents/messages.h"
#include "server/documents/xliff.h"
#include "server/markup/build.h"
#include <string.h>

enum { MOST_OPEN = 128 };

/* What is open while pairs are looked for: an element, or a code that another one ends. */
struct open {
    size_t piece;
    bool code;
    struct html_bytes key;
};

struct pairing {
    const struct xliff *xliff;
    size_t *other; /* [piece_count] of a piece that begins or ends something: the other end; 0: it has none, and is a unit */
    struct open open[MOST_OPEN];
    size_t depth;
};

/* ---- pairs ---- */

static bool begins_pair(const struct html_piece *piece) {
    return xliff_is(piece, "bpt") || xliff_is(piece, "bx") || xliff_is(piece, "sc");
}

static bool ends_pair(const struct html_piece *piece) {
    return xliff_is(piece, "ept") || xliff_is(piece, "ex") || xliff_is(piece, "ec");
}

/* What both ends of a pair say: rid, or the id, which an end of XLIFF 2 names startRef. */
static struct html_bytes key_of(const struct html_piece *piece) {
    static const char *const names[] = {"rid", "startRef", "id"};
    struct xliff_attribute key;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (xliff_find(piece, names[i], &key))
            return key.value;
    return (struct html_bytes){"", 0};
}

static bool is_same(struct html_bytes a, struct html_bytes b) {
    return a.length > 0 && a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static void push(struct pairing *pairing, size_t piece, bool code) {
    struct html_bytes key = code ? key_of(&pairing->xliff->pieces[piece]) : (struct html_bytes){"", 0};
    if (pairing->depth < MOST_OPEN)
        pairing->open[pairing->depth++] = (struct open){piece, code, key};
}

static void join(struct pairing *pairing, size_t begin, size_t end) {
    pairing->other[begin] = end;
    pairing->other[end] = begin;
}

/* Within the element that is open, so that all nest. */
static void end_code(struct pairing *pairing, size_t end) {
    struct html_bytes key = key_of(&pairing->xliff->pieces[end]);
    for (size_t i = pairing->depth; i-- > 0 && pairing->open[i].code;) {
        if (!is_same(pairing->open[i].key, key))
            continue;
        join(pairing, pairing->open[i].piece, end);
        pairing->depth = i;
        return;
    }
}

static void end_element(struct pairing *pairing, size_t end) {
    while (pairing->depth > 0 && pairing->open[pairing->depth - 1].code)
        pairing->depth--;
    if (pairing->depth == 0)
        return;
    join(pairing, pairing->open[--pairing->depth].piece, end);
}

/* It moves as a whole, with all that is in it. */
static bool is_whole(const struct html_piece *piece) {
    return piece->kind == PIECE_OPEN && (xliff_is_code(piece) || piece->opaque || xliff_says(piece, "mtype", "protected") ||
                                         xliff_says(piece, "translate", "no"));
}

static void find_pairs(struct pairing *pairing, size_t content) {
    const struct html_piece *pieces = pairing->xliff->pieces;
    pairing->depth = 0;
    for (size_t i = content + 1; i < pieces[content].pair;) {
        const struct html_piece *piece = &pieces[i];
        bool element = piece->kind == PIECE_OPEN;
        bool whole = is_whole(piece) || (element && pairing->depth == MOST_OPEN);
        if (begins_pair(piece))
            push(pairing, i, true);
        else if (ends_pair(piece))
            end_code(pairing, i);
        else if (element && !whole)
            push(pairing, i, false);
        else if (piece->kind == PIECE_CLOSE)
            end_element(pairing, i);
        i = whole ? xliff_behind(pairing->xliff, i) : i + 1;
    }
}

/* ---- pieces ---- */

static size_t count_lines(struct html_bytes bytes) {
    size_t lines = 1;
    for (size_t i = 0; i < bytes.length; i++)
        lines += bytes.start[i] == '\n';
    return lines;
}

/* The first line; *bytes: those behind its end. */
static struct html_bytes take_line(struct html_bytes *bytes) {
    const char *end = bytes->start + bytes->length, *stop = memchr(bytes->start, '\n', bytes->length);
    struct html_bytes line = bytes_between(bytes->start, stop ? stop : end);
    *bytes = bytes_between(stop ? stop + 1 : end, end);
    return line;
}

static struct html_bytes write_escaped(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    struct html_buffer out = {.arena = arena};
    (void)marking;
    html_put(&out, "", 0);
    text_escape_markup(&out, mark.start, mark.length);
    return out.failed ? (struct html_bytes){"", 0} : (struct html_bytes){out.bytes, out.length};
}

/* Strings of programs often are HTML: what is markup when XLIFF's own references are read has none of its words. */
static void add_words(struct html_builder *builder, struct html_bytes text, struct html_bytes raw) {
    static const struct html_marking marking = {.written = write_escaped};
    if (html_is_marked(text))
        html_add_marked(builder, text, &marking);
    else
        html_add_text(builder, text, raw);
}

/* by_line: lines are texts of their own, where their ends are written as such. */
static void add_text(struct html_builder *builder, const struct xliff *xliff, size_t i, bool by_line) {
    struct html_bytes text = {xliff->pieces[i].raw, xliff->pieces[i].length}, raw = xliff_written(xliff, i);
    size_t lines = by_line ? count_lines(raw) : 1;
    if (lines != count_lines(text))
        lines = 1;
    for (; lines > 1; lines--) {
        struct html_bytes line = take_line(&text), written = take_line(&raw);
        add_words(builder, line, written);
        html_add_break(builder, (struct html_bytes){"\n", 1});
    }
    add_words(builder, text, raw);
}

/* One piece, or a whole element; a name that is not to be translated may be a word of the sentence. */
static void add_unit(struct html_builder *builder, const struct xliff *xliff, size_t i) {
    size_t last = xliff_behind(xliff, i) - 1;
    struct html_bytes begin = xliff_written(xliff, i), end = xliff_written(xliff, last);
    if (last == i + 2 && xliff_is(&xliff->pieces[i], "mrk"))
        html_add_code(builder, begin, xliff_written(xliff, i + 1), end);
    else
        html_add_unit(builder, bytes_between(begin.start, end.start + end.length));
}

/* A sentence of its own, as a <seg-source> has them. */
static bool is_segment(const struct xliff *xliff, size_t i) {
    const struct html_piece *piece = &xliff->pieces[i];
    return xliff_says(&xliff->pieces[piece->kind == PIECE_CLOSE ? piece->pair : i], "mtype", "seg");
}

/* It begins or ends something at this piece. */
static void add_end(struct html_builder *builder, const struct xliff *xliff, size_t i, bool begins) {
    size_t last = is_whole(&xliff->pieces[i]) ? xliff_behind(xliff, i) - 1 : i;
    struct html_bytes begin = xliff_written(xliff, i), end = xliff_written(xliff, last);
    struct html_bytes raw = bytes_between(begin.start, end.start + end.length);
    if (is_segment(xliff, i))
        html_add_break(builder, raw);
    else if (begins)
        html_add_open(builder, raw);
    else
        html_add_close(builder, raw);
}

bool xliff_message(const struct xliff *xliff, const struct xliff_unit *unit, struct html_bytes *text) {
    const struct html_piece *content = &xliff->pieces[unit->content];
    if (content->pair != unit->content + 2 || !content[1].plain)
        return false;
    *text = (struct html_bytes){content[1].raw, content[1].length};
    return icu_source_is(*text);
}

void xliff_add_content(const struct xliff *xliff, const struct xliff_unit *unit, size_t *room, struct html_builder *builder) {
    struct pairing pairing = {.xliff = xliff, .other = room};
    struct html_bytes message;
    if (xliff_message(xliff, unit, &message)) {
        messages_add_icu(builder, message, text_escape_markup);
        return;
    }
    find_pairs(&pairing, unit->content);
    for (size_t i = unit->content + 1; i < xliff->pieces[unit->content].pair;) {
        bool single = is_whole(&xliff->pieces[i]) || room[i] == 0;
        if (xliff->pieces[i].plain)
            add_text(builder, xliff, i, unit->preserve);
        else if (room[i] > 0)
            add_end(builder, xliff, i, room[i] > i);
        else
            add_unit(builder, xliff, i);
        i = single ? xliff_behind(xliff, i) : i + 1;
    }
    messages_end(builder);
}
