#include "model/search/search.h"
#include "model/search/search_kind.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Those that one may ask for. */
static const struct search_kind *const kinds[] = {&search_greedy, &search_beam, &search_sample, &search_exact};

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
    return options->strategy->max_rows(options);
}

/* One that comes back to earlier steps has, besides those of its beam, one for each length of a path. */
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
    bool samples = options->strategy == &search_sample;
    options->phrases = phrases;
    options->beam_size = options->strategy == &search_greedy ? 1 : options->beam_size;
    options->approximates = options->strategy == &search_exact;
    options->strategy = samples ? &search_sample_phrases : &search_constrained;
    size_t least = options->prefix_length + phrases_tokens(&options->phrases);
    options->max_length = options->max_length > least ? options->max_length : least;
}

/* ---- start ---- */

/* True if what may come, or how it counts, depends on the tokens before. */
static bool minds_repetition(const struct search_options *options) {
    return options->no_repeat_ngram > 0 || options->repetition_penalty > 1;
}

static int search_allocate(struct search *search, size_t rows) {
    const struct search_options *options = &search->options;
    struct arena *arena = search->arena;
    size_t longest = options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    search->tokens = arena_zalloc(arena, rows, sizeof *search->tokens);
    search->parents = arena_zalloc(arena, rows, sizeof *search->parents);
    search->attention = arena_zalloc(arena, rows, sizeof *search->attention);
    search->alternatives = arena_zalloc(arena, rows, sizeof *search->alternatives);
    search->leaves = arena_zalloc(arena, rows, sizeof *search->leaves);
    search->ended = arena_zalloc(arena, rows > options->n_best ? rows : options->n_best, sizeof *search->ended);
    search->path = minds_repetition(options) ? arena_alloc(arena, longest, sizeof *search->path) : NULL;
    return arena_failed(arena) ? -1 : 0;
}

int search_init(struct search *search, const struct search_options *options, struct search_ids ids, size_t source_length,
                struct arena *arena, struct error *err) {
    const struct search_kind *kind = options->strategy;
    size_t most = kind->max_rows(options);
    assert(most >= 1 && most <= SEARCH_MAX_ROWS && options->max_length >= 1);
    *search = (struct search){.kind = kind,
                              .options = *options,
                              .ids = ids,
                              .source_length = source_length,
                              .arena = arena,
                              .tree = {.arena = arena},
                              .rows = 1,
                              .exhausted = options->approximates,
                              .returns = kind->resumes};
    if (search_allocate(search, most) != 0 || search_new_rows(search) != 0 || (kind->start && kind->start(search) != 0))
        return search_fail(search, err);
    return 0;
}

/* ---- one step ---- */

/* True if the next token is given. */
static bool is_given(const struct search *search) {
    return search->step < search->options.prefix_length || search->kind->given;
}

bool search_looks_up(const struct search *search) {
    return search->kind->looks_up || is_given(search);
}

/* Of k tokens that may be demoted so many, as many more must be known: all those on the path, </s> and what is banned. */
size_t search_wanted(const struct search *search) {
    size_t wanted = is_given(search) ? 0 : search->kind->wanted(search);
    if (wanted > 0)
        wanted += (search->path ? search->step : 0) + !search_allows(search, search->ids.end) + (search->ids.banned >= 0);
    return search->options.alternatives && wanted < SEARCH_ALTERNATIVES ? SEARCH_ALTERNATIVES : wanted;
}

static void show_alternatives(struct search *search, const struct distribution *rows) {
    for (size_t r = 0; search->options.alternatives && r < search->rows; r++) {
        struct alternatives *out = search->alternatives[r];
        out->count = rows[r].top_count < SEARCH_ALTERNATIVES ? rows[r].top_count : SEARCH_ALTERNATIVES;
        for (size_t i = 0; i < out->count; i++) {
            out->tokens[i] = rows[r].top[i].token;
            out->log_probs[i] = rows[r].top[i].logit - rows[r].log_sum;
        }
    }
}

int search_advance(struct search *search, const struct distribution *rows, struct error *err) {
    show_alternatives(search, rows);
    if (search->step >= search->options.prefix_length)
        return search->kind->advance(search, rows, err);
    struct candidate next = search_given(search, rows, 0, search->options.prefix[search->step]);
    return search_extend(search, rows, &next, 1, err);
}

const float *search_kept(const struct search *search, size_t row) {
    const struct search_node *leaf = search->leaves[row];
    return leaf ? leaf->attention + search->source_length + search->options.keep : NULL;
}

void search_past(const struct search *search, size_t row, const float **kept) {
    for (const struct search_node *node = search->leaves[row]; node; node = node->parent)
        kept[node->depth - 1] = node->attention + search->source_length;
}

struct decision search_last(const struct search *search, size_t row) {
    const struct search_node *leaf = search->leaves[row];
    return (struct decision){leaf->token, leaf->log_prob, leaf->attention};
}
