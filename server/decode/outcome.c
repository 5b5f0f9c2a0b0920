/* This module hides how decoded sentences become parts of an answer: how tokens and weights become
 * text, words and links, whether a second model continues, how two translations are composed as if
 * one model had made both, and which results are kept. */
#include "server/decode/outcome.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

struct span render_gap(const struct text *text, size_t i) {
    return (struct span){.begin = i == 0 ? 0 : text->sentences[i - 1].source.end,
                         .end = i == text->count ? text->source_length
                                                 : text->sentences[i].source.begin};
}

static size_t append_gap(char *out, size_t at, const struct text *text, size_t i) {
    struct span span = render_gap(text, i);
    memcpy(out + at, text->source + span.begin, span.end - span.begin);
    return at + span.end - span.begin;
}

int render_text(const struct text *text, struct arena *arena, struct rendered *out,
                struct error *err) {
    struct rendered made = {.sentences = arena_zalloc(arena, text->count, sizeof *made.sentences),
                            .begins = arena_zalloc(arena, text->count, sizeof *made.begins)};
    if (arena_failed(arena))
        return error_memory(err);
    size_t most = text->source_length; /* the gaps together are no longer than the source */
    for (size_t i = 0; i < text->count; i++) {
        const struct sentence *sentence = &text->sentences[i];
        assert(sentence->hypotheses);
        if (translator_render(sentence, &sentence->hypotheses[0], arena, &made.sentences[i], err) !=
            0)
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
        words_of_tokens(from->text, from->tokens, from->count, side->words, kept, side->tokens);
    side->count = kept;
}

static int find_side(const struct translator *translator, enum word_kind kind,
                     const struct tokenized *from, struct arena *arena, struct word_side *side,
                     struct error *err) {
    if (translator_words(translator, kind, from->text, from->length, arena, &side->words,
                         &side->count, err) != 0 ||
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

int render_words(const struct sentence *sentence, enum word_kind kind,
                 const struct hypothesis *hypothesis, const struct rendering *rendering,
                 struct arena *arena, struct word_sides *out, struct error *err) {
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
    if (sentence->labelled)
        out->source.tokens[0] =
            (struct word_range){0, 0}; /* the label does not belong to any word */
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

/* ---- links ---- */

enum { BALANCING_ROUNDS = 5 };
static const double TENSION =
    4; /* strength of the pull to the diagonal, as in fast_align (Dyer et al. 2013) */
static const float LEAST_WEIGHT = 1e-6f;

/* The least weights of "several" links were chosen on half of the pairs of four gold alignments and
 * measured on the other half (weights/EXPERIMENTS.md). */
static const float LEAST_OF_TARGET = 0.5f, LEAST_OF_SOURCE = 0.2f, LEAST_OF_MERGED = 0.3f;

struct links_kind {
    const char *name;
    bool mutual, balanced, several;
};

const struct links_kind *links_kind_find(const char *name) {
    static const struct links_kind kinds[] = {
        {.name = "best"},
        {.name = "mutual", .mutual = true},
        {.name = "balanced", .mutual = true, .balanced = true},
        {.name = "several", .several = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Returns the sum of n values, `stride` apart. */
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

bool links_merge(const struct links_kind *kind, struct word_matrix *words,
                 const struct word_matrix *reverse) {
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

void links_prepare(const struct links_kind *kind, struct word_matrix *words, bool diagonal) {
    if (!kind->balanced || words->target_count * words->source_count == 0)
        return;
    scale_rows(words);
    for (size_t i = 0; diagonal && i < words->target_count; i++) {
        /* The factors exp(-TENSION d) are scaled to sum 1; d is the distance between the words'
         * middles in texts of length 1. */
        float *row = words->weights + i * words->source_count;
        double middle = ((double)i + 0.5) / (double)words->target_count, sum = 0;
        for (size_t j = 0; j < words->source_count; j++)
            sum += exp(-TENSION * fabs(middle - ((double)j + 0.5) / (double)words->source_count));
        for (size_t j = 0; j < words->source_count; j++)
            row[j] *= (float)(exp(-TENSION *
                                  fabs(middle - ((double)j + 0.5) / (double)words->source_count)) /
                              sum);
    }
    for (size_t i = 0; i < words->target_count * words->source_count; i++)
        words->weights[i] += LEAST_WEIGHT;
    for (int round = 0; round < BALANCING_ROUNDS; round++) {
        for (size_t j = 0; j < words->source_count; j++)
            scale_to_one(words->weights + j, words->target_count, words->source_count);
        scale_rows(words);
    }
}

int links_make(const struct links_kind *kind, const struct word_matrix *words, struct arena *arena,
               struct links *out, struct error *err) {
    size_t sources = words->source_count, targets = words->target_count;
    float least_of_target = words->merged ? LEAST_OF_MERGED : LEAST_OF_TARGET;
    float least_of_source = words->merged ? LEAST_OF_MERGED : LEAST_OF_SOURCE;
    size_t *best_target = arena_alloc(arena, sources, sizeof *best_target);
    struct links links = {
        .all = arena_alloc(arena, sources + targets,
                           sizeof *links.all)}; /* each word of either side has one best */
    if (!best_target || !links.all)
        return error_memory(err);
    for (size_t j = 0; targets > 0 && j < sources; j++) {
        size_t best = 0;
        for (size_t i = 1; i < targets; i++) {
            if (words->weights[i * sources + j] > words->weights[best * sources + j])
                best = i;
        }
        best_target[j] = best;
    }
    for (size_t i = 0; sources > 0 && i < targets; i++) {
        const float *row = words->weights + i * sources;
        size_t best_source = 0;
        bool aligned = render_aligned(row, sources, words->ends[i], &best_source);
        for (size_t j = 0; j < sources; j++) {
            bool of_target = aligned && j == best_source, of_source = best_target[j] == i;
            if (kind->several ? (of_target && row[j] >= least_of_target) ||
                                    (of_source && row[j] >= least_of_source)
                              : of_target && (of_source || !kind->mutual))
                links.all[links.count++] = (struct link){j, i};
        }
    }
    *out = links;
    return 0;
}

int links_find(const struct sentence *sentence, const struct word_sides *sides, struct arena *arena,
               struct word_matrix *out, struct error *err) {
    bool head = translator_info(sentence->translator).alignment_head;
    if (render_merge(sides, sentence->hypotheses[0].alignment, arena, out, err) != 0)
        return -1;
    for (size_t i = 0; !head && i < out->target_count; i++)
        out->ends[i] = 0;
    return 0;
}

int links_print(const struct links_kind *kind, const struct links_direction *directions,
                size_t count, FILE *out, struct error *err) {
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

/* Articles, auxiliaries and the words of idioms get little attention in whole translations, too,
 * but together they have few letters. weights/EXPERIMENTS.md says why these numbers. */
enum { LEAST_LETTERS = 14, MOST_GAP = 1, LETTERS_OF_WIDE = 3 };
static const float LEAST_COVERAGE = 0.1f;

void omission_letters(const struct sentence *sentence, size_t *letters) {
    struct span own = sentence_own(sentence);
    const char *text = sentence->text + sentence->source.begin;
    for (size_t j = own.begin, run = 0; j < own.end; j++) {
        const struct token *token = &sentence->tokens[j];
        while (run < sentence->held.count && sentence->held.all[run].end <= token->begin)
            run++;
        bool held = run < sentence->held.count && sentence->held.all[run].begin < token->end;
        letters[j - own.begin] = 0;
        for (size_t at = token->begin; !held && at < token->end;) {
            int32_t c = character_next(text, token->end, &at);
            letters[j - own.begin] +=
                character_is_letter(c) ? character_is_wide(c) ? LETTERS_OF_WIDE : 1 : 0;
        }
    }
}

int omission_add(const float *const *rows, size_t target, struct span source, const size_t *letters,
                 struct arena *arena, struct omission *sum, struct error *err) {
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
    size_t run = 0, tokens = 0, gap = 0;
    for (size_t j = 0; j < count; j++) {
        bool left = coverage[j] < LEAST_COVERAGE;
        gap = left ? 0 : gap + 1;
        if (gap > MOST_GAP)
            run = tokens = 0;
        if (!left || letters[j] == 0)
            continue;
        bool before = run >= LEAST_LETTERS;
        run += letters[j];
        tokens++;
        if (run >= LEAST_LETTERS)
            sum->left += before ? 1 : tokens;
    }
    sum->tokens += count;
    arena_release(arena, mark);
    return 0;
}

/* ---- the second of two decodings ---- */

bool pivot_goes_on(const struct request *request) {
    bool more = false;
    for (size_t i = 0; i < request->job_count; i++) {
        if (request->lean || !request->jobs[i].sentence->hypotheses)
            return false;
    }
    for (size_t i = 0; i < request->text_count; i++)
        more |= request->texts[i].second && !request->texts[i].pivot && request->texts[i].count > 0;
    return more;
}

/* Makes the second model's sentence in the arena, from the first model's translation or, if that is
 * blank, from the source. */
static int prepare_second(struct request *request, const struct text *text,
                          const struct sentence *first, const char *written, struct guard *guard,
                          struct glossary *glossary, struct arena *arena, struct sentence **second,
                          struct error *err) {
    const struct translator *translator = text->second_loaded->translator;
    const struct translator_text candidates[] = {
        {.text = written, .length = strlen(written), .verbatim = request->verbatim},
        {.text = sentence_text(first),
         .length = sentence_text_length(first),
         .verbatim = request->verbatim}};
    size_t count = 0;
    *second = NULL;
    for (size_t c = 0; c < 2 && count == 0; c++) {
        struct translator_text candidate = candidates[c];
        if (request_hold(request, translator, guard, &candidate, arena, err) != 0 ||
            translator_prepare_text(translator, &candidate, &request->search, arena, second, &count,
                                    err) != 0)
            return -1;
    }
    if (count == 0)
        return error_set(err, ERROR_INPUT, "a sentence has no text");
    if (text->second_variant && translator_choose_variant(*second, text->second_variant, err) != 0)
        return -1;
    return translator_constrain(*second, glossary, err);
}

int pivot_go_on(struct request *request, struct error *err) {
    struct arena *arena = &request->arena;
    struct guard guard;
    int result = guard_open(&guard, request->protection, err);
    for (size_t i = 0; result == 0 && i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        if (!text->second || text->count == 0)
            continue;
        struct pivot *pivot = arena_zalloc(arena, 1, sizeof *pivot);
        struct sentence **second = arena_zalloc(arena, text->count, sizeof(struct sentence *));
        struct rendered rendered;
        result = pivot && second ? 0 : error_memory(err);
        if (result == 0 && text->twin) {
            *pivot = *text->twin->pivot;
        } else if (result == 0 && (result = render_text(text, arena, &rendered, err)) == 0) {
            *pivot = (struct pivot){.first = text->sentences,
                                    .renderings = rendered.sentences,
                                    .text = rendered.text,
                                    .length = rendered.length,
                                    .count = text->count};
        }
        if (result != 0)
            break;
        pivot->second = second;
        text->pivot = pivot;
        for (size_t j = 0; result == 0 && j < pivot->count; j++)
            result = prepare_second(request, text, &pivot->first[j], pivot->renderings[j].text,
                                    &guard, &request->glossary, arena, &second[j], err);
    }
    guard_done(&guard);
    return result != 0 ? -1 : request_make_jobs(request, true, err);
}

/* ---- one sentence from two ---- */

/* One sentence and its translations by both models. */
struct middle {
    const struct sentence *first, *second;
    const struct hypothesis *written;  /* the first model's hypothesis */
    const struct rendering *rendering; /* its text */
    struct span read, own;             /* own tokens of the first and of the second sentence */
    bool first_end, second_end;        /* they are followed by </s> */
    size_t columns; /* length of the composed rows: the source's tokens, and </s> if the second
                       reads one */
};

static size_t shared_bytes(struct span place, const struct token *token) {
    size_t begin = place.begin > token->begin ? place.begin : token->begin,
           end = place.end < token->end ? place.end : token->end;
    return end > begin ? end - begin : 0;
}

/* Adds weight times the row of the first translation's token i, including the weight of </s> if
 * both models read one. */
static void add_written(const struct middle *middle, const float *const *rows, size_t i,
                        float weight, float *out) {
    for (size_t j = 0; j < middle->columns && j < middle->read.end; j++)
        out[j] += weight * rows[i][j];
    if (middle->first_end && middle->second_end)
        out[middle->columns - 1] += weight * rows[i][middle->read.end];
}

/* Adds weight times the rows of the tokens that share bytes with token k of the second sentence. If
 * no token does, as for a blank, the token after it is used. */
static void add_read(const struct middle *middle, const float *const *rows, size_t k, float weight,
                     float *out) {
    const struct token *token = &middle->second->tokens[k], *tokens = middle->rendering->tokens;
    size_t begin = middle->second->source.begin, all = 0, before = 0,
           length = middle->written->length;
    struct span place = {begin + token->begin, begin + token->end};
    for (size_t i = 0; i < length; i++) {
        all += shared_bytes(place, &tokens[i]);
        before += tokens[i].end <= place.begin;
    }
    for (size_t i = 0; i < length && all > 0; i++) {
        size_t part = shared_bytes(place, &tokens[i]);
        if (part > 0)
            add_written(middle, rows, i, weight * (float)part / (float)all, out);
    }
    if (all == 0 && length > 0)
        add_written(middle, rows, before < length ? before : length - 1, weight, out);
}

/* Composes rows [count] of [columns], each followed by `extra` floats copied from the second row.
 * The columns share the weight of labels, and of </s> if it has no column. Returns NULL if memory
 * is out. */
static const float *const *compose_rows(const struct middle *middle, const float *const *first,
                                        const float *const *second, size_t count, size_t extra,
                                        struct arena *arena) {
    size_t columns = middle->columns, wide = columns + extra;
    const float **rows = arena_alloc(arena, count, sizeof(const float *));
    float *weights = arena_zalloc(arena, count * wide, sizeof *weights);
    if (!rows || !weights)
        return NULL;
    for (size_t t = 0; t < count; t++) {
        const float *row = second[t];
        float *out = weights + t * wide, sum = 0;
        for (size_t k = middle->own.begin; k < middle->own.end; k++) {
            if (row[k] > 0)
                add_read(middle, first, k, row[k], out);
        }
        if (middle->second_end)
            out[columns - 1] += row[middle->own.end];
        for (size_t j = 0; j < columns; j++)
            sum += out[j];
        for (size_t j = 0; j < columns && sum > 0; j++)
            out[j] /= sum;
        memcpy(out + columns, row + middle->second->length, extra * sizeof *weights);
        rows[t] = out;
    }
    return rows;
}

/* The tokens are the source's as the second model would have read them, with </s> if it reads one.
 * out is read only, and valid only as long as the two sentences exist. */
static int compose_sentence(const struct sentence *first, const struct sentence *second,
                            const struct rendering *rendering, struct arena *arena,
                            struct sentence *out) {
    struct span read = sentence_own(first), own = sentence_own(second);
    bool first_end = read.end < first->length, second_end = own.end < second->length;
    const struct middle middle = {first,     second,     &first->hypotheses[0],
                                  rendering, read,       own,
                                  first_end, second_end, read.end + second_end};
    bool attends = first->search.source_length > 0 && second->search.source_length > 0;
    struct hypothesis *hypotheses = arena_alloc(arena, second->count, sizeof *hypotheses);
    struct token *tokens = arena_zalloc(arena, middle.columns, sizeof *tokens);
    if (!hypotheses || !tokens)
        return -1;
    memcpy(tokens, first->tokens, read.end * sizeof *tokens);
    if (second_end) {
        struct token *end = &tokens[read.end];
        *end = second->tokens[own.end];
        end->begin = end->end = sentence_text_length(first);
    }

    *out = *second;
    out->text = first->text;
    out->source = first->source;
    out->tokens = tokens;
    out->length = middle.columns;
    out->labelled = first->labelled;
    out->unknown = first->unknown;
    out->search.source_length = attends ? middle.columns : 0;
    out->hypotheses = hypotheses;
    memcpy(hypotheses, second->hypotheses, out->count * sizeof *hypotheses);
    for (size_t i = 0; attends && i < out->count; i++) {
        struct hypothesis *hypothesis = &hypotheses[i];
        size_t count = hypothesis->length + hypothesis->ended, extra = sentence_readout(second);
        hypothesis->attention = compose_rows(&middle, middle.written->attention,
                                             hypothesis->attention, count, extra, arena);
        hypothesis->alignment = compose_rows(&middle, middle.written->alignment,
                                             hypothesis->alignment, count, 0, arena);
        if (!hypothesis->attention || !hypothesis->alignment)
            return -1;
    }
    return 0;
}

int pivot_compose(struct request *request, struct error *err) {
    for (size_t i = 0; i < request->text_count; i++) {
        struct text *text = &request->texts[i];
        const struct pivot *pivot = text->pivot;
        bool decoded = pivot && text->sentences == pivot->first;
        for (size_t j = 0; decoded && j < pivot->count; j++)
            decoded = pivot->second[j] && pivot->second[j]->hypotheses;
        if (!decoded)
            continue;
        struct sentence *composed = arena_alloc(&request->arena, text->count, sizeof *composed);
        if (!composed)
            return error_memory(err);
        for (size_t j = 0; j < text->count; j++) {
            if (compose_sentence(&pivot->first[j], pivot->second[j], &pivot->renderings[j],
                                 &request->arena, &composed[j]) != 0)
                return error_memory(err);
        }
        text->sentences = composed;
    }
    return 0;
}

/* ---- judgements ---- */

enum { SCRATCH_BYTES = 16 * 1024 };

static const char **join_strings(const char **first, size_t first_count, const char **last,
                                 size_t last_count, struct arena *arena) {
    const char **all = arena_alloc(arena, first_count + last_count, sizeof *all);
    for (size_t i = 0; all && i < first_count + last_count; i++)
        all[i] = i < first_count ? first[i] : last[i - first_count];
    return all;
}

/* Puts two pairs of lists, of which either may be NULL, after each other. */
static int join_lists(const struct check_lists *first, const struct check_lists *last,
                      struct arena *arena, struct check_lists *out) {
    static const struct check_lists none;
    first = first ? first : &none;
    last = last ? last : &none;
    *out = (struct check_lists){.source_count = first->source_count + last->source_count,
                                .target_count = first->target_count + last->target_count};
    if (out->source_count + out->target_count == 0)
        return 0;
    out->source =
        join_strings(first->source, first->source_count, last->source, last->source_count, arena);
    out->target =
        join_strings(first->target, first->target_count, last->target, last->target_count, arena);
    return out->source && out->target ? 0 : -1;
}

/* If two models translate, differences between the first two languages count as well. */
static int judge_differences(const struct sentence *sentence, const struct sentence *first,
                             struct arena *arena, struct judgement *out) {
    const struct sentence_check *both[] = {first ? first->check : NULL, sentence->check};
    for (size_t check = 0; check < CHECKS; check++)
        if (join_lists(both[0] ? &both[0]->lists[check] : NULL,
                       both[1] ? &both[1]->lists[check] : NULL, arena, &out->lists[check]) != 0)
            return -1;
    return 0;
}

bool judgement_lacks(const struct text *text, size_t i) {
    const struct outcome *outcome = text->jobs ? text->jobs[i].outcome : NULL;
    const struct sentence *first = text->pivot ? &text->pivot->first[i] : NULL;
    const struct sentence_check *both[] = {first ? first->check : NULL,
                                           text->jobs ? NULL : text->sentences[i].check};
    size_t count = 0;
    for (size_t check = 0; check < CHECKS; check++) {
        count += outcome ? outcome->lists[check].source_count : 0;
        for (size_t k = 0; k < 2 && !text->jobs; k++)
            count += both[k] ? both[k]->lists[check].source_count : 0;
    }
    return count > 0;
}

/* True if the phrase begins at text[at], in capitals or small letters. */
static bool begins_phrase(const char *text, size_t length, size_t at, const char *phrase,
                          struct span span) {
    if (!lexicon_edge(text, length, at))
        return false;
    for (size_t read = span.begin; read < span.end;)
        if (at >= length || character_lower(character_next(text, length, &at)) !=
                                character_lower(character_next(phrase, span.end, &read)))
            return false;
    return lexicon_edge(text, length, at);
}

/* True if the translation has one of the phrases of an entry. */
static bool has_target(const char *text, const struct glossary_entry *entry) {
    size_t length = strlen(text);
    for (const char *phrase = entry->target, *end; phrase; phrase = *end ? end + 1 : NULL) {
        end = strchrnul(phrase, '|');
        struct span visible = segmenter_trim(phrase, (size_t)(end - phrase));
        for (size_t at = 0; at < length; character_next(text, length, &at))
            if (begins_phrase(text, length, at, phrase, visible))
                return true;
    }
    return false;
}

/* Lists the entries of the glossary that begin in the sentence and do not occur in its translation.
 * Those that go on in the next sentence are among them, because no sentence can hold them. */
static int judge_glossary(const struct request *request, const struct text *text,
                          const struct sentence *sentence, struct arena *arena,
                          struct check_lists *out) {
    enum { BEYOND = 1024 }; /* bytes of the following sentences that are read */
    const struct lexicon *lexicon = request->glossary.lexicon;
    const struct glossary_entry *entry;
    struct rendering rendering = {0};
    struct span span;
    size_t source_room = 0, target_room = 0, own = sentence_text_length(sentence),
           rest = text->source_length - sentence->source.end;
    size_t length = own + utf8_clip(text->source + sentence->source.end, rest, BEYOND);
    for (size_t at = 0;
         lexicon && at < own &&
         lexicon_next(lexicon, sentence_text(sentence), length, &at, &span, &entry);) {
        if (span.begin >= own)
            break;
        if (!rendering.text &&
            translator_render(sentence, &sentence->hypotheses[0], arena, &rendering, NULL) != 0)
            return -1;
        if (has_target(rendering.text, entry))
            continue;
        out->source =
            arena_grow(arena, out->source, out->source_count, &source_room, 1, sizeof *out->source);
        out->target =
            arena_grow(arena, out->target, out->target_count, &target_room, 1, sizeof *out->target);
        if (!out->source || !out->target)
            return -1;
        out->source[out->source_count++] = entry->source;
        out->target[out->target_count++] = entry->target;
    }
    return 0;
}

int judgement_make(const struct request *request, const struct text *text,
                   const struct sentence *sentence, const struct sentence *first,
                   struct arena *arena, struct judgement *out) {
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct span own = sentence_own(sentence);
    *out = (struct judgement){.untranslated = sentence->untranslated,
                              .unknown = sentence->unknown,
                              .tokens = own.end - own.begin};

    /* A logical form says less than its question, so only translations can leave something out.
     * Only the attention of the best hypothesis counts, even if the model has an alignment head: a
     * warning must not depend on other fields of the request. */
    const struct translator_info *reader = text->model ? &text->model->info : &request->model->info;
    const struct translator_info *writer = text->second ? &text->second->info : reader;
    if (reader->attention && reader->attention_trained && writer->attention &&
        writer->attention_trained && strcmp(writer->task, "translation") == 0) {
        size_t *letters = arena_alloc(arena, own.end - own.begin + 1, sizeof *letters);
        if (letters)
            omission_letters(sentence, letters);
        if (!letters || omission_add(best->attention, best->length, own, letters, arena,
                                     &out->omission, NULL) != 0)
            return -1;
    }
    /* a given translation and text that was returned unchanged are not the model's own output */
    if (request->warns && !sentence->given && !sentence->verbatim && !sentence->untranslated &&
        strcmp(writer->task, "translation") == 0 &&
        translator_doubts(sentence, best, arena, &out->doubt, NULL) != 0)
        return -1;
    if (judge_differences(sentence, first, arena, out) != 0)
        return -1;
    return first || sentence->given
               ? 0
               : judge_glossary(request, text, sentence, arena, &out->lists[CHECK_GLOSSARY]);
}

/* ---- outcomes ---- */

/* Finds the words of a sentence and its translation, and links each translated word with the source
 * word that the alignment head gives it. Without a head, the link is to the best source word after
 * the attention is balanced between source words. */
static int find_words(const struct sentence *sentence, const struct rendering *rendering,
                      struct arena *scratch, struct word_sides *sides, struct links *links) {
    struct translator_info info = translator_info(sentence->translator);
    struct word_matrix weights;
    *links = (struct links){0};
    if (render_words(sentence, WORDS_UNICODE, &sentence->hypotheses[0], rendering, scratch, sides,
                     NULL) != 0)
        return -1;
    if (!info.attention)
        return 0;
    if (links_find(sentence, sides, scratch, &weights, NULL) != 0)
        return -1;
    links_prepare(links_kind_find(info.alignment_head ? "best" : "balanced"), &weights, true);
    return links_make(links_kind_find("best"), &weights, scratch, links, NULL);
}

static size_t strings_bytes(const char *const *strings, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(strings[i]) + 1;
    return bytes;
}

static char *put_strings(char *to, const char *const *strings, size_t count) {
    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, strings[i]) + 1;
    return to;
}

/* Lists count strings that follow each other, and moves *at past them. */
static const char **list_strings(const char **at, size_t count, struct arena *arena) {
    const char **list = arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

int outcome_judgement(const struct outcome *outcome, struct arena *arena, struct judgement *out) {
    const char *strings = (const char *)(outcome_links(outcome) + outcome->link_count);
    *out =
        (struct judgement){.untranslated = outcome->untranslated,
                           .unknown = outcome->unknown,
                           .tokens = outcome->tokens,
                           .omission = {outcome->omission_tokens, outcome->omission_left},
                           .doubt = {.doubtful = outcome->doubtful, .estimate = outcome->estimate}};
    for (size_t check = 0; check < CHECKS; check++) {
        struct check_lists *lists = &out->lists[check];
        lists->source_count = outcome->lists[check].source_count;
        lists->target_count = outcome->lists[check].target_count;
        if (lists->source_count + lists->target_count == 0)
            continue;
        lists->source = list_strings(&strings, lists->source_count, arena);
        lists->target = list_strings(&strings, lists->target_count, arena);
        if (!lists->source || !lists->target)
            return -1;
    }
    return 0;
}

static struct outcome_place place_of(struct span span) {
    return (struct outcome_place){(uint32_t)span.begin, (uint32_t)span.end};
}

struct outcome *outcome_make(const struct sentence *sentence, bool placed,
                             const struct judgement *judgement, struct arena *arena,
                             pthread_mutex_t *lock, struct arena *scratch) {
    static const struct judgement none;
    const struct judgement *judged = judgement ? judgement : &none;
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct rendering rendering;
    struct word_sides sides = {0};
    struct links links = {0};
    if (translator_render(sentence, best, scratch, &rendering, NULL) != 0 ||
        (placed && find_words(sentence, &rendering, scratch, &sides, &links) != 0))
        return NULL;

    size_t length = strlen(rendering.text), count = sides.target.count;
    size_t bytes = sizeof(struct outcome) + (length / 4 + 1) * 4 +
                   count * sizeof(struct outcome_place) + links.count * sizeof(struct outcome_link);
    for (size_t check = 0; check < CHECKS; check++)
        bytes += strings_bytes(judged->lists[check].source, judged->lists[check].source_count) +
                 strings_bytes(judged->lists[check].target, judged->lists[check].target_count);
    if (lock)
        pthread_mutex_lock(lock);
    struct outcome *outcome = arena_alloc(arena, bytes, 1);
    if (lock)
        pthread_mutex_unlock(lock);
    if (!outcome)
        return NULL;
    *outcome = (struct outcome){.score = best->score,
                                .log_prob = best->log_prob,
                                .estimate = judged->doubt.estimate,
                                .unknown = (uint32_t)judged->unknown,
                                .tokens = (uint32_t)judged->tokens,
                                .omission_tokens = (uint32_t)judged->omission.tokens,
                                .omission_left = (uint32_t)judged->omission.left,
                                .untranslated = judged->untranslated,
                                .doubtful = judged->doubt.doubtful,
                                .finish = (uint8_t)best->finish,
                                .length = (uint32_t)length,
                                .word_count = (uint32_t)count,
                                .link_count = (uint32_t)links.count};
    memcpy(outcome->text, rendering.text, length + 1);
    struct outcome_place *words = (void *)(outcome->text + (length / 4 + 1) * 4);
    struct outcome_link *linked = (void *)(words + count);
    for (size_t i = 0; i < count; i++)
        words[i] = place_of(sides.target.words[i]);
    for (size_t i = 0; i < links.count; i++)
        linked[i] = (struct outcome_link){place_of(sides.source.words[links.all[i].source]),
                                          place_of(sides.target.words[links.all[i].target])};
    char *put = (char *)(linked + links.count);
    for (size_t check = 0; check < CHECKS; check++) {
        const struct check_lists *lists = &judged->lists[check];
        outcome->lists[check].source_count = (uint32_t)lists->source_count;
        outcome->lists[check].target_count = (uint32_t)lists->target_count;
        put = put_strings(put_strings(put, lists->source, lists->source_count), lists->target,
                          lists->target_count);
    }
    return outcome;
}

/* ---- the sentences of lean requests ---- */

/* Makes the second model's sentence from the first model's translation, in the arena of the first
 * sentence, which outlives it. */
bool outcome_goes_on(struct job *job) {
    struct request *request = job->request;
    struct sentence *first = job->sentence, *second = NULL;
    struct guard guard;
    struct glossary glossary; /* the request's glossary has the phrases of the first model and is
                                 shared between workers */
    struct rendering rendering;
    struct error error = {0};
    if (!request->lean || !job->text->second || job->first || !first->hypotheses ||
        request_reason(request) != CANCEL_NONE)
        return false;
    glossary_init(&glossary, NULL, &first->arena);
    int result = guard_open(&guard, request->protection, &error);
    if (result == 0)
        result = translator_render(first, &first->hypotheses[0], &first->arena, &rendering, &error);
    if (result == 0)
        result = prepare_second(request, job->text, first, rendering.text, &guard, &glossary,
                                &first->arena, &second, &error);
    guard_done(&guard);
    if (result != 0) {
        if (second)
            sentence_done(second);
        request_fail(request, &error);
        return false;
    }
    job->first = first;
    job->model = job->text->second_loaded;
    job_set(job, second);
    return true;
}

void outcome_take(struct job *job) {
    struct request *request = job->request;
    struct sentence *sentence = job->sentence;
    const struct sentence *first = job->first;
    struct error error = {0};
    if (!request->lean || !sentence)
        return;
    if (sentence->error) {
        request_fail(request, sentence->error);
    } else if (!sentence->dropped && !atomic_load(&request->failed)) {
        struct arena scratch;
        struct sentence composed;
        struct judgement judgement = {0};
        struct rendering rendering;
        bool made = sentence->hypotheses != NULL,
             judged = request->model != NULL; /* files without HTTP have no warnings */
        arena_init(&scratch, SCRATCH_BYTES);
        if (made && first)
            made =
                translator_render(first, &first->hypotheses[0], &scratch, &rendering, NULL) == 0 &&
                compose_sentence(first, sentence, &rendering, &scratch, &composed) == 0;
        const struct sentence *whole = first ? &composed : sentence;
        if (made && judged)
            made = judgement_make(request, job->text, whole, first, &scratch, &judgement) == 0;
        else if (made)
            made = judge_differences(whole, first, &scratch, &judgement) == 0;
        if (made)
            job->outcome = outcome_make(whole, job->text->placed, &judgement, &request->outcomes,
                                        &request->keeping, &scratch);
        arena_done(&scratch);
        if (!job->outcome) {
            error_memory(&error);
            request_fail(request, &error);
        }
    }
    job->sentence = NULL;
    sentence_done(sentence);
    if (!job->first) {
        free(sentence);
        return;
    }
    sentence_done(job->first); /* its arena holds the second sentence */
    free(job->first);
    job->first = NULL;
}
