#include "model/gibbs/symmetrise.h"
#include <string.h>

struct symmetry {
    const char *name;
    void (*make)(const struct directions *d, struct grid *grid);
};

static bool forward_has(const struct directions *d, size_t i, size_t j) {
    return d->forward[j] == i;
}

static bool backward_has(const struct directions *d, size_t i, size_t j) {
    return d->backward[i] == j;
}

static bool both_have(const struct directions *d, size_t i, size_t j) {
    return forward_has(d, i, j) && backward_has(d, i, j);
}

static bool either_has(const struct directions *d, size_t i, size_t j) {
    return forward_has(d, i, j) || backward_has(d, i, j);
}

static void fill(struct grid *grid, const struct directions *d,
                 bool (*has)(const struct directions *, size_t, size_t)) {
    for (size_t i = 0; i < grid->rows; i++)
        for (size_t j = 0; j < grid->columns; j++)
            grid->linked[i][j] = has(d, i, j);
}

static void make_forward(const struct directions *d, struct grid *grid) {
    fill(grid, d, forward_has);
}

static void make_backward(const struct directions *d, struct grid *grid) {
    fill(grid, d, backward_has);
}

static void make_intersection(const struct directions *d, struct grid *grid) {
    fill(grid, d, both_have);
}

static void make_union(const struct directions *d, struct grid *grid) {
    fill(grid, d, either_has);
}

/* ---- grow-diag-final-and ---- */

/* Which words have a link. */
struct linked {
    bool rows[CORPUS_LONGEST], columns[CORPUS_LONGEST];
};

static void add(struct grid *grid, struct linked *linked, size_t i, size_t j) {
    grid->linked[i][j] = linked->rows[i] = linked->columns[j] = true;
}

/* Links beside (i, j), where one of the two words has none yet. True: there was one. */
static bool grow_from(const struct directions *d, struct grid *grid, struct linked *linked,
                      size_t i, size_t j) {
    static const int beside[8][2] = {{-1, 0},  {0, -1}, {1, 0},  {0, 1},
                                     {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};
    bool grown = false;
    for (int k = 0; k < 8; k++) {
        size_t row = i + (size_t)beside[k][0],
               column = j + (size_t)beside[k][1]; /* -1 wraps around, beyond the grid */
        if (row >= grid->rows || column >= grid->columns ||
            (linked->rows[row] && linked->columns[column]) || grid->linked[row][column] ||
            !either_has(d, row, column))
            continue;
        add(grid, linked, row, column);
        grown = true;
    }
    return grown;
}

static void grow(const struct directions *d, struct grid *grid, struct linked *linked) {
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < grid->rows; i++)
            for (size_t j = 0; j < grid->columns; j++)
                if (grid->linked[i][j] && grow_from(d, grid, linked, i, j))
                    grown = true;
    }
}

static void add_apart(const struct directions *d, struct grid *grid, struct linked *linked,
                      bool (*has)(const struct directions *, size_t, size_t)) {
    for (size_t i = 0; i < grid->rows; i++)
        for (size_t j = 0; j < grid->columns; j++)
            if (has(d, i, j) && !linked->rows[i] && !linked->columns[j])
                add(grid, linked, i, j);
}

static void make_grown(const struct directions *d, struct grid *grid) {
    struct linked linked = {0};
    make_intersection(d, grid);
    for (size_t i = 0; i < grid->rows; i++)
        for (size_t j = 0; j < grid->columns; j++)
            if (grid->linked[i][j])
                add(grid, &linked, i, j);
    grow(d, grid, &linked);
    add_apart(d, grid, &linked, forward_has);
    add_apart(d, grid, &linked, backward_has);
}

static const struct symmetry symmetries[] = {
    {"forward", make_forward},           {"backward", make_backward},         {"union", make_union},
    {"intersection", make_intersection}, {"grow-diag-final-and", make_grown},
};

const struct symmetry *symmetry_find(const char *name) {
    for (size_t i = 0; i < sizeof symmetries / sizeof *symmetries; i++)
        if (strcmp(symmetries[i].name, name) == 0)
            return &symmetries[i];
    return NULL;
}

void symmetrise(const struct symmetry *symmetry, const struct directions *directions,
                struct grid *grid) {
    symmetry->make(directions, grid);
}
