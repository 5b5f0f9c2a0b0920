/* Requests that no decent client sends: the daemon refuses them or closes the connection, and
 * continues to serve. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL));
}

static void check_serving(void) {
    struct reply reply;
    client_post(&served, "/translate", "{'text': 'A boy plays.'}", 200, &reply);
    reply_done(&reply);
}

static void teardown(void) {
    check_serving();
    daemon_stop(&served);
}

/* The status of a raw reply; 0: nothing came, or not HTTP. */
static int raw_status(const char *bytes, size_t length, bool half_close) {
    char *text = raw_send(&served, bytes, length, half_close);
    int status = 0;
    if (sscanf(text, "HTTP/1.%*d %d", &status) != 1)
        status = 0;
    free(text);
    return status;
}

/* A small generator: the same bytes in every run. */
static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

START_TEST(truncated_bodies) {
    static const char whole[] = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                                "21\r\n\r\n{\"text\": \"A boy plays.\"";
    for (size_t length = 0; length < sizeof whole - 2; length++) {
        int status = raw_status(whole, length, true);
        ck_assert_msg(status == 0 || (status >= 400 && status < 500), "%zu bytes: %d", length,
                      status);
    }
    metric_await(&served, "alignd_requests_in_flight", 1, NULL); /* nothing is left behind */
}
END_TEST

START_TEST(chunks_cut_short) {
    static const char *const requests[] = {
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
        "chunked\r\n\r\n15\r\n{\"text\":",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
        "chunked\r\n\r\nzz\r\n{}\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
        "chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int status = raw_status(requests[i], strlen(requests[i]), true);
        ck_assert_msg(status == 0 || (status >= 400 && status < 500), "%s: %d", requests[i],
                      status);
    }
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
}
END_TEST

START_TEST(malformed_requests) {
    static const char *const requests[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /health\r\n\r\n",
        "GET /health HTTP/9.9\r\nConnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\nConnection: "
        "close\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "99999999999999999999999\r\nConnection: close\r\n\r\n",
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\nConnection: "
        "close\r\n\r\n",
        "GET /hea\x01lth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET http://[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nno colon\r\nConnection: close\r\n\r\n",
        "\x16\x03\x01\x02\x01\x01\xfc\x03\x03", /* how TLS begins */
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        raw_status(requests[i], strlen(requests[i]), true); /* any answer will do, and none */
        check_serving();
    }
}
END_TEST

START_TEST(random_bytes) {
    unsigned state = 1;
    char bytes[2048];
    for (int i = 0; i < 100; i++) {
        size_t length = next_random(&state) % sizeof bytes;
        for (size_t j = 0; j < length; j++)
            bytes[j] = (char)next_random(&state);
        raw_status(bytes, length, true);
    }
}
END_TEST

/* A valid body with bytes changed, dropped or doubled: an answer every time, and never 500. */
START_TEST(changed_bodies) {
    static const char valid[] =
        "{\"text\": [\"A boy plays. \\u00e9\\ud83d\\ude00\", \"naïve\"], \"beam_size\": 3, "
        "\"n_best\": 2, \"include\": "
        "[\"tokens\", \"attention\", \"words\", \"offsets\"], \"max_length\": 20}";
    unsigned state = 2;
    CURL *connection = connection_open();
    for (int i = 0; i < 500; i++) {
        char body[sizeof valid + 1];
        size_t at = next_random(&state) % (sizeof valid - 1), length = sizeof valid - 1;
        memcpy(body, valid, sizeof valid);
        if (i % 3 == 0) {
            body[at] = (char)next_random(&state);
        } else if (i % 3 == 1) {
            memmove(body + at, body + at + 1, length - at);
            length--;
        } else {
            memmove(body + at + 1, body + at, length - at);
            length++;
        }
        struct reply reply;
        client_send(
            &served,
            &(struct call){
                .path = "/translate", .body = body, .length = length, .connection = connection},
            &reply);
        ck_assert_msg(reply.status == 200 || reply.status == 400 || reply.status == 415,
                      "%ld for %.*s", reply.status, (int)length, body);
        ck_assert_ptr_nonnull(reply.json);
        reply_done(&reply);
    }
    curl_easy_cleanup(connection);
}
END_TEST

/* So many of the byte, between a beginning and an end. */
static void send_bomb(const char *head, char byte, size_t count, const char *tail) {
    size_t head_length = strlen(head), tail_length = strlen(tail),
           length = head_length + count + tail_length;
    char *body = malloc(length);
    ck_assert_ptr_nonnull(body);
    memcpy(body, head, head_length);
    memset(body + head_length, byte, count);
    memcpy(body + head_length + count, tail, tail_length);
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = body, .length = length},
                &reply);
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(text_at(reply.json, "code"), "invalid_request");
    reply_done(&reply);
    free(body);
}

