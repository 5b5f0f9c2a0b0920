/* This file hides how paths share their beginnings, how a token's merit is computed, and how
 * results are scored. It has the strategies that need nothing else: greedy, beam and forced. */
#include "model/search/search.h"
#include "model/search/search_kind.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- strategies ---- */

static const struct search_kind *const kinds[] = {&search_greedy, &search_beam, &search_sample,
                                                  &search_exact};

const struct search_kind *search_nth(size_t i) {
    return i < sizeof kinds / sizeof *kinds ? kinds[i] : NULL;
}

const struct search_kind *search_find(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *search_name(const struct search_kind *strategy) {
    return strategy->name;
}

size_t search_max_rows(const struct search_options *options) {
    return options->strategy->max_rows ? options->strategy->max_rows(options) : 1;
}

/* Besides the rows of its beam, a search that returns to earlier steps has one row for each length
 * of a path. */
size_t search_max_shown(const struct search_options *options) {
    size_t own = options->strategy->given ? options->prefix_length + 1 : options->max_length;
    return (search_max_rows(options) + options->strategy->resumes) * (own > 0 ? own : 1) + 1;
}

bool search_resumes(const struct search_options *options) {
    return options->strategy->resumes;
}

bool search_constrains(const struct search_options *options) {
    return !options->strategy->given;
}

void search_constrain(struct search_options *options, struct phrases phrases) {
    options->phrases = phrases;
    options->beam_size = options->strategy == &search_greedy ? 1 : options->beam_size;
    options->phrases.approximates = options->strategy == &search_exact;
    /* The cost of a given end hardly depends on what comes before it: per token it would be less
     * after more of anything. */
    for (size_t q = 0; q < phrases.count; q++)
        options->length_penalty = phrases.list[q].last ? 0 : options->length_penalty;
    options->strategy =
        options->strategy == &search_sample ? &search_sample_phrases : &search_constrained;
    size_t least = options->prefix_length + phrases_tokens(&options->phrases);
    options->max_length = options->max_length > least ? options->max_length : least;
}

/* ---- start and end ---- */

int search_fail(struct search *search, struct error *err) {
    search->rows = 0;
    return error_memory(err);
}

size_t search_row_floats(const struct search *search) {
    const struct search_setting *setting = &search->setting;
    return setting->source_length + setting->stored.readout + setting->stored.scores +
           setting->stored.top;
}

struct step_row *search_new_row(struct search *search, bool state) {
    struct step_row *spare = search->spare_rows;
    if (spare && !state) {
        search->spare_rows = spare->next;
        return spare;
    }
    const struct search_setting *setting = &search->setting;
    const struct search_stored *stored = &setting->stored;
    size_t floats = search_row_floats(search) + (state ? stored->state : 0);
    struct step_row *row =
        arena_alloc(search->arena, 1, sizeof *row + floats * sizeof *row->attention);
    struct alternatives *alternatives = search->options.report.alternatives
                                            ? arena_zalloc(search->arena, 1, sizeof *alternatives)
                                            : NULL;
    if (arena_failed(search->arena))
        return NULL;
    float *attention = (float *)(row + 1), *readout = attention + setting->source_length,
          *scores = readout + stored->readout, *top = scores + stored->scores;
    *row = (struct step_row){.attention = attention,
                             .readout = readout,
                             .scores = stored->scores > 0 ? scores : NULL,
                             .alternatives = alternatives,
                             .top = top,
                             .state = state ? top + stored->top : NULL};
    return row;
}

/* Rows with a state are few, and not used again: a search that returns keeps one a level. */
static void spare_row(struct search *search, struct step_row *row) {
    if (row->state)
        return;
    row->next = search->spare_rows;
    search->spare_rows = row;
}

void search_drop(struct search *search, struct search_node *last) {
    while (last && --last->held == 0) {
        struct search_node *parent = last->parent;
        if (--last->row->held == 0)
            spare_row(search, last->row);
        last->parent = search->spare_nodes;
        search->spare_nodes = last;
        last = parent;
    }
}

static struct search_node *new_node(struct search *search) {
    struct search_node *spare = search->spare_nodes;
    if (!spare)
        return arena_alloc(search->arena, 1, sizeof *spare);
    search->spare_nodes = spare->parent;
    return spare;
}

static int new_rows(struct search *search) {
    for (size_t r = 0; r < search->rows; r++)
        if (!(search->shown[r] = search_new_row(search, search->returns)))
            return -1;
    return 0;
}

int search_init(struct search *search, const struct search_options *options,
                const struct search_setting *setting, struct arena *arena, struct error *err) {
    const struct search_kind *kind = options->strategy;
    size_t rows = search_max_rows(options),
           most = setting->replaces ? 2 * rows
                                    : rows; /* up to rows - 1 may have ended before the last step */
    size_t ended = most > options->n_best ? most : options->n_best;
    size_t longest =
        options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    bool minds_repetition = options->no_repeat_ngram > 0 || options->repetition_penalty > 1;
    assert(rows >= 1 && rows <= SEARCH_MAX_ROWS && options->max_length >= 1);
    *search = (struct search){
        .kind = kind,
        .options = *options,
        .setting = *setting,
        .arena = arena,
        .tree = {.arena = arena},
        .rows = 1,
        .last = -1,
        .exhausted = options->phrases.approximates,
        .returns = kind->resumes,
        .tokens = arena_zalloc(arena, rows, sizeof *search->tokens),
        .parents = arena_zalloc(arena, rows, sizeof *search->parents),
        .shown = arena_zalloc(arena, rows, sizeof *search->shown),
        .leaves = arena_zalloc(arena, rows, sizeof *search->leaves),
        .ended = arena_zalloc(arena, ended, sizeof *search->ended),
        .path = minds_repetition ? arena_alloc(arena, longest, sizeof *search->path) : NULL,
    };
    if (arena_failed(arena) || new_rows(search) != 0 || (kind->start && kind->start(search) != 0))
        return search_fail(search, err);
    return 0;
}

bool search_is_over(const struct search *search, const struct search_node *node) {
    size_t limit =
        search->kind->given ? search->options.prefix_length + 1 : search->options.max_length;
    return node->token == search->setting.ids.end || node->depth >= limit;
}

/* ---- characters of several bytes ---- */

/* Returns the byte of a token, or -1 if it is not a byte. */
static int byte_of(const struct search *search, int token) {
    return search->setting.ids.bytes && (size_t)token < search->setting.ids.size
               ? search->setting.ids.bytes[token]
               : -1;
}

/* Returns the bytes that must follow this one (-1: the token is not a byte) if `due` were due
 * before it. count is 0 if the byte completes a character or cannot begin one. */
static struct utf8_due due_after(struct utf8_due due, int byte) {
    if (due.count > 0)
        return (struct utf8_due){
            .count = (unsigned char)(due.count - 1), .least = 0x80, .most = 0xbf};
    if (byte < 0xc2 || byte > 0xf4)
        return (struct utf8_due){0};
    return (struct utf8_due){.count = byte < 0xe0   ? 1
                                      : byte < 0xf0 ? 2
                                                    : 3,
                             .least = byte == 0xe0   ? 0xa0
                                      : byte == 0xf0 ? 0x90
                                                     : 0x80,
                             .most = byte == 0xed   ? 0x9f
                                     : byte == 0xf4 ? 0x8f
                                                    : 0xbf};
}

/* No character of several bytes may begin with a shortlist, which may lack the bytes that must
 * follow. */
bool search_breaks_character(const struct search *search, const int *ids, int token) {
    int byte = byte_of(search, token);
    if (!search->setting.ids.bytes)
        return false;
    if (search->due.count > 0)
        return byte < search->due.least || byte > search->due.most;
    if (byte < 0 || (byte > 0 && byte < 0x80))
        return false;
    struct utf8_due due = due_after((struct utf8_due){0}, byte);
    return due.count == 0 || ids || search->step + 1 + due.count > search->options.max_length;
}

/* ---- the merit of a token ---- */

static bool is_forbidden(const struct search *search, int token) {
    const struct phrases *phrases = &search->options.phrases;
    const struct search_refusals *refusals = &search->options.refusals;
    size_t id = (size_t)token, last = (size_t)search->last;
    if (phrases->forbidden && id < phrases->size && phrases->forbidden[token])
        return true;
    if (!refusals->refused || id >= refusals->size)
        return false;
    uint32_t left = search->last < 0        ? refusals->first
                    : last < refusals->size ? refusals->leaves[last]
                                            : 0;
    return (refusals->refused[token] & left & refusals->mask) != 0;
}

/* Returns false if the token is banned or forbidden, or is </s> before min_length. */
static bool allows(const struct search *search, int token) {
    return !is_forbidden(search, token) && token != search->setting.ids.banned &&
           (token != search->setting.ids.end || search->step >= search->options.min_length);
}

double search_merit(const struct search *search, int token, float log_prob) {
    const struct search_options *options = &search->options;
    const int *path = search->path;
    size_t length = search->step, n = options->no_repeat_ngram;
    if (!allows(search, token))
        return -INFINITY;
    /* With this token, the path must not contain a sequence of n tokens twice. */
    for (size_t i = 0; path && n > 0 && i + n <= length; i++)
        if (path[i + n - 1] == token &&
            memcmp(path + i, path + length - (n - 1), (n - 1) * sizeof *path) == 0)
            return -INFINITY;
    for (size_t i = 0; path && options->repetition_penalty > 1 && i < length; i++)
        if (path[i] == token)
            return options->repetition_penalty * (double)log_prob;
    return (double)log_prob;
}

void search_take_path(struct search *search, size_t row) {
    search->due = search->leaves[row] ? search->leaves[row]->due : (struct utf8_due){0};
    search->last = search->leaves[row] ? search->leaves[row]->token : -1;
    if (!search->path)
        return;
    for (const struct search_node *node = search->leaves[row]; node; node = node->parent)
        search->path[node->depth - 1] = node->token;
}

struct candidate search_candidate(const struct search *search, size_t row, int token,
                                  float log_prob, double merit) {
    const struct search_node *leaf = search->leaves[row];
    return (struct candidate){.row = row,
                              .token = token,
                              .log_prob = log_prob,
                              .total = (leaf ? leaf->total : 0) + (double)log_prob,
                              .merit = (leaf ? leaf->merit : 0) + merit,
                              .lane = leaf ? leaf->lane : 0};
}

/* Returns the continuation by a given token, without bans and penalties. */
static struct candidate given_candidate(const struct search *search,
                                        const struct distribution *rows, size_t row, int token) {
    assert(rows[row].logits && !rows[row].ids);
    bool known = (size_t)token < rows[row].size; /* otherwise it gets the average probability */
    float log_prob =
        known ? rows[row].logits[token] - rows[row].log_sum : -logf((float)rows[row].size);
    return search_candidate(search, row, token, log_prob, (double)log_prob);
}

static int by_id(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

size_t search_place(const struct distribution *row, int token) {
    if (!row->ids)
        return (size_t)token < row->size ? (size_t)token : row->size;
    const int *found = bsearch(&token, row->ids, row->size, sizeof *row->ids, by_id);
    return found ? (size_t)(found - row->ids) : row->size;
}

void search_insert(struct candidate *chosen, size_t *count, size_t k, struct candidate c) {
    assert(k > 0 && *count <= k);
    if (*count == k && !(c.merit > chosen[k - 1].merit))
        return;
    size_t place = *count < k ? (*count)++ : k - 1;
    for (; place > 0 && chosen[place - 1].merit < c.merit; place--)
        chosen[place] = chosen[place - 1];
    chosen[place] = c;
}

size_t search_best(struct search *search, const struct distribution *rows, size_t row, size_t k,
                   struct candidate *best) {
    const struct distribution *d = &rows[row];
    size_t count = 0, broken = 0;
    search_take_path(search, row);
    for (size_t i = 0; i < d->top_count && (search->path || count < k); i++) {
        int token = d->top[i].token;
        float log_prob = d->top[i].logit - d->log_sum;
        if (is_forbidden(search, token) || search_breaks_character(search, d->ids, token)) {
            broken++;
            continue;
        }
        double merit = search_merit(search, token, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, row, token, log_prob, merit));
    }
    if (broken == 0 || count == k)
        return count;

    /* Too many of the best tokens are forbidden, or bytes that are not allowed here, so all tokens
     * are considered. */
    count = 0;
    for (size_t i = 0; i < d->size; i++) {
        int token = d->ids ? d->ids[i] : (int)i;
        float log_prob = d->logits[i] - d->log_sum;
        double merit = search_breaks_character(search, d->ids, token)
                           ? -INFINITY
                           : search_merit(search, token, log_prob);
        if (merit > -INFINITY)
            search_insert(best, &count, k, search_candidate(search, row, token, log_prob, merit));
    }
    return count;
}

/* ---- one step ---- */

bool search_is_given(const struct search *search) {
    return search->step < search->options.prefix_length || search->kind->given;
}

bool search_reads_all(const struct search *search) {
    return search_is_given(search) || search->options.phrases.count > 0 || search->kind->draws ||
           search->setting.ids.bytes || search->options.phrases.forbidden ||
           search->options.refusals.refused;
}

/* Tokens on the path, </s> and banned tokens may be demoted, so as many more must be known. */
size_t search_wanted(const struct search *search) {
    size_t wanted = search_is_given(search) ? 0
                    : search->kind->wanted  ? search->kind->wanted(search)
                                            : 1;
    if (wanted > 0)
        wanted += (search->path ? search->step : 0) + !allows(search, search->setting.ids.end) +
                  (search->setting.ids.banned >= 0);
    return search->options.report.alternatives && wanted < SEARCH_ALTERNATIVES ? SEARCH_ALTERNATIVES
                                                                               : wanted;
}

int search_advance(struct search *search, const struct distribution *rows, struct error *err) {
    for (size_t r = 0; search->options.report.alternatives && r < search->rows; r++) {
        struct alternatives *out = search->shown[r]->alternatives;
        out->count =
            rows[r].top_count < SEARCH_ALTERNATIVES ? rows[r].top_count : SEARCH_ALTERNATIVES;
        for (size_t i = 0; i < out->count; i++) {
            out->tokens[i] = rows[r].top[i].token;
            out->log_probs[i] = rows[r].top[i].logit - rows[r].log_sum;
        }
    }
    if (search->step >= search->options.prefix_length)
        return search->kind->advance(search, rows, err);
    struct candidate next = given_candidate(search, rows, 0, search->options.prefix[search->step]);
    return search_extend(search, rows, &next, 1, err);
}

int search_extend(struct search *search, const struct distribution *rows,
                  const struct candidate *chosen, size_t count, struct error *err) {
    struct search_node *live[SEARCH_MAX_ROWS];
    size_t live_count = 0;
    /* If bans leave no token, the paths end as they are. */
    bool stuck = count == 0 && search->ended_count == 0;
    for (size_t r = 0; stuck && r < search->rows; r++)
        if (search->leaves[r] && rows[r].top_count > 0) {
            search->leaves[r]->held++;
            search->ended[search->ended_count++] = search->leaves[r];
        }

    for (size_t i = 0; i < count; i++) {
        const struct candidate *c = &chosen[i];
        struct search_node *leaf = search->leaves[c->row], *node = new_node(search);
        if (!node)
            return search_fail(search, err);
        *node = (struct search_node){
            .parent = leaf,
            .token = c->token,
            .log_prob = c->log_prob,
            .entropy = rows[c->row].entropy,
            .total = c->total,
            .merit = c->merit,
            .row = search->shown[c->row],
            .held = 1,
            .depth = search->step + 1,
            .lane = c->lane,
            .due = due_after(leaf ? leaf->due : (struct utf8_due){0}, byte_of(search, c->token))};
        node->row->held++;
        if (leaf)
            leaf->held++;
        bool over = search_is_over(search, node);
        if (search_grow(search, node, over ? BRANCH_FINISHED : BRANCH_KEPT, 0) != 0)
            return search_fail(search, err);
        if (over) {
            search->ended[search->ended_count++] = node;
        } else {
            search->parents[live_count] = c->row;
            search->tokens[live_count] = c->token;
            live[live_count++] = node;
        }
    }

    for (size_t r = 0; r < search->rows; r++) { /* what no path continues */
        search_drop(search, search->leaves[r]);
        if (search->shown[r]->held == 0)
            spare_row(search, search->shown[r]);
    }
    search->rows = live_count;
    search->step++;
    if (live_count > 0)
        memcpy(search->leaves, live, live_count * sizeof(struct search_node *));
    return new_rows(search) == 0 ? 0 : search_fail(search, err);
}

const float *search_state(const struct search *search, size_t row) {
    const struct search_node *leaf = search->leaves[row];
    return leaf ? leaf->row->state : NULL;
}

void search_past(const struct search *search, size_t row, const float **past) {
    for (const struct search_node *node = search->leaves[row]; node; node = node->parent)
        past[node->depth - 1] = node->row->added;
}

struct decision search_last(const struct search *search, size_t row) {
    const struct search_node *leaf = search->leaves[row];
    return (struct decision){leaf->token, leaf->log_prob, leaf->row};
}

/* ---- results ---- */

double search_divisor(const struct search *search, size_t length) {
    return pow((double)(length + search->setting.opening_length), search->options.length_penalty);
}

static double normalised(const struct search *search, const struct search_node *last) {
    return last->merit / search_divisor(search, last->depth);
}

/* Wu et al. 2016 add beta * the sum over j of log(min(1, sum over i of a_ij)). A source token that
 * never gets attention counts as log(FLT_MIN). */
double search_score(const struct search *search, const struct search_node *last) {
    double score = normalised(search, last), beta = search->options.coverage_penalty, sum = 0;
    if (!(beta > 0))
        return score;
    for (size_t j = 0; j < search->setting.source_length; j++) {
        double got = 0;
        for (const struct search_node *node = last; node && got < 1; node = node->parent)
            got += (double)node->row->attention[j];
        sum += log(fmin(1, fmax(got, (double)FLT_MIN)));
    }
    return score + beta * sum;
}

int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count,
                   struct error *err) {
    struct arena *arena = search->arena;
    struct hypothesis *list = arena_alloc(arena, search->ended_count, sizeof *list);
    if (!list)
        return error_memory(err);
    for (size_t i = 0; i < search->ended_count; i++) {
        const struct search_node *last = search->ended[i];
        size_t steps = last->depth,
               length = last->token == search->setting.ids.end ? steps - 1 : steps;
        int *tokens = arena_alloc(arena, steps, sizeof *tokens);
        float *log_probs = arena_alloc(arena, steps, sizeof *log_probs);
        float *entropies = arena_alloc(arena, steps, sizeof *entropies);
        const float **attention = arena_alloc(arena, steps, sizeof *attention);
        const struct step_row **rows = arena_alloc(arena, steps, sizeof *rows);
        if (arena_failed(arena))
            return error_memory(err);
        for (const struct search_node *node = last; node; node = node->parent) {
            size_t at = node->depth - 1;
            tokens[at] = node->token;
            log_probs[at] = node->log_prob;
            entropies[at] = node->entropy;
            attention[at] = node->row->attention;
            rows[at] = node->row;
        }

        double score = search_score(search, last);
        size_t place = i; /* insertion: among equal scores the one that ended first stays ahead */
        for (; place > 0 && list[place - 1].score < score; place--)
            list[place] = list[place - 1];
        list[place] = (struct hypothesis){.tokens = tokens,
                                          .length = length,
                                          .ended = length < steps,
                                          .finish = search->exhausted ? FINISH_BUDGET
                                                    : length < steps  ? FINISH_EOS
                                                                      : FINISH_LENGTH,
                                          .log_probs = log_probs,
                                          .entropies = entropies,
                                          .attention = attention,
                                          .alignment = attention,
                                          .rows = rows,
                                          .log_prob = last->total,
                                          .score = score};
    }
    *hypotheses = list;
    *count =
        search->ended_count < search->options.n_best ? search->ended_count : search->options.n_best;
    return 0;
}

