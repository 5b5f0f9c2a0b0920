/* This file renders a hypothesis as text, finds the words of its tokens, and estimates its quality.
 */
#include "model/rendering.h"
#include "model/base/utf8.h"
#include "model/glossary.h"
#include "model/model.h"
#include "model/network/network.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Returns the piece with more spaces before it; a piece without the mark touches what precedes it
 * and stays. Returns NULL if memory is out. */
static const char *widen(const char *piece, const char *mark, size_t spaces, struct arena *arena) {
    size_t marked = strlen(mark), length = strlen(piece);
    if (spaces == 0 || marked == 0 || strncmp(piece, mark, marked) != 0)
        return piece;
    char *wider = arena_alloc(arena, length + spaces + 1, 1);
    if (!wider)
        return NULL;
    memcpy(wider, mark, marked);
    memset(wider + marked, ' ', spaces);
    memcpy(wider + marked + spaces, piece + marked, length - marked + 1);
    return wider;
}

/* Sets token i, with a piece if it is not printed as its id's piece. The token before it is at
 * token - 1. */
static int show_token(const struct sentence *sentence, const struct hypothesis *hypothesis,
                      size_t i, struct arena *arena, struct token *token, struct error *err) {
    const struct translator *t = sentence->translator;
    token->id = hypothesis->tokens[i];
    if (hypothesis->pieces && hypothesis->pieces[i]) {
        token->piece = hypothesis->pieces[i];
        return 0;
    }
    const char *mark = tokenizer_mark(t->target);
    size_t marked = strlen(mark), spaces = 0;
    bool put = i > 0 && hypothesis->pieces &&
               hypothesis->pieces[i - 1]; /* spaces are as the next token has them */
    if (i > 0 && !put && sentence->copies)
        spaces = glossary_extra_spaces(sentence, hypothesis->tokens[i - 1], true);
    const struct token *copied =
        sentence->copies ? copies_token(sentence->copies, token->id) : NULL;
    if (copied) {
        const char *previous = i == 0            ? NULL
                               : token[-1].piece ? token[-1].piece
                                                 : rendering_piece(sentence, token[-1].id);
        token->piece = glossary_piece(sentence, copied, previous, arena);
        if (i > 0 && !put && spaces == 0)
            spaces = glossary_extra_spaces(sentence, token->id, false);
        if (token->piece)
            token->piece = widen(token->piece, mark, spaces, arena);
        return token->piece ? 0 : error_memory(err);
    }
    if (i > 0 && !put && sentence->copies && marked > 0 &&
        glossary_touches_next(sentence, hypothesis->tokens[i - 1]) &&
        strncmp(rendering_piece(sentence, token->id), mark, marked) == 0)
        token->piece = rendering_piece(sentence, token->id) + marked;
    else if (spaces > 0 && token->id != tokenizer_unknown(t->target) &&
             !(token->piece = widen(rendering_piece(sentence, token->id), mark, spaces, arena)))
        return error_memory(err);
    if (token->id != tokenizer_unknown(t->target))
        return 0;
    const float *weights =
        sentence_replaces(sentence) ? hypothesis->alignment[i] : hypothesis->attention[i];
    if (t->characters &&
        speller_run(&t->speller, hypothesis->rows[i]->readout, arena, &token->piece, err) != 0)
        return -1;
    if (token->piece || !sentence->caller.replace_unknowns)
        return 0;

    /* The piece is the text of the source token with the most weight, except for held runs, or if
     * that has no character, of the next token that has one. If no token has one, there is no
     * piece. */
    struct span own = sentence_own(sentence);
    size_t count = sentence->search.setting.source_length > 0 ? own.end : 0, best = own.begin;
    while (best < count && glossary_holds(sentence, best))
        best++;
    for (size_t j = best + 1; j < count; j++)
        if (weights[j] > weights[best] && !glossary_holds(sentence, j))
            best = j;
    while (best < count && (sentence->tokens[best].begin == sentence->tokens[best].end ||
                            glossary_holds(sentence, best)))
        best++;
    if (best >= count)
        return 0;
    const struct token *from = &sentence->tokens[best];
    token->piece = arena_copy(arena, sentence->text + sentence->source.begin + from->begin,
                              from->end - from->begin);
    return token->piece ? 0 : error_memory(err);
}

