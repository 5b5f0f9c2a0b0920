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

/* What each client of the table in DIALECTS.md sends, and reads from the reply: "neige" unless
 * another text is wanted. tests/test_docs.py looks for each of the table's names here and in
 * tests/clients. Those of clients that send no key are in the next test. */
struct client {
    const char *name, *path, *json, *body, *header, *at, *want;
};

static void check_clients(const struct client *clients, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct client *client = &clients[i];
        expect(&(struct call){.path = client->path,
                              .json = client->json,
                              .body = client->body,
                              .headers = {client->json ? JSON : client->header,
                                          client->json ? client->header : NULL}},
               client->at, client->want ? client->want : "neige");
    }
}

START_TEST(each_client) {
    static const struct client clients[] = {
        {.name = "Weblate",
         .path = "/translate",
         .json = "{'api_key': 'user', 'q': ['I like snow.', 'Hello'], 'source': 'en', "
                 "'target': 'fr'}",
         .at = "translatedText.0"},
        {.name = "Mastodon",
         .path = "/translate",
         .json = "{'q': ['<p>I like snow.</p>'], 'source': 'auto', 'target': 'fr', "
                 "'format': 'html', 'api_key': 'user'}",
         .at = "translatedText.0"},
        {.name = "Mastodon", .path = "/languages", .at = "0.code", .want = "en"},
        {.name = "Discourse",
         .path = "/detect",
         .body = "q=I+like+snow.&api_key=user",
         .at = "0.language",
         .want = "en"},
        {.name = "Discourse",
         .path = "/translate",
         .body = "q=I+like+snow.&source=en&target=fr&format=html&api_key=user",
         .at = "translatedText"},
        {.name = "Zotero",
         .path = "/translate",
         .json = "{'q': 'I like snow.', 'source': 'en', 'target': 'fr', 'format': 'text', "
                 "'api_key': 'user'}",
         .at = "translatedText"},
        {.name = "Zotero",
         .path = "/deeplx?token=user",
         .json = "{'text': 'I like snow.', 'source_lang': 'EN', 'target_lang': 'FR'}",
         .at = "data"},
        {.name = "Zotero",
         .path = "/translate",
         .json = "{'text': 'I like snow.', 'from': 'en', 'to': 'fr'}",
         .header = "authorization: user",
         .at = "result"},
        {.name = "Immersive Translate",
         .path = "/imme?token=user",
         .json = "{'source_lang': 'auto', 'target_lang': 'fr', 'text_list': ['I like snow.']}",
         .at = "translations.0.text"},
        {.name = "KISS Translator",
         .path = "/kiss?token=user",
         .json = "{'from': 'en', 'to': 'fr', 'text': 'I like snow.'}",
         .at = "text"},
        {.name = "KISS Translator",
         .path = "/kiss?token=user",
         .json = "{'texts': ['Hello', 'I like snow.'], 'from': 'auto', 'to': 'fr'}",
         .at = "translations.1.text"},
        {.name = "read-frog",
         .path = "/deeplx?token=user",
         .json = "{'text': 'I like snow.', 'source_lang': 'auto', 'target_lang': 'FR'}",
         .at = "data"},
        {.name = "pot",
         .path = "/deeplx?token=user",
         .json = "{'source_lang': 'auto', 'target_lang': 'FR', 'text': 'I like snow.'}",
         .at = "data"},
        {.name = "clients of DeepLX",
         .path = "/translate",
         .json = "{'text': 'I like snow.', 'source_lang': 'EN', 'target_lang': 'FR', "
                 "'tag_handling': ''}",
         .header = "Authorization: Bearer user",
         .at = "data"},
        {.name = "clients of DeepLX",
         .path = "/v1/translate?token=user",
         .json = "{'text': 'I like snow.', 'source_lang': 'EN', 'target_lang': 'FR'}",
         .at = "data"},
        {.name = "clients of DeepLX",
         .path = "/v2/translate?token=user",
         .body = "text=I+like+snow.&target_lang=FR",
         .at = "translations.0.text"},
        {.name = "clients of MTranServer",
         .path = "/translate?token=user",
         .json = "{'from': 'en', 'to': 'fr', 'text': 'I like snow.'}",
         .at = "result"},
        {.name = "clients of MTranServer",
         .path = "/translate/batch",
         .json = "{'from': 'en', 'to': 'fr', 'texts': ['Hello', 'I like snow.']}",
         .header = "Authorization: user",
         .at = "results.1"},
        {.name = "clients of Lingva",
         .path = "/api/v1/en/fr/I%20like%20snow.",
         .header = "Authorization: Bearer user",
         .at = "translation"},
        {.name = "nllb-serve",
         .path = "/translate?token=user",
         .json = "{'source': ['I like snow.'], 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}",
         .at = "translation.0"},
        {.name = "nllb-api",
         .path = "/api/v4/translator?token=user&text=I%20like%20snow.&source=eng_Latn&"
                 "target=fra_Latn",
         .at = "result"},
        {.name = "hcfy",
         .path = "/hcfy?token=user",
         .json = "{'text': 'I like snow.', 'destination': ['法语'], 'source': '英语', 'name': 'x'}",
         .at = "result.0"},
        {.name = "browser scripts for Google",
         .path = "/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&key=user&q=I%20like%20snow.",
         .at = "0.0.0"},
        {.name = "browser scripts for Google",
         .path = "/translate_a/single?client=gtx&dj=1&dt=t&ie=UTF-8&sl=en&tl=fr&key=user&"
                 "q=I%20like%20snow.",
         .at = "sentences.0.trans"},
        {.name = "deepl-python",
         .path = "/v2/translate",
         .json = "{'text': ['I like snow.'], 'target_lang': 'FR', 'source_lang': 'EN', "
                 "'show_billed_characters': true}",
         .header = DEEPL,
         .at = "translations.0.text"},
        {.name = "deepl-php",
         .path = "/v2/translate",
         .body = "target_lang=FR&show_billed_characters=1&text=I+like+snow.",
         .header = DEEPL,
         .at = "translations.0.text"},
        {.name = "@google-cloud/translate, version 3",
         .path = "/v3/projects/p/locations/global:translateText",
         .json = "{'contents': ['I like snow.'], 'targetLanguageCode': 'fr', "
                 "'mimeType': 'text/plain'}",
         .header = "Authorization: Bearer user",
         .at = "translations.0.translatedText"},
        {.name = "@azure-rest/ai-translation-text 1.x",
         .path = "/translate?api-version=3.0&to=fr&includeAlignment=true",
         .json = "[{'text': 'I like snow.'}]",
         .header = "Ocp-Apim-Subscription-Key: user",
         .at = "0.translations.0.text"},
        {.name = "@azure-rest/ai-translation-text 2.x",
         .path = "/translate?api-version=2026-06-06",
         .json = "{'inputs': [{'text': 'I like snow.', 'targets': [{'language': 'fr'}]}]}",
         .header = "Ocp-Apim-Subscription-Key: user",
         .at = "value.0.translations.0.text"},
        {.name = "agents (MCP)",
         .path = "/mcp",
         .json = "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': "
                 "'translate', 'arguments': {'texts': ['I like snow.'], 'target': 'fr'}}}",
         .header = "Authorization: Bearer user",
         .at = "result.structuredContent.translations.0.text"},
    };
    check_clients(clients, sizeof clients / sizeof *clients);
}
END_TEST

