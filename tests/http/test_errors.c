/* The error table: status, code, field and message of each refusal. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/luong-dot-lstm",
                                    "--max-text-chars", "1000", "--max-body-bytes", "20000"));
}

static void teardown(void) {
    daemon_stop(&served);
}

/* message: all of it, or its beginning and a '*'. field: NULL for none. */
struct refusal {
    const char *json, *field, *message;
};

static bool message_fits(const char *message, const char *pattern) {
    size_t length = strlen(pattern);
    return pattern[length - 1] == '*' ? strncmp(message, pattern, length - 1) == 0
                                      : strcmp(message, pattern) == 0;
}

static void check_error(const struct reply *reply, long status, const char *code, const char *field,
                        const char *message) {
    const char *body = reply->body ? reply->body : "";
    char type[HEADER_BYTES];
    ck_assert_msg(reply->status == status, "wanted %ld, got %ld %s", status, reply->status, body);
    ck_assert(reply_header(reply, "Content-Type", type));
    ck_assert_str_eq(type, "application/json; charset=utf-8");
    ck_assert_msg(message_fits(text_at(reply->json, "error"), message), "wanted %s, got %s",
                  message, body);
    ck_assert_str_eq(text_at(reply->json, "code"), code);
    ck_assert_uint_eq(json_object_size(reply->json), field ? 3 : 2);
    if (field)
        ck_assert_msg(strcmp(text_at(reply->json, "field"), field) == 0, "wanted field %s, got %s",
                      field, body);
}

static void check_invalid(const char *path, const struct refusal *refusals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct reply reply;
        client_send(&served, &(struct call){.path = path, .json = refusals[i].json}, &reply);
        check_error(&reply, 400, "invalid_request", refusals[i].field, refusals[i].message);
        reply_done(&reply);
    }
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(json_syntax) {
    static const struct refusal refusals[] = {
        {"", NULL, "the body is empty: send a JSON object, or the fields in the query string"},
        {" \n ", NULL, "the body is empty: send a JSON object, or the fields in the query string"},
        {"{'text': 'x'", NULL, "the body is not valid JSON: line 1, column 12: *"},
        {"{'text': 'x',}", NULL, "the body is not valid JSON: line 1, column 14: *"},
        {"{\n'text': 'x'\n'model': 1}", NULL, "the body is not valid JSON: line 3, column 7: *"},
        {"{'text': x}", NULL, "the body is not valid JSON: line 1, column 10: *"},
        {"{'text': 'x'} {'text': 'y'}", NULL, "the body is not valid JSON: line 1, column 15: *"},
        {"{'text': 'x', 'text': 'y'}", NULL, "the body is not valid JSON: line 1, column 2*"},
        {"{'text': 'a\\ud800b'}", NULL, "the body is not valid JSON: line 1, column *"},
        {"{'text': 'a\nb'}", NULL, "the body is not valid JSON: line 1, column *"},
        {"{'text': 'x', 'beam_size': 99999999999999999999}", NULL,
         "the body is not valid JSON: line 1, column *"},
        {"{'text': 'x', 'length_penalty': 1e999}", NULL,
         "the body is not valid JSON: line 1, column *"},
        {"{'text': 'x', 'length_penalty': NaN}", NULL,
         "the body is not valid JSON: line 1, column *"},
    };
    check_invalid("/translate", refusals, COUNT(refusals));
    check_invalid("/attention", refusals, COUNT(refusals));
}
END_TEST

/* A zero byte is never blank. */
START_TEST(zero_bytes) {
    static const struct {
        const char *bytes;
        size_t length;
    } bodies[] = {
#define BODY(text) {text, sizeof text - 1}
        BODY("{\"text\": \"x\", \"beam_size\": 5\0}"),
        BODY("{\"text\": \"x\", \"length_penalty\": 1.5\0}"),
        BODY("{\"text\": \"x\", \"stream\": false\0}"),
        BODY("{\"text\": \"x\", \"glossary\": null\0}"),
        BODY("{\"text\": \"x\", \"beam_size\": 5\0\0 }"),
        BODY("{\"text\": \"x\"\0}"),
        BODY("{\"text\": \"x\"}\0"),
        BODY("{\"q\": \"x\", \"source\": \"en\", \"alternatives\": 1\0}"),
#undef BODY
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){
                        .path = "/translate", .body = bodies[i].bytes, .length = bodies[i].length},
                    &reply);
        check_error(&reply, 400, "invalid_request", NULL, "the body is not valid JSON: *");
        reply_done(&reply);
    }
}
END_TEST

