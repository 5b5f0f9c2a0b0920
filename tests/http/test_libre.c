/* The LibreTranslate dialect: all ways to send requests, its answers, its error messages, and its
 * clients. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define URLENCODED   "Content-Type: application/x-www-form-urlencoded"
#define MULTIPART    "Content-Type: multipart/form-data; boundary=XX"
#define JSON         "Content-Type: application/json"
#define PART(name)   "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static struct daemon served;
static char reverse[] = FOLDER_TEMPLATE, parser[] = FOLDER_TEMPLATE;

/* English to French and back, and a model that does not translate. */
static void setup(void) {
    folder_make(reverse, "reverse", "fr", "en");
    folder_make(parser, "parser", "en", "lf");
    folder_set(parser, "task", "parsing");
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", reverse, "--model", parser,
                                    "--max-text-chars", "1000", "--max-body-bytes", "200000"));
}

static void teardown(void) {
    daemon_stop(&served);
    folder_remove(reverse);
    folder_remove(parser);
}

static void post(const char *json, struct reply *reply) {
    client_post(&served, "/translate", json, 200, reply);
    ck_assert_ptr_null(json_object_get(reply->json, "error"));
}

/* The native dialect's translation of the same text. The caller frees it. */
static char *native(const char *text) {
    struct reply reply;
    char json[512];
    snprintf(json, sizeof json, "{'text': '%s', 'source': 'en', 'target': 'fr'}", text);
    client_post(&served, "/translate", json, 200, &reply);
    char *translation = strdup(text_at(reply.json, "translations.0.text"));
    reply_done(&reply);
    return translation;
}

static void check_text(const struct call *call, const char *expected) {
    struct reply reply;
    client_send(&served, call, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body ? reply.body : "");
    ck_assert_str_eq(text_at(reply.json, "translatedText"), expected);
    ck_assert_uint_eq(json_object_size(reply.json), 1);
    reply_done(&reply);
}

/* ---- every way to send it ---- */

START_TEST(encodings) {
    char *expected = native("The dog runs. \xc3\xa9");
    static const char form[] = "q=The+dog%20runs.%20%C3%A9&source=en&target=fr";
    static const char multipart[] = PART("q") "The dog runs. \xc3\xa9\r\n" PART(
        "source") "en\r\n" PART("target") "fr\r\n--XX--\r\n";
    const struct call calls[] = {
        {.json = "{'q': 'The dog runs. \xc3\xa9', 'source': 'en', 'target': 'fr'}"},
        {.json = " \n{'q': 'The dog runs. \xc3\xa9', 'source': 'en', 'target': 'fr'}",
         .headers = {"Content-Type: text/plain"}},
        {.json =
             "{'q': 'The dog runs. \xc3\xa9', 'source': 'en', 'target': 'fr', 'format': 'text'}",
         .headers = {JSON}},
        {.body = form, .headers = {URLENCODED}},
        {.body = multipart, .headers = {MULTIPART}},
        {.path = "/translate?q=The+dog%20runs.%20%C3%A9&source=en&target=fr", .method = "POST"},
        {.path = "/translate?source=en&target=fr",
         .body = "q=The+dog%20runs.%20%C3%A9",
         .headers = {URLENCODED}},
        {.path = "/translate?q=no&source=fr",
         .body = form,
         .headers = {URLENCODED}}, /* the body's go first */
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct call call = calls[i];
        call.path = call.path ? call.path : "/translate";
        check_text(&call, expected);
    }
    free(expected);
}
END_TEST

/* Values over any buffer of the form's reader. */
START_TEST(long_values) {
    char *expected = native("The dog runs."), *body = malloc(120000), *end = body;
    end += sprintf(end, "extra=");
    memset(end, 'x', 100000);
    strcpy(end + 100000, "&q=The%20dog%20runs.&source=en&target=fr");
    check_text(&(struct call){.path = "/translate", .body = body, .headers = {URLENCODED}},
               expected);
    end = body + sprintf(body, PART("extra"));
    memset(end, 'x', 100000);
    strcpy(end + 100000, "\r\n" PART("q") "The dog runs.\r\n" PART("source") "en\r\n" PART(
                             "target") "fr\r\n--XX--\r\n");
    check_text(&(struct call){.path = "/translate", .body = body, .headers = {MULTIPART}},
               expected);
    free(body);
    free(expected);
}
END_TEST

