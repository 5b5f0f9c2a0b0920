/* `include: heads`: the attention of a transformer's heads. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG   "transformer-alignment-layer"
#define SSRU  "transformer-ssru"
#define HALF  "recurrent-self-attention"
#define OTHER "transformer-luong-lstm"

static const double tolerance =
    1e-3; /* weights are written with four digits, and a row has up to a hundred */

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--model", "tests/golden/" BIG, "--model",
                           "tests/golden/" SSRU, "--model", "tests/golden/" HALF, "--model",
                           "tests/golden/" OTHER, "--max-reply-bytes", "200000", "--workers", "2"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static const json_t *nth(const json_t *array, size_t i) {
    return json_array_get(array, i);
}

/* [layers][heads][rows][columns], whose rows each sum to 1; before: row i has nothing after column
 * i. */
static void check_part(const json_t *part, size_t rows, size_t columns, bool before) {
    ck_assert_uint_gt(json_array_size(part), 0);
    for (size_t l = 0; l < json_array_size(part); l++) {
        ck_assert_uint_ge(json_array_size(nth(part, l)), 2);
        for (size_t h = 0; h < json_array_size(nth(part, l)); h++) {
            const json_t *head = nth(nth(part, l), h);
            ck_assert_uint_eq(json_array_size(head), rows);
            for (size_t i = 0; i < rows; i++) {
                double sum = 0;
                ck_assert_uint_eq(json_array_size(nth(head, i)), columns);
                for (size_t j = 0; j < columns; j++) {
                    double weight = json_number_value(nth(nth(head, i), j));
                    ck_assert(weight >= 0 && !(before && j > i && weight > 0));
                    sum += weight;
                }
                ck_assert_double_le(fabs(sum - 1), tolerance);
            }
        }
    }
}

/* Only what the model has. */
static void check_sentence(const json_t *sentence, bool encoder, bool decoder, bool cross) {
    const json_t *heads = json_object_get(sentence, "heads");
    size_t m = json_array_size(json_at(sentence, "source_tokens")),
           n = json_array_size(json_at(sentence, "tokens"));
    ck_assert_uint_eq(json_object_size(heads), (size_t)encoder + decoder + cross);
    if (encoder)
        check_part(json_object_get(heads, "encoder"), m, m, false);
    if (decoder)
        check_part(json_object_get(heads, "decoder"), n, n, true);
    if (cross)
        check_part(json_object_get(heads, "cross"), n, m, false);
}

static void ask(const char *path, const char *model, const char *fields, struct reply *reply) {
    char json[600];
    snprintf(json, sizeof json, "{'text': 'What did you do?', 'model': '%s', %s}", model, fields);
    client_post(&served, path, json, 200, reply);
}

START_TEST(what_there_is) {
    static const struct {
        const char *model;
        bool encoder, decoder, cross;
    } all[] = {{BIG, true, true, true},
               {SSRU, true, false, true},
               {HALF, false, true, true},
               {OTHER, true, false, false}};
    static const char *const searches[] = {"'strategy': 'greedy'", "'beam_size': 4",
                                           "'strategy': 'sample', 'seed': 3",
                                           "'strategy': 'exact', 'max_length': 4"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t s = 0; s < sizeof searches / sizeof *searches; s++)
            for (int eos = 0; eos < 2; eos++) {
                char fields[200];
                struct reply reply;
                snprintf(fields, sizeof fields, "%s, 'include': ['tokens', 'heads'%s]", searches[s],
                         eos ? ", 'eos'" : "");
                ask("/translate", all[i].model, fields, &reply);
                check_sentence(json_at(reply.json, "translations.0.sentences.0"), all[i].encoder,
                               all[i].decoder, all[i].cross);
                reply_done(&reply);
            }
}
END_TEST

/* Nothing else is added or changed, in what the model does; hypotheses beside the best have none.
 */
START_TEST(only_the_best_has_them) {
    struct reply with, without;
    ask("/translate", BIG,
        "'n_best': 3, 'verbatim': true, 'include': ['tokens', 'attention', 'heads']", &with);
    ask("/translate", BIG, "'n_best': 3, 'verbatim': true, 'include': ['tokens', 'attention']",
        &without);
    json_t *sentence = json_at(with.json, "translations.0.sentences.0");
    check_sentence(sentence, true, true, true);
    json_object_del(sentence, "heads");
    ck_assert(json_equal(with.json, without.json));
    reply_done(&with);
    reply_done(&without);
}
END_TEST

/* Numbers that so many digits do not say. */
static size_t count_longer(json_t *value, int digits) {
    char text[40];
    const char *key;
    json_t *part;
    size_t i, count = 0;
    snprintf(text, sizeof text, "%.*g", digits, json_number_value(value));
    count += json_is_real(value) && strtod(text, NULL) != json_real_value(value);
    json_array_foreach(value, i, part) count += count_longer(part, digits);
    json_object_foreach(value, key, part) count += count_longer(part, digits);
    return count;
}

/* Of one reply: its weights are taken out. */
static void check_digits(json_t *reply, int digits) {
    static const char *const weights[] = {"attention", "soft_alignment", "words", "heads"};
    json_t *sentence = json_at(reply, "results.0.sentences.0");
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        ck_assert_uint_eq(count_longer(json_at(sentence, weights[i]), digits), 0);
        ck_assert_uint_gt(count_longer(json_at(sentence, weights[i]), digits - 1), 0);
        json_object_del(sentence, weights[i]);
    }
}