START_TEST(compressed_bodies) {
    static const char gzip[] =
        "\x1f\x8b\x08\0\0\0\0\0\0\x03\xabV*I\xad(Q\xb2R\xaaP\xaa\x05\0\x5f\x8f\x9e\x52\x0c\0\0\0";
    static const char *const headers[] = {
        "Content-Encoding: gzip", "Content-Encoding: identity, gzip", "Content-Encoding: br"};
    struct call call = {.path = "/translate", .body = gzip, .length = sizeof gzip - 1};
    struct reply reply;
    for (size_t i = 0; i < COUNT(headers); i++) {
        call.headers[0] = headers[i];
        client_send(&served, &call, &reply);
        check_error(&reply, 415, "unsupported_media_type", "Content-Encoding",
                    "the body must be sent without Content-Encoding, got *");
        reply_done(&reply);
    }
    call = (struct call){
        .path = "/translate", .json = "{'text': 'x'}", .headers = {"Content-Encoding: identity"}};
    client_send(&served, &call, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
}
END_TEST

START_TEST(invalid_utf8) {
    static const char *const bodies[] = {
        "{\"text\": \"a\xff\"}", "{\"text\": \"\xc0\x80\"}", "{\"text\": \"\xed\xa0\x80\"}",
        "{\"text\": \"\xf4\x90\x80\x80\"}", "{\"te\xe2\x82xt\": \"x\"}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct reply reply;
        client_send(&served, &(struct call){.path = "/translate", .body = bodies[i]}, &reply);
        check_error(&reply, 400, "invalid_request", NULL,
                    "the body is not valid UTF-8: line 1, column *");
        reply_done(&reply);
    }
}
END_TEST

START_TEST(not_an_object) {
    static const struct refusal refusals[] = {
        {"['x']", NULL, "the body must be a JSON object, got an array"},
        {"[]", NULL, "the body must be a JSON object, got an array"},
    };
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){.path = "/translate",
                                   .json = refusals[i].json,
                                   .headers = {"Content-Type: application/json"}},
                    &reply);
        check_error(&reply, 400, "invalid_request", NULL, refusals[i].message);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(texts) {
    static const struct refusal refusals[] = {
        {"{}", "text", "text is missing"},
        {"{'model': 'luong-general-gru'}", "text", "text is missing"},
        {"{'text': null}", "text", "text must be a string or an array of strings, got null"},
        {"{'text': 1}", "text", "text must be a string or an array of strings, got an integer"},
        {"{'text': 1.5}", "text", "text must be a string or an array of strings, got a number"},
        {"{'text': true}", "text", "text must be a string or an array of strings, got a boolean"},
        {"{'text': {}}", "text", "text must be a string or an array of strings, got an object"},
        {"{'text': []}", "text", "text must contain between 1 and 64 strings, got 0"},
        {"{'text': ['x', null]}", "text",
         "text must be a string or an array of strings, got null at index 1"},
        {"{'text': [['x']]}", "text",
         "text must be a string or an array of strings, got an array at index 0"},
        {"{'text': ['x', 'y', 3]}", "text",
         "text must be a string or an array of strings, got an integer at index 2"},
    };
    check_invalid("/translate", refusals, COUNT(refusals));
    check_invalid("/attention", refusals, COUNT(refusals));
}
END_TEST

START_TEST(too_many_texts) {
    char json[1024], *end = json + sprintf(json, "{'text': ['x'");
    for (size_t i = 1; i < 65; i++)
        end += sprintf(end, ", 'x'");
    strcpy(end, "]}");
    struct refusal refusal = {json, "text", "text must contain between 1 and 64 strings, got 65"};
    check_invalid("/translate", &refusal, 1);
}
END_TEST

