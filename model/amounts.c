/* Compares the amounts of a sentence and its translation, and prepares the second attempt. */
#include "model/amounts.h"
#include "model/glossary.h"
#include "model/model.h"
#include "model/rendering.h"
#include "model/text/numbers.h"
#include <string.h>

enum { SCRATCH_BYTES = 16 * 1024, MOST_JOINED = 256 };

static const char *own_text(const struct sentence *sentence) {
    return sentence->text + sentence->source.begin;
}

static size_t own_length(const struct sentence *sentence) {
    return sentence->source.end - sentence->source.begin;
}

/* ---- comparing ---- */

static const char **copy_parts(const char *text, const struct span *parts, size_t count, struct arena *arena) {
    const char **copies = arena_alloc(arena, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++)
        copies[i] = arena_copy(arena, text + parts[i].begin, parts[i].end - parts[i].begin);
    return copies;
}

/* Lists the amounts that differ; the lists stay empty if memory is out. strict: an amount of the translation that is written as
 * another language writes it differs, too, because there it may mean a thousand times as much. */
static void compare(struct sentence *sentence, bool strict, struct arena *scratch) {
    const struct translator *t = sentence->translator;
    const struct hypothesis *best = &sentence->hypotheses[0];
    struct sentence_amounts *amounts = sentence->amounts;
    struct rendering rendering;
    struct glossary_runs skipped; /* they are copied unchanged, even if they have digits */
    struct amounts source, target;
    struct number_difference difference;
    if (translator_render(sentence, best, scratch, &rendering, NULL) != 0 ||
        glossary_runs_find(sentence, best, rendering.tokens, scratch, &skipped, NULL) != 0 ||
        numbers_read(t->source_numbers, own_text(sentence), own_length(sentence), skipped.source, skipped.count, scratch, &source,
                     NULL) != 0 ||
        numbers_read(t->target_numbers, rendering.text, strlen(rendering.text), skipped.target, skipped.count, scratch, &target,
                     NULL) != 0)
        return;
    for (size_t i = 0; strict && i < target.count; i++)
        if (target.all[i].foreign)
            target.all[i].value = target.all[i].other = (struct number_value){1, NUMBER_LONG};
    if (numbers_compare(&source, &target, scratch, &difference, NULL) != 0)
        return;
    const char **left = copy_parts(own_text(sentence), difference.source, difference.source_count, &sentence->arena);
    struct span *places = arena_alloc(&sentence->arena, difference.source_count, sizeof *places);
    const char **right = copy_parts(rendering.text, difference.target, difference.target_count, &sentence->arena);
    if (arena_failed(&sentence->arena))
        return;
    if (difference.source_count > 0)
        memcpy(places, difference.source, difference.source_count * sizeof *places);
    amounts->places = places;
    amounts->source = left;
    amounts->target = right;
    amounts->source_count = difference.source_count;
    amounts->target_count = difference.target_count;
}

static size_t count_differences(const struct sentence *sentence) {
    return sentence->amounts->source_count + sentence->amounts->target_count;
}

/* ---- holding ---- */

/* One or several amounts that are one to the model: 10:30, 10-20, 5/12/2010. */
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

/* True if a mark without a space joins two amounts, which then are one to the model. */
static bool touches(const char *text, size_t end, size_t begin) {
    static const char en_dash[] = "\xe2\x80\x93";
    size_t length = begin - end;
    return (length == 1 && strchr("-:/.,", text[end])) ||
           (length == sizeof en_dash - 1 && memcmp(text + end, en_dash, length) == 0);
}

/* Finds the next of the amounts, from *i on, that can be written in the target language, with those that touch it. Returns 1, 0 if
 * there are no more, or -1 if memory is out. */
