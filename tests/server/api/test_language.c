/* Languages' names and codes; detection of a text's language. */
#include "server/api/languages.h"
#include "tests/suites.h"
#include <string.h>

START_TEST(names) {
    static const char *const rows[][2] = {
        {"en", "English"}, {"fr", "French"}, {"pt-BR", "Portuguese (Brazil)"}, {"qqx", "qqx"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name(rows[i][0], name);
        ck_assert_str_eq(name, rows[i][1]);
    }
}
END_TEST

START_TEST(codes) {
    char code[] = "zh_Hant-TW";
    ck_assert(language_same("EN", "en") && language_same("en-us", "en_US") &&
              language_same("", ""));
    ck_assert(!language_same("en", "eng") && !language_same("eng", "en") &&
              !language_same("en", ""));
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
        struct language_guess guess =
            language_detect(rows[i].text, strlen(rows[i].text), false, known, rows[i].of);
        ck_assert_msg(guess.index == rows[i].wanted, "%s: %s", rows[i].text, known[guess.index]);
        bool related =
            rows[i].wanted ==
            3; /* asked about all languages, the detector says Galician: nobody can be sure */
        ck_assert_double_gt(guess.confidence, related ? 0 : 50);
        ck_assert_double_le(guess.confidence, 100);
    }
}
END_TEST

/* A text in a language that nobody asked about is not taken for one of those; names in it change
 * nothing. */
START_TEST(other_languages) {
    static const struct {
        const char *text;
        double least, most;
    } rows[] = {
        {"Il nuovo computer \xc3\xa8 gi\xc3\xa0 rotto", 0, 50},
        {"Waar kan ik een kaartje kopen?", 0, 50},
        {"El perro est\xc3\xa1 en la cocina", 0, 50},
        {"\xd0\x93\xd0\xb4\xd0\xb5 \xd0\xb2\xd0\xbe\xd0\xba\xd0\xb7\xd0\xb0\xd0\xbb?", 0, 50},
        {"My friend Zolt\xc3\xa1n lives in Krak\xc3\xb3w and likes it there.", 90, 100},
        {"The children are playing in the garden of the old house.", 95, 100},
        {"ok", 0, 60},
    };
    static const char *const asked[] = {"en", "fr", "de"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct language_guess guess =
            language_detect(rows[i].text, strlen(rows[i].text), false, asked, 3);
        ck_assert_msg(guess.confidence >= rows[i].least && guess.confidence <= rows[i].most,
                      "%s: %s %g", rows[i].text, asked[guess.index], guess.confidence);
    }
}
END_TEST

