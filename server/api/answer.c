/* This file writes replies in alignd's own dialect: the objects of texts and sentences, their warnings, and the events of a stream.
 * It also estimates the length of a reply beforehand. Scratch memory comes from an arena that is freed after each text or event. */
#include "model/base/utf8.h"
#include "server/api/endpoint.h"
#include "server/decode/events.h"
#include "server/decode/outcome.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a sentence ---- */

/* Holds a position in the whole source or target text. */
struct api_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct api_places {
    struct api_place source, target;
};

enum { SCRATCH_BYTES = 16 * 1024 };

/* Holds the state for writing one hypothesis of one sentence. */
struct sentence_view {
    struct request *request;
    unsigned include;
    const struct text *text;
    const struct sentence *sentence;
    const struct hypothesis *hypothesis;
    struct rendering rendering;
    size_t rows;         /* number of target tokens to write; `eos` adds the final </s> */
    struct arena *arena; /* scratch */
    struct writer *out;
    bool apart; /* sentences have no offsets in the whole text */
};

static const char *const finish_reasons[] = {[FINISH_EOS] = "eos", [FINISH_LENGTH] = "length", [FINISH_BUDGET] = "budget"};

static void put_pair(struct sentence_view *view, size_t source, size_t target) {
    writer_begin_array(view->out, NULL);
    writer_count(view->out, NULL, source);
    writer_count(view->out, NULL, target);
    writer_end_array(view->out);
}

/* Writes the rows of the attention or of the alignment. */
static void put_rows(struct sentence_view *view, const char *key, const float *const *rows) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < view->rows; i++)
        writer_numbers(view->out, NULL, rows[i], view->sentence->length, view->request->digits);
    writer_end_array(view->out);
}

/* Writes two offsets, each in bytes of UTF-8 and in UTF-16 units. */
static void put_place(struct writer *out, const char *key, struct api_place begin, struct api_place end) {
    writer_begin_object(out, key);
    writer_count(out, "start", begin.bytes);
    writer_count(out, "end", end.bytes);
    writer_count(out, "start_utf16", begin.units);
    writer_count(out, "end_utf16", end.units);
    writer_end_object(out);
}

static void put_offset(struct sentence_view *view, struct utf16_cursor *cursor, size_t begin, size_t end) {
    struct api_place from = {begin, utf16_position(cursor, begin)}, to = {end, utf16_position(cursor, end)};
    put_place(view->out, NULL, from, to);
}

static void put_matrix(struct sentence_view *view, const char *key, const struct word_matrix *matrix) {
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < matrix->target_count; i++)
        writer_numbers(view->out, NULL, matrix->weights + i * matrix->source_count, matrix->source_count, view->request->digits);
    writer_end_array(view->out);
}

static void put_words(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    const struct hypothesis *hypothesis = view->hypothesis;
    struct word_sides sides;
    const struct word_side *const both[] = {&sides.source, &sides.target};
    const char *const names[] = {"source", "target"}, *const texts[] = {sentence_text(view->sentence), view->rendering.text};
    struct writer *out = view->out;
    struct word_matrix attention, alignment;
    const struct links_kind *kind = view->request->links ? view->request->links : links_kind_find("best");
    bool head = translator_info(view->sentence->translator).alignment_head;
    struct links links = {0};
    writer_begin_object(out, "words");
    if (render_words(view->sentence, WORDS_UNICODE, hypothesis, &view->rendering, view->arena, &sides, NULL) == 0 &&
        render_merge(&sides, hypothesis->attention, view->arena, &attention, NULL) == 0 &&
        render_merge(&sides, hypothesis->alignment, view->arena, &alignment, NULL) == 0) {
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
        links_prepare(kind, &alignment, !head);
        if (links_make(kind, &alignment, view->arena, &links, NULL) != 0)
            writer_fail(out);
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
    } else {
        writer_fail(out);
    }
    writer_end_object(out);
    arena_release(view->arena, mark);
}

static void put_quality(struct sentence_view *view) {
    struct arena_mark mark = arena_mark(view->arena);
    struct word_sides sides;
    struct quality quality;
    writer_begin_object(view->out, "quality");
    if (render_words(view->sentence, WORDS_UNICODE, view->hypothesis, &view->rendering, view->arena, &sides, NULL) == 0 &&
        translator_quality(view->sentence, view->hypothesis, sides.target.tokens, sides.target.count, view->arena, &quality,
                           NULL) == 0) {
        writer_number(view->out, "sentence", (double)quality.sentence);
        writer_numbers(view->out, "words", quality.words, quality.count, DECIMAL_DIGITS);
    } else {
        writer_fail(view->out);
    }
    writer_end_object(view->out);
    arena_release(view->arena, mark);
}

static void put_token_offsets(struct sentence_view *view, const char *key, const char *text, const struct token *tokens,
                              size_t count, bool end) {
    struct utf16_cursor cursor = {.text = text};
    writer_begin_array(view->out, key);
    for (size_t i = 0; i < count; i++)
        put_offset(view, &cursor, tokens[i].begin, tokens[i].end);
    if (end)
        put_offset(view, &cursor, strlen(text), strlen(text));
    writer_end_array(view->out);
}

/* Moves a position past the first `bytes` bytes of a text. */
static struct api_place place_after(struct api_place place, const char *text, size_t bytes) {
    struct utf16_cursor cursor = {.text = text};
    return (struct api_place){place.bytes + bytes, place.units + utf16_position(&cursor, bytes)};
}

/* Writes the offsets of the tokens and of the sentence, and the opaque runs, which the translation copies unchanged. If begin is
 * NULL, the sentence has no offsets in the whole text. */
