/* GRU, LSTM and Elman steps from parameters in a file, against PyTorch's formulas in double
 * precision. */
#include "model/network/layers.h"
#include "tests/files.h"
#include "tests/models.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 7, HIDDEN = 19, ROWS = 5, MAX_GATES = 4 * HIDDEN };

/* One layer's parameters, end to end as in the file. */
struct parameters {
    float *values;
    const float *weight_input, *weight_state, *bias_input, *bias_state;
    size_t gates; /* G */
    size_t count;
    char header[512];
};

static struct parameters parameters_create(size_t blocks) {
    size_t gates = blocks * HIDDEN, input = gates * IN, state = gates * HIDDEN;
    struct parameters p = {.gates = gates, .count = input + state + 2 * gates};
    p.values = noise(p.count, 0.7f, (uint32_t)blocks);
    p.weight_input = p.values;
    p.weight_state = p.weight_input + input;
    p.bias_input = p.weight_state + state;
    p.bias_state = p.bias_input + gates;
    snprintf(
        p.header, sizeof p.header,
        "{\"layer.weight_input\":{\"dtype\":\"F32\",\"shape\":[%zu,%d],\"data_offsets\":[0,%zu]},"
        "\"layer.weight_state\":{\"dtype\":\"F32\",\"shape\":[%zu,%d],\"data_offsets\":[%zu,%zu]},"
        "\"layer.bias_input\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]},"
        "\"layer.bias_state\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}}",
        gates, IN, 4 * input, gates, HIDDEN, 4 * input, 4 * (input + state), gates,
        4 * (input + state), 4 * (input + state + gates), gates, 4 * (input + state + gates),
        4 * p.count);
    return p;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* out [gates] = W x + b. */
static void product(const float *weight, const float *bias, size_t gates, const float *x, size_t in,
                    double *out) {
    for (size_t j = 0; j < gates; j++) {
        out[j] = (double)bias[j];
        for (size_t k = 0; k < in; k++)
            out[j] += (double)weight[j * in + k] * (double)x[k];
    }
}

/* torch.nn.GRU: r, z, n; the reset gate multiplies W_hn h + b_hn. */
static void gru(const double *x, const double *u, const float *before, double *after) {
    for (size_t i = 0; i < HIDDEN; i++) {
        double r = sigmoid(x[i] + u[i]), z = sigmoid(x[HIDDEN + i] + u[HIDDEN + i]);
        double n = tanh(x[2 * HIDDEN + i] + r * u[2 * HIDDEN + i]);
        after[i] = (1 - z) * n + z * (double)before[i];
    }
}

/* torch.nn.LSTM: i, f, g, o; the state is [h; c]. */
static void lstm(const double *x, const double *u, const float *before, double *after) {
    for (size_t j = 0; j < HIDDEN; j++) {
        double i = sigmoid(x[j] + u[j]), f = sigmoid(x[HIDDEN + j] + u[HIDDEN + j]);
        double g = tanh(x[2 * HIDDEN + j] + u[2 * HIDDEN + j]),
               o = sigmoid(x[3 * HIDDEN + j] + u[3 * HIDDEN + j]);
        double c = f * (double)before[HIDDEN + j] + i * g;
        after[HIDDEN + j] = c;
        after[j] = o * tanh(c);
    }
}

/* torch.nn.RNN with tanh. */
static void rnn(const double *x, const double *u, const float *before, double *after) {
    (void)before;
    for (size_t i = 0; i < HIDDEN; i++)
        after[i] = tanh(x[i] + u[i]);
}

typedef void formula(const double *x, const double *u, const float *before, double *after);

/* inputs [ROWS, IN]; row r steps with input x_rows[r] (NULL: r) from before to after, both [ROWS,
 * ld]. */
static void check_step(const struct parameters *p, const struct cell *cell, formula *expected,
                       const float *inputs, const size_t *x_rows, const float *before,
                       const float *after, size_t ld) {
    for (size_t r = 0; r < ROWS; r++) {
        double x[MAX_GATES], u[MAX_GATES], state[2 * HIDDEN];
        product(p->weight_input, p->bias_input, p->gates, inputs + (x_rows ? x_rows[r] : r) * IN,
                IN, x);
        product(p->weight_state, p->bias_state, p->gates, before + r * ld, HIDDEN, u);
        expected(x, u, before + r * ld, state);
        size_t size = cell->kind->states * HIDDEN;
        double error = distance(after + r * ld, state, size);
        ck_assert_msg(error < 2e-6, "%s, row %zu: error %g", cell->kind->name, r, error);
        ck_assert(identical(after + r * ld + size, before + r * ld + size,
                            ld - size)); /* what lies between is not the cell's */
    }
}

/* The cell over rows that lie in wider states, as in a decoder with several layers. */
static void run(const char *name, formula *expected, const size_t *x_rows,
                const struct kernels *kernels) {
    struct cell cell;
    const struct cell_kind *kind = cell_kind_find("cell", name, NULL);
    struct parameters p = parameters_create(kind->gates);
    struct weights *weights =
        parameters_open(p.header, p.values, p.count, (struct backend){.kernels = kernels});
    struct error err = {0};
    ck_assert_msg(cell_init(&cell, kind, "layer.", &(struct cell_shape){.in = IN, .hidden = HIDDEN},
                            &(struct loader){weights, kernels, NULL, &err}) == 0,
                  "%s", err.message);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);

