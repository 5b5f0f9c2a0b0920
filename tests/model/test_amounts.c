/* model/correction, amounts: a sentence whose numbers do not come through has a second attempt, in
 * which they are held. */
#include "model/rendering.h"
#include "model/translator.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <string.h>

#define SHIPPED "weights/en-fr"

static struct translator *translator;

static void setup(void) {
    scratch_setup();
    translator = translator_open(SHIPPED, NULL, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
}

static void teardown(void) {
    translator_free(translator);
    scratch_teardown();
}

static struct sentence *prepare(const char *text, const struct search_options *options) {
    struct sentence_list list;
    struct glossary glossary;
    struct guard guard = {0};
    struct translator_text whole = {.text = text, .length = strlen(text)};
    ck_assert_int_eq(guard_find(&guard, sentence_notations(translator, false),
                                (struct bytes){text, whole.length}, &arena, &whole.held, &err),
                     0);
    ck_assert_int_eq(sentence_prepare(translator, &whole, options, &arena, &list, &err), 0);
    ck_assert_uint_eq(list.count, 1);
    glossary_init(&glossary, NULL, &arena);
    ck_assert_int_eq(glossary_constrain(list.all, &glossary, &err), 0);
    return list.all;
}

static void decode(struct sentence *sentence) {
    struct sentence *done[1];
    struct batch *batch = batch_create(translator, 64, &err);
    ck_assert_ptr_nonnull(batch);
    batch_admit(batch, &sentence, 1);
    while (batch_step(batch, done) == 0)
        continue;
    ck_assert_ptr_nonnull(sentence->hypotheses);
    batch_free(batch);
}

static const char *render(const struct sentence *sentence) {
    struct rendering rendering;
    ck_assert_int_eq(rendering_make(sentence, &sentence->hypotheses[0], &arena, &rendering, &err),
                     0);
    return rendering.text;
}

static const struct search_options greedy = {
    .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .max_rows = 16};

static size_t count_differences(const struct sentence *sentence) {
    size_t count = 0;
    for (size_t check = 0; check < CHECKS; check++)
        count +=
            sentence->check->lists[check].source_count + sentence->check->lists[check].target_count;
    return count;
}

/* The model changes many numbers; after the second attempt each is present or reported. */
START_TEST(a_second_attempt_is_no_worse) {
    static const char *const texts[] = {
        "They counted 17,345 cows, 2,128 sheep, 87 houses and 993,401 trees.",
        "The sums are 48,213 and 7,904,118 dollars and 3,141,592 pounds and 2,718,281 yen.",
        "The code is 8 6 7 5 3 0 9 1 2 4."};
    size_t seconds = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sentence *sentence = prepare(texts[i], &greedy);
        ck_assert(sentence->check && sentence->check->applies[CHECK_NUMBERS]);
        decode(sentence);
        struct sentence *second = correction_try_again(sentence, NULL);
        size_t before = count_differences(sentence);
        ck_assert(second == NULL || before > 0);
        if (second) {
            seconds++;
            ck_assert_uint_gt(second->held.count, 0);
            decode(second);
            correction_choose(sentence, second);
            ck_assert_uint_le(count_differences(sentence), before);
        }
        ck_assert_ptr_nonnull(sentence->hypotheses);
        ck_assert_uint_gt(strlen(render(sentence)), 0);
        sentence_done(sentence);
    }
    ck_assert_uint_gt(seconds, 0);
}
END_TEST

/* Signs that a model drops go beside the words that are aligned with those beside them; its words,
 * rows and sums stay. */
START_TEST(signs_are_put_beside_their_words) {
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"The \"red\" house is old.", "La maison \"red\" est vieille."},
        {"They are *really* good friends.", "Ce *sont de* bons amis."},
        {"Tom has five .. brothers.", "Tom a cinq .. fr\u00e8res."},
        {"The conference \ufe59 is long.",
         "La conf\u00e9rence \ufe59 est long."}, /* which the vocabulary writes as ( */
        {"\"They feel that the law is wrong,\" she said.",
         "\"Ils sentent que la loi est incorrecte, dit-elle.\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sentence *sentence = prepare(rows[i].text, &greedy);
        decode(sentence);
        const struct hypothesis *h = &sentence->hypotheses[0], before = *h;
        double sum = 0, rewritten = 0;
        ck_assert_ptr_null(correction_try_again(sentence, NULL));
        ck_assert_uint_eq(count_differences(sentence), 0);
        ck_assert_str_eq(render(sentence), rows[i].wanted);
        ck_assert(h->ended);
        for (size_t k = 0; k <= before.length; k++)
            sum += (double)before.log_probs[k];
        for (size_t k = 0; k <= h->length; k++)
            rewritten += (double)h->log_probs[k];
        ck_assert_double_eq_tol(rewritten, sum, 1e-4);
        ck_assert_ptr_eq(h->attention[h->length], before.attention[before.length]);
        sentence_done(sentence);
    }
}
END_TEST

/* Signs whose words the model moves or joins cross, meet, or lose their spaces. They are put back
 * in the order of the source. */
