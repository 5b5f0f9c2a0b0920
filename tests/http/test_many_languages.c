/* A model of many languages: requests choose by source and target, every endpoint offers its pairs,
 * a model of one pair comes first. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <string.h>

static struct daemon served;
static char folder[] = FOLDER_TEMPLATE;

/* MODEL with pieces that it knows as the tokens of three languages; and MODEL itself, from en to
 * fr. */
static void setup(void) {
    strcpy(folder, FOLDER_TEMPLATE);
    folder_make(folder, "many", "mul", "mul");
    folder_set_json(folder, "languages",
                    "{'en': {'source': 's', 'target': 's'}, 'fr': {'source': 'e', 'target': 'e', "
                    "'aliases': ['fra_Latn']},"
                    " 'de': {'source': 't', 'target': 't'}}");
    char path[sizeof folder + 16];
    snprintf(path, sizeof path, "%s/origin.json", folder);
    FILE *origin = fopen(path, "w");
    ck_assert_ptr_nonnull(origin);
    fputs("{\"format\": 1, \"from\": \"\", \"asked\": \"\", \"licence\": \"CC BY-NC 4.0\"}\n",
          origin);
    fclose(origin);
    daemon_start(&served, ARGUMENTS("--model", folder, "--model", MODEL));
}

static void teardown(void) {
    daemon_stop(&served);
    folder_remove(folder);
}

static const struct {
    const char *json, *source, *target, *piece;
} pairs[] = {
    {"{'text': 'A boy plays.', 'source': 'en', 'target': 'de'}", "en", "de", "s"},
    {"{'text': 'A boy plays.', 'source': 'de', 'target': 'en'}", "de", "en", "t"},
    {"{'text': 'A boy plays.', 'source': 'fr', 'target': 'de'}", "fr", "de", "e"},
    {"{'text': 'A boy plays.', 'source': 'fra_Latn', 'target': 'de'}", "fr", "de", "e"},
    {"{'text': 'A boy plays.', 'source': 'de-AT', 'target': 'en-GB'}", "de", "en", "t"},
    {"{'text': 'A boy plays.', 'model': 'many', 'source': 'en', 'target': 'fr'}", "en", "fr", "s"},
};

START_TEST(a_pair_chooses_the_model_and_its_tokens) {
    struct reply reply;
    char json[256];
    const char *end = strrchr(pairs[_i].json, '}');
    snprintf(json, sizeof json, "%.*s, 'include': ['tokens']}", (int)(end - pairs[_i].json),
             pairs[_i].json);
    client_post(&served, "/translate", json, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "many");
    ck_assert_str_eq(text_at(reply.json, "source"), pairs[_i].source);
    ck_assert_str_eq(text_at(reply.json, "target"), pairs[_i].target);
    ck_assert_str_eq(text_at(reply.json, "translations.0.sentences.0.source_tokens.0"),
                     pairs[_i].piece);
    reply_done(&reply);
}
END_TEST

START_TEST(a_model_of_the_pair_comes_first) {
    struct reply reply;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'en', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "luong-general-gru");
    reply_done(&reply);
}
END_TEST

/* Where the model serves, no two others translate in sequence, although they could. */
START_TEST(it_comes_before_two_models) {
    static struct daemon pivots;
    char german[] = FOLDER_TEMPLATE;
    struct reply reply;
    folder_make(german, "german", "de", "en");
    daemon_start(&pivots, ARGUMENTS("--model", german, "--model", MODEL, "--model", folder));
    client_post(&pivots, "/translate", "{'text': 'A boy plays.', 'source': 'de', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "many");
    reply_done(&reply);
    client_post(&pivots, "/translate", "{'text': 'A boy plays.', 'source': 'de', 'target': 'en'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "german");
    reply_done(&reply);
    daemon_stop(&pivots);
    folder_remove(german);
}
END_TEST

/* The licence that `alignd import` wrote, and no place of a download. */
START_TEST(the_licence_is_shown) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "models.0.licence"), "CC BY-NC 4.0");
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "models.0"), "from"));
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "models.1"), "licence"));
    reply_done(&reply);
}
END_TEST

