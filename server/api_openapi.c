/* GET /openapi.json: what the tables of routes, fields and shapes say, as OpenAPI 3.0. */
#include "server/api_form.h"
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"

static json_t *content(const char *media_type, const char *type) {
    return json_pack("{s:{s:o}}", media_type, "schema", api_schema(type));
}

static json_t *response(const char *description, const char *media_type, const char *type) {
    return json_pack("{s:s, s:o}", "description", description, "content", content(media_type, type));
}

/* A body of LibreTranslate's may be a form, too. */
static json_t *body(const char *type) {
    json_t *types = content(JSON_TYPE, type);
    const char *libre = strstr(type, "Libre");
    if (libre) {
        json_object_update_new(types, content("application/x-www-form-urlencoded", libre));
        json_object_update_new(types, content("multipart/form-data", libre));
    }
    return json_pack("{s:b, s:o}", "required", 1, "content", types);
}

/* What only requests that are decoded can meet: they are also those that may be streamed. */
static void add_decoding(json_t *responses) {
    static const struct {
        const char *status, *text;
    } errors[] = {
        {"400", "not valid: JSON, a field's type or range, an unknown field, language or model"},
        {"413", "body or text over a limit"},
        {"415", "neither JSON nor a form"},
        {"429", "the queue is full, or the client is over its rate: Retry-After"},
        {"503", "loading, draining or out of memory: Retry-After"},
        {"504", "the deadline passed"},
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        json_object_set_new(responses, errors[i].status, response(errors[i].text, JSON_TYPE, "Error"));
    json_t *stream = json_pack("{s:{s:s, s:s}}", "schema", "type", "string", "description",
                               "with stream: events token (TokenEvent), sentence (Sentence, with text_index and sentence), and "
                               "last result (the reply without stream) or error (Error)");
    json_object_set_new(json_object_get(json_object_get(responses, "200"), "content"), "text/event-stream", stream);
}

/* The path as an identifier: "frontend_settings". */
static json_t *operation_id(const char *path) {
    char id[64];
    snprintf(id, sizeof id, "%s", path + 1);
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
        json_object_set_new(responses, "200", response("success", "text/plain", "string"));
}

/* Any of the schemes below will do. */
static void add_security(json_t *made, json_t *responses) {
    json_object_set_new(responses, "401", response("an API key is needed", JSON_TYPE, "Error"));
    json_object_set_new(responses, "403", response("the API key is not one that may do this", JSON_TYPE, "Error"));
    json_object_set_new(made, "security", json_pack("[{s:[]}, {s:[]}]", "bearer", "header"));
}

static json_t *security_schemes(void) {
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s}}", "bearer", "type", "http", "scheme", "bearer", "header", "type", "apiKey",
                     "in", "header", "name", "X-Api-Key");
}

/* guarded: there are API keys, and it asks for one. */
static json_t *operation(const struct route *route, bool guarded) {
    json_t *responses = json_object();
    add_success(responses, route);
    if (route->finish && route->takes)
        add_decoding(responses);
    json_object_set_new(responses, "default", response("failure", JSON_TYPE, "Error"));
    json_t *made =
        json_pack("{s:o, s:s, s:o}", "operationId", operation_id(route->path), "summary", route->summary, "responses", responses);
    if (guarded)
        add_security(made, responses);
    if (route->takes)
        json_object_set_new(made, "requestBody", body(route->takes));
    return made;
}

static json_t *paths(bool keys) {
    json_t *all = json_object();
    const struct route *route;
    for (size_t i = 0; (route = api_route(i)) != NULL; i++) {
        const char *method = strcmp(route->method, "GET") == 0 ? "get" : "post";
        json_object_set_new(all, route->path, json_pack("{s:o}", method, operation(route, keys && route->access != ACCESS_OPEN)));
    }
    return all;
}

static json_t *components(size_t rows, bool keys) {
    json_t *schemas = api_schemas();
    json_object_set_new(schemas, "TranslateRequest", api_fields_schema(API_TRANSLATE, rows));
    json_object_set_new(schemas, "AttentionRequest", api_fields_schema(API_ATTENTION, rows));
    json_t *made = json_pack("{s:o}", "schemas", schemas);
    if (keys)
        json_object_set_new(made, "securitySchemes", security_schemes());
    return made;
}

void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    bool keys = service->keys != NULL;
    api_reply_json(reply, STATUS_OK,
                   json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s}], s:o, s:o}", "openapi", "3.0.3", "info", "title", "alignd",
                             "description", "Translations with their tokens, probabilities and attention.", "version",
                             ALIGND_VERSION, "servers", "url", "/", "paths", paths(keys), "components",
                             components(service->options->rows, keys)));
}