static void put_offsets(struct sentence_view *view, const struct api_places *begin) {
    static const struct api_place start = {0, 0};
    const struct sentence *sentence = view->sentence;
    const char *source = sentence_text(sentence), *target = view->rendering.text;
    size_t length = view->hypothesis->length;
    writer_begin_object(view->out, "offsets");
    put_token_offsets(view, "source", source, sentence->tokens, sentence->length, false);
    put_token_offsets(view, "target", target, view->rendering.tokens, length, view->rows > length);
    if (begin) {
        writer_begin_object(view->out, "span");
        put_place(view->out, "source", begin->source, place_after(begin->source, source, sentence_text_length(sentence)));
        put_place(view->out, "target", begin->target, place_after(begin->target, target, strlen(target)));
        writer_end_object(view->out);
    }
    writer_end_object(view->out);

    writer_begin_array(view->out, "opaque");
    for (size_t i = 0; i < length; i++) {
        const struct opaque_run *run = glossary_run(sentence, view->hypothesis->tokens[i]);
        const struct token *written = &view->rendering.tokens[i];
        if (!run)
            continue;
        writer_begin_object(view->out, NULL);
        put_place(view->out, "source", place_after(start, source, run->begin), place_after(start, source, run->end));
        put_place(view->out, "target", place_after(start, target, written->begin), place_after(start, target, written->end));
        writer_string(view->out, "kind", opaque_name(run->kind));
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

static void put_top_k(struct sentence_view *view) {
    writer_begin_array(view->out, "top_k");
    for (size_t row = 0; row < view->rows; row++) {
        const struct alternatives *step = view->hypothesis->alternatives[row];
        writer_begin_array(view->out, NULL);
        for (size_t i = 0; i < step->count; i++) {
            writer_begin_object(view->out, NULL);
            writer_string(view->out, "token", translator_piece(view->sentence, step->tokens[i]));
            writer_number(view->out, "log_prob", (double)step->log_probs[i]);
            writer_end_object(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

/* Returns true if the client no longer needs the rest of the answer. */
static bool is_over(const struct sentence_view *view) {
    return writer_ended(view->out) || request_is_over(view->request);
}

/* Writes one part as [layer][head][row][column]. Pads decoder rows with zeros, since a step attends to no later step. */
static void put_looks(struct sentence_view *view, enum looks_part part, size_t rows, const char *key) {
    const struct look_set *set = &view->sentence->looks->parts[part];
    float row[REQUEST_HEADS_TOKENS + 1];
    if (set->layers == 0)
        return;
    writer_begin_array(view->out, key);
    for (size_t layer = 0; layer < set->layers && !is_over(view); layer++) {
        writer_begin_array(view->out, NULL);
        for (size_t head = 0; head < set->heads; head++) {
            writer_begin_array(view->out, NULL);
            for (size_t i = 0, count; i < rows; i++) {
                const float *seen = looks_row(view->sentence->looks, part, layer, head, i, &count);
                memset(row, 0, sizeof row);
                memcpy(row, seen, count * sizeof *row);
                writer_numbers(view->out, NULL, row, part == LOOKS_DECODER ? rows : count, view->request->digits);
            }
            writer_end_array(view->out);
        }
        writer_end_array(view->out);
    }
    writer_end_array(view->out);
}

/* Writes the members of one hypothesis. begin locates its sentence in the whole text; NULL omits these offsets. */
static void put_hypothesis(struct sentence_view *view, const struct api_places *begin) {
    const struct sentence *sentence = view->sentence;
    const struct hypothesis *hypothesis = view->hypothesis;
    struct writer *out = view->out;
    writer_string_of(out, "source_text", sentence_text(sentence), sentence_text_length(sentence));
    writer_string(out, "text", view->rendering.text);
    if (view->include & INCLUDE_TOKENS) {
        writer_begin_array(out, "source_tokens");
        for (size_t j = 0; j < sentence->length; j++)
            writer_string(out, NULL, sentence->tokens[j].piece);
        writer_end_array(out);
        writer_begin_array(out, "tokens");
        for (size_t i = 0; i < hypothesis->length; i++)
            writer_string(out, NULL, view->rendering.tokens[i].piece);
        if (view->rows > hypothesis->length)
            writer_string(out, NULL, "</s>");
        writer_end_array(out);
    }
    writer_number(out, "score", hypothesis->score);
    writer_number(out, "log_prob", hypothesis->log_prob);
    writer_string(out, "finish_reason", finish_reasons[hypothesis->finish]);
    if (sentence->options.strategy == &search_exact || sentence->options.approximates)
        writer_boolean(out, "optimal", hypothesis->finish != FINISH_BUDGET);

    if (view->include & INCLUDE_LOG_PROBS)
        writer_numbers(out, "log_probs", hypothesis->log_probs, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_ATTENTION)
        put_rows(view, "attention", hypothesis->attention);
    if (view->include & INCLUDE_SOFT_ALIGNMENT)
        put_rows(view, "soft_alignment", hypothesis->alignment);
    if (view->include & INCLUDE_ALIGNMENT) {
        struct span own = sentence_own(sentence);
        bool has_end = own.end < sentence->length;
        writer_begin_array(out, "alignment");
        for (size_t i = 0, j; i < hypothesis->length; i++) {
            const float *row = hypothesis->alignment[i];
            if (render_aligned(row + own.begin, own.end - own.begin, has_end ? row[own.end] : 0, &j))
                put_pair(view, own.begin + j, i);
        }
        writer_end_array(out);
    }
    if (view->include & INCLUDE_WORDS)
        put_words(view);
    if (view->include & INCLUDE_QUALITY)
        put_quality(view);
    if (view->include & INCLUDE_OFFSETS)
        put_offsets(view, begin);
    if (view->include & INCLUDE_ENTROPY)
        writer_numbers(out, "entropy", hypothesis->entropies, view->rows, DECIMAL_DIGITS);
    if (view->include & INCLUDE_TOP_K)
        put_top_k(view);
    if (view->include & INCLUDE_TIMING) {
        const struct job *job = sentence_job(sentence);
        writer_begin_object(out, "timing");
        writer_number(out, "queue_ms", (double)(job->admitted_us - job->queued_us) / 1000);
        writer_number(out, "decode_ms", (double)(job->done_us - job->admitted_us) / 1000);
        writer_count(out, "steps", sentence->steps);
        writer_end_object(out);
    }
}

static void view_choose(struct sentence_view *view, const struct hypothesis *hypothesis) {
    view->hypothesis = hypothesis;
    view->rows = hypothesis->length + (hypothesis->ended && (view->include & INCLUDE_EOS) ? 1 : 0);
}

/* Writes the nodes of the search tree. */
static void put_tree(struct sentence_view *view) {
    static const char *const states[] = {[BRANCH_KEPT] = "kept", [BRANCH_PRUNED] = "pruned", [BRANCH_FINISHED] = "finished"};
    writer_begin_array(view->out, "beam");
    for (size_t id = 0; id < view->sentence->search.tree.count; id++) {
        const struct branch *b = search_branch(&view->sentence->search, id);
        writer_begin_object(view->out, NULL);
        writer_count(view->out, "id", id);
        if (b->parent == BRANCH_START)
            writer_null(view->out, "parent");
        else
            writer_count(view->out, "parent", b->parent);
        writer_count(view->out, "step", b->step);
        writer_string(view->out, "token", translator_piece(view->sentence, b->token));
        writer_number(view->out, "log_prob", (double)b->log_prob);
        writer_number(view->out, "score", (double)b->score);
        writer_string(view->out, "state", states[b->state]);
        writer_end_object(view->out);
    }
    writer_end_array(view->out);
}

/* Writes sentence i of the view's text with its best hypothesis. The output keeps the white space that precedes the sentence in the
 * source. */
static void put_next(struct sentence_view *view, size_t i, const struct rendering *rendering, struct api_places *at) {
    const struct text *text = view->text;
    struct span gap = render_gap(text, i);
    at->source = place_after(at->source, text->source + gap.begin, gap.end - gap.begin);
    at->target = place_after(at->target, text->source + gap.begin, gap.end - gap.begin);
    view->sentence = &text->sentences[i];
    view->rendering = *rendering;
    const struct api_places *begin = view->apart ? NULL : at;
    view_choose(view, &view->sentence->hypotheses[0]);
    put_hypothesis(view, begin);
    if (view->request->include & INCLUDE_HEADS) {
        writer_begin_object(view->out, "heads");
        put_looks(view, LOOKS_ENCODER, view->sentence->length, "encoder");
        put_looks(view, LOOKS_DECODER, view->rows, "decoder");
        put_looks(view, LOOKS_CROSS, view->rows, "cross");
        writer_end_object(view->out);
    }
    if (view->request->include & INCLUDE_BEAM)
        put_tree(view);
    if (view->request->search.n_best > 1) { /* the best hypothesis comes first and repeats the sentence object */
        writer_begin_array(view->out, "hypotheses");
        for (size_t h = 0; h < view->sentence->count && !is_over(view); h++) {
            struct arena_mark mark = arena_mark(view->arena);
            view_choose(view, &view->sentence->hypotheses[h]);
            writer_begin_object(view->out, NULL);
            if (translator_render(view->sentence, view->hypothesis, view->arena, &view->rendering, NULL) == 0)
                put_hypothesis(view, h == 0 ? begin : NULL);
            else
                writer_fail(view->out);
            writer_end_object(view->out);
            arena_release(view->arena, mark);
        }
        writer_end_array(view->out);
    }
    at->source = place_after(at->source, sentence_text(view->sentence), sentence_text_length(view->sentence));
    at->target = place_after(at->target, rendering->text, strlen(rendering->text));
}

/* ---- warnings: a check reads a decoded text and adds at most one warning of each code ---- */

enum { MESSAGE_BYTES = 256, UNKNOWN_PARTS = 3, LANGUAGE_BYTES = 4096 };

/* Adds a warning, and lets put write its other members from detail. Returns -1 if memory runs out, or if put has no detail. */
__attribute__((format(printf, 6, 7))) static int add_warning(struct warnings *warnings, struct arena *arena, enum warning_code code,
                                                             void (*put)(struct writer *w, const struct warning *warning),
                                                             const void *detail, const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct warning *warning = arena_zalloc(arena, 1, sizeof *warning);
    const char *copy = arena_copy(arena, message, strlen(message));
    if (!warning || !copy || (put && !detail))
        return -1;
    *warning = (struct warning){.code = code, .message = copy, .put = put, .detail = detail};
    *(warnings->last ? &warnings->last->next : &warnings->first) = warning;
    warnings->last = warning;
    warnings->codes |= 1u << code;
    return 0;
}

/* Returns -1 if memory runs out. */
static int judge_sentence(const struct request *request, const struct text *text, size_t i, struct arena *arena,
                          struct judgement *out) {
    const struct sentence *first = text->pivot ? &text->pivot->first[i] : NULL;
    return text->jobs ? outcome_judgement(text->jobs[i].outcome, arena, out)
                      : judgement_make(request, text, &text->sentences[i], first, arena, out);
}

static void put_language(struct writer *w, const struct warning *warning) {
    writer_string(w, "language", warning->detail);
}

/* Warns if these bytes of a text appear to be in a language other than `source`. */
static int warn_of_language(const struct request *request, const char *source, const char *bytes, size_t length,
                            struct arena *arena, struct warnings *warnings) {
    char looks[LANGUAGE_NAME_BYTES], reads[LANGUAGE_NAME_BYTES];
    const struct model_set *models = request->models;
    size_t count = 0;
    const char **likely = arena_alloc(arena, 2 * models->count, sizeof *likely); /* the loaded models' languages */
    for (size_t i = 0; likely && i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        if (*code) /* a folder that cannot be read has no languages */
            likely[count++] = code;
    }
    struct language_other other = {.failed = true};
    if (likely)
        other = language_check(bytes, length, source, likely, count);
    if (other.failed || !*other.code)
        return other.failed ? -1 : 0;
    language_name(other.code, looks);
    language_name(source, reads);
    return add_warning(warnings, arena, WARNING_LANGUAGE, put_language, arena_copy(arena, other.code, strlen(other.code)),
                       "the text looks like %s, but the model reads %s", looks, reads);
}

/* Warns if a text without sentences looks like an ICU message, since it could not be parsed. */
static int warn_of_message(const char *text, size_t length, struct arena *arena, struct warnings *warnings) {
    if (!icu_message_is(text, length))
        return 0;
    return add_warning(warnings, arena, WARNING_UNTRANSLATED, NULL, NULL,
                       "the text was returned unchanged: it has braces but is not a valid ICU message");
}

static void put_list(struct writer *w, const char *name, const char *const *strings, size_t count) {
    writer_begin_array(w, name);
    for (size_t i = 0; i < count; i++)
        writer_string(w, NULL, strings[i]);
    writer_end_array(w);
}

static void put_lists(struct writer *w, const struct warning *warning) {
    const struct check_lists *lists = warning->detail;
    put_list(w, "source", lists->source, lists->source_count);
    put_list(w, "target", lists->target, lists->target_count);
}

/* The lists of a glossary have an entry's phrases at the same place. */
static void put_entries(struct writer *w, const struct warning *warning) {
    const struct check_lists *lists = warning->detail;
    writer_begin_array(w, "entries");
    for (size_t i = 0; i < lists->source_count; i++) {
        writer_begin_object(w, NULL);
        writer_strings(w, "source", lists->source[i], "target", lists->target[i], NULL);
        writer_end_object(w);
    }
    writer_end_array(w);
}

static void add_all(const char *const *strings, size_t count, const char **list, size_t *used) {
    for (size_t i = 0; i < count; i++)
        list[(*used)++] = strings[i];
}

/* Warns of what the sentences of a text and their translations do not share. all: the numbers of such strings. */
static int warn_of_differences(const struct request *request, const struct text *text, enum check check,
                               const struct check_lists *all, struct arena *arena, struct warnings *warnings) {
    static const struct {
        enum warning_code code;
        void (*put)(struct writer *w, const struct warning *warning);
        const char *message;
    } of[CHECKS] = {
        [CHECK_NUMBERS] = {WARNING_NUMBERS, put_lists, "the numbers in the translation differ from those in the text"},
        [CHECK_SIGNS] = {WARNING_SIGNS, put_lists, "the signs in the translation differ from those in the text"},
        [CHECK_GLOSSARY] = {WARNING_GLOSSARY, put_entries, "the translation lacks entries of the glossary that occur in the text"},
    };
    struct check_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    const char **source = arena_alloc(arena, all->source_count, sizeof *source);
    const char **target = arena_alloc(arena, all->target_count, sizeof *target);
    if (!lists || !source || !target)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(request, text, i, arena, &one) != 0)
            return -1;
        add_all(one.lists[check].source, one.lists[check].source_count, source, &lists->source_count);
        add_all(one.lists[check].target, one.lists[check].target_count, target, &lists->target_count);
    }
    lists->source = source;
    lists->target = target;
    return add_warning(warnings, arena, of[check].code, of[check].put, lists, "%s", of[check].message);
}

/* The translation of a text of which sentences are doubtful, and the words [count] in it that the model was unsure of. */
struct doubted_words {
    double estimate; /* of the least sure sentence, since one wrong sentence makes the text wrong */
    const char *text;
    struct span *words;
    size_t count;
};

static void put_doubt(struct writer *w, const struct warning *warning) {
    const struct doubted_words *doubted = warning->detail;
    struct utf16_cursor cursor = {.text = doubted->text};
    writer_number(w, "quality", doubted->estimate);
    if (!doubted->text)
        return;
    writer_begin_array(w, "words");
    for (size_t i = 0; i < doubted->count; i++) {
        struct api_place begin = {doubted->words[i].begin, utf16_position(&cursor, doubted->words[i].begin)},
                         end = {doubted->words[i].end, utf16_position(&cursor, doubted->words[i].end)};
        put_place(w, NULL, begin, end);
    }
    writer_end_array(w);
}

/* Warns of the doubtful sentences of a text, if there are any. Words are written where the reply has the text as it was decoded. */
static int warn_of_doubt(const struct request *request, const struct text *text, bool apart, struct arena *arena,
                         struct warnings *warnings) {
    struct doubted_words *doubted = arena_zalloc(arena, 1, sizeof *doubted);
    struct rendered rendered = {0};
    size_t sentences = 0, room = 0;
    if (!doubted)
        return -1;
    doubted->estimate = 1;
    for (size_t i = 0; i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(request, text, i, arena, &one) != 0)
            return -1;
        if (!one.doubt.doubtful)
            continue;
        sentences++;
        doubted->estimate = one.doubt.estimate < doubted->estimate ? one.doubt.estimate : doubted->estimate;
        if (apart || text->jobs)
            continue;
        if (!rendered.text && render_text(text, arena, &rendered, NULL) != 0)
            return -1;
        struct span *grown = arena_grow(arena, doubted->words, doubted->count, &room, one.doubt.word_count, sizeof *grown);
        if (!grown)
            return -1;
        doubted->words = grown;
        for (size_t k = 0; k < one.doubt.word_count; k++)
            grown[doubted->count++] =
                (struct span){rendered.begins[i] + one.doubt.words[k].begin, rendered.begins[i] + one.doubt.words[k].end};
    }
    doubted->text = rendered.text;
    if (sentences == 0)
        return 0;
    if (text->count == 1)
        return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, doubted,
                           "the translation is probably wrong: the model is not sure of its words");
    return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, doubted,
                       "%zu of the %zu sentences are probably translated wrong: the model is not sure of their words", sentences,
                       text->count);
}

static const char *const names[WARNING_CODES] = {
    [WARNING_LANGUAGE] = "language",   [WARNING_UNTRANSLATED] = "untranslated", [WARNING_UNKNOWN] = "unknown",
    [WARNING_SHORTENED] = "shortened", [WARNING_NUMBERS] = "numbers",           [WARNING_SIGNS] = "signs",
    [WARNING_GLOSSARY] = "glossary",   [WARNING_DOUBTFUL] = "doubtful",         [WARNING_ENCODING] = "encoding",
    [WARNING_CHANGED] = "changed",
};

/* Adds the warnings of a text, and checks its language if `language` is set. Returns -1 if memory runs out. */
static int check_text(const struct request *request, const struct text *text, bool language, bool apart, struct arena *arena,
                      struct warnings *warnings) {
    struct judgement one, all = {0}; /* all holds the sums */
    if (text->count == 0)
        return warn_of_message(text->source, text->source_length, arena, warnings);
    for (size_t i = 0; i < text->count; i++) {
        if (judge_sentence(request, text, i, arena, &one) != 0)
            return -1;
        all.untranslated |= one.untranslated;
        all.unknown += one.unknown;
        all.tokens += one.tokens;
        all.omission.tokens += one.omission.tokens;
        all.omission.left += one.omission.left;
        for (size_t check = 0; check < CHECKS; check++) {
            all.lists[check].source_count += one.lists[check].source_count;
            all.lists[check].target_count += one.lists[check].target_count;
        }
    }

    const struct served_model *reader = text->model ? text->model : request->model;
    if (language && warn_of_language(request, reader->info.source, text->source, text->source_length, arena, warnings) != 0)
        return -1;
    if (all.untranslated &&
        add_warning(warnings, arena, WARNING_UNTRANSLATED, NULL, NULL,
                    "a sentence was returned unchanged: the model cannot read its letters, or found no translation") != 0)
        return -1;
    if (UNKNOWN_PARTS * all.unknown > all.tokens &&
        add_warning(warnings, arena, WARNING_UNKNOWN, NULL, NULL, "the model does not know %zu of the text's %zu tokens",
                    all.unknown, all.tokens) != 0)
        return -1;
    if (all.omission.left > 0 && add_warning(warnings, arena, WARNING_SHORTENED, NULL, NULL,
                                             "part of the text may be missing in the translation: %zu of its %zu tokens",
                                             all.omission.left, all.omission.tokens) != 0)
        return -1;
    for (enum check check = 0; check < CHECKS; check++)
        if (all.lists[check].source_count + all.lists[check].target_count > 0 &&
            warn_of_differences(request, text, check, &all.lists[check], arena, warnings) != 0)
            return -1;
    return request->warns ? warn_of_doubt(request, text, apart, arena, warnings) : 0; /* "warnings": false disables it */
}

/* The text that a client sent, and its translation as the client gets it. */
struct whole {
    struct bytes source, translation;
};

/* Warns if the whole text and its translation differ in their signs although no sentence does, or none that is known to. */
static int warn_of_whole(const struct request *request, const struct text *text, const struct whole *whole, struct arena *arena,
                         struct warnings *warnings) {
    const struct served_model *reader = text->model ? text->model : request->model, *writer = text->second ? text->second : reader;
    const char *variant = text->second ? text->second_variant : text->variant ? text->variant : request->variant;
    const char *language = text->language ? text->language : request->language;
    struct check_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    unsigned known = 1u << WARNING_SIGNS | 1u << WARNING_NUMBERS | 1u << WARNING_GLOSSARY | 1u << WARNING_UNTRANSLATED;
    if (warnings->codes & known || request->verbatim || request->glossary.lexicon || !request->warns || !reader ||
        !api_translates(&reader->info))
        return 0;
    if (!lists ||
        check_whole(language ? language : reader->info.source, variant ? variant : writer->info.target, whole->source.start,
                    whole->source.length, whole->translation.start, whole->translation.length, arena, lists) != 0)
        return -1;
    return lists->source_count + lists->target_count == 0
               ? 0
               : add_warning(warnings, arena, WARNING_SIGNS, put_lists, lists, "%s",
                             "the signs in the translation differ from those in the text");
}

int warnings_of_plan(struct request *request, const struct plan_answers *answers) {
    struct plan *plan = request->plan;
    struct arena *arena = &request->arena;
    struct warnings *warnings = arena_zalloc(arena, 1, sizeof *warnings);
    plan->warnings = warnings;
    if (!warnings)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        bool segments = plan->markup || item->marked;
        if (segments && item->count > 0 && i < plan->strings) { /* check the language of all segments together */
            char *joined = arena_alloc(arena, LANGUAGE_BYTES, 1);
            size_t length = 0;
            for (size_t j = 0; joined && j < item->count && length < LANGUAGE_BYTES; j++) {
                const struct text *text = &item->texts[j];
                size_t bytes = utf8_clip(text->source, text->source_length, LANGUAGE_BYTES - length - 1);
                memcpy(joined + length, text->source, bytes);
                length += bytes;
                joined[length++] = '\n';
            }
            if (!joined || warn_of_language(request, item->chosen.model->info.source, joined, length, arena, warnings) != 0)
                return -1;
        }
        if (!plan->markup && item->marked && item->count == 0 && item->chosen.model &&
            warn_of_message(item->source, item->length, arena, warnings) != 0)
            return -1;
        struct warning *before = warnings->last;
        for (size_t j = 0; j < item->count; j++) {
            struct warning *last = warnings->last;
            if (check_text(request, &item->texts[j], !segments, segments, arena, warnings) != 0)
                return -1;
            for (struct warning *added = last ? last->next : warnings->first; added; added = added->next)
                added->text = (size_t)(&item->texts[j] - request->texts);
        }
        if (!answers || plan->markup || item->count == 0 || warnings->last != before)
            continue;
        const struct whole whole = {{item->source, item->length}, {answers[i].all[0].text, answers[i].all[0].length}};
        struct warnings own = {0};
        if (warn_of_whole(request, &item->texts[0], &whole, arena, &own) != 0)
            return -1;
        if (own.first) {
            own.first->text = (size_t)(&item->texts[0] - request->texts);
            *(warnings->last ? &warnings->last->next : &warnings->first) = own.first;
            warnings->last = own.last;
            warnings->codes |= own.codes;
        }
    }
    return 0;
}

