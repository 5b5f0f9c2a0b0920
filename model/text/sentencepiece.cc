/* This file makes SentencePiece a kind of tokenizer, and reads its model files. The library trusts
 * its file and throws exceptions; here the file is checked first, and every exception is caught.
 *
 * The file is a protocol buffer (sentencepiece_model.proto):
 *
 *   ModelProto      1 pieces, 2 trainer_spec, 3 normalizer_spec, 4 self_test_data, 5
 * denormalizer_spec SentencePiece   1 piece, ... NormalizerSpec  1 name, 2 precompiled_charsmap,
 * ... charsmap        uint32 n, n bytes of trie (a Darts double array of uint32 units), replacement
 * strings, each ended by a NUL
 *
 * The library walks the trie and the strings without bounds: a damaged file would make it read
 * arbitrary memory, perhaps only for certain characters. It also accepts a file that was cut
 * between two fields, with other normalisation; so normalizer_spec, which comes after the pieces,
 * is required. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wshadow" /* arena_mark is a struct and a function: C keeps their names apart */
extern "C" {
#include "model/base/arena.h"
#include "model/base/file.h"
#include "model/text/tokenizer.h"
}
#pragma GCC diagnostic pop
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <sentencepiece_processor.h>
#include <string>
#include <string_view>
#include <vector>

/* The library exports this, but none of its installed headers declares it. */
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

using Pieces = sentencepiece::ImmutableSentencePieceText;
using Processor = sentencepiece::SentencePieceProcessor;

/* ---- the file ---- */

enum { MAX_BYTES = 1 << 28 };
enum {
    MODEL_PIECES = 1,
    PIECE_TEXT = 1,
    MODEL_NORMALIZER = 3,
    MODEL_DENORMALIZER = 5,
    NORMALIZER_CHARSMAP = 2
};
enum { WIRE_VARINT = 0, WIRE_64_BIT = 1, WIRE_BYTES = 2, WIRE_32_BIT = 5 };

struct Bytes {
    const unsigned char *data;
    size_t size;
};

struct Field {
    uint64_t number;
    unsigned wire;
    Bytes value; /* WIRE_BYTES only */
};

static bool take_bytes(Bytes &rest, uint64_t size, Bytes &taken) {
    if (size > rest.size)
        return false;
    taken = {rest.data, static_cast<size_t>(size)};
    rest.data += size;
    rest.size -= static_cast<size_t>(size);
    return true;
}

static bool take_varint(Bytes &rest, uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        Bytes byte;
        if (!take_bytes(rest, 1, byte))
            return false;
        value |= static_cast<uint64_t>(byte.data[0] & 0x7f) << shift;
        if (byte.data[0] < 0x80)
            return true;
    }
    return false;
}

static bool take_field(Bytes &rest, Field &field) {
    uint64_t tag, number;
    if (!take_varint(rest, tag))
        return false;
    field = {tag >> 3, static_cast<unsigned>(tag & 7), {nullptr, 0}};
    switch (field.wire) {
    case WIRE_VARINT:
        return take_varint(rest, number);
    case WIRE_64_BIT:
        return take_bytes(rest, 8, field.value);
    case WIRE_32_BIT:
        return take_bytes(rest, 4, field.value);
    case WIRE_BYTES:
        return take_varint(rest, number) && take_bytes(rest, number, field.value);
    default: /* groups: this format has none */
        return false;
    }
}

static uint32_t little_endian(const unsigned char *data) {
    return static_cast<uint32_t>(data[0]) | static_cast<uint32_t>(data[1]) << 8 |
           static_cast<uint32_t>(data[2]) << 16 | static_cast<uint32_t>(data[3]) << 24;
}

/* From unit i the library goes to unit i ^ offset, and from there on to one of the 256 units of
 * that block, by the next byte. If the unit is marked as the end of a key, unit i ^ offset holds
 * the place of the replacement string. */
static bool charsmap_valid(Bytes charsmap) {
    Bytes head, trie;
    if (charsmap.size == 0) /* there are no replacements */
        return true;
    if (!take_bytes(charsmap, 4, head) || !take_bytes(charsmap, little_endian(head.data), trie))
        return false;
    const Bytes strings = charsmap;
    if (strings.size == 0 || strings.data[strings.size - 1] != '\0')
        return false;
    const size_t units = trie.size / 4;
    for (size_t i = 0; i < units; i++) {
        const uint32_t unit = little_endian(trie.data + 4 * i);
        if (i > 0 && unit >> 31) /* a place, never walked through; but every walk begins at unit 0,
                                    whatever it is */
            continue;
        const size_t next = i ^ static_cast<size_t>((unit >> 10) << ((unit & 0x200) >> 6));
        if ((next | 0xff) >= units)
            return false;
        if ((unit & 0x100) && (little_endian(trie.data + 4 * next) & 0x7fffffff) >= strings.size)
            return false;
    }
    return units > 0;
}

