/* This module hides the form of segments: it cuts pieces into the texts to translate, in which at
 * most one word represents a unit. */
#include "server/markup/segment.h"
#include "server/markup/html.h"
#include <stdlib.h>

enum {
    STAND_IN_BYTES =
        32, /* the content of a unit represents it if it is one word of at most this length */
    NOTE_BYTES = 12, /* limit for the mark of a footnote */
    NOTE_PIECES = 8,
    COLUMN_SPACES = 3,  /* model/text/layout.c */
    PIECES_OF_STEP = 16 /* pieces that count as one step of a budget */
};

/* ---- parts of texts ---- */

/* Returns the bytes of the no-break space at this place, or 0. */
static size_t no_break_at(const char *text, const char *end) {
    return bytes_begin(text, end, "\u00a0")                                       ? 2
           : bytes_begin(text, end, "\u2007") || bytes_begin(text, end, "\u202f") ? 3
                                                                                  : 0;
}

/* Signs between two neighbours. */
enum between {
    BETWEEN_NOTHING,   /* or white space */
    BETWEEN_COMMA,     /* punctuation that may stand within a sentence, too */
    BETWEEN_SEPARATOR, /* a sign that only separates */
    BETWEEN_WORDS,     /* words, digits, or punctuation that ends a sentence */
};

static enum between find_between(const char *text, size_t length) {
    enum between found = BETWEEN_NOTHING;
    for (size_t at = 0; at < length;) {
        int32_t c = character_next(text, length, &at);
        enum between own =
            character_is_space(c) ? BETWEEN_NOTHING
            : !character_is_punctuation(c) ||
                    character_is_among(c, L".!?:;\u2026&@#%+$\u00a3\u00a5\u20ac\u00b0\u00a7\u2116")
                ? BETWEEN_WORDS
            : character_is_among(c, L",()[]{}\"'-\u2013\u2014\u2018\u2019\u201c\u201d\u201e")
                ? BETWEEN_COMMA
                : BETWEEN_SEPARATOR;
        found = own > found ? own : found;
    }
    return found;
}

/* Returns the end of white space and signs that separate, with white space or an end of the text on
 * both sides of the signs; or `at` if there are none. */
static const char *skip_signs(const char *text, const char *at, const char *end) {
    const char *sign = at;
    if (at > text && !byte_is_space(*at))
        return at;
    while (sign < end && byte_is_space(*sign))
        sign++;
    const char *past = sign;
    while (past < end && !byte_is_space(*past) && !ascii_letter(*past) && past - sign < 8)
        past++;
    bool alone = past > sign && (sign > at || at == text) &&
                 (past == end || byte_is_space(*past)) &&
                 find_between(sign, (size_t)(past - sign)) == BETWEEN_SEPARATOR;
    while (alone && past < end && byte_is_space(*past))
        past++;
    return alone ? past : at;
}

/* White space that may move with the no-break space beside it; a line end that moved might leave a
 * blank line. */
static bool is_space_in_line(char c) {
    return byte_is_space(c) && c != '\n' && c != '\r';
}

size_t segment_next_part(const char *text, size_t length, bool *blank) {
    const char *at = text, *end = text + length,
               *spaces = text;   /* spaces: white space begins there */
    const char *examined = text; /* the white space up to there has no signs after it */
    size_t bytes = 0;
    *blank = false;
    for (; at < end; spaces = is_space_in_line(*at) ? spaces : at + 1, at++) {
        bytes = no_break_at(at, end);
        bool digits = bytes > 0 && at > text && ascii_digit(at[-1]) && at + bytes < end &&
                      ascii_digit(at[bytes]);
        if (bytes > 0 && !digits) /* in a number it is for the reader of numbers */
            break;
        const char *signs = spaces == at && at >= examined ? skip_signs(text, at, end) : at;
        if (signs > at)
            return (size_t)((at > text ? at : signs) - text);
        for (examined = examined > at ? examined : at; examined < end && byte_is_space(*examined);)
            examined++;
    }
    *blank = at < end && spaces == text;
    if (!*blank)
        return (size_t)((at < end ? spaces : end) - text);
    while (at < end && ((bytes = no_break_at(at, end)) > 0 || is_space_in_line(*at)))
        at += bytes > 0 ? bytes : 1;
    return (size_t)(at - text);
}

