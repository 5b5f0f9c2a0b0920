/* GET / and the files of the page: those in server/page/, but for comments and indentation
 * (embed.sh), with the headers that browsers need. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 100 * 1000 }; /* of one; their sums are bounded in check-page */
static const char folder[] = "server/page";

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static void check_header(const struct reply *reply, const char *name, const char *expected) {
    char value[HEADER_BYTES];
    ck_assert_msg(reply_header(reply, name, value), "no header %s in\n%s", name, reply->headers);
    ck_assert_str_eq(value, expected);
}

/* The file's bytes; the caller frees them. */
static char *read_file(const char *name, size_t *length) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    char *bytes = malloc(MAX_FILE_BYTES);
    ck_assert_ptr_nonnull(bytes);
    *length = fread(bytes, 1, MAX_FILE_BYTES, file);
    fclose(file);
    return bytes;
}

/* NULL: what builds, tests or people read. */
static const char *type_of(const char *name) {
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".svg", "image/svg+xml"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    return NULL;
}

/* Returns the length of the line without its line feed. */
static size_t line_length(const char *text, const char *end) {
    const char *feed = memchr(text, '\n', (size_t)(end - text));
    return (size_t)((feed ? feed : end) - text);
}

/* Returns the length of a line without the comment that ends it. */
static size_t code_length(const char *line, size_t length) {
    if (length < 4 || memcmp(line + length - 2, "*/", 2) != 0)
        return length;
    const char *star = memrchr(line, '*', length - 2);
    return star && star > line && star[-1] == '/' ? (size_t)(star - 1 - line) : length;
}

/* A page, script or style sheet is sent whole but for white space, for comments that stand alone or
 * end a line, and for semicolons before a closing brace. */
static void check_same(const char *sent, size_t sent_length, const char *file, size_t file_length) {
    const char *sent_end = sent + sent_length, *file_end = file + file_length;
    bool comment = false;
    while (file < file_end) {
        size_t whole = line_length(file, file_end), indent = strspn(file, " \t");
        const char *line = file + (indent < whole ? indent : whole);
        size_t length = (size_t)(file + whole - line);
        const char *closed = length >= 2 ? memmem(line, length, "*/", 2) : NULL;
        bool alone = comment || (length >= 2 && memcmp(line, "/*", 2) == 0 &&
                                 (!closed || closed + 2 == line + length));
        comment = alone && !closed;
        length = alone ? 0 : code_length(line, length);
        for (size_t i = 0; i < length; i++) {
            while (sent < sent_end && isspace((unsigned char)*sent))
                sent++;
            if (isspace((unsigned char)line[i]))
                continue;
            if (sent < sent_end && *sent == line[i])
                sent++;
            else
                ck_assert_msg(line[i] == ';' && sent < sent_end && *sent == '}', "%.*s", (int)whole,
                              file);
        }
        file += whole + 1;
    }
    while (sent < sent_end && isspace((unsigned char)*sent))
        sent++;
    ck_assert_ptr_eq(sent, sent_end);
}

static void check_file(const char *name) {
    char path[300];
    struct reply reply;
    size_t length;
    char *bytes = read_file(name, &length);
    snprintf(path, sizeof path, "%s%s", strcmp(name, "embed.js") == 0 ? "/" : "/page/", name);
    client_send(&served, &(struct call){.path = strcmp(name, "index.html") == 0 ? "/" : path},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    check_same(reply.body, reply.length, bytes, length);
    check_header(&reply, "Content-Type", type_of(name));
    check_header(&reply, "X-Content-Type-Options", "nosniff");
    free(bytes);
    reply_done(&reply);
}

START_TEST(every_file_is_served) {
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    size_t files = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!type_of(entry->d_name))
            continue;
        check_file(entry->d_name);
        files++;
    }
    closedir(dir);
    ck_assert_uint_gt(files, 2);
}
END_TEST

START_TEST(nothing_inline_nothing_from_elsewhere) {
    static const char *const paths[] = {"/?a=b", "/page/models.html"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct reply reply;
        char policy[HEADER_BYTES];
        client_send(&served, &(struct call){.path = paths[i]}, &reply);
        ck_assert_int_eq(reply.status, 200);
        check_header(&reply, "Content-Type", "text/html; charset=utf-8");
        ck_assert(reply_header(&reply, "Content-Security-Policy", policy));
        ck_assert_ptr_nonnull(strstr(policy, "default-src 'self'"));
        ck_assert_ptr_null(strstr(policy, "unsafe"));
        ck_assert_ptr_null(strstr(policy, "http"));
        ck_assert_ptr_null(strstr(reply.body, "http"));
        ck_assert_ptr_null(strstr(reply.body, "<style"));
        reply_done(&reply);
    }
}
END_TEST

