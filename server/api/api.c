#include "server/api/api.h"
#include "server/api/page.h"
#include <stdio.h>
#include <string.h>

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish,
     "Translates: a body with text uses alignd's own fields, one with q LibreTranslate's, and with api-version in the query string "
     "Microsoft's, of which it is an array (MicrosoftText, MicrosoftTranslated)",
     "TranslateRequest|LibreRequest", "Translations|LibreTranslation", NULL},
    {"/translate", "GET", ACCESS_USER, api_decode_start, api_decode_finish,
     "Translates the text in the query string, whose fields are those of the body of POST; with q instead of text, "
     "LibreTranslate's",
     "TranslateRequest", "Translations|LibreTranslation", NULL},
    {"/attention", "POST", ACCESS_USER, api_decode_start, api_decode_finish,
     "Tokens and attention matrices of the model's own translation or of one that is given", "AttentionRequest", "Attentions",
     NULL},
    {"/attention", "GET", ACCESS_USER, api_decode_start, api_decode_finish,
     "The same of the text in the query string, whose fields are those of the body of POST", "AttentionRequest", "Attentions",
     NULL},
    {"/documents", "POST", ACCESS_USER, api_document_start, api_document_finish,
     "Translates a file, and answers with the translated file: plain text, subtitles, HTML, JSON and more", "DocumentRequest", NULL,
     NULL},
    {"/translate_file", "POST", ACCESS_USER, api_file_start, api_file_finish,
     "LibreTranslate: translates a file, and answers with the address to fetch it from", "LibreFile", "LibreFileUrl", NULL},
    {"/download_file/{file}", "GET", ACCESS_OPEN, api_file, NULL, "LibreTranslate: a file that was translated", NULL, NULL, NULL},
    {"/models", "GET", ACCESS_OPEN, api_models, NULL, "The models, loaded or not", NULL, "Models", NULL},
    {"/models", "POST", ACCESS_ADMIN, api_add_model, NULL, "Puts one more model folder into service", "ModelFolder", "ModelChange",
     NULL},
    {"/models/reload", "POST", ACCESS_ADMIN, api_reload_start, api_reload_finish, "Loads the models again, beside those in service",
     NULL, "Reloaded", NULL},
    {"/models/{name}", "DELETE", ACCESS_ADMIN, api_remove_model, NULL, "Takes a model out of service", NULL, "ModelChange", NULL},
    {"/health", "GET", ACCESS_OPEN, api_health, NULL, "Liveness: the process is running", NULL, "Status", NULL},
    {"/ready", "GET", ACCESS_OPEN, api_ready, NULL, "Readiness: 503 while loading or shutting down", NULL, "Status", NULL},
    {"/metrics", "GET", ACCESS_OPEN, api_metrics, NULL, "Metrics in the Prometheus text format", NULL, NULL, NULL},
    {"/detect", "POST", ACCESS_USER, api_decode_start, NULL,
     "Detects the language of a text, as LibreTranslate or, with api-version, Microsoft", "LibreDetect", "[Detected]", NULL},
    {"/languages", "GET", ACCESS_OPEN, api_languages, NULL, "LibreTranslate: languages and their possible targets", NULL,
     "[Language]", NULL},
    {"/frontend/settings", "GET", ACCESS_OPEN, api_settings, NULL, "LibreTranslate: settings for its web page", NULL, "Settings",
     NULL},
    {"/v2/translate", "POST", ACCESS_USER, api_decode_start, api_decode_finish, "DeepL: translates", "DeeplRequest",
     "DeeplTranslations", &dialect_deepl},
    {"/v2/languages", "GET", ACCESS_OPEN, api_deepl_languages, NULL, "DeepL: languages; type is source or target", NULL,
     "[DeeplLanguage]", &dialect_deepl},
    {"/v2/languages", "POST", ACCESS_OPEN, api_deepl_languages, NULL, "DeepL: languages; type is source or target", NULL,
     "[DeeplLanguage]", &dialect_deepl},
    {"/v2/usage", "GET", ACCESS_USER, api_deepl_usage, NULL,
     "DeepL: characters translated by this key: today, if it has a daily limit, or since the start", NULL, "DeeplUsage",
     &dialect_deepl},
    {"/v2/usage", "POST", ACCESS_USER, api_deepl_usage, NULL,
     "DeepL: characters translated by this key: today, if it has a daily limit, or since the start", NULL, "DeeplUsage",
     &dialect_deepl},
    {"/v2/glossary-language-pairs", "GET", ACCESS_OPEN, api_deepl_glossary_pairs, NULL,
     "DeepL: pairs of languages that glossaries may be for", NULL, "DeeplPairs", &dialect_deepl},
    {"/v2/glossaries", "GET", ACCESS_USER, api_deepl_glossaries, NULL, "DeepL: the glossaries that the key may use", NULL,
     "DeeplGlossaries", &dialect_deepl},
    {"/v2/glossaries", "POST", ACCESS_USER, api_deepl_make_glossary, NULL, "DeepL: makes a glossary", "DeeplEntries",
     "DeeplGlossary", &dialect_deepl},
    {"/v2/glossaries/{id}", "GET", ACCESS_USER, api_deepl_glossary, NULL, "DeepL: one glossary", NULL, "DeeplGlossary",
     &dialect_deepl},
    {"/v2/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, "DeepL: removes a glossary of the key's", NULL,
     NULL, &dialect_deepl},
    {"/v2/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_entries, NULL,
     "DeepL: a glossary's entries, as tab-separated values", NULL, NULL, &dialect_deepl},
    {"/v3/glossaries", "GET", ACCESS_USER, api_deepl_multilingual_glossaries, NULL,
     "DeepL: the glossaries that the key may use, each with its dictionaries", NULL, "DeeplMultilinguals", &dialect_deepl},
    {"/v3/glossaries", "POST", ACCESS_USER, api_deepl_make_multilingual, NULL,
     "DeepL: makes a glossary of one or more dictionaries", "DeeplDictionaries", "DeeplMultilingual", &dialect_deepl},
    {"/v3/glossaries/{id}", "GET", ACCESS_USER, api_deepl_multilingual, NULL, "DeepL: one glossary", NULL, "DeeplMultilingual",
     &dialect_deepl},
    {"/v3/glossaries/{id}", "PATCH", ACCESS_USER, api_deepl_change_multilingual, NULL,
     "DeepL: renames a glossary, and adds entries to its dictionaries", "DeeplChange", "DeeplMultilingual", &dialect_deepl},
    {"/v3/glossaries/{id}", "DELETE", ACCESS_USER, api_deepl_remove_glossary, NULL, "DeepL: removes a glossary of the key's", NULL,
     NULL, &dialect_deepl},
    {"/v3/glossaries/{id}/entries", "GET", ACCESS_USER, api_deepl_dictionary_entries, NULL,
     "DeepL: the entries of the dictionary for source_lang and target_lang", NULL, "DeeplDictionaryEntries", &dialect_deepl},
    {"/v3/glossaries/{id}/dictionaries", "PUT", ACCESS_USER, api_deepl_set_dictionary, NULL,
     "DeepL: sets a dictionary, in the place of the one for the same languages, if there is one", "DeeplDictionary",
     "DeeplDictionaryAbout", &dialect_deepl},
    {"/v3/glossaries/{id}/dictionaries", "DELETE", ACCESS_USER, api_deepl_remove_dictionary, NULL,
     "DeepL: removes the dictionary for source_lang and target_lang", NULL, NULL, &dialect_deepl},
    {"/v2/document", "POST", ACCESS_USER, api_deepl_document_start, api_document_finish,
     "DeepL: takes a file to be translated, and answers at once with the id and key to ask for it", "DeeplDocument",
     "DeeplDocumentHandle", &dialect_deepl},
    {"/v2/document/{id}", "POST", ACCESS_USER, api_deepl_document_status, NULL, "DeepL: how far a document is", "DeeplDocumentKey",
     "DeeplDocumentStatus", &dialect_deepl},
    {"/v2/document/{id}/result", "POST", ACCESS_USER, api_deepl_document_result, NULL,
     "DeepL: a translated document, until it has been fetched", "DeeplDocumentKey", NULL, &dialect_deepl},
    {"/language/translate/v2", "GET", ACCESS_USER, api_decode_start, api_decode_finish,
     "Google: translates; q, source, target and format are in the query string", NULL, "GoogleTranslations", &dialect_google},
    {"/language/translate/v2", "POST", ACCESS_USER, api_decode_start, api_decode_finish, "Google: translates", "GoogleRequest",
     "GoogleTranslations", &dialect_google},
    {"/language/translate/v2/", "GET", ACCESS_USER, api_decode_start, api_decode_finish,
     "Google: as without the slash, which some clients send", NULL, "GoogleTranslations", &dialect_google},
    {"/language/translate/v2/", "POST", ACCESS_USER, api_decode_start, api_decode_finish,
     "Google: as without the slash, which some clients send", "GoogleRequest", "GoogleTranslations", &dialect_google},
    {"/language/translate/v2/languages", "GET", ACCESS_OPEN, api_google_languages, NULL, "Google: languages", NULL,
     "GoogleLanguages", &dialect_google},
    {"/language/translate/v2/languages", "POST", ACCESS_OPEN, api_google_languages, NULL, "Google: languages", NULL,
     "GoogleLanguages", &dialect_google},
    {"/language/translate/v2/detect", "GET", ACCESS_USER, api_decode_start, NULL, "Google: detects languages", NULL,
     "GoogleDetections", &dialect_google_detect},
    {"/language/translate/v2/detect", "POST", ACCESS_USER, api_decode_start, NULL, "Google: detects languages", "GoogleDetect",
     "GoogleDetections", &dialect_google_detect},
    {"/breaksentence", "POST", ACCESS_USER, api_decode_start, NULL, "Microsoft: lengths of sentences", "[MicrosoftText]",
     "[MicrosoftSentences]", &dialect_microsoft_break},
    {"/sts/v1.0/issueToken", "POST", ACCESS_USER, api_microsoft_token, NULL, "Microsoft: the key as a token", NULL, NULL,
     &dialect_microsoft},
    {"/imme", "POST", ACCESS_USER, api_decode_start, api_decode_finish, "Immersive Translate's custom API", "ImmersiveRequest",
     "ImmersiveTranslations", &dialect_immersive},
    {"/kiss", "POST", ACCESS_USER, api_decode_start, api_decode_finish, "KISS Translator's custom API", "KissRequest",
     "KissText|KissTranslations", &dialect_kiss},
    {"/deeplx", "POST", ACCESS_USER, api_decode_start, api_decode_finish, "DeepLX's API", "DeeplxRequest", "DeeplxTranslation",
     &dialect_deeplx},
    {"/spec", "GET", ACCESS_OPEN, api_spec, NULL, "LibreTranslate: redirects to /openapi.json", NULL, NULL, NULL},
    {"/openapi.json", "GET", ACCESS_OPEN, api_openapi, NULL, "This description", NULL, "object", NULL},
    {"/docs", "GET", ACCESS_OPEN, api_docs, NULL, "This description, for people", NULL, NULL, NULL},
    {"/", "GET", ACCESS_OPEN, api_page, NULL, "The web page; its other files are under /page/", NULL, NULL,
     NULL}, /* the last: its files, too */
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

