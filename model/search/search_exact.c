/* The best of all: depth-first branch and bound (Stahlberg and Byrne 2019). A beam comes first, whatever the budget: what it finds
 * is returned unless there is better, and bounds the search. Then children come in the order of their log-probability, and a path
 * is given up where nothing behind it can score more than the n-th best complete path. Log-probabilities only fall: no completion
 * of a path of merit m scores more than m / longest^penalty, and coverage_penalty takes away, too.
 *
 * Behind the beam one row: the node in hand. A node's children go on from the decoder state that its batch kept behind its
 * attention row. A node gets its FAN best children; when these are used up and there may be more, it is computed once more and gets
 * the next. So memory is a beam's, a frame for each token of the path in hand, and a copy of each of the n best complete paths. */
#include "model/search/search_kind.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FAN = 32 };
static_assert((int)FAN >= (int)SEARCH_MAX_ROWS, "the first step is the beam's and the search's own");

/* A node of the path in hand that has been computed, or is about to be. */
struct frame {
    struct search_node node;  /* of the first frame: none */
    struct search_node *leaf; /* that node; first frame: the prefix's last, or NULL */
    float *attention;         /* what computing it shows, kept state and all */
    struct alternatives *alternatives;
    float entropy;
    struct candidate children[FAN]; /* [count], best first */
    size_t count, next;             /* next: the first that was not tried */
    size_t tried;                   /* with those of the lists before this one */
    bool more;                      /* there may be children behind these */
};

/* A copy of a complete path behind the prefix. Copies of its tokens' rows are made when first needed and used again. */
struct copy {
    struct saved {
        struct search_node node;
        float *attention;
        struct alternatives alternatives;
    } * *levels; /* [levels of the search] */
    size_t depth;
    double score;
};

struct exact {
    struct frame **frames; /* [levels] made when first needed */
    size_t levels, depth;  /* frames[depth] is in hand */
    size_t steps;
    double scale;          /* 1 / longest^length_penalty */
    struct copy *best;     /* [search->ended_count], best first; room for n_best */
    bool bounded;          /* the beam has ended */
    size_t open, recorded; /* what it left: paths in search->ended that are not complete; branches of the tree */
};

static size_t exact_max_rows(const struct search_options *options) {
    return search_beam.max_rows(options);
}

static size_t exact_wanted(const struct search *search) {
    const struct exact *exact = search->state;
    if (!exact->bounded && exact->steps > 0)
        return search_beam.wanted(search);
    return exact->frames[exact->depth]->tried + FAN;
}

static struct frame *new_frame(const struct search *search) {
    struct frame *frame = arena_zalloc(search->arena, 1, sizeof *frame);
    return frame && search_new_row(search, &frame->attention, &frame->alternatives) == 0 ? frame : NULL;
}

static int exact_start(struct search *search) {
    const struct search_options *options = &search->options;
    size_t longest = options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    struct exact *exact = arena_zalloc(search->arena, 1, sizeof *exact);
    if (!exact)
        return -1;
    exact->levels = longest - options->prefix_length + 1;
    exact->scale = pow((double)longest, -options->length_penalty);
    exact->frames = arena_zalloc(search->arena, exact->levels, sizeof *exact->frames);
    exact->best = arena_zalloc(search->arena, options->n_best, sizeof *exact->best);
    if (arena_failed(search->arena))
        return -1;
    search->state = exact;
    return (exact->frames[0] = arena_zalloc(search->arena, 1, sizeof(struct frame))) ? 0 : -1;
}

/* ---- complete paths ---- */

static struct saved *saved_level(const struct search *search, struct copy *copy, size_t level) {
    struct saved *saved = copy->levels[level];
    if (saved)
        return saved;
    saved = arena_alloc(search->arena, 1, sizeof *saved);
    if (saved)
        saved->attention = arena_alloc(search->arena, search->source_length + search->options.keep, sizeof *saved->attention);
    return copy->levels[level] = saved && saved->attention ? saved : NULL;
}

/* Copies one node of the path, behind a parent. */
static struct search_node *save(const struct search *search, struct copy *copy, size_t level, const struct search_node *node,
                                const struct search_node *parent) {
    struct saved *saved = saved_level(search, copy, level);
    if (!saved)
        return NULL;
    saved->node = *node;
    saved->node.parent = parent;
    memcpy(saved->attention, node->attention, (search->source_length + search->options.keep) * sizeof *saved->attention);
    saved->node.attention = saved->attention;
    if (node->alternatives) {
        saved->alternatives = *node->alternatives;
        saved->node.alternatives = &saved->alternatives;
    }
    return &saved->node;
}

