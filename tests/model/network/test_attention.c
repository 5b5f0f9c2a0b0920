/* Each score and each window against its formula, the worked examples of the lectures, and rows
 * that look at memories of different lengths. */
#include "model/network/layers.h"
#include "model/network/network.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 11, H = 7, A = 13, TOKENS = 17, SENTENCES = 4 };

/* Sentences end to end: 1 + 9 + 2 + 5 = TOKENS. */
static const size_t lengths[SENTENCES] = {1, 9, 2, 5};

static const char general_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[7,11],\"data_offsets\":[0,308]}}";
static const char additive_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[13,11],\"data_offsets\":[0,572]},"
    "\"attention.key.bias\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[572,624]},"
    "\"attention.energy\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[624,676]},"
    "\"attention.query.weight\":{\"dtype\":\"F32\",\"shape\":[13,7],\"data_offsets\":[676,1040]}}";
static const char covered_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[13,11],\"data_offsets\":[0,572]},"
    "\"attention.key.bias\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[572,624]},"
    "\"attention.energy\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[624,676]},"
    "\"attention.query.weight\":{\"dtype\":\"F32\",\"shape\":[13,7],\"data_offsets\":[676,1040]},"
    "\"attention.coverage\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[1040,1092]}}";
static const char normalised_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[13,11],\"data_offsets\":[0,572]},"
    "\"attention.key.bias\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[572,624]},"
    "\"attention.energy\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[624,676]},"
    "\"attention.query.weight\":{\"dtype\":\"F32\",\"shape\":[13,7],\"data_offsets\":[676,1040]},"
    "\"attention.key.gain\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[1040,1092]},"
    "\"attention.key.shift\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[1092,1144]},"
    "\"attention.query.gain\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[1144,1196]},"
    "\"attention.query.shift\":{\"dtype\":\"F32\",\"shape\":[13],\"data_offsets\":[1196,1248]}}";
static const char factor_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[7,11],\"data_offsets\":[0,308]},"
    "\"attention.factor\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[308,312]}}";
/* for sentences of at most 8 tokens, one of which is too long */
static const char location_header[] =
    "{\"attention.query.weight\":{\"dtype\":\"F32\",\"shape\":[8,7],\"data_offsets\":[0,224]}}";
static const char local_p_header[] =
    "{\"attention.key.weight\":{\"dtype\":\"F32\",\"shape\":[7,11],\"data_offsets\":[0,308]},"
    "\"attention.position.weight\":{\"dtype\":\"F32\",\"shape\":[7,7],\"data_offsets\":[308,504]},"
    "\"attention.position.energy\":{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[504,532]}}";
enum { POSITIONS = 8 };
enum {
    GENERAL = H * D,
    ADDITIVE = A * D + A + A + A * H,
    LOCATION = POSITIONS * H,
    LOCAL_P = GENERAL + H * H + H,
    NORMALISED = ADDITIVE + 4 * A
};

static struct model_config configure(const char *score, size_t annotation, size_t hidden,
                                     size_t size) {
    struct model_config config = {
        .encoder = {.hidden = annotation},
        .decoder = {.hidden = hidden},
        .attention = {.size = size, .window = "global", .normalization = "none"},
        .limits = {.max_source_tokens = POSITIONS - 1}};
    snprintf(config.attention.score, sizeof config.attention.score, "%s", score);
    return config;
}

/* ---- the worked examples ---- */

/* Dot attention of one query [size] over keys and values [count, size]. */
static void attend(const struct kernels *kernels, size_t size, const float *query,
                   const float *keys, const float *values, size_t count, float *weights,
                   float *context) {
    struct attention attention;
    struct model_config config = configure("dot", size, size, 0);
    struct memory memory = {.length = count, .values = values, .keys = keys};
    struct row row = {.memory = &memory, .attention = weights};
    float scratch[1]; /* the query is not projected */
    ck_assert_int_eq(
        attention_init(&attention, &config, &(struct loader){NULL, kernels, NULL, NULL}), 0);
    attention_run(&attention, &row, 1,
                  &(struct attention_step){
                      .queries = {query, size}, .contexts = context, .scratch = scratch});
}

