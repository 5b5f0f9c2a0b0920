#include "server/endpoints/routes.h"
#include "server/api/decode.h"
#include "server/api/dialect.h"
#include "server/api/documents.h"
#include "server/api/models.h"
#include "server/api/page.h"
#include "server/api/service.h"
#include "server/dialects/deepl.h"
#include "server/dialects/deepl_write.h"
#include "server/dialects/dictionary.h"
#include "server/dialects/google.h"
#include "server/dialects/mcp.h"
#include "server/dialects/microsoft.h"
#include "server/dialects/plain.h"
#include "server/dialects/selfhosted.h"
#include <stdio.h>
#include <string.h>

/* The dialects of a row. */
#define SPEAKS(...)                                                                                \
    (const struct dialect *const[]) {                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct route routes[] = {
    {"/translate", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_translate, &dialect_libre, &dialect_microsoft, &dialect_mtran, &dialect_deeplx,
            &dialect_nllb),
     PAGES_ANY, ROUTE_KEYED},
    {"/translate", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_translate, &dialect_libre, &dialect_microsoft, &dialect_mtran, &dialect_deeplx,
            &dialect_nllb),
     PAGES_ANY, 0},
    {"/translate/batch", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_mtran_batch), PAGES_ANY, 0},
    {"/attention", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_attention),
     PAGES_ANY, 0},
    {"/attention", "GET", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_attention),
     PAGES_ANY, 0},
    {"/align", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_align), PAGES_ANY,
     0},
    {"/mcp", "POST", ACCESS_USER, mcp_start, mcp_finish, SPEAKS(&dialect_mcp), PAGES_OWN,
     ROUTE_LASTS},
    {"/documents", "POST", ACCESS_USER, documents_start, documents_finish, NULL, PAGES_ANY,
     ROUTE_LASTS | ROUTE_KEYED},
    {"/formats", "GET", ACCESS_LIST, documents_formats, NULL, NULL, PAGES_ANY, 0},
    {"/translate_file", "POST", ACCESS_USER, documents_file_start, documents_file_finish, NULL,
     PAGES_OWN, ROUTE_LASTS | ROUTE_KEYED},
    {"/download_file/{file}", "GET", ACCESS_OPEN, documents_file, NULL, NULL, PAGES_OWN, 0},
    {"/models", "GET", ACCESS_LIST, models_list, NULL, NULL, PAGES_OWN, ROUTE_ADMIN},
    {"/models", "POST", ACCESS_ADMIN, models_add, NULL, NULL, PAGES_OWN, ROUTE_ADMIN},
    {"/models/available", "GET", ACCESS_LIST, models_available, NULL, NULL, PAGES_OWN, ROUTE_ADMIN},
    {"/models/reload", "POST", ACCESS_ADMIN, models_reload_start, models_reload_finish, NULL,
     PAGES_OWN, ROUTE_ADMIN},
    {"/models/{name}", "DELETE", ACCESS_ADMIN, models_remove, NULL, NULL, PAGES_OWN, ROUTE_ADMIN},
    {"/health", "GET", ACCESS_OPEN, service_health, NULL, NULL, PAGES_ANY, ROUTE_ADMIN},
    {"/ready", "GET", ACCESS_OPEN, service_ready, NULL, NULL, PAGES_ANY, ROUTE_ADMIN},
    {"/metrics", "GET", ACCESS_OPEN, service_metrics, NULL, NULL, PAGES_OWN, ROUTE_ADMIN},
    {"/detect", "POST", ACCESS_USER, decode_start, NULL,
     SPEAKS(&dialect_libre_detect, &dialect_microsoft_detect, &dialect_mtran_detect), PAGES_ANY,
     ROUTE_KEYED},
    {"/languages", "GET", ACCESS_LIST, plain_languages, NULL, NULL, PAGES_ANY, 0},
    {"/frontend/settings", "GET", ACCESS_LIST, plain_settings, NULL, NULL, PAGES_ANY, 0},
    {"/v2/translate", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_deepl),
     PAGES_ANY, ROUTE_KEYED},
    {"/v2/write/rephrase", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_deepl_write), PAGES_ANY, ROUTE_KEYED},
    {"/v2/languages", "GET", ACCESS_LIST, deepl_languages, NULL, SPEAKS(&dialect_deepl), PAGES_ANY,
     0},
    {"/v2/languages", "POST", ACCESS_LIST, deepl_languages, NULL, SPEAKS(&dialect_deepl), PAGES_ANY,
     ROUTE_KEYED},
    {"/v3/languages", "GET", ACCESS_LIST, deepl_languages_3, NULL, SPEAKS(&dialect_deepl),
     PAGES_ANY, 0},
    {"/v3/languages/resources", "GET", ACCESS_LIST, deepl_resources, NULL, SPEAKS(&dialect_deepl),
     PAGES_ANY, 0},
    {"/v2/usage", "GET", ACCESS_USER, deepl_usage, NULL, SPEAKS(&dialect_deepl), PAGES_OWN, 0},
    {"/v2/usage", "POST", ACCESS_USER, deepl_usage, NULL, SPEAKS(&dialect_deepl), PAGES_OWN,
     ROUTE_KEYED},
    {"/v2/glossary-language-pairs", "GET", ACCESS_LIST, deepl_glossary_pairs, NULL,
     SPEAKS(&dialect_deepl), PAGES_ANY, 0},
    {"/v2/glossaries", "GET", ACCESS_USER, deepl_glossaries, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, 0},
    {"/v2/glossaries", "POST", ACCESS_USER, deepl_make_glossary, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, ROUTE_WRITES | ROUTE_KEYED},
    {"/v2/glossaries/{id}", "GET", ACCESS_USER, deepl_glossary, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, 0},
    {"/v2/glossaries/{id}", "DELETE", ACCESS_USER, deepl_remove_glossary, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_WRITES},
    {"/v2/glossaries/{id}/entries", "GET", ACCESS_USER, deepl_entries, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, 0},
    {"/v3/glossaries", "GET", ACCESS_USER, deepl_glossaries, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, 0},
    {"/v3/glossaries", "POST", ACCESS_USER, deepl_make_glossary, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, ROUTE_WRITES | ROUTE_KEYED},
    {"/v3/glossaries/{id}", "GET", ACCESS_USER, deepl_glossary, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, 0},
    {"/v3/glossaries/{id}", "PATCH", ACCESS_USER, deepl_change_multilingual, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_WRITES | ROUTE_KEYED},
    {"/v3/glossaries/{id}", "DELETE", ACCESS_USER, deepl_remove_glossary, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_WRITES},
    {"/v3/glossaries/{id}/entries", "GET", ACCESS_USER, deepl_dictionary_entries, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, 0},
    {"/v3/glossaries/{id}/dictionaries", "PUT", ACCESS_USER, deepl_set_dictionary, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_WRITES | ROUTE_KEYED},
    {"/v3/glossaries/{id}/dictionaries", "DELETE", ACCESS_USER, deepl_remove_dictionary, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_WRITES},
    {"/v2/document", "POST", ACCESS_USER, documents_deepl_start, documents_finish,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_DETACHES | ROUTE_LASTS | ROUTE_KEYED},
    {"/v2/document/{id}", "POST", ACCESS_USER, documents_deepl_status, NULL, SPEAKS(&dialect_deepl),
     PAGES_OWN, ROUTE_KEYED},
    {"/v2/document/{id}/result", "POST", ACCESS_USER, documents_deepl_result, NULL,
     SPEAKS(&dialect_deepl), PAGES_OWN, ROUTE_KEYED},
    {"/language/translate/v2", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google), PAGES_ANY, 0},
    {"/language/translate/v2", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google), PAGES_ANY, ROUTE_KEYED},
    {"/language/translate/v2/", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google), PAGES_ANY, 0},
    {"/language/translate/v2/", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google), PAGES_ANY, ROUTE_KEYED},
    {"/language/translate/v2/languages", "GET", ACCESS_LIST, google_languages, NULL,
     SPEAKS(&dialect_google), PAGES_ANY, 0},
    {"/language/translate/v2/languages", "POST", ACCESS_LIST, google_languages, NULL,
     SPEAKS(&dialect_google), PAGES_ANY, ROUTE_KEYED},
    {"/language/translate/v2/detect", "GET", ACCESS_USER, decode_start, NULL,
     SPEAKS(&dialect_google_detect), PAGES_ANY, 0},
    {"/language/translate/v2/detect", "POST", ACCESS_USER, decode_start, NULL,
     SPEAKS(&dialect_google_detect), PAGES_ANY, ROUTE_KEYED},
    {"/v3/projects/{project}/locations/{location}:translateText", "POST", ACCESS_USER, decode_start,
     decode_finish, SPEAKS(&dialect_google_3), PAGES_ANY, 0},
    {"/v3/projects/{project}:translateText", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google_3), PAGES_ANY, 0},
    {"/v3/projects/{project}/locations/{location}:detectLanguage", "POST", ACCESS_USER,
     decode_start, NULL, SPEAKS(&dialect_google_3_detect), PAGES_ANY, 0},
    {"/v3/projects/{project}:detectLanguage", "POST", ACCESS_USER, decode_start, NULL,
     SPEAKS(&dialect_google_3_detect), PAGES_ANY, 0},
    {"/v3/projects/{project}/locations/{location}/supportedLanguages", "GET", ACCESS_LIST,
     google_3_languages, NULL, SPEAKS(&dialect_google_3), PAGES_ANY, 0},
    {"/v3/projects/{project}/supportedLanguages", "GET", ACCESS_LIST, google_3_languages, NULL,
     SPEAKS(&dialect_google_3), PAGES_ANY, 0},
    {"/translate_a/single", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google_single), PAGES_ANY, 0},
    {"/translate_a/single", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google_single), PAGES_ANY, 0},
    {"/translate_a/t", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google_texts), PAGES_ANY, 0},
    {"/translate_a/t", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_google_texts), PAGES_ANY, 0},
    {"/breaksentence", "POST", ACCESS_USER, decode_start, NULL, SPEAKS(&dialect_microsoft_break),
     PAGES_ANY, 0},
    {"/transliterate", "POST", ACCESS_USER, decode_start, NULL, SPEAKS(&dialect_microsoft_scripts),
     PAGES_ANY, 0},
    {"/dictionary/lookup", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_dictionary_lookup), PAGES_ANY, 0},
    {"/dictionary/examples", "POST", ACCESS_USER, decode_start, NULL,
     SPEAKS(&dialect_dictionary_examples), PAGES_ANY, 0},
    {"/sts/v1.0/issueToken", "POST", ACCESS_USER, microsoft_token, NULL, SPEAKS(&dialect_microsoft),
     PAGES_ANY, 0},
    {"/imme", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_immersive),
     PAGES_ANY, 0},
    {"/kiss", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_kiss), PAGES_ANY,
     0},
    {"/deeplx", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_deeplx),
     PAGES_ANY, 0},
    {"/v1/translate", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_deeplx),
     PAGES_ANY, 0},
    {"/hcfy", "POST", ACCESS_USER, decode_start, decode_finish, SPEAKS(&dialect_hcfy), PAGES_ANY,
     0},
    {"/version", "GET", ACCESS_OPEN, selfhosted_mtran_version, NULL, NULL, PAGES_ANY, 0},
    {"/api/v4/translator", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_nllb_api), PAGES_ANY, 0},
    {"/api/v4/translator", "POST", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_nllb_api), PAGES_ANY, 0},
    {"/api/v4/language", "GET", ACCESS_USER, decode_start, NULL, SPEAKS(&dialect_nllb_detect),
     PAGES_ANY, 0},
    {"/api/v1/languages", "GET", ACCESS_LIST, selfhosted_lingva_languages, NULL,
     SPEAKS(&dialect_lingva), PAGES_ANY, 0},
    {"/api/v1/languages/{type}", "GET", ACCESS_LIST, selfhosted_lingva_languages, NULL,
     SPEAKS(&dialect_lingva), PAGES_ANY, 0},
    {"/api/v1/{source}/{target}/{query}", "GET", ACCESS_USER, decode_start, decode_finish,
     SPEAKS(&dialect_lingva), PAGES_ANY, ROUTE_REST},
    {"/spec", "GET", ACCESS_OPEN, plain_spec, NULL, NULL, PAGES_ANY, 0},
    {"/openapi.json", "GET", ACCESS_OPEN, service_openapi, NULL, NULL, PAGES_ANY, 0},
    {"/docs", "GET", ACCESS_OPEN, service_docs, NULL, NULL, PAGES_ANY, 0},
    /* this row must be the last; the other files of the page share it */
    {"/", "GET", ACCESS_OPEN, service_page, NULL, NULL, PAGES_ANY, 0},
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

