#include "server/api/kept_files.h"
#include "server/base/clock.h"
#include "server/base/hex.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
    struct entry *next;
    int64_t until_us;
    bool sent; /* whole, at least once */
    char id[KEPT_ID_BYTES];
    struct kept_file file;
    char text[]; /* [file.length] and a NUL */
};

struct kept_files {
    struct kept_files_limits limits;
    pthread_t thread;
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t wake;   /* there is a first one again, or the end has come */
    struct entry *oldest;  /* the next are younger */
    struct entry **newest; /* where the next one is linked */
    size_t count, bytes;
    bool stopped;
};

/* The entry at *link. With the lock, as all below. */
static void remove_entry(struct kept_files *files, struct entry **link) {
    struct entry *entry = *link;
    *link = entry->next;
    if (!*link)
        files->newest = link;
    files->count--;
    files->bytes -= entry->file.length;
    free(entry);
}

/* Where it is linked; a link to NULL: there is none. */
static struct entry **find_link(struct kept_files *files, const char *id) {
    struct entry **link = &files->oldest;
    while (*link && strcmp((*link)->id, id) != 0)
        link = &(*link)->next;
    return link;
}

/* Removes the oldest that has been sent, or the oldest if none has. */
static void make_room(struct kept_files *files) {
    struct entry **link = &files->oldest;
    while (*link && !(*link)->sent)
        link = &(*link)->next;
    remove_entry(files, *link ? link : &files->oldest);
}

/* Returns when the next one will expire. */
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

static struct entry *make_entry(const struct kept_files *files, const struct kept_file *file, const char *text) {
    unsigned char random[(KEPT_ID_BYTES - 1) / 2];
    struct entry *entry = malloc(sizeof *entry + file->length + 1);
    if (!entry || getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        free(entry);
        return NULL;
    }
    *entry = (struct entry){.until_us = clock_us() + files->limits.keep_us, .file = *file};
    hex_print(random, sizeof random, entry->id);
    memcpy(entry->text, text, file->length);
    entry->text[file->length] = '\0';
    return entry;
}

int kept_files_add(struct kept_files *files, const struct kept_file *file, const char *text, char id[KEPT_ID_BYTES],
                   struct error *err) {
    if (file->length > files->limits.bytes)
        return error_set(err, ERROR_LENGTH, "the file is longer than all that are kept may be together");
    struct entry *entry = make_entry(files, file, text);
    if (!entry)
        return error_memory(err);
    memcpy(id, entry->id, KEPT_ID_BYTES);
    pthread_mutex_lock(&files->lock);
    while (files->count == files->limits.count || files->bytes + file->length > files->limits.bytes)
        make_room(files);
    *files->newest = entry;
    files->newest = &entry->next;
    files->count++;
    files->bytes += file->length;
    pthread_cond_signal(&files->wake);
    pthread_mutex_unlock(&files->lock);
    return 0;
}

char *kept_files_find(struct kept_files *files, const char *id, struct kept_file *out, struct error *err) {
    char *copy = NULL;
    pthread_mutex_lock(&files->lock);
    remove_expired(files);
    const struct entry *entry = *find_link(files, id);
    bool found = entry != NULL;
    if (found && (copy = malloc(entry->file.length + 1)) != NULL) {
        memcpy(copy, entry->text, entry->file.length + 1);
        *out = entry->file;
    }
    pthread_mutex_unlock(&files->lock);
    if (!found)
        error_set(err, ERROR_INPUT, "there is no file of this name, or no longer");
    else if (!copy)
        error_memory(err);
    return copy;
}

void kept_files_sent(struct kept_files *files, const char *id) {
    int64_t until_us = clock_us() + files->limits.sent_us;
    pthread_mutex_lock(&files->lock);
    struct entry *entry = *find_link(files, id);
    if (entry && !entry->sent) {
        entry->sent = true;
        entry->until_us = until_us < entry->until_us ? until_us : entry->until_us;
        pthread_cond_signal(&files->wake); /* it may be the next to expire */
    }
    pthread_mutex_unlock(&files->lock);
}

size_t kept_files_count(struct kept_files *files) {
    pthread_mutex_lock(&files->lock);
    size_t count = files->count;
    pthread_mutex_unlock(&files->lock);
    return count;
}
