/* This file hides how the progress of a path with its phrases is kept, and how the next token of a
 * phrase is weighted. */
#include "model/search/phrases.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the progress of a path ---- */

/* Returns whether the token continues a word, so that no phrase may end before it. */
static bool continues_word(const struct phrases *phrases, int token) {
    return phrases->continues && (size_t)token < phrases->size && phrases->continues[token];
}

/* Returns the number of tokens of the longest way to say phrase q. */
static size_t longest_way(const struct phrases *phrases, size_t q) {
    const struct phrase *phrase = &phrases->list[q];
    size_t most = 0;
    for (size_t way = q - phrase->before; way <= q + phrase->after; way++)
        most = phrases->list[way].length > most ? phrases->list[way].length : most;
    return most;
}

size_t phrases_tokens(const struct phrases *phrases) {
    size_t tokens = 0;
    for (size_t q = 0; q < phrases->count; q += phrases->list[q].after + 1)
        tokens += longest_way(phrases, q);
    return tokens;
}

/* Returns whether phrase q is still missing and begins with the first `length` open tokens. */
static bool shares(const struct phrases *phrases, const struct phrases_progress *progress, size_t q,
                   size_t length) {
    const struct phrase *phrase = &phrases->list[q], *open = &phrases->list[progress->open];
    return !progress->met[q] && phrase->length >= length &&
           (length == 0 ||
            memcmp(phrase->tokens, open->tokens, length * sizeof *phrase->tokens) == 0);
}

/* Returns whether phrase q is still missing and begins with the open tokens. */
static bool begins(const struct phrases *phrases, const struct phrases_progress *progress,
                   size_t q) {
    return shares(phrases, progress, q, progress->at);
}

/* Returns whether phrase q may continue, or begin if at is 0, with its token at progress->at. */
static bool may_advance(const struct phrases *phrases, const struct phrases_progress *progress,
                        size_t q) {
    return phrases->list[q].length > progress->at && begins(phrases, progress, q);
}

/* Returns the longest phrase that the open tokens begin with, as whole words, or phrases->count. */
static size_t held_phrase(const struct phrases *phrases, const struct phrases_progress *progress) {
    const struct phrase *list = phrases->list;
    size_t held = phrases->count;
    for (size_t q = 0; progress->at > 0 && q < phrases->count; q++) {
        size_t length = list[q].length;
        if (length > progress->at || !shares(phrases, progress, q, length))
            continue;
        bool whole =
            length == progress->at || !continues_word(phrases, list[progress->open].tokens[length]);
        if (whole && (held == phrases->count || length > list[held].length))
            held = q;
    }
    return held;
}

bool phrases_at_end(const struct phrases *phrases, const struct phrases_progress *progress) {
    size_t held = held_phrase(phrases, progress);
    return held < phrases->count && phrases->list[held].length == progress->at;
}

size_t phrases_met_tokens(const struct phrases *phrases, const struct phrases_progress *progress) {
    const struct phrase *list = phrases->list;
    size_t tokens = progress->met_tokens + progress->at, open = progress->open;
    if (progress->at == 0 || list[open].before + list[open].after == 0)
        return tokens;
    /* The shortest way that begins with the open tokens saves tokens of the longest way. */
    size_t least = list[open].length;
    for (size_t way = open - list[open].before; way <= open + list[open].after; way++)
        if (list[way].length < least && begins(phrases, progress, way))
            least = list[way].length;
    return tokens + longest_way(phrases, open) - least;
}

bool phrases_complete(const struct phrases *phrases, const struct phrases_progress *progress) {
    size_t held = held_phrase(phrases, progress),
           tokens = held < phrases->count ? longest_way(phrases, held) : 0;
    return progress->met_tokens + tokens == phrases_tokens(phrases);
}

/* Returns whether phrase q may begin here: the last one waits for all others. */
static bool may_begin(const struct phrases *phrases, const struct phrases_progress *progress,
                      size_t q) {
    const struct phrase *list = phrases->list;
    size_t held = list[q].last ? held_phrase(phrases, progress) : phrases->count;
    for (size_t p = 0; list[q].last && p < phrases->count; p++) {
        bool is_held =
            held < phrases->count && p + list[held].before >= held && p <= held + list[held].after;
        if (p != q && !progress->met[p] && !is_held)
            return false;
    }
    return true;
}

/* Returns the first phrase that may continue or begin with this token, or phrases->count. */
static size_t find_advanced(const struct phrases *phrases, const struct phrases_progress *progress,
                            int token) {
    size_t q = 0;
    while (q < phrases->count &&
           !(may_advance(phrases, progress, q) && phrases->list[q].tokens[progress->at] == token &&
             (progress->at > 0 || may_begin(phrases, progress, q))))
        q++;
    return q;
}

