/* The file is a protocol buffer (sentencepiece_model.proto):
 *
 *   ModelProto      1 pieces, 2 trainer_spec, 3 normalizer_spec, 4 self_test_data, 5 denormalizer_spec
 *   SentencePiece   1 piece, ...
 *   NormalizerSpec  1 name, 2 precompiled_charsmap, ...
 *   charsmap        uint32 n, n bytes of trie (a Darts double array of uint32 units), replacement strings, each ended by a NUL
 *
 * The library walks the trie and the strings without bounds: a damaged file would make it read wild memory, perhaps only when a
 * certain character comes. It also takes a file that was cut between two fields, with other normalisation; normalizer_spec comes
 * last. */
#include "model/text/spm_file.h"
#include "model/base/file.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SPM_MAX_BYTES = 1 << 28 };

enum { MODEL_PIECES = 1, PIECE_TEXT = 1, MODEL_NORMALIZER = 3, MODEL_DENORMALIZER = 5, NORMALIZER_CHARSMAP = 2 };
enum { WIRE_VARINT = 0, WIRE_64_BIT = 1, WIRE_BYTES = 2, WIRE_32_BIT = 5 };

struct bytes {
    const unsigned char *data;
    size_t size;
};

struct field {
    uint64_t number;
    unsigned wire;
    struct bytes value; /* WIRE_BYTES only */
};

static bool bytes_take(struct bytes *rest, uint64_t size, struct bytes *taken) {
    if (size > rest->size)
        return false;
    *taken = (struct bytes){rest->data, (size_t)size};
    rest->data += size;
    rest->size -= (size_t)size;
    return true;
}

static bool take_varint(struct bytes *rest, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        struct bytes byte;
        if (!bytes_take(rest, 1, &byte))
            return false;
        *value |= (uint64_t)(byte.data[0] & 0x7f) << shift;
        if (byte.data[0] < 0x80)
            return true;
    }
    return false;
}

static bool take_field(struct bytes *rest, struct field *field) {
    uint64_t tag, number;
    if (!take_varint(rest, &tag))
        return false;
    *field = (struct field){.number = tag >> 3, .wire = (unsigned)(tag & 7)};
    switch (field->wire) {
    case WIRE_VARINT:
        return take_varint(rest, &number);
    case WIRE_64_BIT:
        return bytes_take(rest, 8, &field->value);
    case WIRE_32_BIT:
        return bytes_take(rest, 4, &field->value);
    case WIRE_BYTES:
        return take_varint(rest, &number) && bytes_take(rest, number, &field->value);
    default: /* groups: this format has none */
        return false;
    }
}

static uint32_t little_endian(const unsigned char *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/* From unit i the library goes to unit i ^ offset, and from there on the 256 units of that block, one per next byte. If the unit is
 * marked as the end of a key, unit i ^ offset holds the place of the replacement string. */
static bool trie_valid(struct bytes trie, size_t strings_size) {
    size_t units = trie.size / 4;
    for (size_t i = 0; i < units; i++) {
        uint32_t unit = little_endian(trie.data + 4 * i);
        if (i > 0 && unit >> 31) /* a place, never walked through; but every walk begins at unit 0, whatever it is */
            continue;
        size_t next = i ^ (size_t)((unit >> 10) << ((unit & 0x200) >> 6));
        if ((next | 0xff) >= units)
            return false;
        if ((unit & 0x100) && (little_endian(trie.data + 4 * next) & 0x7fffffff) >= strings_size)
            return false;
    }
    return units > 0;
}

static bool charsmap_valid(struct bytes charsmap) {
    struct bytes head, trie;
    if (charsmap.size == 0) /* no replacements */
        return true;
    if (!bytes_take(&charsmap, 4, &head) || !bytes_take(&charsmap, little_endian(head.data), &trie))
        return false;
    struct bytes strings = charsmap;
    return strings.size > 0 && strings.data[strings.size - 1] == '\0' && trie_valid(trie, strings.size);
}

static bool normalizer_valid(struct bytes spec) {
    struct field field;
    while (spec.size > 0) {
        if (!take_field(&spec, &field))
            return false;
        if (field.number == NORMALIZER_CHARSMAP && field.wire == WIRE_BYTES && !charsmap_valid(field.value))
            return false;
    }
    return true;
}

static bool model_valid(struct bytes model) {
    struct field field;
    bool normalizer = false;
    while (model.size > 0) {
        if (!take_field(&model, &field))
            return false;
        bool is_spec = (field.number == MODEL_NORMALIZER || field.number == MODEL_DENORMALIZER) && field.wire == WIRE_BYTES;
        if (is_spec && !normalizer_valid(field.value))
            return false;
        normalizer |= is_spec && field.number == MODEL_NORMALIZER;
    }
    return normalizer;
}

int spm_file_read(const char *path, char **bytes, size_t *size, struct error *err) {
    char *data;
    size_t length;
    if (file_read(path, SPM_MAX_BYTES, &data, &length, err) != 0)
        return -1;
    if (!model_valid((struct bytes){(const unsigned char *)data, length})) {
        free(data);
        return error_set(err, ERROR_FORMAT, "%s: not a SentencePiece model, or a damaged one", path);
    }
    *bytes = data;
    *size = length;
    return 0;
}

/* The last text of the message counts; without one it is empty. */
static bool piece_text(struct bytes message, struct bytes *text) {
    struct field field;
    *text = (struct bytes){message.data, 0};
    while (message.size > 0) {
        if (!take_field(&message, &field))
            return false;
        if (field.number == PIECE_TEXT && field.wire == WIRE_BYTES)
            *text = field.value;
    }
    return true;
}

/* Of a model that is valid. False: a piece is not, or take has had enough. */
static bool take_pieces(struct bytes model, spm_take *take, void *context) {
    struct field field;
    struct bytes text;
    for (int id = 0; model.size > 0;) {
        take_field(&model, &field);
        if (field.number != MODEL_PIECES || field.wire != WIRE_BYTES)
            continue;
        if (!piece_text(field.value, &text) || take(context, id++, (const char *)text.data, text.size) != 0)
            return false;
    }
    return true;
}

int spm_file_pieces(const char *path, spm_take *take, void *context, struct error *err) {
    char *bytes;
    size_t size;
    if (spm_file_read(path, &bytes, &size, err) != 0)
        return -1;
    bool taken = take_pieces((struct bytes){(const unsigned char *)bytes, size}, take, context);
    free(bytes);
    return taken ? 0 : error_set(err, ERROR_FORMAT, "%s: not a SentencePiece model, or a damaged one", path);
}
