/* What a translation leaves out, as its alignment tells. */
#ifndef ALIGND_OMISSION_H
#define ALIGND_OMISSION_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/translator.h"
#include <stdbool.h>
#include <stddef.h>

/* Source tokens, </s> apart, and those of them that are left out: all target tokens together are aligned with one by less than a
 * fifth of one. What a target token gives </s> is not counted: each is scaled to give the others 1 in all. */
struct omission {
    size_t tokens, left;
};

/* Adds those of an alignment: a row for each of a translation's tokens [target], of which the weights of `source` are the
 * sentence's own tokens'. Those that held [source.end - source.begin] says come through as they are, so that none of them is left
 * out; NULL: none is held. Scratch in the arena, released. -1 with ERROR_MEMORY. */
int omission_add(const float *const *rows, size_t target, struct span source, const bool *held, struct arena *arena,
                 struct omission *sum, struct error *err);

/* Much was left out: more than three eighths of eight tokens or more. Held-out sentences of which it is true although their
 * translation is whole, and halves that it finds: server/README.md (python3 -m weights.warnings). */
bool omission_is_much(const struct omission *sum);

#endif
