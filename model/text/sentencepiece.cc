#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* arena_mark is a struct and a function: C keeps their names apart */
extern "C" {
#include "model/text/sentencepiece.h"
#include "model/base/reserve.h"
#include "model/text/spm_file.h"
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

/* Exported by the library, but in none of its installed headers. */
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

using Pieces = sentencepiece::ImmutableSentencePieceText;
using Processor = sentencepiece::SentencePieceProcessor;

static const int LOG_FATAL_ONLY = 3;

/* The library joins neighbouring unknown characters in time that grows with the square of their number: long texts go in parts. */
static const size_t PART_BYTES = 4096;

/* What C++ calls when an allocation has failed, before it tries again. */
static void release_reserve() {
    if (!reserve_release())
        throw std::bad_alloc();
}

/* Runs a call into the library; whatever it throws becomes an error about the subject. */
template <typename Call> static int guarded(const char *subject, enum error_code code, struct error *err, Call call) noexcept {
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

/* pieces: of each id, the processor's; it makes a status for each answer, which all ids together are too many for. */
struct Model {
    Processor processor;
    std::vector<const char *> pieces;
};

static const Model *model_of(const void *model) {
    return static_cast<const Model *>(model);
}

static const Processor *processor(const void *model) {
    return &model_of(model)->processor;
}

/* Scores that are no numbers break the search for the best pieces; a NUL within a piece breaks our strings. */
static bool take_pieces(Model &model) {
    const int size = model.processor.GetPieceSize();
    model.pieces.reserve(static_cast<size_t>(size));
    for (int id = 0; id < size; id++) {
        const std::string &piece = model.processor.IdToPiece(id);
        if (!std::isfinite(model.processor.GetScore(id)) || piece.find('\0') != std::string::npos)
            return false;
        model.pieces.push_back(piece.c_str());
    }
    return true;
}

static int processor_load(const char *path, void **model, struct error *err) {
    char *bytes;
    size_t size;
    if (spm_file_read(path, &bytes, &size, err) != 0)
        return -1;
    std::unique_ptr<char, void (*)(void *)> owner(bytes, std::free);
    auto loaded = std::make_unique<Model>();
    if (!loaded->processor.LoadFromSerializedProto(std::string_view(bytes, size)).ok() || !take_pieces(*loaded))
        return error_set(err, ERROR_FORMAT, "%s: not a usable SentencePiece model", path);
    *model = loaded.release();
    return 0;
}

void *sentencepiece_open(const char *path, const struct tokenizer_options *, struct error *err) {
    void *model = nullptr;
    sentencepiece::logging::SetMinLogLevel(LOG_FATAL_ONLY);
    std::set_new_handler(release_reserve);
    guarded(path, ERROR_FORMAT, err, [&] { return processor_load(path, &model, err); });
    return model;
}

void sentencepiece_free(void *model) {
    delete static_cast<Model *>(model);
}

size_t sentencepiece_size(const void *model) {
    return model_of(model)->pieces.size();
}

int sentencepiece_unknown(const void *model) {
    return processor(model)->unk_id();
}

int sentencepiece_begin(const void *model) {
    return processor(model)->bos_id();
}

int sentencepiece_end(const void *model) {
    return processor(model)->eos_id();
}

const char *sentencepiece_piece(const void *model, int id) {
    return model_of(model)->pieces[static_cast<size_t>(id)];
}

int sentencepiece_find(const void *model, const char *piece) {
    const int id = processor(model)->PieceToId(piece); /* that of <unk> where there is none */
    return processor(model)->IsUnknown(id) || processor(model)->IsControl(id) ? -1 : id;
}

/* What the library made of the bytes of a text that begin at offset. */
struct Part {
    size_t offset;
    Pieces pieces;
};

static size_t piece_count(const std::vector<Part> &parts) {
    size_t count = 0;
    for (const Part &part : parts)
        count += part.pieces.pieces_size();
    return count;
}

/* All pieces as tokens in the arena, their strings end to end in one allocation. */
static struct token *copy_tokens(const std::vector<Part> &parts, struct arena *arena) {
    std::string strings;
    for (const Part &part : parts)
        for (const auto &piece : part.pieces.pieces())
            strings.append(piece.piece().c_str()).push_back('\0');
    auto tokens = static_cast<struct token *>(arena_alloc(arena, piece_count(parts), sizeof(struct token)));
    const char *string = arena_copy(arena, strings.data(), strings.size());
    if (!tokens || !string)
        return nullptr;
    struct token *token = tokens;
    for (const Part &part : parts)
        for (const auto &piece : part.pieces.pieces()) {
            *token++ = {static_cast<int>(piece.id()), string, part.offset + piece.begin(), part.offset + piece.end()};
            string += std::strlen(string) + 1;
        }
    return tokens;
}

/* Where the part that begins at begin ends: before white space, where words of a text do not notice, else between characters. */
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

static int processor_encode(const Processor &model, std::string_view text, std::vector<Part> &parts, struct error *err) {
    for (size_t begin = 0, end; begin < text.size(); begin = end) {
        end = part_end(text, begin);
        parts.push_back({begin, Pieces()});
        const auto status = model.Encode(text.substr(begin, end - begin), parts.back().pieces.mutable_proto());
        if (!status.ok())
            return error_set(err, ERROR_INPUT, "SentencePiece: %s", status.error_message());
    }
    return 0;
}

int sentencepiece_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens,
                         size_t *count, struct error *err) {
    return guarded("SentencePiece", ERROR_INPUT, err, [&] {
        std::vector<Part> parts;
        if (processor_encode(*processor(model), std::string_view(text, length), parts, err) != 0)
            return -1;
        struct token *copied = copy_tokens(parts, arena);
        if (!copied)
            return error_memory(err);
        *tokens = copied;
        *count = piece_count(parts);
        return 0;
    });
}

/* The library prints a piece that it does not know as it stands; the mark of a word's beginning is a space all the same. */
static std::string printed(const char *piece, bool first) {
    static const std::string MARK = "\u2581";
    const std::string text(piece);
    return text.compare(0, MARK.size(), MARK) == 0 ? (first ? "" : " ") + text.substr(MARK.size()) : text;
}

int sentencepiece_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text,
                         struct error *err) {
    return guarded("SentencePiece", ERROR_INPUT, err, [&] {
        std::vector<std::string> strings;
        for (size_t i = 0; i < count; i++)
            strings.push_back(tokens[i].piece ? printed(tokens[i].piece, i == 0) : processor(model)->IdToPiece(tokens[i].id));
        Pieces pieces;
        const auto status = processor(model)->Decode(strings, pieces.mutable_proto());
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
