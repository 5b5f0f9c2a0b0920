/* The native dialect as a form or in the query string: requests by curl -d, -F and --data-urlencode
 * equal JSON with the same fields. And /attention's translation, which is called target, too. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MULTIPART    "Content-Type: multipart/form-data; boundary=XX"
#define PART(name)   "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"
#define MISSING                                                                                    \
    "text is missing: send a JSON object such as {\"text\": \"Hello.\"} or a form with text; "     \
    "/translate also takes q"

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--workers", "1", "--max-text-chars", "10000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static const struct {
    struct call form;
    const char *json;
} same[] = {
    {{.path = "/translate", .body = "text=A+boy%20plays.%20%C3%A9"},
     "{'text': 'A boy plays. \u00e9'}"},
    {{.path = "/translate",
      .body = PART("text") "A boy plays.\r\n--XX--\r\n",
      .headers = {MULTIPART}},
     "{'text': 'A boy plays.'}"},
    {{.path = "/translate", .method = "POST", .body = "text=Snow%26ice%3D%7B"},
     "{'text': 'Snow&ice={'}"},
    {{.path = "/translate?text=A+boy+plays.&strategy=greedy", .method = "POST"},
     "{'text': 'A boy plays.', 'strategy': 'greedy'}"},
    {{.path = "/translate?beam_size=3",
      .body = "text=A+boy.&n_best=2&length_penalty=.5&coverage_penalty=1"},
     "{'text': 'A boy.', 'beam_size': 3, 'n_best': 2, 'length_penalty': 0.5, 'coverage_penalty': "
     "1}"},
    {{.path = "/translate",
      .body = "text=A+boy.&text=A+dog.&text=&split_sentences=false&replace_unknowns=0"},
     "{'text': ['A boy.', 'A dog.', ''], 'split_sentences': false, 'replace_unknowns': false}"},
    {{.path = "/translate",
      .body = "text=A+boy.&include=tokens,log_probs&include=entropy&max_length=9&prefix=Un"},
     "{'text': 'A boy.', 'include': ['tokens', 'log_probs', 'entropy'], 'max_length': 9, 'prefix': "
     "'Un'}"},
    {{.path = "/translate", .body = "text=A+boy.&include="}, "{'text': 'A boy.', 'include': []}"},
    {{.path = "/translate",
      .body =
          "text=A+boy.&strategy=sample&seed=9223372036854775807&top_p=0.9&top_k=10&temperature=2"},
     "{'text': 'A boy.', 'strategy': 'sample', 'seed': 9223372036854775807, 'top_p': 0.9, 'top_k': "
     "10, 'temperature': 2}"},
    {{.path = "/translate", .body = "text=A+boy.&glossary=%7B%22boy%22:%22gars%22%7D"},
     "{'text': 'A boy.', 'glossary': {'boy': 'gars'}}"},
    {{.path = "/translate", .body = "text=A+boy.&source=en&target=fr&model=luong-general-gru"},
     "{'text': 'A boy.'}"},
    {{.path = "/translate", .body = "text="}, "{'text': ''}"},
    {{.path = "/attention", .body = "text=A+boy."}, "{'text': 'A boy.'}"},
    {{.path = "/translate?text=A+boy+plays."}, "{'text': 'A boy plays.'}"},
    {{.path = "/translate?text=A+boy.&text=A%20dog.&target=fr&include=tokens,entropy&beam_size=3&n_"
              "best=2"},
     "{'text': ['A boy.', 'A dog.'], 'target': 'fr', 'include': ['tokens', 'entropy'], "
     "'beam_size': 3, 'n_best': 2}"},
    {{.path = "/translate?q=A+boy.&source=en&target=fr"},
     "{'q': 'A boy.', 'source': 'en', 'target': 'fr'}"},
    {{.path = "/attention?text=A+boy.&digits=9"}, "{'text': 'A boy.', 'digits': 9}"},
    {{.path = "/attention?text=A+boy.&translation=Un+gars."},
     "{'text': 'A boy.', 'translation': 'Un gars.'}"},
    {{.path = "/attention",
      .body = PART("text") "A boy.\r\n" PART("translation") "Un gars.\r\n--XX--\r\n",
      .headers = {MULTIPART}},
     "{'text': 'A boy.', 'translation': 'Un gars.'}"},
    {{.path = "/attention",
      .body = "text=.&force_attention=%5B%7B%22step%22:0,%22weights%22:%5B0,1,0%5D%7D%5D"},
     "{'text': '.', 'force_attention': [{'step': 0, 'weights': [0, 1, 0]}]}"},
};

START_TEST(a_form_is_the_json_of_its_fields) {
    struct reply form, json;
    client_send(&served, &same[_i].form, &form);
    ck_assert_msg(form.status == 200, "%ld %s", form.status, form.body);
    client_send(&served,
                &(struct call){.path = strncmp(same[_i].form.path, "/t", 2) == 0 ? "/translate"
                                                                                 : "/attention",
                               .json = same[_i].json},
                &json);
    ck_assert_str_eq(form.body, json.body);
    reply_done(&form);
    reply_done(&json);
}
END_TEST

static void check_refusal(const struct call *call, const char *field, const char *message) {
    struct reply reply;
    client_send(&served, call, &reply);
    ck_assert_msg(reply.status == 400, "%s: %ld %s", call->body ? call->body : call->json,
                  reply.status, reply.body);
    ck_assert_str_eq(text_at(reply.json, "error"), message);
    ck_assert_str_eq(text_at(reply.json, "field"), field);
    reply_done(&reply);
}

static const struct {
    const char *body, *field, *message;
} wrong[] = {
    {"hello", "text", MISSING}, /* curl -d hello */
    {"foo=bar", "text", MISSING},
    {"texts=hello", "text", MISSING},
    {"text=x&typo=1", "typo", "unknown field \"typo\""},
    {"text=x&q=y", "q", "unknown field \"q\""}, /* as in JSON: with text it is native, and strict */
    {"text=x&beam_size=", "beam_size", "beam_size must be an integer, got a string"},
    {"text=x&beam_size=5x", "beam_size", "beam_size must be an integer, got a string"},
    {"text=x&beam_size=+5", "beam_size", "beam_size must be an integer, got a string"},
    {"text=x&beam_size=99", "beam_size", "beam_size must be between 1 and 32, got 99"},
    {"text=x&beam_size=4&beam_size=5", "beam_size", "beam_size must be given only once"},
    {"text=x&digits=10", "digits", "digits must be between 1 and 9, got 10"},
    {"text=x&digits=1.5", "digits", "digits must be an integer, got a number"},
    {"text=x&length_penalty=nan", "length_penalty",
     "length_penalty must be a number, got a string"},
    {"text=x&length_penalty=0x1", "length_penalty",
     "length_penalty must be a number, got a string"},
    {"text=x&length_penalty=3", "length_penalty", "length_penalty must be between 0 and 2, got 3"},
    {"text=x&stream=yes", "stream", "stream must be true or false, got a string"},
    {"text=x&include=tokens,other", "include",
     "include must be all, or any of tokens, log_probs, attention, scores, soft_alignment, "
     "alignment, "
     "words, phrases, offsets, entropy, top_k, "
     "beam, "
     "quality, heads, timing, eos, got "
     "\"other\""},
    {"text=x&glossary=boy:gars", "glossary",
     "glossary \"boy:gars\" not found for \"en\" to \"fr\""},
    {"text=x&strategy=best", "strategy",
     "strategy must be greedy, beam, sample or exact, got \"best\""},
};

