/* `protect`: strings and patterns that stay unchanged, in every form of the field, and refusals. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ORDER        "The boy sees Blue Moon AB-12 and the dog."

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--model", "tests/golden/fixed-gru", "--model",
                           "tests/golden/copy", "--model", "tests/golden/pointer", "--model",
                           "tests/golden/output-characters", "--model",
                           "tests/golden/tokenizer-words", "--cache-bytes", "1000000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void ask(const char *path, const char *text, const char *fields, long status,
                struct reply *reply) {
    client_ask(&served, path, text, fields, status, reply);
}

/* ---- what is refused ---- */

static const struct {
    const char *fields, *field, *message;
} wrong[] = {
    {"'protect': 'a'", "protect", "protect must be an array of strings and patterns, got a string"},
    {"'protect': {'pattern': 'a'}", "protect",
     "protect must be an array of strings and patterns, got an object"},
    {"'protect': ['a', 1]", "protect",
     "protect[1] must be a string or {\"pattern\": \"...\"}, got an integer"},
    {"'protect': ['a', {'pattern': 1}]", "protect",
     "protect[1] must be a string or {\"pattern\": \"...\"}, got an object"},
    {"'protect': [{'patern': 'a'}]", "protect",
     "protect[0] must be a string or {\"pattern\": \"...\"}, got an object"},
    {"'protect': [{'pattern': 'a', 'flags': 'i'}]", "protect",
     "protect[0] must be a string or {\"pattern\": \"...\"}, got an object"},
    {"'protect': ['']", "protect",
     "protect[0] must have between 1 and 200 bytes, and not be blank, got 0"},
    {"'protect': ['a', ' \\t']", "protect",
     "protect[1] must have between 1 and 200 bytes, and not be blank, got 2"},
    {"'protect': ['a', 'b', {'pattern': '[a-'}]", "protect",
     "protect[2] is not a valid pattern: missing ]: [a-"},
    {"'protect': [{'pattern': '(a*)*'}]", "protect",
     "protect[0] is not a valid pattern: it matches an empty text"},
    {"'protect': [{'pattern': '(a)\\\\1'}]", "protect",
     "protect[0] is not a valid pattern: invalid escape sequence: \\1"},
    {"'protect': [{'pattern': '((\\\\pL{1,9}){1,9}){1,9}'}]", "protect",
     "protect[0] is not a valid pattern: pattern too large - compile failed"},
    {"'protect': ['a'], 'model': 'pointer', 'include': []", "protect",
     "this model cannot copy text unchanged"},
};

static void check_refusal(const struct reply *reply, const char *message) {
    ck_assert_str_eq(text_at(reply->json, "error"), message);
    ck_assert_str_eq(text_at(reply->json, "field"), "protect");
}

START_TEST(refusals) {
    struct reply reply;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        ask("/translate", "A boy.", wrong[i].fields, 400, &reply);
        check_refusal(&reply, wrong[i].message);
        reply_done(&reply);
    }
    ask("/attention", "A boy.", "'translation': 'Un gars.', 'protect': ['boy']", 400, &reply);
    check_refusal(&reply, "protect must be omitted when translation is given");
    reply_done(&reply);
}
END_TEST

/* A body whose protect has so many items of so many bytes. */
static void send_items(size_t items, size_t bytes, bool patterns, long status,
                       struct reply *reply) {
    char *body;
    size_t length;
    FILE *out = open_memstream(&body, &length);
    fprintf(out, "{'text': 'A boy plays.', 'protect': [");
    for (size_t i = 0; i < items; i++) {
        fprintf(out, "%s%s", i > 0 ? ", " : "", patterns ? "{'pattern': '" : "'");
        for (size_t j = 0; j < bytes; j++)
            fputc('x', out);
        fprintf(out, "%s", patterns ? "'}" : "'");
    }
    fprintf(out, "]}");
    fclose(out);
    client_post(&served, "/translate", body, status, reply);
    free(body);
}

START_TEST(how_many_and_how_long) {
    struct reply reply;
    for (int patterns = 0; patterns < 2; patterns++) {
        send_items(50, 200, patterns, 200, &reply);
        reply_done(&reply);
        send_items(51, 1, patterns, 400, &reply);
        check_refusal(&reply, "protect must contain at most 50 strings and patterns, got 51");
        reply_done(&reply);
        send_items(10000, 1, patterns, 400, &reply);
        check_refusal(&reply, "protect must contain at most 50 strings and patterns, got 10000");
        reply_done(&reply);
        send_items(1, 201, patterns, 400, &reply);
        check_refusal(&reply,
                      "protect[0] must have between 1 and 200 bytes, and not be blank, got 201");
        reply_done(&reply);
        send_items(1, 1000000, patterns, 400, &reply);
        check_refusal(
            &reply, "protect[0] must have between 1 and 200 bytes, and not be blank, got 1000000");
        reply_done(&reply);
    }
}
END_TEST

