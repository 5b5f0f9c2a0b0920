/* This file hides how the phrases of a glossary and the parts that are held are found in a text. */
#include "model/lexicon.h"
#include "model/base/utf8.h"
#include "model/text/tokenizer.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- source phrases ---- */

/* Writes a character as phrases are compared: decomposed, a space for all kinds of them. Returns
 * the number of letters. */
static size_t letters_of(int32_t c, int32_t letters[CHARACTER_PARTS]) {
    return character_decompose(character_is_space(c) && !character_ends_line(c) ? ' ' : c, letters);
}

/* Returns a phrase in small letters, decomposed; NULL if memory is out. */
static const int32_t *read_letters(const char *text, struct arena *arena) {
    size_t length = strlen(text), count = 0;
    int32_t parts[CHARACTER_PARTS];
    for (size_t next = 0; next < length;)
        count += letters_of(character_lower(character_next(text, length, &next)), parts);
    int32_t *letters = arena_zalloc(arena, count + 1, sizeof *letters);
    count = 0;
    for (size_t next = 0; letters && next < length;) {
        size_t added = letters_of(character_lower(character_next(text, length, &next)), parts);
        memcpy(letters + count, parts, added * sizeof *parts);
        count += added;
    }
    return letters;
}

/* Among equal phrases, the first entry of the glossary comes first. */
static int by_letters(const void *a, const void *b) {
    const struct lexicon_key *left = a, *right = b;
    size_t i = 0;
    while (left->letters[i] && left->letters[i] == right->letters[i])
        i++;
    if (left->letters[i] != right->letters[i])
        return left->letters[i] < right->letters[i] ? -1 : 1;
    int order = strcmp(left->entry->source, right->entry->source);
    return order != 0 ? order : (left->entry > right->entry) - (left->entry < right->entry);
}

int lexicon_init(struct lexicon *lexicon, const struct glossary_entry *entries, size_t count,
                 struct arena *arena, struct error *err) {
    struct lexicon_key *order = arena_alloc(arena, count, sizeof *order);
    for (size_t i = 0; order && i < count; i++)
        order[i] = (struct lexicon_key){&entries[i], read_letters(entries[i].source, arena)};
    if (!order || arena_failed(arena))
        return error_memory(err);
    if (count > 0)
        qsort(order, count, sizeof *order, by_letters);
    *lexicon = (struct lexicon){entries, order, count};
    return 0;
}

bool lexicon_edge(const char *text, size_t length, size_t at) {
    size_t before = at, after = at;
    if (at == 0 || at == length)
        return true;
    return !character_is_spaced(character_previous(text, &before)) ||
           !character_is_spaced(character_next(text, length, &after));
}

/* A range of sorted keys that all begin with the text read so far. */
struct range {
    const struct lexicon_key *begin, *end;
};

/* Returns the first key of the range whose letter in this place is at least this value. */
static const struct lexicon_key *lower_bound(struct range range, size_t at, int32_t least) {
    while (range.begin < range.end) {
        const struct lexicon_key *middle = range.begin + (range.end - range.begin) / 2;
        if (middle->letters[at] < least)
            range.begin = middle + 1;
        else
            range.end = middle;
    }
    return range.begin;
}

static struct range narrowed(struct range range, size_t at, int32_t letter) {
    const struct lexicon_key *begin = lower_bound(range, at, letter);
    return (struct range){begin, lower_bound((struct range){begin, range.end}, at, letter + 1)};
}

/* Returns whether text[span] is in capitals: it has that many of them, or the words around it are
 * in capitals as well. An abbreviation alone is not a word in capitals. */
static bool in_capitals(const char *text, size_t length, struct span span) {
    enum { AROUND = 40 };
    size_t capitals = 0, own = 0, begin = span.begin, end = span.end;
    for (size_t at = span.begin; at < span.end;) {
        int32_t c = character_next(text, span.end, &at);
        if (c != character_upper(c))
            return false;
        own += c != character_lower(c);
    }
    if (own >= CAPITALS_LEAST)
        return true;
    while (begin > 0 && span.begin - begin < AROUND)
        character_previous(text, &begin);
    while (end < length && end - span.end < AROUND)
        character_next(text, length, &end);
    for (size_t at = begin; at < end;) {
        int32_t c = character_next(text, end, &at);
        if (c != character_upper(c))
            return false;
        capitals += c != character_lower(c);
    }
    return own > 0 && capitals >= CAPITALS_LEAST;
}

/* How a phrase's letters are those of the text. */
enum likeness { UNLIKE, CAPITALS, FIRST_OTHER, EQUAL };

static enum likeness likeness_of(const char *source, const char *text, size_t length,
                                 struct span span) {
    enum likeness found = EQUAL;
    int32_t one[CHARACTER_PARTS], other[CHARACTER_PARTS];
    size_t bytes = strlen(source), next = 0, known = 0, own = 0;
    for (size_t at = span.begin, letter = 0; at < span.end;) {
        size_t count = letters_of(character_next(text, span.end, &at), one);
        for (size_t i = 0; i < count; i++, own++, letter++) {
            if (own == known) {
                known = next < bytes ? letters_of(character_next(source, bytes, &next), other) : 0;
                own = 0;
            }
            if (known > 0 && one[i] == other[own])
                continue;
            if (letter > 0 || known == 0)
                return in_capitals(text, length, span) ? CAPITALS : UNLIKE;
            found = FIRST_OTHER;
        }
    }
    return found;
}