/* ---- segments ---- */

struct cutter {
    struct markup *markup;
    struct arena *arena;
    char *text; /* the unused rest of a buffer that is as long as all pieces */
    size_t capacity;
    bool failed;
};

/* The text of a segment while it is written. */
struct segment_text {
    char *text;
    size_t length;
    bool space; /* white space that follows is omitted, because the last character is a space */
};

/* Adds text with its white space collapsed. spaced: tabs and several spaces side by side, which
 * separate columns, stay. */
static void put_text(struct segment_text *out, const char *raw, size_t length, bool spaced) {
    for (size_t at = 0, next; at < length; at = next) {
        bool space = byte_is_space(raw[at]), column = false;
        for (next = at + 1; space && next < length && byte_is_space(raw[next]);)
            next++;
        if (spaced && space && out->length > 0 && next < length)
            column = (next - at >= COLUMN_SPACES || memchr(raw + at, '\t', next - at)) &&
                     !memchr(raw + at, '\n', next - at) && !memchr(raw + at, '\r', next - at);
        if (column) {
            memcpy(out->text + out->length, raw + at, next - at);
            out->length += next - at;
        } else if (!space || !out->space) {
            out->text[out->length++] = space ? ' ' : raw[at];
        }
        out->space = space;
    }
}

bool segment_has_letters(const char *text, size_t begin, size_t end) {
    while (begin < end) {
        int32_t character = character_next(text, end, &begin);
        if (!character_is_space(character) && !character_is_punctuation(character) &&
            !(character >= '0' && character <= '9'))
            return true;
    }
    return false;
}

/* Several signs are several tokens of a sentence, of which a unit takes the place of one. */
bool segment_is_word(const char *text, size_t length) {
    bool word = length > 0;
    size_t next = 0;
    for (size_t i = 0; word && i < length; i++)
        word = !byte_is_space(text[i]);
    if (!word)
        return false;
    character_next(text, length, &next);
    word = next == length || opaque_at(NOTATION_ALL, text, length, 0) == length;
    for (size_t at = 0; !word && at < length;) {
        int32_t character = character_next(text, length, &at);
        word = character_is_letter(character) || character_digit(character) >= 0;
    }
    return word;
}

/* True if the content of a unit is one word, which is then a word of the sentence. */
static bool has_word(const struct piece *pieces, size_t unit) {
    const struct piece *inner = &pieces[unit + 1];
    return pieces[unit].kind == PIECE_OPEN && pieces[unit].stands_in &&
           pieces[unit].pair == unit + 2 && inner->plain && inner->length <= STAND_IN_BYTES &&
           segment_is_word(inner->raw, inner->length);
}

/* True if it is read as one token of a sentence: letters, or one run. */
static bool is_one(const char *text, size_t length) {
    size_t letters = 0;
    while (letters < length && ascii_letter(text[letters]))
        letters++;
    return length > 0 && (letters == length || opaque_at(NOTATION_ALL, text, length, 0) == length);
}

/* Adds what represents the content of a unit in its sentence: all of it, or without the signs
 * around it (~flask.Request), or its first name in braces (.Request.args), whichever is one token.
 * Several would be words of their own, which go elsewhere or are written twice. */
static void put_word(struct segment_text *out, const struct piece *inner) {
    const char *begin = inner->raw, *end = begin + inner->length, *name;
    while (begin < end && !ascii_word(*begin))
        begin++;
    while (end > begin && !ascii_word(end[-1]))
        end--;
    for (name = begin; name < end && (ascii_letter(*name) || ascii_digit(*name)); name++)
        ;
    bool whole = is_one(inner->raw, inner->length), core = is_one(begin, (size_t)(end - begin)),
         braces = !whole && !core && name > begin && (size_t)(name - begin) + 2 <= inner->length;
    if (braces) { /* it is no longer than the content, as the buffer's room expects */
        put_text(out, "{", 1, false);
        put_text(out, begin, (size_t)(name - begin), false);
        put_text(out, "}", 1, false);
    } else if (core && !whole) {
        put_text(out, begin, (size_t)(end - begin), false);
    } else {
        put_text(out, inner->raw, inner->length, false);
    }
}

