/* GET /openapi.json: the tables of routes, fields and shapes, as OpenAPI 3.0. */
#include "server/api/api_form.h"
#include <stdio.h>
#include <string.h>

#define JSON_TYPE "application/json"

static void put_content(struct writer *w, const char *media_type, const char *type) {
    writer_begin_object(w, media_type);
    api_schema(w, "schema", type);
    writer_end_object(w);
}

static void put_response(struct writer *w, const char *status, const char *description, const char *media_type, const char *type) {
    writer_begin_object(w, status);
    writer_string(w, "description", description);
    writer_begin_object(w, "content");
    put_content(w, media_type, type);
    writer_end_object(w);
    writer_end_object(w);
}

/* Bodies that are answered with 200 by an English to French model. */
static const struct {
    const char *type, *name, *summary, *body;
} examples[] = {
    {"TranslateRequest", "text", "One text", "{\"text\":\"Where is the train station?\"}"},
    {"TranslateRequest", "hypotheses", "Several texts, and the best translations of each with their probabilities",
     "{\"text\":[\"Hello.\",\"It snows.\"],\"n_best\":3,\"include\":[\"tokens\",\"log_probs\"]}"},
    {"LibreRequest", "libretranslate", "A request of a LibreTranslate client",
     "{\"q\":\"Where is the train station?\",\"source\":\"en\",\"target\":\"fr\"}"},
    {"AttentionRequest", "text", "The attention of alignd's own translation", "{\"text\":\"Where is the train station?\"}"},
    {"AttentionRequest", "translation", "The alignment of a given translation",
     "{\"text\":\"It snows.\",\"translation\":\"Il neige.\",\"include\":[\"tokens\",\"alignment\"]}"},
    {"LibreDetect", "text", "One text", "{\"q\":\"Where is the train station?\"}"},
    {"DeeplRequest", "text", "One text", "{\"text\":[\"Where is the train station?\"],\"target_lang\":\"FR\"}"},
    {"DeeplEntries", "entries", "Two entries",
     "{\"name\":\"winter\",\"source_lang\":\"en\",\"target_lang\":\"fr\",\"entries\":\"snow\\tpoudreuse\\nice\\tverglas\"}"},
    {"DeeplDictionaries", "dictionaries", "One dictionary",
     "{\"name\":\"winter\",\"dictionaries\":[{\"source_lang\":\"en\",\"target_lang\":\"fr\",\"entries\":\"snow\\tpoudreuse\"}]}"},
    {"GoogleRequest", "text", "One text", "{\"q\":\"Where is the train station?\",\"target\":\"fr\",\"format\":\"text\"}"},
    {"GoogleDetect", "text", "One text", "{\"q\":\"Where is the train station?\"}"},
    {"[MicrosoftText]", "text", "One text", "[{\"Text\":\"Where is the train station?\"}]"},
    {"ImmersiveRequest", "text", "One text",
     "{\"source_lang\":\"auto\",\"target_lang\":\"fr\",\"text_list\":[\"Where is the train station?\"]}"},
    {"KissRequest", "text", "One text", "{\"from\":\"auto\",\"to\":\"fr\",\"text\":\"Where is the train station?\"}"},
    {"DeeplxRequest", "text", "One text",
     "{\"source_lang\":\"EN\",\"target_lang\":\"FR\",\"text\":\"Where is the train station?\"}"},
};

static void put_examples(struct writer *w, const char *types) {
    writer_begin_object(w, "examples");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (!strstr(types, examples[i].type))
            continue;
        writer_begin_object(w, examples[i].name);
        writer_string(w, "summary", examples[i].summary);
        writer_json(w, "value", examples[i].body);
        writer_end_object(w);
    }
    writer_end_object(w);
}

/* JSON or, of an object, a form. file: it has one, and is a form of parts. */
static void put_body(struct writer *w, const char *type, bool file) {
    writer_begin_object(w, "requestBody");
    writer_boolean(w, "required", true);
    writer_begin_object(w, "content");
    if (!file) {
        writer_begin_object(w, JSON_TYPE);
        api_schema(w, "schema", type);
        put_examples(w, type);
        writer_end_object(w);
    }
    if (!file && type[0] != '[')
        put_content(w, "application/x-www-form-urlencoded", type);
    if (type[0] != '[')
        put_content(w, "multipart/form-data", type);
    writer_end_object(w);
    writer_end_object(w);
}

