/* server/api_access: who may call an endpoint, and where a key may stand. */
#include "server/api/access.h"
#include "server/api/api.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

/* printf %s user | sha256sum, and of admin */
static const char lines[] =
    "alice user 04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb\n"
    "root admin 8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918\n";

static struct service open_service, guarded;
static struct reply reply;

static void setup(void) {
    char *path = file_write(lines, strlen(lines));
    guarded.keys = keys_open(path, NULL);
    ck_assert_ptr_nonnull(guarded.keys);
    file_remove(path);
}

static void teardown(void) {
    keys_free(guarded.keys);
    free(reply.body);
    reply = (struct reply){0};
}

/* The status of the refusal, 0: none. holder: whose key it must be; NULL: nobody's. */
static unsigned ask(const struct service *service, enum access access, struct call call,
                    const char *holder) {
    struct route route = {.path = "/x", .method = "POST", .access = access, .traits = ROUTE_KEYED};
    call.route = &route;
    struct request request;
    request_init(&request);
    free(reply.body);
    reply = (struct reply){0};
    if (call.body)
        call.length = strlen(call.body);
    int result = access_authorize(service, &route, &call, &request, &reply);
    ck_assert_int_eq(result, reply.status == 0 ? 0 : -1);
    ck_assert_int_eq(request.key != NULL, holder != NULL);
    if (holder)
        ck_assert_str_eq(request.key->name, holder);
    request_done(&request);
    return reply.status;
}

START_TEST(without_keys) {
    struct call call = {.api_keys = {"admin"}};
    ck_assert_uint_eq(ask(&open_service, ACCESS_OPEN, call, NULL), 0);
    ck_assert_uint_eq(ask(&open_service, ACCESS_USER, call, NULL), 0);
    ck_assert_uint_eq(ask(&open_service, ACCESS_ADMIN, (struct call){.administrator = true}, NULL),
                      0);
    ck_assert_uint_eq(ask(&open_service, ACCESS_ADMIN, call, NULL), 403);
    ck_assert_ptr_nonnull(strstr(reply.body, "started without --api-keys"));
}
END_TEST

START_TEST(roles) {
    struct call user = {.api_keys = {"user"}}, admin = {.api_keys = {"admin"}},
                wrong = {.api_keys = {"other"}}, none = {0};
    ck_assert_uint_eq(ask(&guarded, ACCESS_OPEN, none, NULL), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_OPEN, wrong, NULL), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_LIST, none, NULL), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_LIST, wrong, NULL), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_LIST, user, "alice"), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_LIST,
                          (struct call){.api_keys = {"user"}, .administrator = true}, NULL),
                      0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_USER, none, NULL), 401);
    ck_assert_uint_eq(ask(&guarded, ACCESS_USER, wrong, NULL), 403);
    ck_assert_uint_eq(ask(&guarded, ACCESS_USER, user, "alice"), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_USER, admin, "root"), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_ADMIN, none, NULL), 401);
    ck_assert_uint_eq(ask(&guarded, ACCESS_ADMIN, (struct call){.administrator = true}, NULL), 0);
    ck_assert_uint_eq(ask(&guarded, ACCESS_USER, (struct call){.administrator = true}, NULL), 401);
    ck_assert_uint_eq(ask(&guarded, ACCESS_ADMIN, wrong, NULL), 403);
    ck_assert_uint_eq(ask(&guarded, ACCESS_ADMIN, user, "alice"), 403);
    ck_assert_ptr_nonnull(strstr(reply.body, "this requires an admin API key"));
    ck_assert_uint_eq(ask(&guarded, ACCESS_ADMIN, admin, "root"), 0);
}
END_TEST

START_TEST(places) {
    static char user[] = "user", nothing[] = "";
    static char longer[] = "user\0x";
    static const struct api_field fields[] = {{.name = "q", .value = user, .length = 4},
                                              {.name = "api_key", .value = nothing},
                                              {.name = "api_key", .value = user, .length = 4}};
    static const struct api_field zero[] = {{.name = "api_key", .value = longer, .length = 6}};
    static const struct {
        struct call call;
        unsigned status;
    } rows[] = {
        {{.authorization = "Bearer user"}, 0},
        {{.authorization = "bearer   user"}, 0},
        {{.authorization = "Bearer user "}, 0}, /* blanks around a value are no part of it */
        {{.authorization = "Bearer \t user \t "}, 0},
        {{.authorization = "Bearer us er"}, 403},
        {{.api_keys = {" user "}}, 0},
        {{.api_keys = {"  "}}, 401},
        {{.authorization = "Bearer "}, 401},
        {{.authorization = "user"}, 0}, /* without a scheme, as some clients send it */
        {{.authorization = "Basic dXNlcjo="}, 401},
        {{.authorization = "DeepL-Auth-Key user"}, 0},
        {{.authorization = "deepl-auth-key  user "}, 0},
        {{.authorization = "DeepL-Auth-Key other"}, 403},
        {{.authorization = "DeepL-Auth-Key"}, 403}, /* a scheme alone is taken for a key */
        {{.api_keys = {NULL, "user", NULL}}, 0},
        {{.api_keys = {NULL, NULL, "user"}}, 0},
        {{.api_keys = {"other", "user", NULL}}, 403},
        {{.authorization = "Basic dXNlcjo=", .api_keys = {"user"}}, 0},
        {{.authorization = "Bearer other", .api_keys = {"user"}}, 403}, /* the first one counts */
        {{.api_keys = {""}}, 401},
        {{.fields = fields, .field_count = 2}, 401},
        {{.fields = fields, .field_count = 3}, 0},
        {{.fields = zero, .field_count = 1}, 403},
        {{.body = " {\"api_key\": \"user\", \"q\": 1}"}, 0},
        {{.body = "{\"api_key\": \"other\"}"}, 403},
        {{.body = "{\"api_key\": null}"}, 401},
        {{.body = "{\"api_key\": \"\"}"}, 401},
        {{.body = "{\"api_key\": 1}"}, 401},
        {{.body = "{\"api_key\": \"user\""}, 401}, /* not JSON */
        {{.body = "{\"api_key\": \"user\\u0000x\"}"}, 401},
        {{.body = "[\"api_key\"]"}, 401},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned status =
            ask(&guarded, ACCESS_USER, rows[i].call, rows[i].status == 0 ? "alice" : NULL);
        ck_assert_msg(status == rows[i].status, "row %zu: %u", i, status);
    }
}
END_TEST

Suite *api_access_suite(void) {
    Suite *suite = suite_create("api_access");
    TCase *tcase = tcase_create("api_access");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_keys);
    tcase_add_test(tcase, roles);
    tcase_add_test(tcase, places);
    suite_add_tcase(suite, tcase);
    return suite;
}
