#include "model/compute/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* HUGE_BYTES: a huge page of x86-64, and of arm64 with pages of 4 KiB. */
enum { LINE_BYTES = 64, HUGE_BYTES = 2 << 20, BLOCK_BYTES = 8 << 20 };

struct pages_block {
    struct pages_block *before;
    char *memory; /* [capacity] */
    size_t used, capacity;
};

/* Whole units; 0: larger than memory can be. */
static size_t round_up(size_t bytes, size_t unit) {
    return bytes > SIZE_MAX - unit ? 0 : (bytes + unit - 1) / unit * unit;
}

static struct pages_block *create_block(size_t bytes) {
    struct pages_block *block = malloc(sizeof *block);
    if (!block)
        return NULL;
    size_t capacity = round_up(bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes, HUGE_BYTES);
    *block = (struct pages_block){.memory = capacity > 0 ? aligned_alloc(HUGE_BYTES, capacity) : NULL, .capacity = capacity};
    if (!block->memory) {
        free(block);
        return NULL;
    }
    madvise(block->memory, capacity, MADV_HUGEPAGE); /* where it fails, there are none */
    return block;
}

void *pages_alloc(struct pages *pages, size_t bytes) {
    size_t whole = round_up(bytes, LINE_BYTES);
    struct pages_block *block = pages->last;
    if (whole < bytes)
        return NULL;
    if (!block || block->capacity - block->used < whole) {
        block = create_block(whole);
        if (!block)
            return NULL;
        block->before = pages->last;
        pages->last = block;
    }
    char *memory = block->memory + block->used;
    block->used += whole;
    return memory;
}

void pages_done(struct pages *pages) {
    for (struct pages_block *block = pages->last, *before; block; block = before) {
        before = block->before;
        free(block->memory);
        free(block);
    }
    *pages = (struct pages){0};
}
