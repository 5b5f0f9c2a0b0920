/* Each inline element becomes a node with the range of words of the translation that its own words became: the densest run of them
 * that its parent has and no sibling took, so that nodes nest. An element that had words always gets some: those that stand in the
 * translation as they stood in the source, else those nearest to where its own would be; and where its parent has none left, it
 * stays whole, in its own language. A node that had no words (a comment, an image, an empty element) stands behind what the word
 * before it became. */
#include "server/markup/html_place.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_GAP = 8,         /* so many words of others end a run */
    MAX_FAR = 256,       /* words away from its point in which a node looks for one that is free */
    NEAR = 2,            /* words away in which one that is linked with nothing is better than one that is */
    MAX_COPY = 128,      /* bytes of an element that may stand in the translation as they are */
    MAX_COPY_FAR = 1024, /* bytes away from its point */
    MAX_COPIES = 16,     /* places where they do that are looked at */
    MAX_SIGNS = 3        /* punctuation marks at either end of an element */
};

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

static bool has_word(const char *text, struct span span) {
    for (size_t at = span.begin; at < span.end;) {
        int32_t c = character_next(text, span.end, &at);
        if (!character_is_space(c) && !character_is_punctuation(c))
            return true;
    }
    return false;
}

/* From the innermost nodes outwards: a node stands behind the one that it is in. */
static void add_needs(struct placer *placer) {
    for (size_t i = placer->count; i-- > 1;) {
        struct node *node = &placer->nodes[i];
        if (node->need < node->owed)
            node->need = node->owed;
        placer->nodes[node->parent].owed += node->need;
    }
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
        } else if (pieces[i].kind == PIECE_TEXT && has_word(segment->text, (struct span){pieces[i].begin, pieces[i].end})) {
            placer->nodes[parent].need = 1;
        }
    }
    add_needs(placer);
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

/* Between the words where its own would be. */
static void take_point(const struct placer *placer, struct node *node) {
    node->first = node->end = find_point(placer, node);
}

static bool is_free(const struct placer *placer, const struct node *node, size_t word) {
    const struct node *parent = &placer->nodes[node->parent];
    return word >= parent->first && word < parent->end && placer->owner[word] == node->parent;
}

static size_t count_spoken(const struct placer *placer, size_t first, size_t end) {
    size_t count = 0;
    for (size_t word = first; word < end; word++)
        count += placer->spoken[word];
    return count;
}

/* The free word that is nearest to where its own would be, best one that became of nothing. */
static bool take_nearest(const struct placer *placer, struct node *node) {
    size_t point = find_point(placer, node);
    for (size_t wanted = 0; wanted < 2; wanted++) {
        for (size_t far = 0; far < (wanted == 0 ? NEAR : MAX_FAR); far++) {
            size_t both[] = {point + far, point - far - 1};
            for (size_t i = 0; i < (far < point ? 2 : 1); i++) {
                if (!is_free(placer, node, both[i]) || !placer->spoken[both[i]] || (wanted == 0 && placer->linked[both[i]]))
                    continue;
                node->first = both[i];
                node->end = both[i] + 1;
                return true;
            }
        }
    }
    return false;
}

