/* This module hides how glossaries are read, kept in a file, and replaced while requests use them. */
#include "server/glossaries/glossaries.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define FIRST_LINE "alignd glossaries 1"
enum { ARENA_BLOCK_BYTES = 4096, LINE_BYTES = 512, MOST_FILE_BYTES = 1 << 26 };

/* ---- text -> entries ---- */

/* The text while it is parsed in place: strings are terminated where they stand. */
struct reading {
    char *at, *end; /* the remaining bytes */
    size_t line;    /* from 1 */
    struct glossary_entry *entries;
    size_t count;
};

static int refuse_line(size_t line, const char *problem, struct error *err) {
    return error_set(err, ERROR_INPUT, "line %zu: %s", line, problem);
}

/* Trims blanks, and checks the phrase. A target must have more than the bars between its variants. */
static int read_phrase(const struct reading *reading, char *text, const char *which, const char **phrase, struct error *err) {
    size_t line = reading->line;
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    if (length == 0 || (*which == 't' && text[strspn(text, " |")] == '\0'))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is empty", line, which);
    if (length > GLOSSARY_PHRASE_BYTES)
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase must have at most %d bytes, got %zu", line, which,
                         GLOSSARY_PHRASE_BYTES, length);
    if (!utf8_valid(text, length))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is not valid UTF-8", line, which);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return error_set(err, ERROR_INPUT, "line %zu: the %s phrase contains a control character", line, which);
    }
    *phrase = text;
    return 0;
}

/* Reads the next line, or several lines if a quoted phrase contains their ends. */
static int read_entry(struct reading *reading, enum glossary_format format, struct error *err) {
    bool csv = format == GLOSSARY_CSV;
    char separator = csv ? ',' : '\t', ended = separator, *fields[2] = {NULL};
    size_t count = 0;
    for (; ended == separator; count++) {
        char *at = reading->at, *end = reading->end;
        bool quoted = csv && at < end && *at == '"';
        char *field = at += quoted, *to = field;
        for (; at < end && (quoted || (*at != separator && *at != '\n')); *to++ = *at++) {
            if (quoted && *at == '"' && (at + 1 == end || at[1] != '"'))
                break;
            at += quoted && *at == '"'; /* two quotation marks stand for one */
            reading->line += *at == '\n';
        }
        bool open = quoted && at == end;
        if (quoted && !open) {
            at++;
            at += at < end && *at == '\r';
        }
        ended = at < end ? *at : '\n';
        if (open || (ended != separator && ended != '\n'))
            return refuse_line(reading->line, "invalid quotation marks", err);
        reading->at = at + (at < end);
        if (!quoted && ended == '\n' && to > field && to[-1] == '\r')
            to--;
        *to = '\0';
        if (count < 2)
            fields[count] = field;
    }

    if (count == 1 && fields[0][strspn(fields[0], " ")] == '\0')
        return 0;
    if (csv && count < 2) /* fields after the second, such as languages, are ignored */
        return refuse_line(reading->line, "a line must have two phrases separated by a comma", err);
    if (!csv && count != 2)
        return refuse_line(reading->line, "a line must have two phrases separated by a tab", err);
    struct glossary_entry entry;
    if (read_phrase(reading, fields[0], "source", &entry.source, err) != 0 ||
        read_phrase(reading, fields[1], "target", &entry.target, err) != 0)
        return -1;
    if (reading->count == GLOSSARY_MOST_ENTRIES)
        return error_set(err, ERROR_INPUT, "a glossary must have at most %d entries", GLOSSARY_MOST_ENTRIES);
    reading->entries[reading->count++] = entry;
    return 0;
}

