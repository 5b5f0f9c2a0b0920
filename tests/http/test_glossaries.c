/* Glossaries that the server keeps: DeepL's calls for them, their owners, the effects of SIGHUP and
 * a restart, and translations that use them in both dialects. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FORM         "Content-Type: application/x-www-form-urlencoded"
#define ALICE        "Authorization: DeepL-Auth-Key a-key-of-alice"
#define BOB          "Authorization: DeepL-Auth-Key a-key-of-bob"
#define MAKE                                                                                       \
    "{'name': 'winter', 'source_lang': 'EN', 'target_lang': 'FR', 'entries': 'snow\\tpoudreuse', " \
    "'entries_format': 'tsv'}"

static struct daemon served;
static char folder[] = "/tmp/alignd-kept-XXXXXX", keys[64], file[64], option[128], tsv[64];

static void write_text(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert(fputs(text, out) >= 0 && fclose(out) == 0);
}

static void start(void) {
    daemon_start(&served, ARGUMENTS("--model", "weights/en-fr", "--api-keys", keys, "--glossaries",
                                    file, "--glossary", option, "--cache-bytes", "1000000"));
}

/* printf %s a-key-of-alice | sha256sum */
static void setup(void) {
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(keys, sizeof keys, "%s/keys", folder);
    snprintf(file, sizeof file, "%s/made", folder);
    snprintf(tsv, sizeof tsv, "%s/ours.tsv", folder);
    snprintf(option, sizeof option, "ours:en:fr=%s", tsv);
    write_text(
        keys,
        "alice user 370b0a5941b0eb30b08a9387a4dc408ac42696bedc7d70acb594caa2ce554299\nbob user "
        "d1661aa17a46829d523b0e6ad1da5597cd32597e95b9bcde4cec8949f4cf606c\n");
    write_text(tsv, "snow\tblizzard\n");
    start();
}

static void teardown(void) {
    char command[128];
    daemon_stop(&served);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void ask(const struct call *call, long status, struct reply *reply) {
    client_send(&served, call, reply);
    ck_assert_msg(reply->status == status, "%s: wanted %ld, got %ld %s", call->path, status,
                  reply->status, reply->body ? reply->body : "");
}

static void refuse(const struct call *call, long status, const char *message) {
    struct reply reply;
    ask(call, status, &reply);
    ck_assert_str_eq(text_at(reply.json, "message"), message);
    reply_done(&reply);
}

/* Its path. */
static char *make(const char *json, const char *key) {
    struct reply reply;
    char *path;
    ask(&(struct call){.path = "/v2/glossaries", .json = json, .headers = {key}}, 201, &reply);
    ck_assert_int_gt(asprintf(&path, "/v2/glossaries/%s", text_at(reply.json, "glossary_id")), 0);
    reply_done(&reply);
    return path;
}

static const char *id_of(const char *path) {
    return path + strlen("/v2/glossaries/");
}

/* The translation with a glossary, by DeepL's dialect. */
static void expect(const char *glossary, const char *key, const char *word) {
    char json[256];
    struct reply reply;
    snprintf(json, sizeof json,
             "{'text': 'A boy plays in the snow.', 'source_lang': 'EN', 'target_lang': 'FR', "
             "'glossary_id': '%s'}",
             glossary);
    ask(&(struct call){.path = "/v2/translate", .json = json, .headers = {key}}, 200, &reply);
    ck_assert_msg(strstr(text_at(reply.json, "translations.0.text"), word), "%s", reply.body);
    reply_done(&reply);
}

START_TEST(made_listed_used_removed) {
    struct reply reply;
    char *path = make(MAKE, ALICE), entries[128];
    ask(&(struct call){.path = path, .headers = {ALICE}}, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "glossary_id"), id_of(path));
    ck_assert_str_eq(text_at(reply.json, "name"), "winter");
    ck_assert_str_eq(text_at(reply.json, "source_lang"), "en");
    ck_assert_str_eq(text_at(reply.json, "target_lang"), "fr");
    ck_assert_double_eq(number_at(reply.json, "entry_count"), 1);
    ck_assert(json_is_true(json_at(reply.json, "ready")));
    ck_assert_uint_eq(strlen(text_at(reply.json, "creation_time")),
                      strlen("2021-08-03T14:16:18.329Z"));
    reply_done(&reply);
    snprintf(entries, sizeof entries, "%s/entries", path);
    ask(&(struct call){.path = entries, .headers = {ALICE, "Accept: text/tab-separated-values"}},
        200, &reply);
    ck_assert_str_eq(reply.body, "snow\tpoudreuse");
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/glossaries", .headers = {ALICE}}, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "glossaries")), 2);
    ck_assert_str_eq(text_at(reply.json, "glossaries.0.glossary_id"), "ours");
    ck_assert_str_eq(text_at(reply.json, "glossaries.1.glossary_id"), id_of(path));
    reply_done(&reply);
    expect(id_of(path), ALICE, "poudreuse");
    ask(&(struct call){.method = "DELETE", .path = path, .headers = {ALICE}}, 204, &reply);
    ck_assert_uint_eq(reply.length, 0);
    reply_done(&reply);
    refuse(&(struct call){.path = path, .headers = {ALICE}}, 404, "glossary not found");
    free(path);
}
END_TEST

