/* Searches and their outputs over HTTP: the effect of each field, and refusals of wrong values. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT     "A boy plays in the snow." /* 19 tokens */
#define ELEVEN_0 ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/fixed-gru",
                                    "--workers", "2", "--rows", "20", "--exact-steps", "300"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* fields: what follows the text, e.g. "'beam_size': 2". */
static void ask(const char *path, const char *fields, long status, struct reply *reply) {
    client_ask(&served, path, TEXT, fields, status, reply);
}

static const json_t *translate(const char *fields, struct reply *reply) {
    ask("/translate", fields, 200, reply);
    return json_at(reply->json, "translations.0.sentences.0");
}

static const json_t *attend(const char *fields, struct reply *reply) {
    ask("/attention", fields, 200, reply);
    return json_at(reply->json, "results.0.sentences.0");
}

static const json_t *item(const json_t *sentence, const char *key, size_t i) {
    return json_array_get(json_at(sentence, key), i);
}

/* ---- what is refused ---- */

static const struct {
    const char *fields, *field, *message;
} wrong[] = {
    {"'strategy': 'sample', 'temperature': '1'", "temperature",
     "temperature must be a number, got a string"},
    {"'strategy': 'sample', 'temperature': 0", "temperature",
     "temperature must be between 0.01 and 10, got 0"},
    {"'strategy': 'sample', 'temperature': 10.1", "temperature",
     "temperature must be between 0.01 and 10, got 10.1"},
    {"'temperature': 1", "temperature", "temperature requires strategy sample, got beam"},
    {"'strategy': 'sample', 'top_k': 1.5", "top_k", "top_k must be an integer, got a number"},
    {"'strategy': 'sample', 'top_k': -1", "top_k", "top_k must be between 0 and 1000, got -1"},
    {"'strategy': 'sample', 'top_k': 1001", "top_k", "top_k must be between 0 and 1000, got 1001"},
    {"'top_k': 3, 'strategy': 'greedy'", "top_k", "top_k requires strategy sample, got greedy"},
    {"'strategy': 'sample', 'top_p': null", "top_p", "top_p must be a number, got null"},
    {"'strategy': 'sample', 'top_p': 0", "top_p", "top_p must be between 0.01 and 1, got 0"},
    {"'strategy': 'sample', 'top_p': 1.1", "top_p", "top_p must be between 0.01 and 1, got 1.1"},
    {"'strategy': 'exact', 'top_p': 1", "top_p", "top_p requires strategy sample, got exact"},
    {"'strategy': 'sample', 'seed': '7'", "seed", "seed must be an integer, got a string"},
    {"'strategy': 'sample', 'seed': 1.5", "seed", "seed must be an integer, got a number"},
    {"'strategy': 'sample', 'seed': -1", "seed",
     "seed must be between 0 and 9223372036854775807, got -1"},
    {"'seed': 7", "seed", "seed requires strategy sample, got beam"},
    {"'strategy': 'sample', 'n_best': 21", "n_best", "n_best must be between 1 and 20, got 21"},
    {"'strategy': 'exact', 'n_best': 33", "n_best", "n_best must be between 1 and 32, got 33"},
    {"'coverage_penalty': true", "coverage_penalty",
     "coverage_penalty must be a number, got a boolean"},
    {"'coverage_penalty': -0.1", "coverage_penalty",
     "coverage_penalty must be between 0 and 2, got -0.1"},
    {"'coverage_penalty': 2.1", "coverage_penalty",
     "coverage_penalty must be between 0 and 2, got 2.1"},
    {"'coverage_penalty': 0.1, 'model': 'fixed-gru', 'include': []", "coverage_penalty",
     "coverage_penalty must be 0: model \"fixed-gru\" has no attention"},
    {"'no_repeat_ngram': '2'", "no_repeat_ngram",
     "no_repeat_ngram must be an integer, got a string"},
    {"'no_repeat_ngram': -1", "no_repeat_ngram",
     "no_repeat_ngram must be between 0 and 20, got -1"},
    {"'no_repeat_ngram': 21", "no_repeat_ngram",
     "no_repeat_ngram must be between 0 and 20, got 21"},
    {"'repetition_penalty': {}", "repetition_penalty",
     "repetition_penalty must be a number, got an object"},
    {"'repetition_penalty': 0.9", "repetition_penalty",
     "repetition_penalty must be between 1 and 10, got 0.9"},
    {"'repetition_penalty': 10.5", "repetition_penalty",
     "repetition_penalty must be between 1 and 10, got 10.5"},
    {"'prefix': ['Un']", "prefix", "prefix must be a string, got an array"},
    {"'prefix': 'Un', 'max_length': 1", "prefix", "the prefix has 3 tokens, max_length is 1"},
    {"'temperatur': 1", "temperatur", "unknown field \"temperatur\""},
    {"'exact_steps': 1", "exact_steps", "unknown field \"exact_steps\""},
};