void warning_begin(struct writer *w, const struct warning *warning) {
    writer_begin_object(w, NULL);
    writer_strings(w, "code", names[warning->code], "message", warning->message, NULL);
    if (warning->put)
        warning->put(w, warning);
}

/* Writes the member "warnings" of a text's object if the text has warnings. apart: the object has no text in which sentences have
 * places. arena provides scratch memory. */
static void put_warnings(const struct request *request, const struct text *text, const struct whole *whole, bool apart,
                         struct arena *arena, struct writer *out) {
    struct warnings warnings = {0};
    if (check_text(request, text, true, apart, arena, &warnings) != 0 ||
        (whole && warn_of_whole(request, text, whole, arena, &warnings) != 0))
        writer_fail(out);
    if (!warnings.first)
        return;
    writer_begin_array(out, "warnings");
    for (const struct warning *warning = warnings.first; warning; warning = warning->next) {
        warning_begin(out, warning);
        writer_end_object(out);
    }
    writer_end_array(out);
}

const char *warning_name(size_t code) {
    return code < WARNING_CODES ? names[code] : NULL;
}

void api_name_warnings(const struct reply *reply, char text[API_WARNINGS_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (size_t code = 0; code < WARNING_CODES; code++)
        if (reply->warnings & 1u << code)
            length += (size_t)snprintf(text + length, API_WARNINGS_BYTES - length, "%s%s", length > 0 ? ", " : "", names[code]);
}

/* ---- a text ---- */

void api_put_pivot(const struct text *text, struct writer *out) {
    writer_begin_array(out, "pivot");
    writer_string(out, NULL, text->model->info.name);
    writer_string(out, NULL, text->second->info.name);
    writer_end_array(out);
}

void api_render_text(struct request *request, const struct text *text, const struct bytes *source, const struct bytes *markup,
                     struct writer *out) {
    struct arena arena;
    struct rendered rendered;
    arena_init(&arena, SCRATCH_BYTES);
    struct sentence_view view = {
        .request = request, .include = request->include, .text = text, .arena = &arena, .out = out, .apart = markup != NULL};
    if (render_text(text, &arena, &rendered, NULL) == 0) {
        writer_begin_object(out, NULL);
        writer_string_of(out, "text", markup ? markup->start : rendered.text, markup ? markup->length : rendered.length);
        const struct text *first = request->texts;
        if (text->detected) {
            writer_begin_object(out, "detected");
            writer_string(out, "language", text->detected);
            writer_number(out, "confidence", text->confidence);
            writer_end_object(out);
        }
        if (text->detected && (text->model != first->model || text->second != first->second)) { /* the reply names those of first */
            const struct served_model *last = text->second ? text->second : text->model;
            writer_strings(out, "model", last->info.name, "source", text->language ? text->language : text->model->info.source,
                           NULL);
            if (text->second)
                api_put_pivot(text, out);
        }
        if (text->pivot)
            writer_string_of(out, "pivot_text", text->pivot->text, text->pivot->length);
        struct api_places at = {0};
        writer_begin_array(out, "sentences");
        for (size_t i = 0; i < text->count && !is_over(&view); i++) {
            writer_begin_object(out, NULL);
            put_next(&view, i, &rendered.sentences[i], &at);
            writer_end_object(out);
        }
        writer_end_array(out);
        const struct whole whole = {{text->source, text->source_length}, {rendered.text, rendered.length}};
        const struct whole written = source ? (struct whole){*source, *markup} : whole;
        put_warnings(request, text, markup && !source ? NULL : &written, markup != NULL, &arena, out);
        writer_end_object(out);
    } else {
        writer_fail(out);
    }
    arena_done(&arena);
}

/* Joins the segments, one per line, into one text with all their sentences, so that each warning, for example, appears once.
 * Returns -1 if memory runs out. */
static int join(const struct plan_item *item, struct arena *arena, struct text *out) {
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < item->count; i++) {
        bytes += item->texts[i].source_length + 1;
        count += item->texts[i].count;
    }
    char *joined = arena_alloc(arena, bytes + 1, 1), *at = joined;
    struct sentence *sentences = arena_alloc(arena, count, sizeof *sentences);
    if (!joined || !sentences)
        return -1;
    *out = item->count > 0 ? item->texts[0] : (struct text){.model = item->chosen.model};
    out->pivot = NULL;
    out->source = item->count > 0 ? joined : item->source;
    out->source_length = item->count > 0 ? bytes : item->length;
    out->sentences = sentences;
    out->count = 0;
    for (size_t i = 0; i < item->count; i++) {
        const struct text *text = &item->texts[i];
        size_t begin = (size_t)(at - joined);
        for (size_t j = 0; j < text->count; j++) {
            struct sentence *sentence = &sentences[out->count++];
            *sentence = text->sentences[j]; /* the shared members are only read */
            sentence->text = joined;
            sentence->source.begin += begin;
            sentence->source.end += begin;
        }
        at = mempcpy(mempcpy(at, text->source, text->source_length), "\n", 1);
    }
    *at = '\0';
    return 0;
}

