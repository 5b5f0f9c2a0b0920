/* Other services' dialects except LibreTranslate's (test_libre.c): the requests that their clients
 * send, exact to the byte where it matters, the answers that they read, and error messages. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define JSON         "Content-Type: application/json"
#define FORM         "Content-Type: application/x-www-form-urlencoded"
#define DOG          "The dog runs."

static struct daemon served;
static char reverse[] = FOLDER_TEMPLATE;

/* English to French and back. */
static void setup(void) {
    folder_make(reverse, "reverse", "fr", "en");
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--model", reverse, "--max-text-chars", "2000"));
}

static void teardown(void) {
    daemon_stop(&served);
    folder_remove(reverse);
}

/* The native dialect's answer, with words. */
static void native(const char *text, const char *target, struct reply *reply) {
    char json[1024];
    snprintf(json, sizeof json, "{'text': '%s', 'target': '%s', 'include': ['words', 'offsets']}",
             text, target);
    client_post(&served, "/translate", json, 200, reply);
}

static char *translation(const char *text, const char *target) {
    struct reply reply;
    native(text, target, &reply);
    char *copy = strdup(text_at(reply.json, "translations.0.text"));
    reply_done(&reply);
    return copy;
}

static void get(const struct call *call, struct reply *reply) {
    client_send(&served, call, reply);
    ck_assert_msg(reply->status == 200, "%s: %ld %s", call->path, reply->status,
                  reply->body ? reply->body : "");
}

static void check(const struct call *call, const char *path, const char *expected) {
    struct reply reply;
    get(call, &reply);
    ck_assert_str_eq(text_at(reply.json, path), expected);
    reply_done(&reply);
}

static void refuse(const struct call *call, long status, const char *path, const char *message) {
    struct reply reply;
    client_send(&served, call, &reply);
    ck_assert_msg(reply.status == status, "%s: wanted %ld, got %ld %s", call->path, status,
                  reply.status, reply.body ? reply.body : "");
    ck_assert_str_eq(text_at(reply.json, path), message);
    reply_done(&reply);
}

/* ---- DeepL ---- */

START_TEST(deepl_ways) {
    char *expected = translation(DOG, "fr");
    const struct call calls[] = {
        {.json = "{'text': ['" DOG "'], 'target_lang': 'FR'}", .headers = {JSON}},
        {.json = "{'text': '" DOG "', 'target_lang': 'fr-FR', 'source_lang': 'EN', 'context': 'x', "
                 "'model_type': 'latency_optimized'}"},
        {.body = "target_lang=FR&text=The+dog+runs.&text=x&show_billed_characters=1",
         .headers = {FORM}},
        {.body = "auth_key=k&text=The%20dog%20runs.&source_lang=EN&target_lang=FR&formality=prefer_"
                 "less",
         .headers = {FORM}},
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct call call = calls[i];
        call.path = "/v2/translate";
        check(&call, "translations.0.text", expected);
        check(&call, "translations.0.detected_source_language", "EN");
    }
    free(expected);
}
END_TEST

/* Each text is in the language that it seems to be in. */
START_TEST(deepl_answers) {
    struct reply reply;
    client_post(&served, "/v2/translate",
                "{'text': ['O\xc3\xb9 est la gare, s\\'il vous pla\xc3\xaet ?', 'Where is the "
                "train station?'], 'target_lang': 'EN-US', "
                "'show_billed_characters': true}",
                200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 2);
    ck_assert_str_eq(text_at(reply.json, "translations.0.detected_source_language"), "FR");
    ck_assert_str_eq(text_at(reply.json, "translations.1.detected_source_language"), "EN");
    ck_assert_str_eq(text_at(reply.json, "translations.1.text"), "Where is the train station?");
    ck_assert_double_eq(number_at(reply.json, "translations.1.billed_characters"), 27);
    reply_done(&reply);
}
END_TEST

