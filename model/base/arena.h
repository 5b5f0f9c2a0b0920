/* Bump allocation: many small objects, one free. Blocks grow on demand; marks give stack discipline.
 * Not thread-safe: one arena belongs to one owner at a time. */
#ifndef ALIGND_ARENA_H
#define ALIGND_ARENA_H

#include "model/base/budget.h"
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *first, *last; /* blocks in use run from first to last; those behind last are kept for reuse */
    size_t block_bytes;               /* the least a new block holds */
    bool failed;                      /* arena_failed */
    struct budget *budget;            /* NULL: no bounds */
    size_t taken;                     /* bytes of blocks, from the budget */
};

struct arena_mark {
    struct arena_block *block;
    size_t used;
    bool failed;
};

/* An empty arena; allocates nothing yet. block_bytes: the size of a block, e.g. 64 KiB. */
void arena_init(struct arena *arena, size_t block_bytes);
/* From now on each allocation is a step of this budget, and the bytes of new blocks are taken from it until they are freed. A later
 * call with another budget, or with NULL, ends this. The budget must live as long. */
void arena_limit(struct arena *arena, struct budget *budget);
/* Frees every block; the arena is empty and usable again. NULL allowed. */
void arena_done(struct arena *arena);

/* count x size bytes, aligned to 64, not cleared. NULL when memory is out or the product overflows. count or size 0: a valid,
 * unusable pointer. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
/* The same, cleared. */
void *arena_zalloc(struct arena *arena, size_t count, size_t size);
/* Room for `more` items behind those in use: items [used of *room] as they are, or a longer copy of them, which doubles. The former
 * stays in the arena. NULL: memory is out, and items and *room are as before. */
void *arena_grow(struct arena *arena, void *items, size_t used, size_t *room, size_t more, size_t size);
/* A NUL-terminated copy of length bytes. */
char *arena_copy(struct arena *arena, const char *text, size_t length);

/* True once an allocation has come to nothing, whatever succeeded after it: a group of allocations is checked once, before any of
 * them is used. Forgotten with what it concerns: by reset, and by release to a mark made before. */
bool arena_failed(const struct arena *arena);

/* Everything allocated after the mark is given back by release; the blocks stay. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, struct arena_mark mark);
/* Gives back everything; the blocks stay. */
void arena_reset(struct arena *arena);
/* Frees the blocks that have been given back, which are otherwise kept for what comes next. */
void arena_trim(struct arena *arena);
/* Bytes held in blocks, used or not. */
size_t arena_bytes(const struct arena *arena);

#endif
