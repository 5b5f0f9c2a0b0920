/* This module hides how glossaries are read, kept in a file, and replaced while requests use them.
 */
#include "server/glossaries/glossaries.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_LINE "alignd glossaries 1"
enum { ARENA_BLOCK_BYTES = 4096, LINE_BYTES = 512, MOST_FILE_BYTES = 1 << 26 };

/* ---- text -> entries ---- */

/* The state of parsing a text in place, in which strings are terminated. */
struct reading {
    char *at, *end; /* the remaining bytes */
    size_t line;    /* from 1 */
    struct glossary_entry *entries;
    size_t count;
};

static int refuse_line(size_t line, const char *problem, struct error *err) {
    return error_set(err, ERROR_INPUT, "line %zu: %s", line, problem);
}

/* Trims blanks, and checks the phrase. A target must have more than the bars between its variants.
 */
static int read_phrase(const struct reading *reading, char *text, const char *which,
                       const char **phrase, struct error *err) {
    size_t line = reading->line;
    text += strspn(text, " ");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    if (length == 0 || (*which == 't' && text[strspn(text, " |")] == '\0'))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is empty", line, which);
    if (length > GLOSSARY_PHRASE_BYTES)
        return error_set(err, ERROR_INPUT,
                         "line %zu: the %s phrase must have at most %d bytes, got %zu", line, which,
                         GLOSSARY_PHRASE_BYTES, length);
    if (!utf8_valid(text, length))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is not valid UTF-8", line,
                         which);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return error_set(err, ERROR_INPUT,
                             "line %zu: the %s phrase contains a control character", line, which);
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
        return error_set(err, ERROR_INPUT, "a glossary must have at most %d entries",
                         GLOSSARY_MOST_ENTRIES);
    reading->entries[reading->count++] = entry;
    return 0;
}

