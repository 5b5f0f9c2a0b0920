/* `warnings`: warnings that a reply contains without being asked. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <string.h>

#define ENGLISH "A boy plays in the snow."
#define FRENCH  "Un gar\xc3\xa7on joue dans la neige avec le chien."

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/tokenizer-words",
                                    "--workers", "2", "--cache-bytes", "100000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* The first warning of this code beside these sentences; NULL: there is none. */
static const json_t *find_warning(const json_t *answer, const char *code) {
    const json_t *warnings = json_object_get(answer, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strcmp(text_at(json_array_get(warnings, i), "code"), code) == 0)
            return json_array_get(warnings, i);
    return NULL;
}

START_TEST(language) {
    struct reply reply;
    client_post(&served, "/translate",
                "{'text': ['" ENGLISH "', '" FRENCH "', '', '" FRENCH " " FRENCH
                "', '1789'], 'strategy': 'greedy'}",
                200, &reply);
    const json_t *texts = json_at(reply.json, "translations");
    ck_assert_ptr_null(find_warning(json_array_get(texts, 0), "language"));
    const json_t *warning = find_warning(json_array_get(texts, 1), "language");
    ck_assert_ptr_nonnull(warning);
    ck_assert_str_eq(text_at(warning, "language"), "fr");
    ck_assert_str_eq(text_at(warning, "message"),
                     "the text looks like French, but the model reads English");
    ck_assert_uint_eq(json_object_size(warning), 3);
    ck_assert_ptr_null(json_object_get(json_array_get(texts, 2), "warnings"));
    warning = find_warning(json_array_get(texts, 3),
                           "language"); /* one of a text, however many sentences it has */
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_null(find_warning(json_array_get(texts, 4), "language"));
    reply_done(&reply);
}
END_TEST