START_TEST(deepl_tags) {
    struct reply reply;
    /* Weblate's */
    client_post(&served, "/v2/translate",
                "{'text': ['A boy <x id=\\\"3\\\"></x> plays.', 'A dog &amp; a boy'], "
                "'source_lang': 'EN', 'target_lang': 'FR', "
                "'formality': 'default', 'tag_handling': 'xml', 'ignore_tags': ['x']}",
                200, &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "translations.0.text"), "<x id=\"3\"></x>"));
    reply_done(&reply);
    client_post(&served, "/v2/translate",
                "{'text': '<doc><t>A boy</t><p>A <b>dog</b> runs<keep>Hello "
                "world</keep>.</p></doc>', 'source_lang': 'EN', "
                "'target_lang': 'FR', "
                "'tag_handling': 'xml', 'ignore_tags': 'keep,x', 'outline_detection': 1, "
                "'non_splitting_tags': 'b'}",
                200, &reply);
    const char *text = text_at(reply.json, "translations.0.text");
    ck_assert_msg(strncmp(text, "<doc><t>", 8) == 0 && strstr(text, "</t><p>") &&
                      strstr(text, "<keep>Hello world</keep>"),
                  "%s", text);
    ck_assert_msg(strstr(text, "<b>") && strstr(text, "</b>") &&
                      strcmp(text + strlen(text) - 10, "</p></doc>") == 0,
                  "%s", text);
    reply_done(&reply);
    check(
        &(struct call){
            .path = "/v2/translate",
            .body =
                "text=%3Cp+translate%3D%22no%22%3EA+boy%3C/p%3E&target_lang=FR&tag_handling=html",
            .headers = {FORM}},
        "translations.0.text", "<p translate=\"no\">A boy</p>");
    refuse(
        &(struct call){
            .path = "/v2/translate",
            .json =
                "{'text': '<a>', 'source_lang': 'EN', 'target_lang': 'FR', 'tag_handling': 'xml'}"},
        400, "message", "text: line 1, column 4: missing end tag: a");
    refuse(&(struct call){.path = "/v2/translate",
                          .json = "{'text': 'x', 'target_lang': 'FR', 'tag_handling': 'json'}"},
           400, "message", "tag_handling must be xml or html, got \"json\"");
    refuse(
        &(struct call){
            .path = "/v2/translate",
            .json = "{'text': 'x', 'target_lang': 'FR', 'tag_handling': 'xml', 'ignore_tags': 1}"},
        400, "message", "ignore_tags must be a string or an array of strings");
}
END_TEST

START_TEST(deepl_sentences) {
    static const struct {
        const char *split;
        size_t sentences;
    } rows[] = {{"'1'", 3}, {"'0'", 1}, {"'nonewlines'", 2}, {"true", 3}, {"1", 3}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[256];
        double before = metric(&served, "alignd_queue_duration_seconds_count");
        snprintf(json, sizeof json,
                 "{'text': 'A boy\\nplays. A dog runs.', 'source_lang': 'EN', 'target_lang': 'FR', "
                 "'split_sentences': %s}",
                 rows[i].split);
        struct reply reply;
        client_post(&served, "/v2/translate", json, 200, &reply);
        const char *text = text_at(reply.json, "translations.0.text"), *feed = strchr(text, '\n');
        ck_assert_msg(feed && !strchr(feed + 1, '\n'), "%s", text); /* the line end stays */
        reply_done(&reply);
        ck_assert_double_eq(metric(&served, "alignd_queue_duration_seconds_count") - before,
                            (double)rows[i].sentences);
    }
}
END_TEST

START_TEST(deepl_others) {
    struct reply reply;
    check(&(struct call){.path = "/v2/languages"}, "0.language", "EN");
    check(&(struct call){.path = "/v2/languages?type=source"}, "1.name", "French");
    get(&(struct call){.path = "/v2/languages", .body = "type=target", .headers = {FORM}}, &reply);
    ck_assert_str_eq(text_at(reply.json, "0.language"), "FR");
    ck_assert(json_is_true(json_at(reply.json, "0.supports_formality")));
    reply_done(&reply);
    get(&(struct call){.path = "/v3/languages?resource=translate_text"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "0.lang"), "en");
    ck_assert_str_eq(text_at(reply.json, "1.name"), "French");
    ck_assert(json_is_true(json_at(reply.json, "1.usable_as_target")));
    ck_assert_str_eq(text_at(reply.json, "0.features.glossary.status"), "stable");
    reply_done(&reply);
    get(&(struct call){.path = "/v3/languages?resource=voice"}, &reply);
    ck_assert_uint_eq(json_array_size(reply.json), 0);
    reply_done(&reply);
    get(&(struct call){.path = "/v3/languages/resources"}, &reply);
    ck_assert_uint_eq(json_array_size(reply.json), 4);
    ck_assert_str_eq(text_at(reply.json, "0.name"), "translate_text");
    ck_assert_str_eq(text_at(reply.json, "0.features.2.name"), "glossary");
    ck_assert(json_is_true(json_at(reply.json, "0.features.2.needs_source_support")));
    ck_assert(json_is_false(json_at(reply.json, "0.features.1.needs_source_support")));
    reply_done(&reply);
    refuse(&(struct call){.path = "/v3/languages?resource=x"}, 400, "message",
           "resource must be translate_text, translate_document, write or glossary");
    get(&(struct call){.path = "/v2/usage"}, &reply);
    double before = number_at(reply.json, "character_count");
    reply_done(&reply);
    client_post(&served, "/v2/translate",
                "{'text': ['" DOG "', 'A boy.'], 'target_lang': 'FR', 'source_lang': 'EN'}", 200,
                &reply);
    reply_done(&reply);
    get(&(struct call){.path = "/v2/usage"}, &reply);
    ck_assert_double_eq(number_at(reply.json, "character_count") - before, 19);
    ck_assert_double_gt(number_at(reply.json, "character_limit"), 1e9);
    reply_done(&reply);
}
END_TEST

