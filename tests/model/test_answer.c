/* The steps that hypotheses report on a tiny model, and the memory that they keep: numbers and
 * attention are those that a target of the same tokens has, whichever search found them. */
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 16 };

static struct translator *translator;
static struct arena arena;

static void setup(void) {
    translator = model_open_with("tests/golden/conditional-additive-gru", exact_compute());
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static struct sentence *prepare(const char *text, const struct search_kind *strategy, size_t beam) {
    const struct search_options options = {
        .strategy = strategy, .beam_size = beam, .n_best = beam, .length_penalty = 1};
    return model_prepare(translator, text, &options, &arena);
}

static struct sentence *decode(struct sentence *sentence) {
    model_decode(translator, &sentence, 1);
    return sentence;
}

/* Bytes of an answer, each allocation up to a line more: the hypotheses, and a row for each of
 * their steps. */
static size_t answer_bytes(const struct sentence *sentence) {
    enum { LINE = 64, ARRAYS = 7 };
    size_t each = sizeof(int) + 2 * sizeof(float) + 2 * sizeof(void *) + sizeof(struct step_row) +
                  sizeof(struct alternatives) + sentence->length * sizeof(float);
    size_t bytes = sentence->count * sizeof *sentence->hypotheses;
    for (size_t h = 0; h < sentence->count; h++)
        bytes += (sentence->hypotheses[h].length + 1) * each + ARRAYS * LINE;
    return bytes;
}

/* A wide beam has paths that are not part of the answer; their memory is freed when the sentence
 * leaves, before its reply is made. */
START_TEST(an_answer_is_all_that_stays) {
    enum { BLOCKS = 3 * 32 * 1024 }; /* that are not full */
    struct sentence *sentence = prepare(model_texts[4], &search_beam, ROWS), *done[ROWS];
    struct batch *batch = batch_create(translator, ROWS, NULL);
    sentence->options.n_best = 2;
    sentence->options.report.alternatives = true;
    sentence->options.min_length = sentence->options.max_length = 300;
    size_t before = arena_bytes(&sentence->arena), most = 0;
    batch_admit(batch, &sentence, 1);
    while (batch_step(batch, done) == 0)
        most = arena_bytes(&sentence->decoding.searching);
    ck_assert_uint_eq(sentence->count, 2);
    size_t after = arena_bytes(&sentence->arena) - before, wanted = answer_bytes(sentence);
    ck_assert_msg(after <= wanted + BLOCKS, "%zu bytes of an answer of %zu", after, wanted);
    ck_assert_uint_gt(most, 2 * after);
    ck_assert_uint_eq(arena_bytes(&sentence->decoding.searching), 0);
    ck_assert_uint_eq(arena_bytes(&sentence->decoding.arena), 0);
    sentence_done(sentence);
    batch_free(batch);
}
END_TEST

/* Thousands of sentences of a document wait, or wait to be written: neither a question nor an
 * answer has a block that is larger than what it holds, but for the gaps between its arrays. */
START_TEST(small_sentences_have_small_blocks) {
    enum { GAPS = 1024 };
    struct sentence *sentence = prepare(model_texts[0], &search_beam, 5);
    size_t before = arena_bytes(&sentence->arena),
           question = (sentence->length + 1) * sizeof *sentence->tokens;
    ck_assert_msg(before <= question + GAPS, "%zu bytes of a question of %zu", before, question);
    sentence->options.n_best = 1;
    decode(sentence);
    size_t after = arena_bytes(&sentence->arena) - before, wanted = answer_bytes(sentence);
    ck_assert_msg(after <= wanted + GAPS, "%zu bytes of an answer of %zu", after, wanted);
    sentence_done(sentence);
}
END_TEST

/* Hypotheses that begin alike have the same rows. */
START_TEST(answers_share_their_beginnings) {
    struct sentence *sentence = prepare(model_texts[4], &search_beam, 8);
    sentence->options.report.alternatives = true;
    decode(sentence);
    size_t shared = 0;
    for (size_t h = 1; h < sentence->count; h++) {
        const struct hypothesis *x = &sentence->hypotheses[0], *y = &sentence->hypotheses[h];
        for (size_t i = 0; i < x->length && i < y->length && x->tokens[i] == y->tokens[i];
             i++, shared++) {
            ck_assert_ptr_eq(x->attention[i], y->attention[i]);
            ck_assert_ptr_eq(x->rows[i], y->rows[i]);
            ck_assert_ptr_nonnull(x->rows[i]->alternatives);
        }
        ck_assert_ptr_eq(y->alignment, y->attention);
    }
    ck_assert_uint_gt(shared, 0);
    sentence_done(sentence);
}
END_TEST

/* The attention row of each token of a beam's result is the row from forced decoding of that
 * result: backpointers are right. */
START_TEST(beam_attention_equals_forced) {
    for (size_t i = 0; i < MODEL_TEXTS; i++) {
        struct sentence *beam = decode(prepare(model_texts[i], &search_beam, 5));
        for (size_t h = 0; h < beam->count; h++) {
            const struct hypothesis *want = &beam->hypotheses[h];
            if (!want->ended)
                continue;
            struct sentence *forced = decode(model_prepare_forced(
                translator, model_texts[i], want->tokens, want->length, &arena));
            const struct hypothesis *got = &forced->hypotheses[0];
            ck_assert_uint_eq(got->length, want->length);
            ck_assert(fabs(got->log_prob - want->log_prob) < 1e-5);
            for (size_t t = 0; t <= want->length; t++)
                for (size_t j = 0; j < forced->length; j++)
                    ck_assert(fabsf(got->attention[t][j] - want->attention[t][j]) < 1e-6f);
            sentence_done(forced);
        }
        sentence_done(beam);
    }
}
END_TEST

/* Exact search comes back to decoder states of steps long past: what it finds scores as a target
 * what it scored when found. */
START_TEST(exact_numbers_equal_forced) {
    for (size_t i = 0; i < MODEL_TEXTS; i++) {
        struct sentence *exact = prepare(model_texts[i], &search_exact, 3);
        exact->options.length_penalty = 0;
        exact->options.max_steps = 400;
        decode(exact);
        for (size_t h = 0; h < exact->count; h++) {
            const struct hypothesis *want = &exact->hypotheses[h];
            struct sentence *forced = decode(model_prepare_forced(
                translator, model_texts[i], want->tokens, want->length, &arena));
            const struct hypothesis *got = &forced->hypotheses[0];
            for (size_t t = 0; t < want->length + want->ended; t++) {
                ck_assert_float_eq_tol(got->log_probs[t], want->log_probs[t], 1e-4f);
                for (size_t j = 0; j < forced->length; j++)
                    ck_assert_float_eq_tol(got->attention[t][j], want->attention[t][j], 1e-5f);
            }
            sentence_done(forced);
        }
        sentence_done(exact);
    }
}
END_TEST

/* The best of all scores no less than what a beam finds, even where the budget ends it. */
START_TEST(exact_is_no_worse_than_beam) {
    size_t proven = 0;
    for (size_t i = 0; i < MODEL_TEXTS; i++) {
        struct sentence *beam = prepare(model_texts[i], &search_beam, 5),
                        *exact = prepare(model_texts[i], &search_exact, 5);
        beam->options.length_penalty = exact->options.length_penalty = 0;
        beam->options.max_length = exact->options.max_length = 4;
        exact->options.max_steps = i % 4 ? 20000 : 2 + i;
        decode(beam);
        decode(exact);
        for (size_t h = 0; h < beam->count; h++)
            ck_assert_double_ge(exact->hypotheses[h].score, beam->hypotheses[h].score - 1e-5);
        proven += exact->hypotheses[0].finish != FINISH_BUDGET;
        sentence_done(beam);
        sentence_done(exact);
    }
    ck_assert_uint_ge(proven, MODEL_TEXTS / 2);
}
END_TEST

/* ---- attention that is given ---- */

static const char *const attending[] = {
    "conditional-additive-gru", "bahdanau-coverage-values", "conditional-coverage-local-p",
    "luong-feeding-gru",        "luong-local-m-gru",        "pointer-generator"};
enum { ATTENDING = sizeof attending / sizeof *attending };

static void attend(struct sentence *sentence, size_t step, const float *row) {
    double weights[64];
    for (size_t j = 0; j < sentence->length; j++)
        weights[j] = 3 * (double)row[j];
    ck_assert_int_eq(sentence_attend(sentence, step, weights, sentence->length, NULL), 0);
}

/* The model's own rows, given, change nothing; all weight on one token is what the step then looks
 * at, and changes what follows. */
START_TEST(attention_can_be_forced) {
    char folder[128];
    snprintf(folder, sizeof folder, "tests/golden/%s", attending[_i]);
    translator_free(translator);
    translator = model_open(folder);
    struct sentence *own = decode(prepare(model_texts[3], &search_greedy, 1)),
                    *same = prepare(model_texts[3], &search_greedy, 1),
                    *other = prepare(model_texts[3], &search_greedy, 1);
    const struct hypothesis *h = &own->hypotheses[0];
    float first[64] = {1};
    for (size_t t = 0; t < h->length + h->ended; t++) {
        attend(same, t, h->attention[t]);
        attend(other, t, first);
    }
    decode(same);
    decode(other);
    ck_assert_uint_eq(same->hypotheses[0].length, h->length);
    ck_assert_double_eq_tol(same->hypotheses[0].log_prob, h->log_prob, 1e-4);
    ck_assert_float_eq(other->hypotheses[0].attention[0][0], 1);
    ck_assert_float_eq(other->hypotheses[0].attention[0][1], 0);
    ck_assert(fabs(other->hypotheses[0].log_prob - h->log_prob) > 1e-4);
    sentence_done(own);
    sentence_done(same);
    sentence_done(other);
}
END_TEST

START_TEST(attention_rows_sum_to_one) {
    struct sentence *sentence = decode(prepare(model_texts[4], &search_greedy, 1));
    for (size_t t = 0; t < sentence->hypotheses[0].length; t++) {
        double sum = 0;
        for (size_t j = 0; j < sentence->length; j++)
            sum += (double)sentence->hypotheses[0].attention[t][j];
        ck_assert(fabs(sum - 1) < 1e-5);
    }
    sentence_done(sentence);
}
END_TEST

Suite *answer_suite(void) {
    Suite *suite = suite_create("answer");
    TCase *tests = tcase_create("answer");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_answer_is_all_that_stays);
    tcase_add_test(tests, small_sentences_have_small_blocks);
    tcase_add_test(tests, answers_share_their_beginnings);
    tcase_add_test(tests, beam_attention_equals_forced);
    tcase_add_test(tests, exact_numbers_equal_forced);
    tcase_add_test(tests, exact_is_no_worse_than_beam);
    tcase_add_loop_test(tests, attention_can_be_forced, 0, ATTENDING);
    tcase_add_test(tests, attention_rows_sum_to_one);
    suite_add_tcase(suite, tests);
    return suite;
}
