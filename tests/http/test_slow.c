/* Slow and leaving peers: their cost, when they are cut off, and that other clients are not
 * affected. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CUT         "alignd_connections_cut_total"
#define ROWS        "alignd_rows_live"
#define CLIENT_GONE "alignd_cancelled_total{reason=\"client\"}"

static struct daemon served;

static void setup(void) {
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--workers", "1", "--read-timeout-ms", "1000",
                           "--send-timeout-ms", "1000", WORK_ENDLESS, "--deadline-ms", "55000"));
}

static void teardown(void) {
    metric_await(&served, ROWS, 0, NULL);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL); /* the one that asks */
    daemon_stop(&served);
}

static void check_serving(void) {
    struct reply reply;
    client_post(&served, "/translate", "{'text': 'A boy plays.'}", 200, &reply);
    reply_done(&reply);
}

static void wait_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- requests that come slowly ---- */

static bool is_closed(int connection) {
    char byte;
    return recv(connection, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* A byte now and then, so that the connection is never silent for long. */
static void drip_until_closed(const char *head) {
    int connection = raw_open(&served);
    raw_write(connection, head, strlen(head));
    size_t drops = 0;
    for (struct patience patience = {0}; !is_closed(connection); drops++) {
        raw_write(connection, "x", 1);
        patience_wait(&patience, "the daemon to cut off a slow request");
        wait_ms(20);
    }
    ck_assert_uint_ge(drops, 2); /* not at once */
    close(connection);
    check_serving();
}

START_TEST(slow_head) {
    drip_until_closed("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: ");
    drip_until_closed("GET /");
    metric_await(&served, CUT "{reason=\"request\"}", 2, NULL);
}
END_TEST

START_TEST(slow_body) {
    drip_until_closed("POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                      "100000\r\n\r\n{\"text\": \"");
    drip_until_closed("POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n100000\r\n{\"text\": \"");
    metric_await(&served, CUT "{reason=\"request\"}", 2, NULL);
    metric_await(&served, "alignd_requests_total{endpoint=\"/translate\",code=\"499\"}", 2, NULL);
}
END_TEST

START_TEST(silence) {
    enum { CONNECTIONS = 50 };
    int connections[CONNECTIONS];
    for (size_t i = 0; i < CONNECTIONS; i++)
        connections[i] = raw_open(&served);
    check_serving();
    for (size_t i = 0; i < CONNECTIONS; i++) {
        ck_assert(raw_closed(connections[i]));
        close(connections[i]);
    }
    metric_await(&served, CUT "{reason=\"request\"}", CONNECTIONS, NULL);
}
END_TEST

/* Between two requests a connection may be idle for longer than either may take. */
START_TEST(kept_connections_are_no_slow_requests) {
    CURL *connection = connection_open();
    for (int i = 0; i < 2; i++) {
        struct reply reply;
        long opened;
        client_send(
            &served,
            &(struct call){.path = "/translate", .json = "{'text': 'x'}", .connection = connection},
            &reply);
        ck_assert_int_eq(reply.status, 200);
        curl_easy_getinfo(connection, CURLINFO_NUM_CONNECTS, &opened);
        ck_assert_int_eq(opened, i == 0);
        reply_done(&reply);
        wait_ms(1500);
    }
    curl_easy_cleanup(connection);
    ck_assert_double_eq(metric(&served, CUT "{reason=\"request\"}"), 0);
    ck_assert_double_eq(metric(&served, CUT "{reason=\"idle\"}"), 0);
}
END_TEST

/* A request that is decoded for longer than it may take to arrive is nobody's fault. */
START_TEST(slow_decoding_is_no_slow_request) {
    struct reply reply;
    char *body = work_endless(1, 5);
    struct call call = {.path = "/translate", .json = body, .headers = {"X-Deadline-Ms: 2500"}};
    client_send(&served, &call, &reply);
    ck_assert_int_eq(reply.status, 504);
    reply_done(&reply);
    ck_assert_double_eq(metric(&served, CUT "{reason=\"request\"}"), 0);
    ck_assert_double_eq(metric(&served, CUT "{reason=\"reader\"}"), 0);
    free(body);
}
END_TEST

/* ---- replies that are read slowly ---- */

/* Others go on; a few bytes now and then do not help. */
START_TEST(slow_reader_of_a_matrix) {
    char byte;
    int connection = work_unread(&served, false, WORK_UNREAD_TEXTS);
    metric_await(&served, "alignd_target_tokens_total{model=\"luong-general-gru\"}",
                 WORK_UNREAD_TOKENS, NULL);
    ck_assert_double_eq(metric(&served, ROWS), 0); /* holds no worker */
    check_serving();
    for (struct patience patience = {0}; metric(&served, CUT "{reason=\"reader\"}") < 1;) {
        ck_assert_int_eq(recv(connection, &byte, 1, 0), 1);
        patience_wait(&patience, "the daemon to cut off a slow reader");
    }
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    close(connection);
}
END_TEST

/* The time to read it does not add to the time to decode it. */
START_TEST(slow_reader_of_a_stream) {
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1", "--send-timeout-ms", "1000",
                                    "--deadline-ms", "1000000"));
    int connection = work_unread(&served, true, WORK_UNREAD_TEXTS);
    metric_await(&served, CUT "{reason=\"reader\"}", 1, NULL);
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    check_serving();
    close(connection);
}
END_TEST

/* The same while it is decoded, which a client that does not read ends. */
START_TEST(stuck_reader_of_a_stream) {
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1", "--send-timeout-ms", "100",
                                    "--deadline-ms", "1000000", "--rows", "32", "--queue-work",
                                    "100000000", "--max-reply-bytes", "64M"));
    int connection = work_unread_beams(&served, WORK_UNREAD_TEXTS);
    metric_await(&served, CUT "{reason=\"reader\"}", 1, NULL);
    metric_await(&served, CLIENT_GONE, 1, NULL);
    metric_await(&served, "alignd_queue_depth", 0, NULL);
    check_serving();
    close(connection);
}
END_TEST

