#include "server/decode/render.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

struct span render_gap(const struct text *text, size_t i) {
    return (struct span){.begin = i == 0 ? 0 : text->sentences[i - 1].source.end,
                         .end = i == text->count ? text->source_length : text->sentences[i].source.begin};
}

static size_t text_append(char *out, size_t at, const char *bytes, size_t length) {
    memcpy(out + at, bytes, length);
    return at + length;
}

static size_t append_gap(char *out, size_t at, const struct text *text, size_t i) {
    struct span span = render_gap(text, i);
    return text_append(out, at, text->source + span.begin, span.end - span.begin);
}

static int text_join(const struct text *text, struct arena *arena, struct rendered *out, struct error *err) {
    size_t length = 0;
    for (size_t i = 0; i < text->count; i++)
        length += strlen(out->sentences[i].text);
    /* the gaps together are no longer than the source */
    out->text = arena_alloc(arena, length + text->source_length + 1, 1);
    if (!out->text)
        return error_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < text->count; i++) {
        at = append_gap(out->text, at, text, i);
        out->begins[i] = at;
        at = text_append(out->text, at, out->sentences[i].text, strlen(out->sentences[i].text));
    }
    at = append_gap(out->text, at, text, text->count);
    out->text[at] = '\0';
    out->length = at;
    return 0;
}

int render_text(const struct text *text, struct arena *arena, struct rendered *out, struct error *err) {
    struct rendered made = {.sentences = arena_zalloc(arena, text->count, sizeof *made.sentences),
                            .begins = arena_zalloc(arena, text->count, sizeof *made.begins)};
    if (arena_failed(arena))
        return error_memory(err);
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = &text->sentences[i];
        assert(sentence->hypotheses);
        if (translator_render(sentence, &sentence->hypotheses[0], arena, &made.sentences[i], err) != 0)
            return -1;
    }
    if (text_join(text, arena, &made, err) != 0)
        return -1;
    *out = made;
    return 0;
}

/* One side of an alignment. */
struct side {
    size_t *word_of; /* [count] SIZE_MAX: of no word */
    struct span *words;
    size_t count, word_count;
};

static int find_words(const char *text, const struct token *tokens, size_t count, struct arena *arena, struct side *side,
                      struct error *err) {
    side->count = count;
    side->word_of = arena_alloc(arena, count, sizeof *side->word_of);
    side->words = arena_alloc(arena, count, sizeof *side->words); /* no more words than tokens */
    if (arena_failed(arena))
        return error_memory(err);
    side->word_count = translator_words(text, tokens, count, side->word_of);
    for (size_t i = count; i-- > 0;) {
        if (side->word_of[i] == SIZE_MAX)
            continue;
        struct span *word = &side->words[side->word_of[i]];
        bool last = i + 1 == count || side->word_of[i + 1] != side->word_of[i];
        *word = (struct span){tokens[i].begin, last ? tokens[i].end : word->end};
    }
    /* the bytes of a piece may take in the white space before it */
    for (size_t i = 0; i < side->word_count; i++) {
        struct span trimmed = segmenter_trim(text + side->words[i].begin, side->words[i].end - side->words[i].begin);
        side->words[i] = (struct span){side->words[i].begin + trimmed.begin, side->words[i].begin + trimmed.end};
    }
    return 0;
}

static void add_row(float *weights, const struct side *source, const float *attention) {
    for (size_t j = 0; j < source->count; j++) {
        if (source->word_of[j] != SIZE_MAX)
            weights[source->word_of[j]] += attention[j];
    }
}

/* Rows of one target word follow each other. */
static void merge(const struct side *source, const struct side *target, const float *const *attention, float *weights) {
    for (size_t i = 0; i < target->count;) {
        size_t word = target->word_of[i], pieces = 0;
        if (word == SIZE_MAX) {
            i++;
            continue;
        }
        float *row = weights + word * source->word_count;
        for (; i < target->count && target->word_of[i] == word; i++, pieces++)
            add_row(row, source, attention[i]);
        for (size_t j = 0; j < source->word_count; j++)
            row[j] /= (float)pieces;
    }
}

int render_words(const struct sentence *sentence, const struct hypothesis *hypothesis, const struct rendering *rendering,
                 struct arena *arena, struct word_attention *out, struct error *err) {
    struct side source, target;
    if (find_words(sentence_text(sentence), sentence->tokens, sentence->length, arena, &source, err) != 0 ||
        find_words(rendering->text, rendering->tokens, hypothesis->length, arena, &target, err) != 0)
        return -1;
    float *weights = arena_zalloc(arena, target.word_count * source.word_count, sizeof *weights);
    if (!weights)
        return error_memory(err);
    merge(&source, &target, hypothesis->attention, weights);
    *out = (struct word_attention){source.words, target.words, source.word_count, target.word_count, weights};
    return 0;
}

size_t render_argmax(const float *values, size_t n) {
    assert(n > 0);
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (values[i] > values[best])
            best = i;
    }
    return best;
}

bool render_aligned(const struct word_attention *words, size_t i, size_t *j) {
    const float *row = words->weights + i * words->source_count;
    if (words->source_count == 0)
        return false;
    *j = render_argmax(row, words->source_count);
    return row[*j] > 0;
}
