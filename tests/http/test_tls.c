/* HTTPS: replies, streams, clients that leave, draining, and a certificate that changes. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

static char folder[] = "/tmp/alignd-tls-XXXXXX", certificate[PATH_BYTES], key[PATH_BYTES],
            other[PATH_BYTES], other_key[PATH_BYTES];
static struct daemon served;

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...) {
    char command[512];
    va_list arguments;
    va_start(arguments, format);
    ck_assert_int_lt(vsnprintf(command, sizeof command, format, arguments), (int)sizeof command);
    va_end(arguments);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void make_certificate(const char *certificate_file, const char *key_file) {
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=alignd "
        "-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout %s -out %s 2>/dev/null",
        key_file, certificate_file);
}

static void launch(const char *const *arguments) {
    daemon_launch(&served, arguments);
    served.certificate = certificate;
    daemon_await_ready(&served);
}

static void setup(void) {
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(certificate, PATH_BYTES, "%s/certificate", folder);
    snprintf(key, PATH_BYTES, "%s/key", folder);
    snprintf(other, PATH_BYTES, "%s/other", folder);
    snprintf(other_key, PATH_BYTES, "%s/other_key", folder);
    make_certificate(certificate, key);
    launch(ARGUMENTS("--model", MODEL, "--tls-cert", certificate, "--tls-key", key, "--workers",
                     "1", "--rows", "64", "--step-ms", "0", WORK_ENDLESS, "--deadline-ms", "600000",
                     "--grace-ms", "600000"));
}

static void teardown(void) {
    run("rm -r %s", folder);
}

/* Of a request over a connection of its own; 0: there was none. */
static long status_with(const char *trusted, long version) {
    struct daemon daemon = served;
    struct reply reply;
    CURL *connection = connection_open();
    daemon.certificate = trusted;
    client_send(&daemon,
                &(struct call){.path = "/health", .connection = connection, .tls_version = version},
                &reply);
    long status = reply.status;
    reply_done(&reply);
    curl_easy_cleanup(connection);
    return status;
}

START_TEST(answers) {
    struct reply reply;
    char *body = work_body(64, 1, 30); /* a reply of many TLS records */
    CURL *connection = connection_open();
    for (int i = 0; i < 3; i++) {
        client_send(&served,
                    &(struct call){.path = "/translate", .json = body, .connection = connection},
                    &reply);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_uint_eq(json_array_size(json_at(reply.json, "translations")), 64);
        reply_done(&reply);
    }
    client_send(
        &served,
        &(struct call){.path = "/translate", .json = "{'text': 'A boy plays.', 'stream': true}"},
        &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_ptr_nonnull(strstr(reply.body, "event: result\n"));
    reply_done(&reply);
    curl_easy_cleanup(connection);
    free(body);
    daemon_stop(&served);
}
END_TEST

START_TEST(versions) {
    struct daemon plain = served;
    struct reply reply;
    ck_assert_int_eq(status_with(certificate, CURL_SSLVERSION_MAX_TLSv1_3), 200);
    ck_assert_int_eq(status_with(certificate, CURL_SSLVERSION_MAX_TLSv1_2), 200);
    ck_assert_int_eq(status_with(certificate, CURL_SSLVERSION_MAX_TLSv1_1), 0);
    plain.certificate = NULL;
    client_send(&plain, &(struct call){.path = "/health"}, &reply);
    ck_assert_int_eq(reply.status, 0);
    reply_done(&reply);
    daemon_stop(&served);
}
END_TEST

/* A handshake of TLS 1.2 with this cipher alone. */
static bool shakes_hands(const char *cipher) {
    const char *scheme = strstr(served.address, "://");
    char line[256];
    snprintf(
        line, sizeof line,
        "openssl s_client -tls1_2 -cipher %s:@SECLEVEL=0 -connect %s </dev/null >/dev/null 2>&1",
        cipher, scheme ? scheme + 3 : served.address);
    return system(line) == 0;
}

/* Only those that encrypt and authenticate in one, with forward secrecy. */
START_TEST(ciphers) {
    ck_assert(shakes_hands("ECDHE-ECDSA-AES128-GCM-SHA256"));
    ck_assert(shakes_hands("ECDHE-ECDSA-CHACHA20-POLY1305"));
    ck_assert(!shakes_hands("ECDHE-ECDSA-AES128-SHA256"));
    ck_assert(!shakes_hands("ECDHE-ECDSA-AES256-SHA"));
    ck_assert(!shakes_hands("AES128-GCM-SHA256"));
    daemon_stop(&served);
}
END_TEST

START_TEST(departed_client_frees_its_rows) {
    struct reply reply;
    char *body = work_endless(64, 32);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = body}, &reply);
    metric_await(&served, "alignd_rows_live", 64, flight);
    flight_close(flight);
    metric_await(&served, "alignd_rows_live", 0, NULL);
    metric_await(&served, "alignd_cancelled_total{reason=\"client\"}", 1, NULL);
    reply_done(&reply);
    free(body);
    daemon_stop(&served);
}
END_TEST