static int next_joined(const struct sentence *sentence, const struct amounts *amounts, size_t *i, struct arena *arena,
                       struct joined *out) {
    const char *text = own_text(sentence);
    *out = (struct joined){.used = 0};
    for (bool any = false;; (*i)++) {
        char *written = NULL;
        struct span part;
        if (*i == amounts->count)
            return any;
        const struct amount *amount = &amounts->all[*i];
        if (any && (amount->weak || !touches(text, out->part.end, amount->span.begin)))
            return 1;
        if (numbers_write(sentence->translator->target_numbers, text, amount, arena, &written, &part, NULL) != 0)
            return -1;
        if (!written && !any)
            continue;
        if (!written || (any && part.begin < out->part.end) ||
            (any && !joined_add(out, text + out->part.end, part.begin - out->part.end)) ||
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

/* Lists the runs that are held already and the amounts beside them, in order. False if there are no such amounts or memory is out.
 */
static bool hold_amounts(const struct sentence *sentence, struct arena *arena, struct opaque_runs *out) {
    const struct opaque_runs *held = &sentence->held;
    const struct sentence_amounts *missing = sentence->amounts;
    struct span *skip = arena_alloc(arena, held->count, sizeof *skip);
    struct amounts amounts;
    for (size_t i = 0; skip && i < held->count; i++)
        skip[i] = (struct span){held->all[i].begin, held->all[i].end};
    if (!skip || numbers_read(sentence->translator->source_numbers, own_text(sentence), own_length(sentence), skip, held->count,
                              arena, &amounts, NULL) != 0)
        return false;
    struct opaque_run *all = arena_alloc(arena, held->count + amounts.count, sizeof *all);
    if (!all)
        return false;
    size_t count = 0, next = 0, added = 0;
    struct joined joined;
    int found;
    for (size_t i = 0; (found = next_joined(sentence, &amounts, &i, arena, &joined)) == 1;) {
        while (next < held->count && held->all[next].begin < joined.part.begin)
            all[count++] = held->all[next++];
        /* the model handles amounts that were translated right better itself; if no amount of the source is missing, all are
         * held */
        bool wanted = missing->source_count == 0;
        for (size_t k = 0; k < missing->source_count; k++)
            wanted |= missing->places[k].begin < joined.part.end && joined.part.begin < missing->places[k].end;
        if (!wanted || (count > 0 && all[count - 1].end > joined.part.begin) ||
            (next < held->count && held->all[next].begin < joined.part.end))
            continue;
        const char *written = arena_copy(arena, joined.written, joined.used);
        if (!written)
            return false;
        all[count++] = (struct opaque_run){joined.part.begin, joined.part.end, OPAQUE_NUMBER, written};
        added++;
    }
    while (next < held->count)
        all[count++] = held->all[next++];
    *out = (struct opaque_runs){all, count};
    return found == 0 && added > 0;
}

/* ---- the second attempt ---- */

/* Copies the caller's wishes to the second attempt, and, because it may outlive the first, the strings that replace runs. */
static int ask_alike(const struct sentence *first, struct sentence *second) {
    const struct labels *variants = &first->translator->variants;
    second->text = first->text;
    second->source = first->source;
    second->cancelled = first->cancelled;
    second->owner = first->owner;
    second->replace_unknowns = first->replace_unknowns;
    second->wants_alignment = first->wants_alignment;
    second->wants_looks = first->wants_looks;
    for (size_t i = 0; first->labelled && i < variants->count; i++)
        if (variants->ids[i] == first->tokens[0].id)
            return translator_choose_variant(second, variants->names[i], NULL);
    return 0;
}

/* NULL if it cannot be prepared. */
static struct sentence *prepare_second(struct sentence *sentence, const struct opaque_runs *held, const struct lexicon *lexicon) {
    struct translator_text text = {.text = own_text(sentence), .length = own_length(sentence), .held = *held};
    struct sentence *second;
    struct glossary glossary;
    size_t count = 0;
    if (translator_prepare_text(sentence->translator, &text, &sentence->amounts->options, &sentence->arena, &second, &count,
                                NULL) != 0)
        return NULL;
    if (count == 1 && second->amounts && second->source.begin == 0 && second->source.end == own_length(sentence)) {
        glossary_init(&glossary, lexicon, &second->arena);
        if (ask_alike(sentence, second) == 0 && translator_constrain(second, &glossary, NULL) == 0 && !second->given)
            return second;
    }
    while (count > 0)
        sentence_done(&second[--count]);
    return NULL;
}

struct sentence *amounts_try_again(struct sentence *sentence, const struct lexicon *lexicon) {
    struct sentence *second = NULL;
    struct opaque_runs held;
    struct arena scratch;
    if (!sentence->amounts || !sentence->hypotheses || sentence->given)
        return NULL;
    arena_init(&scratch, SCRATCH_BYTES);
    compare(sentence, true, &scratch);
    if (count_differences(sentence) > 0 && translator_holds(sentence->translator) && hold_amounts(sentence, &scratch, &held))
        second = prepare_second(sentence, &held, lexicon);
    if (!second && count_differences(sentence) > 0)
        compare(sentence, false, &scratch);
    arena_done(&scratch);
    return second;
}

void amounts_choose(struct sentence *sentence, struct sentence *second) {
    struct sentence other = *second; /* the struct itself is in the first one's arena */
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BYTES);
    if (second->hypotheses)
        compare(second, true, &scratch);
    if (second->hypotheses && count_differences(second) < count_differences(sentence)) {
        other = *sentence;
        *sentence = *second;
    }
    if (count_differences(sentence) > 0)
        compare(sentence, false, &scratch);
    arena_done(&scratch);
    sentence_done(&other);
}
