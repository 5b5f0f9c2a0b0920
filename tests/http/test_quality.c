/* `include: quality`: of models that estimate it, and of others. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT "A boy plays in the snow. The dog runs."

static struct daemon served;
static char folder[] = FOLDER_TEMPLATE, file[128];

/* MODEL, and the same with the regressions of another model: they fit any. */
static void setup(void) {
    strcpy(folder, FOLDER_TEMPLATE);
    folder_make(folder, "estimates", "en", "fr");
    char *original = realpath("weights/en-fr/quality.safetensors", NULL);
    snprintf(file, sizeof file, "%s/quality.safetensors", folder);
    ck_assert(original && symlink(original, file) == 0);
    free(original);
    daemon_start(&served, ARGUMENTS("--model", folder, "--model", MODEL));
}

static void teardown(void) {
    daemon_stop(&served);
    unlink(file);
    folder_remove(folder);
}

static void check_share(double number) {
    ck_assert_double_ge(number, 0);
    ck_assert_double_le(number, 1);
}

static void check_quality(const json_t *object) {
    const json_t *quality = json_object_get(object, "quality"),
                 *words = json_object_get(quality, "words");
    ck_assert_uint_eq(json_object_size(quality), 2);
    check_share(number_at(quality, "sentence"));
    ck_assert_uint_gt(json_array_size(words), 0);
    ck_assert_uint_eq(json_array_size(words), json_array_size(json_at(object, "words.target")));
    for (size_t i = 0; i < json_array_size(words); i++)
        check_share(json_number_value(json_array_get(words, i)));
}

/* One number for each of words.target, whatever the search; and nothing else is added or changed.
 */
START_TEST(every_sentence_and_hypothesis) {
    static const char *const searches[] = {"'strategy': 'greedy'", "'n_best': 3",
                                           "'strategy': 'sample', 'seed': 1, 'n_best': 2",
                                           "'strategy': 'exact', 'max_length': 4"};
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        char json[256];
        struct reply with, without;
        snprintf(json, sizeof json, "{'text': '" TEXT "', %s, 'include': ['words', 'quality']}",
                 searches[i]);
        client_post(&served, "/translate", json, 200, &with);
        snprintf(json, sizeof json, "{'text': '" TEXT "', %s, 'include': ['words']}", searches[i]);
        client_post(&served, "/translate", json, 200, &without);
        json_t *sentences = json_at(with.json, "translations.0.sentences");
        ck_assert_uint_eq(json_array_size(sentences), 2);
        for (size_t s = 0; s < 2; s++) {
            json_t *sentence = json_array_get(sentences, s),
                   *hypotheses = json_object_get(sentence, "hypotheses");
            check_quality(sentence);
            json_object_del(sentence, "quality");
            for (size_t h = 0; h < json_array_size(hypotheses); h++) {
                check_quality(json_array_get(hypotheses, h));
                json_object_del(json_array_get(hypotheses, h), "quality");
            }
        }
        ck_assert(json_equal(with.json, without.json));
        reply_done(&with);
        reply_done(&without);
    }
}
END_TEST

START_TEST(of_a_given_translation) {
    struct reply reply;
    client_post(&served, "/attention",
                "{'text': 'The dog runs.', 'translation': 'Le chien court.', 'include': ['words', "
                "'quality']}",
                200, &reply);
    check_quality(json_at(reply.json, "results.0.sentences.0"));
    reply_done(&reply);
}
END_TEST

START_TEST(refused_where_there_is_none) {
    struct reply reply;
    client_post(&served, "/translate",
                "{'text': 'A boy.', 'model': 'luong-general-gru', 'include': ['quality']}", 400,
                &reply);
    ck_assert_str_eq(text_at(reply.json, "field"), "include");
    ck_assert_str_eq(
        text_at(reply.json, "error"),
        "include must not contain quality: model \"luong-general-gru\" does not estimate it");
    reply_done(&reply);
}
END_TEST

START_TEST(models_tell) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert(json_is_true(json_at(reply.json, "models.0.quality")));
    ck_assert(json_is_false(json_at(reply.json, "models.1.quality")));
    reply_done(&reply);
}
END_TEST

Suite *quality_suite(void) {
    Suite *suite = suite_create("quality");
    TCase *tests = tcase_create("quality");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, every_sentence_and_hypothesis);
    tcase_add_test(tests, of_a_given_translation);
    tcase_add_test(tests, refused_where_there_is_none);
    tcase_add_test(tests, models_tell);
    suite_add_tcase(suite, tests);
    return suite;
}
