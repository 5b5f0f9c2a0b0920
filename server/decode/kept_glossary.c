#include "server/decode/kept_glossary.h"
#include "model/base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK_BYTES = 4096 };

/* The text as it is read, in place: strings are ended where they stand. */
struct reading {
    char *at, *end; /* what is left */
    size_t line;    /* from 1 */
    struct glossary_entry *entries;
    size_t count;
};

static int refuse(const struct reading *reading, const char *what, struct error *err) {
    return error_set(err, ERROR_INPUT, "line %zu: %s", reading->line, what);
}

/* ---- phrases ---- */

static bool has_controls(const char *phrase) {
    for (; *phrase; phrase++)
        if ((unsigned char)*phrase < ' ' || *phrase == 0x7f)
            return true;
    return false;
}

/* Without the blanks around it. */
static char *trimmed(char *phrase) {
    size_t length;
    phrase += strspn(phrase, " ");
    for (length = strlen(phrase); length > 0 && phrase[length - 1] == ' ';)
        phrase[--length] = '\0';
    return phrase;
}

/* A target needs more than the bars between its variants. */
static int check_phrase(const struct reading *reading, const char *phrase, const char *which, struct error *err) {
    size_t length = strlen(phrase), line = reading->line;
    if (phrase[strspn(phrase, " |")] == '\0' && (*which == 't' || length == 0))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is empty", line, which);
    if (length > GLOSSARY_PHRASE_BYTES)
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase must have at most %d bytes, got %zu", line, which,
                         GLOSSARY_PHRASE_BYTES, length);
    if (!utf8_valid(phrase, length))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase is not valid UTF-8", line, which);
    if (has_controls(phrase))
        return error_set(err, ERROR_INPUT, "line %zu: the %s phrase contains a control character", line, which);
    return 0;
}

static int add_entry(struct reading *reading, char *source, char *target, struct error *err) {
    source = trimmed(source);
    target = trimmed(target);
    if (check_phrase(reading, source, "source", err) != 0 || check_phrase(reading, target, "target", err) != 0)
        return -1;
    if (reading->count == GLOSSARY_MOST_ENTRIES)
        return error_set(err, ERROR_INPUT, "a glossary must have at most %d entries", GLOSSARY_MOST_ENTRIES);
    reading->entries[reading->count++] = (struct glossary_entry){source, target};
    return 0;
}

/* ---- lines ---- */

/* Ends the line that begins here, without its LF or CRLF, and moves behind it. */
static char *take_line(struct reading *reading) {
    char *line = reading->at, *feed = memchr(line, '\n', (size_t)(reading->end - line));
    char *end = feed ? feed : reading->end;
    reading->at = feed ? feed + 1 : reading->end;
    if (end > line && end[-1] == '\r')
        end--;
    *end = '\0';
    return line;
}

static int read_tsv(struct reading *reading, struct error *err) {
    char *source = take_line(reading), *tab = strchr(source, '\t');
    if (source[strspn(source, " ")] == '\0')
        return 0;
    if (!tab || strchr(tab + 1, '\t'))
        return refuse(reading, "there must be two phrases with a tab between them", err);
    *tab = '\0';
    return add_entry(reading, source, tab + 1, err);
}

/* A field in quotation marks, without them and with one for two. Moves behind it. NULL: it has no end. */
static char *take_quoted(struct reading *reading) {
    char *field = ++reading->at, *to = field;
    for (; reading->at < reading->end; reading->at++) {
        if (*reading->at == '"' && (reading->at + 1 == reading->end || reading->at[1] != '"'))
            break;
        reading->at += *reading->at == '"';
        reading->line += *reading->at == '\n';
        *to++ = *reading->at;
    }
    if (reading->at == reading->end)
        return NULL;
    reading->at++;
    *to = '\0';
    return field;
}

/* What ends a field is put into *ended; at it a NUL may be written once that is known. */
static char *take_field(struct reading *reading, char *ended) {
    char *field = reading->at < reading->end && *reading->at == '"' ? take_quoted(reading) : reading->at;
    if (!field)
        return NULL;
    if (field == reading->at)
        while (reading->at < reading->end && *reading->at != ',' && *reading->at != '\n')
            reading->at++;
    char *end = reading->at;
    if (end < reading->end && *end == '\r')
        reading->at++;
    *ended = reading->at < reading->end ? *reading->at : '\n';
    reading->at += reading->at < reading->end;
    if (*ended == '\n' && end > field && end[-1] == '\r')
        end--;
    *end = '\0';
    return *ended == ',' || *ended == '\n' ? field : NULL;
}

/* Further fields, such as the languages, count for nothing. */
static int read_csv(struct reading *reading, struct error *err) {
    char *fields[2] = {NULL}, ended = ',';
    size_t count = 0;
    while (ended == ',') {
        char *field = take_field(reading, &ended);
        if (!field)
            return refuse(reading, "a quotation mark is wrong", err);
        if (count < 2)
            fields[count] = field;
        count++;
    }
    if (count == 1 && fields[0][strspn(fields[0], " ")] == '\0')
        return 0;
    return count < 2 ? refuse(reading, "there must be two phrases with a comma between them", err)
                     : add_entry(reading, fields[0], fields[1], err);
}

static int read_all(struct reading *reading, enum glossary_format format, struct error *err) {
    while (reading->at < reading->end) {
        reading->line++;
        if ((format == GLOSSARY_CSV ? read_csv(reading, err) : read_tsv(reading, err)) != 0)
            return -1;
    }
    return reading->count > 0 ? 0 : error_set(err, ERROR_INPUT, "there are no entries");
}

/* ---- the glossary ---- */

static size_t count_lines(const char *text, size_t length) {
    size_t lines = 1;
    for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; text++)
        lines++;
    return lines < GLOSSARY_MOST_ENTRIES ? lines : GLOSSARY_MOST_ENTRIES;
}

/* The same phrase twice stands together, but for others that differ in their first letter's case. */
static int check_twice(const struct lexicon *lexicon, struct error *err) {
    for (size_t i = 1; i < lexicon->count; i++)
        for (size_t j = i; j-- > 0 && j + 3 > i;)
            if (strcmp(lexicon->order[i]->source, lexicon->order[j]->source) == 0)
                return error_set(err, ERROR_INPUT, "\"%.60s\" has two entries", lexicon->order[i]->source);
    return 0;
}

static int fill(struct kept_glossary *glossary, const char *text, size_t length, enum glossary_format format, struct error *err) {
    if (memchr(text, '\0', length))
        return error_set(err, ERROR_INPUT, "there is a zero byte");
    struct reading reading = {.entries = arena_alloc(&glossary->arena, count_lines(text, length), sizeof *reading.entries)};
    glossary->text = reading.entries ? malloc(length + 1) : NULL;
    if (!glossary->text)
        return error_memory(err);
    memcpy(glossary->text, text, length);
    reading.at = glossary->text;
    reading.end = glossary->text + length;
    if (read_all(&reading, format, err) != 0 ||
        lexicon_init(&glossary->lexicon, reading.entries, reading.count, &glossary->arena, err) != 0)
        return -1;
    glossary->bytes = length;
    return check_twice(&glossary->lexicon, err);
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
    free(glossary->text);
    free(glossary);
}
