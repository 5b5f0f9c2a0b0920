/* What stands in a cue's text beside words: <i>, {\an8}, <v Roger>, &amp;. */
#include "server/document/subtitles.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { MOST_TAGS = 64, NAME_BYTES = 16, MOST_REFERENCE = 32 };

enum mark_kind { MARK_START, MARK_END, MARK_OTHER };

struct mark {
    struct html_bytes raw;
    enum mark_kind kind;
    char name[NAME_BYTES];
    bool paired; /* its other end is there */
};

/* <name ...>, </name>: SubRip has a few names, WebVTT any, and times. */
static bool is_known(const char *name) {
    static const char *const known[] = {"b", "i", "u", "s", "font"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(name, known[i]) == 0)
            return true;
    return false;
}

/* Up to the next of two characters; NULL: there is none. */
static const char *next_of(const char *at, const char *end, char one, char other) {
    while (at < end && *at != one && *at != other)
        at++;
    return at < end ? at : NULL;
}

static bool read_tag(const char *at, const char *end, bool vtt, struct mark *mark) {
    const char *close = next_of(at + 1, end, '>', '<'), *name = at + 1;
    if (!close || *close == '<')
        return false;
    *mark = (struct mark){.raw = bytes_between(at, close + 1), .kind = *name == '/' ? MARK_END : MARK_START};
    name += *name == '/';
    size_t length = 0;
    while (length + 1 < NAME_BYTES && isalnum((unsigned char)name[length])) {
        mark->name[length] = name[length];
        length++;
    }
    if (vtt && (length == 0 || isdigit((unsigned char)*name)))
        mark->kind = MARK_OTHER; /* a time, or the end of what is open */
    return vtt || is_known(mark->name);
}

/* {\an8} and the like, of SubRip. */
static bool read_braces(const char *at, const char *end, struct mark *mark) {
    const char *close = end - at > 1 && at[1] == '\\' ? next_of(at + 1, end, '}', '{') : NULL;
    if (!close || *close == '{')
        return false;
    *mark = (struct mark){.raw = bytes_between(at, close + 1), .kind = MARK_OTHER};
    return true;
}

/* A mark begins there. */
static bool read_mark(const char *at, const char *end, bool vtt, struct mark *mark) {
    if (*at == '<')
        return read_tag(at, end, vtt, mark);
    return *at == '{' && !vtt && read_braces(at, end, mark);
}

/* Up to MOST_TAGS + 1. */
static size_t find_marks(struct html_bytes text, bool vtt, struct mark *marks) {
    const char *end = text.start + text.length;
    size_t count = 0;
    for (const char *at = text.start; at < end && count <= MOST_TAGS;) {
        bool found = read_mark(at, end, vtt, &marks[count]);
        at = found ? marks[count].raw.start + marks[count].raw.length : at + 1;
        count += found;
    }
    return count;
}

/* Ends with the start that they nest with; others are units. */
static void pair_marks(struct mark *marks, size_t count) {
    size_t open[MOST_TAGS + 1], depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (marks[i].kind == MARK_START) {
            open[depth++] = i;
        } else if (marks[i].kind == MARK_END) {
            size_t top = depth;
            while (top > 0 && strcasecmp(marks[open[top - 1]].name, marks[i].name) != 0)
                top--;
            if (top == 0)
                continue;
            marks[i].paired = marks[open[top - 1]].paired = true;
            depth = top - 1;
        }
    }
}

/* ---- references ---- */

/* WebVTT's: what it stands for, or NULL: as it is. */
static const char *decode(struct html_bytes reference) {
    static const char *const known[][2] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", "\u00a0"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == reference.length && memcmp(known[i][0], reference.start, reference.length) == 0)
            return known[i][1];
    return NULL;
}

/* "&name;" that begins there; length 0: none does. */
static struct html_bytes reference_at(const char *at, const char *end) {
    const char *c = at + 1;
    while (c < end && c - at < MOST_REFERENCE && (isalnum((unsigned char)*c) || *c == '#'))
        c++;
    return c < end && *c == ';' && c > at + 1 ? bytes_between(at, c + 1) : (struct html_bytes){at, 0};
}

static void add_referring(struct html_builder *builder, const char *at, const char *end) {
    while (at < end) {
        const char *plain = at;
        while (at < end && *at != '&')
            at++;
        if (at > plain)
            html_add_text(builder, bytes_between(plain, at), bytes_between(plain, at));
        if (at == end)
            return;
        struct html_bytes reference = reference_at(at, end);
        const char *decoded = decode(reference);
        size_t length = reference.length > 0 ? reference.length : 1;
        if (decoded || reference.length == 0)
            html_add_text(builder, decoded ? (struct html_bytes){decoded, strlen(decoded)} : (struct html_bytes){at, 1},
                          (struct html_bytes){at, length});
        else
            html_add_unit(builder, reference);
        at += length;
    }
}

static void add_text(struct html_builder *builder, const char *begin, const char *end, bool vtt) {
    struct html_bytes text = bytes_between(begin, end);
    if (vtt)
        add_referring(builder, begin, end);
    else if (text.length > 0)
        html_add_text(builder, text, text);
}

/* ---- pieces ---- */

static void add_mark(struct html_builder *builder, const struct mark *mark) {
    if (!mark->paired)
        html_add_unit(builder, mark->raw);
    else if (mark->kind == MARK_START)
        html_add_open(builder, mark->raw);
    else
        html_add_close(builder, mark->raw);
}

int cue_add_marked(struct html_builder *builder, struct html_bytes text, bool vtt, struct error *err) {
    struct mark marks[MOST_TAGS + 1];
    size_t count = find_marks(text, vtt, marks);
    const char *at = text.start;
    if (count > MOST_TAGS)
        return error_set(err, ERROR_INPUT, "it has more than %d tags", MOST_TAGS);
    pair_marks(marks, count);
    for (size_t i = 0; i < count; i++) {
        add_text(builder, at, marks[i].raw.start, vtt);
        add_mark(builder, &marks[i]);
        at = marks[i].raw.start + marks[i].raw.length;
    }
    add_text(builder, at, text.start + text.length, vtt);
    return 0;
}
