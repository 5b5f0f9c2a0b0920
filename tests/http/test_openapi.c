/* /openapi.json matches the daemon: every field with its range, its names and its default, and
 * every path with its method. */
#include "tests/http/client.h"
#include "tests/http/folder.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct daemon served;
static struct reply document;
static char glossaries[] = "/tmp/alignd-openapi-XXXXXX", reverse[] = FOLDER_TEMPLATE;

static void setup(void) {
    close(mkstemp(glossaries));                  /* an empty file keeps none yet */
    folder_make(reverse, "reverse", "fr", "en"); /* an example asks for other words */
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", reverse, "--default-model",
                                    "luong-general-gru", "--workers", "1", "--exact-steps", "20",
                                    "--glossaries", glossaries));
    client_send(&served, &(struct call){.path = "/openapi.json"}, &document);
    ck_assert_int_eq(document.status, 200);
    ck_assert_ptr_nonnull(document.json);
}

static void teardown(void) {
    reply_done(&document);
    daemon_stop(&served);
    unlink(glossaries);
    folder_remove(reverse);
}

/* The fields of POST /translate are also those of /attention. */
static const char *const fields[] = {"text",
                                     "model",
                                     "source",
                                     "target",
                                     "variant",
                                     "formality",
                                     "strategy",
                                     "beam_size",
                                     "n_best",
                                     "length_penalty",
                                     "coverage_penalty",
                                     "temperature",
                                     "top_k",
                                     "top_p",
                                     "seed",
                                     "min_length",
                                     "max_length",
                                     "no_repeat_ngram",
                                     "repetition_penalty",
                                     "prefix",
                                     "suffix",
                                     "replace_unknowns",
                                     "verbatim",
                                     "split_sentences",
                                     "include",
                                     "digits",
                                     "links",
                                     "stream",
                                     "warnings",
                                     "glossary",
                                     "protect"};
enum { FIELDS = sizeof fields / sizeof *fields };

static json_t *properties_of(const char *component) {
    char path[100];
    snprintf(path, sizeof path, "components.schemas.%s.properties", component);
    return json_at(document.json, path);
}

/* A property's own schema: one with a description beside a default stands in an allOf. */
static json_t *schema_of(json_t *property) {
    json_t *all = json_object_get(property, "allOf");
    return all ? json_array_get(all, 0) : property;
}

START_TEST(every_field) {
    json_t *translate = properties_of("TranslateRequest"),
           *attention = properties_of("AttentionRequest");
    for (size_t i = 0; i < FIELDS; i++) {
        ck_assert_ptr_nonnull(json_object_get(translate, fields[i]));
        ck_assert_ptr_nonnull(json_object_get(attention, fields[i]));
        ck_assert_uint_gt(strlen(text_at(json_object_get(translate, fields[i]), "description")), 0);
    }
    ck_assert_ptr_nonnull(json_object_get(translate, "format"));
    ck_assert_uint_eq(json_object_size(translate), FIELDS + 1);
    ck_assert_uint_eq(json_object_size(attention), FIELDS + 2);
    ck_assert_ptr_nonnull(json_object_get(attention, "translation"));
    ck_assert_ptr_nonnull(json_object_get(attention, "force_attention"));
    ck_assert(json_is_false(
        json_at(document.json, "components.schemas.TranslateRequest.additionalProperties")));
}
END_TEST

/* The daemon's reply to a field with this value. */
static void check_value(const char *name, const char *value, bool right) {
    static const char *const sampled[] = {"temperature", "top_k", "top_p", "seed"};
    char json[300];
    struct reply reply;
    const char *strategy = "beam";
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
        strategy = strcmp(name, sampled[i]) == 0 ? "sample" : strategy;
    snprintf(json, sizeof json, "{'text': 'A', 'strategy': '%s', '%s': %s%s}", strategy, name,
             value, strcmp(name, "n_best") == 0 ? ", 'beam_size': 32" : "");
    client_send(&served, &(struct call){.path = "/translate", .json = json}, &reply);
    ck_assert_msg(reply.status == (right ? 200 : 400), "%s: %s", json, reply.body);
    if (!right)
        ck_assert_str_eq(text_at(reply.json, "field"), name);
    reply_done(&reply);
}

static void check_integers(const char *name, const json_t *schema) {
    long long low = json_integer_value(json_at(schema, "minimum")),
              high = json_integer_value(json_at(schema, "maximum"));
    const struct {
        long long number;
        bool right;
    } tried[] = {{low - 1, false},
                 {low, true},
                 {high, strcmp(name, "min_length") != 0},
                 {high + (high < INT64_MAX), false}};
    char value[32];
    for (size_t i = 0; i < (high < INT64_MAX ? 4 : 3); i++) {
        if (i == 2 && !tried[i].right)
            continue; /* so many that max_length must be given, too */
        snprintf(value, sizeof value, "%lld", tried[i].number);
        check_value(name, value, tried[i].right);
    }
}

