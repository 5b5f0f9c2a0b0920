/* server/http/listen, health_ask: healthy replies, and a deadline for all others. The daemon here
 * is a script. */
#include "server/base/clock.h"
#include "server/http/http.h"
#include "tests/suites.h"
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

/* Listens on a Unix socket in a folder of its own, takes one connection, reads its request and says
 * this. */
struct peer {
    char folder[32], path[48], address[64];
    const char *reply; /* NULL: nothing, until the client has gone */
    char request[256];
    int listener;
    pthread_t thread;
};

static void *serve_one(void *argument) {
    struct peer *peer = argument;
    int fd = accept(peer->listener, NULL, NULL);
    ssize_t count = recv(fd, peer->request, sizeof peer->request - 1, 0);
    ck_assert_int_gt(count, 0);
    if (peer->reply)
        ck_assert_int_eq(send(fd, peer->reply, strlen(peer->reply), MSG_NOSIGNAL),
                         (ssize_t)strlen(peer->reply));
    else
        ck_assert_int_eq(recv(fd, peer->request, 1, 0), 0);
    close(fd);
    return NULL;
}

static void peer_start(struct peer *peer, const char *reply) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *peer = (struct peer){.folder = "/tmp/alignd-health-XXXXXX", .reply = reply};
    ck_assert_ptr_nonnull(mkdtemp(peer->folder));
    snprintf(peer->path, sizeof peer->path, "%s/socket", peer->folder);
    snprintf(peer->address, sizeof peer->address, "unix:%s", peer->path);
    strcpy(address.sun_path, peer->path);
    peer->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(peer->listener, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(peer->listener, 1), 0);
    ck_assert_int_eq(pthread_create(&peer->thread, NULL, serve_one, peer), 0);
}

static void peer_stop(struct peer *peer) {
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    unlink(peer->path);
    rmdir(peer->folder);
}

static const struct {
    const char *reply;
    const char *message; /* NULL: healthy */
} replies[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL},
    {"HTTP/1.0 200 OK\r\n\r\n", NULL},
    {"HTTP/1.1 200", NULL},
    {"HTTP/1.1 503 Service Unavailable\r\n\r\n", "/ready answered with status 503"},
    {"HTTP/1.1 404 Not Found\r\n\r\n", "/ready answered with status 404"},
    {"HTTP/2 200\r\n", "the reply is not HTTP"},
    {"\x15\x03\x03\x00\x02\x02\x16", "the reply is not HTTP"}, /* TLS's alert */
    {"a line that has no end, and goes on for longer than any status line does, for ever and ever",
     "the reply is not HTTP"},
};

START_TEST(status_of_the_reply) {
    struct peer peer;
    struct error err = {0};
    peer_start(&peer, replies[_i].reply);
    int result = health_ask(peer.address, "/ready", false, PATIENCE_MS, &err);
    peer_stop(&peer);
    ck_assert_int_eq(strncmp(peer.request, "GET /ready HTTP/1.1\r\n", 21), 0);
    ck_assert_int_eq(result, replies[_i].message ? -1 : 0);
    ck_assert_str_eq(err.message, replies[_i].message ? replies[_i].message : "");
}
END_TEST

START_TEST(silence_is_no_health) {
    struct peer peer;
    struct error err = {0};
    peer_start(&peer, NULL);
    int64_t from_us = clock_us();
    ck_assert_int_eq(health_ask(peer.address, "/ready", false, 50, &err), -1);
    ck_assert_int_ge(clock_us() - from_us, 50000);
    peer_stop(&peer);
    ck_assert_str_eq(err.message, "no reply: Connection timed out");
}
END_TEST

/* A listener takes connections whether anybody accepts them or not. */
START_TEST(silence_instead_of_tls) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char name[32];
    struct error err = {0};
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(name, sizeof name, "127.0.0.1:%d", ntohs(address.sin_port));
    int64_t from_us = clock_us();
    ck_assert_int_eq(health_ask(name, "/ready", true, 50, &err), -1);
    ck_assert_int_ge(clock_us() - from_us, 50000);
    ck_assert_str_eq(err.message, "no reply: Connection timed out");
    close(listener);
}
END_TEST

START_TEST(sockets_of_unix_stay_plain) {
    struct peer peer;
    struct error err = {0};
    peer_start(&peer, replies[0].reply);
    int result = health_ask(peer.address, "/ready", true, PATIENCE_MS, &err);
    peer_stop(&peer);
    ck_assert_msg(result == 0, "%s", err.message);
}
END_TEST

START_TEST(no_daemon) {
    static const struct {
        const char *address, *message;
    } rows[] = {
        {"unix:/nonexistent/socket", "cannot connect: No such file or directory"},
        {"unix:", "\"\" is not the path of a socket"},
        {"127.0.0.1", "\"127.0.0.1\" is not HOST:PORT"},
        {"127.0.0.1:", "\"127.0.0.1:\" is not HOST:PORT"},
        {"127.0.0.1:99999", "the port must be a number from 0 to 65535, got \"127.0.0.1:99999\""},
        {"", "\"\" is not HOST:PORT"},
        {"[", "\"[\" is not HOST:PORT"},
        {":1", "cannot connect: Connection refused"},
        {"[::ffff:127.0.0.1]:1,unix:/nonexistent/socket", "cannot connect: Connection refused"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        ck_assert_int_eq(health_ask(rows[i].address, "/ready", false, PATIENCE_MS, &err), -1);
        ck_assert_str_eq(err.message, rows[i].message);
    }
}
END_TEST

Suite *health_suite(void) {
    Suite *suite = suite_create("health");
    TCase *tcase = tcase_create("health");
    tcase_add_loop_test(tcase, status_of_the_reply, 0, sizeof replies / sizeof *replies);
    tcase_add_test(tcase, silence_is_no_health);
    tcase_add_test(tcase, silence_instead_of_tls);
    tcase_add_test(tcase, sockets_of_unix_stay_plain);
    tcase_add_test(tcase, no_daemon);
    suite_add_tcase(suite, tcase);
    return suite;
}