void api_render_item(struct request *request, const struct plan_item *item, struct writer *out) {
    const struct plan *plan = request->plan;
    struct arena arena;
    struct plan_answer answer;
    struct text text;
    if (!plan->markup && !item->marked) {
        api_render_text(request, &item->texts[0], NULL, NULL, out);
        return;
    }
    arena_init(&arena, 1 << 14);
    if (plan_write(plan, item, &arena, &answer) == 0 && join(item, &arena, &text) == 0)
        api_render_text(request, &text, plan->markup ? NULL : &(struct bytes){item->source, item->length},
                        &(struct bytes){answer.text, answer.length}, out);
    else
        writer_fail(out);
    arena_done(&arena);
}

/* ---- the length of an answer ---- */

enum { LARGE_BYTES = 64 * 1024 }; /* an answer of this size takes one or two milliseconds to write */

/* These constants approximate the bytes of the parts of an answer. A weight needs WEIGHT_BYTES in addition to its digits. */
enum {
    OBJECT_BYTES = 160,
    TOKEN_BYTES = 8,
    NUMBER_BYTES = 12,
    WEIGHT_BYTES = 6,
    OFFSET_BYTES = 64,
    STEP_BYTES = 200,
    BRANCH_BYTES = 100
};

/* Returns the length of hypothesis i or, before it exists, the source's length as an estimate. */
static size_t target_length(const struct sentence *sentence, size_t i) {
    return sentence->hypotheses && i < sentence->count ? sentence->hypotheses[i].length : sentence->length;
}