/* A text in other words is what the two models make of it one after the other. */
START_TEST(deepl_rephrasing) {
    const char *path = "/v2/write/rephrase";
    struct reply reply;
    char *there = translation(DOG, "fr"), *back = translation(there, "en"), ignored[HEADER_BYTES];
    get(&(struct call){.path = path,
                       .json = "{'text': ['" DOG "', 'A boy.'], 'target_lang': 'EN-GB'}"},
        &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "improvements")), 2);
    ck_assert_str_eq(text_at(reply.json, "improvements.0.text"), back);
    ck_assert_str_eq(text_at(reply.json, "improvements.0.detected_source_language"), "en");
    ck_assert_str_eq(text_at(reply.json, "improvements.1.target_language"), "EN-GB");
    reply_done(&reply);
    get(&(struct call){.path = path, .body = "text=The+dog+runs.&tone=friendly", .headers = {FORM}},
        &reply);
    ck_assert_str_eq(text_at(reply.json, "improvements.0.text"), back);
    ck_assert_str_eq(text_at(reply.json, "improvements.0.target_language"), "en");
    reply_header(&reply, "X-Alignd-Ignored", ignored);
    ck_assert_str_eq(ignored, "tone");
    reply_done(&reply);
    free(there);
    free(back);

    refuse(&(struct call){.path = path, .json = "{'text': '" DOG "', 'target_lang': 'FR'}"}, 400,
           "message",
           "target_lang must be the language of the text, \"en\", or a variant of it, "
           "got \"FR\"");
    refuse(&(struct call){.path = path, .json = "{'text': '" DOG "', 'target_lang': 'lv'}"}, 400,
           "message",
           "Value for 'target_lang' not supported: no models translate from \"lv\" and back");
    refuse(&(struct call){.path = path,
                          .json = "{'text': 'x', 'tone': 'friendly', 'writing_style': 'simple'}"},
           400, "message", "Both writing_style and tone defined, but they exclude each other");
    refuse(&(struct call){.path = path, .json = "{'text': 'x', 'writing_style': 'loud'}"}, 400,
           "message",
           "writing_style must be default, or academic, business, casual or simple, with prefer_ "
           "or without, got \"loud\"");
    get(&(struct call){.path = "/v3/languages?resource=write"}, &reply);
    ck_assert_uint_eq(json_array_size(reply.json), 2);
    ck_assert_str_eq(text_at(reply.json, "0.lang"), "en");
    reply_done(&reply);
}
END_TEST

START_TEST(deepl_model_types) {
    struct reply reply;
    check(&(struct call){.path = "/v2/translate",
                         .json = "{'text': '" DOG
                                 "', 'target_lang': 'FR', 'model_type': 'latency_optimized'}"},
          "translations.0.model_type_used", "latency_optimized");
    check(&(struct call){.path = "/v2/translate",
                         .json =
                             "{'text': '" DOG
                             "', 'target_lang': 'FR', 'model_type': 'prefer_quality_optimized'}"},
          "translations.0.model_type_used", "quality_optimized");
    get(&(struct call){.path = "/v2/translate", .json = "{'text': '" DOG "', 'target_lang': 'FR'}"},
        &reply);
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "translations.0"), "model_type_used"));
    reply_done(&reply);
}
END_TEST

/* Byte for byte, whatever stands in it. */
START_TEST(deepl_doctype) {
    static const char *const types[] = {"<!DOCTYPE page>", "<!doctype a PUBLIC \\\"x>y\\\" 'z]>'>",
                                        "<!DOCTYPE a [<!-- > ' --><!ENTITY b \\\"]>\\\">]>"};
    for (size_t i = 0; i < COUNT(types); i++) {
        char json[256];
        struct reply reply;
        snprintf(
            json, sizeof json,
            "{\"text\": \"%s\\n<p>%s</p>\", \"target_lang\": \"FR\", \"tag_handling\": \"xml\"}",
            types[i], DOG);
        get(&(struct call){.path = "/v2/translate", .body = json, .headers = {JSON}}, &reply);
        json_t *sent = json_loads(json, 0, NULL);
        const char *text = text_at(sent, "text"),
                   *answer = text_at(reply.json, "translations.0.text");
        ck_assert_msg(strncmp(text, answer, strcspn(text, "\n")) == 0, "%s", answer);
        json_decref(sent);
        reply_done(&reply);
    }
    refuse(
        &(struct call){
            .path = "/v2/translate",
            .json = "{'text': '<!DOCTYPE a [>', 'target_lang': 'FR', 'tag_handling': 'xml'}"},
        400, "message", "text: line 1, column 1: missing end of <!DOCTYPE");
}
END_TEST