bool segment_is_blank(const char *text, size_t length) {
    for (size_t at = 0; at < length;)
        if (!character_is_space(character_next(text, length, &at)))
            return false;
    return true;
}

/* Writes the text of the pieces [first,end). Returns true if there is something to translate. */
static bool write_segment(struct piece *pieces, size_t first, size_t end, bool spaced,
                          struct segment_text *out) {
    bool letters = false;
    out->space = true; /* markup_write leaves the white space at both ends as it is */
    for (size_t i = first, next; i < end; i = next) {
        struct piece *piece = &pieces[i];
        bool unit = piece->kind == PIECE_UNIT || piece->opaque;
        next = unit && piece->kind == PIECE_OPEN ? piece->pair + 1 : i + 1;
        piece->begin = (uint32_t)out->length;
        if (!unit) {
            if (piece->kind == PIECE_TEXT)
                put_text(out, piece->raw, piece->length, spaced);
            letters = letters || segment_has_letters(out->text, piece->begin, out->length);
        } else if (!piece->blank || (out->length > 0 && !out->space)) {
            if (piece->shown_length > 0)
                put_text(out, piece->source, piece->shown_length, false);

            if (has_word(pieces, i))
                put_word(out, &pieces[i + 1]);
            out->space = piece->blank; /* white space is kept on both sides of a unit */
        }
        piece->end = (uint32_t)out->length;
    }
    return letters;
}

/* True for white space and for units that represent no word. Sets *next to the piece after a piece
 * or unit at `at`. */
static bool is_silent(const struct piece *pieces, size_t at, size_t *next) {
    const struct piece *piece = &pieces[at];
    *next = piece->kind == PIECE_OPEN && piece->opaque ? piece->pair + 1 : at + 1;
    if (piece->kind == PIECE_TEXT)
        return segment_is_blank(piece->raw, piece->length);
    return piece->blank || ((piece->kind == PIECE_UNIT || piece->opaque) &&
                            piece->shown_length == 0 && !has_word(pieces, at));
}

/* Units and white space at either end of a run stay where they are. */
static void trim_run(const struct piece *pieces, size_t *first, size_t *end) {
    size_t at = *first, next,
           last = at; /* last: after the last piece that is part of the sentence */
    while (at < *end && is_silent(pieces, at, &next))
        at = next;
    for (*first = last = at; at < *end; at = next)
        last = is_silent(pieces, at, &next) ? last : next;
    *end = last;
}

static void add_segment(struct cutter *cutter, size_t first, size_t end) {
    struct markup *markup = cutter->markup;
    struct segment_text out = {.text = cutter->text};
    trim_run(markup->pieces, &first, &end);
    if (!budget_step(cutter->arena->budget, 1 + (end - first) / PIECES_OF_STEP))
        cutter->failed = true;
    if (cutter->failed || first == end ||
        !write_segment(markup->pieces, first, end, markup->spaced, &out))
        return;
    struct markup_segment *segments = arena_grow(cutter->arena, markup->segments, markup->count,
                                                 &cutter->capacity, 1, sizeof *segments);
    if (!segments) {
        cutter->failed = true;
        return;
    }
    markup->segments = segments;
    size_t length = out.length - (out.length > 0 && out.text[out.length - 1] == ' ');
    segments[markup->count++] = (struct markup_segment){out.text, length, first, end};
    cutter->text += out.length;
}

/* ---- footnotes ---- */

static bool is_name(const struct piece *piece, const char *name) {
    size_t length = strlen(name);
    return piece->kind == PIECE_OPEN && piece->length > length + 1 &&
           memcmp(piece->raw + 1, name, length) == 0 &&
           (byte_is_space(piece->raw[length + 1]) || piece->raw[length + 1] == '>');
}

/* Makes units of elements that hold the mark of a footnote and no words, which models would change:
 * "[1]", "[a]", "(12)", "*", or nothing but signs. Numbers in <sup> are such marks if they are
 * links. Returns false if the budget is used up. */
