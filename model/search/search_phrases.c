/* This file has the searches whose results may have to contain phrases: a beam, and samples. It
 * hides how the progress of a path with its phrases is kept, how the next token of a phrase is
 * weighted, and how tokens are drawn so that the result depends only on seed and stream. */
#include "model/base/random.h"
#include "model/search/search_kind.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
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
static bool shares(const struct phrases *phrases, const struct progress *progress, size_t q,
                   size_t length) {
    const struct phrase *phrase = &phrases->list[q], *open = &phrases->list[progress->open];
    return !progress->met[q] && phrase->length >= length &&
           (length == 0 ||
            memcmp(phrase->tokens, open->tokens, length * sizeof *phrase->tokens) == 0);
}

/* Returns whether phrase q is still missing and begins with the open tokens. */
static bool begins(const struct phrases *phrases, const struct progress *progress, size_t q) {
    return shares(phrases, progress, q, progress->at);
}

/* Returns whether phrase q may continue, or begin if at is 0, with its token at progress->at. */
static bool may_advance(const struct phrases *phrases, const struct progress *progress, size_t q) {
    return phrases->list[q].length > progress->at && begins(phrases, progress, q);
}

/* Returns the longest phrase that the open tokens begin with, as whole words, or phrases->count. */
static size_t held_phrase(const struct phrases *phrases, const struct progress *progress) {
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

/* Returns whether the last token ends a phrase. */
static bool progress_at_end(const struct phrases *phrases, const struct progress *progress) {
    size_t held = held_phrase(phrases, progress);
    return held < phrases->count && phrases->list[held].length == progress->at;
}

size_t progress_tokens(const struct phrases *phrases, const struct progress *progress) {
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

bool progress_complete(const struct phrases *phrases, const struct progress *progress) {
    size_t held = held_phrase(phrases, progress),
           tokens = held < phrases->count ? longest_way(phrases, held) : 0;
    return progress->met_tokens + tokens == phrases_tokens(phrases);
}

/* Returns the first phrase that may continue or begin with this token, or phrases->count. */
static size_t find_advanced(const struct phrases *phrases, const struct progress *progress,
                            int token) {
    size_t q = 0;
    while (q < phrases->count &&
           !(may_advance(phrases, progress, q) && phrases->list[q].tokens[progress->at] == token))
        q++;
    return q;
}

void progress_take(const struct phrases *phrases, const struct progress *from, int token,
                   struct progress *to) {
    memcpy(to->met, from->met, phrases->count * sizeof *to->met);
    *to = (struct progress){.met = to->met,
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

/* The progress of the live rows. */
struct phrase_paths {
    struct progress *now, *next; /* [SEARCH_MAX_ROWS]; next is scratch */
    size_t total;                /* tokens of all phrases */
};

/* Returns -1 if memory is out. */
static int phrase_paths_init(const struct search *search, struct phrase_paths *paths) {
    enum { PROGRESSES = 2 * SEARCH_MAX_ROWS };
    size_t count = search->options.phrases.count;
    struct progress *all = arena_zalloc(search->arena, PROGRESSES, sizeof *all);
    bool *met = arena_zalloc(search->arena, PROGRESSES * count, sizeof *met);
    float *spent = arena_zalloc(search->arena, PROGRESSES * count, sizeof *spent);
    if (!all || !met || !spent)
        return -1;
    for (size_t i = 0; i < PROGRESSES; i++) {
        all[i].met = met + i * count;
        all[i].spent = spent + i * count;
    }
    *paths =
        (struct phrase_paths){all, all + SEARCH_MAX_ROWS, phrases_tokens(&search->options.phrases)};
    return 0;
}

/* Returns the attention of a row to a phrase's source tokens; 0 if they are not known. */
static float attention_to(const struct search *search, const float *attention,
                          const struct phrase *phrase) {
    float sum = 0;
    for (size_t j = phrase->first; search->source_length > 0 && j < phrase->first + phrase->count;
         j++)
        sum += attention[j];
    return sum;
}

/* Extends the path of row parents[r] by tokens[r], as row r. */
static void phrase_paths_move(const struct search *search, struct phrase_paths *paths, size_t rows,
                              const size_t *parents, const int *tokens) {
    const struct phrases *phrases = &search->options.phrases;
    struct progress *next = paths->next;
    for (size_t r = 0; r < rows; r++) {
        const struct progress *from = &paths->now[parents[r]];
        const struct search_node *leaf = search->leaves[r]; /* NULL within the prefix */
        progress_take(phrases, from, tokens[r], &next[r]);
        for (size_t q = 0; q < phrases->count; q++) {
            bool spends = leaf && next[r].at == 0 && !next[r].met[q];
            next[r].spent[q] =
                from->spent[q] +
                (spends ? attention_to(search, leaf->attention, &phrases->list[q]) : 0);
        }
    }
    paths->next = paths->now;
    paths->now = next;
}

/* Reads the prefix, which may contain phrases. */
static void phrase_paths_take_prefix(const struct search *search, struct phrase_paths *paths) {
    const size_t first = 0;
    for (size_t i = 0; i < search->options.prefix_length; i++)
        phrase_paths_move(search, paths, 1, &first, &search->options.prefix[i]);
}

/* Returns whether a path with this progress and this many tokens has room for all phrases. */
static bool phrase_paths_fit(const struct search *search, const struct phrase_paths *paths,
                             const struct progress *progress, size_t depth) {
    return depth + paths->total - progress_tokens(&search->options.phrases, progress) <=
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
    if (search->source_length == 0 || phrase->count == 0)
        return fallback;
    float got = logf(attention_to(search, search->attention[row], phrase));
    return got < LEAST ? LEAST : got > 0 ? 0 : got; /* NaN stays NaN */
}

static int by_id(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Returns the place of a token's logit in a row; row->size: the row does not have the token. */
static size_t place_of(const struct distribution *row, int token) {
    if (!row->ids)
        return (size_t)token < row->size ? (size_t)token : row->size;
    const int *found = bsearch(&token, row->ids, row->size, sizeof *row->ids, by_id);
    return found ? (size_t)(found - row->ids) : row->size;
}

/* Returns the log-probability of the next token of a phrase. A token outside the vocabulary is as
 * probable as its stand-in, which belongs to the phrase with the most attention; without a
 * stand-in, it is as probable as its source is attended to. */
static float next_log_prob(const struct search *search, const struct distribution *rows, size_t r,
                           const struct progress *progress, const struct phrase *phrase) {
    const struct phrases *phrases = &search->options.phrases;
    const struct distribution *row = &rows[r];
    const int *stand_ins = phrase->stand_ins;
    size_t place = place_of(row, phrase->tokens[progress->at]);
    bool replaced = place == row->size && stand_ins[0] >= 0;
    if (replaced) {
        size_t other = place_of(row, stand_ins[1]);
        place = place_of(row, stand_ins[0]);
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

/* Returns how much the open phrase has been credited with beyond its probability. A path that
 * breaks it off gives that back. */
static double credit(const struct search *search, size_t row, const struct progress *progress) {
    const struct search_node *leaf = search->leaves[row], *before = leaf;
    for (size_t i = 0; before && i < progress->at; i++)
        before = before->parent;
    double sum =
        leaf ? leaf->merit - leaf->total - (before ? before->merit - before->total : 0) : 0;
    return sum > 0 ? sum : 0;
}

/* Returns the candidate for the next token of phrase q. ends: ends_word where the phrase begins. */
static struct candidate advancing(const struct search *search, const struct distribution *rows,
                                  size_t r, const struct progress *progress, size_t q, float ends) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *phrase = &phrases->list[q];
    float log_prob = next_log_prob(search, rows, r, progress, phrase);
    float merit = progress->at == 0   ? attended(search, r, phrase, log_prob) + ends
                  : phrase->count > 0 ? 0
                                      : log_prob;
    if (phrase->before + phrase->after > 0) {
        float most = LEAST; /* of the likeliest way to continue, including phrase q; 0 if a way is
                               complete */
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

/* Returns the most candidates that a row can have: each phrase may continue, and may begin. */
static size_t phrases_most(const struct search *search) {
    return 2 * search->options.phrases.count;
}

/* Finds the tokens that continue or begin phrases in a row, at most phrases_most of them. No phrase
 * begins within a character. */
static size_t phrases_next(const struct search *search, const struct distribution *rows, size_t row,
                           const struct progress *progress, struct candidate *out) {
    const struct phrases *phrases = &search->options.phrases;
    const struct phrase *list = phrases->list;
    struct progress fresh = {.met = progress->met, .spent = progress->spent};
    bool between = progress->at == 0 || progress_at_end(phrases, progress);
    size_t held = held_phrase(phrases, progress), count = 0;
    if (search->leaves[row] && search->leaves[row]->due.count > 0)
        return 0;
    float ends = progress->at == 0 && search->leaves[row] ? ends_word(search, &rows[row])
                                                          : 0; /* a phrase ends with its word */
    for (size_t q = 0; q < phrases->count; q++) {
        bool said =
            held < phrases->count && q + list[held].before >= held && q <= held + list[held].after;
        if (progress->at > 0 && may_advance(phrases, progress, q))
            out[count++] = advancing(search, rows, row, progress, q, 0);
        if (between && !said && may_advance(phrases, &fresh, q))
            out[count++] = advancing(search, rows, row, &fresh, q, list[q].begins_word ? ends : 0);
    }
    return count;
}

/* Returns whether the phrases forbid this token: it is </s> while one is missing, it is banned, or
 * it would continue the last word of a phrase. at_end: progress_at_end, which the caller computes
 * once for all tokens of a row. */
static bool phrases_refuse(const struct search *search, const struct progress *progress,
                           bool at_end, int token) {
    const struct phrases *phrases = &search->options.phrases;
    if (token == search->ids.end)
        return !progress_complete(phrases, progress);
    for (size_t i = 0; i < phrases->banned_count; i++)
        if (token == phrases->banned[i])
            return true;
    return at_end && continues_word(phrases, token);
}

/* ---- a beam: dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019) ----
 * Besides a row's best tokens, the tokens that continue or begin a phrase are considered. The
 * places are shared among banks; a bank has the continuations with equally many tokens of phrases.
 * First the best of each bank gets a place, then the second of each; if there are more banks than
 * places, those with the better merit get one. Once a hypothesis has ended, and so contains all
 * phrases, the best are chosen as in a beam. */

/* A continuation that may be chosen. */
struct option {
    struct candidate candidate;
    size_t bank, rank; /* rank: its place in its bank */
};

struct constrained {
    struct phrase_paths paths;
    struct candidate
        *phrases;           /* [phrases_most] the tokens that continue or begin phrases in a row */
    struct option *options; /* [count] of the current step */
    size_t count, first;    /* first: of the current row */
    size_t *sizes;          /* [total + 1] of the banks */
    double floor;           /* the least score of a continuation */
};

static size_t constrained_max_rows(const struct search_options *options) {
    size_t rows = options->beam_size + phrases_tokens(&options->phrases);
    size_t most = options->max_rows > options->beam_size ? options->max_rows : options->beam_size;
    rows = rows < most ? rows : most;
    return rows < SEARCH_MAX_ROWS ? rows : SEARCH_MAX_ROWS;
}

/* Returns the places for continuations: once some have ended, the places of the beam that are left.
 */
static size_t places(const struct search *search) {
    size_t beam = search->options.beam_size;
    if (search->ended_count == 0)
        return constrained_max_rows(&search->options);
    return search->ended_count < beam ? beam - search->ended_count : 0;
}

/* Asks for more tokens than places, since some may be refused or continue phrases. The tree also
 * shows tokens without a place. */
static size_t constrained_wanted(const struct search *search) {
    size_t most = places(search), beam = search->options.beam_size;
    return (search->options.tree && most < beam ? beam : most) + search->options.phrases.count + 1 +
           search->options.phrases.banned_count;
}

static int constrained_start(struct search *search) {
    size_t count = search->options.phrases.count, rows = constrained_max_rows(&search->options);
    struct constrained *own = arena_zalloc(search->arena, 1, sizeof *own);
    if (!own || phrase_paths_init(search, &own->paths) != 0)
        return -1;
    own->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *own->phrases);
    own->options = arena_alloc(search->arena, rows * (rows + 2 * count), sizeof *own->options);
    own->sizes = arena_alloc(search->arena, own->paths.total + 1, sizeof *own->sizes);
    search->state = own;
    return arena_failed(search->arena) ? -1 : 0;
}

/* Adds a continuation of the current row if it may be chosen. Of two with the same token, the
 * better one stays. */
static void add(struct search *search, struct constrained *own, const struct candidate *c) {
    const struct phrases *phrases = &search->options.phrases;
    struct progress *trial = own->paths.next;
    if (!(c->merit > -INFINITY))
        return;
    progress_take(phrases, &own->paths.now[c->row], c->token, trial);
    if (c->token != search->ids.end &&
        !phrase_paths_fit(search, &own->paths, trial, search->step + 1))
        return;
    if (!(c->merit / search_divisor(search, search->step + 1) >= own->floor))
        return;
    size_t i = own->first;
    while (i < own->count && own->options[i].candidate.token != c->token)
        i++;
    if (i < own->count && own->options[i].candidate.merit >= c->merit)
        return;
    own->options[i] = (struct option){.candidate = *c, .bank = progress_tokens(phrases, trial)};
    own->count += i == own->count;
}

/* Adds the continuations of a row: tokens of phrases, and its best tokens. */
static void add_row(struct search *search, struct constrained *own, const struct distribution *rows,
                    size_t r) {
    struct candidate best[SEARCH_MAX_ROWS + 1];
    const struct progress *progress = &own->paths.now[r];
    own->first = own->count;
    size_t count = phrases_next(search, rows, r, progress, own->phrases);
    for (size_t i = 0; i < count; i++)
        add(search, own, &own->phrases[i]);

    bool at_end = progress_at_end(&search->options.phrases, progress);
    size_t k = places(search);
    if (at_end) { /* any number of the better tokens may continue a word, so all tokens are
                     considered */
        count = 0;
        search_take_path(search, r);
        for (size_t i = 0; i < rows[r].size; i++) {
            int token = rows[r].ids ? rows[r].ids[i] : (int)i;
            float log_prob = rows[r].logits[i] - rows[r].log_sum;
            if (count == k &&
                !((double)log_prob + (search->leaves[r] ? search->leaves[r]->merit : 0) >
                  best[k - 1].merit))
                continue;
            if (phrases_refuse(search, progress, true, token) ||
                search_breaks_character(search, rows[r].ids, token))
                continue;
            double merit = search_merit(search, token, log_prob);
            if (merit > -INFINITY)
                search_insert(best, &count, k, search_candidate(search, r, token, log_prob, merit));
        }
    } else {
        count = search_best(search, rows, r, k + 1, best);
    }
    double taken = progress->at > 0 && !at_end ? credit(search, r, progress) : 0;
    for (size_t i = 0, added = 0; i < count && added < k; i++) {
        if (phrases_refuse(search, progress, at_end, best[i].token))
            continue;
        best[i].merit -= taken;
        add(search, own, &best[i]);
        added++;
    }
}

static int by_merit(const void *a, const void *b) {
    const struct candidate *left = &((const struct option *)a)->candidate,
                           *right = &((const struct option *)b)->candidate;
    if (left->merit != right->merit)
        return left->merit > right->merit ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return (left->token > right->token) - (left->token < right->token);
}

static int constrained_advance(struct search *search, const struct distribution *rows,
                               struct error *err) {
    struct constrained *own = search->state;
    struct candidate chosen[SEARCH_MAX_ROWS], others[SEARCH_MAX_ROWS];
    if (search->step == search->options.prefix_length)
        phrase_paths_take_prefix(search, &own->paths);
    own->count = 0;
    /* Once n_best have ended, a continuation that scores less than the best of them is dropped: if
     * it lacks phrases, it could not end and would stay for long. */
    own->floor = -INFINITY;
    for (size_t i = 0; search->ended_count >= search->options.n_best && i < search->ended_count;
         i++)
        own->floor = fmax(own->floor, search_score(search, search->ended[i]));
    for (size_t r = 0; r < search->rows; r++)
        add_row(search, own, rows, r);

    /* The places are shared among the banks; once some have ended there are no banks, and all
     * options have the same rank. */
    size_t k = places(search), count = 0;
    qsort(own->options, own->count, sizeof *own->options, by_merit);
    for (size_t bank = 0; bank <= own->paths.total; bank++)
        own->sizes[bank] = 0;
    for (size_t i = 0; i < own->count; i++)
        own->options[i].rank = search->ended_count == 0 ? own->sizes[own->options[i].bank]++ : 0;
    for (size_t rank = 0; count < k && rank < own->count; rank++)
        for (size_t i = 0; count < k && i < own->count; i++)
            if (own->options[i].rank == rank)
                chosen[count++] = own->options[i].candidate;

    /* If some continuations end, only the best of the others stay, as many as the beam has places
     * left. */
    size_t ends = 0, other_count = 0, taken = search->ended_count;
    for (size_t i = 0; i < count; i++)
        taken += chosen[i].token == search->ids.end;
    size_t left = taken == 0                          ? count
                  : search->options.beam_size > taken ? search->options.beam_size - taken
                                                      : 0;
    for (size_t i = 0; i < count; i++) {
        if (chosen[i].token == search->ids.end)
            chosen[ends++] = chosen[i];
        else if (left > 0)
            search_insert(others, &other_count, left, chosen[i]);
    }
    count = ends + other_count;
    for (size_t i = ends; i < count; i++)
        chosen[i] = others[i - ends];

    if (search_prune_others(search, rows, chosen, count) != 0 ||
        search_extend(search, rows, chosen, count, err) != 0)
        return search_fail(search, err);
    phrase_paths_move(search, &own->paths, search->rows, search->parents, search->tokens);
    return 0;
}

const struct search_kind search_constrained = {.name = "constrained",
                                               .max_rows = constrained_max_rows,
                                               .wanted = constrained_wanted,
                                               .start = constrained_start,
                                               .advance = constrained_advance};

/* ---- samples: n_best of them, each with its own row after the prefix ----
 * p(token) ~ exp(merit / temperature), limited to the top_k best (Fan et al. 2018), and of those to
 * the fewest best that have top_p of the remaining weight (Holtzman et al. 2020). With phrases, the
 * tokens that continue or begin them are in the pool, too, and count as much as in the beam. A
 * phrase that has begun is completed, and if </s> is drawn before all phrases have come, a phrase
 * replaces it. */

/* Every token of the current row: its index, and its weight in place of a logit. The tokens of
 * phrases follow those of the distribution. */
struct pool {
    struct ranked *tokens; /* [size], room for more */
    size_t size, room;
    struct phrase_paths *paths; /* NULL: there are no phrases */
    struct candidate *phrases;  /* [phrase_count] the last tokens of the pool */
    size_t phrase_count;
};

static size_t sample_max_rows(const struct search_options *options) {
    return options->n_best;
}

static int sample_start(struct search *search) {
    assert(search->options.sampling.temperature > 0 && search->options.sampling.top_p > 0);
    struct pool *pool = search->state = arena_zalloc(search->arena, 1, sizeof *pool);
    if (!pool || search->options.phrases.count == 0)
        return pool ? 0 : -1;
    pool->paths = arena_zalloc(search->arena, 1, sizeof *pool->paths);
    pool->phrases = arena_alloc(search->arena, phrases_most(search), sizeof *pool->phrases);
    return pool->paths && pool->phrases ? phrase_paths_init(search, pool->paths) : -1;
}

/* Replaces a token's log-probability with its merit, if the row has the token. */
static void reconsider(const struct search *search, const struct distribution *row,
                       struct pool *pool, int token) {
    size_t place = place_of(row, token);
    if (place < row->size)
        pool->tokens[place].logit =
            (float)search_merit(search, token, row->logits[place] - row->log_sum);
}

/* Fills the pool with merits, which differ from log-probabilities only for tokens on the path, </s>
 * and banned tokens, and with the tokens of phrases. Returns -1 if memory is out. */
static int fill(struct search *search, const struct distribution *rows, size_t r,
                struct pool *pool) {
    const struct distribution *row = &rows[r];
    size_t words = row->size, needed = words + phrases_most(search);
    search_take_path(search, r);
    if (pool->room < needed) {
        pool->tokens = arena_alloc(search->arena, needed, sizeof *pool->tokens);
        pool->room = pool->tokens ? needed : 0;
    }
    pool->size = words;
    if (pool->room < needed)
        return -1;
    for (size_t i = 0; i < words; i++)
        pool->tokens[i] = (struct ranked){.token = (int)i, .logit = row->logits[i] - row->log_sum};
    reconsider(search, row, pool, search->ids.end);
    reconsider(search, row, pool, search->ids.banned);
    for (size_t i = 0; search->path && i < search->step; i++)
        reconsider(search, row, pool, search->path[i]);
    for (size_t i = 0; search->ids.bytes && i < words; i++)
        if (search_breaks_character(search, row->ids, row->ids ? row->ids[i] : (int)i))
            pool->tokens[i].logit = -INFINITY;
    if (!pool->paths)
        return 0;

    /* Tokens that the phrases forbid are excluded. </s> keeps its weight: if it is drawn, a phrase
     * takes its place. */
    const struct progress *progress = &pool->paths->now[r];
    const struct search_node *leaf = search->leaves[r];
    bool at_end = progress_at_end(&search->options.phrases, progress);
    pool->phrase_count = phrases_next(search, rows, r, progress, pool->phrases);
    for (size_t i = 0; i < words; i++) {
        int token = row->ids ? row->ids[i] : (int)i;
        if (token != search->ids.end && phrases_refuse(search, progress, at_end, token))
            pool->tokens[i].logit = -INFINITY;
    }
    for (size_t i = 0; i < pool->phrase_count; i++)
        pool->tokens[pool->size++] =
            (struct ranked){.token = (int)(words + i),
                            .logit = (float)(pool->phrases[i].merit - (leaf ? leaf->merit : 0))};

    /* Only phrases are allowed while one has begun, or if only they still fit. */
    bool begun = progress->at > 0 && !at_end;
    bool only = pool->phrase_count > 0 &&
                (begun || !phrase_paths_fit(search, pool->paths, progress, search->step + 1));
    for (size_t i = 0; only && i < words; i++)
        pool->tokens[i].logit = -INFINITY;
    return 0;
}

/* Orders the tokens of the heap that finds the best of the pool. */
static bool ahead(const struct ranked *a, const struct ranked *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

static void swap(struct ranked *a, struct ranked *b) {
    struct ranked c = *a;
    *a = *b;
    *b = c;
}

static void sink(struct ranked *heap, size_t count, size_t i) {
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && ahead(&heap[child + 1], &heap[child]))
            child++;
        if (!ahead(&heap[child], &heap[i]))
            return;
        swap(&heap[child], &heap[i]);
    }
}

/* Moves the best `most` tokens, or fewer that have this weight, to the end of the pool, the best
 * last. Returns their number. */
static size_t take_best(struct pool *pool, size_t most, double weight, double *sum) {
    size_t left = pool->size;
    for (size_t i = left / 2; i-- > 0;)
        sink(pool->tokens, left, i);
    for (*sum = 0; left > 0 && pool->size - left < most && *sum < weight;) {
        swap(&pool->tokens[0], &pool->tokens[--left]);
        sink(pool->tokens, left, 0);
        *sum += (double)pool->tokens[left].logit;
    }
    return pool->size - left;
}

/* Draws a token for a sample. Returns 1, 0 if no token is possible, or -1 if memory is out. */
static int draw(struct search *search, const struct distribution *rows, size_t r, size_t lane,
                struct candidate *out) {
    const struct sampling *sampling = &search->options.sampling;
    struct pool *pool = search->state;
    if (fill(search, rows, r, pool) != 0)
        return -1;

    /* Merits become weights, the greatest of which is 1. */
    float top = -INFINITY, scale = (float)(1 / sampling->temperature);
    double sum = 0;
    for (size_t i = 0; i < pool->size; i++)
        top = fmaxf(top, pool->tokens[i].logit);
    for (size_t i = 0; top > -INFINITY && i < pool->size; i++) {
        float weight = expf((pool->tokens[i].logit - top) * scale);
        pool->tokens[i].logit = weight >= 0 ? weight : 0; /* NaN: impossible */
        sum += (double)pool->tokens[i].logit;
    }
    if (!(sum > 0))
        return 0;

    /* The tokens that may be drawn are moved to the end of the pool. */
    size_t most = sampling->top_k > 0 ? sampling->top_k : pool->size, count = pool->size;
    bool limited = most < pool->size;
    if (limited || sampling->top_p < 1)
        count = take_best(pool, most, limited ? INFINITY : sampling->top_p * sum, &sum);
    if (limited) {
        double weight = sampling->top_p * sum;
        size_t kept = 0;
        for (sum = 0; kept < count && sum < weight; kept++)
            sum += (double)pool->tokens[pool->size - 1 - kept].logit;
        count = kept;
    }

    /* Draws the token at which the sum of weights from the end of the pool exceeds a random number,
     * but never one of weight 0. */
    size_t place = 0;
    struct random_counter counter = {{(uint32_t)search->step, (uint32_t)lane,
                                      (uint32_t)sampling->stream,
                                      (uint32_t)(sampling->stream >> 32)}};
    double left = random_uniform(counter, sampling->seed) * sum;
    for (size_t i = 0; i < count && left >= 0; i++) {
        const struct ranked *token = &pool->tokens[pool->size - 1 - i];
        if (token->logit > 0)
            place = (size_t)token->token;
        left -= (double)token->logit;
    }

    /* If phrases must come before </s>, the one with the best merit replaces it. */
    size_t words = pool->size - pool->phrase_count;
    int token = place >= words ? -1 : rows[r].ids ? rows[r].ids[place] : (int)place;
    if (token == search->ids.end && pool->phrase_count > 0 &&
        phrases_refuse(search, &pool->paths->now[r], false, token)) {
        place = words;
        for (size_t i = 1; i < pool->phrase_count; i++)
            place = pool->phrases[i].merit > pool->phrases[place - words].merit ? words + i : place;
    }
    if (place >= words) {
        *out = pool->phrases[place - words];
    } else {
        float log_prob = rows[r].logits[place] - rows[r].log_sum;
        *out = search_candidate(search, r, token, log_prob, search_merit(search, token, log_prob));
    }
    out->lane = lane;
    return 1;
}

/* All samples begin at the end of the prefix. */
static int sample_advance(struct search *search, const struct distribution *rows,
                          struct error *err) {
    struct candidate chosen[SEARCH_MAX_ROWS];
    bool first = search->step == search->options.prefix_length;
    size_t samples = first ? search->options.n_best : search->rows, count = 0;
    struct pool *pool = search->state;
    if (first && pool->paths)
        phrase_paths_take_prefix(search, pool->paths);
    for (size_t i = 0; i < samples; i++) {
        size_t row = first ? 0 : i;
        int drawn = draw(search, rows, row, first ? i : search->leaves[row]->lane, &chosen[count]);
        if (drawn < 0)
            return search_fail(search, err);
        count += (size_t)drawn;
    }
    if (search_extend(search, rows, chosen, count, err) != 0)
        return -1;
    if (pool->paths)
        phrase_paths_move(search, pool->paths, search->rows, search->parents, search->tokens);
    return 0;
}

/* Samples ask for one best token, which shows whether the scores are numbers at all. */
const struct search_kind search_sample = {.name = "sample",
                                          .draws = true,
                                          .max_rows = sample_max_rows,
                                          .start = sample_start,
                                          .advance = sample_advance};
const struct search_kind search_sample_phrases = {.name = "sample",
                                                  .draws = true,
                                                  .max_rows = sample_max_rows,
                                                  .start = sample_start,
                                                  .advance = sample_advance};
