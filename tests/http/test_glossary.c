/* Glossaries and placeholders over HTTP: refusals, and the phrases in translations. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--model", "tests/golden/fixed-gru", "--model",
                           "tests/golden/copy", "--model", "tests/golden/pointer", "--model",
                           "tests/golden/output-characters", "--model",
                           "tests/golden/tokenizer-words", "--model", "weights/en-fr", "--workers",
                           "2", "--rows", "20"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* fields: what follows the text, or "". */
static void ask(const char *path, const char *text, const char *fields, long status,
                struct reply *reply) {
    client_ask(&served, path, text, fields, status, reply);
}

/* ---- what is refused ---- */

#define LONG                                                                                       \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901" \
    "23456789"

static const struct {
    const char *fields, *field, *message;
} wrong[] = {
    {"'glossary': []", "glossary",
     "glossary must be an object or the name of a glossary, got an array"},
    {"'glossary': 'a', 'model': 'en-fr'", "glossary",
     "glossary \"a\" not found for \"en\" to \"fr\""},
    {"'glossary': null", "glossary",
     "glossary must be an object or the name of a glossary, got null"},
    {"'glossary': {'a': 1}", "glossary",
     "glossary must map phrases to strings, got an integer for \"a\""},
    {"'glossary': {'': 'b'}", "glossary", "glossary must not contain empty phrases"},
    {"'glossary': {'a': ''}", "glossary",
     "glossary must not contain empty phrases, got one for \"a\""},
    {"'glossary': {'a': ' \\t'}", "glossary",
     "glossary must not contain empty phrases, got one for \"a\""},
    {"'glossary': {'a': '" LONG LONG "0'}", "glossary",
     "a phrase of glossary must have at most 200 bytes, got 201"},
    {"'glossary': {'" LONG LONG "0': 'a'}", "glossary",
     "a phrase of glossary must have at most 200 bytes, got 201"},
    {"'glossary': {}, 'glosary': {}", "glosary", "unknown field \"glosary\""},
    {"'glossary': {'snow': 'neige'}, 'model': 'pointer', 'include': []", "glossary",
     "this model cannot write glossary phrases"},
};

static void expect_error(const struct reply *reply, const char *field, const char *message) {
    ck_assert_str_eq(text_at(reply->json, "error"), message);
    ck_assert_str_eq(text_at(reply->json, "field"), field);
}

START_TEST(wrong_glossaries) {
    static const char *const paths[] = {"/translate", "/attention"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t j = 0; j < 2; j++) {
            struct reply reply;
            ask(paths[j], "A boy plays in the snow.", wrong[i].fields, 400, &reply);
            expect_error(&reply, wrong[i].field, wrong[i].message);
            reply_done(&reply);
        }
    struct reply reply;
    ask("/attention", "A boy.", "'translation': 'Un gars.', 'glossary': {'boy': 'gars'}", 400,
        &reply);
    expect_error(&reply, "glossary", "glossary must be omitted when translation is given");
    reply_done(&reply);
}
END_TEST

/* 50 entries of 200 bytes are taken, 51 are not. */
START_TEST(ranges_include_their_ends) {
    char fields[32768] = "'glossary': {";
    struct reply reply;
    for (size_t i = 0; i < 51; i++) {
        size_t used = strlen(fields);
        snprintf(fields + used, sizeof fields - used, "%s'%0200zu': '" LONG LONG "'", i ? ", " : "",
                 i);
        if (i < 49)
            continue;
        used = strlen(fields);
        fields[used] = '}';
        fields[used + 1] = '\0';
        ask("/translate", "A boy.", fields, i == 49 ? 200 : 400, &reply);
        if (i == 50)
            expect_error(&reply, "glossary", "glossary must contain at most 50 entries, got 51");
        reply_done(&reply);
        fields[used] = '\0';
    }
}
END_TEST

/* ---- what is held ---- */

static const char *const searches[] = {
    "'strategy': 'greedy'", "'beam_size': 1",  "'beam_size': 5, 'n_best': 5",
    "'beam_size': 20",      "'max_length': 1", "'no_repeat_ngram': 1, 'repetition_penalty': 5"};

