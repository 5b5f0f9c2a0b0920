/* POST /align, and `include: phrases`. */
#include "tests/http/client.h"
#include "tests/http/models.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT        "Ça va, naïve € 😀 friend? No."
#define TRANSLATION "Oui, ça va bien 😀. Non."

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/fixed-gru",
                                    "--default-model", "luong-general-gru"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* The indexes of a link. */
static size_t end_of(const json_t *link, size_t side) {
    return (size_t)json_integer_value(json_array_get(link, side));
}

/* Offsets of one side lie in its text, in order, and are those of its words. */
static void check_words(const json_t *words, const char *side, const char *text) {
    const json_t *all = json_object_get(words, side),
                 *offsets = json_object_get(json_object_get(words, "offsets"), side);
    size_t before = 0;
    ck_assert_uint_eq(json_array_size(all), json_array_size(offsets));
    for (size_t i = 0; i < json_array_size(all); i++) {
        struct slice slice = slice_at(json_array_get(offsets, i), text);
        const char *word = json_string_value(json_array_get(all, i));
        ck_assert_uint_ge(slice.start, before);
        ck_assert(strlen(word) == slice.end - slice.start &&
                  memcmp(text + slice.start, word, strlen(word)) == 0);
        before = slice.end;
    }
}

static bool holds(struct slice slice, const json_t *offset) {
    return (size_t)number_at(offset, "start") >= slice.start &&
           (size_t)number_at(offset, "end") <= slice.end;
}

/* Every phrase pair has a link, and no link leads out of it; the pairs are in the order of the
 * translation, without overlaps. */
static void check_phrases(const json_t *phrases, const json_t *links, const json_t *offsets,
                          const char *source, const char *target) {
    size_t before = 0;
    ck_assert_uint_gt(json_array_size(phrases), 0);
    for (size_t i = 0; i < json_array_size(phrases); i++) {
        const json_t *phrase = json_array_get(phrases, i);
        struct slice from = slice_at(json_object_get(phrase, "source"), source),
                     to = slice_at(json_object_get(phrase, "target"), target);
        size_t inside = 0;
        ck_assert_uint_ge(to.start, before);
        before = to.end;
        for (size_t k = 0; k < json_array_size(links); k++) {
            const json_t *link = json_array_get(links, k);
            bool starts = holds(
                     from, json_array_get(json_object_get(offsets, "source"), end_of(link, 0))),
                 ends =
                     holds(to, json_array_get(json_object_get(offsets, "target"), end_of(link, 1)));
            ck_assert(starts == ends);
            inside += starts;
        }
        ck_assert_uint_gt(inside, 0);
    }
}

static void check_result(const json_t *result, const char *source, const char *target) {
    static const char *const keys[] = {"text", "links", "words", "phrases", "missing", "warnings"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_at(result, keys[i]);
    const json_t *words = json_at(result, "words"), *links = json_at(result, "links");
    ck_assert_str_eq(text_at(result, "text"), target);
    check_words(words, "source", source);
    check_words(words, "target", target);
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *link = json_array_get(links, i);
        ck_assert_uint_lt(end_of(link, 0), json_array_size(json_at(words, "source")));
        ck_assert_uint_lt(end_of(link, 1), json_array_size(json_at(words, "target")));
    }
    check_phrases(json_at(result, "phrases"), links, json_at(words, "offsets"), source, target);
    const json_t *missing = json_at(result, "missing");
    for (size_t i = 0; i < json_array_size(missing); i++)
        slice_at(json_array_get(missing, i), source);
}

static void align(const char *json, struct reply *reply) {
    client_post(&served, "/align", json, 200, reply);
}

START_TEST(a_text) {
    struct reply reply;
    align("{'text': '" TEXT "', 'translation': '" TRANSLATION "'}", &reply);
    ck_assert_uint_eq(json_object_size(reply.json), 4);
    ck_assert_str_eq(text_at(reply.json, "model"), "luong-general-gru");
    ck_assert_str_eq(text_at(reply.json, "source"), "en");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results")), 1);
    check_result(json_at(reply.json, "results.0"), TEXT, TRANSLATION);
    reply_done(&reply);
}
END_TEST

