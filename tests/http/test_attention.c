/* POST /attention, and the fields that it shares with /translate: matrices and offsets. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT     "Ça va, naïve € 😀 friend? No."
#define ONE_TEXT "Ça va, naïve € 😀 friend?"

enum { VOCABULARY = 200 };

static const double tolerance = 1e-4; /* numbers are written with six digits or more */

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--model", "tests/golden/conditional-additive-gru",
                           "--model", "tests/golden/luong-no-eos", "--model",
                           "tests/golden/fixed-gru", "--workers", "2"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void attend(const char *json, struct reply *reply) {
    client_post(&served, "/attention", json, 200, reply);
}

static double item(const json_t *array, size_t i) {
    return json_number_value(json_array_get(array, i));
}

static double sum(const json_t *array) {
    double total = 0;
    for (size_t i = 0; i < json_array_size(array); i++)
        total += item(array, i);
    return total;
}

static const char *string(const json_t *array, size_t i) {
    return json_string_value(json_array_get(array, i));
}

/* Runs a check on each sentence of a text under several models. */
static void each_sentence(const char *fields,
                          void (*check)(const json_t *sentence, const json_t *answer)) {
    static const char *const models[] = {"luong-general-gru", "conditional-additive-gru",
                                         "luong-no-eos"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char json[512];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '" TEXT "', 'model': '%s', 'digits': 9%s}", models[i],
                 fields);
        attend(json, &reply);
        const json_t *answer = json_at(reply.json, "results.0"),
                     *sentences = json_at(answer, "sentences");
        ck_assert_uint_eq(json_array_size(sentences), 2);
        for (size_t j = 0; j < 2; j++)
            check(json_array_get(sentences, j), answer);
        reply_done(&reply);
    }
}

START_TEST(shape) {
    static const char *const keys[] = {"source_text", "text",     "source_tokens", "tokens",
                                       "score",       "log_prob", "finish_reason", "attention",
                                       "alignment",   "offsets",  "opaque",        "entropy"};
    struct reply reply;
    attend("{'text': '" TEXT "'}", &reply);
    ck_assert_uint_eq(json_object_size(reply.json), 4);
    ck_assert_str_eq(text_at(reply.json, "model"), "luong-general-gru");
    ck_assert_str_eq(text_at(reply.json, "source"), "en");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results")), 1);
    ck_assert_uint_eq(json_object_size(json_at(reply.json, "results.0")),
                      3); /* random weights leave much out: a warning */
    const json_t *sentence = json_at(reply.json, "results.0.sentences.0");
    ck_assert_uint_eq(json_object_size(sentence), sizeof keys / sizeof *keys);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_at(sentence, keys[i]);
    reply_done(&reply);
}
END_TEST

/* Row i is target token i, </s> last; column j source token j. */
static void check_matrix(const json_t *sentence, const json_t *answer) {
    (void)answer;
    const json_t *rows = json_at(sentence, "attention"), *tokens = json_at(sentence, "tokens"),
                 *entropy = json_at(sentence, "entropy");
    size_t count = json_array_size(tokens);
    ck_assert_uint_eq(json_array_size(rows), count);
    ck_assert_uint_eq(json_array_size(entropy), count);
    ck_assert_int_eq(strcmp(string(tokens, count - 1), "</s>") == 0,
                     strcmp(text_at(sentence, "finish_reason"), "eos") == 0);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        ck_assert_uint_eq(json_array_size(row),
                          json_array_size(json_at(sentence, "source_tokens")));
        ck_assert_double_eq_tol(sum(row), 1, tolerance);
        for (size_t j = 0; j < json_array_size(row); j++)
            ck_assert_double_ge(item(row, j), 0);
        ck_assert_double_ge(item(entropy, i), 0);
        ck_assert_double_le(item(entropy, i), log(VOCABULARY) + tolerance);
    }
}

