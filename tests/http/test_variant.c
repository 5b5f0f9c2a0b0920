/* `variant`: a model whose vocabulary has labels of languages; and the defaults in its config.json.
 */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct daemon served;
static char folder[] = FOLDER_TEMPLATE, files[2][128];
static const char *const lists[] = {"labels.en.vocab", "labels.fr.vocab"};

static void link_list(size_t i) {
    char original[128];
    snprintf(original, sizeof original, "tests/data/%s", lists[i]);
    char *whole = realpath(original, NULL);
    snprintf(files[i], sizeof files[i], "%s/%s", folder, lists[i]);
    ck_assert(whole && symlink(whole, files[i]) == 0);
    free(whole);
}

/* Makes a folder of MODEL under other ids, the last four of which are labels. */
static void make_labelled(const char *source) {
    strcpy(folder, FOLDER_TEMPLATE);
    folder_make(folder, "many", source, "mul");
    for (size_t i = 0; i < 2; i++)
        link_list(i);
    folder_set_json(folder, "tokenizer",
                    "{'pieces': 'labels.en.vocab', 'target_pieces': 'labels.fr.vocab'}");
    folder_set_json(folder, "defaults", "{'beam_size': 2, 'length_penalty': 0.25}");
}

/* That and MODEL itself. */
static void setup(void) {
    make_labelled("en");
    daemon_start(&served, ARGUMENTS("--model", folder, "--model", MODEL));
}

static void teardown(void) {
    daemon_stop(&served);
    for (size_t i = 0; i < 2; i++)
        unlink(files[i]);
    folder_remove(folder);
}

/* A model that reads several languages, too, as MADLAD-400 does, alone. */
static void setup_any(void) {
    make_labelled("mul");
    daemon_start(&served, ARGUMENTS("--model", folder));
}

static json_t *first_sentence(const struct reply *reply) {
    return json_at(reply->json, "translations.0.sentences.0");
}

START_TEST(models_tell) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    json_t *variants = json_at(reply.json, "models.0.variants");
    ck_assert_uint_eq(json_array_size(variants), 4);
    ck_assert_str_eq(json_string_value(json_array_get(variants, 0)), "fra");
    ck_assert_double_eq(number_at(reply.json, "models.0.defaults.beam_size"), 2);
    ck_assert_double_eq(number_at(reply.json, "models.0.defaults.length_penalty"), 0.25);
    ck_assert_str_eq(text_at(reply.json, "models.0.alignment"), "attention");
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "models.1"), "variants"));
    ck_assert_double_eq(number_at(reply.json, "models.1.defaults.beam_size"), 5);
    ck_assert_double_eq(number_at(reply.json, "models.1.defaults.length_penalty"), 1);
    reply_done(&reply);
}
END_TEST

static const struct {
    const char *json, *variant;
} chosen[] = {
    {"{'text': 'A boy plays.', 'variant': 'fra'}", "fra"},
    {"{'text': 'A boy plays.', 'model': 'many', 'variant': 'FR'}", "fra"},
    {"{'text': 'A boy plays.', 'model': 'many', 'target': 'fr'}", "fra"},
    {"{'text': 'A boy plays.', 'source': 'en', 'target': 'pt-BR'}", "pt_br"},
    {"{'text': 'A boy plays.', 'target': 'pt-PT'}", "por"},
    {"{'text': 'A boy plays.', 'target': 'sr'}", "srp_Cyrl"},
    {"{'text': 'A boy plays.', 'target': 'mul', 'variant': 'por'}", "por"},
};

/* The label is the first token, and of no word. */
START_TEST(the_label_comes_first) {
    struct reply reply;
    char json[256], label[32];
    const char *end = strrchr(chosen[_i].json, '}');
    snprintf(json, sizeof json,
             "%.*s, 'min_length': 3, 'include': ['tokens', 'words', 'alignment', 'attention']}",
             (int)(end - chosen[_i].json), chosen[_i].json);
    snprintf(label, sizeof label, ">>%s<<", chosen[_i].variant);
    client_post(&served, "/translate", json, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "variant"), chosen[_i].variant);
    json_t *sentence = first_sentence(&reply), *pair;
    size_t i, tokens = json_array_size(json_object_get(sentence, "source_tokens"));
    ck_assert_str_eq(text_at(sentence, "source_tokens.0"), label);
    ck_assert_uint_eq(json_array_size(json_at(sentence, "attention.0")), tokens);
    ck_assert_uint_gt(json_array_size(json_object_get(sentence, "alignment")), 0);
    json_array_foreach(json_object_get(sentence, "alignment"), i, pair) {
        ck_assert_int_gt(json_integer_value(json_array_get(pair, 0)), 0);
    }
    ck_assert_str_eq(text_at(sentence, "words.source.0"), "A");
    double sum = 0,
           last = json_number_value(json_array_get(json_at(sentence, "attention.0"), tokens - 1)),
           first = number_at(sentence, "attention.0.0");
    for (size_t j = 0; j < json_array_size(json_at(sentence, "words.attention.0")); j++)
        sum += json_number_value(json_array_get(json_at(sentence, "words.attention.0"), j));
    ck_assert_double_lt(sum, 1 - 0.5 * (first + last));
    reply_done(&reply);
}
END_TEST