/* ---- the tree ---- */

/* Pruned branches are recorded while the tree is small, other branches up to a limit that no beam
 * reaches. */
enum { MAX_WITH_PRUNED = 10000, MAX_BRANCHES = MAX_WITH_PRUNED + SEARCH_MAX_ROWS * 1100 };
/* Branches lie together in blocks that never move. */
enum {
    BRANCHES_TOGETHER = 256,
    MAX_BLOCKS = (MAX_BRANCHES + BRANCHES_TOGETHER - 1) / BRANCHES_TOGETHER
};

static struct branch *branch_at(const struct search *search, size_t id) {
    return &search->tree.blocks[id / BRANCHES_TOGETHER][id % BRANCHES_TOGETHER];
}

const struct branch *search_branch(const struct search *search, size_t id) {
    return branch_at(search, id);
}

static uint32_t parent_of(const struct search_node *node) {
    return node->parent ? (uint32_t)node->parent->branch : BRANCH_START;
}

static struct branch branch_of(const struct search *search, const struct search_node *node,
                               enum branch_state state) {
    double score = state == BRANCH_FINISHED ? search_score(search, node) : normalised(search, node);
    return (struct branch){.parent = parent_of(node),
                           .step = (uint32_t)(node->depth - 1),
                           .token = node->token,
                           .log_prob = node->log_prob,
                           .score = (float)score,
                           .state = state};
}

