/* This module hides how texts and their given translations are cut into pairs of sentences, and how
 * what is known of these pairs becomes one result for each text. */
#include "server/api/align.h"
#include "model/phrase_pairs.h"
#include "server/api/answer.h"
#include "server/api/beads.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/api/warnings.h"
#include "server/base/strings.h"
#include "server/decode/links.h"
#include "server/models/catalog.h"
#include <stdlib.h>
#include <string.h>

enum {
    SCRATCH_BYTES = 64 * 1024,
    /* Source sentences times target sentences, of all texts together: pairing them takes 50 ms. */
    MOST_CELLS = 1 << 18,
    LEAST_LETTERS = 4, /* letters of a word that is missing if nothing is linked with it */
    LETTERS_OF_WIDE = 3
};

/* One text and its translation. */
struct aligned_pair {
    struct text whole; /* as the client sent it */
    struct text
        *texts; /* [count] its pairs of sentences, texts of the request; 0: a side is blank */
    size_t count;
};

struct aligned_pairs {
    struct aligned_pair *all; /* [count] */
    size_t count;
};

/* ---- pairs of sentences ---- */

/* Gives the sentences of one side, or what is not blank of it. */
static int split(const char *language, bool whole, struct bytes text, struct arena *arena,
                 struct spans *out, struct error *err) {
    struct segmenter *segmenter = whole ? NULL : segmenter_open(language, err);
    int result = 0;
    if (segmenter) {
        result = segmenter_split(segmenter, text, arena, out, err);
    } else if (err->code == ERROR_MEMORY) {
        result = -1;
    } else { /* a language without a code, as some models have, is not split */
        struct span visible = segmenter_trim(text.start, text.length),
                    *one = arena_alloc(arena, 1, sizeof *one);
        *err = (struct error){0};
        if (!one)
            return error_memory(err);
        *one = visible;
        *out = (struct spans){one, visible.begin < visible.end};
    }
    segmenter_free(segmenter);
    return result;
}

/* Cuts one text. cells: what is left of MOST_CELLS. */
static int cut_pair(struct request *request, struct aligned_pair *pair, bool whole, size_t *cells,
                    struct arena *scratch, struct reply *reply) {
    const struct text *text = &pair->whole;
    const struct served_model *reader = text->model ? text->model : request->model,
                              *writer = text->second ? text->second : reader;
    const char *from = text->language ? text->language : reader->info.source,
               *variant = text->second ? text->second_variant : text->variant,
               *to = variant && writer->info.languages ? variant : writer->info.target;
    const struct bytes source = {text->source, text->source_length},
                       target = {text->target, text->target_length};
    struct spans sources, targets;
    struct beads beads;
    struct error error = {0};
    if (split(from, whole, source, scratch, &sources, &error) != 0 ||
        split(to, whole, target, scratch, &targets, &error) != 0)
        return reply_fail_memory(reply);
    if (sources.count == 0 || targets.count == 0)
        return 0;
    if (sources.count > *cells / targets.count)
        return reply_fail(reply, STATUS_TOO_LARGE, "text",
                          "text must have fewer sentences: %zu and %zu are too many to be paired; "
                          "send them in parts",
                          sources.count, targets.count);
    *cells -= sources.count * targets.count;
    if (beads_find(&sources, &targets, scratch, &beads, &error) != 0 ||
        !(pair->texts = arena_alloc(&request->arena, beads.count, sizeof *pair->texts)))
        return reply_fail_memory(reply);
    pair->count = beads.count;
    for (size_t i = 0; i < pair->count; i++) {
        const struct bead *bead = &beads.all[i];
        size_t begin = sources.all[bead->source].begin,
               end = sources.all[bead->source + bead->source_count - 1].end,
               target_begin = targets.all[bead->target].begin,
               target_end = targets.all[bead->target + bead->target_count - 1].end;
        struct text *one = &pair->texts[i];
        *one = *text;
        one->source = text->source + begin;
        one->source_length = end - begin;
        one->target = text->target + target_begin;
        one->target_length = target_end - target_begin;
    }
    return 0;
}