    enum { LD = 2 * HIDDEN + 3 };
    float *inputs = noise(ROWS * IN, 1, 5), *before = noise(ROWS * LD, 1, 6),
          *after = guarded_copy(before, ROWS * LD);
    float *gates = guarded(ROWS * p.gates), *scratch = guarded(ROWS * p.gates);
    linear_apply(&cell.input, inputs, IN, ROWS, gates, p.gates);
    cell_step(&cell, &(struct cell_inputs){gates, cell.input.out, x_rows}, ROWS, after, LD,
              scratch);
    check_step(&p, &cell, expected, inputs, x_rows, before, after, LD);
    ck_assert(guards_intact(after, ROWS * LD) && guards_intact(gates, ROWS * p.gates) &&
              guards_intact(scratch, ROWS * p.gates));

    guarded_free(scratch);
    guarded_free(gates);
    guarded_free(after);
    free(before);
    free(inputs);
    parameters_close(weights);
    free(p.values);
}

START_TEST(gru_is_pytorchs) {
    run("gru", gru, NULL, kernel_set(_i));
}
END_TEST

START_TEST(lstm_is_pytorchs) {
    run("lstm", lstm, NULL, kernel_set(_i));
}
END_TEST

START_TEST(rnn_is_pytorchs) {
    run("rnn", rnn, NULL, kernel_set(_i));
}
END_TEST

/* As in the encoder, where a row's input is wherever its sentence has come to. */
START_TEST(inputs_come_from_the_rows_named) {
    static const size_t x_rows[ROWS] = {4, 0, 2, 2, 1};
    run("gru", gru, x_rows, kernel_set(_i));
    run("lstm", lstm, x_rows, kernel_set(_i));
    run("rnn", rnn, x_rows, kernel_set(_i));
}
END_TEST

/* A cell that reads the left part of a wider matrix gives what the whole one does when the rest of
 * its input is nothing. */
START_TEST(columns_are_taken_from_the_left) {
    enum { LEFT = 4 };
    struct parameters p = parameters_create(3);
    struct weights *weights =
        parameters_open(p.header, p.values, p.count, (struct backend){.kernels = kernels_choose()});
    struct cell whole, left;
    struct cell_shape all = {.in = IN, .hidden = HIDDEN},
                      part = {.in = LEFT, .hidden = HIDDEN, .columns = IN};
    const struct kernels *kernels = kernels_choose();
    ck_assert_int_eq(cell_init(&whole, cell_kind_find("cell", "gru", NULL), "layer.", &all,
                               &(struct loader){weights, kernels, NULL, NULL}),
                     0);
    ck_assert_int_eq(cell_init(&left, cell_kind_find("cell", "gru", NULL), "layer.", &part,
                               &(struct loader){weights, kernels, NULL, NULL}),
                     0);
    float x[IN] = {0.5f, -0.25f, 1, 2}, wanted[MAX_GATES], got[MAX_GATES];
    linear_apply(&whole.input, x, IN, 1, wanted, p.gates);
    linear_apply(&left.input, x, LEFT, 1, got, p.gates);
    for (size_t i = 0; i < p.gates; i++)
        ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
    parameters_close(weights);
    free(p.values);
}
END_TEST

/* ---- normalised, with transitions ---- */

/* A GRU with everything: the parameters of its names end to end, made up. Returns how many they
 * are. */