/* As deepl-node and Weblate send them. */
START_TEST(forms_and_csv) {
    struct reply reply;
    ask(&(struct call){.path = "/v2/glossaries",
                       .body = "name=w&source_lang=en&target_lang=fr&entries_format=csv&entries=%"
                               "22snow%22%2Cpoudreuse%0Aice%2Cx",
                       .headers = {ALICE, FORM}},
        201, &reply);
    ck_assert_double_eq(number_at(reply.json, "entry_count"), 2);
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/glossary-language-pairs", .headers = {ALICE}}, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "supported_languages.0.source_lang"), "en");
    ck_assert_str_eq(text_at(reply.json, "supported_languages.0.target_lang"), "fr");
    reply_done(&reply);
}
END_TEST

START_TEST(they_are_their_keys) {
    char *path = make(MAKE, ALICE), json[256];
    struct reply reply;
    refuse(&(struct call){.path = path, .headers = {BOB}}, 404, "glossary not found");
    refuse(&(struct call){.method = "DELETE", .path = path, .headers = {BOB}}, 404,
           "glossary not found");
    snprintf(json, sizeof json,
             "{'text': 'x', 'source_lang': 'EN', 'target_lang': 'FR', 'glossary_id': '%s'}",
             id_of(path));
    client_send(&served, &(struct call){.path = "/v2/translate", .json = json, .headers = {BOB}},
                &reply);
    ck_assert_int_eq(reply.status, 404);
    ck_assert_ptr_nonnull(strstr(text_at(reply.json, "message"), "not found for"));
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/glossaries", .headers = {BOB}}, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "glossaries")), 1);
    reply_done(&reply);
    expect("ours", BOB, "blizzard");
    refuse(&(struct call){.method = "DELETE", .path = "/v2/glossaries/ours", .headers = {BOB}}, 403,
           "this glossary belongs to the server and cannot be deleted");
    refuse(&(struct call){.path = "/v2/glossaries"}, 403,
           "an API key is required: Authorization: DeepL-Auth-Key KEY, or the field auth_key");
    free(path);
}
END_TEST

static void native(const char *glossary, const char *word) {
    char json[256];
    struct reply reply;
    snprintf(json, sizeof json, "{'text': 'A boy plays in the snow.', 'glossary': '%s'}", glossary);
    ask(&(struct call){.path = "/translate", .json = json, .headers = {ALICE}}, 200, &reply);
    ck_assert_msg(strstr(text_at(reply.json, "translations.0.text"), word), "%s", reply.body);
    reply_done(&reply);
}

/* Nor is an answer from before given again. */
START_TEST(sighup_and_restart) {
    char *path = make(MAKE, ALICE);
    native("ours", "blizzard");
    native("ours", "blizzard");
    native(id_of(path), "poudreuse");
    native("winter", "poudreuse");
    write_text(tsv, "snow\tverglas\n");
    kill(served.pid, SIGHUP);
    daemon_await_log(&served, "what=glossaries");
    native("ours", "verglas");
    daemon_stop(&served);
    start();
    native(id_of(path), "poudreuse");
    expect(id_of(path), ALICE, "poudreuse");
    free(path);
}
END_TEST

