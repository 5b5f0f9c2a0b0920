/* This module hides how tokens and their weights become text, words and links. */
#include "server/decode/render.h"
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- text ---- */

struct span render_gap(const struct text *text, size_t i) {
    return (struct span){.begin = i == 0 ? 0 : text->sentences[i - 1].source.end,
                         .end = i == text->count ? text->source_length : text->sentences[i].source.begin};
}

static size_t append_gap(char *out, size_t at, const struct text *text, size_t i) {
    struct span span = render_gap(text, i);
    memcpy(out + at, text->source + span.begin, span.end - span.begin);
    return at + span.end - span.begin;
}

int render_text(const struct text *text, struct arena *arena, struct rendered *out, struct error *err) {
    struct rendered made = {.sentences = arena_zalloc(arena, text->count, sizeof *made.sentences),
                            .begins = arena_zalloc(arena, text->count, sizeof *made.begins)};
    if (arena_failed(arena))
        return error_memory(err);
    size_t most = text->source_length; /* the gaps together are no longer than the source */
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = &text->sentences[i];
        assert(sentence->hypotheses);
        if (translator_render(sentence, &sentence->hypotheses[0], arena, &made.sentences[i], err) != 0)
            return -1;
        most += strlen(made.sentences[i].text);
    }
    made.text = arena_alloc(arena, most + 1, 1);
    if (!made.text)
        return error_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < text->count; i++) {
        size_t length = strlen(made.sentences[i].text);
        at = append_gap(made.text, at, text, i);
        made.begins[i] = at;
        memcpy(made.text + at, made.sentences[i].text, length);
        at += length;
    }
    at = append_gap(made.text, at, text, text->count);
    made.text[at] = '\0';
    made.length = at;
    *out = made;
    return 0;
}

/* ---- words ---- */

/* A run of more words than RUN_WORDS within one token, with no white space between them, is one word: an address of thousands of
 * slashes is kept as it is and aligns with itself. If a side still has more than MOST_WORDS, all words of a token are one: the
 * weights between words take memory for their product, and the number of tokens is bounded. */
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
static int keep_runs(const struct tokenized *from, struct arena *arena, struct word_side *side, struct error *err) {
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

/* Joins the words of each token that has many. runs: only those with no white space between them. */
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
        words_of_tokens(from->text, from->tokens, from->count, side->words, kept, side->tokens);
    side->count = kept;
}

static int find_side(const struct translator *translator, enum word_kind kind, const struct tokenized *from, struct arena *arena,
                     struct word_side *side, struct error *err) {
    if (translator_words(translator, kind, from->text, from->length, arena, &side->words, &side->count, err) != 0 ||
        keep_runs(from, arena, side, err) != 0)
        return -1;
    side->tokens = arena_alloc(arena, from->count, sizeof *side->tokens);
    if (!side->tokens)
        return error_memory(err);
    side->token_count = from->count;
    words_of_tokens(from->text, from->tokens, from->count, side->words, side->count, side->tokens);
    join_words(from, true, side);
    if (side->count > MOST_WORDS)
        join_words(from, false, side);
    return 0;
}

int render_words(const struct sentence *sentence, enum word_kind kind, const struct hypothesis *hypothesis,
                 const struct rendering *rendering, struct arena *arena, struct word_sides *out, struct error *err) {
    struct glossary_runs runs = {NULL, NULL, 0};
    if (kind == WORDS_UNICODE && glossary_runs_find(sentence, hypothesis, rendering->tokens, arena, &runs, err) != 0)
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
    if (sentence->labelled)
        out->source.tokens[0] = (struct word_range){0, 0}; /* the label is part of no word */
    return find_side(sentence->translator, kind, &target, arena, &out->target, err);
}

/* Adds the row of a piece to that of one of its words, target. Of a source piece with several words each gets its share; if the
 * target piece has as many words, each gets its own: the words of a placeholder stay what they are. */
