/* cmark, which stops the process where it gets no memory, and keeps what its extensions need in variables of its own: here it gets
 * a pool that can end a parse, and works for one thread at a time. */
#include "server/documents/markdown.h"
#include <cmark-gfm-core-extensions.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

/* MOST_BYTES: documents of more have too many texts and marks (html_build.h). */
enum {
    BLOCK_BYTES = 1 << 18,
    ALIGNMENT = 16,
    BYTES_EACH = 256,
    BYTES_LEAST = 1 << 22,
    MOST_BYTES = 64 << 20,
    MOST_STEPS = 1 << 29
};

struct pool_block {
    struct pool_block *next;
    size_t used, size; /* bytes behind this */
};

struct markdown {
    struct pool_block *blocks; /* the last one first */
    size_t bytes, most;        /* of all; that they may have */
    bool lacked;               /* it was memory, not the bound, that ended it */
    struct budget *budget;     /* ends it, too */
    jmp_buf out;
    cmark_node *document;
};

static thread_local struct markdown *current;            /* whom cmark works for: its calls tell nothing of that */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards cmark's own variables */
static once_flag registered = ONCE_FLAG_INIT;

/* Each allocation has its size in front of it. */
static void *pool_take(size_t bytes) {
    struct markdown *pool = current;
    size_t needed = ALIGNMENT + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct pool_block *block = pool->blocks;
    if (!budget_step(pool->budget, 1)) {
        pool->lacked = true;
        longjmp(pool->out, 1);
    }
    if (!block || block->size - block->used < needed) {
        size_t size = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
        bool room = bytes < SIZE_MAX / 2 && pool->most - pool->bytes >= size;
        block = room ? malloc(sizeof *block + ALIGNMENT + size) : NULL;
        if (!block) {
            pool->lacked = room;
            longjmp(pool->out, 1);
        }
        *block = (struct pool_block){pool->blocks, 0, size};
        pool->blocks = block;
        pool->bytes += size;
    }
    char *memory = (char *)block + (sizeof *block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + block->used;
    block->used += needed;
    *(size_t *)(void *)memory = bytes;
    return memory + ALIGNMENT;
}

static void *pool_calloc(size_t count, size_t size) {
    size_t bytes = count > 0 && size > SIZE_MAX / 2 / count ? SIZE_MAX / 2 : count * size;
    return memset(pool_take(bytes), 0, bytes);
}

static void *pool_realloc(void *former, size_t bytes) {
    void *memory = pool_take(bytes);
    if (former) {
        size_t had = *(size_t *)(void *)((char *)former - ALIGNMENT);
        memcpy(memory, former, had < bytes ? had : bytes);
    }
    return memory;
}

static void pool_free(void *memory) {
    (void)memory;
}

bool markdown_next(cmark_node *root, struct markdown_step *step) {
    cmark_node *child = step->enter ? cmark_node_first_child(step->node) : NULL, *next = cmark_node_next(step->node);
    if (child)
        *step = (struct markdown_step){child, true};
    else if (step->enter || step->node == root)
        step->enter = false;
    else if (next)
        *step = (struct markdown_step){next, true};
    else
        *step = (struct markdown_step){cmark_node_parent(step->node), false};
    return !(step->node == root && !step->enter);
}

cmark_node *markdown_document(const struct markdown *markdown) {
    return markdown->document;
}

void markdown_free(struct markdown *markdown) {
    for (struct pool_block *block = markdown ? markdown->blocks : NULL, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(markdown);
}

static void parse(struct markdown *markdown, const char *source, size_t length) {
    static cmark_mem memory = {pool_calloc, pool_realloc, pool_free};
    static const char *const extensions[] = {"table", "strikethrough", "tasklist", "autolink"};
    cmark_parser *parser = cmark_parser_new_with_mem(CMARK_OPT_FOOTNOTES, &memory);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension(extensions[i]));
    cmark_parser_feed(parser, source, length);
    cmark_node *document = cmark_parser_finish(parser);
    for (struct markdown_step step = {document, true}; markdown_next(document, &step);)
        cmark_node_get_literal(step.node); /* makes a copy, once */
    markdown->document = document;
}

/* With the lock: document stays NULL where memory comes to an end. */
static void parse_guarded(struct markdown *markdown, const char *source, size_t length) {
    current = markdown;
    if (setjmp(markdown->out) == 0)
        parse(markdown, source, length);
}

/* cmark looks for the end of each "<?" and "<!" in all that follows. */
static bool is_endless(const char *source, size_t length) {
    size_t marks = 0;
    for (size_t i = 0; i + 1 < length; i++)
        marks += source[i] == '<' && (source[i + 1] == '?' || source[i + 1] == '!');
    return marks > MOST_STEPS / (length + 1);
}

static int refuse(struct error *err) {
    return error_set(err, ERROR_INPUT, "its marks are too many to be sorted out");
}

struct markdown *markdown_open(const char *source, size_t length, struct budget *budget, struct error *err) {
    bool endless = is_endless(source, length);
    struct markdown *markdown = endless ? NULL : calloc(1, sizeof *markdown);
    if (!markdown) {
        if (endless)
            refuse(err);
        else
            error_memory(err);
        return NULL;
    }
    markdown->most = length < (MOST_BYTES - BYTES_LEAST) / BYTES_EACH ? BYTES_LEAST + length * BYTES_EACH : MOST_BYTES;
    markdown->budget = budget;
    call_once(&registered, cmark_gfm_core_extensions_ensure_registered);
    budget_away(budget, true);
    pthread_mutex_lock(&lock);
    parse_guarded(markdown, source, length);
    pthread_mutex_unlock(&lock);
    budget_away(budget, false);
    if (markdown->document)
        return markdown;
    if (markdown->lacked)
        error_memory(err);
    else
        refuse(err);
    markdown_free(markdown);
    return NULL;
}