START_TEST(what_is_wrong_is_told) {
    for (size_t i = 0; i < COUNT(wrong); i++)
        check_refusal(&(struct call){.path = "/translate", .body = wrong[i].body}, wrong[i].field,
                      wrong[i].message);
    check_refusal(&(struct call){.path = "/translate", .body = "--XX--", .headers = {MULTIPART}},
                  "text", MISSING);
    check_refusal(&(struct call){.path = "/attention", .body = "hello"}, "text", MISSING);
    check_refusal(&(struct call){.path = "/attention", .body = "q=x"}, "text", MISSING);
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = "text=%ff"}, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"), "the fields are not valid UTF-8");
    reply_done(&reply);
    client_send(&served, &(struct call){.path = "/translate", .body = " [1]"},
                &reply); /* as { it begins JSON */
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"), "the body must be a JSON object, got an array");
    reply_done(&reply);
}
END_TEST

/* ---- one address to try ---- */

static void check_header(const struct reply *reply, const char *name, const char *expected) {
    char value[HEADER_BYTES];
    ck_assert_msg(reply_header(reply, name, value), "no header %s in\n%s", name, reply->headers);
    ck_assert_str_eq(value, expected);
}

static char *long_path(size_t length) {
    static const char path[] = "/translate?text=";
    char *text = malloc(sizeof path + length);
    memcpy(text, path, sizeof path - 1);
    memset(text + sizeof path - 1, 'a', length);
    text[sizeof path - 1 + length] = '\0';
    return text;
}

