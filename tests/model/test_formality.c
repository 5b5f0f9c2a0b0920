/* Forms of address: which words they are, and which tokens a search may not choose. */
#include "model/formality.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <string.h>

START_TEST(names_are_read) {
    static const struct {
        const char *name;
        bool known, prefers;
        enum formality form;
    } rows[] = {
        {"default", true, false, FORMALITY_ANY},
        {"more", true, false, FORMALITY_MORE},
        {"less", true, false, FORMALITY_LESS},
        {"prefer_more", true, true, FORMALITY_MORE},
        {"prefer_less", true, true, FORMALITY_LESS},
        {"Less", true, false, FORMALITY_LESS},
        {"PREFER_MORE", true, true, FORMALITY_MORE},
        {"prefer_default", false, false, 0},
        {"", false, false, 0},
        {"most", false, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct formality_wish wish = {0};
        ck_assert_msg(formality_read(rows[i].name, &wish) == rows[i].known, "%s", rows[i].name);
        if (rows[i].known)
            ck_assert(wish.form == rows[i].form && wish.prefers == rows[i].prefers);
    }
}
END_TEST

START_TEST(languages_are_known) {
    static const char *const known[] = {"fr", "de-AT", "deu_Latn", ">>fra<<", "pt_BR"},
                             *const unknown[] = {"en", "zh", "", "xyz", "__en__"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_msg(formality_is_known(known[i]), "%s", known[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_msg(!formality_is_known(unknown[i]), "%s", unknown[i]);
}
END_TEST

static const struct {
    const char *source, *text, *language, *translation;
    bool more, less; /* whether it holds where that form is wanted */
} texts[] = {
    {"en", "Are you lost?", "fr", "Êtes-vous perdu ?", true, false},
    {"en", "Are you lost?", "fr", "T’es perdu ?", false, true},
    {"en", "Are you lost?", "fr", "Perdu ?", false, false}, /* neither */
    {"en", "It snows.", "fr", "Il neige.", true, true},     /* nobody is addressed */
    {"en", "He is a tube.", "fr", "C'est un tuteur, TU vois.", false, true},
    {"en", "They are here.", "de", "Sie sind hier.", true, true}, /* not the one who reads */
    {"en", "You are here.", "de", "Sie sind hier.", true, false},
    {"en", "I see you.", "de", "Ich sehe Sie.", true, false},
    {"en", "I see her and you.", "de", "Ich sehe sie und dich.", false, true},
    {"en", "I see her.", "de", "Ich sehe sie.", true, true}, /* a small letter */
    {"en", "That is yours.", "de", "Das ist deines.", false, true},
    {"fr", "Tu viens ?", "de", "Kommst du?", false, true},
    {"xx", "You?", "fr", "Lui ?", true, true}, /* unknown words address nobody */
};

START_TEST(translations_are_judged) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (enum formality form = FORMALITY_LESS; form <= FORMALITY_MORE; form++) {
            struct formality_wish wish = {
                .form = form, .source = texts[i].source, .target = texts[i].language};
            bool holds = formality_holds(&wish, texts[i].text, strlen(texts[i].text),
                                         texts[i].translation, strlen(texts[i].translation));
            ck_assert_msg(holds == (form == FORMALITY_MORE ? texts[i].more : texts[i].less),
                          "%s: %s", formality_name(form), texts[i].translation);
        }
    }
}
END_TEST

/* The pieces of the shipped model for French: whole words, the rest of a word after a hyphen, and
 * elided ones. */
START_TEST(tokens_are_refused) {
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "weights/en-fr/joint.spm", NULL, NULL);
    ck_assert_ptr_nonnull(tokenizer);
    struct formality_tables *tables = formality_open(tokenizer, NULL);
    struct formality_wish wish = {.form = FORMALITY_MORE, .source = "en", .target = "fr"};
    struct search_refusals refusals, again;
    ck_assert_ptr_nonnull(tables);
    ck_assert_int_eq(formality_refuse(tables, &wish, "you", 3, &refusals, NULL), 0);
    ck_assert_int_eq(formality_refuse(tables, &wish, "She?", 4, &again, NULL), 0);
    ck_assert_ptr_eq(refusals.refused, again.refused); /* made once */
    ck_assert_uint_eq(refusals.size, tokenizer_size(tokenizer));
    static const struct {
        const char *before, *piece; /* before: NULL at the beginning */
        bool refused;
    } rows[] = {
        {NULL, "▁tu", true},    {NULL, "▁Tu", true},    {"▁que", "▁te", true},
        {NULL, "▁vous", false}, {"▁que", "▁il", false}, {"▁t", "'", true},
        {"▁l", "'", false},     {"-", "tu", true},      {"▁que", "tu", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = rows[i].before ? tokenizer_find(tokenizer, rows[i].before) : -1,
            piece = tokenizer_find(tokenizer, rows[i].piece);
        if (piece < 0 || (rows[i].before && before < 0))
            continue;
        uint32_t left = before < 0 ? refusals.first : refusals.leaves[before];
        ck_assert_msg(((refusals.refused[piece] & left & refusals.mask) != 0) == rows[i].refused,
                      "%s after %s", rows[i].piece, rows[i].before ? rows[i].before : "nothing");
    }
    wish.target = "en";
    ck_assert_int_eq(formality_refuse(tables, &wish, "you", 3, &refusals, NULL), 0);
    ck_assert_ptr_null(refusals.refused);
    formality_free(tables);
    tokenizer_free(tokenizer);
}
END_TEST

Suite *formality_suite(void) {
    Suite *suite = suite_create("formality");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, names_are_read);
    tcase_add_test(cases, languages_are_known);
    tcase_add_test(cases, translations_are_judged);
    tcase_add_test(cases, tokens_are_refused);
    suite_add_tcase(suite, cases);
    return suite;
}
