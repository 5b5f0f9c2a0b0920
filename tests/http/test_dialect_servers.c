/* The APIs of servers that people run themselves (MTranServer, NLLB servers, Lingva, hcfy's custom
 * API) and Google's other APIs: each row is a request as its clients send it, and what they read in
 * the reply. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON "Content-Type: application/json"
#define DOG  "A dog is running."

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* A request, and a text that the reply has at this place. */
struct row {
    const char *path, *json, *body; /* as in struct call */
    const char *at, *want;
    long status; /* 0: 200 */
};

static void check_row(const struct row *row) {
    struct reply reply;
    long status = row->status ? row->status : 200;
    client_send(&served,
                &(struct call){.path = row->path,
                               .json = row->json,
                               .body = row->body,
                               .headers = {row->json ? JSON : NULL}},
                &reply);
    ck_assert_msg(reply.status == status, "%s: wanted %ld, got %ld %s", row->path, status,
                  reply.status, reply.body ? reply.body : "");
    const char *got = text_at(reply.json, row->at);
    ck_assert_msg(got && strstr(got, row->want), "%s: %s is \"%s\" without \"%s\"", row->path,
                  row->at, got ? got : "(none)", row->want);
    reply_done(&reply);
}

#define CHECK_ROWS(rows)                                                                           \
    do {                                                                                           \
        for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++)                                 \
            check_row(&(rows)[i]);                                                                 \
    } while (0)

START_TEST(mtran) {
    static const struct row rows[] = {
        {"/translate", "{'from': 'en', 'to': 'fr', 'text': '" DOG "'}", NULL, "result", "chien", 0},
        {"/translate", "{'from': 'en', 'to': 'fr', 'text': 'A <b>dog</b>.', 'html': true}", NULL,
         "result", "<b>chien</b>", 0},
        {"/translate/batch", "{'from': 'en', 'to': 'fr', 'texts': ['A boy.', '" DOG "']}", NULL,
         "results.1", "chien", 0},
        {"/translate", "{'from': 'en', 'to': 'xx', 'text': 'x'}", NULL, "error",
         "\"xx\" is not supported", 400},
        {"/translate", "{'from': 'en', 'to': 'fr', 'text': ['x']}", NULL, "error",
         "/translate/batch", 400},
        {"/translate/batch", "{'from': 'en', 'to': 'fr', 'texts': 'x'}", NULL, "error",
         "must be an array", 400},
        {"/detect", "{'text': 'A dog is running in the garden.'}", NULL, "language", "en", 0},
        {"/version", NULL, NULL, "version", "", 0},
    };
    struct reply reply;
    CHECK_ROWS(rows);
    client_post(&served, "/detect", "{'text': 'A dog is running.', 'minConfidence': 0.1}", 200,
                &reply);
    ck_assert_double_gt(number_at(reply.json, "confidence"), 0.5);
    ck_assert_str_eq(text_at(reply.json, "language"), "en");
    reply_done(&reply);
    client_post(&served, "/detect", "{'text': 'A dog is running.', 'minConfidence': 1.1}", 200,
                &reply);
    ck_assert_str_eq(text_at(reply.json, "language"), "");
    ck_assert_double_gt(number_at(reply.json, "confidence"), 0.5);
    reply_done(&reply);
    client_post(&served, "/detect", "{'text': 'A dog is running.', 'minConfidence': 'x'}", 400,
                &reply);
    reply_done(&reply);
}
END_TEST

