/* A given target: all of it is prefix, then comes </s>. */
#include "model/search/search_kind.h"

static size_t forced_wanted(const struct search *search) {
    (void)search;
    return 0;
}

static int forced_advance(struct search *search, const struct distribution *rows, struct error *err) {
    struct candidate end = search_given(search, rows, 0, search->ids.end);
    return search_extend(search, rows, &end, 1, err);
}

const struct search_kind search_forced = {
    .name = "forced", .given = true, .max_rows = search_one_row, .wanted = forced_wanted, .advance = forced_advance};
