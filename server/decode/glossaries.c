#include "server/decode/glossaries.h"
#include "model/base/file.h"
#include "server/decode/glossary_file.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILE_BYTES = 1 << 26 };

/* A list of references. */
struct list {
    struct kept_glossary **all; /* [count] */
    size_t count;
};

struct glossaries {
    const struct name_list *options;
    char *path;
    pthread_mutex_t change; /* held by who changes the lists, from when it looks at them until they are changed */
    pthread_mutex_t lock;   /* guards the lists and number; who changes them holds change, too */
    struct list fixed, made;
    size_t number; /* of the last that came into service */

    /* A thread of its own writes the file, once for all changes that came meanwhile. Guarded by change: */
    pthread_t writer;
    pthread_cond_t wake, written; /* wake: there is a wanted list, or the end has come; written: a writing is done */
    bool started, stopped;
    struct list wanted;         /* takes the place of made when the file has been written; all NULL: nothing is to be written */
    struct writing *turn;       /* whoever changed something waits for this writing of wanted */
    const struct list *writing; /* the list that is being written; NULL: none */
};

/* One writing of the file. Whoever changed something waits for it, and the last of them frees it. */
struct writing {
    size_t waiting;
    bool done;
    struct error error; /* ERROR_NONE: it is durable */
};

static void list_done(struct list *list) {
    for (size_t i = 0; i < list->count; i++)
        kept_glossary_release(list->all[i]);
    free(list->all);
    *list = (struct list){0};
}

/* Nobody else knows it yet, or change is held. */
static void set_list(struct glossaries *glossaries, struct list *list, struct list with) {
    pthread_mutex_lock(&glossaries->lock);
    struct list old = *list;
    *list = with;
    for (size_t i = 0; i < with.count; i++)
        if (with.all[i]->number == 0)
            with.all[i]->number = ++glossaries->number;
    pthread_mutex_unlock(&glossaries->lock);
    list_done(&old);
}

/* ---- those of options ---- */

/* false: it does not fit. */
static bool copy_part(const char *part, size_t length, char *to, size_t bytes) {
    return snprintf(to, bytes, "%.*s", (int)length, part) < (int)bytes;
}

/* NAME or NAME:SOURCE:TARGET, in length bytes. */
static bool read_name(const char *text, size_t length, struct glossary_about *about) {
    const char *end = text + length, *first = memchr(text, ':', length);
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    size_t name = (size_t)((first ? first : end) - text);
    if (name == 0 || !copy_part(text, name, about->name, sizeof about->name) || !copy_part(text, name, about->id, sizeof about->id))
        return false;
    if (!first)
        return true;
    return second && second > first + 1 && end > second + 1 &&
           copy_part(first + 1, (size_t)(second - first - 1), about->source, sizeof about->source) &&
           copy_part(second + 1, (size_t)(end - second - 1), about->target, sizeof about->target);
}

/* NULL: err tells why. */
static struct kept_glossary *read_fixed(const char *option, struct error *err) {
    struct glossary_about about = {.fixed = true, .created_ms = 0};
    const char *equals = strchr(option, '=');
    struct error why = {0};
    char *text;
    size_t length;
    if (!equals || equals[1] == '\0' || !read_name(option, (size_t)(equals - option), &about)) {
        error_set(err, ERROR_INPUT, "--glossary must be NAME=FILE or NAME:SOURCE:TARGET=FILE, got \"%.60s\"", option);
        return NULL;
    }
    if (file_read(equals + 1, MOST_FILE_BYTES, &text, &length, err) != 0)
        return NULL;
    struct kept_glossary *glossary = kept_glossary_create(&about, text, length, GLOSSARY_TSV, &why);
    free(text);
    if (!glossary)
        error_set(err, why.code, "%.100s: %s", equals + 1, why.message);
    return glossary;
}

static int read_options(const struct name_list *options, struct list *list, struct error *err) {
    *list = (struct list){.all = calloc(options->count + 1, sizeof *list->all)};
    if (!list->all)
        return error_memory(err);
    for (size_t i = 0; i < options->count; i++) {
        struct kept_glossary *glossary = read_fixed(options->names[i], err);
        if (!glossary) {
            list_done(list);
            return -1;
        }
        list->all[list->count++] = glossary;
    }
    return 0;
}