START_TEST(nllb) {
    static const struct row rows[] = {
        {"/translate",
         "{'source': ['A boy.', '" DOG "'], 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}", NULL,
         "translation.1", "chien", 0},
        {"/translate", "{'source': '" DOG "', 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}",
         NULL, "tgt_lang", "fra_Latn", 0},
        {"/translate?source=A%20boy.&src_lang=eng_Latn&tgt_lang=fra_Latn&source=A%20dog.", NULL,
         NULL, "source.1", "A dog.", 0},
        {"/translate", "{'source': 'x', 'src_lang': 'eng_Latn', 'tgt_lang': 'deu_Latn'}", NULL,
         "error", "is not supported", 400},
        {"/api/v4/translator?text=A%20dog.&source=eng_Latn&target=fra_Latn", NULL, NULL, "result",
         "chien", 0},
        {"/api/v4/translator", "{'text': 'A dog.', 'source': 'eng_Latn', 'target': 'fra_Latn'}",
         NULL, "result", "chien", 0},
        {"/api/v4/language?text=A%20dog%20is%20running", NULL, NULL, "language", "eng_Latn", 0},
    };
    CHECK_ROWS(rows);
}
END_TEST

START_TEST(lingva) {
    static const struct row rows[] = {
        {"/api/v1/en/fr/A%20dog%20is%20running.", NULL, NULL, "translation", "chien", 0},
        {"/api/v1/en/fr/cats%2Fdogs", NULL, NULL, "translation", "/", 0}, /* a slash in the text */
        {"/api/v1/auto/fr/A%20dog%20is%20running.", NULL, NULL, "info.detectedSource", "en", 0},
        {"/api/v1/en/xx/x", NULL, NULL, "error", "is not supported", 400},
        {"/api/v1/languages", NULL, NULL, "languages.1.name", "French", 0},
        {"/api/v1/languages/target", NULL, NULL, "languages.0.code", "fr", 0},
        {"/api/v1/languages/both", NULL, NULL, "error", "Type", 400},
        {"/api/v1/en/fr", NULL, NULL, "code", "not_found", 404},
    };
    CHECK_ROWS(rows);
}
END_TEST

START_TEST(hcfy) {
    static const struct row rows[] = {
        {"/hcfy", "{'text': '" DOG "\\nA boy.', 'destination': ['法语'], 'source': '英语'}", NULL,
         "result.0", "chien", 0},
        {"/hcfy", "{'text': 'A boy.\\n\\n" DOG "', 'destination': ['法语'], 'source': 'auto'}",
         NULL, "result.2", "chien", 0},
        /* a text in the first language goes into the second */
        {"/hcfy", "{'text': '" DOG "', 'destination': ['英语', '法语'], 'source': 'auto'}", NULL,
         "to", "法语", 0},
        {"/hcfy", "{'text': '" DOG "', 'destination': ['fr']}", NULL, "from", "英语", 0},
        {"/hcfy", "{'text': '" DOG "'}", NULL, "error", "destination", 400},
        {"/hcfy", "{'destination': ['fr']}", NULL, "error", "text must be a string", 400},
    };
    char many[4096] = "{'destination': ['fr'], 'text': '";
    for (size_t i = 0; i < 1000; i++)
        strcat(many, "\\n");
    strcat(many, "'}");
    const struct row lines = {"/hcfy", many, NULL, "error", "at most 1000 lines, got 1001", 413};
    CHECK_ROWS(rows);
    check_row(&lines);
}
END_TEST