static int fill(struct kept_glossary *glossary, const char *text, size_t length, enum glossary_format format, struct error *err) {
    if (memchr(text, '\0', length))
        return error_set(err, ERROR_INPUT, "the text contains a zero byte");
    size_t lines = 1;
    for (const char *at = text, *end = text + length; lines < GLOSSARY_MOST_ENTRIES && (at = memchr(at, '\n', (size_t)(end - at)));
         at++)
        lines++;
    struct reading reading = {.entries = arena_alloc(&glossary->arena, lines, sizeof *reading.entries)};
    reading.at = arena_copy(&glossary->arena, text, length);
    if (arena_failed(&glossary->arena))
        return error_memory(err);
    reading.end = reading.at + length;
    while (reading.at < reading.end) {
        reading.line++;
        if (read_entry(&reading, format, err) != 0)
            return -1;
    }
    if (reading.count == 0)
        return error_set(err, ERROR_INPUT, "the glossary has no entries");

    struct lexicon *lexicon = &glossary->lexicon;
    if (lexicon_init(lexicon, reading.entries, reading.count, &glossary->arena, err) != 0)
        return -1;
    /* Equal phrases are neighbours, except for a phrase between them whose first letter has the other case. */
    for (size_t i = 1; i < lexicon->count; i++) {
        for (size_t j = i; j-- > 0 && j + 3 > i;) {
            if (strcmp(lexicon->order[i]->source, lexicon->order[j]->source) == 0)
                return error_set(err, ERROR_INPUT, "\"%.60s\" has two entries", lexicon->order[i]->source);
        }
    }
    glossary->bytes = length;
    return 0;
}

struct kept_glossary *kept_glossary_create(const struct glossary_about *about, const char *text, size_t length,
                                           enum glossary_format format, struct error *err) {
    struct kept_glossary *glossary = calloc(1, sizeof *glossary);
    if (!glossary) {
        error_memory(err);
        return NULL;
    }
    glossary->about = *about;
    atomic_init(&glossary->references, 1);
    arena_init(&glossary->arena, ARENA_BLOCK_BYTES);
    if (fill(glossary, text, length, format, err) == 0)
        return glossary;
    kept_glossary_release(glossary);
    return NULL;
}

struct kept_glossary *kept_glossary_acquire(struct kept_glossary *glossary) {
    atomic_fetch_add(&glossary->references, 1);
    return glossary;
}

void kept_glossary_release(struct kept_glossary *glossary) {
    if (!glossary || atomic_fetch_sub(&glossary->references, 1) > 1)
        return;
    arena_done(&glossary->arena);
    free(glossary);
}

/* ---- the file ---- */

