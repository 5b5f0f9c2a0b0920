/* model/text, and model/base/utf8.h beneath it. */
#include "model/base/utf8.h"
#include "model/model.h"
#include "model/translator.h"
#include "tests/suites.h"
#include <stdint.h>
#include <string.h>

static struct tokenizer *tokenizer;
static struct arena arena;
static struct error err;

static void setup(void) {
    tokenizer = tokenizer_open("sentencepiece", "tests/data/tiny.en.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    tokenizer_free(tokenizer);
    arena_done(&arena);
}

static const struct {
    const char *text;
    size_t length;
    bool valid;
} encodings[] = {
    {"", 0, true},
    {"a\0b", 3, true},
    {"\x7f", 1, true},
    {"\xc2\x80\xdf\xbf", 4, true},
    {"\xe0\xa0\x80\xef\xbf\xbf", 6, true},
    {"\xed\x9f\xbf\xee\x80\x80", 6, true}, /* on both sides of the surrogates */
    {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, true},
    {"\x80", 1, false},
    {"a\xbf", 2, false},
    {"\xc0\x80", 2, false}, /* overlong */
    {"\xc1\xbf", 2, false},
    {"\xe0\x80\x80", 3, false},
    {"\xe0\x9f\xbf", 3, false},
    {"\xf0\x80\x80\x80", 4, false},
    {"\xf0\x8f\xbf\xbf", 4, false},
    {"\xed\xa0\x80", 3, false}, /* surrogates */
    {"\xed\xbf\xbf", 3, false},
    {"\xed\xa0\xbd\xed\xb8\x80", 6, false},
    {"\xf4\x90\x80\x80", 4, false}, /* past U+10FFFF */
    {"\xf5\x80\x80\x80", 4, false},
    {"\xf8\x88\x80\x80\x80", 5, false},
    {"\xfe", 1, false},
    {"\xff", 1, false},
    {"\xc3", 1, false}, /* cut short */
    {"\xe2\x82", 2, false},
    {"\xf0\x9f\x98", 3, false},
    {"\xc3\xa9", 1, false}, /* the length counts, not what lies after */
    {"\xe2\x82 ", 3, false},
    {"\xc3\xc3\xa9", 3, false},
};

START_TEST(utf8) {
    ck_assert_int_eq(utf8_valid(encodings[_i].text, encodings[_i].length), encodings[_i].valid);
}
END_TEST

START_TEST(characters_forwards_and_backwards) {
    static const char text[] = "a\u00e9\u20ac\U0001f600\xff\x80z";
    static const int32_t expected[] = {'a', 0xe9, 0x20ac, 0x1f600, -1, -1, 'z'};
    size_t next = 0, end = sizeof text - 1;
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(character_next(text, sizeof text - 1, &next), expected[i]);
    ck_assert_uint_eq(next, sizeof text - 1);
    for (size_t i = 7; i-- > 0;)
        ck_assert_int_eq(character_previous(text, &end), expected[i]);
    ck_assert_uint_eq(end, 0);
}
END_TEST

static size_t token_count(const char *text, size_t length) {
    struct token_list tokens;
    struct arena_mark mark = arena_mark(&arena);
    ck_assert_int_eq(
        tokenizer_encode(tokenizer, (struct bytes){text, length}, NULL, &arena, &tokens, &err), 0);
    arena_release(&arena, mark);
    return tokens.count;
}

static struct span *wrap(const char *text, struct span sentence, size_t max_tokens, size_t *count) {
    struct spans spans;
    struct text_reading reading = {.tokenizer = tokenizer, .max_tokens = max_tokens};
    ck_assert_msg(text_wrap(&reading, text, sentence, &arena, &spans, &err) == 0, "%s",
                  err.message);
    *count = spans.count;
    return spans.all;
}

static void check_only_space(const char *text, size_t begin, size_t end) {
    while (begin < end)
        ck_assert(character_is_space(character_next(text, end, &begin)));
}

/* In order, trimmed, on character boundaries, nothing visible lost; and each piece fits when
 * tokenized alone. */
static size_t check_wrap(const char *text, struct span sentence, size_t max_tokens, bool fits) {
    size_t count, end = sentence.begin;
    struct span *spans = wrap(text, sentence, max_tokens, &count);
    for (size_t i = 0; i < count; end = spans[i++].end) {
        size_t length = spans[i].end - spans[i].begin;
        ck_assert(end <= spans[i].begin && spans[i].begin < spans[i].end &&
                  spans[i].end <= sentence.end);
        check_only_space(text, end, spans[i].begin);
        ck_assert(utf8_valid(text + spans[i].begin, length));
        struct span visible = segmenter_trim(text + spans[i].begin, length);
        ck_assert(visible.begin == 0 && visible.end == length);
        ck_assert(!fits || token_count(text + spans[i].begin, length) <= max_tokens);
    }
    check_only_space(text, end, sentence.end);
    return count;
}

static const char *const long_texts[] = {
    "He ripped his shirt open, and then he left; nobody knew why: it was late \u2014 or so they "
    "said \u2026 at the time.",
    "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff1b\u6211\u4eec\uff1a\u8d70\u5427\u3001\u518d "
    "\U0001f600\U0001f600 \u4f60",
    "a\u00a0b\u3000c\td\ne  f   g    h , i ,j, k,l ,m",
    "1,000,000 and 12:30:45 and a,b,c,d,e,f,g,h,i,j,k,l,m,n",
    "\u2026\u2026\u2026\u2026\u2026 \u00bd\u00bd\u00bd\u00bd \u338f\u338f\u338f",
    "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301 x\u0323\u0307\u0301\u0302y\u0301\u0302 "
    "\u200b\u200b a\u200bb\u200bc",
    "\u2581 \u2581 Tom \u2581\u2581\u2581\u2581 is \x01\x02 here \u2581",
    "\ufdfa\ufdfa\ufdfa",
};

START_TEST(wrapping_loses_nothing) {
    const char *text = long_texts[_i];
    for (size_t max_tokens = 1; max_tokens < 60; max_tokens++)
        check_wrap(text, (struct span){0, strlen(text)}, max_tokens, max_tokens >= 40);
}
END_TEST

START_TEST(ordinary_text_fits_even_in_little) {
    for (size_t i = 0; i < 2; i++)
        for (size_t max_tokens = 5; max_tokens < 30; max_tokens++)
            check_wrap(long_texts[i], (struct span){0, strlen(long_texts[i])}, max_tokens, true);
}
END_TEST

/* Of the kinds without subwords a piece has as many tokens alone as within its sentence. */
START_TEST(other_tokenizers_wrap_as_well) {
    static const char *const kinds[] = {"words", "words", "characters"};
    static const char *const files[] = {"tests/data/tiny.en.words", "tests/data/tiny.en.words",
                                        "tests/data/tiny.en.characters"};
    tokenizer_free(tokenizer);
    tokenizer = tokenizer_open(kinds[_i], files[_i],
                               &(struct tokenizer_options){.punctuation = _i == 1}, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    for (size_t i = 0; i < sizeof long_texts / sizeof *long_texts; i++)
        for (size_t max_tokens = 1; max_tokens < 30; max_tokens++)
            check_wrap(long_texts[i], (struct span){0, strlen(long_texts[i])}, max_tokens, true);
}
END_TEST

static void check_pieces(const char *text, size_t max_tokens, const char *expected) {
    char joined[200];
    size_t count, length = 0;
    struct span *spans = wrap(text, (struct span){0, strlen(text)}, max_tokens, &count);
    for (size_t i = 0; i < count; i++) {
        size_t size = spans[i].end - spans[i].begin;
        memcpy(joined + length, text + spans[i].begin, size);
        length += size;
        joined[length++] = '|';
    }
    joined[length > 0 ? length - 1 : 0] = '\0';
    ck_assert_str_eq(joined, expected);
}

START_TEST(places_to_cut) {
    ck_assert_uint_eq(token_count("to you to you", 13), 4);
    check_pieces("to you to you", 4, "to you to you");
    check_pieces(" to you to you ", 3, "to you to|you");
    check_pieces("to you, to you to you", 5,
                 "to you,|to you to you"); /* a clause rather than the last space */
    check_pieces("to, you, to you to you", 6, "to, you,|to you to you"); /* the last clause */
    check_pieces("to you,to you to you", 6,
                 "to you,to you|to you"); /* no clause: the comma has no space after it */
    check_pieces("\u4f60\uff0c\u597d", 3,
                 "\u4f60\uff0c|\u597d"); /* but between wide letters it has none */
    check_pieces("to you \u2014 to you to you", 5, "to you \u2014|to you to you");
    check_pieces("xxxxxxxxxx", 4,
                 "xxx|xxx|xxx|x"); /* nowhere: between any tokens; alone, each has one more */
    check_pieces("", 4, "");
    check_pieces(" \u3000\n", 4, "");
    check_pieces("\u200b", 4, "\u200b"); /* visible to us, nothing to the tokenizer */
}
END_TEST

START_TEST(spans_are_within_the_text) {
    static const char text[] = "Not this.  to you to you  Nor this.";
    size_t count;
    struct span *spans = wrap(text, (struct span){10, 25}, 3, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert(spans[0].begin == 11 && spans[0].end == 20 && spans[1].begin == 21 &&
              spans[1].end == 24);
}
END_TEST

#if defined(SLOW) /* some twenty times slower; what takes more than linear time is found without   \
                   */
enum { LONG_BYTES = 1 << 15 };
#else
enum { LONG_BYTES = 1 << 18 };
#endif

START_TEST(a_long_text_is_wrapped_in_time) {
    static const char *const units[] = {"to you, and ", "abcdefgh", "\u4f60",
                                        "\u2026",       "\ufdfa ",  "a, "};
    size_t length = LONG_BYTES, once = strlen(units[_i]);
    length = length / once * once;
    char *text = arena_alloc(&arena, length, 1);
    for (size_t at = 0; at < length; at += once)
        memcpy(text + at, units[_i], once);
    check_wrap(text, (struct span){0, length}, 100, true);
}
END_TEST

/* The pieces of a sentence of many windows are those of a short one: as long as they may be, with
 * held runs whole. */
START_TEST(windows_leave_no_trace) {
    static const char unit[] = "to you, and to you {name} ";
    enum { UNITS = 2000, BYTES = sizeof unit - 1, MOST = 100 };
    char *text = arena_alloc(&arena, UNITS, BYTES);
    struct opaque_run *held = arena_zalloc(&arena, UNITS, sizeof *held);
    for (size_t i = 0; i < UNITS; i++) {
        memcpy(text + i * BYTES, unit, BYTES);
        held[i] = (struct opaque_run){.begin = i * BYTES + BYTES - 7, .end = i * BYTES + BYTES - 1};
    }
    struct text_reading reading = {tokenizer, {.held = {held, UNITS}}, MOST};
    struct spans pieces;
    ck_assert(!text_is_short(text, UNITS * BYTES, &reading.how.held) &&
              text_is_short(text, 3000, &reading.how.held));
    ck_assert_int_eq(
        text_wrap(&reading, text, (struct span){0, UNITS * BYTES}, &arena, &pieces, &err), 0);
    for (size_t i = 0; i < pieces.count; i++) {
        ck_assert(i == 0 || pieces.all[i].begin == pieces.all[i - 1].end + 1);
        ck_assert_int_eq(text[pieces.all[i].end - 1] == '}' || text[pieces.all[i].end - 1] == ',',
                         1);
    }
    ck_assert_uint_eq(pieces.all[pieces.count - 1].end, UNITS * BYTES - 1);
    ck_assert_uint_le(
        pieces.count,
        1 + UNITS * 9 /
                (MOST - 9)); /* of at most 9 tokens a unit: none is cut short by a window's end */
}
END_TEST

/* A held run may be of any length. */
START_TEST(what_is_held_is_short) {
    enum { BYTES = 1 << 18 };
    char *text = arena_alloc(&arena, BYTES, 1);
    memset(text, 'x', BYTES);
    struct opaque_run held = {.begin = 2, .end = BYTES - 2};
    ck_assert(!text_is_short(text, BYTES, &(struct opaque_runs){0}));
    ck_assert(text_is_short(text, BYTES, &(struct opaque_runs){&held, 1}));
}
END_TEST

/* A budget whose owner does not wait for the rest. */
static bool never(void *owner) {
    (void)owner;
    return false;
}

START_TEST(wrapping_stops_when_the_budget_is_used_up) {
    enum { BYTES = 1 << 20 };
    struct text_reading reading = {.tokenizer = tokenizer, .max_tokens = 10};
    char *text = arena_alloc(&arena, BYTES, 1);
    struct spans pieces;
    memset(text, 'x', BYTES);
    struct budget budgets[] = {{.most_bytes = 100000}, {.most_bytes = SIZE_MAX, .go_on = never}};
    for (size_t i = 0; i < 2; i++) {
        arena_limit(&arena, &budgets[i]);
        ck_assert_int_eq(text_wrap(&reading, text, (struct span){0, BYTES}, &arena, &pieces, &err),
                         -1);
        ck_assert_int_eq(budgets[i].spent, i == 0 ? BUDGET_BYTES : BUDGET_TIME);
        arena_limit(&arena, NULL);
    }
}
END_TEST

/* A sentence that cannot be cut into few enough is not read to its end. */
START_TEST(wrapping_stops_at_the_first_piece_too_many) {
    enum { BYTES = 1 << 20 };
    struct text_reading reading = {.tokenizer = tokenizer, .max_tokens = 10};
    struct budget budget = {.most_bytes = 4 << 20, .sentences = 2, .most_sentences = 102};
    char *text = arena_alloc(&arena, BYTES, 1);
    struct spans pieces;
    for (size_t i = 0; i < BYTES; i++)
        text[i] = i % 4 == 3 ? ' ' : 'x';
    arena_limit(&arena, &budget);
    ck_assert_int_eq(text_wrap(&reading, text, (struct span){0, BYTES}, &arena, &pieces, &err), -1);
    ck_assert_int_eq(budget.spent, BUDGET_SENTENCES);
    arena_limit(&arena, NULL);
    budget = (struct budget){.most_bytes = 4 << 20, .most_sentences = 1000};
    arena_limit(&arena, &budget);
    ck_assert_int_eq(text_wrap(&reading, text, (struct span){0, 4096}, &arena, &pieces, &err), 0);
    ck_assert_uint_le(pieces.count, 1000);
    ck_assert_int_eq(budget.spent, BUDGET_LEFT);
    arena_limit(&arena, NULL);
}
END_TEST

START_TEST(a_word_of_5000_characters) {
    char word[5000];
    for (size_t i = 0; i < sizeof word; i++)
        word[i] = "etaoinshrdlu"[i * i % 12];
    size_t tokens = token_count(word, sizeof word),
           pieces = check_wrap(word, (struct span){0, sizeof word}, 100, true);
    ck_assert_uint_ge(pieces, tokens / 100);
    ck_assert_uint_le(pieces, tokens / 98 + 1);
}
END_TEST

Suite *text_suite(void) {
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, utf8, 0, sizeof encodings / sizeof *encodings);
    tcase_add_test(tests, characters_forwards_and_backwards);
    tcase_add_loop_test(tests, wrapping_loses_nothing, 0, sizeof long_texts / sizeof *long_texts);
    tcase_add_test(tests, ordinary_text_fits_even_in_little);
    tcase_add_loop_test(tests, other_tokenizers_wrap_as_well, 0, 3);
    tcase_add_test(tests, places_to_cut);
    tcase_add_test(tests, spans_are_within_the_text);
    tcase_add_loop_test(tests, a_long_text_is_wrapped_in_time, 0, 6);
    tcase_add_test(tests, windows_leave_no_trace);
    tcase_add_test(tests, what_is_held_is_short);
    tcase_add_test(tests, wrapping_stops_when_the_budget_is_used_up);
    tcase_add_test(tests, wrapping_stops_at_the_first_piece_too_many);
    tcase_add_test(tests, a_word_of_5000_characters);
    suite_add_tcase(suite, tests);
    return suite;
}