/* The path to last, whose parent is the node in hand. NULL: memory is out. */
static struct search_node *save_path(const struct search *search, struct copy *copy, const struct search_node *last) {
    const struct exact *exact = search->state;
    struct search_node *parent = exact->frames[0]->leaf;
    if (!copy->levels && !(copy->levels = arena_zalloc(search->arena, exact->levels, sizeof *copy->levels)))
        return NULL;
    for (size_t level = 1; level <= exact->depth; level++)
        if (!(parent = save(search, copy, level - 1, exact->frames[level]->leaf, parent)))
            return NULL;
    return save(search, copy, exact->depth, last, parent);
}

static bool is_full(const struct search *search) {
    return search->ended_count == search->options.n_best;
}

static bool is_same(const struct search_node *a, const struct search_node *b) {
    for (; a && b && a->depth == b->depth && a->token == b->token; b = b->parent)
        a = a->parent;
    return !a && !b;
}

/* True if it is among the n best already: the beam found it. */
static bool is_known(const struct search *search, const struct search_node *last) {
    for (size_t i = 0; i < search->ended_count; i++)
        if (is_same(search->ended[i], last))
            return true;
    return false;
}

/* Puts a path among the n best, in place of the last if there are n; those of equal score and before it stay ahead. */
static void exact_insert(struct search *search, struct search_node *last, struct copy copy) {
    struct exact *exact = search->state;
    size_t place = is_full(search) ? search->ended_count - 1 : search->ended_count++;
    for (; place > 0 && exact->best[place - 1].score < copy.score; place--) {
        exact->best[place] = exact->best[place - 1];
        search->ended[place] = search->ended[place - 1];
    }
    exact->best[place] = copy;
    search->ended[place] = last;
}

/* True if such a score has a place among the n best. */
static bool has_place(const struct search *search, double score) {
    const struct exact *exact = search->state;
    return !is_full(search) || score > exact->best[search->ended_count - 1].score;
}

/* A complete path takes its place. 1: it has one, 0: it is not better than the last, -1: memory is out. */
static int complete(struct search *search, struct search_node *last) {
    struct exact *exact = search->state;
    double score = search_score(search, last);
    if (search_grow_once(search, last, BRANCH_FINISHED, exact->recorded) != 0)
        return -1;
    if (is_known(search, last))
        return 1;
    if (!has_place(search, score))
        return 0;
    struct copy copy = exact->best[search->ended_count - is_full(search)];
    struct search_node *saved = save_path(search, &copy, last);
    if (!saved)
        return -1;
    copy.score = score;
    exact_insert(search, saved, copy);
    return 1;
}

/* ---- the path in hand ---- */

/* The node in hand was computed: its next children. */
static int expand(struct search *search, const struct distribution *rows) {
    struct exact *exact = search->state;
    struct frame *frame = exact->frames[exact->depth];
    size_t most = frame->tried + FAN;
    struct arena_mark mark = arena_mark(search->arena);
    struct candidate *best = arena_alloc(search->arena, most, sizeof *best);
    if (!best)
        return -1;
    size_t count = search_best(search, rows, 0, most, best);
    frame->entropy = rows[0].entropy;
    frame->next = 0;
    frame->more = count == most;
    frame->count = count > frame->tried ? count - frame->tried : 0;
    if (frame->count > 0)
        memcpy(frame->children, best + frame->tried, frame->count * sizeof *best);
    arena_release(search->arena, mark);
    return 0;
}

/* Makes this frame's node the live row, to be computed. */
static void exact_show(struct search *search, size_t depth) {
    struct exact *exact = search->state;
    struct frame *frame = exact->frames[depth];
    exact->depth = depth;
    search->step = search->options.prefix_length + depth;
    search->leaves[0] = frame->leaf;
    search->tokens[0] = frame->leaf ? frame->leaf->token : search->ids.end;
    search->attention[0] = frame->attention;
    search->alternatives[0] = frame->alternatives;
}

/* The node of a child of the frame in hand. */
static struct search_node node_of(const struct search *search, const struct frame *frame, const struct candidate *child) {
    const struct exact *exact = search->state;
    return (struct search_node){.parent = frame->leaf,
                                .token = child->token,
                                .log_prob = child->log_prob,
                                .entropy = frame->entropy,
                                .total = child->total,
                                .merit = child->merit,
                                .attention = frame->attention,
                                .alternatives = frame->alternatives,
                                .depth = search->options.prefix_length + exact->depth + 1};
}

/* One token deeper. */
static int descend(struct search *search, const struct search_node *node) {
    struct exact *exact = search->state;
    size_t depth = exact->depth + 1;
    if (!exact->frames[depth] && !(exact->frames[depth] = new_frame(search)))
        return -1;
    struct frame *frame = exact->frames[depth];
    frame->node = *node;
    frame->leaf = &frame->node;
    frame->count = frame->next = frame->tried = 0;
    exact_show(search, depth);
    return search_grow_once(search, frame->leaf, BRANCH_KEPT, exact->recorded);
}