int glossaries_reload(struct glossaries *glossaries, struct error *err) {
    struct list list;
    if (read_options(glossaries->options, &list, err) != 0)
        return -1;
    pthread_mutex_lock(&glossaries->change);
    set_list(glossaries, &glossaries->fixed, list);
    pthread_mutex_unlock(&glossaries->change);
    return 0;
}

/* ---- those that are made ---- */

static int read_made(struct glossaries *glossaries, struct error *err) {
    struct list list = {.all = calloc(GLOSSARIES_MOST, sizeof *list.all)};
    struct error why = {0};
    char *text = NULL;
    size_t length = 0;
    if (!list.all)
        return error_memory(err);
    bool there = access(glossaries->path, F_OK) == 0 || errno != ENOENT;
    if (there && file_read(glossaries->path, MOST_FILE_BYTES, &text, &length, err) != 0) {
        free(list.all);
        return -1;
    }
    int result = there ? glossary_file_read(text, length, GLOSSARIES_MOST, list.all, &list.count, &why) : 0;
    free(text);
    if (result == 0)
        set_list(glossaries, &glossaries->made, list);
    else
        free(list.all);
    return result == 0 ? 0 : error_set(err, why.code, "%.100s: %s", glossaries->path, why.message);
}

static void *run_writer(void *argument);

static int start_writer(struct glossaries *glossaries, struct error *err) {
    glossaries->started = pthread_create(&glossaries->writer, NULL, run_writer, glossaries) == 0;
    return glossaries->started ? 0 : error_set(err, ERROR_MEMORY, "cannot start the thread that writes glossaries");
}

struct glossaries *glossaries_open(const struct glossaries_options *options, struct error *err) {
    struct glossaries *glossaries = calloc(1, sizeof *glossaries);
    if (!glossaries || (options->path && !(glossaries->path = strdup(options->path)))) {
        free(glossaries);
        error_memory(err);
        return NULL;
    }
    glossaries->options = options->fixed;
    pthread_cond_init(&glossaries->wake, NULL);
    pthread_cond_init(&glossaries->written, NULL);
    pthread_mutex_init(&glossaries->change, NULL);
    pthread_mutex_init(&glossaries->lock, NULL);
    if (glossaries_reload(glossaries, err) == 0 &&
        (!glossaries->path || (read_made(glossaries, err) == 0 && start_writer(glossaries, err) == 0)))
        return glossaries;
    glossaries_free(glossaries);
    return NULL;
}

void glossaries_free(struct glossaries *glossaries) {
    if (!glossaries)
        return;
    if (glossaries->started) {
        pthread_mutex_lock(&glossaries->change);
        glossaries->stopped = true;
        pthread_cond_signal(&glossaries->wake);
        pthread_mutex_unlock(&glossaries->change);
        pthread_join(glossaries->writer, NULL);
    }
    list_done(&glossaries->fixed);
    list_done(&glossaries->made);
    pthread_cond_destroy(&glossaries->wake);
    pthread_cond_destroy(&glossaries->written);
    pthread_mutex_destroy(&glossaries->change);
    pthread_mutex_destroy(&glossaries->lock);
    free(glossaries->path);
    free(glossaries);
}

bool glossaries_keep(const struct glossaries *glossaries) {
    return glossaries->path != NULL;
}

/* ---- looking up ---- */

/* Copies references to all of the list behind those that are there. */
static void take_all(const struct list *list, struct kept_glossary **all, size_t *count) {
    for (size_t i = 0; i < list->count; i++)
        all[(*count)++] = kept_glossary_acquire(list->all[i]);
}

struct kept_glossary **glossaries_all(struct glossaries *glossaries, size_t *count) {
    *count = 0;
    pthread_mutex_lock(&glossaries->lock);
    struct kept_glossary **all = calloc(glossaries->fixed.count + glossaries->made.count + 1, sizeof *all);
    if (all) {
        take_all(&glossaries->fixed, all, count);
        take_all(&glossaries->made, all, count);
    }
    pthread_mutex_unlock(&glossaries->lock);
    return all;
}

