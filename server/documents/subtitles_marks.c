/* What stands in a cue's text beside words: <i>, {\an8}, <v Roger>, &amp;. */
#include "server/documents/subtitles.h"
#include "server/markup/build.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_TAGS = 1000, /* a coloured letter each is common */
    MOST_OPEN = 64,   /* at once: each end looks for its start among them */
    NAME_BYTES = 16
};

enum mark_kind { MARK_START, MARK_END, MARK_OTHER };

struct mark {
    struct html_bytes raw;
    enum mark_kind kind;
    char name[NAME_BYTES];
    bool paired; /* its other end is there */
};

/* "name" or "/name" that begins there, cut where it is longer; whether it is one that SubRip knows. WebVTT has any, and times. */
static bool read_name(const char *at, const char *end, char name[NAME_BYTES]) {
    static const char *const known[] = {"b", "i", "u", "s", "font"};
    size_t length = 0;
    at += at < end && *at == '/';
    while (length + 1 < NAME_BYTES && at + length < end && isalnum((unsigned char)at[length])) {
        name[length] = at[length];
        length++;
    }
    name[length] = '\0';
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
    const char *close = next_of(at + 1, end, '>', '<');
    if (!close || *close == '<' || (close - at > 2 && close[-1] == '-' && close[-2] == '-')) /* the arrow between times ends none */
        return false;
    *mark = (struct mark){.raw = bytes_between(at, close + 1), .kind = at[1] == '/' ? MARK_END : MARK_START};
    bool known = read_name(at + 1, end, mark->name);
    if (vtt && !isalpha((unsigned char)*mark->name))
        mark->kind = MARK_OTHER; /* a time, or the end of what is open */
    return vtt || known;
}

/* {\an8} and the like, of SubRip. */
static bool read_braces(const char *at, const char *end, struct mark *mark) {
    const char *close = end - at > 1 && at[1] == '\\' ? next_of(at + 1, end, '}', '{') : NULL;
    if (!close || *close == '{' || memmem(at, (size_t)(close - at), "-->", 3))
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

static int add_to_list(struct cue_marks *list, const struct mark *mark, struct arena *arena, struct error *err) {
    if (list->count == MOST_TAGS)
        return error_set(err, ERROR_INPUT, "it has more than %d tags", MOST_TAGS);
    struct mark *all = arena_grow(arena, list->all, list->count, &list->room, 1, sizeof *all);
    if (!all)
        return error_memory(err);
    list->all = all;
    all[list->count++] = *mark;
    return 0;
}

static int find_marks(struct html_bytes text, bool vtt, struct cue_marks *list, struct arena *arena, struct error *err) {
    const char *end = text.start + text.length;
    list->count = 0;
    for (const char *at = text.start; at < end;) {
        struct mark mark;
        bool found = read_mark(at, end, vtt, &mark);
        if (found && add_to_list(list, &mark, arena, err) != 0)
            return -1;
        at = found ? mark.raw.start + mark.raw.length : at + 1;
    }
    return 0;
}

/* Starts that have not ended, the innermost last. Where there are too many, the outermost is forgotten. */
struct open_marks {
    struct mark *all[MOST_OPEN];
    size_t count;
};

static void open_mark(struct open_marks *open, struct mark *mark) {
    if (open->count == MOST_OPEN)
        memmove(open->all, open->all + 1, --open->count * sizeof *open->all);
    open->all[open->count++] = mark;
}

static void close_mark(struct open_marks *open, struct mark *mark) {
    size_t top = open->count;
    while (top > 0 && strcasecmp(open->all[top - 1]->name, mark->name) != 0)
        top--;
    if (top == 0)
        return;
    mark->paired = open->all[top - 1]->paired = true;
    open->count = top - 1;
}

/* Ends with the start that they nest with; others are units. */
static void pair_marks(struct cue_marks *list) {
    struct open_marks open = {.count = 0};
    for (size_t i = 0; i < list->count; i++) {
        if (list->all[i].kind == MARK_START)
            open_mark(&open, &list->all[i]);
        else if (list->all[i].kind == MARK_END)
            close_mark(&open, &list->all[i]);
    }
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

/* Tags that subtitles do not know and references are marks as in any other text. Code and comments are not, and where the text has
 * an arrow, nor are tags: a mark moves as it is, and a line with an arrow in it might then be one of times. */
struct cue_marking {
    struct html_marking marking;
    bool arrow;
};

static size_t skip_others(const struct html_marking *marking, const char *at, const char *end) {
    bool arrow = ((const struct cue_marking *)((const char *)marking - offsetof(struct cue_marking, marking)))->arrow;
    return *at == '`' || *at == ':' || (*at == '<' && (arrow || (end - at > 1 && (at[1] == '!' || at[1] == '?'))));
}

int cue_add_marked(struct html_builder *builder, struct html_bytes text, bool vtt, struct cue_marks *marks, struct error *err) {
    const struct cue_marking own = {{.skip = skip_others}, memmem(text.start, text.length, "-->", 3) != NULL};
    const char *at = text.start;
    if (find_marks(text, vtt, marks, builder->arena, err) != 0)
        return -1;
    pair_marks(marks);
    for (size_t i = 0; i < marks->count; i++) {
        const struct mark *mark = &marks->all[i];
        html_add_marked(builder, bytes_between(at, mark->raw.start), &own.marking);
        add_mark(builder, mark);
        at = mark->raw.start + mark->raw.length;
    }
    html_add_marked(builder, bytes_between(at, text.start + text.length), &own.marking);
    return 0;
}

/* ---- text ---- */

/* SubRip has no references: white space keeps what looks like a mark, or like the arrow between times, from being one. A mark has
 * its begin in one text, but may end in another. */
void srt_escape(struct html_buffer *out, const char *text, size_t length) {
    const char *end = text + length, *done = text;
    for (const char *at = text; at < end; at++) {
        char name[NAME_BYTES];
        bool tag = *at == '<' && read_name(at + 1, end, name), braces = *at == '{' && at + 1 < end && at[1] == '\\';
        bool arrow = end - at > 2 && memcmp(at, "-->", 3) == 0;
        if (!tag && !braces && !arrow)
            continue;
        html_put(out, done, (size_t)(at + 1 - done));
        html_put(out, " ", 1);
        done = at + 1;
    }
    html_put(out, done, (size_t)(end - done));
}
