/* Each inline element becomes a node with the range of words of the translation that its own
 * words became: the densest run of them that its parent has and no sibling took, so that nodes nest. A node without words (a
 * comment, an image, an empty element, words that became nothing) stands behind what the word before it became. */
#include "server/html/html_place.h"
#include <stdlib.h>
#include <string.h>

/* MAX_GAP: so many words of others end a run. */
enum { MAX_GAP = 8 };

/* ---- words ---- */

static struct span trim(const char *text, struct span span) {
    struct span inner = segmenter_trim(text + span.begin, span.end - span.begin);
    return (struct span){span.begin + inner.begin, span.begin + inner.end};
}

static size_t find_words(const char *text, size_t length, struct span *words) {
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        size_t begin = at;
        bool space = character_is_space(character_next(text, length, &at));
        if (space)
            continue;
        while (at < length && !html_is_space_at(text, length, at))
            character_next(text, length, &at);
        if (words)
            words[count] = (struct span){begin, at};
        count++;
    }
    return count;
}

/* The word at this byte, or the next; word_count: none. */
static size_t word_at(const struct placer *placer, size_t byte) {
    size_t low = 0, high = placer->word_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (placer->words[middle].end > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int compare_links(const void *a, const void *b) {
    const struct html_link *x = a, *y = b;
    if (x->source.begin != y->source.begin)
        return x->source.begin < y->source.begin ? -1 : 1;
    return x->target.begin < y->target.begin ? -1 : x->target.begin > y->target.begin;
}

/* The first link whose source ends behind this byte. Sources are words: ordered by their begins they are by their ends, too. */
static size_t link_behind(const struct placer *placer, size_t byte) {
    size_t low = 0, high = placer->translation->link_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (placer->translation->links[middle].source.end > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int find_links(struct placer *placer, struct arena *arena) {
    const struct html_translation *translation = placer->translation;
    placer->link_word = arena_alloc(arena, translation->link_count, sizeof *placer->link_word);
    placer->candidates = arena_alloc(arena, translation->link_count, sizeof *placer->candidates);
    placer->linked = arena_zalloc(arena, placer->word_count + 1, sizeof *placer->linked);
    if (arena_failed(arena))
        return -1;
    if (translation->link_count > 0)
        qsort(translation->links, translation->link_count, sizeof *translation->links, compare_links);
    for (size_t i = 0; i < translation->link_count; i++) {
        placer->link_word[i] = word_at(placer, translation->links[i].target.begin);
        placer->linked[placer->link_word[i]] = true;
    }
    return 0;
}

/* ---- nodes ---- */

static size_t add_node(struct placer *placer, size_t piece, size_t end_piece, size_t parent, struct span source) {
    const struct html_segment *segment = placer->segment;
    struct node *node = &placer->nodes[placer->count];
    *node = (struct node){.piece = piece, .end_piece = end_piece, .parent = parent, .source = trim(segment->text, source)};
    node->space_before = source.begin > 0 && segment->text[source.begin - 1] == ' ';
    node->space_behind = source.end < segment->length && segment->text[source.end] == ' ';
    return placer->count++;
}

static int find_nodes(struct placer *placer, struct arena *arena) {
    const struct html_segment *segment = placer->segment;
    const struct html_piece *pieces = placer->html->pieces;
    size_t parent = 0;
    placer->nodes = arena_alloc(arena, segment->end - segment->first + 1, sizeof *placer->nodes);
    if (!placer->nodes)
        return -1;
    add_node(placer, segment->first, segment->end, 0, (struct span){0, segment->length});
    for (size_t i = segment->first; i < segment->end; i++) {
        if (pieces[i].kind == PIECE_UNIT || pieces[i].opaque) {
            size_t end = pieces[i].opaque ? pieces[i].pair : i;
            size_t node = add_node(placer, i, end, parent, (struct span){pieces[i].begin, pieces[i].end});
            placer->nodes[node].unit = true;
            i = end;
        } else if (pieces[i].kind == PIECE_OPEN) {
            parent = add_node(placer, i, pieces[i].pair, parent, (struct span){pieces[i].begin, pieces[pieces[i].pair].begin});
            placer->nodes[parent].part = pieces[i].part;
        } else if (pieces[i].kind == PIECE_CLOSE) {
            parent = placer->nodes[parent].parent;
        }
    }
    return 0;
}

/* ---- places ---- */

static int compare_sizes(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* The words of the translation that are linked with the node's and still its parent's, in order, each once. */
static size_t find_candidates(const struct placer *placer, const struct node *node) {
    const struct html_translation *translation = placer->translation;
    size_t count = 0, kept = 0;
    if (node->source.begin == node->source.end) /* within a word it has none of it */
        return 0;
    for (size_t i = link_behind(placer, node->source.begin);
         i < translation->link_count && translation->links[i].source.begin < node->source.end; i++) {
        size_t word = placer->link_word[i];
        if (word < placer->word_count && placer->owner[word] == node->parent)
            placer->candidates[count++] = word;
    }
    qsort(placer->candidates, count, sizeof *placer->candidates, compare_sizes);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || placer->candidates[kept - 1] != placer->candidates[i])
            placer->candidates[kept++] = placer->candidates[i];
    }
    return kept;
}

/* Words between two candidates that became of other words; a number too great if one is not the parent's. */
static size_t gap_between(const struct placer *placer, const struct node *node, size_t word, size_t next) {
    size_t others = 0;
    for (size_t between = word + 1; between < next; between++) {
        if (placer->owner[between] != node->parent || between - word > 2 * MAX_GAP)
            return MAX_GAP + 1;
        others += placer->linked[between];
    }
    return others;
}

/* The run of candidates with the most of them, words of others in between taken off. */
static bool take_run(struct placer *placer, struct node *node) {
    size_t count = find_candidates(placer, node), begin = 0;
    long score = 0, best = 0;
    for (size_t i = 0; i < count; i++) {
        size_t gap = i > begin ? gap_between(placer, node, placer->candidates[i - 1], placer->candidates[i]) : 0;
        if (i > begin && (gap > MAX_GAP || (long)gap >= score)) {
            begin = i;
            score = 0;
        } else {
            score -= (long)gap;
        }
        if (++score > best) {
            best = score;
            node->first = placer->candidates[begin];
            node->end = placer->candidates[i] + 1;
        }
    }
    return best > 0;
}

/* The word that stands in for a unit, if it came through as it was. */
static bool take_copy(const struct placer *placer, struct node *node) {
    const struct node *parent = &placer->nodes[node->parent];
    const char *word = placer->segment->text + node->source.begin;
    size_t length = node->source.end - node->source.begin;
    if (!node->unit || length == 0)
        return false;
    for (size_t i = parent->first; i < parent->end; i++) {
        const char *text = placer->translation->text + placer->words[i].begin;
        size_t bytes = placer->words[i].end - placer->words[i].begin;
        if (placer->owner[i] == node->parent && bytes >= length && memcmp(text, word, length) == 0) {
            node->first = i;
            node->end = i + 1;
            return true;
        }
    }
    return false;
}

/* An element around all that its parent holds. */
static bool take_all(const struct placer *placer, struct node *node) {
    const struct node *parent = &placer->nodes[node->parent];
    if (node->unit || node->source.begin != parent->source.begin || node->source.end != parent->source.end ||
        parent->first == parent->end || placer->owner[parent->first] != node->parent ||
        placer->owner[parent->end - 1] != node->parent)
        return false;
    node->first = parent->first;
    node->end = parent->end;
    return true;
}

static size_t clamp(size_t value, size_t low, size_t high) {
    return value < low ? low : value > high ? high : value;
}

/* Before which word a node without words of its own stands. */
static size_t find_point(const struct placer *placer, const struct node *node) {
    const struct node *parent = &placer->nodes[node->parent];
    if (node->source.begin <= parent->source.begin)
        return parent->first;
    if (node->source.end >= parent->source.end)
        return parent->end;
    size_t next = link_behind(placer, node->source.begin), count = placer->translation->link_count;
    size_t point = next > 0       ? placer->link_word[next - 1] + 1
                   : next < count ? placer->link_word[next]
                                  : placer->word_count * node->source.begin / (placer->segment->length + 1);
    return clamp(point, parent->first, parent->end);
}

static bool is_punctuation_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_punctuation(character_next(text, length, &at));
}

/* Words that became nothing: the element takes one word where they would have been, if it is free, and no punctuation mark. */
static void take_point(const struct placer *placer, struct node *node) {
    const struct html_translation *translation = placer->translation;
    size_t point = find_point(placer, node), end = placer->nodes[node->parent].end;
    bool free_word = point < end && placer->owner[point] == node->parent &&
                     !is_punctuation_at(translation->text, translation->length, placer->words[point].begin);
    node->first = point;
    node->end = point + (free_word && !node->unit && node->source.begin < node->source.end);
}

static bool is_letter(int32_t c) {
    return c >= 0 && !character_is_space(c) && !character_is_punctuation(c);
}

/* True if the place begins or ends within a word. */
static bool cuts_word(const char *text, size_t length, size_t begin, size_t end) {
    size_t before = begin, behind = end, first = begin, last = end;
    if (begin == end)
        return false;
    return (begin > 0 && is_letter(character_previous(text, &before)) && is_letter(character_next(text, length, &first))) ||
           (end < length && is_letter(character_next(text, length, &behind)) && is_letter(character_previous(text, &last)));
}

/* Part of a word that came through as it was: the 2 of H2O, or Tom of Tom's; a whole word is no part of a longer one. */
static bool set_part(const struct placer *placer, struct node *node) {
    const struct html_translation *translation = placer->translation;
    const struct span *word = &placer->words[node->first];
    size_t length = node->source.end - node->source.begin;
    const char *text = placer->segment->text, *begin = translation->text + word->begin;
    const char *found = memmem(begin, word->end - word->begin, text + node->source.begin, length);
    if (node->end != node->first + 1 || length == 0 || !found)
        return false;
    size_t at = word->begin + (size_t)(found - begin);
    if (cuts_word(translation->text, translation->length, at, at + length) &&
        !cuts_word(text, placer->segment->length, node->source.begin, node->source.end))
        return false;
    node->begin = at;
    node->behind = at + length;
    return true;
}

/* What an elided word ends in (J'), behind a letter of the same word. */
static bool is_elision(const char *text, size_t word, size_t at, int32_t c) {
    return (c == '\'' || c == 0x2019) && at > word && is_letter(character_previous(text, &at));
}

/* The bytes of words [first,end), less the punctuation around them that the node's own words do not have. */
static void set_bytes(const struct placer *placer, struct node *node) {
    if (set_part(placer, node))
        return;
    const char *text = placer->translation->text, *source = placer->segment->text;
    size_t begin = placer->words[node->first].begin, end = placer->words[node->end - 1].end, at;
    bool inner_head = !is_punctuation_at(source, node->source.end, node->source.begin);
    at = node->source.end;
    bool inner_tail = at > node->source.begin && !character_is_punctuation(character_previous(source, &at));
    while (inner_head && is_punctuation_at(text, end, begin))
        character_next(text, end, &begin);
    for (at = end; inner_tail && at > begin; end = at) {
        int32_t last = character_previous(text, &at);
        if (!character_is_punctuation(last) || is_elision(text, placer->words[node->end - 1].begin, at, last))
            break;
    }
    bool all = begin >= end; /* nothing but punctuation */
    node->begin = all ? placer->words[node->first].begin : begin;
    node->behind = all ? placer->words[node->end - 1].end : end;
}

/* A node without words touches the word that its source touched. */
static void set_point_byte(const struct placer *placer, struct node *node) {
    size_t before = node->first > 0 ? placer->words[node->first - 1].end : 0;
    size_t behind = node->first < placer->word_count ? placer->words[node->first].begin : placer->translation->length;
    bool leans_back = !node->space_before && node->source.begin > 0;
    node->begin = node->behind = (leans_back && node->first > 0) || node->first == placer->word_count ? before : behind;
}

static void place(struct placer *placer, size_t index) {
    struct node *node = &placer->nodes[index];
    if (index == 0) {
        node->end = placer->word_count;
        node->behind = placer->translation->length;
        return;
    }
    if (!take_all(placer, node) && !take_copy(placer, node) && !take_run(placer, node))
        take_point(placer, node);
    for (size_t word = node->first; word < node->end; word++)
        placer->owner[word] = index;
    if (node->first < node->end)
        set_bytes(placer, node);
    else
        set_point_byte(placer, node);
}

static int take_words(struct placer *placer, struct arena *arena) {
    const struct html_translation *translation = placer->translation;
    placer->words = translation->words;
    placer->word_count = translation->word_count;
    if (placer->words)
        return 0;
    placer->word_count = find_words(translation->text, translation->length, NULL);
    struct span *words = arena_alloc(arena, placer->word_count, sizeof *words);
    if (!words)
        return -1;
    find_words(translation->text, translation->length, words);
    placer->words = words;
    return 0;
}

static int placer_prepare(struct placer *placer, struct arena *arena) {
    if (take_words(placer, arena) != 0)
        return -1;
    placer->owner = arena_zalloc(arena, placer->word_count, sizeof *placer->owner);
    if (!placer->owner)
        return -1;
    return find_links(placer, arena) == 0 && find_nodes(placer, arena) == 0 ? 0 : -1;
}

int html_place(struct placer *placer, struct arena *arena) {
    if (placer_prepare(placer, arena) != 0)
        return -1;
    place(placer, 0);
    if (html_place_parts(placer, arena) != 0)
        return -1;
    for (size_t i = 1; i < placer->count; i++)
        if (!placer->nodes[i].part)
            place(placer, i);
    return 0;
}