int rendering_make_rest(const struct sentence *sentence, const struct hypothesis *hypothesis,
                        size_t first, struct arena *arena, struct rendering *out,
                        struct error *err) {
    const struct translator *t = sentence->translator;
    size_t count = hypothesis->length - first;
    int unknown = tokenizer_unknown(t->target);
    struct token *tokens = arena_zalloc(arena, count + 1, sizeof *tokens);
    if (!tokens)
        return error_memory(err);
    tokens->id = first > 0 ? hypothesis->tokens[first - 1] : 0; /* the token before the first */
    tokens++;
    for (size_t i = 0; i < count; i++)
        if (show_token(sentence, hypothesis, first + i, arena, &tokens[i], err) != 0)
            return -1;
    if (tokenizer_decode(t->target, tokens, count, arena, &out->text, err) != 0)
        return -1;

    /* text that was read in small letters is written in capitals, except for copies */
    for (size_t i = 0; sentence->reading.lowered && i < count; i++)
        if (!sentence->copies || !copies_token(sentence->copies, tokens[i].id))
            capitals_raise(out->text + tokens[i].begin, tokens[i].end - tokens[i].begin);
    /* a model that copies may choose <unk> or the word itself, and both are printed alike: pieces
     * distinguish such hypotheses */
    for (size_t i = 0; t->output.copies && i < count; i++)
        if (tokens[i].id == unknown)
            tokens[i].piece = tokenizer_piece(t->target, unknown);
    out->tokens = tokens;
    if (!sentence->given.text || first > 0)
        return 0;

    /* The given text is printed in place of the text of its tokens. White space is not doubled at
     * its end. */
    size_t begun =
        count < sentence->options.prefix_length ? count : sentence->options.prefix_length;
    size_t given = strlen(sentence->given.text), rest = begun > 0 ? tokens[begun - 1].end : 0;
    while (given > 0 && strchr(" \t\n\r", sentence->given.text[given - 1]) &&
           out->text[rest] == ' ')
        rest++;
    size_t left = strlen(out->text + rest);
    char *text = arena_alloc(arena, given + left + 1, 1);
    if (!text)
        return error_memory(err);
    memcpy(text, sentence->given.text, given);
    memcpy(text + given, out->text + rest, left + 1);
    if (begun > 0)
        memcpy(tokens, sentence->given.tokens, begun * sizeof *tokens);
    for (struct token *token = tokens + begun; token < tokens + count; token++) {
        token->begin = token->begin < rest ? given : token->begin - rest + given;
        token->end = token->end < rest ? given : token->end - rest + given;
    }
    out->text = text;
    return 0;
}

int rendering_make(const struct sentence *sentence, const struct hypothesis *hypothesis,
                   struct arena *arena, struct rendering *out, struct error *err) {
    return rendering_make_rest(sentence, hypothesis, 0, arena, out, err);
}

const char *rendering_piece(const struct sentence *sentence, int token) {
    const struct token *copied = sentence->copies ? copies_token(sentence->copies, token) : NULL;
    return copied ? copied->piece : tokenizer_piece(sentence->translator->target, token);
}

/* ---- words ---- */

/* Finds words between white space; words NULL: only counts them. */
static size_t find_spaced(const char *text, size_t length, struct span *words) {
    size_t count = 0, begin = 0;
    bool inside = false;
    for (size_t at = 0, next = 0; at <= length; at = next) {
        bool space = at == length || character_is_space(character_next(text, length, &next));
        if (inside && space && words)
            words[count] = (struct span){begin, at};
        count += inside && space;
        begin = inside ? begin : at;
        inside = !space;
        next += at == length;
    }
    return count;
}

int rendering_words(const struct translator *translator, enum word_kind kind, struct bytes text,
                    struct arena *arena, struct spans *out, struct error *err) {
    if (kind == WORDS_UNICODE)
        return segmenter_words(translator->segmenter, text, arena, out, err);
    struct span *found =
        arena_alloc(arena, find_spaced(text.start, text.length, NULL), sizeof *found);
    if (!found)
        return error_memory(err);
    *out = (struct spans){found, find_spaced(text.start, text.length, found)};
    return 0;
}

