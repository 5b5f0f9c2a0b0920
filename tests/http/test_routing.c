/* Which model of --models a request gets: by region, the nearest of several, or two in sequence. */
#include "tests/http/models.h"
#include "tests/http/sse.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <string.h>

/* ---- which one ---- */

START_TEST(regions_fall_back) {
    static const struct {
        const char *body, *model;
    } rows[] = {{"{'text': 'x', 'source': 'en-GB', 'target': 'de-AT'}", "b"},
                {"{'text': 'x', 'target': 'fr_CA'}", "a"},
                {"{'text': 'x', 'source': 'pt'}", "c"},
                {"{'text': 'x', 'source': 'pb'}", "c"},
                {"{'text': 'x', 'source': 'pt-BR', 'target': 'EN'}", "c"}};
    models_start("--queue", "64");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        models_translate(rows[i].body, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "model"), rows[i].model);
        reply_done(&reply);
    }
    models_ask("{'text': 'x', 'source': 'es'}", 400);
    models_ask("{'q': 'x', 'source': 'en-US', 'target': 'de-CH'}", 200);
    models_ask("{'q': 'Where is the train station?', 'source': 'auto', 'target': 'de'}", 200);
}
END_TEST

/* Of two for a pair the first is taken, unless the other is named; the nearest before the first. */
START_TEST(the_nearest_is_taken) {
    struct reply reply;
    models_add("d", "en", "fr-CA");
    models_add("e", "en", "fr");
    models_start("--queue", "64");
    models_translate("{'text': 'x', 'target': 'fr'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "a");
    reply_done(&reply);
    models_translate("{'text': 'x', 'target': 'fr-CA'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "d");
    reply_done(&reply);
    models_translate("{'text': 'x', 'target': 'fr', 'model': 'e'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "e");
    reply_done(&reply);
}
END_TEST

/* The language of a text is compared with what the first of two models reads, also of a text with
 * markup. */
START_TEST(the_first_of_two_reads) {
    static const char *const formats[] = {"text", "html"};
    models_start("--queue", "64");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct reply reply;
        char json[256];
        snprintf(json, sizeof json,
                 "{'text': 'A <i>boy</i> plays in the snow with the dog.', 'source': 'pt-BR', "
                 "'target': 'fr', 'format': '%s'}",
                 formats[i]);
        models_translate(json, 200, &reply);
        const json_t *warnings = json_object_get(
                         json_array_get(json_at(reply.json, "translations"), 0), "warnings"),
                     *warning = NULL;
        size_t w;
        json_array_foreach(warnings, w, warning) {
            if (strcmp(text_at(warning, "code"), "language") == 0)
                break;
        }
        ck_assert_ptr_nonnull(warning);
        ck_assert_str_eq(text_at(warning, "message"),
                         "the text looks like English, but the model reads Portuguese (Brazil)");
        reply_done(&reply);
    }
}
END_TEST

/* ---- what is left out ---- */

/* A request without languages gets a model only if no other could be meant, for any content of the
 * directory. */
START_TEST(nothing_said) {
    struct reply reply;
    models_start("--queue", "64");
    models_translate("{'text': 'x'}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "source and target are missing, and so is model: the models are for en-fr, "
                     "en-de, pt-BR-en");
    reply_done(&reply);
    models_ask("{'text': 'x', 'source': 'auto'}", 400);
    models_translate("{'text': 'x', 'source': 'en-GB'}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "target is missing: the models from \"en-GB\" are for en-fr, en-de");
    reply_done(&reply);
    models_translate("{'text': 'x', 'source': 'pt'}", 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "model"), "c");
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "translations.0"), "detected"));
    reply_done(&reply);
}
END_TEST