/* White space around and between sentences stays; a form works, too. */
START_TEST(texts) {
    struct reply reply;
    align("{'text': ['A boy.  \\n No.', ' ', 'A', '', ''], 'translation': "
          "[' Un.\\nNon.\\n', '', ' ', 'Un', ''], 'source': 'en', 'target': 'fr'}",
          &reply);
    const json_t *results = json_at(reply.json, "results");
    ck_assert_uint_eq(json_array_size(results), 5);
    check_result(json_array_get(results, 0), "A boy.  \n No.", " Un.\nNon.\n");
    for (size_t i = 1; i < 5; i++)
        ck_assert_uint_eq(json_array_size(json_at(json_array_get(results, i), "links")), 0);
    ck_assert_str_eq(text_at(results, "2.words.source.0"), "A");
    ck_assert_str_eq(text_at(results, "3.words.target.0"), "Un");
    reply_done(&reply);
    client_send(&served,
                &(struct call){.path = "/align", .body = "text=A+boy.&translation=Un.&links=best"},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    check_result(json_at(reply.json, "results.0"), "A boy.", "Un.");
    reply_done(&reply);
}
END_TEST

/* Two of three sentences have a translation: each is aligned with its own. */
START_TEST(sentences) {
    struct reply reply;
    align("{'text': 'A boy plays in the snow. No.', 'translation': 'Un jeu dans la neige. Non.', "
          "'include': ['tokens']}",
          &reply);
    const json_t *result = json_at(reply.json, "results.0");
    ck_assert_uint_eq(json_array_size(json_at(result, "sentences")), 2);
    ck_assert_str_eq(text_at(result, "sentences.1.text"), "Non.");
    ck_assert_uint_gt(json_array_size(json_at(result, "sentences.1.tokens")), 0);
    reply_done(&reply);
    align("{'text': 'A boy plays in the snow. No.', 'translation': 'Un jeu dans la neige. Non.', "
          "'include': ['tokens'], 'split_sentences': false}",
          &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.sentences")), 1);
    reply_done(&reply);
}
END_TEST

/* Numbers, signs, and words without a link. */
START_TEST(differences) {
    struct reply reply;
    align("{'text': 'I have 12 apples (and 3.5%).', 'translation': 'Non 15.'}", &reply);
    const json_t *warnings = json_at(reply.json, "results.0.warnings");
    bool numbers = false, signs = false;
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *warning = json_array_get(warnings, i);
        if (strcmp(text_at(warning, "code"), "numbers") == 0) {
            numbers = true;
            ck_assert_str_eq(text_at(warning, "source.0"), "12");
            ck_assert_str_eq(text_at(warning, "target.0"), "15");
        }
        signs |= strcmp(text_at(warning, "code"), "signs") == 0;
    }
    ck_assert_msg(numbers && signs, "%s", reply.body);
    reply_done(&reply);
    align("{'text': 'Hello world 5.', 'translation': ' '}", &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "results.0.missing")), 3);
    reply_done(&reply);
    align("{'text': ['Hello to you 5.', 'A'], 'translation': [' ', 'A']}", &reply);
    const json_t *missing = json_at(reply.json, "results.0.missing");
    ck_assert_uint_eq(json_array_size(missing), 2); /* neither "to" and "you" nor the full stop */
    ck_assert_uint_eq((size_t)number_at(missing, "0.start"), 0);
    ck_assert_uint_eq((size_t)number_at(missing, "1.start"), strlen("Hello to you "));
    reply_done(&reply);
}
END_TEST