START_TEST(an_address_is_not_kept_by_caches) {
    static const char path[] = "/translate?text=A+boy.";
    struct reply whole, head;
    char length[HEADER_BYTES];
    client_send(&served, &(struct call){.path = path, .headers = {"Origin: https://example.org"}},
                &whole);
    ck_assert_int_eq(whole.status, 200);
    check_header(&whole, "Cache-Control", "no-store");
    check_header(&whole, "Access-Control-Allow-Origin", "*");
    client_send(&served, &(struct call){.path = path, .method = "HEAD"}, &head);
    ck_assert_int_eq(head.status, 200);
    snprintf(length, sizeof length, "%zu", whole.length);
    check_header(&head, "Content-Length", length);
    check_header(&head, "Cache-Control", "no-store");
    ck_assert_uint_eq(head.length, 0);
    reply_done(&whole);
    reply_done(&head);
    client_send(&served, &(struct call){.path = "/translate?text=A+boy.&stream=true"}, &whole);
    check_header(&whole, "Content-Type", "text/event-stream");
    check_header(&whole, "Cache-Control", "no-store");
    ck_assert_ptr_nonnull(strstr(whole.body, "event: result"));
    reply_done(&whole);
    client_send(&served,
                &(struct call){.path = "/translate?text=A+boy.&stream=true", .method = "HEAD"},
                &head);
    ck_assert_int_eq(head.status, 200);
    ck_assert_uint_eq(head.length, 0);
    reply_done(&head);
    client_send(&served, &(struct call){.path = "/health"}, &whole);
    ck_assert(!reply_header(&whole, "Cache-Control", length));
    reply_done(&whole);
}
END_TEST

/* As of a body, and what only an address can be: too long. */
START_TEST(what_is_wrong_with_an_address) {
    static const struct {
        const char *path, *field, *message;
    } rows[] = {
        {"/translate?texts=x", "text", MISSING},
        {"/attention?q=x", "text", MISSING},
        {"/translate?text=x&typo=1", "typo", "unknown field \"typo\""},
    };
    struct reply reply;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_refusal(&(struct call){.path = rows[i].path}, rows[i].field, rows[i].message);
    client_send(&served, &(struct call){.path = "/translate"}, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"),
                     "the body is empty: send a JSON object, or the fields in the query string");
    reply_done(&reply);
    char *many = long_path(10001), *longer = long_path(30000);
    client_send(&served, &(struct call){.path = many}, &reply);
    ck_assert_int_eq(reply.status, 413);
    ck_assert_str_eq(text_at(reply.json, "field"), "text");
    check_header(&reply, "Cache-Control", "no-store");
    reply_done(&reply);
    client_send(&served, &(struct call){.path = longer}, &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "error"), "the query string is too long");
    reply_done(&reply);
    free(many);
    free(longer);
}
END_TEST

