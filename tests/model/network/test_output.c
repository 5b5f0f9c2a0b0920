/* Readouts to distributions, with a matrix of its own and with the target embedding, over the
 * vocabulary and over lists of ids. */
#include "model/network/network.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 53, SIZE = 6, ROWS = 5, MATRIX = VOCABULARY * SIZE };

static const char untied_header[] =
    "{\"output.bias\":{\"dtype\":\"F32\",\"shape\":[53],\"data_offsets\":[0,212]},"
    "\"output.weight\":{\"dtype\":\"F32\",\"shape\":[53,6],\"data_offsets\":[212,1484]}}";
static const char tied_header[] =
    "{\"output.bias\":{\"dtype\":\"F32\",\"shape\":[53],\"data_offsets\":[0,212]},"
    "\"decoder.embedding\":{\"dtype\":\"F32\",\"shape\":[53,6],\"data_offsets\":[212,1484]}}";
static const char weightless_header[] =
    "{\"output.bias\":{\"dtype\":\"F32\",\"shape\":[53],\"data_offsets\":[0,212]}}";
static const char biasless_header[] =
    "{\"output.weight\":{\"dtype\":\"F32\",\"shape\":[53,6],\"data_offsets\":[0,1272]}}";

static float *parameters; /* the bias, then the matrix */

static const int few[] = {2, 11, 12, 52}, one[] = {30};
/* Rows with ids stand before, after and between others. */
static const struct target_ids targets[ROWS] = {
    {few, 4}, {NULL, 0}, {one, 1}, {NULL, 0}, {NULL, 0}};

static void setup(void) {
    parameters = noise(VOCABULARY + MATRIX, 2, 11);
}

static void teardown(void) {
    free(parameters);
}

static struct model_config configure(bool tied) {
    struct model_config config = {.decoder = {.readout = "attentional", .readout_size = SIZE},
                                  .output = {.type = "vocabulary", .tied = tied}};
    return config;
}

static size_t id_at(const struct distribution *found, size_t i) {
    return found->ids ? (size_t)found->ids[i] : i;
}

/* One row against double precision; the probabilities sum to 1. */
static void check_row(const float *readout, const struct distribution *found) {
    const float *bias = parameters, *weight = parameters + VOCABULARY;
    double logits[VOCABULARY], z = 0, entropy = 0, sum = 0;
    for (size_t v = 0; v < found->size; v++) {
        logits[v] = (double)bias[id_at(found, v)];
        for (size_t k = 0; k < SIZE; k++)
            logits[v] += (double)weight[id_at(found, v) * SIZE + k] * (double)readout[k];
        z += exp(logits[v]);
    }
    for (size_t v = 0; v < found->size; v++) {
        entropy -= exp(logits[v]) / z * (logits[v] - log(z));
        sum += exp((double)(found->logits[v] - found->log_sum));
    }
    ck_assert_double_lt(distance(found->logits, logits, found->size), 1e-5);
    ck_assert_double_eq_tol((double)found->log_sum, log(z), 1e-5);
    ck_assert_double_eq_tol((double)found->entropy, entropy, 1e-5);
    ck_assert_double_eq_tol(sum, 1, 1e-5);
}

/* No token outside the list is above one in it. */
static void check_top(const struct distribution *found, size_t wanted) {
    ck_assert_uint_eq(found->top_count, wanted < found->size ? wanted : found->size);
    for (size_t i = 0; i < found->top_count; i++) {
        size_t above = 0, at = 0;
        for (size_t v = 0; v < found->size; v++)
            above += found->logits[v] > found->top[i].logit ||
                     (found->logits[v] == found->top[i].logit &&
                      id_at(found, v) < (size_t)found->top[i].token);
        ck_assert_uint_eq(above, i);
        while (at < found->size && id_at(found, at) != (size_t)found->top[i].token)
            at++;
        ck_assert_uint_lt(at, found->size);
        ck_assert_float_eq(found->logits[at], found->top[i].logit);
    }
}

/* Nothing is written after a short list's logits. */
static void check_distribution(const struct row *row) {
    const struct distribution *found = row->distribution;
    ck_assert_ptr_eq(found->logits, row->logits);
    ck_assert_ptr_eq(found->ids, row->targets ? row->targets->ids : NULL);
    ck_assert_uint_eq(found->size, row->targets ? row->targets->count : VOCABULARY);
    ck_assert(untouched(found->logits + found->size, VOCABULARY - found->size));
    check_row(row->readout, found);
    check_top(found, row->wanted);
}