START_TEST(deepl_refusals) {
    static const struct {
        const char *json, *message;
    } rows[] = {
        {"{'target_lang': 'FR'}", "text is missing"},
        {"{'text': 'x'}", "target_lang is missing"},
        {"{'text': 1, 'target_lang': 'FR'}", "text must be a string or an array of strings"},
        {"{'text': [], 'target_lang': 'FR'}", "text must contain between 1 and 128 strings, got 0"},
        {"{'text': 'x', 'target_lang': 'ZZ'}", "target_lang: \"ZZ\" is not supported"},
        {"{'text': 'x', 'source_lang': 'ZZ', 'target_lang': 'FR'}",
         "source_lang: \"ZZ\" is not supported"},
        {"{'text': 'x', 'target_lang': 'FR', 'formality': 'most'}",
         "formality must be default, more, less, prefer_more or prefer_less, got \"most\""},
        /* also where nothing is to be translated */
        {"{'text': 'This is a test.', 'target_lang': 'EN-US', 'formality': 'more'}",
         "Target language \"EN-US\" has no forms of address: formality must be default, "
         "prefer_more "
         "or prefer_less"},
        {"{'text': 'x', 'target_lang': 'FR', 'model_type': 'best'}",
         "model_type must be quality_optimized, prefer_quality_optimized or latency_optimized, got "
         "\"best\""},
        {"{'text': 'x', 'target_lang': 'FR', 'split_sentences': '2'}",
         "split_sentences must be true or false"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refuse(&(struct call){.path = "/v2/translate", .json = rows[i].json}, 400, "message",
               rows[i].message);
    refuse(&(struct call){.path = "/v2/translate", .method = "GET"}, 405, "message",
           "the method must be one of POST, OPTIONS");
    refuse(&(struct call){.path = "/v2/languages?type=x"}, 400, "message",
           "type must be source or target");
}
END_TEST

/* ---- Google ---- */

START_TEST(google_ways) {
    char *expected = translation(DOG, "fr");
    const struct call calls[] = {
        {.path = "/language/translate/v2",
         .json = "{'q': ['" DOG "'], 'target': 'fr', 'format': 'text'}",
         .headers = {JSON}},
        {.path = "/language/translate/v2?key=k",
         .json = "{'q': '" DOG "', 'target': 'fr', 'source': 'en'}",
         .headers = {JSON}},
        {.path = "/language/translate/v2",
         .body = "q=The+dog+runs.&q=x&target=fr",
         .headers = {FORM}},
        /* Weblate's */
        {.path = "/language/translate/v2/?key=k&q=The+dog+runs.&source=en&target=fr&format=text"},
        {.path = "/language/translate/v2?q=The%20dog%20runs.&target=fr"},
    };
    for (size_t i = 0; i < COUNT(calls); i++)
        check(&calls[i], "data.translations.0.translatedText", expected);
    free(expected);
}
END_TEST

START_TEST(google_others) {
    struct reply reply;
    check(&(struct call){.path = "/language/translate/v2",
                         .json = "{'q': ['Where is the train station?'], 'target': 'fr'}"},
          "data.translations.0.detectedSourceLanguage", "en");
    get(&(struct call){.path = "/language/translate/v2?q=%3Cb%3EA+boy%3C/b%3E&source=en&target=fr"},
        &reply); /* html by default */
    ck_assert_ptr_nonnull(
        strstr(text_at(reply.json, "data.translations.0.translatedText"), "</b>"));
    ck_assert_ptr_null(
        json_object_get(json_at(reply.json, "data.translations.0"), "detectedSourceLanguage"));
    reply_done(&reply);
    get(&(struct call){.path = "/language/translate/v2/languages?key=k"}, &reply);
    ck_assert_str_eq(text_at(reply.json, "data.languages.0.language"), "en");
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "data.languages.0"), "name"));
    reply_done(&reply);
    check(&(struct call){.path = "/language/translate/v2/languages?target=en"},
          "data.languages.1.name", "French");
    check(&(struct call){.path = "/language/translate/v2/languages?target=fr"},
          "data.languages.0.name", "anglais");
    check(&(struct call){.path = "/language/translate/v2/detect",
                         .json = "{'q': ['Where is the train station?', 'O\xc3\xb9 est la gare, "
                                 "s\\'il vous pla\xc3\xaet ?']}"},
          "data.detections.1.0.language", "fr");
}
END_TEST

START_TEST(google_refusals) {
    static const char path[] = "/language/translate/v2";
    refuse(&(struct call){.path = path, .json = "{'q': 'x'}"}, 400, "error.message",
           "target is missing");
    refuse(&(struct call){.path = path, .json = "{'q': 'x', 'target': 'zz'}"}, 400, "error.status",
           "INVALID_ARGUMENT");
    refuse(&(struct call){.path = path, .json = "{'q': 'x', 'target': 'fr', 'format': 'xml'}"}, 400,
           "error.errors.0.message", "format must be text or html, got \"xml\"");
    refuse(&(struct call){.path = path, .json = "{'target': 'fr'}"}, 400, "error.errors.0.reason",
           "invalid_request");
}
END_TEST