/* Patterns that would take other libraries for ever are answered or refused as too expensive, and
 * the daemon continues to serve. */
START_TEST(hostile_patterns) {
    static const char *const patterns[] = {"(a*)*b", "(a|a)*b", "(x+x+)+y",
                                           "[ab]{1,300}[abc]{1,300}q", "a[^b]*b|a"};
    char text[8001], fields[256];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < COUNT(patterns); i++) {
        struct reply reply;
        char json[8500];
        snprintf(
            fields, sizeof fields,
            "'max_length': 1, 'include': [], 'strategy': 'greedy', 'protect': [{'pattern': '%s'}]",
            patterns[i]);
        snprintf(json, sizeof json, "{'text': '%s', %s}", text, fields);
        client_send(&served, &(struct call){.path = "/translate", .json = json}, &reply);
        ck_assert_msg(reply.status == 200 || reply.status == 413, "%s: %ld %s", patterns[i],
                      reply.status, reply.body ? reply.body : "");
        reply_done(&reply);
    }
}
END_TEST

/* ---- what is held ---- */

#define PROTECT "'protect': ['Blue Moon', {'pattern': '[A-Z]{2}-\\\\d+'}]"

static void check_order(const char *text) {
    ck_assert_msg(count_of(text, "Blue Moon") == 1 && count_of(text, "AB-12") == 1, "%s", text);
}

START_TEST(held_by_every_model) {
    static const char *const models[] = {"luong-general-gru", "fixed-gru", "copy",
                                         "output-characters", "tokenizer-words"};
    static const char *const strategies[] = {"beam", "greedy"};
    for (size_t i = 0; i < COUNT(models); i++)
        for (size_t j = 0; j < COUNT(strategies); j++) {
            struct reply reply;
            char fields[256];
            snprintf(fields, sizeof fields,
                     "'model': '%s', 'strategy': '%s', 'include': [], " PROTECT, models[i],
                     strategies[j]);
            ask("/translate", ORDER, fields, 200, &reply);
            check_order(text_at(reply.json, "translations.0.text"));
            reply_done(&reply);
        }
}
END_TEST

/* Each is one token, aligned with itself; sentences do not end within; nothing but it is its own
 * translation. */
START_TEST(tokens_and_sentences) {
    struct reply reply;
    ask("/translate", "A boy plays. A dog.", "'protect': [{'pattern': 'plays. A'}]", 200, &reply);
    const json_t *sentences = json_at(reply.json, "translations.0.sentences");
    ck_assert_uint_eq(json_array_size(sentences), 1);
    const json_t *tokens = json_at(json_array_get(sentences, 0), "source_tokens");
    size_t own = 0;
    for (size_t i = 0; i < json_array_size(tokens); i++)
        own += strcmp(json_string_value(json_array_get(tokens, i)), "\xe2\x96\x81plays. A") == 0;
    ck_assert_uint_eq(own, 1);
    ck_assert_uint_eq(count_of(text_at(reply.json, "translations.0.text"), "plays. A"), 1);
    reply_done(&reply);
    ask("/translate", "Blue Moon!", PROTECT, 200, &reply);
    ck_assert_str_eq(text_at(reply.json, "translations.0.text"), "Blue Moon!");
    reply_done(&reply);
    ask("/translate", "A boy {name} plays.", "'protect': [], 'include': []", 200, &reply);
    ck_assert_uint_eq(count_of(text_at(reply.json, "translations.0.text"), "{name}"), 1);
    reply_done(&reply);
    ask("/translate", ORDER,
        "'include': [], 'glossary': {'boy': 'jeune homme', 'Moon': 'Lune'}, " PROTECT, 200, &reply);
    check_order(text_at(reply.json, "translations.0.text"));
    ck_assert_uint_eq(count_of(text_at(reply.json, "translations.0.text"), "jeune homme"), 1);
    reply_done(&reply);
}
END_TEST

/* A form has it in JSON. */
START_TEST(in_forms) {
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/translate",
                               .body = "text=The+boy+sees+Blue+Moon+AB-12+and+the+dog.&protect=%5B%"
                                       "22Blue+Moon%22%2C%7B%22pattern%22%3A"
                                       "%22%5BA-Z%5D%7B2%7D-%5C%5Cd%2B%22%7D%5D"},
                &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.body);
    check_order(text_at(reply.json, "translations.0.text"));
    reply_done(&reply);
}
END_TEST

#define PART(name, value)                                                                          \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define FILE_PART(text)                                                                            \
    "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\n" text        \
    "\r\n--XX--\r\n"

static void upload(const char *body, long status, struct reply *reply) {
    client_send(&served,
                &(struct call){.path = "/documents",
                               .body = body,
                               .headers = {"Content-Type: multipart/form-data; boundary=XX"}},
                reply);
    ck_assert_msg(reply->status == status, "%ld %s", reply->status, reply->body);
}