START_TEST(deep_json) {
    static const size_t depths[] = {100, 2000, 2100, 1000000};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        send_bomb("{\"text\": ", '[', depths[i], "");
    send_bomb("{\"text\": 1", '1', 1000000, "}");
    send_bomb("{\"", 'x', 1000000,
              "\": 1}"); /* the name of an unknown field is quoted in the message, within reason */
    send_bomb("{\"text\": \"x\", \"model\": \"", 'm', 1000000, "\"}");
    char *body = malloc(1000000), *end = body + sprintf(body, "{\"text\": \"x\"");
    for (int i = 0; i < 70000; i++)
        end += sprintf(end, ",\"k%d\":1", i);
    strcpy(end, "}");
    struct reply reply;
    client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_int_eq(reply.status, 400);
    reply_done(&reply);
    free(body);
}
END_TEST

/* A message that quotes a client is cut between characters. */
START_TEST(quoted_in_part) {
    for (size_t shift = 0; shift < 4; shift++) {
        char body[512];
        char *end = body + sprintf(body, "{\"text\": \"x\", \"model\": \"%.*s", (int)shift, "xxxx");
        for (int i = 0; i < 40; i++)
            end += sprintf(end, "😀");
        strcpy(end, "\"}");
        struct reply reply;
        client_send(&served, &(struct call){.path = "/translate", .body = body}, &reply);
        ck_assert_int_eq(reply.status, 400);
        ck_assert_str_eq(text_at(reply.json, "field"), "model");
        reply_done(&reply);
    }
}
END_TEST

START_TEST(huge_headers) {
    static const size_t sizes[] = {5000, 40000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *request = malloc(sizes[i] + 256);
        ck_assert_ptr_nonnull(request);
        size_t length = (size_t)sprintf(
            request, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Filler: ");
        memset(request + length, 'x', sizes[i]);
        length += sizes[i];
        length += (size_t)sprintf(request + length, "\r\n\r\n");
        int status = raw_status(request, length, false);
        ck_assert_msg(status == 0 || status == 200 || (status >= 400 && status < 500), "%zu: %d",
                      sizes[i], status);
        free(request);
        check_serving();
    }
}
END_TEST

/* Two requests in one packet are answered in order. */
START_TEST(pipelined) {
    static const char two[] =
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: one\r\nContent-Length: "
        "12\r\n\r\n{\"text\":\"x\"}"
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: two\r\nConnection: close\r\n\r\n";
    char *text = raw_send(&served, two, sizeof two - 1, false);
    const char *one = strstr(text, "X-Request-Id: one"), *other = strstr(text, "X-Request-Id: two");
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(other);
    ck_assert(one < other);
    free(text);
}
END_TEST

/* How a reply to raw bytes begins, and all of its body, which must be JSON. The connection is
 * closed by the daemon. */
static void check_raw_error(const char *request, const char *status_line, const char *message) {
    char *text = raw_send(&served, request, strlen(request), false),
         *body = strstr(text, "\r\n\r\n");
    ck_assert_msg(strncmp(text, status_line, strlen(status_line)) == 0, "%.100s: %.400s", request,
                  text);
    ck_assert_ptr_nonnull(strstr(text, "\r\nContent-Type: application/json"));
    json_t *json = json_loads(
        body + 4, 0, NULL); /* nothing after it: what followed was not taken for a request */
    ck_assert_msg(json != NULL, "%s", text);
    ck_assert_str_eq(text_at(json, "error"), message);
    json_decref(json);
    free(text);
}

/* A zero byte ends nothing. */
START_TEST(zero_bytes_in_urls) {
    check_raw_error("GET /%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 404", "this path does not exist");
    check_raw_error("GET /health%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 404", "this path does not exist");
    check_raw_error(
        "GET /health%00/%00x?%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 404", "this path does not exist");
    check_raw_error("POST /translate?q=a%00b&source=en&target=fr HTTP/1.1\r\nHost: "
                    "localhost\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 400", "the fields are not valid UTF-8");
    check_raw_error("POST /translate?q=a&source=en&target=fr&x%00=y HTTP/1.1\r\nHost: "
                    "localhost\r\nConnection: close\r\n\r\n",
                    "HTTP/1.1 400", "the fields are not valid UTF-8");
    struct reply reply;
    client_send(&served, &(struct call){.path = "/%68ealth"}, &reply); /* others are decoded */
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
}
END_TEST

/* A proxy that sees another length would take a part of the body for a request of somebody else. */
START_TEST(unclear_lengths) {
    static const char *const lengths[] = {
        "Content-Length: 2\r\nContent-Length: 40\r\n",
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n",
    };
    static const char *const methods[] = {"POST /translate", "GET /health", "DELETE /nothing"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t j = 0; j < sizeof methods / sizeof *methods; j++) {
            char request[400];
            snprintf(request, sizeof request,
                     "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n{}GET /health HTTP/1.1\r\nHost: "
                     "localhost\r\n\r\n",
                     methods[j], lengths[i]);
            check_raw_error(
                request, "HTTP/1.1 400",
                "the body must have either one Content-Length or Transfer-Encoding: chunked");
        }
    }
}
END_TEST