/* ---- Microsoft ---- */

#define MS "/translate?api-version=3.0"

START_TEST(microsoft_ways) {
    char *expected = translation(DOG, "fr");
    const struct call calls[] = {
        {.path = MS "&to=fr", .json = "[{'Text': '" DOG "'}]", .headers = {JSON}},
        {.path = MS "&from=en&to=fr&category=general",
         .json = "[{'text': '" DOG "'}, {'Text': 'x'}]",
         .headers = {JSON}},
        {.path =
             MS "&from=en&to=fr&textType=Plain&includeAlignment=true&includeSentenceLength=true",
         .json = "[{'Text': '" DOG "'}]"},
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        check(&calls[i], "0.translations.0.text", expected);
        check(&calls[i], "0.translations.0.to", "fr");
    }
    free(expected);
}
END_TEST

/* One text in two languages: each by its own model. */
START_TEST(microsoft_targets) {
    struct reply reply;
    char *expected = translation(DOG, "fr");
    get(&(struct call){.path = MS "&to=fr,en&includeAlignment=true&includeSentenceLength=true",
                       .json = "[{'Text': '" DOG "'}, {'Text': 'Where is the train station?'}]",
                       .headers = {JSON}},
        &reply);
    ck_assert_uint_eq(json_array_size(reply.json), 2);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "1.translations")), 2);
    ck_assert_str_eq(text_at(reply.json, "1.detectedLanguage.language"), "en");
    ck_assert_str_eq(text_at(reply.json, "1.translations.1.to"), "en");
    ck_assert_str_eq(text_at(reply.json, "1.translations.1.text"),
                     "Where is the train station?"); /* it is English already */
    ck_assert_double_eq(number_at(reply.json, "1.translations.1.sentLen.transSentLen.0"), 27);
    ck_assert_str_eq(text_at(reply.json, "1.translations.1.alignment.proj"), "");
    ck_assert_str_eq(text_at(reply.json, "0.translations.0.text"), expected);
    reply_done(&reply);
    check(&(struct call){.path = MS "&from=en&to=en&to=fr", .json = "[{'Text': '" DOG "'}]"},
          "0.translations.1.text", expected);
    free(expected);
}
END_TEST

static size_t sum(const json_t *lengths) {
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(lengths); i++)
        total += (size_t)json_integer_value(json_array_get(lengths, i));
    return total;
}

/* The pairs are those of words.alignment, as ranges of the whole texts, in UTF-16 units. */
static void check_projection(const char *proj, const json_t *sentences) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(sentences); i++) {
        const json_t *sentence = json_array_get(sentences, i),
                     *pairs = json_at(sentence, "words.alignment");
        size_t source = (size_t)number_at(sentence, "offsets.span.source.start_utf16"),
               target = (size_t)number_at(sentence, "offsets.span.target.start_utf16");
        for (size_t p = 0; p < json_array_size(pairs); p++, count++) {
            char range[128], path[64];
            json_t *pair = json_array_get(pairs, p);
            int j = (int)json_integer_value(json_array_get(pair, 0)),
                k = (int)json_integer_value(json_array_get(pair, 1));
            snprintf(path, sizeof path, "words.offsets.source.%d", j);
            const json_t *from = json_at(sentence, path);
            snprintf(path, sizeof path, "words.offsets.target.%d", k);
            const json_t *to = json_at(sentence, path);
            snprintf(range, sizeof range, "%zu:%zu-%zu:%zu",
                     source + (size_t)number_at(from, "start_utf16"),
                     source + (size_t)number_at(from, "end_utf16") - 1,
                     target + (size_t)number_at(to, "start_utf16"),
                     target + (size_t)number_at(to, "end_utf16") - 1);
            ck_assert_msg(strstr(proj, range) != NULL, "no %s in %s", range, proj);
        }
    }
    size_t spaces = 0;
    for (const char *c = proj; *c; c++)
        spaces += *c == ' ';
    ck_assert_uint_eq(spaces + (*proj != '\0'), count);
}