static void run(bool tied, const struct kernels *kernels) {
    struct output output;
    struct error err = {0};
    struct model_config config = configure(tied);
    struct weights *weights =
        parameters_open(tied ? tied_header : untied_header, parameters, VOCABULARY + MATRIX,
                        (struct backend){.kernels = kernels});
    ck_assert_msg(output_init(&output, &config, VOCABULARY, true,
                              &(struct loader){weights, kernels, NULL, &err}) == 0,
                  "%s", err.message);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);

    float *readouts = noise(ROWS * SIZE, 1, 12), *logits = guarded(ROWS * output.stride);
    enum { WANTED = 33 };
    static const size_t wanted[ROWS] = {3, 1, 5, WANTED, 0};
    struct distribution distributions[ROWS];
    struct row rows[ROWS];
    struct arena arena;
    arena_init(&arena, 1 << 12);
    for (size_t r = 0; r < ROWS; r++)
        rows[r] = (struct row){.readout = readouts + r * SIZE,
                               .targets = targets[r].ids ? &targets[r] : NULL,
                               .wanted = wanted[r],
                               .reads_all = true,
                               .logits = logits + r * output.stride,
                               .distribution = &distributions[r]};
    ck_assert_int_eq(output_run(&output, rows, ROWS, &arena, &err), 0);
    for (size_t r = 0; r < ROWS; r++)
        check_distribution(&rows[r]);
    arena_done(&arena);
    ck_assert(guards_intact(logits, ROWS * output.stride));

    guarded_free(logits);
    free(readouts);
    parameters_close(weights);
}

START_TEST(a_matrix_of_its_own) {
    run(false, kernel_set(_i));
}
END_TEST

START_TEST(tied_to_the_embedding) {
    run(true, kernel_set(_i));
}
END_TEST

/* Many rows that choose from half of the vocabulary: by a product or by lookups, each has the bits
 * that it has alone. */
START_TEST(half_of_the_vocabulary) {
    enum { MANY = 9, HALF = VOCABULARY / 2 };
    struct output output;
    struct error err = {0};
    struct model_config config = configure(false);
    const struct kernels *kernels = kernel_set(_i);
    struct weights *weights =
        parameters_open(untied_header, parameters, VOCABULARY + MATRIX,
                        (struct backend){.kernels = kernels, .compute = COMPUTE_INT8});
    ck_assert_msg(output_init(&output, &config, VOCABULARY, true,
                              &(struct loader){weights, kernels, NULL, &err}) == 0,
                  "%s", err.message);
    ck_assert_uint_eq(linear_outruns_lookups(&output.linear, MANY, HALF),
                      kernels->packings->int8->product_rows > 0);
    ck_assert(!linear_outruns_lookups(&output.linear, 1, HALF));
    ck_assert(!linear_outruns_lookups(&output.linear, MANY, 4));

    int ids[HALF];
    for (size_t i = 0; i < HALF; i++)
        ids[i] = (int)(2 * i + 1);
    struct target_ids half = {ids, HALF};
    float *readouts = noise(MANY * SIZE, 1, 12), *together = guarded(MANY * output.stride),
          alone[VOCABULARY];
    struct distribution distributions[MANY], single;
    struct row rows[MANY];
    struct arena arena;
    arena_init(&arena, 1 << 12);
    for (size_t r = 0; r < MANY; r++)
        rows[r] = (struct row){.readout = readouts + r * SIZE,
                               .targets = &half,
                               .wanted = 3,
                               .logits = together + r * output.stride,
                               .distribution = &distributions[r]};
    ck_assert_int_eq(output_run(&output, rows, MANY, &arena, &err), 0);
    for (size_t r = 0; r < MANY; r++) {
        struct row row = rows[r];
        row.logits = alone;
        row.distribution = &single;
        ck_assert_int_eq(output_run(&output, &row, 1, &arena, &err), 0);
        ck_assert_uint_eq(distributions[r].size, HALF);
        ck_assert_mem_eq(distributions[r].logits, alone, sizeof(float[HALF]));
        ck_assert_mem_eq(&distributions[r].log_sum, &single.log_sum, sizeof single.log_sum);
        check_top(&distributions[r], 3);
    }
    arena_done(&arena);
    ck_assert(guards_intact(together, MANY * output.stride));
    guarded_free(together);
    free(readouts);
    parameters_close(weights);
}
END_TEST

enum { LARGE = 5000, MANY = 40, MOST = 33 };

static void check_same(const struct row *row, const struct distribution *expected) {
    const struct distribution *found = row->distribution;
    ck_assert_uint_eq(found->size, LARGE);
    ck_assert(identical(&found->log_sum, &expected->log_sum, 1) &&
              identical(&found->entropy, &expected->entropy, 1));
    ck_assert_uint_eq(found->top_count, row->wanted);
    for (size_t i = 0; i < row->wanted; i++) {
        ck_assert_int_eq(found->top[i].token, expected->top[i].token);
        ck_assert(identical(&found->top[i].logit, &expected->top[i].logit, 1));
    }
    ck_assert_ptr_eq(found->logits, row->reads_all ? row->logits : NULL);
    ck_assert(row->reads_all ? identical(found->logits, expected->logits, LARGE)
                             : untouched(row->logits, LARGE));
}