/* ---- how many ---- */

START_TEST(connections_are_bounded) {
    enum { MOST = 20, MORE = 40 };
    static const char head[] =
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n";
    int connections[MORE];
    daemon_stop(&served);
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--connections", "20", "--connections-per-address",
                           "20", "--read-timeout-ms", "1000"));
    for (size_t i = 0; i < MORE; i++) {
        connections[i] = raw_open(&served); /* those beyond are not accepted yet */
        raw_write(connections[i], head, strlen(head));
    }
    check_serving(); /* once some have been cut off */
    metric_await_least(&served, CUT "{reason=\"request\"}", MORE - MOST, NULL);
    for (size_t i = 0; i < MORE; i++)
        close(connections[i]);
}
END_TEST

/* As many as hold every place and the backlog's next ones, with all the time that there is, send so
 * much of a head; others are served nevertheless. */
static void check_room(int *connections, size_t count, const char *begin) {
    struct reply reply;
    for (size_t i = 0; i < count; i++) {
        connections[i] = raw_open(&served);
        raw_write(connections[i], begin, strlen(begin));
    }
    client_send(&served, &(struct call){.path = "/health"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    check_serving();
    ck_assert_double_ge(metric(&served, CUT "{reason=\"silent\"}"), 1);
    ck_assert_double_eq(metric(&served, CUT "{reason=\"request\"}"), 0);
    ck_assert(!is_closed(connections[count - 1])); /* the newest */
    for (size_t i = 0; i < count; i++)
        close(connections[i]);
}

/* A client that has not sent a complete head counts as one that has sent nothing. */
static const char *const begins[] = {"", "GET /hea", "GET /health HTTP/1.1\r\nX",
                                     "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Filler: y\r\n"};

START_TEST(silent_connections_make_room) {
    enum { MORE = 140 };
    int connections[MORE];
    daemon_stop(&served);
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--connections", "100", "--connections-per-address",
                           "100", "--read-timeout-ms", "1000000000"));
    check_room(connections, MORE, begins[_i]);
}
END_TEST

/* Nor does it help to have been answered before. */
START_TEST(second_heads_make_room) {
    enum { MOST = 40 };
    static const char whole[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int connections[MOST];
    char reply[16];
    daemon_stop(&served);
    daemon_start(&served,
                 ARGUMENTS("--model", MODEL, "--connections", "40", "--connections-per-address",
                           "40", "--read-timeout-ms", "1000000000"));
    for (size_t i = 0; i < MOST; i++) {
        connections[i] = raw_open(&served);
        raw_write(connections[i], whole, sizeof whole - 1);
        ck_assert_int_eq(recv(connections[i], reply, sizeof reply, MSG_WAITALL), sizeof reply);
        raw_write(connections[i], begins[2], strlen(begins[2]));
    }
    check_serving();
    ck_assert_double_ge(metric(&served, CUT "{reason=\"silent\"}"), 1);
    for (size_t i = 0; i < MOST; i++)
        close(connections[i]);
}
END_TEST

/* One address leaves places to others, however many connections it opens. */
START_TEST(half_is_left_to_others) {
    enum { MORE = 60 };
    static const char head[] =
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n";
    int connections[MORE];
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--connections", "40", "--read-timeout-ms",
                                    "1000000000"));
    for (size_t i = 0; i < MORE; i++) {
        connections[i] = raw_open_from(&served, "127.0.0.2");
        send(connections[i], head, sizeof head - 1, MSG_NOSIGNAL); /* some are closed */
    }
    check_serving();
    for (size_t i = 0; i < MORE; i++)
        close(connections[i]);
}
END_TEST