START_TEST(in_documents) {
    struct reply reply;
    upload(PART("source", "en") PART("target", "fr")
               PART("protect", "[\"Blue Moon\", {\"pattern\": \"[A-Z]{2}-\\\\d+\"}]")
                   FILE_PART("# The dog\n\nThe boy sees Blue\nMoon AB-12 and the *dog*.\n"),
           200, &reply);
    ck_assert_uint_eq(count_of(reply.body, "AB-12"), 1);
    ck_assert_uint_eq(count_of(reply.body, "Blue Moon"), 1);
    reply_done(&reply);
    upload(PART("target", "fr") PART("protect", "Blue Moon") FILE_PART("x"), 400, &reply);
    check_refusal(&reply, "protect must be an array in JSON");
    reply_done(&reply);
    upload(PART("target", "fr") PART("protect", "[{\"pattern\": \"(\"}]") FILE_PART("x"), 400,
           &reply);
    check_refusal(&reply, "protect[0] is not a valid pattern: missing ): (");
    reply_done(&reply);
}
END_TEST

/* Tags stay where they are in a match. */
START_TEST(tags_within) {
    static const char *const matches[] = {"**Blue** Moon", "Blue **Moon**", "**Blue Moon**"};
    for (size_t i = 0; i < COUNT(matches); i++) {
        struct reply reply;
        char body[512];
        snprintf(body, sizeof body,
                 PART("source", "en") PART("target", "fr") PART("protect", "[\"Blue Moon\"]")
                     FILE_PART("The boy sees %s.\n"),
                 matches[i]);
        upload(body, 200, &reply);
        ck_assert_msg(count_of(reply.body, matches[i]) == 1, "%s", reply.body);
        ck_assert_uint_eq(count_of(reply.body, "**"), 2);
        reply_done(&reply);
    }
}
END_TEST

/* Another list is another question. */
START_TEST(kept_apart) {
    static const char *const fields[] = {"'include': []", "'include': [], 'protect': ['boy']",
                                         "'include': [], 'protect': ['dog']",
                                         "'include': [], 'protect': [{'pattern': 'dog'}]"};
    struct reply reply;
    for (size_t i = 0; i < COUNT(fields); i++) {
        ask("/translate", "A boy sees a dog.", fields[i], 200, &reply);
        reply_done(&reply);
    }
    ck_assert_double_eq(metric(&served, "alignd_cache_hits_total"), 0);
    ask("/translate", "A boy sees a dog.", fields[1], 200, &reply);
    ck_assert_double_eq(metric(&served, "alignd_cache_hits_total"), 1);
    ck_assert_uint_eq(count_of(text_at(reply.json, "translations.0.text"), "boy"), 1);
    reply_done(&reply);
}
END_TEST

/* `alignd translate` */
START_TEST(of_lines_and_files) {
    struct outcome outcome;
    program_run(ARGUMENTS("translate", "--model", MODEL, "--protect", "Blue Moon",
                          "--protect-pattern", "[A-Z]{2}-\\d+"),
                ORDER "\nA dog.\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    check_order(outcome.out);
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--format", "md", "--protect", "Blue Moon",
                          "--protect", "AB-12"),
                "- " ORDER "\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    check_order(outcome.out);
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--protect-pattern", "(",
                          "--protect-pattern", "a"),
                "A dog.\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: --protect-pattern \"(\": missing ): (\n");
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", MODEL, "--format", "md", "--protect", "Blue Moon",
                          "--protect", "AB-12", "--strategy", "sample", "--temperature", "0.1",
                          "--seed", "3"),
                "- " ORDER "\n", &outcome);
    ck_assert_msg(outcome.status == 0, "%s", outcome.err);
    check_order(outcome.out);
    outcome_done(&outcome);
    program_run(ARGUMENTS("translate", "--model", "tests/golden/pointer", "--protect", "a"),
                "A dog.\n", &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.err, "alignd: line 1: this model cannot copy text unchanged\n");
    outcome_done(&outcome);
}
END_TEST

Suite *protect_suite(void) {
    Suite *suite = suite_create("protect");
    TCase *tcase = tcase_create("protect");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, refusals);
    tcase_add_test(tcase, how_many_and_how_long);
    tcase_add_test(tcase, hostile_patterns);
    tcase_add_test(tcase, held_by_every_model);
    tcase_add_test(tcase, tokens_and_sentences);
    tcase_add_test(tcase, in_forms);
    tcase_add_test(tcase, in_documents);
    tcase_add_test(tcase, tags_within);
    tcase_add_test(tcase, kept_apart);
    tcase_add_test(tcase, of_lines_and_files);
    suite_add_tcase(suite, tcase);
    return suite;
}
