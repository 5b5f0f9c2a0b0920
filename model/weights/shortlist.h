/* The vocabulary shortlist of a model: target ids that are likely in any sentence, and those that each source piece asks for
 * (weights/training/shortlist.py makes the file), or those that a target language uses (`alignd import` makes it). The output layer
 * then scores a few hundred ids of a sentence instead of the vocabulary. Immutable: one object serves all threads. */
#ifndef ALIGND_SHORTLIST_H
#define ALIGND_SHORTLIST_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stddef.h>

struct shortlist;

/* Target ids to choose from, ascending and unique; ids NULL: the whole vocabulary. */
struct target_ids {
    const int *ids; /* [count] */
    size_t count;
};

/* Reads a container with always [A], and with offsets [source_vocabulary + 1] and targets [n], all I32: source piece s has targets
 * offsets[s] .. offsets[s + 1] - 1. With an optional multiple [1], the lowest missing ids fill a list up to a multiple of that.
 * A container without offsets and targets has only named lists, in tensors list.NAME [n], I32. end: the target id of </s>, which is
 * on every list. NULL with ERROR_FILE, ERROR_FORMAT (the message names the tensor: every offset and id is checked) or ERROR_MEMORY.
 */
struct shortlist *shortlist_open(const char *path, size_t source_vocabulary, size_t target_vocabulary, int end, struct error *err);
void shortlist_free(struct shortlist *list);

/* Finds a named list, together with the ids that are on every list; it lives as long as the shortlist. -1 with ERROR_FORMAT (the
 * container has no such list) or ERROR_MEMORY. */
int shortlist_named(struct shortlist *list, const char *name, struct target_ids *found, struct error *err);

/* Finds the target ids of a sentence, allocated in the arena (with target_vocabulary / 8 bytes of scratch). source_ids [length]: as
 * the encoder reads them, each in the source vocabulary. Returns 0, or -1 with ERROR_MEMORY. */
int shortlist_of(const struct shortlist *list, const int *source_ids, size_t length, struct arena *arena, struct target_ids *found,
                 struct error *err);

#endif