/* The labels of metrics and log lines: one of each path; other paths share the last, since clients may send any. */
static const char *const labels[] = {"/translate",
                                     "/attention",
                                     "/documents",
                                     "/translate_file",
                                     "/download_file/{file}",
                                     "/models",
                                     "/models/reload",
                                     "/models/{name}",
                                     "/health",
                                     "/ready",
                                     "/metrics",
                                     "/detect",
                                     "/languages",
                                     "/frontend/settings",
                                     "/v2/translate",
                                     "/v2/languages",
                                     "/v2/usage",
                                     "/v2/glossary-language-pairs",
                                     "/v2/glossaries",
                                     "/v2/glossaries/{id}",
                                     "/v2/glossaries/{id}/entries",
                                     "/v3/glossaries",
                                     "/v3/glossaries/{id}",
                                     "/v3/glossaries/{id}/entries",
                                     "/v3/glossaries/{id}/dictionaries",
                                     "/v2/document",
                                     "/v2/document/{id}",
                                     "/v2/document/{id}/result",
                                     "/language/translate/v2",
                                     "/language/translate/v2/",
                                     "/language/translate/v2/languages",
                                     "/language/translate/v2/detect",
                                     "/breaksentence",
                                     "/sts/v1.0/issueToken",
                                     "/imme",
                                     "/kiss",
                                     "/deeplx",
                                     "/spec",
                                     "/openapi.json",
                                     "/docs",
                                     "/",
                                     "other"};