static bool file_valid(Bytes model) {
    Field field;
    bool normalizer = false;
    while (model.size > 0) {
        if (!take_field(model, field))
            return false;
        if ((field.number != MODEL_NORMALIZER && field.number != MODEL_DENORMALIZER) ||
            field.wire != WIRE_BYTES)
            continue;
        normalizer |= field.number == MODEL_NORMALIZER;
        for (Bytes spec = field.value; spec.size > 0;)
            if (!take_field(spec, field) ||
                (field.number == NORMALIZER_CHARSMAP && field.wire == WIRE_BYTES &&
                 !charsmap_valid(field.value)))
                return false;
    }
    return normalizer;
}

int sentencepiece_each(const char *name, const char *bytes, size_t size, sentencepiece_take *take,
                       void *context, struct error *err) {
    Bytes model{reinterpret_cast<const unsigned char *>(bytes), size};
    Field field;
    bool good = file_valid(model);
    for (int id = 0; good && model.size > 0;) {
        take_field(model, field);
        if (field.number != MODEL_PIECES || field.wire != WIRE_BYTES)
            continue;
        Bytes text{field.value.data,
                   0}; /* the last text of the message counts; without one it is empty */
        for (Bytes message = field.value; good && message.size > 0;) {
            good = take_field(message, field);
            if (good && field.number == PIECE_TEXT && field.wire == WIRE_BYTES)
                text = field.value;
        }
        good =
            good && take(context, id++, reinterpret_cast<const char *>(text.data), text.size) == 0;
    }
    return good ? 0
                : error_set(err, ERROR_FORMAT, "%s: not a SentencePiece model, or a damaged one",
                            name);
}

int sentencepiece_pieces(const char *path, sentencepiece_take *take, void *context,
                         struct error *err) {
    char *bytes;
    size_t size;
    if (file_read(path, MAX_BYTES, &bytes, &size, err) != 0)
        return -1;
    const int result = sentencepiece_each(path, bytes, size, take, context, err);
    std::free(bytes);
    return result;
}

/* ---- opening ---- */

/* C++ calls this when an allocation has failed, before it tries again. */
static void release_reserve() {
    if (!reserve_release())
        throw std::bad_alloc();
}

/* Runs a call into the library; every exception becomes an error about the subject. */
template <typename Call>
static int guarded(const char *subject, enum error_code code, struct error *err,
                   Call call) noexcept {
    if (reserve_fill(err) != 0)
        return -1;
    try {
        return call();
    } catch (const std::bad_alloc &) {
        return error_memory(err);
    } catch (const std::exception &exception) {
        return error_set(err, code, "%s: %s", subject, exception.what());
    } catch (...) {
        return error_set(err, code, "%s: unknown exception", subject);
    }
}

/* pieces, texts [size]: the processor's strings, and whether they are text; the processor would
 * make a status for each answer, which is too slow for all ids. */
struct Model {
    Processor processor;
    std::vector<const char *> pieces;
    std::vector<bool> texts;
};

static const Model &model_of(const void *model) {
    return *static_cast<const Model *>(model);
}

/* Makes the model of a file's bytes; the caller deletes it. Returns NULL with an error about the
 * name. */
static Model *make_model(const char *name, const char *bytes, size_t size, struct error *err) {
    static const int LOG_FATAL_ONLY = 3;
    Model *made = nullptr;
    static const bool once = (sentencepiece::logging::SetMinLogLevel(LOG_FATAL_ONLY),
                              std::set_new_handler(release_reserve), true);
    static_cast<void>(once);
    if (!file_valid({reinterpret_cast<const unsigned char *>(bytes), size})) {
        error_set(err, ERROR_FORMAT, "%s: not a SentencePiece model, or a damaged one", name);
        return nullptr;
    }
    guarded(name, ERROR_FORMAT, err, [&] {
        auto model = std::make_unique<Model>();
        const Processor &processor = model->processor;
        bool good = model->processor.LoadFromSerializedProto(std::string_view(bytes, size)).ok();
        const int count = good ? processor.GetPieceSize() : 0;
        model->pieces.reserve(static_cast<size_t>(count));
        model->texts.reserve(static_cast<size_t>(count));
        for (int id = 0; good && id < count; id++) {
            /* a score that is not finite breaks the search for the best pieces; a NUL within a
             * piece breaks our strings */
            const std::string &piece = processor.IdToPiece(id);
            good = std::isfinite(processor.GetScore(id)) && piece.find('\0') == std::string::npos;
            model->pieces.push_back(piece.c_str());
            model->texts.push_back(!processor.IsUnknown(id) && !processor.IsControl(id));
        }
        if (!good)
            return error_set(err, ERROR_FORMAT, "%s: not a usable SentencePiece model", name);
        made = model.release();
        return 0;
    });
    return made;
}

int sentencepiece_check(const char *name, const char *bytes, size_t size, struct error *err) {
    const Model *model = make_model(name, bytes, size, err);
    delete model;
    return model ? 0 : -1;
}

