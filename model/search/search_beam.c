/* Marian's rule: the best k continuations of all rows on unnormalised sums, k = beam size - finished. */
#include "model/search/search_kind.h"

static size_t beam_max_rows(const struct search_options *options) {
    return options->beam_size;
}

/* Places in the beam that no finished hypothesis holds. */
static size_t places(const struct search *search) {
    return search->options.beam_size - search->ended_count;
}

/* The tree shows also what the finished leave no place for. */
static size_t beam_wanted(const struct search *search) {
    return search->options.tree ? search->options.beam_size : places(search);
}

static int beam_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate chosen[SEARCH_MAX_ROWS], best[SEARCH_MAX_ROWS];
    size_t k = places(search), count = 0;
    for (size_t r = 0; r < search->rows; r++) {
        size_t n = search_best(search, rows, r, k, best);
        for (size_t i = 0; i < n; i++)
            search_insert(chosen, &count, k, best[i]);
    }
    if (search_prune_others(search, rows, chosen, count) != 0)
        return search_fail(search, err);
    return search_extend(search, rows, chosen, count, err);
}

const struct search_kind search_beam = {.name = "beam", .max_rows = beam_max_rows, .wanted = beam_wanted, .advance = beam_advance};