bool lexicon_raises(const struct glossary_entry *entry, const char *text, size_t length,
                    struct span span) {
    size_t bytes = strlen(entry->source);
    return likeness_of(entry->source, text, length, span) == CAPITALS &&
           !in_capitals(entry->source, bytes, (struct span){0, bytes});
}

bool lexicon_next(const struct lexicon *lexicon, const char *text, size_t length, size_t *at,
                  struct span *found, const struct glossary_entry **entry) {
    for (size_t begin = *at; lexicon->count > 0 && begin < length;
         character_next(text, length, &begin)) {
        if (!lexicon_edge(text, length, begin))
            continue;
        struct range range = {lexicon->order, lexicon->order + lexicon->count};
        *found = (struct span){begin, begin};
        for (size_t end = begin, depth = 0; range.begin < range.end;) {
            if (range.begin->letters[depth] == 0 && lexicon_edge(text, length, end)) {
                /* takes the entry that is most like the text, or else the first of them */
                enum likeness best = UNLIKE;
                for (const struct lexicon_key *i = range.begin;
                     i < range.end && i->letters[depth] == 0; i++) {
                    enum likeness own =
                        likeness_of(i->entry->source, text, length, (struct span){begin, end});
                    if (own < best || own == UNLIKE || (own == best && i->entry > *entry))
                        continue;
                    best = own;
                    *entry = i->entry;
                    found->end = end;
                }
            }
            if (end == length)
                break;
            int32_t letters[CHARACTER_PARTS];
            size_t count = letters_of(character_lower(character_next(text, length, &end)), letters);
            for (size_t i = 0; i < count; i++)
                range = letters[i] ? narrowed(range, depth++, letters[i]) : (struct range){0};
        }
        if (found->end > begin) {
            *at = found->end;
            return true;
        }
    }
    *at = length;
    return false;
}

/* ---- held parts ---- */

/* This limits the processor time of patterns in all texts of a request. Searching a few megabytes
 * takes a hundredth of that. */
enum { MAX_PATTERN_NS = 250000000 };

int guard_open(struct guard *guard, const struct protection *protection, struct error *err) {
    *guard = (struct guard){0};
    if (!protection)
        return 0;
    guard->strings = &protection->strings;
    guard->left_ns = MAX_PATTERN_NS;
    if (protection->pattern_count == 0)
        return 0;
    guard->patterns = calloc(protection->pattern_count, sizeof *guard->patterns);
    if (!guard->patterns)
        return error_memory(err);
    for (; guard->pattern_count < protection->pattern_count; guard->pattern_count++) {
        struct pattern *pattern = pattern_open(protection->patterns[guard->pattern_count], err);
        if (!pattern)
            return -1;
        guard->patterns[guard->pattern_count] = pattern;
    }
    return 0;
}

void guard_done(struct guard *guard) {
    while (guard->pattern_count > 0)
        pattern_free(guard->patterns[--guard->pattern_count]);
    free(guard->patterns);
    *guard = (struct guard){0};
}

/* One pass over the text finds all kinds: opaque runs, strings, and each of the patterns. */
enum { OPAQUE_RUNS, STRINGS, PATTERNS };

int guard_find(struct guard *guard, unsigned notations, struct bytes text, struct arena *arena,
               struct opaque_runs *out, struct error *err) {
    int64_t began_ns = guard->pattern_count > 0 ? pattern_clock_ns() : 0,
            until_ns = began_ns + guard->left_ns;
    struct opaque_runs found = {0};
    size_t kinds = PATTERNS + guard->pattern_count, room = 0;
    struct opaque_run *finds = arena_zalloc(
        arena, kinds, sizeof *finds); /* the next of each kind; begin SIZE_MAX: no more */
    if (!finds)
        return error_memory(err);
    for (size_t end = 0;;) {
        const struct opaque_run *first = NULL;
        for (size_t i = 0; i < kinds; i++) {
            struct opaque_run *next = &finds[i];
            if (next->end == 0 ||
                next->begin < end) { /* no find yet, or the find overlaps the last run */
                const struct glossary_entry *entry;
                struct span span;
                size_t at = end;
                int any;
                if (i == OPAQUE_RUNS)
                    any = opaque_next_paced(arena->budget, notations, text.start, text.length, &at,
                                            next);
                else if (i == STRINGS)
                    any = guard->strings &&
                          lexicon_next(guard->strings, text.start, text.length, &at, &span, &entry);
                else
                    any = pattern_next(guard->patterns[i - PATTERNS], text, &at, &span, until_ns,
                                       err);
                if (any < 0)
                    return -1;
                if (any == 0)
                    *next = (struct opaque_run){.begin = SIZE_MAX, .end = SIZE_MAX};
                else if (i != OPAQUE_RUNS)
                    *next = (struct opaque_run){span.begin, span.end, OPAQUE_PROTECT, NULL};
            }
            bool earlier = !first || next->begin < first->begin ||
                           (next->begin == first->begin && next->end > first->end);
            if (next->begin < SIZE_MAX && earlier)
                first = next;
        }
        if (!first)
            break;
        struct opaque_run *all =
            budget_step(arena->budget, 1)
                ? arena_grow(arena, found.all, found.count, &room, 1, sizeof *all)
                : NULL;
        if (!all)
            return error_memory(err);
        found.all = all;
        all[found.count++] = *first;
        end = first->end;
    }
    if (guard->pattern_count > 0)
        guard->left_ns -= pattern_clock_ns() - began_ns;
    if (!budget_step(arena->budget, 0))
        return error_memory(err);
    *out = found;
    return 0;
}