START_TEST(microsoft_alignment) {
    static const char *const texts[] = {DOG, "  A boy plays.  The dog runs. \xf0\x9f\x90\x95 ",
                                        "\xf0\x9f\x90\x95\xf0\x9f\x90\x95 A boy \xc3\xa9t\xc3\xa9.",
                                        " "};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct reply own, reply;
        char json[512];
        native(texts[i], "fr", &own);
        snprintf(json, sizeof json, "[{'Text': '%s'}]", texts[i]);
        get(&(struct call){.path =
                               MS "&from=en&to=fr&includeAlignment=true&includeSentenceLength=true",
                           .json = json},
            &reply);
        const json_t *translated = json_at(reply.json, "0.translations.0"),
                     *sentences = json_at(own.json, "translations.0.sentences");
        ck_assert_str_eq(text_at(translated, "text"), text_at(own.json, "translations.0.text"));
        check_projection(text_at(translated, "alignment.proj"), sentences);
        size_t units = 0;
        for (const char *c = texts[i]; *c; c++)
            units +=
                ((unsigned char)*c & 0xc0) != 0x80 ? ((unsigned char)*c >= 0xf0 ? 2U : 1U) : 0U;
        ck_assert_uint_eq(sum(json_at(translated, "sentLen.srcSentLen")), units);
        ck_assert_uint_eq(json_array_size(json_at(translated, "sentLen.srcSentLen")),
                          json_array_size(json_at(translated, "sentLen.transSentLen")));
        reply_done(&own);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(microsoft_others) {
    struct reply reply;
    get(&(struct call){.path = MS "&from=en&to=fr&textType=html&includeAlignment=true",
                       .json = "[{'Text': '<b>A boy</b> plays.'}]"},
        &reply);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "0.translations.0.text"), "<b>"));
    ck_assert_ptr_nonnull(json_at(reply.json, "0.translations.0.alignment.proj"));
    reply_done(&reply);
    check(&(struct call){.path = "/detect?api-version=3.0",
                         .json = "[{'Text': 'Where is the train station?'}]"},
          "0.language", "en");
    check(&(struct call){.path = "/languages?api-version=3.0&scope=translation"},
          "translation.fr.nativeName",
          "fran\xc3\xa7"
          "ais");
    get(&(struct call){.path = "/breaksentence?api-version=3.0&language=en",
                       .json = "[{'Text': 'A boy. A dog runs.'}, {'Text': ''}]"},
        &reply);
    ck_assert_double_eq(number_at(reply.json, "0.sentLen.0"), 7);
    ck_assert_double_eq(number_at(reply.json, "0.sentLen.1"), 11);
    ck_assert_double_eq(number_at(reply.json, "1.sentLen.0"), 0);
    reply_done(&reply);
    check(&(struct call){.path = "/breaksentence?api-version=3.0",
                         .json = "[{'Text': 'O\xc3\xb9 est la gare, s\\'il vous pla\xc3\xaet ?'}]"},
          "0.detectedLanguage.language", "fr");
    get(&(struct call){.path = "/sts/v1.0/issueToken?Subscription-Key=abc", .method = "POST"},
        &reply);
    ck_assert_str_eq(reply.body, "abc");
    reply_done(&reply);
}
END_TEST

START_TEST(microsoft_language_names) {
    check(&(struct call){.path = "/languages?api-version=3.0",
                         .headers = {"Accept-Language: de-AT,de;q=0.9"}},
          "translation.fr.name", "Franz\xc3\xb6sisch");
    check(&(struct call){.path = "/languages?api-version=3.0", .headers = {"Accept-Language: *"}},
          "translation.fr.name", "French");
}
END_TEST

/* The phrase's translation is kept and the tag is removed; anything that is not such an element is
 * text. */
START_TEST(microsoft_dictionary) {
    static const struct {
        const char *text, *wanted, *type;
    } rows[] = {
        {"A <mstrans:dictionary translation='Q&amp;A Zone'>boy</mstrans:dictionary> plays.",
         "Q&A Zone", "plain"},
        {"<b>A <mstrans:dictionary translation='Q&amp;A Zone'>boy</mstrans:dictionary></b> plays.",
         "Q&amp;A Zone", "html"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[100];
        struct reply reply;
        json_t *body = json_pack("[{s:s}]", "Text", rows[i].text);
        char *json = json_dumps(body, 0);
        snprintf(path, sizeof path, MS "&from=en&to=fr&textType=%s", rows[i].type);
        get(&(struct call){.path = path, .body = json, .headers = {JSON}}, &reply);
        const char *text = text_at(reply.json, "0.translations.0.text");
        ck_assert_msg(strstr(text, rows[i].wanted) && !strstr(text, "mstrans"), "%s", text);
        free(json);
        json_decref(body);
        reply_done(&reply);
    }
    check(&(struct call){.path = MS "&from=en&to=en",
                         .json = "[{'Text': 'x </mstrans:dictionary> <mstrans:dictionary y> z'}]"},
          "0.translations.0.text", "x </mstrans:dictionary> <mstrans:dictionary y> z");
}
END_TEST

/* Of UTF-16, where no character takes two. */
static size_t units(const char *text, size_t bytes) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Places are those in the text that was sent: a word of a phrase's translation is the phrase,
 * without its tags. */
START_TEST(microsoft_dictionary_places) {
    static const struct {
        const char *text, *words, *phrase;
        size_t second; /* where the second sentence begins; 0: there is none */
    } rows[] = {
        {"A <mstrans:dictionary translation='garcon'>boy</mstrans:dictionary> plays.",
         "A boy plays . ", "boy ", 0},
        {"<mstrans:dictionary translation='Luc'>\xc3\x89lie B</mstrans:dictionary> plays in the "
         "snow. A dog runs.",
         "\xc3\x89lie B plays in the snow . A dog runs ", "\xc3\x89lie B ", 85},
    };
    struct daemon former = served;
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr"));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply reply;
        json_t *body = json_pack("[{s:s}]", "Text", rows[i].text), *each;
        char *json = json_dumps(body, 0), seen[256] = "";
        get(&(struct call){.path =
                               MS "&from=en&to=fr&includeAlignment=true&includeSentenceLength=true",
                           .body = json,
                           .headers = {JSON}},
            &reply);
        size_t total = 0, n, bytes = strlen(rows[i].text);
        for (const char *at = text_at(reply.json, "0.translations.0.alignment.proj"); at;
             at = strchr(at, ' ')) {
            size_t from, to, begin = 0, end = 0;
            at += *at == ' ';
            ck_assert_int_eq(sscanf(at, "%zu:%zu-", &from, &to), 2);
            while (begin < bytes && units(rows[i].text, begin) < from)
                begin++;
            for (end = begin; end < bytes && units(rows[i].text, end) < to + 1; end++)
                ;
            char word[64];
            snprintf(word, sizeof word, "%.*s ", (int)(end - begin), rows[i].text + begin);
            ck_assert_msg(strstr(rows[i].words, word) != NULL, "%s: \"%s\"", rows[i].text, word);
            strcat(seen, word);
        }
        ck_assert_msg(strstr(seen, rows[i].phrase) != NULL, "%s", seen);
        json_array_foreach(json_at(reply.json, "0.translations.0.sentLen.srcSentLen"), n, each)
            total += (size_t)json_integer_value(each);
        ck_assert_uint_eq(total, units(rows[i].text, bytes));
        if (rows[i].second > 0)
            ck_assert_double_eq(number_at(reply.json, "0.translations.0.sentLen.srcSentLen.0"),
                                (double)rows[i].second);
        free(json);
        json_decref(body);
        reply_done(&reply);
    }
    daemon_stop(&served);
    served = former;
}
END_TEST

