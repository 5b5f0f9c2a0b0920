/* This file writes the members of a sentence's object. server/decode/reply.def lists them; each has
 * a function here, which writes to any writer: to one that counts, it gives a lower bound of its
 * length. What has not been computed yet (a hypothesis, its rendering) is NULL then. */
#include "server/api/members.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/decode/links.h"
#include "server/decode/outcome.h"
#include <math.h>
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024 };

/* One hypothesis of one sentence. */
struct sentence_view {
    struct request *request;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    const struct rendering *rendering; /* NULL: not rendered, since its length is counted */
    const struct value_places *begin;  /* its place in the whole text; NULL: not written, or */
    bool later;                        /* written when the sentences before it are known */
    size_t rows;                       /* target tokens to write; `eos` adds the final </s> */
    bool inner;                        /* it is one of `hypotheses` */
    struct arena *arena;               /* scratch */
    struct writer *out;
};

static struct sentence_view view_choose(const struct sentence_view *view,
                                        const struct hypothesis *hypothesis) {
    struct sentence_view chosen = *view;
    bool eos = hypothesis->ended && view->request->wanted.include & INCLUDE_EOS;
    chosen.hypothesis = hypothesis;
    chosen.rows = hypothesis->length + eos;
    return chosen;
}

static bool is_over(struct request *request, const struct writer *out) {
    return writer_ended(out) || request_is_over(request);
}

bool members_are_over(const struct members *members) {
    return is_over(members->request, members->out);
}

/* ---- places ---- */

static void put_pair(const struct sentence_view *view, size_t source, size_t target) {
    writer_begin_array(view->out, NULL);
    writer_count(view->out, NULL, source);
    writer_count(view->out, NULL, target);
    writer_end_array(view->out);
}

static void put_offset(const struct sentence_view *view, struct utf16_cursor *cursor, size_t begin,
                       size_t end) {
    struct value_place from = {begin, character_utf16_position(cursor, begin)},
                       to = {end, character_utf16_position(cursor, end)};
    value_put_place(view->out, NULL, from, to);
}

/* tokens: [count], or NULL if they are not known. end: the place of </s> follows. */
static void put_token_offsets(const struct sentence_view *view, const char *key, const char *text,
                              const struct token *tokens, size_t count, bool end) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < count; i++)
        put_offset(view, &cursor, tokens ? tokens[i].begin : 0, tokens ? tokens[i].end : 0);
    if (end)
        put_offset(view, &cursor, strlen(text), strlen(text));
    writer_end_array(view->out);
}

/* Moves a position past the first `bytes` bytes of a text. */
static struct value_place place_after(struct value_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct value_place){place.bytes + bytes,
                                place.units + character_utf16_position(&cursor, bytes)};
}

/* The member in which a sentence has its place in the whole text, and how a reply has it that is
 * written before that is known: JSON has no such byte. */
#define SPAN  "span"
#define LATER "\1"

static void put_span(struct writer *out, const char *key, const struct value_places *begin,
                     const struct value_places *end) {
    writer_begin_object(out, key);
    value_put_place(out, "source", begin->source, end->source);
    value_put_place(out, "target", begin->target, end->target);
    writer_end_object(out);
}

/* Moves a position past a sentence, [length] bytes, and its translation. */
static struct value_places places_after(const struct value_places *at, const char *source,
                                        size_t length, const char *target) {
    return (struct value_places){place_after(at->source, source, length),
                                 place_after(at->target, target, strlen(target))};
}

/* ---- the members, in the order of reply.def ---- */

static void put_source_text(const struct sentence_view *view, const char *key) {
    writer_string_of(view->out, key, sentence_text(view->sentence),
                     sentence_text_length(view->sentence));
}

static void put_text(const struct sentence_view *view, const char *key) {
    writer_string(view->out, key, view->rendering ? view->rendering->text : "");
}

static void put_source_tokens(const struct sentence_view *view, const char *key) {
    writer_begin_array(view->out, key);
    for (size_t j = 0; j < view->sentence->length; j++)
        writer_string(view->out, NULL, view->sentence->tokens[j].piece);
    writer_end_array(view->out);
}