enum { LABEL_COUNT = sizeof labels / sizeof labels[0] };

const char *api_method(const char *method) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(method, known[i]) == 0)
            return known[i];
    }
    return "other";
}

const struct route *api_route(size_t i) {
    return i < ROUTE_COUNT ? &routes[i] : NULL;
}

static size_t label_of(const char *path) {
    for (size_t i = 0; i < LABEL_COUNT - 1; i++)
        if (strcmp(labels[i], path) == 0)
            return i;
    return LABEL_COUNT - 1;
}

/* Segment by segment. part: NULL, or what stands for the one in braces. */
static bool path_fits(const char *pattern, const char *path, const char **part, size_t *length) {
    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t bytes = strcspn(path, "/");
            if (bytes == 0)
                return false;
            if (part) {
                *part = path;
                *length = bytes;
            }
            pattern += strcspn(pattern, "}") + 1;
            path += bytes;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == *path;
}

const char *api_path_part(const struct route *route, const char *path, size_t *length) {
    const char *part = NULL;
    return path_fits(route->path, path, &part, length) ? part : NULL;
}

bool api_method_fits(const struct route *route, const char *method) {
    return strcmp(method, route->method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* The row of the same path that has the method, or else this one. */
static const struct route *of_method(const struct route *route, const char *method) {
    for (const struct route *row = route; row < routes + ROUTE_COUNT && strcmp(row->path, route->path) == 0; row++)
        if (api_method_fits(row, method))
            return row;
    return route;
}

const struct route *api_find(const char *path, const char *method, size_t *index) {
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (path_fits(routes[i].path, path, NULL, NULL)) {
            *index = label_of(routes[i].path);
            return of_method(&routes[i], method);
        }
    }
    bool file = page_find(path) != NULL;
    *index = file ? label_of("/") : LABEL_COUNT - 1;
    return file ? &routes[ROUTE_COUNT - 1] : NULL;
}

void api_allowed(const struct route *route, char methods[API_METHODS_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const char *method = routes[i].method;
        if (strcmp(routes[i].path, route->path) == 0)
            length += (size_t)snprintf(methods + length, API_METHODS_BYTES - length, "%s, ",
                                       strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
    }
    snprintf(methods + length, API_METHODS_BYTES - length, "OPTIONS");
}

bool api_writes(const struct route *route) {
    return route->start == api_deepl_make_glossary || route->start == api_deepl_remove_glossary ||
           route->start == api_deepl_make_multilingual || route->start == api_deepl_change_multilingual ||
           route->start == api_deepl_set_dictionary || route->start == api_deepl_remove_dictionary;
}

bool api_detaches(const struct route *route) {
    return route->start == api_deepl_document_start;
}

bool api_is_lasting(const struct route *route) {
    return route->start == api_document_start || route->start == api_file_start || route->start == api_deepl_document_start;
}

bool api_is_for_administrators(const struct route *route) {
    if (route->access == ACCESS_ADMIN)
        return true;
    static const char *const paths[] = {"/health", "/ready", "/metrics", "/models"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(route->path, paths[i]) == 0)
            return true;
    }
    return false;
}

const char *const *api_labels(size_t *count) {
    *count = LABEL_COUNT;
    return labels;
}

enum scheduler_verdict api_submit(const struct service *service, struct request *request) {
    if (request->reload)
        return catalog_reload(service->catalog, request->reload) ? SCHEDULER_ACCEPTED : SCHEDULER_CLOSED;
    if (!api_waits(request))
        return scheduler_submit(service->scheduler, request);
    if (residence_await(catalog_residence(service->catalog), request->wait)) /* the request may be gone */
        return SCHEDULER_ACCEPTED;
    return service_state(service) == SERVICE_DRAINING ? SCHEDULER_CLOSED : SCHEDULER_FULL;
}