static void *spm_open(const char *path, const struct tokenizer_options *, struct tokenizer_ids *ids,
                      struct error *err) {
    char *bytes;
    size_t size;
    if (file_read(path, MAX_BYTES, &bytes, &size, err) != 0)
        return nullptr;
    Model *model = make_model(path, bytes, size, err);
    std::free(bytes);
    if (model)
        *ids = {model->pieces.size(), model->processor.unk_id(), model->processor.bos_id(),
                model->processor.eos_id()};
    return model;
}

static void spm_free(void *model) {
    delete static_cast<Model *>(model);
}

static const char *spm_piece(const void *model, int id) {
    return model_of(model).pieces[static_cast<size_t>(id)];
}

static bool spm_is_text(const void *model, int id) {
    return model_of(model).texts[static_cast<size_t>(id)];
}

static int spm_find(const void *model, const char *piece) {
    const int id = model_of(model).processor.PieceToId(
        piece); /* that of <unk> if the vocabulary lacks the piece */
    return spm_is_text(model, id) ? id : -1;
}

/* ---- text to tokens ---- */

/* The library joins neighbouring unknown characters in time that grows with the square of their
 * number, so a long text is split into parts. A word that is longer than a part may become several
 * words. */
static const size_t PART_BYTES = 4096;

/* A piece whose string begins at this byte of all strings. */
struct Found {
    int id;
    size_t string, begin, end;
};

/* Returns the end of the part that begins at begin: before white space, which separates words
 * anyway, or between characters. */
static size_t part_end(std::string_view text, size_t begin) {
    if (text.size() - begin <= PART_BYTES)
        return text.size();
    const size_t space = text.substr(begin, PART_BYTES + 1).find_last_of(" \n\r\t");
    if (space != std::string_view::npos && space > 0)
        return begin + space;
    size_t end = begin + PART_BYTES;
    while (end > begin + PART_BYTES - 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        end--;
    return end;
}

/* The offsets are the library's: a token includes the white space before it. */
static int spm_encode(const void *model, struct bytes bytes, struct arena *arena,
                      struct token_list *out, struct error *err) {
    return guarded("SentencePiece", ERROR_INPUT, err, [&] {
        const std::string_view text(bytes.start, bytes.length);
        std::vector<Found> found;
        std::string strings; /* they lie end to end in one allocation */
        for (size_t begin = 0, end; begin < text.size(); begin = end) {
            end = part_end(text, begin);
            Pieces pieces; /* the library's take ten times as much memory */
            const auto status = model_of(model).processor.Encode(text.substr(begin, end - begin),
                                                                 pieces.mutable_proto());
            if (!status.ok())
                return error_set(err, ERROR_INPUT, "SentencePiece: %s", status.error_message());
            for (const auto &piece : pieces.pieces()) {
                found.push_back({static_cast<int>(piece.id()), strings.size(),
                                 begin + piece.begin(), begin + piece.end()});
                strings.append(piece.piece().c_str()).push_back('\0');
            }
        }

        auto made =
            static_cast<struct token *>(arena_alloc(arena, found.size(), sizeof(struct token)));
        const char *string = arena_copy(arena, strings.data(), strings.size());
        if (!made || !string)
            return error_memory(err);
        *out = {made, found.size(), false};
        for (const Found &piece : found)
            *made++ = {piece.id, string + piece.string, piece.begin, piece.end};
        return 0;
    });
}

/* ---- tokens to text ---- */

/* Returns the piece with a space for the mark of a word's beginning, because the library prints an
 * unknown piece as it stands. */
static std::string printed(const char *piece, bool first) {
    static const std::string MARK = "\u2581";
    const std::string text(piece);
    return text.compare(0, MARK.size(), MARK) == 0 ? (first ? "" : " ") + text.substr(MARK.size())
                                                   : text;
}

static int spm_decode(const void *model, struct token *tokens, size_t count, struct arena *arena,
                      char **text, struct error *err) {
    return guarded("SentencePiece", ERROR_INPUT, err, [&] {
        const Processor &processor = model_of(model).processor;
        std::vector<std::string> strings;
        for (size_t i = 0; i < count; i++)
            strings.push_back(tokens[i].piece ? printed(tokens[i].piece, i == 0)
                                              : processor.IdToPiece(tokens[i].id));
        Pieces pieces;
        const auto status = processor.Decode(strings, pieces.mutable_proto());
        if (!status.ok())
            return error_set(err, ERROR_INPUT, "SentencePiece: %s", status.error_message());
        char *joined = arena_copy(arena, pieces.text().data(), pieces.text().size());
        if (!joined)
            return error_memory(err);
        for (size_t i = 0; i < count; i++) {
            tokens[i].begin = pieces.pieces(static_cast<int>(i)).begin();
            tokens[i].end = pieces.pieces(static_cast<int>(i)).end();
        }
        *text = joined;
        return 0;
    });
}

const struct tokenizer_kind tokenizer_sentencepiece = {
    "\u2581", spm_open, spm_free, spm_piece, spm_is_text, spm_find, spm_encode, spm_decode};
