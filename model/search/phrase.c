#include "model/search/phrase.h"

#include <string.h>

bool phrase_continues(const struct phrases *phrases, int token) {
    return phrases->continues && (size_t)token < phrases->size && phrases->continues[token];
}

/* Tokens of the longest way to say what phrase q does. */
static size_t longest_way(const struct phrases *phrases, size_t q) {
    const struct phrase *phrase = &phrases->list[q];
    size_t most = 0;
    for (size_t way = q - phrase->before; way <= q + phrase->behind; way++)
        most = phrases->list[way].length > most ? phrases->list[way].length : most;
    return most;
}

size_t phrases_tokens(const struct phrases *phrases) {
    size_t tokens = 0;
    for (size_t q = 0; q < phrases->count; q += phrases->list[q].behind + 1)
        tokens += longest_way(phrases, q);
    return tokens;
}

/* True if the first `length` tokens of phrase q are those that are open. */
static bool shares(const struct phrases *phrases, const struct progress *progress, size_t q, size_t length) {
    const struct phrase *phrase = &phrases->list[q], *open = &phrases->list[progress->open];
    return length == 0 || memcmp(phrase->tokens, open->tokens, length * sizeof *phrase->tokens) == 0;
}

bool progress_begins(const struct phrases *phrases, const struct progress *progress, size_t q) {
    return !progress->met[q] && phrases->list[q].length >= progress->at && shares(phrases, progress, q, progress->at);
}

bool progress_may_advance(const struct phrases *phrases, const struct progress *progress, size_t q) {
    return phrases->list[q].length > progress->at && progress_begins(phrases, progress, q);
}

/* True if the open tokens begin with phrase q, as whole words. */
static bool holds(const struct phrases *phrases, const struct progress *progress, size_t q) {
    size_t length = phrases->list[q].length;
    if (progress->met[q] || length > progress->at || !shares(phrases, progress, q, length))
        return false;
    return length == progress->at || !phrase_continues(phrases, phrases->list[progress->open].tokens[length]);
}

size_t progress_held(const struct phrases *phrases, const struct progress *progress) {
    size_t held = phrases->count;
    for (size_t q = 0; progress->at > 0 && q < phrases->count; q++)
        if (holds(phrases, progress, q) && (held == phrases->count || phrases->list[q].length > phrases->list[held].length))
            held = q;
    return held;
}

bool progress_at_end(const struct phrases *phrases, const struct progress *progress) {
    size_t held = progress_held(phrases, progress);
    return held < phrases->count && phrases->list[held].length == progress->at;
}

/* What the shortest way that the open tokens begin has fewer than the longest. */
static size_t saved(const struct phrases *phrases, const struct progress *progress) {
    const struct phrase *open = &phrases->list[progress->open];
    size_t least = open->length;
    if (open->before + open->behind == 0)
        return 0;
    for (size_t way = progress->open - open->before; way <= progress->open + open->behind; way++)
        if (phrases->list[way].length < least && progress_begins(phrases, progress, way))
            least = phrases->list[way].length;
    return longest_way(phrases, progress->open) - least;
}

size_t progress_tokens(const struct phrases *phrases, const struct progress *progress) {
    return progress->met_tokens + progress->at + (progress->at > 0 ? saved(phrases, progress) : 0);
}

bool progress_complete(const struct phrases *phrases, const struct progress *progress) {
    size_t held = progress_held(phrases, progress), tokens = held < phrases->count ? longest_way(phrases, held) : 0;
    return progress->met_tokens + tokens == phrases_tokens(phrases);
}

/* The first phrase that goes on with this token; count: none. */
static size_t advanced(const struct phrases *phrases, const struct progress *progress, int token) {
    size_t q = 0;
    while (q < phrases->count && !(progress_may_advance(phrases, progress, q) && phrases->list[q].tokens[progress->at] == token))
        q++;
    return q;
}

/* What is open counts as far as it is a phrase; the rest was broken off. */
static void close_open(const struct phrases *phrases, struct progress *progress) {
    size_t held = progress_held(phrases, progress);
    if (held < phrases->count) {
        const struct phrase *phrase = &phrases->list[held];
        memset(progress->met + held - phrase->before, true, phrase->before + 1 + phrase->behind);
        progress->met_tokens += longest_way(phrases, held);
    }
    progress->at = 0;
}

void progress_take(const struct phrases *phrases, const struct progress *from, int token, struct progress *to) {
    memcpy(to->met, from->met, phrases->count * sizeof *to->met);
    *to = (struct progress){.met = to->met, .met_tokens = from->met_tokens, .open = from->open, .at = from->at};
    size_t q = advanced(phrases, to, token);
    if (q == phrases->count) {
        close_open(phrases, to);
        q = advanced(phrases, to, token);
    }
    if (q < phrases->count) {
        to->open = q;
        to->at++;
    }
}