/* As many words as it needs, and no more than leave its siblings what they need. */
static void fit(const struct placer *placer, struct node *node, size_t most) {
    size_t count = count_spoken(placer, node->first, node->end);
    while (count > most && node->end > node->first)
        count -= placer->spoken[--node->end];
    while (count < node->need && is_free(placer, node, node->end))
        count += placer->spoken[node->end++];
    while (count < node->need && node->first > 0 && is_free(placer, node, node->first - 1))
        count += placer->spoken[--node->first];
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

static bool is_covered(const struct placer *placer, const struct node *node, size_t begin, size_t end) {
    while (begin < end && placer->covers[begin] == node->parent)
        begin++;
    return begin < end;
}

/* What it holds stands in the translation as it is, near to where it would be: a name, or part of a word. */
static bool take_text(struct placer *placer, struct node *node) {
    const char *source = placer->segment->text, *text = placer->translation->text;
    const struct node *parent = &placer->nodes[node->parent];
    size_t length = node->source.end - node->source.begin, whole = placer->translation->length, point = find_point(placer, node);
    size_t center = point < placer->word_count ? placer->words[point].begin : whole;
    size_t begin = center > parent->begin + MAX_COPY_FAR ? center - MAX_COPY_FAR : parent->begin;
    size_t end = parent->behind > center + MAX_COPY_FAR ? center + MAX_COPY_FAR : parent->behind;
    bool cuts = cuts_word(source, placer->segment->length, node->source.begin, node->source.end);
    if (length == 0 || length > MAX_COPY)
        return false;
    for (size_t i = 0; i < MAX_COPIES && begin < end; i++) {
        const char *found = memmem(text + begin, end - begin, source + node->source.begin, length);
        if (!found)
            return false;
        size_t at = (size_t)(found - text);
        if (!is_covered(placer, node, at, at + length) && (cuts || !cuts_word(text, whole, at, at + length))) {
            node->begin = at;
            node->behind = at + length;
            node->first = node->end = word_at(placer, at);
            while (node->end < parent->end && placer->words[node->end].begin < node->behind)
                node->end++;
            return true;
        }
        begin = at + 1;
    }
    return false;
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

static bool is_quotation_mark(int32_t c) {
    static const int32_t marks[] = {'"', '\'', 0xab, 0xbb, 0x2018, 0x2019, 0x201a, 0x201c, 0x201d, 0x201e, 0x2039, 0x203a};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (c == marks[i])
            return true;
    return false;
}

/* A word of the translation that is free, and the same mark as one of the source; quotation marks differ from language to language.
 */
static bool is_sign(const struct placer *placer, const struct node *node, size_t word, int32_t sign) {
    if (!is_free(placer, node, word) || placer->spoken[word])
        return false;
    size_t at = placer->words[word].begin;
    int32_t c = character_next(placer->translation->text, placer->words[word].end, &at);
    return at == placer->words[word].end && (c == sign || (is_quotation_mark(c) && is_quotation_mark(sign)));
}

/* Marks at both ends of an element stay in it: the # of a hashtag, brackets, a final exclamation mark. */
static void take_signs(const struct placer *placer, struct node *node) {
    const char *source = placer->segment->text;
    int32_t head[MAX_SIGNS], tail[MAX_SIGNS];
    size_t heads = 0, tails = 0;
    for (size_t at = node->source.begin; at < node->source.end && heads < MAX_SIGNS; heads++) {
        head[heads] = character_next(source, node->source.end, &at);
        if (!character_is_punctuation(head[heads]))
            break;
    }
    for (size_t at = node->source.end; at > node->source.begin && tails < MAX_SIGNS; tails++) {
        tail[tails] = character_previous(source, &at);
        if (!character_is_punctuation(tail[tails]))
            break;
    }
    while (heads > 0 && node->first > 0 && is_sign(placer, node, node->first - 1, head[heads - 1])) {
        node->first--;
        heads--;
    }
    while (tails > 0 && is_sign(placer, node, node->end, tail[tails - 1])) {
        node->end++;
        tails--;
    }
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

/* The translation has no word for it: it stays as it was. */
static void keep(struct placer *placer, struct node *node) {
    take_point(placer, node);
    set_point_byte(placer, node);
    node->unit = node->kept = true;
}

/* Words [first,end) are the node's, and so are its bytes. */
static void give(struct placer *placer, size_t index) {
    struct node *node = &placer->nodes[index], *parent = &placer->nodes[node->parent];
    for (size_t word = node->first; word < node->end; word++) {
        if (placer->owner[word] != node->parent) /* a part of it is a sibling's */
            continue;
        placer->owner[word] = index;
        node->free += placer->spoken[word];
        parent->free -= placer->spoken[word];
    }
    for (size_t at = node->begin; at < node->behind; at++)
        placer->covers[at] = (uint32_t)index;
}

/* A mark that is shown in the sentence takes the place of what it became, if that is one word, and of none that is more than a mark
 * but for "&". */
static bool suits(const struct placer *placer, struct node *node) {
    const char *shown = placer->segment->text + node->source.begin;
    size_t length = node->source.end - node->source.begin;
    if (!node->unit || length == 0 || has_word(placer->segment->text, node->source))
        return true;
    node->end = node->first + 1;
    return !placer->spoken[node->first] || (length == 1 && *shown == '&');
}

/* The words that it needs, and their bytes. False: there are none. */
static bool take(struct placer *placer, struct node *node, size_t most) {
    bool found = take_all(placer, node) || take_copy(placer, node) || (take_run(placer, node) && suits(placer, node));
    if (!found && (node->need > 0 || node->unit) && take_text(placer, node))
        return true;
    if (!found && node->need > 0)
        found = take_nearest(placer, node);
    if (!found)
        return false;
    if (node->need > 0) {
        fit(placer, node, most);
        if (count_spoken(placer, node->first, node->end) == 0 && (!take_nearest(placer, node)))
            return false;
        take_signs(placer, node);
    }
    set_bytes(placer, node);
    return true;
}

static void place(struct placer *placer, size_t index) {
    struct node *node = &placer->nodes[index], *parent = &placer->nodes[node->parent];
    if (parent->kept) {
        node->kept = true;
        return;
    }
    parent->owed -= node->need;
    size_t left = parent->free > parent->owed ? parent->free - parent->owed : 0;
    if (take(placer, node, left > node->need ? left : node->need)) {
        give(placer, index);
    } else if (node->need > 0) {
        keep(placer, node);
    } else {
        take_point(placer, node);
        set_point_byte(placer, node);
    }
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
    const char *text = placer->translation->text;
    if (take_words(placer, arena) != 0)
        return -1;
    placer->owner = arena_zalloc(arena, placer->word_count, sizeof *placer->owner);
    placer->spoken = arena_alloc(arena, placer->word_count, sizeof *placer->spoken);
    placer->covers = arena_zalloc(arena, placer->translation->length, sizeof *placer->covers);
    if (arena_failed(arena))
        return -1;
    for (size_t i = 0; i < placer->word_count; i++)
        placer->spoken[i] = has_word(text, placer->words[i]);
    return find_links(placer, arena) == 0 && find_nodes(placer, arena) == 0 ? 0 : -1;
}

int html_place(struct placer *placer, struct arena *arena) {
    if (placer_prepare(placer, arena) != 0)
        return -1;
    struct node *all = &placer->nodes[0];
    all->end = placer->word_count;
    all->behind = placer->translation->length;
    all->free = count_spoken(placer, 0, placer->word_count);
    if (html_place_parts(placer, arena) != 0)
        return -1;
    for (size_t i = 1; i < placer->count; i++) {
        struct node *node = &placer->nodes[i];
        if (!node->part) {
            place(placer, i);
            continue;
        }
        node->free = count_spoken(placer, node->first, node->end);
        for (size_t at = node->begin; at < node->behind; at++)
            placer->covers[at] = (uint32_t)i;
    }
    return 0;
}