static int fill(struct kept_glossary *glossary, const char *text, size_t length,
                enum glossary_format format, struct error *err) {
    if (memchr(text, '\0', length))
        return error_set(err, ERROR_INPUT, "the text contains a zero byte");
    size_t lines = 1;
    for (const char *at = text, *end = text + length;
         lines < GLOSSARY_MOST_ENTRIES && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    struct reading reading = {.entries =
                                  arena_alloc(&glossary->arena, lines, sizeof *reading.entries)};
    reading.at = arena_copy(&glossary->arena, text, length);
    if (arena_failed(&glossary->arena))
        return error_memory(err);
    reading.end = reading.at + length;
    while (reading.at < reading.end) {
        reading.line++;
        if (read_entry(&reading, format, err) != 0)
            return -1;
    }
    bool blank = !glossary->about.fixed && !*glossary->about.source; /* it has no languages yet */
    if (reading.count == 0 && !blank)
        return error_set(err, ERROR_INPUT, "the glossary has no entries");

    struct lexicon *lexicon = &glossary->lexicon;
    if (lexicon_init(lexicon, reading.entries, reading.count, &glossary->arena, err) != 0)
        return -1;
    for (size_t i = 1; i < lexicon->count; i++) { /* equal phrases are neighbours */
        const char *source = lexicon->order[i].entry->source;
        if (strcmp(source, lexicon->order[i - 1].entry->source) == 0)
            return error_set(err, ERROR_INPUT, "\"%.60s\" has two entries", source);
    }
    glossary->bytes = length;
    return 0;
}

struct kept_glossary *kept_glossary_create(const struct glossary_about *about, const char *text,
                                           size_t length, enum glossary_format format,
                                           struct error *err) {
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

int glossaries_list_add(struct glossary_list *list, struct kept_glossary *glossary,
                        struct error *err) {
    if (!glossary)
        return -1;
    struct kept_glossary **all = reallocarray(list->all, list->count + 1, sizeof *all);
    if (!all) {
        kept_glossary_release(glossary);
        return error_memory(err);
    }
    list->all = all;
    list->all[list->count++] = glossary;
    return 0;
}

void glossaries_list_remove(struct glossary_list *list, const struct kept_glossary *glossary) {
    size_t at = 0;
    while (list->all[at] != glossary)
        at++;
    kept_glossary_release(list->all[at]);
    list->count--;
    memmove(&list->all[at], &list->all[at + 1], (list->count - at) * sizeof *list->all);
}

void glossaries_list_done(struct glossary_list *list) {
    for (size_t i = 0; i < list->count; i++)
        kept_glossary_release(list->all[i]);
    free(list->all);
    *list = (struct glossary_list){0};
}

/* ---- the file ---- */

char *glossaries_write_file(const struct glossary_list *list, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    fprintf(out, FIRST_LINE "\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct glossary_about *about = &list->all[i]->about;
        const struct lexicon *lexicon = &list->all[i]->lexicon;
        if (about->fixed)
            continue;
        fprintf(out, "%s\t%s\t%s\t%" PRId64 "\t%s\t%zu\t%s\n", about->id, about->source,
                about->target, about->created_ms, about->owner, lexicon->count, about->name);
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

/* Copies the next line without its end, cut to fit. Returns false if there is no line, or the line
 * has no end. */
static bool next_line(struct lines *lines, char line[LINE_BYTES]) {
    const char *feed =
        lines->at < lines->end ? memchr(lines->at, '\n', (size_t)(lines->end - lines->at)) : NULL;
    lines->line++;
    if (!feed)
        return false;
    snprintf(line, LINE_BYTES, "%.*s", (int)(feed - lines->at), lines->at);
    lines->at = feed + 1;
    return true;
}

/* Returns false if the field is missing or longer than to [bytes]. */
static bool copy_field(const char *field, char *to, size_t bytes) {
    return field && snprintf(to, bytes, "%s", field) < (int)bytes;
}

/* Returns false if the field is missing or is not a number below end. */
static bool read_number(const char *field, int64_t end, int64_t *number) {
    char *rest;
    if (!field || *field < '0' || *field > '9')
        return false;
    *number = strtoll(field, &rest, 10);
    return *rest == '\0' && *number < end;
}

/* Reads a glossary: the line of its properties, and as many lines with entries as that line says.
 */
static struct kept_glossary *read_glossary(struct lines *lines, struct error *err) {
    char line[LINE_BYTES], *rest = line;
    struct glossary_about about = {.name = ""};
    int64_t count = 0;
    bool valid = next_line(lines, line) &&
                 copy_field(strsep(&rest, "\t"), about.id, sizeof about.id) &&
                 copy_field(strsep(&rest, "\t"), about.source, sizeof about.source) &&
                 copy_field(strsep(&rest, "\t"), about.target, sizeof about.target) &&
                 read_number(strsep(&rest, "\t"), INT64_MAX, &about.created_ms) &&
                 copy_field(strsep(&rest, "\t"), about.owner, sizeof about.owner) &&
                 read_number(strsep(&rest, "\t"), GLOSSARY_MOST_ENTRIES + 1, &count) &&
                 copy_field(rest, about.name, sizeof about.name);
    if (!valid || *about.id == '\0') {
        refuse_line(lines->line, "the heading of a glossary is invalid", err);
        return NULL;
    }

    const char *entries = lines->at;
    size_t heading = lines->line;
    for (; count > 0; count--) {
        if (!next_line(lines, line)) {
            refuse_line(lines->line, "the glossary has fewer entries than its heading says", err);
            return NULL;
        }
    }
    struct error why = {0};
    struct kept_glossary *glossary =
        kept_glossary_create(&about, entries, (size_t)(lines->at - entries), GLOSSARY_TSV, &why);
    if (!glossary)
        error_set(err, why.code, "after line %zu, %s", heading, why.message);
    return glossary;
}

int glossaries_read_file(const char *text, size_t length, struct glossary_list *list,
                         struct error *err) {
    struct lines lines = {.at = text, .end = text + length};
    char line[LINE_BYTES];
    if (length > 0 && (!next_line(&lines, line) || strcmp(line, FIRST_LINE) != 0))
        return refuse_line(lines.line, "not a file of glossaries that alignd wrote", err);
    int result = 0;
    for (size_t read = 0; result == 0 && lines.at < lines.end; read++) {
        if (read == GLOSSARIES_MOST)
            return error_set(err, ERROR_INPUT, "the file has more than %d glossaries",
                             GLOSSARIES_MOST);
        result = glossaries_list_add(list, read_glossary(&lines, err), err);
    }
    return result;
}

/* ---- the glossaries in service ---- */

struct glossaries {
    struct glossaries_options options;

    pthread_mutex_t changing;  /* held during a change of the list, until its file is durable; taken
                                  before lock */
    pthread_mutex_t lock;      /* protects everything below */
    struct glossary_list list; /* the fixed ones first */
    size_t number;             /* number of the glossary that came into service last */
};

/* Puts the glossaries of the list into service and returns the former ones in it. Requires
 * `changing`, except before other threads use the glossaries. */
static void swap_list(struct glossaries *glossaries, struct glossary_list *list) {
    pthread_mutex_lock(&glossaries->lock);
    struct glossary_list old = glossaries->list;
    glossaries->list = *list;
    for (size_t i = 0; i < list->count; i++) {
        if (list->all[i]->number == 0)
            list->all[i]->number = ++glossaries->number;
    }
    pthread_mutex_unlock(&glossaries->lock);
    *list = old;
}

/* Reads NAME=FILE or NAME:SOURCE:TARGET=FILE. */
static struct kept_glossary *read_option(const char *option, struct error *err) {
    struct glossary_about about = {.fixed = true};
    struct error why = {0};
    size_t length;
    int end = 0; /* where the path begins */
    _Static_assert(sizeof about.id == 40 && sizeof about.source == 36 && sizeof about.target == 36,
                   "as the formats say");
    if (sscanf(option, "%39[^:=]=%n", about.id, &end) != 1 || end == 0)
        sscanf(option, "%39[^:=]:%35[^:=]:%35[^=]=%n", about.id, about.source, about.target, &end);
    if (end == 0 || option[end] == '\0') {
        error_set(err, ERROR_INPUT,
                  "--glossary must be NAME=FILE or NAME:SOURCE:TARGET=FILE, got \"%.60s\"", option);
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

/* Adds the glossaries of --glossary. */
static int read_options(const struct name_list *options, struct glossary_list *list,
                        struct error *err) {
    int result = 0;
    for (size_t i = 0; result == 0 && i < options->count; i++)
        result = glossaries_list_add(list, read_option(options->names[i], err), err);
    return result;
}

/* Adds the glossaries of clients from the file. */
static int read_file(const char *path, struct glossary_list *list, struct error *err) {
    struct error why = {0};
    char *text;
    size_t length;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    if (file_read(path, MOST_FILE_BYTES, &text, &length, err) != 0)
        return -1;
    int result = glossaries_read_file(text, length, list, &why);
    free(text);
    return result == 0 ? 0 : error_set(err, why.code, "%.100s: %s", path, why.message);
}

struct glossaries *glossaries_open(const struct glossaries_options *options, struct error *err) {
    struct glossaries *glossaries = calloc(1, sizeof *glossaries);
    if (!glossaries) {
        error_memory(err);
        return NULL;
    }
    glossaries->options = *options;
    pthread_mutex_init(&glossaries->changing, NULL);
    pthread_mutex_init(&glossaries->lock, NULL);

    struct glossary_list list = {0};
    int result = read_options(options->fixed, &list, err);
    if (result == 0 && options->path)
        result = read_file(options->path, &list, err);
    swap_list(glossaries, &list);
    if (result == 0)
        return glossaries;
    glossaries_free(glossaries);
    return NULL;
}

void glossaries_free(struct glossaries *glossaries) {
    if (!glossaries)
        return;
    glossaries_list_done(&glossaries->list);
    pthread_mutex_destroy(&glossaries->lock);
    pthread_mutex_destroy(&glossaries->changing);
    free(glossaries);
}

int glossaries_reload(struct glossaries *glossaries, struct error *err) {
    struct glossary_list list = {0};
    pthread_mutex_lock(&glossaries->changing);
    int result = read_options(glossaries->options.fixed, &list, err);
    for (size_t i = 0; result == 0 && i < glossaries->list.count; i++) {
        struct kept_glossary *made = glossaries->list.all[i];
        if (!made->about.fixed)
            result = glossaries_list_add(&list, kept_glossary_acquire(made), err);
    }
    if (result == 0)
        swap_list(glossaries, &list);
    pthread_mutex_unlock(&glossaries->changing);
    glossaries_list_done(&list);
    return result;
}

bool glossaries_keep(const struct glossaries *glossaries) {
    return glossaries->options.path != NULL;
}

int glossaries_all(struct glossaries *glossaries, struct glossary_list *list, struct error *err) {
    pthread_mutex_lock(&glossaries->lock);
    const struct glossary_list *now = &glossaries->list;
    *list = (struct glossary_list){.all = calloc(now->count + 1, sizeof *list->all)};
    for (; list->all && list->count < now->count; list->count++)
        list->all[list->count] = kept_glossary_acquire(now->all[list->count]);
    pthread_mutex_unlock(&glossaries->lock);
    return list->all ? 0 : error_memory(err);
}

/* ---- changes ---- */

/* Checks the limits, but only if a glossary is added, so that removing one always succeeds. */
static int check_limits(const struct glossary_list *list, struct error *err) {
    const char *owner = NULL; /* owner of the added glossary; NULL: none is added */
    for (size_t i = 0; i < list->count; i++) {
        if (list->all[i]->number == 0)
            owner = list->all[i]->about.owner;
    }
    size_t made = 0, own = 0, entries = 0, bytes = 0;
    for (size_t i = 0; owner && i < list->count; i++) {
        const struct kept_glossary *glossary = list->all[i];
        if (glossary->about.fixed)
            continue;
        made++;
        own += strcmp(glossary->about.owner, owner) == 0;
        entries += glossary->lexicon.count;
        bytes += glossary->bytes;
    }
    if (own > GLOSSARIES_MOST_OF_OWNER)
        return error_set(err, ERROR_LENGTH, "a key may have at most %d glossaries",
                         GLOSSARIES_MOST_OF_OWNER);
    if (made > GLOSSARIES_MOST || entries > GLOSSARIES_MOST_ENTRIES ||
        bytes > GLOSSARIES_MOST_BYTES)
        return error_set(
            err, ERROR_LENGTH,
            "the server may have at most %d glossaries, with together %d entries in %d bytes",
            GLOSSARIES_MOST, GLOSSARIES_MOST_ENTRIES, GLOSSARIES_MOST_BYTES);
    return 0;
}

static int write_file(const char *path, const struct glossary_list *list, struct error *err) {
    size_t length;
    char *text = glossaries_write_file(list, &length);
    int result = text ? file_replace(path, text, length, err) : error_memory(err);
    free(text);
    return result;
}

int glossaries_change(struct glossaries *glossaries, glossaries_edit *edit, void *context,
                      struct error *err) {
    struct glossary_list list;
    pthread_mutex_lock(&glossaries->changing);
    int result = glossaries_all(glossaries, &list, err);
    if (result == 0)
        result = edit(&list, context, err);
    if (result == 0)
        result = check_limits(&list, err);
    if (result == 0)
        result = write_file(glossaries->options.path, &list, err);
    if (result == 0)
        swap_list(glossaries, &list);
    pthread_mutex_unlock(&glossaries->changing);
    glossaries_list_done(&list);
    return result;
}

int glossaries_name(struct glossary_about *about, struct error *err) {
    struct timespec now;
    unsigned char id[16];
    char digits[2 * sizeof id + 1];
    if (getentropy(id, sizeof id) != 0)
        return error_set(err, ERROR_FILE, "cannot generate random numbers: %s", strerror(errno));
    id[6] = (id[6] & 0x0f) | 0x40; /* a UUID, version 4 (RFC 9562) */
    id[8] = (id[8] & 0x3f) | 0x80;
    hex_print(id, sizeof id, digits);
    snprintf(about->id, sizeof about->id, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8,
             digits + 12, digits + 16, digits + 20);
    clock_gettime(CLOCK_REALTIME, &now);
    about->created_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return 0;
}