static bool hide_notes(struct piece *pieces, size_t count, struct budget *budget) {
    for (size_t i = 0; i < count; i++) {
        if (i % PIECES_OF_STEP == 0 && !budget_step(budget, 1))
            return false;
        struct piece *piece = &pieces[i];
        char text[NOTE_BYTES];
        size_t length = 0, at = i + 1, end = piece->pair;
        if (piece->kind != PIECE_OPEN || piece->part || piece->opaque || end - i > NOTE_PIECES)
            continue;
        bool link = is_name(piece, "a"), raised = is_name(piece, "sup");
        for (; at < end; at++) {
            const struct piece *inner = &pieces[at];
            if (inner->kind == PIECE_TEXT && length + inner->length <= NOTE_BYTES) {
                memcpy(text + length, inner->raw, inner->length);
                length += inner->length;
            } else if ((inner->kind != PIECE_OPEN && inner->kind != PIECE_CLOSE) || inner->opaque) {
                break;
            }
            link |= is_name(inner, "a");
            raised |= is_name(inner, "sup");
        }
        if (at < end)
            continue;

        size_t digits = 0, letters = 0, marks = 0, spaces = 0;
        for (size_t byte = 0; byte < length;) {
            int32_t c = character_next(text, length, &byte);
            bool digit = c >= '0' && c <= '9', mark = character_is_punctuation(c);
            spaces += character_is_space(c);
            digits += digit;
            marks += mark;
            letters += !mark && !digit;
        }
        bool brackets = length > 2 && ((*text == '[' && text[length - 1] == ']') ||
                                       (*text == '(' && text[length - 1] == ')'));
        bool number = (brackets && letters < 2 && marks == 2) ||
                      (link && raised && letters == 0 && marks == 0);
        if (spaces == 0 && (letters + digits == 0 ? marks > 0 : number)) {
            piece->opaque = true;
            i = end;
        }
    }
    return true;
}

/* ---- what separates texts ---- */

/* Returns the piece after a piece or a unit. */
static size_t next_piece(const struct piece *pieces, size_t at) {
    return pieces[at].kind == PIECE_OPEN && pieces[at].opaque ? pieces[at].pair + 1 : at + 1;
}

/* True if an element without content, or one that is not translated, stands between two words
 * without white space. */
static bool parts_words(const struct markup *markup, size_t at) {
    const struct piece *piece = &markup->pieces[at], *before = piece - 1;
    size_t next = next_piece(markup->pieces, at);
    bool unit = piece->kind == PIECE_UNIT || (piece->kind == PIECE_OPEN && piece->opaque);
    if (!markup->units_part || !unit || at == 0 || next >= markup->piece_count ||
        piece->length < 2 || piece->raw[0] != '<' || piece->raw[1] == '!' ||
        before->kind != PIECE_TEXT || markup->pieces[next].kind != PIECE_TEXT)
        return false;
    size_t past = before->length, begin = 0;
    return past > 0 && markup->pieces[next].length > 0 &&
           character_is_spaced(character_previous(before->raw, &past)) &&
           character_is_spaced(
               character_next(markup->pieces[next].raw, markup->pieces[next].length, &begin));
}

/* An inline element with blocks inside separates texts as they do, and so does an element that
 * parts words. */
static void break_around_blocks(struct markup *markup) {
    struct piece *pieces = markup->pieces;
    size_t depth = 0, broken = 0; /* broken: the number of open elements, from the outermost on,
                                     that hold a break */
    for (size_t i = 0, next; i < markup->piece_count; i = next) {
        next = next_piece(pieces, i);
        if (parts_words(markup, i)) {
            for (size_t k = i; k < next; k++)
                pieces[k].kind = PIECE_BREAK;
            pieces[i].opaque = false;
        }
        if (pieces[i].kind == PIECE_BREAK || pieces[i].kind == PIECE_RAW) {
            broken = depth;
        } else if (pieces[i].kind == PIECE_OPEN && !pieces[i].opaque) {
            depth++;
        } else if (pieces[i].kind == PIECE_CLOSE && depth-- == broken) {
            broken = depth;
            pieces[i].kind = pieces[pieces[i].pair].kind = PIECE_BREAK;
        }
    }
}