START_TEST(microsoft_refusals) {
    static const struct {
        const char *path, *json;
        double code;
    } rows[] = {
        {MS, "[{'Text': 'x'}]", 400036},
        {MS "&to=zz", "[{'Text': 'x'}]", 400036},
        {MS "&from=zz&to=fr", "[{'Text': 'x'}]", 400035},
        {MS "&to=fr", "{'Text': 'x'}", 400000},
        {MS "&to=fr", "[{'Other': 'x'}]", 400000},
        {MS "&to=fr", "[]", 400000},
        {MS "&to=fr", "[1]", 400000},
        {MS "&to=fr&textType=x", "[{'Text': 'x'}]", 400018},
        {MS "&to=fr&includeAlignment=x", "[{'Text': 'x'}]", 400017},
        {"/translate?api-version=2.0&to=fr", "[{'Text': 'x'}]", 400021},
        {MS "&to=fr", NULL, 400000},
        {"/breaksentence?api-version=3.0&language=_", "[{'Text': 'x'}]", 400000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){.path = rows[i].path, .json = rows[i].json, .method = "POST"},
                    &reply);
        ck_assert_int_eq(reply.status, 400);
        ck_assert_msg(number_at(reply.json, "error.code") == rows[i].code, "row %zu: %s", i,
                      reply.body);
        reply_done(&reply);
    }
}
END_TEST

/* ---- extensions ---- */

START_TEST(extensions) {
    struct reply reply;
    char *expected = translation(DOG, "fr");
    /* Immersive Translate */
    get(&(struct call){.path = "/imme?token=t",
                       .json = "{'source_lang': 'auto', 'target_lang': 'fr', 'text_list': ['Where "
                               "is the train station?', '" DOG "']}",
                       .headers = {JSON}},
        &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.detected_source_lang"), "en");
    ck_assert_str_eq(text_at(reply.json, "translations.1.text"), expected);
    reply_done(&reply);
    /* KISS Translator: one at a time, and together */
    check(&(struct call){.path = "/kiss",
                         .json = "{'from': 'en', 'to': 'fr', 'text': '" DOG "'}",
                         .headers = {JSON}},
          "text", expected);
    check(&(struct call){.path = "/kiss",
                         .json =
                             "{'from': 'auto', 'to': 'fr', 'text': 'Where is the train station?'}"},
          "src", "en");
    check(&(struct call){.path = "/kiss",
                         .json = "{'from': 'en', 'to': 'fr', 'texts': ['A boy.', '" DOG "']}"},
          "translations.1.text", expected);
    /* Zotero's DeepLX */
    get(&(struct call){.path = "/deeplx?token=t",
                       .json = "{'text': '" DOG "', 'source_lang': 'EN', 'target_lang': 'FR'}",
                       .headers = {"Content-Type: application/json; charset=utf-8"}},
        &reply);
    ck_assert_str_eq(text_at(reply.json, "data"), expected);
    ck_assert_double_eq(number_at(reply.json, "code"), 200);
    ck_assert_str_eq(text_at(reply.json, "source_lang"), "EN");
    ck_assert_str_eq(text_at(reply.json, "target_lang"), "FR");
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "alternatives")), 0);
    reply_done(&reply);
    free(expected);
    refuse(&(struct call){.path = "/imme", .json = "{'target_lang': 'fr'}"}, 400, "error",
           "text_list is missing");
    refuse(&(struct call){.path = "/kiss", .json = "{'text': 'x'}"}, 400, "error", "to is missing");
    refuse(&(struct call){.path = "/deeplx", .json = "{'text': 'x', 'target_lang': 'zz'}"}, 400,
           "message", "target_lang: \"zz\" is not supported");
}
END_TEST

