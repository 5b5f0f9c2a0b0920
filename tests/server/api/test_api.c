/* server/api/api: the table of routes; server/api/openapi.json, which has the same routes and
 * fields as the tables. */
#include "server/api/fields.h"
#include "server/api/page.h"
#include "server/api/value.h"
#include "server/decode/parameters.h"
#include "server/endpoints/routes.h"
#include "tests/suites.h"
#include <ctype.h>
#include <string.h>

/* No path is counted under another's name, and none twice: Prometheus refuses two series of one
 * name. */
START_TEST(every_path_has_a_label) {
    const char *labels[ROUTES_MOST_LABELS];
    size_t count = routes_labels(labels), index;
    const struct route *route, *former = NULL;
    size_t paths = 0;
    for (size_t i = 0; (route = routes_nth(i)) != NULL; former = route, i++) {
        ck_assert_ptr_eq(routes_find(route->path, route->method, &index), route);
        ck_assert_str_eq(labels[index], route->path);
        paths += !former || strcmp(former->path, route->path) != 0;
    }
    ck_assert_uint_eq(paths, count - 1);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(labels[i], labels[j]);
}
END_TEST

START_TEST(methods_of_paths) {
    size_t index;
    char methods[ROUTES_METHODS_BYTES];
    const struct route *get = routes_find("/models", "HEAD", &index);
    ck_assert(route_takes(get, "HEAD") && route_takes(get, "GET") && !route_takes(get, "POST"));
    ck_assert_ptr_nonnull(routes_find("/translate", "other", &index));
    ck_assert(!route_takes(routes_find("/translate", "other", &index), "other"));
    routes_allowed(routes_find("/translate", "GET", &index), methods);
    ck_assert_str_eq(methods, "POST, GET, HEAD, OPTIONS");
    routes_allowed(routes_find("/documents", "GET", &index), methods);
    ck_assert_str_eq(methods, "POST, OPTIONS");
    routes_allowed(routes_find("/health", "GET", &index), methods);
    ck_assert_str_eq(methods, "GET, HEAD, OPTIONS");
}
END_TEST

START_TEST(other_paths) {
    static const char *const paths[] = {"",          "/nothing", "/translate/",
                                        "/translat", "/modelsx", "//"};
    const char *labels[ROUTES_MOST_LABELS];
    size_t count = routes_labels(labels), index, length;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_ptr_null(routes_find(paths[i], "GET", &index));
        ck_assert_uint_eq(index, count - 1);
    }
    ck_assert_ptr_null(route_part(routes_find("/models", "GET", &index), "/models", &length));
}
END_TEST

