/* Each score against its formula, the worked examples of the lectures, and rows that look at memories of different lengths. */
#include "model/attention.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 11, H = 7, A = 13, TOKENS = 17, SENTENCES = 4 };

/* Sentences end to end: 1 + 9 + 2 + 5 = TOKENS. */
static const size_t lengths[SENTENCES] = {1, 9, 2, 5};

static const char general_header[] = "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[7,11],\"data_offsets\":[0,308]}}";
static const char additive_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[13,11],\"data_offsets\":[0,572]},"
    "\"attention.key.bias\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[572,624]},"
    "\"attention.energy\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[624,676]},"
    "\"attention.query.weight\":{\"dtype\":\"F32\",\"shape\":[13,7],\"data_offsets\":[676,1040]}}";
enum { GENERAL = H * D, ADDITIVE = A * D + A + A + A * H };

static struct model_config configure(const char *score, size_t annotation, size_t hidden, size_t size) {
    struct model_config config = {.encoder = {.hidden = annotation}, .decoder = {.hidden = hidden}, .attention = {.size = size}};
    snprintf(config.attention.score, sizeof config.attention.score, "%s", score);
    return config;
}

/* ---- the worked examples ---- */

/* Dot attention of one query [size] over keys and values [count, size]. */
static void attend(const struct kernels *kernels, size_t size, const float *query, const float *keys, const float *values,
                   size_t count, float *weights, float *context) {
    struct attention attention;
    struct model_config config = configure("dot", size, size, 0);
    struct memory memory = {.length = count, .values = values, .keys = keys};
    const struct memory *memories[] = {&memory};
    ck_assert_int_eq(attention_init(&attention, &config, NULL, kernels, NULL), 0);
    attention_run(&attention, query, size, 1, memories, &weights, context, NULL);
    attention_done(&attention);
}

/* Hagan's lecture. The scores are exact; weights and context are printed there to three digits. The first weight is .4195
 * (.419497), printed as .420: rounded twice, so half a unit of the last digit is not quite enough. */
START_TEST(hagan_attention) {
    static const float states[4][3] = {{0.7f, 0.3f, -0.6f}, {-0.6f, 0.5f, 0.1f}, {0.2f, -0.7f, 0.6f}, {-0.8f, -0.5f, 0.4f}};
    static const float query[] = {0.4f, 0.1f, -0.3f};
    static const double scores[] = {0.49, -0.22, -0.17, -0.49}, printed[] = {0.420, 0.206, 0.217, 0.157};
    static const double printed_context[] = {0.087, -0.002, -0.038};
    float e[4], weights[4], context[3];
    kernel_set(_i)->dot(query, states[0], 4, 3, e);
    ck_assert_double_lt(distance(e, scores, 4), 1e-6);

    attend(kernel_set(_i), 3, query, states[0], states[0], 4, weights, context);
    double z = 0, exact[4], exact_context[3] = {0};
    for (size_t t = 0; t < 4; t++)
        z += exp(scores[t]);
    for (size_t t = 0; t < 4; t++) {
        exact[t] = exp(scores[t]) / z;
        for (size_t i = 0; i < 3; i++)
            exact_context[i] += exact[t] * (double)states[t][i];
    }
    ck_assert_double_lt(distance(weights, exact, 4), 1e-6);
    ck_assert_double_lt(distance(context, exact_context, 3), 1e-6);
    ck_assert_double_lt(distance(weights, printed, 4), 0.51e-3);
    ck_assert_double_lt(distance(context, printed_context, 3), 0.5e-3);
}
END_TEST

/* out [rows] = M [rows, 3] p. */
static void transform(const float *matrix, size_t rows, const float *p, float *out) {
    for (size_t j = 0; j < rows; j++)
        out[j] = matrix[3 * j] * p[0] + matrix[3 * j + 1] * p[1] + matrix[3 * j + 2] * p[2];
}

/* Hagan's self-attention. The columns of P are the tokens. One printed digit is off: the second output is [1.94, .12] there,
 * computed from the weight .06 as printed; the weight is .0558 and the output [1.9442, .1116]. */
