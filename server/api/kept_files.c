/* Kept files: a list in order of arrival, under one lock, and a thread that removes expired files. */
#include "server/api/kept_files.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
    struct entry *next;
    int64_t until_us;
    bool sent;                                  /* sent completely at least once */
    char id[KEPT_ID_BYTES], key[KEPT_ID_BYTES]; /* key: the key of an order; "": not an order */
    struct kept_order order;
    const atomic_size_t *left; /* only while an order is pending */
    struct kept_file file;
    char *text; /* [file.length] and a NUL; NULL: no text yet */
};

struct kept_files {
    struct kept_files_limits limits;
    pthread_t thread;
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t wake;   /* signals a new first entry, or the end */
    struct entry *oldest;  /* oldest first */
    struct entry **newest; /* the link to which the next entry is appended */
    size_t count, bytes;
    bool stopped;
};

/* Removes the entry at *link. This and all functions below require the lock. */
static void remove_entry(struct kept_files *files, struct entry **link) {
    struct entry *entry = *link;
    *link = entry->next;
    if (!*link)
        files->newest = link;
    files->count--;
    files->bytes -= entry->file.length;
    free(entry->text);
    free(entry);
}

/* The link to the entry of this id; a link to NULL if there is none. */
static struct entry **find_link(struct kept_files *files, const char *id) {
    struct entry **link = &files->oldest;
    while (*link && strcmp((*link)->id, id) != 0)
        link = &(*link)->next;
    return link;
}

/* Removes the oldest entry that has been sent or, if there is none, the oldest. */
static void make_room(struct kept_files *files) {
    struct entry **link = &files->oldest;
    while (*link && !(*link)->sent)
        link = &(*link)->next;
    remove_entry(files, *link ? link : &files->oldest);
}

/* Removes expired entries and returns when the next one will expire. */
static int64_t remove_expired(struct kept_files *files) {
    int64_t now_us = clock_us(), next_us = INT64_MAX;
    for (struct entry **link = &files->oldest; *link;) {
        if ((*link)->until_us <= now_us) {
            remove_entry(files, link);
            continue;
        }
        next_us = (*link)->until_us < next_us ? (*link)->until_us : next_us;
        link = &(*link)->next;
    }
    return next_us;
}

/* ---- the thread ---- */

static void *kept_files_run(void *argument) {
    struct kept_files *files = argument;
    pthread_mutex_lock(&files->lock);
    while (!files->stopped) {
        int64_t next_us = remove_expired(files);
        if (!files->oldest) {
            pthread_cond_wait(&files->wake, &files->lock);
            continue;
        }
        pthread_cond_timedwait(&files->wake, &files->lock, &(struct timespec){next_us / 1000000, next_us % 1000000 * 1000});
    }
    pthread_mutex_unlock(&files->lock);
    return NULL;
}

static void release(struct kept_files *files) {
    while (files->oldest)
        remove_entry(files, &files->oldest);
    pthread_cond_destroy(&files->wake);
    pthread_mutex_destroy(&files->lock);
    free(files);
}

struct kept_files *kept_files_create(const struct kept_files_limits *limits, struct error *err) {
    struct kept_files *files = calloc(1, sizeof *files);
    if (!files) {
        error_memory(err);
        return NULL;
    }
    files->limits = *limits;
    files->newest = &files->oldest;
    pthread_mutex_init(&files->lock, NULL);
    clock_condition_init(&files->wake);
    if (pthread_create(&files->thread, NULL, kept_files_run, files) == 0)
        return files;
    error_set(err, ERROR_MEMORY, "cannot start the thread that removes files");
    release(files);
    return NULL;
}

void kept_files_free(struct kept_files *files) {
    if (!files)
        return;
    pthread_mutex_lock(&files->lock);
    files->stopped = true;
    pthread_cond_signal(&files->wake);
    pthread_mutex_unlock(&files->lock);
    pthread_join(files->thread, NULL);
    release(files);
}

/* ---- files ---- */