void phrases_take(const struct phrases *phrases, const struct phrases_progress *from, int token,
                  struct phrases_progress *to) {
    memcpy(to->met, from->met, phrases->count * sizeof *to->met);
    *to = (struct phrases_progress){.met = to->met,
                                    .met_tokens = from->met_tokens,
                                    .open = from->open,
                                    .at = from->at,
                                    .spent = to->spent};
    size_t q = find_advanced(phrases, to, token);
    if (q == phrases->count) { /* the open phrase ends; the part of it that is a complete phrase
                                  counts, and the rest is dropped */
        size_t held = held_phrase(phrases, to);
        if (held < phrases->count) {
            const struct phrase *phrase = &phrases->list[held];
            memset(to->met + held - phrase->before, true, phrase->before + 1 + phrase->after);
            to->met_tokens += longest_way(phrases, held);
        }
        to->at = 0;
        q = find_advanced(phrases, to, token);
    }
    if (q < phrases->count) {
        to->open = q;
        to->at++;
    }
}

/* ---- the progress of all rows ---- */

int phrases_paths_init(const struct search *search, struct phrases_paths *paths) {
    enum { PROGRESSES = 2 * SEARCH_MAX_ROWS };
    size_t count = search->options.phrases.count;
    struct phrases_progress *all = arena_zalloc(search->arena, PROGRESSES, sizeof *all);
    bool *met = arena_zalloc(search->arena, PROGRESSES * count, sizeof *met);
    float *spent = arena_zalloc(search->arena, PROGRESSES * count, sizeof *spent);
    if (!all || !met || !spent)
        return -1;
    for (size_t i = 0; i < PROGRESSES; i++) {
        all[i].met = met + i * count;
        all[i].spent = spent + i * count;
    }
    *paths = (struct phrases_paths){all, all + SEARCH_MAX_ROWS,
                                    phrases_tokens(&search->options.phrases)};
    return 0;
}

/* Returns the attention of a row to a phrase's source tokens; 0 if they are not known. */
static float attention_to(const struct search *search, const float *attention,
                          const struct phrase *phrase) {
    float sum = 0;
    for (size_t j = phrase->first;
         search->setting.source_length > 0 && j < phrase->first + phrase->count; j++)
        sum += attention[j];
    return sum;
}

void phrases_paths_move(const struct search *search, struct phrases_paths *paths, size_t rows,
                        const size_t *parents, const int *tokens) {
    const struct phrases *phrases = &search->options.phrases;
    struct phrases_progress *next = paths->next;
    for (size_t r = 0; r < rows; r++) {
        const struct phrases_progress *from = &paths->now[parents[r]];
        const struct search_node *leaf = search->leaves[r]; /* NULL within the prefix */
        phrases_take(phrases, from, tokens[r], &next[r]);
        for (size_t q = 0; q < phrases->count; q++) {
            bool spends = leaf && next[r].at == 0 && !next[r].met[q];
            next[r].spent[q] =
                from->spent[q] +
                (spends ? attention_to(search, leaf->row->attention, &phrases->list[q]) : 0);
        }
    }
    paths->next = paths->now;
    paths->now = next;
}

void phrases_paths_take_prefix(const struct search *search, struct phrases_paths *paths) {
    const size_t first = 0;
    for (size_t i = 0; i < search->options.prefix_length; i++)
        phrases_paths_move(search, paths, 1, &first, &search->options.prefix[i]);
}

bool phrases_paths_fit(const struct search *search, const struct phrases_paths *paths,
                       const struct phrases_progress *progress, size_t depth) {
    return depth + paths->total - phrases_met_tokens(&search->options.phrases, progress) <=
           search->options.max_length;
}

/* ---- the merit of a phrase's next token ----
 * If the source tokens of a phrase are known, its first token counts as much as the attention to
 * them, and its other tokens count nothing: the phrase appears where they are translated, and a
 * beam in the middle of a phrase has no disadvantage. Among several ways to say it, each also
 * counts by how much less likely it is than the likeliest, so the model chooses. */

#define LEAST logf(FLT_MIN)

/* Returns the attention to a phrase's source tokens in this step, as a log-probability, or fallback
 * if they are not known. */
static float attended(const struct search *search, size_t row, const struct phrase *phrase,
                      float fallback) {
    if (search->setting.source_length == 0 || phrase->count == 0)
        return fallback;
    float got = logf(attention_to(search, search->shown[row]->attention, phrase));
    return got < LEAST ? LEAST : got > 0 ? 0 : got; /* NaN stays NaN */
}

/* Returns the log-probability of the next token of a phrase. A token outside the vocabulary is as
 * probable as its stand-in, which belongs to the phrase with the most attention; without a
 * stand-in, it is as probable as its source is attended to. */
