/* model/text/signs: signs of a text and its translation agree or do not. */
#include "model/sentence.h"
#include "model/text/signs.h"
#include "model/text/tokenizer.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

static const struct tokenizer *vocabulary; /* NULL: none */

/* Returns the signs that differ, as they are written: "# | ( -> )"; "": they agree. */
static const char *difference(const char *from, const char *to, const char *source,
                              const char *target) {
    static char out[512];
    struct sign_rules rules = signs_rules(from, to);
    rules.vocabularies[0] = rules.vocabularies[1] = vocabulary;
    struct signs left, right;
    struct sign_difference found;
    ck_assert_int_eq(
        signs_read(&rules, (struct bytes){source, strlen(source)}, NULL, &arena, &left, &err), 0);
    ck_assert_int_eq(
        signs_read(&rules, (struct bytes){target, strlen(target)}, NULL, &arena, &right, &err), 0);
    for (size_t i = 0; i < left.count; i++)
        ck_assert(left.all[i].weak || signs_any(&rules, source, strlen(source)) ||
                  signs_any_names(&rules, source, strlen(source)));
    ck_assert_int_eq(signs_compare(&rules, &left, &right, &arena, &found, &err), 0);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < found.source.count; i++)
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s", i ? " " : "",
                                 (int)(found.source.all[i].end - found.source.all[i].begin),
                                 source + found.source.all[i].begin);
    used += found.target.count > 0 ? (size_t)snprintf(out + used, sizeof out - used, "->") : 0;
    for (size_t i = 0; i < found.target.count; i++)
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s", i ? " " : "",
                                 (int)(found.target.all[i].end - found.target.all[i].begin),
                                 target + found.target.all[i].begin);
    return out;
}

struct example {
    const char *from, *to, *source, *target, *difference;
};

static void check_all(const struct example *examples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct example *e = &examples[i];
        const char *got = difference(e->from, e->to, e->source, e->target);
        ck_assert_msg(strcmp(got, e->difference) == 0, "%s / %s: '%s' and not '%s'", e->source,
                      e->target, got, e->difference);
    }
}
#define CHECK_ALL(examples) check_all(examples, sizeof(examples) / sizeof *(examples))