static size_t count_of(unsigned bits) {
    return (size_t)__builtin_popcount(bits);
}

static size_t hypothesis_bytes(const struct request *request, const struct sentence *sentence, size_t i) {
    size_t source = sentence->length, target = target_length(sentence, i), both = source + target;
    unsigned include = request->include;
    size_t matrices = count_of(include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) + (include & INCLUDE_WORDS ? 2 : 0),
           lists = count_of(include & (INCLUDE_LOG_PROBS | INCLUDE_ENTROPY | INCLUDE_ALIGNMENT | INCLUDE_QUALITY));
    return OBJECT_BYTES + sentence_text_length(sentence) + both * TOKEN_BYTES +
           matrices * source * target * ((size_t)request->digits + WEIGHT_BYTES) + lists * target * NUMBER_BYTES +
           (include & INCLUDE_OFFSETS ? both * OFFSET_BYTES : 0) + (include & INCLUDE_TOP_K ? target * STEP_BYTES : 0);
}

bool api_is_large(const struct request *request) {
    const struct plan *plan = request->plan;
    size_t bytes = 0;
    for (size_t i = 0; plan && i < plan->count; i++)
        bytes += plan->items[i].length;
    for (size_t i = 0; i < request->job_count && bytes < LARGE_BYTES; i++) {
        const struct job *job = &request->jobs[i];
        if (request->lean) { /* assume that the target is as long as the source */
            bytes += OBJECT_BYTES + job->source.end - job->source.begin + 2 * (size_t)job->tokens * TOKEN_BYTES;
            continue;
        }
        const struct sentence *sentence = job->sentence;
        size_t count = sentence->hypotheses ? sentence->count : request->search.n_best;
        bytes += hypothesis_bytes(request, sentence, 0);
        for (size_t h = 0; count > 1 && h < count; h++)
            bytes += hypothesis_bytes(request, sentence, h);
        if (request->include & INCLUDE_HEADS)
            bytes += sentence_looks(sentence, target_length(sentence, 0) + 1) * ((size_t)request->digits + WEIGHT_BYTES);
        size_t branches = sentence->hypotheses ? sentence->search.tree.count : sentence->length * request->search.beam_size;
        bytes += request->include & INCLUDE_BEAM ? branches * BRANCH_BYTES : 0;
    }
    return bytes >= LARGE_BYTES;
}

