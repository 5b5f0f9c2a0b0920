/* Tokens back to text: replacements of <unk>, given targets, capitals. */
#include "model/text/tokenizer.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <string.h>
#include <strings.h>

static struct translator *translator;
static struct arena arena;

static void setup(void) {
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static struct sentence *prepare(const char *text) {
    static const struct search_options greedy = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1};
    return model_prepare(translator, text, &greedy, &arena);
}

/* The text's translation, or of the one given. */
static struct rendering translate(struct sentence *sentence, const char *given) {
    struct rendering rendering;
    if (given)
        ck_assert_int_eq(sentence_force(sentence, given, strlen(given), NULL), 0);
    model_decode(translator, &sentence, 1);
    ck_assert_int_eq(rendering_make(sentence, sentence->hypotheses, &arena, &rendering, NULL), 0);
    return rendering;
}

/* ---- <unk> in a translation ---- */

enum { MAX_LENGTH = 4, MAX_SOURCE = 16 };

/* A hypothesis of unknown tokens, each of which looked most at one source token and a little less
 * at another. */
static struct rendering render_unknowns(struct sentence *sentence, size_t length,
                                        const size_t *best, const size_t *second) {
    static const int unknown[MAX_LENGTH] = {0};
    float rows[MAX_LENGTH][MAX_SOURCE] = {{0}};
    const float *attention[MAX_LENGTH];
    ck_assert_uint_le(sentence->length, MAX_SOURCE);
    for (size_t i = 0; i < length; i++) {
        rows[i][second[i]] = 0.4f;
        rows[i][best[i]] = 0.6f;
        attention[i] = rows[i];
    }
    sentence->search.setting.source_length = sentence->length;
    struct rendering rendering;
    struct hypothesis hypothesis = {
        .tokens = unknown, .length = length, .attention = attention, .alignment = attention};
    ck_assert_int_eq(rendering_make(sentence, &hypothesis, &arena, &rendering, NULL), 0);
    return rendering;
}

static void check_rendered(const struct rendering *rendering, const char *text, size_t length,
                           const char *const *pieces) {
    ck_assert_str_eq(rendering->text, text);
    for (size_t i = 0; i < length; i++) {
        const struct token *token = &rendering->tokens[i];
        ck_assert_str_eq(token->piece, pieces[i]);
        ck_assert_int_eq(strncmp(text + token->begin, pieces[i], token->end - token->begin), 0);
        ck_assert(i == 0 || token->begin >= token[-1].end);
    }
    ck_assert_uint_eq(rendering->tokens[length - 1].end, strlen(text));
}

START_TEST(unknowns_are_replaced) {
    translator = model_open("tests/golden/luong-general-gru");
    struct sentence *list = prepare("to \u4f60\u597d."); /* \u2581to \u2581 \u4f60\u597d . </s> */
    ck_assert_uint_eq(list->length, 5);
    static const size_t best[] = {2, 1, 0, 4},
                        second[] = {0, 3, 4,
                                    3}; /* </s> does not count; \u2581 belongs to what follows */
    list->caller.replace_unknowns = true;
    struct rendering rendering = render_unknowns(list, 4, best, second);
    check_rendered(&rendering, "\u4f60\u597d\u4f60\u597dto.", 4,
                   (const char *const[]){"\u4f60\u597d", "\u4f60\u597d", "to", "."});
    list->caller.replace_unknowns = false;
    rendering = render_unknowns(list, 1, best, second);
    ck_assert_str_eq(rendering.text, " \u2047 ");
    ck_assert_str_eq(rendering.tokens[0].piece, "<unk>");
    sentence_done(list);
}
END_TEST

START_TEST(unknown_words_are_replaced) {
    translator = model_open("tests/golden/tokenizer-words");
    struct sentence *list = prepare("Where  is Zo\u00eb\u2019s ladder?");
    ck_assert_uint_eq(list->length, 8);
    ck_assert_str_eq(list->tokens[2].piece, "zo\u00eb");
    ck_assert_uint_eq(list->reading.unknown, 4); /* zo\u00eb, \u2019, ladder, and s */
    list->caller.replace_unknowns = true;
    static const size_t best[] = {2, 7, 3}, second[] = {0, 5, 0};
    struct rendering rendering = render_unknowns(list, 3, best, second);
    check_rendered(&rendering, "Zo\u00eb ladder \u2019", 3,
                   (const char *const[]){"Zo\u00eb", "ladder", "\u2019"});
    list->caller.replace_unknowns = false;
    rendering = render_unknowns(list, 2, best, second);
    ck_assert_str_eq(rendering.text, "\u2047 \u2047");
    ck_assert_str_eq(rendering.tokens[1].piece, "<unk>");
    ck_assert_uint_eq(rendering.tokens[1].begin, 4);
    sentence_done(list);
}
END_TEST

START_TEST(a_forced_target_keeps_its_words) {
    static const char target[] = "Zo\u00eb n\u2019est pas l\u00e0, Tom.";
    translator = model_open("tests/golden/tokenizer-words");
    struct sentence *list = prepare("Zo\u00eb is not here, Tom.");
    struct rendering rendering = translate(list, target);
    ck_assert_str_eq(rendering.text, target); /* the vocabulary has lower case only */
    ck_assert_str_eq(rendering.tokens[0].piece, "zo\u00eb");
    ck_assert_uint_eq(rendering.tokens[0].end, strlen("Zo\u00eb"));
    sentence_done(list);
}
END_TEST

/* ---- capitals, by the shipped model, which reads them in small letters ---- */

/* The same as of the text in small letters, but for the case of what is written. */
static void check_capitals(const char *text, const char *given, const char *small,
                           const char *given_small) {
    struct sentence *sentence = prepare(text), *lower = prepare(small);
    struct rendering capitals = translate(sentence, given), other = translate(lower, given_small);
    const struct hypothesis *best = sentence->hypotheses, *same = lower->hypotheses;
    ck_assert_str_ne(capitals.text, other.text);
    ck_assert(strcasecmp(capitals.text, other.text) == 0 &&
              capitals_only(capitals.text, strlen(capitals.text)));
    ck_assert_uint_eq(best->length, same->length);
    ck_assert_double_eq(best->log_prob, same->log_prob);
    for (size_t i = 0; i < best->length; i++) {
        ck_assert_int_eq(best->tokens[i], same->tokens[i]);
        ck_assert_uint_eq(capitals.tokens[i].begin, other.tokens[i].begin);
        ck_assert_uint_eq(capitals.tokens[i].end, other.tokens[i].end);
    }
    sentence_done(sentence);
    sentence_done(lower);
}

START_TEST(capitals_come_back) {
    translator = model_open("weights/en-fr");
    check_capitals("I LIKE SNOW AND BOOKS.", NULL, "I like snow and books.", NULL);
    check_capitals("I LIKE SNOW AND BOOKS.", "LE CHAT DORT.", "I like snow and books.",
                   "Le chat dort.");
}
END_TEST

Suite *rendering_suite(void) {
    Suite *suite = suite_create("rendering");
    TCase *tests = tcase_create("rendering");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60); /* a whole model is packed, perhaps under a sanitizer */
    tcase_add_test(tests, unknowns_are_replaced);
    tcase_add_test(tests, unknown_words_are_replaced);
    tcase_add_test(tests, a_forced_target_keeps_its_words);
    tcase_add_test(tests, capitals_come_back);
    suite_add_tcase(suite, tests);
    return suite;
}