char *glossary_file_write(struct kept_glossary *const *glossaries, size_t count, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    fprintf(out, FIRST_LINE "\n");
    for (size_t i = 0; i < count; i++) {
        const struct glossary_about *about = &glossaries[i]->about;
        const struct lexicon *lexicon = &glossaries[i]->lexicon;
        fprintf(out, "%s\t%s\t%s\t%" PRId64 "\t%s\t%zu\t%s\n", about->id, about->source, about->target, about->created_ms,
                about->owner, lexicon->count, about->name);
        for (size_t j = 0; j < lexicon->count; j++)
            fprintf(out, "%s\t%s\n", lexicon->entries[j].source, lexicon->entries[j].target);
    }
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

struct lines {
    const char *at, *end; /* the remaining bytes */
    size_t line;          /* the number of the last line read, from 1 */
};

/* Copies the next line without its end, cut to fit. Returns false if there is no line, or the line has no end. */
static bool next_line(struct lines *lines, char line[LINE_BYTES]) {
    const char *feed = lines->at < lines->end ? memchr(lines->at, '\n', (size_t)(lines->end - lines->at)) : NULL;
    lines->line++;
    if (!feed)
        return false;
    size_t length = (size_t)(feed - lines->at);
    length = length < LINE_BYTES ? length : LINE_BYTES - 1;
    memcpy(line, lines->at, length);
    line[length] = '\0';
    lines->at = feed + 1;
    return true;
}

/* Reads a glossary: the line of its properties, and as many lines with entries as that line says. */
static struct kept_glossary *read_glossary(struct lines *lines, struct error *err) {
    char line[LINE_BYTES], *rest = line;
    struct glossary_about about = {.name = ""};
    uint64_t created, count;
    const struct {
        char *text;
        size_t bytes;
        uint64_t *number, most; /* number: NULL: the member is a text */
    } fields[] = {{about.id, sizeof about.id, NULL, 0},         {about.source, sizeof about.source, NULL, 0},
                  {about.target, sizeof about.target, NULL, 0}, {NULL, 0, &created, INT64_MAX},
                  {about.owner, sizeof about.owner, NULL, 0},   {NULL, 0, &count, GLOSSARY_MOST_ENTRIES},
                  {about.name, sizeof about.name, NULL, 0}};
    enum { FIELDS = sizeof fields / sizeof *fields };
    bool valid = next_line(lines, line);
    for (size_t i = 0; valid && i < FIELDS; i++) {
        char *field = i + 1 < FIELDS ? strsep(&rest, "\t") : rest, *end;
        valid = field != NULL;
        if (valid && fields[i].text)
            valid = snprintf(fields[i].text, fields[i].bytes, "%s", field) < (int)fields[i].bytes;
        if (valid && fields[i].number) {
            *fields[i].number = strtoull(field, &end, 10);
            valid = *field >= '0' && *field <= '9' && *end == '\0' && *fields[i].number <= fields[i].most;
        }
    }
    if (!valid || *about.id == '\0') {
        refuse_line(lines->line, "the heading of a glossary is invalid", err);
        return NULL;
    }
    about.created_ms = (int64_t)created;

    const char *entries = lines->at;
    size_t heading = lines->line;
    for (; count > 0; count--) {
        if (!next_line(lines, line)) {
            refuse_line(lines->line, "the glossary has fewer entries than its heading says", err);
            return NULL;
        }
    }
    struct error why = {0};
    struct kept_glossary *glossary = kept_glossary_create(&about, entries, (size_t)(lines->at - entries), GLOSSARY_TSV, &why);
    if (!glossary)
        error_set(err, why.code, "after line %zu, %s", heading, why.message);
    return glossary;
}

int glossary_file_read(const char *text, size_t length, size_t most, struct kept_glossary **all, size_t *count, struct error *err) {
    struct lines lines = {.at = text, .end = text + length};
    char line[LINE_BYTES];
    size_t read = 0;
    int result = 0;
    if (length > 0 && (!next_line(&lines, line) || strcmp(line, FIRST_LINE) != 0))
        return refuse_line(lines.line, "not a file of glossaries that alignd wrote", err);
    while (result == 0 && lines.at < lines.end) {
        if (read == most)
            result = error_set(err, ERROR_INPUT, "the file has more than %zu glossaries", most);
        else if (!(all[read] = read_glossary(&lines, err)))
            result = -1;
        else
            read++;
    }
    if (result == 0)
        *count = read;
    while (result != 0 && read > 0)
        kept_glossary_release(all[--read]);
    return result;
}

/* ---- the glossaries in service ---- */

/* A list of references. */
struct list {
    struct kept_glossary **all; /* [count] */
    size_t count;
};

struct glossaries {
    const struct name_list *options;
    char *path;

    pthread_mutex_t changing; /* held from a change of made until its file is durable; taken before lock */
    pthread_mutex_t lock;     /* protects everything below */
    struct list fixed, made;
    size_t number; /* of the glossary that came into service last */
};

static void list_done(struct list *list) {
    for (size_t i = 0; i < list->count; i++)
        kept_glossary_release(list->all[i]);
    free(list->all);
    *list = (struct list){0};
}

/* Requires the lock, except before other threads know the glossaries. Returns the old list. */
static struct list set_list(struct glossaries *glossaries, struct list *list, struct list with) {
    struct list old = *list;
    *list = with;
    for (size_t i = 0; i < with.count; i++) {
        if (with.all[i]->number == 0)
            with.all[i]->number = ++glossaries->number;
    }
    return old;
}

/* Reads NAME=FILE or NAME:SOURCE:TARGET=FILE. */
static struct kept_glossary *read_option(const char *option, struct error *err) {
    struct glossary_about about = {.fixed = true};
    struct error why = {0};
    size_t length;
    int end = 0; /* where the path begins */
    _Static_assert(sizeof about.id == 40 && sizeof about.source == 36 && sizeof about.target == 36, "as the formats say");
    if (sscanf(option, "%39[^:=]=%n", about.id, &end) != 1 || end == 0)
        sscanf(option, "%39[^:=]:%35[^:=]:%35[^=]=%n", about.id, about.source, about.target, &end);
    if (end == 0 || option[end] == '\0') {
        error_set(err, ERROR_INPUT, "--glossary must be NAME=FILE or NAME:SOURCE:TARGET=FILE, got \"%.60s\"", option);
        return NULL;
    }
    memcpy(about.name, about.id, sizeof about.id);
    char *text;
    if (file_read(option + end, MOST_FILE_BYTES, &text, &length, err) != 0)
        return NULL;
    struct kept_glossary *glossary = kept_glossary_create(&about, text, length, GLOSSARY_TSV, &why);
    free(text);
    if (!glossary)
        error_set(err, why.code, "%.100s: %s", option + end, why.message);
    return glossary;
}

int glossaries_reload(struct glossaries *glossaries, struct error *err) {
    const struct name_list *options = glossaries->options;
    struct list list = {.all = calloc(options->count + 1, sizeof *list.all)};
    if (!list.all)
        return error_memory(err);
    for (; list.count < options->count; list.count++) {
        if (!(list.all[list.count] = read_option(options->names[list.count], err))) {
            list_done(&list);
            return -1;
        }
    }
    pthread_mutex_lock(&glossaries->lock);
    struct list old = set_list(glossaries, &glossaries->fixed, list);
    pthread_mutex_unlock(&glossaries->lock);
    list_done(&old);
    return 0;
}

struct glossaries *glossaries_open(const struct glossaries_options *options, struct error *err) {
    struct glossaries *glossaries = calloc(1, sizeof *glossaries);
    if (!glossaries || (options->path && !(glossaries->path = strdup(options->path)))) {
        free(glossaries);
        error_memory(err);
        return NULL;
    }
    glossaries->options = options->fixed;
    pthread_mutex_init(&glossaries->changing, NULL);
    pthread_mutex_init(&glossaries->lock, NULL);

    const char *path = glossaries->path;
    struct list made = {0};
    struct error why = {0};
    char *text = NULL;
    size_t length = 0;
    int result = glossaries_reload(glossaries, err);
    if (result == 0 && path && !(made.all = calloc(GLOSSARIES_MOST, sizeof *made.all)))
        result = error_memory(err);
    if (result == 0 && path && (access(path, F_OK) == 0 || errno != ENOENT))
        result = file_read(path, MOST_FILE_BYTES, &text, &length, err);
    if (text && glossary_file_read(text, length, GLOSSARIES_MOST, made.all, &made.count, &why) != 0)
        result = error_set(err, why.code, "%.100s: %s", path, why.message);
    free(text);
    set_list(glossaries, &glossaries->made, made);
    if (result == 0)
        return glossaries;
    glossaries_free(glossaries);
    return NULL;
}

void glossaries_free(struct glossaries *glossaries) {
    if (!glossaries)
        return;
    list_done(&glossaries->fixed);
    list_done(&glossaries->made);
    pthread_mutex_destroy(&glossaries->lock);
    pthread_mutex_destroy(&glossaries->changing);
    free(glossaries->path);
    free(glossaries);
}

bool glossaries_keep(const struct glossaries *glossaries) {
    return glossaries->path != NULL;
}

struct kept_glossary **glossaries_all(struct glossaries *glossaries, size_t *count) {
    const struct list *const lists[] = {&glossaries->fixed, &glossaries->made};
    *count = 0;
    pthread_mutex_lock(&glossaries->lock);
    struct kept_glossary **all = calloc(glossaries->fixed.count + glossaries->made.count + 1, sizeof *all);
    for (size_t l = 0; all && l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++)
            all[(*count)++] = kept_glossary_acquire(lists[l]->all[i]);
    }
    pthread_mutex_unlock(&glossaries->lock);
    return all;
}

