/* Links of both directions made one set. */
#ifndef ALIGND_GIBBS_SYMMETRISE_H
#define ALIGND_GIBBS_SYMMETRISE_H

#include "model/gibbs/corpus.h"
#include <stdbool.h>

/* One pair's links: rows are places on side 0, columns on side 1. */
struct grid {
    size_t rows, columns;
    bool linked[CORPUS_LONGEST][CORPUS_LONGEST];
};

/* forward [columns]: the row of each column, or UINT8_MAX; backward [rows]: the column of each row.
 */
struct directions {
    const uint8_t *forward, *backward;
};

/* "forward", "backward": one direction alone; "intersection", "union"; "grow-diag-final-and" (Koehn
 * et al. 2005): the intersection, then what the union has beside it, of words that have no link
 * yet, then what it has anywhere between two such words. */
struct symmetry;
/* NULL: the name is unknown. */
const struct symmetry *symmetry_find(const char *name);

/* Sets grid->linked; grid's rows and columns are the caller's, at most CORPUS_LONGEST. */
void symmetrise(const struct symmetry *symmetry, const struct directions *directions,
                struct grid *grid);

#endif
