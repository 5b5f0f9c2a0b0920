/* A cache of answers by question. Its size in bytes is bounded, and the least recently used answers are evicted first. Questions
 * are compared as a whole. Thread-safe. */
#ifndef ALIGND_CACHE_H
#define ALIGND_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct cache;

/* capacity: bytes of all questions and answers, including overhead. NULL if memory is out. */
struct cache *cache_create(size_t capacity);
/* Accepts NULL. */
void cache_free(struct cache *cache);

/* A question, and the epoch of the models that answer it. When a later epoch appears, after a reload, the cache drops all answers
 * of earlier epochs and keeps no more of them. */
struct question {
    const char *bytes; /* [length] */
    size_t length;
    size_t epoch;
};

/* Returns a copy of the cached answer, malloc'ed and NUL-terminated, or NULL if there is none or memory is out. mark: the number
 * that was kept with it; may be NULL. */
char *cache_find(struct cache *cache, const struct question *question, unsigned *mark);
/* Keeps a copy and replaces an older one. Does nothing if the entry is larger than the cache or if memory is out. */
void cache_keep(struct cache *cache, const struct question *question, const char *answer, unsigned mark);

/* Bytes in use. */
size_t cache_bytes(struct cache *cache);

#endif