START_TEST(wrong_fields) {
    static const char *const paths[] = {"/translate", "/attention"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (size_t j = 0; j < 2; j++) {
            struct reply reply;
            ask(paths[j], wrong[i].fields, 400, &reply);
            ck_assert_str_eq(text_at(reply.json, "error"), wrong[i].message);
            ck_assert_str_eq(text_at(reply.json, "field"), wrong[i].field);
            reply_done(&reply);
        }
    }
}
END_TEST

static const struct {
    const char *value, *message;
} wrong_attention[] = {
    {"{}", "force_attention must be an array of objects, got an object"},
    {"[1]", "force_attention must be an array of objects, got an integer at index 0"},
    {"[{'weights': [1]}]", "force_attention[0].step must be an integer, got none"},
    {"[{'step': '0', 'weights': [1]}]", "force_attention[0].step must be an integer, got a string"},
    {"[{'step': -1, 'weights': [1]}]",
     "force_attention[0].step must be between 0 and 1000, got -1"},
    {"[{'step': 1001, 'weights': [1]}]",
     "force_attention[0].step must be between 0 and 1000, got 1001"},
    {"[{'step': 0}]", "force_attention[0].weights must be an array of numbers, got none"},
    {"[{'step': 0, 'weights': 1}]",
     "force_attention[0].weights must be an array of numbers, got an integer"},
    {"[{'step': 0, 'weights': [1, 'x']}]",
     "force_attention[0].weights[1] must be a number, got a string"},
    {"[{'step': 0, 'weights': [1, -1]}]",
     "force_attention[0].weights[1] must be between 0 and 1e+09, got -1"},
    {"[{'step': 0, 'weights': [1e10]}]",
     "force_attention[0].weights[0] must be between 0 and 1e+09, got 1e+10"},
    {"[{'step': 0, 'weights': [0, 0]}]", "force_attention[0].weights must not all be 0"},
    {"[{'step': 0, 'weights': []}]", "force_attention[0].weights must not all be 0"},
    {"[{'step': 0, 'weights': [1], 'weight': 2}]",
     "unknown field \"weight\" in force_attention[0]"},
    {"[{'step': 0, 'weights': [1]}, {'step': 0, 'weights': [1]}]",
     "force_attention[1].step: step 0 occurs twice"},
    {"[{'step': 3, 'weights': [1, 2]}]", "step 3 has 2 weights; the text has 19 source tokens"},
};

START_TEST(wrong_forced_attention) {
    struct reply reply;
    char fields[256];
    for (size_t i = 0; i < sizeof wrong_attention / sizeof *wrong_attention; i++) {
        snprintf(fields, sizeof fields, "'force_attention': %s", wrong_attention[i].value);
        ask("/attention", fields, 400, &reply);
        ck_assert_str_eq(text_at(reply.json, "error"), wrong_attention[i].message);
        ck_assert_str_eq(text_at(reply.json, "field"), "force_attention");
        reply_done(&reply);
    }
    ask("/translate", "'force_attention': []", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), "unknown field \"force_attention\"");
    reply_done(&reply);
    client_post(&served, "/attention",
                "{'text': 'One. Two.', 'force_attention': [{'step': 0, 'weights': [1]}]}", 400,
                &reply);
    ck_assert_str_eq(
        text_at(reply.json, "error"),
        "split_sentences must be false when force_attention is given: the text has 2 sentences");
    ck_assert_str_eq(text_at(reply.json, "field"), "split_sentences");
    reply_done(&reply);
    client_post(&served, "/attention", "{'text': ['x', 'y'], 'force_attention': []}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "force_attention must be used with one text only, got 2");
    reply_done(&reply);
    client_post(&served, "/attention",
                "{'text': 'x', 'model': 'fixed-gru', 'include': [], 'force_attention': [{'step': "
                "0, 'weights': [1]}]}",
                400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), "model \"fixed-gru\" has no attention to force");
    reply_done(&reply);
    ask("/attention", "'prefix': 'Un', 'translation': 'Un chat'", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "prefix must be empty when translation is given");
    reply_done(&reply);
}
END_TEST