static void check_reals(const char *name, const json_t *schema) {
    double low = number_at(schema, "minimum"), high = number_at(schema, "maximum");
    const double tried[] = {low - 0.001, low, high, high + 0.001};
    char value[32];
    for (size_t i = 0; i < 4; i++) {
        snprintf(value, sizeof value, "%.4f", tried[i]);
        check_value(name, value, i == 1 || i == 2);
    }
}

/* The ranges in the document are those that are checked: at them, and just beyond. */
START_TEST(every_range) {
    size_t checked = 0;
    const char *name;
    json_t *schema;
    json_object_foreach(properties_of("TranslateRequest"), name, schema) {
        schema = schema_of(schema);
        if (!json_object_get(schema, "minimum"))
            continue;
        checked++;
        if (strcmp(text_at(schema, "type"), "integer") == 0)
            check_integers(name, schema);
        else
            check_reals(name, schema);
    }
    ck_assert_uint_eq(checked, 13);
}
END_TEST

START_TEST(every_name) {
    const json_t *properties = properties_of("TranslateRequest");
    const json_t *included = json_at(schema_of(json_object_get(properties, "include")),
                                     "oneOf.0.items.enum"),
                 *strategies = json_at(schema_of(json_object_get(properties, "strategy")), "enum");
    for (size_t i = 0; i < json_array_size(included); i++) {
        char value[100];
        const char *name = json_string_value(json_array_get(included, i));
        snprintf(value, sizeof value, "['%s']", name);
        check_value("include", value,
                    strcmp(name, "quality") != 0 &&
                        strcmp(name, "heads") != 0); /* which this model has not */
    }
    for (size_t i = 0; i < json_array_size(strategies); i++) {
        char json[100];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': 'A', 'strategy': '%s'}",
                 json_string_value(json_array_get(strategies, i)));
        client_post(&served, "/translate", json, 200, &reply);
        reply_done(&reply);
    }
    check_value("include", "['other']", false);
    ck_assert_uint_eq(json_array_size(included), 17);
    ck_assert_uint_eq(json_array_size(strategies), 4);
}
END_TEST

/* A request that spells out the defaults is answered as one that does not. */
START_TEST(every_default) {
    json_t *request = json_pack("{s:s}", "text", "A boy plays. It snows."), *schema;
    const char *name;
    struct reply plain, spelt;
    json_object_foreach(properties_of("TranslateRequest"), name, schema) {
        bool sampling = strstr(json_string_value(json_object_get(schema, "description")),
                               "only for strategy sample");
        json_t *value = json_object_get(schema_of(schema), "default");
        if (value && !sampling)
            json_object_set(request, name, value);
    }
    ck_assert_uint_eq(json_object_size(request), 18);
    char *json = json_dumps(request, 0);
    client_post(&served, "/translate", json, 200, &spelt);
    client_post(&served, "/translate", "{'text': 'A boy plays. It snows.'}", 200, &plain);
    ck_assert_str_eq(plain.body, spelt.body);
    reply_done(&plain);
    reply_done(&spelt);
    free(json);
    json_decref(request);
}
END_TEST

START_TEST(every_path) {
    json_t *paths = json_at(document.json, "paths");
    const char *path;
    json_t *methods;
    json_object_foreach(paths, path, methods) {
        struct reply reply;
        char allowed[HEADER_BYTES];
        client_send(&served, &(struct call){.path = path, .method = "LINK"}, &reply);
        ck_assert_int_eq(reply.status, 405);
        ck_assert(reply_header(&reply, "Allow", allowed));
        ck_assert_int_eq(strstr(allowed, "GET") != NULL, json_object_get(methods, "get") != NULL);
        ck_assert_int_eq(strstr(allowed, "POST") != NULL, json_object_get(methods, "post") != NULL);
        ck_assert_int_eq(strstr(allowed, "DELETE") != NULL,
                         json_object_get(methods, "delete") != NULL);
        ck_assert_int_eq(strstr(allowed, "PUT") != NULL, json_object_get(methods, "put") != NULL);
        ck_assert_int_eq(strstr(allowed, "PATCH") != NULL,
                         json_object_get(methods, "patch") != NULL);
        reply_done(&reply);
    }
    ck_assert_uint_eq(json_object_size(paths), 67);
}
END_TEST

