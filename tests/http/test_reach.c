/* Who can reach what: hosts, other web pages, and the table of server/OPERATIONS.md. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CROSS  "Sec-Fetch-Site: cross-site"
#define ORIGIN "Origin: https://example.org"

static char file[] = "/tmp/alignd-keys-XXXXXX";
static char user[HEADER_BYTES], admin[HEADER_BYTES]; /* headers with keys */

static void make_key(const char *name, const char *role, char header[HEADER_BYTES]) {
    struct outcome outcome;
    program_run(ARGUMENTS("key", "--name", name, "--role", role), NULL, &outcome);
    const char *key = strrchr(outcome.err, ' ') + 1;
    snprintf(header, HEADER_BYTES, "Authorization: Bearer %.*s", (int)strcspn(key, "\n"), key);
    FILE *out = fopen(file, "a");
    ck_assert(out && fputs(outcome.out, out) >= 0 && fclose(out) == 0);
    outcome_done(&outcome);
}

static void setup(void) {
    close(mkstemp(file));
    make_key("alice", "user", user);
    make_key("ops", "admin", admin);
}

static void teardown(void) {
    unlink(file);
}

static long status_of(const struct daemon *daemon, const struct call *call, const char *code) {
    struct reply reply;
    client_send(daemon, call, &reply);
    long status = reply.status;
    if (code)
        ck_assert_msg(reply.body && strstr(reply.body, code), "%s %s: %ld %s", call->path,
                      call->headers[0], status, reply.body);
    reply_done(&reply);
    return status;
}

static void check(const struct daemon *daemon, const char *path, const char *header,
                  const char *other, long status, const char *code) {
    struct call call = {.path = path, .headers = {header, other}};
    long got = status_of(daemon, &call, code);
    ck_assert_msg(got == status, "%s %s %s: %ld", path, header, other ? other : "", got);
}

/* ---- hosts ---- */

START_TEST(a_name_that_is_not_this_machines) {
    char own[200] = "Host: ", path[100];
    struct daemon daemon;
    gethostname(own + strlen(own), sizeof own - 10);
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--host", "translate.example"));
    static const char *const good[] = {"Host: localhost",         "Host: LOCALHOST:1",
                                       "Host: 127.0.0.1:80",      "Host: 192.0.2.1",
                                       "Host: [::1]:8080",        "Host: a.localhost",
                                       "Host: translate.example", "Host: translate.example:80"};
    static const char *const bad[] = {
        "Host: evil.example",    "Host: localhost.evil.example",
        "Host: evil.example:80", "Host: 127.0.0.1.evil.example",
        "Host: [::g]",           "Host: translate.example.evil.example"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check(&daemon, "/health", good[i], NULL, 200, NULL);
    check(&daemon, "/health", own, NULL, 200, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check(&daemon, "/health", bad[i], NULL, 421, "\"code\":\"misdirected\"");
    check(&daemon, "/translate?text=x", "Host: evil.example", NULL, 421, "--host NAME");
    daemon_stop(&daemon);

    snprintf(path, sizeof path, "%s", file);
    const char *const *const others[] = {
        ARGUMENTS("--model", MODEL, "--host", "*"), ARGUMENTS("--model", MODEL, "--api-keys", path),
        ARGUMENTS("--model", MODEL, "--client-header", "X-Forwarded-For")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        daemon_start(&daemon, others[i]);
        check(&daemon, "/health", "Host: evil.example", NULL, 200, NULL);
        daemon_stop(&daemon);
    }
}
END_TEST

/* ---- pages ---- */

START_TEST(another_page) {
    static const struct {
        const char *headers[2];
        bool other;
    } rows[] = {
        {{"X: none"}, false},
        {{CROSS}, true},
        {{CROSS, ORIGIN}, true},
        {{"Sec-Fetch-Site: same-site", ORIGIN}, true},
        {{"Sec-Fetch-Site: same-origin"}, false},
        {{"Sec-Fetch-Site: none"}, false},
        {{ORIGIN}, true},
        {{"Origin: null"}, true},
        {{"Origin: http://localhost", "Host: localhost"}, false},
        {{"Origin: http://localhost:3000", "Host: localhost"}, true},
        {{CROSS, "Origin: https://named.example"}, false},
        {{"Origin: https://named.example"}, false},
        {{CROSS, "Origin: chrome-extension://abc"}, false},
        {{CROSS, "Origin: https://chrome-extension://abc"}, true},
    };
    static const char *const hidden[] = {"/models", "/metrics", "/v2/glossaries", "/v2/usage",
                                         "/download_file/x.txt"};
    static const char *const open[] = {"/languages", "/health", "/translate?text=A+boy.", "/"};
    struct daemon daemon;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--cors", "https://named.example"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t j = 0; j < sizeof hidden / sizeof *hidden; j++) {
            struct call call = {.path = hidden[j],
                                .headers = {rows[i].headers[0], rows[i].headers[1]}};
            long status = status_of(
                &daemon, &call, rows[i].other ? "a page of another site may not do this" : NULL);
            ck_assert_msg((status == 403) == rows[i].other, "%s %s %zu: %ld", hidden[j],
                          rows[i].headers[0], i, status);
        }
        for (size_t j = 0; j < sizeof open / sizeof *open; j++)
            check(&daemon, open[j], rows[i].headers[0], rows[i].headers[1], 200, NULL);
    }
    struct call followed = {
        .path = "/metrics",
        .headers = {CROSS, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}};
    ck_assert_int_eq(status_of(&daemon, &followed, NULL), 200);
    followed.headers[2] = "Sec-Fetch-Dest: iframe";
    ck_assert_int_eq(status_of(&daemon, &followed, "cross_site"), 403);
    struct call changes = {.method = "DELETE", .path = "/v2/glossaries/x", .headers = {CROSS}};
    ck_assert_int_eq(status_of(&daemon, &changes, NULL), 403);
    struct call asks = {.method = "OPTIONS", .path = "/models", .headers = {CROSS, ORIGIN}};
    ck_assert_int_eq(status_of(&daemon, &asks, NULL), 204);
    daemon_stop(&daemon);
}
END_TEST