START_TEST(names_in_other_languages) {
    static const char *const rows[][3] = {{"en", "de", "Englisch"},
                                          {"de", "fr", "allemand"},
                                          {"fr", "fr",
                                           "fran\xc3\xa7"
                                           "ais"},
                                          {"qqx", "de", "qqx"}};
    static const char *const headers[][2] = {{"de", "de"},
                                             {"fr-CA,fr;q=0.8", "fr-CA"},
                                             {"*", "en"},
                                             {"", "en"},
                                             {NULL, "en"},
                                             {"d\xc3\xa9", "en"},
                                             {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "en"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name_in(rows[i][0], rows[i][1], name);
        ck_assert_str_eq(name, rows[i][2]);
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char code[LANGUAGE_CODE_BYTES];
        language_preferred(headers[i][0], code);
        ck_assert_str_eq(code, headers[i][1]);
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

/* No language is claimed whose script the text does not have. */
START_TEST(other_scripts) {
    static const char *const western[] = {"de", "en", "fr"}, *const mixed[] = {"ru", "en", "ja"};
    static const struct {
        const char *text, *const *codes;
        size_t wanted;
        const char *other;
    } rows[] = {
        {"\xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1\xe0\xb8\xaa\xe0\xb8\x94\xe0\xb8\xb5", western, 0,
         "th"},
        {"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd7\xa2\xd7\x95\xd7\x9c\xd7\x9d", western, 0, "he"},
        {"\xe1\x9a\xa0\xe1\x9a\xa2\xe1\x9a\xa6", western, 0, "und"},
        {"\xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1\xe0\xb8\xaa and my friends here", western, 1, ""},
        {"\xd0\x94\xd0\xb0", mixed, 0, ""},
        {"\xe3\x82\xab", mixed, 2, ""},
        {"Xin ch\xc3\xa0o c\xc3\xa1"
         "c b\xe1\xba\xa1n, t\xc3\xb4i l\xc3\xa0 ng\xc6\xb0\xe1\xbb\x9di Vi\xe1\xbb\x87t",
         mixed, 1, ""},
        {"12345 \xe2\x82\xac", western, 0, ""},
    };
    static const char tags[] = "<p lang=\"und\">\xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1</p>";
    ck_assert_str_eq(language_detect(tags, sizeof tags - 1, true, western, 3).other, "th");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct language_guess guess =
            language_detect(rows[i].text, strlen(rows[i].text), false, rows[i].codes, 3);
        ck_assert_msg(guess.index == rows[i].wanted, "%s: %s", rows[i].text,
                      rows[i].codes[guess.index]);
        ck_assert_str_eq(guess.other, rows[i].other);
        if (*rows[i].other)
            ck_assert_double_eq(guess.confidence, 0);
    }
}
END_TEST

START_TEST(markup) {
    static const char text[] = "<div class=\"the house of\" title=\"that which is "
                               "this\"><p>O\xc3\xb9 est <b>la gare</b> ?</p></div>";
    struct language_guess guess = language_detect(text, sizeof text - 1, true, known, 2);
    ck_assert_uint_eq(guess.index, 1);
}
END_TEST

#define TWO_LANGUAGES                                                                              \
    "The old man slept near the fire all night, and nobody knew where the boy had gone. Il ne "    \
    "sait pas que la nuit est venue, "                                                             \
    "que "                                                                                         \
    "le vent a tourn\xc3\xa9, et que la neige tombe encore sur les toits de la ville."

/* Texts that a model is given, the language that it reads, and the one that they look like; "":
 * that one, or no telling. */
START_TEST(wrong_language) {
    static const char *const likely[] = {"en", "fr"};
    static const struct {
        const char *code, *text, *wanted;
    } rows[] = {
        {"en", "Where is the train station?", ""},
        {"en", "Thank you", ""},
        {"en", "Help me.", ""}, /* Albanian, if it had to be something */
        {"en", "John Smith", ""},
        {"en", "12345", ""},
        {"en", "", ""},
        {"en", "foo@bar.com", ""},
        {"en", "Bonjour", "fr"},
        {"en", "O\xc3\xb9 est la gare, s'il vous pla\xc3\xaet ?", "fr"},
        {"en-GB", "Je ne sais pas o\xc3\xb9 il est all\xc3\xa9.", "fr"},
        {"fr", "Je ne sais pas o\xc3\xb9 il est all\xc3\xa9.", ""},
        {"fr", "I do not know where he went.", "en"},
        {"en", "Wo ist der Bahnhof, bitte?", "de"},
        {"en", "Guten Tag", ""}, /* too short to be anything but the languages that are likely */
        {"en", "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82", "ru"},
        {"en", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "he"},
        {"he", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", ""},
        {"nb", "Jeg vet ikke hvor han har g\xc3\xa5tt i kveld.", ""},
        {"qqx", "Je ne sais pas o\xc3\xb9 il est all\xc3\xa9.", ""},
        /* a sentence in each */
        {"en", TWO_LANGUAGES, ""},
        {"fr", TWO_LANGUAGES, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct language_other other =
            language_check(rows[i].text, strlen(rows[i].text), rows[i].code, likely, 2);
        ck_assert(!other.failed);
        ck_assert_msg(strcmp(other.code, rows[i].wanted) == 0, "%s: %s", rows[i].text, other.code);
    }
}
END_TEST

/* The beginning says so, however long the text, and wherever in a character the beginning ends. */
START_TEST(wrong_language_of_a_long_text) {
    static const char sentence[] = "La for\xc3\xaat est pleine d'arbres et d'oiseaux, et "
                                   "l'\xc3\xa9t\xc3\xa9 ne fait que commencer. ";
    enum { TIMES = 200, LENGTH = sizeof sentence - 1 };
    static char text[TIMES * LENGTH];
    for (size_t i = 0; i < TIMES; i++)
        memcpy(text + i * LENGTH, sentence, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        bool boundary = (text[i] & 0xc0) != 0x80;
        if (boundary)
            ck_assert_str_eq(language_check(text + i, sizeof text - i, "en", NULL, 0).code, "fr");
    }
}
END_TEST

Suite *language_suite(void) {
    Suite *suite = suite_create("language");
    TCase *tests = tcase_create("language");
    tcase_add_test(tests, names);
    tcase_add_test(tests, codes);
    tcase_add_test(tests, detection);
    tcase_add_test(tests, other_languages);
    tcase_add_test(tests, names_in_other_languages);
    tcase_add_test(tests, restricted);
    tcase_add_test(tests, other_scripts);
    tcase_add_test(tests, markup);
    tcase_add_test(tests, wrong_language);
    tcase_add_test(tests, wrong_language_of_a_long_text);
    suite_add_tcase(suite, tests);
    return suite;
}