/* ---- version 3 ---- */

#define WINTER                                                                                     \
    "{'name': 'winter', 'dictionaries': [{'source_lang': 'EN', 'target_lang': 'FR', 'entries': "   \
    "'snow\\tpoudreuse'}, "                                                                        \
    "{'source_lang': 'en', 'target_lang': 'fr-CA', 'entries': 'ice\\tglace', 'entries_format': "   \
    "'tsv'}]}"

static char *make_multilingual(const char *json, const char *key) {
    struct reply reply;
    char *path;
    ask(&(struct call){.path = "/v3/glossaries", .json = json, .headers = {key}}, 201, &reply);
    ck_assert_int_gt(asprintf(&path, "/v3/glossaries/%s", text_at(reply.json, "glossary_id")), 0);
    reply_done(&reply);
    return path;
}

static void expect_entries(const char *path, const char *pair, const char *entries) {
    char whole[128];
    struct reply reply;
    snprintf(whole, sizeof whole, "%s/entries?%s", path, pair);
    ask(&(struct call){.path = whole, .headers = {ALICE}}, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "dictionaries")), 1);
    ck_assert_str_eq(text_at(reply.json, "dictionaries.0.entries"), entries);
    ck_assert_str_eq(text_at(reply.json, "dictionaries.0.entries_format"), "tsv");
    reply_done(&reply);
}

static size_t count_dictionaries(const char *path) {
    struct reply reply;
    ask(&(struct call){.path = path, .headers = {ALICE}}, 200, &reply);
    size_t count = json_array_size(json_at(reply.json, "dictionaries"));
    reply_done(&reply);
    return count;
}

/* The same glossaries as version 2 has: those of one pair are found in both, dictionaries are used
 * by their pair. */
START_TEST(dictionaries) {
    static const char en_fr[] = "source_lang=en&target_lang=FR",
                      en_ca[] = "source_lang=en&target_lang=fr-ca";
    struct reply reply;
    char *path = make_multilingual(WINTER, ALICE), part[160];
    const char *id = path + strlen("/v3/glossaries/");
    ask(&(struct call){.path = path, .headers = {ALICE}}, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "name"), "winter");
    ck_assert_str_eq(text_at(reply.json, "dictionaries.0.source_lang"), "en");
    ck_assert_str_eq(text_at(reply.json, "dictionaries.1.target_lang"), "fr-ca");
    ck_assert_double_eq(number_at(reply.json, "dictionaries.0.entry_count"), 1);
    ck_assert_uint_eq(strlen(text_at(reply.json, "creation_time")),
                      strlen("2021-08-03T14:16:18.329Z"));
    reply_done(&reply);
    expect(id, ALICE, "poudreuse");
    ask(&(struct call){.path = "/v3/glossaries", .headers = {ALICE}}, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "glossaries")), 2);
    ck_assert_str_eq(text_at(reply.json, "glossaries.0.glossary_id"), "ours");
    ck_assert_str_eq(text_at(reply.json, "glossaries.1.glossary_id"), id);
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/glossaries", .headers = {ALICE}}, 200, &reply);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "glossaries")), 1);
    reply_done(&reply);

    ask(&(struct call){.method = "PATCH",
                       .path = path,
                       .json = "{'name': 'cold', 'dictionaries': [{'source_lang': 'en', "
                               "'target_lang': 'fr', 'entries': "
                               "'ice\\tverglas\\nsnow\\tblizzard'}]}",
                       .headers = {ALICE}},
        200, &reply);
    ck_assert_str_eq(text_at(reply.json, "name"), "cold");
    ck_assert_str_eq(text_at(reply.json, "glossary_id"), id);
    ck_assert_uint_eq(json_array_size(json_at(reply.json, "dictionaries")), 2);
    reply_done(&reply);
    expect_entries(path, en_fr, "ice\tverglas\nsnow\tblizzard");
    expect_entries(path, en_ca, "ice\tglace");
    native("cold", "blizzard");
    snprintf(part, sizeof part, "%s/dictionaries", path);
    ask(
        &(struct call){
            .method = "PUT",
            .path = part,
            .body = "source_lang=en&target_lang=fr&entries=snow%2Cverglas&entries_format=csv",
            .headers = {ALICE, FORM}},
        200, &reply);
    ck_assert_double_eq(number_at(reply.json, "entry_count"), 1);
    reply_done(&reply);
    expect_entries(path, en_fr, "snow\tverglas");
    expect(id, ALICE, "verglas");
    ck_assert_uint_eq(count_dictionaries(path), 2);

    daemon_stop(&served);
    start();
    ck_assert_uint_eq(count_dictionaries(path), 2);
    snprintf(part, sizeof part, "%s/dictionaries?%s", path, en_ca);
    ask(&(struct call){.method = "DELETE", .path = part, .headers = {ALICE}}, 204, &reply);
    reply_done(&reply);
    refuse(&(struct call){.method = "DELETE", .path = part, .headers = {ALICE}}, 404,
           "No dictionary found for language pair");
    ck_assert_uint_eq(count_dictionaries(path), 1);
    ask(&(struct call){.method = "DELETE", .path = path, .headers = {ALICE}}, 204, &reply);
    reply_done(&reply);
    refuse(&(struct call){.path = path, .headers = {ALICE}}, 404, "glossary not found");
    free(path);
}
END_TEST