/* Hagan's lecture. The scores are exact; weights and context are printed there to three digits. The
 * first weight is .4195
 * (.419497), printed as .420: rounded twice, so half a unit of the last digit is not quite enough.
 */
START_TEST(hagan_attention) {
    static const float states[4][3] = {
        {0.7f, 0.3f, -0.6f}, {-0.6f, 0.5f, 0.1f}, {0.2f, -0.7f, 0.6f}, {-0.8f, -0.5f, 0.4f}};
    static const float query[] = {0.4f, 0.1f, -0.3f};
    static const double scores[] = {0.49, -0.22, -0.17, -0.49},
                        printed[] = {0.420, 0.206, 0.217, 0.157};
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

/* Hagan's self-attention. The columns of P are the tokens. One printed digit is off: the second
 * output is [1.94, .12] there, computed from the weight .06 as printed; the weight is .0558 and the
 * output [1.9442, .1116]. */
START_TEST(hagan_self_attention) {
    static const float tokens[2][3] = {{1, 0, 1}, {0, 2, 0}};
    static const float query_matrix[] = {1, 1, 0, 0, 0, 1}, key_matrix[] = {0, 1, 0, 1, 0, 1},
                       value_matrix[] = {0, 1, 1, 1, 0, 1};
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

    const double little = 1 / (1 + exp(2 * sqrt(2))),
                 much = 1 - little; /* softmax of [0, 2 sqrt2] */
    const double exact_weights[] = {0.5, 0.5, little, much},
                 exact_contexts[] = {1.5, 1, little + 2 * much, 2 * little};
    static const double printed_weights[] = {0.5, 0.5, 0.06, 0.94},
                        printed_contexts[] = {1.5, 1, 1.94};
    ck_assert_double_lt(distance(weights[0], exact_weights, 4), 1e-6);
    ck_assert_double_lt(distance(contexts[0], exact_contexts, 4), 1e-6);
    ck_assert_double_lt(distance(weights[0], printed_weights, 4), 0.5e-2);
    ck_assert_double_lt(distance(contexts[0], printed_contexts, 3), 0.5e-2);
}
END_TEST

/* ---- scores with parameters, many rows ---- */

/* The terms of a row's score of one token. */
struct pair {
    const float *parameters, *state, *annotation;
    size_t token;
    double coverage;
};

typedef double formula(const struct pair *pair);

static double dot(const struct pair *pair) {
    double e = 0;
    for (size_t i = 0; i < D; i++)
        e += (double)pair->state[i] * (double)pair->annotation[i];
    return e;
}

static double scaled_dot(const struct pair *pair) {
    return dot(pair) / sqrt(D);
}

/* s^T W h */
static double general(const struct pair *pair) {
    double e = 0;
    for (size_t j = 0; j < H; j++)
        for (size_t i = 0; i < D; i++)
            e += (double)pair->state[j] * (double)pair->parameters[j * D + i] *
                 (double)pair->annotation[i];
    return e;
}

static double times_factor(const struct pair *pair) {
    return (double)pair->parameters[GENERAL] * general(pair);
}

/* v . tanh(W s + U h + b + w c) */
static double covered(const struct pair *pair) {
    const float *key = pair->parameters, *bias = key + A * D, *energy = bias + A,
                *query = energy + A, *coverage = query + A * H;
    double e = 0;
    for (size_t a = 0; a < A; a++) {
        double sum =
            (double)bias[a] + (pair->coverage > 0 ? pair->coverage * (double)coverage[a] : 0);
        for (size_t i = 0; i < D; i++)
            sum += (double)key[a * D + i] * (double)pair->annotation[i];
        for (size_t i = 0; i < H; i++)
            sum += (double)query[a * H + i] * (double)pair->state[i];
        e += (double)energy[a] * tanh(sum);
    }
    return e;
}

/* v . tanh(W s + U h + b) */
static double additive(const struct pair *pair) {
    struct pair uncovered = *pair;
    uncovered.coverage = 0;
    return covered(&uncovered);
}

/* y [A] -> gain * (y - mean) / sqrt(variance + epsilon) + shift; gain and shift stand one after the
 * other. */
static void normalise(double *y, const float *gain) {
    double mean = 0, variance = 0;
    for (size_t a = 0; a < A; a++)
        mean += y[a] / A;
    for (size_t a = 0; a < A; a++)
        variance += (y[a] - mean) * (y[a] - mean) / A;
    for (size_t a = 0; a < A; a++)
        y[a] = (double)gain[a] * (y[a] - mean) / sqrt(variance) + (double)gain[A + a];
}

/* v . tanh(norm(W s) + norm(U h + b)); of numbers like these epsilon changes next to nothing */
static double normalised(const struct pair *pair) {
    const float *key = pair->parameters, *bias = key + A * D, *energy = bias + A,
                *query = energy + A, *gains = query + A * H;
    double keys[A], queries[A], e = 0;
    for (size_t a = 0; a < A; a++) {
        keys[a] = (double)bias[a], queries[a] = 0;
        for (size_t i = 0; i < D; i++)
            keys[a] += (double)key[a * D + i] * (double)pair->annotation[i];
        for (size_t i = 0; i < H; i++)
            queries[a] += (double)query[a * H + i] * (double)pair->state[i];
    }
    normalise(keys, gains);
    normalise(queries, gains + 2 * A);
    for (size_t a = 0; a < A; a++)
        e += (double)energy[a] * tanh(keys[a] + queries[a]);
    return e;
}

/* (W s)_j */
static double location(const struct pair *pair) {
    double e = 0;
    for (size_t i = 0; i < H; i++)
        e += (double)pair->parameters[pair->token * H + i] * (double)pair->state[i];
    return e;
}

/* p_t of a sentence of so many tokens; NULL: there is none. */
typedef double centre(const float *parameters, const float *state, size_t length, size_t step);

static double centre_m(const float *parameters, const float *state, size_t length, size_t step) {
    (void)parameters, (void)state;
    return (double)(step < length ? step : length - 1);
}

/* T sigmoid(v . tanh(W s)) */
static double centre_p(const float *parameters, const float *state, size_t length, size_t step) {
    (void)step;
    const float *position = parameters + GENERAL, *energy = position + H * H;
    double x = 0;
    for (size_t j = 0; j < H; j++) {
        double sum = 0;
        for (size_t i = 0; i < H; i++)
            sum += (double)position[j * H + i] * (double)state[i];
        x += (double)energy[j] * tanh(sum);
    }
    return (double)length / (1 + exp(-x));
}

/* A score or window: its parameters in file order, the sizes of the decoder states and keys it goes
 * with. */
static const struct score_case {
    const char *name, *header;
    formula *energy;
    centre *centre;
    size_t parameters, hidden, key_size;
    struct attention_config config;
} score_cases[] = {
    {"dot", "{}", dot, NULL, 0, D, D, {"dot", .window = "global"}},
    {"general", general_header, general, NULL, GENERAL, H, H, {"general", .window = "global"}},
    {"additive",
     additive_header,
     additive,
     NULL,
     ADDITIVE,
     H,
     A,
     {"additive", A, .window = "global"}},
    {"scaled dot", "{}", scaled_dot, NULL, 0, D, D, {"scaled_dot", .window = "global"}},
    {"keys",
     general_header,
     general,
     NULL,
     GENERAL,
     H,
     H,
     {"dot", .window = "global", .learned_keys = true}},
    {"scale",
     factor_header,
     times_factor,
     NULL,
     GENERAL + 1,
     H,
     H,
     {"scaled_dot", 0, true, true, .window = "global"}},
    {"location", location_header, location, NULL, LOCATION, H, 0, {"location", .window = "global"}},
    {"coverage",
     covered_header,
     covered,
     NULL,
     ADDITIVE + A,
     H,
     A,
     {"additive", A, .window = "global", .coverage = true}},
    {"depth",
     general_header,
     general,
     NULL,
     GENERAL,
     H,
     H,
     {"general", .window = "global", .source_depth = 3}},
    {"late",
     location_header,
     location,
     NULL,
     LOCATION,
     H,
     0,
     {"location", .window = "global", .source_depth = 2}},
    {"local_m",
     general_header,
     general,
     centre_m,
     GENERAL,
     H,
     H,
     {"general", .window = "local_m", .half_width = 2}},
    {"local_p",
     local_p_header,
     general,
     centre_p,
     LOCAL_P,
     H,
     H,
     {"general", .window = "local_p", .half_width = 3}},
    {"near",
     location_header,
     location,
     centre_m,
     LOCATION,
     H,
     0,
     {"location", .window = "local_m", .half_width = 1}},
    {"layer",
     normalised_header,
     normalised,
     NULL,
     NORMALISED,
     H,
     A,
     {"additive", A, .window = "global", .normalization = "layer"}},
    {"gates",
     normalised_header,
     normalised,
     NULL,
     NORMALISED,
     H,
     A,
     {"additive", A, .window = "global", .normalization = "gates"}},
};
enum { SCORE_CASES = sizeof score_cases / sizeof *score_cases };

/* Everything one run of attention needs: two rows a sentence, in mixed order. */
enum { ROWS = 2 * SENTENCES, LD = D + TOKENS + 4 };

struct run {
    const struct score_case *score;
    struct attention attention;
    struct weights *file;
    float *parameters, *annotations, *keys,
        *states;    /* states [ROWS, LD]: the query and, D floats on, the coverage */
    float *covered; /* the coverage of the states as it was before */
    struct memory memories[SENTENCES];
    struct row rows[ROWS];
    float *contexts, *scratch;
};

static void run_open(struct run *run, const struct score_case *score,
                     const struct kernels *kernels) {
    struct error err = {0};
    struct model_config config = configure("", D, score->hidden, 0);
    config.attention = score->config;
    if (config.attention.normalization[0] == '\0')
        strcpy(config.attention.normalization, "none");
    *run = (struct run){.score = score, .parameters = noise(score->parameters, 1, 21)};
    run->file = parameters_open(score->header, run->parameters, score->parameters,
                                (struct backend){.kernels = kernels});
    ck_assert_msg(attention_init(&run->attention, &config,
                                 &(struct loader){run->file, kernels, NULL, &err}) == 0,
                  "%s", err.message);
    ck_assert_int_eq(weights_all_used(run->file, &err), 0);
    ck_assert_uint_eq(run->attention.key_size, score->key_size);
    ck_assert_uint_eq(run->attention.reach, config.attention.coverage || score->energy == location
                                                ? POSITIONS
                                                : SIZE_MAX);
    run->annotations = noise(TOKENS * D, 1, 22);
    run->states = noise(ROWS * LD, 1, 23);
    for (size_t i = 0; i < ROWS * LD; i++) /* no attention is below 0 */
        run->states[i] = i % LD < D ? run->states[i] : fabsf(run->states[i]);
    run->covered = malloc(ROWS * LD * sizeof *run->covered);
    memcpy(run->covered, run->states, ROWS * LD * sizeof *run->covered);
    run->keys = guarded(TOKENS * score->key_size);
    run->contexts = guarded(ROWS * D);
    run->scratch = guarded(ROWS * run->attention.scratch);
}

/* As the batch does it: keys of all sentences at once, then a memory for each. */
static void run_remember(struct run *run) {
    size_t size = run->score->key_size, first = 0;
    attention_keys(&run->attention, run->annotations, TOKENS, run->keys);
    ck_assert(guards_intact(run->keys, TOKENS * size));
    for (size_t i = 0; i < SENTENCES; first += lengths[i++])
        run->memories[i] = (struct memory){.length = lengths[i],
                                           .values = run->annotations + first * D,
                                           .keys = run->keys + first * size};
    for (size_t r = 0; r < ROWS; r++) {
        const struct memory *memory = &run->memories[(r * 3 + 1) % SENTENCES];
        run->rows[r] = (struct row){.memory = memory,
                                    .step = r * 5 % 7,
                                    .state = run->states + r * LD,
                                    .attention = guarded(memory->length),
                                    .scores = guarded(memory->length)};
    }
}

/* Rows from `first` on, so many. */
static void run_rows(const struct run *run, size_t first, const struct row *rows, size_t count,
                     float *contexts, float *scratch) {
    attention_run(&run->attention, rows, count,
                  &(struct attention_step){.queries = {run->states + first * LD, LD},
                                           .coverage = D,
                                           .contexts = contexts,
                                           .scratch = scratch});
}

static void run_close(struct run *run) {
    for (size_t r = 0; r < ROWS; r++)
        guarded_free(run->rows[r].attention), guarded_free(run->rows[r].scores);
    guarded_free(run->scratch);
    guarded_free(run->contexts);
    guarded_free(run->keys);
    free(run->covered);
    free(run->states);
    free(run->annotations);
    parameters_close(run->file);
    free(run->parameters);
}

/* Row r's score of token t before it is normalised: 0 outside the window. */
static double unnormalised(const struct run *run, size_t r, size_t t) {
    const struct score_case *score = run->score;
    const struct memory *memory = run->rows[r].memory;
    const float *state = run->covered + r * LD;
    size_t reach = run->attention.reach, length = memory->length < reach ? memory->length : reach,
           depth = score->config.source_depth;
    if (t >= length || (depth && t + depth < length))
        return 0;
    struct pair pair = {run->parameters, state, memory->values + t * D, t, (double)state[D + t]};
    double e = exp(score->energy(&pair)), width = (double)score->config.half_width;
    double away = score->centre
                      ? (double)t - score->centre(run->parameters, state, length, run->rows[r].step)
                      : 0;
    if (fabs(away) > width)
        return 0;
    return score->centre == centre_p ? e * exp(-away * away / (2 * (width / 2) * (width / 2))) : e;
}

static void check_row(const struct run *run, size_t r) {
    const struct memory *memory = run->rows[r].memory;
    double weights[TOKENS], context[D] = {0}, sums[TOKENS], z = 0;
    for (size_t t = 0; t < memory->length; t++)
        z += weights[t] = unnormalised(run, r, t);
    for (size_t t = 0; t < memory->length; t++) {
        float score = run->rows[r].scores[t];
        if (weights[t] == 0)
            ck_assert_msg(run->rows[r].attention[t] == 0 && isnan(score),
                          "%s, row %zu: token %zu is outside", run->score->name, r, t);
        else
            ck_assert_double_eq_tol((double)score, log(weights[t]), 2e-5);
        weights[t] /= z;
        sums[t] =
            (double)run->covered[r * LD + D + t] + (run->score->config.coverage ? weights[t] : 0);
        for (size_t i = 0; i < D; i++)
            context[i] += weights[t] * (double)memory->values[t * D + i];
    }
    double error = worse(distance(run->rows[r].attention, weights, memory->length),
                         distance(run->contexts + r * D, context, D));
    error = worse(error, distance(run->states + r * LD + D, sums, memory->length));
    ck_assert_msg(error < 3e-6, "%s, row %zu: error %g", run->score->name, r, error);
    ck_assert(guards_intact(run->rows[r].attention, memory->length) &&
              guards_intact(run->rows[r].scores, memory->length));
}

START_TEST(rows_of_many_lengths) {
    for (size_t i = 0; i < SCORE_CASES; i++) {
        struct run run;
        run_open(&run, &score_cases[i], kernel_set(_i));
        run_remember(&run);
        run_rows(&run, 0, run.rows, ROWS, run.contexts, run.scratch);
        for (size_t r = 0; r < ROWS; r++)
            check_row(&run, r);
        ck_assert(guards_intact(run.contexts, ROWS * D) &&
                  guards_intact(run.scratch, ROWS * run.attention.scratch));
        run_close(&run);
    }
}
END_TEST

/* One row at a time, without the others. */
static void check_alone(const struct run *run, size_t r) {
    size_t length = run->rows[r].memory->length;
    float *weights = guarded(length), context[D], *scratch = guarded(run->attention.scratch);
    struct row row = run->rows[r];
    row.attention = weights;
    row.scores = NULL;
    memcpy(run->states + r * LD, run->covered + r * LD, LD * sizeof *run->states);
    run_rows(run, r, &row, 1, context, scratch);
    ck_assert(identical(weights, run->rows[r].attention, length) &&
              identical(context, run->contexts + r * D, D));
    for (size_t t = 0; t < length; t++)
        ck_assert_float_eq_tol(weights[t], run->rows[r].attention[t], 1e-6f);
    for (size_t i = 0; i < D; i++)
        ck_assert_float_eq_tol(context[i], run->contexts[r * D + i], 1e-6f);
    guarded_free(scratch);
    guarded_free(weights);
}

START_TEST(each_row_as_if_alone) {
    for (size_t i = 0; i < SCORE_CASES; i++) {
        struct run run;
        run_open(&run, &score_cases[i], kernel_set(_i));
        run_remember(&run);
        run_rows(&run, 0, run.rows, ROWS, run.contexts, run.scratch);
        for (size_t r = 0; r < ROWS; r++)
            check_alone(&run, r);
        run_close(&run);
    }
}
END_TEST

/* ---- what cannot be ---- */

static void expect_failure(const struct model_config *config, const char *header,
                           const char *message) {
    struct attention attention;
    struct error err = {0};
    struct weights *weights =
        parameters_open(header, NULL, 0, (struct backend){.kernels = kernels_choose()});
    ck_assert_int_eq(
        attention_init(&attention, config, &(struct loader){weights, kernels_choose(), NULL, &err}),
        -1);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, message);
    parameters_close(weights);
}

