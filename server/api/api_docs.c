/* GET /docs: /openapi.json as a page for people. It is made of that document, so that it says what that says. */
#include "server/api/api_json.h"
#include "server/markup/markup.h"
#include <stdlib.h>
#include <string.h>

/* One stylesheet, no script. */
static const char policy[] = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

static const char head[] = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                           "<title>alignd: the API</title><link rel=\"stylesheet\" href=\"page/docs.css\"></head><body>\n";

static void put(struct html_buffer *out, const char *markup) {
    html_put_string(out, markup);
}

static void put_text(struct html_buffer *out, const char *text) {
    if (text)
        html_put_escaped(out, text, strlen(text), "&<>\"");
}

/* Markup with a text between. */
static void put_between(struct html_buffer *out, const char *before, const char *text, const char *after) {
    put(out, before);
    put_text(out, text);
    put(out, after);
}

static const char *string_in(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* ---- types ---- */

static void put_type(struct html_buffer *out, const json_t *schema);

/* "#/components/schemas/NAME" */
static void put_reference(struct html_buffer *out, const char *reference) {
    const char *name = strrchr(reference, '/') + 1;
    put_between(out, "<a href=\"#", name, "\">");
    put_between(out, "", name, "</a>");
}

/* Schemas, or values as they are in JSON, with this between them. */
static void put_all(struct html_buffer *out, const json_t *array, const char *between,
                    void (*put_one)(struct html_buffer *out, const json_t *one)) {
    size_t i;
    const json_t *one;
    json_array_foreach(array, i, one) {
        put(out, i > 0 ? between : "");
        put_one(out, one);
    }
}

static void put_value(struct html_buffer *out, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    put_between(out, "<code>", text, "</code>");
    free(text);
}

/* What a number may be, and what is taken where nothing is given. */
static void put_bounds(struct html_buffer *out, const json_t *schema) {
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum"),
                 *fallback = json_object_get(schema, "default");
    if (least && most) {
        put(out, ", ");
        put_value(out, least);
        put(out, " to ");
        put_value(out, most);
    }
    if (fallback) {
        put(out, ", default ");
        put_value(out, fallback);
    }
}

/* A schema with a description or a default of its own holds the rest in an allOf. */
static void put_type(struct html_buffer *out, const json_t *schema) {
    const char *reference = string_in(schema, "$ref"), *type = string_in(schema, "type");
    const json_t *alternatives = json_object_get(schema, "oneOf"), *values = json_object_get(schema, "enum");
    if (reference) {
        put_reference(out, reference);
    } else if (alternatives) {
        put_all(out, alternatives, " or ", put_type);
    } else if (values) {
        put_all(out, values, ", ", put_value);
    } else if (type && strcmp(type, "array") == 0) {
        put(out, "array of ");
        put_type(out, json_object_get(schema, "items"));
    } else {
        put_all(out, json_object_get(schema, "allOf"), " and ", put_type);
        put_text(out, type);
    }
    put(out, json_is_true(json_object_get(schema, "nullable")) ? " or null" : "");
    put_bounds(out, schema);
}

/* ---- tables ---- */

static void put_row(struct html_buffer *out, const char *name, bool required, const json_t *schema, const char *text) {
    put(out, "<tr><th scope=\"row\"><code>");
    put_text(out, name);
    put(out, required ? "</code> <em>required</em></th><td>" : "</code></th><td>");
    put_type(out, schema);
    put_between(out, "</td><td>", text, "</td></tr>\n");
}

static bool is_required(const json_t *schema, const char *name) {
    size_t i;
    const json_t *required;
    json_array_foreach(json_object_get(schema, "required"), i, required) {
        if (strcmp(json_string_value(required), name) == 0)
            return true;
    }
    return false;
}

static void put_properties(struct html_buffer *out, json_t *schema) {
    const char *name;
    json_t *property;
    put(out, "<table>\n");
    json_object_foreach(json_object_get(schema, "properties"), name, property)
        put_row(out, name, is_required(schema, name), property, string_in(property, "description"));
    put(out, "</table>\n");
}

/* The schema of whichever media type is the first. */
static json_t *schema_in(json_t *content) {
    return json_object_get(json_object_iter_value(json_object_iter(content)), "schema");
}

static json_t *content_of(const json_t *object) {
    return json_object_get(object, "content");
}

static void put_parameters(struct html_buffer *out, const json_t *parameters) {
    size_t i;
    const json_t *parameter;
    if (json_array_size(parameters) == 0)
        return;
    put(out, "<details><summary>Parameters</summary><table>\n");
    json_array_foreach(parameters, i, parameter) {
        const json_t *schema = json_object_get(parameter, "schema");
        put_row(out, string_in(parameter, "name"), json_is_true(json_object_get(parameter, "required")),
                schema ? schema : schema_in(content_of(parameter)), string_in(parameter, "description"));
    }
    put(out, "</table></details>\n");
}

/* ---- operations ---- */

/* As a shell takes it: no example has a quotation mark of the shell's. */
static void put_example(struct html_buffer *out, const char *path, const json_t *example) {
    char *body = json_dumps(json_object_get(example, "value"), JSON_COMPACT | JSON_ENCODE_ANY);
    put_between(out, "<p>", string_in(example, "summary"), ":</p>\n<pre>curl localhost:8080");
    put_text(out, path);
    put_between(out, " -d '", body, "'</pre>\n");
    free(body);
}

static void put_body(struct html_buffer *out, const char *path, const json_t *body) {
    const char *name;
    json_t *content = content_of(body), *example;
    if (!content)
        return;
    put(out, "<p>Body: ");
    put_type(out, schema_in(content));
    put(out, "</p>\n");
    json_object_foreach(json_object_get(json_object_get(content, "application/json"), "examples"), name, example)
        put_example(out, path, example);
}

static void put_responses(struct html_buffer *out, json_t *responses) {
    const char *status;
    json_t *response;
    put(out, "<details><summary>Replies</summary><table>\n");
    json_object_foreach(responses, status, response)
        put_row(out, status, false, schema_in(content_of(response)), string_in(response, "description"));
    put(out, "</table></details>\n");
}

static void put_operation(struct html_buffer *out, const char *path, const char *method, const json_t *operation) {
    put_between(out, "<section id=\"", string_in(operation, "operationId"), "\"><h3><span>");
    put_text(out, method);
    put_between(out, "</span> ", path, "</h3>\n<p>");
    put_text(out, string_in(operation, "summary"));
    put(out, json_object_get(operation, "security") ? ". <em>With API keys: needs one.</em></p>\n" : "</p>\n");
    put_parameters(out, json_object_get(operation, "parameters"));
    put_body(out, path, json_object_get(operation, "requestBody"));
    put_responses(out, json_object_get(operation, "responses"));
    put(out, "</section>\n");
}

static void put_link(struct html_buffer *out, const char *path, const char *method, const json_t *operation) {
    put_between(out, "<li><a href=\"#", string_in(operation, "operationId"), "\"><span>");
    put_text(out, method);
    put_between(out, "</span> ", path, "</a></li>\n");
}

static void put_operations(struct html_buffer *out, const json_t *document,
                           void (*put_one)(struct html_buffer *out, const char *path, const char *method,
                                           const json_t *operation)) {
    const char *path, *method;
    json_t *methods, *operation;
    json_object_foreach(json_object_get(document, "paths"), path, methods) {
        json_object_foreach(methods, method, operation) put_one(out, path, method, operation);
    }
}

static void put_objects(struct html_buffer *out, const json_t *document) {
    const char *name;
    json_t *schema;
    json_object_foreach(json_object_get(json_object_get(document, "components"), "schemas"), name, schema) {
        put_between(out, "<section id=\"", name, "\"><h3>");
        put_between(out, "", name, "</h3>\n");
        if (json_object_get(schema, "properties")) {
            put_properties(out, schema);
        } else {
            put(out, "<p>");
            put_type(out, schema);
            put(out, "</p>\n");
        }
        put(out, "</section>\n");
    }
}

static void put_document(struct html_buffer *out, const json_t *document) {
    const json_t *info = json_object_get(document, "info");
    put(out, head);
    put_between(out, "<header><h1>", string_in(info, "title"), " ");
    put_text(out, string_in(info, "version"));
    put(out, "</h1>\n<p>");
    put_text(out, string_in(info, "description"));
    put(out, " For programs: <a href=\"openapi.json\">openapi.json</a>. To try: "
             "<a href=\"translate?text=Where+is+the+train+station%3F\">translate?text=Where+is+the+train+station%3F</a>, or "
             "<a href=\".\">the page</a>.</p></header>\n<nav><ul>\n");
    put_operations(out, document, put_link);
    put(out, "</ul></nav>\n<main><h2>Requests</h2>\n");
    put_operations(out, document, put_operation);
    put(out, "<h2>Objects</h2>\n");
    put_objects(out, document);
    put(out, "</main></body></html>\n");
}

/* NULL: memory is out. */
static json_t *load_document(const struct service *service) {
    struct writer w = {.most = SIZE_MAX};
    api_describe(&w, service->keys != NULL);
    size_t length = w.length;
    char *text = writer_take(&w);
    json_t *document = text ? api_load_json(text, length, 0, NULL) : NULL;
    free(text);
    return document;
}

void api_docs(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    struct html_buffer out = {.arena = &request->arena};
    json_t *document = load_document(service);
    if (document)
        put_document(&out, document);
    json_decref(document);
    struct reply made = {.status = STATUS_OK, .content_type = "text/html; charset=utf-8", .policy = policy, .length = out.length};
    made.body = document && !out.failed && !api_lacked_memory() ? strdup(out.bytes) : NULL;
    if (made.body)
        *reply = made;
    else
        api_fail_memory(reply);
}
