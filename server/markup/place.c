/* This file hides where the inline elements of a segment go in its translation.
 *
 * Each element becomes a node with a range of words of the translation: the densest run of words
 * that are linked to its own, belong to its parent and were not taken by a sibling, so that nodes
 * nest. An element that had words always gets some: words that are unchanged in the translation, or
 * else the word nearest to the expected place. If its parent has no words left, the element stays
 * whole, in the source language. A node that had no words (a comment, an image, an empty element)
 * goes after the translation of the preceding word.
 *
 * The translation of a segment with parts is cut where the fewest words end up in another part than
 * their source words. Of several such cuts, those that best keep the relative lengths of the parts
 * are taken. */
#include "server/markup/place.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    MAX_GAP = 8, /* the most words with other links between two words of a run */
    MAX_FAR =
        256, /* the distance from its point, in words, within which a node may take a free word */
    COPY_WINDOW = 1024, /* words among which a unit's copy is looked for */
    NEAR = 2,       /* the distance within which an unlinked word is preferred to a linked one */
    MAX_COPY = 128, /* bytes of an element that may stand in the translation as they are */
    MAX_COPY_FAR = 1024, /* bytes away from its point */
    MAX_COPIES = 16,     /* the number of these places that are examined */
    MOST_CHUNK = 64,     /* bytes without white space that are looked at on either side of a unit */
    MAX_SIGNS = 3,       /* punctuation marks at either end of an element */
    MOST_CUTS = 1 << 19  /* parts x words: 2 MiB and some milliseconds */
};

struct placer {
    const struct markup *markup;
    const struct markup_segment *segment;
    const struct markup_translation *translation;
    const struct span *words; /* [word_count] of the translation */
    size_t word_count;
    size_t *owner;     /* [word_count] the innermost node that has the word so far */
    size_t *link_word; /* [link_count] the word of each link's target */
    bool *linked;      /* [word_count] */
    bool *spoken;      /* [word_count] the word has more than punctuation */
    uint32_t *covers;  /* [translation->length] the innermost node around each byte */
    struct place_node
        *nodes; /* [count] in the order of their start tags; the first is the whole segment */
    size_t count;
    size_t *candidates; /* [link_count] */
};

/* ---- words ---- */

static size_t find_words(const char *text, size_t length, struct span *words) {
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        size_t begin = at;
        if (character_is_space(character_next(text, length, &at)))
            continue;
        while (at < length && !bytes_space_at(text, length, at))
            character_next(text, length, &at);
        if (words)
            words[count] = (struct span){begin, at};
        count++;
    }
    return count;
}

/* Returns the word at this byte, or else the next, or word_count. */
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

static bool has_word(const char *text, struct span span) {
    for (size_t at = span.begin; at < span.end;) {
        int32_t c = character_next(text, span.end, &at);
        if (!character_is_space(c) && !character_is_punctuation(c))
            return true;
    }
    return false;
}

static size_t count_spoken(const struct placer *placer, size_t first, size_t end) {
    size_t count = 0;
    for (size_t word = first; word < end; word++)
        count += placer->spoken[word];
    return count;
}

static int compare_links(const void *a, const void *b) {
    const struct markup_link *x = a, *y = b;
    if (x->source.begin != y->source.begin)
        return x->source.begin < y->source.begin ? -1 : 1;
    return x->target.begin < y->target.begin ? -1 : x->target.begin > y->target.begin;
}

/* Returns the first link whose source ends after this byte. Sources are words, so sorting by begin
 * also sorts by end. */
