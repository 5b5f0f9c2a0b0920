/* POST /translate: the shape of the answer, and what each option does to it. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT "A boy plays in the snow."

static const double tolerance = 1e-4; /* numbers are written with six digits */

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "2"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void translate(const char *json, struct reply *reply) {
    client_post(&served, "/translate", json, 200, reply);
}

/* The object has these keys and no others. keys: NULL-terminated. */
static void check_keys(const json_t *object, const char *const *keys) {
    size_t count = 0;
    for (; keys[count]; count++)
        ck_assert_msg(json_object_get(object, keys[count]) != NULL, "no key %s", keys[count]);
    ck_assert_uint_eq(json_object_size(object), count);
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- the shape ---- */

START_TEST(string_text) {
    struct reply reply;
    char type[HEADER_BYTES];
    translate("{'text': '" TEXT "'}", &reply);
    ck_assert(reply_header(&reply, "Content-Type", type));
    ck_assert_str_eq(type, "application/json; charset=utf-8");
    check_keys(reply.json, KEYS("model", "source", "target", "translations"));
    ck_assert_str_eq(text_at(reply.json, "model"), "luong-general-gru");
    ck_assert_str_eq(text_at(reply.json, "source"), "en");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 1);
    check_keys(json_at(reply.json, "translations.0"),
               KEYS("text", "sentences", "warnings")); /* random weights leave much out */
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 1);
    const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
    check_keys(sentence, KEYS("source_text", "text", "source_tokens", "tokens", "score", "log_prob",
                              "finish_reason"));
    ck_assert_str_eq(text_at(sentence, "source_text"), TEXT);
    ck_assert_str_eq(text_at(sentence, "text"), text_at(reply.json, "translations.0.text"));
    ck_assert_str_eq(text_at(sentence, "finish_reason"), "eos");
    ck_assert_str_eq(text_at(sentence, "source_tokens.1"), "A");
    reply_done(&reply);
}
END_TEST

/* Tags come out, of markup and of text; sentences have none, and no place in the whole. */
START_TEST(formats) {
    static const char *const bodies[] = {
        "{'text': ['A <b>boy</b> plays.<br />In the snow.', 'A boy < 3.'], 'include': []}",
        "{'text': ['A <b>boy</b> plays.<br />In the snow.', 'A boy.'], 'format': 'xml'}"};
    for (size_t i = 0; i < 2; i++) {
        struct reply reply;
        translate(bodies[i], &reply);
        ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 2);
        const char *text = text_at(reply.json, "translations.0.text");
        ck_assert_msg(strstr(text, "<b>") && strstr(text, "</b>") && strstr(text, "<br />"), "%s",
                      text);
        ck_assert_str_eq(text_at(reply.json, "translations.0.sentences.0.source_text"),
                         i == 0 ? "A boy plays."
                                : "A boy plays.In the snow."); /* XML knows no lines */
        ck_assert_ptr_null(strchr(text_at(reply.json, "translations.0.sentences.0.text"), '<'));
        reply_done(&reply);
    }
    struct reply reply;
    translate("{'text': ['A <b>boy</b>.', 'A boy.'], 'include': ['offsets']}", &reply);
    ck_assert_ptr_null(
        json_object_get(json_at(reply.json, "translations.0.sentences.0.offsets"), "span"));
    ck_assert_ptr_nonnull(
        json_object_get(json_at(reply.json, "translations.1.sentences.0.offsets"), "span"));
    reply_done(&reply);
    static const char *const refused[][2] = {
        {"{'text': '<b>a', 'format': 'xml'}", "text"},
        {"{'text': 'a', 'format': 'pdf'}", "format"},
        {"{'text': 'a', 'format': 'html', 'prefix': 'b'}", "prefix"},
        {"{'text': 'a', 'format': 'html', 'suffix': 'b'}", "suffix"},
        {"{'text': 'a', 'format': 'html', 'stream': true}", "stream"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        client_post(&served, "/translate", refused[i][0], 400, &reply);
        ck_assert_str_eq(text_at(reply.json, "field"), refused[i][1]);
        reply_done(&reply);
    }
}
END_TEST