static void add_row(const struct word_sides *sides, const float *from, struct word_range piece, size_t target, float *row,
                    float *end) {
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

int render_merge(const struct word_sides *sides, const float *const *rows, struct arena *arena, struct word_matrix *out,
                 struct error *err) {
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
    *out = (struct word_matrix){.source_count = sources, .target_count = target->count, .weights = weights, .ends = ends};
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

/* ---- links ---- */

enum { BALANCING_ROUNDS = 5 };
static const double TENSION = 4; /* of the pull to the diagonal, as in fast_align (Dyer et al. 2013) */
static const float LEAST_WEIGHT = 1e-6f;

/* The least weights of links of "several". They were chosen on half of the pairs of four gold alignments and measured on the others
 * (weights/EXPERIMENTS.md). */
static const float LEAST_OF_TARGET = 0.5f, LEAST_OF_SOURCE = 0.2f, LEAST_OF_MERGED = 0.3f;

struct links_kind {
    const char *name;
    bool mutual, balanced, several;
};

const struct links_kind *links_kind_find(const char *name) {
    static const struct links_kind kinds[] = {{.name = "best"},
                                              {.name = "mutual", .mutual = true},
                                              {.name = "balanced", .mutual = true, .balanced = true},
                                              {.name = "several", .several = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Adds n values, `stride` apart. */
static float sum_of(const float *weights, size_t n, size_t stride) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i * stride];
    return sum;
}

/* Scales n values, `stride` apart, to sum 1, unless their sum is 0. */
static void scale_to_one(float *weights, size_t n, size_t stride) {
    float sum = sum_of(weights, n, stride);
    for (size_t i = 0; sum > 0 && i < n; i++)
        weights[i * stride] /= sum;
}

static void scale_rows(struct word_matrix *words) {
    for (size_t i = 0; i < words->target_count; i++)
        scale_to_one(words->weights + i * words->source_count, words->source_count, 1);
}

bool links_merge(const struct links_kind *kind, struct word_matrix *words, const struct word_matrix *reverse) {
    size_t targets = words->target_count, sources = words->source_count;
    if (reverse->source_count != targets || reverse->target_count != sources)
        return false;
    if (!kind->several)
        scale_rows(words);
    words->merged = true;
    memset(words->ends, 0, targets * sizeof *words->ends);
    for (size_t j = 0; j < sources; j++) {
        const float *row = reverse->weights + j * targets;
        float sum = kind->several ? 1 : sum_of(row, targets, 1);
        for (size_t i = 0; i < targets; i++) {
            float *weight = &words->weights[i * sources + j];
            *weight = sum > 0 ? sqrtf(*weight * row[i] / sum) : 0;
        }
    }
    return true;
}

/* exp(-TENSION d), where d is the distance between the words' middles and each text is 1 long; rows sum to 1. */
static void pull_to_diagonal(struct word_matrix *words) {
    for (size_t i = 0; i < words->target_count; i++) {
        float *row = words->weights + i * words->source_count;
        double middle = ((double)i + 0.5) / (double)words->target_count, sum = 0;
        for (size_t j = 0; j < words->source_count; j++)
            sum += exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count));
        for (size_t j = 0; j < words->source_count; j++)
            row[j] *= (float)(exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count)) / sum);
    }
}

void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal) {
    if (!kind->balanced)
        return;
    scale_rows(words);
    if (diagonal)
        pull_to_diagonal(words);
    for (size_t i = 0; i < words->target_count * words->source_count; i++)
        words->weights[i] += LEAST_WEIGHT;
    for (int round = 0; round < BALANCING_ROUNDS; round++) {
        for (size_t j = 0; j < words->source_count; j++)
            scale_to_one(words->weights + j, words->target_count, words->source_count);
        scale_rows(words);
    }
}

/* Finds the target word that gives source word j the most weight; there is one. */
static size_t best_of_source(const struct word_matrix *words, size_t j) {
    size_t best = 0;
    for (size_t i = 1; i < words->target_count; i++) {
        if (words->weights[i * words->source_count + j] > words->weights[best * words->source_count + j])
            best = i;
    }
    return best;
}