int align_cut(struct request *request, bool whole, struct reply *reply) {
    struct arena *arena = &request->arena, scratch;
    struct aligned_pairs *pairs = arena_zalloc(arena, 1, sizeof *pairs);
    struct aligned_pair *all = arena_zalloc(arena, request->text_count, sizeof *all);
    size_t cells = MOST_CELLS, count = 0;
    if (!pairs || !all)
        return reply_fail_memory(reply);
    *pairs = (struct aligned_pairs){all, request->text_count};
    int result = 0;
    for (size_t i = 0; result == 0 && i < pairs->count; i++) {
        arena_init(&scratch, SCRATCH_BYTES);
        arena_limit(&scratch, arena->budget);
        all[i].whole = request->texts[i];
        result = cut_pair(request, &all[i], whole, &cells, &scratch, reply);
        count += all[i].count;
        arena_done(&scratch);
    }
    struct text *texts = result == 0 ? arena_alloc(arena, count, sizeof *texts) : NULL;
    if (!texts)
        return result == 0 ? reply_fail_memory(reply) : -1;
    request->texts = texts;
    request->text_count = count;
    for (size_t i = 0; i < pairs->count; i++) {
        if (all[i].count > 0)
            memcpy(texts, all[i].texts, all[i].count * sizeof *texts);
        all[i].texts = texts;
        texts += all[i].count;
    }
    request->pairs = pairs;
    return 0;
}

/* ---- the words of a text ---- */

/* The words of one side, places in the text. */
struct side {
    const char *text;
    struct span *words; /* [count] */
    size_t count, room;
};

/* What is known of a text and its translation; in an arena. */
struct aligned {
    struct arena *arena;
    struct side source, target;
    struct link *links; /* [link_count] indexes of words */
    size_t link_count, link_room;
    struct phrase_pair *phrases; /* [phrase_count] */
    size_t phrase_count, phrase_room;
    bool *linked; /* words of the client's text, the target's if it is reversed, to which any kind
                     of links would lead */
    size_t linked_room;
    float *quality; /* [quality_count] of the target words */
    size_t quality_count, quality_room;
    double sentence_quality; /* the least, since one wrong sentence makes the text wrong */
    bool estimated;          /* the quality of all sentences is known */
};

static int add_words(struct side *side, const struct span *words, size_t count, size_t begin,
                     struct arena *arena) {
    struct span *all =
        arena_grow(arena, side->words, side->count, &side->room, count + 1, sizeof *all);
    if (!all)
        return -1;
    side->words = all;
    for (size_t i = 0; i < count; i++)
        all[side->count++] = (struct span){begin + words[i].begin, begin + words[i].end};
    return 0;
}

/* Adds words that no sentence has, because the other side is blank. */
static int add_alone(struct aligned *aligned, struct side *side,
                     const struct translator *translator, size_t length) {
    struct spans words;
    return rendering_words(translator, WORDS_UNICODE, (struct bytes){side->text, length},
                           aligned->arena, &words, NULL) == 0
               ? add_words(side, words.all, words.count, 0, aligned->arena)
               : -1;
}

static int add_links(const struct request *request, struct aligned *aligned, bool head,
                     const struct word_matrix *weights, size_t source, size_t target) {
    bool reversed = request->parameters.reversed;
    /* a model finds something for each word that it writes: the text's words are then linked only
     * if the choice of both sides is the same */
    const struct links_kind *kinds[] = {links_kind_find(reversed ? "balanced" : "several"),
                                        request->wanted.links};
    size_t count = weights->source_count * weights->target_count;
    float *copy = arena_alloc(aligned->arena, count, sizeof *copy);
    size_t begin = reversed ? target : source,
           words_of_text = reversed ? weights->target_count : weights->source_count;
    bool *linked = arena_grow(aligned->arena, aligned->linked, begin, &aligned->linked_room,
                              words_of_text + 1, sizeof *linked);
    struct links links;
    if (!copy || !linked)
        return -1;
    aligned->linked = linked;
    memset(linked + begin, 0, words_of_text * sizeof *linked);
    for (size_t k = 0; k < 2; k++) { /* the second kind is the one that is written */
        struct word_matrix matrix = *weights;
        matrix.weights = memcpy(copy, weights->weights, count * sizeof *copy);
        links_prepare(kinds[k], &matrix, !head);
        if (links_make(kinds[k], &matrix, aligned->arena, &links, NULL) != 0)
            return -1;
        for (size_t i = 0; i < links.count && (k == 0 || !reversed); i++)
            linked[begin + (reversed ? links.all[i].target : links.all[i].source)] = true;
    }
    struct link *all = arena_grow(aligned->arena, aligned->links, aligned->link_count,
                                  &aligned->link_room, links.count + 1, sizeof *all);
    const struct word_links words = {links.all, links.count, weights->source_count,
                                     weights->target_count};
    struct phrase_pairs found;
    struct phrase_pair *phrases;
    if (!all || phrase_pairs_find(&words, aligned->arena, &found, NULL) != 0 ||
        !(phrases = arena_grow(aligned->arena, aligned->phrases, aligned->phrase_count,
                               &aligned->phrase_room, found.count + 1, sizeof *phrases)))
        return -1;
    aligned->links = all;
    aligned->phrases = phrases;
    for (size_t i = 0; i < links.count; i++)
        all[aligned->link_count++] =
            (struct link){source + links.all[i].source, target + links.all[i].target};
    for (const struct phrase_pair *pair = found.all; pair < found.all + found.count; pair++)
        phrases[aligned->phrase_count++] =
            (struct phrase_pair){{source + pair->source.begin, source + pair->source.end},
                                 {target + pair->target.begin, target + pair->target.end}};
    return 0;
}

