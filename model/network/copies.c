#include "model/network/copies.h"

#include <string.h>

/* The number among the temporary ids of a piece; count: it is not among them. */
static size_t find_extra(const struct token *const *extra, size_t count, const char *piece) {
    size_t i = 0;
    while (i < count && strcmp(extra[i]->piece, piece) != 0)
        i++;
    return i;
}

struct copies *copies_find(const struct copies_between *vocabularies, const struct token *tokens, size_t length,
                           struct arena *arena, struct error *err) {
    const struct tokenizer *target = vocabularies->target;
    struct copies *copies = arena_alloc(arena, 1, sizeof *copies);
    int *words = arena_alloc(arena, length, sizeof *words);
    const struct token **extra = arena_alloc(arena, length, sizeof *extra);
    if (arena_failed(arena)) {
        error_memory(err);
        return NULL;
    }
    size_t count = 0;
    for (size_t j = 0; j < length; j++) {
        bool end = tokens[j].id == tokenizer_end(vocabularies->source);
        words[j] = end ? tokenizer_end(target) : tokenizer_find(target, tokens[j].piece);
        if (words[j] >= 0)
            continue;
        size_t i = find_extra(extra, count, tokens[j].piece);
        words[j] = (int)(tokenizer_size(target) + i);
        extra[i] = i == count ? &tokens[j] : extra[i];
        count += i == count;
    }
    *copies = (struct copies){.target = target, .words = words, .length = length, .extra = extra, .count = count};
    return copies;
}

int copies_id(const struct copies *copies, const struct token *token) {
    if (token->id != tokenizer_unknown(copies->target))
        return token->id;
    size_t i = find_extra(copies->extra, copies->count, token->piece);
    return i < copies->count ? (int)(tokenizer_size(copies->target) + i) : token->id;
}

bool copies_have(const struct copies *copies, int id) {
    for (size_t j = 0; j < copies->length; j++)
        if (copies->words[j] == id)
            return true;
    return false;
}

const struct token *copies_token(const struct copies *copies, int id) {
    size_t vocabulary = tokenizer_size(copies->target);
    return (size_t)id < vocabulary ? NULL : copies->extra[(size_t)id - vocabulary];
}

int copies_input(const struct copies *copies, int id) {
    if (!copies_token(copies, id))
        return id;
    return copies->inputs ? copies->inputs[(size_t)id - tokenizer_size(copies->target)] : tokenizer_unknown(copies->target);
}