int links_make(const struct links_kind *kind, const struct word_matrix *words, struct arena *arena, struct links *out,
               struct error *err) {
    size_t sources = words->source_count, targets = words->target_count;
    float least_of_target = words->merged ? LEAST_OF_MERGED : LEAST_OF_TARGET;
    float least_of_source = words->merged ? LEAST_OF_MERGED : LEAST_OF_SOURCE;
    size_t *best_target = arena_alloc(arena, sources, sizeof *best_target);
    struct links links = {.all =
                              arena_alloc(arena, sources + targets, sizeof *links.all)}; /* each word of either side has one best */
    if (!best_target || !links.all)
        return error_memory(err);
    for (size_t j = 0; targets > 0 && j < sources; j++)
        best_target[j] = best_of_source(words, j);
    for (size_t i = 0; sources > 0 && i < targets; i++) {
        const float *row = words->weights + i * sources;
        size_t best_source = 0;
        bool aligned = render_aligned(row, sources, words->ends[i], &best_source);
        for (size_t j = 0; j < sources; j++) {
            bool of_target = aligned && j == best_source, of_source = best_target[j] == i;
            if (kind->several ? (of_target && row[j] >= least_of_target) || (of_source && row[j] >= least_of_source)
                              : of_target && (of_source || !kind->mutual))
                links.all[links.count++] = (struct link){j, i};
        }
    }
    *out = links;
    return 0;
}

int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena, struct word_matrix *out,
               struct error *err) {
    bool head = translator_info(sentence->translator).alignment_head;
    if (render_merge(sides, sentence->hypotheses[0].alignment, arena, out, err) != 0)
        return -1;
    for (size_t i = 0; !head && i < out->target_count; i++)
        out->ends[i] = 0;
    return 0;
}

int links_print(const struct links_kind *kind, const struct links_direction *directions, size_t count, FILE *out,
                struct error *err) {
    struct word_matrix words[2];
    bool head = translator_info(directions[0].sentence->translator).alignment_head;
    for (size_t i = 0; i < count; i++) {
        const struct sentence *sentence = directions[i].sentence;
        const struct hypothesis *hypothesis = &sentence->hypotheses[0];
        struct arena *arena = directions[i].arena;
        struct word_sides sides;
        struct rendering rendering;
        if (translator_render(sentence, hypothesis, arena, &rendering, err) != 0 ||
            render_words(sentence, WORDS_SPACED, hypothesis, &rendering, arena, &sides, err) != 0 ||
            links_find(sentence, &sides, arena, &words[i], err) != 0)
            return -1;
    }
    if (count > 1)
        links_merge(kind, &words[0], &words[1]);
    struct links links;
    links_prepare(kind, &words[0], !head);
    if (links_make(kind, &words[0], directions[0].arena, &links, err) != 0)
        return -1;
    for (size_t i = 0; i < links.count; i++)
        fprintf(out, "%s%zu-%zu", i == 0 ? "" : " ", links.all[i].source, links.all[i].target);
    return 0;
}

/* ---- omissions ---- */

/* With a third instead of three eighths, one in twenty whole translations would be suspected, of models whose attention was not
 * guided. */
enum { LEAST_TOKENS = 8, LEAST_EIGHTHS = 3 };
static const float LEAST_COVERAGE = 0.2f;

int omission_add(const float *const *rows, size_t target, struct span source, const bool *held, struct arena *arena,
                 struct omission *sum, struct error *err) {
    struct arena_mark mark = arena_mark(arena);
    size_t count = source.end - source.begin;
    float *coverage = arena_zalloc(arena, count, sizeof *coverage);
    if (!coverage)
        return error_memory(err);
    for (size_t i = 0; i < target; i++) {
        const float *row = rows[i] + source.begin;
        float all = 0;
        for (size_t j = 0; j < count; j++)
            all += row[j];
        for (size_t j = 0; j < count && all > 0; j++)
            coverage[j] += row[j] / all;
    }
    for (size_t j = 0; j < count; j++)
        sum->left += coverage[j] < LEAST_COVERAGE && !(held && held[j]);
    sum->tokens += count;
    arena_release(arena, mark);
    return 0;
}

bool omission_is_much(const struct omission *sum) {
    return sum->tokens >= LEAST_TOKENS && 8 * sum->left > LEAST_EIGHTHS * sum->tokens;
}