/* score = log_prob / length^length_penalty, the end token counted. */
START_TEST(scores) {
    struct reply reply;
    const char *path = "translations.0.sentences.0";
    translate("{'text': '" TEXT "'}", &reply);
    const json_t *sentence = json_at(reply.json, path);
    double length = (double)json_array_size(json_at(sentence, "tokens")) + 1;
    ck_assert_double_lt(number_at(sentence, "log_prob"), 0);
    ck_assert_double_eq_tol(number_at(sentence, "score"), number_at(sentence, "log_prob") / length,
                            tolerance);
    reply_done(&reply);
    translate("{'text': '" TEXT "', 'length_penalty': 0}", &reply);
    sentence = json_at(reply.json, path);
    ck_assert_double_eq_tol(number_at(sentence, "score"), number_at(sentence, "log_prob"),
                            tolerance);
    reply_done(&reply);
    translate("{'text': '" TEXT "', 'length_penalty': 0.5}", &reply);
    sentence = json_at(reply.json, path);
    length = (double)json_array_size(json_at(sentence, "tokens")) + 1;
    ck_assert_double_eq_tol(number_at(sentence, "score"),
                            number_at(sentence, "log_prob") / sqrt(length), tolerance);
    reply_done(&reply);
}
END_TEST

START_TEST(array_text_in_order) {
    static const char *const texts[] = {"The dog runs.", TEXT, "", "Ça va, naïve 😀 friend?",
                                        "The dog runs."};
    struct reply all;
    char json[256];
    translate("{'text': ['The dog runs.', '" TEXT
              "', '', 'Ça va, naïve 😀 friend?', 'The dog runs.']}",
              &all);
    ck_assert_uint_eq(json_array_size(json_at(all.json, "translations")), 5);
    for (size_t i = 0; i < 5; i++) {
        struct reply one;
        snprintf(json, sizeof json, "{'text': '%s'}", texts[i]);
        translate(json, &one);
        snprintf(json, sizeof json, "translations.%zu", i);
        ck_assert(json_equal(json_at(all.json, json), json_at(one.json, "translations.0")));
        reply_done(&one);
    }
    reply_done(&all);
    translate("{'text': ['" TEXT "']}", &all);
    ck_assert_uint_eq(json_array_size(json_at(all.json, "translations")), 1);
    reply_done(&all);
}
END_TEST

START_TEST(blank_texts) {
    static const char *const texts[] = {"", " ", "\\n\\t ", "\xe3\x80\x80"};
    static const char *const same[] = {"", " ", "\n\t ", "\xe3\x80\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct reply reply;
        char json[64];
        snprintf(json, sizeof json, "{'text': '%s'}", texts[i]);
        translate(json, &reply);
        ck_assert_str_eq(text_at(reply.json, "translations.0.text"), same[i]);
        ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 0);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(white_space_between_sentences) {
    struct reply reply;
    char expected[512];
    translate("{'text': '  A boy plays.\\n\\n  The dog runs. \\t'}", &reply);
    const json_t *answer = json_at(reply.json, "translations.0");
    ck_assert_uint_eq(json_array_size(json_at(answer, "sentences")), 2);
    ck_assert_str_eq(text_at(answer, "sentences.0.source_text"), "A boy plays.");
    ck_assert_str_eq(text_at(answer, "sentences.1.source_text"), "The dog runs.");
    snprintf(expected, sizeof expected, "  %s\n\n  %s \t", text_at(answer, "sentences.0.text"),
             text_at(answer, "sentences.1.text"));
    ck_assert_str_eq(text_at(answer, "text"), expected);
    reply_done(&reply);
}
END_TEST

/* Forty tokens is what the tiny models take at once. */
START_TEST(long_sentences_are_wrapped) {
    static const char text[] = "a boy and a dog play in the snow, while the old man sleeps near "
                               "the fire; nobody sees that the night "
                               "has come and that the wind has turned to the north";
    char json[512];
    struct reply reply;
    snprintf(json, sizeof json, "{'text': '%s'}", text);
    translate(json, &reply);
    const json_t *sentences = json_at(reply.json, "translations.0.sentences");
    ck_assert_uint_gt(json_array_size(sentences), 1);
    const char *at = text;
    for (size_t i = 0; i < json_array_size(sentences); i++) {
        const json_t *sentence = json_array_get(sentences, i);
        const char *piece = text_at(sentence, "source_text");
        ck_assert_uint_le(json_array_size(json_at(sentence, "source_tokens")), 41);
        at += strspn(at, " ");
        ck_assert_int_eq(strncmp(at, piece, strlen(piece)), 0); /* nothing is lost */
        at += strlen(piece);
    }
    ck_assert_str_eq(at, "");
    reply_done(&reply);
}
END_TEST

/* Only a part of its sentences waits at once, and the others do not exist yet. */
START_TEST(long_texts_have_all_sentences) {
    enum { SENTENCES = 600 };
    static const char one[] = "A boy plays in the snow. ";
    static char json[SENTENCES * sizeof one + 128];
    struct reply reply;
    int length = sprintf(json, "{'strategy': 'greedy', 'max_length': 2, 'text': '");
    for (size_t i = 0; i < SENTENCES; i++)
        length += sprintf(json + length, "%s", one);
    strcpy(json + length, "'}");
    translate(json, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), SENTENCES);
    reply_done(&reply);
}
END_TEST