/* True if the element's text begins with a capital or a digit, as a text of its own does. */
static bool begins_anew(const struct piece *pieces, size_t open) {
    for (size_t i = open + 1; i < pieces[open].pair; i = next_piece(pieces, i))
        for (size_t at = 0; pieces[i].kind == PIECE_TEXT && at < pieces[i].length;) {
            int32_t c = character_next(pieces[i].raw, pieces[i].length, &at);
            if (character_is_letter(c))
                return character_digit(c) >= 0 || character_lower(c) != c;
        }
    return true;
}

static bool is_same_name(const struct piece *a, const struct piece *b) {
    size_t at = 1;
    while (at < a->length && at < b->length && a->raw[at] == b->raw[at] &&
           html_is_of_name(a->raw[at]))
        at++;
    return (at == a->length || !html_is_of_name(a->raw[at])) &&
           (at == b->length || !html_is_of_name(b->raw[at]));
}

/* True if two neutral elements are of the same kind and have white space or nothing at all between
 * them: white space at the end of an element continues its sentence. */
static bool is_alike(const struct piece *pieces, size_t a, size_t b) {
    size_t end = pieces[a].pair;
    bool spaced = piece_has_space(&pieces[end - 1], false) || piece_has_space(&pieces[b + 1], true);
    return pieces[b].bond == BOND_NEUTRAL && is_same_name(&pieces[a], &pieces[b]) &&
           !(spaced && b == end + 1) && begins_anew(pieces, b);
}

/* True if a link ends before the piece `at` of the run [first,end), or begins after it; no-break
 * spaces may be in between. */
static bool is_link_at(const struct piece *pieces, size_t first, size_t end, size_t at,
                       bool before) {
    do
        at = before ? at - 1 : at + 1;
    while (at - first < end - first && pieces[at].kind == PIECE_UNIT && pieces[at].blank);
    if (at - first >= end - first) /* also of a place before the first */
        return false;
    const struct piece *tag = &pieces[at];
    return tag->kind == (before ? PIECE_CLOSE : PIECE_OPEN) &&
           (before ? &pieces[tag->pair] : tag)->bond == BOND_LINK;
}

/* Separates the texts around signs that separate a link from its neighbours, as in a path of pages,
 * whose last is no link. Returns true if there are such signs. A guillemet is none where both ends
 * of a quotation may be. */
static bool break_at_signs(struct piece *pieces, size_t first, size_t end) {
    bool found = false, quotes = false;
    for (size_t i = first; i < end; i = pieces[i].kind == PIECE_OPEN ? pieces[i].pair + 1 : i + 1) {
        struct piece *piece = &pieces[i];
        if (piece->kind == PIECE_OPEN && piece->part)
            return false;
        if (piece->kind != PIECE_TEXT)
            continue;
        const char *past = piece->raw + piece->length;
        bool opens = memmem(piece->raw, piece->length, "\u00ab", 2) ||
                     memmem(piece->raw, piece->length, "\u2039", 3);
        bool closes = memmem(piece->raw, piece->length, "\u00bb", 2) ||
                      memmem(piece->raw, piece->length, "\u203a", 3);
        quotes |= opens;
        bool signs =
            skip_signs(piece->raw, piece->raw, past) == past && !opens && !(quotes && closes) &&
            (is_link_at(pieces, first, end, i, true) || is_link_at(pieces, first, end, i, false));
        piece->kind = signs ? PIECE_BREAK : piece->kind;
        found |= signs;
    }
    return found;
}

/* Separates the elements of a run [first,end) if they are texts of their own, and returns true if
 * it did: an element that holds all of the run's words, since they are to stay in it; and
 * neighbours with nothing but white space and signs between them, such as the entries of a menu.
 * Links are neighbours, and what stands between two of them. Elements that say nothing, such as
 * <span>, are if all have the same name and each begins like a text. Elements that format words,
 * such as <b>, are parts of one phrase, unless signs separate them that only separate. `begin` and
 * `end` of pieces have the words and contents before each. */
