/* This file corrects a translation after its search. It finds the amounts and signs that differ,
 * puts missing signs beside their words, and prepares a retry that holds what still
 * differs. */
#include "model/base/utf8.h"
#include "model/glossary.h"
#include "model/mending.h"
#include "model/model.h"
#include "model/rendering.h"
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024, MOST_JOINED = 256 };

static const char *own_text(const struct sentence *sentence) {
    return sentence->text + sentence->source.begin;
}

static size_t own_length(const struct sentence *sentence) {
    return sentence->source.end - sentence->source.begin;
}

static struct bytes own_bytes(const struct sentence *sentence) {
    return (struct bytes){own_text(sentence), own_length(sentence)};
}

/* ---- what the translation lacks or adds ---- */

/* Parts of a text that its translation lacks, or the other way round. */
struct lacking {
    const char *text;
    struct spans parts;
};

/* Copies the first of the parts, and counts them. */
static const char **copy_parts(const struct lacking *lacking, struct arena *arena, size_t *count) {
    const struct spans *parts = &lacking->parts;
    *count = parts->count < NUMBERS_SHOWN ? parts->count : NUMBERS_SHOWN;
    const char **copies = arena_alloc(arena, *count, sizeof *copies);
    for (size_t i = 0; copies && i < *count; i++)
        copies[i] = arena_copy(arena, lacking->text + parts->all[i].begin,
                               parts->all[i].end - parts->all[i].begin);
    return copies;
}

/* Copies the first of the differences. Returns false if memory is out. */
static bool copy_lists(const struct lacking *source, const struct lacking *target,
                       struct arena *arena, struct check_lists *out) {
    struct check_lists lists;
    lists.source = copy_parts(source, arena, &lists.source_count);
    lists.target = copy_parts(target, arena, &lists.target_count);
    if (arena_failed(arena))
        return false;
    *out = lists;
    return true;
}

/* The lists stay empty if memory is out. */
static void keep_lists(struct sentence *sentence, enum check check, const struct spans *source,
                       const struct lacking *target) {
    copy_lists(&(struct lacking){own_text(sentence), *source}, target, &sentence->arena,
               &sentence->check->lists[check]);
}

/* The two texts that are compared, and the parts of each that are left out: runs that are held,
 * phrases of a glossary, <unk>. */
struct compared {
    struct rendering rendering;
    struct glossary_runs skipped;
    struct spans skip_source, skip_target;
};

