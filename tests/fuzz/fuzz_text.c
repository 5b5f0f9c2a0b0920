/* What is not language in a text: notations, layout, sentences and words, amounts, signs. The first
 * byte chooses the languages and the sets of notations; after a zero byte there is a second text,
 * which is compared with the first as its translation. */
#include "model/base/utf8.h"
#include "model/text/numbers.h"
#include "model/text/signs.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { LANGUAGES = 6 };

static const struct {
    const char *codes[2];
} pairs[LANGUAGES] = {{{"en", "fr"}}, {{"fr", "en"}}, {{"en", "de"}},
                      {{"de", "en"}}, {{"en", "ja"}}, {{"ru", "ar"}}};

static const unsigned sets[] = {NOTATION_ALL,
                                NOTATION_PLACEHOLDERS,
                                NOTATION_ALL | NOTATION_LAYOUT,
                                NOTATION_PERCENT | NOTATION_PLACEHOLDERS,
                                NOTATION_QT,
                                NOTATION_BRACES | NOTATION_DOLLAR,
                                NOTATION_PLACEHOLDERS | NOTATION_BLOCKS,
                                NOTATION_BLOCKS,
                                NOTATION_MARKDOWN | NOTATION_PLACEHOLDERS,
                                NOTATION_REFERENCES};

/* What is known of the languages of a pair, opened once. */
static const struct languages {
    struct segmenter *segmenters[2];
    struct number_words *numbers[2];
    struct sign_rules signs, same;
} * languages_of(size_t pair) {
    static struct languages all[LANGUAGES];
    struct languages *own = &all[pair];
    for (size_t i = 0; i < 2 && !own->segmenters[i]; i++) {
        own->segmenters[i] = segmenter_open(pairs[pair].codes[i], NULL);
        FUZZ_CHECK(own->segmenters[i] &&
                   number_words_open(pairs[pair].codes[i], &own->numbers[i], NULL) == 0);
        own->signs = signs_rules(pairs[pair].codes[0], pairs[pair].codes[1]);
        own->same = signs_rules(pairs[pair].codes[0], "");
    }
    return own;
}

/* A copy of the text with a question mark for each byte that is not UTF-8, of exactly its size: a
 * byte too far is noticed. */
static char *repair(const uint8_t *data, size_t size) {
    char *text = malloc(size > 0 ? size : 1);
    memcpy(text, data, size);
    for (size_t at = 0, bytes; at < size; at += bytes) {
        bool valid;
        bytes = utf8_first(text + at, size - at, &valid);
        if (!valid)
            text[at] = '?', bytes = 1;
    }
    FUZZ_CHECK(utf8_valid(text, size));
    return text;
}

static bool is_boundary(const char *text, size_t length, size_t at) {
    return at == length || (at < length && ((unsigned char)text[at] & 0xc0) != 0x80);
}

/* The spans are in order, do not overlap, and are made of whole characters. empty: they may be. */
static void check_spans(const char *text, size_t length, const struct span *spans, size_t count,
                        bool empty) {
    for (size_t i = 0, from = 0; i < count; from = spans[i++].end) {
        FUZZ_CHECK(spans[i].begin >= from &&
                   (spans[i].begin < spans[i].end || (empty && spans[i].begin == spans[i].end)));
        FUZZ_CHECK(is_boundary(text, length, spans[i].begin) &&
                   is_boundary(text, length, spans[i].end));
    }
}

static void check_runs(const char *text, size_t length, const struct opaque_runs *runs) {
    for (size_t i = 0; i < runs->count; i++) {
        const struct opaque_run *run = &runs->all[i];
        FUZZ_CHECK(run->begin < run->end && (i == 0 || run->begin >= run[-1].end) &&
                   run->kind < OPAQUE_KINDS);
        FUZZ_CHECK(is_boundary(text, length, run->begin) && is_boundary(text, length, run->end));
        FUZZ_CHECK(!run->written || utf8_valid(run->written, strlen(run->written)));
    }
}

