#include "model/text/numbered.h"
#include "model/text/sentencepiece.h"
#include "model/text/vocabulary.h"
#include <stdlib.h>
#include <string.h>

struct numbered {
    void *cutter; /* the SentencePiece model */
    struct vocabulary list;
    int *ids; /* [list.size] each piece's id in the SentencePiece model; -1: it lacks it */
};

static int match_pieces(struct numbered *n, struct error *err) {
    n->ids = calloc(n->list.size, sizeof *n->ids);
    if (n->ids == NULL)
        return error_memory(err);
    for (size_t i = 0; i < n->list.size; i++)
        n->ids[i] = sentencepiece_find(n->cutter, n->list.pieces[i]);
    const int special[VOCABULARY_SPECIAL] = {[VOCABULARY_UNKNOWN] = sentencepiece_unknown(n->cutter),
                                             [VOCABULARY_BEGIN] = sentencepiece_begin(n->cutter),
                                             [VOCABULARY_END] = sentencepiece_end(n->cutter)};
    for (int i = 0; i < VOCABULARY_SPECIAL; i++)
        if (n->list.special[i] >= 0)
            n->ids[n->list.special[i]] = special[i];
    return 0;
}

void *numbered_open(const char *path, const struct tokenizer_options *options, struct error *err) {
    struct numbered *n = calloc(1, sizeof *n);
    if (n == NULL) {
        error_memory(err);
        return NULL;
    }
    n->cutter = sentencepiece_open(path, options, err);
    if (n->cutter == NULL || vocabulary_read(&n->list, options->pieces, err) != 0 || match_pieces(n, err) != 0) {
        numbered_free(n);
        return NULL;
    }
    return n;
}

void numbered_free(void *model) {
    struct numbered *n = model;
    if (n == NULL)
        return;
    sentencepiece_free(n->cutter);
    vocabulary_done(&n->list);
    free(n->ids);
    free(n);
}

static const struct vocabulary *list_of(const void *model) {
    return &((const struct numbered *)model)->list;
}

size_t numbered_size(const void *model) {
    return list_of(model)->size;
}

int numbered_unknown(const void *model) {
    return list_of(model)->special[VOCABULARY_UNKNOWN];
}

int numbered_begin(const void *model) {
    return list_of(model)->special[VOCABULARY_BEGIN];
}

int numbered_end(const void *model) {
    return list_of(model)->special[VOCABULARY_END];
}

const char *numbered_piece(const void *model, int id) {
    return list_of(model)->pieces[id];
}

int numbered_find(const void *model, const char *piece) {
    return vocabulary_find(list_of(model), piece);
}

int numbered_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens, size_t *count,
                    struct error *err) {
    const struct numbered *n = model;
    if (sentencepiece_encode(n->cutter, text, length, arena, tokens, count, err) != 0)
        return -1;
    for (size_t i = 0; i < *count; i++) {
        int id = vocabulary_find(&n->list, (*tokens)[i].piece);
        (*tokens)[i].id = id >= 0 ? id : numbered_unknown(model);
    }
    return 0;
}

/* As the SentencePiece model knows it: by its own id, or by what it looks like. */
static struct token translate(const struct numbered *n, const struct token *token) {
    struct token own = *token;
    if (token->piece == NULL && n->ids[token->id] >= 0)
        own.id = n->ids[token->id];
    else if (token->piece == NULL)
        own.piece = n->list.pieces[token->id];
    return own;
}

int numbered_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err) {
    const struct numbered *n = model;
    struct token *own = arena_alloc(arena, count, sizeof *own);
    if (own == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        own[i] = translate(n, &tokens[i]);
    if (sentencepiece_decode(n->cutter, own, count, arena, text, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        tokens[i].begin = own[i].begin;
        tokens[i].end = own[i].end;
    }
    return 0;
}
