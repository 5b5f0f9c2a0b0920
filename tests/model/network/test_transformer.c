/* Heads, positions and blocks against the formulas of the lectures; cases that the golden models
 * (test_golden.c) do not cover. */
#include "model/model.h"
#include "model/network/layers.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- in parts ---- */

static const char *const encoders[] = {"tests/golden/transformer",
                                       "tests/golden/transformer-pre-learned",
                                       "tests/golden/transformer-alibi",
                                       "tests/golden/transformer-alibi-pre",
                                       "tests/golden/transformer-copy",
                                       "tests/golden/transformer-gated",
                                       "tests/golden/transformer-rotary",
                                       "tests/golden/transformer-relative",
                                       "tests/golden/transformer-relative-layers"};
enum { ENCODERS = sizeof encoders / sizeof *encoders, LONGEST = 300, TOKENS = LONGEST + 7 + 70 };

/* Encodes the sentences in parts of so much work. Returns the number of parts. */
static size_t encode_in_parts(const struct encoder *encoder, const int *ids, const size_t *lengths,
                              size_t work, struct arena *arena, struct encoded *encoded) {
    void *parts =
        encoder_begin(encoder, &(struct encoder_input){ids, lengths, 3}, arena, encoded, NULL);
    size_t count = 1;
    for (; !encoder_advance(encoder, parts, work); count++)
        ;
    return count;
}

/* Sentences of any length are encoded, and remembered, by parts of a few rows, with the bits that
 * all at once have. */
START_TEST(parts_change_nothing) {
    static const size_t lengths[] = {LONGEST, 7, 70}, works[] = {1, 10000, 100000, SIZE_MAX};
    struct translator *t = model_open_with(encoders[_i], exact_compute());
    size_t size = t->encoder.annotation, layers = t->config.encoder.layers,
           shape = t->decoder.shape.key;
    int ids[TOKENS];
    struct arena arena;
    struct encoded whole, divided;
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < TOKENS; i++)
        ids[i] = 3 + (int)(i * i % 50);
    encode_in_parts(&t->encoder, ids, lengths, SIZE_MAX, &arena, &whole);
    for (size_t w = 0, before = SIZE_MAX; w < sizeof works / sizeof *works; w++) {
        size_t parts = encode_in_parts(&t->encoder, ids, lengths, works[w], &arena, &divided);
        ck_assert_mem_eq(divided.annotations, whole.annotations,
                         TOKENS * size * sizeof *whole.annotations);
        ck_assert_uint_lt(parts, before);
        ck_assert(works[w] > 1 || parts == layers * 2 * ((TOKENS + 31) / 32));
        before = parts;
    }
    float *keys = arena_alloc(&arena, 2 * TOKENS * shape, sizeof *keys),
          *values = arena_alloc(&arena, 2 * TOKENS * shape, sizeof *values);
    struct memory_part all = {0, TOKENS, keys, values};
    ck_assert_int_eq(decoder_remember(&t->decoder, &whole, &all, &arena, NULL), 0);
    for (size_t at = 0, count; at < TOKENS; at += count) {
        count = TOKENS - at < 37 ? TOKENS - at : 37;
        size_t to = (TOKENS + at) * shape;
        struct memory_part part = {at, count, keys + to, values + to};
        ck_assert_int_eq(decoder_remember(&t->decoder, &whole, &part, &arena, NULL), 0);
    }
    ck_assert_mem_eq(keys, keys + TOKENS * shape, TOKENS * shape * sizeof *keys);
    ck_assert_mem_eq(values, values + TOKENS * shape, TOKENS * shape * sizeof *values);
    arena_done(&arena);
    translator_free(t);
}
END_TEST

/* ---- heads ---- */

/* out [rows] = M [rows, 3] p. */
static void transform(const float *matrix, size_t rows, const float *p, float *out) {
    for (size_t j = 0; j < rows; j++)
        out[j] = matrix[3 * j] * p[0] + matrix[3 * j + 1] * p[1] + matrix[3 * j + 2] * p[2];
}

/* Hagan's worked example; the columns of P are the tokens. One printed digit is off: see
 * test_attention.c. */