void rendering_words_of_tokens(const char *text, const struct token *tokens, size_t count,
                               const struct span *words, size_t word_count,
                               struct word_range *ranges) {
    for (size_t i = 0; i < count; i++) {
        struct span inner = segmenter_trim(text + tokens[i].begin, tokens[i].end - tokens[i].begin);
        size_t begin = tokens[i].begin + inner.begin, end = tokens[i].begin + inner.end;
        size_t first = 0,
               high = word_count; /* first: the first word that ends after the token's beginning */
        while (first < high) {
            size_t middle = (first + high) / 2;
            if (words[middle].end > begin)
                high = middle;
            else
                first = middle + 1;
        }
        size_t after = first + (first < word_count);
        while (after < word_count && words[after].begin < end)
            after++;
        ranges[i] = (struct word_range){first, after};
    }
}

/* ---- quality ---- */

static const float LEAST = -50, MOST_GAP = 10;

/* A hypothesis, and how much weight its rows together give each source token. */
struct estimation {
    const struct hypothesis *hypothesis;
    int end;            /* </s> of the target */
    struct span source; /* the source's own tokens; empty without attention */
    float *coverage;    /* [source.end] */
};

/* Features of the steps added so far: sums, except for the gap, which is the least. */
struct evidence {
    float features[QUALITY_FEATURES];
    size_t steps, tokens;
};

static float quality_clip(float value, float most) {
    return value < LEAST ? LEAST : value > most ? most : value;
}

static void add_step(const struct estimation *estimation, size_t i, struct evidence *evidence) {
    const struct hypothesis *h = estimation->hypothesis;
    const struct alternatives *best = h->rows[i]->alternatives; /* the best first */
    int token = i < h->length ? h->tokens[i] : estimation->end;
    float *features = evidence->features;
    size_t k = 0;
    while (k < best->count && best->tokens[k] == token)
        k++;
    float gap =
        k < best->count ? quality_clip(h->log_probs[i] - best->log_probs[k], MOST_GAP) : MOST_GAP;
    features[QUALITY_LOG_PROB] += quality_clip(h->log_probs[i], 0);
    features[QUALITY_ENTROPY] += h->entropies[i];
    if (evidence->steps++ == 0 || gap < features[QUALITY_GAP])
        features[QUALITY_GAP] = gap;
}

/* Adds the row of token i: which source token it is aligned with, and how clearly. */
static void add_row(const struct estimation *estimation, size_t i, struct evidence *evidence) {
    if (estimation->source.begin == estimation->source.end)
        return;
    const float *row = estimation->hypothesis->alignment[i];
    size_t best = estimation->source.begin;
    for (size_t j = best + 1; j < estimation->source.end; j++)
        if (row[j] > row[best])
            best = j;
    evidence->tokens++;
    evidence->features[QUALITY_COVERAGE] += estimation->coverage[best];
    evidence->features[QUALITY_SHARPNESS] += row[best];
}

/* Divides the sums of those features that are means. */
static void settle_means(struct evidence *evidence) {
    evidence->features[QUALITY_ENTROPY] /= evidence->steps > 0 ? (float)evidence->steps : 1;
    evidence->features[QUALITY_COVERAGE] /= evidence->tokens > 0 ? (float)evidence->tokens : 1;
    evidence->features[QUALITY_SHARPNESS] /= evidence->tokens > 0 ? (float)evidence->tokens : 1;
}

static float probability(const struct quality_regression *regression,
                         const struct evidence *evidence) {
    double sum = (double)regression->constant;
    for (size_t f = 0; f < QUALITY_FEATURES; f++)
        sum += (double)regression->weights[f] * (double)evidence->features[f];
    return (float)(1 / (1 + exp(-sum)));
}

/* ---- quality from log-probabilities alone ---- */