START_TEST(hagan_self_attention) {
    static const float tokens[2][3] = {{1, 0, 1}, {0, 2, 0}};
    static const float query_matrix[] = {1, 1, 0, 0, 0, 1}, key_matrix[] = {0, 1, 0, 1, 0, 1}, value_matrix[] = {0, 1, 1, 1, 0, 1};
    float queries[2][2], keys[2][2], values[2][2], weights[2][2], contexts[2][2];
    for (size_t t = 0; t < 2; t++) {
        transform(query_matrix, 2, tokens[t], queries[t]);
        transform(key_matrix, 2, tokens[t], keys[t]);
        transform(value_matrix, 2, tokens[t], values[t]);
        for (size_t i = 0; i < 2; i++)
            queries[t][i] /= sqrtf(2);
    }
    for (size_t t = 0; t < 2; t++)
        attend(kernel_set(_i), 2, queries[t], keys[0], values[0], 2, weights[t], contexts[t]);

    const double little = 1 / (1 + exp(2 * sqrt(2))), much = 1 - little; /* softmax of [0, 2 sqrt2] */
    const double exact_weights[] = {0.5, 0.5, little, much}, exact_contexts[] = {1.5, 1, little + 2 * much, 2 * little};
    static const double printed_weights[] = {0.5, 0.5, 0.06, 0.94}, printed_contexts[] = {1.5, 1, 1.94};
    ck_assert_double_lt(distance(weights[0], exact_weights, 4), 1e-6);
    ck_assert_double_lt(distance(contexts[0], exact_contexts, 4), 1e-6);
    ck_assert_double_lt(distance(weights[0], printed_weights, 4), 0.5e-2);
    ck_assert_double_lt(distance(contexts[0], printed_contexts, 3), 0.5e-2);
}
END_TEST

/* ---- scores with parameters, many rows ---- */

typedef double formula(const float *parameters, const float *state, const float *annotation);

static double dot(const float *parameters, const float *state, const float *annotation) {
    (void)parameters;
    double e = 0;
    for (size_t i = 0; i < D; i++)
        e += (double)state[i] * (double)annotation[i];
    return e;
}

/* s^T W h */
static double general(const float *parameters, const float *state, const float *annotation) {
    double e = 0;
    for (size_t j = 0; j < H; j++)
        for (size_t i = 0; i < D; i++)
            e += (double)state[j] * (double)parameters[j * D + i] * (double)annotation[i];
    return e;
}

/* v . tanh(W s + U h + b) */
static double additive(const float *parameters, const float *state, const float *annotation) {
    const float *key = parameters, *bias = key + A * D, *energy = bias + A, *query = energy + A;
    double e = 0;
    for (size_t a = 0; a < A; a++) {
        double sum = (double)bias[a];
        for (size_t i = 0; i < D; i++)
            sum += (double)key[a * D + i] * (double)annotation[i];
        for (size_t i = 0; i < H; i++)
            sum += (double)query[a * H + i] * (double)state[i];
        e += (double)energy[a] * tanh(sum);
    }
    return e;
}

/* A score, its parameters in file order, and the size of the decoder states it goes with. */
static const struct score_case {
    const char *name, *header;
    formula *energy;
    size_t parameters, hidden, size;
} score_cases[] = {
    {"dot", "{}", dot, 0, D, D},
    {"general", general_header, general, GENERAL, H, H},
    {"additive", additive_header, additive, ADDITIVE, H, A},
};

/* Everything one run of attention needs: two rows a sentence, in mixed order. */
enum { ROWS = 2 * SENTENCES, LD = D + 4 };

struct run {
    const struct score_case *score;
    struct attention attention;
    struct weights *file;
    float *parameters, *annotations, *keys, *states; /* states [ROWS, LD] */
    struct memory memories[SENTENCES];
    const struct memory *looked_at[ROWS];
    float *weights[ROWS], *contexts, *scratch;
};

static void run_open(struct run *run, const struct score_case *score, const struct kernels *kernels) {
    struct error err = {0};
    struct model_config config = configure(score->name, D, score->hidden, A);
    *run = (struct run){.score = score, .parameters = noise(score->parameters, 1, 21)};
    run->file = parameters_open(score->header, run->parameters, score->parameters);
    weights_use(run->file, &(struct backend){kernels, COMPUTE_FLOAT32});
    ck_assert_msg(attention_init(&run->attention, &config, run->file, kernels, &err) == 0, "%s", err.message);
    ck_assert_int_eq(weights_all_used(run->file, &err), 0);
    ck_assert_uint_eq(run->attention.size, score->size);
    run->annotations = noise(TOKENS * D, 1, 22);
    run->states = noise(ROWS * LD, 1, 23);
    run->keys = guarded(TOKENS * score->size);
    run->contexts = guarded(ROWS * D);
    run->scratch = guarded(ROWS * A);
}

/* As the batch does it: keys of all sentences at once, then a memory for each. */
static void run_remember(struct run *run) {
    size_t size = run->score->size, first = 0;
    attention_keys(&run->attention, run->annotations, TOKENS, run->keys);
    ck_assert(guards_intact(run->keys, TOKENS * size));
    for (size_t i = 0; i < SENTENCES; first += lengths[i++])
        run->memories[i] =
            (struct memory){.length = lengths[i], .values = run->annotations + first * D, .keys = run->keys + first * size};
    for (size_t r = 0; r < ROWS; r++) {
        run->looked_at[r] = &run->memories[(r * 3 + 1) % SENTENCES];
        run->weights[r] = guarded(run->looked_at[r]->length);
    }
}