START_TEST(split_sentences) {
    struct reply reply;
    translate("{'text': 'A boy plays. The dog runs.'}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 2);
    reply_done(&reply);
    translate("{'text': 'A boy plays. The dog runs.', 'split_sentences': false}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations.0.sentences")), 1);
    ck_assert_str_eq(text_at(reply.json, "translations.0.sentences.0.source_text"),
                     "A boy plays. The dog runs.");
    reply_done(&reply);
}
END_TEST

/* ---- what include adds ---- */

START_TEST(includes) {
    static const struct {
        const char *name, *keys[2];
    } rows[] = {
        {"tokens", {"source_tokens", "tokens"}},
        {"log_probs", {"log_probs"}},
        {"attention", {"attention"}},
        {"soft_alignment", {"soft_alignment"}},
        {"alignment", {"alignment"}},
        {"words", {"words"}},
        {"offsets", {"offsets", "opaque"}},
        {"entropy", {"entropy"}},
        {"timing", {"timing"}},
        {"eos", {NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char json[128];
        snprintf(json, sizeof json, "{'text': '" TEXT "', 'include': ['%s']}", rows[i].name);
        translate(json, &reply);
        const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
        const char *keys[8] = {"source_text", "text", "score", "log_prob", "finish_reason"};
        memcpy(keys + 5, rows[i].keys, sizeof rows[i].keys);
        check_keys(sentence, keys);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(include_nothing_or_all) {
    struct reply reply;
    translate("{'text': '" TEXT "', 'include': []}", &reply);
    check_keys(json_at(reply.json, "translations.0.sentences.0"),
               KEYS("source_text", "text", "score", "log_prob", "finish_reason"));
    reply_done(&reply);
    translate("{'text': '" TEXT "', 'include': ['tokens', 'log_probs', 'attention', "
              "'soft_alignment', 'alignment', 'words', 'offsets', 'entropy', "
              "'timing', 'eos']}",
              &reply);
    check_keys(json_at(reply.json, "translations.0.sentences.0"),
               KEYS("source_text", "text", "score", "log_prob", "finish_reason", "source_tokens",
                    "tokens", "log_probs", "attention", "soft_alignment", "alignment", "words",
                    "offsets", "opaque", "entropy", "timing"));
    reply_done(&reply);
}
END_TEST

static double sum(const json_t *array) {
    double total = 0;
    for (size_t i = 0; i < json_array_size(array); i++)
        total += json_number_value(json_array_get(array, i));
    return total;
}

/* One row for each token; that of the final </s> only with eos. */
START_TEST(eos_adds_one_row) {
    static const char *const arrays[] = {"tokens", "log_probs", "attention", "entropy",
                                         "offsets.target"};
    struct reply with, without;
    translate("{'text': '" TEXT
              "', 'include': ['tokens', 'log_probs', 'attention', 'entropy', 'offsets']}",
              &without);
    translate("{'text': '" TEXT
              "', 'include': ['tokens', 'log_probs', 'attention', 'entropy', 'offsets', 'eos']}",
              &with);
    const json_t *longer = json_at(with.json, "translations.0.sentences.0"),
                 *shorter = json_at(without.json, "translations.0.sentences.0");
    size_t count = json_array_size(json_at(shorter, "tokens"));
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        ck_assert_uint_eq(json_array_size(json_at(shorter, arrays[i])), count);
        ck_assert_uint_eq(json_array_size(json_at(longer, arrays[i])), count + 1);
        for (size_t j = 0; j < count; j++)
            ck_assert(json_equal(json_array_get(json_at(shorter, arrays[i]), j),
                                 json_array_get(json_at(longer, arrays[i]), j)));
    }
    ck_assert_str_eq(json_string_value(json_array_get(json_at(longer, "tokens"), count)), "</s>");
    ck_assert_double_eq_tol(sum(json_at(longer, "log_probs")), number_at(longer, "log_prob"), 1e-3);
    reply_done(&with);
    reply_done(&without);
}
END_TEST

/* Every hypothesis has its own numbers, whatever the text looks like. */
START_TEST(numbers_are_those_of_their_hypothesis) {
    struct reply reply;
    translate("{'text': '\\u0022[null,0]\\u0022 \\u005c is a dog. [null,7]', 'n_best': 3, "
              "'beam_size': 3, 'include': ['log_probs', "
              "'attention', 'words', 'entropy', 'eos'], 'split_sentences': false}",
              &reply);
    const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
    ck_assert_str_eq(text_at(sentence, "source_text"), "\"[null,0]\" \\ is a dog. [null,7]");
    for (size_t i = 0; i < 3; i++) {
        const json_t *hypothesis = json_array_get(json_at(sentence, "hypotheses"), i);
        ck_assert_double_eq_tol(sum(json_at(hypothesis, "log_probs")),
                                number_at(hypothesis, "log_prob"), 1e-3);
        for (size_t row = 0; row < json_array_size(json_at(hypothesis, "attention")); row++)
            ck_assert_double_eq_tol(sum(json_array_get(json_at(hypothesis, "attention"), row)), 1,
                                    1e-3);
    }
    ck_assert(
        json_equal(json_at(sentence, "attention"), json_at(sentence, "hypotheses.0.attention")));
    ck_assert(json_equal(json_at(sentence, "words"), json_at(sentence, "hypotheses.0.words")));
    reply_done(&reply);
}
END_TEST

START_TEST(timing) {
    struct reply reply;
    translate("{'text': '" TEXT "', 'include': ['timing']}", &reply);
    const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
    ck_assert_double_ge(number_at(sentence, "timing.queue_ms"), 0);
    ck_assert_double_ge(number_at(sentence, "timing.decode_ms"), 0);
    ck_assert_double_ge(number_at(sentence, "timing.steps"), 1);
    reply_done(&reply);
}
END_TEST

/* ---- search ---- */

START_TEST(n_best) {
    struct reply reply;
    translate("{'text': '" TEXT "', 'beam_size': 4, 'n_best': 3, 'include': ['tokens', 'offsets']}",
              &reply);
    const json_t *sentence = json_at(reply.json, "translations.0.sentences.0"),
                 *list = json_at(sentence, "hypotheses");
    ck_assert_uint_eq(json_array_size(list), 3);
    for (size_t i = 1; i < 3; i++) {
        const json_t *hypothesis = json_array_get(list, i);
        ck_assert_double_ge(number_at(json_array_get(list, i - 1), "score"),
                            number_at(hypothesis, "score"));
        ck_assert(!json_equal(json_at(json_array_get(list, i - 1), "tokens"),
                              json_at(hypothesis, "tokens")));
        check_keys(hypothesis, KEYS("source_text", "text", "source_tokens", "tokens", "score",
                                    "log_prob", "finish_reason", "offsets", "opaque"));
    }
    json_t *best = json_copy(json_at(reply.json, "translations.0.sentences.0"));
    json_object_del(best, "hypotheses");
    ck_assert(json_equal(best, json_array_get(list, 0)));
    json_decref(best);
    reply_done(&reply);
}
END_TEST

START_TEST(greedy_is_a_beam_of_one) {
    struct reply greedy, beam, wide;
    translate("{'text': '" TEXT "', 'strategy': 'greedy'}", &greedy);
    translate("{'text': '" TEXT "', 'strategy': 'beam', 'beam_size': 1}", &beam);
    translate("{'text': '" TEXT "', 'beam_size': 32}", &wide);
    ck_assert_str_eq(greedy.body, beam.body);
    ck_assert_double_ge(number_at(wide.json, "translations.0.sentences.0.score"),
                        number_at(greedy.json, "translations.0.sentences.0.score"));
    reply_done(&greedy);
    reply_done(&beam);
    reply_done(&wide);
}
END_TEST

START_TEST(defaults_are_as_documented) {
    struct reply plain, spelled;
    translate("{'text': '" TEXT "'}", &plain);
    translate("{'text': '" TEXT "', 'strategy': 'beam', 'beam_size': 5, 'n_best': 1, "
              "'length_penalty': 1.0, 'min_length': 0, "
              "'split_sentences': true, 'include': ['tokens'], 'model': 'luong-general-gru', "
              "'source': 'en', 'target': 'fr'}",
              &spelled);
    ck_assert_str_eq(plain.body, spelled.body);
    reply_done(&plain);
    reply_done(&spelled);
}
END_TEST

START_TEST(length_limits) {
    static const char *const strategies[] = {"greedy", "beam"};
    for (size_t i = 0; i < 2; i++) {
        struct reply reply;
        char json[128];
        snprintf(json, sizeof json,
                 "{'text': '" TEXT "', 'strategy': '%s', 'min_length': 50, 'max_length': 50}",
                 strategies[i]);
        translate(json, &reply);
        const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
        ck_assert_uint_eq(json_array_size(json_at(sentence, "tokens")), 50);
        ck_assert_str_eq(text_at(sentence, "finish_reason"), "length");
        reply_done(&reply);
        snprintf(json, sizeof json, "{'text': '" TEXT "', 'strategy': '%s', 'max_length': 1}",
                 strategies[i]);
        translate(json, &reply);
        ck_assert_uint_le(json_array_size(json_at(reply.json, "translations.0.sentences.0.tokens")),
                          1);
        reply_done(&reply);
    }
}
END_TEST

/* The ends of every range are in it. */
START_TEST(ranges_include_their_ends) {
    static const char *const fields[] = {
        "'beam_size': 1",        "'beam_size': 32",
        "'n_best': 1",           "'beam_size': 32, 'n_best': 32",
        "'length_penalty': 0",   "'length_penalty': 2",
        "'min_length': 0",       "'min_length': 1000, 'max_length': 1000, 'strategy': 'greedy'",
        "'max_length': 1",       "'max_length': 1000",
        "'length_penalty': 2.0",
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct reply reply;
        char json[256];
        snprintf(json, sizeof json, "{'text': '" TEXT "', %s}", fields[i]);
        translate(json, &reply);
        reply_done(&reply);
    }
    char *json = malloc(4096), *end = json + sprintf(json, "{'text': ['x'");
    for (size_t i = 1; i < 64; i++)
        end += sprintf(end, ", 'x'");
    strcpy(end, "]}");
    struct reply reply;
    translate(json, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 64);
    reply_done(&reply);
    free(json);
}
END_TEST

/* ---- the body ---- */

START_TEST(content_types) {
    static const char *const types[] = {
        "Content-Type: application/json", "Content-Type: application/json; charset=utf-8",
        "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
        "Content-Type:"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){.path = "/translate",
                                   .json = " \r\n\t{'text': 'x'} ",
                                   .headers = {types[i]}},
                    &reply);
        ck_assert_msg(reply.status == 200, "%s: %s", types[i], reply.body);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(escapes) {
    struct reply plain, escaped;
    translate("{'text': 'naïve 😀'}", &plain);
    translate("{'\\u0074ext': 'na\\u00efve \\ud83d\\ude00'}", &escaped);
    ck_assert_str_eq(plain.body, escaped.body);
    reply_done(&plain);
    reply_done(&escaped);
}
END_TEST

/* ---- several models ---- */

/* Which model answers, by name and by languages. */
START_TEST(models_are_chosen) {
    static const struct {
        const char *fields, *model;
    } rows[] = {
        {", 'model': 'reverse'", "reverse"},
        {", 'model': 'conditional-additive-lstm'", "conditional-additive-lstm"},
        {", 'source': 'fr'", "reverse"},
        {", 'target': 'en'", "reverse"},
        {", 'source': 'fr', 'target': 'en'", "reverse"},
        {", 'source': 'en'", "luong-general-gru"},
        {", 'source': 'en', 'target': 'fr'", "luong-general-gru"}, /* the first of two */
        {", 'model': 'conditional-additive-lstm', 'source': 'en'", "conditional-additive-lstm"},
    };
    char folder[] = FOLDER_TEMPLATE, json[128];
    struct daemon daemon;
    folder_make(folder, "reverse", "fr", "en");
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--model", folder, "--model",
                                    "tests/golden/conditional-additive-lstm"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '" TEXT "'%s}", rows[i].fields);
        client_post(&daemon, "/translate", json, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "model"), rows[i].model);
        ck_assert_str_eq(text_at(reply.json, "source"),
                         strcmp(rows[i].model, "reverse") == 0 ? "fr" : "en");
        reply_done(&reply);
    }
    daemon_stop(&daemon);
    folder_remove(folder);
}
END_TEST

