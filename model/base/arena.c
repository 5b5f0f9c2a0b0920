#include "model/base/arena.h"
#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A cache line, and the widest vector register: no two objects share a line, and every array suits aligned loads. */
enum { ALIGNMENT = 64 };

struct arena_block {
    struct arena_block *next;
    void *memory;          /* from malloc: the block lies in it */
    size_t capacity, used; /* bytes of data, both multiples of ALIGNMENT; used is stale in a block behind arena.last */
    alignas(ALIGNMENT) unsigned char data[];
};

void arena_init(struct arena *arena, size_t block_bytes) {
    *arena = (struct arena){.block_bytes = block_bytes};
}

void arena_limit(struct arena *arena, struct budget *budget) {
    arena->budget = budget;
    arena->taken = 0;
}

/* Tells the budget that blocks of so many bytes were freed. */
static void give_back(struct arena *arena, size_t bytes) {
    bytes = bytes < arena->taken ? bytes : arena->taken;
    budget_give(arena->budget, bytes);
    arena->taken -= bytes;
}

void arena_done(struct arena *arena) {
    if (arena == NULL)
        return;
    give_back(arena, arena->taken);
    for (struct arena_block *block = arena->first, *next; block != NULL; block = next) {
        next = block->next;
        free(block->memory);
    }
    arena->first = arena->last = NULL;
    arena->failed = false;
}

/* Rounds up to ALIGNMENT. -1 if the product, or the block that would hold it, is larger than memory can be. */
static int padded_size(size_t count, size_t size, size_t *bytes) {
    if (size != 0 && count > (SIZE_MAX - sizeof(struct arena_block) - ALIGNMENT) / size)
        return -1;
    *bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return 0;
}

/* Where the list of blocks not in use begins. */
static struct arena_block **spare_blocks(struct arena *arena) {
    return arena->last != NULL ? &arena->last->next : &arena->first;
}

/* Takes the first block with room for bytes out of the list; NULL if there is none. */
static struct arena_block *take_block(struct arena_block **link, size_t bytes) {
    while (*link != NULL && (*link)->capacity < bytes)
        link = &(*link)->next;
    struct arena_block *block = *link;
    if (block != NULL)
        *link = block->next;
    return block;
}

static struct arena_block *create_block(size_t bytes) {
    size_t capacity;
    if (padded_size(bytes, 1, &capacity) != 0)
        return NULL;
    /* glibc's aligned_alloc cuts what is too much off both ends and frees it: that takes longer than all else here */
    unsigned char *memory = malloc(sizeof(struct arena_block) + capacity + ALIGNMENT);
    if (memory == NULL)
        return NULL;
    struct arena_block *block = (struct arena_block *)(memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT);
    block->memory = memory;
    block->capacity = capacity;
    return block;
}

static struct arena_block *arena_add_block(struct arena *arena, size_t bytes) {
    if (!budget_take(arena->budget, bytes))
        return NULL;
    struct arena_block *block = create_block(bytes);
    if (block == NULL)
        budget_give(arena->budget, bytes);
    else
        arena->taken += arena->budget != NULL ? bytes : 0;
    return block;
}

/* Makes last a block with room for bytes: a spare one, or a new one. Spare ones that are too small stay spare, so that a large
 * object does not waste them. */
static int next_block(struct arena *arena, size_t bytes) {
    struct arena_block **spare = spare_blocks(arena), *block = take_block(spare, bytes);
    if (block == NULL)
        block = arena_add_block(arena, bytes > arena->block_bytes ? bytes : arena->block_bytes);
    if (block == NULL)
        return -1;
    block->used = 0;
    block->next = *spare;
    *spare = block;
    arena->last = block;
    return 0;
}

static void *arena_fail(struct arena *arena) {
    arena->failed = true;
    return NULL;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (padded_size(count, size, &bytes) != 0 || !budget_step(arena->budget, 1))
        return arena_fail(arena);
    const struct arena_block *last = arena->last;
    if ((last == NULL || last->capacity - last->used < bytes) && next_block(arena, bytes) != 0)
        return arena_fail(arena);
    void *memory = arena->last->data + arena->last->used;
    arena->last->used += bytes;
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size) {
    void *memory = arena_alloc(arena, count, size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

void *arena_grow(struct arena *arena, void *items, size_t used, size_t *room, size_t more, size_t size) {
    enum { FIRST_ITEMS = 64 };
    if (*room - used >= more)
        return items;
    size_t wanted = 2 * *room + more + FIRST_ITEMS;
    void *grown = arena_alloc(arena, wanted, size);
    if (!grown)
        return NULL;
    if (used > 0)
        memcpy(grown, items, used * size);
    *room = wanted;
    return grown;
}

char *arena_copy(struct arena *arena, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? arena_alloc(arena, length + 1, 1) : arena_fail(arena);
    if (copy == NULL)
        return NULL;
    if (length > 0) /* text may be NULL then */
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

bool arena_failed(const struct arena *arena) {
    return arena->failed;
}

struct arena_mark arena_mark(const struct arena *arena) {
    return (struct arena_mark){.block = arena->last, .used = arena->last != NULL ? arena->last->used : 0, .failed = arena->failed};
}

void arena_release(struct arena *arena, struct arena_mark mark) {
    arena->last = mark.block;
    arena->failed = mark.failed;
    if (mark.block == NULL)
        return;
    assert(mark.used <= mark.block->used); /* marks are released in the reverse order of their making */
    mark.block->used = mark.used;
}

void arena_reset(struct arena *arena) {
    arena->last = NULL;
    arena->failed = false;
}

void arena_trim(struct arena *arena) {
    struct arena_block **spare = spare_blocks(arena);
    for (struct arena_block *block = *spare, *next; block != NULL; block = next) {
        next = block->next;
        give_back(arena, block->capacity);
        free(block->memory);
    }
    *spare = NULL;
}

size_t arena_bytes(const struct arena *arena) {
    size_t bytes = 0;
    for (const struct arena_block *block = arena->first; block != NULL; block = block->next)
        bytes += block->capacity;
    return bytes;
}