const struct route *routes_nth(size_t i) {
    return i < ROUTE_COUNT ? &routes[i] : NULL;
}

/* The rows of a path are adjacent. All paths without a route share the last label, since clients
 * may send any path. */
size_t routes_labels(const char *labels[ROUTES_MOST_LABELS]) {
    _Static_assert(sizeof routes / sizeof *routes < ROUTES_MOST_LABELS, "all labels fit");
    size_t count = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (i == 0 || strcmp(routes[i - 1].path, routes[i].path) != 0)
            labels[count++] = routes[i].path;
    labels[count++] = "other";
    return count;
}

/* Returns the index of the route's label, or of the label for all other paths if route is NULL. */
static size_t label_of(const struct route *route) {
    const struct route *last = route ? route : &routes[ROUTE_COUNT - 1];
    size_t label = !route;
    for (const struct route *row = routes; row < last; row++)
        label += strcmp(row[0].path, row[1].path) != 0;
    return label;
}

const struct route *routes_find(const char *path, const char *method, size_t *index) {
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (route_fits(&routes[i], path)) {
            *index = label_of(&routes[i]);
            for (size_t row = i; row < ROUTE_COUNT && strcmp(routes[row].path, routes[i].path) == 0;
                 row++)
                if (route_takes(&routes[row], method))
                    return &routes[row];
            return &routes[i];
        }
    }
    const struct route *page = page_find(path) ? &routes[ROUTE_COUNT - 1] : NULL;
    *index = label_of(page);
    return page;
}

void routes_allowed(const struct route *route, char methods[ROUTES_METHODS_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const char *method = routes[i].method;
        if (strcmp(routes[i].path, route->path) == 0)
            length += (size_t)snprintf(methods + length, ROUTES_METHODS_BYTES - length, "%s, ",
                                       strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
    }
    snprintf(methods + length, ROUTES_METHODS_BYTES - length, "OPTIONS");
}