/* Here a word is the text between white space; its first piece has the mark. */
static void estimate_by_log_probs(const struct translator *t, const struct hypothesis *h,
                                  const struct word_range *tokens, struct quality *out) {
    const char *mark = tokenizer_mark(t->target);
    double overall = 0, all = 0;
    size_t words = 0;
    for (size_t i = 0; i < h->length; i++)
        overall += (double)h->log_probs[i] / (double)h->length;
    for (size_t begin = 0, end; begin < h->length; begin = end) {
        double sum = 0, least = 0, z = (double)t->quality->log_probs.constant;
        for (end = begin; end < h->length; end++) {
            bool known = (size_t)h->tokens[end] < tokenizer_size(t->target);
            if (end > begin && (!known || strncmp(tokenizer_piece(t->target, h->tokens[end]), mark,
                                                  strlen(mark)) == 0))
                break;
            sum += (double)h->log_probs[end];
            least = fmin(least, (double)h->log_probs[end]);
        }
        const double count = (double)(end - begin),
                     features[QUALITY_LOG_PROB_FEATURES] = {[QUALITY_MEAN] = sum / count,
                                                            [QUALITY_LEAST] = least,
                                                            [QUALITY_TOKENS] = count,
                                                            [QUALITY_OVERALL] = overall};
        for (size_t f = 0; f < QUALITY_LOG_PROB_FEATURES; f++)
            z += (double)t->quality->log_probs.weights[f] * features[f];
        double log_p = z > 0 ? -log1p(exp(-z)) : z - log1p(exp(z));
        all += log_p;
        words++;
        for (size_t i = begin; i < end; i++)
            for (size_t w = tokens[i].first; w < tokens[i].end; w++)
                out->words[w] = (float)exp(log_p);
    }
    out->sentence = words > 0 ? (float)exp(all / (double)words) : 0;
}

int rendering_quality(const struct sentence *sentence, const struct hypothesis *hypothesis,
                      const struct token_words *known, struct arena *arena, struct quality *out,
                      struct error *err) {
    const struct word_range *tokens = known->tokens;
    size_t words = known->count;
    const struct translator *t = sentence->translator;
    struct estimation estimation = {.hypothesis = hypothesis, .end = tokenizer_end(t->target)};
    if (sentence->search.setting.source_length > 0)
        estimation.source = sentence_own(sentence);
    estimation.coverage = arena_zalloc(arena, estimation.source.end, sizeof *estimation.coverage);
    struct evidence *all = arena_zalloc(arena, words, sizeof *all);
    struct quality made = {.words = arena_zalloc(arena, words, sizeof *made.words), .count = words};
    if (!estimation.coverage || !all || !made.words)
        return error_memory(err);
    if (t->quality->log_probs_alone) {
        estimate_by_log_probs(t, hypothesis, tokens, &made);
        *out = made;
        return 0;
    }
    struct span source = estimation.source;
    for (size_t i = 0; i < hypothesis->length; i++)
        for (size_t j = source.begin; j < source.end; j++)
            estimation.coverage[j] += hypothesis->alignment[i][j];

    struct evidence whole = {0};
    for (size_t i = 0; i < hypothesis->length + hypothesis->ended; i++)
        add_step(&estimation, i, &whole);
    for (size_t i = 0; i < hypothesis->length; i++)
        add_row(&estimation, i, &whole);
    settle_means(&whole);
    float covered = 0;
    size_t count = source.end - source.begin;
    for (size_t j = source.begin; j < source.end; j++)
        covered += fminf(estimation.coverage[j], 1);
    whole.features[QUALITY_COVERAGE] = count > 0 ? covered / (float)count : 0;
    made.sentence = probability(&t->quality->sentence, &whole);

    for (size_t i = 0; i < hypothesis->length; i++)
        for (size_t w = tokens[i].first; w < tokens[i].end; w++) {
            add_step(&estimation, i, &all[w]);
            add_row(&estimation, i, &all[w]);
        }
    for (size_t w = 0; w < words; w++) {
        settle_means(&all[w]);
        made.words[w] = probability(&t->quality->words, &all[w]);
    }
    *out = made;
    return 0;
}

/* ---- doubt ---- */

/* Chosen on 439 judged translations and measured on 300 others (weights/evaluation/doubt.py). All
 * models are equally sure of short sentences, so these have one limit. Of long ones each model is
 * as sure as its size allows. */
static const double DOUBT_SHARE = 0.6, DOUBT_LIMIT = -1.37;
enum { DOUBT_FEW_WORDS = 8 };

struct doubted {
    struct span span;
    double log_prob;
};

static int by_log_prob(const void *a, const void *b) {
    const struct doubted *left = a, *right = b;
    return (left->log_prob > right->log_prob) - (left->log_prob < right->log_prob);
}