static struct opaque_runs find_runs(unsigned chosen, const char *text, size_t length,
                                    struct arena *arena) {
    struct opaque_runs runs = {.all = arena_alloc(arena, length + 1, sizeof *runs.all)};
    for (size_t at = 0, before = 0; opaque_next(chosen, text, length, &at, &runs.all[runs.count]);
         before = at) {
        const struct opaque_run *run = &runs.all[runs.count++];
        FUZZ_CHECK(at == run->end && run->begin >= before);
        size_t end = opaque_at(chosen, text, length, run->begin);
        FUZZ_CHECK(end >= run->begin && is_boundary(text, length, end));
    }
    check_runs(text, length, &runs);
    return runs;
}

/* Sentences and words are separate, and what the layout copies does not cut runs. */
static void check_parts(const struct segmenter *segmenter, const char *text, size_t length,
                        const struct opaque_runs *held, struct arena *arena) {
    const struct layout_reading reading = {
        .segmenter = segmenter, .text = text, .length = length, .held = *held};
    const struct bytes bytes = {text, length};
    struct span trimmed = segmenter_trim(text, length);
    struct spans found;
    check_spans(text, length, &trimmed, 1, true);
    FUZZ_CHECK(segmenter_split(segmenter, bytes, arena, &found, NULL) == 0);
    check_spans(text, length, found.all, found.count, false);
    for (const struct span *span = found.all; span < found.all + found.count; span++) {
        size_t begin = span->begin, label = layout_label(&reading, begin, span->end);
        FUZZ_CHECK(label >= begin && label <= span->end && is_boundary(text, length, label));
        struct span own = segmenter_trim(text + begin, span->end - begin);
        FUZZ_CHECK(own.begin == 0 && own.end == span->end - begin && own.end > 0);
    }
    FUZZ_CHECK(segmenter_words(segmenter, bytes, arena, &found, NULL) == 0);
    check_spans(text, length, found.all, found.count, false);
    FUZZ_CHECK(layout_find(&reading, arena, &found, NULL) == 0);
    check_spans(text, length, found.all, found.count, false);
    const struct span *spans = found.all;
    for (size_t i = 0, run = 0; i < found.count; i++) {
        while (run < held->count && held->all[run].end <= spans[i].begin)
            run++;
        bool cuts_begin = run < held->count && held->all[run].begin < spans[i].begin;
        while (run < held->count && held->all[run].end <= spans[i].end)
            run++;
        bool cuts_end = run < held->count && held->all[run].begin < spans[i].end;
        FUZZ_CHECK(!cuts_begin && !cuts_end);
    }
}

/* The amounts of a text, which has none that it lacks itself. */
static struct amounts read_amounts(const struct number_words *words, const char *text,
                                   size_t length, struct arena *arena) {
    struct amounts amounts;
    struct number_difference difference;
    FUZZ_CHECK(numbers_read(words, (struct bytes){text, length}, NULL, arena, &amounts, NULL) == 0);
    for (size_t i = 0; i < amounts.count; i++) {
        const struct amount *amount = &amounts.all[i];
        const struct span inner[] = {amount->span, amount->digits, amount->symbol, amount->power};
        FUZZ_CHECK(i == 0 || amount->span.begin >= amount[-1].span.begin);
        for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
            if (inner[k].begin < inner[k].end)
                check_spans(text, length, &inner[k], 1, false);
    }
    FUZZ_CHECK(numbers_compare(&amounts, &amounts, false, arena, &difference, NULL) == 0);
    FUZZ_CHECK(difference.source_count == 0 && difference.target_count == 0);
    return amounts;
}