/* Nothing behind a path of this merit can be among the n best. */
static bool hopeless(const struct search *search, double merit) {
    const struct exact *exact = search->state;
    return !has_place(search, merit * exact->scale);
}

/* All children of the frame in hand from the next on are. */
static int give_up(struct search *search, struct frame *frame) {
    const struct exact *exact = search->state;
    exact_show(search, exact->depth); /* whose children they are */
    for (; frame->next < frame->count && frame->tried < search->options.beam_size; frame->next++, frame->tried++)
        if (search_prune_once(search, &frame->children[frame->next], exact->recorded) != 0)
            return -1;
    frame->next = frame->count;
    frame->more = false;
    return 0;
}

/* Where there is no complete path, what the beam was left with. */
static int exact_stop(struct search *search) {
    const struct exact *exact = search->state;
    search->rows = 0;
    if (search->ended_count == 0)
        search->ended_count = exact->open;
    return 0;
}

/* A child with which the path is over. Where all children are such, which differ by their log-probabilities alone, none behind one
 * that has no place has any. Otherwise it is </s>. */
static int try_end(struct search *search, struct frame *frame, struct search_node *node) {
    int placed = complete(search, node);
    if (placed < 0)
        return -1;
    return placed == 0 && node->depth == search->options.max_length ? give_up(search, frame) : 0;
}

/* Takes the next child of the frame in hand. 1: the search goes on without a step, 0: there is a row to be computed, -1. */
static int try_child(struct search *search, struct frame *frame) {
    struct candidate *child = &frame->children[frame->next];
    if (hopeless(search, child->merit))
        return give_up(search, frame) == 0 ? 1 : -1;
    struct search_node node = node_of(search, frame, child);
    bool over = search_is_over(search, &node);
    frame->next++;
    frame->tried++;
    if (over)
        return try_end(search, frame, &node) == 0 ? 1 : -1;
    return descend(search, &node);
}

/* For the children behind its last list. */
static int show_again(struct search *search) {
    const struct exact *exact = search->state;
    exact_show(search, exact->depth);
    return 0;
}

static bool is_spent(const struct search *search) {
    const struct exact *exact = search->state;
    return search->options.max_steps > 0 && exact->steps >= search->options.max_steps;
}

/* On to the next node that must be computed, or to the end. */
static int walk(struct search *search) {
    struct exact *exact = search->state;
    for (;;) {
        struct frame *frame = exact->frames[exact->depth];
        bool used_up = frame->next == frame->count;
        if (used_up && !frame->more) {
            if (exact->depth == 0)
                return exact_stop(search);
            exact->depth--;
            continue;
        }
        int result = used_up ? show_again(search) : try_child(search, frame);
        if (result < 0)
            return -1;
        search->exhausted = result == 0 && is_spent(search);
        if (result == 0)
            return search->exhausted ? exact_stop(search) : 0;
    }
}

/* ---- the beam ---- */

/* What it found, best first. Either all of its paths are complete, or none is. */
static void take_found(struct search *search) {
    struct exact *exact = search->state;
    size_t found = search->ended_count;
    bool complete = found > 0 && search_is_over(search, search->ended[0]);
    search->ended_count = 0;
    exact->open = complete ? 0 : found;
    exact->recorded = search->tree.count;
    for (size_t i = 0; complete && i < found; i++) {
        struct search_node *last = search->ended[i]; /* that insert does not reach yet */
        struct copy copy = {.score = search_score(search, last)};
        if (has_place(search, copy.score))
            exact_insert(search, last, copy);
    }
}

/* The first frame is what both begin with: the row that the search began with, or that came behind the prefix. */
static int exact_begin(struct search *search, const struct distribution *rows) {
    struct exact *exact = search->state;
    struct frame *first = exact->frames[0];
    first->leaf = search->leaves[0];
    first->attention = search->attention[0];
    first->alternatives = search->alternatives[0];
    search->returns = false;
    return expand(search, rows);
}

/* A step of the beam's; behind its last the search goes on from the first frame. */
static int advance_beam(struct search *search, const struct distribution *rows) {
    struct exact *exact = search->state;
    if (search_beam.advance(search, rows, NULL) != 0)
        return -1;
    if (search->rows == 0) {
        take_found(search);
        exact->bounded = search->returns = true;
        search->rows = 1;
    }
    return 0;
}

static int exact_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct exact *exact = search->state;
    if (exact->steps++ == 0 && exact_begin(search, rows) != 0)
        return search_fail(search, err);
    int result = exact->bounded ? expand(search, rows) : advance_beam(search, rows);
    if (result == 0 && exact->bounded)
        result = walk(search);
    return result == 0 ? 0 : search_fail(search, err);
}

const struct search_kind search_exact = {.name = "exact",
                                         .resumes = true,
                                         .max_rows = exact_max_rows,
                                         .wanted = exact_wanted,
                                         .start = exact_start,
                                         .advance = exact_advance};
