#include "tests/fuzz/reversed.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { MAX_WORDS = 64 };

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

struct markup_translation fuzz_reverse(const struct markup_segment *segment, unsigned linked, struct arena *arena) {
    struct span words[MAX_WORDS];
    size_t count = split(segment->text, segment->length, words), length = 0, links = 0;
    struct markup_translation out = {.text = "", .links = arena_alloc(arena, count + 1, sizeof *out.links)};
    char *text = arena_alloc(arena, segment->length + 1, 1);
    FUZZ_CHECK(out.links && text);
    for (size_t i = count; i-- > 0;) {
        size_t bytes = words[i].end - words[i].begin;
        memcpy(text + length, segment->text + words[i].begin, bytes);
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
