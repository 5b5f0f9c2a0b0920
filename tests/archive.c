#include "tests/archive.h"
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
    if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    free(copy);
    return room - stream.avail_out;
}

char *archive_make(const struct entry *entries, size_t *length) {
    char *bytes = NULL, *central = NULL;
    size_t central_length, count = 0;
    FILE *out = open_memstream(&bytes, length),
         *directory = open_memstream(&central, &central_length);
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