static int add_quality(struct aligned *aligned, const struct sentence *sentence,
                       const struct word_sides *sides) {
    struct quality quality;
    if (!aligned->estimated)
        return 0;
    if (rendering_quality(sentence, &sentence->hypotheses[0],
                          &(struct token_words){sides->target.tokens, sides->target.count},
                          aligned->arena, &quality, NULL) != 0)
        return -1;
    float *all = arena_grow(aligned->arena, aligned->quality, aligned->quality_count,
                            &aligned->quality_room, quality.count + 1, sizeof *all);
    if (!all)
        return -1;
    aligned->quality = all;
    memcpy(all + aligned->quality_count, quality.words, quality.count * sizeof *all);
    aligned->quality_count += quality.count;
    if ((double)quality.sentence < aligned->sentence_quality)
        aligned->sentence_quality = (double)quality.sentence;
    return 0;
}

/* Adds a pair of sentences that were scored. A given translation is rendered as it was sent, so
 * that places in it are places in the client's text. */
static int add_sentence(const struct request *request, const struct aligned_pair *pair,
                        const struct text *text, struct aligned *aligned) {
    const struct sentence *sentence = &text->sentences[0];
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct rendering rendering;
    struct word_sides sides;
    struct word_matrix weights;
    size_t source = aligned->source.count, target = aligned->target.count,
           begin = (size_t)(text->source - pair->whole.source) + sentence->source.begin,
           target_begin = (size_t)(text->target - pair->whole.target);
    bool head = translator_info(sentence->translator).alignment_head;
    if (rendering_make(sentence, best, aligned->arena, &rendering, NULL) != 0 ||
        render_words(&(struct rendered_sentence){sentence, best, &rendering}, WORDS_UNICODE,
                     aligned->arena, &sides, NULL) != 0 ||
        render_merge(&sides, best->alignment, aligned->arena, &weights, NULL) != 0 ||
        add_words(&aligned->source, sides.source.words, sides.source.count, begin,
                  aligned->arena) != 0 ||
        add_words(&aligned->target, sides.target.words, sides.target.count, target_begin,
                  aligned->arena) != 0 ||
        add_links(request, aligned, head, &weights, source, target) != 0)
        return -1;
    return add_quality(aligned, sentence, &sides);
}

static const struct translator *reader_of(const struct request *request, const struct text *text) {
    return (text->loaded ? text->loaded : request->loaded)->translator;
}

static int align_pair(const struct request *request, const struct aligned_pair *pair,
                      struct aligned *aligned) {
    aligned->source.text = pair->whole.source;
    aligned->target.text = pair->whole.target;
    aligned->sentence_quality = 1;
    for (size_t i = 0; i < pair->count; i++)
        if (pair->texts[i].count > 0 && add_sentence(request, pair, &pair->texts[i], aligned) != 0)
            return -1;
    if (pair->count > 0)
        return 0;
    aligned->estimated = false;
    const struct translator *reader = reader_of(request, &pair->whole);
    if (add_alone(aligned, &aligned->source, reader, pair->whole.source_length) != 0 ||
        add_alone(aligned, &aligned->target, reader, pair->whole.target_length) != 0)
        return -1;
    size_t words = request->parameters.reversed ? aligned->target.count : aligned->source.count;
    aligned->linked = arena_zalloc(aligned->arena, words, sizeof *aligned->linked);
    return aligned->linked ? 0 : -1;
}