START_TEST(google) {
    static const struct row rows[] = {
        {"/v3/projects/p/locations/global:translateText",
         "{'contents': ['A boy.', 'A <b>dog</b>.'], 'targetLanguageCode': 'fr'}", NULL,
         "translations.1.translatedText", "<b>chien</b>", 0},
        {"/v3/projects/p:translateText",
         "{'contents': ['" DOG "'], 'targetLanguageCode': 'fr', 'mimeType': 'text/plain'}", NULL,
         "translations.0.detectedLanguageCode", "en", 0},
        {"/v3/projects/p:translateText", "{'contents': ['x'], 'mimeType': 'a/b'}", NULL,
         "error.status", "INVALID_ARGUMENT", 400},
        {"/v3/projects/p:translateText",
         "{'contents': ['x'], 'targetLanguageCode': 'fr', 'glossaryConfig': 'x'}", NULL,
         "error.message", "glossaryConfig must be an object", 400},
        {"/v3/projects/p/locations/l:detectLanguage", "{'content': '" DOG "'}", NULL,
         "languages.0.languageCode", "en", 0},
        {"/v3/projects/p:detectLanguage", "{'content': '" DOG "'}", NULL,
         "languages.0.languageCode", "en", 0},
        {"/v3/projects/p/locations/l/supportedLanguages?displayLanguageCode=fr", NULL, NULL,
         "languages.0.displayName", "anglais", 0},
        {"/v3/projects/p/supportedLanguages", NULL, NULL, "languages.1.languageCode", "fr", 0},
        {"/translate_a/single?client=gtx&sl=auto&tl=fr&dt=t&q=A%20dog.", NULL, NULL, "0.0.0",
         "chien", 0},
        {"/translate_a/single?client=gtx&sl=auto&tl=fr&dt=t&q=A%20dog.", NULL, NULL, "2", "en", 0},
        {"/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&dj=1&q=A%20dog.", NULL, NULL,
         "sentences.0.trans", "chien", 0},
        {"/translate_a/single", NULL, "client=gtx&sl=en&tl=fr&dt=t&q=A%20dog.", "0.0.1", "A dog.",
         0},
        {"/translate_a/t?client=gtx&sl=en&tl=fr&q=A%20boy.&q=A%20dog.", NULL, NULL, "1", "chien",
         0},
        {"/translate_a/t", NULL, "client=gtx&sl=auto&tl=fr&format=html&q=A%20%3Cb%3Edog%3C/b%3E.",
         "0.0", "<b>chien</b>", 0},
        {"/translate_a/t?client=gtx&sl=en&tl=xx&q=x", NULL, NULL, "error.message",
         "is not supported", 400},
    };
    struct reply reply;
    CHECK_ROWS(rows);
    client_send(&served, &(struct call){.path = "/v3/projects/p/locations/l/supportedLanguages"},
                &reply);
    ck_assert(json_is_true(json_at(reply.json, "languages.0.supportSource")));
    ck_assert(json_is_false(json_at(reply.json, "languages.0.supportTarget")));
    reply_done(&reply);
}
END_TEST

#define NEW "/translate?api-version=2026-06-06"