/* Of a large vocabulary only logits that a search reads are kept. Whoever reads them, and whichever
 * rows with targets stand between, nothing differs by a bit from a row alone. */
START_TEST(large_vocabulary) {
    const struct kernels *kernels = kernel_set(_i);
    struct model_config config = configure(false);
    float *values = noise(LARGE + LARGE * SIZE, 2, 21), *readouts = noise(MANY * SIZE, 1, 22);
    static const char header[] =
        "{\"output.bias\":{\"dtype\":\"F32\",\"shape\":[5000],\"data_offsets\":[0,20000]},"
        "\"output.weight\":{\"dtype\":\"F32\",\"shape\":[5000,6],\"data_offsets\":[20000,140000]}}";
    static const struct target_ids list = {few, sizeof few / sizeof *few};
    for (size_t v = 0; v < LARGE; v += 7) /* equal logits */
        memcpy(values + LARGE + v * SIZE, values + LARGE, SIZE * sizeof(float));
    for (enum compute compute = 0; compute < COMPUTE_TYPES; compute++) {
        struct output output;
        struct error err = {0};
        struct weights *weights =
            parameters_open(header, values, LARGE + LARGE * SIZE,
                            (struct backend){.kernels = kernels, .compute = compute});
        ck_assert_int_eq(output_init(&output, &config, LARGE, true,
                                     &(struct loader){weights, kernels, NULL, &err}),
                         0);
        float *logits = guarded(MANY * output.stride), *alone = guarded(MANY * output.stride);
        struct distribution found[MANY], expected[MANY];
        struct row rows[MANY];
        struct arena arena;
        arena_init(&arena, 1 << 12);
        for (size_t r = 0; r < MANY; r++) {
            rows[r] = (struct row){.readout = readouts + r * SIZE,
                                   .wanted = r % 4 == 3 ? MOST : r % 4,
                                   .reads_all = true,
                                   .logits = alone + r * output.stride,
                                   .distribution = &expected[r]};
            ck_assert_int_eq(output_run(&output, &rows[r], 1, &arena, &err), 0);
            check_top(&expected[r], rows[r].wanted);
        }
        for (size_t every = 1; every <= 3;
             every++) { /* all are read, every second one, and with lists between every third one */
            guarded_free(logits);
            logits = guarded(MANY * output.stride);
            for (size_t r = 0; r < MANY; r++) {
                rows[r].targets = every == 3 && r % 5 == 2 ? &list : NULL;
                rows[r].reads_all = r % every == 0;
                rows[r].logits = logits + r * output.stride;
                rows[r].distribution = &found[r];
            }
            ck_assert_int_eq(output_run(&output, rows, MANY, &arena, &err), 0);
            for (size_t r = 0; r < MANY; r++) {
                if (!rows[r].targets)
                    check_same(&rows[r], &expected[r]);
                else
                    check_top(&found[r], rows[r].wanted);
            }
        }
        arena_done(&arena);
        ck_assert(guards_intact(logits, MANY * output.stride));
        guarded_free(logits);
        guarded_free(alone);
        parameters_close(weights);
    }
    free(readouts);
    free(values);
}
END_TEST

static void expect_failure(const char *header, const float *values, size_t count,
                           const char *message) {
    struct output output;
    struct error err = {0};
    struct model_config config = configure(false);
    struct weights *weights =
        parameters_open(header, values, count, (struct backend){.kernels = kernels_choose()});
    ck_assert_int_eq(output_init(&output, &config, VOCABULARY, false,
                                 &(struct loader){weights, kernels_choose(), NULL, &err}),
                     -1);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, message);
    parameters_close(weights);
}

START_TEST(missing_parameters_are_named) {
    expect_failure(biasless_header, parameters + VOCABULARY, MATRIX, "tensor output.bias: missing");
    expect_failure(weightless_header, parameters, VOCABULARY, "tensor output.weight: missing");
}
END_TEST

Suite *output_suite(void) {
    Suite *suite = suite_create("output");
    TCase *cases = tcase_create("output");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_loop_test(cases, a_matrix_of_its_own, 0, kernel_sets());
    tcase_add_loop_test(cases, tied_to_the_embedding, 0, kernel_sets());
    tcase_add_loop_test(cases, half_of_the_vocabulary, 0, kernel_sets());
    tcase_add_loop_test(cases, large_vocabulary, 0, kernel_sets());
    tcase_add_test(cases, missing_parameters_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}