START_TEST(hagan_self_attention) {
    static const float tokens[2][3] = {{1, 0, 1}, {0, 2, 0}};
    static const float query_matrix[] = {1, 1, 0, 0, 0, 1}, key_matrix[] = {0, 1, 0, 1, 0, 1},
                       value_matrix[] = {0, 1, 1, 1, 0, 1};
    const double little = 1 / (1 + exp(2 * sqrt(2))),
                 much = 1 - little; /* softmax of [0, 2 sqrt2] */
    const double want_weights[] = {0.5, 0.5, little, much},
                 want_contexts[] = {1.5, 1, little + 2 * much, 2 * little};
    float queries[2][2], keys[2][2], values[2][2], weights[2], context[2];
    for (size_t t = 0; t < 2; t++) {
        transform(query_matrix, 2, tokens[t], queries[t]);
        transform(key_matrix, 2, tokens[t], keys[t]);
        transform(value_matrix, 2, tokens[t], values[t]);
    }
    for (size_t t = 0; t < 2; t++) {
        heads_look(kernel_set(_i),
                   &(struct heads_shape){.count = 1, .size = 2, .scale = sqrtf(0.5f)},
                   &(struct gaze){.query = queries[t],
                                  .keys = {.first = keys[0], .distance = 2},
                                  .values = {.first = values[0], .distance = 2},
                                  .count = 2,
                                  .weights = weights,
                                  .context = context});
        ck_assert_double_lt(distance(weights, want_weights + 2 * t, 2), 1e-6);
        ck_assert_double_lt(distance(context, want_contexts + 2 * t, 2), 1e-6);
    }
}
END_TEST

enum { HEADS = 3, SIZE = 5, COUNT = 7, PLACE = 4 };

struct example {
    float *query, *keys, *values;
    float weights[HEADS * COUNT], context[HEADS * SIZE];
};

static struct example look(const struct kernels *kernels, const struct lean *lean,
                           const float *forced) {
    size_t d = HEADS * SIZE;
    struct example e = {
        .query = noise(d, 2, 1), .keys = noise(COUNT * d, 2, 2), .values = noise(COUNT * d, 2, 3)};
    heads_look(kernels, &(struct heads_shape){HEADS, SIZE, 1 / sqrtf(SIZE)},
               &(struct gaze){.query = e.query,
                              .keys = {.first = e.keys, .distance = d},
                              .values = {.first = e.values, .distance = d},
                              .count = COUNT,
                              .position = PLACE,
                              .lean = lean,
                              .forced = forced,
                              .weights = e.weights,
                              .context = e.context});
    return e;
}

static void free_example(struct example *e) {
    free(e->query);
    free(e->keys);
    free(e->values);
}

/* The contexts that these weights make. */
static void check_context(const struct example *e, const double *weights) {
    for (size_t i = 0; i < HEADS * SIZE; i++) {
        double want = 0;
        for (size_t j = 0; j < COUNT; j++)
            want += weights[i / SIZE * COUNT + j] * (double)e->values[j * HEADS * SIZE + i];
        ck_assert_double_eq_tol((double)e->context[i], want, 1e-5);
    }
}

/* changes [HEADS, COUNT]: what the scores change by. */
static void check_heads(const struct kernels *kernels, const struct lean *lean,
                        const double *changes) {
    struct example e = look(kernels, lean, NULL);
    double want[HEADS * COUNT];
    for (size_t h = 0; h < HEADS; h++) {
        double z = 0, *row = want + h * COUNT;
        for (size_t j = 0; j < COUNT; j++) {
            double score = 0;
            for (size_t i = h * SIZE; i < (h + 1) * SIZE; i++)
                score += (double)e.query[i] * (double)e.keys[j * HEADS * SIZE + i];
            row[j] = exp(score / sqrt(SIZE) + changes[h * COUNT + j]);
            z += row[j];
        }
        for (size_t j = 0; j < COUNT; j++)
            row[j] /= z;
    }
    ck_assert_double_lt(distance(e.weights, want, HEADS * COUNT), 1e-5);
    check_context(&e, want);
    free_example(&e);
}

START_TEST(many_heads) {
    check_heads(kernel_set(_i), NULL, (const double[HEADS * COUNT]){0});
}
END_TEST

/* Three heads: the slopes 2^-4 and 2^-8 of two, and the first of four, 2^-2 (Press et al. 2022). */
START_TEST(alibi_fades_with_distance) {
    static const double slopes[HEADS] = {1.0 / 16, 1.0 / 256, 1.0 / 4};
    double changes[HEADS * COUNT];
    for (size_t i = 0; i < HEADS * COUNT; i++)
        changes[i] = -slopes[i / COUNT] * fabs((double)(i % COUNT) - PLACE);
    check_heads(kernel_set(_i), &(struct lean){.alibi = true}, changes);
}
END_TEST

/* Distances beyond 2 count as 2; those of the row at place 4 are -4 to 2. */
START_TEST(relative_positions_are_added) {
    static const uint16_t buckets[] = {1, 0, 3, 2, 0};
    static const size_t want[COUNT] = {1, 1, 1, 0, 3, 2, 0};
    float *biases = noise(4 * HEADS, 2, 9);
    double changes[HEADS * COUNT];
    for (size_t i = 0; i < HEADS * COUNT; i++)
        changes[i] = (double)biases[want[i % COUNT] * HEADS + i / COUNT];
    check_heads(kernel_set(_i), &(struct lean){.buckets = buckets, .reach = 2, .biases = biases},
                changes);
    free(biases);
}
END_TEST

