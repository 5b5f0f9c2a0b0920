/* Complete conversations of clients that are not npm packages: Weblate's back ends for DeepL,
 * Google and Microsoft, as they send them, with keys, from the question for languages to the
 * translation. The extensions' are in test_dialects.c. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON  "Content-Type: application/json"
#define DEEPL "Authorization: DeepL-Auth-Key user"

static struct daemon served;
static char folder[] = "/tmp/alignd-weblate-XXXXXX", keys[64], file[64];

/* printf %s user | sha256sum */
static void setup(void) {
    static const char line[] =
        "weblate user 04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb\n";
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(keys, sizeof keys, "%s/keys", folder);
    snprintf(file, sizeof file, "%s/glossaries", folder);
    FILE *out = fopen(keys, "w");
    ck_assert(out && fputs(line, out) >= 0 && fclose(out) == 0);
    daemon_start(&served,
                 ARGUMENTS("--model", "weights/en-fr", "--api-keys", keys, "--glossaries", file));
}

static void teardown(void) {
    daemon_stop(&served);
    unlink(keys);
    unlink(file);
    rmdir(folder);
}

static void ask(const struct call *call, long status, struct reply *reply) {
    client_send(&served, call, reply);
    ck_assert_msg(reply->status == status, "%s: wanted %ld, got %ld %s", call->path, status,
                  reply->status, reply->body ? reply->body : "");
}

static void expect(const struct call *call, const char *path, const char *part) {
    struct reply reply;
    ask(call, 200, &reply);
    ck_assert_msg(strstr(text_at(reply.json, path), part), "%s: no %s in %s", call->path, part,
                  text_at(reply.json, path));
    reply_done(&reply);
}

/* Glossaries are made as JSON, found by name in the list, and removed; placeholders of a unit are
 * empty <x> tags. */
START_TEST(weblate_deepl) {
    struct reply reply;
    char id[64], path[96], json[512];
    expect(&(struct call){.path = "/v2/languages?type=source", .headers = {DEEPL}}, "0.language",
           "EN");
    expect(&(struct call){.path = "/v2/languages?type=target", .headers = {DEEPL}}, "0.language",
           "FR");
    expect(&(struct call){.path = "/v2/glossary-language-pairs", .headers = {DEEPL}},
           "supported_languages.0.target_lang", "fr");
    ask(&(struct call){.path = "/v2/glossaries",
                       .json = "{'name': 'weblate:1:en:fr:abc', 'source_lang': 'EN', "
                               "'target_lang': 'FR', 'entries': "
                               "'snow\\tpoudreuse\\nchild\\tgamin', 'entries_format': 'tsv'}",
                       .headers = {DEEPL, JSON}},
        201, &reply);
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/glossaries", .headers = {DEEPL}}, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "glossaries.0.name"), "weblate:1:en:fr:abc");
    snprintf(id, sizeof id, "%s", text_at(reply.json, "glossaries.0.glossary_id"));
    reply_done(&reply);
    snprintf(
        json, sizeof json,
        "{'text': ['I like <x id=\\\"7\\\"></x> snow.'], 'source_lang': 'EN', 'target_lang': 'FR', "
        "'formality': 'default', "
        "'tag_handling': 'xml', 'ignore_tags': ['x'], 'context': 'Winter', 'glossary_id': '%s'}",
        id);
    const struct call translate = {.path = "/v2/translate", .json = json, .headers = {DEEPL, JSON}};
    expect(&translate, "translations.0.text", "<x id=\"7\"></x>");
    expect(&translate, "translations.0.text", "poudreuse");
    snprintf(path, sizeof path, "/v2/glossaries/%s", id);
    ask(&(struct call){.method = "DELETE", .path = path, .headers = {DEEPL}}, 204, &reply);
    reply_done(&reply);
    /* an older one, with a form */
    expect(&(struct call){.path = "/v2/translate",
                          .body = "auth_key=user&text=I+like+snow.&source_lang=EN&target_lang=FR"},
           "translations.0.text", "neige");
    expect(&(struct call){.path = "/v2/languages", .body = "auth_key=user"}, "0.language", "EN");
}
END_TEST

START_TEST(weblate_google) {
    expect(&(struct call){.path = "/language/translate/v2/languages?key=user"},
           "data.languages.0.language", "en");
    expect(
        &(struct call){
            .path =
                "/language/translate/v2/?key=user&q=I+like+snow.&source=en&target=fr&format=text"},
        "data.translations.0.translatedText", "neige");
    expect(&(struct call){.path = "/language/translate/v2/"
                                  "?key=user&q=I+like+%3Cspan+translate%3D%22no%22+id%3D%227%22%3E%"
                                  "25s%3C%2Fspan%3E.&source=en&"
                                  "target=fr&format=html"},
           "data.translations.0.translatedText", "<span translate=\"no\" id=\"7\">%s</span>");
}
END_TEST