/* A segment in braces stands for any that is not empty. */
START_TEST(segments) {
    static const struct route route = {.path = "/v2/things/{id}/entries", .method = "GET"};
    static const char *const others[] = {"/v2/things//entries", "/v2/things/a",
                                         "/v2/things/a/b/entries", "/v2/things/a/entries/", "/v2"};
    size_t length = 0;
    const char *part = route_part(&route, "/v2/things/a-b.c/entries", &length);
    ck_assert_uint_eq(length, 5);
    ck_assert_mem_eq(part, "a-b.c", 5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_ptr_null(route_part(&route, others[i], &length));
}
END_TEST

/* ---- openapi.json ---- */

static json_t *description; /* of the API */

static void load_description(void) {
    const struct page_file *file = page_find("/openapi.json");
    ck_assert_ptr_nonnull(file);
    description = json_loadb((const char *)file->bytes, file->length, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(description);
}

static void free_description(void) {
    json_decref(description);
}

/* Every route is an operation, with the status for a missing key where it may need one, and every
 * operation is a route. */
START_TEST(operations_are_routes) {
    const struct route *route;
    size_t routes = 0, again = 0, operations = 0;
    const char *path;
    json_t *methods, *paths = json_object_get(description, "paths");
    for (; (route = routes_nth(routes)) != NULL; routes++) {
        char method[8];
        size_t length = strlen(route->method);
        for (size_t i = 0; i <= length; i++)
            method[i] = (char)tolower((unsigned char)route->method[i]);
        /* that a path may end with a slash is no operation of its own */
        size_t end = strlen(route->path);
        bool slash = end > 1 && route->path[end - 1] == '/';
        again += slash;
        const json_t *operation =
            json_object_get(json_object_getn(paths, route->path, end - slash), method);
        ck_assert_msg(operation != NULL, "%s %s", route->method, route->path);
        ck_assert_msg((json_array_size(json_object_get(operation, "security")) > 0) ==
                          (route->access >= ACCESS_USER),
                      "%s %s", route->method, route->path);
    }
    json_object_foreach(paths, path, methods) operations += json_object_size(methods);
    ck_assert_uint_eq(operations, routes - again);
}
END_TEST

/* The schema itself, where a description is beside it. */
static const json_t *bare(const json_t *schema) {
    const json_t *inner = json_array_get(json_object_get(schema, "allOf"), 0);
    return inner ? inner : schema;
}

static void check_number(const char *name, const json_t *schema, const char *key, double value) {
    const json_t *number = json_object_get(schema, key);
    ck_assert_msg(json_is_number(number) && json_number_value(number) == value, "%s: %s", name,
                  key);
}

/* A field's range and default. value: the default, at its place. */
static void check_field(const struct field *field, const json_t *schema, const void *value) {
    const struct parameter *p = field->parameter;
    enum parameter_type type = p ? p->type : PARAMETER_STRATEGY;
    const json_t *fallback = json_object_get(schema, "default");
    if (!p || strcmp(field->name, "strategy") == 0)
        return;
    if (type == PARAMETER_SEED) {
        ck_assert_ptr_null(fallback);
        return;
    }
    bool integer = type == PARAMETER_INTEGER || strcmp(field->name, "digits") == 0;
    double is = integer ? (double)*(const size_t *)value : *(const double *)value;
    ck_assert_str_eq(json_string_value(json_object_get(schema, "type")),
                     integer ? "integer" : "number");
    check_number(field->name, schema, "minimum", p->minimum);
    check_number(field->name, schema, "maximum", p->maximum);
    if (is >= p->minimum && is <= p->maximum)
        check_number(field->name, schema, "default", is);
    else
        ck_assert_ptr_null(fallback);
}

/* A form with a file has the same fields of a search. */
START_TEST(documents_have_searches) {
    static const char *const schemas[] = {"DocumentRequest", "LibreFile"};
    const json_t *all = json_object_get(json_object_get(description, "components"), "schemas"),
                 *usual = json_object_get(json_object_get(all, "TranslateRequest"), "properties");
    struct field field;
    size_t count = 0;
    for (size_t i = 0; fields_nth(i, &field); i++) {
        if (!(field.kinds & API_DOCUMENT))
            continue;
        count++;
        for (size_t k = 0; k < 2; k++) {
            const json_t *own = json_object_get(json_object_get(all, schemas[k]), "properties");
            ck_assert_msg(
                json_equal(json_object_get(own, field.name), json_object_get(usual, field.name)),
                "%s: %s", schemas[k], field.name);
        }
    }
    ck_assert_uint_eq(count, 12);
}
END_TEST

/* The fields of the table are the properties of the body, and the parameters of the query string;
 * and the other way round. */
START_TEST(properties_are_fields) {
    static const struct {
        const char *schema, *path;
        enum api_kind kind;
    } rows[] = {{"TranslateRequest", "/translate", API_TRANSLATE},
                {"AttentionRequest", "/attention", API_ATTENTION},
                {"AlignRequest", "/align", API_ALIGN}};
    for (size_t row = 0; row < 3; row++) {
        const struct api_form defaults = fields_default(rows[row].kind);
        const json_t *schemas =
            json_object_get(json_object_get(description, "components"), "schemas");
        json_t *properties =
                   json_object_get(json_object_get(schemas, rows[row].schema), "properties"),
               *schema;
        const json_t *get = json_object_get(
            json_object_get(json_object_get(description, "paths"), rows[row].path), "get");
        const json_t *parameters = json_object_get(get, "parameters");
        struct field field;
        const char *name;
        size_t count = 0;
        for (size_t i = 0; fields_nth(i, &field); i++) {
            if (!(field.kinds & (int)rows[row].kind))
                continue;
            const json_t *property = json_object_get(properties, field.name),
                         *parameter = json_array_get(parameters, count++);
            ck_assert_msg(property != NULL, "%s lacks %s", rows[row].schema, field.name);
            if (get) {
                ck_assert_str_eq(json_string_value(json_object_get(parameter, "name")), field.name);
                ck_assert(json_equal(json_object_get(property, "description"),
                                     json_object_get(parameter, "description")));
            }
            check_field(&field, bare(property), (const char *)&defaults + field.offset);
        }
        json_object_foreach(properties, name, schema)
            ck_assert_msg(fields_find(name, rows[row].kind, &field), "%s", name);
        ck_assert_uint_eq(json_object_size(properties), count);
        ck_assert_uint_eq(json_array_size(parameters), get ? count : 0);
    }
}
END_TEST

/* The values of include and strategy. */
START_TEST(names_are_listed) {
    const json_t *schemas = json_object_get(json_object_get(description, "components"), "schemas");
    const json_t *properties =
        json_object_get(json_object_get(schemas, "TranslateRequest"), "properties");
    const json_t *include = json_object_get(
        json_array_get(json_object_get(bare(json_object_get(properties, "include")), "oneOf"), 0),
        "items");
    const json_t *includes = json_object_get(include, "enum"),
                 *strategies =
                     json_object_get(bare(json_object_get(properties, "strategy")), "enum");
    size_t i = 0;
    for (const char *name; (name = fields_include_name(i)) != NULL; i++)
        ck_assert_str_eq(json_string_value(json_array_get(includes, i)), name);
    ck_assert_str_eq(json_string_value(json_array_get(includes, i)), "all");
    ck_assert_uint_eq(json_array_size(includes), i + 1);
    i = 0;
    for (const struct search_kind *kind; (kind = search_nth(i)) != NULL; i++)
        ck_assert_str_eq(json_string_value(json_array_get(strategies, i)), search_name(kind));
    ck_assert_uint_eq(json_array_size(strategies), i);
}
END_TEST

Suite *api_suite(void) {
    Suite *suite = suite_create("api");
    TCase *tcase = tcase_create("routes");
    tcase_add_test(tcase, every_path_has_a_label);
    tcase_add_test(tcase, methods_of_paths);
    tcase_add_test(tcase, other_paths);
    tcase_add_test(tcase, segments);
    suite_add_tcase(suite, tcase);
    TCase *described = tcase_create("openapi.json");
    tcase_add_checked_fixture(described, load_description, free_description);
    tcase_add_test(described, operations_are_routes);
    tcase_add_test(described, properties_are_fields);
    tcase_add_test(described, documents_have_searches);
    tcase_add_test(described, names_are_listed);
    suite_add_tcase(suite, described);
    return suite;
}