/* The ends of every range are in it. */
START_TEST(ranges_include_their_ends) {
    static const char *const fields[] = {
        "'strategy': 'sample', 'temperature': 0.01",
        "'strategy': 'sample', 'temperature': 10",
        "'strategy': 'sample', 'top_k': 0",
        "'strategy': 'sample', 'top_k': 1000",
        "'strategy': 'sample', 'top_p': 0.01",
        "'strategy': 'sample', 'top_p': 1",
        "'strategy': 'sample', 'seed': 0",
        "'strategy': 'sample', 'seed': 9223372036854775807",
        "'strategy': 'sample', 'n_best': 1",
        "'strategy': 'sample', 'n_best': 20",
        "'strategy': 'exact', 'n_best': 32",
        "'coverage_penalty': 0",
        "'coverage_penalty': 2",
        "'no_repeat_ngram': 0",
        "'no_repeat_ngram': 20",
        "'repetition_penalty': 1",
        "'repetition_penalty': 10",
        "'prefix': ''",
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct reply reply;
        translate(fields[i], &reply);
        reply_done(&reply);
    }
}
END_TEST

/* ---- sampling ---- */

START_TEST(the_seed_is_returned_and_repeats) {
    struct reply reply, again, beam;
    char fields[128];
    for (size_t i = 0; i < 5; i++) {
        translate("'strategy': 'sample', 'n_best': 3, 'include': ['tokens', 'log_probs']", &reply);
        json_int_t seed = json_integer_value(json_at(reply.json, "seed"));
        ck_assert(seed >= 0 && seed < (json_int_t)1 << 53);
        snprintf(
            fields, sizeof fields,
            "'strategy': 'sample', 'n_best': 3, 'include': ['tokens', 'log_probs'], 'seed': %lld",
            (long long)seed);
        translate(fields, &again);
        ck_assert_str_eq(reply.body, again.body);
        reply_done(&reply);
        reply_done(&again);
    }
    translate("", &beam);
    ck_assert_ptr_null(json_object_get(beam.json, "seed"));
    reply_done(&beam);
}
END_TEST

/* One answer, whoever else is there; and sentences of a request draw on their own. */
START_TEST(samples_in_company) {
    enum { OTHERS = 60 };
    static const char question[] =
        "{'text': ['" TEXT "', '" TEXT "'], 'strategy': 'sample', 'seed': 5, 'temperature': 2}";
    struct reply alone, replies[OTHERS];
    client_post(&served, "/translate", question, 200, &alone);
    ck_assert_str_ne(text_at(alone.json, "translations.0.text"),
                     text_at(alone.json, "translations.1.text"));
    struct flight *flight = flight_open(&served);
    for (size_t i = 0; i < OTHERS; i++)
        flight_send(flight,
                    &(struct call){.path = "/translate",
                                   .json = i % 3 ? "{'text': '" TEXT
                                                   "', 'strategy': 'sample', 'n_best': 3}"
                                                 : question},
                    &replies[i]);
    flight_land(flight);
    flight_close(flight);
    for (size_t i = 0; i < OTHERS; i++) {
        ck_assert_int_eq(replies[i].status, 200);
        if (i % 3 == 0)
            ck_assert_str_eq(replies[i].body, alone.body);
        reply_done(&replies[i]);
    }
    reply_done(&alone);
}
END_TEST

/* Cold, or from the best token alone, a sample is greedy, log-probabilities included. */
START_TEST(a_cold_sample_is_greedy) {
    struct reply greedy, cold, single;
    const json_t *a = translate(
        "'strategy': 'greedy', 'include': ['tokens', 'log_probs', 'top_k', 'entropy']", &greedy);
    const json_t *b = translate(
        "'strategy': 'sample', 'top_k': 1, 'include': ['tokens', 'log_probs', 'top_k', 'entropy']",
        &single);
    const json_t *c = translate("'strategy': 'sample', 'top_p': 0.01, 'include': ['tokens', "
                                "'log_probs', 'top_k', 'entropy']",
                                &cold);
    ck_assert(json_equal(a, b));
    ck_assert(json_equal(a, c));
    reply_done(&greedy);
    reply_done(&single);
    reply_done(&cold);
}
END_TEST