START_TEST(numbers) {
    static const struct refusal refusals[] = {
        {"{'text': 'x', 'beam_size': 0}", "beam_size", "beam_size must be between 1 and 32, got 0"},
        {"{'text': 'x', 'beam_size': 33}", "beam_size",
         "beam_size must be between 1 and 32, got 33"},
        {"{'text': 'x', 'beam_size': 99}", "beam_size",
         "beam_size must be between 1 and 32, got 99"},
        {"{'text': 'x', 'beam_size': -1}", "beam_size",
         "beam_size must be between 1 and 32, got -1"},
        {"{'text': 'x', 'beam_size': 9223372036854775807}", "beam_size",
         "beam_size must be between 1 and 32, got 9223372036854775807"},
        {"{'text': 'x', 'beam_size': 2.5}", "beam_size",
         "beam_size must be an integer, got a number"},
        {"{'text': 'x', 'beam_size': 33.0}", "beam_size",
         "beam_size must be between 1 and 32, got 33"},
        {"{'text': 'x', 'beam_size': 1e300}", "beam_size",
         "beam_size must be an integer, got a number"},
        {"{'text': 'x', 'beam_size': '2'}", "beam_size",
         "beam_size must be an integer, got a string"},
        {"{'text': 'x', 'beam_size': null}", "beam_size", "beam_size must be an integer, got null"},
        {"{'text': 'x', 'beam_size': true}", "beam_size",
         "beam_size must be an integer, got a boolean"},
        {"{'text': 'x', 'digits': 0}", "digits", "digits must be between 1 and 9, got 0"},
        {"{'text': 'x', 'digits': 10}", "digits", "digits must be between 1 and 9, got 10"},
        {"{'text': 'x', 'digits': 1.5}", "digits", "digits must be an integer, got a number"},
        {"{'text': 'x', 'digits': 'x'}", "digits", "digits must be an integer, got a string"},
        {"{'text': 'x', 'links': 'all'}", "links",
         "links must be best, mutual, balanced or several, got \"all\""},
        {"{'text': 'x', 'links': ['best']}", "links", "links must be a string, got an array"},
        {"{'text': 'x', 'n_best': 0}", "n_best", "n_best must be between 1 and *"},
        {"{'text': 'x', 'n_best': 33}", "n_best", "n_best must be between 1 and *"},
        {"{'text': 'x', 'n_best': 6}", "n_best",
         "n_best must be between 1 and beam_size (5), got 6"},
        {"{'text': 'x', 'beam_size': 2, 'n_best': 3}", "n_best",
         "n_best must be between 1 and beam_size (2), got 3"},
        {"{'text': 'x', 'strategy': 'greedy', 'n_best': 2}", "n_best",
         "n_best must be 1 when strategy is greedy, got 2"},
        {"{'text': 'x', 'n_best': '1'}", "n_best", "n_best must be an integer, got a string"},
        {"{'text': 'x', 'length_penalty': -0.1}", "length_penalty",
         "length_penalty must be between 0 and 2, got -0.1"},
        {"{'text': 'x', 'length_penalty': 2.1}", "length_penalty",
         "length_penalty must be between 0 and 2, got 2.1"},
        {"{'text': 'x', 'length_penalty': 3}", "length_penalty",
         "length_penalty must be between 0 and 2, got 3"},
        {"{'text': 'x', 'length_penalty': '1'}", "length_penalty",
         "length_penalty must be a number, got a string"},
        {"{'text': 'x', 'min_length': -1}", "min_length",
         "min_length must be between 0 and 1000, got -1"},
        {"{'text': 'x', 'min_length': 1001}", "min_length",
         "min_length must be between 0 and 1000, got 1001"},
        {"{'text': 'x', 'min_length': 1.5}", "min_length",
         "min_length must be an integer, got a number"},
        {"{'text': 'x', 'max_length': 0}", "max_length",
         "max_length must be between 1 and 1000, got 0"},
        {"{'text': 'x', 'max_length': 1001}", "max_length",
         "max_length must be between 1 and 1000, got 1001"},
        {"{'text': 'x', 'max_length': []}", "max_length",
         "max_length must be an integer, got an array"},
        {"{'text': 'x', 'min_length': 5, 'max_length': 4}", "min_length",
         "min_length must be between 0 and max_length (4), got 5"},
    };
    check_invalid("/translate", refusals, COUNT(refusals));
    check_invalid("/attention", refusals, COUNT(refusals));
}
END_TEST