static void put_tokens(const struct sentence_view *view, const char *key) {
    size_t length = view->hypothesis->length;
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < length; i++)
        writer_string(view->out, NULL, view->rendering ? view->rendering->tokens[i].piece : "");
    if (view->rows > length)
        writer_string(view->out, NULL, "</s>");
    writer_end_array(view->out);
}

static void put_score(const struct sentence_view *view, const char *key) {
    writer_number(view->out, key, view->hypothesis->score);
}

static void put_log_prob(const struct sentence_view *view, const char *key) {
    writer_number(view->out, key, view->hypothesis->log_prob);
}

const char *const members_finish_reasons[] = {
    [FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};

static void put_finish_reason(const struct sentence_view *view, const char *key) {
    writer_string(view->out, key, members_finish_reasons[view->hypothesis->finish]);
}

static void put_optimal(const struct sentence_view *view, const char *key) {
    const struct search_options *options = &view->sentence->options;
    if (options->strategy == &search_exact || options->phrases.approximates)
        writer_boolean(view->out, key, view->hypothesis->finish != FINISH_BUDGET);
}

static void put_log_probs(const struct sentence_view *view, const char *key) {
    writer_numbers(view->out, key, view->hypothesis->log_probs, view->rows, DECIMAL_DIGITS);
}

static void put_entropy(const struct sentence_view *view, const char *key) {
    writer_numbers(view->out, key, view->hypothesis->entropies, view->rows, DECIMAL_DIGITS);
}

static void put_rows(const struct sentence_view *view, const char *key, const float *const *rows) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < view->rows; i++)
        writer_numbers(view->out, NULL, rows ? rows[i] : NULL, view->sentence->length,
                       view->request->wanted.digits);
    writer_end_array(view->out);
}

static void put_attention(const struct sentence_view *view, const char *key) {
    put_rows(view, key, view->hypothesis->attention);
}

static void put_scores(const struct sentence_view *view, const char *key) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < view->rows; i++) {
        const float *scores = view->hypothesis->rows[i]->scores;
        writer_begin_array(view->out, NULL);
        for (size_t j = 0; j < view->sentence->length; j++)
            if (scores && !isnan(scores[j]))
                writer_number(view->out, NULL, (double)scores[j]);
            else
                writer_null(view->out, NULL);
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

static void put_soft_alignment(const struct sentence_view *view, const char *key) {
    put_rows(view, key, view->hypothesis->alignment);
}

static void put_alignment(const struct sentence_view *view, const char *key) {
    struct span own = sentence_own(view->sentence);
    bool has_end = own.end < view->sentence->length;
    writer_begin_array(view->out, key);
    for (size_t i = 0, j; view->rendering && i < view->hypothesis->length; i++) {
        const float *row = view->hypothesis->alignment[i];
        if (render_aligned(row + own.begin, own.end - own.begin, has_end ? row[own.end] : 0, &j))
            put_pair(view, own.begin + j, i);
    }
    writer_end_array(view->out);
}

static void put_matrix(const struct sentence_view *view, const char *key,
                       const struct word_matrix *matrix) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < matrix->target_count; i++)
        writer_numbers(view->out, NULL, matrix->weights + i * matrix->source_count,
                       matrix->source_count, view->request->wanted.digits);
    writer_end_array(view->out);
}

/* Links the words as the request asks for it. Changes the weights of the alignment. */
static int make_links(const struct sentence_view *view, struct word_matrix *alignment,
                      struct links *out) {
    const struct links_kind *kind =
        view->request->wanted.links ? view->request->wanted.links : links_kind_find("best");
    bool head = translator_info(view->sentence->translator).alignment_head;
    links_prepare(kind, alignment, !head);
    return links_make(kind, alignment, view->arena, out, NULL);
}

