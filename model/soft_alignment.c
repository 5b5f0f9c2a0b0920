#include "model/soft_alignment.h"
#include "model/model.h"
#include "model/network/output.h"

#include <stdint.h>
#include <string.h>

int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch, struct error *err) {
    const struct translator *t = sentence->translator;
    size_t length = sentence->length, size = t->encoder.embedding_size;
    if (sentence_top(sentence) == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    float *embeddings = arena_alloc(scratch, length * size, sizeof *embeddings);
    float *keys = arena_alloc(&sentence->decoding, length * t->alignment.key.out, sizeof *keys);
    int status = embeddings && keys ? 0 : error_memory(err);
    for (size_t j = 0; j < length && status == 0; j++)
        weights_row(&t->encoder.embedding, (size_t)sentence->tokens[j].id, embeddings + j * size);
    struct alignment_inputs inputs = {{annotations, t->encoder.annotation}, {embeddings, size}, t->encoder.annotation, length};
    if (status == 0)
        status = alignment_keys(&t->alignment, &inputs, scratch, keys, err);
    sentence->alignment_keys = keys;
    arena_release(scratch, mark);
    return status;
}

/* ---- what no model wrote ---- */

/* The phrase that is one token of its own, such as a placeholder; NULL: the model has it. */
static const struct phrase *phrase_of(const struct sentence *sentence, int token) {
    const struct phrases *phrases = &sentence->options.phrases;
    if (!sentence->copies || !copies_token(sentence->copies, token))
        return NULL;
    for (size_t q = 0; q < phrases->count; q++)
        if (phrases->list[q].tokens[0] == token)
            return &phrases->list[q];
    return NULL;
}

/* The head read <unk> there; what the phrase stands for is known. */
static void set_phrase(const struct phrase *phrase, float *row, size_t length) {
    memset(row, 0, length * sizeof *row);
    for (size_t j = phrase->first; j < phrase->first + phrase->count; j++)
        row[j] = 1 / (float)phrase->count;
}

/* ---- rows ---- */

/* What the step left for later, which is the sentence's own. */
static float *left_by(const struct sentence *sentence, const float *attention) {
    float *added;
    memcpy(&added, attention + sentence->length + sentence->options.keep - sizeof(uintptr_t) / sizeof(float), sizeof added);
    return added + sentence->translator->decoder.shape.past;
}

void soft_alignment_keep(const struct sentence *sentence, float *attention, const float *top) {
    size_t size = sentence_top(sentence), own = sentence_top_inline(sentence);
    float *end = attention + sentence->length + sentence->options.keep;
    if (size > 0)
        memcpy(own > 0 ? end - own : left_by(sentence, attention), top, size * sizeof *top);
}

static const float *kept_top(const struct sentence *sentence, const float *attention) {
    size_t own = sentence_top_inline(sentence);
    return own > 0 ? attention + sentence->length + sentence->options.keep - own : left_by(sentence, attention);
}

/* Tokens [n] that were decided, and the rows of the steps that decided them. */
struct decided {
    const int *tokens;
    const float *const *attention;
    size_t count;
};

/* rows [n, T]. */
static int find_rows(const struct sentence *sentence, const struct decided *decided, struct arena *scratch, float *rows,
                     struct error *err) {
    const struct translator *t = sentence->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t count = decided->count, length = sentence->length;
    struct arena_mark mark = arena_mark(scratch);
    float *embeddings = arena_alloc(scratch, count * shape->input, sizeof *embeddings);
    float *tops = arena_alloc(scratch, count * shape->top, sizeof *tops);
    int status = embeddings && tops ? 0 : error_memory(err);
    for (size_t i = 0; i < count && status == 0; i++) {
        int token = decided->tokens[i];
        decoder_embed(&t->decoder, sentence->copies ? copies_input(sentence->copies, token) : token, embeddings + i * shape->input);
        memcpy(tops + i * shape->top, kept_top(sentence, decided->attention[i]), shape->top * sizeof *tops);
    }
    struct alignment_inputs inputs = {{embeddings, shape->input}, {tops, shape->top}, shape->input, count};
    if (status == 0)
        status = alignment_run(&t->alignment, &inputs, sentence->alignment_keys, length, scratch, rows, err);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct phrase *phrase = phrase_of(sentence, decided->tokens[i]);
        if (phrase && phrase->count > 0)
            set_phrase(phrase, rows + i * length, length);
    }
    arena_release(scratch, mark);
    return status;
}

/* A hypothesis does not tell the id of its </s>. */
static const int *tokens_with_end(const struct sentence *sentence, const struct hypothesis *h, struct arena *scratch) {
    int *tokens = arena_alloc(scratch, h->length + 1, sizeof *tokens);
    if (!tokens)
        return NULL;
    if (h->length > 0)
        memcpy(tokens, h->tokens, h->length * sizeof *tokens);
    tokens[h->length] = tokenizer_end(sentence->translator->target);
    return tokens;
}

/* How many rows the first of both need not have again: of tokens that the same steps decided. Up to there they are one path through
 * the search's tree. */
static size_t common_rows(const struct hypothesis *earlier, const struct hypothesis *h) {
    size_t count = 0;
    while (count < earlier->length && count < h->length && earlier->attention[count] == h->attention[count] &&
           earlier->tokens[count] == h->tokens[count])
        count++;
    return count;
}

/* The one of the first [i] that begins most like hypothesis i; NULL: none begins so. *common rows are its own. */
static const struct hypothesis *closest(const struct sentence *sentence, size_t i, size_t *common) {
    const struct hypothesis *found = NULL;
    *common = 0;
    for (size_t k = 0; k < i; k++) {
        size_t count = common_rows(&sentence->hypotheses[k], &sentence->hypotheses[i]);
        if (count > *common) {
            found = &sentence->hypotheses[k];
            *common = count;
        }
    }
    return found;
}

static int align_hypothesis(struct sentence *sentence, size_t i, struct arena *scratch, struct error *err) {
    struct hypothesis *h = &sentence->hypotheses[i];
    size_t common, length = sentence->length;
    const struct hypothesis *earlier = closest(sentence, i, &common);
    size_t own = h->length + h->ended - common;
    struct arena_mark mark = arena_mark(scratch);
    const int *tokens = tokens_with_end(sentence, h, scratch);
    float *rows = arena_alloc(&sentence->arena, own * length, sizeof *rows);
    const float **alignment = arena_alloc(&sentence->arena, common + own, sizeof *alignment);
    int status = tokens && rows && alignment ? 0 : error_memory(err);
    if (status == 0)
        status = find_rows(sentence, &(struct decided){tokens + common, h->attention + common, own}, scratch, rows, err);
    for (size_t j = 0; j < common + own && status == 0; j++)
        alignment[j] = j < common ? earlier->alignment[j] : rows + (j - common) * length;
    if (status == 0)
        h->alignment = alignment;
    arena_release(scratch, mark);
    return status;
}

int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    if (sentence_top(sentence) == 0)
        return 0;
    for (size_t i = 0; i < sentence->count; i++)
        if (align_hypothesis(sentence, i, scratch, err) != 0)
            return -1;
    return 0;
}

const float *soft_alignment_row(const struct sentence *sentence, int token, const float *attention, struct arena *arena,
                                struct error *err) {
    if (sentence_top(sentence) == 0)
        return attention;
    float *row = arena_alloc(arena, sentence->length, sizeof *row);
    if (!row) {
        error_memory(err);
        return NULL;
    }
    return find_rows(sentence, &(struct decided){&token, &attention, 1}, arena, row, err) == 0 ? row : NULL;
}