START_TEST(a_default_model) {
    static const struct {
        const char *body, *model;
    } rows[] = {{"{'text': 'x'}", "b"},
                {"{'text': 'x', 'source': 'en'}", "b"},
                {"{'text': 'x', 'source': 'auto'}", "b"},
                {"{'text': 'x', 'source': 'pt'}", "c"},
                {"{'text': 'x', 'target': 'fr'}", "a"},
                {"{'text': 'x', 'model': 'c'}", "c"}};
    models_start("--default-model", "b");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        models_translate(rows[i].body, 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "model"), rows[i].model);
        reply_done(&reply);
    }
}
END_TEST

/* Each text has its own language, and the model for that. */
START_TEST(source_is_detected) {
    static const char *const bodies[] = {
        "{'text': ['The children are playing in the garden with the dog.', 'As crian\xc3\xa7"
        "as est\xc3\xa3o brincando no jardim com o "
        "cachorro.', ''], 'target': 'fr'}",
        "{'text': ['The children are playing in the garden with the dog.', 'As crian\xc3\xa7"
        "as est\xc3\xa3o brincando no jardim com o "
        "cachorro.', ''], 'source': 'auto', 'target': 'fr'}"};
    models_start("--queue", "64");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply reply;
        models_translate(bodies[i], 200, &reply);
        const json_t *texts = json_at(reply.json, "translations");
        ck_assert_str_eq(text_at(reply.json, "model"), "a");
        ck_assert_str_eq(text_at(json_array_get(texts, 0), "detected.language"), "en");
        ck_assert_double_gt(number_at(json_array_get(texts, 0), "detected.confidence"), 0.9);
        ck_assert_ptr_null(json_object_get(json_array_get(texts, 0), "model"));
        ck_assert_str_eq(text_at(json_array_get(texts, 1), "detected.language"), "pt-BR");
        ck_assert_double_le(number_at(json_array_get(texts, 1), "detected.confidence"), 1);
        ck_assert_str_eq(text_at(json_array_get(texts, 1), "pivot.0"), "c");
        ck_assert_str_eq(text_at(json_array_get(texts, 1), "pivot.1"), "a");
        ck_assert_str_eq(text_at(json_array_get(texts, 1), "source"), "pt-BR");
        ck_assert_double_eq(number_at(json_array_get(texts, 2), "detected.confidence"), 0);
        reply_done(&reply);
    }
    models_ask("{'text': ['x', 'y'], 'target': 'zz'}", 400);
}
END_TEST

/* ---- two in the place of one ---- */

#define VIA "{'text': 'A boy plays. A dog runs.', 'source': 'pt-BR', 'target': 'fr'"

static double sum_of(const json_t *row) {
    double sum = 0;
    size_t i;
    json_t *value;
    json_array_foreach(row, i, value) sum += json_number_value(value);
    return sum;
}

/* The second model reads the first one's translation of each sentence. */
START_TEST(two_models_meet_in_a_language) {
    struct reply reply, part;
    models_start("--queue", "64");
    models_translate(
        VIA ", 'include': ['tokens', 'attention', 'alignment', 'offsets', 'words'], 'digits': 9}",
        200, &reply);
    ck_assert_str_eq(text_at(reply.json, "source"), "pt-BR");
    ck_assert_str_eq(text_at(reply.json, "target"), "fr");
    ck_assert_str_eq(json_string_value(json_array_get(json_at(reply.json, "pivot"), 0)), "c");
    ck_assert_str_eq(json_string_value(json_array_get(json_at(reply.json, "pivot"), 1)), "a");
    const json_t *answer = json_array_get(json_at(reply.json, "translations"), 0),
                 *sentences = json_at(answer, "sentences");
    ck_assert_uint_eq(json_array_size(sentences), 2);
    const json_t *sentence = json_array_get(sentences, 1), *rows = json_at(sentence, "attention");
    ck_assert_str_eq(text_at(sentence, "source_text"), "A dog runs.");
    ck_assert_uint_eq(json_array_size(rows), json_array_size(json_at(sentence, "tokens")));
    ck_assert_uint_eq(json_array_size(json_array_get(rows, 0)),
                      json_array_size(json_at(sentence, "source_tokens")));
    for (size_t i = 0; i < json_array_size(rows); i++)
        ck_assert_double_eq_tol(sum_of(json_array_get(rows, i)), 1, 1e-4);
    models_translate("{'text': 'A boy plays. A dog runs.', 'model': 'c', 'include': []}", 200,
                     &part);
    ck_assert_str_eq(text_at(answer, "pivot_text"),
                     text_at(json_array_get(json_at(part.json, "translations"), 0), "text"));
    reply_done(&part);
    reply_done(&reply);
    models_translate(VIA ", 'include': [], 'protect': ['dog', {'pattern': 'b.y'}]}", 200,
                     &reply); /* by both */
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "boy"));
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "dog"));
    reply_done(&reply);
}
END_TEST