START_TEST(ignored_and_absent) {
    static const char *const bodies[] = {
        "{'q': 'The dog runs.', 'source': 'en', 'target': 'fr', 'api_key': null}",
        "{'q': 'The dog runs.', 'source': 'en', 'target': 'fr', 'api_key': ''}",
        "{'q': 'The dog runs.', 'source': 'EN', 'target': 'Fr', 'apiKey': 'x', 'format': null}",
        ("{'q': 'The dog runs.', 'source': 'en-US', 'target': 'fr_CA', 'format': '', "
         "'alternatives': 0}"),
        "{'q': 'The dog runs.', 'source': 'en', 'target': 'fr', 'alternatives': -3}",
    };
    char *expected = native("The dog runs.");
    for (size_t i = 0; i < COUNT(bodies); i++)
        check_text(&(struct call){.path = "/translate", .json = bodies[i]}, expected);
    free(expected);
}
END_TEST

/* ---- answers ---- */

START_TEST(arrays) {
    struct reply reply;
    post("{'q': ['The dog runs.', '', ' ', 'A boy plays.'], 'source': 'en', 'target': 'fr'}",
         &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translatedText")), 4);
    char *first = native("The dog runs."), *last = native("A boy plays.");
    ck_assert_str_eq(text_at(reply.json, "translatedText.0"), first);
    ck_assert_str_eq(text_at(reply.json, "translatedText.1"), "");
    ck_assert_str_eq(text_at(reply.json, "translatedText.2"), " ");
    ck_assert_str_eq(text_at(reply.json, "translatedText.3"), last);
    ck_assert_uint_eq(json_object_size(reply.json), 1);
    reply_done(&reply);
    free(first);
    free(last);
}
END_TEST

START_TEST(detected_language) {
    struct reply reply;
    post("{'q': 'Where is the train station?', 'source': 'auto', 'target': 'fr'}", &reply);
    ck_assert_str_eq(text_at(reply.json, "detectedLanguage.language"), "en");
    ck_assert_double_gt(number_at(reply.json, "detectedLanguage.confidence"), 50);
    reply_done(&reply);
    post("{'q': ['O\xc3\xb9 est la gare ?', 'Je ne sais pas.'], 'source': 'Auto', 'target': 'en'}",
         &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "detectedLanguage")), 2);
    ck_assert_str_eq(text_at(reply.json, "detectedLanguage.1.language"), "fr");
    reply_done(&reply);
    post("{'q': '12345', 'source': 'auto', 'target': 'fr'}", &reply);
    ck_assert_double_lt(number_at(reply.json, "detectedLanguage.confidence"), 1);
    reply_done(&reply);
}
END_TEST

/* As LibreTranslate does: an empty text is not an error. */
START_TEST(same_language) {
    struct reply reply;
    post("{'q': 'O\xc3\xb9 est la <b>gare</b> ?', 'source': 'auto', 'target': 'fr', "
         "'alternatives': 1, 'format': 'html'}",
         &reply);
    ck_assert_str_eq(text_at(reply.json, "translatedText"), "O\xc3\xb9 est la <b>gare</b> ?");
    reply_done(&reply);
    check_text(&(struct call){.path = "/translate",
                              .json = "{'q': 'x', 'source': 'en', 'target': 'en-GB'}"},
               "x");
}
END_TEST

