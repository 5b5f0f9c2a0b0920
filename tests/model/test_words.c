/* Words, and the words of which a token has characters. */
#include "model/rendering.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <string.h>

static struct translator *translator;
static struct arena arena;

static void setup(void) {
    translator = model_open("tests/golden/luong-general-gru");
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    translator_free(translator);
    arena_done(&arena);
}

static struct span *cut(enum word_kind kind, const char *text, size_t *count) {
    struct spans words;
    struct error err = {0};
    ck_assert_msg(rendering_words(translator, kind, (struct bytes){text, strlen(text)}, &arena,
                                  &words, &err) == 0,
                  "%s", err.message);
    *count = words.count;
    return words.all;
}

/* The words with a bar between them. */
static const struct {
    const char *text, *words, *spaced;
} cases[] = {
    {"I like snow.", "I|like|snow|.", "I|like|snow."},
    {"J'aime la neige.", "J'|aime|la|neige|.", "J'aime|la|neige."},
    {"qu’il l’a lu, jusqu'ici", "qu’|il|l’|a|lu|,|jusqu'|ici", "qu’il|l’a|lu,|jusqu'ici"},
    {"Aujourd'hui quelqu'un d'autre", "Aujourd'hui|quelqu'un|d'|autre",
     "Aujourd'hui|quelqu'un|d'autre"},
    {"I don't, it's 5 o'clock", "I|don't|,|it's|5|o'clock", "I|don't,|it's|5|o'clock"},
    {"Dell'arte, UN'ALTRA", "Dell'|arte|,|UN'|ALTRA", "Dell'arte,|UN'ALTRA"},
    {"ci-dessus 1,000.50 ?", "ci|-|dessus|1,000.50|?", "ci-dessus|1,000.50|?"},
    {"  two\u00a0 spaces\n", "two|spaces", "two|spaces"},
    {"l' eau", "l|'|eau", "l'|eau"},
    {"", "", ""},
    {" \t\u3000", "", ""},
};

static void check_cut(enum word_kind kind, const char *text, const char *expected) {
    char joined[200] = "";
    size_t count, length = 0;
    struct span *words = cut(kind, text, &count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            joined[length++] = '|';
        memcpy(joined + length, text + words[i].begin, words[i].end - words[i].begin);
        length += words[i].end - words[i].begin;
    }
    ck_assert_str_eq(joined, expected);
}

START_TEST(words_of_texts) {
    check_cut(WORDS_UNICODE, cases[_i].text, cases[_i].words);
    check_cut(WORDS_SPACED, cases[_i].text, cases[_i].spaced);
}
END_TEST

START_TEST(elisions) {
    static const struct {
        const char *text;
        size_t first; /* bytes of the first word; 0: there is none */
    } beginnings[] = {{"j'ai", 2},  {"Qu\u2019il", 5}, {"L'\u00e9t\u00e9", 2},
                      {"don't", 5}, {"l'", 1},         {"j", 1},
                      {"'", 1},     {"''", 1},         {"", 0}};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t count;
        const struct span *words = cut(WORDS_UNICODE, beginnings[i].text, &count);
        ck_assert_uint_eq(count > 0 ? words[0].end : 0, beginnings[i].first);
    }
}
END_TEST

static void check_tokens(const char *text, const struct token *tokens, size_t count,
                         const struct word_range *expected) {
    struct word_range ranges[16];
    size_t words;
    struct span *spans = cut(WORDS_UNICODE, text, &words);
    rendering_words_of_tokens(text, tokens, count, spans, words, ranges);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(ranges[i].first, expected[i].first);
        ck_assert_uint_eq(ranges[i].end, expected[i].end);
    }
}

/* Pieces take in the space before them; some have parts of several words; </s> has none. */
START_TEST(tokens_belong_to_words) {
    static const struct token tokens[] = {{.begin = 0, .end = 1},  {.begin = 1, .end = 4},
                                          {.begin = 4, .end = 6},  {.begin = 6, .end = 9},
                                          {.begin = 9, .end = 14}, {.begin = 14, .end = 14}};
    check_tokens("J'aime la ...!", tokens, 6,
                 (const struct word_range[]){{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 7}, {7, 7}});
}
END_TEST

START_TEST(a_blank_token_goes_with_the_next_word) {
    static const struct token tokens[] = {{.begin = 0, .end = 0}, {.begin = 0, .end = 1},
                                          {.begin = 1, .end = 2}, {.begin = 2, .end = 2},
                                          {.begin = 2, .end = 5}, {.begin = 5, .end = 5}};
    check_tokens("a \u2026", tokens, 6,
                 (const struct word_range[]){{0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 2}});
    check_tokens("", tokens, 1, (const struct word_range[]){{0, 0}});
}
END_TEST

/* Of every tokenizer: each token with characters has a word, in order, and each word a token. */
START_TEST(real_tokens_cover_all_words) {
    static const char *const models[] = {"tests/golden/luong-general-gru",
                                         "tests/golden/tokenizer-words",
                                         "tests/golden/tokenizer-characters", "weights/en-fr"};
    static const char text[] = "  Tom's qu'il \u4f60\u597d  here\u2026 Yes.";
    translator_free(translator);
    translator = model_open(models[_i]);
    size_t words, after = 0;
    struct word_range ranges[64];
    struct search_options options = {.strategy = &search_greedy, .beam_size = 1, .n_best = 1};
    struct sentence *sentence = model_prepare(translator, text, &options, &arena);
    const char *own = text + sentence->source.begin;
    struct span *spans = cut(WORDS_UNICODE, own, &words);
    ck_assert_uint_le(sentence->length, 64);
    rendering_words_of_tokens(own, sentence->tokens, sentence->length, spans, words, ranges);
    for (size_t i = 0; i < sentence->length; i++) {
        bool end = sentence->tokens[i].begin == strlen(own);
        ck_assert(end ? ranges[i].first == words && ranges[i].end == words
                      : ranges[i].first < ranges[i].end);
        ck_assert_uint_le(ranges[i].first, after);
        after = ranges[i].end;
    }
    ck_assert_uint_eq(after, words);
    sentence_done(sentence);
}
END_TEST

Suite *words_suite(void) {
    Suite *suite = suite_create("words");
    TCase *tests = tcase_create("words");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, words_of_texts, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, elisions);
    tcase_add_test(tests, tokens_belong_to_words);
    tcase_add_test(tests, a_blank_token_goes_with_the_next_word);
    tcase_add_loop_test(tests, real_tokens_cover_all_words, 0, 4);
    suite_add_tcase(suite, tests);
    return suite;
}
