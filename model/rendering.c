#include "model/rendering.h"
#include "model/given.h"
#include "model/glossary.h"
#include "model/model.h"
#include "model/network/output.h"
#include "model/soft_alignment.h"
#include "model/text/capitals.h"

/* The source token with the most weight but for placeholders, or where it has no character the next that has one; NULL: there is
 * none. */
static const struct token *heaviest(const struct sentence *sentence, const float *weights) {
    struct span own = sentence_own(sentence);
    size_t count = sentence->search.source_length > 0 ? own.end : 0, best = own.begin;
    while (best < count && glossary_holds(sentence, best))
        best++;
    for (size_t j = best + 1; j < count; j++)
        if (weights[j] > weights[best] && !glossary_holds(sentence, j))
            best = j;
    while (best < count && (sentence->tokens[best].begin == sentence->tokens[best].end || glossary_holds(sentence, best)))
        best++;
    return best < count ? &sentence->tokens[best] : NULL;
}

/* *piece stays NULL: it is aligned with nothing. */
static int copy_aligned(const struct sentence *sentence, const float *weights, struct arena *arena, const char **piece,
                        struct error *err) {
    const struct token *token = heaviest(sentence, weights);
    if (!token)
        return 0;
    *piece = arena_copy(arena, sentence->text + sentence->source.begin + token->begin, token->end - token->begin);
    return *piece ? 0 : error_memory(err);
}

/* What the unknown token i is printed as; *piece stays NULL: nothing better than <unk>. */
static int replace_unknown(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t i, struct arena *arena,
                           const char **piece, struct error *err) {
    const struct translator *t = sentence->translator;
    const float *attention = hypothesis->attention[i],
                *weights = sentence_replaces(sentence) ? hypothesis->alignment[i] : attention;
    if (t->characters && speller_run(&t->speller, attention + sentence->search.source_length, arena, piece, err) != 0)
        return -1;
    return *piece || !sentence->replace_unknowns ? 0 : copy_aligned(sentence, weights, arena, piece, err);
}

/* Token i, with a piece if it is printed as another than its id's. The one before it stands at token - 1. */
static int rendering_show(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t i, struct arena *arena,
                          struct token *token, struct error *err) {
    token->id = hypothesis->tokens[i];
    const struct token *copied = sentence->copies ? copies_token(sentence->copies, token->id) : NULL;
    if (copied) {
        const char *previous = i == 0 ? NULL : token[-1].piece ? token[-1].piece : translator_piece(sentence, token[-1].id);
        token->piece = glossary_piece(sentence, copied, previous, arena);
        return token->piece ? 0 : error_memory(err);
    }
    bool unknown = token->id == tokenizer_unknown(sentence->translator->target);
    return unknown ? replace_unknown(sentence, hypothesis, i, arena, &token->piece, err) : 0;
}

/* A model that copies may choose <unk> or the word itself, and both are printed alike: their pieces tell such hypotheses apart. */
static void tell_unknowns(const struct sentence *sentence, struct token *tokens, size_t count) {
    const struct translator *t = sentence->translator;
    int unknown = tokenizer_unknown(t->target);
    for (size_t i = 0; output_copies(&t->output) && i < count; i++)
        if (tokens[i].id == unknown)
            tokens[i].piece = tokenizer_piece(t->target, unknown);
}

/* What was read in small letters is written in capitals; copies are what they are. */
static void raise_letters(const struct sentence *sentence, const struct token *tokens, size_t count, char *text) {
    for (size_t i = 0; i < count; i++)
        if (!sentence->copies || !copies_token(sentence->copies, tokens[i].id))
            capitals_raise(text + tokens[i].begin, tokens[i].end - tokens[i].begin);
}

int translator_render_rest(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t first, struct arena *arena,
                           struct rendering *out, struct error *err) {
    size_t count = hypothesis->length - first;
    struct token *tokens = arena_zalloc(arena, count + 1, sizeof *tokens);
    if (!tokens)
        return error_memory(err);
    tokens->id = first > 0 ? hypothesis->tokens[first - 1] : 0; /* what stands before the first */
    tokens++;
    for (size_t i = 0; i < count; i++)
        if (rendering_show(sentence, hypothesis, first + i, arena, &tokens[i], err) != 0)
            return -1;
    if (tokenizer_decode(sentence->translator->target, tokens, count, arena, &out->text, err) != 0)
        return -1;
    if (sentence->lowered)
        raise_letters(sentence, tokens, count, out->text);
    tell_unknowns(sentence, tokens, count);
    out->tokens = tokens;
    return sentence->given && first == 0 ? given_render(sentence, count, arena, out, err) : 0;
}

int translator_render(const struct sentence *sentence, const struct hypothesis *hypothesis, struct arena *arena,
                      struct rendering *out, struct error *err) {
    return translator_render_rest(sentence, hypothesis, 0, arena, out, err);
}

const char *translator_piece(const struct sentence *sentence, int token) {
    const struct token *copied = sentence->copies ? copies_token(sentence->copies, token) : NULL;
    return copied ? copied->piece : tokenizer_piece(sentence->translator->target, token);
}