START_TEST(all_signs_are_put_in_order) {
    static const char *const texts[] = {
        "I prefer \"walking. \U0001F9DE\" (85:93)",
        "If I've misjudged 25.18 15\u00d746 you, I'm terribly \u00a3 sorry.+",
        ("It is difficult to get him to do \u201canything on \u00b1 \u00abthe\u201d spur\u00bb of "
         "the moment."),
        "Let's \u29f7enjoy {the long \u201cvacation.}\u201d v45.99",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sentence *sentence = prepare(texts[i], &greedy);
        struct check_lists differences;
        decode(sentence);
        struct sentence *second = correction_try_again(sentence, NULL);
        if (second) {
            decode(second);
            correction_choose(sentence, second);
        }
        const char *translation = render(sentence);
        ck_assert_int_eq(correction_check_whole("en", "fr",
                                                (struct bytes){texts[i], strlen(texts[i])},
                                                (struct bytes){translation, strlen(translation)},
                                                &arena, &differences),
                         0);
        ck_assert_msg(differences.source_count + differences.target_count == 0, "%s", translation);
        sentence_done(sentence);
    }
}
END_TEST

/* A sign that joins words of one meaning joins no others: otherwise it is missing. */
START_TEST(a_sign_joins_the_words_that_it_joined) {
    struct sentence *sentence = prepare("He/she must bring his/her book.", &greedy);
    decode(sentence);
    struct sentence *second = correction_try_again(sentence, NULL);
    if (second) {
        decode(second);
        correction_choose(sentence, second);
    }
    ck_assert_uint_gt(sentence->check->lists[CHECK_SIGNS].source_count, 0);
    ck_assert_msg(!strstr(render(sentence), "/doit"), "%s", render(sentence));
    sentence_done(sentence);
    sentence = prepare("Take the red and/or the blue pen.", &greedy);
    decode(sentence);
    ck_assert_ptr_null(correction_try_again(sentence, NULL));
    ck_assert_msg(strstr(render(sentence), "et/ou"), "%s", render(sentence));
    sentence_done(sentence);
}
END_TEST

/* A name that is lost is held. */
START_TEST(a_second_attempt_has_the_names) {
    struct sentence *plan = prepare("Plan A failed.", &greedy);
    decode(plan);
    struct sentence *second = correction_try_again(plan, NULL);
    ck_assert_ptr_nonnull(second);
    ck_assert_uint_eq(second->held.count, 1);
    decode(second);
    correction_choose(plan, second);
    ck_assert_uint_eq(count_differences(plan), 0);
    ck_assert_msg(strstr(render(plan), " A "), "%s", render(plan));
    sentence_done(plan);
}
END_TEST

/* An hour and its minutes are held together, as any language may write them, also where a letter
 * joined them. */
START_TEST(a_second_attempt_has_the_hour_with_its_minutes) {
    translator_free(translator);
    translator = translator_open("weights/fr-en", NULL, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
    struct sentence *meeting = prepare("Rdv demain à 18h30 chez @paul_b.", &greedy);
    decode(meeting);
    struct sentence *second = correction_try_again(meeting, NULL);
    ck_assert_ptr_nonnull(second);
    decode(second);
    correction_choose(meeting, second);
    ck_assert_uint_eq(count_differences(meeting), 0);
    ck_assert_msg(strstr(render(meeting), " 18:30 "), "%s", render(meeting));
    sentence_done(meeting);
}
END_TEST

/* The first stays where the second was not decoded. */
START_TEST(a_second_that_is_not_decoded_changes_nothing) {
    struct sentence *sentence =
        prepare("The sums are 48,213 and 7,904,118 dollars and 17 cents.", &greedy);
    decode(sentence);
    const char *first = render(sentence);
    struct sentence *second = correction_try_again(sentence, NULL);
    if (second)
        correction_choose(sentence, second);
    ck_assert_str_eq(render(sentence), first);
    sentence_done(sentence);
}
END_TEST

START_TEST(only_sentences_with_digits_are_compared) {
    struct search_options sample = {.strategy = &search_sample, .beam_size = 1, .n_best = 1};
    struct sentence *plain = prepare("Two dogs play.", &greedy),
                    *sampled = prepare("2 dogs play.", &sample);
    ck_assert(plain->check && !plain->check->applies[CHECK_NUMBERS] &&
              !plain->check->applies[CHECK_SIGNS]);
    ck_assert_ptr_null(sampled->check);
    decode(plain);
    ck_assert_ptr_null(correction_try_again(plain, NULL));
    sentence_done(plain);
    sentence_done(sampled);
}
END_TEST

/* An amount whose sign the model cannot read is written as the target language writes it from the
 * start. */
START_TEST(a_sign_goes_where_the_language_puts_it) {
    struct sentence *sentence = prepare("It costs £1,250.50.", &greedy);
    decode(sentence);
    ck_assert_ptr_null(correction_try_again(sentence, NULL));
    ck_assert_ptr_nonnull(strstr(render(sentence), "1\u202f250,50\u00a0£"));
    sentence_done(sentence);
}
END_TEST

Suite *amounts_suite(void) {
    Suite *suite = suite_create("amounts");
    TCase *tcase = tcase_create("amounts");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_second_attempt_is_no_worse);
    tcase_add_test(tcase, signs_are_put_beside_their_words);
    tcase_add_test(tcase, all_signs_are_put_in_order);
    tcase_add_test(tcase, a_sign_joins_the_words_that_it_joined);
    tcase_add_test(tcase, a_second_attempt_has_the_names);
    tcase_add_test(tcase, a_second_attempt_has_the_hour_with_its_minutes);
    tcase_add_test(tcase, a_second_that_is_not_decoded_changes_nothing);
    tcase_add_test(tcase, only_sentences_with_digits_are_compared);
    tcase_add_test(tcase, a_sign_goes_where_the_language_puts_it);
    suite_add_tcase(suite, tcase);
    return suite;
}
