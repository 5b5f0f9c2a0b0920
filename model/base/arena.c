/* This file hides how memory is divided and limited: the blocks of an arena, when a budget checks
 * its bounds, and how running out of memory becomes an ordinary error. */
#include "model/base/arena.h"
#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ALIGNMENT: a cache line, and the widest vector register: no two objects share a line, and every
 * array suits aligned loads. CLOCK_STEPS: steps between two calls of go_on. FIRST_ITEMS: the least
 * that an array grows by. */
enum { ALIGNMENT = 64, CLOCK_STEPS = 128, FIRST_ITEMS = 64 };
/* Copying COPY_BYTES to memory that was never written counts as COPY_STEPS steps. */
enum { COPY_BYTES = 64 * 1024, COPY_STEPS = 16 };

/* ---- errors ---- */

int error_set(struct error *err, enum error_code code, const char *format, ...) {
    if (err == NULL || err->code != ERROR_NONE)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    err->code = code;
    return -1;
}

int error_memory(struct error *err) {
    return error_set(err, ERROR_MEMORY, "out of memory");
}

const void *error_find_row(const void *rows, size_t count, size_t size, const char *key,
                           const char *name, struct error *err) {
    for (const char *row = rows, *end = row + count * size; row < end; row += size) {
        const char *own;
        memcpy(&own, row, sizeof own);
        if (strcmp(own, name) == 0)
            return row;
    }
    error_set(err, ERROR_FORMAT, "%s: %s is not known", key, name);
    return NULL;
}

/* ---- budgets ---- */

static bool budget_end(struct budget *budget, enum budget_spent why) {
    if (budget->spent == BUDGET_LEFT)
        budget->spent = why;
    return false;
}

bool budget_step(struct budget *budget, size_t steps) {
    if (!budget)
        return true;
    if (budget->spent != BUDGET_LEFT)
        return false;
    budget->steps += steps;
    if (budget->steps < CLOCK_STEPS)
        return true;
    budget->steps = 0;
    return !budget->go_on || budget->go_on(budget->owner) || budget_end(budget, BUDGET_TIME);
}

bool budget_take(struct budget *budget, size_t bytes) {
    if (!budget)
        return true;
    if (budget->spent != BUDGET_LEFT)
        return false;
    if (bytes > budget->most_bytes - budget->bytes)
        return budget_end(budget, BUDGET_BYTES);
    budget->bytes += bytes;
    return true;
}

bool budget_copy(struct budget *budget, void *to, const void *from, size_t length) {
    size_t at = 0;
    for (; length - at > COPY_BYTES; at += COPY_BYTES) {
        memcpy((char *)to + at, (const char *)from + at, COPY_BYTES);
        if (!budget_step(budget, COPY_STEPS))
            return false;
    }
    if (length > at)
        memcpy((char *)to + at, (const char *)from + at, length - at);
    return true;
}

void budget_give(struct budget *budget, size_t bytes) {
    if (budget)
        budget->bytes -= bytes;
}

bool budget_add_sentence(struct budget *budget) {
    if (!budget)
        return true;
    if (!budget_has_room(budget, 1))
        return false;
    budget->sentences++;
    return budget_step(budget, 1);
}

bool budget_has_room(struct budget *budget, size_t sentences) {
    return !budget || sentences <= budget->most_sentences - budget->sentences ||
           budget_end(budget, BUDGET_SENTENCES);
}

void budget_away(struct budget *budget, bool away) {
    if (budget && budget->away)
        budget->away(budget->owner, away);
}

/* ---- arenas ---- */

struct arena_block {
    struct arena_block *next;
    void *memory;          /* the pointer from malloc; the block lies in that memory */
    size_t capacity, used; /* bytes of data, both multiples of ALIGNMENT; `used` is stale in blocks
                              after arena.last */
    alignas(ALIGNMENT) unsigned char data[];
};

void arena_init(struct arena *arena, size_t block_bytes) {
    *arena = (struct arena){.block_bytes = block_bytes};
}

void arena_limit(struct arena *arena, struct budget *budget) {
    arena->budget = budget;
    arena->taken = 0;
}

/* Frees the blocks from *link on. Blocks that are older than the budget were not taken from it. */
static void free_blocks(struct arena *arena, struct arena_block **link) {
    for (struct arena_block *block = *link, *next; block; block = next) {
        size_t given = block->capacity < arena->taken ? block->capacity : arena->taken;
        budget_give(arena->budget, given);
        arena->taken -= given;
        next = block->next;
        free(block->memory);
    }
    *link = NULL;
}

void arena_done(struct arena *arena) {
    if (!arena)
        return;
    free_blocks(arena, &arena->first);
    arena->last = NULL;
    arena->failed = false;
}