START_TEST(terminated_under_load) {
    enum { CLIENTS = 4, TEXTS = 32 };
    struct reply live, replies[CLIENTS];
    char *endless = work_endless(2, 32), *body = work_body(TEXTS, 8, 200);
    struct flight *leaving = flight_open(&served), *flight = flight_open(&served);
    flight_send(leaving, &(struct call){.path = "/translate", .json = endless}, &live);
    metric_await(&served, "alignd_rows_live", 64, leaving); /* all: the others wait */
    for (size_t i = 0; i < CLIENTS; i++)
        flight_send(flight, &(struct call){.path = "/translate", .json = body}, &replies[i]);
    metric_await(&served, "alignd_queue_depth", CLIENTS * TEXTS, flight);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    daemon_await_log(&served, "event=draining");
    flight_close(leaving);
    flight_land(flight);
    for (size_t i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(replies[i].status, 200);
        reply_done(&replies[i]);
    }
    flight_close(flight);
    reply_done(&live);
    free(endless);
    free(body);
    daemon_end(&served);
}
END_TEST

/* A request that has not arrived completely is answered, encrypted, when the daemon stops. */
START_TEST(half_a_request) {
    static const char half[] =
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"text\":";
    char command[300], name[PATH_BYTES], reply[4096] = "";
    snprintf(name, PATH_BYTES, "%s/reply", folder);
    snprintf(command, sizeof command, "openssl s_client -quiet -connect %s >%s 2>/dev/null",
             served.address, name);
    FILE *client = popen(command, "w");
    ck_assert(client && fputs(half, client) >= 0 && fflush(client) == 0);
    metric_await(&served, "alignd_requests_in_flight", 2, NULL);
    ck_assert_int_eq(kill(served.pid, SIGTERM), 0);
    ck_assert_int_eq(daemon_wait(&served), 0);
    pclose(client);
    FILE *file = fopen(name, "r");
    ck_assert(file && fread(reply, 1, sizeof reply - 1, file) > 0);
    fclose(file);
    ck_assert_msg(strncmp(reply, "HTTP/1.1 503 ", strlen("HTTP/1.1 503 ")) == 0, "%s", reply);
    ck_assert_msg(strstr(reply, "\r\nConnection: close\r\n") != NULL, "%s", reply);
    ck_assert_msg(strstr(reply, "\"code\":\"unavailable\"") != NULL, "%s", reply);
}
END_TEST

static int receive_little(void *closure, curl_socket_t socket, curlsocktype purpose) {
    int small = WORK_UNREAD_BUFFER;
    (void)closure;
    (void)purpose;
    return setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
}

/* Sends bytes on an encrypted connection that nothing is read from. */
static CURL *send_unread(const char *bytes) {
    CURL *connection = connection_open();
    char url[sizeof served.address + 16];
    size_t sent;
    snprintf(url, sizeof url, "https://%s/", served.address);
    curl_easy_setopt(connection, CURLOPT_URL, url);
    curl_easy_setopt(connection, CURLOPT_CAINFO, certificate);
    curl_easy_setopt(connection, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(connection, CURLOPT_SOCKOPTFUNCTION, receive_little);
    ck_assert_int_eq(curl_easy_perform(connection), CURLE_OK);
    ck_assert_int_eq(curl_easy_send(connection, bytes, strlen(bytes), &sent), CURLE_OK);
    ck_assert_uint_eq(sent, strlen(bytes));
    return connection;
}

/* Who does not read a reply, or a stream, decoded or not, is cut off. */
START_TEST(unread_replies) {
    static const struct {
        bool beams, stream;
    } rows[] = {{false, false}, {false, true}, {true, true}};
    daemon_stop(&served);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        launch(ARGUMENTS("--model", MODEL, "--tls-cert", certificate, "--tls-key", key, "--workers",
                         "1", "--send-timeout-ms", "100", "--deadline-ms", "1000000", "--rows",
                         "32", "--queue-work", "100000000", "--max-reply-bytes", "64M"));
        char *request = work_unread_request(rows[i].beams, rows[i].stream, WORK_UNREAD_TEXTS);
        CURL *connection = send_unread(request);
        metric_await(&served, "alignd_connections_cut_total{reason=\"reader\"}", 1, NULL);
        metric_await(&served, "alignd_requests_in_flight", 1, NULL); /* the one that asks */
        metric_await(&served, "alignd_queue_depth", 0, NULL);
        metric_await(&served, "alignd_rows_live", 0, NULL);
        ck_assert_int_eq(status_with(certificate, 0), 200);
        curl_easy_cleanup(connection);
        free(request);
        daemon_stop(&served);
    }
}
END_TEST

