/* This search finds the best of all hypotheses by depth-first branch and bound (Stahlberg and Byrne
 * 2019). A beam comes first, with any budget: its result is returned unless there is a better one,
 * and it bounds the search. Then children are tried in the order of their log-probability, and a
 * path is abandoned when no continuation of it can score more than the n-th best complete path.
 * Log-probabilities only fall: no completion of a path of merit m scores more than m /
 * longest^penalty, and coverage_penalty only lowers scores.
 *
 * After the beam there is one row: the current node. A node's children continue from the decoder
 * state that its batch stored with its row. A node gets its FAN best children; when
 * these are used up and there may be more, the node is computed again and gets the next ones. So
 * the memory needed is a beam's, a frame for each token of the current path, and a copy of each of
 * the n best paths. */
#include "model/search/search_kind.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { FAN = 32 };
static_assert((int)FAN >= (int)SEARCH_MAX_ROWS,
              "the first step is the beam's and the search's own");

/* A node of the current path that has been computed, or is about to be. */
struct frame {
    struct search_node node;  /* undefined in the first frame */
    struct search_node *leaf; /* that node; first frame: the prefix's last, or NULL */
    struct step_row *row;     /* the results of computing it, stored state and all */
    float entropy;
    struct candidate children[FAN]; /* [count], best first */
    size_t count, next;             /* next: the first child not tried yet */
    size_t tried;                   /* including those of earlier lists */
    bool more;                      /* there may be children after these */
};

/* A copy of a complete path after the prefix. Copies of its tokens' rows are made when first needed
 * and used again. */
struct copy {
    struct saved {
        struct search_node node;
        struct step_row *row;
    } * *levels; /* [levels of the search] */
    double score;
};

struct exact {
    struct frame **frames; /* [levels] made when first needed */
    size_t levels, depth;  /* frames[depth] is the current one */
    size_t steps;
    double scale;      /* 1 / longest^length_penalty */
    struct copy *best; /* [search->ended_count], best first; room for n_best */
    bool bounded;      /* the beam has ended */
    size_t open;       /* incomplete paths in search->ended that the beam left */
    size_t recorded;   /* branches of the tree that the beam left */
};

static size_t exact_wanted(const struct search *search) {
    const struct exact *exact = search->state;
    if (!exact->bounded && exact->steps > 0)
        return search_beam.wanted(search);
    return exact->frames[exact->depth]->tried + FAN;
}

static int exact_start(struct search *search) {
    const struct search_options *options = &search->options;
    size_t longest =
        options->max_length > options->prefix_length ? options->max_length : options->prefix_length;
    struct exact *exact = search->state = arena_zalloc(search->arena, 1, sizeof *exact);
    if (!exact)
        return -1;
    exact->levels = longest - options->prefix_length + 1;
    exact->scale = 1 / search_divisor(search, longest);
    exact->frames = arena_zalloc(search->arena, exact->levels, sizeof *exact->frames);
    exact->best = arena_zalloc(search->arena, options->n_best, sizeof *exact->best);
    if (arena_failed(search->arena))
        return -1;
    return (exact->frames[0] = arena_zalloc(search->arena, 1, sizeof(struct frame))) ? 0 : -1;
}

/* ---- complete paths ---- */

static bool is_full(const struct search *search) {
    return search->ended_count == search->options.n_best;
}

/* Returns whether a path with this score has a place among the n best. */
static bool has_place(const struct search *search, double score) {
    const struct exact *exact = search->state;
    return !is_full(search) || score > exact->best[search->ended_count - 1].score;
}

/* Inserts a path into the n best, replacing the last one if there are n; earlier paths of equal
 * score stay ahead. */
static void insert(struct search *search, struct search_node *last, struct copy copy) {
    struct exact *exact = search->state;
    size_t place = is_full(search) ? search->ended_count - 1 : search->ended_count++;
    for (; place > 0 && exact->best[place - 1].score < copy.score; place--) {
        exact->best[place] = exact->best[place - 1];
        search->ended[place] = search->ended[place - 1];
    }
    exact->best[place] = copy;
    search->ended[place] = last;
}

/* Inserts the complete path to `last`, a child of the current node, into the n best. Returns 1 if
 * the path is among them, 0 if it is not good enough, or -1 if memory is out. */
static int complete(struct search *search, struct search_node *last) {
    struct exact *exact = search->state;
    double score = search_score(search, last);
    if (search_grow(search, last, BRANCH_FINISHED, exact->recorded) != 0)
        return -1;
    for (size_t i = 0; i < search->ended_count; i++) {
        const struct search_node *a = search->ended[i], *b = last;
        for (; a && b && a->depth == b->depth && a->token == b->token; b = b->parent)
            a = a->parent;
        if (!a && !b) /* the beam has found the same path */
            return 1;
    }
    if (!has_place(search, score))
        return 0;

    struct copy copy = exact->best[search->ended_count - is_full(search)];
    struct search_node *parent = exact->frames[0]->leaf;
    size_t floats = search_row_floats(search);
    if (!copy.levels &&
        !(copy.levels = arena_zalloc(search->arena, exact->levels, sizeof *copy.levels)))
        return -1;
    for (size_t level = 0; level <= exact->depth; level++) {
        const struct search_node *node =
            level < exact->depth ? exact->frames[level + 1]->leaf : last;
        struct saved *own = copy.levels[level];
        if (!own) {
            own = arena_alloc(search->arena, 1, sizeof *own);
            if (!own || !(own->row = search_new_row(search, false)))
                return -1;
            copy.levels[level] = own;
        }
        own->node = *node;
        own->node.parent = parent;
        own->node.row = own->row;
        memcpy(own->row->attention, node->row->attention, floats * sizeof *own->row->attention);
        if (own->row->alternatives)
            *own->row->alternatives = *node->row->alternatives;
        parent = &own->node;
    }
    copy.score = score;
    insert(search, parent, copy);
    return 1;
}