START_TEST(matrices) {
    each_sentence("", check_matrix);
    each_sentence(", 'strategy': 'greedy'", check_matrix);
    each_sentence(", 'min_length': 9, 'max_length': 9", check_matrix);
}
END_TEST

/* ---- offsets ---- */

/* The visible bytes of a piece are those of the text at its offset: nothing in these texts is
 * changed by normalisation. */
static void check_slices(const json_t *offsets, const json_t *tokens, const char *text) {
    static const char space[] = "▁";
    size_t last = 0;
    ck_assert_uint_eq(json_array_size(offsets), json_array_size(tokens));
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        struct slice slice = slice_at(json_array_get(offsets, i), text);
        const char *piece = string(tokens, i);
        ck_assert_uint_ge(slice.start, last);
        last = slice.end;
        if (strcmp(piece, "</s>") == 0 || strcmp(piece, "<unk>") == 0)
            continue;
        piece += strncmp(piece, space, strlen(space)) == 0 ? strlen(space) : 0;
        ck_assert_uint_eq(strlen(piece), slice.end - slice.start);
        ck_assert_int_eq(strncmp(text + slice.start, piece, slice.end - slice.start), 0);
    }
}

static void check_span(const json_t *span, const char *whole, const char *part) {
    struct slice slice = slice_at(span, whole);
    ck_assert_uint_eq(slice.end - slice.start, strlen(part));
    ck_assert_int_eq(strncmp(whole + slice.start, part, strlen(part)), 0);
}

static void check_offsets(const json_t *sentence, const json_t *answer) {
    const char *source = text_at(sentence, "source_text"), *target = text_at(sentence, "text");
    ck_assert_uint_eq(json_object_size(json_at(sentence, "offsets")), 3);
    check_slices(json_at(sentence, "offsets.source"), json_at(sentence, "source_tokens"), source);
    check_slices(json_at(sentence, "offsets.target"), json_at(sentence, "tokens"), target);
    check_span(json_at(sentence, "offsets.span.source"), TEXT, source);
    check_span(json_at(sentence, "offsets.span.target"), text_at(answer, "text"), target);
}

START_TEST(slices) {
    each_sentence("", check_offsets);
    each_sentence(", 'include': ['tokens', 'offsets']", check_offsets);
    each_sentence(", 'min_length': 30, 'max_length': 30", check_offsets);
}
END_TEST

/* Normalisation joins the accent with its letter: the token's bytes are still both. */
START_TEST(offsets_of_decomposed_accents) {
    struct reply reply;
    attend("{'text': 'e\xcc\x81t\xc3\xa9', 'include': ['offsets']}", &reply);
    static const char text[] = "e\xcc\x81t\xc3\xa9";
    const json_t *list = json_at(reply.json, "results.0.sentences.0.offsets.source");
    size_t covered = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct slice slice = slice_at(json_array_get(list, i), text);
        covered += slice.end - slice.start;
    }
    ck_assert_uint_eq(covered, strlen(text));
    reply_done(&reply);
}
END_TEST

/* ---- a given target ---- */

START_TEST(target_is_scored) {
    struct reply reply;
    attend("{'text': '" ONE_TEXT "', 'translation': 'Où est la gare ?', 'include': ['tokens', "
           "'log_probs', 'attention', 'eos']}",
           &reply);
    const json_t *sentence = json_at(reply.json, "results.0.sentences.0");
    size_t count = json_array_size(json_at(sentence, "tokens"));
    ck_assert_str_eq(text_at(sentence, "text"), "Où est la gare ?");
    ck_assert_str_eq(text_at(reply.json, "results.0.text"), "Où est la gare ?");
    ck_assert_str_eq(text_at(sentence, "finish_reason"), "eos");
    ck_assert_uint_eq(json_array_size(json_at(sentence, "log_probs")), count);
    ck_assert_uint_eq(json_array_size(json_at(sentence, "attention")), count);
    ck_assert_double_eq_tol(sum(json_at(sentence, "log_probs")), number_at(sentence, "log_prob"),
                            1e-3);
    ck_assert_double_eq_tol(number_at(sentence, "score"),
                            number_at(sentence, "log_prob") / (double)count, tolerance);
    reply_done(&reply);
}
END_TEST