static const struct {
    const char *text, *glossary, *phrase;
    size_t times;
} held[] = {
    {"A boy plays in the snow.", "{'snow': 'poudreuse'}", "poudreuse", 1},
    {"A boy plays in the snow.",
     "{'boy': 'jeune homme', 'snow': 'neige fra\xc3\xae"
     "che'}",
     "jeune homme", 1},
    {"A boy plays in the snow.",
     "{'boy': 'jeune homme', 'snow': 'neige fra\xc3\xae"
     "che'}",
     "neige fra\xc3\xae"
     "che",
     1},
    {"Snow is not snow.", "{'snow': 'poudreuse'}", "poudreuse", 2}, /* the first letter's case */
    {"A snowman in the snow.", "{'snow': 'poudreuse'}", "poudreuse", 1}, /* whole words */
    {"A boy plays in the snow.", "{'snow': 'poudreuse', 'the snow': 'le blizzard'}", "le blizzard",
     1}, /* the longest */
    {"I live in the city.",
     "{'city': '\xc5\x81\xc3\xb3"
     "d\xc5\xba \xe2\x84\x96"
     "5'}",
     "\xc5\x81\xc3\xb3"
     "d\xc5\xba \xe2\x84\x96"
     "5",
     1},
    {"Hello {name}, how are you?", "{}", "{name}", 1},
    {"You have %d new messages, %s.", "{}", "%d", 1},
    {"Go to https://example.com/?Q=1&B=2. It is free.", "{}", "https://example.com/?Q=1&B=2", 1},
    {"Write to jane.doe@example.org or to {name} and {name}.", "{}", "{name}", 2},
    {"The file [X12X] of {name} was not found.", "{'file': 'classeur'}", "[X12X]", 1},
    {"The file [X12X] of {name} was not found.", "{'file': 'classeur'}", "classeur", 1},
    {"I saw ({{ count }}).", "{}", "{{ count }}", 1},
};

static void expect_held(const json_t *sentence, const char *phrase, size_t times,
                        const char *what) {
    const char *text = text_at(sentence, "text");
    size_t count = count_of(text, phrase);
    ck_assert_msg(phrase[0] < 'a' ? count == times : count >= times, "%s: %s", what, text);
}

START_TEST(phrases_are_held) {
    char fields[512];
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        struct reply reply;
        snprintf(fields, sizeof fields, "%s, 'glossary': %s", searches[_i], held[i].glossary);
        ask("/translate", held[i].text, fields, 200, &reply);
        const json_t *list =
            json_object_get(json_at(reply.json, "translations.0.sentences.0"), "hypotheses");
        for (size_t h = 0; h < json_array_size(list); h++)
            expect_held(json_array_get(list, h), held[i].phrase, held[i].times, held[i].text);
        expect_held(json_at(reply.json, "translations.0"), held[i].phrase, held[i].times,
                    held[i].text);
        reply_done(&reply);
    }
}
END_TEST

/* The phrase stands where the source phrase is translated, and the rest is as it was. */
START_TEST(the_rest_is_translated) {
    struct reply reply, plain;
    ask("/translate", "A boy sleeps in the garden.",
        "'model': 'en-fr', 'glossary': {'boy': 'gamin'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.text"), "Un gamin dort dans le jardin.");
    reply_done(&reply);
    ask("/translate", "{name} is a good boy.", "'model': 'en-fr'", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.text"),
                     "{name} est un bon gar\xc3\xa7on.");
    reply_done(&reply);
    /* a glossary without anything that stands in the text changes nothing */
    ask("/translate", "A boy plays in the snow.",
        "'glossary': {'cat': 'minou', 'now': 'l\xc3\xa0'}", 200, &reply);
    ask("/translate", "A boy plays in the snow.", "", 200, &plain);
    ck_assert(json_equal(reply.json, plain.json));
    reply_done(&reply);
    reply_done(&plain);
}
END_TEST

/* The phrase neither follows a part of the word that it replaces nor is begun and broken off. */
START_TEST(nothing_is_left_of_a_term) {
    static const char *const texts[][3] = {
        {"With this tree you can save a lot of time.", "'tree': 'arbuste'",
         "Avec cet arbuste, vous pouvez \xc3\xa9"
         "conomiser beaucoup de temps."},
        {"There was only one truck left in the shop.", "'truck': 'camionnette'",
         "Il n'y avait qu'un camionnette dans le magasin."},
        /* words that the model has to spell are hidden from it */
        {"The old brytroquinith is better than the new one.", "'brytroquinith': 'erdrudru'",
         "L'ancien erdrudru est meilleur que le nouveau."},
        {"Tom put the caulpriblab on the table.", "'caulpriblab': 'canesid'",
         "Tom posa le canesid sur la table."},
        {"You should read the letter about the Nelix again.", "'Nelix': 'lixsidpri Acme'",
         "Tu devrais lire la lettre sur le lixsidpri Acme \xc3\xa0 nouveau."},
        /* and so are, in a second attempt, those that it translates beside the phrase */
        {"This map belongs to my parents.", "'map': 'plan'",
         "Ce plan appartient \xc3\xa0 mes parents."},
        {"The police are looking for the knife near the river.", "'knife': 'lame'",
         "La police cherche le lame pr\xc3\xa8s de la rivi\xc3\xa8re."},
    };
    char fields[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct reply reply;
        snprintf(fields, sizeof fields, "'model': 'en-fr', 'include': [], 'glossary': {%s}",
                 texts[i][1]);
        ask("/translate", texts[i][0], fields, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "translations.0.text"), texts[i][2]);
        reply_done(&reply);
    }
}
END_TEST