/* The key is changed for a token, which is the key again. */
START_TEST(weblate_microsoft) {
    struct reply reply;
    char bearer[HEADER_BYTES];
    ask(&(struct call){.method = "POST", .path = "/sts/v1.0/issueToken?Subscription-Key=user"}, 200,
        &reply);
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", reply.body);
    reply_done(&reply);
    expect(&(struct call){.path = "/languages?api-version=3.0", .headers = {bearer}},
           "translation.fr.name", "French");
    expect(&(struct call){.path = "/translate?api-version=3.0&from=en&to=fr&category=general",
                          .json = "[{'Text': 'I like snow.'}]",
                          .headers = {bearer, JSON}},
           "0.translations.0.text", "neige");
    expect(
        &(struct call){
            .path = "/translate?api-version=3.0&from=en&to=fr&category=general&textType=html",
            .json = "[{'Text': 'I like <span class=\\\"notranslate\\\" id=\\\"7\\\">%s</span>.'}]",
            .headers = {bearer, JSON}},
        "0.translations.0.text", "<span class=\"notranslate\" id=\"7\">%s</span>");
}
END_TEST

/* What each client of the table in DIALECTS.md sends, and reads from the reply. Those of DeepL,
 * Google and Microsoft are above, and the packages of npm in tests/clients. */
START_TEST(each_client) {
    static const struct {
        const char *client, *path, *json, *body, *at;
    } rows[] = {
        {"Weblate", "/translate",
         "{'api_key': 'user', 'q': 'I like snow.', 'source': 'en', 'target': 'fr', 'format': "
         "'html'}",
         NULL, "translatedText"},
        {"Mastodon", "/translate",
         "{'q': ['<p>I like snow.</p>'], 'source': 'en', 'target': 'fr', 'format': 'html', "
         "'api_key': 'user'}",
         NULL, "translatedText.0"},
        {"Discourse", "/translate", NULL,
         "q=I+like+snow.&source=auto&target=fr&format=html&api_key=user", "translatedText"},
        {"Subtitle Edit", "/translate",
         "{'q': 'I like snow.', 'source': 'en', 'target': 'fr', 'api_key': 'user'}", NULL,
         "translatedText"},
        {"Subtitle Edit, DeepLX", "/translate?token=user",
         "{'text': 'I like snow.', 'source_lang': 'en', 'target_lang': 'fr'}", NULL, "data"},
        {"Zotero", "/translate",
         "{'q': 'I like snow.', 'source': 'en', 'target': 'fr', 'format': 'text', 'api_key': "
         "'user'}",
         NULL, "translatedText"},
        {"Zotero, DeepLX", "/deeplx?token=user",
         "{'text': 'I like snow.', 'source_lang': 'EN', 'target_lang': 'FR'}", NULL, "data"},
        {"Immersive Translate", "/imme?token=user",
         "{'source_lang': 'auto', 'target_lang': 'fr', 'text_list': ['I like snow.']}", NULL,
         "translations.0.text"},
        {"KISS Translator", "/kiss?token=user",
         "{'from': 'en', 'to': 'fr', 'text': 'I like snow.'}", NULL, "text"},
        {"read-frog", "/translate?token=user",
         "{'text': 'I like snow.', 'source_lang': 'EN', 'target_lang': 'FR'}", NULL, "data"},
        {"pot", "/deeplx?token=user",
         "{'text': 'I like snow.', 'source_lang': 'auto', 'target_lang': 'FR'}", NULL, "data"},
        {"MTranServer", "/translate?token=user",
         "{'from': 'en', 'to': 'fr', 'text': 'I like snow.'}", NULL, "result"},
        {"Lingva", "/api/v1/en/fr/I%20like%20snow.?token=user", NULL, NULL, "translation"},
        {"nllb-serve", "/translate?token=user",
         "{'source': ['I like snow.'], 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}", NULL,
         "translation.0"},
        {"nllb-api",
         "/api/v4/translator?token=user&text=I%20like%20snow.&source=eng_Latn&target="
         "fra_Latn",
         NULL, NULL, "result"},
        {"hcfy", "/hcfy?token=user",
         "{'text': 'I like snow.', 'destination': ['法语'], 'source': '英语', 'name': 'alignd'}",
         NULL, "result.0"},
        {"gtx", "/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&key=user&q=I%20like%20snow.", NULL,
         NULL, "0.0.0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(&(struct call){.path = rows[i].path,
                              .json = rows[i].json,
                              .body = rows[i].body,
                              .headers = {rows[i].json ? JSON : NULL}},
               rows[i].at, "neige");
}
END_TEST

Suite *dialect_clients_suite(void) {
    Suite *suite = suite_create("dialect_clients");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, weblate_deepl);
    tcase_add_test(cases, weblate_google);
    tcase_add_test(cases, weblate_microsoft);
    tcase_add_test(cases, each_client);
    suite_add_tcase(suite, cases);
    return suite;
}
