/* Archives of Office, OpenDocument and EPUB, and their translation by something that reverses
 * words. The first byte chooses the format and which words are linked with what they came from.
 * What follows is an archive if it begins as one, otherwise a part with text, which is put into an
 * archive, so that most of the time goes to what archives hold. Checksums are not compared in this
 * build. */
#include "model/base/utf8.h"
#include "server/documents/document.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reversed.h"
#include <stdlib.h>
#include <string.h>

static const char *const kinds[][2] = {{"docx", "word/document.xml"},
                                       {"pptx", "ppt/slides/slide1.xml"},
                                       {"xlsx", "xl/sharedStrings.xml"},
                                       {"odt", "content.xml"},
                                       {"epub", "a.xhtml"},
                                       {"epub", "a.ncx"},
                                       {"xlsx", "xl/worksheets/sheet1.xml"},
                                       {"ods", "styles.xml"}};

static void set_number(char *at, size_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(unsigned char)(number >> 8 * i & 255);
}

/* An archive with one member, which is stored. */
static char *wrap(const char *name, const char *part, size_t length, size_t *out_length) {
    size_t named = strlen(name), local = 30 + named + length, central = 46 + named;
    *out_length = local + central + 22;
    char *bytes = calloc(*out_length, 1), *entry = bytes + local, *end = entry + central;
    memcpy(bytes, "PK\3\4", 4);
    set_number(bytes + 18, length, 4);
    set_number(bytes + 22, length, 4);
    set_number(bytes + 26, named, 2);
    memcpy(bytes + 30, name, named);
    memcpy(bytes + 30 + named, part, length);
    memcpy(entry, "PK\1\2", 4);
    set_number(entry + 20, length, 4);
    set_number(entry + 24, length, 4);
    set_number(entry + 28, named, 2);
    memcpy(entry + 46, name, named);
    memcpy(end, "PK\5\6", 4);
    set_number(end + 8, 1, 2);
    set_number(end + 10, 1, 2);
    set_number(end + 12, central, 4);
    set_number(end + 16, local, 4);
    return bytes;
}

static char *translate(const struct document *document, unsigned linked, struct arena *arena,
                       size_t *written) {
    struct markup html;
    struct error error = {0};
    if (document_read(document, arena, &html, &error) != 0) {
        FUZZ_CHECK(error.code == ERROR_INPUT);
        FUZZ_CHECK(utf8_valid(error.message, strlen(error.message)) ||
                   strlen(error.message) + 1 == sizeof error.message);
        return NULL;
    }
    struct markup_translation *translations =
        arena_zalloc(arena, html.count + 1, sizeof *translations);
    char *same = document_write(document, &html, translations, arena, written, NULL);
    FUZZ_CHECK(same && *written == document->length &&
               memcmp(same, document->source, *written) == 0);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = fuzz_reverse(&html.segments[i], linked | linked << 4,
                                       fuzz_strange(document->source, document->length, i), arena);
    char *out = document_write(document, &html, translations, arena, written, NULL);
    FUZZ_CHECK(out);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    unsigned kind = data[0] / 16 % (sizeof kinds / sizeof *kinds), linked = data[0] % 16;
    size_t length = size - 1;
    char *part = malloc(length + 1),
         *source = part; /* of exactly this size: a byte too far is noticed */
    memcpy(part, data + 1, length);
    if (length < 4 || memcmp(part, "PK\3\4", 4) != 0)
        source = wrap(kinds[kind][1], part, size - 1, &length);
    struct arena arena;
    arena_init(&arena, 1 << 14);
    struct document document = {.format = document_find(kinds[kind][0]),
                                .source = source,
                                .length = length,
                                .language = "fr",
                                .bilingual =
                                    data[0] >= 128 && document_find(kinds[kind][0])->bilingual};
    size_t once, twice;
    char *out = translate(&document, linked, &arena, &once);
    if (out) {
        document.source = out;
        document.length = once;
        FUZZ_CHECK(translate(&document, linked, &arena, &twice));
    }
    arena_done(&arena);
    if (source != part)
        free(source);
    free(part);
    return 0;
}
