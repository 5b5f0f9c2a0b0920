/* Estimated quality: weights/golden/quality.py's numbers, of hypotheses that were made up. */
#include "model/model.h"
#include "model/rendering.h"
#include "tests/models.h"
#include "tests/suites.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 5 };
static const double TOLERANCE = 1e-5;

static struct translator *translator;
static struct arena arena;
static json_t *golden;

static void read_regression(const char *name, struct quality_regression *regression) {
    const json_t *numbers = json_object_get(golden, name);
    ck_assert_uint_eq(json_array_size(numbers), QUALITY_FEATURES + 1);
    for (size_t i = 0; i < QUALITY_FEATURES; i++)
        regression->weights[i] = (float)json_number_value(json_array_get(numbers, i));
    regression->constant = (float)json_number_value(json_array_get(numbers, QUALITY_FEATURES));
}

static void setup(void) {
    arena_init(&arena, 1 << 14);
    translator = model_open("tests/golden/luong-general-gru");
    golden = json_load_file("tests/data/golden_quality.json", 0, NULL);
    ck_assert_ptr_nonnull(golden);
    ck_assert_uint_eq(json_array_size(json_object_get(golden, "cases")), CASES);
    translator->quality = calloc(1, sizeof *translator->quality);
    ck_assert_ptr_nonnull(translator->quality);
    read_regression("words", &translator->quality->words);
    read_regression("sentence", &translator->quality->sentence);
}

static void teardown(void) {
    json_decref(golden);
    translator_free(translator);
    arena_done(&arena);
}

static float *read_floats(const json_t *array) {
    size_t count = json_array_size(array);
    float *out = arena_alloc(&arena, count, sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)json_number_value(json_array_get(array, i));
    return out;
}