START_TEST(alternatives) {
    struct reply reply;
    post("{'q': 'A boy plays in the snow.', 'source': 'en', 'target': 'fr', 'alternatives': 3}",
         &reply);
    const json_t *others = json_at(reply.json, "alternatives");
    ck_assert_uint_ge(json_array_size(others), 1);
    ck_assert_uint_le(json_array_size(others), 3);
    for (size_t i = 0; i < json_array_size(others); i++)
        ck_assert(!json_equal(json_array_get(others, i), json_at(reply.json, "translatedText")));
    reply_done(&reply);
    post("{'q': ['A boy plays.', 'The dog runs. A boy plays.'], 'source': 'en', 'target': 'fr', "
         "'alternatives': '2'}",
         &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "alternatives")), 2);
    ck_assert(json_is_array(json_at(reply.json, "alternatives.1")));
    reply_done(&reply);
    post("{'q': '<b>A boy</b>', 'source': 'en', 'target': 'fr', 'alternatives': 2, 'format': "
         "'html'}",
         &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "alternatives")), 0);
    reply_done(&reply);
}
END_TEST

/* ---- markup ---- */

START_TEST(markup) {
    struct reply reply;
    post("{'q': '<p id=a>The <b>dog</b> runs.</p><pre>x  y</pre><p class=notranslate>A boy</p>', "
         "'source': 'en', 'target': 'fr', "
         "'format': 'html'}",
         &reply);
    const char *text = text_at(reply.json, "translatedText");
    ck_assert_msg(strncmp(text, "<p id=\"a\">", 10) == 0, "%s", text);
    ck_assert_msg(strstr(text, "<b>") && strstr(text, "</b>"), "%s", text);
    ck_assert_msg(strstr(text, "</p><pre>x  y</pre><p class=\"notranslate\">A boy</p>"), "%s",
                  text);
    reply_done(&reply);
    post("{'q': ['<p>A boy', '<br>', ''], 'source': 'en', 'target': 'fr', 'format': 'html'}",
         &reply);
    text = text_at(reply.json, "translatedText.0");
    ck_assert_msg(strcmp(text + strlen(text) - 4, "</p>") == 0, "%s", text);
    ck_assert_str_eq(text_at(reply.json, "translatedText.1"), "<br/>");
    ck_assert_str_eq(text_at(reply.json, "translatedText.2"), "");
    reply_done(&reply);
}
END_TEST

/* Some clients take an empty answer for a failure. */
START_TEST(never_empty) {
    static const char *const bodies[] = {
        "{'q': '</b>', 'source': 'en', 'target': 'fr', 'format': 'html'}",
        "{'q': '<!-- x', 'source': 'en', 'target': 'fr', 'format': 'html'}",
        "{'q': ' ', 'source': 'en', 'target': 'fr', 'format': 'html'}",
        "{'q': ' ', 'source': 'en', 'target': 'fr'}",
        "{'q': '\\u200b', 'source': 'en', 'target': 'fr'}",
        "{'q': '.', 'source': 'fr', 'target': 'en'}",
        "{'q': '<i></i>', 'source': 'en', 'target': 'fr', 'format': 'html'}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply reply;
        post(bodies[i], &reply);
        ck_assert_msg(text_at(reply.json, "translatedText")[0] != '\0', "%s: %s", bodies[i],
                      reply.body);
        reply_done(&reply);
    }
}
END_TEST

static char *make_deep_markup(size_t depth) {
    char *body = malloc(200000),
         *end = body +
                sprintf(body,
                        "{\"source\": \"en\", \"target\": \"fr\", \"format\": \"html\", \"q\": \"");
    for (size_t i = 0; i < depth; i++)
        end += sprintf(end, "<i title='x'>");
    strcpy(end, "A boy plays.\"}");
    return body;
}

START_TEST(deep_markup) {
    char *body = make_deep_markup(256);
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_msg(reply.status == 200, "%.200s", reply.body);
    size_t count = 0;
    for (const char *at = text_at(reply.json, "translatedText"); (at = strstr(at, "</i>")) != NULL;
         at++)
        count++;
    ck_assert_uint_eq(count, 256);
    reply_done(&reply);
    free(body);
    body = make_deep_markup(12000);
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "Invalid request: line 1: elements nest deeper than 256");
    ck_assert_str_eq(text_at(reply.json, "field"), "q");
    reply_done(&reply);
    free(body);
}
END_TEST

