/* A cache of answers. Questions are compared as a whole. The question of a decoding endpoint is the request's JSON in a canonical
 * form, followed by everything else that its answer depends on. */
#include "server/api/cache.h"
#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { NODE_BYTES = 64 }; /* roughly the overhead of the tree and of malloc for an entry */

struct kept {
    TAILQ_ENTRY(kept) order;
    struct question question;
    const char *answer; /* NUL-terminated, after the question */
    unsigned mark;
    size_t bytes; /* charged against the capacity */
    char data[];
};

TAILQ_HEAD(kept_list, kept);

/* A balanced tree instead of a hash table, so that nobody can choose questions that make it slow. */
struct cache {
    size_t capacity; /* constant */

    pthread_mutex_t lock;   /* guards everything below */
    void *tree;             /* entries by question (tsearch) */
    struct kept_list order; /* the same entries, least recently used first */
    size_t bytes, epoch;
};

struct cache *cache_create(size_t capacity) {
    struct cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->capacity = capacity;
    TAILQ_INIT(&cache->order);
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static int compare_kept(const void *a, const void *b) {
    const struct question *x = &((const struct kept *)a)->question, *y = &((const struct kept *)b)->question;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->length);
}

static void drop(struct cache *cache, struct kept *entry) {
    tdelete(entry, &cache->tree, compare_kept);
    TAILQ_REMOVE(&cache->order, entry, order);
    cache->bytes -= entry->bytes;
    free(entry);
}

static void shrink_to(struct cache *cache, size_t bytes) {
    while (cache->bytes > bytes)
        drop(cache, TAILQ_FIRST(&cache->order));
}

void cache_free(struct cache *cache) {
    if (!cache)
        return;
    shrink_to(cache, 0);
    assert(TAILQ_EMPTY(&cache->order));
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* False if the question belongs to an epoch that has passed. */
static bool enter_epoch(struct cache *cache, size_t epoch) {
    if (epoch > cache->epoch) {
        shrink_to(cache, 0);
        cache->epoch = epoch;
    }
    return epoch == cache->epoch;
}

static struct kept *cache_find_kept(const struct cache *cache, const struct question *question) {
    const struct kept key = {.question = *question};
    void *const *node = tfind(&key, &cache->tree, compare_kept);
    return node ? *node : NULL;
}

char *cache_find(struct cache *cache, const struct question *question, unsigned *mark) {
    char *answer = NULL;
    pthread_mutex_lock(&cache->lock);
    struct kept *entry = enter_epoch(cache, question->epoch) ? cache_find_kept(cache, question) : NULL;
    if (entry) {
        TAILQ_REMOVE(&cache->order, entry, order);
        TAILQ_INSERT_TAIL(&cache->order, entry, order);
        answer = strdup(entry->answer);
        if (mark)
            *mark = entry->mark;
    }
    pthread_mutex_unlock(&cache->lock);
    return answer;
}

static struct kept *make_entry(const struct question *question, const char *answer, unsigned mark) {
    size_t answer_bytes = strlen(answer) + 1, bytes = sizeof(struct kept) + question->length + answer_bytes;
    struct kept *entry = malloc(bytes);
    if (!entry)
        return NULL;
    memcpy(entry->data, question->bytes, question->length);
    memcpy(entry->data + question->length, answer, answer_bytes);
    entry->question = *question;
    entry->question.bytes = entry->data;
    entry->answer = entry->data + question->length;
    entry->mark = mark;
    entry->bytes = bytes + NODE_BYTES;
    return entry;
}

/* False if memory is out; the caller still owns the entry. */
static bool cache_insert(struct cache *cache, struct kept *entry) {
    struct kept *former = cache_find_kept(cache, &entry->question);
    if (former)
        drop(cache, former);
    shrink_to(cache, cache->capacity - entry->bytes);
    if (!tsearch(entry, &cache->tree, compare_kept))
        return false;
    TAILQ_INSERT_TAIL(&cache->order, entry, order);
    cache->bytes += entry->bytes;
    return true;
}

void cache_keep(struct cache *cache, const struct question *question, const char *answer, unsigned mark) {
    struct kept *entry = make_entry(question, answer, mark);
    if (!entry)
        return;
    pthread_mutex_lock(&cache->lock);
    bool done = entry->bytes <= cache->capacity && enter_epoch(cache, question->epoch) && cache_insert(cache, entry);
    pthread_mutex_unlock(&cache->lock);
    if (!done)
        free(entry);
}

size_t cache_bytes(struct cache *cache) {
    pthread_mutex_lock(&cache->lock);
    size_t bytes = cache->bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}