struct kept_glossary *glossaries_find(struct glossaries *glossaries, bool (*fits)(const struct kept_glossary *, const void *),
                                      const void *context) {
    const struct list *lists[] = {&glossaries->fixed, &glossaries->made};
    struct kept_glossary *found = NULL;
    pthread_mutex_lock(&glossaries->lock);
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; !found && i < lists[l]->count; i++)
            if (fits(lists[l]->all[i], context))
                found = kept_glossary_acquire(lists[l]->all[i]);
    pthread_mutex_unlock(&glossaries->lock);
    return found;
}

/* ---- changes ---- */

/* RFC 9562, version 4. */
static int make_id(char id[GLOSSARY_ID_BYTES], struct error *err) {
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return error_set(err, ERROR_FILE, "there are no random numbers");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(id, GLOSSARY_ID_BYTES, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return 0;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The list that changes build on: made as it will be once everything is written. change is held. */
static const struct list *latest(const struct glossaries *glossaries) {
    return glossaries->wanted.all ? &glossaries->wanted : glossaries->writing ? glossaries->writing : &glossaries->made;
}

/* list: as it would be; owner: of the one who changes it. */
static bool is_full(const struct list *list, const char *owner, struct error *err) {
    size_t own = 0, entries = 0, bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        own += strcmp(list->all[i]->about.owner, owner) == 0;
        entries += list->all[i]->lexicon.count;
        bytes += list->all[i]->bytes;
    }
    if (own > GLOSSARIES_MOST_OF_OWNER)
        error_set(err, ERROR_INPUT, "there may be at most %d glossaries of one key", GLOSSARIES_MOST_OF_OWNER);
    else if (list->count > GLOSSARIES_MOST || entries > GLOSSARIES_MOST_ENTRIES || bytes > GLOSSARIES_MOST_BYTES)
        error_set(err, ERROR_INPUT, "all glossaries together may have at most %d entries in %d bytes, and be %d",
                  GLOSSARIES_MOST_ENTRIES, GLOSSARIES_MOST_BYTES, GLOSSARIES_MOST);
    else
        return false;
    return true;
}

/* Those who wait for it go on. NULL: nobody does. change is held. */
static void end_writing(struct glossaries *glossaries, struct writing *writing, const struct error *error) {
    if (!writing)
        return;
    writing->error = *error;
    writing->done = true;
    pthread_cond_broadcast(&glossaries->written);
}

/* Writes what is wanted, with all that was changed until now. change is held, but not while it writes. */
static void write_wanted(struct glossaries *glossaries) {
    struct list list = glossaries->wanted;
    struct writing *writing = glossaries->turn;
    struct error error = {0};
    size_t length;
    glossaries->wanted = (struct list){0};
    glossaries->turn = NULL;
    glossaries->writing = &list;
    pthread_mutex_unlock(&glossaries->change);
    char *text = glossary_file_write(list.all, list.count, &length);
    if (!text)
        error_memory(&error);
    else
        file_replace(glossaries->path, text, length, &error);
    free(text);
    pthread_mutex_lock(&glossaries->change);
    glossaries->writing = NULL;
    if (error.code == ERROR_NONE) {
        set_list(glossaries, &glossaries->made, list);
    } else {
        list_done(&list);
        end_writing(glossaries, glossaries->turn, &error); /* later changes are built on this list, so they fail, too */
        glossaries->turn = NULL;
        list_done(&glossaries->wanted);
    }
    end_writing(glossaries, writing, &error);
}

static void *run_writer(void *argument) {
    struct glossaries *glossaries = argument;
    pthread_mutex_lock(&glossaries->change);
    while (glossaries->wanted.all || !glossaries->stopped) {
        if (glossaries->wanted.all)
            write_wanted(glossaries);
        else
            pthread_cond_wait(&glossaries->wake, &glossaries->change);
    }
    pthread_mutex_unlock(&glossaries->change);
    return NULL;
}

/* Has the list written, whose references are taken over, and returns when it has been. change is held, but not while it waits. */
static enum glossaries_verdict replace(struct glossaries *glossaries, struct list list, struct error *err) {
    struct writing *writing = glossaries->turn ? glossaries->turn : calloc(1, sizeof *writing);
    if (!writing) {
        list_done(&list);
        error_memory(err);
        return GLOSSARIES_FAILED;
    }
    list_done(&glossaries->wanted);
    glossaries->wanted = list;
    glossaries->turn = writing;
    writing->waiting++;
    pthread_cond_signal(&glossaries->wake);
    while (!writing->done)
        pthread_cond_wait(&glossaries->written, &glossaries->change);
    bool failed = writing->error.code != ERROR_NONE;
    if (failed)
        error_set(err, writing->error.code, "%s", writing->error.message);
    if (--writing->waiting == 0)
        free(writing);
    return failed ? GLOSSARIES_FAILED : GLOSSARIES_DONE;
}

static bool is_one_of(const struct kept_glossary *glossary, struct kept_glossary *const *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (all[i] == glossary)
            return true;
    return false;
}

/* change is held. */
static enum glossaries_verdict change(struct glossaries *glossaries, struct kept_glossary *const *old, size_t old_count,
                                      struct kept_glossary *const *made, size_t count, struct error *err) {
    const struct list *now = latest(glossaries);
    struct list list = {.all = calloc(now->count + count + 1, sizeof *list.all)};
    size_t left_out = 0;
    if (!list.all) {
        error_memory(err);
        return GLOSSARIES_FAILED;
    }
    for (size_t i = 0; i < now->count; i++)
        if (is_one_of(now->all[i], old, old_count))
            left_out++;
        else
            list.all[list.count++] = kept_glossary_acquire(now->all[i]);
    for (size_t i = 0; i < count; i++)
        list.all[list.count++] = kept_glossary_acquire(made[i]);
    enum glossaries_verdict verdict = left_out < old_count                                     ? GLOSSARIES_UNKNOWN
                                      : count > 0 && is_full(&list, made[0]->about.owner, err) ? GLOSSARIES_FULL
                                                                                               : GLOSSARIES_DONE;
    if (verdict == GLOSSARIES_DONE)
        return replace(glossaries, list, err);
    list_done(&list);
    return verdict;
}

enum glossaries_verdict glossaries_change(struct glossaries *glossaries, struct kept_glossary *const *old, size_t old_count,
                                          struct kept_glossary *const *made, size_t count, struct error *err) {
    pthread_mutex_lock(&glossaries->change);
    enum glossaries_verdict verdict = change(glossaries, old, old_count, made, count, err);
    pthread_mutex_unlock(&glossaries->change);
    return verdict;
}

int glossaries_name(struct glossary_about *about, struct error *err) {
    about->created_ms = now_ms();
    return make_id(about->id, err);
}

enum glossaries_verdict glossaries_add(struct glossaries *glossaries, struct kept_glossary *glossary, struct error *err) {
    if (glossaries_name(&glossary->about, err) != 0)
        return GLOSSARIES_FAILED;
    return glossaries_change(glossaries, NULL, 0, &glossary, 1, err);
}

enum glossaries_verdict glossaries_remove(struct glossaries *glossaries, const char *id, const char *owner, struct error *err) {
    enum glossaries_verdict verdict = GLOSSARIES_FAILED;
    pthread_mutex_lock(&glossaries->change);
    const struct list *made = latest(glossaries);
    struct kept_glossary **found = calloc(made->count + 1, sizeof *found);
    size_t count = 0;
    for (size_t i = 0; found && i < made->count; i++)
        if (strcmp(made->all[i]->about.id, id) == 0 && strcmp(made->all[i]->about.owner, owner) == 0)
            found[count++] = made->all[i];
    if (!found)
        error_memory(err);
    else
        verdict = count > 0 ? change(glossaries, found, count, NULL, 0, err) : GLOSSARIES_UNKNOWN;
    pthread_mutex_unlock(&glossaries->change);
    free(found);
    return verdict;
}