/* These send no key, or none that can be read: Subtitle Edit leaves out the comma before it. */
START_TEST(clients_without_a_key) {
    static const struct client clients[] = {
        {.name = "Subtitle Edit",
         .path = "/translate",
         .json = "{'q': 'I like snow.', 'source': 'en', 'target': 'fr'}",
         .at = "translatedText"},
        {.name = "Subtitle Edit",
         .path = "/translate",
         .json = "{'source':['Hello', 'I like snow.'], 'src_lang': 'eng_Latn', 'tgt_lang': "
                 "'fra_Latn'}",
         .at = "translation.1"},
        {.name = "Zotero",
         .path = "/translate",
         .json = "{'source': 'I like snow.', 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}",
         .at = "translation.0"},
        {.name = "Zotero",
         .path = "/api/v4/translator?text=I%20like%20snow.&source=eng_Latn&target=fra_Latn",
         .at = "result"},
    };
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr"));
    check_clients(clients, sizeof clients / sizeof *clients);
}
END_TEST

/* Without a key, the error says how clients of this service send one, and it works. */
START_TEST(missing_keys) {
    static const struct {
        const char *path, *json, *says;
        const char *sent, *header; /* the path and the header with the key; NULL: the same, none */
        const char *keyed;         /* the body with the key; NULL: the same */
    } rows[] = {
        {"/translate", "{'text': 'Snow.', 'target': 'fr'}",
         "Authorization: Bearer KEY, or X-Api-Key: KEY", NULL, "X-Api-Key: user", NULL},
        {"/align", "{'text': 'Snow.', 'translation': 'Neige.'}",
         "Authorization: Bearer KEY, or X-Api-Key: KEY", NULL, "Authorization: Bearer user", NULL},
        {"/v2/translate", "{'text': ['Snow.'], 'target_lang': 'FR'}",
         "Authorization: DeepL-Auth-Key KEY, or the field auth_key", NULL, DEEPL, NULL},
        {"/v2/usage", NULL, "Authorization: DeepL-Auth-Key KEY", NULL, DEEPL, NULL},
        {"/language/translate/v2", "{'q': 'Snow.', 'target': 'fr'}",
         "the parameter key, or X-Goog-Api-Key: KEY", "/language/translate/v2?key=user", NULL,
         NULL},
        {"/v3/projects/p:translateText", "{'contents': ['Snow.'], 'targetLanguageCode': 'fr'}",
         "Authorization: Bearer KEY, or X-Goog-Api-Key: KEY", NULL, "X-Goog-Api-Key: user", NULL},
        {"/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&q=Snow.", NULL, "the parameter key",
         "/translate_a/single?client=gtx&sl=en&tl=fr&dt=t&q=Snow.&key=user", NULL, NULL},
        {"/translate?api-version=3.0&to=fr", "[{'Text': 'Snow.'}]",
         "Ocp-Apim-Subscription-Key: KEY", NULL, "Ocp-Apim-Subscription-Key: user", NULL},
        {"/translate?api-version=2026-06-06",
         "{'inputs': [{'text': 'Snow.', 'targets': [{'language': 'fr'}]}]}",
         "Ocp-Apim-Subscription-Key: KEY", NULL, "Ocp-Apim-Subscription-Key: user", NULL},
        {"/dictionary/examples?api-version=3.0&from=en&to=fr",
         "[{'Text': 'snow', 'Translation': 'neige'}]", "Ocp-Apim-Subscription-Key: KEY", NULL,
         "Ocp-Apim-Subscription-Key: user", NULL},
        {"/translate", "{'q': 'Snow.', 'source': 'en', 'target': 'fr'}", "the field api_key", NULL,
         NULL, "{'q': 'Snow.', 'source': 'en', 'target': 'fr', 'api_key': 'user'}"},
        {"/detect", "{'q': 'Snow.'}", "the field api_key", NULL, NULL,
         "{'q': 'Snow.', 'api_key': 'user'}"},
        {"/translate", "{'text': 'Snow.', 'source_lang': 'EN', 'target_lang': 'FR'}",
         "Authorization: Bearer KEY, or ?token=KEY in the address", "/translate?token=user", NULL,
         NULL},
        {"/imme", "{'source_lang': 'en', 'target_lang': 'fr', 'text_list': ['Snow.']}",
         "?token=KEY in the address", "/imme?token=user", NULL, NULL},
        {"/kiss", "{'from': 'en', 'to': 'fr', 'text': 'Snow.'}", "?token=KEY in the address",
         "/kiss?token=user", NULL, NULL},
        {"/hcfy", "{'text': 'Snow.', 'destination': ['法语'], 'source': '英语'}",
         "?token=KEY in the address", "/hcfy?token=user", NULL, NULL},
        {"/translate", "{'from': 'en', 'to': 'fr', 'text': 'Snow.'}",
         "Authorization: KEY, X-Api-Token: KEY, or ?token=KEY", NULL, "Authorization: user", NULL},
        {"/translate", "{'source': ['Snow.'], 'src_lang': 'eng_Latn', 'tgt_lang': 'fra_Latn'}",
         "Authorization: Bearer KEY, or ?token=KEY", "/translate?token=user", NULL, NULL},
        {"/api/v1/en/fr/Snow.", NULL, "Authorization: Bearer KEY, or ?token=KEY", NULL,
         "Authorization: Bearer user", NULL},
        {"/mcp", "{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}", "Authorization: Bearer KEY", NULL,
         "Authorization: Bearer user", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char says[192];
        snprintf(says, sizeof says, "an API key is required: %s", rows[i].says);
        client_send(&served,
                    &(struct call){.path = rows[i].path,
                                   .json = rows[i].json,
                                   .headers = {rows[i].json ? JSON : NULL}},
                    &reply);
        ck_assert_msg((reply.status == 401 || reply.status == 403) && strstr(reply.body, says),
                      "%s: wanted %s, got %ld %s", rows[i].path, says, reply.status, reply.body);
        reply_done(&reply);
        const char *json = rows[i].keyed ? rows[i].keyed : rows[i].json;
        ask(&(struct call){.path = rows[i].sent ? rows[i].sent : rows[i].path,
                           .json = json,
                           .headers = {json ? JSON : rows[i].header, json ? rows[i].header : NULL}},
            200, &reply);
        reply_done(&reply);
    }
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
    tcase_add_test(cases, clients_without_a_key);
    tcase_add_test(cases, missing_keys);
    suite_add_tcase(suite, cases);
    return suite;
}
