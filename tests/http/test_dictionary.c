/* Microsoft's dictionary: entries of a word from a model and one that translates back, without
 * one, and what is refused. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <string.h>

#define LOOKUP "/dictionary/lookup?api-version=3.0"

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr", "--model", "weights/fr-en",
                                    "--model", "weights/en-de", "--default-model", "en-fr"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* Returns the object of the array whose member has this text; NULL: there is none. */
static json_t *with(json_t *array, const char *member, const char *text) {
    size_t i;
    json_t *object;
    json_array_foreach(array, i, object) {
        if (strcmp(text_at(object, member), text) == 0)
            return object;
    }
    return NULL;
}

START_TEST(a_word) {
    struct reply reply;
    client_post(&served, LOOKUP "&from=en&to=fr", "[{'Text': ' Bank!'}, {'Text': 'fly'}]", 200,
                &reply);
    ck_assert_str_eq(text_at(reply.json, "0.normalizedSource"), "bank");
    ck_assert_str_eq(text_at(reply.json, "0.displaySource"), "Bank");
    ck_assert_str_eq(text_at(reply.json, "1.translations.0.displayTarget"), "voler");
    ck_assert_str_eq(text_at(reply.json, "1.translations.0.posTag"), "OTHER");
    ck_assert_str_eq(text_at(reply.json, "1.translations.0.prefixWord"), "");

    /* entries are found although they are far from likely, because there is a way back */
    json_t *entries = json_at(reply.json, "1.translations");
    json_t *insect = with(entries, "normalizedTarget", "mouche");
    ck_assert_ptr_nonnull(insect);
    ck_assert_double_lt(number_at(insect, "confidence"), 0.01);
    ck_assert_str_eq(text_at(insect, "backTranslations.0.normalizedText"), "fly");
    ck_assert_ptr_null(with(entries, "normalizedTarget", "feu"));

    double before = 1;
    size_t i, k;
    json_t *entry, *back;
    json_array_foreach(entries, i, entry) {
        double frequency = 10000;
        ck_assert_double_le(number_at(entry, "confidence"), before);
        before = number_at(entry, "confidence");
        ck_assert(before > 0.01 || with(json_at(entry, "backTranslations"), "displayText", "fly"));
        json_array_foreach(json_at(entry, "backTranslations"), k, back) {
            ck_assert_double_le(number_at(back, "frequencyCount"), frequency);
            frequency = number_at(back, "frequencyCount");
            ck_assert_double_eq(number_at(back, "numExamples"), 0);
        }
    }
    reply_done(&reply);
}
END_TEST

/* A word that a request repeats is decoded once, and one without letters not at all. */
START_TEST(several_words) {
    struct reply reply;
    client_post(&served, LOOKUP "&from=fr&to=en",
                "[{'Text': 'chien'}, {'Text': '?'}, {'Text': ' '}, {'Text': 'chien'}]", 200,
                &reply);
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.displayTarget"), "dog");
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.backTranslations.0.displayText"),
                     "chien");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "1.translations")), 0);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "2.translations")), 0);
    ck_assert(json_equal(json_at(reply.json, "0"), json_at(reply.json, "3")));
    reply_done(&reply);
}
END_TEST

START_TEST(without_a_way_back) {
    struct reply reply;
    client_post(&served, LOOKUP "&from=en&to=de", "[{'Text': 'dog'}]", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.displayTarget"), "Hund");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "0.translations.0.backTranslations")), 0);
    json_t *entry;
    size_t i;
    json_array_foreach(json_at(reply.json, "0.translations"), i, entry) {
        ck_assert_double_ge(number_at(entry, "confidence"), 0.01);
    }
    reply_done(&reply);
}
END_TEST

/* There are no sentences to show. */
START_TEST(examples) {
    struct reply reply;
    client_post(&served, "/dictionary/examples?api-version=3.0&from=en&to=fr",
                "[{'Text': 'Fly', 'Translation': 'voler'}, {'Text': 'a', 'Translation': 'b'}]", 200,
                &reply);
    ck_assert_str_eq(text_at(reply.json, "0.normalizedSource"), "fly");
    ck_assert_str_eq(text_at(reply.json, "0.normalizedTarget"), "voler");
    ck_assert(json_is_array(json_at(reply.json, "1.examples")));
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "1.examples")), 0);
    reply_done(&reply);
}
END_TEST

START_TEST(refusals) {
    char eleven[512] = "[{'Text': 'a'}", longest[256];
    for (size_t i = 0; i < 10; i++)
        strcat(eleven, ", {'Text': 'a'}");
    strcat(eleven, "]");
    snprintf(longest, sizeof longest, "[{'Text': '%0101d'}]", 0);
    const struct {
        const char *path, *json, *message;
        double code;
    } rows[] = {
        {LOOKUP "&to=fr", "[{'Text': 'a'}]", "from is missing", 400035},
        {LOOKUP "&from=en", "[{'Text': 'a'}]", "to is missing", 400036},
        {LOOKUP "&from=en&to=en", "[{'Text': 'a'}]", "no model translates", 400036},
        {LOOKUP "&from=fr&to=de", "[{'Text': 'a'}]", "no model translates", 400036},
        {LOOKUP "&from=en&to=fr", "{'Text': 'a'}", "must be an array", 400000},
        {LOOKUP "&from=en&to=fr", eleven, "between 1 and 10 strings, got 11", 400000},
        {LOOKUP "&from=en&to=fr", longest, "at most 100 characters, got 101", 413000},
        {"/dictionary/lookup?api-version=2026-06-06&from=en&to=fr", "[{'Text': 'a'}]",
         "is part of api-version 3.0 only", 400021},
        {"/dictionary/examples?from=en&to=fr", "[{'Text': 'a'}]", "Translation must be a string",
         400000},
        {"/dictionary/examples?from=en&to=fr", "[]", "between 1 and 10", 400000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        client_post(&served, rows[i].path, rows[i].json, rows[i].code > 413000 - 1 ? 413 : 400,
                    &reply);
        ck_assert_double_eq(number_at(reply.json, "error.code"), rows[i].code);
        ck_assert_msg(strstr(text_at(reply.json, "error.message"), rows[i].message), "%s",
                      reply.body);
        reply_done(&reply);
    }
}
END_TEST

/* A beam has no more hypotheses than a worker has rows. */
START_TEST(few_rows) {
    struct reply reply;
    struct daemon small;
    daemon_start(&small,
                 ARGUMENTS("--model", "weights/en-fr", "--model", "weights/fr-en", "--rows", "2"));
    client_post(&small, LOOKUP "&from=en&to=fr", "[{'Text': 'dog'}]", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.displayTarget"), "chien");
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.backTranslations.0.displayText"), "dog");
    reply_done(&reply);
    daemon_stop(&small);
}
END_TEST

Suite *dictionary_suite(void) {
    Suite *suite = suite_create("dictionary");
    TCase *cases = tcase_create("words"), *alone = tcase_create("rows");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_word);
    tcase_add_test(cases, several_words);
    tcase_add_test(cases, without_a_way_back);
    tcase_add_test(cases, examples);
    tcase_add_test(cases, refusals);
    suite_add_tcase(suite, cases);
    tcase_set_timeout(alone, TEST_TIMEOUT_S);
    tcase_add_test(alone, few_rows);
    suite_add_tcase(suite, alone);
    return suite;
}