/* A placeholder is one token on both sides, with its own bytes; what the daemon tells of it is
 * consistent. */
START_TEST(placeholders_are_tokens) {
    struct reply reply;
    ask("/translate", "A boy plays with {name} in the snow.",
        "'include': ['tokens', 'log_probs', 'attention', 'soft_alignment', 'alignment', 'words', "
        "'offsets', 'entropy', 'top_k', "
        "'beam', 'eos']",
        200, &reply);
    const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
    const char *source = text_at(sentence, "source_text"), *target = text_at(sentence, "text");
    static const char *const sides[][2] = {{"source_tokens", "offsets.source"},
                                           {"tokens", "offsets.target"}};
    for (size_t side = 0; side < 2; side++) {
        const json_t *tokens = json_at(sentence, sides[side][0]);
        size_t i = 0;
        while (i < json_array_size(tokens) &&
               strcmp(json_string_value(json_array_get(tokens, i)), "\xe2\x96\x81{name}") != 0)
            i++;
        ck_assert_uint_lt(i, json_array_size(tokens));
        const json_t *offsets = json_array_get(json_at(sentence, sides[side][1]), i);
        ck_assert_int_eq(
            strncmp((side ? target : source) + (size_t)number_at(offsets, "start"), "{name}", 6),
            0);
        ck_assert_double_eq(number_at(offsets, "end") - number_at(offsets, "start"), 6);
    }
    reply_done(&reply);
    /* a given target is scored for the text as it stands */
    ask("/attention", "A {name} plays.", "'translation': 'Un {name} joue.'", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "results.0.text"), "Un {name} joue.");
    ck_assert_uint_gt(json_array_size(json_at(reply.json, "results.0.sentences.0.source_tokens")),
                      6);
    reply_done(&reply);
}
END_TEST

/* Nothing but placeholders is its own translation, and what a prefix has is not asked for again. */
START_TEST(placeholders_alone_and_given) {
    static const char *const bare[] = {"{name}", "(%s)", "{a}{b} - {c}!", "https://example.com",
                                       "jane@example.org."};
    struct reply reply;
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        ask("/translate", bare[i], "", 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "translations.0.text"), bare[i]);
        reply_done(&reply);
    }
    ask("/translate", "I saw {name} and {name} there.", "'prefix': '{name}'", 200, &reply);
    ck_assert_uint_eq(count_of(text_at(reply.json, "translations.0.text"), "{name}"), 2);
    reply_done(&reply);
}
END_TEST

/* Whatever a model is made of: no attention, outputs that copy or spell, words. */
START_TEST(every_model_holds_them) {
    static const char *const models[] = {"fixed-gru", "copy", "output-characters",
                                         "tokenizer-words"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct reply reply;
        char fields[256];
        snprintf(fields, sizeof fields,
                 "'model': '%s', 'include': [], 'glossary': {'plays': 'K\xc3\xb6nigin \xe2\x84\x96"
                 "5'}",
                 models[i]);
        ask("/translate", "A boy {name} plays in [X12X].", fields, 200, &reply);
        const char *text = text_at(reply.json, "translations.0.text");
        ck_assert_msg(count_of(text, "{name}") == 1 && count_of(text, "[X12X]") == 1 &&
                          count_of(text, "K\xc3\xb6nigin \xe2\x84\x96"
                                         "5") == 1,
                      "%s: %s", models[i], text);
        reply_done(&reply);
    }
}
END_TEST

Suite *glossary_suite(void) {
    Suite *suite = suite_create("glossary");
    TCase *cases = tcase_create("glossary");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_test(cases, wrong_glossaries);
    tcase_add_test(cases, ranges_include_their_ends);
    tcase_add_loop_test(cases, phrases_are_held, 0, sizeof searches / sizeof *searches);
    tcase_add_test(cases, the_rest_is_translated);
    tcase_add_test(cases, nothing_is_left_of_a_term);
    tcase_add_test(cases, placeholders_are_tokens);
    tcase_add_test(cases, placeholders_alone_and_given);
    tcase_add_test(cases, every_model_holds_them);
    suite_add_tcase(suite, cases);
    return suite;
}
