/* This module hides which facts about a translated sentence its text's warnings follow from: what
 * was left out, what differs, and whether the model is unsure. */
#include "server/decode/judgement.h"
#include "server/models/catalog.h"
#include <string.h>

/* ---- omissions ---- */

/* Articles, auxiliaries and the words of idioms get little attention in whole translations, too,
 * but together they have few letters. weights/EXPERIMENTS.md says why these numbers. */
enum { LEAST_LETTERS = 14, MOST_GAP = 1, LETTERS_OF_WIDE = 3 };
static const float LEAST_COVERAGE = 0.1f;

/* Sets letters [the sentence's own tokens] to the number of letters of each. A wide one, such as a
 * Chinese character, counts three times. Tokens of opaque runs are copied, so that they have none.
 */
static void count_letters(const struct sentence *sentence, size_t *letters) {
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

int omission_add(const struct omission_rows *alignment, struct arena *arena, struct omission *sum,
                 struct error *err) {
    const struct span source = alignment->source;
    const size_t *letters = alignment->letters;
    struct arena_mark mark = arena_mark(arena);
    size_t count = source.end - source.begin;
    float *coverage = arena_zalloc(arena, count, sizeof *coverage);
    if (!coverage)
        return error_memory(err);
    for (size_t i = 0; i < alignment->target; i++) {
        const float *row = alignment->rows[i] + source.begin;
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

/* ---- judgements ---- */

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
    const struct lexicon *lexicon = request->parameters.glossary.lexicon;
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
            rendering_make(sentence, &sentence->hypotheses[0], arena, &rendering, NULL) != 0)
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
    if (!request->model) { /* files without HTTP have no warnings */
        *out = (struct judgement){0};
        return judge_differences(sentence, first, arena, out);
    }
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct span own = sentence_own(sentence);
    *out = (struct judgement){.untranslated = sentence->untranslated,
                              .unknown = sentence->reading.unknown,
                              .tokens = own.end - own.begin};

    /* A logical form says less than its question, so only translations can leave something out.
     * Only the attention of the best hypothesis counts, even if the model has an alignment head: a
     * warning must not depend on other fields of the request. */
    const struct translator_info *source_model =
        text->model ? &text->model->info : &request->model->info;
    const struct translator_info *target_model = text->second ? &text->second->info : source_model;
    if (source_model->attention && source_model->attention_trained && target_model->attention &&
        target_model->attention_trained && strcmp(target_model->task, "translation") == 0) {
        size_t *letters = arena_alloc(arena, own.end - own.begin + 1, sizeof *letters);
        if (letters)
            count_letters(sentence, letters);
        const struct omission_rows rows = {best->attention, best->length, own, letters};
        if (!letters || omission_add(&rows, arena, &out->omission, NULL) != 0)
            return -1;
    }
    /* a given translation and text that was returned unchanged are not the model's own output */
    if (request->wanted.warns && !sentence->given.text && !sentence->reading.verbatim &&
        !sentence->untranslated && strcmp(target_model->task, "translation") == 0 &&
        rendering_doubts(sentence, best, arena, &out->doubt, NULL) != 0)
        return -1;
    if (judge_differences(sentence, first, arena, out) != 0)
        return -1;
    return first || sentence->given.text
               ? 0
               : judge_glossary(request, text, sentence, arena, &out->lists[CHECK_GLOSSARY]);
}