static int compare_links(const void *a, const void *b) {
    const struct link *one = a, *other = b;
    return one->target != other->target   ? (one->target < other->target ? -1 : 1)
           : one->source != other->source ? (one->source < other->source ? -1 : 1)
                                          : 0;
}

static int compare_phrases(const void *a, const void *b) {
    const struct phrase_pair *one = a, *other = b;
    return (one->target.begin > other->target.begin) - (one->target.begin < other->target.begin);
}

/* Exchanges the sides, and restores the order of links and phrases, which is the target's. */
static void transpose(struct aligned *aligned) {
    struct side side = aligned->source;
    aligned->source = aligned->target;
    aligned->target = side;
    for (size_t i = 0; i < aligned->link_count; i++)
        aligned->links[i] = (struct link){aligned->links[i].target, aligned->links[i].source};
    for (size_t i = 0; i < aligned->phrase_count; i++)
        aligned->phrases[i] =
            (struct phrase_pair){aligned->phrases[i].target, aligned->phrases[i].source};
    if (aligned->link_count > 0)
        qsort(aligned->links, aligned->link_count, sizeof *aligned->links, compare_links);
    if (aligned->phrase_count > 0)
        qsort(aligned->phrases, aligned->phrase_count, sizeof *aligned->phrases, compare_phrases);
}

/* ---- what is missing ---- */

/* Words of these classes have links in a translation that lacks nothing: numbers, and words of at
 * least LEAST_LETTERS letters. Translations often do without shorter words and punctuation marks.
 * weights/EXPERIMENTS.md has how many missing words are found, and how often wrongly. */
static bool should_be_linked(const char *text, struct span word) {
    size_t letters = 0;
    for (size_t at = word.begin; at < word.end;) {
        int32_t c = character_next(text, word.end, &at);
        if (character_is_digit(c))
            return true;
        letters += character_is_letter(c) ? character_is_wide(c) ? LETTERS_OF_WIDE : 1 : 0;
    }
    return letters >= LEAST_LETTERS;
}

/* ---- the result ---- */

static void put_span(struct writer *out, const char *key, struct utf16_cursor *cursor,
                     struct span span) {
    value_put_place(out, key,
                    (struct value_place){span.begin, character_utf16_position(cursor, span.begin)},
                    (struct value_place){span.end, character_utf16_position(cursor, span.end)});
}

static void put_words(const struct side *side, const char *key, struct writer *out) {
    writer_begin_array(out, key);
    for (size_t i = 0; i < side->count; i++)
        writer_string_of(out, NULL, side->text + side->words[i].begin,
                         side->words[i].end - side->words[i].begin);
    writer_end_array(out);
}

static void put_offsets(const struct side *side, const char *key, struct writer *out) {
    struct utf16_cursor cursor = {.text = side->text};
    writer_begin_array(out, key);
    for (size_t i = 0; i < side->count; i++)
        put_span(out, NULL, &cursor, side->words[i]);
    writer_end_array(out);
}

static struct span span_of(const struct side *side, struct word_span words) {
    return (struct span){side->words[words.begin].begin, side->words[words.end - 1].end};
}

static void put_aligned(const struct aligned *aligned, struct writer *out) {
    struct utf16_cursor source = {.text = aligned->source.text},
                        target = {.text = aligned->target.text};
    writer_begin_array(out, "links");
    for (size_t i = 0; i < aligned->link_count; i++) {
        writer_begin_array(out, NULL);
        writer_count(out, NULL, aligned->links[i].source);
        writer_count(out, NULL, aligned->links[i].target);
        writer_end_array(out);
    }
    writer_end_array(out);
    writer_begin_object(out, "words");
    put_words(&aligned->source, "source", out);
    put_words(&aligned->target, "target", out);
    writer_begin_object(out, "offsets");
    put_offsets(&aligned->source, "source", out);
    put_offsets(&aligned->target, "target", out);
    writer_end_object(out);
    writer_end_object(out);
    writer_begin_array(out, "phrases");
    for (size_t i = 0; i < aligned->phrase_count; i++) {
        writer_begin_object(out, NULL);
        put_span(out, "source", &source, span_of(&aligned->source, aligned->phrases[i].source));
        put_span(out, "target", &target, span_of(&aligned->target, aligned->phrases[i].target));
        writer_end_object(out);
    }
    writer_end_array(out);
    if (aligned->estimated) {
        writer_begin_object(out, "quality");
        writer_number(out, "sentence", aligned->sentence_quality);
        writer_numbers(out, "words", aligned->quality, aligned->quality_count, DECIMAL_DIGITS);
        writer_end_object(out);
    }
    writer_begin_array(out, "missing");
    for (size_t i = 0; aligned->linked && i < aligned->source.count; i++)
        if (!aligned->linked[i] && should_be_linked(aligned->source.text, aligned->source.words[i]))
            put_span(out, NULL, &source, aligned->source.words[i]);
    writer_end_array(out);
}