/* The same where it is files that are scarce. */
START_TEST(few_files) {
    enum { MORE = 60 };
    int connections[MORE];
    daemon_stop(&served);
    program_files = 32;
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--connections-per-address", "1000",
                                    "--read-timeout-ms", "1000000000"));
    check_room(connections, MORE, "");
}
END_TEST

/* Idle ones make room long before their time is over. */
START_TEST(idle_connections_make_room) {
    enum { MOST = 16 };
    CURL *kept[MOST];
    struct reply reply;
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--connections", "16",
                                    "--connections-per-address", "16"));
    for (size_t i = 0; i < MOST; i++) {
        kept[i] = connection_open();
        client_send(&served, &(struct call){.path = "/health", .connection = kept[i]}, &reply);
        ck_assert_int_eq(reply.status, 200);
        reply_done(&reply);
    }
    check_serving();
    ck_assert_double_ge(metric(&served, CUT "{reason=\"idle\"}"), 1);
    for (size_t i = 0; i < MOST; i++)
        curl_easy_cleanup(kept[i]);
}
END_TEST

START_TEST(connections_of_an_address_are_bounded) {
    enum { MOST = 3 };
    static const char request[] =
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int connections[MOST];
    char reply[32];
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--connections-per-address", "3"));
    for (size_t i = 0; i < MOST; i++)
        connections[i] = raw_open_from(&served, "127.0.0.2");
    int more = raw_open_from(&served, "127.0.0.2");
    ck_assert(raw_closed(more));
    check_serving(); /* from another address */
    raw_write(connections[0], request, sizeof request - 1);
    ck_assert_int_gt(recv(connections[0], reply, sizeof reply, 0), 12);
    ck_assert_int_eq(strncmp(reply, "HTTP/1.1 200", 12), 0);
    for (size_t i = 0; i < MOST; i++)
        close(connections[i]);
    close(more);
}
END_TEST

/* ---- clients that leave ---- */

#define BYSTANDER                                                                                  \
    "{'text': ['A boy plays in the snow.', 'Two dogs run.'], 'include': ['tokens', 'log_probs', "  \
    "'attention']}"

/* One that leaves, and one that stays from before to after: it gets what it gets alone. */
struct scene {
    struct flight *leaving, *staying;
    struct reply alone, left, stayed;
};

static void scene_begin(struct scene *scene) {
    client_post(&served, "/translate", BYSTANDER, 200, &scene->alone);
    scene->leaving = flight_open(&served);
    scene->staying = flight_open(&served);
}

static void scene_end(struct scene *scene, double client_gone) {
    flight_close(scene->leaving);
    metric_await(&served, CLIENT_GONE, client_gone, scene->staying);
    flight_land(scene->staying);
    ck_assert_int_eq(scene->stayed.status, 200);
    ck_assert_str_eq(scene->stayed.body, scene->alone.body);
    flight_close(scene->staying);
    reply_done(&scene->alone);
    reply_done(&scene->left);
    reply_done(&scene->stayed);
    metric_await(&served, ROWS, 0, NULL);
    metric_await(&served, "alignd_queue_depth", 0, NULL);
    metric_await(&served, "alignd_requests_total{endpoint=\"/translate\",code=\"499\"}",
                 client_gone, NULL);
}

/* 32 rows are taken: what comes next waits. */
static void serve_few_rows(void) {
    daemon_stop(&served);
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--workers", "1", "--rows", "32", "--step-ms",
                                    "0", WORK_ENDLESS, "--deadline-ms", "600000"));
}

START_TEST(leaves_while_queued) {
    struct scene scene;
    struct reply first;
    char *endless = work_endless(1, 32), *body = work_body(3, 32, 1000);
    serve_few_rows();
    scene_begin(&scene);
    struct flight *flight = flight_open(&served);
    flight_send(flight, &(struct call){.path = "/translate", .json = endless}, &first);
    metric_await(&served, ROWS, 32, flight);
    flight_send(scene.leaving, &(struct call){.path = "/translate", .json = body}, &scene.left);
    metric_await(&served, "alignd_queue_depth", 3, scene.leaving);
    flight_send(scene.staying, &(struct call){.path = "/translate", .json = BYSTANDER},
                &scene.stayed);
    metric_await(&served, "alignd_queue_depth", 5, scene.staying);
    flight_close(scene.leaving);
    scene.leaving = flight_open(&served);
    metric_await(&served, CLIENT_GONE, 1, flight);
    ck_assert_double_le(metric(&served, "alignd_queue_depth"), 2);
    ck_assert_uint_eq(flight_move(flight), 1); /* not touched */
    flight_close(flight);
    reply_done(&first);
    scene_end(&scene, 2);
    free(endless);
    free(body);
}
END_TEST

