#include "tests/fuzz/reversed.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { MAX_WORDS = 64, MAX_STRANGE = 32 };

/* Notation that text must not become when it is written. */
static const char *const notations[] = {"-->",
                                        "<x id=\"1\"/>",
                                        "</i>",
                                        "<",
                                        ">",
                                        "&amp;",
                                        "&",
                                        "&#10;",
                                        "\n",
                                        "\n\n",
                                        "\r",
                                        "\r\n",
                                        "\t",
                                        "\v",
                                        "\f",
                                        "\u2028",
                                        "\xc2\x85",
                                        "\u00a0",
                                        "\u200b",
                                        "\u3000",
                                        "\x01",
                                        "\x7f",
                                        "1",
                                        "00:01.000",
                                        "00:00:01,000",
                                        "00:00:01,000\n-->",
                                        "NOTE",
                                        "{\\an8}",
                                        "\\",
                                        "\"",
                                        "'",
                                        "]]>",
                                        "%s",
                                        "%1$s",
                                        "{0}",
                                        "{",
                                        "}",
                                        "#",
                                        "*",
                                        "_",
                                        "`",
                                        "~~~",
                                        "|",
                                        "- ",
                                        "-",
                                        "1.",
                                        "=",
                                        "[",
                                        "](",
                                        "$",
                                        ":",
                                        "\ufeff",
                                        "msgid",
                                        "<![CDATA[",
                                        "<!--",
                                        "-->\n"};

static size_t split(const char *text, size_t length, struct span *words) {
    size_t count = 0;
    for (size_t at = 0; at < length && count < MAX_WORDS;) {
        size_t end = at;
        while (end < length && text[end] != ' ')
            end++;
        if (end > at)
            words[count++] = (struct span){at, end};
        at = end + 1;
    }
    return count;
}

uint32_t fuzz_strange(const char *bytes, size_t length, size_t segment) {
    enum { HASHED = 256 };     /* bytes: each segment of a long document asks */
    uint32_t out = 2166136261; /* FNV-1a */
    for (size_t i = 0; i < length && i < HASHED; i++)
        out = (out ^ (unsigned char)bytes[i]) * 16777619;
    return out >> 30 == 0 ? 0 : out + (uint32_t)segment;
}

/* Returns a notation for every fourth word or so, otherwise the word. */
static struct bytes choose(uint32_t *strange, struct bytes word) {
    if (*strange == 0)
        return word;
    *strange = *strange * 1664525 + 1013904223;
    const char *notation = notations[(*strange >> 8) % (sizeof notations / sizeof *notations)];
    return *strange >> 30 == 0 ? bytes_of(notation) : word;
}

struct markup_translation fuzz_reverse(const struct markup_segment *segment, unsigned linked,
                                       uint32_t strange, struct arena *arena) {
    struct span words[MAX_WORDS];
    size_t count = split(segment->text, segment->length, words), length = 0, links = 0;
    struct markup_translation out = {.text = "",
                                     .links = arena_alloc(arena, count + 1, sizeof *out.links)};
    char *text = arena_alloc(arena, segment->length + count * MAX_STRANGE + 1, 1);
    FUZZ_CHECK(out.links && text);
    for (size_t i = count; i-- > 0;) {
        struct bytes word = choose(
            &strange, bytes_between(segment->text + words[i].begin, segment->text + words[i].end));
        size_t bytes = word.length;
        memcpy(text + length, word.start, bytes);
        if (linked >> i % 8 & 1)
            out.links[links++] = (struct markup_link){words[i], {length, length + bytes}};
        length += bytes;
        if (i > 0)
            text[length++] = ' ';
    }
    out.text = text;
    out.length = length;
    out.link_count = links;
    return out;
}