static size_t least_steps(const struct sentence *sentence, const struct hypothesis *hypothesis) {
    return hypothesis ? hypothesis->length : sentence->options.min_length;
}

/* Returns the least bytes of an object with this hypothesis: of its keys, and of what is known of its values. NULL: it is not known
 * yet. */
static size_t least_of_object(const struct request *request, const struct sentence *sentence, const struct hypothesis *hypothesis) {
    static const char object[] = "{\"source_text\":\"\",\"text\":\"\",\"score\":0,\"log_prob\":0,\"finish_reason\":\"eos\"}",
                      offset[] = "{\"start\":0,\"end\":0,\"start_utf16\":0,\"end_utf16\":0},",
                      token[] = "{\"token\":\"\",\"log_prob\":0},";
    unsigned include = request->include;
    size_t bytes = sizeof object - 1 + sentence_text_length(sentence), steps = least_steps(sentence, hypothesis);
    for (size_t j = 0; include & INCLUDE_TOKENS && j < sentence->length; j++)
        bytes += strlen(sentence->tokens[j].piece) + strlen("\"\",");
    for (size_t i = 0; include & INCLUDE_TOP_K && hypothesis && i < steps; i++)
        bytes += hypothesis->alternatives[i]->count * (sizeof token - 1);
    if (include & INCLUDE_OFFSETS)
        bytes += (sentence->length + steps) * (sizeof offset - 1);
    return bytes + count_of(include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) * steps * sentence->length * strlen("0,");
}