/* ---- exact ---- */

START_TEST(exact_says_whether_it_is) {
    struct reply reply, beam;
    const json_t *sentence =
                     translate("'strategy': 'exact', 'length_penalty': 0, 'max_length': 2", &reply),
                 *found = translate("'beam_size': 20, 'length_penalty': 0, 'max_length': 2", &beam);
    ck_assert(json_is_true(json_at(sentence, "optimal")));
    ck_assert_str_ne(text_at(sentence, "finish_reason"), "budget");
    ck_assert_double_ge(number_at(sentence, "score"), number_at(found, "score") - 1e-4);
    ck_assert_ptr_null(json_object_get(found, "optimal"));
    reply_done(&reply);
    reply_done(&beam);
    sentence = translate(
        "'strategy': 'exact', 'min_length': 20, 'max_length': 100, 'include': ['timing']", &reply);
    ck_assert(json_is_false(json_at(sentence, "optimal")));
    ck_assert_str_eq(text_at(sentence, "finish_reason"), "budget");
    ck_assert_double_eq(number_at(sentence, "timing.steps"), 300);
    reply_done(&reply);
}
END_TEST

/* ---- what all take ---- */

START_TEST(prefixes) {
    static const char *const strategies[] = {"greedy", "beam", "sample", "exact"};
    static const char *const given[] = {"Un chat", "Un  chat ",
                                        "\xc3\x89t\xc3\xa9 \xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 12; i++) {
        struct reply reply;
        char fields[256];
        snprintf(fields, sizeof fields,
                 "'strategy': '%s', 'prefix': '%s', 'include': ['tokens', 'log_probs', 'offsets', "
                 "'eos']",
                 strategies[i % 4], given[i / 4]);
        const json_t *sentence = translate(fields, &reply);
        ck_assert_int_eq(strncmp(text_at(sentence, "text"), given[i / 4], strlen(given[i / 4])), 0);
        ck_assert_uint_eq(json_array_size(json_at(sentence, "tokens")),
                          json_array_size(json_at(sentence, "log_probs")));
        reply_done(&reply);
    }
}
END_TEST

/* Of several sentences the first one begins with it; of several texts, each. */
START_TEST(a_prefix_is_for_each_text) {
    struct reply reply;
    client_post(&served, "/translate",
                "{'text': ['A boy. A dog.', 'A dog.', ''], 'prefix': 'Un chat'}", 200, &reply);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(
            strncmp(json_string_value(json_object_get(
                        json_array_get(json_at(reply.json, "translations"), i), "text")),
                    "Un chat", 7),
            0);
    ck_assert_int_ne(strncmp(text_at(reply.json, "translations.0.sentences.1.text"), "Un chat", 7),
                     0);
    ck_assert_str_eq(text_at(reply.json, "translations.2.text"), "");
    reply_done(&reply);
}
END_TEST

static size_t count_equal(const json_t *tokens, size_t i) {
    size_t count = 0;
    for (size_t j = 0; j < json_array_size(tokens); j++)
        count += json_equal(json_array_get(tokens, i), json_array_get(tokens, j)) ? 1 : 0;
    return count;
}

START_TEST(nothing_is_repeated) {
    static const char *const strategies[] = {"greedy", "beam", "sample", "exact"};
    for (size_t s = 0; s < 4; s++) {
        struct reply reply;
        char fields[128];
        snprintf(fields, sizeof fields,
                 "'strategy': '%s', 'no_repeat_ngram': 1, 'min_length': 15, 'max_length': 15",
                 strategies[s]);
        const json_t *tokens = json_at(translate(fields, &reply), "tokens");
        ck_assert_uint_eq(json_array_size(tokens), 15);
        for (size_t i = 0; i < 15; i++)
            ck_assert_uint_eq(count_equal(tokens, i), 1);
        reply_done(&reply);
    }
}
END_TEST