/* With a target the default is one text, one target, one matrix. */
START_TEST(target_is_not_split) {
    struct reply reply;
    attend("{'text': '" TEXT "', 'translation': 'Un. Deux.'}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.sentences")), 1);
    ck_assert_str_eq(text_at(reply.json, "results.0.sentences.0.source_text"), TEXT);
    reply_done(&reply);
    attend("{'text': '" ONE_TEXT "', 'translation': 'Un. Deux.', 'split_sentences': true}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.sentences")), 1);
    reply_done(&reply);
}
END_TEST

START_TEST(targets_in_order) {
    struct reply both, first, second;
    attend(
        "{'text': ['A boy.', 'The dog runs.'], 'translation': ['Un garçon.', 'Le chien court.']}",
        &both);
    attend("{'text': 'A boy.', 'translation': 'Un garçon.'}", &first);
    attend("{'text': 'The dog runs.', 'translation': 'Le chien court.'}", &second);
    ck_assert(json_equal(json_at(both.json, "results.0"), json_at(first.json, "results.0")));
    ck_assert(json_equal(json_at(both.json, "results.1"), json_at(second.json, "results.0")));
    reply_done(&both);
    reply_done(&first);
    reply_done(&second);
}
END_TEST

/* An empty target is scored too: only </s>. A blank text has nothing to attend to. */
START_TEST(blanks) {
    struct reply reply;
    attend("{'text': 'A boy.', 'translation': ''}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.sentences.0.tokens")), 1);
    ck_assert_str_eq(text_at(reply.json, "results.0.sentences.0.tokens.0"), "</s>");
    reply_done(&reply);
    attend("{'text': ['', 'A boy.'], 'translation': ['Un garçon.', 'Un garçon.']}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.sentences")), 0);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.1.sentences")), 1);
    reply_done(&reply);
}
END_TEST

static void check_same_numbers(const json_t *a, const json_t *b) {
    ck_assert_uint_eq(json_array_size(a), json_array_size(b));
    for (size_t i = 0; i < json_array_size(a); i++) {
        if (json_is_array(json_array_get(a, i)))
            check_same_numbers(json_array_get(a, i), json_array_get(b, i));
        else
            ck_assert_double_eq_tol(item(a, i), item(b, i), 1e-3);
    }
}

/* Scores the translation as a target. False where it is tokenized differently from how it was made.
 */
static bool check_round_trip(const json_t *sentence, const char *model) {
    json_t *question =
        json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s]}", "model", model, "text",
                  text_at(sentence, "source_text"), "translation", text_at(sentence, "text"),
                  "include", "tokens", "log_probs", "attention", "entropy", "eos");
    char *body = json_dumps(question, 0);
    struct reply reply;
    client_send(&served, &(struct call){.path = "/attention", .body = body}, &reply);
    ck_assert_msg(reply.status == 200, "%s: %s", body, reply.body);
    const json_t *scored = json_at(reply.json, "results.0.sentences.0");
    bool same = json_equal(json_at(scored, "tokens"), json_at(sentence, "tokens"));
    if (same) {
        ck_assert_double_eq_tol(number_at(scored, "log_prob"), number_at(sentence, "log_prob"),
                                1e-3);
        check_same_numbers(json_at(scored, "attention"), json_at(sentence, "attention"));
        check_same_numbers(json_at(scored, "log_probs"), json_at(sentence, "log_probs"));
        check_same_numbers(json_at(scored, "entropy"), json_at(sentence, "entropy"));
    }
    reply_done(&reply);
    free(body);
    json_decref(question);
    return same;
}