/* The language of a text is found among all that the models read. */
START_TEST(the_source_is_detected) {
    struct reply reply;
    client_post(&served, "/translate",
                "{'text': 'Das ist ein deutscher Satz, den jeder verstehen kann.', 'source': "
                "'auto', 'target': 'fr'}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "many");
    ck_assert_str_eq(text_at(reply.json, "translations.0.detected.language"), "de");
    ck_assert_str_eq(text_at(reply.json, "source"), "de");
    reply_done(&reply);
}
END_TEST

START_TEST(targets_differ_and_dialects_agree) {
    struct reply german, english, libre;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'fr', 'target': 'de'}",
                200, &german);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'fr', 'target': 'en'}",
                200, &english);
    client_post(&served, "/translate", "{'q': 'A boy plays.', 'source': 'fr', 'target': 'de'}", 200,
                &libre);
    ck_assert_double_ne(number_at(german.json, "translations.0.sentences.0.score"),
                        number_at(english.json, "translations.0.sentences.0.score"));
    ck_assert_str_eq(text_at(libre.json, "translatedText"),
                     text_at(german.json, "translations.0.text"));
    reply_done(&german);
    reply_done(&english);
    reply_done(&libre);
}
END_TEST

START_TEST(all_pairs_are_offered) {
    struct reply models, languages;
    client_send(&served, &(struct call){.path = "/models"}, &models);
    ck_assert_uint_eq(json_array_size(json_at(models.json, "models.0.variants")), 3);
    client_send(&served, &(struct call){.path = "/languages"}, &languages);
    ck_assert_uint_eq(json_array_size(languages.json), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_ge(
            json_array_size(json_object_get(json_array_get(languages.json, i), "targets")), 2);
    reply_done(&models);
    reply_done(&languages);
}
END_TEST

static const struct {
    const char *json, *field, *message;
} refused[] = {
    {"{'text': 'x', 'model': 'many', 'source': 'es', 'target': 'de'}", "source",
     "this model does not translate from \"es\""},
    {"{'text': 'x', 'source': 'en', 'target': 'es'}", "target",
     "no model translates from \"en\" to \"es\"; \"alignd get en-es\" or an administrator can "
     "download one, if it exists"},
    {"{'text': 'x', 'model': 'many', 'source': 'en'}", "variant",
     "variant is missing: model \"many\" writes 3 languages, such as en"},
};

START_TEST(refusals) {
    struct reply reply;
    client_post(&served, "/translate", refused[_i].json, 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), refused[_i].message);
    ck_assert_str_eq(text_at(reply.json, "field"), refused[_i].field);
    reply_done(&reply);
}
END_TEST

START_TEST(batch_mode_takes_a_pair) {
    struct outcome outcome;
    struct reply json;
    char expected[256];
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'fr', 'target': 'de'}",
                200, &json);
    snprintf(expected, sizeof expected, "%s\n", text_at(json.json, "translations.0.text"));
    program_run(ARGUMENTS("translate", "--model", folder, "--from", "fr", "--to", "de"),
                "A boy plays.\n", &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, expected);
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", folder), "A boy plays.\n", &outcome);
    ck_assert_int_ne(outcome.status, 0);
    ck_assert_ptr_nonnull(strstr(
        outcome.err, "--from and --to are missing: model \"many\" translates between 3 languages"));
    outcome_done(&outcome);
    reply_done(&json);
}
END_TEST

Suite *many_languages_suite(void) {
    Suite *suite = suite_create("many_languages");
    TCase *tests = tcase_create("many_languages");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_pair_chooses_the_model_and_its_tokens, 0,
                        sizeof pairs / sizeof *pairs);
    tcase_add_test(tests, a_model_of_the_pair_comes_first);
    tcase_add_test(tests, it_comes_before_two_models);
    tcase_add_test(tests, the_licence_is_shown);
    tcase_add_test(tests, the_source_is_detected);
    tcase_add_test(tests, targets_differ_and_dialects_agree);
    tcase_add_test(tests, all_pairs_are_offered);
    tcase_add_loop_test(tests, refusals, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, batch_mode_takes_a_pair);
    suite_add_tcase(suite, tests);
    return suite;
}
