#include "server/markup/html_attributes.h"
#include "server/markup/html_piece.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 100 /* of an element, as libxml2 reads it */ };

/* ---- one by one ---- */

bool html_next_attribute(const char **at, const char *end, struct html_attribute *out) {
    const char *c = *at;
    while (c < end && (html_is_space(*c) || *c == '/'))
        c++;
    *at = c;
    if (c == end || *c == '>')
        return false;
    const char *name = c++; /* a name may begin with '=' */
    while (c < end && !html_is_space(*c) && !strchr("/>=", *c))
        c++;
    *out = (struct html_attribute){.name = {name, (size_t)(c - name)}};
    *at = c;
    while (c < end && html_is_space(*c))
        c++;
    if (c == end || *c != '=')
        return true;
    do
        c++;
    while (c < end && html_is_space(*c));
    const char *value = c;
    out->has_value = true;
    if (c < end && (*c == '"' || *c == '\'')) {
        value++;
        const char *quote = memchr(value, *c, (size_t)(end - value));
        out->quoted = quote != NULL;
        c = quote ? quote : end;
        *at = quote ? quote + 1 : end;
    } else {
        while (c < end && !html_is_space(*c) && *c != '>')
            c++;
        *at = c;
    }
    out->value = (struct html_bytes){value, (size_t)(c - value)};
    return true;
}

static bool is_name(struct html_bytes bytes, const char *name) {
    return bytes.length == strlen(name) && strncasecmp(bytes.start, name, bytes.length) == 0;
}

bool html_attribute_is(const struct html_attribute *attribute, const char *name) {
    return is_name(attribute->name, name);
}

static bool has_word(struct html_bytes text, const char *word) {
    for (size_t at = 0; at < text.length; at++) {
        size_t begin = at;
        while (at < text.length && !html_is_space(text.start[at]))
            at++;
        if (is_name((struct html_bytes){text.start + begin, at - begin}, word))
            return true;
    }
    return false;
}

bool html_attributes_forbid(const char *at, const char *end) {
    struct html_attribute attribute;
    while (html_next_attribute(&at, end, &attribute))
        if ((html_attribute_is(&attribute, "translate") && is_name(attribute.value, "no")) ||
            (html_attribute_is(&attribute, "class") && has_word(attribute.value, "notranslate")))
            return true;
    return false;
}

/* ---- hidden from the parser ---- */

/* Behind the next `mark`; the end where there is none. */
static const char *behind(const char *at, const char *end, const char *mark) {
    const char *found = memmem(at, (size_t)(end - at), mark, strlen(mark));
    return found ? found + strlen(mark) : end;
}

/* The end tag of an element whose content is no markup, or the end. */
static const char *raw_end(const char *at, const char *end, const char *name, size_t length) {
    for (; (at = memmem(at, (size_t)(end - at), "</", 2)) != NULL; at += 2)
        if ((size_t)(end - at) - 2 >= length && strncasecmp(at + 2, name, length) == 0)
            return at;
    return end;
}

static size_t name_length(const char *at, const char *end) {
    size_t length = 0;
    while (length < NAME_BYTES && at + length < end &&
           (isalnum((unsigned char)at[length]) || (at[length] && strchr(":-_.", at[length]))))
        length++;
    return length;
}

/* A start tag whose '>' is there: its attributes are at [begin,close). NULL: it has no end. */
static const char *tag_close(const char *begin, const char *end) {
    struct html_attribute attribute;
    const char *at = begin;
    while (html_next_attribute(&at, end, &attribute))
        ;
    return at < end ? at : NULL;
}

struct hider {
    struct html_buffer out;
    struct html_bytes *spans; /* [count] */
    size_t count, room;
    const char *done; /* the markup up to here is out */
};

static int hide(struct hider *hider, const char *begin, const char *close) {
    char number[sizeof " " HTML_HIDDEN "=\"\"" + 24];
    struct html_bytes *spans = arena_grow(hider->out.arena, hider->spans, hider->count, &hider->room, 1, sizeof *spans);
    if (!spans)
        return -1;
    hider->spans = spans;
    spans[hider->count] = (struct html_bytes){begin, (size_t)(close - begin)};
    snprintf(number, sizeof number, " " HTML_HIDDEN "=\"%zu\"", hider->count++);
    html_put(&hider->out, hider->done, (size_t)(begin - hider->done));
    html_put_string(&hider->out, number);
    hider->done = close;
    return 0;
}

/* A '/' before the '>' that is no part of a value stays where the parser sees it. */
static bool is_closed(const char *begin, const char *close) {
    struct html_attribute attribute = {.quoted = true};
    const char *at = begin, *last = begin;
    while (html_next_attribute(&at, close, &attribute))
        last = at;
    return memchr(last, '/', (size_t)(close - last)) && close[-1] == '/';
}

/* at: '<' of a start tag. Behind it, and behind the content of a script or style. NULL: memory. */
static const char *hide_tag(struct hider *hider, const char *at, const char *end) {
    size_t length = name_length(at + 1, end);
    const char *begin = at + 1 + length, *close = tag_close(begin, end);
    if (!close)
        return end;
    const char *stop = close > begin && is_closed(begin, close) ? close - 1 : close;
    if (stop > begin && hide(hider, begin, stop) != 0)
        return NULL;
    bool raw = (length == 6 && strncasecmp(at + 1, "script", 6) == 0) || (length == 5 && strncasecmp(at + 1, "style", 5) == 0);
    return raw && stop == close ? raw_end(close, end, at + 1, length) : close + 1;
}

int html_hide_attributes(const char *before, const char *markup, size_t length, struct arena *arena, struct html_hidden *out) {
    const char *at = markup, *end = markup + length;
    struct hider hider = {.out.arena = arena, .done = markup};
    html_put_string(&hider.out, before);
    while (at && (at = memchr(at, '<', (size_t)(end - at))) != NULL && end - at > 1) {
        if (isalpha((unsigned char)at[1]) || at[1] == '_' || at[1] == ':')
            at = hide_tag(&hider, at, end);
        else if (end - at > 3 && memcmp(at, "<!--", 4) == 0)
            at = behind(at + 4, end, "-->");
        else
            at = at[1] && strchr("!?/", at[1]) ? behind(at, end, ">") : at + 1;
    }
    html_put(&hider.out, hider.done, (size_t)(end - hider.done));
    *out = (struct html_hidden){hider.out.bytes, hider.out.length, hider.spans, hider.count};
    return hider.out.failed || arena_failed(arena) ? -1 : 0;
}