START_TEST(what_does_not_fit_is_named) {
    struct model_config config = configure("cosine", D, D, A);
    expect_failure(&config, "{}", "attention.score: cosine is not known");
    config = configure("dot", D, D, 0);
    snprintf(config.attention.window, sizeof config.attention.window, "round");
    expect_failure(&config, "{}", "attention.window: round is not known");
    config = configure("dot", D, H, 0);
    expect_failure(&config, "{}",
                   "attention.score: dot needs annotations (11) as large as decoder.hidden (7)");
    config = configure("general", D, H, 0);
    expect_failure(&config, "{}", "tensor attention.key.weight: missing");
    config = configure("scaled_dot", D, H, 0);
    expect_failure(
        &config, "{}",
        "attention.score: scaled_dot needs annotations (11) as large as decoder.hidden (7)");
    config = configure("location", D, H, 0);
    expect_failure(&config, "{}", "tensor attention.query.weight: missing");
    config = configure("additive", D, H, A);
    expect_failure(&config, "{}", "tensor attention.key.bias: missing");
}
END_TEST

Suite *attention_suite(void) {
    Suite *suite = suite_create("attention");
    TCase *cases = tcase_create("attention");
    tcase_add_loop_test(cases, hagan_attention, 0, kernel_sets());
    tcase_add_loop_test(cases, hagan_self_attention, 0, kernel_sets());
    tcase_add_loop_test(cases, rows_of_many_lengths, 0, kernel_sets());
    tcase_add_loop_test(cases, each_row_as_if_alone, 0, kernel_sets());
    tcase_add_test(cases, what_does_not_fit_is_named);
    suite_add_tcase(suite, cases);
    return suite;
}
