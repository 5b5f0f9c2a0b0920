#include "model/search/phrase.h"

#include <string.h>

bool phrase_continues(const struct phrases *phrases, int token) {
    return phrases->continues && (size_t)token < phrases->size && phrases->continues[token];
}

size_t phrases_tokens(const struct phrases *phrases) {
    size_t tokens = 0;
    for (size_t q = 0; q < phrases->count; q++)
        tokens += phrases->list[q].length;
    return tokens;
}

/* True if the first `length` tokens of phrase q are those that are open. */
static bool shares(const struct phrases *phrases, const struct progress *progress, size_t q, size_t length) {
    const struct phrase *phrase = &phrases->list[q], *open = &phrases->list[progress->open];
    return length == 0 || memcmp(phrase->tokens, open->tokens, length * sizeof *phrase->tokens) == 0;
}

bool progress_may_advance(const struct phrases *phrases, const struct progress *progress, size_t q) {
    return !progress->met[q] && phrases->list[q].length > progress->at && shares(phrases, progress, q, progress->at);
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

size_t progress_tokens(const struct progress *progress) {
    return progress->met_tokens + progress->at;
}

bool progress_complete(const struct phrases *phrases, const struct progress *progress) {
    size_t held = progress_held(phrases, progress), tokens = held < phrases->count ? phrases->list[held].length : 0;
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
        progress->met[held] = true;
        progress->met_tokens += phrases->list[held].length;
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
