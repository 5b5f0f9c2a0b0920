#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* arena_mark is a struct and a function: C keeps their names apart */
extern "C" {
#include "sentencepiece.h"
#include "spm_file.h"
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

/* Runs a call into the library; whatever it throws becomes an error. */
template <typename Call> static int guarded(struct error *err, Call call) noexcept {
    try {
        return call();
    } catch (const std::bad_alloc &) {
        return error_memory(err);
    } catch (const std::exception &exception) {
        return error_set(err, ERROR_INPUT, "SentencePiece: %s", exception.what());
    } catch (...) {
        return error_set(err, ERROR_INPUT, "SentencePiece: unknown exception");
    }
}

static const Processor *processor(const void *model) {
    return static_cast<const Processor *>(model);
}

/* Scores that are no numbers break the search for the best pieces; a NUL within a piece breaks our strings. */
static bool pieces_usable(const Processor &model) {
    for (int id = 0; id < model.GetPieceSize(); id++)
        if (!std::isfinite(model.GetScore(id)) || model.IdToPiece(id).find('\0') != std::string::npos)
            return false;
    return true;
}

static int load(const char *path, void **model, struct error *err) {
    char *bytes;
    size_t size;
    if (spm_file_read(path, &bytes, &size, err) != 0)
        return -1;
    std::unique_ptr<char, void (*)(void *)> owner(bytes, std::free);
    auto loaded = std::make_unique<Processor>();
    if (!loaded->LoadFromSerializedProto(std::string_view(bytes, size)).ok() || !pieces_usable(*loaded))
        return error_set(err, ERROR_FORMAT, "%s: not a usable SentencePiece model", path);
    *model = loaded.release();
    return 0;
}

void *sentencepiece_open(const char *path, struct error *err) {
    void *model = nullptr;
    sentencepiece::logging::SetMinLogLevel(LOG_FATAL_ONLY);
    guarded(err, [&] { return load(path, &model, err); });
    return model;
}

void sentencepiece_free(void *model) {
    delete static_cast<Processor *>(model);
}

size_t sentencepiece_size(const void *model) {
    return static_cast<size_t>(processor(model)->GetPieceSize());
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
    return processor(model)->IdToPiece(id).c_str();
}

/* The library's pieces as tokens in the arena, the strings end to end in one allocation. */
static struct token *copy_tokens(const Pieces &pieces, struct arena *arena) {
    size_t count = pieces.pieces_size(), bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += pieces.pieces(static_cast<int>(i)).piece().size() + 1;
    auto tokens = static_cast<struct token *>(arena_alloc(arena, count, sizeof(struct token)));
    auto strings = static_cast<char *>(arena_alloc(arena, bytes, 1));
    if (!tokens || !strings)
        return nullptr;
    for (size_t i = 0; i < count; i++) {
        const auto piece = pieces.pieces(static_cast<int>(i));
        const size_t size = piece.piece().size() + 1;
        std::memcpy(strings, piece.piece().c_str(), size);
        tokens[i] = {static_cast<int>(piece.id()), strings, piece.begin(), piece.end()};
        strings += size;
    }
    return tokens;
}

int sentencepiece_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens,
                         size_t *count, struct error *err) {
    return guarded(err, [&] {
        Pieces pieces;
        const auto status = processor(model)->Encode(std::string_view(text, length), pieces.mutable_proto());
        if (!status.ok())
            return error_set(err, ERROR_INPUT, "SentencePiece: %s", status.error_message());
        struct token *copied = copy_tokens(pieces, arena);
        if (!copied)
            return error_memory(err);
        *tokens = copied;
        *count = pieces.pieces_size();
        return 0;
    });
}

int sentencepiece_decode(const void *model, const int *ids, size_t count, struct arena *arena, char **text, struct token **tokens,
                         struct error *err) {
    return guarded(err, [&] {
        Pieces pieces;
        const auto status = processor(model)->Decode(std::vector<int>(ids, ids + count), pieces.mutable_proto());
        if (!status.ok())
            return error_set(err, ERROR_INPUT, "SentencePiece: %s", status.error_message());
        struct token *copied = copy_tokens(pieces, arena);
        char *joined = arena_copy(arena, pieces.text().data(), pieces.text().size());
        if (!copied || !joined)
            return error_memory(err);
        *text = joined;
        *tokens = copied;
        return 0;
    });
}
