/* This file finds where the texts of segments stand in the HTML that they were read from. The
 * parser does not say, so the texts are looked for in their order, character by character, between
 * the tags. */
#include "server/markup/html.h"
#include "server/markup/markup.h"

enum {
    MOST_SKIPPED = 16, /* characters that the parser may have dropped in one place */
    SCANS = 4,         /* how often the HTML may be read, for characters that are not found */
    SCANNED_LEAST = 1 << 16
};

struct walk {
    const char *start, *at, *end;
    size_t left; /* bytes that may still be read in vain */
};

/* Returns the place after the tag, comment or declaration that begins here, and after the content
 * of a script or style; or `at` if there is none. */
static const char *skip_tag(const char *at, const char *end) {
    struct html_attribute attribute;
    if (end - at < 2 || *at != '<')
        return at;
    if (!isalpha((unsigned char)at[1])) {
        bool comment = bytes_begin(at, end, "<!--");
        bool tag = at[1] == '!' || at[1] == '?' ||
                   (at[1] == '/' && end - at > 2 && isalpha((unsigned char)at[2]));
        const char *close = comment ? memmem(at + 4, (size_t)(end - at) - 4, "-->", 3)
                            : tag   ? memchr(at, '>', (size_t)(end - at))
                                    : NULL;
        return close ? close + (comment ? 3 : 1) : tag ? end : at;
    }
    const char *name = at + 1, *close = name;
    while (close < end && html_is_of_name(*close))
        close++;
    struct bytes element = bytes_between(name, close);
    while (html_next_attribute(&close, end, &attribute))
        ;
    close += close < end;
    if (!bytes_are_any_case(element, "script") && !bytes_are_any_case(element, "style"))
        return close;
    for (const char *tag = close; (tag = memmem(tag, (size_t)(end - tag), "</", 2)); tag += 2)
        if ((size_t)(end - tag) >= element.length + 2 &&
            strncasecmp(tag + 2, name, element.length) == 0)
            return tag;
    return end;
}

/* Finds the next such character of the text and moves past it. Returns false if it is not near. */
static bool find(struct walk *walk, int32_t wanted, struct markup_place *out) {
    const char *at = walk->at, *end = walk->end;
    for (size_t skipped = 0; at < end && skipped <= MOST_SKIPPED;) {
        const char *past = skip_tag(at, end);
        int32_t c;
        if (past == at) {
            size_t bytes = html_reference(at, end, &c), next = 0;
            if (bytes == 0 || c < 0) {
                c = character_next(at, (size_t)(end - at), &next);
                bytes = next;
            }
            past = at + bytes;
            if (c == wanted) {
                *out = (struct markup_place){(uint32_t)(at - walk->start),
                                             (uint32_t)(past - walk->start)};
                walk->at = past;
                return true;
            }
            skipped += c > 0x7f || !byte_is_space((char)c);
        }
        if (skipped == 0) /* only tags and white space: nothing is lost */
            walk->at = past;
        else if (walk->left < (size_t)(past - at))
            break;
        else
            walk->left -= (size_t)(past - at);
        at = past;
    }
    return false;
}

/* Finds the text of a piece. places: of its segment; NULL: the piece is in none. Its text is
 * text[begin,end) there, with white space collapsed. whole: it is a unit, each byte of which is all
 * of it. */
static void find_piece(struct walk *walk, const struct piece *piece, struct markup_place *places,
                       const char *text, struct span range, bool whole) {
    struct markup_place unit = {0};
    size_t to = range.begin;
    for (size_t at = 0; at < piece->length;) {
        size_t first = at;
        struct markup_place place;
        int32_t c = character_next(piece->raw, piece->length, &at);
        if (c < 0x80 && byte_is_space((char)c))
            continue;
        bool found = find(walk, c, &place);
        if (found)
            unit = (struct markup_place){unit.end > 0 ? unit.begin : place.begin, place.end};
        for (size_t byte = first; places && !whole && byte < at; byte++) {
            while (to < range.end && byte_is_space(text[to]))
                to++;
            if (to < range.end)
                places[to++] = found ? place : (struct markup_place){0};
        }
    }
    for (size_t byte = range.begin; places && whole && byte < range.end; byte++)
        places[byte] = unit;
}

struct markup_place **markup_find_places(const struct markup *markup, const char *html,
                                         size_t length, struct arena *arena) {
    size_t segments = markup->count - markup->values, segment = 0;
    struct markup_place **all = arena_zalloc(arena, markup->count, sizeof *all);
    struct walk walk = {html, html, html + length, SCANS * length + SCANNED_LEAST};
    for (size_t i = 0; all && i < markup->count; i++)
        if (!(all[i] = arena_zalloc(arena, markup->segments[i].length + 1, sizeof **all)))
            return NULL;
    for (size_t i = 0; all && i < markup->piece_count; i++) {
        const struct piece *piece = &markup->pieces[i], *shown = piece;
        while (segment < segments && markup->segments[segment].end <= i)
            segment++;
        const struct markup_segment *own = segment < segments ? &markup->segments[segment] : NULL;
        bool inside = own && own->first <= i;
        bool unit = piece->kind == PIECE_UNIT || piece->opaque;
        bool element = unit && piece->kind == PIECE_OPEN;
        struct span range = {piece->begin, inside && piece->end < own->length ? piece->end
                                           : inside                           ? own->length
                                                                              : 0};
        /* the content of an element that is a unit, which may stand for it in the segment */
        size_t last = element ? piece->pair : i;
        for (; i <= last; i++) {
            shown = &markup->pieces[i];
            if (shown->plain || (shown->length > 0 && *shown->raw == '&'))
                find_piece(&walk, shown, inside ? all[segment] : NULL, inside ? own->text : "",
                           range, unit);
        }
        i = last;
    }
    return all;
}
