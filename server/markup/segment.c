/* Cuts pieces into segments: the texts that are translated, in which units are represented by at most a word. */
#include "server/markup/piece.h"
#include <string.h>

enum {
    STAND_IN_BYTES = 32, /* the content of a unit represents it if it is one word of at most this length */
    NOTE_BYTES = 12,     /* of the mark of a footnote */
    NOTE_PIECES = 8,
    PIECES_OF_STEP = 16 /* pieces that count as one step of a budget */
};

struct cutter {
    struct html *html;
    struct arena *arena;
    char *text; /* the rest of a buffer that is as long as all pieces */
    size_t capacity;
    bool failed;
};

/* The text of a segment while it is written. */
struct segment_text {
    char *text;
    size_t length;
    bool space; /* the last character is white space, which the next one joins */
};

static void put_text(struct segment_text *out, const char *raw, size_t length) {
    for (size_t at = 0; at < length; at++) {
        bool space = html_is_space(raw[at]);
        if (!space || !out->space)
            out->text[out->length++] = space ? ' ' : raw[at];
        out->space = space;
    }
}

bool html_has_letters(const char *text, size_t begin, size_t end) {
    while (begin < end) {
        int32_t character = character_next(text, end, &begin);
        if (!character_is_space(character) && !character_is_punctuation(character) && !(character >= '0' && character <= '9'))
            return true;
    }
    return false;
}

/* True for a name or a command that a sentence may hold as a word. */
static bool is_word(const struct html_piece *piece) {
    for (size_t i = 0; i < piece->length; i++)
        if (html_is_space(piece->raw[i]))
            return false;
    return piece->plain && piece->length <= STAND_IN_BYTES;
}

/* Returns the piece after the unit. */
static size_t put_unit(struct segment_text *out, struct html_piece *pieces, size_t i) {
    struct html_piece *unit = &pieces[i];
    size_t end = unit->kind == PIECE_OPEN ? unit->pair : i;
    unit->begin = (uint32_t)out->length;
    if (!unit->blank || (out->length > 0 && !out->space)) {
        if (unit->shown_length > 0)
            put_text(out, unit->source, unit->shown_length);
        if (end == i + 2 && unit->stands_in && is_word(&pieces[i + 1]))
            put_text(out, pieces[i + 1].raw, pieces[i + 1].length);
        out->space = unit->blank; /* white space on both sides of a unit counts */
    }
    unit->end = (uint32_t)out->length;
    return end + 1;
}

/* Writes the text of the pieces [first,end). Returns true if there is something to translate. */
static bool write_segment(struct html_piece *pieces, size_t first, size_t end, struct segment_text *out) {
    bool letters = false;
    out->space = pieces[first].kind == PIECE_TEXT; /* html_write leaves the white space at both ends as it is */
    for (size_t i = first; i < end;) {
        size_t begin = out->length;
        if (pieces[i].kind == PIECE_UNIT || pieces[i].opaque) {
            i = put_unit(out, pieces, i);
            continue;
        }
        pieces[i].begin = (uint32_t)begin;
        if (pieces[i].kind == PIECE_TEXT)
            put_text(out, pieces[i].raw, pieces[i].length);
        letters = letters || html_has_letters(out->text, begin, out->length);
        pieces[i++].end = (uint32_t)out->length;
    }
    struct html_piece *last = &pieces[end - 1];
    if (last->end > last->begin && last->kind == PIECE_TEXT && out->text[out->length - 1] == ' ')
        last->end = (uint32_t)--out->length;
    return letters;
}

static void add_segment(struct cutter *cutter, size_t first, size_t end) {
    struct html *html = cutter->html;
    struct segment_text out = {.text = cutter->text};
    if (!budget_step(cutter->arena->budget, 1 + (end - first) / PIECES_OF_STEP))
        cutter->failed = true;
    if (cutter->failed || first == end || !write_segment(html->pieces, first, end, &out))
        return;
    struct html_segment *segments = arena_grow(cutter->arena, html->segments, html->count, &cutter->capacity, 1, sizeof *segments);
    if (!segments) {
        cutter->failed = true;
        return;
    }
    html->segments = segments;
    segments[html->count++] = (struct html_segment){out.text, out.length, first, end};
    cutter->text += out.length;
}

/* Cuts pieces between two breaks. An inline element with blocks inside ends segments, too. */
static void cut_run(struct cutter *cutter, size_t first, size_t end) {
    const struct html_piece *pieces = cutter->html->pieces;
    for (size_t i = first; i < end; i++) {
        bool tag = pieces[i].kind == PIECE_OPEN || pieces[i].kind == PIECE_CLOSE;
        if (tag && (pieces[i].pair < first || pieces[i].pair >= end)) {
            add_segment(cutter, first, i);
            first = i + 1;
        }
    }
    add_segment(cutter, first, end);
}

/* ---- footnotes ---- */

