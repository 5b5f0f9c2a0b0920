/* A translation is cut among the parts of its segment: the cuts that leave the fewest words in another part than the words that
 * they came from, and of those with equally many the ones that leave the parts about as long, beside each other, as they were. */
#include "server/markup/html_place.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const double balance = 0.25;     /* of a word in the wrong part: a cut that is off by the length of a part */
static const double at_mark = 0.125;    /* gained by a cut behind a punctuation mark */
static const size_t no_part = SIZE_MAX; /* of a word that is linked with nothing */

enum { MOST_CUTS = 1 << 19 }; /* parts x words: 2 MiB, and some milliseconds */

struct cutter {
    const struct placer *placer;
    size_t *parts; /* [count] nodes */
    size_t count;
    size_t *part_of; /* [word_count] where the word's own words stood */
    bool *open;      /* [word_count + 1] there may be a cut before this word */
    size_t least;    /* words of a part */
    double *before;  /* [word_count + 1] the cost of the parts before the one in hand, if they end before this word */
    double *cost;    /* the same with it */
    uint32_t *back;  /* [count, word_count + 1] where the part that ends there begins */
};

static size_t part_at(const struct cutter *cutter, size_t byte) {
    size_t low = 0, high = cutter->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (cutter->placer->nodes[cutter->parts[middle]].source.begin <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void find_words(struct cutter *cutter) {
    const struct html_translation *translation = cutter->placer->translation;
    for (size_t i = 0; i < cutter->placer->word_count; i++)
        cutter->part_of[i] = no_part;
    for (size_t i = 0; i < translation->link_count; i++) {
        size_t word = cutter->placer->link_word[i];
        if (word < cutter->placer->word_count)
            cutter->part_of[word] = part_at(cutter, translation->links[i].source.begin);
    }
}

/* Between words with white space between them; French has it before its tall marks, too. */
static bool is_open(const struct placer *placer, size_t word) {
    static const char closing[] = "?!:;,.%)";
    const char *text = placer->translation->text;
    size_t before = placer->words[word - 1].end, at = placer->words[word].begin;
    if (before >= at || strchr(closing, text[at]))
        return false;
    return character_next(text, placer->translation->length, &at) != 0xbb; /* a closing guillemet */
}

static void find_cuts(struct cutter *cutter) {
    size_t count = cutter->placer->word_count, cuts = 0;
    for (size_t word = 1; word < count; word++) {
        cutter->open[word] = is_open(cutter->placer, word);
        cuts += cutter->open[word];
    }
    cutter->open[0] = cutter->open[count] = true;
    cutter->least = cuts + 1 >= cutter->count; /* no part is empty that need not be */
}

/* Of a cut before this word, at the end of this part. */
static double cut_cost(const struct cutter *cutter, size_t part, size_t word) {
    const struct placer *placer = cutter->placer;
    double length = (double)placer->translation->length, source = (double)placer->segment->length;
    double wanted = length * (double)placer->nodes[cutter->parts[part]].source.end / source;
    size_t at = word > 0 ? placer->words[word - 1].end : 0;
    double off = fabs((double)at - wanted) * (double)cutter->count / (length + 1);
    bool mark = at > 0 && character_is_punctuation(character_previous(placer->translation->text, &at));
    return balance * off - (mark ? at_mark : 0);
}

static double misplaced(const struct cutter *cutter, size_t word, size_t part) {
    size_t own = cutter->part_of[word];
    return own == no_part ? 0 : fabs((double)own - (double)part);
}

static void add_part(struct cutter *cutter, size_t part) {
    size_t count = cutter->placer->word_count, best_begin = 0;
    uint32_t *back = cutter->back + part * (count + 1);
    double best = DBL_MAX, inside = 0, inside_begin = 0;
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
        cutter->cost[end] = best < DBL_MAX && cutter->open[end] ? best + inside + cut_cost(cutter, part, end) : DBL_MAX;
    }
}

/* Words [first,end) are the part's. */
static void give(struct placer *placer, size_t node, size_t first, size_t end) {
    struct node *part = &placer->nodes[node];
    part->first = first;
    part->end = end;
    for (size_t word = first; word < end; word++)
        placer->owner[word] = node;
}

/* Parts have all bytes but the white space between them: what is no word (an emoji) is not lost. */
static void set_bytes(struct placer *placer, const size_t *parts, size_t count) {
    const struct html_translation *translation = placer->translation;
    size_t at = 0, end = segmenter_trim(translation->text, translation->length).end;
    for (size_t i = 0; i < count; i++) {
        struct node *part = &placer->nodes[parts[i]];
        while (at < end && html_is_space_at(translation->text, end, at))
            character_next(translation->text, end, &at);
        size_t behind = part->first < part->end ? placer->words[part->end - 1].end : at;
        part->begin = at;
        part->behind = at = i + 1 < count ? behind : end;
    }
}

static int cutter_prepare(struct cutter *cutter, struct arena *arena) {
    size_t words = cutter->placer->word_count;
    cutter->part_of = arena_alloc(arena, words, sizeof *cutter->part_of);
    cutter->open = arena_zalloc(arena, words + 1, sizeof *cutter->open);
    cutter->cost = arena_alloc(arena, words + 1, sizeof *cutter->cost);
    cutter->before = arena_alloc(arena, words + 1, sizeof *cutter->before);
    cutter->back = arena_alloc(arena, cutter->count, (words + 1) * sizeof *cutter->back);
    return arena_failed(arena) ? -1 : 0;
}

static int find_parts(struct cutter *cutter, struct arena *arena) {
    const struct placer *placer = cutter->placer;
    cutter->parts = arena_alloc(arena, placer->count, sizeof *cutter->parts);
    for (size_t i = 1; cutter->parts && i < placer->count; i++)
        if (placer->nodes[i].part)
            cutter->parts[cutter->count++] = i;
    return cutter->parts ? 0 : -1;
}

/* For segments with too many parts and words to try all cuts: each part gets about the same share of the translation as it had of
 * the source. */
static void cut_by_length(const struct cutter *cutter, struct placer *placer) {
    double length = (double)placer->translation->length, source = (double)placer->segment->length;
    for (size_t part = 0, first = 0, end = 0; part < cutter->count; part++, first = end) {
        double wanted = length * (double)placer->nodes[cutter->parts[part]].source.end / source;
        bool last = part + 1 == cutter->count;
        while (end < placer->word_count && (last || (double)placer->words[end].begin < wanted))
            end++;
        give(placer, cutter->parts[part], first, end);
    }
    set_bytes(placer, cutter->parts, cutter->count);
}

int html_place_parts(struct placer *placer, struct arena *arena) {
    struct cutter cutter = {.placer = placer};
    if (find_parts(&cutter, arena) != 0)
        return -1;
    if (cutter.count == 0)
        return 0;
    if (cutter.count > MOST_CUTS / (placer->word_count + 1)) {
        cut_by_length(&cutter, placer);
        return 0;
    }
    if (cutter_prepare(&cutter, arena) != 0)
        return -1;
    find_words(&cutter);
    find_cuts(&cutter);
    for (size_t word = 0; word <= placer->word_count; word++)
        cutter.cost[word] = word == 0 ? 0 : DBL_MAX;
    for (size_t part = 0; part < cutter.count; part++) {
        double *before = cutter.before;
        cutter.before = cutter.cost;
        cutter.cost = before;
        add_part(&cutter, part);
    }
    for (size_t part = cutter.count, end = placer->word_count; part-- > 0;) {
        size_t begin = cutter.back[part * (placer->word_count + 1) + end];
        give(placer, cutter.parts[part], begin, end);
        end = begin;
    }
    set_bytes(placer, cutter.parts, cutter.count);
    return 0;
}