static size_t deep_header(char *header, size_t bytes) {
    enum { GATES = 3 * HIDDEN };
    static const struct {
        const char *name;
        size_t cols; /* 0: a vector */
    } tensors[] = {
        {"weight_input", IN},
        {"bias_input", 0},
        {"gain_input", 0},
        {"shift_input", 0},
        {"weight_state", HIDDEN},
        {"bias_state", 0},
        {"gain_state", 0},
        {"shift_state", 0},
        {"transitions.0.bias_input", 0},
        {"transitions.0.weight_state", HIDDEN},
        {"transitions.0.bias_state", 0},
        {"transitions.0.gain_state", 0},
        {"transitions.0.shift_state", 0},
    };
    size_t count = 0, length = 0;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        size_t cols = tensors[i].cols, values = GATES * (cols > 0 ? cols : 1);
        char shape[32];
        snprintf(shape, sizeof shape, cols > 0 ? "%d,%zu" : "%d", GATES, cols);
        length += (size_t)snprintf(
            header + length, bytes - length,
            "%s\"layer.%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
            i == 0 ? "{" : ",", tensors[i].name, shape, 4 * count, 4 * (count + values));
        count += values;
    }
    ck_assert_uint_lt(length + 1, bytes);
    memcpy(header + length, "}", 2);
    return count;
}

static struct weights *deep_open(float **values) {
    char header[2048];
    size_t count = deep_header(header, sizeof header);
    *values = noise(count, 0.7f, 11);
    return parameters_open(header, *values, count, (struct backend){.kernels = kernels_choose()});
}

/* Rows that share an input: it is normalised for each, and stays as it was; scratch is what
 * cell_scratch says. */
START_TEST(shared_inputs_are_not_written_to) {
    static const size_t x_rows[ROWS] = {1, 1, 0, 1, 0};
    enum { GATES = 3 * HIDDEN };
    struct arena arena;
    arena_init(&arena, 1 << 10);
    struct cell cell;
    struct cell_shape shape = {.in = IN,
                               .hidden = HIDDEN,
                               .norm = norm_kind_find("normalization", "gates", NULL),
                               .transitions = 1};
    float *values;
    struct weights *weights = deep_open(&values);
    ck_assert_int_eq(cell_init(&cell, cell_kind_find("cell", "gru", NULL), "layer.", &shape,
                               &(struct loader){weights, kernels_choose(), &arena, NULL}),
                     0);
    ck_assert_int_eq(weights_all_used(weights, NULL), 0);
    size_t scratch_size = ROWS * cell_scratch(&cell);
    float *gates = noise(2 * GATES, 1, 5), *before = guarded_copy(gates, 2 * GATES),
          *scratch = guarded(scratch_size);
    float *states = noise(ROWS * HIDDEN, 1, 6), *alone = guarded_copy(states, ROWS * HIDDEN);
    cell_step(&cell, &(struct cell_inputs){gates, GATES, x_rows}, ROWS, states, HIDDEN, scratch);
    ck_assert(identical(gates, before, 2 * GATES) && guards_intact(scratch, scratch_size));
    for (size_t r = 0; r < ROWS; r++) { /* a row's result does not depend on the rows beside it */
        cell_step(&cell, &(struct cell_inputs){gates, GATES, &x_rows[r]}, 1, alone + r * HIDDEN,
                  HIDDEN, scratch);
        for (size_t i = 0; i < HIDDEN; i++)
            ck_assert_float_eq_tol(alone[r * HIDDEN + i], states[r * HIDDEN + i], 1e-6f);
    }
    guarded_free(alone);
    guarded_free(scratch);
    guarded_free(before);
    free(states);
    free(gates);
    arena_done(&arena);
    parameters_close(weights);
    free(values);
}
END_TEST

/* A GRU has its two gates and its candidate. */
START_TEST(gates_are_normalised_apart) {
    struct cell cell;
    struct cell_shape shape = {
        .in = IN, .hidden = HIDDEN, .norm = norm_kind_find("normalization", "gates", NULL)};
    float *values;
    struct weights *weights = deep_open(&values);
    ck_assert_int_eq(cell_init(&cell, cell_kind_find("cell", "gru", NULL), "layer.", &shape,
                               &(struct loader){weights, kernels_choose(), NULL, NULL}),
                     0);
    ck_assert_uint_eq(cell.input_norm.first, 2 * HIDDEN);
    ck_assert_uint_eq(cell.state_norm.first, 2 * HIDDEN);
    shape.norm = norm_kind_find("normalization", "layer", NULL);
    ck_assert_int_eq(cell_init(&cell, cell_kind_find("cell", "gru", NULL), "layer.", &shape,
                               &(struct loader){weights, kernels_choose(), NULL, NULL}),
                     0);
    ck_assert_uint_eq(cell.input_norm.first, 3 * HIDDEN);
    parameters_close(weights);
    free(values);
}
END_TEST