static const float *const *read_rows(const json_t *rows) {
    size_t count = json_array_size(rows);
    const float **out = arena_alloc(&arena, count, sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = read_floats(json_array_get(rows, i));
    return out;
}

static const struct step_row *const *read_steps(const json_t *steps) {
    size_t count = json_array_size(steps);
    const struct step_row **out = arena_alloc(&arena, count, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const json_t *step = json_array_get(steps, i);
        struct step_row *row = arena_zalloc(&arena, 1, sizeof *row);
        struct alternatives *one = row->alternatives = arena_zalloc(&arena, 1, sizeof *one);
        one->count = json_array_size(step);
        for (size_t k = 0; k < one->count; k++) {
            one->tokens[k] = (int)json_integer_value(json_array_get(json_array_get(step, k), 0));
            one->log_probs[k] =
                (float)json_number_value(json_array_get(json_array_get(step, k), 1));
        }
        out[i] = row;
    }
    return out;
}

static struct hypothesis read_hypothesis(const json_t *json) {
    const json_t *ids = json_object_get(json, "tokens");
    struct hypothesis h = {.length = json_array_size(ids),
                           .ended = json_is_true(json_object_get(json, "ended"))};
    int *tokens = arena_alloc(&arena, h.length, sizeof *tokens);
    for (size_t i = 0; i < h.length; i++)
        tokens[i] = (int)json_integer_value(json_array_get(ids, i));
    h.tokens = tokens;
    h.log_probs = read_floats(json_object_get(json, "log_probs"));
    h.entropies = read_floats(json_object_get(json, "entropies"));
    h.alignment = h.attention = read_rows(json_object_get(json, "alignment"));
    h.rows = read_steps(json_object_get(json, "alternatives"));
    return h;
}

static const struct word_range *read_ranges(const json_t *ranges) {
    size_t count = json_array_size(ranges);
    struct word_range *out = arena_alloc(&arena, count, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        out[i].first = (size_t)json_integer_value(json_array_get(json_array_get(ranges, i), 0));
        out[i].end = (size_t)json_integer_value(json_array_get(json_array_get(ranges, i), 1));
    }
    return out;
}

START_TEST(as_python_has_it) {
    const json_t *json = json_array_get(json_object_get(golden, "cases"), (size_t)_i),
                 *wanted = json_object_get(json, "quality");
    struct hypothesis hypothesis = read_hypothesis(json);
    size_t source = (size_t)json_integer_value(json_object_get(json, "source")) + 1; /* </s> */
    size_t words = (size_t)json_integer_value(json_object_get(json, "count"));
    struct sentence sentence = {
        .translator = translator, .length = source, .search = {.setting.source_length = source}};
    struct quality found;
    ck_assert_int_eq(tokenizer_end(translator->target),
                     (int)json_integer_value(json_object_get(json, "end")));
    ck_assert_int_eq(rendering_quality(
                         &sentence, &hypothesis,
                         &(struct token_words){read_ranges(json_object_get(json, "ranges")), words},
                         &arena, &found, NULL),
                     0);
    ck_assert_double_eq_tol((double)found.sentence,
                            json_number_value(json_object_get(wanted, "sentence")), TOLERANCE);
    ck_assert_uint_eq(found.count, words);
    for (size_t w = 0; w < words; w++)
        ck_assert_double_eq_tol(
            (double)found.words[w],
            json_number_value(json_array_get(json_object_get(wanted, "words"), w)), TOLERANCE);
}
END_TEST

/* A model without attention has no rows to read. */
START_TEST(without_attention) {
    static const int tokens[] = {5};
    static const float log_probs[] = {-0.5f}, entropies[] = {0.25f};
    static struct alternatives best = {2, {5, 6}, {-0.5f, -2}};
    static const struct step_row row = {.alternatives = &best}, *const rows[] = {&row};
    static const struct word_range ranges[] = {{0, 1}};
    struct hypothesis h = {tokens, 1, .log_probs = log_probs, .entropies = entropies, .rows = rows};
    struct sentence sentence = {.translator = translator, .length = 4};
    struct quality found;
    ck_assert_int_eq(
        rendering_quality(&sentence, &h, &(struct token_words){ranges, 1}, &arena, &found, NULL),
        0);
    const struct quality_regression *r = &translator->quality->words;
    float sum = r->weights[QUALITY_LOG_PROB] * -0.5f + r->weights[QUALITY_ENTROPY] * 0.25f +
                r->weights[QUALITY_GAP] * 1.5f;
    ck_assert_double_eq_tol((double)found.words[0], 1 / (1 + exp(-(double)(sum + r->constant))),
                            TOLERANCE);
}
END_TEST

/* The first id from `from` on of a piece that begins a word, or goes on with one. */
static int find_piece(int from, bool begins) {
    while ((strncmp(tokenizer_piece(translator->target, from), "\u2581", 3) == 0) != begins)
        from++;
    return from;
}

/* Three words, of which two are the least probable three fifths; the first has two tokens, of which
 * one counts as -50. A token of no vocabulary does not count. */
START_TEST(doubt) {
    int begins = find_piece(5, true), goes_on = find_piece(5, false),
        outside = (int)tokenizer_size(translator->target);
    int tokens[] = {begins, goes_on, outside, begins, begins};
    float log_probs[] = {-0.5f, -60, -87, -2, -0.25f, -0.125f},
          row[] = {0.25f, 0.25f, 0.25f, 0.25f};
    const float *rows[] = {row, row, row, row, row, row};
    struct token copied = {.piece = "x", .id = outside};
    const struct token *const extra[] = {&copied};
    struct copies copies = {.target = translator->target, .extra = extra, .count = 1};
    struct hypothesis h = {
        tokens, 5, .ended = true, .log_probs = log_probs, .attention = rows, .alignment = rows};
    struct sentence sentence = {.translator = translator, .length = 4, .copies = &copies};
    struct doubt found;
    ck_assert_int_eq(rendering_doubts(&sentence, &h, &arena, &found, NULL), 0);
    ck_assert(found.doubtful);
    ck_assert_double_eq_tol(found.estimate, exp((-50.5 - 2) / 2), TOLERANCE);
    ck_assert_uint_eq(found.word_count, 2);
    ck_assert_uint_eq(found.words[0].begin, 0);
    ck_assert_uint_lt(found.words[0].end, found.words[1].begin);
    log_probs[1] = 0; /* now the words have -0.5, -2 and -0.25 */
    ck_assert_int_eq(rendering_doubts(&sentence, &h, &arena, &found, NULL), 0);
    ck_assert(!found.doubtful);
    ck_assert_double_eq_tol(found.estimate, exp(-1.25), TOLERANCE);
    h.length = 0;
    ck_assert_int_eq(rendering_doubts(&sentence, &h, &arena, &found, NULL), 0);
    ck_assert(!found.doubtful); /* of nothing nothing is known */
}
END_TEST

/* Eight words have the limit of all models, and more of them the model's own. */
START_TEST(doubt_of_long_translations) {
    enum { FEW = 8, MANY = 9 };
    int tokens[MANY];
    float log_probs[MANY + 1], row[] = {0.5f, 0.5f};
    const float *rows[MANY + 1];
    for (size_t i = 0; i <= MANY; i++) {
        tokens[i % MANY] = find_piece(5, true);
        log_probs[i] = -1.5f;
        rows[i] = row;
    }
    struct hypothesis h = {
        tokens, MANY, .ended = true, .log_probs = log_probs, .attention = rows, .alignment = rows};
    struct sentence sentence = {.translator = translator, .length = 2};
    struct doubt found;
    static const double limits[] = {-1.4, -1.6};
    for (size_t i = 0; i < 2; i++) {
        translator->config.limits.doubt = limits[i];
        h.length = MANY;
        ck_assert_int_eq(rendering_doubts(&sentence, &h, &arena, &found, NULL), 0);
        ck_assert_int_eq(found.doubtful, i == 0);
        ck_assert_uint_eq(found.word_count, i == 0 ? 6 : 0); /* three fifths */
        h.length = FEW;
        ck_assert_int_eq(rendering_doubts(&sentence, &h, &arena, &found, NULL), 0);
        ck_assert(found.doubtful);
    }
}
END_TEST

/* Bergamot's: two words between white space, of two tokens and one; the first is two of ours. */
START_TEST(of_log_probabilities_alone) {
    static const float log_probs[] = {-0.5f, -1.5f, -0.25f, -3}; /* that of </s> is not counted */
    static const struct word_range ranges[] = {{0, 1}, {1, 2}, {2, 3}};
    int tokens[3] = {find_piece(5, true), find_piece(5, false), find_piece(9, true)};
    struct hypothesis h = {tokens, 3, .ended = true, .log_probs = log_probs};
    struct sentence sentence = {.translator = translator, .length = 4};
    struct quality found;
    *translator->quality =
        (struct quality_weights){.log_probs_alone = true, .log_probs = {{1, 0.5f, -0.25f, 2}, 3}};
    ck_assert_int_eq(
        rendering_quality(&sentence, &h, &(struct token_words){ranges, 3}, &arena, &found, NULL),
        0);
    double first = 1 / (1 + exp(-(-1.0 + 0.5 * -1.5 - 0.25 * 2 + 2 * -0.75 + 3))),
           second = 1 / (1 + exp(-(-0.25 + 0.5 * -0.25 - 0.25 * 1 + 2 * -0.75 + 3)));
    ck_assert_double_eq_tol((double)found.words[0], first, TOLERANCE);
    ck_assert_double_eq_tol((double)found.words[1], first, TOLERANCE);
    ck_assert_double_eq_tol((double)found.words[2], second, TOLERANCE);
    ck_assert_double_eq_tol((double)found.sentence, sqrt(first * second), TOLERANCE);
    h.length = 0;
    ck_assert_int_eq(
        rendering_quality(&sentence, &h, &(struct token_words){ranges, 0}, &arena, &found, NULL),
        0);
    ck_assert_float_eq(found.sentence, 0);
}
END_TEST

/* A model with a file that is none is refused, and the message says which. */
START_TEST(a_wrong_file_is_named) {
    static const char *const names[] = {"config.json", "model.safetensors", "source.spm",
                                        "target.spm", "quality.safetensors"};
    enum { NAMES = sizeof names / sizeof *names };
    char folder[] = "/tmp/alignd-test-XXXXXX", original[256], path[256];
    struct error err = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (size_t i = 0; i < NAMES; i++) { /* the last one's place is taken by another file */
        snprintf(original, sizeof original, "tests/golden/luong-general-gru/%s",
                 names[i < NAMES - 1 ? i : 1]);
        char *whole = realpath(original, NULL);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ck_assert(whole && symlink(whole, path) == 0);
        free(whole);
    }
    ck_assert_ptr_null(translator_open(folder, NULL, &err));
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, "quality: tensor words: missing");
}
END_TEST

Suite *quality_suite(void) {
    Suite *suite = suite_create("quality");
    TCase *tests = tcase_create("quality");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, as_python_has_it, 0, CASES);
    tcase_add_test(tests, without_attention);
    tcase_add_test(tests, doubt);
    tcase_add_test(tests, doubt_of_long_translations);
    tcase_add_test(tests, of_log_probabilities_alone);
    tcase_add_test(tests, a_wrong_file_is_named);
    suite_add_tcase(suite, tests);
    return suite;
}