START_TEST(other_fields) {
    static const struct refusal refusals[] = {
        {"{'text': 'x', 'txt': 'y'}", "txt", "unknown field \"txt\""},
        {"{'text': 'x', 'Beam_size': 1}", "Beam_size", "unknown field \"Beam_size\""},
        {"{'text': 'x', '': 1}", "", "unknown field \"\""},
        {"{'text': 'x', 'strategy': 'best'}", "strategy",
         "strategy must be greedy, beam, sample or exact, got \"best\""},
        {"{'text': 'x', 'strategy': 'forced'}", "strategy",
         "strategy must be greedy, beam, sample or exact, got \"forced\""},
        {"{'text': 'x', 'strategy': 1}", "strategy", "strategy must be a string, got an integer"},
        {"{'text': 'x', 'split_sentences': 1}", "split_sentences",
         "split_sentences must be true or false, got an integer"},
        {"{'text': 'x', 'split_sentences': 'false'}", "split_sentences",
         "split_sentences must be true or false, got a string"},
        {"{'text': 'x', 'replace_unknowns': 1}", "replace_unknowns",
         "replace_unknowns must be true or false, got an integer"},
        {"{'text': 'x', 'include': 1}", "include",
         "include must be a string or an array of strings, got an integer"},
        {"{'text': 'x', 'include': [1]}", "include",
         "include must be a string or an array of strings, got an integer at index 0"},
        {"{'text': 'x', 'include': ['tokens', 'token']}", "include",
         "include must be all, or any of tokens, log_probs, *"},
        {"{'text': 'x', 'include': 'tokens, alles'}", "include",
         "include must be all, or any of tokens, log_probs, *"},
        {"{'text': 'x', 'include': "
         "['eos','eos','eos','eos','eos','eos','eos','eos','eos','eos','eos','eos','eos','eos','"
         "eos','eos','"
         "eos']}",
         "include", "include must contain at most 16 strings, got 17"},
        {"{'text': 'x', 'model': 1}", "model", "model must be a string, got an integer"},
        {"{'text': 'x', 'model': null}", "model", "model must be a string, got null"},
        {"{'text': 'x', 'source': []}", "source", "source must be a string, got an array"},
    };
    check_invalid("/translate", refusals, COUNT(refusals));
    check_invalid("/attention", refusals, COUNT(refusals));
}
END_TEST

#define DOWNLOAD(command) "; \"" command "\" or an administrator can download one, if it exists"

START_TEST(models_and_languages) {
    static const struct refusal refusals[] = {
        {"{'text': 'x', 'model': 'en-zz'}", "model", "no model \"en-zz\" is loaded"},
        {"{'text': 'x', 'model': ''}", "model", "no model \"\" is loaded"},
        {"{'text': 'x', 'source': 'zz'}", "source",
         "no model translates from \"zz\"" DOWNLOAD("alignd get")},
        {"{'text': 'x', 'target': 'zz'}", "target",
         "no model translates to \"zz\"" DOWNLOAD("alignd get")},
        {"{'text': 'x', 'source': 'en', 'target': 'de'}", "target",
         "no model translates from \"en\" to \"de\"" DOWNLOAD("alignd get en-de")},
        {"{'text': 'x', 'source': 'en', 'target': 'a b;c'}", "target",
         "no model translates from \"en\" to \"a b;c\"" DOWNLOAD("alignd get")},
        {"{'text': 'x', 'source': 'fr', 'target': 'en'}", "source",
         "no model translates from \"fr\"" DOWNLOAD("alignd get fr-en")},
        {"{'text': 'x', 'model': 'luong-dot-lstm', 'source': 'fr'}", "source",
         "this model does not translate from \"fr\""},
        {"{'text': 'x', 'target': 1}", "target", "target must be a string, got an integer"},
    };
    check_invalid("/translate", refusals, COUNT(refusals));
}
END_TEST

START_TEST(targets) {
    static const struct refusal refusals[] = {
        {"{'text': 'x', 'translation': 1}", "translation",
         "translation must be a string or an array of strings, got an integer"},
        {"{'text': 'x', 'translation': null}", "translation",
         "translation must be a string or an array of strings, got null"},
        {"{'text': 'x', 'translation': ['y']}", "translation",
         "translation must be a string if text is a string*"},
        {"{'text': ['x'], 'translation': 'y'}", "translation",
         "translation must be a string if text is a string*"},
        {"{'text': ['x', 'y'], 'translation': ['z']}", "translation",
         "translation must be a string if text is a string, or an array as long as text (2), got "
         "1"},
        {"{'text': ['x'], 'translation': [null]}", "translation",
         "translation must be a string or an array of strings, got null at index 0"},
        {"{'text': ['x'], 'translation': []}", "translation",
         "translation must contain between 1 and 64 strings, got 0"},
        {"{'text': 'x', 'translation': 'y', 'n_best': 2}", "n_best",
         "n_best must be 1 when translation is given, got 2"},
        {"{'text': 'One. Two.', 'translation': 'y', 'split_sentences': true}", "split_sentences",
         "split_sentences must be false when translation is given: the text has 2 sentences"},
    };
    check_invalid("/attention", refusals, COUNT(refusals));
}
END_TEST

