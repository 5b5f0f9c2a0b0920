#include "model/text/tokenizer.h"
#include "model/base/table.h"
#include "model/base/utf8.h"
#include "model/text/capitals.h"
#include "model/text/character.h"
#include "model/text/masked.h"
#include "model/text/numbered.h"
#include "model/text/plain.h"
#include "model/text/preparation.h"
#include "model/text/segmenter.h"
#include "model/text/sentencepiece.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_OF_STEP = 16 };

/* To add a kind of tokenizer: these functions, and a row in the table. encode and decode may leave white space at tokens' ends. */
struct tokenizer_kind {
    const char *name;
    void *(*open)(const char *path, const struct tokenizer_options *options, struct error *err);
    void (*free)(void *model);
    size_t (*size)(const void *model);
    int (*unknown)(const void *model);
    int (*begin)(const void *model);
    int (*end)(const void *model);
    const char *(*piece)(const void *model, int id);
    int (*find)(const void *model, const char *piece);
    int (*encode)(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens, size_t *count,
                  struct error *err);
    int (*decode)(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err);
    const char *mark;
};

static const struct tokenizer_kind kinds[] = {
    {"sentencepiece", sentencepiece_open, sentencepiece_free, sentencepiece_size, sentencepiece_unknown, sentencepiece_begin,
     sentencepiece_end, sentencepiece_piece, sentencepiece_find, sentencepiece_encode, sentencepiece_decode, "\u2581"},
    {"words", plain_open_words, plain_free, plain_size, plain_unknown, plain_begin, plain_end, plain_piece, plain_find,
     plain_encode, plain_decode, ""},
    {"characters", plain_open_characters, plain_free, plain_size, plain_unknown, plain_begin, plain_end, plain_piece, plain_find,
     plain_encode, plain_decode, ""},
};

static const struct tokenizer_kind numbered = {"sentencepiece",  numbered_open,   numbered_free,   numbered_size,
                                               numbered_unknown, numbered_begin,  numbered_end,    numbered_piece,
                                               numbered_find,    numbered_encode, numbered_decode, "\u2581"};

struct tokenizer {
    const struct tokenizer_kind *kind;
    void *model;
    bool prepares; /* text, before the model reads it */
    bool lowers;   /* text in capitals */
    bool lent;     /* the model is another's */
};

/* Pieces go into JSON as they are. */
static int check_pieces(const struct tokenizer *tokenizer, const char *path, struct error *err) {
    size_t size = tokenizer_size(tokenizer);
    for (size_t id = 0; id < size; id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (!utf8_valid(piece, strlen(piece)))
            return error_set(err, ERROR_FORMAT, "%s: piece %zu is not valid UTF-8", path, id);
    }
    return 0;
}

struct tokenizer *tokenizer_open(const char *kind, const char *path, const struct tokenizer_options *options, struct error *err) {
    static const struct tokenizer_options none = {0};
    const struct tokenizer_kind *row = TABLE_FIND(kinds, "tokenizer.type", kind, err);
    if (row == NULL)
        return NULL;
    if (options == NULL)
        options = &none;
    if (options->pieces != NULL)
        row = &numbered;
    struct tokenizer *tokenizer = malloc(sizeof *tokenizer);
    if (tokenizer == NULL) {
        error_memory(err);
        return NULL;
    }
    *tokenizer = (struct tokenizer){
        .kind = row, .model = row->open(path, options, err), .prepares = options->prepared, .lowers = options->lowers};
    if (tokenizer->model == NULL || check_pieces(tokenizer, path, err) != 0) {
        tokenizer_free(tokenizer);
        return NULL;
    }
    return tokenizer;
}

struct tokenizer *tokenizer_share(const struct tokenizer *tokenizer, const struct tokenizer_options *options, struct error *err) {
    struct tokenizer *shared = malloc(sizeof *shared);
    if (shared)
        *shared = (struct tokenizer){tokenizer->kind, tokenizer->model, .prepares = options->prepared, .lowers = options->lowers,
                                     .lent = true};
    else
        error_memory(err);
    return shared;
}

void tokenizer_free(struct tokenizer *tokenizer) {
    if (tokenizer == NULL)
        return;
    if (!tokenizer->lent)
        tokenizer->kind->free(tokenizer->model);
    free(tokenizer);
}

size_t tokenizer_size(const struct tokenizer *tokenizer) {
    return tokenizer->kind->size(tokenizer->model);
}

int tokenizer_unknown(const struct tokenizer *tokenizer) {
    return tokenizer->kind->unknown(tokenizer->model);
}

int tokenizer_begin(const struct tokenizer *tokenizer) {
    return tokenizer->kind->begin(tokenizer->model);
}

int tokenizer_end(const struct tokenizer *tokenizer) {
    return tokenizer->kind->end(tokenizer->model);
}

const char *tokenizer_piece(const struct tokenizer *tokenizer, int id) {
    assert(id >= 0 && (size_t)id < tokenizer_size(tokenizer));
    return tokenizer->kind->piece(tokenizer->model, id);
}

