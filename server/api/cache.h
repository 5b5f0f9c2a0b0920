/* Answers that were given, by the question that got them. Bounded in bytes; the least recently used answers go first.
 * Questions are compared whole. Thread-safe. */
#ifndef ALIGND_CACHE_H
#define ALIGND_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct cache;

/* capacity: bytes of all questions and answers, and of what holds them. NULL when memory is out. */
struct cache *cache_create(size_t capacity);
/* NULL allowed. */
void cache_free(struct cache *cache);

/* A question, and the epoch of the models that answer it. With a later epoch, after a reload, the cache forgets all answers of
 * earlier ones and keeps no more of them. */
struct question {
    const char *bytes; /* [length] */
    size_t length;
    size_t epoch;
};

/* The answer as kept: a copy, malloc'ed, NUL-terminated. NULL: there is none, or memory is out. mark: what was kept with it; NULL:
 * nobody asks. */
char *cache_find(struct cache *cache, const struct question *question, unsigned *mark);
/* Keeps a copy, in place of one kept before; not of what is larger than the cache, or when memory is out. */
void cache_keep(struct cache *cache, const struct question *question, const char *answer, unsigned mark);

/* Bytes in use. */
size_t cache_bytes(struct cache *cache);

#endif
