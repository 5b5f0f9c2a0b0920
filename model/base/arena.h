/* This module manages memory. Arenas hold the many small objects of an input, budgets limit their
 * memory and time, and a reserve protects libraries that do not survive a failed allocation. */
#ifndef ALIGND_ARENA_H
#define ALIGND_ARENA_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- budgets ----
 * A budget bounds the memory, the sentences and the time that reading an input or writing an answer
 * may take.
 *
 * An arena with a budget (arena_limit) consults it at each allocation, so code that allocates as it
 * goes needs no checks of its own: when the budget is used up, allocations fail as they do when
 * memory runs out, and `spent` holds the reason. Long loops that allocate nothing call budget_step.
 * Every so many steps, go_on asks the owner whether to continue. The owner may let others run
 * first, so budget_step must not be called with a lock held. All functions accept NULL, which has
 * no bounds. They are not thread-safe. */

enum budget_spent { BUDGET_LEFT, BUDGET_BYTES, BUDGET_SENTENCES, BUDGET_TIME };

struct budget {
    size_t bytes, most_bytes; /* in the arenas that this budget bounds */
    size_t sentences, most_sentences;
    bool (*go_on)(void *owner); /* returns false if the result is no longer needed; NULL: the time
                                   is not bounded */
    void (*away)(void *owner, bool away); /* see budget_away; NULL: does nothing */
    void *owner;
    size_t steps;            /* since the last call of go_on */
    enum budget_spent spent; /* the first reason stays */
};

/* Counts small steps of some microseconds at most, such as a piece, a sentence, an allocation, or a
 * dozen bytes to be tokenized. Returns false if the budget is used up; the caller must stop then.
 */
bool budget_step(struct budget *budget, size_t steps);
/* Takes bytes before they are allocated. Returns false if fewer are left or the budget is used up.
 */
bool budget_take(struct budget *budget, size_t bytes);
/* Returns bytes that were freed. */
void budget_give(struct budget *budget, size_t bytes);
/* Counts one more sentence, and a step. Returns false if the budget is used up. */
bool budget_add_sentence(struct budget *budget);
/* Copies as memcpy does, and counts steps for a long copy. Returns false if the budget is used up;
 * not all is copied then. */
bool budget_copy(struct budget *budget, void *to, const void *from, size_t length);
/* Checks in advance whether that many sentences may be added; if not, the budget is used up. */
bool budget_has_room(struct budget *budget, size_t sentences);
/* Between away = true and away = false, the caller waits for a lock or does work that cannot be
 * interrupted, and the owner lets others run. Steps in between only ask whether to continue, so
 * locks may be held. Returns when it is the caller's turn again. */
void budget_away(struct budget *budget, bool away);

/* ---- arenas ----
 * An arena allocates many small objects and frees them together. It grows by blocks; marks give it
 * the discipline of a stack. It is not thread-safe: an arena belongs to one owner at a time. */

struct arena_block;

struct arena {
    struct arena_block *first,
        *last;             /* blocks in use run from first to last; later ones are kept for reuse */
    size_t block_bytes;    /* the smallest size of a new block */
    bool failed;           /* see arena_failed */
    struct budget *budget; /* NULL: no bounds */
    size_t taken;          /* bytes of blocks that were taken from the budget */
};

struct arena_mark {
    struct arena_block *block;
    size_t used;
    bool failed;
};

/* Makes an empty arena, which allocates nothing yet. block_bytes: the size of a block, e.g. 64 KiB.
 */
void arena_init(struct arena *arena, size_t block_bytes);
/* From now on each allocation is a step of this budget, and new blocks are taken from it until they
 * are freed. The budget must live until this is called again, with another budget or with NULL. */
void arena_limit(struct arena *arena, struct budget *budget);
/* Frees every block; the arena is empty and usable again. Accepts NULL. */
void arena_done(struct arena *arena);

/* Returns count x size bytes, aligned to 64 and not cleared, or NULL if memory runs out, the budget
 * is used up, or the product overflows. With a count or size of 0 the pointer is valid but must not
 * be used. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
/* Does the same and clears the bytes. */
void *arena_zalloc(struct arena *arena, size_t count, size_t size);
/* Makes room for `more` items after the `used` ones of items [*room]: returns items, or a copy of
 * more than twice the length. The original stays in the arena. Returns NULL and leaves *room
 * unchanged if arena_alloc fails. */
void *arena_grow(struct arena *arena, void *items, size_t used, size_t *room, size_t more,
                 size_t size);
/* Copies length bytes and adds a NUL. */
char *arena_copy(struct arena *arena, const char *text, size_t length);

/* True once an allocation has failed, even if later ones succeeded: a group of allocations is
 * checked once, before any of them is used. arena_reset clears it, and so does arena_release to a
 * mark that was made before the failure. */
bool arena_failed(const struct arena *arena);

/* arena_release gives back everything that was allocated after the mark; the blocks stay. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, struct arena_mark mark);
/* Gives back everything; the blocks stay. */
void arena_reset(struct arena *arena);
/* Frees the blocks that are kept for reuse. */
void arena_trim(struct arena *arena);
/* Returns the total size of all blocks, used or not. */
size_t arena_bytes(const struct arena *arena);

/* ---- the reserve ----
 * Some libraries do not survive a failed allocation: SentencePiece frees messages that are half
 * made, ICU uses iterators with missing parts, libxml2 leaks the parts of a parser that it cannot
 * finish, jansson aborts if it cannot lengthen a string. Therefore a block of RESERVE_BYTES is
 * reserved. When an allocation of such a library fails, the block goes back to the heap and the
 * allocation is tried again. There is one reserve for the process; it is thread-safe. */

enum { RESERVE_BYTES = 256 * 1024 };

/* Call it before each call of such a library. It makes sure that the block exists, or returns -1
 * with ERROR_MEMORY. */
int reserve_fill(struct error *err);
/* Gives the block back to the heap. Returns false if there was no block. */
bool reserve_release(void);
/* malloc and realloc that fall back on the block. */
void *reserve_alloc(size_t bytes);
void *reserve_realloc(void *block, size_t bytes);

#endif