/* Whatever asks: the other endpoint, a form. */
START_TEST(language_everywhere) {
    static const struct call calls[] = {
        {.path = "/attention", .json = "{'text': '" FRENCH "', 'include': []}"},
        {.path = "/attention", .json = "{'text': '" FRENCH "', 'translation': 'Un chien.'}"},
        {.path = "/translate",
         .body = "text=Un+petit+chien+joue+dans+la+neige+avec+le+garcon.&strategy=greedy"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct reply reply;
        client_send(&served, &calls[i], &reply);
        ck_assert_int_eq(reply.status, 200);
        const json_t *answers = json_object_get(reply.json, i < 2 ? "results" : "translations");
        ck_assert_ptr_nonnull(find_warning(json_array_get(answers, 0), "language"));
        reply_done(&reply);
    }
}
END_TEST

/* Words that there are not; not of a given translation, and not where it is left out or the model
 * is to do what it does. */
START_TEST(doubtful) {
    static const char nonsense[] = "The quibbly wumpus frobnicated zlorps, whereupon it grumbled.";
    static const struct {
        const char *path, *text, *fields;
        bool warned;
    } rows[] = {
        {"/translate", nonsense, "", true},
        {"/translate", ENGLISH, "", false},
        {"/translate", nonsense, ", 'warnings': false", false},
        {"/translate", nonsense, ", 'verbatim': true", false},
        {"/attention", nonsense, ", 'translation': 'Un chien.'", false},
    };
    struct daemon doubting;
    daemon_start(&doubting, ARGUMENTS("--model", "weights/en-fr", "--workers", "1"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char json[512];
        snprintf(json, sizeof json, "{'text': '%s'%s}", rows[i].text, rows[i].fields);
        client_post(&doubting, rows[i].path, json, 200, &reply);
        const json_t *answers = json_object_get(reply.json, i < 4 ? "translations" : "results");
        const json_t *warning = find_warning(json_array_get(answers, 0), "doubtful");
        ck_assert_int_eq(warning != NULL, rows[i].warned);
        if (warning) {
            const json_t *words = json_object_get(warning, "words"),
                         *last = json_array_get(words, json_array_size(words) - 1);
            const char *translated =
                json_string_value(json_object_get(json_array_get(answers, 0), "text"));
            ck_assert_double_lt(json_number_value(json_object_get(warning, "quality")), 0.26);
            ck_assert_uint_gt(json_array_size(words), 0);
            ck_assert_uint_le((size_t)json_integer_value(json_object_get(last, "end")),
                              strlen(translated));
        }
        reply_done(&reply);
    }
    daemon_stop(&doubting);
}
END_TEST

/* An entry that the client protects, and one that the translation has. */
START_TEST(glossary) {
    struct daemon warning;
    struct reply reply;
    daemon_start(&warning, ARGUMENTS("--model", "weights/en-fr", "--workers", "1"));
    client_post(&warning, "/translate",
                "{'text': 'The dog is in the house.', 'glossary': {'dog': 'toutou|clebs', 'house': "
                "'maison'}, 'protect': ['dog']}",
                200, &reply);
    const json_t *found =
        find_warning(json_array_get(json_object_get(reply.json, "translations"), 0), "glossary");
    const json_t *entries = json_object_get(found, "entries");
    ck_assert_uint_eq(json_array_size(entries), 1);
    ck_assert_str_eq(text_at(json_array_get(entries, 0), "source"), "dog");
    ck_assert_str_eq(text_at(json_array_get(entries, 0), "target"), "toutou|clebs");
    reply_done(&reply);
    client_post(&warning, "/translate",
                "{'text': 'The dog is in the house.', 'glossary': {'dog': 'toutou'}}", 200, &reply);
    const json_t *answer = json_array_get(json_object_get(reply.json, "translations"), 0);
    ck_assert_ptr_null(find_warning(answer, "glossary"));
    ck_assert_ptr_null(
        find_warning(answer, "doubtful")); /* the model would not have chosen the phrase */
    reply_done(&reply);

    /* an entry that goes on in the next sentence */
    client_post(
        &warning, "/translate",
        "{'text': 'I see a dog. The house is red.', 'glossary': {'dog. The house': 'niche'}}", 200,
        &reply);
    found =
        find_warning(json_array_get(json_object_get(reply.json, "translations"), 0), "glossary");
    entries = json_object_get(found, "entries");
    ck_assert_uint_eq(json_array_size(entries), 1);
    ck_assert_str_eq(text_at(json_array_get(entries, 0), "source"), "dog. The house");
    reply_done(&reply);
    /* a phrase is not there because it is a part of a word */
    client_post(&warning, "/translate",
                "{'text': 'The newspaper of the day is red.', 'glossary': {'day': 'jour'}, "
                "'protect': ['day']}",
                200, &reply);
    found =
        find_warning(json_array_get(json_object_get(reply.json, "translations"), 0), "glossary");
    ck_assert_uint_eq(json_array_size(json_object_get(found, "entries")), 1);
    reply_done(&reply);
    daemon_stop(&warning);
}
END_TEST

/* Their replies have no place for warnings: a header has the codes, of an answer from the cache,
 * too. */
START_TEST(other_dialects) {
    static const struct {
        const char *path, *json;
        bool warned;
    } rows[] = {
        {"/translate", "{'q': '" FRENCH "', 'source': 'en', 'target': 'fr'}", true},
        {"/translate", "{'q': '" FRENCH "', 'source': 'en', 'target': 'fr'}", true},
        {"/translate",
         "{'q': '<p>" FRENCH "</p><p>Oui.</p>', 'source': 'en', 'target': 'fr', 'format': 'html'}",
         true},
        {"/v2/translate",
         "{'text': ['" ENGLISH "', '" FRENCH "'], 'source_lang': 'EN', 'target_lang': 'FR'}", true},
        {"/translate", "{'q': '" ENGLISH "', 'source': 'en', 'target': 'fr'}", false},
        {"/translate",
         "{'q': '<p>" ENGLISH "</p><p>" ENGLISH
         "</p><p>Jean Dupont</p>', 'source': 'en', 'target': 'fr', "
         "'format': 'html'}",
         false},
        {"/translate", "{'text': '" FRENCH "'}", false}, /* the reply itself has them */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char value[HEADER_BYTES];
        client_post(&served, rows[i].path, rows[i].json, 200, &reply);
        bool warned =
            reply_header(&reply, "X-Alignd-Warnings", value) && strncmp(value, "language", 8) == 0;
        ck_assert_msg(warned == rows[i].warned, "%zu %s", i, reply.headers);
        if (json_object_get(reply.json, "translatedText"))
            ck_assert_uint_eq(json_object_size(reply.json), 1);
        reply_done(&reply);
    }
}
END_TEST

/* It turns off what costs time only. */
START_TEST(turned_off) {
    struct reply reply;
    client_post(&served, "/translate", "{'text': '" FRENCH "', 'warnings': false}", 200, &reply);
    ck_assert_ptr_nonnull(find_warning(json_at(reply.json, "translations.0"), "language"));
    reply_done(&reply);
    client_post(&served, "/translate", "{'text': 'a', 'warnings': 'no'}", 400, &reply);
    ck_assert_str_eq(text_at(reply.json, "error"), "warnings must be true or false, got a string");
    reply_done(&reply);
}
END_TEST

/* More than a third; </s> does not count, and placeholders are brought through. */
START_TEST(unknown) {
    static const struct {
        const char *text, *message; /* message NULL: none */
    } rows[] = {
        {"What did you do?", NULL},
        {"What zzyzx qwv did", "the model does not know 2 of the text's 4 tokens"},
        {"What qwv did", NULL},
        {"zzyzx", "the model does not know 1 of the text's 1 tokens"},
        {"What {name} {place} did", NULL},
        {"What {name} zzyzx qwv did", "the model does not know 2 of the text's 5 tokens"},
        {"What did zzyzx. What qwv did. zzyzx qwv.",
         "the model does not know 4 of the text's 11 tokens"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[256];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '%s', 'model': 'tokenizer-words', 'max_length': 9}",
                 rows[i].text);
        client_post(&served, "/translate", json, 200, &reply);
        const json_t *warning = find_warning(json_at(reply.json, "translations.0"), "unknown");
        ck_assert_msg((warning != NULL) == (rows[i].message != NULL), "%s", rows[i].text);
        if (warning) {
            ck_assert_str_eq(text_at(warning, "message"), rows[i].message);
            ck_assert_uint_eq(json_object_size(warning), 2);
        }
        reply_done(&reply);
    }
}
END_TEST

/* A translation lacks most of the text, its last phrase or nothing; a logical form leaves out what
 * it can.
 */
START_TEST(shortened) {
#define LONG "A boy and a dog play in the snow, and two girls look at them."
    static const struct {
        const char *model, *text, *translation;
        bool warned;
    } rows[] = {
        {"en-fr", LONG, "Un chien.", true},
        {"en-fr", LONG, "Un gar\xc3\xa7on et un chien jouent dans la neige.", true},
        {"en-fr", LONG,
         "Un gar\xc3\xa7on et un chien jouent dans la neige, et deux filles les regardent.", false},
        {"fixed-gru", "A boy and a dog play in the snow.", "Un chien.",
         false}, /* has no attention */
    };
    struct daemon daemon;
    daemon_start(&daemon,
                 ARGUMENTS("--model", "weights/en-fr", "--model", "tests/golden/fixed-gru"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[512];
        struct reply reply;
        snprintf(json, sizeof json,
                 "{'text': '%s', 'translation': '%s', 'model': '%s', 'include': []}", rows[i].text,
                 rows[i].translation, rows[i].model);
        client_post(&daemon, "/attention", json, 200, &reply);
        ck_assert_msg((find_warning(json_at(reply.json, "results.0"), "shortened") != NULL) ==
                          rows[i].warned,
                      "%s", reply.body);
        reply_done(&reply);
    }
    daemon_stop(&daemon);
}
END_TEST

/* Words that come back as they were, and are words; names and what both languages have are not, and
 * neither is what is held. */
START_TEST(untranslated_words) {
    static const struct {
        const char *text;
        bool warned;
    } rows[] = {{"Money", true},  {"Books", true},         {"Hotel", true},  {"Restaurant", false},
                {"Paris", false}, {"Mary", false},         {"Taxi", false},  {"Wi-Fi", false},
                {"v2.0", false},  {"Anna Schmidt", false}, {"books", false}, {"Two books.", false}};
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/en-fr"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[256];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '%s'}", rows[i].text);
        client_post(&daemon, "/translate", json, 200, &reply);
        const json_t *answer = json_at(reply.json, "translations.0");
        ck_assert_msg((find_warning(answer, "untranslated") != NULL) == rows[i].warned, "%s",
                      reply.body);
        ck_assert_int_eq(rows[i].warned && strcmp(text_at(answer, "text"), rows[i].text) != 0, 0);
        reply_done(&reply);
    }
    daemon_stop(&daemon);
}
END_TEST