static bool set_apart_run(struct piece *pieces, size_t first, size_t end) {
    size_t count = 0, links = 0, last = first; /* last: the neighbour before */
    enum between between = BETWEEN_NOTHING;
    bool separated = true, linked = true, alike = true;
    if (break_at_signs(pieces, first, end))
        return true;
    for (size_t i = first; i < end; i = pieces[i].kind == PIECE_OPEN ? pieces[i].pair + 1 : i + 1) {
        const struct piece *piece = &pieces[i];
        bool element = piece->kind == PIECE_OPEN && !piece->opaque;
        if (piece->kind == PIECE_OPEN && piece->part)
            return false;
        if (piece->kind == PIECE_TEXT) {
            enum between own = find_between(piece->raw, piece->length);
            between = own > between ? own : between;
        } else if (!element && has_word(pieces, i)) {
            between = BETWEEN_WORDS;
        }
        if (between == BETWEEN_WORDS)
            return false;
        if (!element || pieces[piece->pair].end == piece->end)
            continue;
        if (count++ > 0) {
            const struct piece *other = &pieces[last];
            separated &= between == BETWEEN_SEPARATOR;
            linked &= piece->bond == BOND_LINK || other->bond == BOND_LINK;
            alike &= between != BETWEEN_COMMA && is_alike(pieces, last, i) &&
                     (count > 2 || begins_anew(pieces, last));
        }
        links += piece->bond == BOND_LINK;
        last = i;
        between = BETWEEN_NOTHING;
    }
    if (count == 0 || (count > 1 && !separated && !alike && !(linked && links > 1)))
        return false;
    for (size_t i = first, next; i < end; i = next) {
        struct piece *piece = &pieces[i];
        next = piece->kind == PIECE_OPEN ? piece->pair + 1 : i + 1;
        if (piece->kind == PIECE_OPEN && !piece->opaque && pieces[piece->pair].end > piece->end)
            piece->kind = pieces[piece->pair].kind = PIECE_BREAK;
    }
    return true;
}

/* Separates neighbours in all runs, and those within them. */
static void set_apart(struct piece *pieces, size_t count) {
    uint32_t contents = 0;
    for (size_t i = 0, next; i < count; i = next) {
        next = next_piece(pieces, i);
        pieces[i].end = contents;
        if (pieces[i].kind == PIECE_TEXT)
            contents += find_between(pieces[i].raw, pieces[i].length) == BETWEEN_WORDS;
        else if (pieces[i].kind == PIECE_UNIT || pieces[i].opaque)
            contents += pieces[i].shown_length > 0 ? !pieces[i].blank : has_word(pieces, i);
    }
    for (size_t i = 0, first = 0, next; i <= count; i = next) {
        bool apart = i == count || pieces[i].kind == PIECE_BREAK || pieces[i].kind == PIECE_RAW;
        bool again = apart && first < i && set_apart_run(pieces, first, i);
        next = again                          ? first
               : i == count                   ? i + 1
               : pieces[i].kind == PIECE_OPEN ? pieces[i].pair + 1
                                              : i + 1;
        first = apart && !again ? i + 1 : first;
    }
}

/* ---- all segments ---- */

int segment_cut(struct markup *markup, struct arena *arena, struct markup *out, struct error *err) {
    size_t length = 0, first = 0;
    for (size_t piece = 0; piece < markup->piece_count; piece++)
        length += markup->pieces[piece].length + markup->pieces[piece].shown_length;
    struct cutter cutter = {
        .arena = arena, .markup = markup, .text = arena_alloc(arena, length + 1, 1)};
    if (!cutter.text || !hide_notes(markup->pieces, markup->piece_count, arena->budget))
        return error_memory(err);
    break_around_blocks(markup);
    if (!markup->close) /* it rewrites ends by what stands around them in the sentence */
        set_apart(markup->pieces, markup->piece_count);
    for (size_t i = 0, end = markup->piece_count; i <= end && !cutter.failed;
         i = next_piece(markup->pieces, i)) {
        if (i < end && markup->pieces[i].kind != PIECE_BREAK && markup->pieces[i].kind != PIECE_RAW)
            continue;
        add_segment(&cutter, first, i);
        first = i + 1;
        if (i == end)
            break;
    }
    if (cutter.failed)
        return error_memory(err);
    *out = *markup;
    return 0;
}