/* ---- the current path ---- */

/* Takes the next children of the current node, which was just computed. */
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

/* Makes this frame's node the live row. */
static void show(struct search *search, size_t depth) {
    struct exact *exact = search->state;
    struct frame *frame = exact->frames[depth];
    exact->depth = depth;
    search->step = search->options.prefix_length + depth;
    search->leaves[0] = frame->leaf;
    search->tokens[0] = frame->leaf ? frame->leaf->token : search->setting.ids.end;
    search->shown[0] = frame->row;
}

/* Drops all remaining children of the current frame. */
static int give_up(struct search *search, struct frame *frame) {
    const struct exact *exact = search->state;
    show(search, exact->depth); /* the children are its node's */
    for (; frame->next < frame->count && frame->tried < search->options.beam_size;
         frame->next++, frame->tried++)
        if (search_prune(search, &frame->children[frame->next], exact->recorded) != 0)
            return -1;
    frame->next = frame->count;
    frame->more = false;
    return 0;
}

/* Ends the search. Without a complete path, the result is that of the beam. */
static void stop(struct search *search) {
    const struct exact *exact = search->state;
    search->rows = 0;
    if (search->ended_count == 0)
        search->ended_count = exact->open;
}

/* Moves to the next node that must be computed, or ends the search. */
static int walk(struct search *search) {
    struct exact *exact = search->state;
    for (;;) {
        struct frame *frame = exact->frames[exact->depth];
        if (frame->next == frame->count &&
            frame->more) { /* computes the node again, for the children after its last list */
            show(search, exact->depth);
            break;
        }
        if (frame->next == frame->count && exact->depth == 0) {
            stop(search);
            return 0;
        }
        if (frame->next == frame->count) {
            exact->depth--;
            continue;
        }

        const struct candidate *child = &frame->children[frame->next];
        if (!has_place(search,
                       child->merit * exact->scale)) { /* no continuation has a place either */
            if (give_up(search, frame) != 0)
                return -1;
            continue;
        }
        struct search_node node = {.parent = frame->leaf,
                                   .token = child->token,
                                   .log_prob = child->log_prob,
                                   .entropy = frame->entropy,
                                   .total = child->total,
                                   .merit = child->merit,
                                   .row = frame->row,
                                   .depth = search->options.prefix_length + exact->depth + 1};
        frame->next++;
        frame->tried++;
        if (search_is_over(search, &node)) {
            int placed = complete(search, &node);
            /* At the length limit all children are complete and differ only by their
             * log-probabilities: no later one has a place either. */
            bool none = placed == 0 && node.depth == search->options.max_length;
            if (placed < 0 || (none && give_up(search, frame) != 0))
                return -1;
            continue;
        }

        /* the child becomes the live row */
        struct frame *below = exact->frames[exact->depth + 1];
        if (!below) {
            below = arena_zalloc(search->arena, 1, sizeof *below);
            if (!below || !(below->row = search_new_row(search, true)))
                return -1;
            exact->frames[exact->depth + 1] = below;
        }
        below->node = node;
        below->leaf = &below->node;
        below->count = below->next = below->tried = 0;
        show(search, exact->depth + 1);
        if (search_grow(search, below->leaf, BRANCH_KEPT, exact->recorded) != 0)
            return -1;
        break;
    }
    search->exhausted = search->options.max_steps > 0 && exact->steps >= search->options.max_steps;
    if (search->exhausted)
        stop(search);
    return 0;
}

static int exact_advance(struct search *search, const struct distribution *rows,
                         struct error *err) {
    struct exact *exact = search->state;
    if (exact->steps++ == 0) {
        /* The beam and the exact search both begin with the first frame, which is the initial row
         * or the row after the prefix. */
        struct frame *first = exact->frames[0];
        first->leaf = search->leaves[0];
        first->row = search->shown[0];
        first->row->held++; /* the beam may drop all that continues them */
        if (first->leaf)
            first->leaf->held++;
        search->returns = false;
        if (expand(search, rows) != 0)
            return search_fail(search, err);
    }
    if (exact->bounded)
        return expand(search, rows) == 0 && walk(search) == 0 ? 0 : search_fail(search, err);
    if (search_beam.advance(search, rows, err) != 0)
        return -1;
    if (search->rows > 0)
        return 0;

    /* After the beam's last step its results become the n best, and the search continues from the
     * first frame. Either all of its paths are complete, or none is. */
    size_t found = search->ended_count;
    bool over = found > 0 && search_is_over(search, search->ended[0]);
    search->ended_count = 0;
    exact->open = over ? 0 : found;
    exact->recorded = search->tree.count;
    for (size_t i = 0; over && i < found; i++) {
        struct search_node *last = search->ended[i]; /* insert has not overwritten it yet */
        struct copy copy = {.score = search_score(search, last)};
        if (has_place(search, copy.score))
            insert(search, last, copy);
    }
    exact->bounded = search->returns = true;
    search->rows = 1;
    return walk(search) == 0 ? 0 : search_fail(search, err);
}

const struct search_kind search_exact = {.name = "exact",
                                         .resumes = true,
                                         .max_rows = search_beam_rows,
                                         .wanted = exact_wanted,
                                         .start = exact_start,
                                         .advance = exact_advance};