static size_t link_after(const struct placer *placer, size_t byte) {
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

/* ---- nodes ---- */

static bool is_word_before(const char *text, size_t at) {
    return at > 0 && character_is_letter(character_previous(text, &at));
}

static bool is_word_after(const char *text, size_t length, size_t at) {
    return at < length && character_is_letter(character_next(text, length, &at));
}

static size_t add_node(struct placer *placer, size_t piece, size_t end_piece, size_t parent,
                       size_t begin, size_t end) {
    const struct markup_segment *segment = placer->segment;
    const struct span *around = &placer->nodes[parent].source;
    struct span inner = segmenter_trim(segment->text + begin, end - begin);
    placer->nodes[placer->count] = (struct place_node){
        .piece = piece,
        .end_piece = end_piece,
        .parent = parent,
        .source = {begin + inner.begin, begin + inner.end},
        .last = parent > 0 && end >= around->end,
        .space_before = begin > around->begin && segment->text[begin - 1] == ' ',
        .space_after = end < around->end && segment->text[end] == ' ',
        .word_before = is_word_before(segment->text, begin),
        .word_after = is_word_after(segment->text, segment->length, end)};
    return placer->count++;
}

static void set_edges(struct place_node *node, const struct piece *pieces, size_t end) {
    size_t after = node->end_piece + 1;
    while (after < end && (pieces[after].kind == PIECE_OPEN || pieces[after].kind == PIECE_CLOSE))
        after++;
    node->inner_head = piece_has_space(&pieces[node->piece + 1], true);
    node->inner_tail = piece_has_space(&pieces[node->end_piece - 1], false);
    node->outer_tail = after < end && piece_has_space(&pieces[after], true);
}

/* Collects the words of the translation, its links, and the nodes of the segment. */
static int prepare(struct placer *placer, struct arena *arena) {
    const struct markup_translation *translation = placer->translation;
    const struct markup_segment *segment = placer->segment;
    const struct piece *pieces = placer->markup->pieces;
    size_t parent = 0;
    placer->words = translation->words;
    placer->word_count = translation->word_count;
    if (!placer->words) {
        placer->word_count = find_words(translation->text, translation->length, NULL);
        struct span *words = arena_alloc(arena, placer->word_count, sizeof *words);
        if (!words)
            return -1;
        find_words(translation->text, translation->length, words);
        placer->words = words;
    }
    placer->owner = arena_zalloc(arena, placer->word_count, sizeof *placer->owner);
    placer->spoken = arena_alloc(arena, placer->word_count, sizeof *placer->spoken);
    placer->covers = arena_zalloc(arena, translation->length, sizeof *placer->covers);
    placer->link_word = arena_alloc(arena, translation->link_count, sizeof *placer->link_word);
    placer->candidates = arena_alloc(arena, translation->link_count, sizeof *placer->candidates);
    placer->linked = arena_zalloc(arena, placer->word_count + 1, sizeof *placer->linked);
    placer->nodes = arena_alloc(arena, segment->end - segment->first + 1, sizeof *placer->nodes);
    if (arena_failed(arena))
        return -1;
    for (size_t i = 0; i < placer->word_count; i++)
        placer->spoken[i] = has_word(translation->text, placer->words[i]);
    if (translation->link_count > 0)
        qsort(translation->links, translation->link_count, sizeof *translation->links,
              compare_links);
    for (size_t i = 0; i < translation->link_count; i++) {
        placer->link_word[i] = word_at(placer, translation->links[i].target.begin);
        placer->linked[placer->link_word[i]] = true;
    }

    add_node(placer, segment->first, segment->end, 0, 0, segment->length);
    for (size_t i = segment->first; i < segment->end; i++) {
        const struct piece *piece = &pieces[i];
        if (piece->kind == PIECE_UNIT || piece->opaque) {
            size_t end = piece->opaque ? piece->pair : i;
            placer->nodes[add_node(placer, i, end, parent, piece->begin, piece->end)].unit = true;
            i = end;
        } else if (piece->kind == PIECE_OPEN) {
            parent =
                add_node(placer, i, piece->pair, parent, piece->begin, pieces[piece->pair].begin);
            placer->nodes[parent].part = piece->part;
            if (!piece->part)
                set_edges(&placer->nodes[parent], pieces, segment->end);
        } else if (piece->kind == PIECE_CLOSE) {
            parent = placer->nodes[parent].parent;
        } else if (piece->kind == PIECE_TEXT &&
                   has_word(segment->text, (struct span){piece->begin, piece->end})) {
            placer->nodes[parent].need = 1;
        }
    }
    for (size_t i = placer->count; i-- > 1;) { /* a node comes after its parent */
        struct place_node *node = &placer->nodes[i];
        if (node->need < node->owed)
            node->need = node->owed;
        placer->nodes[node->parent].owed += node->need;
    }
    return 0;
}

/* ---- parts ---- */

static const double balance =
    0.25; /* cost, in misplaced words, of a cut that is off by the length of a part */
static const double at_mark =
    0.125; /* saving, in misplaced words, of a cut after a punctuation mark */
static const size_t no_part = SIZE_MAX; /* part_of an unlinked word, which costs nothing */

struct cutter {
    struct placer *placer;
    size_t *parts; /* [count] nodes */
    size_t count;
    size_t *part_of; /* [word_count] the part in which the word's source was */
    bool *open;      /* [word_count + 1] a cut before this word is possible */
    size_t least;    /* minimum of words in a part */
    double
        *before;  /* [word_count + 1] the cost of the earlier parts, if they end before this word */
    double *cost; /* [word_count + 1] like `before`, including the part that is being added */
    uint32_t
        *back; /* [count, word_count + 1] the first word of the part that ends before this word */
};

/* Returns the end that the part would have if parts had the same shares of the translation as of
 * the source. */
static double wanted_end(const struct cutter *cutter, size_t part) {
    const struct placer *placer = cutter->placer;
    double length = (double)placer->translation->length, source = (double)placer->segment->length;
    return length * (double)placer->nodes[cutter->parts[part]].source.end / source;
}

static double misplaced(const struct cutter *cutter, size_t word, size_t part) {
    size_t own = cutter->part_of[word];
    return own == no_part ? 0 : fabs((double)own - (double)part);
}

/* Finds the best start of the part for each of its possible ends: one step of the search for the
 * cheapest cuts. */
static void add_part(struct cutter *cutter, size_t part) {
    const struct placer *placer = cutter->placer;
    size_t count = placer->word_count, best_begin = 0;
    uint32_t *back = cutter->back + part * (count + 1);
    double best = DBL_MAX, inside = 0, inside_begin = 0, wanted = wanted_end(cutter, part);
    for (size_t end = 0, begin = 0; end <= count; end++) {
        inside += end > 0 ? misplaced(cutter, end - 1, part) : 0;
        for (; begin + cutter->least <= end; begin++) {
            if (cutter->before[begin] < DBL_MAX && cutter->before[begin] - inside_begin < best) {
                best = cutter->before[begin] - inside_begin;
                best_begin = begin;
            }
            inside_begin += begin < count ? misplaced(cutter, begin, part) : 0;
        }
        back[end] = (uint32_t)best_begin;
        cutter->cost[end] = DBL_MAX;
        if (best == DBL_MAX || !cutter->open[end])
            continue;
        size_t at = end > 0 ? placer->words[end - 1].end : 0;
        double off = fabs((double)at - wanted) * (double)cutter->count /
                     ((double)placer->translation->length + 1);
        bool mark =
            at > 0 && character_is_punctuation(character_previous(placer->translation->text, &at));
        cutter->cost[end] = best + inside + (balance * off - (mark ? at_mark : 0));
    }
}

/* Gives words [first,end) to a part. */
static void give_part(struct cutter *cutter, size_t part, size_t first, size_t end) {
    struct place_node *node = &cutter->placer->nodes[cutter->parts[part]];
    node->first = first;
    node->end = end;
    for (size_t word = first; word < end; word++)
        cutter->placer->owner[word] = cutter->parts[part];
}

/* Finds the cheapest cuts by dynamic programming. Returns -1 if memory runs out. */
static int cut_by_links(struct cutter *cutter, struct arena *arena) {
    const struct placer *placer = cutter->placer;
    const struct markup_translation *translation = placer->translation;
    size_t words = placer->word_count, cuts = 0;
    cutter->part_of = arena_alloc(arena, words, sizeof *cutter->part_of);
    cutter->open = arena_zalloc(arena, words + 1, sizeof *cutter->open);
    cutter->cost = arena_alloc(arena, words + 1, sizeof *cutter->cost);
    cutter->before = arena_alloc(arena, words + 1, sizeof *cutter->before);
    cutter->back = arena_alloc(arena, cutter->count, (words + 1) * sizeof *cutter->back);
    if (arena_failed(arena))
        return -1;

    /* Find the part of each word's source. */
    for (size_t i = 0; i < words; i++)
        cutter->part_of[i] = no_part;
    for (size_t i = 0; i < translation->link_count; i++) {
        size_t low = 0, high = cutter->count;
        while (high - low > 1) {
            size_t middle = (low + high) / 2;
            if (placer->nodes[cutter->parts[middle]].source.begin <=
                translation->links[i].source.begin)
                low = middle;
            else
                high = middle;
        }
        if (placer->link_word[i] < words)
            cutter->part_of[placer->link_word[i]] = low;
    }

    /* A cut needs white space between two words; French has it before its tall punctuation marks
     * and closing guillemets, too. */
    for (size_t word = 1; word < words; word++) {
        size_t before = placer->words[word - 1].end, at = placer->words[word].begin;
        cutter->open[word] = before < at && !strchr("?!:;,.%)", translation->text[at]) &&
                             character_next(translation->text, translation->length, &at) != 0xbb;
        cuts += cutter->open[word];
    }
    cutter->open[0] = cutter->open[words] = true;
    cutter->least = cuts + 1 >= cutter->count; /* parts are empty only if there are too few words */

    for (size_t word = 0; word <= words; word++)
        cutter->cost[word] = word == 0 ? 0 : DBL_MAX;
    for (size_t part = 0; part < cutter->count; part++) {
        double *before = cutter->before;
        cutter->before = cutter->cost;
        cutter->cost = before;
        add_part(cutter, part);
    }
    for (size_t part = cutter->count, end = words; part-- > 0;) {
        size_t begin = cutter->back[part * (words + 1) + end];
        give_part(cutter, part, begin, end);
        end = begin;
    }
    return 0;
}

/* Divides all words among the parts of the segment, if it has any. Returns -1 if memory runs out.
 */
static int place_parts(struct placer *placer, struct arena *arena) {
    struct cutter cutter = {.placer = placer,
                            .parts = arena_alloc(arena, placer->count, sizeof *cutter.parts)};
    if (!cutter.parts)
        return -1;
    for (size_t i = 1; i < placer->count; i++)
        if (placer->nodes[i].part)
            cutter.parts[cutter.count++] = i;
    if (cutter.count == 0)
        return 0;
    bool many = cutter.count >
                MOST_CUTS / (placer->word_count + 1); /* too many parts and words to try all cuts */
    if (!many && cut_by_links(&cutter, arena) != 0)
        return -1;
    for (size_t part = 0, first = 0, last = 0; many && part < cutter.count; part++, first = last) {
        double wanted = part + 1 < cutter.count ? wanted_end(&cutter, part) : DBL_MAX;
        while (last < placer->word_count && (double)placer->words[last].begin < wanted)
            last++;
        give_part(&cutter, part, first, last);
    }

    /* Parts get all bytes except the white space between them, so that an emoji, for example, is
     * not lost. */
    const struct markup_translation *translation = placer->translation;
    size_t at = 0, end = segmenter_trim(translation->text, translation->length).end;
    for (size_t i = 0; i < cutter.count; i++) {
        struct place_node *part = &placer->nodes[cutter.parts[i]];
        while (at < end && bytes_space_at(translation->text, end, at))
            character_next(translation->text, end, &at);
        size_t past = part->first < part->end ? placer->words[part->end - 1].end : at;
        part->begin = at;
        part->past = at = i + 1 < cutter.count ? past : end;
    }
    return 0;
}

/* ---- where a node may go ---- */

/* Returns the word before which a node without words goes. */
static size_t find_point(const struct placer *placer, const struct place_node *node) {
    const struct place_node *parent = &placer->nodes[node->parent];
    if (node->source.begin <= parent->source.begin)
        return parent->first;
    if (node->source.end >= parent->source.end)
        return parent->end;
    size_t next = link_after(placer, node->source.begin), count = placer->translation->link_count;
    size_t point = next > 0 ? placer->link_word[next - 1] + 1
                   : next < count
                       ? placer->link_word[next]
                       : placer->word_count * node->source.begin / (placer->segment->length + 1);
    return point < parent->first ? parent->first : point > parent->end ? parent->end : point;
}

static bool is_free(const struct placer *placer, const struct place_node *node, size_t word) {
    const struct place_node *parent = &placer->nodes[node->parent];
    return word >= parent->first && word < parent->end && placer->owner[word] == node->parent;
}

static bool is_letter(int32_t c) {
    return c >= 0 && !character_is_space(c) && !character_is_punctuation(c);
}

/* True for what names of programs consist of, too: require_relative is one word. */
static bool is_of_word(int32_t c) {
    return c == '_' || is_letter(c);
}

/* True if the place is between two letters. */
static bool cuts_word(const char *text, size_t length, size_t at) {
    size_t before = at, past = at;
    return at > 0 && at < length && is_of_word(character_previous(text, &before)) &&
           is_of_word(character_next(text, length, &past));
}

/* True if bytes [begin,end) of the translation begin or end within a word only where the node does
 * in the source. */
static bool cuts_alike(const struct placer *placer, const struct place_node *node, size_t begin,
                       size_t end) {
    const struct markup_translation *translation = placer->translation;
    const struct markup_segment *segment = placer->segment;
    return (!cuts_word(translation->text, translation->length, begin) ||
            cuts_word(segment->text, segment->length, node->source.begin)) &&
           (!cuts_word(translation->text, translation->length, end) ||
            cuts_word(segment->text, segment->length, node->source.end));
}

/* True if the word begins with what represents the unit, and not with other letters after it. */
static bool is_copy(const struct placer *placer, const struct place_node *node, size_t word) {
    size_t length = node->source.end - node->source.begin, begin = placer->words[word].begin;
    return placer->owner[word] == node->parent && placer->words[word].end - begin >= length &&
           memcmp(placer->translation->text + begin, placer->segment->text + node->source.begin,
                  length) == 0 &&
           cuts_alike(placer, node, begin, begin + length);
}

/* Returns how many units from this one on, which have the same parent, are represented by the same
 * text, of as many as could have a copy in the window. */
static size_t count_alike(const struct placer *placer, const struct place_node *node) {
    const char *text = placer->segment->text;
    const struct place_node *end = placer->nodes + placer->count;
    size_t length = node->source.end - node->source.begin, count = 0;
    if (end - node > COPY_WINDOW)
        end = node + COPY_WINDOW;
    for (const struct place_node *other = node; other < end; other++)
        count += other->unit && other->parent == node->parent &&
                 other->source.end - other->source.begin == length &&
                 memcmp(text + other->source.begin, text + node->source.begin, length) == 0;
    return count;
}

/* Takes the word that represents a unit, if the translation has it unchanged: the first, since
 * units alike keep their order, or the one nearest to the expected place if there are more than
 * units, because the text has the same word beside them. In a long text it is looked for around the
 * expected place, so that many units take linear time. */
static bool take_copy(const struct placer *placer, struct place_node *node) {
    const struct place_node *parent = &placer->nodes[node->parent];
    size_t copies = 0, first = 0, nearest = 0;
    if (!node->unit || node->source.begin == node->source.end)
        return false;
    size_t point = find_point(placer, node), from = parent->first, to = parent->end;
    if (to - from > COPY_WINDOW) {
        from = point - from > COPY_WINDOW / 2 ? point - COPY_WINDOW / 2 : from;
        to = to - from > COPY_WINDOW ? from + COPY_WINDOW : to;
    }
    for (size_t i = from; i < to; i++) {
        if (!is_copy(placer, node, i))
            continue;
        first = copies == 0 ? i : first;
        nearest = copies == 0 || (i < point ? point - i : i - point) <
                                     (nearest < point ? point - nearest : nearest - point)
                      ? i
                      : nearest;
        copies++;
    }
    if (copies == 0)
        return false;
    node->first =
        copies > 1 && placer->translation->link_count > 0 && copies > count_alike(placer, node)
            ? nearest
            : first;
    node->end = node->first + 1;
    return true;
}

static int compare_sizes(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Takes the run with the most words of the translation that are linked to the node's words and
 * still belong to its parent, minus the words of others in between. */
static bool take_run(struct placer *placer, struct place_node *node) {
    const struct markup_translation *translation = placer->translation;
    size_t *candidates = placer->candidates, linked = 0, count = 0, begin = 0,
           length = node->source.end - node->source.begin;
    long score = 0, best = 0;
    if (length == 0) /* a node within a word does not take it */
        return false;
    for (size_t i = link_after(placer, node->source.begin);
         i < translation->link_count && translation->links[i].source.begin < node->source.end;
         i++) {
        size_t word = placer->link_word[i];
        if (word < placer->word_count && placer->owner[word] == node->parent)
            candidates[linked++] = word;
    }
    qsort(candidates, linked, sizeof *candidates, compare_sizes);
    for (size_t i = 0; i < linked; i++) /* keep each word once */
        if (count == 0 || candidates[count - 1] != candidates[i])
            candidates[count++] = candidates[i];

    for (size_t i = 0; i < count; i++) {
        size_t gap = 0,
               before = i > begin
                            ? candidates[i - 1]
                            : candidates[i]; /* a word that is not the parent's ends the run */
        for (size_t word = before + 1; word < candidates[i] && gap <= MAX_GAP; word++)
            gap = placer->owner[word] != node->parent || word - before > 2 * MAX_GAP
                      ? MAX_GAP + 1
                      : gap + placer->linked[word];
        if (i > begin && (gap > MAX_GAP || (long)gap >= score)) {
            begin = i;
            score = 0;
        } else {
            score -= (long)gap;
        }
        if (++score > best) {
            best = score;
            node->first = candidates[begin];
            node->end = candidates[i] + 1;
        }
    }

    /* A mark that is shown in the sentence replaces one word of the translation: punctuation, or
     * any word if the mark is "&". */
    if (best == 0 || !node->unit || has_word(placer->segment->text, node->source))
        return best > 0;
    node->end = node->first + 1;
    return !placer->spoken[node->first] ||
           (length == 1 && placer->segment->text[node->source.begin] == '&');
}

/* Takes a name or a part of a word that is unchanged in the translation, near the expected place of
 * the node. */
static bool take_text(struct placer *placer, struct place_node *node) {
    const char *source = placer->segment->text, *text = placer->translation->text;
    const struct place_node *parent = &placer->nodes[node->parent];
    size_t length = node->source.end - node->source.begin, point = find_point(placer, node);
    size_t center =
        point < placer->word_count ? placer->words[point].begin : placer->translation->length;
    size_t begin = center > parent->begin + MAX_COPY_FAR ? center - MAX_COPY_FAR : parent->begin;
    size_t end = parent->past > center + MAX_COPY_FAR ? center + MAX_COPY_FAR : parent->past;
    if (length == 0 || length > MAX_COPY)
        return false;
    for (size_t i = 0; i < MAX_COPIES && begin < end; i++) {
        const char *found = memmem(text + begin, end - begin, source + node->source.begin, length);
        if (!found)
            return false;
        size_t at = (size_t)(found - text), free = at;
        while (free < at + length && placer->covers[free] == node->parent)
            free++;
        if (free == at + length && cuts_alike(placer, node, at, at + length)) {
            node->begin = at;
            node->past = at + length;
            node->first = node->end = word_at(placer, at);
            while (node->end < parent->end && placer->words[node->end].begin < node->past)
                node->end++;
            return true;
        }
        begin = at + 1;
    }
    return false;
}

/* Takes the free word nearest to the expected place of the node; within NEAR, an unlinked word is
 * preferred. */
static bool take_nearest(const struct placer *placer, struct place_node *node) {
    size_t point = find_point(placer, node);
    for (size_t wanted = 0; wanted < 2; wanted++) {
        for (size_t far = 0; far < (wanted == 0 ? NEAR : MAX_FAR); far++) {
            size_t both[] = {point + far, point - far - 1};
            for (size_t i = 0; i < (far < point ? 2 : 1); i++) {
                if (!is_free(placer, node, both[i]) || !placer->spoken[both[i]] ||
                    (wanted == 0 && placer->linked[both[i]]))
                    continue;
                node->first = both[i];
                node->end = both[i] + 1;
                return true;
            }
        }
    }
    return false;
}

/* ---- which of its words and bytes a node takes ---- */

static bool is_quotation_mark(int32_t c) {
    return character_is_among(c,
                              L"\"'\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a");
}

/* True if the word is free and is this mark of the source; quotation marks differ between
 * languages, so any of them counts. */
static bool is_sign(const struct placer *placer, const struct place_node *node, size_t word,
                    int32_t sign) {
    if (!is_free(placer, node, word) || placer->spoken[word])
        return false;
    size_t at = placer->words[word].begin;
    int32_t c = character_next(placer->translation->text, placer->words[word].end, &at);
    return at == placer->words[word].end &&
           (c == sign || (is_quotation_mark(c) && is_quotation_mark(sign)));
}

static bool is_punctuation_at(const char *text, size_t length, size_t at) {
    return at < length && character_is_punctuation(character_next(text, length, &at));
}

/* True if a character may be cut off the ends of a node: white space, and punctuation except a sign
 * that the node has in the source, at whatever end: $5 is "5 $" in French. */
static bool is_foreign(const struct placer *placer, const struct place_node *node, int32_t c) {
    const char *source = placer->segment->text;
    if (character_is_space(c) || (character_is_mark(c) && !character_is_among(c, L"%\u2030")))
        return true;
    for (size_t at = node->source.begin; at < node->source.end;)
        if (character_next(source, node->source.end, &at) == c)
            return false;
    return character_is_punctuation(c);
}

static void set_bytes(const struct placer *placer, struct place_node *node) {
    const char *text = placer->translation->text, *source = placer->segment->text;
    const struct span *word = &placer->words[node->first];
    size_t begin = word->begin, end = placer->words[node->end - 1].end, at = node->source.end;

    /* The node may be part of a word that was copied unchanged: the 2 of H2O, or Tom of Tom's. A
     * whole word is not part of another.
     */
    size_t length = node->source.end - node->source.begin;
    bool one = node->end == node->first + 1 && length > 0;
    for (size_t i = 0, from = begin; one && i < MAX_COPIES; i++) {
        const char *found =
            memmem(text + from, word->end - from, source + node->source.begin, length);
        if (!found)
            break;
        from = (size_t)(found - text);
        if (cuts_alike(placer, node, from, from + length)) {
            node->begin = from;
            node->past = from + length;
            return;
        }
        from++;
    }

    /* Otherwise the node gets the bytes of its words, without punctuation at either end that its
     * source does not have. */
    bool inner_head = !is_punctuation_at(source, node->source.end, node->source.begin);
    bool inner_tail =
        at > node->source.begin && !character_is_punctuation(character_previous(source, &at));
    for (at = begin;
         inner_head && at < end && is_foreign(placer, node, character_next(text, end, &at));)
        begin = at;
    for (at = end; inner_tail && at > begin; end = at) {
        int32_t last = character_previous(text, &at);
        size_t before = at;
        bool elision = (last == '\'' || last == 0x2019) &&
                       at > placer->words[node->end - 1].begin && /* J' */
                       is_letter(character_previous(text, &before));
        if (!is_foreign(placer, node, last) || elision)
            break;
    }
    bool all = begin >= end; /* there is only punctuation */
    node->begin = all ? word->begin : begin;
    node->past = all ? placer->words[node->end - 1].end : end;
}

/* Returns how far the chunk of characters without white space reaches from a byte: forward, or
 * back, at most MOST_CHUNK bytes. *spoken: there is a letter or a digit of a script with spaces. */
static size_t find_reach(const char *text, size_t length, size_t at, bool forward, bool *spoken) {
    size_t begin = at, next = at;
    *spoken = false;
    while (forward ? at < length && at - begin < MOST_CHUNK : at > 0 && begin - at < MOST_CHUNK) {
        int32_t c = forward ? character_next(text, length, &next) : character_previous(text, &next);
        if (character_is_space(c))
            break;
        *spoken |= character_is_spaced(c);
        at = next;
    }
    return at;
}

/* True if the place is within a word, a number or a date. *end: the end of that. */
static bool is_within(const char *text, size_t length, size_t at, size_t *end) {
    bool before, after;
    find_reach(text, length, at, false, &before);
    *end = find_reach(text, length, at, true, &after);
    return before && after;
}

/* Returns the end of the marks that follow a word directly, before white space or the end; else,
 * the place itself. */
static size_t skip_marks(const char *text, size_t length, size_t place) {
    size_t before = place, at = place, next = place;
    if (place == 0 || character_is_space(character_previous(text, &before)))
        return place;
    while (at < length && character_is_punctuation(character_next(text, length, &next)))
        at = next;
    return at == length || bytes_space_at(text, length, at) ? at : place;
}

/* Moves a unit that is about to be placed within a word after that word, unless it was within one
 * in the source. White space that replaces white space moves to the next of it, and after marks. */
static void leave_word(const struct placer *placer, struct place_node *node) {
    const char *text = placer->translation->text, *source = placer->segment->text;
    const struct place_node *parent = &placer->nodes[node->parent];
    size_t end, unused, past = node->begin;
    bool blank = placer->markup->pieces[node->piece].blank;
    if (blank && node->begin < parent->past) {
        end = skip_marks(text, parent->past, node->begin);
        node->begin = node->past = end;
    }
    if (!is_within(text, placer->translation->length, node->begin, &end) ||
        node->begin == parent->past ||
        (!blank && is_within(source, placer->segment->length, node->source.begin, &unused)))
        return;
    while (end > past && !blank && !is_word_before(text, end))
        character_previous(text, &end);
    node->begin = node->past = end < parent->past ? end : parent->past;
}

/* ---- nodes in their places ---- */

/* Takes the words that the node needs, and their bytes. Returns false if there are none. */
static bool take(struct placer *placer, struct place_node *node, size_t most) {
    const struct place_node *parent = &placer->nodes[node->parent];
    bool found = !node->unit && node->source.begin == parent->source.begin &&
                 node->source.end == parent->source.end && parent->first < parent->end &&
                 placer->owner[parent->first] == node->parent &&
                 placer->owner[parent->end - 1] == node->parent;
    if (found) { /* the element surrounds the whole content of its parent */
        node->first = parent->first;
        node->end = parent->end;
    }
    found = found || take_copy(placer, node) || take_run(placer, node);
    if (!found && (node->need > 0 || node->unit) && take_text(placer, node))
        return true;
    if (!found && (node->need == 0 || !take_nearest(placer, node)))
        return false;
    if (node->need == 0) {
        set_bytes(placer, node);
        return true;
    }

    /* The node gets as many words as it needs, but leaves its siblings the words that they need. */
    size_t count = count_spoken(placer, node->first, node->end);
    while (count > most && node->end > node->first)
        count -= placer->spoken[--node->end];
    while (count < node->need && is_free(placer, node, node->end))
        count += placer->spoken[node->end++];
    while (count < node->need && node->first > 0 && is_free(placer, node, node->first - 1))
        count += placer->spoken[--node->first];
    if (count == 0 && !take_nearest(placer, node))
        return false;

    /* Marks at both ends of an element stay in it: the # of a hashtag, brackets, a final
     * exclamation mark. */
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
    for (; heads > 0 && node->first > 0 && is_sign(placer, node, node->first - 1, head[heads - 1]);
         heads--)
        node->first--;
    for (; tails > 0 && is_sign(placer, node, node->end, tail[tails - 1]); tails--)
        node->end++;
    set_bytes(placer, node);
    return true;
}

/* The nodes of a segment that markup_is_placed does not hold for: all, and perhaps the one part,
 * which has all of the translation. They need none of its words. */
static int list_bare(struct placer *placer, struct arena *arena) {
    enum { MOST = 2 };
    const struct markup_segment *segment = placer->segment;
    const struct markup_translation *translation = placer->translation;
    placer->nodes = arena_alloc(arena, MOST, sizeof *placer->nodes);
    if (!placer->nodes)
        return -1;
    add_node(placer, segment->first, segment->end, 0, 0, segment->length);
    placer->nodes[0].past = translation->length;
    for (size_t i = segment->first; i < segment->end; i++) {
        const struct piece *piece = &placer->markup->pieces[i];
        if (piece->kind != PIECE_OPEN)
            continue;
        struct span all = segmenter_trim(translation->text, translation->length);
        struct place_node *part = &placer->nodes[add_node(
            placer, i, piece->pair, 0, piece->begin, placer->markup->pieces[piece->pair].begin)];
        part->part = piece->part;
        part->begin = all.begin;
        part->past = all.end;
    }
    return 0;
}

/* Lists the nodes whose places the translation gives. */
static int list_given(struct placer *placer, struct arena *arena) {
    const struct markup_segment *segment = placer->segment;
    const struct markup_translation *translation = placer->translation;
    const struct piece *pieces = placer->markup->pieces;
    placer->nodes = arena_alloc(arena, translation->placed_count + 1, sizeof *placer->nodes);
    if (!placer->nodes)
        return -1;
    add_node(placer, segment->first, segment->end, 0, 0, segment->length);
    placer->nodes[0].past = translation->length;
    for (size_t i = 0; i < translation->placed_count; i++) {
        const struct markup_placed *placed = &translation->placed[i];
        const struct piece *piece = &pieces[placed->piece];
        bool unit = piece->kind == PIECE_UNIT || piece->opaque;
        placer->nodes[placer->count++] = (struct place_node){
            .piece = placed->piece,
            .end_piece = piece->kind == PIECE_UNIT ? placed->piece : piece->pair,
            .parent = placed->parent,
            .end = unit,
            .begin = placed->begin,
            .past = placed->past,
            .given = true,
            .unit = unit,
            .part = piece->part};
    }
    return 0;
}

size_t place_elements(const struct markup *markup, const struct markup_segment *segment,
                      const struct markup_translation *translation, struct arena *arena,
                      struct place_node **nodes) {
    struct placer placer = {.markup = markup, .segment = segment, .translation = translation};
    if (translation->placed) {
        if (list_given(&placer, arena) != 0)
            return 0;
        *nodes = placer.nodes;
        return placer.count;
    }
    if (!markup_is_placed(markup, segment)) {
        if (list_bare(&placer, arena) != 0)
            return 0;
        *nodes = placer.nodes;
        return placer.count;
    }
    if (prepare(&placer, arena) != 0)
        return 0;
    struct place_node *all = &placer.nodes[0];
    all->end = placer.word_count;
    all->past = translation->length;
    all->free = count_spoken(&placer, 0, placer.word_count);
    if (place_parts(&placer, arena) != 0)
        return 0;
    for (size_t i = 1; i < placer.count; i++) {
        struct place_node *node = &placer.nodes[i], *parent = &placer.nodes[node->parent];
        if (node->part) {
            node->free = count_spoken(&placer, node->first, node->end);
        } else if (parent->kept) {
            node->kept = true;
            continue;
        } else {
            parent->owed -= node->need;
            size_t left = parent->free > parent->owed ? parent->free - parent->owed : 0;
            if (!take(&placer, node, left > node->need ? left : node->need)) {
                /* The node goes between two words, next to the word that its source touched. */
                size_t point = find_point(&placer, node);
                const struct piece *piece = &markup->pieces[node->piece];
                if (point > 0 && point == placer.word_count && node->word_after &&
                    piece->length > 0 && ascii_among(*piece->raw, "_&"))
                    point--; /* the mark of a key, which a letter follows */
                else if (node->word_after && !node->word_before && !node->space_before &&
                         node->source.begin > 0 && point < placer.word_count &&
                         !placer.spoken[point])
                    point++; /* it stays after the opening quotation mark, which is by itself */
                node->first = node->end = point;
                size_t before = point > 0 ? placer.words[point - 1].end : 0;
                size_t past =
                    point < placer.word_count ? placer.words[point].begin : translation->length;
                bool leans_back = !node->space_before && node->source.begin > parent->source.begin;
                node->begin = node->past =
                    (leans_back && point > 0) || point == placer.word_count ? before : past;
                leave_word(&placer, node);
                if (node->need > 0) /* the translation has no word left for it */
                    node->unit = node->kept = true;
                continue;
            }
        }
        for (size_t word = node->first; word < node->end && !node->part; word++) {
            if (placer.owner[word] != node->parent) /* a sibling has a part of the word */
                continue;
            placer.owner[word] = i;
            node->free += placer.spoken[word];
            parent->free -= placer.spoken[word];
        }
        for (size_t at = node->begin; at < node->past; at++)
            placer.covers[at] = (uint32_t)i;
    }
    *nodes = placer.nodes;
    return placer.count;
}

bool markup_is_placed(const struct markup *markup, const struct markup_segment *segment) {
    size_t parts = 0;
    for (size_t i = segment->first; i < segment->end; i++) {
        const struct piece *piece = &markup->pieces[i];
        if (piece->kind == PIECE_UNIT ||
            (piece->kind == PIECE_OPEN && (!piece->part || ++parts > 1)))
            return true;
    }
    return false;
}