/* Log-probabilities stay the model's own; the score counts those of repeated tokens three times. */
START_TEST(repetition_is_in_the_score) {
    struct reply reply;
    const json_t *sentence = translate(
        "'repetition_penalty': 3, 'min_length': 12, 'include': ['tokens', 'log_probs', 'eos']",
        &reply);
    const json_t *tokens = json_at(sentence, "tokens");
    double sum = 0, merit = 0;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        double log_prob = json_number_value(item(sentence, "log_probs", i));
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= json_equal(json_array_get(tokens, i), json_array_get(tokens, j));
        sum += log_prob;
        merit += again ? 3 * log_prob : log_prob;
    }
    ck_assert_double_eq_tol(number_at(sentence, "log_prob"), sum, 1e-3);
    ck_assert_double_eq_tol(number_at(sentence, "score"), merit / (double)json_array_size(tokens),
                            1e-3);
    reply_done(&reply);
}
END_TEST

/* score = log_prob / length^p + beta * sum over source tokens of log(min(1, what they got)). */
START_TEST(coverage_is_in_the_score) {
    struct reply reply;
    const json_t *sentence = translate("'coverage_penalty': 0.5, 'length_penalty': 0.7, 'digits': "
                                       "9, 'include': ['attention', 'eos']",
                                       &reply);
    const json_t *rows = json_at(sentence, "attention");
    size_t length = json_array_size(rows), columns = json_array_size(json_array_get(rows, 0));
    double coverage = 0;
    for (size_t j = 0; j < columns; j++) {
        double got = 0;
        for (size_t i = 0; i < length; i++)
            got += json_number_value(json_array_get(json_array_get(rows, i), j));
        coverage += log(fmin(1, got));
    }
    ck_assert_double_lt(coverage, 0);
    ck_assert_double_eq_tol(
        number_at(sentence, "score"),
        number_at(sentence, "log_prob") / pow((double)length, 0.7) + 0.5 * coverage, 1e-3);
    reply_done(&reply);
}
END_TEST

START_TEST(forced_attention) {
    struct reply reply, own;
    const json_t *sentence =
        attend("'force_attention': [{'step': 1, 'weights': [0, 0, 3, 0, 0, 0, 0, 1" ELEVEN_0
               "]}], 'strategy': 'greedy'",
               &reply);
    static const double expected[19] = {[2] = 0.75, [7] = 0.25};
    for (size_t j = 0; j < 19; j++)
        ck_assert_double_eq(json_number_value(json_array_get(item(sentence, "attention", 1), j)),
                            expected[j]);
    const json_t *plain = attend("'strategy': 'greedy'", &own);
    ck_assert(json_equal(item(sentence, "attention", 0), item(plain, "attention", 0)));
    ck_assert(!json_equal(item(sentence, "entropy", 1), item(plain, "entropy", 1)));
    reply_done(&reply);
    reply_done(&own);
    sentence = attend("'force_attention': [{'step': 0, 'weights': [1, 0, 0, 0, 0, 0, 0, 0" ELEVEN_0
                      "]}], 'translation': 'Un chat'",
                      &reply);
    ck_assert_double_eq(json_number_value(json_array_get(item(sentence, "attention", 0), 0)), 1);
    reply_done(&reply);
}
END_TEST

/* ---- outputs ---- */

static const char *const strategies[] = {"greedy", "beam", "sample", "exact"};

/* Five a step, best first; where the token itself is among them, with its own log-probability. */
START_TEST(top_k) {
    struct reply reply;
    char fields[128];
    snprintf(fields, sizeof fields,
             "'strategy': '%s', 'include': ['tokens', 'log_probs', 'top_k', 'eos']",
             strategies[_i]);
    const json_t *sentence = translate(fields, &reply);
    size_t steps = json_array_size(json_at(sentence, "tokens"));
    ck_assert_uint_eq(json_array_size(json_at(sentence, "top_k")), steps);
    for (size_t i = 0; i < steps; i++) {
        const json_t *step = item(sentence, "top_k", i);
        ck_assert_uint_eq(json_array_size(step), 5);
        for (size_t a = 0; a < 5; a++) {
            const json_t *one = json_array_get(step, a);
            ck_assert_uint_eq(json_object_size(one), 2);
            ck_assert(a == 0 || number_at(json_array_get(step, a - 1), "log_prob") >=
                                    number_at(one, "log_prob"));
            if (json_equal(json_at(one, "token"), item(sentence, "tokens", i)))
                ck_assert_double_eq_tol(number_at(one, "log_prob"),
                                        json_number_value(item(sentence, "log_probs", i)), 1e-4);
        }
    }
    reply_done(&reply);
}
END_TEST

