/* This module hides the form of segments: it cuts pieces into the texts to translate, in which at
 * most one word represents a unit, and writes pieces and translations as markup. */
#include "server/markup/piece.h"
#include <stdlib.h>

enum {
    STAND_IN_BYTES =
        32, /* the content of a unit represents it if it is one word of at most this length */
    NOTE_BYTES = 12, /* limit for the mark of a footnote */
    NOTE_PIECES = 8,
    COLUMN_SPACES = 3,        /* model/text/layout.c */
    PIECES_OF_STEP = 16,      /* pieces that count as one step of a budget */
    BYTES_OF_STEP = 16,       /* bytes of a translation that count as one step */
    SCRATCH_BYTES = 16 * 1024 /* usually enough to place the nodes of one segment */
};

static const char text_marks[] = "&<>";

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

size_t markup_next_part(const char *text, size_t length, bool *blank) {
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

bool markup_has_letters(const char *text, size_t begin, size_t end) {
    while (begin < end) {
        int32_t character = character_next(text, end, &begin);
        if (!character_is_space(character) && !character_is_punctuation(character) &&
            !(character >= '0' && character <= '9'))
            return true;
    }
    return false;
}

/* True if the content of a unit is one word, such as a name or a command, which is then a word of
 * the sentence. */
static bool has_word(const struct piece *pieces, size_t unit) {
    const struct piece *inner = &pieces[unit + 1];
    bool word = pieces[unit].kind == PIECE_OPEN && pieces[unit].stands_in &&
                pieces[unit].pair == unit + 2 && inner->plain && inner->length > 0 &&
                inner->length <= STAND_IN_BYTES;
    for (size_t i = 0; word && i < inner->length; i++)
        word = !byte_is_space(inner->raw[i]);
    return word;
}

static bool is_blank(const char *text, size_t length) {
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
            letters = letters || markup_has_letters(out->text, piece->begin, out->length);
        } else if (!piece->blank || (out->length > 0 && !out->space)) {
            if (piece->shown_length > 0)
                put_text(out, piece->source, piece->shown_length, false);

            if (has_word(pieces, i))
                put_text(out, pieces[i + 1].raw, pieces[i + 1].length, false);
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
        return is_blank(piece->raw, piece->length);
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
    const struct piece *last = &pieces[end - 1], *next = &pieces[b + 1];
    bool spaced = (last->kind == PIECE_TEXT && byte_is_space(last->raw[last->length - 1])) ||
                  (next->kind == PIECE_TEXT && byte_is_space(*next->raw));
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

int markup_cut(struct markup *markup, struct arena *arena, struct markup *out, struct error *err) {
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

static int check_length(size_t length, struct error *err) {
    return length < MARKUP_MAX_BYTES ? 0 : error_set(err, ERROR_LENGTH, "the markup is too long");
}

int markup_parse_html(const char *text, size_t length, struct arena *arena, struct markup *out,
                      struct error *err) {
    struct markup markup = {0};
    if (check_length(length, err) != 0 || html_read(text, length, arena, &markup, err) != 0 ||
        markup_cut(&markup, arena, out, err) != 0)
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

int markup_parse_xml(const char *text, size_t length, const struct xml_tags *tags,
                     struct arena *arena, struct markup *out, struct error *err) {
    struct markup markup = {0};
    if (check_length(length, err) != 0 || xml_read(text, length, tags, arena, &markup, err) != 0)
        return -1;
    return markup_cut(&markup, arena, out, err);
}

/* ---- writing pieces ---- */

struct writing {
    const struct markup *markup;
    const struct markup_translation *translations; /* [markup->count] */
    struct bytes_buffer *out;
    struct arena *scratch;      /* for one segment */
    bool as_it_was;             /* no value in a tag is rewritten */
    struct markup_trace *trace; /* NULL: not wanted */
};

static void trace_piece(const struct writing *writing, size_t piece) {
    struct markup_trace *trace = writing->trace;
    struct markup_traced *all =
        arena_grow(trace->arena, trace->all, trace->count, &trace->room, 1, sizeof *all);
    if (!all) {
        writing->out->failed = true;
        return;
    }
    trace->all = all;
    all[trace->count++] = (struct markup_traced){piece, writing->out->length};
}

static void write_piece(const struct writing *writing, const struct piece *piece) {
    const struct markup *markup = writing->markup;
    struct bytes_buffer *out = writing->out;
    if (writing->trace)
        trace_piece(writing, (size_t)(piece - markup->pieces));
    bool insets = !piece->source && piece->inset > 0 && !writing->as_it_was;
    uint32_t done = 0, own = (uint32_t)(piece - markup->pieces);
    if (piece->source && piece->shown_length == 0) {
        bytes_put(out, piece->source, piece->source_length);
        return;
    }
    if (piece->plain && !insets) {
        if (markup->built) /* white space */
            bytes_put(out, piece->raw, piece->length);
        else
            bytes_put_escaped(out, piece->raw, piece->length, text_marks);
        return;
    }
    for (size_t i = piece->inset - 1;
         insets && i < markup->inset_count && markup->insets[i].piece == own; i++) {
        const struct piece_inset *inset = &markup->insets[i];
        const struct markup_translation *translation =
            inset->language ? NULL : &writing->translations[inset->segment];
        const struct bytes stated = {inset->text, inset->length},
                           from = {markup->from, markup->from ? strlen(markup->from) : 0};
        bool anew = translation
                        ? translation->text != NULL
                        : markup->language &&
                              (inset->root || (markup->from && bytes_same_language(stated, from)));
        if (!anew)
            continue;
        bytes_put(out, piece->raw + done, inset->begin - done);
        if (translation)
            bytes_put_escaped(out, translation->text, translation->length, "&<>\"");
        else
            bytes_put_string(out, markup->language);
        done = inset->end;
    }
    bytes_put(out, piece->raw + done, piece->length - done);
}

/* ---- a translation with its nodes ---- */

/* Nodes are written in the order of their parents, and below a parent in the order of their places.
 */
struct order {
    size_t parent, begin, node;
};

static int compare_orders(const void *a, const void *b) {
    const struct order *x = a, *y = b;
    const size_t left[] = {x->parent, x->begin, x->node}, right[] = {y->parent, y->begin, y->node};
    for (size_t i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* A node that is being written. */
struct frame {
    size_t node, next, end; /* orders [next,end) are its remaining children */
    size_t open, inside;    /* where its start tag, and the text after that, begin in the output */
};

struct scribe {
    const struct writing *writing;
    const struct markup_translation *translation;
    const struct place_node *nodes; /* [count] */
    const struct order *orders;     /* [count] */
    size_t count;
    struct bytes_buffer *out;
    size_t at;         /* bytes of the translation that have been written */
    size_t fixed;      /* output up to here is a tag, a unit, or white space of the source */
    size_t after_unit; /* the end of the last unit in the output; 0: none */
    enum piece_notation notation;
};

/* Writes the translation up to this byte. A segment is one line: a line end of the translation,
 * which might end a cue, a row or a message, becomes a space. */
static void write_to(struct scribe *scribe, size_t byte) {
    const struct markup *markup = scribe->writing->markup;
    bool references = !markup->built || scribe->notation == PIECE_ESCAPED;
    markup_escape *escape =
        markup->escape && scribe->notation == PIECE_BY_FORMAT ? markup->escape : bytes_put;
    while (scribe->at < byte) {
        const char *text = scribe->translation->text + scribe->at;
        size_t length = 0;
        while (scribe->at + length < byte && text[length] != '\n' && text[length] != '\r')
            length++;
        if (references)
            bytes_put_escaped(scribe->out, text, length, text_marks);
        else
            escape(scribe->out, text, length);
        scribe->at += length;
        if (scribe->at < byte) {
            bytes_put(scribe->out, " ", 1);
            scribe->at++;
        }
    }
}

static size_t skip_space(const struct markup_translation *translation, size_t at) {
    while (bytes_space_at(translation->text, translation->length, at))
        character_next(translation->text, translation->length, &at);
    return at;
}

/* True if the output ends in white space of the translation. */
static bool ends_in_space(const struct scribe *scribe) {
    return scribe->out->length > scribe->fixed &&
           scribe->out->bytes[scribe->out->length - 1] == ' ';
}

static bool is_letter_at(const struct markup_translation *translation, size_t at) {
    return at < translation->length &&
           character_is_letter(character_next(translation->text, translation->length, &at));
}

static bool is_letter_before(const struct markup_translation *translation, size_t at) {
    while (at > 0 && translation->text[at - 1] == ' ')
        at--;
    return at > 0 && character_is_letter(character_previous(translation->text, &at));
}

static void put_unit(struct scribe *scribe, const struct place_node *node) {
    for (size_t i = node->piece; i <= node->end_piece; i++)
        write_piece(scribe->writing, &scribe->writing->markup->pieces[i]);
    scribe->fixed = scribe->after_unit = scribe->out->length;
    if (scribe->at < node->past)
        scribe->at = node->past;
}

/* Writes white space that replaces that of the translation. */
static void write_blank(struct scribe *scribe, const struct place_node *node) {
    size_t rest = skip_space(scribe->translation, scribe->at);
    bool before = ends_in_space(scribe),
         yields = scribe->writing->markup->pieces[node->piece].yields;
    if (yields && !before && rest == scribe->at)
        return;
    scribe->out->length -= before && yields;
    scribe->at = rest;
    put_unit(scribe, node);
}

/* Writes a unit between two words. White space is on the side where it was in the source;
 * otherwise, where the unit had a word beside it, it is between the two, and any other is where the
 * translation has it. */
static void write_point(struct scribe *scribe, const struct place_node *node) {
    const struct markup_translation *translation = scribe->translation;
    size_t rest = skip_space(translation, scribe->at);
    bool head = scribe->at == 0, tail = rest == translation->length, spaced = ends_in_space(scribe);
    bool before = node->space_before, after = node->space_after && !tail;
    if (node->last) {
        before &= !spaced;
    } else if (spaced || rest > scribe->at) {
        before |= !node->word_before && is_letter_before(translation, scribe->at);
        after |= !tail && (is_letter_at(translation, rest) ? !node->word_after || !before
                                                           : !before || rest > scribe->at);
        scribe->out->length -= spaced;
        scribe->at = rest;
    }
    if (before && !head)
        bytes_put(scribe->out, " ", 1);
    put_unit(scribe, node);
    if (after)
        bytes_put(scribe->out, " ", 1);
}

/* Writes a unit, in place of the words that represented it. */
static void write_unit(struct scribe *scribe, const struct place_node *node) {
    const struct piece *first = &scribe->writing->markup->pieces[node->piece];
    write_to(scribe, node->begin);
    if (first->blank) {
        write_blank(scribe, node);
        return;
    }
    bool beside = scribe->after_unit > 0 &&
                  scribe->after_unit == scribe->out->length; /* everything between was removed */
    bool merges = beside && first->length > 0 &&
                  scribe->out->bytes[scribe->out->length - 1] == '`' && *first->raw == '`';
    if (node->first == node->end && !merges) {
        write_point(scribe, node);
        return;
    }
    if (merges || (beside && node->space_before))
        bytes_put(scribe->out, " ", 1);
    put_unit(scribe, node);
}

/* Writes the end of the element in the last frame, which its parent's frame precedes. */
static void write_end(struct scribe *scribe, const struct frame *frame) {
    const struct markup *markup = scribe->writing->markup;
    const struct piece *piece = &markup->pieces[scribe->nodes[frame->node].end_piece];
    if (!markup->close) {
        write_piece(scribe->writing, piece);
        return;
    }
    const struct frame *around = frame - 1;
    const struct markup_translation *translation = scribe->translation;
    struct markup_end end = {.open = frame->open,
                             .inside = frame->inside,
                             .first = around->node > 0 && around->inside == frame->open,
                             .next = around->node > 0 ? '*' : 0,
                             .written = piece->source ? piece->source : piece->raw,
                             .replaced = piece->raw,
                             .written_length = piece->source ? piece->source_length : piece->length,
                             .replaced_length = piece->length};
    if (around->next < around->end &&
        scribe->nodes[scribe->orders[around->next].node].begin == scribe->at) {
        end.next = '*';
    } else if (scribe->at < scribe->nodes[around->node].past && scribe->at < translation->length) {
        size_t at = scribe->at;
        end.next = character_next(translation->text, translation->length, &at);
    }
    markup->close(scribe->out, &end);
}

/* Returns the first order of the children of this parent, or else of a later one. */
static size_t first_child(const struct scribe *scribe, size_t parent) {
    size_t low = 1, high = scribe->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scribe->orders[middle].parent >= parent)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Writes the white space at one end of a segment as it was in the source. */
static void write_edge(struct bytes_buffer *out, const struct piece *piece, bool head) {
    size_t blank = 0;
    if (piece->kind != PIECE_TEXT)
        return;
    while (blank < piece->length &&
           byte_is_space(head ? piece->raw[blank] : piece->raw[piece->length - 1 - blank]))
        blank++;
    bytes_put(out, head ? piece->raw : piece->raw + piece->length - blank, blank);
}

/* True if an element has only white space, which is both its head and its tail. */
static bool is_all_blank(const struct place_node *node, const struct piece *pieces) {
    const struct piece *content = &pieces[node->piece + 1];
    return content == &pieces[node->end_piece - 1] && is_blank(content->raw, content->length);
}

/* Writes the start tag of an element, after the white space that precedes it and before that in it:
 * white space that the element began with does not leave it. */
static void write_start(struct scribe *scribe, struct frame *frame) {
    const struct place_node *node = &scribe->nodes[frame->node];
    const struct piece *pieces = scribe->writing->markup->pieces;
    struct bytes_buffer *out = scribe->out;
    bool moves = node->inner_head && !node->space_before;
    write_to(scribe, node->begin);
    while (moves && out->length > scribe->fixed && byte_is_space(out->bytes[out->length - 1]))
        out->length--;
    frame->open = out->length;
    write_piece(scribe->writing, &pieces[node->piece]);
    frame->inside = out->length;
    if (node->inner_head)
        write_edge(out, &pieces[node->piece + 1], true);
    scribe->fixed = out->length;
}

static void write_translation(const struct writing *writing, const struct markup_segment *segment,
                              const struct markup_translation *translation) {
    const struct piece *pieces = writing->markup->pieces;
    struct bytes_buffer *out = writing->out;
    struct place_node *nodes;
    struct order *orders = NULL;
    size_t count = markup_place(writing->markup, segment, translation, writing->scratch, &nodes);
    if (count > 0)
        orders = arena_alloc(writing->scratch, count, sizeof *orders);
    if (!orders) {
        out->failed = true;
        return;
    }
    orders[0] = (struct order){0};
    for (size_t i = 1; i < count; i++)
        orders[i] = (struct order){nodes[i].parent, nodes[i].begin, i};
    qsort(orders + 1, count - 1, sizeof *orders, compare_orders);

    struct scribe scribe = {.writing = writing,
                            .translation = translation,
                            .nodes = nodes,
                            .orders = orders,
                            .count = count,
                            .out = out,
                            .notation = pieces[segment->first].notation};
    struct frame stack[MARKUP_MAX_DEPTH + 1] = {
        {.node = 0, .next = 1, .end = first_child(&scribe, 1)}};
    write_edge(out, &pieces[segment->first], true);
    scribe.fixed = out->length;
    for (size_t depth = 1; depth > 0 && !out->failed;) {
        struct frame *frame = &stack[depth - 1];
        if (frame->next == frame->end) {
            write_to(&scribe, nodes[frame->node].past);
            if (frame->node > 0) {
                const struct place_node *node = &nodes[frame->node];
                if (node->inner_tail && !is_all_blank(node, pieces))
                    write_edge(out, &pieces[node->end_piece - 1], false);
                write_end(&scribe, frame);
                scribe.fixed = out->length;
                if (node->inner_tail && !node->outer_tail)
                    scribe.at = skip_space(translation, scribe.at);
            }
            depth--;
            continue;
        }
        size_t child = orders[frame->next++].node;
        const struct place_node *node = &nodes[child];
        if (node->unit) {
            write_unit(&scribe, node);
            continue;
        }
        if (node->part) /* there is nothing between parts */
            scribe.at = node->begin;
        stack[depth] = (struct frame){child, first_child(&scribe, child),
                                      first_child(&scribe, child + 1), 0, 0};
        write_start(&scribe, &stack[depth++]);
    }
    if (segment->end - segment->first > 1 ||
        pieces[segment->first].begin < pieces[segment->first].end)
        write_edge(out, &pieces[segment->end - 1], false);
    arena_reset(writing->scratch);
}

/* Writes the segment and, unless it is equal, the translation below it. */
static void write_below(const struct writing *writing, const struct markup_segment *segment,
                        const struct markup_translation *translation) {
    struct writing anew = *writing;
    anew.as_it_was = false;
    struct bytes_buffer *out = writing->out;
    size_t begin = out->length;
    for (size_t i = segment->first; i < segment->end; i++)
        write_piece(writing, &writing->markup->pieces[i]);
    size_t end = out->length;
    writing->markup->below(out, writing->markup, segment, false);
    size_t below = out->length;
    write_translation(&anew, segment, translation);
    if (out->failed)
        return;
    if (out->length - below == end - begin &&
        memcmp(out->bytes + below, out->bytes + begin, end - begin) == 0)
        out->bytes[out->length = end] = '\0';
    else
        writing->markup->below(out, writing->markup, segment, true);
}

/* Writes the pieces [first,end); *segment: the first segment that may be among them, then the first
 * after them. Returns true if there is a translation among them. */
static bool write_pieces(const struct writing *writing, size_t first, size_t end, size_t *segment,
                         bool *lossy) {
    const struct markup *markup = writing->markup;
    struct bytes_buffer *out = writing->out;
    size_t segments = markup->count - markup->values;
    bool translated = false;
    for (size_t i = first; i < end && !out->failed;) {
        const struct markup_segment *next =
            *segment < segments ? &markup->segments[*segment] : NULL;
        const struct markup_translation *translation =
            next ? &writing->translations[*segment] : NULL;
        if (next && next->first == i && translation->text &&
            !is_blank(translation->text, translation->length)) {
            out->failed |= !budget_step(out->arena->budget, translation->length / BYTES_OF_STEP);
            (markup->below ? write_below : write_translation)(writing, next, translation);
            translated = true;
            *lossy |= translation->lossy;
            i = next->end;
        } else {
            write_piece(writing, &markup->pieces[i++]);
            if (!next || i < next->end)
                continue;
        }
        (*segment)++;
    }
    return translated;
}

bool markup_write_pieces(struct markup_writing *part, size_t first, size_t end) {
    struct arena scratch;
    const struct writing writing = {part->markup, part->translations, part->out, &scratch,
                                    false,        part->trace};
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, part->out->arena->budget);
    part->lossy = false;
    bool translated = write_pieces(&writing, first, end, &part->segment, &part->lossy);
    arena_done(&scratch);
    return translated;
}

char *markup_write(const struct markup *markup, const struct markup_translation *translations,
                   struct arena *arena, size_t *length, struct error *err) {
    /* The buffer is about as long as the document will be, so that it seldom grows, which leaves a
     * copy in the arena. */
    size_t bytes = 1, segment = 0;
    bool lossy = false;
    for (size_t i = 0; i < markup->piece_count; i++) {
        const struct piece *piece = &markup->pieces[i];
        bytes += piece->source && piece->shown_length == 0 ? piece->source_length : piece->length;
    }
    for (size_t i = 0; i < markup->count; i++) {
        size_t replaced = markup->below ? 0 : markup->segments[i].length,
               own = translations[i].length;
        bytes += own > replaced ? own - replaced : 0;
    }
    struct bytes_buffer out = {
        .arena = arena, .capacity = bytes, .bytes = arena_alloc(arena, bytes, 1)};
    struct arena scratch;
    const struct writing writing = {markup,   translations,          &out,
                                    &scratch, markup->below != NULL, NULL};
    out.failed = !out.bytes;
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, arena->budget);
    bytes_put(&out, "", 0);
    write_pieces(&writing, 0, markup->piece_count, &segment, &lossy);
    arena_done(&scratch);
    return bytes_take(&out, length, err);
}