START_TEST(priorities) {
    static const char *const values[] = {"", "Batch", "high", "batch, batch", "1"};
    for (size_t i = 0; i < COUNT(values); i++) {
        struct reply reply;
        char header[100], message[200];
        snprintf(header, sizeof header, "X-Priority%s%s", *values[i] ? ": " : ";", values[i]);
        snprintf(message, sizeof message, "X-Priority must be interactive or batch, got \"%s\"",
                 values[i]);
        client_send(
            &served,
            &(struct call){.path = "/translate", .json = "{'text': 'x'}", .headers = {header}},
            &reply);
        check_error(&reply, 400, "invalid_request", "X-Priority", message);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(deadlines) {
    static const char *const values[] = {"0", "-1", "x", "1.5", "10 ms", "", "0x10"};
    for (size_t i = 0; i < COUNT(values); i++) {
        struct reply reply;
        char header[100], message[200];
        snprintf(header, sizeof header, "X-Deadline-Ms%s%s", *values[i] ? ": " : ";", values[i]);
        snprintf(message, sizeof message,
                 "X-Deadline-Ms must be a whole number of milliseconds, at least 1, got \"%s\"",
                 values[i]);
        client_send(
            &served,
            &(struct call){.path = "/translate", .json = "{'text': 'x'}", .headers = {header}},
            &reply);
        check_error(&reply, 400, "invalid_request", "X-Deadline-Ms", message);
        reply_done(&reply);
    }
    static const char *const headers[] = {"X-Deadline-Ms: 10000", "X-Deadline-Ms: 10001",
                                          "X-Deadline-Ms: 99999999999999999999999"};
    for (size_t i = 0; i < COUNT(headers); i++) { /* who asks for more gets what there is */
        struct reply reply;
        client_send(
            &served,
            &(struct call){.path = "/translate", .json = "{'text': 'x'}", .headers = {headers[i]}},
            &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
}
END_TEST

/* ---- not about fields ---- */

START_TEST(unknown_paths) {
    static const char *const paths[] = {"/nothing",  "/translate/", "/Translate",   "//translate",
                                        "/health/x", "/none%00",    "/translate%2f"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct reply reply;
        client_send(&served, &(struct call){.path = paths[i], .json = "{'text': 'x'}"}, &reply);
        check_error(&reply, 404, "not_found", NULL, "this path does not exist");
        reply_done(&reply);
        client_send(&served, &(struct call){.path = paths[i]}, &reply);
        check_error(&reply, 404, "not_found", NULL, "this path does not exist");
        reply_done(&reply);
    }
}
END_TEST

START_TEST(wrong_methods) {
    static const struct {
        const char *method, *path, *allow;
    } rows[] = {
        {"GET", "/documents", "POST, OPTIONS"},
        {"PUT", "/translate", "POST, GET, HEAD, OPTIONS"},
        {"DELETE", "/attention", "POST, GET, HEAD, OPTIONS"},
        {"PATCH", "/attention", "POST, GET, HEAD, OPTIONS"},
        {"OPTIONSX", "/attention", "POST, GET, HEAD, OPTIONS"},
        {"post", "/translate", "POST, GET, HEAD, OPTIONS"},
        {"POST", "/health", "GET, HEAD, OPTIONS"},
        {"PUT", "/ready", "GET, HEAD, OPTIONS"},
        {"PUT", "/models", "GET, HEAD, POST, OPTIONS"},
        {"DELETE", "/metrics", "GET, HEAD, OPTIONS"},
        {"PROPFIND", "/metrics", "GET, HEAD, OPTIONS"},
        {"GET", "/models/x", "DELETE, OPTIONS"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply reply;
        char allow[HEADER_BYTES], message[128];
        client_send(&served, &(struct call){.method = rows[i].method, .path = rows[i].path},
                    &reply);
        snprintf(message, sizeof message, "the method must be one of %s", rows[i].allow);
        check_error(&reply, 405, "method_not_allowed", NULL, message);
        ck_assert(reply_header(&reply, "Allow", allow));
        ck_assert_str_eq(allow, rows[i].allow);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(media_types) {
    static const char *const types[] = {"Content-Type: text/plain", "Content-Type: application/xml",
                                        "Content-Type: image/png",
                                        "Content-Type: application/jsonx", "Content-Type:"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct reply reply;
        client_send(&served,
                    &(struct call){.path = "/translate", .body = "hello", .headers = {types[i]}},
                    &reply);
        check_error(&reply, 415, "unsupported_media_type", NULL,
                    "the body must be a JSON object (content type application/json)");
        reply_done(&reply);
    }
}
END_TEST

/* {"text": "xxx..."} of so many bytes in all. The caller frees it. */
static char *long_body(size_t bytes) {
    static const char head[] = "{\"text\": \"", tail[] = "\"}";
    char *body = malloc(bytes + 1);
    ck_assert_ptr_nonnull(body);
    memset(body, 'x', bytes);
    memcpy(body, head, sizeof head - 1);
    memcpy(body + bytes - (sizeof tail - 1), tail, sizeof tail);
    return body;
}

START_TEST(long_bodies) {
    static const size_t sizes[] = {20001, 100000, 300000};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char *body = long_body(sizes[i]);
        for (int chunked = 0; chunked < 2; chunked++) {
            struct reply reply;
            client_send(&served,
                        &(struct call){.path = "/translate",
                                       .body = body,
                                       .headers = {chunked ? "Transfer-Encoding: chunked" : NULL}},
                        &reply);
            check_error(&reply, 413, "too_large", NULL, "the body must have at most 20000 bytes");
            reply_done(&reply);
        }
        free(body);
    }
    char *body = long_body(20000); /* just fits: another limit refuses it */
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    check_error(&reply, 413, "too_large", "text",
                "text must have at most 1000 characters, got 19988");
    reply_done(&reply);
    free(body);
}
END_TEST

/* Characters, not bytes, of all texts of a request together. */
START_TEST(long_texts) {
    static const char unit[] = "é ";
    char *body = malloc(8192), *end = body + sprintf(body, "{\"text\": [\"");
    for (size_t i = 0; i < 500; i++)
        end += sprintf(end, "%s", unit);
    strcpy(end, "\"]}");
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_msg(reply.status == 200, "%s", reply.body);
    reply_done(&reply);
    strcpy(end, "\", \"é\"]}");
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    check_error(&reply, 413, "too_large", "text",
                "text must have at most 1000 characters, got 1001");
    reply_done(&reply);
    free(body);
}
END_TEST

#define LONG_SENTENCE                                                                              \
    "a boy and a dog play in the snow, while the old man sleeps near the fire; nobody sees that "  \
    "the night has come and that the "                                                             \
    "wind"

START_TEST(texts_longer_than_the_model_takes) {
    struct reply reply;
    client_send(&served,
                &(struct call){.path = "/translate",
                               .json = "{'text': '" LONG_SENTENCE "', 'split_sentences': false}"},
                &reply);
    check_error(&reply, 413, "too_large", "text",
                "the text has more than 40 tokens, the most that the model reads at once");
    reply_done(&reply);
    client_send(&served,
                &(struct call){.path = "/attention",
                               .json = "{'text': '" LONG_SENTENCE "', 'translation': 'x'}"},
                &reply);
    check_error(&reply, 413, "too_large", "text",
                "the text has more than 40 tokens, the most that the model reads at once");
    reply_done(&reply);
}
END_TEST

Suite *errors_suite(void) {
    Suite *suite = suite_create("errors");
    TCase *tcase = tcase_create("errors");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, json_syntax);
    tcase_add_test(tcase, zero_bytes);
    tcase_add_test(tcase, compressed_bodies);
    tcase_add_test(tcase, invalid_utf8);
    tcase_add_test(tcase, not_an_object);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, too_many_texts);
    tcase_add_test(tcase, numbers);
    tcase_add_test(tcase, other_fields);
    tcase_add_test(tcase, models_and_languages);
    tcase_add_test(tcase, targets);
    tcase_add_test(tcase, deadlines);
    tcase_add_test(tcase, priorities);
    tcase_add_test(tcase, unknown_paths);
    tcase_add_test(tcase, wrong_methods);
    tcase_add_test(tcase, media_types);
    tcase_add_test(tcase, long_bodies);
    tcase_add_test(tcase, long_texts);
    tcase_add_test(tcase, texts_longer_than_the_model_takes);
    suite_add_tcase(suite, tcase);
    return suite;
}
