/* server/api/api: the table of routes. */
#include "server/api/api.h"
#include "tests/suites.h"
#include <string.h>

/* No path is counted under another's name, and none twice: Prometheus refuses two series of one name. */
START_TEST(every_path_has_a_label) {
    size_t count, index;
    const char *const *labels = api_labels(&count);
    const struct route *route, *former = NULL;
    size_t paths = 0;
    for (size_t i = 0; (route = api_route(i)) != NULL; former = route, i++) {
        ck_assert_ptr_eq(api_find(route->path, route->method, &index), route);
        ck_assert_str_eq(labels[index], route->path);
        paths += !former || strcmp(former->path, route->path) != 0;
    }
    ck_assert_uint_eq(paths, count - 1);
}
END_TEST

START_TEST(methods_of_paths) {
    size_t index;
    char methods[API_METHODS_BYTES];
    const struct route *get = api_find("/models", "HEAD", &index);
    ck_assert(api_method_fits(get, "HEAD") && api_method_fits(get, "GET") && !api_method_fits(get, "POST"));
    ck_assert_ptr_nonnull(api_find("/translate", "other", &index));
    ck_assert(!api_method_fits(api_find("/translate", "other", &index), "other"));
    api_allowed(api_find("/translate", "GET", &index), methods);
    ck_assert_str_eq(methods, "POST, GET, HEAD, OPTIONS");
    api_allowed(api_find("/documents", "GET", &index), methods);
    ck_assert_str_eq(methods, "POST, OPTIONS");
    api_allowed(api_find("/health", "GET", &index), methods);
    ck_assert_str_eq(methods, "GET, HEAD, OPTIONS");
}
END_TEST

START_TEST(other_paths) {
    static const char *const paths[] = {"", "/nothing", "/translate/", "/translat", "/modelsx", "//"};
    size_t count, index, length;
    api_labels(&count);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ck_assert_ptr_null(api_find(paths[i], "GET", &index));
        ck_assert_uint_eq(index, count - 1);
    }
    ck_assert_ptr_null(api_path_part(api_find("/models", "GET", &index), "/models", &length));
}
END_TEST

/* A segment in braces stands for any that is not empty. */
START_TEST(segments) {
    static const struct route route = {.path = "/v2/things/{id}/entries", .method = "GET"};
    static const char *const others[] = {"/v2/things//entries", "/v2/things/a", "/v2/things/a/b/entries", "/v2/things/a/entries/",
                                         "/v2"};
    size_t length = 0;
    const char *part = api_path_part(&route, "/v2/things/a-b.c/entries", &length);
    ck_assert_uint_eq(length, 5);
    ck_assert_mem_eq(part, "a-b.c", 5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_ptr_null(api_path_part(&route, others[i], &length));
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
    return suite;
}