static int make_id(char id[KEPT_ID_BYTES]) {
    unsigned char random[(KEPT_ID_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return -1;
    hex_print(random, sizeof random, id);
    return 0;
}

/* A NUL-terminated copy of a text [length]. NULL: memory is out. */
static char *copy_text(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

/* Appends the entry, which it takes over, after making room for it. entry NULL: memory is out. */
static int add_entry(struct kept_files *files, struct entry *entry, char id[KEPT_ID_BYTES], struct error *err) {
    if (!entry || make_id(entry->id) != 0) {
        if (entry)
            free(entry->text);
        free(entry);
        return error_memory(err);
    }
    entry->until_us = clock_us() + files->limits.keep_us;
    memcpy(id, entry->id, KEPT_ID_BYTES);
    pthread_mutex_lock(&files->lock);
    while (files->count == files->limits.count || files->bytes + entry->file.length > files->limits.bytes)
        make_room(files);
    *files->newest = entry;
    files->newest = &entry->next;
    files->count++;
    files->bytes += entry->file.length;
    pthread_cond_signal(&files->wake);
    pthread_mutex_unlock(&files->lock);
    return 0;
}

int kept_files_add(struct kept_files *files, const struct kept_file *file, const char *text, char id[KEPT_ID_BYTES],
                   struct error *err) {
    if (file->length > files->limits.bytes)
        return error_set(err, ERROR_LENGTH, "the file is larger than the space for kept files");
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry) {
        entry->order.state = KEPT_READY;
        entry->file = *file;
        entry->text = copy_text(text, file->length);
    }
    if (!entry || !entry->text) {
        free(entry);
        return error_memory(err);
    }
    return add_entry(files, entry, id, err);
}

/* The file of this id and key. */
static char *copy_file(struct kept_files *files, const char *id, const char *key, struct kept_file *out, struct error *err) {
    char *copy = NULL;
    pthread_mutex_lock(&files->lock);
    remove_expired(files);
    const struct entry *entry = *find_link(files, id);
    bool found = entry && entry->text && strcmp(entry->key, key) == 0;
    if (found && (copy = copy_text(entry->text, entry->file.length)) != NULL)
        *out = entry->file;
    pthread_mutex_unlock(&files->lock);
    if (!found)
        error_set(err, ERROR_INPUT, "file not found or expired");
    else if (!copy)
        error_memory(err);
    return copy;
}

char *kept_files_find(struct kept_files *files, const char *id, struct kept_file *out, struct error *err) {
    return copy_file(files, id, "", out, err);
}

/* ---- orders ---- */

int kept_files_order(struct kept_files *files, const atomic_size_t *left, size_t total, size_t characters, char id[KEPT_ID_BYTES],
                     char key[KEPT_ID_BYTES], struct error *err) {
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry || make_id(entry->key) != 0) {
        free(entry);
        return error_memory(err);
    }
    entry->order = (struct kept_order){.state = KEPT_PENDING, .total = total, .began_us = clock_us(), .characters = characters};
    entry->left = left;
    memcpy(key, entry->key, KEPT_ID_BYTES);
    return add_entry(files, entry, id, err);
}

/* Gives an order its text, which it takes over. NULL: the order has failed for the reason in message. */
static void end_order(struct kept_files *files, const char *id, const struct kept_file *file, char *text, const char *message) {
    pthread_mutex_lock(&files->lock);
    struct entry *entry = *find_link(files, id);
    while (entry && text && files->bytes + file->length > files->limits.bytes) {
        make_room(files);
        entry = *find_link(files, id); /* making room may have removed this order */
    }
    if (entry && text) {
        entry->order.state = KEPT_READY;
        entry->file = *file;
        entry->text = text;
        files->bytes += file->length;
        text = NULL;
    } else if (entry) {
        entry->order.state = KEPT_FAILED;
        snprintf(entry->order.message, sizeof entry->order.message, "%s", message);
    }
    pthread_mutex_unlock(&files->lock);
    free(text);
}

void kept_files_deliver(struct kept_files *files, const char *id, const struct kept_file *file, const char *text) {
    bool fits = file->length <= files->limits.bytes;
    end_order(files, id, file, fits ? copy_text(text, file->length) : NULL,
              fits ? "the server is out of memory" : "the file is larger than the space for kept files");
}

void kept_files_fail(struct kept_files *files, const char *id, const char *message) {
    end_order(files, id, NULL, NULL, message);
}

bool kept_files_look(struct kept_files *files, const char *id, const char *key, struct kept_order *out) {
    pthread_mutex_lock(&files->lock);
    remove_expired(files);
    const struct entry *entry = *find_link(files, id);
    bool found = entry && *key && strcmp(entry->key, key) == 0;
    if (found) {
        *out = entry->order;
        out->left = entry->order.state == KEPT_PENDING ? atomic_load(entry->left) : 0;
    }
    pthread_mutex_unlock(&files->lock);
    return found;
}

char *kept_files_fetch(struct kept_files *files, const char *id, const char *key, struct kept_file *out, struct error *err) {
    if (*key)
        return copy_file(files, id, key, out, err);
    error_set(err, ERROR_INPUT, "an order has a key");
    return NULL;
}

void kept_files_remove(struct kept_files *files, const char *id) {
    pthread_mutex_lock(&files->lock);
    struct entry **link = find_link(files, id);
    if (*link)
        remove_entry(files, link);
    pthread_mutex_unlock(&files->lock);
}

void kept_files_sent(struct kept_files *files, const char *id) {
    int64_t until_us = clock_us() + files->limits.sent_us;
    pthread_mutex_lock(&files->lock);
    struct entry *entry = *find_link(files, id);
    if (entry && !entry->sent) {
        entry->sent = true;
        entry->until_us = until_us < entry->until_us ? until_us : entry->until_us;
        pthread_cond_signal(&files->wake); /* it may now be the next to expire */
    }
    pthread_mutex_unlock(&files->lock);
}

size_t kept_files_count(struct kept_files *files) {
    pthread_mutex_lock(&files->lock);
    size_t count = files->count;
    pthread_mutex_unlock(&files->lock);
    return count;
}
