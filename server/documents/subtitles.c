/* Cues, and the sentences that run over them. */
#include "server/documents/subtitles.h"
#include "model/base/utf8.h"
#include <ctype.h>
#include <string.h>

enum { LINE_SHOWN = 60 };

/* ---- blocks ---- */

static bool is_blank(const struct line *line) {
    return line_trimmed(line).length == 0;
}

static bool has_arrow(const struct line *line) {
    return memmem(line->begin, (size_t)(line->end - line->begin), "-->", 3) != NULL;
}

static bool begins_with(const struct line *line, const char *word) {
    size_t length = strlen(word), bytes = (size_t)(line->end - line->begin);
    return bytes >= length && memcmp(line->begin, word, length) == 0 && (bytes == length || strchr(" \t", line->begin[length]));
}

/* [hours:]minutes:seconds and , or . with the milliseconds; hours may be left out in WebVTT. *at is moved behind it. */
static bool read_time(const char **at, const char *end, bool vtt) {
    size_t colons = 0, digits = 0;
    const char *c = *at;
    for (; c < end && (isdigit((unsigned char)*c) || *c == ':'); c++) {
        if (*c == ':' && (digits == 0 || ++colons > 2))
            return false;
        digits = *c == ':' ? 0 : digits + 1;
    }
    if (colons < (vtt ? 1 : 2) || digits != 2 || c == end || (*c != '.' && *c != ','))
        return false;
    const char *fraction = ++c;
    while (c < end && isdigit((unsigned char)*c))
        c++;
    *at = c;
    return c > fraction && c - fraction <= 3;
}

static const char *skip_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* What stands behind the times (a place on the screen) is not looked at. */
static bool is_times(const struct line *line, bool vtt) {
    const char *at = skip_blank(line->begin, line->end);
    if (!read_time(&at, line->end, vtt))
        return false;
    at = skip_blank(at, line->end);
    if (line->end - at < 3 || memcmp(at, "-->", 3) != 0)
        return false;
    at = skip_blank(at + 3, line->end);
    return read_time(&at, line->end, vtt) && (at == line->end || *at == ' ' || *at == '\t');
}

/* Notes, styles and regions of WebVTT: up to the next blank line. */
static bool is_other_block(const struct line *line) {
    return begins_with(line, "NOTE") || begins_with(line, "STYLE") || begins_with(line, "REGION");
}

static void skip_block(struct cue_reader *reader) {
    while (line_next(&reader->line, reader->end) && !is_blank(&reader->line))
        ;
}

static int read_header(struct cue_reader *reader, struct error *err) {
    bool there = line_next(&reader->line, reader->end);
    if (!there || !begins_with(&reader->line, "WEBVTT"))
        return error_set(err, ERROR_INPUT, "line 1: a WebVTT file begins with \"WEBVTT\"");
    if (!is_blank(&reader->line))
        skip_block(reader);
    return 0;
}

static int fail(const struct cue_reader *reader, struct error *err) {
    int shown = (int)utf8_clip(reader->line.begin, (size_t)(reader->line.end - reader->line.begin), LINE_SHOWN);
    return error_set(err, ERROR_INPUT, "line %zu, cue %zu: \"%.*s\" is no line of times such as %s", reader->line.number,
                     reader->number + 1, shown, reader->line.begin,
                     reader->vtt ? "00:01.000 --> 00:04.000" : "00:00:01,000 --> 00:00:04,000");
}

/* The line in hand is a cue's first: a number or a name, or the times. */
static int read_times(struct cue_reader *reader, struct error *err) {
    if (!has_arrow(&reader->line)) {
        struct line named = reader->line;
        if (!line_next(&reader->line, reader->end) || is_blank(&reader->line)) {
            reader->line = named;
            return fail(reader, err);
        }
    }
    return is_times(&reader->line, reader->vtt) ? 0 : fail(reader, err);
}

/* Digits alone: the number of a cue, where a line of times follows. */
static bool is_number(const struct line *line) {
    struct html_bytes text = line_trimmed(line);
    for (size_t i = 0; i < text.length; i++)
        if (!isdigit((unsigned char)text.start[i]))
            return false;
    return text.length > 0;
}

/* Digits and a colon on both sides of an arrow: meant as times, whatever is wrong with them. */
static bool is_like_times(const struct line *line) {
    const char *arrow = memmem(line->begin, (size_t)(line->end - line->begin), "-->", 3), *at = skip_blank(line->begin, line->end);
    for (size_t side = 0; arrow && side < 2; side++) {
        const char *digits = at;
        while (at < line->end && isdigit((unsigned char)*at))
            at++;
        if (at == digits || at == line->end || *at != ':')
            return false;
        at = skip_blank(arrow + 3, line->end);
    }
    return arrow != NULL;
}

/* Up to a blank line, or to the times of the next cue, which need none in front of them, with the number before these. */
static int read_text(struct cue_reader *reader, struct cue *cue, struct error *err) {
    struct line before = reader->line, before_last = before;
    struct html_bytes without_last = {before.next, 0};
    *cue = (struct cue){.text = without_last};
    for (; line_next(&reader->line, reader->end) && !is_blank(&reader->line); before = reader->line) {
        if (is_times(&reader->line, reader->vtt)) {
            bool numbered = cue->lines > 0 && is_number(&before);
            reader->line = numbered ? before_last : before; /* from there on, once more */
            cue->text = numbered ? without_last : cue->text;
            cue->lines -= numbered;
            return 0;
        }
        if (is_like_times(&reader->line))
            return fail(reader, err);
        before_last = before;
        without_last = cue->text;
        cue->text = bytes_between(cue->text.start, reader->line.end);
        cue->lines++;
    }
    return 0;
}

int cue_next(struct cue_reader *reader, struct cue *cue, struct error *err) {
    if (reader->vtt && reader->line.number == 0 && read_header(reader, err) != 0)
        return -1;
    while (line_next(&reader->line, reader->end)) {
        if (is_blank(&reader->line))
            continue;
        if (reader->vtt && !has_arrow(&reader->line) && is_other_block(&reader->line)) {
            skip_block(reader);
            continue;
        }
        if (read_times(reader, err) != 0)
            return -1;
        reader->number++;
        return read_text(reader, cue, err) == 0 ? 1 : -1;
    }
    return 0;
}

struct html_bytes cue_line(struct html_bytes text, const char **at) {
    struct line line = {.next = *at};
    line_next(&line, text.start + text.length);
    *at = line.next;
    return bytes_between(line.begin, line.end);
}

/* - or a longer one. */
static bool begins_dash(struct html_bytes line) {
    static const char *const dashes[] = {"-", "\u2013", "\u2014", "\u2010"};
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (line.length >= strlen(dashes[i]) && memcmp(line.start, dashes[i], strlen(dashes[i])) == 0)
            return true;
    return false;
}

bool cue_is_dialogue(const struct cue *cue) {
    for (const char *at = cue->text.start; cue->lines > 1 && at < cue->text.start + cue->text.length;)
        if (begins_dash(cue_line(cue->text, &at)))
            return true;
    return false;
}
