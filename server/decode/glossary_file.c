#include "server/decode/glossary_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "alignd glossaries 1"
enum { FIELDS = 7, LINE_BYTES = 512 };

/* ---- writing ---- */

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

/* ---- reading ---- */

struct reader {
    const char *at, *end;
    size_t line; /* of what was read last, from 1 */
};

static int refuse(const struct reader *reader, const char *what, struct error *err) {
    return error_set(err, ERROR_INPUT, "line %zu: %s", reader->line, what);
}

/* The next line, without its end, cut to the buffer; false: there is none, or it has no end. */
static bool next_line(struct reader *reader, char line[LINE_BYTES]) {
    const char *feed = reader->at < reader->end ? memchr(reader->at, '\n', (size_t)(reader->end - reader->at)) : NULL;
    reader->line++;
    if (!feed)
        return false;
    size_t length = (size_t)(feed - reader->at);
    length = length < LINE_BYTES ? length : LINE_BYTES - 1;
    memcpy(line, reader->at, length);
    line[length] = '\0';
    reader->at = feed + 1;
    return true;
}

/* Moves behind so many lines; false: they are not there. */
static bool skip_lines(struct reader *reader, size_t count) {
    for (; count > 0; count--) {
        const char *feed = reader->at < reader->end ? memchr(reader->at, '\n', (size_t)(reader->end - reader->at)) : NULL;
        reader->line++;
        if (!feed)
            return false;
        reader->at = feed + 1;
    }
    return true;
}

static bool read_number(const char *field, uint64_t most, uint64_t *number) {
    char *end;
    *number = strtoull(field, &end, 10);
    return *field >= '0' && *field <= '9' && *end == '\0' && *number <= most;
}

static bool copy_field(const char *field, char *to, size_t bytes) {
    return snprintf(to, bytes, "%s", field) < (int)bytes;
}

/* The line of a glossary -> what is told about it, and how many lines its entries are. */
static bool read_about(char *line, struct glossary_about *about, size_t *lines) {
    char *fields[FIELDS];
    uint64_t created, count;
    for (size_t i = 0; i < FIELDS; i++)
        if (!(fields[i] = i + 1 < FIELDS ? strsep(&line, "\t") : line))
            return false;
    if (*fields[0] == '\0' || !copy_field(fields[0], about->id, sizeof about->id) ||
        !copy_field(fields[1], about->source, sizeof about->source) ||
        !copy_field(fields[2], about->target, sizeof about->target) || !read_number(fields[3], INT64_MAX, &created) ||
        !copy_field(fields[4], about->owner, sizeof about->owner) || !read_number(fields[5], GLOSSARY_MOST_ENTRIES, &count) ||
        !copy_field(fields[6], about->name, sizeof about->name))
        return false;
    about->created_ms = (int64_t)created;
    *lines = (size_t)count;
    return true;
}

/* NULL: err tells why. */
static struct kept_glossary *read_one(struct reader *reader, struct error *err) {
    char line[LINE_BYTES];
    struct glossary_about about = {.name = ""};
    struct error why = {0};
    size_t lines;
    if (!next_line(reader, line) || !read_about(line, &about, &lines)) {
        refuse(reader, "this is no line of a glossary", err);
        return NULL;
    }
    const char *entries = reader->at;
    size_t before = reader->line;
    if (!skip_lines(reader, lines)) {
        refuse(reader, "there are fewer entries than were announced", err);
        return NULL;
    }
    struct kept_glossary *glossary = kept_glossary_create(&about, entries, (size_t)(reader->at - entries), GLOSSARY_TSV, &why);
    if (!glossary)
        error_set(err, why.code, "behind line %zu, %s", before, why.message);
    return glossary;
}

int glossary_file_read(const char *text, size_t length, size_t most, struct kept_glossary **all, size_t *count, struct error *err) {
    struct reader reader = {.at = text, .end = text + length};
    char line[LINE_BYTES];
    size_t read = 0;
    int result = 0;
    if (length > 0 && (!next_line(&reader, line) || strcmp(line, FIRST_LINE) != 0))
        return refuse(&reader, "this is not a file of glossaries that alignd wrote", err);
    while (result == 0 && reader.at < reader.end) {
        if (read == most)
            result = error_set(err, ERROR_INPUT, "there are more than %zu glossaries", most);
        else if (!(all[read] = read_one(&reader, err)))
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