/* Returns the link to the first block that is not in use. */
static struct arena_block **spare_blocks(struct arena *arena) {
    return arena->last ? &arena->last->next : &arena->first;
}

/* Makes `last` a block with room for `bytes`, a multiple of ALIGNMENT: the first spare one that is
 * large enough, or a new one. Small spare blocks stay spare, so a large object does not waste them.
 */
static int next_block(struct arena *arena, size_t bytes) {
    struct arena_block **spare = spare_blocks(arena), **link = spare, *block;
    while (*link && (*link)->capacity < bytes)
        link = &(*link)->next;
    block = *link;
    if (block) {
        *link = block->next;
    } else {
        size_t capacity = bytes > arena->block_bytes
                              ? bytes
                              : (arena->block_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (!budget_take(arena->budget, capacity))
            return -1;
        /* glibc's aligned_alloc trims both ends and frees them, which takes longer than everything
         * else here */
        unsigned char *memory = malloc(sizeof *block + capacity + ALIGNMENT);
        if (!memory) {
            budget_give(arena->budget, capacity);
            return -1;
        }
        arena->taken += arena->budget ? capacity : 0;
        block = (struct arena_block *)(memory +
                                       (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT);
        block->memory = memory;
        block->capacity = capacity;
    }
    block->used = 0;
    block->next = *spare;
    *spare = block;
    arena->last = block;
    return 0;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size) {
    const struct arena_block *last = arena->last;
    size_t bytes = 0;
    bool fits = size == 0 || count <= (SIZE_MAX - sizeof *last - 2 * ALIGNMENT) / size;
    if (fits)
        bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!fits || !budget_step(arena->budget, 1) ||
        ((!last || last->capacity - last->used < bytes) && next_block(arena, bytes) != 0)) {
        arena->failed = true;
        return NULL;
    }
    void *memory = arena->last->data + arena->last->used;
    arena->last->used += bytes;
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size) {
    void *memory = arena_alloc(arena, count, size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void *arena_grow(struct arena *arena, void *items, size_t used, size_t *room, size_t more,
                 size_t size) {
    if (*room - used >= more)
        return items;
    size_t wanted = 2 * *room + more + FIRST_ITEMS;
    void *grown = arena_alloc(arena, wanted, size);
    if (!grown)
        return NULL;
    if (!budget_copy(arena->budget, grown, items, used * size)) {
        arena->failed = true;
        return NULL;
    }
    *room = wanted;
    return grown;
}

char *arena_copy(struct arena *arena, const char *text, size_t length) {
    /* SIZE_MAX + 1 would be 0 */
    char *copy = arena_alloc(arena, length < SIZE_MAX ? length + 1 : SIZE_MAX, 1);
    if (!copy)
        return NULL;
    if (!budget_copy(arena->budget, copy, text, length)) { /* text may be NULL if length is 0 */
        arena->failed = true;
        return NULL;
    }
    copy[length] = '\0';
    return copy;
}

bool arena_failed(const struct arena *arena) {
    return arena->failed;
}

struct arena_mark arena_mark(const struct arena *arena) {
    return (struct arena_mark){
        .block = arena->last, .used = arena->last ? arena->last->used : 0, .failed = arena->failed};
}

void arena_release(struct arena *arena, struct arena_mark mark) {
    arena->last = mark.block;
    arena->failed = mark.failed;
    if (!mark.block)
        return;
    assert(mark.used <=
           mark.block->used); /* marks are released in the reverse order of their making */
    mark.block->used = mark.used;
}

void arena_reset(struct arena *arena) {
    arena->last = NULL;
    arena->failed = false;
}

void arena_trim(struct arena *arena) {
    free_blocks(arena, spare_blocks(arena));
}

size_t arena_bytes(const struct arena *arena) {
    size_t bytes = 0;
    for (const struct arena_block *block = arena->first; block; block = block->next)
        bytes += block->capacity;
    return bytes;
}

/* ---- the reserve ---- */

static void *_Atomic reserve;

int reserve_fill(struct error *err) {
    if (atomic_load(&reserve))
        return 0;
    void *block = malloc(RESERVE_BYTES);
    if (!block)
        return error_memory(err);
    free(atomic_exchange(&reserve, block)); /* another thread may have filled it first */
    return 0;
}

bool reserve_release(void) {
    void *block = atomic_exchange(&reserve, NULL);
    free(block);
    return block != NULL;
}

void *reserve_alloc(size_t bytes) {
    return reserve_realloc(NULL, bytes);
}

void *reserve_realloc(void *block, size_t bytes) {
    /* A realloc that fails leaves the block alone, but gcc 14 would warn of a use after free
     * without a volatile pointer. */
    void *volatile kept = block;
    void *made;
    do
        made = realloc(kept, bytes);
    while (!made && bytes > 0 && reserve_release());
    return made;
}