/* The bodies in the document's examples get an answer. */
START_TEST(every_example) {
    size_t count = 0;
    const char *path, *name;
    json_t *methods, *example;
    json_object_foreach(json_at(document.json, "paths"), path, methods) {
        json_t *body_of = json_object_get(json_object_get(methods, "post"), "requestBody");
        if (!json_object_get(json_object_get(body_of, "content"),
                             "application/json")) /* none, or a file */
            continue;
        json_object_foreach(json_at(methods, "post.requestBody.content.application/json.examples"),
                            name, example) {
            char *body = json_dumps(json_object_get(example, "value"), 0), address[256];
            struct reply reply;
            int length = snprintf(address, sizeof address, "%s", path);
            json_t *parameter;
            size_t i;
            json_array_foreach(json_object_get(json_object_get(methods, "post"), "parameters"), i,
                               parameter) if (json_object_get(parameter, "example")) length +=
                snprintf(address + length, sizeof address - (size_t)length, "%c%s=%s",
                         strchr(address, '?') ? '&' : '?', text_at(parameter, "name"),
                         text_at(parameter, "example"));
            client_send(&served, &(struct call){.path = address, .body = body}, &reply);
            ck_assert_msg(reply.status == 200 || reply.status == 201, "%s %s: %s", path, body,
                          reply.body);
            reply_done(&reply);
            free(body);
            count++;
        }
    }
    ck_assert_uint_eq(count, 31);
}
END_TEST

static const char *const statuses[][2] = {
    {"/translate.post", "200 400 401 403 405 413 415 429 503 504 default"},
    {"/translate.get", "200 400 401 403 405 413 415 429 503 504 default"},
    {"/attention.post", "200 400 401 403 405 413 415 429 503 504 default"},
    {"/documents.post", "200 400 401 403 405 413 415 429 503 504 default"},
    {"/models/reload.post", "200 401 403 405 409 default"},
    {"/health.get", "200 405 default"},
};

/* The statuses of some operations, one schema for each; a name for every one; and a key where one
 * may be needed. */
START_TEST(every_operation) {
    const char *path, *method, *status;
    json_t *methods, *operation, *response;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char at[100];
        snprintf(at, sizeof at, "paths.%s.responses", statuses[i][0]);
        json_object_foreach(json_at(document.json, at), status, response) {
            ck_assert_msg(strstr(statuses[i][1], status) != NULL, "%s %s", statuses[i][0], status);
            ck_assert_uint_eq(json_object_size(json_object_get(response, "content")), 1);
        }
        ck_assert_uint_eq(json_object_size(json_at(document.json, at)),
                          (strlen(statuses[i][1]) - 3) / 4);
    }
    json_object_foreach(json_at(document.json, "paths"), path, methods) {
        json_object_foreach(methods, method, operation) {
            ck_assert_msg(strlen(text_at(operation, "operationId")) > 0, "%s", path);
            ck_assert_msg(json_array_size(json_object_get(operation, "tags")) == 1, "%s", path);
            ck_assert_msg(json_is_array(json_object_get(operation, "security")), "%s", path);
        }
    }
    ck_assert_uint_eq(json_array_size(json_at(document.json, "paths./translate.post.security")),
                      3); /* or none */
    ck_assert_uint_eq(json_array_size(json_at(document.json, "paths./models/reload.post.security")),
                      2);
    ck_assert_uint_eq(json_array_size(json_at(document.json, "paths./health.get.security")), 0);
    ck_assert_str_eq(text_at(document.json, "components.securitySchemes.bearer.scheme"), "bearer");
}
END_TEST

static void check_same(const json_t *a, const json_t *b, const char *key) {
    const json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key);
    ck_assert_msg(of_a == of_b || json_equal(of_a, of_b), "%s", key);
}

/* A query string may have the same fields as a body: each is a parameter with the same description.
 */
START_TEST(every_parameter) {
    static const char *const of[][2] = {{"/translate", "TranslateRequest"},
                                        {"/attention", "AttentionRequest"}};
    for (size_t i = 0; i < 2; i++) {
        char at[64];
        size_t n;
        json_t *parameter, *properties = properties_of(of[i][1]);
        snprintf(at, sizeof at, "paths.%s.get.parameters", of[i][0]);
        json_t *parameters = json_at(document.json, at);
        ck_assert_uint_eq(json_array_size(parameters), json_object_size(properties));
        json_array_foreach(parameters, n, parameter) {
            const char *name = text_at(parameter, "name");
            json_t *property = json_object_get(properties, name);
            ck_assert_str_eq(text_at(parameter, "in"), "query");
            ck_assert_str_eq(text_at(parameter, "description"), text_at(property, "description"));
            ck_assert_int_eq(json_is_true(json_object_get(parameter, "required")),
                             strcmp(name, "text") == 0);
            json_t *schema = json_object_get(parameter, "schema");
            if (!schema) /* it is written as JSON */
                schema = json_at(parameter, "content.application/json.schema");
            check_same(schema_of(property), schema, "type");
            check_same(schema_of(property), schema, "$ref");
            check_same(schema_of(property), schema, "oneOf");
        }
    }
}
END_TEST

