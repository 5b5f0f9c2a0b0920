#include "model/given.h"
#include "model/model.h"

#include <string.h>

/* ---- text to tokens ---- */

/* Makes text what the translation begins with. what: "target" or "prefix". */
static int give(struct sentence *sentence, const char *what, const char *text, size_t length, struct error *err) {
    struct token *tokens;
    size_t count;
    bool lowered; /* only where the translation will be in capitals again */
    if (tokenizer_encode(sentence->translator->target, text, length, sentence->lowered ? &lowered : NULL, &sentence->arena, &tokens,
                         &count, err) != 0)
        return -1;
    if (count > TRANSLATOR_MAX_TARGET)
        return error_set(err, ERROR_LENGTH, "the %s has %zu tokens, more than %d", what, count, (int)TRANSLATOR_MAX_TARGET);
    int *ids = arena_alloc(&sentence->arena, count, sizeof *ids);
    const char *copy = arena_copy(&sentence->arena, text, length);
    if (arena_failed(&sentence->arena))
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        ids[i] = sentence->copies ? copies_id(sentence->copies, &tokens[i]) : tokens[i].id;
        if (!output_writes(&sentence->translator->output) && !copies_have(sentence->copies, ids[i]))
            return error_set(err, ERROR_INPUT, "the model can only copy words, and the text has no %s", tokens[i].piece);
    }
    sentence->given = copy;
    sentence->given_tokens = tokens;
    sentence->options.prefix = ids;
    sentence->options.prefix_length = count;
    return 0;
}

int translator_force(struct sentence *sentence, const char *target, size_t length, struct error *err) {
    if (give(sentence, "target", target, length, err) != 0)
        return -1;
    sentence->options.strategy = &search_forced;
    sentence->options.n_best = 1;
    return 0;
}

int translator_begin_with(struct sentence *sentence, const char *prefix, size_t length, struct error *err) {
    struct search_options *options = &sentence->options;
    if (give(sentence, "prefix", prefix, length, err) != 0)
        return -1;
    if (sentence->usual_length && options->max_length <= options->prefix_length)
        options->max_length = options->prefix_length + 1;
    return options->prefix_length <= options->max_length
               ? 0
               : error_set(err, ERROR_INPUT, "the prefix has %zu tokens, max_length is %zu", options->prefix_length,
                           options->max_length);
}

/* ---- attention ---- */

/* Once, for all steps there may be. */
static int given_make_room(struct sentence *sentence, struct error *err) {
    if (!sentence->forced_attention)
        sentence->forced_attention = arena_alloc(&sentence->arena, TRANSLATOR_MAX_TARGET + 1, sizeof *sentence->forced_attention);
    return sentence->forced_attention ? 0 : error_memory(err);
}

int translator_attend(struct sentence *sentence, size_t step, const double *weights, size_t count, struct error *err) {
    if (count != sentence->length)
        return error_set(err, ERROR_INPUT, "step %zu has %zu weights; the text has %zu source tokens", step, count,
                         sentence->length);
    float *own = arena_alloc(&sentence->arena, count, sizeof *own);
    double sum = 0;
    if (!own || given_make_room(sentence, err) != 0)
        return error_memory(err);
    for (size_t j = 0; j < count; j++)
        sum += weights[j];
    for (size_t j = 0; j < count; j++)
        own[j] = (float)(weights[j] / sum);
    sentence->forced_attention[sentence->forced_count++] = (struct forced_attention){step, own};
    return 0;
}

/* ---- tokens to text ---- */

static bool ends_in_space(const char *text) {
    size_t length = strlen(text);
    return length > 0 && strchr(" \t\n\r", text[length - 1]);
}

/* Where the text of the tokens behind the given ones begins: white space does not come twice. */
static size_t rest_of(const char *given, const struct rendering *all, size_t count) {
    size_t rest = count > 0 ? all->tokens[count - 1].end : 0;
    while (ends_in_space(given) && all->text[rest] == ' ')
        rest++;
    return rest;
}

int given_render(const struct sentence *sentence, size_t length, struct arena *arena, struct rendering *out, struct error *err) {
    size_t count = length < sentence->options.prefix_length ? length : sentence->options.prefix_length;
    size_t given = strlen(sentence->given), rest = rest_of(sentence->given, out, count), left = strlen(out->text + rest);
    char *text = arena_alloc(arena, given + left + 1, 1);
    if (!text)
        return error_memory(err);
    memcpy(text, sentence->given, given);
    memcpy(text + given, out->text + rest, left + 1);
    if (count > 0)
        memcpy(out->tokens, sentence->given_tokens, count * sizeof *out->tokens);
    for (size_t i = count; i < length; i++) {
        struct token *token = &out->tokens[i];
        token->begin = token->begin < rest ? given : token->begin - rest + given;
        token->end = token->end < rest ? given : token->end - rest + given;
    }
    out->text = text;
    return 0;
}