/* ---- the table ---- */

enum { COLUMNS = 4 };

/* Sends the request without a key, with a key, with an admin's, and with that for another page.
 * Where the table says yes, the reply is neither 401 nor 403 (nor, from DeepL's endpoints without a
 * key, its own 403). */
static void check_row(const struct daemon *daemon, const char *method, const char *path,
                      const bool may[COLUMNS]) {
    const char *const headers[COLUMNS][2] = {{"X: none"}, {user}, {admin}, {admin, CROSS}};
    for (size_t i = 0; i < COLUMNS; i++) {
        struct call call = {
            .method = method, .path = path, .headers = {headers[i][0], headers[i][1]}};
        if (strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0)
            call.json = "{}";
        long status = status_of(daemon, &call, NULL);
        ck_assert_msg((status != 401 && status != 403) == may[i], "%s %s, column %zu: %ld", method,
                      path, i, status);
    }
}

START_TEST(the_table) {
    struct daemon daemon;
    struct reply reply;
    char line[1000], known[100][200];
    char glossaries[] = "/tmp/alignd-glossaries-XXXXXX";
    size_t count = 0, listed = 0;
    close(mkstemp(glossaries));
    unlink(glossaries);
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--api-keys", file, "--glossaries", glossaries));
    FILE *in = fopen("server/OPERATIONS.md", "r");
    ck_assert_ptr_nonnull(in);
    while (fgets(line, sizeof line, in)) {
        char methods[100], path[100], columns[COLUMNS][10];
        bool may[COLUMNS];
        if (sscanf(line, "| `%99[A-Z ]/%99[^`]` | %9s | %9s | %9s | %9s |", methods, path,
                   columns[0], columns[1], columns[2], columns[3]) != 2 + COLUMNS &&
            (sscanf(line, "| `%99[A-Z ]/` | %9s | %9s | %9s | %9s |", methods, columns[0],
                    columns[1], columns[2], columns[3]) != 1 + COLUMNS ||
             (*path = '\0', false)))
            continue;
        for (size_t i = 0; i < COLUMNS; i++)
            may[i] = strcmp(columns[i], "yes") == 0;
        for (char *rest = methods, *method; (method = strsep(&rest, " ")) != NULL;) {
            char target[110];
            if (*method == '\0')
                continue;
            snprintf(target, sizeof target, "/%s", path);
            ck_assert_uint_lt(count, sizeof known / sizeof *known);
            snprintf(known[count++], sizeof known[0], "%s %s", method, target);
            check_row(&daemon, method, target, may);
        }
    }
    fclose(in);

    /* every endpoint has a row */
    client_send(&daemon, &(struct call){.path = "/openapi.json"}, &reply);
    const char *path, *method;
    json_t *methods, *value;
    json_object_foreach(json_object_get(reply.json, "paths"), path, methods) {
        json_object_foreach(methods, method, value) {
            static const char *const verbs[] = {"get", "post", "put", "patch", "delete"};
            for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
                if (strcmp(verbs[i], method) != 0)
                    continue;
                bool found = false;
                for (size_t j = 0; j < count; j++) {
                    const char *space = strchr(known[j], ' ');
                    found |= strncasecmp(known[j], method, (size_t)(space - known[j])) == 0 &&
                             strcmp(space + 1, path) == 0;
                }
                ck_assert_msg(found, "server/OPERATIONS.md lacks %s %s", method, path);
                listed++;
            }
        }
    }
    ck_assert_uint_gt(listed, 40);
    reply_done(&reply);
    daemon_stop(&daemon);
    unlink(glossaries);
}
END_TEST

Suite *reach_suite(void) {
    Suite *suite = suite_create("reach");
    TCase *tests = tcase_create("reach");
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, a_name_that_is_not_this_machines);
    tcase_add_test(tests, another_page);
    tcase_add_test(tests, the_table);
    suite_add_tcase(suite, tests);
    return suite;
}