/* One sentence of many words with an element in it is wrapped where the model takes no more. */
START_TEST(long_sentences) {
    struct reply reply;
    post(
        "{'q': '<p>a boy and a dog play in the snow, while the old man <b>sleeps near the "
        "fire</b>; nobody sees that the night has "
        "come and that the wind has turned</p>', 'source': 'en', 'target': 'fr', 'format': 'html'}",
        &reply);
    const char *text = text_at(reply.json, "translatedText"), *open = strstr(text, "<b>");
    ck_assert_msg(open && strstr(open, "</b>"), "%s", text);
    reply_done(&reply);
}
END_TEST

/* ---- errors ---- */

static void check_refusal(const struct call *call, long status, const char *field,
                          const char *message) {
    struct reply reply;
    client_send(&served, call, &reply);
    ck_assert_msg(reply.status == status, "wanted %ld, got %ld %s", status, reply.status,
                  reply.body ? reply.body : "");
    ck_assert_str_eq(text_at(reply.json, "error"), message);
    if (field)
        ck_assert_str_eq(text_at(reply.json, "field"), field);
    reply_done(&reply);
}

START_TEST(refusals) {
    static const struct {
        const char *json, *field, *message;
    } rows[] = {
        {"{'source': 'en', 'target': 'fr'}", "q", "Invalid request: missing q parameter"},
        {"{'format': 'text'}", "q", "Invalid request: missing q parameter"},
        {"{'q': '', 'source': 'en', 'target': 'fr'}", "q", "Invalid request: missing q parameter"},
        {"{'q': [], 'source': 'en', 'target': 'fr'}", "q", "Invalid request: missing q parameter"},
        {"{'q': null, 'source': 'en', 'target': 'fr'}", "q",
         "Invalid request: missing q parameter"},
        {"{'q': 1, 'source': 'en', 'target': 'fr'}", "q",
         "Invalid request: q parameter is not a string or an array of strings"},
        {"{'q': ['x', 1], 'source': 'en', 'target': 'fr'}", "q",
         "Invalid request: q parameter is not a string or an array of strings"},
        {"{'q': 'x', 'target': 'fr'}", "source", "Invalid request: missing source parameter"},
        {"{'q': 'x', 'source': '', 'target': 'fr'}", "source",
         "Invalid request: missing source parameter"},
        {"{'q': 'x', 'source': 'en'}", "target", "Invalid request: missing target parameter"},
        {"{'q': 'x', 'source': 1, 'target': 'fr'}", "source",
         "Invalid request: source parameter is not a string"},
        {"{'q': 'x', 'source': 'zz', 'target': 'fr'}", "source", "zz is not supported"},
        {"{'q': 'x', 'source': 'en', 'target': 'zz'}", "target", "zz is not supported"},
        {"{'q': 'x', 'source': 'en', 'target': 'auto'}", "target", "auto is not supported"},
        {"{'q': 'x', 'source': 'en', 'target': 'x-y-z'}", "target", "x-y-z is not supported"},
        {"{'q': 'x', 'source': 'en', 'target': 'fr', 'format': 'xml'}", "format",
         "xml format is not supported"},
        {"{'q': 'x', 'source': 'en', 'target': 'fr', 'alternatives': 'x'}", "alternatives",
         "Invalid request: alternatives parameter is not a number"},
        {"{'q': 'x', 'source': 'en', 'target': 'fr', 'alternatives': 1.5}", "alternatives",
         "Invalid request: alternatives parameter is not a number"},
        {"{'q': 'x', 'source': 'en', 'target': 'fr', 'alternatives': true}", "alternatives",
         "Invalid request: alternatives parameter is not a number"},
        {"{'q': 'x', 'source': 'en', 'target': 'fr', 'alternatives': 32}", "alternatives",
         "Invalid request: alternatives parameter must be <= 31"},
        {"{'text': 'x', 'q': 'y'}", "q",
         "unknown field \"q\""}, /* with text it is native, and strict */
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_refusal(&(struct call){.path = "/translate", .json = rows[i].json}, 400,
                      rows[i].field, rows[i].message);
    check_refusal(&(struct call){.path = "/translate",
                                 .body = "source=en&target=fr",
                                 .headers = {URLENCODED}},
                  400, "q", "Invalid request: missing q parameter");
    check_refusal(&(struct call){.path = "/translate", .body = "api_key=", .headers = {URLENCODED}},
                  400, "q", "Invalid request: missing q parameter");
    check_refusal(&(struct call){.path = "/translate",
                                 .body = "q=%ff&source=en&target=fr",
                                 .headers = {URLENCODED}},
                  400, NULL, "the fields are not valid UTF-8");
    check_refusal(&(struct call){.path = "/translate",
                                 .body = "q=x",
                                 .headers = {"Content-Type: text/plain"}},
                  415, NULL, "the body must be a JSON object (content type application/json)");
    check_refusal(&(struct call){.path = "/attention", .json = "{'q': 'x'}"}, 400, "q",
                  "unknown field \"q\"");
}
END_TEST

START_TEST(limits) {
    char *body = malloc(8192),
         *end = body + sprintf(body, "{'source': 'en', 'target': 'fr', 'q': ['x'");
    for (size_t i = 1; i < 65; i++)
        end += sprintf(end, ", 'x'");
    strcpy(end, "]}");
    check_refusal(&(struct call){.path = "/translate", .json = body}, 400, "q",
                  "Invalid request: request (65) exceeds text limit (64)");
    end = body + sprintf(body, "{'source': 'en', 'target': 'fr', 'q': '");
    memset(end, 'x', 1001);
    strcpy(end + 1001, "'}");
    check_refusal(&(struct call){.path = "/translate", .json = body}, 413, "q",
                  "Invalid request: request (1001) exceeds text limit (1000)");
    free(body);
}
END_TEST

/* ---- the other endpoints ---- */

START_TEST(detect) {
    static const struct call calls[] = {
        {.json = "{'q': 'O\xc3\xb9 est la gare ?'}"},
        {.json = "{'q': ['O\xc3\xb9 est la gare ?', 'Je ne sais pas.']}"},
        {.body = "q=O%C3%B9+est+la+gare+%3F", .headers = {URLENCODED}},
        {.body = PART("q") "O\xc3\xb9 est la gare ?\r\n--XX--\r\n", .headers = {MULTIPART}},
        {.path = "/detect?q=O%C3%B9+est+la+gare+%3F", .method = "POST"},
    };
    struct reply reply;
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct call call = calls[i];
        call.path = call.path ? call.path : "/detect";
        client_send(&served, &call, &reply);
        ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
        ck_assert_str_eq(text_at(reply.json, "0.language"), "fr");
        ck_assert_double_gt(number_at(reply.json, "0.confidence"), 50);
        reply_done(&reply);
    }
    check_refusal(&(struct call){.path = "/detect", .json = "{}"}, 400, "q",
                  "Invalid request: missing q parameter");
    check_refusal(&(struct call){.path = "/detect", .json = "x"}, 400, "q",
                  "Invalid request: missing q parameter");
    check_refusal(
        &(struct call){.path = "/detect", .json = "x", .headers = {"Content-Type: text/plain"}},
        415, NULL, "the body must be a JSON object (content type application/json)");
}
END_TEST