START_TEST(dictionaries_refused) {
    static const struct {
        const char *method, *path, *json, *message;
        long status;
    } rows[] = {
        {"POST", "/v3/glossaries", "{'dictionaries': []}", "name is missing", 400},
        {"POST", "/v3/glossaries", "{'name': 'x', 'dictionaries': 1}",
         "dictionaries must be an array of objects, got an integer", 400},
        {"POST", "/v3/glossaries", "{'name': 'x', 'dictionaries': [1]}", "source_lang is missing",
         400},
        {"POST", "/v3/glossaries",
         "{'name': 'x', 'dictionaries': [{'source_lang': 'en', 'target_lang': 'fr', 'entries': "
         "'a\\tb'}, {'source_lang': 'EN', "
         "'target_lang': 'FR', 'entries': 'a\\tb'}]}",
         "dictionaries contains two dictionaries from \"en\" to \"fr\"", 400},
        {"PATCH", "/v3/glossaries/ours", "{'name': 'x'}",
         "this glossary belongs to the server and cannot be changed", 403},
        {"PUT", "/v3/glossaries/none/dictionaries",
         "{'source_lang': 'en', 'target_lang': 'fr', 'entries': 'a\\tb'}",
         "Invalid or missing glossary id: glossary not found", 400},
        {"DELETE", "/v3/glossaries/ours/dictionaries", NULL, "source_lang is missing", 400},
        {"PUT", "/v3/glossaries/ours", "{}",
         "the method must be one of GET, HEAD, PATCH, DELETE, OPTIONS", 405},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refuse(&(struct call){.method = rows[i].method,
                              .path = rows[i].path,
                              .json = rows[i].json,
                              .headers = {ALICE}},
               rows[i].status, rows[i].message);
    char *path = make_multilingual(WINTER, ALICE);
    refuse(
        &(struct call){.method = "PATCH", .path = path, .json = "{'name': 'x'}", .headers = {BOB}},
        404, "glossary not found");
    free(path);
}
END_TEST

/* A glossary may have no dictionary, at first or after its last was deleted. */
START_TEST(without_dictionaries) {
    static const char translate[] =
        "{'text': 'x', 'source_lang': 'EN', 'target_lang': 'FR', 'glossary_id': '%s'}";
    char *path = make_multilingual("{'name': 'empty'}", ALICE), part[160], json[256];
    struct reply reply;
    const char *id = path + strlen("/v3/glossaries/");
    ck_assert_uint_eq(count_dictionaries(path), 0);
    snprintf(json, sizeof json, translate, id);
    refuse(&(struct call){.path = "/v2/translate", .json = json, .headers = {ALICE}}, 400,
           "No dictionary found for language pair");
    ask(
        &(struct call){
            .method = "PATCH", .path = path, .json = "{'name': 'new'}", .headers = {ALICE}},
        200, &reply);
    ck_assert_str_eq(text_at(reply.json, "name"), "new");
    reply_done(&reply);
    snprintf(part, sizeof part, "/v2/glossaries/%s", id);
    refuse(&(struct call){.path = part, .headers = {ALICE}}, 404, "glossary not found");
    daemon_stop(&served);
    start();
    ck_assert_uint_eq(count_dictionaries(path), 0);
    snprintf(part, sizeof part, "%s/dictionaries", path);
    ask(&(struct call){.method = "PUT",
                       .path = part,
                       .json = "{'source_lang': 'en', 'target_lang': 'fr', 'entries': "
                               "'snow\\tpoudreuse'}",
                       .headers = {ALICE}},
        200, &reply);
    reply_done(&reply);
    ck_assert_uint_eq(count_dictionaries(path), 1);
    expect(id, ALICE, "poudreuse");
    snprintf(part, sizeof part, "%s/dictionaries?source_lang=en&target_lang=fr", path);
    ask(&(struct call){.method = "DELETE", .path = part, .headers = {ALICE}}, 204, &reply);
    reply_done(&reply);
    ck_assert_uint_eq(count_dictionaries(path), 0);
    refuse(&(struct call){.method = "DELETE", .path = part, .headers = {ALICE}}, 404,
           "No dictionary found for language pair");
    ask(&(struct call){.method = "DELETE", .path = path, .headers = {ALICE}}, 204, &reply);
    reply_done(&reply);
    refuse(&(struct call){.path = path, .headers = {ALICE}}, 404, "glossary not found");
    free(path);
}
END_TEST

/* Several glossaries: of a phrase that two have, the first one's entry counts. */
START_TEST(several) {
    char *path = make("{'name': 'a', 'source_lang': 'EN', 'target_lang': 'FR', 'entries': "
                      "'snow\\tpoudreuse\\nboy\\tgamin'}",
                      ALICE);
    static const char *const forms[][2] = {{"['ours', '", "']"}, {"'ours,", "'"}};
#define WITH_IDS                                                                                   \
    "{'text': 'A boy plays in the snow.', 'source_lang': 'EN', 'target_lang': 'FR', "              \
    "'glossary_ids': %s%s%s}"
    char json[400];
    struct reply reply;
    for (size_t i = 0; i < COUNT(forms); i++) {
        snprintf(json, sizeof json, WITH_IDS, forms[i][0], id_of(path), forms[i][1]);
        ask(&(struct call){.path = "/v2/translate", .json = json, .headers = {ALICE}}, 200, &reply);
        const char *text = text_at(reply.json, "translations.0.text");
        ck_assert_msg(strstr(text, "blizzard") && strstr(text, "gamin"), "%s", text);
        reply_done(&reply);
    }
    snprintf(json, sizeof json, WITH_IDS, forms[0][0], "96ab91fd-e715-41a1-adeb-5d701f84a483",
             forms[0][1]);
    client_send(&served, &(struct call){.path = "/v2/translate", .json = json, .headers = {ALICE}},
                &reply);
    ck_assert_int_eq(reply.status, 404);
    reply_done(&reply);
    snprintf(json, sizeof json, WITH_IDS, forms[0][0], "no id", forms[0][1]);
    client_send(&served, &(struct call){.path = "/v2/translate", .json = json, .headers = {ALICE}},
                &reply);
    ck_assert_int_eq(reply.status, 400);
    reply_done(&reply);
    refuse(&(struct call){.path = "/v2/translate",
                          .json = "{'text': 'x', 'source_lang': 'EN', 'target_lang': 'FR', "
                                  "'glossary_ids': 'a,b,c,d,e,f'}",
                          .headers = {ALICE}},
           400, "glossary_ids must have at most 5 ids, got 6");
    refuse(&(struct call){.path = "/v2/translate",
                          .json = "{'text': 'x', 'source_lang': 'EN', 'target_lang': 'FR', "
                                  "'glossary_id': 'ours', 'glossary_ids': 'ours'}",
                          .headers = {ALICE}},
           400, "glossary_id and glossary_ids exclude each other");
    free(path);
}
END_TEST

/* An id that no glossary can have is 400, for every call. */
START_TEST(malformed_ids) {
    static const struct call calls[] = {
        {.path = "/v2/glossaries/none", .headers = {ALICE}},
        {.path = "/v2/glossaries/none/entries", .headers = {ALICE}},
        {.method = "DELETE", .path = "/v2/glossaries/none", .headers = {ALICE}},
        {.path = "/v3/glossaries/none", .headers = {ALICE}}};
    for (size_t i = 0; i < COUNT(calls); i++)
        refuse(&calls[i], 400, "Invalid or missing glossary id: glossary not found");
    refuse(&(struct call){.path = "/v2/glossaries/96ab91fd-e715-41a1-adeb-5d701f84a483",
                          .headers = {ALICE}},
           404, "glossary not found");
}
END_TEST

/* DeepL's auth_key may stand in JSON. */
START_TEST(keys_in_json) {
    struct reply reply;
    ask(&(struct call){.path = "/v2/translate",
                       .json = "{'text': 'x', 'target_lang': 'FR', 'auth_key': 'a-key-of-alice'}"},
        200, &reply);
    reply_done(&reply);
    ask(&(struct call){.path = "/v2/translate",
                       .json = "{'text': 'x', 'target_lang': 'FR', 'auth_key': 'another'}"},
        403, &reply);
    reply_done(&reply);
}
END_TEST

START_TEST(what_is_refused) {
    static const struct {
        const char *json, *message;
    } rows[] = {
        {"{'source_lang': 'en', 'target_lang': 'fr', 'entries': 'a\\tb'}", "name is missing"},
        {"{'name': 'x', 'target_lang': 'fr', 'entries': 'a\\tb'}", "source_lang is missing"},
        {"{'name': 'x', 'source_lang': 'e n', 'target_lang': 'fr', 'entries': 'a\\tb'}",
         "source_lang must be a language code, got \"e n\""},
        {"{'name': 'x', 'source_lang': 'en', 'target_lang': 'fr'}", "entries is missing"},
        {"{'name': 'x', 'source_lang': 'en', 'target_lang': 'qq', 'entries': 'a\\tb'}",
         "Value for target_lang not supported: no model writes \"qq\""},
        {"{'name': 'x', 'source_lang': 'fr', 'target_lang': 'en', 'entries': 'a\\tb'}",
         "Value for source_lang not supported: no model reads \"fr\""},
        {"{'name': 'x\\n', 'source_lang': 'en', 'target_lang': 'fr', 'entries': 'a\\tb'}",
         "name must have no control characters"},
        {"{'name': 'x', 'source_lang': 'en', 'target_lang': 'fr', 'entries': 'a\\tb\\nc'}",
         "entries: line 2: a line must have two phrases separated by a tab"},
        {"{'name': 'x', 'source_lang': 'en', 'target_lang': 'fr', 'entries': 'a\\tb', "
         "'entries_format': 'x'}",
         "entries_format must be tsv or csv, got \"x\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refuse(&(struct call){.path = "/v2/glossaries", .json = rows[i].json, .headers = {ALICE}},
               400, rows[i].message);
    refuse(&(struct call){.path = "/v2/translate",
                          .json = "{'text': 'x', 'target_lang': 'FR', 'glossary_id': 'ours'}",
                          .headers = {ALICE}},
           400, "source_lang is required with glossary_id");
    for (size_t i = 0; i < 100; i++)
        free(make(MAKE, BOB));
    refuse(&(struct call){.path = "/v2/glossaries", .json = MAKE, .headers = {BOB}}, 456,
           "a key may have at most 100 glossaries");
    free(make(MAKE, ALICE));
}
END_TEST

Suite *glossaries_suite(void) {
    Suite *suite = suite_create("glossaries");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, made_listed_used_removed);
    tcase_add_test(cases, forms_and_csv);
    tcase_add_test(cases, they_are_their_keys);
    tcase_add_test(cases, sighup_and_restart);
    tcase_add_test(cases, dictionaries);
    tcase_add_test(cases, dictionaries_refused);
    tcase_add_test(cases, without_dictionaries);
    tcase_add_test(cases, several);
    tcase_add_test(cases, malformed_ids);
    tcase_add_test(cases, keys_in_json);
    tcase_add_test(cases, what_is_refused);
    suite_add_tcase(suite, cases);
    return suite;
}
