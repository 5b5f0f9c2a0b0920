/* model/correction, marks: the mark at the end of a sentence is that of its source, written as the
 * target language writes it. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <string.h>

enum { MOST = 32 };

/* A sentence with a translation that no search has made. */
struct made {
    struct sentence sentence;
    struct hypothesis hypotheses[2];
    float log_probs[2][MOST], entropies[2][MOST];
    const float *rows[2][MOST];
    const struct step_row *steps[2][MOST];
};

static struct translator *translator;
static struct made made;

static void open_model(const char *folder) {
    translator = translator_open(folder, NULL, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
}

static void close_model(void) {
    translator_free(translator);
}

static void make(const char *source, const char *target, size_t which) {
    static const float row[1];
    struct hypothesis *h = &made.hypotheses[which];
    const struct token_list list = model_tokens(translator->target, target, NULL, &arena);
    const struct token *tokens = list.all;
    size_t count = list.count;
    ck_assert_uint_lt(count, MOST);
    int *ids = arena_alloc(&arena, count, sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = tokens[i].id;
    for (size_t i = 0; i <= count; i++) {
        made.log_probs[which][i] = -(float)(i + 1);
        made.rows[which][i] = row;
    }
    *h = (struct hypothesis){.tokens = ids,
                             .length = count,
                             .ended = true,
                             .log_probs = made.log_probs[which],
                             .entropies = made.entropies[which],
                             .attention = made.rows[which],
                             .alignment = made.rows[which],
                             .rows = made.steps[which]};
    made.sentence = (struct sentence){.translator = translator,
                                      .text = source,
                                      .source = {0, strlen(source)},
                                      .hypotheses = made.hypotheses,
                                      .count = which + 1,
                                      .options = {.strategy = &search_beam}};
    arena_init(&made.sentence.arena, 1 << 12);
}

static const char *render(size_t which) {
    struct rendering rendering;
    ck_assert_int_eq(
        rendering_make(&made.sentence, &made.hypotheses[which], &arena, &rendering, &err), 0);
    return rendering.text;
}

static float sum_of(const struct hypothesis *h) {
    float sum = 0;
    for (size_t i = 0; i < h->length + h->ended; i++)
        sum += h->log_probs[i];
    return sum;
}

static void expect(const char *source, const char *target, const char *expected) {
    make(source, target, 0);
    float before = sum_of(&made.hypotheses[0]);
    ending_mend(&made.sentence);
    ck_assert_str_eq(render(0), expected);
    ck_assert_float_eq(sum_of(&made.hypotheses[0]), before);
    for (size_t i = 0; i <= made.hypotheses[0].length; i++)
        ck_assert_ptr_nonnull(made.hypotheses[0].attention[i]);
    arena_done(&made.sentence.arena);
}

START_TEST(german) {
    open_model("weights/en-de");
    expect("Watch out!", "Pass auf.", "Pass auf!");
    expect("Watch out!", "Pass auf", "Pass auf!");
    expect("Who is it?", "Wer ist es.", "Wer ist es?");
    expect("Who is it?!", "Wer ist es?", "Wer ist es?!");
    expect("Go!!!!", "Geh...", "Geh!!!!");
    expect("So...?", "Also...", "Also...?");
    expect("\"Go away!\"", "\"Geh weg.\"", "\"Geh weg!\"");
    expect("\"Go away\"!", "\"Geh weg\"", "\"Geh weg\"!");
    expect("Watch out!", "Pass auf!", "Pass auf!");
    expect("He is here.", "Er ist hier?", "Er ist hier?");
    expect("Is it 3?", "Ist es 3.", "Ist es 3?");
    expect("!", "Pass auf.", "Pass auf.");
    close_model();
}
END_TEST

START_TEST(french) {
    open_model("weights/en-fr");
    expect("Watch out!", "Attention.", "Attention !");
    expect("Watch out!", "Attention", "Attention !");
    expect("Who is it?", "Qui est-ce !", "Qui est-ce ?");
    expect("Who is it?!", "Qui est-ce", "Qui est-ce ?!");
    close_model();
}
END_TEST

/* Two that become one are one. */
START_TEST(none_stands_twice) {
    open_model("weights/en-de");
    make("Watch out!", "Pass auf!", 0);
    make("Watch out!", "Pass auf.", 1);
    ending_mend(&made.sentence);
    ck_assert_uint_eq(made.sentence.count, 1);
    ck_assert_str_eq(render(0), "Pass auf!");
    close_model();
}
END_TEST

/* Verbatim requests, translations that are cut off, and a mark that is copied. */
START_TEST(others_stay) {
    static struct opaque_run run = {6, 12, OPAQUE_PROTECT, NULL};
    open_model("weights/en-de");
    for (int i = 0; i < 5; i++) {
        make("Watch Yahoo!", "Pass auf.", 0);
        made.sentence.reading.verbatim = i == 0;
        made.sentence.untranslated = i == 1;
        made.sentence.held = (struct opaque_runs){&run, i == 2};
        made.hypotheses[0].ended = i != 3;
        made.sentence.options.strategy = i == 4 ? &search_forced : &search_greedy;
        ending_mend(&made.sentence);
        ck_assert_str_eq(render(0), "Pass auf.");
    }
    make("Watch out!", "Pass auf.", 0);
    made.sentence.options.prefix_length = made.hypotheses[0].length;
    ending_mend(&made.sentence);
    ck_assert_str_eq(render(0), "Pass auf.");
    close_model();
}
END_TEST

Suite *ending_suite(void) {
    Suite *suite = suite_create("ending");
    TCase *tests = tcase_create("ending");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, german);
    tcase_add_test(tests, french);
    tcase_add_test(tests, none_stands_twice);
    tcase_add_test(tests, others_stay);
    suite_add_tcase(suite, tests);
    return suite;
}