START_TEST(languages_write_the_same_sign_differently) {
    static const struct example examples[] = {
        {"en", "fr", "She said \"no\" twice.", "Elle a dit «\u00a0non\u00a0» deux fois.", ""},
        {"en", "de", "‘Stop’, she said, ‘now’.", "„Halt“, sagte sie, „sofort“.", ""},
        {"de", "en", "»Halt«, sagte sie.", "“Stop”, she said.", ""},
        {"de", "en", "„Ich gehe.", "“I go.", ""},
        {"de", "fr", "Ich komme.“", "Je viens\u00a0»", ""},
        {"en", "fr", "It's the dogs' bowl, isn't it?",
         "C'est l'écuelle des chiens, n'est-ce pas\u00a0?", ""},
        {"en", "de", "Half of it is 50%.", "Die Hälfte sind 50 Prozent.", ""},
        {"de", "en", "Lenz & Sohn", "Lenz and Son", ""},
        {"en", "fr", "Take 3x \u2212 1 = 0.", "Prenez 3x - 1 = 0.", ""},
        {"en", "de", "Take 3x \u2212 1 = 0.", "Nimm 3x 1 = 0.", "\u2212"},
        {"fr", "en", "Le n° 5 est libre.", "No. 5 is free.", ""},
        {"en", "fr", "It was \u221212 outside.", "Il faisait -12 dehors.", ""},
        {"en", "de", "It is 5' 11\" long.", "Es ist 5 Fuß 11 Zoll lang.", ""},
        {"en", "de", "It is 5'11\" long.", "Es ist 5\u203211\u2033 lang.", ""},
        {"en", "fr", "CHF 1'000 in the 1990's or '90", "1 000 francs dans les années 90", ""},
        {"en", "fr", "A 27\" screen", "Un écran de 27 pouces", ""},
        {"de", "en", "Mo.–Fr. 8–18 Uhr", "Mon-Fri 8 to 18", ""},
        {"de", "en", "Mo.–Fr. offen", "Open Mon – Fri", ""},
        {"en", "de", "9-17, well-known", "9–17, bekannt", ""},
        {"en", "de", "It is 7–2.", "Es steht 7:2.", ""},
        {"en", "ja", "Mon–Fri", "月～金", "->～"},
        {"en", "fr", "Wait... what -- now?", "Attends… quoi – maintenant ?", ""},
        {"en", "zh", "Yes, I know.", "是，我知道。", ""},
        {"en", "fr", "Use (the old) [one].", "Utilisez [le] (vieux).", ""},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(what_is_lost_or_added_differs) {
    static const struct example examples[] = {
        {"en", "fr", "She said \"no\".", "Elle a dit non.", "\" \""},
        {"en", "fr", "She said \"no\".", "Elle a dit «non\u00a0».", "\" \"->« »"},
        {"fr", "en", "Il a dit «\u00a0non\u00a0».", "He said 'no'.", "« »->' '"},
        {"de", "en", "„Ich gehe.", "\"I go.", "„->\""}, /* its partner is in the next sentence */
        {"en", "fr", "\"I go.", "«\u00a0Je vais.", "\"->«"},
        {"en", "de", "A # b ⋅ c", "A b c ¶", "# ⋅->¶"},
        {"en", "fr", "Press **now** to go.", "Pressez *maintenant** pour aller.", "** **->* **"},
        {"en", "fr", "Press *now* to go.", "Pressez * maintenant* pour aller.", "* *->* *"},
        {"en", "fr", "No!!", "Non !", "!!"},
        {"fr", "en", "Ouvert lun–ven 9–18", "Open 9–18", "–"},
        {"de", "en", "Mo.–Fr. bis 9", "Mo. Fr. to 9", "–"},
        {"en", "fr", "It is 5' long, in 1'02\".", "Il fait 5 de long, en 1 02\".", "' '"},
        {"en", "de", "3 \u2212 1", "3 Ex-Mann 1", "\u2212"},
        {"en", "fr", "one\ttwo", "un deux", "\t"},
        {"en", "fr", "The (old) house", "La maison )vieille(", "( )->) ("},
        {"en", "zh", "Yes। I know.", "是。", "।"},
        {"en", "de", "Tom and Ann & Co", "Tom und Ann Co", "&"},
        {"fr", "en", "Il **doit** partir.", "He **'must** 'leave.", ""},
        {"fr", "en", "Il **doit** partir.", "He **'must**' leave.", "->' '"},
        {"fr", "en", "Il {doit} partir.", "He {must '}'n' leave.", "->' '"},
        {"en", "fr", "A number of cars # came.", "Un nombre n° de voitures # est venu.", "->°"},
        {"en", "fr", "The number 5 is free.", "Le n° 5 est libre.", ""},
        {"fr", "en", "La voiture n° 5", "Car No.\u00a05", ""},
        {"fr", "en", "La voiture n° cinq", "The car. No. 5 people", ""},
        {"fr", "en", "Le n° de la maison", "The house? No.", "°"},
    };
    CHECK_ALL(examples);
}
END_TEST

/* Words in capitals are names unless the vocabulary has them in small letters; a translation may
 * have another name. */
START_TEST(names_in_capitals_are_signs) {
    static const struct example examples[] = {
        {"en", "fr", "The WHO and the WTO met.", "Le qui et la WTO se sont vus.", "WHO"},
        {"en", "fr", "The WHO and the WTO met.", "L'OMS et la WTO se sont vues.", ""},
        {"en", "fr", "The WTO and the IMF met.", "Le quoi s'est réuni.", "WTO IMF"},
        {"en", "de", "We need NGOs.", "Wir brauchen eine NGO.", ""},
        {"en", "de", "All NGOs met.", "Alle trafen sich.", "NGOs"},
        {"en", "de", "The NGO's house is new.", "Das Haus ist neu.", "NGO"},
        {"en", "de", "Members of NATO met.", "Mitglieder der Nato trafen sich.", ""},
        {"en", "de", "The plan of the WTO is new.", "Der neue Plan ist UNESCO.", "WTO"},
        {"en", "fr", "Turn the TV on, please.", "Allume la télé.", ""},
        {"en", "fr", "It is on page VII here.", "C'est ici.", ""},
        {"en", "fr", "Do TWO of them.", "Fais-en deux.", ""},
        {"en", "fr", "BUY WTO now", "Achetez", ""},
        {"en", "fr", "U.S.A. is here, said xWTO and WTOx.", "Ici.", ""},
        {"en", "fr", "Plan A failed.", "Le plan a échoué.", "A"},
        {"en", "fr", "Plan A failed.", "Le plan A a échoué.", ""},
        {"en", "de", "Take bus B, or route C!", "Nimm Bus und Route!", "B C"},
        {"de", "en", "Eine E-Mail an Herrn M. Roth", "An email to Roth", ""},
        {"fr", "en", "Les rayons X sont utiles.", "X-rays are useful.", ""},
        {"en", "fr", "So am I.", "Moi aussi.", ""},
    };
    struct sign_rules rules = signs_rules("en", "fr");
    struct tokenizer *tokenizer =
        tokenizer_open("sentencepiece", "weights/en-fr/joint.spm", NULL, &err);
    ck_assert_msg(tokenizer != NULL, "%s", err.message);
    vocabulary = tokenizer;
    CHECK_ALL(examples);
    vocabulary = NULL;
    tokenizer_free(tokenizer);
    ck_assert_str_eq(difference("en", "fr", "The WHO and the WTO met.", "Ils se sont vus."), "WHO");
    ck_assert(!signs_any_names(&rules, "A dog and I.", 12) &&
              signs_any_names(&rules, "Plan B", 6) && signs_any_names(&rules, "an EU", 5) &&
              signs_any_names(&rules, "a \xc3\x96, b", 7));
}
END_TEST

/* Plain sentences are not read at all. */
START_TEST(plain_text_has_no_signs) {
    struct sign_rules rules = signs_rules("en", "fr");
    static const char *const plain[] = {"L'été, c'est fini - non ?", "It isn’t so; is it: no!",
                                        "Où vas-tu… – ici.", "東京へ 行く"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        ck_assert_msg(!signs_any(&rules, plain[i], strlen(plain[i])), "%s", plain[i]);
    ck_assert(signs_mark(&rules, "!", 1) && !signs_mark(&rules, "#", 1) &&
              !signs_mark(&rules, "!!", 2));
}
END_TEST

START_TEST(a_quotation_mark_takes_the_form_of_the_language) {
    struct sign_rules rules = signs_rules("en", "fr");
    static const char text[] = "a “b” \"c\"";
    struct signs signs;
    struct span span;
    ck_assert_int_eq(
        signs_read(&rules, (struct bytes){text, sizeof text - 1}, NULL, &arena, &signs, &err), 0);
    ck_assert_uint_eq(signs.count, 4);
    ck_assert_str_eq(signs_write(&rules, text, sizeof text - 1, &signs.all[0], &span), "«\u00a0");
    ck_assert_str_eq(signs_write(&rules, text, sizeof text - 1, &signs.all[1], &span), "\u00a0»");
    ck_assert_ptr_null(signs_write(&rules, text, sizeof text - 1, &signs.all[2], &span));
}
END_TEST

/* The space on the inner side of one mark only, also in pairs that cross. */
START_TEST(lopsided_pairs) {
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"He said \u201cyes\u201d and \u00ab\u00a0non\u00a0\u00bb.", 0},
        {"\u00ab outside. *\u00bb", 1},
        {"\u00bbso\u00ab \u201eja\u201c", 0},
        {"\u00bbso \u00ab", 1},
        {"{the \u201cvacation \u00ab}\u201d x \u00bb", 1},
        {"a \" b", 1},
        {"a \"b\" c", 0},
        {"\u201cone", 0},
    };
    struct span at;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(signs_lopsided(rows[i].text, strlen(rows[i].text), &at) == rows[i].count,
                      "%s", rows[i].text);
}
END_TEST

/* A whole text is compared with what stands around and between its sentences. */
START_TEST(whole_texts) {
    static const struct {
        const char *source, *target, *lacks, *adds;
    } rows[] = {
        {"It is `cheap.`", "C'est `pas cher.`", NULL, NULL},
        {"It is \u266c `cheap.`", "C'est `pas cher.`", "\u266c", NULL},
        {"One two.", "Un deux. **", NULL, "**"},
        {"\u201cIt is. *\u201d", "\u00ab Il est. *\u00bb", "\u201c", "\u00ab"},
        {"It costs \u20ac5, or 5%.", "Cela co\u00fbte 5 euros, ou 5 pour cent.", NULL, NULL},
        {"No signs here.", "Aucun signe ici.", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct check_lists lists;
        const char *source = rows[i].source, *target = rows[i].target;
        ck_assert_int_eq(correction_check_whole("en", "fr", (struct bytes){source, strlen(source)},
                                                (struct bytes){target, strlen(target)}, &arena,
                                                &lists),
                         0);
        ck_assert_msg((lists.source_count > 0) == (rows[i].lacks != NULL) &&
                          (lists.target_count > 0) == (rows[i].adds != NULL),
                      "%s: %zu, %zu", source, lists.source_count, lists.target_count);
        if (rows[i].lacks)
            ck_assert_str_eq(lists.source[0], rows[i].lacks);
        if (rows[i].adds)
            ck_assert_str_eq(lists.target[0], rows[i].adds);
    }
}
END_TEST

Suite *signs_suite(void) {
    Suite *suite = suite_create("signs");
    TCase *tcase = tcase_create("signs");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, languages_write_the_same_sign_differently);
    tcase_add_test(tcase, what_is_lost_or_added_differs);
    tcase_add_test(tcase, names_in_capitals_are_signs);
    tcase_add_test(tcase, plain_text_has_no_signs);
    tcase_add_test(tcase, a_quotation_mark_takes_the_form_of_the_language);
    tcase_add_test(tcase, lopsided_pairs);
    tcase_add_test(tcase, whole_texts);
    suite_add_tcase(suite, tcase);
    return suite;
}