/* ---- keys ---- */

/* printf %s user | sha256sum */
static const char keys[] =
    "alice user 04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb\n";

START_TEST(wherever_a_key_stands) {
    char path[] = "/tmp/alignd-keys-XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, keys, strlen(keys)) == (ssize_t)strlen(keys));
    close(fd);
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--api-keys", path));
    const struct {
        struct call with, without;
        long status; /* of the one without */
    } rows[] = {
        {{.path = "/v2/translate",
          .json = "{'text': 'x', 'target_lang': 'FR'}",
          .headers = {"Authorization: DeepL-Auth-Key user"}},
         {.path = "/v2/translate", .json = "{'text': 'x', 'target_lang': 'FR'}"},
         403},
        {{.path = "/v2/translate",
          .body = "text=x&target_lang=FR&auth_key=user",
          .headers = {FORM}},
         {.path = "/v2/translate", .body = "text=x&target_lang=FR", .headers = {FORM}},
         403},
        {{.path = "/language/translate/v2?q=x&target=fr&key=user"},
         {.path = "/language/translate/v2?q=x&target=fr"},
         401},
        {{.path = "/language/translate/v2?q=x&target=fr", .headers = {"X-Goog-Api-Key: user"}},
         {.path = "/language/translate/v2?q=x&target=fr", .headers = {"X-Goog-Api-Key: other"}},
         403},
        {{.path = MS "&to=fr",
          .json = "[{'Text': 'x'}]",
          .headers = {"Ocp-Apim-Subscription-Key: user"}},
         {.path = MS "&to=fr", .json = "[{'Text': 'x'}]"},
         401},
        {{.path = "/imme?token=user", .json = "{'text_list': ['x'], 'target_lang': 'fr'}"},
         {.path = "/imme", .json = "{'text_list': ['x'], 'target_lang': 'fr'}"},
         401},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply reply;
        client_send(&served, &rows[i].with, &reply);
        ck_assert_msg(reply.status == 200, "row %zu: %ld %s", i, reply.status, reply.body);
        reply_done(&reply);
        client_send(&served, &rows[i].without, &reply);
        ck_assert_msg(reply.status == rows[i].status, "row %zu: %ld %s", i, reply.status,
                      reply.body);
        reply_done(&reply);
    }
    refuse(&rows[0].without, 403, "message",
           "an API key is required: Authorization: DeepL-Auth-Key KEY, or the field auth_key");
    refuse(&(struct call){.path = "/sts/v1.0/issueToken?Subscription-Key=other", .method = "POST"},
           403, "error.message", "Invalid API key");
    struct reply reply;
    client_send(&served, &rows[4].without, &reply);
    ck_assert_double_eq(number_at(reply.json, "error.code"),
                        401000); /* in its own words, though the body is not read yet */
    reply_done(&reply);
    unlink(path);
}
END_TEST

Suite *dialects_suite(void) {
    Suite *suite = suite_create("dialects");
    TCase *tcase = tcase_create("dialects");
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, deepl_ways);
    tcase_add_test(tcase, deepl_answers);
    tcase_add_test(tcase, deepl_tags);
    tcase_add_test(tcase, deepl_sentences);
    tcase_add_test(tcase, deepl_others);
    tcase_add_test(tcase, deepl_rephrasing);
    tcase_add_test(tcase, deepl_model_types);
    tcase_add_test(tcase, deepl_doctype);
    tcase_add_test(tcase, deepl_refusals);
    tcase_add_test(tcase, google_ways);
    tcase_add_test(tcase, google_others);
    tcase_add_test(tcase, google_refusals);
    tcase_add_test(tcase, microsoft_ways);
    tcase_add_test(tcase, microsoft_targets);
    tcase_add_test(tcase, microsoft_alignment);
    tcase_add_test(tcase, microsoft_others);
    tcase_add_test(tcase, microsoft_language_names);
    tcase_add_test(tcase, microsoft_dictionary);
    tcase_add_test(tcase, microsoft_dictionary_places);
    tcase_add_test(tcase, microsoft_refusals);
    tcase_add_test(tcase, extensions);
    tcase_add_test(tcase, wherever_a_key_stands);
    suite_add_tcase(suite, tcase);
    return suite;
}