/* Writes the members of `words`. Returns -1 if memory runs out. */
static int put_word_members(const struct sentence_view *view) {
    const struct hypothesis *hypothesis = view->hypothesis;
    struct word_sides sides;
    const struct word_side *const both[] = {&sides.source, &sides.target};
    const char *const names[] = {"source", "target"};
    const char *const texts[] = {sentence_text(view->sentence), view->rendering->text};
    struct writer *out = view->out;
    struct word_matrix attention, alignment;
    struct links links = {0};
    if (render_words(&(struct rendered_sentence){view->sentence, hypothesis, view->rendering},
                     WORDS_UNICODE, view->arena, &sides, NULL) != 0 ||
        render_merge(&sides, hypothesis->attention, view->arena, &attention, NULL) != 0 ||
        render_merge(&sides, hypothesis->alignment, view->arena, &alignment, NULL) != 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        writer_begin_array(out, names[i]);
        for (size_t word = 0; word < both[i]->count; word++) {
            struct span span = both[i]->words[word];
            writer_string_of(out, NULL, texts[i] + span.begin, span.end - span.begin);
        }
        writer_end_array(out);
    }

    put_matrix(view, "attention", &attention);
    put_matrix(view, "soft_alignment", &alignment);
    if (make_links(view, &alignment, &links) != 0)
        return -1;
    writer_begin_array(out, "alignment");
    for (size_t i = 0; i < links.count; i++)
        put_pair(view, links.all[i].source, links.all[i].target);
    writer_end_array(out);

    writer_begin_object(out, "offsets");
    for (size_t i = 0; i < 2; i++) {
        struct utf16_cursor cursor = {.text = texts[i]};
        writer_begin_array(out, names[i]);
        for (size_t word = 0; word < both[i]->count; word++)
            put_offset(view, &cursor, both[i]->words[word].begin, both[i]->words[word].end);
        writer_end_array(out);
    }
    writer_end_object(out);
    return 0;
}

static int put_quality_members(const struct sentence_view *view) {
    struct word_sides sides;
    struct quality quality;
    if (render_words(&(struct rendered_sentence){view->sentence, view->hypothesis, view->rendering},
                     WORDS_UNICODE, view->arena, &sides, NULL) != 0 ||
        rendering_quality(view->sentence, view->hypothesis,
                          &(struct token_words){sides.target.tokens, sides.target.count},
                          view->arena, &quality, NULL) != 0)
        return -1;
    writer_number(view->out, "sentence", (double)quality.sentence);
    writer_numbers(view->out, "words", quality.words, quality.count, DECIMAL_DIGITS);
    return 0;
}