/* Sampling yields as many hypotheses as the request asks for; a beam yields at least one. The sentence's object repeats the best
 * one, and has the heads and the search tree. */
static size_t least_of_sentence(const struct request *request, const struct sentence *sentence) {
    static const char branch[] = "{\"id\":0,\"parent\":0,\"step\":0,\"token\":\"\",\"log_prob\":0,\"score\":0,\"state\":\"kept\"},";
    const struct hypothesis *all = sentence->hypotheses;
    bool sample = request->search.strategy == &search_sample;
    size_t bytes = least_of_object(request, sentence, all), count = all ? sentence->count : sample ? request->search.n_best : 1;
    for (size_t h = 0; request->search.n_best > 1 && h < count; h++)
        bytes += least_of_object(request, sentence, all ? &all[h] : NULL);
    if (all && request->include & INCLUDE_BEAM)
        bytes += sentence->search.tree.count * (sizeof branch - 1);
    if (request->include & INCLUDE_HEADS)
        bytes += sentence_looks(sentence, least_steps(sentence, all)) * strlen("0,");
    return bytes;
}

size_t api_least_bytes(const struct request *request) {
    size_t bytes = 0;
    for (size_t i = 0; i < request->job_count && !request->plan; i++)
        bytes += least_of_sentence(request, request->jobs[i].sentence);
    return bytes;
}