int tokenizer_find(const struct tokenizer *tokenizer, const char *piece) {
    return tokenizer->kind->find(tokenizer->model, piece);
}

static int hexadecimal(char digit) {
    static const char digits[] = "0123456789ABCDEF";
    const char *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)(at - digits) : -1;
}

int tokenizer_byte(const struct tokenizer *tokenizer, int id) {
    const char *piece = tokenizer_piece(tokenizer, id);
    if (!*tokenizer->kind->mark || strlen(piece) != 6 || strncmp(piece, "<0x", 3) != 0 || piece[5] != '>')
        return -1;
    int high = hexadecimal(piece[3]), low = hexadecimal(piece[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/* A token keeps its visible characters; one that has none comes to stand, empty, where the next visible character begins. */
static void trim_tokens(const char *text, struct token *tokens, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct span visible = segmenter_trim(text + tokens[i].begin, tokens[i].end - tokens[i].begin);
        tokens[i].end = tokens[i].begin + visible.end;
        tokens[i].begin += visible.begin;
    }
}

const char *tokenizer_mark(const struct tokenizer *tokenizer) {
    return tokenizer->kind->mark;
}

/* *lowered: whether it is in capitals; then text is a copy of it in small letters. */
static int lower_capitals(struct prepared_text *text, struct arena *arena, bool *lowered, struct error *err) {
    *lowered = capitals_only(text->text, text->length);
    if (!*lowered)
        return 0;
    char *copy = arena_copy(arena, text->text, text->length);
    if (!copy)
        return error_memory(err);
    capitals_lower(copy, text->length);
    text->text = copy;
    return 0;
}

/* Through the text as it is prepared. kept: of struct preparation. */
static int tokenizer_encode_prepared(const struct tokenizer *tokenizer, const char *text, size_t length,
                                     const struct respelling *respelling, int32_t kept, bool *lowered, struct arena *arena,
                                     struct token **tokens, size_t *count, struct error *err) {
    struct prepared_text prepared;
    const struct preparation preparation = {tokenizer->prepares, respelling && respelling->any ? respelling : NULL, kept};
    if (preparation_make(&preparation, text, length, arena, &prepared, err) != 0)
        return -1;
    if (tokenizer->lowers && lowered && lower_capitals(&prepared, arena, lowered, err) != 0)
        return -1;
    if (tokenizer->kind->encode(tokenizer->model, prepared.text, prepared.length, arena, tokens, count, err) != 0)
        return -1;
    preparation_restore(&prepared, *tokens, *count);
    return 0;
}

/* Through a text in which what is held is hidden, if there is anything. */
static int tokenizer_encode_raw(const struct tokenizer *tokenizer, const char *text, size_t length,
                                const struct tokenizer_reading *how, bool *lowered, struct arena *arena, struct token **tokens,
                                size_t *count, struct error *err) {
    struct masked masked;
    if (how->held.count == 0)
        return tokenizer_encode_prepared(tokenizer, text, length, how->respelling, -1, lowered, arena, tokens, count, err);
    if (masked_make(text, length, &how->held, arena, &masked, err) != 0 ||
        tokenizer_encode_prepared(tokenizer, masked.text, masked.length, how->respelling, MASKED_CHARACTER, lowered, arena, tokens,
                                  count, err) != 0)
        return -1;
    return masked_restore(&masked, text, how->stand_ins, tokenizer_unknown(tokenizer), tokenizer->kind->mark, arena, tokens, count,
                          err);
}

int tokenizer_encode_around(const struct tokenizer *tokenizer, const char *text, size_t length, const struct tokenizer_reading *how,
                            bool *lowered, struct arena *arena, struct token **tokens, size_t *count, struct error *err) {
    if (length > INT_MAX)
        return error_set(err, ERROR_LENGTH, "a text of %zu bytes is too long", length);
    if (!budget_step(arena->budget, 1 + length / BYTES_OF_STEP))
        return error_memory(err);
    if (lowered)
        *lowered = false;
    if (tokenizer_encode_raw(tokenizer, text, length, how, lowered, arena, tokens, count, err) != 0)
        return -1;
    trim_tokens(text, *tokens, *count);
    return 0;
}

int tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t length, bool *lowered, struct arena *arena,
                     struct token **tokens, size_t *count, struct error *err) {
    static const struct tokenizer_reading none = {0};
    return tokenizer_encode_around(tokenizer, text, length, &none, lowered, arena, tokens, count, err);
}

int tokenizer_decode(const struct tokenizer *tokenizer, struct token *tokens, size_t count, struct arena *arena, char **text,
                     struct error *err) {
    for (size_t i = 0; i < count; i++)
        if (tokens[i].piece == NULL && (tokens[i].id < 0 || (size_t)tokens[i].id >= tokenizer_size(tokenizer)))
            return error_set(err, ERROR_INPUT, "token %d is not in the vocabulary", tokens[i].id);
    if (tokenizer->kind->decode(tokenizer->model, tokens, count, arena, text, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (tokens[i].piece == NULL)
            tokens[i].piece = tokenizer_piece(tokenizer, tokens[i].id);
    trim_tokens(*text, tokens, count);
    return 0;
}