/* In one string, in an array, as all that the model has; and numbers as JavaScript may write them.
 */
START_TEST(include_in_every_notation) {
    static const char *const names[] = {"tokens",  "log_probs", "attention", "alignment", "words",
                                        "offsets", "entropy",   "top_k",     "timing"};
    struct reply plain, list, all;
    client_post(&served, "/translate",
                "{'text': '" TEXT "', 'include': ['tokens', 'words'], 'beam_size': 4}", 200,
                &plain);
    client_post(&served, "/translate",
                "{'text': '" TEXT "', 'include': 'tokens, words', 'beam_size': 4.0}", 200, &list);
    ck_assert_str_eq(list.body, plain.body);
    client_post(&served, "/translate", "{'text': '" TEXT "', 'include': 'all', 'beam_size': 4e0}",
                200, &all);
    const json_t *sentence = json_at(all.json, "translations.0.sentences.0");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(json_object_get(sentence, names[i]) != NULL, "%s", names[i]);
    ck_assert_ptr_null(json_object_get(sentence, "beam"));
    ck_assert_ptr_null(
        json_object_get(sentence, "quality")); /* which this model does not estimate */
    reply_done(&plain);
    reply_done(&list);
    reply_done(&all);
}
END_TEST

/* By a model of words that chooses <unk> three times; the question mark is its source's. */
START_TEST(unknowns_are_replaced) {
    static const struct {
        const char *fields, *text, *token;
    } rows[] = {
        {"", "What did did ?", "did"},
        {", 'replace_unknowns': true", "What did did ?", "did"},
        {", 'replace_unknowns': false", "\u2047 \u2047 \u2047 ?", "<unk>"},
    };
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", "tests/golden/tokenizer-words"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[160];
        struct reply reply;
        snprintf(json, sizeof json,
                 "{'text': 'What did you do?', 'strategy': 'greedy', 'include': ['tokens', "
                 "'offsets']%s}",
                 rows[i].fields);
        client_post(&daemon, "/translate", json, 200, &reply);
        const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
        ck_assert_str_eq(text_at(sentence, "text"), rows[i].text);
        ck_assert_str_eq(text_at(sentence, "tokens.2"), rows[i].token);
        ck_assert_int_eq(json_integer_value(json_at(sentence, "offsets.target.2.end")),
                         (json_int_t)strlen(rows[i].text) - 2);
        reply_done(&reply);
    }
    daemon_stop(&daemon);
}
END_TEST

