/* This file stores answers and files in memory, and chooses which of them to evict when the space
 * is full. */
#include "server/api/kept.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

/* ---- answers, by question ---- */

enum { NODE_BYTES = 64 }; /* approximate overhead of the tree and of malloc per entry */

struct cached {
    TAILQ_ENTRY(cached) order;
    struct question question;
    const char *answer; /* NUL-terminated, after the question */
    unsigned mark;
    size_t bytes; /* charged against the capacity */
    char data[];
};

TAILQ_HEAD(cached_list, cached);

/* The cache uses a balanced tree instead of a hash table, so that no choice of questions can make
 * it slow. */
struct cache {
    size_t capacity; /* constant */

    pthread_mutex_t lock;     /* guards everything below */
    void *tree;               /* entries by question (tsearch) */
    struct cached_list order; /* entries, least recently used first */
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

static int compare_questions(const void *a, const void *b) {
    const struct question *x = &((const struct cached *)a)->question,
                          *y = &((const struct cached *)b)->question;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->length);
}

static void drop(struct cache *cache, struct cached *entry) {
    tdelete(entry, &cache->tree, compare_questions);
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

/* Empties the cache when a later epoch begins. Returns false if the given epoch has passed. */
static bool enter_epoch(struct cache *cache, size_t epoch) {
    if (epoch > cache->epoch) {
        shrink_to(cache, 0);
        cache->epoch = epoch;
    }
    return epoch == cache->epoch;
}

static struct cached *find_cached(const struct cache *cache, const struct question *question) {
    const struct cached key = {.question = *question};
    void *const *node = tfind(&key, &cache->tree, compare_questions);
    return node ? *node : NULL;
}

char *cache_find(struct cache *cache, const struct question *question, unsigned *mark) {
    char *answer = NULL;
    pthread_mutex_lock(&cache->lock);
    struct cached *entry =
        enter_epoch(cache, question->epoch) ? find_cached(cache, question) : NULL;
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

void cache_keep(struct cache *cache, const struct question *question, const char *answer,
                unsigned mark) {
    size_t answer_bytes = strlen(answer) + 1,
           bytes = sizeof(struct cached) + question->length + answer_bytes;
    struct cached *entry = malloc(bytes);
    if (!entry)
        return;
    entry->answer = mempcpy(entry->data, question->bytes, question->length);
    memcpy(entry->data + question->length, answer, answer_bytes);
    entry->question = *question;
    entry->question.bytes = entry->data;
    entry->mark = mark;
    entry->bytes = bytes + NODE_BYTES;

    pthread_mutex_lock(&cache->lock);
    bool kept = entry->bytes <= cache->capacity && enter_epoch(cache, question->epoch);
    struct cached *former = kept ? find_cached(cache, question) : NULL;
    if (former)
        drop(cache, former);
    if (kept) {
        shrink_to(cache, cache->capacity - entry->bytes);
        kept = tsearch(entry, &cache->tree, compare_questions) != NULL;
    }
    if (kept) {
        TAILQ_INSERT_TAIL(&cache->order, entry, order);
        cache->bytes += entry->bytes;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!kept)
        free(entry);
}

size_t cache_bytes(struct cache *cache) {
    pthread_mutex_lock(&cache->lock);
    size_t bytes = cache->bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}

/* ---- files: a list in order of arrival, under one lock ---- */

enum { KEPT_SHARE = 4 /* an owner has one part in so many while others have files */ };

static const char no_room[] = "the file is larger than the space for kept files";

/* Whoever has files, and how many. */
struct kept_owner {
    TAILQ_ENTRY(kept_owner) link;
    uint64_t id;
    size_t count, bytes;
};

TAILQ_HEAD(kept_owners, kept_owner);

struct kept_entry {
    TAILQ_ENTRY(kept_entry) link;
    struct kept_owner *owner;
    int64_t until_us;
    bool sent;                /* sent completely at least once */
    char key[KEPT_KEY_BYTES]; /* key of an order; "" for other files */
    struct kept_view view;
    const atomic_size_t *left; /* valid only while an order is pending */
    char *text;                /* [view.file.length] and a NUL; NULL while an order has no text */
};

TAILQ_HEAD(kept_list, kept_entry);

struct kept_files {
    struct kept_files_limits limits;
    pthread_mutex_t lock;     /* guards everything below */
    struct kept_list entries; /* oldest first */
    struct kept_owners owners;
    size_t count, bytes;
};

struct kept_files *kept_files_create(const struct kept_files_limits *limits) {
    struct kept_files *files = calloc(1, sizeof *files);
    if (!files)
        return NULL;
    files->limits = *limits;
    TAILQ_INIT(&files->entries);
    TAILQ_INIT(&files->owners);
    pthread_mutex_init(&files->lock, NULL);
    return files;
}

/* The functions from here to tidy require the lock. */

/* Returns NULL if memory runs out. */
static struct kept_owner *find_owner(struct kept_files *files, uint64_t id) {
    struct kept_owner *owner;
    TAILQ_FOREACH(owner, &files->owners, link)
    if (owner->id == id)
        return owner;
    owner = malloc(sizeof *owner);
    if (!owner)
        return NULL;
    *owner = (struct kept_owner){.id = id};
    TAILQ_INSERT_TAIL(&files->owners, owner, link);
    return owner;
}

static void add_bytes(struct kept_files *files, struct kept_entry *entry, size_t bytes) {
    files->bytes += bytes;
    entry->owner->bytes += bytes;
}

static void remove_entry(struct kept_files *files, struct kept_entry *entry) {
    struct kept_owner *owner = entry->owner;
    TAILQ_REMOVE(&files->entries, entry, link);
    files->count--;
    files->bytes -= entry->view.file.length;
    owner->bytes -= entry->view.file.length;
    if (--owner->count == 0) {
        TAILQ_REMOVE(&files->owners, owner, link);
        free(owner);
    }
    free(entry->text);
    free(entry);
}

void kept_files_free(struct kept_files *files) {
    if (!files)
        return;
    while (!TAILQ_EMPTY(&files->entries))
        remove_entry(files, TAILQ_FIRST(&files->entries));
    pthread_mutex_destroy(&files->lock);
    free(files);
}

static struct kept_entry *find_entry(struct kept_files *files, const char *id) {
    struct kept_entry *entry = TAILQ_FIRST(&files->entries);
    while (entry && strcmp(entry->view.id, id) != 0)
        entry = TAILQ_NEXT(entry, link);
    return entry;
}

static size_t owned(const struct kept_owner *owner, bool by_bytes) {
    return by_bytes ? owner->bytes : owner->count;
}

/* Removes what exceeds a limit, as far as it belongs to the owner who has the most beyond a share,
 * if there is one: what was sent first, then the oldest. */
static void shrink(struct kept_files *files, bool by_bytes, size_t limit) {
    const size_t share = limit / KEPT_SHARE, *all = by_bytes ? &files->bytes : &files->count;
    size_t most = share;
    uint64_t greedy = 0;
    const struct kept_owner *owner;
    TAILQ_FOREACH(owner, &files->owners, link) {
        if (owned(owner, by_bytes) > most) {
            most = owned(owner, by_bytes);
            greedy = owner->id;
        }
    }
    for (int sent = 1; sent >= 0; sent--) {
        struct kept_entry *entry, *next = TAILQ_FIRST(&files->entries);
        while ((entry = next) != NULL && *all > limit) {
            bool may_go = most == share ||
                          (entry->owner->id == greedy && owned(entry->owner, by_bytes) > share);
            next = TAILQ_NEXT(entry, link);
            if (may_go && entry->sent == (bool)sent)
                remove_entry(files, entry);
        }
    }
}

/* Removes expired entries and, while a limit is exceeded, others. At most as many owners as have a
 * share lose some, so the time grows with the number of files, however many go. */
static void tidy(struct kept_files *files) {
    int64_t now_us = clock_us();
    struct kept_entry *entry, *next;
    for (entry = TAILQ_FIRST(&files->entries); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->until_us <= now_us)
            remove_entry(files, entry);
    }
    while (files->bytes > files->limits.bytes)
        shrink(files, true, files->limits.bytes);
    while (files->count > files->limits.count)
        shrink(files, false, files->limits.count);
}

size_t kept_files_expire(struct kept_files *files) {
    pthread_mutex_lock(&files->lock);
    tidy(files);
    size_t count = files->count;
    pthread_mutex_unlock(&files->lock);
    return count;
}

/* Writes random digits, size - 1 of them and a NUL. */
static int make_digits(char *text, size_t size) {
    unsigned char random[KEPT_KEY_BYTES / 2];
    size_t count = size / 2;
    if (getrandom(random, count, 0) != (ssize_t)count)
        return -1;
    hex_print(random, count, text);
    for (char *at = text; *at; at++)
        if (*at >= 'a')
            *at = (char)(*at - 'a' + 'A');
    return 0;
}

/* Returns a NUL-terminated copy of a text [length], or NULL if memory runs out. */
static char *copy_text(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (copy)
        *(char *)mempcpy(copy, text, length) = '\0';
    return copy;
}

/* Makes an id, appends a copy of the entry, and takes over its text, even if it fails. Returns -1
 * with ERROR_MEMORY, or with ERROR_LENGTH: its owner has no room for it. */
static int add_entry(struct kept_files *files, const struct kept_entry *with,
                     char id[KEPT_ID_BYTES], struct error *err) {
    struct kept_entry *entry = malloc(sizeof *entry);
    if (!entry || make_digits(id, KEPT_ID_BYTES) != 0) {
        free(with->text);
        free(entry);
        return error_memory(err);
    }
    *entry = *with;
    memcpy(entry->view.id, id, KEPT_ID_BYTES);
    entry->until_us = clock_us() + files->limits.keep_us;
    pthread_mutex_lock(&files->lock);
    entry->owner = find_owner(files, entry->view.file.owner);
    bool listed = entry->owner != NULL;
    if (listed) {
        TAILQ_INSERT_TAIL(&files->entries, entry, link);
        files->count++;
        entry->owner->count++;
        add_bytes(files, entry, entry->view.file.length);
        tidy(files);
    }
    bool kept = listed && find_entry(files, id) != NULL;
    pthread_mutex_unlock(&files->lock);
    if (!listed) {
        free(entry->text);
        free(entry);
        return error_memory(err);
    }
    return kept ? 0 : error_set(err, ERROR_LENGTH, no_room);
}

int kept_files_add(struct kept_files *files, const struct kept_file *file, const char *text,
                   char id[KEPT_ID_BYTES], struct error *err) {
    if (file->length > files->limits.bytes)
        return error_set(err, ERROR_LENGTH, no_room);
    const struct kept_entry entry = {.view = {.state = KEPT_READY, .file = *file},
                                     .text = copy_text(text, file->length)};
    return entry.text ? add_entry(files, &entry, id, err) : error_memory(err);
}

int kept_files_order(struct kept_files *files, const struct kept_order *order,
                     char id[KEPT_ID_BYTES], char key[KEPT_KEY_BYTES], struct error *err) {
    struct kept_entry entry = {.view = {.state = KEPT_PENDING,
                                        .file = {.owner = order->owner},
                                        .total = order->total,
                                        .began_us = clock_us(),
                                        .characters = order->characters},
                               .left = order->left};
    if (make_digits(entry.key, sizeof entry.key) != 0)
        return error_memory(err);
    if (add_entry(files, &entry, id, err) != 0)
        return -1;
    memcpy(key, entry.key, KEPT_KEY_BYTES);
    return 0;
}

void kept_files_end(struct kept_files *files, const char *id, const struct kept_file *file,
                    const char *text, const char *message) {
    bool fits = text && file->length <= files->limits.bytes;
    char *copy = fits ? copy_text(text, file->length) : NULL;
    if (text)
        message = fits ? "the server is out of memory" : no_room;
    pthread_mutex_lock(&files->lock);
    struct kept_entry *entry = find_entry(files, id);
    if (entry && copy) {
        entry->view.state = KEPT_READY;
        uint64_t owner = entry->view.file.owner;
        entry->view.file = *file;
        entry->view.file.owner = owner;
        entry->text = copy;
        add_bytes(files, entry, file->length);
        copy = NULL;
        tidy(files); /* this may remove the order itself */
    } else if (entry) {
        entry->view.state = KEPT_FAILED;
        snprintf(entry->view.message, sizeof entry->view.message, "%s", message);
    }
    pthread_mutex_unlock(&files->lock);
    free(copy);
}

int kept_files_find(struct kept_files *files, const struct kept_query *query,
                    struct kept_view *view, char **text, struct error *err) {
    const char *key = query->key;
    char *copy = NULL;
    int result = 0;
    pthread_mutex_lock(&files->lock);
    tidy(files);
    const struct kept_entry *entry = find_entry(files, query->id);
    bool own = entry && (!query->owner || *query->owner == entry->view.file.owner);
    bool found = own && (key ? *key && strcmp(entry->key, key) == 0 : !*entry->key);
    if (!found)
        result = error_set(err, ERROR_INPUT, "file not found or expired");
    else if (text && entry->text && !(copy = copy_text(entry->text, entry->view.file.length)))
        result = error_memory(err);
    if (result == 0) {
        *view = entry->view;
        view->left = view->state == KEPT_PENDING ? atomic_load(entry->left) : 0;
        if (text)
            *text = copy;
    }
    pthread_mutex_unlock(&files->lock);
    return result;
}

void kept_files_sent(struct kept_files *files, const char *id) {
    int64_t until_us = clock_us() + files->limits.sent_us;
    pthread_mutex_lock(&files->lock);
    struct kept_entry *entry = find_entry(files, id);
    if (entry && *entry->key) {
        remove_entry(files, entry);
    } else if (entry && !entry->sent) {
        entry->sent = true;
        entry->until_us = until_us < entry->until_us ? until_us : entry->until_us;
    }
    pthread_mutex_unlock(&files->lock);
}