/* "[1]", "[a]", "(12)", "*", or nothing but signs: marks of footnotes, which models would change. */
static bool is_note(const char *text, size_t length, bool raised) {
    size_t digits = 0, letters = 0, marks = 0;
    for (size_t at = 0; at < length;) {
        int32_t c = character_next(text, length, &at);
        if (character_is_space(c))
            return false;
        digits += c >= '0' && c <= '9';
        marks += character_is_punctuation(c);
        letters += !character_is_punctuation(c) && !(c >= '0' && c <= '9');
    }
    bool brackets = length > 2 && ((*text == '[' && text[length - 1] == ']') || (*text == '(' && text[length - 1] == ')'));
    if (letters + digits == 0)
        return marks > 0;
    return (brackets && letters < 2 && marks == 2) || (raised && letters == 0 && marks == 0);
}

static bool is_name(const struct html_piece *piece, const char *name) {
    size_t length = strlen(name);
    return piece->kind == PIECE_OPEN && piece->length > length + 1 && memcmp(piece->raw + 1, name, length) == 0 &&
           (html_is_space(piece->raw[length + 1]) || piece->raw[length + 1] == '>');
}

/* Makes units of elements that hold the mark of a footnote and no words. Numbers in <sup> are such marks if they are links. False:
 * the budget is used up. */
static bool hide_notes(struct html_piece *pieces, size_t count, struct budget *budget) {
    for (size_t i = 0; i < count; i++) {
        if (i % PIECES_OF_STEP == 0 && !budget_step(budget, 1))
            return false;
        struct html_piece *piece = &pieces[i];
        char text[NOTE_BYTES];
        size_t length = 0, at = i + 1, end = piece->pair;
        if (piece->kind != PIECE_OPEN || piece->part || piece->opaque || end - i > NOTE_PIECES)
            continue;
        bool link = is_name(piece, "a"), raised = is_name(piece, "sup");
        for (; at < end; at++) {
            const struct html_piece *inner = &pieces[at];
            if (inner->kind == PIECE_TEXT && length + inner->length <= NOTE_BYTES) {
                memcpy(text + length, inner->raw, inner->length);
                length += inner->length;
            } else if ((inner->kind != PIECE_OPEN && inner->kind != PIECE_CLOSE) || inner->opaque) {
                break;
            }
            link |= is_name(inner, "a");
            raised |= is_name(inner, "sup");
        }
        if (at == end && is_note(text, length, link && raised)) {
            piece->opaque = true;
            i = end;
        }
    }
    return true;
}

/* ---- all segments ---- */

int html_cut(struct html *html, struct arena *arena, struct html *out, struct error *err) {
    size_t length = 0, first = 0, i = 0;
    for (size_t piece = 0; piece < html->piece_count; piece++)
        length += html->pieces[piece].length + html->pieces[piece].shown_length;
    struct cutter cutter = {.arena = arena, .html = html, .text = arena_alloc(arena, length + 1, 1)};
    if (!cutter.text || !hide_notes(html->pieces, html->piece_count, arena->budget))
        return error_memory(err);
    while (i < html->piece_count && !cutter.failed) {
        const struct html_piece *piece = &html->pieces[i];
        if (piece->kind == PIECE_BREAK || piece->kind == PIECE_RAW) {
            cut_run(&cutter, first, i);
            first = i + 1;
        }
        i = piece->kind == PIECE_OPEN && piece->opaque ? piece->pair + 1 : i + 1;
    }
    cut_run(&cutter, first, i);
    if (cutter.failed)
        return error_memory(err);
    *out = *html;
    return 0;
}

static int check_length(size_t length, struct error *err) {
    return length < HTML_MAX_BYTES ? 0 : error_set(err, ERROR_LENGTH, "the markup is too long");
}

int html_parse(const char *markup, size_t length, struct arena *arena, struct html *out, struct error *err) {
    struct html html = {0};
    if (check_length(length, err) != 0 || html_read(markup, length, arena, &html, err) != 0 ||
        html_cut(&html, arena, out, err) != 0)
        return -1;

    /* The values of attributes are segments after those of the pieces. */
    struct html_segment *segments = arena_alloc(arena, out->count + out->inset_count, sizeof *segments);
    if (!segments)
        return error_memory(err);
    if (out->count > 0)
        memcpy(segments, out->segments, out->count * sizeof *segments);
    out->segments = segments;
    for (size_t i = 0; i < out->inset_count; i++) {
        struct html_inset *inset = &out->insets[i];
        if (inset->language)
            continue;
        inset->segment = (uint32_t)out->count;
        segments[out->count++] = (struct html_segment){.text = inset->text, .length = inset->length};
        out->values++;
    }
    return 0;
}

int html_parse_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *out,
                   struct error *err) {
    struct html html = {0};
    if (check_length(length, err) != 0 || html_read_xml(markup, length, tags, arena, &html, err) != 0)
        return -1;
    return html_cut(&html, arena, out, err);
}