START_TEST(leaves_while_decoding) {
    struct scene scene;
    char *body = work_endless(1, 32);
    serve_few_rows();
    scene_begin(&scene);
    flight_send(scene.leaving, &(struct call){.path = "/translate", .json = body}, &scene.left);
    metric_await(&served, ROWS, 32, scene.leaving);
    flight_send(scene.staying, &(struct call){.path = "/translate", .json = BYSTANDER},
                &scene.stayed);
    metric_await(&served, "alignd_queue_depth", 2, scene.staying);
    flight_close(scene.leaving);
    scene.leaving = flight_open(&served);
    metric_await(&served, CLIENT_GONE, 1,
                 scene.staying); /* else it would be decoded until its deadline */
    scene_end(&scene, 1);
    free(body);
}
END_TEST

/* Beside much else, so that it is not at its end before the client leaves. */
START_TEST(leaves_while_streaming) {
    struct scene scene;
    struct reply lost;
    enum { TEXTS = 64 }; /* so many that they enter, and end, one after the other */
    char body[1024], *end = stpcpy(body, "{'strategy': 'greedy', 'min_length': 1000, "
                                         "'max_length': 1000, 'stream': true, 'text': ['A'");
    for (int i = 1; i < TEXTS; i++)
        end += sprintf(end, ",'B%d'", i);
    stpcpy(end, "]}");
    char *long_body = work_endless(64, 32);
    struct flight *hog = flight_open(&served);
    scene_begin(&scene);
    flight_send(hog, &(struct call){.path = "/translate", .json = long_body}, &lost);
    metric_await(&served, "alignd_requests_in_flight", 2, hog);
    flight_send(scene.leaving, &(struct call){.path = "/translate", .json = body}, &scene.left);
    for (struct patience patience = {0}; !scene.left.body;) { /* an event has come */
        flight_move(scene.leaving);
        patience_wait(&patience, "events");
    }
    flight_send(scene.staying, &(struct call){.path = "/translate", .json = BYSTANDER},
                &scene.stayed);
    flight_close(scene.leaving);
    scene.leaving = hog;
    metric_await(&served, CLIENT_GONE, 1, scene.staying);
    scene_end(&scene, 2);
    reply_done(&lost);
    free(long_body);
}
END_TEST

/* At a random moment, many of them, of every kind. */
START_TEST(many_leave_at_any_time) {
    enum { CLIENTS = 200 };
    struct reply alone;
    char *bodies[] = {work_body(1, 5, 300), work_body(4, 32, 1000), work_body(20, 1, 50)};
    unsigned state = 7;
    client_post(&served, "/translate", BYSTANDER, 200, &alone);
    for (size_t i = 0; i < CLIENTS; i++) {
        char head[200], *body = bodies[i % 3];
        for (char *c = body; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        int connection = raw_open(&served);
        int length =
            snprintf(head, sizeof head,
                     "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                     strlen(body));
        raw_write(connection, head, (size_t)length);
        raw_write(connection, body, strlen(body));
        state = state * 1664525u + 1013904223u;
        wait_ms((long)(state >> 8) % 8);
        close(connection);
    }
    struct reply reply;
    client_post(&served, "/translate", BYSTANDER, 200, &reply);
    ck_assert_str_eq(reply.body, alone.body);
    reply_done(&reply);
    reply_done(&alone);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        free(bodies[i]);
}
END_TEST

Suite *slow_suite(void) {
    Suite *suite = suite_create("slow");
    TCase *tcase = tcase_create("slow");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, slow_head);
    tcase_add_test(tcase, slow_body);
    tcase_add_test(tcase, silence);
    tcase_add_test(tcase, kept_connections_are_no_slow_requests);
    tcase_add_test(tcase, slow_decoding_is_no_slow_request);
    tcase_add_test(tcase, slow_reader_of_a_matrix);
    tcase_add_test(tcase, slow_reader_of_a_stream);
    tcase_add_test(tcase, stuck_reader_of_a_stream);
    tcase_add_test(tcase, connections_are_bounded);
    tcase_add_loop_test(tcase, silent_connections_make_room, 0, sizeof begins / sizeof *begins);
    tcase_add_test(tcase, second_heads_make_room);
    tcase_add_test(tcase, half_is_left_to_others);
    tcase_add_test(tcase, few_files);
    tcase_add_test(tcase, idle_connections_make_room);
    tcase_add_test(tcase, connections_of_an_address_are_bounded);
    tcase_add_test(tcase, leaves_while_queued);
    tcase_add_test(tcase, leaves_while_decoding);
    tcase_add_test(tcase, leaves_while_streaming);
    tcase_add_test(tcase, many_leave_at_any_time);
    suite_add_tcase(suite, tcase);
    return suite;
}