static float next_log_prob(const struct search *search, const struct distribution *rows, size_t r,
                           const struct phrases_progress *progress, const struct phrase *phrase) {
    const struct phrases *phrases = &search->options.phrases;
    const struct distribution *row = &rows[r];
    const int *stand_ins = phrase->stand_ins;
    size_t place = search_place(row, phrase->tokens[progress->at]);
    bool replaced = place == row->size && stand_ins[0] >= 0;
    if (replaced) {
        size_t other = search_place(row, stand_ins[1]);
        place = search_place(row, stand_ins[0]);
        assert(place < row->size && other < row->size);
        place = row->logits[other] > row->logits[place] ? other : place;
    }
    float log_prob = place < row->size ? row->logits[place] - row->log_sum
                                       : attended(search, r, phrase, -logf((float)row->size));
    if (replaced) {
        float most = LEAST; /* among the missing phrases with this stand-in */
        for (size_t q = 0; q < phrases->count; q++) {
            if (progress->met[q] || phrases->list[q].stand_ins[0] != stand_ins[0])
                continue;
            float got = attended(search, r, &phrases->list[q], 0);
            most = got > most ? got : most;
        }
        log_prob += attended(search, r, phrase, 0) - most;
    }
    return log_prob < LEAST ? LEAST
                            : log_prob; /* the token is required, even if the model excludes it */
}

/* Returns the log-probability that a word ends before the next token of a row: a phrase must not
 * follow a part of a word. The best tokens show it. */
static float ends_word(const struct search *search, const struct distribution *row) {
    float continued = 0;
    for (size_t i = 0; i < row->top_count; i++)
        if (continues_word(&search->options.phrases, row->top[i].token))
            continued += expf(row->top[i].logit - row->log_sum);
    float ended = logf(1 - continued);
    return ended > LEAST ? ended : LEAST;
}

/* Returns what a phrase loses because words have been said for it already: they had this part of
 * the attention to its source. */
static float said_already(float spent) {
    const float most = 0.95F;
    return logf(1 - (spent < most ? spent : most));
}

/* Returns the candidate for the next token of phrase q. ends: ends_word where the phrase begins. */
static struct candidate advancing(const struct search *search, const struct distribution *rows,
                                  size_t r, const struct phrases_progress *progress, size_t q,
                                  float ends) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *phrase = &phrases->list[q];
    float log_prob = next_log_prob(search, rows, r, progress, phrase);
    float merit = progress->at == 0   ? attended(search, r, phrase, log_prob) + ends
                  : phrase->count > 0 ? 0
                                      : log_prob;
    if (phrase->before + phrase->after > 0) {
        float most = LEAST; /* log-probability of the likeliest way to continue, including phrase q;
                               0 if a way is complete */
        for (size_t way = q - phrase->before; way <= q + phrase->after; way++) {
            if (!begins(phrases, progress, way))
                continue;
            if (phrases->list[way].length == progress->at) {
                most = 0;
                break;
            }
            float other = next_log_prob(search, rows, r, progress, &phrases->list[way]);
            most = other > most ? other : most;
        }
        merit += log_prob - most;
    }
    merit = merit > log_prob ? merit : log_prob;
    if (progress->at == 0)
        merit += said_already(progress->spent[q]);
    return search_candidate(search, r, phrase->tokens[progress->at], log_prob, (double)merit);
}

size_t phrases_most(const struct search *search) {
    return 2 * search->options.phrases.count;
}

size_t phrases_next(const struct search *search, const struct distribution *rows, size_t row,
                    const struct phrases_progress *progress, struct candidate *out) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *list = phrases->list;
    struct phrases_progress fresh = {.met = progress->met, .spent = progress->spent};
    bool within = search->leaves[row] && search->leaves[row]->due.count > 0;
    bool between = !within && (progress->at == 0 || phrases_at_end(phrases, progress));
    size_t held = held_phrase(phrases, progress), count = 0;
    float ends = progress->at == 0 && search->leaves[row] ? ends_word(search, &rows[row])
                                                          : 0; /* a phrase ends with its word */
    for (size_t q = 0; q < phrases->count; q++) {
        bool said =
            held < phrases->count && q + list[held].before >= held && q <= held + list[held].after;
        if (progress->at > 0 && may_advance(phrases, progress, q))
            out[count++] = advancing(search, rows, row, progress, q, 0);
        if (between && !said && may_advance(phrases, &fresh, q) && may_begin(phrases, progress, q))
            out[count++] = advancing(search, rows, row, &fresh, q, list[q].begins_word ? ends : 0);
    }
    return count;
}

bool phrases_refuse(const struct search *search, const struct phrases_progress *progress,
                    bool at_end, int token) {
    const struct phrases *phrases = &search->options.phrases;
    if (token == search->setting.ids.end)
        return !phrases_complete(phrases, progress);
    for (size_t i = 0; i < phrases->banned_count; i++)
        if (token == phrases->banned[i])
            return true;
    return at_end && (phrases->list[progress->open].last || continues_word(phrases, token));
}