static int compare_spans(const void *left, const void *right) {
    const struct span *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static void sort_spans(struct span *spans, size_t count) {
    if (count > 1)
        qsort(spans, count, sizeof *spans, compare_spans);
}

/* Lists the parts that are left out when signs are compared. Returns false if memory is out. */
static bool list_skipped(const struct sentence *sentence, const struct hypothesis *best,
                         struct arena *scratch, struct compared *compared) {
    const struct phrases *phrases = &sentence->options.phrases;
    const struct token *rendered = compared->rendering.tokens;
    struct span *source = arena_alloc(scratch, best->length + phrases->count, sizeof *source);
    struct span *target = arena_alloc(scratch, best->length + phrases->count, sizeof *target);
    size_t sources = 0, targets = 0;
    if (!source || !target)
        return false;
    for (size_t i = 0; i < best->length; i++) {
        const struct opaque_run *run = glossary_run(sentence, best->tokens[i]);
        bool unknown = best->tokens[i] == tokenizer_unknown(sentence->translator->target) &&
                       !(best->pieces && best->pieces[i]);
        if (run && glossary_run_is_signs(
                       sentence, run)) /* signs that are held may come to stand beside each other */
            continue;
        if (run)
            source[sources++] = (struct span){run->begin, run->end};
        if (run || unknown)
            target[targets++] = (struct span){rendered[i].begin, rendered[i].end};
    }
    for (const struct phrase *phrase = phrases->list; phrase < phrases->list + phrases->count;
         phrase++) {
        if (phrase->count == 0 || glossary_run(sentence, phrase->tokens[0]))
            continue;
        size_t i = 0;
        while (i + phrase->length <= best->length &&
               memcmp(best->tokens + i, phrase->tokens, phrase->length * sizeof *phrase->tokens) !=
                   0)
            i++;
        if (i + phrase->length > best->length) /* another of the entry's phrases */
            continue;
        size_t last = phrase->first + phrase->count - 1;
        source[sources++] =
            (struct span){sentence->tokens[phrase->first].begin, sentence->tokens[last].end};
        target[targets++] = (struct span){rendered[i].begin, rendered[i + phrase->length - 1].end};
    }
    sort_spans(source, sources);
    sort_spans(target, targets);
    compared->skip_source = (struct spans){source, sources};
    compared->skip_target = (struct spans){target, targets};
    return true;
}

/* strict: an amount that the translation writes in another language's notation differs, too,
 * because readers may take it for a thousand times as much. */
static void compare_numbers(struct sentence *sentence, bool strict, const struct compared *compared,
                            struct arena *scratch) {
    const struct translator *t = sentence->translator;
    const struct glossary_runs *skipped =
        &compared->skipped; /* they are copied unchanged, even if they have digits */
    const char *text = compared->rendering.text;
    struct amounts source, target;
    struct number_difference difference;
    if (numbers_read(t->source_numbers, own_bytes(sentence),
                     &(struct spans){skipped->source, skipped->count}, scratch, &source,
                     NULL) != 0 ||
        numbers_read(t->target_numbers, (struct bytes){text, strlen(text)},
                     &(struct spans){skipped->target, skipped->count}, scratch, &target, NULL) != 0)
        return;
    if (numbers_compare(&source, &target, strict, scratch, &difference, NULL) != 0)
        return;
    struct span *places = arena_alloc(&sentence->arena, difference.source_count, sizeof *places);
    if (!places)
        return;
    if (difference.source_count > 0)
        memcpy(places, difference.source, difference.source_count * sizeof *places);
    sentence->check->places = places;
    keep_lists(sentence, CHECK_NUMBERS, &(struct spans){difference.source, difference.source_count},
               &(struct lacking){text, {difference.target, difference.target_count}});
}

/* Reads the signs of both texts and compares them. own: NUL-terminated. A pair of quotation marks
 * that the translation alone spaces on one side differs, too, if nothing else does. Returns -1 if
 * memory is out. */
static int read_signs(const struct sign_rules *rules, struct bytes own,
                      const struct compared *compared, struct arena *arena,
                      struct compared_signs *out) {
    const struct bytes text = {compared->rendering.text, strlen(compared->rendering.text)};
    struct sign_difference *found = &out->difference;
    struct span *lopsided = arena_alloc(arena, 1, sizeof *lopsided), ignored;
    if (!lopsided ||
        signs_read(rules, own, &compared->skip_source, arena, &out->source, NULL) != 0 ||
        signs_read(rules, text, &compared->skip_target, arena, &out->target, NULL) != 0 ||
        signs_compare(rules, &out->source, &out->target, arena, found, NULL) != 0)
        return -1;
    if (found->source.count + found->target.count == 0 &&
        signs_lopsided(text.start, text.length, lopsided) >
            signs_lopsided(own.start, own.length, &ignored))
        found->target = (struct spans){lopsided, 1};
    return 0;
}

int correction_check_whole(const char *from, const char *to, struct bytes text,
                           struct bytes translation, struct arena *arena, struct check_lists *out) {
    const struct sign_rules rules = signs_rules(from, to);
    *out = (struct check_lists){0};
    if (!signs_any(&rules, text.start, text.length) &&
        !signs_any(&rules, translation.start, translation.length))
        return 0;
    char *source = arena_copy(arena, text.start, text.length),
         *target = arena_copy(arena, translation.start, translation.length);
    const struct compared compared = {.rendering.text = target};
    struct compared_signs signs;
    if (!source || !target ||
        read_signs(&rules, (struct bytes){source, text.length}, &compared, arena, &signs) != 0)
        return -1;
    return copy_lists(&(struct lacking){source, signs.difference.source},
                      &(struct lacking){target, signs.difference.target}, arena, out)
               ? 0
               : -1;
}

int correction_check_numbers(const struct translator *source_model,
                             const struct translator *target_model, struct bytes text,
                             struct bytes translation, struct arena *arena,
                             struct check_lists *out) {
    struct amounts source, target;
    struct number_difference found;
    *out = (struct check_lists){0};
    if (!source_model->source_numbers || !target_model->target_numbers ||
        (!numbers_may_stand(source_model->source_numbers, text.start, text.length) &&
         !numbers_may_stand(target_model->target_numbers, translation.start, translation.length)))
        return 0;
    if (numbers_read(source_model->source_numbers, text, NULL, arena, &source, NULL) != 0 ||
        numbers_read(target_model->target_numbers, translation, NULL, arena, &target, NULL) != 0 ||
        numbers_compare(&source, &target, true, arena, &found, NULL) != 0)
        return -1;
    return copy_lists(&(struct lacking){text.start, {found.source, found.source_count}},
                      &(struct lacking){translation.start, {found.target, found.target_count}},
                      arena, out)
               ? 0
               : -1;
}

static void compare_signs(struct sentence *sentence, const struct hypothesis *best,
                          struct compared *compared, struct arena *scratch) {
    struct mending mending = {.sentence = sentence,
                              .source =
                                  arena_copy(scratch, own_text(sentence), own_length(sentence)),
                              .translation = &compared->rendering};
    const struct bytes own = {mending.source, own_length(sentence)};
    if (mending.source && list_skipped(sentence, best, scratch, compared) &&
        read_signs(&sentence->translator->sign_rules, own, compared, scratch, &mending.signs) ==
            0 &&
        mending_find_strangers(&mending, scratch, &mending.signs.difference))
        keep_lists(sentence, CHECK_SIGNS, &mending.signs.difference.source,
                   &(struct lacking){compared->rendering.text, mending.signs.difference.target});
}

/* Returns whether a token may write a sign that the source lacks. Most translations have no such
 * token and are not read. */
static bool may_add_signs(const struct sentence *sentence, const struct hypothesis *best) {
    const struct translator *t = sentence->translator;
    size_t size = tokenizer_size(t->target);
    for (size_t i = 0; i < best->length; i++) {
        size_t id = (size_t)best->tokens[i];
        if (id < size
                ? t->signs[id] || (i > 0 && t->marks[id] && (size_t)best->tokens[i - 1] < size &&
                                   t->marks[best->tokens[i - 1]])
                : !glossary_run(sentence, best->tokens[i]))
            return true;
    }
    return false;
}

/* Lists what differs. The lists stay empty if memory is out. */
static void compare(struct sentence *sentence, bool strict, struct arena *scratch) {
    const struct hypothesis *best = &sentence->hypotheses[0];
    const bool *applies = sentence->check->applies;
    bool signs = applies[CHECK_SIGNS] || may_add_signs(sentence, best);
    struct compared compared;
    memset(sentence->check->lists, 0, sizeof sentence->check->lists);
    sentence->check->rest = glossary_leaves_rest(sentence, best, scratch);
    if ((!signs && !applies[CHECK_NUMBERS]) ||
        rendering_make(sentence, best, scratch, &compared.rendering, NULL) != 0 ||
        glossary_runs_find(sentence, best, compared.rendering.tokens, scratch, &compared.skipped,
                           NULL) != 0)
        return;
    if (applies[CHECK_NUMBERS])
        compare_numbers(sentence, strict, &compared, scratch);
    if (signs)
        compare_signs(sentence, best, &compared, scratch);
}

static size_t count_of(const struct sentence *sentence, enum check check) {
    const struct check_lists *lists = &sentence->check->lists[check];
    return lists->source_count + lists->target_count;
}

static size_t count_differences(const struct sentence *sentence) {
    return count_of(sentence, CHECK_NUMBERS) + count_of(sentence, CHECK_SIGNS) +
           sentence->check->rest;
}

/* ---- the retry ---- */

/* One or several amounts that the model reads as one: 10:30, 10h30, 10-20, 5/12/2010. */
struct joined {
    struct span part;
    char written[MOST_JOINED];
    size_t used;
};

static bool joined_add(struct joined *joined, const char *bytes, size_t length) {
    if (length >= sizeof joined->written - joined->used)
        return false;
    memcpy(joined->written + joined->used, bytes, length);
    joined->used += length;
    joined->written[joined->used] = '\0';
    return true;
}

/* Finds the next of the amounts, from *i on, that can be written in the target language, with those
 * that touch it. Returns 1, 0 if there are no more, or -1 if memory is out. */
static int next_joined(const struct sentence *sentence, const struct amounts *amounts, size_t *i,
                       struct arena *arena, struct joined *out) {
    static const char en_dash[] = "\xe2\x80\x93";
    const char *text = own_text(sentence);
    *out = (struct joined){.used = 0};
    for (bool any = false;; (*i)++) {
        struct written_amount form;
        if (*i == amounts->count)
            return any;
        const struct amount *amount = &amounts->all[*i];
        /* a mark without a space joins two amounts, which the model then reads as one */
        const char *between = text + out->part.end;
        size_t length = amount->span.begin - out->part.end;
        bool touches = (length == 1 && strchr("-:/.,", *between)) ||
                       (length == sizeof en_dash - 1 && memcmp(between, en_dash, length) == 0);
        bool minutes = any && amount->minute && !touches; /* 18h30, 18 h 30 */
        if (any && (amount->weak || !(touches || minutes)))
            return 1;
        if (numbers_write(sentence->translator->target_numbers, text, amount, arena, &form, NULL) !=
            0)
            return -1;
        const char *written = form.text;
        const struct span part = form.part;
        if (!written && !any)
            continue;
        if (!written || (any && part.begin < out->part.end) ||
            (any && !joined_add(out, minutes ? ":" : text + out->part.end,
                                minutes ? 1 : part.begin - out->part.end)) ||
            !joined_add(out, written, strlen(written))) {
            if (any)
                return 1;
            out->used = 0;
            continue;
        }
        out->part.begin = any ? out->part.begin : part.begin;
        out->part.end = part.end;
        any = true;
    }
}

/* Returns both lists together, without those of the second that overlap one of the first; or no
 * list if memory is out. */
static struct opaque_runs merge(const struct opaque_runs *held, const struct opaque_runs *more,
                                struct arena *arena) {
    struct opaque_run *all = arena_alloc(arena, held->count + more->count, sizeof *all);
    size_t count = 0, next = 0;
    if (!all)
        return (struct opaque_runs){0};
    for (size_t i = 0; i < more->count; i++) {
        const struct opaque_run *run = &more->all[i];
        while (next < held->count && held->all[next].begin < run->end)
            all[count++] = held->all[next++];
        if (count == 0 || all[count - 1].end <= run->begin)
            all[count++] = *run;
    }
    while (next < held->count)
        all[count++] = held->all[next++];
    return (struct opaque_runs){all, count};
}

static struct spans spans_of(const struct opaque_runs *held, struct arena *arena) {
    struct spans spans = {arena_alloc(arena, held->count, sizeof *spans.all), held->count};
    for (size_t i = 0; spans.all && i < held->count; i++)
        spans.all[i] = (struct span){held->all[i].begin, held->all[i].end};
    return spans;
}

/* Returns whether an amount has signs, and has the same when it is written in the target language.
 */
static bool keeps_signs(const struct sign_rules *rules, const char *part, size_t length,
                        const char *written, struct arena *arena) {
    const char *own = signs_any(rules, part, length) ? arena_copy(arena, part, length) : NULL;
    struct signs source, target;
    struct sign_difference difference;
    const struct bytes other = {written, strlen(written)};
    return own && signs_read(rules, (struct bytes){own, length}, NULL, arena, &source, NULL) == 0 &&
           signs_read(rules, other, NULL, arena, &target, NULL) == 0 &&
           signs_compare(rules, &source, &target, arena, &difference, NULL) == 0 &&
           difference.source.count + difference.target.count == 0;
}

/* Adds the amounts that are missing. If no amount of the source is, all are held; those that were
 * translated correctly are otherwise left to the model, unless they have a sign and signs are held.
 * Returns false if memory is out. */
static bool hold_amounts(const struct sentence *sentence, bool signs, struct arena *arena,
                         struct opaque_runs *held) {
    const struct check_lists *missing = &sentence->check->lists[CHECK_NUMBERS];
    const struct translator *t = sentence->translator;
    struct spans skip = spans_of(held, arena);
    struct amounts amounts;
    struct joined joined;
    int found = 0;
    if (!skip.all ||
        numbers_read(t->source_numbers, own_bytes(sentence), &skip, arena, &amounts, NULL) != 0)
        return false;
    struct opaque_runs added = {arena_alloc(arena, amounts.count, sizeof *added.all), 0};
    bool all = count_of(sentence, CHECK_NUMBERS) > 0 && missing->source_count == 0;
    for (size_t i = 0;
         added.all && (found = next_joined(sentence, &amounts, &i, arena, &joined)) == 1;) {
        const char *written = arena_copy(arena, joined.written, joined.used),
                   *part = own_text(sentence) + joined.part.begin;
        bool wanted = all || (signs && written &&
                              keeps_signs(&t->sign_rules, part, joined.part.end - joined.part.begin,
                                          written, arena));
        for (size_t k = 0; k < missing->source_count; k++)
            wanted |= sentence->check->places[k].begin < joined.part.end &&
                      joined.part.begin < sentence->check->places[k].end;
        if (wanted && written)
            added.all[added.count++] =
                (struct opaque_run){joined.part.begin, joined.part.end, OPAQUE_NUMBER, written};
    }
    *held = merge(held, &added, arena);
    return found == 0 && !arena_failed(arena);
}

/* Returns whether a string that differs is a name, which is a word, whereas no other sign begins
 * with a letter. */
static bool is_name(const char *string) {
    size_t at = 0;
    return character_is_letter(character_next(string, strlen(string), &at));
}

static bool is_missing(const struct check_lists *lists, const char *word, size_t length) {
    for (size_t i = 0; i < lists->source_count; i++)
        if (strlen(lists->source[i]) == length && memcmp(lists->source[i], word, length) == 0)
            return true;
    return false;
}

/* Returns whether signs differ that are not names. */
static bool other_signs_differ(const struct check_lists *lists) {
    for (size_t i = 0; i < lists->source_count; i++)
        if (!is_name(lists->source[i]))
            return true;
    return lists->target_count > 0;
}

/* Adds the names that are missing and, if all is true, all other signs: if one of them is lost, the
 * others may be as well when the sentence is read differently. Signs that touch are one run, and so
 * are digits that have a sign between them. Returns false if memory is out. */
static bool hold_signs(const struct sentence *sentence, bool all, struct arena *arena,
                       struct opaque_runs *held) {
    const struct sign_rules *rules = &sentence->translator->sign_rules;
    const char *text = own_text(sentence);
    size_t length = own_length(sentence);
    struct spans skip = spans_of(held, arena);
    struct signs signs;
    if (!skip.all || signs_read(rules, own_bytes(sentence), &skip, arena, &signs, NULL) != 0)
        return false;
    struct opaque_runs added = {arena_alloc(arena, signs.count, sizeof *added.all), 0};
    for (size_t i = 0; added.all && i < signs.count; i++) {
        struct span span = signs.all[i].span;
        bool name = signs_is_name(&signs.all[i]);
        if (name ? !is_missing(&sentence->check->lists[CHECK_SIGNS], text + span.begin,
                               span.end - span.begin)
                 : !all)
            continue;
        const char *written = signs_write(rules, text, length, &signs.all[i], &span);
        if (span.begin > 0 && span.end < length && ascii_digit(text[span.begin - 1]) &&
            ascii_digit(text[span.end])) {
            while (span.begin > 0 && ascii_digit(text[span.begin - 1]))
                span.begin--;
            while (span.end < length && ascii_digit(text[span.end]))
                span.end++;
        }
        struct opaque_run *last = added.count > 0 ? &added.all[added.count - 1] : NULL;
        if (last && last->end >= span.begin && !last->written && !written)
            last->end = span.end > last->end ? span.end : last->end;
        else
            added.all[added.count++] = (struct opaque_run){
                span.begin, span.end, name ? OPAQUE_CODE : OPAQUE_SYMBOL, written};
    }
    *held = merge(held, &added, arena);
    return !arena_failed(arena);
}

/* Prepares the retry with the options that the caller set for the first, which it may
 * outlive. signs: all are held, and others may not come. Returns NULL if that fails. */
static struct sentence *prepare_retry(struct sentence *sentence, const struct opaque_runs *held,
                                      bool signs, const struct lexicon *lexicon) {
    const struct labels *variants = &sentence->translator->variants;
    struct translator_text text = {
        .text = own_text(sentence), .length = own_length(sentence), .held = *held};
    struct sentence_list made;
    struct glossary glossary;
    if (sentence_prepare(sentence->translator, &text, &sentence->check->options, &sentence->arena,
                         &made, NULL) != 0)
        return NULL;
    struct sentence *retry = made.all;
    if (made.count == 1 && retry->check && retry->source.begin == 0 &&
        retry->source.end == own_length(sentence)) {
        retry->text = sentence->text;
        retry->source = sentence->source;
        retry->caller = sentence->caller;
        size_t variant = 0;
        size_t labels = sentence->reading.labels;
        while (labels > 0 && variant < variants->count &&
               variants->ids[variant] != sentence->tokens[labels - 1].id)
            variant++;
        bool chosen = labels == 0 || variant == variants->count ||
                      sentence_choose_variant(retry, variants->names[variant], NULL) == 0;
        glossary_init(&glossary, lexicon, &retry->arena);
        glossary.hides = sentence->check->rest;
        if (chosen && glossary_constrain(retry, &glossary, NULL) == 0) {
            if (signs) {
                retry->options.phrases.forbidden = sentence->translator->signs;
                retry->options.phrases.size = tokenizer_size(sentence->translator->target);
            }
            return retry;
        }
    }
    while (made.count > 0)
        sentence_done(&retry[--made.count]);
    return NULL;
}

/* ---- signs put into the translation (mending.c) ---- */

typedef bool mending_plan(const struct mending *mending, struct arena *arena, struct edit **edits,
                          size_t *count);

/* The plans, in the order in which they are tried; the first ones before the sentence is decoded
 * again. */
static mending_plan *const plans[] = {mending_beside, mending_in_order, mending_as_written};
enum { PLANS = sizeof plans / sizeof *plans, FIRST_PLANS = 1 };

/* Edits the best translation as planned, if that makes fewer signs differ. */
static void mend_once(struct sentence *sentence, mending_plan *plan, struct arena *scratch) {
    const struct sign_rules *rules = &sentence->translator->sign_rules;
    struct hypothesis *h = &sentence->hypotheses[0], before = *h;
    struct sentence_check was = *sentence->check;
    size_t signs = count_of(sentence, CHECK_SIGNS), numbers = count_of(sentence, CHECK_NUMBERS);
    struct compared compared;
    struct mending mending = {.sentence = sentence,
                              .source =
                                  arena_copy(scratch, own_text(sentence), own_length(sentence)),
                              .translation = &compared.rendering};
    struct edit *edits;
    size_t count;
    if (!mending.source || sentence->reading.lowered ||
        !(h->alignment ? h->alignment : h->attention) ||
        rendering_make(sentence, h, scratch, &compared.rendering, NULL) != 0 ||
        !list_skipped(sentence, h, scratch, &compared))
        return;
    mending.skip_source = compared.skip_source;
    mending.skip_target = compared.skip_target;
    if (read_signs(rules, (struct bytes){mending.source, own_length(sentence)}, &compared, scratch,
                   &mending.signs) != 0 ||
        !plan(&mending, scratch, &edits, &count) ||
        !retelling_edit(sentence, &compared.rendering, edits, count, scratch))
        return;
    compare(sentence, true, scratch);
    if (count_of(sentence, CHECK_SIGNS) >= signs || count_of(sentence, CHECK_NUMBERS) > numbers) {
        *h = before;
        *sentence->check = was;
    }
}

/* Edits it by one plan after the other until no signs differ that are not names. A sentence without
 * signs has rows of an alignment head only if the caller wants them, and so is never edited. */
static void mend_signs(struct sentence *sentence, size_t count, struct arena *scratch) {
    if (!sentence->check->applies[CHECK_SIGNS])
        return;
    for (size_t i = 0; i < count && other_signs_differ(&sentence->check->lists[CHECK_SIGNS]); i++)
        mend_once(sentence, plans[i], scratch);
}

struct sentence *correction_try_again(struct sentence *sentence, const struct lexicon *lexicon) {
    struct sentence *retry = NULL;
    struct opaque_runs held = sentence->held;
    struct arena scratch;
    if (!sentence->check || !sentence->hypotheses || sentence->given.text || sentence->given.suffix)
        return NULL;
    arena_init(&scratch, SCRATCH_BYTES);
    compare(sentence, true, &scratch);
    if (!sentence->check->shown)
        mend_signs(sentence, FIRST_PLANS, &scratch);
    bool signs = other_signs_differ(&sentence->check->lists[CHECK_SIGNS]),
         differs = count_differences(sentence) > 0;
    if (differs && !sentence->check->shown && sentence_holds(sentence->translator) &&
        (!sentence->check->applies[CHECK_NUMBERS] ||
         hold_amounts(sentence, signs, &scratch, &held)) &&
        hold_signs(sentence, signs, &scratch, &held) &&
        (signs || sentence->check->rest || held.count > sentence->held.count))
        retry = prepare_retry(sentence, &held, signs, lexicon);
    if (!retry && !sentence->check->shown)
        mend_signs(sentence, PLANS, &scratch);
    if (!retry && differs)
        compare(sentence, false, &scratch);
    if (!retry && !sentence->check->shown && !sentence->untranslated) {
        retry = echo_try_again(sentence, &sentence->arena);
        sentence->check->echoes = retry != NULL;
    }
    arena_done(&scratch);
    return retry;
}

static size_t count_letters(const struct sentence *sentence, struct arena *scratch) {
    struct rendering rendering;
    size_t count = 0;
    if (rendering_make(sentence, &sentence->hypotheses[0], scratch, &rendering, NULL) == 0)
        for (size_t at = 0, length = strlen(rendering.text); at < length;)
            count += character_is_letter(character_next(rendering.text, length, &at));
    return count;
}

/* Returns false if the retry has so many letters less that words are missing: a reader
 * misses them more than signs. A few letters less are no matter, so that "Chapter I" may lose the
 * words into which the first attempt put its numeral. */
static bool has_the_words(const struct sentence *retry, const struct sentence *first,
                          struct arena *scratch) {
    enum { FEW = 5 };
    return 5 * (count_letters(retry, scratch) + FEW) >= 4 * count_letters(first, scratch);
}

void correction_choose(struct sentence *sentence, struct sentence *retry) {
    struct sentence other = *retry; /* the struct itself is in the first one's arena */
    struct arena scratch;
    if (sentence->check->echoes) {
        sentence->untranslated = echo_is_untranslated(retry);
        sentence_done(&other);
        return;
    }
    arena_init(&scratch, SCRATCH_BYTES);
    if (retry->hypotheses)
        compare(retry, true, &scratch);
    if (retry->hypotheses && count_differences(retry) < count_differences(sentence) &&
        has_the_words(retry, sentence, &scratch)) {
        other = *sentence;
        *sentence = *retry;
    }
    mend_signs(sentence, PLANS, &scratch);
    if (count_differences(sentence) > 0)
        compare(sentence, false, &scratch);
    arena_done(&scratch);
    sentence_done(&other);
}