START_TEST(forced_weights_are_those_of_all_heads) {
    static const float forced[COUNT] = {0, 0.25f, 0, 0.5f, 0, 0.25f, 0};
    struct example e = look(kernel_set(_i), &(struct lean){.alibi = true}, forced);
    double want[HEADS * COUNT];
    for (size_t i = 0; i < HEADS * COUNT; i++)
        want[i] = (double)forced[i % COUNT];
    ck_assert_double_eq(distance(e.weights, want, HEADS * COUNT), 0);
    check_context(&e, want);
    free_example(&e);
}
END_TEST

/* ---- positions ---- */

enum { D = 6, ROWS = 4 };

static const char positions_header[] =
    "{\"encoder.positions\":{\"dtype\":\"F32\",\"shape\":[4,6],\"data_offsets\":[0,96]}}";

static void check_added(const struct positions *positions, size_t place, const double *want) {
    float x[D] = {1, 2, 3, 4, 5, 6};
    double sum[D];
    positions_add(positions, kernels_choose(), place, x);
    for (size_t i = 0; i < D; i++)
        sum[i] = (double)(i + 1) + want[i];
    ck_assert_double_lt(distance(x, sum, D), 2e-6);
}

/* All sines, then all cosines, in the table and beyond it. */
START_TEST(sinusoids_come_in_halves) {
    struct positions positions;
    struct arena arena;
    arena_init(&arena, 1 << 10);
    ck_assert_int_eq(positions_init(&positions,
                                    &(struct positions_options){.kind = "sinusoidal",
                                                                .parameter = "encoder.positions",
                                                                .size = D,
                                                                .rows = ROWS},
                                    &(struct loader){NULL, NULL, &arena, NULL}),
                     0);
    for (size_t place = 0; place < 3 * ROWS; place++) {
        double want[D];
        for (size_t i = 0; i < D / 2; i++) {
            double angle = (double)place * pow(10000, -(double)i / (D / 2 - 1));
            want[i] = sin(angle);
            want[D / 2 + i] = cos(angle);
        }
        check_added(&positions, place, want);
    }
    arena_done(&arena);
}
END_TEST

START_TEST(learned_positions_end) {
    struct positions positions;
    float *values = noise(ROWS * D, 1, 5);
    struct weights *weights = parameters_open(positions_header, values, ROWS * D,
                                              (struct backend){.kernels = kernels_choose()});
    ck_assert_int_eq(positions_init(&positions,
                                    &(struct positions_options){.kind = "learned",
                                                                .parameter = "encoder.positions",
                                                                .size = D,
                                                                .rows = ROWS},
                                    &(struct loader){weights, NULL, NULL, NULL}),
                     0);
    for (size_t place = 0; place < 2 * ROWS; place++) {
        double want[D];
        for (size_t i = 0; i < D; i++)
            want[i] = (double)values[(place < ROWS ? place : ROWS - 1) * D + i];
        check_added(&positions, place, want);
    }
    parameters_close(weights);
    free(values);
}
END_TEST

/* A stored table has as many positions as the file has, the first token the one that is the offset;
 * computed ones begin there, too.
 */
START_TEST(positions_begin_at_their_offset) {
    struct positions positions, from_zero;
    struct error err = {0};
    struct arena arena;
    arena_init(&arena, 1 << 10);
    float *values = noise(ROWS * D, 1, 5);
    struct weights *weights = parameters_open(positions_header, values, ROWS * D,
                                              (struct backend){.kernels = kernels_choose()});
    struct positions_options stored = {.kind = "stored",
                                       .parameter = "encoder.positions",
                                       .size = D,
                                       .rows = 100,
                                       .offset = 1},
                             computed = {.kind = "sinusoidal",
                                         .parameter = "encoder.positions",
                                         .size = D,
                                         .rows = ROWS,
                                         .offset = 2};
    ck_assert_int_eq(
        positions_init(&positions, &stored, &(struct loader){weights, NULL, NULL, NULL}), 0);
    for (size_t place = 0; place < 2 * ROWS; place++) {
        double want[D];
        for (size_t i = 0; i < D; i++)
            want[i] = (double)values[(place + 1 < ROWS ? place + 1 : ROWS - 1) * D + i];
        check_added(&positions, place, want);
    }
    stored.offset = ROWS;
    ck_assert_int_eq(
        positions_init(&positions, &stored, &(struct loader){weights, NULL, NULL, &err}), -1);
    ck_assert_ptr_nonnull(strstr(
        err.message, "encoder.positions: has 4 positions, and the first token has position 4"));

    ck_assert_int_eq(
        positions_init(&positions, &computed, &(struct loader){NULL, NULL, &arena, NULL}), 0);
    computed.offset = 0;
    ck_assert_int_eq(
        positions_init(&from_zero, &computed, &(struct loader){NULL, NULL, &arena, NULL}), 0);
    for (size_t place = 0; place < 3 * ROWS; place++) { /* beyond the table as well */
        float x[D] = {0}, y[D] = {0};
        positions_add(&positions, kernels_choose(), place, x);
        positions_add(&from_zero, kernels_choose(), place + 2, y);
        ck_assert_mem_eq(x, y, sizeof x);
    }
    arena_done(&arena);
    parameters_close(weights);
    free(values);
}
END_TEST