static const struct {
    const char *json, *field, *message;
} refused[] = {
    {"{'text': 'x', 'model': 'many'}", "variant",
     "variant is missing: model \"many\" writes 4 languages, such as fra"},
    {"{'text': 'x', 'target': 'mul'}", "variant",
     "variant is missing: model \"many\" writes 4 languages, such as fra"},
    {"{'text': 'x', 'variant': 'deu'}", "variant", "model \"many\" has no variant \"deu\""},
    {"{'text': 'x', 'model': 'luong-general-gru', 'variant': 'fra'}", "variant",
     "model \"luong-general-gru\" has no variant \"fra\""},
    {"{'text': 'x', 'model': 'many', 'target': 'de'}", "target",
     "this model does not translate to \"de\""},
    {"{'text': 'x', 'model': 'many', 'variant': 5}", "variant",
     "variant must be a string, got an integer"},
    {"{'text': 'x', 'variant': 'fra', 'n_best': 3}", "n_best",
     "n_best must be between 1 and beam_size (2), got 3"},
};

START_TEST(refusals) {
    struct reply reply;
    client_post(&served, "/translate", refused[_i].json, 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), refused[_i].message);
    ck_assert_str_eq(text_at(reply.json, "field"), refused[_i].field);
    reply_done(&reply);
}
END_TEST

/* Other labels are other questions; the same one has the same answer in every dialect and in batch
 * mode. */
START_TEST(every_way_to_say_it) {
    struct reply json, form, libre, other;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'variant': 'fra'}", 200, &json);
    client_send(&served,
                &(struct call){.path = "/translate", .body = "text=A+boy+plays.&variant=fra"},
                &form);
    client_post(&served, "/translate", "{'q': 'A boy plays.', 'source': 'en', 'target': 'fr'}", 200,
                &libre);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'variant': 'por'}", 200, &other);
    ck_assert_str_eq(json.body, form.body);
    ck_assert_str_eq(text_at(libre.json, "translatedText"),
                     text_at(json.json, "translations.0.text"));
    ck_assert_double_ne(number_at(first_sentence(&json), "score"),
                        number_at(first_sentence(&other), "score"));
    struct outcome outcome, missing;
    char expected[256];
    program_run(ARGUMENTS("translate", "--model", folder, "--variant", "fra"), "A boy plays.\n",
                &outcome);
    snprintf(expected, sizeof expected, "%s\n", text_at(json.json, "translations.0.text"));
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.out, expected);
    program_run(ARGUMENTS("translate", "--model", folder), "A boy plays.\n", &missing);
    ck_assert_int_ne(missing.status, 0);
    ck_assert_ptr_nonnull(strstr(
        missing.err, "--variant NAME is missing: model \"many\" writes 4 languages, such as fra"));
    outcome_done(&outcome);
    outcome_done(&missing);
    reply_done(&json);
    reply_done(&form);
    reply_done(&libre);
    reply_done(&other);
}
END_TEST

/* A request before a flag, a flag before a variable of the environment, that before the model's
 * config.json. */
START_TEST(the_model_comes_last) {
    static const struct {
        const char *variable, *flags[3], *said;
    } rows[] = {{NULL, {NULL}, " compute=int8 "},
                {"bfloat16", {NULL}, " compute=bfloat16 "},
                {"model", {NULL}, " compute=int8 "},
                {"bfloat16", {"--compute", "float32", NULL}, " compute=float32 "}};
    char other[] = FOLDER_TEMPLATE;
    struct outcome outcome;
    struct reply reply;
    folder_make(other, "other", "en", "fr");
    folder_set_json(other, "defaults", "{'compute': 'int8'}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].variable)
            setenv("ALIGND_COMPUTE", rows[i].variable, 1);
        program_run(ARGUMENTS("translate", "--model", other, "--log-level", "info",
                              rows[i].flags[0], rows[i].flags[1]),
                    "x\n", &outcome);
        ck_assert_msg(outcome.status == 0 && strstr(outcome.err, rows[i].said), "no %s in %s",
                      rows[i].said, outcome.err);
        outcome_done(&outcome);
        unsetenv("ALIGND_COMPUTE");
    }
    folder_set_json(other, "defaults", "{'shortlist': true}");
    program_run(ARGUMENTS("translate", "--model", other), "x\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "shortlist: cannot open"));
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", other, "--shortlist=false"), "x\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    outcome_done(&outcome);
    folder_remove(other);

    client_post(&served, "/translate",
                "{'text': 'x', 'variant': 'fra', 'beam_size': 3, 'n_best': 3}", 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(first_sentence(&reply), "hypotheses")), 3);
    reply_done(&reply);
}
END_TEST

