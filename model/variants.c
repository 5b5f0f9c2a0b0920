#include "model/variants.h"
#include "model/model.h"
#include <string.h>

int translator_choose_variant(struct sentence *sentence, const char *variant, struct error *err) {
    const struct translator *t = sentence->translator;
    size_t i = 0;
    while (i < t->variants.count && strcmp(t->variants.names[i], variant) != 0)
        i++;
    if (i == t->variants.count)
        return error_set(err, ERROR_INPUT, "model \"%.60s\" has no variant \"%.60s\"", t->config.name, variant);
    struct token *tokens = arena_alloc(&sentence->arena, sentence->length + 1, sizeof *tokens);
    if (!tokens)
        return error_memory(err);
    tokens[0] = (struct token){.id = t->variants.ids[i], .piece = tokenizer_piece(t->source, t->variants.ids[i])};
    memcpy(tokens + 1, sentence->tokens, sentence->length * sizeof *tokens);
    sentence->tokens = tokens;
    sentence->length++;
    sentence->labelled = true;
    sentence_limit(sentence);
    return 0;
}