/* ---- translation, and target ---- */

START_TEST(target_is_a_language) {
    static const char *const bodies[] = {
        "{'text': 'A boy.', 'source': 'en', 'target': 'fr', 'translation': 'Un gars.'}",
        "{'text': 'A boy.', 'target': 'FR', 'source': 'en', 'translation': 'Un gars.'}"};
    struct reply plain;
    client_post(&served, "/attention", "{'text': 'A boy.', 'translation': 'Un gars.'}", 200,
                &plain);
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct reply reply;
        client_post(&served, "/attention", bodies[i], 200, &reply);
        ck_assert_str_eq(reply.body, plain.body);
        reply_done(&reply);
    }
    reply_done(&plain);
}
END_TEST

#define NO_LANGUAGE(got)                                                                           \
    "target must be a language code, one of fr, got \"" got                                        \
    "\"; send your own translation in \"translation\""

static const struct {
    const char *json, *field, *message;
} mistaken[] = {
    {"{'text': 'x', 'source': 'en', 'target': 'Un gars.'}", "target", NO_LANGUAGE("Un gars.")},
    {"{'text': 'x', 'target': 'de'}", "target", NO_LANGUAGE("de")},
    {"{'text': 'x', 'target': 'en', 'translation': 'y'}", "target", NO_LANGUAGE("en")},
    {"{'text': 'x', 'target': ''}", "target", NO_LANGUAGE("")},
    {"{'text': ['x'], 'target': ['y']}", "target",
     "target must be a language code, got an array; send your own translation in \"translation\""},
    {"{'text': 'x', 'translation': 1}", "translation",
     "translation must be a string or an array of strings, got an integer"},
    {"{'text': 'x', 'translation': ['y']}", "translation",
     "translation must be a string if text is a string, or an array as long as text (1), got 1"},
    {"{'text': 'x', 'translation': 'y', 'n_best': 2}", "n_best",
     "n_best must be 1 when translation is given, got 2"},
    {"{'text': 'One. Two.', 'translation': 'y', 'split_sentences': true}", "split_sentences",
     "split_sentences must be false when translation is given: the text has 2 sentences"},
    {"{'text': 'x', 'translation': 'y', 'prefix': 'z'}", "prefix",
     "prefix must be empty when translation is given"},
    {"{'text': 'x', 'translation': 'y', 'suffix': 'z'}", "suffix",
     "suffix must be empty when translation is given"},
    {"{'text': 'x', 'suffix': ' '}", "suffix", "the suffix must not be blank"},
    {"{'text': 'One. Two.', 'suffix': 'z', 'split_sentences': true}", "split_sentences",
     "split_sentences must be false when suffix is given: the text has 2 sentences"},
    {"{'text': 'x', 'translation': 'y', 'glossary': {}}", "glossary",
     "glossary must be omitted when translation is given"},
};

START_TEST(what_target_was_meant_for) {
    for (size_t i = 0; i < COUNT(mistaken); i++)
        check_refusal(&(struct call){.path = "/attention", .json = mistaken[i].json},
                      mistaken[i].field, mistaken[i].message);
    check_refusal(&(struct call){.path = "/translate", .json = "{'text': 'x', 'translation': 'y'}"},
                  "translation", "unknown field \"translation\"");
}
END_TEST

Suite *forms_suite(void) {
    Suite *suite = suite_create("forms");
    TCase *tests = tcase_create("forms");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_loop_test(tests, a_form_is_the_json_of_its_fields, 0, COUNT(same));
    tcase_add_test(tests, what_is_wrong_is_told);
    tcase_add_test(tests, an_address_is_not_kept_by_caches);
    tcase_add_test(tests, what_is_wrong_with_an_address);
    tcase_add_test(tests, target_is_a_language);
    tcase_add_test(tests, what_target_was_meant_for);
    suite_add_tcase(suite, tests);
    return suite;
}