START_TEST(refusals) {
    static const struct {
        const char *json, *field;
        long status;
    } cases[] = {
        {"{'text': 'A'}", "translation", 400},
        {"{'translation': 'A'}", "text", 400},
        {"{'text': ['A', 'B'], 'translation': ['A']}", "translation", 400},
        {"{'text': 'A', 'translation': ['A']}", "translation", 400},
        {"{'text': 'A', 'translation': 5}", "translation", 400},
        {"{'text': 'A', 'translation': 'A', 'glossary': {'A': 'B'}}", "glossary", 400},
        {"{'text': 'A', 'translation': 'A', 'include': ['nothing']}", "include", 400},
        {"{'text': 'A', 'translation': 'A', 'links': 'nothing'}", "links", 400},
        {"{'text': 'A', 'translation': 'A', 'target': 'xx'}", "target", 400},
        {"{'text': 'A', 'translation': 'A', 'model': 'fixed-gru'}", "model", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply;
        client_post(&served, "/align", cases[i].json, cases[i].status, &reply);
        ck_assert_msg(strcmp(text_at(reply.json, "field"), cases[i].field) == 0, "%s: %s",
                      cases[i].json, reply.body);
        reply_done(&reply);
    }
}
END_TEST

/* So many sentences that pairing them would take long. */
START_TEST(many_sentences) {
    enum { SENTENCES = 1000, BYTES = 3 };
    char lines[SENTENCES * BYTES * 2 + 1], json[2 * sizeof lines + 100];
    struct reply reply;
    for (size_t i = 0; i < SENTENCES; i++)
        memcpy(lines + i * 4, "A.\\n", 5);
    snprintf(json, sizeof json, "{'text': '%s', 'translation': '%s'}", lines, lines);
    client_post(&served, "/align", json, 413, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "text");
    reply_done(&reply);
}
END_TEST

/* Through the language in which two models meet. */
START_TEST(two_models) {
    struct reply reply;
    models_start("--pivot", "en");
    client_post(&models_served, "/align",
                "{'text': ['Um menino.', 'A boy.', 'Um menino.'], 'translation': ['Un 2.', 'Une.', "
                "'Non, un.'], 'source': 'pt', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "pivot.0"), "c");
    ck_assert_str_eq(text_at(reply.json, "pivot.1"), "a");
    ck_assert_str_eq(text_at(reply.json, "source"), "pt-BR");
    check_result(json_at(reply.json, "results.0"), "Um menino.", "Un 2.");
    check_result(json_at(reply.json, "results.1"), "A boy.", "Une.");
    check_result(json_at(reply.json, "results.2"), "Um menino.", "Non, un.");
    reply_done(&reply);
    client_post(&models_served, "/attention",
                "{'text': 'Um menino.', 'translation': 'Un 2.', 'source': 'pt', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "results.0.text"), "Un 2.");
    reply_done(&reply);
    client_post(&models_served, "/attention",
                "{'text': 'Um. Um.', 'translation': 'Un.', 'source': 'pt', 'target': 'fr', "
                "'split_sentences': true}",
                400, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "split_sentences");
    reply_done(&reply);
}
END_TEST

/* The indexes of a word that the result has once. */
static size_t word_index(const json_t *result, const char *side, const char *word) {
    const json_t *words = json_object_get(json_at(result, "words"), side);
    for (size_t i = 0; i < json_array_size(words); i++)
        if (strcmp(json_string_value(json_array_get(words, i)), word) == 0)
            return i;
    ck_abort_msg("no %s", word);
}

/* Only a model of the opposite pair is there: all parts are those of the client's text and
 * translation, and none is of the other direction. */
START_TEST(opposite_pair) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/fr-en"));
    client_post(&daemon, "/align",
                "{'text': ['I have 12 yellow apples.', ' '], 'translation': "
                "['J’ai 15 pommes.', 'Oui'], 'source': 'en', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "fr-en");
    ck_assert_str_eq(text_at(reply.json, "source"), "en");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    const json_t *result = json_at(reply.json, "results.0"), *links = json_at(result, "links");
    check_result(result, "I have 12 yellow apples.", "J’ai 15 pommes.");
    ck_assert_ptr_null(json_object_get(result, "quality"));
    size_t apples = word_index(result, "source", "apples"),
           pommes = word_index(result, "target", "pommes"), found = 0;
    for (size_t i = 0; i < json_array_size(links); i++)
        found += end_of(json_array_get(links, i), 0) == apples &&
                 end_of(json_array_get(links, i), 1) == pommes;
    ck_assert_uint_eq(found, 1);
    ck_assert_uint_eq(json_array_size(json_at(result, "missing")), 1);
    ck_assert_int_eq((int)number_at(result, "missing.0.start"), 10); /* yellow */
    ck_assert_uint_eq(json_array_size(json_at(result, "warnings")), 1);
    ck_assert_str_eq(text_at(result, "warnings.0.code"), "numbers");
    ck_assert_str_eq(text_at(result, "warnings.0.source.0"), "12");
    ck_assert_str_eq(text_at(result, "warnings.0.target.0"), "15");
    ck_assert_str_eq(text_at(reply.json, "results.1.text"), "Oui");
    ck_assert_str_eq(text_at(reply.json, "results.1.words.target.0"), "Oui");
    reply_done(&reply);
    client_post(&daemon, "/align",
                "{'text': 'A', 'translation': 'B', 'source': 'en', 'target': 'fr', 'include': "
                "['tokens']}",
                400, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "include");
    reply_done(&reply);
    client_post(&daemon, "/align",
                "{'text': 'A', 'translation': 'B', 'source': 'en', 'target': 'fr', 'include': "
                "'all'}",
                200, &reply);
    reply_done(&reply);
    client_post(&daemon, "/align",
                "{'text': 'A', 'translation': 'B', 'source': 'de', 'target': 'fr'}", 400, &reply);
    reply_done(&reply);
    client_post(&daemon, "/attention",
                "{'text': 'A', 'translation': 'B', 'source': 'en', 'target': 'fr'}", 400, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* `include: phrases` has those of words.alignment, whatever links it was made by. */
START_TEST(included) {
    static const char *const paths[] = {"/translate", "/attention"},
                             *const lists[] = {"translations", "results"},
                             *const kinds[] = {"best", "mutual", "balanced", "several"};
    for (size_t i = 0; i < 8; i++) {
        struct reply reply;
        char json[200], at[40];
        snprintf(json, sizeof json, "{'text': '" TEXT "', 'links': '%s', 'include': '%s'}",
                 kinds[i / 2], i < 6 ? "words,phrases" : "all");
        client_post(&served, paths[i % 2], json, 200, &reply);
        snprintf(at, sizeof at, "%s.0.sentences.0", lists[i % 2]);
        const json_t *sentence = json_at(reply.json, at);
        check_phrases(json_at(sentence, "phrases"), json_at(sentence, "words.alignment"),
                      json_at(sentence, "words.offsets"), text_at(sentence, "source_text"),
                      text_at(sentence, "text"));
        reply_done(&reply);
    }
    struct reply reply;
    client_post(&served, "/translate",
                "{'text': 'A', 'model': 'fixed-gru', 'include': ['phrases']}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "include");
    reply_done(&reply);
}
END_TEST

Suite *align_suite(void) {
    Suite *suite = suite_create("align");
    TCase *tcase = tcase_create("align"), *pivot = tcase_create("two models");
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, a_text);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, sentences);
    tcase_add_test(tcase, differences);
    tcase_add_test(tcase, refusals);
    tcase_add_test(tcase, many_sentences);
    tcase_add_test(tcase, included);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(pivot, models_setup, models_teardown);
    tcase_set_timeout(pivot, TEST_TIMEOUT_S);
    tcase_add_test(pivot, two_models);
    tcase_add_test(pivot, opposite_pair);
    suite_add_tcase(suite, pivot);
    return suite;
}