static int by_place(const void *a, const void *b) {
    const struct doubted *left = a, *right = b;
    return (left->span.begin > right->span.begin) - (left->span.begin < right->span.begin);
}

static bool has_letter(const char *text, struct span span) {
    for (size_t at = span.begin; at < span.end;)
        if (character_is_letter(character_next(text, span.end, &at)))
            return true;
    return false;
}

/* Marks the tokens of a glossary's phrases, whose probability says nothing about the translation.
 * Returns NULL if memory is out. */
static bool *mark_phrases(const struct sentence *sentence, const struct hypothesis *h,
                          struct arena *arena) {
    const struct phrases *phrases = &sentence->options.phrases;
    bool *marks = arena_zalloc(arena, h->length + 1, sizeof *marks);
    for (const struct phrase *phrase = phrases->list;
         marks && phrase < phrases->list + phrases->count; phrase++)
        for (size_t i = 0; i + phrase->length <= h->length; i++)
            if (memcmp(h->tokens + i, phrase->tokens, phrase->length * sizeof *phrase->tokens) == 0)
                memset(marks + i, true, phrase->length);
    return marks;
}

/* Lists the words of a rendering that have letters, and returns their number. A character of a
 * script without spaces is a word. */
static size_t list_doubted(const struct sentence *sentence, const struct hypothesis *h,
                           const struct rendering *rendering, const bool *phrases,
                           struct doubted *words) {
    size_t count = 0, length = strlen(rendering->text);
    bool open = false; /* the last word goes on with the next token */
    for (size_t i = 0; i < h->length; i++) {
        struct span span = {rendering->tokens[i].begin, rendering->tokens[i].end};
        size_t before = span.begin, begin = span.begin, next = span.begin;
        bool begins =
            before == 0 || character_is_space(character_previous(rendering->text, &before));
        for (int32_t c; begin < span.end &&
                        character_is_space(c = character_next(rendering->text, length, &next));
             begin = next)
            begins = true;
        next = begin;
        begins |=
            begin < span.end && character_is_wide(character_next(rendering->text, length, &next));
        bool known =
            (size_t)h->tokens[i] < tokenizer_size(sentence->translator->target) && !phrases[i];
        if (!known || begins || !open) {
            count -= open && !has_letter(rendering->text, words[count - 1].span);
            open = known;
            if (known)
                words[count++] = (struct doubted){.span = {begin, span.end}};
        }
        if (known) {
            words[count - 1].span.end = span.end;
            words[count - 1].log_prob += (double)quality_clip(h->log_probs[i], 0);
        }
    }
    return count - (open && !has_letter(rendering->text, words[count - 1].span));
}

int rendering_doubts(const struct sentence *sentence, const struct hypothesis *hypothesis,
                     struct arena *arena, struct doubt *out, struct error *err) {
    struct rendering rendering;
    struct doubted *words = arena_alloc(arena, hypothesis->length + 1, sizeof *words);
    bool *phrases = mark_phrases(sentence, hypothesis, arena);
    if (!words || !phrases)
        return error_memory(err);
    if (rendering_make(sentence, hypothesis, arena, &rendering, err) != 0)
        return -1;
    size_t count = list_doubted(sentence, hypothesis, &rendering, phrases, words),
           least = (size_t)ceil(DOUBT_SHARE * (double)count);
    double sum = 0, limit = count > DOUBT_FEW_WORDS ? sentence->translator->config.limits.doubt
                                                    : DOUBT_LIMIT;
    qsort(words, count, sizeof *words, by_log_prob);
    for (size_t i = 0; i < least; i++)
        sum += words[i].log_prob;
    *out = (struct doubt){
        .doubtful = sum<limit *(double)least, .estimate = count> 0 ? exp(sum / (double)least) : 1};
    if (!out->doubtful)
        return 0;
    while (out->word_count < least && words[out->word_count].log_prob < limit)
        out->word_count++;
    out->words = arena_alloc(arena, out->word_count, sizeof *out->words);
    if (!out->words)
        return error_memory(err);
    qsort(words, out->word_count, sizeof *words, by_place);
    for (size_t i = 0; i < out->word_count; i++)
        out->words[i] = words[i].span;
    return 0;
}