/* In a text of two scripts the warning names the sentence that it is about. */
START_TEST(untranslated_sentence_is_named) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/en-fr"));
    client_post(&daemon, "/translate", "{'text': 'Hello my friend. Как дела сегодня? I am here.'}",
                200, &reply);
    const json_t *answer = json_at(reply.json, "translations.0"),
                 *warning = find_warning(answer, "untranslated");
    ck_assert_msg(warning && json_array_size(json_object_get(warning, "words")) == 1, "%s",
                  reply.body);
    size_t begin = (size_t)number_at(warning, "words.0.start"),
           end = (size_t)number_at(warning, "words.0.end");
    ck_assert_msg(strncmp(text_at(answer, "text") + begin, "Как дела сегодня?", end - begin) == 0 &&
                      end - begin == 31,
                  "%s", reply.body);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* Signs are mended by the alignment, which a sentence has whatever the reply shows of it and
 * whatever stands beside it in the request. */
START_TEST(asking_changes_no_text) {
    static const char *const requests[] = {
        "{'text': 'Il a “été” au magasin.', 'include': []}",
        "{'text': 'Il a “été” au magasin.', 'include': ['soft_alignment']}",
        "{'text': ['Il a “été” au magasin.', '<b>Oui</b>, (non) “merci”.'], 'include': []}",
        "{'text': ['Il a “été” au magasin.', '<b>Oui</b>, (non) “merci”.'], 'format': 'html'}"};
    struct daemon daemon;
    struct reply first, reply;
    daemon_start(&daemon, ARGUMENTS("--model", "weights/fr-en"));
    client_post(&daemon, "/translate", requests[0], 200, &first);
    for (size_t i = 1; i < sizeof requests / sizeof *requests; i++) {
        client_post(&daemon, "/translate", requests[i], 200, &reply);
        ck_assert_str_eq(text_at(reply.json, "translations.0.text"),
                         text_at(first.json, "translations.0.text"));
        reply_done(&reply);
    }
    reply_done(&first);
    daemon_stop(&daemon);
}
END_TEST