/* The parser's languages are none. */
START_TEST(languages) {
    static const struct call calls[] = {
        {.path = "/languages"},
        {.path = "/languages", .method = "GET", .json = "{'q': 'x'}", .headers = {JSON}},
        {.path = "/languages",
         .method = "GET",
         .body = PART("q") "x\r\n--XX--\r\n",
         .headers = {MULTIPART}},
    };
    json_t *expected =
        json_pack("[{s:s,s:s,s:[s]},{s:s,s:s,s:[s]}]", "code", "en", "name", "English", "targets",
                  "fr", "code", "fr", "name", "French", "targets", "en");
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct reply reply;
        client_send(&served, &calls[i], &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_msg(json_equal(reply.json, expected), "%s", reply.body);
        reply_done(&reply);
    }
    json_decref(expected);
}
END_TEST

START_TEST(settings_and_spec) {
    static const char *const formats[] = {"\".docx\"", "\".pptx\"", "\".xlsx\"", "\".odt\"",
                                          "\".odp\"",  "\".ods\"",  "\".epub\""};
    struct reply reply;
    char location[HEADER_BYTES];
    client_send(&served, &(struct call){.path = "/frontend/settings"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_double_eq_tol(number_at(reply.json, "charLimit"), 1000, 0.5);
    ck_assert_str_eq(text_at(reply.json, "language.target.name"), "French");
    ck_assert(json_is_false(json_at(reply.json, "keyRequired")));
    for (size_t i = 0; i < COUNT(formats); i++)
        ck_assert_msg(strstr(reply.body, formats[i]), "no %s in %s", formats[i], reply.body);
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/spec"}, &reply);
    ck_assert_int_eq(reply.status, 302);
    ck_assert(reply_header(&reply, "Location", location));
    ck_assert_str_eq(location, "/openapi.json");
    reply_done(&reply);
}
END_TEST

/* ---- clients ---- */

START_TEST(mastodon) {
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/translate",
                               .json = "{'q': ['<p>The dog <a href=\\'x\\'>runs</a>.<br />A boy "
                                       "plays.</p>', 'A warning'], 'source': 'en', "
                                       "'target': 'fr', 'format': 'html', 'api_key': null}",
                               .headers = {JSON}},
                &reply);
    ck_assert_msg(reply.status == 200, "%s", reply.body);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translatedText")), 2);
    const char *text = text_at(reply.json, "translatedText.0");
    ck_assert_msg(strstr(text, "<a href=\"x\">") && strstr(text, "<br/>"), "%s", text);
    reply_done(&reply);
}
END_TEST

