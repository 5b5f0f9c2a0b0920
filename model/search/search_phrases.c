#include "model/search/search_phrases.h"

#include <float.h>
#include <math.h>

#define LEAST logf(FLT_MIN)

/* ---- progress ---- */

int phrase_paths_init(const struct search *search, struct phrase_paths *paths) {
    size_t count = search->options.phrases.count;
    bool *met = arena_zalloc(search->arena, (2 * SEARCH_MAX_ROWS + 1) * count, sizeof *met);
    if (!met)
        return -1;
    for (size_t r = 0; r < SEARCH_MAX_ROWS; r++) {
        paths->now[r].met = met + 2 * r * count;
        paths->next[r].met = met + (2 * r + 1) * count;
    }
    paths->trial.met = met + 2 * SEARCH_MAX_ROWS * count;
    paths->total = phrases_tokens(&search->options.phrases);
    return 0;
}

static void swap(struct progress *a, struct progress *b) {
    struct progress c = *a;
    *a = *b;
    *b = c;
}

void phrase_paths_take_prefix(const struct search *search, struct phrase_paths *paths) {
    for (size_t i = 0; i < search->options.prefix_length; i++) {
        progress_take(&search->options.phrases, &paths->now[0], search->options.prefix[i], &paths->next[0]);
        swap(&paths->now[0], &paths->next[0]);
    }
}

void phrase_paths_move(const struct search *search, struct phrase_paths *paths) {
    for (size_t r = 0; r < search->rows; r++)
        progress_take(&search->options.phrases, &paths->now[search->parents[r]], search->tokens[r], &paths->next[r]);
    for (size_t r = 0; r < search->rows; r++)
        swap(&paths->now[r], &paths->next[r]);
}

bool phrase_paths_fit(const struct search *search, const struct phrase_paths *paths, const struct progress *progress,
                      size_t depth) {
    return depth + paths->total - progress_tokens(&search->options.phrases, progress) <= search->options.max_length;
}

/* ---- what the next token counts ---- */

/* The attention that a phrase's source tokens get in this step, as a log-probability; fallback: they are not known. */
static float attended(const struct search *search, size_t row, const struct phrase *phrase, float fallback) {
    float sum = 0;
    if (search->source_length == 0 || phrase->count == 0)
        return fallback;
    for (size_t j = phrase->first; j < phrase->first + phrase->count; j++)
        sum += search->attention[row][j];
    float got = logf(sum);
    return got < LEAST ? LEAST : got > 0 ? 0 : got; /* what is no number stays none */
}

/* The most attention that a phrase with this stand-in gets, of those that have not come yet. */
static float most_attended(const struct search *search, size_t row, const struct progress *progress, int stand_in) {
    const struct phrases *phrases = &search->options.phrases;
    float most = LEAST;
    for (size_t q = 0; q < phrases->count; q++) {
        if (progress->met[q] || phrases->list[q].stand_ins[0] != stand_in)
            continue;
        float got = attended(search, row, &phrases->list[q], 0);
        most = got > most ? got : most;
    }
    return most;
}

/* The log-probability of the next token of a phrase. One that is in no vocabulary is as probable as its stand-in, which
 * belongs to the phrase with the most attention; without a stand-in, as its source is attended to. */
static float next_log_prob(const struct search *search, const struct distribution *rows, size_t r, const struct progress *progress,
                           const struct phrase *phrase, size_t at) {
    int token = phrase->tokens[at];
    const int *stand_ins = phrase->stand_ins;
    int known = (size_t)token < rows[r].size ? token : stand_ins[0];
    if (known == stand_ins[0] && known >= 0 && rows[r].logits[stand_ins[1]] > rows[r].logits[known])
        known = stand_ins[1];
    float log_prob = known >= 0 ? rows[r].logits[known] - rows[r].log_sum : attended(search, r, phrase, -logf((float)rows[r].size));
    if (known != token && known >= 0)
        log_prob += attended(search, r, phrase, 0) - most_attended(search, r, progress, stand_ins[0]);
    return log_prob < LEAST ? LEAST : log_prob; /* impossible as it is, it must come */
}

/* That of the likeliest way to go on with what phrase q says, q's own among them; 0 where it may be at its end. */
static float likeliest(const struct search *search, const struct distribution *rows, size_t r, const struct progress *progress,
                       size_t q) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *phrase = &phrases->list[q];
    float most = LEAST;
    for (size_t way = q - phrase->before; way <= q + phrase->behind; way++) {
        if (!progress_begins(phrases, progress, way))
            continue;
        if (phrases->list[way].length == progress->at)
            return 0;
        float log_prob = next_log_prob(search, rows, r, progress, &phrases->list[way], progress->at);
        most = log_prob > most ? log_prob : most;
    }
    return most;
}

/* The next token of phrase q. */
static struct candidate advancing(const struct search *search, const struct distribution *rows, size_t r,
                                  const struct progress *progress, size_t q) {
    const struct phrase *phrase = &search->options.phrases.list[q];
    float log_prob = next_log_prob(search, rows, r, progress, phrase, progress->at);
    float merit = progress->at == 0 ? attended(search, r, phrase, log_prob) : phrase->count > 0 ? 0 : log_prob;
    if (phrase->before + phrase->behind > 0)
        merit += log_prob - likeliest(search, rows, r, progress, q);
    return search_candidate(search, r, phrase->tokens[progress->at], log_prob, (double)(merit > log_prob ? merit : log_prob));
}

/* ---- what may come ---- */

/* True if phrase q is `held`, or another way to say it; held may be phrases->count: none. */
static bool says_same(const struct phrases *phrases, size_t q, size_t held) {
    return held < phrases->count && q + phrases->list[held].before >= held && q <= held + phrases->list[held].behind;
}

/* Each phrase may go on, or begin. */
size_t phrases_most(const struct search *search) {
    return 2 * search->options.phrases.count;
}

size_t phrases_next(const struct search *search, const struct distribution *rows, size_t row, const struct progress *progress,
                    struct candidate *out) {
    const struct phrases *phrases = &search->options.phrases;
    struct progress fresh = {.met = progress->met};
    bool between = progress->at == 0 || progress_at_end(phrases, progress);
    size_t held = progress_held(phrases, progress), count = 0;
    if (search->leaves[row] && search->leaves[row]->due.count > 0)
        return 0;
    for (size_t q = 0; q < phrases->count; q++) {
        if (progress->at > 0 && progress_may_advance(phrases, progress, q))
            out[count++] = advancing(search, rows, row, progress, q);
        if (between && !says_same(phrases, q, held) && progress_may_advance(phrases, &fresh, q))
            out[count++] = advancing(search, rows, row, &fresh, q);
    }
    return count;
}

bool phrases_refuse(const struct search *search, const struct progress *progress, bool at_end, int token) {
    const struct phrases *phrases = &search->options.phrases;
    if (token == search->ids.end)
        return !progress_complete(phrases, progress);
    for (size_t i = 0; i < phrases->banned_count; i++)
        if (token == phrases->banned[i])
            return true;
    return at_end && phrase_continues(phrases, token);
}
