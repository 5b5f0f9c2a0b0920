/* Markup, and text with marks, and their translations by something that reverses words. The first
 * byte says how many links between words there are. */
#include "model/base/utf8.h"
#include "server/markup/markup.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reversed.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char *translate(const char *markup, size_t length, bool text, unsigned linked,
                       struct arena *arena, size_t *written) {
    struct markup html;
    struct error error = {0};
    bool marked;
    if (text) {
        FUZZ_CHECK(markup_parse_marked(markup, length, arena, &html, &marked, NULL) == 0);
        if (!marked)
            return NULL;
    } else if (markup_parse_html(markup, length, arena, &html, &error) != 0) {
        FUZZ_CHECK(error.code == ERROR_INPUT); /* too deep */
        return NULL;
    }
    struct markup_translation *translations =
        arena_zalloc(arena, html.count + 1, sizeof *translations);
    for (size_t i = 0; i < html.count; i++) {
        FUZZ_CHECK(html.segments[i].end <= html.piece_count);
        translations[i] =
            fuzz_reverse(&html.segments[i], linked, fuzz_strange(markup, length, i), arena);
    }
    char *out = markup_write(&html, translations, arena, written, NULL);
    FUZZ_CHECK(out && out[*written] == '\0');
    FUZZ_CHECK(utf8_valid(out, *written));
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || !utf8_valid((const char *)data + 1, size - 1))
        return 0;
    struct arena arena;
    size_t once, twice;
    char *markup = malloc(size); /* of exactly this size: a byte too far is noticed */
    memcpy(markup, data + 1, size - 1);
    arena_init(&arena, 1 << 14);
    char *out = translate(markup, size - 1, false, data[0], &arena, &once);
    if (out)
        FUZZ_CHECK(translate(out, once, false, data[0], &arena,
                             &twice)); /* what was written can be read */
    /* an element or attribute of such a name is written in small letters */
    bool named = false;
    for (size_t i = 0; i + 6 < size; i++)
        named |= strncasecmp(markup + i, "hidden", 6) == 0;
    if (out && !named)
        FUZZ_CHECK(!strstr(
            out, "alignd-hidden")); /* what libxml2 reads in place of attributes stays inside */
    translate(markup, size - 1, true, data[0], &arena, &once);
    arena_done(&arena);
    free(markup);
    return 0;
}