/* Each input of 2026-06-06 has its own languages and kind. */
START_TEST(microsoft_2026) {
    static const struct row rows[] = {
        {NEW,
         "{'inputs': [{'text': '" DOG
         "', 'targets': [{'language': 'fr'}]}, {'text': 'A <b>dog</b>.', "
         "'language': 'en', 'textType': 'Html', 'targets': [{'language': 'en'}, {'language': "
         "'fr'}]}]}",
         NULL, "value.1.translations.1.text", "<b>chien</b>", 0},
        {NEW, "{'inputs': [{'text': '" DOG "', 'targets': [{'language': 'fr'}]}]}", NULL,
         "value.0.translations.0.language", "fr", 0},
        {NEW, "{'inputs': [{'text': '" DOG "', 'targets': [{'language': 'fr'}]}]}", NULL,
         "value.0.detectedLanguage.language", "en", 0},
        {NEW "&includeAlignment=true",
         "{'inputs': [{'text': 'A dog.', 'language': 'en', 'targets': [{'language': 'fr'}]}]}",
         NULL, "value.0.translations.0.alignment.proj", "2:4-3:7", 0},
        {NEW, "{'inputs': [{'text': 'x', 'targets': [{'language': 'xx'}]}]}", NULL, "error.message",
         "inputs.targets: \"xx\" is not supported", 400},
        {NEW, "{'inputs': [{'text': 'x', 'language': 'xx', 'targets': [{'language': 'fr'}]}]}",
         NULL, "error.message", "inputs.language: \"xx\" is not supported", 400},
        {NEW, "{'inputs': [{'text': 'x', 'targets': []}]}", NULL, "error.message",
         "inputs[0].targets must be an array of 1 to 16", 400},
        {NEW, "{'inputs': [{'text': 'x', 'targets': [{}]}]}", NULL, "error.message",
         "inputs[0].targets[0].language is missing", 400},
        {NEW, "{'inputs': [{'text': 'x', 'textType': 'x', 'targets': [{'language': 'fr'}]}]}", NULL,
         "error.message", "textType must be plain or html", 400},
        {NEW, "{'inputs': [{'targets': [{'language': 'fr'}]}]}", NULL, "error.message",
         "Text must be a string", 400},
        {NEW, "[{'Text': 'x'}]", NULL, "error.message", "the body must be {\"inputs\": [", 400},
        /* an unknown version: the known ones */
        {"/translate?api-version=2.0&to=fr", "[{'Text': 'x'}]", NULL, "error.message",
         "api-version must be 3.0 or 2026-06-06, got \"2.0\"", 400},
        {"/translate", "{'inputs': []}", NULL, "error.message", "3.0 or 2026-06-06", 400},
        {"/translate?to=fr", "[{'Text': 'x'}]", NULL, "error.message", "3.0 or 2026-06-06", 400},
        {"/languages?api-version=2.0", NULL, NULL, "error.message", "3.0 or 2026-06-06", 400},
        {"/detect?api-version=2026-06-06", "{'inputs': [{'text': 'x'}]}", NULL, "error.message",
         "/detect is part of api-version 3.0 only", 400},
    };
    struct reply reply;
    CHECK_ROWS(rows);
    client_post(&served, NEW, rows[0].json, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "value")), 2);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "value.0.translations")), 1);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "value.1.translations")), 2);
    ck_assert_double_eq(number_at(reply.json, "value.0.translations.0.sourceCharacters"), 17);
    ck_assert_ptr_null(json_object_get(json_at(reply.json, "value.1"), "detectedLanguage"));
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/languages?api-version=2026-06-06"}, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "translation.fr.models")), 0);
    reply_done(&reply);
}
END_TEST

/* Texts in other scripts, in both versions. */
START_TEST(microsoft_scripts) {
#define SCRIPTS "/transliterate?api-version=3.0&language=ru&fromScript=Cyrl&toScript=Latn"
    static const struct row rows[] = {
        {SCRIPTS, "[{'Text': 'привет'}]", NULL, "0.text", "privet", 0},
        {SCRIPTS, "[{'Text': 'привет'}]", NULL, "0.script", "Latn", 0},
        {"/transliterate?api-version=2026-06-06&language=ja&fromScript=Jpan&toScript=Latn",
         "{'inputs': [{'text': 'ひらがな カタカナ'}]}", NULL, "value.0.text", "hiragana katakana",
         0},
        {"/transliterate?api-version=3.0&language=hi&fromScript=Latn&toScript=Deva",
         "[{'Text': 'namaste'}]", NULL, "0.text", "नमस्त", 0},
        {"/transliterate?api-version=3.0&language=zh&fromScript=Hans&toScript=Hant",
         "[{'Text': '汉语'}]", NULL, "0.text", "漢語", 0},
        {"/transliterate?api-version=3.0&language=ru&fromScript=Cyrl&toScript=Xxxx",
         "[{'Text': 'x'}]", NULL, "error.message", "no conversion from script Cyrl to Xxxx", 400},
        {"/transliterate?api-version=3.0&language=ru&fromScript=Any&toScript=Hex",
         "[{'Text': 'x'}]", NULL, "error.message", "no conversion", 400},
        {"/transliterate?api-version=3.0&language=ru&fromScript=Cyrl", "[{'Text': 'x'}]", NULL,
         "error.message", "toScript is missing", 400},
    };
    CHECK_ROWS(rows);
}
END_TEST

