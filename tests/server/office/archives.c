#include "tests/server/office/archives.h"
#include "server/office/office.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

struct bytes archive_translate(struct document document, enum fake_kind kind, struct arena *arena) {
    struct markup html;
    struct error error = {0};
    struct bytes out;
    document.language = document.language ? document.language : FAKE_LANGUAGE;
    ck_assert_ptr_nonnull(document.format);
    ck_assert_msg(document_read(&document, arena, &html, &error) == 0, "%s", error.message);
    struct markup_translation *translations = arena_zalloc(arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] =
            fake_translation(kind, html.segments[i].text, html.segments[i].length, arena);
    out.start = document_write(&document, &html, translations, arena, &out.length, &error);
    ck_assert_msg(out.start != NULL, "%s", error.message);
    return out;
}

const char *archive_text(struct bytes archive, const char *name, struct arena *arena) {
    struct zip zip;
    struct error error = {0};
    struct bytes text;
    ck_assert_msg(zip_open(archive, arena, &zip, &error) == 0, "%s", error.message);
    const struct zip_member *member = zip_find(&zip, name);
    if (!member)
        return NULL;
    ck_assert_msg(zip_unpack(member, arena, &text, &error) == 0, "%s", error.message);
    return text.start;
}

void archive_expect(const char *format, const char *part, enum fake_kind kind, const char *before,
                    const char *after) {
    const struct entry entries[] = {
        {"mimetype", "application/x", true}, {part, before, false}, {NULL, NULL, false}};
    struct arena arena;
    size_t length;
    char *bytes = archive_make(entries, &length);
    arena_init(&arena, 1 << 14);
    struct bytes out = archive_translate(
        (struct document){.format = document_find(format), .source = bytes, .length = length}, kind,
        &arena);
    ck_assert_str_eq(archive_text(out, part, &arena), after);
    ck_assert_str_eq(archive_text(out, "mimetype", &arena), "application/x");
    ck_assert_mem_eq(out.start, bytes, 30 + 8 + 13); /* the first member, as it was */
    arena_done(&arena);
    free(bytes);
}

void archive_refused(const char *format, const char *bytes, size_t length, const char *message) {
    struct document document = {.format = document_find(format),
                                .source = bytes,
                                .length = length,
                                .language = FAKE_LANGUAGE};
    struct arena arena;
    struct markup html;
    struct error error = {0};
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, &error), -1);
    ck_assert_int_eq(error.code, ERROR_INPUT);
    ck_assert_str_eq(error.message, message);
    arena_done(&arena);
}
