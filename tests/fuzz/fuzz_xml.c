/* XML, untranslated: what was written can be read again, into the same segments. The first byte
 * says whether tags beside which no text stands end segments. */
#include "model/base/utf8.h"
#include "server/markup/markup.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static const char *const ignored[] = {"x"}, *const splitting[] = {"p"},
                         *const inline_names[] = {"b"};

static char *write_again(const char *markup, size_t size, const struct xml_tags *tags,
                         struct arena *arena, struct markup *html, size_t *written) {
    struct error err = {0};
    if (markup_parse_xml(markup, size, tags, arena, html, &err) != 0) {
        FUZZ_CHECK(err.code == ERROR_INPUT && *err.message);
        return NULL;
    }
    struct markup_translation *none = arena_zalloc(arena, html->count + 1, sizeof *none);
    char *out = markup_write(html, none, arena, written, NULL);
    FUZZ_CHECK(out);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || !utf8_valid((const char *)data + 1, size - 1))
        return 0;
    struct xml_tags tags = {.ignored = {ignored, 1},
                            .splitting = {splitting, 1},
                            .inline_names = {inline_names, 1},
                            .outline = data[0] & 1};
    struct arena arena;
    struct markup html, again;
    size_t length, same;
    arena_init(&arena, 4096);
    const char *once = write_again((const char *)data + 1, size - 1, &tags, &arena, &html, &length);
    const char *twice = once ? write_again(once, length, &tags, &arena, &again, &same) : NULL;
    FUZZ_CHECK(!once || (twice && html.count == again.count && length == same &&
                         memcmp(once, twice, length) == 0));
    arena_done(&arena);
    return 0;
}
