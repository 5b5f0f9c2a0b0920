/* Alignment heads that are trained for a model without one: the model is random, so that only the
 * head can know which words translate each other. */
#include "model/head.h"
#include "model/import/import.h"
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

#define BARE "tests/golden/transformer-words"

/* A lexicon; translations have their words in reverse. */
static const char *const english[] = {"you", "tom", "he",   "it",  "we",  "me",   "what", "this",
                                      "my",  "in",  "have", "can", "was", "want", "know", "here"};
static const char *const french[] = {"vous", "de", "il", "la", "nous", "moi",  "que",  "ce",
                                     "mon",  "en", "ai", "un", "pour", "veux", "fait", "ici"};
enum { WORDS = sizeof english / sizeof *english, LENGTH = 5, PAIRS = 300, TRIED = 20 };

struct made {
    char source[64], target[64];
};

/* Makes pair number i, of words that differ. */
static struct made make(size_t i) {
    struct made made = {"", ""};
    size_t step = 1 + 2 * (i / WORDS % (WORDS / 2)), word = i % WORDS, words[LENGTH];
    for (size_t k = 0; k < LENGTH; k++, word = (word + step) % WORDS)
        words[k] = word;
    for (size_t k = 0; k < LENGTH; k++) {
        strcat(strcat(made.source, *made.source ? " " : ""), english[words[k]]);
        strcat(strcat(made.target, *made.target ? " " : ""), french[words[LENGTH - 1 - k]]);
    }
    return made;
}

static struct made all[PAIRS];
static struct head_pair list[PAIRS];
static const struct head_pairs pairs = {list, PAIRS};
static struct translator *translator;

static void setup(void) {
    scratch_setup();
    translator = model_open(BARE);
    for (size_t i = 0; i < PAIRS; i++) {
        all[i] = make(i);
        list[i] = (struct head_pair){{all[i].source, strlen(all[i].source)},
                                     {all[i].target, strlen(all[i].target)}};
    }
}

static void teardown(void) {
    translator_free(translator);
    translator = NULL;
    scratch_teardown();
}

static const struct head_options options = {
    .size = 16, .epochs = 40, .most_bytes = 1 << 30, .seed = 3};

/* Returns how many words of the translation look most at the word that they translate. */
static size_t count_right(const struct translator *headed, const struct made *made) {
    const struct search_options greedy = {.strategy = &search_greedy, .beam_size = 1, .n_best = 1};
    struct sentence *sentence = model_prepare(headed, made->source, &greedy, &arena);
    size_t right = 0;
    ck_assert_int_eq(sentence_force(sentence, made->target, strlen(made->target), &err), 0);
    sentence->caller.wants_alignment = true;
    model_decode(headed, &sentence, 1);
    const struct hypothesis *found = &sentence->hypotheses[0];
    ck_assert_uint_eq(found->length, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        size_t best = 0;
        for (size_t j = 1; j < sentence->length; j++)
            best = found->alignment[i][j] > found->alignment[i][best] ? j : best;
        right += best == LENGTH - 1 - i;
    }
    sentence_done(sentence);
    return right;
}

START_TEST(finds_the_words) {
    struct head head;
    char *folder = model_folder_with(BARE, "{}");
    ck_assert_int_eq(head_train(translator, &pairs, &options, &head, &err), 0);
    ck_assert_uint_eq(head.used, PAIRS);
    ck_assert_uint_eq(head.unlinked, 0);
    ck_assert_double_lt(head.loss, 0.5);
    const struct import_head made = {head.size,  head.query_in, head.key_in,
                                     head.query, head.bias,     head.key};
    for (int again = 0; again < 2; again++) { /* the second time it replaces a head */
        ck_assert_int_eq(import_put_head(folder, &made, &err), 0);
        struct translator *headed = model_open(folder);
        ck_assert(translator_info(headed).alignment_head);
        size_t right = 0;
        for (size_t i = 0; i < TRIED; i++)
            right += count_right(headed, &all[i * 7]);
        ck_assert_uint_ge(right, TRIED * LENGTH * 9 / 10);
        translator_free(headed);
    }
    head_done(&head);
    model_folder_remove(folder);
}
END_TEST

/* The room for what the model computes bounds the pairs that are used. */
START_TEST(memory_is_bounded) {
    struct head head;
    struct head_options small = options;
    small.epochs = 1;
    small.most_bytes = 20 * (LENGTH + 1) * 2 * 8 * sizeof(float); /* as the model's vectors are */
    ck_assert_int_eq(head_train(translator, &pairs, &small, &head, &err), 0);
    ck_assert_uint_eq(head.used, 20);
    head_done(&head);
}
END_TEST

START_TEST(same_options_same_head) {
    struct head first, second;
    struct head_options once = options;
    once.epochs = 2;
    ck_assert_int_eq(head_train(translator, &pairs, &once, &first, &err), 0);
    ck_assert_int_eq(head_train(translator, &pairs, &once, &second, &err), 0);
    size_t numbers = first.size * (first.query_in + 1 + first.key_in);
    ck_assert_mem_eq(first.query, second.query, numbers * sizeof *first.query);
    head_done(&first);
    head_done(&second);
}
END_TEST

START_TEST(refusals) {
    struct head head;
    const struct head_pair blank[] = {{{"", 0}, {"moi", 3}}, {{"me", 2}, {" ", 1}}};
    ck_assert_int_eq(head_train(translator, &(struct head_pairs){blank, 2}, &options, &head, &err),
                     -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "none of the 2 pairs has links between its words");
    struct translator *other = model_open("tests/golden/fixed-gru");
    err = (struct error){0};
    ck_assert_int_eq(head_train(other, &pairs, &options, &head, &err), -1);
    ck_assert_str_eq(err.message, "the model has no attention");
    translator_free(other);
}
END_TEST

Suite *head_suite(void) {
    Suite *suite = suite_create("head");
    TCase *tcase = tcase_create("head");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, finds_the_words);
    tcase_add_test(tcase, memory_is_bounded);
    tcase_add_test(tcase, same_options_same_head);
    tcase_add_test(tcase, refusals);
    suite_add_tcase(suite, tcase);
    return suite;
}