START_TEST(no_positions_add_nothing) {
    static const char *const kinds[] = {"none", "alibi"};
    for (size_t i = 0; i < 2; i++) {
        struct positions positions;
        ck_assert_int_eq(
            positions_init(
                &positions,
                &(struct positions_options){
                    .kind = kinds[i], .parameter = "encoder.positions", .size = D, .rows = ROWS},
                &(struct loader){NULL, NULL, NULL, NULL}),
            0);
        ck_assert_int_eq(positions.lean.alibi, i == 1);
        check_added(&positions, 3, (const double[D]){0});
    }
}
END_TEST

/* Raffel et al. 2020, 2.1, and the transformers library: of 8 buckets up to 16, half are for later
 * entries; distances 0 and 1 have their own, 2 to 5 and the others share by their logarithms. */
START_TEST(distances_have_buckets) {
    static const struct {
        bool both;
        size_t buckets[2 * 8 + 1]; /* of the distances -8 to 8 */
    } want[] = {{true, {3, 3, 3, 2, 2, 2, 2, 1, 0, 5, 6, 6, 6, 6, 7, 7, 7}},
                {false, {6, 5, 5, 4, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}};
    for (size_t w = 0; w < 2; w++) {
        struct positions positions;
        struct arena arena;
        arena_init(&arena, 1 << 12);
        ck_assert_int_eq(
            positions_init(&positions,
                           &(struct positions_options){.kind = "relative",
                                                       .parameter = "encoder.positions",
                                                       .size = D,
                                                       .rows = ROWS,
                                                       .heads = {2, 3, 1},
                                                       .buckets = 8,
                                                       .farthest = 16,
                                                       .both = want[w].both},
                           &(struct loader){NULL, NULL, &arena, NULL}),
            0);
        ck_assert_uint_eq(positions.lean.reach, 16);
        ck_assert(positions.buckets == 8 && !positions.shared && !positions.lean.biases);
        for (size_t i = 0; i < 17; i++)
            ck_assert_msg(positions.lean.buckets[8 + i] == want[w].buckets[i],
                          "distance %d: bucket %u", (int)i - 8, positions.lean.buckets[8 + i]);
        arena_done(&arena);
    }
}
END_TEST

START_TEST(strange_positions_are_named) {
    struct positions positions;
    struct error err = {0};
    struct weights *weights =
        parameters_open("{}", NULL, 0, (struct backend){.kernels = kernels_choose()});
    ck_assert_int_eq(positions_init(&positions,
                                    &(struct positions_options){.kind = "polar",
                                                                .parameter = "decoder.positions",
                                                                .size = D,
                                                                .rows = ROWS},
                                    &(struct loader){weights, NULL, NULL, &err}),
                     -1);
    ck_assert_str_eq(err.message, "decoder.positions: polar is not known");
    ck_assert(weights_failed(weights));
    err = (struct error){0};
    ck_assert_int_eq(positions_init(&positions,
                                    &(struct positions_options){.kind = "learned",
                                                                .parameter = "decoder.positions",
                                                                .size = D,
                                                                .rows = ROWS},
                                    &(struct loader){weights, NULL, NULL, &err}),
                     -1);
    ck_assert_str_eq(err.message, "tensor decoder.positions: missing");
    parameters_close(weights);
}
END_TEST

Suite *transformer_suite(void) {
    Suite *suite = suite_create("transformer");
    TCase *cases = tcase_create("transformer");
    tcase_add_loop_test(cases, parts_change_nothing, 0, ENCODERS);
    tcase_add_loop_test(cases, hagan_self_attention, 0, kernel_sets());
    tcase_add_loop_test(cases, many_heads, 0, kernel_sets());
    tcase_add_loop_test(cases, alibi_fades_with_distance, 0, kernel_sets());
    tcase_add_loop_test(cases, relative_positions_are_added, 0, kernel_sets());
    tcase_add_loop_test(cases, forced_weights_are_those_of_all_heads, 0, kernel_sets());
    tcase_add_test(cases, sinusoids_come_in_halves);
    tcase_add_test(cases, learned_positions_end);
    tcase_add_test(cases, positions_begin_at_their_offset);
    tcase_add_test(cases, no_positions_add_nothing);
    tcase_add_test(cases, distances_have_buckets);
    tcase_add_test(cases, strange_positions_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}