static size_t least_of_job(const struct job *job) {
    return least_of_sentence(job->request, job->sentence);
}

void api_bound_answer(const struct service *service, struct request *request) {
    bool own = !request->plan && !request->lean;
    for (size_t i = 0; i < request->text_count; i++)
        own = own && !request->texts[i].second;
    request->least_bytes = own ? least_of_job : NULL;
    request->most_bytes = service->options.max_reply_bytes;
}

void api_fail_length(const struct service *service, size_t least, struct reply *reply) {
    size_t most = service->options.max_reply_bytes;
    metrics_rejected(service->metrics, REJECTED_REPLY_LENGTH);
    if (least > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the reply must have at most %zu bytes, but would have at least %zu", most, least);
    else
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the reply must have at most %zu bytes, but would have more", most);
}

void api_fail_unread(const struct service *service, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_REPLY_MEMORY);
    api_fail(reply, STATUS_UNAVAILABLE, NULL, "too many replies are waiting to be read");
    reply->retry_after_s = 1;
}

struct writer api_begin_answer(const struct service *service) {
    return (struct writer){.most = service->options.max_reply_bytes};
}

void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w) {
    bool too_long = w->too_long;
    api_reply_json(reply, w);
    if (too_long)
        api_fail_length(service, 0, reply);
}

/* ---- streams: server-sent events ---- */

int api_stream_init(struct api_stream *stream, struct request *request, struct reply *reply, size_t most) {
    *stream = (struct api_stream){.request = request, .reply = reply, .most = most};
    for (size_t i = 0; i < request->text_count; i++)
        stream->left += request->texts[i].count;
    stream->sent = arena_zalloc(&request->arena, request->text_count, sizeof *stream->sent);
    return stream->sent ? 0 : -1;
}

void api_stream_done(struct api_stream *stream) {
    if (stream->request)
        events_done(stream->request->events);
    free(stream->text);
}

/* These functions begin and end the current event, whose data is JSON without line feeds. */
static void event_begin(struct writer *w, const char *name) {
    writer_put(w, "event: ", strlen("event: "));
    writer_put(w, name, strlen(name));
    writer_put(w, "\ndata: ", strlen("\ndata: "));
}

static int event_end(struct api_stream *stream, struct writer *w) {
    writer_put(w, "\n\n", 2);
    size_t length = w->length;
    stream->text = writer_take(w);
    stream->length = stream->text ? length : 0;
    return stream->text ? 1 : -1;
}

/* Writes the event of a token or a sentence, with its index. A sentence event has the object as in the result and the number of
 * sentences left. Drops an object that is too long; the result will be too long as well. */
static int say(struct api_stream *stream, const struct event *event) {
    bool token = event->kind == EVENT_TOKEN;
    struct writer w = {.most = token ? SIZE_MAX : stream->most};
    const struct text *text = &stream->request->texts[event->text];
    event_begin(&w, token ? "token" : "sentence");
    writer_begin_object(&w, NULL);
    writer_count(&w, "text_index", event->text);
    writer_count(&w, "sentence", event->sentence);
    if (!token)
        writer_count(&w, "left", --stream->left);
    if (token) {
        writer_string(&w, "token", event->piece);
        writer_string_of(&w, "text", event->added, event->added_length);
        writer_number(&w, "log_prob", event->log_prob);
    } else if (text->jobs) { /* a lean request includes no other members */
        const struct job *job = &text->jobs[event->sentence];
        writer_string_of(&w, "source_text", text->source + job->source.begin, job->source.end - job->source.begin);
        writer_string_of(&w, "text", job->outcome->text, job->outcome->length);
        writer_number(&w, "score", job->outcome->score);
        writer_number(&w, "log_prob", job->outcome->log_prob);
        writer_string(&w, "finish_reason", finish_reasons[job->outcome->finish]);
    } else {
        struct arena arena;
        arena_init(&arena, SCRATCH_BYTES);
        struct sentence_view view = {
            .request = stream->request, .include = stream->request->include, .text = text, .arena = &arena, .out = &w};
        const struct sentence *sentence = &text->sentences[event->sentence];
        struct rendering rendering;
        if (translator_render(sentence, &sentence->hypotheses[0], &arena, &rendering, NULL) == 0)
            put_next(&view, event->sentence, &rendering, &stream->sent[event->text]);
        else
            writer_fail(&w);
        arena_done(&arena);
    }
    writer_end_object(&w);
    int result = event_end(stream, &w);
    return w.too_long ? 0 : result;
}

int api_stream_next(struct api_stream *stream) {
    struct event event;
    free(stream->text);
    stream->text = NULL;
    stream->length = 0;
    events_next(stream->request->events, &event);
    switch (event.kind) {
    case EVENT_TOKEN:
    case EVENT_SENTENCE:
        return say(stream, &event);
    case EVENT_PULSE:
        stream->text = strdup(": nothing yet\n\n");
        stream->length = stream->text ? strlen(stream->text) : 0;
        return stream->text ? 1 : -1;
    case EVENT_END:
        break;
    default:
        return 0;
    }

    /* the last event is the reply; a document's warnings precede it, since the document cannot hold them */
    struct reply *reply = stream->reply;
    struct writer w = {.most = SIZE_MAX};
    stream->over = true;
    if (stream->request->plan && reply->status == STATUS_OK)
        api_put_document_warnings(stream->request, &w);
    event_begin(&w, reply->status == STATUS_OK ? "result" : "error");
    if (reply->body)
        writer_put(&w, reply->body, reply->length);
    else
        writer_fail(&w);
    free(reply->body);
    reply->body = NULL;
    return event_end(stream, &w);
}