/* Writes an object whose members are computed from the rendering in scratch memory. */
static void put_computed(const struct sentence_view *view, const char *key,
                         int (*put)(const struct sentence_view *view)) {
    struct arena_mark mark = arena_mark(view->arena);
    writer_begin_object(view->out, key);
    if (view->rendering && put(view) != 0)
        writer_fail(view->out);
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

static void put_words(const struct sentence_view *view, const char *key) {
    put_computed(view, key, put_word_members);
}

/* The places of words `range` in a text. */
static void put_words_place(const struct sentence_view *view, const char *key,
                            struct utf16_cursor *cursor, const struct word_side *side,
                            struct word_span range) {
    size_t begin = side->words[range.begin].begin, end = side->words[range.end - 1].end;
    value_put_place(view->out, key,
                    (struct value_place){begin, character_utf16_position(cursor, begin)},
                    (struct value_place){end, character_utf16_position(cursor, end)});
}

static int put_phrase_items(const struct sentence_view *view) {
    struct word_sides sides;
    struct word_matrix alignment;
    struct links links;
    struct phrase_pairs pairs;
    if (render_words(&(struct rendered_sentence){view->sentence, view->hypothesis, view->rendering},
                     WORDS_UNICODE, view->arena, &sides, NULL) != 0 ||
        render_merge(&sides, view->hypothesis->alignment, view->arena, &alignment, NULL) != 0 ||
        make_links(view, &alignment, &links) != 0)
        return -1;
    const struct word_links words = {links.all, links.count, sides.source.count,
                                     sides.target.count};
    if (phrase_pairs_find(&words, view->arena, &pairs, NULL) != 0)
        return -1;
    struct utf16_cursor source = {.text = sentence_text(view->sentence)},
                        target = {.text = view->rendering->text};
    for (const struct phrase_pair *pair = pairs.all; pair < pairs.all + pairs.count; pair++) {
        writer_begin_object(view->out, NULL);
        put_words_place(view, "source", &source, &sides.source, pair->source);
        put_words_place(view, "target", &target, &sides.target, pair->target);
        writer_end_object(view->out);
    }
    return 0;
}

static void put_phrases(const struct sentence_view *view, const char *key) {
    struct arena_mark mark = arena_mark(view->arena);
    writer_begin_array(view->out, key);
    if (view->rendering && put_phrase_items(view) != 0)
        writer_fail(view->out);
    writer_end_array(view->out);
    arena_release(view->arena, mark);
}

static void put_quality(const struct sentence_view *view, const char *key) {
    put_computed(view, key, put_quality_members);
}

static void put_offsets(const struct sentence_view *view, const char *key) {
    const struct sentence *sentence = view->sentence;
    const struct rendering *rendering = view->rendering;
    const char *source = sentence_text(sentence), *target = rendering ? rendering->text : "";
    size_t length = view->hypothesis->length;
    writer_begin_object(view->out, key);
    put_token_offsets(view, "source", source, sentence->tokens, sentence->length, false);
    put_token_offsets(view, "target", target, rendering ? rendering->tokens : NULL, length,
                      view->rows > length);
    if (view->begin) {
        const struct value_places end =
            places_after(view->begin, source, sentence_text_length(sentence), target);
        put_span(view->out, SPAN, view->begin, &end);
    } else if (view->later) {
        writer_json(view->out, SPAN, LATER);
    }
    writer_end_object(view->out);
}

/* Writes the opaque runs, which the translation copies unchanged. */
static void put_opaque(const struct sentence_view *view, const char *key) {
    static const struct value_place start = {0, 0};
    const struct sentence *sentence = view->sentence;
    const char *source = sentence_text(sentence);
    writer_begin_array(view->out, key);
    for (size_t i = 0; view->rendering && i < view->hypothesis->length; i++) {
        const struct opaque_run *run = glossary_run(sentence, view->hypothesis->tokens[i]);
        const struct token *written = &view->rendering->tokens[i];
        if (!run)
            continue;
        writer_begin_object(view->out, NULL);
        value_put_place(view->out, "source", place_after(start, source, run->begin),
                        place_after(start, source, run->end));
        value_put_place(view->out, "target",
                        place_after(start, view->rendering->text, written->begin),
                        place_after(start, view->rendering->text, written->end));
        writer_string(view->out, "kind", opaque_name(run->kind));
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

static void put_top_k(const struct sentence_view *view, const char *key) {
    writer_begin_array(view->out, key);
    for (size_t row = 0; view->hypothesis->rows && row < view->rows; row++) {
        const struct alternatives *step = view->hypothesis->rows[row]->alternatives;
        writer_begin_array(view->out, NULL);
        for (size_t i = 0; i < step->count; i++) {
            writer_begin_object(view->out, NULL);
            writer_string(view->out, "token", rendering_piece(view->sentence, step->tokens[i]));
            writer_number(view->out, "log_prob", (double)step->log_probs[i]);
            writer_end_object(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

static void put_timing(const struct sentence_view *view, const char *key) {
    const struct job *job = view->sentence->caller.owner;
    writer_begin_object(view->out, key);
    writer_number(view->out, "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000);
    writer_number(view->out, "decode_ms", (double)(job->done_us - job->admitted_us) / 1000);
    writer_count(view->out, "steps", view->sentence->steps);
    writer_end_object(view->out);
}

/* Writes one part as [layer][head][row][column]. Pads decoder rows with zeros, since a step attends
 * to no later step. */
static void put_looks(const struct sentence_view *view, enum looks_part part, size_t rows,
                      const char *key) {
    const struct look_set *set = &view->sentence->looks->parts[part];
    float row[REQUEST_HEADS_TOKENS + 1];
    if (set->layers == 0)
        return;
    writer_begin_array(view->out, key);
    for (size_t layer = 0; layer < set->layers && !is_over(view->request, view->out); layer++) {
        writer_begin_array(view->out, NULL);
        for (size_t head = 0; head < set->heads; head++) {
            writer_begin_array(view->out, NULL);
            for (size_t i = 0, count; i < rows; i++) {
                const float *seen = looks_row(view->sentence->looks, part, layer, head, i, &count);
                memset(row, 0, sizeof row);
                memcpy(row, seen, count * sizeof *row);
                writer_numbers(view->out, NULL, row, part == LOOKS_DECODER ? rows : count,
                               view->request->wanted.digits);
            }
            writer_end_array(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

static void put_heads(const struct sentence_view *view, const char *key) {
    if (view->inner)
        return;
    if (!view->rendering) {
        size_t weights = sentence_looks(view->sentence, view->rows);
        writer_numbers(view->out, key, NULL, weights, view->request->wanted.digits);
        return;
    }
    writer_begin_object(view->out, key);
    put_looks(view, LOOKS_ENCODER, view->sentence->length, "encoder");
    put_looks(view, LOOKS_DECODER, view->rows, "decoder");
    put_looks(view, LOOKS_CROSS, view->rows, "cross");
    writer_end_object(view->out);
}

/* Writes the nodes of the search tree. */
static void put_beam(const struct sentence_view *view, const char *key) {
    static const char *const states[] = {
        [BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
    size_t count = view->sentence->hypotheses ? view->sentence->search.tree.count : 0;
    if (view->inner)
        return;
    writer_begin_array(view->out, key);
    for (size_t id = 0; id < count; id++) {
        const struct branch *b = search_branch(&view->sentence->search, id);
        writer_begin_object(view->out, NULL);
        writer_count(view->out, "id", id);
        if (b->parent == BRANCH_START)
            writer_null(view->out, "parent");
        else
            writer_count(view->out, "parent", b->parent);
        writer_count(view->out, "step", b->step);
        writer_string(view->out, "token", rendering_piece(view->sentence, b->token));
        writer_number(view->out, "log_prob", (double)b->log_prob);
        writer_number(view->out, "score", (double)b->score);
        writer_string(view->out, "state", states[b->state]);
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

static void put_members(const struct sentence_view *view);

/* Returns how many hypotheses a sentence has or, before it is decoded, will have at least: sampling
 * yields as many as the request asks for, a beam at least one. */
static size_t least_hypotheses(const struct sentence_view *view) {
    const struct search_options *search = &view->request->parameters.search;
    if (view->sentence->hypotheses)
        return view->sentence->count;
    return search->strategy == &search_sample ? search->n_best : 1;
}

/* The best hypothesis comes first and repeats the sentence's object. */
static void put_hypotheses(const struct sentence_view *view, const char *key) {
    const struct sentence *sentence = view->sentence;
    if (view->inner || view->request->parameters.search.n_best <= 1)
        return;
    writer_begin_array(view->out, key);
    for (size_t h = 0; h < least_hypotheses(view) && !is_over(view->request, view->out); h++) {
        struct arena_mark mark = arena_mark(view->arena);
        const struct hypothesis *hypothesis =
            sentence->hypotheses ? &sentence->hypotheses[h] : view->hypothesis;
        struct sentence_view one = view_choose(view, hypothesis);
        struct rendering rendering;
        one.inner = true;
        if (h > 0) {
            one.begin = NULL;
            one.later = false;
        }
        if (one.rendering)
            one.rendering = &rendering;
        writer_begin_object(view->out, NULL);
        if (!one.rendering ||
            rendering_make(sentence, hypothesis, view->arena, &rendering, NULL) == 0)
            put_members(&one);
        else
            writer_fail(view->out);
        writer_end_object(view->out);
        arena_release(view->arena, mark);
    }
    writer_end_array(view->out);
}

static const struct member {
    const char *name;
    unsigned parts; /* 0: always written */
    void (*put)(const struct sentence_view *view, const char *key);
} all_members[] = {
#define MEMBER(name, parts, type, text) {#name, parts, put_##name},
#include "server/decode/reply.def"
};

static void put_members(const struct sentence_view *view) {
    for (size_t i = 0; i < sizeof all_members / sizeof *all_members; i++) {
        const struct member *member = &all_members[i];
        if (!member->parts || member->parts & view->request->wanted.include)
            member->put(view, member->name);
    }
}

/* ---- sentences ---- */

/* Moves past what precedes sentence i in the source, and in the output, too. */
static void pass_gap(const struct members *members, size_t i) {
    const struct text *text = members->text;
    struct value_places *at = members->at;
    struct span gap = outcome_gap(text, i);
    at->source = place_after(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = place_after(at->target, text->source + gap.begin, gap.end - gap.begin);
}

void members_put(const struct members *members, size_t i, const struct rendering *best) {
    const struct sentence *sentence = &members->text->sentences[i];
    struct value_places *at = members->at;
    pass_gap(members, i);
    struct sentence_view view = {.request = members->request,
                                 .sentence = sentence,
                                 .rendering = best,
                                 .begin = members->apart ? NULL : at,
                                 .arena = members->arena,
                                 .out = members->out};
    view = view_choose(&view, &sentence->hypotheses[0]);
    put_members(&view);
    *at = places_after(at, sentence_text(sentence), sentence_text_length(sentence), best->text);
}

void members_show(struct request *request, const struct sentence *sentence, struct writer *out) {
    struct arena arena;
    struct rendering best;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {.request = request,
                                 .sentence = sentence,
                                 .rendering = &best,
                                 .later = true,
                                 .arena = &arena,
                                 .out = out};
    view = view_choose(&view, &sentence->hypotheses[0]);
    writer_begin_object(out, NULL);
    if (rendering_make(sentence, view.hypothesis, &arena, &best, NULL) == 0)
        put_members(&view);
    else
        writer_fail(out);
    writer_end_object(out);
    arena_done(&arena);
}

void members_put_shown(const struct members *members, size_t i) {
    static const char later[] = ",\"" SPAN "\":" LATER;
    const size_t mark = sizeof LATER - 1, member = sizeof later - 1;
    const struct job *job = &members->text->jobs[i];
    const struct outcome *outcome = job->outcome;
    const char *rest = outcome_shown(outcome), *end = rest + outcome->shown_length, *found;
    struct writer whole = {.most = SIZE_MAX};
    pass_gap(members, i);
    const struct value_places next =
        places_after(members->at, members->text->source + job->source.begin,
                     job->source.end - job->source.begin, outcome->text);
    while ((found = memmem(rest, (size_t)(end - rest), later, member))) {
        writer_put(&whole, rest, (size_t)(found - rest) + (members->apart ? 0 : member - mark));
        if (!members->apart)
            put_span(&whole, NULL, members->at, &next);
        rest = found + member;
    }
    writer_put(&whole, rest, (size_t)(end - rest));
    if (writer_ended(&whole))
        writer_fail(members->out);
    else
        writer_json(members->out, NULL, whole.bytes);
    writer_done(&whole);
    *members->at = next;
}

void members_count(struct request *request, const struct sentence *sentence, struct writer *out) {
    const struct hypothesis shortest = {.length = sentence->options.min_length};
    struct arena arena; /* nothing is allocated while lengths are counted */
    arena_init(&arena, 1);
    struct sentence_view view = {
        .request = request, .sentence = sentence, .arena = &arena, .out = out};
    view = view_choose(&view, sentence->hypotheses ? &sentence->hypotheses[0] : &shortest);
    writer_begin_object(out, NULL);
    put_members(&view);
    writer_end_object(out);
    arena_done(&arena);
}
