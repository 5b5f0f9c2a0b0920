/* This module hides how minimal phrase pairs are found: each linked source word is extended to the
 * smallest consistent pair around it. Two such pairs either do not overlap or one contains the
 * other, because the common part of two overlapping consistent pairs is consistent, too. The
 * minimal pairs are those in which every linked word has the same pair. */
#include "model/phrase_pairs.h"
#include <stdbool.h>

/* An empty span has begin == end. */
static bool is_empty(struct word_span span) {
    return span.begin == span.end;
}

/* Extends a span. Returns whether it has grown. */
static bool extend(struct word_span *span, struct word_span with) {
    struct word_span before = *span;
    if (is_empty(with))
        return false;
    if (is_empty(before)) {
        *span = with;
        return true;
    }
    span->begin = with.begin < before.begin ? with.begin : before.begin;
    span->end = with.end > before.end ? with.end : before.end;
    return span->begin < before.begin || span->end > before.end;
}

/* Extends `other` by what the words of `span` that are not in *done are linked with. Returns
 * whether it has grown. */
static bool follow(struct word_span span, struct word_span *done, const struct word_span *reach,
                   struct word_span *other) {
    bool grown = false;
    if (is_empty(*done))
        done->begin = done->end = span.begin;
    while (done->begin > span.begin)
        grown |= extend(other, reach[--done->begin]);
    while (done->end < span.end)
        grown |= extend(other, reach[done->end++]);
    return grown;
}

/* Returns the smallest consistent pair that contains a linked source word. */
static struct phrase_pair close_word(size_t word, const struct word_span *source_reach,
                                     const struct word_span *target_reach) {
    struct phrase_pair pair = {{word, word + 1}, {0, 0}};
    struct word_span source_done = {0, 0}, target_done = {0, 0};
    for (bool grown = true; grown;) {
        follow(pair.source, &source_done, source_reach, &pair.target);
        grown = follow(pair.target, &target_done, target_reach, &pair.source);
    }
    return pair;
}

static bool same_source(const struct phrase_pair *a, const struct phrase_pair *b) {
    return a->source.begin == b->source.begin && a->source.end == b->source.end;
}

int phrase_pairs_find(const struct word_links *links, struct arena *arena, struct phrase_pairs *out,
                      struct error *err) {
    size_t sources = links->sources, targets = links->targets;
    /* the words that each word is linked with lie in its reach */
    struct word_span *source_reach = arena_zalloc(arena, sources + 1, sizeof *source_reach);
    struct word_span *target_reach = arena_zalloc(arena, targets + 1, sizeof *target_reach);
    struct phrase_pair *closed = arena_zalloc(arena, sources + 1, sizeof *closed);
    struct phrase_pair *found = arena_zalloc(arena, targets + 1, sizeof *found);
    if (!source_reach || !target_reach || !closed || !found)
        return error_memory(err);
    for (size_t i = 0; i < links->count; i++) {
        size_t source = links->all[i].source, target = links->all[i].target;
        extend(&source_reach[source], (struct word_span){target, target + 1});
        extend(&target_reach[target], (struct word_span){source, source + 1});
    }
    for (size_t j = 0; j < sources; j++)
        if (!is_empty(source_reach[j]))
            closed[j] = close_word(j, source_reach, target_reach);

    /* the edges of a pair are linked, so that it is met at its first word; minimal pairs do not
     * overlap, so that each has a target word of its own to sort by */
    for (size_t j = 0; j < sources; j++) {
        const struct phrase_pair *pair = &closed[j];
        bool minimal = !is_empty(pair->source) && pair->source.begin == j;
        for (size_t k = j; minimal && k < pair->source.end; k++)
            minimal = is_empty(closed[k].source) || same_source(&closed[k], pair);
        if (minimal)
            found[pair->target.begin] = *pair;
    }
    size_t used = 0;
    for (size_t i = 0; i < targets; i++)
        if (!is_empty(found[i].source))
            found[used++] = found[i];
    *out = (struct phrase_pairs){found, used};
    return 0;
}
