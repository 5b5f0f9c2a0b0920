/* Languages' names and codes; whose text it is. */
#include "server/api/language.h"
#include "tests/suites.h"
#include <string.h>

START_TEST(names) {
    static const char *const rows[][2] = {{"en", "English"}, {"fr", "French"}, {"pt-BR", "Portuguese (Brazil)"}, {"qqx", "qqx"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name(rows[i][0], name);
        ck_assert_str_eq(name, rows[i][1]);
    }
}
END_TEST

START_TEST(codes) {
    char code[] = "zh_Hant-TW";
    ck_assert(language_same("EN", "en") && language_same("en-us", "en_US") && language_same("", ""));
    ck_assert(!language_same("en", "eng") && !language_same("eng", "en") && !language_same("en", ""));
    ck_assert(language_widen(code));
    ck_assert_str_eq(code, "zh_Hant");
    ck_assert(language_widen(code));
    ck_assert_str_eq(code, "zh");
    ck_assert(!language_widen(code));
    ck_assert_str_eq(code, "zh");
}
END_TEST

static const char *const known[] = {"en-GB", "fr", "de", "es", "it"};

START_TEST(detection) {
    static const struct {
        const char *text;
        size_t of, wanted; /* of the first so many languages */
    } rows[] = {
        {"Where is the train station?", 2, 0},
        {"O\xc3\xb9 est la gare ?", 2, 1},
        {"Hello", 2, 0},
        {"Bonjour", 2, 1},
        {"Wo ist der Bahnhof?", 3, 2},
        {"\xc2\xbf"
         "D\xc3\xb3nde est\xc3\xa1 la estaci\xc3\xb3n?",
         5, 3},
        {"Je ne sais pas.", 5, 1},
        {"I don't know what to say.", 5, 0},
        {"Non lo so, mi dispiace molto.", 5, 4},
        {"the\x01 house is on the hill", 2, 0},
        {"This is a house on the hill.\x02", 2, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct language_guess guess = language_detect(rows[i].text, strlen(rows[i].text), false, known, rows[i].of);
        ck_assert_msg(guess.index == rows[i].wanted, "%s: %s", rows[i].text, known[guess.index]);
        ck_assert_double_gt(guess.confidence, 50);
        ck_assert_double_le(guess.confidence, 100);
    }
}
END_TEST

/* Only of the languages that were asked about; nothing is known of a number. */
START_TEST(restricted) {
    static const char *const texts[] = {"", " ", "12345", "\xf0\x9f\x98\x80"};
    struct language_guess guess = language_detect("Wo ist der Bahnhof?", 19, false, known, 1);
    ck_assert_uint_eq(guess.index, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        guess = language_detect(texts[i], strlen(texts[i]), false, known, 5);
        ck_assert_uint_eq(guess.index, 0);
        ck_assert_double_lt(guess.confidence, 1);
    }
}
END_TEST

START_TEST(markup) {
    static const char text[] =
        "<div class=\"the house of\" title=\"that which is this\"><p>O\xc3\xb9 est <b>la gare</b> ?</p></div>";
    struct language_guess guess = language_detect(text, sizeof text - 1, true, known, 2);
    ck_assert_uint_eq(guess.index, 1);
}
END_TEST

Suite *language_suite(void) {
    Suite *suite = suite_create("language");
    TCase *tests = tcase_create("language");
    tcase_add_test(tests, names);
    tcase_add_test(tests, codes);
    tcase_add_test(tests, detection);
    tcase_add_test(tests, restricted);
    tcase_add_test(tests, markup);
    suite_add_tcase(suite, tests);
    return suite;
}
