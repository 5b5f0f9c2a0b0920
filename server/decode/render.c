/* This module hides what the words of a sentence and of its translation are, and the weights
 * between them. */
#include "server/decode/render.h"
#include <string.h>

/* A run of more words than RUN_WORDS within one token, with no white space between them, is one
 * word: an address of thousands of slashes is kept as it is and aligns with itself. If a side still
 * has more than MOST_WORDS, all words of a token are joined: the memory for weights grows with the
 * product of both sides' words, and only the number of tokens is bounded. */
enum { RUN_WORDS = 8, MOST_WORDS = 512 };

/* A text with its tokens. runs [run_count]: opaque runs, each of which is one word. */
struct tokenized {
    const char *text;
    size_t length;
    const struct token *tokens;
    size_t count;
    const struct span *runs;
    size_t run_count;
};

/* Makes each run one word. A word that a run cuts in two becomes two words. */
static int keep_runs(const struct tokenized *from, struct arena *arena, struct word_side *side,
                     struct error *err) {
    if (from->run_count == 0)
        return 0;
    struct span *words = arena_alloc(arena, side->count + 2 * from->run_count, sizeof *words);
    if (!words)
        return error_memory(err);
    size_t count = 0, run = 0;
    for (size_t i = 0; i < side->count || run < from->run_count;) {
        const struct span *next = run < from->run_count ? &from->runs[run] : NULL;
        if (next && (i == side->count || side->words[i].end > next->begin)) {
            if (i < side->count && side->words[i].begin < next->begin)
                words[count++] = (struct span){side->words[i].begin, next->begin};
            words[count++] = *next;
            while (i < side->count && side->words[i].end <= next->end)
                i++;
            if (i < side->count && side->words[i].begin < next->end)
                side->words[i].begin = next->end;
            run++;
        } else {
            words[count++] = side->words[i++];
        }
    }
    side->words = words;
    side->count = count;
    return 0;
}

/* Joins the words of each token that has several. runs: only adjoining words, in tokens of more
 * than RUN_WORDS words. */
static void join_words(const struct tokenized *from, bool runs, struct word_side *side) {
    size_t kept = 0, word = 0;
    for (size_t i = 0; i < side->token_count; i++) {
        struct word_range range = side->tokens[i];
        bool many = range.end > range.first + (runs ? RUN_WORDS : 1);
        for (; word < range.first; word++)
            side->words[kept++] = side->words[word];
        for (bool first = true; many && word < range.end; word++, first = false) {
            bool joins = !first && (!runs || side->words[word].begin == side->words[kept - 1].end);
            if (joins)
                side->words[kept - 1].end = side->words[word].end;
            else
                side->words[kept++] = side->words[word];
        }
    }
    for (; word < side->count; word++)
        side->words[kept++] = side->words[word];
    if (kept < side->count)
        rendering_words_of_tokens(from->text, from->tokens, from->count, side->words, kept,
                                  side->tokens);
    side->count = kept;
}

static int find_side(const struct translator *translator, enum word_kind kind,
                     const struct tokenized *from, struct arena *arena, struct word_side *side,
                     struct error *err) {
    struct spans words;
    if (rendering_words(translator, kind, (struct bytes){from->text, from->length}, arena, &words,
                        err) != 0)
        return -1;
    side->words = words.all;
    side->count = words.count;
    if (keep_runs(from, arena, side, err) != 0)
        return -1;
    side->tokens = arena_alloc(arena, from->count, sizeof *side->tokens);
    if (!side->tokens)
        return error_memory(err);
    side->token_count = from->count;
    rendering_words_of_tokens(from->text, from->tokens, from->count, side->words, side->count,
                              side->tokens);
    join_words(from, true, side);
    if (side->count > MOST_WORDS)
        join_words(from, false, side);
    return 0;
}

int render_words(const struct rendered_sentence *rendered, enum word_kind kind, struct arena *arena,
                 struct word_sides *out, struct error *err) {
    const struct sentence *sentence = rendered->sentence;
    const struct hypothesis *hypothesis = rendered->hypothesis;
    const struct rendering *rendering = rendered->rendering;
    struct glossary_runs runs = {NULL, NULL, 0};
    if (kind == WORDS_UNICODE &&
        glossary_runs_find(sentence, hypothesis, rendering->tokens, arena, &runs, err) != 0)
        return -1;
    const struct tokenized source = {.text = sentence_text(sentence),
                                     .length = sentence_text_length(sentence),
                                     .tokens = sentence->tokens,
                                     .count = sentence->length,
                                     .runs = runs.source,
                                     .run_count = runs.count};
    const struct tokenized target = {.text = rendering->text,
                                     .length = strlen(rendering->text),
                                     .tokens = rendering->tokens,
                                     .count = hypothesis->length,
                                     .runs = runs.target,
                                     .run_count = runs.count};
    out->source_end = translator_info(sentence->translator).source_end;
    if (find_side(sentence->translator, kind, &source, arena, &out->source, err) != 0)
        return -1;
    for (size_t i = 0; i < sentence->reading.labels; i++) /* labels do not belong to any word */
        out->source.tokens[i] = (struct word_range){0, 0};
    return find_side(sentence->translator, kind, &target, arena, &out->target, err);
}

/* Adds the row of a target piece to that of one of its words, target. The words of a source piece
 * share its weight equally; if the target piece has as many words, the corresponding word gets all
 * of it, as a placeholder's words need. */
static void add_row(const struct word_sides *sides, const float *from, struct word_range piece,
                    size_t target, float *row, float *end) {
    const struct word_side *source = &sides->source;
    for (size_t j = 0; j < source->token_count; j++) {
        struct word_range words = source->tokens[j];
        size_t count = words.end - words.first;
        if (count > 1 && count == piece.end - piece.first)
            row[words.first + target - piece.first] += from[j];
        else
            for (size_t word = words.first; word < words.end; word++)
                row[word] += from[j] / (float)count;
    }
    *end += sides->source_end ? from[source->token_count - 1] : 0;
}

int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena,
                 struct word_matrix *out, struct error *err) {
    const struct word_side *target = &sides->target;
    size_t sources = sides->source.count;
    float *weights = arena_zalloc(arena, target->count * sources, sizeof *weights);
    float *ends = arena_zalloc(arena, target->count, sizeof *ends);
    size_t *pieces = arena_zalloc(arena, target->count, sizeof *pieces);
    if (!weights || !ends || !pieces)
        return error_memory(err);
    for (size_t i = 0; i < target->token_count; i++) {
        for (size_t word = target->tokens[i].first; word < target->tokens[i].end; word++) {
            add_row(sides, rows[i], target->tokens[i], word, weights + word * sources, &ends[word]);
            pieces[word]++;
        }
    }
    for (size_t word = 0; word < target->count; word++) {
        if (pieces[word] <= 1)
            continue;
        for (size_t j = 0; j < sources; j++)
            weights[word * sources + j] /= (float)pieces[word];
        ends[word] /= (float)pieces[word];
    }
    *out = (struct word_matrix){
        .source_count = sources, .target_count = target->count, .weights = weights, .ends = ends};
    return 0;
}

bool render_aligned(const float *row, size_t n, float end, size_t *j) {
    if (n == 0 || end >= 0.5F)
        return false;
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (row[i] > row[best])
            best = i;
    }
    *j = best;
    return row[best] > 0;
}