/* Braces that make no message stay as they are, which is said; those that do keep their notation.
 */
START_TEST(messages) {
    static const char whole[] = "{n, plural, one {# dog} other {# dogs}}",
                      broken[] = "{n, plural, one {# dog} other # dogs}";
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    for (size_t i = 0; i < 2; i++) {
        char json[256];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '%s', 'source': 'en', 'target': 'fr'}",
                 i == 0 ? whole : broken);
        client_post(&daemon, "/translate", json, 200, &reply);
        const json_t *translation = json_at(reply.json, "translations.0");
        const char *text = text_at(translation, "text");
        ck_assert_msg((find_warning(translation, "untranslated") != NULL) == (i == 1), "%s",
                      reply.body);
        if (i == 0)
            ck_assert_msg(strncmp(text, "{n, plural, one {", 17) == 0 && strstr(text, "} other {"),
                          "%s", text);
        else
            ck_assert_str_eq(text, broken);
        reply_done(&reply);
    }
    daemon_stop(&daemon);
}
END_TEST

/* Protected text is present. */
START_TEST(a_protected_text_is_not_shortened) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL));
    client_post(&daemon, "/translate",
                "{'text': 'A boy and a dog play in the snow near the old house.', 'source': 'en', "
                "'target': 'fr', "
                "'protect': [{'pattern': '.'}]}",
                200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.text"),
                     "A boy and a dog play in the snow near the old house.");
    ck_assert_ptr_null(find_warning(json_at(reply.json, "translations.0"), "shortened"));
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

Suite *warnings_suite(void) {
    Suite *suite = suite_create("warnings");
    TCase *tests = tcase_create("warnings");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, language);
    tcase_add_test(tests, language_everywhere);
    tcase_add_test(tests, doubtful);
    tcase_add_test(tests, glossary);
    tcase_add_test(tests, other_dialects);
    tcase_add_test(tests, turned_off);
    tcase_add_test(tests, unknown);
    tcase_add_test(tests, shortened);
    tcase_add_test(tests, untranslated_words);
    tcase_add_test(tests, untranslated_sentence_is_named);
    tcase_add_test(tests, asking_changes_no_text);
    tcase_add_test(tests, messages);
    tcase_add_test(tests, a_protected_text_is_not_shortened);
    suite_add_tcase(suite, tests);
    return suite;
}