static int add_branch(struct search *search, const struct search_node *node,
                      enum branch_state state) {
    size_t count = search->tree.count;
    if (count % BRANCHES_TOGETHER == 0) {
        if (!search->tree.blocks)
            search->tree.blocks =
                arena_alloc(search->tree.arena, MAX_BLOCKS, sizeof *search->tree.blocks);
        struct branch *block = arena_alloc(search->tree.arena, BRANCHES_TOGETHER, sizeof *block);
        if (!search->tree.blocks || !block)
            return -1;
        search->tree.blocks[count / BRANCHES_TOGETHER] = block;
    }
    *branch_at(search, search->tree.count++) = branch_of(search, node, state);
    return 0;
}

/* Returns the id of the node's branch, or `recorded` if the first `recorded` branches lack it.
 * Parents precede their children. */
static size_t find_branch(const struct search *search, const struct search_node *node,
                          size_t recorded) {
    uint32_t parent = parent_of(node);
    size_t i = parent == BRANCH_START ? 0 : parent + 1;
    while (i < recorded &&
           !(branch_at(search, i)->parent == parent && branch_at(search, i)->token == node->token))
        i++;
    return i < recorded ? i : recorded;
}

int search_grow(struct search *search, struct search_node *node, enum branch_state state,
                size_t recorded) {
    size_t found = find_branch(search, node, recorded);
    node->branch = found < recorded ? found : search->tree.count;
    if (found < recorded)
        *branch_at(search, found) = branch_of(search, node, state);
    else if (search->options.report.tree && search->tree.count < MAX_BRANCHES)
        return add_branch(search, node, state);
    return 0;
}

