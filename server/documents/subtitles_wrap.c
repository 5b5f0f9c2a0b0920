/* Lines of translated cues: as few as the cue had if they are short enough, and then as even as can be. */
#include "model/text/character.h"
#include "server/documents/subtitles.h"
#include <ctype.h>
#include <string.h>

/* Words of a line, tags among them or in them. */
struct piece {
    struct html_bytes bytes;
    size_t width; /* characters that are shown */
};

struct wrapper {
    struct piece *pieces; /* [count], room for more */
    size_t count, room;
    struct html_buffer out;
    struct arena *arena;
    bool vtt;
};

/* ---- words ---- */

static const char *mark_end(const char *at, const char *end, bool vtt) {
    bool tag = *at == '<', braces = *at == '{' && !vtt && end - at > 1 && at[1] == '\\';
    char close = tag ? '>' : braces ? '}' : ';';
    if (!tag && !braces && *at != '&')
        return NULL;
    for (const char *c = at + 1; c < end && *c != *at && *c != '\n'; c++) {
        if (*c == close)
            return c + 1;
        if (close == ';' && *c == ' ')
            break;
    }
    return NULL;
}

/* A word that stands no line's begin: French has white space before its tall marks. */
static bool leans_back(struct html_bytes word) {
    static const char *const marks[] = {"?", "!", ":", ";", "\u00bb", "?!", "...", "\u2026"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strlen(marks[i]) == word.length && memcmp(marks[i], word.start, word.length) == 0)
            return true;
    return false;
}

static int add_word(struct wrapper *wrapper, struct html_bytes bytes, size_t width) {
    struct piece *last = wrapper->count > 0 ? &wrapper->pieces[wrapper->count - 1] : NULL;
    if (last && leans_back(bytes)) {
        last->bytes = bytes_between(last->bytes.start, bytes.start + bytes.length);
        last->width += 1 + width;
        return 0;
    }
    struct piece *pieces = arena_grow(wrapper->arena, wrapper->pieces, wrapper->count, &wrapper->room, 1, sizeof *pieces);
    if (!pieces)
        return -1;
    wrapper->pieces = pieces;
    pieces[wrapper->count++] = (struct piece){bytes, width};
    return 0;
}

/* What a blank line may consist of is no word: of such alone a line would be blank. */
static bool is_blank_at(const char *at, const char *end) {
    return at < end && strchr(" \t\r\n\v\f", *at);
}

/* White space in a tag is none between words. */
static int find_words(struct wrapper *wrapper, struct html_bytes text) {
    const char *end = text.start + text.length;
    wrapper->count = 0;
    for (const char *at = text.start; at < end;) {
        while (is_blank_at(at, end))
            at++;
        const char *begin = at;
        size_t width = 0;
        while (at < end && !is_blank_at(at, end)) {
            const char *behind = mark_end(at, end, wrapper->vtt);
            size_t next = 0;
            width += !behind || *at == '&';
            if (!behind)
                character_next(at, (size_t)(end - at), &next);
            at = behind ? behind : at + next;
        }
        if (at > begin && add_word(wrapper, bytes_between(begin, at), width) != 0)
            return -1;
    }
    return 0;
}

/* ---- lines ---- */

/* Lines that words make if none is wider; a word may be. put: writes them. */
static size_t fill(struct wrapper *wrapper, size_t width, const char *line_end) {
    size_t lines = 1, used = 0;
    for (size_t i = 0; i < wrapper->count; i++) {
        const struct piece *piece = &wrapper->pieces[i];
        bool first = i == 0, breaks = !first && used + 1 + piece->width > width;
        lines += breaks;
        used = first || breaks ? piece->width : used + 1 + piece->width;
        if (!line_end)
            continue;
        if (!first)
            html_put_string(&wrapper->out, breaks ? line_end : " ");
        html_put(&wrapper->out, piece->bytes.start, piece->bytes.length);
    }
    return lines;
}

