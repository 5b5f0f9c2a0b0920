#include "tests/server/office/archives.h"
#include "server/office/office.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_number(FILE *out, size_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        fputc(i < sizeof number ? (int)(number >> 8 * i & 255) : 0, out);
}

/* What both headers of a member have in common, from the version that is needed on. */
static void put_common(FILE *out, const struct entry *entry, size_t packed) {
    size_t length = strlen(entry->text);
    put_number(out, 20, 2);
    put_number(out, 0, 2);
    put_number(out, entry->stored ? 0 : 8, 2);
    put_number(out, 0x21 << 16, 4); /* when: the first day that there is */
    put_number(out, crc32(0, (const unsigned char *)entry->text, (uInt)length), 4);
    put_number(out, packed, 4);
    put_number(out, length, 4);
    put_number(out, strlen(entry->name), 2);
    put_number(out, 0, 2);
}

static size_t pack(const struct entry *entry, unsigned char *out, size_t room) {
    size_t length = strlen(entry->text);
    if (entry->stored) {
        memcpy(out, entry->text, length);
        return length;
    }
    z_stream stream = {.next_out = out, .avail_out = (uInt)room};
    char *copy = strdup(entry->text);
    stream.next_in = (unsigned char *)copy;
    stream.avail_in = (uInt)length;
    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    free(copy);
    return room - stream.avail_out;
}

char *archive_make(const struct entry *entries, size_t *length) {
    char *bytes = NULL, *central = NULL;
    size_t central_length, count = 0;
    FILE *out = open_memstream(&bytes, length), *directory = open_memstream(&central, &central_length);
    for (; entries[count].name; count++) {
        const struct entry *entry = &entries[count];
        size_t room = strlen(entry->text) + 1024, offset = (size_t)ftell(out);
        unsigned char *data = malloc(room);
        size_t packed = pack(entry, data, room);
        fwrite("PK\3\4", 1, 4, out);
        put_common(out, entry, packed);
        fprintf(out, "%s", entry->name);
        fwrite(data, 1, packed, out);
        free(data);
        fwrite("PK\1\2", 1, 4, directory);
        put_number(directory, 20, 2);
        put_common(directory, entry, packed);
        put_number(directory, 0, 2 + 2 + 2 + 4);
        put_number(directory, offset, 4);
        fprintf(directory, "%s", entry->name);
    }
    fclose(directory);
    size_t begin = (size_t)ftell(out);
    fwrite(central, 1, central_length, out);
    free(central);
    fwrite("PK\5\6", 1, 4, out);
    put_number(out, 0, 4);
    put_number(out, count, 2);
    put_number(out, count, 2);
    put_number(out, central_length, 4);
    put_number(out, begin, 4);
    put_number(out, 0, 2);
    fclose(out);
    return bytes;
}

struct bytes archive_translate(struct document document, enum fake_kind kind, struct arena *arena) {
    struct markup html;
    struct error error = {0};
    struct bytes out;
    document.language = document.language ? document.language : FAKE_LANGUAGE;
    ck_assert_ptr_nonnull(document.format);
    ck_assert_msg(document_read(&document, arena, &html, &error) == 0, "%s", error.message);
    struct markup_translation *translations = arena_zalloc(arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = fake_translation(kind, html.segments[i].text, html.segments[i].length, arena);
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

void archive_expect(const char *format, const char *part, enum fake_kind kind, const char *before, const char *after) {
    const struct entry entries[] = {{"mimetype", "application/x", true}, {part, before, false}, {NULL, NULL, false}};
    struct arena arena;
    size_t length;
    char *bytes = archive_make(entries, &length);
    arena_init(&arena, 1 << 14);
    struct bytes out =
        archive_translate((struct document){.format = document_find(format), .source = bytes, .length = length}, kind, &arena);
    ck_assert_str_eq(archive_text(out, part, &arena), after);
    ck_assert_str_eq(archive_text(out, "mimetype", &arena), "application/x");
    ck_assert_mem_eq(out.start, bytes, 30 + 8 + 13); /* the first member, as it was */
    arena_done(&arena);
    free(bytes);
}

void archive_refused(const char *format, const char *bytes, size_t length, const char *message) {
    struct document document = {.format = document_find(format), .source = bytes, .length = length, .language = FAKE_LANGUAGE};
    struct arena arena;
    struct markup html;
    struct error error = {0};
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, &error), -1);
    ck_assert_int_eq(error.code, ERROR_INPUT);
    ck_assert_str_eq(error.message, message);
    arena_done(&arena);
}