struct failure {
    const char *status, *text;
};

static void put_failures(struct writer *w, const struct failure *failures, size_t count) {
    for (size_t i = 0; i < count; i++)
        put_response(w, failures[i].status, failures[i].text, JSON_TYPE, "Error");
}

/* Its jobs are decoded, by the workers. */
static bool is_decoded(const struct route *route) {
    return route->finish && (route->start == api_decode_start || api_is_lasting(route));
}

/* What only requests that are decoded can meet. */
static void put_decoding(struct writer *w) {
    static const struct failure failures[] = {
        {"400", "invalid JSON, a field with a wrong type or value, or an unknown field, language or model"},
        {"413", "the body or a text is too long"},
        {"415", "the body is neither JSON nor a form"},
        {"429", "the queue is full, or the client has reached its rate limit or its key the daily quota (DeepL: 456); Retry-After "
                "says when to try again"},
        {"503", "the server is loading, shutting down or out of memory; Retry-After says when to try again"},
        {"504", "the deadline of the request passed"},
    };
    put_failures(w, failures, sizeof failures / sizeof *failures);
}

static const char *lower_method(const struct route *route) {
    static const char *const methods[][2] = {{"GET", "get"}, {"POST", "post"}, {"PUT", "put"}, {"PATCH", "patch"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(route->method, methods[i][0]) == 0)
            return methods[i][1];
    return "delete";
}

/* The path as an identifier: "frontend_settings"; that of the page is none. first: of the path's operations; others have their
 * method behind it. */
static void put_operation_id(struct writer *w, const struct route *route, bool first) {
    char id[96], *end = id;
    snprintf(id, sizeof id, "%s%s%s", route->path[1] ? route->path + 1 : "page", first ? "" : "_",
             first ? "" : lower_method(route));
    for (const char *c = id; *c; c++)
        if (!strchr("{}", *c))
            *end++ = strchr("/.-", *c) ? '_' : *c;
    *end = '\0';
    writer_string(w, "operationId", id);
}

/* The segment in braces, if the path has one. */
static void put_path_parameter(struct writer *w, const struct route *route) {
    const char *name = strchr(route->path, '{');
    if (!name)
        return;
    writer_begin_array(w, "parameters");
    writer_begin_object(w, NULL);
    writer_string_of(w, "name", name + 1, strcspn(name, "}") - 1);
    writer_string(w, "in", "path");
    writer_boolean(w, "required", true);
    api_schema(w, "schema", "string");
    writer_end_object(w);
    writer_end_array(w);
}

/* The fields of the body that a POST to the same path takes, in the query string. */
static bool is_in_query(const struct route *route) {
    return route->takes && strcmp(route->method, "GET") == 0;
}

static void put_parameters(struct writer *w, const struct route *route) {
    if (is_in_query(route))
        api_fields_parameters(w, "parameters", strcmp(route->takes, "AttentionRequest") == 0 ? API_ATTENTION : API_TRANSLATE);
    else
        put_path_parameter(w, route);
}

/* Of a reply that is no JSON. */
static const char *text_type(const struct route *route) {
    return route->start == api_page || route->start == api_docs ? "text/html"
           : route->start == api_deepl_entries                  ? "text/tab-separated-values"
                                                                : "text/plain";
}

/* What it answers when all is well. What is decoded may be streamed, too. The stream is described in words: with a schema of its
 * own each reply would be an object or a string to those who make clients of this. */
static void put_success(struct writer *w, const struct route *route) {
    const char *text = !is_decoded(route)
                           ? "success"
                           : "success; with stream, text/event-stream with the events token (TokenEvent), sentence (Sentence, "
                             "with text_index, sentence and left, how many sentences are still to come) and finally result (the "
                             "reply without stream) or error (Error)";
    if (route->start == api_spec) {
        writer_begin_object(w, "302");
        writer_string(w, "description", "redirects to /openapi.json");
        writer_end_object(w);
    } else if (route->start == api_deepl_remove_glossary || route->start == api_deepl_remove_dictionary) {
        writer_begin_object(w, "204");
        writer_string(w, "description", text);
        writer_end_object(w);
    } else if (route->gives) {
        bool makes = route->start == api_deepl_make_glossary || route->start == api_deepl_make_multilingual;
        put_response(w, makes ? "201" : "200", text, JSON_TYPE, route->gives);
    } else {
        put_response(w, "200", text, text_type(route), "string");
    }
}

static void put_responses(struct writer *w, const struct route *route) {
    static const struct failure method = {"405", "wrong method; Allow lists the right ones"},
                                reload = {"409", "the models were not reloaded, and those in service stay"},
                                keys[] = {{"401", "an API key is required"},
                                          {"403", "the API key is unknown, or does not permit this"}};
    writer_begin_object(w, "responses");
    put_success(w, route);
    put_failures(w, &method, 1);
    if (is_decoded(route))
        put_decoding(w);
    else if (route->finish)
        put_failures(w, &reload, 1);
    put_response(w, "default", "any other error", JSON_TYPE, "Error");
    if (route->access != ACCESS_OPEN)
        put_failures(w, keys, 2);
    writer_end_object(w);
}

/* Any of these will do; where there are no keys, users need none. */
static void put_security(struct writer *w, bool needed) {
    writer_json(w, "security", needed ? "[{\"bearer\":[]},{\"header\":[]}]" : "[{\"bearer\":[]},{\"header\":[]},{}]");
}

static void put_security_schemes(struct writer *w) {
    writer_begin_object(w, "securitySchemes");
    writer_begin_object(w, "bearer");
    writer_strings(w, "type", "http", "scheme", "bearer", NULL);
    writer_end_object(w);
    writer_begin_object(w, "header");
    writer_strings(w, "type", "apiKey", "in", "header", "name", "X-Api-Key", NULL);
    writer_end_object(w);
    writer_end_object(w);
}

/* keys: there are API keys. */
static void put_operation(struct writer *w, const struct route *route, bool first, bool keys) {
    writer_begin_object(w, lower_method(route));
    put_operation_id(w, route, first);
    writer_string(w, "summary", route->summary);
    put_parameters(w, route);
    put_responses(w, route);
    if (route->access != ACCESS_OPEN)
        put_security(w, keys || route->access == ACCESS_ADMIN);
    if (route->takes && !is_in_query(route))
        put_body(w, route->takes, api_is_lasting(route));
    writer_end_object(w);
}

static void put_paths(struct writer *w, bool keys) {
    const struct route *route, *former = NULL;
    writer_begin_object(w, "paths");
    for (size_t i = 0; (route = api_route(i)) != NULL; i++, former = route) {
        bool first = !former || strcmp(former->path, route->path) != 0;
        if (first && former)
            writer_end_object(w);
        if (first)
            writer_begin_object(w, route->path);
        put_operation(w, route, first, keys);
    }
    writer_end_object(w);
    writer_end_object(w);
}

static void put_components(struct writer *w) {
    writer_begin_object(w, "components");
    writer_begin_object(w, "schemas");
    api_schemas(w);
    api_fields_schema(w, "TranslateRequest", API_TRANSLATE);
    api_fields_schema(w, "AttentionRequest", API_ATTENTION);
    writer_end_object(w);
    put_security_schemes(w);
    writer_end_object(w);
}

static void put_info(struct writer *w) {
    writer_string(w, "openapi", "3.0.3");
    writer_begin_object(w, "info");
    writer_strings(w, "title", "alignd", "description", "Translations with their tokens, probabilities and attention.", "version",
                   ALIGND_VERSION, NULL);
    writer_end_object(w);
    writer_json(w, "servers", "[{\"url\":\"/\"}]");
}

void api_describe(struct writer *w, bool keys) {
    writer_begin_object(w, NULL);
    put_info(w);
    put_paths(w, keys);
    put_components(w);
    writer_end_object(w);
}

void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    struct writer w = {.most = SIZE_MAX};
    api_describe(&w, service->keys != NULL);
    api_reply_json(reply, &w);
}