struct kept_glossary *glossaries_find(struct glossaries *glossaries, bool (*fits)(const struct kept_glossary *, const void *),
                                      const void *context) {
    const struct list *const lists[] = {&glossaries->fixed, &glossaries->made};
    struct kept_glossary *found = NULL;
    pthread_mutex_lock(&glossaries->lock);
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; !found && i < lists[l]->count; i++) {
            if (fits(lists[l]->all[i], context))
                found = kept_glossary_acquire(lists[l]->all[i]);
        }
    }
    pthread_mutex_unlock(&glossaries->lock);
    return found;
}

/* ---- changes ---- */

enum glossaries_verdict glossaries_change(struct glossaries *glossaries, struct kept_glossary *const *old, size_t old_count,
                                          struct kept_glossary *const *made, size_t count, struct error *err) {
    enum glossaries_verdict verdict = GLOSSARIES_FAILED;
    pthread_mutex_lock(&glossaries->changing);
    const struct list *now = &glossaries->made; /* it stays as it is meanwhile */
    struct list list = {.all = calloc(now->count + count + 1, sizeof *list.all)};
    size_t replaced = 0;
    for (size_t i = 0; list.all && i < now->count; i++) {
        size_t j = 0;
        while (j < old_count && old[j] != now->all[i])
            j++;
        if (j < old_count)
            replaced++;
        else
            list.all[list.count++] = kept_glossary_acquire(now->all[i]);
    }
    for (size_t i = 0; list.all && i < count; i++)
        list.all[list.count++] = kept_glossary_acquire(made[i]);

    size_t own = 0, entries = 0, bytes = 0; /* after the change; own: how many the owner has */
    for (size_t i = 0; count > 0 && i < list.count; i++) {
        own += strcmp(list.all[i]->about.owner, made[0]->about.owner) == 0;
        entries += list.all[i]->lexicon.count;
        bytes += list.all[i]->bytes;
    }

    if (!list.all) {
        error_memory(err);
    } else if (replaced < old_count) {
        verdict = GLOSSARIES_UNKNOWN;
    } else if (own > GLOSSARIES_MOST_OF_OWNER) {
        verdict = GLOSSARIES_FULL;
        error_set(err, ERROR_INPUT, "a key may have at most %d glossaries", GLOSSARIES_MOST_OF_OWNER);
    } else if (count > 0 && (list.count > GLOSSARIES_MOST || entries > GLOSSARIES_MOST_ENTRIES || bytes > GLOSSARIES_MOST_BYTES)) {
        verdict = GLOSSARIES_FULL;
        error_set(err, ERROR_INPUT, "the server may have at most %d glossaries, with together %d entries in %d bytes",
                  GLOSSARIES_MOST, GLOSSARIES_MOST_ENTRIES, GLOSSARIES_MOST_BYTES);
    } else {
        size_t length;
        char *text = glossary_file_write(list.all, list.count, &length);
        int result = text ? file_replace(glossaries->path, text, length, err) : error_memory(err);
        free(text);
        if (result == 0) {
            verdict = GLOSSARIES_DONE;
            pthread_mutex_lock(&glossaries->lock);
            list = set_list(glossaries, &glossaries->made, list);
            pthread_mutex_unlock(&glossaries->lock);
        }
    }
    list_done(&list);
    pthread_mutex_unlock(&glossaries->changing);
    return verdict;
}

int glossaries_name(struct glossary_about *about, struct error *err) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    about->created_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;

    /* a UUID, version 4 (RFC 9562) */
    unsigned char bytes[16];
    char digits[2 * sizeof bytes + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_set(err, ERROR_FILE, "cannot generate random numbers");
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    hex_print(bytes, sizeof bytes, digits);
    snprintf(about->id, sizeof about->id, "%.8s-%.4s-%.4s-%.4s-%s", digits, digits + 8, digits + 12, digits + 16, digits + 20);
    return 0;
}
