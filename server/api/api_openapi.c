/* GET /openapi.json: what the tables of routes, fields and shapes say, as OpenAPI 3.0. */
#include "server/api/api_form.h"
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"

static json_t *content(const char *media_type, const char *type) {
    return json_pack("{s:{s:o}}", media_type, "schema", api_schema(type));
}

static json_t *response(const char *description, const char *media_type, const char *type) {
    return json_pack("{s:s, s:o}", "description", description, "content", content(media_type, type));
}

/* Bodies that are answered with 200 by an English to French model. */
static const struct {
    const char *type, *name, *summary, *body;
} examples[] = {
    {"TranslateRequest", "text", "A text", "{\"text\":\"Where is the train station?\"}"},
    {"TranslateRequest", "hypotheses", "Several texts, and the best translations of each with their probabilities",
     "{\"text\":[\"Hello.\",\"It snows.\"],\"n_best\":3,\"include\":[\"tokens\",\"log_probs\"]}"},
    {"LibreRequest", "libretranslate", "As LibreTranslate's clients ask",
     "{\"q\":\"Where is the train station?\",\"source\":\"en\",\"target\":\"fr\"}"},
    {"AttentionRequest", "text", "Where each word of the translation looked", "{\"text\":\"Where is the train station?\"}"},
    {"AttentionRequest", "translation", "The alignment of a given translation",
     "{\"text\":\"It snows.\",\"translation\":\"Il neige.\",\"include\":[\"tokens\",\"alignment\"]}"},
    {"LibreDetect", "text", "A text", "{\"q\":\"Where is the train station?\"}"},
};

static json_t *examples_of(const char *types) {
    json_t *made = json_object();
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strstr(types, examples[i].type))
            json_object_set_new(
                made, examples[i].name,
                json_pack("{s:s, s:o}", "summary", examples[i].summary, "value", json_loads(examples[i].body, 0, NULL)));
    return made;
}

/* JSON, or a form. */
static json_t *body(const char *type) {
    json_t *types = content(JSON_TYPE, type);
    json_object_set_new(json_object_get(types, JSON_TYPE), "examples", examples_of(type));
    json_object_update_new(types, content("application/x-www-form-urlencoded", type));
    json_object_update_new(types, content("multipart/form-data", type));
    return json_pack("{s:b, s:o}", "required", 1, "content", types);
}

struct failure {
    const char *status, *text;
};

static void add_failures(json_t *responses, const struct failure *failures, size_t count) {
    for (size_t i = 0; i < count; i++)
        json_object_set_new(responses, failures[i].status, response(failures[i].text, JSON_TYPE, "Error"));
}

/* What only requests that are decoded can meet: they are also those that may be streamed. The stream is told of in words: with a
 * schema of its own under 200 each reply would be an object or a string to those who make clients of this. */
static void add_decoding(json_t *responses) {
    static const struct failure failures[] = {
        {"400", "not valid: JSON, a field's type or range, an unknown field, language or model"},
        {"413", "body or text over a limit"},
        {"415", "neither JSON nor a form"},
        {"429", "the queue is full, or the client is over its rate: Retry-After"},
        {"503", "loading, draining or out of memory: Retry-After"},
        {"504", "the deadline passed"},
    };
    add_failures(responses, failures, sizeof failures / sizeof *failures);
    json_object_set_new(json_object_get(responses, "200"), "description",
                        json_string("success; with stream it is text/event-stream: events token (TokenEvent), sentence (Sentence, "
                                    "with text_index and sentence), and last result (the reply without stream) or error (Error)"));
}

/* The path as an identifier: "frontend_settings"; that of the page is none. */
static json_t *operation_id(const char *path) {
    char id[64];
    snprintf(id, sizeof id, "%s", path[1] ? path + 1 : "page");
    for (char *c = id; *c; c++)
        *c = *c == '/' || *c == '.' ? '_' : *c;
    return json_string(id);
}

/* What it answers when all is well. */
static void add_success(json_t *responses, const struct route *route) {
    if (route->start == api_spec)
        json_object_set_new(responses, "302", json_pack("{s:s}", "description", "it is there"));
    else if (route->gives)
        json_object_set_new(responses, "200", response("success", JSON_TYPE, route->gives));
    else
        json_object_set_new(responses, "200", response("success", route->start == api_page ? "text/html" : "text/plain", "string"));
}

/* Any of the schemes below will do; where there are no keys, users need none. */
static void add_security(json_t *made, json_t *responses, bool needed) {
    static const struct failure failures[] = {{"401", "an API key is needed"}, {"403", "the API key is not one that may do this"}};
    json_t *schemes = json_pack("[{s:[]}, {s:[]}]", "bearer", "header");
    if (!needed)
        json_array_append_new(schemes, json_object());
    json_object_set_new(made, "security", schemes);
    add_failures(responses, failures, 2);
}

static json_t *security_schemes(void) {
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s}}", "bearer", "type", "http", "scheme", "bearer", "header", "type", "apiKey",
                     "in", "header", "name", "X-Api-Key");
}

/* keys: there are API keys. */
static json_t *operation(const struct route *route, bool keys) {
    static const struct failure method = {"405", "another method: Allow"},
                                reload = {"409", "the models do not load: those in service stay"};
    json_t *responses = json_object();
    add_success(responses, route);
    add_failures(responses, &method, 1);
    if (route->finish && route->takes)
        add_decoding(responses);
    else if (route->finish)
        add_failures(responses, &reload, 1);
    json_object_set_new(responses, "default", response("failure", JSON_TYPE, "Error"));
    json_t *made =
        json_pack("{s:o, s:s, s:o}", "operationId", operation_id(route->path), "summary", route->summary, "responses", responses);
    if (route->access != ACCESS_OPEN)
        add_security(made, responses, keys || route->access == ACCESS_ADMIN);
    if (route->takes)
        json_object_set_new(made, "requestBody", body(route->takes));
    return made;
}

static json_t *paths(bool keys) {
    json_t *all = json_object();
    const struct route *route;
    for (size_t i = 0; (route = api_route(i)) != NULL; i++) {
        const char *method = strcmp(route->method, "GET") == 0 ? "get" : "post";
        json_object_set_new(all, route->path, json_pack("{s:o}", method, operation(route, keys)));
    }
    return all;
}

static json_t *components(size_t rows) {
    json_t *schemas = api_schemas();
    json_object_set_new(schemas, "TranslateRequest", api_fields_schema(API_TRANSLATE, rows));
    json_object_set_new(schemas, "AttentionRequest", api_fields_schema(API_ATTENTION, rows));
    return json_pack("{s:o, s:o}", "schemas", schemas, "securitySchemes", security_schemes());
}

void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    bool keys = service->keys != NULL;
    api_reply_json(reply, STATUS_OK,
                   json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s}], s:o, s:o}", "openapi", "3.0.3", "info", "title", "alignd",
                             "description", "Translations with their tokens, probabilities and attention.", "version",
                             ALIGND_VERSION, "servers", "url", "/", "paths", paths(keys), "components",
                             components(service->options.rows)));
}