START_TEST(weblate) {
    char body[2048],
        *end =
            body + sprintf(body, "{'api_key': '', 'source': 'en', 'target': 'fr', 'q': ['Text 0'");
    for (size_t i = 1; i < 20; i++)
        end += sprintf(end, ", 'Text number %zu'", i);
    strcpy(end, "]}");
    struct reply reply;
    post(body, &reply);
    const json_t *texts = json_at(reply.json, "translatedText");
    ck_assert_uint_eq(json_array_size(texts), 20);
    for (size_t i = 0; i < 20; i++)
        ck_assert_uint_gt(json_string_length(json_array_get(texts, i)), 0);
    reply_done(&reply);
}
END_TEST

START_TEST(deadline) {
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/translate",
                               .json = "{'q': 'The dog runs. A boy plays. The dog runs. A boy "
                                       "plays.', 'source': 'en', 'target': 'fr'}",
                               .headers = {"X-Deadline-Ms: 1"}},
                &reply);
    ck_assert_msg(reply.status == 504 || reply.status == 200, "%ld", reply.status);
    if (reply.status == 504)
        ck_assert_str_eq(text_at(reply.json, "code"), "deadline_exceeded");
    reply_done(&reply);
}
END_TEST

Suite *libre_suite(void) {
    Suite *suite = suite_create("libre");
    TCase *tcase = tcase_create("libre");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, encodings);
    tcase_add_test(tcase, long_values);
    tcase_add_test(tcase, ignored_and_absent);
    tcase_add_test(tcase, arrays);
    tcase_add_test(tcase, detected_language);
    tcase_add_test(tcase, same_language);
    tcase_add_test(tcase, alternatives);
    tcase_add_test(tcase, markup);
    tcase_add_test(tcase, never_empty);
    tcase_add_test(tcase, deep_markup);
    tcase_add_test(tcase, long_sentences);
    tcase_add_test(tcase, refusals);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, detect);
    tcase_add_test(tcase, languages);
    tcase_add_test(tcase, settings_and_spec);
    tcase_add_test(tcase, mastodon);
    tcase_add_test(tcase, weblate);
    tcase_add_test(tcase, deadline);
    suite_add_tcase(suite, tcase);
    return suite;
}