/* A document goes through both, sentence by sentence, and so do the events of its stream. */
START_TEST(two_models_translate_a_document) {
#define DOCUMENT(fields)                                                                           \
    fields "--XX\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\npt-BR\r\n"              \
           "--XX\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nfr\r\n"                 \
           "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nA "   \
           "boy plays. A dog "                                                                     \
           "runs.\n\r\n--XX--\r\n"
    struct reply text, reply;
    struct call call = {.path = "/documents",
                        .body = DOCUMENT(""),
                        .headers = {"Content-Type: multipart/form-data; boundary=XX"}};
    models_start("--queue", "64");
    models_translate(VIA ", 'include': []}", 200, &text);
    const char *expected = text_at(text.json, "translations.0.text");
    ck_assert_str_ne(expected, text_at(text.json, "translations.0.pivot_text"));
    client_send(&models_served, &call, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    ck_assert_uint_eq(reply.length, strlen(expected) + 1); /* and a line end */
    ck_assert_int_eq(strncmp(reply.body, expected, strlen(expected)), 0);
    reply_done(&reply);

    call.body = DOCUMENT("--XX\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\ntrue\r\n");
    client_send(&models_served, &call, &reply);
    struct sse sse = sse_read(reply.body);
    ck_assert_uint_eq(sse_count(&sse, "sentence"), 2);
    ck_assert_int_eq(strncmp(text_at(sse_last(&sse, "result"), "text"), expected, strlen(expected)),
                     0);
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(text_at(sse.events[i].data, "text"),
                         text_at(text.json, i == 0 ? "translations.0.sentences.0.text"
                                                   : "translations.0.sentences.1.text"));
    sse_done(&sse);
    reply_done(&reply);
    reply_done(&text);
}
END_TEST

START_TEST(two_models_in_other_dialects) {
    struct reply reply;
    models_start("--queue", "64");
    client_post(&models_served, "/translate",
                "{'q': '<b>A boy</b> plays.', 'source': 'pt-BR', 'target': 'de', 'format': 'html'}",
                200, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translatedText"), "<b>"));
    reply_done(&reply);
    client_post(&models_served, "/v2/translate",
                "{'text': ['A boy plays.', 'A dog.'], 'source_lang': 'PT-BR', 'target_lang': 'DE'}",
                200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 2);
    reply_done(&reply);
    client_send(&models_served, &(struct call){.path = "/languages"}, &reply);
    ck_assert_ptr_nonnull(strstr(reply.body, "{\"code\":\"pt-BR\",\"name\":\"Portuguese "
                                             "(Brazil)\",\"targets\":[\"en\",\"fr\",\"de\"]}"));
    reply_done(&reply);
}
END_TEST

static double source_tokens(const char *model) {
    char name[64];
    snprintf(name, sizeof name, "alignd_source_tokens_total{model=\"%s\"}", model);
    return metric(&models_served, name);
}

/* Of a text for two targets the first model reads what it reads for one; the answers are those for
 * each alone. */
START_TEST(targets_share_the_first_decoding) {
#define TO(targets) "/translate?api-version=3.0&from=pt-BR" targets
    static const char body[] = "[{'Text': 'A boy plays. A dog runs.'}, {'Text': 'Two men walk.'}]";
    struct reply french, german, both;
    models_start("--queue", "64");
    client_post(&models_served, TO("&to=fr"), body, 200, &french);
    double alone = source_tokens("c");
    ck_assert_double_gt(alone, 0);
    client_post(&models_served, TO("&to=de"), body, 200, &german);
    ck_assert_double_eq(source_tokens("c"), 2 * alone);
    client_post(&models_served, TO("&to=de&to=fr"), body, 200, &both);
    ck_assert_double_eq(source_tokens("c"), 3 * alone);
    ck_assert_double_gt(source_tokens("a"), 0);
    for (size_t i = 0; i < 2; i++) {
        const json_t *pair = json_at(json_array_get(both.json, i), "translations");
        ck_assert(json_equal(json_array_get(pair, 0),
                             json_at(json_array_get(german.json, i), "translations.0")));
        ck_assert(json_equal(json_array_get(pair, 1),
                             json_at(json_array_get(french.json, i), "translations.0")));
    }
    reply_done(&french);
    reply_done(&german);
    reply_done(&both);
#undef TO
}
END_TEST

START_TEST(what_two_models_cannot_do) {
    static const char *const fields[] = {"'stream': true", "'prefix': 'Un'", "'suffix': 'x.'",
                                         "'glossary': {'dog': 'chien'}", "'include': ['quality']"};
    models_start("--queue", "64");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char body[256];
        snprintf(body, sizeof body, "%s, %s}", VIA, fields[i]);
        models_ask(body, 400);
    }
    models_ask("{'text': 'x', 'source': 'fr', 'target': 'de'}", 400);    /* no chain */
    models_ask("{'text': 'x', 'source': 'pt-BR', 'target': 'pt'}", 400); /* the same language */
    models_ask("{'text': 'x', 'source': 'pt-BR', 'target': 'fr', 'model': 'c'}", 400);
    models_ask("{'text': ['', ' '], 'source': 'pt-BR', 'target': 'fr'}", 200);
}
END_TEST

/* The second model's beams are more work than the queue takes, so the request is refused before
 * the first model begins, and does not count. */
START_TEST(what_is_refused_costs_nothing) {
    daemon_start(&models_served,
                 ARGUMENTS("--models", models_directory, "--workers", "1", "--deadline-ms", "30000",
                           "--queue-work", "200", "--rate", "0.001", "--burst", "2"));
    models_ask(VIA ", 'beam_size': 32}", 413);
    models_ask(VIA ", 'beam_size': 1}", 200);
    struct reply reply;
    models_translate(VIA ", 'beam_size': 1}", 429, &reply);
    ck_assert_str_eq(text_at(reply.json, "code"), "rate_limited");
    reply_done(&reply);
}
END_TEST

START_TEST(only_one_language_to_meet_in) {
    models_start("--pivot", "es");
    models_ask(VIA "}", 400);
    daemon_stop(&models_served);
    models_start("--pivot", "none");
    models_ask(VIA "}", 400);
    daemon_stop(&models_served);
    models_start("--pivot", "en");
    models_ask(VIA "}", 200);
}
END_TEST

Suite *routing_suite(void) {
    Suite *suite = suite_create("routing");
    TCase *tcase = tcase_create("routing");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(tcase, models_setup, models_teardown);
    tcase_add_test(tcase, regions_fall_back);
    tcase_add_test(tcase, the_nearest_is_taken);
    tcase_add_test(tcase, the_first_of_two_reads);
    tcase_add_test(tcase, nothing_said);
    tcase_add_test(tcase, a_default_model);
    tcase_add_test(tcase, source_is_detected);
    tcase_add_test(tcase, two_models_meet_in_a_language);
    tcase_add_test(tcase, two_models_translate_a_document);
    tcase_add_test(tcase, two_models_in_other_dialects);
    tcase_add_test(tcase, targets_share_the_first_decoding);
    tcase_add_test(tcase, what_two_models_cannot_do);
    tcase_add_test(tcase, what_is_refused_costs_nothing);
    tcase_add_test(tcase, only_one_language_to_meet_in);
    suite_add_tcase(suite, tcase);
    return suite;
}
