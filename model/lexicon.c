#include "model/lexicon.h"
#include "model/text/character.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHARACTER_BYTES = 4 };

/* ---- the order ---- */

/* A phrase as it is compared: the first letter in lower case, the bytes behind it as they are. */
struct key {
    int32_t first;
    const char *rest; /* NUL-terminated */
};

static struct key key_of(const struct glossary_entry *entry) {
    size_t next = 0;
    int32_t first = character_next(entry->source, strnlen(entry->source, CHARACTER_BYTES), &next);
    return (struct key){character_lower(first), entry->source + next};
}

/* Of equal ones the entry that stands first in the glossary. */
static int by_key(const void *a, const void *b) {
    const struct glossary_entry *left = *(const struct glossary_entry *const *)a, *right = *(const struct glossary_entry *const *)b;
    struct key one = key_of(left), other = key_of(right);
    if (one.first != other.first)
        return one.first < other.first ? -1 : 1;
    int order = strcmp(one.rest, other.rest);
    return order != 0 ? order : (left > right) - (left < right);
}

int lexicon_init(struct lexicon *lexicon, const struct glossary_entry *entries, size_t count, struct arena *arena,
                 struct error *err) {
    const struct glossary_entry **order = arena_alloc(arena, count, sizeof *order);
    if (!order)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        order[i] = &entries[i];
    qsort(order, count, sizeof *order, by_key);
    *lexicon = (struct lexicon){entries, order, count};
    return 0;
}

/* ---- words ---- */

/* True if no word goes on across text[at]. */
static bool is_edge(const char *text, size_t length, size_t at) {
    size_t before = at, behind = at;
    if (at == 0 || at == length)
        return true;
    return !character_is_spaced(character_previous(text, &before)) || !character_is_spaced(character_next(text, length, &behind));
}

/* ---- looking up ---- */

/* The entries of the order that begin as the text does, as far as it has been read. */
struct range {
    const struct glossary_entry *const *begin, *const *end;
};

/* What stands in an entry in the place that is compared: its first letter, or byte `at` of the rest, 0 at its end. */
static int32_t letter_of(const struct glossary_entry *entry, size_t at, bool first) {
    struct key key = key_of(entry);
    return first ? key.first : (unsigned char)key.rest[at];
}

/* The first in the range with a letter of at least this value there. */
static const struct glossary_entry *const *lower_bound(struct range range, size_t at, bool first, int32_t least) {
    while (range.begin < range.end) {
        const struct glossary_entry *const *middle = range.begin + (range.end - range.begin) / 2;
        if (letter_of(*middle, at, first) < least)
            range.begin = middle + 1;
        else
            range.end = middle;
    }
    return range.begin;
}

static struct range narrowed(struct range range, size_t at, bool first, int32_t letter) {
    const struct glossary_entry *const *begin = lower_bound(range, at, first, letter);
    return (struct range){begin, lower_bound((struct range){begin, range.end}, at, first, letter + 1)};
}

/* Of those at the front of the range that end at byte `at` of the rest: the one written as text [bytes] is, or the first. */
static const struct glossary_entry *choose(struct range range, size_t at, const char *text, size_t bytes) {
    for (const struct glossary_entry *const *i = range.begin; i < range.end && letter_of(*i, at, false) == 0; i++)
        if (strlen((*i)->source) == bytes && memcmp((*i)->source, text, bytes) == 0)
            return *i;
    return *range.begin;
}

/* The longest phrase that begins at text[begin]. */
static bool find_at(const struct lexicon *lexicon, const char *text, size_t length, size_t begin, struct span *found,
                    const struct glossary_entry **entry) {
    size_t next = begin;
    int32_t first = character_lower(character_next(text, length, &next));
    struct range range = narrowed((struct range){lexicon->order, lexicon->order + lexicon->count}, 0, true, first);
    *found = (struct span){begin, begin};
    for (size_t end = next; range.begin < range.end; end++) {
        bool ends = letter_of(*range.begin, end - next, false) == 0;
        if (ends && is_edge(text, length, end)) {
            found->end = end;
            *entry = choose(range, end - next, text + begin, end - begin);
        }
        if (end == length)
            break;
        range = narrowed(range, end - next, false, (unsigned char)text[end]);
    }
    return found->end > begin;
}

bool lexicon_next(const struct lexicon *lexicon, const char *text, size_t length, size_t *at, struct span *found,
                  const struct glossary_entry **entry) {
    for (size_t begin = *at; lexicon->count > 0 && begin < length; character_next(text, length, &begin)) {
        if (is_edge(text, length, begin) && find_at(lexicon, text, length, begin, found, entry)) {
            *at = found->end;
            return true;
        }
    }
    *at = length;
    return false;
}