/* A 400 in JSON, the connection closed, and what follows not taken for a request. */
static void check_smuggled(const char *bytes, size_t length) {
    char *text = raw_send(&served, bytes, length, false), *body = strstr(text, "\r\n\r\n");
    ck_assert_msg(strncmp(text, "HTTP/1.1 400", 12) == 0, "%s: %s", bytes, text);
    json_t *json = json_loads(body + 4, 0, NULL);
    ck_assert_msg(json != NULL, "%s: %s", bytes, text);
    ck_assert_str_eq(text_at(json, "code"), "invalid_request");
    json_decref(json);
    free(text);
}

/* Heads that a proxy may read otherwise than libmicrohttpd does. */
START_TEST(unclear_heads) {
#define NEXT "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define HEAD(text)                                                                                 \
    { text "\r\n\r\n{}" NEXT, sizeof text "\r\n\r\n{}" NEXT - 1 }
    static const struct {
        const char *bytes;
        size_t length;
    } rows[] = {
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length : 2"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length\t: 2"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n chunked"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\t"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n 0"),
        HEAD("POST /translate HTTP/1.1\r\n Content-Length: 2\r\nHost: localhost"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nX: y\r\n z\r\nContent-Length: 2"),
        HEAD("POST /translate HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nContent-Length: 2"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nhost: x"),
        HEAD("GET /health HTTP/1.1"),
        HEAD("GET /health HTTP/1.1\r\nX: y"),
        HEAD("POST /translate HTTP/1.0\r\nTransfer-Encoding: chunked"),
        HEAD("GET /health HTTP/1.0\r\nHost: localhost\r\nHost: localhost"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\0b"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\0Content-Length: 2"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX\0Y: b"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\0\0\0\0b"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\0\r\nY: b"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\rContent-Length: 2"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\nContent-Length: 2"),
        HEAD("GET /health HTTP/1.1\nHost: localhost"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX: \x01"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\nX Y: z"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\n: z"),
        HEAD("GET /health HTTP/1.1\r\nHost: localhost\r\n(X): z"),
        HEAD("GET /health HTTP/1.1 HTTP/1.1\r\nHost: localhost"),
        HEAD("GET /health /x HTTP/1.1\r\nHost: localhost"),
        HEAD("GET /health\0 HTTP/1.1\r\nHost: localhost"),
        HEAD("GET /health\0HTTP/1.1 HTTP/1.1\r\nHost: localhost"),
        HEAD("GET /health\t HTTP/1.1\r\nHost: localhost"),
        HEAD("GET /health?\x7f HTTP/1.1\r\nHost: localhost"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_smuggled(rows[i].bytes, rows[i].length);
#undef HEAD
}
END_TEST

/* Oddities that mean nothing else to anybody. */
START_TEST(odd_heads) {
    static const char *const heads[] = {
        "GET /health HTTP/1.0\r\n\r\n",
        "\r\nGET /health HTTP/1.0\r\nX:\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost:\r\nX:\r\nConnection:close\r\n\r\n",
        ("GET /health HTTP/1.1\r\nhOST:\t localhost\r\nX:   \r\nY: a\tb \r\nCookie: a=b; "
         "c=\"d\"\r\nConnection: close\r\n\r\n"),
        "GET /health?a=b&c&&=&d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nX: \xc3\xa9\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        ck_assert_msg(raw_status(heads[i], strlen(heads[i]), false) == 200, "%s", heads[i]);
    char *request = malloc(30000),
         *end = request + sprintf(request, "GET /health HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i < 60; i++) /* more than libmicrohttpd has room for at first */
        end += sprintf(end, "X-%d: %0*d\r\n", i, 350, i);
    end += sprintf(end, "Connection: close\r\n\r\n");
    ck_assert_int_eq(raw_status(request, (size_t)(end - request), false), 200);
    free(request);
}
END_TEST

/* The second request on a kept connection, and one in many pieces, are looked at as the first is.
 */
START_TEST(unclear_heads_later) {
    static const char good[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      bad[] = "GET /health HTTP/1.1\r\nHost: localhost\r\nX: y\r\n z\r\n\r\n";
    char text[2048] = "";
    int connection = raw_open(&served);
    raw_write(connection, good, sizeof good - 1);
    ck_assert_int_gt(recv(connection, text, sizeof text - 1, 0), 12);
    ck_assert_int_eq(strncmp(text, "HTTP/1.1 200", 12), 0);
    for (size_t i = 0; i < sizeof good - 1; i++)
        raw_write(connection, good + i, 1);
    memset(text, 0, sizeof text);
    ck_assert_int_gt(recv(connection, text, sizeof text - 1, 0), 12);
    ck_assert_int_eq(strncmp(text, "HTTP/1.1 200", 12), 0);
    for (size_t i = 0; i < sizeof bad - 1; i++)
        raw_write(connection, bad + i, 1);
    memset(text, 0, sizeof text);
    ck_assert_int_gt(recv(connection, text, sizeof text - 1, 0), 12);
    ck_assert_int_eq(strncmp(text, "HTTP/1.1 400", 12), 0);
    ck_assert(raw_closed(connection));
    close(connection);
}
END_TEST

/* Refusals by libmicrohttpd itself are reported like all others, and never as 500. */
START_TEST(library_refusals) {
    static const struct {
        const char *head;
        size_t filler; /* bytes that follow */
        const char *status, *message;
    } rows[] = {
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2;",
         200000, "HTTP/1.1 400", "a chunk extension is too long"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\n{}\r\n0;",
         200000, "HTTP/1.1 400", "a chunk extension is too long"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nz", 0,
         "HTTP/1.1 400", "the request is not HTTP"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
         "chunked\r\n\r\nffffffffffffffffff\r\n",
         0, "HTTP/1.1 413", "the body is too long"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
         "99999999999999999999999\r\n\r\n",
         0, "HTTP/1.1 413", "the body is too long"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
         "18446744073709551615\r\n\r\n",
         0, "HTTP/1.1 413", "the body must have at most 1048576 bytes"},
        {"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 0,
         "HTTP/1.1 400", "the request is not HTTP"},
        {"GET /", 200000, "HTTP/1.1 414", "the request line is too long"},
        {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", 200000, "HTTP/1.1 431",
         "the request headers are too long"},
        {"GET /health HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", 0, "HTTP/1.1 400",
         "the request is not HTTP"},
        {"GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n", 0, "HTTP/1.1 505",
         "the version must be HTTP/1.0 or HTTP/1.1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *request = malloc(rows[i].filler + 200),
             *end = request + sprintf(request, "%s", rows[i].head);
        memset(end, 'x', rows[i].filler);
        end[rows[i].filler] = '\0';
        check_raw_error(request, rows[i].status, rows[i].message);
        free(request);
    }
}
END_TEST

/* libmicrohttpd has no memory for so many, and would close the connection. */
START_TEST(many_arguments) {
    static const int counts[] = {1, 100, 101, 600, 10000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char *request = malloc(30000), *end = request + sprintf(request, "GET /health?"),
             expected[100];
        for (int j = 0; j < counts[i]; j++)
            end += sprintf(end, j > 0 ? "&q" : "q");
        sprintf(end, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        snprintf(expected, sizeof expected, "the query string must have at most 100 fields, got %d",
                 counts[i]);
        if (counts[i] <= 100)
            ck_assert_int_eq(raw_status(request, strlen(request), false), 200);
        else
            check_raw_error(request, "HTTP/1.1 400", expected);
        free(request);
    }
    char *request = malloc(40000), *end = request + sprintf(request, "GET /health?q=%029000d", 0);
    sprintf(end, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    check_raw_error(request, "HTTP/1.1 400", "the query string is too long");
    free(request);
}
END_TEST

Suite *hostile_suite(void) {
    Suite *suite = suite_create("hostile");
    TCase *tcase = tcase_create("hostile");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, truncated_bodies);
    tcase_add_test(tcase, chunks_cut_short);
    tcase_add_test(tcase, malformed_requests);
    tcase_add_test(tcase, random_bytes);
    tcase_add_test(tcase, changed_bodies);
    tcase_add_test(tcase, deep_json);
    tcase_add_test(tcase, quoted_in_part);
    tcase_add_test(tcase, huge_headers);
    tcase_add_test(tcase, pipelined);
    tcase_add_test(tcase, zero_bytes_in_urls);
    tcase_add_test(tcase, unclear_lengths);
    tcase_add_test(tcase, unclear_heads);
    tcase_add_test(tcase, odd_heads);
    tcase_add_test(tcase, unclear_heads_later);
    tcase_add_test(tcase, library_refusals);
    tcase_add_test(tcase, many_arguments);
    suite_add_tcase(suite, tcase);
    return suite;
}