/* The second transition is missing. */
START_TEST(a_missing_transition_is_named) {
    struct arena arena;
    arena_init(&arena, 1 << 10);
    struct cell cell;
    struct error err = {0};
    struct cell_shape shape = {.in = IN,
                               .hidden = HIDDEN,
                               .norm = norm_kind_find("normalization", "layer", NULL),
                               .transitions = 2};
    float *values;
    struct weights *weights = deep_open(&values);
    ck_assert_int_eq(cell_init(&cell, cell_kind_find("cell", "gru", NULL), "layer.", &shape,
                               &(struct loader){weights, kernels_choose(), &arena, &err}),
                     -1);
    ck_assert_str_eq(err.message, "tensor layer.transitions.1.bias_input: missing");
    arena_done(&arena);
    parameters_close(weights);
    free(values);
}
END_TEST

START_TEST(table_has_what_it_has) {
    ck_assert_uint_eq(cell_kind_find("cell", "gru", NULL)->gates, 3);
    ck_assert_uint_eq(cell_kind_find("cell", "gru", NULL)->states, 1);
    ck_assert_uint_eq(cell_kind_find("cell", "lstm", NULL)->gates, 4);
    ck_assert_uint_eq(cell_kind_find("cell", "lstm", NULL)->states, 2);
    ck_assert_uint_eq(cell_kind_find("cell", "rnn", NULL)->gates, 1);
    ck_assert_uint_eq(cell_kind_find("cell", "rnn", NULL)->states, 1);
    ck_assert_ptr_null(cell_kind_find("cell", "LSTM", NULL));
    ck_assert_ptr_null(cell_kind_find("cell", "", NULL));
}
END_TEST

static void expect_failure(struct weights *weights, const char *kind, const char *prefix, size_t in,
                           const char *message) {
    struct cell cell;
    struct error err = {0};
    struct cell_shape shape = {.in = in, .hidden = HIDDEN};
    ck_assert_int_eq(cell_init(&cell, cell_kind_find("cell", kind, NULL), prefix, &shape,
                               &(struct loader){weights, kernels_choose(), NULL, &err}),
                     -1);
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, message);
}

START_TEST(wrong_parameters_are_named) {
    struct parameters p = parameters_create(3);
    struct weights *weights =
        parameters_open(p.header, p.values, p.count, (struct backend){.kernels = kernels_choose()});
    expect_failure(weights, "gru", "other.", IN, "tensor other.bias_input: missing");
    expect_failure(weights, "lstm", "layer.", IN,
                   "tensor layer.bias_input: shape [57], but the model needs [76]");
    expect_failure(weights, "gru", "layer.", IN + 1,
                   "tensor layer.weight_input: shape [57, 7], but the model needs [57, 8]");
    parameters_close(weights);
    free(p.values);
}
END_TEST

/* The second half is missing. */
START_TEST(half_a_cell_is_none) {
    static const char header[] =
        "{\"layer.weight_input\":{\"dtype\":\"F32\",\"shape\":[57,7],\"data_offsets\":[0,1596]},"
        "\"layer.bias_input\":{\"dtype\":\"F32\",\"shape\":[57],\"data_offsets\":[1596,1824]}}";
    static const float values[57 * 8];
    struct weights *weights = parameters_open(header, values, sizeof values / sizeof *values,
                                              (struct backend){.kernels = kernels_choose()});
    expect_failure(weights, "gru", "layer.", IN, "tensor layer.bias_state: missing");
    parameters_close(weights);
}
END_TEST

Suite *cell_suite(void) {
    Suite *suite = suite_create("cell");
    TCase *cases = tcase_create("cell");
    tcase_add_loop_test(cases, gru_is_pytorchs, 0, kernel_sets());
    tcase_add_loop_test(cases, lstm_is_pytorchs, 0, kernel_sets());
    tcase_add_loop_test(cases, rnn_is_pytorchs, 0, kernel_sets());
    tcase_add_loop_test(cases, inputs_come_from_the_rows_named, 0, kernel_sets());
    tcase_add_test(cases, columns_are_taken_from_the_left);
    tcase_add_test(cases, shared_inputs_are_not_written_to);
    tcase_add_test(cases, gates_are_normalised_apart);
    tcase_add_test(cases, a_missing_transition_is_named);
    tcase_add_test(cases, table_has_what_it_has);
    tcase_add_test(cases, wrong_parameters_are_named);
    tcase_add_test(cases, half_a_cell_is_none);
    suite_add_tcase(suite, cases);
    return suite;
}