static int wrap(struct wrapper *wrapper, struct html_bytes text, size_t lines, const char *line_end) {
    size_t widest = 0;
    if (find_words(wrapper, text) != 0)
        return -1;
    for (size_t i = 0; i < wrapper->count; i++)
        widest = wrapper->pieces[i].width > widest ? wrapper->pieces[i].width : widest;
    size_t low = widest, high = widest > SUBTITLES_WIDTH ? widest : SUBTITLES_WIDTH, needed = fill(wrapper, high, NULL);
    lines = needed > lines ? needed : lines;
    while (low < high) { /* the narrowest that has no more lines */
        size_t middle = (low + high) / 2;
        if (fill(wrapper, middle, NULL) <= lines)
            high = middle;
        else
            low = middle + 1;
    }
    fill(wrapper, high, line_end);
    return 0;
}

/* Lines that are said by several are kept apart. */
static int wrap_cue(struct wrapper *wrapper, const struct cue *before, const struct cue *now) {
    bool crlf = before->text.start[-1] == '\n' && before->text.start[-2] == '\r';
    const char *line_end = crlf ? "\r\n" : "\n";
    if (!cue_is_dialogue(before))
        return wrap(wrapper, now->text, before->lines, line_end);
    for (const char *at = now->text.start, *begin = at; at < now->text.start + now->text.length;) {
        if (at > begin)
            html_put_string(&wrapper->out, line_end);
        if (wrap(wrapper, cue_line(now->text, &at), 1, line_end) != 0)
            return -1;
    }
    return 0;
}

static bool is_same(struct html_bytes one, struct html_bytes other) {
    return one.length == other.length && memcmp(one.start, other.start, one.length) == 0;
}

/* There is more in it than tags and white space. */
static bool says_something(const struct cue *cue, bool vtt) {
    const char *at = cue->text.start, *end = at + cue->text.length;
    while (at < end) {
        bool text = *at == '&' || (*at == '<' && at + 1 < end && !isalnum((unsigned char)at[1]) && at[1] != '/');
        const char *behind = text ? NULL : mark_end(at, end, vtt);
        if (!behind && !is_blank_at(at, end))
            return true;
        at = behind ? behind : at + 1;
    }
    return false;
}

char *subtitles_wrap(const struct document *document, const char *written, size_t written_length, bool vtt, struct arena *arena,
                     size_t *out_length, struct error *err) {
    struct wrapper wrapper = {.out.arena = arena, .arena = arena, .vtt = vtt};
    struct cue_reader sources = {.end = document->source + document->length, .line.next = document->source, .vtt = vtt};
    struct cue_reader cues = {.end = written + written_length, .line.next = written, .vtt = vtt};
    struct cue before, now;
    const char *at = written;
    while (cue_next(&sources, &before, NULL) == 1 && cue_next(&cues, &now, NULL) == 1) {
        bool lost = says_something(&before, vtt) && !says_something(&now, vtt);
        bool arrow =
            memmem(now.text.start, now.text.length, "-->", 3) != NULL; /* a line broken in front of it might be one of times */
        if (before.lines == 0 || (now.lines == 0 && !lost) || is_same(before.text, now.text) || (arrow && !lost))
            continue;
        html_put(&wrapper.out, at, (size_t)(now.text.start - at));
        if (lost) {
            html_put(&wrapper.out, before.text.start, before.text.length);
            document_note(document, before.text.start, "untranslated",
                          "cue %zu got no word of the sentence's translation: it stays as it is", sources.number);
        } else if (wrap_cue(&wrapper, &before, &now) != 0) {
            break;
        }
        at = now.text.start + now.text.length;
    }
    html_put(&wrapper.out, at, (size_t)(written + written_length - at));
    if (arena_failed(arena) || wrapper.out.failed) {
        error_memory(err);
        return NULL;
    }
    *out_length = wrapper.out.length;
    return wrapper.out.bytes;
}
