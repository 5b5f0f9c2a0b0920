/* The best token of each step. */
#include "model/search/search_kind.h"

static size_t greedy_wanted(const struct search *search) {
    (void)search;
    return 1;
}

static int greedy_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate best;
    size_t count = search_best(search, rows, 0, 1, &best);
    return search_extend(search, rows, &best, count, err);
}

const struct search_kind search_greedy = {
    .name = "greedy", .max_rows = search_one_row, .wanted = greedy_wanted, .advance = greedy_advance};