/* ---- for people ---- */

static void check_shown(const char *page, const char *before, const char *what, const char *after) {
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", before, what, after);
    ck_assert_msg(strstr(page, text) != NULL, "/docs lacks %s", text);
}

/* All that the document describes: every operation, object, field. */
START_TEST(docs_are_whole) {
    struct reply docs;
    const char *path, *name;
    json_t *methods, *operation, *schema, *property;
    client_send(&served, &(struct call){.path = "/docs"}, &docs);
    ck_assert_int_eq(docs.status, 200);
    json_object_foreach(json_at(document.json, "paths"), path, methods) {
        json_object_foreach(methods, name, operation) {
            check_shown(docs.body, "<section id=\"", text_at(operation, "operationId"), "\"");
            check_shown(docs.body, "<li><a href=\"#", text_at(operation, "operationId"), "\">");
        }
        check_shown(docs.body, "</span> ", path, "</h2>");
    }
    json_object_foreach(json_at(document.json, "components.schemas"), path, schema) {
        check_shown(docs.body, "<section id=\"", path, "\"><p class=\"tag\">Objects</p><h2>");
        json_object_foreach(json_object_get(schema, "properties"), name, property)
            check_shown(docs.body, "<tr><th scope=\"row\"><code>", name, "</code>");
    }
    check_shown(docs.body, "<code>beam_size</code></th><td>integer, ",
                "<code>1</code> to <code>32</code>", "");
    reply_done(&docs);
}
END_TEST

/* A link that stays on the page is one to something. */
START_TEST(docs_link_to_what_is_there) {
    struct reply docs;
    size_t links = 0;
    client_send(&served, &(struct call){.path = "/docs"}, &docs);
    for (const char *at = docs.body; (at = strstr(at, "href=\"#")) != NULL; links++) {
        char id[128];
        at += strlen("href=\"#");
        snprintf(id, sizeof id, "id=\"%.*s\"", (int)strcspn(at, "\""), at);
        ck_assert_msg(strstr(docs.body, id) != NULL, "%s", id);
    }
    ck_assert_uint_gt(links, 50);
    reply_done(&docs);
}
END_TEST

/* The page runs its own script only, and names no other host. */
START_TEST(docs_run_their_own_script) {
    static const char own[] = "<script type=\"module\" src=\"page/docs.js\"></script>";
    struct reply docs, style;
    char value[HEADER_BYTES];
    client_send(&served, &(struct call){.path = "/docs"}, &docs);
    ck_assert(reply_header(&docs, "Content-Type", value));
    ck_assert_str_eq(value, "text/html; charset=utf-8");
    ck_assert(reply_header(&docs, "Content-Security-Policy", value));
    ck_assert_int_eq(strncmp(value, "default-src 'none'; style-src 'self';", 37), 0);
    const char *script = strstr(docs.body, "<script");
    ck_assert_ptr_nonnull(script);
    ck_assert_int_eq(strncmp(script, own, sizeof own - 1), 0);
    ck_assert_ptr_null(strstr(script + 1, "<script"));
    ck_assert_ptr_null(strstr(docs.body, "://"));
    ck_assert_ptr_null(strstr(docs.body, "style="));
    client_send(&served, &(struct call){.path = "/page/docs.css"}, &style);
    ck_assert_int_eq(style.status, 200);
    reply_done(&style);
    reply_done(&docs);
}
END_TEST

Suite *openapi_suite(void) {
    Suite *suite = suite_create("openapi");
    TCase *tests = tcase_create("openapi");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, every_field);
    tcase_add_test(tests, every_range);
    tcase_add_test(tests, every_name);
    tcase_add_test(tests, every_default);
    tcase_add_test(tests, every_path);
    tcase_add_test(tests, every_example);
    tcase_add_test(tests, every_operation);
    tcase_add_test(tests, every_parameter);
    tcase_add_test(tests, docs_are_whole);
    tcase_add_test(tests, docs_link_to_what_is_there);
    tcase_add_test(tests, docs_run_their_own_script);
    suite_add_tcase(suite, tests);
    return suite;
}