/* `digits`: of all weights, and of nothing else. */
START_TEST(digits_of_weights) {
    static const char *const fields[] = {"", ", 'digits': 2", ", 'digits': 4", ", 'digits': 9"};
    static const int digits[] = {4, 2, 4, 9};
    struct reply replies[4];
    for (size_t i = 0; i < 4; i++) {
        char all[200];
        snprintf(all, sizeof all,
                 "'include': ['log_probs', 'attention', 'soft_alignment', 'words', 'heads', "
                 "'entropy', 'top_k', 'beam']%s",
                 fields[i]);
        ask("/attention", BIG, all, &replies[i]);
    }
    ck_assert_str_eq(replies[0].body, replies[2].body);
    ck_assert(replies[1].length < replies[2].length && replies[2].length < replies[3].length);
    for (size_t i = 0; i < 4; i++)
        check_digits(replies[i].json, digits[i]);
    ck_assert_uint_gt(count_longer(json_at(replies[0].json, "results.0.sentences.0.log_probs"), 5),
                      0);
    for (size_t i = 1; i < 4; i++)
        ck_assert(json_equal(replies[i].json, replies[0].json));
    for (size_t i = 0; i < 4; i++)
        reply_done(&replies[i]);
}
END_TEST

/* The alignment head, the third of the first layer, is what `attention` shows. */
START_TEST(of_a_given_translation) {
    struct reply reply;
    ask("/attention", BIG,
        "'translation': 'Le chien.', 'include': ['tokens', 'attention', 'heads', 'eos']", &reply);
    const json_t *sentence = json_at(reply.json, "results.0.sentences.0");
    check_sentence(sentence, true, true, true);
    size_t shown = 0;
    for (size_t l = 0; l < json_array_size(json_at(sentence, "heads.cross")); l++)
        for (size_t h = 0; h < json_array_size(nth(json_at(sentence, "heads.cross"), l)); h++)
            shown += (size_t)json_equal(nth(nth(json_at(sentence, "heads.cross"), l), h),
                                        json_at(sentence, "attention"));
    ck_assert_uint_eq(shown, 1);
    reply_done(&reply);
}
END_TEST

START_TEST(forced_looks_are_all_heads) {
    struct reply reply;
    ask("/attention", SSRU, "'include': ['tokens']", &reply);
    size_t m = json_array_size(json_at(reply.json, "results.0.sentences.0.source_tokens"));
    reply_done(&reply);
    char fields[600] = "'force_attention': [{'step': 1, 'weights': [1";
    for (size_t j = 1; j < m; j++)
        strcat(fields, ", 0");
    strcat(fields, "]}], 'include': ['tokens', 'heads', 'eos']");
    ask("/attention", SSRU, fields, &reply);
    const json_t *cross = json_at(reply.json, "results.0.sentences.0.heads.cross");
    for (size_t l = 0; l < json_array_size(cross); l++)
        for (size_t h = 0; h < json_array_size(nth(cross, l)); h++) {
            ck_assert_double_eq(json_number_value(nth(nth(nth(nth(cross, l), h), 1), 0)), 1);
            ck_assert_double_lt(json_number_value(nth(nth(nth(nth(cross, l), h), 0), 0)), 1);
        }
    reply_done(&reply);
}
END_TEST

static void refuse(long status, const char *fields, const char *field, const char *error) {
    char json[4000];
    struct reply reply;
    snprintf(json, sizeof json, "{%s, 'include': ['heads']}", fields);
    client_post(&served, "/translate", json, status, &reply);
    if (field)
        ck_assert_str_eq(text_at(reply.json, "field"), field);
    ck_assert_str_eq(text_at(reply.json, "error"), error);
    reply_done(&reply);
}

START_TEST(refused) {
    refuse(400, "'text': 'A boy.', 'model': 'luong-general-gru'", "include",
           "include must not contain heads: model \"luong-general-gru\" has no heads");
    refuse(400, "'model': '" BIG "', 'text': ['A boy.', 'A dog.']", "include",
           "include: heads must be used with one text only, got 2");
    refuse(400, "'model': '" BIG "', 'text': 'A boy plays. The dog runs.'", "split_sentences",
           "split_sentences must be false when include: heads is given: the text has 2 sentences");
    refuse(400, "'model': '" BIG "', 'text': 'A boy.', 'max_length': 129", "include",
           "include: heads needs a translation of at most 128 tokens, got 129");
    refuse(413, "'model': '" BIG "', 'text': 'A boy.', 'min_length': 128, 'max_length': 128", NULL,
           "the reply must have at most 200000 bytes, but would have at least 446045");
}
END_TEST

START_TEST(models_tell) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert(json_is_false(json_at(reply.json, "models.0.heads")));
    ck_assert(json_is_true(json_at(reply.json, "models.1.heads")));
    ck_assert(json_is_true(json_at(reply.json, "models.4.heads")));
    reply_done(&reply);
}
END_TEST

Suite *heads_suite(void) {
    Suite *suite = suite_create("heads");
    TCase *tests = tcase_create("heads");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, what_there_is);
    tcase_add_test(tests, only_the_best_has_them);
    tcase_add_test(tests, digits_of_weights);
    tcase_add_test(tests, of_a_given_translation);
    tcase_add_test(tests, forced_looks_are_all_heads);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, models_tell);
    suite_add_tcase(suite, tests);
    return suite;
}