/* Ranges are those of the HTML that was sent and of that which came back. */
START_TEST(microsoft_html_alignment) {
    static const struct {
        const char *html, *source, *target;
    } rows[] = {
        {"<p>A <b>dog</b> runs.</p>", "dog", "chien"},
        {"<p>It snows.</p><ul><li>Snow</li><li>A <i>dog</i> &amp; a boy.</li></ul>", "dog",
         "chien"},
        {"<script>dog()</script><!-- dog --><p title='A dog'>It snows. A d&#111;g.</p>", "d&#111;g",
         "chien"},
        {"<p>A <b>dog &amp; a boy</b> run.</p>", "&amp;", "et"},
    };
    static const char *const paths[] = {
        "/translate?api-version=3.0&from=en&to=fr&textType=html&includeAlignment=true",
        NEW "&includeAlignment=true"};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const char *html = rows[i / 2].html;
        struct reply reply;
        json_t *body = i % 2 == 0 ? json_pack("[{s:s}]", "Text", html)
                                  : json_pack("{s:[{s:s,s:s,s:s,s:[{s:s}]}]}", "inputs", "text",
                                              html, "language", "en", "textType", "Html", "targets",
                                              "language", "fr");
        char *json = json_dumps(body, 0);
        client_send(&served, &(struct call){.path = paths[i % 2], .body = json, .headers = {JSON}},
                    &reply);
        ck_assert_msg(reply.status == 200, "%s", reply.body);
        const json_t *item =
            json_at(reply.json, i % 2 == 0 ? "0.translations.0" : "value.0.translations.0");
        const char *text = text_at(item, "text"), *proj = text_at(item, "alignment.proj");
        size_t found = 0;
        for (const char *at = proj; at; at = strchr(at, ' ')) {
            size_t from, last, to, end; /* the texts are ASCII up to there */
            at += *at == ' ';
            ck_assert_int_eq(sscanf(at, "%zu:%zu-%zu:%zu", &from, &last, &to, &end), 4);
            ck_assert(from <= last && last < strlen(html) && to <= end && end < strlen(text));
            found += strlen(rows[i / 2].source) == last + 1 - from &&
                     memcmp(html + from, rows[i / 2].source, last + 1 - from) == 0 &&
                     strlen(rows[i / 2].target) == end + 1 - to &&
                     memcmp(text + to, rows[i / 2].target, end + 1 - to) == 0;
        }
        ck_assert_msg(found == 1, "%s: %s in %s", html, proj, text);
        reply_done(&reply);
        free(json);
        json_decref(body);
    }
}
END_TEST

static bool has_member(const json_t *root, const char *path) {
    char *copy = strdup(path);
    for (char *part, *rest = copy; root && (part = strsep(&rest, ".")) != NULL;)
        root = *part >= '0' && *part <= '9' ? json_array_get(root, (size_t)atoi(part))
                                            : json_object_get(root, part);
    free(copy);
    return root != NULL;
}

/* A body of POST /translate shows by its fields whose it is. Each reply has a member that no other
 * dialect's has. */