/* Every path to a finished node of the tree: the best of them is the translation. */
START_TEST(tree) {
    struct reply reply;
    char fields[128];
    snprintf(fields, sizeof fields,
             "'strategy': '%s', 'beam_size': 3, 'include': ['tokens', 'beam']", strategies[_i]);
    const json_t *sentence = translate(fields, &reply), *nodes = json_at(sentence, "beam");
    size_t pruned = 0;
    const json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i), *parent = json_object_get(node, "parent");
        ck_assert_uint_eq(json_object_size(node), 7);
        ck_assert_double_eq(number_at(node, "id"), (double)i);
        const char *state = text_at(node, "state");
        pruned += strcmp(state, "pruned") == 0;
        double step = 0;
        if (!json_is_null(parent)) {
            const json_t *above = json_array_get(nodes, (size_t)json_integer_value(parent));
            ck_assert_str_eq(text_at(above, "state"), "kept");
            step = number_at(above, "step") + 1;
        }
        ck_assert_double_eq(number_at(node, "step"), step);
        if (strcmp(state, "finished") == 0 &&
            (!best || number_at(node, "score") > number_at(best, "score")))
            best = node;
    }
    ck_assert_ptr_nonnull(best);
    ck_assert_double_eq_tol(number_at(best, "score"), number_at(sentence, "score"), 1e-6);
    size_t length = json_array_size(json_at(sentence, "tokens"));
    for (const json_t *node = best; node;
         node = json_array_get(nodes, (size_t)json_integer_value(json_at(node, "parent")))) {
        size_t step = (size_t)number_at(node, "step");
        if (step < length)
            ck_assert(json_equal(json_at(node, "token"), item(sentence, "tokens", step)));
        if (json_is_null(json_at(node, "parent")))
            break;
    }
    ck_assert(strcmp(strategies[_i], "beam") != 0 || pruned > 0);
    reply_done(&reply);
}
END_TEST

/* A target has both, too, and blank texts have nothing. */
START_TEST(outputs_of_targets_and_blanks) {
    struct reply reply;
    const json_t *sentence =
        attend("'translation': 'Un chat', 'include': ['tokens', 'top_k', 'beam', 'eos']", &reply);
    size_t steps = json_array_size(json_at(sentence, "tokens"));
    ck_assert_uint_eq(json_array_size(json_at(sentence, "top_k")), steps);
    ck_assert_uint_eq(json_array_size(json_at(sentence, "beam")), steps);
    ck_assert_str_eq(text_at(item(sentence, "beam", steps - 1), "state"), "finished");
    reply_done(&reply);
    client_post(&served, "/translate",
                "{'text': ' ', 'strategy': 'exact', 'prefix': 'Un', 'include': ['beam', 'top_k']}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.text"), " ");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 0);
    reply_done(&reply);
}
END_TEST

Suite *strategies_suite(void) {
    Suite *suite = suite_create("strategies");
    TCase *cases = tcase_create("strategies");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_test(cases, wrong_fields);
    tcase_add_test(cases, wrong_forced_attention);
    tcase_add_test(cases, ranges_include_their_ends);
    tcase_add_test(cases, the_seed_is_returned_and_repeats);
    tcase_add_test(cases, samples_in_company);
    tcase_add_test(cases, a_cold_sample_is_greedy);
    tcase_add_test(cases, exact_says_whether_it_is);
    tcase_add_test(cases, prefixes);
    tcase_add_test(cases, a_prefix_is_for_each_text);
    tcase_add_test(cases, nothing_is_repeated);
    tcase_add_test(cases, repetition_is_in_the_score);
    tcase_add_test(cases, coverage_is_in_the_score);
    tcase_add_test(cases, forced_attention);
    tcase_add_loop_test(cases, top_k, 0, 4);
    tcase_add_loop_test(cases, tree, 0, 4);
    tcase_add_test(cases, outputs_of_targets_and_blanks);
    suite_add_tcase(suite, cases);
    return suite;
}