/* Connections that are open keep the old certificate, new ones get the new one; a pair that does
 * not fit changes nothing. */
START_TEST(hangup_changes_the_certificate) {
    struct reply reply;
    CURL *connection = connection_open();
    client_send(&served, &(struct call){.path = "/health", .connection = connection}, &reply);
    reply_done(&reply);
    make_certificate(other, other_key);
    ck_assert_int_eq(status_with(other, 0), 0);
    run("cp %s %s", other, certificate);
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    daemon_await_log(&served, "event=reload_failed what=certificate reason=\"cannot use ");
    ck_assert_int_eq(status_with(other, 0), 0);
    run("cp %s %s", other_key, key);
    ck_assert_int_eq(kill(served.pid, SIGHUP), 0);
    daemon_await_log(&served, "event=reloaded what=certificate");
    ck_assert_int_eq(status_with(other, 0), 200);
    client_send(&served, &(struct call){.path = "/health", .connection = connection}, &reply);
    long opened;
    curl_easy_getinfo(connection, CURLINFO_NUM_CONNECTS, &opened);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_int_eq(opened, 0);
    reply_done(&reply);
    curl_easy_cleanup(connection);
    daemon_stop(&served);
}
END_TEST

/* Handshakes that are not, and ones that never end, hold nobody up. */
START_TEST(bad_handshakes) {
    static const char junk[] = "\x16\x03\x01\xff\xff\x01\x00\xff\xff\xff\xff";
    int half = raw_open(&served);
    raw_write(half, junk, 5);
    for (int i = 0; i < 20; i++) {
        char *answer = raw_send(&served, junk, sizeof junk - 1, true);
        free(answer);
    }
    ck_assert_int_eq(status_with(certificate, 0), 200);
    daemon_stop(&served);
    close(half);
}
END_TEST

static void check_health(const char *const *arguments, const char *reason) {
    struct outcome outcome;
    program_run(arguments, NULL, &outcome);
    ck_assert_msg(*reason ? strstr(outcome.err, reason) != NULL : *outcome.err == '\0', "%s",
                  outcome.err);
    ck_assert_int_eq(outcome.status, *reason ? 1 : 0);
    outcome_done(&outcome);
}

/* In its container the question finds the daemon's own variables. */
START_TEST(health_in_https) {
    struct daemon plain;
    check_health(ARGUMENTS("health", "--listen", served.address, "--tls-cert", certificate), "");
    check_health(ARGUMENTS("health", "--listen", served.address, "--tls-cert", certificate,
                           "--path", "/nowhere"),
                 "status 404");
    check_health(ARGUMENTS("health", "--listen", served.address), "the reply is not HTTP");
    setenv("ALIGND_LISTEN", served.address, 1);
    setenv("ALIGND_TLS_CERT", certificate, 1);
    check_health(ARGUMENTS("health"), "");
    unsetenv("ALIGND_TLS_CERT");
    daemon_stop(&served);
    daemon_start(&plain, ARGUMENTS("--model", MODEL));
    check_health(ARGUMENTS("health", "--listen", plain.address, "--tls-cert", certificate),
                 "no TLS: ");
    daemon_stop(&plain);
}
END_TEST

START_TEST(unusable_files) {
    struct outcome outcome;
    make_certificate(other, other_key);
    program_run(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--tls-cert", certificate,
                          "--tls-key", other_key),
                NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "alignd: cannot use "));
    outcome_done(&outcome);
    program_run(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--tls-cert", "/nonexistent",
                          "--tls-key", key),
                NULL, &outcome);
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.err, "alignd: cannot open /nonexistent: "));
    outcome_done(&outcome);
    daemon_stop(&served);
}
END_TEST

Suite *tls_suite(void) {
    Suite *suite = suite_create("tls");
    TCase *tcase = tcase_create("tls");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, answers);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, ciphers);
    tcase_add_test(tcase, departed_client_frees_its_rows);
    tcase_add_test(tcase, terminated_under_load);
    tcase_add_test(tcase, half_a_request);
    tcase_add_test(tcase, unread_replies);
    tcase_add_test(tcase, hangup_changes_the_certificate);
    tcase_add_test(tcase, bad_handshakes);
    tcase_add_test(tcase, health_in_https);
    tcase_add_test(tcase, unusable_files);
    suite_add_tcase(suite, tcase);
    return suite;
}