Suite *translate_suite(void) {
    Suite *suite = suite_create("translate");
    TCase *shape = tcase_create("shape"), *models = tcase_create("models");
    tcase_add_checked_fixture(shape, setup, teardown);
    tcase_set_timeout(shape, TEST_TIMEOUT_S);
    tcase_add_test(shape, string_text);
    tcase_add_test(shape, scores);
    tcase_add_test(shape, formats);
    tcase_add_test(shape, array_text_in_order);
    tcase_add_test(shape, blank_texts);
    tcase_add_test(shape, white_space_between_sentences);
    tcase_add_test(shape, long_sentences_are_wrapped);
    tcase_add_test(shape, long_texts_have_all_sentences);
    tcase_add_test(shape, split_sentences);
    tcase_add_test(shape, includes);
    tcase_add_test(shape, include_nothing_or_all);
    tcase_add_test(shape, include_in_every_notation);
    tcase_add_test(shape, eos_adds_one_row);
    tcase_add_test(shape, numbers_are_those_of_their_hypothesis);
    tcase_add_test(shape, timing);
    tcase_add_test(shape, n_best);
    tcase_add_test(shape, greedy_is_a_beam_of_one);
    tcase_add_test(shape, defaults_are_as_documented);
    tcase_add_test(shape, length_limits);
    tcase_add_test(shape, ranges_include_their_ends);
    tcase_add_test(shape, content_types);
    tcase_add_test(shape, escapes);
    suite_add_tcase(suite, shape);
    tcase_set_timeout(models, TEST_TIMEOUT_S);
    tcase_add_test(models, models_are_chosen);
    tcase_add_test(models, unknowns_are_replaced);
    suite_add_tcase(suite, models);
    return suite;
}
