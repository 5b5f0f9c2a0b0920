/* 500 sentences by the shipped model: the attention row of each token of a beam's result is the row
 * from forced decoding of that result. */
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(SLOW) /* some twenty times slower */
enum { SENTENCES = 40 };
#else
enum { SENTENCES = 500 };
#endif
enum { BEAM = 5, AT_ONCE = 20 };

static const char *const parts[][5] = {
    {"Tom", "The old man", "My sister", "A boy with a dog", "Nobody"},
    {"wants to buy", "has never seen", "was looking for", "doesn't like", "told us about"},
    {"the red car", "our new teacher", "that book", "a house near the station", "his own mother"},
    {".", " yesterday.", " because it was raining.", ", but I don't know why.", "?"},
};

/* Each of so many texts is another. */
static void write_text(size_t number, char *text, size_t bytes) {
    snprintf(text, bytes, "%s %s %s%s", parts[0][number % 5], parts[1][number / 5 % 5],
             parts[2][number / 25 % 5], parts[3][number / 125 % 5]);
}

static void prepare(const struct translator *t, const char *text, struct arena *arena,
                    struct sentence **sentence) {
    struct search_options options = {
        .strategy = &search_beam, .beam_size = BEAM, .n_best = 1, .length_penalty = 1};
    *sentence = model_prepare(t, text, &options, arena);
}

static void decode(struct batch *batch, struct sentence *const *sentences, size_t count) {
    struct sentence *done[AT_ONCE * BEAM];
    batch_admit(batch, sentences, count);
    while (batch_sentences(batch) > 0)
        batch_step(batch, done);
}

/* Scores what was found; false: as a text it has other tokens. */
static bool force(const struct sentence *found, struct sentence *again, struct arena *arena) {
    const struct hypothesis *h = &found->hypotheses[0];
    struct rendering rendering;
    ck_assert_int_eq(rendering_make(found, h, arena, &rendering, NULL), 0);
    ck_assert_int_eq(sentence_force(again, rendering.text, strlen(rendering.text), NULL), 0);
    return h->ended && again->options.prefix_length == h->length &&
           memcmp(again->options.prefix, h->tokens, h->length * sizeof *h->tokens) == 0;
}

static void compare(const struct sentence *found, const struct sentence *again) {
    const struct hypothesis *a = &found->hypotheses[0], *b = &again->hypotheses[0];
    ck_assert_uint_eq(a->length, b->length);
    for (size_t i = 0; i <= a->length; i++) {
        ck_assert_float_eq_tol(a->log_probs[i], b->log_probs[i], 1e-4f);
        ck_assert_float_eq_tol(a->entropies[i], b->entropies[i], 1e-4f);
        for (size_t j = 0; j < found->length; j++)
            ck_assert_float_eq_tol(a->attention[i][j], b->attention[i][j], 1e-5f);
    }
}

START_TEST(beam_rows_are_the_forced_rows) {
    struct translator *t = model_open("weights/en-fr");
    struct batch *batch = batch_create(t, AT_ONCE * BEAM, NULL);
    size_t compared = 0;
    for (size_t first = 0; first < SENTENCES; first += AT_ONCE) {
        struct arena arena;
        struct sentence *found[AT_ONCE], *again[AT_ONCE];
        char texts[AT_ONCE][128];
        bool same[AT_ONCE];
        arena_init(&arena, 1 << 16);
        for (size_t i = 0; i < AT_ONCE; i++) {
            write_text(first + i, texts[i], sizeof texts[i]);
            prepare(t, texts[i], &arena, &found[i]);
            prepare(t, texts[i], &arena, &again[i]);
        }
        decode(batch, found, AT_ONCE);
        for (size_t i = 0; i < AT_ONCE; i++)
            same[i] = force(found[i], again[i], &arena);
        decode(batch, again, AT_ONCE);
        for (size_t i = 0; i < AT_ONCE; i++) {
            if (same[i])
                compare(found[i], again[i]);
            compared += same[i];
            sentence_done(found[i]);
            sentence_done(again[i]);
        }
        arena_done(&arena);
    }
    ck_assert_uint_gt(compared, SENTENCES * 9 / 10);
    batch_free(batch);
    translator_free(t);
}
END_TEST

Suite *backpointers_suite(void) {
    Suite *suite = suite_create("backpointers");
    TCase *cases = tcase_create("beam");
    tcase_set_timeout(cases, 600);
    tcase_add_test(cases, beam_rows_are_the_forced_rows);
    suite_add_tcase(suite, cases);
    return suite;
}