/* The attention of the model's own translation is that of the same text given as the target. */
START_TEST(own_translation_as_target) {
    static const char *const models[] = {"luong-general-gru", "conditional-additive-gru",
                                         "luong-no-eos"};
    static const char *const texts[] = {
        "A boy plays in the snow.", "The dog runs.", "Where is it?", "Yes.", "x",
        "Two men eat here",         "We see"};
    size_t same = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
            char json[256];
            struct reply reply;
            snprintf(json, sizeof json,
                     "{'model': '%s', 'text': '%s', 'n_best': 5, 'verbatim': true, 'include': "
                     "['tokens', 'log_probs', 'attention', "
                     "'entropy', 'eos']}",
                     models[i], texts[j]);
            attend(json, &reply);
            const json_t *list = json_at(reply.json, "results.0.sentences.0.hypotheses");
            for (size_t k = 0; k < json_array_size(list); k++) {
                if (strcmp(text_at(json_array_get(list, k), "finish_reason"), "eos") == 0)
                    same += check_round_trip(json_array_get(list, k), models[i]);
            }
            reply_done(&reply);
        }
    }
    ck_assert_uint_gt(same, 0);
}
END_TEST

/* Checks that attention is the softmax of the scores, and 0 where a score is null. Returns how many
 * are null. */
static size_t check_scores(const json_t *sentence) {
    const json_t *scores = json_object_get(sentence, "scores"),
                 *attention = json_object_get(sentence, "attention"), *row, *score;
    size_t nulls = 0, i, j;
    ck_assert_uint_eq(json_array_size(scores), json_array_size(attention));
    json_array_foreach(scores, i, row) {
        double z = 0;
        json_array_foreach(row, j, score) z +=
            json_is_null(score) ? 0 : exp(json_number_value(score));
        json_array_foreach(row, j, score) {
            double weight = json_number_value(json_array_get(json_array_get(attention, i), j));
            nulls += json_is_null(score);
            if (z > 0)
                ck_assert_double_eq_tol(
                    weight, json_is_null(score) ? 0 : exp(json_number_value(score)) / z, 1e-3);
        }
    }
    return nulls;
}

/* Scores before the softmax, of all hypotheses, with nulls outside a window and in a forced row. */
START_TEST(scores) {
    static const struct {
        const char *fields;
        bool nulls;
    } asked[] = {
        {"'model': 'luong-dot-lstm', 'n_best': 4", false},
        {"'model': 'transformer', 'n_best': 4", false},
        {"'model': 'transformer-ssru', 'strategy': 'greedy'", false},
        {"'model': 'luong-dot-lstm', 'strategy': 'exact', 'max_length': 3", false},
        {"'model': 'luong-local-m-gru', 'n_best': 2", true},
    };
    struct daemon golden;
    struct reply reply;
    char json[400];
    daemon_start(&golden, ARGUMENTS("--models", "tests/golden", "--workers", "1"));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        snprintf(json, sizeof json,
                 "{%s, 'text': 'We see', 'include': ['scores', 'attention', 'eos']}",
                 asked[i].fields);
        client_post(&golden, "/translate", json, 200, &reply);
        const json_t *sentence = json_at(reply.json, "translations.0.sentences.0"),
                     *all = json_object_get(sentence, "hypotheses");
        size_t nulls = check_scores(sentence);
        for (size_t k = 0; k < json_array_size(all); k++)
            nulls += check_scores(json_array_get(all, k));
        ck_assert_int_eq(nulls > 0, asked[i].nulls);
        if (i == 0) { /* the weights of one row are given */
            char weights[100] = "1";
            size_t count = json_array_size(json_array_get(json_object_get(sentence, "scores"), 0));
            for (size_t j = 1; j < count; j++)
                strcat(weights, ",0");
            snprintf(
                json, sizeof json,
                "{'model': 'luong-dot-lstm', 'text': 'We see', 'include': ['scores', 'attention'], "
                "'force_attention': [{'step': 0, 'weights': [%s]}]}",
                weights);
            reply_done(&reply);
            client_post(&golden, "/attention", json, 200, &reply);
            ck_assert_uint_eq(check_scores(json_at(reply.json, "results.0.sentences.0")), count);
        }
        reply_done(&reply);
    }
    daemon_stop(&golden);
}
END_TEST

