#include "tests/load/worst.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEBIBYTE = 1 << 20, ROOM = MEBIBYTE - 4096, TEXT_PAIRS = 78 };

/* head, unit again and again, tail: so many bytes of units at most. The caller frees it. */
static char *repeat(const char *head, const char *unit, const char *tail, size_t bytes) {
    size_t length = strlen(unit), count = bytes / length;
    char *body = malloc(strlen(head) + count * length + strlen(tail) + 1),
         *out = stpcpy(body, head);
    for (size_t i = 0; i < count; i++)
        out = stpcpy(out, unit);
    strcpy(out, tail);
    return body;
}

#define MARKUP_HEAD "{\"source\":\"en\",\"target\":\"fr\",\"format\":\"html\",\"q\":\""
#define LONG_PHRASE                                                                                \
    "\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7\xba\xef\xb7" \
    "\xba"

/* Each of these becomes 18 characters. */
static char *ligatures(void) {
    return repeat("{\"text\":\"", "\xef\xb7\xba", "\"}", 30000);
}

static char *one_tag(void) {
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, MARKUP_HEAD "<a");
    for (unsigned i = 0; out < body + ROOM; i++)
        out += sprintf(out, " %x", i);
    strcpy(out, ">x</a>\"}");
    return body;
}

static char *cells(void) {
    return repeat(MARKUP_HEAD, "<td>", "x\"}", ROOM);
}

static char *elements(void) {
    return repeat(MARKUP_HEAD, "<b a=c></b>", "x\"}", ROOM);
}

static char *texts(void) {
    return repeat("{\"text\":[", "\"" LONG_PHRASE LONG_PHRASE LONG_PHRASE "\",", "\"a\"]}",
                  (size_t)63 * (3 * 24 + 3));
}

/* Fifty of the longest phrases; the text holds one at every word. */
static char *glossary(void) {
    char *phrase = repeat("", "\xef\xb7\xba", "\"", 198),
         *text = repeat("},\"text\":\"", "a ", "\"}", 9000);
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, "{\"glossary\":{\"a\":\"");
    out = stpcpy(out, phrase);
    for (int i = 1; i < 50; i++)
        out += sprintf(out, ",\"b%d\":\"%s", i, phrase);
    strcpy(out, text);
    free(phrase);
    free(text);
    return body;
}

static char *members(void) {
    char *body = malloc(MEBIBYTE), *out = stpcpy(body, "{\"text\":\"a\"");
    for (unsigned i = 0; out < body + ROOM; i++)
        out += sprintf(out, ",\"%x\":0", i);
    strcpy(out, "}");
    return body;
}

static char *form(void) {
    return repeat("q=a&source=en&target=fr", "&a=b", "", ROOM);
}

static char *parts(void) {
    return repeat("--b\r\n", "a: b\r\n", "\r\n\r\n--b--\r\n", ROOM);
}

static const struct {
    char *(*make)(void);
    const char *type;
} bodies[WORST_BODIES] = {
    {ligatures, "application/json"},
    {one_tag, "application/json"},
    {cells, "application/json"},
    {elements, "application/json"},
    {texts, "application/json"},
    {glossary, "application/json"},
    {members, "application/json"},
    {form, "application/x-www-form-urlencoded"},
    {parts, "multipart/form-data; boundary=b"},
};

char *worst_body(size_t i) {
    return bodies[i].make();
}

const char *worst_type(size_t i) {
    return bodies[i].type;
}

char *worst_question(size_t texts, const char *fields) {
    char *text = repeat("\"", "ab", "\",", 2 * (size_t)TEXT_PAIRS),
         *body = malloc((texts + 1) * strlen(text) + strlen(fields) + 256);
    char *out = stpcpy(body, "{\"text\":[");
    for (size_t i = 0; i < texts; i++)
        out = stpcpy(out, text);
    sprintf(out - 1,
            "],\"include\":[\"tokens\",\"log_probs\",\"attention\",\"alignment\",\"words\","
            "\"offsets\",\"entropy\",\"top_k\","
            "\"beam\",\"timing\",\"eos\"]%s}",
            fields);
    free(text);
    return body;
}