static void check_amounts(const struct languages *languages, const char *source, size_t length,
                          const char *target, size_t target_length, struct opaque_runs *held,
                          struct arena *arena) {
    struct number_difference difference;
    struct amounts own = read_amounts(languages->numbers[0], source, length, arena);
    struct amounts other = read_amounts(languages->numbers[1], target, target_length, arena);
    FUZZ_CHECK(numbers_compare(&own, &other, true, arena, &difference, NULL) == 0);
    FUZZ_CHECK(difference.source_count <= NUMBERS_SHOWN &&
               difference.target_count <= NUMBERS_SHOWN);
    for (size_t i = 0; i < difference.source_count;
         i++) /* the numbers of a date are amounts within it */
        check_spans(source, length, &difference.source[i], 1, false);
    for (size_t i = 0; i < difference.target_count; i++)
        check_spans(target, target_length, &difference.target[i], 1, false);
    for (size_t i = 0; i < own.count; i++) {
        struct written_amount written;
        FUZZ_CHECK(
            numbers_write(languages->numbers[1], source, &own.all[i], arena, &written, NULL) == 0);
        if (written.text) {
            FUZZ_CHECK(utf8_valid(written.text, strlen(written.text)));
            check_spans(source, length, &written.part, 1, false);
        }
    }
    FUZZ_CHECK(numbers_hold_labels(languages->numbers[0], source, length, held, arena, NULL) == 0);
    check_runs(source, length, held);
    FUZZ_CHECK(numbers_write_runs(languages->numbers[0], languages->numbers[1],
                                  (struct bytes){source, length}, held, arena, NULL) == 0);
    check_runs(source, length, held);
}

static struct signs read_signs(const struct sign_rules *rules, const char *text, size_t length,
                               struct arena *arena) {
    struct signs signs;
    bool any = signs_any(rules, text, length) || signs_any_names(rules, text, length);
    FUZZ_CHECK(signs_read(rules, (struct bytes){text, length}, NULL, arena, &signs, NULL) == 0);
    for (size_t i = 0; i < signs.count; i++) {
        const struct sign *sign = &signs.all[i];
        struct span span = sign->span;
        FUZZ_CHECK(sign->weak || any);
        FUZZ_CHECK(sign->partner < signs.count && signs.all[sign->partner].partner == i);
        check_spans(text, length, &sign->span, 1, false);
        const char *written = signs_write(rules, text, length, sign, &span);
        FUZZ_CHECK(!written || utf8_valid(written, strlen(written)));
        check_spans(text, length, &span, 1, false);
    }
    return signs;
}

/* A text keeps its own signs, unless they are written in the forms of another language. */
static void check_same(const struct sign_rules *rules, const char *text, size_t length,
                       struct arena *arena) {
    struct sign_difference difference;
    struct signs own = read_signs(rules, text, length, arena);
    FUZZ_CHECK(signs_compare(rules, &own, &own, arena, &difference, NULL) == 0);
    FUZZ_CHECK(difference.source.count == 0 && difference.target.count == 0);
}

static void check_signs(const struct sign_rules *rules, const char *source, size_t length,
                        const char *target, size_t target_length, struct arena *arena) {
    struct sign_difference difference;
    struct span last;
    struct signs own = read_signs(rules, source, length, arena),
                 other = read_signs(rules, target, target_length, arena);
    FUZZ_CHECK(signs_compare(rules, &own, &other, arena, &difference, NULL) == 0);
    FUZZ_CHECK(difference.source.count <= own.count && difference.target.count <= other.count);
    if (signs_lopsided(source, length, &last) > 0)
        check_spans(source, length, &last, 1, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const struct languages *languages = languages_of(data[0] % LANGUAGES);
    unsigned chosen = sets[data[0] / LANGUAGES % (sizeof sets / sizeof *sets)];
    const uint8_t *zero = memchr(data + 1, '\0', size - 1), *end = data + size;
    size_t length = (size_t)((zero ? zero : end) - data - 1),
           target_length = zero ? (size_t)(end - zero - 1) : 0;
    char *source = repair(data + 1, length), *target = repair(zero ? zero + 1 : end, target_length);
    struct arena arena;
    arena_init(&arena, 1 << 14);
    struct opaque_runs held = find_runs(chosen, source, length, &arena);
    check_parts(languages->segmenters[0], source, length, &held, &arena);
    check_amounts(languages, source, length, target, target_length, &held, &arena);

    /* Signs are compared in strings. */
    const char *own = arena_copy(&arena, source, length),
               *other = arena_copy(&arena, target, target_length);
    check_same(&languages->same, own, length, &arena);
    check_signs(&languages->signs, own, length, other, strlen(other), &arena);
    arena_done(&arena);
    free(target);
    free(source);
    return 0;
}