/* A model without attention translates and scores; what it does not have is refused, on /attention
 * by default too. */
START_TEST(model_without_attention) {
    static const char *const refused[] = {"", ", 'include': ['attention']",
                                          ", 'include': ['tokens', 'alignment']",
                                          ", 'include': ['words']"};
    struct reply reply;
    char json[256];
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(json, sizeof json, "{'model': 'fixed-gru', 'text': 'We see'%s}", refused[i]);
        client_post(&served, "/attention", json, 400, &reply);
        ck_assert_str_eq(text_at(reply.json, "field"), "include");
        ck_assert_str_eq(text_at(reply.json, "error"),
                         "include must not contain attention, scores, soft_alignment, alignment, "
                         "words or phrases: "
                         "model \"fixed-gru\" has no attention");
        reply_done(&reply);
    }
    attend("{'model': 'fixed-gru', 'text': 'We see', 'translation': 'Nous', 'include': ['tokens', "
           "'log_probs', 'entropy', 'eos']}",
           &reply);
    ck_assert_str_eq(text_at(reply.json, "results.0.text"), "Nous");
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "results.0.sentences.0"), "attention"));
    reply_done(&reply);
    client_post(&served, "/translate",
                "{'model': 'fixed-gru', 'text': '" TEXT
                "', 'include': ['offsets', 'log_probs'], 'n_best': 5}",
                200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 2);
    reply_done(&reply);
}
END_TEST

START_TEST(equals_translate) {
    struct reply attention, translation;
    attend("{'text': '" TEXT "'}", &attention);
    client_post(&served, "/translate",
                "{'text': '" TEXT
                "', 'include': ['tokens', 'attention', 'alignment', 'offsets', 'entropy', 'eos']}",
                200, &translation);
    ck_assert(
        json_equal(json_at(attention.json, "results"), json_at(translation.json, "translations")));
    reply_done(&attention);
    reply_done(&translation);
}
END_TEST

START_TEST(encoder_without_end) {
    struct reply reply;
    attend("{'text': 'A boy.', 'model': 'luong-no-eos'}", &reply);
    const json_t *tokens = json_at(reply.json, "results.0.sentences.0.source_tokens");
    ck_assert_str_ne(string(tokens, json_array_size(tokens) - 1), "</s>");
    reply_done(&reply);
    attend("{'text': 'A boy.'}", &reply);
    tokens = json_at(reply.json, "results.0.sentences.0.source_tokens");
    ck_assert_str_eq(string(tokens, json_array_size(tokens) - 1), "</s>");
    reply_done(&reply);
}
END_TEST

Suite *attention_suite(void) {
    Suite *suite = suite_create("attention");
    TCase *tcase = tcase_create("attention");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, shape);
    tcase_add_test(tcase, matrices);
    tcase_add_test(tcase, slices);
    tcase_add_test(tcase, offsets_of_decomposed_accents);
    tcase_add_test(tcase, target_is_scored);
    tcase_add_test(tcase, target_is_not_split);
    tcase_add_test(tcase, targets_in_order);
    tcase_add_test(tcase, blanks);
    tcase_add_test(tcase, own_translation_as_target);
    tcase_add_test(tcase, scores);
    tcase_add_test(tcase, model_without_attention);
    tcase_add_test(tcase, equals_translate);
    tcase_add_test(tcase, encoder_without_end);
    suite_add_tcase(suite, tcase);
    return suite;
}
