#include "tests/server/documents/fake.h"
#include "tests/check.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t split(const char *text, size_t length, struct arena *arena, struct span **words) {
    size_t count = 0;
    *words = arena_alloc(arena, length / 2 + 1, sizeof **words);
    for (size_t at = 0; at < length;) {
        size_t begin = at;
        while (at < length && text[at] != ' ')
            at++;
        if (at > begin)
            (*words)[count++] = (struct span){begin, at};
        at++;
    }
    return count;
}

static void put(struct markup_translation *out, char *to, const char *text, struct span word) {
    struct span target = {out->length, out->length + word.end - word.begin};
    for (size_t i = word.begin; i < word.end; i++)
        to[out->length++] = (char)toupper((unsigned char)text[i]);
    out->links[out->link_count++] = (struct markup_link){word, target};
    to[out->length++] = ' ';
}

struct markup_translation fake_translation(enum fake_kind kind, const char *text, size_t length,
                                           struct arena *arena) {
    struct span *words;
    size_t count = split(text, length, arena, &words), times = kind == FAKE_LONGER ? 2 : 1;
    struct markup_translation out = {.links = arena_alloc(arena, 2 * count, sizeof *out.links)};
    char *to = arena_alloc(arena, 2 * length + 2, 1);
    out.text = to;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < times; j++)
            put(&out, to, text, words[kind == FAKE_REVERSED ? count - 1 - i : i]);
    out.length -= out.length > 0;
    return out;
}

int fake_read(const char *format, const char *source, struct arena *arena, struct markup *out,
              struct error *err) {
    struct document document = {.format = document_find(format),
                                .source = source,
                                .length = strlen(source),
                                .language = FAKE_LANGUAGE};
    return document_read(&document, arena, out, err);
}

char *fake_translated(const struct document *document, enum fake_kind kind, struct arena *arena) {
    struct markup html;
    struct error error = {0};
    size_t length;
    ck_assert_ptr_nonnull(document->format);
    ck_assert_msg(document_read(document, arena, &html, &error) == 0, "%s", error.message);
    struct markup_translation *translations = arena_zalloc(arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] =
            fake_translation(kind, html.segments[i].text, html.segments[i].length, arena);
    char *out = document_write(document, &html, translations, arena, &length, &error);
    ck_assert_msg(out != NULL, "%s", error.message);
    ck_assert_uint_eq(strlen(out), length);
    return out;
}

char *fake_document(const char *format, enum fake_kind kind, const char *source,
                    struct arena *arena) {
    return fake_translated(&(struct document){.format = document_find(format),
                                              .source = source,
                                              .length = strlen(source),
                                              .language = FAKE_LANGUAGE},
                           kind, arena);
}

const char *fake_string(const struct markup_segment *segment, struct arena *arena) {
    return arena_copy(arena, segment->text, segment->length);
}

void fake_expect(const char *format, enum fake_kind kind, const char *source,
                 const char *expected) {
    struct arena arena;
    arena_init(&arena, 1 << 14);
    ck_assert_str_eq(fake_document(format, kind, source, &arena), expected);
    arena_done(&arena);
}

void fake_expect_text(const char *format, const char *source, const char *translation,
                      const char *expected) {
    struct arena arena;
    struct markup html;
    const struct document document = {.format = document_find(format),
                                      .source = source,
                                      .length = strlen(source),
                                      .language = FAKE_LANGUAGE};
    size_t length;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    struct markup_translation *translations =
        arena_zalloc(&arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] =
            (struct markup_translation){.text = translation, .length = strlen(translation)};
    ck_assert_str_eq(document_write(&document, &html, translations, &arena, &length, NULL),
                     expected);
    arena_done(&arena);
}

void fake_refused(const char *format, const char *source, const char *message) {
    struct arena arena;
    struct markup html;
    struct error error = {0};
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read(format, source, &arena, &html, &error), -1);
    ck_assert_int_eq(error.code, ERROR_INPUT);
    ck_assert_str_eq(error.message, message);
    arena_done(&arena);
}

char *fake_long(const char *head, const char *middle, const char *tail, size_t bytes) {
    char *text = malloc(bytes + strlen(tail) + 1), *at = stpcpy(text, head);
    while ((size_t)(at - text) + strlen(middle) <= bytes)
        at = stpcpy(at, middle);
    strcpy(at, tail);
    return text;
}