/* The languages of the labels are those of the source, too, in every dialect and in batch mode; a
 * request need not name one. */
START_TEST(labels_name_the_sources) {
    struct reply named, unnamed, libre, refused_source;
    struct outcome outcome;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'pt', 'target': 'fr'}",
                200, &named);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'target': 'fr'}", 200, &unnamed);
    client_post(&served, "/translate", "{'q': 'A boy plays.', 'source': 'pt', 'target': 'fr'}", 200,
                &libre);
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'source': 'de', 'target': 'fr'}",
                400, &refused_source);
    const char *expected = text_at(named.json, "translations.0.text");
    ck_assert_str_eq(text_at(first_sentence(&named), "source_tokens.0"), ">>fra<<");
    ck_assert_str_eq(text_at(unnamed.json, "translations.0.text"), expected);
    ck_assert_str_eq(text_at(libre.json, "translatedText"), expected);
    ck_assert_str_eq(text_at(refused_source.json, "field"), "source");
    program_run(ARGUMENTS("translate", "--model", folder, "--from", "pt", "--to", "fr"),
                "A boy plays.\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    ck_assert_mem_eq(outcome.out, expected, strlen(expected));
    outcome_done(&outcome);
    reply_done(&named);
    reply_done(&unnamed);
    reply_done(&libre);
    reply_done(&refused_source);

    static const char *const codes[] = {"fr", "pt-BR", "pt", "sr-Cyrl"};
    client_send(&served, &(struct call){.path = "/languages"}, &named);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            char path[32];
            snprintf(path, sizeof path, "%zu.targets.%zu", i, j);
            ck_assert_str_eq(text_at(named.json, path), codes[j]);
            snprintf(path, sizeof path, "%zu.code", i);
            ck_assert_str_eq(text_at(named.json, path), codes[i]);
        }
    reply_done(&named);
}
END_TEST

START_TEST(languages_are_those_of_the_labels) {
    static const char *const targets[] = {"fr", "pt-BR", "pt", "sr-Cyrl"};
    struct reply reply;
    client_send(&served, &(struct call){.path = "/languages"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "0.code"), "en");
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(json_string_value(json_array_get(json_at(reply.json, "0.targets"), i)),
                         targets[i]);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "0.targets")), 4);
    reply_done(&reply);
}
END_TEST

START_TEST(the_models_search_is_the_default) {
    struct reply plain, spelt, other;
    client_post(&served, "/translate", "{'text': 'A boy plays.', 'variant': 'fra'}", 200, &plain);
    client_post(
        &served, "/translate",
        "{'text': 'A boy plays.', 'variant': 'fra', 'beam_size': 2, 'length_penalty': 0.25}", 200,
        &spelt);
    client_post(&served, "/translate",
                "{'text': 'A boy plays.', 'variant': 'fra', 'length_penalty': 1}", 200, &other);
    ck_assert_str_eq(plain.body, spelt.body);
    ck_assert_double_ne(number_at(first_sentence(&plain), "score"),
                        number_at(first_sentence(&other), "score"));
    reply_done(&plain);
    reply_done(&spelt);
    reply_done(&other);
}
END_TEST

Suite *variant_suite(void) {
    Suite *suite = suite_create("variant");
    TCase *tests = tcase_create("variant");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_test(tests, models_tell);
    tcase_add_loop_test(tests, the_label_comes_first, 0, sizeof chosen / sizeof *chosen);
    tcase_add_loop_test(tests, refusals, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, every_way_to_say_it);
    tcase_add_test(tests, the_model_comes_last);
    tcase_add_test(tests, languages_are_those_of_the_labels);
    tcase_add_test(tests, the_models_search_is_the_default);
    suite_add_tcase(suite, tests);
    tests = tcase_create("several sources");
    tcase_add_unchecked_fixture(tests, setup_any, teardown);
    tcase_add_test(tests, labels_name_the_sources);
    suite_add_tcase(suite, tests);
    return suite;
}
