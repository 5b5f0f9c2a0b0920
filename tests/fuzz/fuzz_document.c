/* Documents of every format, and their translation by something that reverses words. The first byte
 * chooses the format, with the second one beyond the first FEW, unless the variable FUZZ_FORMAT
 * names one, and which words are linked with what they came from; a document that was written can
 * be read again. */
#include "model/base/utf8.h"
#include "server/documents/spans.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reversed.h"
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts the lines of times in subtitles: one for each cue, and those in comments. */
static size_t count_times(const char *text, size_t length, bool vtt) {
#define TIME(colons)  "([0-9]+:){" colons "}[0-9][0-9][.,][0-9]{1,3}"
#define TIMES(colons) "^[ \t]*" TIME(colons) "[ \t]*-->[ \t]*" TIME(colons) "([ \t]|$)"
    static regex_t expressions[2];
    static const char *const patterns[] = {TIMES("2"), TIMES("1,2")};
    struct line line = {.next = text};
    size_t count = 0;
    if (expressions[vtt].re_nsub == 0)
        FUZZ_CHECK(regcomp(&expressions[vtt], patterns[vtt], REG_EXTENDED) == 0);
    while (lines_next(&line, text + length)) {
        char start[256] = "";
        size_t bytes = (size_t)(line.end - line.begin);
        memcpy(start, line.begin, bytes < sizeof start ? bytes : sizeof start - 1);
        count += strstr(start, "-->") && regexec(&expressions[vtt], start, 0, NULL, 0) == 0;
    }
    return count;
}

/* True if there is a message that cannot be read: its state changes, even if nothing is translated.
 */
static bool has_unreadable(const struct markup *markup) {
    const struct document_spans *spans = markup->spans;
    for (size_t i = 0; spans && i < spans->count; i++)
        for (size_t k = 0; k < spans->all[i].count; k++)
            if (spans->all[i].texts[k].unreadable)
                return true;
    return false;
}

static char *translate(const struct document_format *format, const char *source, size_t length,
                       unsigned linked, struct arena *arena, size_t *written, bool *decoded) {
    struct markup html;
    struct error error = {0};
    static const char *const globs[] = {"**.a*.**,b.*.c", "!*b.**, !0.**"};
    struct document_notes notes = {.arena = arena};
    struct document document = {
        .format = format, .source = source, .length = length, .language = "fr", .notes = &notes};
    if (linked % 4 > 1) /* the only format that has values to choose from, but no other minds */
        document.keys = key_globs_parse(&globs[linked % 2], 1, arena, NULL);
    if (document_decode(&document, NULL, NULL, arena, &error) != 0) {
        FUZZ_CHECK(error.code == ERROR_INPUT);
        return NULL;
    }
    source = document.source;
    length = document.length;
    if (document_read(&document, arena, &html, &error) != 0) {
        FUZZ_CHECK(error.code == ERROR_INPUT);
        FUZZ_CHECK(utf8_valid(error.message, strlen(error.message)) ||
                   strlen(error.message) + 1 == sizeof error.message);
        return NULL;
    }
    struct markup_translation *none = arena_zalloc(arena, html.count + 1, sizeof *none);
    char *same = document_write(&document, &html, none, arena, written, NULL);
    FUZZ_CHECK(same);
    if (strcmp(format->name, "html") != 0 &&
        !document
             .encoding) /* byte for byte; an encoding may have several ways to write a character */
        FUZZ_CHECK(has_unreadable(&html) ||
                   (*written == length && memcmp(same, source, length) == 0));
    struct markup_translation *translations =
        arena_zalloc(arena, html.count + 1, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = fuzz_reverse(&html.segments[i], linked | linked << 4,
                                       fuzz_strange(source, length, i), arena);
    char *out = document_write(&document, &html, translations, arena, written, NULL);
    FUZZ_CHECK(out && out[*written] == '\0');
    FUZZ_CHECK(format->archive || document.encoding || utf8_valid(out, *written));
    bool vtt = strcmp(format->name, "vtt") == 0;
    if (format->write == subtitles_write && !document.encoding)
        FUZZ_CHECK(count_times(source, length, vtt) == count_times(out, *written, vtt));
    *decoded = document.encoding != NULL;
    return out;
}

/* In this order, whatever the program's is, so that the inputs of a corpus keep their format.
 * Archives have their own target. */
static const char *const names[] = {
    "txt",     "srt",         "vtt",     "json", "md",  "html", "po",  "xliff",
    "jsonl",   "xcstrings",   "csv",     "tsv",  "rst", "adoc", "tex", "properties",
    "strings", "stringsdict", "android", "resx", "ts",  "ass",  "sbv", "lrc",
    "ttml",    "ftl",         "yaml",    "tmx",  "mdx"};

enum { FEW = 15, NAMES = sizeof names / sizeof *names };

static const struct document_format *format_of(const uint8_t *data, size_t size, size_t *used) {
    const char *only = getenv("FUZZ_FORMAT");
    size_t first = data[0] / 16, second = size > 1 ? data[1] : 0;
    const struct document_format *format = document_find(
        only && *only ? only : names[first < FEW ? first : FEW + second % (NAMES - FEW)]);
    *used = first < FEW || size < 2 ? 1 : 2;
    FUZZ_CHECK(format);
    return format;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    size_t once, twice, used;
    const struct document_format *format = format_of(data, size, &used);
    struct arena arena;
    char *source = malloc(size); /* of exactly this size: a byte too far is noticed */
    memcpy(source, data + used, size - used);
    arena_init(&arena, 1 << 14);
    bool decoded = false, again;
    char *out = translate(format, source, size - used, data[0] % 16, &arena, &once, &decoded);
    /* it may now be text in the encoding that it states, which it was not before, or have more
     * texts and marks than there may be */
    if (out && !decoded && once < MARKUP_MAX_PIECES)
        FUZZ_CHECK(translate(format, out, once, data[0] % 16, &arena, &twice, &again));
    arena_done(&arena);
    free(source);
    return 0;
}
