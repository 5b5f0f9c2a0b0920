/* One YAML mapping of scalars and of lists of scalars, as Marian writes its options and vocabularies: keys and values as the
 * strings that they are (`on` is a word, 00 and 000 are two), in their order. Anchors, nested mappings and repeated keys are
 * refused. */
#ifndef ALIGND_IMPORT_MAPPING_H
#define ALIGND_IMPORT_MAPPING_H

#include "model/import/source.h"

struct mapping_pair {
    const char *key;
    const char *value;  /* NULL: a list */
    const char **items; /* [count] of a list */
    size_t count;
};

struct mapping {
    struct mapping_pair *pairs; /* [count] in the arena */
    size_t count;
};

/* text: UTF-8. -1 with ERROR_FORMAT, "line N: ...", or ERROR_MEMORY. */
int mapping_read(const char *text, size_t length, struct arena *arena, struct mapping *out, struct error *err);
/* NULL: the mapping lacks the key. */
const struct mapping_pair *mapping_find(const struct mapping *mapping, const char *key);
/* The value as messages show it: itself, or [a, b]. */
const char *mapping_shown(struct arena *arena, const struct mapping_pair *pair);

#endif