START_TEST(one_path_for_all) {
    static const struct {
        const char *query, *json, *member;
    } bodies[] = {
        {"", "{'text': 'A dog.', 'source': 'en', 'target': 'fr'}", "translations.0.sentences"},
        {"", "{'text': 'A dog.', 'source': 'en', 'target': 'fr', 'beam_size': 2}",
         "translations.0.sentences"},
        {"", "{'q': 'A dog.', 'source': 'en', 'target': 'fr'}", "translatedText"},
        {"?api-version=3.0&to=fr", "[{'Text': 'A dog.'}]", "0.translations"},
        {"?api-version=2026-06-06",
         "{'inputs': [{'text': 'A dog.', 'targets': [{'language': 'fr'}]}]}", "value"},
        {"", "{'text': 'A dog.', 'from': 'en', 'to': 'fr'}", "result"},
        {"", "{'text': 'A dog.', 'source_lang': 'EN', 'target_lang': 'FR'}", "data"},
        {"", "{'source': ['A dog.'], 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}",
         "translation"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply reply;
        char path[64];
        snprintf(path, sizeof path, "/translate%s", bodies[i].query);
        client_post(&served, path, bodies[i].json, 200, &reply);
        for (size_t other = 0; other < sizeof bodies / sizeof *bodies; other++)
            ck_assert_msg(has_member(reply.json, bodies[other].member) ==
                              (strcmp(bodies[i].member, bodies[other].member) == 0),
                          "%s: %s", bodies[i].json, reply.body);
        reply_done(&reply);
    }
}
END_TEST

/* A text in a script that no model reads comes back as it is, with its own language and a warning,
 * also if that is asked for in each service's way. */
START_TEST(script_that_no_model_reads) {
#define THAI "สวัสดีครับ"
    static const struct row rows[] = {
        {"/detect", "{'q': '" THAI "'}", NULL, "0.language", "th", 0},
        {"/detect", "{'text': '" THAI "'}", NULL, "language", "th", 0},
        {"/detect?api-version=3.0", "[{'Text': '" THAI "'}]", NULL, "0.language", "th", 0},
        {"/language/translate/v2/detect", "{'q': '" THAI "'}", NULL, "data.detections.0.0.language",
         "th", 0},
        {"/v3/projects/p:detectLanguage", "{'content': '" THAI "'}", NULL,
         "languages.0.languageCode", "th", 0},
        {"/breaksentence?api-version=3.0", "[{'Text': '" THAI "'}]", NULL,
         "0.detectedLanguage.language", "th", 0},
    };
    static const struct row translations[] = {
        {"/translate", "{'text': '" THAI "', 'target': 'fr'}", NULL,
         "translations.0.detected.language", "th", 0},
        {"/translate", "{'q': '" THAI "', 'source': 'auto', 'target': 'fr'}", NULL,
         "detectedLanguage.language", "th", 0},
        {"/v2/translate", "{'text': ['" THAI "'], 'target_lang': 'FR'}", NULL,
         "translations.0.detected_source_language", "TH", 0},
        {"/language/translate/v2", "{'q': '" THAI "', 'target': 'fr'}", NULL,
         "data.translations.0.detectedSourceLanguage", "th", 0},
        {"/v3/projects/p:translateText", "{'contents': ['" THAI "'], 'targetLanguageCode': 'fr'}",
         NULL, "translations.0.detectedLanguageCode", "th", 0},
        {"/translate?api-version=3.0&to=fr", "[{'Text': '" THAI "'}]", NULL,
         "0.detectedLanguage.language", "th", 0},
        {"/translate", "{'text': '" THAI "', 'source_lang': 'auto', 'target_lang': 'FR'}", NULL,
         "source_lang", "TH", 0},
        {"/translate",
         "{'q': '<p>" THAI "</p>', 'source': 'auto', 'target': 'fr', 'format': 'html'}", NULL,
         "detectedLanguage.language", "th", 0},
        {"/hcfy", "{'text': '" THAI "', 'destination': ['法语', '英语']}", NULL, "from", "泰语", 0},
        {"/imme", "{'source_lang': 'auto', 'target_lang': 'fr', 'text_list': ['" THAI "']}", NULL,
         "translations.0.detected_source_lang", "th", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
    for (size_t i = 0; i < sizeof translations / sizeof *translations; i++) {
        const struct row *row = &translations[i];
        struct reply reply;
        char codes[HEADER_BYTES];
        check_row(row);
        client_send(&served,
                    &(struct call){.path = row->path, .json = row->json, .headers = {JSON}},
                    &reply);
        ck_assert_msg(strstr(reply.body, THAI), "%s", reply.body);
        if (!json_object_get(json_array_get(json_object_get(reply.json, "translations"), 0),
                             "warnings"))
            ck_assert_msg(reply_header(&reply, "X-Alignd-Warnings", codes) &&
                              strstr(codes, "language"),
                          "%s: %s", row->path, reply.headers);
        reply_done(&reply);
    }
    struct reply reply;
    client_post(&served, "/detect", "{'q': '" THAI "'}", 200, &reply);
    ck_assert_double_eq(number_at(reply.json, "0.confidence"), 0);
    reply_done(&reply);
    client_post(&served, "/detect?api-version=3.0", "[{'Text': '" THAI "'}]", 200, &reply);
    ck_assert(json_is_false(json_at(reply.json, "0.isTranslationSupported")));
    reply_done(&reply);
}
END_TEST

/* Some clients show the first alternative in place of the translation. */
START_TEST(deeplx_has_alternatives_only_if_asked) {
    static const struct {
        const char *path, *more;
        size_t least, most;
    } asked[] = {{"/deeplx", "", 0, 0},
                 {"/translate", "", 0, 0},
                 {"/v1/translate", ", 'alternatives': 2", 1, 2}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct reply reply;
        char json[256];
        snprintf(json, sizeof json,
                 "{'text': '" DOG "', 'source_lang': 'EN', 'target_lang': 'FR'%s}", asked[i].more);
        client_post(&served, asked[i].path, json, 200, &reply);
        size_t count = json_array_size(json_at(reply.json, "alternatives"));
        ck_assert_msg(count >= asked[i].least && count <= asked[i].most, "%s", reply.body);
        reply_done(&reply);
    }
}
END_TEST

/* MTranServer's clients send their key without a scheme, or as a token. */
START_TEST(keys_of_mtran) {
    static const char line[] =
        "mtran user 04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb\n";
    static const struct {
        const char *path, *header;
        long status;
    } keys[] = {
        {"/translate", "Authorization: user", 200},
        {"/translate", "X-Api-Token: user", 200},
        {"/translate?token=user", NULL, 200},
        {"/translate?api_token=user", NULL, 200},
        {"/translate", "Authorization: other", 403},
        {"/translate", "Authorization: Basic user", 401},
        {"/translate", NULL, 401},
    };
    char file[] = "/tmp/alignd-keys-XXXXXX";
    struct daemon guarded;
    int fd = mkstemp(file);
    ck_assert(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line) && close(fd) == 0);
    daemon_start(&guarded, ARGUMENTS("--model", "weights/en-fr", "--api-keys", file));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct reply reply;
        client_send(&guarded,
                    &(struct call){.path = keys[i].path,
                                   .json = "{'from': 'en', 'to': 'fr', 'text': 'A dog.'}",
                                   .headers = {JSON, keys[i].header}},
                    &reply);
        ck_assert_msg(reply.status == keys[i].status, "%s %s: %ld", keys[i].path,
                      keys[i].header ? keys[i].header : "", reply.status);
        reply_done(&reply);
    }
    daemon_stop(&guarded);
    unlink(file);
}
END_TEST

Suite *dialect_servers_suite(void) {
    Suite *suite = suite_create("dialect_servers");
    TCase *cases = tcase_create("shapes"), *alone = tcase_create("keys");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_unchecked_fixture(cases, setup, teardown);
    tcase_add_test(cases, mtran);
    tcase_add_test(cases, nllb);
    tcase_add_test(cases, lingva);
    tcase_add_test(cases, hcfy);
    tcase_add_test(cases, google);
    tcase_add_test(cases, microsoft_2026);
    tcase_add_test(cases, microsoft_html_alignment);
    tcase_add_test(cases, microsoft_scripts);
    tcase_add_test(cases, one_path_for_all);
    tcase_add_test(cases, deeplx_has_alternatives_only_if_asked);
    tcase_add_test(cases, script_that_no_model_reads);
    suite_add_tcase(suite, cases);
    tcase_set_timeout(alone, TEST_TIMEOUT_S);
    tcase_add_test(alone, keys_of_mtran);
    suite_add_tcase(suite, alone);
    return suite;
}