/* Joins the sentences of a text, at their places in it. Returns -1 if memory runs out. */
static int join(const struct aligned_pair *pair, struct arena *arena, struct text *out) {
    struct sentence *sentences = arena_alloc(arena, pair->count, sizeof *sentences);
    struct job *jobs = arena_alloc(arena, pair->count, sizeof *jobs);
    if (!sentences || !jobs)
        return -1;
    *out = pair->count > 0 ? pair->texts[0] : pair->whole; /* its models are in memory */
    out->source = pair->whole.source;
    out->source_length = pair->whole.source_length;
    out->target = pair->whole.target;
    out->target_length = pair->whole.target_length;
    out->sentences = sentences;
    out->jobs = jobs;
    out->count = 0;
    for (size_t i = 0; i < pair->count; i++) {
        const struct text *text = &pair->texts[i];
        size_t begin = (size_t)(text->source - pair->whole.source);
        if (text->count == 0)
            continue;
        struct sentence *sentence = &sentences[out->count];
        *sentence = text->sentences[0]; /* the shared members are only read */
        sentence->text = pair->whole.source;
        sentence->source.begin += begin;
        sentence->source.end += begin;
        jobs[out->count] = text->jobs[0];
        jobs[out->count++].source = sentence->source;
    }
    return 0;
}

/* Writes the members of the sentences that only `include` has. */
static void put_sentences(struct request *request, const struct aligned_pair *pair,
                          const struct text *joined, struct writer *out) {
    writer_begin_array(out, "sentences");
    for (size_t i = 0, k = 0; i < pair->count && !writer_ended(out); i++) {
        if (pair->texts[i].count == 0)
            continue;
        size_t source = joined->sentences[k++].source.begin,
               target = (size_t)(pair->texts[i].target - pair->whole.target);
        struct utf16_cursor from = {.text = pair->whole.source}, to = {.text = pair->whole.target};
        struct value_places at = {{source, character_utf16_position(&from, source)},
                                  {target, character_utf16_position(&to, target)}};
        writer_begin_object(out, NULL);
        answer_put_sentence(request, &pair->texts[i], 0, &at, out);
        writer_end_object(out);
    }
    writer_end_array(out);
}

static void put_pair(struct request *request, const struct aligned_pair *pair, struct writer *out) {
    struct arena arena;
    struct text joined;
    arena_init(&arena, SCRATCH_BYTES);
    bool reversed = request->parameters.reversed;
    struct aligned aligned = {
        .arena = &arena,
        .estimated = !reversed && !pair->whole.second &&
                     (pair->whole.model ? pair->whole.model : request->model)->info.quality};
    writer_begin_object(out, NULL);
    writer_string_of(out, "text", reversed ? pair->whole.source : pair->whole.target,
                     reversed ? pair->whole.source_length : pair->whole.target_length);
    answer_put_models(request, &pair->whole, out);
    if (align_pair(request, pair, &aligned) == 0 && join(pair, &arena, &joined) == 0) {
        const struct whole whole = {{joined.source, joined.source_length},
                                    {joined.target, joined.target_length}};
        if (reversed)
            transpose(&aligned);
        put_aligned(&aligned, out);
        if (request->wanted.include & ~(unsigned)ALIGN_PARTS)
            put_sentences(request, pair, &joined, out);
        size_t before = out->length;
        if (joined.count > 0)
            warnings_put(request, &joined, &whole, true, &arena, out);
        if (out->length == before) {
            writer_begin_array(out, "warnings");
            writer_end_array(out);
        }
    } else {
        writer_fail(out);
    }
    writer_end_object(out);
    arena_done(&arena);
}

void align_put_results(struct request *request, struct writer *out) {
    const struct aligned_pairs *pairs = request->pairs;
    writer_begin_array(out, "results");
    for (size_t i = 0; i < pairs->count && !writer_ended(out) && !request_is_over(request); i++)
        put_pair(request, &pairs->all[i], out);
    writer_end_array(out);
}