int search_prune(struct search *search, const struct candidate *c, size_t recorded) {
    struct search_node node = {.parent = search->leaves[c->row],
                               .token = c->token,
                               .log_prob = c->log_prob,
                               .merit = c->merit,
                               .depth = search->step + 1};
    if (!search->options.report.tree || search->tree.count >= MAX_WITH_PRUNED ||
        find_branch(search, &node, recorded) < recorded)
        return 0;
    return add_branch(search, &node, BRANCH_PRUNED);
}

int search_prune_others(struct search *search, const struct distribution *rows,
                        const struct candidate *chosen, size_t count) {
    struct candidate best[SEARCH_MAX_ROWS];
    for (size_t r = 0; search->options.report.tree && r < search->rows; r++) {
        size_t n = search_best(search, rows, r, search->options.beam_size, best);
        for (size_t i = 0; i < n; i++) {
            size_t same = 0;
            while (same < count && !(chosen[same].row == r && chosen[same].token == best[i].token))
                same++;
            if (same == count && search_prune(search, &best[i], 0) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- greedy: the best token of each step ---- */

static int greedy_advance(struct search *search, const struct distribution *rows,
                          struct error *err) {
    struct candidate best;
    size_t count = search_best(search, rows, 0, 1, &best);
    return search_extend(search, rows, &best, count, err);
}

const struct search_kind search_greedy = {.name = "greedy", .advance = greedy_advance};

/* ---- forced: the whole target is given as the prefix, followed by </s> ---- */

static int forced_advance(struct search *search, const struct distribution *rows,
                          struct error *err) {
    struct candidate end = given_candidate(search, rows, 0, search->setting.ids.end);
    return search_extend(search, rows, &end, 1, err);
}

const struct search_kind search_forced = {
    .name = "forced", .given = true, .advance = forced_advance};

/* ---- beam: Marian's rule, the best k continuations of all rows by merit, where k = beam size -
 * finished ---- */

size_t search_beam_rows(const struct search_options *options) {
    return options->beam_size;
}

static bool beam_replaces(const struct search *search) {
    return search->setting.replaces && search->kind == &search_beam;
}

/* The tree also shows continuations for which the finished hypotheses leave no place. */
static size_t beam_wanted(const struct search *search) {
    if (beam_replaces(search))
        return 2 * search->options.beam_size;
    return search->options.report.tree ? search->options.beam_size
                                       : search->options.beam_size - search->ended_count;
}

/* If ended hypotheses give up their places, each of the best k continuations that ends passes its
 * place to one of the next k that does not end. */
static int beam_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate all[2 * SEARCH_MAX_ROWS], best[2 * SEARCH_MAX_ROWS],
        chosen[2 * SEARCH_MAX_ROWS];
    bool replaces = beam_replaces(search), last = search->step + 1 == search->options.max_length;
    size_t k = search->options.beam_size - (replaces ? 0 : search->ended_count),
           most = replaces ? 2 * k : k;
    size_t found = 0, count = 0, next = k;
    for (size_t r = 0; r < search->rows; r++) {
        size_t n = search_best(search, rows, r, most, best);
        for (size_t i = 0; i < n; i++)
            search_insert(all, &found, most, best[i]);
    }
    for (size_t i = 0; i < k && i < found; i++) {
        chosen[count++] = all[i];
        if (!replaces || last || all[i].token != search->setting.ids.end)
            continue;
        while (next < found && all[next].token == search->setting.ids.end)
            next++;
        if (next < found)
            chosen[count++] = all[next++];
    }
    if (search_prune_others(search, rows, chosen, count) != 0)
        return search_fail(search, err);
    int result = search_extend(search, rows, chosen, count, err);
    if (replaces && search->ended_count >= k)
        search->rows = 0;
    return result;
}

const struct search_kind search_beam = {
    .name = "beam", .max_rows = search_beam_rows, .wanted = beam_wanted, .advance = beam_advance};