START_TEST(a_known_file_is_not_sent_again) {
    struct reply reply;
    char etag[HEADER_BYTES], known[HEADER_BYTES + 40];
    client_send(&served, &(struct call){.path = "/page/app.js"}, &reply);
    ck_assert(reply_header(&reply, "ETag", etag));
    check_header(&reply, "Cache-Control", "no-cache");
    reply_done(&reply);
    snprintf(known, sizeof known, "If-None-Match: \"x\", W/%s", etag);
    client_send(&served, &(struct call){.path = "/page/app.js", .headers = {known}}, &reply);
    ck_assert_int_eq(reply.status, 304);
    ck_assert_uint_eq(reply.length, 0);
    check_header(&reply, "ETag", etag);
    reply_done(&reply);
    client_send(&served,
                &(struct call){.path = "/page/app.js", .headers = {"If-None-Match: \"x\""}},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
}
END_TEST

/* The same as it is, or compressed, for who takes that; of GET and HEAD alike. */
START_TEST(compressed_where_it_is_taken) {
    static const char *const paths[] = {"/page/app.js", "/openapi.json", "/docs"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct reply plain, packed, head;
        char value[HEADER_BYTES];
        client_send(&served, &(struct call){.path = paths[i]}, &plain);
        client_send(&served,
                    &(struct call){.path = paths[i], .headers = {"Accept-Encoding: br, gzip"}},
                    &packed);
        client_send(&served,
                    &(struct call){
                        .method = "HEAD", .path = paths[i], .headers = {"Accept-Encoding: gzip"}},
                    &head);
        ck_assert(!reply_header(&plain, "Content-Encoding", value));
        check_header(&plain, "Vary", "Accept-Encoding");
        check_header(&packed, "Content-Encoding", "gzip");
        check_header(&packed, "Vary", "Accept-Encoding");
        ck_assert_uint_lt(packed.length, plain.length / 2);
        ck_assert_int_eq(memcmp(packed.body, "\x1f\x8b", 2), 0);
        snprintf(value, sizeof value, "%zu", packed.length);
        check_header(&head, "Content-Length", value);
        reply_done(&plain);
        reply_done(&packed);
        reply_done(&head);
    }
}
END_TEST

/* A tag of the compressed file is weak, and the file is not sent again for it. */
START_TEST(a_compressed_file_is_known_too) {
    struct reply reply;
    char etag[HEADER_BYTES], known[HEADER_BYTES + 40];
    client_send(&served,
                &(struct call){.path = "/page/app.js", .headers = {"Accept-Encoding: gzip"}},
                &reply);
    ck_assert(reply_header(&reply, "ETag", etag));
    ck_assert_int_eq(strncmp(etag, "W/\"", 3), 0);
    reply_done(&reply);
    snprintf(known, sizeof known, "If-None-Match: %s", etag);
    client_send(&served,
                &(struct call){.path = "/page/app.js", .headers = {"Accept-Encoding: gzip", known}},
                &reply);
    ck_assert_int_eq(reply.status, 304);
    reply_done(&reply);
}
END_TEST

/* Decoded replies are compressed, too, but short ones, streams and errors are not. */
START_TEST(answers_are_compressed) {
    static const struct {
        const char *json;
        bool packed;
    } rows[] = {
        {"{'text': 'A boy plays in the snow. A boy plays.', 'include': ['attention', 'beam', "
         "'top_k']}",
         true},
        {"{'text': 'A boy.', 'include': []}", false},
        {"{'text': 'A boy plays in the snow.', 'include': ['attention', 'beam', 'top_k'], "
         "'stream': true}",
         false},
        {"{'text': 1}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char value[HEADER_BYTES];
        client_send(&served,
                    &(struct call){.path = "/translate",
                                   .json = rows[i].json,
                                   .headers = {"Accept-Encoding: gzip"}},
                    &reply);
        ck_assert_msg(reply_header(&reply, "Content-Encoding", value) == rows[i].packed, "%s",
                      rows[i].json);
        reply_done(&reply);
    }
}
END_TEST

START_TEST(other_pages_may_embed_the_element) {
    static const char *const paths[] = {"/embed.js", "/page/element.js"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply;
        client_send(
            &served,
            &(struct call){.path = paths[i], .headers = {"Origin: https://elsewhere.example"}},
            &reply);
        ck_assert_int_eq(reply.status, 200);
        check_header(&reply, "Access-Control-Allow-Origin", "*");
        reply_done(&reply);
    }
}
END_TEST

START_TEST(other_methods_and_paths) {
    struct reply reply;
    client_send(&served, &(struct call){.method = "HEAD", .path = "/"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_uint_eq(reply.length, 0);
    reply_done(&reply);
    client_send(&served, &(struct call){.method = "DELETE", .path = "/"}, &reply);
    ck_assert_int_eq(reply.status, 405);
    check_header(&reply, "Allow", "GET, HEAD, OPTIONS");
    reply_done(&reply);
    static const char *const none[] = {
        "/page",       "/page/",         "/page/none.js",  "/page/../main.c",
        "/index.html", "/page/embed.sh", "/page/embed.js", "/page/npm/index.js"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        client_send(&served, &(struct call){.path = none[i]}, &reply);
        ck_assert_msg(reply.status == 404, "%s", none[i]);
        reply_done(&reply);
    }
}
END_TEST

Suite *page_suite(void) {
    Suite *suite = suite_create("page");
    TCase *tests = tcase_create("page");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_file_is_served);
    tcase_add_test(tests, nothing_inline_nothing_from_elsewhere);
    tcase_add_test(tests, a_known_file_is_not_sent_again);
    tcase_add_test(tests, compressed_where_it_is_taken);
    tcase_add_test(tests, a_compressed_file_is_known_too);
    tcase_add_test(tests, answers_are_compressed);
    tcase_add_test(tests, other_pages_may_embed_the_element);
    tcase_add_test(tests, other_methods_and_paths);
    suite_add_tcase(suite, tests);
    return suite;
}