static void run_close(struct run *run) {
    for (size_t r = 0; r < ROWS; r++)
        guarded_free(run->weights[r]);
    guarded_free(run->scratch);
    guarded_free(run->contexts);
    guarded_free(run->keys);
    free(run->states);
    free(run->annotations);
    attention_done(&run->attention);
    weights_free(run->file);
    free(run->parameters);
}

static void check_row(const struct run *run, size_t r) {
    const struct memory *memory = run->looked_at[r];
    double weights[TOKENS], context[D] = {0}, z = 0;
    for (size_t t = 0; t < memory->length; t++) {
        weights[t] = exp(run->score->energy(run->parameters, run->states + r * LD, memory->values + t * D));
        z += weights[t];
    }
    for (size_t t = 0; t < memory->length; t++) {
        weights[t] /= z;
        for (size_t i = 0; i < D; i++)
            context[i] += weights[t] * (double)memory->values[t * D + i];
    }
    double error = worse(distance(run->weights[r], weights, memory->length), distance(run->contexts + r * D, context, D));
    ck_assert_msg(error < 3e-6, "%s, row %zu: error %g", run->score->name, r, error);
    ck_assert(guards_intact(run->weights[r], memory->length));
}

START_TEST(rows_of_many_lengths) {
    for (size_t i = 0; i < sizeof score_cases / sizeof *score_cases; i++) {
        struct run run;
        run_open(&run, &score_cases[i], kernel_set(_i));
        run_remember(&run);
        attention_run(&run.attention, run.states, LD, ROWS, run.looked_at, run.weights, run.contexts, run.scratch);
        for (size_t r = 0; r < ROWS; r++)
            check_row(&run, r);
        ck_assert(guards_intact(run.contexts, ROWS * D) && guards_intact(run.scratch, ROWS * A));
        run_close(&run);
    }
}
END_TEST

/* One row at a time, without the others; OpenBLAS may round a query's projection differently then, the kernels may not. */
static void check_alone(const struct run *run, size_t r) {
    bool blas = run->attention.query.out && run->attention.kernels == &kernels_generic;
    size_t length = run->looked_at[r]->length;
    float *weights = guarded(length), context[D], scratch[A];
    attention_run(&run->attention, run->states + r * LD, LD, 1, run->looked_at + r, &weights, context, scratch);
    ck_assert(blas || (identical(weights, run->weights[r], length) && identical(context, run->contexts + r * D, D)));
    for (size_t t = 0; t < length; t++)
        ck_assert_float_eq_tol(weights[t], run->weights[r][t], 1e-6f);
    for (size_t i = 0; i < D; i++)
        ck_assert_float_eq_tol(context[i], run->contexts[r * D + i], 1e-6f);
    guarded_free(weights);
}

START_TEST(each_row_as_if_alone) {
    for (size_t i = 0; i < sizeof score_cases / sizeof *score_cases; i++) {
        struct run run;
        run_open(&run, &score_cases[i], kernel_set(_i));
        run_remember(&run);
        attention_run(&run.attention, run.states, LD, ROWS, run.looked_at, run.weights, run.contexts, run.scratch);
        for (size_t r = 0; r < ROWS; r++)
            check_alone(&run, r);
        run_close(&run);
    }
}
END_TEST

/* ---- what cannot be ---- */

static void expect_failure(const struct model_config *config, const char *header, const char *message) {
    struct attention attention;
    struct error err = {0};
    struct weights *weights = parameters_open(header, NULL, 0);
    ck_assert_int_eq(attention_init(&attention, config, weights, kernels_choose(), &err), -1);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, message);
    attention_done(&attention);
    weights_free(weights);
}

START_TEST(what_does_not_fit_is_named) {
    struct model_config config = configure("cosine", D, D, A);
    expect_failure(&config, "{}", "attention.score: cosine is not known");
    config = configure("dot", D, H, 0);
    expect_failure(&config, "{}", "attention.score: dot needs annotations (11) as large as decoder.hidden (7)");
    config = configure("general", D, H, 0);
    expect_failure(&config, "{}", "tensor attention.key.weight: missing");
    config = configure("additive", D, H, A);
    expect_failure(&config, "{}", "tensor attention.key.bias: missing");
}
END_TEST

Suite *attention_suite(void) {
    Suite *suite = suite_create("attention");
    TCase *cases = tcase_create("attention");
    tcase_add_checked_fixture(cases, matrix_single_threaded, NULL);
    tcase_add_loop_test(cases, hagan_attention, 0, kernel_sets());
    tcase_add_loop_test(cases, hagan_self_attention, 0, kernel_sets());
    tcase_add_loop_test(cases, rows_of_many_lengths, 0, kernel_sets());
    tcase_add_loop_test(cases, each_row_as_if_alone, 0, kernel_sets());
    tcase_add_test(cases, what_does_not_fit_is_named);
    suite_add_tcase(suite, cases);
    return suite;
}
